"""What is known of an operation while it runs, and of a function that runs several and is one for its users."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import FrameType

from torch import Tensor

from torchrecorder.graph.model import OpKind
from torchrecorder.recording.names import OpName
from torchrecorder.recording.scopes import Place


class RunningOp:
    """The facts of an operation that is running."""

    __slots__ = ("flops", "func", "given", "is_sized_by_data", "kernels", "made", "results", "written")

    def __init__(self, func: Callable[..., object] | None = None) -> None:
        self.func = func
        """What runs, if it was called by the model's code."""
        self.kernels: list[str] = []
        self.flops: int | None = None
        self.is_sized_by_data = False
        """Whether the sizes of its results depend on numbers."""
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
