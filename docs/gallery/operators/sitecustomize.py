"""Python reads this at its start, as `docs/gallery/run.py` has it: torchvision may be built for another torch there."""

from tests.corpus.torchvision_ops import define_missing_operators

define_missing_operators()
