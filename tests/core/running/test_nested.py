"""Nested values: what is found in them, and how they are built anew with other tensors."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, UserDict, defaultdict
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import pytest
import torch
from torch import Tensor, nn

import torchrecorder
from torchrecorder.running.nested import map_tensors, named_tensors
from torchrecorder.torchfunc.hooks import recorders


@dataclasses.dataclass
class Sample(OrderedDict[str, Any]):
    """As diffusers' outputs: a mapping whose items are its fields, and whose constructor needs them."""

    sample: Tensor

    def __post_init__(self) -> None:
        self["sample"] = self.sample


class Batch(dict[str, Any]):
    def __setitem__(self, key: str, value: Any) -> None:
        raise TypeError("this batch is frozen")


@dataclasses.dataclass
class OwnConstructor:
    value: Tensor
    twice: Tensor = dataclasses.field(init=False)

    def __init__(self, value: Tensor, *, factor: float) -> None:
        self.value = value
        self.twice = value * factor
        self.note = "kept"


@dataclasses.dataclass(frozen=True, slots=True)
class Refusing:
    value: Tensor

    def __post_init__(self) -> None:
        if self.value.grad_fn is None:
            raise ValueError("only results are held")


class Pair(tuple[Tensor, Tensor]):
    names: tuple[str, ...]

    def __new__(cls, first: Tensor, second: Tensor) -> Self:
        made = super().__new__(cls, (first, second))
        made.names = ("first", "second")
        return made


class Named(NamedTuple):
    value: Tensor
    note: str


class Rows(list[Any]):
    def __init__(self, items: list[Any], *, width: int) -> None:
        super().__init__(items)
        self.width = width


class Closed(dict[str, Any]):
    """Cannot be made without its constructor."""

    __slots__ = ("owner",)

    def __init__(self, value: Tensor) -> None:
        super().__init__(value=value)


MAKERS = {
    "mapping of fields": Sample,
    "frozen dict": lambda x: Batch({"value": x}),
    "default dict": lambda x: defaultdict(list, value=x),
    "ordered dict": lambda x: OrderedDict(value=x),
    "UserDict": lambda x: UserDict({"value": x}),
    "mapping proxy": lambda x: MappingProxyType({"value": x}),
    "dict with slots": Closed,
    "dataclass with a constructor": lambda x: OwnConstructor(x, factor=2),
    "dataclass that refuses": lambda x: Refusing(x * 1),
    "tuple with a constructor": lambda x: Pair(x, x * 2),
    "named tuple": lambda x: Named(x, "note"),
    "result of torch": lambda x: x.max(0),
    "list with a constructor": lambda x: Rows([x, [x]], width=3),
}


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_built_anew_without_the_constructor(make: Any) -> None:
    value = make(torch.rand(3, 2, requires_grad=True))
    new = map_tensors(value, lambda tensor: tensor + 1 if tensor.is_floating_point() else tensor)
    assert type(new) is type(value)
    pairs = list(zip(named_tensors(value), named_tensors(new), strict=True))
    assert pairs
    for (path, old), (new_path, mapped) in pairs:
        assert path == new_path
        assert torch.equal(mapped, old + 1 if old.is_floating_point() else old)
    if isinstance(value, Sample):
        assert new.sample is new["sample"]
    for name in ("note", "names", "width", "default_factory"):
        assert getattr(new, name, None) == getattr(value, name, None)


def test_what_cannot_be_built_anew_stays() -> None:
    class Stubborn(UserDict[str, Any]):
        def __copy__(self) -> Any:
            raise RuntimeError("one of a kind")

    value = Stubborn({"value": torch.ones(1)})
    assert map_tensors(value, lambda tensor: tensor + 1) is value


class Giving(nn.Module):
    """Hands an object of some class from layer to layer, and gives it."""

    def __init__(self, make: Any) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.wrap = Wrap(make)
        self.unwrap = Unwrap()

    def forward(self, x: Tensor) -> Any:
        out = self.wrap(self.linear(x))
        self.unwrap(out)
        return out


class Wrap(nn.Module):
    def __init__(self, make: Any) -> None:
        super().__init__()
        self.make = make

    def forward(self, x: Tensor) -> Any:
        return self.make(x)


class Unwrap(nn.Module):
    def forward(self, value: Any) -> Tensor:
        return next(tensor for _, tensor in named_tensors(value)) * 2


@pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)
def test_recorders_do_not_disturb_such_outputs(make: Any) -> None:
    net = Giving(make)
    rec = torchrecorder.record(net, "net", (3, 4))
    names = {node.name.partition("-")[0] for node in rec.nodes.values()}
    assert {"Input", "Output"} <= names
    found = [recorders.BackwardInput(), recorders.BackwardOutput()]
    for recorder in found:
        recorder.modules(net)
    out = net(torch.rand(3, 4))
    assert type(out) is type(make(torch.ones(3, 4, requires_grad=True)))
    sum(tensor.sum() for _, tensor in named_tensors(out) if tensor.requires_grad).backward()  # type: ignore[union-attr]
    for recorder in found:
        assert len(recorder.data[2]) == 1  # what Wrap was called with, and what it gave
