"""Whether guessed inputs are what the models are made for: samples of the zoo, whose guesses are judged by hand.

    python bench/guesses.py draw 31 120     # 120 names that no sample has, by a seed; once, before a rule is changed
    python bench/guesses.py record 31 work  # records those of the half that rules may be tried on, with no input given
    python bench/guesses.py record 31 held  # and those of the half that is looked at when the rules are ready
    python bench/guesses.py figures         # of the verdicts that are there

`guesses.tsv` has a line for each model: the seed of its sample, its half, the guess and its grade, the verdict and a
reason. A guess that is not the one that was judged loses its verdict: it must be judged again. The libraries must be
installed, as for the zoo.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1]))

from bench.figures import Figure, show

ROOT = Path(__file__).parent.parent
FILE = Path(__file__).with_suffix(".tsv")
LIBRARIES = (
    *("kornia", "transformers", "x_transformers", "diffusers", "torch_geometric", "monai", "torchaudio", "speechbrain"),
)
"""Those whose models take different things; nearly every one of timm and torchvision takes one picture, and says so."""
MOST_LOST, MOST_WRONG = 0.03, 0.05


@dataclass(slots=True)
class Row:
    seed: str
    half: str
    model: str
    guess: str = ""
    """Empty if nothing was recorded; the reason says why."""
    grade: str = ""
    verdict: str = ""
    """`sensible` or `not`, `lost`, or `not built` for a model that cannot be made here at all."""
    reason: str = ""


def main() -> None:
    match sys.argv[1:]:
        case ["draw", seed, count]:
            rows = _read()
            _write(rows + _drawn(seed, int(count), {row.model for row in rows}))
        case ["figures"]:
            show(_figures(_read()))
        case ["record", seed, ("work" | "held") as half]:
            rows = _read()
            _record([row for row in rows if (row.seed, row.half) == (seed, half)])
            _write(rows)
            show(_figures(rows))
        case _:
            sys.exit(__doc__)


def _drawn(seed: str, count: int, others: set[str]) -> list[Row]:
    """Equally many names for both halves, none of which is in another sample."""
    import_module("tests.corpus.torchvision_ops").define_missing_operators()
    known = import_module("bench.zoo.libraries").LIBRARIES
    names = sorted({entry.name for library in LIBRARIES for entry in known[library]()} - others)
    chosen = random.Random(int(seed)).sample(names, count)
    return [Row(seed, "work" if i < count // 2 else "held", name) for i, name in enumerate(chosen)]


def recorded(names: list[str], graphs: Path | None = None) -> dict[str, dict[str, Any]]:
    """Results of the zoo for these models now; their Graphs are kept in a folder if one is given."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "zoo.json")
        libraries = dict.fromkeys(name.partition("/")[0] for name in names)
        command = [sys.executable, str(ROOT / "bench" / "zoo" / "run.py"), *libraries, *names, f"to={file}"]
        command += [f"graphs={graphs}"] if graphs else []
        subprocess.run(command, check=False, stdout=sys.stderr)
        results: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8"))
    return results


def _record(rows: list[Row]) -> None:
    """Put into each row what comes of its model now; a verdict on another guess is dropped."""
    results = recorded([row.model for row in rows])
    for row in rows:
        result = results[row.model]
        guess, grade = result.get("guessed", ""), result.get("grade", "")
        if not guess:
            row.verdict, row.reason = "lost" if result["built"] else "not built", result["reason"]
        elif guess != row.guess:
            row.verdict = row.reason = ""
        row.guess, row.grade = guess, grade


def _figures(rows: list[Row]) -> Iterator[Figure | str]:
    for seed, half in dict.fromkeys((row.seed, row.half) for row in rows):
        where = f"sample {seed}, {half}"
        built = [row for row in rows if (row.seed, row.half) == (seed, half) and row.verdict != "not built"]
        guessed = [row for row in built if row.guess]
        judged = [row for row in guessed if row.verdict]
        if not judged:
            yield f"{where}: no guess has been judged"
            continue
        lost = 1 - len(guessed) / len(built)
        yield Figure(f"{where}: models that are not recorded, of {len(built)}", lost, "", MOST_LOST)
        wrong = sum(row.verdict != "sensible" for row in judged)
        yield Figure(f"{where}: guesses that are not sensible, of {len(judged)}", wrong / len(judged), "", MOST_WRONG)
        if judged != guessed:
            yield f"{where}: {len(guessed) - len(judged)} guesses are to be judged"


def _read() -> list[Row]:
    with FILE.open(encoding="utf-8", newline="") as file:
        return [Row(**row) for row in csv.DictReader(file, delimiter="\t")]


def _write(rows: list[Row]) -> None:
    with FILE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Row)], delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in rows)


if __name__ == "__main__":
    main()
