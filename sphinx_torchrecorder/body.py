"""Target and options from the lines of a directive's body.

A Markdown fence has no other place for them, and MkDocs reads the same fence:

    ```torchrecorder
    pkg.Net
    :shape: 1,3
    ```
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_OPTION = re.compile(r"(?::(?P<field>[\w-]+):|(?P<key>[\w-]+):)(?:\s+(?P<value>.*))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Body:
    """What a body says."""

    target: str
    options: dict[str, str | None]
    problems: tuple[str, ...]
    """Lines that are neither."""


def read_body(lines: Iterable[str], target: str = "") -> Body:
    """What the lines say, beside a target that stands above them.

    Args:
        lines: The body; empty lines mean nothing.
        target: Given if the target is not to be looked for.
    """
    options: dict[str, str | None] = {}
    problems: list[str] = []
    for line in filter(None, map(str.strip, lines)):
        if found := _OPTION.fullmatch(line):
            options[(found["field"] or found["key"]).lower()] = found["value"]
        elif not target:
            target = line
        else:
            problems.append(f"cannot read {line!r}: the model is {target}, and an option is written `:depth: 2`")
    return Body(target, options, tuple(problems))
