"""What goes from turn to turn of a stack is drawn as such where something else seems to go through."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from tests.core.view.seeing import name
from torchrecorder.proof import ProvedViews, faults
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, Views, make_view


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(8), nn.Linear(8, 16), nn.Linear(16, 8)

    def forward(self, hidden: Tensor, extra: Tensor) -> Tensor:
        return hidden + self.down(self.up(self.norm(hidden)).relu()) * extra  # type: ignore[no-any-return]


class PerLayer(nn.Module):
    """Layers in a row that each get, beside what the one before gave, a part of one embedding that is their own."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.extra, self.head = nn.Linear(8, 8), nn.Linear(8, 8 * 5), nn.Linear(8, 4)
        self.layers = nn.ModuleList(Layer() for _ in range(5))

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.embed(x)
        extras = self.extra(hidden).view(*x.shape[:-1], 5, 8)
        for i, layer in enumerate(self.layers):
            hidden = layer(hidden, extras[..., i, :].tanh())
        return self.head(hidden)  # type: ignore[no-any-return]


class Residuals(nn.Module):
    """Layers in a row whose stream enters them twice, at their first layer and at their sum."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(8) for _ in range(5))
        self.linears = nn.ModuleList(nn.Linear(8, 8) for _ in range(5))

    def forward(self, x: Tensor) -> Tensor:
        for norm, linear in zip(self.norms, self.linears, strict=True):
            x = x + linear(norm(x)).tanh()
        return x


def viewed(model: nn.Module) -> View:
    with torch.no_grad():
        return make_view(capture(model, (torch.randn(2, 3, 8),), {}))


def backs(view: View) -> list[str]:
    return [f"{name(view, view.nodes[e.tail])} > {name(view, view.nodes[e.head])}" for e in view.edges if e.back]


def test_a_stream_that_enters_after_something_else_goes_back() -> None:
    view = viewed(PerLayer())
    assert [box.repeat for box in view.boxes if box.repeat > 1] == [5]
    assert backs(view) == ["layers.0 > layers.0"]
    assert faults(view) == ()


def test_the_proof_asks_for_it() -> None:
    view = viewed(PerLayer())
    without = replace(view, edges=tuple(edge for edge in view.edges if not edge.back))
    assert any("back" in fault.words and "missing" in fault.words for fault in faults(without))


def test_a_stream_that_enters_first_does_not() -> None:
    view = viewed(Residuals())
    assert [box.repeat for box in view.boxes if box.repeat > 1] == [5]
    assert backs(view) == []
    assert faults(view) == ()


class Step(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.look, self.cell, self.cost = nn.Linear(16, 8), nn.GRUCell(8, 8), nn.Linear(8, 1)

    def forward(self, x: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        state = self.cell(torch.cat([self.look(torch.cat([x, state], 1)), state], 1)[:, :8].tanh(), state)
        return state, self.cost(state).exp()


class Steps(nn.Module):
    """Steps that all read the data, hand on a state of zeros at first, and add up what they cost."""

    def __init__(self) -> None:
        super().__init__()
        self.steps, self.head = nn.ModuleList(Step() for _ in range(4)), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        state, total = x.new_zeros(len(x), 8), x.new_zeros(len(x), 1)
        for step in self.steps:
            state, more = step(x, state)
            total = total + more
        return self.head(state), total


def test_a_turn_is_what_the_loop_of_the_source_runs() -> None:
    """The sum of one turn and the layers of the next were drawn as a turn, and no line led from one to the other."""
    with torch.no_grad():
        view = make_view(capture(Steps(), (torch.randn(2, 8),), {}))
    (stack,) = (box for box in view.boxes if box.repeat > 1)
    assert (stack.repeat, stack.period) == (4, 1)
    names = [name(view, node) for node in view.nodes]
    assert [(names[e.tail], names[e.head]) for e in view.edges if "steps" in names[e.tail] and not e.back] == [
        ("steps.0", "add"),
        ("steps.0", "head"),
    ]
    assert faults(view) == ()


def test_what_all_turns_read_is_not_what_goes_through_them() -> None:
    with torch.no_grad():
        view = make_view(capture(Steps(), (torch.randn(2, 8),), {}))
    assert backs(view) == ["steps.0 > steps.0", "add > add"]
    for lost in (edge for edge in view.edges if edge.back):
        found = faults(replace(view, edges=tuple(edge for edge in view.edges if edge is not lost)))
        assert any("back" in fault.words and "missing" in fault.words for fault in found)


def test_an_inset_of_turns_shows_one_that_gets_a_state() -> None:
    with torch.no_grad():
        view = make_view(capture(Steps(), (torch.randn(2, 8),), {}))
    (inset,) = view.insets
    assert [node.name for node in inset.view.nodes if node.kind == "input"] == ["x", "state"]


class Filling(nn.Module):
    """A loop that hands on two tensors, of which the arithmetic behind a layer makes one of the other."""

    def __init__(self) -> None:
        super().__init__()
        self.guess = nn.Linear(16, 8)

    def forward(self, words: Tensor) -> Tensor:
        hidden = words.exp()
        for _ in range(4):
            sure = self.guess(torch.cat([words, hidden], 1))
            hidden = ((words := (words * sure).exp().atan().cos()).abs() + 1).log().neg().exp().sinh()
        return words


def test_two_tensors_that_a_turn_hands_on_do_not_come_out_of_one_node() -> None:
    with torch.no_grad():
        graph = capture(Filling(), (torch.rand(2, 8),), {})
    view = ProvedViews(Views(graph, DrawingOptions())).view()
    assert view.weakened == ()
    assert [(box.repeat, box.repetition) for box in view.boxes[1:]] == [(4, "loop")]
    givers = {edge.tail for edge in view.edges if edge.back}
    assert len(givers) == 2
