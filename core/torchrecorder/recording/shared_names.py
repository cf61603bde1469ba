"""Names that a field shares: what a parameter of a forward holds, what an argument of a constructor may be.

A configuration that a model is built with is of the class that an annotation names, or that is named like the model.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from inspect import Parameter
from types import ModuleType
from typing import Any, get_args

from torch import nn

from torchrecorder.recording.written.values import Made
from torchrecorder.request.callables import parameters_of, required

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
"""Usual values of parameters by name, where several of them go together."""
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
        name, said = parameter.name.lower(), parameter.annotation
        annotation = "" if said is parameter.empty else said.__name__ if isinstance(said, type) else str(said)
        value = next((value for pattern, value in _USUAL.items() if re.fullmatch(pattern, name)), None)
        if value is not None and (fitting := _fitting(value, name, annotation.replace("typing.", ""))) is not None:
            found[parameter.name] = fitting
    return found


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


_HOLDS_ONE = re.compile(r"(.*_)?(config(uration)?|cfg|conf|h?params|args|opts?|options|settings)")
"""Names of parameters that hold a configuration."""
_IS_ONE = re.compile(r"(?P<of>\w*?)_?(Config(uration)?|Cfg|Conf|H?Params|Args|Arguments|Options|Settings)")
"""Names of classes that are one, each with what it is for."""
_PLAIN = {
    *("builtins", "typing", "collections", "omegaconf", "inspect", "argparse", "types", "easydict", "ml_collections"),
}
"""Homes of classes that say nothing of the fields of a configuration."""
_DEEPEST = 3
"""Configurations within one another."""


def configured(cls: type) -> dict[str, Made]:
    """Configurations for those parameters of a class that hold one and have no other value, by their names."""
    found = {}
    for parameter in parameters_of(cls, evaluated=True) or ():
        if parameter.default in (Parameter.empty, None) and parameter.kind is not Parameter.VAR_KEYWORD:
            made = (made for config in _classes_for(cls, parameter) if (made := _made(config)) is not None)
            if (first := next(made, None)) is not None:
                found[parameter.name] = first
    return found


def _made(config: type, deep: int = 0) -> Made | None:
    """An object of the class with its defaults, and what the names of its other fields suggest; None if that fails."""
    needed = required(parameters_of(config, evaluated=True))
    found: dict[str, Any] = usual(needed)
    for field in needed if deep < _DEEPEST else ():
        for inner in _classes_in(field.annotation) if field.name not in found else ():
            if _is_config(inner) and (made := _made(inner, deep + 1)) is not None:
                found[field.name] = made
    return Made(config, (), found) if len(found) == len(needed) else None


def _classes_for(cls: type, parameter: Parameter) -> Iterator[type]:
    annotated = [it for it in _classes_in(parameter.annotation) if it.__module__.partition(".")[0] not in _PLAIN]
    like = [*_named_like(cls)] if _HOLDS_ONE.fullmatch(parameter.name) or any(map(_is_config, annotated)) else []
    for config in like:
        if not annotated or issubclass(config, (*annotated,)):
            yield config
    yield from filter(_is_config, annotated)


def _classes_in(annotation: Any) -> Iterator[type]:
    """The classes that an annotation allows, without what they are containers of."""
    if isinstance(annotation, type) and annotation not in (Parameter.empty, type(None)):
        yield annotation
    elif getattr(annotation, "__origin__", None) not in (list, tuple, dict, set):
        for part in get_args(annotation):
            yield from _classes_in(part)


def _is_config(cls: type) -> bool:
    """Whether making an object of a class sets fields and does no more, as far as its kind and name say."""
    if issubclass(cls, nn.Module) or cls.__module__.partition(".")[0] in ("torch", "builtins"):
        return False
    is_of_fields = is_dataclass(cls) or any(hasattr(cls, it) for it in ("model_fields", "__attrs_attrs__"))
    return is_of_fields or any(_IS_ONE.fullmatch(base.__name__) for base in cls.__mro__)


def _named_like(cls: type) -> Iterable[type]:
    """Configurations of the package that are named like a class, the longest name first; else the one beside it."""
    own = [it for it in classes_around(cls) if _IS_ONE.fullmatch(it.__name__) and _is_config(it)]
    stem = cls.__name__.lower()
    names = {it: _IS_ONE.sub(r"\g<of>", it.__name__).lower() for it in own}
    like = [it for it, name in names.items() if name and (stem.startswith(name) or name.startswith(stem))]
    like.sort(key=lambda it: -len(names[it]))
    beside = [it for it in own if vars(sys.modules[cls.__module__]).get(it.__name__) is it]
    return like or beside[: len(beside) == 1]


def classes_around(cls: type) -> list[type]:
    """The classes in the modules of its package, as far as those are imported."""
    top = f"{cls.__module__.partition('.')[0]}."
    modules = [it for name, it in [*sys.modules.items()] if f"{name}.".startswith(top) and isinstance(it, ModuleType)]
    held: list[type] = [it for module in modules for it in [*vars(module).values()] if issubclass(type(it), type)]
    return [*dict.fromkeys(held)]
