"""torchinfo's table of a network: its layers in the order of their calls, and the labels that its rows give them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import Any, Protocol

from torch import nn

from torchrecorder.running.handles import CallLog, ModuleCall, logged_calls
from torchrecorder.running.restore import restored

DepthIdx = tuple[int, int]
"""`(depth, idx)`: the depth in the network, and a count of the rows at that depth; `(0, 1)` is the network itself."""

_DEFAULTS: dict[str, Any] = {
    "col_names": ("input_size", "output_size", "num_params", "params_percent"),
    "depth": float("inf"),
    "row_settings": ("var_names", "depth"),
    "verbose": 0,
}


class TorchinfoRow(Protocol):
    """Parts of torchinfo's `LayerInfo`: a call of a module, or a container that was not called."""

    module: nn.Module
    depth: int
    depth_index: int | None
    executed: bool


def summarized(net: nn.Module, options: Mapping[str, Any]) -> tuple[Any, CallLog[ModuleCall]]:
    """The `ModelStatistics` that torchinfo makes with one forward pass of the example input, and the calls in it."""
    if not {"input_size", "input_data"} & options.keys():
        raise ValueError("You must provide `input_data` or `input_size`")
    torchinfo = import_torchinfo()
    if (device := options.get("device")) is not None:
        net.to(device)  # torchinfo moves it, and the user goes on there
    try:
        with restored(net), logged_calls() as log:
            return torchinfo.summary(net, **{**_DEFAULTS, **options}), log
    finally:
        # It keeps the last pass of each class, and with it the network, for as long as the process lives.
        torchinfo.clear_cached_forward_pass()


def import_torchinfo() -> Any:
    """The module `torchinfo.torchinfo`."""
    try:
        return import_module("torchinfo.torchinfo")
    except ModuleNotFoundError as error:
        advice = "python -m pip install 'torchrecorder-docs[scio]' gives you both"
        raise ImportError(f"torchrecorder.scio.recorder.Recorder needs torchinfo and numpy; {advice}") from error


def inputs_of(options: Mapping[str, Any]) -> tuple[list[str], bool]:
    """A name for each input that torchinfo will give the network, and whether they are keyword arguments."""
    data, size = options.get("input_data"), options.get("input_size")
    if isinstance(data, Mapping):
        return [str(name) for name in data], True
    if data is not None:
        count = len(data) if isinstance(data, (list, tuple)) else 1
    else:
        count = len(size) if isinstance(size, (list, tuple)) and size and not isinstance(size[0], int) else 1
    return [f"input_{place}" for place in range(count)], False


def constants_of(options: Mapping[str, Any]) -> dict[str, Any]:
    own = inspect.signature(import_torchinfo().summary).parameters
    return {name: value for name, value in options.items() if name not in own}


def get_layer_info_depth_idx(layer_info: TorchinfoRow) -> DepthIdx:
    """The label of a row of torchinfo's table.

    Args:
        layer_info: The row, one of `rnet.summary.summary_list`.

    Returns:
        Its depth, and its place among the rows of that depth, from 1.

    Raises:
        ValueError: torchinfo has not counted it.

    Examples:
        >>> from torch import nn
        >>> from torchrecorder.scio.recorder import Recorder, get_layer_info_depth_idx
        >>> rnet = Recorder(nn.Sequential(nn.Linear(3, 2), nn.ReLU()), input_size=(1, 3))
        >>> [get_layer_info_depth_idx(row) for row in rnet.summary.summary_list]
        [(0, 1), (1, 1), (1, 2)]
    """
    depth, index = layer_info.depth, layer_info.depth_index
    if index is None:
        raise ValueError(f"Unexpected `None` depth_index for {layer_info}")
    return depth, index


def labels_by_module(rows: Iterable[TorchinfoRow], log: CallLog[ModuleCall]) -> dict[nn.Module, list[DepthIdx]]:
    """The labels of each module's calls in the order in which the calls began; of one without calls, of its rows.

    A module that is called, and also stands in the table as the container of a call that went past it, has a row that
    is not a call. It is left out, or the labels of the calls would move.
    """
    by_module: dict[nn.Module, list[TorchinfoRow]] = {}
    for row in rows:
        by_module.setdefault(row.module, []).append(row)
    called = {id(row) for row in _rows_of_calls([*rows], by_module, log)}
    return {
        module: [get_layer_info_depth_idx(row) for row in ([row for row in mine if id(row) in called] or mine)]
        for module, mine in by_module.items()
    }


def _rows_of_calls(
    rows: list[TorchinfoRow], known: Mapping[nn.Module, Any], log: CallLog[ModuleCall]
) -> Iterable[TorchinfoRow]:
    if not log.reentered():
        return [row for row in rows if row.executed]
    # Of a module that calls itself, torchinfo marks the row of the call that began last, whichever has ended. Its rows
    # stand in the order in which calls begin.
    found: list[TorchinfoRow] = []
    calls = iter([call.module for call in log.entries if call.module in known])
    module = next(calls, None)
    for row in rows:
        if row.module is module:
            found.append(row)
            module = next(calls, None)
    return found
