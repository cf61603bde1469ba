"""Several pictures of one model, one at a time: a switch between depths that needs no script.

Radio buttons choose; a rule per switch hides the pictures that are not chosen. A browser without `:has()`, or without
the rule, shows all pictures one under the other, each with its depth.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape

_UID = re.compile(r"[A-Za-z][\w-]*", re.ASCII)


def switch(pictures: Sequence[tuple[str, str]], *, uid: str, chosen: int = 0, legend: str = "Depth") -> str:
    """The HTML of the switch.

    Args:
        pictures: What each is called, and its markup, which is trusted.
        uid: Begins the ids; must be unique in the page.
        chosen: Position of the picture that is seen at first.
        legend: What the buttons choose.

    Raises:
        ValueError: `uid` is no identifier.
    """
    if not _UID.fullmatch(uid):
        raise ValueError(f"{uid!r} is no identifier")
    if len(pictures) == 1:
        return pictures[0][1]
    ids = [f"{uid}-{number}" for number in range(len(pictures))]
    hidden = ",".join(f"#{uid}:has(#{id_}:checked)>.torchrecorder-depth:not(.{id_})" for id_ in ids)
    parts = [f'<fieldset class="torchrecorder-depths" id="{uid}"><style>{hidden}{{display:none}}</style>']
    parts.append(f"<legend>{escape(legend)}</legend>")
    for number, (id_, (name, _)) in enumerate(zip(ids, pictures, strict=True)):
        checked = " checked" if number == chosen else ""
        button = f'<input type="radio" name="{uid}" id="{id_}"{checked}>'
        parts.append(f'<label for="{id_}">{button} {escape(name)}</label>')
    for id_, (_, picture) in zip(ids, pictures, strict=True):
        parts.append(f'<div class="torchrecorder-depth {id_}">{picture}</div>')
    return "".join((*parts, "</fieldset>"))
