"""What `capture` promises besides the edges: errors, partial Graphs, notes, counts, names."""

from __future__ import annotations

import contextlib
import gc
import pickle
import re
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.core.recording.nets import Net, op_names, record
from torchrecorder.errors import ForwardError
from torchrecorder.graph import from_json, to_json
from torchrecorder.graph.codec import problems
from torchrecorder.recording.run import capture

X = torch.ones(2, 3)


@pytest.mark.parametrize("thing", [lambda x: x, 3, None, nn.Linear])
def test_only_modules_are_recorded(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"only an nn\.Module"):
        capture(thing, (X,))


def test_a_failing_forward_names_the_layer() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(5, 6)), nn.ReLU())
    with pytest.raises(ForwardError) as caught:
        capture(model, (X,))
    error = caught.value
    assert (error.model, error.layer, error.shapes) == ("Sequential", "1.1 (Linear)", "(2, 4)")
    assert re.match(r"RuntimeError: (addmm: )?mat1 and mat2 shapes cannot be multiplied", error.cause)
    assert "in layer 1.1 (Linear), called with (2, 4)" in str(error)
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error)


def test_a_failing_forward_leaves_a_partial_graph() -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.ReLU(), nn.Linear(5, 6)), nn.ReLU())
    with pytest.raises(ForwardError) as caught:
        capture(model, (X,))
    graph = caught.value.graph
    assert graph is not None
    assert problems(graph) == []
    assert from_json(to_json(graph)) == graph
    assert op_names(graph) == ["linear", "relu"]
    assert [(call.module, call.ok) for call in graph.calls] == [
        ("", False),
        ("0", True),
        ("1", False),
        ("1.0", True),
        ("1.1", False),
    ]
    failure = graph.info.failure
    assert failure is not None
    assert failure.call == 4
    assert failure.error.startswith("RuntimeError")
    assert graph.outputs == {}


def test_a_failure_in_the_users_line_gives_that_line() -> None:
    def body(self: Any, x: Any) -> Any:
        raise ValueError(f"bad {x.shape[0]}")

    with pytest.raises(ForwardError) as caught:
        record(Net(body), X)
    error = caught.value
    assert error.layer == ""
    assert error.origin.startswith("tests/core/recording/test_capture.py:") or error.origin.startswith(
        "test_capture.py:"
    )
    assert 'raise ValueError(f"bad {x.shape[0]}")' in error.traceback
    assert "torchrecorder/recording" not in error.traceback


def test_the_traceback_is_of_the_users_code_alone() -> None:
    with pytest.raises(ForwardError) as caught:
        record(nn.Sequential(Net(lambda self, x: self.fc(x), fc=nn.Linear(4, 3))), X)
    files = {line.split('"')[1] for line in caught.value.traceback.splitlines() if line.startswith("  File")}
    assert {Path(file).name for file in files} == {"nets.py", "test_capture.py"}
    with pytest.raises(ForwardError) as caught:
        record(nn.Sequential(nn.Linear(4, 3)), X)
    assert caught.value.traceback == ""


def test_a_failure_by_shapes_alone_names_the_other_way() -> None:
    with pytest.raises(ForwardError) as caught:
        record(Net(lambda self, x: x if x.sum() > 0 else -x), X, run="fake")
    assert "`run: real` computes it" in str(caught.value)
    with pytest.raises(ForwardError) as caught:
        record(Net(lambda self, x: self.nothing), X)
    assert "run: real" not in str(caught.value)


@pytest.mark.parametrize("table", [nn.Embedding(9, 4), nn.EmbeddingBag(9, 4)])
def test_numbers_given_to_a_table_are_answered_with_the_shape_to_write(table: nn.Module) -> None:
    net = Net(lambda self, x: self.table(x), table=table)
    with pytest.raises(ForwardError) as caught:
        record(net, X)
    sizes = ",".join(map(str, X.shape))
    assert f"table looks up integers: say so in the shape of what it is given, `int64[{sizes}]<9`" in str(caught.value)
    with pytest.raises(ForwardError) as caught:
        record(net, torch.ones(2, 3, dtype=torch.int64).bool())
    assert "looks up integers" not in str(caught.value)


def test_a_caught_failure_is_not_blamed_for_a_later_one() -> None:
    def body(self: Any, x: Any) -> Any:
        with contextlib.suppress(RuntimeError):
            self.first(x)
        raise KeyError("mine")

    with pytest.raises(ForwardError) as caught:
        record(Net(body, first=nn.Linear(9, 9)), X)
    assert caught.value.layer == ""


def test_a_failure_that_was_raised_again_is_traced_to_its_source() -> None:
    def body(self: Any, x: Any) -> Any:
        try:
            return self.first(x)
        except RuntimeError as error:
            raise KeyError("mine") from error

    with pytest.raises(ForwardError) as caught:
        record(Net(body, first=nn.Linear(9, 9)), X)
    assert caught.value.layer == "first (Linear)"
    assert caught.value.cause == "KeyError: 'mine'"


def test_interrupts_pass_through() -> None:
    def body(self: Any, x: Any) -> Any:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        record(Net(body, sub=nn.ReLU()), X)
    assert torch._C._len_torch_function_stack() == 0
    assert record(nn.ReLU(), X).outputs


def test_a_forward_without_tensors_says_so() -> None:
    graph = record(Net(lambda self, x: x.shape), X)
    assert graph.outputs == {}
    assert graph.info.notes == ("the forward returned no tensor",)


@pytest.mark.parametrize(
    ("detour", "name"),
    [
        (lambda x: torch.from_numpy(x.numpy() * 2), "numpy"),
        (lambda x: torch.tensor(x.tolist()), "tolist"),
        (lambda x: torch.ones(3) * x.sum().item(), "item"),
        (lambda x: torch.ones(3) * float(x.sum()), "float"),
    ],
)
def test_numbers_that_leave_pytorch_are_noted(detour: Any, name: str) -> None:
    (note,) = record(Net(lambda self, x: detour(x)), X).info.notes
    assert note.startswith(f"values left PyTorch through {name}() at ")
    assert "test_capture.py:" in note


def test_operations_are_called_as_users_write_them() -> None:
    def body(self: Any, x: Any) -> Any:
        y = 1 - x
        y = 2 / y + x @ x.T @ x
        y = F.gelu(torch.special.expit(y))
        y += torch.linalg.norm(x)
        return torch.ops.aten.relu(F.max_pool2d(y[None], 1)[0])

    graph = record(Net(body), X)
    assert op_names(graph)[:7] == ["sub", "div", "T", "matmul", "matmul", "add", "expit"]
    assert op_names(graph)[7:] == ["gelu", "norm", "add_", "getitem", "max_pool2d", "getitem", "relu"]
    targets = {op.name: op.target for op in graph.ops}
    assert targets["gelu"] == "torch.nn.functional.gelu"
    assert targets["expit"] == "torch.special.expit"
    assert targets["add_"] == "torch.Tensor.add_"


def test_arguments_that_are_no_tensors_are_attributes() -> None:
    def body(self: Any, x: Any) -> Any:
        y = torch.cat([x, x], dim=-1)[:, 1:3]
        return y.to(torch.float64).sum(dim=(0, 1), keepdim=True)

    cat, getitem, to, total = record(Net(body), X).ops
    assert cat.attrs == {"dim": "-1"}
    assert getitem.attrs == {"1": "(:, 1:3)"}
    assert to.attrs == {"1": "torch.float64"}
    assert total.attrs == {"dim": "(0, 1)", "keepdim": "True"}


def test_numbers_of_numpy_are_attributes() -> None:
    """`x * np.sqrt(512)` said no more than `float64`."""

    def body(self: Any, x: Any) -> Any:
        return x[: np.int64(2)] * np.float64(2.5)

    getitem, mul = record(Net(body), X).ops
    assert (getitem.attrs["1"], mul.attrs["1"]) == (":2", "2.5")


def test_flags_and_integers_are_told_apart() -> None:
    def body(self: Any, x: Any) -> Any:
        return x[0, 1].sum() + x[0, True].sum() + x[0, 1].sum()

    items = [op for op in record(Net(body), X).ops if op.name == "getitem"]
    assert [op.attrs["1"] for op in items] == ["(0, 1)", "(0, True)", "(0, 1)"]


def test_floating_point_operations_are_known_or_unknown() -> None:
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 4, 5))
    graph = record(model, torch.ones(1, 3, 4, 4))
    assert {op.name: op.flops for op in graph.ops} == {
        "conv2d": 2 * 4 * 8 * 27,
        "relu": None,
        "flatten": None,
        "linear": 2 * 32 * 5,
    }


def test_attention_and_recurrence_are_counted() -> None:
    with torch.no_grad():
        encoder = record(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), torch.ones(1, 32, 64))
        lstm = record(nn.LSTM(64, 128, 2), torch.ones(10, 2, 64))
    assert sum(op.flops or 0 for op in encoder.ops) == 2_359_296
    assert sum(op.flops or 0 for op in lstm.ops) == 9_175_040


def test_modules_tell_their_facts() -> None:
    shared = nn.Linear(3, 3)
    shared.bias.requires_grad_(False)
    model = nn.Sequential(shared, nn.Sequential(nn.ReLU(), shared))
    graph = record(model, X)
    assert list(graph.modules) == ["", "0", "1", "1.0"]
    linear = graph.modules["0"]
    assert linear.aliases == ("1.1",)
    assert (linear.params.own, linear.params.total, linear.params.trainable) == (12, 12, 9)
    assert graph.modules[""].params.total == 12
    assert linear.native
    assert linear.extra_repr == "in_features=3, out_features=3, bias=True"
    assert [(call.module, call.index) for call in graph.calls if call.module == "0"] == [("0", 1), ("0", 2)]


def test_a_module_that_prints_its_address_stays_deterministic() -> None:
    class Odd(nn.Module):
        def extra_repr(self) -> str:
            return f"owner={object()}"

        def forward(self, x: Tensor) -> Tensor:
            return x

    assert record(Odd(), X).modules[""].extra_repr == "owner=<object object>"


def test_a_long_chain_needs_no_recursion() -> None:
    def body(self: Any, x: Any) -> Any:
        for _ in range(20_000):
            x = x + 1
        return x

    with torch.no_grad():
        graph = record(Net(body), X)
    assert len(graph.ops) == 20_000


def test_a_bare_tensor_is_not_taken_apart() -> None:
    assert capture(nn.Linear(3, 2), torch.ones(1, 3)) == capture(nn.Linear(3, 2), (torch.ones(1, 3),))
    with pytest.raises(TypeError, match=r"so one dict is written \(x,\)"):
        capture(nn.Linear(3, 2), {"input": torch.ones(1, 3)})  # type: ignore[arg-type]


def test_a_model_is_not_held_after_its_recording() -> None:
    """Not even until the garbage collector comes: what is kept of a model is as large as its memory."""
    model = Net(lambda self, x: self.fc(x), fc=nn.Linear(3, 3))
    fc, weight = weakref.ref(model.fc), weakref.ref(model.fc.weight)
    gc.collect()
    gc.disable()
    try:
        capture(model, (torch.ones(2, 3),))
        del model
        assert fc() is None
        assert weight() is None
    finally:
        gc.enable()


def test_a_recording_leaves_nothing_to_the_garbage_collector() -> None:
    """Else it takes apart all that is known of tensors, before `capture` has come to its end."""

    def half(x: Tensor) -> Tensor:
        return x / 2

    model = Net(lambda self, x: half(self.fc(x.view(x.shape[0], -1))), fc=nn.Linear(6, 3))
    capture(model, (torch.ones(2, 2, 3),))  # what is kept for the next recordings
    gc.collect()
    gc.disable()
    try:
        graph = capture(model, (torch.ones(2, 2, 3),))
        kinds = {type(item) for item in gc.get_objects(generation=0)}
        assert {kind.__name__ for kind in kinds if kind.__module__.startswith("torchrecorder.recording")} == set()
    finally:
        gc.enable()
    assert graph.batch
