"""Where a fence may stand, and where it is only shown; the model in each is `nets.Net`."""

from __future__ import annotations

from textwrap import indent

EXTENSIONS = ("admonition", "md_in_html", "pymdownx.details", "pymdownx.tabbed", "def_list", "footnotes", "toc")
SUPERFENCES = ("pymdownx.highlight", "pymdownx.superfences")

FENCE = "```torchrecorder\nnets.Net\n:shape: 1,3\n```\n"


def _quoted(text: str) -> str:
    return indent(text, "> ", lambda line: True)


DRAWN = {
    "plain": FENCE,
    "key and value": "```torchrecorder\nnets.Net\nshape: 1,3\n```\n",
    "tildes": "~~~torchrecorder\nnets.Net\n:shape: 1,3\n~~~\n",
    "long": "``````torchrecorder\nnets.Net\n:shape: 1,3\n``````\n",
    "header": "```torchrecorder nets.Net shape=1,3\n```\n",
    "quoted header": '```torchrecorder nets.Net shape="1,3" caption="two words"\n```\n',
    "braces": "```torchrecorder {shape=1,3}\nnets.Net\n```\n",
    "attribute list": "```{.torchrecorder .wide shape=1,3}\nnets.Net\n```\n",
    "as in MyST": "```{torchrecorder} nets.Net\n:shape: 1,3\n```\n",
    "after text": "Text\n" + FENCE + "more text.\n",
    "admonition": "!!! note\n" + indent(FENCE, "    "),
    "details": '??? note "Title"\n    Text.\n\n' + indent(FENCE, "    "),
    "tab": '=== "One"\n\n' + indent(FENCE, "    ") + '\n=== "Two"\n\n    Text.\n',
    "list": "- item\n\n" + indent(FENCE, "    ") + "\n- item\n",
    "tight list": "1. item\n" + indent(FENCE, "    ") + "    more\n2. item\n",
    "list in list": "- item\n    - item\n\n" + indent(FENCE, "        "),
    "quote": _quoted(FENCE),
    "quote with text": _quoted("Text\n" + FENCE + "text"),
    "quote in a list": "- item\n\n" + indent(_quoted(FENCE), "    "),
    "definition": "Term\n:   Text.\n\n" + indent(FENCE, "    "),
    "html": "<div>\n" + FENCE + "</div>\n",
    "markdown in html": "<div markdown>\n\nText\n" + FENCE + "\n</div>\n",
    "tabulator": "- item\n\n" + indent(FENCE, "\t"),
    "under a heading": "## Heading\n" + FENCE,
}

SHOWN = {
    "longer fence": "````markdown\n" + FENCE + "````\n",
    "tildes around": "~~~\n" + FENCE + "~~~\n",
    "indented": "Text:\n\n" + indent(FENCE, "    "),
    "indented with empty lines": "Text:\n\n    ```torchrecorder\n    nets.Net\n\n    :shape: 1,3\n    ```\n",
    "indented in a list": "- item\n\n" + indent(FENCE, "        "),
    "indented quote": "Text:\n\n" + indent(_quoted(FENCE), "    "),
    "html": "<pre><code>\n" + FENCE + "</code></pre>\n",
    "comment": "<!--\n" + FENCE + "-->\n",
    "code in a sentence": "Write `` ```torchrecorder`` and the name.\n",
    "never closed": "```torchrecorder\nnets.Net\n",
}
