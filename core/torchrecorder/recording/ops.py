"""The log of operations: what each call of torch's API read, made and overwrote, and which kernels it ran."""

from __future__ import annotations

import contextlib
import sys
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from torchrecorder.errors import text_of
from torchrecorder.graph import Op
from torchrecorder.graph.model import OpKind
from torchrecorder.graph.quick import quick
from torchrecorder.recording.autograd import NEED_NO_GRAD, AutogradNodes
from torchrecorder.recording.batch_axes import ABOUT_SIZES, BatchAxes
from torchrecorder.recording.control_flow import Watched, captured, computed, is_control_flow
from torchrecorder.recording.isolation.journal import Journal
from torchrecorder.recording.isolation.substitutes import has_numbers
from torchrecorder.recording.kernels import SAVING, Kernel, arguments_at, counted, kernel_facts
from torchrecorder.recording.machine.memory import Room
from torchrecorder.recording.names import (
    CHANGES_STATE,
    LAYS_OPEN,
    OpName,
    Question,
    attributes,
    op_name,
    question_of,
)
from torchrecorder.recording.running_op import MASKS, Births, Facts, Questions, RunningOp, Whole
from torchrecorder.recording.scopes import Scopes, first_argument
from torchrecorder.recording.values import (
    Values,
    are_rewrapped,
    innermost,
    is_of_others,
    parts_of,
    running_transform,
    storage_address,
)
from torchrecorder.running import torch_private
from torchrecorder.running.nested import tensors_in

_op = quick(Op)
_depth: Callable[[], int] = (torch_private.FAKE_MODES.get() or (lambda: 0,))[0]
_BACKWARD: tuple[Any, ...] = Tensor.backward, torch.autograd.backward
_NO_NUMBER = "?"
"""A number that is not known, in text: what a forward prints or raises with it counts, not the number."""
unseen: type[AbstractContextManager[object]] = torch_private.NO_TORCH_FUNCTION.get() or contextlib.nullcontext
"""In this, a tensor of a class of the user's own does not see what it is asked, which it may refuse."""


class OpLog:
    """The operations of one recording, in the order in which they ended. Used by one thread."""

    switched_on: Callable[[], AbstractContextManager[object]]
    """In this, what runs inside of an operation is recorded."""

    def __init__(self, values: Values, scopes: Scopes, journal: Journal, nodes: AutogradNodes | None = None) -> None:
        self.rows: list[Op] = []
        self.notes: dict[str, None] = {}
        self.paused = False
        self.settled: list[BaseException] = []
        """Exceptions that operations raise without a recorder, too."""
        self.most: int | None = None
        """Operations after which the forward is stopped; one that allocates without end does end only on numbers."""
        self.room: Room | None = None
        """The memory that is left for it, on numbers."""
        self.births = Births()
        self.depth = 0
        """How many modes see kernels, if none is the forward's own."""
        self.unknown: dict[int, str] = {}
        """Values that no operation gave though they are new, and where each was met."""
        self._values = values
        self._scopes = scopes
        self._running: RunningOp | None = None
        self._names: dict[Any, OpName | Question] = {}
        self._journal = journal
        self._nodes = nodes
        self._whole: Whole | None = None
        self.batch = BatchAxes(values, self.rows)
        self.questions = Questions(values, scopes, self.rows, self.notes)
        self.kernels: dict[int, Kernel] = {}
        """What is known of kernels, by the id of their functions; what is not in it is for `facts` to find."""
        self._kept: list[Callable[..., object]] = []
        """The same functions, kept alive so that no id is used again."""

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
        if isinstance(name, Question):
            return self._question(name, func, args, kwargs)
        if name.name == "set_data":
            if args[0] is args[1]:  # a module that is where it is moved to
                return None
            with unseen():
                self._protect(tensors_in(args[:1], []))
        running = self._running = RunningOp(func)
        if (running_transform() is not None and are_rewrapped((*args, *kwargs.values()))) or _depth() > self.depth:
            running.given = innermost(tensors_in((*args, *kwargs.values()), []))
        try:
            if self.batch.was_asked and (sizes := self.batch.sizes(args, kwargs)):
                running.sizes = sizes
                plain, named = self.batch.plain(args, kwargs)
                out = func(*plain, **named)
            else:
                out = func(*args, **kwargs)
        except RuntimeError as error:
            self._settle_whose(error, func, args, kwargs)
            raise
        finally:
            self._running = None
        with unseen():
            self._log(name, "op", running, args, kwargs, out)
        return out

    def _settle_whose(
        self, error: RuntimeError, func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]
    ) -> None:
        """See whether an operation raises without the modes, too; what fails has nothing to write."""
        if self.room is not None:  # on numbers
            try:
                with self.unlogged(), torch_private.without_kernel_modes():
                    func(*args, **kwargs)
            except Exception as other:
                if text_of(other) == text_of(error):
                    self.settled.append(error)

    @contextlib.contextmanager
    def running(self, switched_on: Callable[[], AbstractContextManager[object]]) -> Iterator[None]:
        """In this, the forward runs and what it gives is read; then all that leads from its parts back here is gone."""
        self.switched_on = switched_on
        self._values.on_constant = self._met
        try:
            with self.births.noticed():
                yield
        finally:
            del self._values.on_constant, self.switched_on
            self._values.forget_memory()
            for call in self._scopes.stack:
                call.frames, call.applied = [], []  # behind these frames are those that run the recording

    @contextlib.contextmanager
    def unlogged(self) -> Iterator[None]:
        """In this, what runs does not belong to the model."""
        was, self.paused = self.paused, True
        try:
            yield
        finally:
            self.paused = was

    def _met(self, tensor: Tensor) -> bool:
        """Whether a tensor that is about to be a constant was there before; else it should be from outside of torch."""
        if (is_old := self._journal.has(tensor)) or self._values.is_aside(tensor) or is_of_others(tensor):
            return is_old
        if not self.births.has(tensor):
            return True
        if not (parts := parts_of(tensor)):
            self.unknown[len(self._values.rows)] = self._scopes.place()
            return False
        kind = type(tensor)
        call, frame, source, offset = self._scopes.locate(sys._getframe(1), True)
        facts: Facts = (call or 0, frame, source, offset), "op", {}
        name = OpName(kind.__name__, f"{kind.__module__}.{kind.__qualname__}")
        self.batch.unsure(self._add(name, RunningOp(), parts, (), (tensor,), facts))
        self._values.reads_are_own = False  # of the operation that reads it
        return False

    def facts(self, func: Callable[..., object]) -> Kernel:
        kernel = self.kernels[id(func)] = kernel_facts(func)
        self._kept.append(func)
        if kernel.is_random:
            self.questions.random.add(kernel.label)
        return kernel

    def before_write(self, kernel: Kernel, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """A kernel that overwrites some of its arguments is about to run."""
        if kernel.writes:
            self._protect(tensors_in(arguments_at(kernel.writes, args, kwargs), []))
        if kernel.updates and all(arguments_at(kernel.training, args, kwargs)):
            self._protect(tensors_in(arguments_at(kernel.updates, args, kwargs), []))

    def _protect(self, tensors: Iterable[Tensor]) -> None:
        """Let the data be kept of those of the tensors that are older than the recording."""
        for tensor in tensors:
            base = torch_private.base_of(tensor)
            owner = tensor if base is None else base  # of a fake view it may be a tensor of the user's
            if not self._values.is_made(owner) and not self._is_made_within(owner):
                with self.unlogged():
                    self._journal.before_write(tensor)

    def _is_made_within(self, tensor: Tensor) -> bool:
        """Whether an earlier kernel of the operation that is running made its memory."""
        running = self._whole.running if self._running is None and self._whole is not None else self._running
        if running is None:
            return False
        address = storage_address(tensor)
        others = [other for ref in running.made if (other := ref()) is not None]
        return any(other is tensor or (address and storage_address(other) == address) for other in others)

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
        if running.given is not None:  # a mode of the user's reads, too; a wrapper gets the writes that it lacks
            running.given += filter(self._values.is_known, tensors_in((*args, *kwargs.values()), []))
        if kernel.rule is not None:
            flops = counted(kernel.rule, args, kwargs, out)
            if flops is not None:
                running.flops = (running.flops or 0) + flops
        if kernel.is_sized_by_data:  # of an index with flags; with integers, its sizes are theirs
            flags = (tensor.dtype in (torch.bool, torch.uint8) for tensor in tensors_in(args[1:], []))
            running.is_sized_by_data |= kernel.name.name != "index" or any(flags)
        if kernel.writes:
            written = tensors_in(arguments_at(kernel.writes, args, kwargs), [])
            running.written += [(id(tensor), storage_address(tensor)) for tensor in written]
        if type(out) is Tensor or isinstance(out, Tensor):
            results = [weakref.ref(out)]
        else:
            results = [] if out is None else [weakref.ref(t) for t in tensors_in((out,), [])]
        running.results += results
        if kernel.makes:
            running.made += results
        if around is None and not kernel.is_no_op:
            self._log(kernel.name, "kernel", running, args, kwargs, out)

    def passed(self, tensor: Tensor, call: int, fresh: Tensor) -> None:
        """Log that a call gave its argument back; `fresh` stands for the result from now on."""
        inputs = self._values.read(tensor)
        op = len(self.rows)
        value = self._values.add(fresh, "op", op)
        self.batch.learn(value, self.batch.of(tensor))
        if self._nodes is not None:
            self._nodes.learn(fresh, value)
        self.rows.append(_op(op, "pass", "pass", call, inputs, (value,), kind="pass"))

    def _question(
        self, question: Question, func: Callable[..., object], args: Sequence[Any], kwargs: Mapping[str, object]
    ) -> object:
        if question.is_control_flow:
            return self._control_flow(func, args, kwargs)
        if func in _BACKWARD:  # each kernel of it is an operation, as those of `torch.autograd.grad` are
            return func(*args, **kwargs)
        if question.tells or (question.is_of_sizes and self.questions.sized_by_data):
            with unseen():
                self._before_question(question, args)
                # Of one number torch formats that; of another class than its own, the object, which has no formats.
                if func is Tensor.__format__ and args[0].dim() == 0 and not has_numbers(args[0]):
                    return _NO_NUMBER
        self._running = RunningOp()
        try:
            answer = func(*args, **kwargs)
        finally:
            self._running = None
        if question.name in ABOUT_SIZES and args:
            with unseen():
                return self.batch.answered(question.name, args, kwargs, answer)
        return answer

    def _before_question(self, question: Question, args: Sequence[object]) -> None:
        if question.is_of_sizes:
            self.questions.sized(args)
        self.questions.asked(question.name, args)
        if question.name in LAYS_OPEN:
            self._protect(tensors_in(args, []))
        elif question.name in CHANGES_STATE:
            for tensor in tensors_in(args[:1], []):
                self._journal.touch(tensor)

    def _control_flow(self, operator: Any, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Call an operator that calls functions of the user's. What it gives and they did not is an operation."""
        watched = Watched(operator, args, self.switched_on, self._values.copied)

        def log(out: object) -> None:
            name = OpName(operator.__name__, f"torch.ops.higher_order.{operator.__name__}")
            with unseen():
                self._log(name, "op", RunningOp(), (*args, watched.results), kwargs, out)

        out, is_chosen = computed(watched, args, kwargs, log)
        if is_chosen and (chose := watched.chose(args)):
            self.questions.decided(chose, self._scopes.asked(of_torch=True))
        return out

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
        is_wrapped = running_transform() is not None
        if given and (is_wrapped or running.given is not None):
            given = innermost(given) if running.given is None else running.given
        overwritten = _overwritten(name, given, running.written) if running.written or name.name == "set_data" else ()
        fresh = self._fresh(given, out, is_wrapped)
        if name.name == "set_" and len(given) == 1 and self._values.moved(given[0]):  # to the memory of another one
            return
        if not fresh and not overwritten:
            if isinstance(out, (int, float, tuple, list)) and not tensors_in((out,), []):
                self.batch.leak()
            return
        scopes = self._scopes
        place, whole = scopes.locate(sys._getframe(2), bool(given)), scopes.whole
        scopes.whole = None  # its frame is not to be kept
        if place[0] is None or (scopes.makes_layer and not any(map(self._values.is_met, given))):
            self._values.set_aside(fresh)
            return
        if scopes.hands_on:
            for tensor, made in zip(given, fresh, strict=False):
                self._values.alias(made, self._values.read(tensor)[0])
            return
        facts = place, kind, attributes(args, kwargs)
        if whole is not None:
            self._whole = Whole(*whole, name, running, facts)
            self._take_part(self._whole, [*given, *captured(running.func, args)], fresh)
            return
        before = self.batch.before(name, overwritten, given) if overwritten else ()
        outputs = self._add(name, running, given, overwritten, fresh, facts)
        if before:
            for value, axes in zip(outputs, before, strict=False):
                self.batch.learn(value, axes)
        if running.func is None:  # of code whose numbers are not seen
            self.batch.unsure(outputs if fresh else ())
        elif fresh:
            read = self.rows[-1].inputs
            called = running.func, args, kwargs, fresh, running.sizes
            self.batch.follow(name, called, facts[2], given, read, outputs[len(before) :], is_wrapped)

    def _add(
        self,
        name: OpName,
        running: RunningOp,
        given: Sequence[Tensor],
        overwritten: Sequence[Tensor],
        fresh: Sequence[Tensor],
        facts: Facts,
    ) -> Sequence[int]:
        values = self._values
        (call, frame, source, offset), kind, attrs = facts
        assert call is not None
        if name.name == "make_dual":
            where = self._scopes.place()
            self.notes[f"forward-mode derivatives (jvp) {where} are drawn with what they are derivatives of"] = None
        inputs = values.read_all(given)
        op = len(self.rows)
        if op == self.most:
            raise RuntimeError(f"it did not end within {op} operations")
        if self.room is not None and values.nbytes > self.room.until and (taken := self.room.taken(values.nbytes)):
            raise MemoryError(f"{taken}, after {op + 1} operations, the last of them {name.name}")
        if self._nodes is not None:
            for tensor in given:
                if not any(tensor is other for other in overwritten):
                    self._nodes.learn(tensor, values.read(tensor)[0])
        mutates = tuple([values.wrote(tensor, op, i) for i, tensor in enumerate(overwritten)]) if overwritten else ()
        made = [*overwritten, *fresh] if overwritten else fresh
        outputs = mutates + tuple([values.add(tensor, "op", op, i) for i, tensor in enumerate(fresh, len(mutates))])
        for tensor, value in zip(made, outputs, strict=True):
            if type(tensor) is not Tensor:
                for part in parts_of(tensor, deep=True):
                    values.holds(part, value, is_written=value in mutates)
        by_data = self.questions.sized_by_data
        if running.is_sized_by_data or (by_data and self.questions.are_sized_like(outputs, inputs)):
            by_data.update(dict.fromkeys(outputs, name.name))
        if len(running.results) != 1 or running.results[0]() is not made[-1]:
            self._adopt(running.results, outputs[0])
        nodes = () if self._nodes is None else self._nodes.made(zip(made, outputs, strict=True))
        more = (tuple(running.kernels), running.flops, attrs, source, kind, nodes, frame, offset)
        self.rows.append(_op(op, name.name, name.target, call, inputs, outputs, mutates, *more))
        return outputs

    def _part(self, func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Call a function inside one that is a single operation for its users."""
        whole = self._whole
        assert whole is not None
        self._running = whole.running
        try:
            out = func(*args, **kwargs)
        finally:
            self._running = None
        given = tensors_in([*args, *kwargs.values()], captured(func, args))
        self._take_part(whole, innermost(given), innermost(tensors_in((out,), [])))
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
        if not whole.given:  # code without Python read its argument, a list of tensors that become a nested one
            first = first_argument(whole.frame, whole.frame.f_code)
            self._take_part(whole, innermost(tensors_in((first,), [])), ())
        whole.frame.clear()  # what only it still held was not given out
        with torch_private.without_torch_function():  # hooks of modules settle, too
            self._log_whole(whole)
        return False

    def _log_whole(self, whole: Whole) -> None:
        given = [*whole.given.values()]
        if not given and whole.name.name in MASKS:
            self._values.set_aside(tensor for ref in whole.running.made if (tensor := ref()) is not None)
            return
        written = whole.running.written
        overwritten = _overwritten(whole.name, given, written) if written else ()
        fresh = self._fresh(given, [tensor for ref in whole.running.results if (tensor := ref()) is not None], True)
        if fresh or overwritten:
            facts: Facts = (whole.facts[0], "op", {}) if whole.parts > 1 else whole.facts
            name = whole.name if whole.parts > 1 else whole.first
            self.batch.unsure(self._add(name, whole.running, given, overwritten, fresh, facts))

    def _fresh(self, given: Sequence[Tensor], out: object, is_wrapped: bool) -> Sequence[Tensor]:
        """The tensors of a result that are new, each once."""
        if out is None:
            return ()
        if type(out) is Tensor and not is_wrapped:
            return () if self._values.is_known(out) or id(out) in map(id, given) else (out,)
        fresh: list[Tensor] = []
        others = [*map(id, given)]
        tensors = tensors_in((out,), [])
        for tensor in innermost(tensors) if is_wrapped else tensors:
            if id(tensor) not in others and not self._values.is_known(tensor):
                fresh.append(tensor)
                others.append(id(tensor))
        return fresh

    def _adopt(self, results: Sequence[weakref.ref[Tensor]], value: int) -> None:
        """Tensors that outlive their kernel without being outputs (wrapped by one, cached in C++) stand for the op."""
        for ref in results:
            tensor = ref()
            if tensor is not None and not self._values.is_known(tensor):
                self._values.alias(tensor, value)

    def _name(self, func: Callable[..., object]) -> OpName | Question:
        flows = is_control_flow(func)
        is_op = not (func is SAVING or func in _BACKWARD or flows)
        name = (op_name(func) if is_op else None) or question_of(func, flows)
        with contextlib.suppress(TypeError):  # not every callable can be a key
            self._names[func] = name
        return name


def _overwritten(name: OpName, given: Sequence[Tensor], written: Sequence[tuple[int, int | None]]) -> Sequence[Tensor]:
    """The arguments that were overwritten, each once.

    Where a kernel wrote to a view that the operation made for itself (`x[0] = y`), it is the first argument that shares
    the view's memory.
    """
    if name.name == "set_data":
        return given[:1]
    targets: dict[int, Tensor] = {}
    for identity, address in written:
        target = next((t for t in given if id(t) == identity), None)
        if target is None and address is not None:
            target = next((t for t in given if storage_address(t) == address), None)
        if target is not None:
            targets[id(target)] = target
    return list(targets.values())
