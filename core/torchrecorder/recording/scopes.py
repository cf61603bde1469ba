"""Which call is running, and which line called the operation.

Module calls are announced by hooks. Two kinds of scope announce themselves to nobody: a custom autograd function, and a
module whose `.forward()` is called directly. Both are found by walking the Python frames between an operation and the
machinery of the innermost module call, a few frames as a rule.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

from torch import nn
from torch.utils.checkpoint import CheckpointFunction

from torchrecorder.graph.model import CallKind
from torchrecorder.recording.modules import ModuleNames
from torchrecorder.recording.places import APPLY, CALL, HOOKED_CALL, Places


@dataclass(slots=True)
class CallRow:
    """A call that is being recorded; becomes a `Call`."""

    id: int
    parent: int | None
    module: str
    index: int
    kind: CallKind
    ok: bool = True
    inputs: dict[str, int] = field(default_factory=dict)
    outputs: dict[str, int] = field(default_factory=dict)


@dataclass(slots=True)
class Running:
    """A module call that has begun and not ended."""

    row: CallRow
    module: nn.Module
    moment: int
    """The values' moment at which it began."""
    first_op: int
    """Id of the next op when it began."""
    children: int = 0
    frames: list[tuple[FrameType, int]] = field(default_factory=list)
    """Frames inside it that are scopes of their own, outermost first, with the ids of their calls. A frame is let go
    when the next walk no longer meets it: kept longer, it would keep the tensors among its local variables."""


class Scopes:
    """The calls of one recording, in the order they began. Used by one thread."""

    def __init__(self, names: ModuleNames) -> None:
        self.rows: list[CallRow] = []
        self.stack: list[Running] = []
        self._names = names
        self._places = Places()
        self._counts: dict[str, int] = {}

    def knows(self, module: nn.Module) -> bool:
        """Whether the module is one of the model's."""
        return self._names.is_known(module)

    def enter(self, module: nn.Module, moment: int, first_op: int) -> Running:
        """A module call begins."""
        parent = None
        if self.stack:
            parent = self._locate(_caller_of_module(sys._getframe(1)))[0]
            self.stack[-1].children += 1
        running = Running(self._open(self._names.of(module), "module", parent), module, moment, first_op)
        self.stack.append(running)
        return running

    def leave(self, module: nn.Module) -> Running | None:
        """The innermost call of the module ends; calls inside it that never ended failed."""
        if self.stack and self.stack[-1].module is module:
            return self.stack.pop()
        if not any(running.module is module for running in self.stack):
            return None
        while self.stack[-1].module is not module:
            self.stack.pop().row.ok = False
        return self.stack.pop()

    def locate(self) -> tuple[int, str | None]:
        """Id of the innermost call, and `file:line` of the statement outside torch that runs in it."""
        return self._locate(sys._getframe(2))

    def _locate(self, frame: FrameType | None) -> tuple[int, str | None]:
        top = self.stack[-1]
        source: str | None = None
        inner: list[tuple[FrameType, Any]] = []
        known, of_code = self._places.known, self._places.of_code
        while frame is not None:
            place = known.get(id(frame.f_code)) or of_code(frame)  # asked here, for some frames of every operation
            if place.is_module_call:
                break
            if source is None and place.file is not None:
                source = f"{place.file}:{frame.f_lineno}"
            if place.may_be_scope:
                scope = _scope_of(frame, top)
                if scope is not None:
                    inner.append((frame, scope))
            frame = frame.f_back
        if not inner and not top.frames:
            return top.row.id, source
        return self._innermost(top, inner), source

    def _innermost(self, top: Running, inner: list[tuple[FrameType, Any]]) -> int:
        frames = top.frames
        for depth, (frame, scope) in enumerate(reversed(inner)):
            if depth < len(frames) and frames[depth][0] is frame:
                continue
            parent = frames[depth - 1][1] if depth else top.row.id
            frames[depth:] = [(frame, self._enter_frame(scope, parent))]
        del frames[len(inner) :]
        return frames[-1][1] if frames else top.row.id

    def _enter_frame(self, scope: Any, parent: int) -> int:
        if isinstance(scope, nn.Module):
            self.stack[-1].children += 1
            return self._open(self._names.of(scope), "module", parent).id
        return self._open(scope.__name__, "function", parent).id

    def _open(self, module: str, kind: CallKind, parent: int | None) -> CallRow:
        key = f"{kind} {module}"
        self._counts[key] = self._counts.get(key, 0) + 1
        row = CallRow(len(self.rows), parent, module, self._counts[key], kind)
        self.rows.append(row)
        return row


def _caller_of_module(frame: FrameType | None) -> FrameType | None:
    """The frame that called the module whose hooks are running."""
    while frame is not None and frame.f_code is not CALL:
        frame = frame.f_back
    return None if frame is None else frame.f_back


def _scope_of(frame: FrameType, top: Running) -> Any:
    """The module or autograd function that the frame runs, if it is not the innermost module itself."""
    code = frame.f_code
    if code is APPLY:
        function = frame.f_locals["cls"]
        return None if function is CheckpointFunction else function  # a means of torch's, nothing of the model's
    back = frame.f_back
    if back is not None and back.f_code is HOOKED_CALL:
        return None
    owner = _first_argument(frame, code)
    return owner if isinstance(owner, nn.Module) and owner is not top.module else None


def _first_argument(frame: FrameType, code: CodeType) -> Any:
    """The first argument of the function that runs in the frame.

    Before Python 3.13 `f_locals` is a snapshot that the frame keeps, with all tensors in it. So it is emptied again,
    unless the function holds it too because it called `locals()`.
    """
    snapshot = frame.f_locals
    owner = snapshot.get(code.co_varnames[0])
    if type(snapshot) is dict and sys.getrefcount(snapshot) <= 3:
        snapshot.clear()
    return owner
