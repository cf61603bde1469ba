"""The finished picture as a PDF of vectors, for LaTeX and print: fonts embedded, the same bytes each time.

fpdf2 draws our SVG and embeds the characters that are used. It sets a text in one font, so words are parted by font as
they are written.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape

from fpdf import FPDF

from torchrecorder.layout.model import Layout
from torchrecorder.write.fonts import OURS, faces_for
from torchrecorder.write.foot import foot_lines, sides
from torchrecorder.write.svg import FileWriter, Lettering, document

_MAX_SIDE = 14_400.0
"""Points; readers show no longer page."""
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
"""Characters that control others."""
_SAME_TAG = b"MPDFAA+"
"""What fpdf2 writes before the name of each font."""


def to_pdf(layout: Layout, alt: str = "", scale: float = 1.0, notes: Sequence[str] = ()) -> bytes:
    """A page as large as the picture.

    Args:
        layout: A finished one.
        alt: What it shows, for readers who cannot see it.
        scale: How much larger than the layout the page is.
        notes: What stands at its foot.

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
        self.family: dict[str, str] = {}
        """By character, for those that are not in ours."""
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
            for family, part in self._runs(_plain(self._clean(words))):
                weight = "bold" if is_bold and family == "ours" else "normal"
                self.pdf.set_font(family, "B" if weight == "bold" else "", size)
                placed.append((wide, part, f'font-family="{family}" font-weight="{weight}"'))
                wide += self.pdf.get_string_width(part)
        start = float(x) - (wide / 2 if setting.anchor == "middle" else 0.0)
        look = f'font-size="{size:g}" text-anchor="start" fill="{self.colours(ink or "currentColor")}" stroke="none"'
        look += f' fill-opacity="{opacity or setting.opacity}" xml:space="preserve"'
        return "".join(
            f'<text x="{start + at:.2f}" y="{y}" {look} {font}>{escape(part)}</text>' for at, part, font in placed
        )

    def _runs(self, text: str) -> Iterator[tuple[str, str]]:
        last, part = "", ""
        for letter in text:
            family = self.family.get(letter, "ours")
            if part and family != last:
                yield last, part
                part = ""
            last, part = family, part + letter
        if part:
            yield last, part


def _plain(text: str) -> str:
    """The characters that are seen, accents joined with their letters as fonts have them."""
    return _UNSEEN.sub("", unicodedata.normalize("NFC", text))
