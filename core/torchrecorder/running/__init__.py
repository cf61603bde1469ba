"""The core of everything that runs a model: restoring it, nested values, the log of calls, facts of modules."""
