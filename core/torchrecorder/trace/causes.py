"""Whether the trace of a run that failed saw what made it fail, so that a change of that is noticed."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

from torchrecorder.errors import chain
from torchrecorder.trace.observed import TraceResult

_OF_SYSTEM = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOEXEC)
_SAYS_SYSTEM = (*map(os.strerror, _OF_SYSTEM), "os error", "cannot open", "could not open", "unable to open")
"""What compiled code says of a file that it did not get, in an exception of a class of its own."""


def has_unseen_cause(error: BaseException, trace: TraceResult) -> bool:
    """Whether an exception, or one that led to it, comes of a file, program or library that the trace did not see."""
    asked = {*trace.read, *trace.looked_for, *trace.listed, *trace.measures, *trace.links}
    return any(_is_unseen(raised, asked) for raised in chain(error))


def _is_unseen(error: BaseException, asked: set[str]) -> bool:
    if isinstance(error, OSError) and error.filename is not None:
        return not isinstance(error.filename, str | bytes) or _absolute(error.filename) not in asked
    said = str(error).lower()
    if isinstance(error, OSError) or any(text.lower() in said for text in _SAYS_SYSTEM):
        return not any(os.path.basename(path).lower() in said for path in asked if os.path.basename(path))
    return any(map(_is_compiled, _files(error)))


def _absolute(name: str | bytes) -> str:
    return os.path.abspath(os.fsdecode(name))


def _is_compiled(file: str) -> bool:
    """Whether code of that file is run from another one, as that of Cython is, so that no trace sees what it does."""
    return file.endswith((".pyx", ".pxd", ".pxi"))


def _files(error: BaseException) -> Iterator[str]:
    frame = error.__traceback__
    while frame is not None:
        yield frame.tb_frame.f_code.co_filename
        frame = frame.tb_next
