"""The two layers of torch that an operation passes: the public API, and the kernels below it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch.overrides import TorchFunctionMode

from torchrecorder.recording.ops import OpLog
from torchrecorder.running import torch_private

_DispatchMode: Any = torch_private.DISPATCH_MODE.get() or contextlib.nullcontext
"""Without it, the mode below is entered and sees nothing."""


class ApiMode(TorchFunctionMode):
    """Shows the log each call of a public function, outermost only: what a reader of the model's code sees.

    While it is active, torch does not take the fused path of `nn.TransformerEncoderLayer`, which would hide the layers.
    """

    def __init__(self, log: OpLog) -> None:
        super().__init__()
        self._log = log

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        return self._log.run(func, args, kwargs or {})


class KernelMode(_DispatchMode):  # type: ignore[misc]
    """Shows the log each kernel: floating-point operations, writes in place, and what no public function covers.

    It leaves `ignore_compile_internals` at False, so that code that is compiled inside the forward
    runs eagerly.
    """

    supports_higher_order_operators = True

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Leave out the wrapper that keeps the compiler away: it costs as much as the mode, and loads the compiler."""
        return False

    def __init__(self, log: OpLog) -> None:
        super().__init__()
        self._log = log

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        kwargs = kwargs or {}
        log = self._log
        kernel = log.kernels.get(id(func)) or log.facts(func)
        if kernel.writes or kernel.updates:
            log.before_write(kernel, args, kwargs)
        out = func(*args, **kwargs)
        log.kernel(kernel, args, kwargs, out)
        return out


# A compiler that the forward itself loads must not compile the recorder; one loaded before is switched off.
if (skip := torch_private.SKIPPED_CODE.get()) is not None:
    skip(KernelMode.__torch_dispatch__.__code__)
