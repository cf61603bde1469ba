"""Whether the fields of records have the types that they are declared with, which is not certain of a cache's JSON.

Checked by column, not by row: the types of a field's values in all records are one set.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from itertools import chain
from typing import Any, Literal, get_args, get_origin, get_type_hints


def wrong_fields(records: Collection[Any], cls: type) -> Iterator[str]:
    """What is not of its type in records of one class, and in those that they hold."""
    for name, hint in _hints(cls).items():
        yield from _wrong([getattr(record, name) for record in records], hint, f"{cls.__name__}.{name}")


@cache
def _hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {field.name: hints[field.name] for field in fields(cls)}


def _wrong(values: Collection[Any], hint: Any, where: str) -> Iterator[str]:
    """What is wrong with values of a field, each of which the hint says the type of."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is types.UnionType:
        others = [part for part in arguments if isinstance(part, type) and not is_dataclass(part)]
        rest = [value for value in values if type(value) not in others]
        hint = next((part for part in arguments if part not in others), None)
        if rest and hint is None:
            yield f"{where} is of the type {type(rest[0]).__name__}"
        elif rest:
            yield from _wrong(rest, hint, where)
        return
    kind = str if origin is Literal else tuple if origin is tuple else dict if origin is Mapping else hint
    if odd := next((type(value).__name__ for value in values if type(value) is not kind), None):
        yield f"{where} is of the type {odd}"
    elif origin is tuple:
        yield from _wrong([*chain.from_iterable(values)], arguments[0], where)
    elif origin is Mapping:
        yield from _wrong([key for value in values for key in value], arguments[0], where)
        yield from _wrong([item for value in values for item in value.values()], arguments[1], where)
    elif is_dataclass(kind):
        yield from wrong_fields(values, kind)
    elif kind is str and not _is_text("".join(values)):
        yield f"{where} has half of a surrogate pair"


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
