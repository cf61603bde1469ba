"""How modules are called in pictures and lists: by their path from what is around them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from torchrecorder.graph import Graph, Module

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]+")


def class_name(module: Module) -> str:
    """The class without its module."""
    return module.cls.rpartition(".")[2]


def relative(path: str, base: str) -> str:
    """The path without the base it starts with."""
    return path[len(base) + 1 :] if base and path.startswith(base + ".") else path


def run_name(graph: Graph, paths: Sequence[str], base: str) -> str:
    """The name of modules that are shown as one, from `base` on.

    All of a list are `blocks`; some of it `blocks.1–5`; a single module, or one that is called again, its path.
    """
    first, last = relative(paths[0], base), relative(paths[-1], base)
    if first == last:
        return first
    parent, _, number = first.rpartition(".")
    if parent and _is_whole(graph, paths):
        return parent
    return f"{first}–{last.rpartition('.')[2] if number.isdigit() else last}"


def clean(text: str, limit: int) -> str:
    """The text on one line, without signs that cannot be seen, cut to a number of signs."""
    seen = text[: 4 * limit]
    seen = (seen if seen.isprintable() else _UNSEEN.sub(" ", seen)).strip()  # only few texts hold any such sign
    return seen if len(seen) <= limit and len(text) <= 4 * limit else seen[: limit - 1] + "…"


def _is_whole(graph: Graph, paths: Sequence[str]) -> bool:
    parent = paths[0].rpartition(".")[0]
    return {path for path in graph.modules if path.rpartition(".")[0] == parent} == set(paths)
