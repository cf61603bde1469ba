"""The whole path of a batch of diagrams; what front ends and the command call."""

from torchrecorder.pipeline.batch import Pipeline
from torchrecorder.pipeline.collecting import Collected, collect, configuration_of

__all__ = ["Collected", "Pipeline", "collect", "configuration_of"]
