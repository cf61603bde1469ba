"""The fact sheet of a model of the hub in words."""

from __future__ import annotations

from collections.abc import Mapping

from torchrecorder.labels.names import count, size

LABELS = {
    "architecture": "architecture",
    "commit": "commit of the repository",
    "parts": "parameters by part",
    "kinds": "parameters by kind",
    "context": "longest context in tokens",
    "vocabulary": "tokens in the vocabulary",
    "heads": "attention heads",
    "kv_heads": "heads for keys and values",
    "experts": "experts in a layer",
    "chosen": "experts for each token",
    "active": "parameters for each token",
    "kv_cache": "cache of each token in bf16",
    "weights": "memory of the weights",
}
"""What is said of each fact, in the order of reading."""
_GROUPS = {"parts": "part.", "kinds": "params.", "weights": "weights."}
"""Facts that are several numbers, by the beginning of their names."""


def sheet(facts: Mapping[str, int | str]) -> dict[str, str]:
    """Texts of the facts of a Graph, by the names of `LABELS`."""
    texts: dict[str, str] = {}
    for name in LABELS:
        if beginning := _GROUPS.get(name):
            parts = {key.removeprefix(beginning): value for key, value in facts.items() if key.startswith(beginning)}
            say = size if name == "weights" else count
            texts[name] = ", ".join(f"{part.replace('_', ' ')} {say(int(value))}" for part, value in parts.items())
        elif name in facts:
            value = facts[name]
            texts[name] = _text(name, value) if isinstance(value, int) else value
    return {name: text for name, text in texts.items() if text}


def lines(facts: Mapping[str, str]) -> list[str]:
    """Lines for the text form, with an empty one before them; none without a fact sheet."""
    shown = {LABELS[name]: text for name, text in facts.items() if name in LABELS}
    width = max(map(len, shown), default=0)
    return [*([""] if shown else []), *(f"{label:<{width}}  {text}" for label, text in shown.items())]


def _text(name: str, value: int) -> str:
    return size(value) if name == "kv_cache" else count(value) if name == "active" else f"{value:,}"
