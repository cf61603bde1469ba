"""Edits of models of transformers, described as a reviewer would."""

from __future__ import annotations

import time
from typing import Any

import pytest
import torch

from torchrecorder import capture, diff
from torchrecorder.graph import Graph, from_json, to_json

pytestmark = pytest.mark.transformers


def recorded(library: Any, name: str, **settings: Any) -> Graph:
    config = getattr(library, f"{name}Config")(**settings)
    net = getattr(library, f"{name}Model")(config).eval()
    return capture(net, (torch.zeros(1, 16, dtype=torch.long),))


@pytest.mark.filterwarnings("default")
def test_bert_grows_and_becomes_roberta() -> None:
    library = pytest.importorskip("transformers")
    small = {"hidden_size": 64, "intermediate_size": 256, "num_attention_heads": 4}
    bert = recorded(library, "Bert", **small, num_hidden_layers=12)
    more = diff(bert, recorded(library, "Bert", **small, num_hidden_layers=24))
    assert [change.text for change in more.changes] == ["12 → 24 BertLayer"]
    roberta = recorded(library, "Roberta", **small, num_hidden_layers=12, vocab_size=50265)
    texts = [from_json(to_json(graph)) for graph in (bert, roberta)]
    start = time.process_time()
    words = diff(*texts).text
    assert time.process_time() - start < 2
    for line in (
        "~ 9 classes Bert… → Roberta…, such as BertEmbeddings → RobertaEmbeddings",
        "~ embeddings.word_embeddings: num_embeddings 30522 → 50265",
        "+ embeddings: create_position_ids_from_input_ids() added",
    ):
        assert line in words
