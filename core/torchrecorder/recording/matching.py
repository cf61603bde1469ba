"""The models of a package whose names match a pattern, `pkg.models.*`, for commands that draw or describe them."""

from __future__ import annotations

import ast
import inspect
import json
import pkgutil
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from types import FunctionType, ModuleType

from torch import nn

from torchrecorder.errors import TargetImportFailed, TargetNotFound, TargetRefused
from torchrecorder.recording.examples import arguments_found
from torchrecorder.recording.target import import_longest, import_module
from torchrecorder.recording.written.values import value_text
from torchrecorder.request import InputSpec, Target, format_shapes, parse_shapes, why_class_not_tried
from torchrecorder.request.callables import needed_arguments, parameters_of
from torchrecorder.request.targets import matches
from torchrecorder.trace.allowed import may_import
from torchrecorder.trace.mentions import looking_once


def matching_models(pattern: str, allow: Sequence[str]) -> dict[str, str]:
    """The names of models, sorted, each with why its name alone cannot be drawn; empty if it can be.

    Models are the classes of `nn.Module` with a forward that the package defines, functions that say that they return
    one, and objects of them. What a package offers by several names has the shortest. Names with a leading underscore
    are left out. A module that cannot be imported is among the names.

    Raises:
        TargetRefused: Such a name may not be imported.
        TargetNotFound: The package does not exist, or no name in it matches the pattern.
        TargetImportFailed: The package raised an exception.
    """
    failed, known = models_in(pattern, allow)
    with looking_once():
        models = failed | {name: _obstacle(item) for name, item in known.items() if matches(pattern, name)}
    if not models:
        near = get_close_matches(pattern.replace("*", ""), known, 3)
        package = _package(pattern)
        raise TargetNotFound(pattern, package, pattern[len(package) + 1 :], tuple(near))
    return models


def models_in(pattern: str, allow: Sequence[str]) -> tuple[dict[str, str], dict[str, object]]:
    """Errors of modules by name, and models by name, of the package of a pattern, as far as it may match some there.

    Raises as `matching_models`, but for a pattern that matches nothing.
    """
    package = _package(pattern)
    if not may_import(package, allow):
        raise TargetRefused(pattern, package)
    failed: dict[str, str] = {}
    names: dict[int, tuple[str, object]] = {}
    around, _ = import_longest(pattern, Target(package, package))
    for module in _modules(pattern, around, pattern.partition("*")[0], failed):
        for attribute, item in vars(module).items():
            name = f"{module.__name__}.{attribute}"
            if attribute.startswith("_") or not _is_model(item, package.partition(".")[0]):
                continue
            if id(item) not in names or name.count(".") < names[id(item)][0].count("."):
                names[id(item)] = name, item
    return failed, dict(sorted(names.values()))


def _package(pattern: str) -> str:
    return pattern.partition("*")[0].rpartition(".")[0]


def _modules(pattern: str, module: ModuleType, fixed: str, failed: dict[str, str]) -> Iterator[ModuleType]:
    """A module and the public ones in it that may hold a name that matches."""
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        name = f"{module.__name__}.{info.name}"
        if info.name.startswith("_") or not (f"{name}.".startswith(fixed) or fixed.startswith(f"{name}.")):
            continue
        try:
            child = import_module(pattern, name)
        except TargetImportFailed as error:
            failed[name] = error.summary()
            continue
        if child is not None:
            yield from _modules(pattern, child, fixed, failed)


def _is_model(item: object, top: str) -> bool:
    if isinstance(item, nn.Module):
        return True
    cls = item
    if isinstance(item, FunctionType):
        try:
            cls = inspect.signature(item, eval_str=True).return_annotation
        except Exception:  # an annotation may be any text
            return False
    if not (isinstance(cls, type) and issubclass(cls, nn.Module)):
        return False
    is_own = str(getattr(item, "__module__", "")).partition(".")[0] == top
    return is_own and (item is not cls or cls.forward is not nn.Module.forward)


def _obstacle(item: object) -> str:
    if isinstance(item, nn.Module):
        return ""
    if inspect.isabstract(item):
        return "it is abstract"
    needed = needed_arguments(item)
    found = needed and isinstance(item, type) and any(way.grade != "names" for way in arguments_found(item))
    return f"it needs {', '.join(needed)}" if needed and not found else ""


def wants(pattern: str, allow: Sequence[str]) -> dict[str, str]:
    """Facts of each class with a docstring that matches a pattern, as JSON by name, for settings that draw it.

    `kind` is why none is tried, `needs` the names of the arguments that have no defaults; if such were found,
    `arguments` has the text of each by name, and `shape` the tensors that it is called with there.
    """
    found: dict[str, str] = {}
    _, models = models_in(pattern, allow)
    with looking_once():
        for name, cls in models.items():
            if matches(pattern, name) and isinstance(cls, type) and (cls.__doc__ or "").strip():
                needs, kind = needed_arguments(cls), why_class_not_tried(name, cls)
                arguments, shape = ({}, "") if kind or not needs else _shown(cls)
                found[name] = json.dumps({"kind": kind, "needs": needs, "arguments": arguments, "shape": shape})
    return found


def _shown(cls: type) -> tuple[dict[str, str], str]:
    """The surest arguments of a class, as far as they are literals, and the shapes of what it is called with there."""
    names = [it.name for it in parameters_of(cls) or () if it.kind in (it.POSITIONAL_ONLY, it.POSITIONAL_OR_KEYWORD)]
    for way in arguments_found(cls):
        texts: dict[str, str] = {}
        for name, value in {**dict(zip(names, way.args, strict=False)), **way.kwargs}.items():
            with suppress(ValueError, SyntaxError, TypeError, MemoryError):
                ast.literal_eval(text := value_text(value))
                texts[name] = text
        if texts or not way.args:
            return texts, next(filter(None, (_shape(args) for _, args, kwargs in way.calls if not kwargs)), "")
    return {}, ""


def _shape(args: Sequence[object]) -> str:
    """The shape option for tensors alone; empty for others, or for what it cannot say."""
    specs = [it for it in args if isinstance(it, InputSpec)]
    text = format_shapes(specs) if len(specs) == len(args) else ""
    with suppress(ValueError):
        parse_shapes(text)
        return text
    return ""
