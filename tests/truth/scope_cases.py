"""The truth about what runs a forward otherwise: custom functions, checkpoints, compilers, vmap; see `case`."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from tests.truth.case import Cases
from tests.truth.layers import ActiveLayer, OneLayer, numbers

CASES = Cases()
case = CASES.case


@case("in:x -> m:a -> /mul -> /add -> out; m:a -> /add", numbers(2, 3))
class NoGradPart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        h = self.a(x)
        with torch.no_grad():
            w = h * 2
        return h + w


class MySquare(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.save_for_backward(x)
        return x * x + 0

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return 2 * ctx.saved_tensors[0] * grads[0]


@case("in:x -> m:fc -> /MySquare -> /add -> out; m:fc -> /add", numbers(2, 3))
class CustomFunction(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        h = self.fc(x)
        return h + MySquare.apply(h)  # type: ignore[no-untyped-call]


@case("in:x -> m:blk.fc -> blk/relu -> /add -> out; in:x -> /add", numbers(2, 3), train=True)
class Checkpointed(nn.Module):
    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Any:
            return F.relu(self.fc(x))

    def __init__(self) -> None:
        super().__init__()
        self.blk = self.Block()

    def forward(self, x: Tensor) -> Any:
        return checkpoint(self.blk, x, use_reentrant=False) + x


@case("in:x -> m:fc -> sub/relu -> out", numbers(2, 3))
class DirectForward(nn.Module):
    # No hook runs for a forward that is called by name; the op still belongs to the module.
    class Inner(nn.Module):
        def forward(self, x: Tensor) -> Any:
            return F.relu(x)

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.sub = self.Inner()

    def forward(self, x: Tensor) -> Any:
        return self.sub.forward(self.fc(x))


@case("in:x -> m:pre -> m:s.0 -> m:s.1 -> m:post -> out", numbers(2, 3), needs_numbers=True, scripted=True)
class Scripted(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pre = nn.Linear(3, 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.s = torch.jit.script(nn.Sequential(nn.Linear(3, 3), nn.ReLU()))
        self.post = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return self.post(self.s(self.pre(x)))


@case("in:x -> /mul -> /sum -> out", numbers(2, 3), needs_numbers=True)
class Vmapped(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.func.vmap(lambda row: (row * 2).sum())(x)


@case("in:x -> m:fc -> out; in:x -> /mul -> m:fc; /zeros -> m:fc", numbers(3, 3))
class FunctionalCall(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        weights = {"weight": x * 2, "bias": torch.zeros(3)}
        return torch.func.functional_call(self.fc, weights, (x,))


@case("in:x -> m:fc -> /relu -> out", numbers(2, 3), train=True)
class ReentrantCheckpoint(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return checkpoint(lambda y: F.relu(self.fc(y)), x, use_reentrant=True)


class Split(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Any:
        return x + y, x - y

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0] + grads[1], grads[0] - grads[1]


@case("in:x -> /Split -> /mul -> out; in:x -> m:fc -> /Split", numbers(2, 3))
class FunctionOfMany(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        a, b = Split.apply(x, self.fc(x))  # type: ignore[no-untyped-call]
        return a * b


@case("in:x -> m:net -> out", numbers(2, 3), needs_numbers=True)
class Traced(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.net = torch.jit.trace(nn.Tanh(), torch.ones(2, 3))  # type: ignore[no-untyped-call]

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


@case("in:x -> /add -> /mul -> /sum -> out", numbers(2, 3), needs_numbers=True)
class VmappedChain(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.func.vmap(lambda row: ((row + 1) * 2).sum())(x)


class Scale(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x: Tensor, factor: float) -> Any:
        return x * factor

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0] * ctx.factor, None


@case("in:x -> /Scale -> m:fc -> /Scale#2 -> out", numbers(2, 3))
class FunctionWithContext(OneLayer):
    def forward(self, x: Tensor) -> Any:
        scale = Scale.apply
        return scale(self.fc(scale(x, 2.0)), 3.0)  # type: ignore[no-untyped-call]


class StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0]


@case("in:x -> /StraightThrough -> /add -> out; in:x -> /add", numbers(2, 3))
class FunctionOfView(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return x + StraightThrough.apply(x)  # type: ignore[no-untyped-call]


class InPlaceFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        ctx.mark_dirty(x)
        return x.mul_(2)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0] * 2


@case("in:x -> m:fc -> /InPlaceFunction -> out:0; /InPlaceFunction -> out:1", numbers(2, 3))
class FunctionInPlace(OneLayer):
    def forward(self, x: Tensor) -> Any:
        y = self.fc(x)
        return InPlaceFunction.apply(y), y  # type: ignore[no-untyped-call]


class ReturnsArgument(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return -grads[0]


@case("in:x -> /add -> out; in:x -> m:fc -> /ReturnsArgument -> /add", numbers(2, 3), train=True)
class GradientReversal(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return x + ReturnsArgument.apply(self.fc(x))  # type: ignore[no-untyped-call]


@case("in:x -> m:net.module.fc -> net.module/relu -> out", numbers(2, 3))
class Parallel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.DataParallel(ActiveLayer())

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


@case("in:x -> m:net.fc -> net/relu -> out", numbers(2, 3))
class CompiledPart(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = ActiveLayer()
        self.net.compile(backend="eager")

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


@case("in:x -> m:fc -> m:fc#2 -> out", numbers(2, 3), train=True)
class CheckpointedTwice(OneLayer):
    def forward(self, x: Tensor) -> Any:
        x = checkpoint(self.fc, x, use_reentrant=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return checkpoint(self.fc, x, use_reentrant=True)


@case("in:x -> m:net.0 -> m:net.1 -> m:net.2 -> out", numbers(2, 3), train=True)
class CheckpointedSequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 3))

    def forward(self, x: Tensor) -> Any:
        return checkpoint_sequential(self.net, 2, x, use_reentrant=False)  # type: ignore[no-untyped-call]


@case("in:x -> m:fc -> out", numbers(2, 3))
class Autocast(OneLayer):
    def forward(self, x: Tensor) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            return self.fc(x)


@case("in:x -> m:fc -> /matmul -> /float -> out; in:x -> /matmul", numbers(3, 3))
class AutocastOps(OneLayer):
    def forward(self, x: Tensor) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            y = self.fc(x) @ x
        return y.float()


@case("in:x -> m:fc -> out", numbers(2, 3))
class InferencePart(OneLayer):
    def forward(self, x: Tensor) -> Any:
        with torch.inference_mode():
            return self.fc(x)


@case("in:x -> m:net.fc -> net/relu -> out", numbers(2, 3))
class CompiledModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = ActiveLayer()
        self.run = torch.compile(self.net.forward, backend="eager")

    def forward(self, x: Tensor) -> Any:
        return self.run(x)


@case("in:x -> m:fc -> /relu -> out", numbers(2, 3))
class CompiledFunction(OneLayer):
    def __init__(self) -> None:
        super().__init__()
        self.act = torch.compile(F.relu, backend="eager")

    def forward(self, x: Tensor) -> Any:
        return self.act(self.fc(x))


@torch.jit.script_if_tracing  # type: ignore[untyped-decorator]
def doubled(x: Tensor) -> Tensor:
    return x * 2


@case("in:x -> /mul -> m:fc -> out", numbers(2, 3))
class ScriptedIfTracing(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return self.fc(doubled(x))


@case("in:x -> m:fc -> /relu -> out", numbers(2, 3), train=True)
class CheckpointedFunction(OneLayer):
    def inner(self, x: Tensor) -> Tensor:
        return F.relu(self.fc(x))

    def forward(self, x: Tensor) -> Any:
        return checkpoint(self.inner, x, use_reentrant=False)


@case("in:x -> /sin -> /cos -> out", numbers(3), needs_numbers=True)
class VmappedMethods(nn.Module):
    def forward(self, x: Tensor) -> Any:
        return torch.func.vmap(lambda v: v.sin().cos())(x)


@case("in:x -> m:fc -> /detach; c:0 -> /mul -> out", numbers(2, 3), needs_numbers=True, leaves=True)
class ThroughNumpy(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return torch.from_numpy(self.fc(x).detach().numpy() + 1) * 2


@case("in:x -> m:fc; /tensor -> /mul -> out", numbers(2, 3), needs_numbers=True, leaves=True)
class ThroughList(OneLayer):
    def forward(self, x: Tensor) -> Any:
        return torch.tensor(self.fc(x).tolist()) * 2


@case("in:inputs.0 -> m:module -> out", numbers(2, 3))
class ParallelModel(nn.DataParallel[nn.Linear]):
    def __init__(self) -> None:
        super().__init__(nn.Linear(3, 3))


@case("in:x -> m:net.fc -> net/relu -> out", numbers(2, 4, 3))
class CompiledPartOfModel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = ActiveLayer()
        self.fast = [torch.compile(self.net, backend="eager")]

    def forward(self, x: Tensor) -> Any:
        compiled: Any = self.fast[0]
        return compiled._orig_mod(x)


@case("in:x -> m:net.0 -> m:net.1 -> out", numbers(2, 3), needs_numbers=True, scripted=True)
class TracedSequence(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            net = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
            self.net = torch.jit.trace(net, torch.ones(2, 3))  # type: ignore[no-untyped-call]

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


@case("in:x -> m:net.a -> net/relu -> out", numbers(2, 3))
class SymbolicallyTraced(nn.Module):
    class Inner(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = nn.Linear(3, 3)

        def forward(self, x: Tensor) -> Any:
            return self.a(x).relu()

    def __init__(self) -> None:
        super().__init__()
        self.net = torch.fx.symbolic_trace(self.Inner())

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


@case("in:x -> /mul -> /sum -> /grad -> out; in:x -> /grad", numbers(3), needs_numbers=True)
class GradientInForward(nn.Module):
    def forward(self, x: Tensor) -> Any:
        with torch.inference_mode(False), torch.enable_grad():
            x = x.clone() if x.is_inference() else x
            x.requires_grad_()
            return torch.autograd.grad((x * x).sum(), x)[0]
