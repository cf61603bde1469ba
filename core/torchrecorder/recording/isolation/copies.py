"""Copying containers, bound methods and random generators, with their contents."""

from __future__ import annotations

import collections
import copy
import functools
import random
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, FunctionType, MappingProxyType, MethodType, SimpleNamespace
from typing import Any, Protocol, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.running.nested import empty_like
from torchrecorder.running.objects import dictionary, native_base

_T = TypeVar("_T")


class Copies(Protocol):
    """Copies objects and memoises the copies."""

    def of(self, obj: _T) -> _T: ...

    def keep(self, obj: object, new: object) -> None: ...

    def known(self, obj: _T) -> _T | None: ...

    def attributes(self, obj: object, new: object) -> None: ...


Copier = Callable[[Any, Any], Any]
"""Makes the copy of an object, with the help of a `Copies`."""

SHARED = {
    *(type(None), str, int, float, complex, bool, bytes, type, range, BuiltinFunctionType),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, type(Ellipsis)),
}
"""Types whose objects are immutable or global."""


def container_copier(kind: type) -> Copier | None:
    """A copier for objects of a class derived from a container: of their items, and their attributes."""
    for base, copier in _DERIVED:
        if issubclass(kind, base):
            return copier
    return _cloned if is_stateful_of_numpy(kind) else None


def is_stateful_of_numpy(kind: type) -> bool:
    """Whether it is an array, or draws random numbers; by name, since numpy is not imported for it."""
    return kind.__name__ in ("ndarray", "Generator", "RandomState") and kind.__module__.partition(".")[0] == "numpy"


def _dict(copies: Copies, obj: dict[object, object]) -> dict[object, object]:
    new = obj.copy()
    copies.keep(obj, new)
    for key, value in obj.items():
        new[key] = copies.of(value)
    return new


def _list(copies: Copies, obj: list[object]) -> list[object]:
    new = obj.copy()
    copies.keep(obj, new)
    for position, item in enumerate(obj):
        new[position] = copies.of(item)
    return new


def _function(copies: Copies, obj: FunctionType) -> FunctionType:
    """The function itself; if it closes over a part of a model, one that closes over the copy."""
    cells = obj.__closure__
    if not cells or not any(_leads_to_model(cell) for cell in cells):
        return obj
    given = tuple(CellType() if _leads_to_model(cell) else cell for cell in cells)
    new = FunctionType(obj.__code__, obj.__globals__, obj.__name__, obj.__defaults__, given)
    new.__kwdefaults__, new.__qualname__, new.__module__ = obj.__kwdefaults__, obj.__qualname__, obj.__module__
    new.__dict__.update(obj.__dict__)
    copies.keep(obj, new)
    for cell, copied in zip(cells, given, strict=True):
        if copied is not cell:
            copied.cell_contents = copies.of(cell.cell_contents)
    return new


LEADS_TO_MODEL = (nn.Module, Tensor, MethodType, FunctionType, functools.partial)
"""What is followed of what a function closes over."""


def _leads_to_model(cell: CellType) -> bool:
    try:
        return issubclass(type(cell.cell_contents), LEADS_TO_MODEL)
    except ValueError:  # empty
        return False


def _handle(copies: Copies, obj: RemovableHandle) -> RemovableHandle:
    """The handle of a hook removes it from the copy; that of the original would remove the user's hook."""
    new = object.__new__(RemovableHandle)
    new.__setstate__(tuple(map(copies.of, obj.__getstate__())))  # type: ignore[no-untyped-call]
    return new


def _cloned(copies: Copies, obj: _T) -> _T:
    try:
        return copy.deepcopy(obj)
    except Exception:  # an array of objects that cannot be copied
        return obj


def _namespace(copies: Copies, obj: SimpleNamespace) -> SimpleNamespace:
    new = SimpleNamespace()
    copies.keep(obj, new)
    copies.attributes(obj, new)
    return new


def _derived_dict(copies: Copies, obj: dict[object, object]) -> dict[object, object]:
    base, new = empty_like(obj)
    copies.keep(obj, new)
    pairs: dict[int, tuple[object, object]] = {}
    for key, value in base.items(obj):
        item = copies.of(value)
        base.__setitem__(new, key, item)
        pairs[id(value)] = (value, item)
    copies.attributes(obj, new)
    for name, value in dictionary(obj).items():  # an item that is an attribute as well has one copy
        if id(value) in pairs:
            dictionary(new)[name] = pairs[id(value)][1]
    return new


def _derived_sequence(copies: Copies, obj: list[object] | tuple[object, ...]) -> object:
    base: Any = native_base(type(obj))
    if isinstance(obj, tuple):
        new = base.__new__(type(obj), tuple(map(copies.of, tuple.__iter__(obj))))
    else:
        new = base.__new__(type(obj))
        copies.keep(obj, new)
        list.extend(new, map(copies.of, list.__iter__(obj)))
    copies.attributes(obj, new)
    return new


COPIERS: dict[type, Copier] = {
    dict: _dict,
    collections.OrderedDict: _dict,
    collections.defaultdict: _dict,
    list: _list,
    collections.deque: _list,
    **dict.fromkeys((tuple, set, frozenset), lambda copies, obj: type(obj)(map(copies.of, obj))),
    FunctionType: _function,
    MethodType: lambda copies, obj: MethodType(obj.__func__, copies.of(obj.__self__)),
    functools.partial: lambda copies, obj: functools.partial(
        copies.of(obj.func),
        *map(copies.of, obj.args),
        **{name: copies.of(value) for name, value in obj.keywords.items()},
    ),
    RemovableHandle: _handle,
    # A reference to what has been copied by now (a parent, a parameter); others stay as they are.
    weakref.ref: lambda copies, obj: obj if (known := copies.known(obj())) is None else weakref.ref(known),
    torch.Generator: lambda copies, obj: obj.clone_state(),  # the user's own does not move
    random.Random: _cloned,
    SimpleNamespace: _namespace,
    MappingProxyType: lambda copies, obj: MappingProxyType({key: copies.of(value) for key, value in obj.items()}),
}

_DERIVED: tuple[tuple[type | tuple[type, ...], Copier], ...] = (
    (dict, _derived_dict),
    ((list, tuple), _derived_sequence),
)
