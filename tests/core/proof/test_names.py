"""A word in a picture that the source does not have there is a fault, whatever drew it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.core.graph.building import Net
from tests.core.labels.test_operands import LENGTHS, TOKENS, Pair, length_mask
from tests.core.proof.test_layout import layered, paper
from tests.core.proof.test_words import written
from tests.core.recording.nets import record
from tests.core.view.templates.test_choice import stages
from torchrecorder.labels.labels import Labels
from torchrecorder.proof import faults as unproved
from torchrecorder.proof.layout import faults
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view
from torchrecorder.view.entries import with_functions


class Named(nn.Module):
    """Ops that read what has a name: a buffer, the second output of a layer, a function, a variable."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.gate, self.last, self.pair = nn.Linear(8, 8), nn.Linear(8, 8), nn.Linear(8, 8), Pair()
        self.in_weight = nn.Parameter(torch.ones(8, 8))
        self.rates = nn.Buffer(torch.ones(8))

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        y = self.first(x).cumsum(1)
        kept = self.pair(lengths)[1]
        y = y.masked_fill(kept, 0.0).cumsum(1)
        y = y.masked_fill(length_mask(lengths, 6), 0.0).cumsum(1)
        y = nn.functional.linear(y, self.in_weight).cumsum(1) - self.rates
        return self.last(y / (1 + (self.gate(y) * 2).exp()))


@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize(
    ("pattern", "other", "unknown"),
    [
        (r"pair\[1\]", "pair", "pair"),
        (r"pair\[1\]", "pair[0]", "pair"),
        (r"pair\[1\]", "gt", "gt"),
        ("masked_fill$", "masked_fill length_mask", "length_mask"),
        ("− rates", "− constant", "constant"),
        ("− rates", "− cumsum", "cumsum"),
        ("exp", "expm1", "expm1"),
        (r"\bgate\b", "linear", "linear"),
        ("in_weight", "out_weight", "out_weight"),
        ("in_weight", "first.in_weight", "first.in_weight"),
        ("^first", "second", "second"),
        ("Linear 8→8", "Conv1d 8→8", "Conv1d"),
    ],
)
def test_a_word_without_an_origin_is_a_fault(kind: Any, pattern: str, other: str, unknown: str) -> None:
    view = make_view(record(Named(), TOKENS, LENGTHS), DrawingOptions())
    layout = kind(view)
    assert faults(view, layout) == ()
    said = written(layout, pattern, other)
    assert said != layout
    assert any(re.search(rf"names {re.escape(unknown)}, which nothing has", fault) for fault in faults(view, said))


class Padded(nn.Module):
    """Words of which those that only fill up are not looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.words, self.query, self.key = nn.Embedding(9, 8), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        there = (ids > 0)[:, None, :]
        return nn.functional.scaled_dot_product_attention(self.query(x), self.key(x), x, there)


@pytest.mark.parametrize("kind", [paper, layered])
def test_an_attention_says_its_mask(kind: Any) -> None:
    """It read as if words looked at those that only fill up."""
    layout = kind(view := make_view(record(Padded(), torch.ones(2, 6, dtype=torch.long)), DrawingOptions()))
    assert "scaled dot-product · masked" in {Labels(view).node(node).line for node in view.nodes}
    assert faults(view, layout) == ()
    assert any("does not say its mask" in fault for fault in faults(view, written(layout, " · masked", "")))
    bare = make_view(record(Seen(), TOKENS), DrawingOptions())
    said = written(kind(bare), "dot-product", "dot-product · masked")
    assert any("has no mask" in fault for fault in faults(bare, said))


class Encoded(nn.Module):
    """Torch's encoder, of which the last layer sees what fills up as well."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(9, 8)
        self.first, self.last = nn.MultiheadAttention(8, 2), nn.MultiheadAttention(8, 2)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids)
        x = self.first(x, x, x, key_padding_mask=(ids == 0).mT)[0]
        return self.last(x, x, x)[0]  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", [paper, layered])
def test_an_attention_of_torch_says_its_mask(kind: Any) -> None:
    layout = kind(view := make_view(record(Encoded(), torch.ones(6, 2, dtype=torch.long)), DrawingOptions()))
    lines = [Labels(view).node(node).line for node in view.nodes]
    assert [line for line in lines if "heads" in line] == [
        "MultiheadAttention 2 heads · masked",
        "MultiheadAttention 2 heads",
    ]
    assert faults(view, layout) == ()
    assert any("does not say its mask" in fault for fault in faults(view, written(layout, " · masked", "")))
    assert any("has no mask" in fault for fault in faults(view, written(layout, "heads$", "heads · masked")))


class Seen(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return nn.functional.scaled_dot_product_attention(x + 1, x - 1, x)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mean, self.scale = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x: Tensor) -> Any:
        x = x.relu()
        scale = self.scale(x).exp()
        return self.mean(x), scale


class Sampler(nn.Module):
    """Gives what layers give under names of its own, or of theirs."""

    def __init__(self, *, is_whole: bool) -> None:
        super().__init__()
        self.encoder, self.last, self.is_whole = Encoder(), nn.Linear(4, 8), is_whole

    def forward(self, x: Tensor) -> Any:
        if self.is_whole:
            return self.encoder(x)
        mu, spread = self.encoder(x)
        z = self.last(mu.cumsum(1)) * spread.sum()
        return z, (mu, spread), z + 1


SAMPLED = {True: ["mean", "scale"], False: ["z", "mu", "spread", "output 2"]}


@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize("is_whole", SAMPLED)
def test_outputs_are_called_as_the_forward_does(kind: Any, is_whole: bool) -> None:
    view = make_view(record(Sampler(is_whole=is_whole), TOKENS), DrawingOptions(depth=1))
    assert [Labels(view).node(node).name for node in view.nodes if node.kind == "output"] == SAMPLED[is_whole]
    layout = kind(view)
    assert faults(view, layout) == ()
    first, second = SAMPLED[is_whole][:2]
    (wrong, *_) = faults(view, written(layout, f"^{first}", second))
    assert f"“{second}” at" in wrong
    assert "is not what is returned there" in wrong


class Levels(nn.Module):
    """One layer that gives a list, and what is made of its last entry."""

    def __init__(self) -> None:
        super().__init__()
        self.split, self.last = Split(), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        maps = self.split(x)
        return self.last(maps[-1]), maps


class Split(nn.Module):
    def forward(self, x: Tensor) -> list[Tensor]:
        return [x.sin(), x.cos(), x.exp()]


@pytest.mark.parametrize("kind", [paper, layered])
@pytest.mark.parametrize("name", ["maps.0–1", "maps.1–3", "maps.0–12", "other.*"])
def test_entries_of_a_list_are_all_that_a_name_stands_for(kind: Any, name: str) -> None:
    view = make_view(record(Levels(), torch.ones(2, 8)), DrawingOptions(collapse=("split",)))
    assert Labels(view).node(view.nodes[-1]).name == "maps.0–2"
    layout = kind(view)
    assert faults(view, layout) == ()
    assert any(f"“{name}” at" in fault for fault in faults(view, written(layout, "^maps.0–2", name)))
    assert faults(view, written(layout, "^maps.0–2", "maps.*")) == ()


class Heads(nn.Module):
    """A list of so many results that they are one end."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(nn.Linear(8, i + 1) for i in range(12))

    def forward(self, x: Tensor) -> Any:
        outs = [head(x) for head in self.heads]
        outs.reverse()
        return outs


@pytest.mark.parametrize("kind", [paper, layered])
def test_a_whole_result_has_the_name_of_its_variable(kind: Any) -> None:
    view = make_view(record(Heads(), torch.ones(2, 8)), DrawingOptions(depth=1, fold=False))
    assert [Labels(view).node(node).name for node in view.nodes if node.kind == "output"] == ["outs"]
    layout = kind(view)
    assert faults(view, layout) == ()
    assert any("is not what is returned there" in fault for fault in faults(view, written(layout, "^outs", "other")))
    assert faults(view, written(layout, "^outs", "outs #2")) == ()  # beside another node with that name
    assert any("is not what is returned there" in fault for fault in faults(view, written(layout, "^outs", "out #2")))


class Masked(nn.Module):
    """A function of the user's that compares with numbers which it makes."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        return self.first(x), masked(lengths)


def masked(length: Tensor) -> Tensor:
    n = int(length.max().item())
    mask = torch.arange(n, dtype=length.dtype).expand(len(length), n) < length.unsqueeze(1)
    return torch.as_tensor(mask, dtype=length.dtype)


@pytest.mark.parametrize("kind", [paper, layered])
def test_what_is_made_of_nothing_stands_without_its_sizes(kind: Any) -> None:
    view = make_view(record(Masked(), torch.ones(2, 5, 8), torch.tensor([2.0, 5.0])))
    layout = kind(view)
    assert any("arange < " in word.text for node in layout.nodes for word in node.words)
    assert faults(view, layout) == ()
    assert any("names eye" in fault for fault in faults(view, written(layout, "arange < ", "eye < ")))


class Anchors(nn.Module):
    """Two constants in a list, which the forward has a name for."""

    def forward(self, x: Tensor) -> list[Tensor]:
        anchors = [torch.arange(8.0)]
        anchors.append(anchors[0] + 1)
        return anchors


class Detector(nn.Module):
    """A function of a layer and of the constants of another."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.anchors_of = nn.Linear(8, 8), Anchors()

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        return decoded(x, self.anchors_of(x))


def decoded(x: Tensor, places: list[Tensor]) -> Tensor:
    return (x * places[0]).relu() + places[1]


def test_a_part_of_what_a_layer_gives_has_the_name_in_its_forward() -> None:
    view = make_view(record(Detector(), torch.ones(2, 8)))
    layout = paper(view)
    assert any("anchors.0" in word.text for node in layout.nodes for word in node.words)
    assert faults(view, layout) == ()
    assert any("names anchor" in fault for fault in faults(view, written(layout, "anchors.0", "anchor.0")))


class Sessions(nn.Module):
    """Steps whose first state is zeros of the type of a buffer."""

    popularity: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(8, 8)
        self.register_buffer("popularity", torch.ones(5))

    def forward(self, x: Tensor, begins: Tensor) -> Any:
        hidden = self.popularity.new_zeros(x.shape[1], 8)
        for step, new in zip(x, begins, strict=True):
            hidden = self.cell(step, hidden * new)
        return hidden


def test_zeros_do_not_have_the_name_of_what_gives_their_type() -> None:
    view = make_view(record(Sessions(), torch.ones(4, 2, 8), torch.ones(4, 2, 1)))
    layout = paper(view)
    assert any(word.text == "×" for node in layout.nodes for word in node.words)
    assert faults(view, layout) == ()
    assert any("names popularity" in fault for fault in faults(view, written(layout, "^×", "× popularity")))


class Folded(nn.Module):
    """Six operations that are drawn as one, with a variable in them."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        weights = self.first(x).exp().log().unsqueeze(-1)
        return self.last(weights.squeeze(-1).sin().cos().square().exp2())


def test_a_variable_within_a_node_is_not_for_its_readers() -> None:
    view = make_view(record(Folded(), TOKENS), DrawingOptions())
    layout = paper(view)
    assert faults(view, layout) == ()
    wrong = written(layout, r"exp\(\w+\)", "weights")
    assert wrong != layout
    assert any("names weights, which nothing has there" in fault for fault in faults(view, wrong))


def test_a_line_from_a_layer_has_the_name_that_it_gives_the_tensor() -> None:
    view = make_view(record(Sampler(is_whole=False), TOKENS), DrawingOptions(depth=1))
    assert [edge.part for edge in view.edges if edge.part] == ["mean", "scale"]
    assert faults(view, paper(view)) == ()


class Losses(nn.Module):
    """A closed layer's outputs go to one op, to one layer, and apart."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(), nn.Bilinear(4, 4, 8)

    def forward(self, x: Tensor) -> Any:
        mean, scale = self.encoder(x)
        return self.decoder(mean, scale), nn.functional.mse_loss(mean, scale), scale.cumsum(1)


@pytest.mark.parametrize("kind", [paper, layered])
def test_a_line_that_brings_several_outputs_says_which(kind: Any) -> None:
    view = make_view(record(Losses(), TOKENS), DrawingOptions(depth=1))
    assert [edge.part for edge in view.edges if edge.part] == ["mean, scale", "mean, scale", "scale"]
    layout = kind(view)
    assert faults(view, layout) == ()
    wrong = replace(view, edges=tuple(replace(edge, part=edge.part and "scale") for edge in view.edges))
    assert any("does not carry scale" in fault.words for fault in unproved(wrong))


class Pyramid(nn.Module):
    """A layer that gives a list of tensors and one more."""

    def forward(self, x: Tensor) -> Any:
        features = [x.cumsum(1), x.exp(), x.sigmoid()]
        return features, x.tanh()


class Merging(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.levels, self.head = Pyramid(), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Any:
        features, last = self.levels(x)
        return self.head(torch.stack([*features, last]).sum(0))


def test_a_line_that_brings_entries_of_a_list_says_which() -> None:
    """It said `4 outputs`."""
    view = make_view(record(Merging(), TOKENS), DrawingOptions(depth=1))
    (said,) = (edge.part for edge in view.edges if edge.part)
    assert said == "features.0–2, last"
    assert faults(view, paper(view)) == ()
    wrong = replace(view, edges=tuple(replace(edge, part=edge.part.replace("–2", "–1")) for edge in view.edges))
    assert unproved(wrong)


class Distances(nn.Module):
    """A layer that puts what it makes beside what it got, as potentials of atoms do."""

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        return {**inputs, "distances": (inputs["x"].cumsum(1) - 1).exp()}


class Atoms(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pairs, self.first, self.last = Distances(), nn.Linear(8, 8), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        inputs = self.pairs({"x": x})
        found: Tensor = self.first(inputs["distances"]) * self.last(inputs["x"])
        return found


def test_what_a_layer_hands_on_is_no_output_beside_that_it_makes() -> None:
    view = make_view(record(Atoms(), TOKENS), DrawingOptions(depth=1))
    assert any(node.kind == "call" and not node.parts for node in view.nodes)
    assert unproved(view) == ()


class Found(nn.Module):
    def __init__(self, *, is_named: bool) -> None:
        super().__init__()
        self.is_named = is_named

    def forward(self, x: Tensor) -> Any:
        found: Any = [x.exp(), x.sin()]
        if self.is_named:
            found = {"low": found[0], "high": found[1]}
        return found


@pytest.mark.parametrize(("is_named", "names"), [(True, ["low", "high"]), (False, ["found.0", "found.1"])])
def test_a_list_that_is_returned_gives_its_items_a_name(is_named: bool, names: list[str]) -> None:
    view = make_view(record(Found(is_named=is_named), TOKENS), DrawingOptions())
    assert [node.name for node in view.nodes if node.kind == "output"] == names
    assert faults(view, paper(view)) == ()


class Stages(nn.Module):
    """Returns the input and what its stages give, so that the places in the list are not those of the stages."""

    def __init__(self) -> None:
        super().__init__()
        self.found = nn.ModuleList([nn.Linear(8, 8), nn.Linear(8, 8)])

    def forward(self, x: Tensor) -> Any:
        found: Any = [x]
        for stage in self.found:
            found.append(stage(found[-1]))
        return found


def test_a_place_in_a_list_is_not_called_as_a_layer() -> None:
    """Output 1 of the list was called `found.1`, which is the layer that gives output 2."""
    view = make_view(record(Stages(), TOKENS), DrawingOptions())
    assert [node.name for node in view.nodes if node.kind == "output"] == ["0", "1", "found.2"]
    layout = paper(view)
    assert faults(view, layout) == ()
    nodes = tuple(replace(node, name="found.1") if node.name == "1" else node for node in view.nodes)
    wrong = faults(replace(view, nodes=nodes), written(layout, "output 1", "found.1"))
    assert any("is the path of a layer that does not give it" in words for words in wrong)


def test_what_a_patch_gives_is_not_what_the_model_returns() -> None:
    graph = record(Sampler(is_whole=False), TOKENS)
    ops = [op.id for op in graph.ops if op.name in ("relu", "exp", "linear")][:3]
    view = make_view(with_functions(graph, {"patch": ops}), DrawingOptions(focus="patch"))
    assert {"z", "mu", "spread"}.isdisjoint(node.name for node in view.nodes)
    assert sum(node.kind == "output" for node in view.nodes) > 1


def test_two_outputs_of_one_name_have_their_places() -> None:
    class Twice(nn.Module):
        def forward(self, x: Tensor) -> Any:
            x = x.cumsum(1)
            return x, x, x.exp()

    view = make_view(record(Twice(), TOKENS), DrawingOptions())
    assert [node.name for node in view.nodes if node.kind == "output"] == ["0", "1", "2"]


def halved(x: Tensor) -> Tensor:
    return x.cumsum(1) / 2


def test_an_output_without_a_name_is_called_after_what_made_it() -> None:
    class Several(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.last = nn.Linear(8, 8), nn.Linear(8, 8)

        def forward(self, x: Tensor) -> Any:
            x = self.first(x)
            both = x.cumsum(0)
            return halved(both), nn.functional.cross_entropy(self.last(x)[0], both[0].softmax(-1)), both.exp() * x

    view = make_view(record(Several(), TOKENS), DrawingOptions())
    assert [node.name for node in view.nodes if node.kind == "output"] == ["halved", "cross_entropy", "2"]
    layout = paper(view)
    assert faults(view, layout) == ()
    (wrong,) = faults(view, written(layout, "cross_entropy$", "mse_loss"))[:1]
    assert "mse_loss" in wrong


def test_what_a_block_lacks_is_seen_in_the_inset() -> None:
    view = make_view(stages())
    layout = paper(view)
    assert faults(view, layout) == ()
    found = faults(view, written(layout, "with downsample", "with upsample"))
    assert all(
        any(words in fault for fault in found) for words in ("names upsample", "has lost “first with downsample”")
    )


def test_a_layer_of_another_container_is_named_where_it_is_drawn_in_a_node() -> None:
    """The final norm of a decoder was drawn in the node of its last block, and not named."""

    class Stage(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix, self.norm = nn.Sequential(nn.Sequential(nn.Linear(8, 8)), nn.Linear(8, 8)), nn.LayerNorm(8)

        def forward(self, x: Tensor) -> Any:
            return self.mix[1](self.norm(self.mix[0](x)).cumsum(1))

    view = make_view(record(Stage(), TOKENS), DrawingOptions())
    assert "mix.0, norm" in [Labels(view).node(node).name for node in view.nodes]
    layout = paper(view)
    assert faults(view, layout) == ()
    (wrong,) = faults(view, written(layout, ", norm", ""))
    assert "does not name norm" in wrong


@pytest.mark.parametrize("kind", [paper, layered])
def test_an_output_of_which_the_batch_is_not_known_has_its_recorded_size(kind: Any) -> None:
    net = Net("Chosen")
    x = net.input("x", 2, 5)
    chosen = net.op("masked_select", x, shape=(10,))  # the batch ends here
    layout = kind(view := make_view(replace(net.graph(chosen), batch={x: (0,)}), DrawingOptions()))
    assert [Labels(view).node(node).line for node in view.nodes if node.kind in ("input", "output")] == [
        "N×5",
        "10 at N = 2",
    ]
    assert faults(view, layout) == ()
    for false in ("12 at N = 2", "10 at N = 5"):
        assert f"“{false}” is not the size of" in " ".join(faults(view, written(layout, "10 at N = 2", false)))
