"""Pictures of the gallery that a tuned number moves: `nox -s bench -- tuning NAME=VALUE` lists and shows them.

A name is one of any `tuning.py` of the core; `view.NAME` says in which, where two rooms have it. Several numbers can be
given at once. Pictures are drawn from the recordings of the gallery, each time in a process of its own, which sets the
numbers before anything else is imported. `sheet=FILE.html` says where they are put side by side.
"""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
CORE = Path(os.environ.get("CORE_TO_DRAW", ROOT / "core"))
"""The core whose numbers are tried; `bench/rule.py` names a copy."""
sys.path[:0] = [str(ROOT), str(CORE)]

from bench.picture_sheet import sheet  # noqa: E402

SHEET = ROOT / "tuning.html"


def main(arguments: Sequence[str]) -> int:
    """List the pictures that differ, and write them side by side."""
    given = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    file = Path(given.pop("sheet", SHEET))
    if not given:
        sys.exit("name a number and a value: nox -s bench -- tuning NAME=VALUE")
    numbers = {found: value for name, text in given.items() for found, value in [located(name, text)]}
    before, after = drawn({}), drawn(numbers)
    differing = [name for name in before if after[name] != before[name]]
    for name in differing:
        print(name)
    print(f"{len(differing)} of {len(before)} pictures differ")
    if differing:
        said = " ".join(arguments)
        pairs: dict[str, tuple[str, float, str]] = {}
        for name in differing:
            pairs |= {name: (*before[name], "as it is"), f"{name}-after": (*after[name], said)}
        file.write_text(sheet(pairs), encoding="utf-8")
        print(f"side by side in {file}")
    return 0


def rooms() -> dict[str, dict[str, object]]:
    """The tuned numbers of each `tuning.py`, by the name of its module."""
    found = {}
    for file in sorted(CORE.rglob("tuning.py")):
        module = ".".join(file.relative_to(CORE).with_suffix("").parts)
        found[module] = {name: value for name, value in vars(import_module(module)).items() if name.isupper()}
    return found


def located(name: str, text: str) -> tuple[str, Any]:
    """The module and name of a number, and the value that is to be tried.

    Raises:
        SystemExit: There is no such number, it is in two rooms, or the value is of another kind.
    """
    room, _, bare = name.rpartition(".")
    known = {
        f"{module}.{number}": value
        for module, of_room in rooms().items()
        for number, value in of_room.items()
        if not room or room in module.split(".")
    }
    found = [key for key in known if key.endswith(f".{bare}")]
    if len(found) != 1:
        near = get_close_matches(bare, {key.rpartition(".")[2] for key in known}, 3)
        more = (
            f"in {' and '.join(found)}; write ROOM.{bare}" if found else f"did you mean {', '.join(near) or 'another'}?"
        )
        sys.exit(f"{name} is {'' if found else 'no tuned number; '}{more}")
    (key,) = found
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = None
    if not _is_alike(value, known[key]):
        sys.exit(f"{name}={text}: it is {known[key]!r} now; write a value of that kind")
    return key, value


def _is_alike(value: object, usual: object) -> bool:
    numbers = (int, float)
    if isinstance(usual, tuple):
        return isinstance(value, tuple) and all(_is_alike(part, usual[0]) for part in value)
    return isinstance(value, numbers) if isinstance(usual, numbers) else type(value) is type(usual)


def drawn(numbers: Mapping[str, object]) -> dict[str, tuple[str, float]]:
    """The SVG and width of each picture of the gallery, drawn with other numbers."""
    command = [sys.executable, __file__, "draw", json.dumps({key: repr(value) for key, value in numbers.items()})]
    done = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    return {name: (svg, width) for name, (svg, width) in json.loads(done.stdout).items()}


def draw_gallery(numbers: Mapping[str, str]) -> None:
    """Print the pictures as JSON; in a process of its own, in which nothing has read the numbers yet."""
    import_module("torchrecorder")  # before the gallery puts the core of this checkout into the path
    for key, text in numbers.items():
        module, _, name = key.rpartition(".")
        setattr(import_module(module), name, ast.literal_eval(text))
    from docs.gallery.entries import PAGES
    from docs.gallery.run import LONGEST, RECORDINGS
    from torchrecorder.drawing.draw import DrawJob, draw
    from torchrecorder.drawing.model import Drawing
    from torchrecorder.engine import find_engine
    from torchrecorder.pipeline import Pipeline
    from torchrecorder.request import Settings, read_request

    entries = {entry.name: entry for _, group in PAGES.values() for entry in group}
    path = (str(ROOT / "docs" / "reference"), str(ROOT / "docs"))
    settings = Settings(ROOT / ".torchrecorder", path, committed=RECORDINGS, project=ROOT, python="/no/python")
    requests = {
        name: read_request(entry.target, {**entry.written(), "timeout": LONGEST}) for name, entry in entries.items()
    }
    outcomes = Pipeline(settings).run([*requests.values()])
    jobs = {
        name: DrawJob(outcome.diagram.graph, "0" * 12, request.drawing)
        for name, request in requests.items()
        if (outcome := outcomes[request]).diagram is not None
    }
    pictures = dict(zip(jobs, draw([*jobs.values()], find_engine()), strict=True))
    json.dump({name: (it.svg, it.width) for name, it in pictures.items() if isinstance(it, Drawing)}, sys.stdout)


if __name__ == "__main__":
    if sys.argv[1:2] == ["draw"]:
        draw_gallery(json.loads(sys.argv[2]))
    else:
        sys.exit(main(sys.argv[1:]))
