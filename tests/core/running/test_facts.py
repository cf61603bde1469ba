"""What is read of a module without asking `inspect` says the same."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import pytest
import torch
from torch import nn

from torchrecorder.running.facts import argument_names, forward_parameters


def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def every_kind(self: Any, a: Any, /, b: Any, *c: Any, d: int = 1, **e: Any) -> Any: ...


def says_itself(*args: Any) -> Any: ...


def in_a_circle(self: Any, x: Any) -> Any: ...


def marked(self: Any, x: Any, y: int = 2) -> Any: ...


vars(says_itself)["__signature__"] = inspect.signature(lambda self, q, r: 0)
vars(in_a_circle)["__wrapped__"] = in_a_circle
vars(marked)["is_marked"] = True


class Net(nn.Module):
    def forward(self, a: Any, b: int = 2) -> Any: ...


def holding(forward: Any) -> nn.Module:
    """A module whose forward is its own and not its class's."""
    net = Net()
    vars(net)["forward"] = forward
    return net


FORWARDS: dict[str, Any] = {
    "every kind": every_kind,
    "decorated": decorated(torch.no_grad()(every_kind)),
    "decorated more than once": functools.reduce(lambda f, _: decorated(f), range(20), every_kind),
    "only the rest": lambda *args: 0,
    "none": FunctionType((lambda: 0).__code__, {}),
    "of no object": staticmethod(lambda x, y: 0),
    "of the class": classmethod(lambda cls, x: 0),
    "partial": functools.partialmethod(every_kind, 3),
    "says itself": says_itself,
    "decorated, says itself": decorated(says_itself),
    "in a circle": in_a_circle,
    "with an attribute": marked,
}
NETS = {
    **{name: type("Net", (nn.Module,), {"forward": forward})() for name, forward in FORWARDS.items()},
    "its own": holding(lambda z, *w: 0),
    "its own, partial": holding(functools.partial(Net().forward, 1)),
    "its own, around another's": holding(decorated(Net().forward)),
    "of torch": nn.MultiheadAttention(4, 1),
}


@pytest.mark.parametrize("net", NETS.values(), ids=list(NETS))
def test_argument_names(net: nn.Module) -> None:
    parameters = forward_parameters(net)
    places = tuple(p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD))
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
    assert argument_names(net) == (places, rest)
