"""Which inputs of a forward an exception is about: those that the tensors in the line that raised were computed from.

The message alone has two sizes; a search for other inputs has to know which of them to change. What the texts of such
exceptions mean is known here alone; `tests/core/recording/test_texts.py` raises each, so that a version with other
words is seen.
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
from torchrecorder.running.nested import answer, tensors_in

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
    said = _words(error)
    inner = (it for it in chain(error) if len(text := _words(it)) > _BY_CHANCE and text in said)
    return [error, *inner][-1]


def _words(error: BaseException) -> str:
    return "".join(answer(lambda: str(error), "").split())  # a class of the user's may refuse


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


_TORCH, _PYTHON, _MODELS = "torch 2.13", "Python 3.11", "models, in words of their own"

TEXTS: dict[str, tuple[str, ...]] = {
    # dtypes
    "wants integers": (
        *(_TORCH, "indices' to have", "must be (long|int)", "to be Long", "dtype int64", "tensors used as ind"),
    ),
    "wants numbers": (
        *(_TORCH, "for 'Long'", "Long and", "found Long", r"mean\(\): could not", r"type \(long", "but got Long"),
        *("for 'Int'", "LongTensor", "long int", "floating", "output type Long"),
    ),
    "integer": (_MODELS, "integer"),
    "beyond": (_TORCH, "out of range", "out of bounds"),
    "wants booleans": (_TORCH, "only supports boolean"),
    "has booleans": (_TORCH, "[Bb]ool"),
    "counts": (_TORCH, "bincount"),
    "dtypes differ": (_TORCH, "same dtype"),
    "row of a table": (_TORCH, "index out of range in self"),
    # how many axes
    "names axes": (_MODELS, r"\(([a-z]\w*(?:, ?\w+)+)\)"),
    "unpacks": (_PYTHON, r"to unpack.*expected (\d+)(?:.*got (\d+))?"),
    "permutes": (_TORCH, r"input\.dim\(\) = (\d) is not equal to len\(dims\) = (\d)"),
    "one of two": (_TORCH, r"\dD or (\d)D tensor"),
    "wants axes": (_TORCH, r"[Ee]xpected (?:\dD? \(unbatched\) or )?(\d)-?D"),
    "must have axes": (
        *(_TORCH, r"len\(dims\) = (\d)", r"(?:must be|to be|supports) (?:a |an )?(\d)-?[dD]", r"(\d)-dimension"),
        r"expected (\d) dim",
    ),
    "batched": (_TORCH, r"\(unbatched\).*?(\d)D \(batched\)"),
    "lacks an axis": (
        *(_TORCH, "[Dd]imension out of range", "too many indices", "tuple index out of range"),
        "IndexError: Dimension",
    ),
    "has no axis": (_TORCH, "0-d tensor"),
    "no such axis": (_TORCH, "non-existing dimension"),
    "two beside three": (_TORCH, "got (?:2 and 3|3 and 2)", r"Expected size (\d+) but got size (\d+)"),
    "axes differ": (_TORCH, r"dimensions: got (\d) and (\d)", r"Expected (\d)-D tensors, but got (\d)-D"),
    "one axis": (_TORCH, r"unpack \(expected 2, got 1\)", "too many indices for tensor of dimension 1"),
    # sizes
    "wants a size": (
        _TORCH,
        r"\(\d+x(?P<is>\d+) and (?P<wants>\d+)x\d+\)",
        r"got \[(?:\d+, )*(?P<is_fake>\d+)\] X \[(?P<wants_fake>\d+), \d+\]",
        r"to have (?P<wants_conv>\d+) channels, but got (?P<is_conv>\d+)",
        r"(?<!\()[Ee]xpected (?P<wants_said>\d+),? (?:but )?got (?P<is_said>\d+)\b",
        r"normalized_shape=\[(?P<wants_norm>\d+)\].*[sS]ize ?\(?\[(?:\d+, )*(?P<is_norm>\d+)\]",
        r"hidden\[\d\] size \((?:\d+, )*(?P<wants_rnn>\d+)\), got \[(?:\d+, )*(?P<is_rnn>\d+)\]",
    ),
    "names an axis": ("kornia 0.8", r"dim(?:ension)? (\d): expected (\d+),? (?:but )?got (\d+)"),
    "sizes differ": (
        *(_TORCH, r"tensor a \((\d+)\) must match .* tensor b \((\d+)\)", r"size (\d+) but got size (\d+)"),
    ),
    "does not broadcast": (_TORCH, r"had torch\.Size\(\[([\d, ]+)\]\).*broadcastable to \[([\d, ]+)\]"),
    "must match": (_TORCH, "must match the size of tensor", "Sizes of tensors must match"),
    "match": (_TORCH, r"\bmatch"),
    "does not fit a row": (_TORCH, r"'\[-1, (\d+)\]' is invalid for input of size (\d+)"),
    "resizes": (_TORCH, r"input with spatial dimensions of \[(\d+)\] and output size of \[([\d, ]+)\]"),
    "names channels": (_MODELS, r"channels?\b.*\b(?:is|be|of|have|has) (?:\w+ )?(\d+)"),
    "says sides": ("transformers 5.23, timm", r"height.*?(\d+).*width.*?(\d+)", r"\((\d+)\*(\d+)\)"),
    "numbers": (_MODELS, r"(?<![\w.])\d+(?![\w.]*[A-Za-z])"),
    "names attributes": (_MODELS, r"[a-z]\w*_\w+", r"\bdim\b", r"\bchannels\b"),
    "small": (
        *(_TORCH, "too small", "greater than actual", "at least", "more than 1 spatial", "smaller than"),
        *("should be less than", "larger than", "empty"),
    ),
    "film": (_TORCH, "unflatten", "is invalid for input of size", "greater than actual", "divisible"),
    "sides": (
        *(_TORCH, "divisible", "multiple", "must match the size", "Sizes of tensors must match"),
        *("is invalid for input of size", "shape"),
    ),
    "divides": (_MODELS, r"(?:divisible|multiple)\D*(\d+)"),
    "wants two examples": (_MODELS, "at least (two|2) (samples|examples|rows)"),
    # what is missing, or of another kind
    "left out": (
        *(_MODELS, "None", "local variable", "must(?! match| have (?:the )?same)", "requir", "missing", "specif"),
        *("provid", "Assert", "KeyError", "both", "expected at least"),
    ),
    "key": (_PYTHON, r"^KeyError: '([^\W\d]\w*)'"),
    "quotes": (_MODELS, r"[`']([^\W\d]\w*)[`']"),
    "asks for names": (
        *(_TORCH, r"__contains__ only supports .*'str'", r"\(got str\)"),
        "'Tensor' object has no attribute '(keys|items|get)'",
    ),
    "mapping": (_PYTHON, "must be a mapping, not NoneType"),
    "list ends": (_PYTHON, "list index out of range"),
    "one part": (_TORCH, r"index \d+ is out of bounds for dim.* 0", r"\(unbatched\)", r"to have \d+ channels"),
    "counts placeholders": (
        *(
            "transformers 5.23",
            r"(?i)tokens\b.* match.* features:? (\d+)",
            r"[Pp]laceholder tokens.* features \((\d+)\)",
        ),
    ),
    "lists choices": (_MODELS, r"\[(\d+)(?:, \d+)+\]"),
    "lists words": (_MODELS, r"(?:either|one of|in [\[(]).{0,3}['\"](\w+)['\"]"),
    # what no other inputs would change
    "shapes do not say": (
        *(_TORCH, "DynamicOutputShapeException", "DataDependentOutputException", "UnsupportedOperatorException"),
        r"^RuntimeError: \.numpy\(\) is not supported for tensor subclasses",
    ),
    "not the inputs": (_PYTHON, "ImportError", "ModuleNotFoundError", "Expected inputs of BF16 type"),
}
"""By meaning: who says it, in the version that was read, and patterns, one of which is in the text."""

_PATTERNS = {name: re.compile("|".join(patterns)) for name, (_, *patterns) in TEXTS.items()}


def says(name: str, text: str) -> re.Match[str] | None:
    """Match of a text of this meaning, if the exception has one."""
    return _PATTERNS[name].search(text)


def all_said(name: str, text: str) -> list[str]:
    """Texts of this meaning in an exception, each once, in order."""
    return list(dict.fromkeys(match[match.lastindex or 0] for match in _PATTERNS[name].finditer(text)))
