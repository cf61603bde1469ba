"""What changed from one model to another: layers matched, changes in words, and both in one Graph for a picture."""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchrecorder.comparison.compared import Diff as Diff
    from torchrecorder.comparison.compared import diff as diff

__all__ = ["Diff", "diff"]


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.compared"), name)
    globals()[name] = found
    return found
