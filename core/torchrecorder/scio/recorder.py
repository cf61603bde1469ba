"""Activations of chosen layers, by the labels of torchinfo's table.

A port of scio's `scio.recorder`; what differs, and why, is in `PORTS.toml`. Needs torchinfo and numpy, which
are imported when a `Recorder` is made: `python -m pip install 'torchrecorder-docs[scio]'`.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from types import MappingProxyType
from typing import Any, ParamSpec, TypeVar

from torch import Tensor, nn
from torch.fx import Tracer

from torchrecorder.running.facts import forward_parameters
from torchrecorder.running.handles import Handles
from torchrecorder.scio.table import (
    DepthIdx,
    constants_of,
    get_layer_info_depth_idx,
    inputs_of,
    labels_by_module,
    summarized,
)

__all__ = ["DepthIdx", "Postprocessor", "Recorder", "get_layer_info_depth_idx", "lazy_func"]

Postprocessor = Callable[[Tensor], Tensor | None]
"""`output -> modified output or None`; `None` leaves the output as it is, or as it was changed in place."""

_TOO_FEW = (
    "There were not enough postprocessing functions for every recorded layers ({}). If you wish to use the same "
    "function for every recorded layer, use the signature `rnet(*args, activation_postproc: Postprocessor, **kwargs). "
    "See `help(rnet.forward)` for more information"
)


class Recorder(nn.Module):
    """A network wrapped so that the outputs of chosen layers can be read after each forward pass.

    Labels are those of torchinfo's table: the depth, and a count of the calls at that depth in their order, so a layer
    that is called twice has two. They are found with one forward pass of an example input. If later passes take another
    way through the network, the labels may mean other layers; calls beyond those of the example are not recorded.

    Every module carries one forward hook, which does nothing outside of this recorder's own passes and goes when the
    recorder is garbage collected. A pass started by a postprocessor is a pass of its own. Copies and pickles record by
    themselves; they start without activations.

    Args:
        net: Network to be recorded.
        force_static_flow: Refuse networks whose control flow depends on the input.
        **summary_kwargs: For `torchinfo.summary`; `input_data` or `input_size` must be among them.

    Attributes:
        summary: torchinfo's statistics of the network.
        record_seqs: For each module the labels of its calls in order, and whether each is recorded.

    Raises:
        ImportError: torchinfo or numpy is not installed.
        RuntimeError: The control flow is not static, or the forward pass of the example failed.
        ValueError: There is neither `input_data` nor `input_size`.

    Examples:
        >>> import torch, torchrecorder
        >>> from torch.nn import Linear, ReLU, Sequential
        >>> net = Sequential(Linear(5, 4), ReLU(), Linear(4, 3), ReLU())
        >>> rnet = torchrecorder.scio.recorder.Recorder(net, input_size=(1, 5))
        >>> print(repr(rnet).splitlines()[6][:70])  # the layers with their labels
        ├─ReLU (1): 1-2                          [1, 4]                    [1,
        >>> rnet.record((0, 1), (1, 3))  # (0, 1) is the whole network
        >>> out = rnet(torch.rand(2, 5))
        >>> [(label, tuple(output.shape)) for label, output in rnet.activations.items()]
        [((1, 3), (2, 3)), ((0, 1), (2, 3))]
        >>> rnet.activations[(0, 1)] is out
        True
    """

    def __init__(self, net: nn.Module, /, *, force_static_flow: bool = True, **summary_kwargs: Any) -> None:
        super().__init__()
        self._net = net
        self._latest: dict[DepthIdx, Any] = {}
        self._current = Current()
        if force_static_flow:
            names, named = inputs_of(summary_kwargs)
            check_static_flow(net, names, constants_of(summary_kwargs), named=named)
        self.summary, log = summarized(net, summary_kwargs)
        self._labels = labels_by_module(self.summary.summary_list, log)
        self._reentered = log.reentered() & self._labels.keys()
        self.record()
        self._put_hooks()

    def record(self, *depth_idxs: DepthIdx) -> None:
        """Set the layers to record; none stops recording.

        Args:
            *depth_idxs: Their labels, such as `(0, 1), (1, 3)`. Duplicates and order do not matter.

        Raises:
            ValueError: Some label does not exist; what was recorded before stays so.

        Examples:
            >>> import torch, torchrecorder
            >>> net = torch.nn.Sequential(torch.nn.Linear(5, 4))
            >>> rnet = torchrecorder.scio.recorder.Recorder(net, input_size=(1, 5))
            >>> rnet.record((1, 1), (0, 1), (1, 1))
            >>> rnet.recording
            ((0, 1), (1, 1))
            >>> rnet.record(1, 1)
            Traceback (most recent call last):
            ValueError: Following layers not found: {1}. Did you mean `rnet.record((1, 1))`? Operation cancelled
        """
        asked, calls = set(depth_idxs), self._labels
        known = [get_layer_info_depth_idx(row) for row in self.summary.summary_list]
        if missing := asked.difference(known):
            hint = ""
            if len(depth_idxs) == 2 and all(isinstance(item, int) for item in depth_idxs):
                hint = f"Did you mean `rnet.record({depth_idxs})`? "
            raise ValueError(f"Following layers not found: {missing}. {hint}Operation cancelled")
        self._recording = sorted(label for label in known if label in asked)
        self.record_seqs = {module: [(label, label in asked) for label in labels] for module, labels in calls.items()}
        self._targets = {
            module: [label if label in asked else None for label in labels]
            for module, labels in calls.items()
            if not asked.isdisjoint(labels)
        }

    def forward(
        self,
        *args: Any,
        activation_postproc: list[Postprocessor] | Postprocessor | None = None,
        dont_record: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Run the network, and keep the outputs of the recorded layers. Call the recorder itself, as any module.

        Args:
            *args: For the network.
            activation_postproc: Applied to the outputs of recorded layers before they go on through the network: one
                function for all, or a list with one for each in the order of their calls; more are ignored. It comes
                after recording and not on a copy, so what it changes in place is changed in the record too.
            dont_record: Record nothing; postprocessing takes place all the same.
            **kwargs: For the network.

        Returns:
            What the network gives.

        Raises:
            RuntimeError: Some recorded layers were not called.
            ValueError: There are fewer postprocessors than recorded layers.

        Examples:
            >>> import torch, torchrecorder
            >>> net = torch.nn.Sequential(torch.nn.Identity(), torch.nn.ReLU())
            >>> rnet = torchrecorder.scio.recorder.Recorder(net, input_size=(1, 2))
            >>> rnet.record((1, 1))
            >>> rnet(torch.ones(1, 2), activation_postproc=lambda output: output + 1)
            tensor([[2., 2.]])
            >>> rnet.activations
            mappingproxy({(1, 1): tensor([[1., 1.]])})
        """
        current = self._current.here
        run = Pass(self._targets, activation_postproc, dont_record, current.run)
        current.run, self._latest = run, run.activations
        try:
            out = self._net(*args, **kwargs)
            if not dont_record and (missing := sorted(set(self.recording) - set(run.activations))):
                raise RuntimeError(
                    f"Missing {missing} activations. This may be due to dynamic control flow, "
                    "for which functionality is NOT GUARANTEED!"
                )
        except BaseException:
            run.activations = {}
            raise
        finally:
            current.run, self._latest = run.outer, run.activations
            if run.outer is not None:
                run.outer.inner = run.activations
        return out

    @property
    def net(self) -> nn.Module:
        """The wrapped network. It cannot be replaced: the labels are those of its layers."""
        return self._net

    @property
    def activations(self) -> MappingProxyType[DepthIdx, Any]:
        """The recorded outputs of the latest forward pass by label, in the order in which the calls ended."""
        return MappingProxyType(self._activations)

    @property
    def recording(self) -> tuple[DepthIdx, ...]:
        """The labels that are recorded, sorted."""
        return tuple(self._recording)

    @property
    def recorded_modules(self) -> dict[DepthIdx, nn.Module]:
        """The recorded modules by label, in the order of the table."""
        labelled = ((get_layer_info_depth_idx(row), row.module) for row in self.summary.summary_list)
        return {label: module for label, module in labelled if label in self._recording}

    @property
    def recorded_params(self) -> dict[str, nn.Parameter]:
        """The parameters of recorded modules, by the names they have in this recorder (`_net.0.weight`)."""
        wanted = {parameter for module in self.recorded_modules.values() for parameter in module.parameters()}
        return {name: parameter for name, parameter in self.named_parameters() if parameter in wanted}

    def __repr__(self) -> str:
        table = repr(self.summary)
        labels = ", ".join(f"{depth}-{idx}" for depth, idx in self.recording)
        rule = table[0] * table.find("\n")
        return f"Recorder instance for the following network\n{table}\nCurrently recording: {labels or None}\n{rule}"

    @property
    def _activations(self) -> dict[DepthIdx, Any]:
        run = self._current.here.run
        if run is None:
            return self._latest
        return run.activations if run.inner is None else run.inner

    @_activations.setter
    def _activations(self, activations: dict[DepthIdx, Any]) -> None:
        run = self._current.here.run
        if run is None:
            self._latest = activations
        else:
            run.activations, run.inner = activations, None

    def __setattr__(self, name: str, value: Any) -> None:
        # nn.Module would file a module under this name, and the property would go on to show the old one.
        if name == "net":
            raise AttributeError(
                "the network of a Recorder cannot be replaced: its labels belong to the one it was made with; "
                "make another Recorder"
            )
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in vars(self).items() if name not in ("_current", "_handles")}
        return {**kept, "_latest": {}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self._current = Current()
        self._put_hooks()

    def _put_hooks(self) -> None:
        self._handles = Handles()
        for module in self.record_seqs:
            for hooks in (module._forward_hooks, module._forward_pre_hooks):
                for key in [key for key, hook in hooks.items() if isinstance(hook, Orphan)]:
                    del hooks[key]
            self._handles.add(nn.Module.register_forward_hook(module, self._current))
        for module in self._reentered:
            self._handles.add(nn.Module.register_forward_pre_hook(module, Beginning(self._current)))
        weakref.finalize(self, self._handles.remove).atexit = False


P = ParamSpec("P")
T = TypeVar("T")


def lazy_func(func_weak: weakref.ReferenceType[Callable[P, T]]) -> Callable[P, T | None]:
    """Call what a weak reference leads to.

    Args:
        func_weak: The reference, such as `weakref.ref(function)` or `weakref.WeakMethod(obj.method)`.

    Returns:
        A callable with the same arguments, which gives `None` when the function has been garbage collected.

    Examples:
        >>> import weakref
        >>> from torchrecorder.scio.recorder import lazy_func
        >>> def double(number):
        ...     return 2 * number
        >>> lazy = lazy_func(weakref.ref(double))
        >>> lazy(2)
        4
        >>> del double
        >>> print(lazy(2))
        None
    """

    def call(*args: P.args, **kwargs: P.kwargs) -> T | None:
        func = func_weak()
        return None if func is None else func(*args, **kwargs)

    return call


_DYNAMIC = (
    "The control flow of the input network is not static (see traceback). Use `Recorder` at your own risk with "
    "`force_static_flow=False`. See `help(Recorder)` for a detailed warning"
)

_ANY_NUMBER = {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD}


def check_static_flow(net: nn.Module, names: list[str], constants: Mapping[str, Any], *, named: bool) -> None:
    """Trace the network symbolically, without values.

    A forward with `*args` or `**kwargs` cannot be traced as such, since their number is unknown. It is traced
    with as many as the example input has.
    """
    try:
        Tracer().trace(net)
    except Exception as error:  # whatever a forward does to a value that is not there
        if {parameter.kind for parameter in forward_parameters(net)}.isdisjoint(_ANY_NUMBER):
            raise RuntimeError(_DYNAMIC) from error
    else:
        return
    try:
        _CallTracer(names, constants, named).trace(net)
    except Exception as error:
        raise RuntimeError(_DYNAMIC) from error


class _CallTracer(Tracer):
    def __init__(self, names: list[str], constants: Mapping[str, Any], named: bool) -> None:
        super().__init__()
        self._names = names
        self._constants = constants
        self._named = named

    def create_args_for_root(
        self, root_fn: Callable[..., Any], is_module: bool, concrete_args: Any = None
    ) -> tuple[Callable[..., Any], list[Any]]:
        proxies = [self.create_proxy("placeholder", name, (), {}) for name in self._names]

        def call(root: nn.Module, *inputs: Any) -> Any:
            if self._named:
                return root_fn(root, **dict(zip(self._names, inputs, strict=True)), **self._constants)
            return root_fn(root, *inputs, **self._constants)

        return call, [self.root, *proxies]


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
        function = self._postprocessing
        if isinstance(function, list):
            if not function:
                recorded = sum(label is not None for labels in self._targets.values() for label in labels)
                raise ValueError(_TOO_FEW.format(recorded))
            function = function.pop(0)
        if function is None:
            return None
        self._busy = True
        try:
            return function(output)
        finally:
            self._busy = False

    def _next_call(self, module: nn.Module) -> int:
        call = self._calls[module]
        self._calls[module] = call + 1
        return call


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
    """Stand-in for a hook in a copied or unpickled network, which belongs to no recorder."""

    def __call__(self, *args: Any) -> None:
        """Do nothing."""
