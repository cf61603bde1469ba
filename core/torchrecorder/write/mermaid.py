"""From a View to a flowchart of Mermaid, which code forges draw where they show Markdown.

Nodes are n0, n1, …, boxes b0, b1, …, so nothing of the user's is ever a name; in labels every character that could mean
something to Mermaid, to its Markdown or to HTML is written as a number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from torchrecorder.labels.labels import Labels
from torchrecorder.layout.dot import NEXT_STEP
from torchrecorder.layout.edge_shapes import edge_shapes
from torchrecorder.request import DrawingOptions
from torchrecorder.view import Box, Node, View
from torchrecorder.write.look import COLOURS
from torchrecorder.write.text import describe

MAX_NODES = 60  # forges give the picture the width of a page and no zoom worth the name
_TINT = "29"  # the opacity of a node, after its colour: the text has that of the page
_LETTERS = r"[^\W_]"
_MEANS = re.compile(rf"(?<!{_LETTERS})[._-]|[._-](?!{_LETTERS})|[^\w .,:()\[\]=/–×·→←−÷…-]")
_APART = "#8203;"
"""A space without width: `\\n` and `$$` are looked for behind numbers, too."""
_NOT_PLAIN = re.compile(r"[^\w .,:()=×·→–-]+")


def to_mermaid(view_for: Callable[[DrawingOptions], View], options: DrawingOptions) -> str:
    """The text of the flowchart: the View that the options ask for, or a smaller one if that has too many nodes."""
    view = wanted = view_for(options)
    for depth in ("auto", 0):
        if len(view.nodes) > MAX_NODES:
            view = view_for(replace(options, depth=depth, expand=()))
    notes = [*wanted.notes] if view is wanted else [f"smaller than asked for, which would be {len(wanted.nodes)} nodes"]
    return "\n".join(_lines(view, options, notes)) + "\n"


def _lines(view: View, options: DrawingOptions, notes: list[str]) -> Iterator[str]:
    title, description = (_NOT_PLAIN.sub(" ", text).strip() for text in describe(view.graph))
    labels = Labels(view, show=options.show)
    shapes = edge_shapes(view, options.show) if "shapes" in options.show else {}
    yield f"flowchart {options.direction}"
    yield f"  accTitle: {title}"
    yield f"  accDescr: {description}"
    yield from (f"  %% {_NOT_PLAIN.sub(' ', note)}" for note in notes)
    yield from _things(view, labels)
    for edge in view.edges:
        shape = NEXT_STEP if edge.back else shapes.get((edge.tail, edge.head), "")
        word = " · ".join(filter(None, (shape, edge.part)))
        arrow = ("-.->" if edge.skip or edge.back else "-->") + (f'|"{_text(word)}"|' if word else "")
        yield f"  n{edge.tail} {arrow} n{edge.head}"
    kinds: dict[str, list[str]] = {}
    for node in view.nodes:
        kinds.setdefault(labels.kind(node), []).append(f"n{node.id}")
    for kind, names in sorted(kinds.items()):
        yield f"  classDef {kind} fill:{COLOURS[kind]}{_TINT},stroke:{COLOURS[kind]}"
        yield f"  class {','.join(names)} {kind}"
    if view.boxes:
        yield f"  classDef box fill:{COLOURS['block']}0d,stroke:{COLOURS['block']}"
        yield f"  class {','.join(f'b{box.id}' for box in view.boxes)} box"


def _things(view: View, labels: Labels) -> Iterator[str]:
    content: dict[int | None, list[Box | Node]] = {None: []}
    for node in view.nodes:  # a box stands where its first node does
        thing: Box | Node = node
        around = node.box
        while around is not None and around not in content:
            content[around] = [thing]
            thing, around = view.boxes[around], view.boxes[around].parent
        content[around].append(thing)
    indent = "  "
    pending: list[Box | Node | None] = [*reversed(content[None])]
    while pending:
        next_ = pending.pop()
        if next_ is None:
            indent = indent[:-2]
            yield f"{indent}end"
        elif isinstance(next_, Node):
            label = labels.node(next_)
            text = "<br>".join(_text(line) for line in (label.name, label.line) if line) or " "
            first, last = "()" if labels.kind(next_) != "io" else ("([", "])")
            first, last = ("((", "))") if label.is_sign else (first, last)
            yield f'{indent}n{next_.id}{first}"{text}"{last}'
        else:
            yield f'{indent}subgraph b{next_.id}["{_text(labels.box(next_)) or " "}"]'
            indent += "  "
            pending += [None, *reversed(content[next_.id])]


def _text(text: str) -> str:
    return _MEANS.sub(lambda sign: f"#{ord(sign[0])};" + (_APART if sign[0] in "$\\" else ""), text)
