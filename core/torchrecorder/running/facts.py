"""What a module is: its class, its parameters, those of its forward, what it says of itself, what of it is tied."""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, fx, nn
from torch.nn.parameter import is_lazy

from torchrecorder.graph import Module, ParamCount, TensorMeta
from torchrecorder.graph.model import ValueKind
from torchrecorder.running import torch_private

_MANGLED = re.compile(r"^__torch__\.|___torch_mangle_\d+\.")
"""What TorchScript adds to the names of classes."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+|0x[0-9a-fA-F]{6,}")


def describe_module(module: nn.Module, path: str, inside: Parameters, aliases: tuple[str, ...] = ()) -> Module:
    cls = class_of(module)
    own = sum(map(_size, {id(p): p for p in _own(module)}.values()))
    everything = inside.of(module).values()
    trainable = sum(_size(p) for p in everything if p.requires_grad)
    count = ParamCount(own, sum(map(_size, everything)), trainable)
    is_leaf = is_native(cls) and not hides_layers(module)
    return Module(path, cls, is_leaf, count, _extra_repr(module), aliases)


def describe_modules(model: nn.Module, wanted: Collection[str]) -> dict[str, Module]:
    """The facts of a model's modules by path, of those only that are wanted, in registration order."""
    paths: dict[int, list[str]] = {}
    modules = dict(_under_every_path(model))
    for path, module in modules.items():
        paths.setdefault(id(module), []).append(path)
    inside = Parameters()
    return {
        first: describe_module(modules[first], first, inside, tuple(aliases))
        for first, *aliases in paths.values()
        if first in wanted
    }


def with_holders(paths: Iterable[str]) -> set[str]:
    """The paths, and those of everything that holds them."""
    wanted = {""}
    for path in paths:
        while path and path not in wanted:
            wanted.add(path)
            path = path.rpartition(".")[0]
    return wanted


def named_modules(model: nn.Module, prefix: str = "") -> Iterator[tuple[str, nn.Module]]:
    """Each module of a model once, with its first path, in registration order.

    As torch's own, which hands each module up through as many generators as it is deep: a recording asks several times.
    """
    waiting: list[tuple[str, nn.Module]] = [(prefix, model)]
    seen: set[int] = set()
    while waiting:
        path, module = waiting.pop()
        if id(module) in seen:
            continue
        seen.add(id(module))
        yield path, module
        start = f"{path}." if path else ""
        children = [(start + name, child) for name, child in module._modules.items() if child is not None]
        waiting += reversed(children)


def _under_every_path(model: nn.Module) -> Sequence[tuple[str, nn.Module]]:
    """Each module as often as it has paths."""
    found = list(named_modules(model))
    registered = sum(child is not None for _, module in found for child in module._modules.values())
    return found if registered == len(found) - 1 else list(model.named_modules(remove_duplicate=False))


_HELD: dict[ValueKind, str] = {"param": "_parameters", "buffer": "_buffers"}
"""Where a module keeps its own tensors."""


def _tensors(modules: Iterable[tuple[str, nn.Module]], held: str) -> Iterator[tuple[str, Tensor]]:
    for path, module in modules:
        for name, tensor in getattr(module, held).items():
            if tensor is not None:
                yield f"{path}.{name}" if path else name, tensor


def named_state(model: nn.Module, recurse: bool = True) -> Iterator[tuple[ValueKind, str, Tensor]]:
    """Each parameter and buffer of a model once, with its first name."""
    modules = list(named_modules(model)) if recurse else [("", model)]
    for kind, held in _HELD.items():
        seen: set[int] = set()
        for name, tensor in _tensors(modules, held):
            if id(tensor) not in seen:
                seen.add(id(tensor))
                yield kind, name, tensor


def tied(model: nn.Module) -> dict[str, tuple[str, ...]]:
    """All names of each parameter or buffer that has several, by its first."""
    names: dict[int, list[str]] = {}
    modules = _under_every_path(model)
    for held in _HELD.values():
        for name, tensor in _tensors(modules, held):
            names.setdefault(id(tensor), []).append(name)
    return {first: (first, *rest) for first, *rest in names.values() if rest}


def forward_parameters(module: nn.Module) -> tuple[inspect.Parameter, ...]:
    """The parameters of a module's forward; none, if it cannot be asked (it is written in C)."""
    try:
        if isinstance(module, torch.jit.ScriptModule):
            method: Any = module.forward
            arguments = method.schema.arguments[1:]
            return tuple(inspect.Parameter(one.name, _KIND[one.kwarg_only]) for one in arguments)
        return tuple(inspect.signature(module.forward).parameters.values())
    except (AttributeError, TypeError, ValueError):
        return ()


_KIND = {False: inspect.Parameter.POSITIONAL_OR_KEYWORD, True: inspect.Parameter.KEYWORD_ONLY}
"""Of an argument in TorchScript, by whether it has to be named."""


def class_of(module: nn.Module) -> str:
    """The class of a module with its own module; of one that torch made of another one, the class of that."""
    cls = type(module)
    known: str | None = None
    if isinstance(module, torch.jit.ScriptModule):
        script_class = torch_private.SCRIPT_CLASS.get()
        known = None if script_class is None else _MANGLED.sub("", script_class(module))
    elif isinstance(module, fx.GraphModule):  # has a class of its own, with the name of the model or function
        name = cls.__name__ if cls.__name__.isidentifier() else fx.GraphModule.__name__
        known = f"{fx.GraphModule.__module__}.{name}"
    elif cls.__module__ == "torch.export.unflatten":
        known = getattr(module, "type_name", lambda: None)()
    return known or class_name(cls)


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
"""Where torch's classes are that hold code which it made of a model."""


def is_native(cls: str) -> bool:
    """Whether a class, given with its module, is a layer of torch's own."""
    return cls.startswith("torch.") and not cls.startswith(_GENERATED)


def describe_tensor(tensor: Tensor) -> TensorMeta:
    """What is known of a tensor without its data; the sizes of a nested or lazy one cannot be asked for."""
    try:
        shape = tuple(n if type(n) is int else str(n) for n in tensor.shape)
        countable = tensor.layout is torch.strided and all(type(n) is int for n in tensor.shape)
    except (RuntimeError, ValueError):
        return TensorMeta(("?",), str(tensor.dtype)[6:], tensor.device.type, None)
    nbytes = tensor.numel() * tensor.element_size() if countable else None
    return TensorMeta(shape, str(tensor.dtype)[6:], tensor.device.type, nbytes)


class Parameters:
    """The parameters in each module of a model; what is in a part is looked up once."""

    def __init__(self) -> None:
        self._known: dict[int, dict[int, Tensor]] = {}

    def of(self, module: nn.Module) -> dict[int, Tensor]:
        """The parameters in the module and all below it, each once, by identity."""
        if id(module) in self._known:
            return self._known[id(module)]
        for _, inner in reversed(list(named_modules(module))):  # parts come after the whole
            if id(inner) not in self._known:
                self._known[id(inner)] = self._collect(inner)
        return self._known[id(module)]

    def _collect(self, module: nn.Module) -> dict[int, Tensor]:
        found: dict[int, Tensor] = {id(p): p for p in _own(module)}
        for child in module.children():
            known = self._known.get(id(child))
            found.update({id(p): p for p in child.parameters()} if known is None else known)
        return found


def _own(module: nn.Module) -> list[Tensor]:
    """The parameters in the module itself; `parameters(recurse=False)` takes ten times as long."""
    return [parameter for parameter in module._parameters.values() if parameter is not None]


def _size(parameter: Tensor) -> int:
    return 0 if is_lazy(parameter) else parameter.numel()


def _extra_repr(module: nn.Module) -> str:
    """What the module says of itself, without addresses: they would differ from run to run."""
    try:
        text = module.extra_repr()
    except Exception:  # it is the user's code, and only a decoration
        return ""
    return _ADDRESS.sub("", text) if isinstance(text, str) else ""
