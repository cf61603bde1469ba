"""Building the model of a target: with its arguments, else as it, or its project, shows how to build one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import thread_time
from typing import Any

from torch import nn

from torchrecorder.recording.examples import Way, arguments_found, depend_on_search
from torchrecorder.request import Target
from torchrecorder.request.callables import needed_arguments, parameters_of

_PATIENCE_S = 30.0
"""Seconds, computed by this thread, after which no other way is tried: a build waits for the answer."""


def ways(
    target: Target, builder: Callable[..., object], *, is_common: bool = False, is_trial: bool = False
) -> Iterator[Way]:
    """Arguments to call a class or function with, each to be tried if those before it do not work.

    Args:
        target: Has the arguments; without brackets, others are looked for where none are refused.
        builder: What it names.
        is_common: Whether the arguments are meant for several classes, of which one takes those that it has.
        is_trial: Whether the class is only tried: names may suggest what an author who names it would say.
    """
    kwargs = _accepted(builder, target.kwargs) if is_common else target.kwargs
    yield Way(target.args, kwargs)
    if is_common and (target.args or kwargs) and not needed_arguments(builder):
        yield Way(note="built without arguments, since it cannot be built with those of its pattern")
    start = thread_time()
    if isinstance(builder, type) and (is_common or not target.called):
        for way in arguments_found(builder):
            if way.grade != "names" or is_trial:
                yield way
            if thread_time() - start > _PATIENCE_S:
                break
        depend_on_search(builder)


def _accepted(builder: object, kwargs: dict[str, Any]) -> dict[str, Any]:
    """The keyword arguments that the builder names, itself or in a class that it hands the others to."""
    names: set[str] = set()
    for holder in builder.__mro__ if isinstance(builder, type) else (builder,):
        if holder in (nn.Module, object):
            break
        parameters = parameters_of(vars(holder).get("__init__") if isinstance(holder, type) else holder)
        if parameters is None:
            continue
        names |= {parameter.name for parameter in parameters}
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
            break
    return {name: value for name, value in kwargs.items() if name in names}
