"""Nets of images, scans, points and fields as repositories write them, of the sixteenth list kept back.

Their topics were drawn before any net was written: of `sorted(TOPICS.split())` of the tenth list, without the fifteen
that its own seed drew of them and the twelve each of the five lists after it, `random.Random(613).sample(that, 12)`:

    maskgit deepmedic deepar trrosetta siren sqlnet lama adabins randla_net autovc megabyte pinn

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

from __future__ import annotations

import random

from bench.held_397_vision import TOPICS as _OF_SEVEN_LISTS
from bench.held_433_vision import TOPICS as _OF_SEED_433
from bench.held_467_vision import TOPICS as _OF_SEED_467
from bench.held_503_vision import TOPICS as _OF_SEED_503
from bench.held_541_vision import TOPICS as _OF_SEED_541
from bench.held_577_vision import TOPICS as _OF_SEED_577

_OF_SEED_397 = random.Random(397).sample(_OF_SEVEN_LISTS.split(), 15)
_DRAWN_BEFORE = {*_OF_SEED_397, *_OF_SEED_433, *_OF_SEED_467, *_OF_SEED_503, *_OF_SEED_541, *_OF_SEED_577}
TOPICS = random.Random(613).sample([it for it in sorted(_OF_SEVEN_LISTS.split()) if it not in _DRAWN_BEFORE], 12)
