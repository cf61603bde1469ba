"""The directive `torchrecorder` for mystmd and Jupyter Book 2, whose plugins are programs of any language.

mystmd runs a file of the project: alone it prints what the plugin offers; with `--directive` it reads a directive from
the standard input, as JSON, and prints the nodes that take its place. Each directive is a process of its own, so what
makes a build fast is the cache.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from torchrecorder.request import OPTIONS
from torchrecorder.site import Body, Message, Outcome, Site, words

_NAME = "torchrecorder"
_Node = dict[str, Any]


def plugin(**settings: object) -> None:
    """Answer mystmd: the program of an executable plugin.

    Args:
        **settings: Those of a documentation by their names, as in `plugin(path=["src"], depth="2")`. Paths begin at the
            folder of the program.
    """
    if "--directive" in sys.argv:
        answer: object = _MystPage(Path(sys.argv[0]).resolve().parent, settings).nodes(json.load(sys.stdin))
    else:
        answer = _offered()
    print(json.dumps(answer))


def _offered() -> _Node:
    options = {option.name: {"type": "string", "doc": option.help} for option in OPTIONS}
    directive = {
        "name": _NAME,
        "doc": "Architecture diagram of a PyTorch model, drawn from its code.",
        "arg": {"type": "string", "doc": "The model, as in pkg.Net or pkg.Net(width=64)."},
        "options": {**options, "caption": {"type": "myst", "doc": options["caption"]["doc"]}},
        "body": {"type": "string", "doc": "The model and options, where there are none above, and a legend."},
    }
    return {"name": "torchrecorder", "directives": [directive]}


class _MystPage(Site[str]):
    """A build of one directive."""

    setting, where = "{}", "`{}` of the plugin torchrecorder"

    def tell(self, message: Message) -> None:
        """Say it on the standard error output, which mystmd shows with `--debug`."""
        for text in filter(None, (message.text, message.details)):
            print(text, file=sys.stderr)

    def locate(self, place: str) -> str:
        return place

    def nodes(self, directive: Mapping[str, Any]) -> list[_Node]:
        """Nodes in place of a directive: a figure, or a box that says why there is none."""
        written = dict(directive.get("options") or {})
        caption = written.pop("caption", None)
        target = directive.get("arg") or ""
        lines = (directive.get("body") or "").splitlines()
        body = Body.read(["", *lines] if target else lines, target, {name: str(it) for name, it in written.items()})
        self.draw({body.target: body})
        outcome = self.shown(body.target)
        if outcome is None or outcome.diagram is None:
            reasons = outcome.reasons() if outcome else ()
            if self.fatal():
                raise SystemExit(1)  # mystmd shows what was said
            return [_box(body.target, reasons)]
        return [{**_figure(outcome), "children": [_image(outcome), *_texts(caption, outcome)]}]


def _figure(outcome: Outcome) -> _Node:
    options = outcome.request.figure
    node: _Node = {"type": "container", "kind": "figure", "class": " ".join((_NAME, *options.classes))}
    if options.name:
        node |= {"label": options.name, "identifier": options.name.lower()}
    return node


def _image(outcome: Outcome) -> _Node:
    diagram, options = outcome.diagram, outcome.request.figure
    assert diagram is not None
    data = base64.b64encode(diagram.without_foot().standalone_svg().encode()).decode()
    width, height = options.size(diagram.size[0])
    sizes = {"width": width or f"{diagram.size[0]:.0f}px", "height": height, "align": options.align or "center"}
    node: _Node = {"type": "image", "url": f"data:image/svg+xml;base64,{data}", "alt": options.alt or diagram.alt}
    return {**node, **{name: value for name, value in sizes.items() if value}}


def _texts(caption: object, outcome: Outcome) -> Iterator[_Node]:
    """The caption, which mystmd has read as Markdown, and what a reader should know."""
    if caption or outcome.request.figure.caption:
        read = caption if isinstance(caption, list) else [_text(str(caption or outcome.request.figure.caption))]
        yield {"type": "caption", "children": [{"type": "paragraph", "children": read}]}
    said = [*filter(None, (*outcome.request.figure.legend.split("\n\n"), outcome.reader_line()))]
    if said:
        yield {"type": "legend", "children": [_paragraph(text) for text in said]}


def _box(target: str, reasons: tuple[str, ...]) -> _Node:
    title = f"No diagram of {target}" if target else "No diagram"
    head = {"type": "admonitionTitle", "children": [_text(title)]}
    return {"type": "admonition", "kind": "error", "children": [head, *map(_paragraph, reasons)]}


def _paragraph(text: str) -> _Node:
    parts = [{"type": "inlineCode", "value": part} if code else _text(part) for part, code in words.with_code(text)]
    return {"type": "paragraph", "children": parts}


def _text(value: str) -> _Node:
    return {"type": "text", "value": value}
