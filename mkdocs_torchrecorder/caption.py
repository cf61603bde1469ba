"""Captions are Markdown, as text of their page: emphasis, code, links, references, and what its extensions add.

While Markdown works on a page, each caption is an element at the end of its tree, so all that reads text or corrects
links meets it. Then it goes into the marker of its fence. HTML in a caption is text.

    SetCaptions   (25)  before inline patterns (20): an element for each caption
    TakeCaptions  (-1)  after links were corrected (0): the elements leave the tree for the markers in the stash
"""

from __future__ import annotations

import re
from html import escape
from xml.etree.ElementTree import Element, SubElement

from markdown import Markdown
from markdown.treeprocessors import Treeprocessor
from markdown.util import HTML_PLACEHOLDER

from mkdocs_torchrecorder.fence import is_marker, marked_fences, marker, without_shown

_PLACEHOLDER = re.compile(HTML_PLACEHOLDER % "([0-9]+)")
_TAG = "torchrecorder-caption"


class SetCaptions(Treeprocessor):
    """Adds the captions to the tree."""

    name, priority = "torchrecorder_captions", 25

    def run(self, root: Element) -> None:
        """Add an element for the caption of each fence that is not only shown."""
        stash = [block if isinstance(block, str) else "" for block in self.md.htmlStash.rawHtmlBlocks]
        captions: dict[int, str] = {}
        for number, block in enumerate(stash):
            if is_marker(block) and (text := marked_fences(block)[0].body.options.get("caption")):
                captions[number] = text
        if not captions:
            return
        texts = [*root.itertext(), *(without_shown(block) for block in stash if not is_marker(block))]
        seen = {int(number) for text in texts for number in _PLACEHOLDER.findall(text)}
        for number in sorted(seen & captions.keys()):
            SubElement(root, _TAG, {"number": str(number)}).text = captions[number]


class TakeCaptions(Treeprocessor):
    """Takes the captions out of the tree again."""

    name, priority = "torchrecorder_captions_taken", -1

    def run(self, root: Element) -> None:
        """Put each caption into the marker of its fence."""
        for element in root.findall(_TAG):
            root.remove(element)
            number = int(element.attrib.pop("number"))
            _, _, inner = self.md.serializer(element).partition(">")
            (fence,) = marked_fences(_stored(self.md, number))
            written = fence.body.options.get("caption") or ""
            for stored in map(int, _PLACEHOLDER.findall(inner)):
                if (text := _stored(self.md, stored)).startswith("<") and text in written:
                    self.md.htmlStash.rawHtmlBlocks[stored] = escape(text)
            caption = inner.rpartition("</")[0].strip()
            self.md.htmlStash.rawHtmlBlocks[number] = marker(fence, caption)


def _stored(md: Markdown, number: int) -> str:
    text = md.htmlStash.rawHtmlBlocks[number]
    return text if isinstance(text, str) else ""
