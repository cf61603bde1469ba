"""The proof of a picture: whether a View is true of its Graph, and leaves nothing out in silence.

Written from the Graph alone. It shares no code with what builds Views, not even tables of names, because it would then
prove its own mistakes. The guide says what it promises and what it does not, "How a picture is proved".
"""

from torchrecorder.proof.facts import Fault, FaultKind
from torchrecorder.proof.proving import ProvedViews
from torchrecorder.proof.view import Prover, faults

__all__ = ["Fault", "FaultKind", "ProvedViews", "Prover", "faults"]
