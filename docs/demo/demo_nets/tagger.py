"""A bidirectional LSTM that tags each word of a sentence."""

from torch import Tensor, nn


class LSTMTagger(nn.Module):
    """Word embeddings, a two-layer bidirectional LSTM, a tag for each word."""

    def __init__(self, vocab: int = 5000, tags: int = 17, dim: int = 64, hidden: int = 128) -> None:
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.dropout = nn.Dropout(0.3)
        self.lstm = nn.LSTM(dim, hidden, num_layers=2, batch_first=True, bidirectional=True)
        self.tag = nn.Linear(2 * hidden, tags)

    def forward(self, words: Tensor) -> Tensor:
        """Word ids (batch, words) to log-probabilities (batch, words, tags)."""
        states, _ = self.lstm(self.dropout(self.embed(words)))
        return self.tag(self.dropout(states)).log_softmax(-1)
