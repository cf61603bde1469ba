"""Other inputs than those that a forward refused, from what it said and how far it came.

The message of an exception, the line that raised it and the layer that was called say what was wrong: the size of an
axis, the number of axes, integers where numbers were wanted, an argument that was left out.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from torchrecorder.graph import Graph
from torchrecorder.graph.model import Call
from torchrecorder.recording.blame import Blame, all_said, computed_from, says
from torchrecorder.recording.guess import layers, rules
from torchrecorder.recording.guess.docstrings import documented
from torchrecorder.recording.guess.guess import Guess, configured, is_flag, leaf_at, leaves, parameters, placed
from torchrecorder.recording.guess.roles import following, input_for, masked
from torchrecorder.recording.shared_names import ROLES, role_of
from torchrecorder.request import InputSpec

Values = Mapping[str, Any]
"""Inputs by the names of parameters, each an `InputSpec` or what is passed as it is."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """The answer of a forward to inputs that it did not accept."""

    cause: str
    """The exception as `Type: message`, its first line."""
    traceback: str
    graph: Graph | None
    """What had been recorded by then."""
    blame: Blame = field(default_factory=Blame)

    @property
    def call(self) -> Call | None:
        """The call of a layer that raised."""
        failure = self.graph.info.failure if self.graph else None
        return self.graph.calls[failure.call] if self.graph and failure and failure.call is not None else None


def repairs(model: nn.Module, guess: Guess, refusal: Refusal, batch: int) -> Iterator[Guess]:
    """Guesses that differ from a refused one in what the error is about, the likeliest first."""
    names = [p.name for p in parameters(model) if p.kind is p.POSITIONAL_OR_KEYWORD]
    positional = [spec for spec in guess.specs if spec.name is None]
    if guess.arguments is not None or len(positional) > len(names):
        return
    named = {spec.name: spec for spec in guess.specs if spec.name}
    values: dict[str, Any] = {**dict(zip(names, positional, strict=False)), **named, **guess.fixed}
    for changed in _changes(model, values, refusal, batch):
        if not any(_is_a_crowd(new, values.get(name)) for name, new in changed.items()):
            new = placed(values, {**following(values, changed), **changed})
            yield Guess.named(guess.why.removesuffix(_TOLD) + _TOLD, new, guess.grade)


_MOST_EXAMPLES = 8
"""The first axis of what a repair makes, if another was refused: what fits as a batch of 512 was not meant so."""


def _is_a_crowd(new: object, old: object) -> bool:
    # A mask may have no axis for examples.
    if not isinstance(new, InputSpec) or new.dtype == "bool" or len(new.shape) < 2 or new.shape[0] <= _MOST_EXAMPLES:
        return False
    return not isinstance(old, InputSpec) or new.shape[:1] != old.shape[:1]


_TOLD = ", and from what its forward raised"


def _changes(model: nn.Module, values: Values, refusal: Refusal, batch: int) -> Iterator[Values]:
    cause = refusal.cause
    said = f"{cause}\n{refusal.traceback[-_LINES:]}"
    named = (configured(model, word) for word in all_said("names attributes", cause))
    sizes = " ".join((cause, *(str(size) for size in named if type(size) is int)))
    specs = leaves(values)
    graph, call = refusal.graph, refusal.call
    read = computed_from(graph, call.inputs.values()) if graph and call else ()
    at_layer = {leaf_at(path, specs) for path in read}
    blamed = [*dict.fromkeys(name for path in refusal.blame.inputs if (name := leaf_at(path, specs)))]
    nearest = {name: place for place, name in enumerate(blamed)}
    far = len(nearest)
    suspects = sorted(specs, key=lambda name: (name not in at_layer, not _mentions(said, name)))
    suspects.sort(key=lambda name: (not _mentions(cause, name), nearest.get(name, far)))
    likely = [name for name in suspects if name in nearest or _mentions(cause, name)]
    if says("beyond", cause):
        yield from _within_tables(model, values)
    yield from _with_as_many_placeholders(model, values, cause)
    yield from _in_dictionaries(model, values, cause, batch)
    yield from _of_choice(model, values, cause, said)
    if says("dtypes differ", cause):
        yield from ({name: spec} for name in suspects for spec in rules.with_integers(specs[name], cause, False))
    elif says("left out", cause):
        yield from _added(model, values, said, batch, refusal.blame.absent)
    if says("match", cause):
        yield from _as_long_as_computed(specs, cause, refusal.graph)
    if says("wants a size", cause):
        for name in likely or suspects:
            yield from _with_alike(name, rules.with_sizes(specs[name], cause, False), specs, likely or suspects)
    yield from _multiplied(specs, cause, said)
    yield from _switched(model, values, f"{cause}\n{refusal.traceback}")
    yield from _like_another(specs, cause, blamed)
    yield from _of_layer(model, {name: specs[name] for name in likely or suspects}, refusal, batch)
    sized = (rules.with_room, rules.with_sizes) if says("small", cause) else (rules.with_sizes, rules.with_room)
    for names in (likely, [name for name in suspects if name not in likely]):
        for rule in (rules.with_integers, rules.with_axes, *sized):
            for name in names:
                yield from _with_alike(name, rule(specs[name], sizes, _mentions(cause, name)), specs, likely)
        if names is likely:
            yield from _added(model, values, said, batch, refusal.blame.absent)


def _multiplied(specs: Mapping[str, InputSpec], cause: str, said: str) -> Iterator[Values]:
    """Three times an axis where an assertion has a remainder, then a multiple that the error asks for."""
    if cause.startswith("AssertionError") and "%" in said.partition("assert ")[2]:
        for name, spec in specs.items():
            for axis in range(1, len(spec.shape)):
                yield {name: rules.resized(spec, axis, 3 * spec.shape[axis])}
    for name, spec in specs.items():
        yield from ({name: longer} for longer in rules.with_multiple(spec, cause))


def _within_tables(model: nn.Module, values: Values) -> Iterator[Values]:
    """Indices of an example, which may be of a larger table than that of the model."""
    rows = [module.num_embeddings for module in model.modules() if isinstance(module, nn.Embedding)]
    for name, value in values.items() if rows else ():
        if isinstance(value, Tensor) and not value.is_floating_point() and int(value.max()) >= min(rows):
            yield {name: value % min(rows)}


_MOST_PLACEHOLDERS = 1 << 13
"""Tokens in the place of a picture; above it, an error counted the numbers in its features, not the features."""


def _with_as_many_placeholders(model: nn.Module, values: Values, cause: str) -> Iterator[Values]:
    """Rows of indices in which what stands for features stands as often as the error says that there are features."""
    found = says("counts placeholders", cause)
    said = next((int(count) for count in found.groups() if count), 0) if found else 0
    tables = [(m.num_embeddings, m.embedding_dim) for m in model.modules() if isinstance(m, nn.Embedding)]
    width = max(tables, default=(0, 1))[1]  # the largest is that of words, as wide as a feature
    counts = [said // width] * (said % width == 0) + [said] * (said <= _MOST_PLACEHOLDERS)
    rows = {name: value for name, value in values.items() if isinstance(value, Tensor) and value.dim() == 2}
    for wanted, row in product(counts, rows.values()) if said else ():
        tokens = row[0].tolist()
        for token in dict.fromkeys(token for token in tokens if tokens.count(token) not in (1, wanted // len(row))):
            before = tokens.index(token)
            others = [place for place, other in enumerate(tokens) if other != token and place > before]
            places = [*range(before), *[before] * (wanted // len(row)), *others]
            yield {name: other[:, places] for name, other in rows.items() if other.shape == row.shape}


def _with_alike(
    name: str, found: Iterator[InputSpec], specs: Mapping[str, InputSpec], among: Collection[str]
) -> Iterator[Values]:
    """Each input in place of one, and then in place of all that have its shape: two pictures that are compared."""
    alike = [other for other in among if specs[other].shape == specs[name].shape]
    for spec in found:
        yield {name: spec}
        if len(alike) > 1:
            yield {other: replace(specs[other], shape=spec.shape) for other in alike}


_PARTS = 4
"""Tensors in what a forward takes apart by index."""


def _of_choice(model: nn.Module, values: Values, cause: str, said: str) -> Iterator[Values]:
    """One of the values that the error lists for a parameter, several tensors for one that is taken apart."""
    if choices := says("lists choices", cause):
        yield from ({name: int(choices[1])} for name, value in values.items() if type(value) is int and name in cause)
    if word := says("lists words", cause):
        texts = [p.name for p in parameters(model) if _mentions(cause, p.name) and "Tensor" not in str(p.annotation)]
        yield from ({name: word[1]} for name in texts if name != word[1])
    if (count := says("unpacks", cause)) or says("one part", cause):
        line = said.rstrip().rpartition("\n")[0]  # above the exception
        taken_apart = r"(, [\w, ]+ = {0}|\b{0}\[[\w-]+\].*)$" if count is None else r", [\w, ]+ = {0}$"
        for name, value in values.items():
            if isinstance(value, InputSpec) and re.search(taken_apart.format(name), line, re.MULTILINE):
                yield {name: (value,) * (int(count[1]) if count else _PARTS)}
    if says("row of a table", cause):  # numbers that are made indices: columns of categories beside others
        rows = {name: it for name, it in values.items() if isinstance(it, InputSpec) and it.dtype == "float32"}
        yield from ({name: torch.zeros(spec.shape)} for name, spec in rows.items())
    if says("list ends", cause):
        many = {name: value for name, value in values.items() if isinstance(value, (list, tuple)) and value}
        yield from ({name: value * 2} for name, value in many.items())
    if says("mapping", cause):
        free = [p for p in parameters(model) if p.name not in values]
        yield from ({p.name: {}} for p in free if "dict" in str(p.annotation).lower())


def _like_another(specs: Mapping[str, InputSpec], cause: str, blamed: Collection[str]) -> Iterator[Values]:
    """The axes of another input, beside which one was put that has other axes."""
    large = [spec for spec in specs.values() if len(spec.shape) > 2]
    batch = next(iter(specs.values())).shape[:1] if specs else ()
    specs = {name: specs[name] for name in blamed} or specs
    if large and says("one axis", cause):  # a number for each frame of each example
        rows = {name: replace(spec, shape=large[0].shape[:2]) for name, spec in specs.items() if len(spec.shape) == 1}
        yield from ({name: spec} for name, spec in rows.items())
        yield rows
    if found := says("resizes", cause):
        sides = tuple(map(int, found[2].split(",")))
        for name, spec in specs.items():
            if spec.shape[-1:] == (int(found[1]),):
                yield {name: replace(spec, shape=(*batch, 1, *sides), dtype="float32", high=None)}
    if found := says("axes differ", cause):
        counts = {int(count) for count in found.groups() if count}
    elif says("must match", cause):
        counts = set(range(3, 6))
    else:
        return
    flat = {name: spec for name, spec in specs.items() if len(spec.shape) == 2 and spec.dtype == "float32"}
    if counts == {2, 3} and flat:  # rows of features where sequences were wanted
        yield {name: replace(spec, shape=(spec.shape[0], 16, spec.shape[1])) for name, spec in flat.items()}
    first = next((spec for spec in large if len(spec.shape) in counts), None)
    for name, spec in specs.items():
        if first is None or spec is first or len(spec.shape) not in counts or spec.shape == first.shape:
            continue
        if spec.dtype == "bool":
            yield {name: replace(spec, shape=(first.shape[0], 1, *first.shape[2:]), dtype="float32")}
        elif spec.dtype == "float32":
            yield {name: replace(spec, shape=first.shape)}


_LINES = 400
"""Characters at the end of a traceback: the line that raised, and the one that called it."""


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def _added(model: nn.Module, values: Values, said: str, batch: int, absent: Collection[str] = ()) -> Iterator[Values]:
    """Arguments with a default: those in the line that raised, all and each, those that the error names, others."""
    taken = parameters(model)
    if (key := says("key", said)) and any(p.kind is p.VAR_KEYWORD for p in taken):
        taken = [*taken, inspect.Parameter(key[1], inspect.Parameter.KEYWORD_ONLY, default=None)]
    free = [p for p in taken if p.name not in values and not is_flag(p)]
    main = next(iter(leaves(values).values()), InputSpec((batch, 16)))
    if key:
        of_names = [p.name for p in free if "dict" in str(p.annotation).lower()]
        item = input_for(inspect.Parameter(key[1], inspect.Parameter.KEYWORD_ONLY), model, main, batch)
        yield from ({name: {key[1]: replace(item, name=None)}} for name in of_names if isinstance(item, InputSpec))
    needed = [p for p in free if p.name in absent]
    named = [p for p in free if _mentions(said, p.name) and p not in needed]
    like = [p for p in free if ("Tensor" in str(p.annotation) or p.annotation is p.empty) and p not in named + needed]
    # A mask that is added comes further, though nothing is better: it is asked for, or left out.
    masks = [p for p in like if role_of(p.name, (ROLES,)) == "mask"]
    like = [p for p in like if p not in masks] + (masks if says("left out", said) else [])
    shown = documented(model, batch)
    for chosen in (needed, *([p] for p in needed), *([p] for p in named), named, *([p] for p in like[:4]), like):
        if chosen:
            added = {p.name: shown.get(p.name) or input_for(p, model, main, batch) for p in chosen}
            all_values = {**values, **added}
            known = [p.name for p in taken if p.name in all_values]
            found = masked({name: all_values[name] for name in [*known, *all_values]})
            yield {name: found[name] for name in added}


def _in_dictionaries(model: nn.Module, values: Values, cause: str, batch: int) -> Iterator[Values]:
    """A dictionary for a tensor that is asked for names, and what is missing in it."""
    if says("asks for names", cause):
        yield from ({name: {}} for name, value in values.items() if isinstance(value, InputSpec))
    main = next((one.spec for one in layers.accepted(model, batch)), InputSpec((batch, 16)))
    held = {name: value for name, value in values.items() if isinstance(value, dict)}
    for key in all_said("quotes", cause) if held else ():
        found = input_for(inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY), model, main, batch)
        if isinstance(found, InputSpec):
            found = replace(found, name=None)
        yield from ({name: {**value, key: found}} for name, value in held.items() if key not in value)


def _switched(model: nn.Module, values: Values, said: str) -> Iterator[Values]:
    """`use_cache=False` where the error speaks of a cache: what is on by default needs more than is there."""
    for p in parameters(model):
        option = re.fullmatch(r"(?:use|with|enable|do|apply)_(\w+)", p.name)
        is_on = p.default is None or p.default is True
        if option and is_on and p.name not in values and "bool" in str(p.annotation) and option[1] in said.lower():
            yield {p.name: False}
        if p.default is False and p.name not in values and _mentions(said.partition("\n")[0], p.name):
            yield {p.name: True}  # what the error recommends


def _of_layer(model: nn.Module, specs: Mapping[str, InputSpec], refusal: Refusal, batch: int) -> Iterator[Values]:
    """What the layer takes that raised, for the inputs that went into it as they are."""
    graph, call = refusal.graph, refusal.call
    layer = dict(model.named_modules()).get(call.module) if call else None
    if graph is None or call is None or layer is None or layer is model:
        return
    by_value = {value: path for path, value in graph.inputs.items()}
    for value in call.inputs.values():
        seen = value
        while (producer := graph.values[seen].producer) is not None and len(graph.ops[producer].inputs) == 1:
            seen = graph.ops[producer].inputs[0]
        name = leaf_at(by_value.get(seen, ""), specs)
        if name in specs:
            for main in layers.accepted(layer, batch):
                if seen == value or main.spec.dtype != specs[name].dtype:
                    yield {name: main.spec}


def _as_long_as_computed(specs: Mapping[str, InputSpec], cause: str, graph: Graph | None) -> Iterator[Values]:
    """Rows as long as what had been computed when the forward raised, for the input whose name the error says."""
    if graph is None or not graph.ops:
        return
    for name, spec in specs.items():
        if not _mentions(cause, name) and not _mentions(cause, name.removesuffix("s")):
            continue
        for value in graph.ops[-1].outputs:
            meta = graph.values[value].meta
            sizes = tuple(size for size in meta.shape[:2] if isinstance(size, int)) if meta else ()
            if len(sizes) == 2 and sizes != spec.shape:
                yield {name: replace(spec, shape=sizes, dtype="int64", high=1)}
