"""Graphs written by hand, for tests that need no torch."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from torchrecorder.graph import Call, Graph, Info, Module, Op, ParamCount, TensorMeta, Value
from torchrecorder.graph.codec import problems
from torchrecorder.graph.model import Failure, OpKind, ValueKind

NATIVE = {
    "Conv2d": "torch.nn.modules.conv.Conv2d",
    "Linear": "torch.nn.modules.linear.Linear",
    "Identity": "torch.nn.modules.linear.Identity",
    "BatchNorm2d": "torch.nn.modules.batchnorm.BatchNorm2d",
    "LayerNorm": "torch.nn.modules.normalization.LayerNorm",
    "ReLU": "torch.nn.modules.activation.ReLU",
    "GELU": "torch.nn.modules.activation.GELU",
    "Dropout": "torch.nn.modules.dropout.Dropout",
    "Flatten": "torch.nn.modules.flatten.Flatten",
    "Embedding": "torch.nn.modules.sparse.Embedding",
    "MaxPool2d": "torch.nn.modules.pooling.MaxPool2d",
    "MultiheadAttention": "torch.nn.modules.activation.MultiheadAttention",
    "Sequential": "torch.nn.modules.container.Sequential",
}
_OPS = {"Conv2d": "conv2d", "BatchNorm2d": "batch_norm", "LayerNorm": "layer_norm", "Identity": "pass"}
DEEP = sys.getrecursionlimit() + 200
"""Layers in one another, more than a function that calls itself could follow."""


class Net:
    """Writes down calls and ops in the order in which they happen."""

    def __init__(self, cls: str = "Net", params: int = 0) -> None:
        self.modules: dict[str, Module] = {}
        self.calls: list[Call] = []
        self.ops: list[Op] = []
        self.values: list[Value] = []
        self.inputs: dict[str, int] = {}
        self.stack: list[int] = []
        self.failure: Failure | None = None
        self._weights: dict[str, int] = {}
        self._count = Counter[str]()
        """How often each module was called."""
        self._open("", cls, "", params)

    def input(self, name: str, *shape: int | str) -> int:
        self.inputs[name] = self.value("input", shape, name)
        return self.inputs[name]

    def value(self, kind: ValueKind, shape: tuple[int | str, ...], name: str | None = None) -> int:
        self.values.append(Value(len(self.values), kind, None, 0, TensorMeta(shape, "float32", "cpu", 0), name))
        return len(self.values) - 1

    def op(
        self,
        name: str,
        *inputs: int,
        shape: tuple[int | str, ...] | None = None,
        attrs: Mapping[str, str] | None = None,
        kind: OpKind = "op",
    ) -> int:
        meta = self.values[inputs[0]].meta if shape is None else TensorMeta(shape, "float32", "cpu", 0)
        out = len(self.values)
        op = Op(
            len(self.ops), name, f"torch.{name}", self.stack[-1], inputs, (out,), attrs=dict(attrs or {}), kind=kind
        )
        self.ops.append(op)
        self.values.append(Value(out, "op", op.id, 0, meta))
        return out

    @contextmanager
    def call(self, fqn: str, cls: str, said: str = "", params: int = 0) -> Iterator[None]:
        self._open(fqn, cls, said, params)
        yield
        self.stack.pop()

    def layer(
        self, fqn: str, cls: str, x: int, shape: tuple[int | str, ...] | None = None, said: str = "", params: int = 0
    ) -> int:
        """A leaf of torch's with one op and, if it has parameters, one weight."""
        with self.call(fqn, cls, said, params):
            weight = (self.weight(f"{fqn}.weight", params),) if params else ()
            out = self.op(_OPS.get(cls, cls.lower()), x, *weight, shape=shape or self.shape(x))
        self.give(x, out)
        return out

    def weight(self, name: str, *shape: int) -> int:
        if name not in self._weights:
            self._weights[name] = self.value("param", shape, name)
        return self._weights[name]

    @contextmanager
    def function(self, name: str) -> Iterator[None]:
        """A custom autograd function, or an operator of control flow."""
        self._count[name] += 1
        self.calls.append(Call(len(self.calls), self.stack[-1], name, self._count[name], kind="function"))
        self.stack.append(len(self.calls) - 1)
        yield
        self.stack.pop()

    def shape(self, value: int) -> tuple[int | str, ...]:
        meta = self.values[value].meta
        assert meta is not None
        return meta.shape

    def give(self, x: int, out: int) -> None:
        """Says what the last call got and gave."""
        row = self.calls[-1]
        self.calls[-1] = Call(row.id, row.parent, row.module, row.index, {"x": x}, {"": out}, row.ok, row.kind)

    def fail(self, error: str) -> None:
        """The innermost open call raised."""
        self.failure = Failure(self.stack[-1], error)
        for at in self.stack:
            row = self.calls[at]
            self.calls[at] = Call(row.id, row.parent, row.module, row.index, row.inputs, {}, False, row.kind)

    def graph(self, *outputs: int, **named: int) -> Graph:
        paths = {str(i): (value,) for i, value in enumerate(outputs)} if len(outputs) > 1 else {"": outputs}
        paths = paths if outputs else {}
        info = Info("real", "2.13.0", "eval", failure=self.failure)
        ends = paths | {name: (value,) for name, value in named.items()}
        calls, ops, values = tuple(self.calls), tuple(self.ops), tuple(self.values)
        graph = Graph(self.modules, calls, ops, values, self.inputs, ends, info)
        assert problems(graph) == []
        return graph

    def _open(self, fqn: str, cls: str, said: str, params: int) -> None:
        full = NATIVE.get(cls, f"pkg.{cls}")
        own = params if cls in NATIVE and cls != "Sequential" else 0
        counts = ParamCount(own, params, params)
        self.modules.setdefault(fqn, Module(fqn, full, cls in NATIVE, counts, said))
        parent = self.stack[-1] if self.stack else None
        self._count[fqn] += 1
        self.calls.append(Call(len(self.calls), parent, fqn, self._count[fqn]))
        self.stack.append(len(self.calls) - 1)


def mlp(n: int = 2) -> Graph:
    """Linear and ReLU, n times, directly in the model."""
    net = Net("MLP", params=12 * n)
    x = net.input("x", 1, 4)
    for i in range(n):
        x = net.layer(f"fc{i}", "Linear", x, said="in_features=4, out_features=4, bias=True", params=12)
        x = net.layer(f"act{i}", "ReLU", x)
    return net.graph(x)


def residual_block() -> Graph:
    """The basic block of a ResNet, with a projection."""
    net = Net("BasicBlock", params=3680)
    x = net.input("x", 1, 8, 16, 16)
    small = (1, 16, 8, 8)
    y = net.layer("conv1", "Conv2d", x, small, "8, 16, kernel_size=(3, 3), stride=(2, 2), padding=(1, 1)", 1152)
    y = net.layer("bn1", "BatchNorm2d", y, said="16, eps=1e-05", params=32)
    y = net.layer("relu", "ReLU", y)
    y = net.layer("conv2", "Conv2d", y, said="16, 16, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1)", params=2304)
    y = net.layer("bn2", "BatchNorm2d", y, said="16, eps=1e-05", params=32)
    with net.call("down", "Sequential", params=160):
        s = net.layer("down.0", "Conv2d", x, small, "8, 16, kernel_size=(1, 1), stride=(2, 2)", 128)
        s = net.layer("down.1", "BatchNorm2d", s, said="16, eps=1e-05", params=32)
    y = net.op("add", y, s)
    return net.graph(net.layer("relu", "ReLU", y))


def transformer(n: int = 12, d: int = 32) -> Graph:
    """A pre-norm encoder: an embedding, n blocks of attention and two linear layers, a head."""
    net = Net("Encoder", params=n * 100 + 500)
    x = net.layer("embed", "Linear", net.input("x", 1, 8, 16), (1, 8, d), f"in_features=16, out_features={d}", 544)
    for i in range(n):
        with net.call(f"blocks.{i}", "Block", params=100):
            x = _block(net, f"blocks.{i}", x, d)
    x = net.layer("norm", "LayerNorm", x, said=f"({d},)", params=64)
    x = net.layer("head", "Linear", x, (1, 8, 10), f"in_features={d}, out_features=10", 330)
    return net.graph(x)


def _block(net: Net, at: str, x: int, d: int) -> int:
    y = net.layer(f"{at}.ln1", "LayerNorm", x, said=f"({d},)", params=64)
    with net.call(f"{at}.attn", "Attention", params=40):
        said = f"in_features={d}, out_features={d}"
        q, k, v = (net.layer(f"{at}.attn.{name}", "Linear", y, said=said, params=1056) for name in "qkv")
        q, k, v = (net.op("view", each, shape=(1, 4, 8, d // 4)) for each in (q, k, v))
        scores = net.op("matmul", q, net.op("transpose", k, shape=(1, 4, d // 4, 8)), shape=(1, 4, 8, 8))
        scores = net.op("softmax", net.op("div", scores, attrs={"1": "2.8284271247461903"}))
        y = net.op("reshape", net.op("matmul", scores, v, shape=(1, 4, 8, d // 4)), shape=(1, 8, d))
        y = net.layer(f"{at}.attn.proj", "Linear", y, said=said, params=1056)
    x = net.op("add", x, y)
    y = net.layer(f"{at}.ln2", "LayerNorm", x, said=f"({d},)", params=64)
    with net.call(f"{at}.mlp", "Sequential", params=60):
        y = net.layer(f"{at}.mlp.0", "Linear", y, (1, 8, 4 * d), f"in_features={d}, out_features={4 * d}", 4224)
        y = net.layer(f"{at}.mlp.1", "GELU", y)
        y = net.layer(f"{at}.mlp.2", "Linear", y, (1, 8, d), f"in_features={4 * d}, out_features={d}", 4128)
    return net.op("add", x, y)


def chain(n: int) -> Graph:
    """n different ops, one after the other, directly in the model."""
    net = Net("Chain")
    x = net.input("x", 1, 4)
    for i in range(n):
        x = net.op(("sin", "cos", "tan")[i % 3], x)
    return net.graph(x)


def nested(depth: int) -> Graph:
    """Two ops in a box in a box in a box."""
    net = Net("Deep")
    x = net.input("x", 1)
    path = ""
    for i in range(depth):
        path = f"{path}.m" if i else "m"
        net._open(path, "Wrapper", "", 0)
    x = net.op("cos", net.op("sin", x))
    return net.graph(x)
