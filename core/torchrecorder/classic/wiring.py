"""What each node of a recording was made from, and an order in which everything comes after what it was made from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING

from torchrecorder.classic.calls import ClassicCall
from torchrecorder.nodes import BaseNode, LayerNode

if TYPE_CHECKING:
    from torchrecorder.recorder import Recorder


class Wiring:
    """The edges between nodes other than layers.

    Where an edge leads through a layer, the tensors that layer gave come from those that the same call took.
    """

    def __init__(self, rec: Recorder, calls: Sequence[ClassicCall]) -> None:
        self._nodes = [node for node in dict.fromkeys(rec.nodes.values()) if not isinstance(node, LayerNode)]
        self._place = {id(node): place for place, node in enumerate(dict.fromkeys(rec.nodes.values()))}
        self.sources: dict[int, list[BaseNode]] = {id(node): [] for node in self._nodes}
        self.heads: dict[int, list[BaseNode]] = {id(node): [] for node in self._nodes}
        self.giver = {id(node): call.id for call in reversed(calls) for node in call.outputs}
        for tail, head in self._edges(rec, calls):
            if tail not in self.sources[id(head)]:
                self.sources[id(head)].append(tail)
                self.heads[id(tail)].append(head)

    def in_order(self) -> Iterator[BaseNode]:
        """Each node after its sources, otherwise in the order of recording; one that is its own source comes last."""
        open_sources = {id(node): len(self.sources[id(node)]) for node in self._nodes}
        by_place = {self._place[id(node)]: node for node in self._nodes}
        ready = [place for place, node in by_place.items() if not open_sources[id(node)]]
        heapify(ready)
        done: set[int] = set()
        while ready:
            node = by_place[heappop(ready)]
            done.add(id(node))
            yield node
            for head in self.heads[id(node)]:
                open_sources[id(head)] -= 1
                if not open_sources[id(head)]:
                    heappush(ready, self._place[id(head)])
        yield from (node for node in self._nodes if id(node) not in done)

    def _edges(self, rec: Recorder, calls: Sequence[ClassicCall]) -> list[tuple[BaseNode, BaseNode]]:
        pairs: dict[tuple[int, int], tuple[BaseNode, BaseNode]] = {}
        for from_, to in rec.edges:
            tail, head = rec.nodes[from_], rec.nodes[to]
            if isinstance(head, LayerNode) or tail is head:
                continue
            through = isinstance(tail, LayerNode) and id(head) in self.giver
            for source in calls[self.giver[id(head)]].inputs if through else [tail]:
                if source is not head and not isinstance(source, LayerNode):
                    pairs[self._place[id(source)], self._place[id(head)]] = (source, head)
        return [pairs[places] for places in sorted(pairs, key=lambda places: (places[1], places[0]))]
