"""One guess of what a forward may want, and what its signature says to those who make one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, get_origin

from torch import Tensor, nn

from torchrecorder.graph.model import Grade
from torchrecorder.recording.target import Arguments
from torchrecorder.recording.written.values import items_in
from torchrecorder.request import InputSpec, callables, format_shapes
from torchrecorder.request.callables import parameters_of
from torchrecorder.running.nested import answer


@dataclass(frozen=True, slots=True)
class Guess:
    """Inputs that a forward may accept, and why."""

    why: str
    """Ends a sentence that begins with the inputs: `from the config of BertModel`."""
    specs: tuple[InputSpec, ...] = ()
    arguments: Arguments | None = None
    """Inputs that exist already."""
    fixed: Mapping[str, Any] = field(default_factory=dict)
    """Inputs that must not be random, such as lengths, and lists and dictionaries of inputs; passed by name."""
    grade: Grade = ""
    """What the sizes were read from; that of the source, if it is empty."""

    @classmethod
    def named(cls, why: str, values: Mapping[str, Any], grade: Grade = "") -> Guess:
        """Inputs by the names of parameters: each an `InputSpec`, or what is passed as it is."""
        specs = tuple(replace(value, name=name) for name, value in values.items() if isinstance(value, InputSpec))
        fixed = {name: value for name, value in values.items() if not isinstance(value, InputSpec)}
        return cls(why, specs, fixed=fixed, grade=grade)

    def inputs(self) -> str:
        """The inputs as the option `shape` writes them, with those that it cannot make."""
        fixed = [f"{name}={_text(value)}" for name, value in self.fixed.items()]
        return "; ".join((*([format_shapes(self.specs)] if self.specs else []), *fixed))

    def all_specs(self) -> list[InputSpec]:
        """The inputs to make, with those inside lists and dictionaries."""
        return specs_in((*self.specs, self.fixed))

    def __str__(self) -> str:
        inputs = self.inputs()
        return f"{inputs}, {self.why}" if inputs else self.why


def specs_in(value: object) -> list[InputSpec]:
    """All inputs that are to be made for a value."""
    return [item for item in items_in(value) if isinstance(item, InputSpec)]


def leaves(values: Mapping[str, Any]) -> dict[str, InputSpec]:
    """The inputs that are to be made: by parameter, those inside others by key or place; for a list its first, too."""
    found: dict[str, InputSpec] = {}
    for name, value in values.items():
        for key, item in ((name, value), *_held(name, value)):
            first = item[0] if isinstance(item, list) and item else item
            if isinstance(first, InputSpec):
                found.setdefault(str(key), first)
    return found


def _held(name: str, value: Any) -> Iterator[tuple[object, Any]]:
    if isinstance(value, dict):
        yield from value.items()
    elif isinstance(value, (list, tuple)):
        yield from ((f"{name}.{i}", item) for i, item in enumerate(value))


def placed(values: Mapping[str, Any], changed: Mapping[str, Any]) -> dict[str, Any]:
    """The values with the changed ones where they belong; for a list, as many of one."""
    waiting = dict(changed)

    def put(name: str, old: Any) -> Any:
        if name in waiting:
            new = waiting.pop(name)
            is_many = isinstance(old, list) and old and isinstance(old[0], InputSpec) and isinstance(new, InputSpec)
            return [new] * len(old) if is_many else new
        if isinstance(old, dict):
            return {key: put(str(key), item) for key, item in old.items()}
        return type(old)(put(str(key), item) for key, item in _held(name, old)) if type(old) in (list, tuple) else old

    return {name: put(name, value) for name, value in values.items()} | waiting


def leaf_at(path: str, known: Mapping[str, InputSpec]) -> str:
    """The leaf that the path of an input leads to, or nothing."""
    parts = path.split(".")
    return next((name for name in (path, *reversed(parts)) if name in known), "")


def _text(value: object) -> str:
    if isinstance(value, InputSpec):
        kind = "" if value.dtype == "float32" else value.dtype
        return f"{kind}{list(value.shape)}" + (f"<{value.high}" if value.high is not None else "")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_text(item)}" for name, item in value.items()) + "}"
    if isinstance(value, (list, tuple)) and any(isinstance(item, (InputSpec, Tensor)) for item in value):
        return f"[{', '.join(map(_text, value))}]"
    if isinstance(value, Tensor):
        return str(value.tolist() if value.dim() < 2 else list(value.shape))
    return str(value)


def is_from(model: nn.Module, library: str) -> bool:
    """Whether the model's class, or one that it derives from, comes from a library."""
    return any(cls.__module__.partition(".")[0] == library for cls in type(model).__mro__)


def held(holder: object, name: str) -> Any:
    """The value of a key or an attribute; None if it is missing or refuses, as a property that raises does."""
    return holder.get(name) if isinstance(holder, Mapping) else answer(lambda: getattr(holder, name, None), None)


def configured(model: nn.Module, *names: str) -> Any:
    """The first value that the model has for one of these attributes, or its configuration, or its hyperparameters."""
    for holder in (model, *(held(model, name) for name in ("config", "hparams"))):
        for name in names:
            if (value := held(holder, name)) is not None and not callable(value):
                return value
    return None


def is_documented(model: nn.Module, name: str, words: str) -> bool:
    """Whether the docstring of the forward, or of the class, says one of some words of a parameter."""
    texts = (inspect.getdoc(type(model).forward), inspect.getdoc(type(model)))
    return any(re.search(words, text) for doc in texts for known, text in by_name(doc) if known == name)


def by_name(docstring: str | None) -> Iterator[tuple[str, str]]:
    """The text of a docstring by parameter."""
    parts = re.split(r"^[ \t]*(\w+)[ \t]*[:(]", docstring or "", flags=re.MULTILINE)
    return zip(parts[1::2], parts[2::2], strict=True)


def required(model: nn.Module) -> list[inspect.Parameter]:
    """The parameters of the forward that have no default."""
    return callables.required(parameters(model))


def is_object(annotation: object) -> bool:
    """Whether an annotation says that a parameter takes no tensor, but a dictionary or an object of some class."""
    if get_origin(annotation) is not None or not isinstance(annotation, type):
        return get_origin(annotation) is dict
    is_plain = annotation.__module__.partition(".")[0] in ("torch", "builtins", "typing", "inspect", "numpy")
    return annotation is dict or not (
        is_plain or issubclass(annotation, (Tensor, tuple)) or hasattr(annotation, "dim_str")
    )


def is_flag(parameter: inspect.Parameter) -> bool:
    """Whether a parameter of a forward is an option rather than an input: it has a value, or is not for tensors."""
    is_many = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    is_set = parameter.default is not parameter.empty and parameter.default is not None
    return (
        is_many
        or is_set
        or re.search(r"bool|Callable|Generator|Cache|\b(int|float)\b", str(parameter.annotation)) is not None
    )


def parameters(model: nn.Module) -> list[inspect.Parameter]:
    """The parameters of the forward, with their annotations as objects where that is possible.

    A `forward(*args, **kwargs)` wraps another module: its parameters are those of the first one inside that does not
    come from torch itself.
    """
    own = own_parameters(model)
    if own and all(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in own):
        inside = (own_parameters(part) for part in model.modules() if not type(part).__module__.startswith("torch."))
        found = next((found for found in inside if found and found[0].kind is not found[0].VAR_POSITIONAL), own)
        if own[0].name.endswith("_dict") and found is not own:  # a tensor for each kind of node or edge
            return [p.replace(name=f"{p.name}_dict") for p in found]
        return found
    return own


def own_parameters(model: nn.Module) -> list[inspect.Parameter]:
    return [*(parameters_of(model.forward, evaluated=True) or ())]
