"""The contents of a figure, one function for each way to show a diagram."""

from __future__ import annotations

import hashlib
from pathlib import Path

from docutils import nodes
from sphinx.environment import BuildEnvironment

from sphinx_torchrecorder.environment import Form
from sphinx_torchrecorder.links import reference
from sphinx_torchrecorder.nodes import Picture, diagram_picture
from torchrecorder.diagram import Diagram, FigureOptions, Outcome, remarks
from torchrecorder.errors import TorchRecorderError


def dress(frame: nodes.Element, options: FigureOptions, form: Form) -> None:
    """Give the figure its place and classes; here and not in the directive, because a site may set them too.

    A tree of modules is not moved aside: it has no width that text could flow around.
    """
    if options.align and form != "text":
        frame["align"] = options.align
    frame["classes"] += [name for name in options.classes if name not in frame["classes"]]


def unwrap(frame: nodes.Element) -> None:
    """Take text out of a figure that has no caption and no name: on paper, a figure floats away from its place."""
    if len(frame) == 1 and not frame["ids"]:
        frame.replace_self(frame[0])


def inline(frame: nodes.Element, diagram: Diagram, options: FigureOptions, docname: str, copy: int) -> nodes.Node:
    """The picture as a part of an HTML page, with references that Sphinx is still to resolve.

    Args:
        frame: The figure around it.
        diagram: What it shows.
        options: With another text for its `alt` or another width, perhaps.
        docname: The document that it stands in.
        copy: Counts the same picture in a page, for ids that are unique.
    """
    width, natural = options.width, f"{diagram.size[0]:.0f}px"
    if options.align in ("left", "right"):  # text flows around, so the caption must not make the figure wider
        frame["width"] = width or natural
        width = width and "100%"
    style = "" if width else f' style="--torchrecorder-width:{natural}"'
    classes = diagram.classes if options.links else ()
    references = [reference(cls, docname) for cls in classes]
    return diagram_picture("", *references, picture=Picture(diagram, copy, options.alt, width, style))


def image(diagram: Diagram, options: FigureOptions, env: BuildEnvironment, docname: str) -> nodes.Node:
    """The picture as a file, lying beside the doctrees until the builder collects it."""
    svg = diagram.standalone_svg().encode()
    file = Path(env.doctreedir, "images", f"torchrecorder-{hashlib.sha256(svg).hexdigest()[:16]}.svg")
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(svg)
    env.images.add_file(docname, str(file))
    shown = nodes.image("", uri=str(file), alt=options.alt or diagram.alt, candidates={"image/svg+xml": str(file)})
    if options.width:
        shown["width"] = options.width
    return shown


def tree(diagram: Diagram) -> nodes.Node:
    """The tree of modules, for output without pictures."""
    return nodes.literal_block(diagram.text, diagram.text, language="none", classes=["torchrecorder-tree"])


def missing(target: str, error: TorchRecorderError | None) -> nodes.Node:
    """A box that nobody overlooks; an admonition, so every theme and every builder has a style for it."""
    title = f"No diagram of {target or 'a model'}"
    reason = error.summary() if error else "It was not drawn."
    classes = ["torchrecorder-error", "error"]
    return nodes.admonition("", nodes.title("", title), nodes.paragraph("", reason), classes=classes)


def plain(target: str) -> nodes.Node:
    """The bare name, for builders that write no pages."""
    return nodes.paragraph("", "", nodes.literal(target, target))


def add_remarks(frame: nodes.Element, outcome: Outcome) -> None:
    """Put under the caption what a reader should know of the picture."""
    shown = [nodes.paragraph("", text, classes=["torchrecorder-remark"]) for text in remarks(outcome)]
    if shown:
        frame += nodes.legend("", *shown)
