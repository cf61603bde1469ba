"""The least that can be recorded: which modules were called, and which tensors went from one to the next.

Only torch's hooks are used, and nothing of what a whole recording is made of, since something of that has failed.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torchrecorder.graph import Call, Graph, Info, Module, Op, TensorMeta, Value
from torchrecorder.running import torch_private
from torchrecorder.running.calls import all_modules_watched
from torchrecorder.running.facts import argument_names, class_of, describe_tensor, is_native, named_modules, named_state
from torchrecorder.running.nested import named_tensors


@contextmanager
def kept_plainly(model: nn.Module) -> Iterator[None]:
    """Put back the attributes of modules, and the data of their tensors, without a walk through what they hold."""
    modules = [module for _, module in named_modules(model)]
    held = [own for module in modules for own in (vars(module), *_dictionaries(module))]
    saved = [(own, dict(own)) for own in held]
    with torch_private.without_torch_function(), torch.no_grad():
        tensors = [tensor for _, _, tensor in named_state(named_modules(model)) if not is_lazy(tensor)]
        states = [(t, t.detach(), t.detach().clone(), t.requires_grad, t.grad if t.is_leaf else None) for t in tensors]
    try:
        yield
    finally:
        for own, items in saved:
            own.clear()
            own.update(items)
        with torch.inference_mode(False), torch_private.without_modes(), torch.no_grad():
            for tensor, alias, before, needs_grad, grad in states:
                with suppress(RuntimeError):  # what is written to keeps what it can
                    _put_back(tensor, alias, before, needs_grad, grad)


def _dictionaries(module: nn.Module) -> Iterator[dict[Any, Any]]:
    return (value for value in vars(module).values() if type(value) is dict)


def _put_back(tensor: Tensor, alias: Tensor, before: Tensor, needs_grad: bool, grad: Tensor | None) -> None:
    if tensor.is_leaf:
        tensor.data = alias
        tensor.requires_grad_(needs_grad)
        tensor.grad = grad
    if not torch.equal(alias, before):
        alias.copy_(before)


class OnlyCalls:
    """The calls of one forward, filled by hooks. Used by one thread; it keeps the tensors that it meets."""

    def __init__(self, model: nn.Module) -> None:
        self._model = model
        self._values: list[Value] = []
        self._ops: list[Op] = []
        self._calls: list[dict[str, Any]] = []
        self._modules: dict[str, Module] = {}
        self._paths = {id(module): path for path, module in named_modules(model)}
        self._names = {id(tensor): (kind, name) for kind, name, tensor in named_state(named_modules(model))}
        self._known: dict[int, tuple[Tensor, int]] = {}
        self._running: list[tuple[dict[str, Any], nn.Module]] = []
        self._thread = threading.get_ident()
        self._held: list[nn.Module] = []

    def run(self, args: Sequence[object], kwargs: Mapping[str, object], info: Info) -> Graph:
        """Call the model; the Graph of that."""
        inputs: dict[str, int] = {}
        for name, arg in _named(self._model, args, kwargs):
            inputs |= self._take(name, arg)
        with all_modules_watched(self._begins, self._ends):
            result = self._model(*args, **kwargs)
        return self._graph(info, inputs, result)

    def _take(self, name: str, obj: object) -> dict[str, int]:
        """The inputs in an argument of the forward."""
        return {path: self._value(tensor, "input", path) for path, tensor in named_tensors(obj, name, objects=True)}

    def _begins(self, module: nn.Module, args: object) -> None:
        if threading.get_ident() == self._thread:
            path = self._path(module)
            parent = self._running[-1][0] if self._running else None
            index = 1 + sum(call["module"] == path for call in self._calls)
            call = {"id": len(self._calls), "module": path, "index": index, "inputs": {}, "outputs": {}, "leaf": True}
            call["parent"] = None if parent is None else parent["id"]
            if parent is not None:
                parent["leaf"] = False
            self._calls.append(call)
            self._running.append((call, module))

    def _ends(self, module: nn.Module, args: Sequence[object], *rest: Any) -> None:
        if threading.get_ident() != self._thread or not any(running is module for _, running in self._running):
            return
        while self._running[-1][1] is not module:
            self._running.pop()
        call, _ = self._running.pop()
        if len(rest) < 2:
            return
        kwargs, out = rest
        with torch_private.without_torch_function():
            for name, arg in _named(module, args, kwargs):
                call["inputs"] |= {path: self._read(tensor) for path, tensor in named_tensors(arg, name)}
            made = [*named_tensors(out)]
            if call["leaf"]:
                self._op(call, module, [tensor for _, tensor in made])
            call["outputs"] = {path: self._read(tensor) for path, tensor in made}

    def _op(self, call: dict[str, Any], module: nn.Module, made: Sequence[Tensor]) -> None:
        """A layer without layers is one operation."""
        new = {id(tensor): tensor for tensor in made}
        inputs = tuple(dict.fromkeys(call["inputs"].values()))
        if new:
            op = len(self._ops)
            outputs = tuple(self._value(tensor, "op", None, op, index) for index, tensor in enumerate(new.values()))
            cls = class_of(module)
            self._ops.append(Op(op, cls.rpartition(".")[2], cls, call["id"], inputs, outputs))

    def _read(self, tensor: Tensor) -> int:
        known = self._known.get(id(tensor))
        kind, name = self._names.get(id(tensor), ("const", None))
        return self._value(tensor, kind, name) if known is None else known[1]

    def _value(self, tensor: Tensor, kind: Any, name: str | None, op: int | None = None, index: int = 0) -> int:
        value = len(self._values)
        self._known[id(tensor)] = tensor, value
        self._values.append(Value(value, kind, op, index, _meta(tensor), name))
        return value

    def _path(self, module: nn.Module) -> str:
        path = self._paths.get(id(module))
        if path is None:
            name = f"~{type(module).__name__}"
            count = 1 + sum(known.partition(":")[0] == name for known in self._paths.values())
            path = self._paths[id(module)] = name if count == 1 else f"{name}:{count}"
        if path not in self._modules:
            cls = class_of(module)
            self._modules[path] = Module(path, cls, is_native(cls))
            self._held.append(module)  # so that no other gets its id
        return path

    def _graph(self, info: Info, inputs: Mapping[str, int], result: object) -> Graph:
        with torch_private.without_torch_function():
            outputs = {
                path: (self._read(tensor),) for path, tensor in named_tensors(result, objects=True, private=False)
            }
        rows = tuple(
            Call(c["id"], c["parent"], c["module"], c["index"], c["inputs"], c["outputs"]) for c in self._calls
        )
        holders = {module.fqn.rpartition(".")[0] for module in self._modules.values()}
        for path, module in named_modules(self._model):
            if path in holders:
                self._path(module)
        return Graph(self._modules, rows, tuple(self._ops), tuple(self._values), inputs, outputs, info)


def _named(module: nn.Module, args: Sequence[object], kwargs: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    names, rest = argument_names(module)
    for position, arg in enumerate(args):
        left = position - len(names)
        yield names[position] if left < 0 else f"{rest}.{left}" if rest else str(left), arg
    yield from kwargs.items()


def _meta(tensor: Tensor) -> TensorMeta | None:
    try:
        return describe_tensor(tensor)
    except Exception:
        return None
