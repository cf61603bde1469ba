"""Libraries for words: transformers, which has much else, and x_transformers."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from typing import Any

import torch
from torch import nn

from bench.zoo.entry import LARGE, Entry, small_or_meta

_HEADS = ("CAUSAL_LM", "IMAGE_TEXT_TO_TEXT", "SPEECH_SEQ_2_SEQ", "BACKBONE", "IMAGE_CLASSIFICATION", "DEPTH_ESTIMATION")
"""Kinds of models that are looked for where a model type has no base model, in this order, before all others."""


def transformers() -> Iterator[Entry]:
    """The base model of each model type, or the first that it has."""
    auto = importlib.import_module("transformers.models.auto.modeling_auto")
    for name in ("modeling_utils", "generation", "models.bert.modeling_bert", "image_utils", "integrations"):
        importlib.import_module(f"transformers.{name}")  # what all children would import
    kinds = [f"MODEL_FOR_{head}_MAPPING_NAMES" for head in _HEADS]
    kinds += [name for name in sorted(vars(auto)) if name.startswith("MODEL_FOR_") and name.endswith("_MAPPING_NAMES")]
    for kind in ("MODEL_MAPPING_NAMES", *kinds):
        for model_type, names in getattr(auto, kind).items():
            _TYPES.setdefault(model_type, names if isinstance(names, str) else names[0])
    for model_type, name in _TYPES.items():
        yield Entry(f"transformers/{model_type}", partial(_tiny, model_type, name))


_TYPES: dict[str, str] = {}


def _tiny(model_type: str, name: str) -> nn.Module:
    """The model with few layers; as wide as its defaults say, or if that is large and only words go in, narrower."""
    library = importlib.import_module("transformers")
    cls: Any = getattr(library, name)

    def build(change: Callable[[Any], None]) -> Callable[[], nn.Module]:
        def built() -> nn.Module:
            config = library.CONFIG_MAPPING[model_type]()
            change(config)
            model: nn.Module = cls(config)
            return model

        return built

    for change in (_narrowest,) * (model_type in _COMPUTED) + (_shallow, _narrow, _completed):
        try:
            with torch.device("meta"):
                model = build(change)()
        except Exception:
            continue
        if sum(p.numel() for p in model.parameters()) <= (8 if change is _narrowest else 3) * LARGE:
            return build(change)()
    for change in (_shallow, _completed):
        with suppress(Exception):
            return small_or_meta(build(change))
    with torch.device("meta"):
        return build(lambda config: None)()


_LAYERS = (
    *("num_hidden_layers", "num_layers", "n_layer", "n_layers", "num_encoder_layers", "num_decoder_layers", "depth"),
    *("encoder_layers", "decoder_layers", "num_blocks", "decoder_num_hidden_layers", "encoder_num_hidden_layers"),
)
_LISTS = ("layer_types", "layers_block_type", "mlp_layer_types", "no_rope_layers", "hybrid_override_pattern")
_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")
_CHOSEN = {"n_group": 1, "topk_group": 1, "num_experts_per_tok": 2, "moe_topk": 2, "moe_k": 2, "top_k_experts": 2}
"""How many of the experts are chosen, at most."""
_MISSING = {
    "prediction_length": 8,
    "context_length": 16,
    "n_shared_experts": 1,
    "vocab_size": 99,
    **dict.fromkeys(_EXPERTS, 8),
    "moe_intermediate_size": 64,
    "expert_hidden_size": 64,
}
"""Values for what some configurations leave open, though their models need it."""


def _parts(config: Any) -> Iterator[Any]:
    yield config
    for value in list(vars(config).values()):
        if hasattr(value, "model_type") and hasattr(value, "to_dict"):
            yield from _parts(value)


def _shallow(config: Any) -> None:
    """As few layers as have each kind of layer among them, and few words and experts."""
    for part in _parts(config):
        layers = 2
        for name in _LISTS:
            kinds = getattr(part, name, None)
            if isinstance(kinds, (list, tuple)) and kinds and isinstance(kinds[0], (str, int)):
                layers = max(layers, *(kinds.index(kind) + 1 for kind in set(kinds)))
        for name in _LISTS:
            kinds = getattr(part, name, None)
            if isinstance(kinds, (list, tuple)) and kinds and isinstance(kinds[0], (str, int)):
                with suppress(AttributeError):  # computed from others
                    setattr(part, name, kinds[:layers])
        if isinstance(getattr(part, "attn_layer_indices", None), list):
            part.attn_layer_indices = [1]
        if not getattr(part, "out_features", None):  # those of a backbone name layers
            aliases = getattr(part, "attribute_map", {})
            for name in _LAYERS:
                count = getattr(part, name, None)
                if type(count) is int and count > layers and "stages" not in aliases.get(name, ""):
                    setattr(part, name, layers)
        for name, most in (*dict.fromkeys(_EXPERTS, 8).items(), *_CHOSEN.items()):
            count = getattr(part, name, None)
            if type(count) is int and count > most:
                setattr(part, name, most)
        if getattr(part, "num_experts_per_tok", 0) is None:
            part.num_experts_per_tok = 2
        _usable(part)


def _usable(part: Any) -> None:
    """Values as authors give them, where the default is one with which the model cannot be called at all."""
    for name in ("image_token_index", "image_token_id", "video_token_index", "video_token_id"):
        if getattr(part, name, 0) is None:
            setattr(part, name, 1)
    if getattr(part, "moe_intermediate_size", 0) == 1407:  # of DeepSeek V2; grouped products want rows of 16 bytes
        part.moe_intermediate_size = 1408
    if getattr(part, "projector_scale_factors", None) == ():
        part.projector_scale_factors, part.projector_in_channels = [1.0], [part.d_model]
        part.num_feature_levels = 1
    backbone = getattr(part, "backbone_config", None)
    if part.model_type == "edgetam_vision_model" and backbone is not None:
        backbone.architecture = "repvit_m1"


def _completed(config: Any) -> None:
    """Few layers, and a size for what the configuration leaves open."""
    _shallow(config)
    for part in _parts(config):
        for name, value in _MISSING.items():
            if getattr(part, name, value) is None:
                setattr(part, name, value)
        heads = getattr(part, "num_attention_heads", None)
        if getattr(part, "head_dim", 0) is None and heads:
            part.head_dim = part.hidden_size // heads if part.hidden_size % heads == 0 else 64


def _narrow(config: Any) -> None:
    """A quarter of the width or less: fewer heads, each as wide as before."""
    _shallow(config)
    if any(part is not config for part in _parts(config)):
        raise ValueError("widths of several parts depend on each other")
    heads = config.num_attention_heads
    less = max(1, heads // 4)
    if config.hidden_size % less or heads % less:
        raise ValueError("heads and width do not go together")
    widths = ("hidden_size", "intermediate_size", "moe_intermediate_size")
    lists = [value for value in vars(config).values() if isinstance(value, (list, tuple))]
    if any(config.hidden_size in value for value in lists):
        raise ValueError("widths of its stages depend on each other")
    for name in (*widths, "num_attention_heads", "num_key_value_heads", "mamba_n_heads"):
        value = getattr(config, name, None)
        if type(value) is int:
            setattr(config, name, max(1, value // less))
    if type(getattr(config, "vocab_size", None)) is int and config.vocab_size > 50_000:
        raise ValueError("special tokens would lie outside a smaller vocabulary")


_COMPUTED = frozenset((
    *("gemma4_vision", "glm46v", "glm4v", "glm4v_moe", "glm4v_moe_text", "glm4v_moe_vision", "glm4v_text"),
    *("glm4v_vision", "glm5_next", "glm5_next_text", "glm_image", "glm_image_text", "glmga", "higgs_audio_v2"),
    *("jev", "led", "longcat_flash", "openai_privacy_filter"),
))  # fmt: skip
"""Model types that choose by value what they compute: only on numbers, and so when small, can they be recorded."""


def _narrowest(config: Any) -> None:
    """Two heads in each part, and the widths that go with them; what has the width of another part keeps it."""
    _completed(config)
    _widen_rope(config)
    widths: dict[int, int] = {}
    for part in _parts(config):
        heads = next((n for name in _HEAD_COUNTS if type(n := getattr(part, name, None)) is int), 2)
        width = getattr(part, "hidden_size", heads)
        less = next((n for n in range(heads // 2, 1, -1) if heads % n == width % n == 0), 1)
        grouped = getattr(part, "num_key_value_heads", None)
        if type(grouped) is int:
            part.num_key_value_heads = 1 if grouped < heads else 2
        for name in (*_HEAD_COUNTS, *_WIDTHS):
            value = getattr(part, name, None)
            is_free = name not in _HEAD_COUNTS and (getattr(part, "head_dim", None) or "intermediate" in name)
            if type(value) is int and (is_free or value % less == 0):
                setattr(part, name, value // less // 8 * 8 if is_free else value // less)
                if name in ("hidden_size", "embed_dim", "d_model"):
                    widths[value] = getattr(part, name)
    for part in _parts(config):
        for name in ("out_hidden_size", "projection_dim", "encoder_hidden_size", "text_hidden_size"):
            if (value := getattr(part, name, None)) in widths:
                setattr(part, name, widths[value])


_HEAD_COUNTS = ("num_attention_heads", "num_heads", "attention_heads", "n_heads")
_WIDTHS = ("hidden_size", "intermediate_size", "moe_intermediate_size", "embed_dim", "d_model", "ffn_dim")


def _widen_rope(config: Any) -> None:
    """The sections of positions that their models take for granted, where the configuration has none."""
    for part in _parts(config):
        rope = getattr(part, "rope_parameters", None)
        heads = getattr(part, "num_attention_heads", None)
        if isinstance(rope, dict) and "mrope_section" not in rope and heads and part.model_type.startswith("glm"):
            width = getattr(part, "head_dim", None) or part.hidden_size // heads
            half = (int(width * rope.get("partial_rotary_factor", 1)) + 1) // 2
            rope["mrope_section"] = [half - 2 * (half * 3 // 8), half * 3 // 8, half * 3 // 8]


_XT: dict[str, dict[str, Any]] = {
    "plain": {},
    "rotary": {"rotary_pos_emb": True},
    "alibi": {"alibi_pos_bias": True, "alibi_num_heads": 2},
    "relative": {"rel_pos_bias": True},
    "dynamic": {"dynamic_pos_bias": True},
    "rmsnorm": {"use_rmsnorm": True},
    "scalenorm": {"use_scalenorm": True},
    "glu": {"ff_glu": True, "ff_swish": True},
    "macaron": {"macaron": True},
    "sandwich": {"sandwich_coef": 1},
    "one_kv_head": {"attn_one_kv_head": True},
    "qk_norm": {"attn_qk_norm": True},
    "talking_heads": {"attn_pre_talking_heads": True},
    "memory": {"attn_num_mem_kv": 4},
    "sparse": {"attn_sparse_topk": 4},
    "shift": {"shift_tokens": 1},
    "gated": {"gate_residual": True},
    "hyper": {"num_residual_streams": 2},
}


def x_transformers() -> Iterator[Entry]:
    """The variants of attention of its documentation as decoder and as encoder, and its wrappers."""
    library = importlib.import_module("x_transformers")
    for name, options in _XT.items():
        for kind in ("Decoder", "Encoder"):
            yield Entry(f"x_transformers/{kind}.{name}", partial(_wrapped, library, kind, options))
    layers = partial(library.Decoder, dim=32, depth=2, heads=4)
    yield Entry("x_transformers/Decoder", layers)
    yield Entry("x_transformers/ViT", lambda: _vit(library))
    yield Entry("x_transformers/CrossAttender", lambda: library.CrossAttender(dim=32, depth=2))
    yield Entry("x_transformers/Continuous", lambda: _continuous(library))
    yield Entry("x_transformers/XTransformer", lambda: _both(library))
    yield Entry("x_transformers/Attention", lambda: library.Attention(dim=32, heads=4))


def _wrapped(library: Any, kind: str, options: dict[str, Any]) -> nn.Module:
    layers = getattr(library, kind)(dim=32, depth=2, heads=4, **options)
    model: nn.Module = library.TransformerWrapper(num_tokens=99, max_seq_len=32, attn_layers=layers)
    return model


def _vit(library: Any) -> nn.Module:
    layers = library.Encoder(dim=32, depth=2, heads=4)
    model: nn.Module = library.ViTransformerWrapper(image_size=32, patch_size=8, num_classes=5, attn_layers=layers)
    return model


def _continuous(library: Any) -> nn.Module:
    layers = library.Encoder(dim=32, depth=2, heads=4)
    model: nn.Module = library.ContinuousTransformerWrapper(dim_in=8, dim_out=4, max_seq_len=32, attn_layers=layers)
    return model


def _both(library: Any) -> nn.Module:
    sizes = {"num_tokens": 99, "depth": 1, "heads": 2, "max_seq_len": 32}
    halves = {f"{half}_{name}": value for half in ("enc", "dec") for name, value in sizes.items()}
    model: nn.Module = library.XTransformer(dim=32, **halves)
    return model
