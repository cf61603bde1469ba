"""Which functions of the user's an operation came from, and which instruction called it."""

from __future__ import annotations

import functools
import gc
import hashlib
import json
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn

from tests.core.recording.nets import Net, record
from torchrecorder.errors import FormatError
from torchrecorder.graph import Graph, from_json, to_json
from torchrecorder.graph.codec import digest_without_lines

X = torch.ones(2, 4)


def chain(graph: Graph, frame: int | None) -> str:
    """The names of a frame and of those that called it, outermost first."""
    names: list[str] = []
    while frame is not None:
        names.insert(0, graph.frames[frame].name)
        frame = graph.frames[frame].parent
    return " > ".join(names)


def chains(graph: Graph) -> list[tuple[str, str]]:
    return [(op.name, chain(graph, op.frame)) for op in graph.ops]


def halves(x: Tensor) -> Tensor:
    a, b = x.chunk(2, -1)
    return torch.cat((-b, a), -1)


def rotary(x: Tensor, cos: Tensor) -> Tensor:
    return x * cos + halves(x)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        return q @ k.transpose(-1, -2)

    def forward(self, x: Tensor) -> Tensor:
        q, k = rotary(self.q(x), x), rotary(self.k(x), x)
        return self.scores(q, k).softmax(-1)


def test_an_operation_keeps_the_functions_between_it_and_the_forward() -> None:
    graph = record(Attention(), X)
    half = [("chunk", "rotary > halves"), ("neg", "rotary > halves"), ("cat", "rotary > halves")]
    turned = [("linear", ""), ("mul", "rotary"), *half, ("add", "rotary")]
    scores = [("transpose", "Attention.scores"), ("matmul", "Attention.scores")]
    assert chains(graph) == [*turned, *turned, *scores, ("softmax", "")]


def test_two_calls_of_a_function_are_two_frames() -> None:
    graph = record(Attention(), X)
    q, _, k, _, _ = graph.frames
    assert (q.name, q.defined, q.source) == (k.name, k.defined, k.source)
    assert "recording/test_frames.py:" in (q.source or "")
    assert q.offset != k.offset
    assert {op.frame for op in graph.ops if op.name == "mul"} == {q.id, k.id}


def test_equal_operations_of_a_line_have_places_of_their_own() -> None:
    graph = record(Net(lambda self, x: F.relu(F.relu(x))), X)
    first, second = graph.ops
    assert first.source == second.source
    assert first.offset != second.offset


def test_what_a_loop_repeats_has_one_place() -> None:
    def body(self: Any, x: Tensor) -> Tensor:
        for _ in range(3):
            x = rotary(x, x)
        return x

    graph = record(Net(body), X)
    turns = [frame for frame in graph.frames if frame.name == "rotary"]
    assert len(turns) == 3
    assert len({(frame.source, frame.offset) for frame in turns}) == 1
    assert len({(op.source, op.offset) for op in graph.ops if op.name == "mul"}) == 1


def test_a_call_keeps_the_function_it_was_made_in() -> None:
    def step(self: Any, x: Tensor) -> Tensor:
        return F.relu(self.fc(x))

    graph = record(Net(lambda self, x: step(self, step(self, x)), fc=nn.Linear(4, 4)), X)
    assert [(call.module, call.frame) for call in graph.calls] == [("", None), ("fc", 0), ("fc", 1)]
    assert [(op.name, op.frame) for op in graph.ops] == [("linear", None), ("relu", 0), ("linear", None), ("relu", 1)]


def test_a_forward_that_no_hook_announces_begins_a_chain() -> None:
    def helper(self: Any, x: Tensor) -> Any:
        return self.sub.forward(x)

    graph = record(Net(helper, sub=Attention()), X)
    helped, *inner = graph.frames
    assert (helped.name, helped.call) == ("helper", 0)
    inside = graph.calls[1]
    assert (inside.module, inside.parent, inside.frame) == ("sub", 0, helped.id)
    assert {frame.call for frame in inner} == {inside.id}


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return halves(x) * 2

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0]


def test_a_custom_function_begins_a_chain() -> None:
    def helper(self: Any, x: Tensor) -> Any:
        return Doubled.apply(x)  # type: ignore[no-untyped-call]

    graph = record(Net(helper), X)
    assert graph.calls[1].frame == 0
    assert [(frame.name, frame.call) for frame in graph.frames] == [("helper", 0), ("halves", 1)]


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any) -> Any:
        return function(*args) + 1

    return wrapper


def yields(x: Tensor) -> Iterator[Tensor]:
    yield halves(x)


class Called:
    def __call__(self, x: Tensor) -> Tensor:
        return x + 1


class Decorates:
    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, *args: Any) -> Any:
        return self.function(*args)


class Summed:
    def __init__(self, x: Tensor) -> None:
        self.total = x.sum() + 1


@logged
def decorated(x: Tensor) -> Tensor:
    return x * 2


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (lambda self, x: max([y + 1 for y in (x,)]), ["add|"]),
        (lambda self, x: next(y + 1 for y in (x,)), ["add|"]),
        (lambda self, x: next(yields(x)), ["chunk|halves", "neg|halves", "cat|halves"]),
        (lambda self, x: Decorates(halves)(x), ["chunk|halves", "neg|halves", "cat|halves"]),
        (lambda self, x: decorated(x), ["mul|decorated", "add|"]),
        (lambda self, x: torch.func.vmap(halves)(x), ["chunk|halves", "neg|halves", "cat|halves"]),
    ],
    ids=[
        "comprehension",
        "generator expression",
        "generator",
        "__call__ of any function",
        "decorator",
        "a function torch calls",
    ],
)
def test_what_is_no_named_function_is_left_out(body: Any, expected: list[str]) -> None:
    assert [f"{name}|{path}" for name, path in chains(record(Net(body), X))] == expected


def test_an_object_that_is_made_or_called_is_a_function_with_the_name_of_its_class() -> None:
    graph = record(Net(lambda self, x: Called()(Summed(x).total)), X)
    assert [frame.short for frame in graph.frames] == ["Summed", "Called"]
    assert [f"{name}|{path}" for name, path in chains(graph)] == [
        "sum|Summed.__init__",
        "add|Summed.__init__",
        "add|Called.__call__",
    ]


def test_recursion_has_a_frame_for_each_level() -> None:
    def turned(x: Tensor, n: int) -> Tensor:
        return F.relu(x) if n == 0 else turned(x, n - 1) + 1

    assert chains(record(Net(lambda self, x: turned(x, 2)), X)) == [
        ("relu", "turned > turned > turned"),
        ("add", "turned > turned"),
        ("add", "turned"),
    ]


def test_what_calls_the_recording_is_no_part_of_the_chain() -> None:
    class Wrapped(nn.Linear):
        def __call__(self, x: Tensor) -> Any:
            return halves(super().__call__(x + 1))

    assert {path for _, path in chains(record(Wrapped(4, 4), X))} == {"", "halves"}


def test_what_a_function_held_is_let_go() -> None:
    gone: list[bool] = []

    class Held:
        pass

    def holds(x: Tensor) -> Any:
        held = Held()
        return x + 1, weakref.ref(held)

    def body(self: Any, x: Tensor) -> Any:
        x, ref = holds(x)
        x = x * 2
        gone.append(ref() is None)
        return x

    gc.disable()
    try:
        record(Net(body), X)
    finally:
        gc.enable()
    assert gone == [True]


def test_the_same_forward_gives_the_same_text() -> None:
    model = Attention()
    assert to_json(record(model, X)) == to_json(record(model, X))


def test_no_absolute_path_is_written() -> None:
    text = to_json(record(Attention(), X))
    assert "recording/test_frames.py:" in text
    assert '"/' not in text


def test_a_call_keeps_the_statement_that_called_it() -> None:
    """Of a part of a container there is none: torch's code calls it."""
    model = nn.Sequential(Attention(), nn.ReLU())
    graph = record(model, X)
    at = Attention.forward.__code__.co_firstlineno + 1
    assert {call.module: call.source for call in graph.calls} == {
        "": None,
        "0": None,
        "0.q": f"{__name__.replace('.', '/')}.py:{at}",
        "0.k": f"{__name__.replace('.', '/')}.py:{at}",
        "1": None,
    }
    assert from_json(to_json(graph)) == graph
    before = json.loads(to_json(graph))
    assert before.pop("called")["places"] == [f"{__name__.replace('.', '/')}.py:{at}"]
    assert {call.source for call in from_json(json.dumps(before)).calls} == {None}, "as an earlier version wrote it"
    text = to_json(graph).encode()
    bare = json.dumps(before, ensure_ascii=False, separators=(",", ":")).encode()
    assert digest_without_lines(text, "") == hashlib.sha256(bare).hexdigest()
    assert digest_without_lines(bare, "whole") == "whole"
    wrongs: list[dict[str, Any]] = [{"places": [], "calls": [0] * 5}, {"places": [3], "calls": [0] * 5}, {"calls": []}]
    for wrong in wrongs:
        with pytest.raises(FormatError):
            from_json(json.dumps({**before, "called": wrong}))
