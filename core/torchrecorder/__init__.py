"""Architecture diagrams of PyTorch models that never go stale."""
