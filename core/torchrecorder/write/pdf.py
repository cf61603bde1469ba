"""The finished picture as a PDF of vectors, for LaTeX and print: fonts embedded, the same bytes each time.

fpdf2 draws our SVG and embeds the characters that are used. It sets a text in one font, so words are parted by font as
they are written. Our font is as wide as the one that layout reckons with, and has the characters of Latin, Greek,
Cyrillic and mathematics; those for thousands of Chinese ones are too large to ship, so this machine's are looked for.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from html import escape
from importlib import import_module
from io import BytesIO
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from fontTools.ttLib import TTFont, TTLibError
from fpdf import FPDF

from torchrecorder.errors import OptionError
from torchrecorder.layout.model import Layout
from torchrecorder.write.look import foot_lines, sides
from torchrecorder.write.svg import FileWriter, Lettering, document, without_controls

OURS = {style: Path(__file__).with_name("fonts") / name for style, name in (("", "sans.ttf"), ("B", "sans-bold.ttf"))}
_ODD = re.compile("bold|italic|oblique|light|thin|black|medium|mono|serif|condensed|narrow|emoji", re.IGNORECASE)
"""Fonts that are taken last."""
_ENDINGS = (".ttf", ".otf", ".ttc")
_RESTRICTED = 2  # of the licence bits of a font: it may not be embedded
_SHAPED = ((0x0900, 0x0DFF), (0x0E00, 0x109F), (0x1780, 0x18AF))
"""Blocks of scripts whose signs change with their neighbours: of India, South East Asia, Mongolia."""
_MAX_SIDE = 14_400.0  # points; readers show no longer page
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
"""Characters that control others."""
_SAME_TAG = b"MPDFAA+"  # what fpdf2 writes before the name of each font


def to_pdf(layout: Layout, alt: str = "", scale: float = 1.0, notes: Sequence[str] = ()) -> bytes:
    """A page as large as the scaled picture with notes at its foot; `alt` is for readers who cannot see it.

    Raises:
        OptionError: No font of this machine has a character of the picture.
    """
    wide, high = (float(side) * scale for side in sides(layout, notes))
    by = _MAX_SIDE / max(wide, high, _MAX_SIDE)
    pdf = FPDF(unit="pt", format=(wide * by, high * by))
    pdf.set_creation_date(datetime(1980, 1, 1, tzinfo=UTC))
    pdf.set_title(layout.title)
    pdf.set_subject(alt)
    pdf.add_page()
    picture = document(_PdfWriter(pdf, layout, notes), scale, notes).encode()
    pdf.image(picture, x=0, y=0, w=wide * by, h=high * by, title=layout.title, alt_text=alt or layout.title)
    pdf.allow_images_transparency = False  # now drawn: the page needs no group, of which pdflatex takes one in a page
    # A paper joins many pictures, and printers take two subsets of one name for the same font.
    tag = "".join(chr(65 + byte % 26) for byte in hashlib.sha256(picture).digest()[:6])
    return bytes(pdf.output()).replace(_SAME_TAG, f"{tag}+".encode())


class _PdfWriter(FileWriter):
    """Writes words in parts, each in one font and at its place, and leaves out what is not seen."""

    def __init__(self, pdf: FPDF, layout: Layout, notes: Sequence[str]) -> None:
        super().__init__(layout)
        self.pdf = pdf
        words = [*layout.words, *(word for node in layout.nodes for word in node.words)]
        words += [title.word for title in layout.titles or ()]
        texts = [*(word.text for word in words), *(line for _, _, line in foot_lines(layout, notes))]
        others = faces_for({letter for text in texts for letter in _plain(text)})
        for style, file in OURS.items():
            pdf.add_font("ours", style, file)
        self.family: dict[str, str] = {}  # by character, for those that are not in ours
        for i, (face, letters) in enumerate(others.items()):
            pdf.add_font(f"other{i}", "", face.file, collection_font_number=face.number)
            self.family |= dict.fromkeys(letters, f"other{i}")

    def called(self, uid: str, description: str) -> str:
        return ""  # the page says it

    def text(
        self,
        setting: Lettering,
        x: str,
        y: str,
        spans: Sequence[tuple[str, bool]],
        *,
        size: float = 0.0,
        opacity: str = "",
        ink: str = "",
        key: str = "",
        is_in_node: bool = False,
    ) -> str:
        size = size or setting.size
        placed, wide = [], 0.0
        for words, is_bold in spans:
            for family, run in groupby(_plain(without_controls(words)), lambda it: self.family.get(it, "ours")):
                part = "".join(run)
                weight = "bold" if is_bold and family == "ours" else "normal"
                self.pdf.set_font(family, "B" if weight == "bold" else "", size)
                placed.append((wide, part, f'font-family="{family}" font-weight="{weight}"'))
                wide += self.pdf.get_string_width(part)
        start = float(x) - (wide / 2 if setting.anchor == "middle" else 0.0)
        look = f'font-size="{size:g}" text-anchor="start" fill="{self.colours(ink or "currentColor")}" stroke="none"'
        look += f' fill-opacity="{opacity or setting.opacity}" xml:space="preserve"'
        texts = ((f"{start + at:.2f}", font, escape(part)) for at, part, font in placed)
        return "".join(f'<text x="{left}" y="{y}" {look} {font}>{said}</text>' for left, font, said in texts)


def _plain(text: str) -> str:
    """The characters that are seen, accents joined with their letters as fonts have them."""
    return _UNSEEN.sub("", unicodedata.normalize("NFC", text))


class Face(NamedTuple):
    file: Path
    number: int  # in a file of several


def faces_for(signs: Iterable[str]) -> dict[Face, frozenset[str]]:
    """Fonts of this machine that have the signs which ours lacks, each with those that it is to set.

    Raises:
        OptionError: No font has one of them, or its script is not set sign by sign.
    """
    regular, bold = (_signs_of(file)[1] for file in OURS.values())
    ours = regular & bold
    left = {sign for sign in signs if ord(sign) not in ours}
    unset = {sign for sign in left if unicodedata.bidirectional(sign) in ("R", "AL")}  # which run leftwards
    unset |= {sign for sign in left if any(first <= ord(sign) <= last for first, last in _SHAPED)}
    faces: dict[Face, frozenset[str]] = {}
    for file in _files() if left > unset else ():
        face, has = _signs_of(file)
        if here := frozenset(sign for sign in left - unset if ord(sign) in has):
            faces[face] = here
            left -= here
            if left == unset:
                break
    problems = []
    if unset:
        shaped = "which needs text shaping or right-to-left layout"
        problems.append(f"a PDF or PNG cannot show {_named(unset)}, {shaped}; write a .svg")
    if lacking := left - unset:
        kinds = {(unicodedata.east_asian_width(sign), unicodedata.category(sign)) for sign in lacking}
        problems.append(
            f"no font of this machine has {_named(lacking)}, and a PDF or PNG holds its fonts; install one,"
            f" such as Noto Sans{' CJK' if ('W', 'Lo') in kinds else ''}, or write a .svg"
        )
    if problems:
        raise OptionError(tuple(problems))
    return faces


def _named(signs: set[str]) -> str:
    first = sorted(signs)[:8]
    codes = ", ".join(f"U+{ord(sign):04X}" for sign in first[:3])
    return f"{''.join(first)}{'…' if len(signs) > len(first) else ''} ({codes}{', …' if len(signs) > 3 else ''})"


@lru_cache(maxsize=1)
def _files() -> tuple[Path, ...]:
    """Every file of fonts, plain ones first; in the same order each time."""
    files = {file for folder in _folders() for file in folder.rglob("*") if file.suffix.lower() in _ENDINGS}
    return tuple(sorted(files, key=lambda file: (len(_ODD.findall(file.name)), file.name, str(file))))


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


DPI = 192  # two dots in a CSS pixel
_MAX_PIXELS = 100_000_000  # a larger picture is painted more coarsely, since its pixels must fit into memory


def pdfium() -> Any:
    """The module that paints.

    Raises:
        OptionError: It is not installed.
    """
    try:
        return import_module("pypdfium2")
    except ImportError as error:
        raise OptionError(("a .png needs pypdfium2: pip install 'torchrecorder-docs[png]'",)) from error


def to_png(layout: Layout, scale: float = 1.0, notes: Sequence[str] = ()) -> bytes:
    """The PNG of a finished layout, at `DPI` dots per inch."""
    document = pdfium().PdfDocument(to_pdf(layout, scale=scale, notes=notes))
    try:
        page = document[0]
        wide, high = page.get_size()
        density = min(DPI / 72, (_MAX_PIXELS / (wide * high)) ** 0.5)
        image = page.render(scale=density, rev_byteorder=True, prefer_bgrx=False).to_pil()
        file = BytesIO()
        image.save(file, "png", dpi=(density * 72, density * 72))  # by Pillow, which fpdf2 brings
    finally:
        document.close()
    return file.getvalue()
