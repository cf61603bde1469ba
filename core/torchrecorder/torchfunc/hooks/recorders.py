"""Recorders of what passes through the layers of a network.

    model = torch.nn.Sequential(
        torch.nn.Linear(784, 100), torch.nn.ReLU(), torch.nn.Linear(100, 50), torch.nn.ReLU(), torch.nn.Linear(50, 10)
    )
    recorder = ForwardPre(reduction=lambda x, y: x + y)  # sums the inputs of consecutive calls
    recorder.children(model, indices=(2, 3))  # of Linear(100, 50) and of the ReLU after it
    ...  # run or train the model
    recorder.save(pathlib.Path("./analysis"))  # as 0.pt and 1.pt

A port of `torchfunc.hooks.recorders`, torchfunc 0.2.0 and its `data_method` of 2021; what differs is in `PORTS.toml`.
"""

from __future__ import annotations

from torchrecorder.torchfunc.hooks.backward import OfInputGradients, OfOutputGradients
from torchrecorder.torchfunc.hooks.base import ValueRecorder
from torchrecorder.torchfunc.hooks.subrecorder import OfInputs, OfInputsAfter, OfOutputs

__all__ = ["BackwardInput", "BackwardOutput", "ForwardInput", "ForwardOutput", "ForwardPre"]


class ForwardPre(ValueRecorder):
    """Record input values before forward of specified layer(s)."""

    _subrecorder = OfInputs


class ForwardInput(ValueRecorder):
    """Record input values after forward of specified layer(s): with what forward has written into them."""

    _subrecorder = OfInputsAfter


class ForwardOutput(ValueRecorder):
    """Record output values after forward of specified layer(s)."""

    _subrecorder = OfOutputs


class BackwardInput(ValueRecorder):
    """Record input gradients after those are calculated w.r.t. specified module.

    They are what comes through that module: other uses of the same input do not count. A call whose inputs need no
    gradient, such as the first layer's, records nothing.
    """

    _subrecorder = OfInputGradients


class BackwardOutput(ValueRecorder):
    """Record output gradients after those are calculated w.r.t. specified module."""

    _subrecorder = OfOutputGradients
