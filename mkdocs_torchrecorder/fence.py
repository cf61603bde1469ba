"""Fences in a page's text: where they are, which of them are ours, what they say, and the markers in their place.

Other fences are passed over as a unit, so a fence that is shown inside a longer one is never taken for a diagram. A
fence ends where Python-Markdown's own fences end: at a line with the same characters behind the same indentation. One
that begins on the line of a list item ends as in CommonMark, indented at least as far as the text of the item.

What was likely meant for a fence of ours but cannot be one is taken too, with its problem: if it is only shown, it is
shown as it was written; if not, a warning names its line.

Behind `torchrecorder`, the first line may hold a model, `pkg.Net` or `pkg.Net(width=64, depth=2)`, options, `depth=2`
or `shape="1,3; 1,8"`, and attribute lists, `{.wide #net depth=2}`, in any order.

A marker is what stands in the HTML where a diagram will be. It holds the whole fence, so it survives whatever carries
it: caches, the pages of another plugin, a second Markdown for docstrings. The fence is written in letters and digits
only, because such carriers like to rewrite attributes. Nothing else is in the `<div>` but the caption as HTML, which
has links that other plugins resolve.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

from torchrecorder.site import Body, ModelList, read_header, read_list

LANGUAGE = "torchrecorder"

_TAB = 4  # spaces of a tab, as Markdown has them
_ITEM = r"(?:[-+*:]|\d{1,9}[.)]|\[\^[^\]\s]+\]:) "
"""What begins an item of a list, a definition, or a footnote."""
_OPENING_LINE = re.compile(rf"(?P<prefix>[ >]*(?:{_ITEM}[ >]*)*)(?P<ticks>`{{3,}}(?=[^`]*$)|~{{3,}})(?P<info>.*)")
_OURS = re.compile(r"(?:\{ *)?\.?" + LANGUAGE + r"(?P<kind>-automatic|-models)?(?=[\s{}]|$)(?P<header>.*)")
_CELL = re.compile(
    r"(?P<prefix>(?:.*?\|)? *)"
    rf"(?P<raw>(?P<ticks>`{{3,}}|~{{3,}})\W*{LANGUAGE}\b(?P<said>(?:(?!(?P=ticks))[^|])*)(?P<closed>(?P=ticks))?)"
    r" *(?:\|.*)?",
    re.IGNORECASE,
)
_DIRECTIVE = re.compile(rf"(?P<prefix>[ >]*)\.\. {LANGUAGE}(?:-table|-models)?::.*")
_NEAR = 0.85  # how like our word another one is, by difflib, if it is likely to stand for it

_MARKER_START = '<div class="torchrecorder-marker" data-fence="'
_MARKER = re.compile(rf'{_MARKER_START}([\w=-]+)"(?: data-search-exclude="")?>(.*?)</div>', re.ASCII | re.DOTALL)
_SHOWN = re.compile(r"<(pre|code|textarea|script|style)\b.*?</\1>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
"""Where HTML shows or hides text instead of reading it."""


@dataclass(frozen=True, slots=True)
class Fence:
    """Fence, read, without the indentation and quote signs before it."""

    body: Body
    """What it says, in its first line and below."""
    raw: str
    """All of it as it is written, for where it is only an example."""
    copy: int = 1
    """Tells it from equal ones before it in the page."""
    page: str = ""
    """The page that it was read for: others may carry its marker."""
    is_automatic: bool = False
    """Whether it stands for a documented class, and no author wrote it."""
    is_list: bool = False
    """Whether it asks for a table of models; its body holds their lines."""
    is_wanted: bool = True
    """Whether such a class has a diagram if no block of the page asks for it."""
    line: int = 0
    """Line of the page where such a block does; 0 if none does, or that is not known."""
    row: int = -1
    """Of a model in such a table, its row."""

    def rows(self) -> tuple[Fence, ...]:
        """Fences that are drawn for this one: itself, or one for each model of a table."""
        if not self.is_list:
            return (self,)
        models = ModelList.of(self.body).models
        return tuple(replace(self, body=listed.body, is_list=False, row=row) for row, listed in enumerate(models))


@dataclass(frozen=True, slots=True)
class PlacedFence:
    fence: Fence
    prefix: str
    """What stands before it: indentation, quote signs, the beginning of a list item or of a row."""
    start: int
    """Index of its first line."""
    end: int
    """Index of the line behind it."""
    suffix: str = ""
    """What stands behind it, in a row of a table."""


def find_fences(lines: Sequence[str]) -> Iterator[PlacedFence]:
    """Our fences, in their order, and what was likely meant for one. Tabs must have been expanded."""
    copies: Counter[str] = Counter()
    at = 0
    while at < len(lines):
        placed, end = None, at + 1
        if "```" in lines[at] or "~~~" in lines[at]:
            placed, end = _fence_at(lines, at)
        elif directive := _DIRECTIVE.fullmatch(lines[at]):
            placed = _directive(lines, at, directive["prefix"])
            end = placed.end
        if placed is not None:
            copies[placed.fence.raw] += 1
            yield replace(placed, fence=replace(placed.fence, copy=copies[placed.fence.raw]))
        at = end


def find_line(fence: Fence, text: str) -> int | None:
    """Number of the line in the text of a file in which the fence begins; None if it came from elsewhere."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").expandtabs(_TAB).split("\n")
    for place in find_fences(lines):
        if (place.fence.raw, place.fence.copy) == (fence.raw, fence.copy):
            return place.start + 1
    return None


def continued(prefix: str) -> str:
    """Prefix of the next lines of a fence: the text of a list item goes on behind spaces."""
    return re.sub(r"[^ >]", " ", prefix)


def _fence_at(lines: Sequence[str], at: int) -> tuple[PlacedFence | None, int]:
    """The fence that begins in a line, if it is ours, and the line to go on at."""
    opening = _OPENING_LINE.fullmatch(lines[at])
    if opening is None:
        return _in_cell(lines[at], at), at + 1
    info = opening["info"].strip()
    ours = _OURS.fullmatch(info)
    problem = "" if ours else _misspelt(info)
    inner, closing = _inner_lines(lines, at, opening, is_ours=bool(ours or problem))
    end = at + len(inner) + 2 if closing else at + 1
    if not ours and not problem:
        return None, end
    raw = "\n".join([lines[at][len(opening["prefix"]) :], *([*inner, closing] if closing else [])])
    ticks = opening["ticks"]
    if not problem and not closing:
        problem = f"the fence is not closed: write {ticks} in a line of its own below it, indented as it is"
    elif not problem and closing.strip() != ticks:
        problem = f"the fence is closed by {closing.strip()}, which is longer than its opening: write {ticks}"
    kind = "" if problem or ours is None else ours["kind"] or ""
    if kind == "-automatic":
        fence = replace(_fence("".join(inner).strip()), raw=raw)
    else:
        body = Body("", fault=problem)
        if ours is not None and not problem:
            body = read_fence(ours["header"], inner, is_list=bool(kind))
        fence = Fence(body, raw, is_list=bool(kind))
    return PlacedFence(fence, opening["prefix"], at, end), end


def _directive(lines: Sequence[str], at: int, prefix: str) -> PlacedFence:
    """Directive of Sphinx, as in a docstring that was written for it."""
    raw = [lines[at][len(prefix) :]]
    for line in lines[at + 1 :]:
        if not line.startswith(f"{prefix}  "):
            break
        raw.append(line[len(prefix) :])
    problem = (
        f"a directive of reStructuredText is text in Markdown: write a fence of the word {LANGUAGE} with its lines"
    )
    return PlacedFence(Fence(Body("", fault=problem), "\n".join(raw)), prefix, at, at + len(raw))


def _in_cell(line: str, at: int) -> PlacedFence | None:
    """A fence in a cell of a table, where Markdown has none; the word alone is code that is only shown."""
    cell = _CELL.fullmatch(line) if "|" in line else None
    if cell is None or (cell["closed"] and not cell["said"].strip(" }")):
        return None
    problem = "a fence cannot stand in a cell of a table: write it below, or the table in HTML with <td markdown>"
    fence = Fence(Body("", fault=problem), cell["raw"])
    return PlacedFence(fence, cell["prefix"], at, at + 1, line[cell.end("raw") :])


def _misspelt(info: str) -> str:
    """Problem of the first word behind the ticks, if it is like ours."""
    words = info.replace("{", " ").replace("}", " ").split()[:2]
    first, *others = [*(re.sub(r"[\W_]", "", word).lower() for word in words), ""]
    is_whole = "".join((first, *others)) == LANGUAGE
    is_meant = is_whole or first.startswith(LANGUAGE) or get_close_matches(first, [LANGUAGE], 1, _NEAR)
    written = " ".join(words) if is_whole else "".join(words[:1])
    return f"{written!r} is not a known word for a fence, did you mean {LANGUAGE}?" if is_meant else ""


def _inner_lines(lines: Sequence[str], at: int, opening: re.Match[str], *, is_ours: bool) -> tuple[list[str], str]:
    """The lines between an opening and its end, without prefix, and the end, which is empty if there is none.

    One of ours ends at a longer end too, and has none if another fence begins before it: what follows is the page's.
    """
    inner: list[str] = []
    ticks, prefix = opening["ticks"], continued(opening["prefix"])
    is_item = prefix != opening["prefix"]
    for line in lines[at + 1 :]:
        if not line.startswith(prefix) and line.strip(" >" if ">" in prefix else " "):
            break  # it does not belong to the block that the prefix makes
        text = line[len(prefix) :] if line.startswith(prefix) else ""
        end = text.strip() if is_item else text.rstrip()
        if end == ticks or (is_ours and len(end) > len(ticks) and end == ticks[0] * len(end)):
            return inner, text
        if is_ours and end.startswith(ticks) and _OPENING_LINE.fullmatch(end):
            break
        inner.append(text if text.strip() else "")
    return [], ""


def read_fence(first: str, lines: Sequence[str], *, is_list: bool = False) -> Body:
    header = read_header(first)
    if is_list:
        return read_list([*filter(None, (header.target,)), *lines], header.options)
    body = Body.read(lines, header.target, header.options)
    problems, options = [*header.problems, *body.problems], dict(body.options)
    named = options.pop("target", None)
    if named and body.target:
        problems.append(f"two models are named, {body.target} and {named}")
    return replace(body, target=body.target or named or "", options=options, problems=tuple(problems))


def automatic_fence(body: Body | None, name: str) -> str:
    """Text of the fence for a documented class, of which a block of the page may say more than its body."""
    fence = Fence(body or Body(name), "", is_automatic=True, is_wanted=body is not None)
    return f"```{LANGUAGE}-automatic\n{_packed(fence)}\n```"


def _packed(fence: Fence) -> str:
    return base64.urlsafe_b64encode(json.dumps(asdict(fence)).encode()).decode()


def marker(fence: Fence, caption: str = "") -> str:
    return f'{_MARKER_START}{_packed(fence)}" data-search-exclude="">{caption}</div>'


def is_marker(text: str) -> bool:
    return text.startswith(_MARKER_START) and _MARKER.fullmatch(text) is not None


def marked_fences(text: str) -> list[Fence]:
    return [_fence(match[1]) for match in _MARKER.finditer(text)] if _MARKER_START in text else []


def asked_fences(text: str) -> list[Fence]:
    """Fences that are drawn for the markers of a text."""
    return [row for fence in marked_fences(text) for row in fence.rows()]


def replace_markers(text: str, replacement: Callable[[Fence, str], str]) -> str:
    """The HTML with something else in place of every marker, given its fence and the HTML of its caption."""
    return _MARKER.sub(lambda match: replacement(_fence(match[1]), match[2]), text) if _MARKER_START in text else text


def show_examples(text: str) -> str:
    """The HTML with the fence itself in place of a marker that has come into shown or hidden text."""

    def raw(fence: Fence, _: str) -> str:
        return html.escape(fence.raw, quote=False)

    return _SHOWN.sub(lambda part: replace_markers(part[0], raw), text) if _MARKER_START in text else text


def without_shown(text: str) -> str:
    return _SHOWN.sub("", text)


@lru_cache(maxsize=4096)
def _fence(data: str) -> Fence:
    """Fence in a marker, which is looked at by one event of a build after the other."""
    try:
        values = json.loads(base64.urlsafe_b64decode(data))
        said: dict[str, Any] = values["body"]
        said |= {name: tuple(value) for name, value in said.items() if isinstance(value, list)}
        fence = Fence(**{**values, "body": Body(**said)})
        if _types(fence) == _types(_EMPTY) and _types(fence.body) == _types(_EMPTY.body):
            return fence
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    return _EMPTY  # another version has made it


_EMPTY = Fence(Body(""), "")


def _types(value: Fence | Body) -> list[type]:
    return [type(getattr(value, field.name)) for field in fields(value)]
