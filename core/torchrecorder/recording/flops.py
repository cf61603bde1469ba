"""Floating-point operations of a kernel, 2 per multiply-add, where the formula is known.

torch has rules for the matrix products and convolutions; here are those it lacks. The rest is unknown, which is not
the same as nothing.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from torchrecorder.running import torch_private

Rule = Callable[..., int]


def rule_for(kernel: Any) -> Rule | None:
    """How to count the operations of a kernel from its arguments and (as `out_val`) its result."""
    packet = getattr(kernel, "overloadpacket", None)
    return _own_rules().get(kernel) or (torch_private.FLOP_RULES.get() or {}).get(packet)


def count(rule: Rule, args: Sequence[Any], kwargs: Mapping[str, Any], out: Any) -> int | None:
    """What the rule gives; None if it does not fit the arguments, as with a version of torch it was not made for."""
    try:
        flops = rule(*args, **kwargs, out_val=out)
    except Exception:  # a failed count must not fail the recording
        return None
    return flops if type(flops) is int else None


@functools.cache
def _own_rules() -> dict[Any, Rule]:
    rules: dict[str, Rule] = {
        "_scaled_dot_product_flash_attention_for_cpu": _attention,
        "mkldnn_rnn_layer": _recurrent,
        # torch has these, but walks over all arguments each time, which costs more than many a product.
        "mm": _product,
        "addmm": _added_product,
        "bmm": _products,
        "convolution": _convolution,
    }
    present = {name: rule for name, rule in rules.items() if hasattr(torch.ops.aten, name)}
    return {getattr(torch.ops.aten, name).default: rule for name, rule in present.items()}


def _product(a: Tensor, b: Tensor, *_: Any, out_val: Any, **__: Any) -> int:
    return 2 * a.numel() * b.shape[1]


def _added_product(_c: Tensor, a: Tensor, b: Tensor, *_: Any, out_val: Any, **__: Any) -> int:
    return 2 * a.numel() * b.shape[1]


def _products(a: Tensor, b: Tensor, *_: Any, out_val: Any, **__: Any) -> int:
    return 2 * a.numel() * b.shape[2]


def _convolution(
    x: Tensor, weight: Tensor, _bias: Any, _stride: Any, _padding: Any, _dilation: Any, transposed: bool, *_: Any,
    out_val: Tensor, **__: Any,
) -> int:  # fmt: skip
    """Each position of the smaller grid (the input's, if transposed) of each example meets each weight once."""
    grid = x if transposed else out_val
    return 2 * x.shape[0] * math.prod(grid.shape[2:]) * weight.numel()


def _attention(query: Tensor, key: Tensor, value: Tensor, *_: Any, out_val: Any, **__: Any) -> int:
    return int(torch_private.ATTENTION_FLOPS.get()(query.shape, key.shape, value.shape))


def _recurrent(x: Tensor, w_input: Tensor, w_hidden: Tensor, *_: Any, out_val: Any, **__: Any) -> int:
    """`x` is (time, batch, features); each step multiplies with both weights."""
    time, batch = x.shape[:2]
    return 2 * time * batch * (w_input.numel() + w_hidden.numel())
