"""What the model's code asks of the numbers in tensors: what it carries out of PyTorch, and the branches it takes."""

from __future__ import annotations

from collections.abc import Sequence

from torchrecorder.graph import Op
from torchrecorder.recording.names import DECISIONS, EXITS, POINTERS
from torchrecorder.recording.scopes import Scopes
from torchrecorder.recording.values import Values, innermost
from torchrecorder.running.nested import tensors_in

_MOST_FIXED = 1000
"""Values that are looked at to see whether numbers that leave PyTorch depend on data."""


class Questions:
    """The notes and decisions of one recording that come from questions."""

    def __init__(self, values: Values, scopes: Scopes, rows: Sequence[Op], notes: dict[str, None]) -> None:
        self._values, self._scopes, self._rows, self._notes = values, scopes, rows, notes
        self.decisions: dict[tuple[str, str], dict[int, None]] = {}
        """By place and text of a line that decides by tensors, their values."""
        self.sized_by_data: dict[int, str] = {}
        """Values the sizes of which depend on numbers, and the operations that gave them."""
        self.random: set[str] = set()
        """Kernels that draw random numbers."""

    def asked(self, name: str, args: Sequence[object]) -> None:
        """Note what a function of that name tells the code of the numbers in tensors."""
        if name in ("untyped_storage", "__reduce_ex__") and self._scopes.is_pickling():
            self._notes[f"values left PyTorch through pickling, as torch.save does, {self._scopes.place()}"] = None
        elif name in EXITS:
            if not self._are_fixed(args):
                self._notes[f"values left PyTorch through {name.strip('_')}() {self._scopes.place()}"] = None
            self.decided(args, self._scopes.asked(in_condition=True))
        elif name in DECISIONS:
            self.decided(args, self._scopes.asked())
        elif name in POINTERS and self._scopes.is_asked_by_user():
            self._notes[f"values left PyTorch through {name}() {self._scopes.place()}"] = None

    def sized(self, args: Sequence[object]) -> None:
        """The code asks how large tensors are."""
        for tensor in filter(self._values.is_known, innermost(tensors_in(args, []))):
            name = self.sized_by_data.get(self._values.read(tensor)[0])
            if name is not None and self._scopes.is_asked_by_user():
                self._notes[f"values left PyTorch through the size of {name}() {self._scopes.place()}"] = None

    def decided(self, args: Sequence[object], place: tuple[str, str] | None) -> None:
        """The code asks whether tensors are so or so, and goes on accordingly."""
        if place is None:
            return
        source, line = place
        self._notes[f"one branch of `{line}` was taken, {source}"] = None
        values = self.decisions.setdefault(place, {})
        for tensor in innermost(tensors_in(args, [])):
            if self._values.is_known(tensor):
                values[self._values.read(tensor)[0]] = None

    def are_sized_like(self, outputs: Sequence[int], inputs: Sequence[int]) -> bool:
        """Whether results have the sizes of an input whose sizes depend on numbers."""
        rows = self._values.rows
        sizes = [meta.shape for value in inputs if value in self.sized_by_data and (meta := rows[value].meta)]
        return any((meta := rows[value].meta) and meta.shape in sizes for value in outputs)

    def _are_fixed(self, args: Sequence[object]) -> bool:
        """Whether tensors hold what operations made of nothing, as `torch.arange(n)` does; not random numbers."""
        values = self._values.read_all([*filter(self._values.is_known, innermost(tensors_in(args, [])))])
        waiting = [*values]
        for value in waiting:
            producer = self._values.rows[value].producer
            if (
                producer is None
                or len(waiting) > _MOST_FIXED
                or not self.random.isdisjoint(self._rows[producer].kernels)
            ):
                return False
            waiting += self._rows[producer].inputs
        return bool(waiting)
