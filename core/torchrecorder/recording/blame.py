"""Which inputs of a forward an exception is about: those that the tensors in the line that raised were computed from.

The message alone has two sizes; a search for other inputs has to know which of them to change.
"""

from __future__ import annotations

import linecache
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import TracebackType

from torch import Tensor

from torchrecorder.errors import chain
from torchrecorder.graph import Graph
from torchrecorder.recording.code_info import is_user_file
from torchrecorder.running.nested import tensors_in

_BY_CHANCE = 10
"""Characters of a message that may stand in another one by chance."""


@dataclass(frozen=True, slots=True)
class Blame:
    """The inputs that an exception is about."""

    inputs: tuple[str, ...] = ()
    """Paths of the inputs that were computed with, those with the fewest operations between first."""
    absent: tuple[str, ...] = ()
    """Parameters of the forward that are None, though the line that raised has them."""


def blame(error: BaseException, graph: Graph, values_of: Callable[[Tensor], Iterable[int]]) -> Blame:
    """The inputs that an exception of a forward is about; `values_of` gives the recorded values that a tensor holds."""
    inputs: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    for traceback in reversed(tracebacks(repeated(error))):
        frame = traceback.tb_frame
        if not is_user_file(frame.f_code.co_filename):
            continue
        held: dict[str, object] = {}
        for text in texts(traceback):
            names = re.findall(r"(?<![.\w])[^\W\d]\w*", text)
            held |= {name: frame.f_locals[name] for name in names if name in frame.f_locals}
            if values := [value for tensor in tensors_in(held.values(), []) for value in values_of(tensor)]:
                inputs = inputs or tuple(computed_from(graph, values))
                break
        if frame.f_code.co_name == "forward":
            absent = tuple(name for name, value in held.items() if value is None)  # the model's own is the last
    return Blame(inputs, absent)


def repeated(error: BaseException) -> BaseException:
    """The exception whose message another one repeats, as containers do that add the place in them; else itself."""
    said = "".join(str(error).split())
    inner = (it for it in chain(error) if len(text := "".join(str(it).split())) > _BY_CHANCE and text in said)
    return [error, *inner][-1]


def tracebacks(error: BaseException) -> list[TracebackType]:
    """The frames that an exception came through, the innermost last."""
    found: list[TracebackType] = []
    at = error.__traceback__
    while at is not None:
        found.append(at)
        at = at.tb_next
    return found


def texts(traceback: TracebackType) -> Iterator[str]:
    """The expression that raised, its statement, and the condition above a `raise`: each if the last says nothing."""
    code = traceback.tb_frame.f_code
    lines = linecache.getlines(code.co_filename, traceback.tb_frame.f_globals)
    place = next(islice(code.co_positions(), traceback.tb_lasti // 2, None), (None,) * 4)
    first, last, left, right = place
    if first is None or last is None:
        first = last = traceback.tb_lineno
    statement = [line.encode() for line in lines[first - 1 : last]]
    if statement and left is not None and right is not None:  # in bytes; the end first: it may be on the same line
        yield b"".join([*statement[:-1], statement[-1][:right]])[left:].decode(errors="replace")
    yield "".join(lines[first - 1 : last])
    if "".join(lines[first - 1 : first]).lstrip().startswith("raise"):
        above = (line for line in reversed(lines[: first - 1]) if re.match(r"\s*(if|elif)\b", line))
        yield next(above, "")


def computed_from(graph: Graph, values: Iterable[int]) -> Iterator[str]:
    """The inputs that values were computed from, the nearest first."""
    paths = {value: path for path, value in graph.inputs.items()}
    seen = dict.fromkeys(values)
    waiting = list(seen)
    for value in waiting:
        if value in paths:
            yield paths[value]
        producer = graph.values[value].producer
        new = [] if producer is None else [read for read in graph.ops[producer].inputs if read not in seen]
        seen.update(dict.fromkeys(new))
        waiting += new
