"""Which diagrams the pages of an output folder show.

Sphinx compares pages with their sources by time stamps and cannot know that a model changed. The cache of diagrams does
not know either: another builder, or the same one for another folder, may have drawn the change into it first. So it is
remembered for each builder and output folder what its own pages were written with; beside the doctrees, because a
folder of pages is published, and the EPUB builder packs whatever lies in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Set
from pathlib import Path
from types import MappingProxyType

from sphinx.application import Sphinx

from sphinx_torchrecorder.environment import Asked
from torchrecorder.errors import OptionError
from torchrecorder.page import Outcome

_VERSION = 1


def of_documents(
    results: Mapping[Asked, Outcome | OptionError], places: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """One signature for each document, of all its diagrams in their order.

    Args:
        results: What became of each directive.
        places: Where the pages of classes are.
    """
    parts: dict[str, list[object]] = {}
    for asked, result in results.items():
        part = result.signature() if isinstance(result, Outcome) else str(result)
        parts.setdefault(asked.docname, []).append([part, [(cls, places.get(cls)) for cls in linked_classes(result)]])
    return {name: hashlib.sha256(json.dumps(part).encode()).hexdigest() for name, part in parts.items()}


def linked_classes(result: Outcome | OptionError) -> tuple[str, ...]:
    """The classes that a picture is to be linked to."""
    if isinstance(result, Outcome) and result.diagram is not None and result.request.figure.links:
        return result.diagram.classes
    return ()


def kept(app: Sphinx) -> dict[str, str]:
    """What the pages were written with; nothing if there is no readable file, which only writes a page too many."""
    try:
        found = json.loads(_file(app).read_bytes())
        return dict(found["documents"]) if found["version"] == _VERSION else {}
    except (OSError, ValueError, TypeError, KeyError):
        return {}


def keep(app: Sphinx, now: Mapping[str, str], written: Set[str]) -> None:
    """Remember what the written pages show; a page that was not written still shows what it did."""
    before = kept(app)
    after = {name: signature if name in written else before.get(name, "") for name, signature in sorted(now.items())}
    if after == before:
        return
    file = _file(app)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"version": _VERSION, "folder": str(app.outdir), "documents": after}, indent=1)
    file.write_text(text + "\n", encoding="utf-8")


def _file(app: Sphinx) -> Path:
    folder = hashlib.sha256(str(app.outdir).encode()).hexdigest()[:12]
    return Path(app.doctreedir, "torchrecorder-pages", f"{app.builder.name}-{folder}.json")
