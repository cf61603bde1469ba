"""What a reader learns of a node: by hovering, keyboard and touch; its neighbours, its address, and the search."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.browser.conftest import Open, settle
from tests.browser.test_inside import seen

pytestmark = pytest.mark.browser

FIGURE = "#fig-all"
"""Wide or tall; the layers of it that the site documents are links."""
PANEL = ".torchrecorder-panel"


def node(page: Any, key: str, figure: str = FIGURE) -> Any:
    found = page.locator(f'{figure} [data-n="{key}"]:visible').first
    found.evaluate("(it) => it.scrollIntoView({block: 'center', behavior: 'instant'})")
    return found


def facts(page: Any, figure: str = FIGURE) -> dict[str, str]:
    """What the panel shows; empty if it is hidden."""
    found: dict[str, str] = page.evaluate(
        """(at) => {
            const panel = document.querySelector(at + " .torchrecorder-panel");
            if (panel.hidden) return {};
            const words = (tag) => [...panel.querySelectorAll(tag)].map((it) => it.textContent);
            const values = words("dd");
            return {name: panel.querySelector("strong").textContent,
                ...Object.fromEntries(words("dt").map((fact, i) => [fact, values[i]]))};
        }""",
        figure,
    )
    return found


def marked(page: Any, figure: str = FIGURE) -> tuple[list[str], list[str]]:
    """The keys of the node that is marked, and of its neighbours."""
    here, near = (
        page.evaluate(
            "([at, name]) => [...document.querySelectorAll(at + ' .torchrecorder-' + name)].map((it) => it.dataset.n)",
            [figure, name],
        )
        for name in ("here", "near")
    )
    return here, near


@pytest.mark.parametrize("theme", ["furo", "material", "sphinx_rtd_theme"])
def test_hovering_shows_details_and_neighbours(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    convolution = node(page, "4")
    convolution.hover()
    assert facts(page) == {
        "name": "enter.3",
        "Class": "torch.nn.Conv2d",
        "Settings": "16, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)",
        "Parameters": "2.32 k",
        "FLOPs": "18.9 M",
        "Input": "N×16×64×64",
        "Output": "N×16×64×64",
        "Source": "demo_nets/unet.py:51",
    }
    assert marked(page) == (["4"], ["3", "5"])
    lit = page.evaluate(f"document.querySelector('{FIGURE} .torchrecorder-lit').getAttribute('d').match(/M/g).length")
    assert lit == 4, "two edges, each with its arrow"
    box, about = convolution.bounding_box(), page.locator(f"{FIGURE} {PANEL}").bounding_box()
    apart = about["x"] >= box["x"] + box["width"] or about["x"] + about["width"] <= box["x"] or about["y"] >= box["y"]
    assert apart, "the panel does not cover what it tells of"
    page.mouse.move(2, 2)
    page.wait_for_function(f"document.querySelector('{FIGURE} {PANEL}').hidden")
    assert marked(page) == ([], [])


def test_the_panel_can_be_pointed_at_and_left_with_escape(open_page: Open) -> None:
    page = open_page("furo")
    node(page, "4").hover()
    page.locator(f"{FIGURE} {PANEL} dt").first.hover()
    page.wait_for_timeout(400)
    assert facts(page)["name"] == "enter.3"
    page.locator(f"{FIGURE} {PANEL} button", has_text="Copy link").focus()
    page.keyboard.press("Escape")
    assert facts(page) == {}
    assert page.evaluate("document.activeElement.dataset.n") == "4"


def test_ops_and_inputs_have_details(open_page: Open) -> None:
    page = open_page("furo")
    node(page, "0").hover()
    assert facts(page) == {"name": "image", "Output": "N×3×64×64"}
    page.locator(f"{FIGURE} .nodes g", has_text=re.compile("^cat$")).first.hover()
    found = facts(page)
    assert (found["name"], found["Class"], found["In"]) == ("cat", "torch.cat", "up1")
    assert found["Source"].startswith("demo_nets/unet.py:")
    assert found["Input"].count(",") == 1


@pytest.mark.parametrize("theme", ["furo", "material"])
def test_a_click_keeps_the_details_until_the_next(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    node(page, "4").click()
    page.mouse.move(2, 2)
    page.wait_for_timeout(400)
    assert marked(page) == (["4"], ["3", "5"])
    node(page, "3").hover()
    assert facts(page)["name"] == "enter.3"
    node(page, "3").click()
    assert facts(page)["name"] == "enter.2"
    page.locator(f"{FIGURE} {PANEL} button", has_text="Close").click()
    assert facts(page) == {}


@pytest.mark.parametrize("theme", ["furo", "material", "readthedocs"])
def test_details_by_keyboard(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    settle(page)
    page.locator(f"{FIGURE} button[title='About this picture']").focus()
    page.keyboard.press("Tab")
    first = page.evaluate("document.activeElement.closest('[data-n], a').textContent")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.closest('[data-n], a').textContent") != first
    assert facts(page) != {}
    here, _ = marked(page)
    page.keyboard.press(" ")
    assert page.evaluate(f"document.activeElement.matches('{PANEL}')")
    page.keyboard.press("Tab")
    assert page.evaluate(f"document.activeElement.closest('{PANEL}') != null")
    page.keyboard.press("Escape")
    assert facts(page) == {}
    page.keyboard.press("ArrowUp")
    assert marked(page)[0] != here
    described = page.evaluate("document.activeElement.getAttribute('aria-describedby')")
    assert page.evaluate("(id) => document.getElementById(id).matches('.torchrecorder-panel')", described)


@pytest.mark.parametrize("theme", ["furo", "material"])
def test_a_tap_shows_details_and_the_second_follows_the_link(open_page: Open, theme: str) -> None:
    page = open_page(theme, width=360, has_touch=True, is_mobile=True)
    settle(page)
    (whole,) = seen(page, "#fig-closed")
    layer = page.locator("#fig-closed a.door:visible", has_text="layer2")
    layer.tap()
    assert facts(page, "#fig-closed")["name"] == "layer2"
    assert seen(page, "#fig-closed") == [whole]
    panel = page.locator(f"#fig-closed {PANEL}").bounding_box()
    assert panel["x"] == 0
    assert panel["width"] == 360
    assert panel["y"] + panel["height"] == pytest.approx(900, abs=1)
    layer.tap()
    page.wait_for_function("document.querySelector('.torchrecorder-inside:target')")
    page.go_back()
    layer.tap()
    page.locator(f"#fig-closed {PANEL} a", has_text="Open").tap()
    page.wait_for_function("document.querySelector('.torchrecorder-inside:target')")
    assert page.evaluate("document.documentElement.scrollWidth") <= 361


@pytest.mark.parametrize("theme", ["furo", "material"])
def test_what_a_telephone_finds_is_above_the_panel(open_page: Open, theme: str) -> None:
    page = open_page(theme, width=360, has_touch=True, is_mobile=True)
    settle(page)
    field = page.locator(f"{FIGURE} input")
    field.fill("bottom")
    field.press("Enter")
    page.wait_for_function(  # furo scrolls smoothly
        """(at) => {
            const [found, panel] = ["here", "panel"].map((name) =>
                document.querySelector(`${at} .torchrecorder-${name}`)?.getBoundingClientRect());
            return 0 < found?.top && found.bottom <= panel.top;
        }""",
        arg=FIGURE,
    )
    message = page.locator(f"{FIGURE} output")
    assert message.text_content().startswith("1 of ")
    assert message.evaluate("(it) => it.scrollWidth <= it.clientWidth"), "read in full"
    assert page.evaluate("document.documentElement.scrollWidth") <= 361


@pytest.mark.parametrize("theme", ["furo", "material"])
def test_search_goes_from_one_match_to_the_next(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    settle(page)
    field = page.locator("#fig-closed input")
    field.fill("conv1")
    found = int(page.locator("#fig-closed output").text_content().split()[0])
    assert found > 1, "in what can be opened"
    field.press("Enter")
    page.wait_for_function("document.querySelector('#fig-closed .torchrecorder-here')")
    (inside,) = seen(page, "#fig-closed")
    assert inside.startswith("layer1")
    assert facts(page, "#fig-closed")["name"].endswith("conv1")
    field.press("Enter")
    assert page.locator("#fig-closed output").text_content() == f"2 of {found}"
    assert page.evaluate("document.activeElement.type") == "search"
    page.locator("#fig-closed .torchrecorder-path a:visible").first.click()
    door = page.locator("#fig-closed a.door:visible", has_text="layer3")
    door.click()  # an open layer gives way to what is found
    page.locator("#fig-closed .torchrecorder-inside:target").wait_for()
    field.fill("layer1.0.conv1")
    field.press("Enter")
    page.wait_for_function("document.querySelector('#fig-closed .torchrecorder-here')")
    (inside,) = seen(page, "#fig-closed")
    assert inside.startswith("layer1")
    assert facts(page, "#fig-closed")["name"] == "layer1.0.conv1"
    field.fill("nothing of that name")
    assert page.locator("#fig-closed output").text_content() == "0 found"


def test_the_address_of_a_layer_leads_to_it(open_page: Open) -> None:
    page = open_page("furo", permissions=["clipboard-read", "clipboard-write"])
    page.locator("#fig-closed a.door:visible", has_text="layer2").click()
    page.wait_for_function("document.querySelector('.torchrecorder-inside:target')")
    inner = page.locator("#fig-closed .torchrecorder-inside:visible .nodes g.conv").first
    inner.click()
    path = page.evaluate("document.querySelector('#fig-closed .torchrecorder-panel strong').textContent")
    page.locator(f"#fig-closed {PANEL} button", has_text="Copy link").click()
    page.wait_for_function("document.querySelector('#fig-closed output').value == 'Link copied'")
    url = page.evaluate("navigator.clipboard.readText()")
    assert url.endswith(f"#fig-closed:{path}")
    page.goto("about:blank")
    page.goto(url)
    page.wait_for_function("document.querySelector('#fig-closed .torchrecorder-here')")
    (inside,) = seen(page, "#fig-closed")
    assert inside.startswith("layer2")
    assert facts(page, "#fig-closed")["name"] == path
    box = page.locator("#fig-closed .torchrecorder-here").bounding_box()
    assert 0 <= box["y"] <= 900 - box["height"]
    page.goto(url.replace(path, f"{path}.weight"))  # what no picture shows: the layer around it
    page.wait_for_function("document.querySelector('#fig-closed .torchrecorder-here')")
    assert facts(page, "#fig-closed")["name"] == path


def test_the_address_of_a_layer_chooses_its_depth(open_page: Open) -> None:
    page = open_page("furo")
    page.goto(page.url + "#fig-switch:blocks.0.attn.q")
    page.wait_for_function("document.querySelector('#fig-switch .torchrecorder-here')")
    assert page.locator("#fig-switch .torchrecorder-here").is_visible()
    assert facts(page, "#fig-switch")["name"] == "blocks.0.attn.q"


@pytest.mark.parametrize("dark", [False, True])
def test_pictures_are_saved_whole_with_their_colours(open_page: Open, dark: bool) -> None:
    page = open_page("furo", dark=dark)
    page.locator(f"{FIGURE} .torchrecorder-picture").hover()
    whole = page.evaluate(f"document.querySelector('{FIGURE} svg.torchrecorder').getAttribute('viewBox')")
    node(page, "4").click()
    page.locator(f"{FIGURE} button[title='Zoom in']").click()
    with page.expect_download() as saved:
        page.locator(f"{FIGURE} button[title='Save SVG']").click()
    assert saved.value.suggested_filename == "fig-all.svg"
    text = saved.value.path().read_text(encoding="utf-8")
    assert f'viewBox="{whole}"' in text
    assert "torchrecorder-lit" not in text
    assert "var(" not in text
    colour = page.evaluate(f"getComputedStyle(document.querySelector('{FIGURE} svg.torchrecorder')).color")
    assert f"color: {colour}; background: rgb" in text
    width = float(whole.split()[2])
    (points,) = re.findall(r'<svg[^>]* width="([\d.]+)pt"', text)
    assert float(points) == pytest.approx(width, abs=0.01)
    with page.expect_download() as saved:
        page.locator(f"{FIGURE} button[title='Save PNG']").click()
    data = saved.value.path().read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert int.from_bytes(data[16:20], "big") == pytest.approx(width * 8 / 3, abs=2) or len(data) > 1000


def test_what_a_picture_does_not_show_is_said_in_what_is_saved(open_page: Open) -> None:
    page = open_page("furo")
    foot = '<g class="foot"><text y="9">not drawn: masks</text><text y="19">&amp; positions</text></g>'
    noted = "for (const it of document.querySelectorAll('.torchrecorder-picture')) it.dataset.foot"
    page.add_init_script(f"document.addEventListener('readystatechange', () => {{{noted} = {foot!r}}})")
    page.reload()
    picture = page.locator(f"{FIGURE} .torchrecorder-picture").first
    picture.hover()
    *place, high = (picture.locator("svg").first.get_attribute("viewBox") or "").split()
    for _ in range(2):  # the second file is as the first
        with page.expect_download() as saved:
            page.locator(f"{FIGURE} button[title='Save SVG']").click()
        text = saved.value.path().read_text(encoding="utf-8")
        assert f'viewBox="{" ".join(place)} {float(high) + 20:g}"' in text
        assert f"{foot}</svg>" in text
    assert "not drawn" not in picture.inner_html()


@pytest.mark.parametrize("theme", ["furo", "material"])
def test_the_source_leads_to_its_line(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    node(page, "4").hover()
    link = page.locator(f"{FIGURE} {PANEL} dd a")
    assert link.inner_text() == "demo_nets/unet.py:51"
    assert link.get_attribute("href") == "https://forge.example/docs/demo/demo_nets/unet.py#L51"
