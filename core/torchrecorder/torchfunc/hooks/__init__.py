"""Hooks by the layer: recorders keep what passes through chosen modules, registrators put a hook of yours on them.

A port of torchfunc's `torchfunc.hooks`; what differs, and why, is in `PORTS.toml`.
"""

from torchrecorder.torchfunc.hooks import recorders, registrators

__all__ = ["recorders", "registrators"]
