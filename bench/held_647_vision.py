"""Nets of images, weather, particles and proteins as repositories write them, of the seventeenth list kept back.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve each of the six lists after it, `random.Random(647).sample(that, 12)`:

    solov2 quartznet levenshtein_transformer soft_moe code2vec neural_relational_inference omnianomaly gvp da_rnn
    pangu_weather feudal_network pranet
"""

from __future__ import annotations

import random

from bench.held_397_vision import TOPICS as _OF_SEVEN_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433
from bench.held_467_vision import TOPICS as _OF_SEED_467
from bench.held_503_vision import TOPICS as _OF_SEED_503
from bench.held_541_vision import TOPICS as _OF_SEED_541
from bench.held_577_vision import TOPICS as _OF_SEED_577
from bench.held_613_vision import TOPICS as _OF_SEED_613

_OF_SEED_397 = random.Random(397).sample(_OF_SEVEN_LISTS.split(), 15)
_DRAWN_BEFORE = {
    *(*_OF_SEED_397, *_OF_SEED_433, *_OF_SEED_467, *_OF_SEED_503),
    *(*_OF_SEED_541, *_OF_SEED_577, *_OF_SEED_613),
}
TOPICS = random.Random(647).sample([it for it in sorted(_OF_SEVEN_LISTS.split()) if it not in _DRAWN_BEFORE], 12)
