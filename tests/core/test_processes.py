"""What a child process of torchrecorder finds its modules by."""

from __future__ import annotations

import os
import site
from pathlib import Path

import pytest

import torchrecorder
from torchrecorder.worker.client import environment

OWN = Path(torchrecorder.__file__).resolve().parents[1]


@pytest.mark.parametrize("given", ["", os.pathsep.join(["/one", "/two"])])
def test_site_packages_do_not_come_before_the_standard_library(
    given: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", given)
    assert environment("", tmp_path)["PYTHONPATH"] == os.pathsep.join(filter(None, [str(OWN), given]))
    (tmp_path / "site").symlink_to(OWN)
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path / "site")])
    assert environment("", tmp_path)["PYTHONPATH"] == given
