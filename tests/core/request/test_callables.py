"""What a class, a function or a forward has to be given, by its signature."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from torch import Tensor

from torchrecorder.request.callables import docstrings, example_of, needed_arguments, parameters_of, required


class Net:
    """A net.

    >>> Net(3)
    """

    def __init__(self, width: int, depth: int = 2, *layers: int, act: NotThere, **rest: Any) -> None:  # type: ignore[name-defined]  # noqa: F821
        """Make it."""

    def forward(self, x: float, mask: int | None = None) -> float:
        return x


class Computed:
    @property
    def __signature__(self) -> inspect.Signature:
        raise RuntimeError("not now")

    def __call__(self) -> None: ...


def test_what_has_no_default_is_needed() -> None:
    assert needed_arguments(Net) == ["width", "act"]
    assert [p.name for p in required(parameters_of(Net.forward))] == ["self", "x"]
    assert needed_arguments(lambda: None) == []


def test_annotations_become_objects_where_all_names_are_there() -> None:
    (_, x, _) = parameters_of(Net.forward, evaluated=True) or ()
    assert x.annotation is float
    (width, *_) = parameters_of(Net, evaluated=True) or ()
    assert width.annotation == "int", "one name is there for type checkers only, so all stay text"


@pytest.mark.parametrize("silent", [Computed(), dict.update, None, 3])
def test_what_does_not_say_its_parameters_needs_nothing_that_is_known(silent: object) -> None:
    assert parameters_of(silent) is None
    assert needed_arguments(silent) == []
    assert required(None) == []


def test_docstrings_of_the_class_and_of_its_constructor() -> None:
    assert docstrings(Net) == ["A net.\n\n>>> Net(3)", "Make it."]


def reads_object(cfg: Any) -> object:
    return cfg.model.width, cfg.model.depth, cfg.get("seed"), cfg.lr.item()


def reads_keys(batch: Any) -> object:
    return batch["x"].shape, batch.get("mask", None)


def reads_a_tensor(x: Any) -> object:
    return x.shape, x.flatten(1)


def gives_the_name_away(x: Any) -> object:
    x = x.copy()
    return x.last_hidden_state


@pytest.mark.parametrize(
    ("function", "name", "text"),
    [
        (reads_object, "cfg", '{"model": SimpleNamespace(width=…, depth=…), "seed": …, "lr": …}'),
        (reads_keys, "batch", '{"x": …, "mask": …}'),
        (reads_a_tensor, "x", ""),
        (reads_keys, "other", ""),
        (gives_the_name_away, "x", ""),
        (dict.update, "self", ""),
    ],
)
def test_what_a_function_reads_of_a_parameter(function: object, name: str, text: str) -> None:
    assert example_of(function, name, Tensor) == text
