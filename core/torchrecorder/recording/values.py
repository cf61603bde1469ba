"""Which tensor is which value: identity, aliases and writes in place.

A tensor is known by its address together with a weak reference, since addresses are used again. Memory is known by the
address of its storage, which is forgotten when a weak reference says that the storage is gone. No tensor and no memory
is kept by any of this. (Torch's own references to storages keep the address, too; but what is left of a storage lies on
the heap between the data of tensors, and then no tensor is put where another was: a forward on 4 MB took three times as
long.)
"""

from __future__ import annotations

import functools
import weakref
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.graph import TensorMeta, Value
from torchrecorder.graph.model import ValueKind
from torchrecorder.graph.quick import quick
from torchrecorder.recording.machine.memory import OWN
from torchrecorder.running import torch_private
from torchrecorder.running.facts import describe_tensor
from torchrecorder.running.nested import tensors_in

_value = quick(Value)
_transform: tuple[Any, Any, Any] = torch_private.FUNCTORCH.get() or (lambda: None, lambda tensor: False, None)
running_transform, _is_wrapped, _get_unwrapped = _transform
"""The transform of `torch.func` that runs (vmap, grad), None if none does; asked several times for each operation."""
_HAS_ADDRESSES = torch_private.STORAGE_ADDRESS.get() is not None


_NO_STORAGE = (NotImplementedError, RuntimeError, ValueError)
"""What torch raises for the storage of a sparse tensor, of a wrapper, of a lazy parameter."""

Moment = int
"""Counts up whenever a tensor gets a value, which gives writes an order."""


@dataclass(slots=True)
class Storage:
    """Memory that tensors share."""

    group: int
    ref: weakref.ref[Any]
    """Forgets the memory when it is gone."""
    owner: int = -1
    """The first value it held."""
    writes: list[tuple[Moment, int]] = field(default_factory=list)
    """When it was written, and the value that was written."""


@dataclass(slots=True)
class Entry:
    """The facts of a live tensor."""

    ref: weakref.ref[Tensor]
    value: int
    moment: Moment
    storage: Storage | None
    is_view: bool
    is_own: bool
    """Whether it had the shape of its value when it got it."""
    past: list[tuple[Moment, int]] | None = None
    """The values it had before it was written to, one list for each tensor: no write copies those before it."""


class Values:
    """The values of one recording, and the live tensors that hold them. Not thread-safe."""

    on_constant: Callable[[Tensor], bool] = staticmethod(lambda tensor: False)
    """Is given each tensor that is about to become a constant; it may give it another value."""

    def __init__(self) -> None:
        self.rows: list[Value] = []
        self.metas: list[int] = []
        """Of each value the id of what is known of its tensor, the same for those that are alike."""
        self.moment: Moment = 0
        self._entries: dict[int, Entry] = {}
        self._storages: dict[int, Storage] = {}
        self._groups = 0
        self.constants: list[int] = []
        """Those that were met and may be of the forward, until they are taken from here."""
        self.reads_are_own = True
        """Whether each tensor was read as the value that it was made as, when `read_all` read some last."""
        self.nbytes = 0
        """Of all memory that was met, and what is kept of it here."""
        self._aside: dict[int, weakref.ref[Any]] = {}
        """Memory that is not in the picture, by address."""
        self._metas: dict[Any, TensorMeta] = {}
        self._names: dict[int, tuple[weakref.ref[Tensor], ValueKind, str]] = {}
        self._late: set[int] = set()
        """By id those that were not the model's when its forward began."""
        self._named: dict[tuple[ValueKind, str], int] = {}
        self._by_memory: dict[int, int | None] = {}
        self._memories: dict[int, int] = {}

    def declare(self, tensor: Tensor, kind: ValueKind, name: str) -> None:
        """Say what a tensor is, should it ever be read. Two tensors of one name are one value."""
        known = self._names.get(id(tensor))
        if known is None or known[0]() is not tensor:
            self._names[id(tensor)] = (weakref.ref(tensor), kind, name)
            if self.rows:
                self._late.add(id(tensor))

    def is_known(self, tensor: Tensor) -> bool:
        entry = self._entries.get(id(tensor))
        return entry is not None and entry.ref() is tensor

    def own(self, tensor: Tensor) -> int | None:
        """The value that a tensor of its shape was made or overwritten as, whatever was written to its memory since."""
        entry = self._entries.get(id(tensor))
        if entry is None or entry.ref() is not tensor:
            return None
        meta = self.rows[entry.value].meta
        try:
            return entry.value if meta is not None and meta.shape == tensor.shape else None
        except (RuntimeError, ValueError):  # nested, or a lazy parameter: the sizes cannot be asked for
            return None

    def is_met(self, tensor: Tensor) -> bool:
        """Whether it has a value, or would get one with a name."""
        named = self._names.get(id(tensor))
        return self.is_known(tensor) or (named is not None and named[0]() is tensor)

    def read(self, tensor: Tensor) -> tuple[int, ...]:
        """The values that a read of the tensor depends on: its own, the last write to its memory, or both.

        Both, if it is a view taken before that write: the data comes from the write, its arrangement from the view.
        """
        return self._read(_unwrapped(tensor) if running_transform() is not None else tensor)

    def read_all(self, tensors: Sequence[Tensor]) -> tuple[int, ...]:
        """The values that reads of these innermost tensors depend on, each once."""
        self.reads_are_own = True
        values: dict[int, None] = {}
        for tensor in tensors:
            entry = self._entries.get(id(tensor))
            if entry is None or entry.ref() is not tensor:
                entry = self._first_seen(tensor)
            if entry.is_own and ((storage := entry.storage) is None or not storage.writes):
                values[entry.value] = None
            else:
                values.update(dict.fromkeys(self._read(tensor)))
        return tuple(values)

    def _read(self, tensor: Tensor) -> tuple[int, ...]:
        entry = self._entries.get(id(tensor))
        if entry is None or entry.ref() is not tensor:
            entry = self._first_seen(tensor)
        self.reads_are_own &= entry.is_own
        storage = entry.storage
        if storage is not None and storage.writes:
            moment, written = storage.writes[-1]
            if moment > entry.moment and written != entry.value:
                self.reads_are_own = False
                return (entry.value, written) if entry.is_view else (written,)
        return (entry.value,)

    def at(self, tensor: Tensor, moment: Moment) -> int:
        """The value that a read gave at a moment of the past; its first one if it was not known then."""
        tensor = _unwrapped(tensor) if running_transform() is not None else tensor
        now = self._read(tensor)[0]
        entry = self._entries[id(tensor)]
        writes = entry.storage.writes if entry.storage else []
        if not writes:
            return now
        since, value = entry.moment, entry.value
        if moment < since and entry.past:
            since, value = entry.past[max(0, bisect_right(entry.past, moment, key=_when) - 1)]
        last = bisect_right(writes, moment, key=_when) - 1
        return writes[last][1] if last >= 0 and writes[last][0] > since else value

    def set_aside(self, tensors: Iterable[Tensor]) -> None:
        """Know the memory of tensors that were made in this recording, but are not in the picture."""
        for tensor in tensors:
            if (address := storage_address(tensor)) is not None:
                self._aside[address] = _until_gone(tensor.untyped_storage(), address, self._aside)

    def forget_memory(self) -> None:
        """Forget all memory, at the end: the table and what takes memory out of it keep each other in a circle."""
        self._storages.clear()
        self._aside.clear()

    def is_aside(self, tensor: Tensor) -> bool:
        """Whether its memory was made in this recording, but is not in the picture."""
        return storage_address(tensor) in self._aside

    def is_made(self, tensor: Tensor) -> bool:
        """Whether its memory is new in this recording, made by an op or copied for an input."""
        address = storage_address(tensor)
        if address in self._aside:
            return True
        storage = None if address is None else self._storages.get(address)
        if storage is not None:
            return storage.owner >= 0 and self.rows[storage.owner].kind in ("op", "input")
        entry = self._entries.get(id(tensor))
        return entry is not None and entry.ref() is tensor and self.rows[entry.value].kind in ("op", "input")

    def wrote(self, tensor: Tensor, op: int, index: int) -> int:
        """A new value: what the op wrote into the tensor."""
        old = self._entries.get(id(tensor))
        value = self.add(tensor, "op", op, index)
        entry = self._entries[id(tensor)]
        if old is not None and old.ref() is tensor:
            entry.past = old.past or []
            entry.past.append((old.moment, old.value))
        entry.is_view = False
        if entry.storage is not None:
            entry.storage.writes.append((self.moment, value))
        return value

    def alias(self, tensor: Tensor, value: int) -> None:
        """Let a tensor stand for a value that exists."""
        storage, _ = self._storage(tensor)
        entry = self._entries[id(tensor)] = Entry(weakref.ref(tensor), value, self.moment, storage, False, True)
        entry.is_own = self.own(tensor) is not None

    def holds(self, part: Tensor, value: int, *, is_written: bool) -> None:
        """Let a tensor inside of another one stand for the value of that."""
        if is_written or not self.is_known(part):
            self.alias(part, value)
            storage = self._entries[id(part)].storage
            if is_written and storage is not None:
                self.moment += 1
                storage.writes.append((self.moment, value))

    def copied(self, tensor: Tensor, original: Tensor) -> None:
        """Let a copy that torch made unseen stand for what it was made from."""
        if not self.is_known(tensor) and self._known_memory(tensor) is None and self.is_known(original):
            self.alias(tensor, self._read(original)[-1])

    @contextmanager
    def swapped(self, first: Tensor, second: Tensor) -> Iterator[None]:
        """Two tensors exchange what they hold; only in this does nothing refer to them."""
        held = [self._read(tensor)[-1] for tensor in (first, second)]
        names = [self._names.pop(id(tensor), (None, None, None))[1:] for tensor in (first, second)]
        for tensor in (first, second):
            del self._entries[id(tensor)]
            self._by_memory.pop(id(tensor), None)
        try:
            yield
            held.reverse()
        finally:
            for tensor, value, (kind, name) in zip((first, second), held, names, strict=True):
                self.alias(tensor, value)
                if kind is not None and name is not None:
                    self.declare(tensor, kind, name)

    def add(
        self,
        tensor: Tensor,
        kind: ValueKind,
        producer: int | None = None,
        index: int = 0,
        name: str | None = None,
    ) -> int:
        """A new value, made by an op or by none."""
        self.moment += 1
        storage, is_old = self._storage(tensor)
        value = len(self.rows)
        group = None if storage is None else storage.group
        try:
            key = tensor.shape, tensor.dtype, tensor.device, tensor.layout
            meta = self._metas.get(key) or self._metas.setdefault(key, describe_tensor(tensor))
        except (RuntimeError, ValueError):  # nested, or a lazy parameter: the sizes cannot be asked for
            meta = describe_tensor(tensor)
        self.metas.append(id(meta))
        self.rows.append(_value(value, kind, producer, index, meta, name, group))
        if storage is not None and not is_old:
            storage.owner = value
        self._entries[id(tensor)] = Entry(weakref.ref(tensor), value, self.moment, storage, is_old, True)
        return value

    def _first_seen(self, tensor: Tensor) -> Entry:
        named = self._names.get(id(tensor))
        if named is None or named[0]() is not tensor:
            return self._unnamed(tensor)
        _, kind, name = named
        value = self._named.get((kind, name))
        if id(tensor) in self._late and self._known_memory(tensor) is not None:  # it was made of data
            return self._unnamed(tensor)
        if value is None:
            self._named[kind, name] = self.add(tensor, kind, name=name)
        else:
            self.alias(tensor, value)
        return self._entries[id(tensor)]

    def _unnamed(self, tensor: Tensor) -> Entry:
        """A tensor from nowhere: another face of memory that is known (`x._base`, `weight.data`), else a constant.

        What a transform of torch.func put around a tensor may outlive the transform, as in what `vjp` gives.
        """
        if _is_wrapped(tensor):
            self.alias(tensor, self._read(_unwrapped(tensor))[-1])
            return self._entries[id(tensor)]
        storage = self._known_memory(tensor)
        if storage is None:
            is_old = self.on_constant(tensor)
            if not self.is_known(tensor):
                value = self.add(tensor, "const")
                self.constants += () if is_old else (value,)
        else:
            self.alias(tensor, storage.writes[-1][1] if storage.writes else storage.owner)
        return self._entries[id(tensor)]

    def _known_memory(self, tensor: Tensor) -> Storage | None:
        address = storage_address(tensor)
        if address is None or address in self._storages:
            return self._storages.get(address or 0)
        if is_of_others(tensor):  # it may have come by way of NumPy
            return self._sharing(tensor)
        other = self._declared_at(address)
        if other is None or other is tensor:
            return None
        self.read(other)
        return self._storages.get(address)

    def _sharing(self, tensor: Tensor) -> Storage | None:
        """The memory that is known of which a tensor shows a part that did not come from torch."""
        at = tensor.data_ptr()
        for ref in (*(entry.ref for entry in self._entries.values()), *(ref for ref, _, _ in self._names.values())):
            other = ref()
            if other is not None and other is not tensor and at in _memory(other):
                self._read(other)
                return self._entries[id(other)].storage
        return None

    def _declared_at(self, address: int) -> Tensor | None:
        """The declared tensor with this memory. Their addresses are taken together, since few forwards need any."""
        if len(self._by_memory) != len(self._names):
            for identity, (ref, _, _) in self._names.items():
                other = ref()
                self._by_memory.setdefault(identity, None if other is None else storage_address(other))
            self._memories = {at: identity for identity, at in reversed(self._by_memory.items()) if at is not None}
        holder = self._memories.get(address)
        tensor = None if holder is None else self._names[holder][0]()
        return tensor if tensor is not None and storage_address(tensor) == address else None

    def moved(self, tensor: Tensor) -> bool:
        """Let a tensor that got other memory stand for what is there; whether that is known."""
        storage = self._known_memory(tensor)
        if storage is None:
            return False
        self.alias(tensor, storage.writes[-1][1] if storage.writes else storage.owner)
        return True

    def _storage(self, tensor: Tensor) -> tuple[Storage | None, bool]:
        """The memory of a tensor (None for sparse, nested, …), and whether it was known before."""
        if not _HAS_ADDRESSES:
            return None, False
        try:
            raw = tensor.untyped_storage()
        except _NO_STORAGE:
            return None, False
        address: int = raw._cdata
        storage = self._storages.get(address)
        if storage is not None:
            return storage, True
        storage = self._storages[address] = Storage(self._groups, _until_gone(raw, address, self._storages))
        self._groups += 1
        self.nbytes += raw.nbytes() + OWN
        return storage, False


def _until_gone(storage: torch.UntypedStorage, address: int, known: dict[int, Any]) -> weakref.ref[Any]:
    """A reference that takes memory out of a dictionary when it is gone, before its address is used again.

    It calls `pop`, with itself for the case that nothing is there, and so no code of Python: each tensor ends once.
    """
    return weakref.ref(storage, functools.partial(known.pop, address))


def _when(event: tuple[Moment, int]) -> Moment:
    return event[0]


def storage_address(tensor: Tensor) -> int | None:
    """The address of a live tensor's memory; None where there is none to speak of."""
    if not _HAS_ADDRESSES:
        return None
    try:
        return int(tensor.untyped_storage()._cdata)
    except _NO_STORAGE:
        return None


def is_of_others(tensor: Tensor) -> bool:
    """Whether its memory was not made by torch, but by NumPy or another library."""
    try:
        return not tensor.untyped_storage().resizable()
    except _NO_STORAGE:
        return False


@functools.cache
def _is_wrapper(kind: type) -> bool:
    """Whether tensors of a class hold others, and compute with those."""
    fake = torch_private.FAKE_TENSOR.get()
    computes = getattr(kind, "__torch_dispatch__", None) is not getattr(Tensor, "__torch_dispatch__", None)
    return computes and not issubclass(kind, (nn.Parameter, *(() if fake is None else (fake,))))


def parts_of(tensor: Tensor, *, deep: bool = False) -> list[Tensor]:
    """The tensors in one of a class that computes with those that it holds, with those in them or without."""
    parts = tensors_in(vars(tensor).values(), []) if _is_wrapper(type(tensor)) else []
    return [*parts, *(inner for part in parts for inner in parts_of(part, deep=True))] if deep else parts


def _memory(tensor: Tensor) -> range:
    """The addresses of a tensor's data; none, if it is not data of this process."""
    try:
        raw = tensor.untyped_storage()
        return range(raw.data_ptr(), raw.data_ptr() + raw.nbytes())
    except _NO_STORAGE:
        return range(0)


def are_rewrapped(args: Iterable[object]) -> bool:
    """Whether a write puts another tensor into one of these, as `torch.func.functionalize` has it."""
    is_functional = torch_private.FUNCTIONAL.get()
    return is_functional is not None and any(map(is_functional, tensors_in(args, [])))


def innermost(tensors: list[Tensor]) -> list[Tensor]:
    """The tensors inside the wrappers that `torch.func` transforms put around them."""
    return [_unwrapped(tensor) for tensor in tensors] if running_transform() is not None else tensors


def _unwrapped(tensor: Tensor) -> Tensor:
    while _is_wrapped(tensor):
        tensor = _get_unwrapped(tensor)
    return tensor
