"""Python code that is read and never run: what its names stand for, line by line, as far as it is written out.

Tests and examples show how a class is built, `net = Net(**params)`, and called, `net(torch.rand(1, 3, 64, 64))`. Numbers,
lists and loops over them are followed. Of all else only what is imported already is looked up, without its code.
"""

from __future__ import annotations

import ast
import copy
import enum
import importlib.util
import math
import operator
import re
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, is_dataclass, replace
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import torch
from torch import nn

from torchrecorder.request import InputSpec

_STEPS = 6_000
"""Expressions that are followed for one statement of a module, or one function: loops within loops have no end."""
_ROUNDS = 12
"""Of a loop, a comprehension, or a test with a table of cases."""
_DEPTH = 3
"""Functions that are followed into one another."""
_LARGEST = 1 << 16
"""Items of a list, or digits of a number, that an expression may make."""
_ENOUGH = 8
"""Examples, after which no other is looked for."""

Scope = ChainMap[str, Any]


class _Unread:
    def __repr__(self) -> str:
        return "…"


UNREAD: Any = _Unread()
"""In place of what is not written out."""


class Part(NamedTuple):
    """An argument that is an object of a class: a module of torch or of the package, or a dataclass of it."""

    cls: type
    args: tuple[Any, ...]
    kwargs: dict[str, Any]

    def __repr__(self) -> str:
        return call_text(self.cls.__name__, self.args, self.kwargs)


Call = tuple[int, tuple[Any, ...], dict[str, Any]]
"""Arguments that something is called with, and the line."""


@dataclass(eq=False)
class Example:
    """One call of a class."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    line: int
    calls: list[Call] = field(default_factory=list)
    """Calls of what was built, each with its line."""


class _Function(NamedTuple):
    node: ast.FunctionDef | ast.AsyncFunctionDef
    scope: Scope


class _Enough(Exception):
    pass


class _Returned(Exception):
    pass


def is_read(value: object) -> bool:
    """Whether all of a value is known, and it can be given to a constructor."""
    if isinstance(value, Part):
        return is_read(value.args) and is_read(value.kwargs)
    if isinstance(value, Mapping):
        return all(map(is_read, value.values()))
    if isinstance(value, (list, tuple, set)):
        return all(map(is_read, value))
    return value is not UNREAD and not isinstance(value, (InputSpec, Example, torch.Tensor, _Function, ModuleType))


def is_given(value: object) -> bool:
    """The same of what a forward is called with, tensors included."""
    if isinstance(value, (list, tuple, dict)):
        return all(map(is_given, value.values() if isinstance(value, dict) else value))
    return isinstance(value, (InputSpec, torch.Tensor)) or is_read(value)


def made(value: Any) -> Any:
    """The value, with the objects made that are part of it, and with containers that nothing else has."""
    if isinstance(value, Part):
        return value.cls(*made(value.args), **made(value.kwargs))
    if type(value) in (list, tuple, set):
        return type(value)(map(made, value))
    return {key: made(item) for key, item in value.items()} if type(value) is dict else copy.deepcopy(value)


def call_text(name: str, args: Iterable[Any], kwargs: Mapping[str, Any]) -> str:
    """The call as one writes it."""
    given = [*map(value_text, args), *(f"{key}={value_text(value)}" for key, value in kwargs.items())]
    return f"{name}({', '.join(given)})"


def value_text(value: Any) -> str:
    if type(value) in (list, tuple):
        items = ", ".join(map(value_text, value))
        return f"[{items}]" if type(value) is list else f"({items},)" if len(value) == 1 else f"({items})"
    if type(value) is dict:
        return "{" + ", ".join(f"{key!r}: {value_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, enum.Enum):
        return f"{type(value).__name__}.{value.name}"
    return value.__name__ if isinstance(value, (type, FunctionType)) else repr(value)


_ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    **{ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv},
    **{ast.FloorDiv: operator.floordiv, ast.Mod: operator.mod, ast.Pow: operator.pow},
    **{ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt},
    **{ast.GtE: operator.ge, ast.Is: operator.is_, ast.IsNot: operator.is_not},
    **{ast.In: lambda item, all_: item in all_, ast.NotIn: lambda item, all_: item not in all_},
    **{ast.USub: lambda value, _: -value, ast.Not: lambda value, _: not value},
}
_OF_PYTHON = {
    it.__name__: it for it in (len, range, list, tuple, dict, set, int, float, str, bool, min, max, sum, sorted, zip)
} | {"enumerate": enumerate, "tqdm": list, "deepcopy": copy.deepcopy, "copy": copy.copy, "OrderedDict": dict}
_SAME = {
    *("to", "cuda", "cpu", "eval", "train", "half", "double", "requires_grad_", "clone", "detach", "contiguous"),
    *("type", "apply", "copy"),
}
"""Methods that give what they are called on, as far as its shape goes."""
_FLOATS = ("float32", "float64", "float16", "bfloat16", "float", "double", "half")
_CASTS = {"long": "int64", "int": "int32", "bool": "bool", "float": "float32"}
_EXACT = ("tensor", "linspace", "arange", "eye", "meshgrid", "Size")
"""Functions of torch whose numbers are written out."""
_SHAPES = ("unsqueeze", "squeeze", "permute", "transpose", "reshape", "view", "repeat", "expand", "flatten")
_JOINS = ("stack", "cat", "concat")
_TENSORS = (
    *("rand", "randn", "empty", "zeros", "ones", "Tensor", "FloatTensor", "full", "randint", *_EXACT, *_JOINS),
    *("rand_like", "randn_like", "zeros_like", "ones_like"),
)
_REFUSES = ("raises", "assertRaises", "assertRaisesRegex")
"""What stands around examples of what does not work."""
_TABLES = ("parametrize", "expand", "parameterized", "product")


class Reader:
    """Reads statements in order, and keeps the calls of a class in `examples`."""

    def __init__(self, cls: type | None = None, known: Mapping[str, Any] | None = None, top: str = "") -> None:
        self.examples: list[Example] = []
        self._cls = cls
        self._name = "" if cls is None else cls.__name__
        self._top = top or ("" if cls is None else cls.__module__.partition(".")[0])
        self._scope: Scope = ChainMap({"torch": torch, "nn": nn, "math": math, **(known or {})})
        self._later: list[tuple[_Function, ast.ClassDef | None]] = []
        self._steps = self._depth = 0
        self._is_refused = False

    def read(self, text: str) -> None:
        """Follow a whole module, with the functions in it that have to do with the class."""
        lines = text.splitlines()
        self.follow(ast.parse(text).body)
        for function, within in self._later:
            if len(self.examples) >= _ENOUGH:
                return
            node = function.node
            first = min((it.lineno for it in (node, *node.decorator_list)), default=node.lineno)
            said = "\n".join(lines[first - 1 : node.end_lineno])
            if self._name in said or any(name in said for name in _TABLES) or node.name == "setUp" or within:
                self._each_case(function, within)

    def follow(self, statements: Iterable[ast.stmt]) -> None:
        """Follow statements in order, those that take too long in part."""
        for statement in statements:
            self._alone(partial(self.run, [statement]))

    def _alone(self, follow: Callable[[], object]) -> None:
        self._steps, self._depth = 0, 0
        with suppress(_Enough, _Returned, RecursionError):
            follow()

    def _each_case(self, function: _Function, within: ast.ClassDef | None) -> None:
        names = [it.arg for it in (*function.node.args.posonlyargs, *function.node.args.args)]
        cases = list(self._cases(function, names[1:] if within else names)) or [{}]
        for case in cases[:_ROUNDS]:
            self._alone(partial(self._called, function, (), case))
            if len(self.examples) >= _ENOUGH:
                break

    def _cases(self, function: _Function, names: list[str]) -> Iterable[dict[str, Any]]:
        """Arguments of a test by its tables of cases: all of the last one, with the first of the others."""
        fixed: dict[str, Any] = {}
        several: list[dict[str, Any]] = []
        for decorator in reversed(function.node.decorator_list):
            if not isinstance(decorator, ast.Call) or _last(decorator.func) not in _TABLES:
                continue
            said = [self.value(it) for it in decorator.args]
            bound = names
            if len(said) > 1 and _last(decorator.func) == "parametrize":
                bound = [it.strip() for it in said[0].split(",")] if isinstance(said[0], str) else [*said[0]]
                del said[0]
            if not said or not isinstance(said[0], (list, tuple)) or not said[0]:
                continue
            rows = [case if len(bound) > 1 and isinstance(case, (list, tuple)) else [case] for case in said[0]]
            found = [dict(zip(bound, row, strict=False)) for row in rows]
            if several:
                fixed |= found[0]
            else:
                several = found
        return [{**fixed, **case} for case in several]

    def run(self, statements: Iterable[ast.stmt]) -> None:
        for statement in statements:
            self._step()
            follow = getattr(self, f"_do_{type(statement).__name__.lower()}", None)
            if follow is not None:
                follow(statement)

    def value(self, node: ast.expr | None) -> Any:
        """The value of an expression; UNREAD if it is not written out."""
        self._step()
        follow = getattr(self, f"_of_{type(node).__name__.lower()}", None)
        if follow is None:
            for child in ast.iter_child_nodes(node) if node is not None else ():
                if isinstance(child, ast.expr):
                    self.value(child)
            return UNREAD
        try:
            return follow(node)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            return UNREAD

    def _step(self) -> None:
        self._steps += 1
        if self._steps > _STEPS:
            raise _Enough

    # statements

    def _do_import(self, node: ast.Import) -> None:
        for it in node.names:
            name = it.name if it.asname else it.name.partition(".")[0]
            self._scope[it.asname or name] = sys.modules.get(name, UNREAD)

    def _do_importfrom(self, node: ast.ImportFrom) -> None:
        module = sys.modules.get(node.module or "") if not node.level else None
        for it in node.names:
            known = UNREAD if module is None else _member(module, it.name)
            is_builder = known is UNREAD and it.name == self._name
            self._scope[it.asname or it.name] = self._cls if is_builder else known

    def _do_assign(self, node: ast.Assign) -> None:
        value = self.value(node.value)
        for target in node.targets:
            self._bind(target, value)

    def _do_annassign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self._bind(node.target, self.value(node.value))

    def _do_augassign(self, node: ast.AugAssign) -> None:
        self._bind(node.target, self.value(ast.BinOp(_loaded(node.target), node.op, node.value)))

    def _bind(self, target: ast.expr, value: Any) -> None:
        if isinstance(target, ast.Name):
            self._scope[target.id] = value
        elif isinstance(target, (ast.Tuple, ast.List)):
            items = [*value] if isinstance(value, (list, tuple, range)) else []
            is_plain = len(items) == len(target.elts) and not any(isinstance(it, ast.Starred) for it in target.elts)
            for i, each in enumerate(target.elts):
                self._bind(each, items[i] if is_plain else UNREAD)
        elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
            self._scope[f"self.{target.attr}"] = value
        elif isinstance(target, ast.Subscript) and isinstance(holder := self.value(target.value), (dict, list)):
            holder[self.value(target.slice)] = value
        elif isinstance(target, ast.Attribute) and self._is_config(holder := self.value(target.value)):
            setattr(holder, target.attr, value)
        else:  # what is changed so is not as it was written
            root = target
            while isinstance(root, (ast.Attribute, ast.Subscript, ast.Starred)):
                root = root.value
            if isinstance(root, ast.Name):
                self._scope[root.id] = UNREAD

    def _is_config(self, value: object) -> bool:
        """Whether it is a copy of a dictionary of the package whose keys are attributes, too."""
        return isinstance(value, dict) and type(value).__module__.partition(".")[0] == self._top

    def _do_expr(self, node: ast.Expr) -> None:
        self.value(node.value)

    def _do_assert(self, node: ast.Assert) -> None:
        self.value(node.test)

    def _do_return(self, node: ast.Return) -> None:
        value = self.value(node.value)
        if self._depth:
            raise _Returned(value)

    def _do_for(self, node: ast.For) -> None:
        for item in self._items(node.iter):
            self._bind(node.target, item)
            self.run(node.body)

    def _items(self, node: ast.expr) -> list[Any]:
        over = self.value(node)
        is_known = isinstance(over, (list, tuple, range, dict, set, zip, enumerate))
        return [item for item, _ in zip(over, range(_ROUNDS), strict=False)] if is_known else [UNREAD]

    def _do_while(self, node: ast.While) -> None:
        self.run(node.body)

    def _do_if(self, node: ast.If) -> None:
        test = self.value(node.test)
        if test is UNREAD or test:
            self.run(node.body)
        if test is UNREAD or not test:
            self.run(node.orelse)

    def _do_with(self, node: ast.With) -> None:
        before = self._is_refused
        for item in node.items:
            expression = item.context_expr
            called = expression.func if isinstance(expression, ast.Call) else expression
            self._is_refused = self._is_refused or _last(called) in _REFUSES
            if _last(called) not in _REFUSES:
                self.value(expression)
        self.run(node.body)
        self._is_refused = before

    def _do_try(self, node: ast.Try) -> None:
        imports = [it for it in node.body if isinstance(it, (ast.Import, ast.ImportFrom))]
        names = [it.names[0].name if isinstance(it, ast.Import) else it.module or "" for it in imports]
        if all(_is_there(name.partition(".")[0]) for name in names if name):
            self.run([*node.body, *node.orelse])
        else:
            self.run(statement for handler in node.handlers[:1] for statement in handler.body)
        self.run(node.finalbody)

    def _do_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._scope[node.name] = _Function(node, self._scope)
        if not self._depth:
            self._later.append((self._scope[node.name], None))

    _do_asyncfunctiondef = _do_functiondef

    def _do_classdef(self, node: ast.ClassDef) -> None:
        is_of_class = any(self.value(base) is self._cls is not None for base in node.bases)
        outer, self._scope = self._scope, self._scope.new_child({"super": self._cls if is_of_class else UNREAD})
        count = len(self._later)
        try:
            self.run(node.body)
        finally:
            self._scope = outer
        mentioned = [(function, node) for function, _ in self._later[count:]]
        self._later[count:] = sorted(mentioned, key=lambda it: it[0].node.name != "setUp")
        outer[node.name] = UNREAD

    # expressions

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
            return _member(base, node.attr)
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
            value = self.value(it.value if isinstance(it, ast.Starred) else it)
            items += (
                (value if isinstance(value, (list, tuple)) else [UNREAD]) if isinstance(it, ast.Starred) else [value]
            )
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
        is_large = (
            isinstance(node.op, (ast.Mult, ast.Pow))
            and max(sizes) > 1
            and (sizes[0] * sizes[1] > _LARGEST**2 if isinstance(node.op, ast.Mult) else sizes[1] > 64)
        )
        made_of = not isinstance(left, (int, float)) or not isinstance(right, (int, float))
        if is_large or (made_of and isinstance(node.op, ast.Mult) and sizes[0] * sizes[1] > _LARGEST):
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
        if isinstance(node.slice, ast.Slice):
            bounds = [
                None if it is None else self.value(it) for it in (node.slice.lower, node.slice.upper, node.slice.step)
            ]
            return base[slice(*bounds)]  # type: ignore[index]
        return base[self.value(node.slice)]

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
        func = node.func
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Call) and _last(func.value.func) == "super":
            is_built = func.attr == "__init__" and self._scope.get("super") is self._cls
            return self._built(node, args, kwargs) if is_built and self._cls else UNREAD
        called = self.value(func)
        if called is self._cls and called is not None:
            return self._built(node, args, kwargs)
        if isinstance(called, Example):
            called.calls.append((node.lineno, args, kwargs))
            return UNREAD
        if isinstance(called, _Function):
            return self._called(called, args, kwargs)
        if isinstance(called, type) and self._is_part(called):
            return Part(called, args, kwargs)
        if isinstance(func, ast.Attribute) and called is UNREAD:
            return self._method(self.value(func.value), func.attr, args, kwargs)
        name = _last(func)
        is_torchs = getattr(called, "__module__", None) in ("torch", "torch._C", "torch.functional", None)
        if is_torchs and name in _TENSORS:
            return _tensor(name, args, kwargs)
        is_large = name == "range" and max(map(abs, args)) > _LARGEST
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

    def _is_part(self, cls: type) -> bool:
        """Whether making an object does no more than building a model does."""
        top = cls.__module__.partition(".")[0]
        return top in ("torch", self._top) and (issubclass(cls, nn.Module) or (is_dataclass(cls) and top == self._top))

    def _called(self, function: _Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The result of a function in the same text, with the examples in it."""
        if self._depth >= _DEPTH:
            return UNREAD
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
                self._scope[node.kwarg.arg] = {
                    name: it for name, it in kwargs.items() if name not in self._scope.maps[0]
                }
            self.run(function.node.body)
        except _Returned as returned:
            return returned.args[0]
        finally:
            self._scope, self._depth = outer, self._depth - 1
        return None

    def _fixture(self, known: Any) -> Any:
        if isinstance(known, _Function) and any("fixture" in ast.dump(it) for it in known.node.decorator_list):
            return self._called(known, (), {})
        return UNREAD

    def _method(self, base: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if isinstance(base, InputSpec) and name in _CASTS:
            return cast(base, _CASTS[name])
        if name in _SAME and isinstance(base, (InputSpec, Example, torch.Tensor, dict, list)):
            return copy.copy(base) if name == "copy" else base
        if isinstance(base, (InputSpec, torch.Tensor)) and name in _SHAPES:
            return _reshaped(name, base, args, kwargs)
        if type(base) is list and name in ("append", "extend"):
            getattr(base, name)(*args)
        if type(base) is dict and name in ("items", "keys", "values", "update", "get", "pop"):
            found = getattr(base, name)(*args, **kwargs)
            return list(found) if name in ("items", "keys", "values") else found
        return UNREAD


def _last(func: ast.expr) -> str:
    return func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""


def _loaded(target: ast.expr) -> ast.expr:
    """What stands left of `+=`, to be read."""
    return ast.Name(target.id, ast.Load()) if isinstance(target, ast.Name) else target


def _is_there(module: str) -> bool:
    try:
        return module in sys.modules or importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _member(holder: ModuleType | type, name: str) -> Any:
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


def _tensor(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """A tensor by its shape, or by its numbers where they are written out."""
    if name in _JOINS:
        return _reshaped(name, args[0], args[1:], kwargs)
    if name in _EXACT:
        counts = [it for it in (*args, *kwargs.values()) if isinstance(it, (int, float))]
        is_small = is_given(args) and max(map(abs, counts), default=0) < _LARGEST
        given = {key: value for key, value in kwargs.items() if key not in ("device", "requires_grad")}
        return getattr(torch, name)(*args, **given) if is_small else UNREAD
    if name.endswith("_like"):
        return args[0]
    sizes = args[0] if name == "full" else kwargs.get("size", args)
    dtype = str(kwargs.get("dtype", torch.float32)).removeprefix("torch.")
    if name == "randint":
        *bounds, sizes = (*args, *([kwargs["size"]] if "size" in kwargs else []))
        high = kwargs.get("high", bounds[-1] if bounds else None)
        return spec(sizes, "int64", high) if isinstance(sizes, (tuple, list)) and type(high) is int else UNREAD
    found = spec(sizes, "float32" if dtype in _FLOATS else _CASTS.get(dtype, dtype))
    is_weight = name == "ones" and found is not UNREAD and found.dtype == "float32" and len(found.shape) == 1
    return torch.ones(found.shape) if is_weight else found


def spec(sizes: Sequence[Any], dtype: str, high: int | None = None) -> Any:
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    is_shape = all(type(size) is int and size > 0 for size in sizes)
    return InputSpec(tuple(sizes), dtype, high=high) if is_shape and dtype in {*_CASTS.values()} else UNREAD


def cast(given: InputSpec, dtype: str) -> InputSpec:
    return InputSpec(given.shape, dtype, high=(given.high or 2) if dtype.startswith("int") else None)


def _reshaped(name: str, given: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What an operation on the shape of a tensor, or of several, gives; torch itself says it."""
    several = [*given] if isinstance(given, (list, tuple)) else [given]
    is_exact = all(isinstance(it, torch.Tensor) for it in several)
    tensors = several if is_exact else [torch.empty(it.shape, device="meta") for it in several]
    if name in _JOINS:
        made_of = getattr(torch, name)(tensors, *args, **kwargs)
    else:
        made_of = getattr(torch.Tensor, name)(tensors[0], *args, **kwargs)
    return made_of if is_exact else replace(several[0], shape=tuple(made_of.shape))


def prompted(text: str) -> Iterator[ast.stmt]:
    """The statements behind the prompts of Python in a text, each at its line."""
    for match in re.finditer(r"^[ \t]*>>> ?(.*(?:\n[ \t]*\.\.\. ?.*)*)", text, re.MULTILINE):
        with suppress(SyntaxError):
            for statement in ast.parse(re.sub(r"\n[ \t]*\.\.\. ?", "\n", match[1])).body:
                yield ast.increment_lineno(statement, text.count("\n", 0, match.start()))
