"""Lists whose entries have no forward: each entry, whose layers the code calls one by one, as a call of its own.

`for block, attention, down in self.downs:` calls three layers of `downs.0`, then three of `downs.1`. To a reader
`downs.0` is a block, but a list, or a module that only holds layers, was not called, so nothing of it was recorded. Of
the ops between two entries, those belong to the second that ran before the first as well, as the `cat` at the head of a
loop; the rest to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, takewhile

from torchrecorder.graph import Call, Graph, Module
from torchrecorder.graph.edit import renumbered
from torchrecorder.graph.model import ParamCount
from torchrecorder.view.node_kinds import plain
from torchrecorder.view.plan.repeats import dependence, place
from torchrecorder.view.tree import CallTree, Item, call_tree

_LISTS = tuple(f"torch.nn.modules.container.{name}" for name in ("ModuleList", "ModuleDict"))


@dataclass(frozen=True, slots=True)
class _Entry:
    path: str
    parent: int
    calls: tuple[int, ...]
    """Ids of the calls made in it, in order."""
    ops: frozenset[int]
    """Ids of the ops that ran directly in it."""


def with_entries(graph: Graph) -> Graph:
    """The Graph with a call for each such entry, and with other ids of calls; itself if there are none."""
    called = {row.module for row in graph.calls}
    lists = {path for path, module in graph.modules.items() if is_list(module.cls) and path not in called}
    paths = {path for path in graph.modules if path not in called and path.rpartition(".")[0] in lists}
    if not paths or graph.info.failure is not None:
        return graph
    tree = call_tree(graph)
    found = [entry for row in graph.calls for entry in _entries_in(tree, row.id, paths)]
    return _with_calls(tree, found) if found else graph


def with_lists(graph: Graph, is_asked: Callable[[str], bool]) -> Graph:
    """The Graph with a call for each list asked for by its path, if no other layer is called between its layers."""
    called = {row.module for row in graph.calls}
    lists = [path for path, module in graph.modules.items() if is_list(module.cls) and path not in called]
    asked = [path for path in lists if is_asked(path)]
    outermost = [path for path in asked if not path.startswith(tuple(f"{other}." for other in asked))]
    tree = call_tree(graph)
    entries = [entry for row in graph.calls for path in outermost if (entry := _whole_list(tree, row.id, path))]
    return _with_calls(tree, entries) if entries else graph


def with_functions(graph: Graph, groups: Mapping[str, Collection[int]]) -> Graph:
    """The Graph with a call for each group of ops that ran in one call, as if a layer of that path had run them."""
    none = ParamCount(0, 0, 0)
    made = {path: Module(path, "function", native=False, params=none, extra_repr="") for path in groups}
    entries = [_Entry(path, graph.ops[min(ops)].call, (), frozenset(ops)) for path, ops in groups.items()]
    return _with_calls(call_tree(replace(graph, modules={**graph.modules, **made})), entries)


def _whole_list(tree: CallTree, parent: int, path: str) -> _Entry | None:
    graph, items = tree.graph, tree.items[parent]
    at = [i for i, it in enumerate(items) if it.is_call and graph.calls[it.id].module.startswith(f"{path}.")]
    if not at or sum(it.is_call for it in items[at[0] : at[-1] + 1]) > len(at):
        return None
    starts, stops = zip(*_stretches(graph, items, [(i, i) for i in at]), strict=True)
    first, last = items[at[0]].id, items[at[-1]].id
    calls = tuple(child for child in tree.children[parent] if first <= child <= last)
    ops = frozenset(it.id for it in items[min(starts) : max(stops)] if not it.is_call)
    return _Entry(path, parent, calls, ops)


def is_list(cls: str) -> bool:
    return cls in _LISTS


def _entries_in(tree: CallTree, parent: int, paths: set[str]) -> Iterator[_Entry]:
    graph, items = tree.graph, tree.items[parent]
    around: dict[int, str] = {}
    for child in tree.children[parent]:
        parts = graph.calls[child].module.split(".")
        heads = (".".join(parts[:n]) for n in range(1, len(parts)))
        if (path := next((head for head in heads if head in paths), None)) is not None:
            around[child] = path
    spans: dict[str, dict[str, tuple[int, int]]] = {}
    for position, item in enumerate(items):
        if item.is_call and item.id in around:
            path = around[item.id]
            of_list = spans.setdefault(path.rpartition(".")[0], {})
            of_list[path] = of_list.get(path, (position, 0))[0], position
    for of_list in spans.values():
        entries = [*of_list.items()]
        within = [[it.id for it in items[a : b + 1] if it.is_call and it.id in around] for _, (a, b) in entries]
        homes = [{around[call] for call in inside} for inside in within]
        is_apart = homes == [{path} for path in of_list]
        sorts = [tuple(graph.modules[graph.calls[call].module].cls for call in inside) for inside in within]
        take_turns = len([*groupby(sorts)]) > len({*sorts})  # one turn of which is drawn, with ×N
        if len(entries) < 2 or not is_apart or take_turns or any(len(inside) < 2 for inside in within):
            continue
        before = dependence(tree, [[Item(True, call) for call in inside] for inside in within])
        if not all(before[i] >> (i - 1) & 1 for i in range(1, len(before))):  # not a chain
            continue
        for (path, _), (start, stop) in zip(entries, _stretches(graph, items, [*of_list.values()]), strict=True):
            calls = [child for child, home in around.items() if home == path]
            first, last = min(calls), max(calls)
            inner = tuple(child for child in tree.children[parent] if first <= child <= last)
            yield _Entry(path, parent, inner, frozenset(it.id for it in items[start:stop] if not it.is_call))


def _stretches(graph: Graph, items: Sequence[Item], spans: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Start and stop of each entry, with the ops before its first and behind its last layer."""

    def ops(positions: range) -> list[tuple[int, object]]:
        found = takewhile(lambda at: not items[at].is_call, positions)
        return [(at, place(graph, graph.ops[items[at].id])) for at in found]

    before = [ops(range(first - 1, -1, -1)) for first, _ in spans]
    again = {where for found in before[1:] for _, where in found}
    heads = {where for _, where in before[0]} & again
    starts = [first for first, _ in spans]
    for i, found in enumerate(before):
        starts[i] = min((at for at, _ in takewhile(lambda it: it[1] in heads, found)), default=starts[i])
    tails: set[object] = set()
    for (_, last), start, stop in zip(spans, starts, [*starts[1:], len(items)], strict=True):
        behind = ops(range(last + 1, stop))
        if stop == len(items):  # of what runs after the list only what runs in it, too
            behind = [*takewhile(lambda it: it[1] in tails, behind)]
        tails.update(where for _, where in behind)
        yield start, behind[-1][0] + 1 if behind else last + 1


def _with_calls(tree: CallTree, entries: Sequence[_Entry]) -> Graph:
    graph = tree.graph
    parents, around = dict[int, int](), dict[int, int]()
    before: dict[int, Call] = {}
    within: dict[int, list[Call]] = {}
    for id_, entry in enumerate(entries, len(graph.calls)):
        inputs, outputs = _ends(tree, entry)
        row = Call(id_, entry.parent, entry.path, inputs=inputs, outputs=outputs)
        if entry.calls:
            before[entry.calls[0]] = row
        else:
            within.setdefault(entry.parent, []).append(row)
        parents.update(dict.fromkeys(entry.calls, id_))
        around.update(dict.fromkeys(entry.ops, id_))
    calls: list[Call] = []
    for row in graph.calls:
        calls += [before[row.id]] if row.id in before else []
        calls += [replace(row, parent=parents.get(row.id, row.parent)), *within.get(row.id, ())]
    ops = tuple(replace(op, call=around.get(op.id, op.call)) for op in graph.ops)
    return renumbered(replace(graph, calls=tuple(calls), ops=ops))


def _ends(tree: CallTree, entry: _Entry) -> tuple[dict[str, int], dict[str, int]]:
    """Inputs of an entry, named by the layers that they come from, and its outputs, by those that give them."""
    graph = tree.graph
    inside = {op for call in entry.calls for op in tree.all_ops_of(call)} | entry.ops
    read = dict.fromkeys(value for op in sorted(inside) for value in graph.ops[op].inputs)
    heads = [call for call in entry.calls[:1] if tree.first_op[call] == min(inside)]
    of_first = [value for call in heads for value in graph.calls[call].inputs.values() if value in read]
    read = dict.fromkeys((*of_first, *read))  # what it is called with first is the main thing
    inputs: dict[str, int] = {}
    for value in read:
        row = graph.values[value]
        if row.kind in ("input", "op") and row.producer not in inside:
            name = _origin(tree, entry, value) if inputs or not entry.calls else "x"
            inputs[f"{name}.{len(inputs)}" if name in inputs else name] = value
    made = [value for op in sorted(inside) for value in graph.ops[op].outputs]
    wanted = {value for op in graph.ops if op.id not in inside for value in op.inputs}
    wanted.update(graph.calls[entry.parent].outputs.values())
    wanted.update(value for values in graph.outputs.values() for value in values)
    given = [value for value in made if value in wanted]
    rows = (graph.calls[call] for call in entry.calls)
    names = {value: row.module.rpartition(".")[2] for row in rows for value in row.outputs.values()}
    said = [names.get(value, "") for value in given]
    are_told = len({*said}) == len(said) and all(name.isidentifier() for name in said)
    paths = said if are_told else [*map(str, range(len(given)))]
    return inputs, dict(zip(paths if len(given) > 1 else [""], given, strict=False))


def _origin(tree: CallTree, entry: _Entry, value: int) -> str:
    row = tree.graph.values[value]
    if row.producer is None:
        return row.name or str(value)
    op = tree.graph.ops[row.producer]
    around = tree.graph.around(op.call)
    path = next((call.module for call in around if call.parent == entry.parent), "")
    names = [part for part in path.split(".") if part and not part.isdigit()]
    return names[-1] if names else tree.graph.variable(op, row.index) or plain(op.name)
