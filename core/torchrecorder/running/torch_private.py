"""Every private part of torch that we use, each with what is lost where a torch does not have it.

These names are not promised: torch 2.15 made a builtin of `Function.apply`, and every recording failed. So they are
looked up here and nowhere else. A part that is missing costs what its line says, and each Graph says so in a note.

Not listed is what every saved module is made of: `_modules`, `_parameters`, `_buffers` and the dictionaries of hooks.
"""

from __future__ import annotations

import contextlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from types import CodeType
from typing import Any

import torch
from torch import Tensor, nn

_found: dict[str, Any] = {}  # parts that have been looked up; None is missing


class Part:
    """A private part of torch, looked up when it is first asked for: importing some takes long."""

    def __init__(self, path: str, lost: str, *others: str, find: Callable[[], object] | None = None) -> None:
        """Declare one.

        Args:
            path: Where it is, as `pkgutil.resolve_name` reads it.
            lost: What is not recorded without it, and how it is recorded then.
            others: Where other versions of torch have it.
            find: How to get it, if that takes more than its path.
        """
        self.path = path
        self.lost = lost
        self._find = find or (lambda: _first((path, *others)))
        PARTS[path] = self

    def get(self) -> Any:
        """The part; None if it is missing."""
        try:
            return _found[self.path]
        except KeyError:
            try:
                found = self._find()
            except Exception:  # nothing is promised, least of all which error it is
                found = None
            return _found.setdefault(self.path, found)


PARTS: dict[str, Part] = {}
"""All of them by path."""


def notes() -> tuple[str, ...]:
    """Notes for the Graph: what is lost, of all that was looked up in this process."""
    missing = [part for part in PARTS.values() if _found.get(part.path, part) is None]
    return tuple(f"torch {torch.__version__} has no {part.path.replace(':', '.')}: {part.lost}" for part in missing)


def _first(paths: tuple[str, ...]) -> object:
    """Object of the first path that leads anywhere."""
    *others, last = paths
    for path in others:
        with contextlib.suppress(ImportError, AttributeError):
            return pkgutil.resolve_name(path)
    return pkgutil.resolve_name(last)


# Frames of Python: which call an operation belongs to.


MODULE_CALL = Part("torch.nn:Module._call_impl.__code__", "operations are placed by the `forward` methods that run")
"""The code of what runs a module."""
HOOKED_CALL = Part(
    "torch.nn:Module._call_impl.inner",
    "a module that has another one's forward shows a call of that inside",
    find=lambda: next(c for c in nn.Module._call_impl.__code__.co_consts if getattr(c, "co_name", "") == "inner"),
)
"""The code of what runs a module that has hooks."""
FUNCTION_CALL = Part(
    "torch.autograd:Function.apply.__func__.__code__",
    "a custom autograd function inside a transform of torch.func has no box",
    "torch.autograd.function:_call_custom_function_call.__code__",
)
"""The code of what applies a custom autograd function, as far as it is written in Python."""
FUNCTION_CONTEXT = Part(
    "torch.autograd.function:BackwardCFunction", "a custom autograd function that torch applies from C has no box"
)
"""The base class of the `ctx` of custom autograd functions, one of which is made whenever one is applied."""

BACKWARD_HOOK = Part(
    "torch.nn.modules._functions:BackwardHookFunction", "layers with hooks for gradients show a function of torch's"
)
"""What torch puts around layers that have full backward hooks."""

# The layers of torch that an operation passes.

DISPATCH_MODE = Part(
    "torch.utils._python_dispatch:TorchDispatchMode",
    "operations in place, kernels and FLOPs are not seen, and parameters are copied",
)
NO_MODES = Part(
    "torch.utils._python_dispatch:_disable_current_modes",
    "what draws the items of an iterator that the model was given runs inside the recording",
)
HIGHER_ORDER = Part(
    "torch._ops:HigherOrderOperator.dispatch",
    "operators of higher order, as flex_attention, cannot be recorded",
    find=lambda: _higher_order(),
)
"""Their class, the key of what is written in Python, the innermost mode, and what takes it off; empty if modes see
them, as they do since torch 2.9."""
STATELESS = Part(
    "torch.nn.utils.stateless", "a module from outside of the model that is called by `functional_call` is not put back"
)
"""The module that lets a module run with other tensors."""
TRACES = Part("torch.jit._trace", "what `torch.jit.trace` runs to compare is drawn, too")
"""The module of `torch.jit.trace`."""
NO_DISPATCH = Part("torch._C:_DisableTorchDispatch", "sizes that follow the batch are found in fewer operations")
NO_TORCH_FUNCTION = Part(
    "torch._C:DisableTorchFunction", "tensors of the user's own classes see what is asked of them by the recording"
)
NO_SUBCLASS_FUNCTION = Part("torch._C:DisableTorchFunctionSubclass", "a recorder tensor is made slower")
FUNCTION_MODES = Part(
    "torch.overrides:_get_current_function_mode_stack",
    "modes that a forward enters and does not leave stay on",
    find=lambda: _functions_of_stack("function"),
)
"""What gives the modes that see functions, takes off the innermost one, and puts on one."""
DISPATCH_MODES = Part(
    "torch.utils._python_dispatch:_get_current_dispatch_mode_stack",
    "modes of kernels that a forward enters and does not leave stay on",
    find=lambda: _functions_of_stack("dispatch"),
)
"""The same for modes that see kernels."""
SCHEMA = Part("torch:ops.aten.add_.Tensor._schema", "operations in place are not seen, and parameters are copied")
FLOP_RULES = Part("torch.utils.flop_counter:flop_registry", "FLOPs are known of few operations")
SKIPPED_CODE = Part(
    "torch._C._dynamo.eval_frame:set_code_exec_strategy",
    "a compiler that the forward loads may compile the recorder",
    find=lambda: _skipper(),
)
"""A function that keeps the compiler away from a code object."""
OPTIMIZED_MODULE = Part(
    "torch._dynamo.eval_frame:OptimizedModule", "a module that was compiled runs itself, not its copy"
)
STANCE = Part(
    "torch.compiler:set_stance",
    "functions that were compiled run as they were compiled, and their operations are not seen",
)
UNFUSED = Part("torch.jit:optimized_execution", "script modules may run fused")
SCRIPT_CLASS = Part(
    "torch._C:ScriptModule._type",
    "script modules are called by the classes that torch wraps them in",
    find=lambda: _script_class(torch._C.ScriptModule._type),
)
"""A function that gives the qualified name of the class of a script module."""
SCRIPT_TENSORS = Part(
    "torch._C:ListType",
    "the layers of script modules are not seen, only the kernels that they run",
    find=lambda: torch._C.ListType(torch._C.TensorType.get()),
)
"""The type of a list of tensors, for code that is put into script modules."""
FUNCTORCH = Part(
    "torch._C:_functorch.peek_interpreter_stack",
    "operations inside transforms of torch.func are not connected",
    find=lambda: _functorch(),
)
"""The three functions that see through what the transforms put around tensors."""
FUNCTIONAL = Part("torch:_is_functional_tensor", "what is written to tensors inside `torch.func.functionalize` is lost")

HIGHER_ORDER_CLASS = Part(
    "torch._ops:HigherOrderOperator",
    "what `torch.cond` and its like run is one operation, and the layers in it are not connected",
)
COMPUTE = Part(
    "torch._ops:HigherOrderOperator.py_kernels",
    "what functions close over that `torch.cond` and its like call for gradients is not seen",
    find=lambda: _compute(),
)
"""A function that gives how a higher-order operator computes on numbers, None for one that cannot."""

# Tensors and their memory.

FAKE_MODE = Part(
    "torch._subclasses.fake_tensor:FakeTensorMode", "no forward is followed on fake tensors, but on the meta device"
)
FAKE_MODES = Part("torch._C:_unset_dispatch_mode", "forwards on fake tensors take longer", find=lambda: _fake_modes())
"""What says how many modes see kernels, takes the one of fake tensors off, and puts it on."""
FAKE_CONSTANTS = Part(
    "torch._subclasses.fake_tensor:FakeTensorConverter.add_constant_storage_mapping",
    "what a mask or a length chooses has no size in forwards on fake tensors",
    find=lambda: _fake_constants(),
)
"""Lets a fake tensor, whose numbers are known, forget them when something is written to its memory."""
ACTIVE_FAKE_MODE = Part(
    "torch._guards:active_fake_mode", "a model cannot be recorded inside of a FakeTensorMode of the user's"
)
FAKE_TENSOR = Part("torch._subclasses.fake_tensor:FakeTensor", "fake tensors of the user's are taken to hold numbers")
STORAGE_ADDRESS = Part(
    "torch:UntypedStorage._cdata", "views are not connected with what was written to them, and parameters are copied"
)
ARCHIVE = Part("torch._C:PyTorchFileReader", "pages cannot name saved models, since what they hold is not looked into")
"""Reads the records of a saved model, as what loads it does."""
SIZE_FUNCTIONS = Part(
    "torch._export.serde.serialize:_SYM_OPS", "pages cannot name exported programs that compute sizes"
)
"""Functions of Python and of torch that an exported program calls for its sizes."""
SWAP = Part(
    "torch._C:_swap_tensor_impl",
    "tensors that a forward swaps get their data back, but not what autograd knows of them",
)
"""Exchanges what two tensors are."""
BASE = Part("torch:Tensor._base", "the hook recorders do not see the gradient of a view that is overwritten")
VERSION = Part(
    "torch:Tensor._version", "the classic recorder and the hook recorders do not see that a tensor is overwritten"
)
SET_VERSIONS = Part(
    "torch:_C._autograd._unsafe_set_version_counter",
    "an older loss cannot be differentiated if a recorded forward wrote to a tensor that it needs",
)
"""Puts the counter of writes back, with what was written."""
PARSER_OF_MOVES = Part(
    "torch._C:_nn._parse_to",
    "a module that is moved by the number of a device which is not there cannot be recorded",
    find=lambda: _first(("torch._C:_nn._parse_to",)) and _first(("torch._C:_nn",)),
)
"""Where `_parse_to` is, which reads the arguments of `module.to`."""
DEFAULT_DEVICE = Part(
    "torch:_GLOBAL_DEVICE_CONTEXT", "a default device that a forward sets is put back as one that was set"
)

# Hooks and backward passes.

HOOKS_WITH_KWARGS = Part(
    "torch.nn.modules.module:_global_forward_hooks_with_kwargs",
    "torch may warn of our hooks when a module is compiled afterwards",
)
BACKWARD_PASS = Part(
    "torch._C:_current_graph_task_id", "the hook recorders do not tell one backward pass from the next"
)
AT_END_OF_PASS = Part(
    "torch.autograd:Variable._execution_engine.queue_callback",
    "the hook recorders wait for the gradients of all inputs of a module, also for those that never come",
)


def _functions_of_stack(kind: str) -> tuple[Callable[..., object], ...]:
    home = "torch.overrides" if kind == "function" else "torch.utils._python_dispatch"
    pop, push = (getattr(torch._C, f"_{verb}_torch_{kind}_stack") for verb in ("pop", "push_on"))
    innermost = () if kind == "function" else (None,)
    return pkgutil.resolve_name(f"{home}:_get_current_{kind}_mode_stack"), lambda: pop(*innermost), push


def _fake_modes() -> tuple[Callable[..., object], ...]:
    take_off = partial(torch._C._unset_dispatch_mode, torch._C._TorchDispatchModeKey.FAKE)
    return torch._C._len_torch_dispatch_stack, take_off, torch._C._set_dispatch_mode


def _fake_constants() -> Any:
    fake: Any = pkgutil.resolve_name("torch._subclasses.fake_tensor")
    if callable(fake.FakeTensorMode.dispatch) and callable(fake.FakeTensorMode.may_turn_const):
        return fake.FakeTensorConverter.add_constant_storage_mapping
    return None


def _higher_order() -> tuple[Any, ...]:
    modes: Any = pkgutil.resolve_name("torch.utils._python_dispatch")
    if hasattr(modes.TorchDispatchMode, "supports_higher_order_operators"):
        return ()
    key = torch._C.DispatchKey.Python
    return torch._ops.HigherOrderOperator, key, modes._get_current_dispatch_mode, modes._pop_mode_temporarily


def _functorch() -> tuple[Callable[..., object], ...]:
    functorch: Any = torch._C._functorch  # pyright: ignore[reportAttributeAccessIssue]
    return functorch.peek_interpreter_stack, functorch.is_functorch_wrapped_tensor, functorch.get_unwrapped


def _script_class(type_of: Callable[[Any], Any]) -> Callable[[Any], str]:
    return lambda module: str(type_of(module._c).qualified_name())


def _compute() -> Callable[[Any], Any]:
    key = torch._C.DispatchKey.CompositeExplicitAutograd
    pkgutil.resolve_name("torch._ops:torch.ops.higher_order.cond.py_kernels")
    return lambda operator: operator.py_kernels.get(key)


def _skipper() -> Callable[[CodeType], None]:
    from torch._C._dynamo import eval_frame

    action = eval_frame._FrameAction.SKIP
    strategy = eval_frame._FrameExecStrategy(action, action)
    return lambda code: eval_frame.set_code_exec_strategy(code, strategy)


def without_torch_function() -> AbstractContextManager[object]:
    """A block in which tensor subclasses and modes do not see what is asked of tensors."""
    return (NO_TORCH_FUNCTION.get() or contextlib.nullcontext)()


@contextlib.contextmanager
def without_modes() -> Iterator[None]:
    """A block in which neither tensor subclasses nor any mode sees what is done to tensors."""
    with without_torch_function(), without_kernel_modes():
        yield


def without_kernel_modes() -> AbstractContextManager[object]:
    """A block in which no mode sees kernels."""
    return (NO_MODES.get() or contextlib.nullcontext)()


def without_dispatch() -> AbstractContextManager[object]:
    """The same for what is done to plain tensors: it takes a fifth of the time."""
    return (NO_DISPATCH.get() or without_kernel_modes)()


def without_subclass_function() -> AbstractContextManager[object]:
    """A block in which tensor subclasses do not see what is asked of tensors."""
    return (NO_SUBCLASS_FUNCTION.get() or contextlib.nullcontext)()


def outside_of_fake_mode() -> AbstractContextManager[object]:
    """A block in which modes of the user are off if one of them makes fake tensors; the recording makes its own."""
    active, no_modes = ACTIVE_FAKE_MODE.get(), NO_MODES.get()
    return contextlib.nullcontext() if active is None or no_modes is None or active() is None else no_modes()


def is_functorch_wrapped(tensor: Tensor) -> bool:
    """Whether a transform of torch.func has put something around the tensor."""
    functions = FUNCTORCH.get()
    return functions is not None and bool(functions[1](tensor))


def sees_writes() -> bool:
    """Whether a write into the memory of a parameter is seen before it happens, so that it can be undone."""
    return all(part.get() is not None for part in (DISPATCH_MODE, SCHEMA, STORAGE_ADDRESS))


def optimized_module() -> type[nn.Module] | None:
    """The class of `torch.compile(module)`, unless the compiler has not been loaded (which takes seconds)."""
    return OPTIMIZED_MODULE.get() if "torch._dynamo.eval_frame" in sys.modules else None


def base_of(tensor: Tensor) -> Tensor | None:
    """Tensor that another one is a view of, for autograd."""
    return None if BASE.get() is None else tensor._base


def version_of(tensor: Tensor) -> int:
    """Counts the writes in place; 0 for tensors of inference mode, which do not count."""
    return tensor._version if VERSION.get() is not None and not tensor.is_inference() else 0
