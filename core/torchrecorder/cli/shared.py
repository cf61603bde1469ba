"""What all commands say the same way."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

from torchrecorder.diagram import Collected, Pipeline, collect

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""What a command adds its parser to."""

FAILED = 1
USAGE = 2


def add_docs(parser: argparse.ArgumentParser) -> None:
    """Add the argument that names a documentation project."""
    parser.add_argument(
        "docs", metavar="DOCS", type=Path, help="the folder of conf.py or mkdocs.yml, or the file itself"
    )


def pipeline_of(found: Collected) -> Pipeline:
    """What looks after the cache that the project shares, or if it has none, the one of this machine."""
    return Pipeline(found.settings, writes_committed=True)


def read_docs(arguments: argparse.Namespace) -> Collected:
    """The requests of the project that was named."""
    return collect(arguments.docs)
