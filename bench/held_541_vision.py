"""Nets of robots, images, graphs, molecules and mazes as repositories write them, of the fourteenth list kept back.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve each of the three lists after it, `random.Random(541).sample(that, 12)`:

    graph_matching_network action_chunking_transformer liif hstu csdi dccrn mixture_of_depths wavegrad fullsubnet
    value_iteration scinet chem_vae

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return, no-untyped-call"
# a call of a module has no type, nor has `unflatten`

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from bench.held_397_vision import TOPICS as _OF_FIVE_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433
from bench.held_467_vision import TOPICS as _OF_SEED_467
from bench.held_503_vision import TOPICS as _OF_SEED_503
from tests.corpus.entry import Entry, given, numbers, whole

_OF_SEED_397 = random.Random(397).sample(_OF_FIVE_LISTS.split(), 15)
_DRAWN_BEFORE = {*_OF_SEED_397, *_OF_SEED_433, *_OF_SEED_467, *_OF_SEED_503}
TOPICS = random.Random(541).sample([it for it in sorted(_OF_FIVE_LISTS.split()) if it not in _DRAWN_BEFORE], 12)


def plane_waves(height: int, width: int, dim: int) -> Tensor:
    """Sines and cosines of the place of each cell of a map (height * width, dim), half of rows and half of columns."""
    rates = torch.logspace(0, -3, dim // 4)
    down, right = (torch.outer(torch.arange(n, dtype=torch.float32), rates) for n in (height, width))
    rows = torch.cat([down.sin(), down.cos()], dim=1)
    columns = torch.cat([right.sin(), right.cos()], dim=1)
    grid = torch.cat([rows[:, None].expand(-1, width, -1), columns[None].expand(height, -1, -1)], dim=2)
    return grid.flatten(0, 1)


class CameraBlock(nn.Module):
    """Two convolutions at half the size, beside one that only brings the input to their shape."""

    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.detail = nn.Sequential(
            nn.Conv2d(n_in, n_out, 3, stride=2, padding=1, bias=False), nn.GroupNorm(4, n_out), nn.ReLU(),
            nn.Conv2d(n_out, n_out, 3, padding=1, bias=False), nn.GroupNorm(4, n_out),
        )  # fmt: skip
        self.coarse = nn.Conv2d(n_in, n_out, 1, stride=2, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Features (images, n_out, height / 2, width / 2)."""
        return torch.relu(self.detail(x) + self.coarse(x))


class CameraEncoder(nn.Module):
    """Tokens of all cameras of a robot, with the place in the image and the camera that they are of."""

    def __init__(self, n_cameras: int, widths: Sequence[int], dim: int) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*(CameraBlock(n_in, n_out) for n_in, n_out in pairwise([3, *widths])))
        self.project = nn.Conv2d(widths[-1], dim, 1)
        self.which = nn.Embedding(n_cameras, dim)

    def forward(self, images: Tensor) -> tuple[Tensor, Tensor]:
        """The tokens and their positions, both (batch, tokens, dim), of images (batch, cameras, 3, height, width)."""
        batch, n_cameras = images.shape[:2]
        maps = self.project(self.blocks(images.flatten(0, 1)))
        height, width = maps.shape[-2:]
        tokens = maps.flatten(2).transpose(1, 2).reshape(batch, n_cameras * height * width, -1)
        place = plane_waves(height, width, maps.size(1)).to(maps)
        positions = (self.which.weight.unsqueeze(1) + place).flatten(0, 1)
        return tokens, positions.expand(batch, -1, -1)


class PlacedAttention(nn.Module):
    """Attention in which positions are added to what is compared and not to what is passed on."""

    def __init__(self, dim: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(dim, n_heads, dropout=dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: Tensor, place: Tensor, memory: Tensor, memory_place: Tensor) -> Tensor:
        """The tokens (batch, tokens, dim) after a look at the memory."""
        seen, _ = self.attention(x + place, memory + memory_place, memory, need_weights=False)
        return self.norm(x + self.dropout(seen))


class TokenMLP(nn.Module):
    """A perceptron of each token, added to it and normed."""

    def __init__(self, dim: int, hidden_dim: int, dropout: float) -> None:
        super().__init__()
        self.widen, self.narrow = nn.Linear(dim, hidden_dim), nn.Linear(hidden_dim, dim)
        self.dropout = nn.Dropout(dropout)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x: Tensor) -> Tensor:
        """The tokens (batch, tokens, dim)."""
        inner = self.dropout(F.relu(self.widen(x)))
        return self.norm(x + self.dropout(self.narrow(inner)))


class SceneLayer(nn.Module):
    """A layer of the encoder, over all that the robot senses."""

    def __init__(self, dim: int, n_heads: int, hidden_dim: int, dropout: float) -> None:
        super().__init__()
        self.among = PlacedAttention(dim, n_heads, dropout)
        self.mlp = TokenMLP(dim, hidden_dim, dropout)

    def forward(self, x: Tensor, place: Tensor) -> Tensor:
        """The tokens (batch, tokens, dim)."""
        return self.mlp(self.among(x, place, x, place))


class ActionLayer(nn.Module):
    """A layer of the decoder, over the actions of the chunk and then over what the robot senses."""

    def __init__(self, dim: int, n_heads: int, hidden_dim: int, dropout: float) -> None:
        super().__init__()
        self.among = PlacedAttention(dim, n_heads, dropout)
        self.to_scene = PlacedAttention(dim, n_heads, dropout)
        self.mlp = TokenMLP(dim, hidden_dim, dropout)

    def forward(self, x: Tensor, place: Tensor, scene: Tensor, scene_place: Tensor) -> Tensor:
        """The tokens of the actions (batch, chunk, dim)."""
        x = self.among(x, place, x, place)
        return self.mlp(self.to_scene(x, place, scene, scene_place))


class MannerEncoder(nn.Module):
    """The manner of a demonstration as a normal distribution of a few numbers."""

    def __init__(
        self, n_joints: int, n_actions: int, chunk: int, dim: int, n_heads: int, hidden_dim: int, depth: int,
        latent_dim: int, dropout: float,
    ) -> None:  # fmt: skip
        super().__init__()
        self.from_joints = nn.Linear(n_joints, dim)
        self.from_actions = nn.Linear(n_actions, dim)
        self.summary = nn.Parameter(torch.zeros(1, 1, dim))
        self.order = nn.Parameter(0.02 * torch.randn(1, chunk + 2, dim))
        layer = nn.TransformerEncoderLayer(dim, n_heads, hidden_dim, dropout, batch_first=True)
        self.transformer = nn.TransformerEncoder(layer, depth)
        self.mean, self.log_variance = nn.Linear(dim, latent_dim), nn.Linear(dim, latent_dim)

    def forward(self, joints: Tensor, actions: Tensor, absent: Tensor) -> tuple[Tensor, Tensor]:
        """The mean and the logarithm of the variance (batch, latent_dim)."""
        summary = self.summary.expand(len(joints), -1, -1)
        tokens = torch.cat([self.from_actions(actions), self.from_joints(joints).unsqueeze(1), summary], dim=1)
        mask = F.pad(absent, (0, 2), value=False)
        hidden = self.transformer(tokens + self.order, src_key_padding_mask=mask)[:, -1]
        return self.mean(hidden), self.log_variance(hidden)


class ChunkPlanner(nn.Module):
    """The next actions of a robot, a whole chunk at once, learned from demonstrations of people who differ."""

    def __init__(
        self, n_joints: int = 14, n_actions: int = 14, n_cameras: int = 2, chunk: int = 12, dim: int = 64,
        n_heads: int = 4, hidden_dim: int = 128, n_encoder: int = 2, n_decoder: int = 3, latent_dim: int = 8,
        widths: Sequence[int] = (16, 32, 48), dropout: float = 0.1, divergence_weight: float = 10.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.latent_dim, self.divergence_weight = latent_dim, divergence_weight
        self.manner = MannerEncoder(n_joints, n_actions, chunk, dim, n_heads, hidden_dim, 2, latent_dim, dropout)
        self.cameras = CameraEncoder(n_cameras, widths, dim)
        self.from_latent, self.from_joints = nn.Linear(latent_dim, dim), nn.Linear(n_joints, dim)
        self.place_of_state = nn.Parameter(0.02 * torch.randn(1, 2, dim))
        self.encoder = nn.ModuleList(SceneLayer(dim, n_heads, hidden_dim, dropout) for _ in range(n_encoder))
        self.decoder = nn.ModuleList(ActionLayer(dim, n_heads, hidden_dim, dropout) for _ in range(n_decoder))
        self.queries = nn.Embedding(chunk, dim)
        self.final_norm = nn.LayerNorm(dim)
        self.action_head = nn.Linear(dim, n_actions)

    def plan(self, joints: Tensor, images: Tensor, latent: Tensor) -> Tensor:
        """The chunk of actions (batch, chunk, actions) in the manner of a latent (batch, latent_dim)."""
        tokens, place = self.cameras(images)
        state = torch.stack([self.from_latent(latent), self.from_joints(joints)], dim=1)
        scene = torch.cat([state, tokens], dim=1)
        scene_place = torch.cat([self.place_of_state.expand(len(state), -1, -1), place], dim=1)
        for layer in self.encoder:
            scene = layer(scene, scene_place)
        query_place = self.queries.weight.expand(len(state), -1, -1)
        x = torch.zeros_like(query_place)
        for layer in self.decoder:
            x = layer(x, query_place, scene, scene_place)
        return self.action_head(self.final_norm(x))

    def forward(
        self, joints: Tensor, images: Tensor, actions: Tensor | None = None, absent: Tensor | None = None
    ) -> dict[str, Tensor]:
        """The chunk, and how far it is from a demonstration if there is one; it may end early, the rest is absent."""
        if actions is None or absent is None:
            return {"actions": self.plan(joints, images, joints.new_zeros(len(joints), self.latent_dim))}
        mean, log_variance = self.manner(joints, actions, absent)
        latent = mean + torch.randn_like(mean) * (log_variance / 2).exp()
        planned = self.plan(joints, images, latent)
        error = (planned - actions).abs()[~absent].mean()
        divergence = (log_variance.exp() + mean**2 - 1 - log_variance).sum(dim=1).mean() / 2
        return {"actions": planned, "error": error, "loss": error + self.divergence_weight * divergence}


class DenseConvs(nn.Module):
    """Convolutions that each see the output of all before them, with their input added in the end."""

    def __init__(self, width: int, growth: int, depth: int) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(width + i * growth, growth, 3, padding=1) for i in range(depth))
        self.fuse = nn.Conv2d(width + depth * growth, width, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Features (batch, width, height, width of the image)."""
        known = [x]
        for conv in self.convs:
            known.append(F.relu(conv(torch.cat(known, dim=1))))
        return self.fuse(torch.cat(known, dim=1)) + x


class PixelEncoder(nn.Module):
    """Features of each pixel of an image that is not made smaller."""

    def __init__(self, width: int, growth: int, n_convs: int, n_blocks: int) -> None:
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.blocks = nn.ModuleList(DenseConvs(width, growth, n_convs) for _ in range(n_blocks))
        self.gather = nn.Sequential(
            nn.Conv2d(n_blocks * width, width, 1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1)
        )

    def forward(self, image: Tensor) -> Tensor:
        """Features (batch, width, height, width of the image)."""
        first = x = self.head(image)
        outputs = []
        for block in self.blocks:
            x = block(x)
            outputs.append(x)
        return first + self.gather(torch.cat(outputs, dim=1))


class ImageFunction(nn.Module):
    """An image as a function of the place, which can be asked for its colour between the pixels, too."""

    def __init__(
        self, width: int = 32, growth: int = 16, n_convs: int = 3, n_blocks: int = 3,
        hidden: Sequence[int] = (96, 96, 96), window: int = 3,
    ) -> None:  # fmt: skip
        super().__init__()
        self.window = window
        self.encoder = PixelEncoder(width, growth, n_convs, n_blocks)
        self.colour = nn.Sequential()
        for n_in, n_out in pairwise([window**2 * width + 4, *hidden]):
            self.colour.extend([nn.Linear(n_in, n_out), nn.ReLU()])
        self.colour.append(nn.Linear(hidden[-1], 3))

    def ask(self, features: Tensor, points: Tensor, cell: Tensor) -> Tensor:
        """Colours (batch, points, 3) as a mean of what the features of the four pixels around each point say."""
        height, width = features.shape[-2:]
        codes = F.unfold(features, self.window, padding=self.window // 2)
        size = points.new_tensor([height, width])
        place = points * size - 0.5
        first = place.floor()
        colour = features.new_zeros(*points.shape[:2], 3)
        for corner in ([0, 0], [0, 1], [1, 0], [1, 1]):
            pixel = first + points.new_tensor(corner)
            share = (1 - (place - pixel).abs()).prod(dim=-1, keepdim=True)
            row = pixel[..., 0].long().clamp(0, height - 1)
            column = pixel[..., 1].long().clamp(0, width - 1)
            index = (row * width + column).unsqueeze(1).expand(-1, codes.size(1), -1)
            code = codes.gather(2, index).transpose(1, 2)
            offset = place - torch.stack([row, column], dim=-1)
            colour = colour + share * self.colour(torch.cat([code, offset, cell * size], dim=-1))
        return colour

    @torch.no_grad()
    def enlarge(self, image: Tensor, height: int, width: int, at_once: int = 4096) -> Tensor:
        """The image in any size (batch, 3, height, width), some points at a time."""
        rows, columns = ((torch.arange(n, device=image.device) + 0.5) / n for n in (height, width))
        points = torch.cartesian_prod(rows, columns).expand(len(image), -1, -1)
        cell = (1 / points.new_tensor([height, width])).expand_as(points)
        parts = zip(points.split(at_once, dim=1), cell.split(at_once, dim=1), strict=True)
        colours = [self(image, place, size) for place, size in parts]
        return torch.cat(colours, dim=1).transpose(1, 2).unflatten(2, (height, width)).clamp(0, 1)

    def forward(self, image: Tensor, points: Tensor, cell: Tensor) -> Tensor:
        """Colours (batch, points, 3) at points (batch, points, 2) from zero to one, for pixels of this size."""
        features = self.encoder(2 * image - 1)
        grid = (2 * points - 1).flip(-1).unsqueeze(2)
        smooth = F.grid_sample(image, grid, padding_mode="border", align_corners=False).squeeze(-1)
        return self.ask(features, points, cell) + smooth.transpose(1, 2)


class PairedGraphs(NamedTuple):
    """Graphs in one, of which those of number 2 i and 2 i + 1 are compared."""

    nodes: Tensor
    edges: Tensor
    edge_features: Tensor
    owner: Tensor
    """The number of the graph of each node."""


def perceptron(*widths: int) -> nn.Sequential:
    """Linear layers with an activation between any two."""
    layers = list[nn.Module]()
    for n_in, n_out in pairwise(widths):
        layers += [nn.Linear(n_in, n_out), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class NeighbourMessages(nn.Module):
    """The sum of messages to each node along its edges, and of others against them."""

    def __init__(self, dim: int, edge_dim: int) -> None:
        super().__init__()
        self.along = perceptron(2 * dim + edge_dim, 2 * dim, dim)
        self.against = perceptron(2 * dim + edge_dim, 2 * dim, dim)

    def forward(self, x: Tensor, edges: Tensor, edge_features: Tensor) -> Tensor:
        """Sums (nodes, dim)."""
        source, target = edges
        forwards = self.along(torch.cat([x[source], x[target], edge_features], dim=1))
        backwards = self.against(torch.cat([x[target], x[source], edge_features], dim=1))
        total = torch.zeros_like(x)
        total = total.index_add(0, target, forwards)
        return total.index_add(0, source, backwards)


class OtherGraph(nn.Module):
    """The part of each node that the other graph of its pair does not have."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.compare = nn.Linear(dim, dim, bias=False)

    def forward(self, x: Tensor, owner: Tensor) -> Tensor:
        """Differences (nodes, dim)."""
        keys = F.normalize(self.compare(x), dim=1)
        likeness = 10 * keys @ keys.t()
        is_other = (owner ^ 1).unsqueeze(1) == owner.unsqueeze(0)
        weights = likeness.masked_fill(~is_other, -1e9).softmax(dim=1)
        return x - weights @ x


class CodeMatcher(nn.Module):
    """The distance of two functions of binaries, from graphs of their jumps that are read beside each other."""

    def __init__(
        self, n_features: int = 12, n_edge_features: int = 3, dim: int = 48, edge_dim: int = 16, n_rounds: int = 4,
        code_dim: int = 64, margin: float = 1.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.margin = margin
        self.node_encoder = perceptron(n_features, dim, dim)
        self.edge_encoder = nn.Linear(n_edge_features, edge_dim)
        self.messages = NeighbourMessages(dim, edge_dim)
        self.other = OtherGraph(dim)
        self.update = nn.GRUCell(2 * dim, dim)  # the same in all rounds
        self.n_rounds = n_rounds
        self.gate, self.content = nn.Linear(dim, code_dim), nn.Linear(dim, code_dim)
        self.code = perceptron(code_dim, code_dim, code_dim)

    def forward(self, graphs: PairedGraphs, same: Tensor) -> dict[str, Tensor]:
        """Codes (graphs, code_dim), the distances of the pairs and the loss, given which are the same (pairs)."""
        x = self.node_encoder(graphs.nodes)
        edge_features = self.edge_encoder(graphs.edge_features)
        for _ in range(self.n_rounds):
            news = torch.cat([self.messages(x, graphs.edges, edge_features), self.other(x, graphs.owner)], dim=1)
            x = self.update(news, x)
        gated = self.gate(x).sigmoid() * self.content(x)
        sums = gated.new_zeros(2 * len(same), gated.size(1)).index_add(0, graphs.owner, gated)
        codes = self.code(sums)
        one, two = codes[0::2], codes[1::2]
        distance = torch.linalg.vector_norm(one - two, dim=1)
        loss = torch.where(same, distance.square(), F.relu(self.margin - distance).square()).mean()
        return {"codes": codes, "distance": distance, "loss": loss}


class ValueRounds(nn.Module):
    """The worth of each move from each cell of a map, as values that spread from cell to cell for some rounds."""

    def __init__(self, n_in: int, hidden: int, n_moves: int, rounds: int) -> None:
        super().__init__()
        self.rounds = rounds
        self.reward = nn.Sequential(
            nn.Conv2d(n_in, hidden, 3, padding=1), nn.ReLU(), nn.Conv2d(hidden, 1, 1, bias=False)
        )
        self.gain = nn.Conv2d(1, n_moves, 3, padding=1, bias=False)
        self.spread = nn.Conv2d(1, n_moves, 3, padding=1, bias=False)

    def forward(self, maps: Tensor) -> tuple[Tensor, Tensor]:
        """Values (batch, 1, height, width) and the worth of the moves (batch, moves, height, width)."""
        gain = self.gain(self.reward(maps))  # the same in all rounds
        worth = gain
        for _ in range(self.rounds):
            worth = gain + self.spread(worth.amax(dim=1, keepdim=True))
        return worth.amax(dim=1, keepdim=True), worth


class MazePolicy(nn.Module):
    """The next move in a maze, planned first on a coarse map and then, with the values of that, on the fine one."""

    def __init__(
        self, n_layers: int = 2, hidden: int = 32, n_moves: int = 10, coarse_rounds: int = 5, fine_rounds: int = 6,
        n_actions: int = 8,
    ) -> None:  # fmt: skip
        super().__init__()
        self.coarse = ValueRounds(n_layers, hidden, n_moves, coarse_rounds)
        self.fine = ValueRounds(n_layers + 1, hidden, n_moves, fine_rounds)
        self.policy = nn.Linear(n_moves, n_actions, bias=False)

    @torch.no_grad()
    def walk(self, maze: Tensor, goal: Tensor, start: tuple[int, int], longest: int = 50) -> list[tuple[int, int]]:
        """The cells on the way from a start, until the goal or a wall; there are walls all around."""
        steps = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if i or j]
        path = [start]
        while len(path) < longest and not goal[path[-1]]:
            logits = self(torch.stack([maze, goal])[None], torch.tensor([[path[-1]]], device=maze.device))["logits"]
            down, right = steps[int(logits.argmax())]
            path.append((path[-1][0] + down, path[-1][1] + right))
            if maze[path[-1]]:
                break
        return path

    def forward(self, maps: Tensor, cells: Tensor, moves: Tensor | None = None) -> dict[str, Tensor]:
        """Logits of the moves (batch, cells, actions) from cells (batch, cells, 2) of a maze, and the loss.

        The maps are (batch, 2, height, width): walls, and the goal.
        """
        far, _ = self.coarse(F.max_pool2d(maps, 2))
        values, worth = self.fine(torch.cat([maps, F.interpolate(far, scale_factor=2, mode="nearest")], dim=1))
        rows, columns = cells.unbind(dim=-1)
        of_maze = torch.arange(len(maps), device=maps.device).unsqueeze(1)
        logits = self.policy(worth[of_maze, :, rows, columns])
        found = {"logits": logits, "values": values.squeeze(1)}
        if moves is not None:
            found["loss"] = F.cross_entropy(logits.transpose(1, 2), moves)
        return found


class SmilesEncoder(nn.Module):
    """The normal distribution of the code of a molecule, from the signs of its line."""

    def __init__(self, n_signs: int, longest: int, filters: Sequence[tuple[int, int]], dim: int, code_dim: int) -> None:
        super().__init__()
        self.n_signs = n_signs
        channels, left = n_signs, longest
        self.filters = nn.ModuleList()
        for n_filters, size in filters:
            self.filters.append(nn.Conv1d(channels, n_filters, size))
            channels, left = n_filters, left - size + 1
        self.norms = nn.ModuleList(nn.BatchNorm1d(n_filters) for n_filters, _ in filters)
        self.dense = nn.Linear(channels * left, dim)
        self.centre, self.spread = nn.Linear(dim, code_dim), nn.Linear(dim, code_dim)

    def forward(self, signs: Tensor) -> tuple[Tensor, Tensor]:
        """The mean and the deviation (batch, code_dim)."""
        x = F.one_hot(signs, self.n_signs).to(self.dense.weight.dtype).transpose(1, 2)
        for convolve, norm in zip(self.filters, self.norms, strict=True):
            x = norm(torch.tanh(convolve(x)))
        hidden = torch.tanh(self.dense(x.reshape(len(x), -1)))
        return self.centre(hidden), F.softplus(self.spread(hidden)) + 1e-4


class SmilesDecoder(nn.Module):
    """The signs of a molecule, one after another, each given the code and the sign before it."""

    def __init__(self, n_signs: int, longest: int, code_dim: int, dim: int, depth: int, dropout: float) -> None:
        super().__init__()
        self.longest = longest
        self.widen = nn.Linear(code_dim, dim)
        self.plan = nn.GRU(dim, dim, depth, batch_first=True, dropout=dropout)
        self.signs = nn.Embedding(n_signs + 1, dim)  # one more for the start
        self.writer = nn.GRUCell(2 * dim, dim)
        self.to_sign = nn.Linear(dim, n_signs)

    def forward(self, code: Tensor, signs: Tensor | None = None) -> Tensor:
        """Logits (batch, longest, n_signs); without the true signs each is chosen by what was written before."""
        every_step = torch.tanh(self.widen(code)).unsqueeze(1).repeat(1, self.longest, 1)
        planned, _ = self.plan(every_step)
        state = torch.zeros_like(planned[:, 0])
        before = torch.full((len(code),), self.signs.num_embeddings - 1, device=code.device)
        logits = []
        for i in range(self.longest):
            state = self.writer(torch.cat([planned[:, i], self.signs(before)], dim=1), state)
            logits.append(self.to_sign(state))
            before = logits[-1].argmax(dim=1) if signs is None else signs[:, i]
        return torch.stack(logits, dim=1)


class MoleculeSpace(nn.Module):
    """Molecules as points of a space, in which one looks for others with the properties that are wanted."""

    def __init__(
        self, n_signs: int = 24, longest: int = 20, filters: Sequence[tuple[int, int]] = ((9, 5), (9, 5), (10, 7)),
        dim: int = 64, code_dim: int = 16, depth: int = 2, n_properties: int = 3, dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.encoder = SmilesEncoder(n_signs, longest, filters, dim, code_dim)
        self.decoder = SmilesDecoder(n_signs, longest, code_dim, dim, depth, dropout)
        self.properties = nn.Sequential(
            nn.Linear(code_dim, dim), nn.Tanh(), nn.Dropout(dropout), nn.Linear(dim, dim), nn.Tanh(),
            nn.Linear(dim, n_properties),
        )  # fmt: skip

    def search(self, signs: Tensor, wish: Tensor, steps: int = 20, rate: float = 0.1) -> Tensor:
        """Signs of a molecule that is near another, with more of the properties of a wish (properties)."""
        code = self.encoder(signs)[0].detach().requires_grad_()
        for _ in range(steps):
            (slope,) = torch.autograd.grad((self.properties(code) @ wish).sum(), code)
            code = (code + rate * slope).detach().requires_grad_()
        return self.decoder(code).argmax(dim=-1)

    def forward(self, signs: Tensor, properties: Tensor, warmth: float = 1.0) -> dict[str, Tensor]:
        """The molecules as they are written again, their properties and the loss."""
        mean, deviation = self.encoder(signs)
        code = mean + deviation * torch.randn_like(deviation)
        logits = self.decoder(code, signs)
        guess = self.properties(mean)
        written = F.cross_entropy(logits.flatten(0, 1), signs.flatten())
        divergence = (0.5 * (deviation**2 + mean**2 - 1) - deviation.log()).sum(dim=1).mean()
        missed = F.mse_loss(guess, properties)
        return {"logits": logits, "properties": guess, "loss": written + missed + warmth * divergence}


def _ends(longest: int, *counts: int) -> Tensor:
    return torch.arange(longest) >= torch.tensor(counts).unsqueeze(1)


def _graphs() -> PairedGraphs:
    owner = torch.tensor([0] * 6 + [1] * 7 + [2] * 5 + [3] * 5)
    inside = [torch.combinations((owner == i).nonzero().squeeze(1)) for i in range(4)]
    edges = torch.cat(inside)[::2].t()
    return PairedGraphs(torch.randn(len(owner), 12), edges, torch.randn(edges.size(1), 3), owner)


def _mazes() -> Tensor:
    goal = torch.zeros(2, 1, 16, 16)
    goal[0, 0, 3, 12] = goal[1, 0, 9, 4] = 1
    return torch.cat([(torch.rand(2, 1, 16, 16) < 0.2).float(), goal], dim=1)


NETS = [
    Entry(
        "own/action_chunking_transformer",
        ChunkPlanner,
        given(numbers(2, 14), lambda: torch.rand(2, 2, 3, 64, 64), numbers(2, 12, 14), lambda: _ends(12, 12, 9)),
    ),
    Entry(
        "own/liif",
        ImageFunction,
        given(lambda: torch.rand(1, 3, 16, 16), lambda: torch.rand(1, 50, 2), lambda: torch.full((1, 50, 2), 1 / 40)),
    ),
    Entry("own/graph_matching_network", CodeMatcher, given(_graphs, whole(True, False))),
    Entry(
        "own/value_iteration",
        MazePolicy,
        given(_mazes, lambda: torch.randint(0, 16, (2, 5, 2)), lambda: torch.randint(0, 8, (2, 5))),
    ),
    Entry("own/chem_vae", MoleculeSpace, given(lambda: torch.randint(0, 24, (2, 20)), numbers(2, 3))),
]
