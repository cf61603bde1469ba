"""Architecture diagrams of PyTorch models that never go stale.

The names below are loaded on first use, so that `import torchrecorder` costs nothing and never imports torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrecorder.comparison.compared import Diff as Diff
    from torchrecorder.comparison.compared import diff as diff
    from torchrecorder.graph import Graph as Graph
    from torchrecorder.helpers import make_dot as make_dot
    from torchrecorder.helpers import record as record
    from torchrecorder.helpers import render_network as render_network
    from torchrecorder.live import draw as draw
    from torchrecorder.page import Diagram as Diagram
    from torchrecorder.recorder import Recorder as Recorder
    from torchrecorder.recording.run import capture as capture
    from torchrecorder.renderer.base import BaseRenderer as BaseRenderer
    from torchrecorder.renderer.gv import GraphvizRenderer as GraphvizRenderer
    from torchrecorder.renderer.gv import GraphvizStyler as GraphvizStyler

__version__ = "2.0.0.dev0"

_HOMES = {
    "BaseRenderer": "torchrecorder.renderer.base",
    "Diagram": "torchrecorder.page",
    "Diff": "torchrecorder.comparison.compared",
    "Graph": "torchrecorder.graph",
    "GraphvizRenderer": "torchrecorder.renderer.gv",
    "GraphvizStyler": "torchrecorder.renderer.gv",
    "Recorder": "torchrecorder.recorder",
    "capture": "torchrecorder.recording.run",
    "diff": "torchrecorder.comparison.compared",
    "draw": "torchrecorder.live",
    "make_dot": "torchrecorder.helpers",
    "record": "torchrecorder.helpers",
    "render_network": "torchrecorder.helpers",
}

_PORTS = ("scio", "torchfunc", "torchview")
"""The recorders of other packages, each under the name of its package."""

_ROOMS = ("helpers", "nodes", "recorder", "renderer", *_PORTS)
"""Modules that need no import of their own, as in the originals: `torchrecorder.nodes`, `torchrecorder.torchfunc`."""

_NEED_TORCH = {"Recorder", "capture", "draw", "helpers", "make_dot", "record", "recorder", "render_network", *_PORTS}

__all__ = [
    "BaseRenderer",
    "Diagram",
    "Diff",
    "Graph",
    "GraphvizRenderer",
    "GraphvizStyler",
    "Recorder",
    "__version__",
    "capture",
    "diff",
    "draw",
    "make_dot",
    "record",
    "render_network",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES and name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _NEED_TORCH:
        _look_at_torch(name)
    try:
        found = import_module(f"{__name__}.{name}") if name in _ROOMS else getattr(import_module(_HOMES[name]), name)
    except Exception as error:
        if name not in _NEED_TORCH:
            raise
        from torchrecorder.faults import failed_inside

        raise failed_inside(f"torchrecorder.{name}", error, at_start=True) from error
    globals()[name] = found
    return found


def _look_at_torch(name: str) -> None:
    """Say what is wrong with torch, if anything is, and the command that puts it right."""
    from torchrecorder.errors import TorchBroken, TorchTooOld
    from torchrecorder.faults import torch_problem

    problem = torch_problem(f"with torchrecorder.{name}")
    if isinstance(problem, TorchBroken | TorchTooOld):
        raise ImportError(f"{problem.summary()}; {problem.hint()}") from problem
    if problem is not None:
        advice = "python -m pip install 'torchrecorder-docs[torch]', or a CPU build of torch, gives you one"
        raise ImportError(f"torchrecorder.{name} needs torch, which this Python does not have; {advice}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES, *_ROOMS})
