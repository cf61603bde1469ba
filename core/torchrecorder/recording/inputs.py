"""What a model is called with: the tensors that its user described, or the first guess that can be recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import thread_time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_pre_hook

from torchrecorder.errors import ForwardError, InputError
from torchrecorder.graph import Graph
from torchrecorder.graph.model import Mode
from torchrecorder.recording.guess import Guesses, advice
from torchrecorder.recording.guess.guess import Guess, own_parameters, parameters
from torchrecorder.recording.run import Run, is_small
from torchrecorder.request import InputSpec

_LARGEST = 1 << 24
"""Numbers in a guessed input; no model wants more to be drawn, and a wrong guess must not take the machine's memory."""
_MOST_WORDS = 1 << 16
"""The same for integers, each of which an embedding may make a long row of."""
_COMPUTED = 1 << 20
"""Numbers in a guessed input up to which a small model is computed at once: a running forward cannot be stopped."""
_BY_SHAPE = (
    *("DynamicOutputShapeException", "DataDependentOutputException", "UnsupportedOperatorException"),
    "RuntimeError: .numpy() is not supported for tensor subclasses",
)
"""What is raised where shapes alone do not say enough; without a mask, say, they may."""
_NOT_THE_INPUTS = ("ImportError", "ModuleNotFoundError", "Expected inputs of BF16 type", *_BY_SHAPE)
"""What forwards raise that no other inputs would change: a package is missing, or the execution mode cannot run it."""
_PATIENCE_S = 60.0
"""Seconds of refused guesses after which no other is tried: an answer must come while a build waits for it.

Those that this thread computed, here and below, so that a loaded machine finds the same inputs.
"""
_SLOW_S = 30.0
"""Seconds of computing a guess after which only its shapes are followed: others may want smaller inputs."""
_SLOW = f"the inputs were guessed, and with them it takes more than {_SLOW_S:.0f} s"
_NOT_COMPUTED = f"the forward ran on fake tensors: {_SLOW} on real ones"
_MOST_EMPTY = 4
"""Guesses with which the forward gives no tensor, after which the first of them is kept: it may never give any."""
_LISTED = 12
"""Guesses that an error lists."""
_REASON_CHARS = 160


@dataclass(frozen=True, slots=True)
class Inputs:
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    guessed: str = ""
    """How they were chosen, if the user gave none."""


def make_inputs(specs: Sequence[InputSpec], seed: int) -> Inputs:
    """Random tensors as described: the named ones as keyword arguments, the others by position.

    They are drawn from a generator of their own, so torch's random numbers do not move.

    Raises:
        InputError: A tensor cannot be made.
    """
    return _inputs(specs, torch.Generator().manual_seed(seed))


def _inputs(specs: Sequence[InputSpec], generator: torch.Generator) -> Inputs:
    made = [(spec.name, _tensor(spec, generator)) for spec in specs]
    return Inputs(
        tuple(tensor for name, tensor in made if name is None),
        {name: tensor for name, tensor in made if name is not None},
    )


def record_guessed(
    model: nn.Module, record: Callable[[Inputs, Run], Graph], *, run: Run, seed: int, mode: Mode = "eval"
) -> Graph:
    """What `record` makes of the first guess with which it succeeds: the recording itself is what proves a guess.

    Guesses come from what the model says of itself. One that cannot be made, or that the forward refuses, is followed
    by the next.

    Args:
        model: Any module.
        record: Records the model with some inputs in an execution mode.
        run: The execution mode that is asked for. A guess for a large model is first recorded on fake tensors alone:
            each wrong one would else be tried in all modes. So is a large input, whose forward may take minutes.
        seed: For the numbers that are drawn.
        mode: Whether layers such as batch norm need two examples, as in training.

    Raises:
        InputError: No guess was accepted.
        ForwardError: The forward failed for a reason that no other inputs would change.
    """
    if type(model).forward is nn.Module.forward and "forward" not in vars(model):
        raise InputError(f"{type(model).__name__} has no forward", "name one of the modules that it holds")
    first: Run = "fake" if run == "auto" and not is_small(model) else run
    tried: list[str] = []
    accepted: Inputs | None = None
    without_tensors: list[Graph] = []
    guesses = Guesses(model, batch=2 if mode == "train" else 1)
    start, ran_out_of_time = thread_time(), False
    for guess in guesses:
        if ran_out_of_time := thread_time() - start > _PATIENCE_S:
            break
        inputs = Inputs()
        try:
            inputs = _guessed(model, guess, seed)
            graph = _recorded(record, inputs, guess, first)
            if any(graph.outputs.values()):
                return graph
            without_tensors.append(graph)
            reason = "what it gives holds no tensor"
            if len(without_tensors) == _MOST_EMPTY:
                break
        except ForwardError as error:
            reason = error.cause.partition("\n")[0]
            if not any(text in reason for text in _NOT_THE_INPUTS):
                guesses.refused(guess, error)
            elif first == run:
                raise
            else:
                accepted = accepted or inputs
                if not reason.startswith(_BY_SHAPE):
                    break
        except InputError as error:
            reason = error.reason
        tried.append(f"{guess}: {reason if len(reason) <= _REASON_CHARS else f'{reason[:_REASON_CHARS]}…'}")
    if accepted is not None:
        return record(accepted, run)
    if without_tensors:
        return without_tensors[0]
    if first != run and guesses.furthest is not None:
        with suppress(ForwardError):
            return record(_guessed(model, guesses.furthest, seed), run)
    raise InputError(
        f"{type(model).__name__} is called with inputs of unknown shape",
        advice(model),
        tuple(tried[:_LISTED]),
        ran_out_of_time,
    )


def _recorded(record: Callable[[Inputs, Run], Graph], inputs: Inputs, guess: Guess, run: Run) -> Graph:
    """What `record` makes of a guess.

    Large inputs are computed only if shapes alone do not say enough, and not for longer than a build should wait.
    """
    if run != "auto":
        return record(inputs, run)
    if any(math.prod(spec.shape) > _COMPUTED for spec in guess.all_specs()):
        try:
            return record(inputs, "fake")
        except ForwardError as error:
            if not error.cause.startswith(_BY_SHAPE):
                raise
    until = thread_time() + _SLOW_S

    def check(*_: object) -> None:
        if thread_time() > until:
            raise TimeoutError(_SLOW)

    handle = register_module_forward_pre_hook(check)
    try:
        return record(inputs, run)
    except ForwardError as error:
        if _SLOW not in error.cause:
            raise
    finally:
        handle.remove()
    graph = record(inputs, "fake")
    return replace(graph, info=replace(graph.info, notes=(*graph.info.notes, _NOT_COMPUTED)))


def _guessed(model: nn.Module, guess: Guess, seed: int) -> Inputs:
    if guess.arguments is not None:
        return Inputs(*guess.arguments, str(guess))
    most = {"int64": _MOST_WORDS}
    specs = guess.all_specs()
    large = next((spec for spec in specs if math.prod(spec.shape) > most.get(spec.dtype, _LARGEST)), None)
    if large is not None:
        raise InputError(f"{large} is too large for a guess")
    generator = torch.Generator().manual_seed(seed)
    made = _inputs(guess.specs, generator)
    named = {**made.kwargs, **{name: _filled(value, generator) for name, value in guess.fixed.items()}}
    own = own_parameters(model)
    if any(p.name in named for p in own) or all(p.kind is not p.VAR_POSITIONAL for p in own):
        return Inputs(made.args, named, str(guess))
    # `forward(*args)` and `forward(*args, **kwargs)` are called by place, as those who write one expect.
    free = [p for p in parameters(model)[len(made.args) :] if p.kind is p.POSITIONAL_OR_KEYWORD]
    while free and free[-1].name not in named:
        del free[-1]
    placed = [named.pop(p.name, p.default) for p in free]
    return Inputs((*made.args, *placed), named, str(guess))


def _filled(value: Any, generator: torch.Generator) -> Any:
    """The value with a tensor for each input in it."""
    if isinstance(value, InputSpec):
        return _tensor(value, generator)
    if type(value) in (list, tuple):
        return type(value)(_filled(item, generator) for item in value)
    return {key: _filled(item, generator) for key, item in value.items()} if type(value) is dict else value


def _tensor(spec: InputSpec, generator: torch.Generator) -> Tensor:
    """One tensor as described: normal random values, coin flips, integers below the bound or, without one, ones."""
    dtype: torch.dtype = getattr(torch, spec.dtype)
    try:
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(spec.shape, generator=generator, dtype=dtype)
        if dtype is torch.bool:
            return torch.randint(2, spec.shape, generator=generator, dtype=dtype)
        if spec.high is None:
            return torch.ones(spec.shape, dtype=dtype)
        return torch.randint(spec.high, spec.shape, generator=generator, dtype=dtype)
    except (RuntimeError, ValueError, TypeError) as error:
        raise InputError(f"the input {spec} cannot be made: {error}") from error
