"""Libraries for diffusion, graphs and medicine: diffusers, torch_geometric, monai."""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
import re
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch import nn

from bench.zoo.entry import LARGE, Entry, classes, filled, small_or_meta


def diffusers() -> Iterator[Entry]:
    """Every model, as small as its tests and its documentation make it; where that fails, with fewer layers."""
    library = importlib.import_module("diffusers")
    models = importlib.import_module("diffusers.models")
    base = models.modeling_utils.ModelMixin
    names = {name for name in (*dir(library), *dir(models)) if name[0].isupper()}
    for name in sorted(names):
        cls = getattr(library, name, None) or getattr(models, name, None)
        if isinstance(cls, type) and issubclass(cls, base) and cls is not base and not name.startswith("Flax"):
            yield Entry(f"diffusers/{name}", partial(_tiny, cls))


_DIFFUSION: dict[str, Any] = {
    "in_channels": 3, "out_channels": 3, "latent_channels": 4, "block_out_channels": (32, 64), "layers_per_block": 1,
    "spatial_compression_ratio": 2, "sample_size": 32, "text_encoder_dim": 16, "text_encoder_1_dim": 16,
    "langauge_model_dim": 16, "conditioning_dim": 16, "min_value": 0, "max_value": 8, "prefix_length": 4,
    "prefix_inner_dim": 16,
}  # fmt: skip
_LAYERS = re.compile(r"(.*_)?(num_)?(\w+_)?(n_?layers|layers|blocks|depth|dit_layers)$")
_NO_LAYERS = re.compile(r".*(per_block|frame|patch|offset)")
_HEADS = re.compile(r"(.*_)?(n_?heads|num_heads|heads|num(_key_value)?(_attention)?_heads|n?(num)?_?kv_heads)$")
_WIDTHS = re.compile(
    r"(hidden_size|intermediate_size|dim|(\w+_)?dim|ffn_hidden_size|model_channels|embed_dim|d_model|d_ff)$"
)
_KEPT_WIDTHS = re.compile(r".*(head_dim|rope|freq|rotary|z_dim|dim_head)")
"""Names of widths that do not grow with the heads."""


_TEXT = re.compile(
    r"text_dim|text_embed_dim|llm_features_dim|context_in_dim|cap_feat_dim|text_in_dim|joint_attention_dim"
)
"""Names of widths of the prompt, which a layer of its own takes."""
_BASES = re.compile(
    r"((en|de)coder_)?(base_dim|base_channels|ch|channels|hidden_channels)|dec_dim|upsample_initial_channel"
)
"""Names of the width of the first stage, of which those of the others are multiples."""


def _tiny(cls: type[nn.Module]) -> nn.Module:
    """The model with two layers of each kind, one or two heads, and widths that go with them."""
    known = {name: p.default for name, p in inspect.signature(cls).parameters.items()}
    own = _DIFFUSION_SPECIAL.get(cls.__name__, {})
    fewer = {name: min(2, value) for name, value in known.items() if type(value) is int and _is_depth(name)}
    narrow = {**_fewer_heads(known), **_fewer_channels(known)}
    for less in ({**fewer, **narrow, **own}, {**fewer, **own}, own):
        try:
            with torch.device("meta"):
                model = filled(cls, _DIFFUSION, **less)
        except Exception:  # some sizes of it depend on others in another way
            continue
        model = model if sum(p.numel() for p in model.parameters()) > 4 * LARGE else filled(cls, _DIFFUSION, **less)
        if cls.__name__ == "AutoencoderKLAllegro":  # without, its forward says that it is not implemented
            model.enable_tiling()  # type: ignore[operator]
        return model
    return filled(cls, _DIFFUSION)


def _is_depth(name: str) -> bool:
    return _LAYERS.fullmatch(name) is not None and _NO_LAYERS.match(name) is None


def _fewer_heads(known: dict[str, Any]) -> dict[str, Any]:
    """All numbers of heads, and the widths, divided by what they have in common."""
    numbers = {name: value for name, value in known.items() if type(value) is int}
    heads = {name: n for name, n in numbers.items() if _HEADS.fullmatch(name) and not _KEPT_WIDTHS.match(name)}
    less = math.gcd(*heads.values()) if heads else 1
    if len(set(heads.values())) == 1 and less % 2 == 0:
        less //= 2
    large = {name: n for name, n in numbers.items() if n >= 256 and not _KEPT_WIDTHS.match(name)}
    widths = {name: n for name, n in large.items() if _WIDTHS.fullmatch(name)}
    divided = {name: n // less for name, n in {**heads, **widths}.items() if n % less == 0}
    return divided | {name: 64 for name in large if _TEXT.fullmatch(name)}


def _fewer_channels(known: dict[str, Any]) -> dict[str, Any]:
    """The channels of all stages divided alike, so that the first has 32, and those of the first a quarter."""
    stages = {
        name: value
        for name, value in known.items()
        if re.search(r"(?<!ctrl_)block_out_channels|^channels|stage_channels", name)
        and isinstance(value, (tuple, list))
        and all(type(n) is int for n in value)
    }
    less = max(1, math.gcd(*(count for value in stages.values() for count in value)) // 32)
    bases = {name: n // 4 for name, n in known.items() if type(n) is int and n >= 64 and _BASES.fullmatch(name)}
    return bases | {name: type(value)(count // less for count in value) for name, value in stages.items()}


_DIFFUSION_SPECIAL: dict[str, dict[str, Any]] = {
    "AutoencoderRAE": {"encoder_hidden_size": 64, "encoder_num_hidden_layers": 2, "decoder_hidden_size": 64},
    "ControlNetUnionModel": {
        "num_control_type": 6, "addition_embed_type": "text_time", "addition_time_embed_dim": 8,
        "projection_class_embeddings_input_dim": 80, "block_out_channels": (32, 64, 64, 64), "num_trans_channel": 32,
    },
    "ControlNetModel": {"block_out_channels": (32, 64, 64, 64)},
    "ConsistencyDecoderVAE": {
        "encoder_block_out_channels": (32, 64, 64, 64), "decoder_block_out_channels": (32, 64, 64, 64),
    },
    "Cosmos3OmniTransformer": {
        "vocab_size": 99, "num_attention_heads": 2, "num_key_value_heads": 1, "hidden_size": 64,
        "intermediate_size": 64,
    },
    "ConsisIDTransformer3DModel": {"num_attention_heads": 2},
    "DreamLiteTransformer2DModel": {"in_channels": 32},
    "DreamLiteUNetModel": {"block_out_channels": (32, 64, 64)},
    "EasyAnimateTransformer3DModel": {"in_channels": 4, "out_channels": 4, "patch_size": 2},
    "HiDreamImageTransformer2DModel": {
        "in_channels": 4, "patch_size": 2, "caption_channels": [32, 32], "llama_layers": [0, 1, 0, 1],
        "axes_dims_rope": (64, 32, 32), "text_emb_dim": 64,
    },
    "HunyuanDiT2DModel": {"in_channels": 4, "patch_size": 2, "hidden_size": 176, "sample_size": 16},
    "HunyuanDiT2DControlNetModel": {"in_channels": 4, "patch_size": 2, "hidden_size": 176, "sample_size": 16},
    "Ideogram4PromptEnhancerHead": {"hidden_size": 64, "vocab_size": 99},
    "Kandinsky3UNet": {
        "block_out_channels": (64, 64, 64, 64), "layers_per_block": 2, "groups": 4, "attention_head_dim": 16,
        "time_embedding_dim": 64, "cross_attention_dim": 64, "encoder_hid_dim": 64,
    },
    "Kandinsky5Transformer3DModel": {"model_dim": 128, "ff_dim": 256, "time_dim": 64, "in_text_dim": 64},
    "Kandinsky6Transformer3DModel": {"model_dim": 256, "ff_dim": 256, "time_dim": 64, "in_text_dim": 64},
    "Kandinsky6SRTransformer3DModel": {"model_dim": 128, "ff_dim": 256, "time_dim": 64},
    "Kandinsky6SRVAE": {
        "encoder_block_out_channels": (16, 32, 32, 64, 64), "decoder_block_out_channels": (16, 32, 32, 64, 64),
    },
    "LatteTransformer3DModel": {
        "in_channels": 4, "out_channels": 8, "patch_size": 2, "sample_size": 8, "caption_channels": 32,
        "cross_attention_dim": 176, "norm_type": "ada_norm_single", "num_embeds_ada_norm": 1000, "video_length": 1,
    },
    "LuminaNextDiT2DModel": {"num_kv_heads": 2, "ffn_dim_multiplier": 1.0},
    "MMAudioVocoder": {"upsample_initial_channel": 128},
    "MiniMaxMusic3Vocoder": {"decoder_input_dim": 64, "decoder_hidden_dim": 64},
    "OmniGenTransformer2DModel": {
        "rope_scaling": {"type": "su", "short_factor": [1.0] * 48, "long_factor": [1.0] * 48}, "vocab_size": 99,
        "pad_token_id": 0,
    },
    "ReduxImageEncoder": {"redux_dim": 64, "txt_in_features": 32},
    "SparseControlNetModel": {"block_out_channels": (32, 64, 64, 64)},
    "Transformer2DModel": {"in_channels": 32},
    "TransformerTemporalModel": {"in_channels": 32},
    "UNet1DModel": {"block_out_channels": (32, 32, 64), "extra_in_channels": 64},  # those of the time
    "UNet3DConditionModel": {"block_out_channels": (32, 64, 64, 64), "attention_head_dim": 8},
    "I2VGenXLUNet": {"block_out_channels": (32, 64, 64, 64), "attention_head_dim": 8},
    "UNetControlNetXSModel": {"block_out_channels": (32, 64, 64, 64)},
    "UniDiffuserModel": {
        "text_dim": 32, "clip_img_dim": 32, "attention_head_dim": 8, "in_channels": 4, "out_channels": 4,
        "sample_size": 16, "patch_size": 2, "activation_fn": "gelu", "num_embeds_ada_norm": 1000,
    },
    "UniDiffuserTextDecoder": {"prefix_hidden_dim": 16, "n_embd": 48, "n_layer": 2, "vocab_size": 99},
    "WanAnimateTransformer3DModel": {
        "num_attention_heads": 2, "face_encoder_num_heads": 2, "ffn_dim": 64, "text_dim": 64,
        "face_encoder_hidden_dim": 64, "motion_encoder_size": 64,
    },
    "WanVACETransformer3DModel": {"vace_layers": [0, 1]},
}  # fmt: skip


_GRAPHS: dict[str, Any] = {
    "in_channels": 8, "out_channels": 8, "hidden_channels": 16, "num_layers": 2, "channels": 8, "dim": 2,
    "kernel_size": 3, "num_relations": 3, "num_nodes": 4, "heads": 2, "K": 2, "edge_dim": 6, "num_features": 8,
    "num_timesteps": 2, "metadata": (["a"], [("a", "to", "a")]), "att_mult": 1, "size": 3, "tau": 0.5, "lambd": 0.5,
    "eps": 0.1, "alpha": 0.1, "num_kernels": 2, "N": 2, "mode": "cat", "ratio": 0.5, "k": 3, "in_features": 8,
    "out_features": 8, "num_types": 2, "aggrs": ["mean", "max"], "p": 2.0, "num_embeddings": 5, "embedding_dim": 8,
    "num_heads": 2, "max_seq_len": 4, "num_nodes_dict": {"a": 4}, "feat_channels": 8, "num_blocks": 2,
    "int_emb_size": 8, "basis_emb_size": 4, "out_emb_channels": 8, "num_spherical": 3, "num_radial": 3,
    "num_bilinear": 2, "walk_length": 4, "context_size": 2, "depth": 2, "x1_channels": 8, "x2_channels": 8,
    "num_out_nodes": 3, "aggr": "mean", "F_in": 8, "F_out": 8, "L": 2, "dropout": 0.1, "node_dim": 8,
    "num_seed_points": 2, "input_channels": 8, "output_channels": 8, "size_in": 8, "groups": 2,
}  # fmt: skip


def _perceptron(*widths: int) -> nn.Module:
    return nn.Sequential(*(nn.Linear(*pair) for pair in itertools.pairwise(widths)))


_SPECIAL: dict[str, dict[str, Any]] = {
    "GINConv": {"nn": _perceptron(8, 8)},
    "GINEConv": {"nn": _perceptron(8, 8), "edge_dim": 6},
    "NNConv": {"nn": _perceptron(6, 64)},
    "ECConv": {"nn": _perceptron(6, 64)},
    "EdgeConv": {"nn": _perceptron(16, 8)},
    "DynamicEdgeConv": {"nn": _perceptron(16, 8), "k": 2},
    "HeteroConv": {"convs": {}},
    "PNAConv": {"aggregators": ["mean"], "scalers": ["identity"], "deg": [0, 1, 2]},
    "GMMConv": {"dim": 2, "kernel_size": 3},
    "HypergraphConv": {},
    "GravNetConv": {"space_dimensions": 2, "propagate_dimensions": 4, "k": 2},
    "GPSConv": {"channels": 8, "conv": None},
    "GroupAddRev": {"conv": None, "num_groups": 2},
    "AttentionalAggregation": {"gate_nn": _perceptron(8, 1)},
    "DegreeScalerAggregation": {"aggr": ["mean"], "scaler": ["identity"], "deg": [0, 1, 2]},
    "EquilibriumAggregation": {"num_layers": [4]},
    "MLPAggregation": {"max_num_elements": 4, "num_layers": 1},
    "PatchTransformerAggregation": {"patch_size": 2},
    "QuantileAggregation": {"q": 0.5},
    "Set2Set": {"processing_steps": 2},
    "HEATConv": {"num_node_types": 2, "num_edge_types": 2, "edge_type_emb_dim": 3, "edge_attr_emb_dim": 4},
    "PANConv": {"filter_size": 2},
    "PointGNNConv": {"mlp_h": _perceptron(8, 3), "mlp_f": _perceptron(11, 8), "mlp_g": _perceptron(8, 8)},
    "SignedConv": {"first_aggr": True},
    "DenseGINConv": {"nn": _perceptron(8, 8)},
    "DirGNNConv": {"conv": None},
    "FusedGATConv": {"in_channels": 8, "out_channels": 8},
    "MLP": {"in_channels": 8, "hidden_channels": 8, "out_channels": 3, "num_layers": 2},
    "PNA": {"aggregators": ["mean"], "scalers": ["identity"], "deg": [0, 1, 2]},
    "MemPooling": {"num_clusters": 2},
    "MaskLabel": {"num_classes": 3},
    "GAE": {"encoder": None},
    "ARGA": {"encoder": None, "discriminator": _perceptron(8, 1)},
    "HeteroDictLinear": {"types": ["a", "b"]},
    "HeteroJumpingKnowledge": {"types": ["a", "b"]},
    "GNNFF": {"hidden_node_channels": 8, "hidden_edge_channels": 8},
    "RENet": {"num_rels": 3, "seq_len": 2},
    "SchNet": {},
    "DeepGCNLayer": {"conv": None},
}


def torch_geometric() -> Iterator[Entry]:
    """Every convolution, net, pooling, aggregation and normalisation."""
    importlib.import_module("torch_geometric")
    for room in ("conv", "models", "norm", "aggr", "pool", "dense", "unpool"):
        try:
            module = importlib.import_module(f"torch_geometric.nn.{room}")
        except ImportError:
            continue
        for name, cls in classes(module).items():
            if not inspect.isabstract(cls) and name != "MessagePassing":
                yield Entry(f"torch_geometric/{room}.{name}", partial(_graph, name, cls))


def _graph(name: str, cls: type[nn.Module]) -> nn.Module:
    library = importlib.import_module("torch_geometric.nn")
    given = dict(_SPECIAL.get(name, {}))
    for part in ("conv", "encoder"):
        if part in given:
            given[part] = library.GCNConv(*(4, 4) if name == "GroupAddRev" else (8, 8))
    if name == "HeteroConv":
        given["convs"] = {("a", "to", "a"): library.SAGEConv((8, 8), 8)}
    if "deg" in given:
        given["deg"] = torch.tensor(given["deg"])
    return filled(cls, _GRAPHS, **given)


_MONAI: dict[str, Any] = {
    "in_channels": 1, "out_channels": 2, "num_classes": 2, "channels": (4, 8, 16), "strides": (2, 2),
    "feature_size": 12, "in_shape": (1, 32, 32), "out_shape": (2,), "latent_size": 3, "start_shape": (1, 8, 8),
    "latent_shape": (3,), "kernel_size": (3, 3, 3), "upsample_kernel_size": (2, 2), "num_layers": 2, "patch_size": 8,
    "classes": 2, "block": "basic", "layers": (1, 1, 1, 1), "block_inplanes": (8, 16, 32, 64),
    "model_name": "efficientnet-b0", "backbone": "resnet18", "num_channels": 3, "num_init_channels": 4, "img_dim": 32,
    "dints_space": None, "groups": 2, "reduction": 16, "dropout_prob": 0.1, "inplanes": 8, "hidden_size": 32,
    "mlp_dim": 32, "num_heads": 4, "num_embeddings": 8, "depth": 2, "pretrained": False, "embedding_dim": 8,
    "num_tokens": 20, "max_seq_len": 16, "attn_layers_dim": 32, "attn_layers_depth": 2, "attn_layers_heads": 4,
    "image_size": 64, "num_depth": 2, "num_channel_initial": 4, "num_res_layers": 1,
    "in_planes": 8, "planes": 8, "dim": 12, "label_nc": 3, "extract_levels": [0, 1, 2], "num_d": 2, "num_layers_d": 2,
    "num_language_layers": 1, "num_vision_layers": 1, "num_mixed_layers": 1, "drop_out": 0.1, "vocab_size": 20,
    "hidden_channels": (8, 8), "bert_config": {}, "num_res_channels": 8,
    "num_res_units": 1, "num_conv_layers": 2,
}  # fmt: skip


def monai() -> Iterator[Entry]:
    """Every net, flat and solid."""
    nets = importlib.import_module("monai.networks.nets")
    seen: set[type] = set()
    for name, cls in sorted(vars(nets).items()):
        if isinstance(cls, type) and issubclass(cls, nn.Module) and cls not in seen and not inspect.isabstract(cls):
            seen.add(cls)
            for axes in (2, 3) if "spatial_dims" in inspect.signature(cls).parameters else (0,):
                suffix = f".{axes}d" if axes else ""
                yield Entry(f"monai/{name}{suffix}", partial(small_or_meta, partial(_net, cls, axes)))


def _net(cls: type[nn.Module], axes: int) -> nn.Module:
    known = inspect.signature(cls).parameters
    given: dict[str, Any] = {"spatial_dims": axes} if axes else {}
    values = {
        **_MONAI,
        "img_size": (32,) * (axes or 3),
        "input_size": (32,) * (axes or 3),
        "patch_size": (8,) * (axes or 3),
        "kernel_size": (3,) * 3 if "upsample_kernel_size" in known else 3,
    }
    is_deep = "upsample_kernel_size" in known or cls.__name__.endswith("AutoEncoder")
    values["strides"] = (1, 2, 2) if is_deep else (2, 2)
    if "channels" in known and known["channels"].annotation in ("int", int):
        values["channels"] = 8
    values["input_shape"] = (16,) * (axes or 2)
    if {"attention_levels", "num_head_channels"} <= known.keys():  # those of diffusion, whose default takes long
        small = {"channels": (8, 8, 16), "attention_levels": (False, False, True), "num_head_channels": 8}
        given |= {**small, "norm_num_groups": 8, "num_res_blocks": 1}
    if cls.__name__ == "ResNetBottleneck":
        values["in_planes"] = 4 * values["planes"]
    return filled(cls, values, **given)
