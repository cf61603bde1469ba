"""The distribution `torchrecorder` of another day, which writes into the same folder as ours; pip does not notice.

Where it lies over our files nothing else can be imported. So this file imports nothing of ours, has a name that the old
one does not have, and is run on its own by whoever finds the package broken.
"""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

_OLD = "torchrecorder"
_REINSTALL = "python -m pip install --force-reinstall --no-deps torchrecorder-docs"
_MEND = f"python -m pip uninstall -y {_OLD} && {_REINSTALL}"
_BOTH = ("__init__.py", "helpers.py", "nodes.py", "recorder.py", "renderer/__init__.py", "renderer/gv.py")
"""Files that each of the two distributions has; what removes the old one removes them."""


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


def damage() -> str:
    """Why this package cannot be imported, if the old one is to blame; else empty."""
    missing = [name for name in _BOTH if not Path(Path(__file__).parent, name).is_file()]
    if missing:
        gone = ", ".join(missing)
        return (
            f"files of torchrecorder-docs are missing, as if {_OLD} was uninstalled: {gone}; mend it with: {_REINSTALL}"
        )
    return old_distribution()
