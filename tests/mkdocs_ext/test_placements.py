"""Fences in Python-Markdown alone, without the plugin."""

from __future__ import annotations

import html
import logging
from pathlib import Path
from textwrap import indent

import pytest
from markdown import Markdown

from mkdocs_torchrecorder import TorchRecorderExtension
from tests.mkdocs_ext.placements import DRAWN, EXTENSIONS, FENCE, SHOWN, SUPERFENCES, WRONG
from tests.mkdocs_ext.seeing import Seen, see


@pytest.fixture(autouse=True)
def _here(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that keeps its recordings where the other tests do."""
    cache.mkdir(exist_ok=True)
    (tmp_path / ".torchrecorder").symlink_to(cache)
    monkeypatch.chdir(tmp_path)


FENCES = {"none": (), "superfences": SUPERFENCES, "fenced_code": ("fenced_code", "codehilite")}


@pytest.fixture(params=FENCES.values(), ids=list(FENCES))
def md(request: pytest.FixtureRequest, nets: Path) -> Markdown:
    extension = TorchRecorderExtension(path=[str(nets)])
    return Markdown(extensions=[*EXTENSIONS, *request.param, extension])


def shown(md: Markdown, text: str) -> Seen:
    return see(md.convert(text))


@pytest.mark.parametrize("text", DRAWN.values(), ids=list(DRAWN))
def test_drawn(md: Markdown, text: str, caplog: pytest.LogCaptureFixture) -> None:
    page = md.convert("Before.\n\n" + text + "\nAfter.\n")
    seen = see(page)
    assert len(seen.figures) == 1
    assert "Linear" in seen.figures[0].text
    assert seen.wrong == []
    assert "marker" not in page
    assert "```" not in page
    assert "Before." in page
    assert "After." in page
    assert [record for record in caplog.records if record.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("text", SHOWN.values(), ids=list(SHOWN))
def test_shown(md: Markdown, text: str, caplog: pytest.LogCaptureFixture) -> None:
    page = md.convert(text.replace("nets.Net", "nets.Nowhere") + "\nAfter.\n")
    seen = see(page)
    assert (seen.figures, seen.boxes) == ([], [])
    assert "marker" not in page
    assert "recorder" in page
    assert "After." in page
    assert caplog.records == []


@pytest.mark.parametrize(("line", "text", "problem"), WRONG.values(), ids=list(WRONG))
def test_wrong(md: Markdown, line: int, text: str, problem: str, caplog: pytest.LogCaptureFixture) -> None:
    page = md.convert("# Before\n" + text + "\nAfter.\n")
    seen = see(page)
    assert [record.getMessage() for record in caplog.records] == [f"line {line}: torchrecorder: {problem}"]
    assert (len(seen.figures), len(seen.boxes)) == (0, 1)
    assert problem in seen.boxes[0].text
    assert "marker" not in page
    assert "After." in page


CAPTIONS = {
    "A *picture* of `Net` & more": "A <em>picture</em> of <code>Net</code> &amp; more",
    "See [Net](https://x.org/a?b=1&c)": 'See <a href="https://x.org/a?b=1&amp;c">Net</a>',
    "and [there][ref]": 'and <a href="there.html">there</a>',
    "<b>bold</b> &amp; `<i>`": "&lt;b&gt;bold&lt;/b&gt; &amp; <code>&lt;i&gt;</code>",
    "<script>x</script>": "&lt;script&gt;x&lt;/script&gt;",
    "[unbalanced](there and [no such][nothing]": "[unbalanced](there and [no such][nothing]",
    r"5 \* 3 < 4": "5 * 3 &lt; 4",
}


@pytest.mark.parametrize(("text", "html"), CAPTIONS.items())
def test_captions_are_markdown(md: Markdown, text: str, html: str) -> None:
    fence = FENCE.replace(":shape", f":caption: {text}\n:shape")
    for page in (fence, "- item\n\n" + indent(fence, "    "), "<div>\n" + fence + "</div>\n"):
        converted = md.convert(page + "\n[ref]: there.html\n")
        assert f"<figcaption>{html}</figcaption>" in converted
        assert "torchrecorder-caption" not in converted


def test_the_caption_of_an_example_is_not_read(md: Markdown) -> None:
    fence = FENCE.replace(":shape", ":caption: A *picture*\n:shape")
    for page in ("Text:\n\n" + indent(fence, "    "), "<pre>\n" + fence + "</pre>\n", "<!--\n" + fence + "-->\n"):
        converted = md.convert(page)
        assert "*picture*" in converted
        assert "<em>" not in converted


def test_an_example_is_shown_as_it_was_written(md: Markdown) -> None:
    text = "```torchrecorder\nnets.Net\n\n:caption: <b> & more\n```"
    page = md.convert("Text:\n\n" + "\n".join(f"    {line}" if line else "" for line in text.split("\n")) + "\n\nText.")
    assert see(page).all("code")[0].text.strip() == text
    assert html.escape("<b> & more", quote=False) in page


def test_a_tight_list_stays_one(md: Markdown) -> None:
    items = shown(md, DRAWN["tight list"]).all("li")
    assert len(items) == 2
    assert items[0].text.startswith("item")
    assert items[0].text.split()[-1] == "more"


def test_ids_are_unique_in_a_page(md: Markdown) -> None:
    seen = shown(md, f"{FENCE}\n{FENCE}\n{FENCE.replace('nets.Net', 'nets.Net(width=2)')}\n{FENCE}")
    assert len(seen.figures) == 4
    assert seen.twice == set()
    labels = [svg.attributes["aria-labelledby"] for svg in seen.all("svg")]
    ids = {element.attributes.get("id") for element in seen.elements}
    assert len(set(labels)) == 4
    assert {word for label in labels for word in (label or "").split()} <= ids


def test_the_figure_is_as_the_options_say(md: Markdown) -> None:
    text = """
```torchrecorder nets.Net shape=1,3
:caption: Wide <i> & "open"
:alt: What it "shows" & hides
:name: the net
:align: left
:width: 30%
:class: one two
```
"""
    seen = shown(md, text)
    (figure,), (caption,), (picture,) = seen.figures, seen.all("figcaption"), seen.all("svg")
    assert figure.attributes["id"] == "the-net"
    assert (figure.attributes["class"] or "").split() == ["torchrecorder", "one", "two"]
    assert "text-align:left" in (figure.attributes["style"] or "")
    assert "data-search-exclude" in figure.attributes
    assert caption.text == 'Wide <i> & "open"'
    assert picture.attributes["aria-label"] == 'What it "shows" & hides'
    assert "width:30%" in (picture.attributes["style"] or "")
    assert seen.wrong == []


def test_a_box_says_what_is_wrong(md: Markdown, caplog: pytest.LogCaptureFixture) -> None:
    text = "# Title\n\nText.\n\n```torchrecorder nets.Net<b>\n:depht: 2\n:name: net\n```\n"
    (box,) = shown(md, text).boxes
    assert box.attributes["id"] == "net"
    assert box.text.startswith("No diagram of nets.Net<b>")
    assert "did you mean depth?" in box.text
    (message,) = caplog.messages
    assert message.startswith("line 5: torchrecorder: ")
    assert "'nets.Net<b>' names no model" in message
    assert "unknown option 'depht', did you mean depth?" in message


def test_a_builder_that_counts_no_warnings_gets_an_exception(nets: Path) -> None:
    extension = TorchRecorderExtension(path=str(nets), on_error="raise")
    md = Markdown(extensions=[extension])
    assert "<figure" in md.convert(FENCE)
    with pytest.raises(Exception, match=r"^line 3: torchrecorder: unknown option 'depht'"):
        md.convert("Text.\n\n```torchrecorder nets.Net depht=2\n```")


def test_options_of_the_extension(nets: Path, caplog: pytest.LogCaptureFixture) -> None:
    options = {"shape": "1,3", "depth": 0, "fold": "perhaps"}
    extension = TorchRecorderExtension(path=[str(nets)], options=options)
    page = Markdown(extensions=[extension]).convert("```torchrecorder nets.Net\n```")
    assert "Linear 3→8, ReLU" in see(page).figures[0].text  # closed
    assert caplog.messages == [
        "torchrecorder: options: fold: 'perhaps' is neither yes nor no, nor a path with * or !, such as layers.*"
    ]


def test_a_text_without_fences_costs_nothing(tmp_path: Path) -> None:
    folder = tmp_path / "never"
    md = Markdown(extensions=[TorchRecorderExtension(cache=str(folder))])
    assert md.convert("Read about torchrecorder.") == "<p>Read about torchrecorder.</p>"
    assert not folder.exists()
