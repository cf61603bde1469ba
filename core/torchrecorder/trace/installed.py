"""The installed distributions that a run imported from."""

from __future__ import annotations

import functools
import importlib.metadata
from collections.abc import Iterable


@functools.cache
def distribution_names() -> dict[str, list[str]]:
    """The distributions by the top-level packages they bring; slow, so the worker asks once before it forks."""
    return {top: sorted(set(names)) for top, names in importlib.metadata.packages_distributions().items()}


def versions(tops: Iterable[str]) -> dict[str, str]:
    """The version of each distribution that brings one of the top-level packages, by its name."""
    names = {name for top in tops for name in distribution_names().get(top, ())}
    return {name: importlib.metadata.version(name) for name in sorted(names)}
