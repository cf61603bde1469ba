"""Whether what is drawn once for several calls is the same in all of them, or says in what it is not.

A setting that differs stands in a span of the node that shows the layer, or of the closed node that it is in; layers
and ops that only some of the calls have are told by a node's or a box's `differs`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import Facts
from torchrecorder.proof.fault import Fault
from torchrecorder.proof.matching import match
from torchrecorder.view.model import Node, Span, View

_SIZES = frozenset(
    """
    in_features out_features in1_features in2_features num_features in_channels out_channels num_embeddings
    embedding_dim normalized_shape input_size hidden_size num_channels
    """.split()  # noqa: SIM905 - it reads as a sentence
)
"""Settings that follow from the sizes of the data; they count where the layer itself is shown."""


class Sameness:
    def __init__(self, view: View, facts: Facts, coverages: Sequence[Coverage]) -> None:
        self.view, self.facts, self.graph = view, facts, facts.graph
        self.coverages = coverages
        self.lettered = {inset.letter: {*inset.calls} for inset in view.insets}
        """By letter all calls that are drawn with it, those in repeats included."""
        self.told: set[int] = set()
        """The calls of nodes that say in what they differ."""
        self.again: list[dict[int, list[int]]] = []
        """By view, for each call the others that it is drawn for."""

    def faults(self) -> Iterator[Fault]:
        """Differences that are not said."""
        size = -1
        while size != (size := sum(map(len, self.lettered.values()))):  # a letter may stand in the inset of another
            self.again = [self._drawn_for(coverage, letter) for coverage, letter in self._views()]
            for (coverage, _), again in zip(self._views(), self.again, strict=True):
                for node in coverage.view.nodes:
                    calls = {*_all(node.calls, again)}
                    self.lettered.get(node.inset, set()).update(calls)
                    self.told.update(calls if node.differs else ())
        for (coverage, _), again in zip(self._views(), self.again, strict=True):
            for node in coverage.view.nodes:
                for part in node.parts or (node,):
                    if part.kind == "call":
                        yield from self._of_node(coverage, node, part, again)

    def _views(self) -> Iterator[tuple[Coverage, str]]:
        yield from zip(self.coverages, ("", *self.lettered), strict=True)

    def _drawn_for(self, coverage: Coverage, letter: str) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for call in coverage.twin_calls:
            found.setdefault(coverage.drawn_call(call), []).append(call)
        for call in sorted(self.lettered.get(letter, set()) - {coverage.root}):
            of_both = match(self.facts, call, coverage.root)
            is_odd = any(map(self._counts, (*of_both.unmatched, *of_both.missing)))
            if is_odd and call in self.told:  # what is in it stands at other places
                continue
            for other, first in of_both.calls.items():
                found.setdefault(coverage.drawn_call(first), []).append(other)
        return found

    def _of_node(self, coverage: Coverage, node: Node, part: Node, again: Mapping[int, list[int]]) -> Iterator[Fault]:
        calls = [call for call in dict.fromkeys(_all(part.calls, again)) if self._runs(call)]
        if len(calls) < 2:
            return
        around = coverage.around(node)
        is_shown = bool(node.inset)
        spans = (*part.spans, *node.spans)
        for name, values in self._differing(calls):
            if not _says(spans, name, values) and not (name == "class" and node.differs):
                words = f"{name or 'sizes'} {', '.join(values)} of {self._path(calls[0])} and others is not said"
                yield Fault("sameness", words, (*around, *part.calls))
        if is_shown or not self.facts.children[calls[0]]:
            return
        yield from self._inside(node, calls, spans, around)

    def _inside(
        self, node: Node, calls: Sequence[int], spans: Iterable[Span], around: tuple[int, ...]
    ) -> Iterator[Fault]:
        """What differs in layers that are closed: their settings but for sizes, and which layers there are."""
        first, columns = calls[0], dict[int, list[int]]()
        for call in calls[1:]:
            found = match(self.facts, call, first)
            for one, other in found.calls.items():
                columns.setdefault(other, [other]).append(one)
            odd = next((op for op in (*found.unmatched, *found.missing) if self._counts(op)), None)
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

    def _counts(self, op: int) -> bool:
        """Whether it is more than a change of place or of what carries no features."""
        row = self.graph.ops[op]
        is_side = all(self.facts.is_side[value] for value in row.outputs)
        return not is_side and not self.facts.is_move(row, range(len(self.graph.values)))

    def _runs(self, call: int) -> bool:
        return any(self._counts(op) for op in self.facts.ops_of([call]))

    def _differing(self, calls: Sequence[int]) -> Iterator[tuple[str, list[str]]]:
        """The settings of layers that are not the same in all calls, with their values."""
        settings = [self._settings(call) for call in calls]
        classes = [*dict.fromkeys(own["class"] for own in settings)]
        if len(classes) > 1:
            yield "class", classes
            return
        for name in dict.fromkeys(name for own in settings for name in own):
            values = [*dict.fromkeys(own[name] for own in settings if name in own)]
            if len(values) > 1:
                yield name, values

    def _settings(self, call: int) -> dict[str, str]:
        row = self.graph.calls[call]
        module = self.graph.modules.get(row.module) if row.kind == "module" else None
        if module is None:
            return {"class": row.module}
        found, sizes = {"class": module.cls.rpartition(".")[2]}, list[str]()
        for text in _arguments(module.extra_repr):
            name, is_named, value = text.partition("=")
            if is_named and name.strip() not in _SIZES:
                found[name.strip()] = value.strip()
            elif text:
                sizes.append(value if is_named else text)
        if sizes and found.get("groups") == sizes[0]:
            found["groups"] = "depthwise"
        return found | {"": ", ".join(sizes)}

    def _path(self, call: int) -> str:
        return self.graph.calls[call].module or "the model"


def _all(calls: Iterable[int], again: Mapping[int, list[int]]) -> Iterator[int]:
    for call in calls:
        yield call
        yield from again.get(call, ())


def _says(spans: Iterable[Span], name: str, values: Iterable[str]) -> bool:
    return any(span.name == name and {*values} <= {*span.values} for span in spans)


def _arguments(text: str) -> Iterator[str]:
    """The parts of a layer's own words between commas that are in no brackets."""
    depth = start = 0
    for at, character in enumerate(f"{text},"):
        depth += (character in "([{") - (character in ")]}")
        if character in ",\n" and depth <= 0:
            yield text[start:at].strip()
            start = at + 1
