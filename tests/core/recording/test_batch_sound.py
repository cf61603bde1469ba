"""Every axis that is called the batch is one that grows with it: models are recorded with one example more."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.core.recording.nets import Net, record
from tests.truth.all import CASES
from tests.truth.case import Case, Inputs
from torchrecorder.errors import ForwardError
from torchrecorder.graph import Graph
from torchrecorder.graph.batch import NUMBER
from torchrecorder.recording.run import capture
from torchrecorder.running.nested import map_tensors, named_tensors


def with_batch(inputs: Inputs, examples: int, axis: int = 0) -> Inputs:
    """Inputs whose first or second axes are of that size: examples are repeated, or left out."""

    def changed(tensor: Tensor) -> Tensor:
        if tensor.ndim <= axis or not tensor.shape[axis]:
            return tensor
        return torch.cat([tensor] * (1 + examples // tensor.shape[axis]), axis).narrow(axis, 0, examples).clone()

    changed_inputs: Inputs = map_tensors(inputs, changed)
    return changed_inputs


def wrong(one: Graph, other: Graph, sizes: tuple[int, int]) -> list[str]:
    """Axes called the batch in a Graph whose sizes are not of the batch of another one with the same operations."""
    made = zip(one.ops, other.ops, strict=True)  # of more examples taken apart there are more values
    like = dict(zip(one.inputs.values(), other.inputs.values(), strict=True))
    like.update(pair for op, again in made for pair in zip(op.outputs, again.outputs, strict=False))
    return [
        f"{a.producer and one.ops[a.producer].name} {a.meta.shape} {b.meta.shape} {axes}"
        for value, axes in one.batch.items()
        for a, b in [(one.values[value], other.values[like.get(value, value)])]
        if a.meta is not None and b.meta is not None
        for axis in axes
        if int(a.meta.shape[axis]) * sizes[1] != int(b.meta.shape[axis]) * sizes[0]
    ] + [
        f"{op.name} {op.attrs} {again.attrs}"
        for op, again in zip(one.ops, other.ops, strict=True)
        if any(NUMBER.fullmatch(text) and again.attrs[place] != text for place, text in op.attrs.items() if other.batch)
    ]


def check(
    model: Callable[[], nn.Module], inputs: Callable[[], Inputs], mode: Any = "eval", axis: int = 0
) -> Iterator[Graph]:
    """Compare recordings with 1, 2, 3 and 5 examples, as far as the model takes so many and does the same."""
    graphs = {}
    for examples in (1, 2, 3, 5):
        try:
            torch.manual_seed(0)
            args, kwargs = with_batch(inputs(), examples, axis)
            if any(t.shape[axis] != examples for _, t in named_tensors((args, kwargs), objects=True) if t.ndim > axis):
                return  # inputs inside of objects
            graphs[examples] = capture(model(), args, kwargs, mode=mode)
        except ForwardError:
            continue
    for examples, graph in graphs.items():
        for more, other in graphs.items():
            is_alike = [op.name for op in graph.ops] == [op.name for op in other.ops]
            is_alike &= all(graph.batch.get(value, (axis,)) == (axis,) for value in graph.inputs.values())
            if is_alike and (examples == 1 or more > 1):  # an axis of one is squeezed, and broadcast
                assert wrong(graph, other, (examples, more)) == []
        yield graph


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_of_every_true_graph(case: Case) -> None:
    # Unless the first or second axes of all inputs are of one size, there is no batch that could be larger.
    for axis in (0, 1):
        sizes = {tensor.shape[axis] for _, tensor in named_tensors(case.inputs()) if tensor.ndim > axis}
        if len(sizes) == 1:
            [*check(case.build, case.inputs, "train" if case.train else "eval", axis)]


def looped(self: Any, x: Tensor) -> Tensor:
    return torch.stack([x[i] * 2 for i in range(x.shape[0])]).view(-1, 4)


@functools.lru_cache
def pair(a: int, b: int) -> tuple[int, int]:
    return a, b


def by_cache(self: Any, x: Tensor) -> Tensor:
    rows, columns = pair(*x.shape[:2])
    y = x.transpose(0, 1)
    return x.reshape(rows, columns, -1) + x.reshape(pair(*y.shape[:2])[0], -1, 4).sum()


# Inputs are (batch, 4, 4) unless said: the batch is as large as other sizes when there are 4 examples.
HOSTILE: dict[str, Callable[..., Any]] = {
    "each taken apart after a layer": lambda self, x: torch.stack([*F.conv1d(x, self.token[0][..., None])]).view(-1, 4),
    "each joined after a layer": lambda self, x: torch.cat([*F.conv1d(x, self.token[0][..., None])]).view(-1, 4),
    "a mean after a layer": lambda self, x: x - F.conv1d(x, self.token[0][..., None]).mean(0),
    "data of each": lambda self, x: torch.tensor([[0.0] * 4 for _ in range(x.shape[0])]).view(-1, 2),
    "a one that is not the batch": lambda self, x: x.view(1, -1),
    "a one of the model's": lambda self, x: x.view(self.groups, -1, 4),
    "its length": lambda self, x: x.view(len(x), -1),
    "a rest after its length": lambda self, x: x.view(-1, len(x)),
    "an integer of it": lambda self, x: x.view(-1, int(x.shape[0])),
    "numbers of elements": lambda self, x: x.view(-1, x.numel() // 4),
    "half of it and more": lambda self, x: torch.zeros((x.shape[0] + 1) // 2, 4) + x.sum(),
    "a loop over examples": looped,
    "examples apart": lambda self, x: torch.cat([one[None] for one in x]).view(-1, 4),
    "a list as long": lambda self, x: torch.tensor([1.0] * x.shape[0])[:, None].view(-1, 1),
    "numbers of numpy": lambda self, x: torch.from_numpy(x.detach().numpy() * 2).view(-1, 4),
    "all in one": lambda self, x: x.flatten().view(-1, 4).unflatten(0, (2, -1)),
    "squares": lambda self, x: (x.flatten(1) @ x.flatten(1).T).view(-1),
    "a view of a part": lambda self, x: x.view(2, -1) if x.shape[0] % 2 == 0 else x.view(1, -1),
    "the other axis first": lambda self, x: x.transpose(0, 1).reshape(4, -1),
    "an axis gone": lambda self, x: x.squeeze().unsqueeze(0).flatten(1),
    "one of it": lambda self, x: x[0] + x[:1].sum(0) + x.select(0, 0),
    "the last of it": lambda self, x: x[-1:].flatten(1),
    "joined with more": lambda self, x: torch.cat((x, torch.ones(1, 4, 4))).flatten(0, 1),
    "joined with itself": lambda self, x: torch.cat((x, x)).chunk(2)[0] + 1,
    "expanded": lambda self, x: self.token.expand(x.shape[0], -1, -1) + x,
    "expanded to the others": lambda self, x: self.token.expand(x.shape[1], -1, -1).sum() + x,
    "a table": lambda self, x: self.table(torch.arange(x.shape[1])) + x,
    "a mask": lambda self, x: x[x > 0].view(-1, 1),
    "padded by it": lambda self, x: F.pad(x, (0, x.shape[0])).flatten(1),
    "a shape from elsewhere": by_cache,
    "written into": lambda self, x: torch.zeros(4, 4).add_(x.sum(0).detach()).view(-1, 2),
    "a view written into": lambda self, x: (lambda y: (y[:, 0].mul_(2), y.view(-1, 4))[1])(x + 0),
    "axes changed in place": lambda self, x: (x + 0).transpose_(0, 1).flatten(1),
    "mapped, and not": lambda self, x: torch.vmap(lambda one: one.sum(-1))(x) + x.sum(-1),
    "windows": lambda self, x: x.view(x.shape[0] * 2, 2, 4).view(x.shape[0] * 2 // 2, 4, -1),
    "heads": lambda self, x: x.view(x.shape[0], -1, 2, 2).transpose(1, 2).reshape(x.shape[0] * 2, -1, 2),
    "mapped": lambda self, x: torch.vmap(lambda one: one.view(-1))(x).view(-1, 4),
    "an einsum": lambda self, x: torch.einsum("bij,bkj->ikb", x, x),
    "a count of windows": lambda self, x: x.view(x.shape[0] * 4 // x.shape[0], -1),
    "weights in a list": lambda self, x: torch.cat([self.token] * x.shape[0]) @ x,
    "weights in a list of its length": lambda self, x: torch.cat([self.token] * len(x)),
    "pairs of all": lambda self, x: x.repeat(x.shape[0], 1, 1).flatten(1),
    "a norm": lambda self, x: x.norm(dim=0) + torch.linalg.vector_norm(x, dim=(1, 2))[:, None, None],
    "attention of all": lambda self, x: F.scaled_dot_product_attention(*[x.flatten(0, 1)[None]] * 3).flatten(),
    "a loss of each": lambda self, x: F.mse_loss(x, x.cos(), reduction="none") / x.shape[0],
    "split again": lambda self, x: x.flatten(0, 1).unflatten(0, (x.shape[0], -1)).unflatten(2, (-1, len(x))),
    "a joined doubt": lambda self, x: torch.cat((x, x.repeat(x.shape[0], 1, 1)[: x.shape[0]]), 1).flatten(1),
    "numbers of tensors": lambda self, x: F.pad(x, (torch.tensor(len(x)), torch.tensor(0))),  # type: ignore[arg-type]
    "a kernel of each": lambda self, x: F.conv1d(x.view(1, -1, 4), x.view(x.shape[0] * 4, 1, 4), groups=x.shape[0] * 4),
    "kernels of other groups": lambda self, x: F.conv1d(x.reshape(1, -1, 4), x.view(-1, 4, 4)[:, :, :1], groups=len(x)),
    "sampled at places of all": lambda self, x: F.grid_sample(
        self.token[None], x[None, ..., :2].reshape(1, -1, 4, 2), align_corners=False
    ),
    "sampled of each": lambda self, x: F.grid_sample(
        x[:, None], self.token.expand(x.shape[0], 4, 4)[:, None, :, :2], align_corners=False
    ).flatten(1),
    "its remainder": lambda self, x: x.reshape(-1, 1 + x.shape[0] % 2 * 0, 4),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("examples", [1, 2, 4])
def test_of_a_hostile_forward(name: str, examples: int) -> None:
    def build() -> nn.Module:
        return Net(HOSTILE[name], token=nn.Parameter(torch.ones(1, 4, 4)), table=nn.Embedding(4, 4), groups=1)

    graphs = [*check(build, lambda: ((torch.arange(16.0 * examples).view(examples, 4, 4),), {}))]
    assert graphs


NOT_A_BATCH: dict[str, tuple[Callable[[], nn.Module], tuple[int, ...]]] = {
    "an image": (lambda: nn.Conv2d(3, 4, 3), (3, 8, 8)),
    "sound": (lambda: nn.Conv1d(4, 4, 3), (4, 9)),
    "features": (lambda: nn.Linear(8, 2), (8,)),
    "words of one": (lambda: nn.GRU(8, 4), (5, 8)),
    "a mean of all words": (lambda: Net(lambda self, x: self.fc(x).mean(0), fc=nn.Linear(8, 4)), (5, 2, 8)),
    "a table cut to their number": (
        lambda: Net(lambda self, x: x + self.table[: x.shape[0]], table=nn.Parameter(torch.ones(9, 1, 8))),
        (5, 2, 8),
    ),
    "written attention": (lambda: Net(lambda self, x: (x @ x.T).softmax(-1) @ x), (5, 8)),
    "points": (lambda: Net(lambda self, x: self.fc(x).amax(0), fc=nn.Linear(3, 4)), (7, 3)),
    "a norm of all": (lambda: Net(lambda self, x: F.layer_norm(x, (3, 8))), (3, 8)),
    "one batch only": (lambda: Net(lambda self, x: x + self.state, state=nn.Parameter(torch.ones(3, 8))), (3, 8)),
}


@pytest.mark.parametrize("name", NOT_A_BATCH)
def test_the_first_axis_is_not_a_batch(name: str) -> None:
    build, shape = NOT_A_BATCH[name]
    assert record(build(), torch.ones(shape)).batch == {}


@pytest.mark.parametrize("layer", [lambda: nn.LSTM(8, 4), lambda: nn.TransformerEncoderLayer(8, 2, 16)])
def test_the_second_axis_is_one_where_a_layer_says_so(layer: Callable[[], nn.Module]) -> None:
    one, other = (record(layer(), torch.ones(5, examples, 8)) for examples in (2, 3))
    assert one.batch[0] == (1,)
    assert wrong(one, other, (2, 3)) == []
