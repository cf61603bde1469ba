"""What a page says below a picture: one line for readers and, closed, the signs that the picture uses and its notes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from torchrecorder.page.words import ABOUT, EXAMPLE, GRADES, SIGNS, SIZES, Translate, coded, in_english, translated

if TYPE_CHECKING:
    from torchrecorder.drawing.model import Drawing
    from torchrecorder.page.diagram import Diagram

_WRITTEN = {
    "N": r"(?:^|[ ×])\d*N(?=[×·/]|$)",
    "3×3 /2": r"(?:Conv|Pool)\w* (\d+(?:×\d+)*(?: /\d+)?)",
    "64→128": r"\b\d+→\d+",
    "×4": r"(?:^|(?<=\s))×\d+|each of \d+ layers",
    "6 in parallel": r"\d+ in parallel",
    "called 4 times · shared": r"called \d+ times",
    "loop": r"· loop\b|each step ×\d+",
    "2 of 5 · shared": r"\d+ of \d+ · shared",
    "without downsample": r"\b(?:with|without) (?!params)\w+",
    "A": r"^[A-Z](?=\N{EN SPACE})",
    "from layer2": r"^from \S.*",
    "2nd half": r"(?:^| · )(1st half|2nd half|\d[\d–, ]* of \d+|\[.*\d.*\])$",
    "params": r"\bparams?\b",
    "FLOPs": r"\bFLOPs\b",
    "+": r"^\+$",
}
"""By the sign of `SIGNS` how it stands in the words of a picture; what is in brackets is the sign."""
_AT_HALF = "from layer2"
"""The sign that stands beside nodes only; nodes of data from elsewhere are worded alike."""
_FLAGGED = {
    "a line in colour": "skip",
    "a line back": "back",
    "a small sign at a corner": "shared1",
    "a diamond": "decides",
    "a dashed node": "link",
}
"""By the sign the flag of things that are drawn so."""
_AS_WRITTEN = ("3×3 /2", "64→128", "×4", "6 in parallel", "without downsample", "from layer2", "2nd half")
"""Signs that are shown as the picture has them first."""


def line(diagram: Diagram, translate: Translate = in_english) -> str:
    """What a reader has to know: that sizes are those of an example; empty if an author gave the inputs."""
    grade = diagram.facts.get("grade", "")
    if not diagram.facts.get("guessed") or grade == "declared":
        return ""
    return translate(EXAMPLE) if grade == "names" else translate(SIZES).format(diagram.facts.get("input", ""))


def guess(diagram: Diagram, translate: Translate = in_english) -> str:
    """Inputs that were found, with where they come from; empty if they were given."""
    if not (guessed := diagram.facts.get("guessed")):
        return ""
    return translate(GRADES.get(diagram.facts.get("grade", ""), "{}")).format(translated(guessed, translate))


def signs(drawings: Iterable[Drawing], translate: Translate = in_english) -> Iterator[tuple[str, str]]:
    """The signs that pictures use, each with what it means."""
    layouts = [layout for drawing in drawings for layout in drawing.layouts]
    figures = [figure for layout in layouts for figure in (*layout.nodes, *layout.boxes)]
    words = [word.text for figure in figures for word in figure.words]
    words += [word.text for layout in layouts for word in layout.words]
    words += [title.word.text for layout in layouts for title in layout.titles or ()]
    words += [line.word for layout in layouts for line in layout.lines]
    tags = [word.text for figure in figures if not figure.key for word in figure.words]
    flags = {flag for figure in figures for flag in figure.flags}
    flags |= {flag for layout in layouts for line in layout.lines for flag in line.flags}
    for sign, meaning in SIGNS.items():
        pattern = re.compile(_WRITTEN.get(sign, "(?!)"))
        written = filter(None, map(pattern.search, tags if sign == _AT_HALF else words))
        if sign in _FLAGGED and _FLAGGED[sign] in flags:
            yield translate(sign), translate(meaning)
        elif first := next((match[match.lastindex or 0] for match in written), ""):
            yield first if sign in _AS_WRITTEN else sign, translate(meaning)


def details(drawings: Iterable[Drawing], notes: Sequence[str], translate: Translate = in_english) -> str:
    """The closed element with a fact sheet, signs and notes; nothing if there are none."""
    drawings = [*drawings]
    facts = drawings[0].facts if drawings else {}
    from torchrecorder.labels.sheet import LABELS  # loads all that knows of Views, for which `check` does not wait

    said = [(translate(label), facts[name]) for name, label in LABELS.items() if name in facts]
    pairs = (*said, *signs(drawings, translate))
    rows = [f"<strong>{escape(sign)}</strong> {escape(meaning)}" for sign, meaning in pairs]
    rows += map(coded, notes)
    if not rows:
        return ""
    shown = "".join(f'<div role="listitem">{row}</div>' for row in rows)  # themes give lists and paragraphs looks
    summary = escape(translate(ABOUT))
    opened = f'<div role="list">{shown}</div>'
    return f'<details class="torchrecorder-about"><summary>{summary}</summary>{opened}</details>'
