"""A model recorded by the classic recorder, for `recorder: classic`: autograd's operations instead of the user's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from torch import Tensor, nn

from torchrecorder.errors import ForwardError
from torchrecorder.graph import Graph
from torchrecorder.graph.model import Mode
from torchrecorder.helpers import record_call
from torchrecorder.running.keep import kept


def capture_classic(
    model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], *, mode: Mode, seed: int, guessed: str
) -> Graph:
    """The Graph of one forward, recorded as torchrecorder 1.0.3 does. The model and the arguments stay as they are.

    Raises:
        ForwardError: The forward raised; there is no partial Graph.
    """
    tensors = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, Tensor)]
    is_single = len(tensors) == len(args) + len(kwargs) == 1
    with kept(model):
        model.train(mode == "train")
        try:
            rec = record_call(model, type(model).__name__, args, kwargs, is_single=is_single, seed=seed)
        except Exception as error:
            raise ForwardError(type(model).__name__, f"{type(error).__name__}: {error}") from error
    graph = Graph.from_recorder(rec)
    return replace(graph, info=replace(graph.info, guessed=guessed))
