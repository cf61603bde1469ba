"""Which axes of the tensors of a forward are the batch, found while it is recorded.

The batch is an axis of inputs, mostly their first; which one it is shows when the forward has run. Three kinds of
operations carry it on: those that combine tensors element by element, those that keep the axes of the first one, and
those whose sizes follow from sizes alone. The last are run once more, on tensors without data whose batch is larger.
What is none of these gives tensors of which nothing is known. A size that the model's code asks for is a `BatchSize`,
so that it is known again where a shape is built from it.
"""

from __future__ import annotations

import copy
import functools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from torchrecorder.graph import Op
from torchrecorder.graph.batch import symbol
from torchrecorder.recording.axis_rules import (
    CONVOLUTIONS,
    CUTTING,
    ELEMENTWISE,
    FIXED,
    JOINING,
    KNOWING_BATCH,
    TAKING_APART,
    TAKING_SIZES,
    UNSURE,
    Axes,
    AxisRule,
    Called,
    Cut,
    NoBatch,
    axis_rule,
    cut_along,
    from_data,
    reduced_along,
    unflattened,
)
from torchrecorder.recording.batch_sizes import NO_SIZES, BatchSize, Origin, mapped, sizes_in
from torchrecorder.recording.names import OpName
from torchrecorder.recording.values import Values, running_transform
from torchrecorder.running import torch_private
from torchrecorder.running.nested import tensors_in

_COUNTS = {"__len__", "numel", "nelement", "stride", "nbytes", "tolist", "item", "numpy", "__array__"}
ABOUT_SIZES = {*_COUNTS, "size", "__get__"}
"""Functions whose answers may be plain numbers that depend on sizes; shapes, or other attributes."""
_REARRANGING = {"t_", "transpose_", "swapaxes_", "swapdims_", "set_", "set_data"}
"""Operations in place that may give a tensor other axes of the same sizes."""
_OURS = str(Path(__file__).parent)
_TENSOR: str = Tensor.__reduce_ex__.__code__.co_filename
_MOST = 4
"""First axes of inputs that are tried: each is followed through all of the forward, which takes time."""
_TIMES, _OTHERWISE = 1009, 1013
"""How many batches the larger one holds, and how much larger are sizes that may depend on it: primes, so that no size
is a multiple of them by chance, and more than the numbers at which code cuts a batch."""


class BatchAxes:
    """The axes that may be the batch of one recording. Nothing is known until `begin`."""

    def __init__(self, values: Values, ops: Sequence[Op]) -> None:
        self._values = values
        self._ops = ops
        self._trials: list[_Trial] = []
        """In the order in which they are believed."""
        self.was_asked = False
        """Whether the model's code was given sizes."""
        self._shapes: dict[Any, torch.Size] = {}
        """Those that it was given, by the plain one and the knowledge of its axes: it asks for most several times."""

    @property
    def is_enlarging(self) -> bool:
        """Whether a function is running on a larger batch."""
        return any(trial.is_enlarging for trial in self._trials)

    def begin(self, inputs: Iterable[int], *, is_time_first: bool) -> None:
        """The first axis of these values is the batch, if they agree on its size.

        If they do not, it may be that of some, beside tables and states whose batch is their second axis. In a model
        with layers that want the time first, it may be the second axis of all.
        """
        shapes = {value: meta.shape for value in inputs if (meta := self._values.rows[value].meta) and meta.shape}
        sizes = [*dict.fromkeys(shape[0] for shape in shapes.values())]
        seconds = [shape[1] for shape in shapes.values() if len(shape) > 1][:is_time_first]
        for first, size in [(0, size) for size in sizes[:_MOST]] + [(1, size) for size in seconds]:
            order = (0,) if first == 0 and size == 1 else (first, 1 - first)
            places = ((value, axis) for value, shape in shapes.items() for axis in order if shape[axis:][:1] == (size,))
            begun = dict(reversed([*places]))  # the first place of each
            if type(size) is int and size > 0:
                is_guess = first == 1 or len(sizes) > 1
                self._trials.append(_Trial(self._values, begun, size, is_guess=is_guess, is_to_confirm=first == 1))

    def axes(self, outputs: Iterable[int]) -> dict[int, tuple[int, ...]]:
        """The axes of each value that are the batch; none if an output may have it and it is not known where."""
        results = [*outputs]
        for trial in self._trials:
            if not (trial.is_refuted or trial.is_to_confirm or (trial.is_doubted and not trial.is_known)):
                axes = trial.axes(results)
                if trial.is_guess and axes.keys().isdisjoint(results):
                    break
                for attrs, place, letter in trial.numbers if axes else ():  # there is something that it is about
                    attrs[place] = letter
                return axes
        return {}

    def of(self, tensor: Tensor) -> Sequence[Axes]:
        """The knowledge of a tensor's axes, for each that may be the batch."""
        return [trial.of(tensor) for trial in self._trials]

    def learn(self, value: int, each: Sequence[Axes]) -> None:
        """Keep where the batch is in a value, for each that may be it."""
        for trial, axes in zip(self._trials, each, strict=True):
            trial.learn(value, axes)

    def answered(self, name: str, args: Sequence[Any], kwargs: Mapping[str, Any], answer: Any) -> Any:
        """The answer that the model's code is given to a question about a tensor."""
        tensor = args[0]
        if (
            not self._trials
            or running_transform() is not None
            or not (type(answer) in (int, torch.Size) or name in _COUNTS)
            or not isinstance(tensor, Tensor)
            or (value := self._values.own(tensor)) is None
        ):
            return answer
        trials = ((trial, trial.known.get(value, FIXED)) for trial in self._trials if not trial.is_refuted)
        known = {trial: axes for trial, axes in trials if axes != FIXED}
        if name in _COUNTS:
            for trial in known:
                trial.has_leaked = True
        elif not known or _is_pickled():
            pass
        elif isinstance(answer, torch.Size):
            key = (answer, *known.items())
            if key not in self._shapes:
                self._shapes[key] = torch.Size([self._size(n, axis, known) for axis, n in enumerate(answer)])
            return self._shapes[key]
        elif name == "size" and isinstance(answer, int):
            return self._size(answer, kwargs.get("dim", args[-1]) % tensor.ndim, known)
        return answer

    def _size(self, size: int, axis: int, known: Mapping[_Trial, Axes]) -> int:
        self.was_asked = True
        followed = ((trial, axes) for trial, axes in known.items() if axis in axes.batch | axes.unsure)
        facts: dict[Origin, bool | None] = {trial: axis in axes.batch or None for trial, axes in followed}
        return BatchSize.of(size, facts) if facts else size

    def before(self, name: OpName, tensors: Sequence[Tensor], given: Sequence[Tensor]) -> Sequence[Sequence[Axes]]:
        """The knowledge of overwritten tensors that is left: a weight whose new data is fixed, too, stays so."""
        if name.name not in _REARRANGING:
            return [self.of(tensor) for tensor in tensors]
        read = zip(*map(self.of, (*tensors, *given)), strict=True)
        left = [FIXED if {*of} == {FIXED} else UNSURE for of in read]
        return [left for _ in tensors]

    def leak(self) -> None:
        """The model's code got numbers that may depend on sizes."""
        for trial in self._trials:
            trial.has_leaked = True

    def unsure(self, values: Iterable[int]) -> None:
        """Nothing is known of these."""
        for trial in self._trials:
            trial.known.update(dict.fromkeys(values, UNSURE))

    def sizes(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Sequence[BatchSize]:
        """The sizes of the batch among arguments."""
        items = (*args, *kwargs.values()) if kwargs else args
        return () if NO_SIZES.issuperset(map(type, items)) else sizes_in(items, [])

    def plain(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Arguments with plain numbers in place of sizes of the batch: torch looks long at an int of another class."""
        plain = {name: mapped(item, int.__index__) for name, item in kwargs.items()}
        return [mapped(item, int.__index__) for item in args], plain

    def follow(
        self, name: OpName, called: _Called, attrs: dict[str, str], given: Sequence[Tensor], read: Sequence[int],
        made_as: Sequence[int], is_wrapped: bool,
    ) -> None:  # fmt: skip
        """Learn where the batch is in what an operation made of the tensors given to it."""
        if constants := self._values.constants:
            self.unsure(constants)
            constants.clear()
        for place, trial in enumerate(self._trials):
            while not trial.is_refuted:
                seen = trial.seen(called, self._trials) if called[-1] else called
                trial.follow(name, seen, attrs, given, read, made_as, is_wrapped)
                if not trial.is_refuted or trial.batch > 1:
                    break
                alone = [value for x in trial.alone if (value := self._values.own(x)) is not None]
                trial = self._trials[place] = self._without(trial, alone or read)
                if not alone:
                    break

    def _without(self, trial: _Trial, read: Iterable[int]) -> _Trial:
        """A trial of the other inputs that have one place, if an operation read what those that refute it lead to.

        What was made of both is not known in it. Only sizes of one agree by chance.
        """
        made_of = {value: {value} for value in trial.begun}
        for op in self._ops:
            of = set[int]().union(*(made_of.get(value, ()) for value in op.inputs))
            made_of.update(dict.fromkeys(op.outputs, of))
        gone = set[int]().union(*(made_of.get(value, ()) for value in read))
        new = copy.copy(trial)
        new.begun = {value: axis for value, axis in trial.begun.items() if value not in gone}
        if len(new.begun) in (0, len(trial.begun)):
            return trial
        new.is_guess, new.is_refuted, new.is_confirmed, new.is_known = True, False, False, False
        new.before, new.numbers, new.cuts, new.alone = [*trial.before, trial], [], {}, ()
        sources = [(value, axes, made_of.get(value, set())) for value, axes in trial.known.items()]
        new.known = {
            value: axes if of.isdisjoint(gone) else UNSURE for value, axes, of in sources if not of or of - gone
        }
        return new


class _Trial(Origin):
    """Axes of inputs that may be the batch, followed until they are refuted."""

    def __init__(
        self,
        values: Values,
        begun: Mapping[int, int],
        size: int,
        *,
        is_guess: bool,
        is_to_confirm: bool,
    ) -> None:
        super().__init__(size)
        self.begun = begun
        """Axes of inputs that are tried, by their values."""
        self.is_guess, self.is_to_confirm = is_guess, is_to_confirm
        """Whether it is believed only if an output has it, and only if a layer that has to know it agrees."""
        self.before: list[_Trial] = []
        """Those of more inputs that were refuted: the code has sizes that it got of them."""
        self.is_enlarging = False
        self.alone: Sequence[Tensor] = ()
        """Those of one example that meet more places, if that is what refutes it."""
        self.is_doubted = self.is_known = False
        """Whether its examples are taken one by one before a layer agrees, and whether one does whose first axis is
        the batch alone: time is gone over, too."""
        self.cuts: dict[int, Cut] = {}
        """By value, the part of the batch that it is made of."""
        self.numbers: list[tuple[dict[str, str], str, str]] = []
        """Texts of arguments, the one that is computed with and is the batch, and the letter for it."""
        self._values = values
        self._once: dict[Axes, Axes] = {FIXED: FIXED, UNSURE: UNSURE}
        of = [self._once.setdefault(axes, axes) for axes in (Axes(frozenset((n,)), frozenset()) for n in (0, 1))]
        self._leading = of[0]
        self.known = {value: of[axis] for value, axis in begun.items()}
        """By value; what is not in it is fixed."""
        self._ruled: dict[tuple[Any, ...], Sequence[Axes]] = {}
        """What rules gave. Most operations of a model come again with tensors of the same shapes."""

    def axes(self, outputs: Iterable[int]) -> dict[int, tuple[int, ...]]:
        known = {} if any(trial.has_decided for trial in (self, *self.before)) else self.known
        for value in outputs:
            axes, meta = known.get(value, FIXED), self._values.rows[value].meta
            sizes = () if meta is None else [n for axis, n in enumerate(meta.shape) if axis in axes.unsure]
            is_lost = axes.unsure and not axes.batch and not self.is_confirmed
            if is_lost and (meta is None or any(map(self._is_multiple, sizes))):
                return {}
        return {value: tuple(sorted(axes.batch)) for value, axes in sorted(known.items()) if axes.batch}

    def of(self, tensor: Tensor) -> Axes:
        value = self._values.own(tensor)
        if value is None:  # a parameter that has not been read, or a tensor of another shape than its value
            return FIXED if self._values.is_met(tensor) and not self._values.is_known(tensor) else UNSURE
        return self.known.get(value, FIXED)

    def _enlarge(self, call: Called) -> Sequence[Axes]:
        """The axes that are larger where the function itself runs on a larger batch, without data."""
        met: list[Tensor] = []

        def larger(tensor: Tensor) -> Tensor:
            met.append(tensor)
            axes, shape = call.of(tensor), [*tensor.shape]
            if not shape and axes == FIXED and not tensor.dtype.is_floating_point:  # a size, perhaps
                return tensor
            for axis, n in enumerate(shape):
                shape[axis] = n * _TIMES if axis in axes.batch else (n or 1) * _OTHERWISE if axis in axes.unsure else n
            return torch.empty(shape, dtype=tensor.dtype, device="meta")

        self.is_enlarging = True
        try:
            with torch_private.without_torch_function(), torch_private.without_dispatch():
                args = mapped(tuple(call.args), _enlarged, larger)
                kwargs = {name: mapped(item, _enlarged, larger) for name, item in call.kwargs.items()}
                if not met or "device" in kwargs:
                    kwargs["device"] = "meta"
                results = tensors_in((call.func(*args, **kwargs),), [])
        finally:
            self.is_enlarging = False
        return [self._grown(*pair) for pair in zip(call.made, results, strict=True)]

    def _grown(self, tensor: Tensor, larger: Tensor) -> Axes:
        pairs = [*enumerate(zip(tensor.shape, larger.shape, strict=True))]
        batch = frozenset(axis for axis, (size, more) in pairs if more == size * _TIMES and self._is_multiple(size))
        return Axes(batch, frozenset(axis for axis, (size, more) in pairs if size != more) - batch)

    def _many(self, tensor: Tensor) -> frozenset[int]:
        return frozenset(axis for axis, size in enumerate(tensor.shape) if self._is_multiple(size))

    def _is_multiple(self, size: object) -> bool:
        return type(size) is int and size > 0 and size % self.batch == 0

    def seen(self, called: _Called, trials: Sequence[_Trial]) -> _Called:
        """A call with what its sizes say of this one; it keeps none of the others, which would be a circle."""
        func, args, kwargs, made, sizes = called
        if all(len(size.facts) == 1 and self in size.facts for size in sizes):
            return called
        number = functools.partial(BatchSize.seen, origin=self, all_of_it=trials)
        args, kwargs = mapped((*args,), number), {name: mapped(item, number) for name, item in kwargs.items()}
        return func, args, kwargs, made, sizes_in((*args, *kwargs.values()), [])

    def learn(self, value: int, axes: Axes) -> None:
        meta = self._values.rows[value].meta
        if axes != FIXED and meta is not None:
            self.known[value] = axes
            if not all(axis < len(meta.shape) and self._is_multiple(meta.shape[axis]) for axis in axes.batch):
                self.is_refuted = True  # a rule was wrong of it

    def follow(
        self, name: OpName, called: _Called, attrs: dict[str, str], given: Sequence[Tensor], read: Sequence[int],
        made_as: Sequence[int], is_wrapped: bool,
    ) -> None:  # fmt: skip
        values, known = self._values, self.known
        if self.before:
            self.has_leaked |= any(trial.has_leaked for trial in self.before)
        is_own = values.reads_are_own and len(read) == len(given)
        axes = [*map(known.get, read)] if is_own else [None if it is FIXED else it for it in map(self.of, given)]
        rule, sizes = axis_rule(name), called[-1]
        cuts = [*map(self.cuts.get, read)] if self.cuts else ()
        for cut in own if len(own := {cut for cut in cuts if cut}) == 1 else ():
            if rule.keeps_first or not cut.sizes:
                self.cuts.update(dict.fromkeys(made_as, cut))
        if sizes and rule.is_of_shapes:
            for place, size in enumerate(called[1] if rule is ELEMENTWISE else ()):
                if type(size) is BatchSize and size.is_multiple:
                    self.numbers.append((attrs, str(place), symbol(int.__index__(size), self.batch)))
            sizes = ()
        if not any(axes):  # so is what is made of them fixed
            may_be_many = (self.is_apart or self.has_leaked) and rule.way in JOINING  # one part for each example
            if not may_be_many and not sizes and (given or rule.way not in (None, from_data)):
                return
        elif (
            rule.keeps_first
            and is_own
            and called[1]
            and not (sizes or is_wrapped)
            and self._is_kept(rule, axes, read, made_as)
        ):
            known[made_as[0]] = axes[0]  # type: ignore[assignment]
            if name.name in CONVOLUTIONS:
                self._confirm(given[0], axes[0])
            return
        is_of_batch = bool(axes and axes[0] and axes[0].batch)
        self.is_to_confirm &= name.name not in KNOWING_BATCH or not is_of_batch
        if is_wrapped:
            known.update(dict.fromkeys(made_as, UNSURE))
            return
        metas, are_multiples = self._values.metas.__getitem__, [size.is_multiple for size in sizes] if sizes else ()
        key = (name, self.is_apart, *map(id, axes), *map(metas, read), *map(metas, made_as))
        if not rule.is_of_shapes:
            n_parts, cuts = (len({*read}), cuts) if rule.way in JOINING else (0, ())
            key += (self.has_leaked, *attrs, *attrs.values(), *are_multiples, n_parts, *cuts)
        ruled = self._ruled.get(key)
        if ruled is None:
            has_leaked = self.has_leaked or name.target.startswith("torch.ops.")  # the code of TorchScript
            of_given = {id(x): of or FIXED for x, of in zip(given, axes, strict=True)}

            def of(tensor: Tensor) -> Axes:
                return of_given.get(id(tensor)) or self.of(tensor)

            call = Called(*called, has_leaked, self.is_apart, self.is_guess, cuts, of, self._enlarge, self._many)
            ruled = self._ruled[key] = self._by_rule(rule, call, are_multiples)
            for value, made in zip(made_as, ruled, strict=True):
                self.learn(value, made)
            if is_of_batch and (name.name in KNOWING_BATCH or name.name in CONVOLUTIONS):
                self._confirm(given[0], axes[0])
        else:
            known.update([(value, made) for value, made in zip(made_as, ruled, strict=True) if made is not FIXED])
        if is_of_batch and rule.way in CUTTING and called[1]:
            self._cut(rule, called, axes[0], made_as)

    def _confirm(self, tensor: Tensor, axes: Axes | None) -> None:
        self.is_confirmed = True
        self.is_known |= axes is self._leading and tensor.shape[0] == self.batch

    def _cut(self, rule: AxisRule, called: _Called, axes: Axes | None, made_as: Sequence[int]) -> None:
        """Keep which parts of the batch were made, if it was cut along it."""
        _, args, kwargs, made, _ = called
        places = [axis for _, axis in rule.related(*args, **kwargs)]
        dim = places[0] if places else cut_along(*args, **kwargs)
        if axes and dim in axes.batch:
            sizes = () if places else tuple(part.shape[dim] for part in made)
            self.cuts.update((value, Cut(sizes, len(made), place)) for place, value in enumerate(made_as))

    def _is_kept(
        self, rule: AxisRule, axes: Sequence[Axes | None], read: Sequence[int], made_as: Sequence[int]
    ) -> bool:
        """Whether a rule would say that what is made has the batch where the first argument has it.

        Of most operations it would, and this takes half the time of finding what it said before.
        """
        rows, first, n = self._values.rows, axes[0], len(axes)
        meta, made = rows[read[0]].meta, rows[made_as[0]].meta
        other = rows[read[1]].meta if n > 1 else meta
        if first is None or meta is None or made is None or other is None or len(made_as) > 1:
            return False
        shape = meta.shape
        if rule is ELEMENTWISE:
            if n > 2 or made.shape != shape or (n == 1 and first.unsure):
                return False
            is_alike = other.shape == shape if axes[-1] is first else not axes[-1] and len(other.shape) < len(shape)
            return is_alike and (n == 1 or first is self._leading)
        is_alone = first is self._leading and not any(axes[1:])
        return is_alone and len(made.shape) >= len(shape) >= len(other.shape) and made.shape[0] == shape[0]

    def _by_rule(self, rule: AxisRule, call: Called, are_multiples: Sequence[bool | None]) -> Sequence[Axes]:
        ruled: Axes | Sequence[Axes] = UNSURE
        if "input" in call.kwargs and not call.args:  # as torch calls the first one
            named = {**call.kwargs}
            call = replace(call, args=(named.pop("input"),), kwargs=named)
        try:
            # Of one number that depends on the batch in some other way nothing follows, unless others say what it is.
            if rule.way is not None and (
                not are_multiples
                or (rule.way in TAKING_SIZES and (False not in are_multiples or rule.way is unflattened))
            ):
                for tensor, axis in rule.related(*call.args, **call.kwargs):
                    is_compared = "attention" in call.func.__name__
                    is_counted = rule.related is reduced_along and not tensor.is_floating_point()
                    is_merged = (is_compared or is_counted) and tensor.shape[axis] > self.batch
                    if axis in call.of(tensor).batch and not is_merged:
                        is_reduced = rule.related is reduced_along and not self.is_confirmed
                        if is_reduced or self.is_guess or rule.related not in TAKING_APART:
                            raise NoBatch
                        self.is_doubted |= not self.is_confirmed
                        self.is_apart |= rule.related is not reduced_along
                ruled = rule.way(call)
        except NoBatch as error:
            self.is_refuted, self.alone = True, error.args
        except Exception:  # arguments of a form that the rule does not know
            pass
        each = [ruled] * len(call.made) if isinstance(ruled, Axes) else ruled
        pairs = zip(each, call.made, strict=True)  # a number has no axes
        return [self._once.setdefault(axes, axes) if made.ndim else FIXED for axes, made in pairs]


_Called = tuple[Callable[..., object], Sequence[Any], Mapping[str, Any], Sequence[Tensor], Sequence[BatchSize]]
"""A function, its arguments, what it made, and the sizes of the batch among the arguments."""


def _enlarged(size: BatchSize) -> int:
    return size.__index__() * (_TIMES if size.is_multiple else _OTHERWISE)


def _is_pickled() -> bool:
    """Whether it is torch's own code of tensors that asks: what it writes is read by others."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame is not None and frame.f_code.co_filename == _TENSOR
