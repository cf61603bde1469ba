"""Names of the parts of a forward's result, by the `return` that it ended with, or the variables that get it."""

from __future__ import annotations

import ast
import inspect
import linecache
import textwrap
import tokenize
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import islice
from types import CodeType

from torch import Tensor, nn

from torchrecorder.recording.code_info import SHAPING, is_user_file


@lru_cache(256)
def returned(code: CodeType, line: int) -> ast.expr | None:
    """The expression that a function returned which ended at a line; None if not certain, or torch's own."""
    tree, _ = _parsed(code)
    first = code.co_firstlineno - 1
    returns = [node for node in ast.walk(tree) if isinstance(node, ast.Return)]
    # It may be none of them: the head of a `with`, or a `finally`, runs behind the `return` in it.
    last = [node for node in returns if node.lineno <= line - first <= (node.end_lineno or 0)] or returns
    return last[0].value if len(last) == 1 else None


@lru_cache(256)
def receives(code: CodeType, instruction: int) -> ast.expr | None:
    """The variables that get the result of a call, `a, b` of `a, b = layer(x)`; None if it goes somewhere else."""
    tree, indent = _parsed(code)
    line, last, column, end = next(islice(code.co_positions(), instruction // 2, None), (None,) * 4)
    if line is None or last is None or column is None or end is None:
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and len(node.targets) == 1:
            lines, call = (line - code.co_firstlineno + 1, last - code.co_firstlineno + 1), node.value
            place = (call.lineno, call.end_lineno, call.col_offset, call.end_col_offset)
            if place == (*lines, column - indent, end - indent):
                return node.targets[0]
    return None


@lru_cache(64)
def _parsed(code: CodeType) -> tuple[ast.Module, int]:
    """The source of a function, and how far it was indented; nothing of torch's own."""
    tree, block = ast.Module([], []), [""]
    with suppress(SyntaxError, tokenize.TokenError):
        if is_user_file(code.co_filename):
            block = inspect.getblock(linecache.getlines(code.co_filename)[code.co_firstlineno - 1 :])
        tree = ast.parse(textwrap.dedent("".join(block)))
    return tree, len(block[0]) - len(block[0].lstrip())


def names_of_parts(node: ast.expr | None, module: nn.Module, part: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Paths in the result of a forward with the variable that is there, or what was called for it."""
    if isinstance(node, (ast.Tuple, ast.List)):
        items: Sequence[object] = part if type(part) is tuple or type(part) is list else ()
        if len(items) == len(node.elts) and not any(isinstance(inner, ast.Starred) for inner in node.elts):
            for i, (inner, item) in enumerate(zip(node.elts, items, strict=True)):
                yield from names_of_parts(inner, module, item, f"{path}.{i}".lstrip("."))
    elif (name := _name(node, module)).strip("_") and (path or isinstance(node, ast.Name)):
        yield path, name


def _name(node: ast.expr | None, module: nn.Module) -> str:
    match node:
        case ast.Name(name) | ast.Subscript(ast.Name(), ast.Constant(str(name))):
            return name
        case ast.Call(ast.Attribute(ast.Name("self"), name)) if name in module._modules:
            return name
        case ast.Call(ast.Attribute(of, name)) if name in SHAPING:
            return _name(of, module)
        case ast.Call(ast.Attribute(ast.Name("torch"), "stack" | "cat" | "concat"), [ast.Name(name), *_]):  # a list
            return name
        case ast.Call(ast.Attribute(ast.Name("self" | "F"), name)):  # what a method or function is called after
            return name.strip("_")
        case ast.BinOp(ast.Name(name), ast.Div(), ast.Constant() | ast.Call(ast.Name("len"))):  # the mean of a sum
            return name
        case ast.Attribute(_, name) if not hasattr(Tensor, name):  # `self.loss`, but not `x.T`
            return name
    return ""
