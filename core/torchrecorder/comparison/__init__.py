"""What changed from one model to another: layers matched, changes in words, and both in one Graph for a picture."""
