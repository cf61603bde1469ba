"""Nets of images and scenes as repositories write them, of the seventh list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance before any was written: `TOPICS` of `held_251_vision.py` without those that an earlier list has,
in the order of `random.Random(283)`, which shuffles first what is left of the one string and then of the other. The
first eight are the nets of this file, the first seven those of `held_283_sequences.py`; one that a test of proofs has
would give way to the next.
"""

TOPICS = (
    "spade pixelnerf openpose ocrnet arcface tsm two_stream deepsdf",
    "deeponet impala tree_lstm qanet convs2s graphrnn panns",
)
