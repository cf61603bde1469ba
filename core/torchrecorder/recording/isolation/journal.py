"""The model as it was found: what a forward may change of the objects that it reaches, kept, and put back afterwards.

A model is recorded on itself, since a forward may ask which object it is (`self.kind is FAST`, a dictionary with the
module as its key), and building a copy took longer than the forward of some models. What a forward adds, removes or
rebinds is undone by giving each module and container the objects that it held, in the same order. What it writes into
tensors is for `KeptTensors`, however the forward came by them.

Modules that no walk finds (in a global, a default argument) are kept just before they are first called.
"""

from __future__ import annotations

import array
import collections
import functools
import random
import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import is_
from types import CodeType, FunctionType, MappingProxyType, MethodType, ModuleType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy
from torch.utils.hooks import RemovableHandle

from torchrecorder.recording.isolation.kept_tensors import KeptTensors, is_same, outside_of_modes
from torchrecorder.recording.isolation.model_copy import LEADS_TO_MODEL, SHARED, is_stateful_of_numpy
from torchrecorder.recording.isolation.substitutes import is_plain, lazy_like, like
from torchrecorder.recording.scripted import script_copy
from torchrecorder.running import torch_private
from torchrecorder.running.nested import answer, dictionary, is_open, members, native_base

_T = TypeVar("_T")
_Put = Callable[[Any, Any], object]
_Keeper = Callable[["Journal", Any], Iterable[object]]
"""Keeps an object, and gives what it holds."""

_ATOMS = {*SHARED, CodeType, ModuleType, RemovableHandle, weakref.ref, torch.UntypedStorage}
"""Types whose objects hold nothing that is to be kept."""
_EMPTIED = {dict, collections.OrderedDict, set}
_REPLACED = (Tensor, torch.jit.ScriptModule)
_UNSET = object()


class Journal:
    """Keeps what is given to it as it is, and puts it back."""

    def __init__(self, *, computes: bool = True, sees_writes: bool = True) -> None:
        self._tensors = KeptTensors(computes=computes, sees_writes=sees_writes)
        self._seen: dict[int, object] = {}
        """By id, which is not used again as long as the object is in here."""
        self._dicts: list[tuple[dict[Any, Any], dict[Any, Any]]] = []
        self._empty: list[dict[Any, Any] | set[Any]] = []
        """Containers that were empty. Every module has a dozen, and following them would be most of the work."""
        self._classes: list[tuple[object, type]] = []
        self._undo: list[Callable[[], object]] = []
        self._stand_ins: dict[int, tuple[object, Any]] = {}
        self._swaps: list[tuple[Tensor, Tensor]] = []
        self._keepers: dict[type, _Keeper] = {}
        self._members: dict[type, tuple[Any, ...]] = {}

    @contextmanager
    def undone(self) -> Iterator[None]:
        """Put everything back at the end, also if the end is an exception."""
        try:
            yield
        finally:
            try:
                self.put_back()
            except BaseException:  # an interrupt: half of it must not stay
                self.put_back()
                raise

    def keep(self, obj: _T) -> _T:
        """Keep an object, and all that it leads to; gives it back, of a script module, which lives in C++, a copy."""
        if issubclass(type(obj), torch.jit.ScriptModule):
            copied: _T = self._in_place_of(obj)
            return copied
        waiting: list[object] = [obj]
        while waiting:
            item = waiting.pop()
            if id(item) not in self._seen:
                self._seen[id(item)] = item
                kind = type(item)
                keeper = self._keepers.get(kind)
                if keeper is None:
                    keeper = self._keepers[kind] = self._keeper(kind)
                waiting += keeper(self, item)
        return obj

    def has(self, obj: object) -> bool:
        """Whether an object is kept, so that it is older than the forward."""
        return self._seen.get(id(obj)) is obj

    def meet(self, module: nn.Module) -> None:
        """Keep a module that is about to run in the recording."""
        if id(module) not in self._seen:
            with outside_of_modes():
                self.keep(module)

    def meet_elsewhere(self, module: nn.Module) -> None:
        """Keep a module that is about to run in another thread, where what is written to its buffers is not seen."""
        self.meet(module)
        for buffer in module._buffers.values():
            if buffer is not None:
                self.before_write(buffer)

    def before_write(self, tensor: Tensor) -> None:
        """Keep the data of a tensor that is about to be overwritten."""
        self._tensors.before_write(tensor)

    def touch(self, tensor: Tensor) -> None:
        """Keep what autograd knows of a tensor, which is about to change."""
        with outside_of_modes():
            self._tensors.keep(tensor)

    def swapped(self, first: Tensor, second: Tensor) -> None:
        """Two tensors, which are kept, exchanged what they hold."""
        self._swaps.append((first, second))

    def put_back(self) -> None:
        """Put everything back now. What is kept stays kept."""
        swap = torch_private.SWAP.get()
        while self._swaps and swap is not None:
            swap(*self._swaps.pop())
        for held, saved in reversed(self._dicts):  # one that was met in the forward, too, gets what it held before
            if not is_same(held, saved):
                held.clear()
                held.update(saved)
        for container in self._empty:
            if container:
                container.clear()
        for obj, kind in self._classes:
            if type(obj) is not kind:
                object.__setattr__(obj, "__class__", kind)  # the class may have a `__setattr__` of its own
        failed: list[Exception] = []
        with outside_of_modes():
            for undo in (*self._undo, self._tensors.put_back):
                try:
                    undo()
                except Exception as error:  # all else is put back nonetheless
                    failed.append(error)
        if failed:
            raise failed[0]

    def _later(self, undo: Callable[..., object], *args: object) -> Iterable[object]:
        """Call this when everything is put back; gives nothing to follow."""
        self._undo.append(functools.partial(undo, *args))
        return ()

    def _keeper(self, kind: type) -> _Keeper:
        if issubclass(kind, nn.Module):
            self._keep_class(kind)
            return Journal._module
        keeper_of_base = next((keeper for base, keeper in _KEEPERS if issubclass(kind, base)), None)
        if keeper_of_base is not None:
            return keeper_of_base
        if is_stateful_of_numpy(kind):
            return Journal._numpy
        return Journal._object if is_open(kind) or issubclass(kind, _WEAK) else lambda journal, obj: ()

    def _keep_class(self, kind: type[nn.Module]) -> None:
        """Keep what the forward of a class closes over, and that the caches of its methods are empty."""
        for base in kind.__mro__:
            if base.__module__.partition(".")[0] != "torch":
                caches = [value for value in vars(base).values() if type(value) is functools._lru_cache_wrapper]
                for cache in caches:
                    if not cache.cache_info().currsize:
                        self._later(cache.cache_clear)
        forward = getattr(kind, "forward", None)
        if isinstance(forward, FunctionType):
            self.keep(forward)

    def _module(self, module: nn.Module) -> Iterable[object]:
        inside = self._object(module)
        held = dictionary(module)
        if "_compiled_call_impl" in held:
            held["_compiled_call_impl"] = None
        compiled = torch_private.optimized_module()
        if compiled is not None and isinstance(module, compiled):
            kind = type(module)
            held["forward"] = module.get_submodule("_orig_mod").__call__  # nothing is seen in compiled code
            facts = {"__call__": nn.Module.__call__, "__module__": kind.__module__, "__qualname__": kind.__qualname__}
            # A class that looks the same: the `__call__` of its own warns about hooks.
            object.__setattr__(module, "__class__", type(kind.__name__, (kind,), facts))
        return inside

    def _object(self, obj: object) -> list[object]:
        held = dictionary(obj)
        saved = held.copy()
        self._dicts.append((held, saved))
        self._classes.append((obj, type(obj)))
        inside = self._contents(saved.items(), held.__setitem__)
        kind = type(obj)
        if kind not in self._members:
            self._members[kind] = members(kind)
        for member in self._members[kind]:
            value = _slot(member, obj)
            self._later(_put_slot, member, obj, value)
            inside += self._contents([(obj, value)], member.__set__)
        return inside

    def _contents(self, items: Iterable[tuple[Any, Any]], put: _Put | None) -> list[object]:
        """The contents of an object that are to be followed; a tensor that cannot be kept gives place to a stand-in."""
        inside: list[object] = []
        keep_empty = self._empty.append
        for key, value in items:
            kind = type(value)
            if kind in _ATOMS or (kind is tuple and _is_flat(value)):
                continue
            if kind in _EMPTIED and not value:
                keep_empty(value)
                continue
            if kind is nn.Parameter or (kind is Tensor and _is_own(value)):  # a parameter is never a view
                self._tensors.keep(value)
            elif put is not None and issubclass(kind, _REPLACED):
                new = self._in_place_of(value)
                if new is not value:
                    put(key, new)
            else:
                inside.append(value)
        return inside

    def _in_place_of(self, value: Any) -> Any:
        known = self._stand_ins.get(id(value))
        if known is None:
            known = self._stand_ins[id(value)] = value, self._stand_in(value)
        return known[1]

    def _stand_in(self, value: Any) -> Any:
        if not isinstance(value, Tensor):
            return script_copy(value)
        if is_lazy(value):
            return lazy_like(value)
        if not _is_own(value) and is_plain(value):
            return like(value, value.data)
        self._tensors.keep(value)
        return value

    def _tensor(self, tensor: Tensor) -> Iterable[object]:
        self._tensors.keep(tensor)
        return ()

    def _random(self, obj: random.Random) -> Iterable[object]:
        state = answer(obj.getstate, None)  # that of the system has none
        return () if state is None else self._later(obj.setstate, state)

    def _numpy(self, obj: Any) -> Iterable[object]:
        if hasattr(obj, "bit_generator"):
            return self._later(setattr, obj.bit_generator, "state", obj.bit_generator.state)
        if hasattr(obj, "get_state"):
            return self._later(obj.set_state, obj.get_state())
        return self._later(obj.__setitem__, ..., obj.copy()) if obj.flags.writeable else ()

    def _dict(self, obj: dict[Any, Any]) -> Iterable[object]:
        if type(obj) is dict:
            saved = obj.copy()
            self._dicts.append((obj, saved))
            return () if _is_flat(saved.values()) else self._contents(saved.items(), obj.__setitem__)
        base: Any = native_base(type(obj))
        saved = dict(base.items(obj))
        self._later(_refill_dict, base, obj, saved)
        return self._container(obj, base, saved.items())

    def _sequence(self, obj: Any) -> Iterable[object]:
        """A list, deque, set, tuple or frozenset."""
        base: Any = native_base(type(obj))
        saved = [*base.__iter__(obj)]
        if (fill := getattr(base, "extend", None) or getattr(base, "update", None)) is not None:
            self._later(_refill, base, obj, saved, fill)
        return () if type(obj) is list and _is_flat(saved) else self._container(obj, base, enumerate(saved))

    def _container(self, obj: object, base: Any, items: Iterable[tuple[Any, Any]]) -> Iterable[object]:
        put = getattr(base, "__setitem__", None)
        inside = self._contents(items, None if put is None else functools.partial(put, obj))
        return inside if type(obj) is base else inside + self._object(obj)

    def _function(self, function: FunctionType) -> Iterable[object]:
        # A list or object that a function closes over is not the model's: often it collects what the function sees.
        held: list[object] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for cell in function.__closure__ or ():
            content = answer(functools.partial(getattr, cell, "cell_contents"), None)  # an empty one refuses
            if issubclass(type(content), LEADS_TO_MODEL):
                self._later(setattr, cell, "cell_contents", content)
                held.append(content)
        leading = [value for value in held if issubclass(type(value), LEADS_TO_MODEL)]
        return self._contents(enumerate((*leading, function.__dict__)), None)


class NoJournal(Journal):
    """Keeps nothing."""

    def keep(self, obj: _T) -> _T:
        return obj

    def before_write(self, tensor: Tensor) -> None:
        pass

    def touch(self, tensor: Tensor) -> None:
        pass


_WEAK = (weakref.WeakKeyDictionary, weakref.WeakValueDictionary, weakref.WeakSet)
_KEEPERS: tuple[tuple[Any, _Keeper], ...] = (
    (Tensor, Journal._tensor),
    (dict, Journal._dict),
    ((list, collections.deque, set, tuple, frozenset), Journal._sequence),
    (FunctionType, Journal._function),
    (MethodType, lambda journal, obj: (obj.__self__, obj.__func__)),
    (functools.partial, lambda journal, obj: (obj.func, obj.args, obj.keywords)),
    (MappingProxyType, lambda journal, obj: answer(lambda: [*obj.values()], [])),
    ((bytearray, array.array), lambda journal, obj: journal._later(obj.__setitem__, slice(None), obj[:])),
    (torch.Generator, lambda journal, obj: journal._later(obj.set_state, obj.get_state())),
    (random.Random, Journal._random),
)


def _is_own(tensor: Tensor) -> bool:
    """Whether what autograd knows of it, as of a result or a view, can be put back after it was overwritten."""
    return tensor.grad_fn is None and torch_private.base_of(tensor) is None


def _is_flat(values: Iterable[object]) -> bool:
    """Nothing in it is to be followed; without a loop in Python, since there may be a million items."""
    return _ATOMS.issuperset(map(type, values))


def _slot(member: Any, obj: object) -> object:
    try:
        return member.__get__(obj)
    except AttributeError:
        return _UNSET


def _put_slot(member: Any, obj: object, value: object) -> None:
    if _slot(member, obj) is not value:
        if value is _UNSET:
            member.__delete__(obj)
        else:
            member.__set__(obj, value)


def _refill_dict(base: Any, obj: dict[Any, Any], saved: dict[Any, Any]) -> None:
    """Without a `__setitem__` of the user's."""
    if not is_same(dict(base.items(obj)), saved):
        base.clear(obj)
        for key, value in saved.items():
            base.__setitem__(obj, key, value)


def _refill(base: Any, obj: Any, saved: list[Any], fill: Callable[[Any, list[Any]], object]) -> None:
    if base.__len__(obj) != len(saved) or not all(map(is_, base.__iter__(obj), saved)):
        base.clear(obj)
        fill(obj, saved)
