"""An edge by which a layer gets several things says which: one shape would be taken for all of it."""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor, nn

from tests.core.drawing.engines import laid_out
from torchrecorder.layout.edge_shapes import edge_shapes
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.proof import faults
from torchrecorder.proof import layout as proof
from torchrecorder.recording.run import capture
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import View, make_view


class Biased(nn.Module):
    """A layer that gives its features and a bias for the layers after it."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.bias = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.second(self.first(x).relu()), self.bias(x)


class Reading(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 5)

    def forward(self, x: Tensor, position_bias: Tensor) -> Tensor:
        return self.second(self.first(x).relu()) + position_bias  # type: ignore[no-any-return]


class Twice(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.giving, self.reading, self.last = Biased(), Reading(), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.reading(*self.giving(x)))  # type: ignore[no-any-return]


class Levels(nn.Module):
    """A layer that gives its levels, the finest one first."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 5), nn.Linear(5, 8)

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        fine = self.first(x).relu()
        return {"fine": fine, "coarse": self.second(fine).relu()}


class Rising(nn.Module):
    """A decoder that gets the last level first."""

    def __init__(self) -> None:
        super().__init__()
        self.giving, self.reading, self.last = Levels(), Reading(), nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        levels = self.giving(x)
        return self.last(self.reading(levels["coarse"], levels["fine"]))  # type: ignore[no-any-return]


class Listing(nn.Module):
    """A layer that gives a list, which is one thing."""

    def __init__(self) -> None:
        super().__init__()
        self.giving, self.joining = Biased(), Joining()

    def forward(self, x: Tensor) -> Tensor:
        return self.joining([*self.giving(x)])  # type: ignore[no-any-return]


class Joining(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(8, 4), nn.Linear(5, 4)

    def forward(self, levels: list[Tensor]) -> Tensor:
        return self.a(levels[0]).relu() + self.b(levels[1])  # type: ignore[no-any-return]


def words(model: nn.Module) -> dict[tuple[str, str], str]:
    with torch.no_grad():
        view: View = make_view(capture(model, (torch.randn(2, 8),), {}), DrawingOptions(depth=1))
    names = [view.graph.calls[node.calls[0]].module if node.calls else node.name for node in view.nodes]
    return {(names[tail], names[head]): text for (tail, head), text in edge_shapes(view, ("shapes",)).items()}


def test_two_arguments_by_one_edge_are_named() -> None:
    said = words(Twice())
    assert said["giving", "reading"] == "x, position_bias"
    assert said["reading", "last"] == "N×5"


def test_names_at_both_ends_of_a_line_are_in_one_order() -> None:
    """A line said `fine, coarse` where it began and `x, position_bias` at its end, and `x` is the coarse one."""
    with torch.no_grad():
        view = make_view(capture(Rising(), (torch.randn(2, 8),), {}), DrawingOptions(depth=1))
    (edge,) = (edge for edge in view.edges if ", " in edge.part)
    assert edge.part == "coarse, fine"
    assert edge_shapes(view, ("shapes",))[edge.tail, edge.head] == "x, position_bias"
    assert faults(view) == ()
    edges = tuple(replace(it, part="fine, coarse") if it is edge else it for it in view.edges)
    assert [fault.words for fault in faults(replace(view, edges=edges))] == [
        f"the edge from call {edge.tail} to call {edge.head} does not carry fine, coarse"
    ]
    placed = PaperLayout(view)
    drawn = placed.place([laid_out(dot) for dot in placed.dots])
    assert drawn is not None
    assert proof.faults(view, drawn) == ()
    turned = {"x, position_bias": "position_bias, x"}
    lines = [line._replace(word=turned.get(line.word, line.word)) for line in drawn.lines]
    assert "position_bias, x" in " ".join(proof.faults(view, replace(drawn, lines=lines)))


def test_the_entries_of_a_list_are_one_thing() -> None:
    assert words(Listing())["giving", "joining"] == "N×8, N×5"  # two sizes and no names


class Asking(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, query: Tensor, key: Tensor, value: Tensor) -> Tensor:
        return self.q(query) @ self.k(key).mT @ value  # type: ignore[no-any-return]


class Future(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.giving, self.asking = nn.Linear(8, 8), Asking()

    def forward(self, x: Tensor) -> Tensor:
        x = self.giving(x.reshape(-1, 2, 4).repeat(1, 1, 2))
        return self.asking(x[:, 1:], x, x)  # type: ignore[no-any-return]


def test_an_argument_says_which_part_it_is() -> None:
    assert words(Future())["giving", "asking"] == "query [:, 1:], key, value"


class Cached(nn.Module):
    """Reads and fills places of a cache that others fill, too."""

    def __init__(self, at: int) -> None:
        super().__init__()
        self.at, self.a, self.b = at, nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor, cache: list[Tensor]) -> Tensor:
        x = self.a(x).relu() + cache[0]
        cache[self.at] = self.b(x)
        return x.sin()


class Caching(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = Cached(1), Cached(2)

    def forward(self, x: Tensor) -> Tensor:
        cache = [x, x, x]
        x = self.first(x, cache)
        return self.second(x, cache).sum()  # type: ignore[no-any-return]


def test_a_cache_that_goes_along_is_not_named() -> None:
    assert "cache" not in "".join(words(Caching()).values())


class Rebuilding(nn.Module):
    """Compares what it makes with patches of its input, which two layers read in different shapes."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(12, 12), nn.Linear(12, 12)
        self.stem = nn.Conv2d(3, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        made = self.second(self.first(self.stem(x).flatten(2).mean(-1).repeat(1, 4)).relu())
        return (made - x.reshape(x.shape[0], 16, 12).mean(1)).square()  # type: ignore[no-any-return]


def test_the_word_at_a_line_is_of_the_edge_that_it_is_drawn_for() -> None:
    with torch.no_grad():
        view = make_view(capture(Rebuilding(), (torch.randn(2, 3, 8, 8),), {}), DrawingOptions(depth=1))
    said = edge_shapes(view, ("shapes",))
    layout = PaperLayout(view)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None, layout.reason
    for line in placed.lines:
        tail, head = map(int, line.ends)
        assert line.word in ("", said.get((tail, head), ""))
    assert proof.faults(view, placed) == ()


class Parted(nn.Module):
    """A layer that joins two tensors, and gives them back in the other order than it made them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, text: Tensor, image: Tensor) -> tuple[Tensor, Tensor]:
        near = self.first(text).relu()
        far = self.second(image).relu()
        return far, near


class Joined(nn.Module):
    """A layer whose join reads both."""

    def __init__(self) -> None:
        super().__init__()
        self.parted, self.last = Parted(), nn.Linear(8, 3)

    def forward(self, text: Tensor, image: Tensor) -> Tensor:
        far, near = self.parted(text, image)
        return self.last(torch.cat([near, far], dim=1))  # type: ignore[no-any-return]


def test_sizes_stand_in_the_order_of_the_names_on_their_line() -> None:
    with torch.no_grad():
        graph = capture(Joined(), (torch.zeros(2, 3, 8), torch.zeros(2, 5, 8)))
    view = make_view(graph, DrawingOptions(collapse=("parted",)))
    (edge,) = [edge for edge in view.edges if ", " in edge.part]
    assert edge.part == "far, near"
    assert edge_shapes(view)[edge.tail, edge.head] == "N×5×8, N×3×8"
    layout = PaperLayout(view)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None
    assert not proof.faults(view, placed)
    turned = [it._replace(word=it.word.replace("N×5×8, N×3×8", "N×3×8, N×5×8")) for it in placed.lines]
    assert turned != placed.lines
    (said,) = proof.faults(view, replace(placed, lines=turned))
    assert said.endswith("is not the shape of what it names, in that order")


def test_a_line_does_not_say_the_size_of_what_its_tensor_was_joined_to() -> None:
    class Padded(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.text = nn.Linear(8, 6)

        def forward(self, x: Tensor, mask: Tensor, other: Tensor) -> Tensor:
            unseen = torch.cat([mask, other], dim=-1) == 0
            return self.text(x).masked_fill(unseen[..., None], -1.0).sin()  # type: ignore[no-any-return]

    with torch.no_grad():
        graph = capture(Padded(), (torch.zeros(2, 7, 8), *(torch.ones(2, n, dtype=torch.int64) for n in (3, 4))))
    view = make_view(graph)
    lines = [edge for edge in view.edges if view.nodes[edge.tail].name in ("mask", "other")]
    assert len(lines) == 2
    said = edge_shapes(view)
    assert not any((edge.tail, edge.head) in said for edge in lines)
    layout = PaperLayout(view)
    placed = layout.place([laid_out(dot) for dot in layout.dots])
    assert placed is not None
    ends = f"{lines[0].tail}", f"{lines[0].head}"
    wrong = [it._replace(word="N×7×1") if it.ends == ends else it for it in placed.lines]
    (text,) = proof.faults(view, replace(placed, lines=wrong))
    assert text.endswith("is not the shape of what was not yet joined with others")
