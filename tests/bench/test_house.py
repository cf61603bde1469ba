"""What `bench -- house` counts."""

from __future__ import annotations

from pathlib import Path

from bench import house_source as house

TEXT = '''"""Numbers."""
GAP = 3  # points between two boxes
_WIDE = 1.5
"""Of a row; more is two rows."""
# Chosen on the picture of ResNet-50.
_SIZES = (-1, 2 * 3)
LOOSE, NAMES, IS_WIDE = 4, ("a",), True
_LOOSE = (1, 2)
PAIR: int = 7


class Box:
    width: int = 3
'''


def source(folder: Path, name: str, text: str) -> house.Source:
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return house.Source.read(folder, file)


def test_numbers_without_a_reason(tmp_path: Path) -> None:
    plain = source(tmp_path, "core/pkg/sizes.py", TEXT)
    assert [*house.numbers_without_reason(plain)] == ["core/pkg/sizes.py:8 _LOOSE", "core/pkg/sizes.py:9 PAIR"]
    tuning = source(tmp_path, "core/pkg/tuning.py", TEXT)
    assert [*house.numbers_without_reason(tuning)][2:] == ["core/pkg/tuning.py:13 width"]


def test_modules_that_one_other_imports(tmp_path: Path) -> None:
    texts = {
        "a": "from pkg import b, c\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from pkg import d",
        "b": "import pkg.c\n\n\ndef f():\n    from pkg import d",
        "c": "",
        "__init__": "",
        "d": "from pkg.b import f",
    }
    sources = [source(tmp_path, f"core/pkg/{name}.py", text) for name, text in texts.items()]
    assert house.imported_once(sources[:4]) == ["pkg.b"]
    assert house.imported_once(sources) == []
    assert house.cycles(house.imports(sources, with_type_checking=False)) == []


def test_places_that_declare_an_option(tmp_path: Path) -> None:
    text = """
class Options:
    depth: int = 1
    grey: bool = False
    fold: bool = True

class Box:
    depth: int = 1

def draw(*, depth, grey, fold): ...
def _drawn(depth, grey, fold): ...
ALL = [Option("depth", 1), Option("grey", 2), Option("fold"), Other("depth")]
"""
    found = house.declarations([source(tmp_path, "core/pkg/options.py", text)], {"depth", "grey", "fold", "foot"})
    assert found["foot"] == []
    assert found["depth"] == found["grey"] == ["pkg.options.Options", "pkg.options.draw()", "pkg.options: Option"]


def test_readers_of_pictures(tmp_path: Path) -> None:
    text = """
head = svg.partition("</desc>")
tag = re.compile(r"<[a-z]+>")
root = ElementTree.fromstring(svg)
written = "<g>"
"""
    assert house.readers_of_pictures(source(tmp_path, "core/pkg/drawing/pdf.py", text)) == [2, 3, 4]
    assert house.readers_of_pictures(source(tmp_path, "core/pkg/cli/pdf.py", text)) == []


def test_docstrings_that_begin_with_a_clause(tmp_path: Path) -> None:
    text = 'def f():\n    """What a file says.\n\n    More."""\n\n\ndef g():\n    """Digest of a file."""\n'
    lines = house.first_lines([source(tmp_path, "core/pkg/a.py", text)])
    assert [(line, house.is_clause(line)) for _, line in lines] == [
        ("What a file says.", True),
        ("Digest of a file.", False),
    ]
