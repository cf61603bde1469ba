extensions = ["sphinx_torchrecorder"]
torchrecorder_path = ["../src"]
torchrecorder_cache = "../diagrams"
