"""The grammar of shapes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from torchrecorder.request import InputSpec, format_shapes, parse_shapes, shapes_from
from torchrecorder.request.shapes import DTYPES

READ = {
    "1,3": [InputSpec((1, 3))],
    "1, 3,": [InputSpec((1, 3))],
    "1,3; 1,8": [InputSpec((1, 3)), InputSpec((1, 8))],
    "1,3; 1,8;": [InputSpec((1, 3)), InputSpec((1, 8))],
    "x=1,3; ids=int64[1,16]<100": [
        InputSpec((1, 3), name="x"),
        InputSpec((1, 16), "int64", name="ids", high=100),
    ],
    "(1, 3)": [InputSpec((1, 3))],
    "[1, 3]": [InputSpec((1, 3))],
    "[(1, 3), (1, 8)]": [InputSpec((1, 3)), InputSpec((1, 8))],
    "((1, 3), (8,))": [InputSpec((1, 3)), InputSpec((8,))],
    "float16[2]": [InputSpec((2,), "float16")],
    "torch.long[2] < 7": [InputSpec((2,), "int64", high=7)],
    "t=int64[]": [InputSpec((), "int64", name="t")],
    "mask=bool[1,4]": [InputSpec((1, 4), "bool", name="mask")],
}

REFUSED = {
    "": "no shape is given",
    "1,a": "'a' in '1,a' is not a valid size",
    "1x3x224": "write 1,3,224",
    "1×3": "write 1,3",
    "1 3 8 8": "write 1,3,8,8",
    " 1 × 3 ": "write 1,3",
    "-1,3": "'-1' in '-1,3' is not a valid size",
    "1,,2": "'' in '1,,2' is not a valid size",
    "1.5": "'1.5' is not a valid size",
    "int65[1]": "did you mean int64?",
    "quux[1]": "unknown dtype 'quux': one of float32",
    "int64": "has no sizes",
    "x=": "has no sizes",
    "x=1; 2": "without a name follows a named one",
    "x=1; x=2": "the input x is given twice",
    "float32[1]<3": "`<` is for integers",
    "int64[1]<0": "leaves no integer below 0",
    "1,3]": "is not a valid input",
    "1;;2": "is not a valid input",
    "[(1, 2), 3]": "is not a valid size",
}


@pytest.mark.parametrize("text", READ)
def test_reads(text: str) -> None:
    assert list(parse_shapes(text)) == READ[text]


@pytest.mark.parametrize("text", REFUSED)
def test_refuses_with_the_reason(text: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 (the message is compared below)
        parse_shapes(text)
    assert REFUSED[text] in str(caught.value)


def test_python_values() -> None:
    assert shapes_from((1, 3)) == parse_shapes("1,3")
    assert shapes_from([(1, 3), (1, 8)]) == parse_shapes("1,3; 1,8")
    mixed: list[tuple[int, ...] | str] = [(), "ids=int64[1,2]<9"]
    assert shapes_from(mixed) == parse_shapes("[]; ids=int64[1,2]<9")
    assert shapes_from("ids=int64[2]") == parse_shapes("ids=int64[2]")


@pytest.mark.parametrize("value", [(1, -3), (1, True), (1, "3"), [(1,), 2], 5])
def test_python_values_that_are_no_shapes(value: object) -> None:
    with pytest.raises(ValueError, match="is not a valid shape"):
        shapes_from(value)  # type: ignore[arg-type]


def _specs(named: bool) -> st.SearchStrategy[InputSpec]:
    name = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True) if named else st.none()
    integer = st.builds(
        InputSpec,
        st.lists(st.integers(0, 999), max_size=5).map(tuple),
        st.sampled_from([d for d in DTYPES if "int" in d]),
        name,
        st.none() | st.integers(1, 10**6),
    )
    other = st.builds(InputSpec, st.lists(st.integers(0, 999), max_size=5).map(tuple), st.sampled_from(DTYPES), name)
    return integer | other


@given(
    st.lists(_specs(named=False), max_size=3),
    st.lists(_specs(named=True), max_size=3, unique_by=lambda spec: spec.name),
)
def test_what_is_written_is_read_back(positional: list[InputSpec], named: list[InputSpec]) -> None:
    specs = tuple(positional + named)
    if specs:
        assert parse_shapes(format_shapes(specs)) == specs


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        specs = parse_shapes(text)
    except ValueError:
        return
    assert parse_shapes(format_shapes(specs)) == specs
