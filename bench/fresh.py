"""One figure that needs a process of its own, printed as JSON: `python bench/fresh.py peak bert record`.

The peak is that of the process image (`VmHWM`): what `getrusage` says begins with the memory of the parent.
"""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

sys.path[:0] = [str(Path(__file__).parent.parent)]

from tests.corpus.torchvision_ops import define_missing_operators  # noqa: E402
from torchrecorder import capture  # noqa: E402
from torchrecorder.graph import to_json  # noqa: E402

Case = tuple[nn.Module, tuple[Tensor, ...], dict[str, Tensor]]


def main() -> None:
    """Measure what the arguments say."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    define_missing_operators()
    what, *rest = sys.argv[1:]
    with torch.no_grad():
        print(json.dumps(_peak(*rest) if what == "peak" else _large()))


def _peak(name: str, variant: str) -> float:
    """MiB at the peak of a process that runs one forward, plain or recorded."""
    model, args, kwargs = CASES[name]()
    model.eval()
    _ = model(*args, **kwargs) if variant == "plain" else capture(model, args, kwargs)
    return _resident()


def _large() -> dict[str, Any]:
    import transformers

    config = transformers.LlamaConfig(
        hidden_size=8192, intermediate_size=28672, num_hidden_layers=80, num_attention_heads=64, num_key_value_heads=8
    )
    with torch.device("meta"):
        model = transformers.LlamaForCausalLM(config).eval()
    before, start = _resident(), time.process_time()
    graph = capture(model, (), {"input_ids": torch.ones(1, 16, dtype=torch.long)})
    cpu = time.process_time() - start
    return {"cpu": cpu, "mib": _resident() - before, "mb": len(to_json(graph)) / 1e6, "on": graph.info.executed}


def _resident() -> float:
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def _bert() -> Case:
    import transformers

    ids = torch.randint(0, 30000, (8, 384))
    return transformers.BertModel(transformers.BertConfig()), (), {"input_ids": ids}


def _resnet() -> Case:
    import torchvision

    return torchvision.models.resnet50(weights=None), (torch.randn(16, 3, 224, 224),), {}


CASES: dict[str, Callable[[], Case]] = {"bert": _bert, "resnet50": _resnet}

if __name__ == "__main__":
    main()
