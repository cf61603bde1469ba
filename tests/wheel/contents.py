"""What `nox -s dist` built: every file of the three packages and no other, a whole checkout, true metadata.

python contents.py FOLDER       the folder holds one wheel and one sdist
"""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NEEDED = {
    "mkdocs_torchrecorder/py.typed",
    "sphinx_torchrecorder/py.typed",
    "torchrecorder/PORTS.toml",
    "torchrecorder/write/fonts/sans-bold.ttf",
    "torchrecorder/write/fonts/sans.ttf",
    "torchrecorder/page/assets/torchrecorder.css",
    "torchrecorder/page/assets/torchrecorder.js",
    "torchrecorder/page/locale/de/LC_MESSAGES/torchrecorder.mo",
    "torchrecorder/py.typed",
}
"""Files that are no modules, so that nothing misses them before a user does."""
FONT_LICENSE = "licenses/core/torchrecorder/write/fonts/OFL.txt"
FACTS = {"METADATA", "RECORD", "WHEEL", "entry_points.txt", "licenses/LICENSE", FONT_LICENSE}
EXTRAS = {"all", "dask", "hub", "mkdocs", "png", "remote", "scio", "sphinx", "torch", "wasm"}


RELATIVE = re.compile(r"""(?:\]\(|src="|srcset="|href=")(?!https?:|#)([^)"]+)""")


def main(folder: Path) -> None:
    (wheel,), (sdist,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    version = project["project"]["version"]
    facts = f"torchrecorder_docs-{version}.dist-info"
    with zipfile.ZipFile(wheel) as opened:
        names = opened.namelist()
        metadata = email.message_from_bytes(opened.read(f"{facts}/METADATA"))
        scripts = opened.read(f"{facts}/entry_points.txt").decode()
    packages = project["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    modules = {file for package in packages for file in files_of(ROOT / package)}
    same("the wheel", names, modules | {f"{facts}/{name}" for name in FACTS})
    assert modules >= NEEDED, sorted(NEEDED - modules)
    assert metadata["Name"] == "torchrecorder-docs"
    assert metadata["Version"] == version
    assert metadata["License-Expression"] == "MIT AND OFL-1.1"
    assert metadata["Requires-Python"] == project["project"]["requires-python"]
    assert set(metadata.get_all("Provides-Extra", [])) == EXTRAS
    relative = RELATIVE.findall(str(metadata.get_payload()))
    assert not relative, f"the index would show {relative} of the README as broken links"
    for line in ("[console_scripts]", "[mkdocs.plugins]", "[markdown.extensions]"):
        assert line in scripts, line
    with tarfile.open(sdist) as archive:
        kept = [member.name.partition("/")[2] for member in archive if member.isfile()]
    same("the sdist", kept, {*committed(), "PKG-INFO"})


def files_of(package: Path) -> set[str]:
    """The files of a package, named from where it is imported."""
    found = (file for file in package.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {file.relative_to(package.parent).as_posix() for file in found}


def committed() -> set[str]:
    done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    return {name for name in done.stdout.split("\0") if name}


def same(what: str, names: list[str], expected: set[str]) -> None:
    found = set(names)
    assert len(found) == len(names), f"{what} holds a file twice"
    assert found == expected, f"{what} lacks {sorted(expected - found)}, and holds {sorted(found - expected)} besides"


if __name__ == "__main__":
    main(Path(sys.argv[1]))
