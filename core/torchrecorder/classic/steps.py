"""Operations that autograd does not follow: on integers, on frozen weights, under no_grad, behind a detach.

Autograd keeps a path only between tensors that require grad. While a recording runs, this mode sees every call of
torch's public functions and keeps, for what autograd leaves out, which recorded things the result was made from.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from torchrecorder.classic.known import Known
from torchrecorder.running import tensors_in

_NEED_NO_GRAD: set[Any] = {Tensor.numpy, Tensor.__array__, Tensor.__deepcopy__}
"""Functions that refuse a tensor which requires grad, as tensors of a recording do and those of the user may not."""


class Step:
    """One operation without a `grad_fn`; `sources` are the recorded things that its result was made from."""

    def __init__(self, name: str, sources: Sequence[Any]) -> None:
        self.name = name
        self.sources = tuple(sources)


class Steps(TorchFunctionMode):
    """Watches the operations of one recording. Tensors are kept weakly, sources as long as the recording lives.

    Args:
        known: What is recorded.
    """

    def __init__(self, known: Known) -> None:
        super().__init__()
        self._known = known
        self._made: dict[int, tuple[weakref.ref[Tensor], Step]] = {}
        self.beside: dict[Any, list[Any]] = {}
        """By `grad_fn`: what the operation read besides that which autograd follows."""

    def of(self, tensor: Tensor) -> Step | None:
        """The step that made a tensor last; None if none did."""
        made = self._made.get(id(tensor))
        return made[1] if made is not None and made[0]() is tensor else None

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if func in _NEED_NO_GRAD and isinstance(args[0], Tensor) and args[0].requires_grad:
            args = (args[0].detach(), *args[1:])
        out = func(*args, **kwargs) if kwargs else func(*args)
        if type(out) is Tensor or isinstance(out, Tensor):
            self._note(func, args, kwargs, out)
        elif isinstance(out, (tuple, list)):
            for item in out:
                # What broadcast_tensors gives back as it got it was made before.
                if isinstance(item, Tensor) and not any(item is arg for arg in args):
                    self._note(func, args, kwargs, item)
        elif func is Tensor.__setitem__:
            self._note(func, args, kwargs, args[0])
        return out

    def _note(self, func: Callable[..., Any], args: Any, kwargs: Any, out: Tensor) -> None:
        """It runs for every operation, most of which autograd follows with all that they read."""
        if not out.requires_grad:
            self._note_step(func, _read(args, kwargs), out)
            return
        unseen = [tensor for tensor in _read(args, kwargs) if not tensor.requires_grad]
        beside = self._sources(unseen, out) if unseen else None
        if beside and out.grad_fn is not None:
            self.beside.setdefault(out.grad_fn, []).extend(beside)

    def _note_step(self, func: Callable[..., Any], read: Sequence[Tensor], out: Tensor) -> None:
        sources = self._sources(read, out)
        if sources and not (len(sources) == 1 and sources[0] is out and self._known.node_of(out) is not None):
            self._made[id(out)] = (weakref.ref(out), Step(_name(func), sources))

    def _sources(self, tensors: Sequence[Tensor], out: Tensor) -> list[Any]:
        found = []
        for tensor in tensors:
            source = self._source(tensor, tensor is out)
            if source is not None:
                found.append(source)
        return found

    def _source(self, tensor: Tensor, is_written: bool) -> Any:
        """The recorded thing that a tensor is or comes from; None for a constant.

        A tensor that was just written to is still known as what it was before.
        """
        if tensor.grad_fn is not None:
            return tensor.grad_fn
        if (is_written and self._known.has(tensor)) or self._known.node_of(tensor) is not None:
            return tensor
        step = self.of(tensor)
        if step is not None:
            return step
        return tensor if isinstance(tensor, nn.Parameter) or tensor.requires_grad else None


def _read(args: Any, kwargs: Any) -> list[Tensor]:
    read: list[Tensor] = []
    for arg in args:
        if (kind := type(arg)) is Tensor or kind is nn.Parameter:
            read.append(arg)
        elif arg is not None:
            tensors_in((arg,), read)
    return tensors_in(kwargs.values(), read) if kwargs else read


def _name(func: Callable[..., Any]) -> str:
    """The function as users write it: `argmax`, `add`; of a property (`x.T`) the property."""
    name = getattr(func, "__name__", type(func).__name__)
    if name == "__get__":
        name = getattr(getattr(func, "__self__", None), "__name__", name)
    return str(name).strip("_") or "op"
