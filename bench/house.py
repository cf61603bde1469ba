"""How simple the house is, in figures beside their goals: `nox -s bench -- house`.

From syntax trees, and from a profile of two builds with Sphinx. `python bench/house.py CHECKOUT` measures another
checkout, also an older one. What is counted, and where:

- The source is all Python of the core and of both front ends; lines are physical lines.
- A function is entered if it is called in the Sphinx process while a page with a net of two layers is built: cold with
  nothing made before, warm where nothing has changed for two builds. What runs while one of our modules is imported
  (decorators, class bodies) is not counted.
- A private function has one caller if its name is used once in the file that defines it.
- Annotations are those of parameters and results; one counts as `Any` if the word is in it.
- The length of a function is its lines of code, without docstring, comments and empty lines, with its inner functions.
- A cycle is a group of modules that import one another, directly or not; imports inside functions are left out.

Commit 666badf, which the goals were set for, gives 274 / 34, 26,463 lines, 97 / 36, 32.5 % (648 of 1,996 functions),
10.0 % (13.6 % with the ports, the survey's 13 %) and 0 / 0 / 4. The survey of then has 26,460 lines, rounded, and
108 / 32 files entered: its page, and whether it counted what runs in imports, is not written down.
"""

from __future__ import annotations

import ast
import io
import json
import subprocess
import sys
import tempfile
import threading
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import Figure, show

PACKAGES = ("core/torchrecorder", "sphinx_torchrecorder", "mkdocs_torchrecorder")
PORTS = (
    *("classic", "helpers.py", "nodes.py", "recorder.py", "scio", "torchfunc", "torchview"),
    *(f"renderer/{name}.py" for name in ("__init__", "base", "classic", "digraph", "gv")),
)
LONG = 40
"""Lines of code that a function may have."""
NET = """from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 8)
        self.second = nn.Linear(8, 2)

    def forward(self, x):
        return self.second(self.first(x))
"""


def main() -> None:
    """Print the table for this checkout, or for the one that is named."""
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[1]).resolve()
    sources = [Source.read(root, file) for package in PACKAGES for file in sorted((root / package).rglob("*.py"))]
    show(rows(root, sources))


@dataclass(frozen=True, slots=True)
class Source:
    """A file of ours."""

    path: Path
    """From the root of the checkout."""
    module: str
    text: str
    tree: ast.Module

    @staticmethod
    def read(root: Path, file: Path) -> Source:
        """Read and parse it."""
        path = file.relative_to(root)
        parts = path.with_suffix("").parts[path.parts[0] == "core" :]
        text = file.read_text(encoding="utf-8")
        return Source(path, ".".join(parts).removesuffix(".__init__"), text, ast.parse(text))

    @property
    def is_port(self) -> bool:
        """Whether it belongs to one of the four ports."""
        return self.path.as_posix().removeprefix("core/torchrecorder/").startswith(PORTS)

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        """All functions and methods, inner ones too."""
        return (node for node in ast.walk(self.tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def rows(root: Path, sources: list[Source]) -> Iterator[Figure | str]:
    """The figures, each beside its goal."""
    folder, most = Counter(source.path.parent.as_posix() for source in sources).most_common(1)[0]
    yield Figure("files", len(sources), goal=170)
    yield Figure(f"files in the largest folder, {folder}", most, goal=20)
    yield Figure("lines", sum(len(source.text.splitlines()) for source in sources), goal=22_500)

    cold, warm = (len(entered) for entered in _entered(root))
    yield Figure("files entered by a net of two layers in Sphinx, cold", cold, goal=70)
    yield Figure("the same where nothing changed", warm, goal=20)

    functions = sum(1 for source in sources for _ in source.functions())
    single = sum(map(_private_functions_with_one_caller, sources))
    yield Figure(f"private functions with one caller, of {functions}", 100 * single / functions, "%", 20)

    house = _share_of_any([source for source in sources if not source.is_port])
    ports = _share_of_any([source for source in sources if source.is_port])
    yield Figure("annotations with Any, outside of the ports", 100 * house, "%", 8)
    yield Figure("annotations with Any, in the ports", 100 * ports, "%")

    long = [f"{s.module}.{name}" for s in sources for name, length in _lengths(s) if length > LONG]
    at_run_time = _cycles(_imports(sources, with_type_checking=False))
    with_types = _cycles(_imports(sources, with_type_checking=True))
    yield Figure(f"functions over {LONG} lines", len(long), goal=0)
    yield from (f"    {name}" for name in long)
    yield Figure("cycles of imports at run time", len(at_run_time), goal=0)
    yield Figure("cycles of imports for types", len(with_types), goal=0)
    yield from (f"    {' + '.join(sorted(cycle))}" for cycle in with_types)


def _private_functions_with_one_caller(source: Source) -> int:
    uses = Counter[str]()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Name):
            uses[node.id] += 1
        elif isinstance(node, ast.Attribute):
            uses[node.attr] += 1
    names = [function.name for function in source.functions()]
    return sum(1 for name in names if name.startswith("_") and not name.startswith("__") and uses[name] == 1)


def _share_of_any(sources: list[Source]) -> float:
    annotations = [annotation for source in sources for annotation in _annotations(source)]
    those = sum(1 for annotation in annotations if "Any" in _words(annotation))
    return those / len(annotations)


def _annotations(source: Source) -> Iterator[ast.expr]:
    for function in source.functions():
        given = function.args
        parameters = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        yield from (p.annotation for p in parameters if p is not None and p.annotation is not None)
        if function.returns is not None:
            yield function.returns


def _words(annotation: ast.expr) -> set[str]:
    names = {node.id for node in ast.walk(annotation) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(annotation) if isinstance(node, ast.Attribute)}


def _lengths(source: Source) -> Iterator[tuple[str, int]]:
    """Each function's name and its lines of code."""
    code: set[int] = set()
    blank = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type not in blank:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    for function in source.functions():
        lines = range(function.lineno, (function.end_lineno or function.lineno) + 1)
        yield function.name, len(code.intersection(lines))


def _imports(sources: list[Source], *, with_type_checking: bool) -> dict[str, set[str]]:
    """The modules of ours that each module imports."""
    modules = {source.module for source in sources}
    return {source.module: set(_imported(source.tree.body, modules, with_type_checking)) for source in sources}


def _imported(body: list[ast.stmt], modules: set[str], with_type_checking: bool) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom):
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            yield from {name if name in modules else f"{node.module}" for name in full if f"{node.module}" in modules}
        elif isinstance(node, ast.If):
            if with_type_checking or "TYPE_CHECKING" not in ast.unparse(node.test):
                yield from _imported(node.body, modules, with_type_checking)
            yield from _imported(node.orelse, modules, with_type_checking)
        elif isinstance(node, ast.Try):
            yield from _imported(node.body, modules, with_type_checking)


def _cycles(imports: Mapping[str, set[str]]) -> list[set[str]]:
    """The groups of modules that reach one another."""
    reached = {module: _reached(imports, module) for module in imports}
    groups = {frozenset(other for other in seen if module in reached[other]) for module, seen in reached.items()}
    return sorted((set(group) for group in groups if len(group) > 1), key=sorted)


def _reached(imports: Mapping[str, set[str]], module: str) -> set[str]:
    seen: set[str] = set()
    waiting = [*imports[module]]
    while waiting:
        if (name := waiting.pop()) not in seen:
            seen.add(name)
            waiting += imports[name]
    return seen


def _entered(root: Path) -> tuple[list[str], list[str]]:
    """The files of ours that a first build enters, and one where nothing changed."""
    with tempfile.TemporaryDirectory(prefix="torchrecorder-bench-") as folder:
        project = Path(folder)
        (project / "docs").mkdir()
        (project / "two_layers.py").write_text(NET, encoding="utf-8")
        settings = 'extensions = ["sphinx_torchrecorder"]\ntorchrecorder_path = [".."]\n'
        (project / "docs" / "conf.py").write_text(settings, encoding="utf-8")
        (project / "docs" / "index.rst").write_text("Net\n===\n\n.. torchrecorder:: two_layers.Net\n", encoding="utf-8")
        command = [sys.executable, __file__, "--profile", str(root), folder]
        done = [subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout for _ in range(3)]
        return json.loads(done[0]), json.loads(done[2])


def _profile(root: Path, project: Path) -> list[str]:
    """Build the project in this process; gives the files of ours that a function was called of."""
    sys.path[:0] = [str(root / "core"), str(root)]
    from sphinx.cmd.build import main as sphinx_build

    packages = tuple(str(root / package) for package in PACKAGES)
    files: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(packages) and not _is_imported(frame, packages):
            files.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    status = sphinx_build(["-q", "-W", "-b", "html", str(project / "docs"), str(project / "out")])
    sys.setprofile(None)
    assert status == 0
    return sorted(files)


def _is_imported(frame: FrameType | None, packages: tuple[str, ...]) -> bool:
    """Whether a frame runs because one of our modules is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and frame.f_code.co_filename.startswith(packages):
            return True
        frame = frame.f_back
    return False


if __name__ == "__main__":
    if sys.argv[1:2] == ["--profile"]:
        print(json.dumps(_profile(Path(sys.argv[2]), Path(sys.argv[3]))))
    else:
        main()
