"""Diagrams of documented classes for which no page writes a directive or a fence: which get one, with which options.

A site says it by patterns over dotted names, in which `*` stands for any text, and a class by a field in its docstring:

    {"pkg.models.*": {"arguments": "width=8", "shape": "1,3"}, "pkg.functional.*": False}
    :torchrecorder: shape=1,3,32,32 depth=2

Both front ends read both here, so that they mean the same in every tool.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from torchrecorder.errors import near_miss
from torchrecorder.request.options import read_yes_no
from torchrecorder.request.reading import Body, as_text, read_words_of_options, site_options
from torchrecorder.request.targets import matches, parse_target

_EVERYTHING = "*"
_PATTERN = re.compile(r"[\w.*]+")
_FIELD = re.compile(r":torchrecorder:(?:\s+(?P<text>.*))?")
_OF_ONE_FIGURE = ("caption", "name")

_KINDS = {
    kind: re.compile(rf"(?:.*\.)?(?:{modules})\..*|.*(?:{endings})")
    for kind, modules, endings in (
        ("a loss", r"loss(es)?|criteri(a|on|ons)", r"Loss(es)?|Criterion"),
        ("a metric", r"metrics?|torchmetrics", r"Metrics?"),
        ("an augmentation", r"augment(ations?|ers?|ors?)?", r"Augment(ation|er|or)"),
        ("an optimizer", r"optim|optimi[sz]ers?", r"Optimi[sz]er"),
        ("a scheduler", r"(lr_)?schedulers?", r"Scheduler"),
    )
}
"""Kinds of classes that show no architecture, by the names of modules for them, and the ends of their own."""


def why_not_tried(names: Iterable[str]) -> str:
    """Kind of a class of which no picture is made unasked; empty if it may have one.

    Args:
        names: The dotted names of the class, by which it is documented and where it is defined, and those of its bases.
    """
    names = [*names]
    kinds = (kind for kind, words in _KINDS.items() if any(map(words.fullmatch, names)))
    return f"it is {kind}" if (kind := next(kinds, "")) else ""


def why_class_not_tried(name: str, cls: Any) -> str:
    """The same of a class that is there, by its documented name; also that it is abstract."""
    if inspect.isabstract(cls):
        return f"it is abstract: {', '.join(sorted(cls.__abstractmethods__))}"
    bases = getattr(cls, "__mro__", ())
    return why_not_tried((name, *(f"{base.__module__}.{base.__qualname__}" for base in bases)))


@dataclass(frozen=True, slots=True)
class DocstringField:
    text: str
    line: int
    """Line of the docstring, counted from 0."""

    @staticmethod
    def take(lines: list[str]) -> DocstringField | None:
        """The field in the lines of a docstring; empty lines take its place, so that the others keep their numbers.

        Only one that is not indented counts: an indented one is an example.
        """
        for start, line in enumerate(lines):
            if (match := _FIELD.fullmatch(line.rstrip())) is None:
                continue
            end = start + 1
            while end < len(lines) and lines[end][:1].isspace() and lines[end].strip():
                end += 1
            text = " ".join([match["text"] or "", *(more.strip() for more in lines[start + 1 : end])]).strip()
            lines[start:end] = [""] * (end - start)
            return DocstringField(text, start)
        return None


@dataclass(frozen=True, slots=True)
class Rule:
    """Options of the classes that a pattern or a field is for."""

    draws: bool = True
    is_tried: bool = False
    """Whether a class that cannot be drawn is left out without a warning."""
    is_ranked: bool = False
    """Whether it is left out, too, if its picture would tell readers little."""
    arguments: str = ""
    """Text in the brackets of the target."""
    options: Mapping[str, str | None] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    pattern: str = ""
    """Empty if a class says it itself."""

    def exactness(self) -> tuple[bool, int]:
        """The greatest for a whole name, then for the longest one."""
        return "*" not in self.pattern, len(self.pattern.replace("*", ""))

    def body(self, name: str, obstacle: str, defined: str = "") -> Body:
        target = f"{name}({self.arguments})" if self.arguments else name
        return Body(
            target, self.options, self.problems, (), self.pattern, self.is_tried, self.is_ranked, obstacle, defined
        )


@dataclass(frozen=True, slots=True)
class Rules:
    """Rules of a site for all its documented classes."""

    by_pattern: tuple[Rule, ...] = ()

    @staticmethod
    def read(written: object) -> tuple[Rules, tuple[str, ...]]:
        """Rules of a setting, and what is wrong with it; what is wrong is left out."""
        if isinstance(written, bool) or written is None:
            return Rules((Rule(is_tried=True, is_ranked=True, pattern=_EVERYTHING),) if written else ()), ()
        if not isinstance(written, Mapping):
            return Rules(), (f'{written!r} is not valid: write True, or {{"pkg.models.*": {{"shape": "1,3"}}}}',)
        rules: list[Rule] = []
        problems: list[str] = []
        for pattern, value in written.items():
            if not isinstance(pattern, str) or _PATTERN.fullmatch(pattern) is None:
                advice = "write a dotted name, in which * stands for any text"
                problems.append(f"{pattern!r} is not a valid pattern: {advice}")
                continue
            rule = _read_rule(value)
            problems += [f"{pattern!r}: {problem}" for problem in rule.problems]
            # `"pkg.losses.*": True` asks for all that can be drawn, `True` for what is worth it.
            is_ranked = rule.is_tried and (pattern == _EVERYTHING or (rule.is_ranked and "*" in pattern))
            rules.append(replace(rule, pattern=pattern, problems=(), is_ranked=is_ranked))
        return Rules(tuple(rules)), tuple(problems)

    def body(self, names: Sequence[str], own: str | None, obstacle: str = "", defined: str = "") -> Body | None:
        """Body for a documented class; None if it gets no diagram.

        Args:
            names: Its dotted name, then the others by which packages offer it.
            own: The field in its docstring; None if it has none.
            obstacle: Why it is not even tried unasked, if that is known.
            defined: Its name where it is defined, by which a build knows that it has it by another.
        """
        matching = (rule for rule in reversed(self.by_pattern) if any(matches(rule.pattern, name) for name in names))
        rule = max(matching, key=Rule.exactness, default=Rule(False))
        if own is not None:
            rule = _joined(rule, read_field(own))
        if not rule.draws:
            return None
        return rule.body(names[0], obstacle, defined)

    def problems(self, classes: Mapping[str, bool]) -> Iterator[str]:
        """Problems of the patterns, given each documented class and whether it may be an `nn.Module`."""
        tops = {name.partition(".")[0] for name in classes}
        unknown: dict[str, list[str]] = {}
        for rule in self.by_pattern:
            matched = [name for name in classes if matches(rule.pattern, name)]
            if rule.pattern == _EVERYTHING or any(classes[name] for name in matched):
                continue
            if not matched and (top := rule.pattern.partition(".")[0]) not in tops:
                unknown.setdefault(top, []).append(rule.pattern)
            elif not matched:
                yield f"{rule.pattern!r} matches no documented class{_near(rule.pattern, classes)}"
            elif rule.draws and not rule.is_tried:
                which = matched[0] if len(matched) == 1 else f"each of the {len(matched)} classes of {rule.pattern!r}"
                yield f"{which} is something else than a torch.nn.Module"
        for patterns in unknown.values():  # a package that autodoc could not import is one cause for all of them
            several = f"{', '.join(map(repr, patterns[:-1]))} and {patterns[-1]!r} match"
            first = f"{patterns[0]!r} matches" if len(patterns) == 1 else several
            yield f"{first} no documented class{_near(patterns[0], classes)}"


def completed(body: Body | None, name: str, written: object, *, is_named: bool) -> tuple[Body | None, tuple[str, ...]]:
    """Body of a class of which a part of a page says more, and what is wrong with that if the class does not say it.

    Args:
        body: What the settings and the docstring say; None if they do not ask for a diagram.
        name: The dotted name of the class.
        written: What the part of the page says, as a pattern of the settings does.
        is_named: Whether the part is for this class alone, which then may have any option, and says the problems.
    """
    own = _read_rule(written, is_named=is_named)
    known, wrong = Rule(False, is_tried=True, is_ranked=True), own.problems
    if body is not None:
        arguments = body.target.partition("(")[2].removesuffix(")")
        known = Rule(True, body.is_tried, body.is_ranked, arguments, body.options, body.problems, body.pattern)
    if is_named:
        own, wrong = replace(own, draws=own.draws or bool(wrong), problems=(*known.problems, *wrong)), ()
    else:
        is_tried, is_ranked, pattern = known.is_tried, known.is_ranked, known.pattern or _EVERYTHING
        own = replace(own, is_tried=is_tried, is_ranked=is_ranked, problems=known.problems, pattern=pattern)
    return (_joined(known, own).body(name, body.obstacle if body else "") if own.draws else None), wrong


def _read_rule(value: object, *, is_named: bool = False) -> Rule:
    if value is None:  # an empty value of YAML is a yes, as it is for options
        value = True
    if isinstance(value, bool):
        return Rule(draws=value, is_tried=value)
    if not isinstance(value, Mapping):
        advice = 'write True, False, or options as in {"arguments": "width=8", "shape": "1,3"}'
        return Rule(draws=False, problems=(f"{value!r} is not valid: {advice}",))
    written = {str(name): text for name, text in value.items()}
    is_tried = written.pop("quiet", False)
    arguments = written.pop("arguments", "")
    if isinstance(arguments, Mapping):
        arguments = ", ".join(f"{name}={_plain(argument)!r}" for name, argument in arguments.items())
    options, problems = (
        ({name: as_text(value) for name, value in written.items()}, []) if is_named else site_options(written)
    )
    arguments, wrong = _checked_arguments(str(arguments))
    if not isinstance(is_tried, bool):
        problems.append(f"quiet: {is_tried!r} is neither True nor False")
    is_tried = is_tried is True
    problems = [*wrong, *problems]
    return Rule(is_tried=is_tried, is_ranked=is_tried, arguments=arguments, options=options, problems=tuple(problems))


def _plain(value: object) -> object:
    """The value with lists in the place of arrays, as a `conf.py` computes them."""
    if isinstance(value, Mapping):
        return {name: _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value)) if type(value) in (list, tuple) else value
    to_list = getattr(value, "tolist", None)
    return to_list() if callable(to_list) else value


def read_field(text: str) -> Rule:
    """Rule of the field in a docstring: yes, no, or options as `shape=1,3 depth=2`."""
    try:
        return Rule(draws=read_yes_no(text))
    except ValueError:
        pass
    written, others, problems = read_words_of_options(text)
    problems += [f"cannot read {word!r}: write options as in shape=1,3 depth=2, or no" for word in others]
    problems += [f"{name}: write a directive for it" for name in _OF_ONE_FIGURE if written.pop(name, None)]
    arguments, wrong = _checked_arguments(written.pop("arguments", "") or "")
    return Rule(arguments=arguments, options=written, problems=(*problems, *wrong))


def _checked_arguments(text: str) -> tuple[str, tuple[str, ...]]:
    try:
        parse_target(f"pkg.Net({text})")
    except ValueError as error:
        return "", (f"arguments: {error}",)
    return text, ()


def _joined(rule: Rule, own: Rule) -> Rule:
    """Rule of a class itself, completed by that of its pattern."""
    if not rule.draws or not own.draws:
        return own
    options = dict(rule.options)
    if own.options.keys() & {"shape", "inputs"}:  # each says what the other does
        options.pop("shape", None)
        options.pop("inputs", None)
    return replace(own, arguments=own.arguments or rule.arguments, options={**options, **own.options})


def _near(pattern: str, classes: Mapping[str, bool]) -> str:
    if not classes:
        return ": autodoc documents no class"
    parts = [name.split(".") for name in classes]
    packages = {".".join(part[:depth]) for part in parts for depth in range(1, len(part))}
    if pattern in packages:
        return f"; did you mean '{pattern}.*'?"
    near = near_miss(pattern, [*sorted(classes), *sorted(f"{package}.*" for package in packages)])
    return f"; did you mean {near!r}?" if near else ""
