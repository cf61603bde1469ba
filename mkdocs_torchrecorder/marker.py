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
from functools import lru_cache

from mkdocs_torchrecorder.fence import Fence

_OPENING = '<div class="torchrecorder-marker" data-fence="'
_MARKER = re.compile(rf'{_OPENING}([\w=-]+)"></div>', re.ASCII)
_SHOWN = re.compile(r"<(pre|textarea|script|style)\b.*?</\1>|<!--.*?-->", re.DOTALL | re.IGNORECASE)
"""Where HTML shows or hides text instead of reading it."""


def marker(fence: Fence) -> str:
    """The marker of a fence."""
    facts = [fence.header, fence.body, fence.raw, fence.copy]
    data = base64.urlsafe_b64encode(json.dumps(facts).encode()).decode()
    return f'{_OPENING}{data}"></div>'


def is_marker(text: str) -> bool:
    """Whether the text is a marker and nothing else."""
    return text.startswith(_OPENING) and _MARKER.fullmatch(text) is not None


def marked_fences(text: str) -> list[Fence]:
    """The fences of the markers in a piece of HTML, in their order."""
    return [_fence(found[1]) for found in _MARKER.finditer(text)] if _OPENING in text else []


def replace_markers(text: str, replacement: Callable[[Fence], str]) -> str:
    """The HTML with something else in place of every marker."""
    return _MARKER.sub(lambda found: replacement(_fence(found[1])), text)


def show_examples(text: str) -> str:
    """The HTML with the fence itself in place of a marker that has come into shown or hidden text."""
    if _OPENING not in text:
        return text
    return _SHOWN.sub(lambda part: replace_markers(part[0], _escaped), text)


def _escaped(fence: Fence) -> str:
    return html.escape(fence.raw, quote=False)


@lru_cache(maxsize=4096)
def _fence(data: str) -> Fence:
    """The fence in a marker, which is looked at by one event of a build after the other."""
    return Fence(*json.loads(base64.urlsafe_b64decode(data)))
