"""What a parameter of some name usually holds."""

from __future__ import annotations

import re

ROLES = {
    "time": r"t|times?|timesteps?|steps?|time_?steps?|sigmas?|noise_(level|labels?)|log_snr",
    "length": r"(.*_)?(lengths?|lens?)",
    "mask": r"(.*_)?masks?",
    "edges": r"(.*_|hyper)?edge_index|edges|edge_label_index",
    "weight": r"(hyper)?edge_weights?",
    "attributes": r"edge_(attrs?|attributes|features?)",
    "kind": r"(edge|node)_types?|type_vec",
    "group": r"batch(_index|_idx)?",
    "adjacency": r"adj|adjacency(_matrix)?",
    "place": r"pos|coords|coordinates|normals?",
    "element": r"z|atomic_numbers",
    "categories": r"x_cat(eg|egorical)?|cat(egorical|_features)?|categ",
    "numbers": r"x_(cont|num|continuous|numer(ical)?)|cont(inuous)?|num(erical)?(_features)?",
}
"""What a parameter of some name usually holds, where several of them go together."""
GRAPH = {"edges", "weight", "attributes", "kind", "group", "adjacency", "place", "element"}
TABLE = {"categories", "numbers"}

ALONE = {
    "grid": r".*grid_thw",
    "time": r".*timesteps?.*|.*_times?|r|fps|.*_step",
    "mask": r".*mask.*",
    "distances": r"(.*_)?pos_embs?(_\w+)?",
    "index": r"(.*_)?(index|indices|labels?|class_labels|y)",
    "words": r"(.*_)?(ids|tokens?|token_ids?|words|text|phonemes|characters|tgt|trg|target_ids)(_\d)?|input_ids.*",
    "picture": r"(.*_)?(images?|imgs?|pixel_values|pictures?|frames|heatmap|depth|moving|fixed|cond)_?\d?",
    "sound": r"(.*_)?(wavs?|waveforms?|audio(_\w+)?|signals?|mix(ture)?|speech|noisy|sounds?)(_\d)?",
    "spectrogram": r"(.*_)?(spec(tro)?grams?|mels?)",
    "pooled": r"(.*_)?(pooled|global)_.*|(.*_)?vec(tor)?",
    "sizes": r"(.*_)?(original|target|image|input)(_\w+)?_sizes?|crop_coords\w*|spatial_shapes?",
    "context": r"encoder_.*|context.*|memory|.*hidden_states.*|.*embed(ding)?s?|.*_embs?|.*features",
}
"""The same for parameters that stand alone; the first that fits.

In nets for speech, `pos_emb` has a row for each distance between two frames, of which there are 2T - 1.
"""


def role_of(name: str, tables: tuple[dict[str, str], ...] = (ROLES,)) -> str:
    """The role of a parameter, if its name says it."""
    known = ((role, pattern) for table in tables for role, pattern in table.items())
    return next((role for role, pattern in known if re.fullmatch(pattern, name.lower())), "")
