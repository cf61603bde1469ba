"""What stands for several calls reads in each what is drawn, in the picture and in its proof."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from tests.core.proof.test_variants import planned
from tests.core.view.templates.test_words import Stages, conv
from torchrecorder.proof import ProvedViews, faults
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, Views, differences, make_view
from torchrecorder.view.plan.repeats import Repeats
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.simplified import patches
from torchrecorder.view.templates import choice, series, words


class Hourglass(nn.Module):
    """Adds what it made itself if it is given nothing to add."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.up, self.last = conv(), conv(), conv()

    def forward(self, x: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
        pre = self.down(x).relu()
        if before is not None:
            pre = pre + before
        return self.last(self.up(pre).sin() + (pre if before is None else before)), pre


class Hourglasses(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = Hourglass(), Hourglass(), Hourglass()

    def forward(self, x: Tensor) -> Tensor:
        y, pre = self.a(x, None)
        y, pre = self.b(y.cos(), pre)
        return self.c(y.cos(), pre)[0]  # type: ignore[no-any-return]


class Root(nn.Module):
    def __init__(self, wide: int) -> None:
        super().__init__()
        self.last = nn.Conv1d(wide, 8, 1)

    def forward(self, *parts: Tensor) -> Tensor:
        return torch.relu(self.last(torch.cat(parts, 1)))


class Tree(nn.Module):
    """As in a DLA, whose root may take what came in, too."""

    def __init__(self, is_whole: int) -> None:
        super().__init__()
        self.is_whole, self.a, self.b = is_whole, conv(), conv()
        self.root = Root(24 if is_whole else 16)

    def forward(self, x: Tensor) -> Tensor:
        one = self.a(x).sin()
        return self.root(self.b(one).sin(), one, *([x] if self.is_whole else []))  # type: ignore[no-any-return]


class Crossed(nn.Module):
    """Of two with the same layers the one takes what came in, the other what its first layer gives."""

    def __init__(self, is_far: int) -> None:
        super().__init__()
        self.is_far, self.a, self.b, self.root = is_far, conv(), conv(), Root(16)

    def forward(self, x: Tensor) -> Tensor:
        one = self.a(x).sin()
        return self.root(self.b(one).sin(), x if self.is_far else one)  # type: ignore[no-any-return]


class Scaled(nn.Conv1d):
    """As of a network without norms: its weight is scaled before it is used."""

    def __init__(self) -> None:
        super().__init__(8, 8, 1)
        self.gain = nn.Parameter(torch.ones(8, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.conv1d(x, self.weight * self.gain, self.bias)


class PreActivated(nn.Module):
    """Where a layer is on the shortcut, it takes what is activated, else what came in."""

    def __init__(self, is_changed: int) -> None:
        super().__init__()
        self.a, self.b, self.shortcut = Scaled(), Scaled(), Scaled() if is_changed else None

    def forward(self, x: Tensor) -> Tensor:
        y = x.relu()
        return self.b(self.a(y).relu()) + (x if self.shortcut is None else self.shortcut(y))  # type: ignore[no-any-return]


class Composed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, rel: Tensor) -> tuple[Tensor, Tensor]:
        return torch.tanh(self.a(x * rel.sum(0)) + x.sin()), self.b(rel)


class OfTables(nn.Module):
    """Begins with parameters; the second layer gets others, or what the first gives."""

    def __init__(self, *, in_a_row: bool = False) -> None:
        super().__init__()
        self.in_a_row, self.relations = in_a_row, nn.Parameter(torch.ones(4, 8))
        self.things, self.others = nn.Parameter(torch.ones(16, 8)), nn.Parameter(torch.ones(16, 8))
        self.one, self.two = Composed(), Composed()

    def forward(self, x: Tensor) -> Tensor:
        things, relations = self.one(self.things, self.relations)
        if self.in_a_row:
            things, _ = self.two(things.cos(), relations)
        else:
            things = things + self.two(self.others, self.relations)[0]
        found: torch.Tensor = x @ things
        return found


class Bottleneck(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = conv(), conv()

    def forward(self, x: Tensor, shortcut: Tensor | None = None) -> Tensor:
        return torch.relu(self.b(self.a(x).sin()) + (x if shortcut is None else shortcut))


class Projected(nn.Module):
    """The shortcut of the first of a row comes from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.project, self.blocks = conv(1), nn.ModuleList((Bottleneck(), Bottleneck()))

    def forward(self, x: Tensor) -> Tensor:
        return self.blocks[1](self.blocks[0](x, self.project(x)))  # type: ignore[no-any-return]


class Stepped(nn.Module):
    """A step whose result is decoded, and which the loss takes in."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.change, self.decode = conv(), conv(), conv()

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        z = self.encode(x)
        after = z + 0.05 * self.change(z)
        loss = ((after - x) ** 2).mean() + (z**2).mean() + (after**2).mean()
        return self.decode(after), loss


@pytest.mark.parametrize(
    "net",
    [
        Hourglasses,
        lambda: Stages(*map(Tree, (0, 1, 0))),
        lambda: Stages(*map(Crossed, (0, 1, 0))),
        lambda: Stages(*map(PreActivated, (0, 1, 0))),
    ],
    ids=["a sum with something else", "one thing more", "from elsewhere", "what came in, not activated"],
)
def test_an_inset_does_not_stand_for_a_call_that_is_wired_otherwise(
    net: Callable[[], nn.Module], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = net()
    view = ProvedViews(planned(model)).view()
    assert not view.weakened
    assert not faults(view)
    assert not [word for node in view.nodes for word in node.differs]
    whole = [[view.graph.calls[call].module for call in inset.calls] for inset in view.insets]
    assert whole[0] in (["b", "c"], ["stages.0", "stages.2"])
    monkeypatch.setattr(words._Compared, "_are_wired_alike", lambda _self: True)
    assert [fault for fault in faults(planned(model).view()) if "does not read what is drawn" in fault.words]


def test_what_a_call_is_given_comes_in_though_it_is_a_parameter() -> None:
    for view in (planned(OfTables(in_a_row=True)).view(), planned(OfTables()).view()):
        (inset,) = view.insets
        assert len(inset.calls) == 2
        assert {node.name for node in inset.view.nodes if node.kind == "input"} == {"x", "rel"}
        assert not faults(view)
    nodes = (replace(node, kind="param") if node.kind == "input" else node for node in inset.view.nodes)
    false = replace(view, insets=(replace(inset, view=replace(inset.view, nodes=tuple(nodes))),))
    assert [fault for fault in faults(false) if "something else in two" in fault.words]


class Followed(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm, self.last = conv(1), nn.BatchNorm1d(8), conv(1)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.last(self.norm(self.conv(x)).sin())
        return found


class Momentum(nn.Module):
    """Keys by layers whose weights follow those of others."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k = Stages(Followed(), Followed()), Stages(Followed(), Followed())

    def forward(self, x: Tensor) -> Tensor:
        for q, k in zip(self.q.parameters(), self.k.parameters(), strict=True):
            k.data = k.data * 0.9 + q.data * 0.1
        found: Tensor = self.q(x) * self.k(x)
        return found


def test_what_comes_in_as_several_tensors_is_not_one() -> None:
    view = planned(Momentum()).view()
    assert not faults(view)
    inset, (node,) = next(
        (inset, several) for inset in view.insets if (several := [n for n in inset.view.nodes if len(n.values) > 1])
    )
    nodes = tuple(replace(it, values=it.values[:1]) if it is node else it for it in inset.view.nodes)
    changed = replace(inset, view=replace(inset.view, nodes=nodes))
    view = replace(view, insets=tuple(changed if it is inset else it for it in view.insets))
    assert any("come into the inset as one" in fault.words for fault in faults(view))


def test_a_row_has_no_more_entrances_in_its_first_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    view = planned(Projected()).view()
    assert not faults(view)
    assert {*(node.repeat for node in view.nodes), *(box.repeat for box in view.boxes)} == {1}
    monkeypatch.setattr(series, "_is_entered_alike", lambda *_: True)
    assert [fault for fault in faults(planned(Projected()).view()) if "is one in a later turn" in fault.words]


def test_what_a_layer_reads_of_arithmetic_is_its_result(monkeypatch: pytest.MonkeyPatch) -> None:
    view = planned(Stepped()).view()
    assert not faults(view)
    (loss,) = (node for node in view.nodes if node.kind == "function")
    (head,) = (edge.head for edge in view.edges if edge.tail == loss.id)
    assert view.nodes[head].kind == "output"
    monkeypatch.setattr(patches, "_cut", lambda _draft, patch, _how: [patch] if len(patch) > 5 else [])
    assert [fault for fault in faults(planned(Stepped()).view()) if "come out of one node" in fault.words]


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.last(self.first(x).tanh())  # type: ignore[no-any-return]


class Voting(nn.Module):
    """Heads whose scores are made of each in the same line, and then put together."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Linear(16, 16)
        self.heads = nn.ModuleList(Residual() for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        return torch.stack([head(x).softmax(-1) for head in self.heads]).mean(0).sqrt().neg().exp()


def test_the_last_of_several_is_not_drawn_with_what_follows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of three softmaxes two were drawn apart, and the third in one node with the mean."""
    graph = capture(Voting(), (torch.zeros(2, 5, 16),))

    def softmaxes() -> list[tuple[str, ...]]:
        shown = Views(graph, DrawingOptions()).view().nodes
        rows = [[graph.ops[op].name for op in node.own_ops] for node in shown]
        return [tuple(names) for names in rows if "softmax" in names]

    assert softmaxes() == [("softmax",)] * 3
    monkeypatch.setattr(patches._Patches, "_place", lambda _, node: node.id)
    assert len({*softmaxes()}) == 2
    assert [fault for fault in faults(Views(graph, DrawingOptions()).view()) if "is drawn apart" in fault.words]


class Supervised(nn.Module):
    """Heads side by side, of which only the last gives what the model returns."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.heads = nn.Linear(16, 16), nn.ModuleList(nn.Linear(16, 4) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        results: list[Tensor] = [head(x) for head in self.heads]
        return results[-1]


def test_what_nothing_reads_is_not_drawn_with_what_is_returned(monkeypatch: pytest.MonkeyPatch) -> None:
    def heads(views: Views) -> list[int]:
        calls = views.graph.calls
        shown = ProvedViews(views).view().nodes
        return [node.repeat for node in shown if node.calls and calls[node.calls[0]].module.startswith("heads")]

    assert heads(planned(Supervised())) == [3, 1]
    monkeypatch.setattr(Repeats, "_readers", lambda self, call: set())
    (fault,) = faults(planned(Supervised()).view())
    assert fault.words == "nothing reads what heads.0 gives, which is drawn with others"
    assert heads(planned(Supervised())) == [1, 1, 1, 1]


class Star(nn.Module):
    """Two layers side by side, of which one goes through an activation before their product."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.f1, self.f2 = nn.Linear(16, 8), nn.Linear(8, 8), nn.Linear(8, 8)
        self.act = nn.ReLU6()

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        a, b = self.f1(x), self.f2(x)
        return self.act(a) * b  # type: ignore[no-any-return]


class Apart(Star):
    """Two layers side by side, of which one is taken from the other."""

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        return self.f1(x) - self.f2(x)  # type: ignore[no-any-return]


@pytest.mark.parametrize("net", [Star, Apart])
def test_layers_side_by_side_that_play_two_roles_are_two(net: type[nn.Module], monkeypatch: pytest.MonkeyPatch) -> None:
    """One line forked behind both, as if the product was of a value and its own activation."""

    def most(view: View) -> int:
        return max(node.repeat for node in view.nodes)

    assert most(planned(net()).view()) == 1
    monkeypatch.setattr(Repeats, "_readers", lambda self, call: set())
    assert most(planned(net()).view()) == 2
    (fault,) = faults(planned(net()).view())
    assert "other things read what f1 gives than" in fault.words
    assert most(ProvedViews(planned(net())).view()) == 1


class Stage(nn.Module):
    """Makes guesses better, and judges them."""

    def __init__(self) -> None:
        super().__init__()
        self.look, self.think, self.judge = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, objects: Tensor) -> tuple[Tensor, Tensor]:
        objects = self.think((self.look(objects) + objects).relu()).tanh()
        return objects, self.judge(objects * 2).sigmoid()


class Refining(nn.Module):
    """Guesses that each stage makes better and judges: what the last one hands on is not read."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList(Stage() for _ in range(3))
        self.first = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> tuple[Tensor, list[Tensor]]:
        objects, all_judged = self.first(x), list[Tensor]()
        for stage in self.stages:
            objects, judged = stage(objects)
            all_judged.append(judged)
        return all_judged[-1], all_judged[:-1]


def test_what_turns_hand_on_is_seen_beside_their_outputs() -> None:
    """A box of three turns gave the outputs of all, and no line led from one to the next."""
    graph, options = capture(Refining(), (torch.ones(2, 4, 8),)), DrawingOptions(depth="all")
    words = "stages.0.look reads op tanh of the turn 1 before it, which is not to be seen"
    assert words in [fault.words for fault in faults(make_view(graph, options))]
    assert faults(ProvedViews(Views(graph, options)).view()) == ()


def strips(x: Tensor) -> Tensor:
    return x.reshape(2, 2, 4, 4, 4).permute(0, 1, 3, 2, 4).reshape(16, 4, 4)


def grid(x: Tensor) -> Tensor:
    return x.reshape(2, 4, 2, 4, 4).permute(0, 2, 4, 1, 3).reshape(16, 4, 4)


class Parted(nn.Module):
    """Mixes what a function puts together."""

    def __init__(self, parted: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.norm, self.mix, self.last, self.parted = nn.LayerNorm(16), nn.Linear(4, 4), nn.Linear(16, 16), parted

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.mix(self.parted(self.norm(x))).reshape(2, 8, 16).sin()
        return x + self.last(x.tanh()).sigmoid()  # type: ignore[no-any-return]


class PartedTwice(nn.Module):
    """As a MaxViT, whose layers attend within windows and across a grid in turns."""

    def __init__(self) -> None:
        super().__init__()
        self.within, self.across = Parted(strips), Parted(grid)

    def forward(self, x: Tensor) -> Tensor:
        return self.across(self.within(x).cos())  # type: ignore[no-any-return]


def test_layers_that_put_axes_elsewhere_are_not_drawn_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows and a grid were lines of one inset, which said nothing of them."""
    view = ProvedViews(planned(PartedTwice())).view()
    (parted,) = (node for node in view.insets[0].view.nodes if node.kind == "function")
    assert [(span.name, span.values) for span in parted.spans] == [("function", ("strips", "grid"))]
    assert not view.weakened
    monkeypatch.setattr(differences._Differences, "_functions", lambda self, op, others, name: iter(()))
    unsaid = "what is drawn as strips() is grid() in across"
    assert unsaid in [fault.words for fault in faults(planned(PartedTwice()).view())]
    monkeypatch.setattr(Visibility, "_parting", lambda self: ())
    undrawn = "linear of across reads axes in another order than that of within"
    assert undrawn in [fault.words for fault in faults(planned(PartedTwice()).view())]


class LookUp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v, self.out = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)

    def forward(self, x: Tensor, memory: Tensor | None = None) -> Tensor:
        memory = x if memory is None else memory
        found = (self.q(x) @ self.k(memory).mT).softmax(-1) @ self.v(memory)
        return x + self.out(found)  # type: ignore[no-any-return]


class LookUps(nn.Module):
    """Looks at itself first, then at what it began with."""

    def __init__(self) -> None:
        super().__init__()
        self.at_itself, self.at_first = LookUp(), LookUp()

    def forward(self, x: Tensor) -> Tensor:
        return self.at_first(self.at_itself(x).cos(), x.sin())  # type: ignore[no-any-return]


def test_what_a_layer_gets_as_one_thing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """An inset had the title of a layer that looks at itself, and a second entrance for what it looks at."""
    view = ProvedViews(planned(LookUps())).view()
    assert view.graph.calls[view.insets[0].view.boxes[0].calls[0]].module == "at_first"
    assert [node.differs for node in view.nodes if node.inset] == [("memory is x",), ()]
    assert not view.weakened
    monkeypatch.setattr(choice, "_as_one", lambda view, call, visible: [])
    words = "what at_itself gets as one thing in A is not said"
    assert words in [fault.words for fault in faults(planned(LookUps()).view())]


class Phrase(nn.Module):
    """Words of a text, and what they all say."""

    def __init__(self) -> None:
        super().__init__()
        self.look, self.think, self.words, self.all = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        x = self.think(self.look(x).relu()) + x
        return self.words(x).tanh(), self.all(x).sigmoid()


class Phrases(nn.Module):
    """Of one text the words are read, of the other what they all say."""

    def __init__(self) -> None:
        super().__init__()
        self.question, self.name = Phrase(), Phrase()

    def forward(self, x: Tensor) -> Tensor:
        return self.question(x)[0] * self.name(x.cos())[1]  # type: ignore[no-any-return]


def test_an_inset_gives_all_that_is_read_of_its_calls() -> None:
    """It gave the words alone, and a line led on from a call of which something else is read."""
    view = ProvedViews(planned(Phrases())).view()
    letter, inside = view.insets[0].letter, view.insets[0].view
    assert [node.inset for node in view.nodes if node.kind == "call"] == [letter] * 2
    assert [head.kind for head in inside.nodes].count("output") == 2
    assert not view.weakened
    last = inside.nodes[-1]
    edges = tuple(edge for edge in inside.edges if edge.head != last.id)
    less = replace(inside, nodes=inside.nodes[:-1], edges=edges)
    insets = (replace(view.insets[0], view=less),)
    assert last.kind == "output"
    words = "output 1 of name does not come out of the inset"
    assert words in [fault.words for fault in faults(replace(view, insets=insets))]
