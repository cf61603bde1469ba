"""`python -m torchrecorder` is the command `torchrecorder`."""

from __future__ import annotations

import sys

from torchrecorder.installation import broken_install_message


def main() -> int:
    """Run the command and give its exit status; say so if the old distribution has overwritten what it needs."""
    try:
        from torchrecorder.cli import main as run
    except ImportError:
        if not (message := broken_install_message()):
            raise
        print(f"torchrecorder: error: {message}", file=sys.stderr)
        return 1
    return run()


if __name__ == "__main__":
    raise SystemExit(main())
