"""Views that are proved: where a proof fails, less is drawn as one, and it is proved again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from torchrecorder.proof.view import Prover
from torchrecorder.view import View, Views


class ProvedViews:
    """The views of one Graph, each proved before it is given away."""

    def __init__(self, views: Views) -> None:
        self._views, self._prover = views, Prover(views.graph)
        self.focus = views.options.focus
        """Path of the module that is shown alone."""

    def view(self, *, beside: bool = True) -> View:
        """What a picture shows; without insets if nothing can stand beside it.

        Raises:
            OptionError: As `make_view`.
        """
        return self._proved(self._views, lambda views: views.view(beside=beside))

    def inside(self, call: int) -> View:
        """What a reader sees who opens a layer that is closed."""
        return self._proved(self._views, lambda views: views.inside(call))

    def _proved(self, views: Views, plan: Callable[[Views], View]) -> View:
        view = plan(views)
        if views.graph.info.recorder == "classic":  # whose pictures are those of torchrecorder 1.0.3
            return view
        said: dict[str, None] = {}
        while faults := self._prover.faults(view):
            said.update((fault.words, None) for fault in faults)
            if not views.weaken(call for fault in faults for call in fault.calls):
                plainer = views.plainer()
                if plainer is None:
                    break
                views = plainer
            view = plan(views)
        return replace(view, weakened=tuple(said)) if said else view
