"""Pictures of the gallery that a rule moves: `python bench/rule.py FILE OLD NEW`, FILE below `core/torchrecorder`.

The gallery is drawn as it is, and by a copy of the core in which the text OLD of the file, which stands in it once, is
NEW: `view/simplified/__init__.py "merge_scale_and_shift(draft)" pass` switches a step off.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1]))

from bench.tuning import CORE, drawn


def main(name: str, old: str, new: str) -> None:
    """Print the names of the pictures that differ, and how many there are."""
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "core"
        shutil.copytree(CORE, copy, ignore=shutil.ignore_patterns("__pycache__"))
        replace_once(copy / "torchrecorder" / name, old, new)
        before = drawn({})
        os.environ["CORE_TO_DRAW"] = str(copy)
        after = drawn({})
    moved = [picture for picture in before if after.get(picture) != before[picture]]
    print(*moved, f"{len(moved)} of {len(before)} pictures differ", sep="\n")


def replace_once(file: Path, old: str, new: str) -> None:
    """Write a file with other text in the place of one that stands in it once.

    Raises:
        SystemExit: It does not, or there is no such file.
    """
    text = file.read_text(encoding="utf-8") if file.is_file() else sys.exit(f"there is no file {file.name} in the core")
    if (times := text.count(old)) != 1:
        sys.exit(f"{old!r} stands {times} times in {file.name}; write more of its line, so that it stands there once")
    file.write_text(text.replace(old, new), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("name a file, a text in it, and what stands in its place: python bench/rule.py FILE OLD NEW")
    main(*sys.argv[1:])
