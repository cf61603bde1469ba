"""Text in a page runs no commands, and no model ends a build."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.mkdocs_ext.site import Site

COMMANDS = (
    "os.system('touch {}')",
    "subprocess.check_output(['touch', '{}'])",
    "builtins.exec('open(\\'{}\\', \\'w\\')')",
    "torch.os.system('touch {}')",
)


def test_commands_in_a_page_are_refused_before_they_run(site: Site, tmp_path: Path) -> None:
    touched = tmp_path / "touched"
    fences = [f"```torchrecorder {command.format(touched)}\n```\n\n" for command in COMMANDS]
    fences += [f"```torchrecorder nets.Net\n:shape: 1,3\n:styler: subprocess.Popen(['touch', '{touched}'])\n```\n\n"]
    fences += [f"```torchrecorder nets.Net\n:inputs: os.system('touch {touched}')\n```\n"]
    site.write("index.md", "# Index\n\n" + "".join(fences))
    built = site.build()
    assert not touched.exists()
    refused = [text for text in built.warnings if "is not called: a page may call classes of nn.Module" in text]
    assert len(refused) == len(built.warnings) == len(fences), built.warnings
    assert "to allow it, add 'os.system' to `allow` of the plugin torchrecorder in mkdocs.yml" in refused[0]


@pytest.mark.parametrize("allow", [["copy.deepcopy"], ["copy"], ["*"]])
def test_what_the_site_allows_is_called(allow: list[str], site: Site) -> None:
    site.settings["allow"] = allow
    site.write("index.md", "```torchrecorder copy.deepcopy('no module')\n```\n")
    (text,) = site.build().warnings
    assert "calling it gave an object of class str, not a torch.nn.Module" in text


BAD = ("HalfPair", "HalfPairs", "Scribbles", "Shouts", "Clears", "Falls")
MISBEHAVING = Path(__file__).parents[1] / "models" / "misbehaving.py"


def test_a_bad_model_costs_its_own_diagram_and_one_warning(tmp_path: Path) -> None:
    nets = tmp_path / "nets"
    nets.mkdir()
    (nets / "bad_nets.py").write_text(MISBEHAVING.read_text())
    site = Site(tmp_path / "site", nets, tmp_path / "cache")
    fence = "```torchrecorder bad_nets.{}\n:shape: 1,3\n:run: real\n```\n\n"
    site.write("index.md", "# Index\n\n" + "".join(fence.format(name) + fence.format("Net") for name in BAD))
    built = site.build()
    assert not built.aborted
    assert len(built.warnings) == 5, built.warnings
    page = built.page()
    assert len(re.findall(r"<title[^>]*>Net</title>", page)) == len(BAD), "the good one each time"
    assert len(page) < 1_000_000
    for text in (page, *built.warnings):
        text.encode()
        assert not {"\x1b", "\x07", "\0", "\u202e"} & {*text}
