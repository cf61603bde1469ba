"""On what a model runs while it is recorded: on numbers, on fake tensors or on the meta device."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from torchrecorder.errors import ForwardError
from torchrecorder.graph import Graph, Info
from torchrecorder.graph.model import Executed, Mode
from torchrecorder.recording.failure import forward_error, unseen_error
from torchrecorder.recording.given import Given
from torchrecorder.recording.session import Session
from torchrecorder.recording.skeleton import Skeleton
from torchrecorder.recording.substitutes import FakeTensors, MetaTensors, SharedTensors, Substitutes
from torchrecorder.running import torch_private
from torchrecorder.running.nested import named_tensors
from torchrecorder.running.restore import preserved_process_state

Run = Literal["auto", "real", "fake", "meta"]

LARGE = 300_000_000
"""Parameters from which on a model is not computed unless it is asked for: seconds and gigabytes for one picture."""

_OF_THE_MACHINE = (
    *("can't allocate memory", "out of memory", "not enough memory"),
    *("not implemented for", "Torch not compiled with", "NVIDIA driver", "No CUDA", "CUDA error"),
)
"""What exceptions say when the machine is at fault, not the model."""


@dataclass(frozen=True, slots=True)
class Forward:
    """What is to be recorded."""

    model: nn.Module
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    mode: Mode = "eval"
    seed: int = 0
    guessed: str = ""


def run_as(run: Run, forward: Forward, session: type[Session] = Session) -> Graph:
    """Record a forward in the way that was asked for; `auto` falls back to the next one, and a note says why.

    Args:
        run: How it runs.
        forward: What to record.
        session: What records it.

    Raises:
        ForwardError: The forward raised, in the way that comes first.
    """
    with _looking_at(forward.model):
        ways: list[Executed] = _ways(forward) if run == "auto" else [run]
    first, *others = ways
    try:
        return record(first, forward, session=session)
    except ForwardError as error:
        for other in others:
            if first != "real" or _is_of_the_machine(error):
                try:
                    return record(other, forward, (_note(other, first, error),), session)
                except ForwardError:
                    continue
        raise


def record(
    executed: Executed, forward: Forward, notes: tuple[str, ...] = (), session: type[Session] = Session
) -> Graph:
    """Record a forward in one way. The model and the arguments stay as they are."""
    if executed == "fake" and torch_private.FAKE_MODE.get() is None:
        executed = "meta"
    info = Info(executed, torch.__version__, forward.mode, forward.guessed, notes)
    with prepared(executed, forward, session) as (running, args, kwargs):
        try:
            running.run(args, kwargs)
        except Exception as error:
            raise forward_error(error, running.graph(info)) from error
        with _looking_at(forward.model):
            return running.graph(info)


@contextmanager
def prepared(
    executed: Executed, forward: Forward, session: type[Session] = Session
) -> Iterator[tuple[Session, tuple[Any, ...], dict[str, Any]]]:
    """A session on a stand-in of the model, and the arguments for it."""
    with ExitStack() as stack:
        with _looking_at(forward.model):
            tensors = _TENSORS[executed](forward.model)
            with torch.inference_mode(False):
                skeleton = Skeleton(tensors.of)
                stand_in: nn.Module = skeleton.of(forward.model)
                given = Given(skeleton, tensors.of_arguments(forward.args, forward.kwargs))
                args, kwargs = given.of(tuple(forward.args)), given.of(dict(forward.kwargs))
            _set_mode(stand_in, forward.mode == "train")
            paths = {id(module): path for path, module in stand_in.named_modules()}
            originals = [(old, paths[id(new)]) for old, new in skeleton.modules if id(new) in paths and old is not new]
            ready = session(stand_in, originals, tensors.before_write, given.unseen)
        stack.enter_context(preserved_process_state(forward.seed))
        stack.enter_context(tensors.running())
        yield ready, args, kwargs


@contextmanager
def _looking_at(model: nn.Module) -> Iterator[None]:
    """What a model does when it is asked for its parts is the user's code, and its error the user's."""
    try:
        yield
    except Exception as error:
        raise unseen_error(type(model).__name__, error) from error


def _set_mode(model: nn.Module, is_training: bool) -> None:
    """As `train` does it; where that is overridden and raises, as `train` would have done it."""
    try:
        model.train(is_training)
    except Exception:  # `train` of an exported program, of a frozen class, of modules that hold one another
        for module in model.modules():
            vars(module)["training"] = is_training


def _fake_tensors(model: nn.Module) -> Substitutes:
    return MetaTensors(model) if torch_private.FAKE_MODE.get() is None else FakeTensors(model)


_TENSORS: dict[Executed, Callable[[nn.Module], Substitutes]] = {
    "real": SharedTensors,
    "fake": _fake_tensors,
    "meta": MetaTensors,
}


def is_small(model: nn.Module) -> bool:
    """Whether the model has numbers, and few enough of them to compute a forward for one picture."""
    parameters = list(model.parameters())
    if any(tensor.is_meta for tensor in (*parameters, *model.buffers())):
        return False
    return sum(p.numel() for p in parameters if not is_lazy(p)) <= LARGE


def _ways(forward: Forward) -> list[Executed]:
    """How a model is run, best first: nothing tells more than numbers, and almost all runs on fake tensors."""
    given = named_tensors((forward.args, forward.kwargs), objects=True)
    if any(tensor.is_meta for _, tensor in given):
        return ["fake", "meta"]
    if is_small(forward.model):
        return ["real", "fake", "meta"]
    return ["fake", "meta"] if any(p.is_meta for p in forward.model.parameters()) else ["fake", "real", "meta"]


def _is_of_the_machine(error: ForwardError) -> bool:
    """Whether another machine could have run it. One that raises for its own reasons is not drawn."""
    return error.cause.startswith(("MemoryError", "NotImplementedError", "OutOfMemoryError")) or any(
        said in error.cause for said in _OF_THE_MACHINE
    )


_NAMES = {"real": "on numbers", "fake": "on fake tensors", "meta": "on the meta device"}


def _note(executed: Executed, first: Executed, error: ForwardError) -> str:
    where = f" in {error.layer}" if error.layer else ""
    cause = error.cause.partition("\n")[0][:200]
    return f"the forward ran {_NAMES[executed]}, because {_NAMES[first]} it failed{where}: {cause}"
