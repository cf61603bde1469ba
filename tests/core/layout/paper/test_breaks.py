"""Where names and facts go on in the next line: an index and the `2D` of a class stay whole."""

from __future__ import annotations

import pytest

from torchrecorder.layout.paper.breaks import in_facts, in_names


@pytest.mark.parametrize(
    ("name", "pieces"),
    [
        ("GlmImageTransformer2DModel", ["Glm", "Image", "Transformer2D", "Model"]),
        ("PyramidResNet50Encoder", ["Pyramid", "Res", "Net50", "Encoder"]),
    ],
)
def test_a_name_is_broken_where_a_word_begins(name: str, pieces: list[str]) -> None:
    atoms = [text for _, text in in_names([name])]
    assert "".join(atoms) == name
    starts = {len("".join(pieces[:i])) for i in range(len(pieces))}
    assert {len("".join(atoms[:i])) for i in range(len(atoms))} <= starts
    assert len(atoms) > 1


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Linear 1536→1536", ["Linear", "1536→1536"]),
        ("norm_q[:, 8:, :, :] × cos_of_angles", ["norm_q[:, 8:, :, :]", "× cos_of_angles"]),
        ("norm_q[:, 8:, :, :, :]", ["norm_q[:, 8:, :, :, :]"]),
    ],
)
def test_facts_are_broken_behind_classes_and_not_in_an_index(text: str, lines: list[str]) -> None:
    assert [line.strip() for line in in_facts(text, 60.0, 10.5)] == lines
