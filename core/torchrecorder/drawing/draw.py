"""From Graphs to finished drawings. Loads Graphviz, so it is imported when a drawing is not in the cache.

With a picture go the insides of layers that it shows closed. A page carries them all, so there are not many: the layers
of the picture first, then those that are closed in them.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import islice

from torchrecorder.drawing.classic import to_classic_dot
from torchrecorder.drawing.details import details
from torchrecorder.drawing.model import MAX_NESTED_BYTES, Drawing, NestedDrawing
from torchrecorder.drawing.styler import OpenWorker, styler_input, styles_by, styles_by_name
from torchrecorder.engine import Engine
from torchrecorder.errors import EngineError, FailedInside, TorchRecorderError
from torchrecorder.faults import failed_inside, unforeseen
from torchrecorder.graph import Graph
from torchrecorder.labels.labels import Labels, words
from torchrecorder.labels.names import class_name, clean, kind_name
from torchrecorder.labels.sheet import lines
from torchrecorder.layout import tuning
from torchrecorder.layout.dot import to_dot
from torchrecorder.layout.finish import finished
from torchrecorder.layout.layered import arranged
from torchrecorder.layout.model import Layout, Styles
from torchrecorder.layout.operands import with_operands
from torchrecorder.layout.paper import PaperLayout
from torchrecorder.proof import Claim, ProvedViews, without_words
from torchrecorder.proof.layout import faults, unsaid
from torchrecorder.request import DrawingOptions
from torchrecorder.request.stylers import StylerInput
from torchrecorder.view import Marks, View, Views
from torchrecorder.view.classic import autograd_graph
from torchrecorder.view.marked import marked
from torchrecorder.view.templates.choice import view_size
from torchrecorder.write.svg import neutral
from torchrecorder.write.text import caption_facts, describe, layer_table, tree

MAX_NESTED = 12  # nested drawings of a page, which carries them all
_MAX_PATH = 200  # characters of a path or class in a text
_POINT = 0.75  # points in a CSS pixel
_PAPER = "layered, since the layout of a paper has faults: {}; please report it"
_LAYERED = "a layered layout with faults: {}; please report it"
_UNSAID = "left out, since it is not so: {}; please report it"
_MOST_UNSAID = 4  # times that a picture is laid out again with less said: a limit of time
_GIVEN_UP = 4  # kinds of layers that are closed again at most, one after another: a limit of time
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
    jobs = [replace(job, graph=job.graph.without_sizes()) if job.graph.info.grade == "names" else job for job in jobs]
    drawings = _drawn(jobs, engine, open_worker, on_modules)
    for way in range(len(_plainer(DrawingOptions()))):
        failed = {i: error for i, error in enumerate(drawings) if isinstance(error, FailedInside)}
        plainer = [replace(jobs[i], options=_plainer(jobs[i].options)[way]) for i in failed]
        again = _drawn(plainer, engine, open_worker, on_modules) if failed else ()
        for (i, error), drawing in zip(failed.items(), again, strict=True):
            if isinstance(drawing, Drawing):
                _ask_for_report(error, "it is drawn in a plainer way")
                drawings[i] = drawing
    return drawings


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
    pages = [_Sheet(job) for job in jobs]
    pending = pages

    def lay_out(pages: Sequence[_Sheet]) -> None:
        _style([picture for page in pages for picture in page.tried], open_worker, on_modules)
        for page in pages:
            page.plan()
        asked = [picture for page in pages for picture in page.tried]
        while asked:
            answers = iter(engine.layout([dot for picture in asked for dot in picture.dots]))
            for picture in asked:
                picture.read([*islice(answers, len(picture.dots))])
            asked = [picture for picture in asked if picture.says_less()]

    while pending:
        for page in pending:
            page.begin()
        lay_out(pending)
        pending = [page for page in pending if page.gives_up()]
    for page in pages:
        page.begin_waiting()
    lay_out(pages)
    for page in pages:
        page.pictures += page.tried
    left = [picture for page in pages for picture in page.pictures if picture.layout is None]
    for picture, answer in zip(left, engine.layout([picture.dot for picture in left]) if left else (), strict=True):
        picture.read_layered(answer)
    return [page.drawing() for page in pages]


def _error(job: DrawJob, error: Exception) -> TorchRecorderError:
    return unforeseen(class_name(job.graph.modules[""]), error)


class _Sheet:
    """The picture of a job and those of layers that are closed in it; plainer ones are tried for poor ones."""

    def __init__(self, job: DrawJob) -> None:
        self._job = job
        self._views: ProvedViews | None = None
        self._left = _GIVEN_UP
        self._error: TorchRecorderError | None = None
        self.pictures: list[_Picture] = []
        self.tried: list[_Picture] = []
        self._waiting: Iterator[_Picture] = iter(())  # what is closed in the picture that is tried
        self._left_of_taken: Iterator[_Picture] = iter(())

    def begin(self) -> None:
        job = self._job
        try:
            n = None if self._views is None else 1  # what is closed in another try waits until that is taken
            self._views = self._views or views_of(job.graph, job.options, job.marks)
            self._waiting = _pictures(job, self._views)
            self.tried = [*islice(self._waiting, n)]
        except Exception as error:  # a path to focus on that the model does not have, or our fault
            self._error, self.tried = _error(job, error), []

    def begin_waiting(self) -> None:
        """Begins what is closed in the picture that was taken and waits."""
        try:
            self.tried = [*self._left_of_taken]
        except Exception as error:
            self._error, self.tried = _error(self._job, error), []

    def plan(self) -> None:
        try:
            for picture in self.tried:
                picture.plan()
        except Exception as error:
            self._error, self.tried = _error(self._job, error), []

    def gives_up(self) -> bool:
        """Whether another try, with less opened, may be easier to read than what is there."""
        if self.tried and (not self.pictures or self.tried[0].is_clearer(self.pictures[0])):
            self.pictures, self._left_of_taken = self.tried, self._waiting
        self._left -= 1
        is_poor = bool(self.tried) and self.tried[0].is_poor
        return is_poor and self._left >= 0 and self._views is not None and self._views.open_fewer()

    def drawing(self) -> Drawing | TorchRecorderError:
        try:
            if self.pictures:
                return _drawing(self.pictures)
        except Exception as error:
            self._error = _error(self._job, error)
        assert self._error is not None  # else there are pictures
        return self._error


class _Picture:
    """The picture of a job, or that of a layer which is closed in it, on its way to a layout."""

    def __init__(self, job: DrawJob, view: View, call: int = 0, path: str = "", parent: int | None = None) -> None:
        self.job, self.view = job, view
        self.call, self.path, self.parent = call, path, parent
        """The closed layer, and the call of the layer in whose picture it is closed."""
        self.answers: list[Styles | TorchRecorderError | None] = [None] * len(self.views)  # a styler's
        self.paper: PaperLayout | None = None
        self.layout: Layout | TorchRecorderError | None = None
        self.unproved: list[str] = []  # reasons why a layout was not taken, or the layered one had to be
        self._wrong: tuple[str, ...] = ()  # of the last layout
        self._left = _MOST_UNSAID

    @property
    def views(self) -> list[View]:
        return [self.view, *(inset.view for inset in self.view.insets)]

    def says_less(self) -> bool:
        """Whether all that is wrong with the layout are words that the picture can do without; it leaves them out."""
        claims = [it for it in self._wrong if isinstance(it, Claim)]
        plainer = without_words(self.view, claims)
        if not claims or len(claims) < len(self._wrong) or plainer == self.view or not self._left:
            return False
        self._left -= 1
        self.unproved[-1:] = [_UNSAID.format(claim) for claim in claims]
        self.view, self._wrong = plainer, ()
        vars(self).pop("dot", None)  # it was of the words before
        self.plan()
        return True

    @property
    def styles(self) -> list[Styles | None]:
        return [answer for answer in self.answers if not isinstance(answer, TorchRecorderError)]

    def plan(self) -> None:
        """Chooses the layout; raises what a styler did wrong."""
        if wrong := next((answer for answer in self.answers if isinstance(answer, TorchRecorderError)), None):
            raise wrong
        options = self.job.options
        if _is_paper(options) and not _is_as_before(self.job):
            is_sideways, room = options.direction == "LR", options.room * _POINT
            paper = PaperLayout(self.view, show=options.show, styles=self.styles, width=room, is_sideways=is_sideways)
            self.paper = None if paper.reason else paper

    @property
    def dots(self) -> list[str]:
        """What the engine is asked: ranks of a paper layout, or the whole layout."""
        return [self.dot] if self.paper is None else self.paper.dots

    @cached_property
    def dot(self) -> str:
        """The text of the layered picture."""
        view, options = self.view, self.job.options
        if _is_as_before(self.job):
            return str(to_classic_dot(view.graph, depth=view.depth, direction=options.direction).source)
        return str(to_dot(view, direction=options.direction, show=options.show, styles=self.styles).source)

    def read(self, answers: Sequence[str | EngineError]) -> None:
        """Sets the layout; leaves None where that of a paper does not do."""
        try:
            if self.paper is not None:
                layout = self.paper.place(answers)
                self.layout = None if layout is None or self._has_faults(layout, _PAPER) else layout
            elif isinstance(answers[0], EngineError):
                self.layout = answers[0]
            else:
                layout = self.layout = with_operands(self.view, "", arranged(answers[0]))
                if not _is_as_before(self.job):
                    self._has_faults(layout, _LAYERED)
        except Exception as error:  # output that is not Graphviz's concerns this picture only
            self.layout = _error(self.job, error)

    def read_layered(self, answer: str | EngineError) -> None:
        """Sets the layout where that of a paper does not do; one that is only hard to read is compared."""
        paper, self.paper = self.paper, None
        self.read([answer])
        other = paper.doubtful if paper is not None else None
        if paper is None or other is None or self._has_faults(other, _PAPER):
            return
        if not isinstance(self.layout, Layout) or paper.is_cheaper(other, self.layout):
            self.layout = other

    @property
    def is_poor(self) -> bool:
        """Whether the layout of a paper does not do, or is wide or tangled."""
        if self.paper is None or not isinstance(self.layout, Layout):
            return self.layout is None
        return self.paper.is_hard_to_read(self.layout)

    def is_clearer(self, other: _Picture) -> bool:
        """Whether it is better shown than another poor picture.

        Less is worth showing if that cannot be read, and the width and crossings of this one cost less than half.
        """
        if self.layout is None and other.layout is not None:
            return False
        # a box in a box may be gone where the outer one is an inset
        if self._n_opened >= other._n_opened or view_size(self.view) >= view_size(other.view) - 1:
            return not self.is_poor or self._hardship < other._hardship
        return not other._is_readable and (not self.is_poor or 2 * self._hardship < other._hardship)

    @property
    def _n_opened(self) -> int:
        return sum(not box.around for view in self.views for box in view.boxes)

    @property
    def _is_readable(self) -> bool:
        """Whether it is wide at most, with letters that can be read in its column, or has a few crossings."""
        if self.paper is None or not isinstance(self.layout, Layout):
            return self._hardship <= tuning.CLOSED_FROM_COST
        is_wide = self.paper.is_hard_to_read(self.layout, tuning.CLOSED_FROM)
        return not is_wide or self._hardship <= tuning.CLOSED_FROM_COST

    @property
    def _hardship(self) -> float:
        """The cost of its width and crossings to a reader, in points; endless without a layout of a paper."""
        layout = None if self.paper is None else self.paper.doubtful or self.layout
        if self.paper is None or not isinstance(layout, Layout):
            return math.inf
        return self.paper.hardship(layout)

    def _has_faults(self, layout: Layout, said: str) -> bool:
        self._wrong = faults(self.view, layout)
        self.unproved += [said.format(self._wrong[0])] if self._wrong else []
        return bool(self._wrong)


def views_of(graph: Graph, options: DrawingOptions, marks: Marks | None = None) -> ProvedViews:
    """The Views of a Graph, proved."""
    is_classic = graph.info.recorder == "classic"
    views = Views(autograd_graph(graph) if is_classic else graph, options, marks=marks)
    return ProvedViews(views, partial(words, show=options.show))


def _pictures(job: DrawJob, views: ProvedViews) -> Iterator[_Picture]:
    """The picture, then those of what is closed in it."""
    view = views.view(beside=_is_paper(job.options))
    yield _marked(_Picture(job, view))
    if not _is_as_before(job):
        yield from map(_marked, _nested(job, views, view))


def _marked(picture: _Picture) -> _Picture:
    if (marks := picture.job.marks) is None:
        return picture
    return _Picture(picture.job, marked(picture.view, marks), picture.call, picture.path, picture.parent)


def _is_paper(options: DrawingOptions) -> bool:
    return (options.layout, options.theme) == ("paper", "modern")


def _is_as_before(job: DrawJob) -> bool:
    """Whether the picture is that of torchrecorder 1.0.3, which could not select parts of a model."""
    options = job.options
    selects = bool(options.focus or options.expand or options.collapse)
    return options.theme == job.graph.info.recorder == "classic" and not selects


def _nested(job: DrawJob, views: ProvedViews, view: View) -> list[_Picture]:
    """The closed layers of a view that show something when they are opened, and those in them."""
    graph, pictures = view.graph, list[_Picture]()
    calling = {call.parent for call in graph.calls}
    pending: list[tuple[int | None, View]] = [(None, view), *((None, inset.view) for inset in view.insets)]
    seen: set[str] = {views.focus, ""}
    groups: dict[str, tuple[int, int | None, tuple[int, ...]]] = {}
    is_reported = False
    for parent, around in pending:
        for node in around.nodes if job.marks is None else ():
            if node.kind == "function" and len({graph.ops[op].call for op in node.ops}) == 1:
                path = f"{graph.calls[graph.ops[node.ops[0]].call].module}/{node.name}"
                groups.setdefault(path, (len(graph.calls) + node.ops[-1], parent, node.ops))
        for row in (graph.calls[node.calls[0]] for node in around.nodes if node.kind == "call"):
            call, path = row.id, row.module
            module = graph.modules.get(path) if row.kind == "module" else None
            if module is None or path in seen or (module.native and call not in calling):  # nothing ran in it
                continue
            if len(pictures) == MAX_NESTED:
                return pictures
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
                pictures.append(_Picture(job, inside, call, path, parent))
                pending.append((call, inside))
    for path, inside in views.opened({path: ops for path, (*_, ops) in groups.items()}) if groups else ():
        if len(inside.nodes) > 2 and inside.boxes and len(pictures) < MAX_NESTED:
            pictures.append(_Picture(job, inside, *groups[path][:1], path, groups[path][1]))
    return pictures


def _style(
    pictures: Sequence[_Picture],
    open_worker: OpenWorker | None,
    on_modules: Callable[[str, Mapping[str, str]], None] | None,
) -> None:
    """Asks stylers about all pictures: those of a name once, in a worker."""
    named: dict[str, list[tuple[_Picture, int, StylerInput]]] = {}
    for picture in pictures:
        job = picture.job
        for i, view in enumerate(picture.views if job.styler is not None or job.options.styler else ()):
            try:
                given = styler_input(view, Labels(view, show=job.options.show))
                if job.styler is None:
                    named.setdefault(job.options.styler, []).append((picture, i, given))
                else:
                    picture.answers[i] = styles_by(job.styler, given)
            except Exception as error:
                picture.answers[i] = _error(job, error)
    for styler, asked in named.items():
        assert open_worker is not None
        answers = styles_by_name(styler, [given for *_, given in asked], open_worker, on_modules=on_modules)
        for (picture, i, _), answer in zip(asked, answers, strict=True):
            picture.answers[i] = answer


def _drawing(pictures: Sequence[_Picture]) -> Drawing | TorchRecorderError:
    first, *nested = pictures
    job, view, layout = first.job, first.view, first.layout
    assert layout is not None  # the layered one was tried
    if isinstance(layout, TorchRecorderError):
        return layout
    graph, options = job.graph, job.options
    title, description = describe(graph)
    facts = caption_facts(graph, options.show)
    beside = tuple(f"{inset.letter}: {note}" for inset in view.insets for note in inset.view.notes)
    shown = (*view.notes, *beside)
    text = tree(view.graph, like=view, fold=bool(options.fold), show=options.show)
    memory = [f"activations: {facts['activations']}, without autograd"] if "activations" in facts else []
    layout = finished(layout, uid=_uid(job), title=title, desc=description, theme=options.theme, grey=options.grey)
    insides = tuple(_nested_drawings(nested))
    lost = (sentence for drawn in (layout, *(inside.layout for inside in insides)) for sentence in unsaid(drawn))
    return Drawing(
        layout=layout,
        text="\n".join((text.rstrip("\n"), *lines(facts))),
        alt=". ".join(filter(None, (title, description, _insets(view)))),
        facts=facts,
        notes=(*graph.info.notes, *shown, *memory),
        foot=tuple(note.partition("; ")[0] for note in shown),  # what is behind it is advice on options
        weakened=(*view.weakened, *(fault for picture in pictures for fault in picture.unproved), *lost),
        dot=first.dot,
        nested=insides,
        table=layer_table(graph) if options.table else (),
        details="" if _is_as_before(job) else details(view),
    )


def _insets(view: View) -> str:
    """The insets in words: `Beside it is A, Bottleneck`."""
    graph, names = view.graph, list[str]()
    for inset in view.insets:
        module = graph.modules.get(graph.calls[inset.calls[0]].module)
        names.append(f"{inset.letter}, {kind_name(module)}" if module is not None else inset.letter)
    verb = "is" if len(names) == 1 else "are"
    return clean(f"Beside it {verb} {'; '.join(names)}", _MAX_PATH) if names else ""


def _nested_drawings(pictures: Sequence[_Picture]) -> Iterator[NestedDrawing]:
    """The nested drawings, as many as have room; one within another that is left out is left out too."""
    room = MAX_NESTED_BYTES
    drawn: set[int | None] = {None}
    for picture in pictures:
        job, layout = picture.job, picture.layout
        if picture.parent not in drawn or not isinstance(layout, Layout):
            continue
        path, uid, options = clean(picture.path, _MAX_PATH), f"{_uid(job)}-i{picture.call}", job.options
        module = job.graph.modules.get(picture.path)
        title = f"{path}, {clean('function' if module is None else class_name(module), _MAX_PATH)}"
        layout = finished(layout, uid=uid, title=title, desc="", theme=options.theme, grey=options.grey)
        length = len(neutral(layout))
        room -= length
        if room < 0:
            return
        drawn.add(picture.call)
        yield NestedDrawing(picture.call, path, picture.parent, layout, length, details(picture.view))


def _uid(job: DrawJob) -> str:
    return f"tr-{job.digest[:12]}"
