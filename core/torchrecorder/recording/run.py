"""`capture`: one forward of a model, recorded in one of the execution modes real, fake or meta."""

from __future__ import annotations

import re
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from torchrecorder.errors import OUT_OF_MEMORY, ForwardError, TorchRecorderError
from torchrecorder.faults import failed_inside
from torchrecorder.graph import Graph, Info
from torchrecorder.graph.model import Executed, Mode, Recorder
from torchrecorder.graph.quick import looking_seldom
from torchrecorder.recording.autograd import followed
from torchrecorder.recording.blame import blame, says
from torchrecorder.recording.fewer_parts import OnlyCalls, Parts, kept_plainly, recorded
from torchrecorder.recording.isolation.journal import Journal, NoJournal
from torchrecorder.recording.isolation.kept_tensors import outside_of_modes
from torchrecorder.recording.isolation.model_copy import CopiedArguments, ModelCopy
from torchrecorder.recording.isolation.substitutes import FakeTensors, MetaTensors, copies_of_arguments, has_numbers
from torchrecorder.recording.machine.devices import NOT_THERE, is_there, stands_for
from torchrecorder.recording.machine.large import is_too_large, largest, with_numbers
from torchrecorder.recording.session import Session, forward_error, unseen_error
from torchrecorder.request import read_values
from torchrecorder.running import torch_private
from torchrecorder.running.facts import named_modules, named_state
from torchrecorder.running.nested import answer, named_tensors
from torchrecorder.running.restore import preserved_process_state

_ONE_AT_A_TIME = threading.RLock()
"""torch keeps some of what a recording switches on for the whole process, so two at once would leave it switched on."""

_recording = threading.local()


def capture(
    model: nn.Module,
    args: Sequence[object] | Tensor = (),
    kwargs: Mapping[str, object] | None = None,
    *,
    mode: Mode = "eval",
    run: Run = "auto",
    seed: int = 0,
    guessed: str = "",
    recorder: Recorder = "modern",
) -> Graph:
    """The Graph of one forward of `model`. The model, the arguments and the random numbers stay as they are.

    It runs in the grad mode of the caller. On real tensors the model itself runs, so no other thread may use it then;
    what the forward changes is undone, also after an exception. Recordings of other threads wait for one another.

    Args:
        model: Any `nn.Module`.
        args: Positional arguments of its forward; a tensor is the only one.
        kwargs: Keyword arguments of its forward.
        mode: Whether layers such as dropout behave as in training.
        run: `real` computes; `fake` only follows shapes, as `meta` does, which fewer models survive. `auto` computes
            small models and falls back; what ran is in `info.executed`, with a note if it is not the first choice.
        seed: For the random numbers that the forward draws.
        guessed: How the arguments were chosen, if they were not given; goes into the Graph as it is.
        recorder: With `classic`, each op gets its nodes in autograd's graph, as far as gradients are on. They are on
            for the floating-point arguments too, whatever `args` say.

    Raises:
        TypeError: `model` is not an `nn.Module`, or `args` is not a tuple, a list or a tensor.
        ForwardError: The forward raised. Its `graph` is what had been recorded.
        OptionError: `mode`, `run`, `seed` or `recorder` has a bad value.
        FailedInside: torchrecorder's own code raised.
        RuntimeError: It was called from inside a forward that is being recorded.
    """
    if not isinstance(model, nn.Module):
        what = f"the class {model.__name__}, not an instance" if isinstance(model, type) else type(model).__name__
        raise TypeError(f"only an nn.Module can be recorded; this is {what}")
    if isinstance(args, Tensor):
        args = (args,)
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args holds the arguments of the forward, so one {type(args).__name__} is written (x,)")
    read_values({"mode": mode, "run": run, "seed": seed, "recorder": recorder})
    with _alone(), torch_private.outside_of_fake_mode():
        try:
            return run_as(run, Forward(model, args, kwargs or {}, mode, seed, guessed, recorder))
        except ForwardError as error:
            if args and all(type(size) is int for size in args):
                error.advice = (
                    f"{args} are arguments of the forward; of inputs of that shape it is draw(net, {args}).graph"
                )
            raise
        except TorchRecorderError:
            raise
        except Exception as error:
            raise failed_inside(type(model).__name__, error) from error


@contextmanager
def _alone() -> Iterator[None]:
    with _ONE_AT_A_TIME:
        if getattr(_recording, "on", False):
            raise RuntimeError("a forward that is being recorded cannot record another one")
        _recording.on = True
        try:
            with looking_seldom():
                yield
        finally:
            _recording.on = False


Run = Literal["auto", "real", "fake", "meta"]

_OF_THE_MACHINE = ("not implemented for", "CUDA error", *NOT_THERE)
"""Texts of exceptions that are caused by the machine, not by the model."""
_MOST_OPS = 20_000
"""Operations of a forward that is followed by shape because the machine could not compute it: the memory may be full
because the forward has no end."""


@dataclass(frozen=True, slots=True)
class Forward:
    model: nn.Module
    args: Sequence[object]
    kwargs: Mapping[str, object]
    mode: Mode = "eval"
    seed: int = 0
    guessed: str = ""
    recorder: Recorder = "modern"


def run_as(run: Run, forward: Forward) -> Graph:
    """Record a forward in one execution mode; `auto` falls back to the next one, and a note says why."""
    with _looking_at(forward.model):
        ways: list[Executed] = _ways(forward) if run == "auto" else [run]
    first, *others = ways
    try:
        return record(first, forward)
    except ForwardError as error:
        # A model that raises for its own reasons is not tried again.
        is_of_machine = error.cause.startswith("NotImplementedError") or _is_in(error.cause, _OF_THE_MACHINE)
        if first != "real" or is_of_machine or wants_memory(error):
            if "real" in others and is_too_large(forward.model) and not says("shapes do not say", error.cause):
                others.remove("real")
            if first == "fake" and run == "auto" and _WANTS_BFLOAT16.search(error.cause):
                others.insert(0, "bfloat16")
            where = f" in {error.layer}" if error.layer else ""
            cause = error.cause.partition("\n")[0][:200]
            why = f"because {_NAMES[first]} it failed{where}: {cause}"
            for other in others:
                notes = (f"the forward ran {_NAMES[other]}, {why}",)
                most = _MOST_OPS + 2 * len(error.graph.ops) if first == "real" else None
                try:
                    return record(other, forward, notes, most)
                except ForwardError as another:
                    if "it did not end within" in another.cause:
                        error.advice = (
                            f"{_NAMES[other]}, {another.cause.partition(': ')[2]}: does a loop in it never end?"
                        )
                        break
                    if other == "real" and error.advice == _BY_SHAPE:
                        error.advice = f"computed on real tensors, it failed too: {another.cause.partition(chr(10))[0]}"
        raise


def record(executed: Executed, forward: Forward, notes: tuple[str, ...] = (), most_ops: int | None = None) -> Graph:
    """Record a forward in one execution mode. The model and the arguments stay as they are."""
    if executed == "fake" and torch_private.FAKE_MODE.get() is None:
        executed = "meta"
    if executed == "real":
        forward = replace(forward, model=with_numbers(forward.model))
    if executed != "real":
        with _looking_at(forward.model):
            away = {tensor.device.type for tensor in _tensors(forward) if not is_there(tensor.device.type)}
        notes = (*notes, *(stands_for("meta" if executed == "meta" else "cpu", kind) for kind in sorted(away)))
    settled: list[BaseException] = []

    def info(more: Sequence[str]) -> Info:
        text = (*notes, *more)
        return Info(executed, torch.__version__, forward.mode, forward.guessed, text, recorder=forward.recorder)

    return recorded(
        lambda parts, more: _attempt(forward, info(more), most_ops, parts, settled),
        (lambda note: _only_calls(forward, info((note,)))) if executed == "real" else None,
        settled,
        may_doubt=not forward.guessed,
    )


def _only_calls(forward: Forward, info: Info) -> Graph:
    with ExitStack() as stack:
        try:
            running, args, kwargs = stack.enter_context(prepared("real", forward, parts=Parts(kernels=False)))
            model = running.model
        except Exception:  # what keeps a model has failed
            model = forward.model
            stack.enter_context(kept_plainly(model))
            stack.enter_context(preserved_process_state(forward.seed))
            with torch.inference_mode(False):
                args, kwargs = answer(lambda: _copied(forward), (tuple(forward.args), dict(forward.kwargs)))
                _switch(model, training=forward.mode == "train")
        return OnlyCalls(model).run(args, kwargs, info)


def _copied(forward: Forward) -> tuple[tuple[Any, ...], dict[str, Any]]:
    given = CopiedArguments(copies_of_arguments(forward.args, forward.kwargs), lambda same: same, lambda same: same)
    return given.of(tuple(forward.args)), given.of(dict(forward.kwargs))


def _attempt(forward: Forward, info: Info, most_ops: int | None, parts: Parts, settled: list[BaseException]) -> Graph:
    executed = info.executed
    with prepared(executed, forward, parts=parts) as (running, args, kwargs):
        if most_ops is not None:
            running.stop_after(most_ops)
        if executed == "real":
            running.stop_when_full()
        try:
            running.run(args, kwargs)
        except Exception as error:
            settled += running.settled()
            failed = forward_error(error, running.graph(info), _advice(executed, forward))
            if wants_memory(failed):
                failed.advice = failed.advice or _TAKES_LESS
                traceback.clear_frames(error.__traceback__)  # they hold what fills it
            else:  # a frame whose variables were read holds them until it ends
                failed.blame = blame(error, failed.graph, running.values_of)
            raise failed from error
        with _looking_at(forward.model):
            return running.graph(info)


def wants_memory(error: ForwardError) -> bool:
    """Whether the forward wants more memory than there is."""
    return _is_in(error.cause, OUT_OF_MEMORY)


def _is_in(cause: str, texts: Sequence[str]) -> bool:
    return any(text in cause for text in texts)


_TAKES_LESS = "inputs of a smaller shape take less; `run: fake` follows shapes only, which takes none"
_BY_SHAPE = "it was followed by shapes only, without values; `run: real` computes it"
_NO_NUMBERS = (
    "it can only be followed by shapes, since its tensors hold no numbers; one that is built with them is computed"
)


def _advice(executed: Executed, forward: Forward) -> str:
    if executed == "real":
        return ""
    with torch_private.without_torch_function():
        return _BY_SHAPE if all(map(has_numbers, _tensors(forward))) else _NO_NUMBERS


@contextmanager
def prepared(
    executed: Executed,
    forward: Forward,
    session: type[Session] = Session,
    parts: Parts = Parts(),  # noqa: B008
) -> Iterator[tuple[Session, tuple[Any, ...], dict[str, Any]]]:
    """A session, and the arguments for it. What is done to the model and the process in this is undone at the end.

    On numbers the model itself runs. Without them a copy does: what a forward leaves where no walk finds it would have
    no data.
    """
    journal = (Journal if parts.journal else NoJournal)(computes=executed == "real", sees_writes=parts.kernels)
    with ExitStack() as stack:
        stack.enter_context(journal.undone() if parts.journal else kept_plainly(forward.model))
        with _looking_at(forward.model), torch.inference_mode(False):
            originals: Sequence[tuple[nn.Module, nn.Module]] = ()
            with outside_of_modes():
                model = journal.keep(forward.model)
            tensors = None if executed == "real" else _TENSORS[executed]()
            if tensors is None:
                substitute = copies_of_arguments(forward.args, forward.kwargs)
                in_place_of: Callable[[nn.Module], nn.Module] = journal.keep
            else:
                copies = ModelCopy(tensors.of)
                model, originals = copies.of(forward.model), copies.modules
                substitute, in_place_of = tensors.of_arguments(forward.args, forward.kwargs), copies.of
            substitute = followed(substitute) if forward.recorder == "classic" else substitute
            given = CopiedArguments(substitute, in_place_of, journal.keep)
            args, kwargs = given.of(tuple(forward.args)), given.of(dict(forward.kwargs))
            ready = session(model, journal, originals, given.unseen, forward.recorder, parts.kernels)
        with torch.inference_mode(False):
            _switch(model, training=forward.mode == "train")
        # A module with hooks takes a frame more than one without, and models are nested deeper than half the limit.
        limit = sys.getrecursionlimit()
        stack.callback(sys.setrecursionlimit, limit)
        sys.setrecursionlimit(limit * 3 // 2)
        stack.enter_context(preserved_process_state(forward.seed))
        stack.enter_context(nullcontext() if tensors is None else tensors.running())
        yield ready, args, kwargs


def _switch(model: nn.Module, *, training: bool) -> None:
    modules = [module for _, module in named_modules(model)]
    try:
        others = [module for module in modules if module.training is not training]
        if others and any(type(module).train is not nn.Module.train or "train" in vars(module) for module in modules):
            model.train(training)
        else:  # what that does, without asking each module for its parts and setting what is set
            for module in others:
                module.training = training
    except Exception:  # `train` of an exported program, of a frozen class, of modules that hold one another
        for module in model.modules():
            vars(module)["training"] = training


@contextmanager
def _looking_at(model: nn.Module) -> Iterator[None]:
    """What the user's code raises while the parts of a model are read is reported as an error of that model.

    Its tensors are asked without their classes, which may refuse.
    """
    try:
        with torch_private.without_subclass_function():  # not without modes, which the compiler needs when it is loaded
            yield
    except Exception as error:
        raise unseen_error(type(model).__name__, error) from error


_TENSORS: dict[Executed, Callable[[], FakeTensors | MetaTensors]] = {
    "fake": FakeTensors,
    "meta": MetaTensors,
    "bfloat16": lambda: FakeTensors(torch.bfloat16),
}


def is_small(model: nn.Module) -> bool:
    """Whether the model has real parameters, few enough to compute a forward for one picture."""
    held = [(module._parameters, module._buffers) for _, module in named_modules(model)]
    parameters, buffers = (
        {id(tensor): tensor for own in each if own for tensor in own.values() if tensor is not None}.values()
        for each in zip(*held, strict=True)
    )
    is_real = all(map(has_numbers, parameters)) and all(map(has_numbers, buffers))
    return is_real and sum(p.numel() for p in parameters if type(p) is nn.Parameter or not is_lazy(p)) <= largest()


def _given(forward: Forward) -> Iterator[Tensor]:
    return (tensor for _, tensor in named_tensors((forward.args, forward.kwargs), objects=True))


def _tensors(forward: Forward) -> Iterator[Tensor]:
    yield from _given(forward)
    yield from (tensor for _, _, tensor in named_state(named_modules(forward.model)))


def _ways(forward: Forward) -> list[Executed]:
    """The execution modes to try, best first: real shows most, and almost every model runs on fake tensors."""
    if all(map(has_numbers, _given(forward))) and is_small(forward.model):
        return ["real", "fake", "meta"]
    return ["fake", "real", "meta"] if all(map(has_numbers, _tensors(forward))) else ["fake", "meta"]


_NAMES = {
    "real": "on real tensors",
    "fake": "on fake tensors",
    "meta": "on the meta device",
    "bfloat16": "on fake tensors of bfloat16",
}
_WANTS_BFLOAT16 = re.compile(r"bf16|bfloat16", re.IGNORECASE)
"""In what a kernel says that has no rule for float32."""
