"""Asking a user's styler; wherever it runs, its answer is plain data that still has to be checked."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from torchrecorder.drawing.styles.facts import Picture
from torchrecorder.drawing.styles.styler import StyledNode

_METHODS = ("style_node", "style_edge")


class StylerRaised(Exception):
    """A styler raised an exception or is none.

    Attributes:
        reason: What happened, in a sentence.
        trace: The traceback of the user's code; empty if it is no exception of theirs.
    """

    def __init__(self, reason: str, trace: str = "") -> None:
        super().__init__(reason)
        self.reason, self.trace = reason, trace


def ask(styler: Any, picture: Picture) -> dict[str, list[Any]]:
    """What the styler says of each node, box and edge, unchecked.

    Args:
        styler: An object with `style_node` or `style_edge`; a class is called without arguments first.
        picture: What it is asked about.

    Raises:
        StylerRaised: It raised, or has neither of the methods.
    """
    styler = _guarded("making it", styler) if isinstance(styler, type) else styler
    of_node, of_edge = (getattr(styler, name, None) for name in _METHODS)
    if not callable(of_node) and not callable(of_edge):
        raise StylerRaised(f"{type(styler).__name__} has no method {' or '.join(_METHODS)}")
    nodes, boxes, edges = picture.nodes, picture.boxes, picture.edges
    return {
        "nodes": [_of_node(of_node, node) for node in nodes],
        "boxes": [_of_node(of_node, box) for box in boxes],
        "edges": [_of_edge(of_edge, nodes[tail], nodes[head]) for tail, head in edges],
    }


def _of_node(method: Any, node: StyledNode) -> Any:
    return _guarded(f"style_node for {node.label!r}", method, node) if callable(method) else {}


def _of_edge(method: Any, tail: StyledNode, head: StyledNode) -> Any:
    if not callable(method):
        return {}
    return _guarded(f"style_edge from {tail.label!r} to {head.label!r}", method, tail, head)


def _guarded(doing: str, method: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return method(*arguments)
    except Exception as error:
        trace = "".join(traceback.format_exception(error))
        raise StylerRaised(f"{doing} raised {type(error).__name__}: {error}", trace) from error
