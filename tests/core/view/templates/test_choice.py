"""The template view: each kind of layer opened once, the others closed under its letter."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.core.graph.building import Net, chain, mlp, nested, transformer
from tests.core.proof.test_proof import proved
from tests.core.view.seeing import boxes, edges, reaches, shown
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels, words
from torchrecorder.proof import Prover, faults
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import AUTO_NODES, View, Views, make_view

C8 = (1, 8, 16, 16)


def stages(n: int = 3, per_stage: int = 3, side: Sequence[str] = ("downsample",)) -> Graph:
    """Stages of blocks, the first block of each with a projection, or with more, as in a ResNet."""
    net = Net("Staged", params=n * per_stage * 1000)
    x = net.layer("conv1", "Conv2d", net.input("x", 1, 3, 16, 16), C8, "3, 8, kernel_size=(3, 3)", 216)
    for i in range(n):
        at, shape = f"layer{i + 1}", (1, 8, 16 >> i, 16 >> i)
        with net.call(at, "Sequential", params=per_stage * 1000):
            for j in range(per_stage):
                x = block(net, f"{at}.{j}", x, shape, side if j == 0 else ())
    x = net.layer("fc", "Linear", x, (1, 10), params=80)
    return net.graph(x)


def block(net: Net, at: str, x: int, shape: tuple[int | str, ...], beside: Sequence[str]) -> int:
    with net.call(at, "Bottleneck", params=1000):
        y = net.layer(f"{at}.conv1", "Conv2d", x, shape, "8, 8, kernel_size=(3, 3)", 500)
        y = net.op("tanh", y)
        y = net.layer(f"{at}.conv2", "Conv2d", y, shape, "8, 8, kernel_size=(3, 3)", 400)
        side = x
        for name in beside:
            with net.call(f"{at}.{name}", "Sequential", params=100):
                side = net.layer(f"{at}.{name}.0", "Conv2d", side, shape, "8, 8, kernel_size=(1, 1)", 100)
        return net.op("add", y, side)


def encoder_decoder(n: int = 3) -> Graph:
    """Two stacks of one class, the second with a layer of cross-attention in each block."""
    net = Net("Seq2Seq", params=10_000)
    src, tgt = net.input("src", 1, 5, 8), net.input("tgt", 1, 4, 8)
    memory = stack(net, "encoder", src, None, n)
    return net.graph(stack(net, "decoder", tgt, memory, n))


def stack(net: Net, at: str, x: int, memory: int | None, n: int) -> int:
    with net.call(at, "Stack", params=5000):
        for i in range(n):
            home = f"{at}.block.{i}"
            with net.call(home, "Block", params=1500):
                x = net.op("add", x, attention(net, f"{home}.self_attn", x, x))
                if memory is not None:
                    x = net.op("add", x, attention(net, f"{home}.cross_attn", x, memory))
                y = net.layer(f"{home}.norm1", "LayerNorm", x, params=16)
                y = net.layer(f"{home}.norm2", "LayerNorm", y, params=16)
                x = net.op("add", x, net.layer(f"{home}.fc", "Linear", y, params=64))
    return x


def attention(net: Net, at: str, x: int, memory: int) -> int:
    with net.call(at, "Attention", params=400):
        q = net.layer(f"{at}.q", "Linear", x, params=100)
        k, v = (net.layer(f"{at}.{name}", "Linear", memory, params=100) for name in "kv")
        y = net.op("matmul", net.op("softmax", net.op("matmul", q, k)), v)
        return net.layer(f"{at}.o", "Linear", y, params=100)


def views(view: View) -> list[View]:
    return [view, *(inset.view for inset in view.insets)]


def letters(view: View) -> list[str]:
    return [node.inset for one in views(view) for node in one.nodes if node.inset]


def params(view: View, node_calls: tuple[int, ...]) -> int:
    modules = {view.graph.calls[call].module for call in node_calls}
    return sum(view.graph.modules[path].params.total for path in modules)


def test_a_kind_is_opened_once_beside_the_picture() -> None:
    view = make_view(stages())
    assert shown(view) == ["input:x", "conv1", "layer1.0 x3", "layer2.0 x3", "layer3.0 x3", "fc", "output:"]
    assert [node.inset for node in view.nodes] == ["", "", "A", "A", "A", "", ""]
    (inset,) = view.insets
    assert (inset.letter, len(inset.calls)) == ("A", 9)
    assert "layer1.0.downsample.0" in shown(inset.view)
    assert boxes(inset.view) == ["layer1.0"]


def test_what_differs_is_said() -> None:
    view = make_view(stages())
    assert [node.differs for node in view.nodes if node.inset] == [("first with downsample",)] * 3


def test_up_to_three_differences_are_named_and_more_are_drawn_apart() -> None:
    view = make_view(stages(side=("pooling", "projection", "excitation")))
    assert [node.differs for node in view.nodes if node.inset] == [("first with pooling, projection, excitation",)] * 3
    four = make_view(stages(side=("pooling", "projection", "excitation", "attention")))
    assert [(name, node.inset) for name, node in zip(shown(four), four.nodes, strict=True) if node.kind == "call"] == [
        ("conv1", ""),
        *((f"layer{i}.{j}", letter) for i in (1, 2, 3) for j, letter in (("0", "A"), ("1 x2", "B"))),
        ("fc", ""),
    ]
    assert not any(node.differs for node in four.nodes)


def formulas(*kinds: str, n_stages: int = 2) -> Graph:
    """Stages of blocks of two layers, each block with something else about its ops."""
    net = Net("Formulas", params=n_stages * len(kinds) * 200)
    x = net.input("x", 1, 8)
    for stage in range(n_stages):
        for j, kind in enumerate(kinds):
            path = f"stage{stage}.{j}"
            with net.call(path, "Block", params=200):
                a, b = (net.layer(f"{path}.{name}", "Linear", x, params=100) for name in "ab")
                a = net.op("tanh" if kind == "tanh" else "relu", a)
                y = net.op("sub" if kind == "minus" else "div", *((b, a) if kind == "swapped" else (a, b)))
                y = net.op("roll", y) if kind == "shift" else y
                x = y if kind == "no skip" else net.op("add", x, y)
        x = net.op("cumsum", x)
    return net.graph(x)


def test_neighbours_that_differ_are_named_as_a_span() -> None:
    view = make_view(formulas("", "no skip", "no skip", "no skip", ""))
    assert {word for node in view.nodes for word in node.differs} == {"2nd–4th without skip"}
    assert not faults(view)
    for lie in ("2nd–5th without skip", "3rd–4th without skip"):
        nodes = tuple(replace(node, differs=(lie,)) if node.differs else node for node in view.nodes)
        assert any(lie in fault.words for fault in faults(replace(view, nodes=nodes)))


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("tanh", "with tanh instead of relu"),
        ("minus", "with − instead of ÷"),
        ("no skip", "without skip"),
        ("swapped", "with inputs of ÷ swapped"),
        ("shift", "with roll"),
    ],
)
def test_ops_that_differ_are_named(kind: str, text: str) -> None:
    view = make_view(formulas("", kind, ""))
    words = {word for node in view.nodes for word in node.differs}
    assert words in ({f"2nd {text}"}, {"1st, 3rd without roll"})
    assert any(node.repeat == 3 for node in view.nodes)


def test_of_layers_by_turns_every_second_is_named() -> None:
    view = proved(formulas(*["", "shift"] * 3))
    assert {word for node in view.nodes for word in node.differs} == {"every 2nd with roll"}
    assert any(node.repeat == 6 for node in view.nodes)
    assert not view.weakened
    false = proved(formulas("", "shift", "shift", "", "", "shift"))
    assert {word for node in false.nodes for word in node.differs} != {"every 2nd with roll"}
    nodes = tuple(replace(node, differs=("every 2nd with roll",)) if node.differs else node for node in false.nodes)
    assert any("every 2nd" in fault.words for fault in faults(replace(false, nodes=nodes)))


def test_all_differences_of_a_series_are_told_or_it_is_parted() -> None:
    """Four of six differ, each in another way."""
    view = make_view(formulas("", "tanh", "no skip", "minus", "swapped", ""))
    series = [(node.repeat, node.differs) for node in view.nodes if node.kind == "call"]
    assert (
        series
        == [
            (3, ("2nd with tanh instead of relu", "3rd without skip")),
            (3, ("first with − instead of ÷", "2nd with inputs of ÷ swapped")),
        ]
        * 2
    )


def test_pieces_that_are_put_together_again_make_no_difference() -> None:
    """As in Flux, whose layers join two streams, run and part them again: only the first of them is seen to join."""
    net = Net("Streams", params=4000)
    text, image = net.input("text", 1, 2, 8), net.input("image", 1, 6, 8)
    for i in range(4):
        with net.call(f"blocks.{i}", "Block", params=1000):
            x = net.op("cat", text, image, shape=(1, 8, 8))
            x = net.op("add", x, net.layer(f"blocks.{i}.fc", "Linear", net.op("tanh", x), params=1000))
            text = net.op("getitem", x, shape=(1, 2, 8), attrs={"1": "(:, :2)"})
            image = net.op("getitem", x, shape=(1, 6, 8), attrs={"1": "(:, 2:)"})
    view = make_view(net.graph(image))
    (box,) = view.boxes[1:]
    assert (box.repeat, box.differs) == (4, ())


def test_a_kind_at_one_place_is_opened_there() -> None:
    view = make_view(transformer(12))
    assert boxes(view)[:2] == ["", "blocks.0 x12"]
    assert not view.insets
    assert "blocks.0.ln1" in shown(view)


def test_an_encoder_and_a_decoder_of_one_class_are_two_kinds() -> None:
    view = make_view(encoder_decoder())
    names = [name for one in views(view) for name in boxes(one)]
    assert [name for name in names if name.endswith("x3")] == ["encoder.block.0 x3", "decoder.block.0 x3"]
    assert reaches(view)


def test_norms_and_attentions_of_a_block_are_never_folded() -> None:
    view = make_view(encoder_decoder())
    paths = [{view.graph.calls[call].module.split(".")[-1] for call in n.calls} for v in views(view) for n in v.nodes]
    assert not [names for names in paths if len(names & {"norm1", "norm2", "self_attn", "cross_attn"}) > 1]
    assert {"norm1"} in paths
    assert {"norm2"} in paths


@pytest.mark.parametrize("graph", [stages(), encoder_decoder(), transformer(), mlp()], ids=["a", "b", "c", "d"])
def test_letters_lead_to_insets_that_are_used(graph: Graph) -> None:
    view = make_view(graph)
    assert set(letters(view)) == {inset.letter for inset in view.insets}
    for inset in view.insets:
        assert all(edge.tail < len(inset.view.nodes) > edge.head for edge in inset.view.edges)
        for one in views(view):
            assert all(set(node.calls) <= set(inset.calls) for node in one.nodes if node.inset == inset.letter)


@pytest.mark.parametrize("graph", [stages(), encoder_decoder(), transformer()], ids=["a", "b", "c"])
def test_parameters_add_up(graph: Graph) -> None:
    """Each call of a layer with parameters of its own is in one node of the picture."""
    view = make_view(graph)
    drawn = [call for node in view.nodes for call in node.calls]
    assert len(drawn) == len(set(drawn))
    for node in view.nodes:
        modules = [graph.calls[call].module for call in node.calls]
        assert params(view, node.calls) == sum(graph.modules[path].params.total for path in modules)


@pytest.mark.parametrize("graph", [stages(8), encoder_decoder(6), transformer(24), chain(500), mlp(30), nested(60)])
def test_a_picture_stays_small_and_whole(graph: Graph) -> None:
    view = make_view(graph)
    inner = sum(node.kind not in ("input", "output") for inset in view.insets for node in inset.view.nodes)
    assert len(view.nodes) + inner <= AUTO_NODES
    assert reaches(view)


@pytest.mark.parametrize("graph", [stages(), encoder_decoder(), transformer(), nested(6)], ids=["a", "b", "c", "d"])
def test_no_box_is_around_one_closed_node(graph: Graph) -> None:
    for view in views(make_view(graph)):
        for box in view.boxes[1:]:
            inside = [node for node in view.nodes if node.box == box.id]
            assert len(inside) + sum(other.parent == box.id for other in view.boxes) > 1


def test_a_list_of_pairs_is_one_template() -> None:
    net = Net("Pairs", params=4000)
    x = net.input("x", 1, 4, 8)
    for i in range(4):
        x = net.op("add", x, attention(net, f"layers.{i}.0", x, x))
        with net.call(f"layers.{i}.1", "FeedForward", params=200):
            y = net.layer(f"layers.{i}.1.up", "Linear", x, params=100)
            y = net.layer(f"layers.{i}.1.down", "Linear", net.op("gelu", y), params=100)
        x = net.op("add", x, y)
    view = make_view(net.graph(net.op("cumsum", x)))
    (box,) = [box for box in view.boxes if box.period == 2]
    assert box.repeat == 4
    assert shown(view)[-2:] == ["cumsum", "output:"]
    assert "add > cumsum" in edges(view)


@pytest.mark.parametrize("graph", [nested(600), chain(3000), transformer(300)], ids=["deep", "long", "many"])
def test_large_models_are_drawn_soon(graph: Graph) -> None:
    start = time.process_time()
    view = make_view(graph)
    assert len(view.nodes) <= AUTO_NODES
    assert time.process_time() - start < 30


def test_40_parallel_branches() -> None:
    net = Net("Wide", params=4000)
    x = net.input("x", 1, 4)
    outs = []
    for i in range(40):
        with net.call(f"branches.{i}", "Branch", params=100):
            outs.append(net.op("tanh", net.layer(f"branches.{i}.fc", "Linear", x, params=100)))
    view = make_view(net.graph(net.op("cat", *outs, shape=(1, 160))))
    assert len(view.nodes) <= AUTO_NODES
    assert reaches(view)


def test_skips_of_a_unet_keep_its_blocks_apart() -> None:
    net = Net("UNet", params=4000)
    x = net.input("x", *C8)
    skips = []
    for i in range(3):
        x = block(net, f"down.{i}", x, C8, ())
        skips.append(x)
    for i in range(3):
        x = block(net, f"up.{i}", net.op("cat", x, skips[-1 - i]), C8, ())
    assert [len(node.calls) for node in make_view(net.graph(x)).nodes if node.inset] == [1] * 6


class TestOptions:
    def test_focus_shows_one_layer_in_the_same_way(self) -> None:
        view = make_view(stages(), DrawingOptions(focus="layer2"))
        assert shown(view)[0].startswith("input:")
        assert any("layer2.0.conv1" in name for one in views(view) for name in shown(one))

    def test_expand_opens_in_place(self) -> None:
        view = make_view(stages(), DrawingOptions(expand=("layer2.1",)))
        assert "layer2.1" in boxes(view)
        assert "layer2.1.conv1" in shown(view)
        assert "layer1.0 x3" in shown(view)

    def test_collapse_closes(self) -> None:
        view = make_view(stages(), DrawingOptions(collapse=("layer2",)))
        assert "layer2" in shown(view)
        assert "layer1.0 x3" in shown(view)

    def test_a_number_means_what_it_meant(self) -> None:
        view = make_view(stages(), DrawingOptions(depth=2))
        assert shown(view)[2:4] == ["layer1.0", "layer1.1 x2"]
        assert not view.insets


def test_an_interior_is_the_same_whatever_its_tables_are_called() -> None:
    net = Net("Tables", params=4000)
    x = net.input("x", 1, 4, 8)
    for i in range(3):
        with net.call(f"blocks.{i}", "Block", params=200):
            y = net.layer(f"blocks.{i}.fc", "Linear", x, params=100)
            x = net.op("add", net.op("mul", y, net.weight(f"blocks.{i}.gain", 8)), x)
    view = make_view(net.graph(net.op("tanh", x)))
    assert not any(node.differs for node in view.nodes)
    assert not any(box.differs for box in view.boxes)


def test_lists_of_other_lengths_are_one_kind() -> None:
    net = Net("Dense", params=9000)
    x = net.input("x", *C8)
    for i, n in enumerate((3, 6)):
        with net.call(f"dense{i}", "DenseBlock", params=1000 * n):
            for j in range(n):
                x = block(net, f"dense{i}.layer{j}", x, C8, ())
            x = net.op("tanh", x)
        x = net.op("max_pool2d", x)
    view = make_view(net.graph(x))
    assert [node.inset for node in view.nodes if node.kind == "call"] == ["A", "A"]
    assert next(node.differs for node in view.nodes if node.inset) == ("with 3 layers",)


def test_ops_of_other_layers_do_not_go_round_in_one() -> None:
    """Layers of one class that are drawn without a box run the same lines, as often as a shared layer is called."""
    net = Net("Convs", params=4000)
    x = net.input("x", *C8)
    for name in ("stem", "second", "third"):
        with net.call(name, "ConvReLU", params=600):
            x = net.op("relu", net.layer(f"{name}.conv", "Conv2d", x, params=600))
        x = net.op("max_pool2d", net.layer("cell", "Conv2d", x, params=600))
    graph = net.graph(x)
    ops = tuple(replace(op, source="net.py:3", offset=8) if op.name == "relu" else op for op in graph.ops)
    view = make_view(replace(graph, ops=ops))
    assert view.nodes[1].parts
    assert not [node for node in view.nodes if len(node.ops) > 1]


def test_blocks_of_one_list_are_one_kind_even_where_others_are_alike_first() -> None:
    """The first stage has no projections, as in a small ResNet."""
    net = Net("Staged", params=6000)
    x = net.input("x", 1, 8, 16, 16)
    for i in range(3):
        shape = (1, 8, 16 >> i, 16 >> i)
        with net.call(f"layer{i + 1}", "Sequential", params=2000):
            for j in range(2):
                x = block(net, f"layer{i + 1}.{j}", x, shape, ("downsample",) if i and not j else ())
    view = make_view(net.graph(x))
    assert [inset.letter for inset in view.insets] == ["A"]
    assert [node.repeat for node in view.nodes if node.inset] == [2, 2, 2]
    assert [node.differs for node in view.nodes if node.inset] == [
        ("without downsample",),
        *[("first with downsample",)] * 2,
    ]
    lines = [Labels(view).node(node).line for node in view.nodes if node.inset]
    assert lines == [
        "A without downsample ×2 · 1 k params each",
        *["A ×2 · first with downsample · 1 k params each"] * 2,
    ]


def test_an_inset_shows_only_what_something_reads_of_a_layer() -> None:
    net = Net(params=9000)
    x = net.input("x", 1, 8)
    for i in range(2):
        path = f"blocks.{i}"
        with net.call(path, "Block", params=3000):
            call = len(net.calls) - 1
            y = net.layer(f"{path}.first", "Linear", x, params=1000)
            z = net.layer(f"{path}.second", "Linear", net.op("tanh", y), params=1000)
            out = net.op("add", net.op("cat", x, z), net.layer(f"{path}.third", "Linear", z, params=1000))
        net.calls[call] = replace(net.calls[call], inputs={"x": x}, outputs={"0": out, "weights": y})
        x = net.op("roll", out)
    (inset,) = make_view(net.graph(x)).insets
    assert [node.name for node in inset.view.nodes if node.kind == "output"] == ["0"]


@pytest.mark.parametrize("kinds", [2, 16])
def test_a_note_names_what_is_closed_for_want_of_room(kinds: int) -> None:
    net = Net(params=kinds * 1000)
    x = net.input("x", 1, 8)
    for i in range(kinds):
        with net.call(f"part{i}", f"Part{i}", params=1000):
            for j in range(5):
                x = net.op("add", x, net.layer(f"part{i}.layer{j}", "Linear", net.op("tanh", x), params=200))
    view = make_view(net.graph(x))
    closed = [view.graph.calls[node.calls[0]].module for node in view.nodes if node.kind == "call" and not node.box]
    named = [f"Part{path.removeprefix('part')}" for path in closed if "." not in path]
    notes = [note for note in view.notes if note.startswith("closed, because the picture is full: ")]
    assert len(notes) == (kinds > 2) == bool(named)
    assert all(", ".join(named[:3]) in note and note.endswith("; expand opens them") for note in notes)
    assert all((f" and {len(named) - 3} more" in note) == (len(named) > 3) for note in notes)


@pytest.mark.parametrize("gives", [1, 2])
def test_a_block_of_equal_layers_that_gives_each_of_their_outputs_stays_one(gives: int) -> None:
    """As the last block on the way down a diffusion model, of which each layer has a skip."""
    net = Net(params=9000)
    x = net.layer("stem", "Conv2d", net.input("x", *C8), params=64)
    with net.call("down", "Down", params=6000):
        call = len(net.calls) - 1
        y = x
        outs = []
        for i in range(2):
            y = block(net, f"down.layers.{i}", y, C8, ())
            outs.append(y)
        net.calls[call] = replace(
            net.calls[call], inputs={"x": x}, outputs={str(i): v for i, v in enumerate(outs[-gives:])}
        )
    z = net.layer("up", "Conv2d", net.op("cat", net.layer("mid", "Conv2d", y, params=65), outs[-gives]), params=66)
    view = make_view(net.graph(net.op("add", net.op("tanh", z), y)))
    found = [name for name in shown(view) if name.startswith("down")]
    assert ("down" in found) == (gives == 2)


def test_a_parameter_that_each_layer_is_given_keeps_none_apart() -> None:
    """As the queries of DETR's decoder: where many read one, it stands beside each of them."""
    net = Net(params=9000)
    x, queries = net.input("x", 1, 5, 8), net.weight("queries", 1, 5, 8)
    with net.call("decoder", "Decoder", params=8000):
        for i in range(6):
            given = {"x": x, "queries": queries}
            with net.call(f"decoder.layers.{i}", "Layer", params=1000):
                call = len(net.calls) - 1
                x = net.op(
                    "add", x, net.layer(f"decoder.layers.{i}.fc", "Linear", net.op("add", x, queries), (1, 5, 8))
                )
            net.calls[call] = replace(net.calls[call], inputs=given)
    view = make_view(net.graph(net.op("tanh", x)), DrawingOptions(collapse=("decoder.layers.*",)))
    assert [node.repeat for node in view.nodes if node.kind == "call"] == [6]
    assert [node.name for node in view.nodes if node.kind == "param"] == ["queries"]


def test_a_letter_in_a_stack_speaks_of_all_repeats() -> None:
    """As the attention of T5, of which that in the first block alone has a table of positions."""
    net = Net("Stacks", params=40_000)
    x = net.input("x", *C8)
    for name in ("encoder", "decoder"):
        for i in range(3):
            at = f"{name}.{i}"
            with net.call(at, name.title(), params=6000):
                y = block(net, f"{at}.body", net.op("sin", x), C8, () if i else ("downsample",))
                y = block(net, f"{at}.tail", net.op("cumsum", y), C8, ())
                x = net.op("add", x, net.layer(f"{at}.fc", "Linear", y, params=10))
        x = net.op("cumprod", x)
    view = make_view(net.graph(x))
    assert boxes(view)[1:] == ["encoder.0 x3", "decoder.0 x3"]
    found = [node.differs for node in view.nodes if node.inset]
    assert found == [("2 without downsample",), ()] * 2


def with_gate(cls: str, params: int) -> View:
    """A net of 17 layers with a gate among them: a twentieth of the parameters, or none."""
    net = Net(params=2000)
    x = net.input("x", 1, 8)
    for i in range(17):
        x = net.op("roll", x) if i % 2 else net.layer(f"part{i}", f"Part{i}", x, params=100)
    with net.call("gate", "Gate", params=params):
        a = net.layer("gate.a", "Linear", x, params=params // 2)
        b = net.op("add", net.op("tanh", a), net.layer("gate.b", "Tanh", x))
        out = net.op("mul", x, net.layer("gate.c", "Conv2d", b, params=params // 2))
    net.modules["gate"] = replace(net.modules["gate"], cls=cls)
    return make_view(net.graph(net.layer("head", "Linear", out, params=8)))


def test_layers_of_the_models_own_code_have_more_room() -> None:
    assert "gate.a" in " ".join(shown(with_gate("pkg.Gate", 100)))
    assert "gate.a" not in " ".join(shown(with_gate("other.layers.Gate", 100)))


def test_layers_without_parameters_are_opened_in_small_pictures_only() -> None:
    assert "gate.b" not in " ".join(shown(with_gate("pkg.Gate", 0)))
    net = Net(params=100)
    x = net.layer("enter", "Linear", net.input("x", 1, 8), params=50)
    with net.call("gate", "Gate"):
        out = net.op("mul", x, net.op("add", net.op("tanh", x), net.layer("gate.b", "Tanh", x)))
    view = make_view(net.graph(net.layer("head", "Linear", out, params=50)))
    assert "gate" in " ".join(boxes(view))


@pytest.mark.parametrize(("cls", "product", "is_open"), [
    ("pkg.Attend", "matmul", True),
    ("other.layers.Attend", "matmul", False),
    ("pkg.Dice", "mul", False),
])  # fmt: skip
def test_a_product_of_the_models_own_code_is_opened_without_parameters(cls: str, product: str, is_open: bool) -> None:
    net = Net(params=3000)
    x = net.input("x", 1, 8)
    for i in range(16):
        x = net.layer(f"part{'abcdefghijklmnop'[i]}", f"Part{i}", x, params=100 + i)
    net.ops[-1] = replace(net.ops[-1], flops=6400)
    with net.call("core", "Attend"):
        y = net.op(product, x, net.op("tanh", x))
        net.ops[-1] = replace(net.ops[-1], flops=64 if product == "matmul" else None)
        out = net.op("add", x, net.op("softmax", y))
    net.modules["core"] = replace(net.modules["core"], cls=cls)
    view = make_view(net.graph(net.layer("head", "Linear", out, params=8)))
    assert ("core" in boxes(view)) == is_open


@pytest.mark.parametrize(("cls", "is_open"), [("pkg.layers.Mixer", True), ("other.layers.Mixer", False)])
def test_a_small_layer_of_the_package_with_products_is_opened_whatever_its_share(cls: str, is_open: bool) -> None:
    net = Net(params=30000)
    x = net.input("x", 1, 8)
    for i in range(16):
        x = net.layer(f"part{'abcdefghijklmnop'[i]}", f"Part{i}", x, params=1000 + i)
    net.ops[-1] = replace(net.ops[-1], flops=6400)
    with net.call("core", "Mixer", params=9):
        mixed = [net.layer(f"core.mix{i}", "Conv2d", x, params=3) for i in range(3)]
        net.ops[-1] = replace(net.ops[-1], flops=64)
        out = net.op("cat", x, *mixed)
    net.modules["core"] = replace(net.modules["core"], cls=cls)
    graph = net.graph(net.layer("head", "Linear", out, params=8))
    whole = replace(graph.modules[""], cls="pkg.models.net.Net")
    view = make_view(replace(graph, modules={**graph.modules, "": whole}))
    assert ("core" in boxes(view)) == is_open


def after_parts(n: int = 16) -> tuple[Net, int]:
    """A net with a row of different layers, and what the last of them gives."""
    net = Net(params=30_000)
    x = net.input("x", 1, 8)
    for i in range(n):
        x = net.layer(f"part{'abcdefghijklmnop'[i]}", f"Part{i}", x, params=100 + i)
    return net, x


@pytest.mark.parametrize(("n", "parts", "is_open"), [(2, 39, True), (2, 45, False), (1, 41, False)])
def test_layers_that_run_often_are_opened_beyond_the_usual_size(n: int, parts: int, is_open: bool) -> None:
    net = Net(params=100_000)
    x = net.input("x", 1, 8)
    for i in range(parts):
        x = net.op("roll", x) if i % 2 else net.layer(f"part{'abcdefgh'[i // 8]}{'rstuvwxy'[i % 8]}", f"P{i}", x)
        net.ops[-1] = replace(net.ops[-1], flops=6400)
    for name in ("core", "last")[:n]:
        x = net.op("roll", x)
        with net.call(name, "Mixer", params=9):
            mixed = [net.layer(f"{name}.mix{i}", "Conv2d", x, params=3) for i in range(7)]
            net.ops[-1] = replace(net.ops[-1], flops=64)
            x = net.op("cat", x, *mixed)
    view = make_view(net.graph(net.layer("head", "Linear", x, params=8)))
    assert bool("core" in boxes(view) or view.insets) == is_open


@pytest.mark.parametrize(("cls", "is_open"), [("pkg.Upscale", True), ("other.layers.Upscale", False)])
def test_few_layers_of_one_kind_in_a_layer_of_the_models_own_are_drawn(cls: str, is_open: bool) -> None:
    net = Net(params=10_000)
    x = net.input("x", 1, 8)
    for i in range(16):
        x = net.layer(f"part{'abcdefghijklmnop'[i]}", f"Part{i}", x, params=100)
        net.ops[-1] = replace(net.ops[-1], flops=6400)
    with net.call("up", "Upscale", params=10):
        for name in "ab":
            x = net.layer(f"up.{name}.conv", "ConvTranspose2d", x, (1, 8), params=5)
            net.ops[-1] = replace(net.ops[-1], flops=64)
            x = net.op("relu", net.layer(f"up.{name}.norm", "BatchNorm2d", x))
    net.modules["up"] = replace(net.modules["up"], cls=cls)
    view = make_view(net.graph(net.layer("head", "Linear", x, params=8)))
    assert ("up" in boxes(view)) == is_open


def test_a_row_of_layers_that_are_read_one_by_one_tells_something() -> None:
    net, x = after_parts()
    stages = []
    with net.call("encoder", "Encoder", params=20_000):
        for i, layer in enumerate(("Linear", "Conv2d") * 3):
            x = net.layer(f"encoder.stage{i}", layer, x, params=3000)
            stages.append(x)
    at = next(row.id for row in net.calls if row.module == "encoder")
    net.calls[at] = replace(net.calls[at], outputs={str(i): y for i, y in enumerate(stages[-3:])})
    net.modules["encoder"] = replace(net.modules["encoder"], cls="other.layers.Encoder")
    sides = [net.layer(f"side{'abc'[i]}", f"Side{i}", y, params=8) for i, y in enumerate(stages[-3:])]
    view = make_view(net.graph(net.op("cat", *sides)))
    assert any("encoder.stage0" in name for one in views(view) for name in shown(one))
    assert faults(view) == ()


def test_a_stack_in_two_layers_that_do_little_else_is_opened() -> None:
    net, x = after_parts()
    for name in ("left", "right"):
        with net.call(name, "Wrap", params=10_000):
            x = net.op("mul", x)
            with net.call(f"{name}.stack", "Stack", params=10_000):
                for i in range(3):
                    x = block(net, f"{name}.stack.layers.{i}", x, C8, ())
                x = net.layer(f"{name}.stack.norm", "LayerNorm", x, params=16)
        for path in (name, f"{name}.stack"):
            net.modules[path] = replace(net.modules[path], cls=f"other.layers.{net.modules[path].cls}")
        x = net.op("roll", x)
    view = make_view(net.graph(net.layer("head", "Linear", x, params=8)))
    assert any("conv1" in name for one in views(view) for name in shown(one))
    assert faults(view) == ()


@pytest.mark.parametrize(("beside", "frames"), [(("stem", "head"), ["decoder"]), (("stem",), []), ((), [])])
def test_what_is_most_of_a_model_is_framed_beside_other_parts(beside: Sequence[str], frames: Sequence[str]) -> None:
    net = Net(params=10_000)
    x = net.layer("stem", "Linear", net.input("x", 1, 8), params=10) if "stem" in beside else net.input("x", 1, 8)
    with net.call("decoder", "Decoder", params=9_000):
        for name in ("norm", "up", "mid", "down"):
            x = net.op("add", net.layer(f"decoder.{name}", "Linear", x, params=2_000), x)
    x = net.layer("head", "Linear", x, params=80) if "head" in beside else x
    view = make_view(net.graph(x))
    assert boxes(view)[1:] == frames
    assert faults(view) == ()


def rows_of_three(cls: str) -> View:
    """Blocks of three layers in a row, of which the middle one is another, at two places."""
    net = Net(params=3000)
    x = net.input("x", 1, 8)
    for name in ("left", "right"):
        with net.call(name, "Attention", params=400):
            y = net.layer(f"{name}.first", "Linear", x, params=100)
            y = net.layer(f"{name}.mid", "Conv2d", y, params=100)
            y = net.layer(f"{name}.last", "Linear", y, params=200)
        net.modules[name] = replace(net.modules[name], cls=cls)
        x = net.op("roll", y)
    return make_view(net.graph(net.layer("head", "Linear", x, params=8)))


def test_a_row_of_three_different_layers_tells_something() -> None:
    assert [inset.letter for inset in rows_of_three("pkg.Attention").insets] == ["A"]
    assert rows_of_three("other.Attention").insets == ()


@pytest.mark.parametrize("levels", [2, 6, 12])
def test_blocks_of_one_kind_in_each_other_come_to_an_end(levels: int) -> None:
    net = Net(params=1000)

    def block(path: str, left: int, x: int) -> int:
        with net.call(path, "Block", params=100):
            out = net.layer(f"{path}.fc", "Linear", x, params=72)
            out = block(f"{path}.inner", left - 1, out) if left > 1 else out
        net.give(x, out)
        return out

    x = block("block", levels, net.input("x", 1, 8))
    view = make_view(net.graph(net.layer("head", "Linear", x, params=72)))
    assert faults(view) == ()
    assert len(view.nodes) > 2


def test_a_layer_that_only_views_what_it_gets_otherwise_is_not_another_one() -> None:
    """Scripted functions run a `view_of` in their first calls: a unit was “unlike B”, which it was."""
    net = Net(params=5000)
    x = net.input("x", 1, 8, 16, 16)
    for i, between in enumerate(("tanh", "roll", "cumsum")):
        with net.call(f"unit{i}", "Unit", params=1000):
            y = net.layer(f"unit{i}.a", "Linear", x, params=500)
            y = net.op("sin", net.op("view_of", y) if i == 1 else y)
            x = net.op("add", x, net.layer(f"unit{i}.b", "Linear", y, params=500))
        x = net.op(between, x)
    views = Views(net.graph(x), DrawingOptions())
    view = views.view()
    assert [(node.inset, node.unlike, node.differs) for node in view.nodes if node.kind == "call"] == [
        ("A", (), ())
    ] * 3
    assert faults(view) == ()
    nodes = [replace(node, inset="", unlike=("A",)) if "unit1" in words(view)(node) else node for node in view.nodes]
    assert any("unlike A" in fault.words for fault in faults(replace(view, nodes=tuple(nodes))))
    views.weaken([call.id for call in view.graph.calls if call.module == "unit1"])
    assert not any(node.unlike for node in views.view().nodes)


def test_a_closed_layer_is_said_to_be_unlike_the_inset_of_its_class() -> None:
    """A reader took an encoder of four convolutions for the one of two beside it, which had the same class."""
    net = Net(params=5000)
    x = net.input("x", 1, 8, 16, 16)
    for i, between in enumerate(("tanh", "roll", "cumsum")):
        x = net.op(between, block(net, f"layer{i}", x, (1, 8, 16, 16), ()))
    with net.call("odd", "Bottleneck", params=100):
        for i in range(50):
            x = net.op("add", x, net.layer(f"odd.part{i}", f"Part{i}", x, params=2))
    view = make_view(net.graph(x))
    assert [node.inset for node in view.nodes if node.kind == "call"] == ["A", "A", "A", ""]
    assert [node.unlike for node in view.nodes if node.kind == "call"] == [(), (), (), ("A",)]
    odd = next(node for node in view.nodes if node.unlike)
    assert Labels(view).node(odd) == ("odd", "Bottleneck unlike A · 100 params", False)
    assert faults(view) == ()
    views = Views(view.graph, DrawingOptions())
    views.weaken(odd.calls)
    assert [node.unlike for node in views.view().nodes if node.kind == "call"] == [(), (), (), ("A",)]


def test_a_sequential_is_not_said_by_the_class_of_an_inset_that_shows_another_layer() -> None:
    """A reader took “SpectrumConvs · Conv” for an inset with ReLU, and had Tanh in it."""
    net = Net(params=5000)
    x = net.input("x", 1, 8, 16, 16)
    for i, between in enumerate(("tanh", "roll", "cumsum")):
        x = net.op(between, block(net, f"layer{i}", x, C8, ()))
    for _ in range(2):
        y = x
        with net.call("last", "Sequential", params=100):
            with net.call("last.0", "Bottleneck", params=50):
                for i in range(50):
                    x = net.op("add", x, net.layer(f"last.0.{i}", "Conv2d", x, C8, "8, 8, kernel_size=(3, 3)", 1))
            x = net.layer("last.1", "Conv2d", x, C8, "8, 8, kernel_size=(3, 3)", 50)
        x = net.op("add", x, y)
    view = make_view(net.graph(x))
    last = next(node for node in view.nodes if node.unlike)
    assert Labels(view).node(last)[:2] == ("last", "2 layers · 100 params")
    assert Prover(view.graph, words).faults(view) == ()
    silent = replace(view, nodes=tuple(replace(node, unlike=()) for node in view.nodes))
    assert "Bottleneck · Conv" in words(silent)(silent.nodes[last.id])
    assert ["Bottleneck" in fault.words for fault in Prover(view.graph, words).faults(silent)] == [True]


def test_a_layer_of_another_list_has_the_letter_of_its_class_if_words_tell_how_it_differs() -> None:
    """A reader found “ResnetBlock2D unlike D” nowhere, which was D without its shortcut."""
    net = Net(params=5000)
    x = net.input("x", 1, 8, 16, 16)
    for i, between in enumerate(("tanh", "roll", "cumsum")):
        x = net.op(between, block(net, f"layer{i}", x, C8, ()))
    for i in range(30):
        x = net.layer(f"part{i}", f"Part{i}", x, C8, params=2)
    x = block(net, "odd", x, C8, ("downsample", "other"))
    for at in ("odd", "odd.conv1", "odd.conv2", "odd.downsample", "odd.other"):
        net.modules[at] = replace(net.modules[at], params=replace(net.modules[at].params, total=0, trainable=0))
    view = make_view(net.graph(x))
    blocks = [node for node in view.nodes if node.kind == "call" and "part" not in words(view)(node)]
    assert [(node.inset, node.differs) for node in blocks] == [("A", ())] * 3 + [("A", ("with downsample and other",))]
    assert faults(view) == ()


def segmenter(encoder: int, decoder: int) -> Graph:
    """An encoder whose halves and quarters a decoder joins again."""
    net = Net("Segmenter", params=encoder + decoder)
    x = net.input("x", 1, 8, 16, 16)
    with net.call("encoder", "Encoder", params=encoder):
        levels = [x := net.layer("encoder.stem", "Conv2d", x, (1, 8, 8, 8), params=encoder // 4)]
        for i, pool in enumerate(("max_pool2d", "avg_pool2d", "lp_pool2d")):
            x = net.op(pool, x, shape=(1, 8, 4 >> i, 4 >> i))
            levels.append(x := net.layer(f"encoder.down{i}", "Conv2d", x, params=encoder // 4))
    with net.call("decoder", "Decoder", params=decoder):
        for i, level in enumerate(reversed(levels[:-1])):
            x = net.op("interpolate", x, shape=net.shape(level))
            x = net.op("cat", x, level, shape=(1, 16, *net.shape(level)[2:]))
            x = net.layer(f"decoder.up{i}", "Conv2d", x, net.shape(level), params=decoder // 3)
    return net.graph(net.layer("head", "Linear", x, params=8))


def test_what_is_most_of_a_model_has_a_box_if_another_layer_has_one() -> None:
    large, usual = (boxes(make_view(segmenter(*sizes))) for sizes in ((90_000, 9_000), (60_000, 30_000)))
    assert large == usual == ["", "encoder", "decoder"]
