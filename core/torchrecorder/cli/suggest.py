"""`torchrecorder suggest docs`: settings for the automatic diagrams of a library, to paste into its configuration."""

from __future__ import annotations

import argparse
import ast
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torchrecorder.cli.shared import Commands, add_command
from torchrecorder.errors import OptionError, listed
from torchrecorder.pipeline.collecting import configuration_of
from torchrecorder.request import RecordingRequest, Settings
from torchrecorder.trace.allowed import EVERYTHING
from torchrecorder.worker.client import Worker

_EXAMPLES = """\
examples:
  torchrecorder suggest docs                      # for the package of this folder
  torchrecorder suggest docs pkg --path src
  torchrecorder suggest docs --format mkdocs
"""
_MOST_LINES = 6  # patterns for one package: settings that are pasted should be read, too
_NO_PACKAGES = {"tests", "test", "docs", "doc", "examples", "benchmarks", "scripts", "tools"}
_TIMEOUT_S = 600.0  # seconds for the search in one package: each text of a project is read
_MOST_ARGUMENTS = 6
"""Arguments in a pattern: those that most classes need; what two of forty need would say little of the others."""
_LISTED = 3  # classes that the comment above a pattern names: it is one line


def add_to(commands: Commands) -> None:
    parser = add_command(
        commands,
        "suggest",
        run,
        help="print settings for the automatic diagrams of a library",
        description="Print patterns for the setting `autodoc`, with the arguments that most classes of a package want,"
        "\nas its documentation, tests and examples show them. The package is imported; no model is built.",
        epilog=_EXAMPLES,
    )
    parser.add_argument("what", choices=["docs"], help="settings of the documentation")
    help_ = "names of packages, or their folders (default: the package of this folder)"
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help=help_)
    help_ = "import models from here; may be repeated"
    parser.add_argument("--path", action="append", default=[], metavar="FOLDER", help=help_)
    help_ = "for conf.py of Sphinx, or for mkdocs.yml (default: what is there)"
    parser.add_argument("--format", choices=["sphinx", "mkdocs"], help=help_)


def run(arguments: argparse.Namespace) -> int:
    packages = _packages(arguments.packages)
    path = [".", *arguments.path, *dict.fromkeys(str(folder) for folder in packages.values())]
    settings = Settings.for_project(Path.cwd(), path=path, allow=[EVERYTHING])
    lines: dict[str, _Suggestion] = {}
    with Worker.of(settings) as worker:
        for package in packages:
            answer = worker.record(RecordingRequest(f"{package}.*", is_common=True), timeout_s=_TIMEOUT_S)
            if answer.error is not None:
                raise answer.error
            lines |= suggestions({name: ClassWants(**json.loads(text)) for name, text in (answer.names or {}).items()})
    found = [file.name for docs in ("docs", "doc", ".") if (file := configuration_of(Path(docs))) is not None]
    tool = arguments.format or ("mkdocs" if found and "conf.py" not in found else "sphinx")
    write = _mkdocs if tool == "mkdocs" else _sphinx
    print("\n".join(write(lines)))
    return 0


def _packages(given: Sequence[str]) -> dict[str, Path]:
    """The folders to import packages from, by their names; those of the project here if none is named."""
    if not given:
        here = [file.parent for base in (".", "src") for file in sorted(Path(base).glob("*/__init__.py"))]
        given = [str(folder) for folder in here if folder.name.isidentifier() and folder.name not in _NO_PACKAGES]
        if not given:
            raise OptionError(("there is no package in this folder or in src: name one, as in `suggest docs pkg`",))
    folders = {name: Path(name) for name in given}
    return {it.name if it.is_dir() else name: it.parent if it.is_dir() else Path() for name, it in folders.items()}


@dataclass(frozen=True, slots=True)
class ClassWants:
    """Facts of one class, as `recording.matching.wants` finds them."""

    kind: str
    needs: Sequence[str]
    arguments: Mapping[str, str]
    shape: str


@dataclass(frozen=True, slots=True)
class _Suggestion:
    """Options of a pattern, False where its classes get no picture, and the comment above it."""

    says: Mapping[str, Any] | bool
    why: str = ""


def suggestions(classes: Mapping[str, ClassWants]) -> dict[str, _Suggestion]:
    """Suggestions by pattern, in the order in which they are to be read; the most exact pattern wins."""
    models = {name: facts for name, facts in classes.items() if not facts.kind}
    trivial = {name: facts for name, facts in classes.items() if facts.kind}
    found: dict[str, _Suggestion] = {"*": _Suggestion(True, "what is worth a picture and can be built")}
    waiting = {name: facts for name, facts in models.items() if facts.needs}
    while len(found) <= _MOST_LINES and (best := _best(waiting)) is not None:
        pattern, says, covered = best
        found[pattern] = _Suggestion(says, f"{len(covered)} classes: {listed(covered, _LISTED)}")
        waiting = {name: facts for name, facts in waiting.items() if not name.startswith(pattern[:-1])}
    for pattern, names in _groups_of(trivial, models):
        if len(found) <= _MOST_LINES:
            kinds = Counter(trivial[name].kind.removeprefix("it is ") for name in names)
            found[pattern] = _Suggestion(False, f"{len(names)}, each {kinds.most_common(1)[0][0].partition(':')[0]}")
    return found


def _best(waiting: Mapping[str, ClassWants]) -> tuple[str, dict[str, Any], list[str]] | None:
    """The pattern with arguments for most classes that want some, and these; None if there is none for two."""
    best: tuple[tuple[int, int], str, dict[str, Any], list[str]] | None = None
    for prefix in sorted({name.rpartition(".")[0] for name in waiting}):
        inside = {name: facts for name, facts in waiting.items() if name.startswith(f"{prefix}.")}
        counted = Counter(each for facts in inside.values() for each in facts.needs)
        needed = {name for name, count in counted.most_common(_MOST_ARGUMENTS) if count > 1}
        for own in (facts.arguments for facts in inside.values() if facts.arguments):
            arguments = {name: text for name, text in own.items() if name in needed}
            arguments = {**_usual(inside.values(), needed), **arguments}
            covered = [name for name, facts in inside.items() if {*facts.needs} <= {*arguments}]
            score = len(covered), sum(name in arguments for name in own)
            if len(covered) > 1 and (best is None or score > best[0]):
                shapes = {inside[name].shape for name in covered} - {""}
                says: dict[str, Any] = {"arguments": ", ".join(f"{name}={text}" for name, text in arguments.items())}
                # with the shape, if all classes that show one are called with the same
                says |= {"shape": shapes.pop(), "quiet": True} if len(shapes) == 1 else {"quiet": True}
                best = score, f"{prefix}.*", says, covered
    return best and best[1:]


def _usual(classes: Any, needed: set[str]) -> dict[str, str]:
    """The text that most of some classes are given for each argument."""
    texts: dict[str, Counter[str]] = {}
    for facts in classes:
        for name, text in facts.arguments.items():
            if name in needed:
                texts.setdefault(name, Counter())[text] += 1
    return {name: counted.most_common(1)[0][0] for name, counted in texts.items()}


def _groups_of(trivial: Mapping[str, ClassWants], models: Mapping[str, ClassWants]) -> Iterator[tuple[str, list[str]]]:
    """Patterns under which no class has a picture, the widest, those with most classes first."""
    prefixes = {".".join(name.split(".")[:depth]) for name in trivial for depth in range(2, name.count(".") + 1)}
    free = [it for it in prefixes if not any(name.startswith(f"{it}.") for name in models)]
    widest = [it for it in free if not any(it.startswith(f"{other}.") for other in free)]
    groups = [(f"{it}.*", [name for name in trivial if name.startswith(f"{it}.")]) for it in widest]
    yield from sorted(groups, key=lambda group: (-len(group[1]), group[0]))


def _sphinx(lines: Mapping[str, _Suggestion]) -> Iterator[str]:
    yield "torchrecorder_autodoc = {"
    for pattern, line in lines.items():
        yield f"    # {line.why}"
        yield f"    {json.dumps(pattern)}: {_python(line.says)},"
    yield "}"


def _python(says: Mapping[str, Any] | bool) -> str:
    if isinstance(says, bool):
        return str(says)
    texts = {name: json.dumps(it, ensure_ascii=False) if isinstance(it, str) else str(it) for name, it in says.items()}
    assert all(ast.literal_eval(text) == says[name] for name, text in texts.items()), "JSON writes it as Python does"
    return "{" + ", ".join(f"{json.dumps(name)}: {text}" for name, text in texts.items()) + "}"


def _mkdocs(lines: Mapping[str, _Suggestion]) -> Iterator[str]:
    yield "plugins:\n  - torchrecorder:\n      autodoc:"
    for pattern, line in lines.items():
        yield f"        # {line.why}"
        yield f"        {json.dumps(pattern)}: {json.dumps(line.says, ensure_ascii=False)}"  # YAML reads JSON
