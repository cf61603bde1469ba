"""A line says the shape of what it carries: of what its tail gives, and none where the batch is lost on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import torch
from torch import Tensor, nn

from torchrecorder import capture
from torchrecorder.drawing.draw import DrawJob, draw, views_of
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.layout.edge_shapes import edge_shapes
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view


class Net(nn.Module):
    def __init__(self, middle: Callable[[Tensor], Tensor], width: int) -> None:
        super().__init__()
        self.enter, self.leave, self.middle = nn.Linear(6, 8), nn.Linear(width, 3), middle

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.leave(self.middle(self.enter(x)))
        return out


def heads(x: Tensor) -> Tensor:
    y = x.view(*x.shape[:2], 2, 4).transpose(1, 2)
    return torch.softmax(y, -1).transpose(1, 2).flatten(2)


def gate(x: Tensor) -> Tensor:
    u, v = x.chunk(2, dim=-1)
    return u.sin() * v


def shapes(model: nn.Module, *inputs: Tensor) -> list[str]:
    with torch.no_grad():
        view = make_view(capture(model, inputs), DrawingOptions(depth=3, fold=False))
    return [*edge_shapes(view).values()]


def test_a_line_says_what_arrives_behind_views_that_are_not_drawn() -> None:
    class Wave(nn.Module):
        """A signal whose channels become channels and bands, as the wavegram of a tagger of sounds."""

        def __init__(self) -> None:
            super().__init__()
            self.signal, self.image = nn.Conv1d(1, 32, 3, padding=1), nn.Conv2d(4, 8, 3)

        def forward(self, x: Tensor) -> Tensor:
            y = self.signal(x)
            out: Tensor = self.image(y.reshape(y.shape[0], 4, -1, y.shape[-1]).transpose(2, 3))
            return out

    class Frames(nn.Module):
        """Frames that are a batch for one layer, and a depth for the next one."""

        def __init__(self) -> None:
            super().__init__()
            self.each, self.together = nn.Conv2d(4, 4, 1), nn.MaxPool3d((3, 2, 2))

        def forward(self, x: Tensor) -> Tensor:
            y = self.each(x.flatten(0, 1))
            out: Tensor = self.together(y.view(-1, 3, *y.shape[1:]).transpose(1, 2))
            return out

    assert shapes(Wave(), torch.ones(2, 1, 20))[0] == "N×32×20 → N×4×20×8"
    assert shapes(Frames(), torch.ones(2, 3, 4, 8, 8)) == ["3N×4×8×8", "3N×4×8×8 → N×4×3×8×8"]


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (lambda x: x.view(-1, 2, 2, 8).permute(0, 3, 1, 2), ["N×4×8 → N×8×2×2"]),  # patches to an image
        (lambda x: x.transpose(1, 2), ["N×4×8 → N×8×4"]),
        (lambda x: x.flatten(1), ["N×4×8 → N×32"]),
        (lambda x: x.unsqueeze(1), []),
        (lambda x: x, []),
        (lambda x: x[x > 0].view(-1, 1), []),  # its batch axis is unknown
    ],
)
def test_a_line_into_an_output_says_what_that_is_rearranged_from(
    last: Callable[[Tensor], Tensor], said: list[str]
) -> None:
    class Last(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.enter = nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Tensor:
            return last(self.enter(x))

    assert shapes(Last(), torch.ones(2, 4, 8)) == said


def test_a_line_of_several_tensors_says_the_sizes_of_all() -> None:
    class Two(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(2, 4, 1), nn.Conv2d(4, 8, 3, stride=2)

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            y = self.first(x)
            return y, self.second(y)

    class Both(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = Two()

        def forward(self, x: Tensor) -> Tensor:
            fine, coarse = self.down(x)
            out: Tensor = fine.mean() + self.weigh(fine, coarse)
            return out

        def weigh(self, fine: Tensor, coarse: Tensor) -> Tensor:
            return (fine.flatten(1).sin().sum(1) * coarse.flatten(1).cos().sum(1)).exp()

    with torch.no_grad():
        view = make_view(capture(Both(), (torch.ones(2, 2, 9, 9),)), DrawingOptions(collapse=("down",)))
    assert "N×4×9×9, N×8×4×4" in edge_shapes(view).values()


@pytest.mark.parametrize(
    ("middle", "width", "said"),
    [
        (heads, 8, ["N×5×8"]),  # and not the N×2×5×4 of each head, behind a Linear to 8
        (gate, 4, ["N×5×8", "N×5×4"]),  # the Linear gives eight, of which each half goes its way
        (lambda x: x.flatten(1).sin(), 40, ["N×40"]),  # a flattened tensor as its reader has it
        (lambda x: x.repeat(1, 3, 1).sin(), 8, ["N×5×8", "N×15×8"]),
        (lambda x: x.transpose(1, 2), 5, ["N×5×8 → N×8×5"]),  # of as many sizes, in another order
    ],
)
def test_a_line_says_what_its_tail_gives(middle: Callable[[Tensor], Tensor], width: int, said: list[str]) -> None:
    assert shapes(Net(middle, width), torch.ones(2, 5, 6)) == said


def pairs(x: Tensor) -> Tensor:
    """Each position beside each, channels first: the shape of a convolution's input."""
    near = (x - x.mean(1, keepdim=True)).sin() * x.cos() + x.exp()
    return torch.cat((near, x * 2), dim=2).permute(0, 2, 1).contiguous()


def test_what_a_function_gives_is_in_the_shape_that_it_returns_it_in() -> None:
    class Channels(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv1d(12, 3, 1)

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.conv(pairs(x))
            return out

    assert shapes(Channels(), torch.ones(2, 5, 6)) == ["N×12×5"]


def rotated(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return x * cos + torch.cat((-x[..., 2:], x[..., :2]), -1) * sin


def test_what_comes_on_a_way_that_is_not_drawn_has_the_shape_in_which_a_function_gets_it() -> None:
    class Rotary(nn.Module):
        def forward(self, at: Tensor) -> tuple[Tensor, Tensor]:
            angles = at[..., None].float() * torch.ones(4)
            return angles.cos(), angles.sin()

    class Rotated(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.rotary, self.q, self.out = Rotary(), nn.Linear(8, 8), nn.Linear(8, 3)

        def forward(self, x: Tensor, start: Tensor) -> Tensor:
            cos, sin = self.rotary((torch.arange(5) + start)[None])
            q = self.q(x).view(*x.shape[:2], 2, 4).transpose(1, 2)
            found: Tensor = self.out(rotated(q, cos, sin).transpose(1, 2).flatten(2))
            return found

    graph = capture(Rotated(), (torch.rand(2, 5, 8), torch.tensor([4])))
    view = views_of(graph, DrawingOptions()).view()
    assert "1×1×5×4" not in edge_shapes(view).values()
    (drawing,) = draw([DrawJob(graph, "x" * 64, DrawingOptions())], find_engine())
    assert isinstance(drawing, Drawing)
    assert drawing.weakened == ()


def test_no_shape_is_said_where_the_batch_is_lost() -> None:
    class Chosen(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[x > 0].sin() + 1

    class Kept(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return torch.cat([x, x], 1).sin() + 1

    assert shapes(Chosen(), torch.ones(2, 5)) == []
    assert shapes(Kept(), torch.ones(2, 5)) == ["N×10"]


class Steps(nn.Module):
    """A loop that begins with zeros of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.look, self.last = nn.Linear(16, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        seen = total = torch.zeros(len(x), 8)
        for i in range(4):
            seen = torch.tanh(self.look(torch.cat((seen, total), 1)) + x[:, i])
            total = total + seen
        return self.last(total)  # type: ignore[no-any-return]


def test_a_first_state_of_as_many_examples_as_a_number_says_has_no_shape() -> None:
    with torch.no_grad():
        view = make_view(capture(Steps(), (torch.ones(3, 4, 8),)), DrawingOptions())
    said = edge_shapes(view, ("shapes",)).values()
    assert {*said} == {"N×8"}


class Halves(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Sequential(nn.Linear(4, 4), nn.ReLU()), nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        kept, given = x.chunk(2, dim=-1)
        return self.second(self.first(given) + kept)  # type: ignore[no-any-return]


def test_the_inside_of_a_layer_begins_with_the_part_that_it_gets() -> None:
    """The first line inside said the shape of the whole tensor, outside; the proof then refused each such inside."""
    with torch.no_grad():
        views = views_of(capture(Halves(), (torch.zeros(2, 3, 8),)), DrawingOptions(depth=3))
    inside = views.inside(next(call.id for call in views.view().graph.calls if call.module == "first"))
    assert "N×3×8" not in edge_shapes(inside).values()


def test_no_shape_is_said_of_what_was_written_into_a_part_of_something() -> None:
    """A batch into which images were copied had the shape of the last image."""

    class Batch(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 4, 1)

        def forward(self, a: Tensor, b: Tensor) -> Tensor:
            images = a.new_full((2, 3, 8, 8), 0.0)
            for i, image in enumerate((a.sin(), b.cos())):
                images[i, :, : image.shape[1]].copy_(image)
            out: Tensor = self.conv(images)
            return out

    assert "3×6×8" not in str(shapes(Batch(), torch.ones(3, 4, 8), torch.ones(3, 6, 8)))


class Rearranged(nn.Module):
    """Places come before channels, and the first of them is left out."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(8, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x).transpose(1, 2)
        return y[:, 1:].cumsum(-1)


def test_a_line_with_an_index_says_the_shape_that_it_is_an_index_of() -> None:
    assert shapes(Rearranged(), torch.ones(2, 8, 6)) == ["N×4×6"]


class Tokens(nn.Module):
    """A norm of tokens in a block of maps, as in Restormer, and a layer that keeps its sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(8, 8, 1), nn.LayerNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.conv(x).relu() + x
        z: Tensor = self.norm(y.flatten(2).transpose(1, 2)).sin()
        return y + z.view(x.shape[0], 4, 4, 8).permute(0, 3, 1, 2)


def test_a_line_beside_another_says_what_both_begin_with() -> None:
    """The flattened one stood behind the sum of which the whole went on."""
    assert shapes(Tokens(), torch.ones(2, 8, 4, 4)) == ["N×8×4×4 → N×16×8", "N×16×8 → N×8×4×4"]


class Half(nn.Module):
    def __init__(self, before: int, after: int) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(before, 4, 1), nn.Conv2d(4, after, 1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.last(self.first(x).sin()).tanh()
        return y


def test_what_leads_from_one_layer_into_another_has_its_size_however_long_it_has_that() -> None:
    assert shapes(nn.Sequential(Half(3, 4), Half(4, 3)), torch.ones(2, 3, 8, 8)) == ["N×4×8×8"] * 2


def test_a_skip_leaves_a_size_to_the_line_beside_it() -> None:
    class Added(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Conv2d(3, 6, 1), nn.Conv2d(6, 2, 1)

        def forward(self, x: Tensor) -> Tensor:
            y = self.first(x)
            out: Tensor = y.unflatten(1, (2, 3)).mean(2) + self.last(y)
            return out.sin()

    with torch.no_grad():
        view = make_view(capture(Added(), (torch.ones(2, 3, 8, 8),)), DrawingOptions())
    said = edge_shapes(view)
    assert [edge.skip for edge in view.edges if said.get((edge.tail, edge.head)) == "N×2×8×8"] == [False]


class Levels(nn.Module):
    """Scores of images of several sizes, by the same layers."""

    def __init__(self) -> None:
        super().__init__()
        self.look, self.score = nn.Sequential(nn.Conv2d(3, 8, 1), nn.GroupNorm(2, 8), nn.ReLU()), nn.Conv2d(8, 6, 1)

    def forward(self, levels: list[Tensor]) -> Tensor:
        return torch.cat([self.score(self.look(level)).flatten(2) for level in levels], 2).cumsum(-1)


def test_each_size_that_is_another_elsewhere_has_a_sign_of_its_own() -> None:
    with torch.no_grad():
        view = make_view(capture(Levels(), ([torch.zeros(2, 3, 2**i, 2**i) for i in range(6)],)), DrawingOptions())
    assert "N×8×…×…" in edge_shapes(view).values()


class Joining(nn.Module):
    def __init__(self, wide: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(wide, 5, 3, padding=1)

    def forward(self, given: list[Tensor]) -> Tensor:
        return torch.relu(self.conv(torch.cat(given, 1)))


class Dense(nn.Module):
    """Layers of which each reads what all before it gave, as a block of a DenseNet."""

    def __init__(self, n: int, wide: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(Joining(wide + 5 * i) for i in range(n))

    def forward(self, x: Tensor) -> Tensor:
        given = [x]
        for layer in self.layers:
            given.append(layer(given))
        return torch.cat(given, 1)


def test_a_line_in_an_inset_leaves_out_sizes_that_shorter_blocks_do_not_have() -> None:
    halving = (nn.Conv2d(width, 4, 3, stride=2) for width in (24, 54))
    model = nn.Sequential(Dense(4, 4), next(halving), Dense(10, 4), next(halving), Dense(6, 4))
    with torch.no_grad():
        insets = views_of(capture(model, (torch.ones(2, 4, 32, 32),)), DrawingOptions()).view().insets
    said = [edge_shapes(inset.view) for inset in insets]
    assert said[0] == {(1, 2): "N×5×…×…", (2, 3): "N×5×…×…"}


class Turned(nn.Module):
    """Images of two sizes, each turned around between two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(3, 8, 1), nn.Conv2d(8, 4, 1)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        return tuple(self.last(self.first(it).mT) for it in (x, y))


def test_two_shapes_that_read_alike_with_signs_for_their_sizes_are_not_said() -> None:
    with torch.no_grad():
        graph = capture(Turned(), (torch.ones(2, 3, 4, 6), torch.ones(2, 3, 5, 7)))
    view = make_view(graph, DrawingOptions(fold=False))
    edge = next(edge for edge in view.edges if "→" in edge_shapes(view).get((edge.tail, edge.head), ""))
    assert edge_shapes(view)[edge.tail, edge.head] == "N×8×4×6 → N×8×6×4"
    of = {graph.values[op.outputs[0]].shape: op.outputs[0] for op in graph.ops}
    elsewhere = (of[2, 8, 4, 6], of[2, 8, 5, 7]), (of[2, 8, 6, 4], of[2, 8, 7, 5])
    folded = replace(view, edges=tuple(replace(it, elsewhere=elsewhere) if it is edge else it for it in view.edges))
    assert (edge.tail, edge.head) not in edge_shapes(folded)
