"""The truth about what must not vanish, and about what is no part of a picture; see `case`."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from tests.truth.case import Cases
from tests.truth.layers import numbers

CASES = Cases()
case = CASES.case


class Same(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x


class Pair(nn.Module):
    """Gives back one of its arguments in a container, and a part of the other."""

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return {"x": x, "half": y}


class DropPath(nn.Module):
    def __init__(self, drop_prob: float) -> None:
        super().__init__()
        self.drop_prob = drop_prob

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        keep = x.new_empty(x.shape[0], 1).bernoulli_(1 - self.drop_prob)
        return x * keep


class OwnDropout(nn.Dropout):
    pass


@case("in:x -> m:fc -> same/pass -> /add -> out; m:fc -> /add", numbers(2, 3))
class OwnIdentity(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.same = nn.Linear(3, 3), Same()

    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return y + self.same(y)


@case("in:x -> m:fc -> drop/pass -> out", numbers(2, 3))
class OwnDropoutInEval(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.drop = nn.Linear(3, 3), OwnDropout(0.5)

    def forward(self, x: Tensor) -> Any:
        return self.drop(self.fc(x))


@case("in:x -> m:fc -> path/pass -> /add -> out; in:x -> /add", numbers(2, 3))
class DropPathInEval(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.path = nn.Linear(3, 3), DropPath(0.1)

    def forward(self, x: Tensor) -> Any:
        return x + self.path(self.fc(x))


@case("in:x -> m:fc -> pair/pass -> /mul -> out; in:x -> pair/pass#2 -> /mul", numbers(2, 3))
class OwnIdentityOfTwo(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.pair = nn.Linear(3, 3), Pair()

    def forward(self, x: Tensor) -> Any:
        found = self.pair(self.fc(x), x)
        return found["x"] * found["half"]


@case("in:x -> outer.same/pass -> /relu -> out", numbers(2, 3))
class IdentityInLayer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.outer: Any = nn.Module()
        self.outer.same = Same()

    def forward(self, x: Tensor) -> Any:
        return torch.relu(self.outer.same(x))


class Hooked(nn.Module):
    """Has a hook on each side, both of which compute."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
        self.register_forward_hook(lambda module, args, out: out + args[0])

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


@case("in:x -> inner/mul -> m:inner.fc -> inner/add -> /relu -> out; inner/mul -> inner/add", numbers(2, 3))
class HooksOnBothSides(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Hooked()

    def forward(self, x: Tensor) -> Any:
        return torch.relu(self.inner(x))


@case(
    "in:x -> m:fc -> /gt -> /any; m:fc -> /add -> out",
    numbers(2, 3),
    needs_numbers=True,
    decides=True,
)
class BranchOnNumbers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        if (y > -1e9).any():
            return y + 1
        return y - 1


@case(
    """
    in:x -> /mul -> /norm -> /gt; /mul -> /div -> /norm#2 -> /gt#2; /div -> /div#2 -> /norm#3 -> /gt#3
    /div#2 -> out
    """,
    lambda: torch.ones(1),
    needs_numbers=True,
    decides=True,
)
class LoopOnNumbers(nn.Module):
    def forward(self, x: Tensor) -> Any:
        y = x * 3
        while y.norm() > 1:
            y = y / 2
        return y


@case("in:x -> m:fc -> out", numbers(2, 3), needs_numbers=True, decides=True)
class ComparesTensors(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return x if torch.equal(x, y) or torch.allclose(x, y) else y


@case("in:x -> /mul -> out; in:x -> /gt -> /all", numbers(2, 3), needs_numbers=True)
class OnlyAsserts(nn.Module):
    def forward(self, x: Tensor) -> Any:
        assert (x > -1e9).all()
        return x * 2


@case(
    "in:x -> m:blocks[0][1] -> m:heads['cls'] -> /add -> out; in:x -> m:inner.pair[0] -> m:~ReLU -> /add",
    numbers(2, 3),
)
class LayersInContainers(nn.Module):
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.pair = (nn.Linear(3, 3), nn.Linear(3, 3))

        def forward(self, x: Tensor) -> Any:
            return nn.ReLU()(self.pair[0](x))

    def __init__(self) -> None:
        super().__init__()
        self.blocks = [[nn.ReLU(), nn.Linear(3, 3)]]
        self.heads = {"cls": nn.Linear(3, 3), "a.b": nn.Linear(3, 3)}
        self.inner = self.Inner()

    def forward(self, x: Tensor) -> Any:
        return self.heads["cls"](self.blocks[0][1](x)) + self.inner(x)


@case("in:x -> m:fc -> m:late -> m:~Tanh -> out", numbers(2, 3))
class LayerRegisteredInForward(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        self.late: nn.Module = nn.ReLU()
        y = self.late(self.fc(x))
        self.late = nn.Tanh()
        return self.late(y)


def attends(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
    """Without torch's advice to compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: Tensor = flex_attention(q, k, v, **options)
    return found


@case("in:q -> /mul -> /flex_attention -> m:act -> out; in:q -> /flex_attention", numbers(1, 2, 16, 8))
class FlexAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.act = nn.ReLU()

    def forward(self, q: Tensor) -> Any:
        return self.act(attends(q, q * 1.5, q))


@case("in:q -> /mean -> /flex_attention -> out; in:q -> /flex_attention", numbers(1, 2, 16, 8))
class FlexAttentionWithAScoreOfItsOwn(nn.Module):
    def forward(self, q: Tensor) -> Any:
        slope = q.mean()
        return attends(q, q, q, score_mod=lambda score, b, h, i, j: score + slope * (i - j))


@case("in:q -> /flex_attention -> out", numbers(1, 2, 16, 8))
class FlexAttentionWithMask(nn.Module):
    def forward(self, q: Tensor) -> Any:
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, 16, 16, device="cpu")
        return attends(q, q, q, block_mask=mask)


@case(
    "in:x -> /getitem -> /nested_tensor -> /mul -> /nested_get_values -> out; in:x -> /nested_tensor",
    numbers(2, 3),
    needs_numbers=True,
)
class JaggedTensor(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return (torch.nested.nested_tensor([x, x[:1]], layout=torch.jagged) * 2).values()


@case("in:x -> m:fc -> m:act -> out", lambda: torch.ones(2, 3, requires_grad=True))
class HooksForGradients(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc, self.act = nn.Linear(3, 3), nn.ReLU()
        self.fc.register_full_backward_hook(lambda *args: None)
        self.act.register_full_backward_pre_hook(lambda *args: None)

    def forward(self, x: Tensor) -> Any:
        return self.act(self.fc(x))


@case("in:x -> m:~Linear -> ~Scaled/mul -> out; p:~Scaled.scale -> ~Scaled/mul", numbers(2, 3))
class LayersMadeInForward(nn.Module):
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(3) * 2)

        def forward(self, x: Tensor) -> Any:
            return x * self.scale

    def forward(self, x: Tensor) -> Any:
        return self.Scaled()(nn.Linear(3, 3)(x))


@case("in:x -> /mul -> ~Weighted/matmul -> out; in:x -> ~Weighted/matmul", numbers(3, 3))
class LayerMadeOfData(nn.Module):
    """What a layer is made of is a part of the picture, if it is data."""

    class Weighted(nn.Linear):
        def __init__(self, weight: Tensor) -> None:
            super().__init__(3, 3)
            self.given = weight * 2

        def forward(self, x: Tensor) -> Any:
            return x @ self.given

    def forward(self, x: Tensor) -> Any:
        return self.Weighted(x)(x)


class Cache:
    def __init__(self, keys: Tensor) -> None:
        self.keys = keys
        self._window = keys.new_zeros(())


class Hidden:
    def __init__(self, keys: Tensor) -> None:
        self._keys = keys


@case("in:x -> m:fc -> out:0.keys; m:fc -> out:1._keys; m:fc -> /new_zeros", numbers(2, 3))
class CacheAmongTheOutputs(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return Cache(y), Hidden(y)


@case("in:x -> /add -> /detach -> /deepcopy -> /mul -> out", numbers(2, 3))
class DeepCopyOfTensor(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return copy.deepcopy((x + 1).detach()) * 2
