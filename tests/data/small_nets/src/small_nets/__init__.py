"""Small nets of ordinary kinds."""

from small_nets.convolution import Residual
from small_nets.recurrent import Tagger
from small_nets.transformer import Encoder

__all__ = ["Encoder", "Residual", "Tagger"]
