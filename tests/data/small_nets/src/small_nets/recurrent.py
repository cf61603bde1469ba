"""A small tagger of sentences."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Tagger(nn.Module):
    """Words to tags, with a recurrent layer in between."""

    def __init__(self, words: int = 50, width: int = 16, tags: int = 5) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.tags = nn.Linear(2 * width, tags)

    def forward(self, words: Tensor) -> dict[str, Tensor]:
        hidden, _ = self.lstm(self.embedding(words))
        scores = self.tags(hidden)
        return {"scores": scores, "best": torch.argmax(scores, -1)}
