"""Pictures and tables between two comments of reStructuredText."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest
from docutils.core import publish_string
from docutils.writers.html5_polyglot import Writer

from tests.core.files.conftest import write
from torchrecorder.cli import main

REST = """A net
=====

.. torchrecorder: filed.nets.Net shape=1,3 width=60% align=center
   alt="A net."
.. /torchrecorder

It reads three numbers::

   .. torchrecorder: filed.nets.Net

.. torchrecorder:: filed.nets.Net

.. torchrecorder: as=table columns=name,picture,parameters,input pictures=img
   filed.nets.Net(4) title="four_*wide*"
   filed.models.Wide
.. /torchrecorder

End.
"""


def test_a_file_of_rest_has_images_and_tables(bare: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = '"MODELS.rst" = { table = "filed.models.Wide", shape = "1,3" }'
    write({"pyproject.toml": f"[tool.torchrecorder.pictures]\n{table}\n", "README.rst": REST.replace("\n", "\r\n")})
    assert main(["update"]) == 0
    text = Path("README.rst").read_bytes().decode()
    assert "\n" not in text.replace("\r\n", "")
    text = text.replace("\r\n", "\n")
    parts = re.findall(r"(?s)\n(\n\.\. (?:image|list-table)::.*?\n\n)\.\. /t", text)
    assert text.replace(parts[0], "").replace(parts[1], "") == REST
    assert not Path("diagrams/filed.nets.Net-dark.svg").exists()
    said: list[str] = []
    settings = {"warning_stream": SimpleNamespace(write=said.append), "embed_stylesheet": False}
    shown = text.replace(".. torchrecorder:: filed.nets.Net\n", "")
    page = publish_string(shown, writer=Writer(), settings_overrides=settings).decode()
    assert not said
    assert re.search(
        r'<img alt="A net\." class="align-center" src="diagrams/filed.nets.Net.svg" style="width: 60%;"', page
    )
    rows = [re.sub(r"<.*?>|\s", "", row) for row in re.findall(r"(?s)<tr.*?</tr>", page)]
    assert rows == ["ModelPictureParametersInput", "four_*wide*16xN×3", "Wide64xN×3"]
    assert page.count('<a class="reference external image-reference" href="img/filed.') == 2
    assert "<em>Input: for an example input.</em>" in page
    assert Path("MODELS.rst").read_text().startswith(".. written by `torchrecorder update`")
    assert "   * - Wide\n     - 64\n" in Path("MODELS.rst").read_text()
    assert main(["check"]) == 0
    assert capsys.readouterr().out.endswith("3 pictures, all fresh\n")


BAD_REST = {
    "not closed": (".. torchrecorder: f.N\n", ":1: the comment has no end: write .. /torchrecorder on a line below it"),
    "nested": (".. torchrecorder: f.N\n.. torchrecorder: f.N\n.. /torchrecorder\n", ":2: it begins within that of"),
    "not opened": ("..  /torchrecorder\n", ":1: nothing is open that .. /torchrecorder could close"),
    "no colon": (".. torchrecorder f.N\n.. /torchrecorder\n", ":1: this comment is written `.. torchrecorder: pkg.Net"),
    "Mermaid": (".. torchrecorder: f.N\n   as=mermaid\n.. /torchrecorder\n", ":1: no forge draws Mermaid"),
    "dark": (".. torchrecorder: f.N dark=a.svg\n.. /torchrecorder\n", ":1: an image of reStructuredText has no dark"),
}


@pytest.mark.parametrize("what", BAD_REST)
def test_a_wrong_comment_of_rest_is_told_with_its_line(
    what: str, bare: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comment, said = BAD_REST[what]
    write({"pyproject.toml": "", "README.rst": comment})
    assert main(["update"]) == 2
    assert f"README.rst{said}" in capsys.readouterr().err
    assert Path("README.rst").read_text() == comment
