"""A second of sound where a name, a rate or strides say that an input is a waveform: a few samples are a click."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from torch import nn

from torchrecorder.recording.guess.guess import Guess, configured, is_documented, parameters
from torchrecorder.recording.guess.names import ALONE, ROLES, role_of
from torchrecorder.recording.guess.roles import following
from torchrecorder.request import InputSpec

_RATE = 16_000
"""Samples of a second, where the model does not say how many these are."""
_RATES = range(8_000, 48_001)
_HOP = 8
"""Samples of which a stack of convolutions makes one, at least, if it hears: as many as that of ConvTasNet does."""
_CHANNELS = 2
_WORDS = r"\b([Ww]aveforms?|[Ww]avs?|[Aa]udio|[Ss]ignals?|[Ss]peech)\b"
"""What documentation calls sound."""


def audible(model: nn.Module, guess: Guess) -> Iterator[Guess]:
    """The guess with a second of sound for each shorter waveform, if there is one."""
    said = configured(model, "sample_rate", "sampling_rate", "samplerate")
    is_of_sound = type(said) is int or _hop(model) >= _HOP
    rate = said if said in _RATES else _RATE
    places = [p.name for p in parameters(model)]
    specs: list[InputSpec] = []
    for i, spec in enumerate(guess.specs):
        name = spec.name or (places[i] if i < len(places) else "")
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


def _hop(model: nn.Module) -> int:
    """How many samples the convolutions over time make one of; 0 if the first takes more than two channels."""
    stack = [module for module in model.modules() if isinstance(module, nn.Conv1d)]
    if not stack or stack[0].in_channels > _CHANNELS:
        return 0
    return math.prod(module.stride[0] for module in stack)
