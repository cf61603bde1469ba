"""Libraries for sound: torchaudio, speechbrain."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from typing import Any

from torch import nn

from bench.zoo.entry import LARGE, Entry, classes, filled, small_or_meta

_AUDIO: dict[str, Any] = {
    "input_dim": 16, "num_heads": 4, "ffn_dim": 16, "num_layers": 2, "depthwise_conv_kernel_size": 3,
    "segment_length": 4, "right_context_length": 1, "num_symbols": 20, "num_classes": 5, "n_feature": 16,
    "upsample_scales": [5, 5, 8], "n_classes": 8, "hop_length": 200, "sources": ["a", "b"], "num_sources": 2,
}  # fmt: skip


def torchaudio() -> Iterator[Entry]:
    """Every class and every factory of torchaudio.models."""
    models = importlib.import_module("torchaudio.models")
    for name in sorted(models.__all__):
        found = getattr(models, name)
        is_module = isinstance(found, type) and issubclass(found, nn.Module)
        if is_module or (inspect.isfunction(found) and not name.endswith("_model")):
            yield Entry(f"torchaudio/{name}", partial(small_or_meta, partial(filled, found, _AUDIO), 4 * LARGE))


_SPEECH: dict[str, Any] = {
    "input_size": 16, "hidden_size": 16, "out_channels": 8, "in_channels": 16, "kernel_size": 3, "n_neurons": 8,
    "d_model": 16, "nhead": 4, "num_layers": 2, "d_ffn": 32, "tgt_vocab": 20, "input_shape": (2, 20, 16),
    "num_features": 16, "tau": 0.1, "embed_dim": 16, "num_heads": 4, "num_embeddings": 20, "embedding_dim": 8,
    "bottleneck_dim": 8, "channels": 16, "attn_dim": 8, "enc_dim": 16, "dec_dim": 16, "output_dim": 8, "num_spks": 2,
    "N": 8, "B": 8, "H": 8, "P": 3, "X": 2, "R": 2, "C": 2, "K": 10, "L": 8, "dropout": 0.1, "n_mels": 16,
    "stride": 2, "output_size": 8, "vocab_size": 20, "dim": 16, "input_dim": 16, "n_heads": 4, "num_classes": 5,
    "chunk_size": 5, "norm_shape": 16, "in_features": 16, "out_features": 8, "rnn_size": 8, "num_channels": 8,
    "hidden_channels": 8, "groups": 2, "n_fft": 400, "attn_channels": 8, "bidirectional": False, "num_blocks": 2,
    "num_tokens": 20, "d_k": 8, "d_v": 8, "block_size": 4,
    "n_channels": 16, "emb_dim": 16, "kernel_sizes": [3, 3], "input_channels": 16, "seq_len": 20,
    "sample_rate": 16000, "norm": None, "max_len": 50, "r": 4,
    "norm_type": "bn", "inner_dim": 8, "max_steps": 50, "residual_channels": 8, "dilation": 1, "se_channels": 8,
    "period": 2, "D": 8, "chomp_size": 2, "channel_size": 16, "codebook_size": 20, "codebook_dim": 8, "shape": 3,
    "word_emb_dim": 16, "word_emb_enc_dim": 8, "drop_rate": 0.1, "input_output_dim": 16, "hypernet_size": 8,
    "pool_type": "max", "cb_dim": 8, "cb_vocab": 20, "num_vars": 20, "temp_tuple": (2.0, 0.25, 0.9), "vq_dim": 8,
    "spatial_dim": 4, "num_heads_channels": 4, "factor": 2, "proj_dim": 8, "emb_channels": 8, "use_conv": True,
    "vocab": 20, "batch_size": 2, "attention_type": "RegularMHA", "enc_num_layers": 1, "enc_num_head": 2,
    "enc_d_model": 16, "enc_ffn_dim": 32, "enc_k_dim": 16, "enc_v_dim": 16, "enc_dropout": 0.1,
    "dec_num_layers": 1, "dec_num_head": 2, "dec_d_model": 16, "dec_ffn_dim": 32, "dec_k_dim": 16, "dec_v_dim": 16,
    "dec_dropout": 0.1, "normalize_before": False, "ffn_type": "1dcnn", "ffn_cnn_kernel_size_list": [3, 3],
    "n_char": 20, "padding_idx": 0, "in_query_channels": 16, "in_key_channels": 16, "temperature": 1.0,
    "resblock_type": "1", "resblock_dilation_sizes": [[1, 3, 5]], "resblock_kernel_sizes": [3],
    "upsample_kernel_sizes": [16, 4], "upsample_initial_channel": 16, "upsample_factors": [8, 2],
    "encoder_embed_dim": 16, "var_pred_hidden_dim": 8, "var_pred_kernel_size": 3, "var_pred_dropout": 0.1,
    "postnet_embedding_dim": 16, "postnet_kernel_size": 3, "postnet_n_convolutions": 2, "postnet_dropout": 0.1,
    "dur_pred_kernel_size": 3, "pitch_pred_kernel_size": 3, "energy_pred_kernel_size": 3,
    "variance_predictor_dropout": 0.1,
}  # fmt: skip


_ABSTRACT = ("Autoencoder", "Downsampler", "TransformerInterface")
"""Classes whose forward is written by those who derive from them."""
_OF_CLASS: dict[str, dict[str, Any]] = {
    "SEBlock": {"out_channels": 16},
    "SEBasicBlock": {"out_channels": 16},
    "ResBlock": {"channels": 32, "emb_channels": 32},
    "BasicBlock": {"out_channels": 16},
    "PsiOptimized": {"adapter_reduce_dim": False},
    "UnitHifiganGenerator": {"embedding_dim": 16},
}
"""Sizes that have to go together."""


def _of_class(cls: type[nn.Module]) -> dict[str, Any]:
    if cls.__name__.startswith("ResourceEfficientSeparat"):  # its forward refuses the default, which is a string
        block: Any = importlib.import_module(cls.__module__)
        blocks = {name: block.SBTransformerBlock_wnormandskip(1, 16, 8) for name in ("seg_model", "mem_model")}
        return {**blocks, "mem_type": "av"} | ({"unit": 16} if cls.__name__.endswith("or") else {})
    return _OF_CLASS.get(cls.__name__, {})


_NO_MODELS = ("huggingface", "integrations", "loss", "scheduler", "containers", "optim")
"""What the names of modules without models have in them."""


def speechbrain() -> Iterator[Entry]:
    """Every layer and every lobe that can be built from sizes."""
    importlib.import_module("speechbrain")
    seen: set[type] = set()
    for room in ("nnet", "lobes"):
        package = importlib.import_module(f"speechbrain.{room}")
        for info in pkgutil.walk_packages(package.__path__, f"speechbrain.{room}."):
            if any(word in info.name for word in _NO_MODELS):
                continue
            try:
                module = importlib.import_module(info.name)
            except Exception:  # an optional package that it needs
                continue
            for name, cls in classes(module).items():
                own = cls.__module__ == info.name and "forward" in vars(cls) and not name.endswith("Loss")
                own = own and name not in _ABSTRACT
                if own and cls not in seen:
                    seen.add(cls)
                    where = info.name.removeprefix("speechbrain.")
                    yield Entry(f"speechbrain/{where}.{name}", partial(small_or_meta, partial(_sized, cls)))


def _sized(cls: type[nn.Module]) -> nn.Module:
    """The class with its required parameters, and one of those by which it may be told what it takes, if it asks."""
    taken = inspect.signature(cls).parameters
    sizes: tuple[dict[str, Any], ...] = ({"input_size": 16}, {"input_shape": (2, 20, 16)}, {"in_channels": 16})
    try:
        return filled(cls, _SPEECH, **_of_class(cls))
    except (ValueError, TypeError, AttributeError):
        for given in (*sizes, {"input_shape": (2, 20, 16, 16)}):
            if given.keys() <= taken.keys():
                with suppress(ValueError, TypeError, AttributeError):
                    return filled(cls, _SPEECH, **given)
        raise
