"""Two Graphs as one: the new one, with what the old one has besides, so that one picture shows both.

The new Graph keeps its order. What is gone stands where it stood, before the next thing that is still there, reads what
gave its data then, and is read by what is left of its readers. A layer that has moved or changed is there once. An
edge of the old model stays only where nothing new stands between its ends: a layer that was inserted needs no second
line that leads past it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace

from torchrecorder.comparison.flow import Flow, is_shaping
from torchrecorder.comparison.layers import Matching, changed_settings, described
from torchrecorder.graph import Call, Frame, Graph, Module, Op, Value
from torchrecorder.graph.edit import renumbered
from torchrecorder.labels.names import clean
from torchrecorder.view.model import CallName, Mark, Marks
from torchrecorder.view.tree import Item

_GONE, _GONE_NUMBER = "′", "–"
"""Stands behind the path of a layer that is gone, if another has its path now; a number is not shown in a picture."""
_LONGEST = 44  # more characters than this have no room in a node
_Steps = Iterator["_Steps"]
"""What is left to do in a call; each step into another call is one of its own, since calls may nest deeply."""


class Union:
    """The Graph of both, and what became of its things."""

    def __init__(self, flow: Flow) -> None:
        self._flow, self._matching = flow, flow.matching
        self._old, self._new = flow.old, flow.new
        self._values: dict[int, Value] = {}
        """By id; of the old Graph only what is gone, with ids behind those of the new one."""
        self._ops: list[Op] = []
        self._calls: dict[int, tuple[Call, bool]] = {}
        """By such ids rows with the values of their own Graph in them, and whether that is the old one."""
        self._paths = self._gone_paths()
        self._readers = self._old_readers()
        self._op_marks: dict[int, Mark] = {}
        self._reads: dict[tuple[int, int], Mark] = {}
        self._kept = {value for value in flow.new_value.values() if self._new.origin(value) == value}
        for value in self._new.graph.inputs.values():
            self._value(value)
        steps = [self._both(0, None)]
        while steps:
            inner = next(steps[-1], None)
            if inner is None:
                steps.pop()
            else:
                steps.append(inner)
        self.graph = self._graph()
        self.marks = self._marks()

    def _both(self, call: int, parent: int | None) -> _Steps:
        """A call of the new Graph, with what is gone from its body."""
        id_ = self._enter(call, parent, is_old=False)
        was = self._new.other.get(Item(True, call))
        olds = [] if was is None or self._is_leaf(call) else self._old.tree.items[was.id]
        place = {item: i for i, item in enumerate(olds)}
        at = 0
        for item in self._with_idle(call):
            before = self._new.other.get(item)
            there = -1 if before is None else place.get(before, -1)
            if there >= at:
                yield from self._gone(olds[at:there], id_)
                at = there + 1
            if item.is_call:
                yield self._both(item.id, id_)
            else:
                self._add(self._new.graph.ops[item.id], id_)
        yield from self._gone(olds[at:], id_)

    def _with_idle(self, call: int) -> Iterator[Item]:
        """The items in a call of the new Graph, with the calls that ran no op."""
        tree = self._new.tree
        idle = [child for child in tree.children[call] if not tree.n_ops[child]]
        for item in tree.items[call]:
            while item.is_call and idle and idle[0] < item.id:
                yield Item(True, idle.pop(0))
            yield item
        yield from (Item(True, child) for child in idle)

    def _gone(self, items: list[Item], parent: int) -> _Steps:
        for item in items:
            if item in self._old.other:
                continue
            if item.is_call:
                id_ = self._enter(item.id, parent, is_old=True)
                yield self._gone(self._old.tree.items[item.id], id_)
            else:
                self._add_gone(self._old.graph.ops[item.id], parent)

    def _enter(self, call: int, parent: int | None, *, is_old: bool) -> int:
        row = self._of(is_old).calls[call]
        id_ = call + is_old * len(self._new.graph.calls)
        self._calls[id_] = replace(row, id=id_, parent=parent), is_old
        return id_

    def _of(self, is_old: bool) -> Graph:
        return (self._old if is_old else self._new).graph

    def _add(self, op: Op, call: int) -> None:
        """An op of the new Graph; what its counterpart read besides is read too, if something gives it."""
        olds = self._readers.get(op.id, [])
        if olds and is_shaping(self._new.graph, op.id):
            if any(self._gone_value(value) in self._values for value in olds[0].inputs):
                self._add_gone(olds[0], call)
            olds = []
        inputs = [self._value(value) for value in op.inputs]
        place = len(self._ops)
        now = self._new.data(op.inputs)
        was = {self._old.origin(value): value for old in olds for value in old.inputs}
        was = {origin: value for origin, value in was.items() if self._old.graph.values[origin].kind in ("input", "op")}
        known = {origin: self._flow.known(origin) for origin in was}
        gone = [id_ for value in was.values() if (id_ := self._gone_value(value)) in self._values]
        lost: list[int] = []
        if olds and not gone and None not in known.values() and now <= self._kept:
            lost = [found for found in known.values() if found is not None and found not in now]
            gone = [value for value in lost if value in self._values]
            for value in op.inputs:
                if self._new.origin(value) in now - {*known.values()}:
                    self._reads[value, place] = "added"
        extra = [value for value in dict.fromkeys(gone) if value not in inputs]
        self._reads.update({(value, place): "removed" for value in extra})
        # if not only the class of its layer is another one
        known_items = self._new.other
        if Item(False, op.id) not in known_items and (
            Item(True, op.call) not in known_items or not self._is_leaf(op.call)
        ):
            self._op_marks[place] = "added"
        self._put(op, call, [*inputs, *extra], is_old=False)

    def _add_gone(self, op: Op, call: int) -> None:
        """An op of the old Graph, without the inputs that come later now."""
        if any(self._gone_value(value) in self._values for value in op.outputs):  # two steps of now were one
            return
        found = [self._old_value(value) for value in op.inputs]
        self._op_marks[len(self._ops)] = "removed"
        self._put(op, call, [value for value in found if value is not None], is_old=True)

    def _put(self, op: Op, call: int, inputs: list[int], *, is_old: bool) -> None:
        place, shift = len(self._ops), self._gone_value(0) if is_old else 0
        for value in op.outputs:
            row = self._of(is_old).values[value]
            group = None if is_old else row.storage_group
            self._values[value + shift] = replace(row, id=value + shift, producer=place, storage_group=group)
        self._ops.append(
            replace(
                op,
                id=place,
                call=call,
                inputs=tuple(dict.fromkeys(inputs)),
                outputs=tuple(value + shift for value in op.outputs),
                mutates=tuple(value + shift for value in op.mutates),
                frame=self._frame(op.frame, call, is_old),
                autograd=(),
            )
        )

    def _frame(self, frame: int | None, call: int, is_old: bool) -> int | None:
        """The id of a frame here; None if what ran in it is not in the call of the frame any more."""
        if frame is None:
            return None
        around = self._of(is_old).frames[frame].call
        return frame + is_old * len(self._new.graph.frames) if self._here(around, is_old) == call else None

    def _here(self, call: int, is_old: bool) -> int | None:
        if is_old:
            now = self._old.other.get(Item(True, call))
            call = call + len(self._new.graph.calls) if now is None else now.id
        return call if call in self._calls else None

    def _gone_value(self, value: int) -> int:
        """The id here of a value of the old Graph, if nothing gives it any more."""
        return value + len(self._new.graph.values)

    def _value(self, value: int) -> int:
        self._values.setdefault(value, self._new.graph.values[value])
        return value

    def _old_value(self, value: int) -> int | None:
        """A value of the old Graph, as what gives it now; None if that comes later."""
        row, id_ = self._old.graph.values[value], self._gone_value(value)
        if id_ in self._values:
            return id_
        if (now := self._flow.new_value.get(value)) is not None:
            is_there = now in self._values or self._new.graph.values[now].kind == "input"
            return self._value(now) if is_there else None
        if row.kind == "op":
            return None
        holder, _, name = (row.name or "").rpartition(".")
        named = f"{self._paths.get(holder, holder)}.{name}".lstrip(".") if row.kind in ("param", "buffer") else row.name
        self._values[id_] = replace(row, id=id_, name=named, storage_group=None)
        return id_

    def _is_leaf(self, call: int) -> bool:
        """Whether nothing is drawn in a call of the new Graph but its ops, which its layer stands for."""
        layer = self._matching.by_path[1].get(self._new.graph.calls[call].module)
        return layer is None or layer.is_leaf

    def _old_readers(self) -> dict[int, list[Op]]:
        tree, ops = self._new.tree, self._old.graph.ops
        found = {new.id: [ops[old.id]] for old, new in self._old.other.items() if not old.is_call}
        for (is_call, old), (_, new) in self._old.other.items():
            if is_call and tree.n_ops[new] and not tree.children[new]:
                first = tree.first_op[new]
                if Item(False, first) not in self._new.other:
                    found[first] = [ops[op] for op in self._old.tree.ops_of(old)]
        return found

    def _gone_paths(self) -> dict[str, str]:
        """Paths here of the layers of the old model, by their paths there."""
        found: dict[str, str] = {}
        taken = {*self._new.graph.modules}
        for layer in self._matching.old.walk():
            now = self._matching.new_of.get(layer)
            if now is not None:
                found[layer.path] = now.path
                continue
            around = found[layer.parent.path] if layer.parent is not None else ""
            path = f"{around}.{layer.name}".lstrip(".") or f"~{layer.cls}"
            while path in taken:
                path += _GONE_NUMBER if path[-1].isdigit() else _GONE
            taken.add(path)
            found[layer.path] = path
        return found

    def _graph(self) -> Graph:
        new, old = self._new.graph, self._old.graph
        modules: dict[str, Module] = dict(new.modules)
        for layer in self._matching.old.walk():
            if layer not in self._matching.new_of:
                path = self._paths[layer.path]
                modules[path] = replace(layer.module, fqn=path)
        outputs = {path: tuple(map(self._value, values)) for path, values in new.outputs.items()}
        for path, values in old.outputs.items():
            outputs[path] = (*outputs.get(path, ()), *self._gone_of(values[-1:]))
        inputs = {path: self._value(value) for path, value in new.inputs.items()}
        inputs |= {path: id_ for path, value in old.inputs.items() for id_ in self._gone_of([value])}
        # If the sizes of the new one do not follow a batch, nothing here does.
        olds = {self._gone_value(value): axes for value, axes in old.batch.items()} if new.batch else {}
        calls = [self._call(row, is_old) for row, is_old in self._calls.values()]
        counted: Counter[str] = Counter()
        for place, row in enumerate(calls):  # a layer that both have may have been called where it is not any more
            counted[row.module] += 1
            calls[place] = replace(row, index=counted[row.module])
        decisions = tuple(replace(row, values=tuple(map(self._value, row.values))) for row in new.decisions)
        return renumbered(
            replace(
                new,
                modules=modules,
                calls=tuple(calls),
                ops=tuple(self._ops),
                values=tuple(self._values.values()),
                inputs=inputs,
                outputs={path: values for path, values in outputs.items() if values},
                frames=(*self._frames(is_old=False), *self._frames(is_old=True)),
                decisions=decisions,
                batch={**new.batch, **olds},
                info=replace(new.info, recorder="modern"),  # the classic picture is drawn from autograd's own graph
            )
        )

    def _gone_of(self, values: Iterable[int]) -> tuple[int, ...]:
        """The ids here of those values of the old Graph that nothing gives any more."""
        return tuple(id_ for value in values if (id_ := self._gone_value(value)) in self._values)

    def _call(self, row: Call, is_old: bool) -> Call:
        frame = None if row.parent is None else self._frame(row.frame, row.parent, is_old)
        find = self._old_value if is_old else self._value
        inputs, outputs = (
            {path: found for path, value in ends.items() if (found := find(value)) is not None}
            for ends in (row.inputs, row.outputs)
        )
        module = self._paths.get(row.module, row.module) if is_old else row.module
        return replace(row, module=module, inputs=inputs, outputs=outputs, frame=frame)

    def _frames(self, *, is_old: bool) -> Iterator[Frame]:
        shift = len(self._new.graph.frames) if is_old else 0
        for frame in self._of(is_old).frames:
            parent = None if frame.parent is None else frame.parent + shift
            yield replace(frame, id=frame.id + shift, call=self._here(frame.call, is_old) or 0, parent=parent)

    def _marks(self) -> Marks:
        calls: dict[CallName, Mark] = {}
        said: dict[CallName, str] = {}
        for row, (before, is_old) in zip(self.graph.calls, self._calls.values(), strict=True):
            name = (row.module, row.index)
            if is_old:
                calls[name] = "removed"
            elif Item(True, before.id) not in self._new.other:
                calls[name] = "added"
            elif row.kind == "module" and (found := _words_for(self._matching, row.module)) is not None:
                calls[name], said[name] = found[0], clean(found[1], _LONGEST)
        place = {id_: place for place, id_ in enumerate(self._values)}
        known = {*self._flow.new_value.values()}
        values: dict[int, Mark] = {place[id_]: "removed" for id_ in self._gone_of(self._old.graph.inputs.values())}
        values |= {place[value]: "added" for value in self._new.graph.inputs.values() if value not in known}
        reads: dict[tuple[int, int], Mark] = {(place[value], op): mark for (value, op), mark in self._reads.items()}
        return Marks(calls, self._op_marks, values, reads, said)


def _words_for(matching: Matching, path: str) -> tuple[Mark, str] | None:
    """The mark of a layer that both models have, and what is said of it; None if it is as it was.

    What is in it says itself what has changed.
    """
    layer = matching.by_path[1][path]
    old = matching.old_of[layer]
    if old.cls != layer.cls and layer.path and (old.module.native or layer.module.native):
        return "changed", f"was {described(old)}"
    if settings := [*changed_settings(old, layer)]:
        was, now = described(old), described(layer)
        is_said = layer.module.native and was != now
        return "changed", f"was {was.removeprefix(layer.cls).strip(' ·')}" if is_said else str(settings[0])
    for name in dict.fromkeys((*old.params, *layer.params)):
        if old.params.get(name) != layer.params.get(name) and old.cls == layer.cls:
            return "changed", f"{name} {old.params.get(name, 'none')} → {layer.params.get(name, 'none')}"
    if old.parent is not None and layer.parent is not None:
        if matching.new_of.get(old.parent) is not layer.parent:
            return "moved", f"was {old.path}"
        if old.name != layer.name and not (old.name.isdigit() and layer.name.isdigit()):
            return "moved", f"was {old.name}"
    return None
