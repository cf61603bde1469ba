"""Numbers and shapes as a reader of papers expects them."""

from __future__ import annotations

from collections.abc import Iterable

_STEPS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def count(number: int) -> str:
    """A number in three digits: `320`, `12.7 k`, `11.7 M`, `70.6 B`."""
    for index, (size, sign) in enumerate(_STEPS):
        if number >= size * 0.9995:
            scaled = number / size
            digits = 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0
            text = f"{scaled:.{digits}f}"
            text = text.rstrip("0").rstrip(".") if "." in text else text
            return f"{text} {_STEPS[index][1] if sign else ''}"
    return str(number)


def parameters(number: int, *, word: str = "params", each: bool = False) -> str:
    """A number of parameters with its unit; `each` if several modules have as many."""
    singular = word.removesuffix("s") if number == 1 else word
    return f"{count(number)} {singular}" + (" each" if each else "")


def shape(sizes: Iterable[int | str]) -> str:
    """The sizes of a tensor: `1×3×224×224`; `scalar` if it has no axes."""
    return "×".join(map(str, sizes)) or "scalar"
