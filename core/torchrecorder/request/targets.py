"""The name of a model, as a page writes it: `pkg.Net`, `pkg.mod:Net`, `pkg.make_net` or `pkg.Net(width=64)`.

A model of a registry has a name there, `timm:resnet50.a1_in1k` or `hf:owner/name@revision`. Such a name is short for a
call of the function that knows the registry, so all that is done with targets is done with it.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

_NAME = r"[^\W\d]\w*(?:\.[^\W\d]\w*)*"
_PATTERN = re.compile(r"[^\W\d]\w*(?:\.[\w*]+)+")
_TARGET = re.compile(rf"(?P<first>{_NAME})(?::(?P<second>{_NAME}))?\s*(?P<call>\(.*\))?", re.DOTALL)

HUB = "hf"
"""The word before the colon for models of the Hugging Face Hub, and for folders that are laid out as there."""
_PACKAGES = {HUB: "transformers"}
"""Package of most models of a registry, where that is not called as the registry is."""
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)*", re.ASCII)
_REVISION = re.compile(r"[\w][\w./+-]*", re.ASCII)
_OTHER_KINDS = ("datasets", "spaces")  # first parts of addresses of the hub at which there are no models
_OF_LIBRARY = re.compile(
    r"(?P<short>(?P<library>timm|torchvision):(?P<name>[a-z0-9_]+(\.[a-z0-9_]+)?))\s*(?P<call>\(.*\))?"
)
_BUILDERS = {"timm": "timm.create_model", "torchvision": "torchvision.models.get_model"}
"""Function of a library that builds a model by its name there."""
_OF_MODULES = re.compile(r"timm:(create_model\b|models\.|layers\.)|torchvision:\w+\.")
"""Names of objects in the modules of these libraries, as in `torchvision:models.resnet18`, not of models."""


@dataclass(frozen=True, slots=True)
class Target:
    """A dotted name, and the literal arguments to call it with."""

    dotted: str
    """The whole name with dots only, `pkg.mod.Net`."""
    module: str | None
    """The part before the colon, if there is one; else the module is found by trying."""
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    called: bool = False
    """Whether arguments were written, if only `()`."""
    short: str = ""
    """The name in a registry that the call stands for, `timm:resnet50`; it says all that is in `said`."""
    said: int = 0
    """The number of the first arguments that are not written."""

    def __str__(self) -> str:
        name = self.dotted if self.module is None else f"{self.module}:{self.dotted[len(self.module) + 1 :]}"
        arguments = [*map(repr, self.args[self.said :]), *(f"{key}={value!r}" for key, value in self.kwargs.items())]
        if not self.called or (self.short and not arguments):
            return self.short or name
        return f"{self.short or name}({', '.join(arguments)})"


def parse_target(text: str) -> Target:
    """Target that the text names.

    Raises:
        ValueError: It is not a dotted name, or its arguments are not literals.
    """
    if text.strip().startswith(f"{HUB}:"):
        return _of_hub(text.strip())
    library = _OF_LIBRARY.fullmatch(text.strip())
    if library is not None and not _OF_MODULES.match(text.strip()):
        args, kwargs = _arguments(library["call"] or "()")
        builder = _BUILDERS[library["library"]]
        return Target(builder, None, (library["name"], *args), kwargs, True, library["short"], said=1)
    match = _TARGET.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"{text.strip()!r} names no model: write pkg.Net, pkg.mod:Net or pkg.Net(width=64)")
    module = match["first"] if match["second"] else None
    dotted = f"{module}.{match['second']}" if module else match["first"]
    if "." not in dotted:
        raise ValueError(f"{dotted!r} names no module: write pkg.{dotted}, or {dotted}.Net if {dotted} is the module")
    if match["call"] is None:
        return Target(dotted, module)
    args, kwargs = _arguments(match["call"])
    return Target(dotted, module, args, kwargs, called=True)


def package_of(target: str) -> str:
    """The top-level package or module that a target lies in, for most of those of a registry."""
    first = re.split(r"[.:(]", target, maxsplit=1)[0]
    return _PACKAGES.get(first, first) if target.startswith(f"{first}:") else first


def _of_hub(text: str) -> Target:
    """Call that builds a model of the hub, or of a folder that begins with a dot or a slash."""
    name = text.removeprefix(f"{HUB}:").strip()
    is_folder = name.startswith((".", "/"))
    name, at, revision = (name, "", "") if is_folder else name.partition("@")
    if not name:
        raise ValueError(f"{text!r} names no model: write hf:owner/name, hf:owner/name@revision or hf:./folder")
    if name.split("/")[0] in _OTHER_KINDS:
        raise ValueError(f"{text!r} names one of the {name.split('/')[0]} of the hub, not a model")
    if not is_folder and ".." in name.split("/"):
        raise ValueError(f"{text!r} leads out of its folder: write hf:./folder for one of the project")
    is_name = is_folder or (_HUB_NAME.fullmatch(name) and ".." not in name and "--" not in name)
    if not is_name:
        advice = "write hf:owner/name, hf:owner/name@revision or hf:./folder, without arguments"
        raise ValueError(f"{text!r} is not a name of the hub: {advice}")
    if at and not (_REVISION.fullmatch(revision) and ".." not in revision):
        raise ValueError(f"{text!r} names no revision behind @: write a commit, a tag or a branch")
    called = (name, revision) if revision else (name,)
    return Target("torchrecorder.hub.models.from_hub", None, called, {}, True, text, said=2)


def is_pattern(text: str) -> bool:
    """Whether a text names all models of a package that match it, as `pkg.models.*` does, in place of one."""
    return "*" in text and _PATTERN.fullmatch(text) is not None


def matches(pattern: str, name: str) -> bool:
    """Whether a dotted name is meant by a pattern, in which `*` stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), name) is not None


def _arguments(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    try:
        call = ast.parse(f"f{text}", mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"the arguments {text} are not valid Python: {error}") from error
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        raise ValueError(f"{text} is not a list of arguments")
    named = {keyword.arg: _literal(keyword.value) for keyword in call.keywords if keyword.arg is not None}
    if any(keyword.arg is None for keyword in call.keywords):
        raise ValueError("`**` cannot be used in the arguments of a target")
    return tuple(_literal(argument) for argument in call.args), named


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        advice = (
            "only numbers, texts, tuples, lists and dicts are allowed; for more, name a function that builds the model"
        )
        raise ValueError(f"the argument {ast.unparse(node)} is not a literal: {advice}") from error
