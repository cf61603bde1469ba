"""A transformer encoder with norms in front, after Vaswani et al., "Attention Is All You Need", 2017."""

import math

import torch
from torch import Tensor, nn


class Attention(nn.Module):
    """Multi-head self-attention, written out."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(dim, dim)
        self.k = nn.Linear(dim, dim)
        self.v = nn.Linear(dim, dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Tokens (batch, length, dim) to (batch, length, dim)."""
        q, k, v = (self._split(layer(x)) for layer in (self.q, self.k, self.v))
        weights = (q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))).softmax(-1)
        return self.proj((weights @ v).transpose(1, 2).flatten(2))

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Block(nn.Module):
    """Attention and a two-layer perceptron, each with a residual."""

    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.ln1 = nn.LayerNorm(dim)
        self.attn = Attention(dim, heads)
        self.ln2 = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x: Tensor) -> Tensor:
        """Tokens (batch, length, dim) to (batch, length, dim)."""
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class TransformerEncoder(nn.Module):
    """Token and position embeddings, a stack of equal blocks, a head on the mean."""

    def __init__(
        self, vocab: int = 1000, length: int = 64, dim: int = 64, heads: int = 4, depth: int = 6, classes: int = 10
    ) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.zeros(length, dim))
        self.blocks = nn.Sequential(*(Block(dim, heads) for _ in range(depth)))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids (batch, length) to scores (batch, classes)."""
        x = self.embed(ids) + self.position[: ids.size(1)]
        return self.head(self.norm(self.blocks(x)).mean(1))
