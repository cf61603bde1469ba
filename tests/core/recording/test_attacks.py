"""Small models that do what recorders stumble over, by headings that were chosen before any of them was run.

Each runs plainly. So it is recorded, by all parts of the recorder; it gives the same numbers, and stays as it was.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import contextvars
import copy
import dataclasses
import enum
import functools
import io
import pickle
import threading
import warnings
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, fx, nn
from torch.func import functional_call
from torch.nn.attention.flex_attention import flex_attention
from torch.nn.utils import parametrizations, parametrize
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from tests.core.recording.isolation.fingerprint import Fingerprint
from tests.core.recording.nets import Net, record
from torchrecorder.graph import Graph
from torchrecorder.running.nested import map_tensors, named_tensors
from torchrecorder.running.restore import preserved_process_state

X = torch.arange(6.0).view(2, 3) / 7
Built = tuple[nn.Module, tuple[Any, ...]]
ATTACKS: dict[str, Callable[[], Built]] = {}


def attack(heading: str) -> Callable[[Callable[[], Any]], Callable[[], Any]]:
    """Register a function that gives a module, or a body for one with a layer `fc`, and perhaps its arguments."""

    def register(make: Callable[[], Any]) -> Callable[[], Any]:
        def build() -> Built:
            made = make()
            net, args = made if isinstance(made, tuple) else (made, (X.clone(),))
            if not isinstance(net, nn.Module):
                net = Net(net, fc=nn.Linear(3, 3), norm=nn.BatchNorm1d(3))
            return net, args

        ATTACKS[f"{heading}: {make.__name__}"] = build
        return make

    return register


def numbers(out: object) -> list[Tensor]:
    """What a forward gives, as plain tensors; nothing sees that it is read."""
    with torch._C.DisableTorchFunction(), _disable_current_modes():
        found = [tensor for _, tensor in named_tensors(out, objects=True)]
        return [t.detach().clone() for t in found if type(t) in (Tensor, nn.Parameter) and not t.is_meta]


class Seen(nn.Module):
    """Runs a module and lets the test have what it gave."""

    def __init__(self, inner: nn.Module, seen: Callable[[object], None]) -> None:
        super().__init__()
        self.inner, self.seen = inner, seen

    def forward(self, *args: Any) -> Any:
        out = self.inner(*args)
        self.seen(out)
        return out


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("grad_mode", [torch.enable_grad, torch.no_grad], ids=["grad", "no_grad"])
@pytest.mark.parametrize("name", ATTACKS)
def test_what_runs_is_recorded(name: str, grad_mode: Any) -> None:
    gave: list[list[Tensor]] = []
    built: list[Fingerprint] = []
    for records in (False, True):
        torch.manual_seed(0)
        net, args = ATTACKS[name]()
        model = Seen(net.eval(), lambda out: gave.append(numbers(out)))
        torch.manual_seed(0)
        with grad_mode():
            if records:
                built.append(Fingerprint(model, args))
                graph = record(model, *args)
                assert not built[0].changes(model, args)
                assert not [note for note in graph.info.notes if "report it" in note]
                assert graph.info.executed == "real"
            else:
                with preserved_process_state(0):
                    model(*args)
    plain, recorded = gave
    assert len(plain) == len(recorded)
    for one, other in zip(plain, recorded, strict=True):
        if one.layout is torch.strided and not one.is_nested:
            torch.testing.assert_close(other, one, equal_nan=True)


def leads_back(graph: Graph, outputs: Iterable[int]) -> set[int]:
    """The values that some depend on, with themselves."""
    waiting = [*outputs]
    met: set[int] = set()
    while waiting:
        value = waiting.pop()
        if value not in met:
            met.add(value)
            producer = graph.values[value].producer
            waiting += () if producer is None else graph.ops[producer].inputs
    return met


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", ATTACKS)
def test_nothing_is_lost_in_silence(name: str) -> None:
    """A result that is another one for other inputs leads back to one of them, or a note says why it does not."""

    def moved(tensor: Tensor) -> Tensor:
        return tensor + 0.37 if type(tensor) is Tensor and tensor.is_floating_point() else tensor

    gave: list[dict[str, Tensor]] = []
    for change in (None, moved):
        torch.manual_seed(0)
        net, args = ATTACKS[name]()
        with torch.no_grad(), preserved_process_state(0):
            changed = args if change is None else map_tensors(args, change)
            out = net.eval()(*changed)
            with torch._C.DisableTorchFunction(), _disable_current_modes():
                found = named_tensors(out, objects=True, private=False)
                gave.append({path: tensor.detach().clone() for path, tensor in found if type(tensor) is Tensor})
    torch.manual_seed(0)
    net, args = ATTACKS[name]()
    with torch.no_grad():
        graph = record(net.eval(), *args)
    for path, before in gave[0].items():
        after = gave[1].get(path)
        if after is None or before.is_meta or before.shape != after.shape or bool((before == after).all()):
            continue
        assert graph.info.notes or not leads_back(graph, graph.outputs[path]).isdisjoint(graph.inputs.values()), path


# Transforms of torch.func.


@attack("func")
def vmap_of_batch_norm() -> Any:
    return lambda self, x: torch.vmap(lambda row: self.norm(row.expand(2, 3)))(x)


@attack("func")
def random_numbers_under_vmap() -> Any:
    return lambda self, x: torch.vmap(lambda row: F.dropout(row) + torch.rand(3), randomness="different")(self.fc(x))


@attack("func")
def jvp_and_linearize() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        y, push = torch.func.linearize(self.fc, x)
        return torch.func.jvp(self.fc, (x,), (x,)), y, push(x)

    return body


@attack("func")
def functionalized() -> Any:
    return lambda self, x: torch.func.functionalize(lambda v: v.clone().add_(1).mul_(2))(self.fc(x))


@attack("func")
def vmap_in_chunks_of_jacobians() -> Any:
    return lambda self, x: torch.vmap(torch.func.jacrev(lambda v: self.fc(v).tanh()), chunk_size=1)(x)


@attack("func")
def gradient_with_more_results() -> Any:
    def loss(a: Tensor, b: Tensor) -> Any:
        return (a * b).sum(), {"a": a.detach()}

    return lambda self, x: torch.func.grad(loss, argnums=(0, 1), has_aux=True)(self.fc(x), x)


@attack("func")
def function_with_a_rule_for_vmap() -> Any:
    class Double(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, grad: Tensor) -> Tensor:
            return grad * 2

    return lambda self, x: torch.vmap(torch.func.grad(lambda v: Double.apply(v).sum()))(self.fc(x))  # type: ignore[no-untyped-call]


@attack("func")
def a_tensor_that_leaks_from_a_transform() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        kept = []
        torch.func.grad(lambda v: (kept.append(v), v.sum())[1])(x)  # type: ignore[func-returns-value]
        return torch.func.vjp(self.fc, x)[0] + len(kept)

    return body


# Classes of tensors, and modes, of the user's.


class Logged(Tensor):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with torch._C.DisableTorchFunctionSubclass():
            out = func(*args, **(kwargs or {}))
            return out.as_subclass(cls) if type(out) is Tensor else out


class Scaled(Tensor):
    """Holds another tensor and a scale, as quantised weights do."""

    @staticmethod
    def __new__(cls, inner: Tensor, scale: float) -> Any:
        made = Tensor._make_wrapper_subclass(cls, inner.shape, dtype=inner.dtype)
        made.inner, made.scale = inner, scale  # type: ignore[assignment, attr-defined, method-assign]
        return made

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:  # type: ignore[override]
        if func is torch.ops.aten.detach.default:
            return cls(args[0].inner, args[0].scale)
        plain = [arg.inner * arg.scale if isinstance(arg, cls) else arg for arg in args]  # type: ignore[attr-defined]
        return func(*plain, **(kwargs or {}))


class Answers(TorchFunctionMode):
    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Kernels(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


@attack("classes")
def as_a_class_that_logs() -> Any:
    return lambda self, x: torch.cat([self.fc(x).as_subclass(Logged), x]).as_subclass(Tensor)


@attack("classes")
def constructed_from_a_list() -> Any:
    return lambda self, x: self.fc(x) + Logged([1.0, 2.0, 3.0]).as_subclass(Tensor)


@attack("classes")
def constructed_with_sizes_and_filled() -> Any:
    return lambda self, x: Logged(2, 3).fill_(2).as_subclass(Tensor) * self.fc(x)


@attack("classes")
def a_wrapper_as_weight() -> Any:
    return lambda self, x: F.linear(x, Scaled(self.fc.weight.detach(), 0.5))


@attack("classes")
def modes_of_the_user() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        with Answers(), Kernels():  # type: ignore[no-untyped-call]
            return self.fc(x)

    return body


@attack("classes")
def a_parameter_with_more_arguments() -> Any:
    class Named(nn.Parameter):
        def __new__(cls, data: Tensor, name: str) -> Any:
            made = Tensor._make_subclass(cls, data, True)
            made.name_ = name  # type: ignore[attr-defined]
            return made

        def __deepcopy__(self, memo: Any) -> Any:
            raise RuntimeError("not to be copied")

    net = Net(lambda self, x: self.w * x)
    net.w = Named(torch.ones(3), "w")
    return net


# Containers and objects that refuse questions.


def refuse(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError("refused")


class Closed:
    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)

    __eq__ = __bool__ = __len__ = __iter__ = __repr__ = __str__ = refuse
    __hash__ = None  # type: ignore[assignment]


class Liar:
    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        raise RuntimeError("no class")


class Pair(NamedTuple):
    a: Any
    b: Any


class ClosedPair(Pair):
    __slots__ = ()
    __len__ = __iter__ = __eq__ = __getitem__ = __bool__ = __repr__ = refuse
    __hash__ = None  # type: ignore[assignment]


class Lookup(Mapping[str, Any]):
    __getitem__ = __iter__ = __len__ = __bool__ = refuse


@dataclasses.dataclass
class Held:
    x: Any
    more: Any = None

    @property
    def bad(self) -> Any:
        raise RuntimeError("no")


class Colour(enum.Enum):
    RED = 1


@attack("objects")
def arguments_that_are_closed() -> Any:
    return lambda self, x, *rest: self.fc(x), (X.clone(), Closed(), Liar(), Lookup(), Colour.RED)


@attack("objects")
def attributes_that_are_closed() -> Any:
    held = {
        "a": Closed(),
        "b": [Liar()],
        "c": Lookup(),
        "d": [Closed()],
        "e": (Closed(),),
        "f": ClosedPair(1, Closed()),
    }
    return Net(lambda self, x: nn.ReLU()(nn.Tanh()(x)), held=held, **held)


@attack("objects")
def results_that_are_closed() -> Any:
    return lambda self, x: {"y": self.fc(x), "c": Closed(), "l": Liar(), "m": Lookup(), "p": ClosedPair(x * 2, 1)}


@attack("objects")
def closed_things_between_layers() -> Any:
    inner = Net(lambda self, x, other: (x.relu(), other, ClosedPair(x, Closed())))
    return Net(lambda self, x: self.inner(x, Liar())[0] + 1, inner=inner)


@attack("objects")
def tensors_as_keys_and_in_sets() -> Any:
    def body(self: Any, x: Tensor, table: Any) -> Any:
        (key,) = table
        return {self.fc(key), table[key]}

    one = torch.ones(2, 3)
    return body, (X.clone(), {one: one})


@attack("objects")
def dataclasses_namespaces_and_proxies() -> Any:
    owner = nn.ReLU()

    def body(self: Any, held: Any, space: Any) -> Any:
        return Held(self.fc(held.x), SimpleNamespace(y=space.y + 1)), weakref.proxy(self.owner)(held.x)

    net = Net(body, fc=nn.Linear(3, 3), owner=owner)
    return net, (Held(X.clone()), SimpleNamespace(y=X.clone()))


@attack("objects")
def keys_that_refuse_to_be_shown() -> Any:
    class Key:
        __repr__ = __str__ = __format__ = refuse

    key = Key()
    return lambda self, table: {key: self.fc(table[key]), 3: table[3]}, ({key: X.clone(), 3: X.clone()},)


@attack("objects")
def containers_with_shape_of_their_own() -> Any:
    class Chain(collections.ChainMap[str, Any]):
        pass

    def body(self: Any, x: Tensor) -> Any:
        out = collections.OrderedDict(a=collections.deque([self.fc(x)]), b=collections.UserList([x]))
        return Chain(out, collections.defaultdict(list, c=[x]))

    return body


# Scripts, traces, programs and the compiler inside of a forward.


def looped(x: Tensor, n: int) -> Tensor:
    for i in range(n):
        x = x.view(-1) * 2 + i
    return x


@attack("programs")
def a_script_with_a_loop() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        scripted: Any = torch.jit.script(looped)
    return lambda self, x: scripted(self.fc(x), 3)


@attack("programs")
def traced_module_and_function() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        traced: Any = torch.jit.trace(self.fc, (x,))  # type: ignore[no-untyped-call]
        other: Any = torch.jit.trace(lambda v: v.view(-1) * 2 + 1, (x,))  # type: ignore[no-untyped-call]
        return traced(x), other(x)

    return body


@attack("programs")
def symbolic_trace() -> Any:
    return lambda self, x: fx.symbolic_trace(nn.Sequential(self.fc, nn.ReLU()))(x)


@attack("programs")
def compiled_in_forward() -> Any:
    return lambda self, x: torch.compile(lambda v: self.fc(v).relu(), backend="eager")(x)


@attack("programs")
def a_graph_of_kernels() -> Any:
    from torch.fx.experimental.proxy_tensor import make_fx

    return lambda self, x: make_fx(lambda v: v.sin() + 1)(x)(self.fc(x))


@attack("programs")
def the_text_of_a_trace() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        traced: Any = torch.jit.trace(lambda v: v.view(-1) * 2, (X,))  # type: ignore[no-untyped-call]
    return lambda self, x: self.fc(x) + len(str(traced.graph))


@attack("programs")
def checkpointed() -> Any:
    from torch.utils.checkpoint import checkpoint

    return lambda self, x: checkpoint(lambda v: self.fc(v).relu(), x, use_reentrant=False)


# Copies, pickles and states.


@attack("copies")
def a_copy_of_itself() -> Any:
    return lambda self, x: copy.deepcopy(self).fc(x) + copy.copy(self).fc(x)


@attack("copies")
def pickled_and_saved() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        file = io.BytesIO()
        torch.save(self.fc.state_dict(), file)
        file.seek(0)
        layer = pickle.loads(pickle.dumps(self.fc))
        layer.load_state_dict(torch.load(file))
        return layer(x)

    return body


@attack("copies")
def loaded_by_assignment() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        self.fc.load_state_dict({name: p.detach() * 2 for name, p in self.fc.state_dict().items()}, assign=True)
        return self.fc(x)

    return body


@attack("copies")
def swapped_by_conversion() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        before = torch.__future__.get_swap_module_params_on_conversion()
        torch.__future__.set_swap_module_params_on_conversion(True)
        try:
            return self.fc.double()(x.double())
        finally:
            torch.__future__.set_swap_module_params_on_conversion(before)

    return body


@attack("copies")
def swapped_twice_and_written() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        for _ in range(2):
            torch.utils.swap_tensors(self.fc.weight, nn.Parameter(self.fc.weight.detach() + 1))  # type: ignore[no-untyped-call]
        with torch.no_grad():
            self.fc.weight.mul_(2)
        return self.fc(x)

    return body


@attack("copies")
def emptied_and_moved() -> Any:
    return lambda self, x: copy.deepcopy(self.fc).to_empty(device="meta")(x.to("meta")).shape[0] + self.fc(x)


# Parametrizations.


class Half(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x / 2


@attack("parametrizations")
def registered_and_cached() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        parametrize.register_parametrization(self.fc, "weight", Half())
        with parametrize.cached():
            return self.fc(x) + self.fc(x)

    return body


@attack("parametrizations")
def orthogonal_and_removed() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        y = parametrizations.orthogonal(self.fc)(x)
        parametrize.remove_parametrizations(self.fc, "weight")
        return y + self.fc(x)

    return body


@attack("parametrizations")
def called_with_other_weights() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        return functional_call(self, {"fc.weight": self.fc.weight * 2}, (x, True)) if len(self.calls) == 0 else x

    def once(self: Any, x: Tensor, inner: bool = False) -> Any:
        return self.fc(x) if inner else functional_call(self, {"fc.weight": self.fc.weight * 2}, (x, True))

    return Net(once, fc=nn.Linear(3, 3), calls=[body])


# Hooks that a forward registers.


@attack("hooks")
def hooks_that_change_and_remove_themselves() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        def once(module: nn.Module, args: Any, out: Tensor) -> Tensor:
            handle.remove()
            return out * 2

        handle = self.fc.register_forward_hook(once)
        self.fc.register_forward_pre_hook(lambda module, args: (args[0] + 1,))
        return self.fc(x) + self.fc(x)

    return body


@attack("hooks")
def hooks_for_gradients() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        with torch.enable_grad():
            self.fc.register_full_backward_hook(lambda module, given, grads: None)
            self.fc.weight.register_hook(lambda grad: grad * 2)
            y = self.fc(x)
            return torch.autograd.grad(y.sum(), [self.fc.weight])[0] + y.sum()

    return body


@attack("hooks")
def hooks_on_everything() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        seen: list[Any] = []
        hook = nn.modules.module.register_module_forward_hook(lambda module, args, out: seen.append(module))
        try:
            return self.fc(x) + len(seen)
        finally:
            hook.remove()

    return body


@attack("hooks")
def saved_tensors() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 1, lambda t: t):
            return self.fc(x).tanh()

    return body


# Threads, generators, contexts.


@attack("threads")
def in_threads_and_pools() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        found: list[Any] = []
        thread = threading.Thread(target=lambda: found.append(x.detach() * 2))
        thread.start()
        thread.join()
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: self.fc(x.detach()).detach()).result() + found[0]

    return body


@attack("threads")
def coroutines_and_context_variables() -> Any:
    scale: contextvars.ContextVar[float] = contextvars.ContextVar("scale", default=1.0)

    async def run(self: Any, x: Tensor) -> Any:
        scale.set(2.0)
        await asyncio.sleep(0)
        return self.fc(x) * scale.get()

    return lambda self, x: asyncio.run(run(self, x))


@attack("threads")
def generators_that_are_not_finished() -> Any:
    def halves(self: Any, x: Tensor) -> Iterator[Tensor]:
        with torch.no_grad():
            yield self.fc(x)
            yield x

    return lambda self, x: next(halves(self, x)) + 1


@attack("threads")
def streams_and_stacks() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        with contextlib.ExitStack() as stack:
            stack.enter_context(torch.cpu.stream(torch.cpu.current_stream()))
            stack.enter_context(torch.random.fork_rng())
            stack.enter_context(warnings.catch_warnings())
            return self.fc(x) + torch.rand(3)

    return body


@attack("threads")
def forked_by_torch() -> Any:
    return lambda self, x: torch.jit.wait(torch.jit.fork(lambda v: v * 2, self.fc(x)))  # type: ignore[no-untyped-call]


# Lazy modules.


@attack("lazy")
def lazy_layers_of_the_forward() -> Any:
    return lambda self, x: nn.LazyLinear(2)(nn.LazyBatchNorm1d()(x))


@attack("lazy")
def a_lazy_layer_that_becomes_another() -> Any:
    class Later(nn.modules.lazy.LazyModuleMixin, nn.Linear):
        cls_to_become = nn.Linear

        def __init__(self) -> None:
            super().__init__(0, 0, False)
            self.weight = nn.UninitializedParameter()

        def initialize_parameters(self, x: Tensor) -> None:
            if self.has_uninitialized_params():
                self.weight.materialize((2, x.shape[-1]))  # type: ignore[attr-defined]
                nn.init.ones_(self.weight)

    return Net(lambda self, x: self.later(x), later=Later())


# Parallel and quantised.


@attack("parallel")
def data_parallel() -> Any:
    return lambda self, x: nn.DataParallel(self.fc)(x)


@attack("parallel")
def quantised_in_forward() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        q = torch.quantize_per_tensor(self.fc(x), 0.1, 0, torch.qint8)
        return torch.fake_quantize_per_tensor_affine(q.dequantize(), 0.1, 0, -128, 127)

    return body


@attack("parallel")
def observers() -> Any:
    from torch.ao.quantization import FakeQuantize, MinMaxObserver

    return Net(lambda self, x: self.fake(self.see(x)), see=MinMaxObserver(), fake=FakeQuantize())  # type: ignore[no-untyped-call]


# Modes of autocast and of gradients.


@attack("grad modes")
def inference_in_between() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        with torch.inference_mode():
            y = self.fc(x)
            with torch.inference_mode(False):
                z = y.clone()
        return z * 2

    return body


@attack("grad modes")
def casts_and_default_types() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            y = self.fc(x)
            with torch.autocast("cpu", enabled=False):
                y = self.fc(y.float())
        torch.set_default_dtype(torch.float64)
        return y + torch.ones(3)

    return body


@attack("grad modes")
def switched_and_left_so() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        torch.set_grad_enabled(not torch.is_grad_enabled())
        return self.fc(x).detach()

    return body


@attack("grad modes")
def anomalies_and_dual_numbers() -> Any:
    import torch.autograd.forward_ad as forward_ad

    def body(self: Any, x: Tensor) -> Any:
        with torch.autograd.detect_anomaly(), forward_ad.dual_level():
            return forward_ad.unpack_dual(self.fc(forward_ad.make_dual(x, torch.ones(2, 3)))).tangent  # type: ignore[no-untyped-call]

    return body


# Modules with a will of their own.


class Odd(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        return self.fc(x)


@attack("modules")
def that_refuse_questions() -> Any:
    class Refusing(Odd):
        __eq__ = __len__ = __bool__ = __repr__ = __iter__ = __contains__ = extra_repr = refuse
        __hash__ = nn.Module.__hash__

    return Net(lambda self, x: self.inner(x) + self.held[0](x), inner=Refusing(), held=[Refusing()])


@attack("modules")
def with_accessors_that_raise() -> Any:
    class Accessors(Odd):
        def __getattr__(self, name: str) -> Any:
            if name in ("fc", "training"):
                return super().__getattr__(name)
            raise KeyError(name)

        @property
        def bad(self) -> Any:
            raise RuntimeError("no")

        def __setattr__(self, name: str, value: Any) -> None:
            if "closed" in self.__dict__ and name != "training":
                raise AttributeError(name)
            super().__setattr__(name, value)

    net = Accessors()
    net.__dict__["closed"] = True
    return net


@attack("modules")
def with_forwards_that_are_objects() -> Any:
    class Called:
        __hash__ = None  # type: ignore[assignment]
        __eq__ = refuse

        def __call__(self, x: Tensor) -> Tensor:
            return x * 2

    class Property(nn.Module):
        @property
        def forward(self) -> Any:  # type: ignore[override]
            return lambda x: x + 1

    inner = nn.Identity()
    inner.forward = Called()  # type: ignore[assignment, method-assign]
    return nn.Sequential(inner, Property())


@attack("modules")
def that_take_part_in_torch_functions() -> Any:
    class Part(Odd):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return func(*(arg.fc.weight if isinstance(arg, cls) else arg for arg in args), **(kwargs or {}))

    return Net(lambda self, x: torch.matmul(x, self.inner), inner=Part())


@attack("modules")
def that_hold_one_another() -> Any:
    net = Odd()
    net.__dict__["me"], net.fc.__dict__["owner"] = net, net
    net.register_module("again", net.fc)
    return net


@attack("modules")
def with_slots_and_a_call_of_their_own() -> Any:
    class Slotted(Odd):
        __slots__ = ("count",)

        def __call__(self, x: Tensor) -> Any:
            self.count = getattr(self, "count", 0) + 1
            return super().__call__(x) * self.count

    return Net(lambda self, x: self.inner(self.inner(x)), inner=Slotted())


# Kinds of tensors.


@attack("tensors")
def nested() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        ragged = torch.nested.nested_tensor([x, x[:1]], layout=torch.jagged)
        return self.fc(ragged).values(), torch.nested.to_padded_tensor(torch.nested.nested_tensor([x, x[:1]]), 0)

    return body


@attack("tensors")
def sparse() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        rows = x.detach().relu().to_sparse()
        return torch.sparse.mm(rows, self.fc.weight), rows.to_sparse_csr() @ x.t(), rows.coalesce().values()

    return body


@attack("tensors")
def complex_and_conjugated() -> Any:
    return lambda self, x: torch.view_as_real(torch.fft.fft(self.fc(x)).conj() * 1j).sum(-1)


@attack("tensors")
def meta_and_numbers() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        with torch.device("meta"):
            layer = nn.Linear(3, 5)
        return self.fc(x) + layer(x.to("meta")).shape[-1]

    return body


@attack("tensors")
def meta_that_becomes_numbers() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        layer = nn.Linear(3, 2, device="meta").to_empty(device="cpu")
        nn.init.ones_(layer.weight), nn.init.zeros_(layer.bias)
        return layer(x)

    return body


@attack("tensors")
def resized_and_set() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        y = torch.empty(0).set_(self.fc(x).detach().untyped_storage())
        return y.resize_(2, 3) + torch.empty(0).resize_(3).zero_()

    return body


@attack("tensors")
def of_no_size_and_of_numbers() -> Any:
    return lambda self, x: (self.fc(x[:0]), x.new_tensor(2.0) * x, torch.tensor([]), x.sum().item() + x)


# Over the headings of the third step of the recorder, written down before any of them was run.


@attack("third step")
def hessian_of_a_layer() -> Any:
    return lambda self, x: torch.func.hessian(lambda row: self.fc(row).tanh().sum())(x[0])


@attack("third step")
def jacobians_both_ways() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        return torch.func.jacrev(self.fc)(x[0]) + torch.func.jacfwd(self.fc)(x[0])

    return body


@attack("third step")
def cotangents_of_two_results() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        out, back, *_ = torch.func.vjp(lambda y: (self.fc(y), y.sin()), x)
        return back(out)

    return body


@attack("third step")
def gradient_of_each_example() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        weights = dict(self.fc.named_parameters())
        loss = torch.func.grad(lambda w, row: functional_call(self.fc, w, (row,)).pow(2).sum())
        return torch.vmap(loss, in_dims=(None, 0))(weights, x)

    return body


@attack("third step")
def inner_steps_on_copied_weights() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        weights = dict(self.fc.named_parameters())
        for _ in range(2):
            slopes = torch.func.grad(lambda w: functional_call(self.fc, w, (x,)).pow(2).mean())(weights)
            weights = {name: weight - 0.1 * slopes[name] for name, weight in weights.items()}
        out: Tensor = functional_call(self.fc, weights, (x,))
        return out

    return body


@attack("third step")
def vmap_in_vmap_of_a_base() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        base = torch.zeros(3)
        return torch.vmap(lambda row: torch.vmap(lambda number: number + base.clone().view(3)[0])(row))(x)

    return body


@attack("third step")
def bias_for_a_lower_right_corner() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        from torch.nn.attention.bias import causal_lower_right

        q = self.fc(x).view(1, 1, 2, 3)
        return F.scaled_dot_product_attention(q, q, q, attn_mask=causal_lower_right(2, 2))

    return body


class _Refusing(dict):  # type: ignore[type-arg]
    def __len__(self) -> int:
        raise TypeError("ask nothing")

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("ask nothing")

    def __eq__(self, other: object) -> bool:
        raise TypeError("ask nothing")

    __hash__ = None

    def __bool__(self) -> bool:
        raise TypeError("ask nothing")


@attack("third step")
def a_dictionary_that_refuses_questions() -> Any:
    class Holds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.table = nn.Linear(3, 3), _Refusing(scale=2.0)

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.fc(x) * self.table["scale"]
            return found

    return Holds()


@attack("third step")
def a_refusing_dictionary_as_an_argument() -> Any:
    return Net(lambda self, table: self.fc(table["x"]), fc=nn.Linear(3, 3)), (_Refusing(x=X.clone()),)


@attack("third step")
def an_object_whose_truth_raises() -> Any:
    class Truthless:
        def __bool__(self) -> bool:
            raise ValueError("neither")

    class Holds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.fc, self.flag = nn.Linear(3, 3), Truthless()

        def forward(self, x: Tensor) -> Tensor:
            found: Tensor = self.fc(x) if self.flag is not None else x
            return found

    return Holds()


@attack("third step")
def two_buffers_swapped() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        torch.utils.swap_tensors(self.norm.running_mean, self.norm.running_var)  # type: ignore[no-untyped-call]
        out: Tensor = self.norm(self.fc(x))
        return out

    return body


@attack("third step")
def a_function_traced_and_called_twice() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        traced = torch.jit.trace(lambda y: y.relu() + 1, x)  # type: ignore[no-untyped-call]
        return traced(self.fc(x)) + traced(x)

    return body


@attack("third step")
def cond_with_layers_in_both_branches() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        return torch.cond(x.sum() > 0, lambda y: self.fc(y), lambda y: self.fc(y).relu(), (x,))

    return body


@attack("third step")
def cond_in_cond() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        def inner(y: Tensor) -> Any:
            return torch.cond(y.mean() > 0, torch.sin, torch.cos, (y,))

        return torch.cond(x.sum() > 0, inner, torch.neg, (self.fc(x),))

    return body


@attack("third step")
def slopes_read_after_backward() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        with torch.enable_grad():
            y = x.detach().clone().requires_grad_()
            self.fc(y).pow(2).sum().backward()
        assert y.grad is not None
        return x - 0.1 * y.grad

    return body


@attack("third step")
def slopes_of_the_weight_itself() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        with torch.enable_grad():
            (slope,) = torch.autograd.grad(self.fc(x).sum(), [self.fc.weight])
        return x @ slope

    return body


@attack("third step")
def a_new_parameter_of_a_weight() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        sharp = nn.Parameter(self.fc.weight * 2)
        return F.linear(x, sharp, self.fc.bias)

    return body


@attack("third step")
def a_layer_made_of_weights_in_the_forward() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        layer = nn.Linear(3, 3)
        layer.weight = nn.Parameter(self.fc.weight.t().contiguous())
        layer.bias = self.fc.bias
        return layer(x)

    return body


@attack("third step")
def functionalized_writes() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        def writes(y: Tensor) -> Tensor:
            z = y.clone()
            z[0].add_(1)
            z.view(-1)[::2].mul_(2)
            return z

        return torch.func.functionalize(writes)(self.fc(x))

    return body


@attack("third step")
def functionalized_under_vmap() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        return torch.vmap(torch.func.functionalize(lambda row: row.clone().add_(1).mul_(2)))(self.fc(x))

    return body


@attack("third step")
def pointers_that_are_compared() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        view = x.view(-1)
        return self.fc(x) if view.data_ptr() == x.data_ptr() else x

    return body


@attack("third step")
def numbers_in_texts() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        text = f"{x.sum():.3f} {x.max().item():e} {x!r}"
        return self.fc(x) * len(text)  # type: ignore[no-any-return]

    return body


@attack("third step")
def a_checkpoint_in_a_checkpoint() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        from torch.utils.checkpoint import checkpoint

        def inner(y: Tensor) -> Any:
            return checkpoint(self.fc, y, use_reentrant=False)

        return checkpoint(lambda y: inner(y).relu(), x, use_reentrant=False)

    return body


@attack("third step")
def a_function_with_its_own_jvp() -> Any:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(x: Tensor) -> Tensor:
            return x * 2

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            pass

        @staticmethod
        def backward(ctx: Any, slope: Tensor) -> Tensor:
            return slope * 2

        @staticmethod
        def jvp(ctx: Any, tangent: Tensor) -> Tensor:
            return tangent * 2

    return lambda self, x: torch.func.jvp(Doubled.apply, (x,), (self.fc(x),))


@attack("third step")
def a_function_that_writes_its_argument() -> Any:
    class Adds(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Tensor) -> Tensor:
            ctx.mark_dirty(x)
            return x.add_(1)

        @staticmethod
        def backward(ctx: Any, slope: Tensor) -> Tensor:
            return slope

    return lambda self, x: Adds.apply(self.fc(x).clone())  # type: ignore[no-untyped-call]


@attack("third step")
def tensors_written_through_numpy() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        seen = x.detach().clone()
        seen.numpy()[0] = 3.0
        return self.fc(seen)  # type: ignore[no-any-return]

    return body


@attack("third step")
def a_set_of_the_data_of_a_weight() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        self.fc.weight.data = self.fc.weight.data * 0.5
        return self.fc(x)  # type: ignore[no-any-return]

    return body


@attack("third step")
def a_weight_written_twice() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        with torch.no_grad():
            self.fc.weight.mul_(0.5).add_(self.fc.bias)
        return self.fc(x)  # type: ignore[no-any-return]

    return body


@attack("third step")
def a_deep_copy_of_a_layer_that_is_changed() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        layer = copy.deepcopy(self.fc)
        with torch.no_grad():
            layer.weight.copy_(self.fc.weight.t())
        return layer(x) + self.fc(x)

    return body


@attack("third step")
def results_in_a_weak_dictionary() -> Any:
    def body(self: Any, x: Tensor) -> Tensor:
        known: weakref.WeakValueDictionary[str, Tensor] = weakref.WeakValueDictionary()
        out: Tensor = self.fc(x)
        known["out"] = out
        return known["out"] + 1

    return body


@attack("third step")
def a_hook_that_changes_what_a_layer_gives() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        handle = self.fc.register_forward_hook(lambda module, args, out: out.sin())
        try:
            return self.fc(x)
        finally:
            handle.remove()

    return body


# What torch got lately, written before any of it was run.


@attack("newer")
def attention_with_a_score_of_the_users() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        q = self.fc(x)[None, None].detach()  # on the CPU it gives no gradients
        slope = self.fc.bias[0].detach()
        out = flex_attention(q, q, q, score_mod=lambda score, b, h, i, j: score + slope * (i - j))
        return out[0, 0]

    return body


@attack("newer")
def ragged_rows_through_layers() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        rows = torch.nested.nested_tensor_from_jagged(x.flatten()[:, None] * self.fc.weight[0], torch.tensor([0, 4, 6]))
        return self.fc(rows).relu().to_padded_tensor(0.0).sum(1)

    return body


@torch.library.custom_op("recorder_attacks::doubled", mutates_args=())
def doubled(x: Tensor) -> Tensor:
    return x * 2


@torch.library.custom_op("recorder_attacks::raise_by", mutates_args={"x"})
def raise_by(x: Tensor, y: Tensor) -> None:
    x.add_(y)


doubled.register_fake(torch.empty_like)
doubled.register_autograd(lambda ctx, grad: grad * 2)


@attack("newer")
def operators_of_the_users_that_give_and_that_write() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        out = doubled(self.fc(x))
        written = torch.zeros_like(x)
        raise_by(written, out.detach())
        return out, written * 3

    return body


@functools.cache
def exported() -> nn.Module:  # not held by the model: `eval` of a program raises
    return torch.export.export(nn.Sequential(nn.Linear(3, 3), nn.Tanh()), (X,)).module()


@attack("newer")
def an_exported_program_between_layers() -> Any:
    return lambda self, x: exported()(self.fc(x)) + x


@attack("newer")
def a_compiled_layer() -> Any:
    net = Net(lambda self, x: self.compiled(x) + x, compiled=nn.Linear(3, 3))
    net.compiled = torch.compile(net.compiled, backend="eager")
    return net


class Amount(Tensor):
    """Has signs of its own, which do not end in those of tensors alone."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = super().__torch_function__(func, types, args, kwargs or {})  # type: ignore[no-untyped-call]
        return out.as_subclass(Tensor) if func is Tensor.sum else out

    def __add__(self, other: Any) -> Any:
        return super().__add__(other).clamp(min=0)

    def __matmul__(self, other: Any) -> Any:
        return super().__matmul__(other.t())


@attack("newer")
def signs_of_a_class() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        amount = self.fc(x).as_subclass(Amount)
        return ((amount + x) @ x).as_subclass(Tensor), amount.sum()

    return body


@contextlib.contextmanager
def scaled_by(x: Tensor, factor: Tensor) -> Iterator[Tensor]:
    inside = x * factor
    yield inside
    inside.div_(factor + 2)


@attack("newer")
def blocks_and_generators_that_yield() -> Any:
    def halves(x: Tensor) -> Generator[Tensor, Tensor | None, None]:
        for _ in range(2):
            got = yield x
            x = x / 2 if got is None else x + got

    def body(self: Any, x: Tensor) -> Any:
        with scaled_by(self.fc(x).detach(), x.mean()) as inside:
            early = inside.sin()
        steps = halves(x)
        next(steps)
        return early + inside, steps.send(early)

    return body


@attack("newer")
def casts_that_are_switched_off_inside() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        with torch.autocast("cpu", torch.bfloat16):
            low = self.fc(x)
            with torch.autocast("cpu", enabled=False):
                full = self.fc(low.float())
            return low.float() @ full.t() + torch.nn.functional.layer_norm(full, (3,))[:, :2]

    return body


@attack("newer")
def hooks_that_take_the_place_of_arguments() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        before = self.fc.register_forward_pre_hook(
            lambda m, args, kwargs: ((), {"input": args[0] * 2}), with_kwargs=True
        )
        after = self.fc.register_forward_hook(
            lambda m, args, kwargs, out: {"y": out, "x": kwargs["input"]}, with_kwargs=True
        )
        try:
            found = self.fc(x)
            return found["y"] - found["x"]
        finally:
            before.remove()
            after.remove()

    return body


@attack("newer")
def many_layers_as_one_by_vmap() -> Any:
    def body(self: Any, x: Tensor) -> Any:
        weights, buffers = torch.func.stack_module_state([self.fc, copy.deepcopy(self.fc)])
        run = torch.func.vmap(lambda w, b: functional_call(self.fc, (w, b), (x,)), randomness="different")
        return run(weights, buffers).mean(0)

    return body
