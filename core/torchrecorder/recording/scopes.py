"""Which call is running, and which line called the operation.

Module calls are announced by hooks. Two kinds of scope are found by walking the Python frames between an operation and
the machinery of the innermost module call, a few frames as a rule: a module whose `.forward()` is called directly, and
a custom autograd function. Where torch applies that from C, no frame is its own; but each time it makes a `ctx` first,
which tells the function and the frame that applies it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch._tensor
import torch.overrides
import torch.utils.checkpoint
from torch import nn

from torchrecorder.graph.model import CallKind
from torchrecorder.recording.code_info import APPLY, CALL, HOOKED_CALL, CodeInfos, deciding_statement
from torchrecorder.recording.modules import ModuleNames
from torchrecorder.recording.names import OpName
from torchrecorder.running import torch_private

_LONGEST = 120
"""Signs of a statement in a note."""
_SESSION = str(Path(__file__).with_name("session.py"))
"""The file of what calls the model; frames outside it are not the forward's."""
_BETWEEN = (str(Path(__file__).parent), torch.overrides.__file__, torch._tensor.__file__)
"""Files between what asks a tensor and the recorder that sees the question."""


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


@dataclass(frozen=True, slots=True, eq=False)
class Applied:
    """A custom autograd function that torch applies from C."""

    function: Any
    frame: FrameType
    """What applies it, and stands at `instruction` as long as it runs."""
    instruction: int

    def is_at(self, frame: FrameType) -> bool:
        """Whether the frame still stands where it applied the function."""
        return self.frame is frame and frame.f_lasti == self.instruction

    def runs(self, above: FrameType | None) -> bool:
        """Whether an operation is its own, of which `above` is the frame that the applying one called.

        That is its `forward` or `setup_context`, or one of the modes where torch makes a view of an argument that is a
        result too. The applying frame may be at the same instruction for another function, in a loop.
        """
        if above is None:
            return False
        code = above.f_code
        if code.co_name == "__torch_function__":
            return above.f_locals.get("func") is torch.Tensor.view_as
        return code.co_name == "__torch_dispatch__" or any(
            getattr(getattr(self.function, name), "__code__", None) is code for name in ("forward", "setup_context")
        )


@dataclass(slots=True)
class RunningCall:
    """A module call that has begun and not ended."""

    row: CallRow
    module: nn.Module
    moment: int
    """The values' moment at which it began."""
    first_op: int
    """Id of the next op when it began."""
    children: int = 0
    frames: list[tuple[FrameType | Applied, int]] = field(default_factory=list)
    """Frames inside it that are scopes of their own, outermost first, with the ids of their calls. A frame is let go
    when the next walk no longer meets it: kept longer, it would keep the tensors among its local variables."""
    applied: list[Applied] = field(default_factory=list)
    """Functions that are applied from C, outermost first; let go like the frames."""


class Scopes:
    """The calls of one recording, in the order they began. Used by one thread."""

    def __init__(self, names: ModuleNames) -> None:
        self.rows: list[CallRow] = []
        self.stack: list[RunningCall] = []
        self._names = names
        self._places = CodeInfos()
        self._counts: dict[str, int] = {}
        self._thread = threading.get_ident()
        self.makes_layer = False
        """Whether the operation that was located last runs in what makes a module."""
        self.hands_on = False
        """Whether it is a means by which torch sees that a gradient comes by."""
        self._whole: tuple[FrameType, OpName] | None = None

    def take_whole(self) -> tuple[FrameType, OpName] | None:
        """The function that is one for its users in which the operation runs that was located last."""
        found, self._whole = self._whole, None
        return found

    def place(self) -> str:
        """Where something happened that a note tells of: `at file:line` of the user's, as far out as that may be.

        Where there is none, the layer that runs.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != _SESSION:
            file = self._places.of_code(frame).file
            if file is not None:
                return f"at {file}:{frame.f_lineno}"
            frame = frame.f_back
        return f"in {self.stack[-1].row.module or 'the forward'}"

    def asked(self) -> tuple[str, str] | None:
        """`file:line` and text of the user's statement that asks a tensor which branch to take.

        None if torch asks for itself.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
            frame = frame.f_back
        file = None if frame is None else self._places.of_code(frame).file
        if frame is None or file is None:
            return None
        text, line = deciding_statement(frame)
        return (f"{file}:{line}", text[:_LONGEST]) if text else None

    def knows(self, module: nn.Module) -> bool:
        return self._names.is_known(module)

    def enter(self, module: nn.Module, moment: int, first_op: int) -> RunningCall:
        parent = None
        if self.stack:
            parent = self._locate(_caller_of_module(sys._getframe(1)))[0]
            self.stack[-1].children += 1
        running = RunningCall(self._open(self._name(module), "module", parent), module, moment, first_op)
        self.stack.append(running)
        return running

    def leave(self, module: nn.Module) -> RunningCall | None:
        """The innermost call of the module ends; calls inside it that never ended failed."""
        if self.stack and self.stack[-1].module is module:
            return self.stack.pop()
        if not any(running.module is module for running in self.stack):
            return None
        while self.stack[-1].module is not module:
            self.stack.pop().row.ok = False
        return self.stack.pop()

    @contextmanager
    def functions_announced(self) -> Iterator[None]:
        """Notice each custom autograd function that is applied, by the `ctx` that torch makes for it."""
        context = torch_private.FUNCTION_CONTEXT.get()
        if context is None:
            yield
            return

        def begins(ctx: Any, *args: Any, **kwargs: Any) -> None:
            made(ctx, *args, **kwargs)
            frame = sys._getframe(1)
            if frame.f_code is not APPLY and threading.get_ident() == self._thread:
                self._begins(getattr(type(ctx), "_forward_cls", None), frame)

        made, was = context.__init__, vars(context).get("__init__")
        context.__init__ = begins
        try:
            yield
        finally:
            if was is None:
                del context.__init__
            else:
                context.__init__ = was

    def _begins(self, function: Any, frame: FrameType) -> None:
        # What the transforms of torch.func make of a function derives from another class, and is not the model's.
        if isinstance(function, type) and issubclass(function, torch.autograd.Function) and not _is_means(function):
            top = self.stack[-1]
            others = [one for one in top.applied if one.frame is not frame]
            top.applied = [*others, Applied(function, frame, frame.f_lasti)]

    def locate(self, reads: bool = True) -> tuple[int | None, str | None]:
        """Id of the innermost call, and `file:line` of the statement outside torch that runs in it.

        There is no call where torch works for itself: it imports a part of itself, or does a checkpoint's bookkeeping.

        Args:
            reads: Whether the operation reads tensors, which the bookkeeping of a checkpoint does not.
        """
        return self._locate(sys._getframe(2), reads)

    def _locate(self, frame: FrameType | None, reads: bool | None = None) -> tuple[int | None, str | None]:
        top = self.stack[-1]
        source: str | None = None
        inner: list[tuple[FrameType | Applied, Any]] = []
        known, of_code = self._places.known, self._places.of_code
        applied, met = top.applied, []
        above: FrameType | None = None
        self.makes_layer = self.hands_on = False
        while frame is not None:
            place = known.get(id(frame.f_code)) or of_code(frame)  # asked here, for some frames of every operation
            if place.is_module_call:
                break
            if source is None and place.file is not None:
                source = f"{place.file}:{frame.f_lineno}"
            if applied:
                met += [one for one in applied if one.is_at(frame)]
                inner += [(one, one.function) for one in applied if one.is_at(frame) and one.runs(above)]
            if place.is_looked_at:
                if reads is not None and source is None and (place.is_import or (place.is_checkpoint and not reads)):
                    return None, None
                if CALL is None and self._is_running(frame):
                    break
                if place.whole is not None and reads is not None:
                    self._whole = frame, place.whole
                if place.is_init and isinstance(_first_argument(frame, frame.f_code), nn.Module):
                    self.makes_layer = True
                scope = _scope_of(frame, top) if place.may_be_scope else None
                if scope is not None:
                    inner.append((frame, scope))
            above, frame = frame, frame.f_back
        if applied:
            top.applied = met
        if inner and inner[0][1] is torch_private.BACKWARD_HOOK.get():
            self.hands_on = True
            del inner[0]
        if not inner and not top.frames:
            return top.row.id, source
        return self._innermost(top, inner), source

    def _is_running(self, frame: FrameType) -> bool:
        """Whether it is the forward of a module that a hook has announced."""
        owner = _first_argument(frame, frame.f_code)
        return any(running.module is owner for running in self.stack)

    def _innermost(self, top: RunningCall, inner: list[tuple[FrameType | Applied, Any]]) -> int:
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
            return self._open(self._name(scope), "module", parent).id
        return self._open(scope.__name__, "function", parent).id

    def _name(self, module: nn.Module) -> str:
        return self._names.of(module, (running.module for running in reversed(self.stack)))

    def _open(self, module: str, kind: CallKind, parent: int | None) -> CallRow:
        key = f"{kind} {module}"
        self._counts[key] = self._counts.get(key, 0) + 1
        row = CallRow(len(self.rows), parent, module, self._counts[key], kind)
        self.rows.append(row)
        return row


def _caller_of_module(frame: FrameType | None) -> FrameType | None:
    """The frame that called the module whose hooks are running."""
    if CALL is None:
        return frame
    while frame is not None and frame.f_code is not CALL:
        frame = frame.f_back
    return None if frame is None else frame.f_back


def _scope_of(frame: FrameType, top: RunningCall) -> Any:
    """The module or autograd function that the frame runs, if it is not the innermost module itself."""
    code = frame.f_code
    if code is APPLY:
        function = frame.f_locals["cls"]
        return None if _is_means(function) else function
    back = frame.f_back
    if back is not None and back.f_code is HOOKED_CALL:
        return None
    owner = _first_argument(frame, code)
    return owner if isinstance(owner, nn.Module) and owner is not top.module else None


def _is_means(function: type) -> bool:
    """Whether the function is a means of torch's, and nothing of the model's."""
    return function.__module__ == torch.utils.checkpoint.__name__


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
