"""Which call an operation belongs to, where hooks tell and where they do not."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import warnings
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.core.recording.nets import Net, drawn, edges, op_names, record

X = torch.ones(2, 3)


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return x * x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0]


class SquareWithSetup(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Any:
        return x * x

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        return None

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0]


square = Square.apply


class Doubled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return F.relu(self.fc(x)) * 2


def calls_of(graph: Any) -> list[tuple[str, str | None, int]]:
    names = [call.module for call in graph.calls]
    return [(c.module, None if c.parent is None else names[c.parent], c.index) for c in graph.calls]


def test_modules_in_a_python_list_are_told_apart() -> None:
    layers = [nn.Linear(3, 4), nn.Linear(4, 3)]
    graph = record(Net(lambda self, x: self.layers[1](self.layers[0](x)), layers=layers), X)
    assert edges(graph) == drawn("in:x -> m:layers[0] -> m:layers[1] -> out")
    assert [graph.modules[name].params.total for name in ("layers[0]", "layers[1]")] == [16, 15]


def test_a_module_that_was_deleted_does_not_lend_its_name() -> None:
    def body(self: Any, x: Any) -> Any:
        for cls in (nn.ReLU, nn.Tanh, nn.ReLU, nn.Sigmoid) * 5:
            x = cls()(x)
        return x

    graph = record(Net(body), X)
    assert [m.cls.rpartition(".")[2] for m in graph.modules.values()][1:5] == ["ReLU", "Tanh", "ReLU", "Sigmoid"]


def test_a_submodule_whose_exception_is_caught_ends_there() -> None:
    def body(self: Any, x: Any) -> Any:
        try:
            self.deep(x)
        except RuntimeError:
            x = x + 1
        return F.relu(x)

    graph = record(Net(body, deep=nn.Sequential(nn.ReLU(), nn.Linear(7, 7))), X)
    assert [(call.module, call.ok) for call in graph.calls] == [
        ("", True),
        ("deep", False),
        ("deep.0", True),
        ("deep.1", False),
    ]
    assert {op.name: op.call for op in graph.ops}["add"] == 0
    assert graph.info.failure is None


def test_other_threads_are_not_recorded() -> None:
    def body(self: Any, x: Any) -> Any:
        other = threading.Thread(target=lambda: self.aside(x))
        other.start()
        other.join()
        return self.fc(x)

    graph = record(Net(body, fc=nn.Linear(3, 3), aside=nn.Linear(3, 3)), X)
    assert calls_of(graph) == [("", None, 1), ("fc", "", 1)]


def test_prebound_apply_is_a_scope() -> None:
    graph = record(Net(lambda self, x: square(x) + SquareWithSetup.apply(x)), X)  # type: ignore[no-untyped-call]
    assert edges(graph) == drawn("in:x -> /Square -> /add -> out; in:x -> /SquareWithSetup -> /add")
    assert [call.kind for call in graph.calls] == ["module", "function", "function"]


def test_direct_forward_holds_its_children() -> None:
    graph = record(Net(lambda self, x: self.sub.forward(self.sub.forward(x)), sub=Doubled()), X)
    assert calls_of(graph) == [
        ("", None, 1),
        ("sub", "", 1),
        ("sub.fc", "sub", 1),
        ("sub", "", 2),
        ("sub.fc", "sub", 2),
    ]


def test_direct_forwards_in_a_loop_are_calls_of_their_own() -> None:
    def body(self: Any, x: Any) -> Any:
        for _ in range(3):
            x = self.sub.forward(x)
        return x

    graph = record(Net(body, sub=Net(lambda self, x: x + 1)), X)
    assert [call.index for call in graph.calls[1:]] == [1, 2, 3]
    assert [op.call for op in graph.ops] == [1, 2, 3]


def test_super_forward_is_no_call() -> None:
    class Child(Doubled):
        def forward(self, x: Tensor) -> Any:
            return super().forward(x) + 1

    assert calls_of(record(Child(), X)) == [("", None, 1), ("fc", "", 1)]


class Wasteful(nn.Module):
    """Says whether the tensor that it let go of, in the middle of its forward, is gone."""

    def forward(self, x: Tensor) -> Any:
        wide = x.repeat(10, 1)
        seen = weakref.ref(wide)
        y = wide.sum(0)
        del wide
        return y, seen() is None, seen


def test_a_walk_through_frames_does_not_keep_their_variables() -> None:
    def body(self: Any, x: Any) -> Any:
        y, was_let_go, ref = self.sub.forward(x)
        outcome.append(was_let_go)
        y = self.later.forward(y)
        outcome.append(ref() is None)
        return y

    outcome: list[bool] = []
    model = Net(body, sub=Wasteful(), later=Doubled())
    with torch.no_grad():
        record(model, X)
    assert outcome == [True, True]


def test_compiled_code_is_recorded_as_it_is_written() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        double = torch.compile(lambda x: torch.cos(x) * 2, fullgraph=True)
        sub = torch.compile(Doubled())
    graph = record(Net(lambda self, x: double(self.sub(x)), sub=sub), X)
    assert edges(graph) == drawn(
        "in:x -> m:sub._orig_mod.fc -> sub._orig_mod/relu -> sub._orig_mod/mul -> /cos -> /mul -> out"
    )


def test_code_compiled_inside_the_forward_is_recorded_too() -> None:
    program = """
import sys, torch
from tests.core.recording.nets import *
assert "torch._dynamo" not in sys.modules
graph = record(Net(lambda self, x: torch.compile(lambda y: torch.cos(y) * 2)(x)), torch.ones(2))
assert op_names(graph) == ["cos", "mul"], op_names(graph)
"""
    root = Path(__file__).parents[3]
    environment = {"PYTHONPATH": f"{root / 'core'}:{root}"}
    done = subprocess.run([sys.executable, "-c", program], cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_what_an_overridden_call_does_lies_inside_the_model() -> None:
    class Wrapped(nn.Linear):
        def __call__(self, x: Tensor) -> Any:
            return super().__call__(x + 1) * 2

    graph = record(Wrapped(3, 3), X)
    assert op_names(graph) == ["add", "linear", "mul"]
    assert {op.call for op in graph.ops} == {0}


def test_sources_are_lines_of_the_users_code() -> None:
    graph = record(Net(lambda self, x: F.relu(self.fc(x)), fc=nn.Linear(3, 3)), X)
    linear, relu = graph.ops
    assert linear.source is None
    file, _, line = (relu.source or "").rpartition(":")
    assert file.endswith("recording/test_scopes.py")
    assert not file.startswith("/")
    assert int(line) > 0


class Scaled(SquareWithSetup):
    """Has the forward of its base, and no `ctx` there that would tell the two apart."""


class Masked(torch.autograd.Function):
    @staticmethod
    def forward(x: Tensor) -> Any:
        return x * 2

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> Any:
        ctx.mask = output > 0

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0] * ctx.mask


def _halved(ctx: Any, x: Tensor) -> Any:
    return x / 2


class Renamed(torch.autograd.Function):
    forward = staticmethod(_halved)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0] / 2


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        raise ValueError((x + 1).sum())


@pytest.fixture(params=["as torch does", "from C"])
def applied(request: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Since torch 2.15 no Python runs between a function's `apply` and its `forward`; here none does in any torch."""
    if request.param == "from C":
        monkeypatch.setattr(torch.autograd.Function, "apply", vars(torch._C._FunctionBase)["apply"])


def every(*functions: Any) -> Any:
    """A forward that applies them one after the other, all from one line."""

    def forward(self: nn.Module, x: Tensor) -> Any:
        for function in functions:
            x = function(x)
        return x

    return forward


@pytest.mark.usefixtures("applied")
@pytest.mark.parametrize("train", [False, True], ids=["no grad", "grad"])
class TestCustomFunctions:
    def check(self, forward: Any, train: bool, expected: Sequence[tuple[str, str | None, int]], *names: str) -> None:
        with torch.set_grad_enabled(train):
            graph = record(Net(forward), X.clone().requires_grad_(train))
        assert calls_of(graph) == [("", None, 1), *expected]
        assert op_names(graph) == [*names]
        where = {op.name: graph.calls[op.call].module for op in graph.ops}
        assert where.get("relu", "") == ""

    def test_each_is_a_call(self, train: bool) -> None:
        forward = every(Square.apply, Square.apply, SquareWithSetup.apply)
        expected = [("Square", "", 1), ("Square", "", 2), ("SquareWithSetup", "", 1)]
        self.check(forward, train, expected, "mul", "mul", "mul")

    def test_one_that_has_the_forward_of_another(self, train: bool) -> None:
        expected = [("Scaled", "", 1), ("SquareWithSetup", "", 1)]
        self.check(every(Scaled.apply, SquareWithSetup.apply), train, expected, "mul", "mul")

    def test_what_it_does_for_its_context_belongs_to_it(self, train: bool) -> None:
        expected = [("Masked", "", 1), ("Masked", "", 2)]
        self.check(every(Masked.apply, Masked.apply), train, expected, "mul", "gt", "mul", "gt")

    def test_a_forward_of_another_name(self, train: bool) -> None:
        self.check(every(Renamed.apply), train, [("Renamed", "", 1)], "div")

    def test_what_follows_on_the_same_line_does_not_belong_to_it(self, train: bool) -> None:
        expected = [("Square", "", 1), ("Renamed", "", 1)]
        plain = [torch.relu, lambda x: x + 1, Renamed.apply]
        self.check(every(Square.apply, *plain), train, expected, "mul", "relu", "add", "div")

    def test_one_inside_another(self, train: bool) -> None:
        class Outer(torch.autograd.Function):
            @staticmethod
            def forward(ctx: Any, x: Tensor) -> Any:
                return Square.apply(x + 1) - 1  # type: ignore[no-untyped-call]

        expected = [("Outer", "", 1), ("Square", "Outer", 1)]
        self.check(every(Outer.apply, torch.relu), train, expected, "add", "mul", "sub", "relu")

    def test_one_that_fails_and_is_caught(self, train: bool) -> None:
        def forward(self: nn.Module, x: Tensor) -> Any:
            with contextlib.suppress(ValueError):
                Fails.apply(x)  # type: ignore[no-untyped-call]
            return torch.relu(x)

        self.check(forward, train, [("Fails", "", 1)], "add", "sum", "relu")

    def test_nothing_is_left(self, train: bool) -> None:
        context = torch.autograd.function.BackwardCFunction
        before = dict(vars(context))
        self.check(every(Square.apply), train, [("Square", "", 1)], "mul")
        assert dict(vars(context)) == before
