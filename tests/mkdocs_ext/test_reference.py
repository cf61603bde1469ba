"""The site of this project: it builds without a warning, and every public name has its place in the reference."""

from __future__ import annotations

import re
from contextlib import suppress
from inspect import getattr_static, isclass, isroutine
from pathlib import Path
from pkgutil import resolve_name

import griffe
import pytest
from mkdocs.config import load_config
from mkdocstrings import Inventory

from tests.mkdocs_ext.site import Built, Site
from tests.test_examples import DOORS, members, public

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The site, built in another folder, so that what is recorded stays out of the checkout."""
    folder = tmp_path_factory.mktemp("project")
    for name in ("core", "docs", "mkdocs.yml"):
        (folder / name).symlink_to(ROOT / name)
    config = load_config(str(folder / "mkdocs.yml"), strict=True)
    config.plugins.on_startup(command="build", dirty=False)
    return Site.rebuild(config)


def test_it_builds_without_a_warning(built: Built) -> None:
    assert (built.aborted, built.warnings) == ("", [])


def test_its_pictures_are_drawn(built: Built) -> None:
    for page in (ROOT / "docs" / "reference").glob("*.md"):
        fences = re.findall(r"^```torchrecorder", page.read_text(encoding="utf-8"), re.MULTILINE)
        html = "reference/index.html" if page.stem == "index" else f"reference/{page.stem}/index.html"
        automatic = 3 if page.stem == "index" else 0
        assert len(re.findall("<figure", built.page(html))) == len(fences) + automatic


def described(built: Built) -> list[tuple[str, object]]:
    """What has a heading in the reference, with the last part of its name."""
    with (built.folder / "objects.inv").open("rb") as file:
        names = [name for name in Inventory.parse_sphinx(file) if name.startswith("torchrecorder.")]
    found = []
    for name in names:
        owner, _, last = name.rpartition(".")
        with suppress(AttributeError):  # a field without a default is in the instances alone
            found.append((last, getattr_static(resolve_name(owner), last, None) or resolve_name(name)))
    return found


def missing(wanted: dict[str, object], described: list[tuple[str, object]]) -> list[str]:
    """The names, and the methods and properties of classes, that nothing is said of."""

    def is_there(name: str, value: object) -> bool:
        return any(name == other and value is thing for other, thing in described)

    lost = []
    for path, value in wanted.items():
        if not is_there(path.rpartition(".")[2], value):
            lost.append(path)
        elif isclass(value):
            lost += [f"{path}.{name}" for name, member in members(value).items() if not is_there(name, member)]
    return lost


def test_every_public_name_has_its_place(built: Built) -> None:
    assert missing(public(DOORS), described(built)) == []


def test_what_import_torchrecorder_offers_has_its_place(built: Built) -> None:
    names = public(["torchrecorder", "torchrecorder.graph"])
    things: dict[str, object] = {path: one for path, one in names.items() if isclass(one) or isroutine(one)}
    assert set(missing(things, described(built))).isdisjoint(things)


def test_a_name_without_a_place_is_found(built: Built) -> None:
    known = [(name, value) for name, value in described(built) if name not in ("make_dot", "render_edge")]
    names = ["torchrecorder.helpers", "torchrecorder.renderer.gv"]
    assert missing(public(names), known) == [
        "torchrecorder.helpers.make_dot",
        "torchrecorder.renderer.gv.GraphvizRenderer.render_edge",
    ]


def test_every_attribute_is_described(built: Built) -> None:
    package, shown = griffe.load("torchrecorder", search_paths=[ROOT / "core"]), described(built)
    lost = []
    for path, value in public(DOORS).items():
        cls = package[path.removeprefix("torchrecorder.")]
        if isclass(value) and cls.is_class:
            bases = [one for one in (cls, *cls.mro()) if any(resolve_name(one.path) is thing for _, thing in shown)]
            known = {name for one in bases for name in _in_sections(one)}
            lost += [f"{path}.{name}" for name in _attributes(cls) if name not in known]
    assert lost == []


def _in_sections(cls: griffe.Class | griffe.Alias) -> set[str]:
    """The names in the sections of a class's docstring."""
    sections = cls.docstring.parse("google") if cls.docstring else []
    kinds = (griffe.DocstringSectionKind.attributes, griffe.DocstringSectionKind.parameters)
    return {one.name for section in sections if section.kind in kinds for one in section.value}


def _attributes(cls: griffe.Class | griffe.Alias) -> list[str]:
    """The public attributes of a class that have no docstring of their own."""
    found = cls.all_members.items()
    return [name for name, one in found if one.is_attribute and not name.startswith("_") and not one.has_docstring]
