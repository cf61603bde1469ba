"""Lines into a layer that an inset opens say which arguments they bring, where several do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.core.graph.building import Net
from tests.core.view.seeing import shown
from torchrecorder.graph import Graph
from torchrecorder.proof import faults
from torchrecorder.view import View, make_view

SIZE = 16 * 16


def attention(net: Net, path: str, **inputs: int) -> int:
    """A layer of several layers that gets things by name."""
    first, *others = inputs.values()
    with net.call(path, "Attention", params=4 * SIZE):
        at = len(net.calls) - 1
        query = net.layer(f"{path}.q", "Linear", first, params=SIZE)
        key, value = (net.layer(f"{path}.{name}", "Linear", (others or [first])[0], params=SIZE) for name in "kv")
        scores = net.op("softmax", net.op("matmul", query, key))
        out = net.layer(f"{path}.out", "Linear", net.op("matmul", scores, value), params=SIZE)
    net.calls[at] = replace(net.calls[at], inputs=inputs, outputs={"": out})
    return out


def crossed(n: int = 2) -> Graph:
    net = Net(params=8 * n * SIZE)
    words, picture = net.input("words", 1, 4, 16), net.input("picture", 1, 9, 16)
    x, context = (net.layer(name, "Linear", v, params=SIZE) for name, v in (("embed", words), ("encode", picture)))
    for i in range(n):
        x = net.op("tanh", x)
        x = attention(net, f"attn{i}", hidden_states=x, context=context)
        x = net.layer(f"fc{i}", "Linear", net.op("cumsum", x), params=SIZE)
    return net.graph(x)


def words(view: View) -> dict[str, str]:
    names = shown(view)
    return {f"{names[e.tail]} > {names[e.head]}": e.part for e in view.edges if e.part}


def test_two_lines_into_an_opened_layer_say_their_arguments() -> None:
    view = make_view(crossed())
    assert [inset.letter for inset in view.insets] == ["A"]
    assert [node.name for node in view.insets[0].view.nodes if node.kind == "input"] == ["hidden_states", "context"]
    said = words(view)
    assert {head: word for head, word in said.items() if head.startswith("encode")} == {
        f"encode > attn{i}": "context" for i in range(2)
    }
    assert sorted(said.values()) == ["context"] * 2 + ["hidden_states"] * 2
    assert faults(view) == ()


def wrong(view: View) -> View:
    turned = {"context": "hidden_states", "hidden_states": "context"}
    return replace(view, edges=tuple(replace(e, part=turned.get(e.part, e.part)) for e in view.edges))


def other(view: View) -> View:
    return replace(view, edges=tuple(replace(e, part=e.part and "values") for e in view.edges))


@pytest.mark.parametrize("change", [wrong, other])
def test_the_proof_finds_an_argument_that_a_line_does_not_bring(change: Callable[[View], View]) -> None:
    found = faults(change(make_view(crossed())))
    assert {fault.kind for fault in found} == {"flow"}
    assert all("does not carry" in fault.words for fault in found)


def test_one_line_says_none() -> None:
    net = Net(params=20 * SIZE)
    x = net.input("x", 1, 4, 16)
    for i in range(2):
        x = attention(net, f"attn{i}", query=net.op("tanh", x))
        x = net.layer(f"fc{i}", "Linear", net.op("cumsum", x), params=SIZE)
    assert words(make_view(net.graph(x))) == {}
