"""Pan, zoom, full screen and the file of its own: by mouse, wheel, touch and keyboard."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Open

pytestmark = pytest.mark.browser

THEMES = ("furo", "material")
PICTURE = "#fig-all .torchrecorder-picture"


def view(page: Any, picture: str = PICTURE) -> list[float]:
    """The part of the picture that is seen."""
    found: list[float] = page.evaluate(
        "(at) => { const v = document.querySelector(at + ' svg').viewBox.baseVal;"
        " return [v.x, v.y, v.width, v.height] }",
        picture,
    )
    return found


def middle(page: Any, picture: str = PICTURE) -> tuple[float, float]:
    """A point of the page in the picture, which is brought into view."""
    page.evaluate("(at) => document.querySelector(at).scrollIntoView({block: 'center', behavior: 'instant'})", picture)
    box = page.locator(f"{picture} svg").bounding_box()
    top, bottom = max(box["y"], 100), min(box["y"] + box["height"], 850)
    return box["x"] + box["width"] / 2, (top + bottom) / 2


def button(page: Any, name: str) -> Any:
    return page.locator(f"{PICTURE} .torchrecorder-tools button[title='{name}']")


@pytest.mark.parametrize("theme", THEMES)
def test_the_wheel_scrolls_and_zooms_only_with_control(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    whole, scrolled = view(page), "window.scrollY"
    page.mouse.move(*middle(page))
    before = page.evaluate(scrolled)
    page.mouse.wheel(0, 120)
    page.wait_for_function(f"{scrolled} > {before}")
    assert view(page) == whole
    page.mouse.move(*middle(page))
    at = page.evaluate(scrolled)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    page.wait_for_function(f"document.querySelector('{PICTURE} svg').viewBox.baseVal.width < {whole[2]}")
    assert page.evaluate(scrolled) == at


def test_what_is_under_the_pointer_stays_there(open_page: Open) -> None:
    page = open_page("furo")
    x, y = middle(page)
    page.mouse.move(x + 50, y)
    point = "([x, y]) => { const s = document.querySelector('#fig-all svg'), p = new DOMPoint(x, y)"
    point += ".matrixTransform(s.getScreenCTM().inverse()); return [p.x, p.y] }"
    before = page.evaluate(point, [x + 50, y])
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    page.wait_for_function("document.querySelector('#fig-all .torchrecorder-zoomed')")
    assert page.evaluate(point, [x + 50, y]) == pytest.approx(before, abs=0.6)


@pytest.mark.parametrize("theme", THEMES)
def test_keys(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    whole = view(page)
    button(page, "Zoom in").focus()
    page.keyboard.press("ArrowRight")
    assert view(page) == whole  # nothing to move as long as all is seen: the key scrolls the page
    page.keyboard.press("+")
    closer = view(page)
    assert closer[2] == pytest.approx(whole[2] / 1.3, rel=1e-3)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert view(page)[0] > closer[0]
    assert view(page)[1] > closer[1]
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert view(page) == pytest.approx(whole)
    page.keyboard.press("=")
    page.keyboard.press("0")
    assert view(page) == pytest.approx(whole)


def test_buttons_are_seen_when_they_have_the_focus(open_page: Open) -> None:
    page = open_page("furo")
    tools = f"getComputedStyle(document.querySelector('{PICTURE} .torchrecorder-tools')).opacity"
    assert page.evaluate(tools) == "0"
    button(page, "Zoom out").focus()
    page.keyboard.press("Shift+Tab")  # as the keyboard does it, so that the focus is to be seen
    assert page.evaluate(tools) == "1"
    assert page.evaluate("[document.activeElement.title, getComputedStyle(document.activeElement).outlineStyle]") == [
        "Zoom in",
        "solid",
    ]
    page.keyboard.press("Enter")
    assert page.locator(f"{PICTURE}.torchrecorder-zoomed").count() == 1


def test_a_zoomed_picture_is_dragged_and_that_is_no_click(open_page: Open) -> None:
    page = open_page("furo")
    x, y = middle(page)
    whole = view(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y - 60, steps=4)
    page.mouse.up()
    assert view(page) == whole
    page.mouse.move(x, y)
    for _ in range(3):
        button(page, "Zoom in").click()
    before, address = view(page), page.url
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y - 60, steps=4)
    page.mouse.up()
    assert view(page)[0] > before[0]
    assert view(page)[1] > before[1]
    assert page.url == address
    page.mouse.move(x + 100, y + 100)
    moved = view(page)
    page.mouse.move(x, y)
    assert view(page) == moved


def test_two_fingers(open_page: Open) -> None:
    page = open_page("furo", has_touch=True)
    x, y = middle(page)
    whole = view(page)
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        at = [{"x": px, "y": py, "id": i} for i, (px, py) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    touch("touchStart", (x - 20, y), (x + 20, y))
    for far in (30, 45, 60):
        touch("touchMove", (x - far, y), (x + far, y))
    touch("touchEnd")
    assert view(page)[2] == pytest.approx(whole[2] / 3, rel=0.1)
    closer = view(page)
    touch("touchStart", (x, y))
    for far in (20, 40, 60):
        touch("touchMove", (x - far, y))
    touch("touchEnd")
    assert view(page)[0] > closer[0]


def test_full_screen(open_page: Open) -> None:
    page = open_page("furo", dark=True)
    middle(page)
    page.locator(PICTURE).hover()
    button(page, "Full screen").click()
    page.wait_for_function("document.fullscreenElement && document.fullscreenElement.matches('.torchrecorder-picture')")
    assert page.evaluate("getComputedStyle(document.fullscreenElement).backgroundColor") == page.evaluate(
        "getComputedStyle(document.body).backgroundColor"
    )
    button(page, "Full screen").focus()
    page.keyboard.press("f")
    page.wait_for_function("!document.fullscreenElement")


@pytest.mark.parametrize("dark", [False, True])
def test_the_file_has_colours_of_its_own_and_all_of_the_picture(open_page: Open, dark: bool) -> None:
    page = open_page("furo", dark=dark)
    whole = view(page)
    middle(page)
    page.locator(PICTURE).hover()
    button(page, "Zoom in").click()
    with page.expect_popup() as opened:
        button(page, "Open SVG").click()
    svg = opened.value
    svg.wait_for_load_state()
    assert svg.url.startswith("blob:")
    assert svg.evaluate("document.documentElement.getAttribute('viewBox').split(' ').map(Number)") == whole
    colour = svg.evaluate("getComputedStyle(document.querySelector('.nodes text')).fill")
    assert colour == page.evaluate("getComputedStyle(document.querySelector('#fig-all .nodes text')).fill")
    assert svg.evaluate("getComputedStyle(document.documentElement).backgroundColor") != "rgba(0, 0, 0, 0)"
    assert svg.evaluate(
        "[...document.querySelectorAll('a')].every((it) => it.href.baseVal.startsWith('http://127.0.0.1'))"
    )
    assert svg.locator("a").count() > 0


def test_a_figure_without_zoom_has_no_buttons(open_page: Open) -> None:
    page = open_page("furo")
    assert page.locator("#fig-classic .torchrecorder-tools").count() == 0
    assert page.locator("#fig-all .torchrecorder-tools").count() == 1
