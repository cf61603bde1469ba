"""Whether what is drawn once for several calls is the same in all of them, or says in what it is not.

A setting that differs stands in a span of the node that shows the layer, or of the closed node that it is in; layers
and ops that only some of the calls have are named by a node's or a box's `differs`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

from torchrecorder.graph.model import Op
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import Fault, GraphFacts
from torchrecorder.proof.words import frames
from torchrecorder.view.model import Node, Span, View

_SIZES = frozenset(
    """
    in_features out_features in1_features in2_features num_features in_channels out_channels num_embeddings
    embedding_dim normalized_shape input_size hidden_size num_channels
    """.split()  # noqa: SIM905 - it reads as a sentence
)
"""Settings that follow from the sizes of the data; they count where the layer itself is shown."""


_OF_NUMBERS = frozenset("0123456789.,-+e() ")
"""The characters of numbers and of tuples of numbers."""
UNSAID = ("1", "0", "False", "True", "none")
"""What may stand in a span for a call whose layer does not name the setting, since it is the default."""


class Sameness:
    def __init__(self, view: View, facts: GraphFacts, coverages: Sequence[Coverage]) -> None:
        self.view, self.facts, self.graph = view, facts, facts.graph
        self.coverages = coverages
        self.lettered = {inset.letter: {*inset.calls} for inset in view.insets}
        """By letter all calls that are drawn with it, those in repeats included."""
        self.odd: dict[str, set[int]] = {}
        """By letter the calls in which there are other layers or ops than in the inset."""
        self.ops: dict[int, list[int]] = {}
        """By op of an inset those at its place in the other calls with the letter."""
        self.itself = range(len(self.graph.values))
        """For each value itself, where what moves made it from does not matter."""
        self.again: list[dict[int, list[int]]] = []
        """By view, for each call the others that it is drawn for."""

    def grow(self) -> None:
        """Find all calls that letters are for: one may stand in the inset of another."""
        size = -1
        while size != (size := sum(map(len, self.lettered.values()))):  # a letter may stand in the inset of another
            self.again = [self._drawn_for(coverage, letter) for coverage, letter in self._views()]
            for (coverage, _), again in zip(self._views(), self.again, strict=True):
                for node in coverage.view.nodes:
                    self.lettered.get(node.inset, set()).update(_all(node.calls, again))

    def faults(self) -> Iterator[Fault]:
        self.grow()
        of_letter = {inset.letter: {*inset.calls} for inset in self.view.insets}
        for (coverage, _), again in zip(self._views(), self.again, strict=True):
            for node in coverage.view.nodes:
                odd = self.odd.get(node.inset, set())
                if odd and not node.differs and not odd.isdisjoint(_all(node.calls, again)):
                    words = f"calls of {self._path(node.calls[0])} have other layers or ops than the inset {node.inset}"
                    yield Fault("sameness", words, (*coverage.around(node), *node.calls))
                if node.inset and not {*node.calls} <= of_letter.get(node.inset, set()):
                    yield Fault("counts", f"the inset {node.inset} is not of all its calls", coverage.around(node))
                yield from self._of_op(coverage, node, is_whole=not self.odd)
                for part in (node, *node.parts):
                    if part.kind == "call":
                        yield from self._of_node(coverage, node, part, again, is_whole=not self.odd)

    def _views(self) -> Iterator[tuple[Coverage, str]]:
        yield from zip(self.coverages, ("", *self.lettered), strict=True)

    def _drawn_for(self, coverage: Coverage, letter: str) -> dict[int, list[int]]:
        others: dict[int, list[int]] = {}
        for call in coverage.twin_calls:
            others.setdefault(coverage.drawn_call(call), []).append(call)
        for call in sorted(self.lettered.get(letter, set()) - {coverage.root}):
            of_both = self.facts.match(call, coverage.root)
            if any(map(self._counts, (*of_both.unmatched, *of_both.missing))):  # its parts stand at other places
                self.odd.setdefault(letter, set()).add(call)
                continue
            for other, first in of_both.calls.items():
                others.setdefault(coverage.drawn_call(first), []).append(other)
            for other, first in of_both.ops.items():
                self.ops.setdefault(coverage.drawn_op(first), []).append(other)
        return others

    def _of_node(
        self, coverage: Coverage, node: Node, part: Node, again: Mapping[int, list[int]], *, is_whole: bool
    ) -> Iterator[Fault]:
        calls = [call for call in dict.fromkeys(_all(part.calls, again)) if self._runs(call)]
        if len(calls) < 2:
            return
        around = coverage.around(node)
        is_shown, is_leaf = bool(node.inset), not self.facts.children[calls[0]]
        spans = part.spans
        is_set = any(span.name not in ("class", "params") for span in spans)  # settings of layers of several classes
        differing = dict(self._differing(calls, is_set=is_set and is_leaf))
        for span in spans:
            is_known = {*span.values} <= {*differing.get(span.name, span.values), *UNSAID}
            if is_whole and is_leaf and not is_known:
                words = f"{span.name or 'sizes'} {', '.join(span.values)} of {self._path(calls[0])} is not so"
                yield Fault("sameness", words, (*around, *part.calls))
        for name, values in differing.items():
            if not _says(spans, name, values) and not (name == "class" and node.differs):
                words = f"{name or 'sizes'} {', '.join(values)} of {self._path(calls[0])} and others is not said"
                yield Fault("sameness", words, (*around, *part.calls))
        if is_shown or is_leaf:
            return
        yield from self._inside(node, calls, spans, around)

    def _of_op(self, coverage: Coverage, node: Node, *, is_whole: bool) -> Iterator[Fault]:
        said = {node.name, *(name for span in node.spans if span.name == "function" for name in span.values)}
        for op in node.ops if node.kind == "function" and node.op is None else ():
            for other in (*coverage.again.get(op, ()), *self.ops.get(op, ())):
                row = self.graph.ops[other]
                run = [self.graph.frames[at] for at in frames(self.graph, row)]
                ran = [name for frame in run for name in (frame.short, frame.name)]
                if ran and said.isdisjoint(ran):
                    words = f"what is drawn as {node.name}() is {ran[0]}() in {self._path(row.call)}"
                    yield Fault("sameness", words, coverage.around(node))
        for part in (node, *node.parts):
            if part.kind != "op" or part.op is None:
                continue
            again = (part.op, *coverage.again.get(part.op, ()), *self.ops.get(part.op, ()))
            folded = (op for op in part.ops if self.graph.ops[op].name == self.graph.ops[part.op].name)
            rows = [self.graph.ops[op] for op in dict.fromkeys((*again, *folded))]
            known = {value for row in rows for value in (row.name.strip("_"), *row.attrs.values())}
            spans = (span for span in part.spans if span.name not in ("weight", "heads"))
            if is_whole and any(not {*span.values} <= {*known, *UNSAID} for span in spans):
                yield Fault("sameness", f"what {rows[0].name} says of other turns is not so", coverage.around(node))
            for name in dict.fromkeys(name for row in rows for name in row.attrs):
                values = [*dict.fromkeys(row.attrs[name] for row in rows if name in row.attrs)]
                ends = ((self._shape(row), row.attrs.get(name, "").strip("()")) for row in rows)
                if len(values) < 2 or all(shape.endswith(end) for shape, end in ends):
                    continue  # of the shape that it gives, which follows from the data
                is_number = all({*value} <= _OF_NUMBERS for value in values)
                is_written = rows[0].name == "getitem" or not self.facts.is_move(rows[0], self.itself)
                is_said = any({*values} <= {*span.values} for span in part.spans)
                if (is_number or rows[0].name == "getitem") and is_written and not is_said:
                    words = f"{rows[0].name} with {', '.join(values)} at {rows[0].source} is not said"
                    yield Fault("sameness", words, coverage.around(node))

    def _inside(
        self, node: Node, calls: Sequence[int], spans: Iterable[Span], around: tuple[int, ...]
    ) -> Iterator[Fault]:
        """Differences of closed layers: their settings but for sizes, and the layers in them."""
        first, columns = calls[0], dict[int, list[int]]()
        for call in calls[1:]:
            matched = self.facts.match(call, first)
            for inner, other in matched.calls.items():
                columns.setdefault(other, [other]).append(inner)
            odd = next((op for op in (*matched.unmatched, *matched.missing) if self._counts(op)), None)
            if odd is not None and not node.differs:
                words = f"{self.graph.ops[odd].name} is in {self._path(call)} or {self._path(first)} only"
                yield Fault("sameness", f"{words}, which is not said", (*around, *calls))
                return
        for place, alike in columns.items():
            if place == first or not all(map(self._runs, alike)):
                continue
            for name, values in self._differing(alike):
                if name and not _says(spans, name, values) and not node.differs:
                    words = f"{name} {', '.join(values)} in {self._path(place)} and others is not said"
                    yield Fault("sameness", words, (*around, *calls))

    def _shape(self, op: Op) -> str:
        return ", ".join(map(str, self.graph.values[op.outputs[0]].shape)) if op.outputs else ""

    def _counts(self, op: int) -> bool:
        row = self.graph.ops[op]
        if all(self.facts.is_side[value] for value in row.outputs) or self.facts.is_move(row, self.itself):
            return False
        readers = [self.graph.ops[op].name for value in row.outputs for op in self.facts.readers[value]]
        # convolutions may pad by themselves as well
        return row.name != "pad" or not readers or not all(name.startswith("conv") for name in readers)

    def _runs(self, call: int) -> bool:
        return any(self._counts(op) for op in self.facts.ops_of([call]))

    def _differing(self, calls: Sequence[int], *, is_set: bool = False) -> Iterator[tuple[str, list[str]]]:
        settings = [self.settings(call) for call in calls]
        classes = [*dict.fromkeys(own["class"] for own in settings)]
        if len(classes) > 1:
            yield "class", classes
        if len(classes) > 1 and not is_set:
            return
        for name in dict.fromkeys(name for own in settings for name in own):
            values = [*dict.fromkeys(own[name] for own in settings if name in own)]
            if len(values) > 1:
                yield name, values

    def settings(self, call: int) -> dict[str, str]:
        row = self.graph.calls[call]
        module = self.graph.modules.get(row.module) if row.kind == "module" else None
        if module is None:
            return {"class": row.module}
        if module.fqn in self.facts.settings:
            return self.facts.settings[module.fqn]
        settings, sizes = {"class": module.cls.rpartition(".")[2]}, list[str]()
        for text in _arguments(module.extra_repr):
            name, is_named, value = text.partition("=")
            if is_named and name.strip() not in _SIZES:
                settings[name.strip()] = re.sub(r"^\[(.*)\]$", r"(\1)", value.strip())
            elif text:
                sizes.append(value if is_named else text)
        if sizes and settings.get("groups") == sizes[0]:
            settings["groups"] = "depthwise"
        if {*settings.get("kernel_size", "").strip("()").split(", ")} == {"1"}:  # there is nothing to spread
            settings.pop("dilation", None)
        self.facts.settings[module.fqn] = settings = settings | {"": ", ".join(sizes)}
        return settings

    def _path(self, call: int) -> str:
        return self.graph.calls[call].module or "the model"


def _all(calls: Iterable[int], again: Mapping[int, list[int]]) -> Iterator[int]:
    for call in calls:
        yield call
        yield from again.get(call, ())


def _says(spans: Iterable[Span], name: str, values: Iterable[str]) -> bool:
    return any(span.name == name and {*values} <= {*span.values} for span in spans)


@lru_cache(1000)
def _arguments(text: str) -> tuple[str, ...]:
    depth = start = 0
    parts = []
    for at, character in enumerate(f"{text},"):
        depth += (character in "([{") - (character in ")]}")
        if character in ",\n" and depth <= 0:
            parts.append(text[start:at].strip())
            start = at + 1
    return (*parts,)
