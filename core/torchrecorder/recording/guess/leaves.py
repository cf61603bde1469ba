"""The inputs inside the lists and dictionaries that a forward takes, which are repaired as others are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from torchrecorder.request import InputSpec


def specs_in(value: object) -> Iterator[InputSpec]:
    """All inputs that are to be made for a value."""
    if isinstance(value, InputSpec):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from specs_in(item)
    elif isinstance(value, dict):
        yield from specs_in([*value.values()])


def leaves(values: Mapping[str, Any]) -> dict[str, InputSpec]:
    """The inputs that are to be made: by parameter, those inside others by key or place; for a list its first, too."""
    found: dict[str, InputSpec] = {}
    for name, value in values.items():
        for key, item in ((name, value), *_held(name, value)):
            first = item[0] if isinstance(item, list) and item else item
            if isinstance(first, InputSpec):
                found.setdefault(str(key), first)
    return found


def _held(name: str, value: Any) -> Iterator[tuple[object, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, (list, tuple)):
        yield from ((f"{name}.{i}", item) for i, item in enumerate(value))


def placed(values: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """The values with the changed ones where they belong."""
    result = dict(values)
    for name, new in changed.items():
        holder = next((n for n, value in result.items() if name in [str(key) for key, _ in _held(n, value)]), name)
        old = result.get(holder)
        if holder == name or name in result:
            result[name] = _as_many(old, new)
        elif isinstance(old, dict):
            result[holder] = {key: _as_many(item, new) if str(key) == name else item for key, item in old.items()}
        elif isinstance(old, (list, tuple)):
            result[holder] = type(old)(new if key == name else item for key, item in _held(holder, old))
    return result


def leaf_at(path: str, known: Mapping[str, InputSpec]) -> str:
    """The leaf that the path of an input leads to, or nothing."""
    parts = path.split(".")
    return next((name for name in (path, *reversed(parts)) if name in known), "")


def _as_many(old: Any, new: Any) -> Any:
    was_list = isinstance(old, list) and old and isinstance(old[0], InputSpec)
    return [new] * len(old) if was_list and isinstance(new, InputSpec) else new
