"""What ran as boxes, nodes and edges: a View of one depth, before anything is made simpler.

The options say how each call is drawn, a plan places boxes and nodes, and edges follow from which node reads what.
"""
