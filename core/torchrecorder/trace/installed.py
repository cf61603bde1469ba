"""What is installed where the models run: Python's version, each distribution's, and what the project hides of both.

A recording may depend on any of it without importing it: on an entry point, on a version that was asked for, on a
package that a library looks for. All of it together is one digest, which is cheap to make from the names of folders.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from torchrecorder.cache.store import Store
from torchrecorder.trace.digests import file_digest, text_digest
from torchrecorder.trace.ownership import is_installed, is_stdlib

_METADATA = (".dist-info", ".egg-info")
_SAID = ("entry_points.txt", "METADATA", "PKG-INFO", "requires.txt")
"""Files of metadata that code asks for."""
_INDEX = "installed.json"
_KEPT = 8
"""Environments of which the index knows what was installed."""


@dataclass(frozen=True, slots=True)
class Installed:
    python: str
    """Its version."""
    distributions: Mapping[str, str] = field(default_factory=dict)
    """Their versions by name."""
    hidden: tuple[str, ...] = ()
    """Modules of Python and of distributions for which the project's folders have one of the same name."""

    @staticmethod
    def on(path: Sequence[str], own: Sequence[str] | None = None, python: str = "") -> Installed:
        """All that is installed for a Python that looks on `path` and then on its `own`; this one, if that is None."""
        found: dict[str, str] = {}
        modules: set[str] = {*sys.stdlib_module_names}
        project: set[str] = set()
        for folder in dict.fromkeys([*path, *(sys.path if own is None else own)]):
            is_own = not is_installed(folder) and not is_stdlib(folder + os.sep)
            for name in _names(folder or os.curdir):
                stem, suffix = os.path.splitext(name)
                if suffix in _METADATA:
                    distribution, _, version = stem.partition("-")
                    more = f" ({_metadata(os.path.join(folder, name))})" if is_own else ""
                    found.setdefault(distribution.lower(), version + more)
                elif is_own and folder in path and suffix in ("", ".py"):
                    project.add(stem)
                elif not is_own:
                    modules.add(stem.partition(".")[0])
        return Installed(
            python or platform.python_version(), dict(sorted(found.items())), tuple(sorted(project & modules))
        )

    def digest(self) -> str:
        return text_digest(json.dumps([self.python, dict(self.distributions), self.hidden]))

    def differences(self, then: Installed) -> Iterator[str]:
        if self.python != then.python:
            yield f"Python {then.python} became {self.python}"
        for name in sorted({*self.distributions, *then.distributions}):
            before, now = then.distributions.get(name), self.distributions.get(name)
            if before is None:
                yield f"{name} {now} was installed"
            elif now is None:
                yield f"{name} {before} was removed"
            elif before != now:
                yield f"{name} {before} became {now}"
        for name in sorted({*self.hidden} ^ {*then.hidden}):
            yield f"the project's {name} {'hides' if name in self.hidden else 'no longer hides'} an installed one"


def remember(machine: Store, installed: Installed) -> str:
    """The digest of what is installed, of which the cache of this machine keeps what it says, for a later message."""
    digest = installed.digest()
    rows = dict(machine.read_index(_INDEX))
    if digest not in rows:
        rows = {
            **dict([*rows.items()][1 - _KEPT :]),
            digest: [installed.python, dict(installed.distributions), installed.hidden],
        }
        machine.write_index(_INDEX, rows)
    return digest


def what_changed(machine: Store, then: str, now: Installed) -> str:
    """Changes since what was installed had the digest `then`, in a few words."""
    row = machine.read_index(_INDEX).get(then)
    changes = [] if row is None else list(now.differences(Installed(row[0], row[1], tuple(row[2]))))
    more = f" and {len(changes) - 3} more" if len(changes) > 3 else ""
    return (", ".join(changes[:3]) + more) or "what is installed has changed"


def _metadata(folder: str) -> str:
    """The digest of what a distribution of the project itself says of itself, which changes without its version."""
    texts = []
    for name in _SAID:
        with suppress(OSError), open(os.path.join(folder, name), "rb") as file:
            texts.append(f"{name} {file_digest(file)}")
    return text_digest("\n".join(texts))[:8]


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
