"""What a forward may want, best guess first: what the model declares, its annotations, its first layers."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch import nn

from torchrecorder.recording.arguments import Arguments, as_arguments
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


def guesses(model: nn.Module, batch: int = 1) -> Iterator[Guess]:
    """The guesses for a model, each kind of inputs once."""
    from torchrecorder.recording import annotated, declared, layers  # they make Guesses

    seen: set[str] = set()
    for rung in (_nothing(model), _example(model), declared.guesses(model, batch), annotated.guesses(model, batch),
                 layers.guesses(model, batch)):  # fmt: skip
        for guess in rung:
            key = format_shapes(guess.specs)
            if key not in seen or not guess.specs:
                seen.add(key)
                yield guess


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


def _nothing(model: nn.Module) -> Iterator[Guess]:
    found = parameters(model)
    if found and all(p.kind is not p.VAR_POSITIONAL for p in found):
        return
    if not found and "forward" in vars(type(model)):
        yield Guess("nothing, since the forward has no parameters", arguments=((), {}))


def _example(model: nn.Module) -> Iterator[Guess]:
    """What a Lightning module keeps for its own summary."""
    example: Any = getattr(model, "example_input_array", None)
    if example is not None:
        yield Guess(f"the example_input_array of {type(model).__name__}", arguments=as_arguments(example))
