"""Saved models that run something where they are loaded, made of one that does not."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn


class Net(nn.Module):
    """Uses sizes that are known late, a guard, a control operator and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)
        self.attention = nn.MultiheadAttention(4, 2, batch_first=True)
        self.few: torch.Tensor
        self.register_buffer("few", torch.ones(4, dtype=torch.bfloat16))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        wide = self.norm(self.enter(x)).unsqueeze(0)
        found = torch.cond(x.sum() > 0, lambda it: it + 1, lambda it: it * 2, (wide,))
        flat: torch.Tensor = self.attention(found, found, found)[0].reshape(x.shape[0] * 2, -1)
        return flat + self.few.sum()


class Attack:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.file}",)


def saved(value: object) -> bytes:
    buffer = io.BytesIO()
    torch.save(value, buffer)
    return buffer.getvalue()


Change = Callable[[str, bytes], bytes]


def exported_to(file: Path) -> Path:
    rows = torch.export.Dim("rows", min=2)
    program = torch.export.export(Net().eval(), (torch.ones(5, 3),), dynamic_shapes=({0: rows},))
    torch.export.save(program, file)
    return file


def changed(file: Path, to: Path, change: Change, more: dict[str, bytes] | None = None) -> Path:
    """A copy of an archive with other records, written by torch, which aligns them."""
    writer = torch._C.PyTorchFileWriter(str(to))
    with zipfile.ZipFile(file) as old:
        for name in old.namelist():
            record = name.partition("/")[2]
            if not record.startswith(".data/") and record != "byteorder":
                data = change(record, old.read(name))
                writer.write_record(record, data, len(data))
    for record, data in (more or {}).items():
        writer.write_record(record, data, len(data))
    writer.write_end_of_file()
    return to


def with_pickle(exported: Path, to: Path, pickled: bytes) -> Path:
    def change(name: str, data: bytes) -> bytes:
        if name == "data/weights/model_weights_config.json":
            config = json.loads(data)
            config["config"]["enter.weight"]["use_pickle"] = True
            return json.dumps(config).encode()
        return pickled if name == "data/weights/weight_0" else data

    return changed(exported, to, change)


COMMAND = "__import__('os').system('touch {}')"
EDITS: dict[str, Callable[[dict[str, Any], str], None]] = {
    "a target": lambda it, _: _node(it).update(target="torch.os.system"),
    "a target of torch": lambda it, _: _node(it).update(target="torch.hub.load"),
    "a library": lambda it, _: _node(it).update(target="torch.ops.load_library"),
    "a method of a namespace": lambda it, _: _node(it).update(target="torch.ops.aten.__class__"),
    "a writer": lambda it, _: _node(it).update(target="torch.ops.aten.from_file.default"),
    "an attribute": lambda it, _: _node(it).update(target="_operator.attrgetter"),
    "a method": lambda it, _: _node(it).update(target="_operator.methodcaller"),
    "an extension": lambda it, _: _node(it).update(target="#evil:x"),
    "a size": lambda it, command: _size(it).update(expr_str=command),
    "a size's method": lambda it, _: _size(it).update(expr_str="s0.func('x')"),
    "a guard": lambda it, command: it.update(guards_code=[command]),
    "a guard's end": lambda it, _: it.update(guards_code=["1, '') or print(1"]),
    "a guard's text": lambda it, _: it.update(guards_code=["L['x\"), print(\"'] == 1"]),
    "an argument": lambda it, command: it["graph_module"]["graph"]["inputs"][0]["as_tensor"].update(
        name=f"x={command}"
    ),
    "a symbol": lambda it, command: it["range_constraints"].update({command: {"min_val": 1, "max_val": 2}}),
    "an enum": lambda it, _: _spec(it, '{"__enum__": true, "fqn": "antigravity:x"}'),
    "an enum in disguise": lambda it, _: _spec(it, '{"\\u005f_enum__": true, "fqn": "antigravity:x"}'),
    "a parameter": lambda it, _: it["graph_module"]["signature"]["input_specs"][0]["parameter"].update(
        parameter_name='x", print(1), "'
    ),
    "a source": lambda it, _: _node(it)["metadata"].update(source_fn_stack="x,torch.os.__init__"),
}


def _node(program: dict[str, Any]) -> Any:
    return program["graph_module"]["graph"]["nodes"][0]


def _size(program: Any) -> Any:
    if isinstance(program, dict):
        if "expr_str" in program:
            return program
        program = list(program.values())
    found = [_size(value) for value in program] if isinstance(program, list) else []
    return next((one for one in found if one is not None), None)


def _spec(program: dict[str, Any], text: str) -> None:
    program["graph_module"]["module_call_graph"][0]["signature"]["in_spec"] = text


def edited(exported: Path, to: Path, edit: str, command: str) -> Path:
    """A program with one edit of its text."""

    def change(name: str, data: bytes) -> bytes:
        if not name.startswith("models/"):
            return data
        program = json.loads(data)
        EDITS[edit](program, command)
        return json.dumps(program).encode()

    return changed(exported, to, change)
