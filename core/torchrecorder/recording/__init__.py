"""Live torch to Graph: the only room that runs models."""
