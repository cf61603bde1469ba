"""A second run, with a batch twice as large, says which sizes are the batch; where it differs, numbers stay."""

from __future__ import annotations

import copy
import functools
import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.core.recording.nets import Net, record
from torchrecorder.graph import Graph, batch_size, from_json, symbolic, to_json
from torchrecorder.recording.batch import axes
from torchrecorder.recording.session import Session

NOTED: dict[str, Any] = {}
IMAGE = torch.ones(1, 3, 8, 8)
WORDS = torch.ones(1, 5, 8)


def results(graph: Graph) -> list[str]:
    """The shape of each operation's first result."""
    metas = [symbolic(graph, op.outputs[0]) for op in graph.ops]
    return ["×".join(map(str, meta.shape)) for meta in metas if meta is not None]


def last(graph: Graph) -> str:
    return results(graph)[-1]


class TestSizes:
    def test_convolution_to_classes(self) -> None:
        net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        graph = record(net.append(nn.Linear(36, 2)), IMAGE)
        assert results(graph) == ["B×4×6×6", "B×4×6×6", "B×4×6×6", "B×4×3×3", "B×36", "B×2"]
        assert batch_size(graph) == 1
        assert graph.values[graph.ops[0].outputs[0]].meta.shape == (1, 4, 6, 6)  # type: ignore[union-attr]

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (lambda self, x: torch.cat((x, x)), "2B×5×8"),
            (lambda self, x: x.view(x.shape[0] * 5, 8), "5B×8"),
            (lambda self, x: x.repeat(12, 1, 1), "B·12×5×8"),
            (lambda self, x: x.view(1, -1), "1×B·40"),
            (lambda self, x: x.transpose(0, 1), "5×B×8"),
            (lambda self, x: x.flatten(1) @ x.flatten(1).T, "B×B"),
            (lambda self, x: x.mean((1, 2)), "B"),
            (lambda self, x: x[:, 0], "B×8"),
            (lambda self, x: torch.zeros(x.shape[0], 3) + x.sum(), "B×3"),
            (lambda self, x: F.scaled_dot_product_attention(x, x, x), "B×5×8"),
            (lambda self, x: torch.einsum("bij,bkj->bik", x, x), "B×5×5"),
            (lambda self, x: x.sum(), ""),
        ],
    )
    def test_operations(self, body: Callable[..., Any], expected: str) -> None:
        assert last(record(Net(body), WORDS)) == expected

    def test_a_part_of_the_batch(self) -> None:
        assert results(record(Net(lambda self, x: x.chunk(2)[0] + 1), torch.ones(4, 3))) == ["B/2×3", "B/2×3"]

    @pytest.mark.parametrize("way", ["real", "fake", "meta"])
    def test_attention_with_the_batch_first_or_not(self, way: Any) -> None:
        assert record(nn.MultiheadAttention(8, 2, batch_first=True), *[WORDS] * 3, run=way).batch
        # here the first axis is a sequence
        assert not record(nn.MultiheadAttention(8, 2), *[WORDS] * 3, run=way).batch

    @pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
    def test_recurrent_layers_with_the_batch_first_or_not(self, layer: Any) -> None:
        assert last(record(layer(8, 2, batch_first=True), WORDS)) == "B×5×2"
        assert not record(layer(8, 2), WORDS).batch

    def test_a_position_table_and_a_class_token(self) -> None:
        def body(self: Any, ids: Tensor) -> Any:
            x = self.table(ids) + self.position(torch.arange(ids.shape[1]))
            return torch.cat((self.token.expand(len(x), -1, -1), x), 1)

        parts = {
            "table": nn.Embedding(9, 4),
            "position": nn.Embedding(7, 4),
            "token": nn.Parameter(torch.ones(1, 1, 4)),
        }
        graph = record(Net(body, **parts), torch.ones(1, 5, dtype=torch.long))
        assert results(graph) == ["B×5×4", "5", "5×4", "B×5×4", "B×1×4", "B×6×4"]

    def test_what_was_asked_of_numbers_has_the_same_answer(self) -> None:
        assert last(record(Net(lambda self, x: x * 2 if (x > 0).all() else x - 1), WORDS)) == "B×5×8"

    def test_an_identity_and_a_write(self) -> None:
        def body(self: Any, x: Tensor) -> Any:
            x = self.same(x + 0)
            x[:, 0] = 2
            return F.relu(x, inplace=True)

        assert set(results(record(Net(body, same=nn.Identity()), WORDS))) == {"B×5×8"}

    @pytest.mark.parametrize("grad", [torch.no_grad, torch.enable_grad, torch.inference_mode])
    def test_every_grad_mode(self, grad: Callable[[], Any]) -> None:
        with grad():
            assert last(record(nn.Linear(8, 2), WORDS)) == "B×5×2"


def by_size(self: Any, x: Tensor) -> Any:
    return x + 1 if x.shape[0] == 1 else x.cos()


NUMBERS_STAY: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "another first axis": (lambda self, x, y: x.sum() + y, (WORDS, torch.ones(3))),
    "other operations": (by_size, (WORDS,)),
    "other axes": (lambda self, x: x.squeeze(), (WORDS,)),
    "neither equal nor twice": (lambda self, x: torch.cat((x, torch.ones(1, 5, 8))), (WORDS,)),
    "numbers asked of each example": (lambda self, x: x * x.flatten(1).sum(1).item(), (WORDS,)),
    "numbers of numpy": (lambda self, x: x + torch.from_numpy(x.numpy()), (WORDS,)),
    "indices by numbers": (lambda self, x: x[x > 0], (WORDS,)),
    "an iterator": (lambda self, x: next(x) + 1, (iter([WORDS]),)),
    "written attention of one sequence": (lambda self, x: (x @ x.T).softmax(-1) @ x, (torch.ones(4, 8),)),
}


@pytest.mark.parametrize("name", NUMBERS_STAY)
def test_numbers_stay(name: str) -> None:
    body, args = NUMBERS_STAY[name]
    graph = record(Net(body), *args)
    assert graph.batch == {}
    assert graph.info.failure is None


def test_a_graph_of_many_operations_is_not_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    net = Net(lambda self, x: x.view(len(x), -1) + 1)
    assert record(net, WORDS).batch
    monkeypatch.setattr(axes, "_MOST_OPS", 1)
    assert not record(net, WORDS).batch


def test_it_stops_when_it_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(axes, "_LEAST_S", 0.0)
    monkeypatch.setattr(axes, "_SHARE", 0.0)
    assert not record(Net(lambda self, x: x.view(len(x), -1)), WORDS).batch


LAYERS = {
    "convolution": nn.Conv2d(3, 4, 3),
    "norm": nn.BatchNorm2d(3),
    "norm of layers": nn.LayerNorm(8),
    "linear": nn.Linear(8, 2),
}
ALONE: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(LAYERS, lambda self, x: self.layer(x)),
    "pooled": lambda self, x: F.adaptive_avg_pool2d(F.max_pool2d(x, 2), 1).flatten(1),
    "enlarged": lambda self, x: F.interpolate(x, scale_factor=2) * 2,
    "combined": lambda self, x: torch.ones(3, 1, 1) * x + x.relu(),
    "combined with one of its own": lambda self, x: torch.ones(1, 3, 8, 8) + x,
    "in place": lambda self, x: (x + 0).mul_(2).relu_(),
    "joined": lambda self, x: torch.cat((x, x.sigmoid()), 1),
    "joined from the end": lambda self, x: torch.cat((x, x.sigmoid()), dim=-1),
    "means": lambda self, x: x.mean((2, 3)) + x.mean(dim=[-2, -1]) + x.sum(3).sum(2),
    "moved": lambda self, x: x.transpose(1, 2).permute(0, 3, 1, 2).unsqueeze(2).squeeze(2).unsqueeze(-1),
    "parts": lambda self, x: (lambda a, b: a + b)(*x.split(4, 3)) + x.chunk(2, dim=3)[0].mean(3, keepdim=True),
}
"""What is said of the batch without a second run."""
TOGETHER: dict[str, Callable[..., Any]] = {
    "norm of all": lambda self, x: F.layer_norm(x, (1, 3, 8, 8)),
    "norm of all with weights": lambda self, x: F.layer_norm(x, (1, 3, 8, 8), torch.ones(1, 3, 8, 8)),
    "joined examples": lambda self, x: torch.cat((x, x)),
    "joined examples by name": lambda self, x: torch.cat((x, x), dim=-4),
    "mean of all": lambda self, x: x.mean(),
    "mean of the batch": lambda self, x: x.mean((0, 2)),
    "moved": lambda self, x: x.transpose(0, 1),
    "moved by permute": lambda self, x: x.permute(1, 0, 2, 3),
    "examples apart": lambda self, x: x.flatten(),
    "without the axis": lambda self, x: x.squeeze(0).unsqueeze(0),
    "an axis before": lambda self, x: x.unsqueeze(-5),
    "an axis before it": lambda self, x: x.unsqueeze(0),
    "convolution with itself": lambda self, x: F.conv2d(x, x),
    "combined with more": lambda self, x: x + torch.ones(5, 3, 8, 8),
    "combined with more axes": lambda self, x: x + torch.ones(2, 1, 3, 8, 8),
    "no batch": lambda self, x: F.conv2d(x.sum(0), torch.ones(1, 3, 3, 3)),
    "written into one of its own": lambda self, x: torch.zeros(1, 3, 8, 8).add_(x),
    "numbers": lambda self, x: x.view(1, -1),
}


class TestRules:
    @pytest.mark.parametrize("name", ALONE)
    def test_no_second_run_where_examples_stay_alone(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        net = Net(ALONE[name], layer=LAYERS.get(name))
        handle = net.register_forward_hook(lambda module, args, out: None)  # with it there is no second run
        found = record(net, IMAGE)
        handle.remove()
        monkeypatch.setattr(Session, "batch_by_rules", lambda self, graph: None)
        assert found.batch == record(net, IMAGE).batch != {}

    @pytest.mark.parametrize("name", TOGETHER)
    def test_a_second_run_where_they_do_not(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        found = record(Net(TOGETHER[name]), IMAGE)
        monkeypatch.setattr(Session, "batch_by_rules", lambda self, graph: None)
        assert found.batch == record(Net(TOGETHER[name]), IMAGE).batch


class TestNothingStays:
    def test_state_of_the_model(self) -> None:
        def body(self: Any, x: Tensor) -> Any:
            self.times += 1
            self.cache = x * self.weight
            self.seen.append(x)
            self.counter.add_(x.shape[0])
            with torch.no_grad():
                self.weight.mul_(2)
            return self.norm(self.cache + self.counter)

        net = Net(body, weight=nn.Parameter(torch.ones(8)), norm=nn.BatchNorm1d(5))
        net.register_buffer("counter", torch.zeros(()))
        net.times, net.seen = 0, []
        before, names = copy.deepcopy(net.state_dict()), [*vars(net)]
        tensors = [*net.state_dict(keep_vars=True).values()]
        assert record(net, WORDS, mode="train").batch
        assert (net.times, net.seen, [*vars(net)]) == (0, [], names)
        after = net.state_dict(keep_vars=True)
        assert all(one is other for one, other in zip(after.values(), tensors, strict=True))
        assert all(torch.equal(before[name], after[name]) for name in before)
        assert net(WORDS).device.type == "cpu"

    def test_a_cache_by_size_keeps_numbers(self) -> None:
        @functools.lru_cache
        def grid(examples: int) -> Tensor:
            return torch.arange(examples) * 2

        graph = record(Net(lambda self, x: x + grid(x.shape[0])[:, None, None]), WORDS)
        assert last(graph) == "B×5×8"
        assert grid(2).tolist() == [0, 2]

    def test_random_numbers_and_what_is_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        def body(self: Any, x: Tensor) -> Any:
            print("once")
            x = x.view(len(x), -1)
            return x + 1 if random.random() < 0.5 else x.cos()

        random.seed(3)
        torch.manual_seed(3)
        expected = random.random(), torch.rand(1)
        random.seed(3)
        torch.manual_seed(3)
        assert record(Net(body), WORDS).batch
        assert (random.random(), torch.rand(1)) == expected
        assert capsys.readouterr().out == "once\n"

    def test_a_hook_that_collects_is_called_once(self) -> None:
        seen: list[Any] = []
        layer = nn.Linear(8, 2)
        layer.register_forward_hook(lambda module, args, out: seen.append(out.shape))
        assert not record(nn.Sequential(layer), WORDS).batch
        assert len(seen) == 1

    @pytest.mark.parametrize("way", ["real", "fake"])
    def test_what_a_forward_closes_over_is_changed_once(self, way: Any) -> None:
        seen: list[Any] = ["before"]
        times = 0

        def appends(self: Any, x: Tensor) -> Any:
            seen.append("now")
            return x.view(len(x), -1)

        def counts(self: Any, x: Tensor) -> Any:
            nonlocal times
            times += 1
            return x.view(len(x), -1)

        def notes(self: Any, x: Tensor) -> Any:
            NOTED["shape"] = tuple(x.shape)
            return x + 1

        for body in (appends, counts, notes):
            assert not record(Net(body), WORDS, run=way).batch
        assert (seen, times, NOTED) == (["before", "now"], 1, {"shape": (1, 5, 8)})
        NOTED.clear()

    def test_a_constant_that_a_forward_closes_over_is_no_obstacle(self) -> None:
        sizes = [8, 2]
        assert record(Net(lambda self, x: x.flatten(1)[:, : sizes[0]]), WORDS).batch


@pytest.mark.parametrize("way", ["real", "fake"])
def test_the_same_text_each_time_and_back(way: Any) -> None:
    net = nn.TransformerEncoderLayer(8, 2, batch_first=True)
    texts = {to_json(record(net, WORDS, run=way)) for _ in range(3)}
    assert len(texts) == 1
    graph = from_json(texts.pop())
    assert graph.batch
    assert to_json(from_json(to_json(graph))) == to_json(graph)
