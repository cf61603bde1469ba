"""Every theme, light and dark: words fit, do not overlap, can be read, and axe finds nothing in our figures."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.browser.conftest import Open
from tests.browser.sites import ALWAYS_LIGHT, GALLERY, THEMES

pytestmark = pytest.mark.browser

LOOK = Path(__file__).with_name("looking.js").read_text(encoding="utf-8")
SCHEMES = [(theme, dark) for theme in THEMES for dark in (False, True) if not (dark and theme in ALWAYS_LIGHT)]
IDS = [f"{theme}-{'dark' if dark else 'light'}" for theme, dark in SCHEMES]


def violations(page: Any) -> list[str]:
    """What axe finds in our figures and boxes, with everything opened."""
    page.evaluate("document.querySelectorAll('details.torchrecorder-table').forEach((it) => it.open = true)")
    page.evaluate((files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8"))
    found = page.evaluate(
        "axe.run({include: [['figure.torchrecorder, .torchrecorder-error']]}, {resultTypes: ['violations']})"
    )
    return [
        f"{one['id']}: {node['target']} {node['html'][:160]}" for one in found["violations"] for node in one["nodes"]
    ]


@pytest.mark.parametrize(("theme", "dark"), SCHEMES, ids=IDS)
@pytest.mark.parametrize("width", [400, 1600])
def test_words_are_in_their_places_and_can_be_read(open_page: Open, theme: str, dark: bool, width: int) -> None:
    seen = open_page(theme, dark=dark, width=width).evaluate(LOOK)
    assert seen["pictures"] == len(GALLERY)
    assert seen["complaints"] == []


@pytest.mark.parametrize(("theme", "dark"), SCHEMES, ids=IDS)
def test_axe_has_no_complaints(open_page: Open, theme: str, dark: bool) -> None:
    page = open_page(theme, dark=dark)
    assert violations(page) == []
    page.locator("#fig-closed a.door:visible", has_text="layer2").hover()
    page.locator("#fig-closed .torchrecorder-panel").wait_for()
    assert violations(page) == []
    assert [one for one in violations(open_page(theme, "wrong", dark=dark)) if not is_of(theme, one)] == []


def is_of(theme: str, violation: str) -> bool:
    """Whether it is the theme's own: Read the Docs writes every title of an error white on light red."""
    return theme == "sphinx_rtd_theme" and "admonition-title" in violation and violation.startswith("color-contrast")


@pytest.mark.parametrize("theme", THEMES)
def test_no_figure_is_wider_than_its_page(open_page: Open, theme: str) -> None:
    page = open_page(theme, width=400)
    assert page.evaluate("[...document.querySelectorAll('figure.torchrecorder')].every((it) => it.clientWidth <= 400)")
    assert page.evaluate("document.documentElement.scrollWidth") <= 400 + 1


def test_these_tests_can_fail(open_page: Open) -> None:
    page = open_page("furo")
    page.evaluate("document.querySelector('.nodes text').textContent += ' and much more than there is room for'")
    page.evaluate("document.querySelector('#fig-wide .nodes text').style.fill = 'gray'")
    page.evaluate("document.querySelector('#fig-wide svg').removeAttribute('aria-labelledby')")
    page.evaluate("document.querySelector('#fig-wide svg').setAttribute('role', 'img')")
    page.evaluate("document.querySelector('#fig-wide svg').querySelector('title').remove()")
    complaints = "\n".join(page.evaluate(LOOK)["complaints"])
    assert "leaves its node" in complaints
    assert "contrast" in complaints
    assert any("svg" in one for one in violations(page))
