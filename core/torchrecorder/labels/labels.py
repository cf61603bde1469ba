"""The words on boxes and nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import groupby, takewhile
from math import prod

from torchrecorder.graph import Module, Op, symbolic
from torchrecorder.graph.batch import batch_size, lost
from torchrecorder.labels.contents import Contents
from torchrecorder.labels.formulas import NAMELESS, bare_arguments, in_numbers, in_short, operand
from torchrecorder.labels.names import (
    bare,
    class_name,
    clean,
    count,
    entries,
    flops,
    flops_by_call,
    kind_name,
    parameters,
    relative,
    run_name,
    tensor,
    times,
)
from torchrecorder.labels.op_words import MAX_LINE, MAX_NAME, Label, in_two, op_label
from torchrecorder.labels.operands import Operands, is_masked, with_operands
from torchrecorder.labels.sharing import Sharing
from torchrecorder.labels.summaries import among, of_its_own, settings, summary
from torchrecorder.request.requests import USUAL
from torchrecorder.view import Box, Node, View
from torchrecorder.view.differences import FUNCTION, HEADS, heads, values_of
from torchrecorder.view.model import boxes_around
from torchrecorder.view.node_kinds import SYMBOLS, Kind, NodeKinds, op_kind, plain, spoken
from torchrecorder.view.op_families import ACTIVATIONS, DROPOUTS, SHAPING, WEIGHTED
from torchrecorder.view.settings import is_range
from torchrecorder.view.simplified.merged import is_scale_and_shift
from torchrecorder.view.tree import CallTree, call_tree

MAX_DIFFERING = 112  # cap on a second line that says in what layers differ, since no other place does: DeepLab
MAX_FORMULA = 72  # on a second line, too, since nothing else says what is computed
_FEW_OPS = 8  # in a function, of which it says all that tell something; the panel has more
_LONG = 84  # characters of a second line from which it has no sum of parameters of unlike layers: GhostNet
MAX_TITLE = MAX_NAME + MAX_LINE
MAX_CLASS = 200  # characters, more than a name of a class has
EN_SPACE = "\N{EN SPACE}"
_LONG_PATH, _LAST_PARTS = MAX_NAME, 2  # of a longer path the first parts are left out, but for so many
_NAMED = 3  # more far ends than this are counted instead of named; of more shapes none is said
_NO_NAME = re.compile(r"[\d.–]+|~\w+[:\d–]*")  # numbers in a list, and the class of a layer that is not registered
_NUMBERED = re.compile(r"(?<=\w)\.[\d.–]+$")  # the place of a layer behind the name of its list, `conv.0.1`
_COUNTED = re.compile(r"^(\d+) (?=with)")  # `2 without skip`
_WAY = re.compile(r"(\d+)→(?:[\d→]|, )*→(\d+)")  # `8→8→16→32`, `8→8, 8→24`: its first and its last width
_REPEATS = ("in parallel", "shared", "loop")  # how `times` ends where it is a part of its own
_LEAST_CLASS = 20  # characters of the name of a class that are kept however little room there is
_LEAST_NOT_RUN = 0.05  # share of the parameters above which a title says that they are not read
_LIGHT: tuple[Kind, ...] = ("norm", "act", "pool")
_SIZED: tuple[Kind, ...] = ("conv", "linear", "pool")


class Labels:
    def __init__(self, view: View, *, name: str = "", show: Collection[str] = USUAL) -> None:
        self.view, self.graph = view, view.graph
        self.name = name
        self.show = show
        self.kinds = NodeKinds(view.graph)
        self.kind: Callable[[Node], Kind] = self.kinds.of
        self._lost = lost(view.graph)
        self._known: dict[int, Label] = {}
        self.flops = flops_by_call(view.graph) if "flops" in show else {}

    def box(self, box: Box) -> str:
        """Title of a box: `name · Class ×N · params each`, or `each step ×N` of a loop."""
        if is_loop(box):
            return clean(" · ".join((f"each step ×{box.repeat}", *box.differs)), MAX_NAME + MAX_LINE)
        module = self._module(box.calls[0])
        around = self._path(box.parent)
        name = relative(self._home(box), around)
        if box.period == 1 or name == around != "":  # which the box around it says
            names = [self._run_name(box.calls[i :: box.period], box.parent) for i in range(box.period)]
            is_long = len(", ".join(names)) > MAX_NAME  # then of a list its name alone: `conv, cls_logits`
            name = ", ".join(dict.fromkeys(_NUMBERED.sub("", name) if is_long else name for name in names))
            paths = [relative(self.graph.calls[call].module, around) for call in box.calls] if box.period > 1 else []
            name = row if paths and " " not in (row := entries(paths)) else name  # `10–17` of layers of one list
        name = "" if _NO_NAME.fullmatch(name) else name
        classes: list[tuple[str, int]] = []
        for call in box.calls[: box.period]:  # `5 A + B` if the first of a turn are alike
            called = self._module(call)
            cls = self.graph.calls[call].module if called is None else kind_name(called)
            n = classes.pop()[1] if classes and classes[-1][0] == cls else 0
            classes.append((cls, n + 1))
        cls = " + ".join(f"{n} {cls}" if n > 1 else cls for cls, n in classes)
        cls = f"({cls})" if " + " in cls else cls
        cls = "" if box.period > 1 and len(cls) > MAX_NAME else cls  # they stand in it
        facts = [self._params(module, box), self._not_run(box), self._flops(box.calls)] if box.period == 1 else []
        # an entry of a list has no class but the list
        name, cls = ("" if name == cls else clean(name, MAX_NAME)), "" if name.split(".")[:-1][-1:] == [cls] else cls
        parts = _fitting([*self._repeated(cls, box), *facts], cls, MAX_TITLE - len(name) - 3)
        return clean(" · ".join(filter(None, (name, *parts))), MAX_TITLE)

    def inset(self, box: Box, letter: str) -> str:
        """Title of an inset: its letter and class, and the path of the layer whose inside it shows."""
        module, path = self._module(box.calls[0]), self.graph.calls[box.calls[0]].module
        cls = path if module is None else kind_name(module)
        facts = (_shortened(path), self._params(module, box), self._flops(box.calls))
        parts = _fitting([f"{letter}{EN_SPACE}{cls}", *facts], cls, MAX_TITLE)
        return clean(" · ".join(parts), MAX_TITLE)

    def node(self, node: Node, whole: Node | None = None) -> Label:
        """The lines of a node, or of the part of a whole one."""
        if whole is not None or self.view.nodes[node.id] is not node:
            return self._said(node, whole)
        if node.id not in self._known:  # each try of a layout asks again
            self._known[node.id] = self._said(node)
        return self._known[node.id]

    def _said(self, node: Node, whole: Node | None = None) -> Label:
        if node.kind == "call":
            return self._call(node)
        if node.kind in ("op", "function") and node.parts:
            differ = [fact for part in (node, *node.parts) for fact in settings(part.spans)]
            differ += [self.node(part).line for part in node.parts if part.kind == "op" and self._tied(part)]
            text = self._formula(node) if node.kind == "function" and node.op is None else ""
            name, besides = in_two(self._parts_of_op(node))
            head, _, read = name.partition(" ")
            if read and text and all(it.rpartition(".")[2].strip("_") in text for it in read.split(", ")):
                name = head  # the formula has the names of what it reads
            elif read and node.kind == "function" and node.op is None and not text and (text := self._few(node)):
                name, besides = head, read
            line = " · ".join(filter(None, (besides, text, *dict.fromkeys(differ))))
            return Label(clean(name, MAX_NAME), clean(line, MAX_FORMULA if text else MAX_LINE))
        if node.kind == "function":
            if node.op is None:
                text = self._formula(node) or self._operands.read(node) or self._few(node)
                line = " · ".join(filter(None, (text, *self._heads_in(node), *settings(node.spans))))
                names = [f"{name}()" for name in values_of(node.spans, FUNCTION) or (node.name,)]
                return Label(clean(among(names), MAX_NAME), clean(line, MAX_FORMULA))
            text, own = self._formula(node), {self.graph.ops[op].name for op in node.ops}
            spans = [span for span in node.spans if span.name not in own]
            is_sign = node.name in SYMBOLS and "operations" not in text  # over a formula it reads as a part of that
            name = node.name if is_sign else spoken(node.name)
            text = bare_arguments(text, name)
            line = " · ".join((text, *self._heads_in(node), *settings(spans)))
            return Label(clean(name, MAX_NAME), clean(line, MAX_FORMULA))
        if node.kind == "op" and node.op is not None:
            op = self.graph.ops[node.op]
            others, seen = self._operands.said(whole or node, op), self._operands.seen(op)
            is_alone = op.name == "interpolate" and self._is_alone(whole or node)
            label = op_label(self._operands.names, op, node.spans, others, seen, is_alone=is_alone)
            if label.is_sign and node.ops[1:] and sum(edge.head == node.id for edge in self.view.edges) == 1:
                label = Label(f"{label.name} all {len(node.ops) + 1}")  # one line brings what many layers give
            work = flops(op.flops) if self.flops and op.flops and not label.is_sign else ""
            if weight := self._weight_of(node, op):  # `attn.in_proj_weight`, `linear 8→24`
                label = Label(clean(weight, MAX_NAME), f"{label.name} {label.line}".strip())
            row = times(node.repeat, node.repetition)
            said = (label.line, *self._operands.masked(whole or node, op), *self._tied(node), row, work)
            return Label(label.name, " · ".join(filter(None, said)), label.is_sign)
        if node.kind == "gap":
            thing = "steps" if len(node.calls) < node.size else "layers"
            paths = [self.graph.calls[call].module for call in (*node.calls[:1], *node.calls[-1:])]
            names = [relative(path, self._path(node.box)) for path in paths]
            return Label(f"… {node.size} more {thing}", clean(" – ".join(dict.fromkeys(names)), MAX_LINE))
        return self._link(node) if node.kind in ("from", "to") else self._end(node)

    def _is_alone(self, node: Node) -> bool:
        """Whether a node is drawn for what runs once: in no box that repeats, and in a layer of a class of its own."""
        boxes, tree = self.view.boxes, self._tree
        root = tree.cls(boxes[0].calls[0]) if boxes else ""
        is_once = sum(tree.cls(row.id) == root for row in self.graph.calls) == 1
        return is_once and node.repeat == 1 and all(box.repeat == 1 for box in boxes_around(boxes, node.box))

    def cls(self, thing: Box | Node) -> str:
        """The class of what is called, with its module; empty for a function, and if there are several."""
        if isinstance(thing, Box) and (thing.period > 1 or is_loop(thing)):
            return ""
        module = self._module(thing.calls[0])
        return "" if module is None else clean(module.cls, MAX_CLASS)

    def reference(self, node: Node) -> str:
        """Reference of a layer: its class, and behind `#` its call if there may be something to see inside.

        What opens in a patch or function has a number behind those of all calls.
        """
        if node.kind != "call":
            return f"#{len(self.graph.calls) + node.ops[-1]}" if node.kind == "function" else ""
        module, call = self._module(node.calls[0]), node.calls[0]
        has_inside = module is not None and (call in self.kinds.calling or not module.native)
        return self.cls(node) + (f"#{call}" if has_inside else "")

    def _call(self, node: Node) -> Label:
        call = self.graph.calls[node.calls[0]]
        module = self._module(call.id)
        if module is None:
            return Label(clean(" · ".join(self._repeated(call.module, node)), MAX_NAME), "function")
        parts_of = [self.graph.calls[call].module for part in node.parts for call in part.calls]
        name = relative(node.name, self._path(node.box)) or self._run_name(node.calls, node.box, parts_of)
        whole = self.graph.modules.get(node.name) if node.name else None
        if whole is not None and not whole.native and _NO_NAME.fullmatch(name):
            name = kind_name(whole)
        layer = self.kinds.layers.get(call.id)
        name, kind = _shortened(name), self.kind(node)
        cls, held = kind_name(module) if layer is None else layer.name or kind_name(module), ""
        computed, (before, behind) = self._computed(node), self._lights(node)
        if computed and (sign := self._sign(node)):
            return Label(sign, is_sign=True)
        if len(" · ".join((*before, *behind))) > MAX_FORMULA:  # the main one has numbers, too
            before, behind = self._lights(node, 0)
        lights = [*(() if layer is None else layer.made), *self._tied(node), *behind]
        if (module.native and kind != "block") or layer is not None:
            numbered = self._heads.get(call.id, "") if cls == "MultiheadAttention" and not node.spans else ""
            is_row = node.repetition == "series" and node.repeat > 1
            room = MAX_LINE - len(" · ".join(("", *before, *lights)))
            is_whole = "settings" in self.show
            room = MAX_DIFFERING if is_whole else room
            said, like = (module.extra_repr, cls) if layer is None else (layer.said, layer.like)
            what = numbered or summary(
                cls, said, node.spans, limit=room, like=like, whole=is_whole, in_a_row=is_row, per_turn=self._n(node)
            )
            what = cls if node.is_unsaid else what
            run = self._repeated(" · ".join((*before, what, *lights)), node)
            parts, long = [*run, self._sharing.again(module, node)], cls
        else:
            classes = among(values_of(node.spans, "class"))
            is_more = node.inset or node.parts or node.differs or node.is_unsaid or computed or classes
            is_first = node in self._sharing.things_of.get(module.fqn, [node])[:1]
            held = self._contents.held(node) if is_first and not is_more else ""
            contents, unlike = self._contents.of_sequential(node, held), " and ".join(node.unlike)
            long, held = node.inset or classes or contents or cls, "" if contents else held
            facts = (computed, *settings(node.spans), self._params(module, node))
            words = filter(None, (*before, " unlike ".join(filter(None, (long, "" if contents else unlike))), *lights))
            own, run = (
                [] if node.is_unsaid else of_its_own(node.own, node.repeat),
                self._repeated(" · ".join(words), node),
            )
            ends = {f"{row[0]}→{row[-1]}" for text in own if (row := text.split("→"))}
            run = [text for text in run if text not in ends]
            if run[1:] and run[-1].startswith("first ") and own and own[-1].startswith("first "):
                run.append(f"{own.pop()}, {run.pop().removeprefix('first ')}")
            parts = [*run[:1], held, *own, *run[1:], *facts]
            if facts[-1].endswith(" in all") and len(" · ".join(filter(None, parts))) > _LONG:
                facts, parts = facts[:-1], parts[:-1]  # it tells least
            if len(" · ".join(filter(None, parts))) > MAX_LINE + MAX_FORMULA:  # what only some have is said first
                parts = [*run, *own, *facts]
        is_long = any(
            (node.spans, node.parts, node.differs, "settings" in self.show, re.search("[·,] ", long), computed)
        )
        is_long |= bool(self._tied(node) or held)
        limit = MAX_LINE + MAX_FORMULA if computed or node.differs else MAX_DIFFERING if is_long else MAX_LINE
        line = " · ".join(filter(None, (*_fitting(parts, long, limit), self._flops(node.calls))))
        is_known = _letters(line) == _letters(name)
        if (kind == "norm" and is_known) or _letters(line) == _letters(name.rpartition(".")[2]) != _letters(name):
            return Label(clean(name, MAX_NAME))  # `layer_norm2`, `embeddings.LayerNorm`
        if node.inset and (not name or _NO_NAME.fullmatch(name)):
            is_listed = name and node.box is not None and not self.view.boxes[node.box].around
            entry = f"{self._path(node.box).rpartition('.')[2]}.{name}".lstrip(".")  # `body.4–6`
            return Label(clean(entry if is_listed else cls, MAX_NAME), clean(line, limit))
        if not name or _NO_NAME.fullmatch(name) or is_known:
            is_split = len(line) > MAX_NAME or kind == "block"
            head, *rest = line.removeprefix(long).split(" · ") if is_split else (line.removeprefix(long),)
            first = f"{long}{head}" if line.startswith(long) else head
            return Label(clean(first, MAX_NAME), clean(" · ".join(rest), limit))
        if kind in _LIGHT and len(line) < MAX_NAME and _letters(line).startswith(_letters(name)):
            return Label(line)  # `maxpool · MaxPool2d 3×3 /2`
        return Label(clean(name, MAX_NAME), clean(line, limit))

    def _n(self, node: Node) -> int:
        """How many calls a reader counts where a node is drawn, or how many in each turn of boxes that repeat, too."""
        around = (box.repeat for box in boxes_around(self.view.boxes, node.box))
        repeats = [n for n in (node.repeat, *around) if n > 1]
        return repeats[0] if len(repeats) == 1 else node.repeat

    def _formula(self, node: Node) -> str:
        if (node.id,) in self.view.silent:
            return ""
        is_again = any(box.repeat > 1 for box in boxes_around(self.view.boxes, node.box))
        operands = self._operands
        aside = operands.aside(node)
        return in_short(operands.names, node, MAX_FORMULA, operands.base(node), aside, is_again=is_again)

    def _few(self, node: Node) -> str:
        """The ops of a short function or layer whose formula cannot be written: `3 operations: var_mean, sqrt`."""
        text = in_numbers(self.graph, node.ops, MAX_LINE) if 1 < len(node.ops) <= _FEW_OPS else ""
        ran, telling = {plain(self.graph.ops[op].name) for op in node.ops}, text.partition(":")[2]
        is_telling = ", " in telling or "×" in telling or not ran.isdisjoint(ACTIVATIONS)
        return text if is_telling and node.name not in ran and not node.spans and "…" not in text else ""

    def _computed(self, node: Node) -> str:
        """The formula of a closed layer of the user's that calls none, or its ops, if all of its class run the same."""
        first, tree = node.calls[0], self._tree
        is_said = node.inset or tree.is_leaf(first) or first in self.kinds.layers or self.kind(node) == "norm"
        if is_said or first in self.kinds.calling or (node.id,) in self.view.silent:
            return ""
        alike = (tree.all_ops_of(row.id) for row in self.graph.calls if tree.cls(row.id) == tree.cls(first))
        rows = ([self.graph.ops[op] for op in ops] for ops in alike)
        acts = [[(op.name, op.attrs) for op in ops if op.name not in SHAPING] for ops in rows]
        whole = replace(node, kind="function", ops=tuple(tree.all_ops_of(first)))
        if acts != acts[:1] * len(acts):
            return ""
        text, name = in_short(self._operands.names, whole, MAX_FORMULA, first), tree.cls(first).rpartition(".")[2]
        is_known = _letters(text.partition("(")[0]) in _letters(name)  # `exp(x)` of Exp
        return self._few(whole) if not text else text if _is_readable(text) and not is_known else ""

    def _sign(self, node: Node) -> str:
        """`+` or `×` of a layer that does nothing but that with its two inputs."""
        ops = [self.graph.ops[op] for op in self._tree.all_ops_of(node.calls[0])]
        acts = [op for op in ops if op.kind != "pass"]
        sign = SYMBOLS.get(plain(acts[0].name), "") if len(acts) == 1 and not acts[0].attrs else ""
        n_lines = sum(edge.head == node.id for edge in self.view.edges)
        return sign if sign in ("+", "×") and n_lines == 2 and node.repeat == 1 and not node.parts else ""

    def _tied(self, node: Node) -> list[str]:
        """`weight of enc.0` of a layer or an op that takes the weight of another layer."""
        path = self._weights.get((node.kind, node.calls[0] if node.kind == "call" else node.op))
        return [f"weight of {_shortened(relative(path, self._path(node.box)))}"] if path else []

    @cached_property
    def _weights(self) -> dict[tuple[str, int | None], str]:
        """By op, and by call of a layer, the layer whose weight it reads, if that is another one."""
        values, paths = self.graph.values, dict[tuple[str, int | None], str]()
        called = {row.module for row in self.graph.calls}
        for op in self.graph.ops:
            weight = values[op.inputs[1]] if plain(op.name) in WEIGHTED and len(op.inputs) > 1 else None
            while weight is not None and weight.producer is not None:  # `enc.weight.t()`
                made = self.graph.ops[weight.producer]  # a state of `weight.new(…)` is none
                weight = values[made.inputs[0]] if made.name in SHAPING else None
            path = (weight.name or "").rpartition(".")[0] if weight is not None and weight.kind == "param" else ""
            home = self.graph.modules.get(self.graph.calls[op.call].module)
            if path and path in called and home is not None and path not in (home.fqn, *home.aliases):
                paths["op", op.id] = paths["call", op.call] = path
        return paths

    def _weight_of(self, node: Node, op: Op) -> str:
        """The parameter that a layer written as an op reads, or the layer whose it is; empty if that tells nothing."""
        weight = (
            self.graph.values[op.inputs[1]] if op_kind(op.name) in ("linear", "conv") and len(op.inputs) > 1 else None
        )
        if weight is None or weight.kind != "param" or self._tied(node):
            return ""
        name = relative(weight.name or "", self._path(node.box)).removesuffix(".weight")
        return "" if name == "weight" else _shortened(name)

    def _lights(self, node: Node, limit: int = MAX_NAME) -> tuple[list[str], list[str]]:
        """The words for the parts before and behind the main one, but for dropouts: `BatchNorm2d`, `Linear 8→2`."""
        before: list[str] = []
        classes_of_parts: list[str] = []
        for part in node.parts:
            if part.calls and part.calls == node.calls:
                before, classes_of_parts = classes_of_parts, []
                continue
            module = self._module(part.calls[0]) if part.calls else None
            if module is not None and class_name(module) in DROPOUTS:
                continue
            layer = self.kinds.layers.get(part.calls[0]) if part.calls else None
            own = (layer.name if layer is not None else "") or ("" if module is None else class_name(module))
            is_sized = self.kind(part) in _SIZED and not node.is_unsaid
            if module is not None and (layer or module.native) and is_sized:
                said, like = (module.extra_repr, own) if layer is None else (layer.said, layer.like)
                n = self._n(replace(node, calls=part.calls))
                classes_of_parts.append(summary(own, said, part.spans, limit=limit, like=like, per_turn=n))
                continue
            classes = values_of(part.spans, "class") or ((own,) if own else ())
            label = self.node(part, node)
            facts = (
                fact
                for fact in label.line.split(" · ")
                if part.kind == "op" and re.search(r"heads|^causal$|^by \d", fact)
            )
            classes_of_parts.append(" ".join((among([*map(bare, classes)]) or label.name, *facts)))
        return [it for it in before if it != "dropout"], [it for it in classes_of_parts if it != "dropout"]

    def _parts_of_op(self, node: Node) -> str:
        """`+ pos_embedding`, `+ · relu`."""
        if is_scale_and_shift(self.graph, node):
            return "scale · shift"
        first, *others = node.parts
        words = sign = self.node(first, node).name
        for is_data, group in groupby(others, lambda part: part.kind in ("param", "buffer")):
            parts = [*group]
            if is_data:
                named = entries([self.node(part).name for part in parts])
                if named not in words:  # `[relative_position_index]`
                    at = self._operands.position(first, parts[0]) if words == sign else 1
                    words = with_operands(self.graph.ops[first.op or 0], {at: named}, words)
                continue
            for part in parts:
                is_layer = part.kind == "call" and self.kind(part) in ("act", "norm")
                name = self._run_name(part.calls, node.box) if part.kind == "call" else self.node(part, node).name
                (_, behind) = self._lights(replace(node, parts=(part,))) if is_layer else ((), [name])
                name = name if _letters(name) in map(_letters, behind) else behind[-1]  # `act` is a ReLU
                words += f" · {name}" if part.kind == "op" or is_layer else f" {name}"
        is_whole = first.kind == "function" and len(words) > MAX_NAME  # its name says more than half of a weight's
        return self.node(first, node).name if is_whole else words

    def _heads_in(self, node: Node) -> list[str]:
        """`8 heads` of an attention that is written out in a function, in all turns."""
        numbers = {heads(self.graph, self.graph.ops[op]) for op in node.ops} - {1}
        return [f"{n} heads" for n in numbers if len(numbers) == 1 and not values_of(node.spans, HEADS)]

    @cached_property
    def _heads(self) -> dict[int, str]:
        """`MultiheadAttention 8 heads · masked` by call: the op that it ran says so, not its `extra_repr`."""
        labels: dict[int, str] = {}
        for op in self.graph.ops:
            if op.name == "multi_head_attention_forward":
                number = op.attrs.get("num_heads") or op.attrs.get("4", "")  # its fifth argument
                is_said = number.isdigit() and number != "1"
                facts = (f"{number} heads" if is_said else "", "· masked" if is_masked(self.graph, op) else "")
                labels.setdefault(op.call, " ".join(filter(None, ("MultiheadAttention", *facts))) if any(facts) else "")
        return labels

    def _flops(self, calls: tuple[int, ...]) -> str:
        number = self.flops.get(calls[0], 0)
        return (flops(number) + (" each" if len(calls) > 1 else "")) if number else ""

    def _params(self, module: Module | None, thing: Box | Node) -> str:
        """Its parameters, at the first of the things that are calls of the module; then its place among its calls."""
        if module is None or not module.params.total:
            return ""
        if values_of(thing.spans, "params"):
            return self._sharing.again(module, thing)  # other layers that it stands for have other numbers
        paths = {self.graph.calls[call].module for call in thing.calls}
        numbers = [self.graph.modules[path].params.total for path in paths if path in self.graph.modules]
        if thing.calls[0] in self._tree.picked:
            numbers = [self._tree.n_params(call) for call in thing.calls]
        is_equal = len({*numbers}) < 2
        number = numbers[0] if is_equal else sum(numbers)
        share = "" if len(numbers) < 2 else "each" if is_equal else "in all"
        text = f"{parameters(number)} {share}".rstrip() if "params" in self.show else ""
        text += f", {count(n)} shared" if text and not share and (n := self._sharing.tied(module)) else ""
        is_first = thing in self._sharing.things_of.get(module.fqn, [])[:1] or thing.calls[0] in self._tree.picked
        return " · ".join(filter(None, (self._sharing.again(module, thing), text if is_first else "")))

    def _not_run(self, box: Box) -> str:
        """`186 M not run`: how many of the model's parameters the forward does not read, if it is many."""
        module, is_whole = self._module(box.calls[0]), box.calls[0] == 0 and self.graph.info.failure is None
        if module is None or not is_whole or "params" not in self.show or self.graph.info.recorder == "classic":
            return ""
        values = (self.graph.values[value] for op in self.graph.ops for value in op.inputs)
        read = {value.name: value.meta for value in values if value.kind == "param"}
        shapes = [meta.shape for meta in read.values() if meta is not None]
        known = [
            prod(sizes) for it in shapes if len(sizes := [size for size in it if isinstance(size, int)]) == len(it)
        ]
        rest = module.params.total - sum(known) if len(known) == len(read) else 0
        return f"{count(rest)} not run" if rest > _LEAST_NOT_RUN * module.params.total else ""

    def shared(self, thing: Box | Node) -> int | None:
        """The number of its module among those whose calls are drawn apart; None if nothing else is a call of it."""
        return self._sharing.tag(thing)

    @cached_property
    def _sharing(self) -> Sharing:
        return Sharing(self.view, self._tree)

    @cached_property
    def _contents(self) -> Contents:
        return Contents(self._tree)

    @cached_property
    def _operands(self) -> Operands:
        return Operands(self.view, self._tree, operand)

    @cached_property
    def _tree(self) -> CallTree:
        return call_tree(self.graph)

    def _link(self, node: Node) -> Label:
        """`from down1` or `to up3`: what is at the other end."""
        others = [self.view.nodes[link] for link in node.links]
        if node.kind == "from" and len(others) == 1 and others[0].kind not in ("call", "op", "gap"):
            return Label(self._end(others[0]).name)
        names = []  # for a reader who is in another box
        for other in others:
            if other.kind == "call":
                parts_of = [self.graph.calls[call].module for part in other.parts for call in part.calls]
                names.append(self._run_name(other.calls, node.box, parts_of))
                continue
            place = relative(self._path(other.box), self._path(node.box)) if other.box != node.box else ""
            is_nameless = other.kind in ("op", "gap") and place
            names.append(self.node(other).name + (f" in {place}" if is_nameless else ""))
        if len(names) > _NAMED:
            is_named = node.kind == "from" and is_range(names)
            text = f"{names[0]} … {names[-1]}" if is_named else f"{len(names)} places"
            return Label(clean(f"{node.kind} {text}", MAX_LINE), f"{len(names)} tensors" if node.kind == "from" else "")
        return Label(clean(f"{node.kind} {', '.join(names)}", MAX_LINE))

    def _end(self, node: Node) -> Label:
        made = "" if node.kind != "const" or node.op is None else self.graph.variable(self.graph.ops[node.op])
        default = {"input": "input", "output": "output", "const": f"constant {made}".strip()}.get(node.kind, "")
        name = node.name
        if node.kind in ("param", "buffer", "const") and node.box is not None:
            name = relative(name, self._path(node.box))
        if node.kind == "output" and not re.search(r"[^\d.–]", name):
            is_only = sum(other.kind == "output" for other in self.view.nodes) == 1
            name = "output" if is_only else f"output {name}".strip()
        shown = node.values if "shapes" in self.show else ()
        shapes = [*filter(None, dict.fromkeys(self._size_of(node, value) for value in shown))]
        shape = ", ".join(shapes) if len(shapes) <= _NAMED else ""
        facts = [shape, *node.differs]
        if len(node.values) > 1:
            keys = [path.removeprefix(f"{name}.") for path, at in self.graph.inputs.items() if at in node.values]
            is_named = len(", ".join(keys)) < MAX_LINE and not any(re.search(r"[\d.]", key) for key in keys)
            many = ", ".join(keys) if node.kind == "input" and keys and is_named else f"{len(node.values)} tensors"
            default, facts = f"{default}s", [many, shape]
        return Label(clean(name or default, MAX_NAME), clean(" · ".join(filter(None, facts)), MAX_LINE))

    def _size_of(self, node: Node, value: int) -> str:
        """The shape of what enters or leaves: `N×14`, or `2×14 at N = 2` if nothing tells what of it is the batch."""
        if value not in self._lost:
            return tensor(symbolic(self.graph, value), self.show)
        recorded = tensor(self.graph.values[value].meta, self.show) if node.kind in ("input", "output") else ""
        return f"{recorded} at N = {batch_size(self.graph)}" if recorded else ""

    def _repeated(self, text: str, thing: Box | Node) -> list[str]:
        """A thing, its repeats, and their differences; those in all turns of what is around are counted of all."""
        words, around = times(thing.repeat, thing.repetition), thing.parent if isinstance(thing, Box) else thing.box
        if (turns := prod(box.repeat for box in boxes_around(self.view.boxes, around))) > 1:
            differs = tuple(_COUNTED.sub(rf"\1 of {turns * thing.repeat} ", word) for word in thing.differs)
        else:
            differs = thing.differs
        of_all = [word for word in differs if word.startswith(("with ", "without "))]
        said = {*of_all, *(f"{way[1]}→{way[2]}" for way in _WAY.finditer(text))}
        text = f"{text} {', '.join(of_all)}".strip()
        head = [f"{text} {words}".strip()] if words.startswith("×") else [text, words]
        return [*filter(None, (*head, *(word for word in differs if word not in said))), *self._operands.unlike(thing)]

    def _run_name(self, calls: tuple[int, ...], box: int | None, parts: Collection[str] = ()) -> str:
        base, paths = self._path(box), []
        for path in (self.graph.calls[call].module for call in calls):
            module = self.graph.modules.get(path)
            names = (path, *module.aliases) if module is not None and base else (path,)
            paths.append(next((name for name in names if name.startswith(f"{base}.")), path))
        return run_name(self.graph, paths, base, parts) if paths[0] else self.name

    def _home(self, box: Box) -> str:
        """The path of the list that holds layers which take turns."""
        names = [self.graph.calls[call].module for call in box.calls]
        changing = [name for i, name in enumerate(names) if name != names[(i + box.period) % len(names)]]
        paths = [name.split(".") for name in changing or names]  # a layer that all turns call may be anywhere
        common = takewhile(lambda parts: len({*parts}) == 1, zip(*paths, strict=False))
        return ".".join(parts[0] for parts in common)

    def _path(self, box: int | None) -> str:
        """The path of the module that a box shows, or of the list that holds layers which take turns."""
        if box is None:
            return ""
        row = self.view.boxes[box]
        if row.around:  # what a loop calls may be anywhere in the module that it runs in
            return self._path(row.parent) if is_loop(row) else self._home(row)
        return self.graph.calls[row.calls[0]].module

    def _module(self, call: int) -> Module | None:
        row = self.graph.calls[call]
        return self.graph.modules.get(row.module) if row.kind == "module" else None


def words(view: View, show: Collection[str] = USUAL) -> Callable[[Node], str]:
    """By node of a View all that its two lines say."""
    labels = Labels(view, show=show)
    return lambda node: " · ".join(filter(None, labels.node(node)[:2]))


def _shortened(path: str) -> str:
    """The end of a long path: `…submodule.2.1`."""
    parts = path.split(".")
    while len(parts) > _LAST_PARTS and sum(map(len, parts)) + len(parts) > _LONG_PATH:
        del parts[0]
    short = ".".join(parts)
    return short if short == path else f"…{short}"


def _fitting(parts: Sequence[str], cls: str, limit: int) -> list[str]:
    """The parts of a line with less of the class where it is too long, and at last without the last one.

    How often a thing is there is said in any case: instead the first part has less.
    """
    kept = [*filter(None, parts)]
    over = len(" · ".join(kept)) - limit
    if over > 0 and len(cls) > _LEAST_CLASS:
        short = f"{cls[: max(len(cls) - over, _LEAST_CLASS) - 1]}…"
        kept[0] = kept[0].replace(cls, short, 1)
    if over > max(len(cls) - _LEAST_CLASS, 0) and len(kept) > 1 and not kept[-1].endswith(_REPEATS):
        kept.pop()
    over = len(" · ".join(kept)) - limit
    if over > 0 and any(part.endswith(_REPEATS) for part in kept[1:]):
        kept[0] = clean(kept[0], len(kept[0]) - over)
    return kept


def _is_readable(formula: str) -> bool:
    """Whether it tells more than the name of its function or class; the panel has longer ones."""
    return len(formula.partition(" · ")[0]) <= MAX_NAME and NAMELESS not in formula


def is_loop(box: Box) -> bool:
    return box.around and box.repetition == "loop"


def _letters(text: str) -> str:
    return text.lower().replace("_", "").rstrip("0123456789")
