"""Manifests and tables of modules as they are read back, also those that earlier versions wrote."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.core.trace.freshness.conftest import make_project as make_project
from tests.core.trace.freshness.conftest import shared_worker as shared_worker
from tests.entries import entries, facts_of, rewrite
from tests.models.one_layer import net
from torchrecorder.trace.freshness import Verdict
from torchrecorder.trace.manifest import table_of


def test_a_row_of_an_earlier_version_is_compared_as_a_whole_file(make_project: Callable[..., Any]) -> None:
    project = make_project({"src/pkg/__init__.py": net()})
    project.draw()
    (file,) = entries(project.root / ".torchrecorder")
    facts = facts_of(file)
    source, _, *_ = facts["table"]["pkg"]
    rewrite(file, {**facts, "table": {"pkg": [source, "0" * 32, {}, "1" * 32, ["spare"]]}})
    assert project.finding().verdict is Verdict.FRESH
    project.edit("src/pkg/__init__.py", "import torch", "import torch  # why")
    assert str(project.finding()) == "pkg/__init__.py changed"


@pytest.mark.parametrize("rows", [{"pkg": 3}, {"pkg": [3]}, {"pkg": ["a", "b", []]}, {"pkg": []}, 3, [1]])
def test_what_is_no_table(rows: object) -> None:
    assert table_of(rows) is None
