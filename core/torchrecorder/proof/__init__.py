"""Proofs that a picture says of its Graph what is so: short code that did not make it."""
