"""From Graphs to finished pictures. The only part of `diagram` that loads Graphviz, so it is imported on a miss."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torchrecorder.diagram.facts import facts_of
from torchrecorder.diagram.model import Drawing
from torchrecorder.diagram.options import DrawingOptions
from torchrecorder.errors import EngineError, TorchRecorderError
from torchrecorder.graph import Graph
from torchrecorder.graph.views import View, make_view
from torchrecorder.renderer import describe
from torchrecorder.renderer.classic import to_classic_dot
from torchrecorder.renderer.dot import to_dot
from torchrecorder.renderer.layout import Engine
from torchrecorder.renderer.styles import Styles, picture_of
from torchrecorder.renderer.svg import finish
from torchrecorder.renderer.text import tree
from torchrecorder.renderer.words.labels import Labels


@dataclass(frozen=True, slots=True)
class Order:
    """One picture to draw."""

    graph: Graph
    digest: str
    """Names the picture in its page: the ids of the SVG begin with it."""
    options: DrawingOptions
    styler: object = None
    """A styler of this process, in place of the one that the options name."""


def draw(
    orders: Sequence[Order], engine: Engine, path: Sequence[str] = (), python: str = ""
) -> list[Drawing | TorchRecorderError]:
    """The pictures in the order they were asked for, laid out in one go; an error in place of one that failed.

    Args:
        orders: What to draw.
        engine: The layout engine.
        path: Folders to import stylers from.
        python: The Python that imports them; this one, if empty.
    """
    results: dict[int, Drawing | TorchRecorderError] = {}
    views: dict[int, View] = {}
    sources: dict[int, str] = {}
    for position, order in enumerate(orders):
        try:
            views[position] = _view(order)
            sources[position] = _dot(views[position], order, path, python)
        except TorchRecorderError as error:  # a path to focus on that the model does not have, a styler that raises
            results[position] = error
    layouts = engine.layout([*sources.values()])
    for (position, dot), layout in zip(sources.items(), layouts, strict=True):
        order, view = orders[position], views[position]
        results[position] = _finished(layout, dot, view, order) if isinstance(layout, str) else layout
    return [results[position] for position in range(len(orders))]


def _view(order: Order) -> View:
    options = order.options
    return make_view(
        order.graph,
        depth=options.depth,
        fold=options.fold,
        focus=options.focus,
        expand=options.expand,
        collapse=options.collapse,
        weights="weights" in options.show,
    )


def _dot(view: View, order: Order, path: Sequence[str], python: str) -> str:
    options = order.options
    if _is_as_before(order):
        return str(to_classic_dot(order.graph, depth=view.depth, direction=options.direction).source)
    styles = _styles(view, order, path, python)
    return str(to_dot(view, direction=options.direction, show=options.show, styles=styles).source)


def _styles(view: View, order: Order, path: Sequence[str], python: str) -> Styles | None:
    if order.styler is None and not order.options.styler:
        return None
    from torchrecorder.diagram.styling import styles_by, styles_by_name

    picture = picture_of(view, Labels(view, show=order.options.show))
    if order.styler is not None:
        return styles_by(order.styler, picture)
    return styles_by_name(order.options.styler, picture, path, python)


def _is_as_before(order: Order) -> bool:
    """Whether the picture is that of torchrecorder 1.0.3, which could not select parts of a model."""
    options = order.options
    selects = bool(options.focus or options.expand or options.collapse)
    return options.theme == "classic" and order.graph.classic is not None and not selects


def _finished(layout: str, dot: str, view: View, order: Order) -> Drawing | EngineError:
    try:
        return _finish(layout, dot, view, order)
    except EngineError as error:  # an engine that wrote something else harms its own picture only
        return error


def _finish(layout: str, dot: str, view: View, order: Order) -> Drawing:
    title, description = describe(order.graph)
    uid = f"tr-{order.digest[:12]}"
    picture = finish(layout, uid=uid, title=title, desc=description, theme=order.options.theme)
    return Drawing(
        svg=picture.svg,
        width=picture.width,
        height=picture.height,
        text=tree(order.graph, depth=view.depth).rstrip("\n"),
        alt=f"{title}. {description}" if description else title,
        facts=facts_of(order.graph),
        notes=(*order.graph.info.notes, *view.notes),
        dot=dot,
    )
