"""The inside of calls, and which calls a picture passes by because their inside says as much.

An interior shows one call with each layer in it closed; calls of one structure have one. A layer whose interior holds a
single node is drawn as that node; so are lists of layers, and a layer that is nearly the whole of what is around it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from torchrecorder.view import tuning
from torchrecorder.view.draft import Draft
from torchrecorder.view.entries import is_list
from torchrecorder.view.model import Node, View
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.op_families import MIXING, PRODUCTS
from torchrecorder.view.plan.edges import Ends
from torchrecorder.view.plan.plan import Plan
from torchrecorder.view.plan.visibility import State, Visibility
from torchrecorder.view.simplified import simplified
from torchrecorder.view.simplified.columns import merge_columns, merge_entries, merge_sums
from torchrecorder.view.simplified.merged import merge_single_boxes
from torchrecorder.view.simplified.patches import Folding
from torchrecorder.view.templates.kinds import Kinds
from torchrecorder.view.templates.series import fold_series, fold_turns, merge_lists, series_with_outputs

_ENDS = frozenset(("input", "output", "from", "to"))


@dataclass(frozen=True, slots=True)
class Interior:
    call: int
    view: View
    nodes: tuple[Node, ...]
    """Those in the call."""
    n_outputs: int
    information: int
    """How much it tells: different things in it, and sums or other joins, which count twice."""
    is_chain: bool
    """Whether three different layers at least follow one another in it, and nothing else does."""
    is_line: bool
    """Whether it is a chain of few things with one end, which a node has room to say."""
    sign: object
    """What calls have in common that are drawn alike, but for sizes."""


class Interiors:
    def __init__(self, visible: Visibility, folding: Folding = "usual", kinds: Kinds | None = None) -> None:
        self.visible, self.graph, self.tree = visible, visible.graph, visible.tree
        self._folding: Folding = folding
        self.kinds = kinds or Kinds(visible)
        self._made: dict[object, Interior] = {}
        self._making: set[object] = set()
        self._states: list[State] = visible.states(0)
        for call in sorted(range(len(self._states)), key=lambda call: -self.tree.level[call]):  # those in a call first
            self._states[call] = self._state(call)

    def of(self, call: int) -> Interior:
        """The interior of a call, or of another of the same structure."""
        if (key := self._key(call)) not in self._made:
            self._making.add(key)
            self._made[key] = self._interior(call)
            self._making.discard(key)
        return self._made[key]

    def _key(self, call: int) -> object:
        inside = range(call, self.tree.end[call])
        asked = (self.visible.opened, self.visible.collapsed, self.visible.strict)
        is_asked = any(other in inside for calls in asked for other in calls)
        return call if is_asked else (self.kinds.structure[call], self.kinds.of[call])

    def exactly(self, call: int) -> Interior:
        interior = self.of(call)
        if interior.call != call:
            interior = self._made[call] = self._made.get(call) or self._interior(call)
        return interior

    def view(self, call: int, boxes: Mapping[int, tuple[int, ...]]) -> View:
        """The inside of a call; `boxes` are opened in place, by first call those that each is drawn for."""
        states: list[State] = [*self._states]
        states[call] = "box"
        for box, run in boxes.items():
            around = sum(other < box < self.tree.end[other] for other in boxes)
            states[box] = "open" if around >= tuning.NESTED and len(run) == 1 else "box"
        draft = self._planned(call, states, boxes)
        if giving := series_with_outputs(draft, self.kinds):
            boxes = {**boxes, **giving}
            draft = self._planned(call, states, boxes)
        asked = self.visible.asked | {self.visible.root}
        draft = simplified(draft, self.visible, asked | {*boxes}, self._folding)
        fold_series(draft, self.kinds)
        fold_turns(draft, self.kinds)
        if self.visible.options.fold and self.visible.contract and self.visible.marks is None:
            merge_sums(draft)
            merge_entries(draft, self.visible.facts)
            merge_columns(draft, self.visible.facts)  # those that read one input now, or give one sum
        merge_single_boxes(draft, asked | {call})
        merge_lists(draft)
        draft.nodes = {id_: self._with_line(node) for id_, node in draft.nodes.items()}
        return draft.view(1)

    def _with_line(self, node: Node) -> Node:
        """The node with the things in the layers that it stands for, if these are few in a row."""
        tree, first = self.tree, node.calls[0] if node.calls else 0
        kinds = {(self.kinds.structure[call], tree.end[call] - call, tree.is_solid(call)) for call in node.calls}
        is_closed = self.is_block(node) and self.visible.marks is None and len(kinds) == 1 and tree.is_solid(first)
        model = self.kinds.models[self.kinds.of[first]]
        # a model may hold a call of its kind, also one by way of another kind: neither is a line
        if not is_closed or self._key(model) in self._making:
            return node
        if not (self.of(model).is_line and self.of(first).is_line) or any(map(self._gives_aside, node.calls)):
            return node
        parts: list[Node] = []
        for part in (part for inner in self.exactly(first).nodes for part in inner.parts or (inner,)):
            calls = tuple(call + other - first for other in node.calls for call in part.calls)
            steps = (tree.first_op[other] - tree.first_op[first] for other in node.calls)
            parts.append(replace(part, calls=calls, ops=tuple(op + step for step in steps for op in part.own_ops)))
        main = max((part for part in parts if part.calls), key=lambda part: tree.n_params(part.calls[0]))
        name = self.graph.calls[first].module if node.repeat == 1 else ""
        return replace(node, calls=main.calls, parts=tuple(parts), name=name)

    def _gives_aside(self, call: int) -> bool:
        """Whether a layer gives besides its data what no line in it shows, such as the lengths of what it gives."""
        ops = {*self.tree.all_ops_of(call)}
        given = map(self.graph.values.__getitem__, self.graph.calls[call].outputs.values())
        made = (it.id for it in given if it.producer in ops and it.id in self.visible.facts.aside)
        return any(self.visible.is_read_outside(value, call) for value in made)

    def _planned(self, call: int, states: list[State], runs: Mapping[int, tuple[int, ...]]) -> Draft:
        return Ends(Plan(self.visible, states, root=call, runs=runs)).joined()

    def is_block(self, node: Node) -> bool:
        return node.kind == "call" and not node.parts and self.visible.is_block(node.calls[0])

    def share(self, calls: list[int]) -> float:
        """Part of the model, by parameters or by work; a layer that is given another one to call has that one's too."""
        paths = {self.graph.calls[call].module for call in calls}
        paths |= {path for call in calls for path in self._given(call)}
        modules = [self.graph.modules[path] for path in paths if path in self.graph.modules]
        params = sum(module.params.total for module in modules) / max(1, self.graph.modules[""].params.total)
        return min(1.0, max(params, sum(self.flops[call] for call in calls) / max(1, self.flops[0])))

    @cached_property
    def flops(self) -> list[int]:
        flops = [0] * len(self.graph.calls)
        for op in self.graph.ops:
            flops[op.call] += op.flops or 0
        for row in reversed(self.graph.calls):
            if row.parent is not None:
                flops[row.parent] += flops[row.id]
        return flops

    @cached_property
    def mixing(self) -> set[int]:
        """Calls in which one place of the data meets others, as in attention; a perceptron works place by place."""
        aside, mixing = self.visible.facts.aside, set[int]()
        for op in self.graph.ops:
            by_table = plain(op.name) in PRODUCTS and not aside.isdisjoint(op.inputs)  # as a Linear without weights
            if plain(op.name) in MIXING and not by_table and not aside.issuperset(op.outputs):
                mixing.update(row.id for row in self.graph.around(op.call))
        return mixing

    def _interior(self, call: int) -> Interior:
        view = self.view(call, {})
        nodes = tuple(node for node in view.nodes if node.kind not in _ENDS)
        fed = Counter(edge.head for edge in view.edges)
        fed_on = {edge.tail for edge in view.edges if view.nodes[edge.head].kind != "output"}
        n_joins = sum(fed[node.id] > 1 for node in nodes)
        sorts = [self._sort(node) for node in nodes]
        place = {node.id: i for i, node in enumerate(nodes)}
        wires = frozenset((place.get(edge.tail), place[edge.head]) for edge in view.edges if edge.head in place)
        # closed layers were made before it
        within = (hash(self.of(node.calls[0]).sign) if self.is_block(node) else None for node in nodes)
        drawn = zip(nodes, sorts, within, strict=True)
        sign = tuple((sort, node.repeat, node.repetition, inner) for node, sort, inner in drawn), wires
        n_outputs = sum(len(node.values) for node in view.nodes if node.kind == "output")
        n_taps = len({edge.tail for edge in view.edges if view.nodes[edge.head].kind == "output"} & fed_on)
        information = len({*sorts}) + 2 * n_joins - 1 + n_taps
        inside = {wire for wire in wires if wire[0] is not None}
        is_row = inside == {*pairwise(range(len(nodes)))}
        is_chain = len(nodes) > 2 and is_row
        is_said = all(node.kind in ("call", "op") and node.repeat == 1 and not node.decides for node in nodes)
        is_said &= not any(map(self.is_block, nodes)) and any(node.kind == "call" for node in nodes)
        is_said &= is_row and n_outputs == 1 and wires - inside <= {(None, 0)}
        is_line = is_said and 1 < sum(max(len(node.parts), 1) for node in nodes) <= tuning.LINE
        return Interior(call, view, nodes, n_outputs, information, is_chain, is_line, sign)

    def _sort(self, node: Node) -> object:
        if node.parts:
            return tuple(self._sort(part) for part in node.parts)
        if node.kind == "call":
            return "call", self.kinds.of[node.calls[0]] if self.is_block(node) else self.tree.cls(node.calls[0])
        return node.kind, node.name.rpartition(".")[2] if node.op is None else self.graph.ops[node.op].name

    def _state(self, call: int) -> State:
        visible = self.visible
        if self._states[call] == "gone" or self._states[call] == "box":  # `box`: a reader asks for it
            return self._states[call]
        if not visible.is_block(call):
            return "node"
        if not self.graph.calls[call].ok:  # a reader asks where the forward failed
            return "box"
        module, nodes = self.tree.module(call), self.of(call).nodes
        if module is None:  # layers that an operator of control flow ran: nothing else stands for them
            return "box" if nodes else "node"
        if not nodes:
            return "node"
        if self._is_wrapper(call):
            return "open"
        if len(nodes) == 1:
            only = nodes[0]
            if only.repeat > 1 and self.of(call).n_outputs > 1 and not self._gives_last(call, only):
                return "node"  # around it each of them has readers of its own
            return "open" if only.parts or (only.kind == "call" and not module.params.own) else "node"
        if len(self.tree.again[self.graph.calls[call].module]) > 1:
            return "node"
        is_chain = module.native and module.cls.startswith("torch.nn.modules.container.") and not is_list(module.cls)
        is_body = self.share([call]) >= tuning.BODY * self.share([self._around(call)])
        is_open_list = len(nodes) <= tuning.SHORT_LIST or self.share([call]) > tuning.LARGE_LIST or is_body
        if is_chain or not self._is_spine(call, nodes):
            return "open" if is_chain and is_open_list else "node"
        return "box" if self._is_part(call, nodes) else "open"

    def _gives_last(self, call: int, only: Node) -> bool:
        """Whether all that a call gives is of the last of the layers that its only node stands for."""
        rows, ends = self.graph.calls, [at for at in self.tree.children[call] if self.tree.n_ops[at]]
        return only.repetition == "series" and {*rows[call].outputs.values()} <= {*rows[ends[-1]].outputs.values()}

    def _is_wrapper(self, call: int) -> bool:
        """Whether most of what it calls was given to it, as a residual is given the layer that it is around."""
        module = self.tree.module(call)
        given = sum(self.graph.modules[path].params.total for path in self._given(call))
        longest = max(len(self.tree.children[other]) for other in self.kinds.members[self.kinds.of[call]])
        return module is not None and given > module.params.total and longest <= tuning.SHORT_LIST

    def _given(self, call: int) -> set[str]:
        """The modules that a call calls and that are not part of its own."""
        own = f"{self.graph.calls[call].module}."
        called = {self.graph.calls[child].module for child in self.tree.children[call]} & self.graph.modules.keys()
        return {path for path in called if call and not path.startswith(own)}

    def _is_spine(self, call: int, nodes: tuple[Node, ...]) -> bool:
        of_class = self._of_class[self.tree.cls(call)]
        end = self.tree.end
        is_most = self.share([call]) >= tuning.SPINE
        if is_most and all(call <= other < end[call] or other <= call < end[other] for other in of_class):
            return True
        around = self._around(call)
        while around:  # each level of a recursive U
            if self.tree.cls(call) == self.tree.cls(around) and self.share([around]) >= tuning.SPINE:
                return True
            around = self._around(around)
        if len(nodes) == 2 and nodes[1].kind == "op" and self.of(call).information == 1 and self.is_block(nodes[0]):
            return nodes[0].repeat == 1 and not self.graph.modules[self.graph.calls[call].module].params.own
        is_alone = len(of_class) == 1 and not self.graph.calls[call].module.rpartition(".")[2].isdigit()
        large = any(self.is_block(node) and self.share([*node.calls]) > tuning.LARGE_LIST for node in nodes)
        return is_alone and len(nodes) == 2 and large

    def _is_part(self, call: int, nodes: tuple[Node, ...]) -> bool:
        """Whether a call is one of several parts of what is around it, as a decoder beside its encoder and head."""
        is_entry = self.graph.calls[call].module.rpartition(".")[2].isdigit()
        beside = [other for other in self.tree.children[self._around(call)] if other != call and self.tree.n_ops[other]]
        return len(nodes) > tuning.SHORT_LIST and len(beside) > 1 and not is_entry

    @cached_property
    def _of_class(self) -> dict[str, list[int]]:
        calls: dict[str, list[int]] = {}
        for call in range(len(self.graph.calls)):
            calls.setdefault(self.tree.cls(call), []).append(call)
        return calls

    def _around(self, call: int) -> int:
        around = (row.id for row in self.graph.around(self.graph.calls[call].parent))
        return next((at for at in around if self.tree.module(at) is not None), 0)
