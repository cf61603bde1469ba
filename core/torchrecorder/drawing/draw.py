"""From Graphs to finished pictures. The only part of `diagram` that loads Graphviz, so it is imported on a miss."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from torchrecorder.drawing import describe
from torchrecorder.drawing.dot import to_dot
from torchrecorder.drawing.facts import facts_of
from torchrecorder.drawing.labels.labels import Labels
from torchrecorder.drawing.labels.names import class_name, clean
from torchrecorder.drawing.model import Drawing, Inside
from torchrecorder.drawing.nested_views import MAX_BYTES, Opened, open_layers
from torchrecorder.drawing.styles import Picture, Styles, picture_of
from torchrecorder.drawing.svg import finish
from torchrecorder.drawing.table import layer_table
from torchrecorder.drawing.text import tree
from torchrecorder.engine import Engine
from torchrecorder.errors import EngineError, StylerError, TorchRecorderError
from torchrecorder.graph import Graph
from torchrecorder.renderer.classic import to_classic_dot
from torchrecorder.request import DrawingOptions
from torchrecorder.view import View, ViewOptions, make_view

_MAX_PATH = 200


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
    orders: Sequence[Order],
    engine: Engine,
    path: Sequence[str] = (),
    python: str = "",
    on_modules: Callable[[str, Mapping[str, str]], None] | None = None,
) -> list[Drawing | TorchRecorderError]:
    """The pictures in the order they were asked for, laid out in one go; an error in place of one that failed.

    Args:
        orders: What to draw.
        engine: The layout engine.
        path: Folders to import stylers from.
        python: The Python that imports them; this one, if empty.
        on_modules: Is told each styler of a name, and the digests of the modules that its process imported, by name.
    """
    results: dict[int, Drawing | TorchRecorderError] = {}
    plans: dict[int, list[_Sheet]] = {}
    for position, order in enumerate(orders):
        try:
            plans[position] = _plan(order)
        except TorchRecorderError as error:  # a path to focus on that the model does not have
            results[position] = error
    styles = iter(_styles([sheet for plan in plans.values() for sheet in plan], path, python, on_modules))
    dots: dict[int, list[str]] = {}
    for position, plan in plans.items():
        own = [*islice(styles, len(plan))]
        if wrong := next((style for style in own if isinstance(style, StylerError)), None):
            results[position] = wrong
        else:
            dots[position] = [_dot(*pair) for pair in zip(plan, own, strict=True)]
    layouts = iter(engine.layout([dot for of_plan in dots.values() for dot in of_plan]))
    for position, sources in dots.items():
        results[position] = _drawn(plans[position], sources, [*islice(layouts, len(sources))])
    return [results[position] for position in range(len(orders))]


@dataclass(frozen=True, slots=True)
class _Sheet:
    """One picture to lay out: the main one of an order, or the inside of a layer."""

    order: Order
    view: View
    options: DrawingOptions
    opened: Opened | None = None


def _plan(order: Order) -> list[_Sheet]:
    options = order.options
    wanted = ViewOptions(
        depth=options.depth,
        fold=options.fold,
        focus=options.focus,
        expand=options.expand,
        collapse=options.collapse,
        weights="weights" in options.show,
    )
    view = make_view(order.graph, wanted)
    opened = [] if _is_as_before(order) else open_layers(view, wanted)
    return [_Sheet(order, view, options), *(_Sheet(order, it.view, options, it) for it in opened)]


def _is_as_before(order: Order) -> bool:
    """Whether the picture is that of torchrecorder 1.0.3, which could not select parts of a model."""
    options = order.options
    selects = bool(options.focus or options.expand or options.collapse)
    return options.theme == "classic" and order.graph.classic is not None and not selects


def _styles(
    sheets: Sequence[_Sheet],
    path: Sequence[str],
    python: str,
    on_modules: Callable[[str, Mapping[str, str]], None] | None,
) -> list[Styles | StylerError | None]:
    """What stylers say of each picture; None where there is no styler."""
    found: list[Styles | StylerError | None] = [None] * len(sheets)
    named: dict[str, list[int]] = {}
    for i, sheet in enumerate(sheets):
        if sheet.order.styler is not None:
            found[i] = _said_here(sheet)
        elif sheet.options.styler:
            named.setdefault(sheet.options.styler, []).append(i)
    if named:
        from torchrecorder.drawing.styling import styles_by_name

        for styler, places in named.items():
            pictures = [_picture(sheets[i]) for i in places]
            answers = styles_by_name(styler, pictures, path, python, on_modules=on_modules)
            for i, answer in zip(places, answers, strict=True):
                found[i] = answer
    return found


def _said_here(sheet: _Sheet) -> Styles | StylerError:
    from torchrecorder.drawing.styling import styles_by

    try:
        return styles_by(sheet.order.styler, _picture(sheet))
    except StylerError as error:
        return error


def _picture(sheet: _Sheet) -> Picture:
    return picture_of(sheet.view, Labels(sheet.view, show=sheet.options.show))


def _dot(sheet: _Sheet, styles: Styles | StylerError | None) -> str:
    assert not isinstance(styles, StylerError)
    direction = sheet.options.direction
    if _is_as_before(sheet.order):
        return str(to_classic_dot(sheet.order.graph, depth=sheet.view.depth, direction=direction).source)
    return str(to_dot(sheet.view, direction=direction, show=sheet.options.show, styles=styles).source)


def _drawn(plan: Sequence[_Sheet], dots: Sequence[str], layouts: Sequence[str | EngineError]) -> Drawing | EngineError:
    """The main picture with its insides."""
    layout = layouts[0]
    if isinstance(layout, EngineError):
        return layout
    try:
        drawing = _finish(layout, dots[0], plan[0])
    except EngineError as error:  # an engine that wrote something else harms its own picture only
        return error
    return replace(drawing, insides=tuple(_insides(zip(plan[1:], layouts[1:], strict=True))))


def _finish(layout: str, dot: str, sheet: _Sheet) -> Drawing:
    graph, options = sheet.order.graph, sheet.options
    title, description = describe(graph)
    picture = finish(layout, uid=_uid(sheet.order), title=title, desc=description, theme=options.theme)
    return Drawing(
        svg=picture.svg,
        width=picture.width,
        height=picture.height,
        text=tree(graph, depth=sheet.view.depth).rstrip("\n"),
        alt=f"{title}. {description}" if description else title,
        facts=facts_of(graph),
        notes=(*graph.info.notes, *sheet.view.notes),
        dot=dot,
        table=layer_table(graph) if options.table else (),
    )


def _insides(sheets: Iterable[tuple[_Sheet, str | EngineError]]) -> Iterator[Inside]:
    """Those that were laid out, as many as have room; one within another that is left out is left out too."""
    room = MAX_BYTES
    there: set[int | None] = {None}
    for sheet, layout in sheets:
        it = sheet.opened
        if it is None or it.parent not in there or isinstance(layout, EngineError):
            continue
        path = clean(it.path, _MAX_PATH)
        title = f"{path}, {clean(class_name(sheet.order.graph.modules[it.path]), _MAX_PATH)}"
        uid = f"{_uid(sheet.order)}-i{it.call}"
        try:
            picture = finish(layout, uid=uid, title=title, desc="", theme=sheet.options.theme)
        except EngineError:
            continue
        room -= len(picture.svg)
        if room < 0:
            return
        there.add(it.call)
        yield Inside(it.call, path, it.parent, picture.svg, picture.width)


def _uid(order: Order) -> str:
    return f"tr-{order.digest[:12]}"
