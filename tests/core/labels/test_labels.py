"""The words on boxes and nodes, and the kinds they have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.graph.building import Net, residual_block, transformer
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels
from torchrecorder.labels.op_words import Label, op_label
from torchrecorder.labels.operands import Names
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Node, Span, make_view


def labels(graph: Graph, **options: object) -> dict[str, str]:
    """The second line of each node by its first."""
    view = make_view(graph, DrawingOptions(**options))  # type: ignore[arg-type]
    writer = Labels(view)
    found = [writer.node(node) for node in view.nodes]
    return {label.name: label.line for label in found}


def titles(graph: Graph, **options: object) -> list[str]:
    view = make_view(graph, DrawingOptions(**options))  # type: ignore[arg-type]
    return [Labels(view).box(box) for box in view.boxes]


def of_op(name: str, *inputs: int, attrs: dict[str, str] | None = None) -> Label:
    net = Net()
    values = [net.input(f"x{i}", 1, 4) for i in inputs]
    out = net.op(name, *values, attrs=attrs)
    view = make_view(net.graph(out), contract=False)
    node = next(node for node in view.nodes if node.kind == "op")
    return Labels(view).node(node)


def test_a_layer_has_its_name_and_its_numbers() -> None:
    found = labels(residual_block(), depth=2)
    assert found["conv1"] == "Conv2d 3×3 /2 · 8→16 · BatchNorm · ReLU"
    assert found["down"] == "Conv2d 1×1 /2 · 8→16 · BatchNorm"
    assert found["+ · relu"] == ""
    assert found["x"] == "1×8×16×16"
    assert found["output"] == "1×16×8×8"


def test_a_name_that_repeats_the_class_is_left_out() -> None:
    assert labels(residual_block(), depth="all")["ReLU"] == ""


def test_a_path_that_ends_in_the_class_says_it_once() -> None:
    net = Net()
    x = net.layer("embeddings.LayerNorm", "LayerNorm", net.op("tanh", net.input("x", 1, 8)))
    assert labels(net.graph(net.op("cumsum", x)), depth="all")["embeddings.LayerNorm"] == ""


def test_a_norm_keeps_its_name() -> None:
    net = Net()
    x = net.layer("layer_norm1", "LayerNorm", net.op("tanh", net.input("x", 1, 8)))
    x = net.layer("layer_norm", "LayerNorm", net.op("cumsum", x))
    assert {"layer_norm1", "layer_norm"} <= labels(net.graph(net.op("cumsum", x)), depth="all").keys()


def test_an_entry_of_a_list_that_is_drawn_elsewhere_is_said_with_the_list() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.up, self.down = nn.Linear(4, 8), nn.Linear(8, 4)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = x + self.down(self.up(x).relu())
            return out

    class Body(nn.ModuleDict):
        def forward(self, x: Tensor) -> dict[str, Tensor]:
            out = {}
            for name, layer in self.items():
                x = layer(x)
                out[name] = x.cumsum(0)
            return out

    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.body, self.head = Body({str(i): Block() for i in range(3)}), nn.Linear(4, 4)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.head(sum(self.body(x).values()))
            return out

    view = make_view(capture(Two().eval(), (torch.rand(2, 4),)))
    said = {name for name, *_ in map(Labels(view).node, view.nodes)}
    assert {"body.0", "body.1", "body.2"} <= said


def test_a_layer_that_is_not_registered_has_its_class_alone() -> None:
    class Choosing(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return nn.Softmax(-1)(x.sin()).cos()  # type: ignore[no-any-return]

    assert "Softmax" in labels(capture(Choosing().eval(), (torch.ones(2, 4),)))


def test_a_sign_whose_numbers_are_many_says_how_many() -> None:
    net = Net()
    graph = net.graph(net.op("mul", net.input("x", 1, 4), attrs={"1": "1.0"}))
    numbers = tuple(str((i + 1) ** -0.5) for i in range(9))
    assert op_label(Names(graph), graph.ops[0], [Span("mul", numbers)]) == ("×", "9 numbers", False)
    assert op_label(Names(graph), graph.ops[0], [Span("mul", ("1.0", "0.5"))]) == ("×", "1, 0.5", False)


def test_a_number_alone_is_not_a_name() -> None:
    found = labels(residual_block(), depth="all")
    assert "0" not in found
    assert found["Conv2d 1×1 /2 · 8→16"] == ""


def test_titles() -> None:
    assert titles(transformer(12), depth="all") == [
        "Encoder · 1.7 k params",
        "blocks · Block ×12 · 100 params each",
        "attn · Attention · 40 params",
        "mlp · Sequential · 60 params",
    ]


def test_parameters_are_those_of_each_only_if_no_box_around_stands_for_others() -> None:
    class Unit(nn.Module):
        def __init__(self, n: int) -> None:
            super().__init__()
            self.conv = nn.Conv1d(n, n, 1)

        def forward(self, x: Tensor) -> Tensor:
            summed: Tensor = x + self.conv(x).sin()
            return summed

    class Stage(nn.Module):
        def __init__(self, n: int) -> None:
            super().__init__()
            self.up = nn.ConvTranspose1d(2 * n, n, 2)
            self.units = nn.Sequential(Unit(n), Unit(n), Unit(n))

        def forward(self, x: Tensor) -> Tensor:
            made: Tensor = self.units(self.up(x).cos())
            return made

    graph = capture(nn.Sequential(Stage(8), Stage(4), Stage(2)), (torch.ones(1, 16, 4),))
    assert titles(graph)[1:] == ["Stage ×3 · 644 params in all", "units · Unit ×3"]


def test_a_part_of_a_list_says_which() -> None:
    assert titles(transformer(5), depth=2, expand=("blocks.0.attn",))[1:4:2] == [
        "blocks.0 · Block · 100 params",
        "blocks.1–4 · Block ×4 · 100 params each",
    ]


def test_a_module_called_again_shares_its_parameters() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    for _ in range(3):
        with net.call("cell", "Cell", params=20):
            x = net.op("tanh", net.op("matmul", x, x))
    graph = net.graph(x)
    assert labels(graph, depth=1)["cell"] == "Cell · called 3 times · shared · loop · tanh(x @ x) · 20 params"


def test_parameters_can_be_left_out() -> None:
    view = make_view(transformer(2))
    assert Labels(view, show=("shapes",)).box(view.boxes[1]) == "blocks · Block ×2"


def test_signs() -> None:
    assert of_op("add", 1, 2) == Label("+", is_sign=True)
    assert of_op("__iadd__", 1, 2) == Label("+", is_sign=True)
    assert of_op("mul_", 1, 2) == Label("×", is_sign=True)
    assert of_op("matmul", 1, 2) == Label("@", is_sign=True)
    assert of_op("div", 1, attrs={"1": "2.8284271247461903"}) == Label("÷ √8")
    assert of_op("div", 1, attrs={"1": "2.8285"}) == Label("÷ 2.829")
    assert of_op("sub", 1, attrs={"0": "1"}) == Label("1 −")
    assert of_op("sub", 1, attrs={"1": "-0.8776"}) == Label("+ 0.8776")
    assert of_op("add_", 1, attrs={"other": "-2"}) == Label("− 2")
    assert of_op("mul", 1, attrs={"1": "-2"}) == Label("× −2")
    assert of_op("sub", 1, attrs={"0": "-2"}) == Label("−2 −")
    assert of_op("mul", 1, attrs={"1": "SymInt"}) == Label("×", is_sign=True)


@pytest.mark.parametrize(
    ("order", "line"),
    [
        ("norm act conv", "BatchNorm · ReLU · Conv2d 3×3 · 4→4"),
        ("norm conv act", "BatchNorm · Conv2d 3×3 · 4→4 · ReLU"),
        ("conv norm act", "Conv2d 3×3 · 4→4 · BatchNorm · ReLU"),
    ],
)
def test_what_is_drawn_as_one_layer_is_said_in_its_order(order: str, line: str) -> None:
    kinds = {"norm": nn.BatchNorm2d(4), "act": nn.ReLU(), "conv": nn.Conv2d(4, 4, 3)}
    net = nn.Sequential(*(kinds[it] for it in order.split()), nn.AvgPool2d(2))
    assert line in labels(capture(net.eval(), (torch.ones(1, 4, 8, 8),)))


@pytest.mark.parametrize(
    ("forward", "said"),
    [(lambda x: 1 - x, "1 −"), (lambda x: 2 / x, "2 ÷"), (lambda x: x - 1, "− 1"), (lambda x: x / 2, "÷ 2")],
)
def test_the_number_stands_on_the_side_on_which_it_is_written(forward: Callable[[Tensor], Tensor], said: str) -> None:
    class Of(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return forward(x)

    graph = capture(Of(), (torch.ones(1, 4),))
    assert op_label(Names(graph), graph.ops[-1]) == Label(said)


def test_an_index_names_the_tensor_that_it_takes() -> None:
    class Picks(nn.Module):
        def forward(self, x: Tensor, chosen: Tensor) -> Tensor:
            y = x[:, chosen]
            order = y.sum(0).argsort()
            y[:, order] = 1.0
            y[0::2] = x[0::2, :2]
            return y

    graph = capture(Picks(), (torch.rand(4, 3), torch.tensor([2, 0])))
    said = [op_label(Names(graph), op).name for op in graph.ops if op.name in ("getitem", "setitem")]
    assert said == ["[:, chosen]", "write 1 at [:, order]", "[0::2, :2]", "write [0::2]"]


def test_entries_of_a_list_that_are_joined_are_said_as_one() -> None:
    class Mix(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scalars = nn.ParameterList(torch.ones(4, 1) for _ in range(3))
            self.one, self.two = nn.Parameter(torch.ones(4, 1)), nn.Parameter(torch.ones(4, 1))

        def forward(self, x: Tensor) -> Tensor:
            return torch.cat([torch.cat([x, *self.scalars], 1).tanh(), self.one, self.two], 1).tanh()

    said = labels(capture(Mix(), (torch.rand(4, 3),)))
    assert [name for name in said if name.startswith("cat")] == ["cat scalars.0–2 · tanh", "cat one two · tanh"]


def test_a_sequential_says_what_is_in_it() -> None:
    short = nn.Sequential(nn.Linear(3, 3), nn.BatchNorm1d(3), nn.ReLU(), nn.Dropout(), nn.Linear(3, 3))
    long = nn.Sequential(*(layer for n in (3, 4, 5) for layer in (nn.Linear(n, n + 1), nn.Tanh())))

    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.short, self.long = short, long

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.long(self.short(x).cumsum(0))
            return out

    said = labels(capture(Heads().eval(), (torch.rand(4, 3),)), depth=1)
    assert said["short"].startswith("Linear · BatchNorm · ReLU · Linear · ")
    assert said["long"].startswith("3 Linear 3→4→5→6, 3 Tanh · ")


def test_a_closed_layer_says_the_few_layers_in_it() -> None:
    """The seven layers of a closed list are named; three side by side have no widths in a row."""

    class Lone(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rnn, self.out = nn.LSTM(8, 4, batch_first=True), nn.Linear(4, 8)

        def forward(self, x: Tensor) -> Tensor:
            return self.out(self.rnn(x)[0]).relu()  # type: ignore[no-any-return]

    class Beside(nn.Module):
        def __init__(self, *, has_weight: bool) -> None:
            super().__init__()
            self.layers = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))
            self.weight = nn.Parameter(torch.rand(8, 8)) if has_weight else None

        def forward(self, x: Tensor) -> Tensor:
            first, second, third = (layer(x) for layer in self.layers)
            x = first * second.softmax(-1) + third
            return x if self.weight is None else nn.functional.linear(x, self.weight)

    net = nn.Sequential(Lone(), Beside(has_weight=False), Beside(has_weight=True))
    view = make_view(capture(net.eval(), (torch.rand(2, 5, 8),)), DrawingOptions(depth=1))
    said = [Labels(view).node(node).line.partition(" params")[0] for node in view.nodes if node.kind == "call"]
    assert said[0].startswith("LSTM 8→4, Linear 4→8, … · ")  # a function of torch runs in it, too
    assert said[1].startswith("3 Linear, … · ")
    assert "Linear" not in said[2]  # there would be four


def test_a_mask_that_is_none_is_no_other_setting() -> None:
    class Attends(nn.Module):
        def __init__(self, *, says: bool) -> None:
            super().__init__()
            self.project, self.says = nn.Linear(3, 3), says

        def forward(self, x: Tensor) -> Tensor:
            given: dict[str, Any] = {"attn_mask": None} if self.says else {}
            q = self.project(x)
            return x + nn.functional.scaled_dot_product_attention(q, q, q, is_causal=False, **given)

    layers = [layer for i in range(3) for layer in (Attends(says=i > 1), nn.Softmax(-1 if i else -2))]
    view = make_view(capture(nn.Sequential(*layers), (torch.rand(1, 2, 4, 3),)))
    (inset,) = view.insets
    said = [Labels(inset.view).node(node) for node in inset.view.nodes]
    assert Label("attention", "scaled dot-product") in said


def test_ops() -> None:
    assert of_op("relu_", 1) == Label("relu")
    assert of_op("getitem", 1, attrs={"1": "(:, 0)"}) == Label("[:, 0]")
    assert of_op("getitem", 1, attrs={"1": "-1"}) == Label("[-1]")
    assert of_op("getitem", 1) == Label("index")
    assert of_op("pow", 1, attrs={"1": "2"}) == Label("pow 2")
    assert of_op("scaled_dot_product_attention", 1, 2, 3) == Label("attention", "scaled dot-product")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"scale": 0.5}, "scaled dot-product"),  # of four, as without it
        ({"scale": 1.0}, "dot-product"),
        ({"scale": 0.1, "is_causal": True}, "dot-product × 0.1 · causal"),
        ({"is_causal": True}, "scaled dot-product · causal"),
    ],
)
def test_attention_says_how_it_is_scaled(given: dict[str, Any], said: str) -> None:
    class Attends(nn.Module):
        def forward(self, q: Tensor) -> Tensor:
            return nn.functional.scaled_dot_product_attention(q, q, q, **given)

    view = make_view(capture(Attends(), (torch.rand(1, 2, 3, 4),)))
    assert Label("attention", said) in map(Labels(view).node, view.nodes)


def test_layers_of_one_class_in_a_list_are_all_named() -> None:
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv1d(4, 4, 1)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.conv(x).sin()
            return out

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.refine = nn.Sequential(Block(), Block(), Block())

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.refine(x)
            return out

    view = make_view(capture(Net(), (torch.rand(1, 4, 5),)), DrawingOptions(depth=1))
    assert any("Block · Block · Block" in Labels(view).node(node).line for node in view.nodes)


def test_attention_says_its_heads() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    with net.call("attn", "MultiheadAttention"):
        x = net.op("multi_head_attention_forward", x, attrs={"3": "64", "4": "8"})
    assert labels(net.graph(x))["attn"] == "MultiheadAttention 8 heads"


def kinds(graph: Graph) -> dict[str, str]:
    view = make_view(graph, DrawingOptions(fold=False), contract=False)
    writer = Labels(view)

    def key(node: Node) -> str:
        return writer.node(node).name.partition(" · ")[0]

    return {key(node): writer.kind(node) for node in view.nodes}


def test_kinds() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    for cls in ("Conv2d", "Embedding", "BatchNorm2d", "GELU", "MaxPool2d", "MultiheadAttention", "Flatten"):
        x = net.layer(f"the_{cls}", cls, x)
    with net.call("own_norm", "Anything"):
        x = net.op("mul", x, net.op("rsqrt", net.op("mean", x)))
    with net.call("own_act", "Anything"):
        x = net.op("mul", x, net.op("sigmoid", x))
    with net.call("own_attention", "Anything"):
        x = net.layer("own_attention.q", "Linear", x)
        x = net.op("scaled_dot_product_attention", x)
    x = net.op("softmax", net.op("roll", x))
    with net.call("block", "Anything"):
        x = net.layer("block.a", "Linear", x)
        x = net.layer("block.b", "GELU", x)
    found = kinds(net.graph(x))
    assert [found[f"the_{cls}"] for cls in ("Conv2d", "Embedding", "BatchNorm2d", "GELU")] == [
        "conv",
        "linear",
        "norm",
        "act",
    ]
    assert [found[f"the_{cls}"] for cls in ("MaxPool2d", "MultiheadAttention", "Flatten")] == [
        "pool",
        "attention",
        "op",
    ]
    assert (found["own_norm"], found["own_act"]) == ("norm", "act")
    assert (found["softmax"], found["roll"], found["x"]) == ("act", "op", "io")


@pytest.mark.parametrize(("has_weight", "kind"), [(True, "linear"), (False, "op")])
def test_an_einsum_is_a_layer_only_with_a_weight(has_weight: bool, kind: str) -> None:
    net = Net()
    other = net.weight("weight", 4, 4) if has_weight else net.input("y", 4, 4)
    x = net.op("einsum", net.input("x", 1, 4), net.op("view", other), attrs={"0": "'bi,ij->bj'"})
    assert kinds(net.graph(x))["einsum"] == kind


def test_kinds_of_closed_blocks() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    with net.call("own_attention", "Anything"):
        x = net.layer("own_attention.q", "Linear", x)
        x = net.op("scaled_dot_product_attention", x)
    with net.call("block", "Anything"):
        x = net.layer("block.a", "Linear", x)
        x = net.layer("block.b", "GELU", x)
    view = make_view(net.graph(x), DrawingOptions(depth=1))
    assert [Labels(view).kind(node) for node in view.nodes] == ["io", "attention", "block", "io"]


def test_a_long_title_of_layers_that_take_turns_is_left_out() -> None:
    net = Net(params=9000)
    x = net.input("x", 1, 4, 8)
    for i in range(8):
        cls = ("NormalizedAttention", "GatedFeedForward")[i % 2]
        with net.call(f"layers.{i}", f"{cls}OfTheModel", params=1000):
            y = net.layer(f"layers.{i}.one", "Linear", x, params=500)
            x = net.op("add", x, net.layer(f"layers.{i}.two", "Linear", net.op("tanh", y), params=500))
    assert titles(net.graph(x))[1:2] == ["layers · ×4"]


def test_a_long_title_of_layers_of_a_list_has_the_name_of_the_list() -> None:
    class Head(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            rows = [(nn.Conv1d(8, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.Tanh()) for _ in range(4)]
            self.layers, self.score = nn.Sequential(*(layer for row in rows for layer in row)), nn.Conv1d(8, 6, 1)

        def forward(self, levels: list[Tensor]) -> Tensor:
            return torch.cat([self.score(self.layers(level)) for level in levels], -1).sigmoid()

    class Detector(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.head = Head()

        def forward(self, levels: list[Tensor]) -> Any:
            return self.head([level.sin() for level in levels]).softmax(-1)

    graph = capture(Detector(), ([torch.zeros(2, 8, 2**i) for i in range(6)],))
    assert "layers, score · called 6 times · shared" in titles(graph, expand=("head",))


def test_the_name_of_a_function_is_not_cut_for_a_weight_that_it_reads() -> None:
    function = Node(1, "function", 0, ops=(0,), name="attention_over_shifted_windows")
    for path, expected in (("bias", " bias"), ("a_table_of_relative_positions", "")):
        weight = Node(1, "param", 0, name=path)
        view = make_view(residual_block())
        said = Labels(view).node(replace(function, parts=(function, weight)))
        assert said.name == f"{function.name}(){expected}"


@pytest.mark.parametrize("options", [DrawingOptions(), DrawingOptions(depth=1)], ids=["open", "closed"])
def test_a_long_class_never_hides_how_often_it_is_drawn(options: DrawingOptions) -> None:
    net = Net(params=4000)
    x = net.input("x", 1, 8)
    for i in range(4):
        with net.call(f"blocks.{i}", "AClassWithAName" * 10, params=1000):
            x = net.op("add", x, net.layer(f"blocks.{i}.fc", "Linear", net.op("tanh", x), params=1000))
    view = make_view(net.graph(x), options)
    labels = Labels(view)
    texts = [*map(labels.box, view.boxes), *(labels.node(node).line for node in view.nodes)]
    assert [text for text in texts if "… ×4 · 1 k params each" in text]


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("controlnet_cond_embedding.blocks.0.conv", "controlnet_cond_embedding.blocks.0.conv"),
        ("a_very_long_name_of_a_part.another_long_name.conv", "…another_long_name.conv"),
    ],
)
def test_a_path_is_whole_as_far_as_there_is_room(path: str, name: str) -> None:
    net = Net()
    x = net.layer("enter", "Linear", net.input("x", 1, 4), params=8)
    x = net.layer(path, "Conv1d", net.op("cumsum", x), params=8)
    assert name in labels(net.graph(net.op("cumprod", x)))


def test_a_layer_that_two_share_has_its_name_in_each() -> None:
    class Head(nn.Module):
        def __init__(self, act: nn.Module) -> None:
            super().__init__()
            self.fc, self.act = nn.Linear(4, 4), act

        def forward(self, x: Tensor) -> Any:
            return self.act(self.fc(x)).cumsum(-1)

    class Shared(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            act = nn.PReLU()
            self.a, self.b = Head(act), Head(act)

        def forward(self, x: Tensor) -> Any:
            return self.a(x) + self.b(x.exp())

    view = make_view(capture(Shared(), (torch.ones(2, 4),)), DrawingOptions(depth="all", fold=False))
    words = [Labels(view).node(node)[:2] for node in view.nodes if node.kind == "call"]
    assert not any("a.act" in word for both in words for word in both), words


class Twice(nn.Module):
    """A stage of two equal layers behind another one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.blocks = nn.Linear(8, 8), nn.ModuleList(nn.TransformerEncoderLayer(8, 2) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x).tanh() * x
        for block in self.blocks:
            x = block(x)
        return x


def test_what_a_node_counts_in_all_turns_is_said_of_all() -> None:
    """`×2 · 2 without pool` in a box of four turns was read as both of each turn."""
    view = make_view(
        capture(nn.Sequential(*(Twice() for _ in range(4))), (torch.ones(2, 8, 8),)),
        DrawingOptions(collapse=("*.blocks.*",)),
    )
    at, node = next((i, node) for i, node in enumerate(view.nodes) if node.repeat == 2)
    changed = replace(node, differs=("2 without pool",))
    view = replace(view, nodes=(*view.nodes[:at], changed, *view.nodes[at + 1 :]))
    assert "×2 · 2 of 8 without pool" in Labels(view).node(changed).line
