"""What one forward pass records, and where it stands."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any

from torch import Tensor, nn

from torchrecorder.activations.labels import DepthIdx

Postprocessor = Callable[[Tensor], Tensor | None]
"""`output -> modified output or None`; `None` leaves the output as it is, or as it was changed in place."""

_TOO_FEW = (
    "There were not enough postprocessing functions for every recorded layers ({}). If you wish to use the same "
    "function for every recorded layer, use the signature `rnet(*args, activation_postproc: Postprocessor, **kwargs). "
    "See `help(rnet.forward)` for more information"
)


class Pass:
    """One forward pass.

    Args:
        targets: For each module with a recorded call, the labels of its calls in order; `None` for the others.
        postprocessing: What to apply to recorded layers: one function, or one for each.
        dont_record: Only postprocess.
        outer: The pass of the same recorder that this one is called from, by a postprocessor.
    """

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
        self._dont_record = dont_record
        self._postprocessors: Iterator[Postprocessor | None] = (
            iter(postprocessing.copy()) if isinstance(postprocessing, list) else repeat(postprocessing)
        )
        self._busy = False

    def output(self, module: nn.Module, output: Any) -> Any:
        """Take note of a call's output; gives what takes its place, or `None`.

        Calls beyond those of the summary have no label and are not recorded. Calls that a postprocessor makes are none
        of this pass.

        Raises:
            ValueError: There are fewer postprocessors than recorded layers.
        """
        labels = self._targets.get(module)
        if labels is None or self._busy:
            return None
        call = self._calls[module]
        self._calls[module] = call + 1
        label = labels[call] if call < len(labels) else None
        if label is None:
            return None
        self.inner = None
        if not self._dont_record:
            self.activations[label] = output
        return self._postprocessed(output)

    def _postprocessed(self, output: Any) -> Any:
        try:
            function = next(self._postprocessors)
        except StopIteration:
            recorded = sum(label is not None for labels in self._targets.values() for label in labels)
            raise ValueError(_TOO_FEW.format(recorded)) from None
        if function is None:
            return None
        self._busy = True
        try:
            return function(output)
        finally:
            self._busy = False


class Current(threading.local):
    """The pass that runs in this thread, if any; as a forward hook, it shows that pass the outputs of modules.

    It does not know the recorder, so hooks keep none alive.
    """

    run: Pass | None = None

    def __call__(self, module: nn.Module, inputs: Any, output: Any) -> Any:
        """What takes the output's place, or `None`."""
        run = self.run
        return None if run is None else run.output(module, output)

    def __reduce__(self) -> tuple[Any, ...]:
        return Orphan, ()


class Orphan:
    """What a hook becomes in a copied or unpickled network: one that belongs to no recorder."""

    def __call__(self, module: nn.Module, inputs: Any, output: Any) -> None:
        """Do nothing."""
