"""How simple the house is, in figures beside their goals: `nox -s bench -- house`.

From syntax trees, and from a profile of builds with Sphinx. `python bench/house.py CHECKOUT` measures another checkout,
also an older one; `python bench/house.py FOLDER PACKAGE …` what the trees of other packages say. `names` among the
arguments lists what is counted, `docstrings` the sample to judge. What is counted, and where:

- The source is all Python of the core and of both front ends; lines are physical lines.
- What a page enters is told in `house_build.py`: cold with nothing made before, warm where nothing has changed for two
  builds.
- An option is declared by a class or a public function that has three options among its fields or parameters, and by
  a table of calls. Options are those of the reference. What stands in one place, besides where it acts, is a 1.
- A reader of pictures is a file of a room of pictures in which a tag of markup is looked for, or XML is parsed. One of
  them checks pictures of caches that are not trusted.
- A number without a reason is one at module level, alone or in a tuple of numbers, that neither a docstring below nor a
  comment beside or above explains.
- A module is imported by exactly one other if one imports it at run time; imports inside functions are left out.
- A private function has one caller if its name is used once in the file that defines it.
- Annotations are those of parameters and results; one counts as `Any` if the word is in it.
- The length of a function is its lines of code, without docstring, comments and empty lines, with its inner functions.
- A cycle is a group of modules that import one another, directly or not; imports inside functions are left out.
- A docstring begins with a clause if its first word does (what, which, where, how, …). Whether a noun is the right one
  is for readers to say: `docstrings` prints 60, drawn by a seed.
"""

from __future__ import annotations

import random
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.figures import Figure, show
from bench.house_build import PACKAGES, measured
from bench.house_source import (
    Source,
    cycles,
    declarations,
    first_lines,
    imported_once,
    imports,
    is_clause,
    lengths,
    numbers_without_reason,
    private_functions_with_one_caller,
    readers_of_pictures,
    share_of_any,
)

LONG = 40
"""Lines of code that a function may have."""
SEED = 3
"""That of the sample of docstrings."""
WORDS = ("names", "docstrings")


def main() -> None:
    """Print the table for this checkout, or for the one that is named."""
    words = {word for word in sys.argv[1:] if word in WORDS}
    given = [argument for argument in sys.argv[1:] if argument not in WORDS]
    root = Path(given[0] if given else Path(__file__).parents[1]).resolve()
    packages = given[1:] or PACKAGES
    sources = [Source.read(root, file) for package in packages for file in sorted((root / package).rglob("*.py"))]
    show(line for line in rows(root, sources, is_ours=not given[1:]) if "names" in words or isinstance(line, Figure))
    if "docstrings" in words:
        sample = random.Random(SEED).sample(first_lines(sources), 60)
        print(*(f"{place}: {line}" for place, line in sample), sep="\n")


def rows(root: Path, sources: list[Source], *, is_ours: bool) -> Iterator[Figure | str]:
    """The figures, each beside its goal, with the names of what is counted."""
    yield Figure("files", len(sources), goal=245)
    folder, most = Counter(source.path.parent.as_posix() for source in sources).most_common(1)[0]
    yield Figure(f"files in the largest folder, {folder}", most, goal=20)
    yield Figure("lines", sum(len(source.text.splitlines()) for source in sources), goal=41_000)
    if is_ours:
        yield from _builds(root)
        yield from _declared(root, sources)
        yield from _listed("files that read a picture of ours", _readers(sources), 0)
    yield from _listed("numbers without a reason", (it for s in sources for it in numbers_without_reason(s)), 0)
    yield from _listed("modules imported by exactly one other", imported_once(sources), 55)
    yield from _functions(sources)
    yield from _cycles(sources)
    lines = [line for _, line in first_lines(sources)]
    share = sum(map(is_clause, lines)) / len(lines)
    yield Figure(f"docstrings that begin with a clause, of {len(lines)}", 100 * share, "%", 5)


def _listed(title: str, names: Iterable[str], goal: float) -> Iterator[Figure | str]:
    listed = [*names]
    yield Figure(title, len(listed), goal=goal)
    yield from (f"    {name}" for name in listed)


def _builds(root: Path) -> Iterator[Figure | str]:
    cold, warm = measured(root)
    yield Figure("files entered by a net of two layers, in all processes", len(cold.files), goal=110)
    yield Figure("functions entered", len(cold.functions), goal=800)
    yield Figure("files entered in the process of Sphinx alone", len(cold.in_sphinx), goal=70)
    yield Figure("the same where nothing changed", len(warm.in_sphinx), goal=20)
    yield from _listed("classes that cross the border of a room", sorted(cold.carriers), 15)


def _declared(root: Path, sources: list[Source]) -> Iterator[Figure | str]:
    page = (root / "docs" / "reference" / "options.md").read_text(encoding="utf-8")
    drawn = set(re.findall(r"(?m)^\| `(\w+)`", page.partition("## How it is drawn")[2].partition("\n## ")[0]))
    places = declarations(sources, drawn)
    mean = sum(map(len, places.values())) / len(places)
    yield Figure(f"places that declare a drawing option, mean of {len(places)}", mean, goal=1)
    yield from (f"    {name}: {', '.join(where)}" for name, where in places.items())


def _readers(sources: list[Source]) -> Iterator[str]:
    for source in sources:
        if lines := readers_of_pictures(source):
            yield f"{source.path}:{', '.join(map(str, lines))}"


def _functions(sources: list[Source]) -> Iterator[Figure | str]:
    functions = sum(len(source.functions) for source in sources)
    single = sum(map(private_functions_with_one_caller, sources))
    yield Figure(f"private functions with one caller, of {functions}", 100 * single / functions, "%", 20)
    house = share_of_any([source for source in sources if not source.is_port])
    ports = share_of_any([source for source in sources if source.is_port])
    yield Figure("annotations with Any, outside of the ports", 100 * house, "%", 8)
    yield Figure("annotations with Any, in the ports", 100 * ports, "%")
    long = [f"{s.module}.{name}" for s in sources for name, length in lengths(s) if length > LONG]
    yield from _listed(f"functions over {LONG} lines", long, 0)


def _cycles(sources: list[Source]) -> Iterator[Figure | str]:
    for title, with_types in (("at run time", False), ("for types", True)):
        groups = cycles(imports(sources, with_type_checking=with_types))
        yield from _listed(f"cycles of imports {title}", (" + ".join(sorted(group)) for group in groups), 0)


if __name__ == "__main__":
    main()
