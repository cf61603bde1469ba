"""What pictures look like, in figures beside their goals: `nox -s bench -- pictures`.

A hundred real models at `depth: auto`, as a page shows them in a column of 720 px. What lies where is read from the
finished SVG by the check of `tests/core/drawing/looking.py`. Arguments, besides names of models:

- `graphs=FOLDER` takes recordings of other models, `NAME.json` each, as `bench/unseen.py record` writes them;
- `direction=LR` draws to the right, `room=345` for a column of so many px, as on a phone;
- `to=FILE.json` writes all figures, `against=FILE.json` compares with those of an earlier run;
- `svg=FOLDER` writes the pictures, `sheet=FILE.html` puts all on one page;
- `beside=FOLDER`, where torchview lies, compares bytes at full depth; `quick` leaves out times.
"""

from __future__ import annotations

import json
import re
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from math import prod
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "core")]

from bench.figures import Figure, hand_over  # noqa: E402
from bench.picture_graphs import KEPT, graphs, key  # noqa: E402
from bench.picture_sheet import sheet  # noqa: E402
from bench.picture_sizes import sizes  # noqa: E402
from tests.core.drawing import looking  # noqa: E402
from tests.core.drawing.engines import finish  # noqa: E402
from torchrecorder.drawing.draw import DrawJob, draw, views_of  # noqa: E402
from torchrecorder.drawing.model import Drawing  # noqa: E402
from torchrecorder.engine import find_engine  # noqa: E402
from torchrecorder.graph import Graph, from_json  # noqa: E402
from torchrecorder.request.requests import DrawingOptions  # noqa: E402
from torchrecorder.view.model import boxes_around  # noqa: E402
from torchrecorder.view.tree import call_tree  # noqa: E402

COLUMN, LEAST = 720.0, 0.6
"""Width of the column in px, and how small a picture is drawn before it scrolls instead."""
SMALL = 11.0
"""Px of a font that is hard to read."""
ORDINARY = 40
"""Nodes of a picture that people read; larger ones are left out of times."""
ROUNDS = 3
FEW = 6
"""Operations of a closed layer that its words can say."""
MOST = 15
"""Models that are named where a goal is missed."""
_NUMBER = re.compile(r"[\d.,–-]+( ×\d+)?")


@dataclass(frozen=True)
class Figures:
    """What is counted in a picture; lengths in px."""

    nodes: int
    width: float
    height: float
    """In the column."""
    font: float
    """Of the names of nodes, in the column."""
    titles: int
    behind_titles: int
    through_nodes: int
    words: int
    words_on_edges: int
    boxes: int
    lone_boxes: int
    numbers: int
    """Nodes whose only name is a number."""
    constants: int
    edges: int
    crossings: int
    faults: int
    """What lies on another besides."""
    bytes: int
    merging: int = 0
    """Pairs of lines of two nodes that are one to the eye for a while."""
    foreign_words: int = 0
    """Words as near to the line of another node as to their own."""
    words_on_borders: int = 0
    """Words beside edges that the border of a box runs through."""
    fell_back: int = 0
    """Whether it is drawn in the layout that is there for what the usual one cannot do."""
    closed: float = 0.0
    """Share of the parameters in closed layers of more than a few operations that are opened nowhere."""
    seconds: float = 0.0
    """CPU time of drawing it."""
    layered: float = 0.0
    """CPU time in the layout that a picture falls back to."""
    full: int = 0
    """Bytes at full depth."""
    torchview: int = 0
    """Bytes of torchview's at full depth."""

    @staticmethod
    def of(drawing: Drawing, column: float = COLUMN) -> Figures:
        """Read from the SVG."""
        seen = looking.seen(drawing.svg)
        scale = max(LEAST, min(1.0, column / drawing.width))
        said: list[tuple[str, tuple[str, ...]]] = [
            (line.word, line.ends[:1]) for line in drawing.layout.lines if line.word
        ]
        said += [(text, line.ends) for line in drawing.layout.lines if line.part for text in _rows(line.part)]
        names = [name for name, kind, _ in seen.names if kind not in ("io", "data", "link")]
        sizes = [size for _, _, size in seen.names] or [0.0]
        return Figures(
            nodes=len(seen.nodes) + len(seen.circles) - seen.tags,
            width=drawing.width,
            height=round(drawing.height * scale, 1),
            font=round(statistics.median(sizes) * drawing.width / seen.size[0] * scale, 1),
            titles=len(seen.titles),
            behind_titles=len(looking.behind_titles(seen)),
            through_nodes=len(looking.behind_nodes(seen)),
            words=len(seen.words),
            words_on_edges=len(looking.words_on_edges(seen)),
            boxes=len(seen.boxes),
            lone_boxes=len(looking.lone_boxes(seen)),
            numbers=sum(1 for name in names if _NUMBER.fullmatch(name)),
            constants=sum(1 for name, _, _ in seen.names if name == "constant"),
            edges=len(seen.lines),
            crossings=len(looking.crossings(seen)),
            merging=len(looking.merging(seen)),
            foreign_words=len(looking.foreign_words(seen, said)),
            words_on_borders=len(looking.words_on_borders(seen)),
            faults=len(looking.faults(seen)),
            bytes=len(drawing.svg.encode()),
        )

    def __str__(self) -> str:
        return ", ".join(f"{field.name} {value:g}" for field in fields(self) if (value := getattr(self, field.name)))


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    what: str
    goal: float
    reached: float
    of: float
    """How many there are; 0 where that says nothing."""
    causes: Sequence[str]
    """The models that the goal is missed by, worst first."""

    @property
    def is_met(self) -> bool:
        """Whether the goal is reached."""
        return self.reached <= self.goal


def main(arguments: Sequence[str]) -> None:
    """Draw, count and print."""
    options = dict(argument.split("=", 1) for argument in arguments if "=" in argument)
    names = [argument for argument in arguments if "=" not in argument and argument != "quick"]
    recorded = _of_folder(Path(options["graphs"]), names) if "graphs" in options else graphs(names)
    drawn: dict[str, object] = {"direction": options.get("direction", "TB"), "room": int(options.get("room", COLUMN))}
    drawings = {name: _draw(name, graph, **drawn) for name, graph in recorded.items()}
    timed = "quick" not in arguments
    found = {name: _both_ways(name, recorded[name], it, drawn, timed=timed) for name, it in drawings.items()}
    if beside := options.get("beside"):
        theirs = sizes(Path(beside), KEPT / f"torchview-{key()}.json")
        for name in theirs.keys() & found.keys():
            full = len(_draw(name, recorded[name], depth="all").svg.encode())
            found[name] = replace(found[name], torchview=theirs[name], full=full)
    earlier = json.loads(Path(options["against"]).read_text("utf-8")) if "against" in options else {}
    _print(found, earlier, float(options.get("room", COLUMN)))
    _write(options, drawings, found)


def _of_folder(folder: Path, names: Sequence[str]) -> dict[str, Graph]:
    files = [file for file in sorted(folder.glob("*.json")) if not names or file.stem in names]
    return {file.stem: from_json(file.read_text(encoding="utf-8")) for file in files}


def _write(options: Mapping[str, str], drawings: Mapping[str, Drawing], found: Mapping[str, Figures]) -> None:
    if "to" in options:
        figures = {name: asdict(of_it) for name, of_it in found.items()}
        Path(options["to"]).write_text(json.dumps(figures, indent=1), encoding="utf-8")
    if "svg" in options:
        folder = Path(options["svg"])
        folder.mkdir(parents=True, exist_ok=True)
        for name, drawing in drawings.items():
            (folder / f"{name}.svg").write_text(drawing.svg, encoding="utf-8")
    if "sheet" in options:
        pictures = {name: (it.svg, it.width, str(found[name])) for name, it in drawings.items()}
        Path(options["sheet"]).write_text(sheet(pictures), encoding="utf-8")


def _draw(name: str, graph: Graph, **options: object) -> Drawing:
    job = DrawJob(graph, name.encode().hex().ljust(12, "0"), DrawingOptions(**options))  # type: ignore[arg-type]
    (drawing,) = draw([job], find_engine())
    if not isinstance(drawing, Drawing):
        raise drawing
    return drawing


def _both_ways(name: str, graph: Graph, drawing: Drawing, drawn: Mapping[str, object], *, timed: bool) -> Figures:
    """How the picture compares with the one in the other layout: what falls back to that is the same.

    Times are the least of several readings, in turn, because other work on the machine only adds to them.
    """
    ways = [partial(_draw, name, graph, **drawn, layout=layout) for layout in ("paper", "layered")]
    column = float(str(drawn["room"]))
    figures = replace(Figures.of(drawing, column), fell_back=int(_fell_back(drawing)), closed=_closed(graph))
    if not timed or figures.nodes > ORDINARY:
        return figures
    seconds, layered = map(min, zip(*([_seconds(way) for way in ways] for _ in range(ROUNDS)), strict=True))
    return replace(figures, seconds=seconds, layered=layered)


def _closed(graph: Graph) -> float:
    """Share of the parameters in closed layers that hide more than a few operations, before the layout closes more."""
    view = views_of(graph, DrawingOptions()).view()
    tree, params = call_tree(view.graph), 0
    for shown, times in ((view, 1), *((inset.view, len(inset.calls)) for inset in view.insets)):
        for node in (node for node in shown.nodes if node.kind == "call" and not node.inset and not node.parts):
            module = tree.module(node.calls[0])
            if module is not None and tree.children[node.calls[0]] and tree.n_ops[node.calls[0]] > FEW:
                around = prod(box.repeat for box in boxes_around(shown.boxes, node.box))
                params += times * around * sum(map(tree.n_params, node.calls))
    return min(1.0, params / max(1, view.graph.modules[""].params.total))


def _rows(part: str) -> Iterator[str]:
    """The words for what a line carries, and those of its two lines of text where it has them."""
    names = part.split(", ")
    yield part
    for i in range(1, len(names)):
        yield from (", ".join(names[:i]) + ",", ", ".join(names[i:]))


def _fell_back(drawing: Drawing) -> bool:
    """Whether the picture is as large as the layered one of what it shows."""
    (answer,) = find_engine().layout([drawing.dot])
    if not isinstance(answer, str):
        raise answer
    layered = finish(answer, uid="p", title="", desc="")
    return (drawing.width, drawing.height) == (layered.width, layered.height)


def _seconds(run: Callable[[], object]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    begun = time.process_time()
    run()
    own = time.process_time() - begun
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return own + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def rows(found: Mapping[str, Figures], column: float = COLUMN) -> Iterator[Row]:
    """The table."""

    def of(name: str) -> dict[str, float]:
        return {model: float(getattr(figures, name)) for model, figures in found.items()}

    def spread(what: str, name: str, median: float, p90: float) -> Iterator[Row]:
        values = of(name)
        most = statistics.quantiles([*values.values()] * 2, n=10, method="inclusive")[-1]
        yield Row(f"{what}, median", median, statistics.median(values.values()), 0, _above(values, median))
        yield Row(f"{what}, p90", p90, most, 0, _above(values, p90))

    def pictures(what: str, goal: float, values: Mapping[str, float]) -> Row:
        causes = _above(values, 0)
        return Row(f"pictures {what}", goal * len(found), len(causes), len(found), causes)

    def total(what: str, goal: float, name: str, among: str = "") -> Row:
        values = of(name)
        return Row(what, goal, sum(values.values()), sum(of(among).values()) if among else 0, _above(values, 0))

    yield from spread("nodes", "nodes", 22, 38)
    yield from spread(f"height in a column of {column:.0f} px", "height", 900, 1700)
    wider = {name: max(0.0, wide - column) for name, wide in of("width").items()}
    yield pictures(f"wider than {column:.0f} px", 0.2, wider)
    yield pictures("with names under 11 px", 0.1, {name: max(0.0, SMALL - px) for name, px in of("font").items()})
    yield total("titles that an edge passes behind", 0, "behind_titles", "titles")
    yield total("edges through nodes", 0, "through_nodes", "edges")
    yield total("lines of two nodes that are one for a while", 0, "merging", "edges")
    yield total("words on edges", 10, "words_on_edges", "words")
    yield total("words as near to the line of another node", 0, "foreign_words", "words")
    yield total("words on the border of a box", 0, "words_on_borders", "words")
    yield total("other things on one another", 0, "faults")
    yield total("boxes with one node", 0, "lone_boxes", "boxes")
    nodes = sum(of("nodes").values())
    yield replace(total("nodes named by a number only", round(0.02 * nodes), "numbers"), of=nodes)
    yield pictures("with a constant", 0.05, of("constants"))
    yield pictures("with crossings", 0.25, of("crossings"))
    yield Row("most crossings in one picture", 8, max(of("crossings").values()), 0, _above(of("crossings"), 8))
    yield Row(
        "parameters in closed layers, of 1 each",
        0.05 * len(found),
        sum(of("closed").values()),
        0,
        _above(of("closed"), 0.05),
    )
    yield pictures("that fall back to the other layout", 0.05, of("fell_back"))
    yield from _ratios("time to that of the other layout, median", 1.2, found, "seconds", "layered")
    yield from _ratios("bytes to torchview's at full depth, median", 0.25, found, "full", "torchview")


def _above(values: Mapping[str, float], limit: float) -> list[str]:
    most = sorted(values.items(), key=lambda one: -one[1])
    return [f"{name} {value:.4g}" for name, value in most if value > limit]


def _ratios(what: str, goal: float, found: Mapping[str, Figures], name: str, base: str) -> Iterator[Row]:
    values = {model: getattr(it, name) / getattr(it, base) for model, it in found.items() if getattr(it, base)}
    if values:
        yield Row(what, goal, statistics.median(values.values()), len(values), _above(values, goal))


def _print(found: Mapping[str, Figures], earlier: Mapping[str, Mapping[str, float]], column: float) -> None:
    both = {name: Figures(**earlier[name]) for name in found if name in earlier}  # type: ignore[arg-type]
    before = {row.what: f"{row.reached:8.4g}" for row in (rows(both, column) if both else ())}
    print(f"\n{'figure':52} {'goal':>6} {'before' if both else '':>8} {'reached':>8}")
    table = [*rows(found, column)]
    for row in table:
        hand_over(Figure(_what(row), row.reached, goal=row.goal))
    for row in table:
        what = _what(row)
        state = "met" if row.is_met else "missed"
        print(f"{what:52} {row.goal:6.4g} {before.get(row.what, ''):>8} {row.reached:8.4g}  {state}")
    for row in table:
        if not row.is_met:
            others = f" and {len(row.causes) - MOST} more" if len(row.causes) > MOST else ""
            print(f"\n{row.what}: {', '.join(row.causes[:MOST])}{others}")


def _what(row: Row) -> str:
    return f"{row.what}, of {row.of:.0f}" if row.of else row.what


if __name__ == "__main__":
    main(sys.argv[1:])
