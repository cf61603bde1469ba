"""Nets of images, tables, games and particles as repositories write them, of the twelfth list kept from all rules.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve of the eleventh list, `random.Random(467).sample(that, 12)`:

    gdn particle_transformer musicvae caser alphastar neural_motifs commnet scgpt inception_time gqn ncf trade_dst

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

from __future__ import annotations

import random

from bench.held_397_vision import TOPICS as _OF_THREE_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433

_DRAWN_BEFORE = {*random.Random(397).sample(_OF_THREE_LISTS.split(), 15), *_OF_SEED_433}
TOPICS = random.Random(467).sample([it for it in sorted(_OF_THREE_LISTS.split()) if it not in _DRAWN_BEFORE], 12)
