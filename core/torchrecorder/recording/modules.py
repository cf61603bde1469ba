"""The static side of a model: the paths of its modules, their facts, and what is tied."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping

from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torchrecorder.graph import Module, ParamCount
from torchrecorder.graph.model import ValueKind

Declare = Callable[[Tensor, ValueKind, str], None]

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+|0x[0-9a-fA-F]{6,}")


class ModuleNames:
    """Paths of modules: those of the model, and those that are met only while it runs.

    A module that is not registered (made in forward, kept in a Python list) is called `~Class`, a second one of
    its class `~Class:2`. It may be gone when the forward ends, so its facts are taken when it is first met.
    """

    def __init__(self, declare: Declare) -> None:
        self._declare = declare
        self._paths: dict[int, tuple[weakref.ref[nn.Module], str]] = {}
        self._unregistered: dict[str, int] = {}
        self.met: dict[str, Module] = {}
        """Facts of the modules that are not registered, in the order they were met."""

    def register(self, model: nn.Module, prefix: str = "") -> None:
        """Take the paths of a model's modules, and let its parameters and buffers be known by theirs."""
        for path, module in model.named_modules(prefix=prefix):
            self._paths.setdefault(id(module), (weakref.ref(module), path))
        for kind, name, tensor in named_state(model):
            self._declare(tensor, kind, f"{prefix}.{name}" if prefix else name)

    def stands_for(self, module: nn.Module, path: str) -> None:
        """Give a module the path of another one, also the tensors it holds itself."""
        self._paths.setdefault(id(module), (weakref.ref(module), path))
        for kind, name, tensor in named_state(module, recurse=False):
            self._declare(tensor, kind, f"{path}.{name}" if path else name)

    def of(self, module: nn.Module) -> str:
        """The path of a module."""
        known = self._paths.get(id(module))
        if known is not None and known[0]() is module:
            return known[1]
        return self._meet(module)

    def _meet(self, module: nn.Module) -> str:
        name = f"~{type(module).__name__}"
        count = self._unregistered[name] = self._unregistered.get(name, 0) + 1
        path = name if count == 1 else f"{name}:{count}"
        self._paths.pop(id(module), None)
        inside = _Parameters()
        for inner, child in module.named_modules(prefix=path):
            known = self._paths.get(id(child))
            if known is None or known[0]() is not child:
                self._paths[id(child)] = (weakref.ref(child), inner)
                self.met[inner] = _describe(child, inner, inside)
        for kind, inner, tensor in named_state(module):
            self._declare(tensor, kind, f"{path}.{inner}")
        return path


def named_state(model: nn.Module, recurse: bool = True) -> Iterator[tuple[ValueKind, str, Tensor]]:
    """Each parameter and buffer of a model once, with its first name."""
    for name, parameter in model.named_parameters(recurse=recurse):
        yield "param", name, parameter
    for name, buffer in model.named_buffers(recurse=recurse):
        yield "buffer", name, buffer


def describe(model: nn.Module, called: Iterable[str], met: Mapping[str, Module]) -> dict[str, Module]:
    """Facts of the modules that were called or hold one that was, in registration order, then of those only met."""
    wanted = {""}
    for path in called:
        while path and path not in wanted:
            wanted.add(path)
            path = path.rpartition(".")[0]
    paths: dict[int, list[str]] = {}
    modules = dict(model.named_modules(remove_duplicate=False))
    for path, module in modules.items():
        paths.setdefault(id(module), []).append(path)
    inside = _Parameters()
    found = {}
    for first, *aliases in paths.values():
        if first in wanted:
            found[first] = _describe(modules[first], first, inside, tuple(aliases))
    found.update((path, facts) for path, facts in met.items() if path in wanted)
    return found


def tied(model: nn.Module) -> dict[str, tuple[str, ...]]:
    """All names of each parameter or buffer that has several, by its first."""
    names: dict[int, list[str]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(id(parameter), []).append(name)
    for name, buffer in model.named_buffers(remove_duplicate=False):
        names.setdefault(id(buffer), []).append(name)
    return {first: (first, *rest) for first, *rest in names.values() if rest}


def class_name(cls: type) -> str:
    """A class with its module, `torch.nn.modules.conv.Conv2d`."""
    return f"{cls.__module__}.{cls.__qualname__}"


def is_native(cls: type) -> bool:
    """Whether torch itself defines the class."""
    return cls.__module__.partition(".")[0] == "torch"


class _Parameters:
    """The parameters in each module of a model; what is in a part is looked up once."""

    def __init__(self) -> None:
        self._known: dict[int, dict[int, Tensor]] = {}

    def of(self, module: nn.Module) -> dict[int, Tensor]:
        """The parameters in the module and all below it, each once, by identity."""
        if id(module) in self._known:
            return self._known[id(module)]
        for inner in reversed(list(module.modules())):  # parts come after the whole
            if id(inner) not in self._known:
                self._known[id(inner)] = self._collect(inner)
        return self._known[id(module)]

    def _collect(self, module: nn.Module) -> dict[int, Tensor]:
        found: dict[int, Tensor] = {id(p): p for p in _own(module)}
        for child in module.children():
            known = self._known.get(id(child))
            found.update({id(p): p for p in child.parameters()} if known is None else known)
        return found


def _describe(module: nn.Module, path: str, inside: _Parameters, aliases: tuple[str, ...] = ()) -> Module:
    cls = type(module)
    own = sum(map(_size, {id(p): p for p in _own(module)}.values()))
    everything = inside.of(module).values()
    trainable = sum(_size(p) for p in everything if p.requires_grad)
    count = ParamCount(own, sum(map(_size, everything)), trainable)
    return Module(path, class_name(cls), is_native(cls), count, _extra_repr(module), aliases)


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
