"""`torchrecorder check`: whether a project's kept diagrams show its models as they are. Needs no torch."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from torchrecorder.cli.shared import FAILED, Commands, add_docs, pipeline_of, read_docs, remarks_of
from torchrecorder.pipeline import Collected, Pipeline
from torchrecorder.request import RecordingRequest
from torchrecorder.trace.freshness import Verdict


def add_to(commands: Commands) -> None:
    """Add the command's parser."""
    parser = commands.add_parser(
        "check",
        help="tell which diagrams of a project are out of date",
        description="Tell which diagrams of a project are out of date, and why. Exit status 1 if any is.",
        allow_abbrev=False,
    )
    add_docs(parser)
    parser.add_argument("--verify", action="store_true", help="record all again and compare; needs torch")
    parser.set_defaults(execute=run)


def run(arguments: argparse.Namespace) -> int:
    """Check, and give the exit status."""
    found = read_docs(arguments)
    if found.settings.committed is not None:  # what others have is not in there yet
        found = replace(found, settings=replace(found.settings, remote=""))
    wanted = list(dict.fromkeys(request.recording for request in found.requests))
    wrong = _check(pipeline_of(found), wanted) + (_verify(found, wanted) if arguments.verify else 0)
    print(f"{len(wanted)} recordings, {wrong} to be made again" if wrong else f"{len(wanted)} recordings, all fresh")
    return FAILED if wrong else 0


def _check(pipeline: Pipeline, wanted: Sequence[RecordingRequest]) -> int:
    recordings = pipeline.recordings()
    wrong = 0
    for request in wanted:
        manifest, finding = recordings.look(request)
        if finding.verdict is not Verdict.FRESH:
            wrong += 1
            print(f"{finding.verdict.name.replace('_', '-'):12}{request.target}: {finding}")
        elif manifest is not None and manifest.untracked:
            print(f"{'not provable':12} {request.target}: its code {', '.join(manifest.untracked)}")
    recordings.save_indexes()
    pipeline.cache.close()
    for remark in remarks_of(pipeline):
        print(f"torchrecorder: {remark}", file=sys.stderr)
    return wrong


def _verify(found: Collected, wanted: Sequence[RecordingRequest]) -> int:
    """How many recordings that are fresh by their manifests come out otherwise when made again."""
    kept, wrong = pipeline_of(found).recordings(), 0
    with tempfile.TemporaryDirectory(prefix="torchrecorder-") as scratch:
        settings = replace(found.settings, cache=Path(scratch), committed=None, remote="", project=found.settings.root)
        requests = {request.recording: request.timeout_s for request in found.requests}
        again = Pipeline(settings).recordings().make(requests, lambda *_: None)
    for request in wanted:
        manifest, finding = kept.look(request)
        if manifest is not None and finding.verdict is Verdict.FRESH and again[request].digest != manifest.graph:
            wrong += 1
            print(f"{'DIFFERS':12}{request.target}: {again[request].error or 'recorded again, it gives another graph'}")
    return wrong
