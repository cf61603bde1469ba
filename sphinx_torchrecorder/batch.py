"""All diagrams of a build, drawn in one go between reading and writing.

`env-updated` is the one moment for it: it comes once, in the main process, with the directives of every document known
whoever read it, also when no document was read; and the documents it returns are written again without being read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.environment import BuildEnvironment

from sphinx_torchrecorder import links, signatures
from sphinx_torchrecorder.config import settings_of
from sphinx_torchrecorder.environment import Asked, Build, Form, ImageType, asked_by_document, build_of, start_build
from sphinx_torchrecorder.progress import ProgressLine
from sphinx_torchrecorder.report import report
from torchrecorder.errors import OptionError
from torchrecorder.page import Outcome
from torchrecorder.pipeline import Pipeline
from torchrecorder.request import DiagramRequest, Settings


def setup(app: Sphinx) -> None:
    """Draw after reading; remember what was written after writing."""
    app.connect("env-updated", draw_all)
    app.connect("build-finished", remember)


def draw_all(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Draw what changed, warn of what failed, and give the documents whose pages show something else than before."""
    build = start_build(env)
    build.form, build.image_type = form_for(app.builder), image_type(app.builder)
    asked = [one for _, directives in sorted(asked_by_document(env).items()) for one in directives]
    settings = settings_of(app)
    wanted = _read(asked, settings)
    pipeline = Pipeline(settings)
    build.results = _draw(wanted, pipeline, app.verbosity) if build.form != "nothing" else _problems(wanted)
    report(build.results, pipeline.problems(), pipeline.cache.notice)
    return _changed(app, build)


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


def remember(app: Sphinx, exception: Exception | None) -> None:
    """Keep the signatures of the pages that were written; after an exception nobody knows which were."""
    build = build_of(app.env)
    if exception is None and build.form != "nothing":
        signatures.keep(app, build.signatures, build.written)


def _read(asked: list[Asked], settings: Settings) -> dict[Asked, DiagramRequest | OptionError]:
    wanted: dict[Asked, DiagramRequest | OptionError] = {}
    for one in asked:
        try:
            wanted[one] = one.request(settings.options)
        except OptionError as error:
            wanted[one] = error
    return wanted


def _draw(
    wanted: Mapping[Asked, DiagramRequest | OptionError], pipeline: Pipeline, verbosity: int
) -> dict[Asked, Outcome | OptionError]:
    requests = [request for request in wanted.values() if isinstance(request, DiagramRequest)]
    with ProgressLine(verbosity) as progress:
        outcomes = pipeline.run(requests, progress)
    return {one: outcomes[it] if isinstance(it, DiagramRequest) else it for one, it in wanted.items()}


def _problems(wanted: Mapping[Asked, DiagramRequest | OptionError]) -> dict[Asked, Outcome | OptionError]:
    return {one: error for one, error in wanted.items() if isinstance(error, OptionError)}


def _changed(app: Sphinx, build: Build) -> list[str]:
    if build.form == "nothing":
        return []
    classes = {cls for result in build.results.values() for cls in signatures.linked_classes(result)}
    places = links.places(app, classes) if build.form == "inline" else {}
    build.linked = frozenset(places)
    build.signatures = signatures.of_documents(build.results, places)
    before = signatures.kept(app)
    return sorted(name for name, signature in build.signatures.items() if before.get(name) != signature)
