"""Tensors that are older than a recording: what they hold and what autograd knows of them, put back at its end.

A forward may write to a tensor that no walk from the model finds: in a closure, a global, a default argument. So the
memory of any tensor is copied when a kernel is about to overwrite it, wherever it is held, and copied back.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import is_
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.nn.parameter import Parameter, is_lazy

from torchrecorder.recording.values import innermost, running_transform, storage_address
from torchrecorder.running import torch_private


class _State(NamedTuple):
    """The state of a tensor without its data."""

    tensor: Tensor
    kind: type[Tensor]
    alias: Tensor | None
    """Its memory and its place in it, which `.data = …` and `set_` change."""
    version: int
    is_leaf: bool
    requires_grad: bool
    grad: Tensor | None
    hooks: Sequence[tuple[str, dict[Any, Any], dict[Any, Any]]]
    """By the name of the attribute: the dictionary of hooks, and what is in it. Few tensors have any."""
    attributes: dict[str, Any]


_HOOKS = ("_backward_hooks", "_post_accumulate_grad_hooks")


class KeptTensors:
    """The tensors that are older than a recording, as they were."""

    def __init__(self, *, computes: bool, sees_writes: bool = True) -> None:
        self._computes = computes
        self._sees_writes = sees_writes and torch_private.sees_writes()
        self._counts = torch_private.VERSION.get() is not None
        self._states: dict[int, _State] = {}
        self._memories: dict[int, tuple[torch.UntypedStorage, torch.UntypedStorage]] = {}
        """Each memory that was about to be overwritten, with a copy of what it held, by its address."""
        self._wholes: dict[int, tuple[Tensor, Tensor]] = {}
        """The same for tensors of classes that do not have memory like others."""

    def keep(self, tensor: Tensor) -> None:
        """Keep all of a tensor but its data. What a transform of torch.func puts around one ends with the transform."""
        if id(tensor) in self._states or (running_transform() is not None and innermost([tensor])[0] is not tensor):
            return
        is_leaf = tensor.grad_fn is None
        hooks: Sequence[tuple[str, dict[Any, Any], dict[Any, Any]]] = ()
        if tensor._backward_hooks is not None or tensor._post_accumulate_grad_hooks is not None:
            hooks = [(name, held, dict(held)) for name in _HOOKS if (held := getattr(tensor, name)) is not None]
        state = (
            tensor,
            type(tensor),
            tensor.data if _has_memory(tensor) else None,
            tensor._version if self._counts and not tensor.is_inference() else 0,
            is_leaf,
            tensor.requires_grad,
            tensor.grad if is_leaf else None,
            hooks,
            tensor.__dict__.copy(),
        )
        self._states[id(tensor)] = tuple.__new__(_State, state)  # without a function of Python
        if not self._sees_writes and self._computes:
            self.before_write(tensor)

    def before_write(self, tensor: Tensor) -> None:
        """Keep the data of a tensor that is about to be overwritten, unless it is kept."""
        (tensor,) = innermost([tensor])
        address = storage_address(tensor) if _has_memory(tensor) else None
        if address in self._memories or id(tensor) in self._wholes or is_lazy(tensor):
            return
        with outside_of_modes():
            base = torch_private.base_of(tensor)
            self.keep(tensor if base is None else base)
            if address is None:
                if self._computes:
                    self._wholes[id(tensor)] = tensor, tensor.detach().clone()
            else:
                storage = tensor.untyped_storage()
                self._memories[address] = storage, storage.clone()  # type: ignore[no-untyped-call]

    def put_back(self) -> None:
        """Give every tensor back what was kept of it."""
        for storage, held in self._memories.values():
            if storage.nbytes() != held.nbytes():
                storage.resize_(held.nbytes())
            storage.copy_(held)
        with torch.no_grad():
            for tensor, copied in self._wholes.values():
                tensor.copy_(copied)
        states = self._states.values()
        for state in states:
            _put_back(state)
        # At last, since what is above counts as writes. Autograd compares them when an older loss is differentiated.
        counted = [state for state in states if not state[0].is_inference()]
        set_versions = torch_private.SET_VERSIONS.get()
        if self._counts and set_versions is not None and any(state[0]._version != state[3] for state in counted):
            # Those that were kept first at last: what `detach` gives counts together with what it was made from.
            counted.reverse()
            set_versions([state.tensor for state in counted], [state.version for state in counted])


def _put_back(state: _State) -> None:
    tensor, kind, alias, _, is_leaf, requires_grad, grad, held, attributes = state
    if type(tensor) is not kind:
        tensor.__class__ = kind
    if alias is not None:
        try:
            is_in_place = tensor.is_set_to(alias)
        except RuntimeError:  # some devices and quantized tensors cannot be asked
            is_in_place = False
        if not is_in_place:
            tensor.data = alias
    if is_leaf:
        if tensor.grad_fn is not None:  # it was overwritten with what needs gradients
            tensor.detach_()
        if tensor.requires_grad is not requires_grad:
            tensor.requires_grad_(requires_grad)
        if tensor.grad is not grad:
            tensor.grad = grad
    if tensor._backward_hooks is not None or tensor._post_accumulate_grad_hooks is not None:
        for name in _HOOKS:
            setattr(tensor, name, None)
    for name, hooks, hooked in held:
        if not is_same(hooks, hooked):
            hooks.clear()
            hooks.update(hooked)
        setattr(tensor, name, hooks)
    own = vars(tensor)
    if (own or attributes) and not is_same(own, attributes):
        own.clear()
        own.update(attributes)


def is_same(now: Mapping[Any, object], kept: Mapping[Any, object]) -> bool:
    """Whether two dictionaries hold the same objects in the same order; no code of the user compares them."""
    return len(now) == len(kept) and all(map(is_, now, kept)) and all(map(is_, now.values(), kept.values()))


@contextmanager
def outside_of_modes() -> Iterator[None]:
    """In this, nothing sees what is done to tensors, and those that are made are like any other."""
    with torch.inference_mode(False), torch_private.without_modes():
        yield


_DISPATCH = "__torch_dispatch__"


def _has_memory(tensor: Tensor) -> bool:
    """Whether its data is what lies in its storage; a class that computes by itself has other tensors inside."""
    kind = type(tensor)
    is_bare = kind is Parameter or kind is Tensor or getattr(kind, _DISPATCH) is getattr(Tensor, _DISPATCH)
    return is_bare and tensor.layout is torch.strided and not tensor.is_nested and not tensor.is_meta
