"""`python -m torchrecorder` is the command `torchrecorder`."""

from __future__ import annotations

import sys

from torchrecorder.old import damage


def main() -> int:
    """Run the command and give its exit status; say so if the old distribution has overwritten what it needs."""
    try:
        from torchrecorder.cli import main as run
    except ImportError:
        if not (told := damage()):
            raise
        print(f"torchrecorder: error: {told}", file=sys.stderr)
        return 1
    return run()


if __name__ == "__main__":
    raise SystemExit(main())
