"""What users get wrong: each a clear error or a correct graph, never a wrong one in silence."""

from __future__ import annotations

import re
import sys
import threading
import time
import warnings
import weakref
from contextlib import nullcontext
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import BaseTorchFunctionMode, _get_current_function_mode_stack
from torch.utils._python_dispatch import BaseTorchDispatchMode, _get_current_dispatch_mode_stack

from tests.core.recording.nets import Net, op_names, record
from torchrecorder.errors import ForwardError
from torchrecorder.graph import Graph
from torchrecorder.recording import run
from torchrecorder.recording.guess.search import record_guessed
from torchrecorder.recording.inputs import Inputs
from torchrecorder.recording.machine import memory
from torchrecorder.recording.run import Run, capture

X = torch.ones(2, 3)


def failure(model: nn.Module, *args: Any, **options: Any) -> ForwardError:
    with pytest.raises(ForwardError) as caught:
        capture(model, args, **options)
    assert isinstance(caught.value.graph, Graph)
    assert caught.value.graph.info.failure is not None
    return caught.value


def test_a_shape_that_is_refused() -> None:
    error = failure(nn.Sequential(nn.Flatten(), nn.Linear(4, 2)), X)
    assert (error.layer, error.shapes) == ("1 (Linear)", "(2, 3)")
    assert "mat1 and mat2 shapes cannot be multiplied (2x3 and 4x2)" in str(error)


@pytest.mark.parametrize("args", [(), (X, X), ("text",), (None,), (X.long(),)])
def test_arguments_that_are_refused(args: tuple[Any, ...]) -> None:
    assert failure(nn.Linear(3, 3), *args).model == "Linear"


def test_a_keyword_that_does_not_exist() -> None:
    with pytest.raises(ForwardError, match="unexpected keyword argument 'y'"):
        capture(nn.Linear(3, 3), (), {"y": X})


@pytest.mark.parametrize("result", [None, 3, "text", [], {"a": None}])
def test_no_tensor_comes_back(result: Any) -> None:
    graph = record(Net(lambda self, x: result), X)
    assert graph.outputs == {}
    assert graph.info.notes == ("the forward returned no tensor",)


def test_a_forward_without_end_can_be_stopped() -> None:
    class Stopped(BaseException):
        pass

    start = time.monotonic()

    def body(self: Any, x: Tensor) -> Tensor:
        while True:
            x = x + 1
            if time.monotonic() - start > 0.05:
                raise Stopped

    with pytest.raises(Stopped):
        record(Net(body), X)
    assert op_names(record(nn.ReLU(), X)) == ["relu"]


@pytest.mark.parametrize("way", ["fake", "meta"])
def test_a_decision_that_needs_numbers(way: Any) -> None:
    error = failure(Net(lambda self, x: x if x.sum() > 0 else -x), X, run=way)
    assert "test_bad_input.py" in error.origin


@pytest.mark.filterwarnings("ignore")  # torch tells of a hook that failed, too
def test_recursion_without_end() -> None:
    def body(self: Any, x: Tensor) -> Any:
        return self(x)

    assert failure(Net(body), X).cause
    assert op_names(record(nn.ReLU(), X)) == ["relu"]


def test_a_scripted_model() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
    graph = record(model, X)
    assert graph.outputs
    assert op_names(graph) == ["t", "addmm", "relu"]


def test_a_model_that_traces_of_itself() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.jit.trace(nn.Linear(3, 3), X)  # type: ignore[no-untyped-call]
    assert record(model, X).outputs


def test_a_lazy_model_that_cannot_be_made() -> None:
    assert failure(nn.Sequential(nn.Linear(3, 3), nn.LazyConv2d(3, 3)), X).layer.startswith("1 (")


def test_a_model_with_a_broken_description() -> None:
    class Broken(nn.Module):
        def extra_repr(self) -> str:
            raise ValueError("no")

        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    assert op_names(record(Broken(), X)) == ["add"]


def test_a_model_without_its_constructor() -> None:
    class Forgotten(nn.Module):
        def __init__(self) -> None:
            pass

        def forward(self, x: Tensor) -> Tensor:
            return x + 1

    with pytest.raises((ForwardError, AttributeError)):
        capture(Forgotten(), (X,))


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


class AnswersToAll(Layer):
    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return "anything"


class Refuses(Layer):
    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            raise RuntimeError(f"asked for {name}") from None

    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("no copy")

    __copy__ = __reduce_ex__ = __deepcopy__


class BrokenProperties(Layer):
    def _broken(self) -> Any:
        raise RuntimeError("broken")

    config = device = example_input_array = main_input_name = pretrained_cfg = dummy_inputs = property(_broken)


class FrozenAttributes(Layer):
    def __setattr__(self, name: str, value: Any) -> None:
        if "fc" in self.__dict__.get("_modules", {}):
            raise RuntimeError(f"{name} is frozen")
        super().__setattr__(name, value)


class NoTrain(Layer):
    def train(self, mode: bool = True) -> Any:
        raise NotImplementedError("never")


class NoTruth(Layer):
    def __bool__(self) -> bool:
        raise RuntimeError("neither")

    def __len__(self) -> int:
        return 0


@pytest.mark.parametrize("way", ["real", "fake", "meta"])
@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("cls", [AnswersToAll, Refuses, BrokenProperties, FrozenAttributes, NoTrain, NoTruth])
def test_models_with_traps(cls: type[nn.Module], mode: Any, way: Any) -> None:
    graph = record(cls(), X, run=way, mode=mode)
    assert [call.module for call in graph.calls] == ["", "fc"]
    assert op_names(graph) == ["linear"]


@pytest.mark.parametrize("cls", [AnswersToAll, Refuses, BrokenProperties, FrozenAttributes, NoTrain, NoTruth])
def test_the_inputs_of_models_with_traps_are_found(cls: type[nn.Module]) -> None:
    model = cls()

    def record(inputs: Inputs, run: Run) -> Graph:
        return capture(model, inputs.args, run=run, guessed=inputs.guessed)

    graph = record_guessed(model, record, run="auto", seed=0)
    assert graph.info.guessed == "1,3, from fc (Linear)"


def test_a_model_with_slots() -> None:
    class Slotted(nn.Module):
        __slots__ = ("__hidden", "_t", "scale", "unset")

        def __init__(self) -> None:
            super().__init__()
            self.scale, self.__hidden, self._t = 2.0, 3, torch.zeros(3)

        def forward(self, x: Tensor) -> Any:
            self._t += 1
            return x * self.scale * self.__hidden + self._t

    model = Slotted()
    assert op_names(record(model, X)) == ["add_", "mul", "mul", "add"]
    assert model._t.tolist() == [0.0] * 3


def test_a_model_that_does_not_show_its_modules() -> None:
    class Shy(Layer):
        def named_modules(self, *args: Any, **kwargs: Any) -> Any:
            raise ValueError("no")

    model = Shy()
    assert op_names(capture(model, (X,))) == op_names(capture(Layer(), (X,)))
    model.add_module("again", model.fc)
    assert capture(model, (X,)).modules["fc"].aliases == ("again",)


def test_modules_that_hold_one_another() -> None:
    model = Layer()
    model.fc.add_module("up", model)
    assert op_names(record(model, X)) == op_names(record(Layer(), X))


@pytest.mark.parametrize("register", ["register_forward_hook", "register_forward_pre_hook"])
def test_hooks_that_raise(register: str) -> None:
    model = Layer()
    getattr(model.fc, register)(lambda *args: 1 / 0)
    assert "ZeroDivisionError" in failure(model, X).cause
    assert op_names(record(nn.ReLU(), X)) == ["relu"]


@pytest.mark.parametrize("forward", [staticmethod(lambda x: x + 1), classmethod(lambda cls, x: x + 1)])
def test_a_forward_that_is_no_method(forward: Any) -> None:
    model = type("Odd", (nn.Module,), {"forward": forward})()
    graph = record(model, X)
    assert list(graph.inputs) == ["x"]
    assert op_names(graph) == ["add"]


def test_a_model_without_a_forward() -> None:
    assert "NotImplementedError" in failure(nn.Module(), X).cause


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "change",
    [
        torch.fx.symbolic_trace,
        lambda model: torch.export.export(model, (X,)).module(),
        lambda model: torch.jit.freeze(torch.jit.script(model.eval())),
        lambda model: torch.compile(model, backend="eager"),
        nn.DataParallel,
    ],
    ids=["traced", "exported", "frozen", "compiled", "parallel"],
)
def test_models_that_torch_made_of_others(change: Any) -> None:
    graph = record(change(Layer()), X)
    assert len(graph.inputs) == len(graph.outputs) == 1
    assert {op.name for op in graph.ops} & {"linear", "addmm"}


def test_a_lazy_model_with_buffers() -> None:
    model = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d(), nn.LazyLinear(2))
    graph = record(model, X)
    assert [graph.modules[str(i)].params.own for i in range(3)] == [16, 8, 10]
    assert type(model[1]) is nn.LazyBatchNorm1d


def test_an_input_on_meta_is_followed_by_shape() -> None:
    assert record(nn.Linear(3, 3), X.to("meta")).info.executed == "fake"


def test_numbers_of_numpy_are_said_to_come_from_nowhere() -> None:
    graph = record(Net(lambda self, a: torch.cos(torch.from_numpy(a))), X.numpy())
    assert graph.inputs == {}
    assert graph.info.notes[0].startswith("not looked into: arguments of class ndarray")


def test_layers_in_another_thread_are_noted() -> None:
    def body(self: Any, x: Tensor) -> Any:
        found: list[Tensor] = []
        thread = threading.Thread(target=lambda: found.append(self.fc(x)))
        thread.start()
        thread.join()
        return found[0] + 1

    graph = record(Net(body, fc=nn.Linear(3, 3)), X)
    assert graph.info.notes == ("layers ran in another thread: what they gave is drawn as constants",)


def test_a_result_that_holds_itself() -> None:
    def body(self: Any, x: Tensor) -> Any:
        found: list[Any] = [x + 1]
        found.append(found)
        return found

    assert list(record(Net(body), X).outputs) == ["0"]


def _state() -> dict[str, object]:
    return {
        "dtype": torch.get_default_dtype(),
        "device": torch.get_default_device(),
        "grad": torch.is_grad_enabled(),
        "deterministic": torch.are_deterministic_algorithms_enabled(),
        "threads": torch.get_num_threads(),
        "anomaly": torch.is_anomaly_enabled(),
        "recursion": sys.getrecursionlimit(),
        "functions": _get_current_function_mode_stack(),  # type: ignore[no-untyped-call]
        "kernels": _get_current_dispatch_mode_stack(),
        "numbers": torch.get_rng_state().tolist(),
    }


@pytest.mark.parametrize("way", ["real", "fake", "meta"])
@pytest.mark.parametrize("raises", [True, False])
def test_a_forward_that_changes_global_state(raises: bool, way: Any) -> None:
    """Modes among it: what leaves them takes the innermost one off, which would be the wrong one."""

    def body(self: Any, x: Tensor) -> Any:
        torch.set_default_dtype(torch.float64)
        torch.set_grad_enabled(False)
        torch.use_deterministic_algorithms(True)
        torch.set_num_threads(torch.get_num_threads() + 1)
        torch.autograd.set_detect_anomaly(True)
        torch.manual_seed(5)
        BaseTorchFunctionMode().__enter__()  # type: ignore[no-untyped-call]
        BaseTorchDispatchMode().__enter__()  # type: ignore[no-untyped-call]
        if raises:
            raise ValueError("after all that")
        return x + 1

    before = _state()
    if raises:
        assert failure(Net(body), X, run=way).cause == "ValueError: after all that"
    else:
        assert op_names(record(Net(body), X, run=way)) == ["add"]
    assert _state() == before
    assert op_names(record(nn.ReLU(), X)) == ["relu"]


@pytest.mark.parametrize("way", ["real", "fake", "meta"])
@pytest.mark.parametrize(
    "own", [nullcontext, BaseTorchFunctionMode, BaseTorchDispatchMode, lambda: torch.device("cpu")]
)
def test_a_forward_that_sets_a_default_device(own: Any, way: Any) -> None:
    def body(self: Any, x: Tensor) -> Any:
        torch.set_default_device("meta")
        torch.device("cpu").__enter__()
        raise ValueError("after all that")

    with own():
        before = _state()
        assert failure(Net(body), X, run=way).cause == "ValueError: after all that"
        assert _state() == before
    assert torch.zeros(1).tolist() == [0.0]


@pytest.mark.parametrize("in_layers", [True, False])
def test_a_forward_that_allocates_without_end(in_layers: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the machine cannot compute is followed by shape, where memory never ends."""

    def body(self: Any, x: Tensor) -> Any:
        kept = []
        while True:
            kept.append(self.fc(x) if in_layers else x + 1)
            if type(x) is Tensor and len(kept) > 3:
                torch.empty(10**15)

    monkeypatch.setattr(run, "_MOST_OPS", 50)
    error = failure(Net(body, fc=nn.Linear(3, 3)), X)
    assert "allocate memory" in error.cause
    assert error.advice == "on fake tensors, it did not end within 58 operations: does a loop in it never end?"
    assert op_names(record(nn.ReLU(), X)) == ["relu"]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory is left")
@pytest.mark.parametrize("run_as", ["real", "auto"])
def test_a_forward_that_fills_the_memory(run_as: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    room = memory._resident() + (400 << 20)
    monkeypatch.setattr(memory, "_of_machine", lambda root: room - memory._resident())
    monkeypatch.setattr(run, "_MOST_OPS", 50)
    kept: list[weakref.ref[Tensor]] = []

    def layer(self: Any, x: Tensor) -> Any:
        held = []
        while True:
            held.append(torch.zeros(1 << 22))
            kept.append(weakref.ref(held[-1]))

    net = Net(lambda self, x: self.fills(x), fills=Net(layer))
    error = failure(net, X, run=run_as)
    assert re.match(
        r"MemoryError: it keeps \d+ MiB of the \d+ MiB of memory that were left,"
        r" after \d+ operations, the last of them zeros$",
        error.cause,
    )
    assert error.layer == "fills (Net)"
    assert error.origin.startswith("tests/core/recording/test_bad_input.py:")
    assert ("does a loop in it never end?" if run_as == "auto" else "`run: fake`") in error.advice
    assert [ref for ref in kept if type(ref()) is Tensor] == [], "what fills the memory is let go with the error"
    assert op_names(record(nn.ReLU(), X)) == ["relu"]
