"""`python -m torchrecorder` is the command `torchrecorder`."""

from torchrecorder.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
