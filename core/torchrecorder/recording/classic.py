"""A model recorded by the classic recorder, for `recorder: classic`: autograd's operations instead of the user's."""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from torchrecorder.graph import Failure, Graph, Info
from torchrecorder.helpers import run_recorded
from torchrecorder.recorder import Recorder
from torchrecorder.recording.modes import KernelMode
from torchrecorder.recording.session import Session
from torchrecorder.running import torch_private


class ClassicSession(Session):
    """Runs a model once as torchrecorder 1.0.3 does, with gradients on. `model` may be changed by it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._recorder = Recorder()
        self._ops.paused = True  # of the kernels, only what they are about to overwrite matters here

    def run(self, args: Sequence[object], kwargs: Mapping[str, object]) -> None:
        """Call the model. After an exception, which goes on, `graph` ends where it was raised."""
        tensors = [arg for arg in (*args, *kwargs.values()) if isinstance(arg, Tensor)]
        is_single = len(tensors) == len(args) + len(kwargs) == 1
        name = type(self.model).__name__
        try:
            with KernelMode(self._ops):
                run_recorded(self._recorder, self.model, name, args, kwargs, is_single=is_single)
        except Exception as error:
            # The innermost call that the exception went through, by the frames of torch that call modules.
            frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
            modules = [frame.f_locals["self"] for frame in frames if frame.f_code is torch_private.MODULE_CALL.get()]
            call = self._recorder.calls.innermost(modules)
            self._failure = Failure(0 if call is None else call.id, f"{type(error).__name__}: {error}")
            raise

    def graph(self, info: Info) -> Graph:
        graph = self._recorder.to_graph()
        notes = (*torch_private.notes(), *info.notes)
        if not graph.outputs and self._failure is None:
            notes = (*notes, "the forward returned no tensor")
        info = replace(info, torch=torch.__version__, notes=notes, failure=self._failure, recorder="classic")
        return replace(graph, info=info)
