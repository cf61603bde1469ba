"""One recording: the parts joined, run once, and read out as a Graph, or as an error that names the layer."""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import ClassVar

from torch import Tensor, nn

from torchrecorder.errors import ForwardError, text_of
from torchrecorder.graph import Call, Decision, Failure, Frame, Graph, Info, Op
from torchrecorder.graph.model import Recorder
from torchrecorder.graph.quick import quick
from torchrecorder.recording.autograd import AutogradNodes
from torchrecorder.recording.blame import repeated
from torchrecorder.recording.calls import Calls
from torchrecorder.recording.code_info import innermost_origin, user_traceback
from torchrecorder.recording.isolation.journal import Journal
from torchrecorder.recording.isolation.model_copy import ITERATORS, RecordedIterator
from torchrecorder.recording.machine.devices import Devices
from torchrecorder.recording.machine.memory import Room
from torchrecorder.recording.modes import ApiMode, KernelMode, detours, switched_on
from torchrecorder.recording.modules import ModuleNames, Signatures, describe
from torchrecorder.recording.ops import OpLog
from torchrecorder.recording.scopes import Scopes
from torchrecorder.recording.values import Values
from torchrecorder.running import torch_private
from torchrecorder.running.facts import tied, under_every_path
from torchrecorder.running.nested import named, named_tensors

_call = quick(Call)
_MAX_ITEMS = 256
"""Items that are taken from an iterator that a forward returns; it may be endless."""


class Session:
    """Runs a model once and keeps what it did. What it changes is for the journal to undo."""

    log_type: ClassVar[type[OpLog]] = OpLog
    """Tests that execute a recording again put one here that keeps what it was given."""

    def __init__(
        self,
        model: nn.Module,
        journal: Journal,
        originals: Iterable[tuple[nn.Module, nn.Module]] = (),
        unseen: Iterable[str] = (),
        recorder: Recorder = "modern",
        kernels: bool = True,
    ) -> None:
        self.model = model
        self._journal = journal
        self._sees_kernels = kernels
        self._values = Values()
        self._names = ModuleNames(self._values.declare, journal.meet)
        layers = [layer for _, layer in self._names.register(model) if isinstance(layer, _TOLD_ORDER)]
        self._is_time_first = any(not layer.batch_first for layer in layers)
        for original, copied in originals:
            self._names.stands_for(original, copied)
        self._scopes = Scopes(self._names)
        self._nodes = AutogradNodes(self._values) if recorder == "classic" else None
        self._ops = self.log_type(self._values, self._scopes, journal, self._nodes)
        self._calls = Calls(model, self._values, self._scopes, self._ops, journal)
        self._inputs: dict[str, int] = {}
        self._outputs: dict[str, tuple[int, ...]] = {}
        self._failure: Failure | None = None
        self._unseen = unseen
        self._notes: list[str] = []

    def stop_after(self, operations: int) -> None:
        """Let the forward fail if it goes on after so many."""
        self._ops.most = operations

    def settled(self) -> Sequence[BaseException]:
        """Exceptions of operations that raise them without a recorder, too."""
        return self._ops.settled

    def stop_when_full(self) -> None:
        """Let the forward fail before it has filled the memory."""
        self._ops.room = Room()

    def run(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Call the model and give its result. After an exception, which goes on, `graph` ends where it was raised."""
        for path, arg in Signatures().named(self.model, args, kwargs):
            self._take(path, arg)
        if self._sees_kernels and torch_private.sees_writes() and not self._unseen and self._nodes is None:
            self._ops.batch.begin(self._inputs.values(), is_time_first=self._is_time_first)
        given = [tensor for _, tensor in named_tensors((args, kwargs), objects=True)]
        devices = Devices(lambda: (*self.model.parameters(), *self.model.buffers(), *given), self._ops.notes)
        kernels = (KernelMode(self._ops, devices),) if self._sees_kernels else ()
        modes = *kernels, ApiMode(self._ops, devices)
        with self._ops.running(functools.partial(switched_on, *modes)):
            result = self._called(devices, args, kwargs)
            self._ops.settle()
            for path, tensor in named_tensors(result, objects=True, private=False):
                self._outputs[path] = self._values.read(tensor)
        return result

    def _called(self, devices: Devices, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        try:
            with (
                self._calls.hooked(),
                self._calls.threads_noticed(),
                self._scopes.functions_announced(),
                detours(self._values, self._ops, self._journal),
                devices.answering(),
                self._ops.switched_on(),
            ):
                result = self.model(*args, **kwargs)
                if issubclass(type(result), ITERATORS):
                    result = list(islice(result, _MAX_ITEMS))
                    if len(result) == _MAX_ITEMS:
                        self._notes.append(f"the forward gives an iterator, of which {_MAX_ITEMS} items were taken")
        except Exception as error:
            self._failure = self._calls.failure(error)
            raise
        return result

    def values_of(self, tensor: Tensor) -> tuple[int, ...]:
        """The values that a tensor holds, none if it was never met."""
        return self._values.read(tensor) if self._values.is_known(tensor) else ()

    def _take(self, path: str, arg: object) -> None:
        """The tensors in an argument are inputs, also those that an iterator yields later."""
        for inner, tensor in named_tensors(arg, path, objects=True):
            self._inputs[inner] = self._values.add(tensor, "input", name=inner)
            if self._nodes is not None:
                self._nodes.learn(tensor, self._inputs[inner])
        for inner, iterator in named(arg, RecordedIterator, path, objects=True):
            iterator.next_item = self._aside
            iterator.path = inner
            iterator.on_item = lambda path, item: self._aside(lambda: self._take(path, item))

    def _aside(self, take: Callable[[], object]) -> object:
        """Run code that is not part of the model."""
        with self._ops.unlogged(), torch_private.without_modes():
            return take()

    def graph(self, info: Info) -> Graph:
        """The Graph of what has been recorded until now."""
        with torch_private.without_torch_function():
            return self._graph(info)

    def _graph(self, info: Info) -> Graph:
        called = [row.module for row in self._scopes.rows if row.kind == "module"]
        every_path = under_every_path(self.model)
        if self._nodes is not None:  # 1.0.3 draws every layer
            called += [path for path, _ in every_path]
        calls = [
            _call(
                row.id,
                row.parent,
                row.module,
                row.index,
                row.inputs,
                row.outputs,
                row.ok,
                row.kind,
                row.frame,
                row.source,
            )
            for row in self._scopes.rows
        ]
        unknown = dict(self._ops.unknown)
        package = type(self.model).__module__.partition(".")[0] + "/"
        libraries = {file for file in self._scopes.libraries if not file.startswith(package)}
        notes = (
            *torch_private.notes(),
            *info.notes,
            *_one_a_file(self._ops.notes, libraries),
            *self._calls.notes(unknown),
            *self._notes,
        )
        if self._unseen and any(value.kind == "const" for value in self._values.rows):
            names = ", ".join(self._unseen)
            notes = (*notes, f"not looked into: arguments of class {names}; tensors in them are drawn as constants")
        notes = (*notes, *(f"a tensor of unknown origin {place}" for place in dict.fromkeys(unknown.values())))
        if not self._outputs and self._failure is None:
            notes = (*notes, "the forward returned no tensor")
        rows: list[Op | Frame] = [*self._ops.rows, *self._scopes.frames]
        return Graph(
            modules=describe(every_path, called, self._names.met),
            calls=tuple(calls),
            ops=tuple(self._ops.rows),
            values=tuple(self._values.rows),
            inputs=self._inputs,
            outputs=self._outputs,
            info=replace(info, notes=notes, failure=self._failure),
            tied=tied(every_path),
            frames=tuple(self._scopes.frames),
            decisions=tuple(Decision(*place, tuple(values)) for place, values in self._ops.questions.decisions.items()),
            batch=self._ops.batch.axes(chain(*self._outputs.values())) if self._failure is None else {},
            returned={path: dict(sorted(names.items())) for path, names in self._calls.returned.items() if names},
            assigned=self._scopes.assigned({f"{row.source}+{row.offset}" for row in rows}),
        )


_TOLD_ORDER = (nn.RNNBase, nn.MultiheadAttention)
"""Layers that say which axis of what they are given is the batch."""
_OF_NUMBERS = ("values left PyTorch", "one branch of")
_LINES = 5
"""Lines of a file that one note has."""


def _one_a_file(notes: Iterable[str], files: Container[str]) -> Iterator[str]:
    """The notes, with those of numbers that left PyTorch in one of the files as one: the first, and further lines."""
    lines_by_note: dict[str, list[str]] = {}
    for note in notes:
        text, _, line = note.rpartition(":")
        file = text.rpartition(" ")[2]
        key = file if file in files and note.startswith(_OF_NUMBERS) else note
        lines_by_note[key] = [*lines_by_note[key], line] if key in lines_by_note else [note]
    for first, *more in lines_by_note.values():
        lines = sorted(set(more), key=int)
        yield ", ".join((first, *lines[: _LINES - 1], *("…" for _ in lines[_LINES - 1 :][:1])))


_TABLES = ("torch.nn.modules.sparse.Embedding", "torch.nn.modules.sparse.EmbeddingBag")


def forward_error(error: Exception, graph: Graph, advice: str) -> ForwardError:
    """The error for a forward that raised, with what had been recorded; `advice` is for where there is none better."""
    failure = graph.info.failure
    call = graph.calls[failure.call] if failure is not None and failure.call is not None else graph.calls[0]
    metas = [(path, graph.values[value].meta) for path, value in call.inputs.items()]
    shapes = [(path, "(" + ", ".join(map(str, m.shape)) + ("," * (len(m.shape) == 1)) + ")") for path, m in metas if m]
    failed = ForwardError(
        model=_class(graph, ""),
        cause=text_of(repeated(error)),
        layer=f"{call.module} ({_class(graph, call.module)})" if call.module else "",
        shapes=shapes[0][1] if len(shapes) == 1 else ", ".join(f"{path} {shape}" for path, shape in shapes),
        origin=innermost_origin(error),
        advice=_integers(graph, call) or advice,
        traceback=user_traceback(error),
    )
    failed.graph = graph
    return failed


def unseen_error(model: str, error: Exception) -> ForwardError:
    """The error for a model that raised before its forward began, when it was asked for its modules or tensors."""
    return ForwardError(
        model=model,
        cause=f"before it began, looking for its modules and tensors raised {text_of(error)}",
        origin=innermost_origin(error),
        traceback=user_traceback(error),
    )


def _integers(graph: Graph, call: Call) -> str:
    """Advice where a table was to look up fractions."""
    metas = [meta for value in call.inputs.values() if (meta := graph.values[value].meta)]
    module = graph.modules.get(call.module)
    if module and module.cls in _TABLES and metas and metas[0].dtype.startswith(("float", "bfloat")):
        sizes, rows = ",".join(map(str, metas[0].shape)), module.extra_repr.partition(",")[0]
        shape = f"int64[{sizes}]<{rows}"
        return f"{call.module or 'it'} looks up integers: say so in the shape of what it is given, `{shape}`"
    return ""


def _class(graph: Graph, path: str) -> str:
    return graph.modules[path].cls.rpartition(".")[2]
