"""The model in words, beside a picture or in place of one: a sentence, facts, a tree of lines, the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from torchrecorder.graph import Graph, Module, TensorMeta, batch_size
from torchrecorder.graph.batch import known
from torchrecorder.graph.memory import activation_memory
from torchrecorder.labels.names import (
    class_name,
    clean,
    count,
    flops,
    flops_by_call,
    run_name,
    shape,
    size,
    tensor,
    times,
)
from torchrecorder.labels.sheet import sheet
from torchrecorder.labels.summaries import summary
from torchrecorder.request.requests import USUAL
from torchrecorder.view import View
from torchrecorder.view.node_kinds import torch_kind
from torchrecorder.view.plan.repeats import CallRun, call_runs

MAX_LINES = 400  # as many as ten pages
MAX_ROWS = 1000  # a page carries them all
_NAME_WIDTH, _MAX_NAME = 100, 200  # characters of a name in a line, and in a table, which can break it
_LISTED = 3  # how many inputs or outputs are named in a sentence


def describe(graph: Graph) -> tuple[str, str]:
    """A title and a description: `ResNet` and `21 layers, 11.7 M parameters; input 1×3×224×224, output 1×1000`."""
    model = graph.modules.get("")
    title = clean(class_name(model) if model else "model", 80)
    called = [graph.modules[path] for path in {c.module for c in graph.calls if c.kind == "module"} & {*graph.modules}]
    # layers have parameters of their own and do more than normalise; so ResNet-18 has 18 and 3 shortcuts
    n = sum(module.params.own > 0 and torch_kind(module) != "norm" for module in called)
    layers = f"{n} layer{'' if n == 1 else 's'}, {count(model.params.total if model else 0)} parameters"
    outputs = {path: values[-1] for path, values in graph.outputs.items() if values}
    ends = ", ".join(filter(None, (_ends(graph, "input", graph.inputs), _ends(graph, "output", outputs))))
    failure = f"the forward failed: {graph.info.failure.error}" if graph.info.failure else ""
    batch = batch_size(graph)
    run_with = "" if batch is None else f"N = {batch}"
    return title, clean("; ".join(filter(None, (layers, ends, run_with, failure))), 600)


def _ends(graph: Graph, word: str, ends: Mapping[str, int]) -> str:
    if len(ends) > _LISTED:
        return f"{len(ends)} {word}s"
    words, meta_of = [], known(graph)
    for path, value in ends.items():
        meta = meta_of(value)
        name = f"{word} {path}" if len(ends) > 1 and path else word
        words.append(f"{name} {shape(meta.shape)}" if meta else name)
    return ", ".join(words)


def caption_facts(graph: Graph, show: Collection[str] = ()) -> dict[str, str]:
    """Facts for a caption, by a short name, in the order a reader wants them."""
    model = graph.modules[""]
    facts = {
        "model": class_name(model),
        "parameters": f"{model.params.total:,}",
        "input": ", ".join(_fact(graph, value) for value in graph.inputs.values()),
        "output": ", ".join(_fact(graph, values[0]) for values in graph.outputs.values() if values),
        "batch": "" if (batch := batch_size(graph)) is None else str(batch),
        "mode": graph.info.mode,
        "run": graph.info.executed,
    }
    if model.params.trainable != model.params.total:
        facts["trainable"] = f"{model.params.trainable:,}"
    known = [op.flops for op in graph.ops if op.flops is not None]
    if any(known):
        facts["flops"] = f"{sum(known):,}"
    if "memory" in show:
        memory = activation_memory(graph)
        most = "at least" if memory.unknown or graph.info.failure is not None else "up to"
        call = 0 if memory.peak_op is None else graph.ops[memory.peak_op].call
        where = clean(graph.calls[call].module, _NAME_WIDTH)
        facts["activations"] = f"{most} {size(memory.peak)} at once" + (f", in {where}" if where else "")
    if graph.info.guessed:
        facts |= {"guessed": graph.info.guessed, "grade": graph.info.grade}
    facts |= sheet(graph.info.sheet)
    return {name: fact for name, fact in facts.items() if fact}


def _fact(graph: Graph, value: int) -> str:
    meta, name = known(graph)(value), graph.values[value].name
    if meta is None:
        return "?"
    return f"{name} {shape(meta.shape)}" if name else shape(meta.shape)


def tree(
    graph: Graph,
    *,
    depth: int | Literal["all"] = "all",
    like: View | None = None,
    fold: bool = True,
    show: Collection[str] = USUAL,
) -> str:
    """The calls of the model, one a line, with the shape that each gives and its parameters.

    With a picture in place of a depth, what is open in it has lines, and lines have its letters. If folded, equal
    neighbours are one line with `×N`.
    """
    letters = {call: inset.letter for inset in like.insets for call in inset.calls} if like is not None else {}
    drawn = [box.calls[0] for box in like.boxes if box.parent is None] if like is not None else []
    drawn += [node.calls[0] for node in like.nodes if node.kind == "call"] if like is not None else []
    # the module that a picture shows is a node if it is closed
    opened = None if like is None else _opened(like)
    runs = call_runs(graph, depth, opened, root=drawn[0] if drawn else 0, fold=fold)
    work, meta_of = flops_by_call(graph) if "flops" in show else {}, known(graph)
    cells = [_cells(graph, run, branches, letters, show, work, meta_of) for run, branches in _branched(runs)]
    shown = cells[:MAX_LINES]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    lines = []
    for left, *numbers in (((name, line, out), *more) for name, line, out, *more in shown):
        columns = [*(f"{text:<{width}}" for text, width in zip(left, widths, strict=False))]
        columns += [f"{text:>{width}}" for text, width in zip(numbers, widths[3:], strict=True)]
        lines.append("  ".join(column for column in columns if column).rstrip())
    if (more := len(cells) - MAX_LINES) > 0:
        lines.append(f"… {more} more")
    return "\n".join(lines) + "\n"


def _opened(view: View) -> set[int]:
    """The calls that something drawn in a picture, or in its insets, is in."""
    graph, opened = view.graph, set[int]()
    for shown in (view, *(inset.view for inset in view.insets)):
        drawn = [graph.calls[call].parent for node in shown.nodes for call in node.calls]
        drawn += [graph.ops[node.op].call for node in shown.nodes if node.op is not None]
        for call in drawn:
            opened.update(around.id for around in graph.around(call))
    return opened


def _branched(runs: Sequence[CallRun]) -> Iterator[tuple[CallRun, str]]:
    is_last, below = [], {0}
    for run in reversed(runs):
        is_last.append(run.level not in below)
        below = {level for level in below if level < run.level} | {run.level}
    open_levels: list[bool] = []
    for run, last in zip(runs, reversed(is_last), strict=True):
        del open_levels[max(run.level - 1, 0) :]
        stem = "".join("│  " if is_open else "   " for is_open in open_levels)
        yield run, (stem + ("└─ " if last else "├─ ")) if run.level else ""
        if run.level:
            open_levels.append(not last)


def _cells(
    graph: Graph,
    run: CallRun,
    branches: str,
    letters: Mapping[int, str],
    show: Collection[str],
    work: Mapping[int, int],
    meta_of: Callable[[int], TensorMeta | None],
) -> tuple[str, str, str, str, str]:
    """The columns of one line: name, layer, output, parameters, operations."""
    name, module = _name_and_module(graph, run, _NAME_WIDTH)
    repeated = times(len(run.calls), run.repetition)
    again = "".join(f" {word}" if word.startswith("×") else f" · {word}" for word in (repeated, *run.differs) if word)
    metas = [meta_of(value) for value in graph.calls[run.calls[-1]].outputs.values()]
    out = ", ".join(tensor(meta, show) for meta in metas[:3] if meta is not None) + (", …" if len(metas) > 3 else "")
    out = out if "shapes" in show else ""
    done = flops(work[run.calls[0]]) if work.get(run.calls[0]) else ""
    if module is None:
        return branches + name, "function" + again, out, "", done
    layer = summary(class_name(module), module.extra_repr) if module.native else class_name(module)
    layer = f"{letters[run.calls[0]]}, {layer}" if run.calls[0] in letters else layer
    line, total = clean(layer + again, _NAME_WIDTH), run.params if "params" in show else 0
    params = "" if not total else f"{total:,}" if total < 100_000 else count(total)
    return (branches + name, line, out, params, done) if run.level else (line, "", out, params, done)


def _name_and_module(graph: Graph, run: CallRun, limit: int) -> tuple[str, Module | None]:
    """The path of a run from the layer around it, and the module that is called; None for a function."""
    call = graph.calls[run.calls[0]]
    # the name of a function is in no path of a layer
    around = next((row.module for row in graph.around(call.parent) if row.kind == "module"), "")
    name = run_name(graph, [graph.calls[c].module for c in run.calls], around)
    return clean(name, limit), graph.modules.get(call.module) if call.kind == "module" else None


@dataclass(frozen=True, slots=True)
class LayerRow:
    """A layer, or several that are the same again."""

    label: str
    """Its depth and its number among all of that depth, `2-1`; `0` for the model."""
    level: int
    name: str
    """Its path from the layer around it."""
    layer: str
    repeat: int
    output: str
    params: int
    flops: int
    """0 where no rule is known."""


def layer_table(graph: Graph, *, depth: int | Literal["all"] = "all") -> tuple[LayerRow, ...]:
    """The rows of the model, a layer before those in it, up to `MAX_ROWS`."""
    work, rows, meta_of = flops_by_call(graph), [], known(graph)
    numbers: dict[int, int] = {}
    for run in call_runs(graph, depth)[:MAX_ROWS]:
        number = numbers[run.level] = numbers.get(run.level, 0) + 1
        call = graph.calls[run.calls[0]]
        name, module = _name_and_module(graph, run, _MAX_NAME)
        outputs = (meta_of(value) for value in call.outputs.values())
        row = LayerRow(
            label=f"{run.level}-{number}" if run.level else "0",
            level=run.level,
            name=name,
            layer=clean(class_name(module) if module else call.module, _MAX_NAME),
            repeat=len(run.calls),
            output=", ".join(shape(meta.shape) for meta in outputs if meta),
            params=run.params,
            flops=work.get(call.id, 0),
        )
        rows.append(row)
    return tuple(rows)
