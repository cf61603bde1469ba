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
from torchrecorder.recording.failure import forward_error
from torchrecorder.recording.session import Session
from torchrecorder.recording.skeleton import Skeleton
from torchrecorder.recording.substitutes import FakeTensors, MetaTensors, SharedTensors, Substitutes
from torchrecorder.running import map_tensors
from torchrecorder.running.preserve import undisturbed

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
    ways: list[Executed] = _ways(forward.model) if run == "auto" else [run]
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
    info = Info(executed, torch.__version__, forward.mode, forward.guessed, notes)
    with prepared(executed, forward, session) as (running, args, kwargs):
        try:
            running.run(args, kwargs)
        except Exception as error:
            raise forward_error(error, running.graph(info)) from error
        return running.graph(info)


@contextmanager
def prepared(
    executed: Executed, forward: Forward, session: type[Session] = Session
) -> Iterator[tuple[Session, tuple[Any, ...], dict[str, Any]]]:
    """A session on a stand-in of the model, and the arguments for it."""
    tensors = _TENSORS[executed](forward.model)
    with ExitStack() as stack:
        with torch.inference_mode(False):
            skeleton = Skeleton(tensors.of)
            stand_in: nn.Module = skeleton.of(forward.model)
            args, kwargs = map_tensors((tuple(forward.args), dict(forward.kwargs)), tensors.of_argument)
        stand_in.train(forward.mode == "train")
        paths = {id(module): path for path, module in stand_in.named_modules()}
        originals = [(old, paths[id(new)]) for old, new in skeleton.modules if id(new) in paths and old is not new]
        stack.enter_context(undisturbed(forward.seed))
        stack.enter_context(tensors.running())
        yield session(stand_in, originals, tensors.before_write), args, kwargs


_TENSORS: dict[Executed, Callable[[nn.Module], Substitutes]] = {
    "real": SharedTensors,
    "fake": FakeTensors,
    "meta": MetaTensors,
}


def is_small(model: nn.Module) -> bool:
    """Whether the model has numbers, and few enough of them to compute a forward for one picture."""
    parameters = list(model.parameters())
    if any(tensor.is_meta for tensor in (*parameters, *model.buffers())):
        return False
    return sum(p.numel() for p in parameters if not is_lazy(p)) <= LARGE


def _ways(model: nn.Module) -> list[Executed]:
    """How a model is run, best first: nothing tells more than numbers, and almost all runs on fake tensors."""
    if is_small(model):
        return ["real", "fake", "meta"]
    return ["fake", "meta"] if any(p.is_meta for p in model.parameters()) else ["fake", "real", "meta"]


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
