"""From Views to layouts: text for the engine, its answers read, the layout of a paper, and words put in place."""
