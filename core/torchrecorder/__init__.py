"""Architecture diagrams of PyTorch models that never go stale.

The names below are loaded on first use, so that `import torchrecorder` costs nothing and never imports torch.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrecorder.diagram import Diagram as Diagram
    from torchrecorder.graph import Graph as Graph
    from torchrecorder.live import draw as draw
    from torchrecorder.recording import capture as capture

__version__ = "2.0.0.dev0"

_HOMES = {
    "Diagram": "torchrecorder.diagram",
    "Graph": "torchrecorder.graph",
    "capture": "torchrecorder.recording",
    "draw": "torchrecorder.live",
}

__all__ = ["Diagram", "Graph", "__version__", "capture", "draw"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        found = getattr(import_module(_HOMES[name]), name)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        advice = "python -m pip install 'torchrecorder-docs[torch]', or a CPU build of torch, gives you one"
        raise ImportError(f"torchrecorder.{name} needs torch, which this Python does not have; {advice}") from error
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
