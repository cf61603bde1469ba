"""Addresses of the statements that called the layers of a picture, where a documentation can show them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from functools import cache, partial
from pathlib import Path
from urllib.parse import quote

from torchrecorder.page.diagram import Diagram
from torchrecorder.trace.ownership import is_installed

Address = Callable[[str, Path, int], str]
"""Gives the address of a line, by its module and file; empty for none."""


def code_finder(diagram: Diagram, path: Sequence[str], address: Address) -> Callable[[str], str]:
    """Addresses of sources, `pkg/net.py:12`: those of the project's own files whose lines are as they were recorded.

    `path` are the folders that modules are imported from.
    """
    own = cache(partial(_own_files, diagram, path))

    def find(source: str) -> str:
        name, _, line = source.rpartition(":")
        file = own().get(name)
        if file is None or not line.isdecimal():
            return ""
        return address(name.removesuffix(".py").removesuffix("/__init__").replace("/", "."), file, int(line))

    return find


def _own_files(diagram: Diagram, path: Sequence[str]) -> dict[str, Path]:
    """Files of the project by the path from the folder that their modules are imported from."""
    found: dict[str, Path] = {}
    for file in diagram.sources:
        if file in diagram.moved or file.suffix != ".py" or is_installed(str(file)):
            continue
        folders = [folder for folder in path if file.is_relative_to(folder)]
        if folders:
            found[file.relative_to(max(folders, key=len)).as_posix()] = file
    return found


def by_pattern(pattern: str, root: Path, file: Path, line: int) -> str:
    """Address of a line by a pattern such as `https://forge/pkg/blob/main/{path}#L{line}`.

    The path is that in the repository of the file, or from the project's folder where there is none.
    """
    top = next((folder for folder in file.parents if (folder / ".git").exists()), root)
    if not pattern or not file.is_relative_to(top):
        return ""
    return pattern.replace("{path}", quote(file.relative_to(top).as_posix())).replace("{line}", str(line))


@cache
def names_at(file: Path, line: int) -> tuple[str, ...]:
    """Names of what is defined around a line, the innermost first: `Net.forward`, `Net`."""
    try:
        body: list[ast.stmt] = ast.parse(file.read_bytes()).body
    except (OSError, ValueError, SyntaxError):
        return ()
    names: list[str] = []
    while body:
        kinds = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
        around = [it for it in body if isinstance(it, kinds) and it.lineno <= line <= (it.end_lineno or 0)]
        names += [".".join((*names[-1:], it.name)) for it in around[:1]]
        body = around[0].body if around else []
    return tuple(reversed(names))
