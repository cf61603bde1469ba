"""Pictures that are too high: cut into columns, which skips pass and for which words are broken."""

from __future__ import annotations

from tests.core.drawing.looking import Seen, behind_titles, crossings, faults
from tests.core.graph.building import Net, chain
from tests.core.layout.paper.test_paper import middle, paper, titled
from torchrecorder.graph import Graph


def test_a_long_chain_is_cut_into_columns() -> None:
    long = chain(40)
    wide, narrow = paper(long), paper(long, width=100.0)
    assert len({round(middle(node)) for node in wide.nodes}) > 1
    assert len({round(middle(node)) for node in narrow.nodes}) == 1
    assert wide.size[1] < 0.7 * narrow.size[1]
    assert narrow.size[0] < 110
    assert faults(wide) == faults(narrow) == []


def test_skips_of_further_columns_pass_where_no_data_comes_from() -> None:
    net = Net("Residual")
    x = net.input("x", 1, 8)
    with net.call("blocks", "Blocks", params=10):
        for i in range(14):
            x = net.op("add", net.layer(f"blocks.fc{i}", "Linear", x, (1, 9 + i)), x)
    picture = paper(net.graph(x), depth="all")
    assert len({round(middle(node)) for node in picture.nodes}) > 1  # columns
    assert crossings(picture) == []


def long_names(width: float) -> Seen:
    net = Net("Tower")
    x = net.input("x", 1, 8)
    for i in range(24):
        x = net.layer(f"a_rather_long_name{i}", f"Kind{i}", x, (1, 8 + i))
    return paper(net.graph(x), width=width)


def test_a_high_picture_breaks_words_for_columns() -> None:
    tower, columns = long_names(width=250.0), long_names(width=380.0)
    assert len({round(middle(node)) for node in tower.nodes}) == 1
    assert len({round(middle(node)) for node in columns.nodes}) > 1
    assert tower.nodes[1][3] - tower.nodes[1][1] < columns.nodes[1][3] - columns.nodes[1][1]  # two lines
    assert columns.size[1] < tower.size[1]


def detector(n: int = 9) -> Graph:
    """A backbone whose stages a neck reads, and heads on what that gives, which are longer."""
    net = Net("Detector")
    x = net.input("images", 1, 8)
    taps = []
    with net.call("backbone", "Backbone", params=10):
        for i in range(n):
            x = net.layer(f"backbone.layer{i}", f"Stage{i}", x, (1, 9 + i), params=5)
            taps.append(x)
    x = p = net.layer("neck", "Pyramid", net.op("cat", *taps[-3:]))
    with net.call("heads", "Heads", params=10):
        for i in range(n + 6):
            x = net.layer(f"heads.layer{i}", f"Head{i}", x, (1, 40 + i), params=5)
        x = net.op("mul", x, p)
    return net.graph(net.layer("last", "Last", x))


def test_a_chain_is_cut_between_backbone_and_heads() -> None:
    picture = paper(detector(), depth="all")
    backbone, heads = titled(picture, "backbone"), titled(picture, "heads")
    assert backbone[2] < heads[0]
    assert crossings(picture) == []
    assert faults(picture) == behind_titles(picture) == []
    assert picture.size[1] < 0.8 * paper(detector(), depth="all", width=150.0).size[1]


def test_what_leads_back_past_a_column_parts_from_what_comes_to_it() -> None:
    net = Net("Taps")
    x = net.input("x", 1, 8)
    taps = []
    for i in range(30):
        x = net.layer(f"block{i}", f"Block{i}", x, (1, 9 + i))
        taps.append(x)
    picture = paper(net.graph(x, **{f"tap{i}": taps[i] for i in (14, 18, 20, 22)}), depth="all")
    assert len({round(middle(node)) for node in picture.nodes}) > 2
    assert crossings(picture) == []
    assert faults(picture) == []


def test_features_leave_from_their_own_columns_in_the_order_of_the_result() -> None:
    net = Net("Encoder")
    x = net.input("x", 1, 8)
    features = []
    with net.call("stages", "Stages", params=10):
        for i in range(16):
            x = net.layer(f"stages.layer{i}", f"Stage{i}", x, (1, 9 + i), params=5)
            features += [x] if i % 3 == 0 else []
    picture = paper(net.graph(*features), depth="all")
    assert not crossings(picture)
    assert not faults(picture)
    low = max(box[3] for box in picture.boxes)
    given = sorted((line[-1][0], line[0]) for line in picture.lines if line[-1][1] > low)
    begins = [start for _, start in given]
    assert len(begins) == len(features)
    assert len({round(x) for x, _ in begins}) == 2  # of two columns both give something
    assert begins == sorted(begins)
