"""Diagrams in the docstrings that mkdocstrings shows, for which nobody writes a fence."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import griffe
import pytest

from mkdocs_torchrecorder.automatic import ModuleDiagrams
from tests.mkdocs_ext.site import Built, Site

PACKAGE = '''
"""Nets."""
import torch
from torch import nn
from enum import Enum
from elsewhere_zoo import Base


class Net(nn.Module):
    """A net.

    Args:
        width: Its width.

    Returns:
        Nothing of use.
    """

    def __init__(self, width=8):
        super().__init__()
        self.first, self.second = nn.Linear(3, width), nn.Linear(width, 1)

    def forward(self, x):
        return self.second(self.first(x))


class Child(Net):
    """Another net."""


class Needs(nn.Module):
    """It needs an argument."""

    def __init__(self, secret):
        super().__init__()
        self.first, self.second = nn.Linear(3, secret), nn.Linear(secret, 1)

    def forward(self, x):
        return self.second(self.first(x))


class Own(Net):
    """It has a fence of its own.

    ```torchrecorder
    autonets.Own
    :shape: 1,3
    ```
    """


class Says(Net):
    """It says its options.

    :torchrecorder: arguments=width=5 shape=2,3
    """


class No(Net):
    """It says no.

    :torchrecorder: no
    """


class Wrong(Net):
    """It says what is not known.

    :torchrecorder: dept=2
    """


class Kind(Enum):
    """No module."""

    A = 1


class Loader(Base):
    """No module either, which only the worker knows."""


class Bare(Net):
    pass


class Vague(nn.Module):
    """It takes anything: no size would be its own."""

    def forward(self, x):
        return x.relu()
'''


@pytest.fixture
def api(site: Site, tmp_path: Path) -> Site:
    nets = tmp_path / "src"
    nets.mkdir()
    (nets / "autonets.py").write_text(PACKAGE)
    (nets / "elsewhere_zoo.py").write_text("class Base:\n    pass\n")
    site.settings["path"] = [str(nets)]
    site.write("index.md", "# API\n\n::: autonets\n")
    return site


def build(api: Site, autodoc: object, *, place: str = "auto", **options: Any) -> Built:
    api.settings |= {"autodoc": autodoc, "autodoc_place": place}
    config = {"paths": api.settings["path"], "options": {"docstring_style": "google", "show_source": False, **options}}
    plugins = ["search", "autorefs", {"mkdocstrings": {"handlers": {"python": config}}}]
    return api.build(plugins=plugins)


def parts(html: str) -> dict[str, str]:
    """The HTML of each class, by its name."""
    starts = [(found[1], found.start()) for found in re.finditer(r'<h2 id="autonets\.(\w+)"', html)]
    ends = [start for _, start in starts[1:]] + [len(html)]
    return {name: html[start:end] for (name, start), end in zip(starts, ends, strict=True)}


def drawn(built: Built) -> set[str]:
    return {name for name, html in parts(built.page()).items() if "<svg" in html}


@pytest.mark.parametrize("style", ["google", "numpy", "sphinx"])
def test_each_documented_module_is_drawn_once(api: Site, style: str) -> None:
    built = build(api, True, docstring_style=style)
    assert built.aborted == ""
    assert drawn(built) == {"Net", "Child", "Own", "Says", "Wrong"}
    shown = parts(built.page())
    assert shown["Own"].count("<svg") == 1
    assert "8" not in re.findall(r"Linear 3→(\d+)", shown["Says"])
    assert ":torchrecorder:" not in built.page()
    assert "torchrecorder-automatic" not in built.page()
    (said,) = [text for text in built.progress if "automatic diagrams" in text]
    assert "autonets.Needs" in said
    assert "little to show in autonets.Vague" in said
    assert "Loader" not in said
    assert "Kind" not in said
    (warning,) = [text for text in built.warnings if "griffe" not in text]
    assert "did you mean depth?" in warning


def test_a_class_without_a_docstring_is_drawn_where_it_is_shown(api: Site) -> None:
    assert "Bare" not in parts(build(api, True).page())
    assert "Bare" in drawn(build(api, True, show_if_no_docstring=True))
    assert "Bare" in drawn(build(api, True, show_if_no_docstring=True, merge_init_into_class=True))


def test_a_table_stands_above_the_classes(api: Site) -> None:
    assert "torchrecorder-models" not in build(api, True).page()
    api.settings["autodoc_summary"] = True
    page = build(api, True).page()
    table = page.partition('<div class="doc doc-children">')[0].partition('class="torchrecorder-models"')[2]
    assert re.findall(r'<tr><td><a href="([^"]*)">(\w+)', table) == [
        (f"#autonets.{name}", name) for name in ("Child", "Net", "Says", "Wrong")
    ]


def test_the_worker_is_asked_for_what_sources_do_not_tell(tmp_path: Path) -> None:
    bases = {
        "Net": "torch.nn.Module",
        "Items": "torch.utils.data.Dataset",
        "Plan": "torch.optim.lr_scheduler.LRScheduler",
    }
    bases |= {"Model": "lightning.LightningModule", "Error": "ValueError", "Mixed": "torch.utils.data.Dataset, Net"}
    classes = [f'class {name}({base}):\n    """One."""\n' for name, base in bases.items()]
    (tmp_path / "zoo_of_bases.py").write_text("\n".join(["import torch, lightning", *classes]))
    package = griffe.load("zoo_of_bases", search_paths=[tmp_path], extensions=griffe.load_extensions(ModuleDiagrams()))
    said = {name: str(cls.docstring.parse()[-1].value) for name, cls in package.classes.items() if cls.docstring}
    assert {name for name, text in said.items() if "torchrecorder-automatic" in text} == {"Net", "Model", "Mixed"}


def test_a_verbose_build_lists_each_class_without_a_picture_with_its_reason(
    api: Site, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "mkdocs.plugins.torchrecorder")
    build(api, True)
    (listed,) = [text for text in caplog.messages if text.startswith("autonets.Needs: ")]
    assert "argument: 'secret'" in listed
    assert "\nautonets.Vague: its inputs can be guessed from the names of its parameters alone" in listed


def test_patterns_choose_and_say_options(api: Site) -> None:
    built = build(api, {"autonets.Ne*": {"arguments": "width=6, secret=6", "shape": "1,3"}, "autonets.Own": False})
    assert drawn(built) == {"Net", "Needs", "Own", "Says", "Wrong"}
    assert "Linear 3→6" in parts(built.page())["Needs"]


def test_the_most_exact_pattern_wins_whichever_name_of_the_class_it_is_for(api: Site) -> None:
    source = Path(api.settings["path"][0])
    package = source / "offered"
    package.mkdir()
    (source / "autonets.py").rename(package / "nets.py")
    (package / "__init__.py").write_text("from offered.nets import Net, Child\n")
    api.write("index.md", "# API\n\n::: offered.Net\n\n::: offered.Child\n")
    page = build(
        api, {"offered.*": {"shape": "1,3"}, "offered.Net": {"arguments": "width=7"}, "offered.nets.Child": False}
    ).page()
    assert "Linear 3→7" in page
    assert page.count("<svg") == 1


def test_what_a_pattern_names_and_cannot_be_drawn_is_a_warning(api: Site) -> None:
    built = build(api, {"autonets.Needs": {"shape": "1,3"}, "autonets.Nett": {"shape": "1,3"}})
    assert any("autonets.Needs" in text and "give the arguments" in text for text in built.warnings)
    assert any("'autonets.Nett' matches no documented class; did you mean" in text for text in built.warnings)
    assert "No diagram of" in parts(built.page())["Needs"]


def test_a_tall_picture_is_closed(api: Site) -> None:
    assert '<details class="torchrecorder-closed">' not in build(api, True).page()
    assert (
        '<details class="torchrecorder-closed"><summary>Architecture of Net' in build(api, True, place="summary").page()
    )


def test_without_mkdocstrings_a_warning_says_so(api: Site) -> None:
    api.settings["autodoc"] = True
    api.write("index.md", "# Nothing\n")
    (warning,) = api.build().warnings
    assert "name mkdocstrings under `plugins:`" in warning
