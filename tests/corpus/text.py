"""Models of transformers."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import nn

from tests.corpus.entry import Entry, given, numbers, ones, words

_SMALL = {
    "vocab_size": 99,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 37,
}
_LLAMA = {**_SMALL, "num_key_value_heads": 2, "max_position_embeddings": 64}
_PICTURE = {**_SMALL, "image_size": 32, "patch_size": 8}
_MASKED = given(input_ids=words(), attention_mask=ones(1, 12, dtype=torch.long))
_IDS = given(input_ids=words())
_IMAGE = given(pixel_values=numbers(1, 3, 32, 32))
_LARGE_IMAGE = given(pixel_values=numbers(1, 3, 64, 64))
_MODULES = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}


def model(cls: str, config: str, **options: Any) -> Any:
    def build() -> nn.Module:
        transformers = importlib.import_module("transformers")
        found: nn.Module = getattr(transformers, cls)(getattr(transformers, config)(**options))
        return found

    return build


def _clip() -> nn.Module:
    transformers: Any = importlib.import_module("transformers")
    text = {**_SMALL, "max_position_embeddings": 32}
    config = transformers.CLIPConfig(text_config=text, vision_config=_PICTURE, projection_dim=16)
    found: nn.Module = transformers.CLIPModel(config)
    return found


def _detr() -> nn.Module:
    transformers: Any = importlib.import_module("transformers")
    backbone = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 16, 16], depths=[1, 1, 1, 1], out_features=["stage4"]
    )
    config = transformers.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone,
        d_model=32, num_queries=5, encoder_layers=1, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=37, decoder_ffn_dim=37,
    )  # fmt: skip
    found: nn.Module = transformers.DetrForObjectDetection(config)
    return found


_HALVES = {
    **dict.fromkeys(("encoder_layers", "decoder_layers"), 2),
    **dict.fromkeys(("encoder_attention_heads", "decoder_attention_heads"), 4),
    **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 37),
}
_T5 = {"vocab_size": 99, "d_model": 32, "d_kv": 8, "d_ff": 37, "num_layers": 2, "num_heads": 4}
_WHISPER = {"num_mel_bins": 16, "max_source_positions": 30, "max_target_positions": 30}
_ALBERT = {**_SMALL, "embedding_size": 16, "inner_group_num": 1, "num_hidden_groups": 1, "num_hidden_layers": 4}
_GPT2 = {"vocab_size": 99, "n_positions": 64, "n_embd": 32, "n_layer": 2, "n_head": 4}
_MIXTRAL = {**_LLAMA, "intermediate_size": 64, "num_local_experts": 4, "num_experts_per_tok": 2}
_MAMBA = {"vocab_size": 99, "hidden_size": 32, "num_hidden_layers": 2, "state_size": 8}
_HUBERT = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 37,
    "conv_dim": (16, 16, 16), "conv_stride": (5, 2, 2), "conv_kernel": (10, 3, 3), "num_feat_extract_layers": 3,
    "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 2,
}  # fmt: skip
_SEGFORMER = {
    "hidden_sizes": [8, 8, 16, 16], "depths": [1, 1, 1, 1], "num_attention_heads": [1, 1, 2, 2],
    "decoder_hidden_size": 16,
}  # fmt: skip
_MAE = {
    **_PICTURE, "decoder_hidden_size": 16, "decoder_num_hidden_layers": 1, "decoder_num_attention_heads": 2,
    "decoder_intermediate_size": 20,
}  # fmt: skip
_SERIES = {
    "prediction_length": 4, "context_length": 8, "lags_sequence": [1, 2], "num_time_features": 1, "d_model": 16,
    "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
    "encoder_ffn_dim": 16, "decoder_ffn_dim": 16,
}  # fmt: skip
_PERCEIVER = {
    "num_latents": 8, "d_latents": 16, "d_model": 16, "num_blocks": 2, "num_self_attends_per_block": 2,
    "num_self_attention_heads": 2, "num_cross_attention_heads": 2,
}  # fmt: skip
_PAST = given(
    past_values=numbers(1, 10), past_time_features=numbers(1, 10, 1), past_observed_mask=ones(1, 10),
    future_values=numbers(1, 4), future_time_features=numbers(1, 4, 1),
)  # fmt: skip
_HEARD = given(input_features=numbers(1, 16, 60), decoder_input_ids=words(1, 5))
_TRANSLATED = given(input_ids=words(), decoder_input_ids=words(1, 6))

ENTRIES = [
    Entry("hf_bert", model("BertModel", "BertConfig", **_SMALL), _MASKED),
    Entry("hf_albert", model("AlbertModel", "AlbertConfig", **_ALBERT), _MASKED),
    Entry("hf_gpt2", model("GPT2LMHeadModel", "GPT2Config", **_GPT2), _IDS),
    Entry("hf_llama", model("LlamaForCausalLM", "LlamaConfig", **_LLAMA), _MASKED),
    Entry("hf_gemma3", model("Gemma3ForCausalLM", "Gemma3TextConfig", **_LLAMA, head_dim=8), _IDS),
    Entry("hf_mixtral", model("MixtralForCausalLM", "MixtralConfig", **_MIXTRAL), _IDS, same_inputs=True),
    Entry("hf_mamba", model("MambaForCausalLM", "MambaConfig", **_MAMBA), _IDS),
    Entry(
        "hf_t5",
        model("T5ForConditionalGeneration", "T5Config", **_T5, decoder_start_token_id=0),
        _TRANSLATED,
    ),
    Entry(
        "hf_whisper",
        model("WhisperModel", "WhisperConfig", vocab_size=99, d_model=32, **_HALVES, **_WHISPER, **_MODULES),
        _HEARD,
    ),
    Entry("hf_hubert", model("HubertModel", "HubertConfig", **_HUBERT), given(input_values=numbers(1, 1600))),
    Entry("hf_vit", model("ViTForImageClassification", "ViTConfig", **_PICTURE), _IMAGE),
    Entry(
        "hf_convnext",
        model("ConvNextForImageClassification", "ConvNextConfig", hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 2, 1]),
        _IMAGE,
    ),
    Entry(
        "hf_segformer", model("SegformerForSemanticSegmentation", "SegformerConfig", **_SEGFORMER), _LARGE_IMAGE
    ),
    Entry("hf_mae", model("ViTMAEForPreTraining", "ViTMAEConfig", **_MAE), _IMAGE, same_inputs=True),
    Entry("hf_clip", _clip, given(input_ids=words(), pixel_values=numbers(1, 3, 32, 32))),
    Entry("hf_detr", _detr, _LARGE_IMAGE),
    Entry("hf_timeseries", model("TimeSeriesTransformerModel", "TimeSeriesTransformerConfig", **_SERIES), _PAST),
    Entry("hf_perceiver", model("PerceiverModel", "PerceiverConfig", **_PERCEIVER), given(inputs=numbers(1, 6, 16))),
]  # fmt: skip
