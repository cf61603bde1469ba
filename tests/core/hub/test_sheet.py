"""Numbers of the fact sheet, beside those that are published."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from torch import nn

from torchrecorder.hub.sheet import active, components, kind_of, kv_cache_bytes, sheet
from torchrecorder.labels.sheet import LABELS, lines
from torchrecorder.labels.sheet import sheet as in_words

PATHS = {
    "model.layers.0.self_attn.q_proj.weight": "attention",
    "encoder.layer.0.attention.output.dense.weight": "attention",
    "encoder.layer.0.attention.output.LayerNorm.weight": "norm",
    "encoder.layer.0.output.dense.weight": "mlp",
    "encoder.block.0.layer.0.SelfAttention.q.weight": "attention",
    "down_blocks.0.attentions.0.transformer_blocks.0.ff.net.0.proj.weight": "mlp",
    "model.layers.0.mlp.experts.3.w1.weight": "experts",
    "model.layers.0.mlp.experts.gate_up_proj": "experts",
    "model.layers.0.mlp.gate.weight": "mlp",
    "model.embed_tokens.weight": "embedding",
    "backbone.layers.0.mixer.in_proj.weight": "state_space",
    "backbone.layers.0.mixer.conv1d.weight": "convolution",
    "lm_head.weight": "head",
    "logit_scale": "other",
}


@pytest.mark.parametrize("path", PATHS)
def test_a_parameter_is_of_the_kind_that_its_path_names(path: str) -> None:
    assert kind_of(path) == PATHS[path]


def config(**given: object) -> SimpleNamespace:
    return SimpleNamespace(**given)


LLAMA_70B = config(num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8, hidden_size=8192)
CACHES = {
    "Llama 2 70B, 320 KiB": (LLAMA_70B, 327_680),
    "GPT-2, 36 KiB": (config(num_hidden_layers=12, num_attention_heads=12, hidden_size=768), 36_864),
    "DeepSeek-V2, 576 numbers a layer": (
        config(num_hidden_layers=60, num_attention_heads=128, kv_lora_rank=512, qk_rope_head_dim=64),
        60 * 576 * 2,
    ),
    "the decoder of T5-small": (
        config(is_encoder_decoder=True, num_hidden_layers=6, num_decoder_layers=6, num_attention_heads=8, d_kv=64),
        12_288,
    ),
    "4 of 32 layers of Jamba": (
        config(
            num_attention_heads=32,
            num_key_value_heads=8,
            hidden_size=4096,
            layers_block_type=["mamba"] * 28 + ["attention"] * 4,
        ),
        16_384,
    ),
    "linear attention keeps a state": (config(layer_types=["linear_attention"] * 8, num_attention_heads=4), 0),
    "no heads": (config(num_hidden_layers=4), 0),
}


@pytest.mark.parametrize("name", CACHES)
def test_the_cache_of_a_token(name: str) -> None:
    given, expected = CACHES[name]
    assert kv_cache_bytes(given) == expected
    assert kv_cache_bytes(given, 1) == expected // 2


def test_mixtral_has_12_9_billion_active_parameters() -> None:
    of_experts = 32 * 8 * 3 * 4096 * 14336
    assert active(46_702_792_704, of_experts, 8, 2) == 12_879_925_248
    assert active(10, 0, 8, 2) == 10


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed_tokens, self.norm, self.odd = nn.Embedding(5, 4), nn.LayerNorm(4), nn.Linear(4, 2)


def test_all_parameters_are_counted_once() -> None:
    facts = sheet(Small(), {})
    kinds = {name: value for name, value in facts.items() if name.startswith("params.")}
    assert kinds == {"params.embedding": 20, "params.norm": 8, "params.other": 10}
    assert [facts[f"weights.{name}"] for name in ("bf16", "int8", "int4")] == [76, 38, 19]
    assert components({"unet": Small()}) == {"part.unet": 38}


def test_the_text_form_has_a_line_for_each_fact() -> None:
    facts = {"commit": "a" * 40, **sheet(Small(), {}), "kv_cache": 327_680, "vocabulary": 32_000, "part.unet": 38}
    said = lines(in_words(facts))
    assert said[0] == ""
    assert [line.split("  ")[0] for line in said[1:]] == [LABELS[name] for name in LABELS if name in in_words(facts)]
    text = "\n".join(said)
    assert "memory of the weights        bf16 76 B, int8 38 B, int4 19 B" in text
    assert "cache of each token in bf16  320 KiB" in text
    assert lines({"model": "Small"}) == []
