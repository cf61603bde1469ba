"""Models that torch has made code of are drawn as the models they were made from."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, fx, nn

from tests.core.recording.nets import record
from torchrecorder.errors import ForwardError
from torchrecorder.graph import Graph, to_json
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import make_view


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.act, self.down = nn.LayerNorm(4), nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 4)
        self.register_buffer("scale", torch.ones(4))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(self.act(self.up(self.norm(x)))) * self.scale  # type: ignore[no-any-return]


class Stacked(nn.Module):
    """Blocks in a list, and an op of the model's own."""

    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(4, 2)

    def forward(self, x: Tensor) -> Tensor:
        for block in self.blocks:
            x = block(x)
        return F.relu(self.head(x))


class Shared(nn.Module):
    """One block that runs three times, then a part of it."""

    def __init__(self) -> None:
        super().__init__()
        self.block = Block()

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(3):
            x = self.block(x)
        return self.block.down(self.block.up(x))  # type: ignore[no-any-return]


class Residual(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.body = nn.Sequential(nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU()), nn.Conv2d(4, 4, 1))

    def forward(self, x: Tensor) -> Tensor:
        x = self.stem(x)
        return F.relu(x + self.body(x)).mean((2, 3))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.q, self.k, self.v = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(self.q(x), self.k(x), self.v(x))


class Encoder(nn.Module):
    """A token model with nested blocks."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(10, 4)
        self.layers = nn.Sequential(nn.Sequential(Attention(), Block()), nn.Sequential(Attention(), Block()))

    def forward(self, ids: Tensor) -> Tensor:
        return self.layers(self.embed(ids)).softmax(-1)  # type: ignore[no-any-return]


class TwoEnds(nn.Module):
    """Two inputs and two outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right = Block(), Block()

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        x = self.left(x)
        return x, self.right(x + y)


X = torch.ones(2, 4)
MODELS: dict[str, tuple[Callable[[], nn.Module], tuple[Tensor, ...]]] = {
    "stacked": (Stacked, (X,)),
    "shared": (Shared, (X,)),
    "residual": (Residual, (torch.ones(1, 3, 4, 4),)),
    "encoder": (Encoder, (torch.ones(2, 3, dtype=torch.int64),)),
    "two ends": (TwoEnds, (X, X)),
}


def exported(model: nn.Module, args: tuple[Tensor, ...]) -> nn.Module:
    return torch.export.export(model, args).module()


def unflattened(model: nn.Module, args: tuple[Tensor, ...]) -> nn.Module:
    return torch.export.unflatten(torch.export.export(model, args))


def symbolic(model: nn.Module, args: tuple[Tensor, ...]) -> nn.Module:
    return fx.symbolic_trace(model)


def made(way: Callable[[nn.Module, tuple[Tensor, ...]], nn.Module], name: str) -> tuple[nn.Module, nn.Module, Any]:
    build, args = MODELS[name]
    model = build().eval()
    with warnings.catch_warnings():  # of torch's own code, and of its deprecations
        warnings.simplefilter("ignore")
        return model, way(model, args), args


def calls(graph: Graph) -> list[tuple[str, str, int, str]]:
    """The calls that ran ops, with their classes and what they stand in, in the order of their ops."""
    held: dict[int, None] = {}
    for op in graph.ops:
        chain: list[int] = []
        at: int | None = op.call
        while at is not None:
            chain.insert(0, at)
            at = graph.calls[at].parent
        held.update(dict.fromkeys(chain))
    rows = [graph.calls[id_] for id_ in held]
    names = {row.id: f"{row.module}#{row.index}" for row in graph.calls}
    return [(r.module, graph.modules[r.module].cls, r.index, names.get(r.parent or 0, "")) for r in rows[1:]]


def boxes(graph: Graph, depth: int) -> list[tuple[str, str, int]]:
    view = make_view(graph, DrawingOptions(depth=depth, fold=False))
    rows = [graph.calls[call] for box in view.boxes for call in box.calls]
    return [(row.module, graph.modules[row.module].cls, row.index) for row in rows]


WAYS = [exported, unflattened, symbolic]
NOTE = "TorchScript ran the model, or a part of it: its operations are kernels"


def scripted(model: nn.Module, args: tuple[Tensor, ...]) -> nn.Module:
    found: nn.Module = torch.jit.script(model)
    return found


def traced(model: nn.Module, args: tuple[Tensor, ...]) -> nn.Module:
    found: nn.Module = torch.jit.trace(model, args)  # type: ignore[no-untyped-call]
    return found


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("way", [exported, unflattened])
def test_the_boxes_are_those_of_the_model(way: Any, name: str) -> None:
    model, program, args = made(way, name)
    of_model, of_program = record(model, *args), record(program, *args)
    assert boxes(of_program, 2) == boxes(of_model, 2)
    assert calls(of_program) == calls(of_model)
    total = of_model.modules[""].params.total
    assert of_program.modules[""].params.total == total
    assert {call.module for call in of_program.calls} <= {call.module for call in of_model.calls}
    assert of_program.info.notes == ()


@pytest.mark.parametrize("name", MODELS)
def test_of_a_symbolic_trace_all_but_the_root_is_known(name: str) -> None:
    model, program, args = made(symbolic, name)
    of_model, of_program = record(model, *args), record(program, *args)
    assert calls(of_program) == calls(of_model)
    root = of_program.modules[""]
    assert (root.cls.rpartition(".")[2], root.native) == (type(model).__name__, False)


@pytest.mark.parametrize("way", WAYS)
def test_twice_gives_the_same_text(way: Any) -> None:
    _, program, args = made(way, "shared")
    assert to_json(record(program, *args)) == to_json(record(program, *args))


def test_an_exported_part_stands_in_its_model() -> None:
    _, program, args = made(exported, "stacked")
    graph = record(nn.Sequential(program, nn.Tanh()), *args)
    assert [call.module for call in graph.calls][-1] == "1"
    assert [row[0] for row in calls(graph)][:3] == ["0", "0.blocks.0", "0.blocks.0.norm"]
    assert graph.modules["0.blocks.0.up"].params.total == 40


@pytest.mark.filterwarnings("ignore")
def test_layers_without_an_operation_are_named() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.ReLU(), nn.Dropout()).eval()
    graph = record(exported(model, (X,)), X)
    assert graph.info.notes == ("layers of the program that ran no operation are left out: 1, 3",)


@pytest.mark.filterwarnings("ignore")
def test_generated_code_that_says_nothing_of_modules_is_open() -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = record(make_fx(Stacked().eval())(X), X)
    assert boxes(graph, 1) == [("", "torch.fx.graph_module.GraphModule", 1)]
    assert len(make_view(graph, DrawingOptions(depth=1)).nodes) > 10


def plain(rows: list[tuple[str, str, int]]) -> list[tuple[str, str, int]]:
    """Boxes with the names of their classes alone: TorchScript leaves out where those of a test are."""
    return [(path, cls.rpartition(".")[2], index) for path, cls, index in rows]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("way", [scripted, traced])
class TestTorchScript:
    def test_the_boxes_are_those_of_the_model(self, way: Any, name: str) -> None:
        model, program, args = made(way, name)
        of_model, of_program = record(model, *args), record(program, *args)
        assert plain(boxes(of_program, 2)) == plain(boxes(of_model, 2))
        assert [row[0] for row in calls(of_program)] == [row[0] for row in calls(of_model)]
        assert [note.partition(", and")[0] for note in of_program.info.notes] == [NOTE]
        ours, theirs = of_program.modules, of_model.modules
        assert {path: ours[path].params for path in ours} == {path: theirs[path].params for path in ours}

    def test_inputs_and_shapes_are_known(self, way: Any, name: str) -> None:
        _, program, args = made(way, name)
        graph = record(program, *args)
        assert list(graph.inputs) in (["x"], ["ids"], ["x", "y"])
        assert all(call.inputs and call.outputs for call in graph.calls if call.module)

    def test_the_program_stays_as_it_is(self, way: Any, name: str) -> None:
        _, program, args = made(way, name)
        assert isinstance(program, torch.jit.ScriptModule)
        before = str(program.inlined_graph)
        assert to_json(record(program, *args)) == to_json(record(program, *args))
        assert str(program.inlined_graph) == before
        assert "torchrecorder" not in before


class Turns(nn.Module):
    """A loop and a branch that the numbers decide, and a layer whose forward is overloaded."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.fc, self.other = nn.LSTM(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        x = self.rnn(x)[0]
        n = 0
        while n < 3 and bool(x.sum() < 1000):
            x = self.fc(x)
            n += 1
        return self.other(x) if n < 3 else self.fc(x) * 2  # type: ignore[no-any-return]


@pytest.mark.filterwarnings("ignore")
def test_what_a_script_decides_is_followed() -> None:
    graph = record(torch.jit.script(Turns().eval()), X)
    assert [(call.module, call.index) for call in graph.calls[1:]] == [("rnn", 1), *(("fc", n) for n in (1, 2, 3, 4))]
    assert graph.ops[-1].call == 0


@pytest.mark.filterwarnings("ignore")
def test_a_script_that_fails_inside_a_layer() -> None:
    class Fails(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            if bool(x.sum() > 0):
                raise ValueError("too large")
            return x

    first = nn.Linear(4, 4)
    nn.init.constant_(first.bias, 100.0)
    model = nn.Sequential(torch.jit.script(nn.Sequential(first, nn.ReLU(), Fails())), nn.Tanh())
    with pytest.raises(ForwardError, match="too large") as caught:
        record(model, X)
    assert caught.value.graph is not None
    assert [(call.module, call.ok) for call in caught.value.graph.calls] == [
        *(("", False), ("0", False), ("0.0", True), ("0.1", True)),
        ("0.2", False),
    ]


@pytest.mark.filterwarnings("ignore")
def test_a_frozen_script_is_open_without_layers() -> None:
    graph = record(torch.jit.freeze(torch.jit.script(nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval())), X)
    assert boxes(graph, 1) == [("", "torch.nn.modules.container.Sequential", 1)]


@pytest.mark.filterwarnings("ignore")
def test_a_script_that_cannot_be_copied_whole_is_noted() -> None:
    class Optional(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc = nn.Linear(4, 4)

        def forward(self, x: Tensor, mask=None) -> Any:  # type: ignore[no-untyped-def]
            return self.fc(x).relu()

    graph = record(torch.jit.script(Optional().eval()), X)
    assert graph.info.notes == (f"{NOTE}, and its layers are not seen",)
    assert [row[0] for row in boxes(graph, 1)] == [""]
