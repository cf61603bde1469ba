"""Whether the settings that a picture writes are those of every call that it writes them for.

It reads the finished words, and what ran: the sizes of the weights and the arguments of the ops, not what layers say of
themselves, from which the words were made.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from torchrecorder.graph import Graph, Op
from torchrecorder.labels.labels import Labels
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import GraphFacts
from torchrecorder.proof.sameness import Sameness
from torchrecorder.view import View

_PLACES = {
    "conv": {"stride": "3", "dilation": "5", "groups": "6"},
    "conv_transpose": {"stride": "3", "groups": "6", "dilation": "7"},
}
_KERNEL = r"\d+(?:×\d+)*"
_WINDOW = re.compile(rf" ({_KERNEL}(?:(?:, | … ){_KERNEL})*)(?= /\d| ·|$| ×\d)")
_CHANNELS = re.compile(r"\d+→\d+")


def untrue(view: View) -> list[str]:
    """Sentences on settings that some call has not, and on those that are not said; none if all are so."""
    facts = GraphFacts(view.graph)
    coverages = [Coverage(shown, facts) for shown in (view, *(inset.view for inset in view.insets))]
    sameness = Sameness(view, facts, coverages)
    [*sameness.faults()]
    sentences = []
    # a letter may stand in a call that is odd among those of another
    odd = [work for calls in sameness.odd.values() for call in calls for work in _works(facts, call)]
    for coverage, known, letter in zip(coverages, sameness.again, ("", *sameness.lettered), strict=True):
        labels, again = Labels(coverage.view), {call: [*others] for call, others in known.items()}
        for call in sameness.odd.get(letter, ()):
            for other, first in facts.match(call, coverage.root).calls.items():
                if not any(part.isdigit() for part in _inside(view.graph, first, coverage.root)):
                    again.setdefault(coverage.drawn_call(first), []).append(other)
        for node in coverage.view.nodes:
            if node.kind != "call" or labels.kind(node) not in ("conv", "linear"):
                continue
            calls = dict.fromkeys(call for own in node.calls for call in (own, *again.get(own, ())))
            words = " · ".join(filter(None, labels.node(node)[:2]))
            works = [work for call in calls for work in _works(facts, call)]
            is_closed = "params" in words or re.search(r"[A-Za-z] or [A-Z]", words)  # `Sequential or Conv2d`
            if not is_closed and len(works) == len(calls):
                sentences += [f"“{words}”: {fault}" for fault in _faults(words, works, odd)]
    return sentences


def _inside(graph: Graph, call: int, root: int) -> list[str]:
    """The parts of a path in another: a number may stand for another layer in a container of other length."""
    return graph.calls[call].module[len(graph.calls[root].module) :].split(".")


def _works(facts: GraphFacts, call: int) -> list[dict[str, str]]:
    """What each convolution and linear op in a call did."""
    ops = (facts.graph.ops[op] for op in facts.ops_of([call]))
    return [_settings(facts.graph, op) for op in ops if re.fullmatch(r"linear|conv(_transpose)?\dd", op.name)]


def _settings(graph: Graph, op: Op) -> dict[str, str]:
    data, weight = (graph.values[value].shape for value in op.inputs[:2])
    if op.name == "linear":
        return {"channels": f"{weight[1]}→{weight[0]}"}
    found = {name: _one(op.attrs.get(at, op.attrs.get(name, "1"))) for name, at in _PLACES[op.name[:-2]].items()}
    axes = int(op.name[-2])
    n_in, n_out = data[-axes - 1], weight[0]
    if "transpose" in op.name:
        n_in, n_out = weight[0], int(weight[1]) * int(found["groups"])
    found |= {"dilation": "1"} if {*weight[2:]} == {1} else {}  # there is nothing to spread
    is_depthwise = int(found["groups"]) == n_in != 1
    found |= {"kernel": "×".join(map(str, weight[2:])), "channels": f"{n_in}→{n_out}"}
    return found | {"groups": "depthwise" if is_depthwise else found["groups"]}


def _one(text: str) -> str:
    parts = [part for part in re.split(r"[\[\](),\s]+", text) if part]
    return parts[0] if len({*parts}) == 1 else "×".join(parts)


def _faults(words: str, works: Sequence[dict[str, str]], odd: Sequence[dict[str, str]]) -> Iterator[str]:
    """`odd` are those in calls that have other layers, at places of their own: they may be said."""
    if any(work.keys() != works[0].keys() for work in works):
        return
    for name in works[0]:
        true, said = [*dict.fromkeys(work[name] for work in works)], _said(words, name)
        known = {*true, *(work.get(name, "") for work in odd), "…"}
        is_so = {*said} <= known and ({*true} <= {*said} or "…" in said)
        if "…" in said and not odd and not _are_even(true):
            yield f"{name} {' '.join(said)} is not a range: it is {', '.join(true)}"
        elif not is_so and not (name == "channels" and not said and (len(true) > 1 or odd)):
            yield f"{name} {', '.join(said) or 'unsaid'}, and it is {', '.join(true)}"


def _are_even(values: Sequence[str]) -> bool:
    """Whether each number grows by one step or factor, or each layer reads what the one before gives."""
    rows = [[int(number) for number in re.findall(r"\d+", value)] for value in values]
    columns = [*zip(*rows, strict=True)]
    steps = all(len({b - a for a, b in pairwise(column)}) == 1 for column in columns)
    factors = [[(a, b) for a, b in pairwise(column)] for column in columns]
    is_scaled = all(b * c == a * d for column in factors for (a, b), (c, d) in pairwise(column))
    way = [rows[0][0], *(row[-1] for row in rows)]
    is_chain = all(a[-1] == b[0] for a, b in pairwise(rows)) and way in (sorted(way), sorted(way)[::-1])
    return steps or is_scaled or ("→" in values[0] and is_chain)


def _said(words: str, name: str) -> list[str]:
    words = re.split(r" ×\d+\b| · \d+ in parallel| · called", words)[0]
    if name == "channels":
        found = _CHANNELS.findall(words)
        return [found[0], "…", found[-1]] if " … " in words and len(found) > 1 else found
    if name == "kernel":
        match = _WINDOW.search(words)
        return _values(match[1]) if match else []
    if name == "stride" and (match := re.search(r"(?: | ·)/(\d+(?:×\d+)*)", words)):
        return [match[1]]
    if name == "groups" and (match := re.search(r"(\d+) groups|· (depthwise)", words)):
        return [match[1] or match[2]]
    match = re.search(rf"{name} ([^·]+?)(?: ×\d+)?(?: ·|$)", words)
    return _values(match[1]) if match else ["1"]


def _values(text: str) -> list[str]:
    return re.split(r", | (?=…)|(?<=…) ", text)
