"""What a node says of a layer that is not as the one that is drawn: parts by their paths, in few words."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from torchrecorder import capture
from torchrecorder.proof import ProvedViews
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import Views
from torchrecorder.view.plan.visibility import Visibility
from torchrecorder.view.templates.kinds import Kinds


class Stages(nn.Module):
    """Blocks with pools between, so that each has a node of its own."""

    def __init__(self, *blocks: nn.Module) -> None:
        super().__init__()
        self.stages, self.pool = nn.ModuleList(blocks), nn.MaxPool1d(2)

    def forward(self, x: Tensor) -> Tensor:
        for stage in self.stages:
            x = self.pool(stage(x))
        return x


def conv(kernel: int = 3) -> nn.Conv1d:
    return nn.Conv1d(8, 8, kernel, padding=kernel // 2)


class Inverted(nn.Module):
    """As in a MobileNet: the first block has no expansion."""

    def __init__(self, *, expands: bool = True) -> None:
        super().__init__()
        first = [nn.Sequential(conv(1), nn.BatchNorm1d(8), nn.ReLU6())] if expands else []
        self.conv = nn.Sequential(*first, nn.Sequential(conv(), nn.BatchNorm1d(8), nn.ReLU6()), conv(1))

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x + self.conv(x)
        return out


class Squeeze(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = conv(1)

    def forward(self, x: Tensor) -> Tensor:
        return x * self.fc(x).sigmoid()  # type: ignore[no-any-return]


class Excited(nn.Module):
    """As in a MobileNetV3: what is left out moves the others to other numbers."""

    def __init__(self, *, expands: bool = True, squeezes: bool = True) -> None:
        super().__init__()
        first = [nn.Sequential(conv(1), nn.BatchNorm1d(8), nn.ReLU6())] if expands else []
        each = nn.Sequential(nn.Conv1d(8, 8, 3, padding=1, groups=8), nn.BatchNorm1d(8), nn.ReLU6())
        squeeze = [Squeeze()] if squeezes else []
        self.conv = nn.Sequential(*first, each, *squeeze, nn.Sequential(conv(1), nn.BatchNorm1d(8)))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x)  # type: ignore[no-any-return]


class Stage(nn.Module):
    def __init__(self, n: int) -> None:
        super().__init__()
        self.enter, self.blocks = conv(1), nn.ModuleList(Inverted() for _ in range(n))

    def forward(self, x: Tensor) -> Tensor:
        x = self.enter(x).sin()
        for block in self.blocks:
            x = block(x)
        return x


class Ending(Stage):
    """The last of its blocks may have a layer that the others lack."""

    def __init__(self, n: int, *, squeezes: bool) -> None:
        super().__init__(n)
        self.blocks = nn.ModuleList(Excited(squeezes=squeezes and i == n - 1) for i in range(n))


class Extended(Stage):
    """So many of its blocks have one more layer."""

    def __init__(self, extra: int) -> None:
        super().__init__(4)
        self.blocks = nn.ModuleList(Residual(more=i < extra) for i in range(4))


class Residual(nn.Module):
    """Its shortcut is a layer or an Identity, its drop another one; a norm comes with its layer."""

    def __init__(self, *, plain: bool = False, more: bool = False) -> None:
        super().__init__()
        self.a, self.b = conv(), conv()
        self.shortcut = nn.Identity() if plain else conv(1)
        self.drop = nn.Identity() if plain else nn.Dropout()
        self.extra: nn.Module | None = conv(1) if more else None
        self.norm: nn.Module | None = nn.BatchNorm1d(8) if more else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.drop(self.b(self.a(x).relu()))
        if self.extra is not None and self.norm is not None:
            y = self.norm(self.extra(y)) * y
        return torch.add(y, self.shortcut(x))


class Mixer(nn.Module):
    def __init__(self, *, wide: bool = False) -> None:
        super().__init__()
        self.first = conv()
        self.mix: nn.Module = nn.Linear(4, 4) if wide else conv()

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = x * self.mix(self.first(x).sin())
        return out


class Up(nn.Module):
    """Puts a skip beside its data, if there is one."""

    def __init__(self, wide: int) -> None:
        super().__init__()
        self.up, self.last = conv(), nn.Conv1d(wide, 8, 3, padding=1)

    def forward(self, x: Tensor, skip: Tensor | None = None) -> Tensor:
        x = self.up(x).sin()
        if skip is not None:
            x = torch.cat((x, skip), 1)
        return torch.relu(self.last(x))


class Decoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.ups, self.pool = nn.ModuleList((Up(16), Up(16), Up(8))), nn.MaxPool1d(2)

    def forward(self, x: Tensor) -> Tensor:
        for up, has_skip in zip(self.ups, (True, True, False), strict=True):
            x = self.pool(up(x, x if has_skip else None))
        return x


class Marking(nn.Module):
    """Adds marks to its data, if there are some."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.last = conv(), conv()

    def forward(self, x: Tensor, marks: Tensor | None = None) -> Tensor:
        x = self.up(x).sin()
        if marks is not None:
            x = x + marks
        return torch.relu(self.last(x))


class Marked(nn.Module):
    """Its marks are an argument of their own and no skip."""

    def __init__(self) -> None:
        super().__init__()
        self.ups, self.pool = nn.ModuleList(Marking() for _ in range(3)), nn.MaxPool1d(2)

    def forward(self, x: Tensor) -> Tensor:
        for up, has_marks in zip(self.ups, (True, True, False), strict=True):
            x = self.pool(up(x, x.cos() if has_marks else None))
        return x


def window_attention(x: Tensor, qkv: nn.Linear, shift: int) -> Tensor:
    x = torch.roll(x, shift, 1) if shift else x
    q, k, v = (x @ qkv.weight.T).chunk(3, -1)
    scores = q @ k.transpose(1, 2)
    scores = scores + torch.ones(8, 8).triu() if shift else scores
    return scores.softmax(-1) @ v


class Rows(nn.Module):
    def __init__(self, *blocks: nn.Module) -> None:
        super().__init__()
        self.stages = nn.ModuleList(blocks)

    def forward(self, x: Tensor) -> Tensor:
        for stage in self.stages:
            x = stage(x).cumsum(-1)
        return x


class Window(nn.Module):
    def __init__(self, shift: int) -> None:
        super().__init__()
        self.shift, self.qkv, self.out = shift, nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.out(window_attention(x, self.qkv, self.shift)).sin()  # type: ignore[no-any-return]


class Padded(nn.Conv1d):
    def __init__(self, pad: int) -> None:
        super().__init__(8, 8, 2 * pad + 1)
        self.pad = nn.ConstantPad1d(pad, 0.0) if pad else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.conv1d(self.pad(x), self.weight, self.bias)


class Depthwise(nn.Module):
    def __init__(self, pad: int) -> None:
        super().__init__()
        self.conv, self.last = Padded(pad), conv()

    def forward(self, x: Tensor) -> Tensor:
        return x + self.last(self.conv(x).sin())  # type: ignore[no-any-return]


class Same(nn.Module):
    """A convolution that pads what it reads, or not, behind another; what it gives may be added to what it got."""

    def __init__(self, pad: int, *, has_skip: bool) -> None:
        super().__init__()
        self.a, self.conv, self.has_skip = conv(1), Padded(1), has_skip
        self.conv.pad = nn.ConstantPad1d(pad, 0.0) if pad else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(self.a(x).sin())
        y = nn.functional.pad(y, (0, x.shape[-1] - y.shape[-1]))
        return x + y if self.has_skip else y


class Passed(nn.Module):
    """Its skip leads through layers, or through an empty list of them."""

    def __init__(self, *, is_plain: bool) -> None:
        super().__init__()
        self.a, self.b, self.shortcut = conv(1), conv(1), nn.Sequential(*([] if is_plain else [conv(1)]))

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.a(x).sin()) + self.shortcut(x)  # type: ignore[no-any-return]


class Past(nn.Module):
    """Its skip leads through an Identity, if there is one."""

    def __init__(self, *, has_skip: bool) -> None:
        super().__init__()
        self.a, self.b, self.past = conv(), conv(), nn.Identity() if has_skip else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.b(self.a(x).sin())
        return y if self.past is None else y + self.past(x)  # type: ignore[no-any-return]


class Branches(nn.Module):
    """As in a RepVGG: the sum of a branch comes with its layer."""

    def __init__(self, *, has_norm: bool) -> None:
        super().__init__()
        self.a, self.b, self.norm = conv(), conv(1), nn.BatchNorm1d(8) if has_norm else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x).sin() + self.b(x).cos()
        return y if self.norm is None else y + self.norm(x)  # type: ignore[no-any-return]


class Scaled(nn.Module):
    """A product with a parameter is named after that."""

    def __init__(self, *, has_scale: bool) -> None:
        super().__init__()
        self.a, self.b, self.scale = conv(), conv(), nn.Parameter(torch.ones(8, 1)) if has_scale else None

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x).sin()
        return self.b(y if self.scale is None else y * self.scale)  # type: ignore[no-any-return]


class Moving(nn.Module):
    """Its places move by what a layer gives, if there is one."""

    def __init__(self, *, moves: bool) -> None:
        super().__init__()
        self.a, self.b, self.move = conv(), conv(), conv() if moves else None
        self.register_buffer("places", torch.ones(8, 1))

    def forward(self, x: Tensor) -> Tensor:
        y, places = self.a(x).sin(), self.get_buffer("places")
        if self.move is not None:
            places = places + 2 * torch.tanh(self.move(x).unflatten(1, (4, 2))).flatten(1, 2)
        return self.b((y - places).relu())  # type: ignore[no-any-return]


class OfFrames(nn.Module):
    """Attention that a single frame has nothing to attend to with."""

    def __init__(self, *, is_single: bool) -> None:
        super().__init__()
        self.is_single = is_single
        self.to_q, self.to_k, self.to_v, self.to_out = (nn.Linear(16, 16) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        v = self.to_v(x)
        if not self.is_single:
            v = F.scaled_dot_product_attention(self.to_q(x), self.to_k(x), v)
        return self.to_out(v).sin() + x  # type: ignore[no-any-return]


class Growing(nn.Sequential):
    """Stands in one node, with the layer that it may have before the other."""

    def __init__(self, *, shrinks: bool) -> None:
        super().__init__()
        if shrinks:
            self.add_module("before", nn.Conv1d(8, 8, 1))
        self.add_module("whole", nn.Upsample(scale_factor=2))


class Shrinking(nn.Module):
    def __init__(self, *, shrinks: bool) -> None:
        super().__init__()
        self.up = Growing(shrinks=shrinks)
        self.a, self.b = conv(), conv()

    def forward(self, x: Tensor) -> Tensor:
        y = self.up(x)
        return self.b(self.a(y).sin() + y.cos())  # type: ignore[no-any-return]


class Gated(nn.Module):
    """Its variants differ in signs alone, which name nothing."""

    def __init__(self, *, is_squared: bool) -> None:
        super().__init__()
        self.a, self.b, self.is_squared = conv(), conv(), is_squared

    def forward(self, x: Tensor) -> Tensor:
        y = self.a(x).sin()
        return self.b(y * y / 2 if self.is_squared else y)  # type: ignore[no-any-return]


class Halved(nn.Module):
    """A unit of a ShuffleNet: two branches of what it gets, or one of the second half beside the first."""

    def __init__(self, *, is_whole: bool) -> None:
        super().__init__()
        self.side = nn.Conv1d(8, 4, 3, padding=1) if is_whole else None
        self.main = nn.Sequential(nn.Conv1d(8 if is_whole else 4, 4, 1), nn.Conv1d(4, 4, 3, padding=1))

    def forward(self, x: Tensor) -> Tensor:
        a, b = (self.side(x), x) if self.side is not None else x.chunk(2, 1)
        return torch.cat((a, self.main(b)), 1).tanh()


class Pair(nn.Module):
    """A row that has two layers where another has one, of another class."""

    def __init__(self, n: int) -> None:
        super().__init__()
        layers = [conv(), nn.Dropout(), nn.ReLU(), conv(), nn.Dropout()] if n > 1 else [Squeeze(), nn.Dropout()]
        self.layers = nn.Sequential(nn.BatchNorm1d(8), *layers)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.layers(x)  # type: ignore[no-any-return]


class Shortened(nn.Module):
    """As in a HunyuanVideo: where frames are halved, the first one is taken apart on both ways, and a mean is more."""

    def __init__(self, *, halves: bool) -> None:
        super().__init__()
        self.conv, self.halves = conv(), halves

    def forward(self, x: Tensor) -> Tensor:
        h = self.conv(x)
        if not self.halves:
            return h + x.unsqueeze(2).mean(2)  # type: ignore[no-any-return]
        h = torch.cat([torch.cat([h[..., :1], h[..., :1]], -1), h[..., 2:]], -1)
        means = (part.unsqueeze(2).mean(2) for part in (x[..., :2], x[..., 2:]))
        return h + torch.cat([*means], -1)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Decoder, "without skip"),
        (Marked, "without marks"),
        (lambda: Rows(Window(2), Window(2), Window(0)), "without roll and mask in window_attention"),
        (lambda: Rows(*(OfFrames(is_single=it) for it in (False, False, True))), "without to_q, to_k, attention"),
        (lambda: Stages(Depthwise(1), Depthwise(1), Depthwise(0)), ""),
        (
            lambda: Stages(Passed(is_plain=False), Passed(is_plain=False), Passed(is_plain=True)),
            "with identity shortcut",
        ),
        (lambda: Stages(*(Same(i % 2, has_skip=i < 2) for i in range(4))), "without skip"),
        (lambda: Stages(Inverted(expands=False), Inverted(), Inverted()), "without conv.0"),
        (lambda: Stages(Excited(squeezes=False), Excited(), Excited()), "without Squeeze"),
        (
            lambda: Stages(Excited(expands=False, squeezes=False), Excited(), Excited()),
            "without conv.0 and Squeeze",
        ),
        (lambda: Stages(Stage(2), Stage(4), Stage(4)), "with 2 blocks"),
        (lambda: Stages(Stage(1), Stage(4), Stage(4)), "with 1 block"),
        (lambda: Stages(*(Ending(2 + it, squeezes=it) for it in (False, True, True))), "without Squeeze"),
        (lambda: Stages(Extended(4), Extended(4), Extended(1)), "without extra in 3 blocks"),
        (lambda: Stages(Residual(), Residual(), Residual(plain=True)), "with identity shortcut"),
        (lambda: Stages(Residual(more=True), Residual(more=True), Residual()), "without extra"),
        (lambda: Stages(Mixer(), Mixer(), Mixer(wide=True)), "with Linear instead of Conv1d"),
        (lambda: Stages(Past(has_skip=True), Past(has_skip=True), Past(has_skip=False)), "without skip"),
        (lambda: Stages(Branches(has_norm=True), Branches(has_norm=True), Branches(has_norm=False)), "without norm"),
        (lambda: Stages(Scaled(has_scale=True), Scaled(has_scale=True), Scaled(has_scale=False)), "without scale"),
        (lambda: Stages(Moving(moves=True), Moving(moves=True), Moving(moves=False)), "without move and tanh"),
        (lambda: Stages(*(Shrinking(shrinks=it) for it in (True, True, False))), "without Conv"),
        (lambda: Stages(Gated(is_squared=True), Gated(is_squared=True), Gated(is_squared=False)), ""),
        (lambda: Stages(Pair(1), Pair(2), Pair(2)), ""),
        (lambda: Stages(Halved(is_whole=True), Halved(is_whole=False), Halved(is_whole=False)), ""),
    ],
)
def test_what_differs_is_named_as_it_is_drawn(make: Callable[[], nn.Module], said: str) -> None:
    torch.manual_seed(0)
    with torch.no_grad():
        graph = capture(make().eval(), (torch.ones(2, 8, 16),))
    view = ProvedViews(Views(graph, DrawingOptions())).view()
    assert not view.weakened
    words = {word for node in view.nodes for word in node.differs}
    words |= {word for box in view.boxes for word in box.differs}
    assert words == {said} - {""}, [(node.name, node.differs, node.inset) for node in view.nodes]


def test_a_row_of_other_layers_at_other_places_is_drawn_by_itself() -> None:
    def block() -> list[nn.Module]:
        return [Inverted(), nn.ReLU()]

    down = nn.Sequential(nn.Conv1d(8, 8, 4, stride=2, padding=1), *block(), nn.Tanh())
    up = nn.Sequential(*block(), nn.Tanh(), nn.ConvTranspose1d(8, 8, 4, stride=2, padding=1))
    view = ProvedViews(Views(capture(Stages(down, up).eval(), (torch.ones(2, 8, 16),)), DrawingOptions())).view()
    assert not [word for node in view.nodes for word in node.differs]


def test_a_number_of_blocks_does_not_stand_for_one_that_what_is_drawn_has_nowhere() -> None:
    def said(*expands: bool) -> list[str] | None:
        long = Stage(0)
        long.blocks = nn.ModuleList(Inverted(expands=it) for it in expands)
        graph = capture(Stages(Stage(2), long).eval(), torch.ones(2, 8, 16))
        drawn, other = (row.id for row in graph.calls if row.module in ("stages.0", "stages.1"))
        return Kinds(Visibility(graph, DrawingOptions())).in_words([other], drawn)

    assert said(True, True, True, True) == ["with 4 blocks"]
    assert said(True, True, False, True) is None


class Again(nn.Module):
    """It computes more if it is given what came before."""

    def __init__(self, *, plain: bool) -> None:
        super().__init__()
        self.a, self.b, self.shortcut = conv(), conv(), nn.Identity() if plain else conv(1)

    def forward(self, x: Tensor, past: Tensor | None) -> Tensor:
        y = self.b(self.a(x).relu())
        y = y if past is None else (y * past).sin().softmax(-1)
        found: Tensor = y + self.shortcut(x)
        return found


class Normed(nn.Module):
    """A norm of two parts between layers, or none."""

    class Parts(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.BatchNorm1d(4), nn.BatchNorm1d(4)

        def forward(self, x: Tensor) -> Tensor:
            a, b = x.chunk(2, 1)
            return torch.cat([self.a(a), self.b(b)], 1)

    def __init__(self, *, has_norm: bool) -> None:
        super().__init__()
        self.a, self.b, self.norm = conv(), conv(), self.Parts() if has_norm else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return self.b(self.norm(self.a(x).sin()).cumsum(-1))  # type: ignore[no-any-return]


def test_an_identity_in_place_of_a_closed_layer_is_said_to_lack_it() -> None:
    """A decoder's last level, without a norm, was apart from all others."""
    with torch.no_grad():
        graph = capture(Stages(Normed(has_norm=True), Normed(has_norm=False)).eval(), (torch.ones(2, 8, 16),))
    drawn, norm, other = (
        next(row.id for row in graph.calls if row.module == path) for path in ("stages.0", "stages.0.norm", "stages.1")
    )
    shown = frozenset({norm}), frozenset[int](), frozenset[int]()
    assert Kinds(Visibility(graph, DrawingOptions())).in_words([other], drawn, shown) == ["without norm"]


class Chunks(nn.Module):
    """Two layers for one chunk after another."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.two, self.pool = Again(plain=False), Again(plain=True), nn.MaxPool1d(1)

    def forward(self, x: Tensor) -> Tensor:
        past = self.two(self.pool(self.one(x, None)), None)
        found: Tensor = self.two(self.pool(self.one(x.cos(), past)), past)
        return found


def test_an_identity_of_an_earlier_call_computes_nothing() -> None:
    """It was said that a shortcut is computed there."""
    with torch.no_grad():
        view = Views(capture(Chunks().eval(), (torch.ones(2, 8, 16),)), DrawingOptions()).view()
    assert [node.differs for node in view.nodes if node.differs][1:] == [("with identity shortcut",)]


def test_joins_that_are_not_next_to_what_is_named_are_not_passed_over() -> None:
    """The words were `without mean`, and the proof closed what is drawn; cats of the other way were different, too."""
    graph = capture(Stages(Shortened(halves=True), Shortened(halves=False)).eval(), torch.ones(2, 8, 16))
    drawn, other = (row.id for row in graph.calls if row.module in ("stages.0", "stages.1"))
    assert Kinds(Visibility(graph, DrawingOptions())).in_words([other], drawn) is None
