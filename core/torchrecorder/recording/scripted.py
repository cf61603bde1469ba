"""The layers inside of code that torch made of a model, for which no hook is called.

The interpreter of TorchScript is not Python. Its code is a graph, though: around each call of a layer in a copy of the
program two operators are put that do nothing but tell the recording. `torch.export` and `torch.fx` write one forward
for a whole model; each node of their graph keeps the modules it stood in when it was made, and they are looked up by
the line that runs when an operation is placed.
"""

from __future__ import annotations

import copy
import functools
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any

import torch
from torch import Tensor, fx, nn

from torchrecorder.running import torch_private
from torchrecorder.running.facts import MARKED, class_name, hides_layers
from torchrecorder.running.nested import answer

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
    with suppress(Exception):  # an attribute that cannot be saved, a graph of another kind
        if torch_private.SCRIPT_TENSORS.get() is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # torch asks the user to leave TorchScript
                file = io.BytesIO()
                torch.jit.save(program, file)
                file.seek(0)
                copied: torch.jit.ScriptModule = torch.jit.load(file)  # type: ignore[no-untyped-call]
            _mark(copied, "forward", set())
            for module in copied.modules():
                module.__dict__[MARKED] = True
            return copied
    return answer(lambda: copy.deepcopy(program), program)  # a class in C++ may be without a copy


def script_note(program: torch.jit.ScriptModule) -> str:
    """The note for the reader of a picture of a program; empty, if it is a single layer."""
    what = "TorchScript ran the model, or a part of it: its operations are kernels"
    if hides_layers(program):
        return f"{what}, and its layers are not seen"
    has_layers = any(True for _ in program.children())
    return f"{what}, and layers that give back what they were given are left out" if has_layers else ""


def _mark(module: nn.Module, method: str, done: set[tuple[str, str]]) -> None:
    """Put operators around what a method calls, and what that calls, once for each method of each class."""
    key = torch_private.SCRIPT_CLASS.get()(module), method
    if key in done:
        return
    done.add(key)
    graph = getattr(module, method).graph
    for node in graph.findAllNodes("prim::CallMethod"):
        called, *given = node.inputs()
        path = _path(called, next(iter(graph.inputs())))
        if path is None:
            continue
        inner, name = layer(module, path), node.s("name")
        _mark(inner, name, done)
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


_ASSIGNED = re.compile(r"\s+(\w+)\s*(:[^=]*)?=")
"""A line of generated code gives one node, under its name."""

Stack = tuple[tuple[str, str, str], ...]
"""The modules around a node, outermost first: a key that tells two calls of a module apart, its path, its class."""


@dataclass(slots=True, eq=False)
class Generated:
    """A call that generated code does not make any more."""

    path: str
    cls: str
    call: int | None = None
    """Its id; None before its first operation."""


class GeneratedCalls:
    """The calls inside one run of a forward that was generated."""

    def __init__(self, module: fx.GraphModule) -> None:
        nodes = {node.name: node for node in module.graph.nodes}
        lines = (_ASSIGNED.match(line) for line in module.code.splitlines())
        numbered = [(number, nodes.get(match[1])) for number, match in enumerate(lines, 1) if match]
        self._stacks = {number: _stack(node) for number, node in numbered if node is not None}
        self._met: dict[Stack, Generated] = {}
        self.code = getattr(module.forward, "__code__", None)
        roots = (stack[0] for stack in self._stacks.values() if stack)
        self.cls = next((cls for _, path, cls in roots if not path), "")
        """The class of the model that the code was made from; empty if the graph does not say."""

    def around(self, frame: FrameType) -> Sequence[Generated]:
        """The calls that the line which runs stands in, innermost first; none are the forward's own."""
        stack = self._stacks.get(frame.f_lineno, ())
        stacks = [stack[: depth + 1] for depth, (_, path, _) in enumerate(stack) if path]
        return [self._met.setdefault(entries, Generated(*entries[-1][1:])) for entries in reversed(stacks)]

    def left_out(self) -> list[str]:
        """Paths of what no operation was met in, such as a dropout in evaluation, which gives back its argument."""
        within = {path for stack in self._met for _, path, _ in stack}
        return sorted({path for stack in self._stacks.values() for _, path, _ in stack if path} - within)


def _stack(node: fx.Node) -> Stack:
    stack: dict[str, tuple[str, Any]] = node.meta.get("nn_module_stack") or {}
    named = [(key, path, class_name(cls) if isinstance(cls, type) else str(cls)) for key, (path, cls) in stack.items()]
    if node.op == "call_module":  # which hooks announce
        return tuple(named[:-1]) if named and named[-1][1] == node.target else ()
    return tuple(named)
