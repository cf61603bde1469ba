"""`capture`: one forward of a model, recorded."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from torch import nn

from torchrecorder.errors import TorchRecorderError
from torchrecorder.faults import failed_inside
from torchrecorder.graph import Graph
from torchrecorder.graph.model import Mode
from torchrecorder.recording.run import Forward, Run, run_as

_ONE_AT_A_TIME = threading.RLock()
"""torch keeps some of what a recording switches on for the whole process, so two at once would leave it switched on."""

_recording = threading.local()


def capture(
    model: nn.Module,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    mode: Mode = "eval",
    run: Run = "auto",
    seed: int = 0,
    guessed: str = "",
) -> Graph:
    """The Graph of one forward of `model`. The model, the arguments and the random numbers stay as they are.

    It runs in the grad mode of the caller. Recordings of other threads wait for one another.

    Args:
        model: Any `nn.Module`.
        args: Positional arguments of its forward.
        kwargs: Keyword arguments of its forward.
        mode: Whether layers such as dropout behave as in training.
        run: `real` computes; `fake` only follows shapes, as `meta` does, which fewer models survive. `auto` computes
            small models and falls back; what ran is in `info.executed`, with a note if it is not the first choice.
        seed: For the random numbers that the forward draws.
        guessed: How the arguments were chosen, if nobody gave them; goes into the Graph as it is.

    Raises:
        TypeError: `model` is no `nn.Module`, or `args` no tuple or list: a tensor would be taken apart in silence.
        ForwardError: The forward raised. Its `graph` is what had been recorded.
        FailedInside: Our own code raised.
        RuntimeError: It was called from inside a forward that is being recorded.
    """
    if not isinstance(model, nn.Module):
        what = f"the class {model.__name__}, not an instance" if isinstance(model, type) else type(model).__name__
        raise TypeError(f"only an nn.Module can be recorded; this is {what}")
    if not isinstance(args, (tuple, list)):
        raise TypeError(f"args holds the arguments of the forward, so one {type(args).__name__} is written (x,)")
    with _alone():
        try:
            return run_as(run, Forward(model, args, kwargs or {}, mode, seed, guessed))
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
            yield
        finally:
            _recording.on = False
