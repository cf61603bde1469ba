"""Guesses of the inputs of a model for which none are given; the recording with them proves one."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat

from torch import Tensor, nn

from torchrecorder.errors import ForwardError
from torchrecorder.graph.model import Grade
from torchrecorder.recording.blame import Blame, says
from torchrecorder.recording.guess.docstrings import from_docstring, from_examples, of_near
from torchrecorder.recording.guess.guess import Guess, configured, is_documented, is_object, parameters
from torchrecorder.recording.guess.layers import from_layers
from torchrecorder.recording.guess.libraries import (
    diffusers,
    of_jaxtyping,
    of_lightning,
    of_timm,
    of_torch_geometric,
    transformers,
)
from torchrecorder.recording.guess.repair import Refusal, repairs
from torchrecorder.recording.guess.roles import following, from_names, from_roles, of_texts
from torchrecorder.recording.shared_names import ALONE, ROLES, role_of
from torchrecorder.request import InputSpec

_Source = Callable[[nn.Module, int], Iterator[Guess]]

_REPAIRED = 16
"""Guesses that are made from refused ones, for each source, after the last one with which the forward came further."""
_AT_ONCE = 6
"""Those that come before the other guesses of a source, once, if channels were wrong: in all sizes they are."""
_WORK = 20_000
"""Operations of refused guesses after which none is repaired: an answer must come while a build waits for it."""


@dataclass(eq=False)
class _Refused:
    """A guess that the forward did not accept, and others that are made from it."""

    done: int
    """How far the forward came."""
    repairs: Iterator[Guess]
    before: int
    """How often it has been repaired itself, and how many were refused with the same words.

    0 if it came furthest, or if the error names the axis that was wrong.
    """
    sizes: set[str]
    """Those that the error speaks of."""
    absent: set[str]
    """Parameters that were not given, though the line that raised has them."""
    used: int = 0

    def promise(self) -> float:
        """Further ones promise more, but none for ever: each repair that was refused too makes the next less likely."""
        return (self.done + 1) / ((1 + self.used) * (1 + self.before))


class Guesses:
    """The guesses for a model: first those of each source, the most trusted first, then the refused ones repaired.

    A refused guess whose forward came further is repaired before others. Equal inputs come once.
    """

    def __init__(self, model: nn.Module, batch: int = 1, shown: Iterable[Guess] = ()) -> None:
        self._sources: tuple[tuple[_Source, Grade], ...] = ((lambda *_: iter(shown), "declared"), *_SOURCES)
        self._model = model
        self._batch = batch
        self._seen: set[str] = set()
        self._refused: list[_Refused] = []
        self._work = 0
        self._depth = 0
        self._parent: _Refused | None = None
        """The refused guess that the last one was made from."""
        self._causes: Counter[str] = Counter()
        self._most = -1
        self._left = _REPAIRED
        self._lacks_channels = False
        self.furthest: Guess | None = None
        """The refused guess with which the forward came furthest."""

    def __iter__(self) -> Iterator[Guess]:
        for source, grade in self._sources:
            self._depth, self._parent = 0, None
            is_first = True
            with suppress(Exception):  # attributes of a model may be properties, whose code may raise
                for guess in filter(self._is_new, self._from(source, grade)):
                    yield guess
                    if is_first and self._lacks_channels:
                        yield from self._repaired(_AT_ONCE)
                        is_first, self._depth, self._parent = False, 0, None
            yield from self._repaired(_REPAIRED)

    def _from(self, source: _Source, grade: Grade) -> Iterator[Guess]:
        for guess in source(self._model, self._batch):
            graded = guess if guess.grade else replace(guess, grade=grade)
            if source is not from_examples:  # authors know how long theirs is
                yield from _audible(self._model, graded)
            yield graded

    def refused(self, guess: Guess, error: ForwardError) -> None:
        """Keep a guess that the forward did not accept, to be repaired."""
        graph = error.graph
        done = 0 if graph is None else len(graph.ops) + len(graph.calls)
        self._work += done
        words = re.sub(r"\d+", "", error.cause)
        before = self._depth + self._causes[words]
        self._causes[words] += 1
        sizes = set(re.findall(r"\d\d+", error.cause))
        blame = error.blame or Blame()
        # The sizes it was about go together now, or what was not there is: no further by the count, but on the way.
        is_other = self._parent is not None and (
            bool(sizes and self._parent.sizes and not sizes & self._parent.sizes)
            or not self._parent.absent <= {*blame.absent}
        )
        if done > self._most or (done == self._most and is_other):
            self._most, self.furthest = done, guess
            self._left, before = _REPAIRED, 0
        elif says("names an axis", error.cause):
            before = 0
        # The first line; of a text that begins by printing a module, the last one, too.
        first, *others = error.cause.splitlines() or [""]
        sentence = f"{first} … {others[-1]}" if others and first.endswith("(") else first
        # Not the error itself, which keeps the frames of the forward alive, and all their tensors.
        refusal = Refusal(sentence, error.traceback, graph, blame)
        size = says("wants a size", refusal.cause)
        self._lacks_channels = size is not None and size["is_conv"] is not None
        found = filter(self._is_new, repairs(self._model, guess, refusal, self._batch))
        self._refused.append(_Refused(done, found, before, sizes, {*blame.absent}))

    def _repaired(self, most: int) -> Iterator[Guess]:
        self._left = most
        while self._refused and self._left and self._work < _WORK:
            refused = max(self._refused, key=_Refused.promise)
            guess = None
            with suppress(Exception):
                guess = next(refused.repairs, None)
            if guess is None:
                self._refused.remove(refused)
            else:
                refused.used += 1
                self._left -= 1
                self._depth, self._parent = refused.before + 1, refused
                if guess.grade != "declared":  # authors know how long theirs is
                    yield from filter(self._is_new, _audible(self._model, guess))
                yield guess

    def _is_new(self, guess: Guess) -> bool:
        taken = parameters(self._model)
        names = iter([p.name for p in taken])
        specs = tuple(spec if spec.name else replace(spec, name=next(names, None)) for spec in guess.specs)
        objects = {p.name for p in taken if is_object(p.annotation)}
        if any(spec.name in objects and spec.dtype == "int64" for spec in specs):
            return False
        inputs = replace(guess, specs=specs).inputs()
        tensors = [value for value in guess.fixed.values() if isinstance(value, Tensor)]
        key = f"{inputs} {[value.tolist() for value in tensors if not value.is_floating_point()]}"
        is_new = key not in self._seen or not inputs
        self._seen.add(key)
        return is_new


_RATE = 16_000
"""Samples of a second, where the model does not say how many these are."""
_RATES = range(8_000, 48_001)
_HOP = 8
"""Samples of which a stack of convolutions makes one, at least, if it hears: as many as that of ConvTasNet does."""
_CHANNELS = 2
"""Channels of sound, at most: stereo."""
_WORDS = r"\b([Ww]aveforms?|[Ww]avs?|[Aa]udio|[Ss]ignals?|[Ss]peech)\b"
"""What documentation calls sound."""


def _audible(model: nn.Module, guess: Guess) -> Iterator[Guess]:
    """The guess with a second of sound for each shorter waveform, if there is one."""
    said = configured(model, "sample_rate", "sampling_rate", "samplerate")
    stack = [module for module in model.modules() if isinstance(module, nn.Conv1d)]
    hears = bool(stack) and stack[0].in_channels <= _CHANNELS
    is_of_sound = int in (type(said), type(configured(model, "audio_channels")))
    is_of_sound = is_of_sound or (hears and math.prod(module.stride[0] for module in stack) >= _HOP)
    rate = said if said in _RATES else _RATE
    places = [p.name for p in parameters(model)]
    specs: list[InputSpec] = []
    for spec, place in zip(guess.specs, (*places, *repeat("", len(guess.specs))), strict=False):
        name = spec.name or place
        is_sound = is_of_sound or role_of(name, (ROLES, ALONE)) == "sound" or is_documented(model, name, _WORDS)
        specs.append(_longer(spec, rate) if is_sound else spec)
    if tuple(specs) != guess.specs:
        changed = {new.name: new for new in specs if new.name}
        fixed = following({**{old.name: old for old in guess.specs if old.name}, **guess.fixed}, changed)
        yield replace(guess, specs=tuple(specs), fixed={**guess.fixed, **fixed})


def _longer(spec: InputSpec, rate: int) -> InputSpec:
    """As it is, if it has other axes than those of examples, channels and time."""
    *others, longest = sorted(spec.shape) or [rate]
    if spec.dtype != "float32" or len(others) not in (1, 2) or others[-1] > _CHANNELS or longest >= rate:
        return spec
    time = spec.shape.index(longest)
    return replace(spec, shape=(*spec.shape[:time], rate, *spec.shape[time + 1 :]))


def _of_itself(model: nn.Module, _batch: int) -> Iterator[Guess]:
    if not parameters(model) and "forward" in vars(type(model)):
        yield Guess("nothing, since the forward has no parameters", arguments=((), {}))


_SOURCES: tuple[tuple[_Source, Grade], ...] = (
    (_of_itself, "declared"),
    (of_lightning, "declared"),
    (transformers.with_media, "model"),
    (transformers.inputs, "model"),
    (of_timm, "model"),
    (diffusers.inputs, "model"),
    (of_jaxtyping, "declared"),
    (of_texts, "declared"),
    (from_docstring, "declared"),
    (from_examples, "declared"),
    (partial(from_docstring, is_typed=True), "declared"),
    (of_near, "model"),
    (of_torch_geometric, "model"),
    (from_names, "layer"),
    (from_layers, "layer"),
    (from_roles, "layer"),
)
