"""A block that picks other layers by index in each call is as many blocks, whichever writer says so."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn

import torchrecorder


class Blocks(nn.Module):
    """Layers that calls pick by index: other ones in each, if not `is_same`; with a norm for all, if `has_norm`."""

    def __init__(self, *, is_same: bool = False, has_norm: bool = False, is_wide: bool = True) -> None:
        super().__init__()
        self.is_same, self.norm, self.is_wide = is_same, nn.LayerNorm(16) if has_norm else nn.Identity(), is_wide
        self.convs = nn.ModuleList(nn.Conv1d(8, 8, 3, padding=1) for _ in range(4))
        self.skips = nn.ModuleList(nn.Conv1d(8, 8, 1) for _ in range(4))

    def forward(self, x: Tensor, i: int) -> Tensor:
        i = 0 if self.is_same else i
        y = torch.relu(self.norm(self.convs[i](x)))
        return y + self.skips[i](x) if self.is_wide else y


class Net(nn.Module):
    def __init__(self, blocks: nn.Module, *, in_row: bool = True) -> None:
        super().__init__()
        self.blocks, self.in_row = blocks, in_row

    def forward(self, x: Tensor) -> Tensor:
        if not self.in_row:
            return sum(self.blocks(x, i) for i in range(4))  # type: ignore[no-any-return]
        for i in range(4):
            x = self.blocks(x, i)
        return x


class Weights(nn.Module):
    """Parameters that calls pick by index, without layers."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.ParameterList(torch.ones(8, 8) for _ in range(4))

    def forward(self, x: Tensor, i: int) -> Tensor:
        return torch.tanh(self.weights[i] @ torch.relu(x))


def written(net: nn.Module) -> dict[str, str]:
    diagram = torchrecorder.draw(net, (1, 8, 16))
    assert diagram.weakened == ()
    rows = "\n".join(f"{row.name} ×{row.repeat} {row.params}" for row in diagram.table)
    return {"text": diagram.text, "table": rows, "svg": diagram.svg, "mermaid": diagram.to_mermaid()}


@pytest.mark.parametrize("make", [Blocks, Weights, lambda: Blocks(is_wide=False)], ids=["wide", "weights", "one"])
def test_other_parameters_in_each_call_are_other_blocks(make: Callable[[], nn.Module]) -> None:
    for name, text in written(Net(make())).items():
        assert "shared" not in text, name
        assert "loop" not in text, name
        assert "×4" in text, name


def test_a_block_has_the_parameters_that_its_call_reads() -> None:
    said = written(Net(Blocks()))
    assert re.search(r"blocks +Blocks ×4 +N×8×16 +272\b", said["text"])
    assert "blocks ×4 272" in said["table"]
    assert "blocks · Blocks ×4 · 272 params each" in said["mermaid"]
    assert "1.09 k params" in said["mermaid"], "of the model"


@pytest.mark.parametrize("blocks", [Blocks(is_same=True), Blocks(has_norm=True)], ids=["all", "some"])
def test_the_same_parameters_in_each_call_are_shared(blocks: nn.Module) -> None:
    for name, text in written(Net(blocks)).items():
        assert name == "table" or "called 4 times" in text, name
        assert name == "table" or "shared" in text, name


def test_blocks_beside_one_another_are_no_loop() -> None:
    for name, text in written(Net(Blocks(), in_row=False)).items():
        assert "shared" not in text, name
    assert "4 in parallel" in torchrecorder.draw(Net(Blocks(), in_row=False), (1, 8, 16), depth=1).text


def test_depths_and_inner_views_agree() -> None:
    for options in ({"depth": 1}, {"depth": 2}, {"depth": "all"}, {"fold": False}, {"layout": "layered"}):
        diagram = torchrecorder.draw(Net(Blocks()), (1, 8, 16), **options)
        assert diagram.weakened == ()
        assert "shared" not in diagram.svg
        assert "shared" not in str(diagram.drawing.details)
