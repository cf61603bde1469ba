"""A recording that failed because of the recorder, made again with fewer of its parts.

What the user's code raises is not ours to try again. An exception is ours if the innermost of our frames was not just
passing on a call. Torch may also refuse something because it is recorded; that is so if the plain forward runs.
"""

from __future__ import annotations

import dis
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torchrecorder.errors import ForwardError, TorchRecorderError
from torchrecorder.faults import failed_inside
from torchrecorder.graph import Call, Graph, Info, Module, Op, Value
from torchrecorder.recording.blame import texts, tracebacks
from torchrecorder.running import torch_private
from torchrecorder.running.facts import (
    argument_names,
    class_of,
    describe_tensor,
    is_native,
    named_arguments,
    named_modules,
    named_state,
)
from torchrecorder.running.handles import CallLog, ModuleCall, all_modules_watched
from torchrecorder.running.nested import answer, named_tensors
from torchrecorder.trace.ownership import is_ours


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a recorder that are switched on."""

    kernels: bool = True
    """Whether a mode sees the kernels of operations."""
    journal: bool = True
    """Whether all that the forward reaches is kept, and not only the attributes and tensors of modules."""


Attempt = Callable[[Parts, Sequence[str]], Graph]
"""Records with some parts, and puts sentences into the notes of the Graph."""

_FEWER = (
    (Parts(kernels=False), "without kernels: writes in place, FLOPs and what scripts run are not seen"),
    (
        Parts(kernels=False, journal=False),
        "without kernels and without a journal: writes in place are not seen, and objects other than modules keep "
        "what the forward wrote to them",
    ),
)
_ONLY_CALLS = "from the calls of its modules only: no operation between them is seen"

_PASSES_ON = re.compile(
    r"(func|original|function|dispatch|execute|next|self\.model|(type\(mode\)|mode)\.dispatch|list\(islice)\("
)
"""How a line begins with which we call what is not ours: a function of torch's, or the user's."""


def recorded(
    attempt: Attempt,
    only_calls: Callable[[str], Graph] | None,
    settled: Sequence[BaseException],
    *,
    may_doubt: bool,
) -> Graph:
    """The Graph of the first attempt that does not fail because of the recorder.

    Args:
        attempt: Records.
        only_calls: Records the calls of modules alone; None, if the plain forward cannot be run to see what is wrong.
        settled: Exceptions of operations that raise without a recorder, too; `attempt` may add some.
        may_doubt: Whether a plain forward may tell if torch raised because of the recorder; a search for inputs makes
            many forwards that fail.

    Raises:
        Exception: What the first attempt raised, if it is the user's, or if no attempt gives a Graph.
    """
    try:
        return attempt(Parts(), ())
    except Exception as error:
        raised = error.__cause__ if isinstance(error, ForwardError) else error
        if raised is None or isinstance(raised, TorchRecorderError):
            raise
        plain: Graph | None = None
        if not is_of_recorder(raised):
            if only_calls is None or not may_doubt or any(o is raised for o in settled) or not is_doubtful(raised):
                raise
            if (plain := answer(lambda: only_calls(_note(raised, _ONLY_CALLS)), None)) is None:
                raise
        for parts, missing in _FEWER:
            note = _note(raised, missing)
            if (graph := answer(partial(attempt, parts, (note,)), None)) is not None:
                return graph
        if plain is None and only_calls is not None:
            plain = answer(lambda: only_calls(_note(raised, _ONLY_CALLS)), None)
        if plain is None:
            raise
        return plain


def _note(error: BaseException, missing: str) -> str:
    fault = failed_inside("", error)
    where = f" ({fault.origin})" if is_of_recorder(error) and fault.origin else ""
    return (
        f"recorded {missing}; torchrecorder failed inside: {fault.cause.partition(chr(10))[0]}{where}; please report it"
    )


def is_of_recorder(error: BaseException) -> bool:
    """Whether our own code raised an exception, or what it called for itself."""
    ours = [frame for frame in tracebacks(error) if is_ours(frame.tb_frame.f_code.co_filename)]
    if not ours:
        return False
    expression, *others = [*texts(ours[-1]), ""]
    says_so = ours[-1].tb_next is None and any(text.lstrip().startswith("raise ") for text in (expression, *others))
    return not says_so and _PASSES_ON.match(expression) is None


def is_doubtful(error: BaseException) -> bool:
    """Whether torch may have raised an exception because of the recorder."""
    if not isinstance(error, RuntimeError):
        return False
    *_, last = [None, *tracebacks(error)]
    if last is None:
        return True
    code = last.tb_frame.f_code
    is_raised = dis.opname[code.co_code[last.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")  # and not by a call into C
    return not is_raised or "/torch/" in code.co_filename


@contextmanager
def kept_plainly(model: nn.Module) -> Iterator[None]:
    """Put back the attributes of modules, and the data of their tensors, without a walk through what they hold."""
    modules = [module for _, module in named_modules(model)]
    attributes = [vars(module) for module in modules]
    held = [*attributes, *(value for own in attributes for value in own.values() if type(value) is dict)]
    saved = [(own, dict(own)) for own in held]
    with torch_private.without_torch_function(), torch.no_grad():
        tensors = [tensor for _, _, tensor in named_state(named_modules(model)) if not is_lazy(tensor)]
        states = [(t, t.detach(), t.detach().clone(), t.requires_grad, t.grad if t.is_leaf else None) for t in tensors]
    try:
        yield
    finally:
        for own, items in saved:
            own.clear()
            own.update(items)
        with torch.inference_mode(False), torch_private.without_modes(), torch.no_grad():
            for tensor, alias, before, needs_grad, grad in states:
                with suppress(RuntimeError):  # what is written to keeps what it can
                    if tensor.is_leaf:
                        tensor.data = alias
                        tensor.requires_grad_(needs_grad)
                        tensor.grad = grad
                    if not torch.equal(alias, before):
                        alias.copy_(before)


@dataclass(slots=True, eq=False)
class _Called(ModuleCall):
    path: str = ""
    index: int = 1
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)


class OnlyCalls:
    """The calls of one forward, and the tensors that went from one to the next: the least that can be recorded.

    Only torch's hooks are used, and nothing of what a whole recording is made of, since something of that has failed.
    """

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._values: list[Value] = []
        self._ops: list[Op] = []
        self._calls = CallLog(_Called)
        self._modules: dict[str, Module] = {}
        self._paths = {id(module): path for path, module in named_modules(model)}
        self._names = {id(tensor): (kind, name) for kind, name, tensor in named_state(named_modules(model))}
        self._known: dict[int, tuple[Tensor, int]] = {}
        self._thread = threading.get_ident()

    def run(self, args: Sequence[object], kwargs: Mapping[str, object], info: Info) -> Graph:
        """Call the model; the Graph of that."""
        inputs: dict[str, int] = {}
        for name, arg in named_arguments(*argument_names(self._model), args, kwargs):
            given = named_tensors(arg, name, objects=True)
            inputs |= {path: self._value(tensor, "input", path) for path, tensor in given}
        with all_modules_watched(self._begins, self._ends):
            result = self._model(*args, **kwargs)
        with torch_private.without_torch_function():
            given = named_tensors(result, objects=True, private=False)
            outputs = {path: (self._read(tensor),) for path, tensor in given}
        rows = tuple(Call(c.id, c.parent, c.path, c.index, c.inputs, c.outputs) for c in self._calls.entries)
        holders = {module.fqn.rpartition(".")[0] for module in self._modules.values()}
        for path, module in named_modules(self._model):
            if path in holders:
                self._path(module)
        return Graph(self._modules, rows, tuple(self._ops), tuple(self._values), inputs, outputs, info)

    def _begins(self, module: nn.Module, args: object) -> None:
        if threading.get_ident() == self._thread:
            call = self._calls.enter(module)
            call.path = self._path(module)
            call.index = sum(other.path == call.path for other in self._calls.entries)

    def _ends(self, module: nn.Module, args: Sequence[object], *rest: Any) -> None:
        call = self._calls.running(module) if threading.get_ident() == self._thread else None
        if call is None:
            return
        self._calls.leave()
        if len(rest) < 2:
            return
        kwargs, out = rest
        with torch_private.without_torch_function():
            for name, arg in named_arguments(*argument_names(module), args, kwargs):
                call.inputs |= {path: self._read(tensor) for path, tensor in named_tensors(arg, name)}
            made = [*named_tensors(out)]
            if call is self._calls.entries[-1] and made:  # a layer without layers is one operation
                op, cls = len(self._ops), class_of(module)
                new = {id(tensor): tensor for _, tensor in made}.values()
                outputs = tuple(self._value(tensor, "op", None, op, index) for index, tensor in enumerate(new))
                inputs = tuple(dict.fromkeys(call.inputs.values()))
                self._ops.append(Op(op, cls.rpartition(".")[2], cls, call.id, inputs, outputs))
            call.outputs = {path: self._read(tensor) for path, tensor in made}

    def _read(self, tensor: Tensor) -> int:
        known = self._known.get(id(tensor))
        kind, name = self._names.get(id(tensor), ("const", None))
        return self._value(tensor, kind, name) if known is None else known[1]

    def _value(self, tensor: Tensor, kind: Any, name: str | None, op: int | None = None, index: int = 0) -> int:
        value = len(self._values)
        self._known[id(tensor)] = tensor, value
        meta = answer(lambda: describe_tensor(tensor), None)
        self._values.append(Value(value, kind, op, index, meta, name))
        return value

    def _path(self, module: nn.Module) -> str:
        path = self._paths.get(id(module))
        if path is None:
            name = f"~{type(module).__name__}"
            count = 1 + sum(known.partition(":")[0] == name for known in self._paths.values())
            path = self._paths[id(module)] = name if count == 1 else f"{name}:{count}"
        if path not in self._modules:
            cls = class_of(module)
            self._modules[path] = Module(path, cls, is_native(cls))
        return path
