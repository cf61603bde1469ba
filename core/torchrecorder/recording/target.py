"""From dotted names to live objects: the model of a target, and the arguments that the option `inputs` names.

For a target whose model is not found or cannot be built, there is advice on what to write in its place.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from importlib.metadata import PackageNotFoundError
from itertools import islice
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, TypeAlias, TypeGuard

import torch
from torch import nn

from torchrecorder.errors import (
    HubFailed,
    InputError,
    NotAModule,
    TargetBuildFailed,
    TargetError,
    TargetImportFailed,
    TargetNotFound,
    TargetRefused,
    listed,
)
from torchrecorder.recording.code_info import innermost_origin, user_traceback
from torchrecorder.recording.examples import Way
from torchrecorder.recording.machine.large import built
from torchrecorder.recording.machine.weights import advice_on_weights
from torchrecorder.recording.saved import why_not_loaded
from torchrecorder.request import Target, parse_target
from torchrecorder.request.callables import example_of, needed_arguments, parameters_of
from torchrecorder.running.restore import start_random_numbers
from torchrecorder.trace.allowed import (
    EVERYTHING,
    builds,
    is_loader,
    may_call,
    may_import,
    refused_argument,
    unwrapped,
)

Ways: TypeAlias = Callable[[Target, Callable[..., Any]], Iterable[Way]]
"""Gives the arguments to call with what a target names, each for the case that those before it do not work."""


def load_model(text: str, seed: int, allow: Sequence[str] = (EVERYTHING,)) -> nn.Module:
    """Import, and if need be build, the model that a target names; raises as `models` does."""
    return next(models(text, seed, allow, lambda target, _: [Way(target.args, target.kwargs)]))[0]


def models(text: str, seed: int, allow: Sequence[str], ways: Ways) -> Iterator[tuple[nn.Module, Way | None]]:
    """Import the model that a target names, and if need be build it, in each way in which it can be; None: it is there.

    Args:
        text: The target.
        seed: What its random weights are drawn from.
        allow: Whose functions it may call, besides the project's own; see `trace.allowed`.
        ways: Gives the arguments; see `examples.ways` for one that knows others than those of the target.

    Raises:
        TargetRefused: It names what it may not call.
        TargetNotFound: A part of the name does not exist.
        TargetImportFailed: A module on the way raised an exception.
        NotAModule: It is a class of other objects; none is built.
        TargetBuildFailed: In no way could it be built; that is why not with the first arguments.
    """
    target = parse_target(text)
    with torch.random.fork_rng(devices=()):
        start_random_numbers(seed)  # the import may build models too
        item = as_module(load_object(text, target, allow))
    if isinstance(item, nn.Module) and not target.called:
        yield item, None
        return
    if not callable(item):
        known = models_of(item)
        advice = f"write one of its classes: {known}" if known else ""
        why = f"it is {_kind(item)}, not a module or something that builds one"
        raise TargetBuildFailed(text, why, advice=advice)
    _refuse(text, target, item, allow)
    # Calling it gives no module: neither is it one, nor has it a say in what calling it gives.
    may_build = not isinstance(item, type) or issubclass(item, (nn.Module, torch.export.ExportedProgram))
    if not may_build and not isinstance(item.__new__, FunctionType) and type(item).__call__ is type.__call__:
        raise NotAModule(text)
    first: TargetBuildFailed | None = None
    is_any_built = is_built = False
    for way in ways(target, item):
        if way.is_instead and is_built:
            continue
        try:
            module = _built(text, target, item, way, seed)
        except TargetBuildFailed as error:
            first, is_built = first or error, False
        else:
            is_any_built = is_built = True
            yield module, way
            del module  # the next one wants its memory
    if first is not None and not is_any_built:
        raise first


def _built(text: str, target: Target, builder: Callable[..., Any], way: Way, seed: int) -> nn.Module:
    try:
        with torch.random.fork_rng(devices=()):  # whatever was built before must not change it
            made = as_module(built(lambda: way.called(builder), seed))
    except HubFailed:
        raise
    except Exception as error:
        cause, advice = f"{type(error).__name__}: {error}", on_building(target, builder, error)
        raise TargetBuildFailed(text, cause, innermost_origin(error), advice, user_traceback(error)) from error
    if not isinstance(made, nn.Module):
        raise TargetBuildFailed(text, f"calling it gave {_kind(made)}, not a torch.nn.Module")
    return made


def _refuse(text: str, target: Target, item: object, allow: Sequence[str]) -> None:
    """Raise if text in a page may not have this called, or not with these arguments."""
    if may_call(target.dotted, item, allow):
        return
    if not builds(item):
        raise TargetRefused(text, target.dotted)
    reason = refused_argument(target, item)
    if not reason and is_loader(unwrapped(item)):
        given = (*getattr(item, "args", ()), *target.args)  # of a partial of the project
        file = given[0] if given else target.kwargs.get("f")
        is_exported = unwrapped(item) is torch.export.load
        why = why_not_loaded(file, is_exported=is_exported) if isinstance(file, str) else "is not the name of a file"
        reason = f"{file!r} {why}" if why else ""
    if reason:
        raise TargetRefused(text, target.dotted, reason)


def as_module(item: object) -> object:
    """A program of `torch.export` as a module that knows the inputs it was exported with; all else as it is."""
    if not isinstance(item, torch.export.ExportedProgram):
        return item
    module = item.module()
    if item.example_inputs is not None:
        vars(module)["example_input_array"] = item.example_inputs
    return module


def load_object(text: str, target: Target, allow: Sequence[str]) -> object:
    """The object that the dotted name of a target stands for."""
    if not may_import(target.dotted, allow):
        raise TargetRefused(text, target.dotted)
    module, rest = import_longest(text, target)
    item: object = module
    for depth, name in enumerate(rest):
        try:
            item = getattr(item, name)
        except AttributeError as error:
            parent = ".".join((module.__name__, *rest[:depth]))
            layer = ".".join(rest[depth:]) if isinstance(item, type) and issubclass(item, nn.Module) else ""
            raise TargetNotFound(text, parent, name, _near(parent, item, name), layer, models_of(item)) from error
        except Exception as error:  # a lazy package imports the real module now
            raise _import_failed(text, f"{module.__name__}.{name}", error) from error
    return item


def import_longest(text: str, target: Target) -> tuple[ModuleType, list[str]]:
    """The longest part of the name that is a module, and the attribute names that remain."""
    parts = target.dotted.split(".")
    fixed = len(target.module.split(".")) if target.module else 0
    module = import_module(text, parts[0])
    if module is None:
        raise TargetNotFound(text, "", parts[0], near_modules(parts), folder=folder_beside(parts[0]))
    for depth in range(1, len(parts)):
        name = ".".join(parts[: depth + 1])
        # A module that was imported may have modules of its own that were not.
        child = sys.modules.get(name) if vars(module).get(parts[depth]) is sys.modules.get(name) else None
        if child is None and depth >= fixed and _has(text, module, parts[depth]):
            return module, parts[depth:]
        if child is None and hasattr(module, "__path__"):
            child = import_module(text, name)
        if child is None:
            if depth < fixed:
                near = _near(module.__name__, module, parts[depth])
                raise TargetNotFound(text, module.__name__, parts[depth], near)
            return module, parts[depth:]
        module = child
    return module, []


def _has(text: str, module: ModuleType, name: str) -> bool:
    """Whether the module has the attribute; importing it lazily may raise anything."""
    try:
        return hasattr(module, name)
    except Exception as error:
        raise _import_failed(text, f"{module.__name__}.{name}", error) from error


def import_module(text: str, name: str) -> ModuleType | None:
    """The module of that name; None if there is none (as opposed to one that fails)."""
    try:
        return importlib.import_module(name)
    except Exception as error:
        if type(error) is ModuleNotFoundError and error.name == name:  # another is that of missing metadata
            return None
        raise _import_failed(text, name, error) from error


def _import_failed(text: str, name: str, error: BaseException) -> TargetImportFailed:
    cause = f"{type(error).__name__}: {error}"
    return TargetImportFailed(text, name, cause, innermost_origin(error), on_import(error), user_traceback(error))


def _kind(thing: object) -> str:
    if isinstance(thing, ModuleType):
        return f"the module {thing.__name__}"
    return "None" if thing is None else f"an object of class {type(thing).__name__}"


def _near(parent: str, holder: object, name: str) -> tuple[str, ...]:
    names = {entry for entry in dir(holder) if not entry.startswith("_")}
    if isinstance(holder, ModuleType):
        names |= {entry.name for entry in pkgutil.iter_modules(getattr(holder, "__path__", ()))}
    by_lower = {entry.lower(): entry for entry in sorted(names)}
    near = get_close_matches(name.lower(), by_lower, 3)
    return tuple(f"{parent}.{by_lower[entry]}" for entry in near)


Arguments = tuple[tuple[Any, ...], dict[str, Any]]
"""Positional and keyword arguments of a forward."""


def as_arguments(inputs: object) -> Arguments:
    """The arguments that a user means by `inputs`.

    `(args, kwargs)` if it is a pair of a tuple or list and a dict with names for keys; else a tuple holds the
    positional arguments, a dict of names the keyword arguments, and anything else is the one argument.
    """
    if isinstance(inputs, tuple) and len(inputs) == 2 and isinstance(inputs[0], (tuple, list)) and _is_named(inputs[1]):
        return tuple(inputs[0]), dict(inputs[1])
    if isinstance(inputs, tuple):
        return inputs, {}
    return ((), dict(inputs)) if _is_named(inputs) else ((inputs,), {})


def load_arguments(dotted: str, allow: Sequence[str]) -> Arguments:
    """The arguments that a dotted name stands for; if it is a function or class, what calling it gives.

    Raises:
        TargetRefused: It names what a page may not call.
        InputError: The name does not exist, or calling it raised.
    """
    try:
        target = parse_target(dotted)
        item = load_object(dotted, target, allow)
    except TargetRefused:
        raise
    except (TargetError, ValueError) as error:
        raise InputError(f"cannot load the inputs {dotted}: {error}") from error
    if not callable(item):
        return as_arguments(item)
    if not may_call(target.dotted, item, allow):
        raise TargetRefused(dotted, target.dotted)
    try:
        return as_arguments(item(*target.args, **target.kwargs))
    except Exception as error:
        where = innermost_origin(error)
        cause = f"{type(error).__name__}: {error}" + (f" ({where})" if where else "")
        raise InputError(f"calling {dotted} for the inputs failed: {cause}") from error


def _is_named(value: object) -> TypeGuard[Mapping[str, object]]:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


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
    having = []
    for name in near if rest else ():  # which are not imported
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.has_location and str(spec.origin).endswith(".py"):
            file = Path(str(spec.origin))
            if re.search(rf"\b{rest[0]}\b", file.read_text(errors="replace")) or (file.parent / rest[0]).exists():
                having.append(".".join((name, *rest)))
    return (*having,) or tuple(near[:2])


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
    if isinstance(error, PackageNotFoundError):
        return f"it asks for the metadata of {error.name}: install it where the recording runs (pip install -e .)"
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
