"""Copying containers, bound methods and random generators, with their contents."""

from __future__ import annotations

import collections
import copy
import functools
import random
import weakref
from collections.abc import Callable
from types import BuiltinFunctionType, CellType, FunctionType, MappingProxyType, MethodType, SimpleNamespace
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.running.objects import dictionary


class Copies(Protocol):
    """Copies objects and memoises the copies."""

    def of(self, obj: Any) -> Any:
        """The copy of an object."""
        ...

    def keep(self, obj: Any, new: Any) -> None:
        """Register the copy of an object."""
        ...

    def known(self, obj: Any) -> Any:
        """The copy of an object that has been copied already, else None."""
        ...

    def attributes(self, obj: Any, new: Any) -> None:
        """Copy what the object holds besides its items."""
        ...


Copier = Callable[[Any, Any], Any]
"""Makes the copy of an object, with the help of a `Copies`."""

SHARED = {
    *(type(None), str, int, float, complex, bool, bytes, type, range, BuiltinFunctionType),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, type(Ellipsis)),
}
"""Types whose objects are immutable or global."""


def container_copier(kind: type) -> Copier | None:
    """How objects of a class derived from a container are copied: their items, and their attributes."""
    for base, copier in _DERIVED:
        if issubclass(kind, base):
            return copier
    return _cloned if _is_of_numpy(kind) else None


def _dict(copies: Copies, obj: dict[Any, Any]) -> dict[Any, Any]:
    new = obj.copy()
    copies.keep(obj, new)
    for key, value in obj.items():
        new[key] = copies.of(value)
    return new


def _list(copies: Copies, obj: Any) -> Any:
    new = obj.copy()
    copies.keep(obj, new)
    for position, item in enumerate(obj):
        new[position] = copies.of(item)
    return new


def _items(copies: Copies, obj: Any) -> Any:
    return type(obj)(map(copies.of, obj))


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


def _leads_to_model(cell: CellType) -> bool:
    try:
        return isinstance(cell.cell_contents, (nn.Module, Tensor, MethodType, FunctionType, functools.partial))
    except ValueError:  # empty
        return False


def _method(copies: Copies, obj: MethodType) -> Any:
    return MethodType(obj.__func__, copies.of(obj.__self__))


def _partial(copies: Copies, obj: functools.partial[Any]) -> Any:
    keywords = {name: copies.of(value) for name, value in obj.keywords.items()}
    return functools.partial(copies.of(obj.func), *map(copies.of, obj.args), **keywords)


def _reference(copies: Copies, obj: weakref.ref[Any]) -> Any:
    """A weak reference to what has been copied by now (a parent, a parameter); others stay as they are."""
    known = copies.known(obj())
    return obj if known is None else weakref.ref(known)


def _handle(copies: Copies, obj: RemovableHandle) -> RemovableHandle:
    """The handle of a hook removes it from the copy; that of the original would remove the user's hook."""
    new = object.__new__(RemovableHandle)
    new.__setstate__(tuple(map(copies.of, obj.__getstate__())))  # type: ignore[no-untyped-call]
    return new


def _generator(copies: Copies, obj: torch.Generator) -> torch.Generator:
    """A generator in the same state; the user's own does not move."""
    return obj.clone_state()


def _cloned(copies: Copies, obj: Any) -> Any:
    try:
        return copy.deepcopy(obj)
    except Exception:  # an array of objects that cannot be copied
        return obj


def _namespace(copies: Copies, obj: SimpleNamespace) -> SimpleNamespace:
    new = SimpleNamespace()
    copies.keep(obj, new)
    copies.attributes(obj, new)
    return new


def _proxy(copies: Copies, obj: MappingProxyType[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType({key: copies.of(value) for key, value in obj.items()})


def _derived_dict(copies: Copies, obj: Any) -> Any:
    """A dictionary of a class of its own (a ModelOutput): neither its constructor nor its `__setitem__` is run."""
    base: Any = collections.OrderedDict if isinstance(obj, collections.OrderedDict) else dict
    new = base.__new__(type(obj))
    if isinstance(obj, collections.defaultdict):
        new.default_factory = obj.default_factory
    copies.keep(obj, new)
    pairs: dict[int, tuple[Any, Any]] = {}
    for key, value in base.items(obj):
        item = copies.of(value)
        base.__setitem__(new, key, item)
        pairs[id(value)] = (value, item)
    copies.attributes(obj, new)
    for name, value in dictionary(obj).items():  # an item that is an attribute as well has one copy
        if id(value) in pairs:
            dictionary(new)[name] = pairs[id(value)][1]
    return new


def _derived_list(copies: Copies, obj: Any) -> Any:
    new = list.__new__(type(obj))
    copies.keep(obj, new)
    list.extend(new, map(copies.of, list.__iter__(obj)))
    copies.attributes(obj, new)
    return new


def _derived_tuple(copies: Copies, obj: Any) -> Any:
    items = tuple(map(copies.of, tuple.__iter__(obj)))
    try:
        new = tuple.__new__(type(obj), items)
    except TypeError:  # a class in C, such as those of torch.return_types
        return type(obj)(items)
    copies.attributes(obj, new)
    return new


COPIERS: dict[type, Copier] = {
    dict: _dict,
    collections.OrderedDict: _dict,
    collections.defaultdict: _dict,
    list: _list,
    collections.deque: _list,
    tuple: _items,
    set: _items,
    frozenset: _items,
    FunctionType: _function,
    MethodType: _method,
    functools.partial: _partial,
    RemovableHandle: _handle,
    weakref.ref: _reference,
    torch.Generator: _generator,
    random.Random: _cloned,
    SimpleNamespace: _namespace,
    MappingProxyType: _proxy,
}

_DERIVED: tuple[tuple[type, Copier], ...] = ((dict, _derived_dict), (list, _derived_list), (tuple, _derived_tuple))


def _is_of_numpy(kind: type) -> bool:
    """Whether it is a class of numpy's with a state of its own; numpy is not imported for it."""
    own = ("ndarray", "Generator", "RandomState")
    return kind.__module__.partition(".")[0] == "numpy" and kind.__name__ in own
