"""Which module was called inside which: a log that torch's global hooks fill, or the hooks of a recorder."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

from torchrecorder.running import torch_private
from torchrecorder.running.handles import Handles


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

    def after(module: nn.Module, args: object, output: object) -> None:
        if threading.get_ident() == thread and log.running(module) is not None:
            log.leave()

    with Handles() as handles:
        handles.add(register_module_forward_pre_hook(before))
        handles.add(register_module_forward_hook(after, always_call=True))
        yield log
