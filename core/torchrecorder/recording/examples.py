"""Arguments to build a model with: its own, else those found where its project shows them: read, never run.

From the surest to the least sure: its docstring; the project's tests, examples, pages and configurations; a class of
the package that takes the same names; the package's own code that builds it; and what the names mean in the field.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from inspect import isabstract
from itertools import islice, tee
from pathlib import Path
from time import thread_time
from types import ModuleType
from typing import Any

import torch
from torch import nn

from torchrecorder.graph.model import Grade
from torchrecorder.recording.inputs import make_tensor
from torchrecorder.recording.machine.weights import switched_off
from torchrecorder.recording.shared_names import classes_around, configured, usual
from torchrecorder.recording.written.reader import Reader
from torchrecorder.recording.written.values import (
    Call,
    Example,
    Made,
    Prepared,
    call_text,
    is_given,
    is_read,
    items_in,
    made,
    mapped,
    value_text,
)
from torchrecorder.request import InputSpec, Target
from torchrecorder.request.callables import docstrings, needed_arguments, parameters_of, required
from torchrecorder.trace.allowed import refused_argument
from torchrecorder.trace.mentions import Place

_OF_A_KIND = 3
"""Ways of one kind that are given: two examples may differ, and the first that works is enough."""
_PATIENCE_S = 30.0
"""Seconds, computed by this thread, after which no other way is tried: a build waits for the answer."""
_BASES = {nn.Module, object}
_LONGEST = 200
"""Characters of the call in a note."""
_MOST_TEXTS = 12
"""Texts with its name in which examples of a class are looked for, those named like it first: parsing takes time."""
_MOST_TABLES = 2_000
"""Values of a configuration that are looked at."""
_NAMES_OF_CLASS = ("_target_", "class_path", "name", "type", "_partial_")
"""Keys by which Hydra, Lightning and others name what they call."""


@dataclass(frozen=True, slots=True)
class Way:
    """Arguments for a class, and where they were found."""

    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    note: str = ""
    """How it is built, for a reader; empty for the arguments of the target itself."""
    grade: Grade = "declared"
    """`declared` where this call is written, `model` where the package implies it, `names` where only names do."""
    place: str = ""
    """The file and line, as `tests/test_net.py:12`, if it is from one."""
    file: Path | None = None
    calls: tuple[Call, ...] = ()
    """Arguments with which the object is called there."""
    prepared: tuple[Prepared, ...] = ()
    """What is set in the object there before."""
    is_instead: bool = False
    """Whether it is for the case alone that the one before it cannot be built."""
    cls: type | None = None
    """For which the project was searched in vain before."""

    def depend(self) -> None:
        """Have the recording depend on the text with the arguments, or on all that may get some."""
        if self.file is not None:
            with suppress(OSError):
                self.file.read_bytes()
        elif self.cls is not None:
            depend_on_search(self.cls)

    def called(self, builder: Callable[..., object]) -> object:
        """The result of calling the builder, with the objects among the arguments made anew, and prepared."""
        built = builder(*made(self.args), **{name: made(value) for name, value in self.kwargs.items()})
        generator = torch.Generator().manual_seed(0)

        def tensor(value: Any) -> Any:
            return make_tensor(value, generator) if isinstance(value, InputSpec) else made(value)

        for name, args, kwargs in self.prepared:
            with suppress(Exception):  # it may be meant for other devices; without it, the forward says what it wants
                getattr(built, name)(*mapped(args, tensor), **mapped(kwargs, tensor))
        return built


def ways(
    target: Target, builder: Callable[..., object], *, is_common: bool = False, is_trial: bool = False
) -> Iterator[Way]:
    """Arguments to call a class or function with, each to be tried if those before it do not work.

    Args:
        target: Has the arguments; without brackets, others are looked for where none are refused.
        builder: What it names.
        is_common: Whether the arguments are meant for several classes, of which one takes those that it has.
        is_trial: Whether the class is only tried: names may suggest what an author who names it would say.
    """
    kwargs = _accepted(builder, target.kwargs) if is_common else target.kwargs
    given = Way(target.args, kwargs)
    yield from (given, *_without_weights(builder, given)) if not target.called else (given,)
    if is_common and (target.args or kwargs) and not needed_arguments(builder):
        yield Way(note="built without arguments, since it cannot be built with those of its pattern")
    start = thread_time()
    if isinstance(builder, type) and (is_common or not target.called):
        for way in arguments_found(builder):
            if way.grade != "names" or is_trial:
                yield way
            if thread_time() - start > _PATIENCE_S:
                break
        depend_on_search(builder)


def _accepted(builder: object, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments that the builder names, itself or in a class that it hands the others to."""
    names: set[str] = set()
    for holder in builder.__mro__ if isinstance(builder, type) else (builder,):
        if holder in (nn.Module, object):
            break
        parameters = parameters_of(vars(holder).get("__init__") if isinstance(holder, type) else holder)
        if parameters is None:
            continue
        names |= {parameter.name for parameter in parameters}
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            break
    return {name: value for name, value in kwargs.items() if name in names}


def arguments_found(cls: type) -> Iterator[Way]:
    """Arguments that may build a class, the most trusted first; each is looked for when it is asked for."""
    seen: set[str] = set()
    place = _place(cls)
    near = tee(_as_near(cls, place))
    kinds = (
        *(_written(cls, place), _of_sibling(cls, near[0]), _in_package(cls, place), _configured(cls)),
        *(_as_near_and_by_names(cls, near[1]), _by_names(cls)),
    )
    for kind in kinds:
        with suppress(Exception):  # classes of others may answer any question with an exception
            yield from islice(_new(kind, cls, seen), _OF_A_KIND)


def _new(ways: Iterable[Way], cls: type, seen: set[str]) -> Iterator[Way]:
    """Those that were not given before, and that read no files and fetch nothing."""
    for written in ways:
        for way in (written, *_without_weights(cls, written)):
            text = call_text("", way.args, way.kwargs) + "".join(name for name, *_ in way.prepared)
            if text not in seen and not refused_argument(Target("", None, way.args, {**way.kwargs}), cls):
                seen.add(text)
                yield way


def _without_weights(builder: object, way: Way) -> list[Way]:
    """The same with no weights asked for, which may not be there; none if none are asked for."""
    off = switched_off(builder, way.kwargs)
    said = f"with {', '.join(f'{name}={value}' for name, value in off.items())}, since a picture needs no weights"
    note = f"{way.note}, {said}" if way.note else f"built {said}"
    return [replace(way, kwargs={**way.kwargs, **off}, note=note, is_instead=True)] if off else []


def depend_on_search(cls: type) -> None:
    """Have the recording depend on all texts that may show arguments of a class."""
    if (place := _place(cls)) is not None:
        place.note(cls.__name__)


def _place(cls: type) -> Place | None:
    file = getattr(sys.modules.get(cls.__module__), "__file__", None)
    top = cls.__module__.partition(".")[0]
    return Place.of(file, top) if file and top != "torch" else None


def _near(cls: type) -> str:
    """Words of the names of a class and its module, as the name of a file with tests for it has them."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", cls.__name__).lower()
    return f"{cls.__module__.rpartition('.')[2]}_{words}_{cls.__name__.lower()}"


def _written(cls: type, place: Place | None) -> Iterator[Way]:
    """How its docstring and its project build it: first where it is used, too, with what is written out."""
    others: list[Way] = []
    for way in _shown(cls, place):
        if way.prepared or any(is_given([args, kwargs]) for _, args, kwargs in way.calls):
            yield way
        else:
            others.append(way)
    yield from others


def _shown(cls: type, place: Place | None) -> Iterator[Way]:
    for text in docstrings(cls):
        yield from _ways(cls, _on_page(cls, text))
    if place is not None:
        for path, text in islice(place.examples(cls.__name__, _near(cls)), _MOST_TEXTS):
            yield from _ways(cls, _in_text(cls, path, text), path, place.shown(path))


def _in_package(cls: type, place: Place | None) -> Iterator[Way]:
    """How the package itself builds it: in factories, in subclasses, as a part of others."""
    if place is None:
        return
    by_file = {vars(it).get("__file__"): it for it in list(sys.modules.values()) if isinstance(it, ModuleType)}
    for path, text in place.examples(cls.__name__, _near(cls), is_source=True):
        if (module := by_file.get(str(path))) is not None:
            yield from _ways(cls, _in_text(cls, path, text, vars(module)), path, place.shown(path))


def _in_text(cls: type, path: Path, text: str, known: Mapping[str, Any] | None = None) -> list[Example]:
    """Examples in one file: calls in Python code, also between other text, and tables of configurations."""
    with suppress(Exception):  # it may be any text, and what cannot be read shows nothing
        if path.suffix in (".yaml", ".yml", ".json"):
            # YAML is there where configurations are written in it.
            load = json.loads if path.suffix == ".json" else importlib.import_module("yaml").safe_load
            return [Example((), table, 0) for table in _tables(load(text))]
        if path.suffix == ".py":
            reader = Reader(cls, known)
            reader.read(text)
            return reader.examples
        return _on_page(cls, text)
    return []


def _on_page(cls: type, text: str) -> list[Example]:
    """Examples in the blocks of code of a page or docstring, and behind its prompts."""
    found: list[Example] = []
    for code in _code_in(text):
        reader = Reader(cls)
        with suppress(SyntaxError):
            reader.read(code)
        found += reader.examples
    return found + Reader(cls).prompts(text).examples


_INDENTED = r".*\n(?P<code>(?:\1[ \t]+\S.*(?:\n|\Z)|[ \t]*\n)+)"
"""The rest of a line, and the lines below that lie deeper."""


def _code_in(text: str) -> Iterator[str]:
    """The blocks of Python code without prompts in a page, each below as many lines as stand before it."""
    fenced = re.finditer(r"^([ \t]*)(?:```|~~~)[ {]*py[^\n]*\n(?P<code>.*?)^\1(?:```|~~~)", text, re.M | re.S)
    blocks = re.finditer(rf"^([ \t]*)\.\. (?:code\S*|testcode)::{_INDENTED}", text, re.M)
    literal = re.finditer(rf"^([ \t]*)(?:\w.*::|Examples?:)[ \t]*{_INDENTED}", text, re.M)
    for block in (*fenced, *blocks, *literal):
        code = re.sub(r"^[ \t]*:[\w-]+:.*$", "", block["code"], flags=re.M)
        if not code.lstrip().startswith(">>>"):
            yield "\n" * text.count("\n", 0, block.start("code")) + textwrap.dedent(code)


def _tables(value: object) -> Iterator[dict[str, Any]]:
    """The mappings in a configuration, without the keys by which frameworks name what they call."""
    waiting = [value]
    for each in islice(waiting, _MOST_TABLES):  # which grows
        if isinstance(each, dict):
            yield {name: item for name, item in each.items() if name not in _NAMES_OF_CLASS}
            waiting += each.values()
        waiting += each if isinstance(each, list) else []


def _ways(cls: type, examples: Iterable[Example], path: Path | None = None, shown: str = "") -> Iterator[Way]:
    """Those of some examples that give all that is needed; first those that are read whole, and show inputs."""
    taken = parameters_of(cls) or ()
    needed = {it.name for it in required(taken)}
    places = [it.name for it in taken if it.kind in (it.POSITIONAL_ONLY, it.POSITIONAL_OR_KEYWORD)]
    is_open = any(it.kind is it.VAR_KEYWORD for it in taken)
    found: dict[str, tuple[bool, bool, Way]] = {}
    for example in examples:
        kwargs = {name: it for name, it in example.kwargs.items() if is_read(it)}
        left_out = [name for name in example.kwargs if name not in kwargs]
        is_known = is_open or {*kwargs} <= {it.name for it in taken}
        covered = {*places[: len(example.args)], *kwargs}
        if not is_known or not needed <= covered or not is_read(example.args) or (not example.line and not needed):
            continue
        key = call_text(cls.__name__, example.args, kwargs) + "".join(name for name, *_ in example.prepared)
        calls = tuple((f"{shown}:{it[0]}" if path else "", it[1], it[2]) for it in example.calls)
        if key in found:  # the same object, called with something else
            is_last, is_silent, way = found[key]
            found[key] = is_last, is_silent, replace(way, calls=(*way.calls, *calls))
            continue
        text = call_text(cls.__name__, example.args, kwargs)
        text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
        text += f", without {', '.join(left_out)}" if left_out else ""
        at = f"{shown}:{example.line}" if example.line and path else shown
        note = f"built as in {at}: {text}" if path else f"built as in an example of its docstring: {text}"
        prepared = tuple({it[0]: it for it in example.prepared}.values())
        note += "".join(f", then {name}(…)" for name, *_ in prepared)
        way = Way(example.args, kwargs, note, "declared", at, path, calls, prepared)
        is_silent = not prepared and not any(is_given([*it[1:]]) for it in example.calls)
        wants_weights = any(value and re.search("pretrain|weights|checkpoint", name) for name, value in kwargs.items())
        found[key] = bool(left_out) or wants_weights, is_silent, way
    yield from (way for *_, way in sorted(found.values(), key=lambda it: it[:2]))


def _siblings(cls: type) -> list[type]:
    """The modules that the package defines, as far as it is imported: those of the same file first."""
    top = f"{cls.__module__.partition('.')[0]}."
    own = [
        it
        for it in classes_around(cls)
        if issubclass(it, nn.Module) and f"{it.__module__}.".startswith(top) and it is not cls
    ]
    return sorted(own, key=lambda it: (it.__module__ != cls.__module__, it.__module__, it.__qualname__))


def _of_sibling(cls: type, near: Iterable[Way]) -> Iterator[Way]:
    """What one class of the package takes by default for all that is needed, or one near it is built with."""
    needed = {it.name for it in required(parameters_of(cls))}
    for sibling in _siblings(cls) if needed else ():
        defaults = {it.name: it.default for it in parameters_of(sibling) or () if it.name in needed}
        if {*defaults} == needed and all(_is_plain(it) for it in defaults.values()):
            text = call_text(cls.__name__, (), defaults)
            yield Way((), defaults, f"built with what {sibling.__name__} takes by default: {text}", "model", cls=cls)
    for way in near:
        if {*way.kwargs} == needed:
            yield way


def _as_near(cls: type, place: Place | None) -> Iterator[Way]:
    """Arguments of classes near one, as far as it needs them, too."""
    needed = {it.name for it in required(parameters_of(cls))}
    near = (it for it in _siblings(cls) if it.__module__ == cls.__module__ or {*it.__mro__} & {*cls.__mro__} - _BASES)
    for sibling in islice(near, _OF_A_KIND) if needed else ():
        for way in islice(_written(sibling, place), _OF_A_KIND):
            kwargs = {name: value for name, value in way.kwargs.items() if name in needed}
            text = call_text(cls.__name__, (), kwargs)
            docstring = f"an example in the docstring of {sibling.__name__}"
            where = f"{way.place}, where {sibling.__name__} is" if way.place else docstring
            yield replace(
                way, args=(), kwargs=kwargs, note=f"built as in {where}: {text}", grade="model", calls=(), cls=cls
            )


def called_near(cls: type) -> Iterator[Call]:
    """Arguments that classes of the package with the same forward are called with: first those it derives from.

    The forward of a container, which is built of any parts, says nothing of inputs.
    """
    place, forward = _place(cls), getattr(cls, "forward", None)
    owner = next((it for it in cls.__mro__ if vars(it).get("forward") is forward), cls)
    has_own = any("__init__" in vars(it) for it in owner.__mro__ if it not in nn.Module.__mro__)
    is_container = has_own and any(it.kind is it.VAR_POSITIONAL for it in parameters_of(owner) or ())
    same = [] if is_container else [it for it in _siblings(cls) if getattr(it, "forward", None) is forward]
    same.sort(key=lambda it: it not in cls.__mro__)
    for near in islice(same, _OF_A_KIND) if place is not None else ():
        depend_on_search(near)
        for way in islice(_written(near, place), _OF_A_KIND):
            yield from way.calls


def _as_near_and_by_names(cls: type, near: Iterable[Way]) -> Iterator[Way]:
    """Arguments of classes near one, with usual values for the other parameters, by their names."""
    for way in near:
        left = [it for it in required(parameters_of(cls)) if it.name not in way.kwargs]
        found = usual(left)
        if way.kwargs and left and len(found) == len(left):
            text = ", ".join(f"{name}={value_text(value)}" for name, value in found.items())
            note = f"{way.note}, with {text}, as the names suggest"
            yield replace(way, kwargs={**way.kwargs, **found}, note=note, grade="names")


def _configured(cls: type) -> Iterator[Way]:
    """A configuration with its defaults, where its class is known, and what the names of other parameters suggest."""
    configs = configured(cls)
    left = [it for it in required(parameters_of(cls)) if it.name not in configs]
    others = usual(left)
    if configs and not isabstract(cls) and len(others) == len(left):
        given = {**configs, **others}
        is_by_names = bool(others) or any(isinstance(it, Made) and it.kwargs for it in items_in([*configs.values()]))
        with_ = "and what names suggest" if is_by_names else "alone"
        text = call_text(cls.__name__, (), given)
        note = f"built with the defaults of its configuration {with_}: {text}"
        yield Way((), given, note, "names" if is_by_names else "model", cls=cls)


def _is_plain(value: object) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and all(map(_is_plain, value))
    return isinstance(value, (int, float, str))


def _by_names(cls: type) -> Iterator[Way]:
    """What the names of parameters usually stand for, in the package or else in the field."""
    needed = required(parameters_of(cls))
    found = usual(needed)
    if needed and not isabstract(cls) and len(found) == len(needed):
        text = call_text(cls.__name__, (), found)
        yield Way((), found, f"built with what the names of its parameters suggest: {text}", "names", cls=cls)
