"""Activations of chosen layers, by the labels of torchinfo's table.

A port of scio's `scio.recorder`; what differs, and why, is in `PORTS.toml`. Needs torchinfo and numpy, which
are imported when a `Recorder` is made: `python -m pip install 'torchrecorder-docs[scio]'`.
"""

from torchrecorder.activations.passes import Postprocessor
from torchrecorder.activations.recorder import Recorder, lazy_func
from torchrecorder.activations.table import DepthIdx, get_layer_info_depth_idx

__all__ = ["DepthIdx", "Postprocessor", "Recorder", "get_layer_info_depth_idx", "lazy_func"]
