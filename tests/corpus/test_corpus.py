"""Real models of other people: the graph is enough to compute them, and no layer call is missing."""

from __future__ import annotations

import os

import pytest
import torch

from tests.core.recording.test_models import leaf_calls
from tests.corpus import science, text, vision
from tests.corpus.entry import Entry
from tests.truth.other_inputs import other_inputs
from tests.truth.replay import replay
from torchrecorder.graph.codec import problems

os.environ.setdefault("HF_HUB_OFFLINE", "1")

ORDINARY = ("hf_bert", "hf_t5", "hf_vit", "hf_mae", "nn_mha", "nn_transformer")
"""What runs with the other tests; `nox -s bench -- corpus` sets the variable that adds the rest."""

ENTRIES = [
    pytest.param(entry, marks=[pytest.mark.transformers] if entry.name.startswith("hf_") else [])
    for entry in (*text.ENTRIES, *vision.ENTRIES, *science.ENTRIES)
    if os.environ.get("TORCHRECORDER_CORPUS") or entry.name in ORDINARY
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_real_model_is_recorded_whole(entry: Entry) -> None:
    try:
        model, args, kwargs = entry.load()
    except ImportError as error:
        pytest.skip(f"{entry.name} needs a package: {error}")
    graph = replay(model, args, kwargs, None if entry.same_inputs else other_inputs(args, kwargs))
    assert problems(graph) == []
    with torch.no_grad():
        hooked = leaf_calls(model, args, kwargs)
    leaves = set(hooked)
    assert [call.module for call in graph.calls if call.module in leaves] == hooked


def test_the_whole_corpus_is_there() -> None:
    names = [entry.name for entry in (*text.ENTRIES, *vision.ENTRIES, *science.ENTRIES)]
    assert len(names) == len(set(names)) == 68
    assert set(ORDINARY) <= set(names)
