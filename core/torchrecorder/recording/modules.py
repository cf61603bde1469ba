"""The static side of a model: the paths of its modules, and their facts."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping

from torch import Tensor, nn

from torchrecorder.graph import Module
from torchrecorder.graph.model import ValueKind
from torchrecorder.running.facts import (
    Parameters,
    describe_module,
    describe_modules,
    named_modules,
    named_state,
    with_holders,
)

Declare = Callable[[Tensor, ValueKind, str], None]


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
        for path, module in named_modules(model, prefix):
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

    def is_known(self, module: nn.Module) -> bool:
        """Whether the module has a path already."""
        known = self._paths.get(id(module))
        return known is not None and known[0]() is module

    def _meet(self, module: nn.Module) -> str:
        name = f"~{type(module).__name__}"
        count = self._unregistered[name] = self._unregistered.get(name, 0) + 1
        path = name if count == 1 else f"{name}:{count}"
        self._paths.pop(id(module), None)
        inside = Parameters()
        for inner, child in named_modules(module, path):
            known = self._paths.get(id(child))
            if known is None or known[0]() is not child:
                self._paths[id(child)] = (weakref.ref(child), inner)
                self.met[inner] = describe_module(child, inner, inside)
        for kind, inner, tensor in named_state(module):
            self._declare(tensor, kind, f"{path}.{inner}")
        return path


def describe(model: nn.Module, called: Iterable[str], met: Mapping[str, Module]) -> dict[str, Module]:
    """Facts of the modules that were called or hold one that was, in registration order, then of those only met."""
    wanted = with_holders(called)
    found = describe_modules(model, wanted)
    found.update((path, facts) for path, facts in met.items() if path in wanted)
    return found
