"""Which diagrams the pages of an output folder show.

Sphinx compares pages with their sources by time stamps and cannot know that a model changed. The cache of diagrams does
not know either: another builder, or the same one for another folder, may have drawn the change into it first. So each
output folder remembers what its own pages were written with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from pathlib import Path

from sphinx_torchrecorder.environment import Asked
from torchrecorder.diagram import Outcome
from torchrecorder.errors import OptionError

FILE = ".torchrecorder.json"
_VERSION = 1


def of_documents(results: Mapping[Asked, Outcome | OptionError]) -> dict[str, str]:
    """One signature for each document, of all its diagrams in their order."""
    parts: dict[str, list[str]] = {}
    for asked, result in results.items():
        part = result.signature() if isinstance(result, Outcome) else str(result)
        parts.setdefault(asked.docname, []).append(part)
    return {name: hashlib.sha256(json.dumps(part).encode()).hexdigest() for name, part in parts.items()}


def kept(outdir: Path) -> dict[str, str]:
    """The signatures of the folder; none if there is no readable file, which only writes a page too many."""
    try:
        found = json.loads(Path(outdir, FILE).read_bytes())
        return dict(found["documents"]) if found["version"] == _VERSION else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def keep(outdir: Path, now: Mapping[str, str], written: Set[str]) -> None:
    """Remember what the written pages show; a page that was not written still shows what it did."""
    before = kept(outdir)
    after = {name: signature if name in written else before.get(name, "") for name, signature in sorted(now.items())}
    if after != before:
        text = json.dumps({"version": _VERSION, "documents": after}, indent=1)
        Path(outdir, FILE).write_text(text + "\n", encoding="utf-8")
