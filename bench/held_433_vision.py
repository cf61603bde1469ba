"""Nets of images, sounds, points, tables and robots as repositories write them, of the eleventh list kept from rules.

Their topics were drawn before any net was written: of the `TOPICS` of the tenth list, without the fifteen that its own
seed drew, `random.Random(433).sample(that, 12)`:

    deepsleepnet sparse_rcnn nrms awd_lstm attention_model_tsp node rt1 kpconv gru4rec spliceai conve open_unmix

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

from __future__ import annotations

import random

from bench.held_397_vision import TOPICS as _OF_TWO_LISTS

_DRAWN_BEFORE = random.Random(397).sample(_OF_TWO_LISTS.split(), 15)
TOPICS = random.Random(433).sample([topic for topic in _OF_TWO_LISTS.split() if topic not in _DRAWN_BEFORE], 12)
