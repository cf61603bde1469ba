from __future__ import annotations

import gc
from typing import Any

import torch
from torch import Tensor, nn

from tests.core.recording.nets import Net
from torchrecorder.recording.run import capture
from torchrecorder.recording.running_op import Births
from torchrecorder.recording.session import _one_a_file

X = (torch.ones(2, 3),)
OLDER = torch.ones(3)


def notes(body: Any, **layers: nn.Module) -> tuple[str, ...]:
    return capture(Net(body, **layers), X).info.notes


def test_new_tensors_are_distinguished_from_old_ones() -> None:
    births, old = Births(), torch.ones(1)
    callbacks = [*gc.callbacks]
    with births.noticed():
        first = torch.ones(1)
        gc.collect()
        second = torch.ones(1)
        assert [births.has(tensor) for tensor in (old, first, second)] == [False, True, True]
    assert gc.callbacks == callbacks


def test_tensors_that_the_collector_saw_can_be_swapped() -> None:
    def body(self: Any, x: Tensor) -> Tensor:
        y, z = x * 2, x.relu()
        gc.collect()
        torch.utils.swap_tensors(y, z)  # type: ignore[no-untyped-call]
        return y + z * 2

    was_on = gc.isenabled()
    assert notes(body) == ()
    assert gc.isenabled() is was_on


def test_what_was_there_or_is_made_of_numbers_has_no_note() -> None:
    def body(self: Any, x: Tensor) -> Tensor:
        made = (torch.zeros(3), torch.arange(3), torch.tensor(3.0), torch.Tensor([1.0, 2.0, 3.0]))
        found: Tensor = sum(made) + x * OLDER + torch.from_numpy(OLDER.numpy() * 2)
        return found

    assert [note for note in notes(body) if "unknown" in note] == []


def test_an_unknown_origin_names_the_line_that_reads_it() -> None:
    def body(self: Any, x: Tensor) -> Tensor:
        return x * torch.FloatTensor([1.0, 2.0, 3.0])

    line = body.__code__.co_firstlineno + 1
    assert notes(body) == (f"a tensor of unknown origin at tests/core/recording/test_births.py:{line}",)


def test_numbers_that_are_of_no_data_leave_without_a_note() -> None:
    assert notes(lambda self, x: x.sum(torch.arange(1, x.dim()).tolist())) == ()
    (note,) = notes(lambda self, x: x * torch.rand(1).item())
    assert note.startswith("values left PyTorch through item() at ")


def test_lines_of_a_library_are_one_note() -> None:
    found = [
        "one branch of `if a:` was taken, lib/ode.py:30",
        "values left PyTorch through item() at net.py:3",
        "values left PyTorch through item() at lib/ode.py:9",
        "one branch of `if b:` was taken, lib/ode.py:12",
        "values left PyTorch through item() at net.py:4",
        "cpu stands for cuda, which this machine does not have: lib/ode.py:1",
    ]
    assert [*_one_a_file(found, {"lib/ode.py"})] == [f"{found[0]}, 9, 12", found[1], found[4], found[5]]
