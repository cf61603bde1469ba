"""Configuration objects that a model is built with: of the class that an annotation names, or that is named like it."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass
from inspect import Parameter
from types import ModuleType
from typing import Any, get_args

from torch import nn

from torchrecorder.recording.shared_names import usual
from torchrecorder.recording.written.values import Made
from torchrecorder.request.callables import parameters_of, required

_HOLDS_ONE = re.compile(r"(.*_)?(config(uration)?|cfg|conf|h?params|args|opts?|options|settings)")
"""Names of parameters that hold a configuration."""
_IS_ONE = re.compile(r"(?P<of>\w*?)_?(Config(uration)?|Cfg|Conf|H?Params|Args|Arguments|Options|Settings)")
"""Names of classes that are one, each with what it is for."""
_PLAIN = (
    "builtins",
    "typing",
    "collections",
    "omegaconf",
    "inspect",
    "argparse",
    "types",
    "easydict",
    "ml_collections",
)
"""Homes of classes that say nothing of the fields of a configuration."""
_DEEPEST = 3
"""Configurations within one another."""


def configured(cls: type) -> dict[str, Made]:
    """Configurations for those parameters of a class that hold one and have no other value, by their names."""
    found = {}
    for parameter in parameters_of(cls, evaluated=True) or ():
        if parameter.default in (Parameter.empty, None) and parameter.kind is not Parameter.VAR_KEYWORD:
            made = (made for config in _classes_for(cls, parameter) if (made := _made(config)) is not None)
            if (first := next(made, None)) is not None:
                found[parameter.name] = first
    return found


def _made(config: type, deep: int = 0) -> Made | None:
    """An object of the class with its defaults, and what the names of its other fields suggest; None if that fails."""
    needed = required(parameters_of(config, evaluated=True))
    found: dict[str, Any] = usual(needed)
    for field in needed if deep < _DEEPEST else ():
        for inner in _classes_in(field.annotation) if field.name not in found else ():
            if _is_config(inner) and (made := _made(inner, deep + 1)) is not None:
                found[field.name] = made
    return Made(config, (), found) if len(found) == len(needed) else None


def _classes_for(cls: type, parameter: Parameter) -> Iterator[type]:
    annotated = [it for it in _classes_in(parameter.annotation) if it.__module__.partition(".")[0] not in _PLAIN]
    like = [*_named_like(cls)] if _HOLDS_ONE.fullmatch(parameter.name) or any(map(_is_config, annotated)) else []
    for config in like:
        if not annotated or issubclass(config, (*annotated,)):
            yield config
    yield from filter(_is_config, annotated)


def _classes_in(annotation: Any) -> Iterator[type]:
    """The classes that an annotation allows, without what they are containers of."""
    if isinstance(annotation, type) and annotation not in (Parameter.empty, type(None)):
        yield annotation
    elif getattr(annotation, "__origin__", None) not in (list, tuple, dict, set):
        for part in get_args(annotation):
            yield from _classes_in(part)


def _is_config(cls: type) -> bool:
    """Whether making an object of a class sets fields and does no more, as far as its kind and name say."""
    if issubclass(cls, nn.Module) or cls.__module__.partition(".")[0] in ("torch", "builtins"):
        return False
    is_of_fields = is_dataclass(cls) or any(hasattr(cls, it) for it in ("model_fields", "__attrs_attrs__"))
    return is_of_fields or any(_IS_ONE.fullmatch(base.__name__) for base in cls.__mro__)


def _named_like(cls: type) -> Iterable[type]:
    """Configurations of the package that are named like a class, the longest name first; else the one beside it."""
    own = [it for it in classes_around(cls) if _IS_ONE.fullmatch(it.__name__) and _is_config(it)]
    stem = cls.__name__.lower()
    names = {it: _IS_ONE.sub(r"\g<of>", it.__name__).lower() for it in own}
    like = [it for it, name in names.items() if name and (stem.startswith(name) or name.startswith(stem))]
    like.sort(key=lambda it: -len(names[it]))
    beside = [it for it in own if vars(sys.modules[cls.__module__]).get(it.__name__) is it]
    return like or beside[: len(beside) == 1]


def classes_around(cls: type) -> list[type]:
    """The classes in the modules of its package, as far as those are imported."""
    top = f"{cls.__module__.partition('.')[0]}."
    modules = [it for name, it in [*sys.modules.items()] if f"{name}.".startswith(top) and isinstance(it, ModuleType)]
    held: list[type] = [it for module in modules for it in [*vars(module).values()] if issubclass(type(it), type)]
    return [*dict.fromkeys(held)]
