"""The nodes that operations add to autograd's graph, for `recorder: classic`.

What autograd has kept is read from each result at once, back to what is known: to the nodes of the tensors that the
operation read. So each node is looked at once, and no graph is walked at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from torchrecorder.classic.recording import NEED_NO_GRAD as NEED_NO_GRAD
from torchrecorder.classic.recording import can_follow
from torchrecorder.graph import AutogradNode
from torchrecorder.recording.values import Values
from torchrecorder.running import torch_private


def followed(substitute: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Substitutes that autograd follows, as far as it can; copies, because a forward may not write to a leaf."""

    def made(tensor: Tensor) -> Tensor:
        new = substitute(tensor)
        return new.requires_grad_().clone() if torch.is_grad_enabled() and can_follow(new) else new

    return made


class AutogradNodes:
    """The nodes of one recording that stand for values. They are kept, so that no other gets their address."""

    def __init__(self, values: Values) -> None:
        self._values = values
        self._known: dict[tuple[Any, int], int] = {}

    def learn(self, tensor: Tensor, value: int) -> None:
        """A tensor has a value, unless it was met before."""
        with torch_private.without_torch_function():
            if tensor.grad_fn is not None:
                self._known.setdefault((tensor.grad_fn, tensor.output_nr), value)

    def made(self, outputs: Iterable[tuple[Tensor, int]]) -> tuple[AutogradNode, ...]:
        """The new nodes behind the results of an operation, which have these values."""
        places: dict[Any, int] = {}
        rows: list[tuple[str, list[int], list[int]]] = []
        with torch_private.without_torch_function():
            for tensor, value in outputs:
                node = tensor.grad_fn
                if node is None or (node, tensor.output_nr) in self._known:
                    continue
                self._walk(node, places, rows)
                rows[places[node]][2].append(value)
                self._known[node, tensor.output_nr] = value
        return tuple(AutogradNode(name, tuple(inputs), tuple(values)) for name, inputs, values in rows)

    def _walk(self, node: Any, places: dict[Any, int], rows: list[tuple[str, list[int], list[int]]]) -> None:
        """Add rows for a node and for unknown ones before it; iteratively, since chains may be long."""
        path = [node] if node not in places else []
        while path:
            node = path[-1]
            before = [source for source in node.next_functions if source[0] is not None]
            known = [source in self._known or _leaf_of(source[0]) is not None for source in before]
            new = [fn for (fn, _), is_end in zip(before, known, strict=True) if not is_end and fn not in places]
            if new:
                path += reversed(new)
                continue
            path.pop()
            if node not in places:
                sources = [self._source(fn, number, places) for fn, number in before]
                places[node] = len(rows)
                rows.append((type(node).__name__, [*dict.fromkeys(id_ for id_ in sources if id_ is not None)], []))

    def _source(self, node: Any, number: int, places: dict[Any, int]) -> int | None:
        leaf = _leaf_of(node)
        if leaf is not None:
            return self._values.read(leaf)[-1] if self._values.is_known(leaf) else None
        known = self._known.get((node, number))
        return ~places[node] if known is None else known


def _leaf_of(node: Any) -> Tensor | None:
    """The tensor that a node accumulates gradients of."""
    leaf = None if node.next_functions else getattr(node, "variable", None)
    return leaf if isinstance(leaf, Tensor) else None
