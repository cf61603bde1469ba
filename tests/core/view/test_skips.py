"""Which edges are skip connections, and which only lead past something."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.core.graph.building import Net
from tests.core.view.seeing import edges
from torchrecorder.graph import Graph
from torchrecorder.proof import ProvedViews, faults
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view, select


def given(net: Net, **inputs: int) -> None:
    """Says what the last call got, by argument."""
    at = max(i for i, row in enumerate(net.calls) if row.parent == 0)
    net.calls[at] = replace(net.calls[at], inputs=inputs)


def skips(graph: Graph) -> list[str]:
    return [edge for edge in edges(make_view(graph, DrawingOptions(depth=1, fold=False))) if "skip" in edge]


def block(net: Net, name: str, x: int, *others: int, **inputs: int) -> int:
    with net.call(name, f"Block{name}", params=4):
        x = net.op("conv", x)
        for other in others:
            x = net.op("mul", x, other, shape=net.shape(x))
    given(net, **inputs)
    return x


def test_a_condition_that_blocks_read_is_none() -> None:
    net = Net()
    x, time = net.input("x", 1, 4, 8, 8), net.op("sin", net.input("time", 1, 4))
    for name in ("a", "b", "c"):
        x = block(net, name, x, time, sample=x, temb=time)
    assert skips(net.graph(x)) == []


def test_a_feature_that_comes_back_later_is_one() -> None:
    net = Net()
    first = net.op("sin", net.input("x", 1, 4, 8, 8))
    middle = block(net, "down", first, sample=first)
    up = block(net, "up", middle, first, hidden=middle, **{"skips.0": first})
    assert skips(net.graph(up)) == ["sin > up (skip)"]


def test_the_input_of_experts_beside_their_gate_is_none() -> None:
    net = Net()
    x = net.op("sin", net.input("x", 6, 4))
    gate = block(net, "gate", x, tokens=x)
    out = block(net, "experts", x, gate, hidden=x, weights=gate)
    assert skips(net.graph(out)) == []


def test_a_memory_is_none() -> None:
    net = Net()
    memory, y = net.op("sin", net.input("src", 1, 8, 4)), net.op("cos", net.input("tgt", 1, 8, 4))
    for name in ("a", "b"):
        y = block(net, name, y, memory, tgt=y, memory=memory)
    assert skips(net.graph(y)) == []


def test_a_bias_of_another_shape_is_none() -> None:
    net = Net()
    scale = net.op("mean", net.input("x", 1, 4, 8, 8), shape=(1, 4, 1, 1))
    x = net.op("sin", scale, shape=(1, 4, 8, 8))
    assert skips(net.graph(net.op("add", x, scale))) == []
    assert skips(net.graph(net.op("mul", x, scale))) == []


def test_the_sum_of_losses_of_each_example_is_none() -> None:
    net = Net()
    x = net.op("sin", net.input("x", 4, 8))
    first = net.op("sum", x, shape=(4,))
    second = net.op("cos", net.op("exp", first))
    assert skips(net.graph(net.op("add", first, second))) == []


def test_a_gate_is_not_what_a_residual_leads_past() -> None:
    net = Net()
    x, scale = net.op("sin", net.input("x", 1, 6, 4)), net.op("cos", net.input("time", 1, 1, 4))
    inner = block(net, "attention", x, hidden=x)
    gated = net.op("mul", scale, inner, shape=(1, 6, 4))
    assert skips(net.graph(net.op("add", x, gated))) == ["sin > add (skip)"]


def u_shape(names: tuple[str, str], *, is_first: bool = True) -> Graph:
    """Two stages down, with two up that get what a stage gave as their first or second argument."""
    net = Net()
    first = net.layer("down0", "Conv2d", net.input("x", 1, 4, 8, 8))
    second = net.layer("down1", "Conv2d", first, (1, 4, 4, 4))
    x = net.layer("bottom", "Conv2d", second, (1, 4, 2, 2))
    for at, stage, cls in (("up1", second, names[0]), ("up0", first, names[1])):
        with net.call(at, cls, params=4):
            deeper = net.op("interpolate", x, shape=net.shape(stage))
            out = net.op("add", stage, deeper)
        given(net, **({"y": stage, "x": x} if is_first else {"x": x, "y": stage}))
        x = out
    return net.graph(x)


def test_blocks_of_one_class_have_skips_wherever_they_are_in_the_arguments() -> None:
    assert len(skips(u_shape(("Gate", "Gate"), is_first=False))) == 2
    assert len(skips(u_shape(("Gate", "Gate")))) == 2
    assert len(skips(u_shape(("Gate", "Other")))) == 0  # what one block gets first is what it works on


def test_a_sum_with_what_no_layer_computed_is_no_end_of_one() -> None:
    net = Net()
    scores = net.op("sin", net.input("x", 1, 4, 8))
    highest = net.op("mul", net.op("amax", scores), scores)
    assert skips(net.graph(net.op("sub", scores, highest))) == []


def test_the_chain_with_fewer_layers_is_one_however_long_it_is() -> None:
    net = Net()
    x = net.op("sin", net.input("x", 1, 4, 8))
    with net.call("attn", "Attention", params=4):
        attended = net.layer("attn.out", "Linear", net.layer("attn.qkv", "Linear", x))
    given(net, x=x)
    pooled = net.op("exp", net.layer("project", "Linear", x))
    assert skips(net.graph(net.op("add", pooled, attended))) == [
        "sin > project (skip)",
        "project > exp (skip)",
        "exp > add (skip)",
    ]


def test_of_chains_with_as_many_layers_none_is_one() -> None:
    net = Net()
    x = net.op("sin", net.input("x", 1, 4, 8))
    first, second = net.layer("first", "Linear", x), net.op("exp", net.layer("second", "Linear", x))
    assert skips(net.graph(net.op("add", first, second))) == []


def test_of_chains_that_of_more_parameters_is_none() -> None:
    net = Net()
    x = net.op("sin", net.input("x", 1, 4, 8))
    first = net.layer("long.1", "Linear", net.layer("long.0", "Linear", x, params=8), params=8)
    second = net.op("linear", x, net.weight("large", 80, 10))
    assert skips(net.graph(net.op("add", first, net.op("exp", second)))) == []


def test_another_piece_is_none() -> None:
    net = Net()
    x = net.layer("enter", "Linear", net.input("x", 1, 8, 8))
    pieces = net.op("chunk", x, shape=(1, 8, 4)), len(net.values)
    net.values.append(replace(net.values[pieces[0]], id=pieces[1], index=1))
    net.ops[-1] = replace(net.ops[-1], outputs=pieces)
    graph = net.graph(net.op("cat", pieces[0], net.layer("mix", "Linear", pieces[1], params=16), shape=(1, 8, 8)))
    assert skips(graph) == []
    view = make_view(graph, DrawingOptions(depth=1, fold=False))
    orange = replace(view, edges=tuple(replace(edge, skip=True) for edge in view.edges))
    assert any("another piece" in fault.words for fault in faults(orange))


def test_what_was_taken_off_is_none() -> None:
    net = Net()
    x = net.op("sin", net.input("x", 1, 4, 8))
    first = net.layer("a", "Linear", x)
    second = net.layer("b", "Linear", net.op("sub", x, first))
    assert "a > add (skip)" not in skips(net.graph(net.op("add", first, second)))


def test_a_line_that_leads_past_nothing_is_not_drawn_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net()
    x = net.layer("a", "Linear", net.input("x", 1, 4, 8), params=8)
    scale = net.op("exp", net.op("sin", x))
    graph = net.graph(net.op("add", x, scale))

    def marked(view: View) -> View:
        return replace(view, edges=tuple(replace(edge, skip=True) for edge in view.edges))

    monkeypatch.setattr(select, "with_skips", marked)
    view = ProvedViews(select.Views(graph, DrawingOptions())).view()
    assert not any(edge.skip for edge in view.edges)
    assert all("drawn as a skip" in words for words in view.weakened)
    assert faults(view) == ()


def test_the_state_of_a_cell_is_none() -> None:
    net = Net()
    state = net.op("sin", net.input("x", 1, 4))
    word = net.layer("to_vocab", "Linear", state)
    with net.call("cell", "LSTMCell"):
        again = net.op("lstm_cell", word, state)
    given(net, input=word, hx=state)
    net.modules["cell"] = replace(net.modules["cell"], native=True)
    assert skips(net.graph(again)) == []


def joint(net: Net, *streams: int) -> tuple[int, ...]:
    """A block that gives a tensor for each that it gets."""
    with net.call("joint", "Joint", params=4):
        both = net.op("cat", *streams, shape=(1, 9, 4))
        given_back = tuple(net.op(name, both, shape=net.shape(x)) for name, x in zip("ab", streams, strict=True))
    at = len(net.calls) - 1
    inputs, outputs = ({str(i): value for i, value in enumerate(of)} for of in (streams, given_back))
    net.calls[at] = replace(net.calls[at], inputs=inputs, outputs=outputs)
    return given_back


def test_each_stream_of_a_joint_block_has_its_own() -> None:
    net = Net()
    streams = [net.op("sin", net.input("x", 1, 6, 4)), net.op("cos", net.input("y", 1, 3, 4))]
    sums = [net.op("add", old, new) for old, new in zip(streams, joint(net, *streams), strict=True)]
    assert skips(net.graph(*sums)) == ["sin > add (skip)", "cos > add (skip)"]


def test_each_of_two_streams_that_are_joined_in_the_open_has_its_own() -> None:
    net = Net()
    streams = [net.op("sin", net.input("x", 1, 6, 4)), net.op("cos", net.input("y", 1, 3, 4))]
    both = net.op("cat", *streams, shape=(1, 9, 4))
    inner = block(net, "attention", both, hidden=both)
    parts = [net.op("getitem", inner, shape=(1, n, 4), attrs={"1": at}) for n, at in ((6, "(:, :6)"), (3, "(:, 6:)"))]
    sums = [net.op("add", old, new) for old, new in zip(streams, parts, strict=True)]
    assert skips(net.graph(*sums)) == ["sin > add (skip)", "cos > add (skip)"]


def test_a_gate_that_is_as_large_as_what_it_weighs_hides_none() -> None:
    net = Net()
    x = net.op("sin", net.input("x", 1, 6, 4))
    scale, gate = (net.layer(name, "Linear", net.input(name, 1, 6, 4)) for name in ("scale", "gate"))
    scaled = net.op("mul", scale, x)
    inner = block(net, "attention", scaled, hidden=scaled)
    assert skips(net.graph(net.op("add", x, net.op("mul", gate, inner)))) == ["sin > add (skip)"]


def test_another_output_of_a_layer_is_none() -> None:
    net = Net()
    x, y = joint(net, net.input("x", 1, 6, 4), net.input("y", 1, 3, 4))
    inner = block(net, "pool", x, hidden=x)
    assert skips(net.graph(block(net, "later", inner, y, hidden=inner, master=y))) == []


def test_what_a_stage_gives_before_it_shrinks_is_one() -> None:
    net = Net()
    with net.call("down", "Down", params=4):
        full = net.op("conv", net.input("x", 1, 4, 8, 8))
        half = net.op("max_pool2d", full, shape=(1, 4, 4, 4))
    net.calls[-1] = replace(net.calls[-1], outputs={"0": half, "1": full})
    inner = block(net, "middle", half, hidden=half)
    up = block(net, "up", inner, full, hidden=inner, skip=full)
    assert skips(net.graph(up)) == ["down > up (skip)"]


def rated(net: Net, cls: str) -> Graph:
    """Features that go through a layer, and that another one rates beside what this gives."""
    x = net.op("sin", net.input("x", 4, 6, 8))
    inner = block(net, "history", x, hidden=x)
    with net.call("rater", cls, params=4):
        out = net.op("sum", net.op("mul", net.op("conv", inner), x), shape=(4,) if cls == "Rater" else (4, 6))
    net.calls[-1] = replace(net.calls[-1], outputs={"": out})
    given(net, context=inner, frames=x)
    return net.graph(out)


def test_what_is_only_rated_is_none() -> None:
    assert skips(rated(Net(), "Mixer")) == ["sin > rater (skip)"]
    graph = rated(Net(), "Rater")
    assert skips(graph) == []
    view = make_view(graph, DrawingOptions(depth=1, fold=False))
    edges = tuple(replace(edge, skip=edge.value in view.graph.calls[-1].inputs.values()) for edge in view.edges)
    assert any("nothing joins it" in fault.words for fault in faults(replace(view, edges=edges)))
