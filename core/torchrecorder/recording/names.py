"""What an operation is called, and its arguments that are not tensors, as a reader would write them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count, islice
from numbers import Integral, Real
from types import MethodDescriptorType, WrapperDescriptorType
from typing import NamedTuple

import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from torchrecorder.recording.batch_sizes import BatchSize
from torchrecorder.running.nested import native_items

_KERNELS = (type(torch.ops.aten.add.Tensor), type(torch.ops.aten.add))


class OpName(NamedTuple):
    name: str
    target: str


_NAMESPACES = (torch, F, torch.nested, torch.sparse, torch.fft, torch.linalg, torch.special)
"""The first that has the function gives the name."""

_PROPERTIES = {"T", "mT", "H", "mH", "real", "imag", "data"}
"""Attributes of a tensor that compute a tensor; the others are questions."""

_QUESTIONS = {
    *("size", "dim", "ndimension", "stride", "numel", "nelement", "is_floating_point", "is_complex", "is_signed"),
    *("is_contiguous", "is_inference", "is_same_size", "is_set_to", "data_ptr", "storage_offset", "element_size"),
    *("untyped_storage", "storage", "get_device", "requires_grad_", "register_hook", "retain_grad", "is_tensor"),
    *("register_post_accumulate_grad_hook", "equal", "allclose", "__len__", "__bool__", "__hash__", "__dir__"),
    *("__contains__", "result_type", "can_cast", "is_nonzero", "__reduce_ex__"),
}
"""Functions that give no tensor (or, `requires_grad_`, their argument): they are not operations."""

EXITS = {
    *("numpy", "tolist", "item", "__array__", "__dlpack__", "__float__", "__int__", "__index__", "__complex__"),
    *("__format__", "__repr__"),
}
"""Functions that hand values to code which the recording does not see."""

POINTERS = {"data_ptr", "untyped_storage", "storage"}
"""Functions that show code which the recording does not see where the values lie; torch itself asks them often."""

SIZES = {Tensor.size, Tensor.__len__, Tensor.numel, Tensor.nelement, Tensor.shape.__get__}  # type: ignore[attr-defined]
"""Functions that give sizes of a tensor."""

DECISIONS = {"__bool__", "__contains__", "is_nonzero", "equal", "allclose"}
"""Functions whose answer is not computed with, but decides which branch is taken."""

LAYS_OPEN = {"numpy", "__array__", "__dlpack__", "data_ptr", "untyped_storage", "storage", "share_memory_"}
"""Functions after which memory may be written to without a kernel."""

CHANGES_STATE = {"requires_grad_", "__set__", "register_hook", "register_post_accumulate_grad_hook", "detach_"}
"""Functions that change what autograd knows of a tensor."""

_DUNDERS = {
    "truediv": "div",
    "itruediv": "div_",
    "rtruediv": "div",
    "rdiv": "div",
    "idiv": "div_",
    "invert": "bitwise_not",
}
_HIDDEN = {
    "_nested_tensor_from_tensor_list": "torch.nested.as_nested_tensor",
    "rsub": "torch.sub",
}
"""Functions of torch that stand for another one."""

_OPERATORS = {"add", "sub", "mul", "matmul", "pow", "mod", "floordiv", "and", "or", "xor", "lshift", "rshift"}


def op_name(func: Callable[..., object]) -> OpName | None:
    """The name of a function of torch's API; None if it is a question and no operation."""
    if isinstance(func, _KERNELS):
        return kernel_name(func)
    name = getattr(func, "__name__", "")
    owner = getattr(func, "__self__", None)
    if name in ("__get__", "__set__", "__delete__"):
        attribute = getattr(owner, "__name__", "")
        if name == "__set__" and attribute == "data":
            return OpName("set_data", "torch.Tensor.data")
        is_op = name == "__get__" and attribute in _PROPERTIES
        return OpName(attribute, f"torch.Tensor.{attribute}") if is_op else None
    if name in _QUESTIONS or name in EXITS:
        return None
    home = public_functions().get((name, func))
    if home is not None:
        return home
    if isinstance(func, (MethodDescriptorType, WrapperDescriptorType)) or vars(Tensor).get(name) is func:
        return OpName(_plain(name), f"torch.Tensor.{name}")
    return OpName(_plain(name), f"{getattr(func, '__module__', None) or 'torch'}.{name}")


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A function that is not an operation."""

    name: str
    tells: bool
    """Whether it tells the code, or other code, of more than sizes, or changes something."""
    is_of_sizes: bool
    is_control_flow: bool


_TELLING = {*EXITS, *DECISIONS, *POINTERS, *LAYS_OPEN, *CHANGES_STATE, "__reduce_ex__"}


def question_of(func: Callable[..., object], is_control_flow: bool) -> Question:
    name = getattr(func, "__name__", "")
    return Question(name, name in _TELLING, func in SIZES, is_control_flow)


def kernel_name(func: object) -> OpName:
    text = str(func)
    return OpName(text.split(".")[1] if "." in text else text, f"torch.ops.{text}")


@functools.cache
def public_functions() -> dict[tuple[str, object], OpName]:
    """The functions of torch's API with their names; slow, so the worker asks once before it forks.

    By the function and its own name, since `torch.mm` equals `torch.dsmm`.
    """
    functions: dict[tuple[str, object], OpName] = {}
    for namespace in _NAMESPACES:
        for name, item in vars(namespace).items():
            if callable(item) and not name.startswith("_") and not isinstance(item, type):
                own = getattr(item, "__name__", "")
                functions.setdefault((own, item), OpName(name, f"{namespace.__name__}.{name}"))
    for hidden, public in _HIDDEN.items():
        if hasattr(torch, hidden):
            function = getattr(torch, hidden)
            functions[function.__name__, function] = OpName(public.rpartition(".")[2], public)
    return functions


def _plain(name: str) -> str:
    """`__iadd__` is `add_`, `__rsub__` is `sub`, `__getitem__` is `getitem`, `_weight_norm` is `weight_norm`."""
    if not (name.startswith("__") and name.endswith("__")):
        return name.lstrip("_")
    name = name[2:-2]
    if name in _DUNDERS:
        return _DUNDERS[name]
    if name[1:] in _OPERATORS and name[0] in "ir":
        return name[1:] + ("_" if name[0] == "i" else "")
    return name


_ITEMS, _CHARACTERS = 12, 120
"""Items of a sequence, and characters of an argument, that the details of an operation show on a few lines."""
_PLACES = tuple(map(str, range(32)))
_INTEGER = frozenset((int,))
_SIMPLE = frozenset((bool, int, BatchSize, float, complex, str, bytes, type(None)))
_NAMED = (torch.dtype, torch.device, torch.layout, torch.memory_format, torch.SymInt, torch.SymFloat, torch.SymBool)


def attributes(args: Sequence[object], kwargs: Mapping[str, object]) -> dict[str, str]:
    """The arguments that are not tensors, by position or name; never with an id of an object."""
    texts: dict[str, str] = {}
    places: Iterable[str] = _PLACES if len(args) < len(_PLACES) else map(str, count())
    named: Iterable[tuple[str, object]] = zip(places, args, strict=False)
    for name, arg in chain(named, kwargs.items()) if kwargs else named:
        kind = type(arg)
        if kind is Tensor or kind is nn.Parameter:  # most are, and this runs for every operation
            continue
        if kind is tuple and len(arg) <= _ITEMS and _INTEGER.issuperset(map(type, arg)):  # type: ignore[arg-type,call-overload]
            texts[name] = _sizes(arg)
        elif kind in _SIMPLE or (kind is tuple and 0 < len(arg) <= _ITEMS and _SIMPLE.issuperset(map(type, arg))):  # type: ignore[arg-type,call-overload]
            texts[name] = repr(arg)[:_CHARACTERS]
        elif not issubclass(kind, Tensor):
            items = [*native_items(arg)] if issubclass(kind, (list, tuple)) else []
            if not items or not all(issubclass(type(item), Tensor) for item in items):
                texts[name] = _text(arg)[:_CHARACTERS]
    return texts


@functools.lru_cache(1000)
def _sizes(numbers: tuple[int, ...]) -> str:
    """Text of integers, such as a stride; those of a model are few."""
    return _text(numbers)[:_CHARACTERS]


def _text(arg: object) -> str:
    kind = type(arg)
    if kind in _SIMPLE:
        return repr(arg)
    if (kind is tuple or kind is list) and len(arg) <= _ITEMS and _SIMPLE.issuperset(map(type, arg)):  # type: ignore[arg-type,call-overload]
        return repr(arg)
    if issubclass(kind, (list, tuple)):
        first = [*islice(native_items(arg), _ITEMS + 1)]
        items = [_text(item) for item in first[:_ITEMS]] + ["…"] * (len(first) > _ITEMS)
        if issubclass(kind, list):
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(first) == 1 else ''})"
    if type(arg) is slice:
        start, stop = ("" if end is None else _text(end) for end in (arg.start, arg.stop))
        return f"{start}:{stop}" + (f":{_text(arg.step)}" if arg.step is not None else "")
    if issubclass(kind, _NAMED):
        return str(arg)
    if arg is Ellipsis:
        return "..."
    if isinstance(arg, Real):  # of numpy, mostly
        return repr(int(arg) if isinstance(arg, Integral) else float(arg))
    return "tensor" if issubclass(kind, Tensor) else kind.__name__
