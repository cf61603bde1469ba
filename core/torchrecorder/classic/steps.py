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

from torchrecorder.nodes import TensorNode
from torchrecorder.running.nested import tensors_in
from torchrecorder.running.torch_private import version_of

_NEED_NO_GRAD: set[Any] = {Tensor.numpy, Tensor.__array__, Tensor.__deepcopy__}
"""Functions that refuse a tensor which requires grad, as tensors of a recording do and those of the user may not."""


class RecordedTensors:
    """Looks tensors up among the nodes of a recording. It does not hold the recorder, which would make a cycle.

    Args:
        nodes: The recorder's nodes, by recorded thing.
    """

    def __init__(self, nodes: Mapping[Any, Any]) -> None:
        self._nodes = nodes
        self._versions: dict[int, int] = {}

    def see(self, tensor: Tensor) -> None:
        """The tensor is a key of the nodes, as it is now."""
        self._versions[id(tensor)] = version_of(tensor)

    def node_of(self, tensor: Tensor) -> TensorNode | None:
        """The node of a tensor, or of what it is a dummy of; None if it is new or was written to since."""
        nodes, grad_fn = self._nodes, tensor.grad_fn
        if grad_fn is not None and isinstance(node := nodes.get(grad_fn), TensorNode):
            return node
        seen = self._versions.get(id(tensor))
        node = nodes.get(tensor) if seen is not None and seen == version_of(tensor) else None
        return node if isinstance(node, TensorNode) else None

    def has(self, tensor: Tensor) -> bool:
        """Whether the tensor is a key of the nodes, written to or not."""
        return tensor in self._nodes


class Step:
    """One operation without a `grad_fn`; `sources` are the recorded things that its result was made from."""

    def __init__(self, name: str, sources: Sequence[Any]) -> None:
        self.name = name
        self.sources = tuple(sources)


class Steps(TorchFunctionMode):
    """Watches the operations of one recording. Tensors are kept weakly, sources as long as the recording lives.

    Args:
        recorded: The tensors that are recorded.
    """

    def __init__(self, recorded: RecordedTensors) -> None:
        super().__init__()
        self._recorded = recorded
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
        if sources and not (len(sources) == 1 and sources[0] is out and self._recorded.node_of(out) is not None):
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
        if (is_written and self._recorded.has(tensor)) or self._recorded.node_of(tensor) is not None:
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
