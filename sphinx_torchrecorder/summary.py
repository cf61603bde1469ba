"""Tables of the models that a page describes by autodoc, or lists by autosummary, above them.

Which classes have a picture is known at the end: a page that describes or lists several gets a place for the table,
which goes away if the setting does not ask for it, or fewer than two of them have one.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

from sphinx_torchrecorder.build import diagram_placeholder
from sphinx_torchrecorder.directive import MODELS_NAME
from sphinx_torchrecorder.site import Asked
from torchrecorder.site import FEWEST_MODELS, Body


class PlaceSummaries(SphinxTransform):
    """Puts a place for a table before the first class of each section that describes several, and before lists.

    As in::

        <section>
            <container classes="torchrecorder-models">
                <diagram_placeholder request="Asked(…)" rows="[]" names="('pkg.Net', …)">
            <index>
            <desc domain="py" objtype="class">
    """

    default_priority = 410
    """Behind the places of diagrams."""

    def apply(self, **kwargs: Any) -> None:
        for node, names in [*self._described(), *self._listed()]:
            if len(names) >= FEWEST_MODELS:
                request = Asked(self.env.docname, self.env.docname, "", Body(""), is_table=True)
                place = diagram_placeholder(request=request, rows=[], names=tuple(names))
                at = node.parent.index(node)
                while at and isinstance(node.parent[at - 1], (addnodes.index, addnodes.tabular_col_spec)):
                    at -= 1
                node.parent.insert(at, nodes.container("", place, classes=[MODELS_NAME]))

    def _described(self) -> Iterator[tuple[nodes.Element, Sequence[str]]]:
        """The first description of each section, with the names of all the classes there that may have a diagram."""
        found: dict[int, tuple[nodes.Element, list[str]]] = {}
        for placeholder in self.document.findall(diagram_placeholder):
            asked: Asked = placeholder["request"]
            outer: nodes.Element = placeholder
            while asked.is_automatic and not isinstance(outer.parent, (nodes.section, nodes.document)):
                outer = outer.parent
            if asked.is_automatic:
                found.setdefault(id(outer.parent), (outer, []))[1].append(asked.target)
        yield from found.values()

    def _listed(self) -> Iterator[tuple[nodes.Element, Sequence[str]]]:
        autosummary = sys.modules.get("sphinx.ext.autosummary")  # nothing else makes such tables
        for table in self.document.findall(autosummary.autosummary_table) if autosummary else ():
            yield table, [xref["reftarget"] for xref in table.findall(addnodes.pending_xref)]
