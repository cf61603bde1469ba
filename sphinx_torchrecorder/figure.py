"""The contents of a figure, one function for each way to show a diagram."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from docutils import nodes
from sphinx.environment import BuildEnvironment

from sphinx_torchrecorder.nodes import diagram_picture
from torchrecorder.diagram import Diagram, FigureOptions
from torchrecorder.errors import TorchRecorderError


def dress(frame: nodes.Element, options: FigureOptions) -> None:
    """Give the figure its place and classes; here and not in the directive, because a site may set them too."""
    if options.align:
        frame["align"] = options.align
    frame["classes"] += [name for name in options.classes if name not in frame["classes"]]


def inline(diagram: Diagram, options: FigureOptions, copy: int) -> nodes.Node:
    """The picture as a part of an HTML page.

    Args:
        diagram: What it shows.
        options: With another text for its `alt` or another width, perhaps.
        copy: Counts the same picture in a page, for ids that are unique.
    """
    return diagram_picture(html=diagram.inline_svg(copy=copy, alt=options.alt, width=options.width))


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
    """A box that nobody overlooks; it looks like an admonition, so every theme has a style for it."""
    reason = error.summary() if error else "it was not drawn"
    return nodes.container(
        "",
        nodes.paragraph("", f"No diagram of {target}", classes=["admonition-title"]),
        nodes.paragraph("", reason),
        classes=["torchrecorder-error", "admonition", "error"],
    )


def plain(target: str) -> nodes.Node:
    """The bare name, for builders that write no pages."""
    return nodes.paragraph("", "", nodes.literal(target, target))


def add_remarks(frame: nodes.Element, notes: Sequence[str], error: TorchRecorderError | None) -> None:
    """Put under the caption what a reader should know: what was guessed, and where the picture ends too early."""
    remarks = [nodes.paragraph("", note, classes=["torchrecorder-note"]) for note in notes]
    if error is not None:
        text = f"This diagram is not complete: {error.summary()}"
        remarks.insert(0, nodes.paragraph("", text, classes=["torchrecorder-error"]))
    if remarks:
        frame += nodes.legend("", *remarks)
