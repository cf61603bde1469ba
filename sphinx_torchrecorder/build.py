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
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal, TypeAlias, get_args

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors import EnvironmentCollector
from sphinx.errors import SphinxError

from sphinx_torchrecorder import links
from sphinx_torchrecorder.documented import DocumentedClass, automatic_request, documented_names
from sphinx_torchrecorder.report import ProgressLine, logger, report, warn
from torchrecorder.errors import NotDrawn, OptionError
from torchrecorder.faults import unforeseen
from torchrecorder.page import LogEntry, Outcome, failure, is_skipped, slowest
from torchrecorder.pipeline import Pipeline, is_collecting
from torchrecorder.request import (
    AUTOMATIC_SETTINGS,
    SITE_SETTINGS,
    Body,
    DiagramRequest,
    Rules,
    Settings,
    read_rules,
    site_settings,
)

_REQUESTS = "torchrecorder_requests"
_BUILD = "torchrecorder_build"
ENV_VERSION = 5
"""Raised when what is kept in Sphinx's environment, its doctrees or beside them changes; all pages are read again."""

Form: TypeAlias = Literal["inline", "image", "text", "nothing"]
"""How a builder shows a diagram: as SVG in the page, as an image file, as the tree of modules, or not at all."""

ImageType: TypeAlias = Literal["image/svg+xml", "application/pdf"]
"""What an image file may be, the better first. Pixels are not among them: what shows no others is made for text."""


@dataclass(frozen=True, slots=True)
class DirectiveRequest:
    """One directive as it was written."""

    docname: str
    location: str
    """`file:line`, as warnings show it."""
    target: str
    options: tuple[tuple[str, str | None], ...]
    problems: tuple[str, ...] = ()
    """What could not be understood as target or option."""
    is_table: bool = False
    """Whether it shows the table of the layers and no picture."""


Asked: TypeAlias = DirectiveRequest | DocumentedClass
"""What a diagram of a page stands for."""


_Conditional: TypeAlias = tuple[Asked, tuple[str, ...]]
"""What is asked, and the conditions of the `only` directives that it stands in."""


class diagram_placeholder(nodes.General, nodes.Element):  # noqa: N801 (docutils names its nodes so)
    """Stands where a diagram will be; its attribute `request` is what is `Asked`. No builder ever sees it."""


class Build:
    """What one build knows of its diagrams.

    It lies on the environment, where transforms find it, but never leaves the process: unpickled, it is empty.
    """

    def __init__(self) -> None:
        self.form: Form = "nothing"
        self.image_type: ImageType | None = None
        """What a picture file is, if the form is an image."""
        self.results: dict[Asked, Outcome | OptionError] = {}
        """What became of it; a class that is to have no diagram is not among them."""
        self.place = ""
        """Where automatic diagrams go."""
        self.signatures: dict[str, str] = {}
        """Of each document with diagrams: changes when what its page shows of them changes."""
        self.signatures_before: dict[str, str] = {}
        """What the pages were written with."""
        self.linked: frozenset[str] = frozenset()
        """The classes that have a page."""
        self.written: set[str] = set()
        """Documents whose diagrams have gone into a page."""
        self.pipeline: Pipeline | None = None
        """Made while documents are read, once a request was; it draws them all in the end."""

    def __reduce__(self) -> tuple[type[Build], tuple[()]]:
        return Build, ()


class RequestCollector(EnvironmentCollector):
    """Keeps the requests right when documents are read, removed, or read by another process."""

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        """Collect the requests of a document that was just read."""
        if requests := [(node["request"], _conditions(node)) for node in doctree.findall(diagram_placeholder)]:
            _requests_by_document(app.env)[app.env.docname] = requests
            if multiprocessing.parent_process() is None:  # what another process reads is merged later
                _expect(app, requests)
        elif (pipeline := build_of(app.env).pipeline) is not None:
            pipeline.advance()

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        """Forget a document."""
        _requests_by_document(env).pop(docname, None)

    def merge_other(self, app: Sphinx, env: BuildEnvironment, docnames: Set[str], other: BuildEnvironment) -> None:
        """Take over what a reading process has collected."""
        theirs = _requests_by_document(other)
        merged = {name: theirs[name] for name in docnames if name in theirs}
        _requests_by_document(env).update(merged)
        _expect(app, [one for requests in merged.values() for one in requests])


def _conditions(node: nodes.Node) -> tuple[str, ...]:
    """The conditions of the `only` directives that a node stands in."""
    found: list[str] = []
    while (node := node.parent) is not None:
        if isinstance(node, addnodes.only):
            found.append(node["expr"])
    return tuple(found)


def _wanted(app: Sphinx, requests: Iterable[_Conditional]) -> list[Asked]:
    """What this builder shows; if the diagrams of a project are listed, it is for all of its builders."""
    if is_collecting():
        return [one for one, _ in requests]
    return [one for one, conditions in requests if all(_holds(app, condition) for condition in conditions)]


def _holds(app: Sphinx, condition: str) -> bool:
    try:
        return app.tags.eval_condition(condition)
    except Exception:  # Sphinx warns of one that cannot be read, and keeps what stands in it
        return True


def expect_any(app: Sphinx, env: BuildEnvironment, docnames: Sequence[str]) -> None:
    """Have the worker start before documents are read, if their classes get diagrams and no build has been before."""
    if docnames and form_for(app.builder) != "nothing" and rules_of(app).by_pattern:
        build = build_of(env)
        build.pipeline = build.pipeline or _pipeline(app)
        build.pipeline.expect_any()


def _expect(app: Sphinx, requests: Sequence[_Conditional]) -> None:
    """Have the worker start while documents are read, if one of them needs it."""
    build = build_of(app.env)
    if form_for(app.builder) == "nothing":
        return
    pipeline = build.pipeline = build.pipeline or _pipeline(app)
    for request in _read(_wanted(app, requests), rules_of(app), pipeline.settings.options).values():
        if isinstance(request, DiagramRequest):
            pipeline.expect(request)


def _pipeline(app: Sphinx) -> Pipeline:
    return Pipeline(settings_of(app), retries=bool(app.fresh_env_used), is_alone=app.parallel == 1)  # `-E` retries


def _requests_by_document(env: BuildEnvironment) -> dict[str, list[_Conditional]]:
    if not hasattr(env, _REQUESTS):
        setattr(env, _REQUESTS, {})
    by_document: dict[str, list[_Conditional]] = getattr(env, _REQUESTS)
    return by_document


def draw_all(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Draw what changed, warn of what failed, and give the documents whose pages show something else than before."""
    pipeline = build_of(env).pipeline or _pipeline(app)
    build = Build()  # forgets an earlier build of the same process
    setattr(env, _BUILD, build)
    build.form, build.image_type = form_for(app.builder), image_type(app.builder)
    build.place = _place(app)
    asked = [one for _, requests in sorted(_requests_by_document(env).items()) for one in _wanted(app, requests)]
    try:
        return _drawn_all(app, build, pipeline, asked)
    except SphinxError:  # on purpose: what is out of date ends the build, or a warning does
        raise
    except Exception as unexpected:
        error = unforeseen("the diagrams", unexpected)
        warn(failure(error, None))
        build.results = dict.fromkeys(asked, OptionError((str(error),)))
        return []


def _drawn_all(app: Sphinx, build: Build, pipeline: Pipeline, asked: Sequence[Asked]) -> list[str]:
    rules = rules_of(app, warns=True)
    read = _read(asked, rules, pipeline.settings.options)
    if build.form == "nothing":
        build.results = {
            one: it if isinstance(it, OptionError) else Outcome(it, None, NotDrawn())
            for one, it in read.items()
            if isinstance(it, OptionError) or (isinstance(it, DiagramRequest) and it.left_out)
        }
    else:
        with ProgressLine(app.verbosity) as progress:
            outcomes = pipeline.run([it for it in read.values() if isinstance(it, DiagramRequest)], progress)
        build.results = {one: outcomes[it] if isinstance(it, DiagramRequest) else it for one, it in read.items()}
    report(
        ((asked.location, result) for asked, result in build.results.items()),
        pipeline.problems(),
        pipeline.cache.notice,
    )
    if text := slowest(pipeline.seconds):
        logger.info("torchrecorder: %s", text)
    return [] if build.form == "nothing" else _changed_documents(app, build)


def settings_of(app: Sphinx) -> Settings:
    """The settings of this build; warns about values for the site that are wrong, and leaves them out.

    What this machine records lies in the folder of Sphinx's own doctrees, for the same reasons: a build may write
    there, builders that share doctrees share recordings, and nothing of it is published as a page. `make clean` removes
    it too, because that is what people do who no longer trust a cache.
    """
    written = {setting.name: app.config[f"torchrecorder_{setting.name}"] for setting in SITE_SETTINGS}
    settings, wrong = site_settings(Path(app.confdir), written, cache=str(Path(app.doctreedir, "torchrecorder")))
    if settings.committed is not None:
        folder = settings.committed.resolve()
        for name in ("html_extra_path", "html_static_path"):
            places = [Path(app.confdir, str(entry)).resolve() for entry in app.config[name]]
            if any(folder.is_relative_to(place) or place.is_relative_to(folder) for place in places):
                shown = written["cache"]
                text = f"torchrecorder_cache: {shown} lies in a folder of {name}, so it would be published; move it"
                warn(LogEntry(text, "cache"))
    for name, problems in wrong.items():
        for problem in problems:
            warn(LogEntry(f"torchrecorder_{name}: {problem}", "option"))
    return settings


def rules_of(app: Sphinx, *, warns: bool = False) -> Rules:
    """Which documented classes get a diagram in this build.

    Args:
        app: The build.
        warns: Whether what is wrong with the settings is to be said; all documents are read then.
    """
    rules, problems = read_rules(app.config.torchrecorder_autodoc)
    if warns:
        for problem in (*problems, *rules.problems(documented_names(app.env))):
            warn(LogEntry(f"torchrecorder_autodoc: {problem}", "option"))
    return rules


def _place(app: Sphinx) -> str:
    setting = next(setting for setting in AUTOMATIC_SETTINGS if setting.name == "autodoc_place")
    place, problem = setting.chosen(app.config.torchrecorder_autodoc_place)
    if problem:
        warn(LogEntry(f"torchrecorder_autodoc_place: {problem}", "option"))
    return place


def _read(
    asked: Sequence[Asked], rules: Rules, site: Mapping[str, str]
) -> dict[Asked, DiagramRequest | Outcome | OptionError]:
    """What each of them asks for; classes that are to have no diagram are left out."""
    read: dict[Asked, DiagramRequest | Outcome | OptionError] = {}
    for one in asked:
        try:
            if isinstance(one, DirectiveRequest):
                options = dict(one.options) | ({"table": "yes"} if one.is_table else {})
                read[one] = Body(one.target, options, one.problems).request(site)
            elif (request := automatic_request(one, rules, site)) is not None:
                read[one] = request
        except OptionError as error:
            read[one] = error
    return read


def form_for(builder: Builder) -> Form:
    """How this builder shows diagrams.

    Help viewers and e-book readers are HTML too, but take SVG as a file only. What takes no drawing as a file, as Info
    does, is read as text.
    """
    if not builder.format:
        return "nothing"
    if builder.format == "html" and not getattr(builder, "embedded", False):
        return "inline"
    return "image" if image_type(builder) else "text"


def image_type(builder: Builder) -> ImageType | None:
    """What this builder takes as a picture file; LaTeX takes PDF."""
    supported = builder.supported_image_types
    return next((kind for kind in get_args(ImageType) if kind in supported), None)


def build_of(env: BuildEnvironment) -> Build:
    """What this build knows so far."""
    build = getattr(env, _BUILD, None)
    if not isinstance(build, Build):
        build = Build()
        setattr(env, _BUILD, build)
    return build


def keep_signatures(app: Sphinx, exception: Exception | None) -> None:
    """Keep what the written pages show, unless an exception leaves open which were written.

    A page that was not written still shows what it did.
    """
    build = build_of(app.env)
    if build.pipeline is not None:  # reading failed
        build.pipeline.close()
    if exception is None and build.form != "nothing":
        try:
            _keep_signatures(app, build)
        except Exception as unexpected:  # all is written; the next build writes these pages again
            warn(failure(unforeseen("what the pages show", unexpected), None))


def _keep_signatures(app: Sphinx, build: Build) -> None:
    before = build.signatures_before
    now = sorted(build.signatures.items())
    after = {name: signature if name in build.written else before.get(name, "") for name, signature in now}
    if after == before:
        return
    file = _signatures_file(app)
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"version": ENV_VERSION, "folder": str(app.outdir), "documents": after}, indent=1)
    file.write_text(text + "\n", encoding="utf-8")


def _changed_documents(app: Sphinx, build: Build) -> list[str]:
    classes = {cls for result in build.results.values() for cls in _linked_classes(result)}
    places = links.places(app, classes) if build.form == "inline" else {}
    build.linked = frozenset(places)
    build.signatures = signatures_of(build.results, places, build.place)
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
    results: Mapping[Asked, Outcome | OptionError], places: Mapping[str, str] = MappingProxyType({}), place: str = ""
) -> dict[str, str]:
    """One signature for each document, of all its diagrams in their order.

    Args:
        results: What became of each directive or class.
        places: Where the pages of classes are.
        place: Where automatic diagrams go.
    """
    parts: dict[str, list[object]] = {}
    for asked, result in results.items():
        part = result.signature() if isinstance(result, Outcome) else str(result)
        linked = [(cls, places.get(cls)) for cls in _linked_classes(result)]
        if not is_skipped(result):
            is_automatic = isinstance(asked, DocumentedClass)
            parts.setdefault(asked.docname, []).append([f"{place} {part}" if is_automatic else part, linked])
    return {name: hashlib.sha256(json.dumps(part).encode()).hexdigest() for name, part in parts.items()}


def _linked_classes(result: Outcome | OptionError) -> tuple[str, ...]:
    """The classes that a picture is to be linked to."""
    if isinstance(result, Outcome) and result.diagram is not None and result.request.figure.links:
        return result.diagram.classes
    return ()


def _signatures_file(app: Sphinx) -> Path:
    folder = hashlib.sha256(os.fsencode(app.outdir)).hexdigest()[:12]  # its name may be of any bytes
    return Path(app.doctreedir, "torchrecorder-pages", f"{app.builder.name}-{folder}.json")
