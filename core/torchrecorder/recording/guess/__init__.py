"""Inputs that nobody described: a ladder of guesses, each believed only after the forward ran on it."""
