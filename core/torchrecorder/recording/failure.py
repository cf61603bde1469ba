"""From an exception in a forward to an error that names the layer."""

from __future__ import annotations

from torchrecorder.errors import ForwardError
from torchrecorder.graph import Call, Graph
from torchrecorder.recording.code_info import innermost_origin, user_traceback

_BY_SHAPE = "it was followed by shapes only, without values; `run: real` computes it"
_TABLES = ("torch.nn.modules.sparse.Embedding", "torch.nn.modules.sparse.EmbeddingBag")


def forward_error(error: Exception, graph: Graph) -> ForwardError:
    """The error for a forward that raised, with what had been recorded."""
    failure = graph.info.failure
    call = graph.calls[failure.call] if failure is not None and failure.call is not None else graph.calls[0]
    metas = [(path, graph.values[value].meta) for path, value in call.inputs.items()]
    shapes = [(path, "(" + ", ".join(map(str, m.shape)) + ("," * (len(m.shape) == 1)) + ")") for path, m in metas if m]
    found = ForwardError(
        model=_class(graph, ""),
        cause=f"{type(error).__name__}: {error}",
        layer=f"{call.module} ({_class(graph, call.module)})" if call.module else "",
        shapes=shapes[0][1] if len(shapes) == 1 else ", ".join(f"{path} {shape}" for path, shape in shapes),
        origin=innermost_origin(error),
        advice=_advice(graph, call),
        traceback=user_traceback(error),
    )
    found.graph = graph
    return found


def unseen_error(model: str, error: Exception) -> ForwardError:
    """The error for a model that raised before its forward began, when it was asked for its modules or tensors."""
    return ForwardError(
        model=model,
        cause=f"before it began, looking for its modules and tensors raised {type(error).__name__}: {error}",
        origin=innermost_origin(error),
        traceback=user_traceback(error),
    )


def _advice(graph: Graph, call: Call) -> str:
    metas = [meta for value in call.inputs.values() if (meta := graph.values[value].meta)]
    module = graph.modules.get(call.module)
    if module and module.cls in _TABLES and metas and metas[0].dtype.startswith(("float", "bfloat")):
        sizes, rows = ",".join(map(str, metas[0].shape)), module.extra_repr.partition(",")[0]
        shape = f"int64[{sizes}]<{rows}"
        return f"{call.module or 'it'} looks up integers: say so in the shape of what it is given, `{shape}`"
    return _BY_SHAPE if graph.info.executed != "real" else ""


def _class(graph: Graph, path: str) -> str:
    return graph.modules[path].cls.rpartition(".")[2]
