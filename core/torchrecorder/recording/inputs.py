"""What a model is called with: tensors that are made as they are described."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from torchrecorder.errors import InputError
from torchrecorder.request import InputSpec


@dataclass(frozen=True, slots=True)
class Inputs:
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    guessed: str = ""
    """How they were chosen, if the user gave none."""


def make_inputs(specs: Sequence[InputSpec], seed: int) -> Inputs:
    """Random tensors as described, from a generator of their own, so that torch's random numbers do not move."""
    return drawn(specs, torch.Generator().manual_seed(seed))


def drawn(specs: Sequence[InputSpec], generator: torch.Generator) -> Inputs:
    """The named tensors as keyword arguments, the others by position. Raises InputError if one cannot be made."""
    made = [(spec.name, make_tensor(spec, generator)) for spec in specs]
    return Inputs(
        tuple(tensor for name, tensor in made if name is None),
        {name: tensor for name, tensor in made if name is not None},
    )


def make_tensor(spec: InputSpec, generator: torch.Generator) -> Tensor:
    """A tensor as described: normal random values, coin flips, integers below the bound or, without one, ones."""
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
