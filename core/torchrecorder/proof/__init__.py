"""The proof of a picture: whether a View is true of its Graph, and leaves nothing out in silence.

Written from the Graph alone. It shares no code with what builds Views, not even tables of names, because it would then
prove its own mistakes. The guide says what it promises and what it does not, "How a picture is proved".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

from torchrecorder.graph.model import Graph
from torchrecorder.proof.coverage import Coverage
from torchrecorder.proof.facts import Claim, Fault, FaultKind, GraphFacts
from torchrecorder.proof.flow import FlowProof
from torchrecorder.proof.own import of_dropouts, of_own, of_ways
from torchrecorder.proof.parts import PartsProof
from torchrecorder.proof.sameness import Sameness
from torchrecorder.proof.settings import SettingsProof, Words
from torchrecorder.proof.skips import SkipProof
from torchrecorder.proof.variants import Variants
from torchrecorder.proof.wiring import (
    Wiring,
    of_columns,
    of_entrances,
    of_exits,
    of_last_turns,
    of_one_thing,
    of_outlets,
    of_results,
    of_sums,
    of_turns,
)
from torchrecorder.view import View, Views

__all__ = ["Claim", "Fault", "FaultKind", "ProvedViews", "Prover", "faults", "without_words"]


class ProvedViews:
    """The views of one Graph, each proved before it is given away; where a proof fails, less is drawn as one, or said.

    `words` are those of its nodes.
    """

    def __init__(self, views: Views, words: Words | None = None) -> None:
        self._views, self._prover, self._words = views, Prover(views.graph, words), words
        self._weakened: dict[str, None] = {}
        """Why less is drawn as one from now on, in later views as well."""
        self.focus = views.options.focus
        """Path of the module that is shown alone."""

    def view(self, *, beside: bool = True) -> View:
        """The View of a picture; without insets if nothing can stand beside it.

        Raises:
            OptionError: As `make_view`.
        """
        return self._proved(self._views, lambda views: views.view(beside=beside))

    def open_fewer(self) -> bool:
        """Leave closed from now on what the view opened last; False if nothing is left."""
        return self._views.open_fewer()

    def inside(self, call: int) -> View:
        """The View for a reader who opens a layer that is closed."""
        return self._proved(self._views, lambda views: views.inside(call))

    def opened(self, groups: Mapping[str, Collection[int]]) -> Iterator[tuple[str, View]]:
        """The Views for a reader who opens groups of ops that are drawn as one, by the paths that they get."""
        views, calls = self._views.opened(groups)
        proved = ProvedViews(views)
        for path, call in calls.items():
            yield path, proved.inside(call)

    def _proved(self, views: Views, plan: Callable[[Views], View]) -> View:
        view = plan(views)
        if views.graph.info.recorder == "classic":  # whose pictures are those of torchrecorder 1.0.3
            return view
        unsaid, plain = set[tuple[int, ...]](), set[tuple[int, ...]]()
        while faults := self._prover.faults(view):
            self._weakened.update((fault.words, None) for fault in faults)
            unsaid.update(fault.calls for fault in faults if fault.kind == "settings")
            others = [fault for fault in faults if fault.kind not in ("settings", "skips")]
            plain = set() if others else plain | {fault.calls for fault in faults if fault.kind == "skips"}
            if others and not _weakened(views, others):
                plainer = views.plainer()
                if plainer is None:
                    break
                views = plainer
            view = _without_skips(_without_settings(plan(views), unsaid), plain)
        return replace(view, weakened=tuple(self._weakened)) if self._weakened else view


def _weakened(views: Views, faults: Sequence[Fault]) -> bool:
    """Whether less is drawn as one from now on: parts whose words are wrong by ops of their own, if that is all."""
    cuts = (op for fault in faults for op in fault.cuts)
    is_cut = all(fault.cuts for fault in faults) and views.draw_cuts(cuts)
    return is_cut or views.weaken(call for fault in faults for call in fault.calls)


def _without_settings(view: View, unsaid: Collection[tuple[int, ...]]) -> View:
    nodes = tuple(replace(node, is_unsaid=node.calls in unsaid) for node in view.nodes)
    insets = tuple(replace(inset, view=_without_settings(inset.view, unsaid)) for inset in view.insets)
    return replace(view, nodes=nodes, insets=insets) if unsaid else view


def _without_skips(view: View, plain: Collection[tuple[int, ...]]) -> View:
    if not plain:
        return view
    root = Coverage.root_of(view)
    false = {of[1:] for of in plain if of[0] == root}
    ends = [node.links or (node.id,) for node in view.nodes]
    edges = (replace(it, skip=it.skip and false.isdisjoint(product(ends[it.tail], ends[it.head]))) for it in view.edges)
    insets = tuple(replace(inset, view=_without_skips(inset.view, plain)) for inset in view.insets)
    return replace(view, edges=tuple(edges), insets=insets)


def without_words(view: View, claims: Sequence[Claim], letter: str = "") -> View:
    """A View that says no formulas and no shapes where its picture was refused for words, and so in its insets."""
    rows = [[re.fullmatch(r"([A-Z]*)(\d+)", key) for key in claim.keys] for claim in claims]
    at = {tuple(int(key[2]) for key in keys if key and key[1] == letter) for keys in rows}
    insets = tuple(replace(it, view=without_words(it.view, claims, it.letter)) for it in view.insets)
    return replace(view, silent=view.silent | (at - {()}), insets=insets)


def faults(view: View) -> tuple[Fault, ...]:
    """Faults of a View and its insets; none if it is proved."""
    return Prover(view.graph).faults(view)


class Prover:
    """Proves Views of one Graph, and what words say of settings."""

    def __init__(self, graph: Graph, words: Words | None = None) -> None:
        self._facts, self._words = GraphFacts(graph), words

    def faults(self, view: View) -> tuple[Fault, ...]:
        """Faults of coverage, of what is not drawn, flow, counts, entrances, sameness and settings, in this order."""
        faults: list[Fault] = []
        coverages = [Coverage(shown, self._facts) for shown in (view, *(inset.view for inset in view.insets))]
        for coverage in coverages:
            faults += FlowProof(coverage).faults()
            faults += (*PartsProof(coverage).faults(), *SkipProof(coverage).faults())
            faults += (*of_turns(coverage), *of_results(coverage), *of_columns(coverage), *of_last_turns(coverage))
            faults += (*of_sums(coverage), *of_outlets(coverage))
            faults += coverage.faults
        for inset, coverage in zip(view.insets, coverages[1:], strict=True):
            faults += (*of_entrances(coverage, inset.calls), *of_exits(coverage, inset.calls))
        sameness = Sameness(view, self._facts, coverages)
        faults += (*sameness.faults(), *Variants(sameness).faults())
        faults += (*of_own(sameness), *of_ways(sameness), *of_dropouts(sameness), *of_one_thing(sameness))
        faults += SettingsProof(sameness, self._words).faults() if self._words is not None else ()
        for coverage, calls in zip(coverages[1:], sameness.lettered.values(), strict=True):
            faults += Wiring(coverage).faults(calls)
        return tuple(dict.fromkeys(faults))
