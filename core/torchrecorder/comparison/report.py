"""What changed, as text for a terminal and as Markdown for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from torchrecorder.comparison.changes import Change, pattern, shown_paths
from torchrecorder.comparison.difference import Difference, ShapeChange
from torchrecorder.errors import LOG_LIMIT, shown_text
from torchrecorder.labels.names import count
from torchrecorder.view.model import Mark

SIGNS: dict[Mark, str] = {"added": "+", "removed": "−", "changed": "~", "moved": "→"}
# Changes, shapes, and inputs and outputs that are listed: as much as a reviewer reads in a comment.
_MOST, _MOST_SHAPES, _MOST_ENDS = 60, 12, 8
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~])")
_ACTIVE = re.compile(r"\S*(?:@|://|www\.|#\d|GH-\d)\S*", re.IGNORECASE)
"""Texts that a platform turns into a mention, a link or a reference, even if escaped, but not within code."""
_LINE_ENDS = re.compile("[\t-\r\u2028\u2029]+")


def text(difference: Difference, names: tuple[str, str]) -> str:
    """All changes, a line for each, without the names of the files."""
    rows = [f"{name:<11} {old} → {new}  {delta}".rstrip() for name, old, new, delta in totals(difference)]
    rows += [f"{row.place:<11} {row.old or 'none'} → {row.new or 'none'}" for row in ends(difference)]
    lines = [_title(difference, names), *rows]
    if difference.is_empty:
        return _joined((*lines, "nothing that the model computes has changed"))
    lines.append("")
    for change in difference.changes[:_MOST]:
        place = f"{change.place}: " if change.where else ""
        delta = f"  {_signed(change.params)} params" if change.params else ""
        lines.append(f"{SIGNS[change.mark]} {place}{change.text}{_times(change)}{delta}")
    if (more := len(difference.changes) - _MOST) > 0:
        lines.append(f"… and {more} more changes")
    shapes, hidden = _shown(difference.shapes)
    if shapes:
        lines += ["", "shapes", *(f"  {row.place}  {row.old} → {row.new}" for row in shapes)]
        lines += [f"  … and {hidden} more"] if hidden else []
    return _joined(lines).rstrip()


def markdown(difference: Difference, names: tuple[str, str]) -> str:
    """The same for a comment on a pull request."""
    lines = [f"### {escaped(_title(difference, names))}", ""]
    if difference.is_empty:
        return _joined((*lines, "Nothing that the model computes has changed."))
    inputs = ((row.place, row.old or "none", row.new or "none", "") for row in ends(difference))
    rows = [*totals(difference), *inputs]
    if rows:
        lines += ["| | before | after | Δ |", "|---|---:|---:|---:|"]
        lines += [f"| {' | '.join(map(escaped, row))} |" for row in rows] + [""]
    for change in difference.changes[:_MOST]:
        place = f"{_code(change.place)}: " if change.where else ""
        delta = f" ({_signed(change.params)} parameters)" if change.params else ""
        what = change.text.replace(f" {change.mark}", "", 1)
        lines.append(f"- **{change.mark}** {place}{escaped(what)}{_times(change)}{delta}")
    if (more := len(difference.changes) - _MOST) > 0:
        lines.append(f"- … and {more} more changes")
    shapes, hidden = _shown(difference.shapes)
    if shapes:
        lines += ["", f"<details><summary>{len(difference.shapes)} layers give other shapes</summary>", ""]
        lines += ["| layer | before | after |", "|---|---|---|"]
        lines += [f"| {_code(row.place)} | {escaped(row.old)} | {escaped(row.new)} |" for row in shapes]
        lines += [f"| … and {hidden} more | | |"] if hidden else []
        lines += ["", "</details>"]
    return _joined(lines)


def summary(difference: Difference, names: tuple[str, str]) -> str:
    """A sentence for readers who cannot see the picture."""
    counts = {mark: sum(change.mark == mark for change in difference.changes) for mark in SIGNS}
    words = [f"{number} {mark}" for mark, number in counts.items() if number]
    first = "; ".join(
        f"{change.place}: {change.text}" if change.where else change.text for change in difference.changes[:3]
    )
    return f"{_title(difference, names)}. {', '.join(words) or 'Nothing has changed'}" + (f". {first}" if first else "")


def _title(difference: Difference, names: tuple[str, str]) -> str:
    old, new = names
    return old if old == new else f"{old} → {new}"


def totals(difference: Difference) -> Iterator[tuple[str, str, str, str]]:
    """Parameters and FLOPs of both, and by how much they differ; only what does."""
    both = difference.old, difference.new
    params = [graph.modules[""].params for graph in both]
    pairs = [("parameters", [it.total for it in params])]
    if [it.trainable == it.total for it in params] != [True, True]:
        pairs.append(("trainable", [it.trainable for it in params]))
    pairs.append(("FLOPs", [sum(op.flops or 0 for op in graph.ops) for graph in both]))
    for name, (old, new) in pairs:
        if old != new:
            share = f"{100 * (new / old - 1):+.1f} %".replace("-", "−") if old else ""
            share = f" ({share})" if share.strip("+−0. %") else ""
            delta = _signed(new - old).replace("B", "G") if name == "FLOPs" else _signed(new - old)
            yield name, f"{old:,}", f"{new:,}", f"{delta}{share}"


def ends(difference: Difference) -> list[ShapeChange]:
    """The inputs and outputs that differ; the last row says how many more do."""
    rows = [*difference.inputs, *difference.outputs]
    if (more := len(rows) - _MOST_ENDS) > 0:
        rows[_MOST_ENDS:] = [ShapeChange(f"{more} more", "…", "…")]
    return rows


def _signed(number: int) -> str:
    return ("+" if number > 0 else "−") + count(abs(number))


def _times(change: Change) -> str:
    is_said = change.is_counted or "layers" in change.text
    return f" (×{len(change.where)})" if len(change.where) > 1 and not is_said else ""


def _shown(shapes: list[ShapeChange]) -> tuple[list[ShapeChange], int]:
    """The shapes that are listed, the outermost layers first if there are many, and how many are not."""
    if len(shapes) <= _MOST_SHAPES:
        return shapes, 0
    level = min(row.place.count(".") for row in shapes)
    alike: dict[tuple[str, str, str], list[str]] = {}
    for row in shapes:
        if row.place.count(".") == level:
            alike.setdefault((pattern(row.place), row.old, row.new), []).append(row.place)
    rows = [ShapeChange(shown_paths(places), old, new) for (_, old, new), places in alike.items()][:_MOST_SHAPES]
    return rows, len(shapes) - sum(len(places) for places in [*alike.values()][:_MOST_SHAPES])


def one_line(text: str) -> str:
    """A text in which names of a foreign Graph may stand, as one line that does nothing to a terminal."""
    return shown_text(_LINE_ENDS.sub(" ", text), LOG_LIMIT)


def escaped(text: str) -> str:
    """The text as one line of Markdown, in which nothing is markup; what a platform would react to is code."""
    text, done, parts = one_line(text), 0, []
    for active in _ACTIVE.finditer(text):
        parts += [_MARKDOWN.sub(r"\\\1", text[done : active.start()]), _code(active[0])]
        done = active.end()
    return "".join([*parts, _MARKDOWN.sub(r"\\\1", text[done:])])


def _code(text: str) -> str:
    return f"`{one_line(text).replace('`', '').replace('|', '¦')}`"


def _joined(lines: Iterable[str]) -> str:
    return "\n".join(map(one_line, lines))
