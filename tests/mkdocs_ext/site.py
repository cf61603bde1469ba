"""A MkDocs site in a folder of its own, built by MkDocs itself in this process."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent
from typing import Any

from mkdocs.commands.build import build
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import Abort

from mkdocs_torchrecorder import TorchRecorderPlugin


@dataclass
class Built:
    """What a build left behind."""

    folder: Path
    aborted: str = ""
    records: list[logging.LogRecord] = field(default_factory=list)

    def page(self, name: str = "index.html") -> str:
        return (self.folder / name).read_text(encoding="utf-8")

    @property
    def warnings(self) -> list[str]:
        return [record.getMessage() for record in self.records if record.levelno >= logging.WARNING]

    @property
    def progress(self) -> list[str]:
        said = [record.getMessage() for record in self.records if record.levelno == logging.INFO]
        return [text.removeprefix("torchrecorder: ") for text in said if text.startswith("torchrecorder: ")]

    def search_index(self) -> str:
        """The words that search finds, of all pages."""
        index = json.loads((self.folder / "search" / "search_index.json").read_text(encoding="utf-8"))
        return " ".join(entry["title"] + " " + entry["text"] for entry in index["docs"])


class Site:
    """Pages and the settings to build them with; the plugin object stays, as in `mkdocs serve`."""

    def __init__(self, folder: Path, nets: Path, cache: Path) -> None:
        self.folder = folder
        self.plugin = TorchRecorderPlugin()
        self.settings: dict[str, Any] = {"path": [str(nets)]}
        (folder / "docs").mkdir(parents=True)
        self.keep_in(cache)

    def keep_in(self, cache: Path) -> None:
        """Have what this machine records lie in a cache of other sites too."""
        cache.mkdir(exist_ok=True)
        link = self.folder / ".torchrecorder"
        link.unlink(missing_ok=True)
        link.symlink_to(cache)

    def write(self, name: str, text: str) -> str:
        """Write a page; gives its text."""
        file = self.folder / "docs" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        text = dedent(text).lstrip("\n")
        file.write_text(text, encoding="utf-8")
        return text

    def config(
        self,
        *,
        theme: str | dict[str, str] = "mkdocs",
        extensions: Sequence[str | Mapping[str, Any]] = (),
        plugins: Sequence[str] = ("search",),
        **settings: Any,
    ) -> MkDocsConfig:
        """MkDocs' configuration, with the plugin as an object: its entry point may not be installed."""
        config = MkDocsConfig(config_file_path=str(self.folder / "mkdocs.yml"))
        config.load_dict(
            {
                "site_name": "Site",
                "docs_dir": str(self.folder / "docs"),
                "site_dir": str(self.folder / "site"),
                "theme": theme,
                "plugins": list(plugins),
                "markdown_extensions": list(extensions),
                **settings,
            }
        )
        failed, warned = config.validate()
        assert not failed
        assert not warned
        wrong, unsure = self.plugin.load_config(self.settings, config_file_path=config.config_file_path)
        assert not wrong
        assert not unsure
        config.plugins["torchrecorder"] = self.plugin
        return config

    def build(self, others: Mapping[str, Any] | None = None, **settings: Any) -> Built:
        """Build the site as `mkdocs build` does, with other plugins as objects."""
        config = self.config(**settings)
        for name, plugin in (others or {}).items():
            config.plugins[name] = plugin
        config.plugins.on_startup(command="build", dirty=False)
        return self.rebuild(config)

    @staticmethod
    def rebuild(config: MkDocsConfig) -> Built:
        """Build the site as the server of `mkdocs serve` does, again and again."""
        built = Built(Path(config.site_dir))
        with _records(built.records):
            try:
                build(config)
            except Abort as error:
                built.aborted = str(error)
        return built


class _Keeper(logging.Handler):
    def __init__(self, kept: list[logging.LogRecord]) -> None:
        super().__init__()
        self._kept = kept

    def emit(self, record: logging.LogRecord) -> None:
        self._kept.append(record)


@contextmanager
def _records(kept: list[logging.LogRecord]) -> Iterator[None]:
    logger = logging.getLogger("mkdocs")
    handler, level = _Keeper(kept), logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
