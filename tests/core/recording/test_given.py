"""What users give besides tensors: caches, data classes, iterators, generators. It is all seen, and stays as it is."""

from __future__ import annotations

import collections
import random
import threading
import types
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.core.recording.nets import Net, op_names, record
from torchrecorder.errors import ForwardError
from torchrecorder.recording.run import capture

X = torch.ones(2, 3)

Pair = NamedTuple("Pair", [("x", Tensor), ("scale", float)])  # noqa: UP014


class Box:
    def __init__(self, x: Any) -> None:
        self.x = x


class Slots:
    __slots__ = ("__private", "unset", "x")

    def __init__(self, x: Tensor) -> None:
        self.x = x
        self.__private = 1


@dataclass(frozen=True)
class Frozen:
    x: Tensor
    more: dict[str, Any] = field(default_factory=dict)


class Output(collections.OrderedDict[str, Any]):
    """Attributes and items are the same, as in transformers."""

    def __init__(self, x: Tensor) -> None:
        super().__init__(x=x)
        self.__dict__["x"] = x

    def __setitem__(self, key: str, value: Any) -> None:
        if "x" in self:
            raise TypeError("frozen")
        super().__setitem__(key, value)


class Listing(list[Any]):
    note = "kept"


class Graphlike:
    """Asked like a mapping, and none; what it holds lies elsewhere."""

    def __init__(self, x: Tensor) -> None:
        self._store = {"x": x}

    def __call__(self) -> None:
        raise AssertionError

    def keys(self) -> list[str]:
        return list(self._store)

    def __getitem__(self, key: str) -> Any:
        return self._store[key]

    def __getattr__(self, name: str) -> Any:
        if name == "_store":
            raise AttributeError
        return self._store[name]


class Trap:
    """Answers to every name."""

    def __init__(self, x: Tensor) -> None:
        self.__dict__["x"] = x

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(f"asked for {name}")

    @property
    def broken(self) -> Any:
        raise RuntimeError("never")

    def __setattr__(self, name: str, value: Any) -> None:
        raise RuntimeError("frozen")

    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("refused")

    __copy__ = __reduce_ex__ = __deepcopy__


class Child:
    def __init__(self, parent: Any, x: Tensor) -> None:
        self.parent = parent
        self.x = x


class Tree:
    def __init__(self, x: Tensor) -> None:
        self.children = [Child(self, x), Child(self, x)]


BOXES: dict[str, tuple[Any, Any, str]] = {
    "object": (Box, lambda box: box.x, "box.x"),
    "object in object": (lambda x: Box(Box([x])), lambda box: box.x.x[0], "box.x.x.0"),
    "slots": (Slots, lambda box: box.x, "box.x"),
    "frozen": (Frozen, lambda box: box.x, "box.x"),
    "nested in frozen": (
        lambda x: Frozen(torch.ones(1), {"a": [Box(x)]}),
        lambda b: b.more["a"][0].x,
        "box.more.a.0.x",
    ),
    "namespace": (lambda x: types.SimpleNamespace(x=x), lambda box: box.x, "box.x"),
    "named tuple": (lambda x: Pair(x, 2.0), lambda box: box.x, "box.x"),
    "items that are attributes": (Output, lambda box: box.x if box["x"] is box.x else None, "box.x"),
    "user dict": (lambda x: collections.UserDict(x=x), lambda box: box["x"], "box.x"),
    "derived list": (lambda x: Listing([x]), lambda box: box[0], "box.0"),
    "default dict": (lambda x: collections.defaultdict(list, x=x), lambda box: box["x"], "box.x"),
    "deque": (lambda x: collections.deque([x], maxlen=3), lambda box: box[0], "box.0"),
    "set": (lambda x: {x}, lambda box: next(iter(box)), "box.0"),
    "proxy": (lambda x: types.MappingProxyType({"x": x}), lambda box: box["x"], "box.x"),
    "graph": (Graphlike, lambda box: box.x, "box.x"),
    "traps": (Trap, lambda box: box.x, "box.x"),
    "distribution": (lambda x: torch.distributions.Laplace(x, 1.0), lambda box: box.loc, "box.loc"),
}


@pytest.mark.parametrize("way", ["real", "fake", "meta"])
@pytest.mark.parametrize("name", BOXES)
def test_a_tensor_in_an_object_is_an_input_and_stays(name: str, way: Any) -> None:
    make, get, path = BOXES[name]
    seen: list[Any] = []

    def body(self: Any, box: Any) -> Any:
        found = get(box)
        seen.append(type(found).__name__ if found.device.type != "meta" else "meta")
        found += 1
        return torch.cos(found)

    x = torch.ones(2, 3)
    graph = record(Net(body, named=True), make(x), run=way)
    assert path.replace("box", "args.0", 1) in graph.inputs
    assert op_names(graph) == ["add_", "cos"]
    assert graph.values[graph.ops[0].inputs[0]].kind == "input"
    assert graph.info.notes == ()
    assert x.tolist() == X.tolist()
    assert seen == [{"real": "Tensor", "fake": "FakeTensor", "meta": "meta"}[way]]


@pytest.mark.transformers
@pytest.mark.parametrize("way", ["real", "fake"])
def test_a_cache_is_not_filled(way: Any) -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.LlamaConfig(
        vocab_size=9, hidden_size=8, intermediate_size=8, num_hidden_layers=2, num_attention_heads=2
    )
    cache = transformers.DynamicCache()
    model = transformers.LlamaForCausalLM(config).eval()
    with torch.no_grad():
        model(torch.tensor([[1, 2]]), past_key_values=cache)
        before = cache.layers[0].keys.clone()
        graph = capture(model, (), {"input_ids": torch.tensor([[3]]), "past_key_values": cache}, run=way)
    assert torch.equal(cache.layers[0].keys, before)
    assert [path for path in graph.inputs if path.endswith("keys")] == [
        "past_key_values.layers.0.keys",
        "past_key_values.layers.1.keys",
    ]
    assert "past_key_values.layers.1.values" in graph.outputs
    assert not any(value.kind == "const" for value in graph.values)


def test_containers_of_the_arguments_are_not_filled() -> None:
    def body(self: Any, x: Tensor, cache: dict[str, Any], states: list[Any]) -> Any:
        cache["x"] = x
        states.append(x)
        return x + 1

    cache: dict[str, Any] = {}
    states: list[Any] = []
    record(Net(body), X, cache, states)
    assert (cache, states) == ({}, [])


class Unseen:
    """Has a finalizer, so there must not be two of it."""

    def __init__(self, x: Tensor) -> None:
        self.x = x

    def __del__(self) -> None:
        pass


def test_what_cannot_be_looked_into_is_said() -> None:
    graph = record(Net(lambda self, x, box: x + box.x), X, Unseen(X))
    assert graph.info.notes == ("not looked into: arguments of class Unseen; tensors in them are drawn as constants",)
    assert record(Net(lambda self, x, box: x + 1), X, Unseen(X)).info.notes == ()
    assert record(Net(lambda self, x, lock: x + 1), X, threading.Lock()).info.notes == ()


def test_objects_that_know_one_another() -> None:
    graph = record(Net(lambda self, tree: tree.children[0].x + tree.children[1].parent.children[1].x), Tree(X))
    assert list(graph.inputs) == ["args.0.children.0.x", "args.0.children.1.x"]
    assert op_names(graph) == ["add"]
    assert len(graph.ops[0].inputs) == 2


def test_a_long_chain_of_objects() -> None:
    chain: Any = Box(X)
    for _ in range(5000):
        chain = Box(chain)
    assert op_names(record(Net(lambda self, x, chain: x + 1), X, chain)) == ["add"]


def test_a_module_among_the_arguments_stays_as_it_is() -> None:
    norm = nn.BatchNorm1d(3)
    graph = record(Net(lambda self, x, layer: layer(x)), X, norm, mode="train")
    assert norm.num_batches_tracked == 0
    assert [call.module for call in graph.calls] == ["", "~BatchNorm1d"]


def test_an_iterator_may_be_left_before_its_end() -> None:
    def numbers() -> Iterator[Tensor]:
        while True:
            yield torch.ones(2, 3) * 2

    graph = record(Net(lambda self, xs: next(xs) + next(xs)), numbers())
    assert list(graph.inputs) == ["args.0.0", "args.0.1"]
    assert op_names(graph) == ["add"]


def test_an_iterator_that_raises() -> None:
    def numbers() -> Iterator[Tensor]:
        yield X
        raise ValueError("no more")

    with pytest.raises(ForwardError, match="no more"):
        capture(Net(lambda self, xs: sum(xs)), (numbers(),))
    assert op_names(record(nn.ReLU(), X)) == ["relu"]


def test_a_result_without_end_is_cut() -> None:
    def body(self: Any, x: Tensor) -> Iterator[Tensor]:
        while True:
            x = x + 1
            yield x

    graph = record(Net(body), X)
    assert len(graph.outputs) == 256
    assert graph.info.notes == ("the forward gives an iterator, of which 256 items were taken",)


class Holder:
    def __init__(self) -> None:
        self.count = 0
        self.last: Any = None


def test_objects_that_the_model_holds_stay_as_they_are() -> None:
    def body(self: Any, x: Tensor) -> Any:
        self.state.count += 1
        self.state.last = x
        self.history += 1
        self.python.random(), self.numpy.random()
        noise = torch.rand(3, generator=self.torch)
        return x + noise

    model = Net(
        body,
        state=Holder(),
        history=np.zeros(3),
        python=random.Random(1),
        numpy=np.random.default_rng(1),
        torch=torch.Generator().manual_seed(1),
    )
    before = model.torch.get_state(), model.python.getstate(), str(model.numpy.bit_generator.state)
    record(model, X)
    assert (model.state.count, model.state.last, model.history.tolist()) == (0, None, [0.0] * 3)
    assert torch.equal(model.torch.get_state(), before[0])
    assert (model.python.getstate(), str(model.numpy.bit_generator.state)) == before[1:]


def test_a_generator_among_the_arguments_does_not_move() -> None:
    generator = torch.Generator().manual_seed(3)
    before = generator.get_state()
    record(Net(lambda self, x, g: x + torch.rand(3, generator=g)), X, generator)
    assert torch.equal(generator.get_state(), before)
