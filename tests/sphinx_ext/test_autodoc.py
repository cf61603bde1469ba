"""Diagrams of classes that autodoc documents, without a directive, and directives that leave out their target."""

from __future__ import annotations

import os
import re

import pytest

from tests.sphinx_ext.project import Built, Project

PACKAGE = '''
"""Nets of a library."""

from abc import ABC, abstractmethod

from nets import Net
from torch import nn


class Small(Net):
    """Two layers.

    Args:
        width: How wide it is.

    Note:
        It is small.
    """

    def __init__(self, width=8):
        """Set it up."""
        super().__init__(width)

    def forward(self, x):
        """Run both."""
        return super().forward(x)

    class Part(nn.Module):
        """A class in a class."""

        def __init__(self):
            super().__init__()
            self.both = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))

        def forward(self, x):
            return self.both(x)


class Bare(Small):
    def forward(self, x):
        return self.leave(self.enter(x).tanh())


class Says(Small):
    """Says how it is drawn.

    :torchrecorder: arguments=width=5 shape=7,3
        depth=0
    :param width: How wide it is.
    """


class Refuses(Small):
    """Is not drawn.

    :torchrecorder: no
    """


class Shows(Small):
    """Has a diagram of its own.

    .. torchrecorder::
       :shape: 9,3
       :caption: Its own.
    """


class Needs(nn.Module):
    """Needs what no name tells."""

    def __init__(self, secret):
        super().__init__()
        self.only = nn.Linear(secret, 6)

    def forward(self, x):
        return self.only(x)


class Half(nn.Module, ABC):
    """Is abstract."""

    @abstractmethod
    def encode(self, x):
        """Encode."""


class Fails(nn.Module):
    """Cannot be run."""

    def forward(self, x):
        raise RuntimeError("not today")


class OneLoss(Small):
    """Two layers, but a loss."""


class Config:
    """No module."""
'''
DEEP = '''
from torch import nn


class Deep(nn.Module):
    """Many layers."""

    def __init__(self):
        super().__init__()
        layers = [layer for i in range(1, 14) for layer in (nn.Linear(i, i + 1), nn.ReLU(), nn.LayerNorm(i + 1))]
        self.body = nn.Sequential(*layers)

    def forward(self, x):
        return self.body(x)
'''
CONF = """
extensions += ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "sphinx.ext.napoleon"]
import sys
sys.path.insert(0, {src!r})
autodoc_mock_imports = ["torch"]
torchrecorder_autodoc = {autodoc}
"""
"""With torch as a mock, only Sphinx itself imports it, for signatures of classes that inherit their constructor."""

INFORMATION = (
    "torchrecorder: automatic diagrams: {drawn} drawn, 4 not: no inputs found for autonets.Fails;"
    " little to show in autonets.Half, autonets.OneLoss; cannot be built without arguments: autonets.Needs"
)


def library(project: Project, autodoc: object = True, **pages: str) -> Project:
    """A project that documents the classes of a library."""
    project.configure(CONF.format(src=str(project.root / "src"), autodoc=repr(autodoc)))
    project.write("src/autonets.py", PACKAGE)
    project.write("docs/index.rst", "Index\n=====\n\n.. toctree::\n   :glob:\n\n   *\n")
    for name, text in (pages or {"nets": ".. automodule:: autonets\n   :members:\n   :undoc-members:\n"}).items():
        project.write(f"docs/{name}.rst", f"{name}\n{'=' * len(name)}\n\n{text}")
    return project


def description(built: Built, page: str, cls: str) -> str:
    """What a page of HTML says of a class, without its members."""
    text = built.text(page)
    start = text.index(f'id="{cls}"')
    return re.split(r'<dl class="py ', text[start:], maxsplit=1)[0].partition('<dt class="sig')[0]


def figures(text: str) -> int:
    return text.count("<figure")


def test_every_module_that_can_be_drawn_is_drawn_behind_its_docstring(project: Project) -> None:
    library(project)
    built = project.build("html", "-W").ok()
    assert INFORMATION.format(drawn=3) in built.output
    assert len(built.workers) == 1

    small = description(built, "nets.html", "autonets.Small")
    assert small.index("How wide it is") < small.index("It is small") < small.index("<figure")
    assert figures(small) == 1
    assert "Two layers" in small
    part, bare, says = (description(built, "nets.html", f"autonets.{name}") for name in ("Small.Part", "Bare", "Says"))
    assert [figures(text) for text in (part, bare, says)] == [1, 1, 1]
    assert says.index("How wide it is") < says.index("<figure")
    assert "torchrecorder:" not in re.sub("<[^>]*>", "", says)
    assert "7" in says
    shows = description(built, "nets.html", "autonets.Shows")
    assert figures(shows) == 1
    assert "Its own." in shows
    for name in ("Refuses", "Needs", "Half", "Fails", "OneLoss", "Config"):
        assert figures(description(built, "nets.html", f"autonets.{name}")) == 0, name

    again = project.build("html", "-W").ok()
    assert again.workers == []
    assert INFORMATION.format(drawn=3) in again.output

    text = project.build("text").ok().text("nets.txt")
    assert text.count("enter  Linear 3→8") == 3  # Small, Bare, Shows
    small = text[text.index("class autonets.Small") :]
    assert small.index("It is small") < small.index("Linear 3→8") < small.index("Run both")
    tex = next(project.build("latex").ok().folder.glob("*.tex")).read_text(encoding="utf-8")
    assert tex.count("torchrecorder-") == 5


def test_failures_are_kept_though_another_extension_ends_the_build(project: Project) -> None:
    fails = 'class {}(Fails):\n    """Fails, too."""\n'
    library(project)
    project.write("src/autofails.py", "from autonets import Fails\n" + "".join(map(fails.format, ("One", "Two"))))
    project.write("docs/fails.rst", "Fails\n=====\n\n.. automodule:: autofails\n   :members:\n")
    ends = "def setup(app):\n    app.connect('html-page-context', lambda *_: 1 / 0)\n"
    project.configure(ends)
    first = project.build("html")
    assert (first.status, len(first.workers)) == (2, 1)
    second = project.build("html")
    assert (second.status, second.workers) == (2, [])


def test_a_class_on_two_pages_is_recorded_once_and_read_by_two_processes(project: Project) -> None:
    stub = ".. autosummary::\n   :toctree: generated\n\n   autonets.Small\n   autonets.Bare\n"
    own = ".. autoclass:: autonets.Small\n   :no-index:\n\n   More of it.\n\n   .. torchrecorder::\n      :shape: 2,3\n"
    library(
        project,
        {"autonets.Small": {"shape": "1,3"}},
        a=stub,
        b=".. autoclass:: autonets.Small\n   :members:\n   :no-index:\n",
        c=own,
    )
    built = project.build("html", "-W", "-j2").ok()
    assert len(built.svgs("generated/autonets.Small.html")) == len(built.svgs("b.html")) == 1
    assert built.svgs("generated/autonets.Bare.html") == []
    assert "automatic diagrams" not in built.output  # that they are drawn is what the pattern says
    assert figures(built.text("c.html")) == 1
    assert len(re.findall(r"recording models\.\.\..*autonets\.Small", built.output)) <= 2
    assert "Two layers." in built.text("a.html")
    assert figures(built.text("a.html")) == 0


def test_tall_pictures_are_closed_and_settings_change_pages_that_are_not_read(project: Project) -> None:
    project.write("src/autodeep.py", DEEP)
    library(
        project, {"autodeep.*": {"depth": "all", "layout": "layered"}}, deep=".. automodule:: autodeep\n   :members:\n"
    )
    built = project.build("html", "-W").ok()
    assert '<details class="torchrecorder-closed"><summary>Architecture of Deep</summary>' in built.text("deep.html")

    project.configure('torchrecorder_autodoc_place = "end"')
    built = project.build("html", "-W").ok()
    assert "0 added, 0 changed, 0 removed" in built.output
    assert "torchrecorder-closed" not in built.text("deep.html")
    assert figures(built.text("deep.html")) == 1

    project.configure('torchrecorder_autodoc = False\ntorchrecorder_autodoc_place = "middle"')
    built = project.build("html")
    assert built.warnings.startswith("WARNING: torchrecorder_autodoc_place: 'middle' is none of auto, end, summary")
    assert "0 added, 0 changed, 0 removed" in built.output
    assert figures(built.text("deep.html")) == 0


def test_a_page_follows_what_its_classes_depend_on(project: Project) -> None:
    project.write("src/autohelp.py", "WIDTH = 6\n")
    helped = "from autohelp import WIDTH\n" + DEEP.replace("range(1, 14)", "range(1, 2)").replace("i + 1", "WIDTH")
    project.write("src/autohelped.py", helped)
    library(project, page=".. automodule:: autohelped\n   :members:\n", other="Nothing.\n")
    before = project.build("html", "-W").ok()
    stamps = {name: os.stat(before.folder / name).st_mtime_ns for name in ("page.html", "other.html")}
    assert "N×6" in before.text("page.html")

    project.write("src/autohelp.py", "WIDTH = 7\n")
    built = project.build("html", "-W").ok()
    assert "0 added, 0 changed, 0 removed" in built.output
    assert "N×7" in built.text("page.html")
    changed = {name for name, stamp in stamps.items() if os.stat(built.folder / name).st_mtime_ns != stamp}
    assert changed == {"page.html"}


def test_what_a_pattern_names_and_cannot_be_drawn_is_a_warning_in_the_docstring(project: Project) -> None:
    patterns = {
        "autonets.F*": {"depth": 2},
        "autonets.Needs": {},
        "autonets.Config": {"shape": "1,3"},
        "autonet.*": {},
        "autonets.Small*": {"shap": "1,3"},
    }
    built = library(project, patterns).build("html")
    assert built.status == 0
    fails = "autonets.py:docstring of autonets.Fails:1: WARNING: "
    needs = "autonets.py:docstring of autonets.Needs:1: WARNING: cannot build autonets.Needs: TypeError"
    assert fails in built.warnings
    assert needs in built.warnings
    assert """the pattern 'autonets.F*' asks for it; "autonets.Fails": False leaves it out""" in built.warnings
    for text in (
        "WARNING: torchrecorder_autodoc: autonets.Config is something else than a torch.nn.Module",
        "WARNING: torchrecorder_autodoc: 'autonet.*' matches no documented class; did you mean 'autonets.*'?",
        "WARNING: torchrecorder_autodoc: 'autonets.Small*': unknown option 'shap', did you mean shape?",
    ):
        assert text in built.warnings
    assert len(re.findall(r"^.*WARNING", built.warnings, re.MULTILINE)) == 5
    assert "No diagram of autonets.Fails" in built.text("nets.html")
    assert figures(description(built, "nets.html", "autonets.Small")) == 1


def test_what_is_wrong_in_a_field_is_a_warning_at_its_line(project: Project) -> None:
    library(project, autodoc=False)
    text = PACKAGE.replace("depth=0", "dept=0").replace("    :torchrecorder: no", "    :torchrecorder: shape=1;x")
    project.write("src/autonets.py", text.replace('"""No module."""', '"""No module.\n\n    :torchrecorder:\n    """'))
    built = project.build("html")
    warnings = [line for line in built.warnings.splitlines() if "WARNING" in line]
    assert [re.sub(r"^.*/", "", line).partition(" [")[0] for line in sorted(warnings)] == [
        "autonets.py:docstring of autonets.Config:3: WARNING: cannot build autonets.Config:"
        " it is a class, but not a subclass of torch.nn.Module",
        "autonets.py:docstring of autonets.Refuses:3: WARNING: shape: 'x' has no sizes: write x[1,3], or",
        "autonets.py:docstring of autonets.Says:3: WARNING: unknown option 'dept', did you mean depth?",
    ]


REWRITES = """
def replace_docstring(app, what, name, obj, options, lines):
    if name == "autonets.Small":
        lines[:] = ["From another extension.", "", ".. rubric:: Notes", "", "Its end."]

def setup(app):
    app.connect("autodoc-process-docstring", replace_docstring, priority=10_000)
"""


@pytest.mark.parametrize("legacy", [False, True])
def test_another_extension_may_replace_the_docstring(project: Project, legacy: bool) -> None:
    library(project, page=".. autoclass:: autonets.Small\n   :members:\n\n   Under the directive.\n")
    project.configure(REWRITES)
    project.configure(f"autodoc_use_legacy_class_based = {legacy}")
    small = description(project.build("html", "-W").ok(), "page.html", "autonets.Small")
    assert small.index("Its end.") < small.index("<figure") < small.index("Under the directive.")


def test_a_class_that_only_the_builder_can_see(project: Project) -> None:
    hidden = (
        PACKAGE
        + "\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    class Typed(Small):\n        '''Typed.'''\n"
    )
    project.write("src/autotyped.py", hidden)
    page = ".. autoclass:: autotyped.Typed\n"
    library(project, page=page)
    project.configure('import os\nos.environ["SPHINX_AUTODOC_RELOAD_MODULES"] = "1"')
    built = project.build("html", "-W").ok()
    assert "automatic diagrams: 0 drawn, 1 not: cannot be imported: autotyped.Typed" in built.output
    project.configure('torchrecorder_autodoc = {"autotyped.*": {}}')
    assert "cannot find autotyped.Typed: autotyped has no 'Typed'" in project.build("html").warnings


def test_outside_of_a_class_a_target_is_asked_for(project: Project) -> None:
    library(project, page="Text.\n\n.. torchrecorder::\n   :shape: 1,3\n")
    assert "page.rst:6: WARNING: no model is named" in project.build("html").warnings


EXAMPLES = '''
from torch import nn


class Gate(nn.Module):
    """Has an example.

    >>> gate = Gate(width=4)
    """

    def __init__(self, width):
        super().__init__()
        self.fc, self.out = nn.Linear(width, 1), nn.Linear(1, 1)

    def forward(self, x):
        return self.out(self.fc(x)).sigmoid() * x


class Fixed(nn.Module):
    """Has no such argument."""

    def __init__(self, height=3):
        super().__init__()
        self.fc, self.out = nn.Linear(height, 1), nn.Linear(1, 1)

    def forward(self, x):
        return self.out(self.fc(x))
'''


VAGUE = '''from torch import nn


class Vague(nn.Module):
    """It takes anything: no size would be its own."""

    def forward(self, x):
        return x.relu()
'''


def test_what_is_guessed_from_names_alone_is_drawn_where_a_directive_asks_for_it(project: Project) -> None:
    project.write("src/autovague.py", VAGUE)
    library(project, page=".. autoclass:: autovague.Vague\n")
    built = project.build("html", "-W", "-v").ok()
    assert "automatic diagrams: 0 drawn, 1 not: little to show in autovague.Vague" in built.output
    assert "autovague.Vague: its inputs can be guessed from the names of its parameters alone" in built.output
    library(project, page=".. torchrecorder:: autovague.Vague\n")
    assert "so no sizes are shown" in project.build("html", "-W").ok().text("page.html")


def test_classes_that_are_built_like_no_other(project: Project) -> None:
    project.write("src/autoshown.py", EXAMPLES)
    page = ".. automodule:: autoshown\n   :members:\n"
    library(project, shown=page)
    built = project.build("html", "-W").ok()
    assert "automatic diagrams: 2 drawn" in built.output
    assert "built as in an example of its docstring: Gate(width=4)" in built.text("shown.html")
    library(project, {"autoshown.*": {"arguments": "width=7", "shape": "2,7"}}, shown=page)
    built = project.build("html", "-W").ok()
    gate, fixed = (description(built, "shown.html", f"autoshown.{name}") for name in ("Gate", "Fixed"))
    assert "built as" not in gate
    assert ["7→1" in re.sub("<[^>]*>", "", text) for text in (gate, fixed)] == [True, False]
    assert "3→1" in re.sub("<[^>]*>", "", fixed)


NEEDING = '''from torch import nn


class Tower(nn.Module):
    """It needs what only its test shows."""

    def __init__(self, secret, floors):
        super().__init__()
        self.floors = nn.Sequential(*(nn.Linear(secret, secret) for _ in range(floors)))

    def forward(self, x):
        return self.floors(x)
'''
TEST = "import torch\nfrom autotower import Tower\n\ndef test():\n    net = Tower({})\n    net(torch.rand(4, {}))\n"


def test_a_class_is_built_as_in_its_test_and_follows_it(project: Project) -> None:
    project.write("pyproject.toml", "")
    project.write("src/autotower.py", NEEDING)
    project.write("tests/test_tower.py", TEST.format("secret=5, floors=2", 5))
    library(project, page=".. autoclass:: autotower.Tower\n")
    built = project.build("html", "-W").ok()
    assert "automatic diagrams: 1 drawn" in built.output
    assert "built as in tests/test_tower.py:5: Tower(secret=5, floors=2)" in built.text("page.html")
    project.write("tests/test_tower.py", TEST.format("secret=6, floors=3", 6))
    assert "built as in tests/test_tower.py:5: Tower(secret=6, floors=3)" in project.build("html", "-W").text(
        "page.html"
    )
    (project.root / "tests/test_tower.py").unlink()
    built = project.build("html", "-W", "-v").ok()
    assert "missing 2 required positional arguments: 'secret' and 'floors'" in built.output
