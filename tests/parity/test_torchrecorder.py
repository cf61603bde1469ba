"""torchrecorder 1.0.3 as its document promises it: names, signatures, examples, and what its examples give."""

from __future__ import annotations

import inspect
import re
import sys
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import graphviz
import pytest
import torch

import torchrecorder
from tests.parity.classic_nets import ConvSample, SampleNet
from torchrecorder import helpers, nodes, recorder, renderer
from torchrecorder.renderer import GraphvizStyler
from torchrecorder.renderer.base import BaseRenderer

EMPTY = inspect.Parameter.empty
NODE = [("name", ""), ("fn", None), ("depth", -1), ("parent", None)]
NODE_IN_SCOPE = [("net", EMPTY), ("depth", 0), ("parent", None), ("name", None)]
HOOK = [("module", EMPTY), ("inputs", EMPTY), ("rec", EMPTY), ("node", EMPTY)]
RENDERER = [("rec", EMPTY), ("render_depth", 256), ("styler_cls", None), ("styler_args", EMPTY)]
SIGNATURES: list[tuple[Any, list[tuple[str, Any]]]] = [
    (
        torchrecorder.render_network,
        [
            *[("net", EMPTY), ("name", EMPTY), ("input_shapes", EMPTY), ("directory", EMPTY), ("filename", None)],
            *[("fmt", "svg"), ("input_data", None), ("render_depth", 1), ("styler_args", EMPTY)],
        ],
    ),
    (torchrecorder.record, [("net", EMPTY), ("name", EMPTY), ("input_shapes", EMPTY), ("input_data", None)]),
    (torchrecorder.make_dot, RENDERER),
    (torchrecorder.GraphvizStyler, [("styler_args", EMPTY)]),
    (torchrecorder.GraphvizRenderer, RENDERER),
    (torchrecorder.BaseRenderer, [("rec", EMPTY), ("render_depth", 256)]),
    *[(getattr(nodes, f"{kind}Node"), NODE) for kind in ("Base", "Tensor", "Op", "Layer", "Param")],
    (torchrecorder.Recorder, []),
    (recorder.Recorder.add_node, [("self", EMPTY), *NODE_IN_SCOPE]),
    (recorder.Recorder.add_dummy, [("self", EMPTY), ("dummy", EMPTY), ("fn", EMPTY)]),
    (recorder.Recorder.add_edge, [("self", EMPTY), ("_from", EMPTY), ("_to", EMPTY)]),
    (recorder.Recorder.register_hooks, [("self", EMPTY), *NODE_IN_SCOPE]),
    (recorder.Recorder.remove_hooks, [("self", EMPTY)]),
    (recorder.op_acc, [("gf", EMPTY), ("rec", EMPTY), ("node", EMPTY)]),
    (recorder.tensor_acc, [("tensor", EMPTY), ("rec", EMPTY), ("node", EMPTY)]),
    (recorder.param_acc, [("param", EMPTY), ("rec", EMPTY), ("node", EMPTY)]),
    (recorder.leaf_dummy, [("tensor", EMPTY), ("rec", EMPTY)]),
    (recorder.prehook, HOOK),
    (recorder.posthook, [*HOOK[:2], ("outputs", EMPTY), *HOOK[2:]]),
    (GraphvizStyler.style_node, [("self", EMPTY), ("node", EMPTY)]),
    (GraphvizStyler.style_edge, [("self", EMPTY), ("fnode", EMPTY), ("tnode", EMPTY)]),
    (renderer.GraphvizRenderer.render_node, [("self", EMPTY), ("g", EMPTY), ("node", EMPTY)]),
    (renderer.GraphvizRenderer.render_recursive_node, [("self", EMPTY), ("g", EMPTY), ("node", EMPTY)]),
    (renderer.GraphvizRenderer.render_edge, [("self", EMPTY), ("g", EMPTY), ("fnode", EMPTY), ("tnode", EMPTY)]),
]


@pytest.mark.parametrize(("thing", "expected"), SIGNATURES, ids=lambda thing: getattr(thing, "__qualname__", ""))
def test_signature_and_description(thing: Any, expected: list[tuple[str, Any]]) -> None:
    found = [(p.name, p.default) for p in inspect.signature(thing).parameters.values()]
    assert found == expected
    assert inspect.getdoc(thing)


def test_names_have_their_homes() -> None:
    for name in ("render_network", "record", "make_dot"):
        assert getattr(torchrecorder, name) is getattr(helpers, name)
    assert torchrecorder.Recorder is recorder.Recorder
    assert torchrecorder.GraphvizStyler is renderer.GraphvizStyler is renderer.gv.GraphvizStyler
    assert torchrecorder.GraphvizRenderer is renderer.GraphvizRenderer
    assert renderer.base.BaseRenderer in renderer.GraphvizRenderer.__mro__
    assert nodes.ParamNode.__mro__[1:3] == (nodes.TensorNode, nodes.BaseNode)
    assert all(issubclass(kind, nodes.BaseNode) for kind in (nodes.OpNode, nodes.LayerNode, nodes.TensorNode))
    layer = nodes.LayerNode()
    assert (layer.pre, layer.post, layer.subnets) == (None, None, set())


def main(folder: Path) -> None:
    """The first example of the document, as it stands but for the folder."""
    i = int(sys.argv[1])
    net = SampleNet()
    torchrecorder.render_network(
        net,
        name="Sample Net",
        input_shapes=(1, 3),
        directory=str(folder),
        fmt="svg",
        render_depth=i,
    )


def main2(folder: Path) -> None:
    i = int(sys.argv[1])
    net = SampleNet()
    # equivalent to calling render_network
    rec = torchrecorder.record(net, name="Sample Net", input_shapes=(1, 3))
    g = torchrecorder.make_dot(rec, render_depth=i)
    # g is graphviz.Digraph object
    g.format = "svg"
    g.attr(label="{} at depth={}".format("Sample Net", i))
    g.render("{}-{}".format("Sample Net", i), directory=str(folder), cleanup=True)


@pytest.mark.parametrize("example", [main, main2])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_examples_write_the_picture(example: Any, depth: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["example.py", str(depth)])
    example(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [f"Sample Net-{depth}.svg"]
    assert "at depth" in (tmp_path / f"Sample Net-{depth}.svg").read_text(encoding="utf-8")


def test_example_of_a_font() -> None:
    net = SampleNet()
    rec = torchrecorder.record(net, name="Sample Net", input_shapes=(1, 3))
    g = torchrecorder.make_dot(rec, render_depth=1, fontname="Lato")
    g.format = "svg"
    g.attr(label="Font Change via styler_args")
    assert isinstance(g, graphviz.Digraph)
    assert "graph [compound=true fontname=Lato fontsize=24 ranksep=0.5]" in g.source
    assert "node [fontname=Lato fontsize=20]" in g.source
    assert g.source.count("fontname=Lato") == 2 + 1 + 11  # the graph, all nodes, the cluster, each node


class MyStyler(GraphvizStyler):
    def style_node(self, node: Any) -> Any:
        default = super().style_node(node)
        if isinstance(node.fn, torch.nn.Conv2d):
            params: dict[str, Any] = {}
            params["kernel_size"] = node.fn.kernel_size
            params["padding"] = node.fn.padding
            params["stride"] = node.fn.stride
            default["label"] = (
                node.name + "\n(" + ",\n".join("{}={}".format(k, v) for k, v in params.items()) + ")"  # noqa: UP032
            )
            default["penwidth"] = "2.4"
        return default

    def style_edge(self, fnode: Any, tnode: Any) -> Any:
        if isinstance(fnode.fn, torch.nn.Conv2d) and isinstance(tnode.fn, torch.Tensor):
            return {"penwidth": "4.8", "color": "#ee8800"}
        if isinstance(tnode.fn, torch.nn.ReLU) and isinstance(fnode.fn, torch.Tensor):
            return {"penwidth": "4.8", "color": "#00228f"}
        return super().style_edge(fnode, tnode)


def test_example_of_a_styler() -> None:
    net = ConvSample()
    rec = torchrecorder.record(net, name="ConvSample", input_shapes=(1, 1, 10, 10))
    g = torchrecorder.make_dot(rec, render_depth=1, styler_cls=MyStyler, fontname="Lato")
    assert g.source.count("kernel_size=") == 2
    assert g.source.count('color="#ee8800"') == 2
    assert g.source.count('color="#00228f"') == 1


@pytest.mark.parametrize(
    ("make", "shape", "kinds", "edges", "pictures"),
    [
        (
            SampleNet,
            (1, 3),
            {"LayerNode": 5, "TensorNode": 6, "ParamNode": 6, "OpNode": 8},
            20,
            [(3, 2, 0), (11, 11, 1), (20, 20, 5)],
        ),
        (
            ConvSample,
            (1, 1, 10, 10),
            {"LayerNode": 4, "TensorNode": 5, "ParamNode": 4, "OpNode": 4},
            13,
            [(3, 2, 0), (9, 9, 1), (13, 13, 4)],
        ),
    ],
    ids=["sample", "conv"],
)
def test_what_the_examples_record_and_draw(
    make: Any, shape: Any, kinds: dict[str, int], edges: int, pictures: list[tuple[int, int, int]]
) -> None:
    rec = torchrecorder.record(make(), "Net", shape)
    real = dict.fromkeys(node for node in rec.nodes.values() if node is not rec.nodes[None])
    assert Counter(type(node).__name__ for node in real) == kinds
    assert len({(rec.nodes[tail], rec.nodes[head]) for tail, head in rec.edges}) == edges
    for depth, counts in enumerate(pictures):
        source = torchrecorder.make_dot(rec, depth).source
        assert counts == (
            len(re.findall(r"^\s*n\d+ \[", source, re.MULTILINE)),
            source.count(" -> "),
            source.count("subgraph cluster_"),
        )


def test_names_depths_and_scopes() -> None:
    net = SampleNet()
    rec = torchrecorder.record(net, "Sample Net", (1, 3))
    real = dict.fromkeys(rec.nodes.values())
    found = [(node.name, node.depth, type(node.parent).__name__) for node in real]
    inner = [("Tensor-2", 1, "SampleNet"), ("AddmmBackward0", 2, "Linear"), ("TBackward0", 2, "Linear")]
    assert found[:9] == [
        ("ContextDummy", -1, "NoneType"),
        ("Sample Net", 0, "NoneType"),
        ("linear_1\n(Linear)", 1, "SampleNet"),
        ("linear_2\n(Linear)", 1, "SampleNet"),
        ("linear_3\n(Linear)", 1, "SampleNet"),
        ("my_special_relu\n(ReLU)", 1, "SampleNet"),
        ("Input", 0, "NoneType"),
        ("weight", 2, "Linear"),
        ("bias", 2, "Linear"),
    ]
    assert found[9:12] == inner
    assert found[-2:] == [("Output", 0, "NoneType"), ("ReluBackward0", 2, "ReLU")]
    assert rec.fn_types["Tensor"] == rec.fn_types["Parameter"] == 6
    assert rec.fn_set == set(rec.nodes)
    assert isinstance(rec.nodes, OrderedDict)
    assert len(rec.nodes[net].subnets) == 9  # type: ignore[attr-defined]
    assert rec.nodes[net.linear_1].fn is net.linear_1
    assert rec.nodes[net.linear_1.weight].parent is net.linear_1


class Lines(BaseRenderer):
    """A renderer for another format, as the document describes one."""

    def render_node(self, dest: Any, node: Any) -> None:
        dest.append(node.name)

    def render_edge(self, dest: Any, fnode: Any, tnode: Any) -> None:
        dest.append(f"{fnode.name} -> {tnode.name}")


def test_another_renderer_gets_each_node_and_then_its_edges() -> None:
    rec = torchrecorder.record(SampleNet(), "Net", (1, 3))
    lines = Lines(rec, 0)([])
    assert lines == ["Net", "Net -> Output", "Input", "Input -> Net", "Output"]
    assert [node.name for node in Lines(rec, 0).processed] == ["Net", "Input", "Output"]
    for call in ("render_node", "render_recursive_node"):
        with pytest.raises(NotImplementedError, match="Base Class"):
            getattr(BaseRenderer(rec), call)([], None)


def pairs(rec: recorder.Recorder) -> set[tuple[str, str]]:
    return {(rec.nodes[tail].name, rec.nodes[head].name) for tail, head in rec.edges}


def test_attributes_of_the_graph_can_be_read() -> None:
    rec = torchrecorder.record(torch.nn.ReLU(), "Net", (1,))
    graph = torchrecorder.make_dot(rec, fontname="Lato")
    assert graph.graph_attr == {"compound": "true", "ranksep": "0.5", "fontsize": "24", "fontname": "Lato"}
    assert graph.node_attr == {"fontsize": "20", "fontname": "Lato"}
    assert torchrecorder.make_dot(rec).node_attr == {"fontsize": "20"}


def test_operations_between_two_networks_stand_around_both() -> None:
    first, second = torch.nn.ReLU(), torch.nn.Tanh()
    rec, x = recorder.Recorder(), torch.ones(2, requires_grad=True)
    rec.add_node(x, name="Input")
    for net in (first, second):
        rec.register_hooks(net)
    second(first(x) * 2)
    rec.remove_hooks()
    (product,) = [node for node in rec.nodes.values() if node.name == "MulBackward0"]
    assert (product.depth, product.parent) == (0, None)
    assert {("Tensor-2", "MulBackward0"), ("MulBackward0", "Tensor-3")} < pairs(rec)


def test_prehook_names_a_parameter_that_is_there() -> None:
    net, rec = torch.nn.Linear(2, 2), recorder.Recorder()
    rec.add_node(net)
    layer: Any = rec.nodes[net]
    recorder.param_acc(net.weight, rec, layer)
    assert rec.nodes[net.weight].name == "Parameter"
    recorder.prehook(net, torch.ones(1, 2), rec, layer)
    assert [rec.nodes[parameter].name for parameter in net.parameters()] == ["weight", "bias"]


class Given(torch.nn.Module):
    """Returns a parameter of a module that is not called, and a tensor from somewhere else."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
        self.free = [torch.ones(2, requires_grad=True)]

    def forward(self, x: torch.Tensor) -> Any:
        return self.inner.weight, self.free[0], x * 2


def test_what_a_module_returns_without_an_operation() -> None:
    net = Given()
    rec = torchrecorder.record(net, "Net", (2,))
    free = rec.nodes[net.free[0]].name
    assert {("weight", "Output-1"), (free, "Output-2"), ("MulBackward0", "Output-3")} < pairs(rec)
    assert rec.nodes[net.inner.weight].parent is net.inner
    assert rec.nodes[net.free[0]].parent is net
    assert all(rec.nodes[tail] is not rec.nodes[head] for tail, head in rec.edges)


class Together(torch.nn.Module):
    def forward(self, x: torch.Tensor, ids: torch.Tensor) -> Any:
        return torch.broadcast_tensors(x * 2, ids)[0].exp()  # type: ignore[no-untyped-call]


def test_what_an_operation_gives_back_as_it_got_it_was_made_before() -> None:
    x, ids = torch.ones(2), torch.ones(2, dtype=torch.int64)
    rec = torchrecorder.record(Together(), "Net", None, (x, ids))
    assert pairs(rec) == {("Input-1", "MulBackward0"), ("MulBackward0", "ExpBackward0"), ("ExpBackward0", "Output")}
