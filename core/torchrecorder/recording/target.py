"""From the name of a model to a live `nn.Module`, with an error for each way in which that can fail."""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
import sys
from difflib import get_close_matches
from types import ModuleType
from typing import Any

import torch
from torch import nn

from torchrecorder.errors import TargetBuildFailed, TargetImportFailed, TargetNotFound
from torchrecorder.recording.origin import innermost_origin, users_traceback
from torchrecorder.request import Target, parse_target

_OPERATOR_MISSING = "does not exist"
"""What torch says when a package built for another torch registers kernels for an operator it did not define."""


def load_model(text: str, seed: int) -> nn.Module:
    """Import, and if need be build, the model that a target names; its random weights come from `seed`.

    Raises:
        TargetNotFound: A part of the name does not exist.
        TargetImportFailed: A module on the way raised an exception.
        TargetBuildFailed: Building raised, or gave no `nn.Module`.
    """
    target = parse_target(text)
    with torch.random.fork_rng(devices=()):
        torch.manual_seed(seed)  # the import may build models too
        found = load_object(text, target)
        torch.manual_seed(seed)  # but whether it did must not change those that are built now
        return _as_module(text, target, found)


def load_object(text: str, target: Target) -> Any:
    """The object that the dotted name of a target stands for."""
    module, rest = _import_longest(text, target)
    found: Any = module
    for depth, name in enumerate(rest):
        try:
            found = getattr(found, name)
        except AttributeError as error:
            parent = ".".join((module.__name__, *rest[:depth]))
            raise TargetNotFound(text, parent, name, _near(parent, found, name)) from error
        except Exception as error:  # a lazy package imports the real module now
            raise _import_failed(text, f"{module.__name__}.{name}", error) from error
    return found


def _import_longest(text: str, target: Target) -> tuple[ModuleType, list[str]]:
    """The longest part of the name that is a module, and the attribute names that remain."""
    parts = target.dotted.split(".")
    fixed = len(target.module.split(".")) if target.module else 0
    module = _import(text, parts[0])
    if module is None:
        raise TargetNotFound(text, "", parts[0], _near_modules(parts[0]))
    for depth in range(1, len(parts)):
        name = ".".join(parts[: depth + 1])
        if depth >= fixed and _has(text, module, parts[depth]):
            return module, parts[depth:]
        child = _import(text, name) if hasattr(module, "__path__") else None
        if child is None:
            if depth < fixed:
                raise TargetNotFound(
                    text,
                    module.__name__,
                    parts[depth],
                    _near(module.__name__, module, parts[depth]),
                )
            return module, parts[depth:]
        module = child
    return module, []


def _has(text: str, module: ModuleType, name: str) -> bool:
    """Whether the module has the attribute; importing it lazily may raise anything."""
    try:
        return hasattr(module, name)
    except Exception as error:
        raise _import_failed(text, f"{module.__name__}.{name}", error) from error


def _import(text: str, name: str) -> ModuleType | None:
    """The module of that name; None if there is none (as opposed to one that fails)."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name:
            return None
        raise _import_failed(text, name, error) from error
    except Exception as error:
        raise _import_failed(text, name, error) from error


def _import_failed(text: str, name: str, error: BaseException) -> TargetImportFailed:
    cause = f"{type(error).__name__}: {error}"
    return TargetImportFailed(text, name, cause, innermost_origin(error), _advice(error), users_traceback(error))


def _advice(error: BaseException) -> str:
    if isinstance(error, RuntimeError) and "operator " in str(error) and _OPERATOR_MISSING in str(error):
        package = str(error).split("operator ", 1)[1].split("::", 1)[0]
        return (
            f"the installed {package} was built for another torch than {torch.__version__}:"
            f" install the {package} build that matches it"
        )
    if isinstance(error, ModuleNotFoundError) and error.name:
        return f"is the distribution that provides {error.name.split('.')[0]!r} installed where the recording runs?"
    return ""


def _as_module(text: str, target: Target, found: Any) -> nn.Module:
    if isinstance(found, nn.Module) and not target.called:
        return found
    if not callable(found):
        raise TargetBuildFailed(text, f"it is {_kind(found)}, not a module or something that builds one")
    try:
        built = found(*target.args, **target.kwargs)
    except Exception as error:
        advice = f"give the arguments in the target, as in {target.dotted}(width=64)" if _wants_arguments(error) else ""
        cause = f"{type(error).__name__}: {error}"
        raise TargetBuildFailed(text, cause, innermost_origin(error), advice, users_traceback(error)) from error
    if not isinstance(built, nn.Module):
        raise TargetBuildFailed(text, f"calling it gave {_kind(built)}, not a torch.nn.Module")
    return built


def _wants_arguments(error: Exception) -> bool:
    return isinstance(error, TypeError) and "required" in str(error) and "argument" in str(error)


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


def _near_modules(name: str) -> tuple[str, ...]:
    names = {entry.name for entry in pkgutil.iter_modules()} | set(sys.stdlib_module_names)
    return tuple(get_close_matches(name, sorted(names), 2, cutoff=0.75))
