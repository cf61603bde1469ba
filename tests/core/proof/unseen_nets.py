"""Nets that were drawn wrongly when they were first seen, each as small as shows the fault, and one for each kind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from tests.corpus.entry import Entry, given, numbers, words

# --- layers that are called again, with others between the calls


class Shared(nn.Module):
    """A layer, another one, and the first again."""

    def __init__(self) -> None:
        super().__init__()
        self.p, self.mid = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.p(self.mid(self.p(x)))
        return found


class SharedMixed(nn.Module):
    """Two calls of a layer side by side, one of what follows them, and one of something else."""

    def __init__(self) -> None:
        super().__init__()
        self.p, self.mid = nn.Linear(4, 4), nn.Linear(8, 4)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        found: Tensor = self.p(torch.relu(self.mid(torch.cat([self.p(a), self.p(b)], 1)))) + self.p(a * b)
        return found


class RoundsOfOne(nn.Module):
    """Rounds of three parallel blocks that all read what one shared layer gives in their round."""

    def __init__(self) -> None:
        super().__init__()
        self.cpe = nn.Conv2d(4, 4, 3, padding=1, groups=4)
        self.blocks = nn.ModuleList(nn.ModuleList(nn.Conv2d(4, 4, 1) for _ in range(3)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        branches = [x, x + 1, x * 2]
        for blocks in self.blocks.children():
            branches = [self.cpe(one) for one in branches]
            total = torch.stack(branches).sum(0)
            branches = [block(one) + total for block, one in zip(blocks.children(), branches, strict=True)]
        return torch.cat(branches, 1)


class RetinaHead(nn.Module):
    """One convolution and one activation on each of three sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.relu, self.out = nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(), nn.Conv2d(4, 2, 3, padding=1)

    def forward(self, a: Tensor, b: Tensor, c: Tensor) -> Tensor:
        return torch.cat([self.out(self.relu(self.conv(x))).flatten(2) for x in (a, b, c)], 2)


class TiedAutoencoder(nn.Module):
    """The decoder's weights are the encoder's, turned round."""

    def __init__(self) -> None:
        super().__init__()
        self.enc = nn.Linear(8, 3)
        self.bias = nn.Parameter(torch.zeros(8))

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(torch.relu(self.enc(x)), self.enc.weight.t(), self.bias)


class Triplet(nn.Module):
    """One net for three inputs, and two distances that both use the first."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        a, p, n = self.net(anchor), self.net(positive), self.net(negative)
        return torch.relu((a - p).pow(2).sum(1) - (a - n).pow(2).sum(1) + 1)


class SetBlock(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        q = self.q(x)
        h: Tensor = q + (q @ self.k(y).mT / 8**0.5).softmax(-1) @ self.v(y)
        return h + torch.relu(self.o(h))


class InducedSet(nn.Module):
    """Two blocks of which the second reads as query what was the key of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.points = nn.Parameter(torch.randn(1, 3, 8))
        self.mab0, self.mab1 = SetBlock(), SetBlock()

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.mab1(x, self.mab0(self.points.repeat(x.shape[0], 1, 1), x))
        return found


class Attending(nn.Module):
    """Attention to the tensor itself, or to a text."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(8, 8) for _ in range(4))

    def forward(self, hidden: Tensor, text: Tensor | None = None) -> Tensor:
        text = hidden if text is None else text
        scores = (self.q(hidden) @ self.k(text).mT / 8**0.5).softmax(-1)
        return hidden + self.o(scores @ self.v(text))  # type: ignore[no-any-return]


class SelfAndCross(nn.Module):
    """Attention of one class to itself and, in its turn, to a text."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.cross, self.again = Attending(), Attending(), Attending()
        self.norm0, self.norm1 = nn.LayerNorm(8), nn.LayerNorm(8)

    def forward(self, x: Tensor, text: Tensor) -> Tensor:
        x = self.norm0(self.own(x))
        return self.again(self.norm1(self.cross(x, text)))  # type: ignore[no-any-return]


# --- outputs


class Nested(nn.Module):
    """Four heads whose outputs lie in dictionaries in a dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Linear(4, 2) for _ in range(4))

    def forward(self, x: Tensor) -> Any:
        return {"det": {"cls": self.a(x), "box": self.b(x)}, "seg": {"mask": self.c(x), "edge": self.d(x)}}


class NestedDict(nn.Module):
    """Four tasks of three heads each behind one trunk."""

    def __init__(self) -> None:
        super().__init__()
        tasks = {
            "det": "cls box obj",
            "seg": "mask edge depth",
            "pose": "points limbs score",
            "text": "chars order angle",
        }
        self.trunk = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 8))
        self.tasks = nn.ModuleDict(
            {
                task: nn.ModuleDict(
                    {head: nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)) for head in heads.split()}
                )
                for task, heads in tasks.items()
            }
        )

    def forward(self, x: Tensor) -> Any:
        h = self.trunk(x)
        return {
            task: {name: head(h) for name, head in heads.items()}  # type: ignore[operator]
            for task, heads in self.tasks.items()
        }


@dataclass
class Sample:
    image: Tensor
    label: Tensor


@dataclass
class Found:
    logits: Tensor
    hidden: list[Tensor]
    extra: dict[str, Any]


class DataclassIO(nn.Module):
    """Dataclasses as input and output, the heads in a dictionary in the latter."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.label, self.head = nn.Linear(4, 8), nn.Embedding(5, 8), nn.Linear(8, 3)
        self.heads = nn.ModuleDict({name: nn.Linear(8, 2) for name in "xyz"})

    def forward(self, sample: Sample) -> Found:
        h = torch.relu(self.body(sample.image) + self.label(sample.label))
        extra = {"a": {name: head(h) for name, head in self.heads.items()}}
        return Found(self.head(h), [h], extra)


class Detections(nn.Module):
    """A list of dictionaries, one for each image, chosen by the scores."""

    def __init__(self) -> None:
        super().__init__()
        self.box_head, self.score_head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: Tensor) -> Any:
        boxes, scores = self.box_head(x), self.score_head(x).softmax(-1)
        found = []
        for i in range(2):
            best, labels = scores[i].max(-1)
            keep = best.topk(2).indices
            found.append({"boxes": boxes[i][keep], "labels": labels[keep], "scores": best[keep]})
        return found


# --- settings


class DilationBlock(nn.Module):
    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.c1 = nn.Conv1d(8, 8, 3, padding=dilation, dilation=dilation)
        self.c2 = nn.Conv1d(8, 8, 1)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.c2(torch.relu(self.c1(x)))
        return found


class Dilation(nn.Module):
    """Five blocks that differ in their dilation only."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(DilationBlock(2**i) for i in range(5)))

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.blocks(x)
        return found


class WaveNetBlock(nn.Module):
    def __init__(self, dilation: int) -> None:
        super().__init__()
        self.pad = dilation
        self.filter, self.gate = (nn.Conv1d(8, 8, 2, dilation=dilation) for _ in range(2))
        self.residual, self.skip = nn.Conv1d(8, 8, 1), nn.Conv1d(8, 8, 1)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = F.pad(x, (self.pad, 0))
        y = self.filter(y).tanh() * self.gate(y).sigmoid()
        return x + self.residual(y), self.skip(y)


class WaveNet(nn.Module):
    """Gated blocks of growing dilation, whose skips are summed."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Conv1d(1, 8, 1)
        self.blocks = nn.ModuleList(WaveNetBlock(2**i) for i in range(8))
        self.out = nn.Conv1d(8, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x)
        total: Any = 0
        for block in self.blocks:
            x, skip = block(x)
            total = total + skip
        found: Tensor = self.out(torch.relu(total))
        return found


class TCNBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, dilation: int) -> None:
        super().__init__()
        self.pad = 2 * dilation
        self.conv1 = weight_norm(nn.Conv1d(inputs, outputs, 3, dilation=dilation))
        self.conv2 = weight_norm(nn.Conv1d(outputs, outputs, 3, dilation=dilation))
        self.downsample = nn.Conv1d(inputs, outputs, 1) if inputs != outputs else None

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.conv1(F.pad(x, (self.pad, 0))))
        y = torch.relu(self.conv2(F.pad(y, (self.pad, 0))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


def tcn() -> nn.Module:
    """Parametrised convolutions of growing dilation."""
    return nn.Sequential(TCNBlock(4, 8, 1), *(TCNBlock(8, 8, 2**i) for i in range(1, 4)))


class MaskedConv2d(nn.Conv2d):
    """A convolution that does not see what comes later, of kind A not even its own place."""

    mask: Tensor

    def __init__(self, kind: str, inputs: int, outputs: int, size: int) -> None:
        super().__init__(inputs, outputs, size, padding=size // 2)
        mask = torch.ones_like(self.weight)
        mask[:, :, size // 2, size // 2 + (kind == "B") :] = 0
        mask[:, :, size // 2 + 1 :] = 0
        self.register_buffer("mask", mask)

    def forward(self, x: Tensor) -> Tensor:
        return F.conv2d(x, self.weight * self.mask, self.bias, padding=self.padding)


def pixelcnn() -> nn.Module:
    """Masked convolutions, the first of another kind and size."""
    layers: list[nn.Module] = []
    for i in range(4):
        conv = MaskedConv2d("B" if i else "A", 8 if i else 1, 8, 7 if i < 1 else 3)
        layers += [conv, nn.BatchNorm2d(8), nn.ReLU()]
    return nn.Sequential(*layers, nn.Conv2d(8, 5, 1))


class Shifted(nn.Module):
    def __init__(self, shift: int) -> None:
        super().__init__()
        self.shift, self.norm, self.qkv, self.proj = shift, nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        if self.shift:
            y = torch.roll(y, -self.shift, 1)
        q, k, v = self.qkv(y.unflatten(1, (-1, 4))).chunk(3, -1)
        y = self.proj((q @ k.mT).softmax(-1) @ v).flatten(1, 2)
        return x + (torch.roll(y, self.shift, 1) if self.shift else y)


def swin() -> nn.Module:
    """Blocks of one class of which every second one shifts its windows."""
    return nn.Sequential(*(Shifted(2 * (i % 2)) for i in range(6)))


class Variant(nn.Module):
    def __init__(self, act: Callable[[Tensor], Tensor] = torch.relu, kind: str = "") -> None:
        super().__init__()
        self.act, self.kind, self.a, self.b = act, kind, nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        first, second = (self.b, self.a) if self.kind == "turned" else (self.a, self.b)
        y: Tensor = second(self.act(first(x)))
        return y if self.kind == "no skip" else x - y if self.kind == "minus" else x + y


def variants() -> nn.Module:
    """Six blocks of one class: two are alike, each of the others differs from them in another thing."""
    others = Variant(torch.tanh), Variant(kind="no skip"), Variant(kind="minus"), Variant(kind="turned")
    return nn.Sequential(Variant(), Variant(), *others)


class Single(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.lin = nn.LayerNorm(8), nn.Linear(8, 8)

    def forward(self, x: Tensor, time: Tensor, rope: tuple[Tensor, Tensor]) -> Tensor:
        y = self.norm(x) * (1 + time[:, None])
        cos, sin = rope
        found: Tensor = x + self.lin(y * cos + y.roll(1, -1) * sin)
        return found


class Flux(nn.Module):
    """Equal blocks that all read a time and positions."""

    def __init__(self) -> None:
        super().__init__()
        self.time, self.blocks = nn.Linear(1, 8), nn.ModuleList(Single() for _ in range(6))

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        time = F.silu(self.time(t))
        places = torch.arange(x.shape[1])[:, None] / torch.arange(1, 9)
        for block in self.blocks:
            x = block(x, time, (places.cos(), places.sin()))
        return x


class Stage(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(inputs, outputs, 3, stride, 1), nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1)
        self.downsample = nn.Conv2d(inputs, outputs, 1, stride) if stride > 1 else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.conv2(torch.relu(self.bn1(self.conv1(x))))
        return torch.relu(y + (x if self.downsample is None else self.downsample(x)))


def resnet() -> nn.Module:
    """Stages of blocks, in all but the first of which the first block halves the image."""
    sizes = [(4, 4, 1), (4, 8, 2), (8, 16, 2)]
    stages = (nn.Sequential(Stage(*size), *(Stage(size[1], size[1], 1) for _ in range(2))) for size in sizes)
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), *stages)


class VeryLongNameOfAClassOfBlocksThatTransformTheirInputOnceMore(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first_projection_of_the_block, self.second_projection_of_the_block = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.second_projection_of_the_block(torch.relu(self.first_projection_of_the_block(x)))
        return found


def long_names() -> nn.Module:
    """Four equal blocks with a name that fits nowhere."""
    return nn.Sequential(*(VeryLongNameOfAClassOfBlocksThatTransformTheirInputOnceMore() for _ in range(4)))


# --- layers that take turns


class GraphAttention(nn.Module):
    """Attention over the edges of a graph, in operations."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(8, 8, bias=False)
        self.att = nn.Parameter(torch.randn(16))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = self.lin(x)
        source, target = edges
        e = F.leaky_relu(torch.cat([h[source], h[target]], 1) @ self.att).exp()
        total = torch.zeros(x.shape[0]).index_add(0, target, e)
        return torch.zeros_like(h).index_add(0, target, h[source] * (e / total[target])[:, None])


class AttentiveFP(nn.Module):
    """Convolutions and cells that take turns, with operations between them."""

    def __init__(self, conv: Callable[[], nn.Module], cell: Callable[[], nn.Module]) -> None:
        super().__init__()
        self.enter, self.out = nn.Linear(4, 8), nn.Linear(8, 1)
        self.atom_convs = nn.ModuleList(conv() for _ in range(3))
        self.atom_grus = nn.ModuleList(cell() for _ in range(3))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        x = F.leaky_relu(self.enter(x))
        for conv, gru in zip(self.atom_convs, self.atom_grus, strict=True):
            h = F.elu(conv(x, edges) if isinstance(conv, GraphAttention) else conv(x))
            x = torch.relu(gru(h, x) if isinstance(gru, nn.GRUCell) else gru(h))
        found: Tensor = self.out(x.sum(0))
        return found


def attentivefp() -> nn.Module:
    return AttentiveFP(GraphAttention, lambda: nn.GRUCell(8, 8))


def pairs() -> nn.Module:
    """The same lines with linear layers."""
    return AttentiveFP(lambda: nn.Linear(8, 8), lambda: nn.Linear(8, 8))


# --- wide and tangled


class DCN(nn.Module):
    """A deep and a cross net over many embeddings of different sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.embs = nn.ModuleList(nn.Embedding(20 + i, 4) for i in range(16))
        self.kernels = nn.ParameterList(torch.randn(64, 1) for _ in range(3))
        self.biases = nn.ParameterList(torch.randn(64) for _ in range(3))
        self.deep, self.out = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 16)), nn.Linear(80, 1)

    def forward(self, ids: Tensor) -> Tensor:
        first = x = torch.cat([emb(ids[:, i]) for i, emb in enumerate(self.embs)], 1)
        for kernel, bias in zip(self.kernels, self.biases, strict=True):
            x = first * (x @ kernel) + bias + x
        return torch.sigmoid(self.out(torch.cat([x, self.deep(first)], 1)))


class FPN(nn.Module):
    """Stages, and a way back up through all of them."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [3, 4, 8, 16]
        self.stages = nn.ModuleList(nn.Conv2d(a, b, 3, 2, 1) for a, b in pairwise(sizes))
        self.lateral = nn.ModuleList(nn.Conv2d(b, 4, 1) for b in sizes[1:])
        self.smooth = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=1) for _ in sizes[1:])

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        kept = []
        for stage in self.stages:
            x = torch.relu(stage(x))
            kept.append(x)
        sides = [lateral(one) for lateral, one in zip(self.lateral, kept, strict=True)]
        for i in (1, 0):
            sides[i] = sides[i] + F.interpolate(sides[i + 1], scale_factor=2)
        return {f"p{i}": smooth(one) for i, (smooth, one) in enumerate(zip(self.smooth, sides, strict=True))}


class HRNet(nn.Module):
    """Two branches of different resolutions that exchange what they have twice."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.ModuleList([nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(3, 8, 3, 2, 1)])
        self.branch = nn.ModuleList(nn.ModuleList(nn.Conv2d(c, c, 3, padding=1) for c in (4, 8)) for _ in range(2))
        self.up = nn.ModuleList(nn.Conv2d(8, 4, 1) for _ in range(2))
        self.down = nn.ModuleList(nn.Conv2d(4, 8, 3, 2, 1) for _ in range(2))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        a, b = (enter(x) for enter in self.enter)
        for branch, up, down in zip(self.branch, self.up, self.down, strict=True):
            a, b = (torch.relu(conv(one)) for conv, one in zip(branch, (a, b), strict=True))  # type: ignore[call-overload]
            a, b = a + F.interpolate(up(b), scale_factor=2), b + down(a)
        return a, b


class Tower(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.ModuleList(nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: Tensor, context: Tensor) -> Tensor:
        for fc in self.fc:
            x = torch.relu(fc(x) * context)
        return x


class TwoTower(nn.Module):
    """Towers of one class that read one context, which enters at the side."""

    def __init__(self) -> None:
        super().__init__()
        self.user, self.item, self.context = Tower(), Tower(), nn.Linear(2, 8)

    def forward(self, user: Tensor, item: Tensor, context: Tensor) -> Tensor:
        c = torch.sigmoid(self.context(context))
        found: Tensor = self.user(user, c) * self.item(item, c)
        return found.sum(1)


class InPlace(nn.Module):
    """Writes into views of what it returns."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x)
        y[:, :2] += self.b(x)
        y.mul_(2).relu_()
        z = torch.zeros_like(y)
        z[:, 1:] = y[:, :-1]
        return z


class NoParams(nn.Module):
    """Arithmetic alone, of which all is read."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        mean, values = x.mean(-1, keepdim=True), y.sort(-1).values
        z = (x - mean) / (x.var(-1, keepdim=True) + 1e-5).sqrt() * values
        low, high = z.chunk(2, -1)
        return torch.where(low > 0, low, high.exp()), torch.einsum("bi,bj->bij", low, high).amax(1)


UNSEEN = [
    Entry("shared", Shared, given(numbers(2, 4))),
    Entry("shared_mixed", SharedMixed, given(numbers(2, 4), numbers(2, 4))),
    Entry("rounds_of_one", RoundsOfOne, given(numbers(1, 4, 6, 6))),
    Entry("retina_head", RetinaHead, given(*(numbers(1, 4, n, n) for n in (8, 4, 2)))),
    Entry("tied_autoencoder", TiedAutoencoder, given(numbers(2, 8))),
    Entry("triplet", Triplet, given(*(numbers(2, 4) for _ in range(3)))),
    Entry("induced_set", InducedSet, given(numbers(2, 5, 8))),
    Entry("self_and_cross", SelfAndCross, given(numbers(2, 5, 8), numbers(2, 3, 8))),
    Entry("nested", Nested, given(numbers(2, 4))),
    Entry("nested_dict", NestedDict, given(numbers(2, 4))),
    Entry("dataclass_io", DataclassIO, given(lambda: Sample(torch.randn(2, 4), torch.tensor([1, 2])))),
    Entry("detections", Detections, given(numbers(2, 6, 4))),
    Entry("dilation", Dilation, given(numbers(1, 8, 40))),
    Entry("wavenet", WaveNet, given(numbers(1, 1, 300))),
    Entry("tcn", tcn, given(numbers(1, 4, 40))),
    Entry("pixelcnn", pixelcnn, given(numbers(1, 1, 8, 8))),
    Entry("swin", swin, given(numbers(1, 16, 8))),
    Entry("variants", variants, given(numbers(2, 8))),
    Entry("flux", Flux, given(numbers(2, 5, 8), numbers(2, 1))),
    Entry("resnet", resnet, given(numbers(1, 3, 16, 16))),
    Entry("long_names", long_names, given(numbers(2, 4))),
    Entry("attentivefp", attentivefp, given(numbers(4, 4), lambda: torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]]))),
    Entry("pairs", pairs, given(numbers(4, 4), lambda: torch.tensor([[0, 1], [1, 0]]))),
    Entry("dcn", DCN, given(words(2, 16, 20))),
    Entry("fpn", FPN, given(numbers(1, 3, 32, 32))),
    Entry("hrnet", HRNet, given(numbers(1, 3, 16, 16))),
    Entry("two_tower", TwoTower, given(numbers(2, 8), numbers(2, 8), numbers(2, 2))),
    Entry("in_place", InPlace, given(numbers(2, 4))),
    Entry("no_params", NoParams, given(numbers(2, 4), numbers(2, 4))),
]
"""Each net with what it is called with."""
