"""Pictures of random nets, held against gradients: each dependence of an output has a path of lines to it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from tests.core.proof.random_nets import source
from torchrecorder.graph import Graph
from torchrecorder.proof import ProvedViews, faults
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, Views
from torchrecorder.view.model import boxes_around


def net_of(seed: int, folder: Path) -> nn.Module:
    path = folder / f"random_net_{seed}.py"
    path.write_text(source(seed))
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    torch.manual_seed(seed)
    net: nn.Module = module.Net().eval()
    return net


def decided(net: nn.Module, inputs: Mapping[str, Tensor]) -> dict[int, set[str]]:
    """By output the names of inputs and parameters that it changes with."""
    of = {name: value.clone().requires_grad_() for name, value in inputs.items()} | dict(net.named_parameters())
    outputs = net(*(of[name] for name in inputs))
    rows = [
        torch.autograd.grad(out.sin().sum(), [*of.values()], retain_graph=True, allow_unused=True) for out in outputs
    ]
    return {
        i: {name for name, slope in zip(of, row, strict=True) if slope is not None and bool((slope != 0).any())}
        for i, row in enumerate(rows)
    }


def starts(view: View, graph: Graph, name: str) -> set[int]:
    """The nodes that show an input or what reads a parameter; of a later turn any in the box that is drawn for it."""
    found = {node.id for node in view.nodes if node.kind in ("input", "param") and node.name == name}
    for op in (op for op in graph.ops if any(graph.values[value].name == name for value in op.inputs)):
        around = {row.id for row in graph.around(op.call)}
        parts = [(node.id, part) for node in view.nodes for part in (node, *node.parts) if node.kind != "input"]
        here = {id_ for id_, part in parts if op.id in part.own_ops or not around.isdisjoint(part.calls)}
        boxes = {box.id for box in view.boxes if box.repeat > 1 and not around.isdisjoint(box.calls)}
        here = here or {node.id for node in view.nodes if not boxes.isdisjoint(_boxes(view, node.box))}
        found |= here
    return found


def _boxes(view: View, box: int | None) -> Iterator[int]:
    return (row.id for row in boxes_around(view.boxes, box))


def reached(view: View, nodes: set[int]) -> set[int]:
    """The nodes that lines lead to from some nodes, and from the end of a turn to the beginning of the next."""
    ways = [(edge.tail, edge.head) for edge in view.edges]
    ways += [(link, node.id) for node in view.nodes if node.kind == "from" for link in node.links]
    for box in (box for box in view.boxes if box.repeat > 1):
        inside = {node.id for node in view.nodes if box.id in _boxes(view, node.box)}
        ends = {edge.tail for edge in view.edges if edge.tail in inside and edge.head not in inside}
        heads = {edge.head for edge in view.edges if edge.head in inside and edge.tail not in inside}
        ways += [(tail, head) for tail in ends for head in heads]
    seen: set[int] = set()
    while nodes:
        seen |= nodes
        nodes = {head for tail, head in ways if tail in nodes} - seen
    return seen


@pytest.mark.parametrize("seed", range(30))
def test_what_decides_an_output_leads_to_it(seed: int, tmp_path: Path) -> None:
    net, inputs = net_of(seed, tmp_path), {name: torch.randn(3, 8) for name in ("a0", "a1")}
    with torch.no_grad():
        graph = capture(net, tuple(inputs.values()))
    view = ProvedViews(Views(graph, DrawingOptions())).view()
    assert faults(view) == ()
    ends = {i: {*graph.outputs[str(i)]} for i in range(len(graph.outputs))}
    for i, names in decided(net, inputs).items():
        outputs = {node.id for node in view.nodes if node.kind == "output" and not ends[i].isdisjoint(node.values)}
        lost = [name for name in names if outputs.isdisjoint(reached(view, starts(view, view.graph, name)))]
        assert not lost, f"{lost} do not lead to output {i}"
