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


def rule_for(kernel: object) -> Rule | None:
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
def _own_rules() -> dict[object, Rule]:
    rules: dict[str, Rule] = {
        "_scaled_dot_product_flash_attention_for_cpu": lambda q, k, v, *_, **__: int(
            torch_private.ATTENTION_FLOPS.get()(q.shape, k.shape, v.shape)
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
