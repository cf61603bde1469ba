"""Libraries for diffusion, graphs and medicine: diffusers, torch_geometric, monai."""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

from torch import nn

from zoo.entry import Entry, classes, filled, small_or_meta


def diffusers() -> Iterator[Entry]:
    """Every model as its defaults describe it, with fewer layers."""
    library = importlib.import_module("diffusers")
    models = importlib.import_module("diffusers.models")
    base = models.modeling_utils.ModelMixin
    names = {name for name in (*dir(library), *dir(models)) if name[0].isupper()}
    for name in sorted(names):
        cls = getattr(library, name, None) or getattr(models, name, None)
        if isinstance(cls, type) and issubclass(cls, base) and cls is not base and not name.startswith("Flax"):
            yield Entry(f"diffusers/{name}", partial(small_or_meta, partial(_shallow, cls)))


def _shallow(cls: type[nn.Module]) -> nn.Module:
    known = inspect.signature(cls).parameters
    fewer = {"num_layers": 2, "num_single_layers": 2, "num_refiner_layers": 1, "depth": 2}
    given = {name: value for name, value in fewer.items() if name in known and isinstance(known[name].default, int)}
    return cls(**given)


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
    import torch

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
    return filled(cls, values, **given)
