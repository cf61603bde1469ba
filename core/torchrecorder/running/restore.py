"""Running a model and leaving it, and the process, as they were."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.jit import ScriptModule
from torch.nn.parameter import is_lazy

from torchrecorder.running import torch_private
from torchrecorder.running.facts import named_modules
from torchrecorder.running.handles import OnImport


@contextmanager
def restored(
    net: nn.Module, *, mode: Literal["train", "eval"] | None = None, device: torch.device | str | None = None
) -> Iterator[None]:
    """Run a model and leave it and the process as they were, also after an exception.

    Restored are each module's training flag, buffers, whether parameters require grad, and what
    `preserved_process_state` restores. Not restored: what a forward writes into the data of a parameter, and attributes
    of the user's own.

    Args:
        net: The model.
        mode: The mode that it is run in; None: each module in its own.
        device: Where its parameters and buffers are for the time being; None: where they are. What a frozen script
            module has made constants of is not moved.
    """
    modules = [module for _, module in named_modules(net)]
    training = [(module, getattr(module, "training", None)) for module in modules]  # frozen script modules have none
    parameters = [(p, p.data, p.requires_grad) for p in _parameters(net, modules)]
    with torch.inference_mode(False):
        stand_ins = _stand_ins(modules, None if device is None else torch.device(device))
    with preserved_process_state(None):
        try:
            for module, held, name, _, new in stand_ins:
                _put(module, held, name, new)
            if mode is not None:
                net.train(mode == "train")
            yield
        finally:
            for module, flag in training:
                if flag is None:
                    vars(module).pop("training", None)
                elif module.training is not flag:
                    module.training = flag
            for module, held, name, old, _ in stand_ins:
                _put(module, held, name, old)
            for parameter, data, needed in parameters:
                if parameter.data_ptr() != data.data_ptr() or parameter.device != data.device:
                    parameter.data = data
                if parameter.requires_grad != needed:
                    parameter.requires_grad_(needed)


def _parameters(net: nn.Module, modules: Sequence[nn.Module]) -> list[Tensor]:
    """Each parameter of a model once; script modules only know their own by `parameters`."""
    if any(isinstance(module, ScriptModule) for module in modules):
        parameters: Iterable[Tensor | None] = net.parameters()
    else:
        held = [module._parameters for module in modules]
        parameters = {id(p): p for own in held if own for p in own.values()}.values()
    return [p for p in parameters if p is not None and (type(p) is nn.Parameter or not is_lazy(p))]


_StandIn = tuple[nn.Module, dict[str, Any], str, Tensor, Tensor]
"""A module, where it holds a tensor, the tensor's name, the tensor, and what stands in its place."""


def _stand_ins(modules: Sequence[nn.Module], device: torch.device | None) -> list[_StandIn]:
    """Copies of buffers, and of what is on another device; a tensor in several places has one.

    Not copying the old values back afterwards leaves the buffers' version counters alone, which autograd compares when
    an older loss is differentiated; and some buffers cannot be written to.
    """
    stand_ins: list[_StandIn] = []
    copies: dict[int, Tensor] = {}
    for module in modules:
        for name, buffer in module._buffers.items():
            if buffer is not None and not is_lazy(buffer):
                if id(buffer) not in copies:
                    copies[id(buffer)] = buffer.detach().to(device=device or buffer.device, copy=True)
                stand_ins.append((module, module._buffers, name, buffer, copies[id(buffer)]))
        if device is None:
            continue
        for name, parameter in module._parameters.items():
            if parameter is not None and not is_lazy(parameter) and parameter.device != device:
                # Not `net.to(device)`, which empties the model's own parameters if the device is meta.
                if id(parameter) not in copies:
                    copies[id(parameter)] = nn.Parameter(parameter.detach().to(device), parameter.requires_grad)
                stand_ins.append((module, module._parameters, name, parameter, copies[id(parameter)]))
    return stand_ins


def _put(module: nn.Module, held: dict[str, Any], name: str, tensor: Tensor) -> None:
    if isinstance(module, ScriptModule):
        setattr(module, name, tensor)  # its dictionaries cannot be written to
    else:
        held[name] = tensor


@contextmanager
def preserved_process_state(seed: int | None) -> Iterator[None]:
    """Run code that draws the random numbers of `seed`, if one is given, and leaves the process as it was.

    Restored are random numbers, grad mode, default dtype and device, autocast, precision, determinism, the number of
    threads, anomaly detection and the stacks of modes. Compiled functions and script modules run as they are written.
    """
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_initialized() else []  # type: ignore[no-untyped-call]
    numpy: Any = sys.modules.get("numpy")  # torch works without it
    with ExitStack() as stack:
        if devices:
            stack.enter_context(torch.random.fork_rng(devices=devices))
        else:  # without asking which accelerator there is
            stack.callback(torch.set_rng_state, torch.get_rng_state())
        stack.callback(random.setstate, random.getstate())
        if numpy is not None:
            stack.callback(numpy.random.set_state, numpy.random.get_state())
        if seed is not None:
            start_random_numbers(seed)
        stack.enter_context(_preserved_modes())
        # Only once the compiler is loaded: loading it takes seconds, and without it nothing can have been compiled.
        if "torch._dynamo" in sys.modules:
            _run_as_written(stack)
        else:
            stack.enter_context(OnImport("torch._dynamo", lambda: _run_as_written(stack)))
        # After some runs the executor of script modules fuses what it has seen and prepares for autograd, so that a
        # recording would depend on what the process did before, and could fail in inference mode.
        if (optimized := torch_private.UNFUSED.get()) is not None:
            stack.enter_context(optimized(False))
        yield


def _run_as_written(stack: ExitStack) -> None:
    """Switch compiled functions off until the end of a block."""
    if (set_stance := torch_private.STANCE.get()) is not None:
        stack.enter_context(set_stance("force_eager"))


def start_random_numbers(seed: int) -> None:
    """Let torch, numpy and Python draw the random numbers of a seed from here on."""
    # Not torch.manual_seed: it would queue a seed for devices that are not in use yet.
    torch.default_generator.manual_seed(seed)
    random.seed(seed)
    if torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        torch.cuda.manual_seed_all(seed)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(seed % 2**32)


@contextmanager
def _preserved_modes() -> Iterator[None]:
    device, states = _default_device(), [ask() for ask, _ in _STATES]
    parts = filter(None, [part.get() for part in (torch_private.FUNCTION_MODES, torch_private.DISPATCH_MODES)])
    stacks = [(modes, modes(), leave, enter) for modes, leave, enter in parts]
    try:
        yield
    finally:
        # What ends a mode leaves the innermost one: one that the code entered and did not leave kept an outer one on.
        for modes, before, leave, _ in stacks:
            while modes() != before and modes():
                leave()
        for (ask, put), state in zip(_STATES, states, strict=True):
            if ask() != state:
                put(state)
        if _default_device() != device:
            torch.set_default_device(device)
            if device is None:  # before torch 2.9 a device of None is one that was set, and cannot be asked for
                vars(torch_private.DEFAULT_DEVICE.get()).pop("device_context", None)
        for modes, before, leave, enter in stacks:  # to leave a default device may enter the one before it
            if modes() != before:
                while modes():
                    leave()
                for mode in before:
                    enter(mode)


def _determinism() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


_STATES: tuple[tuple[Callable[[], Any], Callable[[Any], object]], ...] = (
    (torch.is_grad_enabled, torch.set_grad_enabled),
    (torch.get_default_dtype, torch.set_default_dtype),
    (lambda: torch.is_autocast_enabled("cpu"), lambda is_on: torch.set_autocast_enabled("cpu", is_on)),
    (lambda: torch.get_autocast_dtype("cpu"), lambda dtype: torch.set_autocast_dtype("cpu", dtype)),
    (_determinism, lambda both: torch.use_deterministic_algorithms(both[0], warn_only=both[1])),
    (torch.get_num_threads, torch.set_num_threads),
    (torch.is_anomaly_enabled, torch.autograd.set_detect_anomaly),
    (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision),
)
"""What is asked and what sets it; set only if it is another, since determinism loads the compiler, which takes long."""


def _default_device() -> torch.device | None:
    """The device that was set; None if none was, which costs less than the CPU does when it is set."""
    context = torch_private.DEFAULT_DEVICE.get()
    if context is None:
        return torch.get_default_device()
    held = getattr(context, "device_context", None)
    return None if held is None else held.device
