"""The reference of options and settings says what is declared."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[2] / "docs" / "reference" / "schema.py"
spec = importlib.util.spec_from_file_location("schema", SCRIPT)
assert spec is not None
assert spec.loader is not None
schema = importlib.util.module_from_spec(spec)
spec.loader.exec_module(schema)


@pytest.mark.parametrize("name", list(schema.PAGES))
def test_it_is_current(name: str) -> None:
    """If not: `python docs/reference/schema.py`."""
    assert SCRIPT.with_name(name).read_text(encoding="utf-8") == schema.PAGES[name]()


def test_every_declaration_has_its_row() -> None:
    options, settings = schema.option_page(), schema.setting_page()
    assert [it.name for it in schema.OPTIONS if f"\n| `{it.name}` | " not in options] == []
    declared = [setting for setting in schema.SETTINGS if setting.in_sphinx]
    assert [it.name for it in declared if f"\n| `torchrecorder_{it.name}` | `{it.name}` | " not in settings] == []
