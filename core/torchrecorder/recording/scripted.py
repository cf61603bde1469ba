"""What TorchScript runs, seen from inside: a copy of a program that says which of its layers begin and end.

The interpreter is not Python, so no hook is called for the layers of a program. Its code is a graph, though: around
each call of a layer two operators are put that do nothing but tell the recording. The copy has code of its own.
"""

from __future__ import annotations

import copy
import functools
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.running import torch_private
from torchrecorder.running.facts import MARKED, hides_layers

_OPERATORS: Any = torch.library.Library("torchrecorder", "DEF")  # type: ignore[no-untyped-call]
_OPERATORS.define("begins(str path, str names, Tensor[] inputs) -> ()")
_OPERATORS.define("ends(str path, Tensor[] outputs) -> ()")

_FORWARD = re.compile(r"forward(__)?\d*")
"""The name of a method that runs a layer; a trace has a further one for each further call, an LSTM for each input."""

Begins = Callable[[str, Sequence[str], Sequence[Tensor]], None]
Ends = Callable[[str, Sequence[Tensor]], None]

_listening: list[tuple[Begins, Ends]] = []
"""The recording that runs, if any."""


@contextmanager
def announced(begins: Begins, ends: Ends) -> Iterator[None]:
    """Let a recording know of each layer that a marked program calls."""
    _listening.append((begins, ends))
    try:
        yield
    finally:
        _listening.pop()


def _begins(path: str, names: str, inputs: list[Tensor]) -> None:
    if _listening:
        _listening[-1][0](path, names.split(), inputs)


def _ends(path: str, outputs: list[Tensor]) -> None:
    if _listening:
        _listening[-1][1](path, outputs)


for _key in ("CompositeExplicitAutograd", "Meta"):
    _OPERATORS.impl("begins", _begins, _key)
    _OPERATORS.impl("ends", _ends, _key)


def layer(module: nn.Module, path: str) -> nn.Module:
    """The layer at a path in a script module, which has no `get_submodule`."""
    inner: nn.Module = functools.reduce(getattr, path.split(".") if path else (), module)
    return inner


def script_copy(program: torch.jit.ScriptModule) -> torch.jit.ScriptModule:
    """A copy of a program, which lives in C++ and can only be copied whole, tensors and all.

    It announces its layers, as far as it can be saved. What cannot be copied either serves as it is.
    """
    try:
        return _marked_copy(program) or copy.deepcopy(program)
    except Exception:  # a class in C++ without a copy
        return program


def _marked_copy(program: torch.jit.ScriptModule) -> torch.jit.ScriptModule | None:
    if torch_private.SCRIPT_TENSORS.get() is None:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch asks the user to leave TorchScript
            file = io.BytesIO()
            torch.jit.save(program, file)
            file.seek(0)
            copied: torch.jit.ScriptModule = torch.jit.load(file)  # type: ignore[no-untyped-call]
        _Marks().mark(copied)
    except Exception:  # an attribute that cannot be saved, a graph of another kind
        return None
    for module in copied.modules():
        module.__dict__[MARKED] = True
    return copied


def script_note(program: torch.jit.ScriptModule) -> str:
    """The note for the reader of a picture of a program; empty, if it is a single layer."""
    what = "TorchScript ran the model, or a part of it: its operations are kernels"
    if hides_layers(program):
        return f"{what}, and its layers are not seen"
    has_layers = any(True for _ in program.children())
    return f"{what}, and layers that give back what they were given are left out" if has_layers else ""


class _Marks:
    """Puts operators into the code of a program, once for each method of each class."""

    def __init__(self) -> None:
        self._done: set[tuple[str, str]] = set()

    def mark(self, module: nn.Module, method: str = "forward") -> None:
        """Mark what a method calls, and what that calls."""
        key = torch_private.SCRIPT_CLASS.get()(module), method
        if key in self._done:
            return
        self._done.add(key)
        graph = getattr(module, method).graph
        for node in graph.findAllNodes("prim::CallMethod"):
            called, *given = node.inputs()
            path = _path(called, next(iter(graph.inputs())))
            if path is None:
                continue
            inner, name = layer(module, path), node.s("name")
            self.mark(inner, name)
            if path and _FORWARD.fullmatch(name):
                names = [argument.name for argument in getattr(inner, name).schema.arguments[1:]]
                _put(graph, node, path, names, given)


def _path(value: Any, program: Any) -> str | None:
    """The path of a layer in the module whose code it is; None for one that is not an attribute of it."""
    names: list[str] = []
    while value.node().kind() == "prim::GetAttr":
        names.insert(0, value.node().s("name"))
        value = value.node().input()
    return ".".join(names) if value.debugName() == program.debugName() else None


def _put(graph: Any, node: Any, path: str, names: Sequence[str], given: Sequence[Any]) -> None:
    """Put an operator before and after a call."""
    held = [(name, value) for name, value in zip(names, given, strict=True) if _is_tensor(value)]
    graph.setInsertPoint(node)
    at, called = graph.insertConstant(path), graph.insertConstant(" ".join(name for name, _ in held))
    inputs = _listed(graph, [value for _, value in held])
    inputs.insertBefore(node)
    graph.create("torchrecorder::begins", [at, called, inputs.output()], 0).insertBefore(node)
    outputs = _listed(graph, [value for value in node.outputs() if _is_tensor(value)])
    outputs.insertAfter(node)
    graph.create("torchrecorder::ends", [at, outputs.output()], 0).insertAfter(outputs)


def _is_tensor(value: Any) -> bool:
    return str(value.type().kind()) == "TensorType"


def _listed(graph: Any, values: Sequence[Any]) -> Any:
    node = graph.create("prim::ListConstruct", list(values), 1)
    node.output().setType(torch_private.SCRIPT_TENSORS.get())
    return node
