"""Nets of images as repositories write them, of the eighth list of models kept from all rules.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`. Kinds of nets
were chosen by chance before any was written: `TOPICS` of `held_251_vision.py` without those that an earlier list has,
in the order of `random.Random(317)`, which shuffles first what is left of the one string and then of the other. The
first eight are the nets of this file, the first seven those of `held_317_sequences.py`; `tcn`, which a test of proofs
has, gives way to the next.
"""

TOPICS = (
    "cyclegan moco csrnet i3d craft prototypical_network siamrpn restormer",
    "tacotron_gst diffusion_policy han graphcast bert4rec stgcn alphazero",
)
