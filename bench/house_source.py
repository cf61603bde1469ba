"""Figures from the syntax trees of a checkout: `bench/house.py` prints them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from pathlib import Path

PORTS = (
    *("classic", "helpers.py", "nodes.py", "recorder.py", "scio", "torchfunc", "torchview"),
    *(f"renderer/{name}.py" for name in ("__init__", "base", "classic", "digraph", "gv")),
)
_CLAUSES = re.compile(
    r"(?:What|Which|Where|When|Who|Whose|How|Why|That|Those|These|It|They|One|As|If|Each that|All that|In|Of|For)\b"
)
"""First words of a docstring that begins with a clause where a noun should name the thing."""
_TAGS = re.compile(r"<(?:/?[a-z]+\b|\[|/)")
"""Text that is looked for in markup."""
_PICTURES = re.compile(r"(?:^|/)(?:drawing|layout|write|page|view)/")


@dataclass(frozen=True)
class Source:
    """A file of the source."""

    path: Path
    """From the root of the checkout."""
    module: str
    text: str
    tree: ast.Module

    @staticmethod
    def read(root: Path, file: Path) -> Source:
        """Read and parse it."""
        path = file.relative_to(root)
        parts = path.with_suffix("").parts[path.parts[0] in ("core", "src") :]
        text = file.read_text(encoding="utf-8")
        return Source(path, ".".join(parts).removesuffix(".__init__"), text, ast.parse(text))

    @property
    def is_port(self) -> bool:
        """Whether it belongs to one of the four ports."""
        return self.path.as_posix().removeprefix("core/torchrecorder/").startswith(PORTS)

    @cached_property
    def functions(self) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
        """All functions and methods, inner ones too."""
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]

    @cached_property
    def comments(self) -> set[int]:
        """The lines with a comment."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return {token.start[0] for token in tokens if token.type == tokenize.COMMENT}


def private_functions_with_one_caller(source: Source) -> int:
    """Number of private functions whose name is used once in their file."""
    uses = Counter[str]()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name):
            uses[node.id] += 1
        elif isinstance(node, ast.Attribute):
            uses[node.attr] += 1
    names = [function.name for function in source.functions]
    return sum(1 for name in names if name.startswith("_") and not name.startswith("__") and uses[name] == 1)


def share_of_any(sources: list[Source]) -> float:
    """Share of annotations with the word `Any` in them."""
    annotations = [annotation for source in sources for annotation in _annotations(source)]
    those = sum(1 for annotation in annotations if "Any" in _words(annotation))
    return those / len(annotations) if annotations else 0


def _annotations(source: Source) -> Iterator[ast.expr]:
    for function in source.functions:
        given = function.args
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        yield from (p.annotation for p in parameters if p is not None and p.annotation is not None)
        if function.returns is not None:
            yield function.returns


def _words(annotation: ast.expr) -> set[str]:
    names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(annotation) if isinstance(node, ast.Attribute)}


def lengths(source: Source) -> Iterator[tuple[str, int]]:
    """Each function's name and its lines of code."""
    code: set[int] = set()
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type not in blank:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for function in source.functions:
        lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
        yield function.name, len(code.intersection(lines))


def numbers_without_reason(source: Source) -> Iterator[str]:
    """Names of numbers at module level with neither a docstring nor a comment, each with its line.

    In a file `tuning.py`, and in classes of numbers, a field of a dataclass counts as well.
    """
    for body in (source.tree.body, *(node.body for node in source.tree.body if _has_numbers(source, node))):
        for node, behind in zip_longest(body, body[1:]):
            if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or not _is_number(node.value):
                continue
            has_docstring = isinstance(behind, ast.Expr) and isinstance(behind.value, ast.Constant)
            lines = range(node.lineno - 1, (node.end_lineno or node.lineno) + 1)
            if not has_docstring and not source.comments.intersection(lines):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                yield f"{source.path}:{node.lineno} {', '.join(map(ast.unparse, targets))}"


def _has_numbers(source: Source, node: ast.stmt) -> bool:
    return isinstance(node, ast.ClassDef) and source.path.stem == "tuning"


def _is_number(value: ast.expr) -> bool:
    """Whether a value is a number, or made of numbers alone."""
    match value:
        case ast.Constant(value=number):
            return isinstance(number, int | float) and not isinstance(number, bool)
        case ast.UnaryOp(operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
        case ast.Tuple(elts=elements) if elements:
            return all(map(_is_number, elements))
    return False


def readers_of_pictures(source: Source) -> list[int]:
    """Lines of a room of pictures in which markup is taken apart."""
    if not _PICTURES.search(source.path.as_posix()):
        return []
    return sorted(node.lineno for node in ast.walk(source.tree) if isinstance(node, ast.Call) and _takes_apart(node))


def _takes_apart(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("fromstring", "iterparse", "XML"):
        return True
    texts = [node.value for given in call.args for node in ast.walk(given) if isinstance(node, ast.Constant)]
    if name not in ("compile", "partition", "rpartition", "split", "index", "find", "search", "findall", "finditer"):
        return False
    return any(isinstance(text, str) and _TAGS.search(text) for text in texts)


def declarations(sources: list[Source], options: set[str]) -> dict[str, list[str]]:
    """For each option the places that declare it: classes and signatures that have three options or more, and tables.

    A table is a call of one name, `Option("grey", …)`, that is written for three options or more.
    """
    places: dict[str, set[str]] = {}
    for source in sources:
        tables: dict[str, set[str]] = {}
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                fields = [it.target.id for it in node.body if isinstance(it, ast.AnnAssign) and _is_name(it.target)]
                places[f"{source.module}.{node.name}"] = options & set(fields)
            elif isinstance(node, ast.FunctionDef) and not node.name.startswith("_"):
                given = [*node.args.args, *node.args.kwonlyargs]
                places[f"{source.module}.{node.name}()"] = options & {argument.arg for argument in given}
            elif isinstance(node, ast.Call) and (name := _first_text(node)) in options:
                tables.setdefault(ast.unparse(node.func), set()).add(name)
        places |= {f"{source.module}: {name}": names for name, names in tables.items()}
    kept = {place: names for place, names in places.items() if len(names) >= 3}
    return {option: sorted(place for place, names in kept.items() if option in names) for option in sorted(options)}


def _first_text(call: ast.Call) -> str:
    first = call.args[0] if call.args else None
    return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else ""


def _is_name(node: ast.expr) -> bool:
    return isinstance(node, ast.Name)


def first_lines(sources: list[Source]) -> list[tuple[str, str]]:
    """The first line of each docstring, with its place."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    of = [(s, node) for s in sources for node in ast.walk(s.tree) if isinstance(node, kinds)]
    texts = [(f"{s.path}:{node.lineno}", ast.get_docstring(node) or "") for s, node in of]
    return [(place, text.partition("\n")[0]) for place, text in texts if text]


def is_clause(line: str) -> bool:
    """Whether a first line begins with a clause and not with a noun or a verb."""
    return _CLAUSES.match(line) is not None


def imports(sources: list[Source], *, with_type_checking: bool) -> dict[str, set[str]]:
    """The modules of ours that each module imports."""
    modules = {source.module for source in sources}
    return {s.module: set(_imported(s.tree.body, modules, with_type_checking)) for s in sources}


def _imported(
    body: list[ast.stmt] | list[ast.Import | ast.ImportFrom], modules: set[str], types: bool
) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from {name if name in modules else f"{node.module}" for name in full if f"{node.module}" in modules}
        elif isinstance(node, ast.If):
            if types or "TYPE_CHECKING" not in ast.unparse(node.test):
                yield from _imported(node.body, modules, types)
            yield from _imported(node.orelse, modules, types)
        elif isinstance(node, ast.Try):
            yield from _imported(node.body, modules, types)


def imported_once(sources: list[Source]) -> list[str]:
    """The modules that exactly one other imports at run time."""
    edges = imports(sources, with_type_checking=False)
    count = Counter(name for module, names in edges.items() for name in names if name != module)
    return sorted(name for name, number in count.items() if number == 1)


def cycles(edges: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of modules that reach one another."""
    reached = {module: _reached(edges, module) for module in edges}
    groups = {frozenset(other for other in seen if module in reached[other]) for module, seen in reached.items()}
    return sorted((set(group) for group in groups if len(group) > 1), key=sorted)


def _reached(edges: Mapping[str, set[str]], module: str) -> set[str]:
    seen: set[str] = set()
    waiting = [*edges[module]]
    while waiting:
        if (name := waiting.pop()) not in seen:
            seen.add(name)
            waiting += edges[name]
    return seen
