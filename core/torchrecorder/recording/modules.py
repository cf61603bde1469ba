"""The paths and facts of a model's modules, and the names of the arguments of their forwards."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from torch import Tensor, nn

from torchrecorder.graph import Module
from torchrecorder.graph.model import ValueKind
from torchrecorder.running.facts import (
    NamedModules,
    Parameters,
    argument_names,
    describe_module,
    is_native,
    named_arguments,
    named_modules,
    named_state,
)
from torchrecorder.running.nested import items_of, named_tensors

Declare = Callable[[Tensor, ValueKind, str], None]


class ModuleNames:
    """Paths of modules: those of the model, and those that are met only while it runs.

    One that a registered module keeps in a list or dictionary is called by the way to it, `layers[0]`, `heads['cls']`.
    Any other that is not registered (made in forward) is called `~Class`, a second one of its class `~Class:2`. It may
    be gone when the forward ends, so its facts are taken when it is first met.
    """

    def __init__(self, declare: Declare, meet: Callable[[nn.Module], None]) -> None:
        self._declare = declare
        self._meet = meet
        self._paths: dict[int, tuple[weakref.ref[nn.Module], str]] = {}
        self._unregistered: dict[str, int] = {}
        self.met: dict[str, Module] = {}
        """Facts of the modules that are not registered, in the order they were met."""

    def register(self, model: nn.Module, prefix: str = "") -> NamedModules:
        """Take the paths of a model's modules, which are given back, and let its tensors be known by theirs."""
        modules = named_modules(model, prefix)
        for path, module in modules:
            self._paths.setdefault(id(module), (weakref.ref(module), path))
        for kind, name, tensor in named_state(modules):
            self._declare(tensor, kind, name)
        return modules

    def stands_for(self, module: nn.Module, copied: nn.Module) -> None:
        """Give a module the path of its copy, also the tensors it holds itself: a function may hold the original."""
        path = self.known(copied)
        if path is None:
            return
        self._paths.setdefault(id(module), (weakref.ref(module), path))
        for kind, name, tensor in named_state([(path, module)]):
            self._declare(tensor, kind, name)

    def of(self, module: nn.Module, running: Iterable[nn.Module] = ()) -> str:
        """The path of a module that one of those that are running calls and that has none yet."""
        self._meet(module)
        path = next(self._held(module, running), "")
        if not path:
            name = f"~{type(module).__name__}"
            count = self._unregistered[name] = self._unregistered.get(name, 0) + 1
            path = name if count == 1 else f"{name}:{count}"
        self._paths.pop(id(module), None)
        modules = named_modules(module, path)
        inside = Parameters(modules)
        for inner, child in modules:
            if self.known(child) is None:
                self._paths[id(child)] = (weakref.ref(child), inner)
                self.met[inner] = describe_module(child, inner, inside)
        for kind, inner, tensor in named_state(modules):
            self._declare(tensor, kind, inner)
        return path

    def _held(self, module: nn.Module, running: Iterable[nn.Module]) -> Iterator[str]:
        """Paths of a module in what those hold that are running: children registered since, lists, dictionaries."""
        for holder in running:
            around = self._paths.get(id(holder), (None, ""))[1]
            start = f"{around}." if around else ""
            held = [*holder._modules.items(), *((k, v) for k, v in vars(holder).items() if v is not holder._modules)]
            for name, way in ((name, way) for name, item in held for way in _ways(item, module)):
                path = f"{start}{name}{way}"
                if all(path != other for _, other in self._paths.values()):  # another one had its place before
                    yield path

    def generated(self, holder: nn.Module, at: str, cls: str, path: str = "") -> str:
        """Describe a module that was called when the code of `holder` was generated, and is inlined there.

        Its parameters may still lie below the holder, in modules without a forward.
        """
        full = ".".join(filter(None, (at, path)))
        if cls and full not in self.met:
            try:
                left = holder.get_submodule(path)
            except AttributeError:
                left = nn.Module()
            facts = describe_module(left, full, Parameters(named_modules(left)))
            self.met[full] = replace(facts, cls=cls, native=is_native(cls))
        return full

    def known(self, module: nn.Module) -> str | None:
        """The path of a module that has one."""
        known = self._paths.get(id(module))
        return known[1] if known is not None and known[0]() is module else None


_DEEP, _LONG = 3, 1000
"""Levels of lists and dictionaries in which modules are looked for, and the items of each that are."""


def _ways(item: object, module: nn.Module, depth: int = _DEEP) -> Iterator[str]:
    """The ways to a module in what an attribute holds: `[2]`, `['cls']`, nothing if it is the module itself."""
    if item is module:
        yield ""
    elif depth and issubclass(type(item), (list, tuple, dict)):
        for key, inner in islice(items_of(item), _LONG):
            if type(key) is int or (type(key) is str and "." not in key):  # a dot would read as an attribute's
                yield from (f"[{key!r}]{way}" for way in _ways(inner, module, depth - 1))


def describe(every_path: NamedModules, called: Iterable[str], met: Mapping[str, Module]) -> dict[str, Module]:
    """Facts of the modules that were called or hold one that was, in registration order, then of those only met."""
    wanted = {""}
    for path in called:
        while path and path not in wanted:
            wanted.add(path)
            path = path.rpartition(".")[0]
    paths: dict[int, list[str]] = {}
    for path, module in every_path:
        paths.setdefault(id(module), []).append(path)
    known, inside = dict(every_path), Parameters(every_path)
    modules = {
        first: describe_module(known[first], first, inside, tuple(aliases))
        for first, *aliases in paths.values()
        if first in wanted
    }
    modules.update((path, facts) for path, facts in met.items() if path in wanted)
    return modules


class Signatures:
    """Parameter names of forwards, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[object, tuple[str, ...], str]] = {}
        """By id, the forward, the names of its positions, and of what is left over (`args` in `*args`)."""

    def tensors(
        self,
        module: nn.Module,
        args: Sequence[object],
        kwargs: Mapping[str, object],
        *,
        objects: bool = False,
    ) -> list[tuple[str, Tensor]]:
        """The tensors among the arguments of `module`, with their paths: `x`, `states.0`."""
        tensors: list[tuple[str, Tensor]] = []
        for name, arg in self.named(module, args, kwargs):
            if type(arg) is Tensor or issubclass(type(arg), Tensor):
                tensors.append((name, arg))  # type: ignore[arg-type]
            else:
                tensors += named_tensors(arg, name, objects=objects)
        return tensors

    def named(
        self, module: nn.Module, args: Sequence[object], kwargs: Mapping[str, object]
    ) -> list[tuple[str, object]]:
        forward: object = module.forward
        forward = getattr(forward, "__func__", forward)
        known = self._known.get(id(forward))
        if known is None:
            known = self._known[id(forward)] = forward, *argument_names(module)
        return named_arguments(known[1], known[2], args, kwargs)
