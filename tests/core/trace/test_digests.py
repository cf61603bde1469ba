"""Digests of files, which are read in pieces."""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.trace.test_source_blocks import CORE
from torchrecorder.trace import digests

PIECES = (b"", b"a", b"\r", b"\n", b"\r\n", b"\r\r\n", b"ab\r", b"\n\r", b"\0", b"x\0\r\n")
MEASURE = """
import resource, sys
from torchrecorder.trace.digests import file_digest
with open(sys.argv[1], "rb", buffering=0) as file:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    file_digest(file)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def whole(data: bytes) -> str:
    """The digest as it was made when files were read whole: committed caches have it."""
    return hashlib.sha256(data if b"\0" in data else data.replace(b"\r\n", b"\n")).hexdigest()[:32]


@pytest.mark.parametrize("size", [1, 2, 3, 1 << 20])
def test_seams_do_not_show(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digests, "_PIECE", size)
    for first in PIECES:
        for second in PIECES:
            for third in PIECES:
                data = first + second + third
                assert digests.file_digest(io.BytesIO(data)) == whole(data), data


@pytest.mark.skipif(sys.platform != "linux", reason="sizes are counted in other units")
@pytest.mark.parametrize("is_text", [False, True])
def test_a_large_file_takes_no_memory(is_text: bool, tmp_path: Path) -> None:
    file = tmp_path / "weights.bin"
    with file.open("wb") as written:
        if is_text:
            for _ in range(64):
                written.write(b"0123456789abcd\r\n" * (1 << 16))
        else:
            written.truncate(1 << 30)
    command = [sys.executable, "-c", MEASURE, str(file)]
    done = subprocess.run(command, env={"PYTHONPATH": str(CORE)}, capture_output=True, text=True, check=True)
    assert int(done.stdout) < 16 << 10, "KiB"
