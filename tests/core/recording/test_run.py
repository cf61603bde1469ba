"""On what a model runs: numbers, fake tensors or meta, what `auto` chooses, and that none of them touches the model."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from tests.core.recording.nets import Net, op_names, record
from tests.truth.all import CASES
from tests.truth.case import Case
from tests.truth.neutral import to_neutral
from torchrecorder.errors import ForwardError
from torchrecorder.graph import from_json, to_json
from torchrecorder.recording import run
from torchrecorder.recording.run import capture

X = torch.ones(2, 3)


def resnet() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(16, 2))


_NOT_ON_META = {
    "AutocastOps": "autocast is of a device, and on meta none is cast",
    **dict.fromkeys(("GlobalTensor", "DefaultTensor"), "a tensor that nothing of the model holds lies on the CPU"),
    **dict.fromkeys(
        ("FlexAttention", "FlexAttentionWithMask", "FlexAttentionWithAScoreOfItsOwn"),
        "flex_attention refuses tensors on meta",
    ),
}


@pytest.mark.parametrize("case", [c for c in CASES if not c.needs_numbers], ids=lambda case: case.name)
@pytest.mark.parametrize("way", ["fake", "meta"])
def test_without_numbers_the_graph_is_as_exact(case: Case, way: Any) -> None:
    if way == "meta" and case.name in _NOT_ON_META:
        pytest.skip(_NOT_ON_META[case.name])
    args, kwargs = case.inputs()
    graph = capture(case.build(), args, kwargs, mode="train" if case.train else "eval", run=way)
    assert to_neutral(graph) == (case.nodes, set(case.edges))
    assert graph.info.executed == way


@pytest.mark.parametrize("way", ["real", "fake", "meta"])
@pytest.mark.parametrize("mode", ["eval", "train"])
def test_counts_do_not_depend_on_the_way(way: Any, mode: Any) -> None:
    graph = record(resnet(), torch.ones(2, 3, 4, 4), run=way, mode=mode)
    first = record(resnet(), torch.ones(2, 3, 4, 4), run="real", mode=mode)
    assert [op.flops for op in graph.ops] == [op.flops for op in first.ops]
    shapes = [[v.meta and v.meta.shape for v in g.values] for g in (graph, first)]
    assert shapes[0] == shapes[1]


@pytest.mark.parametrize("way", ["real", "fake", "meta"])
def test_what_is_written_to_parameters_is_undone(way: Any) -> None:
    def body(self: Any, x: Tensor) -> Any:
        with torch.no_grad():
            self.fc.weight.mul_(2)
            self.fc.weight[0] = 7
            nn.init.zeros_(self.fc.bias)
        self.fc.weight.data.clamp_(max=0.1)
        self.norm.running_mean.add_(1)
        return self.norm(self.fc(x))

    net = Net(body, fc=nn.Linear(3, 3), norm=nn.BatchNorm1d(3))
    before = {name: (id(t), t._version, t.tolist()) for name, t in net.state_dict(keep_vars=True).items()}
    graph = record(net, X, run=way, mode="train")
    assert {"mul_", "setitem", "zero_", "clamp_"} <= {*op_names(graph)}
    assert {name: (id(t), t._version, t.tolist()) for name, t in net.state_dict(keep_vars=True).items()} == before


def test_fake_tensors_are_not_left_in_the_model() -> None:
    def body(self: Any, x: Tensor) -> Any:
        self.cache = x * 2
        self.kept["x"] = self.cache
        return self.cache

    net = Net(body, kept={})
    assert record(net, X, run="fake").info.executed == "fake"
    assert not hasattr(net, "cache")
    assert net.kept == {}
    assert type(net(X)) is Tensor


@pytest.mark.parametrize("way", ["real", "fake", "meta"])
def test_numbers_in_a_text_may_be_unknown(way: Any) -> None:
    said: list[str] = []

    def body(self: Net, x: Tensor) -> Tensor:
        said.append(f"from {x.min():.2f} to {x.max()}")
        return x + 1

    record(Net(body), X, run=way)
    assert said == [f"from {X.min():.2f} to {X.max()}" if way == "real" else "from ? to ?"]

    def refuse(self: Net, x: Tensor) -> Tensor:
        raise ValueError(f"mean {x.mean():.2f} of {x}:{x:>3}")

    with pytest.raises(ForwardError, match="unsupported format string"):
        record(Net(refuse), X, run=way)


class Packs(nn.Module):
    """Keeps what lengths say is there, in one row behind another."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x: Tensor, lengths: Tensor) -> Any:
        lengths += 1
        is_there = torch.arange(x.shape[1]) < lengths[:, None]
        return self.fc(x)[is_there[..., None].expand(-1, -1, 2)]


def test_integers_are_known_though_the_model_has_no_numbers() -> None:
    lengths = torch.tensor([2, 1])
    graph = record(Packs().to("meta"), torch.ones(2, 5, 3), lengths, run="fake")
    metas = [graph.values[value].meta for value in graph.ops[-1].outputs]
    assert [meta and meta.shape for meta in metas] == [(10,)]
    assert lengths.tolist() == [2, 1]
    assert op_names(graph) == op_names(record(Packs(), torch.ones(2, 5, 3), lengths))


def test_integers_in_a_list_are_known_though_the_model_has_no_numbers() -> None:
    class Lists(Packs):
        def forward(self, x: Tensor, lengths: Tensor) -> Any:
            longest = torch.tensor([[length.max() + 1] for length in lengths]).max()
            return self.fc(x)[:, : int(longest)]

    graph = record(Lists().to("meta"), torch.ones(2, 5, 3), torch.tensor([2, 1]), run="fake")
    metas = [graph.values[value].meta for value in graph.ops[-1].outputs]
    assert [meta and meta.shape for meta in metas] == [(2, 3, 2)]
    assert op_names(graph) == op_names(record(Lists(), torch.ones(2, 5, 3), torch.tensor([2, 1])))


def test_integers_that_a_weight_made_are_not_known() -> None:
    class Counts(Packs):
        def forward(self, x: Tensor, lengths: Tensor) -> Any:
            lengths[0] = self.fc(x).sum().long()
            return super().forward(x, lengths)

    with pytest.raises(ForwardError, match="DynamicOutputShapeException"):
        record(Counts(), torch.ones(2, 5, 3), torch.tensor([2, 1]), run="fake")


def test_a_model_on_meta_is_recorded_under_fake_tensors() -> None:
    with torch.device("meta"):
        net = nn.Sequential(nn.Embedding(9, 8), nn.LSTM(8, 8))
    graph = record(net, torch.ones(2, 3, dtype=torch.long))
    assert (graph.info.executed, graph.info.notes) == ("fake", ())
    assert {v.meta.device for v in graph.values if v.meta} == {"cpu"}
    assert net[0].weight.is_meta


def test_a_large_model_is_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "largest", lambda: 10)
    graph = record(nn.Linear(3, 3), X)
    assert (graph.info.executed, graph.info.notes) == ("fake", ())


def test_what_needs_numbers_is_computed_after_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "largest", lambda: 10)
    graph = record(Net(lambda self, x: self.fc(x) if x.sum() > 0 else x, fc=nn.Linear(3, 3)), X)
    assert graph.info.executed == "real"
    assert op_names(graph) == ["sum", "gt", "linear"]
    note, branch = graph.info.notes
    assert branch.startswith("one branch of `")
    assert note.startswith(
        "the forward ran on real tensors, because on fake tensors it failed: DataDependentOutputException"
    )


def test_what_the_machine_cannot_compute_is_followed_by_shape() -> None:
    def body(self: Any, x: Tensor) -> Any:
        return x @ torch.empty(3, 10**15)

    graph = record(Net(body), X)
    assert graph.info.executed == "fake"
    assert graph.values[graph.outputs[""][0]].meta.shape == (2, 10**15)  # type: ignore[union-attr]
    (note,) = graph.info.notes
    assert "because on real tensors it failed" in note
    assert "allocate memory" in note


def test_a_model_that_raises_is_not_drawn_as_if_it_did_not() -> None:
    def body(self: Any, x: Tensor) -> Any:
        if type(x) is Tensor:
            raise ValueError("only for real")
        return x

    with pytest.raises(ForwardError, match="only for real"):
        record(Net(body), X)


@pytest.mark.parametrize("way", ["fake", "meta"])
def test_the_way_that_was_asked_for_is_the_only_one(way: Any) -> None:
    with pytest.raises(ForwardError):
        record(Net(lambda self, x: x if x.sum() > 0 else -x), X, run=way)


@pytest.mark.parametrize("way", ["fake", "meta"])
def test_without_numbers_a_graph_is_deterministic(way: Any) -> None:
    texts = {to_json(record(nn.LSTM(3, 4), torch.ones(5, 1, 3), run=way)) for _ in range(2)}
    assert len(texts) == 1


class Energy(nn.Module):
    """Needs autograd to run at all."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 1)

    def forward(self, x: Tensor) -> Any:
        x = x.detach().requires_grad_()
        return torch.autograd.grad(self.fc(x).sum(), x)[0]


def test_the_worker_uses_autograd_only_if_it_must() -> None:
    from torchrecorder.request import RecordingRequest
    from torchrecorder.worker.job import record as record_request

    graph = record_request(RecordingRequest(f"{__name__}:Energy", "2,3"))
    assert "linear" in op_names(graph)
    assert graph.outputs
    with torch.no_grad(), pytest.raises(ForwardError):
        record(Energy(), X)


def wants_bfloat16(self: Any, x: Tensor) -> Any:
    """As torch's grouped products of matrices do where they have no numbers."""
    if x.dtype is not torch.bfloat16 or torch.zeros(1).dtype is not torch.bfloat16:
        raise RuntimeError(f"Expected inputs of BF16 type but got mat_a.dtype={x.dtype}")
    return self.fc(x) + torch.zeros(3)


@pytest.mark.parametrize("device", ["meta", "cpu"])
def test_kernels_that_want_bfloat16_get_it(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "largest", lambda: 10)
    net = Net(wants_bfloat16, fc=nn.Linear(3, 3, device=device), scale=torch.ones(3, dtype=torch.float64))
    graph = record(net, X)
    assert graph.info.executed == "bfloat16"
    (note,) = graph.info.notes
    assert note.startswith("the forward ran on fake tensors of bfloat16, because on fake tensors it failed: RuntimeErr")
    assert {value.meta.dtype for value in graph.values if value.meta} == {"bfloat16"}
    assert op_names(graph) == ["zeros", "linear", "zeros", "add"]
    assert from_json(to_json(graph)) == graph
    assert (net.fc.weight.dtype, torch.get_default_dtype()) == (torch.float32, torch.float32)
    assert net.fc.weight.device.type == device


def test_bfloat16_is_not_tried_for_other_reasons() -> None:
    net = Net(lambda self, x: self.fc(x).reshape(7), fc=nn.Linear(3, 3, device="meta"))
    with pytest.raises(ForwardError, match="shape") as caught:
        record(net, X)
    assert caught.value.graph.info.executed == "fake"


def test_the_advice_is_possible(monkeypatch: pytest.MonkeyPatch) -> None:
    def advice(net: nn.Module, x: Tensor = X, **options: Any) -> str:
        with pytest.raises(ForwardError) as caught:
            record(net, x, **options)
        return caught.value.advice

    def refuses(self: Any, x: Tensor) -> Any:
        return self.fc(x).reshape(7)

    assert advice(Net(refuses, fc=nn.Linear(3, 3)), run="fake").endswith("`run: real` computes it")
    without = (
        "it can only be followed by shapes, since its tensors hold no numbers; one that is built with them is computed"
    )
    assert advice(Net(refuses, fc=nn.Linear(3, 3, device="meta"))) == without
    assert advice(Net(refuses, fc=nn.Linear(3, 3)), X.to("meta")) == without
    with FakeTensorMode():
        fake = Net(refuses, fc=nn.Linear(3, 3))
    assert advice(fake) == without
    monkeypatch.setattr(run, "largest", lambda: 10)
    assert advice(Net(refuses, fc=nn.Linear(3, 3))).startswith("computed on real tensors, it failed too: RuntimeError")


def test_inside_a_fake_tensor_mode_of_the_user() -> None:
    outer = resnet()
    given = torch.ones(2, 3, 4, 4)
    expected = op_names(record(outer, given))
    with FakeTensorMode() as mode:
        inner, x = resnet(), torch.ones(2, 3, 4, 4)
        graphs = [record(inner, x), record(outer, x)]
        assert record(inner, x, mode="train").info.executed == "fake"
        assert record(outer, given).info.executed == "real"
        assert torch.ones(2).fake_mode is mode  # type: ignore[attr-defined]
    graphs.append(record(inner, x))
    for graph in graphs:
        assert (graph.info.executed, graph.info.notes) == ("fake", ())
        assert op_names(graph) == expected
        assert graph.values[graph.outputs[""][0]].meta.shape == (2, 2)  # type: ignore[union-attr]
    assert all(parameter.fake_mode is mode for parameter in inner.parameters())  # type: ignore[attr-defined]
    assert all(type(parameter) is nn.Parameter for parameter in outer.parameters())


def test_fake_tensors_of_sizes_that_may_vary() -> None:
    given = torch.ones(5, 3)
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        x = mode.from_tensor(given)
        graph = record(nn.Linear(3, 4), x)
        assert str(x.shape[0]).startswith("s")  # it may still vary
    assert graph.values[graph.inputs["input"]].meta.shape == (5, 3)  # type: ignore[union-attr]
    assert from_json(to_json(graph)) == graph
