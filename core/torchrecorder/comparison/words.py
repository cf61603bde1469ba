"""What a picture says of a layer that has changed, in the room of a node."""

from __future__ import annotations

from torchrecorder.comparison.layers import Layer
from torchrecorder.comparison.matching import Matching
from torchrecorder.comparison.settings import changed_settings, described
from torchrecorder.view.model import Mark

_LONGEST = 44


def words_for(matching: Matching, layer: Layer) -> tuple[Mark, str] | None:
    """The mark of a layer that both models have, and what is said of it; None if it is as it was.

    What is in it says itself what has changed.
    """
    old = matching.old_of[layer]
    if old.cls != layer.cls and layer.path and (old.module.native or layer.module.native):
        return "changed", _cut(f"was {described(old)}")
    if settings := [*changed_settings(old, layer)]:
        was, now = described(old), described(layer)
        is_said = layer.module.native and was != now
        return "changed", _cut(f"was {was.removeprefix(layer.cls).strip(' ·')}" if is_said else str(settings[0]))
    for name in dict.fromkeys((*old.params, *layer.params)):
        if old.params.get(name) != layer.params.get(name) and old.cls == layer.cls:
            return "changed", _cut(f"{name} {old.params.get(name, 'none')} → {layer.params.get(name, 'none')}")
    if old.parent is not None and layer.parent is not None:
        if matching.new_of.get(old.parent) is not layer.parent:
            return "moved", _cut(f"was {old.path}")
        if old.name != layer.name and not (old.name.isdigit() and layer.name.isdigit()):
            return "moved", _cut(f"was {old.name}")
    return None


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
