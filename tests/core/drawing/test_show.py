"""What a picture says besides names, and its looks."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import pytest

from tests.core.drawing.engines import finish, fixed, laid_out, parsed
from tests.core.graph.building import residual_block, transformer
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.errors import OptionError
from torchrecorder.graph import Failure, Graph
from torchrecorder.graph.model import Grade
from torchrecorder.labels.names import flops, size
from torchrecorder.layout.dot import to_dot
from torchrecorder.request import DrawingOptions, read_drawing
from torchrecorder.request.options import Fact
from torchrecorder.request.requests import shown
from torchrecorder.view import make_view
from torchrecorder.write.text import caption_facts


def counted() -> Graph:
    graph = residual_block()
    values = (replace(v, meta=replace(v.meta, nbytes=8192) if v.meta else None) for v in graph.values)
    return replace(graph, ops=tuple(replace(op, flops=2_000_000) for op in graph.ops), values=tuple(values))


def dot(*show: Fact) -> str:
    return str(to_dot(make_view(counted(), DrawingOptions(depth="all", show=show)), show=show).source)


def test_facts() -> None:
    assert "FLOPs" not in dot("shapes", "params")
    assert "2 MFLOPs" in dot("flops")
    assert "1×16×8×8 · float32 · 8 KiB" in dot("shapes", "dtypes", "memory")
    assert "3.68 k params" not in dot("shapes")
    assert "1×8×16×16" not in dot()


@pytest.mark.parametrize("show", [(), ("shapes", "params"), ("shapes", "params", "memory")])
def test_the_memory_of_activations_is_stated_where_memory_is_asked_for(show: tuple[Fact, ...]) -> None:
    (drawing,) = draw([DrawJob(counted(), "a" * 64, DrawingOptions(show=show))], find_engine())
    assert isinstance(drawing, Drawing)
    # the input, what the main branch gives to the sum, and two tensors of the shortcut
    peak = "up to 32 KiB at once, in down.1"
    assert drawing.facts.get("activations") == (peak if "memory" in show else None)
    assert drawing.notes == ((f"activations: {peak}, without autograd",) if "memory" in show else ())


def test_the_memory_of_activations_is_a_lower_bound_where_not_all_is_known() -> None:
    graph = counted()
    first = graph.values[0]
    assert first.meta is not None
    sparse = replace(graph, values=(replace(first, meta=replace(first.meta, nbytes=None)), *graph.values[1:]))
    assert caption_facts(sparse, ["memory"])["activations"] == "at least 24 KiB at once, in down.1"
    failed = replace(graph, info=replace(graph.info, failure=Failure(0, "ValueError: no")))
    assert caption_facts(failed, ["memory"])["activations"].startswith("at least ")
    assert "activations" not in caption_facts(graph)


def test_weights_are_nodes() -> None:
    view = make_view(counted(), DrawingOptions(show=("weights",)))
    assert [node.name for node in view.nodes if node.kind == "param"][:2] == ["conv1.weight", "bn1.weight"]
    folded = make_view(transformer(12), DrawingOptions(depth="all", show=("weights",)))
    assert not any(node.name.startswith("blocks.1.") for node in folded.nodes)


@pytest.mark.parametrize(
    ("show", "hide", "expected"),
    [
        ((), (), ("shapes", "params")),
        (("weights", "flops"), (), ("shapes", "params", "flops", "weights")),
        (("flops",), ("params", "shapes"), ("flops",)),
    ],
)
def test_show_and_hide(show: tuple[str, ...], hide: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert shown(show, hide) == expected
    assert read_drawing({"show": ", ".join(show), "hide": " ".join(hide)}).show == expected


def test_an_unknown_fact_has_a_near_miss() -> None:
    with pytest.raises(OptionError, match=r"show: 'flop' is none of .*; did you mean flops"):
        read_drawing({"show": "flop"})


@pytest.mark.parametrize(
    ("number", "text"), [(512, "512 B"), (1536, "1.5 KiB"), (3 << 20, "3 MiB"), (1 << 41, "2 TiB")]
)
def test_bytes(number: int, text: str) -> None:
    assert size(number) == text


@pytest.mark.parametrize(("number", "text"), [(12, "12 FLOPs"), (8_178_000_000, "8.18 GFLOPs"), (2_000, "2 kFLOPs")])
def test_operations(number: int, text: str) -> None:
    assert flops(number) == text


def test_the_classic_look() -> None:
    layout = laid_out(to_dot(make_view(residual_block())).source)
    made = finish(layout, uid="p1", title="t", desc="d", theme="classic")
    svg = made.svg
    assert 'fill="#add8e6"' in svg
    assert 'fill="#d3d3d3"' in svg
    assert 'fill="#ffa500"' in svg
    assert 'fill-opacity=".16"' not in svg
    assert parsed(fixed(made)) is not None
    assert "currentColor" not in fixed(made)


@pytest.mark.parametrize("grade", get_args(Grade))
def test_what_is_guessed_from_names_alone_shows_no_sizes(grade: Grade) -> None:
    graph = counted()
    graph = replace(graph, info=replace(graph.info, guessed="x=1,16,8,8, from its names", grade=grade))
    options = DrawingOptions(show=("shapes", "params", "flops"), table=True)
    (drawing,) = draw([DrawJob(graph, "a" * 64, options)], find_engine())
    assert isinstance(drawing, Drawing)
    said = f"{drawing.svg} {drawing.text} {drawing.alt} {drawing.table} {drawing.details}"
    assert ("16×8×8" in said) is ("FLOPs" in said) is (grade != "names")
    assert "3.68 k params" in said, "those of the model are certain"
    assert drawing.facts.get("grade", "") == grade
