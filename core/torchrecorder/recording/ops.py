"""The log of operations: what each call of torch's API read, made and overwrote, and which kernels it ran."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from torchrecorder.graph import Op
from torchrecorder.graph.model import OpKind
from torchrecorder.recording import flops
from torchrecorder.recording.autograd import NEED_NO_GRAD, AutogradNodes
from torchrecorder.recording.names import DECISIONS, EXITS, OpName, attributes, kernel_name, op_name
from torchrecorder.recording.scopes import Place, Scopes
from torchrecorder.recording.values import Values, innermost, storage_address
from torchrecorder.running import torch_private
from torchrecorder.running.nested import tensors_in

_SAVING: Any = torch.ops.aten.detach.default
"""The kernel with which autograd keeps a tensor; the function of that name is an operation like any other."""


@dataclass(frozen=True, slots=True)
class Kernel:
    func: Callable[..., object]
    """Kept, so that no other kernel gets its address."""
    name: OpName
    label: str
    writes: tuple[tuple[int, str], ...]
    """Position and name of the arguments that its schema says it overwrites."""
    rule: flops.Rule | None


class RunningOp:
    """What has been seen of an operation that is running."""

    __slots__ = ("flops", "kernels", "results", "written")

    def __init__(self) -> None:
        self.kernels: list[str] = []
        self.flops: int | None = None
        self.written: list[tuple[int, int | None]] = []
        """Identity and storage address of the tensors that its kernels overwrote."""
        self.results: list[weakref.ref[Tensor]] = []
        """What its kernels gave; usually gone, or among its outputs, when it ends."""


Facts = tuple[Place, OpKind, dict[str, str]]
"""Of an operation where it was called, its kind and its arguments that are not tensors."""


class Whole:
    """A function of torch's that runs several operations, is one for its users, and has not been seen to end."""

    __slots__ = ("facts", "first", "frame", "given", "name", "parts", "running")

    def __init__(self, frame: FrameType, name: OpName, first: OpName, running: RunningOp, facts: Facts) -> None:
        self.frame, self.name = frame, name
        self.first, self.facts = first, facts
        """Of the first operation in it; if it stays the only one, it is logged as itself."""
        self.running = running
        self.parts = 0
        self.given: dict[int, Tensor] = {}
        """What it reads that was not made in it."""


_MASKS = ("create_block_mask", "create_nested_block_mask")
"""Functions that are left out of pictures, unless a mask depends on data."""


class OpLog:
    """The operations of one recording, in the order in which they ended. Used by one thread."""

    def __init__(
        self,
        values: Values,
        scopes: Scopes,
        before_write: Callable[[Tensor], None],
        nodes: AutogradNodes | None = None,
    ) -> None:
        self.rows: list[Op] = []
        self.notes: dict[str, None] = {}
        self.decisions: dict[tuple[str, str], dict[int, None]] = {}
        """By place and text of a line that decides by tensors, their values."""
        self.paused = False
        self._values = values
        self._scopes = scopes
        self._running: RunningOp | None = None
        self._names: dict[Any, OpName | None] = {}
        self._before_write = before_write
        self._nodes = nodes
        self._whole: Whole | None = None
        self.kernels: dict[int, Kernel] = {}
        """What is known of kernels, by the address of their functions; what is not in it is for `facts` to find."""

    def run(self, func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Call a function of torch's API and log it, if it is an operation."""
        if self.paused or self._running is not None:
            return func(*args, **kwargs)
        if self._whole is not None and self.settle():
            return self._part(func, args, kwargs)
        if self._nodes is not None and func in NEED_NO_GRAD and isinstance(args[0], Tensor):
            args = (args[0].detach(), *args[1:])
        try:
            name = self._names[func]
        except (KeyError, TypeError):
            name = self._name(func)
        if name is None:
            return self._question(func, args, kwargs)
        running = self._running = RunningOp()
        try:
            out = func(*args, **kwargs)
        finally:
            self._running = None
        self._log(name, "op", running, args, kwargs, out)
        return out

    def facts(self, func: Callable[..., object]) -> Kernel:
        found = self.kernels.get(id(func))
        if found is None:
            found = self.kernels[id(func)] = _describe(func)
        return found

    def before_write(self, kernel: Kernel, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """A kernel that overwrites some of its arguments is about to run."""
        for tensor in _targets(kernel, args, kwargs):
            self._before_write(tensor)

    def kernel(self, kernel: Kernel, args: Sequence[object], kwargs: Mapping[str, object], out: object) -> None:
        """A kernel ran. If no operation is running, it came from code without Python, and is an op by itself."""
        if self.paused:
            return
        around = self._running
        if around is None and self._whole is not None and self.settle():
            around = self._whole.running
            self._take_part(self._whole, innermost(tensors_in([*args, *kwargs.values()], [])), ())
        running = RunningOp() if around is None else around
        running.kernels.append(kernel.label)
        if kernel.rule is not None:
            _count(running, kernel.rule, args, kwargs, out)
        if kernel.writes:
            running.written += [(id(t), storage_address(t)) for t in _targets(kernel, args, kwargs)]
        if type(out) is Tensor or isinstance(out, Tensor):
            running.results.append(weakref.ref(out))
        elif out is not None:
            running.results += [weakref.ref(t) for t in tensors_in((out,), [])]
        if around is None and kernel.func is not _SAVING:
            self._log(kernel.name, "kernel", running, args, kwargs, out)

    def passed(self, tensor: Tensor, call: int, fresh: Tensor) -> None:
        """Log that a call gave its argument back; `fresh` stands for the result from now on."""
        inputs = self._values.read(tensor)
        op = len(self.rows)
        value = self._values.made(fresh, op, 0)
        if self._nodes is not None:
            self._nodes.learn(fresh, value)
        self.rows.append(Op(op, "pass", "pass", call, inputs, (value,), kind="pass"))

    def _question(self, func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        name = getattr(func, "__name__", "")
        if name in ("untyped_storage", "__reduce_ex__") and self._scopes.is_pickling():
            self.notes[f"values left PyTorch through pickling, as torch.save does, {self._scopes.place()}"] = None
        elif name in EXITS:
            self.notes[f"values left PyTorch through {name.strip('_')}() {self._scopes.place()}"] = None
        elif name in DECISIONS:
            self._decided(args)
        self._running = RunningOp()
        try:
            return func(*args, **kwargs)
        finally:
            self._running = None

    def _decided(self, args: Sequence[object]) -> None:
        """The code asks whether tensors are so or so, and goes on accordingly."""
        place = self._scopes.asked()
        if place is None:
            return
        source, line = place
        self.notes[f"one branch of `{line}` was taken, {source}"] = None
        values = self.decisions.setdefault(place, {})
        for tensor in innermost(tensors_in(args, [])):
            if self._values.is_known(tensor):
                values[self._values.read(tensor)[0]] = None

    def _log(
        self,
        name: OpName,
        kind: OpKind,
        running: RunningOp,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        out: object,
    ) -> None:
        # A deep copy is given the table of what has been copied, with the copies in it.
        given = tensors_in(args[:1] if name.name == "deepcopy" else args, [])
        if kwargs:
            tensors_in(kwargs.values(), given)
        if given:
            given = innermost(given)
        overwritten = _overwritten(name, given, running.written) if running.written or name.name == "set_data" else ()
        fresh = self._fresh(given, out)
        if name.name == "set_" and len(given) == 1 and self._values.moved(given[0]):  # to the memory of another one
            return
        if not fresh and not overwritten:
            return
        place = self._scopes.locate(reads=bool(given))
        whole = self._scopes.take_whole()
        if place[0] is None or (self._scopes.makes_layer and not any(map(self._values.is_met, given))):
            return
        if self._scopes.hands_on:
            for tensor, made in zip(given, fresh, strict=False):
                self._values.alias(made, self._values.read(tensor)[0])
            return
        facts = place, kind, attributes(args, kwargs)
        if whole is not None:
            self._whole = Whole(*whole, name, running, facts)
            self._take_part(self._whole, given, fresh)
            return
        self._add(name, running, given, overwritten, fresh, facts)

    def _add(
        self,
        name: OpName,
        running: RunningOp,
        given: Sequence[Tensor],
        overwritten: Sequence[Tensor],
        fresh: Sequence[Tensor],
        facts: Facts,
    ) -> None:
        values = self._values
        (call, frame, source, offset), kind, attrs = facts
        assert call is not None
        if name.name == "make_dual":
            where = self._scopes.place()
            self.notes[f"forward-mode derivatives (jvp) {where} are drawn with what they are derivatives of"] = None
        inputs = values.read_all(given)
        op = len(self.rows)
        if self._nodes is not None:
            for tensor in given:
                if not any(tensor is other for other in overwritten):
                    self._nodes.learn(tensor, values.read(tensor)[0])
        mutates = tuple([values.wrote(tensor, op, i) for i, tensor in enumerate(overwritten)])
        outputs = mutates + tuple([values.made(tensor, op, i) for i, tensor in enumerate(fresh, len(mutates))])
        self._adopt(running.results, outputs[0])
        made = () if self._nodes is None else self._nodes.made(zip((*overwritten, *fresh), outputs, strict=True))
        more = (tuple(running.kernels), running.flops, attrs, source, kind, made, frame, offset)
        self.rows.append(Op(op, name.name, name.target, call, inputs, outputs, mutates, *more))

    def _part(self, func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Call a function inside one that is a single operation for its users."""
        whole = self._whole
        assert whole is not None
        self._running = whole.running
        try:
            out = func(*args, **kwargs)
        finally:
            self._running = None
        self._take_part(whole, innermost(tensors_in([*args, *kwargs.values()], [])), innermost(tensors_in((out,), [])))
        return out

    def _take_part(self, whole: Whole, given: Sequence[Tensor], made: Sequence[Tensor]) -> None:
        whole.parts += bool(made)
        whole.given |= {id(tensor): tensor for tensor in given if self._values.is_met(tensor)}
        whole.running.results += [weakref.ref(tensor) for tensor in made]

    def settle(self) -> bool:
        """Log the function that is a single operation for its users if it has ended; whether it has not."""
        whole = self._whole
        if whole is None:
            return False
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            if frame is whole.frame:
                return True
            frame = frame.f_back
        self._whole = None
        whole.frame.clear()  # what only it still held was not given out
        given = [*whole.given.values()]
        if not given and whole.name.name in _MASKS:
            return False
        written = whole.running.written
        overwritten = _overwritten(whole.name, given, written) if written else ()
        fresh = self._fresh(given, [tensor for ref in whole.running.results if (tensor := ref()) is not None])
        if fresh or overwritten:
            name, facts = whole.first, whole.facts
            if whole.parts > 1:
                name, facts = whole.name, (facts[0], "op", {})
            self._add(name, whole.running, given, overwritten, fresh, facts)
        return False

    def _fresh(self, given: Sequence[Tensor], out: object) -> Sequence[Tensor]:
        """The tensors of a result that are new, each once."""
        if out is None:
            return ()
        found: list[Tensor] = []
        is_known = self._values.is_known
        for tensor in innermost([out] if type(out) is Tensor else tensors_in((out,), [])):
            if is_known(tensor):
                continue
            for other in (*given, *found):
                if other is tensor:
                    break
            else:
                found.append(tensor)
        return found

    def _adopt(self, results: Sequence[weakref.ref[Tensor]], value: int) -> None:
        """Tensors that outlive their kernel without being outputs (wrapped by one, cached in C++) stand for the op."""
        for ref in results:
            tensor = ref()
            if tensor is not None and not self._values.is_known(tensor):
                self._values.alias(tensor, value)

    def _name(self, func: Callable[..., object]) -> OpName | None:
        name = None if func is _SAVING else op_name(func)
        with contextlib.suppress(TypeError):  # not every callable can be a key
            self._names[func] = name
        return name


def _describe(func: Callable[..., object]) -> Kernel:
    schema = None if torch_private.SCHEMA.get() is None else getattr(func, "_schema", None)
    arguments = enumerate(schema.arguments) if schema is not None and schema.is_mutable else ()
    writes = tuple((i, a.name) for i, a in arguments if a.alias_info is not None and a.alias_info.is_write)
    return Kernel(func, kernel_name(func), str(func), writes, flops.rule_for(func))


def _targets(kernel: Kernel, args: Sequence[object], kwargs: Mapping[str, object]) -> list[Tensor]:
    """The tensors that the kernel overwrites."""
    return tensors_in(
        [args[position] if position < len(args) else kwargs.get(name) for position, name in kernel.writes], []
    )


def _count(
    running: RunningOp, rule: flops.Rule, args: Sequence[object], kwargs: Mapping[str, object], out: object
) -> None:
    counted = flops.count(rule, args, kwargs, out)
    if counted is not None:
        running.flops = (running.flops or 0) + counted


def _overwritten(name: OpName, given: Sequence[Tensor], written: Sequence[tuple[int, int | None]]) -> Sequence[Tensor]:
    """The arguments that were overwritten, each once.

    Where a kernel wrote to a view that the operation made for itself (`x[0] = y`), it is the first argument that shares
    the view's memory.
    """
    if name.name == "set_data":
        return given[:1]
    found: dict[int, Tensor] = {}
    for identity, address in written:
        target = next((t for t in given if id(t) == identity), None)
        if target is None and address is not None:
            target = next((t for t in given if storage_address(t) == address), None)
        if target is not None:
            found[id(target)] = target
    return list(found.values())
