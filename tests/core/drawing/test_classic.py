"""`recorder: classic` with `theme: classic`: the picture of `make_dot`, from the Graph of an ordinary recording."""

from __future__ import annotations

import functools
import json
import re
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from torch import Tensor, nn

from tests.core.drawing.engines import Finished, finish
from tests.core.graph.drawn import graphs
from tests.core.recording.nets import Net
from tests.parity.classic_nets import NETS
from torchrecorder import Graph, Recorder, capture, make_dot, record
from torchrecorder.drawing.classic import to_classic_dot
from torchrecorder.engine import find_engine
from torchrecorder.errors import FormatError, ForwardError
from torchrecorder.graph import from_json, to_json
from torchrecorder.graph.codec import problems
from torchrecorder.view.classic import autograd_graph, classic_nodes
from torchrecorder.write.pdf import to_pdf


def facts(source: str) -> Any:
    """Labels and shapes of the nodes, edges between them, and for each box its title and what it holds."""
    nodes: dict[str, tuple[str, str]] = {}
    edges, boxes = set(), []
    stack: list[tuple[str, list[tuple[str, str]]]] = []
    for line in source.splitlines():
        if found := re.match(r"\s*(n\d+) \[(.*)\]", line):
            label = re.search(r'label=("(?:[^"])*"|\S+)', found[2])
            assert label is not None
            shape = "box" if "shape=box" in found[2] else "ellipse"
            nodes[found[1]] = (label[1].strip('"').replace("\\n", " "), shape)
            if stack:
                stack[-1][1].append(nodes[found[1]])
        elif found := re.match(r"\s*(n\d+) -> (n\d+)", line):
            edges.add((found[1], found[2]))
        elif "subgraph" in line:
            stack.append(("", []))
        elif stack and (found := re.search(r'graph \[.*label=("(?:[^"])*"|\S+)', line)):
            stack[-1] = (found[1].strip('"').replace("\\n", " "), stack[-1][1])
        elif line.strip() == "}" and stack:
            boxes.append(stack.pop())
    return nodes, edges, boxes


def joined(source: str) -> str:
    """Labels of several lines on one."""
    return re.sub(r'"[^"]*"', lambda found: found[0].replace("\n", " "), source)


class Residual(nn.Module):
    """Writes in place, like ResNet; its shortcut gives back what it is given."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(4, 4, 3, padding=1, bias=False), nn.BatchNorm2d(4)
        self.relu, self.shortcut = nn.ReLU(inplace=True), nn.Identity()

    def forward(self, x: Tensor) -> Any:
        kept = self.shortcut(x)
        y = self.norm(self.conv(self.relu(self.norm(self.conv(x)))))
        y += kept
        return self.relu(y)


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.layers = nn.ModuleList([Residual(), Residual()])
        self.pool, self.head = nn.AdaptiveAvgPool2d(1), nn.Sequential(nn.Dropout(0.5), nn.Linear(4, 2))

    def forward(self, x: Tensor) -> Any:
        x = self.stem(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(torch.flatten(self.pool(x), 1))


class Tagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.lstm = nn.Embedding(10, 4), nn.LSTM(4, 5, 2, batch_first=True)
        self.head = nn.Linear(5, 2)

    def forward(self, ids: Tensor) -> Any:
        out, (hidden, _) = self.lstm(self.embedding(ids))
        return self.head(out[:, -1]), hidden


class Clamp(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        return x.clamp(min=0) * 2

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad


def clamp(x: Tensor) -> Any:
    return Clamp.apply(x)  # type: ignore[no-untyped-call]


def calls_no_layer(x: Tensor) -> Tensor:
    torch.empty(3)  # read by nothing
    x = x[:, 1:].contiguous()
    x[:, 0] = 1
    return x.T


def encoder() -> nn.Module:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()


def shared() -> nn.Module:
    layer = nn.Linear(3, 3)
    return nn.Sequential(nn.Sequential(layer, nn.ReLU()), nn.Sequential(nn.Tanh(), layer))


def net(forward: Callable[..., Any], **parts: nn.Module) -> Callable[[], nn.Module]:
    return lambda: Net(forward, **parts)


X = torch.ones(2, 3)
LINEARS: Any = {"a": nn.Linear(3, 3), "b": nn.Linear(3, 3)}
MORE: dict[str, tuple[Callable[[], nn.Module], Any]] = {
    "resnet": (ResNet, torch.zeros(2, 3, 12, 12)),
    "resnet in eval mode": (lambda: ResNet().eval(), torch.zeros(2, 3, 12, 12)),
    "tagger": (Tagger, torch.zeros(2, 6, dtype=torch.long)),
    "encoder": (encoder, torch.zeros(2, 5, 8)),
    "attention": (lambda: nn.MultiheadAttention(8, 2).eval(), [torch.zeros(5, 1, 8) for _ in range(3)]),
    "function": (net(lambda n, x: n.b(clamp(n.a(x)) + 1), **LINEARS), X),
    "function at the end": (net(lambda n, x: clamp(n.a(x)), **LINEARS), X),
    "indices": (net(lambda n, x: n.b(n.a(x).argmax(-1)), a=nn.Linear(3, 3), b=nn.Embedding(3, 2)), X),
    "numpy": (net(lambda n, x: n.b(torch.from_numpy(n.a(x).numpy())), **LINEARS), X),
    "shared": (shared, X),
    "one layer never called": (net(lambda n, x: n.a(x), **LINEARS), X),
    "no layer": (net(lambda n, x: calls_no_layer(x)), X),
    "frozen": (lambda: nn.Sequential(nn.Linear(3, 3).requires_grad_(False), nn.ReLU(), nn.Linear(3, 2)), X),
    "gives its argument": (net(lambda n, x: n.a(x), a=nn.Identity()), X),
    "writes to its argument": (net(lambda n, x: n.a(x.add_(1)) + x, **LINEARS), X),
    "a shortcut beside a layer": (net(lambda n, x: (y := (x * 2).relu()) + n.a(y) + n.b(y), **LINEARS), X),
    "a chain": (net(lambda n, x: functools.reduce(lambda y, _: y + 1, range(2000), x)), X),
}


@functools.cache
def both(name: str) -> tuple[Recorder, Graph]:
    """What the recorder of 1.0.3's API keeps of a net, and the Graph of an ordinary recording."""
    make, data = MORE[name] if name in MORE else NETS[name]
    shapes = None
    if name in NETS:
        shapes, data = data, [torch.zeros(shape) for shape in (data if isinstance(data, list) else [data])]
    model = make()
    args = tuple(data) if isinstance(data, list) else (data,)
    rec = record(model, type(model).__name__, shapes, None if shapes else data)
    graph = capture(model, args, recorder="classic", mode="train" if model.training else "eval")
    assert from_json(to_json(graph)) == graph
    shown = autograd_graph(graph)
    assert not problems(shown)
    return rec, shown


@pytest.mark.parametrize("depth", [0, 1, 2, 256])
@pytest.mark.parametrize("name", [*NETS, *MORE])
def test_it_is_the_picture_of_make_dot(name: str, depth: int) -> None:
    rec, graph = both(name)
    assert facts(joined(to_classic_dot(graph, depth=depth).source)) == facts(joined(make_dot(rec, depth).source))


def named_edges(model: nn.Module, *args: Any, **options: Any) -> set[tuple[str, str]]:
    found = classic_nodes(autograd_graph(capture(model, args, recorder="classic", **options)))
    return {(found.nodes[tail].name, found.nodes[head].name) for tail, head in found.edges}


def picture_of(graph: Graph, depth: int) -> Finished:
    (layout,) = find_engine("auto").layout([to_classic_dot(autograd_graph(graph), depth=depth).source])
    assert isinstance(layout, str)
    return finish(layout, uid="x", title="t", desc="d", theme="classic")


def drawn(graph: Graph, depth: int) -> str:
    return picture_of(graph, depth).svg


def test_words_are_meant_literally() -> None:
    odd = type('<b> & "x" \\n', (nn.Sequential,), {})
    svg = drawn(capture(odd(nn.ReLU()), (X,), recorder="classic"), 0)
    assert '>&lt;b&gt; &amp; "x" \\n</text>' in svg
    assert ">[2, 3]</text>" in svg


def test_tensors_are_ellipses_also_in_a_pdf() -> None:
    made = picture_of(capture(nn.Linear(30, 3), (torch.zeros(100000, 30),), recorder="classic"), 1)
    svg = made.svg
    found = re.findall(r'width="([\d.]+)" height="([\d.]+)" rx="([\d.]+)" ry="([\d.]+)" fill="(#\w+)"', svg)
    assert {paint for *_, paint in found} == {"#add8e6", "#556b2f"}
    for wide, high, rx, ry, _ in found:
        assert abs(float(wide) - 2 * float(rx)) <= 0.2
        assert abs(float(high) - 2 * float(ry)) <= 0.2
    assert to_pdf(made.layout).startswith(b"%PDF")


def test_the_layer_that_raised_is_marked() -> None:
    broken = nn.Sequential(nn.ReLU(), nn.Linear(4, 4))
    with pytest.raises(ForwardError) as caught:
        capture(broken, (torch.zeros(1, 3),), recorder="classic")
    assert caught.value.graph is not None
    source = to_classic_dot(autograd_graph(caught.value.graph), depth=1).source
    assert 'class="block error"' in source
    assert 'class="box error"' in source
    assert source.count("error") == 2


def test_what_ran_in_the_layer_that_raised_is_drawn() -> None:
    def forward(n: Any, x: Tensor) -> Any:
        x = (n.a(x) * 2).relu()
        raise ValueError("enough")

    with pytest.raises(ForwardError) as caught:
        capture(Net(forward, a=nn.Linear(3, 3)), (X,), recorder="classic")
    assert caught.value.graph is not None
    source = to_classic_dot(autograd_graph(caught.value.graph), depth=1).source
    assert "MulBackward0" in source
    assert "ReluBackward0" in source


# Where the picture is another than that of `make_dot`; PORTS.toml has the reasons.


def test_operations_that_autograd_does_not_follow_keep_their_names_until_a_weight_joins() -> None:
    edges = named_edges(Net(lambda n, x: n.b(n.r(n.a(x).detach())), r=nn.ReLU(), **LINEARS), X)
    assert {("AddmmBackward0", "Tensor-2"), ("Tensor-2", "detach"), ("detach", "Tensor-3")} <= edges
    assert {("Tensor-3", "relu"), ("relu", "Tensor-4"), ("Tensor-4", "AddmmBackward0-2")} <= edges


def test_without_gradients_all_keep_their_names() -> None:
    with torch.no_grad():
        assert named_edges(nn.Linear(3, 3), X) == {("weight", "linear"), ("bias", "linear"), ("Input", "linear")} | {
            ("linear", "Output")
        }


def test_one_operation_gives_all_its_results() -> None:
    edges = named_edges(Net(lambda n, x: x.max(-1)[1] + 1), X)
    assert edges == {("Input", "MaxBackward0"), ("MaxBackward0", "add"), ("add", "Output")}


class Odd(OrderedDict[str, Tensor]):
    """Cannot be made again from what is in it, like the outputs of diffusers."""

    def __init__(self, sample: Tensor) -> None:
        super().__init__(sample=sample)


@dataclass
class Strict:
    sample: Tensor

    def __post_init__(self) -> None:
        if type(self.sample) is not Tensor:
            raise TypeError("a tensor is expected")


@pytest.mark.parametrize("kind", [Odd, Strict])
def test_containers_that_cannot_be_made_again(kind: Any) -> None:
    edges = named_edges(Net(lambda n, x: kind(n.a(x) * 2), **LINEARS), X)
    assert {("AddmmBackward0", "Tensor-2"), ("Tensor-2", "MulBackward0"), ("MulBackward0", "Output-1")} <= edges


@pytest.mark.filterwarnings("ignore:`torch.jit.script")  # torch.func.jvp uses it
def test_transforms_of_torch_func() -> None:
    edges = named_edges(Net(lambda n, x: torch.vmap(n.a)(x), **LINEARS), X)
    assert {("Input", "UnsqueezeBackward0"), ("weight", "TBackward0"), ("AddBackward0", "Output")} <= edges
    edges = named_edges(Net(lambda n, x: torch.func.jvp(n.a, (x,), (x,)), **LINEARS), X)
    assert ("Input", "AliasBackward0") in edges
    assert {("AddmmBackward0", "Output-2"), ("Output-2", "AliasBackward0-2"), ("AliasBackward0-2", "Output-1")} <= edges


def test_a_graph_of_the_former_recorder_is_still_drawn() -> None:
    """It has the operations of autograd as its ops, and a table of classic nodes that is not read any more."""
    objects = Path(__file__).parents[2] / "data" / "small_nets" / "diagrams" / "obj"
    (text,) = [file.read_bytes() for file in objects.glob("*/*") if b'"recorder":"classic"' in file.read_bytes()]
    nodes, edges, boxes = facts(to_classic_dot(autograd_graph(from_json(text)), depth=2).source)
    assert [title for title, _ in boxes] == ["first (Conv2d)", "norm (BatchNorm2d)", "second (Conv2d)", "Block"]
    named = {(nodes[tail][0], nodes[head][0]) for tail, head in edges}
    assert {("Input [2, 4, 8, 8]", "AddBackward0"), ("AddBackward0", "ReluBackward0-2")} <= named
    assert ("ReluBackward0-2", "Output-1 [2, 4, 8, 8]") in named
    assert len(nodes) == 18


@given(graphs())
def test_any_graph_is_drawn(graph: Graph) -> None:
    shown = autograd_graph(graph)
    assert not problems(shown)
    for depth in (0, 1, 256):
        to_classic_dot(shown, depth=depth)


@pytest.mark.parametrize("rows", [[["a", [99], []]], [["a", [-1], []]], [["a", [0], [0]]], [[3, [0], []]], [["a"]], 3])
def test_damaged_nodes_are_found(rows: Any) -> None:
    data = json.loads(to_json(capture(nn.ReLU(), (X,), recorder="classic")))
    assert data["ops"][0].pop() == [["ReluBackward0", [0], [1]]]
    data["ops"][0].append(rows)
    with pytest.raises(FormatError):
        from_json(json.dumps(data))
