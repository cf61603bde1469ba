"""Diagrams of the classes that mkdocstrings shows and for which no fence stands there: an extension of griffe.

Griffe reads the sources and imports nothing. A class is taken for a module if one of its bases is `torch.nn.Module`, or
one that griffe does not know; what such a class is says the worker. The diagram is a fence behind the docstring, which
the Markdown of docstrings takes as any other: so it works wherever fences do. The plugin adds the extension by itself.
"""

from __future__ import annotations

import builtins
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import griffe

from mkdocs_torchrecorder.fence import automatic_fence, find_fences
from mkdocs_torchrecorder.site import tell
from torchrecorder.site import DocstringField, Message, Rules, why_not_tried

_MODULE = {"torch.nn.Module", "torch.nn.modules.Module", "torch.nn.modules.module.Module"}
_OF_PYTHON = {*sys.stdlib_module_names, *vars(builtins)}
_NO_MODULES = (
    *("torch.utils.data.", "torch.autograd.", "torch.distributions.", "torch.Tensor"),
    *("torch.optim.Optimizer", "torch.optim.lr_scheduler."),
)
"""Where torch has other classes: of a library with datasets, the worker was asked for those longer than for models."""


class ModuleDiagrams(griffe.Extension):
    """Puts a diagram behind the docstrings of documented `nn.Module` classes.

    Args:
        autodoc: The setting of that name: `True`, or options by patterns over the names of classes.
        documented: Where to note, for each class by its names, whether it may be an `nn.Module`.
    """

    def __init__(self, autodoc: object = True, documented: dict[str, bool] | None = None) -> None:
        self._rules, problems = (autodoc, ()) if isinstance(autodoc, Rules) else Rules.read(autodoc)
        self._documented = {} if documented is None else documented
        for problem in problems:
            tell(Message(f"autodoc: {problem}", "option"))

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        others = _other_names(pkg)
        for cls in _within(pkg):
            if not isinstance(cls, griffe.Class):
                continue
            names = (cls.path, *others[cls.path])
            bases = [*_bases(cls, loader.modules_collection)]
            may_be = any(may for _, may in bases)
            self._documented.update(dict.fromkeys(names, may_be))
            if may_be:
                obstacle = why_not_tried((*names, *(base for base, _ in bases)))
                docstring = cls.docstring or griffe.Docstring("", parent=cls)
                cls.docstring = self._with_diagram(docstring, names, obstacle)

    def _with_diagram(self, docstring: griffe.Docstring, names: tuple[str, ...], obstacle: str) -> griffe.Docstring:
        """The docstring without the field of ours in it, and with a fence, of which blocks of pages may say more."""
        lines = docstring.value.split("\n")
        field = DocstringField.take(lines)
        docstring.value = "\n".join(lines)
        if any(not placed.fence.body.fault for placed in find_fences(lines)):
            return docstring
        is_asked = bool(self._rules.by_pattern)
        body = self._rules.body(names, field.text if field else None, obstacle) if is_asked else None
        return _WithDiagram(docstring, automatic_fence(body, names[0]))


class _WithDiagram(griffe.Docstring):
    """A docstring with one more section, which no style of docstrings can take for part of another.

    That of a class without one is false, so that mkdocstrings shows the class only where it would anyway.
    """

    def __init__(self, docstring: griffe.Docstring, fence: str) -> None:
        named = ("lineno", "endlineno", "parent", "parser", "parser_options")
        super().__init__(docstring.value, **{name: getattr(docstring, name) for name in named})
        self._fence = fence

    def __bool__(self) -> bool:
        return bool(self.value)

    def parse(self, parser: Any = None, **options: Any) -> list[griffe.DocstringSection]:
        return [*super().parse(parser, **options), griffe.DocstringSectionText(self._fence)]


def _within(parent: griffe.Module | griffe.Class) -> Iterator[griffe.Module | griffe.Class]:
    for member in parent.members.values():
        if isinstance(member, griffe.Module | griffe.Class):
            yield member
            yield from _within(member)


def _other_names(pkg: griffe.Module) -> Mapping[str, list[str]]:
    """The names by which the modules of a package offer classes of others, by the name of the class."""
    names: dict[str, list[str]] = defaultdict(list)
    for module in (pkg, *_within(pkg)):
        for member in module.members.values() if isinstance(module, griffe.Module) else ():
            if isinstance(member, griffe.Alias):
                names[member.target_path].append(member.path)
    return names


def _bases(
    cls: griffe.Class, loaded: griffe.ModulesCollection, seen: tuple[str, ...] = ()
) -> Iterator[tuple[str, bool]]:
    """The names of a class's bases, and of theirs, each with whether it is an `nn.Module`, as far as griffe sees."""
    for base in cls.bases:
        path = base if isinstance(base, str) else base.canonical_path
        parent = _loaded(path, loaded)
        is_other = path.partition(".")[0] in _OF_PYTHON or path.startswith(_NO_MODULES)
        is_known = isinstance(parent, griffe.Class) and parent.path not in seen
        yield path, path in _MODULE or not (is_other or is_known)
        if isinstance(parent, griffe.Class) and is_known:
            above = _bases(parent, loaded, (*seen, cls.path))
            yield from ((name, may_be and not is_other) for name, may_be in above)


def _loaded(path: str, loaded: griffe.ModulesCollection) -> object:
    try:
        member = loaded[path]
        return member.final_target if isinstance(member, griffe.Alias) else member
    except Exception:  # griffe has many ways to say that it does not know a name
        return None
