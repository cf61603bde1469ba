"""Digests of texts, files, folders, and the parts of sources: taken after a recording, compared by later builds.

The parts of a source are what runs when it is imported, and the body of each function: a recording that never called a
function does not depend on its body. Comments, docstrings and layout do not count, nor the annotations of local
variables, which never run.
"""

from __future__ import annotations

import ast
import hashlib
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from torchrecorder.cache.index import StampedIndex, is_settled, stamp_of
from torchrecorder.cache.store import Store

_DIGITS = 32
"""Hexadecimal digits kept of a SHA-256: changes are found by it, not attacks, and manifests are kept in git."""
_ROUNDS = 10_000  # of PBKDF2: milliseconds for each digest, so that trying texts takes long
_PIECE = 1 << 20  # bytes of a file that are in memory at once; reading it in larger pieces takes as long
_PASSING = re.compile(
    r"__pycache__|\.torchrecorder|\.git|.*\.py[co]|\..*\.(?:sw[a-z]|kate-swp|un~)|.*~|\.#.*|#.*#|4913"
    r"|\.goutputstream-.*|\.DS_Store|Thumbs\.db|desktop\.ini"
    r"|\.(?:ruff|mypy|pytest)_cache|\.hypothesis|\.coverage(?:\..*)?|\.ipynb_checkpoints",
    re.DOTALL,
)
"""What importing, drawing, editors, desktops and checkers of code leave in a folder does not count."""
_OF_THE_KERNEL = ("/proc/", "/sys/", "/dev/")  # reading what is there may never end
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SKIPPED_FIELDS = {"ctx", "kind", "type_comment", "type_ignores"}
"""They follow from the rest of the tree, or do not hold code."""


def text_digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def source_digest(source: bytes) -> str:
    """The digest of a text, the same for every kind of line end."""
    return hashlib.sha256(source.replace(b"\r\n", b"\n")).hexdigest()[:_DIGITS]


def file_digest(file: BinaryIO) -> str:
    """The digest of a file: of a text, which has no NUL, as git decides, the same for every kind of line end.

    It is read in pieces, for a model may look into a file of many gigabytes.
    """
    data, text = hashlib.sha256(), hashlib.sha256()
    is_text, rest = True, b""
    while piece := file.read(_PIECE):
        data.update(piece)
        if is_text := is_text and b"\0" not in piece:
            piece, rest = rest + piece, b"\r" if piece.endswith(b"\r") else b""
            text.update(piece.removesuffix(rest).replace(b"\r\n", b"\n"))
    text.update(rest)
    return (text if is_text else data).hexdigest()[:_DIGITS]


@lru_cache(maxsize=256)  # the diagrams of a site ask for the same variables
def salted_digest(text: str, salt: str) -> str:
    """The digest, after its salt, of a text that must not be readable, such as the value of a variable."""
    digest = hashlib.pbkdf2_hmac("sha256", text.encode("utf-8", "surrogatepass"), salt.encode(), _ROUNDS)
    return f"{salt}${digest.hex()[:_DIGITS]}"


def is_passing(name: str) -> bool:
    """Whether a name in a folder comes and goes without a meaning."""
    return _PASSING.fullmatch(name) is not None


def names_in(folder: str | Path) -> list[str] | None:
    """The names in a folder, but for those that come and go; None if it cannot be listed."""
    try:
        return [name for name in os.listdir(folder) if not is_passing(name)]
    except OSError:
        return None


class FileDigests:
    """Digests in one build, during which files are taken to stay as they are until `forget`.

    A file whose stamp is as it was is not read again, and a source whose digest is known is not parsed again.
    """

    def __init__(self, machine: Store) -> None:
        self._digests: dict[str, str | None] = {}
        self._files = StampedIndex(machine, "stats.json")
        self._parts = StampedIndex(machine, "blocks.json")

    def file(self, path: Path) -> str | None:
        """The digest of a file; None if it cannot be read."""
        name = str(path)
        if name not in self._digests:
            self._digests[name] = self._of_file(name)
        return self._digests[name]

    def _of_file(self, name: str) -> str | None:
        stamp = stamp_of(name)
        if stamp is None:
            return None
        known = self._files.get(name, stamp)
        if isinstance(known, str):
            return known
        if not os.path.isfile(name) or os.path.realpath(name).startswith(_OF_THE_KERNEL):
            return None  # a shared cache may name a device that never ends
        try:
            with open(name, "rb", buffering=0) as file:
                digest = file_digest(file)
        except OSError:
            return None
        if is_settled(stamp):
            self._files.put(name, stamp, digest)
        return digest

    def folder(self, path: Path) -> str | None:
        """The digest of the names in a folder; None if it cannot be listed."""
        names = names_in(path)
        return None if names is None else text_digest("\n".join(sorted(names)))

    def blocks(self, path: Path) -> Blocks | None:
        digest = self.file(path)
        if digest is not None and (known := self._parts.get(str(path), digest)) is not None:
            return Blocks(*known)
        try:
            blocks = read_blocks(path.read_bytes())
        except OSError:
            return None
        if digest is not None and blocks is not None:
            self._parts.put(str(path), digest, [blocks.skeleton, blocks.functions])
        return blocks

    def forget(self) -> None:
        self._digests.clear()

    def save_indexes(self) -> None:
        self._files.save()
        self._parts.save()


@dataclass(slots=True)
class Blocks:
    skeleton: str
    """Digest of everything but the bodies of functions."""
    functions: dict[str, str] = field(default_factory=dict)
    """Digest of the body of each function by its qualified name; of all bodies, where a name is defined twice."""

    def ran(self, names: Iterable[str]) -> dict[str, str] | None:
        """The digests of functions that ran; None if the text does not show one of them.

        Names are as tracing gives them: one that ends with a dot is part of the text of what is named before it.
        """
        ran: set[str] = set()
        for name in names:
            function = name
            while name.endswith(".") and function and function not in self.functions:  # then the innermost around it
                function = function.rpartition(".")[0]
            ran.add(function)
        ran.discard("")  # the module itself
        return {name: self.functions[name] for name in sorted(ran)} if ran <= {*self.functions} else None


def read_blocks(source: bytes) -> Blocks | None:
    try:
        return _Writer().blocks(ast.parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


class _Writer:
    """A tree as text, with the bodies of functions put aside.

    `ast.dump` differs between versions of Python, and a cache made by one must serve another.
    """

    def __init__(self) -> None:
        self._bodies: dict[str, list[str]] = {}
        self._is_local = False
        """Whether the code that is being written is that of a function itself, where annotations do not run."""

    def blocks(self, module: ast.Module) -> Blocks:
        skeleton = text_digest(self._body(module.body, ""))
        return Blocks(skeleton, {name: text_digest("\n".join(texts)) for name, texts in self._bodies.items()})

    def _body(self, statements: Sequence[ast.stmt], prefix: str, *, is_local: bool = False) -> str:
        match statements:
            case [ast.Expr(ast.Constant(str())), *code]:
                statements = code
        before, self._is_local = self._is_local, is_local
        text = "\n".join(self._any(statement, prefix) for statement in statements)
        self._is_local = before
        return text

    def _any(self, value: object, prefix: str) -> str:
        if isinstance(value, _FUNCTIONS):
            name = prefix + value.name
            head = self._node(value, prefix, body="")
            self._bodies.setdefault(name, []).append(self._body(value.body, f"{name}.<locals>.", is_local=True))
            return head
        if isinstance(value, ast.ClassDef):
            return self._node(value, f"{prefix}{value.name}.", body=self._body(value.body, f"{prefix}{value.name}."))
        if isinstance(value, ast.Constant):
            # `hex` has no limit of digits; which characters `repr` escapes follows each version's Unicode tables.
            return hex(value.value) if type(value.value) is int else ascii(value.value)
        if isinstance(value, ast.AnnAssign) and self._is_local and value.value is not None:
            value = ast.Assign([value.target], value.value)
        if isinstance(value, ast.AST):
            return self._node(value, prefix)
        if isinstance(value, list):
            return f"[{','.join(self._any(item, prefix) for item in value)}]"
        return ascii(value)

    def _node(self, node: ast.AST, prefix: str, body: str | None = None) -> str:
        """The node with the fields that every version of Python has when they say something."""
        fields: list[str] = []
        for name in sorted(node._fields):
            value = getattr(node, name, None)
            if body is not None and name == "body":
                fields.append(f"body={{{body}}}")
            elif name not in _SKIPPED_FIELDS and value is not None and value != []:
                fields.append(f"{name}={self._any(value, prefix)}")
        return f"{type(node).__name__}({','.join(fields)})"


STAMP = "stamp"
"""A file that changes when anything does that the recordings of a cache depended on, for tools that watch files.

Such a tool keeps pages as long as some files are as they were, and asks no extension: Zensical. An extension notes what
it drew a page from; `torchrecorder stamp` writes the file anew before a build, if any of that has changed.
"""
_TRACED = "traced"


def note_traced(cache: Path, files: Iterable[Path]) -> None:
    """Note files and folders that pages depend on; what was noted before stays."""
    file = cache / _TRACED
    known = _noted(file)
    if new := [name for one in files if (name := str(one)) not in known]:
        cache.mkdir(parents=True, exist_ok=True)
        with file.open("a", encoding="utf-8") as noted:  # in one write, because two builds may run at once
            noted.write("".join(f"{name}\n" for name in dict.fromkeys(new)))


def write_stamp(cache: Path) -> bool:
    """Write the stamp of a cache, if what was noted there has changed; returns whether it has."""
    stamp = cache / STAMP
    states = (f"{name} {_state(Path(name))}\n" for name in sorted(_noted(cache / _TRACED)))
    text = text_digest("".join(states)) + "\n"
    before = stamp.stat().st_mtime if stamp.is_file() else 0
    if before and stamp.read_text(encoding="utf-8") == text:
        return False
    cache.mkdir(parents=True, exist_ok=True)
    stamp.write_text(text, encoding="utf-8")
    now = stamp.stat().st_mtime
    if int(now) <= int(before):  # some tools compare whole seconds
        os.utime(stamp, (now, int(before) + 1))
    return True


def _noted(file: Path) -> set[str]:
    return set(file.read_text(encoding="utf-8").splitlines()) if file.is_file() else set()


def _state(path: Path) -> str:
    """Digest of a file, or of a directory listing (with versions, in site-packages)."""
    try:
        if path.is_dir():
            return " ".join(sorted(os.listdir(path)))
        with path.open("rb") as file:
            return file_digest(file)
    except OSError:
        return ""
