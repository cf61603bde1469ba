"""What all commands say the same way."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeAlias

from torchrecorder.errors import OptionError
from torchrecorder.pipeline import Collected, Pipeline, collect
from torchrecorder.worker.client import Worker

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What a command adds its parser to."""

_WHERE = 'write torchrecorder_cache = "diagrams" in conf.py, or `cache: diagrams` under the plugin in mkdocs.yml'

FAILED = 1
USAGE = 2


def add_docs(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a documentation project."""
    parser.add_argument(
        "docs", metavar="DOCS", type=Path, help="the folder of conf.py or mkdocs.yml, or the file itself"
    )


def add_remote(parser: argparse.ArgumentParser) -> None:
    """Add the option for a cache that a team shares."""
    parser.add_argument(
        "--remote", default="", metavar="URL", help="a cache that a team shares: a URL for fsspec, or a folder"
    )


def pipeline_of(
    found: Collected, open_worker: Callable[[Sequence[str]], AbstractContextManager[Worker]] | None = None
) -> Pipeline:
    """What looks after the cache that the project shares, or if it has none, the one of this machine."""
    return Pipeline(found.settings, open_worker, writes_committed=True)


def remarks_of(pipeline: Pipeline) -> list[str]:
    """What is to be said of the caches."""
    return [text for text in (pipeline.cache.problem, pipeline.cache.notice) if text]


def read_docs(arguments: argparse.Namespace) -> Collected:
    """The requests of the project that was named.

    Raises:
        OptionError: It has no cache to look after.
    """
    found = collect(arguments.docs)
    if found.settings.committed is None:
        raise OptionError((f"{arguments.docs} names no cache: {_WHERE}",))
    return found
