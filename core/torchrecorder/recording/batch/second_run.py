"""The second run of a forward, with a batch twice as large: which sizes follow it. Nothing is computed.

It runs on the model itself, whose journal puts back what it changes. Its tensors are on torch's meta device, and so is
what takes the place of parameters, one by one as an operation reads them: a copy of the model costs more than the run.
What depends on sizes only (positions, masks) is computed, since code that remembers it would keep tensors without data.
It must make the calls of the first run, and is stopped at the first that differs; what the first one asked of the
numbers in tensors has the same answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from time import thread_time
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from torchrecorder.graph import Graph
from torchrecorder.recording.batch.shape_rules import RULES
from torchrecorder.recording.batch.trail import Differs, Places, Trail
from torchrecorder.recording.isolation.substitutes import is_plain, on_meta
from torchrecorder.recording.machine.devices import MOVES, Devices
from torchrecorder.running.nested import map_tensors, tensors_in

Shape = tuple[int, ...]


def doubled(tensor: Tensor) -> Tensor:
    """What takes the place of an input: of the same shape, but for twice as many along the first axis."""
    sizes = tensor.shape
    if not is_plain(tensor) or not all(type(size) is int for size in sizes):
        raise Differs
    return torch.empty((2 * sizes[0], *sizes[1:]) if sizes else (), dtype=tensor.dtype, device="meta")


class SecondRun(TorchFunctionMode):
    """Follows the calls of the API beside those of the first run."""

    def __init__(self, graph: Graph, trail: Trail, devices: Devices, until: float) -> None:
        """Begin before the first call.

        Args:
            graph: What was recorded.
            trail: The calls of the first run.
            devices: Which devices there are.
            until: The CPU time of this thread at which it stops.
        """
        super().__init__()
        self.shapes: dict[int, list[Shape]] = {}
        """By the id of each operation, those of its results."""
        self._graph = graph
        self._trail = trail
        self._devices = devices
        self._until = until
        self._at = 0
        self._twins: dict[int, tuple[Tensor, Tensor]] = {}
        self._made: dict[int, Tensor] = {}
        """What was computed here, from sizes only, on memory of its own."""

    def is_same(self) -> bool:
        """Whether it came to the end, and did all that the first run did."""
        return self._at == len(self._trail.calls) and self.shapes.keys() == {op for op, _ in self._trail.ops.values()}

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        kwargs, at = kwargs or {}, self._at
        self._at += 1
        calls = self._trail.calls
        is_late = at % _CLOCK_EVERY == 0 and thread_time() > self._until
        if is_late or at >= len(calls) or not (calls[at] is func or calls[at] == func):
            self._at = len(calls) + 1
            raise Differs
        if at in self._trail.answers:
            return self._answer(at, args)
        if func in _OF_SHAPE:
            return func(*args, **kwargs)
        op, places = self._trail.ops.get(at, (None, None))
        if op is None:
            return self._run(func, args, kwargs, is_reading=False)
        row, rule = self._graph.ops[op], RULES.get(func)
        out: Any = None if rule is None or not row.inputs else rule(self._graph, row, args, kwargs)
        if out is None:
            out = self._run(func, args, kwargs, is_reading=not row.mutates)
        self.shapes[op] = [tuple(out.shape)] if places is None else _shapes(places, args, kwargs, out)
        return out

    def _answer(self, at: int, args: Sequence[Any]) -> object:
        shape, answer = self._trail.answers[at]
        if shape is not None and shape != args[0].shape:
            raise Differs
        return answer

    def _run(
        self, func: Callable[..., object], args: Sequence[Any], kwargs: Mapping[str, Any], *, is_reading: bool
    ) -> object:
        given = tensors_in(args, [])
        if kwargs:
            tensors_in(kwargs.values(), given)
        is_new = all(id(tensor) in self._made for tensor in given)
        if is_new or (is_reading and not any(t.is_meta or isinstance(t, nn.Parameter) for t in given)):
            if "device" in kwargs:
                func, args, kwargs = self._devices.changed(func, args, kwargs)
            out = func(*args, **kwargs)
            if is_new:
                self._made |= {id(tensor): tensor for tensor in tensors_in((out,), [])}
            return out
        args = self._without_data(args)
        if func in _STAY:
            return args[0]
        if kwargs:
            kwargs = dict(zip(kwargs, self._without_data(kwargs.values()), strict=True))
            if "device" in kwargs:
                kwargs["device"] = "meta"
        if func in MOVES and len(args) > 1 and not isinstance(args[1], (Tensor, torch.dtype)):
            args[1] = "meta"
        return func(*args, **kwargs)

    def _without_data(self, items: Iterable[Any]) -> list[Any]:
        return [
            self._twin(item)
            if isinstance(item, Tensor)
            else map_tensors(item, self._twin)
            if isinstance(item, (tuple, list, dict))
            else item
            for item in items
        ]

    def _twin(self, tensor: Tensor) -> Tensor:
        """The same on meta, one for each."""
        if tensor.is_meta:
            return tensor
        known = self._twins.get(id(tensor))
        if known is None:
            if not is_plain(tensor):
                raise Differs
            known = self._twins[id(tensor)] = tensor, on_meta(tensor)
        return known[1]


_OF_SHAPE: frozenset[object] = frozenset(
    (
        *(Tensor.size, Tensor.dim, Tensor.numel, Tensor.__len__, Tensor.is_floating_point),
        *(Tensor.shape.__get__, Tensor.dtype.__get__, Tensor.ndim.__get__, Tensor.is_nested.__get__),  # type: ignore[attr-defined]
    )
)
"""Questions that need no data."""
_CLOCK_EVERY = 32
"""Calls between looks at the clock, which may take longer than a call."""
_STAY: frozenset[object] = frozenset((Tensor.cuda, Tensor.cpu))


def _shapes(places: Places, args: Sequence[object], kwargs: Mapping[str, object], out: object) -> list[Shape]:
    made, given = tensors_in((out,), []), tensors_in([*args, *kwargs.values()], [])
    found = []
    for is_given, place in places:
        tensors = given if is_given else made
        if not 0 <= place < len(tensors):
            raise Differs
        found.append(tuple(tensors[place].shape))
    return found
