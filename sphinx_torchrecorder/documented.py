"""The classes that autodoc documents, as it shows them to extensions: which may get a diagram, and what they say of it.

autodoc has imported a class when it tells of it, with torch or with its own mock of torch in the place of it. So a look
at the bases of the class is enough to know a module, and nothing is imported for that.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping, Set
from dataclasses import dataclass
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors import EnvironmentCollector

from torchrecorder.page import Outcome, asked_for, needs
from torchrecorder.request import DiagramRequest, DocstringField, Rules, has_example, take_field
from torchrecorder.request.callables import docstrings, needed_arguments

_CLASSES = "torchrecorder_classes"
_NAMES = "torchrecorder_names"
_MODULE = {("torch.nn", "Module"), ("torch.nn.modules.module", "Module")}
"""Where the base class of all modules is, in a mock of torch and in torch."""

FIRST = 1
"""Of handlers of docstrings: before those that rewrite them."""


@dataclass(frozen=True, slots=True)
class ClassFacts:
    """What autodoc showed of a class."""

    file: str
    """Where it is defined; empty if that is not known."""
    docstring: str
    """As autodoc names the source of the lines of it, behind the file."""
    is_module: bool | None
    """None if it has bases that are mocks, so that only the worker knows."""
    obstacle: str
    """Why it cannot be built without arguments; empty if nothing is known."""
    field: DocstringField | None

    def location(self) -> str:
        """`file:docstring of class:line`, as Sphinx shows it."""
        return f"{self.file}:{self.docstring}:{self.field.line + 1 if self.field else 1}"

    @property
    def may_have_diagram(self) -> bool:
        """Whether a diagram of it makes sense, or is asked for."""
        return self.is_module is not False or self.field is not None


@dataclass(frozen=True, slots=True)
class DocumentedClass:
    """A class in its place in a page."""

    docname: str
    location: str
    target: str
    """Its dotted name."""
    facts: ClassFacts


def note_class(app: Sphinx, what: str, name: str, obj: Any, options: object, lines: list[str]) -> None:
    """Note what a class is, and take the field of ours out of its docstring."""
    if what not in ("class", "exception"):
        return
    classes = classes_of_document(app.env)
    known = classes.get(name)  # its constructor may have a docstring of its own
    field = take_field(lines) or (known and known.field)
    module, qualified_name = getattr(obj, "__module__", ""), getattr(obj, "__qualname__", name)
    file = getattr(sys.modules.get(module), "__file__", None) or ""
    docstring = f"docstring of {module}.{qualified_name}"
    classes[name] = ClassFacts(file, docstring, _is_module(obj), _obstacle(obj), field or None)


def classes_of_document(env: BuildEnvironment) -> dict[str, ClassFacts]:
    """What autodoc showed while the current document was read, by dotted name."""
    if _CLASSES not in env.current_document:
        env.current_document[_CLASSES] = {}
    classes: dict[str, ClassFacts] = env.current_document[_CLASSES]
    return classes


def _is_module(obj: Any) -> bool | None:
    bases = obj.__mro__ if isinstance(obj, type) else ()
    if any((base.__module__, base.__name__) in _MODULE for base in bases):
        return True
    return None if any("__sphinx_mock__" in vars(base) for base in bases) else False


def _obstacle(cls: Any) -> str:
    if inspect.isabstract(cls):
        return f"it is abstract: {', '.join(sorted(cls.__abstractmethods__))}"
    needed = needed_arguments(cls)
    return "" if not needed or any(has_example(cls.__name__, text) for text in docstrings(cls)) else needs(needed)


def automatic_request(
    documented: DocumentedClass, rules: Rules, site: Mapping[str, str]
) -> DiagramRequest | Outcome | None:
    """What a class asks for; an outcome if it is known without recording, None if it is to have no diagram.

    Raises:
        OptionError: The field in its docstring cannot be read.
    """
    facts = documented.facts
    request = rules.request(documented.target, facts.field.text if facts.field else None, site)
    return request and asked_for(request, facts.obstacle)


class NamesCollector(EnvironmentCollector):
    """Keeps which classes autodoc has documented in the whole site, for what is said of patterns."""

    def process_doc(self, app: Sphinx, doctree: nodes.document) -> None:
        """Collect the names of a document that was just read."""
        if classes := classes_of_document(app.env):
            names = {name: facts.is_module is not False for name, facts in classes.items()}
            _names_by_document(app.env)[app.env.docname] = names

    def clear_doc(self, app: Sphinx, env: BuildEnvironment, docname: str) -> None:
        """Forget a document."""
        _names_by_document(env).pop(docname, None)

    def merge_other(self, app: Sphinx, env: BuildEnvironment, docnames: Set[str], other: BuildEnvironment) -> None:
        """Take over what a reading process has collected."""
        theirs = _names_by_document(other)
        _names_by_document(env).update({name: theirs[name] for name in docnames if name in theirs})


def documented_names(env: BuildEnvironment) -> dict[str, bool]:
    """Whether it may be a module, for each documented class by its dotted name."""
    return {name: is_one for names in _names_by_document(env).values() for name, is_one in names.items()}


def _names_by_document(env: BuildEnvironment) -> dict[str, dict[str, bool]]:
    if not hasattr(env, _NAMES):
        setattr(env, _NAMES, {})
    by_document: dict[str, dict[str, bool]] = getattr(env, _NAMES)
    return by_document
