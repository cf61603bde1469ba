"""The one walk over nested values: arguments, results and attributes that hold tensors somewhere inside.

Containers are followed by type (mappings, sequences, dataclasses). Other objects are opened only on request, because
an attribute of some object may lead anywhere.
"""

from __future__ import annotations

import dataclasses
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from torchrecorder.running.objects import attributes, is_open

_DEPTH = 8
"""Levels that are followed; also what ends a walk through a structure that contains itself."""

_Wanted = TypeVar("_Wanted")

_PLAIN = (str, bytes, int, float, complex, type, type(None), nn.Module, torch.dtype, torch.device)


_NO_CONTAINER = {int, float, str, bool, type(None), torch.dtype, torch.device, torch.layout, torch.memory_format}


def tensors_in(items: Iterable[Any], found: list[Tensor]) -> list[Tensor]:
    """Append the tensors among the arguments of an operation to `found`, and give it back.

    Operations take tensors, lists of them and slices only. It runs for each of them, hence the order of the tests.
    """
    for item in items:
        kind = type(item)
        if kind is Tensor or (kind not in _NO_CONTAINER and isinstance(item, Tensor)):
            found.append(item)
        elif kind in _NO_CONTAINER:
            continue
        elif isinstance(item, (tuple, list)):
            tensors_in(item, found)
        elif isinstance(item, dict):
            tensors_in(item.values(), found)
        elif kind is slice:
            tensors_in((item.start, item.stop, item.step), found)
    return found


def named_tensors(
    obj: Any, path: str = "", *, objects: bool = False, depth: int = _DEPTH
) -> Iterator[tuple[str, Tensor]]:
    """Each tensor in `obj` with its path, `states.0`; the path of `obj` itself is `path`.

    Args:
        obj: What to walk.
        path: What to call it.
        objects: Also look into sets and into the attributes of objects that are no containers, such as transformers'
            caches.
        depth: Levels to go down.
    """
    return named(obj, Tensor, path, objects=objects, depth=depth)


def named(
    obj: Any, wanted: type[_Wanted], path: str = "", *, objects: bool = False, depth: int = _DEPTH
) -> Iterator[tuple[str, _Wanted]]:
    """As `named_tensors`, but of another class."""
    return _named(obj, wanted, path, {} if objects else None, depth, ())


def _named(
    obj: Any, wanted: type[_Wanted], path: str, opened: dict[int, Any] | None, depth: int, above: tuple[int, ...]
) -> Iterator[tuple[str, _Wanted]]:
    if isinstance(obj, wanted):
        yield path, obj
    elif depth and not isinstance(obj, _PLAIN) and id(obj) not in above:  # a list may hold itself
        for key, item in _items(obj, opened):
            inner = f"{path}.{key}" if path else str(key)
            yield from _named(item, wanted, inner, opened, depth - 1, (*above, id(obj)))


def _items(obj: Any, opened: dict[int, Any] | None) -> Iterator[tuple[Any, Any]]:
    if isinstance(obj, Mapping):
        yield from obj.items()
    elif isinstance(obj, tuple) and (names := getattr(obj, "_fields", None)) is not None:
        yield from zip(names, obj, strict=True)
    elif isinstance(obj, (list, tuple)):
        yield from enumerate(obj)
    elif dataclasses.is_dataclass(obj):
        yield from ((f.name, getattr(obj, f.name, None)) for f in dataclasses.fields(obj))
    elif opened is not None:
        yield from _hidden_items(obj, opened)


def _hidden_items(obj: Any, opened: dict[int, Any]) -> Iterator[tuple[Any, Any]]:
    if isinstance(obj, (deque, set, frozenset)):
        yield from enumerate(obj)
    elif is_open(type(obj)) and id(obj) not in opened:  # objects may know one another: a tree's nodes, parent and child
        opened[id(obj)] = obj
        yield from _keyed(obj) or attributes(obj)


def _keyed(obj: Any) -> list[tuple[Any, Any]]:
    """The items of what can be asked like a mapping and is none (a graph of PyTorch Geometric)."""
    if not (hasattr(type(obj), "keys") and hasattr(type(obj), "__getitem__")):
        return []
    try:
        return [(key, obj[key]) for key in obj.keys()]  # noqa: SIM118 - it is no mapping
    except Exception:  # it was something else, and the attributes say as much
        return []


def map_tensors(obj: Any, change: Callable[[Tensor], Tensor], *, depth: int = _DEPTH) -> Any:
    """`obj` with each tensor replaced by `change` of it; containers in which nothing changed stay the same object."""
    if isinstance(obj, Tensor):
        return change(obj)
    if not depth or isinstance(obj, _PLAIN):
        return obj
    changed = {}
    for key, item in _items(obj, None):
        new = map_tensors(item, change, depth=depth - 1)
        if new is not item:
            changed[key] = new
    return _rebuilt(obj, changed) if changed else obj


def _rebuilt(obj: Any, changed: dict[Any, Any]) -> Any:
    if isinstance(obj, Mapping):
        return _with_items(obj, changed)
    if isinstance(obj, tuple) and (replace := getattr(obj, "_replace", None)) is not None:
        return replace(**changed)
    if isinstance(obj, (list, tuple)):
        items = [changed.get(i, item) for i, item in enumerate(obj)]
        return items if type(obj) is list else type(obj)(items)
    return dataclasses.replace(obj, **changed)


def _with_items(obj: Mapping[Any, Any], changed: dict[Any, Any]) -> Any:
    copy = getattr(obj, "__copy__", None) or getattr(obj, "copy", None)
    new = dict(obj) if copy is None else copy()
    for key, item in changed.items():
        new[key] = item
    return new
