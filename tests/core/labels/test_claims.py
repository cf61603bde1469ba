"""Settings in words are those of every call that they are written for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from tests.core.labels.claims import untrue
from tests.core.labels.test_one_layer import CausalConv1d
from tests.core.labels.test_runs import Stages
from tests.core.recording.nets import record
from torchrecorder.view import Node, View, make_view


class Block(nn.Module):
    def __init__(self, conv: nn.Module, shortcut: nn.Module | None = None) -> None:
        super().__init__()
        self.conv, self.shortcut = conv, shortcut or nn.Identity()

    def forward(self, x: torch.Tensor) -> Any:
        return torch.tanh(self.conv(x)) + self.shortcut(x)


def resnet() -> nn.Module:
    def block(before: int, after: int, stride: int = 1) -> Block:
        kernel, shortcut = (5 if after == 8 else 3), nn.Conv1d(before, after, 1, stride)
        conv = nn.Conv1d(before, after, kernel, stride, kernel // 2, groups=after // 8)
        return Block(conv, shortcut if before != after else None)

    return Stages([block(8, 8), block(8, 8)], [block(8, 16, 2), block(16, 16)], [block(16, 32, 2), block(32, 32)])


def dilated() -> nn.Module:
    return Stages(*([Block(CausalConv1d(8, 2**i)) for i in range(5)] for _ in range(2)))


def without(view: View) -> View:
    """The View of before there were spans: it says the settings of the call that it shows."""

    def plain(node: Node) -> Node:
        return replace(node, spans=(), parts=tuple(replace(part, spans=()) for part in node.parts))

    insets = tuple(replace(inset, view=without(inset.view)) for inset in view.insets)
    return replace(view, nodes=tuple(map(plain, view.nodes)), insets=insets)


@pytest.mark.parametrize(("net", "names"), [(resnet, ("kernel", "stride", "groups")), (dilated, ("dilation",))])
def test_settings_are_so_and_without_spans_they_would_not_be(net: type[nn.Module], names: tuple[str, ...]) -> None:
    view = make_view(record(net(), torch.zeros(1, 8, 64)))
    assert untrue(view) == []
    found = " ".join(untrue(without(view)))
    assert [name for name in names if f"{name} " not in found] == []
