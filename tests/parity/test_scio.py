"""scio's Recorder, as its reference document has it, and mended where it is broken."""

from __future__ import annotations

import copy
import gc
import inspect
import io
import pickle
import re
import sys
import threading
from collections.abc import Callable
from types import MappingProxyType
from typing import Any
from weakref import ref

import pytest
import torch
from torch import Tensor, nn
from torch.nn import Linear, ReLU, Sequential

pytest.importorskip("torchinfo")

from torchrecorder.scio import recorder as activations
from torchrecorder.scio.recorder import DepthIdx, Recorder, get_layer_info_depth_idx, lazy_func

RULE = "=" * 140
TABLE = f"""\
Recorder instance for the following network
{RULE}
Layer (type (var_name):depth-idx)        Input Shape               Output Shape              Param #                   Param %
{RULE}
Sequential (Sequential)                  [1, 5]                    [1, 3]                    --                             --
├─Linear (0): 1-1                        [1, 5]                    [1, 4]                    24                         61.54%
├─ReLU (1): 1-2                          [1, 4]                    [1, 4]                    --                             --
├─Linear (2): 1-3                        [1, 4]                    [1, 3]                    15                         38.46%
├─ReLU (3): 1-4                          [1, 3]                    [1, 3]                    --                             --
{RULE}
Total params: 39
Trainable params: 39
Non-trainable params: 0
Total mult-adds (Units.MEGABYTES): 0.00
{RULE}
Input size (MB): 0.00
Forward/backward pass size (MB): 0.00
Params size (MB): 0.00
Estimated Total Size (MB): 0.00
{RULE}
Currently recording: None
{RULE}"""  # noqa: E501


class Block(nn.Module):
    """Calls one module."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.inner(x)
        return out


class Function(nn.Module):
    """A network with one layer, whose forward is given."""

    def __init__(self, forward: Callable[..., Any]) -> None:
        super().__init__()
        self.layer = Linear(4, 4)
        self.run = forward

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(self, *args, **kwargs)


class Dynamic(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x if x.sum() > 0 else -x


class BySize(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = Linear(4, 4)
        self.end = ReLU()

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(len(x)):
            x = self.layer(x)
        out: Tensor = self.end(x)
        return out


class Again(nn.Module):
    """Calls itself, as often as its input is long."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = Linear(3, 3)

    def forward(self, x: Tensor, depth: int = 1) -> Tensor:
        x = self.layer(x)
        out: Tensor = x if depth == len(x) else self(x, depth + 1) + 1
        return out


def toy() -> Sequential:
    return Sequential(Linear(5, 4), ReLU(), Linear(4, 3), ReLU())


@pytest.fixture
def rnet() -> Recorder:
    return Recorder(toy(), input_size=(1, 5))


def hooks(net: nn.Module) -> list[int]:
    return [len(module._forward_hooks) for module in net.modules()]


def exactly(text: str) -> str:
    return f"^{re.escape(text)}$"


# ---- the document ----------------------------------------------------------------------------------------------------


def test_the_examples_of_the_document() -> None:
    toynet = Sequential(Linear(5, 4), ReLU(), Linear(4, 3), ReLU())
    rnet = Recorder(toynet, input_size=(1, 5))
    assert repr(rnet) == TABLE
    rnet.record((0, 1), (1, 3))
    assert repr(rnet) == TABLE.replace("Currently recording: None", "Currently recording: 0-1, 1-3")
    out = rnet(torch.rand((1, 5)))
    assert repr(rnet.activations).startswith("mappingproxy({(1, 3): tensor([[")
    assert list(rnet.activations) == [(1, 3), (0, 1)]
    assert "AddmmBackward0" in repr(rnet.activations[(1, 3)])
    assert rnet.activations[(0, 1)] is out
    assert rnet.recording == ((0, 1), (1, 3))
    assert rnet.recorded_modules == {(0, 1): toynet, (1, 3): toynet[2]}
    assert list(rnet.recorded_modules) == [(0, 1), (1, 3)]
    assert list(rnet.recorded_params) == ["_net.0.weight", "_net.0.bias", "_net.2.weight", "_net.2.bias"]
    assert rnet.recorded_params["_net.2.bias"] is toynet[2].bias


def test_signatures() -> None:
    def shown(function: Any) -> list[tuple[str, Any, Any]]:
        return [(p.name, p.kind, p.default) for p in inspect.signature(function).parameters.values()]

    kind, empty = inspect.Parameter, inspect.Parameter.empty
    assert shown(Recorder) == [
        ("net", kind.POSITIONAL_ONLY, empty),
        ("force_static_flow", kind.KEYWORD_ONLY, True),
        ("summary_kwargs", kind.VAR_KEYWORD, empty),
    ]
    assert shown(Recorder.forward)[1:] == [
        ("args", kind.VAR_POSITIONAL, empty),
        ("activation_postproc", kind.KEYWORD_ONLY, None),
        ("dont_record", kind.KEYWORD_ONLY, False),
        ("kwargs", kind.VAR_KEYWORD, empty),
    ]
    assert shown(Recorder.record)[1:] == [("depth_idxs", kind.VAR_POSITIONAL, empty)]
    assert shown(get_layer_info_depth_idx) == [("layer_info", kind.POSITIONAL_OR_KEYWORD, empty)]
    assert shown(lazy_func) == [("func_weak", kind.POSITIONAL_OR_KEYWORD, empty)]
    assert str(DepthIdx) == "tuple[int, int]"
    assert set(activations.__all__) >= {"DepthIdx", "Postprocessor", "Recorder"}
    assert issubclass(Recorder, nn.Module)


def test_attributes_of_a_new_recorder(rnet: Recorder) -> None:
    assert rnet.recording == ()
    assert rnet.activations == {}
    assert isinstance(rnet.activations, MappingProxyType)
    assert rnet.recorded_modules == {}
    assert rnet.recorded_params == {}
    assert rnet.net is rnet._net
    assert [len(calls) for calls in rnet.record_seqs.values()] == [1] * 5
    assert rnet.record_seqs[rnet.net] == [((0, 1), False)]
    assert list(rnet.state_dict()) == ["_net.0.weight", "_net.0.bias", "_net.2.weight", "_net.2.bias"]


def test_options_go_to_torchinfo() -> None:
    rnet = Recorder(toy(), input_data=torch.rand(2, 5), col_names=["output_size"])
    assert "Input Shape" not in repr(rnet)
    assert "[2, 3]" in repr(rnet)


# ---- record ----------------------------------------------------------------------------------------------------------


def test_record(rnet: Recorder) -> None:
    rnet.record((1, 3), (0, 1), (1, 3))
    assert rnet.recording == ((0, 1), (1, 3))
    assert rnet.record_seqs[rnet.net] == [((0, 1), True)]
    rnet.record()
    assert len(rnet.recording) == 0


def test_labels_that_are_not_there(rnet: Recorder) -> None:
    rnet.record((1, 1))
    with pytest.raises(ValueError, match=exactly("Following layers not found: {(1, 0)}. Operation cancelled")):
        rnet.record((1, 0), (1, 2))
    hint = "Following layers not found: {1, 3}. Did you mean `rnet.record((1, 3))`? Operation cancelled"
    with pytest.raises(ValueError, match=exactly(hint)):
        rnet.record(1, 3)  # type: ignore[arg-type]
    assert rnet.recording == ((1, 1),)


def test_labels_are_those_of_the_table(rnet: Recorder) -> None:
    rnet.record((1.0, True))  # type: ignore[arg-type]
    assert repr(rnet.recording) == "((1, 1),)"
    assert "Currently recording: 1-1\n" in repr(rnet)


def test_a_module_called_twice_has_two_labels() -> None:
    layer = Linear(4, 4)
    rnet = Recorder(Sequential(layer, ReLU(), layer), input_size=(1, 4))
    rnet.record((1, 1), (1, 3))
    x = torch.rand(1, 4)
    out = rnet(x)
    assert torch.equal(rnet.activations[(1, 1)], layer(x))
    assert rnet.activations[(1, 3)] is out
    assert rnet.recorded_modules == {(1, 1): layer, (1, 3): layer}


# ---- forward ---------------------------------------------------------------------------------------------------------


def test_dont_record_and_postprocessing(rnet: Recorder) -> None:
    rnet.record((1, 1), (1, 3))
    x = torch.rand(2, 5)
    plain = rnet(x)
    before = dict(rnet.activations)
    out = rnet(x, activation_postproc=lambda tensor: tensor + 1)
    assert torch.equal(rnet.activations[(1, 1)], before[(1, 1)])
    assert not torch.equal(out, plain)
    assert torch.equal(rnet(x, activation_postproc=lambda tensor: tensor + 1, dont_record=True), out)
    assert rnet.activations == {}


def test_postprocessors_in_a_list(rnet: Recorder) -> None:
    rnet.record((1, 1), (0, 1), (1, 3))
    seen: list[Any] = []

    def note(name: str) -> Callable[[Tensor], None]:
        return lambda tensor: seen.append((name, [label for label, one in rnet.activations.items() if one is tensor]))

    given = [note("a"), note("b"), note("c"), note("d")]
    rnet(torch.rand(1, 5), activation_postproc=given)
    assert seen == [("a", [(1, 1)]), ("b", [(1, 3)]), ("c", [(0, 1)])]
    assert len(given) == 4


def test_what_postprocessors_do_in_place_is_recorded(rnet: Recorder) -> None:
    rnet.record((1, 1))

    def clear(tensor: Tensor) -> None:
        tensor.detach().zero_()

    rnet(torch.rand(1, 5), activation_postproc=clear)
    assert not rnet.activations[(1, 1)].any()


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_postprocessors(rnet: Recorder, count: int) -> None:
    rnet.record((1, 1), (1, 2))
    text = (
        "There were not enough postprocessing functions for every recorded layers (2). If you wish to use the same "
        "function for every recorded layer, use the signature `rnet(*args, activation_postproc: Postprocessor, "
        "**kwargs). See `help(rnet.forward)` for more information"
    )
    with pytest.raises(ValueError, match=exactly(text)):
        rnet(torch.rand(1, 5), activation_postproc=[lambda tensor: None] * count)
    assert rnet.activations == {}


def test_an_error_leaves_no_activations(rnet: Recorder) -> None:
    rnet.record((1, 1))
    rnet(torch.rand(1, 5))
    with pytest.raises(RuntimeError):
        rnet(torch.rand(1, 6))
    assert rnet.activations == {}
    rnet(torch.rand(1, 5))
    assert list(rnet.activations) == [(1, 1)]


def test_missing_names_the_missing_only() -> None:
    rnet = Recorder(BySize(), input_size=(2, 4), force_static_flow=False)
    rnet.record((0, 1), (1, 1), (1, 2))
    text = (
        "Missing [(1, 2)] activations. This may be due to dynamic control flow, for which functionality is "
        "NOT GUARANTEED!"
    )
    with pytest.raises(RuntimeError, match=exactly(text)):
        rnet(torch.rand(1, 4))
    assert rnet.activations == {}
    rnet(torch.rand(1, 4), dont_record=True)


def test_activations_that_somebody_has_dropped_are_missing(rnet: Recorder) -> None:
    rnet.record((0, 1), (1, 1))

    def drop(tensor: Tensor) -> None:
        rnet._activations = {}

    with pytest.raises(RuntimeError, match=re.escape("Missing [(0, 1), (1, 1)] activations. ")):
        rnet(torch.rand(1, 5), activation_postproc=drop)


def test_more_calls_than_seen() -> None:
    rnet = Recorder(BySize(), input_size=(1, 4), force_static_flow=False)
    rnet.record((0, 1), (1, 1))
    x = torch.rand(3, 4)
    out = rnet(x)
    assert torch.equal(rnet.activations[(1, 1)], rnet.net.layer(x))  # type: ignore[operator]
    assert rnet.activations[(0, 1)] is out


@pytest.mark.parametrize("duplicate", [lambda rnet: rnet, copy.deepcopy, lambda rnet: pickle.loads(pickle.dumps(rnet))])
def test_a_module_that_calls_itself(duplicate: Callable[[Recorder], Recorder]) -> None:
    net, x = Again(), torch.rand(3, 3)
    made = Recorder(net, input_size=(3, 3), force_static_flow=False)
    assert list(made.record_seqs[net]) == [((0, 1), False), ((0, 2), False), ((0, 3), False)]
    made.record((0, 1), (0, 3), (1, 2))
    rnet = duplicate(made)
    assert [len(module._forward_pre_hooks) for module in rnet.net.modules()] == [1, 0]
    out = rnet(x)
    assert list(rnet.activations) == [(1, 2), (0, 3), (0, 1)]
    assert rnet.activations[(0, 1)] is out
    assert torch.equal(rnet.activations[(1, 2)], net.layer(net.layer(x)))
    assert torch.allclose(rnet.activations[(0, 3)], out - 2, atol=1e-6)
    rnet.record((0, 1))
    out = rnet(torch.rand(1, 3))
    assert rnet.activations[(0, 1)] is out
    net = rnet.net  # type: ignore[assignment]
    del rnet, made
    gc.collect()
    assert hooks(net) == [0, 0]
    assert not net._forward_pre_hooks


def test_a_compiled_network_and_a_compiled_recorder(rnet: Recorder) -> None:
    x = torch.rand(2, 5)
    plain = rnet.net(x)
    assert torch.equal(torch.compile(rnet.net, backend="eager", fullgraph=True)(x), plain)
    rnet.record((0, 1), (1, 3))
    compiled = torch.compile(rnet, backend="eager")
    assert torch.equal(compiled(x), plain)
    assert torch.equal(rnet.activations[(0, 1)], plain)
    assert list(rnet.activations) == [(1, 3), (0, 1)]
    out = compiled(x, activation_postproc=[lambda tensor: tensor + 1, lambda tensor: None], dont_record=True)
    assert torch.equal(out, (rnet.net[:3](x) + 1).relu())  # type: ignore[index]
    assert rnet.activations == {}
    torch._dynamo.reset()


def test_gradients_flow(rnet: Recorder) -> None:
    rnet.record((1, 1))
    x = torch.rand(1, 5, requires_grad=True)
    rnet(x).sum().backward()
    mine, x.grad = x.grad, None
    rnet.net(x).sum().backward()
    assert torch.equal(mine, x.grad)  # type: ignore[arg-type]


def test_keyword_arguments_reach_the_network() -> None:
    rnet = Recorder(Function(lambda net, x, *, scale=1: net.layer(x) * scale), input_size=(1, 4))
    x = torch.rand(1, 4)
    assert torch.equal(rnet(x, scale=2), rnet(x=x) * 2)


# ---- what does not interfere -----------------------------------------------------------------------------------------


def test_recorders_of_one_network_do_not_interfere() -> None:
    net, x = toy(), torch.rand(1, 5)
    first, second = Recorder(net, input_size=(1, 5)), Recorder(net, input_size=(1, 5))
    first.record((1, 1))
    second.record((1, 1))
    net(x)
    assert first.activations == second.activations == {}
    first(x)
    assert list(first.activations) == [(1, 1)]
    assert second.activations == {}
    assert hooks(net) == [2] * 5


def test_hooks_go_with_the_recorder() -> None:
    net = toy()
    gc.collect()
    before = len(gc.get_referrers(net))
    rnet = Recorder(net, input_size=(1, 5))
    assert hooks(net) == [1] * 5
    assert len(gc.get_referrers(net)) > before
    del rnet
    gc.collect()
    assert hooks(net) == [0] * 5
    assert len(gc.get_referrers(net)) == before


def test_a_postprocessor_may_run_the_recorder_again(rnet: Recorder) -> None:
    rnet.record((0, 1), (1, 1), (1, 3))
    x, other = torch.rand(1, 5), torch.rand(1, 5)
    expected = [rnet.net[0](other), rnet.net(other)]  # type: ignore[index]
    inside: list[Any] = []

    def again(tensor: Tensor) -> None:
        rnet.net(other)
        rnet(other)
        inside.append(dict(rnet.activations))

    out = rnet(x, activation_postproc=again)
    assert list(rnet.activations) == [(1, 1), (1, 3), (0, 1)]
    assert rnet.activations[(0, 1)] is out
    assert torch.equal(rnet.activations[(1, 1)], rnet.net[0](x))  # type: ignore[index]
    assert len(inside) == 3
    assert all(torch.equal(one[(1, 1)], expected[0]) and torch.equal(one[(0, 1)], expected[1]) for one in inside)


def test_threads(rnet: Recorder) -> None:
    rnet.record((0, 1))
    ready, go = threading.Event(), threading.Event()
    got: list[Any] = []

    def wait(tensor: Tensor) -> None:
        ready.set()
        go.wait(10)
        got.append(rnet.activations[(0, 1)] is tensor)

    thread = threading.Thread(target=lambda: rnet(torch.rand(1, 5), activation_postproc=wait))
    thread.start()
    ready.wait(10)
    out = rnet(torch.rand(1, 5))
    assert rnet.activations[(0, 1)] is out
    go.set()
    thread.join()
    assert got == [True]


# ---- copies ----------------------------------------------------------------------------------------------------------


def saved(rnet: Recorder) -> Any:
    file = io.BytesIO()
    torch.save(rnet, file)
    file.seek(0)
    return torch.load(file, weights_only=False)


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda rnet: pickle.loads(pickle.dumps(rnet)), saved])
def test_copies_record_by_themselves(rnet: Recorder, duplicate: Callable[[Recorder], Recorder]) -> None:
    rnet.record((0, 1), (1, 3))
    x = torch.rand(1, 5)
    out = rnet(x)
    twin = duplicate(rnet)
    assert twin.recording == rnet.recording
    assert twin.activations == {}
    assert repr(twin) == repr(rnet)
    assert hooks(twin.net) == hooks(rnet.net) == [1] * 5
    assert torch.equal(twin(x), out)
    assert list(twin.activations) == [(1, 3), (0, 1)]
    assert rnet.activations[(0, 1)] is out
    twin.record((1, 1))
    assert rnet.recording == ((0, 1), (1, 3))
    twin(x)
    assert list(twin.activations) == [(1, 1)]
    del rnet
    gc.collect()
    twin(x)
    assert twin.recorded_modules == {(1, 1): twin.net[0]}  # type: ignore[index]


def test_a_copy_of_the_network_alone_is_not_recorded(rnet: Recorder) -> None:
    rnet.record((1, 1))
    net = copy.deepcopy(rnet.net)
    net(torch.rand(1, 5))
    assert rnet.activations == {}
    rnet(torch.rand(1, 5))
    assert list(rnet.activations) == [(1, 1)]
    other = Recorder(net, input_size=(1, 5))
    assert hooks(other.net) == [1] * 5


def test_the_network_cannot_be_replaced(rnet: Recorder) -> None:
    net = rnet.net
    with pytest.raises(AttributeError, match=r"^the network of a Recorder cannot be replaced: .*"):
        rnet.net = toy()  # type: ignore[misc]
    with pytest.raises(AttributeError):
        rnet.recording = ()  # type: ignore[misc]
    assert rnet.net is net
    assert list(dict(rnet.named_children())) == ["_net"]


# ---- control flow ----------------------------------------------------------------------------------------------------

NOT_STATIC = (
    "The control flow of the input network is not static (see traceback). Use `Recorder` at your own risk with "
    "`force_static_flow=False`. See `help(Recorder)` for a detailed warning"
)


@pytest.mark.parametrize("net", [Dynamic(), BySize(), Function(lambda net, x: x if x.sum() > 0 else -x)])
def test_dynamic_flow_is_refused(net: nn.Module) -> None:
    with pytest.raises(RuntimeError, match=exactly(NOT_STATIC)):
        Recorder(net, input_size=(1, 4))
    Recorder(net, input_size=(1, 4), force_static_flow=False)


@pytest.mark.parametrize(
    ("forward", "options"),
    [
        (lambda net, *args: net.layer(*args), {"input_size": (1, 4)}),
        (lambda net, x, y: net.layer(x + y), {"input_size": [(1, 4), (1, 4)]}),
        (lambda net, x, y: net.layer(x + y), {"input_data": [torch.rand(1, 4), torch.rand(1, 4)]}),
        (lambda net, **kwargs: net.layer(kwargs["x"]), {"input_data": {"x": torch.rand(1, 4)}}),
        (lambda net, x, flag: net.layer(x) if flag else x, {"input_size": (1, 4), "flag": True}),
    ],
)
def test_any_number_of_arguments_is_not_dynamic(forward: Callable[..., Any], options: dict[str, Any]) -> None:
    rnet = Recorder(Function(forward), **options)
    assert list(rnet.record_seqs) == [rnet.net, rnet.net.layer]


def test_an_example_is_needed() -> None:
    with pytest.raises(ValueError, match=exactly("You must provide `input_data` or `input_size`")):
        Recorder(toy())


def test_torchinfo_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torchinfo", "torchinfo.torchinfo"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(
        ImportError, match=r"needs torchinfo and numpy; python -m pip install 'torchrecorder-docs\[scio\]'"
    ):
        Recorder(toy(), input_size=(1, 5))


# ---- making one ------------------------------------------------------------------------------------------------------


def test_making_a_recorder_disturbs_nothing() -> None:
    net = Sequential(Linear(4, 4), nn.BatchNorm1d(4), nn.Dropout()).train()
    net[1].eval()
    state = {name: value.clone() for name, value in net.state_dict().items()}
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    Recorder(net, input_size=(3, 4), mode="train")
    assert torch.equal(torch.rand(1), expected)
    assert [module.training for module in net.modules()] == [True, True, False, True]
    assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())


def test_the_network_goes_to_the_device_that_is_asked_for() -> None:
    net = Sequential(Linear(4, 4), nn.BatchNorm1d(4))
    Recorder(net, input_size=(3, 4), device="meta")
    assert {tensor.device.type for tensor in (*net.parameters(), *net.buffers())} == {"meta"}


class Skipping(nn.Module):
    """Calls the layers of a list, one of which it has under another name too."""

    def __init__(self) -> None:
        super().__init__()
        self.a = Linear(4, 4)
        self.many = nn.ModuleList([self.a, Linear(4, 4)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in (self.a, *self.many):
            x = layer(x)
        return x


def two_blocks() -> Sequential:
    shared = Linear(4, 4)
    return Sequential(Block(shared), Block(shared), Linear(4, 4))


@pytest.mark.parametrize("make", [two_blocks, Skipping, lambda: Again(), lambda: Sequential(*[Linear(4, 4)] * 2)])
def test_rows_are_torchinfos(make: Callable[[], nn.Module]) -> None:
    net = make()
    size = (3, 3) if isinstance(net, Again) else (1, 4)
    torchinfo = pytest.importorskip("torchinfo")
    columns = ("input_size", "output_size", "num_params", "params_percent")
    options: dict[str, Any] = {"depth": float("inf"), "row_settings": ("var_names", "depth"), "verbose": 0}
    table = torchinfo.summary(net, input_size=size, col_names=columns, **options)
    mine = Recorder(net, input_size=size, force_static_flow=False).summary
    assert str(mine) == str(table)
    assert [vars(row)["executed"] for row in mine.summary_list] == [row.executed for row in table.summary_list]


def test_a_row_without_shapes_shifts_no_label() -> None:
    net = two_blocks()
    rnet = Recorder(net, input_size=(1, 4))
    labels = re.findall(r"(\d-\d) +(\S+)", repr(rnet))
    assert labels == [("1-1", "[1,"), ("1-2", "--"), ("2-1", "[1,"), ("1-3", "[1,"), ("2-2", "[1,"), ("1-4", "[1,")]
    rnet.record((1, 1), (2, 1), (1, 3), (2, 2), (1, 4))
    x = torch.rand(1, 4)
    out = rnet(x)
    once, twice = net[0](x), net[1](net[0](x))
    expected = {(2, 1): once, (1, 1): once, (2, 2): twice, (1, 3): twice, (1, 4): out}
    assert list(rnet.activations) == list(expected)
    assert all(torch.equal(rnet.activations[label], value) for label, value in expected.items())


def test_a_shared_module_in_containers_that_are_not_called() -> None:
    net = Skipping()
    rnet = Recorder(net, input_size=(1, 4))
    labels = rnet.record_seqs[net.a]
    rnet.record((0, 1), *(label for label, _ in labels))
    out = rnet(torch.rand(1, 4))
    assert len(labels) == 2
    assert rnet.activations[(0, 1)] is out


def test_labels_of_a_block_whose_layer_was_called_before() -> None:
    """The example of the guide: scio gives the call of the second block to `(1, 2)`, the row without shapes."""
    layer = Linear(4, 4)
    net, x = Sequential(Sequential(layer), Sequential(layer)), torch.rand(1, 4)
    rnet = Recorder(net, input_size=(1, 4))
    rnet.record((1, 3))
    out = rnet(x)
    assert rnet.activations[(1, 3)] is out
    rnet.record((1, 2))
    with pytest.raises(RuntimeError, match=r"^Missing \[\(1, 2\)\] activations"):
        rnet(x)


@pytest.mark.filterwarnings("ignore:`torch.jit.script`:DeprecationWarning")
def test_a_scripted_child_is_recorded() -> None:
    net = Sequential(Linear(4, 4), torch.jit.script(Sequential(Linear(4, 3), ReLU())))
    rnet = Recorder(net, input_size=(1, 4))
    (label, _), *_ = rnet.record_seqs[net[1]]
    rnet.record((0, 1), label)
    out = rnet(torch.rand(2, 4))
    assert rnet.activations[label] is out
    assert rnet.activations[(0, 1)] is out


# ---- small functions -------------------------------------------------------------------------------------------------


def test_lazy_func() -> None:
    def func(number: int = 0) -> int:
        return number

    lazy = lazy_func(ref(func))
    assert (lazy(), lazy(number=2)) == (0, 2)
    del func
    gc.collect()
    assert lazy() is None


def test_get_layer_info_depth_idx(rnet: Recorder) -> None:
    row = rnet.summary.summary_list[0]
    assert get_layer_info_depth_idx(row) == (0, 1)
    row.depth_index = None
    with pytest.raises(ValueError, match=exactly(f"Unexpected `None` depth_index for {row}")):
        get_layer_info_depth_idx(row)
