"""What a saved model holds besides numbers, found out without loading it: pickles, compiled code, and text that runs.

A page may name a `.pt2` file or one of TorchScript, which come with a pull request as pictures do. Neither is only
data. torch unpickles parts of a `.pt2`, imports what a treespec names, evaluates sizes and guards as Python, and calls
what a node names, which may be any function of torch. What is none of what `torch.export.save` writes for a model of
torch's operators is refused. TorchScript is read by an unpickler of its own, in C++, which knows the types of the file
and of torch and imports nothing; its code is another language, which calls operators only, of which some write files.
"""

from __future__ import annotations

import ast
import io
import json
import os
import pickletools
import re
from collections.abc import Iterator
from typing import Any

import torch

from torchrecorder.running import torch_private

_REBUILT = re.compile(
    r"torch\._utils _rebuild_(?:tensor|tensor_v2|tensor_v3|parameter|meta_tensor_no_storage)"
    r"|torch (?:\w+Storage|Size|device|strided|bool|(?:b?float|u?int|complex)\d+\w*)|torch\.serialization _get_layout"
    r"|torch\.storage UntypedStorage|collections OrderedDict"
)
"""What pickles of tensors name: it makes tensors, and takes no callable from the pickle."""
_IMPORTS = {"GLOBAL", "INST"}
_HIDDEN_IMPORTS = {"STACK_GLOBAL", "EXT1", "EXT2", "EXT4"}
"""Take the name from elsewhere; torch writes a protocol without them."""
_OPERATOR = re.compile(r"torch\.ops(?:\.\w+){2,3}|_operator\.\w+|math\.\w+|torch\.sym_\w+")
_WRITERS = re.compile(r"(?:^|[.\W])(?:save|from_file)\s*[.(]|(?:^|\.)(?:save|from_file)(?:\.|$)")
"""`aten::save` and `aten::from_file` open the file of a name that they are given."""
_NAME = re.compile(r"[\w.\-]*")
_TEXT = re.compile(r"\w*")
_SMALL_FUNCTIONS = {"floor", "ceiling", "abs", "int", "float"}
_SIZES = {"size", "stride", "storage_offset", "dim", "numel", "trunc", "sqrt"}
_ARITHMETIC = (
    *(ast.Expression, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.operator, ast.unaryop),
    *(ast.boolop, ast.cmpop, ast.Subscript, ast.expr_context, ast.keyword, ast.Tuple),
)


def why_not_loaded(path: str, *, is_exported: bool) -> str:
    """The reason that a page may not have a file loaded; empty if it may, or if it is not there."""
    if not os.path.isfile(path):
        return ""
    try:
        reader = _Archive(path)
        return next(_in_exported(reader) if is_exported else _in_scripted(reader), "")
    except Exception as error:  # what cannot be looked into is not loaded
        return f"cannot be looked into: {type(error).__name__}"


class _Archive:
    """The records of a file, found by the reader that loads them: another one might be shown other records."""

    def __init__(self, file: str | io.BytesIO) -> None:
        self._reader: Any = torch_private.ARCHIVE.get()(file)
        self.names: list[str] = self._reader.get_all_records()

    def bytes(self, name: str) -> bytes:
        record: bytes = self._reader.get_record(name)
        return record

    def json(self, name: str) -> Any:
        return json.loads(self.bytes(name))


def _in_scripted(archive: _Archive) -> Iterator[str]:
    """Reasons from TorchScript: operators that write."""
    if "constants.pkl" not in archive.names:
        yield "is not a file of TorchScript"
    for name in archive.names:
        if name.endswith(".py") and _WRITERS.search(archive.bytes(name).decode()):
            yield "calls an operator that opens files"


def _in_exported(archive: _Archive) -> Iterator[str]:
    if "archive_format" not in archive.names:
        yield "is in the format of torch 2.7, which is pickles: save it again"
    for name in archive.names:
        folder = name.rpartition("/")[0]
        if name.startswith("models/"):
            yield from _in_program(archive.json(name))
        elif name.startswith("data/sample_inputs/"):
            yield from _in_tensors(archive.bytes(name))
        elif name.endswith("_config.json"):
            yield from _in_payloads(archive, folder, archive.json(name)["config"])
        elif name.endswith(".pt") or name.startswith(("data/aotinductor/", "data/executorch/")):
            yield f"holds {name}, which is a pickle or compiled code"


def _in_payloads(archive: _Archive, folder: str, payloads: dict[str, Any]) -> Iterator[str]:
    for payload in payloads.values():
        name = f"{folder}/{payload['path_name']}"
        if re.fullmatch(r"(?:tensor|weight)_\d+", payload["path_name"]) is None:
            yield f"holds {name}, which is an object and not a tensor"
        elif payload["use_pickle"] is not False:
            yield from _in_tensors(archive.bytes(name))


def _in_tensors(saved: bytes) -> Iterator[str]:
    """Reasons from the bytes of `torch.save`: what they hold besides tensors."""
    if not saved:
        return
    archive = _Archive(io.BytesIO(saved))
    if "constants.pkl" in archive.names:
        yield "holds another model"
    for operation, argument, _ in pickletools.genops(archive.bytes("data.pkl")):
        if operation.name in _HIDDEN_IMPORTS:
            yield "holds a pickle that hides what it calls"
        if operation.name in _IMPORTS and not _REBUILT.fullmatch(str(argument)):
            yield f"holds a pickle that calls {'.'.join(str(argument).split())}"


def _in_program(program: Any, key: str = "") -> Iterator[str]:
    """Reasons from the JSON of a program: what it has evaluated, imported or called besides operators and sizes."""
    if isinstance(program, dict):
        for name, value in program.items():
            if name == "metadata":
                if "__" in str(value.get("source_fn_stack", "")):
                    yield "has functions of its own in source_fn_stack"
            elif not _NAME.fullmatch(name):
                yield f"has a name that is not one: {name[:60]!r}"
            else:
                yield from _in_program(value, name)
    elif isinstance(program, list):
        for value in program:
            yield from _in_program(value, key)
    elif isinstance(program, str) and not _is_harmless(key, program):
        yield f"has {key} {program[:60]!r}, which torch would run"


def _is_harmless(key: str, text: str) -> bool:
    if key == "target":
        is_name = _NAME.fullmatch(text) is not None and not text.startswith(("torch", "_operator", "math", "#"))
        return is_name or _is_operator(text)
    if key in ("expr_str", "guards_code"):
        return _is_arithmetic(text)
    if key in ("in_spec", "out_spec"):
        return not re.search(r"\\u|__|default_factory", text)
    return key in ("as_string", "as_strings") or _NAME.fullmatch(text) is not None or key == "torch_version"


def _is_operator(text: str) -> bool:
    """Whether a node calls an operator, and not what else its name can stand for: `torch.ops.load_library`."""
    if not _OPERATOR.fullmatch(text) or _WRITERS.search(text):
        return False
    root, *names = text.split(".")
    item: Any = {"torch": torch, "_operator": __import__("operator"), "math": __import__("math")}[root]
    for name in names:
        if not hasattr(item, name):
            return True  # an operator that is not installed: loading says so
        item = getattr(item, name)
    kinds = type(torch.ops.aten.relu.default), torch_private.HIGHER_ORDER_CLASS.get() or ()
    return isinstance(item, kinds) or item in (torch_private.SIZE_FUNCTIONS.get() or ())


def _is_arithmetic(text: str) -> bool:
    """Whether a text of sizes computes numbers and nothing else; it is evaluated, by SymPy or by Python."""
    try:
        return all(map(_computes, ast.walk(ast.parse(text.strip(), mode="eval"))))
    except SyntaxError:
        return False


def _computes(node: ast.AST) -> bool:
    if isinstance(node, ast.Name):
        return "__" not in node.id
    if isinstance(node, ast.Constant):
        return not isinstance(node.value, str | bytes) or _TEXT.fullmatch(str(node.value)) is not None
    if isinstance(node, ast.Attribute):
        return node.attr in _SIZES
    if isinstance(node, ast.Call):
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        return isinstance(node.func, ast.Attribute) or name[:1].isupper() or name in _SMALL_FUNCTIONS
    return isinstance(node, _ARITHMETIC)
