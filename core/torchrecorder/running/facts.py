"""What a module is: its class, its parameters, those of its forward, what it says of itself, what of it is tied."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn.parameter import is_lazy

from torchrecorder.graph import Module, ParamCount, TensorMeta
from torchrecorder.graph.model import ValueKind
from torchrecorder.graph.quick import quick
from torchrecorder.request.callables import parameters_of
from torchrecorder.running import torch_private
from torchrecorder.running.nested import ByIdentity

_module, _count = quick(Module), quick(ParamCount)
_MANGLED = re.compile(r"^__torch__\.|___torch_mangle_\d+\.")  # parts of class names that TorchScript adds
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+|0x[0-9a-fA-F]{6,}")

NamedModules = Sequence[tuple[str, nn.Module]]
"""Modules with their paths."""


def describe_module(module: nn.Module, path: str, inside: Parameters, aliases: tuple[str, ...] = ()) -> Module:
    cls = class_of(module)
    is_leaf = is_native(cls) and not hides_layers(module)
    return _module(path, cls, is_leaf, inside.of(module), _extra_repr(module), aliases)


def named_modules(model: nn.Module, prefix: str = "") -> NamedModules:
    """Each module of a model once, with its first path, in registration order.

    As torch's own, which hands each module up through as many generators as it is deep: a recording asks several times.
    """
    named: list[tuple[str, nn.Module]] = []
    waiting = [(prefix, model)]
    seen: set[int] = set()
    while waiting:
        path, module = entry = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        named.append(entry)
        if parts := module._modules:  # most have none
            start = f"{path}." if path else ""
            waiting += reversed([(start + name, part) for name, part in parts.items() if part is not None])
    return named


def under_every_path(model: nn.Module) -> NamedModules:
    """Each module as often as it has paths; one that holds what holds it ends a path."""
    once = named_modules(model)
    registered = sum(child is not None for _, module in once for child in module._modules.values())
    if registered == len(once) - 1:
        return once
    every: list[tuple[str, nn.Module]] = []
    waiting: list[tuple[str, nn.Module, frozenset[int]]] = [("", model, frozenset())]
    while waiting:
        path, module, above = waiting.pop()
        every.append((path, module))
        above, start = above | {id(module)}, f"{path}." if path else ""
        held = [(start + name, part, above) for name, part in module._modules.items() if part is not None]
        waiting += reversed([entry for entry in held if id(entry[1]) not in above])
    return every


_HELD: dict[ValueKind, str] = {"param": "_parameters", "buffer": "_buffers"}
"""Attributes in which a module keeps its own tensors."""


def _tensors(modules: NamedModules, held: str) -> list[tuple[str, Tensor]]:
    tensors: list[tuple[str, Tensor]] = []
    for path, module in modules:
        if own := getattr(module, held):
            start = f"{path}." if path else ""
            tensors += [(start + name, tensor) for name, tensor in own.items() if tensor is not None]
    return tensors


def named_state(modules: NamedModules) -> Iterator[tuple[ValueKind, str, Tensor]]:
    """Each parameter and buffer that the modules hold themselves once, with its first name."""
    for kind, held in _HELD.items():
        once: dict[int, tuple[ValueKind, str, Tensor]] = {}
        for name, tensor in _tensors(modules, held):
            once.setdefault(id(tensor), (kind, name, tensor))
        yield from once.values()


def tied(every_path: NamedModules) -> dict[str, tuple[str, ...]]:
    """All names of each parameter or buffer of a model that has several, by its first."""
    held_by = [own for held in _HELD.values() for _, module in every_path if (own := getattr(module, held))]
    once = [id(tensor) for own in held_by for tensor in own.values() if tensor is not None]
    names: dict[int, list[str]] = {}
    for held in _HELD.values() if len(once) != len({*once}) else ():
        for name, tensor in _tensors(every_path, held):
            names.setdefault(id(tensor), []).append(name)
    return {first: (first, *rest) for first, *rest in names.values() if rest}


def forward_parameters(module: nn.Module) -> tuple[inspect.Parameter, ...]:
    """The parameters of a module's forward; none, if it cannot be asked (it is written in C)."""
    try:
        if isinstance(module, torch.jit.ScriptModule):
            method: Any = module.forward
            arguments = method.schema.arguments[1:]
            return tuple(inspect.Parameter(argument.name, _KIND[argument.kwarg_only]) for argument in arguments)
        return parameters_of(module.forward) or ()
    except Exception:  # a forward may be any object of the user's
        return ()


def argument_names(module: nn.Module) -> tuple[tuple[str, ...], str]:
    """The names of the positions of a module's forward, and of what takes the rest (`args` in `*args`)."""
    method: object = module.forward
    is_bound = isinstance(method, MethodType)
    function = method.__func__ if isinstance(method, MethodType) else method
    for _ in range(_DECORATORS):
        if isinstance(function, FunctionType) and "__wrapped__" in (held := function.__dict__):
            function = function if held.keys() & _SPEAKS else held["__wrapped__"]
    if isinstance(function, FunctionType) and not function.__dict__.keys() & {*_SPEAKS, "__wrapped__"}:
        code = function.__code__  # it says what `inspect` takes long to find
        rest = code.co_argcount + code.co_kwonlyargcount
        names = code.co_varnames[is_bound : code.co_argcount]
        return names, code.co_varnames[rest] if code.co_flags & inspect.CO_VARARGS else ""
    parameters = forward_parameters(module)
    places = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    return places, next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")


def named_arguments(
    names: tuple[str, ...], rest: str, args: Sequence[object], kwargs: Mapping[str, object]
) -> list[tuple[str, object]]:
    """What a forward is called with, by the names of its positions, and of what takes the rest."""
    if len(args) > len(names):
        more = (f"{rest}.{position}" if rest else str(position) for position in range(len(args) - len(names)))
        names = (*names, *more)
    named = list(zip(names, args, strict=False))
    return [*named, *kwargs.items()] if kwargs else named


_DECORATORS = 8  # decorators around a forward that are looked through
_SPEAKS = {"__signature__", "_partialmethod", "__partialmethod__"}
"""Attributes of a function with which it says its parameters itself."""
_KIND = {False: inspect.Parameter.POSITIONAL_OR_KEYWORD, True: inspect.Parameter.KEYWORD_ONLY}
"""Kind of an argument in TorchScript, by whether it has to be named."""


def class_of(module: nn.Module) -> str:
    """The class of a module with its own module; of one that torch made of another one, the class of that."""
    cls = type(module)
    if (name := _PLAIN.get(cls)) is not None:
        return name
    known: str | None = None
    if isinstance(module, torch.jit.ScriptModule):
        script_class = torch_private.SCRIPT_CLASS.get()
        known = None if script_class is None else _MANGLED.sub("", script_class(module))
    elif isinstance(module, fx.GraphModule):  # has a class of its own, with the name of the model or function
        name = cls.__name__ if cls.__name__.isidentifier() else fx.GraphModule.__name__
        known = f"{fx.GraphModule.__module__}.{name}"
    elif cls.__module__ == "torch.export.unflatten":
        known = getattr(module, "type_name", lambda: None)()
    else:
        _PLAIN.put(cls, class_name(cls))
    return known or class_name(cls)


_PLAIN: ByIdentity[type, str] = ByIdentity()  # names of classes that say themselves what they are


def class_name(cls: type) -> str:
    """A class with its module, `torch.nn.modules.conv.Conv2d`."""
    return f"{cls.__module__}.{cls.__qualname__}"


MARKED = "_torchrecorder_marked"
"""The attribute of script modules that let a recording know which layers they call."""


def hides_layers(module: nn.Module) -> bool:
    """Whether it is a script module that runs layers without anything seeing it; a frozen one has none any more."""
    if not isinstance(module, torch.jit.ScriptModule):
        return False
    has_layers = any(True for _ in module.children())
    return MARKED not in vars(module) if has_layers else class_of(module).startswith("torch.nn.modules.container.")


_GENERATED = ("torch.fx.graph_module.", "torch.jit._", "torch.export.unflatten.")
"""Modules of torch with classes that hold code which it made of a model."""


@functools.cache
def is_native(cls: str) -> bool:
    """Whether a class, given with its module, is a layer of torch's own."""
    return cls.startswith("torch.") and not cls.startswith(_GENERATED)


def describe_tensor(tensor: Tensor) -> TensorMeta:
    """Facts of a tensor without its data; the sizes of a nested or lazy one cannot be asked for."""
    try:
        shape = tuple(n if type(n) is int else str(n) for n in tensor.shape)
        countable = tensor.layout is torch.strided and all(type(n) is int for n in tensor.shape)
    except (RuntimeError, ValueError):
        return TensorMeta(("?",), str(tensor.dtype)[6:], tensor.device.type, None)
    nbytes = tensor.numel() * tensor.element_size() if countable else None
    return TensorMeta(shape, str(tensor.dtype)[6:], tensor.device.type, nbytes)


class Parameters:
    """The number of parameters in each of the modules given, a model's; what is in a part is looked up once."""

    def __init__(self, modules: NamedModules) -> None:
        self._known: dict[int, tuple[int, dict[int, int], dict[int, int]]] = {}
        """The size of what a module holds itself, and of each parameter in it and all below it, by identity; then of
        those that require grad."""
        for _, module in reversed(modules):  # parts come after the whole
            if id(module) in self._known:
                continue
            if not module._parameters and not module._modules:  # many do not change: an activation
                self._known[id(module)] = 0, {}, {}
                continue
            everything, trainable = _sizes(module)
            own = sum(everything.values())
            for child in module._modules.values():
                if child is not None:
                    known = self._known.get(id(child))
                    # Not known is only what holds itself, or is held by several.
                    inside = [known[1:]] if known is not None else [_sizes(it) for _, it in named_modules(child)]
                    for sizes in inside:
                        everything.update(sizes[0])
                        trainable.update(sizes[1])
            self._known[id(module)] = own, everything, trainable

    def of(self, module: nn.Module) -> ParamCount:
        own, everything, trainable = self._known[id(module)]
        if not everything:
            return _count(0, 0, 0)
        return _count(own, sum(everything.values()), sum(trainable.values()))


def _sizes(module: nn.Module) -> tuple[dict[int, int], dict[int, int]]:
    """The sizes of the parameters that a module holds itself, and of those that require grad, by identity."""
    everything: dict[int, int] = {}
    trainable: dict[int, int] = {}
    for parameter in module._parameters.values():  # `parameters(recurse=False)` takes ten times as long
        if parameter is not None:
            is_sized = type(parameter) is nn.Parameter or not is_lazy(parameter)
            size = everything[id(parameter)] = parameter.numel() if is_sized else 0
            if parameter.requires_grad:
                trainable[id(parameter)] = size
    return everything, trainable


def _extra_repr(module: nn.Module) -> str:
    """Words of a module about itself, without addresses: they would differ from run to run."""
    try:
        text = module.extra_repr()
    except Exception:  # it is the user's code, and only a decoration
        return ""
    if not isinstance(text, str):
        return ""
    return _ADDRESS.sub("", text) if "0x" in text else text
