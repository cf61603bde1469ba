"""How our names and sentences read: what the tests of texts look for.

`python -m tests.words`, run at the root, prints the class names that are defined more than once: after a merge,
`PROMISED` must hold those that the ports promise, and the others want a name of their own.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PRODUCT = ("core/torchrecorder", "sphinx_torchrecorder", "mkdocs_torchrecorder")

ODD_WORDS = re.compile(
    r"\b(somebody|anybody|nobody|whoever|meanwhile|mend(?:s|ed|ing)?|told|cannot be had"
    r"|(?<!there )(?:is|are) no(?! (?:longer|more|less|later|such|other|different|better|worse)\b) [\w`']+)\b",
    re.IGNORECASE,
)
"""Words that an engineer of the field would not write, and "is no width" in place of "is not a valid width"."""

PAGES = tuple(
    f"docs/{name}" for name in ("index.md", "start", "howto", "guide", "reference", "explanation", "contributing.md")
)
"""The pages of the site."""

ROOMS = (*PRODUCT, "docs/design/glossary.md", *PAGES, "CONTRIBUTING.md", "README.md")
"""What is checked."""

PORTS = (
    "core/torchrecorder/scio",
    "core/torchrecorder/torchfunc",
    "core/torchrecorder/nodes.py",
    "core/torchrecorder/recorder.py",
    "core/torchrecorder/torchview",
    "core/torchrecorder/renderer",
)
PROMISED = frozenset({"Forward", "ForwardPre", "Node", "Recorder", "TensorNode"})
"""Class names that the originals of the ports have too, so that they may stand for more than one thing."""


def files(*places: str) -> Iterator[Path]:
    """The sources and pages in folders, or the files themselves."""
    for place in places:
        path = ROOT / place
        found = sorted(path.rglob("*")) if path.is_dir() else [path]
        yield from (file for file in found if file.suffix in (".py", ".md", ".toml", ".js", ".css"))


def classes(*places: str) -> dict[str, list[Path]]:
    """Where each class is defined, by name."""
    found: dict[str, list[Path]] = {}
    for file in files(*places):
        for name in _classes_in(file) if file.suffix == ".py" else ():
            found.setdefault(name, []).append(file)
    return found


@cache
def _classes_in(file: Path) -> list[str]:
    return [node.name for node in ast.walk(ast.parse(file.read_bytes())) if isinstance(node, ast.ClassDef)]


if __name__ == "__main__":
    for name, defined in sorted(classes(*PRODUCT).items()):
        if len(defined) > 1:
            print(f"{name}: {', '.join(str(file.relative_to(ROOT)) for file in defined)}")
