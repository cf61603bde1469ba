"""Our own site by Sphinx, from the pages that MkDocs reads: `nox -s docs` builds both.

`mkdocs.yml` says which pages there are. What only MkDocs understands in them (the lines `:::` of mkdocstrings, the
references of autorefs, parts of other files) is translated here before MyST reads it.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import yaml
from sphinx.application import Sphinx

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))

sys.path[:0] = [str(ROOT / "core"), str(DOCS / "reference")]  # for autodoc

helpers = resolve_name("torchrecorder.helpers")
helpers.Digraph = resolve_name("graphviz.Digraph")  # imported for type checkers only; without it no annotation is read

project = html_title = CONFIG["site_name"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_torchrecorder"]
exclude_patterns = [path.strip("/") for path in CONFIG["exclude_docs"].split() if path.startswith("/")]
html_theme, html_show_copyright = "furo", False
autodoc_typehints_format = "short"
napoleon_use_ivar = True  # an attribute that has a docstring, too, is described there
python_maximum_signature_line_length = 80
toc_object_entries_show_parents = "hide"
myst_heading_anchors = 4
torchrecorder_path = [*(str(DOCS / name) for name in ("reference", "demo", "start")), str(DOCS)]
torchrecorder_cache = str(DOCS / "gallery" / "recordings")
torchrecorder_autodoc = {"reference_nets.*": True}

PART = re.compile(r'^--8<-- "(?P<file>[^":]+)(?::(?P<part>\w+))?"$', re.MULTILINE)
OBJECT = re.compile(r"(?<=\n\n)::: (?P<name>\S+)\n(?P<options>(?:    .*\n)*)")  # not one that is shown in a block
REFERENCE = re.compile(r"\[(?P<text>[^]\[]+)\]\[(?P<name>[\w.]+)\]")


def setup(app: Sphinx) -> None:
    """Read the pages as MkDocs does."""
    app.connect("source-read", translate)
    app.connect("autodoc-process-docstring", code, priority=400)  # before napoleon


def translate(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write a page in the words of MyST."""
    for match in PART.finditer(source[0]):
        app.env.note_dependency(ROOT / match["file"])
    text = PART.sub(part, source[0])
    text = REFERENCE.sub(lambda it: f"{{py:obj}}`{it['text'].strip('`')} <{it['name']}>`", OBJECT.sub(autodoc, text))
    if docname == "index":
        app.env.note_dependency(ROOT / "mkdocs.yml")
        text += "".join(toctrees())
    source[0] = text


def code(app: Sphinx, what: str, name: str, thing: object, options: Any, lines: list[str]) -> None:
    """Docstrings are in Markdown, where one backtick is code."""
    lines[:] = re.sub("(?<!`)`([^`]+)`(?!`)", r"``\1``", "\n".join(lines)).split("\n")


def part(match: re.Match[str]) -> str:
    """A file of the repository, or what stands between two marks in it."""
    text = (ROOT / match["file"]).read_text(encoding="utf-8")
    if match["part"]:
        inside = re.search(rf"\[start:{match['part']}\] -->\n(.*?)\n<!-- --8<-- \[end:", text, re.DOTALL)
        assert inside is not None, f"{match['file']} has no part {match['part']}"
        text = inside[1]
    return text


def autodoc(match: re.Match[str]) -> str:
    """The directive of autodoc that shows what mkdocstrings would."""
    wanted: dict[str, Any] = (yaml.safe_load(match["options"]) or {}).get("options", {})
    thing = resolve_name(match["name"])
    kind = "module" if inspect.ismodule(thing) else "class" if inspect.isclass(thing) else "function"
    kind = kind if kind != "function" or callable(thing) else "data"
    members = wanted.get("members", kind in ("module", "class"))
    lines = [f".. auto{kind}:: {match['name']}"]
    if members:
        lines += [
            f"   :members: {', '.join(members) if isinstance(members, list) else ''}",
            "   :member-order: bysource",
            "   :exclude-members: forward",  # of nets; its text is torch's
        ]
    inherited = wanted.get("inherited_members")
    lines += ["   :inherited-members:"] if inherited else []
    heading = [f"### {wanted['heading']}", ""] if "heading" in wanted else []
    return "\n".join([*heading, "```{eval-rst}", *lines, "```", ""])


def toctrees() -> list[str]:
    """The tables of contents that the navigation of MkDocs makes."""
    found = []
    for entry in CONFIG["nav"]:
        ((title, pages),) = entry.items()
        if pages == "index.md":
            continue
        rows = [pages] if isinstance(pages, str) else pages
        lines = [row if isinstance(row, str) else "{} <{}>".format(*next(iter(row.items()))) for row in rows]
        found.append("\n".join(["", "```{toctree}", ":hidden:", f":caption: {title}", *lines, "```", ""]))
    return found
