"""Models as people write them: every layer call that plain hooks see is in the Graph, and every tensor has a source."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from torchrecorder.graph import to_json
from torchrecorder.graph.codec import problems
from torchrecorder.graph.memory import activation_memory
from torchrecorder.recording.run import capture

Made = tuple[nn.Module, tuple[Any, ...], Mapping[str, Any]]


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(width)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Any:
        return self.act(self.norm(self.conv(x)) + x)


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.middle = Residual(8)
        self.up = nn.ConvTranspose2d(8, 8, 2, 2)
        self.out = nn.Conv2d(16, 1, 1)

    def forward(self, x: Tensor) -> Any:
        skip = self.down(x)
        return self.out(torch.cat([skip, self.up(self.middle(self.pool(skip)))], 1))


def resnet() -> Made:
    stem = (nn.Conv2d(3, 8, 7, 2, 3), nn.BatchNorm2d(8), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
    head = (nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 10))
    return nn.Sequential(*stem, Residual(8), Residual(8), *head), (torch.ones(2, 3, 32, 32),), {}


def unet() -> Made:
    return UNet(), (torch.ones(1, 3, 16, 16),), {}


def encoder() -> Made:
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    return nn.TransformerEncoder(layer, 2, enable_nested_tensor=False), (torch.ones(2, 5, 8),), {}


def transformer() -> Made:
    return nn.Transformer(16, 2, 1, 1, 32, batch_first=True), (torch.ones(1, 5, 16), torch.ones(1, 4, 16)), {}


def recurrent() -> Made:
    return nn.LSTM(4, 8, 2, bidirectional=True), (torch.ones(3, 2, 4),), {}


SMALL = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37}


def bert() -> Made:
    transformers = _transformers()
    ids = torch.arange(3, 15)[None]
    model = transformers.BertModel(transformers.BertConfig(**SMALL))
    return model, (), {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def llama() -> Made:
    transformers = _transformers()
    config = transformers.LlamaConfig(**SMALL, num_key_value_heads=2, max_position_embeddings=64)
    return transformers.LlamaForCausalLM(config), (), {"input_ids": torch.arange(3, 15)[None]}


def _transformers() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("transformers")


MODELS: list[Callable[[], Made]] = [resnet, unet, encoder, transformer, recurrent]

every_model = pytest.mark.parametrize(
    "make",
    [*MODELS, *(pytest.param(make, marks=pytest.mark.transformers) for make in (bert, llama))],
    ids=lambda make: make.__name__,
)


def leaf_calls(model: nn.Module, args: Any, kwargs: Any) -> list[str]:
    """The calls of layers without layers inside, as plain hooks see them; they also keep torch off its fused paths."""
    seen: list[str] = []
    for name, module in model.named_modules():
        if not any(True for _ in module.children()):
            module.register_forward_hook(lambda *_, name=name: seen.append(name))
    model(*args, **kwargs)
    return seen


@every_model
@pytest.mark.parametrize("mode", ["eval", "train"])
def test_every_layer_call_is_recorded(make: Callable[[], Made], mode: Any) -> None:
    model, args, kwargs = make()
    with torch.no_grad():
        graph = capture(model, args, kwargs, mode=mode)
        hooked = leaf_calls(model.train(mode == "train"), args, kwargs)
    assert problems(graph) == []
    leaves = set(hooked)
    assert [call.module for call in graph.calls if call.module in leaves] == hooked
    assert [value for value in graph.values if value.kind == "const"] == []
    assert [op for op in graph.ops if op.kind == "kernel"] == []
    # BERT looks whether its mask leaves anything out.
    assert {decision.source.rpartition(":")[0] for decision in graph.decisions} <= {"transformers/masking_utils.py"}
    assert len(graph.info.notes) == len(graph.decisions)
    assert graph.outputs


@every_model
def test_parameters_add_up(make: Callable[[], Made]) -> None:
    model, args, kwargs = make()
    graph = capture(model, args, kwargs)
    assert graph.modules[""].params.total == sum(p.numel() for p in model.parameters())
    assert graph.modules[""].params.total >= sum(module.params.own for module in graph.modules.values())


@pytest.mark.transformers
@pytest.mark.parametrize("way", ["fake", "meta"])
def test_the_operations_of_bert_are_counted_exactly(way: Any) -> None:
    transformers = _transformers()
    with torch.device("meta"):
        model = transformers.BertModel(transformers.BertConfig())
    with torch.no_grad():
        graph = capture(model, (), {"input_ids": torch.ones(1, 128, dtype=torch.long)}, run=way)
    layer = 128 * (4 * 768 * 768 + 2 * 768 * 3072) + 2 * 128 * 128 * 768
    assert sum(op.flops or 0 for op in graph.ops) == 2 * (12 * layer + 768 * 768)


@every_model
def test_memory_is_counted(make: Callable[[], Made]) -> None:
    model, args, kwargs = make()
    with torch.no_grad():
        real, fake = (activation_memory(capture(model, args, kwargs, run=way)) for way in ("real", "fake"))
    assert real.unknown == fake.unknown == ()
    assert abs(real.peak - fake.peak) <= 0.5 * real.peak


@every_model
def test_a_graph_depends_on_the_model_only(make: Callable[[], Made]) -> None:
    texts = []
    for _ in range(2):
        torch.manual_seed(0)
        model, args, kwargs = make()
        texts.append(to_json(capture(model, args, kwargs)))
        torch.ones(99)  # other addresses the second time
    assert texts[0] == texts[1]
    assert str(Path(__file__).parents[3]) not in texts[0]
    assert sys.prefix not in texts[0]
