"""Where source lies and what it says, without importing it.

The room lies below both `tracing`, which notes what a recording depended on, and `diagram`, which checks later whether
all of it is still so: both must name and digest the same things the same way.
"""

from torchrecorder.sources.blocks import Blocks, read_blocks
from torchrecorder.sources.digest import DIGITS, data_digest, folder_digest, source_digest, text_digest
from torchrecorder.sources.finder import ModuleFinder
from torchrecorder.sources.names import FileNames

__all__ = [
    "DIGITS",
    "Blocks",
    "FileNames",
    "ModuleFinder",
    "data_digest",
    "folder_digest",
    "read_blocks",
    "source_digest",
    "text_digest",
]
