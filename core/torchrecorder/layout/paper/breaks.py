"""Words in several lines, where a column is narrow."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, groupby, pairwise
from operator import itemgetter

from torchrecorder.layout import tuning
from torchrecorder.layout.model import PARTS
from torchrecorder.layout.widths import width

_CAMEL = r"(?<=[a-z])(?=[A-Z])|(?<=\d)(?=[A-Z][a-z])|(?<=\dD)(?=[A-Z])"
"""Where a word begins in CamelCase; `2D` stays whole."""
_IN_NAMES = re.compile(_CAMEL + r"|(?<=[._])(?=\w\w)|(?<= )(?=\w\w\w|×)")
"""Where a name may go on in the next line: in CamelCase, behind a dot or a line below, before `×6`."""
_IN_TAGS = re.compile(_CAMEL + r"|(?<=\.)(?=\w\w)|(?<= )(?=\w\w\w|×)")
"""Where the name of what is drawn elsewhere may, since a reader looks for it there: not behind a line below."""
_IN_FACTS = re.compile(r"(?<=[/,…] )(?![^\[]*\])|(?<=[\w)\]] )(?=[a-z(A-Z]{3}|×|\d[\d ×.]*→)")
"""Where facts may: behind a comma or a slash of a list but of an index, before a word or the sizes of a layer."""
_MOST_ATOMS = 12  # pieces of a text that is broken in the best of all ways: a limit of time
Atom = tuple[int, str]
Line = list[str]


def in_names(parts: Sequence[str]) -> list[Atom]:
    """The pieces of a title, each with the number of its part; what is short stays whole."""
    return _atoms(parts, _IN_NAMES)


def in_facts(text: str, most: float, size: float) -> list[str]:
    """The fewest lines of facts none of which is longer than that, if there is such a way."""
    return _fewest(_atoms(text.split(PARTS), _IN_FACTS), most, size)


def in_lines(name: str, most: float, size: float) -> list[str]:
    """Likewise the lines of the name of what is drawn elsewhere."""
    return _fewest(_atoms([name], _IN_TAGS, most), most, size)


def _fewest(atoms: Sequence[Atom], most: float, size: float) -> list[str]:
    ways = (even(atoms, n, lambda line: width(PARTS.join(line), size)) for n in range(1, tuning.TITLE_LINES + 1))
    lines = [[PARTS.join(line) for line in way] for way in ways]
    return min(lines, key=lambda lines: max(most, *(width(line, size) for line in lines)))


def even(atoms: Sequence[Atom], n: int, length: Callable[[Line], float]) -> list[Line]:
    """So many lines at most, the longest of them as short as it can be."""
    ways = []
    for cuts in combinations(range(1, len(atoms)), min(n, len(atoms)) - 1):
        lines = [[*_merged(atoms[a:b])] for a, b in pairwise([0, *cuts, len(atoms)])]
        broken = sum(atoms[cut - 1][0] == atoms[cut][0] for cut in cuts)
        ways.append((max(map(length, lines)) + tuning.BROKEN_COSTS * broken, lines))
    return min(ways, key=itemgetter(0))[1] if ways else []


def _atoms(parts: Sequence[str], at: re.Pattern[str], most: float = tuning.BREAKS_FROM) -> list[Atom]:
    atoms: list[Atom] = []
    for i, part in enumerate(parts):
        pieces = at.split(part) if width(part, tuning.SIZE) > most else [part]
        for k, piece in enumerate(pieces):
            if k and width(atoms[-1][1], tuning.SIZE) < tuning.LEAST_PIECE:
                atoms[-1] = i, atoms[-1][1] + piece
            else:
                atoms.append((i, piece))
    return atoms if len(atoms) <= _MOST_ATOMS else [*enumerate(parts)]


def _merged(atoms: Sequence[Atom]) -> Iterator[str]:
    """The pieces of a line by part."""
    for _, group in groupby(atoms, itemgetter(0)):
        yield "".join(text for _, text in group).strip()
