"""A live model in, a diagram out: for notebooks and scripts, which have torch at hand and want no cache."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from torchrecorder.drawing.draw import DrawJob
from torchrecorder.drawing.draw import draw as draw_graphs
from torchrecorder.engine import find_engine
from torchrecorder.errors import OptionError, TorchRecorderError
from torchrecorder.graph import Graph, to_json
from torchrecorder.graph.model import Mode
from torchrecorder.page import Diagram
from torchrecorder.recording.inputs import Inputs, make_inputs, record_guessed
from torchrecorder.recording.run import Run, capture
from torchrecorder.recording.target import as_arguments, as_module
from torchrecorder.request import read_drawing, shapes_from

if TYPE_CHECKING:
    from torch import nn
    from torch.export import ExportedProgram

Shape = str | Sequence[int] | Sequence[Sequence[int]]


def draw(
    net: nn.Module | ExportedProgram,
    *,
    shape: Shape | None = None,
    inputs: Any = None,
    mode: Mode = "eval",
    run: Run = "auto",
    seed: int = 0,
    depth: int | Literal["auto", "all"] = "auto",
    fold: bool = True,
    focus: str = "",
    expand: Sequence[str] = (),
    collapse: Sequence[str] = (),
    direction: Literal["TB", "LR"] = "TB",
    layout: Literal["paper", "layered"] = "paper",
    theme: Literal["modern", "classic"] = "modern",
    show: Sequence[str] = (),
    hide: Sequence[str] = (),
    styler: object = None,
    engine: str = "auto",
) -> Diagram:
    """Record one forward of a model and draw it.

    Args:
        net: The model, or what `torch.export` gives; it is left as it was.
        shape: The shapes of its inputs: `(1, 3)` for one, `[(1, 3), (1, 8)]` for two, or the text of the `shape`
            option, `"ids=int64[1,16]<100"`.
        inputs: The inputs themselves, instead of `shape`: `(args, kwargs)`, a tuple of arguments, a dict of keyword
            arguments, or the one argument.
        mode: Whether the model runs in `eval` or `train` mode.
        run: How it runs; see the option of that name.
        seed: Where random inputs start.
        depth: 0 the model as one box, 1 its children, …; `"all"`, or `"auto"`: what stays readable.
        fold: Whether equal neighbours are drawn once, with their number.
        focus: Path of the module to draw instead of the whole model.
        expand: Paths of modules to open beyond the depth; `*` stands for any part.
        collapse: Paths of modules to keep closed; `*` stands for any part.
        direction: `"TB"` draws downwards, `"LR"` to the right.
        layout: `"paper"` lays it out like a figure of a paper where that is readable, `"layered"` always as Graphviz
            does.
        theme: The look; `"classic"` is that of version 1.
        show: What to say besides: `flops`, `memory` and `dtypes` of tensors, `weights` as nodes.
        hide: What not to say: `shapes`, `params`.
        styler: A `Styler`, or a class of them, that chooses colours, lines and labels; see
            `torchrecorder.drawing.Styler`.
        engine: `auto`, `pure`, `dot`, or the path of a Graphviz program.

    Raises:
        OptionError: An option is unknown or has a bad value.
        InputError: The inputs cannot be made.
        ForwardError: The forward raised; its `graph` holds what ran before.
        StylerError: The styler raised, or gave what cannot be drawn.
        EngineError: The picture could not be laid out.
    """
    written = {"depth": str(depth), "fold": str(fold), "focus": focus, "direction": direction}
    written |= {"layout": layout, "theme": theme}
    lists = {"expand": " ".join(expand), "collapse": " ".join(collapse), "show": " ".join(show), "hide": " ".join(hide)}
    options = read_drawing({**written, **lists})
    model: Any = as_module(net)

    def record(chosen: Inputs, run: Run) -> Graph:
        return capture(model, chosen.args, chosen.kwargs, mode=mode, run=run, seed=seed, guessed=chosen.guessed)

    given = _given(shape, inputs, seed)
    graph = record_guessed(model, record, run=run, seed=seed, mode=mode) if given is None else record(given, run)
    digest = hashlib.sha256(f"{to_json(graph)}{options}".encode()).hexdigest()
    (result,) = draw_graphs([DrawJob(graph, digest, options, styler)], find_engine(engine))
    if isinstance(result, TorchRecorderError):
        raise result
    return Diagram(result, load_graph=lambda: graph)


def _given(shape: Shape | None, inputs: Any, seed: int) -> Inputs | None:
    if shape is not None and inputs is not None:
        raise OptionError(("shape and inputs both say what the model is called with; give one of them",))
    if inputs is not None:
        return Inputs(*as_arguments(inputs))
    if shape is None:
        return None
    try:
        specs = shapes_from(shape)
    except ValueError as error:
        raise OptionError((f"shape: {error}",)) from error
    return make_inputs(specs, seed)
