"""Whether a network takes the same way for any input."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import Parameter
from typing import Any

from torch import nn
from torch.fx import Tracer

from torchrecorder.running.facts import forward_parameters

_DYNAMIC = (
    "The control flow of the input network is not static (see traceback). Use `Recorder` at your own risk with "
    "`force_static_flow=False`. See `help(Recorder)` for a detailed warning"
)


_ANY_NUMBER = {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}


def check_static_flow(net: nn.Module, names: list[str], constants: Mapping[str, Any], *, named: bool) -> None:
    """Trace the network symbolically, without values.

    A forward with `*args` or `**kwargs` cannot be traced as such, since their number is unknown. It is traced
    with as many as the example input has.

    Args:
        net: The network.
        names: A name for each of its inputs.
        constants: More keyword arguments, which keep their values.
        named: Whether the inputs are keyword arguments too.

    Raises:
        RuntimeError: It cannot be traced.
    """
    try:
        Tracer().trace(net)
    except Exception as error:  # whatever a forward does to a value that is not there
        if {parameter.kind for parameter in forward_parameters(net)}.isdisjoint(_ANY_NUMBER):
            raise RuntimeError(_DYNAMIC) from error
    else:
        return
    try:
        _CallTracer(names, constants, named).trace(net)
    except Exception as error:
        raise RuntimeError(_DYNAMIC) from error


class _CallTracer(Tracer):
    """Traces one call with a known number of arguments."""

    def __init__(self, names: list[str], constants: Mapping[str, Any], named: bool) -> None:
        super().__init__()
        self._names = names
        self._constants = constants
        self._named = named

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        """The forward as a function of its inputs, and what stands for them."""
        proxies = [self.create_proxy("placeholder", name, (), {}) for name in self._names]

        def call(root: nn.Module, *inputs: Any) -> Any:
            if self._named:
                return root_fn(root, **dict(zip(self._names, inputs, strict=True)), **self._constants)
            return root_fn(root, *inputs, **self._constants)

        return call, [self.root, *proxies]
