"""All that a recording could change of objects and of the process, as plain facts that can be compared."""

from __future__ import annotations

import collections
import contextlib
import functools
import gc
import random
import sys
import threading
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensor
from torch.nn.modules import module as torch_module
from torch.nn.parameter import is_lazy

Facts = dict[str, object]
_CLOSED = (str, bytes, int, float, complex, type, types.ModuleType, type(None), torch.dtype, torch.device, torch.Size)

_SEQUENCES = (list, tuple, set, frozenset, collections.deque)


class Fingerprint:
    """Facts of everything that some objects lead to; the objects are held, so that no id is used twice."""

    def __init__(self, *roots: object) -> None:
        self._held: dict[int, object] = {}
        self.facts: Facts = dict(_process())
        waiting: list[tuple[str, object]] = [(f"<{i}>", root) for i, root in enumerate(roots)]
        while waiting:
            path, obj = waiting.pop()
            self.facts[path] = f"{type(obj).__name__} {obj!r}" if issubclass(type(obj), _CLOSED) else id(obj)
            if issubclass(type(obj), _CLOSED) or id(obj) in self._held:
                continue
            self._held[id(obj)] = obj
            self.facts[f"{path} class"] = id(type(obj))
            self.facts.update((f"{path} {name}", fact) for name, fact in _own(obj))
            parts = [*_parts(obj)]
            self.facts[f"{path} holds"] = [f"{name} {id(part)}" for name, part in parts]
            self._held.update((id(part), part) for _, part in parts if issubclass(type(part), _CLOSED))
            waiting += [(f"{path}.{name}", part) for name, part in parts]

    def changes(self, *roots: object) -> list[str]:
        """What is different now."""
        now = Fingerprint(*roots).facts
        unknown = object()
        different = [key for key in {**self.facts, **now} if self.facts.get(key, unknown) != now.get(key, unknown)]
        return [f"{key}: {self.facts.get(key)} -> {now.get(key)}" for key in different]


def _process() -> Iterator[tuple[str, object]]:
    yield "torch's random numbers", torch.get_rng_state().numpy().tobytes()
    yield "Python's random numbers", random.getstate()
    name, numbers, *rest = np.random.get_state(legacy=True)
    yield "numpy's random numbers", (name, np.asarray(numbers).tobytes(), *rest)
    yield "grad mode", torch.is_grad_enabled()
    yield "inference mode", torch.is_inference_mode_enabled()
    yield "dtype", torch.get_default_dtype()
    yield "device", torch.get_default_device()
    yield "deterministic", torch.are_deterministic_algorithms_enabled()
    yield "precision", torch.get_float32_matmul_precision()
    yield "autocast", (torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu"))
    hooks = [found for name, found in vars(torch_module).items() if name.startswith("_global_") and "hooks" in name]
    yield "global hooks", [len(found) for found in hooks]
    yield "modes", (torch._C._len_torch_function_stack(), torch._C._len_torch_dispatch_stack())
    yield "recursion", sys.getrecursionlimit()
    yield "garbage collector", gc.isenabled()
    yield "threads", threading.active_count()


def _own(obj: Any) -> Iterator[tuple[str, object]]:
    """Facts of an object that are not other objects."""
    if issubclass(type(obj), Tensor):
        with torch._C.DisableTorchFunction():
            yield from _of_tensor(obj)
    elif issubclass(type(obj), torch.Generator):
        yield "state", obj.get_state().tolist()
    elif issubclass(type(obj), random.Random):
        yield "state", obj.getstate()
    elif issubclass(type(obj), (np.random.Generator, np.random.RandomState)):
        yield "state", str(obj.bit_generator.state if issubclass(type(obj), np.random.Generator) else obj.get_state())
    elif issubclass(type(obj), np.ndarray):
        yield "data", obj.tobytes()
    elif issubclass(type(obj), torch.jit.ScriptModule):
        yield "state", {name: t.tolist() for name, t in obj.state_dict().items()}
    elif issubclass(type(obj), functools._lru_cache_wrapper):
        yield "entries", obj.cache_info().currsize


def _of_tensor(tensor: Tensor) -> Iterator[tuple[str, object]]:
    yield "version", None if tensor.is_inference() else tensor._version
    yield "autograd", (tensor.requires_grad, tensor.is_leaf, tensor.grad_fn and type(tensor.grad_fn).__name__)
    for name in ("_backward_hooks", "_post_accumulate_grad_hooks"):
        hooks = getattr(tensor, name)
        yield name, hooks and [id(hook) for hook in hooks.values()]
    if not is_lazy(tensor) and tensor.layout is torch.strided:
        storage = tensor.untyped_storage()
        yield "memory", (storage._cdata, storage.nbytes())
        yield "place", (tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype, tensor.device)
        if not tensor.is_meta and not isinstance(tensor, FakeTensor):
            yield "data", (tensor.data_ptr(), tensor.detach().tolist())


def _parts(obj: Any) -> Iterator[tuple[str, Any]]:
    """The objects that it holds, in their order; those of a set, which has none, in that of their ids."""
    if issubclass(type(obj), Tensor):
        with torch._C.DisableTorchFunction():
            held = [("grad", obj.grad)] if obj.is_leaf else []
        yield from held
    elif issubclass(type(obj), dict):
        keyed: Any = next(base for base in (collections.OrderedDict, dict) if issubclass(type(obj), base))
        for i, (key, value) in enumerate(keyed.items(obj)):
            yield f"key{i}", key
            yield f"[{key if isinstance(key, (str, int)) else i}]", value
    elif issubclass(type(obj), _SEQUENCES):
        native: Any = next(base for base in _SEQUENCES if issubclass(type(obj), base))
        held = native.__iter__(obj)
        for i, value in enumerate(sorted(held, key=id) if native in (set, frozenset) else held):
            yield f"[{i}]", value
    elif issubclass(type(obj), types.MethodType):
        yield "self", obj.__self__
    elif issubclass(type(obj), types.FunctionType):
        for name, value in [*zip(obj.__code__.co_freevars, obj.__closure__ or (), strict=True)]:
            if isinstance(value.cell_contents, (nn.Module, Tensor)):
                yield name, value.cell_contents
        yield "defaults", obj.__defaults__
    if not issubclass(type(obj), (torch.Generator, types.FunctionType, types.MethodType, torch.jit.ScriptModule)):
        with contextlib.suppress(AttributeError):
            yield from object.__getattribute__(obj, "__dict__").items()
        cls: Any = type(obj)
        for name, member in _slots(cls):
            try:
                yield name, member.__get__(obj)
            except AttributeError:
                yield name, None


@functools.cache
def _slots(cls: type) -> list[tuple[str, types.MemberDescriptorType]]:
    """They are made with the class, so they are looked for once."""
    found = [item for base in cls.__mro__ if base.__module__ != "builtins" for item in vars(base).items()]
    return [(name, member) for name, member in found if isinstance(member, types.MemberDescriptorType)]
