"""Labels of layers: `(depth, idx)`, the depth in the network and a count of the calls at that depth from 1."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from torch import nn

from torchrecorder.activations.rows import Row

DepthIdx = tuple[int, int]
"""`(depth, idx)`; `(0, 1)` is the network itself."""


def get_layer_info_depth_idx(layer_info: Row) -> DepthIdx:
    """The label of a row of torchinfo's table.

    Raises:
        ValueError: torchinfo has not counted it.
    """
    depth, index = layer_info.depth, layer_info.depth_index
    if index is None:
        raise ValueError(f"Unexpected `None` depth_index for {layer_info}")
    return depth, index


def calls_by_module(rows: Iterable[Row]) -> dict[nn.Module, list[DepthIdx]]:
    """The labels of each module's calls, in order.

    A module that is called, and also stands in the table as the container of a call that went past it, has a row that
    is no call. It is left out, or the labels of the calls would move.
    """
    found: dict[nn.Module, list[Row]] = {}
    for row in rows:
        found.setdefault(row.module, []).append(row)
    return {
        module: [get_layer_info_depth_idx(row) for row in ([row for row in mine if row.executed] or mine)]
        for module, mine in found.items()
    }


def not_found(asked: Iterable[object], missing: set[DepthIdx]) -> ValueError:
    """The error for labels that the table does not have, with a hint for `record(1, 2)`."""
    given = tuple(asked)
    hint = ""
    if len(given) == 2 and all(isinstance(item, int) for item in given):
        hint = f"Did you mean `rnet.record({cast('DepthIdx', given)})`? "
    return ValueError(f"Following layers not found: {missing}. {hint}Operation cancelled")
