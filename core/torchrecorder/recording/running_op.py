"""The parts of the log of operations: one that runs, what the code asks of numbers, and which tensors are new.

A function that runs several operations is one for its users. Of the numbers in tensors the model's code asks what it
carries out of PyTorch, and which branches it takes. A tensor that is younger than the recording is not taken for a
constant in silence: the garbage collector keeps new objects apart until its next look at them, in the order in which
they came. So whenever it is about to look, the tensors are remembered that came after the recording began. Nothing is
asked of older objects, of which a process has millions.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

from torch import Tensor

from torchrecorder.graph import Op
from torchrecorder.graph.model import OpKind
from torchrecorder.recording.batch_sizes import BatchSize
from torchrecorder.recording.names import DECISIONS, EXITS, POINTERS, OpName
from torchrecorder.recording.scopes import Place, Scopes
from torchrecorder.recording.values import Values, innermost
from torchrecorder.running.nested import tensors_in


class RunningOp:
    """The facts of an operation that is running."""

    __slots__ = ("flops", "func", "given", "is_sized_by_data", "kernels", "made", "results", "sizes", "written")

    def __init__(self, func: Callable[..., object] | None = None) -> None:
        self.func = func
        """What runs, if it was called by the model's code."""
        self.kernels: list[str] = []
        self.flops: int | None = None
        self.is_sized_by_data = False
        """Whether the sizes of its results depend on numbers."""
        self.sizes: Sequence[BatchSize] = ()
        """Those that depend on the batch among its arguments."""
        self.given: list[Tensor] | None = None
        """What it reads, if that cannot be asked when it has ended."""
        self.written: list[tuple[int, int | None]] = []
        """Identity and storage address of the tensors that its kernels overwrote."""
        self.results: list[weakref.ref[Tensor]] = []
        """What its kernels gave; usually gone, or among its outputs, when it ends."""
        self.made: list[weakref.ref[Tensor]] = []
        """What of it is on memory of its own."""


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


MASKS = ("create_block_mask", "create_nested_block_mask")
"""Functions that are left out of pictures, unless a mask depends on data."""


_MOST_FIXED = 1000
"""Values that are looked at to see whether numbers that leave PyTorch depend on data."""


class Questions:
    """The notes and decisions of one recording that come from questions."""

    def __init__(self, values: Values, scopes: Scopes, rows: Sequence[Op], notes: dict[str, None]) -> None:
        self._values, self._scopes, self._rows, self._notes = values, scopes, rows, notes
        self.decisions: dict[tuple[str, str], dict[int, None]] = {}
        """By place and text of a line that decides by tensors, their values."""
        self.sized_by_data: dict[int, str] = {}
        """Values the sizes of which depend on numbers, and the operations that gave them."""
        self.random: set[str] = set()
        """Kernels that draw random numbers."""

    def asked(self, name: str, args: Sequence[object]) -> None:
        """Note what a function of that name tells the code of the numbers in tensors."""
        if name in ("untyped_storage", "__reduce_ex__") and self._scopes.is_pickling():
            self._notes[f"values left PyTorch through pickling, as torch.save does, {self._scopes.place()}"] = None
        elif name in EXITS:
            if not self._are_fixed(args):
                self._notes[f"values left PyTorch through {name.strip('_')}() {self._scopes.place()}"] = None
            self.decided(args, self._scopes.asked(in_condition=True))
        elif name in DECISIONS:
            self.decided(args, self._scopes.asked())
        elif name in POINTERS and self._scopes.is_asked_by_user():
            self._notes[f"values left PyTorch through {name}() {self._scopes.place()}"] = None

    def sized(self, args: Sequence[object]) -> None:
        """The code asks how large tensors are."""
        for tensor in filter(self._values.is_known, innermost(tensors_in(args, []))):
            name = self.sized_by_data.get(self._values.read(tensor)[0])
            if name is not None and self._scopes.is_asked_by_user():
                self._notes[f"values left PyTorch through the size of {name}() {self._scopes.place()}"] = None

    def decided(self, args: Sequence[object], place: tuple[str, str] | None) -> None:
        """The code asks whether tensors are so or so, and goes on accordingly."""
        if place is None:
            return
        source, line = place
        self._notes[f"one branch of `{line}` was taken, {source}"] = None
        values = self.decisions.setdefault(place, {})
        for tensor in innermost(tensors_in(args, [])):
            if self._values.is_known(tensor):
                values[self._values.read(tensor)[0]] = None

    def are_sized_like(self, outputs: Sequence[int], inputs: Sequence[int]) -> bool:
        """Whether results have the sizes of an input whose sizes depend on numbers."""
        rows = self._values.rows
        sizes = [meta.shape for value in inputs if value in self.sized_by_data and (meta := rows[value].meta)]
        return any((meta := rows[value].meta) and meta.shape in sizes for value in outputs)

    def _are_fixed(self, args: Sequence[object]) -> bool:
        """Whether tensors hold what operations made of nothing, as `torch.arange(n)` does; not random numbers."""
        values = self._values.read_all([*filter(self._values.is_known, innermost(tensors_in(args, [])))])
        waiting = [*values]
        for value in waiting:
            producer = self._values.rows[value].producer
            if (
                producer is None
                or len(waiting) > _MOST_FIXED
                or not self.random.isdisjoint(self._rows[producer].kernels)
            ):
                return False
            waiting += self._rows[producer].inputs
        return bool(waiting)


class Births:
    """The tensors that came into being while it is switched on, in any thread."""

    def __init__(self) -> None:
        self._remembered: dict[int, weakref.ref[Tensor]] = {}
        self._first: list[object] | None = None
        """The first of the new objects."""

    @contextmanager
    def noticed(self) -> Iterator[None]:
        self._first = []
        gc.callbacks.append(self._on_look)
        try:
            yield
        finally:
            self._first = None
            gc.callbacks.remove(self._on_look)

    def has(self, tensor: Tensor) -> bool:
        """Whether a tensor is new; it takes as long as looking at all new objects."""
        known = self._remembered.get(id(tensor))
        if known is not None and known() is tensor:
            return True
        return self._first is not None and any(item is tensor for item in self._new())

    @contextmanager
    def forgotten(self, *tensors: Tensor) -> Iterator[None]:
        """While it lasts nothing here refers to tensors that have values; the collector, at which it would, waits."""
        is_on = gc.isenabled()
        gc.disable()
        for tensor in tensors:
            self._remembered.pop(id(tensor), None)
        try:
            yield
        finally:
            if is_on:
                gc.enable()

    def _new(self) -> list[Any]:
        """Objects since the beginning, or since the collector looked."""
        young = gc.get_objects(generation=0)
        at = next((place for place, item in enumerate(young) if item is self._first), -1)
        return young[at + 1 :]

    def _on_look(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            for item in self._new():
                if issubclass(type(item), Tensor):  # by its type: an object may lie about its class
                    self._remembered[id(item)] = weakref.ref(item)
