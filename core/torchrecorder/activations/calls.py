"""The calls of a network's modules, as a tree: what torchinfo's rows do not tell."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from torch import nn

from torchrecorder.activations.rows import Table
from torchrecorder.running import Handles


@dataclass(eq=False)
class Call:
    """A call of a module, and the calls that it made."""

    module: nn.Module
    inner: list[Call] = field(default_factory=list)


@contextmanager
def observed(net: nn.Module) -> Iterator[list[Call]]:
    """The calls of the modules below `net` while the context is open, as a tree: the calls from outside of it."""
    top: list[Call] = []
    stack: list[Call] = []

    def before(module: nn.Module, args: Any) -> None:
        call = Call(module)
        (stack[-1].inner if stack else top).append(call)
        stack.append(call)

    def after(module: nn.Module, args: Any, output: Any) -> None:
        stack.pop()

    with Handles() as handles:
        for module in net.modules():
            handles.add(module.register_forward_pre_hook(before))
            handles.add(module.register_forward_hook(after, always_call=True))
        yield top


def in_order(calls: list[Call]) -> Iterator[Call]:
    """The calls and those below them, in the order in which they began."""
    for call in calls:
        yield call
        yield from in_order(call.inner)


def reentered(calls: list[Call], outer: frozenset[nn.Module] = frozenset()) -> set[nn.Module]:
    """The modules that were called inside a call of themselves."""
    found: set[nn.Module] = set()
    for call in calls:
        found |= {call.module} & outer
        found |= reentered(call.inner, outer | {call.module})
    return found


def mark_calls(table: Table, calls: list[Call]) -> None:
    """Say of the rows of calls that they are.

    torchinfo says so of the last call that began, so calls that another one of the same module goes on in look like
    containers that nobody called.
    """
    begun = in_order(calls)
    next_one = next(begun, None)
    for row in table.summary_list:
        if next_one is not None and row.module is next_one.module:
            row.executed = True
            next_one = next(begun, None)
