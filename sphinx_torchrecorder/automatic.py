"""Diagrams in the descriptions of classes for which no directive stands there.

autodoc has imported a class when it tells of it, with torch or with its own mock of torch in the place of it. So a look
at the bases of the class is enough to know a module, and nothing is imported for that.

What a docstring becomes is decided by other extensions too, and its first sentence stands in tables of autosummary. So
nothing is added to the docstring: a placeholder goes behind the nodes that were made of it. Whether a diagram takes its
place is decided at the end, when all classes are known and drawn; so it is of the table of models above several.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.locale import get_translation
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

from sphinx_torchrecorder.build import MODELS_NAME, DocumentCollector, build_of, diagram_placeholder
from sphinx_torchrecorder.site import Asked
from torchrecorder.site import FEWEST_MODELS, Body, DocstringField, Outcome, why_class_not_tried, words

_ = get_translation(words.CATALOG)

_CLASSES = "torchrecorder_classes"
_MODULE = {("torch.nn", "Module"), ("torch.nn.modules.module", "Module")}
"""Where the base class of all modules is, in a mock of torch and in torch."""

FIRST = 1
"""Of handlers of docstrings: before those that rewrite them."""
BEFORE_DRAWING = 400
"""Of handlers: before diagrams are drawn."""


class DocumentedClass(NamedTuple):
    asked: Asked
    """What stands for its diagram, if it gets one."""
    docstring: str
    """As autodoc names the source of the lines of it, behind the file."""
    is_module: bool | None
    """None if it has bases that are mocks, so that only the worker knows."""


def note_class(app: Sphinx, what: str, name: str, obj: Any, options: object, lines: list[str]) -> None:
    """Note what a class is, and take the field of ours out of its docstring."""
    if what not in ("class", "exception"):
        return
    classes = classes_of_document(app.env)
    module, qualified_name = getattr(obj, "__module__", ""), getattr(obj, "__qualname__", name)
    defined = f"{module}.{qualified_name}"
    file, docstring = getattr(sys.modules.get(module), "__file__", None) or "", f"docstring of {defined}"
    field = DocstringField.take(lines)
    if field is not None or name not in classes:  # its constructor may have a docstring of its own
        location = f"{file}:{docstring}:{field.line + 1 if field else 1}"  # as Sphinx shows it
        obstacle, own = why_class_not_tried(name, obj), field.text if field else None
        asked = Asked(app.env.docname, location, name, None, False, own, obstacle, defined)
        bases = obj.__mro__ if isinstance(obj, type) else ()
        is_mocked = any("__sphinx_mock__" in vars(base) for base in bases)
        is_module = any((base.__module__, base.__name__) in _MODULE for base in bases) or (None if is_mocked else False)
        classes[name] = DocumentedClass(asked, docstring, is_module)


def classes_of_document(env: BuildEnvironment) -> dict[str, DocumentedClass]:
    """Classes that autodoc showed while the current document was read, by dotted name."""
    return cast(dict[str, DocumentedClass], env.temp_data.setdefault(_CLASSES, {}))


class NamesCollector(DocumentCollector):
    """Collects which classes autodoc has documented in the whole site, for what is said of patterns."""

    attribute = "torchrecorder_names"

    def collect(self, app: Sphinx, doctree: nodes.document) -> dict[str, bool]:
        """Whether it may be a module, for each class in a document by its dotted name."""
        return {name: documented.is_module is not False for name, documented in classes_of_document(app.env).items()}


def warn_of_patterns(app: Sphinx, env: BuildEnvironment) -> None:
    site = build_of(env).site(app)
    names = {name: may_be for each in NamesCollector.by_document(env).values() for name, may_be in each.items()}
    for problem in site.settings.rules.problems(names):
        site.warn(f"torchrecorder_autodoc: {problem}", "option")


class closed_figure(nodes.General, nodes.Element):  # noqa: N801 (docutils names its nodes so)
    """A figure that readers of an HTML page open by a click; its attribute `title` is what they click at."""


def visit_closed(translator: HTML5Translator, node: closed_figure) -> None:
    title = translator.encode(node["title"])
    translator.body.append(f'<details class="torchrecorder-closed"><summary>{title}</summary>\n')


def depart_closed(translator: HTML5Translator, node: closed_figure) -> None:
    translator.body.append("</details>\n")


class PlaceDiagrams(SphinxTransform):
    """Puts a placeholder into the description of each class that autodoc has shown and that may be a module.

    As in::

        <desc domain="py" objtype="class">
            <desc_signature fullname="Net" module="pkg">
            <desc_content>
                <paragraph>                                   and what else its docstring says
                <diagram_placeholder request="Asked(…)">
                <desc domain="py" objtype="method">           and what else belongs to it
    """

    default_priority = 400

    def apply(self, **kwargs: Any) -> None:
        classes = classes_of_document(self.env)
        for description in list(self.document.findall(addnodes.desc)) if classes else ():
            signature, content = description[0], description[-1]
            if not isinstance(signature, addnodes.desc_signature) or not isinstance(content, addnodes.desc_content):
                continue
            name = ".".join(filter(None, (signature.get("module"), signature.get("fullname"))))
            known = classes.get(name) if description["objtype"] in ("class", "exception") else None
            if known is None or (known.is_module is False and known.asked.own is None) or _has_diagram(content):
                continue
            placeholder = diagram_placeholder(request=known.asked)
            content.insert(_end_of_docstring(content, known.docstring), placeholder)


def _has_diagram(content: nodes.Element) -> bool:
    """Whether a directive stands in the docstring, or under the directive that documents the class."""
    own = (child for child in content if not isinstance(child, addnodes.desc))
    asked = (placeholder["request"] for child in own for placeholder in child.findall(diagram_placeholder))
    return any(not each.is_automatic and not each.is_table for each in asked)


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


def close_tall(frame: nodes.Element, outcome: Outcome, place: str) -> None:
    """Put the figure under a summary that readers open, if its diagram is to stand there."""
    if outcome.is_closed(place):
        summary = closed_figure(title=outcome.title(_))
        frame.replace_self(summary)
        summary += frame


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
        autosummary = sys.modules.get("sphinx.ext.autosummary")  # nothing else makes such tables
        tables = self.document.findall(autosummary.autosummary_table) if autosummary else ()
        listed = [(it, [xref["reftarget"] for xref in it.findall(addnodes.pending_xref)]) for it in tables]
        for node, names in [*self._described(), *listed]:
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
