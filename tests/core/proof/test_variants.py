"""What is said of variants is held against what ran: a false sentence is found, and the kinds are drawn apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.view.templates.test_choice import stages
from tests.core.view.templates.test_words import Excited, Extended, Halved, Mixer, Past, Residual, Stage, Stages, conv
from torchrecorder import capture
from torchrecorder.proof import ProvedViews, faults
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, Views, make_view
from torchrecorder.view.templates import words


def planned(net: nn.Module) -> Views:
    torch.manual_seed(0)
    with torch.no_grad():
        return Views(capture(net.eval(), (torch.ones(2, 8, 16),)), DrawingOptions())


class Rms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(1))

    def forward(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + 1e-6) * self.weight


class Branched(nn.Module):
    """A branch of one of two kinds beside a layer, before which another one may be, with a norm."""

    def __init__(self, *, is_scaled: bool = True, kernel: int = 1, has_more: bool = True) -> None:
        super().__init__()
        self.a, self.b, self.more = conv(), conv(), nn.ModuleList([conv(), Rms()] if has_more else [])
        self.down = nn.Sequential(conv(kernel), nn.BatchNorm1d(8))
        if is_scaled:
            self.scale = nn.Sequential(conv(1), nn.BatchNorm1d(8))
        else:
            self.identity = nn.BatchNorm1d(8)

    def forward(self, x: Tensor) -> Tensor:
        y = self.b(self.a(x).relu())
        for layer in self.more:
            y = layer(y)
        y = y + (self.scale if hasattr(self, "scale") else self.identity)(x)
        return y.sin() * self.down(x)  # type: ignore[no-any-return]


def plain() -> nn.Module:
    return Stages(Excited(expands=False, squeezes=False), Excited(), Excited())


def lied(view: View, said: str) -> View:
    """The View with another sentence at each node that has one."""
    return replace(view, nodes=tuple(replace(node, differs=(said,)) if node.differs else node for node in view.nodes))


def silent(view: View) -> View:
    """The View without the settings in which calls differ."""
    parts = ([replace(part, spans=()) for part in node.parts] for node in view.nodes)
    nodes = (replace(it, spans=(), parts=tuple(of)) for it, of in zip(view.nodes, parts, strict=True))
    return replace(view, nodes=tuple(nodes))


@pytest.mark.parametrize(
    ("net", "true", "false"),
    [
        (
            plain,
            "without conv.0 and Squeeze",
            ["without conv.2, conv.3, ReLU6", "without conv.0", "without Squeeze", "with conv.0 and Squeeze"],
        ),
        (lambda: Stages(Stage(2), Stage(4), Stage(4)), "with 2 blocks", ["with 3 blocks", "without enter"]),
        (
            lambda: Stages(Extended(4), Extended(4), Extended(1)),
            "without extra in 3 blocks",
            ["without extra in 2 blocks", "without extra in 4 blocks", "with extra in 1 block", "without extra"],
        ),
        (
            lambda: Stages(Residual(more=True), Residual(more=True), Residual()),
            "without extra",
            ["without a", "without extra and b", "2 without extra", "2nd without extra", "without shortcut"],
        ),
        (
            lambda: Stages(Mixer(), Mixer(), Mixer(wide=True)),
            "with Linear instead of Conv1d",
            ["with Conv1d instead of Linear", "without mix", "with mix"],
        ),
        (
            lambda: Stages(Past(has_skip=True), Past(has_skip=True), Past(has_skip=False)),
            "without skip",
            ["with skip", "without mask", "without b"],
        ),
        (
            lambda: Stages(Branched(), Branched(kernel=3), Branched(is_scaled=False)),
            "with identity instead of scale",
            ["with scale instead of identity", "without scale", "with identity", "without down"],
        ),
        (
            lambda: Stages(Branched(), Branched(kernel=3), Branched(has_more=False)),
            "without more.0",
            ["without more.1", "without scale", "without down", "with more.0"],
        ),
    ],
    ids=[
        "numbers that move",
        "a number of layers",
        "in some of a list",
        "a layer",
        "an exchange",
        "a sum",
        "a name",
        "a norm",
    ],
)
def test_a_false_sentence_is_found(net: Callable[[], nn.Module], true: str, false: list[str]) -> None:
    view = planned(net()).view()
    assert {word for node in view.nodes for word in node.differs} == {true}
    assert not faults(view)
    assert [text for text in false if not any(text in fault.words for fault in faults(lied(view, text)))] == []


@pytest.mark.parametrize(
    "lie", ["2nd with downsample", "first without downsample", "1st, 2nd with downsample", "2nd without downsample"]
)
def test_the_place_of_a_call_that_differs_is_proved(lie: str) -> None:
    view = make_view(stages())
    assert {word for node in view.nodes for word in node.differs} == {"first with downsample"}
    assert not faults(view)
    assert len([fault for fault in faults(lied(view, lie)) if lie in fault.words]) == 3


def test_a_half_in_place_of_all_of_a_tensor_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The unit of a ShuffleNet that works on a half was called the other one without a branch."""
    net = Stages(Halved(is_whole=True), Halved(is_whole=False), Halved(is_whole=False))
    assert not faults(planned(net).view())
    monkeypatch.setattr(words, "PIECES", ())
    view = planned(net).view()
    assert {word for node in view.nodes for word in node.differs} == {"without side"}
    assert any("without side" in fault.words for fault in faults(view))


def test_an_inset_that_a_layer_is_said_to_be_unlike_is_not_its_own() -> None:
    view = planned(plain()).view()
    assert any(node.inset for node in view.nodes)
    nodes = tuple(replace(node, inset="", unlike=(node.inset,)) if node.inset else node for node in view.nodes)
    assert any("unlike A" in fault.words for fault in faults(replace(view, nodes=nodes)))


def test_a_setting_that_no_span_says_is_found() -> None:
    class Wide(Excited):
        def __init__(self, kernel: int, *, squeezes: bool) -> None:
            super().__init__(squeezes=squeezes)
            around = nn.Conv1d(8, 8, kernel, padding=kernel // 2, groups=8)
            self.conv[1] = nn.Sequential(around, nn.BatchNorm1d(8), nn.ReLU6())

    view = planned(Stages(Wide(5, squeezes=False), Wide(3, squeezes=True), Wide(3, squeezes=True))).view()
    assert not faults(view)
    (inset,) = view.insets
    view = replace(view, insets=(replace(inset, view=silent(inset.view)),))
    assert [fault for fault in faults(view) if "without Squeeze" in fault.words]


def test_settings_are_said_in_a_box_that_is_open_in_its_place() -> None:
    class Block(nn.Module):
        def __init__(self, n: int, m: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv1d(n, m, 3, m // n, 1)
            self.conv2 = nn.Conv1d(m, m, 3, 1, 1)
            self.shortcut = nn.Identity() if n == m else nn.Conv1d(n, m, 1, m // n)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.relu(self.conv2(torch.relu(self.conv1(x))) + self.shortcut(x))

    view = planned(nn.Sequential(Block(8, 16), Block(16, 16))).view()
    assert [box.differs for box in view.boxes if box.differs] == [("2nd with identity shortcut",)]
    assert not faults(view)
    assert [fault for fault in faults(silent(view)) if "with identity shortcut" in fault.words]


def test_a_layer_in_a_range_that_stands_elsewhere_is_found() -> None:
    view = planned(nn.Sequential(*(Excited() for _ in range(4)))).view()
    whole = next(box for box in view.boxes if len(box.calls) == 4)
    short = replace(whole, calls=(whole.calls[0], *whole.calls[2:]))
    found = faults(replace(view, boxes=tuple(short if box == whole else box for box in view.boxes)))
    assert [fault for fault in found if "1 is in the range of" in fault.words]


def test_of_what_is_said_falsely_the_kinds_are_drawn_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(words, "_phrase", lambda **by_how: "without conv.2, conv.3, ReLU6")
    views = ProvedViews(planned(plain()))
    view = views.view()
    assert view.weakened
    assert views.view().weakened == view.weakened  # no fault is left in another try
    assert not [word for node in view.nodes for word in node.differs]
    assert not faults(view)


class Numbered(nn.Module):
    """A layer with a number of its stage in all its names, as in the code of OpenPose."""

    def __init__(self, stage: int) -> None:
        super().__init__()
        self.add_module(f"conv1_stage{stage}", nn.Linear(16, 8))
        self.add_module(f"conv2_stage{stage}", nn.Linear(8, 16))

    def forward(self, x: Tensor) -> Tensor:
        first, second = self.children()
        found: Tensor = second(first(x).relu())
        return found


class AllNumbered(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        for stage in range(2, 6):
            self.add_module(f"model{stage}", Numbered(stage))

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.children():
            x = x + layer(x).tanh()
        return x


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.Sequential(nn.LayerNorm(16), nn.ReLU())

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = self.norm(x)
        return found


class Activated(nn.Module):
    """A layer of a graph network, which is given the activation of all."""

    def __init__(self, act: nn.Module) -> None:
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(16, 16), act, nn.Linear(16, 16), act)

    def forward(self, x: Tensor) -> Tensor:
        found: Tensor = x + self.mlp(x).sigmoid().cumsum(0)
        return found


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(AllNumbered, id="layers that have other numbers in their names"),
        pytest.param(lambda: nn.Sequential(*map(Activated, 4 * [nn.SiLU()])), id="layers with one activation"),
        pytest.param(
            lambda: nn.Sequential(*map(Activated, 4 * [nn.Linear(16, 16)])), id="layers with one layer for all"
        ),
        pytest.param(
            lambda: nn.Sequential(*(layer for _ in range(3) for layer in (nn.Linear(16, 16), Norm()))),
            id="layers in a wrapper between those of a row",
        ),
        pytest.param(
            lambda: nn.Sequential(*(layer for _ in range(3) for layer in (nn.Linear(16, 16), nn.Tanh(), nn.Dropout()))),
            id="dropouts between the layers of a row",
        ),
    ],
)
def test_what_is_drawn_for_all_of_a_row_is_not_refused(model: Callable[[], nn.Module]) -> None:
    view = planned(model()).view()
    assert any(repeat >= 3 for repeat in (*(n.repeat for n in view.nodes), *(b.repeat for b in view.boxes)))
    assert faults(view) == ()


class Narrow(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.conv, self.down = nn.Conv1d(before, before, 1), nn.Conv1d(before, after, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(self.conv(x).cumsum(1)).sin()  # type: ignore[no-any-return]


class Narrowing(nn.Module):
    """Two equal layers in a row, which lead from one width to another."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first = nn.Conv1d(8, before, 1)
        pairs = pairwise((before, before, after))
        self.cs = nn.Sequential(*(Narrow(a, b) for a, b in pairs))
        self.last = nn.Conv1d(after, 8, 1)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.last(self.cs(self.first(x).cumsum(1)).cumsum(1))  # type: ignore[no-any-return]


def narrowing(*widths: tuple[int, int]) -> View:
    return planned(nn.Sequential(*(layer for pair in widths for layer in (Narrowing(*pair), nn.Softsign())))).view()


@pytest.mark.parametrize(("stages", "is_said"), [(((64, 8), (8, 1)), False), (((64, 8), (64, 8)), True)])
def test_sizes_of_a_run_stand_in_an_inset_if_all_have_them(stages: list[tuple[int, int]], is_said: bool) -> None:
    view = narrowing(*stages)
    (inset,) = view.insets
    assert [node.differs for node in inset.view.nodes if len(node.calls) == 2] == [("64→8",) if is_said else ()]
    assert not faults(view)


def test_sizes_of_a_run_that_are_those_of_one_are_found() -> None:
    view = narrowing((64, 8), (8, 1))
    (inset,) = view.insets
    nodes = [replace(node, differs=("64→8",)) if len(node.calls) == 2 else node for node in inset.view.nodes]
    lie = replace(view, insets=(replace(inset, view=replace(inset.view, nodes=tuple(nodes))),))
    assert any("64→8 is not so" in fault.words for fault in faults(lie))


class Dropping(nn.Module):
    """Two layers, before the last of which is a dropout, or none."""

    def __init__(self, *, drops: bool) -> None:
        super().__init__()
        self.conv, self.last, self.drop = conv(), conv(), nn.Dropout3d() if drops else None

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x).cumsum(1)
        y = x if self.drop is None else self.drop(x[None])[0]
        return x * self.last(y).cumsum(2).sin()  # type: ignore[no-any-return]


def test_a_dropout_that_an_inset_shows_and_a_call_lacks_is_said() -> None:
    view = planned(Stages(Dropping(drops=False), Dropping(drops=True), Dropping(drops=True))).view()
    assert [node.differs for node in view.nodes if node.inset] == [("without drop",), (), ()]
    assert not faults(view)
    silent_view = replace(view, nodes=tuple(replace(node, differs=()) for node in view.nodes))
    assert [fault for fault in faults(silent_view) if fault.words.startswith("drop is in")]
    nodes = tuple(replace(node, differs=("without drop",)) if node.inset else node for node in view.nodes)
    assert [fault for fault in faults(replace(view, nodes=nodes)) if "without drop" in fault.words]


class Compared(nn.Module):
    """Words beside their own first ones, by one line."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(16, 32)
        self.blocks = nn.Sequential(*(nn.Linear(32, 32) for _ in range(4)))

    def forward(self, x: Tensor) -> Any:
        words = self.enter(x)
        return self.blocks(torch.cat([words, words[:, :2]], 1))


def test_a_part_that_no_words_say_is_drawn_as_the_op_that_takes_it() -> None:
    view = ProvedViews(planned(Compared())).view()
    cuts = [node for node in view.nodes if node.op is not None and view.graph.ops[node.op].name == "getitem"]
    assert len(cuts) == 1
    assert [fault for fault in view.weakened if "carries a tensor and a part of it" in fault]
    assert [len(node.calls) for node in view.nodes if len(node.calls) > 1] == [4]  # all else is drawn as before
    assert not faults(view)
