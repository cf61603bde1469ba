"""The truth about which modules run, and when: loops, branches, repeated and hidden layers, hooks; see `case`."""

from __future__ import annotations

import functools
from contextlib import nullcontext
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.truth.case import Cases
from tests.truth.layers import OneLayer, numbers

CASES = Cases()
case = CASES.case


@case("in:x -> m:lin -> m:lin#2 -> m:lin#3 -> out", numbers(2, 3))
class SharedLeaf(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return self.lin(self.lin(self.lin(x)))


@case("in:x -> /mul -> out", numbers(2, 3))
class SquareSelf(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x * x


@case("in:x -> out", numbers(2, 3))
class ReturnsInput(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x


@case("in:x -> m:fc -> out", numbers(2, 3), numbers(2, 3), lone=("in:unused",))
class UnusedInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor, unused: Tensor) -> Any:
        return self.fc(x)


@case("in:x -> m:proj -> /chunk -> /sigmoid -> /mul -> out; /chunk -> /mul", numbers(2, 4))
class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.proj = nn.Linear(4, 8)

    def forward(self, x: Tensor) -> Any:
        a, b = self.proj(x).chunk(2, -1)
        return a * torch.sigmoid(b)


@case("in:x -> m:cell -> m:cell#2 -> m:cell#3 -> out; in:x -> m:cell#2; in:x -> m:cell#3", numbers(2, 3))
class CellLoop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(3, 3)

    def forward(self, x: Tensor) -> Any:
        h = None
        for _ in range(3):
            h = self.cell(x, h)
        return h


@case("in:x -> m:layers[0] -> m:layers[1] -> out", numbers(2, 3))
class PythonList(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = [nn.Linear(3, 3), nn.Linear(3, 3)]

    def forward(self, x: Tensor) -> Any:
        for layer in self.layers:
            x = layer(x)
        return x


@case("in:x -> m:fc -> m:act -> out", numbers(2, 3))
class ReplacingHook(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.act = nn.ReLU()
        self.fc.register_forward_hook(lambda module, args, out: out * 2)

    def forward(self, x: Tensor) -> Any:
        return self.act(self.fc(x))


@case("in:x -> m:a -> /stack -> out; in:x -> m:a#2 -> /stack; in:x -> m:b -> /stack", numbers(2, 3))
class Comprehension(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return torch.stack(list(layer(x) for layer in (self.a, self.a, self.b)))  # noqa: C400


@case(
    """in:tgt -> m:layer.self_attn -> m:layer.dropout1 -> layer/add -> m:layer.norm1 -> m:layer.multihead_attn
    in:tgt -> layer/add; in:memory -> m:layer.multihead_attn -> m:layer.dropout2 -> layer/add#2 -> m:layer.norm2
    m:layer.norm1 -> layer/add#2; m:layer.norm2 -> m:layer.linear1 -> layer/relu -> m:layer.dropout
    m:layer.dropout -> m:layer.linear2 -> m:layer.dropout3 -> layer/add#3 -> m:layer.norm3 -> out
    m:layer.norm2 -> layer/add#3""",
    numbers(2, 4, 8),
    numbers(2, 5, 8),
)
class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)

    def forward(self, tgt: Tensor, memory: Tensor) -> Any:
        return self.layer(tgt, memory)


@case("in:x -> m:pool -> m:unpool -> out", numbers(1, 1, 4, 4))
class IndicesBetweenLayers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.MaxPool2d(2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2)

    def forward(self, x: Tensor) -> Any:
        return self.unpool(*self.pool(x))


@case("in:x -> m:sub.fc -> sub/add -> /mul -> out", numbers(2, 3))
class OtherMethod(nn.Module):
    # `encode` is not the forward: what it computes belongs to the caller, the layer it calls to itself.
    class Inner(OneLayer):
        def forward(self, x: Tensor) -> Any:
            return self.fc(x) + 1

    def __init__(self) -> None:
        super().__init__()
        self.sub = self.Inner()

    def encode(self, x: Tensor) -> Any:
        return self.sub(x) * 2

    def forward(self, x: Tensor) -> Any:
        return self.encode(x)


@case("in:x -> m:rnn -> out:0; m:rnn -> out:1; in:h -> m:rnn", numbers(5, 2, 4), numbers(1, 2, 4))
class RecurrentState(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(4, 4)

    def forward(self, x: Tensor, h: Tensor) -> Any:
        return self.rnn(x, h)


@case(
    "in:x -> /unbind -> m:cell -> m:cell#2 -> /stack -> out; m:cell -> /stack; /unbind -> m:cell#2",
    numbers(2, 3, 4),
)
class UnrolledCell(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 4)

    def forward(self, x: Tensor) -> Any:
        states, outputs = None, []
        for step in x.unbind():
            states = self.cell(step, states)
            outputs.append(states[0])
        return torch.stack(outputs)


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


@case("in:x -> m:a -> /add -> out; in:x -> m:b -> /add; in:x -> m:c", numbers(2, 3))
class Branches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(3, 3) for _ in range(3))

    def forward(self, x: Tensor) -> Any:
        a, b, _ = [layer(x) for layer in (self.a, self.b, self.c)]
        return a + b


@case("in:x -> m:fc -> m:fc#2 -> out", numbers(2, 3))
class PartialLayer(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return functools.partial(self.fc)(self.fc(x))


@case("in:x -> m:sub.fc -> sub/relu -> out", numbers(2, 3))
class ForwardReplaced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.sub = OneLayer()
        self.sub.forward = lambda x: F.relu(self.sub.fc(x))

    def forward(self, x: Tensor) -> Any:
        return self.sub(x)


@case("in:x -> m:a -> m:b -> out", numbers(2, 3))
class ModulesFromAttributes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for name in "ab":
            setattr(self, name, nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Any:
        for name in "ab":
            x = getattr(self, name)(x)
        return x


@case("in:x -> m:hidden[0].0 -> m:hidden[0].1 -> out", numbers(2, 3))
class HiddenSequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = [nn.Sequential(nn.Linear(3, 3), nn.ReLU())]

    def forward(self, x: Tensor) -> Any:
        return self.hidden[0](x)


@case("in:x -> m:fc -> /add -> out; in:x -> /relu -> /add", numbers(2, 3))
class ResultOfBranch(OneLayer):
    def forward(self, x: Tensor) -> Any:
        with torch.enable_grad() if torch.is_grad_enabled() else nullcontext():
            y = self.fc(x)
        return y + torch.relu(x)


@case("in:x -> m:rnn -> out", numbers(3, 2, 4))
class HiddenOnly(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 4)

    def forward(self, x: Tensor) -> Any:
        _, (h, _) = self.rnn(x)
        return h


@case("in:a -> m:fc -> out", numbers(2, 3), lone=("in:b.0", "in:b.1"), b=lambda: [torch.ones(1), torch.ones(1)])
class UnusedList(OneLayer):
    def forward(self, a: Tensor, b: list[Tensor]) -> Any:
        return self.fc(a)


@case("in:x -> m:sub.fc -> /add -> out; in:x -> sub/mul -> /add", numbers(2, 3))
class TuplePassed(nn.Module):
    class Inner(OneLayer):
        def forward(self, pair: tuple[Tensor, Tensor]) -> Any:
            x, y = pair
            return self.fc(x), y * 2

    def __init__(self) -> None:
        super().__init__()
        self.sub = self.Inner()

    def forward(self, x: Tensor) -> Any:
        a, b = self.sub((x, x))
        return a + b


@case("in:pair.0 -> out:0; in:pair.1 -> m:sub.fc -> out:1", lambda: (torch.ones(2, 3), torch.ones(2, 3)))
class HalfOfTuplePassed(nn.Module):
    class Inner(OneLayer):
        def forward(self, pair: tuple[Tensor, Tensor]) -> Any:
            return pair[0], self.fc(pair[1])

    def __init__(self) -> None:
        super().__init__()
        self.sub = self.Inner()

    def forward(self, pair: tuple[Tensor, Tensor]) -> Any:
        return self.sub(pair)


@case("in:x -> m:a -> m:act -> /add -> out; in:x -> /add", numbers(2, 3))
class ActivationForEffect(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.act = nn.Linear(3, 3), nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Any:
        y = self.a(x)
        self.act(y)
        return y + x


@case("in:x -> m:a -> out", numbers(2, 3), lone=("m:b",))
class FailsAndGoesOn(nn.Module):
    # The call that failed is seen, though it gave nothing.
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)
        self.b = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Any:
        try:
            return self.b(x)
        except RuntimeError:
            return self.a(x)


@case(
    """in:x -> m:experts.0 -> /mul -> /add -> out; in:x -> m:gate -> /softmax -> /unbind -> /getitem -> /mul
    in:x -> m:experts.1 -> /mul#2 -> /add; /unbind -> /getitem#2 -> /mul#2""",
    numbers(2, 3),
)
class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(3, 2)
        self.experts = nn.ModuleList([nn.Linear(3, 3), nn.Linear(3, 3)])

    def forward(self, x: Tensor) -> Any:
        a, b = self.gate(x).softmax(-1).unbind(1)
        return self.experts[0](x) * a[:, None] + self.experts[1](x) * b[:, None]


@case("in:x -> m:fc -> /add -> out; in:x -> m:fc#2 -> /add", numbers(2, 3))
class CalledInLambda(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return self.fc(x) + (lambda: self.fc(x))()
