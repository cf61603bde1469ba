"""The finished picture as a PDF of vectors, for LaTeX and print: fonts embedded, the same bytes each time.

fpdf2 reads our SVG and embeds the signs that are used. It sets a text in one font, so texts are parted by font first.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from xml.etree import ElementTree

from fpdf import FPDF

from torchrecorder.write.fonts import OURS, faces_for

_SVG = "{http://www.w3.org/2000/svg}"
_SPACE = "{http://www.w3.org/XML/1998/namespace}space"
_MAX_SIDE = 14_400.0
"""Readers show no longer page."""
_TAKEN_OVER = ("font-size", "font-weight", "text-anchor", "fill", "fill-opacity")
"""What a text takes from the elements around it."""
_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")
"""Signs that control others."""
_SAME_TAG = b"MPDFAA+"
"""What fpdf2 writes before the name of each font."""


def to_pdf(svg: str, alt: str = "", scale: float = 1.0) -> bytes:
    """A page as large as the picture.

    Args:
        svg: A finished picture with colours of its own.
        alt: What it shows, for readers who cannot see it.
        scale: How much larger than the SVG the page is.

    Raises:
        OptionError: No font of this machine has a sign of the picture.
    """
    root = ElementTree.fromstring(svg)
    sides = [float(side) * scale for side in root.get("viewBox", "").split()[2:]]
    wide, high = (side * _MAX_SIDE / max(*sides, _MAX_SIDE) for side in sides)
    pdf = FPDF(unit="pt", format=(wide, high))
    title = root.findtext(f"{_SVG}title", "")
    pdf.set_creation_date(datetime(1980, 1, 1, tzinfo=UTC))
    pdf.set_title(title)
    pdf.set_subject(alt)
    pdf.add_page()
    _Texts(pdf, root).replace(root, {})
    picture = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    pdf.image(picture, x=0, y=0, w=wide, h=high, title=title, alt_text=alt or title)
    pdf.allow_images_transparency = False  # now drawn: the page needs no group, of which pdflatex takes one in a page
    # A paper joins many pictures, and printers take two subsets of one name for the same font.
    tag = "".join(chr(65 + byte % 26) for byte in hashlib.sha256(svg.encode()).digest()[:6])
    return bytes(pdf.output()).replace(_SAME_TAG, f"{tag}+".encode())


class _Texts:
    """Parts the texts of a picture, each part in one font and at its place, and leaves out what is not seen."""

    def __init__(self, pdf: FPDF, root: ElementTree.Element) -> None:
        self.pdf = pdf
        shown = {sign for text in root.iter(f"{_SVG}text") for sign in _plain("".join(text.itertext()))}
        others = faces_for(shown)
        for style, file in OURS.items():
            pdf.add_font("ours", style, file)
        self.family: dict[str, str] = {}
        """By sign, for those that are not in ours."""
        for i, (face, signs) in enumerate(others.items()):
            pdf.add_font(f"other{i}", "", face.file, collection_font_number=face.number)
            self.family |= dict.fromkeys(signs, f"other{i}")

    def replace(self, element: ElementTree.Element, around: Mapping[str, str]) -> None:
        own = {**around, **{name: element.attrib[name] for name in _TAKEN_OVER if name in element.attrib}}
        children = list(element)
        for child in children:
            element.remove(child)
            if child.tag == f"{_SVG}text":
                element.extend(self.parts(child, own))
            elif child.tag not in (f"{_SVG}title", f"{_SVG}desc"):
                element.append(child)
                self.replace(child, own)

    def parts(self, text: ElementTree.Element, around: Mapping[str, str]) -> Iterator[ElementTree.Element]:
        look = {**around, **text.attrib, "stroke": "none", _SPACE: "preserve"}
        spans = [(text.text or "", look)]
        for child in text:
            spans += [(child.text or "", {**look, **child.attrib}), (child.tail or "", look)]
        placed, x = [], 0.0
        for words, own in spans:
            for family, part in self.runs(_plain(words)):
                weight = "bold" if "font-weight" in own and family == "ours" else "normal"
                self.pdf.set_font(family, "B" if weight == "bold" else "", float(own["font-size"]))
                placed.append((x, part, {**own, "font-family": family, "font-weight": weight, "text-anchor": "start"}))
                x += self.pdf.get_string_width(part)
        start = float(look["x"]) - (x / 2 if look.get("text-anchor") == "middle" else 0.0)
        for at, part, own in placed:
            found = ElementTree.Element(text.tag, {**own, "x": f"{start + at:.2f}"})
            found.text = part
            yield found

    def runs(self, text: str) -> Iterator[tuple[str, str]]:
        """The text in parts of one font each, with the name of the font."""
        last, part = "", ""
        for sign in text:
            family = self.family.get(sign, "ours")
            if part and family != last:
                yield last, part
                part = ""
            last, part = family, part + sign
        if part:
            yield last, part


def _plain(text: str) -> str:
    """The signs that are seen, accents joined with their letters as fonts have them."""
    return _UNSEEN.sub("", unicodedata.normalize("NFC", text))
