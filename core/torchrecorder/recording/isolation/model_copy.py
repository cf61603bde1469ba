"""A copy of the model, which runs on tensors without data, and copies of the arguments, which every forward gets.

What a forward does to its module (counters, caches, running statistics, lazy parameters) happens to the copy and is
forgotten with it. Recording on the model itself once left fake tensors in a cache of a real model. Tensors among the
arguments are copied wherever they are: in containers, in caches and in other objects.
"""

from __future__ import annotations

import collections
import copy
import functools
import itertools
import random
import weakref
from collections.abc import Callable, Iterator
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GeneratorType,
    MappingProxyType,
    MethodType,
    SimpleNamespace,
)
from typing import Any, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from torchrecorder.recording.isolation.substitutes import Substitute
from torchrecorder.recording.scripted import script_copy
from torchrecorder.running.nested import answer, dictionary, empty_like, is_open, members, native_base

_DEEPEST = 60
"""Objects that hold one another in a chain longer than this (a linked list) are shared from there on."""

_T = TypeVar("_T")


class ModelCopy:
    """Copies modules, containers and the user's own objects; tensors are what `substitute` makes of them.

    Functions and objects of other libraries are shared.
    """

    def __init__(self, substitute: Substitute) -> None:
        self._substitute = substitute
        self._done: dict[int, tuple[Any, Any]] = {}
        """The copy by the id of the original, which is kept alive so that its id is not reused."""
        self._depth = 0
        self._waiting: list[tuple[nn.Module, nn.Module]] = []
        """Modules whose attributes are to be copied; grows while it is walked through."""
        self.modules: list[tuple[nn.Module, nn.Module]] = []
        """Each module with its copy."""

    def of(self, obj: _T) -> _T:
        kind = type(obj)
        if kind in SHARED:
            return obj
        known = self._done.get(id(obj))
        if known is not None:
            return cast(_T, known[0])
        copier: Copier | None = COPIERS.get(kind)
        new = self._copy(kind, obj) if copier is None else copier(self, obj)
        self.keep(obj, new)
        return cast(_T, new)

    def keep(self, obj: object, new: object) -> None:
        """Register the copy of an object, before its contents are copied, since they may lead back to it."""
        self._done[id(obj)] = (new, obj)

    def known(self, obj: _T) -> _T | None:
        copied = self._done.get(id(obj))
        return None if copied is None else copied[0]

    def attributes(self, obj: object, new: object) -> None:
        """Copy the attributes of an object, without running code of its class."""
        given = dictionary(new)
        for name, value in dictionary(obj).items():
            given[name] = self.of(value)
        self._slots(obj, new)

    def _slots(self, obj: object, new: object) -> None:
        for member in members(type(obj)):
            try:
                value = member.__get__(obj)
            except AttributeError:  # not set
                continue
            member.__set__(new, self.of(value))

    def _copy(self, kind: type, obj: Any) -> object:
        if issubclass(kind, nn.Module):
            return self._module(obj)
        if issubclass(kind, Tensor):
            return self._substitute(obj)
        if issubclass(kind, dict):
            return _derived_dict(self, obj)
        if issubclass(kind, (list, tuple)):
            return _derived_sequence(self, obj)
        if is_stateful_of_numpy(kind):
            return _cloned(self, obj)
        return self._shared(obj) if not is_open(kind) or self._depth >= _DEEPEST else self._object(kind, obj)

    def _object(self, kind: type, obj: object) -> object:
        try:
            new: object = object.__new__(kind)  # not its own `__new__`, which may give the one instance there is
        except TypeError:  # a base in C
            return self._shared(obj)
        self.keep(obj, new)
        self._depth += 1
        self.attributes(obj, new)
        self._depth -= 1
        return new

    def _shared(self, obj: object) -> object:
        return obj

    def _module(self, module: nn.Module) -> nn.Module:
        if isinstance(module, torch.jit.ScriptModule):
            scripted = script_copy(module)
            if scripted is module:
                return module
            self.modules += zip(module.modules(), scripted.modules(), strict=True)
            return scripted
        try:
            new: nn.Module = object.__new__(type(module))
        except TypeError:  # a class with a base in C: it has to serve as it is
            return module
        self.keep(module, new)
        self.modules.append((module, new))
        self._waiting.append((module, new))
        if len(self._waiting) == 1:  # not within another module: models are nested deeper than Python's stack
            for of, copied in self._waiting:
                for name, value in of.__dict__.items():
                    # Containers that every module has and few use are never shared: following them is most of the work.
                    copied.__dict__[name] = type(value)() if name in _OWN and not value else self.of(value)
                self._slots(of, copied)
            self._waiting.clear()
        return new


_OWN = {name for name, value in vars(nn.Module()).items() if isinstance(value, (dict, set))}

OnItem = Callable[[str, object], object]
"""Called with the path and the copy of the next item."""

ITERATORS: tuple[type[Any], ...] = (
    GeneratorType,
    *(map, filter, zip, enumerate, reversed, itertools.chain, itertools.cycle, itertools.islice, itertools.repeat),
    *map(type, (iter([]), iter(()), iter({}), iter({}.values()), iter({}.items()), iter(set()), iter(""))),
)
"""Iterators without a state of their own, unlike files and iterators that users write."""


class RecordedIterator:
    """Takes the place of an iterator among the arguments; it consumes the user's, as any call does."""

    def __init__(self, source: Iterator[object], copy: Callable[[object], object]) -> None:
        self._source = source
        self._copy = copy
        self._count = itertools.count()
        self.next_item: Callable[[Callable[[], object]], object] = lambda take: take()
        """Runs what takes the next item; a recording puts one here that is not recorded."""
        self.path = ""
        """What the iterator is called; its items are called `path.0` and so on."""
        self.on_item: OnItem = lambda path, item: None

    def __iter__(self) -> RecordedIterator:
        return self

    def __next__(self) -> object:
        item = self.next_item(lambda: self._copy(next(self._source)))
        self.on_item(f"{self.path}.{next(self._count)}", item)
        return item


class CopiedArguments(ModelCopy):
    """Copies arguments. A tensor that is passed twice becomes two that share memory, since it is two inputs."""

    def __init__(
        self,
        substitute: Substitute,
        modules: Callable[[nn.Module], nn.Module],
        shared: Callable[[object], object],
    ) -> None:
        """Copy nothing yet; `shared` is given the user's objects that serve as they are, and gives them back."""
        super().__init__(substitute)
        self._modules = modules
        self._serve = shared
        self._changed = 0
        """Counts objects that something else takes the place of."""
        self.unseen: dict[str, None] = {}
        """Classes of objects that were not looked into."""

    def of(self, obj: _T) -> _T:
        new = super().of(obj)
        self._changed += new is not obj
        return new

    def keep(self, obj: object, new: object) -> None:
        if not issubclass(type(new), Tensor):
            super().keep(obj, new)

    def _object(self, kind: type, obj: object) -> object:
        """A copy, unless nothing in it has changed: the forward may ask which object it is."""
        changed = self._changed
        new = super()._object(kind, obj)
        return new if changed < self._changed else self._serve(obj)

    def _copy(self, kind: type, obj: object) -> object:
        if hasattr(kind, "__array_interface__"):  # a numpy array: torch takes it without a trace
            self.unseen[kind.__name__] = None
        return super()._copy(kind, obj)

    def _module(self, module: nn.Module) -> nn.Module:
        return self._modules(module)

    def _shared(self, obj: Any) -> object:
        if issubclass(type(obj), ITERATORS):
            return RecordedIterator(obj, torch.inference_mode(False)(self.of))
        self.unseen[type(obj).__name__] = None
        return obj


Copier = Callable[[Any, Any], Any]
"""Makes the copy of an object, with the help of a `ModelCopy`."""

SHARED = {
    *(type(None), str, int, float, complex, bool, bytes, type, range, BuiltinFunctionType),
    *(torch.dtype, torch.device, torch.layout, torch.memory_format, torch.Size, type(Ellipsis)),
}
"""Types whose objects are immutable or global."""


def is_stateful_of_numpy(kind: type) -> bool:
    """Whether it is an array, or draws random numbers; by name, since numpy is not imported for it."""
    return kind.__name__ in ("ndarray", "Generator", "RandomState") and kind.__module__.partition(".")[0] == "numpy"


def _container(copies: ModelCopy, obj: Any) -> Any:
    new = obj.copy()
    copies.keep(obj, new)
    for key, item in obj.items() if isinstance(obj, dict) else enumerate(obj):
        new[key] = copies.of(item)
    return new


def _function(copies: ModelCopy, obj: FunctionType) -> FunctionType:
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
    return issubclass(type(answer(lambda: cell.cell_contents, None)), LEADS_TO_MODEL)  # an empty one refuses


def _handle(copies: ModelCopy, obj: RemovableHandle) -> RemovableHandle:
    """The handle of a hook removes it from the copy; that of the original would remove the user's hook."""
    new = object.__new__(RemovableHandle)
    new.__setstate__(tuple(map(copies.of, obj.__getstate__())))  # type: ignore[no-untyped-call]
    return new


def _cloned(copies: ModelCopy, obj: _T) -> _T:
    return answer(lambda: copy.deepcopy(obj), obj)  # an array may hold objects that cannot be copied


def _namespace(copies: ModelCopy, obj: SimpleNamespace) -> SimpleNamespace:
    new = SimpleNamespace()
    copies.keep(obj, new)
    copies.attributes(obj, new)
    return new


def _derived_dict(copies: ModelCopy, obj: dict[object, object]) -> dict[object, object]:
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


def _derived_sequence(copies: ModelCopy, obj: list[object] | tuple[object, ...]) -> object:
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
    **dict.fromkeys((dict, collections.OrderedDict, collections.defaultdict, list, collections.deque), _container),
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
