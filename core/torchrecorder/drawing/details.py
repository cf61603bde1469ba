"""The rows of the panel of details: what a page can tell of each node and box besides the words on it.

A drawing carries them as an object of JSON, by the keys that the SVG gives its nodes (`data-n`). A row is a list
without empty values at its end: path, class, settings, parameters, floating-point operations, shapes out, shapes in if
they differ, source line, repeats, the parts that it is drawn for, and of the model notes on its recording. Numbers are
those of one of several. Paths are the same in all pictures of a model and after each build: addresses end with them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from torchrecorder.graph import Call
from torchrecorder.graph.batch import known
from torchrecorder.labels.formulas import formula
from torchrecorder.labels.labels import is_loop
from torchrecorder.labels.names import class_name, clean, count, flops_by_call, shape
from torchrecorder.labels.operands import Names
from torchrecorder.view import Box, Node, View

_MAX_PATH, _MAX_SETTINGS, _MAX_NOTE = 200, 160, 300  # characters
_MAX_SHAPES, _MAX_NOTES = 3, 20  # a panel is as wide as a phone, and a page carries those of all nodes
_PACKAGES = ("site-packages", "dist-packages")
_N_FACTS, _PARAMS = 9, 3  # values of a row before its parts, and which of them is the number of parameters
_USUAL = re.compile(
    r", (?:bias=True|eps=1e-05|momentum=0\.1|affine=True|elementwise_affine=True|track_running_stats=True|dilation=1"
    r"|ceil_mode=False)(?=,|$)"
)
"""Settings of torch's layers that have their usual values."""
_Row = list[Any]


def details(view: View) -> str:
    rows = {key: _trimmed(row) for key, row in _DetailsWriter(view).rows()}
    if rows and (notes := view.graph.info.notes):
        first = rows[next(iter(rows))]  # the outermost box, or the model as one node
        first += [""] * (_N_FACTS + 1 - len(first)) + ["\n".join(clean(note, _MAX_NOTE) for note in notes[:_MAX_NOTES])]
    for inset in view.insets:
        rows |= {f"{inset.letter}{key}": _trimmed(row) for key, row in _DetailsWriter(inset.view).rows()}
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


class _DetailsWriter:
    def __init__(self, view: View) -> None:
        self.view, self.graph, self.names = view, view.graph, Names(view.graph)
        self.flops, self.known = flops_by_call(view.graph), known(view.graph)

    def rows(self) -> Iterator[tuple[str, _Row]]:
        for box in self.view.boxes:
            yield f"b{box.id}", self.loop(box) if is_loop(box) else self.call(box)
        for node in self.view.nodes:
            if row := self.node(node):
                yield str(node.id), row

    def node(self, node: Node) -> _Row:
        rows = [self.node(part) for part in node.parts]
        row: _Row = []
        if node.kind == "call":
            row = self.call(node)
        elif node.kind == "function" or (node.kind == "op" and node.op is not None):
            row = self.ops(node.own_ops, node.name if node.kind == "function" else "")
        elif node.kind in ("input", "output", "param", "buffer", "const"):
            name = clean(node.name or node.kind, _MAX_PATH)
            is_data = node.kind in ("param", "buffer")
            row = [name if is_data else f"/{name}", "", "", "", "", self._shapes(node.values)]
        parts = []
        for part in filter(None, rows):
            params = f"{part[_PARAMS]} params" if len(part) > _PARAMS and part[_PARAMS] else ""
            text = " ".join(filter(None, (*map(str, part[:_PARAMS]), params)))
            parts.append(part[0] if part[:2] == row[:2] else text)  # that which the row is of needs only its place
        return [*row, *([""] * (_N_FACTS - len(row))), "\n".join(parts)] if parts else row

    def call(self, shown: Box | Node) -> _Row:
        call = self.graph.calls[shown.calls[0]]
        module = self.graph.modules.get(call.module) if call.kind == "module" else None
        frame = None if call.frame is None else self.graph.frames[call.frame]
        cls = module.cls if module else "function"
        if module and cls.startswith("torch.nn.modules."):  # torch's own layers have public names
            cls = f"torch.nn.{class_name(module)}"
        path = call.module if module else f"/{call.module}"
        shape_in, out = self._shapes(call.inputs.values()), self._shapes(call.outputs.values())
        return [
            clean(path, _MAX_PATH) + (f"~{call.index}" if call.index > 1 else ""),
            clean(cls, _MAX_PATH),
            clean(_USUAL.sub("", module.extra_repr), _MAX_SETTINGS) if module else "",
            count(module.params.total) if module and module.params.total else "",
            count(self.flops.get(call.id, 0)) if call.id in self.flops else "",
            out,
            "" if shape_in == out else shape_in,
            _source(self.called_at(call) or (frame.source if frame else None)),
            shown.repeat if shown.repeat > 1 else "",
        ]

    def called_at(self, call: Call) -> str | None:
        """The statement that called it; of what torch's code called, as in a `Sequential`, the one that called that."""
        while call.source is None and call.parent is not None:
            call = self.graph.calls[call.parent]
        return call.source

    def loop(self, box: Box) -> _Row:
        """The turns of a loop, which are not calls: only where it runs, and how often."""
        path = self.runs_in(box)
        number = sum(is_loop(other) and self.runs_in(other) == path for other in self.view.boxes[: box.id + 1])
        name = clean(f"{path}/each step", _MAX_PATH) + (f"~{number}" if number > 1 else "")
        return [name, *[""] * (_N_FACTS - 2), box.repeat]

    def runs_in(self, box: Box) -> str:
        """The path of the module in whose forward things take turns."""
        while box.around and box.parent is not None:
            box = self.view.boxes[box.parent]
        return self.graph.calls[box.calls[0]].module

    def ops(self, ids: tuple[int, ...], called: str = "") -> _Row:
        """A row of ops: one, or those of a function or patch, with their formula."""
        ops = [self.graph.ops[op] for op in ids]
        first, made = ops[0], {value for op in ops for value in op.outputs}
        frame = None if first.frame is None else self.graph.frames[first.frame]
        name, what, source = first.name, first.target, first.source
        settings = ", ".join(text if key.isdigit() else f"{key}={text}" for key, text in first.attrs.items())
        if len(ops) > 1:
            name, what = (frame.name, "function") if frame else (called or name, f"{len(ops)} operations")
            written = formula(self.names, ids, ids[-1], _MAX_SETTINGS)
            settings, source = written or ", ".join(op.name for op in ops), frame.source if frame else source
        read = dict.fromkeys(value for op in ops for value in op.inputs if value not in made)
        data = [value for value in read if self.graph.values[value].kind not in ("param", "buffer")]
        number, work = self.numbers[first.id], sum(op.flops or 0 for op in ops)
        shape_in, out = self._shapes(data), self._shapes(ops[-1].outputs)
        return [
            clean(f"{self.graph.calls[first.call].module}/{name}", _MAX_PATH) + (f"~{number}" if number > 1 else ""),
            clean(what, _MAX_PATH),
            clean(settings, _MAX_SETTINGS),
            "",
            count(work) if work else "",
            out,
            "" if shape_in == out else shape_in,
            _source(source),
        ]

    def _shapes(self, values: Iterable[int]) -> str:
        shapes = [shape(meta.shape) for value in values if (meta := self.known(value))]
        return ", ".join([*shapes[:_MAX_SHAPES], *["…"] * (len(shapes) > _MAX_SHAPES)])

    @cached_property
    def numbers(self) -> dict[int, int]:
        """The number of each op among those of its name in its call."""
        numbers: dict[int, int] = {}
        last: dict[tuple[int, str], int] = {}
        for op in self.graph.ops:
            numbers[op.id] = last[op.call, op.name] = last.get((op.call, op.name), 0) + 1
        return numbers


def _trimmed(row: _Row) -> _Row:
    while row and not row[-1]:
        row = row[:-1]
    return row


def _source(source: str | None) -> str:
    """`pkg/net.py:12`: a page does not tell where a package lies on the machine that built it."""
    if source is None:
        return ""
    if not (source.startswith("/") or "\\" in source or _PACKAGES[0] in source):
        return clean(source, _MAX_PATH)  # from where its package is imported
    parts = (PureWindowsPath(source) if "\\" in source else PurePosixPath(source)).parts
    start = max((i + 1 for i, part in enumerate(parts) if part in _PACKAGES), default=len(parts) - 2)
    return clean("/".join(parts[max(start, 0) :]), _MAX_PATH)
