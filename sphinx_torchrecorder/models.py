"""A table or a grid of models, each drawn as by a directive of its own."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from docutils import nodes
from sphinx.builders import Builder
from sphinx.environment import BuildEnvironment
from sphinx.util.osutil import relative_uri

from sphinx_torchrecorder import figure
from sphinx_torchrecorder.build import Build, diagram_placeholder, models_among
from sphinx_torchrecorder.links import reference
from sphinx_torchrecorder.site import Asked
from torchrecorder.site import Outcome

if TYPE_CHECKING:
    from torchrecorder.site import ModelList, ModelRow


def show_models(placeholder: diagram_placeholder, asked: Asked, build: Build, env: BuildEnvironment) -> None:
    """Put the table or the grid in place of the placeholder; outside of HTML it is a table without pictures."""
    from torchrecorder.site import FEWEST_MODELS, ModelList, ModelRow, line_of_inputs, rows_of

    site = build.made
    assert site is not None
    assert asked.body is not None
    places: list[Asked] = placeholder["rows"]
    if names := placeholder.get("names"):
        places = models_among(names, site.results)
        shown = ModelList.of_targets(place.target for place in places)
        if len(places) < FEWEST_MODELS or not site.settings.summary:
            placeholder.parent.parent.remove(placeholder.parent)
            return
    else:
        shown = ModelList.of(asked.body)
    named = _named_figures(site.results, site.app.builder, asked.docname)
    outcomes = map(site.shown, places)
    rows = [ModelRow(*row, named.get(row[1].request.recording, "")) for row in rows_of(shown, outcomes)]
    writer = _ModelsWriter(shown, env, site.app.builder, asked.docname, has_pictures=build.form == "inline")
    is_grid = shown.is_grid and build.form == "inline"
    cards = nodes.bullet_list("", *map(writer.card, rows), classes=["torchrecorder-grid"]) if is_grid else None
    said = line_of_inputs(rows, writer.columns, figure._)
    below = [_paragraph(nodes.Text(said), classes=["torchrecorder-remark"])] if said else []
    placeholder.replace_self([cards or writer.table(rows), *below])


def _named_figures(results: Mapping[Asked, Outcome], builder: Builder, docname: str) -> dict[object, str]:
    """Addresses of the figures with names, seen from a document, by what they record."""
    addresses: dict[object, str] = {}
    for place, outcome in results.items():
        if name := outcome.request.figure.name:
            to = builder.get_relative_uri(docname, place.docname) if place.docname != docname else ""
            addresses.setdefault(outcome.request.recording, f"{to}#{nodes.make_id(name)}")
    return addresses


class _ModelsWriter:
    def __init__(
        self, shown: ModelList, env: BuildEnvironment, builder: Builder, docname: str, *, has_pictures: bool
    ) -> None:
        self.env, self.builder, self.docname = env, builder, docname
        self.columns = [name for name in shown.columns if name != "picture" or has_pictures]

    def table(self, rows: list[ModelRow]) -> nodes.table:
        from torchrecorder.site import COLUMNS

        heads = {name: figure._(COLUMNS[name]) for name in self.columns}
        lines = [nodes.row("", *self._entries(row)) for row in rows]
        widths = (nodes.colspec(colwidth=max(6, len(head))) for head in heads.values())
        head = nodes.thead("", nodes.row("", *(_entry(name, nodes.Text(text)) for name, text in heads.items())))
        group = nodes.tgroup("", *widths, head, nodes.tbody("", *lines), cols=len(heads))
        return nodes.table("", group)

    def card(self, row: ModelRow) -> nodes.list_item:
        if not row.is_drawn:
            said = [_paragraph(nodes.Text(reason)) for reason in row.outcome.reasons(figure._)]
            return nodes.list_item("", _paragraph(nodes.strong("", row.name)), *said, classes=["torchrecorder-card"])
        facts = row.facts(self.columns, figure._)
        parts = [_paragraph(self._picture(row)), _paragraph(nodes.strong("", "", self._name(row)))]
        parts += [_paragraph(nodes.Text(facts))] if facts else []
        parts += [_paragraph(nodes.Text(row.cell("tags")), classes=["torchrecorder-tags"])] if row.listed.tags else []
        return nodes.list_item("", *parts, classes=["torchrecorder-card"])

    def _entries(self, row: ModelRow) -> Iterator[nodes.entry]:
        if not row.is_drawn:
            text = f" {row.outcome.reasons(figure._)[0].splitlines()[0]}"
            said = _paragraph(nodes.strong("", row.name), nodes.Text(text))
            yield nodes.entry("", said, morecols=len(self.columns) - 1)
            return
        for column in self.columns:
            special = {"name": self._name, "picture": self._picture}.get(column)
            text, url = row.cell(column, figure._), row.address(column)
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
        shown: Any = figure.image(
            nodes.figure(), diagram.without_foot(), options, self.env, self.docname, "image/svg+xml"
        )
        shown.attributes |= {"alt": row.outcome.title(figure._), "loading": "lazy"}
        for name in ("width", "height"):
            shown.attributes.pop(name, None)
        folder = relative_uri(self.builder.get_target_uri(self.docname), "_images")
        address = row.url or posixpath.join(folder, posixpath.basename(shown["uri"]))
        return nodes.reference("", "", shown, refuri=address, internal=True)


def _entry(column: str, content: nodes.Node) -> nodes.entry:
    from torchrecorder.site import NUMBERS

    return nodes.entry("", _paragraph(content), classes=["number"] if column in NUMBERS else [])


def _paragraph(*content: nodes.Node, classes: Sequence[str] = ()) -> nodes.paragraph:
    return nodes.paragraph("", "", *content, classes=[*classes])
