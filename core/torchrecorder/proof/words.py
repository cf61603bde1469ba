"""The proof of names: each word in a picture is one that the source has there, resolved from the Graph alone.

A tensor is called by an input, parameter or buffer, by a variable or argument, or by the layer that gave it; by the op
that made it only if that says what is in it, `ones`. An op stands for itself at the head of a part of a text, before a
bracket, and in a list.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from functools import lru_cache
from itertools import accumulate, permutations
from math import isclose, prod

from torchrecorder.graph import Call, Graph, Op
from torchrecorder.proof.arguments import are_arguments
from torchrecorder.proof.facts import JOINS, MOVES, Claim, changes_nothing
from torchrecorder.view import Box, Node, View

_ENGLISH = frozenset(
    """
    its transpose itself not at write index attention scaled dot product causal operations more steps layers scale shift
    weight of shared called times loop in parallel each step params experts top groups depthwise kernel stride dilation
    both ways heads function with without and instead identity only inputs swapped skip mask other or by op ops not run
    another computed densely connected outputs B M k T kFLOPs MFLOPs GFLOPs TFLOPs FLOPs inf nan True False None e
    param tensors kinds numbers masked expansion reduction first then is N t all every pruned weight_norm spectral_norm
    dim same size axis axes none likewise
    """.split()  # noqa: SIM905 - it reads as a sentence
)
_ANEW = re.compile(r"_like$|^new_|^(normal|uniform|exponential|zero)_$")  # ops that take no numbers from what they read
_TOKEN = re.compile(r"(?<!\d[a-z]–)([^\W\d]\w*(?:\.\w+)*)(…?)(\(|=(?!=)| \d+→)?")
_NO_WORDS = re.compile(
    r"'[^']*'|[ᵀ²³¹⁻]|\b\d+(?:st|nd|rd|th)\b|\bunlike [A-Z](?: and [A-Z])*(?!\w)|\d key/value heads?\b"
)
"""What is written in quotes, signs that stand at names, places in a row, and insets, of which another room judges."""
_EQUATION = re.compile(r"\beinsum\b.* ([a-zA-Z…,]+→[a-zA-Z…]*)")
_THEN = re.compile(r"([\d×]+), then ([\d×]+)")
_OVER = re.compile(r"(\w+) dim (-?\d+(?:, -?\d+)*)")
_ALONG = frozenset(
    "mean sum amax amin max min argmax argmin var std prod softmax log_softmax logsumexp repeat_interleave".split()  # noqa: SIM905
)
"""Ops that are over the last axis where their name stands alone."""
_TURNS = frozenset(
    "permute transpose t T mT H mH adjoint swapaxes swapdims movedim moveaxis as_strided".split()  # noqa: SIM905
)
"""Ops that put axes elsewhere."""
_TRANSPOSED = frozenset(("transpose", "t", "T", "mT", "swapaxes", "swapdims"))
"""Those that exchange two."""
_INDEXED = re.compile(r"(?<=[\w)])\[([^\[\]]+)\]")
_BREAK = re.compile(r",(?: ·)? (?=[^\[\]]*\])")
"""Where an index goes on in the next line."""
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
_TYPE = re.compile(r"u?int\d+|b?float\d+|bool|complex\d+")
_PARTS = re.compile(r"[\W_]+")
_LACKING = re.compile(r"without ([^·]*)")
_FILLED = frozenset(("eye", "ones", "ones_like", "rand", "rand_like", "randn", "randn_like", "zeros", "zeros_like"))
"""Ops whose names say what is in the tensor that they make."""
_SIGNS = frozenset("+−×÷@")
_ROOT = re.compile(r"(?:([×÷]) )?(1/)?√(\d+)")
_COUNTED = re.compile(r" · (\d+) ops(?=: | · |$)")
"""Behind a formula that has variables in place of what they hold, the number of all ops there."""
_DERIVATIVE = re.compile(r"∂([\w.\[\]]*)/∂([\w.\[\]]+)")
_HEADS = re.compile(r"MultiheadAttention \d+ heads")
_CLASSES = {name: re.compile(name.lower()) for name in ("ReLU", "GELU", "SiLU")}
_CLASSES |= {f"Conv{axes}d": re.compile(rf"(pad )?conv{axes}d") for axes in (1, 2, 3)}
_CLASSES["RMSNorm"] = re.compile(r"pow2 mean add (rsqrt|pow-0\.5) mul( mul)?")
"""Classes of torch, each by the ops that another class must run to be called so."""
_MASKS = frozenset(("key_padding_mask", "attn_mask"))
_ASKING = frozenset(("bitwise_not", "logical_not", "invert", "eq", "ne", "lt", "le", "gt", "ge"))


def faults(view: View, letter: str, said: Mapping[str, str]) -> Iterator[str]:
    """Sentences on words at nodes and boxes that have no origin in the Graph."""
    inside: dict[int, list[Op]] = {}
    for op in view.graph.ops:
        for row in view.graph.around(op.call):
            inside.setdefault(row.id, []).append(op)
    layers: dict[int, list[Call]] = {}
    for call in view.graph.calls:
        for row in view.graph.around(call.id):
            layers.setdefault(row.id, []).append(call)
    yield from _wrong_outputs(view, letter, said)
    yield from _wrong_paths(view, letter)
    given, shown = _given(view.graph), {*_shown(view, inside)}
    things: list[Node | Box] = [node for node in view.nodes if node.kind in ("op", "function", "call")]
    for thing in (*things, *view.boxes):
        key = f"{letter}{'b' if isinstance(thing, Box) else ''}{thing.id}"
        words = said.get(key, "").strip().removeprefix(f"{letter}\N{EN SPACE}")
        others = " ".join(text for other, text in said.items() if other[:1].isupper() and other != key)
        calls = [call for part in (thing, *getattr(thing, "parts", ())) for call in part.calls]
        inner = [op for call in calls for op in inside.get(call, ())]
        rows = {row.id: row for call in calls for row in (*layers.get(call, ()), *view.graph.around(call))}
        read = (part.own_ops for part in (thing, *thing.parts)) if isinstance(thing, Node) else ()
        own = [view.graph.ops[op] for ops in read for op in ops]
        behind = [*_behind(view.graph, own, shown)]
        if words and (wrong := _wrong(view.graph, thing, words, others, inner, rows.values(), given, behind)):
            yield Claim(f"“{words}” at {key} names {wrong}, which nothing has there", key)
        for path in _unnamed(view.graph, thing, words.partition(" · ")[0]) if isinstance(thing, Node) else ():
            yield Claim(f"“{words}” at {key} does not name {path}, which is not in what it names", key)
        written = {op.attrs.get("0", "") for op in (*own, *inner) if op.name == "einsum"}
        known = {re.sub(r"['\s]", "", text).replace("->", "→").replace("...", "…") for text in written}
        if (equation := _EQUATION.search(words)) and equation[1] not in known:
            yield Claim(f"“{equation[1]}” at {key} is not the equation there", key)
        axes = {(op.name, *_axes_there(view.graph, op, at, shown)) for op in own for at in op.attrs.values()}
        if not axes.issuperset((match[1], *match[2].split(", ")) for match in _OVER.finditer(words.replace("−", "-"))):
            yield Claim(f"“{words}” at {key} says an axis that is not the one there", key)
        for op in own:
            is_alone = getattr(thing, "kind", "") == "op" and words.partition(" · ")[0] == op.name
            if is_alone and op.name in _ALONG and "dim" not in words and _is_elsewhere(view, op, shown):
                yield Claim(f"“{words}” at {key} does not say its axis, which is not the last", key)
            used = [i for i, value in enumerate(op.outputs) if any(value in reader.inputs for reader in own)]
            if len(used) > 1 and f"{op.name}(" in words and not all(f"[{i}]" in words for i in used):
                yield Claim(f"“{words}” at {key} does not tell the outputs of {op.name} apart", key)
        axes_said = [*_axes(words)]
        reads = [value for op in own for value in op.inputs] if axes_said else []  # few words say any
        near = {view.graph.values[at].producer for value in reads for at in way(view.graph, value)}
        taking = [*own, *(view.graph.ops[made] for made in near if made is not None)]
        for name, at in axes_said:
            over = [op for op in taking if op.name == name and (name != "getitem" or _bare(op) == at)]
            numbered = _indexed(at) if name == "getitem" else [*map(int, at.split(", "))]
            here = [op for op in over if op in own or op.id not in shown]  # and not what another node does
            moved = [op for op in here if _turned(view.graph, op, shown) and (name, *at.split(", ")) in axes]
            is_known = bool(moved) and name != "getitem"
            is_known |= any(all(_is_seen(view.graph, op, axis, shown, words) for axis in numbered) for op in here)
            if over and not is_known:
                yield Claim(f"“{words}” at {key} says an axis that is another of what is drawn before", key)
        runs = [[{*re.findall(r"\d+", value)} for value in span.values] for span in getattr(thing, "own", ())]
        for start, rest in ([{*text.split("×")} for text in match.groups()] for match in _THEN.finditer(words)):
            if not any(run[0] == start and all(value == rest for value in run[1:]) for run in runs):
                yield Claim(f"“{words}” at {key} says a run that is another", key)
        numbers = [(op, float(text)) for op in own for text in op.attrs.values() if _NUMBER.fullmatch(text)]
        factors = [1 / number if op.name.strip("_") == "div" else number for op, number in numbers if number]
        for sign, inverse, square in _ROOT.findall(words):
            root = int(square) ** (0.5 if (sign == "÷") == bool(inverse) else -0.5)
            if not any(
                isclose(it, one, rel_tol=1e-8) for it in factors for one in (root, *(() if sign else (1 / root,)))
            ):
                yield Claim(f"“{words}” at {key} says a root, and no argument has that", key)
        masks = [op.inputs[3] for op in own if op.name == "scaled_dot_product_attention" and len(op.inputs) > 3]
        made = {view.graph.values[[*way(view.graph, mask)][-1]].producer for mask in masks}
        facts = words.split(" · ")
        is_unsaid = getattr(thing, "kind", "") == "op" and not made.isdisjoint(op.id for op in behind)
        if not calls and ("masked" in facts if not masks else is_unsaid and "masked" not in facts):
            yield Claim(f"“{words}” at {key} {'does not say its' if masks else 'has no'} mask", key)
        of_heads = [view.graph.calls[op.call] for op in inner if op.name == "multi_head_attention_forward"]
        is_masked = bool(of_heads) and not any(_MASKS.isdisjoint(row.inputs) for row in of_heads)
        if calls and (not is_masked if "masked" in facts else is_masked and any(map(_HEADS.match, facts))):
            yield Claim(f"“{words}” at {key} {'has no' if 'masked' in facts else 'does not say its'} mask", key)
        ends = {view.graph.values[[*way(view.graph, value)][-1]].producer for op in own for value in op.inputs}
        is_alone = words in _SIGNS and sum(edge.head == thing.id for edge in view.edges) < 2
        if (is_alone or "its transpose" in words) and is_alone == any(
            _is_transposed(view.graph, op) for op in own if words != "@"
        ):
            yield Claim(
                f"“{words}” at {key} {'does not say' if is_alone else 'says'} that one side is the other, transposed",
                key,
            )
        is_op = getattr(thing, "kind", "") == "op" and words.startswith(tuple(op.name for op in own[:1]))
        if is_op and not thing.differs:
            values = [value for span in thing.spans for value in span.values]
            if not are_arguments(own[0], words.partition(" · ")[2].removeprefix("· "), values):
                yield Claim(f"“{words}” at {key} says a number that no argument is", key)
        if (derivative := _DERIVATIVE.search(words)) and not _is_derivative(view.graph, own[0], given, derivative):
            yield Claim(f"“{words}” at {key} says another derivative", key)
        ran = {len({op.id for op in own}), *(len(inside.get(call, ())) for call in calls)}
        if (counted := _COUNTED.search(words)) and int(counted[1]) not in ran:
            yield Claim(f"“{words}” at {key} says another number of ops than run there", key)
        if any(int(n) != len(own) + 1 for n in re.findall(r"\+ all (\d+)", words)):
            yield Claim(f"“{words}” at {key} adds another number of things", key)
        acting = (op for op in behind if not _joins_nothing(view.graph, op) and not changes_nothing(op, op.name))
        if is_alone and (own[1:] or any(op.id in ends for op in acting)):
            yield Claim(f"“{words}” at {key} does not say what it takes besides", key)


def _is_derivative(graph: Graph, op: Op, given: Mapping[int, object], said: re.Match[str]) -> bool:
    """Whether an op derives what is said, of which each number counts alike, by one tensor that is said."""
    called = [{*names(graph, given, value, op)} for value in op.inputs[:2]]
    made = [graph.values[value].producer for value in op.inputs[2:]]
    is_even = all(at is not None and graph.ops[at].name in ("ones", "ones_like") for at in made)
    is_one = op.name == "grad" and len(op.outputs) == 1 and len(op.inputs) in (2, 3) and is_even
    return is_one and all(not name or name in known for name, known in zip(said.groups(), called, strict=True))


def _is_transposed(graph: Graph, op: Op) -> bool:
    """Whether one side of an op is the other one with two of its axes exchanged."""
    if len({*op.inputs}) != 2 or len({tuple(graph.values[value].shape) for value in op.inputs}) > 1:
        return False
    for one, other in permutations(op.inputs):
        made = graph.values[one].producer
        row = None if made is None else graph.ops[made]
        if row is not None and row.name in _TRANSPOSED and row.inputs[:1] == (other,):
            return True
    return False


def _axes(words: str) -> Iterator[tuple[str, str]]:
    """The axes that words say, each with its op, and the indices behind a name."""
    yield from ((match[1], match[2]) for match in _OVER.finditer(words.replace("−", "-")))
    yield from (("getitem", match[1]) for match in _INDEXED.finditer(_BREAK.sub(", ", words)))


def _is_elsewhere(view: View, op: Op, shown: Set[int]) -> bool:
    """Whether an op is over other axes than the last."""
    text = op.attrs.get("dim") or ("" if op.name == "repeat_interleave" else op.attrs.get("1", ""))
    n = len(view.graph.values[op.inputs[0]].shape)
    return any(int(axis) % n != n - 1 for axis in _axes_there(view.graph, op, text, shown) if n)


def _axes_there(graph: Graph, op: Op, text: str, shown: Set[int]) -> list[str]:
    """The axes in an argument, as those of the tensor last drawn if they changed places since and are known there."""
    axes, turned = re.findall(r"-?\d+", text), _turned(graph, op, shown) if op.inputs else {}
    n = len(graph.values[op.inputs[0]].shape) if turned else 1
    there = [str(turned.get(int(axis) % n, "")) for axis in axes]
    return there if turned and all(there) else axes


def _turned(graph: Graph, op: Op, shown: Set[int]) -> dict[int, int]:
    """By axis of what an op reads that of the tensor last drawn, if axes alone changed places: the one of its size."""
    value, steps = op.inputs[0], list[Op]()
    while (made := graph.values[value].producer) is not None and made not in shown and _moves(graph.ops[made]):
        steps.append(graph.ops[made])
        value = steps[-1].inputs[0]
    first, last = graph.values[value].shape, graph.values[op.inputs[0]].shape
    unlike = (it for it in steps if graph.values[it.inputs[0]].shape != graph.values[it.outputs[0]].shape)
    if not any(it.name in _TURNS for it in steps) or any(it.name not in _TURNS for it in unlike):
        return {}
    return {i: first.index(size) for i, size in enumerate(last) if first.count(size) == 1}


def _bare(op: Op) -> str:
    return op.attrs.get("1", "").strip("()").rstrip(",")


def _indexed(text: str) -> list[int]:
    """The axes that an index is of, those behind an ellipsis from the end."""
    first, _, last = ([*filter(None, part.split(", "))] for part in text.partition("..."))
    return [*range(len(first)), *range(-len(last), 0)]


def _is_seen(graph: Graph, op: Op, axis: int, shown: Set[int], words: str = "") -> bool:
    """Whether an axis that an op is over is that of the tensor last drawn or named in words, behind all moves."""
    value, is_turned = op.inputs[0], False
    while (made := graph.values[value].producer) is not None and made not in shown and _moves(graph.ops[made]):
        if (name := graph.variable(graph.ops[made])) and name in _PARTS.split(words):
            break
        before = graph.values[graph.ops[made].inputs[0]]
        if _elements(before.shape) != _elements(graph.values[value].shape):
            break  # a part or several times it, which a line says
        value, is_turned = before.id, is_turned or graph.ops[made].name in _TURNS
    first, last = (graph.values[at].shape for at in (value, op.inputs[0]))
    is_there = -len(first) <= axis < len(first) and first[axis] == last[axis]
    return is_there and not is_turned and _elements(first[:axis]) == _elements(last[:axis])


def _elements(shape: Sequence[int | str]) -> int:
    return prod(size for size in shape if isinstance(size, int))


def _shown(view: View, inside: Mapping[int, Sequence[Op]]) -> Iterator[int]:
    """The ops that something is drawn for, and those that ran outside of what is shown."""
    parts = [part for node in view.nodes for part in (node, *node.parts)]
    rows = [(part.calls, part.own_ops) for part in parts]
    rows += ((box.calls[box.period :], box.ops[len(box.ops) // box.repeat :]) for box in view.boxes)
    for calls, ops in rows:
        yield from (op.id for call in calls for op in inside.get(call, ()))
        yield from ops
    root = {op.id for op in inside.get(view.boxes[0].calls[0], ())} if view.boxes else set[int]()
    yield from (op.id for op in view.graph.ops if root and op.id not in root)


def _behind(graph: Graph, ops: Sequence[Op], shown: Set[int]) -> Iterator[Op]:
    """Ops that nothing is drawn for and that make what others read, but for those that only move it."""
    pending, known = [value for op in ops for value in op.inputs], {*shown}
    while pending:
        made = graph.values[pending.pop()].producer
        if made is not None and made not in known:
            known.add(made)
            pending += graph.ops[made].inputs
            if not _moves(graph.ops[made]):
                yield graph.ops[made]


def _joins_nothing(graph: Graph, op: Op) -> bool:
    """Whether an op puts a tensor behind one that the code makes without elements, an empty cache: it stays as it is.

    Of what is made of nothing no input decides the size.
    """
    rows = [graph.values[value] for value in op.inputs]
    made = [None if row.producer is None else graph.ops[row.producer] for row in rows]
    is_empty = [0 in row.shape and by is not None and not by.inputs for row, by in zip(rows, made, strict=True)]
    return op.name in JOINS and len(rows) - sum(is_empty) == 1 and any(is_empty)


def _wrong_outputs(view: View, letter: str, said: Mapping[str, str]) -> Iterator[str]:
    """Sentences on names of outputs that the source has for none of their tensors."""
    graph, root = view.graph, view.graph.calls[view.boxes[0].calls[0] if view.boxes else 0]
    ends = {path: {value} for path, value in root.outputs.items()} if root.id else graph.outputs
    alike = {row.module for row in graph.calls if row.outputs == root.outputs}
    for node in view.nodes:
        name, key = said.get(f"{letter}{node.id}", "").partition(" · ")[0].removeprefix("output "), f"{letter}{node.id}"
        name = re.sub(r" #\d+$", "", name)  # one of several nodes with a name
        paths = {path for path, values in ends.items() if not {*values}.isdisjoint(node.values)}
        named = [paths, *({graph.part(module, path) for path in paths} for module in alike)]
        whole = [""] if paths == ends.keys() else []
        paths = {*paths, *(path.partition(".")[0] for path in paths), *whole}
        known = {"output", "outputs", *paths, *(graph.part(module, path) for module in alike for path in paths)}
        known |= {name for value in node.values for name in _makers(graph, root.id, value)}
        is_cut = name.endswith("…") and any(it.startswith(name[:-1]) for it in known)
        if node.kind == "output" and name and name not in known and not (is_cut or any(_are(name, it) for it in named)):
            yield f"“{name}” at {key} is not what is returned there"


def _makers(graph: Graph, root: int, value: int) -> Iterator[str]:
    """The names of the op that made a tensor, and of the functions that it ran in within a call."""
    made = graph.values[[*way(graph, value)][-1]].producer
    for op in [] if made is None else [graph.ops[made]]:
        yield op.name.strip("_")
        rows: list[Op | Call] = [op, *(row for row in graph.around(op.call) if row.id > root)]
        yield from (graph.frames[at].short for row in rows for at in frames(graph, row))


def _wrong_paths(view: View, letter: str) -> Iterator[str]:
    """Sentences on names of tensors, `features.2`, that are paths of layers in what gives them, which do not."""
    graph, nodes = view.graph, view.nodes
    root = view.boxes[0].calls[0] if view.boxes else 0
    named: list[tuple[str, tuple[int, ...], set[int]]]
    named = [(node.name, (root,), {*node.values}) for node in nodes if node.kind == "output"]
    named += [(edge.part, nodes[edge.tail].calls, {*way(graph, edge.value)}) for edge in view.edges]
    for name, calls, values in (it for it in named if "." in it[0]):
        paths = {f"{graph.calls[call].module}.{name}".lstrip(".") for call in calls}
        rows = [row for row in graph.calls if row.module in paths]
        if not paths.isdisjoint(graph.modules) and values.isdisjoint(at for row in rows for at in row.outputs.values()):
            yield f"“{name}” in {letter or 'the picture'} is the path of a layer that does not give it"


def _unnamed(graph: Graph, node: Node, said: str) -> Iterator[str]:
    """Parts with parameters that are neither named nor in the container of the layer that is."""
    path, *others = {graph.calls[call].module for call in node.calls} or ("",)
    steps, names = [*accumulate(path.split("."), "{}.{}".format)], said.split(", ")
    holding = [it for it in steps if any(f".{it}".endswith(f".{name}") for name in names)]
    home = holding[-1].rpartition(".")[0] if holding else ""
    modules = {graph.calls[call].module for part in node.parts for call in part.calls} if holding and not others else ()
    for part in (graph.modules[it] for it in modules if it != path and it in graph.modules):
        is_named = any(f".{part.fqn}".endswith(f".{name}") for name in names)
        if home and part.params.total and not part.fqn.startswith(f"{home}.") and not is_named:
            yield part.fqn


def _are(name: str, paths: Set[str]) -> bool:
    """Whether a name such as `states.1–4`, or `0.*` for others than a row, stands for these parts and no others."""
    if row := re.fullmatch(r"(.*?)(\d+)–(\d+)(.*)", name):
        before, first, last, after = row.groups()
        return paths == {f"{before}{i}{after}" for i in range(int(first), int(last) + 1)}
    return "*" in name and all(re.fullmatch(re.escape(name).replace(r"\*", r"\d+"), path) for path in paths)


def _wrong(
    graph: Graph,
    thing: Node | Box,
    words: str,
    insets: str,
    inner: Sequence[Op],
    layers: Collection[Call],
    given: Mapping[int, object],
    behind: Sequence[Op],
) -> str:
    """The first word at a thing that names nothing of what it is, does or reads; nor of its inset, if it has one."""
    parts = [thing, *thing.parts] if isinstance(thing, Node) else []
    is_layer, drawn = isinstance(thing, Box) or thing.kind == "call", insets if getattr(thing, "inset", "") else ""
    own = [graph.ops[op] for part in parts for op in part.own_ops]
    ops = [*own, *(inner if thing.differs else ())]
    spans = {text for part in parts for span in part.spans for text in (span.name, *span.values)}
    known = spans | {word for text in spans for word in _PARTS.split(text)} | _ENGLISH
    known |= {word for op in ops for text in op.attrs.values() for word in _PARTS.split(text)}
    known |= {
        word for op in ops if op.name == "einsum" for word in _PARTS.split(op.attrs.get("0", "").replace(" ", ""))
    }
    known |= {*_names_of_layers(graph, layers, inner)}
    known |= {name for part in parts for value in part.values for name in _path(graph.values[value].name)}
    acting = [*ops, *(inner if is_layer else ())]
    done = {name for op in ops for name in (op.name, op.name.strip("_"), op.name.removesuffix("_"))}
    done |= {name for op in ops for at in frames(graph, op) for name in (graph.frames[at].short, graph.frames[at].name)}
    norms = {op.name.replace("_", "") for op in ops if op.name.endswith("norm")}  # `LayerNorm`, as the layer
    made = {value for op in acting for value in op.outputs}  # what it makes itself is not to be seen
    far = [*acting, *behind]
    taken = (op for op in far if not _ANEW.search(op.name))  # zeros take the shape and the type of a tensor, not it
    read = [(value, op) for op in taken for value in op.inputs if made.isdisjoint([*way(graph, value)][-1:])]
    values = known | {name for value, op in read for name in names(graph, given, value, op)}
    reached = {at for value, _ in read for at in way(graph, value)}  # all that a layer gives is named after it
    whole = (row for row in graph.calls if row.outputs and reached.issuperset(row.outputs.values()))
    values |= {name for row in whole for name in _path(row.module)}
    values |= {op.name.strip("_") for op in far if not op.inputs or _ANEW.search(op.name)}  # said without its sizes
    if _COUNTED.search(words):  # a variable has its name for what is made and read there
        there = {at for op in acting for value in op.inputs for at in way(graph, value)}
        rows = [op for op in acting if not there.isdisjoint(op.outputs)]
        values |= {graph.variable(op, i) for op in rows for i, value in enumerate(op.outputs) if value in there}
        values |= {graph.variable(graph.frames[at]) for op in rows for at in frames(graph, op)}
    heads = values | done | {graph.variable(op) for op in own}
    heads |= {thing.name.strip("_"), thing.inset} if isinstance(thing, Node) else set()
    keys = {key for op in (*acting, *behind) for key in op.attrs}
    computed = {op.name.strip("_") for op in (*acting, *behind)}
    is_list = re.search(r"\bop(eration)?s: ", words) is not None
    heads |= {op.name.removesuffix("_") for op in inner} if is_list else set()
    text = _NO_WORDS.sub(" ", _LACKING.sub("", words) if drawn else words)
    for match in _TOKEN.finditer(text):
        name, before = match[1], text[: match.start()].rstrip()
        is_head = not before or before.endswith(("·", ":", "/")) or (is_list and before.endswith(","))
        is_head |= is_layer or (match[3] or "(") not in "(="
        allowed = {"(": done | values | computed, "=": heads | keys if is_layer else keys}.get(match[3]) or (
            heads if is_head else values
        )
        is_known = _is_in(match, allowed) or bool(_TYPE.fullmatch(name)) or (is_layer and name.lower() in allowed)
        is_known |= is_head and name.lower() in norms
        is_known |= is_layer and any(name.removesuffix("s") in known for known in allowed)
        is_known |= is_layer and all(part in allowed or part.isdigit() for part in name.split("."))
        if not is_known and name not in drawn:
            return name
    lacking = (text.partition(" in ")[2] or text for text in _LACKING.findall(words) if drawn)
    names_of = (match[1] for text in lacking for match in _TOKEN.finditer(text) if match[1] not in _ENGLISH)
    return next((name for name in names_of if name.lower().rstrip("0123456789") not in drawn.lower()), "")


def _names_of_layers(graph: Graph, layers: Collection[Call], inner: Sequence[Op]) -> Iterator[str]:
    """Parts of the paths of layers, of their classes, settings and parameters."""
    for path in {row.module for row in layers}:
        module = graph.modules.get(path)
        cls = path if module is None else module.cls.rpartition(".")[2]
        yield from (part for alias in (() if module is None else module.aliases) for part in _path(alias))
        yield from (*_path(path), cls, cls.rstrip("123d"), cls.removeprefix("Parametrized"))
        yield from () if module is None else _PARTS.split(module.extra_repr)
    yield from (path for row in layers for path in row.inputs)
    acts: dict[int, str] = {}
    known = {row.id for row in layers}
    for op in (op for op in inner if not _moves(op)):
        power = op.attrs.get("1", "") if op.name == "pow" else ""
        for call in known.intersection(row.id for row in graph.around(op.call)):
            acts[call] = f"{acts.get(call, '')} {op.name}{power}".strip()
    for ran in {*acts.values()}:
        yield from (cls for cls, ops in _CLASSES.items() if ops.fullmatch(ran))
    for op in inner:
        yield from (name for value in op.inputs for name in _path(graph.values[value].name))
        yield op.name.replace("_", "") if op.name.endswith("norm") else ""  # `BatchNorm`


def names(graph: Graph, given: Mapping[int, object], value: int, reader: Op) -> Iterator[str]:
    """The names that the source has for a tensor where an op reads it, or for the one that it was moved from."""
    rows = [*graph.around(reader.call)]
    inside = {row.id for row in rows}
    around = {*frames(graph, reader), *(at for row in rows for at in frames(graph, row))}
    maker: Op | None = None
    for at in way(graph, value):
        row = graph.values[at]
        yield from (*_path(row.name), *(path for path, values in graph.outputs.items() if at in values))
        paths = ((call, path) for call in rows for path, v in call.inputs.items() if v == at)
        yield from (name for call, path in paths for name in _path(path).difference(_keys_of_others(graph, call, path)))
        if row.producer is None:
            return
        maker = graph.ops[row.producer]
        for call in (call for call in graph.around(maker.call) if call.id not in inside):
            for path in (path for path, v in call.outputs.items() if v == at):
                yield from (*_path(path), *_path(graph.part(call.module, path)))
                yield from (f"{name}[{path}]" if len(call.outputs) > 1 else name for name in _path(call.module))
        if maker.call in inside:
            left = [frame for frame in frames(graph, maker) if frame not in around]
            if not left:
                yield graph.variable(maker, row.index)
                yield from names(graph, given, maker.inputs[0], reader) if maker.name == "setitem" else ()
            elif given.get(left[-1]) == {at}:
                yield graph.variable(graph.frames[left[-1]])
    if maker is not None and len(maker.inputs) == 1 and maker.name.strip("_") in _ASKING:  # `not mask`, `lengths = 4`
        yield from names(graph, given, maker.inputs[0], reader)
    if maker is not None and maker.name in _FILLED:
        yield maker.name


def _keys_of_others(graph: Graph, call: Call, path: str) -> Iterator[str]:
    """The keys of an argument which name another tensor in its call, or one of two entries that are this one."""
    value, (dictionary, _, last) = call.inputs[path], path.rpartition(".")
    keys = {key for key in path.split(".")[1:] if key.isidentifier()}
    twins = (row for row, one in call.inputs.items() if one == value and row != path)
    yield from keys if any(row.rpartition(".")[0] == dictionary for row in twins if last in keys) else ()
    for op in graph.ops if keys else ():
        if graph.variable(op) in keys and call in graph.around(op.call) and value not in way(graph, op.outputs[0]):
            yield graph.variable(op)


def _given(graph: Graph) -> dict[int, set[int | None]]:
    """By run of a function its tensors that are read outside of it; None for any in memory that it got."""
    rows: list[tuple[Op | Call, ...]] = [(op, *graph.around(op.call)) for op in graph.ops]
    inside = [{at for row in around for at in frames(graph, row)} for around in rows]
    firsts: dict[int | None, int | None] = {row.storage_group: row.producer for row in reversed(graph.values)}
    firsts.pop(None, None)
    given: dict[int, set[int | None]] = {}
    reads = [(value, inside[op.id]) for op in graph.ops for value in op.inputs]
    for value, there in (*reads, *((value, set[int]()) for values in graph.outputs.values() for value in values)):
        row = graph.values[value]
        maker = None if row.producer is None else graph.ops[row.producer]
        first = None if maker is None else (firsts.get(row.storage_group) if maker.mutates else maker.id)
        for frame in () if maker is None else inside[maker.id] - there:
            given.setdefault(frame, set()).add(None if first is None or frame not in inside[first] else value)
    return given


def frames(graph: Graph, row: Op | Call) -> Iterator[int]:
    """The runs of functions that an op or a call ran in, from the inside out."""
    frame = row.frame
    while frame is not None:
        yield frame
        frame = graph.frames[frame].parent


def way(graph: Graph, value: int) -> Iterator[int]:
    """A tensor, and those that it was moved from."""
    yield value
    made = graph.values[value].producer
    op = None if made is None else graph.ops[made]
    if op is not None and op.inputs and _moves(op):
        yield from way(graph, op.inputs[0])


def _moves(op: Op) -> bool:
    return op.kind == "pass" or op.name in MOVES or (op.name == "getitem" and len(op.inputs) == 1)


@lru_cache(4096)
def _path(path: str | None) -> frozenset[str]:
    """A path and each part of it; a stretch of it, such as `0.attn` of `layers.0.attn`, is found by `_is_in`."""
    parts = re.split("[./]", path or "")
    names = {name for part in {*parts} for name in (part, part.strip("<>0123456789"), *_PARTS.split(part))}
    return frozenset((names | {".".join(parts)}) - {""})


def _is_in(match: re.Match[str], known: Collection[str]) -> bool:
    """Whether a word is known, alone, with the bracket behind it, as a stretch of a path, or cut in its middle."""
    if match[2]:
        return any(f".{match[1]}" in f".{name}" for name in known)
    words = (match[1], f"{match[1]}{match.string[match.end(1) :].partition(']')[0]}]")
    return any(word in known or any("." in word and f".{word}." in f".{name}." for name in known) for word in words)
