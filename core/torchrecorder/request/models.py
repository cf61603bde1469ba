"""A list of models as a directive or a fence has it: options, then a model in each line with options of its own.

:columns: name, parameters, flops
:as: grid
pkg.resnet18 shape=1,3,224,224 tags="classification"
pkg.unet(width=8) title="U-Net" shape=1,3,64,64
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import dropwhile, takewhile

from torchrecorder.errors import did_you_mean
from torchrecorder.request.reading import Body, read_header
from torchrecorder.request.requests import OPTIONS
from torchrecorder.request.targets import is_pattern

COLUMNS = {
    "name": "Model",
    "picture": "Picture",
    "parameters": "Parameters",
    "trainable": "Trainable",
    "flops": "FLOPs",
    "memory": "Activations",
    "input": "Input",
    "output": "Output",
    "depth": "Depth",
    "layers": "Layers",
    "paper": "Paper",
    "licence": "Licence",
    "tags": "Tags",
}
"""The columns that a table of models may have, each with its head."""
NUMBERS = ("parameters", "trainable", "flops", "memory", "depth")
"""Those of numbers, which end below one another."""
USUAL_COLUMNS = ("name", "picture", "parameters", "flops", "input", "output")
FEWEST_MODELS = 2
"""In a table of the models that a page describes: one has its picture there."""
FORMS = ("table", "grid")
_OF_DIAGRAMS = frozenset(option.name for option in OPTIONS)
_OF_LIST = ("as", "columns", "caption", "name", "class")
"""Options of the list itself; the others hold for all of its models."""


@dataclass(frozen=True, slots=True)
class ListedModel:
    body: Body
    title: str = ""
    """What it is called, in place of the name of its class."""
    tags: tuple[str, ...] = ()
    """Words that readers choose models by."""


@dataclass(frozen=True, slots=True)
class ModelList:
    models: tuple[ListedModel, ...]
    columns: tuple[str, ...] = USUAL_COLUMNS
    is_grid: bool = False

    @staticmethod
    def of_targets(targets: Iterable[str]) -> ModelList | None:
        """A list with the usual columns; None of too few for a table."""
        models = tuple(ListedModel(Body(target)) for target in targets)
        return ModelList(models) if len(models) >= FEWEST_MODELS else None

    @staticmethod
    @lru_cache(maxsize=1024)  # front ends ask at each event of a build
    def of(body: Body) -> ModelList:
        """The list that a body holds: its options, and a model in each line of its legend.

        What is wrong with the list stands in the place of a model, which says it where it is.
        """
        options = dict(body.options)
        own = {name: options.pop(name, None) for name in _OF_LIST}
        columns, problems = _columns(own["columns"])
        for name in [name for name in options if name not in _OF_DIAGRAMS]:
            del options[name]
            advice = did_you_mean(
                name, (*_OF_LIST, *_OF_DIAGRAMS), f"known are {', '.join(_OF_LIST)}, and those of a diagram"
            )
            problems = (*problems, f"unknown option {name!r}, {advice}")
        form = own["as"] or FORMS[0]
        if form not in FORMS:
            problems = (*problems, f"as: {form!r} is neither table nor grid")
        listed = [_listed(line, options) for line in body.legend if line.strip()]
        if not listed:
            problems = (*problems, "no model is named: write one in each line, as in `pkg.Net shape=1,3,64,64`")
        faults = [ListedModel(Body("", fault=problem)) for problem in (*body.problems, *problems)]
        return ModelList((*faults, *listed), columns, form == FORMS[1])


def read_list(lines: Iterable[str], options: Mapping[str, str | None] | None = None) -> Body:
    """Body of a list of models, whose legend has its lines."""
    rows = [*dropwhile(lambda line: not line.strip(), lines)]
    head = [*takewhile(lambda line: line.lstrip().startswith(":"), rows)]
    body = Body.read(["", *head], "models", options)
    return replace(body, target="", legend=tuple(line.strip() for line in rows[len(head) :] if line.strip()))


def _listed(line: str, common: Mapping[str, str | None]) -> ListedModel:
    body = read_header(line)
    options = {**common, **body.options}
    title, tags = options.pop("title", None) or "", options.pop("tags", None) or ""
    words = tuple(word.strip() for word in tags.split(",") if word.strip())
    return ListedModel(replace(body, options=options, is_listed=is_pattern(body.target)), title, words)


def _columns(text: str | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The columns that a text names, and what is wrong with it."""
    if not text:
        return USUAL_COLUMNS, ()
    names = text.replace(",", " ").lower().split()
    known = tuple(dict.fromkeys(name for name in names if name in COLUMNS))
    unknown = [name for name in names if name not in COLUMNS]
    there_are = f"there are {', '.join(COLUMNS)}"
    problems = tuple(f"columns: unknown column {name!r}, {did_you_mean(name, COLUMNS, there_are)}" for name in unknown)
    return known or USUAL_COLUMNS, problems
