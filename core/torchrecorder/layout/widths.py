"""Widths of words in Helvetica, by which layout gives them room and writers fit them in."""

from __future__ import annotations

import unicodedata
from functools import lru_cache

_BY_WIDTH = {
    191: "'",
    222: "ijl",
    260: "|",
    278: " !,./:;I[]\\ft·",
    333: "()-`r",
    334: "{}",
    355: '"',
    389: "*",
    469: "^",
    500: "Jckvsxyz",
    556: "0123456789#$?L_abdeghnopqu–",
    584: "+<=>~×÷−",
    611: "FTZ",
    667: "&ABEKPSVXY",
    722: "CDHNRUw",
    778: "GOQ",
    833: "Mm",
    889: "%",
    944: "W",
    1000: "→…",
    1015: "@",
}
_WIDTHS = {sign: width for width, signs in _BY_WIDTH.items() for sign in signs}
BOLD = 1.07  # how much wider the bold face is


@lru_cache(maxsize=4096)  # a layout that is tried several ways asks for the same words again
def width(text: str, size: float, *, bold: bool = False) -> float:
    """Width of one line in points, within some per cent."""
    wide = 0
    for sign in text:
        is_full = unicodedata.east_asian_width(sign) in "WF"
        wide += _WIDTHS.get(sign, 0 if unicodedata.combining(sign) else 1000 if is_full else 600)
    return wide * size / 1000 * (BOLD if bold else 1)
