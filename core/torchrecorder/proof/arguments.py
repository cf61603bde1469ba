"""The proof of the settings that an op says: paddings at axes, windows of pools, numbers that are arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchrecorder.graph import Op

_NUMBERED = frozenset(("topk", "stft", "clamp"))
_POOL = re.compile(r"(adaptive_)?(?:avg|max)_pool(\d)d")
_SIZED = re.compile(r"(→ )?\d")


def are_arguments(op: Op, line: str, values: Sequence[str]) -> bool:
    """Whether the second line of an op says its arguments, or the values that they have in several."""
    if op.name == "pad":
        return _is_padding(op, line, values)
    if pool := _POOL.fullmatch(op.name):
        said = [fact for fact in line.split(" · ") if _SIZED.match(fact)] if not values else []
        return all(_is_window(op, fact, int(pool[2]), is_adaptive=bool(pool[1])) for fact in said)
    arguments = {*re.findall(r"\d+", " ".join(op.attrs.values()))}
    return op.name not in _NUMBERED or arguments.issuperset(re.findall(r"(?<![×\d])\d+", line))


def _is_padding(op: Op, line: str, values: Sequence[str]) -> bool:
    """Whether each of the sizes, `0, 6 at axes −3, −2 or none`, are what one of several pads by."""
    known, said = set[frozenset[tuple[int, str]]](), set[frozenset[tuple[int, str]]]()
    for text in values or [op.attrs.get("1") or op.attrs.get("pad", "")]:
        sizes = re.findall(r"-?\d+", text)
        pairs = enumerate(zip(sizes[::2], sizes[1::2], strict=False), 1)
        known.add(frozenset((-i, ", ".join(pair)) for i, pair in pairs if pair != ("0", "0")))
    for text in line.replace("−", "-").split(" or "):
        facts = [fact.partition(" at ax") for fact in text.split(" · ") if "," in fact]
        at = {(int(axis), pair) for pair, _, axes in facts for axis in re.findall(r"-\d+", axes) or ["-1"]}
        said.add(frozenset(at))
    return said == known or not re.search(r"\d, |none", line)


def _is_window(op: Op, line: str, n_axes: int, *, is_adaptive: bool) -> bool:
    """Whether `3×3 /2`, or `→ 1×1`, is the window of a pool and its step; without a step that of the window."""

    def sizes(at: str, key: str) -> list[str]:
        found = re.findall(r"\d+", op.attrs.get(at) or op.attrs.get(key, ""))
        return found * n_axes if len(found) == 1 else found

    window, _, step = line.removeprefix("→ ").partition(" /")
    if is_adaptive:
        return line.startswith("→ ") and re.findall(r"\d+", window) == sizes("1", "output_size")
    given, own = sizes("2", "stride"), window.split("×")
    is_step = re.findall(r"\d+", step) * (1 if "×" in step else n_axes) == given
    return own == sizes("1", "kernel_size") and (is_step or (not step and given == own))
