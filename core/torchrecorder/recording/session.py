"""One recording: the parts joined, run once, read out as a Graph."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from itertools import islice
from typing import ClassVar

import torch
from torch import Tensor, nn

from torchrecorder.graph import Call, Failure, Graph, Info
from torchrecorder.recording.calls import Calls
from torchrecorder.recording.model_copy import ITERATORS, RecordedIterator
from torchrecorder.recording.modes import ApiMode, KernelMode
from torchrecorder.recording.modules import ModuleNames, Signatures, describe
from torchrecorder.recording.ops import OpLog
from torchrecorder.recording.scopes import Scopes
from torchrecorder.recording.values import Values
from torchrecorder.running import torch_private
from torchrecorder.running.facts import tied
from torchrecorder.running.nested import named, named_tensors

_MAX_ITEMS = 256
"""Items that are taken from an iterator that a forward returns; it may be endless."""


class Session:
    """Runs a model once and keeps what it did. `model` may be changed by it; see `model_copy`."""

    log_type: ClassVar[type[OpLog]] = OpLog
    """Tests that execute a recording again put one here that keeps what it was given."""

    def __init__(
        self,
        model: nn.Module,
        originals: Sequence[tuple[nn.Module, str]] = (),
        before_write: Callable[[Tensor], None] = lambda tensor: None,
        unseen: Iterable[str] = (),
    ) -> None:
        self.model = model
        self._values = Values()
        self._names = ModuleNames(self._values.declare)
        self._names.register(model)
        for original, path in originals:
            self._names.stands_for(original, path)
        self._scopes = Scopes(self._names)
        self._ops = self.log_type(self._values, self._scopes, before_write)
        self._calls = Calls(model, self._values, self._scopes, self._ops)
        self._inputs: dict[str, int] = {}
        self._outputs: dict[str, tuple[int, ...]] = {}
        self._failure: Failure | None = None
        self._unseen = unseen
        self._notes: list[str] = []

    def run(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """Call the model and give its result. After an exception, which goes on, `graph` ends where it was raised."""
        for path, arg in Signatures().named(self.model, args, kwargs):
            self._take(path, arg)
        try:
            with self._calls.hooked(), self._scopes.functions_announced(), KernelMode(self._ops), ApiMode(self._ops):
                result = self.model(*args, **kwargs)
                if isinstance(result, ITERATORS):
                    result = list(islice(result, _MAX_ITEMS))
                    if len(result) == _MAX_ITEMS:
                        self._notes.append(f"the forward gives an iterator, of which {_MAX_ITEMS} items were taken")
        except Exception as error:
            self._failure = self._calls.failure(error)
            raise
        for path, tensor in named_tensors(result, objects=True):
            self._outputs[path] = self._values.read(tensor)
        return result

    def _take(self, path: str, arg: object) -> None:
        """The tensors in an argument are inputs, also those that an iterator yields later."""
        for inner, tensor in named_tensors(arg, path, objects=True):
            self._inputs[inner] = self._values.start(tensor, "input", inner)
        for inner, iterator in named(arg, RecordedIterator, path, objects=True):
            iterator.next_item = self._aside
            iterator.path, iterator.on_item = inner, self._take

    def _aside(self, take: Callable[[], object]) -> object:
        """Run code that is not part of the model."""
        was, self._ops.paused = self._ops.paused, True
        try:
            with torch_private.without_torch_function(), (torch_private.NO_MODES.get() or nullcontext)():
                return take()
        finally:
            self._ops.paused = was

    def graph(self, info: Info) -> Graph:
        called = [row.module for row in self._scopes.rows if row.kind == "module"]
        calls = [
            Call(row.id, row.parent, row.module, row.index, row.inputs, row.outputs, row.ok, row.kind)
            for row in self._scopes.rows
        ]
        notes = (*torch_private.notes(), *info.notes, *self._ops.notes, *self._notes)
        if self._unseen and any(value.kind == "const" for value in self._values.rows):
            names = ", ".join(self._unseen)
            notes = (*notes, f"not looked into: arguments of class {names}; tensors in them are drawn as constants")
        if not self._outputs and self._failure is None:
            notes = (*notes, "the forward returned no tensor")
        return Graph(
            modules=describe(self.model, called, self._names.met),
            calls=tuple(calls),
            ops=tuple(self._ops.rows),
            values=tuple(self._values.rows),
            inputs=self._inputs,
            outputs=self._outputs,
            info=Info(info.executed, torch.__version__, info.mode, info.guessed, notes, self._failure),
            tied=tied(self.model),
        )
