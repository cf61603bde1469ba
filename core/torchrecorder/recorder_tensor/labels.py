"""The HTML-like label of a node, and what its parts are made of.

The white space is torchview's: people keep its text of DOT in their repositories and compare it byte by byte.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from torchrecorder.recorder_tensor.computation_node import FunctionNode, ModuleNode, TensorNode

ComputeNode = TensorNode | ModuleNode | FunctionNode
node2color: dict[type[Any], str] = {
    TensorNode: "lightyellow",
    ModuleNode: "darkseagreen1",
    FunctionNode: "aliceblue",
}
_TABLE = 20 * " "
_ROW = 24 * " "


def compact_list_repr(x: list[Any]) -> str:
    """The elements in the order of their first appearance, those that are there n times as `n x element`."""
    counted = Counter(x).items()
    return ", ".join(f"{count} x {element}" if count > 1 else f"{element}" for element, count in counted)


def html_label(node: ComputeNode, show_shapes: bool, html_config: dict[str, Any]) -> str:
    """The table that is drawn for a node: name and depth and, on request, shapes."""
    rows = (
        _tall_rows(node, html_config)
        if show_shapes and not isinstance(node, TensorNode)
        else _flat_row(node, show_shapes)
    )
    opening = [
        f'<TABLE BORDER="{html_config["border"]}" CELLBORDER="{html_config["cell_border"]}"',
        f'CELLSPACING="{html_config["cell_spacing"]}" CELLPADDING="{html_config["cell_padding"]}">',
    ]
    lines = ["<", *(_TABLE + line for line in opening), *rows, _TABLE + "</TABLE>>"]
    return "\n".join(lines)


def _flat_row(node: ComputeNode, show_shapes: bool) -> list[str]:
    cells = f"<TD>{node.name}<BR/>depth:{node.depth}</TD>"
    if show_shapes and isinstance(node, TensorNode):
        cells += f"<TD>{node.tensor_shape}</TD>"
    return [f"{_ROW}<TR>{cells}</TR>"]


def _tall_rows(node: ModuleNode | FunctionNode, html_config: dict[str, Any]) -> list[str]:
    span = html_config["col_span"]
    return [
        _TABLE + "<TR>",
        f'{_ROW}<TD ROWSPAN="{html_config["row_span"]}">{node.name}<BR/>depth:{node.depth}</TD>',
        f'{_ROW}<TD COLSPAN="{span}">input:</TD>',
        f'{_ROW}<TD COLSPAN="{span}">{compact_list_repr(node.input_shape)} </TD>',
        _TABLE + "</TR>",
        _TABLE + "<TR>",
        f'{_ROW}<TD COLSPAN="{span}">output: </TD>',
        f'{_ROW}<TD COLSPAN="{span}">{compact_list_repr(node.output_shape)} </TD>',
        _TABLE + "</TR>",
    ]
