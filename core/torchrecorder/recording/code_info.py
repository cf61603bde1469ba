"""Where code lies: whether it is the user's, and its path as `pkg/mod.py:12`.

Paths are relative to the folder a module was imported from: a Graph must be the same in another checkout, and must not
show the folders of the machine that recorded it. Facts of frames are kept per code object, because every operation
walks over some frames.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import os
import tempfile
import textwrap
import tokenize
import traceback
from bisect import bisect
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path, PurePath
from types import CodeType, FrameType
from typing import NamedTuple

import torch
import torch.utils.checkpoint

from torchrecorder.recording.names import OpName
from torchrecorder.running import torch_private
from torchrecorder.running.nested import ByIdentity
from torchrecorder.trace.ownership import is_stdlib

# With a separator: the folder of torchvision begins like torch's.
_TORCH = str(Path(torch.__file__).parent) + os.sep
_OURS = str(Path(__file__).parent.parent) + os.sep
_MACHINERY = ("<frozen", "<string>")
_SESSION, _CONTROL_FLOW = (str(Path(__file__).with_name(name)) for name in ("session.py", "control_flow.py"))
_RESUMED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR


def innermost_origin(error: BaseException) -> str:
    """`file:line` of the innermost frame of the error that is the user's; empty if there is none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{PurePath(error.filename).name}:{error.lineno}"
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        if is_user_file(frame.f_code.co_filename) and not is_stdlib(frame.f_code.co_filename):
            return f"{import_path(frame.f_code.co_filename, frame.f_globals)}:{line}"
    return ""


def user_traceback(error: BaseException) -> str:
    """The traceback as the user's code sees it, without frames of torch and of ours; empty if no other code ran."""
    summary = traceback.TracebackException.from_exception(error)
    pending: list[traceback.TracebackException | None] = [summary]
    ran = False
    for link in pending:
        if link is not None:
            kept = [frame for frame in link.stack if is_user_file(frame.filename)]
            link.stack = traceback.StackSummary.from_list(kept)
            pending += [link.__cause__, link.__context__]
            ran = ran or bool(kept)
    return "".join(summary.format()) if ran else ""


def is_user_file(filename: str) -> bool:
    """Whether the file is part of neither torch nor torchrecorder nor the import machinery."""
    return not filename.startswith((_TORCH, _OURS, *_MACHINERY))


def import_path(filename: str, namespace: Mapping[str, object]) -> str:
    """The file's path from the folder its module was imported from; its bare name for a script.

    Code that a library wrote to a temporary file lies where its module's name says: the file's own has a random end.
    """
    name = namespace.get("__name__")
    path = PurePath(filename)
    if not isinstance(name, str) or name == "__main__":
        return path.name
    if path.stem.startswith(f"{name}_") and path.parent == PurePath(tempfile.gettempdir()):
        return f"{name.replace('.', '/')}.py"
    depth = name.count(".") + (2 if path.stem == "__init__" else 1)
    return PurePath(*path.relative_to(path.anchor).parts[-depth:]).as_posix()


Span = tuple[tuple[int, int], tuple[int, int]]
"""Line and column (in bytes) where an expression begins and ends."""


class Statement(NamedTuple):
    """A statement that decides by tensors which way to go."""

    text: str
    """As one line; of an `if`, `while` or `match` its head, `if x.any():`. Empty for an `assert`, which has no other
    branch, and if the source is not available."""
    line: int
    """Where it begins."""
    conditions: tuple[Span, ...] = ()
    """What in it decides."""

    def decides_at(self, frame: FrameType) -> bool:
        """Whether what the frame calls is part of a condition."""
        place = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (None,) * 4)
        line, end_line, column, end_column = place
        if line is None or end_line is None or column is None or end_column is None:  # Python keeps no columns
            return any(start[0] <= frame.f_lineno <= end[0] for start, end in self.conditions)
        return any(start <= (line, column) and (end_line, end_column) <= end for start, end in self.conditions)


def _deciding_statement(frame: FrameType) -> Statement:
    """The statement of which the frame runs a part."""
    code, line = frame.f_code, frame.f_lineno
    lines = linecache.getlines(code.co_filename, frame.f_globals)
    block = lines[code.co_firstlineno - 1 :]
    try:
        source = textwrap.dedent("".join(inspect.getblock(block)))
        tree = ast.parse(source)
    except (SyntaxError, tokenize.TokenError):  # a lambda or comprehension in the middle of a statement
        spans: tuple[Span, ...] = ()
        with suppress(SyntaxError):  # of a notebook, say
            spans = tuple(span for span in _conditions(ast.parse("".join(lines))) if span[0][0] <= line <= span[1][0])
        return Statement(" ".join("".join(lines[line - 1 : line]).split()), line, spans)
    above = code.co_firstlineno - 1
    around = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and n.lineno + above <= line <= _end(n)[0] + above]
    statement = max(around, key=lambda node: node.lineno, default=None)
    if statement is None or isinstance(statement, ast.Assert):
        return Statement("", line)
    head = statement.subject if isinstance(statement, ast.Match) else getattr(statement, "test", None)
    text = " ".join((ast.get_source_segment(source, head or statement) or "").split())
    left = len(block[0]) - len(source.partition("\n")[0]) - 1
    conditions = tuple(_conditions(statement, above, left))
    text = f"{type(statement).__name__.lower()} {text}:" if head else text
    return Statement(text, statement.lineno + above, conditions)


def _conditions(tree: ast.AST, above: int = 0, left: int = 0) -> Iterator[Span]:
    """Spans of the expressions that decide which way code goes, which begins below and to the right of these."""
    for node in ast.walk(tree):
        conditions: Sequence[ast.expr] = ()
        if isinstance(node, (ast.If, ast.While, ast.IfExp)):
            conditions = (node.test,)
        elif isinstance(node, ast.Match):
            conditions = (node.subject,)
        elif isinstance(node, ast.comprehension):
            conditions = node.ifs
        elif isinstance(node, ast.BoolOp):
            conditions = node.values[:-1]
        for condition in conditions:
            end_line, end_column = _end(condition)
            yield (condition.lineno + above, condition.col_offset + left), (end_line + above, end_column + left)


def _end(node: ast.stmt | ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


CALL: CodeType | None = torch_private.MODULE_CALL.get()
"""What runs a module, with the hooks in the function inside it."""
HOOKED_CALL: CodeType | None = torch_private.HOOKED_CALL.get()
APPLY: CodeType | None = torch_private.FUNCTION_CALL.get()

_HOMES = {
    "torch.nn.attention.flex_attention": ("flex_attention", "create_block_mask", "create_nested_block_mask"),
    "torch.nested": ("nested_tensor", "as_nested_tensor", "nested_tensor_from_jagged", "narrow", "masked_select"),
}
_FILES = {"torch.nn.attention.flex_attention": "nn/attention/flex_attention.py", "torch.nested": "nested/__init__.py"}
_WHOLE = {(str(Path(_TORCH, _FILES[home])), name): home for home, names in _HOMES.items() for name in names}
"""By file and name the modules of functions of torch's that run several operations and are one for their users."""

MAKES_PARAMETER = torch.nn.Parameter.__new__.__code__
"""Of a tensor that is not plain, a fake one, say, it takes another with `detach`."""


@dataclass(frozen=True, slots=True, eq=False)
class CodeInfo:
    """Facts of a function that frames are asked for."""

    module: object
    """The name of the module that `file` was found by."""
    file: str | None
    """Its file as `pkg/mod.py`; None if it lies in torch or in the recorder, or was generated."""
    sources: dict[int, str]
    """What `source` gave, by the offset of the instruction: asking a frame for its line is slow."""
    variables: dict[int, str]
    """The variables that get what instructions make, by their offsets; empty for none."""
    statements: dict[int, Statement]
    """What `statement` gave, by line: its source is parsed for it."""
    entered: set[int]
    """Offsets at which a function was called that a Graph keeps."""
    passed: set[int]
    """Offsets at which one of torch's was called: what ops in it make need not be what it returns."""
    is_end: bool
    """Whether what is further out is not asked: it runs a module, or the recording."""
    may_be_scope: bool
    """Whether it may run a module that no hook announces, or a custom autograd function."""
    is_forward: bool
    """Whether it is called so."""
    function: tuple[str, str] | None
    """Its name, and `file:line` of its definition, if a Graph keeps its runs as frames."""
    is_import: bool
    is_checkpoint: bool
    """Whether it is of torch's checkpoints."""
    is_init: bool
    """Whether it may be what makes a module, or makes a parameter."""
    whole: OpName | None
    """What it is called, if it is a function of torch's that runs several operations and is one for its users."""
    is_looked_at: bool
    """Whether it is any of the last seven, which few are."""

    def source(self, frame: FrameType, above: FrameType | None = None) -> str:
        """`file:line` where one of its frames is, which called the one above it."""
        called = frame.f_code if above is None else above.f_code
        # A layer, which is called as an object, gives what the last op in it does.
        if called.co_filename.startswith(_TORCH) and called.co_name not in ("_wrapped_call_impl", "__call__"):
            self.passed.add(frame.f_lasti)
        place = self.sources[frame.f_lasti] = f"{self.file}:{frame.f_lineno}"
        return place

    def statement(self, frame: FrameType) -> Statement:
        """The statement that decides where one of its frames is."""
        line = frame.f_lineno
        if line not in self.statements:
            self.statements[line] = _deciding_statement(frame)
        return self.statements[line]


_FOUND: ByIdentity[CodeType, CodeInfo] = ByIdentity()
"""Facts of all code that recordings of this process met. What is defined again in a notebook is other code."""


class CodeInfos:
    """The facts of the code that one recording meets, by id: comparing code objects is slow."""

    def __init__(self) -> None:
        self.known: dict[int, CodeInfo] = {}
        """By the id of the code; `of_code` adds what is missing."""
        self._kept: list[CodeType] = []
        """The same, kept alive so that no id is used again."""

    def of_code(self, frame: FrameType) -> CodeInfo:
        code = frame.f_code
        info = self.known.get(id(code))
        if info is None:
            info = _FOUND.get(code)
            if info is None or info.module != frame.f_globals.get("__name__"):
                info = _facts_of(code, frame.f_globals)
                _FOUND.put(code, info)
            self.known[id(code)] = info
            self._kept.append(code)
        return info

    def assigned(self, places: Set[str]) -> Iterator[tuple[str, str]]:
        """Places in the code, `net.py:12+160`, with the variable that gets what is made there."""
        for code in self._kept:
            info = self.known[id(code)]
            if new := info.sources.keys() - info.variables.keys():
                info.variables.update(dict.fromkeys(new, "") | dict(_assigned(code, new, info)))
            for offset, name in info.variables.items():
                if name and (place := f"{info.sources[offset]}+{offset}") in places:
                    yield place, name

    def place(self, frame: FrameType | None) -> tuple[str | None, int | None]:
        """`file:line` and the offset of the instruction where the innermost frame of the user's is."""
        while frame is not None:
            info = self.known.get(id(frame.f_code)) or self.of_code(frame)
            if info.is_end:
                break
            if info.file is not None:
                info.entered.add(frame.f_lasti)
                return info.sources.get(frame.f_lasti) or info.source(frame), frame.f_lasti
            frame = frame.f_back
        return None, None


def _facts_of(code: CodeType, namespace: Mapping[str, object]) -> CodeInfo:
    # Generated code (`<eval_with_key>.3` of torch.fx) carries a number that differs from run to run.
    filename = code.co_filename
    is_seen = is_user_file(filename) and not filename.startswith("<")
    file = import_path(filename, namespace) if is_seen else None
    is_end = code is CALL or code is HOOKED_CALL or (code.co_name == "run" and filename == _SESSION)
    is_forward = code.co_name == "forward" and code.co_argcount > 0
    is_scope = code in (APPLY, torch.autograd.backward.__code__) or filename == _CONTROL_FLOW or is_forward
    named = file is not None and _is_named_function(code, namespace)
    function = (code.co_qualname.rpartition("<locals>.")[2], f"{file}:{code.co_firstlineno}") if named else None
    is_import, is_checkpoint = filename.startswith("<frozen importlib"), filename == torch.utils.checkpoint.__file__
    is_init = (code.co_name == "__init__" and code.co_argcount > 0) or code is MAKES_PARAMETER
    home = _WHOLE.get((filename, code.co_name))
    whole = None if home is None else OpName(code.co_name, f"{home}.{code.co_name}")
    is_looked_at = is_scope or named or is_import or is_checkpoint or is_init or whole is not None
    facts = (is_end, is_scope, is_forward, function, is_import, is_checkpoint, is_init, whole, is_looked_at)
    return CodeInfo(namespace.get("__name__"), file, {}, {}, {}, set(), set(), *facts)


def _is_named_function(code: CodeType, namespace: Mapping[str, object]) -> bool:
    """Whether it is a function whose name says what it does, and that is one frame from beginning to end.

    A forward is a call, and so is the `__call__` of a module; that of another object is a function. What a decorator
    puts around a function is a closure over `*args`; the name is its own.
    """
    name, flags = code.co_name, code.co_flags
    is_wrapper = bool(code.co_freevars) and bool(flags & inspect.CO_VARARGS)
    is_plain = bool(flags & inspect.CO_OPTIMIZED) and not flags & _RESUMED  # not the body of a class
    if name == "__call__":  # with `*args` it is that of a decorator
        owner = namespace.get(code.co_qualname.removesuffix(".__call__"))
        is_object = isinstance(owner, type) and not issubclass(owner, torch.nn.Module)
        return is_object and is_plain and not flags & inspect.CO_VARARGS
    return is_plain and not is_wrapper and not name.startswith("<") and name != "forward"


def _assigned(code: CodeType, offsets: Iterable[int], info: CodeInfo) -> Iterator[tuple[int, str]]:
    """Of instructions those whose result, perhaps in another shape, is assigned to a variable, with its name."""
    steps = [step for step in dis.get_instructions(code) if step.opname != "CACHE"]
    begins = [step.offset for step in steps]
    for offset in offsets:
        # The caller of a function in Python stands at the call from Python 3.13 on, and before behind it.
        start = bisect(begins, offset) - 1
        is_passed = begins[start] != offset or (offset in info.passed and steps[start].opname.startswith("CALL"))
        is_call = offset in info.entered or not is_passed
        if steps[start].opname == "UNPACK_SEQUENCE":  # of a tensor
            yield from ((offset, names) for names in _unpacked(steps[start:]))
            continue
        is_split = (
            bool(steps[start + 1 :]) and steps[start + 1].opname == "UNPACK_SEQUENCE" and _is_split(steps[:start])
        )
        if not is_call and not is_split:  # `split` is torch's own in Python
            continue
        n_methods = int(steps[start].opname == "PRECALL")  # which Python 3.11 may take for the call
        for at, step in enumerate(steps[start + 1 :], start + 1):
            if step.opname.startswith("STORE_FAST"):
                yield offset, step.argval if isinstance(step.argval, str) else step.argval[0]
                break
            if step.opname == "UNPACK_SEQUENCE":
                yield from ((offset, names) for names in _unpacked(steps[at:]))
                break
            if step.opname in ("LOAD_METHOD", "LOAD_ATTR") and step.argval in SHAPING:
                n_methods += 1
            elif step.opname.startswith("CALL") and n_methods:
                n_methods -= 1
            elif not step.opname.startswith(_OF_ARGUMENTS):
                break


def _is_split(steps: Sequence[dis.Instruction]) -> bool:
    """Whether what is called behind some instructions, in the same statement, is a `split` of torch's."""
    behind = takewhile(lambda step: not step.opname.startswith(("STORE", "POP_TOP")), reversed(steps))
    return any(step.argval == "split" for step in behind)


def _unpacked(steps: Sequence[dis.Instruction]) -> Iterator[str]:
    """The variables or attributes that get the parts of what is unpacked, `q, k, v`; none if any gets more or less."""
    names = list[str]()
    for step in steps[1:]:
        if step.opname.startswith("STORE_FAST") or step.opname == "STORE_ATTR":
            both = (step.argval,) if isinstance(step.argval, str) else step.argval
            names += both if step.opname == "STORE_FAST_STORE_FAST" else both[:1]
        elif step.opname != "LOAD_FAST":  # the object of an attribute
            return
        if len(names) >= steps[0].argval:
            yield ", ".join(names[: steps[0].argval])
            return


_OF_ARGUMENTS = ("LOAD_FAST", "LOAD_CONST", "LOAD_ATTR", "LOAD_SMALL_INT", "LOAD_DEREF", "PRECALL", "KW_NAMES")
"""How instructions begin that load the arguments of a method."""
SHAPING = frozenset("view reshape squeeze unsqueeze transpose permute flatten to float contiguous".split())  # noqa: SIM905
