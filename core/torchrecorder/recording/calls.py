"""What the module hooks do: begin and end calls, and show a module that returns its argument as an op of its own."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.errors import chain, shown_text, text_of
from torchrecorder.graph.model import Failure
from torchrecorder.recording.isolation.journal import Journal
from torchrecorder.recording.modules import Signatures
from torchrecorder.recording.ops import OpLog, unseen
from torchrecorder.recording.returned import names_of_parts, receives, returned
from torchrecorder.recording.scopes import RunningCall, Scopes
from torchrecorder.recording.scripted import announced, layer, script_note
from torchrecorder.recording.values import Values
from torchrecorder.running.facts import class_of, is_native
from torchrecorder.running.handles import all_modules_watched, replaced
from torchrecorder.running.nested import map_tensors, named_tensors

_LISTED = 5
"""Names in a note."""


_IN_THREAD = "layers ran in another thread: what they gave is drawn as constants"


class Calls:
    """The module calls of one recording. Calls of other threads are not seen."""

    def __init__(self, model: nn.Module, values: Values, scopes: Scopes, ops: OpLog, journal: Journal) -> None:
        self._journal = journal
        self._values = values
        self._scopes = scopes
        self._ops = ops
        self._thread = threading.get_ident()
        self._signatures = Signatures()
        self._failed: tuple[BaseException, int] | None = None
        self._root = scopes.enter(model, values.moment, 0)
        self._root_began = False
        self.returned: dict[str, dict[str, str]] = {}
        """By path of a module and in its result what its forward or its caller calls that, as far as calls agree."""
        self._threads: dict[str, int] = {}
        """By the place that started one, the number of values there were."""
        self._own_hooks: dict[int, RemovableHandle] = {}
        """By module that has hooks of its own, the one that ends its call behind them."""
        self._waiting: list[tuple[RunningCall, BaseException | None]] = []
        """Calls whose forward came to its end and whose module's own hooks run, with the exception handled then."""

    @contextmanager
    def hooked(self) -> Iterator[None]:
        """Watch every module of the process, also those that do not exist yet. Nothing is left on any module."""
        try:
            with all_modules_watched(self._before, self._after), announced(self._begins, self._ends):
                yield
        finally:
            for handle in self._own_hooks.values():
                handle.remove()

    @contextmanager
    def threads_noticed(self) -> Iterator[None]:
        """Notice each thread that the forward starts, and each task that it gives to a pool of them."""

        def noticed(function: Callable[..., Any]) -> Any:
            @functools.wraps(function)
            def wrapped(*args: Any, **kwargs: Any) -> Any:
                if not self._is_elsewhere():
                    self._threads.setdefault(self._scopes.place(), len(self._values.rows))
                return function(*args, **kwargs)

            return wrapped

        with replaced((threading.Thread, "start", noticed), (ThreadPoolExecutor, "submit", noticed)):
            yield

    def notes(self, unknown: dict[int, str]) -> Iterator[str]:
        """Notes of what is lost in threads: tensors of `unknown` origin first read after one began; taken out there."""
        if _IN_THREAD in self._ops.notes:
            unknown.clear()
        for place, first in self._threads.items():
            lost = [value for value in unknown if value >= first]
            if lost:
                yield f"a thread was started {place}: what operations in it gave is drawn as constants"
                for value in lost:
                    del unknown[value]

    def failure(self, error: BaseException) -> Failure:
        """The place that the exception which ended the forward came from."""
        call = self._root.row.id
        if self._failed is not None and _is_from(error, self._failed[0]):
            call = self._failed[1]
        self._root.row.ok = False
        for running in self._scopes.stack:
            running.row.ok = False
        return Failure(call, shown_text(text_of(error)))

    def _before(self, module: nn.Module, args: object) -> None:
        if self._is_elsewhere():
            if threading.get_ident() == self._thread:
                return
            self._journal.meet_elsewhere(module)
            if self._scopes.knows(module):
                self._ops.notes[_IN_THREAD] = None
            return
        self._ops.settle()
        if type(module).__module__ == "torch.export._unlift":  # compares inputs with those of the export
            return
        self._end_behind_own_hooks(module)
        # The model's own call began before its hooks, so that what an overridden `__call__` does lies inside it.
        if module is self._root.module and not self._root_began:
            self._root_began = True
        else:
            self._scopes.enter(module, self._values.moment, len(self._ops.rows))
        if isinstance(module, torch.jit.ScriptModule) and (note := script_note(module)):
            self._ops.notes[note] = None

    def _after(self, module: nn.Module, args: tuple[object, ...], *rest: Any) -> Any:
        # torch gives the keyword arguments only if the forward came to its end: (kwargs, output), else (output,).
        if self._is_elsewhere():
            return None
        self._ops.settle()
        if len(rest) == 2 and self._is_hooked(module) and self._scopes.stack[-1].module is module:
            self._waiting.append((self._scopes.stack[-1], sys.exc_info()[1]))
            self._scopes.stack[-1].forward = None  # the hooks may give something else
            return None
        return self._leave(module, args, *rest)

    def _after_own(self, module: nn.Module, args: tuple[object, ...], kwargs: dict[str, object], out: object) -> object:
        """The module's own hooks ran, or one of them raised."""
        if self._is_elsewhere() or not self._waiting or self._waiting[-1][0].module is not module:
            return None
        self._ops.settle()
        handled = self._waiting.pop()[1]
        return self._leave(module, args, *((kwargs, out) if sys.exc_info()[1] is handled else (out,)))

    def _end_behind_own_hooks(self, module: nn.Module) -> None:
        """Let the call of a module end behind its own hooks, since it begins before them.

        Torch runs hooks on all modules first, so what ends this call has to be the last of the module's own.
        """
        hooks = vars(module).get("_forward_hooks")
        if not hooks:
            return
        if not self._is_hooked(module):
            self._own_hooks[id(module)] = module.register_forward_hook(
                self._after_own, with_kwargs=True, always_call=True
            )
        hooks.move_to_end(self._own_hooks[id(module)].id)

    def _is_hooked(self, module: nn.Module) -> bool:
        handle = self._own_hooks.get(id(module))
        return handle is not None and handle.id in module._forward_hooks

    def _leave(self, module: nn.Module, args: tuple[object, ...], *rest: Any) -> object:
        running = self._scopes.leave(module)
        if running is None:
            return None
        if running is self._root:
            self._scopes.stack.append(running)
        with unseen():
            return self._end(running, module, args, *rest)

    def _begins(self, path: str, names: Sequence[str], inputs: Sequence[Tensor]) -> None:
        """A layer begins that TorchScript runs."""
        if not self._is_elsewhere():
            module = layer(self._scopes.stack[-1].module, path)
            running = self._scopes.enter(module, self._values.moment, len(self._ops.rows), is_scripted=True)
            for name, tensor in zip(names, inputs, strict=True):
                running.row.inputs[name] = self._values.at(tensor, running.moment)

    def _ends(self, path: str, outputs: Sequence[Tensor]) -> None:
        if not self._is_elsewhere():
            row = self._scopes.stack.pop().row
            for position, tensor in enumerate(outputs):
                row.outputs[str(position) if position else ""] = self._values.read(tensor)[0]

    def _end(self, running: RunningCall, module: nn.Module, args: tuple[object, ...], *rest: Any) -> object:
        row, moment, values = running.row, running.moment, self._values
        forward, running.forward = running.forward, None
        kwargs = rest[0] if len(rest) == 2 else {}
        for path, tensor in self._signatures.tensors(module, args, kwargs):
            row.inputs[path] = values.at(tensor, moment)
        if len(rest) == 1:
            row.ok = False
            error = sys.exc_info()[1]
            if error is not None and (self._failed is None or not _is_from(error, self._failed[0])):
                self._failed = (error, row.id)
            return None
        self._failed = None
        if running.generated is not None and (left_out := running.generated.left_out()):
            text = ", ".join(left_out[:_LISTED]) + (", …" if len(left_out) > _LISTED else "")
            self._ops.notes[f"layers of the program that ran no operation are left out: {text}"] = None
        result = self._passed_through(running, rest[1], args, kwargs)
        for path, tensor in [("", result)] if type(result) is Tensor else named_tensors(result):
            row.outputs[path] = values.read(tensor)[0]
        if len(row.outputs) > 1 and forward is not None:
            got = receives(*running.caller) if running.caller is not None else None
            found = dict(names_of_parts(got, module, result))
            found |= names_of_parts(returned(forward.f_code, forward.f_lineno), module, result)
            self.returned[row.module] = dict(self.returned.get(row.module, found).items() & found.items())
        return result if result is not rest[1] else None

    def _is_elsewhere(self) -> bool:
        return threading.get_ident() != self._thread or self._ops.paused

    def _passed_through(
        self, running: RunningCall, out: object, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> object:
        """The result, with new names for the tensors that a layer without layers inside gave back unchanged.

        `x + identity(x)` reads the same tensor twice; only another tensor object can tell the two reads apart. A layer
        of the user's is one only if it did nothing at all: what it computes besides is drawn, and a container that it
        was given and gives back is the caller's.
        """
        if running.children:
            return out
        given: set[int] | None = None
        if not is_native(class_of(running.module)):
            handed = (*args, *kwargs.values())
            is_callers = not issubclass(type(out), Tensor) and any(out is item for item in handed)
            if running is self._root or is_callers or len(self._ops.rows) != running.first_op:
                return out
            given = {id(tensor) for _, tensor in named_tensors(handed)}
        elif type(out) is Tensor:  # as most layers give
            return self._renamed(running, out)
        renamed: dict[int, Tensor] = {}

        def rename(tensor: Tensor) -> Tensor:
            if given is not None and id(tensor) not in given:
                return tensor
            if id(tensor) not in renamed:
                renamed[id(tensor)] = self._renamed(running, tensor)
            return renamed[id(tensor)]

        return map_tensors(out, rename)

    def _renamed(self, running: RunningCall, tensor: Tensor) -> Tensor:
        for value in self._values.read(tensor):
            producer = self._values.rows[value].producer
            if producer is not None and producer >= running.first_op:
                return tensor
        try:
            with self._ops.unlogged():
                fresh: Tensor = torch.ops.aten.alias.default(tensor)
        except (RuntimeError, NotImplementedError):  # a kind of tensor without aliases: one name must do for both
            fresh = tensor
        self._ops.passed(tensor, running.row.id, fresh)
        return fresh


def _is_from(error: BaseException, first: BaseException) -> bool:
    """Whether an exception is another one, or that led to it."""
    return any(raised is first for raised in chain(error))
