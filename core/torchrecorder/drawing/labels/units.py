"""Numbers and shapes as a reader of papers expects them."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from torchrecorder.graph import TensorMeta

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


def flops(number: int) -> str:
    """A number of floating-point operations: `8.18 GFLOPs`."""
    text = count(number).replace("B", "G")
    return text + ("FLOPs" if text[-1].isalpha() else " FLOPs")


def size(number: int) -> str:
    """A number of bytes: `512 B`, `1.5 KiB`, `3 MiB`."""
    scaled = float(number)
    for sign in ("B", "KiB", "MiB", "GiB"):
        if scaled < 999.5:
            return f"{scaled:.3g} {sign}"
        scaled /= 1024
    return f"{scaled:.4g} TiB"


def tensor(meta: TensorMeta | None, show: Collection[str]) -> str:
    """What is said of a tensor: its shape, and its type and size if asked for."""
    if meta is None:
        return ""
    memory = "memory" in show and meta.nbytes
    facts = (meta.dtype if "dtypes" in show else "", size(meta.nbytes or 0) if memory else "")
    return " · ".join(filter(None, (shape(meta.shape), *facts)))
