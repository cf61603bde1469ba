"""Functions of torch that no mode sees, and that would refuse or confuse a recording: what takes their place in it.

- The constructor of a tensor class of the user's: torch wants to be the first to make an object of what a kernel gave,
  and a mode that sees kernels has made one before.
- `swap_tensors`, also of a module that is loaded or moved: it refuses tensors that something refers to weakly.
- `functional_call`: while it lasts, a module that is met for the first time has tensors that are not its own.
- `torch.jit.trace`: it runs a function several times to compare what it gives. That is not what the forward computes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.recording.isolation.journal import Journal
from torchrecorder.recording.ops import OpLog
from torchrecorder.recording.values import Values
from torchrecorder.running import torch_private
from torchrecorder.running.handles import OnImport, replaced


@contextmanager
def detours(values: Values, ops: OpLog, journal: Journal) -> Iterator[None]:
    """Put other functions in the place of those, for what one thread does."""
    thread = threading.get_ident()

    def is_recorded() -> bool:
        return threading.get_ident() == thread and not ops.paused

    def constructing(original: Callable[..., Tensor]) -> Callable[..., Tensor]:
        def new(cls: type[Tensor], *args: Any, **kwargs: Any) -> Tensor:
            if not is_recorded():
                return original(cls, *args, **kwargs)

            def made(*args: Any, **kwargs: Any) -> Tensor:
                with torch_private.without_kernel_modes():
                    return original(cls, *args, **kwargs)

            made.__name__, made.__module__ = cls.__name__, cls.__module__
            return ops.run(made, args, kwargs)  # type: ignore[return-value]

        return new

    def swapping(original: Callable[[Tensor, Tensor], None]) -> Callable[[Tensor, Tensor], None]:
        def swap(first: Tensor, second: Tensor) -> None:
            if not is_recorded():
                return original(first, second)
            journal.touch(first)
            journal.touch(second)
            with values.swapped(first, second):
                original(first, second)
            journal.swapped(first, second)
            return None

        return swap

    def tracing(original: Callable[..., object]) -> Callable[..., object]:
        def trace(*args: Any, **kwargs: Any) -> object:
            if not is_recorded():
                return original(*args, **kwargs)
            with ops.unlogged():
                return original(*args, **kwargs)

        return trace

    def meeting(original: Callable[..., Any]) -> Callable[..., Any]:
        def reparametrize(module: nn.Module, *args: Any, **kwargs: Any) -> Any:
            journal.meet(module)
            return original(module, *args, **kwargs)

        return reparametrize

    def construct() -> None:
        constructor.enter_context(replaced(Tensor, "__new__", lambda original: staticmethod(constructing(original))))

    def before_compiler() -> None:
        if ops.batch.is_enlarging and threading.get_ident() == thread:
            raise ModuleNotFoundError("torch's compiler takes a second to load, and the batch is not worth it")
        constructor.close()

    with ExitStack() as constructor, ExitStack() as stack:
        construct()
        # The compiler takes the constructor for its own table when it is loaded, so torch's own has to be there then.
        stack.enter_context(OnImport("torch._dynamo", then=construct, first=before_compiler))
        stack.enter_context(replaced(torch.utils, "swap_tensors", swapping))
        if (stateless := torch_private.STATELESS.get()) is not None:
            stack.enter_context(replaced(stateless, "_reparametrize_module", meeting))
        if (traces := torch_private.TRACES.get()) is not None:
            for name in ("_trace_impl", "trace_module"):
                stack.enter_context(replaced(traces, name, tracing))
        yield
