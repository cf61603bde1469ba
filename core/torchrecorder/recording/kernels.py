"""Kernels: what their schemas say of them, and their floating-point operations, 2 per multiply-add.

torch has rules for counting the matrix products and convolutions; here are those it lacks. The rest is unknown, which
is not the same as nothing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from torchrecorder.recording.control_flow import is_control_flow
from torchrecorder.recording.names import OpName, kernel_name
from torchrecorder.running import torch_private
from torchrecorder.running.nested import ByIdentity

Rule = Callable[..., int]


def counted(rule: Rule, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> int | None:
    """The count of a rule; None if it does not fit the arguments, as with a version of torch that it does not know."""
    try:
        flops = rule(*args, **kwargs, out_val=out)
    except Exception:  # a failed count must not fail the recording
        return None
    return flops if type(flops) is int else None


@functools.cache
def _own_rules() -> dict[object, Rule]:
    rules: dict[str, Rule] = {
        # the products of queries and keys, and of what they give and the values; heads of those two may be shared
        "_scaled_dot_product_flash_attention_for_cpu": lambda q, k, v, *_, **__: (
            2 * math.prod(q.shape[:3]) * k.shape[2] * (q.shape[3] + v.shape[3])
        ),
        # x is (time, batch, features); each step multiplies with both weights
        "mkldnn_rnn_layer": lambda x, w_input, w_hidden, *_, **__: (
            2 * math.prod(x.shape[:2]) * (w_input.numel() + w_hidden.numel())
        ),
        # torch has these, but walks over all arguments each time, which costs more than many a product.
        "mm": lambda a, b, *_, **__: 2 * a.numel() * b.shape[1],
        "addmm": lambda _c, a, b, *_, **__: 2 * a.numel() * b.shape[1],
        "bmm": lambda a, b, *_, **__: 2 * a.numel() * b.shape[2],
        "convolution": _convolution,
    }
    present = {name: rule for name, rule in rules.items() if hasattr(torch.ops.aten, name)}
    return {getattr(torch.ops.aten, name).default: rule for name, rule in present.items()}


def _convolution(
    x: Tensor, weight: Tensor, _bias: object, _stride: object, _padding: object, _dilation: object, transposed: bool,
    *_: object, out_val: Tensor, **__: object,
) -> int:  # fmt: skip
    """Each position of the smaller grid (the input's, if transposed) of each example meets each weight once."""
    grid = x if transposed else out_val
    return 2 * x.shape[0] * math.prod(grid.shape[2:]) * weight.numel()


SAVING: Any = torch.ops.aten.detach.default
"""The kernel with which autograd keeps a tensor; the function of that name is an operation like any other."""


Places = tuple[tuple[int, str], ...]
"""Arguments by position and name."""


@dataclass(frozen=True, slots=True, eq=False)
class Kernel:
    name: OpName
    label: str
    writes: Places
    """The arguments that its schema says it overwrites."""
    updates: Places
    """Of those that it overwrites in training, the statistics of batch norm, which its schema does not say."""
    training: Places
    """The argument that says whether it is training; empty, if it always is."""
    makes: bool
    """Whether what it gives is on memory of its own, as far as its schema says."""
    is_no_op: bool
    """Whether autograd keeps a tensor with it, or what it runs is logged itself."""
    is_random: bool
    is_sized_by_data: bool
    """Whether the sizes of what it gives depend on numbers, as those of `nonzero` do."""
    rule: Rule | None
    is_torchs: bool
    """Whether it is of torch itself, so that no other code has registered what it does in a mode."""


_FOUND: ByIdentity[Callable[..., object], Kernel] = ByIdentity()
"""Facts of all kernels that ran in recordings of this process."""


_UPDATING = {
    *("batch_norm", "native_batch_norm", "cudnn_batch_norm", "miopen_batch_norm", "_batch_norm_impl_index"),
    *("batch_norm_update_stats", "batch_norm_gather_stats", "batch_norm_gather_stats_with_counts", "instance_norm"),
}
"""Kernels that overwrite statistics which they are given, and whose schemas do not say so."""


def kernel_facts(func: Callable[..., object]) -> Kernel:
    packet = getattr(func, "overloadpacket", None)
    rule: Rule | None = _own_rules().get(func) or (torch_private.FLOP_RULES.get() or {}).get(packet)
    known = _FOUND.get(func)
    if known is not None and known.rule is rule:  # one may be registered at any time
        return known
    schema = None if torch_private.SCHEMA.get() is None else getattr(func, "_schema", None)
    name = kernel_name(func)
    arguments = [] if schema is None else [(i, a.name, a.alias_info) for i, a in enumerate(schema.arguments)]
    writes = tuple((i, argument) for i, argument, alias in arguments if alias is not None and alias.is_write)
    updates, training = (
        tuple((i, argument) for i, argument, _ in arguments if argument in names and name.name in _UPDATING)
        for names in (("running_mean", "running_var"), ("training", "use_input_stats"))
    )
    makes = schema is not None and all(given.alias_info is None for given in schema.returns)
    is_torchs = schema is not None and schema.name.startswith(("aten::", "prim::"))
    tags = getattr(func, "tags", ())
    is_random, is_sized = torch.Tag.nondeterministic_seeded in tags, torch.Tag.dynamic_output_shape in tags
    is_no_op = func is SAVING or is_control_flow(func)
    facts = Kernel(name, str(func), writes, updates, training, makes, is_no_op, is_random, is_sized, rule, is_torchs)
    _FOUND.put(func, facts)
    return facts


def arguments_at(places: Places, args: Sequence[object], kwargs: Mapping[str, object]) -> list[object]:
    """The arguments at these positions, or under these names."""
    return [args[position] if position < len(args) else kwargs.get(name) for position, name in places]


def with_tensors(func: object, args: Sequence[Any]) -> list[Any] | None:
    """Arguments with a tensor for each number that stands where the schema wants one; None, if none does.

    To a mode, torch gives the constants of a script as numbers, and few kernels take those.
    """
    schema: Any = getattr(func, "_schema", None)
    wants = [] if schema is None else [argument.type.kind() == "TensorType" for argument in schema.arguments]
    if not any(type(arg) in _NUMBERS and wanted for arg, wanted in zip(args, wants, strict=False)):
        return None
    with torch_private.without_torch_function():
        return [
            torch.tensor(arg) if type(arg) in _NUMBERS and wanted else arg
            for arg, wanted in zip(args, wants, strict=False)
        ]


_NUMBERS = (bool, int, float, complex)
