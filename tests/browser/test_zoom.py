"""Pan, zoom and full screen: by mouse, wheel, touch and keyboard, on a tall, a wide and a small picture."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Open

pytestmark = pytest.mark.browser

THEMES = ("furo", "material")
FIGURE = "#fig-all"


def scale(page: Any, figure: str = FIGURE) -> float:
    """CSS pixels in a unit of the picture."""
    found: float = page.evaluate("(at) => document.querySelector(at + ' svg.torchrecorder').getScreenCTM().a", figure)
    return found


def view(page: Any, figure: str = FIGURE) -> list[float]:
    """The part of the picture that is seen."""
    found: list[float] = page.evaluate(
        "(at) => { const v = document.querySelector(at + ' svg.torchrecorder').viewBox.baseVal;"
        " return [v.x, v.y, v.width, v.height] }",
        figure,
    )
    return found


def middle(page: Any, figure: str = FIGURE) -> tuple[float, float]:
    """A point of the window in the picture, which is brought into view."""
    picture = page.locator(f"{figure} .torchrecorder-picture:visible svg.torchrecorder")
    picture.evaluate("(it) => it.scrollIntoView({block: 'center', behavior: 'instant'})")
    box = picture.bounding_box()
    top, bottom = max(box["y"], 100), min(box["y"] + box["height"], 850)
    return box["x"] + box["width"] / 2, (top + bottom) / 2


def button(page: Any, name: str, figure: str = FIGURE) -> Any:
    return page.locator(f"{figure} .torchrecorder-tools button[title='{name}']")


def fill_screen(page: Any, figure: str) -> None:
    button(page, "Full screen", figure).click()
    page.wait_for_function("document.fullscreenElement?.querySelector('.torchrecorder-zoomed')")


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
    page.wait_for_function(f"document.querySelector('{FIGURE} .torchrecorder-zoomed')")
    assert page.evaluate(scrolled) == at


def test_what_is_under_the_pointer_stays_there(open_page: Open) -> None:
    page = open_page("furo")
    x, y = middle(page)
    page.mouse.move(x + 50, y)
    point = "([x, y]) => { const s = document.querySelector('#fig-all svg.torchrecorder'), p = new DOMPoint(x, y)"
    point += ".matrixTransform(s.getScreenCTM().inverse()); return [p.x, p.y] }"
    before = page.evaluate(point, [x + 50, y])
    page.keyboard.down("Control")
    page.mouse.wheel(0, -120)
    page.keyboard.up("Control")
    page.wait_for_function("document.querySelector('#fig-all .torchrecorder-zoomed')")
    assert page.evaluate(point, [x + 50, y]) == pytest.approx(before, abs=0.6)


@pytest.mark.parametrize("figure", ["#fig-all", "#fig-wide"])
def test_a_zoomed_picture_has_the_whole_column(open_page: Open, figure: str) -> None:
    page = open_page("furo")
    before, height = (
        scale(page, figure),
        page.locator(f"{figure} .torchrecorder-picture").first.bounding_box()["height"],
    )
    middle(page, figure)
    for _ in range(3):
        button(page, "Zoom in", figure).click()
    assert scale(page, figure) == pytest.approx(before * 1.3**3, rel=0.01)
    column = page.locator(f"{figure} .torchrecorder-views").bounding_box()
    box = page.locator(f"{figure} svg.torchrecorder").first.bounding_box()
    assert box["width"] == pytest.approx(column["width"], abs=1)
    assert box["height"] >= min(height * 1.3**3, 0.7 * 900) - 1, "a strip is not looked at through a slit"
    button(page, "Show all", figure).click()
    assert scale(page, figure) == pytest.approx(before)
    assert page.locator(f"{figure} .torchrecorder-zoomed").count() == 0


@pytest.mark.parametrize("theme", THEMES)
def test_keys(open_page: Open, theme: str) -> None:
    page = open_page(theme)
    middle(page)
    whole, natural = view(page), scale(page)
    button(page, "Zoom in").focus()
    page.keyboard.press("ArrowRight")
    assert view(page) == whole  # nothing to move as long as all is seen: the key scrolls the page
    for _ in range(4):
        page.keyboard.press("+")
    assert scale(page) == pytest.approx(natural * 1.3**4, rel=1e-3)
    closer = view(page)
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowDown")
    assert view(page)[0] > closer[0]
    assert view(page)[1] > closer[1]
    for _ in range(5):
        page.keyboard.press("-")
    assert view(page) == pytest.approx(whole)
    page.keyboard.press("=")
    page.keyboard.press("0")
    assert view(page) == pytest.approx(whole)


def test_buttons_are_seen_when_they_have_the_focus(open_page: Open) -> None:
    page = open_page("furo")
    tools = f"getComputedStyle(document.querySelector('{FIGURE} .torchrecorder-tools')).opacity"
    assert page.evaluate(tools) == "0"
    button(page, "Zoom out").focus()
    page.keyboard.press("Shift+Tab")  # as the keyboard does it, so that the focus is to be seen
    assert page.evaluate(tools) == "1"
    assert page.evaluate("[document.activeElement.title, getComputedStyle(document.activeElement).outlineStyle]") == [
        "Zoom in",
        "solid",
    ]
    page.keyboard.press("Enter")
    assert page.locator(f"{FIGURE} .torchrecorder-zoomed").count() == 1


@pytest.mark.parametrize("touch", [False, True])
@pytest.mark.parametrize(("width", "figure"), [(360, ""), (1300, ""), (1300, "200px"), (360, "200px")])
def test_buttons_lie_over_no_picture(open_page: Open, touch: bool, width: int, figure: str) -> None:
    page = open_page("furo", width=width, has_touch=touch)
    page.evaluate(
        "(width) => document.querySelectorAll('figure.torchrecorder').forEach((it) => it.style.width = width)", figure
    )
    overlaps = """() => [...document.querySelectorAll(".torchrecorder-tools")].filter((bar) => {
        const views = bar.parentElement, buttons = [...bar.children];
        const box = bar.getBoundingClientRect();
        const edge = Math.max(...buttons.map((it) => it.getBoundingClientRect().bottom));
        const over = [...views.querySelectorAll("svg.torchrecorder")].some((svg) =>
            svg.getClientRects().length && svg.getBoundingClientRect().top < edge);
        const wide = buttons.some((it) => {
            const { left, right } = it.getBoundingClientRect();
            return left < box.left - 1 || right > box.right + 1;
        });
        return over || wide;
    }).length"""
    assert page.locator(".torchrecorder-tools").count() == 4  # small pictures have none
    assert page.evaluate(overlaps) == 0


def test_a_zoomed_picture_is_dragged_and_that_is_no_click(open_page: Open) -> None:
    page = open_page("furo")
    x, y = middle(page)
    whole = view(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y - 60, steps=4)
    page.mouse.up()
    assert view(page) == whole
    for _ in range(5):
        page.evaluate(f"document.querySelector('{FIGURE} button[title=\"Zoom in\"]').click()")
    before, address, natural = view(page), page.url, scale(page)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y - 60, steps=4)
    page.mouse.up()
    assert view(page)[0] - before[0] == pytest.approx(60 / natural, abs=2)
    assert view(page)[1] - before[1] == pytest.approx(60 / natural, abs=2)
    assert page.url == address
    page.mouse.move(x + 100, y + 100)
    moved = view(page)
    page.mouse.move(x, y)
    assert view(page) == moved


def test_two_fingers(open_page: Open) -> None:
    page = open_page("furo", has_touch=True)
    x, y = middle(page)
    natural = scale(page)
    session = page.context.new_cdp_session(page)

    def touch(kind: str, *points: tuple[float, float]) -> None:
        at = [{"x": px, "y": py, "id": i} for i, (px, py) in enumerate(points)]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})

    touch("touchStart", (x - 20, y), (x + 20, y))
    for far in (30, 45, 60):
        touch("touchMove", (x - far, y), (x + far, y))
    touch("touchEnd")
    assert scale(page) == pytest.approx(natural * 3, rel=0.15)
    closer = view(page)
    touch("touchStart", (x, y))
    for far in (20, 40, 60):
        touch("touchMove", (x - far, y))
    touch("touchEnd")
    assert view(page)[0] > closer[0]


@pytest.mark.parametrize("figure", ["#fig-all", "#fig-wide", "#fig-closed", "#fig-switch"])
def test_full_screen_uses_the_screen(open_page: Open, figure: str) -> None:
    page = open_page("furo", dark=True)
    middle(page, figure)
    natural = page.evaluate(
        "(at) => document.querySelector(at + ' svg.torchrecorder').viewBox.baseVal.width * 4 / 3", figure
    )
    fill_screen(page, figure)
    paper = "getComputedStyle(document.fullscreenElement).backgroundColor"
    assert page.evaluate(paper) == page.evaluate("getComputedStyle(document.body).backgroundColor")
    picture = page.locator(f"{figure} .torchrecorder-picture:visible svg.torchrecorder")
    box = picture.bounding_box()
    assert box["width"] > 0.95 * 1280
    assert box["y"] + box["height"] > 0.95 * 900
    # As wide as the screen, or twice its size
    shown = natural * 3 / 4 * picture.evaluate("(it) => it.getScreenCTM().a")
    assert shown == pytest.approx(min(box["width"], 2 * natural), rel=0.02)
    top = view(page, figure)
    page.mouse.move(640, 450)
    page.mouse.wheel(0, 200)
    page.wait_for_timeout(100)
    high = page.evaluate("(at) => document.querySelector(at + ' svg.torchrecorder').getBBox().height", figure)
    is_taller = top[3] < high
    _, y, _, shown_height = view(page, figure)
    if is_taller:
        assert y > top[1], "the wheel moves what does not fit"
    else:
        assert y <= 1, "what fits is not moved out of the screen"
        assert y + shown_height >= high
    page.keyboard.press("0")
    seen = view(page, figure)
    assert seen[1] <= 1
    assert seen[1] + seen[3] >= high - 1
    button(page, "Full screen", figure).focus()
    page.keyboard.press("f")
    page.wait_for_function("!document.fullscreenElement")
    page.wait_for_function(f"!document.querySelector('{figure} .torchrecorder-zoomed')")


def test_layers_open_in_full_screen(open_page: Open) -> None:
    page = open_page("furo")
    middle(page, "#fig-closed")
    fill_screen(page, "#fig-closed")
    page.locator("#fig-closed a.door:visible", has_text="layer2").click()
    page.wait_for_function("document.querySelector('.torchrecorder-inside:target .torchrecorder-zoomed')")
    box = page.locator("#fig-closed .torchrecorder-inside:visible svg.torchrecorder").bounding_box()
    assert box["width"] > 0.95 * 1280


def test_a_figure_without_zoom_has_no_buttons(open_page: Open) -> None:
    page = open_page("furo")
    assert page.locator("#fig-classic .torchrecorder-tools").count() == 0
    assert page.locator("#fig-all .torchrecorder-tools").count() == 1
