"""Python reads this at its start where `gallery/run.py` says so: there torchvision may be built for another torch."""

from tests.corpus.torchvision_ops import define_missing_operators

define_missing_operators()
