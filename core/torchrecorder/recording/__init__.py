"""Live torch to Graph: the only room that runs models."""

from torchrecorder.recording.engine import capture

__all__ = ["capture"]
