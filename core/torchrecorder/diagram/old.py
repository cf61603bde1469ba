"""The distribution `torchrecorder` of another day, which writes into the same folder as ours; pip does not notice."""

from __future__ import annotations

import importlib.metadata

_OLD = "torchrecorder"
_MEND = (
    "python -m pip uninstall -y torchrecorder && python -m pip install --force-reinstall --no-deps torchrecorder-docs"
)


def old_distribution() -> str:
    """What is wrong and how it is mended; empty if nothing is."""
    try:
        version = importlib.metadata.version(_OLD)
    except importlib.metadata.PackageNotFoundError:
        return ""
    return (
        f"the old distribution {_OLD} {version} is installed too, in the same folder as torchrecorder-docs,"
        f" and each may have overwritten the other; mend it with: {_MEND}"
    )
