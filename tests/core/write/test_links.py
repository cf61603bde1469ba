"""References to classes, and what becomes of them."""

from __future__ import annotations

import re

import pytest

from tests.core.drawing.engines import SVG, fixed, link, parsed, picture, words
from tests.core.graph.building import residual_block, transformer
from torchrecorder.write.links import Reference, References, classes, is_safe

CONV = "torch.nn.modules.conv.Conv2d"


def test_layers_and_boxes_refer_to_their_classes() -> None:
    assert tuple(dict.fromkeys(classes(picture(residual_block(), depth="all").layout))) == (
        "pkg.BasicBlock",
        CONV,
        "torch.nn.modules.batchnorm.BatchNorm2d",
        "torch.nn.modules.activation.ReLU",
        "torch.nn.modules.container.Sequential",
    )


def test_a_class_with_an_address_becomes_a_link() -> None:
    svg = link(picture(residual_block()), {CONV: 'api.html?a="1"&b=2#conv'})
    links = [*parsed(svg).iter(f"{SVG}a")]
    assert [anchor.get("{http://www.w3.org/1999/xlink}href") for anchor in links] == ['api.html?a="1"&b=2#conv'] * 3
    assert parsed(svg).get("role") == "group"
    assert "torchrecorder:" not in svg


def test_without_addresses_it_is_an_image() -> None:
    made = picture(residual_block())
    svg = link(made, {"other.Class": "x", CONV: "javascript:alert(1)"})
    assert not [*parsed(svg).iter(f"{SVG}a")]
    assert parsed(svg).get("role") == "img"
    assert words(svg) == words(made.svg)


def test_a_picture_that_stands_alone_has_no_references() -> None:
    assert "<a" not in fixed(picture(residual_block()))


@pytest.mark.parametrize(
    "url",
    [
        "a.html",
        "../a.html#b",
        "#b",
        "http://x",
        "https://x/y?z",
        "mailto:a@b",
        "//host/a",
        "/a:b",
        "HTTPS://x",
        "./a:b",
    ],
)
def test_safe(url: str) -> None:
    assert is_safe(url)


@pytest.mark.parametrize(
    "url",
    [
        "",
        " ",
        "javascript:x",
        "JavaScript:x",
        "java\nscript:x",
        "\x01javascript:x",
        " javascript:x",
        "java\u200bscript:x",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc",
        "torchrecorder:a",
    ],
)
def test_not_safe(url: str) -> None:
    assert not is_safe(url)


@pytest.mark.parametrize("cls", ["", "Net", "a b.C", '"x".y', "a..b", "pkg.<locals>.Net", "1.2", "javascript:x.y"])
def test_what_is_no_dotted_name_is_no_reference(cls: str) -> None:
    assert Reference.of(cls) is None


def test_a_closed_layer_is_a_door_or_a_link_to_its_class() -> None:
    made = picture(transformer(2), depth=1)
    (call,) = {int(number) for number in re.findall(r'"torchrecorder:pkg.Block#(\d+)"', made.svg)}
    door = link(made, {"pkg.Block": "block.html"}, {call: "block"}, "p:")
    assert '<a class="door" xlink:href="#p:block/" id="p:block"' in door
    assert "block.html" not in door
    assert '<path fill="none" stroke="currentColor" d="M' in door
    assert 'xlink:href="block.html"' in link(made, {"pkg.Block": "block.html"})
    assert "torchrecorder:" not in link(made, {})


@pytest.mark.parametrize(
    ("reference", "left"), [("pkg.f.<locals>.Net#12", "#12"), ("Net#3", "#3"), ("pkg.Net#3", "pkg.Net#3")]
)
def test_a_call_is_referred_to_whatever_its_class_is_called(reference: str, left: str) -> None:
    known = Reference.of(reference)
    assert known is not None
    assert References().tag(known) == f'<a href="torchrecorder:{left}">'


def test_titles_are_read_before_what_is_in_their_boxes() -> None:
    words = re.findall(r"<(?:tspan|text)[^>]*>([^<]+)</", picture(transformer(2), depth="all").svg)
    order = [words.index(word) for word in ("Encoder", "embed", "blocks", "attn", "proj", "mlp", "head")]
    assert order == sorted(order)
