"""Nets whose modules are called again: turns of a loop that feed the next turn, and calls that are not turns of one.

Each is as small as its idea allows; the names are those of the ideas.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, words

STEPS = 3


class Greedy(nn.Module):
    """Decoding in which the best word of a step is the input of the next."""

    def __init__(self) -> None:
        super().__init__()
        self.emb, self.cell, self.out = nn.Embedding(11, 8), nn.GRUCell(8, 8), nn.Linear(8, 11)

    def forward(self, t: Tensor, h: Tensor) -> Tensor:
        found = []
        for _ in range(STEPS):
            h = self.cell(self.emb(t), h)
            y = self.out(h)
            found.append(y)
            t = y.argmax(1)
        return torch.stack(found, 1)


class Attention(nn.Module):
    """Bahdanau's: a score of each place of the memory from its content and from the state."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.query, self.key, self.score = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, 1)

    def forward(self, h: Tensor, memory: Tensor) -> Tensor:
        weights: Tensor = self.score(torch.tanh(self.query(h)[:, None] + self.key(memory))).softmax(1)
        return (weights * memory).sum(1)


class Seq2SeqBahdanau(nn.Module):
    """A recurrent encoder, and a decoder that attends to it at each step and reads its own last word."""

    def __init__(self) -> None:
        super().__init__()
        self.enc_emb, self.encoder = nn.Embedding(11, 8), nn.GRU(8, 8, batch_first=True)
        self.emb, self.attention = nn.Embedding(11, 8), Attention(8)
        self.cell, self.out = nn.GRUCell(16, 8), nn.Linear(8, 11)

    def forward(self, source: Tensor) -> Tensor:
        memory, state = self.encoder(self.enc_emb(source))
        h, t, found = state[0], source[:, 0], []
        for _ in range(STEPS):
            context = self.attention(h, memory)
            h = self.cell(torch.cat([self.emb(t), context], 1), h)
            y = self.out(h)
            found.append(y)
            t = y.argmax(1)
        return torch.stack(found, 1)


class PointerNet(nn.Module):
    """Points at one of its inputs per step, which is the next step's input and is not pointed at again."""

    def __init__(self) -> None:
        super().__init__()
        self.emb, self.encoder, self.cell = nn.Linear(2, 8), nn.LSTM(8, 8, batch_first=True), nn.LSTMCell(8, 8)
        self.w1, self.w2, self.v = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, points: Tensor) -> Tensor:
        embedded = self.emb(points)
        memory, (h, c) = self.encoder(embedded)
        state = h[0], c[0]
        mask = torch.zeros(points.shape[:2])
        x, found = embedded.mean(1), []
        for _ in range(STEPS):
            state = self.cell(x, state)
            scores = self.v(torch.tanh(self.w1(memory) + self.w2(state[0])[:, None])).squeeze(-1) + mask
            found.append(scores.log_softmax(1))
            best = scores.argmax(1, keepdim=True)
            mask = mask.scatter(1, best, float("-inf"))
            x = embedded.gather(1, best[..., None].expand(-1, -1, 8)).squeeze(1)
        return torch.stack(found, 1)


class RK2(nn.Module):
    """An integrator of second order: one net called twice a step."""

    def __init__(self) -> None:
        super().__init__()
        self.f = nn.Linear(4, 4)

    def forward(self, y: Tensor) -> Tensor:
        for _ in range(STEPS):
            k1 = self.f(y)
            k2 = self.f(y + 0.1 * k1)
            y = y + 0.05 * (k1 + k2)
        return y


class Derivative(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 4))

    def forward(self, t: float, y: Tensor) -> Tensor:
        found: Tensor = self.net(y**3) * (1 - t)
        return found


class NeuralODE(nn.Module):
    """The integrator of Runge and Kutta, four calls of one net a step, all states kept."""

    def __init__(self) -> None:
        super().__init__()
        self.func = Derivative()

    def forward(self, y: Tensor) -> Tensor:
        states, h = [y], 0.1
        for i in range(STEPS):
            t = i * h
            k1 = self.func(t, y)
            k2 = self.func(t + h / 2, y + h * k1 / 2)
            k3 = self.func(t + h / 2, y + h * k2 / 2)
            k4 = self.func(t + h, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            states.append(y)
        return torch.stack(states)


class BeamStep(nn.Module):
    """Two steps of a search with three beams, whose states follow the beams that go on."""

    def __init__(self) -> None:
        super().__init__()
        self.emb, self.cell, self.out = nn.Embedding(11, 8), nn.GRUCell(8, 8), nn.Linear(8, 11)

    def forward(self, t: Tensor, h: Tensor) -> tuple[Tensor, Tensor]:
        scores = torch.zeros(3)
        for _ in range(2):
            h = self.cell(self.emb(t), h)
            total = scores[:, None] + self.out(h).log_softmax(1)
            scores, best = total.flatten().topk(3)
            h, t = h[best // 11], best % 11
        return t, scores


class Denoiser(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.time, self.a, self.b = nn.Embedding(STEPS, 8), nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        found: Tensor = self.b(torch.relu(self.a(x) + self.time(t)))
        return found


class DiffusionSampling(nn.Module):
    """Three steps from noise to a sample, noise added in all but the last."""

    def __init__(self) -> None:
        super().__init__()
        self.denoiser = Denoiser()
        self.alpha: Tensor
        self.register_buffer("alpha", torch.tensor([0.9, 0.7, 0.5]))

    def forward(self, x: Tensor) -> Tensor:
        for i in reversed(range(STEPS)):
            alpha = self.alpha[i]
            noise = self.denoiser(x, torch.full(x.shape[:1], i))
            x = (x - (1 - alpha) * noise) / alpha.sqrt()
            if i:
                x = x + 0.1 * torch.randn_like(x)
        return x


class CapsuleRouting(nn.Module):
    """Routing by agreement: three rounds over the votes of one layer, without a layer in them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.out = nn.Conv2d(1, 8, 3), nn.Linear(4, 4)
        self.weight = nn.Parameter(torch.randn(1, 36, 3, 4, 8))

    def forward(self, x: Tensor) -> Tensor:
        u = self.conv(x).flatten(2).transpose(1, 2)
        votes = (self.weight @ u[:, :, None, :, None]).squeeze(-1)
        b = torch.zeros(votes.shape[:3])
        for i in range(STEPS):
            s = (b.softmax(2)[..., None] * votes).sum(1)
            norm = s.norm(dim=-1, keepdim=True)
            v = norm / (1 + norm**2) * s
            if i < STEPS - 1:
                b = b + (votes * v[:, None]).sum(-1)
        found: Tensor = self.out(v)
        return found


class LSTMByHand(nn.Module):
    """The cell of an LSTM written out, its two layers called at each step."""

    def __init__(self) -> None:
        super().__init__()
        self.of_input, self.of_state = nn.Linear(4, 32), nn.Linear(8, 32)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = c = torch.zeros(x.shape[0], 8)
        found = []
        for t in range(x.shape[1]):
            i, f, g, o = (self.of_input(x[:, t]) + self.of_state(h)).chunk(4, 1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            found.append(h)
        return torch.stack(found, 1), c


class MessagePassing(nn.Module):
    """Three rounds over a graph with the same weights."""

    def __init__(self) -> None:
        super().__init__()
        self.enter, self.message, self.update = nn.Linear(4, 8), nn.Linear(16, 8), nn.GRUCell(8, 8)
        self.out = nn.Linear(8, 2)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        h = torch.relu(self.enter(x))
        source, target = edges
        for _ in range(STEPS):
            m = torch.relu(self.message(torch.cat([h[source], h[target]], 1)))
            h = self.update(torch.zeros_like(h).index_add(0, target, m), h)
        found: Tensor = self.out(h.mean(0))
        return found


class TreeRecursion(nn.Module):
    """A layer joins two halves, each of which it has joined itself before; the calls are not turns of a loop."""

    def __init__(self) -> None:
        super().__init__()
        self.leaf, self.join, self.out = nn.Linear(4, 8), nn.Linear(16, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.out(self.joined([self.leaf(part) for part in x.unbind(1)]))
        return found

    def joined(self, parts: list[Tensor]) -> Tensor:
        if len(parts) == 1:
            return parts[0]
        half = len(parts) // 2
        return torch.tanh(self.join(torch.cat([self.joined(parts[:half]), self.joined(parts[half:])], 1)))


class FromZeros(nn.Module):
    """A loop whose first turn joins nothing but zeros, which its other turns do not: the attention of Tacotron 2."""

    def __init__(self) -> None:
        super().__init__()
        self.location, self.cell = nn.Linear(16, 8), nn.GRUCell(12, 8)

    def forward(self, x: Tensor) -> Tensor:
        state, total = torch.zeros(x.shape[0], 8), torch.zeros(x.shape[0], 8)
        for t in range(x.shape[1]):
            where = self.location(torch.cat([state, total], 1))
            state = self.cell(torch.cat([x[:, t], where], 1), state)
            total = total + state
        return total


class LSTMCRF(nn.Module):
    """An LSTM, and the forward algorithm of a linear chain, a loop without layers."""

    def __init__(self) -> None:
        super().__init__()
        self.emb, self.lstm, self.out = nn.Embedding(11, 8), nn.LSTM(8, 8, batch_first=True), nn.Linear(8, 5)
        self.transitions, self.start = nn.Parameter(torch.randn(5, 5)), nn.Parameter(torch.randn(5))

    def forward(self, ids: Tensor) -> Tensor:
        emissions = self.out(self.lstm(self.emb(ids))[0])
        alpha: Tensor = self.start + emissions[:, 0]
        for t in range(1, ids.shape[1]):
            alpha = (alpha[:, :, None] + self.transitions + emissions[:, t, None]).logsumexp(1)
        return alpha.logsumexp(1)


class Recurrent(nn.Module):
    """A cell and its state; what leaves is the last state alone."""

    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.RNNCell(4, 8), nn.Linear(8, 2)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.shape[0], 8)
        for t in range(x.shape[1]):
            h = self.cell(x[:, t], h)
        found: Tensor = self.out(h)
        return found


class Unequal(nn.Module):
    """A loop whose second turn goes another way: a turn is not like the others."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for i in range(STEPS):
            y = self.a(x)
            x = x + (self.b(y).tanh() if i == 1 else self.b(y).relu())
        return x


class InnerLoop(nn.Module):
    """A loop in a loop: a refining of each step's state by one layer."""

    def __init__(self) -> None:
        super().__init__()
        self.step, self.refine = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(STEPS):
            x = self.step(x)
            for _ in range(2):
                x = x + torch.relu(self.refine(x))
        return x


class Taught(nn.Module):
    """A writer whose each step reads the true word of the step before, and at the first one that of the start."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.writer, self.to_word = nn.Embedding(12, 4), nn.GRUCell(8, 4), nn.Linear(4, 11)

    def forward(self, plan: Tensor, words: Tensor) -> Tensor:
        state, before = torch.zeros_like(plan[:, 0]), torch.full((len(plan),), 11)
        found = []
        for i in range(STEPS):
            state = self.writer(torch.cat([plan[:, i], self.words(before)], 1), state)
            found.append(self.to_word(state))
            before = words[:, i]
        return torch.stack(found, 1)


class CarriedTwice(nn.Module):
    """Two states that the turns exchange, and an input that each turn reads."""

    def __init__(self) -> None:
        super().__init__()
        self.f, self.g = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, a: Tensor, b: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        for _ in range(STEPS):
            a, b = b + self.f(a + x), a * self.g(b)
        return a, b


def _edges() -> Tensor:
    return torch.tensor([[0, 1, 2, 3], [1, 2, 3, 0]])


LOOPS = [
    Entry("greedy", Greedy, given(lambda: torch.tensor([1, 2]), numbers(2, 8))),
    Entry("seq2seq_bahdanau", Seq2SeqBahdanau, given(words(2, 5, 11))),
    Entry("pointer_net", PointerNet, given(numbers(2, 5, 2))),
    Entry("rk2", RK2, given(numbers(2, 4))),
    Entry("neural_ode", NeuralODE, given(numbers(2, 4))),
    Entry("beam_step", BeamStep, given(lambda: torch.tensor([1, 2, 3]), numbers(3, 8))),
    Entry("diffusion_sampling", DiffusionSampling, given(numbers(2, 4))),
    Entry("capsule_routing", CapsuleRouting, given(numbers(2, 1, 8, 8))),
    Entry("lstm_by_hand", LSTMByHand, given(numbers(2, 4, 4))),
    Entry("message_passing", MessagePassing, given(numbers(4, 4), _edges)),
    Entry("tree_recursion", TreeRecursion, given(numbers(2, 4, 4))),
    Entry("from_zeros", FromZeros, given(numbers(2, 3, 4))),
    Entry("lstm_crf", LSTMCRF, given(words(2, 5, 11))),
    Entry("recurrent", Recurrent, given(numbers(2, 5, 4))),
    Entry("unequal_turns", Unequal, given(numbers(2, 4))),
    Entry("taught", Taught, given(numbers(3, 5, 4), words(3, 5, 11))),
    Entry("inner_loop", InnerLoop, given(numbers(2, 4))),
    Entry("carried_twice", CarriedTwice, given(numbers(2, 4), numbers(2, 4), numbers(2, 4))),
]
"""Each net with what it is called with."""
