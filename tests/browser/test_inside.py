"""The switch between depths, and the insides of closed layers: by mouse and keyboard."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Open, settle
from tests.browser.sites import THEMES

pytestmark = pytest.mark.browser


def seen(page: Any, figure: str) -> list[str]:
    """The titles of the pictures of a figure that are seen, and their words."""
    found: list[str] = page.evaluate(
        "(at) => [...document.querySelectorAll(at + ' svg.torchrecorder')].filter((it) => it.getClientRects().length)"
        ".map((it) => it.querySelector('title').textContent + ' ' + it.querySelector('.nodes').textContent)",
        figure,
    )
    return found


@pytest.mark.parametrize("theme", THEMES)
def test_the_switch_by_mouse_and_keyboard(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    figure = "#fig-switch"
    (first,) = seen(page, figure)
    page.locator(f"{figure} label", has_text="3").click()
    (third,) = seen(page, figure)
    assert third != first
    page.keyboard.press("ArrowLeft")
    (second,) = seen(page, figure)
    assert second not in (first, third)
    assert page.evaluate("document.activeElement.value") == "2"
    assert page.evaluate("getComputedStyle(document.activeElement.parentElement).outlineStyle") == "solid"


def test_the_switch_is_a_labelled_group(open_page: Open) -> None:
    page = open_page("furo")
    group = page.get_by_role("group", name="Depth", exact=True)
    assert group.get_by_role("radio").count() == 3
    assert group.get_by_role("radio", name="1", exact=True).is_checked()


def test_only_the_chosen_depth_is_printed(open_page: Open) -> None:
    page = open_page("furo")
    page.locator("#fig-switch label", has_text="2").click()
    before = seen(page, "#fig-switch")
    page.emulate_media(media="print")
    assert seen(page, "#fig-switch") == before
    assert not page.locator("#fig-switch label").first.is_visible()
    assert not page.locator("#fig-all .torchrecorder-tools").is_visible()


def door(page: Any, text: str) -> Any:
    return page.locator("#fig-closed .torchrecorder-picture a[id]", has_text=text).first


@pytest.mark.parametrize("theme", THEMES)
def test_a_closed_layer_opens_and_closes(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    (whole,) = seen(page, "#fig-closed")
    door(page, "layer2").click()
    page.wait_for_function("location.hash")
    (inside,) = seen(page, "#fig-closed")
    assert inside.startswith("layer2")
    # A header that stays in place does not cover it.
    assert page.evaluate("document.querySelector(':target').getBoundingClientRect().top") > 30
    page.locator("#fig-closed .torchrecorder-path a:visible", has_text="ResNet").click()
    page.wait_for_function("location.hash == '#fig-closed:layer2'")
    assert seen(page, "#fig-closed") == [whole]
    page.go_back()
    page.wait_for_function("location.hash == '#fig-closed:layer2/'")
    assert seen(page, "#fig-closed") == [inside]


@pytest.mark.parametrize("fragment", ["#%E0%A4%A", "#%", "#fig-closed:%zz/"])
def test_an_address_that_is_not_encoded_well_disables_nothing(open_page: Open, fragment: str) -> None:
    page = open_page("furo")
    tools = page.locator(".torchrecorder-tools").count()
    assert tools > 2
    address = page.url.partition("#")[0]
    page.goto("about:blank")
    page.goto(address + fragment)
    settle(page)
    assert page.locator(".torchrecorder-tools").count() == tools
    door(page, "layer2").click()
    page.wait_for_function("location.hash == '#fig-closed:layer2/'")


@pytest.mark.parametrize("theme", ["furo", "material", "mkdocs"])
def test_a_closed_layer_by_keyboard(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    settle(page)  # themes take the address into their hands when they start
    (whole,) = seen(page, "#fig-closed")
    door(page, "layer3").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.matches('.torchrecorder-inside')")
    (inside,) = seen(page, "#fig-closed")
    assert inside.startswith("layer3")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "ResNet"
    page.keyboard.press("Enter")
    page.wait_for_function("document.activeElement.id == 'fig-closed:layer3'")
    assert seen(page, "#fig-closed") == [whole]
    assert "layer3" in page.evaluate("document.activeElement.textContent")


@pytest.mark.parametrize("theme", ["furo", "sphinx_rtd_theme", "material"])
def test_a_layer_opens_where_the_picture_stands(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    settle(page)
    page.evaluate("document.querySelector('#fig-closed').dataset.isSame = ''")
    door(page, "layer2").evaluate("(it) => it.scrollIntoView({block: 'center', behavior: 'instant'})")
    page.evaluate("window.scrollBy({top: -300, behavior: 'instant'})")
    # A reader brings what he clicks into sight first, and so does the click.
    door(page, "layer2").scroll_into_view_if_needed()
    top = "document.querySelector('#fig-closed .torchrecorder-views').getBoundingClientRect().top"
    before = page.evaluate(top)
    assert before > 0
    door(page, "layer2").click()
    page.locator(".torchrecorder-inside:target").wait_for()
    page.wait_for_timeout(300)
    assert page.evaluate(top) == pytest.approx(before, abs=2)
    page.go_back()
    page.locator(".torchrecorder-inside:target").wait_for(state="detached")
    page.wait_for_timeout(300)
    assert page.evaluate(top) == pytest.approx(before, abs=2)
    assert page.locator("#fig-closed[data-is-same]").count() == 1, "its theme did not load the page anew"


@pytest.mark.parametrize("script", [True, False])
def test_layers_of_a_switch_open_too(open_page: Open, script: bool) -> None:
    page = open_page("furo", java_script_enabled=script)
    (whole,) = titles(page)
    page.locator("#fig-switch a.door:visible").first.click()
    (inside,) = titles(page)
    assert inside != whole
    assert not page.locator("#fig-switch label").first.is_visible()
    page.go_back()
    assert titles(page) == [whole]
    assert page.locator("#fig-switch label").first.is_visible()


def titles(page: Any) -> list[str]:
    """As `seen`, where the page runs no script."""
    pictures = page.locator("#fig-switch svg.torchrecorder:visible")
    return [pictures.nth(i).locator("title").first.text_content() for i in range(pictures.count())]


def test_a_closed_figure_is_printed(open_page: Open) -> None:
    page = open_page("furo")
    page.evaluate(
        """() => {
            const closed = document.createElement("details");
            closed.className = "torchrecorder-closed";
            closed.append(document.createElement("summary"));
            document.querySelector("#fig-all").before(closed);
            closed.append(document.querySelector("#fig-all"));
        }"""
    )
    is_seen = "document.querySelector('#fig-all svg').checkVisibility()"
    assert not page.evaluate(is_seen)
    page.emulate_media(media="print")
    assert page.evaluate(is_seen)


def test_insides_are_not_printed(open_page: Open) -> None:
    page = open_page("furo")
    page.emulate_media(media="print")
    assert len(seen(page, "#fig-closed")) == 1


def test_tab_visits_layers_as_they_are_read(open_page: Open) -> None:
    """In the classes that this site documents: a box comes before the layers in it, which come from top to bottom."""
    page = open_page("furo")
    middles = page.evaluate(
        "[...document.querySelectorAll('#fig-all .nodes > a, #fig-all .nodes .titles > a')].map((it) => it.getBBox().y)"
    )
    assert len(middles) > 5
    page.locator("#fig-switch label", has_text="3").click()
    below, next_ = (
        page.evaluate(
            """(at) => [...document.querySelectorAll(at + ' .titles')].map((titles) => {
                const y = titles.lastElementChild.getBBox().y, next = titles.nextElementSibling.getBBox();
                return next.y - y;
            })""",
            figure,
        )
        for figure in ("#fig-all", "#fig-switch .d3")
    )
    assert below
    assert all(way > 0 for way in below), "the way up of a U begins far below"
    assert next_
    assert all(0 < way < 90 for way in next_)
