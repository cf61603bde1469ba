"""What running a model sets in the process, and puts back: random numbers, grad mode, default dtype, the compiler."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from typing import Any

import torch

from torchrecorder.running import torch_private


@contextmanager
def undisturbed(seed: int | None) -> Iterator[None]:
    """Run code that draws the random numbers of `seed` and leaves the process as it was, also if it raises.

    Args:
        seed: Where random numbers start; None: where they are.
    """
    with ExitStack() as stack:
        for part in (_torch_numbers(seed), _python_numbers(seed), _numpy_numbers(seed), _modes(), _eager(), _unfused()):
            stack.enter_context(part)
        yield


@contextmanager
def _torch_numbers(seed: int | None) -> Iterator[None]:
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    with torch.random.fork_rng(devices=devices):
        if seed is not None:
            # Not torch.manual_seed: it would queue a seed for devices that are not in use yet.
            torch.default_generator.manual_seed(seed)
        if seed is not None and devices:
            torch.cuda.manual_seed_all(seed)
        yield


@contextmanager
def _python_numbers(seed: int | None) -> Iterator[None]:
    state = random.getstate()
    if seed is not None:
        random.seed(seed)
    try:
        yield
    finally:
        random.setstate(state)


@contextmanager
def _numpy_numbers(seed: int | None) -> Iterator[None]:
    """The global generator of numpy, if that is loaded; torch works without it."""
    numpy: Any = sys.modules.get("numpy")
    if numpy is None:
        yield
        return
    state = numpy.random.get_state()
    if seed is not None:
        numpy.random.seed(seed % 2**32)
    try:
        yield
    finally:
        numpy.random.set_state(state)


@contextmanager
def _modes() -> Iterator[None]:
    grad, dtype, device = torch.is_grad_enabled(), torch.get_default_dtype(), _default_device()
    cast, cast_dtype = torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")
    precision = torch.get_float32_matmul_precision()
    deterministic = torch.are_deterministic_algorithms_enabled()
    warns = torch.is_deterministic_algorithms_warn_only_enabled()
    try:
        yield
    finally:
        torch.set_grad_enabled(grad)
        torch.set_default_dtype(dtype)
        torch.set_autocast_enabled("cpu", cast)
        torch.set_autocast_dtype("cpu", cast_dtype)
        torch.use_deterministic_algorithms(deterministic, warn_only=warns)
        if torch.get_float32_matmul_precision() != precision:
            torch.set_float32_matmul_precision(precision)
        if _default_device() != device:
            torch.set_default_device(device)
            if device is None:  # before torch 2.9 a device of None is one that was set, and cannot be asked for
                vars(torch_private.DEFAULT_DEVICE.get()).pop("device_context", None)


def _default_device() -> Any:
    """The device that was set; None if none was, which costs less than the CPU does when it is set."""
    context = torch_private.DEFAULT_DEVICE.get()
    if context is None:
        return torch.get_default_device()
    held = getattr(context, "device_context", None)
    return None if held is None else held.device


@contextmanager
def _eager() -> Iterator[None]:
    """Let compiled functions run as they are written.

    Only if the compiler is loaded: loading it takes seconds, and without it nothing can have been compiled before.
    """
    if "torch._dynamo" not in sys.modules or (stance := torch_private.STANCE.get()) is None:
        yield
        return
    with stance("force_eager"):
        yield


def _unfused() -> AbstractContextManager[None]:
    """Let script modules run as they are written.

    After some runs their executor fuses what it has seen and prepares for autograd, so a recording would depend on
    what the process did before, and could fail in inference mode.
    """
    optimized = torch_private.UNFUSED.get()
    return nullcontext() if optimized is None else optimized(False)
