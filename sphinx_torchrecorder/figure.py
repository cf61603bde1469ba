"""The contents of a figure or of a table of models, for each way to show a diagram."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.locale import get_translation
from sphinx.util.osutil import relative_uri
from sphinx.writers.html5 import HTML5Translator

from sphinx_torchrecorder.build import Build, Form, ImageType, build_of, diagram_placeholder, models_among
from sphinx_torchrecorder.links import addresses, reference
from sphinx_torchrecorder.site import Asked
from torchrecorder.site import COLUMNS, NUMBERS, Diagram, FigureOptions, ModelList, Outcome, lines_below, words

if TYPE_CHECKING:
    from torchrecorder.site import CopyNumbers, ModelRow

_ = get_translation(words.CATALOG)


class diagram_picture(nodes.General, nodes.Element):  # noqa: N801 (docutils names its nodes so)
    """A picture for HTML, which its attribute `contents` writes; its children are references to the classes it shows.

    Not docutils' `raw`: Sphinx puts the words of raw HTML into the search index, and every label of every layer there
    buries the pages that explain them.
    """


def visit_picture(translator: HTML5Translator, node: diagram_picture) -> None:
    try:
        translator.body.append(f"{node['contents'](urls=addresses(node))}\n")
    except Exception as unexpected:  # of one picture, which must not cost the page
        unforeseen_box(build_of(translator.builder.env), node["asked"], unexpected).walkabout(translator)
    raise nodes.SkipNode


def dress(frame: nodes.Element, options: FigureOptions, form: Form) -> None:
    """Give the figure its place and classes; here and not in the directive, because a site may set them too.

    A tree of modules is not moved aside: it has no width that text could flow around.
    """
    if options.align and form != "text":
        frame["align"] = options.align
    frame["classes"] += [name for name in options.classes if name not in frame["classes"]]


def inline(
    frame: nodes.Element, outcome: Outcome, diagram: Diagram, asked: Asked, copies: CopyNumbers, linked: Container[str]
) -> nodes.Node:
    """Picture as a part of an HTML page, with references that Sphinx is still to resolve.

    Only classes in `linked` have a page; there is no use in looking for the others again.
    """
    options, natural = outcome.request.figure, max(drawing.width for drawing in diagram.drawings)
    width, height = options.size(natural)
    if options.figwidth == "image" or (options.align in ("left", "right") and not options.figwidth):
        # Text flows around, so the caption must not make the figure wider.
        by_height = f"calc({height} * {natural / diagram.size[1]:.4g})" if height else f"{natural:.0f}px"
        frame["width"] = width or by_height
        options = replace(options, width=width and "100%", height=height, scale=100)
    elif options.figwidth:
        frame["width"] = options.figwidth
    classes = [cls for cls in diagram.classes if cls in linked] if options.links else []
    references = [reference(cls, asked.docname) for cls in classes]
    copy = copies.add(diagram, options.name)
    contents = partial(copies.contents, diagram, options, copy=copy, about=outcome.about(_), translate=_)
    return diagram_picture("", *references, contents=contents, asked=asked, has_zoom=options.zoom)


def image(
    frame: nodes.Element,
    diagram: Diagram,
    options: FigureOptions,
    env: BuildEnvironment,
    docname: str,
    mimetype: ImageType,
) -> nodes.Node:
    """The picture as a file, lying beside the doctrees until the builder collects it."""
    is_svg = mimetype == "image/svg+xml"
    data = diagram.standalone_svg().encode() if is_svg else diagram.to_pdf()
    name = f"torchrecorder-{hashlib.sha256(data).hexdigest()[:16]}.{'svg' if is_svg else 'pdf'}"
    file = Path(env.doctreedir, "images", name)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
    env.images.add_file(docname, str(file))
    shown = nodes.image("", uri=str(file), alt=options.alt or diagram.alt, candidates={mimetype: str(file)})
    width, height = options.size(diagram.size[0])
    shown.attributes |= {name: length for name, length in (("width", width), ("height", height)) if length}
    if options.loading != "embed":
        shown["loading"] = options.loading
    if options.figwidth:
        frame["width"] = options.figwidth if options.figwidth != "image" else width or f"{diagram.size[0]:.0f}px"
    return shown


def tree(diagram: Diagram) -> nodes.Node:
    return nodes.literal_block(diagram.text, diagram.text, language="none", classes=["torchrecorder-tree"])


def add_table(frame: nodes.Element, outcome: Outcome, image_type: ImageType | None) -> None:
    """Put the table behind the figure, if there is to be one: a figure floats on paper, and a long table does not."""
    if outcome.diagram is not None and outcome.request.drawing.table:
        if image_type == "application/pdf" and frame.get("align") in ("left", "right"):
            frame["align"] = "center"  # LaTeX lets text flow around a figure, but prints a table over it
        rows = nodes.table("", _rows(outcome), classes=["torchrecorder-layers"])
        frame.parent.insert(frame.parent.index(frame) + 1, rows)


def show_table(frame: nodes.Element, outcome: Outcome) -> None:
    """Put the rows into a table that stands alone, or a box in its place."""
    if outcome.diagram is None:
        frame.replace_self(error_box(outcome.request.recording.target, outcome.reasons(_)))
        return
    frame[-1] = _rows(outcome)
    options = outcome.request.figure
    dress(frame, options, "inline")
    if options.width:
        frame["width"] = options.width
    place = frame.parent.index(frame) + 1
    frame.parent.insert(place, _lines(outcome))


def _rows(outcome: Outcome) -> nodes.tgroup:
    texts = outcome.rows(_)
    head, *rows = ([nodes.entry("", nodes.paragraph(text, text)) for text in row] for row in texts)
    return _group([max(map(len, column)) for column in zip(*texts, strict=True)], head, rows)


def _group(widths: Sequence[int], head: Iterable[nodes.Node], rows: Iterable[Iterable[nodes.Node]]) -> nodes.tgroup:
    columns = (nodes.colspec(colwidth=width) for width in widths)
    body = nodes.tbody("", *(nodes.row("", *entries) for entries in rows))
    return nodes.tgroup("", *columns, nodes.thead("", nodes.row("", *head)), body, cols=len(widths))


def error_box(target: str, reasons: Sequence[str]) -> nodes.Node:
    """A box in place of a picture; an admonition, so every theme and every builder has a style for it."""
    title = _("No diagram of {}").format(target) if target else _("No diagram")
    paragraphs = [nodes.paragraph("", text) for text in reasons]
    items = (nodes.list_item("", paragraph) for paragraph in paragraphs)
    reason = nodes.bullet_list("", *items) if len(paragraphs) > 1 else paragraphs[0]
    return nodes.admonition("", nodes.title("", title), reason, classes=["torchrecorder-error", "error"])


def unforeseen_box(build: Build, asked: Asked, unexpected: Exception) -> nodes.Node:
    """A box for what no check foresees, of which a warning tells too."""
    if build.made is None:
        raise unexpected
    return error_box(asked.target, (str(build.made.unforeseen(asked.target, unexpected, asked.location)),))


def _lines(outcome: Outcome) -> list[nodes.Node]:
    shown: list[nodes.Node] = []
    for kind, line in lines_below(outcome, _).items():
        parts = (nodes.literal("", text) if is_code else nodes.Text(text) for text, is_code in words.with_code(line))
        shown.append(_paragraph(*parts, classes=[f"torchrecorder-{kind}"]))
    return shown


def add_lines(frame: nodes.Element, outcome: Outcome) -> None:
    shown = _lines(outcome)
    if shown and isinstance(legend := frame[-1], nodes.legend):
        legend += shown
    elif shown:
        frame += nodes.legend("", *shown)


def show_models(placeholder: diagram_placeholder, asked: Asked, build: Build) -> None:
    """Put the table or the grid in place of the placeholder; outside of HTML it is a table without pictures."""
    from torchrecorder.site import ModelRow, line_of_inputs, rows_of

    site = build.made
    assert site is not None
    assert asked.body is not None
    places: list[Asked] = placeholder["rows"]
    if names := placeholder.get("names"):
        places = models_among(names, site.results)
        shown = ModelList.of_targets(place.target for place in places) if site.settings.summary else None
        if shown is None:
            placeholder.parent.parent.remove(placeholder.parent)
            return
    else:
        shown = ModelList.of(asked.body)
    addresses: dict[object, str] = {}  # of figures with names, by what they record
    for place, outcome in site.results.items():
        if name := outcome.request.figure.name:
            to = (
                site.app.builder.get_relative_uri(asked.docname, place.docname)
                if place.docname != asked.docname
                else ""
            )
            addresses.setdefault(outcome.request.recording, f"{to}#{nodes.make_id(name)}")
    known = rows_of(shown, map(site.shown, places))
    rows = [ModelRow(*row, addresses.get(row[1].request.recording, "")) for row in known]
    writer = _ModelsWriter(shown, site.app, asked.docname, has_pictures=build.form == "inline")
    is_grid = shown.is_grid and build.form == "inline"
    cards = nodes.bullet_list("", *map(writer.card, rows), classes=["torchrecorder-grid"]) if is_grid else None
    said = line_of_inputs(rows, writer.columns, _)
    below = [_paragraph(nodes.Text(said), classes=["torchrecorder-remark"])] if said else []
    placeholder.replace_self([cards or writer.table(rows), *below])


class _ModelsWriter:
    def __init__(self, shown: ModelList, app: Sphinx, docname: str, *, has_pictures: bool) -> None:
        self.app, self.docname = app, docname
        self.columns = [name for name in shown.columns if name != "picture" or has_pictures]

    def table(self, rows: list[ModelRow]) -> nodes.table:
        heads = {name: _(COLUMNS[name]) for name in self.columns}
        head = (_entry(name, nodes.Text(text)) for name, text in heads.items())
        return nodes.table("", _group([max(6, len(text)) for text in heads.values()], head, map(self._entries, rows)))

    def card(self, row: ModelRow) -> nodes.list_item:
        if not row.is_drawn:
            said = [_paragraph(nodes.Text(reason)) for reason in row.outcome.reasons(_)]
            return nodes.list_item("", _paragraph(nodes.strong("", row.name)), *said, classes=["torchrecorder-card"])
        facts = row.facts(self.columns, _)
        parts = [_paragraph(self._picture(row)), _paragraph(nodes.strong("", "", self._name(row)))]
        parts += [_paragraph(nodes.Text(facts))] if facts else []
        parts += [_paragraph(nodes.Text(row.cell("tags")), classes=["torchrecorder-tags"])] if row.listed.tags else []
        return nodes.list_item("", *parts, classes=["torchrecorder-card"])

    def _entries(self, row: ModelRow) -> Iterator[nodes.entry]:
        if not row.is_drawn:
            text = f" {row.outcome.reasons(_)[0].splitlines()[0]}"
            said = _paragraph(nodes.strong("", row.name), nodes.Text(text))
            yield nodes.entry("", said, morecols=len(self.columns) - 1)
            return
        for column in self.columns:
            special = {"name": self._name, "picture": self._picture}.get(column)
            text, url = row.cell(column, _), row.address(column)
            plain = nodes.reference("", text, refuri=url) if url else nodes.Text(text)
            yield _entry(column, special(row) if special else plain)

    def _name(self, row: ModelRow) -> nodes.Node:
        if row.url:
            return nodes.reference("", row.name, refuri=row.url, internal=True)
        return reference(row.outcome.request.recording.target.partition("(")[0], self.docname, row.name)

    def _picture(self, row: ModelRow) -> nodes.Node:
        diagram = row.outcome.diagram
        assert diagram is not None
        options = row.outcome.request.figure
        shown: Any = image(nodes.figure(), diagram.without_foot(), options, self.app.env, self.docname, "image/svg+xml")
        shown.attributes |= {"alt": row.outcome.title(_), "loading": "lazy"}
        for name in ("width", "height"):
            shown.attributes.pop(name, None)
        folder = relative_uri(self.app.builder.get_target_uri(self.docname), "_images")
        address = row.url or posixpath.join(folder, posixpath.basename(shown["uri"]))
        return nodes.reference("", "", shown, refuri=address, internal=True)


def _entry(column: str, content: nodes.Node) -> nodes.entry:
    return nodes.entry("", _paragraph(content), classes=["number"] if column in NUMBERS else [])


def _paragraph(*content: nodes.Node, classes: Sequence[str] = ()) -> nodes.paragraph:
    return nodes.paragraph("", "", *content, classes=[*classes])
