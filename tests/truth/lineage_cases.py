"""The truth about ways on which data could get lost: what torch computes where no mode sees it; see `case`."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch._higher_order_ops import map as mapped
from torch._higher_order_ops import scan, while_loop

from tests.truth.case import Cases
from tests.truth.layers import OneLayer, numbers

CASES = Cases()
case = CASES.case


class TwoLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(3, 3), nn.Linear(3, 3)


@case("in:x -> /sum -> /gt; in:x -> m:a -> out", lambda: torch.ones(2, 3), needs_numbers=True, decides=True)
class CondOfLayers(TwoLayers):
    def forward(self, x: Tensor) -> Any:
        return torch.cond(x.sum() > 0, self.a, self.b, (x,))


@case(
    "in:x -> /sum -> /gt; in:x -> /cond -> out; p:fc.weight -> /cond",
    lambda: torch.ones(2, 3),
    needs_numbers=True,
    decides=True,
)
class CondOfWeights(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda v: F.linear(v, self.fc.weight), lambda v: v + 1, (x,))


@case(
    """/tensor -> while_loop/lt; /tensor -> while_loop/add -> while_loop/lt#2; while_loop/add -> while_loop/add#2
    while_loop/add#2 -> while_loop/lt#3; in:x -> m:fc -> while_loop/tanh -> m:fc#2 -> while_loop/tanh#2 -> out""",
    numbers(2, 3),
    needs_numbers=True,
    decides=True,
)
class LoopOfLayers(OneLayer):
    def forward(self, x: Tensor) -> Any:
        found = while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, torch.tanh(self.fc(v))), (torch.tensor(0), x))  # type: ignore[no-untyped-call]
        return found[1]


@case("in:x -> /map_impl -> out; p:fc.weight -> /map_impl", numbers(2, 3), needs_numbers=True)
class MapOfWeights(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return mapped(lambda v: F.linear(v, self.fc.weight), x)  # type: ignore[arg-type, misc]


@case(
    """in:x -> map_impl/unbind -> m:fc -> map_impl/stack -> out
    map_impl/unbind -> m:fc#2 -> map_impl/stack""",
    numbers(2, 3),
    needs_numbers=True,
)
class MapOfLayers(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return mapped(self.fc, x)


@case(
    """in:x -> scan/mul -> scan/add; in:h -> m:fc -> scan/add -> scan/scan; in:x -> scan/mul#2 -> scan/add#2
    scan/add -> m:fc#2 -> scan/add#2 -> scan/scan -> out; in:x -> scan/scan; in:h -> scan/scan
    scan/add -> scan/clone -> scan/scan; scan/add#2 -> scan/clone#2 -> scan/scan""",
    numbers(2, 3),
    numbers(3),
    needs_numbers=True,
    not_on="2.8.",  # its scan calls the function once more, with what it moved before
)
class ScanOfLayers(OneLayer):
    def forward(self, x: Tensor, h: Tensor) -> Any:
        return scan(lambda state, v: ((new := self.fc(state) + v * 2), new.clone()), h, x)[1]


@case(
    """in:x -> /clone -> /detach -> /pow -> /sum -> /backward -> /mul -> /sub -> out
    /detach -> /sub; /detach -> /backward""",
    numbers(2, 3),
    needs_numbers=True,
)
class GradientOfInput(nn.Module):
    def forward(self, x: Tensor) -> Any:
        with torch.inference_mode(False), torch.enable_grad():
            x = x.clone().detach().requires_grad_()
            x.pow(3).sum().backward()  # type: ignore[no-untyped-call]
        assert x.grad is not None
        return x - x.grad * 0.1


@case("in:x -> m:~Linear -> out; p:fc.weight -> /detach -> /mul -> m:~Linear", numbers(2, 3))
class LayerOfOwnWeight(OneLayer):
    def forward(self, x: Tensor) -> Any:
        layer = nn.Linear(3, 3, bias=False)
        layer.weight = nn.Parameter(self.fc.weight.detach() * 2)
        return layer(x)


class Pair(torch.Tensor):
    """Two tensors that are computed with side by side."""

    a: Tensor
    b: Tensor

    @staticmethod
    def __new__(cls, a: Tensor, b: Tensor) -> Any:
        made = torch.Tensor._make_wrapper_subclass(cls, a.shape, dtype=a.dtype)
        made.a, made.b = a, b
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        sides = [func(*(getattr(arg, side) if isinstance(arg, Pair) else arg for arg in args)) for side in "ab"]
        return Pair(*sides)


@case("in:x -> /Pair; in:y -> /Pair -> /mul -> /add -> /sub -> out", numbers(2, 3), numbers(2, 3))
class Wrapped(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        pair: Any = Pair(x, y) * 2 + 1
        return pair.a - pair.b


@case(
    "in:x -> m:fc -> /clone -> /MaskedTensor -> /mul -> /GetData -> out; /ones -> /clone#2 -> /MaskedTensor",
    numbers(2, 3),
)
class Masked(OneLayer):
    def forward(self, x: Tensor) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            masked = torch.masked.masked_tensor(self.fc(x), torch.ones(2, 3, dtype=torch.bool))
            return (masked * 2).get_data()  # type: ignore[attr-defined]


@case(
    "in:x -> m:fc -> /clone -> /getitem -> /mul_ -> /add_ -> out; /clone -> /mul_; /clone -> /add_",
    numbers(2, 3),
)
class Functionalized(OneLayer):
    def forward(self, x: Tensor) -> Any:
        def writes(y: Tensor) -> Tensor:
            y = y.clone()
            y[0].mul_(2)
            return y.add_(1)

        return torch.func.functionalize(writes)(self.fc(x))


@case("in:x -> /sum; in:x -> /mul -> out", numbers(2, 3), needs_numbers=True, leaves=True)
class ThroughText(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x * float(f"{x.sum():.6f}")


@case("in:x -> /detach -> /sum; in:x -> /add -> out; /tensor -> /add", numbers(2, 3), needs_numbers=True, leaves=True)
class ThroughSource(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x + eval(repr(x.detach().sum()), {"tensor": torch.tensor})


@case("in:x -> /mul -> out; in:x -> /detach", numbers(2, 3), needs_numbers=True, leaves=True)
class ThroughNumpyView(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.from_numpy(x.detach().numpy()) * 2


@case("in:x -> /mul -> out; c:0 -> /mul", numbers(3), needs_numbers=True, unknown=True)
class TypedConstructor(nn.Module):
    """What no mode sees comes from nowhere."""

    def forward(self, x: Tensor) -> Any:
        return x * torch.FloatTensor([1.0, 2.0, 3.0])
