"""What a model is called with: the tensors that its user described, or the first guess that its forward accepts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.errors import InputError
from torchrecorder.graph.model import Executed, Mode
from torchrecorder.recording.guess import guesses
from torchrecorder.recording.run import Forward, is_small, prepared
from torchrecorder.request import InputSpec

_LISTED = 12
"""Guesses that an error lists."""
_REASON_CHARS = 160


@dataclass(frozen=True, slots=True)
class Inputs:
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    guessed: str = ""
    """How they were chosen, if the user gave none."""


def make_inputs(model: nn.Module, specs: Sequence[InputSpec] | None, *, seed: int, mode: Mode = "eval") -> Inputs:
    """Random tensors as described: the named ones as keyword arguments, the others by position.

    If nothing is described, inputs are guessed from what the model says of itself, and the first guess that its forward
    accepts is taken. They are drawn from a generator of their own, so torch's random numbers do not move.

    Raises:
        InputError: A tensor cannot be made, or no guess was accepted.
    """
    if specs is not None:
        return _made(specs, seed)
    tried: list[str] = []
    for guess in guesses(model, batch=2 if mode == "train" else 1):
        if guess.arguments is not None:
            inputs = Inputs(*guess.arguments, str(guess))
        else:
            made = _made(guess.specs, seed, str(guess))
            inputs = replace(made, kwargs={**made.kwargs, **guess.fixed})
        # On fake tensors first; if that fails and the model is small enough, on real ones, which some models need.
        forward = Forward(model, inputs.args, inputs.kwargs, mode, seed)
        reason = _failure("fake", forward)
        if reason and is_small(model):
            reason = _failure("real", forward)
        if not reason:
            return inputs
        tried.append(f"{inputs.guessed}: {reason}")
    raise InputError(
        f"{type(model).__name__} is called with inputs of unknown shape",
        "say it: `shape: 1,3,224,224`, or name a function that makes them with `inputs`",
        tuple(tried[:_LISTED]),
    )


def make_tensor(spec: InputSpec, generator: torch.Generator) -> Tensor:
    """One tensor as described: normal random values, coin flips, integers below the bound or, without one, ones."""
    dtype: torch.dtype = getattr(torch, spec.dtype)
    try:
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(spec.shape, generator=generator, dtype=dtype)
        if dtype is torch.bool:
            return torch.randint(2, spec.shape, generator=generator, dtype=dtype)
        if spec.high is None:
            return torch.ones(spec.shape, dtype=dtype)
        return torch.randint(spec.high, spec.shape, generator=generator, dtype=dtype)
    except (RuntimeError, ValueError, TypeError) as error:
        raise InputError(f"the input {spec} cannot be made: {error}") from error


def _made(specs: Sequence[InputSpec], seed: int, guessed: str = "") -> Inputs:
    generator = torch.Generator().manual_seed(seed)
    made = [(spec.name, make_tensor(spec, generator)) for spec in specs]
    return Inputs(
        tuple(tensor for name, tensor in made if name is None),
        {name: tensor for name, tensor in made if name is not None},
        guessed,
    )


def _failure(executed: Executed, forward: Forward) -> str:
    try:
        with torch.no_grad(), prepared(executed, forward) as (session, args, kwargs):
            session.run(args, kwargs)  # not the model alone: what it writes is only seen in a recording
    except Exception as error:  # it is the user's forward, given a guess
        text = f"{type(error).__name__}: {error}".strip().partition("\n")[0]
        return text if len(text) <= _REASON_CHARS else f"{text[:_REASON_CHARS]}…"
    return ""
