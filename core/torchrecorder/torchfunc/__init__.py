"""torchfunc's hook recorders and registrators, under the names that it gives them: `torchrecorder.torchfunc.hooks`."""

from torchrecorder.torchfunc import hooks

__all__ = ["hooks"]
