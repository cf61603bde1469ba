"""The parts of a source: what runs when it is imported, and the body of each function.

A recording that never called a function does not depend on its body. Comments, docstrings and layout do not count, nor
what cannot be observed: the order of imports that do nothing else, the words of a log, the names of local variables.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeGuard

from torchrecorder.trace.digests import text_digest

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SKIPPED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}
"""They follow from the rest of the tree, or do not hold code."""
_LABELS = ("__all__", "__version__", "__author__")
_QUIET = {
    *("__future__", "abc", "argparse", "collections", "contextlib", "copy", "dataclasses", "enum", "functools", "glob"),
    *("hashlib", "inspect", "io", "itertools", "json", "logging", "math", "numbers", "operator", "os", "pathlib"),
    *(
        "pickle",
        "random",
        "re",
        "shutil",
        "string",
        "sys",
        "tempfile",
        "textwrap",
        "time",
        "types",
        "typing",
        "warnings",
    ),
    *("weakref", "numpy", "torch", "typing_extensions"),
}
"""Importing them does nothing else, so it does not matter when; a fixed list, the same for all versions of Python."""
_BUILTINS = {
    *("bool", "bytes", "complex", "dict", "float", "frozenset", "int", "list", "object", "set", "str", "tuple")
}
_LOGS = ("debug", "info", "warning", "error", "exception", "critical", "log")
_READS_NAMES = re.compile(r"jit|script|locals|vars|dir|eval|exec|_getframe|currentframe|inspect|f_locals|varname")
"""What may see the names of local variables."""


@dataclass(slots=True)
class Blocks:
    skeleton: str
    """Digest of everything but the bodies of functions."""
    functions: dict[str, str] = field(default_factory=dict)
    """Digest of the body of each function by its qualified name; of all bodies, where a name is defined twice."""
    loose: str = ""
    """As `skeleton`, without what only those can observe that look for it: plain functions and labels."""
    plain: dict[str, str] = field(default_factory=dict)
    """Digest of the head of each plain function: of the module itself, defined once, with no decorator and defaults
    that are constants, so that defining it does nothing else."""

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

    def loose_digest(self, names: Sequence[str]) -> str | None:
        """The digest of what is loose, with the heads of those plain functions; None if one of them is not there."""
        if not {*names} <= {*self.plain}:
            return None
        return text_digest("\n".join([self.loose, *(f"{name} {self.plain[name]}" for name in sorted(names))]))


_LOOKS_AROUND = re.compile(
    rb"(?<![\w.])(?:dir|vars|globals|eval|exec)\s*\(|\bgetmembers\b|__dict__|__getattr__|\bimport\s*\*|\bsys\s*\.\s*modules"
    rb"|\bgetattr\s*\((?!\s*[\w.]+\s*,\s*[\"'])"
)
"""Code that may see what a module holds without saying its name."""
_LABEL = re.compile(rb"^__(?:all|version|author)__\s*(?::[^=\n]*)?=", re.MULTILINE)
_READS_LABEL = re.compile(rb"__(?:all|version|author)__")


def may_see(added: Collection[str], own: bytes, others: Sequence[bytes]) -> bool:
    """Whether sources may see that a module has other functions, labels, or another order of functions.

    Args:
        added: The functions that were not there before.
        own: The source of the module.
        others: Those of all others.
    """
    if any(_LOOKS_AROUND.search(text) or _READS_LABEL.search(_LABEL.sub(b"", text)) for text in (own, *others)):
        return True
    words = [re.compile(rb"\b%s\b" % re.escape(name.encode())) for name in added]
    return any(len(word.findall(own)) > 1 or any(map(word.search, others)) for word in words)


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
        self._loggers: set[str] = set()
        self._may_rename = True
        self._renamed: dict[str, str] | None = None
        """What local variables of the function that is being written are called; None in all else."""
        self._local: set[str] = set()

    def blocks(self, module: ast.Module) -> Blocks:
        words = {*_words(module)}
        self._loggers = _loggers(module)
        self._may_rename = not any(map(_READS_NAMES.fullmatch, words))
        code = _sorted_imports(_without_docstring(module.body))
        candidates = _plain(code)
        rows: list[str] = []
        loose: list[str] = []
        plain: dict[str, str] = {}
        for statement in code:
            rows.append(self._any(statement, ""))
            if isinstance(statement, _FUNCTIONS) and statement.name in candidates:
                plain[statement.name] = text_digest(rows[-1])
            elif not _is_label(statement):
                loose.append(rows[-1])
        functions = {name: text_digest("\n".join(texts)) for name, texts in self._bodies.items()}
        return Blocks(text_digest("\n".join(rows)), functions, text_digest("\n".join(loose)), plain)

    def _body(self, statements: Sequence[ast.stmt], prefix: str) -> str:
        return "\n".join(self._any(statement, prefix) for statement in _without_docstring(statements))

    def _any(self, value: object, prefix: str) -> str:
        if isinstance(value, _FUNCTIONS):
            return self._function(value, prefix)
        if isinstance(value, ast.ClassDef):
            return self._node(value, f"{prefix}{value.name}.", body=self._body(value.body, f"{prefix}{value.name}."))
        if isinstance(value, ast.Constant):
            # `hex` has no limit of digits; which characters `repr` escapes follows each version's Unicode tables.
            return hex(value.value) if type(value.value) is int else ascii(value.value)
        if isinstance(value, ast.Name) and self._renamed is not None and value.id in self._local:
            return f"Name({self._renamed.setdefault(value.id, f'local {len(self._renamed)}')})"
        if isinstance(value, ast.Expr) and self._is_log(value.value):
            value = ast.Expr(_unworded(value.value))
        if isinstance(value, ast.AST):
            return self._node(value, prefix)
        if isinstance(value, list):
            return f"[{','.join(self._any(item, prefix) for item in value)}]"
        return ascii(value)

    def _function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, prefix: str) -> str:
        name = prefix + node.name
        head = self._node(node, prefix, body="")
        before = self._renamed, self._local
        self._local = _locals(node) if self._may_rename else set()
        self._renamed = {}
        self._bodies.setdefault(name, []).append(self._body(node.body, f"{name}.<locals>."))
        self._renamed, self._local = before
        return head

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

    def _is_log(self, call: ast.expr) -> TypeGuard[ast.Call]:
        match call:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)):
                return name in self._loggers and method in _LOGS
        return False


def _unworded(call: ast.Call) -> ast.Call:
    """The call without the words of its texts, but with what is put into them."""
    arguments: list[ast.expr] = []
    for argument in call.args:
        match argument:
            case ast.Constant(str()):
                arguments.append(ast.Constant(""))
            case ast.JoinedStr():
                arguments.append(ast.JoinedStr([it for it in argument.values if not isinstance(it, ast.Constant)]))
            case _:
                arguments.append(argument)
    return ast.Call(call.func, arguments, call.keywords)


def _without_docstring(statements: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    match statements:
        case [ast.Expr(ast.Constant(str())), *code]:
            return code
    return statements


def _sorted_imports(code: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The code with quiet imports sorted, in front of the others that they stand among."""
    done: list[ast.stmt] = []
    run: list[ast.Import | ast.ImportFrom] = []
    for statement in [*code, ast.Pass()]:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            run.append(statement)
            continue
        bound = [alias.asname or alias.name.partition(".")[0] for one in run for alias in one.names]
        if "*" not in bound and len({*bound}) == len(bound):
            run.sort(key=lambda one: ast.unparse(one) if _is_quiet(one) else "~")  # stable for those that are not
        done += [*run, statement]
        run = []
    return done[:-1]


def _is_quiet(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return not statement.level and (statement.module or "").partition(".")[0] in _QUIET
    return isinstance(statement, ast.Import) and all(it.name.partition(".")[0] in _QUIET for it in statement.names)


def _plain(code: Sequence[ast.stmt]) -> set[str]:
    """The names of functions of the module itself whose definition does nothing else, wherever it stands."""
    imported = [alias for it in code if isinstance(it, (ast.Import, ast.ImportFrom)) for alias in it.names]
    known = {*_BUILTINS, *(alias.asname or alias.name.partition(".")[0] for alias in imported)}
    named = [it.name for it in code if isinstance(it, (*_FUNCTIONS, ast.ClassDef))]
    found = {it.name for it in code if _is_simple(it, known) and named.count(it.name) == 1}
    others = (it for it in code if not isinstance(it, _FUNCTIONS) or it.name not in found)
    return found.difference(name for statement in others for name in _eager(statement))


def _is_simple(statement: ast.stmt, known: Collection[str]) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Whether it is a function without decorators, with defaults that are constants, and annotated by known names."""
    if not isinstance(statement, _FUNCTIONS) or statement.decorator_list or statement.name.startswith("__"):
        return False
    given = statement.args
    defaults = [default for default in (*given.defaults, *given.kw_defaults) if default is not None]
    head = [statement.returns or ast.Constant(None), *(one for one in ast.walk(given) if isinstance(one, ast.arg))]
    names = {part.id for one in head for part in ast.walk(one) if isinstance(part, ast.Name)}
    return all(isinstance(it, ast.Constant) for it in defaults) and names <= {*known}


def _eager(node: ast.AST) -> Iterator[str]:
    """The names that are looked up while the module is imported."""
    if isinstance(node, ast.Name):
        yield node.id
    body = node.body if isinstance(node, _FUNCTIONS) else []
    for child in ast.iter_child_nodes(node):
        if child not in body:
            yield from _eager(child)


def _is_label(statement: ast.stmt) -> bool:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value) if name in _LABELS:
            return all(isinstance(part, ast.Constant | ast.List | ast.Tuple | ast.Load) for part in ast.walk(value))
    return False


def _loggers(module: ast.Module) -> set[str]:
    """The names that stand for a logger of Python's everywhere in a module: bound once, at its top."""
    found = {alias.asname or alias.name for it in module.body if isinstance(it, ast.Import) for alias in it.names}
    found &= {"logging"}
    for statement in module.body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id=name)],
                value=ast.Call(func=ast.Attribute(value=ast.Name(id="logging"), attr="getLogger")),
            ):
                found.add(name)
    bound = [node.id for node in ast.walk(module) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    bound += [node.arg for node in ast.walk(module) if isinstance(node, ast.arg)]
    return {name for name in found if bound.count(name) <= (name != "logging")}


def _words(module: ast.Module) -> Iterator[str]:
    for node in ast.walk(module):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield from node.name.split(".")


def _locals(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The variables of a function whose names nothing can see: no text has them as a word, no inner scope uses them.

    A condition does show its names: the line is kept, as a decision of the model.
    """
    stored: set[str] = set()
    seen = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    pending: list[ast.AST] = [*_without_docstring(function.body)]
    scopes = (*_FUNCTIONS, ast.ClassDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            stored.add(node.id)
        elif isinstance(node, scopes):
            seen.update(_names(node))
            continue
        elif isinstance(node, ast.Global | ast.Nonlocal):
            seen.update(node.names)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            seen.update(re.findall(r"\w+", node.value))
        elif isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
            seen.update(_names(node.test))
        elif isinstance(node, ast.ExceptHandler | ast.Import | ast.ImportFrom | ast.Match):
            seen.update(_names(node))
        pending += ast.iter_child_nodes(node)
    return stored - seen


def _names(node: ast.AST) -> Iterator[str]:
    """All that may be a name in a part of a tree."""
    texts = {id(part.value) for part in ast.walk(node) if isinstance(part, ast.Expr)}  # docstrings
    for part in ast.walk(node):
        if id(part) in texts and isinstance(part, ast.Constant):
            continue
        for _, value in ast.iter_fields(part):
            if isinstance(value, str):
                yield from re.findall(r"\w+", value)
