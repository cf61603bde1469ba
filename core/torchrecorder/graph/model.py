"""What a model did in one forward, as plain data.

Recording ends here, drawing starts here, and neither knows the other. Nothing in it holds a tensor, a module or an
object of the user's, so it can be stored as JSON and read without torch.

Invariants, each tested:

- `calls[i].id == i`, likewise for `ops` and `values`; ids count up in the order in which things happened, and the
  same model with the same input gives the same Graph, byte for byte.
- A Value has one producer. An op that writes in place makes new Values and lists them in `mutates`.
- An op's inputs have smaller ids than its outputs, so ops and values are in topological order.
- A call's parent has a smaller id; calls nest. So do frames, each within one call.
- Edges are derived (`value.producer -> op`), never stored.
- If any size follows the batch, an axis of an input does, and each that follows is a multiple of it, or a part.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

ValueKind = Literal["input", "param", "buffer", "const", "op"]
OpKind = Literal["op", "pass", "kernel", "function"]
CallKind = Literal["module", "function"]
Executed = Literal["real", "fake", "meta", "bfloat16"]
Mode = Literal["eval", "train"]
Recorder = Literal["modern", "classic"]
Grade = Literal["", "declared", "model", "layer", "names"]
"""Sources of the sizes of guessed inputs: the model's documentation or its library's own example, what the
model says of itself, its first layers, or nothing but the names of its parameters."""


@dataclass(frozen=True, slots=True)
class TensorMeta:
    """A tensor without its numbers."""

    shape: tuple[int | str, ...]
    """Sizes of the axes; a str where the size is symbolic."""
    dtype: str
    """As in torch, without the prefix: `float32`, `int64`."""
    device: str
    """Its type: `cpu`, `cuda`, `meta`."""
    nbytes: int | None
    """Bytes of its elements; None where they cannot be counted (sparse, nested)."""


@dataclass(frozen=True, slots=True)
class Value:
    """One tensor at one moment: a write in place makes another Value."""

    id: int
    kind: ValueKind
    """Where it comes from. `const`: from somewhere the recording does not see, such as a closure or numpy."""
    producer: int | None = None
    """Id of the op that made it; None unless `kind` is `op`."""
    index: int = 0
    """Position among the outputs of its producer."""
    meta: TensorMeta | None = None
    name: str | None = None
    """Path of an input (`ids`, `batch.mask`), qualified name of a parameter or buffer; else None."""
    storage_group: int | None = None
    """Values with the same number share memory."""

    @property
    def shape(self) -> tuple[int | str, ...]:
        """Sizes of its axes; empty if they are not known, too."""
        return () if self.meta is None else self.meta.shape


@dataclass(frozen=True, slots=True)
class AutogradNode:
    """One node that an operation added to autograd's graph."""

    name: str
    """As autograd calls it: `AddmmBackward0`."""
    inputs: tuple[int, ...]
    """What it was made from: ids of values, and `~i` for the node at position `i` of the same op."""
    outputs: tuple[int, ...] = ()
    """Those of the op's outputs that it stands for."""


@dataclass(frozen=True, slots=True)
class Op:
    """One operation of the public API, with the kernels it ran."""

    id: int
    name: str
    """As users write it: `cat`, `linear`, `add_`."""
    target: str
    """Its full name: `torch.cat`, `torch.Tensor.add_`."""
    call: int
    """Id of the innermost call it happened in."""
    inputs: tuple[int, ...] = ()
    """Ids of the values it read, each once, in the order of its arguments."""
    outputs: tuple[int, ...] = ()
    mutates: tuple[int, ...] = ()
    """Those of `outputs` that overwrote one of its arguments."""
    kernels: tuple[str, ...] = ()
    """Names of the kernels that ran, `aten.addmm.default`, in order."""
    flops: int | None = None
    """Floating-point operations, 2 per multiply-add; None where no rule is known."""
    attrs: Mapping[str, str] = field(default_factory=dict)
    """Its arguments other than tensors, as source text, by name or position; `N` for a number that is the batch."""
    source: str | None = None
    """`file:line` of the statement that called it; None where that is inside torch."""
    kind: OpKind = "op"
    """`pass`: a module returns its argument; `kernel`: no API call covers it; `function`: a custom autograd one."""
    autograd: tuple[AutogradNode, ...] = ()
    """Its nodes in autograd's graph, each after those it was made from; none, unless `Info.recorder` is `classic`."""
    frame: int | None = None
    """Id of the innermost Frame it happened in; None if that is the forward itself."""
    offset: int | None = None
    """The instruction of `source` that called it, as Python's `f_lasti`; None where that is inside torch.

    Equal ops of one line have different ones, an op that a loop repeats has one. It is compared within a Graph only:
    other versions of Python have other instructions.
    """


@dataclass(frozen=True, slots=True)
class ParamCount:
    """Numbers of parameters (elements, not tensors); tied ones are counted once."""

    own: int = 0
    """In the module itself, without its children."""
    total: int = 0
    trainable: int = 0
    """Those of `total` that require grad."""


@dataclass(frozen=True, slots=True)
class Module:
    """One `nn.Module` object that was called, or holds one that was."""

    fqn: str
    """Its dotted path from the model, `layer1.0.conv1`; empty for the model. One that is not registered is called by
    the list or dictionary that holds it, `layers[0]` or `heads['cls']`, or else `~Class`."""
    cls: str
    """Its class with its module, `torch.nn.modules.conv.Conv2d`."""
    native: bool
    """Whether torch itself defines the class."""
    params: ParamCount = ParamCount()
    extra_repr: str = ""
    """What the module says of itself: `8, 16, kernel_size=(3, 3), stride=(2, 2)`."""
    aliases: tuple[str, ...] = ()
    """Further paths of the same object."""


@dataclass(frozen=True, slots=True)
class Call:
    """One run of a module's forward, or of a custom autograd function."""

    id: int
    parent: int | None
    """Id of the call it happened in; None for the model's own."""
    module: str
    """The `fqn` of its module; for a function, the name of its class."""
    index: int = 1
    """1 for the first call of this module, 2 for the second, …."""
    inputs: Mapping[str, int] = field(default_factory=dict)
    """Value id by path in the arguments, `x`, `states.0`."""
    outputs: Mapping[str, int] = field(default_factory=dict)
    """Value id by path in the result; the path of a single tensor is empty."""
    ok: bool = True
    """False if it raised."""
    kind: CallKind = "module"
    frame: int | None = None
    """Id of the innermost Frame it was made in; None if that is the forward of `parent` itself."""
    source: str | None = None
    """`file:line` of the statement that called it; None where that is inside torch, as for a part of a `Sequential`."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One run of a function between a module's forward and its ops, such as `apply_rotary_pos_emb`.

    Functions of the user and of libraries are kept, if an op or a call happened in them. Not kept are functions of
    torch, forwards, lambdas, comprehensions, generators, and wrappers of decorators (closures over `*args`).
    """

    id: int
    name: str
    """As its module has it: `resize_boxes`, `Attention.split_heads`."""
    defined: str
    """`file:line` of its definition."""
    call: int
    """Id of the innermost call it ran in."""
    parent: int | None = None
    """Id of the Frame that called it in the same call; None if that is the forward itself."""
    source: str | None = None
    """`file:line` of the statement that called it; None where that is inside torch."""
    offset: int | None = None
    """The instruction of `source` that called it, as in `Op`."""

    @property
    def short(self) -> str:
        """Its name in a picture: `split_heads`; of an object that is made or called, its class."""
        owner, _, name = self.name.rpartition(".")
        return owner.rpartition(".")[2] if owner and name in ("__init__", "__call__") else name.strip("_")


@dataclass(frozen=True, slots=True)
class Failure:
    """The end of the forward of a partial Graph."""

    call: int | None
    """Id of the innermost call that raised."""
    error: str
    """The exception as `Type: message`."""


@dataclass(frozen=True, slots=True)
class Info:
    """The way in which a Graph was recorded."""

    executed: Executed
    """Whether the forward ran on real tensors, on fake tensors or on the meta device."""
    torch: str
    """Version of torch."""
    mode: Mode
    guessed: str = ""
    """How the inputs were chosen, if the user gave none."""
    notes: tuple[str, ...] = ()
    """What a reader of the picture should know, such as data that left PyTorch."""
    failure: Failure | None = None
    recorder: Recorder = "modern"
    """`classic`: it ran with gradients on, the ops have their nodes in autograd's graph, and those are drawn."""
    grade: Grade = ""
    """Source of the sizes of guessed inputs; empty without a guess, and in Graphs of earlier versions."""
    sheet: Mapping[str, int | str] = field(default_factory=dict)
    """Facts of a model of the hub, which its configuration has: `vocabulary`, `heads`, `params.attention`."""


@dataclass(frozen=True, slots=True)
class Decision:
    """A line of the user's code that took one way or another because of the numbers in tensors."""

    source: str
    """Its `file:line`."""
    text: str
    """The line itself: `if (y > 0).any():`."""
    values: tuple[int, ...]
    """Ids of the values that it asked, in order; fewer than it asked, if some were from nowhere."""


@dataclass(frozen=True, slots=True, repr=False)
class Graph:
    """One forward of one model."""

    modules: Mapping[str, Module]
    """By fqn, in registration order; the model itself is `""`."""
    calls: tuple[Call, ...]
    """In the order they began; `calls[0]` is the model's."""
    ops: tuple[Op, ...]
    values: tuple[Value, ...]
    inputs: Mapping[str, int]
    """Value id by path in the arguments of the model."""
    outputs: Mapping[str, tuple[int, ...]]
    """Value ids by path in the result (`""` for a single tensor): more than one if a view's base was written later."""
    info: Info
    tied: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """All the names of a parameter or buffer that has several, by its first."""
    frames: tuple[Frame, ...] = ()
    """In the order of their first op or call; none in Graphs of earlier versions."""
    decisions: tuple[Decision, ...] = ()
    """Each line once, in the order in which they were first reached."""
    batch: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """By value id, in order, the axes that grow with the batch, an axis of some inputs, mostly their first. A value
    without such axes is not in it, nor one of which that is not certain.
    """
    assigned: Mapping[str, str] = field(default_factory=dict)
    """By `source` and `offset` of an op or Frame, `net.py:12+160`, the variable that gets its result, perhaps in
    another shape, or those that get its parts, `q, k, v`. Graphs of earlier versions have the former of ops alone."""

    returned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By path of a module and in its result, `0`, the variable that its forward returns there, or the layer or function
    that it calls for it, or else the variable that gets it. Of one that gives several tensors, as far as its calls
    agree; none in Graphs of earlier versions."""

    def variable(self, row: Op | Frame, at: int = -1) -> str:
        """The variable that gets the result of an op or function, or an output of it that is one of several parts.

        Empty if none does at once, or it is not known.
        """
        names = self.assigned.get(f"{row.source}+{row.offset}", "").split(", ")
        is_each = at >= 0 and isinstance(row, Op) and len(row.outputs) == len(names)
        return names[0] if len(names) == 1 else names[at].strip("_") if is_each else ""

    def part(self, module: str, path: str) -> str:
        """The name that the forward of a module has for a part of its result, `mu`, `states.0`.

        Empty if it is not known, or is the path of a layer in the module: `features.2`, in a list of some of them.
        """
        known, head = self.returned.get(module, {}), path
        while head and head not in known:
            head = head.rpartition(".")[0]
        is_known = head in known and (head or not path or path[0].isdigit())  # a key of a dictionary is its own name
        name = ".".join(filter(None, (known[head], path[len(head) :].lstrip(".")))) if is_known else ""
        return "" if "." in name and f"{module}.{name}".lstrip(".") in self.modules else name

    def __repr__(self) -> str:
        """One line, since a notebook prints it, and all fields would be thousands."""
        root = self.modules.get("")
        name = root.cls.rpartition(".")[2] if root is not None else "a model"
        count = "" if root is None else f", {root.params.total:,} parameters"
        return f"<Graph of {name}: {len(self.calls)} calls, {len(self.ops)} ops{count}>"

    def without_sizes(self) -> Graph:
        """The Graph without what follows from the sizes of its inputs, for those guessed from names alone."""
        values = tuple(replace(value, meta=None) for value in self.values)
        ops = tuple(replace(op, flops=None) for op in self.ops)
        return replace(self, values=values, ops=ops, batch={})

    def around(self, call: int | None) -> Iterator[Call]:
        """A call and those that it lies in, from the inside out; none for None."""
        while call is not None:
            yield self.calls[call]
            call = self.calls[call].parent

    def edges(self) -> Iterator[tuple[Value, Op]]:
        """Each read of a value by an op, in the order of the ops."""
        for op in self.ops:
            for value in op.inputs:
                yield self.values[value], op
