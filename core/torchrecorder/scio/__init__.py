"""scio's recorder of activations, under the name that it gives it: `torchrecorder.scio.recorder`."""

from torchrecorder.scio import recorder

__all__ = ["recorder"]
