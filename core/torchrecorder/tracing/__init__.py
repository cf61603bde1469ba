"""What a run of somebody else's code depends on: the functions it executes, the files it reads, the names it asks for.

The room needs no torch. The worker traces each recording with it; `diagram` turns what was noted into a manifest.
"""

from torchrecorder.tracing.trace import Trace

__all__ = ["Trace"]
