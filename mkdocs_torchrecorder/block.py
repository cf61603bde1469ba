"""What a block `::: pkg.Net` of mkdocstrings says of the diagrams of its classes, in its option `extra`.

mkdocstrings gives the options of a block to its templates alone. Those hand them on, beside the object they are at, as
the hook for the references in a docstring, which our Markdown of docstrings finds where autorefs keeps it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from textwrap import dedent
from typing import Any

from markdown import Markdown

from mkdocs_torchrecorder.fence import Fence
from mkdocs_torchrecorder.page import KEY, MarkdownPage
from torchrecorder.site import Message, completed

_BLOCK = re.compile(
    r"^(?:#{1,6} *)?::: ?(?P<name>\S+)[^\n]*\n(?P<options>(?:(?: {4}|\t)[^\n]*(?:\n|\Z)|[ \t]*\n)*)", re.M
)


def with_block(fence: Fence, page: MarkdownPage, md: Markdown) -> tuple[Fence | None, list[Message]]:
    """The fence of a documented class as the block that shows it wants it, None for no diagram, and what is wrong."""
    hook = (
        getattr(md.inlinePatterns["mkdocs-autorefs"], "hook", None) if "mkdocs-autorefs" in md.inlinePatterns else None
    )
    extra = getattr(getattr(hook, "config", None), "extra", None)
    if not isinstance(extra, Mapping) or KEY not in extra:
        return (fence if fence.is_wanted else None), []
    shown, name = str(getattr(getattr(hook, "current_object", None), "path", "")), fence.body.target.partition("(")[0]
    block, line = _find(page.source(), shown, extra[KEY])
    known = fence.body if fence.is_wanted else None
    body, wrong = completed(known, name, extra[KEY], is_named=block == shown)
    place = page.location(replace(fence, line=line))
    messages = [Message(f"{KEY} under `extra` of mkdocstrings: {problem}", "option", place) for problem in wrong]
    return None if body is None else replace(fence, body=body, line=line), messages


def _find(source: str, shown: str, said: object) -> tuple[str, int]:
    """Name in the block of a page that says so of an object, and its line; nothing if the site says it of all."""
    import yaml  # mkdocstrings has it

    for block in _BLOCK.finditer(source):
        if shown == block["name"] or shown.startswith(f"{block['name']}."):
            try:
                written: Any = yaml.safe_load(dedent(block["options"].expandtabs(4)))
                is_it = written["options"]["extra"][KEY] == said
            except (yaml.YAMLError, KeyError, TypeError):
                continue
            if is_it:
                start = source.index(f"{KEY}:", block.start("options"))
                return block["name"], source.count("\n", 0, start) + 1
    return "", 0
