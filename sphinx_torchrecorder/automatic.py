"""Diagrams in the descriptions of classes for which no directive stands there.

What a docstring becomes is decided by other extensions too, and its first sentence stands in tables of autosummary. So
nothing is added to the docstring: a placeholder goes behind the nodes that were made of it. Whether a diagram takes its
place is decided at the end, when all classes are known and drawn.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.locale import get_translation
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

from sphinx_torchrecorder.build import DirectiveRequest, diagram_placeholder
from sphinx_torchrecorder.documented import DocumentedClass, classes_of_document
from torchrecorder.errors import OptionError
from torchrecorder.page import CATALOG, Outcome, is_closed

_ = get_translation(CATALOG)


class closed_figure(nodes.General, nodes.Element):  # noqa: N801 (docutils names its nodes so)
    """A figure that readers of an HTML page open by a click; its attribute `title` is what they click at."""


def visit_closed(translator: HTML5Translator, node: closed_figure) -> None:
    """Write what stands before the figure."""
    title = translator.encode(node["title"])
    translator.body.append(f'<details class="torchrecorder-closed"><summary>{title}</summary>\n')


def depart_closed(translator: HTML5Translator, node: closed_figure) -> None:
    """Write what stands behind the figure."""
    translator.body.append("</details>\n")


class PlaceDiagrams(SphinxTransform):
    """Puts a placeholder into the description of each class that autodoc has shown and that may be a module.

    As in::

        <desc domain="py" objtype="class">
            <desc_signature fullname="Net" module="pkg">
            <desc_content>
                <paragraph>                                   and what else its docstring says
                <diagram_placeholder request="DocumentedClass(…)">
                <desc domain="py" objtype="method">           and what else belongs to it
    """

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        """Go through the descriptions of a document."""
        classes = classes_of_document(self.env)
        for description in list(self.document.findall(addnodes.desc)) if classes else ():
            signature, content = description[0], description[-1]
            if not isinstance(signature, addnodes.desc_signature) or not isinstance(content, addnodes.desc_content):
                continue
            name = ".".join(filter(None, (signature.get("module"), signature.get("fullname"))))
            facts = classes.get(name) if description["objtype"] in ("class", "exception") else None
            if facts is None or not facts.may_have_diagram or _has_diagram(content):
                continue
            placeholder = diagram_placeholder(request=DocumentedClass(self.env.docname, facts.location(), name, facts))
            content.insert(_end_of_docstring(content, facts.docstring), placeholder)


def _has_diagram(content: nodes.Element) -> bool:
    """Whether a directive stands in the docstring, or under the directive that documents the class."""
    own = (child for child in content if not isinstance(child, addnodes.desc))
    asked = (found["request"] for child in own for found in child.findall(diagram_placeholder))
    return any(isinstance(one, DirectiveRequest) and not one.is_table for one in asked)


def _end_of_docstring(content: nodes.Element, docstring: str) -> int:
    """The place in a description behind what its docstring says, which comes before all that other directives add."""
    end = 0
    for place, child in enumerate(content):
        if isinstance(child, (addnodes.desc, addnodes.index)):
            break
        sources = {node.source for node in child.findall() if node.source}
        # The line that names the bases has no source. Sphinx makes lists of fields anew, and says another source.
        goes_on = end == place and (not sources or isinstance(child, nodes.field_list))
        if goes_on or any(source.endswith(docstring) for source in sources):
            end = place + 1
    return end


def framed(placeholder: nodes.Element) -> nodes.Element:
    """The figure of an automatic diagram, which takes the place of the placeholder and holds it."""
    frame = nodes.figure(classes=["torchrecorder"])
    placeholder.replace_self(frame)
    frame += placeholder
    return frame


def close_tall(frame: nodes.Element, result: Outcome | OptionError | None, place: str) -> None:
    """Put the figure under a summary that readers open, if its diagram is to stand there."""
    if isinstance(result, Outcome) and result.diagram is not None and is_closed(result, place):
        summary = closed_figure(
            title=_("Architecture of {}").format(result.diagram.facts.get("model", result.request.recording.target))
        )
        frame.replace_self(summary)
        summary += frame
