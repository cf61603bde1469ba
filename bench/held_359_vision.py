"""Nets of images as repositories write them, of the ninth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance before any was written: `TOPICS` of `held_251_vision.py` without those that an earlier list has,
in the order of `random.Random(359)`, which shuffles first what is left of the one string and then of the other. The
first eight are the nets of this file, the first seven those of `held_359_sequences.py`; `pixelcnn`, which a test of
proofs has, gives way to the next.
"""

from __future__ import annotations

TOPICS = (
    "superpoint nvae zero_dce protopnet fcos rife darts monodepth2",
    "tabnet egnn painn decision_transformer diffpool eegnet timesnet",
)
