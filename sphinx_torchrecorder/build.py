"""All diagrams of a build: what each document asks for, drawn in one go between reading and writing.

Sphinx's environment keeps what was written, not what it means: options are read at every build, so that their problems
are warned about at every build, and so that options for the whole site change without a page being read again.

`env-updated` is the one moment to draw: it comes once, in the main process, with the directives of every document known
whichever process read it, also when no document was read; and the documents it returns are written again without being
read.

Which documents those are, Sphinx cannot know: it compares pages with their sources by time stamps, and a model changes
apart from both. The cache of diagrams does not know either: another builder, or the same one for another folder, may
have drawn the change into it first. So each builder and output folder has a file with the signatures that its own pages
were written with; beside the doctrees, because a folder of pages is published, and the EPUB builder packs whatever lies
in it.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
from collections.abc import Iterable, Mapping, Sequence, Set
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, TypeAlias, cast, get_args

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors import EnvironmentCollector
from sphinx.errors import ExtensionError, SphinxError

from sphinx_torchrecorder import links
from sphinx_torchrecorder.site import TYPE, Asked, SphinxSite, make_site, progress_line
from torchrecorder.site import Body, Outcome, Site

NAMES = NAME, TABLE_NAME, MODELS_NAME = "torchrecorder", "torchrecorder-table", "torchrecorder-models"
"""Those of the directives."""
_BUILD = "torchrecorder_build"
ENV_VERSION = 7
"""Raised when what is kept in Sphinx's environment, its doctrees or beside them changes; all pages are read again."""

Form: TypeAlias = Literal["inline", "image", "text", "nothing"]
"""How a builder shows a diagram: as SVG in the page, as an image file, as the tree of modules, or not at all."""

ImageType: TypeAlias = Literal["image/svg+xml", "application/pdf"]
"""What an image file may be, the better first. Pixels are not among them: what shows no others is made for text."""


_Conditional: TypeAlias = tuple[Asked, tuple[str, ...]]
"""What is asked, and the conditions of the `only` directives that it stands in."""


class diagram_placeholder(nodes.General, nodes.Element):  # noqa: N801 (docutils names its nodes so)
    """Stands where a diagram will be; its attribute `request` is what is `Asked`. No builder ever sees it.

    For a table of models, `rows` has what is asked for each.
    """


class Build:
    """State of one build.

    It lies on the environment, where transforms find it, but never leaves the process: unpickled, it is empty.
    """

    def __init__(self) -> None:
        self.form: Form = "nothing"
        self.image_type: ImageType | None = None
        """What a picture file is, if the form is an image."""
        self.signatures: dict[str, str] = {}
        """Of each document with diagrams: changes when what its page shows of them changes."""
        self.signatures_before: dict[str, str] = {}
        """What the pages were written with."""
        self.linked: frozenset[str] = frozenset()
        """The classes that have a page."""
        self.written: set[str] = set()
        """Documents whose diagrams have gone into a page."""
        self.made: SphinxSite | None = None

    def __reduce__(self) -> tuple[type[Build], tuple[()]]:
        return Build, ()

    def site(self, app: Sphinx) -> Site[Asked]:
        """Made while documents are read, once a request was; it draws them all in the end."""
        self.made = self.made or make_site(app)
        return self.made


class DocumentCollector(EnvironmentCollector):
    """Keeps what is collected from documents right when they are read, removed, or read by another process."""

    attribute: ClassVar[str]
    """Of the environment."""

    def collect(self, app: Sphinx, doctree: nodes.document) -> Any:
        """Things of a document that was just read; empty if it has none."""
        raise NotImplementedError

    @classmethod
    def by_document(cls, env: BuildEnvironment) -> dict[str, Any]:
        """Things that were collected, by name of the document."""
        collected: dict[str, Any] = vars(env).setdefault(cls.attribute, {})
        return collected

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        if collected := self.collect(app, doctree):
            self.by_document(app.env)[app.env.docname] = collected

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        self.by_document(env).pop(docname, None)

    def merge_other(self, app: Sphinx, env: BuildEnvironment, docnames: Set[str], other: BuildEnvironment) -> None:
        """Take over what a reading process has collected."""
        theirs = self.by_document(other)
        self.by_document(env).update({name: theirs[name] for name in docnames if name in theirs})


class RequestCollector(DocumentCollector):
    attribute = "torchrecorder_requests"

    def collect(self, app: Sphinx, doctree: nodes.document) -> list[_Conditional]:
        requests: list[_Conditional] = []
        for node in doctree.findall(diagram_placeholder):
            conditions, around = list[str](), node.parent
            while around is not None:
                conditions += [around["expr"]] if isinstance(around, addnodes.only) else []
                around = around.parent
            requests += ((request, (*conditions,)) for request in node.get("rows", [node["request"]]))
        if multiprocessing.parent_process() is None:  # what another process reads is merged later
            _expect(app, requests)
        return requests

    def merge_other(self, app: Sphinx, env: BuildEnvironment, docnames: Set[str], other: BuildEnvironment) -> None:
        """Take over what a reading process has collected."""
        super().merge_other(app, env, docnames, other)
        merged = self.by_document(env)
        _expect(app, [request for name in docnames for request in merged.get(name, ())])


class SummaryCollector(DocumentCollector):
    attribute = "torchrecorder_summaries"

    def collect(self, app: Sphinx, doctree: nodes.document) -> list[str]:
        """Names of the models that tables above those of a document may have."""
        places = doctree.findall(diagram_placeholder)
        return [str(name) for node in places for name in cast(Sequence[str], node.get("names", ()))]


def models_among(names: Iterable[str], results: Mapping[Asked, Outcome]) -> list[Asked]:
    """Places of the automatic diagrams of classes with such names, in their order."""
    drawn = {asked.target: asked for asked, outcome in results.items() if asked.is_automatic and outcome.diagram}
    return [drawn[name] for name in dict.fromkeys(names) if name in drawn]


def _bodies(app: Sphinx, site: Site[Asked], requests: Iterable[_Conditional]) -> dict[Asked, Body]:
    """Bodies that this builder shows, without classes that are to have no diagram.

    If the diagrams of a project are listed, it is for all of its builders.
    """
    bodies: dict[Asked, Body] = {}
    for asked, conditions in requests:
        if site.is_collecting or all(_holds(app, condition) for condition in conditions):
            rules = site.settings.rules
            body = asked.body or rules.body((asked.target,), asked.own, asked.obstacle, asked.defined)
            if body is not None:
                bodies[asked] = body
    return bodies


def _holds(app: Sphinx, condition: str) -> bool:
    try:
        return app.tags.eval_condition(condition)
    except Exception:  # Sphinx warns of one that cannot be read, and keeps what stands in it
        return True


def expect_any(app: Sphinx, env: BuildEnvironment, docnames: Sequence[str]) -> None:
    if docnames and form_for(app.builder) != "nothing":
        build_of(env).site(app).expect_any()


def _expect(app: Sphinx, requests: Sequence[_Conditional]) -> None:
    if form_for(app.builder) != "nothing":
        site = build_of(app.env).site(app)
        for asked, body in _bodies(app, site, requests).items():
            site.expect(asked, body)
        site.advance()


def draw_all(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Draw what changed, warn of what failed, and give the documents whose pages show something else than before.

    Raises:
        ExtensionError: A diagram is out of date, and the settings say that this ends the build.
    """
    build = build_of(env)
    build.form, build.image_type = form_for(app.builder), image_type(app.builder)
    site = build.site(app)
    requests = [request for _, each in sorted(RequestCollector.by_document(env).items()) for request in each]
    bodies = _bodies(app, site, requests)
    try:
        with progress_line(app.verbosity) as progress:
            site.draw(bodies, progress, pictures=build.form != "nothing")
        if fatal := site.fatal():
            raise ExtensionError("\n".join(fatal), modname=TYPE)
        return [] if build.form == "nothing" else _changed_documents(app, build)
    except SphinxError:  # on purpose: what is out of date ends the build, or a warning does
        raise
    except Exception as unexpected:
        site.give_up(bodies, unexpected)
        return []


def form_for(builder: Builder) -> Form:
    """Form in which this builder shows diagrams.

    Help viewers and e-book readers are HTML too, but take SVG as a file only. What takes no drawing as a file, as Info
    does, is read as text.
    """
    if not builder.format:
        return "nothing"
    if builder.format == "html" and not getattr(builder, "embedded", False):
        return "inline"
    return "image" if image_type(builder) else "text"


def image_type(builder: Builder) -> ImageType | None:
    """Type of picture file that this builder takes; LaTeX takes PDF."""
    supported = builder.supported_image_types
    return next((kind for kind in get_args(ImageType) if kind in supported), None)


def build_of(env: BuildEnvironment) -> Build:
    build: Build = vars(env).setdefault(_BUILD, Build())
    return build


def keep_signatures(app: Sphinx, exception: Exception | None) -> None:
    """Keep what the written pages show, unless an exception leaves open which were written.

    A page that was not written still shows what it did.
    """
    build = build_of(app.env)
    if build.made is not None:  # reading may have failed
        build.made.close()
    if exception is None and build.form != "nothing":
        try:
            _keep_signatures(app, build)
        except Exception as unexpected:  # all is written; the next build writes these pages again
            build.site(app).unforeseen("what the pages show", unexpected)


def _keep_signatures(app: Sphinx, build: Build) -> None:
    before, now = build.signatures_before, sorted(build.signatures.items())
    after = {name: signature if name in build.written else before.get(name, "") for name, signature in now}
    if after != before:
        file = _signatures_file(app)
        file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps({"version": ENV_VERSION, "folder": str(app.outdir), "documents": after}, indent=1)
        file.write_text(text + "\n", encoding="utf-8")


def _changed_documents(app: Sphinx, build: Build) -> list[str]:
    site = build.site(app)
    classes = {cls for outcome in site.results.values() for cls in _linked_classes(outcome)}
    places = links.places(app, classes) if build.form == "inline" else {}
    build.linked = frozenset(places)
    summaries = SummaryCollector.by_document(app.env) if site.settings.summary else {}
    build.signatures = signatures_of(site.results, places, site.settings.place, summaries)
    try:
        kept = json.loads(_signatures_file(app).read_bytes())
        build.signatures_before = dict(kept["documents"]) if kept["version"] == ENV_VERSION else {}
    except (OSError, ValueError, TypeError, KeyError):
        pass  # without a readable file, a page too many is written
    before = build.signatures_before
    changed = [name for name, signature in build.signatures.items() if before.get(name) != signature]
    # Settings alone may take all automatic diagrams from a page.
    return sorted([*changed, *(before.keys() - build.signatures.keys() & app.env.found_docs)])


def signatures_of(
    results: Mapping[Asked, Outcome],
    places: Mapping[str, str] = MappingProxyType({}),
    place: str = "",
    summaries: Mapping[str, Iterable[str]] = MappingProxyType({}),
) -> dict[str, str]:
    """Signature of each document, of all its diagrams in their order.

    It changes with the pages of linked classes, with the place of automatic diagrams, and with the models that a table
    above them has.
    """
    parts: dict[str, list[object]] = {}
    for asked, outcome in results.items():
        part = outcome.signature()
        linked = [(cls, places.get(cls)) for cls in _linked_classes(outcome)]
        if not outcome.is_skipped:
            parts.setdefault(asked.docname, []).append([f"{place} {part}" if asked.is_automatic else part, linked])
    for name, models in summaries.items():
        parts.setdefault(name, []).append([results[asked].signature() for asked in models_among(models, results)])
    return {name: hashlib.sha256(json.dumps(part).encode()).hexdigest() for name, part in parts.items()}


def _linked_classes(outcome: Outcome) -> tuple[str, ...]:
    return outcome.diagram.classes if outcome.diagram is not None and outcome.request.figure.links else ()


def _signatures_file(app: Sphinx) -> Path:
    folder = hashlib.sha256(os.fsencode(app.outdir)).hexdigest()[:12]  # its name may be of any bytes
    return Path(app.doctreedir, "torchrecorder-pages", f"{app.builder.name}-{folder}.json")
