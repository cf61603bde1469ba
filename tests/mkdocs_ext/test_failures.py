"""Diagrams that cannot be drawn: one warning each, a box, and the build goes on, every time."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from mkdocs_torchrecorder import TorchRecorderPlugin
from tests.mkdocs_ext.placements import FENCE
from tests.mkdocs_ext.seeing import see, words
from tests.mkdocs_ext.site import Built, Site

PAGE = """
---
title: With front matter
---
# Errors

```torchrecorder
nets.Nett
:shape: 1,3
```

- In a list

    ```torchrecorder
    nets.broken.Net
    :shape: 1,3
    ```

```torchrecorder
nets.Mismatch
:shape: 1,3
```

```torchrecorder nets.Net
:inputs: nets.no_such_inputs
```

The same again:

```torchrecorder
nets.Nett
:shape: 1,3
```

> ```torchrecorder nets.Net
> :depht: 2
> :shape: 1x3
> ```

Only shown:

    ```torchrecorder
    nets.Nowhere
    ```

```torchrecorder
nets.Net
:shape: 1,3
```
"""

# What each warning says, in parts.
WARNINGS = {
    ("sub/page.md", 6): "cannot find nets.Nett: nets has no 'Nett' | did you mean nets.Net?",
    ("sub/page.md", 13): "cannot import nets.broken: RuntimeError: the weights are elsewhere",
    ("sub/page.md", 18): "the forward of Mismatch failed in layer narrow (Linear), called with (1, 8)",
    ("sub/page.md", 23): "cannot load the inputs nets.no_such_inputs",
    ("sub/page.md", 29): "cannot find nets.Nett: nets has no 'Nett' | did you mean nets.Net?",
    ("sub/page.md", 34): "unknown option 'depht', did you mean depth? | shape: '1x3' is not a valid size: write 1,3",
}


def located(built: Built) -> dict[tuple[str, int], str]:
    """The warnings by page and line."""
    parts = [re.fullmatch(r"([\w/.]+):(\d+): torchrecorder: (.*)", text, re.DOTALL) for text in built.warnings]
    return {(part[1], int(part[2])): words(part[3]) for part in parts if part}


def test_every_failure_is_one_warning_at_its_line_in_every_build(site: Site) -> None:
    site.write("index.md", "# Home\n")
    site.write("sub/page.md", PAGE)
    for is_known in (False, True):
        built = site.build(strict=True)
        found = located(built)
        assert is_known is not any("recording" in text for text in built.progress)
        assert len(built.warnings) == len(WARNINGS)
        assert list(found) == list(WARNINGS)
        missing = {
            place: part for place, text in WARNINGS.items() for part in text.split(" | ") if part not in found[place]
        }
        assert missing == {}
        assert built.aborted == f"Aborted with {len(WARNINGS)} warnings in strict mode!"
    seen = see(built.page("sub/page/index.html"))
    assert len(seen.boxes) == 5
    assert "did you mean nets.Net?" in seen.boxes[0].text
    partial, whole = seen.figures
    assert "This diagram is not complete: the forward of Mismatch failed" in partial.text
    assert "narrow" in partial.text
    assert "not complete" not in whole.text
    assert seen.wrong == []


def test_a_failure_can_end_the_build(site: Site) -> None:
    site.write("index.md", "```torchrecorder nets.Net shpae=1\n```\n")
    site.settings["on_error"] = "raise"
    built = site.build()
    assert built.aborted == "Aborted with a BuildError!"
    assert "index.md:1: torchrecorder: unknown option 'shpae', did you mean shape?" in built.warnings


def test_a_fence_from_elsewhere_is_located_by_its_page(site: Site) -> None:
    (site.folder / "part.md").write_text("```torchrecorder nets.Net shpae=1\n```\n", encoding="utf-8")
    site.write("index.md", '# Home\n\n--8<-- "part.md"\n')
    built = site.build(extensions=[{"pymdownx.snippets": {"base_path": [str(site.folder)]}}])
    assert built.warnings == ["index.md: torchrecorder: unknown option 'shpae', did you mean shape?"]


def test_a_missing_engine_is_one_warning(site: Site) -> None:
    site.write(
        "index.md", FENCE.replace(":shape", ":depth: 7\n:shape") + "\n" + FENCE.replace(":shape", ":depth: 8\n:shape")
    )
    site.settings["engine"] = "no-such-engine"
    built = site.build()
    (warning,) = built.warnings
    text = "torchrecorder: 2 diagrams are missing: no layout engine: no-such-engine is not a program"
    assert warning.startswith(text)
    assert "pip install graphviz-pure" in warning
    assert len(see(built.page()).boxes) == 2


def test_a_missing_torch_is_one_warning(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('this is a builder without torch')", encoding="utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    site.keep_in(tmp_path / "cache")
    site.write("index.md", FENCE)
    site.write("page.md", FENCE.replace("nets.Net", "nets.other.Other") + "\n" + FENCE)
    built = site.build(strict=True)
    (warning,) = built.warnings
    assert warning.startswith("torchrecorder: 3 diagrams are missing: cannot record nets.Net")
    assert "this is a builder without torch" in warning
    assert built.aborted
    assert len(see(built.page("page/index.html")).boxes) == 2


def test_a_cache_that_cannot_be_written_is_one_warning(site: Site, cache: Path, tmp_path: Path) -> None:
    site.write("index.md", FENCE)
    assert site.build().warnings == []
    copy = tmp_path / "cache"
    shutil.copytree(cache, copy)
    shutil.rmtree(copy / "ren")
    (copy / "ren").write_text("in the way", encoding="utf-8")
    site.keep_in(copy)
    built = site.build()
    (warning,) = built.warnings
    assert warning.startswith("torchrecorder: cannot write to the cache")
    assert len(see(built.page()).figures) == 1


@pytest.mark.parametrize(
    ("url", "said", "warnings"),
    [
        ("http://127.0.0.1:9/team", "is not used", 0),
        ("nosuch://team", "cannot use the remote cache nosuch://team", 1),
    ],
)
def test_a_remote_cache_that_is_none_stops_nothing(
    site: Site, tmp_path: Path, url: str, said: str, warnings: int
) -> None:
    site.keep_in(tmp_path / "cache")
    site.settings["remote"] = url
    site.write("index.md", FENCE)
    built = site.build()
    assert len(built.warnings) == warnings
    assert said in "\n".join(record.getMessage() for record in built.records)
    assert "<svg" in built.page()


def test_pictures_that_go_while_the_site_is_built(
    site: Site, nets: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `torchrecorder gc` may take them: they are drawn again; where that cannot be, a box says so."""
    site.keep_in(tmp_path / "cache")
    site.write("index.md", "```torchrecorder\nnets.Net\n:shape: 1,3\n```\n")
    first = site.build()
    assert figures(site.build()) == figures(first)  # examines the picture, so that the next one need not read it
    draw = TorchRecorderPlugin.on_env

    def draw_and_lose(plugin: TorchRecorderPlugin, *args: Any, **kwargs: Any) -> Any:
        env = draw(plugin, *args, **kwargs)
        for folder in ("rec", "ren"):
            shutil.rmtree(tmp_path / "cache" / folder)
        return env

    monkeypatch.setattr(TorchRecorderPlugin, "on_env", draw_and_lose)
    again = site.build()
    assert (again.warnings, figures(again)) == ([], figures(first))
    monkeypatch.undo()
    assert [figures(site.build()) for _ in range(2)] == [figures(first)] * 2
    monkeypatch.setattr(TorchRecorderPlugin, "on_env", draw_and_lose)
    site.settings["engine"] = "/nowhere"
    lost = site.build()
    assert [warning for warning in lost.warnings if "nets.Net: " in warning and "/nowhere" in warning] == lost.warnings
    assert len(lost.warnings) == 1
    assert "No diagram of <code>nets.Net</code>" in lost.page()


def figures(built: Built) -> list[str]:
    found = re.findall("<figure.*?</figure>", built.page(), re.DOTALL)
    assert found
    return found
