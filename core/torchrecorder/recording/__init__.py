"""Live torch to Graph: the only room that runs models.

`capture` is loaded on first use: the worker first finds out what its torch is.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torchrecorder.recording.run import capture as capture

__all__ = ["capture"]


def __getattr__(name: str) -> Any:
    if name != "capture":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from torchrecorder.recording.run import capture

    return capture
