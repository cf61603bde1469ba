"""The two layers of torch that an operation passes, the public API and the kernels, and what neither shows."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from torchrecorder.recording.isolation.journal import Journal
from torchrecorder.recording.kernels import with_tensors
from torchrecorder.recording.machine.devices import MOVES, Devices
from torchrecorder.recording.ops import OpLog
from torchrecorder.recording.values import Values, storage_address
from torchrecorder.running import torch_private
from torchrecorder.running.handles import OnImport, replaced

_DispatchMode: Any = torch_private.DISPATCH_MODE.get() or contextlib.nullcontext
"""Without it, the mode below is entered and sees nothing."""


class ApiMode(TorchFunctionMode):
    """Shows the log each call of a public function, outermost only: what a reader of the model's code sees.

    While it is active, torch does not take the fused path of `nn.TransformerEncoderLayer`, which would hide the layers.
    """

    def __init__(self, log: OpLog, devices: Devices) -> None:
        super().__init__()
        self._log = log
        self._devices = devices

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        kwargs = kwargs or {}
        if "device" in kwargs or func in MOVES:
            func, args, kwargs = self._devices.changed(func, args, kwargs)
        return self._log.run(func, args, kwargs)


@contextlib.contextmanager
def switched_on(*modes: Any) -> Iterator[None]:
    """In this, the modes see what runs, also those that are off because they look at what it runs in."""
    seen = (torch_private.FUNCTION_MODES.get(), torch_private.DISPATCH_MODES.get())
    running = [mode for functions in seen if functions is not None for mode in functions[0]()]
    with contextlib.ExitStack() as stack:
        for mode in modes:
            if mode not in running:
                stack.enter_context(mode)
        yield


_fake_modes: tuple[Any, Any, Any] = torch_private.FAKE_MODES.get() or (lambda: 0, None, None)
_depth, _take_off, _put_on = _fake_modes


def _faked(
    mode: Any, func: Callable[..., object], types: Sequence[type], args: Sequence[object], kwargs: Mapping[str, object]
) -> object:
    """The result of a kernel by a fake mode that is alone below, without the way through C and wrappers.

    That way costs a fifth of a kernel on fake tensors, and a forward that is not recorded goes it once.
    """
    try:
        return mode.dispatch(func, types, args, kwargs)
    finally:
        _put_on(mode)


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

    def __init__(self, log: OpLog, devices: Devices) -> None:
        super().__init__()
        self._log = log
        self._devices = devices
        self._dispatch: list[AbstractContextManager[None]] = []

    def __enter__(self) -> Any:
        if higher := torch_private.HIGHER_ORDER.get():
            self._dispatch.append(replaced((higher[0], "dispatch", lambda original: _seen(original, *higher[1:]))))
            self._dispatch[-1].__enter__()
        entered = super().__enter__()
        self._log.depth = self._log.depth or _depth()
        return entered

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        if self._dispatch:
            self._dispatch.pop().__exit__(*error)

    def __torch_dispatch__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        kwargs = kwargs or {}
        if "device" in kwargs:  # of a script or an export, whose calls pass no other mode
            func, args, kwargs = self._devices.changed(func, args, kwargs)
        log = self._log
        kernel = log.kernels.get(id(func)) or log.facts(func)
        if kernel.writes or kernel.updates:
            log.before_write(kernel, args, kwargs)
        out: object = NotImplemented
        if kernel.is_torchs and _depth() == 1 and (mode := _take_off()) is not None:
            out = _faked(mode, func, types, args, kwargs)
        if out is NotImplemented:
            try:
                out = func(*args, **kwargs)
            except RuntimeError:
                if (tensors := with_tensors(func, args)) is None:
                    raise
                out = func(*tensors, **kwargs)
        log.kernel(kernel, args, kwargs, out)
        return out


def _seen(dispatch: Callable[..., object], python: object, modes: Callable[[], Any], off: Any) -> Callable[..., object]:
    """The way of operators of higher order, by the mode above if that is the innermost one.

    Before torch 2.9 a mode could not say that it sees them: each operator wanted a rule for each class of modes.
    """

    def dispatched(operator: Any, key: object, *args: Any, **kwargs: Any) -> object:
        mode = modes() if key == python else None
        if not isinstance(mode, KernelMode):
            return dispatch(operator, key, *args, **kwargs)
        with off():
            return mode.__torch_dispatch__(operator, (), args, kwargs)

    return dispatched


def _are_one(first: Tensor, second: Tensor) -> bool:
    """Whether two tensors are the same data in the same order, to which autograd is the same."""

    def facts(tensor: Tensor) -> object:
        return tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype, tensor.requires_grad

    with torch_private.without_modes():
        address = storage_address(first)
        return address is not None and address == storage_address(second) and facts(first) == facts(second)


# A compiler that the forward itself loads must not compile the recorder; one loaded before is switched off.
if (skip := torch_private.SKIPPED_CODE.get()) is not None:
    skip(KernelMode.__torch_dispatch__.__code__)


@contextlib.contextmanager
def detours(values: Values, ops: OpLog, journal: Journal) -> Iterator[None]:
    """Other functions for what one thread does, in the place of those that would refuse or confuse a recording.

    - The constructor of a tensor class of the user's: torch wants to be the first to make an object of what a kernel
      gave, and a mode that sees kernels has made one before.
    - `swap_tensors`, also of a module that is loaded or moved: it refuses tensors that something refers to weakly.
    - `functional_call`: while it lasts, a module that is met for the first time has tensors that are not its own.
    - `torch.jit.trace`: it runs a function several times to compare what it gives, which is not what the forward is.
    """
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
            if _are_one(first, second):  # a parameter on fake tensors that is where it is moved to
                return None
            journal.touch(first)
            journal.touch(second)
            with values.swapped(first, second), ops.births.forgotten(first, second):
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
        constructor.enter_context(replaced((Tensor, "__new__", lambda original: staticmethod(constructing(original)))))

    def before_compiler() -> None:
        if ops.batch.is_enlarging and threading.get_ident() == thread:
            raise ModuleNotFoundError("torch's compiler takes a second to load, and the batch is not worth it")
        constructor.close()

    with contextlib.ExitStack() as constructor, contextlib.ExitStack() as stack:
        construct()
        # The compiler takes the constructor for its own table when it is loaded, so torch's own has to be there then.
        stack.enter_context(OnImport("torch._dynamo", then=construct, first=before_compiler))
        changes: list[tuple[Any, str, Any]] = [(torch.utils, "swap_tensors", swapping)]
        if (stateless := torch_private.STATELESS.get()) is not None:
            changes.append((stateless, "_reparametrize_module", meeting))
        if (traces := torch_private.TRACES.get()) is not None:
            changes += [(traces, name, tracing) for name in ("_trace_impl", "trace_module")]
        with replaced(*changes):
            yield
