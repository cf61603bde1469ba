"""Python code that is read and never run, for the examples in it."""
