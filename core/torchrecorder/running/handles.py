"""Hooks that are always taken off again, attributes that always get back what they were, and waiting for an import.

What global hooks of torch, or those of a recorder, are there for first of all: a log of which module calls which.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any, Generic, Protocol, TypeVar

from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from torchrecorder.running import torch_private


class Handle(Protocol):
    """Handle of a hook: torch's `RemovableHandle`, or anything that can be removed."""

    def remove(self) -> None:
        """Take the hook off; doing so twice does no harm."""


class Handles(AbstractContextManager["Handles"]):
    """The handles of hooks that belong together; a context manager that removes them, also after an exception."""

    def __init__(self) -> None:
        self._handles: list[Handle] = []  # no `ExitStack`, since recorders with their handles are pickled

    def add(self, *handles: Handle) -> None:
        self._handles += handles

    def remove(self) -> None:
        """Take all hooks off, the last first; there are none left then."""
        while self._handles:
            self._handles.pop().remove()

    def __exit__(self, *exception: object) -> None:
        self.remove()


_ABSENT = object()


@contextmanager
def replaced(*changes: tuple[Any, str, Callable[[Any], object]]) -> Iterator[None]:
    """While it is active, attributes of owners are what a function makes of what was there."""
    before = [(owner, name, vars(owner).get(name, _ABSENT)) for owner, name, _ in changes]
    try:
        for owner, name, make in changes:
            setattr(owner, name, make(getattr(owner, name)))
        yield
    finally:
        for owner, name, own in reversed(before):
            if own is not _ABSENT:
                setattr(owner, name, own)
            elif name in vars(owner):
                delattr(owner, name)


class OnImport:
    """Calls a function once a module has been imported, if that happens within the block, and another one before."""

    def __init__(self, name: str, then: Callable[[], object], first: Callable[[], object] = lambda: None) -> None:
        self._name = name
        self._then = then
        self._first = first
        self._is_asking = False

    def __enter__(self) -> None:
        sys.meta_path.insert(0, self)

    def __exit__(self, *exception: object) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(self, name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name != self._name or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = find_spec(name)
        finally:
            self._is_asking = False
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def exec_module(module: ModuleType) -> None:
                self._first()
                execute(module)
                self.__exit__()
                self._then()

            loader.exec_module = exec_module
        return spec

    def find_distributions(self, *context: object) -> tuple[()]:
        return ()  # `importlib.metadata` asks everything on `sys.meta_path`


@dataclass(slots=True, eq=False)
class ModuleCall:
    """A call of a module: where it stands in the log, and in which call it was made."""

    id: int
    module: Any
    parent: int | None


CallT = TypeVar("CallT", bound=ModuleCall)


class CallLog(Generic[CallT]):
    """Calls of modules in the order in which they began; `kind` is the class of its entries."""

    def __init__(self, kind: type[CallT]) -> None:
        self.entries: list[CallT] = []
        self._kind = kind
        self._running: list[CallT] = []

    @property
    def current(self) -> CallT | None:
        return self._running[-1] if self._running else None

    def enter(self, module: object) -> CallT:
        parent = self._running[-1].id if self._running else None
        call = self._kind(len(self.entries), module, parent)
        self.entries.append(call)
        self._running.append(call)
        return call

    def running(self, module: object) -> CallT | None:
        """The running call of a module. Calls inside it that never ended (they raised) are given up."""
        for place in range(len(self._running) - 1, -1, -1):
            if self._running[place].module is module:
                del self._running[place + 1 :]
                return self._running[place]
        return None

    def leave(self) -> None:
        self._running.pop()

    def reentered(self) -> set[Any]:
        """The modules that were called inside a call of themselves."""
        calls = self.entries
        return {call.module for call in calls if any(outer.module is call.module for outer in self._around(call))}

    def _around(self, call: CallT) -> Iterator[CallT]:
        while call.parent is not None:
            call = self.entries[call.parent]
            yield call


@contextmanager
def all_modules_watched(before: Callable[..., Any], after: Callable[..., Any]) -> Iterator[None]:
    """Call a hook before and one after each forward in this process, with the keyword arguments, also if it raises."""
    with Handles() as handles:
        handles.add(register_module_forward_pre_hook(before))
        handle = register_module_forward_hook(after, with_kwargs=True, always_call=True)
        handles.add(handle)
        try:
            yield
        finally:
            # torch forgets to, and then warns when a module is compiled in this process
            (torch_private.HOOKS_WITH_KWARGS.get() or {}).pop(handle.id, None)


@contextmanager
def logged_calls() -> Iterator[CallLog[ModuleCall]]:
    """Log the calls of all modules in this thread; nothing is put on any module."""
    log, thread = CallLog(ModuleCall), threading.get_ident()

    def before(module: nn.Module, args: object) -> None:
        if threading.get_ident() == thread:
            log.enter(module)

    def after(module: nn.Module, *given: object) -> None:
        if threading.get_ident() == thread and log.running(module) is not None:
            log.leave()

    with all_modules_watched(before, after):
        yield log
