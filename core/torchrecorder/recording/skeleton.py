"""A stand-in for the user's model: new module objects that share its parameters' memory.

What a forward does to its module (counters, caches, running statistics, lazy parameters) happens to the stand-in and is
forgotten with it. Recording on the model itself once left fake tensors in a cache of a real model.
"""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.recording.copies import COPIERS, SHARED, Copier, container_copier
from torchrecorder.recording.substitutes import Substitute
from torchrecorder.running import torch_private
from torchrecorder.running.objects import dictionary, is_open, members

_DEEPEST = 60
"""Objects that hold one another in a chain longer than this (a linked list) are shared from there on."""


class Skeleton:
    """Copies modules, containers and the user's own objects; tensors are what `substitute` makes of them.

    What is left, functions and objects of other people's machinery, is shared.
    """

    def __init__(self, substitute: Substitute) -> None:
        self._substitute = substitute
        self._done: dict[int, tuple[Any, Any]] = {}
        """The stand-in by the address of the original, which is kept, else its address might be used again."""
        self._depth = 0
        self.modules: list[tuple[nn.Module, nn.Module]] = []
        """Each module with its stand-in."""

    def of(self, obj: Any) -> Any:
        """The stand-in of an object."""
        kind = type(obj)
        if kind in SHARED:
            return obj
        known = self._done.get(id(obj))
        if known is not None:
            return known[0]
        copier: Copier | None = COPIERS.get(kind)
        new = self._copy(kind, obj) if copier is None else copier(self, obj)
        self.keep(obj, new)
        return new

    def keep(self, obj: Any, new: Any) -> None:
        """Let an object have this stand-in; said before what is in it is copied, since that may lead back to it."""
        self._done[id(obj)] = (new, obj)

    def known(self, obj: Any) -> Any:
        """The stand-in of an object that has one already; None, if it has none."""
        found = self._done.get(id(obj))
        return None if found is None else found[0]

    def attributes(self, obj: Any, new: Any) -> None:
        """Give the stand-in what the object holds, without running code of its class."""
        held, given = dictionary(obj), dictionary(new)
        for name, value in held.items():
            given[name] = self.of(value)
        self._slots(obj, new)

    def _slots(self, obj: Any, new: Any) -> None:
        for member in members(type(obj)):
            try:
                value = member.__get__(obj)
            except AttributeError:  # not set
                continue
            member.__set__(new, self.of(value))

    def _copy(self, kind: type, obj: Any) -> Any:
        if issubclass(kind, nn.Module):
            return self._module(obj)
        if issubclass(kind, Tensor):
            return self._substitute(obj)
        copier = container_copier(kind)
        if copier is not None:
            return copier(self, obj)
        return self._object(obj) if is_open(kind) and self._depth < _DEEPEST else self._shared(obj)

    def _object(self, obj: Any) -> Any:
        try:
            new = object.__new__(type(obj))  # not its own `__new__`, which may give the one instance there is
        except TypeError:  # a base in C
            return self._shared(obj)
        self.keep(obj, new)
        self._depth += 1
        self.attributes(obj, new)
        self._depth -= 1
        return new

    def _shared(self, obj: Any) -> Any:
        """What is not looked into."""
        return obj

    def _module(self, module: nn.Module) -> nn.Module:
        if isinstance(module, torch.jit.ScriptModule):
            return self._scripted(module)
        try:
            new: nn.Module = object.__new__(_eager_class(type(module)))
        except TypeError:  # a class with a base in C: it has to serve as it is
            return module
        self.keep(module, new)
        self.modules.append((module, new))
        attributes = new.__dict__
        for name, value in module.__dict__.items():
            # The containers that every module has and few use are nobody else's: most of the work, if followed.
            attributes[name] = type(value)() if name in _OWN and not value else self.of(value)
        self._slots(module, new)
        _make_eager(new)
        return new

    def _scripted(self, module: torch.jit.ScriptModule) -> nn.Module:
        """A script module lives in C++ and can only be copied whole, tensors and all."""
        try:
            new: nn.Module = copy.deepcopy(module)
        except Exception:  # a class in C++ without a copy
            return module
        self.modules += zip(module.modules(), new.modules(), strict=True)
        return new


_OWN = {name for name, value in vars(nn.Module()).items() if isinstance(value, (dict, set))}


def _eager_class(cls: type[nn.Module]) -> type[nn.Module]:
    """The class itself; for a compiled module one that looks the same and does not warn about hooks."""
    if cls is not torch_private.optimized_module():
        return cls
    facts = {"__call__": nn.Module.__call__, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (cls,), facts)


def _make_eager(module: nn.Module) -> None:
    """Let a compiled module call the stand-in of the one it compiles: its own `forward` holds the original."""
    if "_compiled_call_impl" in module.__dict__:
        module.__dict__["_compiled_call_impl"] = None
    compiled = torch_private.optimized_module()
    if compiled is not None and isinstance(module, compiled):
        module.__dict__["forward"] = module.get_submodule("_orig_mod").__call__
