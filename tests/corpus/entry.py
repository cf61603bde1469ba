"""Real models that others wrote, tiny and with random weights, each with its inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from tests.corpus.torchvision_ops import define_missing_operators

Inputs = tuple[tuple[Any, ...], Mapping[str, Any]]


@dataclass(frozen=True)
class Entry:
    """A model and how to call it. A package that is missing shows when it is built."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[], Inputs]
    same_inputs: bool = False
    """Whether other numbers lead to other operations (random choices, experts, the best nodes)."""

    def load(self, seed: int = 0) -> tuple[nn.Module, tuple[Any, ...], dict[str, Any]]:
        define_missing_operators()  # transformers imports torchvision, too
        torch.manual_seed(seed)
        model = self.build()
        args, kwargs = self.inputs()
        return model.eval(), args, dict(kwargs)


def given(*args: Callable[[], Any], **kwargs: Callable[[], Any]) -> Callable[[], Inputs]:
    """Inputs that are made when they are needed."""
    return lambda: (tuple(make() for make in args), {name: make() for name, make in kwargs.items()})


def numbers(*shape: int) -> Callable[[], Tensor]:
    return lambda: torch.randn(*shape)


def words(batch: int = 1, length: int = 12, known: int = 99) -> Callable[[], Tensor]:
    return lambda: torch.randint(3, known, (batch, length))


def ones(*shape: int, dtype: torch.dtype = torch.float32) -> Callable[[], Tensor]:
    return lambda: torch.ones(*shape, dtype=dtype)


def whole(*values: Any) -> Callable[[], Tensor]:
    return lambda: torch.tensor(values)
