"""What new recordings leave behind: the Graph with all that it depended on, or the failure with all that it did."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from torchrecorder.cache.index import stamp_of
from torchrecorder.cache.layered import LayeredCache
from torchrecorder.cache.store import Store
from torchrecorder.errors import OUT_OF_MEMORY, InputError, TorchMissing, shown_target
from torchrecorder.graph.codec import is_from_names
from torchrecorder.pipeline.failures import REMEMBERED, Failures, files_of
from torchrecorder.request import RecordingRequest, parse_target
from torchrecorder.request.settings import Settings
from torchrecorder.trace.digests import FileDigests
from torchrecorder.trace.finder import ModuleFinder
from torchrecorder.trace.installed import Installed, remember
from torchrecorder.trace.manifest import Manifest
from torchrecorder.trace.observed import ChangedWhileRecorded, TraceResult, build_manifest
from torchrecorder.worker.messages import Answer

_HALF_PAIR = re.compile("[\ud800-\udfff]")
_OF_THE_MACHINE = (*OUT_OF_MEMORY, "No space left on device", "Too many open files")


class Keeper:
    """Keeps the recordings of one batch."""

    def __init__(
        self,
        cache: LayeredCache,
        machine: Store,
        settings: Settings,
        digests: FileDigests,
        failures: Failures,
        finder: Callable[[], ModuleFinder],
        installed_now: Callable[[], Installed],
    ) -> None:
        """As `Recordings`; `finder` makes one that has seen nothing yet."""
        self._cache = cache
        self._machine = machine
        self._settings = settings
        self._digests = digests
        self._failures = failures
        self._finder = finder
        self._installed_now = installed_now
        self._installed = ""
        """The digest of what was installed when the first of them was kept."""

    def keep(
        self, request: RecordingRequest, answer: Answer, *, is_tried: bool
    ) -> tuple[str, bytes, tuple[Path, ...], str]:
        """The digest and the text of the Graph, if there is one, the files of the code, and why none is kept."""
        sources = () if answer.trace is None else tuple(map(Path, answer.trace.stamps()))
        # A name that the system gave may hold half of a surrogate pair, which no file in UTF-8 can.
        text = _HALF_PAIR.sub("\N{REPLACEMENT CHARACTER}", answer.graph or "").encode()
        digest = hashlib.sha256(text).hexdigest() if text else ""
        info = ""
        try:
            if answer.error is not None:
                sources = (*sources, *files_of(answer.error))
                if is_lasting(answer) or (is_tried and not isinstance(answer.error, TorchMissing)):
                    trace = trace_of_failure(request, answer.trace, self._finder())
                    manifest = self._manifest(request, digest, trace, self._machine)
                    self._failures.put(request, answer.error, manifest, text, was_tried=not is_lasting(answer))
            elif text and answer.trace is not None:
                manifest = self._manifest(request, digest, answer.trace, self._cache)
                manifest = replace(manifest, is_from_names=is_from_names(text))
                shared = manifest.shared()
                self._cache.put_entry("recording", request.key(), manifest.to_json(), text, shared.to_json())
        except ChangedWhileRecorded as changed:
            info = (
                f"{shown_target(request.target)}: {changed} changed while it was recorded, so the recording is not kept"
            )
            info += ", and the next build makes another"
        return digest, text, sources, info

    def _manifest(
        self, request: RecordingRequest, digest: str, trace: TraceResult, objects: LayeredCache | Store
    ) -> Manifest:
        """What a recording that has just ended depended on; raises what `build_manifest` does."""
        self._digests.forget()
        self._installed = self._installed or remember(self._machine, self._installed_now())
        return build_manifest(
            request,
            digest,
            trace,
            project=self._settings.root,
            finder=self._finder(),
            digests=self._digests,
            put_object=objects.put_object,
            salt=lambda: objects.salt,  # a cache without such digests needs none
            installed=self._installed,
        )


def is_lasting(answer: Answer) -> bool:
    """Whether the failure is reproducible until a traced dependency changes."""
    error, trace = answer.error, answer.trace
    if trace is None or not isinstance(error, REMEMBERED) or trace.has_connected:
        return False
    if isinstance(error, InputError) and error.ran_out_of_time:
        return False
    said = f"{error}\n{error.details()}"
    return not any(text in said for text in _OF_THE_MACHINE)


def trace_of_failure(request: RecordingRequest, trace: TraceResult | None, finder: ModuleFinder) -> TraceResult:
    """The trace as a failure is compared by; without one, as after a time-out, the file of the model's module.

    It has every name that was not found: the target's own is asked for by us, not by the user's code, and what
    installed packages try to import counts too, since one of them may be what failed. Sources are compared as whole
    files, because an error says lines of them.
    """
    if trace is None:
        files = [str(file) for name in _prefixes(request.target) if (file := finder.file(name)) is not None]
        trace = TraceResult({}, {}, None, {file: stamp_of(file) for file in files}, {}, {}, {}, (), (), {})
    names = {*trace.missing, *trace.not_found, *_prefixes(request.target), *_prefixes(request.inputs)}
    return replace(trace, executed=None, missing=tuple(sorted(names)))


def _prefixes(target: str) -> Iterator[str]:
    with suppress(ValueError):
        parts = parse_target(target).dotted.split(".")
        yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))
