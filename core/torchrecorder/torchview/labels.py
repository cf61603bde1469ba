"""The HTML-like label of a node, and the text of a module or of arguments that nodes keep on request.

The white space is torchview's: people keep its text of DOT in their repositories and compare it byte by byte.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.nn.parameter import is_lazy

from torchrecorder.torchview.computation_node import FunctionNode, ModuleNode, TensorNode, shape_of

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


_CUT = "..."
_MOST_OUTSIDE, _MOST_INSIDE = 20, 5
"""How many attributes of an object are shown: of the one that is asked for, and of one that another holds."""


def stringify_attributes(obj: Any, max_depth: int = 3, current_depth: int = 0) -> str:
    """Text of a value and, for containers and objects, of what they hold.

    Args:
        obj: Any value. Of a tensor, shape and dtype are shown; of an object, its first public attributes.
        max_depth: Levels to go down; what lies deeper is `...`.
        current_depth: The level that `obj` is on.
    """
    if current_depth > max_depth:
        return _CUT
    if isinstance(obj, Tensor):
        return "Tensor(<uninitialized>)" if is_lazy(obj) else f"Tensor(shape={shape_of(obj)}, dtype={obj.dtype})"
    if isinstance(obj, Mapping):
        pairs = obj.items()
        inner = ", ".join(f"{name}: {stringify_attributes(v, max_depth, current_depth + 1)}" for name, v in pairs)
        return "{" + inner + "}"
    if isinstance(obj, (list, tuple)):
        return "[" + ", ".join(stringify_attributes(item, max_depth, current_depth + 1) for item in obj) + "]"
    held = getattr(obj, "__dict__", None)
    if held is None:
        return repr(obj)
    public = [(name, value) for name, value in held.items() if not name.startswith("_")]
    shown = public[: _MOST_INSIDE if current_depth else _MOST_OUTSIDE]
    inner = ", ".join(f"{name}={stringify_attributes(value, max_depth, current_depth + 1)}" for name, value in shown)
    return f"{type(obj).__name__}({inner}{_CUT if len(shown) < len(public) else ''})"
