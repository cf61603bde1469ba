"""The fonts of a PDF: ours, and for signs that it lacks those of this machine.

Ours is as wide as the font that layout reckons with, and has the signs of Latin, Greek, Cyrillic and mathematics. Fonts
for thousands of Chinese signs are too large to ship, so the files of the machine are looked through.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from fontTools.ttLib import TTFont, TTLibError

from torchrecorder.errors import OptionError

OURS = {style: Path(__file__).with_name("fonts") / name for style, name in (("", "sans.ttf"), ("B", "sans-bold.ttf"))}
_ODD = re.compile("bold|italic|oblique|light|thin|black|medium|mono|serif|condensed|narrow|emoji", re.IGNORECASE)
"""Fonts that are taken last."""
_RESTRICTED = 2
"""Of the licence bits of a font: it may not be embedded."""
_SHAPED = ((0x0900, 0x0DFF), (0x0E00, 0x109F), (0x1780, 0x18AF))
"""Blocks of scripts whose signs change with their neighbours: of India, South East Asia, Mongolia."""


class Face(NamedTuple):
    file: Path
    number: int
    """In a file of several."""


def faces_for(signs: Iterable[str]) -> dict[Face, frozenset[str]]:
    """Fonts of this machine that have the signs which ours lacks, each with those that it is to set.

    Raises:
        OptionError: No font has one of them, or its script is not set sign by sign.
    """
    left = {sign for sign in signs if ord(sign) not in _our_signs()}
    unset = {sign for sign in left if _needs_shaping(sign)}
    found: dict[Face, frozenset[str]] = {}
    for file in _files() if left > unset else ():
        face, has = _signs_of(file)
        if here := frozenset(sign for sign in left - unset if ord(sign) in has):
            found[face] = here
            left -= here
            if left == unset:
                break
    if problems := [*_problems(left, unset)]:
        raise OptionError(tuple(problems))
    return found


def _problems(left: set[str], unset: set[str]) -> Iterator[str]:
    if unset:
        yield f"a PDF or PNG cannot show {_named(unset)}, whose script joins its signs or runs leftwards; write a .svg"
    if lacking := left - unset:
        yield (
            f"no font of this machine has {_named(lacking)}, and a PDF or PNG holds its fonts; install one,"
            f" such as Noto Sans{' CJK' if any(map(_is_wide, lacking)) else ''}, or write a .svg"
        )


def _named(signs: set[str]) -> str:
    first = sorted(signs)[:8]
    codes = ", ".join(f"U+{ord(sign):04X}" for sign in first[:3])
    return f"{''.join(first)}{'…' if len(signs) > len(first) else ''} ({codes}{', …' if len(signs) > 3 else ''})"


def _is_wide(sign: str) -> bool:
    return unicodedata.east_asian_width(sign) == "W" and unicodedata.category(sign) == "Lo"


def _needs_shaping(sign: str) -> bool:
    runs_left = unicodedata.bidirectional(sign) in ("R", "AL")
    return runs_left or any(first <= ord(sign) <= last for first, last in _SHAPED)


@lru_cache(maxsize=1)
def _our_signs() -> frozenset[int]:
    regular, bold = (_signs_of(file)[1] for file in OURS.values())
    return regular & bold


@lru_cache(maxsize=1)
def _files() -> tuple[Path, ...]:
    """Every file of fonts, plain ones first; in the same order each time."""
    found = {
        file for folder in _folders() for file in folder.rglob("*") if file.suffix.lower() in (".ttf", ".otf", ".ttc")
    }
    return tuple(sorted(found, key=lambda file: (len(_ODD.findall(file.name)), file.name, str(file))))


def _folders() -> list[Path]:
    home, system = Path.home(), Path("/usr/share")
    if sys.platform == "darwin":
        return [Path("/System/Library/Fonts"), Path("/Library/Fonts"), home / "Library/Fonts"]
    if sys.platform == "win32":
        local = Path(os.environ.get("LOCALAPPDATA", home / "AppData/Local"))
        return [Path(os.environ.get("WINDIR", "C:/Windows"), "Fonts"), local / "Microsoft/Windows/Fonts"]
    data = Path(os.environ.get("XDG_DATA_HOME") or home / ".local/share")
    return [data / "fonts", home / ".fonts", Path("/usr/local/share/fonts"), system / "fonts"]


@lru_cache(maxsize=1024)
def _signs_of(file: Path) -> tuple[Face, frozenset[int]]:
    """The characters that a font can set: none if it is damaged, has pictures for outlines, or must not be embedded.

    Of several in a file it is the one for simplified Chinese, if there is one: all have the same characters.
    """
    number = 0
    try:
        with file.open("rb") as data:
            for i in range(getattr(TTFont(data, fontNumber=0, lazy=True).reader, "numFonts", 1)):
                if (TTFont(data, fontNumber=i, lazy=True)["name"].getBestFamilyName() or "").endswith(" SC"):
                    number = i
                    break
            font = TTFont(data, fontNumber=number, lazy=True)
            rights: Any = font["OS/2"]  # whose fields fonttools makes while it reads
            may = not rights.fsType & _RESTRICTED and ("glyf" in font or "CFF " in font)
            signs = frozenset(font.getBestCmap() or ()) if may else frozenset()
    except (TTLibError, OSError, KeyError, AttributeError, ValueError):
        signs = frozenset()
    return Face(file, number), signs
