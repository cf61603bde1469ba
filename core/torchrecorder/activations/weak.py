"""Calls through weak references."""

from __future__ import annotations

from collections.abc import Callable
from typing import ParamSpec, TypeVar
from weakref import ReferenceType

P = ParamSpec("P")
T = TypeVar("T")


def lazy_func(func_weak: ReferenceType[Callable[P, T]]) -> Callable[P, T | None]:
    """A callable that calls what `func_weak` leads to, or gives `None` when that has been garbage collected."""

    def call(*args: P.args, **kwargs: P.kwargs) -> T | None:
        func = func_weak()
        return None if func is None else func(*args, **kwargs)

    return call
