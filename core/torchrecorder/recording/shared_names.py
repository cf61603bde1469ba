"""Arguments by the names that constructors share in the field: what `in_channels`, `num_heads` or `img_size` may be."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Mapping
from typing import Any

_USUAL: Mapping[str, Any] = {
    # Sizes that go together: a width of 64 has 4 heads and 8 groups, and a picture of 64 has patches of 8.
    r"(in|input|inp|img|image|num_input|n_input|num_in|in_put)_?(ch|chans?|channels?|planes|nc)|channels_in|c_in|nc": 3,
    r"n_leads|num_leads": 12,
    r"(out|output|num_output|n_output)_?(ch|chans?|channels?|planes|nc)|channels_out|c_out": 4,
    r"(n|num|nb)_?(class(es)?|labels?|outputs?|targets?)|classes|n_cls": 4,
    r"spatial_dims?|n_?dims?|num_dims|dimensions?": 2,
    r"(.*_)?(emb(ed)?|embedding|hidden|feature|latent|model|token|inner)_?(dims?|size|features|channels)": 64,
    r"(in|out|input|output|n|num)_?(features?|dims?|size)|features|width|channels?|(n|num)_(filters|channels)": 64,
    r"(query|key|value|context|cond|q|k|v|kv)_?(dims?|size|channels)|planes|filters|base_channels|dim_(in|out)": 64,
    r"(d|n)_?model|n_embd|dims?": 64,
    r"(n|num|nb)?_?(attention_)?heads?|nhead": 4,
    r"(mlp|ff|ffn|feed_?forward|intermediate)_?(dims?|size|hidden_dim)|dim_feedforward|d_ff": 128,
    r"depth|(n|num|nb)_?(hidden_|encoder_|decoder_)?(layers?|blocks?|stages|res_blocks)": 2,
    r"(img|image|input)_?(size|resolution)|resolution": 64,
    r"patch_?size": 8,
    r"kernel_?size|kernel": 3,
    r"stride": 1,
    r"(n|num)?_?(vocab|vocabulary)_?(size)?|num_(embeddings|tokens)|n_(tokens|words)|ntoken": 100,
    r"(max_)?(seq|sequence|context|block)_?(len|length|size)|max_len(gth)?|n_positions|num_frames": 16,
    r"(n_)?groups|num_groups|norm_num_groups": 8,
    r"(.*_)?(dropout|drop)(_?(rate|prob|p|path))?": 0.0,
    r"scale|scale_factor|upscale|reduction|rate|ratio|mlp_ratio|expansion": 2,
    r"bias|(use|with|has)_\w+": True,
}
"""Values by names of parameters, the first that fits; small ones, since a picture shows what is connected."""
_PER_AXIS = r"(img|image|patch|kernel|input)_?size|.*resolution|stride"
"""What has a number for each axis where the annotation wants several; two, as pictures have."""


def usual(parameters: Iterable[inspect.Parameter]) -> dict[str, Any]:
    """Values for those parameters whose names say what they are, and whose annotations agree."""
    found: dict[str, Any] = {}
    for parameter in parameters:
        name, annotation = parameter.name.lower(), _text(parameter.annotation)
        value = next((value for pattern, value in _USUAL.items() if re.fullmatch(pattern, name)), None)
        if value is not None and (fitting := _fitting(value, name, annotation)) is not None:
            found[parameter.name] = fitting
    return found


def _text(annotation: object) -> str:
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation.__name__ if isinstance(annotation, type) else str(annotation).replace("typing.", "")


def _fitting(value: Any, name: str, annotation: str) -> Any:
    """The value as the annotation wants it; None if it wants something else."""
    if not annotation or re.search(r"\bAny\b", annotation):
        return value
    if isinstance(value, bool):
        return value if "bool" in annotation else None
    if re.search(r"\b(int|float)\b(?![^\[]*\])", annotation) and not annotation.startswith(("list", "tuple", "Seq")):
        return value
    if re.search(r"(?i)\b(list|tuple|sequence|iterable)\b", annotation):
        if "str" in annotation:
            return ["A", "B", "C", "D"][: int(value)]
        if "int" in annotation or "float" in annotation:
            return (value, value) if re.fullmatch(_PER_AXIS, name) else None
    return None
