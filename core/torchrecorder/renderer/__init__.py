"""The renderer of torchrecorder 1.0.3, which draws a live recording; loaded when it is asked for."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrecorder.renderer.base import BaseRenderer as BaseRenderer
    from torchrecorder.renderer.gv import GraphvizRenderer as GraphvizRenderer
    from torchrecorder.renderer.gv import GraphvizStyler as GraphvizStyler

_HOMES = {"BaseRenderer": "base", "GraphvizRenderer": "gv", "GraphvizStyler": "gv"}

__all__ = ["BaseRenderer", "GraphvizRenderer", "GraphvizStyler"]


def __getattr__(name: str) -> Any:
    if name in ("base", "gv"):
        return import_module(f"{__name__}.{name}")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOMES})
