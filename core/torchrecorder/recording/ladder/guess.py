"""One guess of what a forward may want, and what its signature says to those who make one."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

from torch import nn

from torchrecorder.recording.arguments import Arguments
from torchrecorder.request import InputSpec, format_shapes


@dataclass(frozen=True, slots=True)
class Guess:
    """Inputs that a forward may accept, and why."""

    why: str
    """Ends a sentence that begins with the inputs: `from the config of BertModel`."""
    specs: tuple[InputSpec, ...] = ()
    arguments: Arguments | None = None
    """Inputs that are there already."""

    def __str__(self) -> str:
        return f"{format_shapes(self.specs)}, {self.why}" if self.specs else self.why


def required(model: nn.Module) -> list[inspect.Parameter]:
    """The parameters of the forward that have no default."""
    return [p for p in parameters(model) if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def parameters(model: nn.Module) -> list[inspect.Parameter]:
    """The parameters of the forward, with their annotations as objects where that is possible."""
    for evaluated in (True, False):
        try:
            return list(inspect.signature(model.forward, eval_str=evaluated).parameters.values())
        except (ValueError, TypeError):
            break
        except Exception:  # an annotation may name what is only there for type checkers
            continue
    return []
