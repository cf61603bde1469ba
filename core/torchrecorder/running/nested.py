"""The one walk over nested values: arguments, results and attributes that hold tensors somewhere inside.

Containers are followed by type (mappings, sequences, dataclasses). Other objects are opened only on request, because
an attribute of some object may lead anywhere; and then no code of the class is run: an attribute may be a property that
raises, `__getattr__` may answer to any name, and `__class__` may lie. What an object holds is what Python stored in its
`__dict__` and its slots.
"""

from __future__ import annotations

import copy
import dataclasses
import enum
import sys
import weakref
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MemberDescriptorType, SimpleNamespace
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

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

_HEAP = 1 << 9  # the flag of classes that were made by a `class` statement, as opposed to those written in C

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


_DEPTH = 8  # levels that are followed; also what ends a walk through a structure that contains itself

_Wanted = TypeVar("_Wanted")

Items = Iterable[tuple[object, object]]
Opens = Callable[[object], Items]
"""Gives the items of what is not a container, with their keys; none, if it is left closed."""

_PLAIN = (str, bytes, int, float, complex, type, type(None), nn.Module, torch.dtype, torch.device)

_NO_CONTAINER = {int, float, str, bool, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format}


def tensors_in(items: Iterable[Any], tensors: list[Tensor]) -> list[Tensor]:
    """Append the tensors among the arguments of an operation to `tensors`, and give it back.

    Operations take tensors, lists of them and slices only. It runs for each of them, hence the order of the tests, and
    hence a walk of its own.
    """
    for item in items:
        kind = type(item)
        if kind is Tensor or (kind not in _NO_CONTAINER and issubclass(kind, Tensor)):
            tensors.append(item)
        elif kind in _NO_CONTAINER:
            continue
        elif kind is tuple or kind is list:
            if not _NO_CONTAINER.issuperset(map(type, item)):  # as those of sizes and strides are
                tensors_in(item, tensors)
        elif issubclass(kind, (tuple, list)):
            tensors_in(native_items(item), tensors)
        elif issubclass(kind, dict):
            tensors_in(dict.values(item), tensors)
        elif kind is slice:
            tensors_in((item.start, item.stop, item.step), tensors)
    return tensors


def named_tensors(
    obj: object, path: str = "", *, objects: bool = False, private: bool = True
) -> Iterator[tuple[str, Tensor]]:
    """Each tensor in `obj` with its path, `states.0`; that of `obj` itself is `path`.

    With `objects`, also in sets and in the attributes of objects that are not containers, such as caches of keys and
    values; with `private`, also in those that begin with `_` where others hold tensors.
    """
    return walk(obj, Tensor, _opens_objects(private) if objects else None, path)


def named(
    obj: object, wanted: type[_Wanted], path: str = "", *, objects: bool = False
) -> Iterator[tuple[str, _Wanted]]:
    """Objects of another class, as `named_tensors`."""
    return walk(obj, wanted, _opens_objects() if objects else None, path)


def walk(
    obj: object,
    wanted: type[_Wanted],
    opens: Opens | None,
    path: str = "",
    depth: int = _DEPTH,
    above: tuple[int, ...] = (),
) -> Iterator[tuple[str, _Wanted]]:
    """Each object of a class in nested values, with its path.

    `opens` opens what is not a container; `above` are the `id`s of those that `obj` is in: a list may hold itself.
    """
    kind = type(obj)  # not `isinstance`, which asks an object for its `__class__`
    if issubclass(kind, wanted):
        yield path, obj  # type: ignore[misc]
    elif depth and not issubclass(kind, _PLAIN) and id(obj) not in above:
        inside = (*above, id(obj))
        for key, item in items_of(obj, opens):
            if type(item) not in _NO_CONTAINER:
                name = key if type(key) is str else answer(lambda key=key: str(key), type(key).__name__)  # type: ignore[misc]
                inner = f"{path}.{name}" if path else name
                yield from walk(item, wanted, opens, inner, depth - 1, inside)


def items_of(obj: Any, opens: Opens | None = None) -> Items:
    """Items of a container, each with its key: a name or a position."""
    kind = type(obj)
    if kind is tuple or kind is list:  # nearly always
        return enumerate(obj)
    if issubclass(kind, dict):
        base: Any = native_base(kind)
        return base.items(obj)  # type: ignore[no-any-return]
    if issubclass(kind, (list, tuple)):
        names = getattr(kind, "_fields", None) if issubclass(kind, tuple) else None
        return enumerate(native_items(obj)) if names is None else zip(names, native_items(obj), strict=False)
    if issubclass(kind, Mapping):
        return answer(lambda: [*obj.items()], [])
    if dataclasses.is_dataclass(kind):
        held = dict(attributes(obj))
        return [(field.name, held.get(field.name)) for field in dataclasses.fields(kind)]
    if issubclass(kind, SimpleNamespace):
        return dictionary(obj).items()
    return () if opens is None else opens(obj)


def _opens_objects(private: bool = True) -> Opens:
    opened: dict[int, object] = {}

    def opens(obj: object) -> Items:
        if issubclass(type(obj), (deque, set, frozenset)):
            return enumerate(native_items(obj))
        # Objects may know one another: a tree's nodes, parent and child.
        if not is_open(type(obj)) or id(obj) in opened:
            return ()
        opened[id(obj)] = obj
        return _keyed(obj) or (attributes(obj) if private else _public(obj))

    return opens


def _public(obj: object) -> Items:
    """The attributes of an object that do not begin with `_`; all of them, if its tensors are in the others only."""
    everything = [*attributes(obj)]
    public = [(name, item) for name, item in everything if not name.startswith("_")]
    return public if any(isinstance(item, Tensor) for _, item in public) else everything


def _keyed(obj: Any) -> list[tuple[object, object]]:
    """The items of what can be asked like a mapping without being one (a graph that holds its tensors by name)."""
    if not (hasattr(type(obj), "keys") and hasattr(type(obj), "__getitem__")):
        return []
    # It may be something else, and then the attributes say as much.
    return answer(lambda: [(key, obj[key]) for key in obj.keys()], [])  # noqa: SIM118 - it is not a mapping


def map_tensors(obj: object, change: Callable[[Tensor], Tensor], *, depth: int = _DEPTH) -> Any:
    """`obj` with each tensor replaced by `change` of it; containers in which nothing changed stay the same object."""
    if issubclass(type(obj), Tensor):
        return change(obj)  # type: ignore[arg-type]
    if not depth or issubclass(type(obj), _PLAIN):
        return obj
    changed = {}
    for key, item in items_of(obj):
        new = map_tensors(item, change, depth=depth - 1)
        if new is not item:
            changed[key] = new
    return rebuilt(obj, changed) if changed else obj


def rebuilt(obj: Any, changed: Mapping[Any, object]) -> object:
    """A container of the same class with other items under some keys; `obj` itself, if its class allows no copy.

    The constructor is not run: it may want other arguments than the items, compute, or refuse.
    """
    try:
        cls = type(obj)
        if issubclass(cls, dict):
            kind, new = empty_like(obj)
            for key, item in kind.items(obj):
                kind.__setitem__(new, key, changed.get(key, item))
        elif issubclass(cls, (list, tuple)):
            items = [changed.get(key, item) for key, item in items_of(obj)]
            base: Any = native_base(cls)
            new = base.__new__(cls, items)
            if issubclass(cls, list):
                base.extend(new, items)
        elif issubclass(cls, Mapping):
            try:
                new = copy.copy(obj)
                for key, item in changed.items():
                    new[key] = item
                return new
            except TypeError:  # it cannot be written to
                return type(obj)({**obj, **changed})
        else:
            new = copy.copy(obj)
            for name, item in changed.items():
                object.__setattr__(new, name, item)
            return new
        replaced = {id(item): changed[key] for key, item in items_of(obj) if key in changed}
        for name, value in attributes(obj):  # an item may be an attribute as well, as in a ModelOutput
            object.__setattr__(new, name, replaced.get(id(value), value))
    except Exception:  # it is the user's class, and a forward must not fail because it is recorded
        return obj
    return new


def empty_like(obj: dict[object, object]) -> tuple[type[dict[object, object]], dict[object, object]]:
    """An empty dictionary of the same class and the base that fills it: no constructor or `__setitem__` of a user."""
    base: type[dict[object, object]] = native_base(type(obj))
    new = base.__new__(type(obj))
    if isinstance(obj, defaultdict):
        new.default_factory = obj.default_factory  # type: ignore[attr-defined]
    return base, new
