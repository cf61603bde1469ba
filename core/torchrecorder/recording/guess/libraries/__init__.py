"""Inputs from what models of well-known libraries say of themselves, a module for each library.

None of the libraries is imported here.
"""

from __future__ import annotations

from torchrecorder.recording.guess.libraries import diffusers as diffusers
from torchrecorder.recording.guess.libraries import jaxtyping as jaxtyping
from torchrecorder.recording.guess.libraries import lightning as lightning
from torchrecorder.recording.guess.libraries import timm as timm
from torchrecorder.recording.guess.libraries import torch_geometric as torch_geometric
from torchrecorder.recording.guess.libraries import transformers as transformers
