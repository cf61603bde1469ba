"""Addresses of lines of code."""

from __future__ import annotations

from pathlib import Path

from torchrecorder.page.code import by_pattern, names_at

CODE = """class Net:
    class Inner:
        def forward(self, x):
            return x

    def forward(self, x):
        return [
            x]
def alone(): ...
"""


def test_names_around_a_line(tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(CODE)
    assert names_at(file, 4) == ("Net.Inner.forward", "Net.Inner", "Net")
    assert names_at(file, 8) == ("Net.forward", "Net")
    assert names_at(file, 9) == ("alone",)
    assert names_at(file, 99) == ()
    (tmp_path / "broken.py").write_text("def")
    assert names_at(tmp_path / "broken.py", 1) == names_at(tmp_path / "none.py", 1) == ()


def test_a_pattern_names_the_path_in_the_repository(tmp_path: Path) -> None:
    pattern, file = "https://forge/{path}#L{line}", tmp_path / "src" / "a b" / "net.py"
    assert by_pattern(pattern, tmp_path / "docs", file, 3) == ""
    assert by_pattern(pattern, tmp_path, file, 3) == "https://forge/src/a%20b/net.py#L3"
    (tmp_path / "src" / ".git").mkdir(parents=True)
    assert by_pattern(pattern, tmp_path, file, 3) == "https://forge/a%20b/net.py#L3"
