"""The inside of the classic recorder: steps that autograd does not follow, the calls, and the way to a Graph."""
