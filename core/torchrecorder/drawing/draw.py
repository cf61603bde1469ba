"""From Graphs to finished drawings. Loads Graphviz, so it is imported when a drawing is not in the cache.

With a picture go the insides of layers that it shows closed. A page carries them all, so there are not many: the layers
of the picture first, then those that are closed in them.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice

from torchrecorder.drawing.classic import to_classic_dot
from torchrecorder.drawing.details import details
from torchrecorder.drawing.model import MAX_NESTED_BYTES, Drawing, NestedDrawing
from torchrecorder.drawing.styler import OpenWorker, styler_input, styles_by, styles_by_name
from torchrecorder.engine import Engine
from torchrecorder.errors import EngineError, FailedInside, StylerError, TorchRecorderError
from torchrecorder.faults import failed_inside, unforeseen
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels
from torchrecorder.labels.names import class_name, clean, kind_name
from torchrecorder.layout.dot import to_dot
from torchrecorder.layout.finish import finished
from torchrecorder.layout.layered import arranged
from torchrecorder.layout.model import Layout, Styles
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.proof import ProvedViews
from torchrecorder.proof.layout import faults
from torchrecorder.request import DrawingOptions
from torchrecorder.request.stylers import StylerInput
from torchrecorder.view import Marks, View, Views
from torchrecorder.view.classic import autograd_graph
from torchrecorder.view.marked import marked
from torchrecorder.write.svg import neutral
from torchrecorder.write.text import caption_facts, describe, layer_table, tree

MAX_NESTED = 12
_MAX_PATH = 200
_POINT = 0.75
"""Points in a CSS pixel."""
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class DrawJob:
    graph: Graph
    digest: str
    """Names the picture in its page: the ids of the SVG begin with it."""
    options: DrawingOptions
    styler: object = None
    """One of this process, in place of the one that the options name."""
    marks: Marks | None = None
    """Of a Graph that holds two models."""


def draw(
    jobs: Sequence[DrawJob],
    engine: Engine,
    open_worker: OpenWorker | None = None,
    on_modules: Callable[[str, Mapping[str, str]], None] | None = None,
) -> list[Drawing | TorchRecorderError]:
    """The drawings in the order of the jobs, laid out in one go; an error in place of one that failed.

    Where our own code raises, the picture is drawn in a plainer way instead, and the log asks for a report. Stylers
    that options name are asked in a worker; `on_modules` gets each one's name and the digests of the modules imported
    for it.
    """
    jobs = [replace(it, graph=it.graph.without_sizes()) if it.graph.info.grade == "names" else it for it in jobs]
    found = _drawn(jobs, engine, open_worker, on_modules)
    for way in range(len(_plainer(DrawingOptions()))):
        failed = {i: error for i, error in enumerate(found) if isinstance(error, FailedInside)}
        plainer = [replace(jobs[i], options=_plainer(jobs[i].options)[way]) for i in failed]
        again = _drawn(plainer, engine, open_worker, on_modules) if failed else ()
        for (i, error), drawing in zip(failed.items(), again, strict=True):
            if isinstance(drawing, Drawing):
                _ask_for_report(error, "it is drawn in a plainer way")
                found[i] = drawing
    return found


def _plainer(options: DrawingOptions) -> Sequence[DrawingOptions]:
    """Options that need less and less of our code: another layout, nothing drawn once for several, one level."""
    layered = replace(options, layout="layered")
    unfolded = replace(layered, fold=False)
    return layered, unfolded, replace(unfolded, depth=1, expand=(), collapse=())


def _ask_for_report(error: FailedInside, instead: str) -> None:
    _LOG.warning("%s; %s; %s", error.summary(), instead, error.hint())


def _drawn(
    jobs: Sequence[DrawJob],
    engine: Engine,
    open_worker: OpenWorker | None,
    on_modules: Callable[[str, Mapping[str, str]], None] | None,
) -> list[Drawing | TorchRecorderError]:
    results: dict[int, Drawing | TorchRecorderError] = {}
    views: dict[int, list[_JobView]] = {}
    for position, job in enumerate(jobs):
        try:
            views[position] = _views(job)
        except Exception as error:  # a path to focus on that the model does not have, or our fault
            results[position] = _error(job, error)
    styled = [(one.job, view) for of_job in views.values() for one in of_job for view in one.views]
    styles = iter(_styles(styled, open_worker, on_modules))
    asked: dict[int, list[_Asked]] = {}
    for position, of_job in views.items():
        own = [[*islice(styles, len(one.views))] for one in of_job]
        if wrong := next((style for one in own for style in one if isinstance(style, TorchRecorderError)), None):
            results[position] = wrong
            continue
        try:
            asked[position] = [one.asked(found) for one, found in zip(of_job, own, strict=True)]
        except Exception as error:
            results[position] = _error(jobs[position], error)
    layouts = iter(_layouts([one for pictures in asked.values() for one in pictures], engine))
    for position, pictures in asked.items():
        laid_out = [*islice(layouts, len(pictures))]
        try:
            results[position] = _drawing(views[position], pictures, laid_out)
        except Exception as error:
            results[position] = _error(jobs[position], error)
    return [results[position] for position in range(len(jobs))]


def _error(job: DrawJob, error: Exception) -> TorchRecorderError:
    return unforeseen(class_name(job.graph.modules[""]), error)


@dataclass(frozen=True, slots=True)
class NestedView:
    """The inside of a closed layer."""

    call: int
    path: str
    parent: int | None
    """The call of the layer in whose nested view it is closed."""
    view: View


@dataclass(frozen=True, slots=True)
class _JobView:
    job: DrawJob
    view: View
    nested: NestedView | None = None

    @property
    def views(self) -> list[View]:
        """All that a styler is asked about."""
        return [self.view, *(inset.view for inset in self.view.insets)]

    @property
    def options(self) -> DrawingOptions:
        return self.job.options

    def asked(self, found: Sequence[Styles | TorchRecorderError | None]) -> _Asked:
        options, styles = self.options, [style for style in found if not isinstance(style, TorchRecorderError)]
        if _is_as_before(self.job) or not _is_paper(options):
            return _Asked(self, styles)
        paper = PaperLayout(
            self.view,
            show=options.show,
            styles=styles,
            width=options.room * _POINT,
            is_sideways=options.direction == "LR",
        )
        return _Asked(self, styles, None if paper.reason else paper)


@dataclass(frozen=True)
class _Asked:
    """What the engine is asked for one picture: ranks of a paper layout, or the whole layout."""

    one: _JobView
    styles: Sequence[Styles | None]
    paper: PaperLayout | None = None
    unproved: list[str] = field(default_factory=list)
    """Why a layout was not taken, or the layered one had to be."""

    @property
    def dots(self) -> list[str]:
        return [self.dot] if self.paper is None else self.paper.dots

    @cached_property
    def dot(self) -> str:
        """The text of the layered picture."""
        one, options = self.one, self.one.options
        if _is_as_before(one.job):
            classic = to_classic_dot(one.view.graph, depth=one.view.depth, direction=options.direction)
            return str(classic.source)
        return str(to_dot(one.view, direction=options.direction, show=options.show, styles=self.styles).source)


def _layouts(asked: Sequence[_Asked], engine: Engine) -> list[Layout | TorchRecorderError]:
    """All pictures in one run of the engine, and those for which the paper layout does not do in a second one."""
    answers = iter(engine.layout([dot for one in asked for dot in one.dots]))
    found: list[Layout | TorchRecorderError | None] = []
    for one in asked:
        own = [*islice(answers, len(one.dots))]
        try:
            found.append(_layered(one, own[0]) if one.paper is None else _proved(one, one.paper.place(own)))
        except Exception as error:
            found.append(_error(one.one.job, error))
    pending = [i for i, layout in enumerate(found) if layout is None]
    second = engine.layout([asked[i].dot for i in pending]) if pending else []
    for i, answer in zip(pending, second, strict=True):
        try:
            found[i] = _layered(asked[i], answer)
        except Exception as error:  # output that is not Graphviz's concerns this picture only
            found[i] = _error(asked[i].one.job, error)
    return [layout for layout in found if layout is not None]


def _layered(one: _Asked, answer: str | EngineError) -> Layout | EngineError:
    if isinstance(answer, EngineError):
        return answer
    layout = arranged(answer)
    if not _is_as_before(one.one.job) and (found := faults(one.one.view, layout)):
        one.unproved.append(f"a layered layout with faults: {found[0]}; please report it")
    return layout


def _proved(one: _Asked, layout: Layout | None) -> Layout | None:
    """A layout that shows the View as it is; None if it does not."""
    if layout is not None and (found := faults(one.one.view, layout)):
        one.unproved.append(f"layered, since the layout of a paper has faults: {found[0]}; please report it")
        return None
    return layout


def views_of(graph: Graph, options: DrawingOptions, marks: Marks | None = None) -> ProvedViews:
    """The Views of a Graph, proved."""
    is_classic = graph.info.recorder == "classic"
    return ProvedViews(Views(autograd_graph(graph) if is_classic else graph, options, marks=marks))


def _views(job: DrawJob) -> list[_JobView]:
    views = views_of(job.graph, job.options, job.marks)
    view = views.view(beside=_is_paper(job.options))
    nested = [] if _is_as_before(job) else nested_views(views, view)
    if (marks := job.marks) is not None:
        view = marked(view, marks)
        nested = [replace(one, view=marked(one.view, marks)) for one in nested]
    return [_JobView(job, view), *(_JobView(job, one.view, one) for one in nested)]


def _is_paper(options: DrawingOptions) -> bool:
    return (options.layout, options.theme) == ("paper", "modern")


def _is_as_before(job: DrawJob) -> bool:
    """Whether the picture is that of torchrecorder 1.0.3, which could not select parts of a model."""
    options = job.options
    selects = bool(options.focus or options.expand or options.collapse)
    return options.theme == job.graph.info.recorder == "classic" and not selects


def nested_views(views: ProvedViews, view: View) -> list[NestedView]:
    """The closed layers of a view that show something when they are opened, and those in them."""
    graph, found = view.graph, list[NestedView]()
    calling = {call.parent for call in graph.calls}
    pending: list[tuple[int | None, View]] = [(None, view), *((None, inset.view) for inset in view.insets)]
    seen: set[str] = {views.focus, ""}
    is_reported = False
    for parent, around in pending:
        for row in (graph.calls[node.calls[0]] for node in around.nodes if node.kind == "call"):
            call, path = row.id, row.module
            module = graph.modules.get(path) if row.kind == "module" else None
            if module is None or path in seen or (module.native and call not in calling):  # nothing ran in it
                continue
            if len(found) == MAX_NESTED:
                return found
            seen.add(path)
            try:
                inside = views.inside(call)
            except TorchRecorderError:
                continue
            except Exception as error:
                if not is_reported:  # equal layers fail alike
                    _ask_for_report(failed_inside(path, error, doing="open"), "it stays closed")
                is_reported = True
                continue
            shown = [node for node in inside.nodes if node.kind in ("call", "op", "gap")]
            if inside.boxes and len(shown) > 1:  # it shows more than its name
                found.append(NestedView(call, path, parent, inside))
                pending.append((call, inside))
    return found


def _styles(
    views: Sequence[tuple[DrawJob, View]],
    open_worker: OpenWorker | None,
    on_modules: Callable[[str, Mapping[str, str]], None] | None,
) -> list[Styles | TorchRecorderError | None]:
    found: list[Styles | TorchRecorderError | None] = [None] * len(views)
    given: dict[int, StylerInput] = {}
    named: dict[str, list[int]] = {}
    for i, (job, view) in enumerate(views):
        if job.styler is None and not job.options.styler:
            continue
        try:
            given[i] = styler_input(view, Labels(view, show=job.options.show))
        except Exception as error:
            found[i] = _error(job, error)
            continue
        if job.styler is None:
            named.setdefault(job.options.styler, []).append(i)
            continue
        try:
            found[i] = styles_by(job.styler, given[i])
        except StylerError as error:
            found[i] = error
    for styler, places in named.items():
        assert open_worker is not None
        answers = styles_by_name(styler, [given[i] for i in places], open_worker, on_modules=on_modules)
        for i, answer in zip(places, answers, strict=True):
            found[i] = answer
    return found


def _drawing(
    views: Sequence[_JobView], asked: Sequence[_Asked], layouts: Sequence[Layout | TorchRecorderError]
) -> Drawing | TorchRecorderError:
    layout, job = layouts[0], views[0].job
    if isinstance(layout, TorchRecorderError):
        return layout
    graph, options = job.graph, job.options
    view = views[0].view
    title, description = describe(graph)
    facts = caption_facts(graph, options.show)
    beside = tuple(f"{inset.letter}: {note}" for inset in view.insets for note in inset.view.notes)
    shown = (*view.notes, *beside)
    memory = [f"activations: {facts['activations']}, without autograd"] if "activations" in facts else []
    return Drawing(
        layout=finished(layout, uid=_uid(job), title=title, desc=description, theme=options.theme, grey=options.grey),
        text=tree(view.graph, like=view, fold=options.fold, show=options.show).rstrip("\n"),
        alt=". ".join(filter(None, (title, description, _beside(view)))),
        facts=facts,
        notes=(*graph.info.notes, *shown, *memory),
        foot=tuple(note.partition("; ")[0] for note in shown),  # what is behind it is advice on options
        weakened=(*view.weakened, *(fault for one in asked for fault in one.unproved)),
        dot=asked[0].dot,
        nested=tuple(_nested_drawings(zip(views[1:], layouts[1:], strict=True))),
        table=layer_table(graph) if options.table else (),
        details="" if _is_as_before(job) else details(view),
    )


def _beside(view: View) -> str:
    """The insets in words: `Beside it is A, Bottleneck`."""
    graph, names = view.graph, list[str]()
    for inset in view.insets:
        module = graph.modules.get(graph.calls[inset.calls[0]].module)
        names.append(f"{inset.letter}, {kind_name(module)}" if module is not None else inset.letter)
    verb = "is" if len(names) == 1 else "are"
    return clean(f"Beside it {verb} {'; '.join(names)}", _MAX_PATH) if names else ""


def _nested_drawings(views: Iterable[tuple[_JobView, Layout | TorchRecorderError]]) -> Iterator[NestedDrawing]:
    """The nested drawings, as many as have room; one within another that is left out is left out too."""
    room = MAX_NESTED_BYTES
    there: set[int | None] = {None}
    for one, layout in views:
        it = one.nested
        if it is None or it.parent not in there or isinstance(layout, TorchRecorderError):
            continue
        path = clean(it.path, _MAX_PATH)
        title = f"{path}, {clean(class_name(one.job.graph.modules[it.path]), _MAX_PATH)}"
        uid = f"{_uid(one.job)}-i{it.call}"
        picture = finished(layout, uid=uid, title=title, desc="", theme=one.options.theme, grey=one.options.grey)
        length = len(neutral(picture))
        room -= length
        if room < 0:
            return
        there.add(it.call)
        yield NestedDrawing(it.call, path, it.parent, picture, length, details(it.view))


def _uid(job: DrawJob) -> str:
    return f"tr-{job.digest[:12]}"
