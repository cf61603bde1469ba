"""The door of the core, as a front end without a tool: what it says, and where."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from torchrecorder import site as door
from torchrecorder.drawing.model import Drawing
from torchrecorder.errors import FormatError, LeftOut, OptionError
from torchrecorder.graph import Graph
from torchrecorder.page import Diagram, Outcome
from torchrecorder.request import DiagramRequest
from torchrecorder.site import SETTINGS, Body, Message, Site


class Said(list[Message]):
    """The log of a tool."""

    def warnings(self) -> list[tuple[str, str]]:
        return [(message.place, message.text) for message in self if message.kind]


def made(root: Path, setting: str = "torchrecorder_{}", **written: object) -> tuple[Site[str], Said]:
    """A site whose places are texts, `page:1`."""
    log = Said()

    class Here(Site[str]):
        def tell(self, message: Message) -> None:
            log.append(message)

        def locate(self, place: str) -> str:
            return f"docs/{place}"

    Here.setting, Here.where = setting, f"`{setting}` in conf.py"
    return Here(root, {"machine_cache": "cache", **written}), log


def drawn(monkeypatch: pytest.MonkeyPatch, outcome: Any = None) -> list[DiagramRequest]:
    """Have the pipeline give an outcome for each request; gives those that it was asked."""
    asked: list[DiagramRequest] = []

    def run(self: object, requests: list[DiagramRequest], on_progress: object) -> dict[DiagramRequest, Outcome]:
        asked.extend(requests)
        return {request: outcome(request) if outcome else Outcome(request, None) for request in requests}

    monkeypatch.setattr("torchrecorder.pipeline.Pipeline.run", run)
    return asked


def test_every_name_of_the_door_is_there() -> None:
    assert [name for name in door.__all__ if not hasattr(door, name)] == []
    with pytest.raises(AttributeError, match="no attribute 'Pipelines'"):
        _ = door.Pipelines


WRONG: dict[str, object] = {
    "on_stale": "wran",
    "memory": "much",
    "options": {"depht": 2},
    "autodoc_place": "top",
    "autodoc": {"a b": True},
    "pth": [],
}


@pytest.mark.parametrize("setting", ["torchrecorder_{}", "{}"])
def test_a_wrong_setting_is_a_warning_in_every_tool_and_the_default_holds(tmp_path: Path, setting: str) -> None:
    site, said = made(tmp_path, setting, **WRONG)
    names = [setting.format(name) for name in ("on_stale", "memory", "options", "autodoc", "autodoc_place", "pth")]
    assert sorted(text.partition(":")[0] for _, text in said.warnings()) == sorted(names)
    assert {message.kind for message in said} == {"option"}
    assert f"did you mean `{setting.format('path')}` in conf.py?" in " ".join(message.text for message in said)
    default, _ = made(tmp_path)
    assert site.settings == default.settings


def test_every_setting_can_be_said(tmp_path: Path) -> None:
    written: dict[str, Any] = {setting.name: setting.default for setting in SETTINGS}
    _, said = made(tmp_path, **written)
    assert said == []


def test_options_of_a_page_come_before_those_of_the_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = drawn(monkeypatch)
    site, said = made(tmp_path, options={"depth": 1, "grey": True})
    options = site.page_options({"depth": 2, "dept": 1}, "page")
    assert said.warnings() == [("page", "in the front matter, unknown option 'dept', did you mean depth?")]
    site.draw({"page:1": Body("pkg.Net"), "page:2": Body("pkg.Net", {"depth": "3"})}, options={"page:1": options})
    assert [(it.drawing.depth, it.drawing.grey) for it in asked] == [(2, True), (3, True)]
    assert site.page_options("depth") == {}
    assert len(said.warnings()) == 1, "without a place nothing is said"
    assert site.page_options(["depth"], "page") == {}
    assert said.warnings()[-1] == (
        "page",
        "in the front matter, torchrecorder holds options, each in a line `name: value`",
    )


def test_a_body_that_cannot_be_read_is_an_outcome_and_a_warning_at_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = drawn(monkeypatch)
    site, said = made(tmp_path)
    site.draw({"page:1": Body("Net", {"name": "fig"}), "page:2": Body("", fault="the fence is not closed")})
    assert asked == []
    assert [place for place, _ in said.warnings()] == ["docs/page:1", "docs/page:2"]
    first, second = site.results["page:1"], site.results["page:2"]
    assert (first.request.recording.target, first.request.figure.name) == ("Net", "fig")
    assert first.reasons()[0].startswith("'Net' names no module")
    assert second.reasons() == ("the fence is not closed",)
    assert site.warnings == [f"{place}: torchrecorder: {text}" for place, text in said.warnings()]


def test_a_class_of_a_kind_that_gets_no_picture_is_not_even_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = drawn(monkeypatch)
    site, said = made(tmp_path)
    kind = "it is a loss"
    ranked = {"a": Body("pkg.Net", is_tried=True, is_ranked=True, obstacle=kind)}
    tried = {"b": Body("pkg.losses.Tried", is_tried=True, obstacle=kind), "c": Body("pkg.Named", obstacle=kind)}
    site.draw({**ranked, **tried})
    assert [request.recording.target for request in asked] == ["pkg.losses.Tried", "pkg.Named"]
    assert isinstance(site.results["a"].error, LeftOut)
    assert site.results["a"].is_skipped
    assert said.warnings() == []


def test_a_tool_without_pictures_hears_of_what_is_written_only(tmp_path: Path) -> None:
    site, said = made(tmp_path)
    site.draw({"a": Body("pkg.Net"), "b": Body("Net"), "c": Body("pkg.Net", {"depth": "x"})}, pictures=False)
    assert sorted(place for place, _ in said.warnings()) == ["docs/b", "docs/c"]
    assert site.results.keys() == {"b", "c"}


def test_warnings_end_a_build_where_the_settings_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn(monkeypatch)
    for on_error, ends in (("warn", False), ("raise", True)):
        site, _ = made(tmp_path, on_error=on_error, memory="much")
        site.draw({"page:1": Body("Net")})
        assert bool(site.fatal()) is ends
        assert len(site.warnings) == 1, "a wrong setting alone ends nothing"
        site.draw({})
        assert site.warnings == []


def test_what_no_check_foresees_is_one_warning_and_a_box_for_each_place(tmp_path: Path) -> None:
    site, said = made(tmp_path)
    site.give_up({"a": Body("pkg.Net"), "b": Body("pkg.Net")}, UnicodeError("unforeseen"))
    ((place, text),) = said.warnings()
    assert place == ""
    assert "torchrecorder failed inside" in text
    assert all(isinstance(outcome.error, OptionError) for outcome in site.results.values())
    assert {outcome.request.recording.target for outcome in site.results.values()} == {"pkg.Net"}
    assert [outcome.is_skipped for outcome in site.results.values()] == [False, False]


def test_a_picture_that_has_left_the_cache_is_warned_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        digest, classes = "0", ()

        def load(self) -> Drawing:
            raise FormatError("a drawing", "it went")

    def graph() -> Graph:
        raise AssertionError

    def outcome(request: DiagramRequest) -> Outcome:
        return Outcome(request, Diagram(Gone(), load_graph=graph))  # type: ignore[arg-type]

    drawn(monkeypatch, outcome)
    site, said = made(tmp_path)
    site.draw({"page:1": Body("pkg.Net")})
    assert site.shown("page:2") is None
    for _ in range(2):
        shown = site.shown("page:1")
        assert shown is not None
        assert shown.diagram is None
    assert [place for place, _ in said.warnings()] == ["docs/page:1"]
