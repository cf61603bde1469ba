"""Whether the settings that words write at a node are those of every call that it stands for.

It reads the words, and what ran: the sizes of the weights and the arguments of the ops, not what layers say of
themselves, from which the words were made.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from math import isclose, prod

from torchrecorder.graph import Op
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import Fault
from torchrecorder.proof.sameness import Sameness
from torchrecorder.view.model import Node, View, boxes_around

Words = Callable[[View], Callable[[Node], str]]
"""By View and node the line that says what the node is."""

_PLACES = {
    "conv": {"stride": "3", "dilation": "5", "groups": "6"},
    "conv_transpose": {"stride": "3", "groups": "6", "dilation": "7"},
}
_HELD = re.compile(r"(?:(\d+) )?([A-Z]\w*)(?: (\d+(?:→\d+)+))?")
"""One class of the layers in a closed one: `4 Linear 8→16→16→16→2`."""
_FUNCTIONS = re.compile(
    r"(conv(_transpose)?\dd|linear|addmm|(batch|layer|group|instance|rms)_norm|interpolate|(avg|max|adaptive_\w+)_pool\dd"
    r"|scaled_dot|([a-z_]*[erg]lu6?|silu|mish|sigmoid|tanh|softmax)_?$)"
)
"""How functions begin that do the work of a layer."""
_ATTENTION = "scaled_dot_product_attention"
_RECURRENT = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_FEW = 5
"""Calls whose settings are written one by one, as the labels have it, which a proof does not ask."""
_LAYER = re.compile(r" · (?=\w*(?:Conv(?:Transpose)?\d[dD]|Linear|Embedding)(?: |$)|[A-Z]\w* \d+→\d)")
_CLASSES = re.compile(r"\w or [A-Z]\w*(?: ·| ×\d|$)")
"""Several classes without settings."""
_KERNEL = r"\d+(?:×\d+)*"
_WINDOW = re.compile(rf" ({_KERNEL}(?:(?:, | or | … ){_KERNEL})*)(?= /\d| ·|$| ×\d)")
_CHANNELS = re.compile(r"\d+(?=(→\d+))")
"""A number and what it leads to, also in `8→8→16`."""
_WIDTHS = re.compile(r"(?<![\d→–])(\d+)(?:–(\d+))?→(\d+)(?:–(\d+)|((?:(?:, | or )\d+)+))?(?= |$)")
"""The least and greatest widths of layers, `32–64→16`, or each that they give, `32–64→64 or 128`."""


class SettingsProof:
    """Convolutions and linear layers in words, each held against the ops of the calls that it is written for."""

    def __init__(self, sameness: Sameness, words: Words) -> None:
        self.sameness, self.facts, self.graph = sameness, sameness.facts, sameness.graph
        self.words = words

    def faults(self) -> Iterator[Fault]:
        odd_calls, letters = self.sameness.odd, ("", *self.sameness.lettered)
        # a letter may stand in a call that is odd among those of another
        odd = [work for calls in odd_calls.values() for work in self._works(calls)]
        for coverage, known, letter in zip(self.sameness.coverages, self.sameness.again, letters, strict=True):
            words, again = self.words(coverage.view), {call: [*others] for call, others in known.items()}
            base = len(self.graph.calls[coverage.root].module)
            for node in coverage.view.nodes:
                is_asked = re.search(r"\bheads?\b|\bby \d|\bsame size\b", words(node))
                ops = self._drawn_for(coverage, node, known) if is_asked else ()
                yield from self._of_heads(coverage, node, words(node), ops)
                yield from self._of_factors(coverage, node, words(node), ops)
                yield from self._of_causal(coverage, node, words(node), known)
                if node.kind == "call" and not node.inset and self.facts.children[node.calls[0]]:
                    yield from self._of_insets(node, words(node))
            for call in odd_calls.get(letter, ()):
                for other, first in self.facts.match(call, coverage.root).calls.items():
                    # a number may stand for another layer in a container of other length
                    if not any(part.isdigit() for part in self.graph.calls[first].module[base:].split(".")):
                        again.setdefault(coverage.drawn_call(first), []).append(other)
            for node in (node for node in coverage.view.nodes if node.kind == "call" and not node.is_unsaid):
                is_closed = not (node.inset or node.parts or any(span.name == "class" for span in node.spans))
                for text in words(node).split(" · ") if is_closed and self.facts.children[node.calls[0]] else ():
                    held = [*map(_HELD.fullmatch, text.removesuffix(", …").split(", "))]
                    every = (at for call in node.calls for at in (call, *again.get(call, ())))
                    is_said = all(held) and re.search(r"^\d|[,→]", text)
                    if is_said and not all(self._holds(at, held, node.calls[0]) for at in every):
                        yield Fault("settings", f"“{text}” is not what is in each of its calls", node.calls)
                    if is_said and "…" not in text and (rest := {*self._besides(node.calls[0], held)}):
                        yield Fault("settings", f"“{text}” leaves out {', '.join(sorted(rest))}", node.calls)
                layers = list[list[dict[str, str]]]()
                for part in node.parts or (node,):
                    calls = sorted({call for own in part.calls for call in (own, *again.get(own, ()))})
                    works = [*self._works(calls)]
                    layers += [works] if works and len(works) == len(calls) else []
                if not layers:
                    continue
                said = _LAYER.split(f" · {words(node)}")[1:]
                is_closed = any("params" in text or _CLASSES.search(text) for text in said)
                said = [re.sub(r"(\d)×(?=\d)", r"\1→", text) if "Embedding" in text else text for text in said]
                around = prod(box.repeat for box in boxes_around(coverage.view.boxes, node.box))
                for text, works in zip(said, layers, strict=False) if len(said) == len(layers) != is_closed else ():
                    yield from (
                        Fault("settings", f"“{text}”: {it}", node.calls)
                        for it in _untrue(text, works, odd, (node.repeat, node.repeat * around))
                    )

    def _of_insets(self, node: Node, words: str) -> Iterator[Fault]:
        """Classes of insets in the words of a closed node, if other ops run in all of its layers that have them."""
        inside = (at for call in node.calls for at in (call, *self.facts.children[call]))
        named = {at: self.sameness.settings(at)["class"] for at in inside}
        for letter, coverage in zip(self.sameness.lettered, self.sameness.coverages[1:], strict=True):
            cls = self.sameness.settings(coverage.root)["class"]
            ran = [self._ran(at) for at, its in named.items() if its == cls]
            is_named = re.search(rf"\b{cls}\b(?! unlike [A-Z and]*{letter})", words)
            if is_named and ran and self._ran(coverage.root) not in ran:
                yield Fault("sameness", f"“{cls}” is not what the inset {letter} shows", node.calls)

    def _ran(self, call: int) -> Counter[str]:
        """How often each op runs in a call, but for moves."""
        ops = map(self.graph.ops.__getitem__, self.facts.ops_of([call]))
        return Counter(op.name for op in ops if not self.facts.is_move(op, self.sameness.itself))

    def _holds(self, call: int, held: Sequence[re.Match[str] | None], drawn: int) -> bool:
        """Whether a call of a class has so many layers of each in it, each of which reads from the one before in a row.

        A layer of another class in the place of the one that is drawn is named.
        """
        names, classes = self.sameness.settings, dict[str, dict[str, int]]()
        for at in range(call + 1, self.facts.end[call]):
            cls = re.sub("^Parametrized|[123]d$", "", names(at)["class"])
            if not self.facts.children[at]:
                classes.setdefault(cls, {}).setdefault(self.graph.calls[at].module, at)
        leaves = [at for at in range(call + 1, self.facts.end[call]) if not self.facts.children[at]]
        every = {at: ways for at in leaves if (ways := [work["channels"] for work in self._works([at])])}
        for match in filter(None, held):
            layers = [*classes.get(match[2], {}).values()]
            inside = [at for at in every if match[3] and layers and layers[0] <= at <= layers[-1]]
            row = re.sub(r"\b(\d+) \1(?=→)", r"\1", " ".join(chain(*map(every.__getitem__, inside))))
            is_row = row == (match[3] or "") and (
                not row or (inside == layers and (len(every) == 1 or self._is_straight(call, min(every))))
            )
            if len(layers) != int(match[1] or 1) or not is_row:
                return names(call)["class"] != names(drawn)["class"]
        return True

    def _besides(self, call: int, held: Iterable[re.Match[str] | None]) -> Iterator[str]:
        """Layers and functions that work in a call besides the classes of layers that are said of it."""
        said = {match[2] for match in held if match}
        for op in map(self.graph.ops.__getitem__, self.facts.ops_of([call])):
            cls = re.sub("^Parametrized|[123]d$", "", self.sameness.settings(op.call)["class"])
            is_idle = cls in ("Identity", "Dropout", "AlphaDropout", "FeatureAlphaDropout") or op.kind == "pass"
            if self.facts.children[op.call] and _FUNCTIONS.match(op.name):
                yield op.name
            elif not self.facts.children[op.call] and cls not in said and not is_idle:
                yield cls

    def _is_straight(self, call: int, first: int) -> bool:
        """Whether each layer in a call, and each op in none, reads the one before alone, from a first one on."""
        ops = [self.graph.ops[op] for op in sorted(self.facts.ops_of([call])) if op >= min(self.facts.ops_of([first]))]
        things = [[*row] for _, row in groupby(ops, lambda op: -op.id - 1 if self.facts.children[op.call] else op.call)]
        for before, after in pairwise(things):
            read = (self.graph.values[value] for op in after for value in op.inputs)
            makers = {value.producer for value in read if value.kind in ("input", "op")}
            if not {op.id for op in before}.intersection(makers) or not makers <= {op.id for op in (*before, *after)}:
                return False
        return True

    def _drawn_for(self, coverage: Coverage, node: Node, again: Mapping[int, Sequence[int]]) -> set[int]:
        """All ops that a node stands for."""
        parts = (node, *node.parts)
        calls = {other for part in parts for call in part.calls for other in (call, *again.get(call, ()))}
        own = [op for part in parts for op in part.own_ops]
        ops = {*self.facts.ops_of(calls), *own}
        return ops | {other for op in own for other in (*coverage.again.get(op, ()), *self.sameness.ops.get(op, ()))}

    def _of_factors(self, coverage: Coverage, node: Node, words: str, ops: Iterable[int]) -> Iterator[Fault]:
        """Factors in words by which sizes grow, `interpolate by 2`, each held against all ops."""
        by = ", ".join(re.findall(r"\bby ([\d.×]+(?:, [\d.×]+)*)", words))
        said = [float(number) for number in re.split("×|, ", by) if number] or [1.0] * ("same size" in words)
        rows = map(self.graph.ops.__getitem__, ops if said else ())
        true = {it for op in rows if op.name == "interpolate" or op.name in words for it in self._factors(op)}
        if not all(any(isclose(number, one, rel_tol=0.05) for one in said) for number in true):
            yield Fault("sameness", f"by {said}, and it is {sorted(true)}", (*coverage.around(node), *node.calls))

    def _factors(self, op: Op) -> Iterator[float]:
        """How often larger an op makes sizes; one that moves channels from places, how often smaller."""
        start = {"interpolate": 2, "pixel_shuffle": 2, "pixel_unshuffle": 2, "repeat_interleave": 0}.get(op.name)
        sides = (self.graph.values[value].shape for value in (op.inputs[0], op.outputs[0])) if start is not None else ()
        for pair in zip(*(side[start:] for side in sides), strict=False):
            a, b = reversed(pair) if op.name == "pixel_unshuffle" else pair
            if isinstance(a, int) and isinstance(b, int) and (a != b or start):
                yield b / a

    def _of_heads(self, coverage: Coverage, node: Node, words: str, ops: Iterable[int]) -> Iterator[Fault]:
        """Heads of attention in words, each held against all ops that the node stands for."""
        said = re.search(r"(?<!with )\b(\d+) heads?\b|\bheads (\d[\d, …]*)", words)
        if said is None:
            return
        shared, ops = re.search(r"(\d+) key/value heads?\b", words), [*ops]
        rows = (row for row in map(self.graph.ops.__getitem__, ops) if shared and row.name.startswith("scaled_dot"))
        if shared and (n := {self.graph.values[row.inputs[1]].shape[-3] for row in rows}) != {int(shared[1])}:
            yield Fault("sameness", f"“{shared[0]}”, and it is {n}", (*coverage.around(node), *node.calls))
        odd = self.facts.ops_of(call for calls in self.sameness.odd.values() for call in calls)
        true, others = (
            {self._heads(by) for row in map(self.graph.ops.__getitem__, some) if (by := self._attending(row))}
            for some in (ops, odd)
        )
        named = {*map(int, re.findall(r"\d+", said[0]))}
        if true and not (named <= true | others and ("…" in said[0] or true <= named)):
            yield Fault("sameness", f"“{said[0]}”, and it is {sorted(true)}", (*coverage.around(node), *node.calls))

    def _of_causal(
        self, coverage: Coverage, node: Node, words: str, again: Mapping[int, Sequence[int]]
    ) -> Iterator[Fault]:
        """Whether an attention at a node is causal, said of it if it is so and else not."""
        drawn = (self.graph.ops[op] for part in (node, *node.parts) if part.kind == "op" for op in part.own_ops)
        if any(op.name == _ATTENTION for op in drawn):
            rows = map(self.graph.ops.__getitem__, self._drawn_for(coverage, node, again))
            is_so = {op.attrs.get("is_causal") == "True" for op in rows if op.name == _ATTENTION}
            if (True in is_so) != ("causal" in words):
                fault = "does not say that it is causal" if True in is_so else "is not causal"
                yield Fault("sameness", f"“{words}” {fault}", (*coverage.around(node), *node.calls))

    def _attending(self, op: Op) -> Op | None:
        """The op that gives what an attention gives: itself, or the product behind a softmax of four axes."""
        if op.name.startswith("scaled_dot"):
            return op
        values = [*op.outputs] if op.name == "softmax" and len(self.graph.values[op.outputs[0]].shape) == 4 else []
        for value in values:
            for after in (self.graph.ops[reader] for reader in self.facts.readers[value]):
                if after.name in ("matmul", "bmm", "einsum"):
                    return after
                if after.name == "dropout" or self.facts.is_move(after, self.sameness.itself):
                    values += after.outputs
        return None

    def _heads(self, op: Op) -> int:
        """The heads whose outputs are beside one another behind an attention; 1 if they are nowhere."""
        values, pending = self.graph.values, [op.outputs[0]]
        sizes = [size for size in values[op.outputs[0]].shape[-3:] if isinstance(size, int)]
        n, _, width = sizes if len(sizes) > 2 else (1, 1, 1)
        for value in pending:
            after = [self.graph.ops[reader] for reader in self.facts.readers[value]]
            given = [out for row in after if self.facts.is_move(row, self.sameness.itself) for out in row.outputs]
            if values[value].shape[-2:] == (n, width) and any(values[out].shape[-1] == n * width for out in given):
                return n
            pending += given
        return 1

    def _works(self, calls: Iterable[int]) -> Iterator[dict[str, str]]:
        """The settings of each convolution and linear op in calls."""
        for op in map(self.graph.ops.__getitem__, self.facts.ops_of(calls)):
            shapes = [self.graph.values[value].shape for value in op.inputs[:2]]
            # a recording may have no sizes, and a packed weight is not an input
            is_known = len(shapes) == 2 and len(shapes[0]) >= len(shapes[1]) - 1 > 0
            if is_known and re.fullmatch(r"linear|conv(_transpose)?\dd", op.name):
                yield self._settings(op, *shapes)
            elif op.name == "addmm" and len(op.inputs) > 2:
                yield {"channels": "→".join(map(str, self.graph.values[op.inputs[2]].shape))}
            elif op.name == "embedding" and len(shapes) == 2:
                yield {"channels": "→".join(map(str, shapes[1]))}
            elif op.name.removesuffix("_cell") in _RECURRENT:
                weights = [row.shape for row in map(self.graph.values.__getitem__, op.inputs) if row.kind == "param"]
                yield {"channels": "→".join(str(shape[-1]) for shape in weights[:2])}  # the widths that they read

    def _settings(self, op: Op, data: Sequence[int | str], weight: Sequence[int | str]) -> dict[str, str]:
        if op.name == "linear":
            return {"channels": f"{weight[1]}→{weight[0]}"}
        places = _PLACES[op.name[:-2]].items()
        found = {name: _one(op.attrs.get(at, op.attrs.get(name, "1"))) for name, at in places}
        n_in, n_out, window = data[-int(op.name[-2]) - 1], weight[0], weight[2:]
        if "transpose" in op.name:
            n_in, n_out = weight[0], int(weight[1]) * int(found["groups"])
        found |= {"dilation": "1"} if {*window} == {1} else {}  # there is nothing to spread
        found |= {"groups": "depthwise"} if int(found["groups"]) == n_in != 1 else {}
        return found | {"kernel": "×".join(map(str, window)), "channels": f"{n_in}→{n_out}"}


def _one(text: str) -> str:
    parts = [part for part in re.split(r"[\[\](),\s]+", text) if part]
    return parts[0] if len({*parts}) == 1 else "×".join(parts)


def _untrue(
    words: str, works: Sequence[dict[str, str]], odd: Sequence[dict[str, str]], counts: Container[int]
) -> Iterator[str]:
    """`odd` are those in calls that have other layers, at places of their own: they may be said.

    Without `or` a list is one value each of as many calls as a reader `counts`.
    """
    if any(work.keys() != works[0].keys() for work in works):
        return
    grown = re.search(r"\b(expansion|reduction) (\d+(?:, \d+)*)", words)
    widths = next((match for match in _WIDTHS.finditer(words) if match[5] or "–" in match[0]), None)
    ways = [[*map(int, work["channels"].split("→"))] for work in (*works, *odd) if grown or widths]
    factors = [f"{b / a:g}" if grown and grown[1] == "expansion" else f"{a / b:g}" for a, b in ways]
    if grown and not {*factors[: len(works)]} <= {*grown[2].split(", ")} <= {*factors}:
        yield f"{grown[0]}, and it is {', '.join(sorted({*factors[: len(works)]}))}"
    ends = [(int(a), int(b or a)) for a, b in (widths.group(1, 2), widths.group(3, 4))] if widths else []
    for (least, most), side in zip(ends[:1] if widths and widths[5] else ends, zip(*ways, strict=True), strict=False):
        if not {least, most} <= {*side} or least > min(side[: len(works)]) or most < max(side[: len(works)]):
            yield f"channels {least}–{most}, and it is {', '.join(dict.fromkeys(map(str, side)))}"
    if widths and widths[5]:
        values, every = _values(widths[3] + widths[5]), [str(b) for _, b in ways]
        is_so = {*every[: len(works)]} <= {*values} <= {*every}
        if not is_so or not (odd or " or " in widths[5] or _is_turn(values, every, counts)):
            yield f"{widths[0]}, and it is {', '.join(every)}"
    for name in (name for name in works[0] if name != "channels" or not widths):
        every, (said, is_any) = [work[name] for work in works], _said(words, name)
        true = [*dict.fromkeys(every)]
        known = {*true, *(work.get(name, "") for work in odd), "…"}
        is_so = {*said} <= known and ({*true} <= {*said} or "…" in said)
        is_list = len(said) > 1 and "…" not in said and (name != "channels" or re.search(r"→\d+→", words) is not None)
        if is_list and not is_any and not odd:  # one after another
            is_so = _is_turn(said, every, counts)
        rows = [true, sorted(true, key=_numbers)] if "…" in said and not odd else []
        if rows and not any([said[0], said[-1]] == [row[0], row[-1]] and _are_even(row) for row in rows):
            yield f"{name} {' '.join(said)} is not a range: it is {', '.join(true)}"
            continue
        is_unsaid = name == "channels" and not said and not re.search(r"→\d", words)
        if not is_so and not (is_unsaid and (len(true) > 1 or odd)):
            yield f"{name} {', '.join(said) or 'unsaid'}, and it is {', '.join(every[:_FEW] if is_list else true)}"


def _is_turn(said: Sequence[str], every: Sequence[str], counts: Container[int]) -> bool:
    """Whether a list is that of as many calls as a reader counts, in order, and of each turn of what is around."""
    return len(said) in counts and [*said] * (len(every) // len(said)) == [*every]


def _are_even(values: Sequence[str]) -> bool:
    """Whether all between the first and the last follows from these: each number grows by one step or factor."""
    for column in zip(*map(_numbers, values), strict=False):
        pairs = [*pairwise(column)]
        is_scaled = all(b * c == a * d for (a, b), (c, d) in pairwise(pairs))
        if len({b - a for a, b in pairs}) > 1 and not is_scaled:
            return False
    return True


def _numbers(text: str) -> list[int]:
    return [*map(int, re.findall(r"\d+", text))]


def _said(words: str, name: str) -> tuple[list[str], bool]:
    """The values of a setting in words, and whether each call has any of them: `3×3 or 5×5`."""
    words = re.split(r" ×\d+\b| · (?:[A-Z]|\d+ in parallel|called)", words)[0]
    if name == "channels":
        found = [match[0] + match[1] for match in _CHANNELS.finditer(words)]
        return ([found[0], "…", found[-1]] if " … " in words and len(found) > 1 else found), False
    if name == "stride" and (match := re.search(r"(?: | ·)/(\d+(?:×\d+)*)", words)):
        return [match[1]], False
    if name == "groups" and (match := re.search(r"(\d+) groups|· (depthwise)", words)):
        return [match[1] or match[2]], False
    match = _WINDOW.search(words) if name == "kernel" else re.search(rf"{name} ([^·]+?)(?: ×\d+)?(?: ·|$)", words)
    text = match[1] if match else "" if name == "kernel" else "1"
    return _values(text) if text else [], " or " in text


def _values(text: str) -> list[str]:
    return re.split(r", | or | (?=…)|(?<=…) ", text)
