"""The models that pictures are judged on, besides those of `tests/corpus`: deep enough for repeats to matter.

Most are figures that papers are known for. All are made from configurations, with random weights; numbers are small
where they cannot be seen in the picture.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from tests.corpus import science, text, vision
from tests.corpus.entry import Entry, given, numbers, whole, words
from tests.corpus.vision import by_name


class Encoder(nn.Module):
    """Reads a sentence."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.dropout = nn.Embedding(100, 32), nn.Dropout(0.1)
        self.rnn = nn.LSTM(32, 64, 2, batch_first=True)

    def forward(self, x: Tensor) -> Any:
        """The state at the end of it."""
        return self.rnn(self.dropout(self.embedding(x)))[1]


class Decoder(Encoder):
    """Writes one word after another."""

    def __init__(self) -> None:
        super().__init__()
        self.fc_out = nn.Linear(64, 100)

    def forward(self, x: Tensor, state: Any = None) -> Any:
        """Scores of the next word, and the next state."""
        y, state = self.rnn(self.dropout(self.embedding(x)), state)
        return self.fc_out(y), state


class Seq2Seq(nn.Module):
    """A recurrent encoder and decoder, the latter called once for each word."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.decoder = Encoder(), Decoder()

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """Scores of all words."""
        state, found = self.encoder(source), []
        for t in range(target.shape[1]):
            y, state = self.decoder(target[:, t : t + 1], state)
            found.append(y)
        return torch.cat(found, 1)


class VAE(nn.Module):
    """A variational autoencoder of images of digits."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(784, 400), nn.ReLU())
        self.mu, self.logvar = nn.Linear(400, 20), nn.Linear(400, 20)
        self.decoder = nn.Sequential(nn.Linear(20, 400), nn.ReLU(), nn.Linear(400, 784), nn.Sigmoid())

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        """A sample of the code."""
        return mu + torch.exp(0.5 * logvar) * torch.randn_like(mu)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The image again, and the distribution of its code."""
        h = self.encoder(x.flatten(1))
        mu, logvar = self.mu(h), self.logvar(h)
        return self.decoder(self.reparameterize(mu, logvar)), mu, logvar


class DLRM(nn.Module):
    """Recommendation: dense features and six tables of embeddings, and the products of all pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.ModuleList([nn.EmbeddingBag(50 + i, 16, mode="sum") for i in range(6)])
        self.bot = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 16), nn.ReLU())
        self.top = nn.Sequential(nn.Linear(16 + 21, 64), nn.ReLU(), nn.Linear(64, 1), nn.Sigmoid())

    def forward(self, dense: Tensor, sparse: Tensor) -> Tensor:
        """The probability of a click."""
        x = self.bot(dense)
        features = torch.stack([x, *(table(sparse[i]) for i, table in enumerate(self.emb))], 1)
        products = torch.bmm(features, features.transpose(1, 2))
        i, j = torch.tril_indices(7, 7, -1)
        found: Tensor = self.top(torch.cat([x, products[:, i, j]], 1))
        return found


class Siamese(nn.Module):
    """One net for both of two images."""

    def __init__(self) -> None:
        super().__init__()
        flat = (nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16 * 13 * 13, 64))
        self.net, self.out = nn.Sequential(nn.Conv2d(1, 16, 3), nn.ReLU(), *flat), nn.Linear(64, 1)

    def forward(self, a: Tensor, b: Tensor) -> Tensor:
        """Whether they show the same."""
        return torch.sigmoid(self.out((self.net(a) - self.net(b)).abs()))


class Heads(nn.Module):
    """Two inputs in a dictionary, three outputs in another."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.text = nn.Linear(32, 64), nn.Linear(16, 64)
        self.heads = nn.ModuleDict({name: nn.Linear(64, n) for name, n in {"age": 1, "sex": 2, "mood": 5}.items()})

    def forward(self, x: dict[str, Tensor]) -> dict[str, Tensor]:
        """A tensor for each head."""
        h = torch.relu(self.image(x["image"]) + self.text(x["text"]))
        return {name: head(h) for name, head in self.heads.items()}


def double(inputs: int, outputs: int) -> nn.Sequential:
    """Two convolutions of a U-Net."""
    first = nn.Conv2d(inputs, outputs, 3, padding=1), nn.ReLU()
    return nn.Sequential(*first, nn.Conv2d(outputs, outputs, 3, padding=1), nn.ReLU())


class UNet(nn.Module):
    """The one of the paper, padded and narrow."""

    def __init__(self, *sizes: int) -> None:
        super().__init__()
        pairs = [*pairwise(sizes)]
        self.inc, self.pool = double(3, sizes[0]), nn.MaxPool2d(2)
        self.down = nn.ModuleList(double(small, large) for small, large in pairs)
        self.up = nn.ModuleList(nn.ConvTranspose2d(large, small, 2, 2) for small, large in reversed(pairs))
        self.conv = nn.ModuleList(double(large, small) for small, large in reversed(pairs))
        self.out = nn.Conv2d(sizes[0], 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """The class of each pixel."""
        kept = [self.inc(x)]
        for down in self.down:
            kept.append(down(self.pool(kept[-1])))
        x = kept.pop()
        for up, conv in zip(self.up, self.conv, strict=True):
            x = conv(torch.cat([kept.pop(), up(x)], 1))
        found: Tensor = self.out(x)
        return found


def dcgan() -> nn.Module:
    """The generator."""
    layers: list[nn.Module] = []
    for inputs, outputs, step in ((100, 512, 1), (512, 256, 2), (256, 128, 2), (128, 64, 2)):
        conv = nn.ConvTranspose2d(inputs, outputs, 4, step, step - 1, bias=False)
        layers += [conv, nn.BatchNorm2d(outputs), nn.ReLU()]
    return nn.Sequential(*layers, nn.ConvTranspose2d(64, 3, 4, 2, 1, bias=False), nn.Tanh())


_DEEP = {
    "vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 8, "num_attention_heads": 4, "intermediate_size": 128,
}  # fmt: skip
_LLAMA = {**_DEEP, "num_key_value_heads": 2}
_T5 = {"vocab_size": 100, "d_model": 64, "d_kv": 16, "d_ff": 128, "num_layers": 6, "num_heads": 4}
_HALVES = {
    "vocab_size": 100, "d_model": 64, "encoder_layers": 6, "decoder_layers": 6, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 128, "decoder_ffn_dim": 128,
}  # fmt: skip
_WHISPER = {
    "num_mel_bins": 16, "max_source_positions": 32, "max_target_positions": 32, "decoder_start_token_id": 1,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
_CLIP = {
    "text_config": {**_DEEP, "max_position_embeddings": 32, "eos_token_id": 2},
    "vision_config": {**_DEEP, "image_size": 32, "patch_size": 8},
    "projection_dim": 32,
}
_WAV2VEC2 = {
    "hidden_size": 64, "num_hidden_layers": 6, "num_attention_heads": 4, "intermediate_size": 128,
    "conv_dim": (32,) * 7, "num_conv_pos_embeddings": 16, "num_conv_pos_embedding_groups": 4,
}  # fmt: skip
_QWEN = {**_LLAMA, "moe_intermediate_size": 32, "num_experts": 8, "num_experts_per_tok": 2, "head_dim": 16}
_SD = {
    "block_out_channels": (32, 64, 128, 128), "layers_per_block": 2, "cross_attention_dim": 64,
    "attention_head_dim": 8, "norm_num_groups": 8,
}  # fmt: skip
_DIT = {"num_attention_heads": 4, "attention_head_dim": 16, "num_layers": 8, "sample_size": 8, "norm_num_groups": 4}
_MONAI = {
    "spatial_dims": 2, "in_channels": 1, "out_channels": 2, "channels": (8, 16, 32, 64), "strides": (2, 2, 2),
    "num_res_units": 2,
}  # fmt: skip

_IDS, _PAIR = given(input_ids=words(1, 16)), given(input_ids=words(1, 16), decoder_input_ids=words(1, 8))
_IMAGE = given(numbers(1, 3, 224, 224))


def _tv(name: str, inputs: Any = _IMAGE, **options: Any) -> Entry:
    return Entry(f"tv_{name}", by_name("torchvision.models", name, weights=None, **options), inputs)


def _x(name: str, cls: str, config: str, inputs: Any, **options: Any) -> Entry:
    return Entry(f"x_{name}", text.model(cls, config, **options), inputs)


DEEP = [
    _tv("resnet50"),
    _tv("inception_v3", given(numbers(1, 3, 299, 299)), init_weights=False),
    _tv("mobilenet_v3_large"),
    _tv("efficientnet_b0"),
    _tv("swin_t"),
    _tv("vit_b_16"),
    _tv("vgg16"),
    _x("t5", "T5Model", "T5Config", _PAIR, **_T5),
    _x("bart", "BartModel", "BartConfig", _PAIR, **_HALVES, max_position_embeddings=64),
    _x(
        "gpt2",
        "GPT2LMHeadModel",
        "GPT2Config",
        _IDS,
        **{"vocab_size": 100, "n_embd": 96, "n_layer": 12, "n_head": 4, "n_positions": 64},
    ),
    _x("mixtral", "MixtralForCausalLM", "MixtralConfig", _IDS, **_LLAMA, num_local_experts=8),
    _x("llama", "LlamaForCausalLM", "LlamaConfig", _IDS, **_LLAMA),
    _x("bert", "BertModel", "BertConfig", _IDS, **{**_DEEP, "num_hidden_layers": 12}),
    _x(
        "whisper",
        "WhisperModel",
        "WhisperConfig",
        given(input_features=numbers(1, 16, 64), decoder_input_ids=words(1, 8)),
        **_HALVES,
        **_WHISPER,
    ),
    _x(
        "clip",
        "CLIPModel",
        "CLIPConfig",
        given(input_ids=words(1, 16), pixel_values=numbers(1, 3, 32, 32)),
        **_CLIP,
    ),
    _x("wav2vec2", "Wav2Vec2Model", "Wav2Vec2Config", given(input_values=numbers(1, 4000)), **_WAV2VEC2),
    _x(
        "mamba",
        "MambaForCausalLM",
        "MambaConfig",
        _IDS,
        **{"vocab_size": 100, "hidden_size": 64, "num_hidden_layers": 8, "state_size": 8},
    ),
    _x("qwen_moe", "Qwen3MoeForCausalLM", "Qwen3MoeConfig", _IDS, **_QWEN),
    Entry(
        "nn_transformer6",
        lambda: nn.Transformer(64, 4, 6, 6, 128, batch_first=True),
        given(numbers(1, 10, 64), numbers(1, 8, 64)),
    ),
    Entry(
        "smp_unet34",
        by_name("segmentation_models_pytorch", "Unet", encoder_name="resnet34", encoder_weights=None),
        _IMAGE,
    ),
    Entry("monai_unet_deep", by_name("monai.networks.nets", "UNet", **_MONAI), given(numbers(1, 1, 64, 64))),
    Entry(
        "pyg_gat",
        by_name("torch_geometric.nn", "GAT", in_channels=16, hidden_channels=32, num_layers=4, out_channels=7, heads=4),
        given(numbers(20, 16), lambda: torch.randint(0, 20, (2, 50))),
    ),
    Entry(
        "df_sdunet",
        by_name("diffusers", "UNet2DConditionModel", **_SD),
        given(numbers(1, 4, 32, 32), whole(1), numbers(1, 8, 64)),
    ),
    Entry(
        "df_dit",
        by_name("diffusers", "DiTTransformer2DModel", **_DIT),
        given(hidden_states=numbers(1, 4, 8, 8), timestep=whole(1), class_labels=whole(1)),
    ),
    Entry("timm_davit", by_name("timm", "create_model", model_name="davit_tiny", pretrained=False), _IMAGE),
    Entry("own_unet", lambda: UNet(16, 32, 64, 128, 256), given(numbers(1, 3, 128, 128))),
    Entry("own_dlrm", DLRM, given(numbers(4, 13), lambda: torch.randint(0, 50, (6, 4, 3)))),
    Entry("own_seq2seq", Seq2Seq, given(words(1, 6), words(1, 5))),
    Entry("own_vae", VAE, given(numbers(2, 1, 28, 28)), same_inputs=True),
    Entry("own_dcgan", dcgan, given(numbers(1, 100, 1, 1))),
    Entry("own_siamese", Siamese, given(numbers(1, 1, 28, 28), numbers(1, 1, 28, 28))),
    Entry("own_heads", Heads, given(lambda: {"image": torch.randn(2, 32), "text": torch.randn(2, 16)})),
]
MODELS = {entry.name: entry for entry in (*text.ENTRIES, *vision.ENTRIES, *science.ENTRIES, *DEEP)}
