"""torchinfo's table of a network: its layers in the order of their calls."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

from torch import nn

from torchrecorder.activations.calls import mark_calls, observed, reentered
from torchrecorder.activations.rows import Table
from torchrecorder.activations.shared import has_shared_modules, with_calls_in_place
from torchrecorder.activations.undisturbed import undisturbed

_DEFAULTS: dict[str, Any] = {
    "col_names": ("input_size", "output_size", "num_params", "params_percent"),
    "depth": float("inf"),
    "row_settings": ("var_names", "depth"),
    "verbose": 0,
}


def summarized(net: nn.Module, options: Mapping[str, Any]) -> tuple[Table, set[nn.Module]]:
    """Torchinfo's summary of the network, made with one forward pass of the example input.

    Args:
        net: The network; only its device may have changed afterwards, if `options` ask for another.
        options: For `torchinfo.summary`; the table shows all depths, attribute names, shapes and parameters by default.

    Returns:
        The table, and the modules that were called inside themselves.

    Raises:
        ImportError: torchinfo or numpy is not installed.
        ValueError: There is neither `input_data` nor `input_size`.
        RuntimeError: The forward pass failed (from torchinfo).
    """
    if not {"input_size", "input_data"} & options.keys():
        raise ValueError("You must provide `input_data` or `input_size`")
    torchinfo = import_torchinfo()
    try:
        with undisturbed(net), observed(net) as calls:
            table = cast("Table", torchinfo.summary(net, **{**_DEFAULTS, **options}))
    finally:
        # It keeps the last pass of each class, and with it the network, for as long as the process lives.
        torchinfo.clear_cached_forward_pass()
    if nested := reentered(calls):
        mark_calls(table, calls)
    return with_calls_in_place(table, calls) if has_shared_modules(net) else table, nested


def import_torchinfo() -> Any:
    """The module `torchinfo.torchinfo`.

    Raises:
        ImportError: It or numpy is not installed.
    """
    try:
        return import_module("torchinfo.torchinfo")
    except ModuleNotFoundError as error:
        advice = "python -m pip install 'torchrecorder-docs[scio]' gives you both"
        raise ImportError(f"torchrecorder.activations.Recorder needs torchinfo and numpy; {advice}") from error


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
    """What torchinfo hands on to forward: everything that is no option of its own."""
    own = inspect.signature(import_torchinfo().summary).parameters
    return {name: value for name, value in options.items() if name not in own}
