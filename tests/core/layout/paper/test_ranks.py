"""Which things stand in one row, and in what order."""

from __future__ import annotations

from tests.core.drawing.looking import crossings
from tests.core.graph.building import Net
from tests.core.layout.paper.test_paper import middle, named, paper, titled
from torchrecorder.graph import Graph


def shared() -> Graph:
    """Two boxes that read the same inputs, and each one of its own."""
    net = Net("Hetero")
    a, first, b, second = (net.input(name, 1, 8) for name in ("a", "first", "b", "second"))
    with net.call("one", "Conv", params=10):
        x = net.op("add", net.op("relu", net.op("add", a, first)), net.layer("one.fc", "Linear", b))
    with net.call("two", "Conv", params=10):
        y = net.op("mul", net.layer("two.src", "Linear", b), net.layer("two.dst", "Linear", a))
        y = net.op("relu", net.op("add", y, second))
    return net.graph(x, y)


def test_inputs_stand_in_the_order_of_the_boxes_that_read_them() -> None:
    picture = paper(shared(), depth="all")
    first, second = (middle(titled(picture, name)) for name in ("one", "two"))
    own = [middle(named(picture, name)) for name in ("first", "second")]
    assert (own[0] < own[1]) == (first < second)
    assert len(crossings(picture)) <= 3


def test_outputs_stand_in_the_order_of_the_forward() -> None:
    net = Net("Pyramid")
    x, outputs = net.input("x", 1, 8), []
    for name in ("Linear", "Bilinear", "Conv1d", "Conv2d", "Conv3d"):  # equal ones would be drawn once
        x = net.layer(name.lower(), name, x)
        outputs.append(x)
    picture = paper(net.graph(*outputs))
    xs = [middle(named(picture, f"output {i}")) for i in range(5)]
    assert xs == sorted(xs)
    assert crossings(picture) == []


def detector(hub: str) -> Graph:
    """Heads one after another that all read the detections, of which some are outputs as they are."""
    net = Net("Detector")
    x = found = net.layer(hub, "Linear", net.input("x", 1, 8))
    for i in range(4):
        x = net.layer(f"head{i}", "Linear", net.op("cat", x, found))
    return net.graph(x, found, net.op("neg", found))


def test_what_only_a_hub_feeds_stands_below_it() -> None:
    picture = paper(detector("postprocess_detections"), depth="all")
    at = next(box for words, box in picture.labels if words == "postprocess_detections")
    assert all(named(picture, name)[1] > at[3] for name in ("output 0", "output 1", "output 2", "neg"))
    assert named(picture, "output 1")[1] == named(picture, "output 0")[1]


def test_a_line_leads_to_what_only_a_hub_feeds() -> None:
    picture = paper(detector("postprocess_detections"), depth="all")
    n_tags = [words for words, _ in picture.labels].count("postprocess_detections") - 1
    assert n_tags == 3  # at what something else feeds, too
    assert sum(ends[0] == "1" for ends in picture.ends) - n_tags == 3  # `cat`, `neg` and the output


def test_a_hub_that_another_layer_has_the_name_of_has_a_number() -> None:
    net = Net("Autoencoder")
    x = net.input("x", 1, 8)
    with net.call("encoder", "Encoder", params=10):
        z = net.layer("encoder.conv_out", "Linear", net.layer("encoder.conv_in", "Linear", x))
    with net.call("decoder", "Decoder", params=10):
        x = net.layer("decoder.first", "Linear", z)
        for i in range(4):
            x = net.layer(f"decoder.up{i}", "Linear", net.op("norm", x, z))
        x = net.layer("decoder.conv_out", "Linear", x)
    words = [words for words, _ in paper(net.graph(x), depth="all").labels]
    assert words.count("conv_out #1") == 5
    assert words.count("conv_out") == 1


def test_a_tag_is_the_whole_name_of_its_hub() -> None:
    picture = paper(detector("postprocess_detections"), depth="all")
    assert [words for words, _ in picture.labels].count("postprocess_detections") == 1 + 3


def test_tags_of_several_hubs_of_one_name_have_numbers() -> None:
    net = Net("Denoiser")
    x, y = net.input("x", 1, 8), net.input("y", 1, 8)
    hubs = [net.op("scale", x), net.op("scale", y)]
    for i in range(4):
        x = net.layer(f"block{i}", "Linear", net.op("cat", x, *hubs))
    said = [words for words, _ in paper(net.graph(x), depth="all").labels]
    assert said.count("scale #1") == said.count("scale #2") == 5
