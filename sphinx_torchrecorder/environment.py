"""What each document asks for, kept in Sphinx's environment; and what this build made of it, which is not kept.

The environment keeps what was written, not what it means: options are read at every build, so that their problems are
warned about at every build, and so that options for the whole site change without a page being read again.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Literal, TypeAlias

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors import EnvironmentCollector

from sphinx_torchrecorder.nodes import diagram_placeholder
from torchrecorder.errors import OptionError
from torchrecorder.page import Outcome
from torchrecorder.request import Body, DiagramRequest

_ASKED = "torchrecorder_asked"
_BUILD = "torchrecorder_build"

Form: TypeAlias = Literal["inline", "image", "text", "nothing"]
"""How a builder shows a diagram: as SVG in the page, as an image file, as the tree of modules, or not at all."""


ImageType: TypeAlias = Literal["image/svg+xml", "application/pdf"]
"""What an image file may be, the better first. Pixels are not among them: what shows no others is made for text."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One directive as it was written."""

    docname: str
    location: str
    """`file:line`, as warnings show it."""
    target: str
    options: tuple[tuple[str, str | None], ...]
    problems: tuple[str, ...] = ()
    """What could not be understood as target or option."""

    def request(self, site: Mapping[str, str]) -> DiagramRequest:
        """What it asks for.

        Raises:
            OptionError: With every problem there is.
        """
        return Body(self.target, dict(self.options), self.problems).request(site)


class Build:
    """What one build knows of its diagrams.

    It lies on the environment, where transforms find it, but never leaves the process: unpickled, it is empty.
    """

    def __init__(self) -> None:
        self.form: Form = "nothing"
        self.image_type: ImageType | None = None
        """What a picture file is, if the form is an image."""
        self.results: dict[Asked, Outcome | OptionError] = {}
        self.signatures: dict[str, str] = {}
        """Of each document with diagrams: changes when what its page shows of them changes."""
        self.linked: frozenset[str] = frozenset()
        """The classes that have a page."""
        self.written: set[str] = set()
        """Documents whose diagrams have gone into a page."""

    def __reduce__(self) -> tuple[type[Build], tuple[()]]:
        return Build, ()


def asked_by_document(env: BuildEnvironment) -> dict[str, list[Asked]]:
    """The directives of each document that has any, in their order."""
    if not hasattr(env, _ASKED):
        setattr(env, _ASKED, {})
    found: dict[str, list[Asked]] = getattr(env, _ASKED)
    return found


def build_of(env: BuildEnvironment) -> Build:
    """What this build knows so far."""
    build = getattr(env, _BUILD, None)
    return build if isinstance(build, Build) else start_build(env)


def start_build(env: BuildEnvironment) -> Build:
    """Forget what an earlier build of the same process knew."""
    build = Build()
    setattr(env, _BUILD, build)
    return build


class AskedCollector(EnvironmentCollector):
    """Keeps the list right when documents are read, removed, or read by another process."""

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        """Note the directives of a document that was just read."""
        asked = [node["asked"] for node in doctree.findall(diagram_placeholder)]
        if asked:
            asked_by_document(app.env)[app.env.docname] = asked

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        """Forget a document."""
        asked_by_document(env).pop(docname, None)

    def merge_other(self, app: Sphinx, env: BuildEnvironment, docnames: Set[str], other: BuildEnvironment) -> None:
        """Take over what a reading process has noted."""
        theirs = asked_by_document(other)
        asked_by_document(env).update({name: theirs[name] for name in docnames if name in theirs})


def setup(app: Sphinx) -> None:
    """Have documents watched."""
    app.add_env_collector(AskedCollector)
