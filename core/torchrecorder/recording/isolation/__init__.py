"""A recording leaves the model, its arguments and everything they reach as it found them.

A real forward runs on the model itself, whose state the journal puts back. One on tensors without data runs on a copy.
The arguments are always copied.
"""
