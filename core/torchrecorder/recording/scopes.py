"""Which call is running, in which functions of the user's, and which line called the operation.

Module calls are announced by hooks. Two kinds of scope are found by walking the Python frames between an operation and
the machinery of the innermost module call, a few frames as a rule: a module whose `.forward()` is called directly, and
a custom autograd function. Where torch applies that from C, no frame is its own; but each time it makes a `ctx` first,
which tells the function and the frame that applies it. The same walk meets the user's functions.
"""

from __future__ import annotations

import copy
import sys
import threading
from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import torch.overrides
import torch.utils.checkpoint
from torch import fx, nn

from torchrecorder.graph.model import CallKind, Frame
from torchrecorder.recording.code_info import APPLY, CALL, HOOKED_CALL, MAKES_PARAMETER, CodeInfo, CodeInfos
from torchrecorder.recording.control_flow import computed
from torchrecorder.recording.modules import ModuleNames
from torchrecorder.recording.names import OpName
from torchrecorder.recording.scripted import Generated, GeneratedCalls
from torchrecorder.running import torch_private
from torchrecorder.running.handles import replaced
from torchrecorder.trace.ownership import is_installed, is_stdlib

_LONGEST = 120
"""Signs of a statement in a note."""
_SESSION = str(Path(__file__).with_name("session.py"))
"""The file of what calls the model; frames outside it are not the forward's."""
_BACKWARD = torch.autograd.backward
_HIGHER_ORDER = "torch._higher_order_ops."
_BETWEEN = (str(Path(__file__).parent), torch.overrides.__file__, torch.Tensor.backward.__code__.co_filename)
"""Files between what asks a tensor and the recorder that sees the question."""


@dataclass(slots=True)
class CallRow:
    """A call that is being recorded; becomes a `Call`."""

    id: int
    parent: int | None
    module: str
    index: int
    kind: CallKind
    frame: int | None
    source: str | None = None
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


Standing = FrameType | Applied | Generated
"""What is the same object as long as a scope or a function runs."""


@dataclass(slots=True)
class RunningCall:
    """A module call that has begun and not ended."""

    row: CallRow
    module: nn.Module
    moment: int
    """The values' moment at which it began."""
    first_op: int
    """Id of the next op when it began."""
    forward: FrameType | None = None
    """The frame of its forward, once something in it was met; let go when the call ends."""
    caller: tuple[CodeType, int] | None = None
    """The code that called it, and the instruction there."""
    children: int = 0
    frames: list[tuple[Standing, int, int | None]] = field(default_factory=list)
    """Frames inside it that are scopes or functions, outermost first, with the ids of their calls and Frames. A frame
    is let go when the next walk no longer meets it: kept longer, it would keep the tensors among its local variables.
    """
    applied: list[Applied] = field(default_factory=list)
    """Functions that are applied from C, outermost first; let go like the frames."""
    generated: GeneratedCalls | None = None
    """The calls that the module's forward stands for, if it was generated."""


Place = tuple[int | None, int | None, str | None, int | None]
"""Ids of the innermost call and Frame, `file:line` of the statement outside torch, and its instruction's offset."""


class Scopes:
    """The calls of one recording, in the order they began. Used by one thread."""

    def __init__(self, names: ModuleNames) -> None:
        self.rows: list[CallRow] = []
        self.frames: list[Frame] = []
        self.stack: list[RunningCall] = []
        self.libraries: set[str] = set()
        """Files of which notes tell, and that belong to packages which were installed."""
        self._names = names
        self._codes = CodeInfos()
        self._counts: dict[str, int] = {}
        self._thread = threading.get_ident()
        self.makes_layer = False
        """Whether the operation that was located last runs in what makes a module."""
        self.hands_on = False
        """Whether it is a means by which torch sees that a gradient comes by, or makes a parameter of a tensor."""
        self.whole: tuple[FrameType, OpName] | None = None
        """The function that is one for its users in which it runs."""

    def place(self) -> str:
        """The place that a note tells of: `at file:line` of the user's, as far out as that may be.

        Where there is none, the layer that runs.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename != _SESSION:
            file = self._codes.of_code(frame).file
            if file is not None and not is_stdlib(frame.f_code.co_filename):
                self._learn(frame, file)
                return f"at {file}:{frame.f_lineno}"
            frame = frame.f_back
        return f"in {self.stack[-1].row.module or 'the forward'}"

    def _learn(self, frame: FrameType, file: str) -> None:
        if is_installed(frame.f_code.co_filename):
            self.libraries.add(file)

    def is_pickling(self) -> bool:
        """Whether a tensor is asked for its memory in order to be pickled.

        The module `copy` uses the same methods, but its copy shares the memory.
        """
        frame: FrameType | None = sys._getframe(1)
        reduces = False
        while frame is not None and frame.f_code.co_filename.startswith(_BETWEEN):
            reduces = reduces or "reduce_ex" in frame.f_code.co_name
            frame = frame.f_back
        return reduces and frame is not None and frame.f_code.co_filename != copy.__file__

    def is_asked_by_user(self) -> bool:
        """Whether a tensor is asked by the user's code, and not by torch or Python's own modules for themselves."""
        asks = self._asking()
        return (
            asks is not None and self._codes.of_code(asks).file is not None and not is_stdlib(asks.f_code.co_filename)
        )

    def _asking(self, of_torch: bool = False) -> FrameType | None:
        frame: FrameType | None = sys._getframe(2)
        while frame is not None and (
            frame.f_code.co_filename.startswith(_BETWEEN) or (of_torch and self._codes.of_code(frame).file is None)
        ):
            frame = frame.f_back
        return frame

    def asked(self, in_condition: bool = False, of_torch: bool = False) -> tuple[str, str] | None:
        """`file:line` and text of the user's statement that asks a tensor which branch to take.

        None if torch asks for itself.

        Args:
            in_condition: Whether it does so only if the answer is part of a condition, as that of `x.item()` may be.
            of_torch: Whether it asks by a function of torch's, `torch.cond`.
        """
        frame = self._asking(of_torch)
        info = None if frame is None else self._codes.of_code(frame)
        if frame is None or info is None or info.file is None:
            return None
        statement = info.statement(frame)
        if not statement.text or (in_condition and not statement.decides_at(frame)):
            return None
        self._learn(frame, info.file)
        return f"{info.file}:{statement.line}", statement.text[:_LONGEST]

    def knows(self, module: nn.Module) -> bool:
        return self._names.known(module) is not None

    def enter(self, module: nn.Module, moment: int, first_op: int, *, is_scripted: bool = False) -> RunningCall:
        parent = frame = source = caller = None
        if self.stack:
            if is_scripted:  # nothing of Python runs between it and what calls it
                parent = self.stack[-1].row.id
            else:
                caller = _caller_of_module(sys._getframe(1))
                parent, frame, source, _ = self.locate(caller)
            self.stack[-1].children += 1
        row = self._open(self._name(module), "module", parent, frame)
        row.source = source
        running = RunningCall(row, module, moment, first_op)
        if caller is not None and (outer := caller.f_back) is not None:  # torch calls by way of another function
            caller = outer if CALL is not None and caller.f_code.co_filename == CALL.co_filename else caller
            running.caller = caller.f_code, caller.f_lasti
        if isinstance(module, fx.GraphModule):
            running.generated = GeneratedCalls(module)
            self._names.generated(module, row.module, running.generated.cls)
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
        """Notice each custom autograd function that is applied from C, by the `ctx` that torch makes for it.

        Where Python applies it, before torch 2.15, a frame is seen. To change the class of `ctx` costs as much as a
        dozen operations, since Python tells each of the hundreds that derive from it.
        """
        context = torch_private.FUNCTION_CONTEXT.get()
        if context is None or hasattr(torch.autograd.Function.apply, "__code__"):
            yield
            return

        def announced(made: Callable[..., None]) -> Callable[..., None]:
            def begins(ctx: Any, *args: Any, **kwargs: Any) -> None:
                made(ctx, *args, **kwargs)
                frame = sys._getframe(1)
                if frame.f_code is not APPLY and threading.get_ident() == self._thread:
                    self._begins(getattr(type(ctx), "_forward_cls", None), frame)

            return begins

        with replaced((context, "__init__", announced)):
            yield

    def _begins(self, function: Any, frame: FrameType) -> None:
        # What the transforms of torch.func make of a function derives from another class, and is not the model's.
        if isinstance(function, type) and issubclass(function, torch.autograd.Function) and not _is_means(function):
            top = self.stack[-1]
            others = [outer for outer in top.applied if outer.frame is not frame]
            top.applied = [*others, Applied(function, frame, frame.f_lasti)]

    def locate(self, frame: FrameType | None, reads: bool | None = None) -> Place:
        """The place of what a frame calls.

        The call is None for internal work of torch: importing one of its modules, or the bookkeeping of a checkpoint.

        Args:
            frame: Where to begin.
            reads: Whether it is an operation that reads tensors, which the bookkeeping of a checkpoint does not; None
                for a module.
        """
        top = self.stack[-1]
        source: str | None = None
        offset: int | None = None
        inner: list[tuple[Standing, Any]] = []
        known, of_code = self._codes.known, self._codes.of_code
        applied, met, frames = top.applied, [], top.frames
        above: FrameType | None = None
        self.makes_layer = self.hands_on = False
        self.whole = None
        while frame is not None:
            info = known.get(id(frame.f_code)) or of_code(frame)  # asked here, for some frames of every operation
            if info.is_end:
                break
            if source is None and info.file is not None:
                offset = frame.f_lasti
                source = info.sources.get(offset) or info.source(frame, above)
            if applied:
                met += [outer for outer in applied if outer.is_at(frame)]
                inner += [(outer, outer.function) for outer in applied if outer.is_at(frame) and outer.runs(above)]
            if info.is_looked_at:
                back = frame.f_back if info.is_forward and top.generated is None else None
                if back is not None and back.f_code is HOOKED_CALL:  # the module's own
                    top.forward = frame
                    break
                if reads is not None and source is None and (info.is_import or (info.is_checkpoint and not reads)):
                    return None, None, None, None
                if CALL is None and info.may_be_scope and self._is_running(frame):
                    break
                if reads is not None:
                    self._look_at(frame, info)
                if info.function is not None and not applied and (kept := _place_among(frames, frame)):
                    return *self._innermost(top, inner, kept), source, offset  # what is around it is as it was
                inner += _standing(frame, info, top)
            above, frame = frame, frame.f_back
        if applied:
            top.applied = met
        if inner and inner[0][1] is torch_private.BACKWARD_HOOK.get():
            self.hands_on = True
            del inner[0]
        if not inner and not frames:
            return top.row.id, None, source, offset
        return *self._innermost(top, inner), source, offset

    def assigned(self, places: Set[str]) -> dict[str, str]:
        """By place in the code, `net.py:12+160`, the variable that gets what is made there, if there is one."""
        return dict(sorted(self._codes.assigned(places)))

    def _look_at(self, frame: FrameType, info: CodeInfo) -> None:
        """Take what a frame around an operation says of it."""
        if info.whole is not None:
            self.whole = frame, info.whole
        if frame.f_code is MAKES_PARAMETER:
            self.hands_on = True
        elif info.is_init and issubclass(type(first_argument(frame, frame.f_code)), nn.Module):
            self.makes_layer = True

    def _is_running(self, frame: FrameType) -> bool:
        """Whether it is the forward of a module that a hook has announced."""
        owner = first_argument(frame, frame.f_code)
        return any(running.module is owner for running in self.stack)

    def _innermost(self, top: RunningCall, inner: list[tuple[Standing, Any]], kept: int = 0) -> tuple[int, int | None]:
        """Ids of the call and the Frame of what is in `inner`, and that in the frames that are kept."""
        frames = top.frames
        call, within = frames[kept - 1][1:] if kept else (top.row.id, None)
        for depth, (frame, scope) in enumerate(reversed(inner), kept):
            if depth == len(frames) or frames[depth][0] is not frame:
                frames[depth:] = [(frame, *self._enter_frame(frame, scope, call, within))]
            _, call, within = frames[depth]
        del frames[kept + len(inner) :]
        return call, within

    def _enter_frame(self, frame: Standing, scope: Any, call: int, within: int | None) -> tuple[int, int | None]:
        """The call and the Frame of what happens in a frame that is met for the first time."""
        if isinstance(scope, CodeInfo) and scope.function is not None and isinstance(frame, FrameType):
            place = self._codes.place(frame.f_back)
            self.frames.append(Frame(len(self.frames), *scope.function, call, within, *place))
            return call, len(self.frames) - 1
        if isinstance(scope, Generated):
            if scope.call is None:
                top = self.stack[-1]
                top.children += 1
                path = self._names.generated(top.module, top.row.module, scope.cls, scope.path)
                scope.call = self._open(path, "module", call, within).id
            return scope.call, None
        if isinstance(scope, nn.Module):
            self.stack[-1].children += 1
            return self._open(self._name(scope), "module", call, within).id, None
        return self._open(str(getattr(scope, "__name__", "")), "function", call, within).id, None

    def _name(self, module: nn.Module) -> str:
        known = self._names.known(module)
        return self._names.of(module, (running.module for running in reversed(self.stack))) if known is None else known

    def _open(self, module: str, kind: CallKind, parent: int | None, frame: int | None) -> CallRow:
        key = f"{kind} {module}"
        self._counts[key] = self._counts.get(key, 0) + 1
        row = CallRow(len(self.rows), parent, module, self._counts[key], kind, frame)
        self.rows.append(row)
        return row


def _caller_of_module(frame: FrameType | None) -> FrameType | None:
    """The frame that called the module whose hooks are running."""
    if CALL is None:
        return frame
    while frame is not None and frame.f_code is not CALL:
        frame = frame.f_back
    return None if frame is None else frame.f_back


def _place_among(frames: Sequence[tuple[Standing, int, int | None]], frame: FrameType) -> int:
    """The number of frames up to this one; 0, if it is not among them."""
    kept = len(frames)
    while kept and frames[kept - 1][0] is not frame:
        kept -= 1
    return kept


def _standing(frame: FrameType, info: CodeInfo, top: RunningCall) -> Sequence[tuple[Standing, Any]]:
    """The scopes and functions that a frame is, innermost first."""
    if info.function is not None:
        return ((frame, info),)
    if top.generated is not None and frame.f_code is top.generated.code:
        return [(generated, generated) for generated in top.generated.around(frame)]
    scope = _scope_of(frame, top) if info.may_be_scope else None
    return () if scope is None else ((frame, scope),)


def _scope_of(frame: FrameType, top: RunningCall) -> Any:
    """The module or autograd function that the frame runs, if it is not the innermost module itself."""
    code = frame.f_code
    if code is APPLY:
        function = frame.f_locals["cls"]
        return None if _is_means(function) else function
    if code is computed.__code__:
        return first_argument(frame, code).operator
    back = frame.f_back
    if code is _BACKWARD.__code__:  # that which calls the recorder, not that which the recorder calls
        return None if back is not None and back.f_code.co_filename.startswith(_BETWEEN[0]) else _BACKWARD
    if back is not None and back.f_code is HOOKED_CALL:
        return None
    owner = first_argument(frame, code)
    return owner if issubclass(type(owner), nn.Module) and owner is not top.module else None


def _is_means(function: type) -> bool:
    """Whether the function is a means of torch's, and nothing of the model's."""
    return function.__module__ == torch.utils.checkpoint.__name__ or function.__module__.startswith(_HIGHER_ORDER)


def first_argument(frame: FrameType, code: CodeType) -> Any:
    """The first argument of the function that runs in the frame.

    Before Python 3.13 `f_locals` is a snapshot that the frame keeps, with all tensors in it. So it is emptied again,
    unless the function holds it too because it called `locals()`.
    """
    snapshot = frame.f_locals
    owner = snapshot.get(code.co_varnames[0])
    if type(snapshot) is dict and sys.getrefcount(snapshot) <= 3:
        snapshot.clear()
    return owner
