"""On what a model runs while it is recorded: on numbers, on fake tensors or on the meta device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from torchrecorder.graph import Graph, Info
from torchrecorder.graph.model import Mode
from torchrecorder.recording.failure import forward_error
from torchrecorder.recording.session import Session
from torchrecorder.recording.skeleton import Skeleton, shared_parameters
from torchrecorder.running.nested import map_tensors
from torchrecorder.running.preserve import undisturbed

Run = Literal["auto", "real", "fake", "meta"]


def run_real(
    model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], *, mode: Mode, seed: int, guessed: str
) -> Graph:
    """Record a forward on numbers; the model and the arguments stay as they are."""
    with torch.inference_mode(False):
        skeleton = Skeleton(shared_parameters(model))
        stand_in: nn.Module = skeleton.of(model)
        given = map_tensors((tuple(args), dict(kwargs)), _copied)
    stand_in.train(mode == "train")
    paths = {id(module): path for path, module in stand_in.named_modules()}
    originals = [(old, paths[id(new)]) for old, new in skeleton.modules if id(new) in paths and old is not new]
    session = Session(stand_in, originals)
    info = Info("real", torch.__version__, mode, guessed)
    with undisturbed(seed):
        try:
            session.run(*given)
        except Exception as error:
            raise forward_error(error, session.graph(info)) from error
    return session.graph(info)


def _copied(tensor: Tensor) -> Tensor:
    """A forward may write to its arguments."""
    return tensor.detach().clone().requires_grad_(tensor.requires_grad)
