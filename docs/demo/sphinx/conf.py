"""Sphinx configuration of the demo."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

project = "demo_nets"
extensions = ["sphinx_torchrecorder"]
html_theme = "furo"
html_title = "demo_nets, by Sphinx"
numfig = True
