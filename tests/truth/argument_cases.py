"""The truth about what goes in and comes out: signatures, containers, objects, iterators; see `case`."""

from __future__ import annotations

import collections
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence

from tests.truth.case import Cases
from tests.truth.layers import OneLayer, numbers

CASES = Cases()
case = CASES.case


@case("in:a -> m:sub.fc -> sub/add -> out; in:b -> sub/add", a=numbers(2, 3), b=numbers(2, 3))
class KeywordsOnly(nn.Module):
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, *, left: Tensor, right: Tensor) -> Any:
            return self.fc(left) + right

    def __init__(self) -> None:
        super().__init__()
        self.sub = self.Inner()

    def forward(self, *, a: Tensor, b: Tensor) -> Any:
        return self.sub(left=a, right=b)


@case(
    "in:xs.0 -> /cat; in:xs.1 -> /cat; /cat -> m:fc -> out",
    lambda: [torch.randn(2, 2), torch.randn(2, 1)],
)
class ListInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, xs: list[Tensor]) -> Any:
        return self.fc(torch.cat(xs, 1))


@case("in:x -> m:enc.fc -> out:h; m:enc.fc -> enc/relu -> out:aux.r", numbers(2, 3))
class DictOutput(nn.Module):
    class Encoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Any:
            h = self.fc(x)
            return {"h": h, "aux": {"r": F.relu(h), "k": 3}}

    def __init__(self) -> None:
        super().__init__()
        self.enc = self.Encoder()

    def forward(self, x: Tensor) -> Any:
        return self.enc(x)


@case("in:x -> m:fc -> /add -> /add#2 -> out; in:rest.0 -> /add; in:rest.1 -> /add#2", *[numbers(2, 3)] * 3)
class StarArguments(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor, *rest: Tensor) -> Any:
        x = self.fc(x)
        for other in rest:
            x = x + other
        return x


@case("in:x -> m:fc -> out", numbers(2, 3))
class DefaultArguments(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor, mask: Tensor | None = None, scale: float = 1.0) -> Any:
        x = self.fc(x)
        return x if mask is None else x * mask


class Pair(NamedTuple):
    first: Tensor
    second: Tensor | None


@case("in:x -> m:fc -> out:first", numbers(2, 3))
class NamedResult(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return Pair(self.fc(x), None)


@dataclass
class Result:
    logits: Tensor
    states: tuple[Tensor, ...]
    loss: Tensor | None = None


@case("in:x -> m:fc -> out:logits; m:fc -> /tanh -> out:states.0; in:x -> out:states.1", numbers(2, 3))
class DataclassResult(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return Result(y, (torch.tanh(y), x))


class Batch:
    def __init__(self, x: Tensor) -> None:
        self.x = x


@case("in:batch.x -> m:fc -> out", lambda: Batch(torch.randn(2, 3)), needs_numbers=True)
class CustomObject(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, batch: Batch) -> Any:
        return self.fc(batch.x)


SAME, BASE = torch.ones(2, 3), torch.ones(2, 3)


class Box:
    def __init__(self, x: Tensor, y: Tensor | None = None) -> None:
        self.x = x
        self.y = y


class Slotted:
    __slots__ = ("_hidden", "x")

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self._hidden = 3


@dataclass(frozen=True, slots=True)
class Frozen:
    x: Tensor
    scale: float = 2.0


class Cache:
    """A cache of keys as transformers' have it: layers in a list, written to in the forward."""

    class Layer:
        def __init__(self, keys: Tensor) -> None:
            self.keys = keys

    def __init__(self, *keys: Tensor) -> None:
        self.layers = [self.Layer(k) for k in keys]

    def update(self, keys: Tensor, layer: int) -> Tensor:
        self.layers[layer].keys = torch.cat([self.layers[layer].keys, keys])
        return self.layers[layer].keys


@case("in:box.x -> m:fc -> /add -> out; in:box.y -> /add", lambda: Box(torch.randn(2, 3), torch.randn(2, 3)))
class TensorsInObject(OneLayer):
    def forward(self, box: Box) -> Any:
        return self.fc(box.x) + box.y


@case("in:box.x -> m:fc -> out", lambda: Slotted(torch.randn(2, 3)))
class TensorInSlots(OneLayer):
    def forward(self, box: Slotted) -> Any:
        return self.fc(box.x)


@case("in:box.x -> m:fc -> /mul -> out", lambda: Frozen(torch.randn(2, 3)))
class TensorInFrozenDataclass(OneLayer):
    def forward(self, box: Frozen) -> Any:
        return self.fc(box.x) * box.scale


@case("in:boxes.0.a.x -> m:fc -> out", lambda: [{"a": Box(torch.randn(2, 3))}])
class TensorInNestedObject(OneLayer):
    def forward(self, boxes: list[dict[str, Box]]) -> Any:
        return self.fc(boxes[0]["a"].x)


@case("in:space.x -> m:fc -> out", lambda: types.SimpleNamespace(x=torch.randn(2, 3)))
class TensorInNamespace(OneLayer):
    def forward(self, space: Any) -> Any:
        return self.fc(space.x)


@case("in:queue.0 -> m:fc -> /add -> out; in:queue.1 -> /add", lambda: collections.deque(torch.randn(2, 2, 3)))
class TensorsInDeque(OneLayer):
    def forward(self, queue: Any) -> Any:
        return self.fc(queue.popleft()) + queue.popleft()


@case("in:only.0 -> m:fc -> out", lambda: {torch.ones(2, 3)})
class TensorInSet(OneLayer):
    def forward(self, only: set[Tensor]) -> Any:
        return self.fc(only.pop())


@case("in:batch.x -> m:fc -> out", lambda: collections.UserDict(x=torch.randn(2, 3)))
class TensorInUserDict(OneLayer):
    def forward(self, batch: Any) -> Any:
        return self.fc(batch["x"])


@case(
    """in:x -> m:fc -> /cat -> out:0; in:cache.layers.0.keys -> /cat -> out:1.layers.0.keys
    in:cache.layers.1.keys -> out:1.layers.1.keys""",
    numbers(1, 3),
    lambda: Cache(torch.randn(2, 3), torch.randn(2, 3)),
)
class KeyCache(OneLayer):
    def forward(self, x: Tensor, cache: Cache) -> Any:
        return cache.update(self.fc(x), 0), cache


@case(
    "in:x -> m:fc -> /copy_ -> /sum -> out; in:cache.layers.0.keys -> /copy_",
    numbers(2, 3),
    lambda: Cache(torch.randn(2, 3)),
)
class CacheInPlace(OneLayer):
    # Nothing is read of what is overwritten, but the target of an edge "reads or overwrites" it.
    def forward(self, x: Tensor, cache: Cache) -> Any:
        cache.layers[0].keys.copy_(self.fc(x))
        return cache.layers[0].keys.sum()


class Fields(NamedTuple):
    x: Tensor
    mask: Tensor | None = None


@case("in:fields.x -> m:fc -> out", lambda: Fields(torch.randn(2, 3)))
class NamedTupleInput(OneLayer):
    def forward(self, fields: Fields) -> Any:
        return self.fc(fields.x)


@case(
    """in:packed.data -> m:rnn; in:packed.batch_sizes -> m:rnn
    m:rnn -> out:data; m:rnn -> out:batch_sizes""",
    lambda: pack_padded_sequence(torch.randn(3, 2, 4), torch.tensor([3, 2])),
    needs_numbers=True,
    leaves=True,
)
class PackedInput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(4, 4)

    def forward(self, packed: PackedSequence) -> Any:
        return self.rnn(packed)[0]


@case("in:x -> m:fc -> out:x; m:fc -> /mul -> out:y", numbers(2, 3))
class ObjectOutput(OneLayer):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return Box(y, y * 2)


@case("in:a -> /add -> out; in:b -> /add", *[lambda: SAME] * 2)
class SameTensorTwice(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Any:
        return a + b


@case("in:a -> /add_ -> /mul -> out; in:b -> /mul", lambda: BASE, lambda: BASE[0])
class ArgumentsShareMemory(nn.Module):
    def forward(self, a: Tensor, b: Tensor) -> Any:
        a.add_(1)
        return b * 2


@case("in:xs.0 -> m:fc -> /add -> out; in:xs.1 -> m:fc#2 -> /add", lambda: iter([torch.ones(2, 3), torch.ones(2, 3)]))
class IteratorInput(OneLayer):
    def forward(self, xs: Iterator[Tensor]) -> Any:
        return self.fc(next(xs)) + self.fc(next(xs))


@case("in:xs.0 -> m:fc -> /stack; in:xs.1 -> m:fc#2 -> /stack -> out", lambda: (torch.ones(3) for _ in range(2)))
class GeneratorInput(OneLayer):
    def forward(self, xs: Iterator[Tensor]) -> Any:
        return torch.stack([self.fc(x) for x in xs])


@case("in:x -> m:fc -> out:0; m:fc -> m:fc#2 -> out:1", numbers(2, 3))
class GeneratorForward(OneLayer):
    def forward(self, x: Tensor) -> Iterator[Tensor]:
        for _ in range(2):
            x = self.fc(x)
            yield x


@case("in:x -> m:fc -> out:0; in:x -> m:fc#2 -> /relu -> out:1", numbers(2, 3))
class LazyResult(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return (f(self.fc(x)) for f in (lambda y: y, F.relu))


@case("in:x -> m:fc -> m:fc#2 -> out", numbers(2, 3))
class GeneratorInside(OneLayer):
    def steps(self, x: Tensor) -> Iterator[Tensor]:
        for _ in range(2):
            x = self.fc(x)
            yield x

    def forward(self, x: Tensor) -> Any:
        return list(self.steps(x))[-1]


@case("in:x -> m:fc -> /add -> out; in:y -> /add", numbers(2, 3), numbers(2, 3))
class PositionalOnly(OneLayer):
    def forward(self, x: Tensor, /, y: Tensor) -> Any:
        return self.fc(x) + y


@case("in:x -> m:fc -> /add -> out; in:other -> /add", numbers(2, 3), other=numbers(2, 3))
class KeywordRest(OneLayer):
    def forward(self, x: Tensor, **kwargs: Tensor) -> Any:
        return self.fc(x) + kwargs["other"]


@case("in:x -> /mul -> out; in:scale -> /mul", numbers(2, 3), lambda: torch.tensor(2.0))
class ZeroDimensional(nn.Module):
    def forward(self, x: Tensor, scale: Tensor) -> Any:
        return x * scale


@case("in:pair.0 -> /add -> out; in:pair.1.k -> /add", lambda: (torch.ones(2), {"k": torch.ones(2)}))
class NestedInput(nn.Module):
    def forward(self, pair: Any) -> Any:
        return pair[0] + pair[1]["k"]


@case("in:x -> out:0; in:x -> out:1; in:x -> m:fc -> out:2", numbers(2, 3))
class ReturnsInputTwice(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return x, x, self.fc(x), None


@case("in:x -> m:fc -> /max -> out:0; /max -> out:1", numbers(2, 3))
class ReturnType(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return self.fc(x).max(1)


@case("in:x -> m:rnn -> out", numbers(5, 2, 4))  # fmt: skip
class OnlyResult(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 4, 2, bidirectional=True)

    def forward(self, x: Tensor) -> Any:
        y, _ = self.rnn(x)
        return y
