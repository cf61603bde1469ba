"""References to classes, and what becomes of them."""

from __future__ import annotations

import pytest

from tests.core.graph.building import residual_block
from tests.core.renderer.engines import SVG, parsed, picture, words
from torchrecorder.renderer.svg import classes, fixed, link
from torchrecorder.renderer.svg.links import is_safe, opened

CONV = "torch.nn.modules.conv.Conv2d"


def test_layers_and_boxes_refer_to_their_classes() -> None:
    assert classes(picture(residual_block()).svg) == (
        "pkg.BasicBlock",
        CONV,
        "torch.nn.modules.batchnorm.BatchNorm2d",
        "torch.nn.modules.activation.ReLU",
        "torch.nn.modules.container.Sequential",
    )


def test_a_class_with_an_address_becomes_a_link() -> None:
    svg = link(picture(residual_block()).svg, {CONV: 'api.html?a="1"&b=2#conv'})
    links = [*parsed(svg).iter(f"{SVG}a")]
    assert [anchor.get("{http://www.w3.org/1999/xlink}href") for anchor in links] == ['api.html?a="1"&b=2#conv'] * 3
    assert parsed(svg).get("role") == "group"
    assert "torchrecorder:" not in svg


def test_without_addresses_it_is_an_image() -> None:
    made = picture(residual_block()).svg
    svg = link(made, {"other.Class": "x", CONV: "javascript:alert(1)"})
    assert not [*parsed(svg).iter(f"{SVG}a")]
    assert parsed(svg).get("role") == "img"
    assert words(svg) == words(made)
    assert link(svg, {CONV: "x"}) == svg


def test_a_picture_that_stands_alone_has_no_references() -> None:
    assert "<a" not in fixed(picture(residual_block()).svg)


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
    assert opened("<g/>", cls) == "<g/>"
