"""What is left of the memory: of the machine, of control groups of both versions, and when a forward is to blame."""

from __future__ import annotations

import mmap
import sys
from pathlib import Path

import pytest

from torchrecorder.recording.machine import large, memory

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux says how much memory is left")

GIB = 1 << 30


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def left(root: Path) -> float:
    return min(memory._of_groups(root)) / GIB


def second(folder: str, bound: str, used: int, cached: int = 0) -> dict[str, str]:
    at = f"sys/fs/cgroup/{folder}"
    return {
        f"{at}memory.max": f"{bound}\n",
        f"{at}memory.current": f"{used}\n",
        f"{at}memory.stat": f"anon 1\ninactive_file {cached}\n",
    }


def first(folder: str, bound: int, used: int, cached: int = 0) -> dict[str, str]:
    at = f"sys/fs/cgroup/memory/{folder}"
    return {
        f"{at}memory.limit_in_bytes": f"{bound}\n",
        f"{at}memory.usage_in_bytes": f"{used}\n",
        f"{at}memory.stat": f"cache 1\ntotal_inactive_file {cached}\n",
    }


def test_no_control_groups(tmp_path: Path) -> None:
    assert min(memory._of_groups(tmp_path)) == sys.maxsize


def test_pages_of_files_are_not_counted_as_used(tmp_path: Path) -> None:
    files = second("job/", str(4 * GIB), 3 * GIB, GIB)
    assert left(write(tmp_path, {"proc/self/cgroup": "0::/job\n", **files})) == 2


def test_the_group_around_may_have_less(tmp_path: Path) -> None:
    files = {**second("a/b/", "max", GIB), **second("a/", str(4 * GIB), 3 * GIB)}
    assert left(write(tmp_path, {"proc/self/cgroup": "0::/a/b\n", **files})) == 1


def test_a_group_without_a_bound(tmp_path: Path) -> None:
    write(tmp_path, {"proc/self/cgroup": "0::/a\n", **second("a/", "max", GIB)})
    assert min(memory._of_groups(tmp_path)) == sys.maxsize


def test_groups_of_the_first_version(tmp_path: Path) -> None:
    lines = "5:devices:/\n4:memory:/a\n1:name=systemd:/\n"
    files = {**first("a/", 8 * GIB, 3 * GIB, GIB), **first("", 1 << 62, 9 * GIB)}
    assert left(write(tmp_path, {"proc/self/cgroup": lines, **files})) == 6


def test_a_container_shows_its_own_group_at_the_top(tmp_path: Path) -> None:
    """`/proc` then names a path that is not there."""
    files = first("", 2 * GIB, GIB)
    assert left(write(tmp_path, {"proc/self/cgroup": "4:memory:/docker/1f\n", **files})) == 1


def test_what_is_left_of_the_machine(tmp_path: Path) -> None:
    write(tmp_path, {"proc/meminfo": "MemTotal:  9 kB\nMemAvailable:    2048 kB\nSwapFree: 5 kB\n"})
    assert memory._of_machine(tmp_path) == 2048 << 10


def test_this_process() -> None:
    before = memory._resident()
    with mmap.mmap(-1, 64 << 20) as kept:  # a tensor may get memory that an earlier test has let go
        kept.write(bytes(64 << 20))
        assert memory._resident() - before > len(kept) * 0.9
    assert 0 < memory.left() < 1 << 50


def test_the_forward_of_another_process_is_not_blamed(monkeypatch: pytest.MonkeyPatch) -> None:
    room, amounts = memory.Room(), iter([8 * GIB, GIB // 2])
    monkeypatch.setattr(memory, "left", lambda: next(amounts))
    assert room.taken(room.until) == ""
    assert room.until > 4 * GIB
    assert room.taken(room.until) == ""


def test_a_jail_that_says_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(memory, "_ROOT", tmp_path)
    room = memory.Room()
    assert room.taken(room.until) == ""
    assert room.until == sys.maxsize


def test_much_that_is_let_go_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    room = memory.Room()
    monkeypatch.setattr(memory, "left", lambda: 8 * GIB)
    assert [room.taken(made * GIB) for made in range(100)] == [""] * 100


def test_what_is_kept_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    room = memory.Room()
    facts = iter([(8 * GIB, GIB), (GIB // 2, 8 * GIB)])
    now = [(0, 0)]

    def left() -> int:
        now[0] = next(facts)
        return now[0][0]

    monkeypatch.setattr(memory, "left", left)
    monkeypatch.setattr(memory, "_resident", lambda: now[0][1])
    assert room.taken(0) == ""
    assert room.taken(9 * GIB) == "it keeps 7.0 GiB of the 8.0 GiB of memory that were left"


def test_what_is_left_of_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_resident", lambda: GIB // 2)
    free = memory.left()
    memory.bound(GIB)
    try:
        assert memory.left() == GIB // 4, "a forward ends before its process is ended"
        assert large.largest() == 30_000_000, "one that is tried is built once"
    finally:
        memory.bound(0)
    assert memory.left() >= min(free, GIB)
    assert large.largest() == 300_000_000
