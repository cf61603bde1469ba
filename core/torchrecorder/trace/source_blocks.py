"""The digests of a module's parts: what runs when it is imported, and the body of each function.

A recording that never called a function does not depend on its body. Comments, docstrings and layout do not count. The
digests are equal on every Python version, so that a cache made by one can be used by another; `ast.dump` differs
between versions, so the tree is written out here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from torchrecorder.trace.digest import text_digest

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SKIPPED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}
"""They follow from the rest of the tree, or hold what is no code."""


@dataclass(slots=True)
class Blocks:
    """The parts of one module."""

    skeleton: str
    """Digest of everything but the bodies of functions."""
    functions: dict[str, str] = field(default_factory=dict)
    """Digest of the body of each function by its qualified name; of all bodies, where a name is defined twice."""

    def ran(self, names: Iterable[str]) -> dict[str, str] | None:
        """The digests of functions that ran; None if the text does not show one of them.

        Args:
            names: As tracing gives them: one that ends with a dot is part of the text of what is named before it.
        """
        known = {name: self._around(name) if name.endswith(".") else name for name in names}
        if not {name for name in known.values() if name} <= set(self.functions):
            return None
        return {name: self.functions[name] for name in sorted(set(known.values())) if name}

    def _around(self, name: str) -> str:
        """The innermost function that holds the name; empty if that is the module."""
        while name and name not in self.functions:
            name = name.rpartition(".")[0]
        return name


def read_blocks(source: bytes) -> Blocks | None:
    """The parts of a module's source; None if this Python cannot parse it."""
    try:
        return _Writer().blocks(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Writer:
    """Writes a tree as text, with the bodies of functions put aside."""

    def __init__(self) -> None:
        self._bodies: dict[str, list[str]] = {}

    def blocks(self, module: ast.Module) -> Blocks:
        skeleton = self._body(module.body, "")
        functions = {name: text_digest("\n".join(texts)) for name, texts in self._bodies.items()}
        return Blocks(text_digest(skeleton), functions)

    def _body(self, statements: Sequence[ast.stmt], prefix: str) -> str:
        documented = bool(statements) and _is_text(statements[0])
        return "\n".join(self._any(statement, prefix) for statement in statements[documented:])

    def _any(self, value: object, prefix: str) -> str:
        if isinstance(value, _FUNCTIONS):
            return self._function(value, prefix)
        if isinstance(value, ast.ClassDef):
            return self._node(value, f"{prefix}{value.name}.", body=self._body(value.body, f"{prefix}{value.name}."))
        if isinstance(value, ast.Constant):
            return _constant(value.value)
        if isinstance(value, ast.AST):
            return self._node(value, prefix)
        if isinstance(value, list):
            return f"[{','.join(self._any(item, prefix) for item in value)}]"
        return ascii(value)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str) -> str:
        name = prefix + node.name
        self._bodies.setdefault(name, []).append(self._body(node.body, f"{name}.<locals>."))
        return self._node(node, prefix, body="")

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


def _is_text(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _constant(value: object) -> str:
    """ASCII, because which characters `repr` escapes follows each version's Unicode tables."""
    if type(value) is int:
        return hex(value)  # has no limit of digits
    return ascii(value)
