"""What a page shows of one model: the finished diagram, its figure in HTML, and the text around it."""

from torchrecorder.page.diagram import Diagram
from torchrecorder.page.outcome import Outcome

__all__ = ["Diagram", "Outcome"]
