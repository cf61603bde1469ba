"""What the frames of Python say of themselves, looked up once per function: every operation walks over some."""

from __future__ import annotations

from types import CodeType, FrameType
from typing import NamedTuple

import torch.utils.checkpoint

from torchrecorder.recording.origin import import_path, is_users
from torchrecorder.running import torch_private

CALL: CodeType | None = torch_private.MODULE_CALL.get()
"""What runs a module, with the hooks in the function inside it."""
HOOKED_CALL: CodeType | None = torch_private.HOOKED_CALL.get()
APPLY: CodeType | None = torch_private.FUNCTION_CALL.get()


class Place(NamedTuple):
    """What is known of a function."""

    code: CodeType
    """Kept, so that no other function gets its address."""
    file: str | None
    """Its file as `pkg/mod.py`; None if it lies in torch or in the recorder, or was generated."""
    is_module_call: bool
    may_be_scope: bool
    """Whether it may run a module that no hook announces, or a custom autograd function."""
    is_import: bool
    is_checkpoint: bool
    """Whether it is of torch's checkpoints."""
    is_looked_at: bool
    """Whether it is any of the last three, which few are."""


class Places:
    """Knows functions by the address of their code: to compare code objects is to compare what is in them."""

    def __init__(self) -> None:
        self.known: dict[int, Place] = {}
        """By the address of the code; what is not in it yet is `of_code`'s to find."""

    def of_code(self, frame: FrameType) -> Place:
        """What is known of the function that runs in the frame."""
        code = frame.f_code
        place = self.known.get(id(code))
        if place is None:
            place = self.known[id(code)] = _describe(code, frame)
        return place


def _describe(code: CodeType, frame: FrameType) -> Place:
    # Generated code (`<eval_with_key>.3` of torch.fx) carries a number that differs from run to run.
    filename = code.co_filename
    is_seen = is_users(filename) and not filename.startswith("<")
    file = import_path(filename, frame.f_globals) if is_seen else None
    is_scope = code is APPLY or (code.co_name == "forward" and code.co_argcount > 0)
    is_import, is_checkpoint = filename.startswith("<frozen importlib"), filename == torch.utils.checkpoint.__file__
    is_looked_at = is_scope or is_import or is_checkpoint
    return Place(code, file, code is CALL or code is HOOKED_CALL, is_scope, is_import, is_checkpoint, is_looked_at)
