"""The layout engine: where it is, and how its process is kept in bounds."""

from torchrecorder.renderer.layout.find import find_engine
from torchrecorder.renderer.layout.process import Engine

__all__ = ["Engine", "find_engine"]
