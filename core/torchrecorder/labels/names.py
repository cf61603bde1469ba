"""Names, numbers and shapes as a reader of papers expects them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from torchrecorder.graph import Graph, Module, TensorMeta
from torchrecorder.view import Repetition
from torchrecorder.view.entries import is_list
from torchrecorder.view.op_families import DROPOUTS

_UNSEEN = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufffe\uffff]+")
_STEPS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def class_name(module: Module) -> str:
    """Its class; of a layer whose weight torch makes, `ParametrizedConv1d`, the one that it was before."""
    name = module.cls.rpartition(".")[2]
    return name.removeprefix("Parametrized") if module.native else name


def bare(cls: str) -> str:
    """The name of a class without the number of axes: `BatchNorm` of `BatchNorm2d`."""
    return cls.removesuffix("1d").removesuffix("2d").removesuffix("3d")


def kind_name(module: Module) -> str:
    """Its class; of an entry in a list that has no class of its own the name of the list: `downs` of `downs.0`."""
    is_entry = is_list(module.cls) or module.cls == "torch.nn.modules.module.Module"
    names = [part for part in module.fqn.split(".") if not part.isdigit()] if is_entry else []
    return names[-1] if names else class_name(module)


def relative(path: str, base: str) -> str:
    return path[len(base) + 1 :] if base and path.startswith(base + ".") else path


def run_name(graph: Graph, paths: Sequence[str], base: str, parts: Collection[str] = ()) -> str:
    """The name of modules that are shown as one, with their parts, from `base` on.

    All of a list or container are `blocks`; some of it `blocks.1–5`; a single module without parts, or one that is
    called again, its path. Parts with parameters that are not beside it are named, too: `norm1, patch_embed.proj`.
    """
    first, last = relative(paths[0], base), relative(paths[-1], base)
    if first == last:
        whole, home = paths[0], paths[0].rpartition(".")[0]
        while parts and len(home) > len(base) and _is_whole(graph, home, {paths[0], *parts}):
            whole, home = home, home.rpartition(".")[0]
        elsewhere = (path for path in parts if not path.startswith(f"{home}.".lstrip(".")) and path in graph.modules)
        beside = {path for path in elsewhere if graph.modules[path].params.total and paths[0] in parts}
        named = dict.fromkeys(path for path in (parts if beside else paths) if path in {paths[0], *beside})
        return ", ".join(relative(whole if path == paths[0] else path, base) for path in named)
    pairs = [*zip(first.split("."), last.split("."), strict=False)]
    changing = [i for i, (a, b) in enumerate(pairs) if a != b]
    parent = ".".join(a for a, _ in pairs[: changing[0]]) if changing else ""
    if parent and _is_whole(graph, paths[0][: len(paths[0]) - len(first)] + parent, {*paths, *parts}):
        return parent
    if len(changing) > 1 or first.count(".") != last.count("."):
        return f"{first}–{last}"
    return ".".join(a if a == b else f"{a}–{b[_alike(a, b) :]}" for a, b in pairs)


def entries(names: Sequence[str]) -> str:
    """Names one after the other, those of a list as one: `mix.0–2` for `mix.0`, `mix.1` and `mix.2`."""
    homes, ends = zip(*((name.rpartition(".")[0], name.rpartition(".")[2]) for name in names), strict=True)
    numbers = [int(end) for end in ends if end.isdigit()]
    is_list = len(numbers) == len(names) > 1 and len({*homes}) == 1
    is_list = is_list and numbers == [*range(numbers[0], numbers[0] + len(names))]
    return f"{names[0]}–{ends[-1]}" if is_list else " ".join(names)


def _is_whole(graph: Graph, home: str, shown: Collection[str]) -> bool:
    """Whether all that does something in a container is shown."""
    inside = [path for path in graph.modules if path.startswith(f"{home}.")]
    closed = tuple(f"{path}." for path in shown)
    nothing = DROPOUTS | {"Identity"}
    leaves = (path for path in inside if not any(other.startswith(f"{path}.") for other in inside))
    rest = (path for path in leaves if path not in shown and not path.startswith(closed))
    return all(class_name(graph.modules[path]) in nothing for path in rest)


def _alike(first: str, last: str) -> int:
    """How many letters two names begin with, `block_1` and `block_2`, if no more than numbers or a letter follow."""
    stem = first.rstrip("0123456789")
    if stem == last.rstrip("0123456789"):
        return len(stem)
    return len(first) - 1 if first[:-1] == last[:-1] else 0  # `inception3a`


def clean(text: str, limit: int) -> str:
    """The text on one line, without signs that cannot be seen, cut to a number of signs."""
    seen = _UNSEEN.sub(" ", text[: 4 * limit]).strip()
    return seen if len(seen) <= limit and len(text) <= 4 * limit else seen[: limit - 1] + "…"


def count(number: int) -> str:
    """A number in three digits: `320`, `12.7 k`, `11.7 M`, `70.6 B`."""
    for size, sign in _STEPS:
        if number >= size * 0.9995:
            scaled = number / size
            digits = 2 if scaled < 9.995 else 1 if scaled < 99.95 else 0
            text = f"{scaled:.{digits}f}"
            text = text.rstrip("0").rstrip(".") if "." in text else text
            return f"{text} {sign}"
    return str(number)


def parameters(number: int, *, word: str = "params") -> str:
    singular = word.removesuffix("s") if number == 1 else word
    return f"{count(number)} {singular}"


def shape(sizes: Iterable[int | str]) -> str:
    """The sizes of a tensor: `1×3×224×224`; `scalar` if it has no axes."""
    return "×".join(map(str, sizes)) or "scalar"


def flops(number: int) -> str:
    text = count(number).replace("B", "G")
    return text + ("FLOPs" if text[-1].isalpha() else " FLOPs")


def flops_by_call(graph: Graph) -> dict[int, int]:
    """Floating-point operations in each call and in those within it, where a rule for them is known."""
    by_call: dict[int, int] = {}
    for op in graph.ops:
        if op.flops:
            by_call[op.call] = by_call.get(op.call, 0) + op.flops
    for call in reversed(graph.calls):
        if call.parent is not None and call.id in by_call:
            by_call[call.parent] = by_call.get(call.parent, 0) + by_call[call.id]
    return by_call


def size(number: int) -> str:
    """A number of bytes: `512 B`, `1.5 KiB`, `3 MiB`."""
    scaled = float(number)
    for sign in ("B", "KiB", "MiB", "GiB"):
        if scaled < 999.5:
            return f"{scaled:.3g} {sign}"
        scaled /= 1024
    return f"{scaled:.4g} TiB"


def tensor(meta: TensorMeta | None, show: Collection[str]) -> str:
    """The shape of a tensor, with its type and size if asked for; empty of one that holds nothing."""
    if meta is None or 0 in meta.shape:
        return ""
    memory = "memory" in show and meta.nbytes
    facts = (meta.dtype if "dtypes" in show else "", size(meta.nbytes or 0) if memory else "")
    return " · ".join(filter(None, (shape(meta.shape), *facts)))


def times(n: int, repetition: Repetition) -> str:
    """Repeats of a thing drawn once: `×4`, `6 in parallel`, `called 5 times · shared · loop`; empty for once."""
    if n < 2:
        return ""
    words = {"series": f"×{n}", "parallel": f"{n} in parallel", "shared": f"called {n} times · shared"}
    return words.get(repetition) or f"{words['shared']} · loop"
