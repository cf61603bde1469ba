"""Models by their name on the Hugging Face Hub: only configurations are fetched, and nothing of a repository is run.

`files` asks the hub, without torch; `models` builds on the meta device; `sheet` says what a reader wants to know of a
model that he has no code of. Names of the hub's libraries stand here only, and in what guesses inputs.
"""
