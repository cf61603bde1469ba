"""What takes the place of tensors: copies of the arguments and, where the model is copied, tensors without data."""

from __future__ import annotations

import logging
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from types import MethodType
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy
from torch.overrides import TorchFunctionMode

from torchrecorder.recording.machine.devices import is_there
from torchrecorder.recording.values import storage_address
from torchrecorder.running import torch_private
from torchrecorder.running.nested import answer, map_tensors, named_tensors

Substitute = Callable[[Tensor], Tensor]
"""Gives what takes the place of a tensor."""


def copies_of_arguments(args: Sequence[object], kwargs: Mapping[str, object]) -> Substitute:
    """Makes copies, since a forward may write to its arguments; on one memory, if those that were given share one."""
    addresses = _addresses(args, kwargs)
    memories: dict[int, torch.UntypedStorage] = {}

    def copied(tensor: Tensor) -> Tensor:
        address = storage_address(tensor)
        if address is None or addresses[address] < 2 or not is_plain(tensor):
            return answer(lambda: tensor.detach().clone().requires_grad_(tensor.requires_grad), tensor)
        if address not in memories:
            memories[address] = tensor.untyped_storage().clone()  # type: ignore[no-untyped-call]
        new: Tensor = tensor.detach().new_empty(0).set_(memories[address], *_place(tensor))
        return new.requires_grad_(tensor.requires_grad)

    return copied


_KNOWN = 1 << 22
"""Numbers up to which integers keep their values on fake tensors; a mask of a thousand features of a thousand words."""

_aten = torch.ops.aten
_MAKERS = {
    *(_aten.arange.default, _aten.arange.start, _aten.arange.start_step, _aten.zeros.default, _aten.ones.default),
    *(_aten.full.default, _aten.scalar_tensor.default),
}


def _dispatched(mode: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    out = type(mode).dispatch(mode, func, types, args, kwargs)
    if func in _MAKERS and out.constant is None and _may_be_known(out):
        _know(mode, out, func(*args, **(kwargs or {})))
    return out


def _may_turn_const(mode: Any, tensor: Tensor) -> bool:
    return _may_be_known(tensor) or type(mode).may_turn_const(mode, tensor)


def _know(mode: Any, fake: Any, real: Tensor) -> None:
    if (forgets := torch_private.FAKE_CONSTANTS.get()) is not None:
        fake.constant = real
        forgets(mode.fake_tensor_converter, fake)


def _may_be_known(tensor: Tensor) -> bool:
    is_whole = not (tensor.is_floating_point() or tensor.is_complex() or tensor.is_quantized or tensor.is_nested)
    is_there = tensor.layout is torch.strided and tensor.device.type == "cpu"
    return is_whole and is_there and tensor.numel() <= _KNOWN


def _known(tensor: Tensor) -> Tensor:
    """The numbers of a fake tensor; the tensor itself, if they are not known."""
    numbers = getattr(tensor, "constant", None)
    return tensor if numbers is None else numbers


class _Listed(TorchFunctionMode):
    """Gives `torch.tensor` the values of those in a list that are known: it reads the data without asking a mode."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func in (torch.tensor, torch.as_tensor) and args and isinstance(args[0], (list, tuple)):
            args = map_tensors(args, _known)
        return func(*args, **(kwargs or {}))


def _addresses(args: Sequence[object], kwargs: Mapping[str, object]) -> Counter[int | None]:
    """Number of tensors in each memory."""
    tensors = named_tensors((args, kwargs), objects=True)
    return Counter(storage_address(tensor) for _, tensor in tensors if is_plain(tensor))


class FakeTensors:
    """Tensors that know their shape, type and device, and hold no data.

    What lies on meta, or is a fake tensor of the user's on a device that is not there, is taken to be on the CPU, where
    the tensors lie that a forward makes.
    """

    def __init__(self, floats: torch.dtype | None = None) -> None:
        """Make none yet; float32 is to be `floats`, also where the forward does not say which numbers it wants."""
        self._floats = floats
        self._mode: Any = torch_private.FAKE_MODE.get()(allow_non_fake_inputs=True)
        # Integers and truth values keep what they are if no weight made them: what is chosen by a mask, counted, or
        # read from lengths has a size then. No class of its own, since torch's higher-order operators look for rules by
        # the class of a mode; methods, since a copy of a tensor has a copy of its mode.
        if torch_private.FAKE_CONSTANTS.get() is not None:
            self._mode.dispatch = MethodType(_dispatched, self._mode)
            self._mode.may_turn_const = MethodType(_may_turn_const, self._mode)
        self._given_out: dict[int, Tensor] = {}

    def of(self, tensor: Tensor) -> Tensor:
        if is_lazy(tensor):
            return lazy_like(tensor)
        is_cast = self._floats is not None and tensor.dtype is torch.float32
        if is_cast or not has_numbers(tensor):
            return self._without_data(tensor, self._floats if is_cast else None)
        # A tensor that autograd made would be asked for its gradient, of which torch warns.
        new: Tensor = self._mode.from_tensor(tensor if tensor.is_leaf else _cut(tensor))
        self._given_out[id(new)] = new
        return new

    def _without_data(self, tensor: Tensor, dtype: torch.dtype | None) -> Tensor:
        is_away = tensor.is_meta or not is_there(tensor.device.type)
        device = torch.device("cpu") if is_away else tensor.device
        if tensor.layout is not torch.strided or tensor.is_nested:
            with self._mode:
                return tensor.detach().to(device)
        # Not by a call in the mode, and `nn.Parameter` of it: each takes as long as an operation of the forward.
        new: Tensor = torch_private.FAKE_TENSOR.get()(self._mode, on_meta(tensor, dtype), device)
        if isinstance(tensor, nn.Parameter):
            new._is_param = True
        return new.requires_grad_(tensor.requires_grad)

    def of_arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Substitute:
        """A fake one, on one memory with that of before if the tensor was met before."""
        addresses = _addresses(args, kwargs)

        def fake(tensor: Tensor) -> Tensor:
            before = set(self._given_out)
            new = self.of(tensor)
            if id(new) not in before:
                if (
                    has_numbers(tensor)
                    and is_plain(tensor)
                    and _may_be_known(tensor)
                    and addresses[storage_address(tensor)] == 1
                ):
                    _know(self._mode, new, tensor.detach().clone())  # before the forward runs, so that it has numbers
                return new
            with self._mode:
                return _cut(new)

        return fake

    @contextmanager
    def running(self) -> Iterator[None]:
        """Make every tensor a fake one. What fails is reported as an exception; torch logs it as well."""
        logger = logging.getLogger(torch_private.FAKE_MODE.get().__module__)
        was_disabled, logger.disabled = logger.disabled, True
        try:
            with ExitStack() as stack:
                if torch.is_inference_mode_enabled():
                    # In inference mode, fake tensors take other ways (dropout in eval mode makes a new one).
                    stack.enter_context(torch.inference_mode(False))
                    stack.enter_context(torch.no_grad())
                if self._floats is not None:
                    stack.callback(torch.set_default_dtype, torch.get_default_dtype())
                    torch.set_default_dtype(self._floats)
                # `copy.deepcopy` of a tensor asks where its data lies.
                stack.enter_context(warnings.catch_warnings())
                warnings.filterwarnings("ignore", "Accessing the data pointer of FakeTensor", UserWarning)
                stack.enter_context(self._mode)
                stack.enter_context(_Listed())
                yield
        finally:
            logger.disabled = was_disabled


class MetaTensors:
    """Tensors on torch's device without memory."""

    def __init__(self) -> None:
        self._memories: dict[int, torch.UntypedStorage] = {}

    def of(self, tensor: Tensor) -> Tensor:
        """One of the same shape on meta, on one memory with those that share it."""
        if is_lazy(tensor):
            return lazy_like(tensor)
        address = storage_address(tensor)
        if address is None or not is_plain(tensor):
            is_odd = tensor.layout is not torch.strided or tensor.is_nested
            return tensor.detach().to("meta") if is_odd else like(tensor, on_meta(tensor))
        if address not in self._memories:
            nbytes = tensor.untyped_storage().nbytes()
            self._memories[address] = torch.UntypedStorage(nbytes, device="meta")  # type: ignore[no-untyped-call]
        new = torch.empty(0, dtype=tensor.dtype, device="meta")
        return like(tensor, new.set_(self._memories[address], *_place(tensor)))

    def of_arguments(self, args: Sequence[object], kwargs: Mapping[str, object]) -> Substitute:
        return self.of

    @contextmanager
    def running(self) -> Iterator[None]:
        """Let the forward make its own tensors there, too."""
        with torch.device("meta"):
            yield


def has_numbers(tensor: Tensor) -> bool:
    """Whether it is neither on meta nor a fake tensor of the user's."""
    if type(tensor) is nn.Parameter or type(tensor) is Tensor:
        return not tensor.is_meta
    fake = torch_private.FAKE_TENSOR.get()
    return not (tensor.is_meta or (fake is not None and isinstance(tensor, fake)))


def on_meta(tensor: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    # Of a size that may vary the example that it stands for: asking the size would fix it.
    sizes, strides = (
        tuple(number if isinstance(number, int) else number.node.hint for number in numbers)
        for numbers in (tensor.size(), tensor.stride())
    )
    return torch.empty_strided(sizes, strides, dtype=dtype or tensor.dtype, device="meta")


def like(tensor: Tensor, new: Tensor) -> Tensor:
    """A parameter for a parameter, and a tensor that wants gradients for one that does."""
    if isinstance(tensor, nn.Parameter):
        return nn.Parameter(new, tensor.requires_grad)
    return new.requires_grad_(tensor.requires_grad)


def lazy_like(tensor: Tensor) -> Tensor:
    """Another parameter or buffer that has no size yet; torch copies parameters only."""
    kind: Any = UninitializedParameter if isinstance(tensor, UninitializedParameter) else UninitializedBuffer
    new: Tensor = kind(tensor.requires_grad, tensor.device, tensor.dtype)
    return new


def is_plain(tensor: Tensor) -> bool:
    """Whether its memory, and its place in it, are all that it is."""
    is_bare = type(tensor) in (Tensor, nn.Parameter, nn.Buffer) and tensor.layout is torch.strided
    return is_bare and not (tensor.is_conj() or tensor.is_neg() or tensor.is_quantized or tensor.is_nested)


def _place(tensor: Tensor) -> tuple[int | torch.SymInt, torch.Size, tuple[int, ...]]:
    return tensor.storage_offset(), tensor.size(), tensor.stride()


def _cut(tensor: Tensor) -> Tensor:
    """The same data, without what autograd knows of it."""
    return tensor.detach().requires_grad_(tensor.requires_grad)
