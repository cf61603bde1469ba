"""Answers of an engine as layouts."""

from __future__ import annotations

import json

from torchrecorder.layout.layered import arranged


def test_a_skip_that_hardly_turns_at_its_end_stays_in_the_picture() -> None:
    body = {"name": "cluster_1", "bb": "25,980,325,1385", "_gvid": 0, "class": "box"}
    first = {"name": "n0", "pos": "187,1213", "width": "3.2", "height": "0.47", "label": "layer1", "_gvid": 1}
    last = {"name": "n1", "pos": "446,955", "width": "1.8", "height": "0.47", "label": "inner_blocks.0", "_gvid": 2}
    curve = "87,1195 76,1190 66,1182 58,1172 29,1132 -60,1108 66,980 87,958.3 269,955.2 373.3,955.19"
    skip = {"tail": 1, "head": 2, "class": "skip", "pos": f"e,380.6,955.2 {curve}"}
    answer = {"bb": "0,900,500,1400", "objects": [body, first, last], "edges": [skip]}
    layout = arranged(json.dumps(answer))
    (line,) = layout.lines
    assert len(line.curve) == 10, "it is led beside the box"
    assert all(-500 < x < 1000 for x, _ in line.curve)
    assert layout.width < 800
