"""A recording that failed because of the recorder, made again with fewer of its parts.

What the user's code raises is not ours to try again. An exception is ours if the innermost of our frames was not just
passing on a call. Torch may also refuse something because it is recorded; that is so if the plain forward runs.
"""

from __future__ import annotations

import dis
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType

from torchrecorder.errors import ForwardError, TorchRecorderError
from torchrecorder.faults import failed_inside
from torchrecorder.graph import Graph
from torchrecorder.recording.blame import texts
from torchrecorder.trace.ownership import is_ours


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a recorder that are switched on."""

    kernels: bool = True
    """Whether a mode sees the kernels of operations."""
    journal: bool = True
    """Whether all that the forward reaches is kept, and not only the attributes and tensors of modules."""


Attempt = Callable[[Parts, Sequence[str]], Graph]
"""Records with some parts, and puts sentences into the notes of the Graph."""

_FEWER = (
    (Parts(kernels=False), "without kernels: writes in place, FLOPs and what scripts run are not seen"),
    (
        Parts(kernels=False, journal=False),
        "without kernels and without a journal: writes in place are not seen, and objects other than modules keep "
        "what the forward wrote to them",
    ),
)
_ONLY_CALLS = "from the calls of its modules only: no operation between them is seen"

_PASSES_ON = re.compile(r"(func|original|function|dispatch|execute|next|self\.model|mode\.dispatch|list\(islice)\(")
"""How a line begins with which we call what is not ours: a function of torch's, or the user's."""


def recorded(
    attempt: Attempt,
    only_calls: Callable[[str], Graph] | None,
    settled: Sequence[BaseException],
    *,
    may_doubt: bool,
) -> Graph:
    """The Graph of the first attempt that does not fail because of the recorder.

    Args:
        attempt: Records.
        only_calls: Records the calls of modules alone; None, if the plain forward cannot be run to see what is wrong.
        settled: Exceptions of operations that raise without a recorder, too; `attempt` may add some.
        may_doubt: Whether a plain forward may tell if torch raised because of the recorder; a search for inputs makes
            many forwards that fail.

    Raises:
        Exception: What the first attempt raised, if it is the user's, or if no attempt gives a Graph.
    """
    try:
        return attempt(Parts(), ())
    except Exception as error:
        raised = error.__cause__ if isinstance(error, ForwardError) else error
        if raised is None or isinstance(raised, TorchRecorderError):
            raise
        plain: Graph | None = None
        if not is_of_recorder(raised):
            if only_calls is None or not may_doubt or any(o is raised for o in settled) or not is_doubtful(raised):
                raise
            if (plain := _graph_of(lambda: only_calls(_note(raised, _ONLY_CALLS)))) is None:
                raise
        for parts, missing in _FEWER:
            note = _note(raised, missing)
            if (graph := _graph_of(lambda parts=parts, note=note: attempt(parts, (note,)))) is not None:  # type: ignore[misc]
                return graph
        if plain is None and only_calls is not None:
            plain = _graph_of(lambda: only_calls(_note(raised, _ONLY_CALLS)))
        if plain is None:
            raise
        return plain


def _graph_of(record: Callable[[], Graph]) -> Graph | None:
    try:
        return record()
    except Exception:
        return None


def _note(error: BaseException, missing: str) -> str:
    fault = failed_inside("", error)
    where = f" ({fault.origin})" if is_of_recorder(error) and fault.origin else ""
    return (
        f"recorded {missing}; torchrecorder failed inside: {fault.cause.partition(chr(10))[0]}{where}; please report it"
    )


def is_of_recorder(error: BaseException) -> bool:
    """Whether our own code raised an exception, or what it called for itself."""
    ours = [frame for frame in _frames(error) if is_ours(frame.tb_frame.f_code.co_filename)]
    if not ours:
        return False
    expression, *others = [*texts(ours[-1]), ""]
    says_so = ours[-1].tb_next is None and any(text.lstrip().startswith("raise ") for text in (expression, *others))
    return not says_so and _PASSES_ON.match(expression) is None


def is_doubtful(error: BaseException) -> bool:
    """Whether torch may have raised an exception because of the recorder."""
    if not isinstance(error, RuntimeError):
        return False
    *_, last = [None, *_frames(error)]
    return last is None or not _raises(last.tb_frame, last.tb_lasti) or "/torch/" in last.tb_frame.f_code.co_filename


def _raises(frame: FrameType, at: int) -> bool:
    """Whether the instruction is a `raise`, and not a call of what is written in C."""
    return dis.opname[frame.f_code.co_code[at]] in ("RAISE_VARARGS", "RERAISE")


def _frames(error: BaseException) -> list[TracebackType]:
    frames: list[TracebackType] = []
    at = error.__traceback__
    while at is not None:
        frames.append(at)
        at = at.tb_next
    return frames
