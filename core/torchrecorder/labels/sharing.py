"""Words and tags for nodes and boxes that are calls of one module, `2 of 5 · shared`, and for shared parameters."""

from __future__ import annotations

from functools import cached_property
from math import prod

from torchrecorder.graph import Module
from torchrecorder.view import Box, Node, View
from torchrecorder.view.tree import CallTree


class Sharing:
    def __init__(self, view: View, tree: CallTree) -> None:
        self.view, self.graph, self.tree = view, view.graph, tree

    def again(self, module: Module, thing: Box | Node) -> str:
        """`2 of 5 · shared` if its module has other calls that are drawn elsewhere; no number if one is many."""
        things, paths = self.things_of.get(module.fqn, []), {self.graph.calls[call].module for call in thing.calls}
        is_all = all(path in self._shared and self.things_of[path] == things for path in paths)
        if not is_all or thing not in things or (len(paths) == 1 and len({*thing.calls}) > 1):
            return ""
        n_calls = sum(row.module == module.fqn for row in self.graph.calls)
        return f"{1 + things.index(thing)} of {len(things)} · shared" if n_calls == len(things) else "shared"

    def tied(self, module: Module) -> int:
        """How many of the parameters that run in a module others beside it run, too, as the same tensors."""
        rows = self._read.items()
        both = (name for name, runs in rows if {module.fqn in around for around in runs} == {True, False})
        return sum(self._sizes.get(name, 0) for name in both)

    @cached_property
    def _read(self) -> dict[str | None, list[set[str]]]:
        """By name of a parameter of several modules, for each op that reads it the modules around that."""
        read: dict[str | None, list[set[str]]] = {}
        for op in self.graph.ops if self.graph.tied else ():
            for name in (self.graph.values[value].name for value in op.inputs):
                if name in self.graph.tied:
                    read.setdefault(name, []).append({row.module for row in self.graph.around(op.call)})
        return read

    @cached_property
    def _sizes(self) -> dict[str | None, int]:
        """By name how many numbers a parameter has."""
        params = (value for value in self.graph.values if value.kind == "param")
        return {value.name: prod(size for size in value.shape if isinstance(size, int)) for value in params}

    def tag(self, thing: Box | Node) -> int | None:
        """The number of its module among those whose calls are drawn apart; None if nothing else is a call of it."""
        if not thing.calls or (isinstance(thing, Box) and thing.around):
            return None
        return self._tagged.get(self.graph.calls[thing.calls[0]].module)

    @cached_property
    def _tagged(self) -> dict[str, int]:
        """The numbers of the shared modules; what is in one of them needs no tag of its own."""
        around = tuple(f"{path}." for path in self._shared)
        return {path: i for i, path in enumerate(path for path in self._shared if not path.startswith(around))}

    @cached_property
    def things_of(self) -> dict[str, list[Box | Node]]:
        """By module the boxes and nodes that stand for calls of it, in the order of the calls."""
        by_module: dict[str, list[Box | Node]] = {}
        things: list[Box | Node] = [*(box for box in self.view.boxes if not box.around), *self.view.nodes]
        for thing in sorted((thing for thing in things if thing.calls), key=lambda thing: thing.calls[0]):
            for path in dict.fromkeys(self.graph.calls[call].module for call in thing.calls):
                by_module.setdefault(path, []).append(thing)
        return by_module

    @cached_property
    def _shared(self) -> list[str]:
        """The modules with parameters of which several calls are drawn apart, in the order in which they ran."""
        modules = self.graph.modules
        apart = {path: its for path, its in self.things_of.items() if len({thing.calls for thing in its}) > 1}
        with_params = [path for path in apart if path in modules and modules[path].params.total]
        return [path for path in with_params if apart[path][0].calls[0] not in self.tree.picked]
