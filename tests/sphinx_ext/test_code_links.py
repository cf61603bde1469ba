"""Panels of layers lead to the statement that called them, where the documentation can show it."""

from __future__ import annotations

import html
import json
import re

import pytest

from tests.sphinx_ext.project import CONF, NETS, Built, Project

PAGE = "Net\n===\n\n.. torchrecorder:: pkg.nets.Net\n   :shape: 1,3\n"
API = "\n.. autoclass:: pkg.nets.Net\n   :members: forward\n"
FORWARD = 1 + NETS.splitlines().index("        return self.leave(self.enter(x).relu())")
PATTERN = 'torchrecorder_code = "https://forge.example/o/r/blob/main/{path}#L{line}"\n'
LINKCODE = """
import os, sys
sys.path.insert(0, os.path.abspath("../src"))
extensions += ["sphinx.ext.autodoc", "sphinx.ext.linkcode"]
def linkcode_resolve(domain, info):
    return f"https://forge.example/{info['module']}/{info['fullname']}#L9-L12"
"""
VIEWCODE = LINKCODE.partition("def")[0].replace("linkcode", "viewcode")


@pytest.fixture
def docs(project: Project) -> Project:
    project.write("src/pkg/__init__.py", "")
    project.write("src/pkg/nets.py", NETS)
    project.write("docs/index.rst", PAGE)
    return project


def code(built: Built) -> dict[str, str]:
    """Addresses by source, of all pictures of the page."""
    found = re.findall(r"data-code='([^']*)'", built.text("index.html"))
    return {source: url for text in found for source, url in json.loads(html.unescape(text)).items()}


def test_without_a_place_for_code_there_is_no_link(docs: Project) -> None:
    assert code(docs.build("html").ok()) == {}


def test_a_pattern_leads_to_the_line_in_the_repository(docs: Project) -> None:
    (docs.root / ".git").mkdir()
    docs.write("docs/conf.py", CONF + PATTERN)
    address = f"https://forge.example/o/r/blob/main/src/pkg/nets.py#L{FORWARD}"
    assert code(docs.build("html").ok()) == {f"pkg/nets.py:{FORWARD}": address}
    docs.write("docs/index.rst", f"{PAGE}   :links: no\n")
    assert code(docs.build("html").ok()) == {}


def test_lines_that_have_moved_since_are_not_linked(docs: Project) -> None:
    """The recording is fresh, as only a comment is new, but its lines are those of before."""
    docs.write("docs/conf.py", CONF + PATTERN)
    (docs.root / ".git").mkdir()
    assert code(docs.build("html").ok()) != {}
    docs.write("src/pkg/nets.py", f"# above\n{NETS}")
    assert code(docs.build("html").ok()) == {}
    docs.write("src/pkg/nets.py", f"# above\n{NETS}".replace("relu", "tanh"))
    (source,) = code(docs.build("html").ok())
    assert source == f"pkg/nets.py:{FORWARD + 1}"


def test_linkcode_says_where_the_definition_is(docs: Project) -> None:
    docs.write("docs/conf.py", CONF + LINKCODE)
    docs.write("docs/index.rst", PAGE + API)
    address = f"https://forge.example/pkg.nets/Net.forward#L{FORWARD}"
    assert code(docs.build("html").ok()) == {f"pkg/nets.py:{FORWARD}": address}


def test_a_linkcode_that_does_not_know_a_name_is_asked_for_the_next(docs: Project) -> None:
    known = (
        "def linkcode_resolve(domain, info):\n    return {'Net': 'https://forge.example/net.py#L3'}[info['fullname']]\n"
    )
    docs.write("docs/conf.py", CONF + LINKCODE.partition("def")[0] + known)
    address = f"https://forge.example/net.py#L{FORWARD}"
    assert code(docs.build("html").ok()) == {f"pkg/nets.py:{FORWARD}": address}


def test_viewcode_shows_the_definition(docs: Project) -> None:
    docs.write("docs/conf.py", CONF + VIEWCODE)
    docs.write("docs/index.rst", PAGE + API)
    built = docs.build("html").ok()
    assert code(built) == {f"pkg/nets.py:{FORWARD}": "_modules/pkg/nets.html#Net.forward"}
    assert 'id="Net.forward"' in built.text("_modules/pkg/nets.html")
    assert code(docs.build("dirhtml").ok()) == {f"pkg/nets.py:{FORWARD}": "_modules/pkg/nets/#Net.forward"}
    assert code(docs.build("singlehtml").ok()) == {}, "it has no such page"


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("https://forge.example/{file}#L{line}", "has {file}, and there are {path} and {line}"),
        ("https://forge.example/", "names no file: write https://forge/pkg/blob/main/{path}#L{line}"),
    ],
)
def test_a_wrong_pattern_is_told(docs: Project, pattern: str, said: str) -> None:
    docs.write("docs/conf.py", f"{CONF}torchrecorder_code = {pattern!r}\n")
    built = docs.build("html")
    assert f"torchrecorder_code: {pattern!r} {said}" in built.warnings
    assert code(built) == {}


def test_an_address_that_runs_code_is_left_out(docs: Project) -> None:
    docs.write("docs/conf.py", CONF + 'torchrecorder_code = "javascript:alert({path}{line})"\n')
    (docs.root / ".git").mkdir()
    assert code(docs.build("html").ok()) == {}
