"""Tables of models are sorted by a click at a head, grids filtered by a click at a tag."""

from __future__ import annotations

from typing import Any

import pytest
from torch import nn

import torchrecorder
from torchrecorder.page.models import ModelRow, models_html
from torchrecorder.page.outcome import Outcome
from torchrecorder.page.words import assets
from torchrecorder.request import Body, DiagramRequest, RecordingRequest
from torchrecorder.request.models import ListedModel, ModelList

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def rows() -> list[ModelRow]:
    sizes = {"Small": (3, ("first", "net")), "Large": (3000, ("net",)), "Middle": (40, ("first", "net"))}
    made = []
    for name, (width, tags) in sizes.items():
        outcome = Outcome(
            DiagramRequest(RecordingRequest(f"pkg.{name}")), torchrecorder.draw(nn.Linear(3, width), (1, 3))
        )
        made.append(ModelRow(ListedModel(Body(f"pkg.{name}"), name, tags), outcome))
    return made


def opened(browser: Any, rows: list[ModelRow], *, is_grid: bool) -> Any:
    style, _, script = assets()
    shown = ModelList(tuple(row.listed for row in rows), ("name", "parameters"), is_grid)
    table = f'<figure class="torchrecorder-models">{models_html(shown, rows, "")}</figure>'
    page = browser.new_page()
    page.set_content(f"<style>{style}</style>{table}<script>{script}</script>")
    return page


def test_a_click_sorts_by_numbers_or_names(browser: Any, rows: list[ModelRow]) -> None:
    page = opened(browser, rows, is_grid=False)

    def names() -> list[str]:
        return [cell.inner_text() for cell in page.query_selector_all("tbody td:first-child")]

    assert names() == ["Small", "Large", "Middle"]
    page.click("text=Parameters")
    assert names() == ["Small", "Middle", "Large"]
    page.click("text=Parameters")
    assert names() == ["Large", "Middle", "Small"]
    assert page.get_attribute("th:nth-child(2)", "aria-sort") == "descending"
    page.click("text=Model")
    assert names() == ["Large", "Middle", "Small"]
    edges = page.evaluate("[...document.querySelectorAll('.number')].map((it) => getComputedStyle(it).textAlign)")
    assert set(edges) == {"end"}
    page.close()


def test_a_tag_shows_its_models_alone(browser: Any, rows: list[ModelRow]) -> None:
    page = opened(browser, rows, is_grid=True)
    assert [it.inner_text() for it in page.query_selector_all(".torchrecorder-filter button")] == ["first"]
    page.click("text=first")
    shown = page.query_selector_all(".torchrecorder-card:not([hidden]) strong")
    assert [it.inner_text() for it in shown] == ["Small", "Middle"]
    page.click("text=first")
    assert len(page.query_selector_all(".torchrecorder-card:not([hidden])")) == 3
    page.close()
