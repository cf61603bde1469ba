"""Whether a forward accepts some inputs: it is run on them, without being recorded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

from torchrecorder.graph.model import Executed, Mode
from torchrecorder.recording.run import Forward, is_small, prepared

_LENGTH = 160


def refusal(model: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any], *, mode: Mode, seed: int) -> str:
    """Why the forward does not accept the inputs; empty, if it does.

    It runs on fake tensors; if it fails on them and is small enough, on numbers, since not every model can do without.
    """
    forward = Forward(model, args, kwargs, mode, seed)
    reason = _failure("fake", forward)
    if reason and is_small(model):
        reason = _failure("real", forward)
    return reason


def _failure(executed: Executed, forward: Forward) -> str:
    try:
        with torch.no_grad(), prepared(executed, forward) as (session, args, kwargs):
            session.model(*args, **kwargs)
    except Exception as error:  # it is the user's forward, given a guess
        text = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…"
    return ""
