"""The text that says what a model is called with: `1,3` · `1,3; 1,8` · `x=1,3; ids=int64[1,16]<100`.

    inputs := input (";" input)*
    input  := [name "="] [dtype] ( sizes | "[" [sizes] "]" ) ["<" bound]
    sizes  := size ("," size)*

Python's own spelling of the same, `(1, 3)` for one input and `[(1, 3), (1, 8)]` for several, is read too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from torchrecorder.errors import did_you_mean

DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "complex64", "complex128"),
    *("int64", "int32", "int16", "int8", "uint8", "bool"),
)
ALIASES = {"float": "float32", "double": "float64", "half": "float16", "long": "int64", "int": "int32"}
"""torch's own second names."""

_INPUT = re.compile(
    r"""(?: (?P<name>[^\W\d]\w*) \s* = \s* )?
        (?P<dtype>(?:torch\.)?[a-zA-Z]\w*)?  \s*
        (?: \[ (?P<boxed>[^\[\]]*) \] | \( (?P<round>[^()]*) \) | (?P<bare>[^\[\]()<]*) ) \s*
        (?: < \s* (?P<high>\d+) )?""",
    re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class InputSpec:
    shape: tuple[int, ...]
    dtype: str = "float32"
    name: str | None = None
    """The parameter of the forward it is passed as; None: by position."""
    high: int | None = None
    """Integers are drawn from 0 up to, not including, this; None: all are 1."""

    def __str__(self) -> str:
        sizes = ",".join(map(str, self.shape))
        text = sizes if self.dtype == "float32" and sizes else f"{self.dtype}[{sizes}]"
        name = f"{self.name}=" if self.name else ""
        return f"{name}{text}" + (f"<{self.high}" if self.high is not None else "")


def parse_shapes(text: str) -> tuple[InputSpec, ...]:
    """Inputs that the text describes. Raises ValueError where it does not follow the grammar."""
    text = text.strip()
    if not text:
        raise ValueError("no shape is given")
    specs = None
    if text[0] in "([":
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            specs = _from_python(ast.literal_eval(text))
    if specs is None:
        specs = tuple(_parse_input(part.strip()) for part in text.removesuffix(";").split(";"))
    names: set[str] = set()
    for spec in specs:
        if spec.name is None and names:
            raise ValueError(f"the input {spec} without a name follows a named one")
        if spec.name in names:
            raise ValueError(f"the input {spec.name} is given twice")
        if spec.name:
            names.add(spec.name)
    return specs


def shapes_from(value: str | Sequence[int] | Sequence[Sequence[int] | str]) -> tuple[InputSpec, ...]:
    """Inputs for a `shape` given in Python: `(1, 3)`, `[(1, 3), "int64[1,16]<100"]`, or the text of `parse_shapes`.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(value, str):
        return parse_shapes(value)
    specs = _from_python(value)
    if specs is None:
        raise ValueError(f"{value!r} is not a valid shape: write (1, 3), or [(1, 3), (1, 8)] for two inputs")
    return specs


def format_shapes(specs: Sequence[InputSpec]) -> str:
    """Spelling of inputs that `parse_shapes` gives back."""
    return "; ".join(map(str, specs))


def _from_python(value: object) -> tuple[InputSpec, ...] | None:
    if not isinstance(value, (tuple, list)):
        return None
    if all(_is_size(size) for size in value):
        return (InputSpec(tuple(value)),)
    if all(
        isinstance(shape, str) or (isinstance(shape, (tuple, list)) and all(map(_is_size, shape))) for shape in value
    ):
        return parse_shapes(
            "; ".join(shape if isinstance(shape, str) else str(InputSpec(tuple(shape))) for shape in value)
        )
    return None


def _is_size(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _parse_input(text: str) -> InputSpec:
    match = _INPUT.fullmatch(text)
    if not text or match is None:
        raise ValueError(f"{text!r} is not a valid input: write sizes as 1,3,224,224 or ids=int64[1,16]<100")
    boxed = match["boxed"] if match["boxed"] is not None else match["round"]
    sizes = (boxed if boxed is not None else match["bare"]).strip()
    if boxed is None and not sizes:
        raise ValueError(f"{text!r} has no sizes: write {match['dtype'] or 'float32'}[1,3], or […[]] for a scalar")
    dtype = _parse_dtype(match["dtype"] or "float32")
    high = int(match["high"]) if match["high"] else None
    if high is not None and not dtype.startswith(("int", "uint")):
        raise ValueError(f"{text!r} bounds {dtype} numbers: `<` is for integers, as in int64[1,16]<{high}")
    if high == 0:
        raise ValueError(f"{text!r} leaves no integer below 0 to draw")
    parts = sizes.removesuffix(",").split(",") if sizes.removesuffix(",") else []
    return InputSpec(tuple(_parse_size(size, text) for size in parts), dtype, match["name"], high)


def _parse_size(text: str, whole: str) -> int:
    if re.fullmatch(r"\s*\d+\s*", text, re.ASCII):
        return int(text)
    advice = f": write {','.join(re.split('[ x×*]+', text.strip()))}" if re.fullmatch(r"[\d\sx×*]+", text) else ""
    where = "" if text.strip() == whole else f" in {whole!r}"
    raise ValueError(f"{text.strip()!r}{where} is not a valid size{advice}")


def _parse_dtype(name: str) -> str:
    bare = name.removeprefix("torch.")
    bare = ALIASES.get(bare, bare)
    if bare in DTYPES:
        return bare
    advice = did_you_mean(bare, [*DTYPES, *ALIASES], f": one of {', '.join(DTYPES)}", lead=", ")
    raise ValueError(f"unknown dtype {name!r}{advice}")
