"""A user's own look: what a styler is told, what it may answer, and how the answer is checked."""

from torchrecorder.drawing.styles.answer import EdgeStyle, NodeStyle, Styles, read_styles
from torchrecorder.drawing.styles.ask import StylerRaised, ask
from torchrecorder.drawing.styles.facts import Picture, picture_of
from torchrecorder.drawing.styles.styler import StyledNode, Styler

__all__ = [
    "EdgeStyle",
    "NodeStyle",
    "Picture",
    "StyledNode",
    "Styler",
    "StylerRaised",
    "Styles",
    "ask",
    "picture_of",
    "read_styles",
]
