"""Whose code a page may call, so that text in a page runs no commands. Where it is defined decides, not its name there.

Always allowed are classes of modules, which `recording.target` knows, and what the project's own code defines. Of what
is installed, packages that depend on torch are, since they define models. torch itself is not: it has functions that
run commands, compile sources and unpickle files.
"""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import re
import sys
from collections.abc import Iterator, Sequence

from torchrecorder.trace.ownership import is_installed, is_ours, is_stdlib
from torchrecorder.trace.trace import distribution_names

EVERYTHING = "*"
"""Allows whatever is named: for who writes the target where commands are written, too."""
_OF_TORCH = ("torch.export.load", "torch.jit._serialization.load")
"""Give a module from a file that is part of the project."""
_SILENT = ("torchaudio",)
"""Packages that depend on torch, though since torchaudio 2.11 its distribution does not say so."""
_REQUIREMENT = re.compile(r"\s*([\w.-]+)\s*(?:\[([^]]*)\])?")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)""")


def may_import(dotted: str, allow: Sequence[str]) -> bool:
    """Whether a page may have the name looked up: importing some of Python's own modules starts programs."""
    top = dotted.partition(".")[0]
    return not _is_of_python(top) or any(_is_within(dotted, entry) or entry == EVERYTHING for entry in allow)


def may_call(dotted: str, found: object, allow: Sequence[str]) -> bool:
    """Whether a page may call what it names.

    Args:
        dotted: The name in the page.
        found: The object of that name.
        allow: Names of packages, modules and functions that the site allows.
    """
    module, name = _definition(unwrapped(found))
    defined = f"{module}.{name}"
    if EVERYTHING in allow or dotted in allow or any(_is_within(defined, entry) for entry in allow):
        return True
    return bool(module) and (defined in _OF_TORCH or _is_allowed_package(module.partition(".")[0]))


def unwrapped(found: object) -> object:
    """What a `functools.partial` calls in the end; all else as it is."""
    while isinstance(found, functools.partial):
        found = found.func
    return found


def _definition(found: object) -> tuple[str, str]:
    """The module and the name that an object was defined with; its class's, if it is none of class and function."""
    found = getattr(found, "__func__", found)
    if not isinstance(getattr(found, "__qualname__", None), str):
        found = type(found)
    module, name = getattr(found, "__module__", None), getattr(found, "__qualname__", "")
    return (module, name) if isinstance(module, str) else ("", name)


def _is_within(name: str, entry: str) -> bool:
    return name == entry or name.startswith(f"{entry}.")


def _is_allowed_package(top: str) -> bool:
    """Whether it is the project's own, or ours, or depends on torch."""
    if _is_of_python(top):
        return False
    files = _files(top)
    if not files:
        return top == "__main__"
    return all(is_ours(file) or not is_installed(file) for file in files) or _depends_on_torch(top)


def _is_of_python(top: str) -> bool:
    return top in sys.builtin_module_names or (top in sys.stdlib_module_names and all(map(is_stdlib, _files(top))))


@functools.cache
def _files(top: str) -> tuple[str, ...]:
    """Where a top-level module lies: its file, or the folders of a namespace package."""
    try:
        spec = importlib.util.find_spec(top)
    except (ImportError, ValueError):  # a module without a spec
        file = getattr(sys.modules.get(top), "__file__", None)
        return (file,) if isinstance(file, str) else ()
    if spec is None:
        return ()
    if spec.origin is None:
        return tuple(spec.submodule_search_locations or ())
    return (f"<frozen {top}>" if spec.origin in ("built-in", "frozen") else spec.origin,)


@functools.cache
def _depends_on_torch(top: str) -> bool:
    """Whether the distribution asks for torch, if only with an extra, or has to have another one that does."""
    return top in _SILENT or any(
        "torch" in (name for name, _, _ in _requirements(distribution))
        or _has_to_have_torch(distribution, frozenset(), set())
        for distribution in distribution_names().get(top, ())
    )


def _has_to_have_torch(distribution: str, extras: frozenset[str], seen: set[str]) -> bool:
    seen.add(distribution)
    wanted = [(name, inner) for name, inner, extra in _requirements(distribution) if not extra or extra in extras]
    return any(
        name == "torch" or (name not in seen and _has_to_have_torch(name, inner, seen)) for name, inner in wanted
    )


def _requirements(distribution: str) -> Iterator[tuple[str, frozenset[str], str]]:
    """What a distribution requires: a name, the extras wanted of it, and the extra that asks for it, if one does."""
    try:
        lines = importlib.metadata.requires(distribution) or []
    except importlib.metadata.PackageNotFoundError:
        return
    for line in lines:
        if (found := _REQUIREMENT.match(line)) is not None:
            inner = frozenset(text.strip() for text in (found[2] or "").split(","))
            extra = _EXTRA.search(line)
            yield re.sub("[-_.]+", "-", found[1]).lower(), inner, extra[1] if extra else ""
