"""What must not vanish from a picture, what is no part of it, and what a note says where something is lost."""

from __future__ import annotations

import copy
import io
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from torch import Tensor, nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

from tests.core.recording.nets import Net, edges, record
from tests.core.view.seeing import shown
from tests.core.write.safe import is_safe
from torchrecorder.drawing.draw import DrawJob, draw
from torchrecorder.drawing.model import Drawing
from torchrecorder.engine import find_engine
from torchrecorder.recording.code_info import Statement
from torchrecorder.request import DrawingOptions
from torchrecorder.view import make_view
from torchrecorder.write.look import DECIDES

X = torch.ones(2, 3)


class OwnDropout(nn.Dropout):
    pass


@pytest.mark.parametrize("layer", [Net(lambda self, x: x), OwnDropout(0.5)], ids=["identity", "dropout"])
def test_a_layer_of_the_users_that_does_nothing_is_drawn(layer: nn.Module) -> None:
    graph = record(Net(lambda self, x: self.layer(self.fc(x)), fc=nn.Linear(3, 3), layer=layer), X)
    view = make_view(graph, DrawingOptions(depth="all"))
    assert shown(view) == ["input:args.0", "fc", "layer", "output:"]


def test_a_container_that_a_layer_gives_back_stays_the_callers() -> None:
    def body(self: Any, x: Tensor) -> Any:
        given = {"x": x}
        assert self.same(given) is given
        return given["x"] + 1

    assert [op.name for op in record(Net(body, same=Net(lambda self, given: given)), X).ops] == ["add"]


class TestOwnHooks:
    def hooked(self, hook: Any) -> nn.Module:
        inner = Net(lambda self, x: x + 1)
        inner.register_forward_hook(hook)
        return Net(lambda self, x: self.inner(x) * 2, inner=inner)

    def test_the_call_gives_what_its_hook_made_of_the_result(self) -> None:
        graph = record(self.hooked(lambda module, args, out: torch.relu(out)), X)
        assert [(op.name, graph.calls[op.call].module) for op in graph.ops] == [
            *[("add", "inner"), ("relu", "inner"), ("mul", "")]
        ]
        assert graph.calls[1].outputs == {"": graph.ops[1].outputs[0]}

    def test_a_hook_that_raises_ends_its_call(self) -> None:
        def refuses(module: nn.Module, args: Any, out: Tensor) -> None:
            raise ValueError("no")

        def body(self: Any, x: Tensor) -> Any:
            try:
                self.net(x)
            except ValueError:
                return torch.relu(x)

        graph = record(Net(body, net=self.hooked(refuses)), X)
        assert [(call.module, call.ok) for call in graph.calls] == [("", True), ("net", False), ("net.inner", False)]
        assert graph.calls[graph.ops[-1].call].module == ""

    def test_nothing_is_left_on_the_module(self) -> None:
        model = self.hooked(lambda module, args, out: None)
        inner: Any = model.inner
        (hook,) = inner._forward_hooks
        record(model, X)
        assert [*inner._forward_hooks] == [hook]
        assert not inner._forward_hooks_always_called
        assert not inner._forward_hooks_with_kwargs


def branches(self: Any, x: Tensor) -> Any:
    y = self.fc(x)
    if (y < 9).any():
        return y + 1
    return y - 1


def halves(self: Any, x: Tensor) -> Tensor:
    while x.norm() > 0.1:
        x = x / 2
    return x


def compares(self: Any, x: Tensor) -> Tensor:
    y = self.fc(x)
    return y if torch.equal(x, y) and torch.allclose(x, y) else torch.cos(y)


def in_an_if(x: Tensor) -> object:
    if x.sum().item() < 0:
        return 1
    return x


def in_a_function(x: Tensor) -> object:
    while abs(float(x.sum())) > 1e9:
        x = x / 2
    return x


def in_an_expression(x: Tensor) -> object:
    return [1 if int(x.sum()) > 3 else 2, x]


def in_a_filter(x: Tensor) -> object:
    return [i for i in range(3) if x.sum().item() > i]


def in_an_and(x: Tensor) -> object:
    return x.sum().item() > 3 and x.ndim > 9


def in_a_match(x: Tensor) -> object:
    match x.sum().item():
        case 1:
            return x
    return 2


def after_a_condition(x: Tensor) -> object:
    if x.ndim:
        return x.sum().item() * 2
    return x


def among_the_results(x: Tensor) -> object:
    return x.sum().item() if x.ndim else x


def in_an_assertion(x: Tensor) -> object:
    assert x.sum().item() < 1e9
    return x


NUMBERS: dict[Callable[[Tensor], object], str] = {
    in_an_if: "if x.sum().item() < 0:",
    in_a_function: "while abs(float(x.sum())) > 1e9:",
    in_an_expression: "return [1 if int(x.sum()) > 3 else 2, x]",
    in_a_filter: "return [i for i in range(3) if x.sum().item() > i]",
    in_an_and: "return x.sum().item() > 3 and x.ndim > 9",
    in_a_match: "match x.sum().item():",
}
"""What decides by a number of a tensor, with the text of the note."""
NO_CONDITIONS: tuple[Callable[[Tensor], object], ...] = (after_a_condition, among_the_results, in_an_assertion)


class TestDecisions:
    @pytest.mark.parametrize(
        ("body", "line", "asked"),
        [(branches, "if (y < 9).any():", "any"), (halves, "while x.norm() > 0.1:", "gt")],
        ids=["if", "while"],
    )
    def test_a_branch_that_was_taken_is_noted_once(self, body: Any, line: str, asked: str) -> None:
        graph = record(Net(body, fc=nn.Linear(3, 3)), X)
        (note,) = graph.info.notes
        source = f"test_quiet.py:{body.__code__.co_firstlineno + (2 if body is branches else 1)}"
        assert note == f"one branch of `{line}` was taken, recording/{source}" or note.endswith(source)
        (decision,) = graph.decisions
        assert (decision.text, decision.source) == (line, note.rpartition(" ")[2])
        assert len(decision.values) == len([op for op in graph.ops if op.name == asked])

    def test_a_condition_of_several_lines_is_told_whole(self) -> None:
        def body(self: Any, x: Tensor) -> Tensor:
            if x is not None:
                x = x + 1
            elif (
                x.any()  # pragma: no cover
            ):
                x = x + 3
            while (
                x.sum() < 20
                and x.all()
            ):  # fmt: skip
                x = x + 2
            return x

        assert [decision.text for decision in record(Net(body), X).decisions] == ["while x.sum() < 20 and x.all():"]

    def test_the_view_marks_what_was_asked(self) -> None:
        view = make_view(record(Net(branches, fc=nn.Linear(3, 3)), X))
        assert shown(view) == ["input:args.0", "fc", "add", "output:"]
        assert [node.decides for node in view.nodes] == [False, True, False, False]

    def test_comparisons_are_decisions_too(self) -> None:
        graph = record(Net(compares, fc=nn.Linear(3, 3)), X)
        (note,) = graph.info.notes
        text = "return y if torch.equal(x, y) and torch.allclose(x, y) else torch.cos(y)"
        assert note.startswith(f"one branch of `{text}` was taken, ")
        assert [node.decides for node in make_view(graph).nodes] == [True, True, False, False]

    @pytest.mark.parametrize("decide", [*NUMBERS, *NO_CONDITIONS])
    def test_a_number_in_a_condition_decides(self, decide: Callable[[Tensor], object]) -> None:
        body = lambda self, x: (decide(self.fc(x)), torch.cos(x))  # noqa: E731 - a module needs one
        with torch.no_grad():
            graph = record(Net(body, fc=nn.Linear(3, 3)), X)
        text = NUMBERS.get(decide)
        assert len(graph.info.notes) == 1 + bool(text)
        assert graph.info.notes[0].startswith("values left PyTorch through ")
        if text:
            (decision,) = graph.decisions
            assert decision.text == text
            assert graph.info.notes[1] == f"one branch of `{text}` was taken, {decision.source}"
            assert decision.source.endswith(f"test_quiet.py:{decide.__code__.co_firstlineno + 1}")
            assert {graph.ops[graph.values[value].producer or 0].name for value in decision.values} == {"sum"}
        else:
            assert graph.decisions == ()

    def test_the_view_marks_a_number_that_decides(self) -> None:
        def body(self: Any, x: Tensor) -> Tensor:
            y: Tensor = self.fc(x)
            if y.sum().item() < 9:
                return y + 1
            return y - 1

        view = make_view(record(Net(body, fc=nn.Linear(3, 3)), X))
        assert [node.decides for node in view.nodes][:2] == [False, True]

    @pytest.mark.parametrize("asks", ["x.sum().item() > 0", "x.any()"])
    def test_without_source_no_branch_is_noted(self, asks: str) -> None:
        code = f"def forward(self, x):\n    if {asks}:\n        x = x + 1\n    return x\n"
        made: dict[str, Any] = {"__name__": "gone"}
        exec(compile(code, "/nets/gone.py", "exec"), made)
        layer: nn.Module = type("Layer", (nn.Module,), {"forward": made["forward"]})()
        assert record(layer, X).decisions == ()

    def test_without_columns_the_line_of_the_condition_decides(self) -> None:
        code = SimpleNamespace(co_positions=lambda: iter([(1, None, None, None)]))
        frame: Any = SimpleNamespace(f_code=code, f_lasti=0, f_lineno=1)
        statement = Statement("if x:", 1, (((1, 7), (1, 9)),))
        assert statement.decides_at(frame)
        assert not statement._replace(conditions=(((2, 0), (2, 9)),)).decides_at(frame)

    @pytest.mark.parametrize(
        "body",
        [
            lambda self, x: torch.distributions.Normal(x, torch.ones(3)).rsample(),
            lambda self, x: F.gaussian_nll_loss(x, x, x),
            lambda self, x: _asserted(x) + 1,
        ],
        ids=["distribution", "loss", "assert"],
    )
    def test_what_torch_asks_for_itself_is_not_noted(self, body: Any) -> None:
        graph = record(Net(body), X)
        assert (graph.info.notes, graph.decisions) == ((), ())


def _asserted(x: Tensor) -> Tensor:
    assert (x > 0).all()
    return x


def torch_layer() -> nn.Module:
    """A layer whose code lies in torch and takes a number out of a tensor."""
    made: dict[str, Any] = {}
    exec(compile("def forward(self, x): return x * x.sum().item()", nn.__file__, "exec"), made)
    layer: nn.Module = type("Layer", (nn.Module,), {**made, "__module__": "torch.nn.modules.layer"})()
    return layer


def test_what_leaves_inside_a_layer_of_torch_is_noted_where_the_user_called_it() -> None:
    body = lambda self, x: self.layer(x) + 1  # noqa: E731 - its line is asked for
    (note,) = record(Net(body, layer=torch_layer()), X).info.notes
    assert note.startswith("values left PyTorch through item() at ")
    assert note.endswith(f"test_quiet.py:{body.__code__.co_firstlineno}")


def test_what_leaves_where_no_line_is_the_users_is_noted_by_its_layer() -> None:
    assert record(nn.Sequential(nn.ReLU(), torch_layer()), X).info.notes == ("values left PyTorch through item() in 1",)
    assert record(torch_layer(), X).info.notes == ("values left PyTorch through item() in the forward",)


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
def test_a_mask_that_depends_on_data_is_one_op() -> None:
    def body(self: Any, q: Tensor, parts: Tensor) -> Any:
        mask = create_block_mask(lambda b, h, i, j: parts[i] == parts[j], None, None, 16, 16, device="cpu")
        return flex_attention(q, q, q, block_mask=mask)

    graph = record(Net(body), torch.ones(1, 2, 16, 8), torch.arange(16) // 4)
    mask, attention = graph.ops
    assert (mask.name, mask.inputs) == ("create_block_mask", (graph.inputs["args.1"],))
    assert attention.name == "flex_attention"
    assert {*mask.outputs} & {*attention.inputs}
    assert not [value for value in graph.values if value.kind == "const"]


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
def test_a_function_that_runs_one_op_only_is_recorded_as_that() -> None:
    (op,) = record(Net(lambda self, x: torch.nested.nested_tensor([[1.0], [2.0, 3.0]])), X).ops
    assert (op.name, op.inputs) == ("_nested_tensor_from_tensor_list", ())


def in_a_thread(self: Any, x: Tensor) -> Tensor:
    found: list[Tensor] = []
    thread = threading.Thread(target=lambda: found.append(torch.relu(x)))
    thread.start()
    thread.join()
    return found[0] * 2


def in_a_pool(self: Any, x: Tensor) -> Tensor:
    with ThreadPoolExecutor(1) as pool:
        return next(iter(pool.map(torch.relu, [x]))) * 2


def saves(self: Any, x: Tensor) -> Tensor:
    memory = io.BytesIO()
    torch.save(x + 1, memory)
    memory.seek(0)
    found: Tensor = torch.load(memory)
    return found * 2


class TestLineage:
    @pytest.mark.parametrize(("body", "line"), [(in_a_thread, 3), (in_a_pool, 2)], ids=["thread", "pool"])
    def test_operations_in_a_thread_are_noted(self, body: Any, line: int) -> None:
        was = threading.Thread.start, ThreadPoolExecutor.submit
        (note,) = record(Net(body), X).info.notes
        assert note.startswith("a thread was started at ")
        assert f"test_quiet.py:{body.__code__.co_firstlineno + line}: " in note
        assert (threading.Thread.start, ThreadPoolExecutor.submit) == was

    def test_a_thread_that_gives_nothing_is_not_noted(self) -> None:
        def body(self: Any, x: Tensor) -> Tensor:
            thread = threading.Thread(target=lambda: None)
            thread.start()
            thread.join()
            return x + 1

        assert record(Net(body), X).info.notes == ()

    def test_a_pickled_tensor_is_noted(self) -> None:
        (note,) = record(Net(saves), X).info.notes
        assert note.startswith("values left PyTorch through pickling, as torch.save does, at ")
        assert note.endswith(f"test_quiet.py:{saves.__code__.co_firstlineno + 2}")

    def test_a_copied_tensor_keeps_what_it_is_of(self) -> None:
        graph = record(Net(lambda self, x: copy.copy(x + 1) * 2), X)
        assert ("/add", "/mul") in edges(graph)
        assert graph.info.notes == ()

    def test_memory_that_is_copied_keeps_what_it_is_of(self) -> None:
        def body(self: Any, x: Tensor) -> Tensor:
            y = torch.empty_like(x)
            y.untyped_storage().copy_((x + 1).untyped_storage())
            return y * 2

        graph = record(Net(body), X)
        assert {("/add", "/copy_"), ("/copy_", "/mul")} <= edges(graph)

    @pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated")
    def test_a_derivative_forward_is_noted(self) -> None:
        body = lambda self, x: torch.func.jvp(torch.sin, (x,), (x * 2,))[1]  # noqa: E731 - its line is asked for
        graph = record(Net(body), X)
        (note,) = graph.info.notes
        assert f"test_quiet.py:{body.__code__.co_firstlineno} " in note
        assert ("/mul", "/make_dual") in edges(graph)


def test_weights_of_a_layer_that_the_forward_makes_stay_as_they_are() -> None:
    made: list[nn.Linear] = []

    def body(self: Any, x: Tensor) -> Tensor:
        made.append(nn.Linear(3, 3))
        nn.init.ones_(made[0].weight)
        result: Tensor = made[0](x)
        return result

    record(Net(body), X)
    assert torch.equal(made[0].weight, torch.ones(3, 3))


@pytest.mark.parametrize("theme", ["modern", "classic"])
def test_a_node_that_decides_has_a_rhomb(theme: Any) -> None:
    graph = record(Net(branches, fc=nn.Linear(3, 3)), X)
    plain = record(Net(lambda self, x: self.fc(x) + 1, fc=nn.Linear(3, 3)), X)
    jobs = [DrawJob(one, "a" * 64, DrawingOptions(theme=theme)) for one in (graph, plain)]
    marked, unmarked = draw(jobs, find_engine())
    assert isinstance(marked, Drawing)
    assert isinstance(unmarked, Drawing)
    assert (marked.svg.count(DECIDES), unmarked.svg.count(DECIDES)) == (1, 0)
    assert is_safe(marked.svg)
    assert marked.notes[: len(graph.info.notes)] == graph.info.notes
