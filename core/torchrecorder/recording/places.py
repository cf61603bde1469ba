"""Which file a frame runs, looked up once per file: every operation asks."""

from __future__ import annotations

from types import FrameType

from torchrecorder.recording.origin import import_path, is_users


class Places:
    """Names files as `pkg/mod.py`."""

    def __init__(self) -> None:
        self._files: dict[str, str | None] = {}

    def file_of(self, frame: FrameType) -> str | None:
        """The frame's file; None if it lies in torch or in the recorder, or was generated."""
        filename = frame.f_code.co_filename
        try:
            return self._files[filename]
        except KeyError:
            # Generated code (`<eval_with_key>.3` of torch.fx) carries a number that differs from run to run.
            is_seen = is_users(filename) and not filename.startswith("<")
            found = self._files[filename] = import_path(filename, frame.f_globals) if is_seen else None
            return found
