from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown import Markdown

from mkdocs_torchrecorder import TorchRecorderExtension
from mkdocs_torchrecorder.fence import (
    Fence,
    find_fences,
    find_line,
    marked_fences,
    marker,
    read_fence,
    replace_markers,
)
from torchrecorder.request import Body

PIECES = [
    "```",
    "````",
    "~~~",
    "torchrecorder",
    " torchrecorder pkg.Net",
    "Torchrecorder",
    "- ",
    "| ",
    "{.torchrecorder #a}",
    ".. torchrecorder:: a",
    "shape=1,3",
    "    ",
    "> ",
]
LINES = st.lists(st.lists(st.sampled_from(PIECES), max_size=4).map("".join) | st.just(""), max_size=12)


def found(text: str) -> list[Fence]:
    return [place.fence for place in find_fences(text.split("\n"))]


def inner(fence: Fence) -> str:
    return "\n".join(fence.raw.split("\n")[1:-1])


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("```torchrecorder\npkg.Net\n```", "pkg.Net"),
        ("~~~torchrecorder\npkg.Net\n~~~", "pkg.Net"),
        ("````` torchrecorder\na\n```\nb\n`````", "a\n```\nb"),
        ("    ```torchrecorder\n    pkg.Net\n\n      deeper\n    ```", "pkg.Net\n\n  deeper"),
        ("> - ```torchrecorder\n>   pkg.Net\n>   ```", "pkg.Net"),
        ("- - ```torchrecorder\n    pkg.Net\n    ```", "pkg.Net"),
        ("[^1]: ```torchrecorder\n      pkg.Net\n      ```", "pkg.Net"),
        ("- ```python\n  x\n  ```\n```torchrecorder\npkg.Net\n```", "pkg.Net"),
        ("> ```torchrecorder\n> pkg.Net\n>\n> ```", "pkg.Net\n"),
        ("```torchrecorder\n```", ""),
        ("```recorder\npkg.Net\n```", None),
        ("```torch\npkg.Net\n```", None),
        ("```python\n```\n```torchrecorder\npkg.Net\n```", "pkg.Net"),
        ("````\n```torchrecorder\npkg.Net\n```\n````", None),
        ("~~~\n```torchrecorder\npkg.Net\n```\n~~~", None),
        ("`` ```torchrecorder`` in a sentence", None),
        ("```torchrecorder in a sentence```\npkg.Net\n```", None),
    ],
)
def test_what_is_a_fence(text: str, body: str | None) -> None:
    assert [(inner(fence), fence.body.fault) for fence in found(text)] == ([] if body is None else [(body, "")])


@pytest.mark.parametrize("before", ["", "> ", "    "])
def test_a_directive_of_sphinx_is_a_problem_where_markdown_reads_it(before: str) -> None:
    lines = ["Text:", "", ".. torchrecorder:: pkg.Net", "   :shape: 1,3", "", "More."]
    (fence,) = found("\n".join(f"{before}{line}" for line in lines))
    assert fence.raw == ".. torchrecorder:: pkg.Net\n   :shape: 1,3"
    assert "is text in Markdown: write a fence" in fence.body.fault
    assert found("```rst\n.. torchrecorder:: pkg.Net\n```\n`.. torchrecorder:: pkg.Net`") == []


def test_equal_fences_are_counted_and_found_again() -> None:
    text = "---\ntitle: x\n---\n\n```torchrecorder\r\npkg.Net\r\n```\n\n\t```torchrecorder\n\tpkg.Net\n\t```\n"
    first, second = found(text.replace("\r\n", "\n").expandtabs(4))
    assert (first.raw, first.copy, second.raw, second.copy) == (second.raw, 1, first.raw, 2)
    assert [find_line(fence, text) for fence in (first, second)] == [5, 9]
    assert find_line(Fence(Body("elsewhere"), "elsewhere"), text) is None


@example(["```torchrecorder| ```"])
@given(LINES)
def test_no_text_is_eaten(lines: list[str]) -> None:
    places = list(find_fences(lines))
    left: list[str] = []
    done = 0
    for place in places:
        assert done <= place.start < place.end <= len(lines)
        assert "torchrecorder" in lines[place.start].lower()
        assert lines[place.start].startswith(place.prefix)
        assert lines[place.start].endswith(place.suffix)
        taken_lines = lines[place.start : place.end]
        inner = [line.removeprefix(place.prefix).removesuffix(place.suffix) for line in taken_lines]
        assert [line.strip() for line in inner] == [line.strip() for line in place.fence.raw.split("\n")] or (
            ">" in place.prefix
        )
        left += lines[done : place.start]
        done = place.end
    taken = sum(place.end - place.start for place in places)
    assert len(left + lines[done:]) == len(lines) - taken


@given(LINES)
def test_words_outside_of_fences_reach_the_page(lines: list[str]) -> None:
    lines = [
        line if "torchrecorder" in line.lower() or not line.strip(" >`~|-") else f"{line} w{i}w"
        for i, line in enumerate(lines)
    ]
    lines = [line.expandtabs(4) for line in lines]
    inside = {i for place in find_fences(lines) for i in range(place.start, place.end)}
    html = Markdown(extensions=[TorchRecorderExtension(leave_markers=True)]).convert("\n".join(lines))
    assert all(f"w{i}w" in html for i, line in enumerate(lines) if line.endswith(f"w{i}w") and i not in inside)


@given(st.text(), st.text(), st.text())
def test_any_fence_can_be_marked_and_read(header: str, body: str, around: str) -> None:
    fence = Fence(read_fence(header, body.split("\n")), f"```{header}\n{body}\n```", 3)
    html = f"<p>{around.replace('<', '')}</p>{marker(fence)}"
    assert marked_fences(html) == [fence]
    assert replace_markers(html, lambda one, caption: one.raw) == html.replace(marker(fence), fence.raw)


@given(LINES)
def test_every_text_is_converted_and_never_twice(lines: list[str]) -> None:
    text = "\n".join(lines)
    md = Markdown(extensions=["pymdownx.superfences", "admonition", TorchRecorderExtension(leave_markers=True)])
    html = md.convert(text)
    figures = md.postprocessors["torchrecorder_figures"]
    assert figures.run(html) == html
