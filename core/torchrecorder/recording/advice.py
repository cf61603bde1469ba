"""Advice on a target whose model is not found or cannot be built: what to write in its place."""

from __future__ import annotations

import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import torch
from torch import nn

from torchrecorder.errors import listed
from torchrecorder.recording.machine.weights import advice_on_weights
from torchrecorder.request import Target
from torchrecorder.request.callables import example_of, needed_arguments, parameters_of

_OPERATOR_MISSING = "does not exist"
"""What torch says when a package built for another torch registers kernels for an operator it did not define."""
_BESIDE = ("src", "*/src", "*/*/src", "*", "*/*")
"""Folders of a project that packages lie in: of a project itself, of the members of one, of those in a group."""
_LOOKED_AT = 1000
"""Such folders that are looked into, of each kind: a project may lie in a folder of thousands."""
_LISTED = 4
"""Classes of a module that are named."""


def near_modules(names: Sequence[str]) -> tuple[str, ...]:
    """Dotted names like one that begins with no module: those whose module has the rest, else like modules alone."""
    first, *rest = names
    known = {entry.name for entry in pkgutil.iter_modules()} - sys.stdlib_module_names
    near = get_close_matches(first, sorted(known), 3, cutoff=0.75)
    having = [name for name in near if rest and _says(name, rest[0])]
    return tuple(".".join((name, *rest)) for name in having) or tuple(near[:2])


def _says(module: str, name: str) -> bool:
    """Whether the source of a module, which is not imported, has a name."""
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.has_location or not str(spec.origin).endswith(".py"):
        return False
    file = Path(str(spec.origin))
    return re.search(rf"\b{name}\b", file.read_text(errors="replace")) is not None or (file.parent / name).exists()


def folder_beside(name: str) -> str:
    """The folder of the project that a package or module lies in, though it is not on the path; empty if none is."""
    installed = tuple(map(os.path.realpath, {sys.prefix, sys.base_prefix}))
    roots = dict.fromkeys(os.path.realpath(entry) for entry in ("", *sys.path))
    for root in (root for root in roots if not root.startswith(installed)):
        for kind in _BESIDE:
            for folder in islice(Path(root).glob(kind), _LOOKED_AT):
                is_hidden = any(part.startswith(".") or part == "build" for part in folder.relative_to(root).parts)
                if not is_hidden and ((folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file()):
                    return os.path.relpath(folder)
    return ""


def models_of(module: object) -> str:
    """The names of the models that a module defines, or a package gathers; the first of them, if there are many."""
    if not isinstance(module, ModuleType):
        return ""
    package = module.__name__.partition(".")[0]
    classes = {name: item for name, item in vars(module).items() if isinstance(item, type) and name[0] != "_"}
    own = [
        f"{module.__name__}.{name}"
        for name, cls in classes.items()
        if issubclass(cls, nn.Module) and cls.__module__.partition(".")[0] == package
    ]
    return listed(own, _LISTED)


def on_import(error: BaseException) -> str:
    """Advice for an exception of an import."""
    if isinstance(error, RuntimeError) and "operator " in str(error) and _OPERATOR_MISSING in str(error):
        package = str(error).split("operator ", 1)[1].split("::", 1)[0]
        return (
            f"the installed {package} was built for another torch than {torch.__version__}:"
            f" install the {package} build that matches it"
        )
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"is the distribution that provides {error.name.split('.')[0]!r} installed where the recording runs?"
    return ""


def on_building(target: Target, builder: Callable[..., Any], error: BaseException) -> str:
    """Advice for an exception of what builds a model: the arguments to write, or a function that does it."""
    missing = [name for name in needed_arguments(builder)[len(target.args) :] if name not in target.kwargs]
    source: Any = builder.__init__ if isinstance(builder, type) else builder  # type: ignore[misc]
    read = {name: text for name in (*missing, *target.kwargs) if (text := example_of(source, name, dict))}
    for parameter in parameters_of(builder, evaluated=True) or ():
        cls = parameter.annotation
        if parameter.name in missing and isinstance(cls, type) and cls.__module__ not in ("builtins", "inspect"):
            read.setdefault(parameter.name, f"{cls.__name__}(…)")
    given = {**{name: repr(value) for name, value in target.kwargs.items()}, **dict.fromkeys(missing, "…"), **read}
    call = f"({', '.join((*map(repr, target.args), *(f'{name}={text}' for name, text in given.items())))})"
    if any("(" in text for text in read.values()):
        package, _, name = target.dotted.rpartition(".")
        imports = "from types import SimpleNamespace\n" if "SimpleNamespace" in call else ""
        lines = f"{imports}def make_{name.lower()}():\n    return {name}{call}"
        made = replace(target, dotted=f"{package}.make_{name.lower()}", args=(), kwargs={}, called=False)
        return f"{' and '.join(read)} is not a literal: write a function of three lines, and draw {made}\n{lines}"
    if missing:
        return f"give the arguments in the target, as in {target.dotted}{call}"
    return advice_on_weights(target, builder, error)
