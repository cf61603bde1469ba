"""The inside of the recorder of 1.0.3: its hooks, what they find, and steps that autograd does not follow."""
