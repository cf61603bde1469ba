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
from mkdocs_torchrecorder.report import Report
from torchrecorder.request import Rules, has_example, read_rules, take_field

_documented: dict[str, bool] = {}
"""Whether it may be an `nn.Module`, for each class that griffe has loaded in this build, by its name."""


def forget() -> None:
    """Begin a new build."""
    _documented.clear()


def unmatched(autodoc: object) -> Iterator[str]:
    """What is wrong with the patterns of the setting, now that all classes are known."""
    return read_rules(autodoc)[0].problems(_documented)


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
    """

    def __init__(self, autodoc: object = True) -> None:
        self._rules, problems = read_rules(autodoc)
        for problem in problems:
            Report().warn(f"autodoc: {problem}")

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **kwargs: Any) -> None:
        """Go through the classes of a package that griffe has loaded."""
        others = _other_names(pkg)
        known: dict[str, bool] = {}
        for cls in _classes(pkg):
            names = (cls.path, *others[cls.path])
            is_module = _is_module(cls, loader.modules_collection)
            known.update(dict.fromkeys(names, is_module is not False))
            if cls.docstring is not None and is_module is not False:
                needed = _needed(cls, loader.modules_collection)
                _draw_behind(cls.docstring, names, self._rules, needed)
        _documented.update(known)


class _WithDiagram(griffe.Docstring):
    """A docstring with one more section, which no style of docstrings can take for part of another."""

    fence = ""

    def parse(self, parser: Any = None, **options: Any) -> list[griffe.DocstringSection]:
        return [*super().parse(parser, **options), griffe.DocstringSectionText(self.fence)]


def _draw_behind(docstring: griffe.Docstring, names: tuple[str, ...], rules: Rules, needed: list[str]) -> None:
    lines = docstring.value.split("\n")
    field = take_field(lines)
    docstring.value = "\n".join(lines)
    if any(not found.fence.problem for found in find_fences(lines)):
        return
    rule = rules.rule(names, field.text if field else None)
    if rule is not None:
        docstring.__class__ = _WithDiagram
        assert isinstance(docstring, _WithDiagram)
        docstring.fence = automatic_fence(names[0], rule, needed)


def _classes(parent: griffe.Module | griffe.Class) -> Iterator[griffe.Class]:
    for member in parent.members.values():
        if isinstance(member, griffe.Class):
            yield member
        if isinstance(member, griffe.Module | griffe.Class):
            yield from _classes(member)


def _other_names(pkg: griffe.Module) -> Mapping[str, list[str]]:
    """The names by which the modules of a package offer classes of others, by the name of the class."""
    names: dict[str, list[str]] = defaultdict(list)
    for module in (pkg, *_modules(pkg)):
        for member in module.members.values():
            if isinstance(member, griffe.Alias):
                names[member.target_path].append(member.path)
    return names


def _modules(pkg: griffe.Module) -> Iterator[griffe.Module]:
    for module in pkg.modules.values():
        if isinstance(module, griffe.Module):
            yield module
            yield from _modules(module)


def _is_module(cls: griffe.Class, loaded: griffe.ModulesCollection, seen: tuple[str, ...] = ()) -> bool | None:
    """Whether a class is an `nn.Module`; None if it has a base that griffe does not know."""
    answers: list[bool | None] = []
    for base in cls.bases:
        path = base if isinstance(base, str) else base.canonical_path
        if path in _MODULE:
            return True
        if path.partition(".")[0] in _OF_PYTHON or path.startswith(_NO_MODULES):
            continue
        found = _loaded(path, loaded)
        known = isinstance(found, griffe.Class) and found.path not in seen
        answers.append(_is_module(found, loaded, (*seen, cls.path)) if known else None)  # type: ignore[arg-type]
    if True in answers:
        return True
    return None if None in answers else False


def _needed(cls: griffe.Class, loaded: griffe.ModulesCollection) -> list[str]:
    """The parameters without defaults of the constructor, if that is certain and no example has them."""
    constructor = cls.members.get("__init__")
    if any(it is not None and it.docstring and has_example(cls.name, it.docstring.value) for it in (cls, constructor)):
        return []
    if isinstance(constructor, griffe.Function):
        _, *parameters = constructor.parameters
        return [it.name for it in parameters if it.required and not constructor.decorators]
    base = cls.bases[0] if len(cls.bases) == 1 and constructor is None else ""
    found = _loaded(base if isinstance(base, str) else base.canonical_path, loaded)
    return _needed(found, loaded) if isinstance(found, griffe.Class) and found is not cls else []


def _loaded(path: str, loaded: griffe.ModulesCollection) -> object:
    try:
        found = loaded[path]
        return found.final_target if isinstance(found, griffe.Alias) else found
    except Exception:  # griffe has many ways to say that it does not know a name
        return None
