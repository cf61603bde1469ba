"""What torchview gets wrong, and ours is to get right."""

from __future__ import annotations

import copy
import dataclasses
import threading
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import torchrecorder
from torchrecorder.torchview import RecorderTensor, draw_graph


class Doing(nn.Module):
    """A net with a linear layer whose forward is given."""

    def __init__(self, forward: Any) -> None:
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.does = forward

    def forward(self, x: Tensor) -> Any:
        return self.does(self, x)


def draw(forward: Any, **options: Any) -> str:
    source: str = draw_graph(Doing(forward), input_size=(1, 2), device="cpu", **options).visual_graph.source
    return source


@dataclasses.dataclass
class Output:
    value: Tensor


def test_outputs_in_dataclasses_and_namespaces() -> None:
    from types import SimpleNamespace

    for wrap in (Output, lambda x: SimpleNamespace(value=x), lambda x: {"deep": [Output(x)]}):
        source = draw(lambda net, x, wrap=wrap: wrap(net.linear(x)))
        assert source.count(" -> ") == 2
        assert "output-tensor" in source


def test_inputs_in_dataclasses_and_namespaces() -> None:
    from types import SimpleNamespace

    for wrap in (Output, lambda x: SimpleNamespace(value=x)):
        net = Doing(lambda net, given: net.linear(given.value))
        source = draw_graph(net, input_data=[wrap(torch.ones(1, 2))], device="cpu").visual_graph.source
        assert source.count(" -> ") == 2


def test_a_generator_output_stays_whole() -> None:
    kept: list[Iterator[Tensor]] = []

    def forward(net: Doing, x: Tensor) -> Iterator[Tensor]:
        kept.append(net.linear(row) for row in x)
        return kept[-1]

    draw(forward)
    assert len(list(kept[0])) == 1


def test_deep_copies() -> None:
    source = draw(lambda net, x: net.linear(copy.deepcopy(x)))
    assert "__deepcopy__" in source
    assert source.count(" -> ") == 3


def test_models_that_ask_for_the_class_of_their_input() -> None:
    def forward(net: Doing, x: Tensor) -> Tensor:
        assert type(x) == Tensor and Tensor == type(x)  # noqa: E721, PT018
        assert type(x) in (Tensor, nn.Parameter)
        assert type(x) != nn.Parameter  # noqa: E721
        result: Tensor = net.linear(x)
        return result

    assert "output-tensor" in draw(forward)


def test_a_plain_tensor_may_come_first() -> None:
    # torch asks each class once, by a set of those it has asked.
    plain = torch.ones(2, 2)
    source = draw(lambda net, x: torch.einsum("ij,jk->ik", plain, net.linear(x).T))
    assert "einsum" in source
    assert "output-tensor" in source


def test_numbers_can_be_formatted() -> None:
    texts: list[str] = []

    def forward(net: Doing, x: Tensor) -> Tensor:
        texts.append(f"{x.new_ones(()):.2f}")
        result: Tensor = net.linear(x)
        return result

    draw(forward)
    assert texts == ["1.00"]


def test_rolling_modules_that_return_nothing() -> None:
    class Silent(nn.Module):
        def forward(self, x: Tensor) -> None:
            self.seen = x + 1

    silent = Silent()

    def forward(net: Doing, x: Tensor) -> Tensor:
        silent(x)
        result: Tensor = net.linear(x)
        return result

    assert "Silent" in draw(forward, roll=True)


def test_a_tensor_that_leaves_a_module_as_an_attribute() -> None:
    class Keeper(nn.Module):
        kept: Tensor

        def forward(self, x: Tensor) -> None:
            self.kept = x + 1

    keeper = Keeper()

    def forward(net: Doing, x: Tensor) -> Tensor:
        keeper(x)
        result: Tensor = net.linear(keeper.kept)
        return result

    assert "Keeper" in draw(forward)


def test_forwards_that_ask_for_gradients() -> None:
    def forward(net: Doing, x: Tensor) -> Tensor:
        x.requires_grad_()
        (gradient,) = torch.autograd.grad(net.linear(x).sum(), x)
        return gradient

    assert "grad<BR/>" in draw(forward)


def test_a_caught_exception_leaves_no_nodes_behind() -> None:
    class Broken(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise ValueError(f"no {x.dim()}")

    broken = Broken()

    def forward(net: Doing, x: Tensor) -> Tensor:
        height = len(x.tensor_nodes)  # type: ignore[attr-defined]
        with pytest.raises(ValueError, match="no 2"):
            broken(x)
        assert len(x.tensor_nodes) == height  # type: ignore[attr-defined]
        result: Tensor = net.linear(x)
        return result

    assert "output-tensor" in draw(forward)


def test_the_error_says_what_happened() -> None:
    with pytest.raises(
        RuntimeError, match=r"^Failed to run torchgraph see error message: .*cannot be multiplied"
    ) as caught:
        draw_graph(nn.Linear(3, 3), input_size=(1, 2))
    assert isinstance(caught.value.__cause__, RuntimeError)
    with pytest.raises(RuntimeError, match="Specified model mode not recognized: fast"):
        draw_graph(nn.Linear(3, 3), input_size=(1, 3), mode="fast")


class TakesOne(nn.Module):
    """Its one argument holds the images."""

    def __init__(self, kind: type[Any]) -> None:
        super().__init__()
        self.kind = kind
        self.linear = nn.Linear(2, 2)

    def forward(self, images: Any) -> Any:
        assert type(images) is self.kind, "wrong argument"
        return self.linear(next(iter(images.values() if self.kind is dict else images)))


@pytest.mark.parametrize("data", [[torch.ones(1, 2)], [torch.ones(1, 2)] * 2, {"images": torch.ones(1, 2)}, (3,)])
def test_arguments_that_are_containers_themselves(data: Any) -> None:
    kind = type(data)
    with pytest.raises(
        RuntimeError,
        match=rf"If it takes the {kind.__name__} itself, write draw_graph\(model, input_data=\[input_data\]\)",
    ):
        draw_graph(TakesOne(kind), input_data=data, device="cpu")
    if isinstance(data[0] if kind is not dict else data["images"], Tensor):
        source = draw_graph(TakesOne(kind), input_data=[data], device="cpu").visual_graph.source
        assert source.count("Linear") == 1


@pytest.mark.parametrize("inputs", [{"input_data": torch.ones(1, 3)}, {"input_size": (1, 3)}])
def test_what_is_not_a_container_is_not_spoken_of(inputs: dict[str, Any]) -> None:
    with pytest.raises(RuntimeError, match="cannot be multiplied") as caught:
        draw_graph(nn.Linear(2, 2), **inputs, device="cpu")
    assert "itself" not in str(caught.value)


def test_inputs_and_models_of_other_types() -> None:
    with pytest.raises(RuntimeError, match=r"Unknown input type int: write draw_graph\(model, input_data=\[\.\.\.\]\)"):
        draw_graph(nn.Linear(2, 2), input_data=3)  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"is not a module; write draw_graph\(ReLU\(\), \.\.\.\)"):
        draw_graph(nn.ReLU, input_size=(1, 2))  # type: ignore[arg-type]
    with pytest.raises(AttributeError, match=r"is not a module; write draw_graph\(net, \.\.\.\)"):
        draw_graph(torch.relu, input_size=(1, 2))  # type: ignore[arg-type]


def scripted(frozen: bool = False) -> Any:
    net = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2)).eval()
    made: Any = torch.jit.script(net)
    return torch.jit.freeze(made) if frozen else made


@pytest.mark.filterwarnings("ignore:`torch.jit.(script|freeze)` is deprecated")
@pytest.mark.filterwarnings("ignore:Currently, traced modules are not fully supported")
@pytest.mark.parametrize("wrap", [lambda net: net, nn.Sequential], ids=["model", "child"])
@pytest.mark.parametrize(("frozen", "device"), [(False, "cpu"), (False, "meta"), (True, "cpu")])
def test_a_script_module_is_one_node(wrap: Any, frozen: bool, device: str) -> None:
    inside = scripted(frozen)
    source = draw_graph(wrap(inside), input_size=(3, 2), device=device).visual_graph.source
    assert source.count(" -> ") == 2
    assert ("RecursiveScriptModule" if frozen else "forward<BR/>") in source
    assert {value.device.type for value in inside.state_dict().values()} <= {"cpu"}


def net_in_two_modes() -> nn.Module:
    net = nn.Sequential(nn.BatchNorm1d(2), nn.Dropout(), nn.Linear(2, 2))
    net.train()
    net[1].eval()
    return net


@pytest.mark.parametrize("size", [(4, 2), (4, 3)], ids=["runs", "fails"])
@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("device", ["cpu", "meta"])
def test_the_model_stays_as_it_was(size: tuple[int, int], mode: str, device: str) -> None:
    net = net_in_two_modes()
    modes = [module.training for module in net.modules()]
    state = {name: value.clone() for name, value in net.state_dict().items()}
    ids = [id(parameter) for parameter in net.parameters()]
    numbers = torch.get_rng_state()
    try:
        draw_graph(net, input_size=size, mode=mode, device=device)
    except RuntimeError:
        assert size == (4, 3)
    assert [module.training for module in net.modules()] == modes
    assert [id(parameter) for parameter in net.parameters()] == ids
    assert torch.equal(torch.get_rng_state(), numbers)
    assert all(torch.equal(state[name], value) for name, value in net.state_dict().items())


def test_patches_are_taken_off_and_others_left_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def zeros(*size: int) -> Tensor:
        return torch.full(size, 0.0)

    def call(self: nn.Module, *args: Any, **kwargs: Any) -> Any:
        return original(self, *args, **kwargs)

    original = nn.Module.__call__
    monkeypatch.setattr(torch, "zeros", zeros)
    monkeypatch.setattr(nn.Module, "__call__", call)
    draw_graph(nn.Linear(2, 2), input_size=(1, 2))
    with pytest.raises(RuntimeError, match="Failed to run torchgraph"):
        draw_graph(nn.Linear(3, 3), input_size=(1, 2))
    assert torch.zeros is zeros
    assert nn.Module.__call__ is call


def test_threads_do_not_disturb_one_another() -> None:
    nets = [nn.Sequential(*[nn.Linear(2, 2) for _ in range(n)]) for n in (2, 5, 9, 14)]
    alone = [draw_graph(net, input_size=(1, 2)).visual_graph.source for net in nets]
    together: dict[int, str] = {}
    found = nn.Module.__call__, torch.zeros

    def work(i: int) -> None:
        together[i] = draw_graph(nets[i], input_size=(1, 2)).visual_graph.source

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [together[i] for i in range(4)] == alone
    assert (nn.Module.__call__, torch.zeros) == found


def test_what_other_threads_create_is_not_recorded() -> None:
    made: list[Tensor] = []

    def forward(net: Doing, x: Tensor) -> Tensor:
        thread = threading.Thread(target=lambda: made.append(torch.zeros(2)))
        thread.start()
        thread.join()
        result: Tensor = net.linear(x)
        return result

    draw(forward)
    assert not isinstance(made[0], RecorderTensor)


def test_a_keyword_argument_may_be_called_x() -> None:
    assert (
        "Linear"
        in draw_graph(Doing(lambda net, x: net.linear(x)), input_data={}, x=torch.ones(1, 2)).visual_graph.source
    )


def test_a_recording_inside_a_recording() -> None:
    inner: list[str] = []

    def forward(net: Doing, x: Tensor) -> Tensor:
        inner.append(draw_graph(nn.Tanh(), input_size=(1, 2)).visual_graph.source)
        result: Tensor = net.linear(x)
        return result

    outer = draw(forward)
    assert "Tanh" in inner[0]
    assert "Tanh" not in outer
    assert outer.count(" -> ") == 2


def test_each_deviation_has_its_reason() -> None:
    ports = tomllib.loads((Path(torchrecorder.__file__).parent / "PORTS.toml").read_text(encoding="utf-8"))
    seed = ports["torchview"]
    assert (seed["version"], seed["licence"]) == ("0.2.7", "MIT")
    assert all(deviation["name"] and deviation["reason"] for deviation in seed["deviations"])


def test_a_compiled_child() -> None:
    class Empty(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layers = nn.ModuleList()

        def forward(self, x: Tensor) -> Tensor:
            return torch.cos(x)

    compiled: Any = torch.compile(nn.Linear(2, 2), backend="eager")
    graph = draw_graph(nn.Sequential(compiled, Empty()), input_size=(1, 2), device="cpu")
    assert "Linear" in graph.visual_graph.source
    assert "cos" not in graph.visual_graph.source  # a module whose only child is an empty container has functions only
