"""What readers take for one thing is one node, and what they do not need is counted in a note."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.core.graph.building import Net, residual_block
from tests.core.view.seeing import boxes, edges, shown
from torchrecorder import capture
from torchrecorder.drawing.styler import styler_input
from torchrecorder.graph import Graph, TensorMeta
from torchrecorder.graph.model import Failure, Frame
from torchrecorder.labels.labels import Labels
from torchrecorder.layout.edge_shapes import edge_shapes
from torchrecorder.proof import faults
from torchrecorder.request.requests import USUAL, DrawingOptions
from torchrecorder.view import View, make_view


def words(view: View) -> list[str]:
    labels = Labels(view)
    return [" | ".join(filter(None, labels.node(node)[:2])) for node in view.nodes if node.kind in ("call", "op")]


def layers(*names: str) -> Graph:
    """A chain of layers and ops by their classes and names."""
    net = Net()
    x = net.input("x", 1, 8, 4, 4)
    for i, name in enumerate(names):
        x = net.layer(f"{name.lower()}{i}", name, x, params=8 * (i + 1)) if name[0].isupper() else net.op(name, x)
    return net.graph(x)


def parts(graph: Graph) -> list[tuple[str, ...]]:
    view = make_view(graph)
    found = []
    for node in view.nodes:
        if node.kind in ("call", "op"):
            rows = node.parts or (node,)
            found.append(tuple(shown_part(view, part) for part in rows))
    return found


def shown_part(view: View, part: object) -> str:
    calls, op = getattr(part, "calls", ()), getattr(part, "op", None)
    return view.graph.calls[calls[0]].module if calls else "" if op is None else view.graph.ops[op].name


@pytest.mark.parametrize(
    ("chain", "expected"),
    [
        ("Conv2d BatchNorm2d ReLU", [("conv2d0", "batchnorm2d1", "relu2")]),
        ("Linear GELU Dropout Linear", [("linear0", "gelu1", "dropout2"), ("linear3",)]),
        ("LayerNorm Linear GELU", [("layernorm0",), ("linear1", "gelu2")]),
        ("BatchNorm2d ReLU Conv2d", [("batchnorm2d0", "relu1", "conv2d2")]),
        ("roll BatchNorm2d ReLU Conv2d", [("roll",), ("batchnorm2d1", "relu2", "conv2d3")]),
        ("Conv2d ReLU MaxPool2d ReLU", [("conv2d0", "relu1"), ("maxpool2d2",), ("relu3",)]),
        ("BatchNorm2d ReLU MaxPool2d", [("batchnorm2d0", "relu1"), ("maxpool2d2",)]),
        ("Conv2d roll ReLU", [("conv2d0",), ("roll",), ("relu2",)]),
    ],
)
def test_layers_in_series_that_are_one(chain: str, expected: list[tuple[str, ...]]) -> None:
    assert parts(layers(*chain.split())) == expected


def test_the_classes_that_a_loss_layer_is_given_are_drawn() -> None:
    net = Net()
    x, labels = net.input("x", 2, 8), net.input("labels", 2)
    net.values[labels] = replace(net.values[labels], meta=TensorMeta((2,), "int64", "cpu", 0))
    scores = net.layer("fc", "Linear", x, params=8)
    with net.call("ce", "CrossEntropyLoss"):
        loss = net.op("cross_entropy", scores, labels, shape=())
    assert "input:labels > ce" in edges(make_view(net.graph(loss)))


def test_a_layer_that_two_read_stays_alone() -> None:
    net = Net()
    x = net.layer("conv", "Conv2d", net.input("x", 1, 8), params=8)
    y = net.layer("act", "ReLU", x)
    assert parts(net.graph(net.op("cat", x, y)))[:2] == [("conv",), ("act",)]


def test_an_activation_joins_the_sum_before_it() -> None:
    assert words(make_view(residual_block()))[-1] == "+ · relu"


def test_the_part_with_the_most_parameters_stands_for_all() -> None:
    view = make_view(residual_block())
    node = view.nodes[1]
    assert view.graph.calls[node.calls[0]].module == "conv1"
    assert [view.graph.calls[part.calls[0]].module for part in node.parts] == ["conv1", "bn1", "relu"]


def test_equal_ones_in_a_row_are_drawn_once() -> None:
    net = Net()
    x = net.input("x", 1, 8)
    for i in range(4):
        x = net.layer(f"fc{i}", "Linear", x, said="in_features=8, out_features=8", params=72)
        x = net.layer(f"act{i}", "ReLU", x)
    graph = net.graph(x)
    assert words(make_view(graph)) == ["fc0–3 | Linear 8→8 · ReLU ×4"]
    assert len(make_view(graph, DrawingOptions(fold=False)).nodes) == 6


def test_a_box_around_one_node_is_that_node() -> None:
    net = Net()
    x = net.input("x", 1, 8)
    for i in range(2):
        with net.call(f"blocks.{i}", "Block", params=72), net.call(f"blocks.{i}.ff", "Feed", params=72):
            x = net.layer(f"blocks.{i}.ff.fc", "Linear", x, said="8, 8", params=72)
            x = net.layer(f"blocks.{i}.ff.act", "ReLU", x)
    view = make_view(net.graph(net.op("sin", x)), DrawingOptions(depth=3))
    assert boxes(view) == [""]
    assert shown(view)[1] == "blocks.0.ff.fc x2"
    assert words(view)[0] == "blocks | Linear 8→8 · ReLU ×2"
    asked = make_view(net.graph(net.op("sin", x)), DrawingOptions(expand=("blocks.*.ff",)))
    assert "blocks.0.ff x2" not in shown(asked)
    assert len(boxes(asked)) > 1


def test_what_only_positions_need_is_a_note_and_a_mask_of_an_input_a_line() -> None:
    """It read as if nothing depends on the input."""
    net = Net()
    x, mask = net.input("x", 1, 4, 8), net.input("mask", 1, 4)
    net.values[mask] = net.values[mask].__class__(mask, "input", None, 0, meta("int64", (1, 4)), "mask")
    y = net.op("masked_fill", x, net.op("eq", mask, attrs={"1": "0"}), shape=(1, 4, 8))
    y = net.op("add", y, net.op("arange", shape=(4,)))
    view = make_view(net.graph(y))
    assert shown(view) == ["input:mask", "input:x", "masked_fill", "add", "output:"]
    assert "input:mask > masked_fill" in edges(view)
    assert Labels(view).node(view.nodes[2]).name == "masked_fill mask = 0"
    assert view.notes == ("not drawn: 2 operations on constants, masks and positions; depth: all draws everything",)
    assert faults(view) == ()
    cut = view.edges[1:]
    assert any("no line leads from input mask" in fault.words for fault in faults(replace(view, edges=cut)))
    nodes = tuple(replace(node, id=node.id - 1) for node in view.nodes[1:])
    rest = tuple(replace(edge, tail=edge.tail - 1, head=edge.head - 1) for edge in cut)
    without = replace(view, nodes=nodes, edges=rest, aside=(mask,))
    assert [fault.words for fault in faults(without)] == ["mask is read and not drawn"]
    assert "eq" in shown(make_view(net.graph(y), DrawingOptions(depth="all")))


def test_a_join_of_masks_is_drawn() -> None:
    """Two lines read as if each mask were used for itself."""

    class Padded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.text, self.padding = nn.Linear(8, 6), nn.Parameter(torch.zeros(7, 6))

        def forward(self, x: Tensor, mask: Tensor, other: Tensor) -> Tensor:
            joined = torch.cat([mask, other], dim=-1)[..., None]
            return torch.where(joined, self.text(x), self.padding).sin()

    masks = [torch.ones(2, n, dtype=torch.bool) for n in (3, 4)]
    with torch.no_grad():
        view = make_view(capture(Padded(), (torch.zeros(2, 7, 8), *masks)))
    assert {"input:mask > cat", "input:other > cat", "cat > where"} <= {*edges(view)}
    assert edge_shapes(view, USUAL)[shown(view).index("cat"), shown(view).index("where")] == "N×7"
    assert faults(view) == ()


def meta(dtype: str, shape: tuple[int, ...]) -> TensorMeta:
    return TensorMeta(shape, dtype, "cpu", 0)


def with_dead_end(*, failed: bool = False) -> Graph:
    """A layer whose result is also squared, for nothing."""
    net = Net("Net")
    x = net.layer("fc", "Linear", net.input("x", 1, 8))
    net.op("sum", net.op("pow", x))
    found = net.graph(net.layer("head", "Linear", x))
    return replace(found, info=replace(found.info, failure=Failure(0, "stopped"))) if failed else found


def test_what_nothing_reads_is_a_note() -> None:
    view = make_view(with_dead_end())
    assert shown(view) == ["input:x", "fc", "head", "output:"]
    assert view.notes == ("not drawn: 2 operations that nothing reads; depth: all draws everything",)
    assert "pow" in shown(make_view(with_dead_end(), DrawingOptions(depth="all")))
    assert "pow" in shown(make_view(with_dead_end(failed=True)))


def test_whole_numbers_that_are_embedded_or_an_index_are_drawn() -> None:
    net = Net()
    ids = net.input("ids", 1, 4)
    net.values[ids] = net.values[ids].__class__(ids, "input", None, 0, meta("int64", (1, 4)), "ids")
    x = net.layer("embed", "Embedding", net.op("clamp", ids), (1, 4, 8), params=80)
    assert shown(make_view(net.graph(x))) == ["input:ids", "clamp", "embed", "output:"]
    y = net.op("index_select", x, ids)
    assert "input:ids > index_select" in edges(make_view(net.graph(y)))


def test_a_table_is_named_in_the_op_that_reads_it() -> None:
    net = Net(params=32)
    x = net.input("x", 1, 4, 8)
    y = net.op("add", x, net.weight("pos_embedding", 1, 4, 8))
    view = make_view(net.graph(y))
    assert words(view) == ["+ pos_embedding"]
    assert [part.kind for part in view.nodes[1].parts] == ["op", "param"]
    assert "param:pos_embedding" in shown(make_view(net.graph(y), DrawingOptions(depth="all")))


def with_a_list(*, given_back: bool) -> View:
    net = Net()
    x = net.input("x", 1, 4)
    kept = []
    for i in range(2):
        with net.call(f"layers.{i}", "Attention"):
            kept.append(net.op("sin", x))
            x = net.op("mul", x, kept[-1])
        row = net.calls[-1]
        net.calls[-1] = replace(row, outputs={"0": x, "1": kept[-1]} if given_back else {"": x})
    return make_view(net.graph(**{"last": x} | {f"kept.{i}": value for i, value in enumerate(kept)}))


def test_lists_that_layers_keep_and_do_not_give_back_are_a_note() -> None:
    view = with_a_list(given_back=False)
    assert [node.name for node in view.nodes if node.kind == "output"] == ["last"]
    assert "kept" in view.notes[0]


def test_lists_that_layers_give_back_are_outputs_though_the_model_reads_them() -> None:
    view = with_a_list(given_back=True)
    outputs = [node for node in view.nodes if node.kind == "output"]
    assert [(node.name, len(node.values)) for node in outputs] == [("last", 1), ("kept", 2)]
    assert not view.notes


def test_whole_numbers_that_are_returned_are_outputs() -> None:
    net = Net()
    x, lengths = net.input("x", 2, 4), net.input("lengths", 2)
    net.values[lengths] = replace(net.values[lengths], meta=TensorMeta((2,), "int64", "cpu", 0))
    view = make_view(net.graph(net.layer("fc", "Linear", x, params=16), lengths))
    assert edges(view) == ["input:x > fc", "input:lengths > output:1", "fc > output:0"]


def test_whole_numbers_that_the_user_gives_to_a_drawn_op_are_an_entry() -> None:
    net = Net()
    x, accents = net.input("x", 2, 4), net.input("accents", 2, 4)
    net.values[accents] = replace(net.values[accents], meta=TensorMeta((2, 4), "int64", "cpu", 0))
    y = net.op("add", net.layer("fc", "Linear", x, params=16), accents)
    assert "input:accents > add" in edges(make_view(net.graph(y)))


def test_a_weight_that_is_moved_to_a_device_is_still_the_weight() -> None:
    net = Net()
    ids = net.input("ids", 2, 5)
    net.values[ids] = replace(net.values[ids], meta=TensorMeta((2, 5), "int64", "cpu", 0))
    moved = net.op("set_data", net.weight("embed.weight", 8, 4))
    net.ops[-1] = replace(net.ops[-1], mutates=(moved,))
    with net.call("embed", "Embedding", params=32):
        x = net.op("embedding", ids, moved, shape=(2, 5, 4))
    net.give(ids, x)
    view = make_view(net.graph(net.op("cumsum", x)))
    assert edges(view) == ["input:ids > embed", "embed > cumsum", "cumsum > output:"]
    assert not faults(view)


def test_pieces_and_products_with_one_are_handed_on() -> None:
    net = Net()
    x = net.input("x", 1, 8)
    half = net.op("chunk", net.op("mul", x, attrs={"1": "1.0"}), shape=(1, 4))
    graph = net.graph(net.op("sin", net.op("getitem", half, attrs={"1": "0"}, shape=(4,))))
    assert shown(make_view(graph)) == ["input:x", "sin", "output:"]
    assert "chunk" in shown(make_view(graph, DrawingOptions(depth="all")))


def test_layers_of_any_size_side_by_side() -> None:
    net = Net()
    x = net.input("x", 1, 8)
    outs = [
        net.layer(f"heads.{i}", "Linear", x, (1, i), f"in_features=8, out_features={i}", params=9 * i)
        for i in range(1, 6)
    ]
    view = make_view(net.graph(net.op("cat", *outs)))
    assert words(view) == ["heads | Linear 8→1 … 8→5 · 5 in parallel", "cat"]


def with_frames(net: Net, *names: str, ops: dict[int, int], **outputs: int) -> Graph:
    """A Graph whose functions call one another in order, and which op ran in which of them."""
    rows = tuple(Frame(i, f"pkg.{name}", "net.py:1", 0, i - 1 if i else None) for i, name in enumerate(names))
    graph = net.graph(*outputs.values())
    return replace(graph, frames=rows, ops=tuple(replace(op, frame=ops.get(op.id)) for op in graph.ops))


def rotary() -> Graph:
    net = Net()
    q = net.op("sin", net.input("x", 1, 8))
    turned = net.op("cat", net.op("neg", net.op("narrow", q)), q)
    out = net.op("add", net.op("mul", q), turned)
    return with_frames(net, "_apply_rotary", "rotate_half", ops={1: 1, 2: 1, 3: 1, 4: 0, 5: 0}, out=net.op("cos", out))


def test_ops_are_the_function_they_ran_in() -> None:
    view = make_view(rotary())
    assert [node.kind for node in view.nodes] == ["input", "op", "function", "op", "output"]
    function = view.nodes[2]
    assert function.name == "apply_rotary"
    assert function.ops == (1, 2, 3, 4, 5)
    assert Labels(view).node(function).name == "apply_rotary()"
    assert styler_input(view, Labels(view)).nodes[2].op == "apply_rotary"
    assert "neg" in shown(make_view(rotary(), DrawingOptions(depth="all")))


def test_a_function_with_layers_is_looked_through() -> None:
    net = Net(params=8)
    x = net.op("sin", net.input("x", 1, 8))
    x = net.layer("fc", "Linear", x, params=8)
    graph = with_frames(net, "features", ops={0: 0, 2: 0}, out=net.op("cos", x))
    graph = replace(graph, calls=(graph.calls[0], replace(graph.calls[1], frame=0)))
    assert shown(make_view(graph)) == ["input:x", "sin", "fc", "cos", "output:"]


def test_one_op_says_more_than_its_function() -> None:
    net = Net()
    x = net.op("sin", net.input("x", 1, 8))
    graph = with_frames(net, "wave", ops={0: 0}, out=net.op("cos", x))
    assert shown(make_view(graph)) == ["input:x", "sin", "cos", "output:"]


def test_a_function_around_what_it_does_not_hold_is_looked_through() -> None:
    net = Net()
    x = net.op("sin", net.input("x", 1, 8))
    graph = with_frames(net, "ends", ops={0: 0, 2: 0}, out=net.op("tan", net.op("cos", x)))
    assert shown(make_view(graph)) == ["input:x", "sin", "cos", "tan", "output:"]


@pytest.mark.parametrize(
    ("op", "attrs", "is_drawn"),
    [
        ("add", {"1": "0"}, False),  # a sum over a list begins so
        ("sub", {"1": "0"}, False),
        ("sub", {"0": "0"}, True),  # 0 − x
        ("div", {"0": "1"}, True),  # 1 ÷ x
        ("add", {"1": "1"}, True),
        ("mul", {"1": "0"}, True),
        ("getitem", {"1": "2:"}, False),
        ("getitem", {"1": "(..., :-1)"}, False),
        ("getitem", {"1": "(:, 0)"}, True),  # the class token
        ("getitem", {"1": "(..., 0::2)"}, True),
        ("getitem", {"1": "(:, None, 1:)"}, True),
    ],
)
def test_what_gives_the_same_or_a_stretch_of_it_is_an_edge(op: str, attrs: dict[str, str], is_drawn: bool) -> None:
    net = Net()
    x = net.layer("first", "Linear", net.input("x", 4, 8), params=8)
    x = net.layer("last", "Linear", net.op(op, x, attrs=attrs), params=9)
    graph = net.graph(x)
    assert shown(make_view(graph)) == ["input:x", "first", *([op] if is_drawn else []), "last", "output:"]
    assert op in shown(make_view(graph, DrawingOptions(depth="all")))


def pieces(*cuts: str, shape: tuple[int, ...] = (4, 8)) -> View:
    """Stretches of one tensor, put together."""
    net = Net()
    x = net.layer("first", "Linear", net.input("x", 4, 8), params=8)
    cut = [net.op("getitem", x, shape=(2, 8), attrs={"1": index}) for index in cuts]
    return make_view(net.graph(net.layer("last", "Linear", net.op("cat", *cut, shape=shape), params=9)))


def test_a_tensor_that_is_put_together_in_another_order_is_an_edge() -> None:
    assert shown(pieces("2:", ":2")) == ["input:x", "first", "last", "output:"]


def test_pieces_that_are_put_together_to_something_else_are_drawn() -> None:
    assert shown(pieces(":2", ":2", "2:", shape=(6, 8))).count("getitem") == 3


def modulated(*, is_one: bool = True) -> View:
    """A tensor that is scaled and shifted by parts of what one layer gives, or two."""
    net = Net()
    x, t = net.input("x", 2, 8), net.input("t", 2, 4)
    both = net.layer("condition", "Linear", t, (2, 16), params=64)
    other = both if is_one else net.layer("another", "Linear", t, (2, 16), params=65)
    scale, shift = net.op("chunk", both, shape=(2, 8)), net.op("chunk", other, shape=(2, 8))
    scale = net.op("add", scale, attrs={"1": "1"})
    y = net.op("add", net.op("mul", net.layer("norm", "LayerNorm", x, params=8), scale), shift)
    return make_view(net.graph(net.layer("head", "Linear", y, params=9)))


def test_scale_and_shift_of_one_layer_are_one_node() -> None:
    view = modulated()
    assert sorted(words(view))[-1] == "scale · shift"
    assert len(words(view)) == 4
    assert edges(view).count("condition > mul") == edges(view).count("norm > mul") == 1


def test_scale_and_shift_of_two_layers_are_not() -> None:
    assert [word for word in words(modulated(is_one=False)) if word in ("+ 1", "×", "+")] == ["+ 1", "×", "+"]


def test_of_many_weights_that_a_function_reads_none_is_named() -> None:
    net = Net()
    x = net.layer("first", "Linear", net.input("x", 4, 8), params=8)
    y = net.op("mul", net.op("add", x, net.weight("bias", 8)), net.weight("scale", 8))
    x = net.layer("last", "Linear", net.op("tanh", y), params=9)
    graph = net.graph(x)
    frame = Frame(0, "mix", "f.py:1", 0)
    graph = replace(graph, frames=(frame,), ops=tuple(replace(op, frame=0) if op.call == 0 else op for op in graph.ops))
    view = make_view(graph)
    assert [Labels(view).node(node).name for node in view.nodes if node.kind == "function"] == ["mix()"]


def test_copies_of_a_place_are_edges_and_of_several_ops() -> None:
    net = Net()
    x = net.layer("first", "Linear", net.input("x", 1, 8), params=8)
    x = net.layer("last", "Linear", net.op("tile", net.op("repeat", x, shape=(4, 8)), shape=(8, 8)), params=9)
    assert shown(make_view(net.graph(x))) == ["input:x", "first", "tile", "last", "output:"]


def test_what_holds_no_data_is_left_out_where_something_else_is_read() -> None:
    """The `batch` that a graph network fills with zeros, since there is one graph."""
    net = Net()
    x = net.layer("first", "Linear", net.input("x", 4, 8), params=8)
    zeros = net.op("new_zeros", x, shape=(4,))
    kept = net.op("cumsum", net.op("new_ones", x, shape=(4,)), shape=(4,))
    with net.call("pool", "Pool", params=8):
        y = net.op("tanh", net.op("scatter_add", x, zeros))
    y = net.op("cat", y, net.layer("embed", "Embedding", kept, (4, 8), params=80))
    view = make_view(net.graph(net.layer("last", "Linear", y, params=9)))
    assert "new_zeros" not in shown(view)
    assert "first > scatter_add" in edges(view)


@pytest.mark.parametrize(
    ("steps", "is_seen"),
    [
        ([("view", (2, 2, 4, 6)), ("transpose", (2, 4, 2, 6)), ("view", (2, 8, 6))], True),
        ([("view", (2, 2, 4, 6)), ("transpose", (2, 4, 2, 6))], False),  # its size says it
        ([("transpose", (2, 6, 8)), ("contiguous", (2, 6, 8)), ("transpose", (2, 8, 6))], False),
        ([("unsqueeze", (2, 1, 8, 6)), ("transpose", (2, 8, 1, 6)), ("view", (2, 8, 6))], False),
    ],
    ids=["shuffle", "heads", "there and back", "an axis of one"],
)
def test_a_function_that_changes_the_order_and_no_size_is_drawn(
    steps: list[tuple[str, tuple[int, ...]]], is_seen: bool
) -> None:
    net = Net()
    x = net.layer("first", "Conv1d", net.input("x", 2, 8, 6), params=8)
    for name, shape in steps:
        x = net.op(name, x, shape=shape)
    graph = net.graph(net.layer("last", "Conv1d", x, params=9))
    frame = Frame(0, "channel_shuffle", "f.py:1", 0)
    graph = replace(graph, frames=(frame,), ops=tuple(replace(op, frame=0) if op.call == 0 else op for op in graph.ops))
    view = make_view(graph)
    names = [Labels(view).node(node).name for node in view.nodes]
    assert ("channel_shuffle()" in names) == is_seen
    assert faults(view) == ()


def test_a_view_with_other_axes_is_drawn_if_a_part_along_these_is_taken() -> None:
    """The shift of relative positions: as an index on a line it would leave out the first position."""
    net = Net()
    x = net.layer("first", "Linear", net.input("x", 2, 6, 7), params=8)
    y = net.op("view", net.op("pad", x, shape=(2, 6, 8)), shape=(2, 8, 6))
    y = net.op("view", net.op("getitem", y, shape=(2, 7, 6), attrs={"1": "(:, 1:)"}), shape=(2, 6, 7))
    graph = net.graph(net.layer("last", "Linear", y, params=9))
    assert shown(make_view(graph)) == ["input:x", "first", "pad", "view", "getitem", "last", "output:"]
    inside = (replace(op, frame=0) if op.call == 0 else op for op in graph.ops)
    graph = replace(graph, frames=(Frame(0, "rel_shift", "f.py:1", 0),), ops=tuple(inside))
    view = make_view(graph)
    assert Labels(view).node(view.nodes[2])[:2] == ("rel_shift()", "")  # a formula of indices alone would be false
    assert faults(view) == ()
