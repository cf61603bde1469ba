"""Views with loops, written by hand: one turn of each is drawn, what the next turn reads leads back."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.core.graph.building import Net
from torchrecorder.graph import Graph
from torchrecorder.view import Box, Node, View
from torchrecorder.view.model import Edge

TURNS = 3


def looped(graph: Graph, boxes: str, nodes: str, edges: str) -> View:
    """A View of a Graph.

    Args:
        graph: The Graph.
        boxes: The boxes in the model's, each in the one before: `LOOP`, or the path of a module.
        nodes: In each word the path of a module, `name()` of an op of a number such as `add()2`, an input or `output`;
            before it a dot for each box that it is in.
        edges: `a>b`, or `b~a` for what the next turn reads.
    """
    found: list[Node] = []
    names: dict[str, int] = {}
    around = [Box(0, None, (0,))]
    for path in boxes.split():
        calls = tuple(call.id for call in graph.calls if call.module == path) if path != "LOOP" else ()
        inner = tuple(call.id for call in graph.calls if call.parent == 0)
        box = Box(len(around), len(around) - 1, calls[:1])
        if path == "LOOP":
            period = max(len(inner) // TURNS, 1)
            box = Box(box.id, box.parent, inner, period, "loop", around=True)
        around.append(box)
    for word in nodes.split():
        name = word.lstrip(".")
        at = len(word) - len(name)
        names[name] = len(found)
        found.append(_node(graph, name, len(found), at - 1))
    joined = []
    for text in edges.split():
        is_back = "~" in text
        tail, head = (names[name] for name in text.split("~" if is_back else ">"))
        joined.append(Edge(tail, head, _gives(graph, found[tail]), back=is_back))
    return View(graph, tuple(around), tuple(found), tuple(joined), (), 1)


def _node(graph: Graph, name: str, id_: int, box: int) -> Node:
    if name in graph.inputs:
        return Node(id_, "input", None, values=(graph.inputs[name],), name=name)
    if name.startswith("output"):
        return Node(id_, "output", None, values=graph.outputs[name.removeprefix("output")], name="")
    if "()" in name:
        what, _, number = name.partition("()")
        ops = [op.id for op in graph.ops if op.name == what]
        return Node(id_, "op", box, op=ops[int(number or "1") - 1])
    path, _, number = name.partition("@")
    calls = [call.id for call in graph.calls if call.module == path]
    return Node(id_, "call", box, (calls[int(number or "1") - 1],))


def _gives(graph: Graph, node: Node) -> int:
    if node.kind == "call":
        return graph.calls[node.calls[0]].outputs[""]
    return graph.ops[node.op].outputs[0] if node.op is not None else node.values[0]


def greedy() -> View:
    """Words one after another: each is the best of the last, and a state goes on."""
    net = Net("Greedy", params=602)
    state = net.input("h", 1, 8)
    word, outs = net.op("zeros", state, shape=(1,)), []
    for _ in range(TURNS):
        x = net.layer("emb", "Embedding", word, (1, 8), "10, 8", 80)
        with net.call("cell", "GRUCell", params=432):
            new = net.op("gru_cell", x, state)
        net.give(x, new)
        state = new
        y = net.layer("out", "Linear", state, (1, 10), "in_features=8, out_features=10, bias=True", 90)
        outs.append(y)
        word = net.op("argmax", y, shape=(1,))
    graph = net.graph(net.op("stack", *outs, shape=(1, TURNS, 10)))
    return looped(
        graph,
        "LOOP",
        "h ..emb ..cell ..out ..argmax() .stack() output",
        "h>cell emb>cell cell>out out>argmax() out>stack() stack()>output argmax()~emb cell~cell",
    )


def attention() -> View:
    """A decoder that looks at what an encoder gives in each step."""
    net = Net("Seq2Seq", params=9000)
    source = net.input("source", 1, 7, 16)
    memory = net.layer("encoder", "Linear", source, said="in_features=16, out_features=16", params=272)
    state, word, outs = net.op("mean", memory, shape=(1, 16)), source, []
    for _ in range(TURNS):
        x = net.layer("embedding", "Embedding", word, (1, 16), "88, 16", 1408)
        with net.call("attention", "Bahdanau", params=560):
            context = net.op("attend", state, memory, shape=(1, 16))
        net.give(state, context)
        y = net.op("cat", x, context, shape=(1, 32))
        with net.call("gru", "GRUCell", params=2400):
            new = net.op("gru_cell", y, state, shape=(1, 16))
        net.give(y, new)
        state = new
        y = net.layer("out", "Linear", state, (1, 88), "in_features=16, out_features=88, bias=True", 1496)
        outs.append(y)
        word = net.op("argmax", y, shape=(1,))
    return looped(
        net.graph(net.op("stack", *outs, shape=(1, TURNS, 88)), state),
        "LOOP",
        "source .encoder .mean() ..embedding ..attention ..cat() ..gru ..out ..argmax() .stack() output0 output1",
        "source>encoder encoder>mean() encoder>attention mean()>attention mean()>gru embedding>cat() attention>cat()"
        " cat()>gru gru>out out>argmax() out>stack() stack()>output0 gru>output1"
        " argmax()~embedding gru~gru gru~attention",
    )


def memories() -> View:
    """A step reads what the one before it gave in this turn, and what that gave in the turn before."""
    net = Net("Memories", params=216)
    x = before = net.input("x", 1, 8)
    for _ in range(TURNS):
        control = net.layer("control", "Linear", x, said="in_features=8, out_features=8", params=72)
        with net.call("write", "Write", params=72):
            x = net.op("write", control, before)
        net.give(control, x)
        before = control
    return looped(
        net.graph(x),
        "LOOP",
        "x ..control ..write output",
        "x>control x>write control>write write>output control~write write~control",
    )


def runge_kutta() -> View:
    """Steps of an equation: four slopes of one module, and a running sum."""
    net = Net("NeuralODE", params=252)
    y = net.input("y", 1, 2)
    for _ in range(TURNS):
        slopes, at = [], y
        for i in range(4):
            slopes.append(net.layer("f", "Linear", at, said="in_features=2, out_features=2", params=6))
            if i < 3:
                at = net.op("add", y, net.op("mul", slopes[-1], attrs={"1": "0.5"}))
        y = net.op("add", y, net.op("mul", net.op("sum", *slopes), attrs={"1": "0.1"}))
    return looped(
        net.graph(y),
        "LOOP",
        "y ..f@1 ..mul()1 ..add()1 ..f@2 ..mul()2 ..add()2 ..f@3 ..mul()3 ..add()3 ..f@4 ..sum()"
        " ..mul()4 ..add()4 output",
        "y>f@1 y>add()1 y>add()2 y>add()3 y>add()4 f@1>mul()1 mul()1>add()1 add()1>f@2 f@2>mul()2 mul()2>add()2"
        " add()2>f@3 f@3>mul()3 mul()3>add()3 add()3>f@4 f@1>sum() f@2>sum() f@3>sum() f@4>sum() sum()>mul()4"
        " mul()4>add()4 add()4>output add()4~f@1 add()4~add()1 add()4~add()2 add()4~add()3 add()4~add()4",
    )


def gates() -> View:
    """An LSTM cell written out: two states lead back."""
    net = Net("Cell", params=576)
    x, h, c = net.input("x", 1, 8), net.input("h", 1, 8), net.input("c", 1, 8)
    for _ in range(TURNS):
        z = net.layer("gates", "Linear", net.op("cat", x, h), (1, 32), "in_features=16, out_features=32", 544)
        i, f, o = (net.op("sigmoid", z, shape=(1, 8)) for _ in range(3))
        g = net.op("tanh", z, shape=(1, 8))
        c = net.op("add", net.op("mul", f, c), net.op("mul", i, g))
        h = net.op("mul", o, net.op("tanh", c))
    return looped(
        net.graph(h, c),
        "LOOP",
        "x h c ..cat() ..gates ..sigmoid()1 ..sigmoid()2 ..sigmoid()3 ..tanh()1 ..mul()1 ..mul()2 ..add() ..tanh()2"
        " ..mul()3 output0 output1",
        "x>cat() h>cat() c>mul()1 cat()>gates gates>sigmoid()1 gates>sigmoid()2 gates>sigmoid()3 gates>tanh()1"
        " sigmoid()2>mul()1 sigmoid()1>mul()2 tanh()1>mul()2 mul()1>add() mul()2>add() add()>tanh()2 sigmoid()3>mul()3"
        " tanh()2>mul()3 mul()3>output0 add()>output1 mul()3~cat() add()~mul()1",
    )


def sampling() -> View:
    """Three steps of a sampler around a network with a box of its own."""
    net = Net("Sampler", params=400)
    x = net.input("noise", 1, 8)
    for _ in range(TURNS):
        with net.call("unet", "UNet", params=400):
            a = net.layer("unet.down", "Linear", x, (1, 4), "in_features=8, out_features=4", 100)
            b = net.layer("unet.mid", "Linear", a, said="in_features=4, out_features=4", params=100)
            y = net.layer("unet.up", "Linear", net.op("add", a, b), (1, 8), "in_features=4, out_features=8", 200)
        x = net.op("sub", x, net.op("mul", y, attrs={"1": "0.1"}))
    return looped(
        net.graph(x),
        "LOOP unet",
        "noise ...unet.down ...unet.mid ...add() ...unet.up ..mul() ..sub() output",
        "noise>unet.down noise>sub() unet.down>unet.mid unet.down>add() unet.mid>add() add()>unet.up unet.up>mul()"
        " mul()>sub() sub()>output sub()~unet.down sub()~sub()",
    )


def alone() -> View:
    """A loop around one cell."""
    net = Net("Steps", params=6)
    x = net.input("x", 1, 2)
    for _ in range(TURNS):
        x = net.layer("cell", "Linear", x, said="in_features=2, out_features=2", params=6)
    return looped(net.graph(x), "LOOP", "x ..cell output", "x>cell cell>output cell~cell")


def some_loop(rng: random.Random) -> View:
    """A turn of a few layers and ops in any order, with up to four lines back."""
    net, n = Net("Some"), rng.randint(1, 9)
    values, names, edges = [net.input("x", 1, 8)], ["x"], list[str]()
    for i in range(1, n + 1):
        tails = rng.sample(range(i), min(rng.choice([1, 1, 1, 2, 3]), i))
        if rng.random() < 0.6:
            values.append(net.layer(f"l{i}", "Linear", values[tails[0]], said="in_features=8, out_features=8"))
            names.append(f"l{i}")
        else:
            values.append(net.op("add", *(values[tail] for tail in tails)))
            names.append(f"add(){sum(op.name == 'add' for op in net.ops)}")
        edges += [f"{names[tail]}>{names[i]}" for tail in tails]
    back = {(rng.randint(1, n), rng.randint(1, n)) for _ in range(rng.randint(1, 4))}
    edges += sorted(f"{names[max(pair)]}~{names[min(pair)]}" for pair in {(min(pair), max(pair)) for pair in back})
    edges.append(f"{names[n]}>output")
    inner = " ".join(f"..{name}" for name in names[1:])
    return looped(net.graph(values[n]), "LOOP", f"x {inner} output", " ".join(edges))


def twins() -> Graph:
    """Two modules called twice each, a third with a box around what is in it, and one that is called once."""
    net = Net("Twins", params=10000)
    x = net.input("x", 1, 8)
    for step in ("sin", "cos"):
        for name in ("left", "right"):
            x = net.layer(name, "Linear", net.op(step, x), said="in_features=8, out_features=8", params=72)
        with net.call("cell", "Cell", params=144):
            y = net.layer("cell.a", "Linear", x, said="in_features=8, out_features=8", params=72)
            y = net.layer("cell.b", "Linear", net.op(step, y), said="in_features=8, out_features=8", params=72)
        net.give(x, y)
        x = net.op("add", x, y)
    return net.graph(net.layer("head", "Linear", x, said="in_features=8, out_features=8", params=72))


LOOPS: dict[str, Callable[[], View]] = {
    one.__name__: one for one in (greedy, attention, memories, runge_kutta, gates, sampling, alone)
}
