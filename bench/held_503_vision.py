"""Nets of images, videos, questions and tables as repositories write them, of the thirteenth list kept from all rules.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve each of the eleventh and the twelfth list,
`random.Random(503).sample(that, 12)`:

    eqtransformer draw_rnn neural_additive fibinet onsets_and_frames mcan deepdta adain_style autoint pointer_network
    music_transformer bmn

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

from __future__ import annotations

import random

from bench.held_397_vision import TOPICS as _OF_FOUR_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433
from bench.held_467_vision import TOPICS as _OF_SEED_467

_DRAWN_BEFORE = {*random.Random(397).sample(_OF_FOUR_LISTS.split(), 15), *_OF_SEED_433, *_OF_SEED_467}
TOPICS = random.Random(503).sample([it for it in sorted(_OF_FOUR_LISTS.split()) if it not in _DRAWN_BEFORE], 12)
