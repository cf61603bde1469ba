"""The proof of the numbers in a finished layout: how often a thing is drawn once, and how many parameters it has.

Written from the words that stand in the picture and from the Graph; it shares no code with what writes the words.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchrecorder.graph import Graph
    from torchrecorder.layout.model import Layout
    from torchrecorder.view import Box, Node, View

_TIMES = re.compile(r"(?:(?:^|\s)×|\bcalled )(\d+)(?=×?(?:\s|$))|(?:^|\s)(\d+) in parallel\b")
"""`×4`, `called 5×` and `6 in parallel`, but no sizes such as `3×3`."""
_OF_A_PART = re.compile(r"×\d+ for ×\d+")
"""In what a layer differs from others: how often a part of it is drawn."""
_PARAMS = re.compile(r"(?:^|\s)([\d.]+)(?:\s([kMBT]))? params?\b( each)?")
_THOUSANDS = "kMBT"


def wrong_numbers(view: View, letter: str, said: Mapping[str, str]) -> Iterator[str]:
    """Sentences on numbers in a picture that are not those of the Graph, or are missing; none if all are right."""
    for box in view.boxes:
        yield from _faults(view.graph, box, said.get(f"{letter}b{box.id}", ""))
    for node in view.nodes:
        if node.kind == "call":
            yield from _faults(view.graph, node, said.get(f"{letter}{node.id}", ""))


def words_of(layout: Layout) -> dict[str, str]:
    """By key of a node or box the words that stand at it, but for those of a styler."""
    figures = (*layout.nodes, *layout.boxes)
    said = {one.key: " ".join(word.text for word in one.words) for one in figures if one.style.label is None}
    for title in layout.titles or ():
        if title.key in said:
            said[title.key] += f" {title.word.text}"
    return said


def _faults(graph: Graph, thing: Box | Node, words: str) -> Iterator[str]:
    if not words:
        return
    where = graph.calls[thing.calls[0]].module or "the model"
    times = [int(found[1] or found[2]) for found in _TIMES.finditer(_OF_A_PART.sub("", words))]
    if thing.repeat > 1 and thing.repeat not in times:
        yield f"“{words}” does not say that {where} stands for {thing.repeat} calls"
    if thing.repeat == 1 and times:
        yield f"“{words}” says {times[0]} calls of {where}, which is one"
    if "param" in words and (found := _PARAMS.search(words)):
        modules = dict.fromkeys(graph.calls[call].module for call in thing.calls)
        totals = [graph.modules[path].params.total for path in modules if path in graph.modules]
        if not _is_said(found, totals):
            yield f"“{words}” says other numbers of parameters than {where} has, {', '.join(map(str, totals[:3]))}"


def _is_said(found: re.Match[str], totals: Iterable[int]) -> bool:
    """Whether the rounded number is that of each of some modules, or the sum of them."""
    unit, is_each = found[2], bool(found[3])
    exact = float(found[1]) * (1000 ** (_THOUSANDS.index(unit) + 1) if unit else 1)
    # three digits are written, of which zeros at the end are left out
    room = 0.5001 * 10 ** (math.floor(math.log10(exact)) - 2) if unit else 0
    return all(abs(total - exact) <= room for total in (totals if is_each else [sum(totals)]))
