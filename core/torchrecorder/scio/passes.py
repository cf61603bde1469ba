"""What one forward pass records, and where it stands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import Tensor, nn

from torchrecorder.scio.table import DepthIdx

Postprocessor = Callable[[Tensor], Tensor | None]
"""`output -> modified output or None`; `None` leaves the output as it is, or as it was changed in place."""

_TOO_FEW = (
    "There were not enough postprocessing functions for every recorded layers ({}). If you wish to use the same "
    "function for every recorded layer, use the signature `rnet(*args, activation_postproc: Postprocessor, **kwargs). "
    "See `help(rnet.forward)` for more information"
)


class Pass:
    def __init__(
        self,
        targets: Mapping[nn.Module, Sequence[DepthIdx | None]],
        postprocessing: list[Postprocessor] | Postprocessor | None,
        dont_record: bool,
        outer: Pass | None,
    ) -> None:
        self.activations: dict[DepthIdx, Any] = {}
        self.inner: dict[DepthIdx, Any] | None = None
        """What a pass inside of this one has left, shown until this one goes on."""
        self.outer = outer
        self._targets = targets
        self._calls = dict.fromkeys(targets, 0)
        self._begun: dict[nn.Module, list[int]] = {}
        self._dont_record = dont_record
        self._postprocessing = postprocessing.copy() if isinstance(postprocessing, list) else postprocessing
        self._busy = False

    def begin(self, module: nn.Module) -> None:
        if module in self._calls and not self._busy:
            self._begun.setdefault(module, []).append(self._next_call(module))

    def output(self, module: nn.Module, output: Any) -> Any:
        """Take note of a call's output; gives what takes its place, or `None`.

        Calls beyond those of the summary have no label and are not recorded. Calls that a postprocessor makes are none
        of this pass.
        """
        labels = self._targets.get(module)
        if labels is None or self._busy:
            return None
        begun = self._begun.get(module)
        call = begun.pop() if begun else self._next_call(module)
        label = labels[call] if call < len(labels) else None
        if label is None:
            return None
        self.inner = None
        if not self._dont_record:
            self.activations[label] = output
        return self._postprocessed(output)

    def _next_call(self, module: nn.Module) -> int:
        call = self._calls[module]
        self._calls[module] = call + 1
        return call

    def _postprocessed(self, output: Any) -> Any:
        function = self._postprocessing
        if isinstance(function, list):
            function = self._next(function)
        if function is None:
            return None
        self._busy = True
        try:
            return function(output)
        finally:
            self._busy = False

    def _next(self, functions: list[Postprocessor]) -> Postprocessor:
        if not functions:
            recorded = sum(label is not None for labels in self._targets.values() for label in labels)
            raise ValueError(_TOO_FEW.format(recorded))
        return functions.pop(0)


class _Here(threading.local):
    def __init__(self) -> None:  # called in each thread
        self.run: Pass | None = None


class Current:
    """The pass that runs in this thread, if any; as a forward hook, it shows that pass the outputs of modules.

    It does not know the recorder, so hooks keep none alive.
    """

    def __init__(self) -> None:
        self.here = _Here()  # no base class: `torch.compile` cannot call a `threading.local`

    def __call__(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        """What takes the output's place, or `None`."""
        run = self.here.run
        return None if run is None else run.output(module, output)

    def __reduce__(self) -> tuple[Any, ...]:
        return Orphan, ()


class Beginning:
    """A forward pre-hook for modules that are called inside themselves."""

    def __init__(self, current: Current) -> None:
        self._current = current

    def __call__(self, module: nn.Module, inputs: Any) -> None:
        """Show the pass of this thread, if any, that a call begins."""
        run = self._current.here.run
        if run is not None:
            run.begin(module)

    def __reduce__(self) -> tuple[Any, ...]:
        return Orphan, ()


class Orphan:
    """What a hook becomes in a copied or unpickled network: one that belongs to no recorder."""

    def __call__(self, *args: Any) -> None:
        """Do nothing."""
