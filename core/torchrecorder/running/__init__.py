"""The core of everything that runs a model: restoring it, nested values, the log of calls, facts of modules."""

from torchrecorder.running.handles import Handles
from torchrecorder.running.nested import map_tensors, named, named_tensors, tensors_in

__all__ = ["Handles", "map_tensors", "named", "named_tensors", "tensors_in"]
