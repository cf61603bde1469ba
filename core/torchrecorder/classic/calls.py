"""What was called, in what order, inside what: a recorder's nodes say it once per module, a Graph once per call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torchrecorder.nodes import TensorNode


@dataclass(slots=True)
class ClassicCall:
    """One run of a module's forward."""

    id: int
    module: Any
    parent: int | None
    inputs: list[TensorNode] = field(default_factory=list)
    outputs: list[TensorNode] = field(default_factory=list)
    is_training: bool = False
    ok: bool = False
    """Whether it returned."""
    given: list[tuple[Any, Any]] | None = None
    """Pairs of an argument and the tensor that the module got in its place, while it runs."""


class CallLog:
    """The calls of one recording and those that still run."""

    def __init__(self) -> None:
        self.rows: list[ClassicCall] = []
        self.call_of: dict[int, int] = {}
        """By `id` of an operation's node: the call it happened in."""
        self._running: list[ClassicCall] = []

    @property
    def current(self) -> ClassicCall | None:
        """The innermost call that runs."""
        return self._running[-1] if self._running else None

    def enter(self, module: Any) -> ClassicCall:
        """A call begins."""
        parent = None if self.current is None else self.current.id
        call = ClassicCall(len(self.rows), module, parent, is_training=module.training)
        self.rows.append(call)
        self._running.append(call)
        return call

    def running(self, module: Any) -> ClassicCall | None:
        """The running call of a module. Calls inside it that never ended (they raised) are given up."""
        if self._running and self._running[-1].module is module:
            return self._running[-1]
        if any(call.module is module for call in self._running):
            while self._running[-1].module is not module:
                self._running.pop()
            return self._running[-1]
        return None

    def innermost(self, modules: Sequence[Any]) -> ClassicCall | None:
        """The innermost running call of one of the modules."""
        running = reversed(self._running)
        return next((call for call in running if any(call.module is module for module in modules)), None)

    def resume(self, call: ClassicCall) -> None:
        """A call that was suspended goes on."""
        self._running.append(call)

    def suspend(self) -> None:
        """The innermost call waits, until it is resumed."""
        self._running.pop()

    def leave(self) -> None:
        """The innermost call ends."""
        if self._running:
            call = self._running.pop()
            call.ok = True
            call.given = None

    def note(self, node: Any) -> None:
        """An operation was found while the innermost call runs."""
        if self._running:
            self.call_of[id(node)] = self._running[-1].id
