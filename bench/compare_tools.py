"""The tools that are compared, each with how it records, what its graph says, and its picture.

They lie in folders of their own, since one has our package's name and the wheel of another has a package `tests`.
Each is used as its own documentation says, at full depth; what a tool cannot be given is left to fail.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bench.compare_layers import Key, Seen
from torchrecorder import capture
from torchrecorder.engine import find_engine

LONG = 40
"""Seconds that the engine has for a picture."""


@dataclass(frozen=True)
class Tool:
    """How a tool is used; its distribution is named for the versions."""

    distribution: str
    record: Callable[[nn.Module, tuple[Any, ...], Mapping[str, Any]], Any]
    seen: Callable[[Any], Seen] | None
    """Reads what was recorded; None where the tool knows no layers, or is read by the truth itself."""
    picture: Callable[[Any], tuple[str, bytes]]
    """The ending of the finished picture's name, and its text."""
    needs_grad: bool = False


def _laid_out(source: str) -> tuple[str, bytes]:
    command = [str(find_engine().path), "-Tsvg"]
    return "svg", subprocess.run(command, input=source.encode(), capture_output=True, check=True, timeout=LONG).stdout


def _ours(folders: Mapping[str, str]) -> Tool:
    from torchrecorder.drawing.draw import DrawJob, draw
    from torchrecorder.drawing.model import Drawing
    from torchrecorder.request.requests import DrawingOptions

    def picture(graph: Any) -> tuple[str, bytes]:
        (drawing,) = draw([DrawJob(graph, "0" * 12, DrawingOptions())], find_engine())
        if not isinstance(drawing, Drawing):
            raise drawing
        return "svg", drawing.svg.encode()

    return Tool("torchrecorder-docs", capture, None, picture)


def _torchview(folders: Mapping[str, str]) -> Tool:
    tool = importlib.import_module("torchview")

    def record(model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        options = {"depth": math.inf, "expand_nested": True, "device": "cpu"}
        mode = "train" if model.training else "eval"
        return tool.draw_graph(model, input_data=[*args], mode=mode, **options, **kwargs)

    return Tool("torchview", record, torchview_seen, lambda graph: _laid_out(graph.visual_graph.source))


def torchview_seen(graph: Any) -> Seen:
    """Its hierarchy of nodes, and its list of edges."""
    found = Seen(edges={(id(a), id(b)) for a, b in graph.edge_list})

    def walk(node: Any, path: tuple[Key, ...]) -> None:
        if isinstance(node, Mapping):
            for module, inner in node.items():
                walk(module, path)
                for one in inner:
                    walk(one, (*path, id(module)))
        elif isinstance(node, list | tuple):
            for one in node:
                walk(one, path)
        else:
            is_module = type(node).__name__ == "ModuleNode"
            if is_module:
                found.classes[id(node)] = node.name
            found.inside[id(node)] = (*path, id(node)) if is_module else path

    walk(graph.node_hierarchy, ())
    return found


class _Called(nn.Module):
    """For torchvista, which takes positional arguments only."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> object:
        return self.model(*args, **kwargs)


def _torchvista(folders: Mapping[str, str]) -> Tool:
    tracer = importlib.import_module("torchvista.tracer")
    drawn = tracer.plot_graph
    kept: list[tuple[Any, Any]] = []
    tracer.plot_graph = lambda *args, **kwargs: kept.append((args, kwargs))

    def record(model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        kept.clear()
        # A wrapper of a wrapper would be a layer the model does not have, so it is there only for keywords.
        whole = _Called(model).train(model.training) if kwargs else model
        tracer.trace_model(whole, (args, dict(kwargs)) if kwargs else args)
        return kept[0]

    def picture(recorded: Any) -> tuple[str, bytes]:
        args, kwargs = recorded
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "net.html")
            given = [*args]
            given[13] = importlib.import_module("torchvista.enums").ExportFormat.HTML
            drawn(*given, **{**kwargs, "export_path": str(file)})
            return "html", file.read_bytes()

    return Tool("torchvista", record, lambda recorded: torchvista_seen(*recorded[0]), picture)


def torchvista_seen(*data: Any) -> Seen:
    """The data of its page: nodes with their edges, facts of modules, and which module is in which."""
    nodes, modules, parents = data[0], data[1], data[9]
    found = Seen(classes={name: facts["type"] for name, facts in modules.items()})
    for name, node in nodes.items():
        path = [name] if name in modules else []
        at = parents.get(name)
        while at is not None and at not in path:
            path.insert(0, at)
            at = parents.get(at)
        found.inside[name] = tuple(path)
        found.edges |= {(name, edge["target"]) for edge in node["edges"]}
    return found


def _torchlens(folders: Mapping[str, str]) -> Tool:
    tool = importlib.import_module("torchlens")

    def record(model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return model, tool.trace(model, [*args], dict(kwargs))

    def picture(recorded: Any) -> tuple[str, bytes]:
        with tempfile.TemporaryDirectory() as folder:
            recorded[1].draw(vis_outpath=f"{folder}/net", vis_save_only=True, vis_fileformat="svg")
            (file,) = Path(folder).glob("*.svg")
            return "svg", file.read_bytes()

    return Tool("torchlens", record, lambda recorded: torchlens_seen(*recorded), picture)


def torchlens_seen(model: nn.Module, trace: Any) -> Seen:
    """Its log of operations; an operation that ran once may be named without its number."""
    found = Seen()
    named = {op.layer_label: op.label for op in reversed(trace.layer_list)}
    for op in trace.layer_list:
        found.inside[op.label] = tuple(op.modules)
        found.edges |= {(named.get(parent, parent), op.label) for parent in op.parents}
        for call in op.modules:
            address = call.rpartition(":")[0]
            found.classes[call] = _name_at(model, address)
    return found


def _name_at(model: nn.Module, address: str) -> str:
    try:
        module = model.get_submodule(address)
    except AttributeError:
        return ""
    return str(getattr(module, "original_name", type(module).__name__))


def _old(folders: Mapping[str, str]) -> Tool:
    file = Path(folders["old"], "torchrecorder", "__init__.py")
    spec = importlib.util.spec_from_file_location("torchrecorder_1_0_3", file)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = tool
    spec.loader.exec_module(tool)

    def record(model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        if kwargs:
            raise TypeError("it takes positional arguments only")
        fresh = tuple(arg.detach().clone() if isinstance(arg, torch.Tensor) else arg for arg in args)
        return tool.record(model, "net", None, fresh[0] if len(fresh) == 1 else fresh)

    def picture(recorded: Any) -> tuple[str, bytes]:
        return _laid_out(tool.make_dot(recorded, 1).source)

    return Tool("torchrecorder", record, old_seen, picture, needs_grad=True)


def old_seen(recorder: Any) -> Seen:
    """Its nodes with their parents, and its edges; a module is one node, however often it is called."""
    nodes = recorder.nodes
    found = Seen(edges={(id(nodes[a]), id(nodes[b])) for a, b, _ in recorder.edges})
    for node in nodes.values():
        path: list[Key] = []
        at = node
        while at is not None and at.fn is not None:
            if isinstance(at.fn, nn.Module):
                found.classes[id(at)] = str(getattr(at.fn, "original_name", type(at.fn).__name__))
                path.insert(0, id(at))
            at = nodes[at.parent]
        found.inside[id(node)] = tuple(path)
    used = {end for edge in found.edges for end in edge}
    found.inside = {node: path for node, path in found.inside.items() if node in used}
    return found


def _torchviz(folders: Mapping[str, str]) -> Tool:
    tool = importlib.import_module("torchviz")

    def record(model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        return tool.make_dot(_tensors(model(*args, **kwargs)), params=dict(model.named_parameters()))

    return Tool("torchviz", record, None, lambda dot: _laid_out(dot.source), needs_grad=True)


def _tensors(value: Any) -> tuple[torch.Tensor, ...]:
    if isinstance(value, torch.Tensor):
        return (value,)
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return tuple(tensor for one in inner for tensor in _tensors(one))


TOOLS: dict[str, Callable[[Mapping[str, str]], Tool]] = {
    "torchrecorder-docs": _ours,
    "torchview": _torchview,
    "torchvista": _torchvista,
    "torchlens": _torchlens,
    "torchviz": _torchviz,
    "torchrecorder 1.0.3": _old,
}
