"""A stand-in for the user's model: new module objects that share its parameters' memory.

What a forward does to its module (counters, caches, running statistics, lazy parameters) happens to the stand-in and is
forgotten with it. Recording on the model itself once left fake tensors in a cache of a real model.
"""

from __future__ import annotations

import collections
import copy
import functools
import sys
import weakref
from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

Substitute = Callable[[Tensor], Tensor]


class Skeleton:
    """Copies modules and plain containers; tensors are what `substitute` makes of them, other objects are shared."""

    def __init__(self, substitute: Substitute) -> None:
        self._substitute = substitute
        self._done: dict[int, tuple[Any, Any]] = {}
        """The stand-in by the address of the original, which is kept, else its address might be used again."""
        self._slots: dict[type, list[str]] = {}
        self.modules: list[tuple[nn.Module, nn.Module]] = []
        """Each module with its stand-in."""

    def of(self, obj: Any) -> Any:
        """The stand-in of an object."""
        kind = type(obj)
        if kind in _SHARED:
            return obj
        known = self._done.get(id(obj))
        if known is not None:
            return known[0]
        copier = _COPIERS.get(kind)
        new = self._copy(obj) if copier is None else copier(self, obj)
        self._keep(obj, new)
        return new

    def _keep(self, obj: Any, new: Any) -> None:
        self._done[id(obj)] = (new, obj)

    def _copy(self, obj: Any) -> Any:
        if isinstance(obj, nn.Module):
            return self._module(obj)
        if isinstance(obj, Tensor):
            return self._substitute(obj)
        if isinstance(obj, tuple) and hasattr(obj, "_replace"):
            return type(obj)(*map(self.of, obj))
        return obj

    def _module(self, module: nn.Module) -> nn.Module:
        if isinstance(module, torch.jit.ScriptModule):
            return self._scripted(module)
        try:
            new: nn.Module = object.__new__(_eager_class(type(module)))
        except TypeError:  # a class with a base in C: it has to serve as it is
            return module
        self._keep(module, new)
        self.modules.append((module, new))
        attributes = new.__dict__
        for name, value in module.__dict__.items():
            # The containers that every module has and few use are nobody else's: most of the work, if followed.
            attributes[name] = type(value)() if name in _OWN and not value else self.of(value)
        for name in self._slots_of(type(module)):
            if hasattr(module, name):
                object.__setattr__(new, name, self.of(getattr(module, name)))
        _make_eager(new)
        return new

    def _slots_of(self, cls: type) -> list[str]:
        if cls not in self._slots:
            self._slots[cls] = _slots(cls)
        return self._slots[cls]

    def _scripted(self, module: torch.jit.ScriptModule) -> nn.Module:
        """A script module lives in C++ and can only be copied whole, tensors and all."""
        try:
            new: nn.Module = copy.deepcopy(module)
        except Exception:  # a class in C++ without a copy
            return module
        self.modules += zip(module.modules(), new.modules(), strict=True)
        return new

    def _dict(self, obj: dict[Any, Any]) -> dict[Any, Any]:
        new = obj.copy()
        self._keep(obj, new)
        for key, value in obj.items():
            new[key] = self.of(value)
        return new

    def _list(self, obj: Any) -> Any:
        new = obj.copy()
        self._keep(obj, new)
        for position, item in enumerate(obj):
            new[position] = self.of(item)
        return new

    def _items(self, obj: Any) -> Any:
        return type(obj)(map(self.of, obj))

    def _method(self, obj: MethodType) -> Any:
        return MethodType(obj.__func__, self.of(obj.__self__))

    def _partial(self, obj: functools.partial[Any]) -> Any:
        return functools.partial(self.of(obj.func), *map(self.of, obj.args), **self._dict(obj.keywords))

    def _reference(self, obj: weakref.ref[Any]) -> Any:
        """A weak reference to what has a stand-in by now (a parent, a parameter); others stay as they are."""
        known = self._done.get(id(obj()))
        return obj if known is None else weakref.ref(known[0])

    def _handle(self, obj: RemovableHandle) -> RemovableHandle:
        """The handle of a hook removes it from the copy; with the original's it would undress the user's model."""
        new = object.__new__(RemovableHandle)
        new.__setstate__(tuple(map(self.of, obj.__getstate__())))  # type: ignore[no-untyped-call]
        return new


_OWN = {name for name, value in vars(nn.Module()).items() if isinstance(value, (dict, set))}
_SHARED = {type(None), str, int, float, bool, bytes, type, torch.dtype, torch.device}

_COPIERS: dict[type, Callable[[Skeleton, Any], Any]] = {
    dict: Skeleton._dict,
    collections.OrderedDict: Skeleton._dict,
    collections.defaultdict: Skeleton._dict,
    list: Skeleton._list,
    collections.deque: Skeleton._list,
    tuple: Skeleton._items,
    set: Skeleton._items,
    frozenset: Skeleton._items,
    MethodType: Skeleton._method,
    functools.partial: Skeleton._partial,
    RemovableHandle: Skeleton._handle,
    weakref.ref: Skeleton._reference,
}


def _slots(cls: type) -> list[str]:
    found: list[str] = []
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        found += [slots] if isinstance(slots, str) else slots
    return [name for name in found if name not in ("__dict__", "__weakref__")]


def _compiled_class() -> type[nn.Module] | None:
    """The class of `torch.compile(module)`, unless nobody has loaded the compiler (which takes seconds)."""
    loaded = sys.modules.get("torch._dynamo.eval_frame")
    return getattr(loaded, "OptimizedModule", None)


def _eager_class(cls: type[nn.Module]) -> type[nn.Module]:
    """The class itself; for a compiled module one that looks the same and does not warn about hooks."""
    if cls is not _compiled_class():
        return cls
    facts = {"__call__": nn.Module.__call__, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (cls,), facts)


def _make_eager(module: nn.Module) -> None:
    """Let a compiled module call the stand-in of the one it compiles: its own `forward` holds the original."""
    if "_compiled_call_impl" in module.__dict__:
        module.__dict__["_compiled_call_impl"] = None
    compiled = _compiled_class()
    if compiled is not None and isinstance(module, compiled):
        module.__dict__["forward"] = module.get_submodule("_orig_mod").__call__
