"""A live model in, a diagram out: for notebooks and scripts, which have torch at hand and want no cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from torch import nn

from torchrecorder.drawing.draw import DrawJob
from torchrecorder.drawing.draw import draw as draw_graphs
from torchrecorder.engine import find_engine
from torchrecorder.errors import ForwardError, OptionError, TorchRecorderError, near_miss
from torchrecorder.graph import Graph, to_json
from torchrecorder.graph.model import Mode
from torchrecorder.page import Diagram
from torchrecorder.page.files import FILE_TYPES, for_print, laid_out_for, points
from torchrecorder.recording.guess.advice import advice_on_shapes
from torchrecorder.recording.guess.search import record_guessed
from torchrecorder.recording.inputs import Inputs, make_inputs
from torchrecorder.recording.run import Run, capture
from torchrecorder.recording.target import as_arguments, as_module, load_model
from torchrecorder.request import OPTIONS, DrawingOptions, read_drawing, shapes_from
from torchrecorder.request.callables import needed_arguments, parameters_of
from torchrecorder.request.reading import as_text

if TYPE_CHECKING:
    from torch.export import ExportedProgram

Shape = str | Sequence[int] | Sequence[Sequence[int] | str]

_ELSEWHERE = {"input_size": "shape", "input_data": "inputs"}  # what torchinfo and torchview call it
_READ = {option.name for option in OPTIONS} - {"shape", "inputs", "styler", "width"}
"""The options that `draw` reads as a page does; the others may be objects, and a width is that of print."""
_FILES = ("file", "filename", "out", "output", "path", "save")
"""What other tools call the file that they write."""


def draw(
    net: nn.Module | ExportedProgram | type[nn.Module] | str,
    *given: Any,
    shape: Shape | None = None,
    inputs: Any = None,
    mode: Mode = "eval",
    run: Run = "auto",
    seed: int = 0,
    depth: int | Literal["auto", "all"] = "auto",
    fold: bool | str | Sequence[str] = True,
    focus: str = "",
    expand: str | Sequence[str] = (),
    collapse: str | Sequence[str] = (),
    direction: Literal["TB", "LR"] = "TB",
    layout: Literal["paper", "layered"] = "paper",
    theme: Literal["modern", "classic"] = "modern",
    grey: bool = False,
    foot: bool = True,
    width: str = "",
    show: str | Sequence[str] = (),
    hide: str | Sequence[str] = (),
    styler: object = None,
    engine: str = "auto",
    **named: Any,
) -> Diagram:
    """Record one forward of a model and draw it.

    Without inputs and shapes they are found.

    Args:
        net: The model, or what `torch.export` gives; it is left as it was. A class that needs no arguments and a
            dotted name, `"pkg.Net(width=64)"`, are built first.
        given: The inputs, as in `net(x)`, or their shapes, `(1, 3)`.
        shape: The shapes of its inputs: `(1, 3)` for one, `[(1, 3), (1, 8)]` for two, or the text of the `shape`
            option, `"ids=int64[1,16]<100"`.
        inputs: The inputs themselves, instead of `shape`: `(args, kwargs)`, a tuple of arguments, a dict of keyword
            arguments, or the one argument.
        mode: Whether the model runs in `eval` or `train` mode.
        run: How it runs: `real` numbers, `fake` tensors, the `meta` device, or what suits its size.
        seed: Seed of the random weights and inputs.
        depth: 0 the model as one box, 1 its children, …, `all`, or `auto`: what stays readable.
        fold: Whether what repeats is drawn once, with its number; or paths of what to fold, or after `!` not.
        focus: Path of the module to draw instead of the whole model.
        expand: Paths of modules to open beyond the depth; `*` stands for any part.
        collapse: Paths of modules or lists of modules to keep closed; `*` stands for any part.
        direction: `TB` draws downwards, `LR` to the right.
        layout: `paper` lays it out like a figure of a paper where that is readable, `layered` always as Graphviz does.
        theme: The look; `classic` is that of version 1.
        grey: Whether it is drawn in shades of grey, for print.
        foot: Whether files say at the foot of the picture what it does not show.
        width: Of a column of print, `"3.25in"`: the layout whose letters are largest there, which are named in `notes`.
        show: What to say besides: `flops`, `memory` and `dtypes` of tensors, `weights` as nodes, `settings` of layers.
        hide: What not to say: `shapes`, `params`.
        styler: A `Styler`, or a class of them, that chooses colours, lines and labels; see
            `torchrecorder.drawing.Styler`.
        engine: `auto`, `pure`, `dot`, or the path of a Graphviz program.
        named: Keyword arguments of the forward: `draw(net, x, mask=mask)`. One that is called like an option goes
            into `inputs`.

    Raises:
        OptionError: An option is unknown or has a bad value, or the inputs are said twice.
        TargetError: The dotted name names no model.
        InputError: The inputs cannot be made.
        ForwardError: The forward raised; its `graph` holds what ran before, its `diagram` shows it, and a notebook too.
        StylerError: The styler raised, or gave what cannot be drawn.
        EngineError: The picture could not be laid out.
    """
    options = read_drawing({name: value for name, value in locals().items() if name in _READ}, *_unfit(width))
    drawn = partial(_drawn, options=options, styler=styler, engine=engine, width=str(width or ""))
    model: Any = _built(net, seed)
    chosen = _inputs(model, given, named, shape, inputs, seed)

    def record(made: Inputs, run: Run) -> Graph:
        return capture(model, made.args, made.kwargs, mode=mode, run=run, seed=seed, guessed=made.guessed)

    try:
        guessed = partial(record_guessed, model, record, run=run, seed=seed, mode=mode)
        return drawn(guessed() if chosen is None else record(chosen, run))
    except ForwardError as error:
        error.advice = error.advice or _advice(error, model, given, shape, partial(record, run=run))
        if error.graph is not None:
            with suppress(TorchRecorderError):
                error.diagram = drawn(error.graph)
        raise


def _unfit(width: object) -> tuple[str, ...]:
    try:
        if width not in ("", None):
            points(as_text(width))
    except OptionError as error:
        return error.problems
    return ()


def _built(net: object, seed: int) -> object:
    if isinstance(net, str):
        return load_model(net, seed)
    if not (isinstance(net, type) and issubclass(net, nn.Module)):
        if not isinstance(module := as_module(net), nn.Module):
            what = "the model first, an nn.Module or its dotted name"
            raise TypeError(f"draw(net, x) takes {what}; this is {type(net).__name__}")
        return module
    if needed := needed_arguments(net):
        call = f"{net.__name__}({', '.join(f'{name}=…' for name in needed)})"
        raise OptionError((f"{net.__name__} is a class that cannot be built without arguments; write draw({call})",))
    return net()


def _drawn(graph: Graph, options: DrawingOptions, styler: object, engine: str, width: str) -> Diagram:
    wanted, text = laid_out_for(options, width) if width else [options], to_json(graph)
    jobs = [DrawJob(graph, hashlib.sha256(f"{text}{each}".encode()).hexdigest(), each, styler) for each in wanted]
    diagrams: list[Diagram] = []
    for drawing in draw_graphs(jobs, find_engine(engine)):
        if isinstance(drawing, TorchRecorderError):
            raise drawing
        diagrams.append(Diagram(drawing, load_graph=lambda: graph, options=options))
    return for_print(diagrams, width) if width else diagrams[0]


def _inputs(
    model: object, given: tuple[Any, ...], named: Mapping[str, Any], shape: Shape | None, inputs: Any, seed: int
) -> Inputs | None:
    """Inputs that the user wants; None if they are to be found."""
    if problems := [*_unclear(given, shape, inputs), *_unknown(model, named)]:
        raise OptionError(tuple(problems))
    if given and all(map(_is_shape, given)):
        shape = given[0] if len(given) == 1 else [*given]
    elif given:
        return Inputs(given, {**named})
    if shape is not None:
        try:
            made = make_inputs(shapes_from(shape), seed)
        except ValueError as error:
            raise OptionError((f"shape: {error}",)) from error
        return Inputs(made.args, {**made.kwargs, **named})
    if inputs is not None:
        args, kwargs = as_arguments(inputs)
        return Inputs(args, {**kwargs, **named})
    return Inputs((), {**named}) if named else None


def _unclear(given: tuple[Any, ...], shape: Shape | None, inputs: Any) -> Iterator[str]:
    said = [name for name, value in (("shape", shape), ("inputs", inputs)) if value is not None]
    if given:
        said.insert(0, "what follows the model")
    if len(said) > 1:
        yield f"{' and '.join(said)} both say what the model is called with; give one of them"
    endings = tuple(f".{each.name}" for each in FILE_TYPES)
    files = [name for name in given if isinstance(name, str) and name.endswith(endings)]
    yield from (f"{file!r} is not a shape; write draw(net, x).save({file!r})" for file in files)
    if given and all(type(size) is int for size in given):
        numbers = ", ".join(map(str, given))
        yield f"each argument is an input or its shape; write draw(net, ({numbers},)) or draw(net, inputs=({numbers},))"


def _advice(
    error: ForwardError, model: Any, given: tuple[Any, ...], shape: Shape | None, record: Callable[[Inputs], Graph]
) -> str:
    """Advice on the shapes, or if all arguments were put into one: they may be meant so, and are for some models."""
    shapes = shape if shape is not None else [*given] if given and all(map(_is_shape, given)) else None
    if shapes is not None and (advice := advice_on_shapes(error, model, shapes_from(shapes), record)):
        return advice
    holder = given[0] if len(given) == 1 else None
    if isinstance(holder, (tuple, list)) and not _is_shape(holder):
        return f"the {type(holder).__name__} was given as one argument; draw(net, *args) gives each of its own"
    is_dict = type(holder) is dict
    return "the dict was given as one argument; draw(net, **kwargs) gives each of its own" if is_dict else ""


def _unknown(model: object, named: Mapping[str, Any]) -> Iterator[str]:
    """Problems of what is neither an option nor an argument of the forward."""
    parameters = parameters_of(getattr(model, "forward", None))
    if parameters is None or any(p.kind is p.VAR_KEYWORD for p in parameters):
        return
    known = [p.name for p in parameters if p.kind is not p.POSITIONAL_ONLY]
    options = [p.name for p in parameters_of(draw) or () if p.kind is p.KEYWORD_ONLY]
    for name in named:
        if name not in known:
            near = _ELSEWHERE.get(name) or near_miss(name, [*options, *known])
            advice = f"did you mean {near}?" if near else f"the forward takes {', '.join(known) or 'nothing'}"
            if name in _FILES:
                advice = f"write draw(net, x).save({named[name]!r})"
            if any(option.name == name for option in OPTIONS):
                advice = "it is an option of pages"
            yield f"{name} is neither an option nor an argument of the forward of {type(model).__name__}; {advice}"


def _is_shape(value: object) -> bool:
    """Whether an argument is the shape of an input, or of several, and no input."""
    if isinstance(value, str):
        return True
    return isinstance(value, (tuple, list)) and len(value) > 0 and all(type(n) is int or _is_shape(n) for n in value)
