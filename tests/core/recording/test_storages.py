"""A recording keeps no tensor longer than the forward alone does."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from torchrecorder import capture
from torchrecorder.running.nested import tensors_in


class Alive(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Counts the bytes of memory that kernels made and that is alive, after each kernel."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.now, self.seen, self._known = 0, list[tuple[str, int]](), dict[int, Any]()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        for tensor in tensors_in((out,), []):
            storage = tensor.untyped_storage()
            if storage._cdata not in self._known:
                self.now += storage.nbytes()
                self._known[storage._cdata] = weakref.ref(storage, self._forgets(storage._cdata, storage.nbytes()))
        self.seen.append((str(func), self.now))
        return out

    def _forgets(self, address: int, nbytes: int) -> Callable[[object], None]:
        def forget(_: object) -> None:
            del self._known[address]
            self.now -= nbytes

        return forget


class Block(nn.Module):
    """Attention, a layer that gives its argument back, writes in place, a split, and a list that is let go."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.drop, self.qkv = nn.LayerNorm(width), nn.Dropout(0.1), nn.Linear(width, 3 * width)
        self.out, self.mlp = (
            nn.Linear(width, width),
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)),
        )

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm(x)).chunk(3, -1)
        heads = [part.view(*part.shape[:2], 4, -1).transpose(1, 2) for part in (q, k, v)]
        y = nn.functional.scaled_dot_product_attention(*heads).transpose(1, 2).flatten(2)
        x = x + self.drop(self.out(y))
        del q, k, v, heads, y
        kept = torch.zeros_like(x)
        kept[:, 0] = x[:, 0]
        return x + self.drop(self.mlp(self.norm(x))).mul_(0.5) + kept


def alive(run: Callable[[], object]) -> list[tuple[str, int]]:
    gc.collect()
    with Alive() as seen:
        run()
    return seen.seen


def test_memory_that_is_alive_is_that_of_the_forward_and_the_copied_inputs() -> None:
    net, x = nn.Sequential(*(Block(32) for _ in range(4))).eval(), torch.randn(2, 16, 32)
    with torch.no_grad():
        net(x)
        plain, recorded = alive(lambda: net(x)), alive(lambda: capture(net, (x,)))
    inputs = 2 * x.nbytes  # a copy, and what the copying makes
    waiting = iter(recorded)
    for kernel, nbytes in plain:
        now = next(now for name, now in waiting if name == kernel)
        assert nbytes <= now <= nbytes + inputs, kernel
    assert max(now for _, now in recorded) <= max(now for _, now in plain) + inputs
