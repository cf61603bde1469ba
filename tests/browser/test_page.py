"""What a figure does to the page around it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.browser.conftest import Open, settle
from tests.browser.sites import GALLERY, MANY, SITE_URL, THEMES
from tests.browser.test_inside import seen

pytestmark = pytest.mark.browser

SHIFTS = """
window.shifts = [];
new PerformanceObserver((list) => shifts.push(...list.getEntries().filter((it) => it.sources.some((moved) =>
    moved.previousRect.y != moved.currentRect.y || moved.previousRect.height != moved.currentRect.height
)).map((it) => it.value))).observe({type: "layout-shift", buffered: true});
"""
"""Up and down; what is in the middle of a column moves aside when a theme's sidebar arrives behind the contents."""
BY_US = "[...document.scripts].filter((it) => it.src.includes('torchrecorder')).length"


@pytest.mark.parametrize("theme", THEMES)
def test_a_page_of_many_figures_does_not_move_while_it_loads(open_page: Open, theme: str) -> None:
    page = open_page(theme, "index")
    page.add_init_script(SHIFTS)
    page.goto(page.url.replace("index", "many/index" if page.url.endswith("/site/index.html") else "many"))
    assert page.locator("svg.torchrecorder:visible").count() == MANY
    heights = "[...document.querySelectorAll('figure.torchrecorder')].map((it) => it.offsetHeight)"
    before = page.evaluate(heights)
    page.evaluate("window.scrollTo({top: document.body.scrollHeight, behavior: 'instant'})")
    settle(page)
    assert page.locator(".torchrecorder-tools").count() >= MANY
    assert page.evaluate(heights) == before
    moved = sum(page.evaluate("shifts"))
    assert moved < 0.01 or moved < _moved_by_the_theme(page) + 0.001


def _moved_by_the_theme(page: Any) -> float:
    """How far the page moves while it loads without our script: pydata's sidebar makes the column narrower."""
    page.route("**/torchrecorder*.js*", lambda route: route.abort())
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    settle(page)
    assert page.locator(".torchrecorder-tools :visible").count() == 0
    return float(sum(page.evaluate("shifts")))


@pytest.mark.parametrize("theme", THEMES)
def test_the_script_is_on_pages_with_figures_only(open_page: Open, theme: str) -> None:
    assert open_page(theme, "index").evaluate(BY_US) == 0
    assert open_page(theme, "gallery").evaluate(BY_US) == 1


@pytest.mark.parametrize("theme", THEMES)
def test_without_script_everything_is_there(open_page: Open, theme: str) -> None:
    page = open_page(theme, java_script_enabled=False)
    assert page.locator("svg.torchrecorder:visible").count() == len(GALLERY)
    page.locator("#fig-switch label", has_text="3").click()
    assert page.locator("#fig-switch svg.torchrecorder:visible").count() == 1
    page.locator("#fig-closed a[id]", has_text="layer2").first.click()
    assert page.locator("#fig-closed .torchrecorder-inside:visible").count() == 1
    assert not page.locator(".torchrecorder-tools").first.is_visible(), "no room for a bar that stays empty"


def test_without_style_sheet_each_depth_has_its_name(open_page: Open) -> None:
    page = open_page("furo")
    page.evaluate("document.querySelector('link[href*=torchrecorder]').disabled = true")
    depths = page.locator("#fig-switch .torchrecorder-depth")
    assert depths.locator("svg.torchrecorder:visible").count() == 3
    assert [text.strip() for text in depths.locator(".torchrecorder-path").all_inner_texts()] == [
        "Depth 1",
        "Depth 2",
        "Depth 3",
    ]
    insides = page.locator("#fig-switch .torchrecorder-inside")
    assert insides.locator("svg.torchrecorder:visible").count() == insides.count() > 0
    assert insides.locator(".torchrecorder-path:visible").count() == insides.count()


def test_a_page_may_forbid_scripts_of_its_own(open_page: Open) -> None:
    page = open_page("alabaster", "index")

    def forbid(route: Any) -> None:
        answer = route.fetch()
        headers = {
            **answer.headers,
            "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'",
        }
        route.fulfill(response=answer, headers=headers)

    page.route("**/gallery.html", forbid)
    page.goto(page.url.replace("index", "gallery"))
    assert page.locator("#fig-all .torchrecorder-tools button").count() == 8
    page.locator("#fig-all .torchrecorder-tools button").first.focus()
    page.keyboard.press("+")
    assert page.locator("#fig-all .torchrecorder-zoomed").count() == 1
    page.locator("#fig-all .torchrecorder-tools button[title='Save PNG']").click()
    page.wait_for_function("document.querySelector('#fig-all output').value.includes('does not allow')")


def test_a_page_that_material_puts_in_place_of_another_can_be_zoomed(open_page: Open) -> None:
    page = open_page("material", "index")

    def put_port(route: Any) -> None:
        """The theme follows links of its site map only, which names the address of the site, not of the server."""
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace(SITE_URL, page.url.removesuffix("index.html")))

    page.route("**/sitemap.xml", put_port)
    page.reload()
    page.evaluate("window.still = true")
    settle(page)
    page.get_by_role("link", name="gallery", exact=True).click()
    page.wait_for_selector("#fig-all .torchrecorder-tools", state="attached")
    assert page.evaluate("window.still")  # nothing was loaded anew
    assert page.locator("#fig-all .torchrecorder-tools").count() == 1
    page.locator("#fig-closed a[id]", has_text="layer2").first.click()
    page.wait_for_function("document.querySelector(':target')")
    assert len(seen(page, "#fig-closed")) == 1


def test_less_motion_if_that_is_asked_for(open_page: Open) -> None:
    page = open_page("furo")
    duration = "getComputedStyle(document.querySelector('.torchrecorder-tools')).transitionDuration"
    assert page.evaluate(duration) == "0s"
    page.emulate_media(reduced_motion="no-preference")
    assert page.evaluate(duration) == "0.15s"
