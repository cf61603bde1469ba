"""The first guess of a model's inputs that can be recorded."""

from __future__ import annotations

import dis
import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from time import thread_time

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_pre_hook

from torchrecorder.errors import ForwardError, InputError
from torchrecorder.graph import Graph
from torchrecorder.graph.model import Mode
from torchrecorder.recording.blame import says
from torchrecorder.recording.examples import Way
from torchrecorder.recording.guess import Guesses
from torchrecorder.recording.guess.advice import advice
from torchrecorder.recording.guess.docstrings import shown
from torchrecorder.recording.guess.guess import Guess, own_parameters, parameters
from torchrecorder.recording.inputs import Inputs, drawn, make_tensor
from torchrecorder.recording.run import Run, is_small
from torchrecorder.recording.written.values import mapped
from torchrecorder.request import InputSpec

_LARGEST = 1 << 24
"""Numbers in a guessed input; no model wants more to be drawn, and a wrong guess must not take the machine's memory."""
_MOST_WORDS = 1 << 16
"""The same for integers, each of which an embedding may make a long row of."""
_COMPUTED = 1 << 20
"""Numbers in a guessed input up to which a small model is computed at once: a running forward cannot be stopped."""
PATIENCE_S = 60.0
"""Seconds of refused guesses after which no other is tried: an answer must come while a build waits for it.

Those that this thread computed, here and below, so that a loaded machine finds the same inputs.
"""
SLOW_S = 30.0
"""Seconds of computing a guess after which only its shapes are followed: others may want smaller inputs."""
_SLOW = "the inputs were guessed, and with them it takes more than"
_MOST_POOR = 4
"""Guesses with which the forward gives no tensor, or reads no weights, after which the first of them is kept: it may
never do."""
_LISTED = 12
"""Guesses that an error lists."""
_REASON_CHARS = 160
"""Of a reason in that list; enough for the sizes, which torch says first."""

_Record = Callable[[Inputs, Run], Graph]


def record_guessed(
    model: nn.Module,
    record: _Record,
    *,
    run: Run,
    seed: int,
    mode: Mode = "eval",
    way: Way | None = None,
    patience_s: float = PATIENCE_S,
    slow_s: float = SLOW_S,
) -> Graph:
    """The Graph of the first guess with which `record` succeeds: the recording itself is what proves a guess.

    Args:
        model: Any module.
        record: Records the model with some inputs in an execution mode.
        run: The mode that is asked for. A guess for a large model, and a large input, come on fake tensors first.
        seed: For the numbers that are drawn.
        mode: Whether layers such as batch norm need two examples, as in training.
        way: The example that the model was built as in; what it is called with there comes first.
        patience_s: Seconds of refused guesses, after which no other is tried.
        slow_s: Seconds of computing one, after which only its shapes are followed.

    Raises:
        InputError: No guess was accepted.
        ForwardError: The forward failed for a reason that no other inputs would change.
    """
    return Search(model, record, run=run, seed=seed, mode=mode, way=way).result(patience_s, slow_s)


_EMPTY = {"RESUME", "NOP", "LOAD_CONST", "RETURN_VALUE", "RETURN_CONST"}
"""Instructions of a function that holds nothing but a docstring, which says that others do what it is for."""


def has_forward(model: nn.Module) -> bool:
    if type(model).forward is nn.Module.forward and "forward" not in vars(model):
        return False
    code = getattr(model.forward, "__code__", None)
    if code is None or not {*code.co_consts} <= {None, model.forward.__doc__}:
        return True
    return not {instruction.opname for instruction in dis.get_instructions(code)} <= _EMPTY


class Search:
    """A search that ran out of time goes on where it stopped when it is asked again, as `record_guessed` says."""

    def __init__(
        self, model: nn.Module, record: _Record, *, run: Run, seed: int, mode: Mode = "eval", way: Way | None = None
    ) -> None:
        self._model, self._record, self._seed = model, record, seed
        self._run: Run = run
        self._guesses = Guesses(model, 2 if mode == "train" else 1, shown(model, way.calls) if way else ())
        self._waiting: Iterator[Guess] = iter(self._guesses)
        self._accepted: tuple[Inputs, Guess] | None = None
        """The first inputs that the forward takes, though it cannot go on with them on shapes alone."""
        self._poor: list[Graph] = []
        self._is_idle = False
        """Whether a forward ran in which nothing was computed."""
        self._tried: list[str] = []

    def result(self, patience_s: float, slow_s: float) -> Graph:
        model = self._model
        if not has_forward(model):
            raise InputError(f"{type(model).__name__} has no forward", "name one of the modules that it holds")
        self._slow_s, start, ran_out_of_time = slow_s, thread_time(), False
        self._first: Run = "fake" if self._run == "auto" and not is_small(model) else self._run
        for guess in self._waiting:
            if thread_time() - start > patience_s:
                self._waiting, ran_out_of_time = chain([guess], self._waiting), True
                break
            outcome = self._outcome(guess)
            if isinstance(outcome, Graph):
                return outcome
            if outcome is None:
                break
            text = outcome if len(outcome) <= _REASON_CHARS else f"{outcome[:_REASON_CHARS]}…"
            self._tried.append(f"{guess}: {text}")
        # now a recording of what was at least not refused for its sizes
        if self._accepted is not None:
            inputs, guess = self._accepted
            return _graded(self._record(inputs, self._run), guess)
        if self._poor:
            return self._poor[0]
        furthest = self._guesses.furthest
        if self._first != self._run and furthest is not None:
            with suppress(ForwardError):
                return _graded(self._record(_guessed(self._model, furthest, self._seed), self._run), furthest)
        name = type(self._model).__name__
        idle = f"the forward of {name} computes nothing with the inputs that were guessed"
        raise InputError(
            idle if self._is_idle else f"{name} is called with inputs of unknown shape",
            advice(self._model),
            tuple(self._tried[:_LISTED]),
            ran_out_of_time,
        )

    def _outcome(self, guess: Guess) -> Graph | str | None:
        """The recording, the reason why there is none, or None if no other guess will do better."""
        inputs = Inputs()
        try:
            inputs = _guessed(self._model, guess, self._seed)
            graph = _recorded(self._record, inputs, guess, self._first, self._slow_s)
        except InputError as error:
            return error.reason
        except ForwardError as error:
            reason = error.cause.partition("\n")[0]
            if not (says("not the inputs", reason) or says("shapes do not say", reason)):
                self._guesses.refused(guess, error)
                return reason
            if self._first == self._run:
                raise
            if says("shapes do not say", reason):
                self._accepted = self._accepted or (inputs, guess)
                return reason
            self._accepted = inputs, guess
            return None
        graph = _graded(graph, guess)
        is_idle = leaves_weights(self._model, graph)
        if is_idle and len(graph.ops) < 2:
            self._is_idle = True
            return "with it the forward computes nothing"
        if any(graph.outputs.values()) and not is_idle:
            return graph
        self._poor.append(graph)
        reason = "with it the forward reads no weights" if is_idle else "what it gives holds no tensor"
        return None if len(self._poor) == _MOST_POOR else reason


def _graded(graph: Graph, guess: Guess) -> Graph:
    return replace(graph, info=replace(graph.info, grade=guess.grade))


def leaves_weights(model: nn.Module, graph: Graph) -> bool:
    """Whether a forward read no weights of a model that has some."""
    used = {value for op in graph.ops for value in op.inputs}
    is_used = any(graph.values[value].kind == "param" for value in used)
    return not is_used and any(True for _ in model.parameters())


def _recorded(record: _Record, inputs: Inputs, guess: Guess, run: Run, slow_s: float) -> Graph:
    """Large inputs are computed only if shapes alone do not say enough, and not for longer than a build should wait."""
    if run != "auto":
        return record(inputs, run)
    if any(math.prod(spec.shape) > _COMPUTED for spec in guess.all_specs()):
        try:
            return record(inputs, "fake")
        except ForwardError as error:
            if not says("shapes do not say", error.cause):
                raise
    until, slow = thread_time() + slow_s, f"{_SLOW} {slow_s:.0f} s"

    def check(*_: object) -> None:
        if thread_time() > until:
            raise TimeoutError(slow)

    handle = register_module_forward_pre_hook(check)
    try:
        return record(inputs, run)
    except ForwardError as error:
        if slow not in error.cause:
            raise
    finally:
        handle.remove()
    try:
        graph = record(inputs, "fake")
    except ForwardError as error:
        if says("shapes do not say", error.cause):  # a detector, say: it takes as long as it takes
            return record(inputs, run)
        raise
    note = f"the forward ran on fake tensors: {slow} on real ones"
    return replace(graph, info=replace(graph.info, notes=(*graph.info.notes, note)))


def _guessed(model: nn.Module, guess: Guess, seed: int) -> Inputs:
    if guess.arguments is not None:
        return Inputs(*guess.arguments, str(guess))
    for spec in guess.all_specs():
        if math.prod(spec.shape) > (_MOST_WORDS if spec.dtype == "int64" else _LARGEST):
            raise InputError(f"{spec} is too large for a guess")
    generator = torch.Generator().manual_seed(seed)
    made = drawn(guess.specs, generator)
    fixed = mapped({**guess.fixed}, lambda it: make_tensor(it, generator) if isinstance(it, InputSpec) else it)
    named = {**made.kwargs, **fixed}
    own = own_parameters(model)
    if any(p.name in named for p in own) or all(p.kind is not p.VAR_POSITIONAL for p in own):
        return Inputs(made.args, named, str(guess))
    # `forward(*args)` and `forward(*args, **kwargs)` are called by place, as those who write one expect.
    free = [p for p in parameters(model)[len(made.args) :] if p.kind is p.POSITIONAL_OR_KEYWORD]
    last = max((place for place, p in enumerate(free, 1) if p.name in named), default=0)
    placed = [named.pop(p.name, p.default) for p in free[:last]]
    return Inputs((*made.args, *placed), named, str(guess))
