"""Where a fence may stand, and where it is only shown; the model in each is `nets.Net`."""

from __future__ import annotations

from textwrap import indent

EXTENSIONS = (
    "admonition",
    "md_in_html",
    "pymdownx.details",
    "pymdownx.tabbed",
    "def_list",
    "footnotes",
    "tables",
    "toc",
)
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
    "line of an item": "- ```torchrecorder\n  nets.Net\n  :shape: 1,3\n  ```\n- Text.\n",
    "line of an item, as Markdown indents": "-   ```torchrecorder\n    nets.Net\n    :shape: 1,3\n    ```\n    more\n",
    "line of an item, further in": "- ```torchrecorder\n    nets.Net\n    :shape: 1,3\n    ```\n",
    "line of a numbered item": "1. Text.\n2. ```torchrecorder\n   nets.Net\n   :shape: 1,3\n   ```\n",
    "line of a quoted item": "> - ```torchrecorder\n>   nets.Net\n>   :shape: 1,3\n>   ```\n",
    "line of a definition": "Term\n:   ```torchrecorder\n    nets.Net\n    :shape: 1,3\n    ```\n",
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
    "line of an item, indented": "Text:\n\n    - ```torchrecorder\n      nets.Net\n      ```\n",
    "never closed, indented": "Text:\n\n    ```torchrecorder\n    nets.Net\n",
    "never closed, comment": "<!--\n```torchrecorder\nnets.Net\n-->\n",
    "another word, indented": "Text:\n\n    ```Torchrecorder\n    nets.Net\n    ```\n",
    "another word in a longer fence": "````markdown\n```torch-recorder\nnets.Net\n```\n````\n",
    "word in a table": "| fence |\n|---|\n| ```torchrecorder``` |\n| `` ```torchrecorder `` |\n",
    "table, indented": "Text:\n\n    | ```torchrecorder nets.Net``` |\n",
    "table in code": "Text ``| ```torchrecorder nets.Net | ``, and more.\n",
}

_WORD = "{!r} is not a known word for a fence, did you mean torchrecorder?"
_OPEN = "the fence is not closed: write ``` in a line of its own below it, indented as it is"
_CELL = "a fence cannot stand in a cell of a table: write it below, or the table in HTML with <td markdown>"

WRONG = {
    "never closed": (2, "```torchrecorder\nnets.Net\n", _OPEN),
    "never closed, in an item": (4, "- item\n\n    ```torchrecorder\n    nets.Net\n\nText.\n", _OPEN),
    "never closed, line of an item": (2, "- ```torchrecorder\nnets.Net\n```\n", _OPEN),
    "never closed, before another": (2, "```torchrecorder\nnets.Net\n\n```python\nx = 1\n```\n", _OPEN),
    "closed by more": (
        2,
        "```torchrecorder\nnets.Net\n````\n",
        "the fence is closed by ````, which is longer than its opening: write ```",
    ),
    "capital letter": (2, "```Torchrecorder\nnets.Net\n```\n", _WORD.format("Torchrecorder")),
    "hyphen": (2, "```torch-recorder\nnets.Net\n```\n", _WORD.format("torch-recorder")),
    "underscore": (2, "~~~ torch_recorder nets.Net\n~~~\n", _WORD.format("torch_recorder")),
    "two words": (2, "```torch recorder\nnets.Net\n```\n", _WORD.format("torch recorder")),
    "a letter less": (2, "```torchrecoder\nnets.Net\n```\n", _WORD.format("torchrecoder")),
    "a letter more": (2, "```{torchrecorders} nets.Net\n```\n", _WORD.format("torchrecorders")),
    "table": (4, "| a | b |\n|---|---|\n| x | ```torchrecorder nets.Net``` |\n", _CELL),
    "table, with breaks": (4, "| a |\n|---|\n| ```torchrecorder<br>nets.Net<br>``` |\n", _CELL),
    "table, no outer lines": (4, "a | b\n---|---\n```{torchrecorder} nets.Net``` | x\n", _CELL),
}
"""What was meant for a fence but is none, in the line of a page that has one line before it, and what is said of it."""
