"""What the arguments of a call are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from torchrecorder.running.facts import forward_parameters
from torchrecorder.running.nested import named_tensors

_Names = tuple[tuple[str, ...], str]


class Signatures:
    """Parameter names of forwards, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[Any, _Names] = {}

    def tensors(
        self,
        module: nn.Module,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        *,
        objects: bool = False,
    ) -> list[tuple[str, Tensor]]:
        """The tensors among the arguments of `module`, with their paths: `x`, `states.0`."""
        found: list[tuple[str, Tensor]] = []
        for name, arg in self.named(module, args, kwargs):
            if isinstance(arg, Tensor):
                found.append((name, arg))
            else:
                found += named_tensors(arg, name, objects=objects)
        return found

    def named(self, module: nn.Module, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[tuple[str, Any]]:
        """The arguments of `module` with their names."""
        names, rest = self._names(module)
        found = [
            (names[position] if position < len(names) else _join(rest, position - len(names)), arg)
            for position, arg in enumerate(args)
        ]
        return [*found, *kwargs.items()]

    def _names(self, module: nn.Module) -> _Names:
        forward = getattr(module.forward, "__func__", module.forward)
        try:
            return self._known[forward]
        except KeyError:
            found = self._known[forward] = _parameter_names(module)
            return found


def _parameter_names(module: nn.Module) -> _Names:
    """The names that positions have, and the name of what is left over (`args` in `*args`)."""
    parameters = forward_parameters(module)
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    return tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)), rest


def _join(prefix: str, position: int) -> str:
    return f"{prefix}.{position}" if prefix else str(position)
