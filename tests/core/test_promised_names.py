"""Every module of torchrecorder 1.0.3 can be imported by its path, and holds every name that it defined."""

from __future__ import annotations

from importlib import import_module

import pytest

MODULES = {
    "torchrecorder": ["render_network", "record", "make_dot", "GraphvizStyler", "__version__"],
    "torchrecorder.helpers": ["render_network", "record", "make_dot"],
    "torchrecorder.nodes": ["BaseNode", "TensorNode", "ParamNode", "OpNode", "LayerNode"],
    "torchrecorder.recorder": [
        *["Recorder", "op_acc", "tensor_acc", "param_acc", "leaf_dummy", "prehook", "posthook", "backhook"],
        *[f"Recorder.{name}" for name in ("add_node", "add_dummy", "add_edge", "register_hooks", "remove_hooks")],
    ],
    "torchrecorder.renderer": ["GraphvizRenderer", "GraphvizStyler"],
    "torchrecorder.renderer.base": [
        "BaseRenderer",
        *[f"BaseRenderer.{name}" for name in ("render_node", "render_recursive_node", "render_edge", "__call__")],
    ],
    "torchrecorder.renderer.gv": [
        *["GraphvizStyler", "GraphvizStyler.style_node", "GraphvizStyler.style_edge", "GraphvizRenderer"],
        *[f"GraphvizRenderer.{name}" for name in ("render_node", "render_recursive_node", "render_edge")],
    ],
}


@pytest.mark.parametrize(("module", "name"), [(module, name) for module, names in MODULES.items() for name in names])
def test_it_is_there(module: str, name: str) -> None:
    thing: object = import_module(module)
    for part in name.split("."):
        thing = getattr(thing, part)
    assert thing is not None
