"""Calls through weak references, so that a hook keeps nobody alive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, cast
from weakref import ReferenceType

P = ParamSpec("P")
T = TypeVar("T")


class LazyFunc(Generic[P, T]):
    """Calls what a weak reference leads to, and gives `None` when that is gone.

    A copied or pickled one leads nowhere: it belongs to a network that nobody records.
    """

    def __init__(self, func_weak: Callable[[], Callable[P, T] | None]) -> None:
        self._func_weak = func_weak

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Call it, if it is still there."""
        func = self._func_weak()
        return None if func is None else func(*args, **kwargs)

    def is_dead(self) -> bool:
        """Whether there is nothing to call any more."""
        return self._func_weak() is None

    def __reduce__(self) -> tuple[Any, ...]:
        return _leading_nowhere, ()


def lazy_func(func_weak: ReferenceType[Callable[P, T]]) -> Callable[P, T | None]:
    """A callable that calls what `func_weak` leads to, or gives `None` when that has been garbage collected."""
    return LazyFunc(cast("Callable[[], Callable[P, T] | None]", func_weak))


def _leading_nowhere() -> LazyFunc[..., Any]:
    return LazyFunc(_nobody)


def _nobody() -> None:
    return None
