"""The truth about what looks at a recording, or refuses one: transforms, odd classes, swapped tensors; see `case`."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn
from torch.func import functional_call

from tests.truth.case import Cases
from tests.truth.layers import numbers

CASES = Cases()
case = CASES.case


OF_GRADIENTS = ("GradOfFunction", "GradAndValue", "VectorJacobian", "GradOfEachSample", "StepOfMaml")
"""Cases that need what autograd recorded; in inference mode torch 2.8 gives zeros instead."""


class One(nn.Module):
    """A layer, and a plain one beside it."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)


class Two(One):
    def __init__(self) -> None:
        super().__init__()
        self.other = nn.Linear(3, 3)


@case("in:x -> /mul -> /sum -> /grad -> out; in:x -> /grad", numbers(2, 3))
class GradOfFunction(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.func.grad(lambda v: (v * 2).sum())(x)


@case("in:x -> m:fc -> /sum -> /grad -> out:0; in:x -> /grad; /sum -> out:1", numbers(2, 3))
class GradAndValue(One):
    def forward(self, x: Tensor) -> Any:
        return torch.func.grad_and_value(lambda v: self.fc(v).sum())(x)


@case("in:x -> m:fc -> out:0; m:fc -> /ones_like -> /grad -> out:1.0; m:fc -> /grad; in:x -> /grad", numbers(2, 3))
class VectorJacobian(One):
    def forward(self, x: Tensor) -> Any:
        y, pull, *_ = torch.func.vjp(self.fc, x)
        return y, pull(torch.ones_like(y))


@case(
    """in:x -> /unsqueeze -> m:fc -> /sum -> /grad
    p:fc.weight -> /detach -> m:fc; p:fc.bias -> /detach#2 -> m:fc
    /detach -> /grad -> out:weight; /detach#2 -> /grad -> out:bias""",
    numbers(2, 3),
)
class GradOfEachSample(One):
    def forward(self, x: Tensor) -> Any:
        weights = {name: p.detach() for name, p in self.fc.named_parameters()}

        def loss_of(weights: dict[str, Tensor], row: Tensor) -> Tensor:
            loss: Tensor = functional_call(self.fc, weights, (row.unsqueeze(0),)).sum()
            return loss

        return torch.vmap(torch.func.grad(loss_of), in_dims=(None, 0))(weights, x)


@case(
    """in:x -> m:fc -> /pow -> /mean -> /grad -> /mul -> /sub -> m:fc#2 -> out
    in:x -> m:fc#2; /grad -> /mul#2 -> /sub#2 -> m:fc#2
    p:fc.weight -> /grad; p:fc.weight -> /sub; p:fc.bias -> /grad; p:fc.bias -> /sub#2""",
    numbers(2, 3),
)
class StepOfMaml(One):
    def forward(self, x: Tensor) -> Any:
        weights: dict[str, Any] = dict(self.fc.named_parameters())
        grads = torch.func.grad(lambda held: functional_call(self.fc, held, (x,)).pow(2).mean())(weights)
        return functional_call(self.fc, {name: p - 0.1 * grads[name] for name, p in weights.items()}, (x,))


@case(
    """in:x -> m:~Linear -> out; /stack -> /detach -> m:~Linear; /stack#2 -> /detach#2 -> m:~Linear
    p:fc.weight -> /stack; p:fc.bias -> /stack#2; p:other.weight -> /stack; p:other.bias -> /stack#2
    p:fc.weight -> /data -> /clone -> /to; p:fc.bias -> /data#2 -> /clone#2 -> /to#2""",
    numbers(2, 3),
    needs_numbers=True,
)
class EnsembleOnCopy(Two):
    def forward(self, x: Tensor) -> Any:
        weights, buffers = torch.func.stack_module_state([self.fc, self.other])
        base = copy.deepcopy(self.fc).to("meta")
        return torch.vmap(lambda w, b: functional_call(base, (w, b), (x,)))(weights, buffers)


def causal(rows: int, columns: int) -> Any:
    from torch.nn.attention.bias import causal_lower_right  # loads the compiler

    return causal_lower_right(rows, columns)


@case(
    """in:q -> /cat -> /scaled_dot_product_attention -> out
    in:q -> /scaled_dot_product_attention; /CausalBias -> /scaled_dot_product_attention""",
    numbers(1, 2, 8),
)
class BiasMadeInForward(nn.Module):
    def forward(self, q: Tensor) -> Any:
        k = torch.cat([q, q], 1)
        return F.scaled_dot_product_attention(q, k, k, attn_mask=causal(2, 4))


class Named(Tensor):
    """A class of the user's, as many libraries have one."""


@case("in:x -> m:fc -> /Named -> /add -> out", numbers(2, 3), needs_numbers=True)
class ConstructsSubclass(One):
    def forward(self, x: Tensor) -> Any:
        return Named(self.fc(x)) + 1


@case("in:x -> m:fc -> /add -> out; m:fc -> /mul -> /add", numbers(2, 3), needs_numbers=True)
class MakesSubclass(One):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return Tensor._make_subclass(Named, y) + y.as_subclass(Named) * 2


class Numbers(tuple[int, ...]):
    """As e3nn's `Irreps`: not to be counted, walked or compared."""

    def __len__(self) -> int:
        raise NotImplementedError

    def __iter__(self) -> Any:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise NotImplementedError

    def __repr__(self) -> str:
        raise NotImplementedError

    __hash__ = None  # type: ignore[assignment]


class Listed(list[Any]):
    __len__ = __iter__ = __eq__ = __bool__ = __repr__ = __getitem__ = Numbers.__len__  # type: ignore[assignment]


class Keyed(dict[str, Any]):
    __len__ = __iter__ = __eq__ = __bool__ = __repr__ = __getitem__ = Numbers.__len__  # type: ignore[assignment]
    keys = values = items = Numbers.__len__  # type: ignore[assignment]


@case("in:x -> m:~ReLU -> out", numbers(2, 3))
class HoldsWhatRefuses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.held = Numbers((1, 2)), Listed([1]), Keyed(a=1)
        self.numbers, self.listed, self.keyed = self.held

    def forward(self, x: Tensor) -> Any:
        return nn.ReLU()(x)


@case("in:x -> m:fc -> out:listed.0; m:fc -> /relu -> out:keyed.a", numbers(2, 3))
class GivesWhatRefuses(One):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return {"listed": Listed([y]), "keyed": Keyed(a=y.relu()), "numbers": Numbers((1, 2))}


class Refusing(nn.Parameter):
    """As hypll's `ManifoldParameter`: no function of torch takes it, only its data."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise TypeError(f"{func} refuses it")


@case("in:x -> m:fc -> out", numbers(2, 3))
class HoldsRefusingParameter(One):
    def __init__(self) -> None:
        super().__init__()
        self._parameters["refusing"] = Refusing(torch.ones(3))

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


@case("in:x -> m:fc -> /relu -> /add -> out; m:fc -> /mul -> /add", numbers(2, 3), needs_numbers=True)
class SwapsResults(One):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        z = torch.relu(y)
        torch.utils.swap_tensors(y, z)  # type: ignore[no-untyped-call]
        return y + z * 2


@case("/ones -> m:fc; in:x -> m:fc -> out", numbers(2, 3), needs_numbers=True)
class SwapsParameter(One):
    def forward(self, x: Tensor) -> Any:
        torch.utils.swap_tensors(self.fc.weight, nn.Parameter(torch.ones(3, 3)))  # type: ignore[no-untyped-call]
        return self.fc(x)


@case(
    """in:x -> m:fc -> out; p:fc.weight -> /module_load -> m:fc; p:fc.bias -> /module_load#2 -> m:fc
    p:other.weight -> /detach -> /module_load; p:other.bias -> /detach#2 -> /module_load#2""",
    numbers(2, 3),
    needs_numbers=True,
)
class LoadsBySwapping(Two):
    def forward(self, x: Tensor) -> Any:
        before = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            self.fc.load_state_dict(self.other.state_dict())
        finally:
            torch.__future__.set_swap_module_params_on_conversion(before)
        return self.fc(x)


@case("in:x -> m:fc -> /view -> /mul -> out", numbers(2, 3), needs_numbers=True)
class TracesInForward(One):
    def forward(self, x: Tensor) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # DeprecationWarning, since torch 2.14 FutureWarning
            traced: Any = torch.jit.trace(lambda v: v.view(-1) * 2, (x,))  # type: ignore[no-untyped-call]
        return traced(self.fc(x))
