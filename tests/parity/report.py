"""Reports as JSON what a torchrecorder records of the shared networks; run with ours and with the original.

`python report.py NETS.py`: nothing else of this project is imported, because both have one name.
"""

from __future__ import annotations

import json
import re
import runpy
import sys
from typing import Any


def report(nets: dict[str, Any]) -> dict[str, Any]:
    """By network: its nodes in the order of recording, the edges between them, and the pictures by depth."""
    import torchrecorder

    found = {}
    for name, (make, shapes) in nets.items():
        rec = torchrecorder.record(make(), "Net", shapes)
        pictures = {str(depth): picture(torchrecorder, rec, depth) for depth in range(3)}
        found[name] = {"nodes": nodes(rec), "edges": edges(rec), "types": dict(rec.fn_types), "pictures": pictures}
    return found


def nodes(rec: Any) -> list[str]:
    distinct = {id(node): node for node in rec.nodes.values()}
    return [describe(node) for node in distinct.values() if node.name != "ContextDummy"]


def edges(rec: Any) -> list[list[str]]:
    pairs = {(rec.nodes[edge[0]], rec.nodes[edge[1]]) for edge in rec.edges}
    return sorted([describe(tail), describe(head)] for tail, head in pairs if tail is not head)


def describe(node: Any) -> str:
    return f"{type(node).__name__} {node.name!r} {node.depth} in {type(node.parent).__name__}"


def picture(torchrecorder: Any, rec: Any, depth: int) -> dict[str, Any] | None:
    """The labels, edges and number of clusters of a DOT text; None where the original fails."""
    try:
        source = torchrecorder.make_dot(rec, depth).source
    except IndexError:
        return None
    labels = dict(re.findall(r'^\s*(n?\d+) \[label=("(?:[^"])*"|\S+)', source, re.MULTILINE))
    lines = {(labels[a], labels[b]) for a, b in re.findall(r"^\s*(n?\d+) -> (n?\d+)", source, re.MULTILINE)}
    return {
        "labels": sorted(labels.values()),
        "edges": sorted([a, b] for a, b in lines),
        "clusters": source.count("subgraph cluster_"),
    }


if __name__ == "__main__":
    json.dump(report(runpy.run_path(sys.argv[1])["NETS"]), sys.stdout)
