"""What a table or a grid of models says of each of them: the same for every tool.

The paper and the licence stand in docstrings, read from the files that a recording depended on; nothing is imported.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import NamedTuple

from torchrecorder.errors import OutOfDate
from torchrecorder.graph import Graph
from torchrecorder.graph.memory import activation_memory
from torchrecorder.labels.names import class_name, count, flops, size
from torchrecorder.page import about
from torchrecorder.page.outcome import Outcome
from torchrecorder.page.words import IN_TABLE, Translate, in_english
from torchrecorder.request import Body, parse_target
from torchrecorder.request.models import COLUMNS, NUMBERS, ListedModel, ModelList

_TOGETHER = "\N{NO-BREAK SPACE}"  # between a number and its unit, which no line of a narrow cell parts
_KINDS = 3  # classes of layers that a cell names, the most frequent ones
_OF_INPUTS = ("flops", "memory", "input", "output")  # columns that follow from the inputs of a model
_ENDS = 3
"""Inputs and outputs that a cell shows: a decoder gives its keys and values, too, two tensors for each layer."""
_NAMED = 5  # models that the line below a table names; of more it says how many they are


@dataclass(frozen=True, slots=True)
class ModelRow:
    """A model of a list with what became of it."""

    listed: ListedModel
    outcome: Outcome
    url: str = ""
    """Where its name leads; empty for nowhere."""
    picture: str = ""
    """Address of the file of its picture; empty if there is none."""

    @property
    def is_drawn(self) -> bool:
        """Whether the whole model is known; numbers of a forward that failed half-way would be wrong."""
        return self.outcome.diagram is not None and isinstance(self.outcome.error, OutOfDate | None)

    @property
    def name(self) -> str:
        """Its title, else what it is called in its module or on the hub: one class may be built by many functions."""
        target = self.outcome.request.recording.target
        if self.listed.title or self.outcome.diagram is None:
            return self.listed.title or target.partition("(")[0]
        called = parse_target(target)
        return called.short.partition(":")[2].removeprefix("./") or called.dotted.rpartition(".")[2]

    def address(self, column: str) -> str:
        """Where the text of a cell leads; empty for nowhere."""
        return self.url if column == "name" else self._described(column).url if column in DESCRIBED else ""

    def _described(self, column: str) -> Described:
        names = (self.outcome.request.recording.target.partition("(")[0].rpartition(".")[2],)
        cls = self.outcome.diagram.facts.get("model", "") if self.outcome.diagram else ""
        return described(column, (*names, cls), self.outcome.sources)

    def cell(self, column: str, translate: Translate = in_english) -> str:
        """The text of a cell; empty for a picture."""
        diagram = self.outcome.diagram
        if column == "name":
            return self.name
        if column == "tags":
            return " · ".join(self.listed.tags)
        if diagram is None:
            return ""
        facts = diagram.facts
        if column in DESCRIBED:
            return self._described(column).text
        if column in ("parameters", "trainable", "flops"):
            number = facts.get(column) or facts.get("parameters" if column == "trainable" else "", "")
            written = flops if column == "flops" else count
            return written(int(number.replace(",", ""))).replace(" ", _TOGETHER) if number else ""
        if column in ("input", "output"):
            ends = facts.get(column, "").split(", ")
            return ", ".join(ends[:_ENDS]) + (f" … +{len(ends) - _ENDS}" if len(ends) > _ENDS else "")
        return _OF_GRAPH[column](diagram.graph) if column in _OF_GRAPH else ""

    def facts(self, columns: Iterable[str], translate: Translate = in_english) -> str:
        """A line with the cells of these columns, but for the name, the picture and the tags."""
        cells = ((name, self.cell(name, translate)) for name in columns if name not in ("name", "picture", "tags"))
        said = ((text, "" if name == "flops" else f"{translate(COLUMNS[name])}:{_TOGETHER}") for name, text in cells)
        return " · ".join(f"{before}{text}" for text, before in said if text)


def line_of_inputs(rows: Iterable[ModelRow], columns: Iterable[str], translate: Translate = in_english) -> str:
    """Line below a table: which columns are those of inputs that no author gave; empty if there are none."""
    drawn = [row for row in rows if row.is_drawn]
    found = [row.name for row in drawn if row.outcome.diagram is not None and about.line(row.outcome.diagram)]
    of_inputs = ", ".join(translate(COLUMNS[name]) for name in columns if name in _OF_INPUTS)
    if not found or not of_inputs:
        return ""
    if len(found) == len(drawn):
        return translate(IN_TABLE[0]).format(of_inputs)
    named = ", ".join(found) if len(found) <= _NAMED else f"{len(found)}/{len(drawn)}"
    return translate(IN_TABLE[1]).format(of_inputs, named)


def _memory(graph: Graph) -> str:
    memory = activation_memory(graph)
    return ("≥ " if memory.unknown else "") + size(memory.peak).replace(" ", _TOGETHER)


def _layers(graph: Graph) -> str:
    """The layers that have parameters, by class: `53 Conv2d, 53 BatchNorm2d, 1 Linear`."""
    modules = (graph.modules[path] for path in _called(graph))
    kinds = Counter(class_name(module) for module in modules if module.params.own)
    shown = [f"{n} {kind}" for kind, n in kinds.most_common(_KINDS)]
    return ", ".join(shown) + (" …" if len(kinds) > _KINDS else "")


def _called(graph: Graph) -> set[str]:
    return {call.module for call in graph.calls if call.kind == "module"} & graph.modules.keys()


_OF_GRAPH: dict[str, Callable[[Graph], str]] = {
    "memory": _memory,
    "depth": lambda graph: str(max((path.count(".") + 1 for path in _called(graph) if path), default=0)),
    "layers": _layers,
}


def models_html(shown: ModelList, rows: Sequence[ModelRow], caption: str, translate: Translate = in_english) -> str:
    """A table or a grid in HTML, without the element around it; `caption` is HTML."""
    above = f'<p class="torchrecorder-caption">{caption}</p>' if caption else ""
    said = line_of_inputs(rows, shown.columns, translate)
    below = f'<p class="torchrecorder-remark">{escape(said)}</p>' if said else ""
    if shown.is_grid:
        cards = "".join(f'<li class="torchrecorder-card">{_card(shown, row, translate)}</li>' for row in rows)
        return f'{above}<ul class="torchrecorder-grid">{cards}</ul>{below}'
    head = "".join(f'<th scope="col"{_class(name)}>{escape(translate(COLUMNS[name]))}</th>' for name in shown.columns)
    lines = "".join(f"<tr>{''.join(_cells(shown, row, translate))}</tr>" for row in rows)
    return f"{above}<table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>{below}"


def _cells(shown: ModelList, row: ModelRow, translate: Translate) -> list[str]:
    if not row.is_drawn:
        why = escape(row.outcome.reasons(translate)[0].splitlines()[0])
        return [f'<td colspan="{len(shown.columns)}"><strong>{escape(row.name)}</strong> {why}</td>']
    return [f"<td{_class(column)}>{_content(row, column, translate)}</td>" for column in shown.columns]


def _class(column: str) -> str:
    return ' class="number"' if column in NUMBERS else ""


def _card(shown: ModelList, row: ModelRow, translate: Translate) -> str:
    if not row.is_drawn:
        reasons = "<br>".join(map(escape, row.outcome.reasons(translate)))
        return f"<strong>{escape(row.name)}</strong><small>{reasons}</small>"
    facts = row.facts(shown.columns, translate)
    lines = [_content(row, "picture", translate), f"<strong>{_content(row, 'name', translate)}</strong>"]
    lines += [f"<small>{escape(facts)}</small>"] if facts else []
    lines += [f'<small class="torchrecorder-tags">{escape(row.cell("tags"))}</small>'] if row.listed.tags else []
    return "".join(lines)


def _content(row: ModelRow, column: str, translate: Translate) -> str:
    if column == "picture":
        alt = escape(row.outcome.title(translate))
        shown = f'<img src="{escape(row.picture)}" alt="{alt}" loading="lazy">' if row.picture else ""
        return f'<a href="{escape(row.url or row.picture)}">{shown}</a>' if shown else ""
    text, url = escape(row.cell(column, translate)), row.address(column)
    return f'<a href="{escape(url)}">{text}</a>' if url else text


def line_of_numbers(outcome: Outcome, translate: Translate = in_english) -> str:
    """Numbers of one model: `Parameters: 98 · 320 FLOPs · Activations: 304 B · N×3 → N×2`; empty of one that failed."""
    row = ModelRow(ListedModel(Body("")), outcome)
    if not row.is_drawn:
        return ""
    ends = " → ".join(filter(None, (row.cell("input"), row.cell("output"))))
    return " · ".join(filter(None, (row.facts(("parameters", "flops", "memory"), translate), ends)))


def rows_of(shown: ModelList, outcomes: Iterable[Outcome | None]) -> list[tuple[ListedModel, Outcome]]:
    """Models of a list with what became of each; a line with a pattern has one for each model that it means."""
    each = zip(shown.models, outcomes, strict=True)
    return [(listed, one) for listed, outcome in each if outcome is not None for one in outcome.each]


_FIELD = r"^[ \t]*[-*]?[ \t]*:?\**(?:{})\**[ \t]*:\**[ \t]*(?P<text>\S.*(?:\n[ \t]+\S.*)*)"
"""A field as `:paper: …`, `Paper: …` or `**Paper**: …`, whose indented next lines go on with it."""
DESCRIBED = {
    "paper": re.compile(_FIELD.format("papers?|references?"), re.IGNORECASE | re.MULTILINE),
    "licence": re.compile(_FIELD.format("licen[cs]e"), re.IGNORECASE | re.MULTILINE),
}
"""What can be asked for, with its field."""
_LINKS = (
    re.compile(r"`(?P<text>[^`<>]*?)\s*<(?P<url>https?://[^>\s]+)>`_*"),
    re.compile(r"\[(?P<text>[^\]]*)\]\((?P<url>https?://[^)\s]+)\)"),
    re.compile(r"(?P<text>)(?P<url>https?://[^\s<>`\"']*[^\s<>`\"'.,;:)\]])"),
)
"""Links of reStructuredText and Markdown, and bare addresses."""
_OF_PAPERS = re.compile(
    r"https?://(?:www\.|dx\.)?(?:arxiv\.org|doi\.org|openreview\.net|aclanthology\.org|openaccess\.)"
)


class Described(NamedTuple):
    text: str = ""
    url: str = ""
    """Where it leads; empty for nowhere."""


def described(what: str, names: Iterable[str], files: Iterable[Path]) -> Described:
    """The `paper` or the `licence` of a model; empty if its docstrings name none.

    A paper without a field is the first link to a place where papers are.

    Args:
        what: Which of the two.
        names: The function that makes the model, and its class, without their modules; the first that says it counts.
        files: Those that may define them.
    """
    known: list[dict[str, str]] = []
    for file in (file for file in files if file.suffix == ".py"):
        with suppress(OSError):
            known.append(_top_level(file, file.stat().st_mtime_ns))
    for docstring in (texts[name] for name in dict.fromkeys(names) for texts in known if name in texts):
        if field := DESCRIBED[what].search(docstring):
            text = " ".join(field["text"].split())
            words, url = _link(text)
            return Described(words or text.replace(url, "").strip(" ,.;:()<>") or _address(url), url)
        if what == "paper" and (link := _link(docstring, _OF_PAPERS)).url:
            return Described(link.text or _address(link.url), link.url)
    return Described()


def _link(text: str, wanted: re.Pattern[str] = re.compile("")) -> Described:
    """The first link of a text that is wanted, with its own words; empty if there is none."""
    links = (link for pattern in _LINKS for link in pattern.finditer(text) if wanted.match(link["url"]))
    first = min(links, key=lambda link: link.start(), default=None)
    return Described(" ".join(first["text"].split()), first["url"]) if first else Described()


def _address(url: str) -> str:
    return url.partition("://")[2]


@lru_cache(maxsize=512)
def _top_level(file: Path, _changed_ns: int) -> dict[str, str]:
    """The docstrings of the classes and functions of a file, by name; none if it cannot be read as Python."""
    try:
        tree = ast.parse(file.read_bytes())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {node.name: ast.get_docstring(node) or "" for node in tree.body if isinstance(node, kinds)}
