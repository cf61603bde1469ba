"""Towers: one thing below the other, in a phone's column and where nothing else can be read."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from tests.core.drawing.looking import Seen, behind_nodes, behind_titles, crossings, faults
from tests.core.graph.building import Net, chain, mlp
from tests.core.layout.paper.test_paper import COLUMN, middle, named, paper, reason
from torchrecorder.graph import Graph
from torchrecorder.layout import tuning

PHONE = 258.75
"""Points of 345 CSS pixels."""
TABLET = 320.0
"""Points of a column that is narrow and no phone's."""


def attention() -> Graph:
    """Query, key and value side by side in three boxes with long names."""
    net = Net("VisionTransformerForClassification")
    x = net.input("pixels", 1, 8)
    with net.call("encoder", "VisionTransformerEncoder", params=10), net.call("encoder.layer", "EncoderLayer"):
        shortcut = x
        with net.call("encoder.layer.attention", "SelfAttention", params=10):
            parts = [net.layer(f"encoder.layer.attention.{name}_projection", "Linear", x) for name in "qkv"]
            x = net.op("attention", *parts)
        x = net.op("add", x, shortcut)
    return net.graph(x)


def branches() -> Graph:
    """Three branches of two layers each."""
    net = Net("Inception")
    x = net.input("x", 1, 8)
    ends = []
    for name in "abc":
        first = net.layer(f"branch_{name}.convolution", "Linear", x, (1, 9))
        ends.append(net.layer(f"branch_{name}.projection", "Linear", first, (1, 10)))
    return net.graph(net.op("cat", *ends))


def heads(n: int) -> Graph:
    """A layer with several outputs, each with a name."""
    net = Net("Heads")
    x = net.layer("body", "Linear", net.input("x", 1, 8))
    return net.graph(**{f"output_{i}": net.layer(f"head{i}", "Linear", x, (1, i + 1)) for i in range(n)})


def is_one_column(picture: Seen) -> bool:
    return all(a[3] <= b[1] for a, b in pairwise(sorted(picture.nodes, key=lambda node: node[1])))


@pytest.mark.parametrize("graph", [attention(), branches(), heads(7)])
def test_a_phone_has_one_column(graph: Graph) -> None:
    phone, page = paper(graph, width=PHONE), paper(graph, width=COLUMN)
    assert phone.size[0] <= PHONE < page.size[0]
    assert is_one_column(phone)
    assert not is_one_column(page)
    assert faults(phone) == behind_titles(phone) == behind_nodes(phone) == []
    assert len(phone.nodes) == len(page.nodes)
    assert len(phone.lines) == len(page.lines)


@pytest.mark.parametrize("graph", [chain(5), mlp(), heads(2)])
def test_what_fits_is_drawn_as_on_a_page(graph: Graph) -> None:
    assert paper(graph, width=PHONE) == paper(graph, width=COLUMN)


def test_no_other_column_has_towers() -> None:
    tablet = paper(attention(), width=TABLET)
    assert tablet.size[0] > TABLET
    assert not is_one_column(tablet)


def test_branches_stand_one_after_another() -> None:
    picture = paper(branches(), width=PHONE)
    names = [f"branch_{name}.{layer}" for name in "abc" for layer in ("convolution", "projection")]
    tops = [named(picture, name)[1] for name in names]
    assert tops == sorted(tops)
    assert len(crossings(picture)) <= 1


def test_a_tower_stands_straight() -> None:
    picture = paper(branches(), width=PHONE)
    assert len({round(middle(node)) for node in picture.nodes}) == 1


def test_a_long_title_goes_on_below() -> None:
    phone, page = paper(attention(), width=PHONE), paper(attention(), width=COLUMN)
    name = [words for words, _ in phone.titles if words.startswith(("VisionTransformer", "ForClass", "Classification"))]
    assert len(name) > 1
    said = {"".join("".join(words for words, _ in picture.titles).split()) for picture in (phone, page)}
    letters = {"".join(sorted(text.replace("·", ""))) for text in said}
    assert len(letters) == 1  # the same words, in other lines


def test_facts_go_on_below() -> None:
    net = Net("Net")
    x = net.input("x", 1, 8)
    name = "features.0.block.convolution · features.0.block.normalisation · features.0.block.activation"
    page, phone = (paper(net.graph(net.op(name, x)), width=width) for width in (COLUMN, PHONE))
    assert phone.size[0] <= PHONE < page.size[0]
    (whole,), lines = ([words for words, _ in seen.labels if "features" in words] for seen in (page, phone))
    assert len(lines) > 1
    assert " · ".join(lines) == whole


def tangle(seed: int) -> Graph:
    """Layers that read two of those before them, so that lines cross in rows."""
    random, net = Random(seed), Net("Tangle")
    values = [net.input(f"x{i}", 1, 8) for i in range(3)]
    for i in range(10):
        values.append(net.layer(f"layer{i}", "Linear", net.op("cat", *random.sample(values, 2)), (1, i + 2)))
    return net.graph(*values[-3:])


def test_what_is_tangled_is_drawn_in_layers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuning, "NAMES_TRIED", 0)
    assert "crossings" in reason(tangle(5))
