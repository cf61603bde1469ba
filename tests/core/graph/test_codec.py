"""Graph to JSON and back."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.core.graph.building import Net
from tests.core.graph.drawn import graphs
from torchrecorder.errors import FormatError
from torchrecorder.graph import Decision, Frame, Graph, from_json, to_json
from torchrecorder.graph.codec import VERSION, problems


@given(graphs())
def test_what_is_written_is_read_back(graph: Graph) -> None:
    assert problems(graph) == []
    text = to_json(graph)
    assert from_json(text) == graph
    assert from_json(text.encode()) == graph
    assert to_json(from_json(text)) == text
    assert pickle.loads(pickle.dumps(graph)) == graph


@given(graphs())
def test_edges_are_the_reads_in_order(graph: Graph) -> None:
    assert [(value.id, op.id) for value, op in graph.edges()] == [(v, op.id) for op in graph.ops for v in op.inputs]


@given(graphs(), st.data())
@settings(max_examples=200)
def test_damaged_text_is_an_error_or_a_graph_that_is_sound(graph: Graph, data: st.DataObject) -> None:
    text = to_json(graph)
    place = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:place] + data.draw(st.sampled_from(["", "9", "null", '"', "[", "-1", "{}"])) + text[place + 1 :]
    try:
        read = from_json(damaged)
    except FormatError:
        return
    assert problems(read) == []


def parsed() -> Any:
    return json.loads(
        '{"torchrecorder_graph":1,"info":{"executed":"real","torch":"2","mode":"eval","guessed":"","notes":[],'
        '"failure":null},"modules":[["","m.Net",false,[0,0,0],"",[]]],"tied":{},"calls":[[null,"",1,{},{},true,"module"]],'
        '"ops":[["relu","torch.relu",0,[0],[1],[],[],null,{},null,"op"]],'
        '"values":[["input",null,0,0,"x",null],["op",0,0,null,null,null]],"metas":[[[1,3],"float32","cpu",12]],'
        '"inputs":{"x":0},"outputs":{"":[1]}}'
    )


def test_the_format_is_pinned() -> None:
    """Whoever changes the format raises VERSION: caches of other versions must be misses, not wrong pictures."""
    assert VERSION == 1
    graph = from_json(json.dumps(parsed()))
    assert json.loads(to_json(graph)) == parsed()


def test_lines_that_decide_are_written_where_there_are_any() -> None:
    data = parsed() | {"decisions": [["m.py:3", "if x.any():", [0, 1]]]}
    graph = from_json(json.dumps(data))
    assert graph.decisions == (Decision("m.py:3", "if x.any():", (0, 1)),)
    assert json.loads(to_json(graph)) == data
    data["decisions"][0][2] = [2]
    with pytest.raises(FormatError, match=r"the decision at m\.py:3 names the unknown value 2"):
        from_json(json.dumps(data))


def refusal(data: Any, path: list[Any], value: Any) -> str:
    """Why a Graph is refused, with this value at this place."""
    place = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(FormatError) as caught:
        from_json(json.dumps(data))
    return str(caught.value)


def with_frames() -> Any:
    data = parsed()
    data["frames"] = {
        "functions": [["scaled", "m.py:1"], ["half", "m.py:4"]],
        "places": [["m.py:9", 20], ["m.py:2", 8]],
        "rows": [[0, 0, None, 0], [1, 0, 0, 1]],
        "calls": [None],
        "ops": [1],
        "offsets": [6],
    }
    return data


def test_frames_name_each_function_and_place_once() -> None:
    graph = from_json(json.dumps(with_frames()))
    outer, inner = Frame(0, "scaled", "m.py:1", 0, None, "m.py:9", 20), Frame(1, "half", "m.py:4", 0, 0, "m.py:2", 8)
    assert graph.frames == (outer, inner)
    assert (graph.ops[0].frame, graph.ops[0].offset, graph.calls[0].frame) == (1, 6, None)
    assert json.loads(to_json(graph)) == with_frames()


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["rows", 1, 2], 1, "frame 1 has parent 1"),
        (["rows", 0, 1], 3, "frame 0 ran in the unknown call 3"),
        (["rows", 0, 0], 2, "IndexError"),
        (["ops", 0], 2, "op 0 names the frame 2, which is unknown or of another call"),
        (["calls", 0], 0, "call 0 names the frame 0, which is unknown or of another call"),
        (["offsets"], [], "ValueError"),
    ],
)
def test_frames_that_break_an_invariant_are_refused(path: list[Any], value: Any, reason: str) -> None:
    assert reason in refusal(with_frames(), ["frames", *path], value)


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["torchrecorder_graph"], 2, "its format is version 2, this is version 1"),
        (["ops", 0, 2], 5, "happened in the unknown call 5"),
        (["ops", 0, 3], [7], "names the unknown value 7"),
        (["ops", 0, 5], [0], "overwrites what it does not give"),
        (["ops", 0, 10], "magic", "unknown kind 'magic'"),
        (["values", 1, 1], None, "claims op None made it"),
        (["values", 0, 3], 4, "IndexError"),
        (["calls", 0, 0], 3, "the first call is not the model's own"),
        (["calls", 0, 1], "fc", "the first call is not the model's own"),
        (["inputs", "x"], 1, "input 'x' is a value of kind 'op'"),
        (["outputs", ""], [-1], "the outputs names the unknown value -1"),
        (["info", "executed"], "dreamt", "unknown way of recording"),
        (["modules"], [], "unknown module"),
        (["modules"], None, "TypeError"),
        (["info"], {}, "KeyError"),
    ],
)
def test_what_breaks_an_invariant_is_refused(path: list[Any], value: Any, reason: str) -> None:
    assert reason in refusal(parsed(), path, value)


def in_turn() -> Any:
    """Two layers in a block, and their sum."""
    net = Net()
    x = net.input("x", 1, 4)
    with net.call("block", "Block"):
        y = net.layer("block.fc", "Linear", x)
        z = net.layer("block.act", "ReLU", y)
    return json.loads(to_json(net.graph(net.op("add", y, z))))


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        (["calls", 2, 0], 0, "call 3 begins in call 1, which has ended"),
        (["ops", 2, 2], 2, "op 2 (add) happened in call 2, which had ended"),
        (["ops", 0, 3], [2], "op 0 (linear) reads a value newer than one it makes"),
        (["calls", 3, 2], 2, "call 3 says that it is call 2 of 'block.act', which it is not"),
        (["calls", 2, 4], {"": 3}, "call 2 gives value 3, which is made after it ended"),
        (["values", 1, 2], 1, "value 1 is not output 1 of op 0"),
        (["info", "failure"], [4, "it failed"], "the forward failed in the unknown call 4"),
    ],
)
def test_what_contradicts_itself_is_refused(path: list[Any], value: Any, reason: str) -> None:
    assert reason in refusal(in_turn(), path, value)


def test_what_is_read_before_it_is_made_is_refused() -> None:
    data = in_turn()
    first, second, _ = data["ops"]
    first[3], first[4], second[3], second[4] = [2], [], [0], [1, 2]
    data["values"][1][1:3], data["values"][2][1:3] = [1, 0], [1, 1]
    assert "op 0 (linear) reads value 2, which is made later" in refusal(data, ["tied"], {})


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "5", '"x"', "{}", "[" * 100_000])
def test_what_is_no_graph(text: str) -> None:
    with pytest.raises(FormatError, match="cannot read a Graph"):
        from_json(text)


def test_the_grade_of_a_guess_is_written_where_there_is_one() -> None:
    data = parsed()
    data["info"]["grade"] = "names"
    graph = from_json(json.dumps(data))
    assert graph.info.grade == "names"
    assert json.loads(to_json(graph)) == data
    data["info"]["grade"] = "somehow"
    with pytest.raises(FormatError, match="unknown grade 'somehow'"):
        from_json(json.dumps(data))
