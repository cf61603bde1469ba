"""Both ends of the worker: the build's end, and the process that imports torch and records."""
