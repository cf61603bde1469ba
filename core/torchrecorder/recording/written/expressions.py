"""Expressions of code that is read and never run: what they give, as far as it is written out."""

from __future__ import annotations

import ast
import copy
import enum
import math
import operator
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, is_dataclass
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import torch
from torch import nn

from torchrecorder.recording.written.values import (
    CASTS,
    LARGEST,
    SHAPES,
    TENSORS,
    UNREAD,
    CallAt,
    Example,
    Made,
    cast,
    is_given,
    is_read,
    is_small,
    reshaped,
    tensor,
)
from torchrecorder.request import InputSpec

_STEPS = 6_000
"""Expressions that are followed for one statement of a module, or one function: loops within loops have no end."""
ROUNDS = 12
"""Of a loop, a comprehension, or a test with a table of cases."""
_EXPONENT = 64
"""The largest: of a power, a number of any length may be made."""
_DEPTH = 3
"""Functions that are followed into one another."""

Scope = ChainMap[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function of the text, and not a tuple: what its scope holds does not belong to a value."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    scope: Scope


class Enough(Exception):
    pass


class Returned(Exception):
    pass


_ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
    **{ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow},
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt},
    **{ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not},
    **{ast.In: lambda item, all_: item in all_, ast.NotIn: lambda item, all_: item not in all_},
    **{ast.USub: lambda value, _: -value, ast.Not: lambda value, _: not value},
}
_OF_PYTHON: dict[str, Callable[..., Any]] = {
    it.__name__: it for it in (len, range, list, tuple, dict, set, int, float, str, bool, min, max, sum, sorted, zip)
} | {"enumerate": enumerate, "tqdm": list, "deepcopy": copy.deepcopy, "copy": copy.copy, "OrderedDict": dict}
_SAME = {
    *("to", "cuda", "cpu", "eval", "train", "half", "double", "requires_grad_", "clone", "detach", "contiguous"),
    *("type", "apply", "copy"),
}
"""Methods that give what they are called on, as far as its shape goes."""


class Expressions:
    """Gives the values of expressions; calls of a class are kept in `examples`, those of what is unknown in `calls`."""

    def __init__(self, cls: type | None = None, known: Mapping[str, Any] | None = None) -> None:
        self.examples: list[Example] = []
        self.calls: list[CallAt] = []
        self._cls = cls
        self._name, self._top = ("", "") if cls is None else (cls.__name__, cls.__module__.partition(".")[0])
        self._scope: Scope = ChainMap({"torch": torch, "nn": nn, "math": math, **(known or {})})
        self._steps = self._depth = 0
        self._inner: dict[int, Function] = {}
        """Functions within those that are followed, which have not been called, by their nodes."""
        self._is_refused = False

    def run(self, statements: Iterable[ast.stmt]) -> None:
        raise NotImplementedError

    def value(self, node: ast.expr | None) -> Any:
        """The value of an expression; UNREAD if it is not written out."""
        self._step()
        follow = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if follow is None:
            return self.children(node)
        try:
            return follow(node)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return UNREAD

    def children(self, node: ast.AST | None) -> Any:
        """Follow what a node holds that has no value of its own."""
        for child in ast.iter_child_nodes(node) if node is not None else ():
            if isinstance(child, ast.expr):
                self.value(child)
        return UNREAD

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _STEPS:
            raise Enough

    def _bind(self, target: ast.expr, value: Any) -> None:
        value = value if is_small(value) else UNREAD
        if isinstance(target, ast.Name):
            self._scope[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = [*value] if isinstance(value, (list, tuple, range)) else []
            is_plain = len(items) == len(target.elts) and not any(isinstance(it, ast.Starred) for it in target.elts)
            for i, each in enumerate(target.elts):
                self._bind(each, items[i] if is_plain else UNREAD)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            self._scope.maps[:2][-1][f"self.{target.attr}"] = value  # of the class, for its other methods
        elif isinstance(target, ast.Subscript) and isinstance(
            holder := self.value(target.value), (dict, list, InputSpec)
        ):
            if not isinstance(holder, InputSpec):  # other numbers of a tensor have the same shape
                holder[self.value(target.slice)] = value
        elif (
            isinstance(target, ast.Attribute)
            and isinstance(holder := self.value(target.value), dict)
            and (
                type(holder).__module__.partition(".")[0] == self._top  # of the package, its keys are attributes, too
            )
        ):
            setattr(holder, target.attr, value)
        elif not (isinstance(target, ast.Attribute) and target.attr == "forward"):  # which a wrapper calls in the end
            root = target  # what is changed so is not as it was written
            while isinstance(root, (ast.Attribute, ast.Subscript, ast.Starred)):
                root = root.value
            if isinstance(root, ast.Name):
                self._scope[root.id] = UNREAD

    def _items(self, node: ast.expr) -> list[Any]:
        over = self.value(node)
        is_known = isinstance(over, (list, tuple, range, dict, set, zip, enumerate))
        return [item for item, _ in zip(over, range(ROUNDS), strict=False)] if is_known else [UNREAD]

    def _of_constant(self, node: ast.Constant) -> Any:
        return node.value

    def _of_name(self, node: ast.Name) -> Any:
        known = self._scope.get(node.id, UNREAD)
        return self._cls if node.id == self._name and node.id not in self._scope and self._cls else known

    def _of_attribute(self, node: ast.Attribute) -> Any:
        if isinstance(node.value, ast.Name) and f"self.{node.attr}" in self._scope and node.value.id == "self":
            return self._scope[f"self.{node.attr}"]
        base = self.value(node.value)
        if isinstance(base, (ModuleType, type)):
            return member(base, node.attr)
        if isinstance(base, InputSpec):
            return base.shape if node.attr == "shape" else UNREAD
        if isinstance(base, Example):
            return base if node.attr == "forward" else UNREAD
        if isinstance(base, dict):
            return base.get(node.attr, UNREAD)
        return self._cls if base is UNREAD and node.attr == self._name and self._cls else UNREAD

    def _of_tuple(self, node: ast.Tuple | ast.List) -> Any:
        items: list[Any] = []
        for it in node.elts:
            is_many = isinstance(it, ast.Starred)
            value = self.value(it.value if isinstance(it, ast.Starred) else it)
            items += value if is_many and isinstance(value, (list, tuple)) else [UNREAD if is_many else value]
        return tuple(items) if isinstance(node, ast.Tuple) else items

    _of_list = _of_tuple

    def _of_dict(self, node: ast.Dict) -> Any:
        found: dict[Any, Any] = {}
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.value(item)
            found |= {self.value(key): value} if key is not None else value
        return found

    def _of_unaryop(self, node: ast.UnaryOp) -> Any:
        value = self.value(node.operand)
        return UNREAD if value is UNREAD else _ARITHMETIC[type(node.op)](value, None)

    def _of_binop(self, node: ast.BinOp) -> Any:
        left, right = self.value(node.left), self.value(node.right)
        plain = (int, float, str, list, tuple)
        if not isinstance(left, plain) or not isinstance(right, plain):
            return left | right if isinstance(node.op, ast.BitOr) and type(left) is type(right) is dict else UNREAD
        sizes = [len(it) if isinstance(it, (str, list, tuple)) else abs(it) for it in (left, right)]
        is_number = isinstance(left, (int, float)) and isinstance(right, (int, float))
        if isinstance(node.op, ast.Mult) and sizes[0] * sizes[1] > (LARGEST**4 if is_number else LARGEST):
            return UNREAD
        if isinstance(node.op, ast.Pow) and (sizes[0] > LARGEST**2 or sizes[1] > _EXPONENT):
            return UNREAD
        return _ARITHMETIC[type(node.op)](left, right)

    def _of_compare(self, node: ast.Compare) -> Any:
        left, right = self.value(node.left), self.value(node.comparators[0])
        is_plain = len(node.ops) == 1 and is_read([left, right])
        return _ARITHMETIC[type(node.ops[0])](left, right) if is_plain else UNREAD

    def _of_boolop(self, node: ast.BoolOp) -> Any:
        is_and = isinstance(node.op, ast.And)
        value: Any = UNREAD
        for it in node.values:
            value = self.value(it)
            if value is UNREAD or bool(value) is not is_and:
                break
        return value

    def _of_ifexp(self, node: ast.IfExp) -> Any:
        test, first, second = self.value(node.test), self.value(node.body), self.value(node.orelse)
        return UNREAD if test is UNREAD else first if test else second

    def _of_joinedstr(self, node: ast.JoinedStr) -> Any:
        parts = [self.value(it.value if isinstance(it, ast.FormattedValue) else it) for it in node.values]
        return "".join(map(str, parts)) if is_read(parts) else UNREAD

    def _of_subscript(self, node: ast.Subscript) -> Any:
        base = self.value(node.value)
        if not isinstance(base, (list, tuple, str, dict)):
            return UNREAD
        if isinstance(cut := node.slice, ast.Slice):
            return base[slice(*(None if it is None else self.value(it) for it in (cut.lower, cut.upper, cut.step)))]
        return base[self.value(cut)]

    def _of_listcomp(self, node: ast.ListComp | ast.GeneratorExp) -> Any:
        (loop,) = node.generators
        outer, self._scope = self._scope, self._scope.new_child()
        try:
            found = []
            for item in self._items(loop.iter):
                self._bind(loop.target, item)
                if all(self.value(test) for test in loop.ifs):
                    found.append(self.value(node.elt))
            return found
        finally:
            self._scope = outer

    _of_generatorexp = _of_listcomp

    def _of_call(self, node: ast.Call) -> Any:
        args, kwargs = self.arguments(node)
        if not is_small([args, kwargs]):
            return UNREAD
        func = node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call) and last(func.value.func) == "super":
            is_built = func.attr == "__init__" and self._scope.get("super") is self._cls
            return self._built(node, args, kwargs) if is_built and self._cls else UNREAD
        called = self.value(func)
        if called is self._cls and called is not None:
            return self._built(node, args, kwargs)
        if isinstance(called, Example):
            called.calls.append((node.lineno, args, kwargs))
            return UNREAD
        if called is UNREAD and _may_be_model(func):
            self.calls.append((node.lineno, args, kwargs))
        if isinstance(called, Function):
            return self._called(called, args, kwargs)
        if isinstance(called, type):
            top = called.__module__.partition(".")[0]
            is_model = issubclass(called, nn.Module) and top in ("torch", self._top)
            # Making an object of these does no more than building a model does.
            if is_model or (top == self._top and is_dataclass(called)):
                return Made(called, args, kwargs)
        if isinstance(func, ast.Attribute) and called is UNREAD:
            return self._method(self.value(func.value), func.attr, args, kwargs)
        name = last(func)
        is_torchs = getattr(called, "__module__", None) in ("torch", "torch._C", "torch.functional", None)
        if is_torchs and name in TENSORS:
            return tensor(name, args, kwargs)
        is_large = name == "range" and max(map(abs, args)) > LARGEST
        if name in _OF_PYTHON and is_given(args) and not is_large and not isinstance(func, ast.Attribute):
            return _OF_PYTHON[name](*args, **{} if name == "tqdm" else kwargs)
        return UNREAD

    def arguments(self, node: ast.Call) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args = self._of_tuple(ast.Tuple(node.args, ast.Load()))
        kwargs: dict[str, Any] = {}
        for word in node.keywords:
            value = self.value(word.value)
            if word.arg is not None:
                kwargs[word.arg] = value
            elif isinstance(value, Mapping) and all(isinstance(key, str) for key in value):
                kwargs |= value
            else:
                kwargs["**"] = UNREAD
        return args, kwargs

    def _built(self, node: ast.Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Example:
        example = Example(args, kwargs, node.lineno)
        if not self._is_refused:
            self.examples.append(example)
        return example

    def _called(self, function: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The result of a function in the same text, with the examples in it."""
        if self._depth >= _DEPTH:
            return UNREAD
        self._inner.pop(id(function.node), None)
        node = function.node.args
        places = [*node.posonlyargs, *node.args]
        outer, self._scope = self._scope, function.scope.new_child()
        self._depth += 1
        try:
            names = [it.arg for it in places]
            defaults = dict(zip(reversed(names), map(self.value, reversed(node.defaults)), strict=False))
            defaults |= {it.arg: self.value(of) for it, of in zip(node.kwonlyargs, node.kw_defaults, strict=True) if of}
            for name in (*names, *(it.arg for it in node.kwonlyargs)):
                self._scope[name] = defaults[name] if name in defaults else self._fixture(function.scope.get(name))
            self._scope.update(zip(names, args, strict=False))
            self._scope.update({name: value for name, value in kwargs.items() if name in self._scope.maps[0]})
            if node.kwarg:
                others = {name: it for name, it in kwargs.items() if name not in self._scope.maps[0]}
                self._scope[node.kwarg.arg] = others
            self.run(function.node.body)
        except Returned as returned:
            return returned.args[0]
        finally:
            self._scope, self._depth = outer, self._depth - 1
        return None

    def _fixture(self, known: Any) -> Any:
        if isinstance(known, Function) and any("fixture" in ast.dump(it) for it in known.node.decorator_list):
            return self._called(known, (), {})
        return UNREAD

    def _method(self, base: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(base, Example) and name.startswith("set_") and is_given([args, kwargs]):
            base.prepared += [(name, args, kwargs)] if not base.calls else []
        if isinstance(base, InputSpec) and name in CASTS:
            return cast(base, CASTS[name])
        if name in _SAME and isinstance(base, (InputSpec, Example, torch.Tensor, dict, list)):
            return copy.copy(base) if name == "copy" else base
        if isinstance(base, (InputSpec, torch.Tensor)) and name in SHAPES:
            return reshaped(name, base, args, kwargs)
        if type(base) is list and name in ("append", "extend"):
            getattr(base, name)(*args)
        if type(base) is dict and name in ("items", "keys", "values", "update", "get", "pop"):
            found = getattr(base, name)(*args, **kwargs)
            return list(found) if name in ("items", "keys", "values") else found
        return UNREAD


def _may_be_model(func: ast.expr) -> bool:
    """Whether what is called is neither a class nor a function of a module."""
    if isinstance(func, ast.Attribute):
        return func.attr == "forward"
    return isinstance(func, ast.Call) or (isinstance(func, ast.Name) and not func.id[:1].isupper())


def last(func: ast.expr) -> str:
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


def member(holder: ModuleType | type, name: str) -> Any:
    """What a module or class that is imported has under a name, without running code of it."""
    found: Any = UNREAD
    if isinstance(holder, ModuleType):
        found = vars(holder).get(name, sys.modules.get(f"{holder.__name__}.{name}", UNREAD))
    elif isinstance(holder, enum.EnumMeta):
        found = holder.__members__.get(name, UNREAD)
    if isinstance(found, (list, dict, set)):
        return copy.deepcopy(found)
    plain = (ModuleType, type, FunctionType, BuiltinFunctionType, enum.Enum, torch.dtype)
    return found if isinstance(found, (*plain, int, float, str, tuple, type(None))) else UNREAD
