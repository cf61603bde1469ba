"""Records some nets once for each private part of torch, without it, and prints what came of it as JSON.

`python without_parts.py`; each in a forked process, where the part is missing before anything of ours asks for it.
"""

from __future__ import annotations

import json
import os
import traceback
import warnings
from collections.abc import Iterator
from typing import Any, cast

import torch
import torch._dynamo
from torch import Tensor, nn
from torch._dynamo.eval_frame import OptimizedModule
from torch._subclasses.fake_tensor import FakeTensorMode

from torchrecorder.running import torch_private


class Plain(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4))

    def forward(self, x: Tensor) -> Any:
        return self.layers(x) + x


class InPlace(Plain):
    def forward(self, x: Tensor) -> Any:
        with torch.no_grad():
            next(self.parameters()).mul_(2)
        y = self.layers(x)
        y[0].add_(1)
        return y.relu_()


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Any:
        return x * x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return grads[0]


class Custom(Plain):
    def forward(self, x: Tensor) -> Any:
        return torch.func.vmap(torch.cos)(Square.apply(self.layers(x)))  # type: ignore[no-untyped-call]


class Drawing(Plain):
    def forward(self, items: Any) -> Any:
        return self.layers(next(items))


def items() -> Iterator[Tensor]:
    yield torch.ones(2, 4)


def nets() -> list[tuple[nn.Module, Any]]:
    torch.manual_seed(0)
    x = torch.rand(2, 4)
    attention = nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0, batch_first=True)
    return [
        *[(net, x) for net in (Plain(), InPlace(), Custom())],
        (cast("nn.Module", torch.compile(Plain())), x),
        (attention, torch.rand(1, 3, 4)),
        (Drawing(), items()),
    ]


def recorded() -> dict[str, Any]:
    """The calls of each net in each way, and the notes of the last."""
    from torchrecorder.graph import from_json, to_json
    from torchrecorder.graph.codec import problems
    from torchrecorder.recording.run import capture
    from torchrecorder.torchfunc.hooks.recorders import BackwardInput, BackwardOutput
    from torchrecorder.torchfunc.hooks.registrators import Backward
    from torchrecorder.torchview import draw_graph

    found: dict[str, Any] = {}
    for recorder in (BackwardInput(), BackwardOutput(), Backward(lambda *grads: None)):
        plain = Plain()
        recorder.modules(plain)
        for _ in range(2):
            plain(torch.rand(2, 4)).sum().backward()
    draw_graph(Plain(), input_size=(2, 4))
    for way in ("real", "fake", "meta", "classic"):
        for number, (net, x) in enumerate(nets()):
            if isinstance(net, Drawing) and way != "real":
                continue
            state = {name: value.clone() for name, value in net.state_dict().items()}
            if way == "classic":
                graph = capture(net, (x,), run="real", recorder="classic")
            else:
                with torch.no_grad():
                    graph = capture(net, (x,), run=way)  # type: ignore[arg-type]
            assert problems(graph) == []
            assert from_json(to_json(graph)) == graph
            assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items()), "a weight changed"
            found[f"{way} {number}"] = [[call.module for call in graph.calls if call.kind == "module"], len(graph.ops)]
            found["notes"] = graph.info.notes
    return found


def without(path: str) -> dict[str, Any]:
    if path:
        torch_private._found[path] = None
    try:
        return recorded()
    except BaseException:
        return {"error": traceback.format_exc()}


def main() -> None:
    warnings.simplefilter("ignore")
    for net, x in nets():  # what torch imports when it is first used, seconds of each fork; and nothing of ours
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
            _ = net if isinstance(net, OptimizedModule | Drawing) else net(x)
    for path in ("", *torch_private.PARTS):
        reader, writer = os.pipe()
        if os.fork() == 0:
            with os.fdopen(writer, "w") as pipe:
                json.dump(without(path), pipe)
                pipe.flush()
                os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as pipe:
            print(json.dumps([path, json.load(pipe)]), flush=True)
        os.wait()


if __name__ == "__main__":
    main()
