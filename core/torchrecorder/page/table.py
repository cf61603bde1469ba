"""The texts of the table of layers, the same in every markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torchrecorder.drawing.text import LayerRow

HEAD = ("Layer", "Name", "Class", "Output", "Parameters", "FLOPs")
NUMBERS = (4, 5)
"""The columns of numbers."""


def cells(row: LayerRow) -> tuple[str, ...]:
    """The texts of one row, a column each; numbers of layers that repeat are those of one of them."""
    times = f" ×{row.repeat}" if row.repeat > 1 else ""
    each = " each" if row.repeat > 1 else ""
    params, flops = (f"{number:,}{each}" if number else "" for number in (row.params, row.flops))
    return row.label, row.name + times, row.layer, row.output, params, flops
