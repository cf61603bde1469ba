"""The models of the gallery that a target cannot write with literals: most are made from a configuration.

Weights are random. What has billions of parameters is built on the meta device, where a tensor has no numbers.
"""

from __future__ import annotations

from typing import Any

import torch
import transformers as hf
from torch import nn


def bert() -> nn.Module:
    """BERT base: the defaults of its configuration."""
    return hf.BertModel(hf.BertConfig())


def gpt2() -> nn.Module:
    """GPT-2 of 124 million parameters."""
    return hf.GPT2LMHeadModel(hf.GPT2Config())


def t5() -> nn.Module:
    """T5 small."""
    return hf.T5ForConditionalGeneration(hf.T5Config())


def llama_70b() -> nn.Module:
    """Llama 2 with 70 billion parameters, from nothing but its configuration."""
    config = hf.LlamaConfig(
        hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8
    )
    with torch.device("meta"):
        return hf.LlamaForCausalLM(config)


def mixtral() -> nn.Module:
    """Mixtral 8x7B."""
    with torch.device("meta"):
        return hf.MixtralForCausalLM(hf.MixtralConfig())


def qwen3_moe() -> nn.Module:
    """Qwen3 with 128 experts, of which 8 are chosen."""
    with torch.device("meta"):
        return hf.Qwen3MoeForCausalLM(hf.Qwen3MoeConfig())


def mamba() -> nn.Module:
    """Mamba of 130 million parameters."""
    return hf.MambaForCausalLM(hf.MambaConfig(num_hidden_layers=24))


def mamba2() -> nn.Module:
    """Mamba 2 with 24 layers."""
    return hf.Mamba2ForCausalLM(
        hf.Mamba2Config(hidden_size=768, num_hidden_layers=24, num_heads=24, head_dim=64, n_groups=1)
    )


def clip() -> nn.Module:
    """CLIP with ViT-B/32."""
    return hf.CLIPModel(hf.CLIPConfig())


def llava() -> nn.Module:
    """LLaVA, narrow: it compares numbers of its input and so has to be computed."""
    vision: Any = hf.CLIPVisionConfig(
        hidden_size=384, intermediate_size=1536, num_hidden_layers=12, num_attention_heads=6, patch_size=16
    )
    text = hf.LlamaConfig(
        vocab_size=32064, hidden_size=512, intermediate_size=1376, num_hidden_layers=8, num_attention_heads=8
    )
    config = hf.LlavaConfig(vision_config=vision, text_config=text, image_token_index=32000, image_seq_length=196)
    return hf.LlavaForConditionalGeneration(config)


def question_about_an_image() -> dict[str, torch.Tensor]:
    """What LLaVA reads: an image in the place of 196 tokens, and 15 words."""
    words = torch.cat((torch.full((1, 196), 32000), torch.randint(3, 32000, (1, 15))), 1)
    return {"input_ids": words, "pixel_values": torch.randn(1, 3, 224, 224)}


def whisper() -> nn.Module:
    """Whisper base."""
    config = hf.WhisperConfig(
        encoder_layers=6, decoder_layers=6, d_model=512, encoder_attention_heads=8, decoder_attention_heads=8,
        encoder_ffn_dim=2048, decoder_ffn_dim=2048,
    )  # fmt: skip
    return hf.WhisperModel(config)


def wav2vec2() -> nn.Module:
    """wav2vec 2.0 base."""
    return hf.Wav2Vec2Model(hf.Wav2Vec2Config())


def hifigan() -> nn.Module:
    """The generator of HiFi-GAN as SpeechT5 has it."""
    return hf.SpeechT5HifiGan(hf.SpeechT5HifiGanConfig())


def detr() -> nn.Module:
    """DETR with ResNet-50."""
    backbone = hf.ResNetConfig(out_features=["stage4"])
    config = hf.DetrConfig(
        use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, backbone_config=backbone
    )
    return hf.DetrForObjectDetection(config)


def rt_detr() -> nn.Module:
    """RT-DETR with its own ResNet-50."""
    return hf.RTDetrForObjectDetection(hf.RTDetrConfig())


def yolos() -> nn.Module:
    """YOLOS: a vision transformer whose tokens are boxes."""
    config = hf.YolosConfig(hidden_size=384, num_attention_heads=6, intermediate_size=1536)
    return hf.YolosForObjectDetection(config)


def segformer() -> nn.Module:
    """SegFormer B0."""
    return hf.SegformerForSemanticSegmentation(hf.SegformerConfig(num_labels=150))


def flux() -> nn.Module:
    """FLUX.1, the transformer of 12 billion parameters."""
    import diffusers

    with torch.device("meta"):
        found: nn.Module = diffusers.FluxTransformer2DModel(guidance_embeds=True)
    return found


def time_series() -> nn.Module:
    """PatchTST: patches of seven series, and what comes next."""
    return hf.PatchTSTForPrediction(
        hf.PatchTSTConfig(num_input_channels=7, context_length=512, patch_length=16, patch_stride=16)
    )


def rotary_decoder() -> nn.Module:
    """A decoder of x-transformers with rotary positions."""
    from x_transformers import Decoder, TransformerWrapper

    layers = Decoder(dim=512, depth=12, heads=8, rotary_pos_emb=True)
    found: nn.Module = TransformerWrapper(num_tokens=20000, max_seq_len=1024, attn_layers=layers)
    return found
