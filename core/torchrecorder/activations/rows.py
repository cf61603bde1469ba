"""What is used of torchinfo's classes, so that nothing here needs torchinfo to be read or checked."""

from __future__ import annotations

from typing import Any, Protocol

from torch import nn


class Row(Protocol):
    """A row of the table, torchinfo's `LayerInfo`: a call of a module, or a container that was not called."""

    module: nn.Module
    var_name: str
    depth: int
    depth_index: int | None
    executed: bool
    is_recursive: bool
    parent_info: Any
    children: Any
    num_params: int
    trainable_params: int
    param_bytes: int


class Table(Protocol):
    """The table, torchinfo's `ModelStatistics`."""

    summary_list: list[Any]
    input_size: Any
    total_input: int
    formatting: Any
