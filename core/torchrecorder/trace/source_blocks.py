"""The parts of a source: what runs when it is imported, and the body of each function.

A recording that never called a function does not depend on its body. Comments, docstrings and layout do not count, nor
the annotations of local variables, which never run.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torchrecorder.trace.digests import text_digest

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SKIPPED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}
"""They follow from the rest of the tree, or do not hold code."""


@dataclass(slots=True)
class Blocks:
    skeleton: str
    """Digest of everything but the bodies of functions."""
    functions: dict[str, str] = field(default_factory=dict)
    """Digest of the body of each function by its qualified name; of all bodies, where a name is defined twice."""

    def ran(self, names: Iterable[str]) -> dict[str, str] | None:
        """The digests of functions that ran; None if the text does not show one of them.

        Args:
            names: As tracing gives them: one that ends with a dot is part of the text of what is named before it.
        """
        ran: set[str] = set()
        for name in names:
            function = name
            while name.endswith(".") and function and function not in self.functions:  # then the innermost around it
                function = function.rpartition(".")[0]
            ran.add(function)
        ran.discard("")  # the module itself
        return {name: self.functions[name] for name in sorted(ran)} if ran <= {*self.functions} else None


def read_blocks(source: bytes) -> Blocks | None:
    try:
        return _Writer().blocks(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Writer:
    """Writes a tree as text, with the bodies of functions put aside.

    `ast.dump` differs between versions of Python, and a cache made by one must serve another.
    """

    def __init__(self) -> None:
        self._bodies: dict[str, list[str]] = {}
        self._is_local = False
        """Whether the code that is being written is that of a function itself, where annotations do not run."""

    def blocks(self, module: ast.Module) -> Blocks:
        skeleton = text_digest(self._body(module.body, ""))
        return Blocks(skeleton, {name: text_digest("\n".join(texts)) for name, texts in self._bodies.items()})

    def _body(self, statements: Sequence[ast.stmt], prefix: str, *, is_local: bool = False) -> str:
        before, self._is_local = self._is_local, is_local
        text = "\n".join(self._any(statement, prefix) for statement in _without_docstring(statements))
        self._is_local = before
        return text

    def _any(self, value: object, prefix: str) -> str:
        if isinstance(value, _FUNCTIONS):
            name = prefix + value.name
            head = self._node(value, prefix, body="")
            self._bodies.setdefault(name, []).append(self._body(value.body, f"{name}.<locals>.", is_local=True))
            return head
        if isinstance(value, ast.ClassDef):
            return self._node(value, f"{prefix}{value.name}.", body=self._body(value.body, f"{prefix}{value.name}."))
        if isinstance(value, ast.Constant):
            # `hex` has no limit of digits; which characters `repr` escapes follows each version's Unicode tables.
            return hex(value.value) if type(value.value) is int else ascii(value.value)
        if isinstance(value, ast.AnnAssign) and self._is_local and value.value is not None:
            value = ast.Assign([value.target], value.value)
        if isinstance(value, ast.AST):
            return self._node(value, prefix)
        if isinstance(value, list):
            return f"[{','.join(self._any(item, prefix) for item in value)}]"
        return ascii(value)

    def _node(self, node: ast.AST, prefix: str, body: str | None = None) -> str:
        """The node with the fields that every version of Python has when they say something."""
        fields: list[str] = []
        for name in sorted(node._fields):
            value = getattr(node, name, None)
            if body is not None and name == "body":
                fields.append(f"body={{{body}}}")
            elif name not in _SKIPPED_FIELDS and value is not None and value != []:
                fields.append(f"{name}={self._any(value, prefix)}")
        return f"{type(node).__name__}({','.join(fields)})"


def _without_docstring(statements: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    match statements:
        case [ast.Expr(ast.Constant(str())), *code]:
            return code
    return statements
