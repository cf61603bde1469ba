"""Slice replay: a proof that no edge is missing, without knowing the graph beforehand.

A forward is recorded together with a tape of the functions that ran. Then only those operations are executed that
can be reached backwards from the outputs through the recorded edges, on other inputs. If an edge is missing, an
operation is left out or reads what is not there, and the result differs from that of the model. Not proved: that no
edge is too many.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CellType, FunctionType
from typing import Any

import torch
from torch import Tensor, nn

from tests.truth.transformed import Batched, Levels, hidden, inside, levels, running
from torchrecorder.graph import Graph, Info
from torchrecorder.recording.control_flow import is_control_flow
from torchrecorder.recording.kernels import Kernel
from torchrecorder.recording.machine.devices import Devices
from torchrecorder.recording.modes import KernelMode
from torchrecorder.recording.modules import Signatures
from torchrecorder.recording.ops import OpLog
from torchrecorder.recording.run import Forward, prepared
from torchrecorder.recording.running_op import Whole
from torchrecorder.recording.session import Session
from torchrecorder.running.nested import named_tensors, tensors_in


@dataclass(frozen=True)
class Slot:
    """Where a tensor stood among the arguments: the value it had itself."""

    value: int


@dataclass(frozen=True)
class Part:
    """Where a tensor stood that lives inside a function of several operations: its place among those it made."""

    place: int


@dataclass
class Step:
    """One operation, ready to be executed again."""

    func: Callable[..., Any]
    args: Any
    kwargs: Any
    results: list[int] = field(default_factory=list)
    """Values of the tensors in the result, in order."""
    renamed: list[tuple[int, int]] = field(default_factory=list)
    """What arguments were before and after the operation overwrote them."""
    levels: Levels = field(default_factory=levels)
    """Of `torch.vmap` around it."""

    def execute(self, found: Callable[[Any], Any]) -> list[Tensor]:
        """The tensors of the result, of arguments in which what is found for each item is put in its place."""
        with running(self.levels):
            args, kwargs = replaced((self.args, self.kwargs), found)
            return [inside(tensor) for tensor in tensors_in((self.func(*args, **kwargs),), [])]


@dataclass
class WholeStep:
    """A function that is one operation for its users: those that ran in it, in order."""

    parts: list[Step] = field(default_factory=list)
    """Their results are places among `made`."""
    made: list[weakref.ref[Tensor]] = field(default_factory=list)
    results: dict[int, int] = field(default_factory=dict)
    """What of `made` was given out, with its value."""
    renamed: list[tuple[int, int]] = field(default_factory=list)

    def place(self, tensor: Tensor) -> int | None:
        return next((i for i in reversed(range(len(self.made))) if self.made[i]() is tensor), None)

    def take(self, step: Step, out: Any) -> None:
        for tensor in tensors_in((out,), []):
            step.results.append(len(self.made))
            self.made.append(weakref.ref(tensor))
        self.parts.append(step)

    def _needed(self) -> list[Step]:
        """Those that what was given out depends on; not what ran in a transform, where tensors do not outlive it."""
        found: list[Step] = []
        places = set(self.results)

        def read(item: Any) -> Any:
            if type(item) is Part:
                places.add(item.place)
            return item

        for part in reversed(self.parts):
            written = {first.place for first in part.args[:1] if type(first) is Part and not part.results}
            if not places.isdisjoint(written.union(part.results)):
                found.append(part)
                replaced((part.args, part.kwargs), read)
        return found[::-1]

    def execute(self, known: dict[int, Tensor]) -> None:
        made: dict[int, Tensor] = {}

        def found(item: Any) -> Any:
            if type(item) is Part:
                return made[item.place]
            return _known_at(item, known)

        for part in self._needed():
            made.update(zip(part.results, part.execute(found), strict=True))
        known.update((after, known[before]) for before, after in self.renamed)
        known.update((value, made[place]) for place, value in self.results.items())


class Tape(OpLog):
    """A log that also keeps the functions and what they were called with, tensors replaced by their values."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.steps: dict[int, Step | WholeStep] = {}
        self.constants: dict[int, Tensor] = {}
        self._parts = WholeStep()
        """Of the function that is running and is one for its users."""

    def run(self, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if self.paused or self._running is not None:
            return super().run(func, args, kwargs)
        if self._whole is not None and self.settle():
            return self._part(func, args, kwargs)
        return self._taped(func, args, kwargs, lambda: super(Tape, self).run(func, args, kwargs))

    def kernel(self, kernel: Kernel, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> None:
        if self.paused or self._running is not None:
            super().kernel(kernel, args, kwargs, out)
            return
        func = next(one for one in self._kept if self.kernels[id(one)] is kernel)
        if self._whole is not None and self.settle():
            step = Step(func, *self._of_part((args, kwargs)))
            super().kernel(kernel, args, kwargs, out)
            self._parts.take(step, out)
            return

        def log() -> Any:
            super(Tape, self).kernel(kernel, args, kwargs, out)
            return out

        self._taped(func, args, kwargs, log)

    def passed(self, tensor: Tensor, call: int, fresh: Tensor) -> None:
        step = Step(lambda x: x, (Slot(self._own(tensor)),), {})
        super().passed(tensor, call, fresh)
        step.results.append(self._own(fresh))
        self.steps[len(self.rows) - 1] = step

    def _taped(self, func: Any, args: Any, kwargs: Any, log: Callable[[], Any]) -> Any:
        given = tensors_in((args, kwargs), [])
        before = [self._own(tensor) for tensor in given]
        step = Step(func, self._slots(args), self._slots(kwargs))
        count = len(self.rows)
        out = log()
        if self._whole is not None:  # it is the first one in a function of several
            self._parts = WholeStep()
            self._parts.take(step, out)
        elif is_control_flow(func) and self.rows[-1].name != func.__name__:
            pass  # what runs in it is on the tape itself
        elif len(self.rows) > count:
            after = [self._own(tensor) for tensor in given]
            step.renamed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
            step.results = [self._own(tensor) for tensor in tensors_in((out,), [])]
            self.steps[len(self.rows) - 1] = step
        return out

    def _part(self, func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        step = Step(func, *self._of_part((args, kwargs)))
        out = super()._part(func, args, kwargs)
        self._parts.take(step, out)
        return out

    def _log_whole(self, whole: Whole) -> None:
        given = [*whole.given.values()]
        before, count = [self._own(tensor) for tensor in given], len(self.rows)
        super()._log_whole(whole)
        if len(self.rows) > count:
            step = self.steps[count] = self._parts
            after = [self._own(tensor) for tensor in given]
            step.renamed = [pair for pair in zip(before, after, strict=True) if pair[0] != pair[1]]
            alive = {place: tensor for place, ref in enumerate(step.made) if (tensor := ref()) is not None}
            step.results = {place: self._own(t) for place, t in alive.items() if self._values.is_known(t)}

    def _of_part(self, obj: Any) -> Any:
        """The arguments of an inner operation: results of earlier parts, known values, and constants."""

        def of_item(item: Any) -> Any:
            if not isinstance(item, Tensor):
                return item
            place = self._parts.place(item)
            if place is not None:
                return Part(place)
            return Slot(self._own(item)) if self._values.is_met(item) else item

        return replaced(obj, of_item)

    def _slots(self, obj: Any) -> Any:
        return replaced(obj, lambda item: self._slot(item) if isinstance(item, Tensor) else item)

    def _slot(self, tensor: Tensor) -> Slot | Batched:
        axes = hidden(tensor)
        return Batched(self._own(tensor), axes) if axes else Slot(self._own(tensor))

    def _own(self, tensor: Tensor) -> int:
        """The value of this very tensor, whatever was written to its memory since; constants are kept as they are."""
        self._values.read(tensor)
        tensor = inside(tensor)
        value = self._values._entries[id(tensor)].value
        row = self._values.rows[value]
        is_lost = row.kind == "const" or (row.name or "").startswith("~")
        if is_lost and value not in self.constants:
            self.paused = True
            self.constants[value] = tensor.detach().clone()
            self.paused = False
        return value


class TapedSession(Session):
    log_type = Tape

    @property
    def tape(self) -> Tape:
        assert isinstance(self._ops, Tape)
        return self._ops


def replaced(obj: Any, change: Callable[[Any], Any]) -> Any:
    """The arguments of an operation with each item replaced."""
    if isinstance(obj, (list, tuple)) and not hasattr(obj, "_fields") and type(obj) is not torch.Size:
        return type(obj)(replaced(item, change) for item in obj)
    if isinstance(obj, dict):
        return {key: replaced(item, change) for key, item in obj.items()}
    if type(obj) is slice:
        return slice(*(replaced(item, change) for item in (obj.start, obj.stop, obj.step)))
    if type(obj) is FunctionType and any(
        isinstance(cell.cell_contents, (Tensor, Slot, Part)) for cell in obj.__closure__ or ()
    ):
        cells = (CellType(change(cell.cell_contents)) for cell in obj.__closure__ or ())
        return FunctionType(obj.__code__, obj.__globals__, obj.__name__, obj.__defaults__, tuple(cells))
    return change(obj)


def replay(model: nn.Module, args: Any, kwargs: Any, other: tuple[Any, Any] | None = None, seed: int = 0) -> Graph:
    """Record a forward, execute what its graph needs on other inputs, and compare with the model there.

    Args:
        model: Any module.
        args: Positional arguments to record with.
        kwargs: Keyword arguments to record with.
        other: Arguments of the same shapes to execute with; the same ones, if not given.
        seed: For random numbers that the forward draws.
    """
    other = other or (args, kwargs)
    with torch.no_grad():
        graph, tape, results, _ = _run(model, args, kwargs, seed)
        *_, expected = _run(model, *other, seed)
        with prepared("real", Forward(model, *other, seed=seed)) as (session, given, named):
            known = _known(graph, tape, session.model, given, named)
            with KernelMode(
                session._ops, Devices(list, {})
            ):  # it sees what is written to the model, so that it is undone
                _execute(graph, tape, known)
            found = {path: known[value].clone() for path, value in results.items()}
    torch.testing.assert_close(found, expected, equal_nan=True)
    return graph


def _run(model: nn.Module, args: Any, kwargs: Any, seed: int) -> tuple[Graph, Tape, dict[str, int], dict[str, Tensor]]:
    """The graph, the tape, and the results of the model: their values, and the tensors."""
    with prepared("real", Forward(model, args, kwargs, seed=seed), TapedSession) as (session, given, named):
        assert isinstance(session, TapedSession)
        result = session.run(given, named)
        tensors = dict(named_tensors(result, objects=True, private=False))
        values = {path: session.tape._own(tensor) for path, tensor in tensors.items()}
        outputs = {path: tensor.detach().clone() for path, tensor in tensors.items()}
        return session.graph(Info("real", torch.__version__, "eval")), session.tape, values, outputs


def _known(graph: Graph, tape: Tape, model: nn.Module, args: Any, kwargs: Any) -> dict[int, Tensor]:
    """The tensors that no operation makes."""
    state: dict[str, Tensor] = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    inputs = dict(Signatures().tensors(model, args, kwargs, objects=True))
    known = {graph.inputs[path]: tensor for path, tensor in inputs.items()}
    for value in graph.values:
        if value.kind in ("param", "buffer") and value.name in state:
            known[value.id] = state[value.name]
    return {**known, **{value: tensor.clone() for value, tensor in tape.constants.items()}}


def _known_at(item: Any, known: dict[int, Tensor]) -> Any:
    if type(item) is Batched:
        return item.of(known[item.value])
    return known[item.value] if type(item) is Slot else item


def _execute(graph: Graph, tape: Tape, known: dict[int, Tensor]) -> None:
    for op in sorted(_reached(graph)):
        step = tape.steps[op]
        if isinstance(step, WholeStep):
            step.execute(known)
            continue
        results = step.execute(lambda item: _known_at(item, known))
        known.update((after, known[before]) for before, after in step.renamed)
        known.update(zip(step.results, results, strict=True))


def _reached(graph: Graph) -> set[int]:
    """The ops that the outputs depend on."""
    found: set[int] = set()
    waiting = [value for values in graph.outputs.values() for value in values]
    while waiting:
        producer = graph.values[waiting.pop()].producer
        if producer is not None and producer not in found:
            found.add(producer)
            waiting += graph.ops[producer].inputs
    return found
