"""A model with the graph that it must give, written by hand.

Keys of the nodes:

- `in:<name>[.<path>]`: a tensor input, by the parameter of the model's forward; `out[:<path>]`: a tensor output
- `p:<fqn>`, `b:<fqn>`: a parameter or buffer read by an op outside the atomic module that owns it
- `c:<k>`: a tensor from nowhere that can be seen (an unregistered attribute, a closure)
- `m:<fqn>[#k]`: the k-th call of an atomic module, one of torch's own in which no other module is called;
  unregistered ones are `m:~<Class>[#k]`
- `<scope fqn>/<op>[#k]`: the k-th op of that name directly inside that other module (empty: the model)

Ops are named as in the public API, those that write in place end in `_`, a custom autograd function is one op with the
name of its class, and so is a control flow operator (`cond`) if no layer runs in it. An edge says that the target reads
(or overwrites) what the source made.

Rules:

1. A function that returns its own argument (`contiguous()` of a contiguous tensor) is no op.
2. A module that does nothing but return its argument is a node: the reader sees it in the code. An atomic one
   (`Identity`) is one as always, in one of the user's stands an op `pass` for each tensor that it returns.
3. A read of memory that was written in place through any alias depends on that write.
4. Calls that give no tensor (`size`, `item`) are no ops.
5. Own parameters of atomic modules are hidden; modules that are not atomic dissolve.
6. Dead branches are kept, inputs that nobody reads stay as lone nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from torch import nn

Inputs = tuple[tuple[Any, ...], Mapping[str, Any]]
Edge = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """A model, how to call it, and its graph."""

    name: str
    build: Callable[[], nn.Module]
    inputs: Callable[[], Inputs]
    edges: frozenset[Edge]
    lone: frozenset[str] = frozenset()
    """Nodes without an edge."""
    train: bool = False
    needs_numbers: bool = False
    """Whether fake tensors are not enough to run it."""
    leaves: bool = False
    """Whether numbers leave PyTorch, of which a note must tell."""
    scripted: bool = False
    """Whether TorchScript runs layers, of which a note must tell."""
    decides: bool = False
    """Whether a tensor decides which branch is taken, of which a note must tell."""
    unknown: bool = False
    """Whether a tensor comes from nowhere though it is new, of which a note must tell."""
    not_on: str = ""
    """How versions of torch begin that run other operations."""

    @property
    def nodes(self) -> set[str]:
        return {node for edge in self.edges for node in edge} | self.lone


class Cases(list[Case]):
    """The cases of a file, registered by decorator."""

    def case(
        self,
        edges: str,
        *inputs: Any,
        lone: tuple[str, ...] = (),
        train: bool = False,
        needs_numbers: bool = False,
        leaves: bool = False,
        scripted: bool = False,
        decides: bool = False,
        unknown: bool = False,
        not_on: str = "",
        **named: Any,
    ) -> Callable[[type[nn.Module]], type[nn.Module]]:
        """Register the class below as a case; functions among the inputs are called to make the input."""

        def register(cls: type[nn.Module]) -> type[nn.Module]:
            def make() -> Inputs:
                return tuple(map(_made, inputs)), {name: _made(value) for name, value in named.items()}

            graph = read_edges(edges), frozenset(lone)
            found = Case(
                cls.__name__, cls, make, *graph, train, needs_numbers, leaves, scripted, decides, unknown, not_on
            )
            self.append(found)
            return cls

        return register


def read_edges(text: str) -> frozenset[Edge]:
    """The edges of `a -> b -> c; d -> c`; a new line separates as a semicolon does."""
    chains = [[part.strip() for part in line.split("->")] for line in text.replace("\n", ";").split(";")]
    return frozenset(edge for chain in chains for edge in pairwise(filter(None, chain)))


def _made(value: Any) -> Any:
    return value() if callable(value) else value
