"""The truth about modules: containers, hooks, parallel, compiled and checkpointed parts; see `case`."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from tests.truth.case import Cases
from tests.truth.cases import ActiveLayer, OneLayer, numbers

CASES = Cases()
case = CASES.case


# Modules


@case("in:x -> m:layers.0 -> m:layers.1 -> m:heads.a -> /cat -> out; m:layers.1 -> m:heads.b -> /cat", numbers(2, 3))
class Containers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.heads = nn.ModuleDict({"a": nn.Linear(3, 1), "b": nn.Linear(3, 1)})

    def forward(self, x: Tensor) -> Any:
        for layer in self.layers:
            x = layer(x)
        return torch.cat([head(x) for head in self.heads.values()], 1)


@case("in:x -> /mul -> /mul#2 -> out; p:ws.0 -> /mul; p:ws.1 -> /mul#2", numbers(3))
class Parameters(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ws = nn.ParameterList([torch.ones(3), torch.ones(3)])

    def forward(self, x: Tensor) -> Any:
        for w in self.ws:
            x = x * w
        return x


@case("in:x -> /mul -> out; p:ws.a -> /mul", numbers(3))
class ParameterDictionary(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ws = nn.ParameterDict({"a": torch.ones(3)})

    def forward(self, x: Tensor) -> Any:
        return x * self.ws["a"]


@case("in:x -> m:fc -> m:fc#2 -> m:fc#3 -> /relu -> /relu#2 -> /relu#3 -> out", numbers(2, 3))
class Recursive(OneLayer):
    def forward(self, x: Tensor, depth: int = 2) -> Any:
        x = self.fc(x)
        if depth:
            x = self(x, depth - 1)
        return F.relu(x)


@case("in:x -> m:fc -> m:fc#2 -> out", numbers(2, 3))
class HookReplacesInput(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.last = nn.Linear(3, 3)
        self.last.register_forward_pre_hook(lambda module, args: (self_fc(args[0]),))

    def forward(self, x: Tensor) -> Any:
        return self.fc(self.fc(x))


def self_fc(x: Tensor) -> Tensor:
    return x


@case("in:x -> inner/mul -> m:fc -> out", numbers(2, 3))
class PreHookWithKeywords(nn.Module):
    class Inner(OneLayer):
        def forward(self, *, x: Tensor) -> Any:
            return self.fc(x)

    def __init__(self) -> None:
        super().__init__()
        inner = self.Inner()
        inner.register_forward_pre_hook(lambda module, args, kwargs: (args, {"x": kwargs["x"] * 2}), with_kwargs=True)
        self.fc = inner.fc
        self.inner = inner

    def forward(self, x: Tensor) -> Any:
        return self.inner(x=x)


@case("in:x -> m:fc -> /mul -> out", numbers(2, 3))
class HookOnModel(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.register_forward_hook(lambda module, args, out: out * 2)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


@case("in:x -> m:net.module.fc -> net.module/relu -> out", numbers(2, 3))
class Parallel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.DataParallel(ActiveLayer())

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


@case("in:x -> m:net.fc -> net/relu -> out", numbers(2, 3))
class CompiledPart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = ActiveLayer()
        self.net.compile(backend="eager")

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


@case("in:x -> m:fc -> m:fc#2 -> out", numbers(2, 3), train=True)
class CheckpointedTwice(OneLayer):
    def forward(self, x: Tensor) -> Any:
        x = checkpoint(self.fc, x, use_reentrant=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return checkpoint(self.fc, x, use_reentrant=True)


@case("in:x -> m:net.0 -> m:net.1 -> m:net.2 -> out", numbers(2, 3), train=True)
class CheckpointedSequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Any:
        return checkpoint_sequential(self.net, 2, x, use_reentrant=False)  # type: ignore[no-untyped-call]


@case("in:x -> m:fc -> out", numbers(2, 3))
class Autocast(OneLayer):
    def forward(self, x: Tensor) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return self.fc(x)


@case("in:x -> m:fc -> /matmul -> /float -> out; in:x -> /matmul", numbers(3, 3))
class AutocastOps(OneLayer):
    def forward(self, x: Tensor) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            y = self.fc(x) @ x
        return y.float()


@case("in:x -> m:fc -> out", numbers(2, 3))
class InferencePart(OneLayer):
    def forward(self, x: Tensor) -> Any:
        with torch.inference_mode():
            return self.fc(x)


@case("in:x -> m:fc -> out", numbers(2, 3))
class OldWeightNorm(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nn.utils.weight_norm(self.fc)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)
