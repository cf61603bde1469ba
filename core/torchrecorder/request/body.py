"""Target and options from the lines of a fence, which are the same for every tool that reads Markdown.

```torchrecorder
pkg.Net
:shape: 1,3
:caption: A long text
goes on in an indented line.
```
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torchrecorder.errors import OptionError
from torchrecorder.request.reading import read_request
from torchrecorder.request.values import DiagramRequest

_OPTION = re.compile(r"(?::(?P<field>[\w-]+):|(?P<key>[\w-]+):)(?:\s+(?P<value>.*))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Body:
    """What a body says."""

    target: str
    options: dict[str, str | None]
    """As written, by name; None where no value was."""
    problems: tuple[str, ...] = ()
    """What is said twice, and lines that say nothing."""

    def request(self, site: Mapping[str, str] | None = None) -> DiagramRequest:
        """The diagram it asks for.

        Args:
            site: Options that hold where the body says nothing.

        Raises:
            OptionError: With every problem there is.
        """
        try:
            request = read_request(self.target, self.options, site)
        except OptionError as error:
            raise OptionError((*self.problems, *error.problems)) from error
        if self.problems:
            raise OptionError(self.problems)
        return request


def read_body(lines: Iterable[str], target: str = "", options: Mapping[str, str | None] | None = None) -> Body:
    """What the lines say, together with what stands above them.

    Args:
        lines: The body; empty lines mean nothing.
        target: Given if the target is not to be looked for.
        options: Those that are given already.
    """
    reader = _Reader(target, dict(options or {}))
    for line in lines:
        if line.strip():
            reader.read(line.expandtabs())
    return Body(reader.target, reader.options, tuple(reader.problems))


class _Reader:
    """Takes line after line; it remembers the last option, for lines that continue it."""

    def __init__(self, target: str, options: dict[str, str | None]) -> None:
        self.target = target
        self.options = options
        self.problems: list[str] = []
        self._last = ""
        self._indent = 0

    def read(self, line: str) -> None:
        text = line.strip()
        indent = len(line) - len(line.lstrip())
        if found := _OPTION.fullmatch(text):
            self._begin((found["field"] or found["key"]).lower(), found["value"], indent)
        elif self._last and indent > self._indent:
            self.options[self._last] = f"{self.options[self._last] or ''} {text}".strip()
        else:
            self._no_option(text)

    def _begin(self, name: str, value: str | None, indent: int) -> None:
        if name in self.options:
            self.problems.append(f"{name} is given twice")
        self.options[name] = value
        self._last, self._indent = name, indent

    def _no_option(self, text: str) -> None:
        self._last = ""
        if self.target:
            self.problems.append(
                f"cannot read {text!r}: the model is {self.target}, and an option is written `:depth: 2`"
            )
        else:
            self.target = text
