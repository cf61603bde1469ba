"""Objects that are neither tensors nor containers: which of them are looked into, and what they hold.

Nothing here runs code of the class: an attribute of some object may be a property that raises, `__getattr__` may answer
to any name, and `__class__` may lie. What an object holds is what Python stored in its `__dict__` and its slots.
"""

from __future__ import annotations

import enum
import sys
import weakref
from collections.abc import Callable, Iterator
from types import MemberDescriptorType
from typing import Any, Generic, TypeVar

KeyT = TypeVar("KeyT")
FactT = TypeVar("FactT")
AnswerT = TypeVar("AnswerT")


def answer(question: Callable[[], AnswerT], otherwise: AnswerT) -> AnswerT:
    """Answer of an object of the user's where it has to be asked; `otherwise`, if it refuses."""
    try:
        return question()
    except Exception:
        return otherwise


class ByIdentity(Generic[KeyT, FactT]):
    """Facts of objects, forgotten with them. They are not compared: two equal code objects may lie in two files."""

    def __init__(self) -> None:
        self._held: dict[int, tuple[weakref.ref[KeyT], FactT]] = {}

    def get(self, obj: KeyT) -> FactT | None:
        held = self._held.get(id(obj))
        return None if held is None or held[0]() is not obj else held[1]

    def put(self, obj: KeyT, fact: FactT) -> None:
        """Keep what must not hold the object itself."""
        key, held = id(obj), self._held

        def forget(ref: weakref.ref[KeyT]) -> None:
            if held.get(key, (None,))[0] is ref:
                del held[key]

        held[key] = weakref.ref(obj, forget), fact


_OPEN_OF_STDLIB = {
    *(("types", "SimpleNamespace"), ("argparse", "Namespace")),
    *(("collections", "UserDict"), ("collections", "UserList"), ("collections", "ChainMap")),
}
"""Classes of the standard library that hold whatever their user likes."""

_OPEN_OF_TORCH = ("torch.distributions.", "torch.nn.", "torch.optim.", "torch.distributed.fsdp.")
"""Parts of torch whose objects hold tensors; others hold the graph of a compiler, a profiler, a process group."""

_HEAP = 1 << 9
"""The flag of classes that were made by a `class` statement, as opposed to those written in C."""


_known: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def is_open(cls: type) -> bool:
    """Whether objects of the class are looked into: it is written in Python, and a user's own."""
    is_known_open = _known.get(cls)
    if is_known_open is None:
        is_known_open = _known[cls] = _is_open(cls)
    return is_known_open


def _is_open(cls: type) -> bool:
    if (cls.__module__, cls.__qualname__) in _OPEN_OF_STDLIB:
        return True
    package = cls.__module__.partition(".")[0]
    if package == "torch" and not cls.__module__.startswith(_OPEN_OF_TORCH):
        return False
    if package in sys.stdlib_module_names or issubclass(cls, (enum.Enum, type)):
        return False
    # What has a finalizer owns something that must not be let go twice.
    return not hasattr(cls, "__del__") and all(base is object or base.__flags__ & _HEAP for base in cls.__mro__)


def native_items(obj: Any) -> Iterator[Any]:
    """Items that Python stored in a sequence or set, or the keys of a dictionary, whatever its class makes of that."""
    items: Iterator[Any] = native_base(type(obj)).__iter__(obj)  # type: ignore[attr-defined]
    return items


def native_base(cls: type) -> type:
    """The nearest base of a class that is written in C, or the class itself."""
    return next(base for base in cls.__mro__ if not base.__flags__ & _HEAP)


def attributes(obj: object) -> Iterator[tuple[str, object]]:
    yield from dictionary(obj).items()
    for member in members(type(obj)):
        try:
            yield member.__name__, member.__get__(obj)
        except AttributeError:  # not set
            continue


def dictionary(obj: object) -> dict[str, Any]:
    try:
        held = object.__getattribute__(obj, "__dict__")
    except AttributeError:
        return {}
    return held if isinstance(held, dict) else {}


def members(cls: type) -> tuple[MemberDescriptorType, ...]:
    return tuple(
        member
        for base in cls.__mro__
        if "__slots__" in vars(base)
        for member in vars(base).values()
        if type(member) is MemberDescriptorType and member.__name__ not in ("__dict__", "__weakref__")
    )
