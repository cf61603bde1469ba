"""What everything that runs models shares: nested values, hooks that are always taken off again."""

from torchrecorder.running.handles import Handles
from torchrecorder.running.nested import map_tensors, named, named_tensors, tensors_in

__all__ = ["Handles", "map_tensors", "named", "named_tensors", "tensors_in"]
