"""Nets of robots, images, graphs, molecules and mazes as repositories write them, of the fourteenth list kept back.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve each of the three lists after it, `random.Random(541).sample(that, 12)`:

    graph_matching_network action_chunking_transformer liif hstu csdi dccrn mixture_of_depths wavegrad fullsubnet
    value_iteration scinet chem_vae

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

from __future__ import annotations

import random

from bench.held_397_vision import TOPICS as _OF_FIVE_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433
from bench.held_467_vision import TOPICS as _OF_SEED_467
from bench.held_503_vision import TOPICS as _OF_SEED_503

_OF_SEED_397 = random.Random(397).sample(_OF_FIVE_LISTS.split(), 15)
_DRAWN_BEFORE = {*_OF_SEED_397, *_OF_SEED_433, *_OF_SEED_467, *_OF_SEED_503}
TOPICS = random.Random(541).sample([it for it in sorted(_OF_FIVE_LISTS.split()) if it not in _DRAWN_BEFORE], 12)
