"""Sizes that are the batch are known from the one run of a forward; where that is not certain, numbers stay."""

from __future__ import annotations

import copy
import ctypes
import functools
import json
import pickle
import random
import re
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.core.recording.nets import Net, record
from torchrecorder.graph import Graph, batch_size, from_json, symbolic, to_json

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
        assert results(graph) == ["N×4×6×6", "N×4×6×6", "N×4×6×6", "N×4×3×3", "N×36", "N×2"]
        assert batch_size(graph) == 1
        assert graph.values[graph.ops[0].outputs[0]].meta.shape == (1, 4, 6, 6)  # type: ignore[union-attr]

    def test_arguments_with_their_names(self) -> None:
        def body(self: Any, x: Tensor) -> Tensor:
            return F.conv2d(weight=torch.ones(4, 3, 3, 3), input=x).sum(dim=1)

        assert last(record(Net(body), IMAGE)) == "N×6×6"

    def test_a_weight_that_is_made_is_no_batch(self) -> None:
        conv = nn.utils.parametrizations.weight_norm(nn.Conv1d(8, 8, 4, padding=2, groups=2), dim=2)
        assert last(record(conv, torch.ones(2, 8, 6))) == "N×8×7"

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (lambda self, x: torch.cat((x, x)), "2N×5×8"),
            (lambda self, x: x.view(x.shape[0] * 5, 8), "5N×8"),
            (lambda self, x: x.repeat(12, 1, 1), "12N×5×8"),
            (lambda self, x: x.view(1, -1), "1×40N"),
            (lambda self, x: x.transpose(0, 1), "5×N×8"),
            (lambda self, x: x.flatten(1) @ x.flatten(1).T, "N×N"),
            (lambda self, x: x.mean((1, 2)), "N"),
            (lambda self, x: F.softsign(x) + F.softmin(x, -1) + F.logsigmoid(x.cummax(1).values), "N×5×8"),
            (lambda self, x: x[:, 0], "N×8"),
            (lambda self, x: torch.zeros(x.shape[0], 3) + x.sum(), "N×3"),
            (lambda self, x: F.scaled_dot_product_attention(x, x, x), "N×5×8"),
            (lambda self, x: F.scaled_dot_product_attention(query=x, key=x, value=x), "N×5×8"),
            (lambda self, x: x.repeat_interleave(2, dim=-1), "N×5×16"),
            (lambda self, x: torch.outer(x[:, 0, 0], torch.ones(4)), "N×4"),
            (lambda self, x: torch.einsum("bij,bkj->bik", x, x), "N×5×5"),
            (lambda self, x: x.sum(), ""),
            (lambda self, x: x.flatten(0, 1).unflatten(0, (x.shape[0], -1)), "N×5×8"),
            (lambda self, x: (x.view(len(x), -1).sum() + x).unflatten(2, (2, -1)), "N×5×2×4"),
            (lambda self, x: F.mse_loss(x, x.sin(), reduction="none").mean(-1), "N×5"),
            (lambda self, x: F.binary_cross_entropy_with_logits(x, x.sigmoid(), reduction="none"), "N×5×8"),
            (lambda self, x: x + F.cross_entropy(x.mean(1), torch.zeros(x.shape[0], dtype=torch.long)), "N×5×8"),
            (lambda self, x: x / torch.linalg.vector_norm(x, dim=-1, keepdim=True), "N×5×8"),
            (lambda self, x: x.norm(2, 1), "N×8"),
            (lambda self, x: torch.view_as_real(torch.view_as_complex(x.view(x.shape[0], 20, 2))), "N×20×2"),
            (lambda self, x: torch.ones(5, 4, 8) @ x[..., None], "N×5×4×1"),
            (lambda self, x: x / x.shape[0], "N×5×8"),
            (lambda self, x: torch.distributions.Bernoulli(x.sigmoid()).log_prob((x > 0).float()), "N×5×8"),  # type: ignore[no-untyped-call]
            (lambda self, x: F.one_hot((x > 0).long(), 2), "N×5×8×2"),
            (lambda self, x: x.mul(255).round_().byte() / 255.0, "N×5×8"),
            (lambda self, x: F.scaled_dot_product_attention(*[x.flatten(0, 1)[None]] * 3), "1×5N×8"),
            (
                lambda self, x: F.grid_sample(
                    torch.ones(1, 3, 4, 4), x.flatten(0, 1)[None, :, None, :2], align_corners=False
                ),
                "1×3×5N×1",
            ),
            (
                lambda self, x: F.grid_sample(x[:, None], torch.ones(x.shape[0], 4, 6, 2), align_corners=False),
                "N×1×4×6",
            ),
            (lambda self, x: x.sin() if x.shape[0] == 5 else x.cos(), "N×5×8"),
            (lambda self, x: x.split_with_sizes((2, 3), 1)[0], "N×2×8"),
            (lambda self, x: x.moveaxis(1, 2), "N×8×5"),
            (lambda self, x: x.tile(1, 2, 1), "N×10×8"),
            (lambda self, x: F.conv1d(input=x, weight=torch.ones(4, 5, 1)), "N×4×8"),
            (lambda self, x: F.linear(input=x, weight=torch.ones(4, 8)), "N×5×4"),
        ],
    )
    def test_operations(self, body: Callable[..., Any], expected: str) -> None:
        assert last(record(Net(body), WORDS)) == expected

    def test_a_weight_that_is_cut_to_a_norm(self) -> None:
        def body(self: Any, x: Tensor) -> Any:
            self.conv.weight.data = torch.renorm(self.conv.weight.data, 2, 0, 1.0)
            return self.conv(x)

        assert last(record(Net(body, conv=nn.Conv2d(3, 4, 3)), torch.ones(2, 3, 8, 8))) == "N×4×6×6"

    def test_a_buffer_that_holds_the_examples(self) -> None:
        def body(self: Any, x: Tensor) -> Any:
            self.seen.data = x
            return x + self.seen.sum(), self.seen + 1

        net = Net(body)
        net.register_buffer("seen", torch.ones(2, 3, 4))
        assert record(net, torch.ones(2, 3, 4)).batch == {}

    @pytest.mark.parametrize(
        "body",
        [
            lambda self, x: x + x.mean(1),
            lambda self, x: x + x.transpose(0, 1),
            lambda self, x: x * torch.ones(3, 1, 8),
            lambda self, x: F.layer_norm(x, (3, 3, 8)),
        ],
    )
    def test_what_meets_another_axis_or_is_of_one_size_has_no_batch(self, body: Callable[..., Any]) -> None:
        assert record(Net(body), torch.ones(3, 3, 8)).batch == {}

    @pytest.mark.parametrize(("examples", "expected"), [(2, "N×4"), (1, None)])
    def test_data_that_is_not_as_long_as_the_batch(self, examples: int, expected: str | None) -> None:
        def body(self: Any, x: Tensor) -> Any:
            return x + 1, torch.tensor([3.0]).expand(x.shape[0])[:, None] * torch.ones(4)

        graph = record(Net(body), torch.ones(examples, 3, 4))
        assert (last(graph) if graph.batch else None) == expected

    @pytest.mark.parametrize("examples", [1, 2, 4])
    def test_data_of_each_example(self, examples: int) -> None:
        def body(self: Any, x: Tensor) -> Any:
            return x + 1, torch.tensor([0.0 for _ in range(x.shape[0])])

        assert record(Net(body), torch.ones(examples, 3)).batch == {}

    @pytest.mark.parametrize("examples", [1, 3])
    def test_a_kernel_of_each_example(self, examples: int) -> None:
        def body(self: Any, x: Tensor, kernel: Tensor) -> Any:
            n, channels = kernel.size(0), kernel.size(1)
            x, kernel = x.view(1, n * channels, *x.shape[2:]), kernel.view(n * channels, 1, *kernel.shape[2:])
            out = F.conv2d(x, kernel, groups=n * channels)
            return out.view(n, channels, *out.shape[2:])

        graph = record(Net(body), torch.ones(examples, 4, 8, 8), torch.ones(examples, 4, 3, 3))
        assert results(graph) == ["1×4N×8×8", "4N×1×3×3", "1×4N×6×6", "N×4×6×6"]

    def test_a_part_of_several_batches(self) -> None:
        graph = record(Net(lambda self, x: torch.cat((x, x)).chunk(2)[0] + 1), torch.ones(4, 3))
        assert results(graph) == ["2N×3", "N×3", "N×3"]

    @pytest.mark.parametrize("way", ["real", "fake", "meta"])
    def test_attention_with_the_batch_first_or_not(self, way: Any) -> None:
        assert record(nn.MultiheadAttention(8, 2, batch_first=True), *[WORDS] * 3, run=way).batch
        # here the first axis is a sequence
        assert last(record(nn.MultiheadAttention(8, 2), *[WORDS] * 3, run=way)) == "1×N×8"

    @pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
    def test_recurrent_layers_with_the_batch_first_or_not(self, layer: Any) -> None:
        assert last(record(layer(8, 2, batch_first=True), WORDS)) == "N×5×2"
        assert last(record(layer(8, 2), WORDS)) == "1×N×2"

    def test_a_position_table_and_a_class_token(self) -> None:
        def body(self: Any, ids: Tensor) -> Any:
            x = self.table(ids) + self.position(torch.arange(ids.shape[1]))
            return torch.cat((self.token.expand(x.shape[0], -1, -1), x), 1)

        parts = {
            "table": nn.Embedding(9, 4),
            "position": nn.Embedding(7, 4),
            "token": nn.Parameter(torch.ones(1, 1, 4)),
        }
        graph = record(Net(body, **parts), torch.ones(1, 5, dtype=torch.long))
        assert results(graph) == ["N×5×4", "5", "5×4", "N×5×4", "N×1×4", "N×6×4"]

    def test_an_axis_stays_known_beside_one_that_is_not(self) -> None:
        def body(self: Any, x: Tensor) -> Any:
            doubtful = x[:, :1].squeeze(1).repeat(x.shape[0], 1)[:, None]  # N or N²
            y = torch.cat((x, doubtful), 1)
            n, words, _ = y.shape
            positions = torch.outer(self.positions[:words], self.positions[:words])
            return y.transpose(0, 1).reshape(words, n, 2, 4).permute(1, 2, 0, 3), positions

        graph = record(Net(body, positions=torch.ones(9)), WORDS)
        assert results(graph)[-4:] == ["6×6", "6×N×8", "6×N×2×4", "N×2×6×4"]

    def test_sizes_in_tensors_that_were_there_before(self) -> None:
        net = Net(lambda self, x: F.pad(x, (self.left, self.right)))
        net.register_buffer("left", torch.tensor(3))
        net.register_buffer("right", torch.tensor(0))
        assert last(record(net, WORDS)) == "N×5×11"

    def test_a_constant_that_was_there_before(self) -> None:
        kept = [torch.ones(8)]
        graph = record(Net(lambda self, x: torch.zeros((x * self.kept[0]).shape[1]), kept=kept), WORDS)
        assert results(graph) == ["N×5×8", "5"]

    def test_a_weight_for_each_example(self) -> None:
        body = lambda self, x: torch.cat([self.weight[None]] * x.shape[0]) @ x  # noqa: E731
        assert last(record(Net(body, weight=nn.Parameter(torch.ones(3, 5))), torch.ones(2, 5, 8))) == "N×3×8"

    def test_what_torch_checks_decides_nothing(self) -> None:
        def body(self: Any, x: Tensor) -> Any:
            packed = nn.utils.rnn.pack_padded_sequence(x, torch.tensor([5] * len(x)), batch_first=True)
            return x + self.rnn(packed, torch.zeros(1, x.shape[0], 2))[1].sum()

        assert last(record(Net(body, rnn=nn.GRU(8, 2, batch_first=True)), WORDS)) == "N×5×8"

    def test_what_was_asked_of_numbers_has_the_same_answer(self) -> None:
        assert last(record(Net(lambda self, x: x * 2 if (x > 0).all() else x - 1), WORDS)) == "N×5×8"

    def test_an_identity_and_a_write(self) -> None:
        def body(self: Any, x: Tensor) -> Any:
            x = self.same(x + 0)
            x[:, 0] = 2
            return F.relu(x, inplace=True)

        assert set(results(record(Net(body, same=nn.Identity()), WORDS))) == {"N×5×8"}

    @pytest.mark.parametrize("grad", [torch.no_grad, torch.enable_grad, torch.inference_mode])
    def test_every_grad_mode(self, grad: Callable[[], Any]) -> None:
        with grad():
            assert last(record(nn.Linear(8, 2), WORDS)) == "N×5×2"


class TestAfterALayerThatKnows:
    """Sums over examples and loops over them, after a convolution has read them as a batch: it stays the batch."""

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (lambda self, x: (x, x.mean(0)), ["N×4×6×6", "4×6×6"]),
            (lambda self, x: (x, x[-1]), ["N×4×6×6", "4×6×6"]),
            (lambda self, x: (x, x.unbind()[-1]), ["N×4×6×6", "4×6×6"]),
            (lambda self, x: (x, x.unbind(2)[1]), ["N×4×6×6", "N×4×6"]),
            (lambda self, x: (x, torch.stack([one.sin() for one in x], -1)), ["N×4×6×6", "4×6×6×N"]),
            (lambda self, x: (x, torch.cat([*x], 1)), ["N×4×6×6", "4×6N×6"]),
            (lambda self, x: (x, torch.stack([*x][::-1])), ["N×4×6×6", "?×4×6×6"]),
            (lambda self, x: (x, torch.cat([one.relu() for one in x.split([1, 2])])), ["N×4×6×6", "N×4×6×6"]),
            (lambda self, x: (x, torch.cat([one[one[:, 0, 0, 0] < 9] for one in x.split(2)])), ["N×4×6×6", "?×4×6×6"]),
        ],
    )
    def test_examples_are_summed_or_taken_apart(self, body: Callable[..., Any], expected: list[str]) -> None:
        graph = record(Net(lambda self, x: body(self, self.conv(x)), conv=nn.Conv2d(3, 4, 3)), torch.ones(3, 3, 8, 8))
        made = [symbolic(graph, value) for values in graph.outputs.values() for value in values]
        letters = ["×".join(map(str, meta.shape)) for meta in made if meta is not None]
        assert [re.sub(r"\b(3|18)\b", "?", text) for text in letters] == expected

    @pytest.mark.parametrize("body", [lambda self, x: x.mean(0), lambda self, x: torch.stack([*x])[:, 0, 0]])
    def test_other_inputs_are_none(self, body: Callable[..., Any]) -> None:
        net = Net(lambda self, x, y: body(self, self.conv(x)).sum() + y, conv=nn.Conv2d(3, 4, 3))
        assert 0 not in record(net, torch.ones(3, 3, 8, 8), torch.ones(5)).batch

    @pytest.mark.parametrize(
        "body",
        [
            lambda self, y: torch.stack([self.table[at] for at, _ in enumerate(y)]),
            lambda self, y: torch.cat([self.table[at][None] for at, _ in enumerate(y)]),
        ],
    )
    def test_a_constant_for_each(self, body: Callable[..., Any]) -> None:
        net = Net(lambda self, x: (y := self.conv(x)) + body(self, y), conv=nn.Conv2d(3, 4, 3))
        net.register_buffer("table", torch.ones(3, 4, 6, 6))
        assert last(record(net, torch.ones(3, 3, 8, 8))) == "N×4×6×6"

    def test_one_constant_again_for_each(self) -> None:
        def body(self: Any, x: Tensor) -> Tensor:
            grid = torch.stack([self.grid] * x.shape[0])
            return grid + x if grid.shape[0] == x.shape[0] else grid

        net = Net(lambda self, x: body(self, self.conv(x)), conv=nn.Conv2d(3, 4, 3))
        net.register_buffer("grid", torch.ones(4, 6, 6))
        assert last(record(net, IMAGE)) == last(record(net, IMAGE.expand(2, -1, -1, -1))) == "N×4×6×6"

    def test_two_that_are_joined_and_one_that_is_repeated(self) -> None:
        def body(self: Any, x: Tensor) -> Any:
            repeated = [y := self.conv(x)] * x.shape[0]
            return torch.cat([y, y + 1]), torch.cat(repeated)

        graph = record(Net(body, conv=nn.Conv2d(3, 4, 3)), IMAGE.expand(2, -1, -1, -1))
        assert results(graph)[-1] == "4×4×6×6"

    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            (lambda self, x: self.conv(torch.stack([one * 2 for one in x])), "N×4×6×6"),
            (lambda self, x: torch.stack([self.conv(one) for one in x]), "3×4×6×6"),
            (lambda self, x: self.conv(x.mean(0)[None]), "1×4×6×6"),
        ],
    )
    def test_it_may_agree_later(self, body: Callable[..., Any], expected: str) -> None:
        net = Net(body, conv=nn.Conv2d(3, 4, 3))
        assert last(record(net, torch.ones(3, 3, 8, 8))) == expected

    def test_words_that_experts_pick(self) -> None:
        def body(self: Any, x: Tensor) -> Tensor:
            rows = x.reshape(-1, 8)
            expert = rows.argmax(1) % 2
            counts, order = F.one_hot(expert, 2).sum(0).tolist(), expert.argsort()
            done = torch.cat([self.fc(some) for some in torch.split(rows[order], counts)])
            return torch.zeros(x.shape[0] * x.shape[1], 8).index_add(0, order, done).view(x.shape)

        net = Net(body, fc=nn.Linear(8, 8))
        assert last(record(net, torch.randn(2, 5, 8))) == last(record(net, torch.randn(1, 5, 8))) == "N×5×8"

    def test_an_output_that_is_not_sure(self) -> None:
        net = Net(lambda self, x: (y := self.conv(x))[y > 0], conv=nn.Conv2d(3, 4, 3))
        assert results(record(net, IMAGE))[0] == "N×4×6×6"


class TestSomeInputs:
    """The batch is an axis of some inputs only, or their second."""

    def test_a_table_beside_the_batch(self) -> None:
        net = Net(lambda self, x, positions: F.scaled_dot_product_attention(x, x + positions, x), fc=nn.Linear(8, 8))
        graph = record(net, torch.ones(3, 5, 8), torch.ones(1, 5, 8))
        assert results(graph) == ["N×5×8", "N×5×8"]
        assert [*graph.inputs.values()][1] not in graph.batch

    def test_the_first_inputs_that_an_output_follows(self) -> None:
        def body(self: Any, views: Tensor, rays: Tensor) -> Any:
            return rays @ views.mean(0) + torch.zeros(rays.shape[0], 4) if views.shape[1] else rays

        assert results(record(Net(body), torch.ones(2, 6, 4), torch.ones(12, 6)))[1:] == ["N×4", "N×4", "N×4"]

    def test_a_single_thing_beside_a_single_example(self) -> None:
        def body(self: Any, words: Tensor, voices: Tensor, orders: Tensor) -> Tensor:
            return F.embedding(words, torch.ones(9, 8)) + F.one_hot(orders, 1).float().t() @ voices

        graph = record(
            Net(body), torch.ones(1, 4, dtype=torch.long), torch.ones(1, 8), torch.zeros(1, dtype=torch.long)
        )
        assert last(graph) == "N×4×8"
        assert [graph.batch.get(value) for value in graph.inputs.values()] == [(0,), None, None]

    def test_one_thing_for_the_places_of_all_examples(self) -> None:
        def body(self: Any, x: Tensor, times: Tensor, until: Tensor) -> Tensor:
            n, length = times.shape
            code = times.reshape(-1)[:, None] + until.reshape(-1)[:, None] * torch.ones(8)
            return x * torch.unflatten(code, 0, (n, length))

        graph = record(Net(body), torch.ones(1, 5, 8), torch.ones(1, 5), torch.ones(1))
        assert last(graph) == "N×5×8"
        assert [graph.batch.get(value) for value in graph.inputs.values()] == [(0,), (0,), None]
        assert "5N×8" in results(graph)

    def test_a_size_that_was_asked_before_decides(self) -> None:
        def body(self: Any, words: Tensor, voices: Tensor, orders: Tensor) -> Tensor:
            n = words.shape[0]
            voice = F.one_hot(orders, 1).float().t() @ voices
            return F.embedding(words, torch.ones(9, 8)) + (voice if n == 1 else 0)

        graph = record(
            Net(body), torch.ones(1, 4, dtype=torch.long), torch.ones(1, 8), torch.zeros(1, dtype=torch.long)
        )
        assert not graph.batch

    def test_examples_that_meet_a_single_thing(self) -> None:
        def body(self: Any, x: Tensor, table: Tensor) -> Tensor:
            return x * table.sum(0)

        graph = record(Net(body), torch.ones(2, 4), torch.ones(2, 4))
        assert not graph.batch

    def test_states_with_the_batch_second(self) -> None:
        graph = record(nn.LSTM(8, 4, batch_first=True), torch.ones(3, 5, 8), (torch.ones(1, 3, 4), torch.ones(1, 3, 4)))
        assert last(graph) == "N×5×4"
        assert sorted(graph.batch[value] for value in graph.inputs.values()) == [(0,), (1,), (1,)]

    def test_time_first(self) -> None:
        def body(self: Any, frames: Tensor, done: Tensor, state: Any) -> Any:
            x = self.fc(frames.flatten(0, 1)).view(frames.shape[0], frames.shape[1], -1) * done[..., None]
            steps = [self.core(one[None], state)[0] for one in x.unbind()]
            return self.head(torch.cat(steps))

        net = Net(body, fc=nn.Linear(8, 4), core=nn.LSTM(4, 4), head=nn.Linear(4, 6))
        graph = record(net, torch.ones(3, 2, 8), torch.ones(3, 2), (torch.ones(1, 2, 4), torch.ones(1, 2, 4)))
        assert results(graph)[:4] == ["3N×8", "3N×4", "3×N×4", "3×N×1"]
        assert last(graph) == "3×N×6"
        assert batch_size(graph) == 2

    @pytest.mark.parametrize("layer", [nn.LSTM, nn.GRU, nn.RNN])
    @pytest.mark.parametrize("first", [True, False])
    def test_packed_sequences(self, layer: Any, first: bool) -> None:
        def body(self: Any, x: Tensor, lengths: Tensor) -> Any:
            out, states = self.rnn(nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=first))
            state = states[0] if layer is nn.LSTM else states
            return *nn.utils.rnn.pad_packed_sequence(out, batch_first=first), state + 0

        shape = (2, 7, 8) if first else (7, 2, 8)
        graph = record(Net(body, rnn=layer(8, 4, batch_first=first)), torch.ones(shape), torch.tensor([7, 3]))
        metas = [symbolic(graph, value) for values in graph.outputs.values() for value in values]
        expected = ["N×7×4" if first else "7×N×4", "N", "1×N×4"]
        assert ["×".join(map(str, meta.shape)) for meta in metas if meta is not None] == expected

    @pytest.mark.parametrize(
        ("index", "expected"),
        [
            ((slice(None), 0), "N×3×4"),
            ((..., 0), "N×5×3"),
            ((slice(None), None, slice(1, 3), ..., slice(None, -1)), "N×1×2×3×3"),
            ((None, ..., 2, slice(None, None, 2)), "1×N×5×2"),
            (0, "5×3×4"),
        ],
    )
    def test_places_in_a_row_leave_the_other_axes(self, index: Any, expected: str) -> None:
        graph = record(Net(lambda self, x: (x + 1, x[index])), torch.ones(2, 5, 3, 4))
        (value,) = graph.outputs["1"]
        meta = symbolic(graph, value)
        assert meta is not None
        assert "×".join(map(str, meta.shape)) == expected

    @pytest.mark.parametrize("way", [lambda x, at: x[at], lambda x, at: x.index_select(0, at)])
    def test_nodes_of_a_graph_are_none(self, way: Callable[..., Any]) -> None:
        def body(self: Any, x: Tensor, edges: Tensor) -> Any:
            return torch.zeros_like(x).index_add(0, edges[1], way(self.fc(x), edges[0]))

        edges = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
        assert record(Net(body, fc=nn.Linear(8, 8)), torch.ones(4, 8), edges).batch == {}


def by_size(self: Any, x: Tensor) -> Any:
    return x + 1 if x.shape[0] == 1 else x.cos()


NUMBERS_STAY: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "another first axis": (lambda self, x, y: x.sum() + y, (WORDS, torch.ones(3))),
    "other operations for another batch": (by_size, (WORDS,)),
    "an iterator": (lambda self, x: next(x) + 1, (iter([WORDS]),)),
    "written attention of one sequence": (lambda self, x: (x @ x.T).softmax(-1) @ x, (torch.ones(4, 8),)),
    "combined with more": (lambda self, x: x + torch.ones(5, 5, 8), (WORDS,)),
    "steps of time one by one": (lambda self, x: torch.stack([x[t] for t in range(x.shape[0])]), (torch.ones(3, 2),)),
    "the last one": (lambda self, x: x[-1, ..., 0], (WORDS,)),
    "each of them": (lambda self, x: sum(x), (WORDS,)),
    "convolution of one image": (lambda self, x: F.conv2d(x, torch.ones(4, 3, 3, 3)), (IMAGE[0],)),
}


@pytest.mark.parametrize("name", NUMBERS_STAY)
def test_numbers_stay(name: str) -> None:
    body, args = NUMBERS_STAY[name]
    graph = record(Net(body), *args)
    assert graph.batch == {}
    assert graph.info.failure is None


TAKEN_APART: dict[str, Callable[[Tensor], Any]] = {
    "one by one": lambda y: torch.stack([one.amax(0) for one in y]),
    "by their numbers": lambda y: torch.cat([y[i] for i in range(2)]),
    "the last one": lambda y: y[-1] * 2,
    "into data": lambda y: torch.tensor([0.5 for _ in y]),
    "summed over": lambda y: y.amax(0) + 1,
}


@pytest.mark.parametrize("name", TAKEN_APART)
def test_a_convolution_is_of_images_whatever_is_done_with_them_later(name: str) -> None:
    def body(self: Any, x: Tensor) -> Any:
        return TAKEN_APART[name](self.conv(x))

    graph = record(Net(body, conv=nn.Conv2d(3, 4, 3)), IMAGE.expand(2, -1, -1, -1))
    assert symbolic(graph, graph.ops[0].outputs[0]).shape == ("N", 4, 6, 6)  # type: ignore[union-attr]
    assert (graph.ops[-1].outputs[0] in graph.batch) == (name == "one by one")
    without = record(Net(lambda self, x: TAKEN_APART[name](x.sin())), IMAGE.expand(2, -1, -1, -1))
    assert without.batch == {}


def flat(x: Tensor) -> Tensor:
    return x.reshape(x.shape[0], x.shape[1], -1) + 1


@pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated")  # as FutureWarning from torch 2.14 on
def test_numbers_stay_where_torchscript_computes_sizes() -> None:
    scripted = torch.jit.script(flat)
    assert record(Net(lambda self, x: scripted(x)), IMAGE).batch == {}


NUMBERS_FROM_HERE: dict[str, Callable[..., Any]] = {
    "other axes": lambda self, x: x.squeeze(),
    "neither equal nor twice": lambda self, x: torch.cat((x, torch.ones(1, 5, 8))),
    "indices by numbers": lambda self, x: x[x > 0],
    "its length, a plain number": lambda self, x: x.view(len(x), -1),
}


@pytest.mark.parametrize("name", NUMBERS_FROM_HERE)
def test_numbers_stay_where_nothing_is_sure(name: str) -> None:
    def body(self: Any, x: Tensor) -> Any:
        return x.sin() + NUMBERS_FROM_HERE[name](self, x).sum()

    graph = record(Net(body), WORDS)
    assert 0 in graph.batch[graph.ops[0].outputs[0]]
    assert all(op.inputs[0] not in graph.batch for op in graph.ops if op.name == "sum")
    assert graph.ops[-1].outputs[0] in graph.batch


@pytest.mark.parametrize("name", NUMBERS_FROM_HERE)
def test_numbers_stay_everywhere_if_an_output_is_not_sure(name: str) -> None:
    assert record(Net(NUMBERS_FROM_HERE[name]), WORDS).batch == {}
    assert record(Net(lambda self, x: (x + 1, NUMBERS_FROM_HERE[name](self, x))), WORDS).batch == {}
    assert 0 in record(Net(lambda self, x: (x + 1, NUMBERS_FROM_HERE[name](self, x).sum())), WORDS).batch


class TestOfCode:
    """Its code is given sizes that are like any number."""

    def test_they_are_numbers(self) -> None:
        found: list[Any] = []

        def body(self: Any, x: Tensor) -> Any:
            n = x.shape[0]
            found.extend((isinstance(n, int), f"{n} {n!r} {n:03d}", {n: 1}[2], [5, 6, 7][n], range(n)[-1], hash(n)))
            found.extend(
                (n + 1, 1 - n, n * 3, 7 // n, n / 4, -n, n**2, divmod(7, n), max(n, 1), n < 3, n & 3, float(n))
            )
            found.extend((json.dumps([n]), type(pickle.loads(pickle.dumps(n))), type(copy.deepcopy(n)), repr(x.shape)))
            found.extend((type(x.shape), type(x.shape[1]), x.size() == (2, 3), x.shape.numel()))
            return x + n

        record(Net(body), torch.ones(2, 3))
        assert found[:6] == [True, "2 2 002", 1, 7, 1, hash(2)]
        assert found[6:18] == [3, -1, 6, 3, 0.5, -2, 4, (3, 1), 2, True, 2, 2.0]
        assert found[18:22] == ["[2]", int, int, "torch.Size([2, 3])"]
        assert found[22:] == [torch.Size, int, True, 6]

    def test_operations_are_given_plain_ones(self) -> None:
        seen: list[type] = []

        class Custom(Tensor):
            @classmethod
            def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                seen.extend(type(arg) for arg in args if isinstance(arg, int))
                return super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]

        def body(self: Any, x: Tensor) -> Any:
            return self.weight.as_subclass(Custom).view(x.shape[0], -1)

        record(Net(body, weight=torch.ones(2, 3)), torch.ones(2, 3))
        assert {*seen} <= {int}

    def test_texts_of_arguments_stay(self) -> None:
        graph = record(Net(lambda self, x: x.view((x.shape[0], -1))[: x.shape[0]]), torch.ones(2, 3, 4))
        assert [dict(op.attrs) for op in graph.ops] == [{"1": "(2, -1)"}, {"1": ":2"}]

    def test_a_cache_of_another_recording_says_nothing(self) -> None:
        @functools.lru_cache
        def kept(sizes: tuple[int, ...]) -> int:
            return sizes[0]

        net = Net(lambda self, x: x.view(kept(tuple(x.shape)), -1))
        assert last(record(net, torch.ones(2, 3, 4))) == "N×12"
        assert last(record(net, torch.ones(2, 3, 4))) in ("N×12", "2×12")


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
        assert last(graph) == "N×5×8"
        assert grid(2).tolist() == [0, 2]

    def test_memory_that_is_written_to_by_address(self) -> None:
        # A forward that ran again on tensors without memory would write to address 0, which ends the process.
        def body(self: Any, x: Tensor) -> Any:
            y = self.fc(x)
            out = torch.empty_like(y)
            here, there = ((ctypes.c_float * y.numel()).from_address(one.data_ptr()) for one in (y, out))
            for place in range(y.numel()):
                there[place] = here[place] * 2
            return out + 1

        net = Net(body, fc=nn.Linear(3, 3))
        assert last(record(net, torch.ones(2, 3))) == "N×3"

    def test_random_numbers_and_what_is_printed(self, capsys: pytest.CaptureFixture[str]) -> None:
        def body(self: Any, x: Tensor) -> Any:
            print("once")
            x = x.view(x.shape[0], -1)
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
        assert record(nn.Sequential(layer), WORDS).batch
        assert seen == [(1, 5, 2)]

    @pytest.mark.parametrize("way", ["real", "fake"])
    def test_what_a_forward_closes_over_is_changed_once(self, way: Any) -> None:
        seen: list[Any] = ["before"]
        times = 0

        def appends(self: Any, x: Tensor) -> Any:
            seen.append("now")
            return x.view(x.shape[0], -1)

        def counts(self: Any, x: Tensor) -> Any:
            nonlocal times
            times += 1
            return x.view(x.shape[0], -1)

        def notes(self: Any, x: Tensor) -> Any:
            NOTED["shape"] = tuple(x.shape)
            return x + 1

        for body in (appends, counts, notes):
            assert record(Net(body), WORDS, run=way).batch
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


ALL_KINDS = """
import sys, torch
from torch import nn
from torchrecorder import capture

class Net(nn.Module):
    def forward(self, x, ids):
        y = torch.stack([x, x]).unbind(0)[0].expand(-1, 4).chunk(2, 1)[0].repeat(1, 2)
        y = nn.functional.glu(torch.cat([y, y], 1)).unsqueeze(1).transpose(1, 2).flatten(1).view_as(x)
        z = nn.functional.one_hot(ids, 5).flatten(1).gather(1, ids).topk(2).values
        y = nn.functional.pad(y, (1, 1)).split(3, 1)[0] @ y.new_ones(3, 4)
        return torch.einsum("bi,bj->bij", y, y), torch.fft.rfft(y), z

graph = capture(Net(), (torch.ones(2, 4), torch.ones(2, 3, dtype=torch.long)))
print([graph.batch.get(ids[0]) for ids in graph.outputs.values()], "torch._dynamo" in sys.modules)
"""


def test_the_compiler_is_not_loaded_for_a_letter() -> None:
    done = subprocess.run([sys.executable, "-c", ALL_KINDS], capture_output=True, text=True, check=True)
    assert done.stdout == "[(0,), (0,), (0,)] False\n"
