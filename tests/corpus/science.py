"""Models for medicine, diffusion, graphs, sound and tables, and torch's own."""

from __future__ import annotations

import importlib
from typing import Any

import torch
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers, whole, words
from tests.corpus.vision import by_name


def _monai(name: str, **options: Any) -> Any:
    return by_name("monai.networks.nets", name, **options)


def _diffusers(name: str, **options: Any) -> Any:
    return by_name("diffusers", name, **options)


def _edges() -> Tensor:
    return torch.tensor([[0, 1, 1, 2, 3, 0], [1, 0, 2, 1, 0, 3]])


class _Heterogeneous(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        pyg = importlib.import_module("torch_geometric.nn")
        there, back = pyg.SAGEConv((8, 8), 8), pyg.GATConv((8, 8), 8, add_self_loops=False)
        self.convolution = pyg.HeteroConv({("a", "to", "b"): there, ("b", "to", "a"): back})

    def forward(self, x_dict: Any, edge_index_dict: Any) -> Any:
        return self.convolution(x_dict, edge_index_dict)


def _decoder() -> nn.Module:
    module = importlib.import_module("x_transformers")
    layers = module.Decoder(dim=32, depth=2, heads=4, rotary_pos_emb=True)
    found: nn.Module = module.TransformerWrapper(num_tokens=99, max_seq_len=32, attn_layers=layers)
    return found


def _autoencoder() -> nn.Module:
    lightning = importlib.import_module("lightning.pytorch")

    class AutoEncoder(lightning.LightningModule):  # type: ignore[name-defined, misc]
        def __init__(self) -> None:
            super().__init__()
            self.enc = nn.Sequential(nn.Linear(28, 8), nn.ReLU(), nn.Linear(8, 3))
            self.dec = nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 28))

        def forward(self, x: Tensor) -> Any:
            z = self.enc(x)
            return {"z": z, "x_hat": self.dec(z)}

    found: nn.Module = AutoEncoder()
    return found


_SQUARE = given(numbers(1, 1, 32, 32))
_STEP = whole(10)
_NODES = given(numbers(4, 8), _edges)
_PAIR = {"in_channels": 1, "out_channels": 2}
_GNN = {"in_channels": 8, "hidden_channels": 16, "num_layers": 2, "out_channels": 3}
_ENDS = {("a", "to", "b"): _edges, ("b", "to", "a"): _edges}
_UNET = {
    "sample_size": 16, "in_channels": 3, "out_channels": 3, "layers_per_block": 1, "block_out_channels": (32, 32),
    "down_block_types": ("DownBlock2D", "AttnDownBlock2D"), "up_block_types": ("AttnUpBlock2D", "UpBlock2D"),
    "norm_num_groups": 8, "attention_head_dim": 8,
}  # fmt: skip
_BLOCKS = {
    "block_out_channels": (16, 16), "norm_num_groups": 8,
    "down_block_types": ("DownEncoderBlock2D",) * 2, "up_block_types": ("UpDecoderBlock2D",) * 2,
}  # fmt: skip
_SD3 = {
    "sample_size": 8, "patch_size": 1, "in_channels": 4, "out_channels": 4, "num_layers": 1, "attention_head_dim": 8,
    "num_attention_heads": 4, "joint_attention_dim": 32, "caption_projection_dim": 32, "pooled_projection_dim": 64,
}  # fmt: skip
_SD3_INPUTS = given(
    hidden_states=numbers(1, 4, 8, 8), encoder_hidden_states=numbers(1, 5, 32), pooled_projections=numbers(1, 64),
    timestep=_STEP,
)  # fmt: skip
_UNETR = {"img_size": (32, 32, 32), "feature_size": 4, "hidden_size": 24, "mlp_dim": 32, "num_heads": 4}
_STEPS = {"spatial_dims": 2, "channels": (4, 8, 16), "strides": (2, 2)}
_EARS = {"input_dim": 16, "num_heads": 4, "ffn_dim": 16, "num_layers": 2}
_TASNET = {
    "num_sources": 2, "enc_kernel_size": 16, "enc_num_feats": 16, "msk_kernel_size": 3, "msk_num_feats": 8,
    "msk_num_hidden_feats": 8, "msk_num_layers": 2, "msk_num_stacks": 2,
}  # fmt: skip
_ECAPA = {
    "input_size": 16, "channels": [16, 16, 16, 16, 48], "lin_neurons": 8, "attention_channels": 8, "se_channels": 8,
    "res2net_scale": 4,
}  # fmt: skip
_TABLE = {
    "n_cont_features": 3, "cat_cardinalities": [4, 5], "d_out": 1, "n_blocks": 2, "d_block": 16,
    "attention_n_heads": 2, "attention_dropout": 0.1, "ffn_d_hidden": 16, "ffn_d_hidden_multiplier": None,
    "ffn_dropout": 0.1, "residual_dropout": 0.0,
}  # fmt: skip

ENTRIES = [
    Entry("monai_unet", _monai("UNet", **_PAIR, **_STEPS, num_res_units=1), _SQUARE),
    Entry("monai_unetr", _monai("UNETR", **_PAIR, **_UNETR), given(numbers(1, 1, 32, 32, 32))),
    Entry("monai_segresnet", _monai("SegResNet", spatial_dims=2, init_filters=8), _SQUARE),
    Entry("monai_attunet", _monai("AttentionUnet", **_PAIR, **_STEPS), _SQUARE),
    Entry("df_unet2d", _diffusers("UNet2DModel", **_UNET), given(numbers(1, 3, 16, 16), _STEP)),
    Entry("df_vae", _diffusers("AutoencoderKL", **_BLOCKS, sample_size=16), given(numbers(1, 3, 16, 16))),
    Entry("df_sd3", _diffusers("SD3Transformer2DModel", **_SD3), _SD3_INPUTS),
    Entry(
        "df_vq",
        _diffusers("VQModel", **_BLOCKS, latent_channels=3, num_vq_embeddings=8),
        given(numbers(1, 3, 16, 16)),
    ),
    Entry("pyg_gcn", by_name("torch_geometric.nn", "GCN", **_GNN), _NODES),
    Entry("pyg_graphsage", by_name("torch_geometric.nn", "GraphSAGE", **_GNN, jk="lstm"), _NODES),
    Entry(
        "pyg_graphunet",
        by_name("torch_geometric.nn", "GraphUNet", in_channels=8, hidden_channels=8, out_channels=3, depth=2),
        _NODES,
        same_inputs=True,
    ),
    Entry(
        "pyg_hetero",
        _Heterogeneous,
        given(
            lambda: {"a": torch.randn(4, 8), "b": torch.randn(4, 8)},
            lambda: {ends: make() for ends, make in _ENDS.items()},
        ),
    ),
    Entry(
        "ta_conformer",
        by_name("torchaudio.models", "Conformer", **_EARS, depthwise_conv_kernel_size=3),
        given(numbers(1, 10, 16), _STEP),
    ),
    Entry("ta_convtasnet", by_name("torchaudio.models", "ConvTasNet", **_TASNET), given(numbers(1, 1, 200))),
    Entry(
        "ta_emformer",
        by_name("torchaudio.models", "Emformer", **_EARS, segment_length=4, right_context_length=1),
        given(numbers(1, 9, 16), whole(9)),
    ),
    Entry("xt_decoder", _decoder, given(words())),
    Entry(
        "rtdl_ft",
        by_name("rtdl_revisiting_models", "FTTransformer", **_TABLE),
        given(numbers(2, 3), lambda: torch.randint(0, 4, (2, 2))),
    ),
    Entry(
        "ddpm_unet",
        by_name("denoising_diffusion_pytorch", "Unet", dim=16, dim_mults=(1, 2), flash_attn=False),
        given(numbers(1, 3, 16, 16), _STEP),
    ),
    Entry("lightning_ae", _autoencoder, given(numbers(2, 28))),
    Entry(
        "speechbrain_ecapa",
        by_name("speechbrain.lobes.models.ECAPA_TDNN", "ECAPA_TDNN", **_ECAPA),
        given(numbers(2, 20, 16)),
    ),
    Entry(
        "nn_transformer",
        lambda: nn.Transformer(16, 2, 1, 1, 32, batch_first=True),
        given(numbers(1, 5, 16), numbers(1, 4, 16)),
    ),
    Entry("nn_lstm", lambda: nn.LSTM(8, 16, 2, bidirectional=True), given(numbers(5, 1, 8))),
    Entry("nn_mha", lambda: nn.MultiheadAttention(16, 4, batch_first=True), given(*[numbers(1, 5, 16)] * 3)),
]
