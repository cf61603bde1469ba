"""A small transformer encoder whose embedding is its head too."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Layer(nn.Module):
    """Attention and a feed-forward net, each beside what goes on."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        attended, _ = self.attention(x, x, x, need_weights=False)
        x = self.norms[0](x + attended)
        return self.norms[1](x + self.feed(x))


class Encoder(nn.Module):
    """Tokens and places to scores of words."""

    def __init__(self, words: int = 100, width: int = 32, layers: int = 4) -> None:
        super().__init__()
        self.token = nn.Embedding(words, width)
        self.place = nn.Parameter(torch.zeros(1, 64, width))
        self.layers = nn.ModuleList([Layer(width, 4) for _ in range(layers)])
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.token.weight

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.token(tokens) + self.place[:, : tokens.shape[1]]
        for layer in self.layers:
            x = layer(x)
        return self.head(x)
