"""Why nothing can be recorded: the torch of this Python, or a bug of torchrecorder."""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from pathlib import PurePath

from torchrecorder.errors import FailedInside, TorchBroken, TorchMissing, TorchRecorderError, TorchTooOld, text_of
from torchrecorder.trace.ownership import OURS, is_ours, is_user_code

OLDEST_TORCH = "2.8"
"""Also in pyproject.toml, as that which is promised is that which is tested."""


def torch_problem(target: str) -> TorchMissing | None:
    """Reason why this Python cannot record; None if it has a torch that it can import and that is new enough."""
    try:
        torch = importlib.import_module("torch")  # not a statement: the contracts see no import of a docs process here
    except Exception as error:
        cause = text_of(error)
        is_there = not (isinstance(error, ModuleNotFoundError) and error.name == "torch")
        return (TorchBroken if is_there else TorchMissing)(target, sys.executable, cause)
    version = getattr(torch, "__version__", None)
    if version is None:
        where = getattr(torch, "__file__", None) or ", ".join(torch.__path__)
        return TorchBroken(target, sys.executable, f"{where} is not PyTorch, but has its name")
    if _numbers(version) < _numbers(OLDEST_TORCH):
        return TorchTooOld(target, sys.executable, version=str(version), oldest=OLDEST_TORCH)
    return None


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:2]]


def failed_inside(target: str, error: BaseException, *, at_start: bool = False, doing: str = "record") -> FailedInside:
    frames = [(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)]
    ours = [f"{PurePath(file).relative_to(OURS.parent).as_posix()}:{line}" for file, line in frames if is_ours(file)]
    return FailedInside(
        target,
        text_of(error),
        ours[-1] if ours else "",
        str(getattr(sys.modules.get("torch"), "__version__", "")),
        "".join(traceback.format_exception(error)),
        at_start,
        doing,
    )


def unforeseen(target: str, error: Exception) -> TorchRecorderError:
    """An error on purpose as it is; for any other, that our own code raised it while a diagram was drawn.

    The seam between one diagram and all others: what raises between a Graph and a page costs its own diagram.
    """
    return error if isinstance(error, TorchRecorderError) else failed_inside(target, error, doing="draw")


def is_own(error: Exception) -> bool:
    """Whether it was raised by our own code, or by a library or Python that we called."""
    files = [frame.f_code.co_filename for frame, _ in traceback.walk_tb(error.__traceback__)]
    last = max((at for at, file in enumerate(files) if is_ours(file)), default=-1)
    return not any(is_user_code(file) for file in files[last + 1 :])
