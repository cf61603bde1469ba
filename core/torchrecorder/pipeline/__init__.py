"""The whole path of a batch of diagrams; what front ends and the command call."""

from torchrecorder.pipeline.batch import Pipeline, Progress
from torchrecorder.pipeline.collecting import Collected, collect, configuration_of, is_collecting

__all__ = ["Collected", "Pipeline", "Progress", "collect", "configuration_of", "is_collecting"]
