"""Writes the reference of options and settings from their declarations: `python docs/reference/schema.py`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from torchrecorder.request import OPTIONS, SETTINGS, Option, SiteSetting
from torchrecorder.request.options import Value, read_text

FOLDER = Path(__file__).parent
MADE = "<!-- Made by docs/reference/schema.py from the declarations in core/torchrecorder/request. -->"

OPTION_PAGE = """# Options

{made}

Written as `:name: value` under a directive, as `:name: value`, `name: value` or `name=value` in a fence, as
`--name value` on the command line; a value that is not given is the default. What the values mean in full is in the
guide to [options](../guide/options.md).

## What is recorded

{recording}

## How it is drawn

{drawing}

## The figure around it

{figure}

## For a whole site

All but {single} can be set for all diagrams, in the setting [`options`](settings.md).
"""

SETTING_PAGE = """# Settings

{made}

What holds for a whole site. In Sphinx it is a value of `conf.py`, `torchrecorder_path = ["../src"]`; in MkDocs a key
under the plugin `torchrecorder` in `mkdocs.yml`, `path: [../src]`; in Zensical a key under the Markdown extension.
Paths are relative to the folder of that file.

{shared}

MkDocs and Zensical have these too; Sphinx keeps what it records beside its doctrees.

{own}

`enabled: false`, in MkDocs only, leaves fences as code.

For [pictures in files](../howto/pictures-in-files.md) they are keys of `[tool.torchrecorder]` in `pyproject.toml`,
under the names of MkDocs and without those of pages; there `cache` is `diagrams` and `path` the folder and its `src` if
nothing is written, and two keys are their own: `pictures`, the files with what is drawn in each, and `markdown`, the
files whose comments are read.
"""


def option_page() -> str:
    """The page of all options."""
    tables = {
        stage: table(("option", "value", "default", "what it says"), [row(it) for it in OPTIONS if it.stage == stage])
        for stage in ("recording", "drawing", "figure")
    }
    single = " and ".join(", ".join(f"`{it.name}`" for it in OPTIONS if not it.site).rsplit(", ", 1))
    return OPTION_PAGE.format(made=MADE, single=single, **tables)


def row(option: Option) -> tuple[str, ...]:
    """The cells of an option."""
    value = "text" if option.read is read_text else f"`{option.written().strip('{}').replace(',', '` `')}`"
    return f"`{option.name}`", value, written(option.default), option.help


def written(default: Value) -> str:
    """A default as pages write it."""
    if isinstance(default, bool):
        return "`yes`" if default else "`no`"
    text = f"{default:g}" if isinstance(default, float) else "" if default == () else str(default)
    return f"`{text}`" if text else ""


def setting_page() -> str:
    """The page of all settings."""
    shared = table(
        ("`conf.py`", "`mkdocs.yml`", "default", "what it says"),
        [(f"`torchrecorder_{it.name}`", f"`{it.name}`", json_of(it), it.help) for it in SETTINGS if it.in_sphinx],
    )
    own = [(f"`{it.name}`", json_of(it), it.help) for it in SETTINGS if not it.in_sphinx]
    return SETTING_PAGE.format(made=MADE, shared=shared, own=table(("key", "default", "what it says"), own))


def json_of(setting: SiteSetting) -> str:
    """A default as both Python and YAML read it; empty where it says nothing."""
    return f"`{json.dumps(setting.default)}`" if setting.default else ""


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """A table of Markdown."""
    cells = [head, ("---",) * len(head), *rows]
    return "\n".join(f"| {' | '.join(one)} |".replace("|  |", "| |") for one in cells)


PAGES = {"options.md": option_page, "settings.md": setting_page}

if __name__ == "__main__":
    for name, page in PAGES.items():
        (FOLDER / name).write_text(page(), encoding="utf-8")
