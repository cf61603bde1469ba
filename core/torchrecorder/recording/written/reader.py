"""Python code that is read and never run: what its names stand for, line by line, as far as it is written out.

Tests and examples show how a class is built, `net = Net(**params)`, and called, `net(torch.rand(1, 3, 64, 64))`.
Numbers, lists and loops over them are followed. Of all else only what is imported is looked up, without its code.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import Any

from torchrecorder.recording.written.expressions import ROUNDS, Expressions, Function, Returned, last, member
from torchrecorder.recording.written.values import UNREAD
from torchrecorder.running.nested import answer
from torchrecorder.trace.mentions import untraced

_ENOUGH = 8
"""Examples, after which no other is looked for."""

_REFUSES = ("raises", "assertRaises", "assertRaisesRegex")
"""What stands around examples of what does not work."""
_TABLES = ("parametrize", "expand", "parameterized", "product")


class Reader(Expressions):
    """Reads statements in order."""

    def __init__(self, cls: type | None = None, known: Mapping[str, Any] | None = None) -> None:
        super().__init__(cls, known)
        self._known = known or {}
        """Names of the text, if it is that of a module that is imported."""
        self._later: list[tuple[Function, bool]] = []
        """Functions, each with whether it is a method."""

    @untraced()
    def read(self, text: str) -> None:
        """Follow a whole module, with the functions in it that have to do with the class."""
        lines = text.splitlines()
        self.follow(ast.parse(text).body)
        for function, is_method in self._later:
            if len(self.examples) >= _ENOUGH:
                return
            node = function.node
            first = min(it.lineno for it in (node, *node.decorator_list))
            said = "\n".join(lines[first - 1 : node.end_lineno])
            is_of_class = is_method and function.scope.get("super") is self._cls
            if is_of_class or node.name == "setUp" or any(name in said for name in (self._name, *_TABLES)):
                names = [it.arg for it in (*node.args.posonlyargs, *node.args.args)]
                cases = [*self._cases(function, names[1:] if is_method else names)] or [{}]
                for case in cases[:ROUNDS]:
                    if len(self.examples) < _ENOUGH:
                        self._alone(partial(self._called, function, (), case))
                        inner, self._inner = [*self._inner.values()], {}
                        for given in inner[:ROUNDS]:  # to others, to be called by them
                            self._alone(partial(self._called, given, (), {}))
                        self._inner.clear()

    @untraced()
    def prompts(self, text: str) -> Reader:
        """Follow the statements behind the prompts of Python in a text, each at its line; gives itself."""
        for match in re.finditer(r"^[ \t]*>>> ?(.*(?:\n[ \t]*\.\.\. ?.*)*)", text, re.MULTILINE):
            with suppress(SyntaxError):
                for statement in ast.parse(re.sub(r"\n[ \t]*\.\.\. ?", "\n", match[1])).body:
                    self.follow([ast.increment_lineno(statement, text.count("\n", 0, match.start()))])
        return self

    def follow(self, statements: Iterable[ast.stmt]) -> None:
        """Follow statements in order, those that take too long in part."""
        for statement in statements:
            self._alone(partial(self.run, [statement]))

    def _alone(self, follow: Callable[[], object]) -> None:
        self._steps, self._depth = 0, 0
        with suppress(Exception):  # what cannot be followed shows nothing
            follow()

    def _cases(self, function: Function, names: list[str]) -> Iterable[dict[str, Any]]:
        """Arguments of a test by its tables of cases: all of the last one, with the first of the others."""
        fixed: dict[str, Any] = {}
        several: list[dict[str, Any]] = []
        for decorator in reversed(function.node.decorator_list):
            if not isinstance(decorator, ast.Call) or last(decorator.func) not in _TABLES:
                continue
            said = [self.value(it) for it in decorator.args]
            bound = names
            if len(said) > 1 and last(decorator.func) == "parametrize":
                bound = [it.strip() for it in said[0].split(",")] if isinstance(said[0], str) else [*said[0]]
                del said[0]
            if not said or not isinstance(said[0], (list, tuple)) or not said[0]:
                continue
            is_whole = len(bound) == 1 and last(decorator.func) == "parametrize"
            rows = [case if isinstance(case, (list, tuple)) and not is_whole else [case] for case in said[0]]
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
            if follow is None:
                self.children(statement)
            else:
                follow(statement)

    # statements

    def _do_import(self, node: ast.Import) -> None:
        for it in node.names:
            name = it.name if it.asname else it.name.partition(".")[0]
            self._scope[it.asname or name] = sys.modules.get(name, UNREAD)

    def _do_importfrom(self, node: ast.ImportFrom) -> None:
        module = sys.modules.get(node.module or "") if not node.level else None
        for it in node.names:
            known = UNREAD if module is None else member(module, it.name)
            is_builder = known is UNREAD and it.name == self._name
            self._scope[it.asname or it.name] = self._cls if is_builder else known

    def _do_assign(self, node: ast.Assign | ast.AnnAssign) -> None:
        value = self.value(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target] if node.value else ():
            self._bind(target, value)

    _do_annassign = _do_assign

    def _do_augassign(self, node: ast.AugAssign) -> None:
        self._bind(node.target, self.value(ast.BinOp(node.target, node.op, node.value)))

    def _do_return(self, node: ast.Return) -> None:
        value = self.value(node.value)
        if self._depth:
            raise Returned(value)

    def _do_for(self, node: ast.For) -> None:
        for item in self._items(node.iter):
            self._bind(node.target, item)
            self.run(node.body)

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
            self._is_refused = self._is_refused or last(called) in _REFUSES
            if last(called) not in _REFUSES:
                self.value(expression)
        try:
            self.run(node.body)
        finally:
            self._is_refused = before

    def _do_try(self, node: ast.Try) -> None:
        imports = [it for it in node.body if isinstance(it, (ast.Import, ast.ImportFrom))]
        names = [it.names[0].name if isinstance(it, ast.Import) else it.module or "" for it in imports]
        tops = [name.partition(".")[0] for name in names if name]
        if all(top in sys.modules or answer(partial(importlib.util.find_spec, top), None) is not None for top in tops):
            self.run([*node.body, *node.orelse])
        else:
            self.run(statement for handler in node.handlers[:1] for statement in handler.body)
        self.run(node.finalbody)

    def _do_functiondef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._scope[node.name] = Function(node, self._scope)
        if self._depth:
            self._inner[id(node)] = self._scope[node.name]
        else:
            self._later.append((self._scope[node.name], False))

    _do_asyncfunctiondef = _do_functiondef

    def _do_classdef(self, node: ast.ClassDef) -> None:
        is_of_class = any(self.value(base) is self._cls is not None for base in node.bases)
        outer, self._scope = self._scope, self._scope.new_child({"super": self._cls if is_of_class else UNREAD})
        count = len(self._later)
        try:
            self.run(node.body)
        finally:
            self._scope = outer
        methods = [(function, True) for function, _ in self._later[count:]]
        self._later[count:] = sorted(methods, key=lambda it: it[0].node.name != "setUp")
        outer[node.name] = self._known.get(node.name, UNREAD)
