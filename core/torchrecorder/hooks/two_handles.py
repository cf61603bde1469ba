"""Two hooks that are taken off as one."""

from __future__ import annotations

from typing import Any

from torch.utils.hooks import RemovableHandle


class TwoHandles(RemovableHandle):
    """The handles of two hooks, as the one handle that a recorder has for each of its subrecorders."""

    def __init__(self, first: RemovableHandle, second: RemovableHandle) -> None:
        self.__setstate__((first, second))

    def remove(self) -> None:
        """Take both off."""
        self._first.remove()
        self._second.remove()

    def __getstate__(self) -> Any:
        return self._first, self._second

    def __setstate__(self, state: Any) -> None:
        self._first, self._second = state
        self.id = self._first.id
