"""From Graphs to finished pictures. The only part of `diagram` that loads Graphviz, so it is imported on a miss."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from torchrecorder.diagram.facts import facts_of
from torchrecorder.diagram.insides import MAX_BYTES, Opened, open_layers
from torchrecorder.diagram.model import Drawing, Inside
from torchrecorder.diagram.options import DrawingOptions
from torchrecorder.errors import EngineError, TorchRecorderError
from torchrecorder.graph import Graph
from torchrecorder.graph.views import View, make_view
from torchrecorder.renderer import describe
from torchrecorder.renderer.dot import to_dot
from torchrecorder.renderer.layout import Engine
from torchrecorder.renderer.svg import finish
from torchrecorder.renderer.table import layer_table
from torchrecorder.renderer.text import tree
from torchrecorder.renderer.words.names import class_name, clean

_MAX_PATH = 200


@dataclass(frozen=True, slots=True)
class Order:
    """One picture to draw."""

    graph: Graph
    digest: str
    """Names the picture in its page: the ids of the SVG begin with it."""
    options: DrawingOptions


def draw(orders: Sequence[Order], engine: Engine) -> list[Drawing | TorchRecorderError]:
    """The pictures in the order they were asked for, laid out in one go; an error in place of one that failed."""
    results: dict[int, Drawing | TorchRecorderError] = {}
    sheets: dict[int, list[_Sheet]] = {}
    for position, order in enumerate(orders):
        try:
            view = _view(order)
            opened = [_Sheet(it.view, _dot(it.view, it.options), it) for it in open_layers(view, order.options)]
            sheets[position] = [_Sheet(view, _dot(view, order.options)), *opened]
        except TorchRecorderError as error:  # a path to focus on that the model does not have
            results[position] = error
    layouts = iter(engine.layout([sheet.dot for of_order in sheets.values() for sheet in of_order]))
    for position, (main, *inner) in sheets.items():
        layout, *others = islice(layouts, 1 + len(inner))
        made = _finished(layout, main, orders[position]) if isinstance(layout, str) else layout
        insides = _insides(zip(inner, others, strict=True), orders[position])
        results[position] = replace(made, insides=tuple(insides)) if isinstance(made, Drawing) else made
    return [results[position] for position in range(len(orders))]


@dataclass(frozen=True, slots=True)
class _Sheet:
    """One picture to lay out: the main one of an order, or the inside of a layer."""

    view: View
    dot: str
    opened: Opened | None = None


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


def _dot(view: View, options: DrawingOptions) -> str:
    return str(to_dot(view, direction=options.direction, show=options.show).source)


def _finished(layout: str, sheet: _Sheet, order: Order) -> Drawing | EngineError:
    try:
        return _finish(layout, sheet, order)
    except EngineError as error:  # an engine that wrote something else harms its own picture only
        return error


def _finish(layout: str, sheet: _Sheet, order: Order) -> Drawing:
    title, description = describe(order.graph)
    picture = finish(layout, uid=_uid(order), title=title, desc=description, theme=order.options.theme)
    return Drawing(
        svg=picture.svg,
        width=picture.width,
        height=picture.height,
        text=tree(order.graph, depth=sheet.view.depth).rstrip("\n"),
        alt=f"{title}. {description}" if description else title,
        facts=facts_of(order.graph),
        notes=(*order.graph.info.notes, *sheet.view.notes),
        dot=sheet.dot,
        table=layer_table(order.graph) if order.options.table else (),
    )


def _insides(sheets: Iterable[tuple[_Sheet, str | EngineError]], order: Order) -> Iterator[Inside]:
    """Those that were laid out, as many as have room; one within another that is left out is left out too."""
    room = MAX_BYTES
    there: set[int | None] = {None}
    for sheet, layout in sheets:
        it = sheet.opened
        if it is None or it.parent not in there or isinstance(layout, EngineError):
            continue
        path = clean(it.path, _MAX_PATH)
        title = f"{path}, {clean(class_name(order.graph.modules[it.path]), _MAX_PATH)}"
        try:
            picture = finish(layout, uid=f"{_uid(order)}-i{it.call}", title=title, desc="", theme=order.options.theme)
        except EngineError:
            continue
        room -= len(picture.svg)
        if room < 0:
            return
        there.add(it.call)
        yield Inside(it.call, path, it.parent, picture.svg, picture.width)


def _uid(order: Order) -> str:
    return f"tr-{order.digest[:12]}"
