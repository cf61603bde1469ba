"""Helpers of the tests of the recorder: a module from a function, and a Graph reduced to what a test says."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from tests.truth.case import Edge, read_edges
from tests.truth.neutral import to_neutral
from torchrecorder.graph import Graph
from torchrecorder.graph.codec import problems
from torchrecorder.recording.run import capture


class Net(nn.Module):
    """A module whose forward is `body(self, *args)`, with the given children, tensors and plain attributes."""

    def __init__(self, body: Callable[..., Any], **attributes: Any) -> None:
        super().__init__()
        self.body = body
        for name, value in attributes.items():
            setattr(self, name, value)

    def __getattr__(self, name: str) -> Any:  # only for the type checker: anything may have been set
        return super().__getattr__(name)

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.body(self, *args, **kwargs)


def record(model: nn.Module, *args: Any, **options: Any) -> Graph:
    graph = capture(model, args, **options)
    assert problems(graph) == []
    return graph


def edges(graph: Graph) -> set[Edge]:
    return to_neutral(graph)[1]


def drawn(text: str) -> frozenset[Edge]:
    return read_edges(text.replace("in:x", "in:args.0"))


def op_names(graph: Graph) -> list[str]:
    return [op.name for op in graph.ops]
