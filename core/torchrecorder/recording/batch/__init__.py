"""Which axes of a Graph's values are the batch."""
