"""Fifty ways of losing what a result was computed from, each with what a recording shows of it.

The headings were chosen before the first of them ran. `test_lost` disturbs each input, parameter and buffer, and wants
each output that changes to be reached from it in the Graph, or the note that is named here.
"""

from __future__ import annotations

import ctypes
import io
import pickle
import queue
import struct
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch._higher_order_ops import associative_scan, scan, while_loop
from torch._higher_order_ops import map as mapped
from torch.utils._python_dispatch import TorchDispatchMode

LEFT, CHOSE, UNKNOWN, THREAD = (
    "values left PyTorch",
    "one branch of",
    "a tensor of unknown origin",
    "a thread was started",
)


@dataclass(frozen=True)
class Lost:
    """A model that might lose what its result depends on."""

    name: str
    build: Callable[[], nn.Module]
    heading: str
    note: str
    """How the note begins that says so; empty, if the Graph is to have it all."""


LOST: list[Lost] = []
_HEADING = ""


def heading(text: str) -> None:
    global _HEADING
    _HEADING = text


def shows(note: str = "") -> Callable[[type[nn.Module]], type[nn.Module]]:
    """Register the class below."""

    def register(cls: type[nn.Module]) -> type[nn.Module]:
        LOST.append(Lost(cls.__name__, cls, _HEADING, note))
        return cls

    return register


class Layer(nn.Module):
    """Has a layer, a second one, and a buffer. It is called with two tensors of 2 x 3."""

    def __init__(self) -> None:
        super().__init__()
        self.fc, self.other = nn.Linear(3, 3), nn.Linear(3, 3)
        self.register_buffer("scale", torch.full((3,), 0.5))

    scale: Tensor


heading("control flow operators")


@shows(CHOSE)
class CondInCond(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        def inner(v: Tensor) -> Tensor:
            return torch.cond(y.sum() > -99, self.fc, self.other, (v,))  # type: ignore[no-any-return]

        return torch.cond(x.sum() > -99, inner, self.other, (x,))


@shows(CHOSE)
class CondClosesOverInput(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        z = self.fc(y)
        return torch.cond(x.sum() > -99, lambda v: v * z + self.scale, lambda v: v + 1, (x,))


@shows(CHOSE)
class LoopUntilSmall(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return while_loop(lambda v: v.norm() > 1, lambda v: (v * 0.5 + 0 * self.fc(y),), (x,))[0]  # type: ignore[no-untyped-call]


@shows()
class ScanWithWeights(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return scan(lambda c, v: (self.fc(c) * v, c + v), y[0], x)


@shows()
class MapOfTwo(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return mapped(lambda pair, w: F.linear(pair[0], w) + pair[1], (x, y), self.fc.weight)  # type: ignore[arg-type]


@shows()
class RunningProduct(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return associative_scan(lambda a, b: a * b, self.fc(x) + y, 0, combine_mode="generic")


heading("autograd inside the forward")


@shows()
class StepOnWeights(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        weight = self.fc.weight.detach().clone().requires_grad_()
        with torch.enable_grad():
            F.mse_loss(F.linear(x, weight), y).backward()  # type: ignore[no-untyped-call]
        assert weight.grad is not None
        return F.linear(x, weight - weight.grad)


@shows()
class BackwardOfFunction(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        x = x.detach().clone().requires_grad_()
        with torch.enable_grad():
            torch.autograd.backward(self.fc(x), y)
        return x.grad


@shows()
class AccumulatedGradient(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        leaf = torch.zeros(2, 3, requires_grad=True)
        with torch.enable_grad():
            (leaf * x).sum().backward()  # type: ignore[no-untyped-call]
            (leaf * self.fc(y)).sum().backward()
        assert leaf.grad is not None
        return leaf.grad * 1


@shows()
class OptimizerInForward(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        latent = x.detach().clone().requires_grad_()
        optimizer = torch.optim.SGD([latent], 0.1, momentum=0.9)
        for _ in range(2):
            with torch.enable_grad():
                loss = (self.fc(latent) - y).pow(2).sum()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return latent * 1


@shows()
class JacobianOfLayer(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.autograd.functional.jacobian(lambda v: self.fc(v) * y, x).sum((0, 1))  # type: ignore[no-untyped-call]


heading("parameters made in the forward")


@shows()
class SlicedLayer(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        small = nn.Linear(3, 2)
        small.weight, small.bias = nn.Parameter(self.fc.weight[:2]), nn.Parameter(self.fc.bias[:2] + y[0, :2])
        return small(x)


@shows()
class FilledLayer(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        layer = nn.Linear(3, 3, bias=False)
        with torch.no_grad():
            layer.weight.copy_(self.fc.weight * y.sum())
        return layer(x)


@shows()
class LoadedState(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        layer = nn.Linear(3, 3)
        layer.load_state_dict({name: tensor * 2 for name, tensor in self.fc.state_dict().items()})
        return layer(x) + y


@shows()
class DataOfNewLayer(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        layer = nn.Linear(3, 3, bias=False)
        layer.weight.data = self.fc.weight.data + y.mean()
        return layer(x)


@shows()
class ParametersInList(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        made = nn.ParameterList([nn.Parameter(y[0].detach() * 2), nn.Parameter(self.scale.detach().clone())])
        return x * made[0] + made[1]


heading("subclasses")


class Tagged(Tensor):
    """A tensor with a name."""

    @staticmethod
    def __new__(cls, data: Tensor, tag: str = "") -> Any:
        made = Tensor._make_subclass(cls, data)
        made.tag = tag  # type: ignore[attr-defined]
        return made


@shows()
class TaggedTensors(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return Tagged(self.fc(x), "left") * Tagged(y * 2, "right")


class Scaled(Tensor):
    """A tensor that is another one times a number, which is a tensor, too."""

    @staticmethod
    def __new__(cls, inner: Tensor, by: Tensor) -> Any:
        made = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner, made.by = inner, by
        return made

    inner: Tensor  # type: ignore[assignment]
    by: Tensor

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        plain = [arg.inner * arg.by if isinstance(arg, Scaled) else arg for arg in args]
        return func(*plain, **(kwargs or {}))


@shows()
class ScaledInput(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.relu(Scaled(self.fc(x), y))


class Boxed(Tensor):
    """Gives boxes, and writes into what it has."""

    @staticmethod
    def __new__(cls, inner: Tensor) -> Any:
        made = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.held = {"inner": [inner]}
        return made

    held: dict[str, list[Tensor]]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        out = func(*(arg.held["inner"][0] if isinstance(arg, Boxed) else arg for arg in args), **(kwargs or {}))
        return args[0] if func._schema.name.endswith("_") else Boxed(out)


@shows()
class BoxWrittenInto(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        box = Boxed(self.fc(x))
        box.add_(y)
        return box.held["inner"][0] * 2


@shows()
class BoxOfBox(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        box = Boxed(Boxed(x)) * Boxed(Boxed(self.fc(y)))
        return box.held["inner"][0].held["inner"][0]


heading("numbers that leave and come back")


@shows(LEFT)
class MeanAsText(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return y * float(str(x.mean().item()))


@shows(LEFT)
class PackedBytes(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return y * struct.unpack("d", struct.pack("d", self.fc(x).sum()))[0]


@shows(LEFT)
class ListOfNumbers(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.tensor([a + b for a, b in zip(x[0].tolist(), self.scale.tolist(), strict=True)]) * y


@shows(LEFT)
class CountOfPositive(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return y * len((x > 0).nonzero())


@shows(CHOSE)
class SortedRows(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return y * sum(i * float(i) for i, row in enumerate(x.flatten()) if row > 0)


heading("shared memory: storages, ctypes, NumPy, DLPack")


@shows(LEFT)
class CtypesWrite(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        out = torch.empty(3)
        numbers = (ctypes.c_float * 3).from_address(x.data_ptr())
        (ctypes.c_float * 3).from_address(out.data_ptr())[:] = list(numbers)
        return out * y


@shows(LEFT)
class NumpyInPlace(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        out = torch.zeros(2, 3)
        np.multiply(x.detach().numpy(), 2.0, out=out.numpy())
        return out + y


@shows()
class ThroughDlpack(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(self.fc(x).detach())) * y  # type: ignore[attr-defined]


@shows(LEFT)
class OfOneStorage(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        z = self.fc(x).detach()
        return torch.empty(0).set_(z.untyped_storage(), 0, (3,)) * y  # type: ignore[call-overload]


@shows(LEFT)
class BytesOfStorage(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.frombuffer(bytearray(x.untyped_storage()), dtype=torch.float32) * y.flatten()


@shows()
class ViewOfWeightsInNumpy(Layer):
    def __init__(self) -> None:
        super().__init__()
        self.seen = self.fc.weight.detach().numpy()

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return x @ torch.from_numpy(self.seen) + y


heading("pickling, queues, threads")


@shows(LEFT)
class Pickled(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return pickle.loads(pickle.dumps(self.fc(x).detach())) * y


@shows(LEFT)
class SavedAndLoaded(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        file = io.BytesIO()
        torch.save({"x": x.detach()}, file)
        file.seek(0)
        return torch.load(file)["x"] + y


@shows()
class ThroughQueue(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        waiting: queue.Queue[Tensor] = queue.Queue()
        waiting.put(self.fc(x))
        return waiting.get() * y


@shows("layers ran in another thread")
class ComputedInThread(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        found: list[Tensor] = []
        thread = threading.Thread(target=lambda: found.append(self.fc(x) * y))
        thread.start()
        thread.join()
        return found[0] + 1


@shows(THREAD)
class ComputedInPool(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return sum(pool.map(lambda z: z * 2 + self.scale, (x, y)))


heading("views that are written to")


@shows()
class PartsInPlace(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        z = torch.zeros(2, 6)
        with torch.no_grad():
            left, right = z.chunk(2, 1)
            left.copy_(self.fc(x))
            right += y
        return z.sum(1)


@shows()
class StridedWindow(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        z = x.clone()
        z.as_strided((3,), (2,)).mul_(y[0])
        return z.diagonal() + self.scale[:2]


@shows()
class SwappedData(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        a, b = x.clone(), self.fc(y).detach().clone()
        view = a[0]
        a.data, b.data = b.data, a.data
        return view * 2, a * 2, b * 2


@shows()
class ScatteredIntoBuffer(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        self.scale.index_copy_(0, torch.tensor([0, 2]), self.fc(x)[0, :2].detach())
        return y * self.scale


heading("functions and operators of the user's own")


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, held: dict[str, Tensor]) -> Tensor:
        ctx.mark_dirty(x)
        return x.mul_(held["by"])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0], None


@shows()
class FunctionThatWrites(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        z = self.fc(x).detach().clone()
        Doubled.apply(z, {"by": y})  # type: ignore[no-untyped-call]
        return z + 1


@torch.library.custom_op("lost_cases::mixed", mutates_args={"out"})
def mixed(x: Tensor, y: Tensor, out: Tensor) -> Tensor:
    out.copy_(x + y)
    return x * y


@shows()
class OperatorThatWrites(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        out = torch.empty(2, 3)
        product = mixed(self.fc(x).detach(), y, out)
        return product, out * 2


class Halves(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Computes something else than what it is asked."""

    def __init__(self, by: Tensor) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.by = by

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        return out * self.by if isinstance(out, Tensor) and out.shape == self.by.shape else out


@shows()
class OwnMode(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        with Halves(y.detach()):
            return x + 1


heading("hooks")


@shows()
class HookOfGradient(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        leaf = x.detach().clone().requires_grad_()
        leaf.register_hook(lambda grad: grad * y)  # type: ignore[no-untyped-call]
        with torch.enable_grad():
            self.fc(leaf).sum().backward()
        return leaf.grad


@shows()
class CaughtByHook(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        caught: list[Tensor] = []
        handle = self.fc.register_forward_hook(lambda module, args, out: caught.append(out + y))
        self.fc(x)
        handle.remove()
        return caught[0]


@shows()
class PackedForBackward(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        leaf = x.detach().clone().requires_grad_()
        hooks = torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.clone(), lambda kept: kept * 2)
        with torch.enable_grad(), hooks:
            (leaf * leaf * self.scale).sum().backward()  # type: ignore[no-untyped-call]
        assert leaf.grad is not None
        return leaf.grad + y


heading("pieces of jit, export, fx")


def branching(x: Tensor, weight: Tensor) -> Tensor:
    if bool(x.sum() > -99):
        x = x @ weight
    return x.relu()


@shows()
class ScriptedFunction(Layer):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch asks the user to leave TorchScript
            self.scripted = torch.jit.script(branching)

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.scripted(x, self.fc.weight) + y


class Chooses(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.cond(x.sum() > -99, lambda v, w: self.fc(v) + w, lambda v, w: v - w, (x, y))


@shows(CHOSE)
class ExportedCond(Layer):
    def __init__(self) -> None:
        super().__init__()
        inputs = torch.ones(2, 3), torch.ones(2, 3)
        self.program = torch.export.export(Chooses(), inputs).module()

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.program(x, y)


@shows()
class TracedByFx(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        traced = torch.fx.symbolic_trace(nn.Sequential(self.fc, nn.ReLU(), self.other))
        return traced(x) * y


heading("random state")


@shows(LEFT)
class SeedOfData(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.rand(3, generator=torch.Generator().manual_seed(int(x.sum() * 1000))) * y


@shows()
class NoiseOfScale(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return torch.normal(self.fc(x), y.abs() + 1) + torch.empty(2, 3).normal_()


@shows()
class SampledRows(Layer):
    def forward(self, x: Tensor, y: Tensor) -> Any:
        return y[torch.multinomial(self.fc(x).softmax(1), 1)[:, 0] % 2]
