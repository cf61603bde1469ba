"""What stands in the HTML where a diagram will be.

A marker holds the whole fence, so it survives whatever carries it: caches, the pages of another plugin, a second
Markdown for docstrings. The fence is written in letters and digits only, because such carriers like to rewrite
attributes. An empty `<div>` gives nothing to search indexes, and an unfilled one shows nothing.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from dataclasses import asdict

from mkdocs_torchrecorder.fence import Fence

_MARKER = re.compile(r'<div class="torchrecorder-marker" data-fence="([\w=-]+)"></div>', re.ASCII)
_SHOWN = re.compile(r"<(pre|textarea|script|style)\b.*?</\1>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
"""Where HTML shows or hides text instead of reading it."""


def marker(fence: Fence) -> str:
    """The marker of a fence."""
    data = base64.urlsafe_b64encode(json.dumps(asdict(fence)).encode()).decode()
    return f'<div class="torchrecorder-marker" data-fence="{data}"></div>'


def marked_fences(text: str) -> list[Fence]:
    """The fences of the markers in a piece of HTML, in their order."""
    return [_fence(found) for found in _MARKER.finditer(text)]


def replace_markers(text: str, replacement: Callable[[Fence], str]) -> str:
    """The HTML with something else in place of every marker."""
    return _MARKER.sub(lambda found: replacement(_fence(found)), text)


def show_examples(text: str) -> str:
    """The HTML with the fence itself in place of a marker that has come into shown or hidden text."""
    if not _MARKER.search(text):
        return text
    return _SHOWN.sub(lambda part: replace_markers(part[0], _escaped), text)


def _escaped(fence: Fence) -> str:
    return html.escape(fence.raw, quote=False)


def _fence(found: re.Match[str]) -> Fence:
    return Fence(**json.loads(base64.urlsafe_b64decode(found[1])))
