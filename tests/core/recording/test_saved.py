"""Files of saved models that are more than numbers are found out without being loaded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from torch import nn
from torch._export.verifier import SpecViolationError

from tests.saved_models import COMMAND, EDITS, Attack, changed, edited, exported_to, saved, with_pickle
from torchrecorder.recording.saved import why_not_loaded

pytestmark = pytest.mark.filterwarnings("ignore")  # of torch's export


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return exported_to(tmp_path_factory.mktemp("saved") / "net.pt2")


def test_what_torch_writes_is_loaded(exported: Path, tmp_path: Path) -> None:
    assert why_not_loaded(str(exported), is_exported=True) == ""
    assert why_not_loaded(str(changed(exported, tmp_path / "n.pt2", lambda _, data: data)), is_exported=True) == ""
    scripted = tmp_path / "s.pt"
    torch.jit.save(torch.jit.script(nn.Sequential(nn.Linear(3, 4), nn.LSTM(4, 4))), scripted)
    assert why_not_loaded(str(scripted), is_exported=False) == ""
    torch.jit.save(torch.jit.trace(nn.Linear(3, 4), torch.ones(1, 3)), scripted)  # type: ignore[no-untyped-call]
    assert why_not_loaded(str(scripted), is_exported=False) == ""


def test_a_view_is_saved_as_a_pickle_of_a_tensor(exported: Path, tmp_path: Path) -> None:
    """A weight with a layout of its own has `use_pickle` in what torch writes."""
    file = with_pickle(exported, tmp_path / "p.pt2", saved(nn.Parameter(torch.ones(4, 3))))
    assert why_not_loaded(str(file), is_exported=True) == ""
    assert isinstance(torch.export.load(file), torch.export.ExportedProgram)


def refused(file: Path) -> str:
    return why_not_loaded(str(file), is_exported=True)


def test_a_pickle_that_calls(exported: Path, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    file = with_pickle(exported, tmp_path / "p.pt2", saved(Attack(touched)))
    assert refused(file) == "holds a pickle that calls posix.system"
    with pytest.raises(SpecViolationError):  # what the command returned is not a weight
        torch.export.load(file).module()(torch.ones(5, 3))
    assert touched.exists(), "the attack is one, if it is not looked for"


def test_pickles_in_other_records(exported: Path, tmp_path: Path) -> None:
    attack = saved(Attack(tmp_path / "touched"))
    sample = changed(exported, tmp_path / "i.pt2", lambda name, data: attack if "sample_inputs" in name else data)
    assert "posix.system" in refused(sample)
    legacy = changed(exported, tmp_path / "l.pt2", lambda _, data: data, {"data/weights/model.pt": attack})
    assert "is a pickle or compiled code" in refused(legacy)
    compiled = changed(exported, tmp_path / "c.pt2", lambda _, data: data, {"data/aotinductor/model/x.so": b"\x7fELF"})
    assert "is a pickle or compiled code" in refused(compiled)
    plain = with_pickle(exported, tmp_path / "p.pt2", b"\x80\x02cposix\nsystem\nq\x00X\x04\x00\x00\x00true\x85R.")
    assert "cannot be looked into" in refused(plain)
    constants = {
        "config": {"x": {"path_name": "opaque_obj_0", "is_param": False, "use_pickle": True, "tensor_meta": None}}
    }
    opaque = changed(
        exported,
        tmp_path / "o.pt2",
        lambda name, data: json.dumps(constants).encode() if name.endswith("constants_config.json") else data,
        {"data/constants/opaque_obj_0": attack},
    )
    assert "is an object and not a tensor" in refused(opaque)


@pytest.mark.parametrize("edit", EDITS)
def test_text_that_torch_runs(edit: str, exported: Path, tmp_path: Path) -> None:
    command = COMMAND.format(tmp_path / "touched")
    assert refused(edited(exported, tmp_path / "e.pt2", edit, command)).startswith("has ")


@pytest.mark.parametrize("edit", ["a size", "a guard"])
def test_what_is_refused_would_run(edit: str, exported: Path, tmp_path: Path) -> None:
    made = tmp_path / "made"

    file = edited(exported, tmp_path / "e.pt2", edit, f"__import__('os').mkdir({str(made)!r})")
    with pytest.raises((RuntimeError, AssertionError)):
        torch.export.load(file).module()(torch.ones(5, 3))
    assert made.exists()


def test_other_files(tmp_path: Path) -> None:
    assert refused(tmp_path / "missing.pt2") == ""
    text = tmp_path / "text.pt2"
    text.write_text("no archive")
    assert refused(text) == "cannot be looked into: RuntimeError"
    text.write_bytes(saved(Attack(tmp_path / "touched")))
    assert "format of torch 2.7" in refused(text)
    assert "not a file of TorchScript" in why_not_loaded(str(text), is_exported=False)


def test_torchscript_that_writes(tmp_path: Path) -> None:
    class Writes(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            torch.save(x, "/tmp/anywhere")
            return x

    file = tmp_path / "w.pt"
    torch.jit.save(torch.jit.script(Writes()), file)
    assert why_not_loaded(str(file), is_exported=False) == "calls an operator that opens files"
