"""What a recording costs, in ratios to the plain forward of the same run: `nox -s bench -- record`.

Nothing here is a test. The figures depend on the machine and on what else it does; the ratios do less so.
"""

from __future__ import annotations

import importlib
import resource
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path[:0] = [str(Path(__file__).parent.parent)]

from tests.corpus.torchvision_ops import define_missing_operators  # noqa: E402
from torchrecorder import capture  # noqa: E402
from torchrecorder.graph import to_json  # noqa: E402

Case = tuple[str, nn.Module, tuple[Any, ...], dict[str, Any]]


def main() -> None:
    """Print the ratios, the growth with the number of ops, and the cost of a model too large for memory."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    with torch.no_grad():
        _ratios()
        _growth()
        _large()


def _ratios(rounds: int = 5) -> None:
    ratios = []
    for name, model, args, kwargs in _models():
        model.eval()
        ops = len(capture(model, args, kwargs).ops)
        times = [_both(model, args, kwargs) for _ in range(rounds)]
        plain, recorded = (min(column) for column in zip(*times, strict=True))
        ratios.append(recorded / plain)
        print(f"{name:10} {ops:5} ops  plain {plain * 1e3:6.0f} ms  record / plain {ratios[-1]:.2f}", flush=True)
    print(f"median {statistics.median(ratios):.2f}")


def _models() -> Iterator[Case]:
    define_missing_operators()
    transformers, vision = importlib.import_module("transformers"), importlib.import_module("torchvision.models")
    ids = {"input_ids": torch.randint(0, 30000, (1, 128))}
    yield "BERT", transformers.BertModel(transformers.BertConfig()), (), ids
    yield "GPT-2", transformers.GPT2LMHeadModel(transformers.GPT2Config()), (), ids
    for name in ("vit_b_16", "resnet50", "swin_t"):
        yield name, getattr(vision, name)(weights=None), (torch.randn(1, 3, 224, 224),), {}


class _Chain(nn.Module):
    def __init__(self, length: int) -> None:
        super().__init__()
        self.length = length

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(self.length):
            x = x + 1
        return x


def _growth() -> None:
    for length in (1_000, 10_000, 100_000):
        plain, recorded = _both(_Chain(length), (torch.ones(2, 3),), {})
        print(f"{length:6} ops  {(recorded - plain) / length * 1e6:5.1f} µs more per op")


def _large() -> None:
    transformers = importlib.import_module("transformers")
    config = transformers.LlamaConfig(
        hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8
    )
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config).eval()
    before = _resident()
    start = time.process_time()
    graph = capture(model, (), {"input_ids": torch.ones(1, 16, dtype=torch.long)})
    cpu = time.process_time() - start
    print(
        f"Llama 70B on {graph.info.executed}: {cpu:.1f} s CPU, {_resident() - before:.0f} MiB more at the peak of the"
    )
    print(f"process, {len(to_json(graph)) / 1e6:.2f} MB of JSON, {len(graph.ops)} ops")


def _both(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[float, float]:
    return _seconds(lambda: model(*args, **kwargs)), _seconds(lambda: capture(model, args, kwargs))


def _seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def _resident() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
