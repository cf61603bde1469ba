"""Whether this package is whole: the distribution `torchrecorder` 1 writes into the same folder, unnoticed by pip.

Where its files lie over ours nothing else can be imported. So this file imports nothing of ours, has a name that the
old distribution does not have, and is run by its path where an import of the package fails.
"""

from __future__ import annotations

from pathlib import Path

_LEGACY = "torchrecorder"
_REINSTALL = "python -m pip install --force-reinstall --no-deps torchrecorder-docs"
_SHARED = ("__init__.py", "helpers.py", "nodes.py", "recorder.py", "renderer/__init__.py", "renderer/gv.py")
"""Files that each of the two distributions has; uninstalling the old one removes them."""


def legacy_install() -> str:
    """Warning that the old distribution is installed too, with the command that repairs it; empty if it is not."""
    import importlib.metadata  # loads what reads mail, for which a build without work does not wait

    try:
        version = importlib.metadata.version(_LEGACY)
    except importlib.metadata.PackageNotFoundError:
        return ""
    return (
        f"the old distribution {_LEGACY} {version} is installed too, in the same folder as torchrecorder-docs, and each"
        f" may have overwritten the other; repair it with: python -m pip uninstall -y {_LEGACY} && {_REINSTALL}"
    )


def broken_install_message() -> str:
    """Reason why this package cannot be imported, if the old distribution is the cause; else empty."""
    missing = [name for name in _SHARED if not Path(Path(__file__).parent, name).is_file()]
    if not missing:
        return legacy_install()
    return (
        f"files of torchrecorder-docs are missing, as if {_LEGACY} was uninstalled: {', '.join(missing)};"
        f" repair it with: {_REINSTALL}"
    )


def explain(error: ImportError, kind: type[Exception], importer: str) -> None:
    """If the old distribution is the cause of an error, raise one that says so, of a kind shown without a traceback."""
    if message := broken_install_message():
        raise kind(f"{importer}: {message}") from error
