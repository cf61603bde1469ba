"""What a reader wants to know of a model that he has no code of: numbers of its configuration and of its modules.

Numbers only: `write.text` says them in words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from torch import nn

Sheet: TypeAlias = dict[str, int | str]
"""Facts by name, in the order in which they are read; kinds of parameters as `params.mlp`, parts as `part.unet`."""

_WORDS = {
    "experts": r"experts?",
    "embedding": r"\w*embed\w*|wte|wpe|shared",
    "attention": r"\w*att(?:entio)?n\w*|mixer_attn",
    "state_space": r"mixer|mamba\w*|ssm|linear_attn|linear_attention",
    "norm": r"\w*norm(?:_\w+)?\d*|ln_\w+|\w*_ln|bn\d*",
    "head": r"classifier|score|cls|\w*_head|head|fc",
    "mlp": r"\w*mlp\w*|ffn?\w*|feed_forward\w*|fc\d|intermediate|DenseReluDense|lin\d",
    "convolution": r"\w*conv\w*|resnets?|downsample\w*|upsample\w*",
    "projection": r"\w*project(?:ion|or)\w*",
}
"""Words in the path of a parameter by which libraries call the layer that it belongs to; the first kind that fits."""
_KINDS = {kind: re.compile(words, re.IGNORECASE) for kind, words in _WORDS.items()}
_OUTPUT = "output"  # the half of an MLP, where no word around it names an attention, as in BERT
_EXPERTS = ("num_local_experts", "num_experts", "n_routed_experts", "moe_num_experts")
_CHOSEN = ("num_experts_per_tok", "num_experts_per_token", "moe_top_k", "moe_topk", "top_k_experts")
_BYTES = {"bf16": 2.0, "int8": 1.0, "int4": 0.5}


def sheet(model: nn.Module, config: Mapping[str, Any]) -> Sheet:
    """The facts of one model; what it has not is left out."""
    read: Any = getattr(model, "config", None)
    text = read.get_text_config() if hasattr(read, "get_text_config") else read
    sizes = {name: parameter.numel() for name, parameter in model.named_parameters()}
    total = sum(sizes.values())
    of_model = getattr(read, "model_type", "") or config.get("architecture", "")
    facts: Sheet = {"architecture": type(model).__name__ + (f" ({of_model})" if of_model else "")}
    kinds = Counter[str]()
    for name, size in sizes.items():
        kinds[kind_of(name)] += size
    facts |= {f"params.{kind}": kinds[kind] for kind in (*_KINDS, "other") if kinds[kind]}
    if text is not None and not isinstance(text, Mapping):
        facts |= _of_text(text, bool(getattr(model, "can_generate", bool)()), total, kinds["experts"])
    return {**facts, **{f"weights.{name}": round(total * each) for name, each in _BYTES.items()}}


def components(parts: Mapping[str, nn.Module]) -> Sheet:
    """Parameters of each part of a pipeline."""
    return {f"part.{name}": sum(it.numel() for it in part.parameters()) for name, part in parts.items()}


def kind_of(path: str) -> str:
    """The kind of layer that a parameter belongs to, by its path: the innermost word that names one, experts first."""
    words = path.split(".")[:-1]
    if any(map(_KINDS["experts"].fullmatch, words)):
        return "experts"
    named = (kind for word in reversed(words) for kind, pattern in _KINDS.items() if pattern.fullmatch(word))
    return next(named, "mlp" if _OUTPUT in words else "other")


def _of_text(config: Any, generates: bool, total: int, of_experts: int) -> Sheet:
    """Facts of the part of a model that reads words, or of all of it."""
    heads = _number(config, "num_attention_heads")
    keys = _number(config, "num_key_value_heads") or heads
    facts: Sheet = {
        "context": _number(config, "max_position_embeddings", "n_positions", "max_target_positions"),
        "vocabulary": _number(config, "vocab_size"),
        "heads": heads,
        "kv_heads": keys if keys != heads else 0,
    }
    experts, chosen = _number(config, *_EXPERTS), _number(config, *_CHOSEN)
    if experts and chosen and of_experts:
        facts |= {"experts": experts, "chosen": chosen, "active": active(total, of_experts, experts, chosen)}
    if generates:
        facts["kv_cache"] = kv_cache_bytes(config)
    return {name: value for name, value in facts.items() if value}


def active(total: int, of_experts: int, experts: int, chosen: int) -> int:
    """Parameters that one token runs through: all but those of the experts that are not chosen for it.

    `total - of_experts · (1 - chosen / experts)`, the "active parameter count" of Mixtral (Jiang et al. 2024,
    arXiv:2401.04088, §2.1). Experts that all tokens run through are chosen by none, and are not in `of_experts` there.
    """
    return total - of_experts * (experts - chosen) // experts


def kv_cache_bytes(config: Any, bytes_each: int = 2) -> int:
    """Bytes that generating keeps for each token, in numbers of so many bytes; 0 where layers keep a state instead.

    `2 · layers · key and value heads · size of a head · bytes` (Pope et al. 2022, arXiv:2211.05102, §3.3; with fewer
    heads for keys and values, Ainslie et al. 2023, arXiv:2305.13245, §2.2). Latent attention keeps one vector in place
    of both, `layers · (rank + size of the rotated part) · bytes` (DeepSeek-V2, arXiv:2405.04434, §2.1.3). Of layers of
    other kinds, as state spaces, none counts; a layer with a window keeps no more tokens than fit into it.
    """
    layers = _attending(config)
    latent = _number(config, "kv_lora_rank")
    if latent:
        return layers * (latent + _number(config, "qk_rope_head_dim")) * bytes_each
    heads = _number(config, "num_attention_heads")
    size = _number(config, "head_dim", "d_kv") or (_number(config, "hidden_size") // heads if heads else 0)
    return 2 * layers * (_number(config, "num_key_value_heads") or heads) * size * bytes_each


def _attending(config: Any) -> int:
    """Layers that keep keys and values of each token."""
    kinds: Sequence[str] | None = getattr(config, "layer_types", None) or getattr(config, "layers_block_type", None)
    if isinstance(kinds, Sequence) and not isinstance(kinds, str):
        return sum(kind == "hybrid" or ("attention" in kind and "linear" not in kind) for kind in kinds)
    is_both = getattr(config, "is_encoder_decoder", False)
    return _number(config, *(("num_decoder_layers", "decoder_layers") if is_both else ()), "num_hidden_layers")


def _number(config: Any, *names: str) -> int:
    """The first of these attributes that is a number; of numbers that differ by layer none."""
    values = (getattr(config, name, None) for name in names)
    return next((value for value in values if type(value) is int), 0)
