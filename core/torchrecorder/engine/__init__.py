"""The layout engine: where it is, and how its process is kept in bounds."""

from torchrecorder.engine.find import find_engine
from torchrecorder.engine.process import Engine

__all__ = ["Engine", "find_engine"]
