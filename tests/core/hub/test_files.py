"""What the hub answers, and the sentence for each answer; the hub is a server of this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.core.hub.server import FIRST, SECOND, Hub, serving

pytest.importorskip("huggingface_hub")

ASK = """
import json, sys
from torchrecorder.errors import HubFailed
from torchrecorder.hub import files
from torchrecorder.request import parse_target
from torchrecorder.trace import mentions

files._TIMEOUT_S = float(sys.argv[1])
for text in sys.argv[2:]:
    try:
        target = parse_target(text)
        repository = files.Repository.of(target.args[0], "".join(target.args[1:]))
        config = repository.config("config.json")
        if config is None:
            raise repository.lacks("config.json", "model_index.json")
        said = [config, repository.commit]
    except (HubFailed, ValueError) as error:
        said = str(error)
    print(json.dumps(said))
print(json.dumps([mentions.commits, sorted({name.partition(".")[0] for name in sys.modules} & {"torch"})]))
"""
"""Prints for each target its configuration with the commit, or why there is none; at the end what was noted."""


@pytest.fixture
def hub() -> Iterator[Hub]:
    files = {
        "owner/net": {"config.json": '{"model_type": "net"}', "part/config.json": '{"model_type": "part"}'},
        "plain": {"config.json": "{}"},
        "owner/broken": {"config.json": '{"model_type": '},
        "owner/list": {"config.json": "[1]"},
        "owner/empty": {"README.md": "nothing else"},
    }
    with serving(Hub(files, gated={"owner/gated"}, datasets={"owner/words"})) as served:
        yield served


def asked(hub: Hub, cache: Path, *targets: str, timeout_s: float = 10.0, **environment: str) -> list[Any]:
    command = [sys.executable, "-c", ASK, str(timeout_s), *targets]
    given = {"HF_ENDPOINT": hub.address, "HF_HOME": str(cache), "HF_HUB_OFFLINE": "0", **environment}
    done = subprocess.run(command, env={**os.environ, **given}, capture_output=True, text=True, cwd=cache, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_configuration_is_fetched_with_its_commit(hub: Hub, tmp_path: Path) -> None:
    *said, (commits, loaded) = asked(hub, tmp_path, "hf:owner/net", "hf:plain", "hf:owner/net/part@v1")
    assert said == [[{"model_type": "net"}, FIRST], [{}, FIRST], [{"model_type": "part"}, FIRST]]
    assert commits == {"owner/net": FIRST, "plain": FIRST, "owner/net@v1": FIRST}
    assert loaded == []
    files = {line.split("/resolve/")[1].partition("/")[2] for line in hub.asked if "/resolve/" in line}
    assert files == {"config.json", "part/config.json"}


REFUSED = {
    "hf:owner/gated": ["gated", "accept its conditions at {}/owner/gated", "HF_TOKEN"],
    "hf:owner/none": ["shows no model owner/none", "is it spelled as there?"],
    "hf:owner/words": ["owner/words is a dataset, not a model"],
    "hf:datasets/owner/words": ["names one of the datasets of the hub"],
    "hf:owner/net@v2": ["owner/net has no revision 'v2'"],
    "hf:owner/broken": ["its config.json cannot be read: JSONDecodeError"],
    "hf:owner/list": ["its config.json holds no JSON object"],
    "hf:owner/empty": ["owner/empty has neither config.json nor model_index.json"],
    "hf:../owner/net": ["there is no folder"],
    "hf:owner/../net": ["leads out of its folder"],
    "hf:owner/n..et": ["is not a name of the hub"],
    "hf:./missing": ["there is no folder", "missing"],
}


def test_each_refusal_is_a_sentence(hub: Hub, tmp_path: Path) -> None:
    *said, (commits, _) = asked(hub, tmp_path, *REFUSED)
    assert not [pair for pair in zip(REFUSED, said, strict=True) if not isinstance(pair[1], str)]
    missing = [
        (target, piece, text)
        for (target, pieces), text in zip(REFUSED.items(), said, strict=True)
        for piece in pieces
        if piece.format(hub.address) not in text
    ]
    assert missing == []
    assert {*commits} <= {"owner/broken", "owner/list"}


def test_a_slow_hub_is_given_up_and_not_asked_again(hub: Hub, tmp_path: Path) -> None:
    hub.delay_s = 3.0
    said, _ = asked(hub, tmp_path, "hf:owner/net", timeout_s=0.5)
    assert f"its configuration is not on this machine, and {hub.address} does not give it" in said
    assert "imeout" in said
    assert len(hub.asked) == 1


def test_what_was_fetched_once_needs_no_hub(hub: Hub, tmp_path: Path) -> None:
    asked(hub, tmp_path, "hf:owner/net", f"hf:plain@{FIRST}")
    hub.asked.clear()
    *said, (commits, _) = asked(hub, tmp_path, "hf:owner/net", "hf:plain", "hf:owner/empty", HF_HUB_OFFLINE="1")
    assert said[0] == [{"model_type": "net"}, FIRST]
    assert "is not on this machine" in said[1]  # its branch was never asked for
    assert "is not on this machine" in said[2]
    assert commits == {"owner/net": FIRST}
    assert hub.asked == []


def test_a_commit_in_the_cache_is_not_asked_for(hub: Hub, tmp_path: Path) -> None:
    asked(hub, tmp_path, f"hf:owner/net@{FIRST}")
    hub.asked.clear()
    (config, commit), _ = asked(hub, tmp_path, f"hf:owner/net@{FIRST}")
    assert (config, commit, hub.asked) == ({"model_type": "net"}, FIRST, [])


def test_a_branch_that_moved_gives_its_new_commit(hub: Hub, tmp_path: Path) -> None:
    asked(hub, tmp_path, "hf:owner/net")
    hub.commits["owner/net"] = SECOND
    assert asked(hub, tmp_path, "hf:owner/net")[0][1] == SECOND


def test_a_folder_of_the_project_is_read_and_no_other(hub: Hub, tmp_path: Path) -> None:
    project, outside = tmp_path / "project", tmp_path / "outside"
    for folder in (project / ".git", project / "net", outside):
        folder.mkdir(parents=True)
    for folder in (project / "net", outside):
        (folder / "config.json").write_text('{"model_type": "net"}')
    *said, (commits, _) = asked(hub, project, "hf:./net", "hf:../outside")
    assert said[0] == [{"model_type": "net"}, ""]
    assert "lies outside of the project" in said[1]
    assert (commits, hub.asked) == ({}, [])
