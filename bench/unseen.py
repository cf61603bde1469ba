"""Models that no rule of pictures is tuned on: chosen by a rule, frozen before the work, and most of them held back.

    python bench/unseen.py draw 97 35      # so many names of the zoo, by a seed, and the nets of no list yet; once
    python bench/unseen.py names 61 work   # those that rules may be tried on
    python bench/unseen.py names 97 held   # and those that are looked at when the rules are ready
    python bench/unseen.py record 61 work FOLDER   # their recordings, for `bench -- pictures graphs=FOLDER`

`unseen.tsv` has a line for each; of seed 61 every other one is `work`, of later seeds all are `held`. Besides names of
the zoo, whose inputs are guessed, equally many of each library, and of the next where one has too few left, they are
nets in the style of repositories, `own/…`. What the last libraries lack is shared by those that have names left; before
that rule, seed 433 had 27 names of the 35 asked for. A name of the zoo is passed over if its model cannot be built
here, if no input is found, if fewer than `LAYERS` of its layers have parameters, if it is in another list, or if a
model of its class is in the draw already; seed 251, before that rule, has four DenseNets.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Iterator
from importlib import import_module
from itertools import islice
from pathlib import Path

import torch

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "core")]

from bench import (  # noqa: E402
    held_131_sequences,
    held_131_vision,
    held_173_sequences,
    held_173_vision,
    held_211_sequences,
    held_211_vision,
    held_251_sequences,
    held_251_vision,
    held_283_sequences,
    held_283_vision,
    held_317_sequences,
    held_317_vision,
    held_359_sequences,
    held_359_vision,
    held_397_sequences,
    held_397_vision,
    held_433_sequences,
    held_433_vision,
    held_467_sequences,
    held_467_vision,
    held_503_sequences,
    held_503_vision,
    held_541_sequences,
    held_541_vision,
    held_577_sequences,
    held_577_vision,
    held_613_sequences,
    held_613_vision,
    held_647_sequences,
    held_647_vision,
    held_sequences,
    held_vision,
)
from bench import unseen_sequences as sequences  # noqa: E402
from bench import unseen_vision as vision  # noqa: E402
from bench.guesses import recorded  # noqa: E402
from tests.corpus.entry import Entry, given, numbers, ones, whole, words  # noqa: E402
from torchrecorder import capture  # noqa: E402
from torchrecorder.graph import to_json  # noqa: E402

FILE = Path(__file__).with_suffix(".tsv")
LAYERS = 5
"""With fewer there is little to draw."""
LIBRARIES = (
    *("torchvision", "timm", "segmentation_models_pytorch", "transformers", "x_transformers", "diffusers"),
    *("torch_geometric", "monai", "torchaudio", "speechbrain"),
)
"""Those of the zoo but for kornia, whose modules are filters."""
_OF_LISTS = {
    **{"tv": "torchvision", "smp": "segmentation_models_pytorch", "x": "transformers", "hf": "transformers"},
    **{"df": "diffusers", "pyg": "torch_geometric"},
}
"""How the lists that rules were tuned on call libraries."""
_OTHERWISE = {
    *("torchvision/mobilenet_v3_small", "torchvision/shufflenet_v2_x0_5", "torchvision/quantized_googlenet"),
    *("timm/vit_tiny_patch16_224", "timm/levit_128s", "timm/hrnet_w18_small"),
    *("timm/res2net50_26w_4s", "segmentation_models_pytorch/MAnet.resnet18"),
    *("segmentation_models_pytorch/Unet.resnet18", "segmentation_models_pytorch/Unet+resnet18"),
    *("transformers/gemma3_text", "transformers/qwen3_moe", "transformers/time_series_transformer"),
    *("transformers/vit_mae", "diffusers/AutoencoderKL", "diffusers/DiTTransformer2DModel", "diffusers/VQModel"),
    *("diffusers/SD3Transformer2DModel", "diffusers/UNet2DConditionModel", "diffusers/UNet2DModel"),
    *("torch_geometric/models.GAT", "torch_geometric/models.GCN", "torch_geometric/models.GraphSAGE"),
    *(f"monai/{name}.{d}d" for name in ("AttentionUnet", "SegResNet", "UNETR", "UNet") for d in (2, 3)),
    *("torchaudio/Conformer", "torchaudio/ConvTasNet", "torchaudio/conv_tasnet_base", "torchaudio/Emformer"),
    "speechbrain/lobes.models.ECAPA_TDNN.ECAPA_TDNN",
}
"""Models of those lists under names of their own, as the zoo calls them. The first list did not know of them."""


def _series(*names: str) -> dict[str, torch.Tensor]:
    return {name: torch.randn(2, 6) for name in names}


def _keypoints() -> dict[str, torch.Tensor]:
    return {
        **{f"keypoints{i}": torch.rand(1, n, 2) * 480 for i, n in enumerate((40, 36))},
        **{f"scores{i}": torch.rand(1, n) for i, n in enumerate((40, 36))},
        **{f"descriptors{i}": torch.randn(1, 64, n) for i, n in enumerate((40, 36))},
    }


def _plays() -> dict[str, torch.Tensor]:
    first = torch.tensor([[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]] * 2)
    return {"image": torch.rand(2, 6, 3, 32, 32), "action": torch.randn(2, 6, 4), "is_first": first}


def _clicks() -> dict[str, torch.Tensor]:
    one, many = (lambda n: torch.randint(1, n, (2,))), (lambda n: torch.randint(1, n, (2, 7)))
    return {
        **{"item": one(200), "category": one(20), "user": one(100)},
        **{"hist_items": many(200), "hist_categories": many(20)},
    }


NETS = [
    Entry("own/efficientdet", vision.EfficientDetLite, given(numbers(1, 3, 128, 128))),
    Entry("own/pan_detector", vision.PANDetector, given(numbers(1, 3, 128, 128))),
    Entry("own/hourglass", vision.PoseNet, given(numbers(1, 3, 64, 64))),
    Entry("own/pspnet", vision.PSPNet, given(numbers(1, 3, 64, 64))),
    Entry("own/stn", vision.STN, given(numbers(2, 1, 28, 28))),
    Entry("own/srresnet", vision.SRResNet, given(numbers(1, 3, 16, 16))),
    Entry("own/stylegan", vision.StyleGenerator, given(numbers(2, 64))),
    Entry("own/flownet", vision.FlowNetC, given(numbers(1, 3, 64, 64), numbers(1, 3, 64, 64))),
    Entry("own/byol", vision.BYOL, given(numbers(2, 3, 32, 32), numbers(2, 3, 32, 32))),
    Entry("own/slot_attention", vision.ObjectDiscovery, given(numbers(1, 3, 16, 16))),
    Entry("own/ddpm", vision.DiffusionUNet, given(numbers(1, 3, 16, 16), whole(3))),
    Entry("own/convlstm", vision.VideoPredictor, given(numbers(1, 4, 1, 16, 16))),
    Entry("own/linknet", vision.LinkNet, given(numbers(1, 3, 64, 64))),
    Entry("own/gmlp", vision.GMLPVision, given(numbers(1, 3, 32, 32))),
    Entry("own/jepa", vision.JEPA, given(numbers(1, 3, 32, 32), whole(0, 1, 2, 3), whole(8, 9))),
    Entry("own/conformer", sequences.SpeechRecognizer, given(numbers(2, 64, 80), whole(64, 50))),
    Entry("own/crnn", sequences.CRNN, given(numbers(1, 1, 32, 64))),
    Entry("own/transformer_xl", sequences.TransformerXL, given(words(1, 8), lambda: [torch.randn(1, 4, 64)] * 4)),
    Entry(
        "own/bidaf",
        sequences.BiDAF,
        given(words(1, 10), ones(1, 10, 9, dtype=torch.int64), words(1, 5), ones(1, 5, 9, dtype=torch.int64)),
    ),
    Entry("own/deepfm", sequences.DeepFM, given(ones(2, 6, dtype=torch.int64), numbers(2, 5))),
    Entry("own/din", sequences.DeepInterestNetwork, given(_clicks)),
    Entry("own/nbeats", sequences.NBeats, given(numbers(2, 20))),
    Entry(
        "own/tft", sequences.TFT, given(numbers(2, 4), lambda: _series("x0", "x1", "x2"), lambda: _series("x0", "x1"))
    ),
    Entry(
        "own/schnet",
        sequences.SchNet,
        given(
            lambda: torch.randint(1, 20, (9,)),
            numbers(9, 3),
            lambda: torch.randint(0, 9, (2, 30)),
            lambda: torch.tensor([0] * 5 + [1] * 4),
        ),
    ),
    Entry(
        "own/graph_transformer",
        sequences.GraphTransformer,
        given(
            lambda: torch.randint(0, 28, (9,)),
            lambda: torch.randint(0, 4, (30,)),
            lambda: torch.randint(0, 9, (2, 30)),
            numbers(9, 8),
        ),
    ),
    Entry(
        "own/ppo",
        sequences.ActorCritic,
        given(
            lambda: {"image": torch.rand(4, 4, 84, 84), "proprio": torch.randn(4, 9)},
            lambda: (torch.zeros(1, 2, 64), torch.zeros(1, 2, 64)),
            lambda: torch.zeros(4),
        ),
    ),
    Entry("own/muzero", sequences.MuZero, given(numbers(2, 16), lambda: torch.randint(0, 4, (2, 5)))),
    Entry("own/lora_gpt", sequences.LoRAGPT, given(words(1, 16), words(1, 16))),
    Entry("own/glow", sequences.Glow, given(numbers(2, 3, 16, 16))),
    Entry("own/elmo_tagger", sequences.CharCNNTagger, given(ones(1, 7, 10, dtype=torch.int64))),
    Entry("own/raft", held_vision.RAFT, given(numbers(1, 3, 64, 96), numbers(1, 3, 64, 96))),
    Entry("own/nerf", held_vision.NeRF, given(numbers(32, 3), numbers(32, 3))),
    Entry("own/pointnet2", held_vision.PointNet2PartSeg, given(numbers(2, 3, 256))),
    Entry("own/vqvae2", held_vision.VQVAE2, given(numbers(1, 3, 64, 64))),
    Entry("own/slowfast", held_vision.SlowFast, given(numbers(1, 3, 16, 64, 64))),
    Entry("own/superglue", held_vision.SuperGlue, given(_keypoints)),
    Entry("own/u2net", held_vision.U2NetSmall, given(numbers(1, 3, 128, 128))),
    Entry("own/world_model", held_sequences.WorldModel, given(_plays)),
    Entry(
        "own/simulator",
        held_sequences.LearnedSimulator,
        given(lambda: torch.rand(20, 6, 2), lambda: torch.randint(0, 4, (20,))),
    ),
    Entry(
        "own/neural_process",
        held_sequences.AttentiveNeuralProcess,
        given(numbers(2, 8, 1), numbers(2, 8, 1), numbers(2, 20, 1), numbers(2, 20, 1)),
    ),
    Entry("own/pointer_generator", held_sequences.PointerGenerator, given(words(2, 16), words(2, 16), words(2, 6))),
    Entry("own/rwkv", held_sequences.RWKV, given(words(1, 12))),
    Entry(
        "own/evoformer",
        held_sequences.ContactPredictor,
        given(words(1, 12, 21), lambda: torch.randint(0, 21, (1, 5, 12)), ones(1, 12, dtype=torch.bool)),
    ),
    Entry(
        "own/fastspeech2", held_sequences.FastSpeech2, given(whole(0, 2), words(2, 10), whole(10, 7), words(2, 10, 6))
    ),
    Entry("own/albef", held_sequences.ALBEF, given(numbers(3, 3, 32, 32), words(3, 12))),
    *held_131_vision.NETS,
    *held_131_sequences.NETS,
    *held_173_vision.NETS,
    *held_173_sequences.NETS,
    *held_211_vision.NETS,
    *held_211_sequences.NETS,
    *held_251_vision.NETS,
    *held_251_sequences.NETS,
    *held_283_vision.NETS,
    *held_283_sequences.NETS,
    *held_317_vision.NETS,
    *held_317_sequences.NETS,
    *held_359_vision.NETS,
    *held_359_sequences.NETS,
    *held_397_vision.NETS,
    *held_397_sequences.NETS,
    *held_433_vision.NETS,
    *held_433_sequences.NETS,
    *held_467_vision.NETS,
    *held_467_sequences.NETS,
    *held_503_vision.NETS,
    *held_503_sequences.NETS,
    *held_541_vision.NETS,
    *held_541_sequences.NETS,
    *held_577_vision.NETS,
    *held_577_sequences.NETS,
    *held_613_vision.NETS,
    *held_613_sequences.NETS,
    *held_647_vision.NETS,
    *held_647_sequences.NETS,
]
"""Nets of all lists in turn; a list that is drawn has those that no list before it has."""


def main() -> None:
    match sys.argv[1:]:
        case ["draw", seed, count] if not names(seed):
            _draw(seed, int(count))
        case ["names", seed, ("work" | "held") as half]:
            print(*names(seed, half), sep="\n")
        case ["record", seed, ("work" | "held") as half, folder]:
            _record(names(seed, half), Path(folder))
        case _:
            sys.exit(__doc__)


def names(*parts: str) -> list[str]:
    """Models of a seed and a half, or of all."""
    with FILE.open(encoding="utf-8", newline="") as file:
        rows = [[*row.values()] for row in csv.DictReader(file, delimiter="\t")]
    return [model for *row, model in rows if row[: len(parts)] == [*parts]]


def _record(models: list[str], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for net in NETS:
        if net.name in models:
            model, args, kwargs = net.load()
            with torch.no_grad():
                text = to_json(capture(model, args, kwargs))
            (folder / f"{net.name.replace('/', '.')}.json").write_text(text, encoding="utf-8")
    zoo = [name for name in models if not name.startswith("own/")]
    if zoo:  # of no names the whole zoo would be recorded
        recorded(zoo, folder)


def _draw(seed: str, count: int) -> None:
    import_module("tests.corpus.torchvision_ops").define_missing_operators()
    known = import_module("bench.zoo.libraries").LIBRARIES
    others = {*names(), *map(_like, import_module("bench.picture_models").MODELS)}
    chance, classes = random.Random(int(seed)), set[str]()
    fit = {}
    for library in LIBRARIES:
        waiting = sorted({entry.name for entry in known[library]()} - others)
        chance.shuffle(waiting)
        fit[library] = _fit(waiting, classes)
    chosen = [net.name for net in NETS if net.name not in others] + _shared(fit, count)
    chance.shuffle(chosen)
    with FILE.open("a", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows((seed, "held", name) for name in chosen)


def _shared(fit: dict[str, Iterator[str]], count: int) -> list[str]:
    """So many names, equally many of each library; what is lacking in the end is shared by those with names left."""
    chosen: list[str] = []
    while count and fit:
        lacking, libraries = 0, list(fit)
        for i, library in enumerate(libraries):
            share = (count + i) // len(libraries) + lacking
            taken = [*islice(fit[library], share)]
            chosen += taken
            lacking = share - len(taken)
            if lacking:
                del fit[library]
        count = lacking
    return chosen


def _fit(waiting: list[str], classes: set[str]) -> Iterator[str]:
    """Those names, in turn, that can be recorded and are of no class that was drawn before."""
    size = 3  # more at a time where few are fit: each try starts a process
    while waiting:
        tried, waiting, size = waiting[:size], waiting[size:], 2 * size
        results = recorded(tried)
        for name in tried:
            result = results.get(name, {}) if name not in _OTHERWISE else {}
            if result.get("layers", 0) >= LAYERS and result["class"] not in classes:
                classes.add(result["class"])
                yield name


def _like(tuned: str) -> str:
    """The name in the zoo of a model of the other lists, if it is one of the zoo."""
    library, _, name = tuned.partition("_")
    return f"{_OF_LISTS.get(library, library)}/{name}"


if __name__ == "__main__":
    main()
