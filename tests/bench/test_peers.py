"""The list of models that recording is measured on beside other tools, and the figures that are made of it."""

from __future__ import annotations

import os
from collections.abc import Iterator

from bench import peers, unseen


def test_the_list_has_fifty_models_that_can_be_had() -> None:
    names = peers.LIST.read_text(encoding="utf-8").split()
    assert len({*names}) == len(names) == 50
    assert {*names} <= {*peers.CORPUS, *unseen.names()}


def test_a_tool_that_records_a_model_faster_counts_and_one_that_cannot_does_not() -> None:
    found = {
        "small": {"plain": 0.001, "ours": 0.008, "torchview": 0.012, "torchvista": 0.007},
        "large": {"plain": 0.050, "ours": 0.060, "torchview": 0.065},
        "large too": {"plain": 0.040, "ours": 0.050, "torchvista": 0.056},
    }
    reached = {figure.what: figure.reached for figure in peers._rows(found)}
    assert reached["record / forward, 3 models, all: ours, median"] == 1.25
    assert reached["record / forward, 2 models, >= 30 ms: ours, median"] == (1.2 + 1.25) / 2
    assert reached["of 3 models, those that another tool records faster"] == 1
    assert reached["of 3 models, those that torchvista cannot record"] == 1


def test_figures_of_a_model_that_ends_its_process_are_a_sentence() -> None:
    assert peers._in_child(_ended, "any") == "it ended"
    assert peers._in_child(_raised, "any") == "ValueError: no such thing"


def _ended(name: str) -> Iterator[peers.Seconds]:
    os._exit(3)
    yield {}


def _raised(name: str) -> Iterator[peers.Seconds]:
    raise ValueError("no such thing")
    yield {}
