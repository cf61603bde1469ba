"""What stands in nodes and boxes: names, settings, counts."""
