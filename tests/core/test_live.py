"""`torchrecorder.draw`: a live model in, a diagram out."""

from __future__ import annotations

import json
import pickle
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import torch
from IPython.core.interactiveshell import InteractiveShell
from torch import Tensor, nn

import torchrecorder
from torchrecorder.drawing import StyledNode
from torchrecorder.errors import EngineNotFound, ForwardError, InputError, OptionError, StylerError, TargetNotFound
from torchrecorder.graph import from_json


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(3, 4)
        self.head = nn.Sequential(nn.ReLU(), nn.Linear(4, 2))

    def forward(self, x: Tensor, scale: Tensor | None = None) -> Tensor:
        out: Tensor = self.head(self.fc(x))
        return out if scale is None else out * scale


def words(svg: str) -> set[str]:
    return {text for element in ElementTree.fromstring(svg).iter() for text in (element.text or "").split("\n")}


def test_draws_from_shapes() -> None:
    diagram = torchrecorder.draw(Net(), shape=(1, 3), depth=2)
    assert {"fc", "head", "x"} <= words(diagram.svg)
    assert diagram.graph.modules["head.1"].cls == "torch.nn.modules.linear.Linear"
    assert "Linear 4→2" in diagram.text
    assert diagram.facts["parameters"] == "26"
    assert diagram.facts["input"] == "x N×3"
    assert min(diagram.size) > 0


@pytest.mark.parametrize(
    "given",
    [
        {"shape": "1,3; scale=1,1"},
        {"shape": [(1, 3), (1, 1)]},
        {"inputs": (torch.ones(1, 3), torch.ones(1, 1))},
        {"inputs": ((torch.ones(1, 3),), {"scale": torch.ones(1, 1)})},
        {"inputs": {"x": torch.ones(1, 3), "scale": torch.ones(1, 1)}},
    ],
    ids=str,
)
def test_inputs_in_each_form(given: dict[str, object]) -> None:
    diagram = torchrecorder.draw(Net(), **given)  # type: ignore[arg-type]
    assert set(diagram.graph.inputs) == {"x", "scale"}
    assert "mul" in {op.name for op in diagram.graph.ops}


X, SCALE = torch.ones(1, 3), torch.ones(1, 1)
TYPED = {
    "x": ((X,), {}, {"x"}),
    "x, scale": ((X, SCALE), {}, {"x", "scale"}),
    "x, scale=scale": ((X,), {"scale": SCALE}, {"x", "scale"}),
    "x=x": ((), {"x": X}, {"x"}),
    "(1, 3)": (((1, 3),), {}, {"x"}),
    "(1, 3), (1, 1)": (((1, 3), (1, 1)), {}, {"x", "scale"}),
    "[(1, 3), (1, 1)]": (([(1, 3), (1, 1)],), {}, {"x", "scale"}),
    "x.shape": ((X.shape,), {}, {"x"}),
    "'1,3'": (("1,3",), {}, {"x"}),
    "(1, 3), scale=scale": (((1, 3),), {"scale": SCALE}, {"x", "scale"}),
    "shape=(1, 3), scale=scale": ((), {"shape": (1, 3), "scale": SCALE}, {"x", "scale"}),
    "inputs=x, scale=scale": ((), {"inputs": X, "scale": SCALE}, {"x", "scale"}),
}


@pytest.mark.parametrize("typed", TYPED)
def test_inputs_as_people_type_them(typed: str) -> None:
    args, kwargs, inputs = TYPED[typed]
    assert set(torchrecorder.draw(Net(), *args, **kwargs).graph.inputs) == inputs  # type: ignore[arg-type]


@pytest.mark.parametrize("net", [Net, f"{__name__}.Net", f"{__name__}.Net()"])
def test_a_class_and_a_name_are_built(net: object) -> None:
    sys.modules.setdefault(__name__, sys.modules[Net.__module__])
    assert torchrecorder.draw(net, X).facts["parameters"] == "26"  # type: ignore[arg-type]


class Wide(nn.Linear):
    def __init__(self, width: int) -> None:
        super().__init__(3, width)


@pytest.mark.parametrize(
    ("args", "kwargs", "told"),
    [
        ((Wide, X), {}, r"write draw\(Wide\(width=…\)\)"),
        ((Net(), 1, 3), {}, r"write draw\(net, \(1, 3,\)\)"),
        (
            (Net(), X),
            {"dept": 2},
            "dept is neither an option nor an argument of the forward of Net; did you mean depth?",
        ),
        ((Net(), X), {"mask": 2}, "the forward takes x, scale"),
        ((Net(),), {"input_size": (1, 3)}, "did you mean shape?"),
        ((Net(),), {"filename": "net.svg"}, r"write draw\(net, x\)\.save\('net.svg'\)"),
        ((Net(), "1,3", "net.svg"), {}, r"'net.svg' is not a shape; write draw\(net, x\)"),
        ((Net(), X), {"caption": "Net"}, "caption is .*; it is an option of pages"),
        ((Net(), X), {"shape": (1, 3)}, "what follows the model and shape both say"),
        ((Net(), X), {"show": "flop"}, "flop"),
    ],
)
def test_what_is_not_understood_is_answered(args: tuple[Any, ...], kwargs: dict[str, Any], told: str) -> None:
    with pytest.raises(OptionError, match=told):
        torchrecorder.draw(*args, **kwargs)


@pytest.mark.parametrize("net", [X, None, Net().forward, Net().state_dict()], ids=["tensor", "none", "method", "dict"])
def test_what_is_no_model_is_answered(net: Any) -> None:
    with pytest.raises(TypeError, match=r"draw\(net, x\) takes the model first"):
        torchrecorder.draw(net)


@pytest.mark.parametrize("given", [(X,), [X], {"x": X}], ids=["tuple", "list", "dict"])
def test_arguments_in_one_are_answered_where_the_forward_refuses_them(given: Any) -> None:
    with pytest.raises(ForwardError, match=r"was given as one argument; draw\(net, \*+\w+\)"):
        torchrecorder.draw(Net(), given)


def test_a_shape_is_not_taken_for_arguments_in_one() -> None:
    with pytest.raises(ForwardError) as caught:
        torchrecorder.draw(Net(), (1, 99))
    assert "was given as one argument" not in str(caught.value)


def test_a_shape_given_to_capture_is_answered() -> None:
    with pytest.raises(ForwardError, match=r"of inputs of that shape it is draw\(net, \(1, 3, 5\)\)\.graph"):
        torchrecorder.capture(Net(), (1, 3, 5))


def test_a_layer_in_the_place_of_a_model_is_answered() -> None:
    sys.modules.setdefault(__name__, sys.modules[Net.__module__])
    with pytest.raises(TargetNotFound, match="has no 'fc'") as caught:
        torchrecorder.draw(f"{__name__}.Net.fc")
    assert "with the option `focus`: fc" in str(caught.value)


def test_a_list_may_be_one_word() -> None:
    assert "FLOPs" in torchrecorder.draw(Net(), X, show="flops", depth=2).svg
    assert torchrecorder.capture(Net(), X) == torchrecorder.capture(Net(), (X,))


def test_one_line_says_what_it_is() -> None:
    diagram = torchrecorder.draw(Net(), X)
    assert re.fullmatch(r"<Diagram of Net: \d+ × \d+ px>", repr(diagram))
    assert repr(diagram.graph) == "<Graph of Net: 5 calls, 3 ops, 26 parameters>"


def test_a_failed_forward_brings_its_picture() -> None:
    with pytest.raises(ForwardError) as caught:
        torchrecorder.draw(Net(), torch.ones(1, 5))
    assert isinstance(caught.value.diagram, torchrecorder.Diagram)
    assert "fc" in caught.value.diagram.text
    assert pickle.loads(pickle.dumps(caught.value)).cause == caught.value.cause


def test_a_notebook_shows_it_above_the_traceback() -> None:
    shell: Any = InteractiveShell.instance()
    shown: list[object] = []
    shell.display_pub.publish = lambda data, **_: shown.append(data)
    shell.user_ns.update(net=Net(), torch=torch, torchrecorder=torchrecorder)
    result = shell.run_cell("torchrecorder.draw(net, torch.ones(1, 5))")
    assert isinstance(result.error_in_exec, ForwardError)
    shell._format_exception_for_storage(result.error_in_exec)  # the kernel stores it, too
    (picture,) = shown
    assert "image/svg+xml" in str(picture)
    said = "\n".join(result.error_in_exec._render_traceback_())
    assert "torchrecorder.draw(net, torch.ones(1, 5))" in said
    assert "self.head(self.fc(x))" in said
    assert said.endswith(str(result.error_in_exec))
    assert not [line for line in said.splitlines() if "torchrecorder/" in line or "IPython/" in line]
    assert len(said.splitlines()) < 15


def test_a_forgotten_batch_is_named() -> None:
    net = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))
    for given in (((3, 8, 8),), ((3, 8, 8), (3, 8, 8))):
        with pytest.raises(ForwardError) as caught:
            torchrecorder.draw(net, *given)
        assert ("is the batch missing? With it the forward runs: `shape: 1,3,8,8`" in str(caught.value)) is (
            len(given) == 1
        )


def test_one_tensor_is_one_argument() -> None:
    assert set(torchrecorder.draw(Net(), inputs=torch.ones(5, 3)).graph.inputs) == {"x"}


@pytest.mark.filterwarnings("ignore")  # of torch's export
def test_an_exported_program_is_drawn_as_its_model() -> None:
    program = torch.export.export(Net().eval(), (torch.ones(2, 3),))
    diagram = torchrecorder.draw(program, depth=2)
    assert {"fc", "head", "head.1"} <= {call.module for call in diagram.graph.calls}
    assert diagram.graph.modules[""].cls == f"{__name__}.Net"


def test_depth_changes_the_picture_only() -> None:
    net = Net()
    shallow, deep = (torchrecorder.draw(net, shape=(1, 3), depth=depth) for depth in (1, 2))
    assert "Linear 4→2" not in words(shallow.svg)
    assert "Linear 4→2" in words(deep.svg)
    assert shallow.graph == deep.graph


def test_the_model_is_left_as_it_was() -> None:
    net = Net().train()
    before = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    state = torch.get_rng_state()
    torchrecorder.draw(net, shape=(2, 3))
    assert net.training
    assert net.head.training
    assert not net._forward_hooks
    assert torch.equal(torch.get_rng_state(), state)
    assert all(torch.equal(tensor, before[name]) for name, tensor in net.state_dict().items())


def test_saves_by_the_ending_of_the_name(tmp_path: Path) -> None:
    diagram = torchrecorder.draw(Net(), shape=(1, 3))
    for name in ("net.svg", "net.txt", "NET.JSON", "net.dot", "net.pdf", "net.html", "net.mmd"):
        diagram.save(tmp_path / name)
    svg = (tmp_path / "net.svg").read_text(encoding="utf-8")
    assert "currentColor" not in svg
    assert "var(" not in svg
    assert "fc" in words(svg)
    assert (tmp_path / "net.txt").read_text(encoding="utf-8").rstrip("\n") == diagram.text
    assert from_json((tmp_path / "NET.JSON").read_bytes()) == diagram.graph
    with pytest.raises(
        OptionError, match=r"cannot write 'net\.gif': the ending .gif. is not a type of file; there are svg"
    ):
        diagram.save(tmp_path / "net.gif")


def test_the_graph_is_plain_data() -> None:
    graph = torchrecorder.capture(Net(), (torch.ones(1, 3),))
    assert isinstance(graph, torchrecorder.Graph)
    assert json.dumps([op.name for op in graph.ops]) == '["linear", "relu", "linear"]'
    assert torchrecorder.capture(Net(), (), {"x": torch.ones(1, 3)}).inputs == graph.inputs


def test_wrong_options() -> None:
    with pytest.raises(OptionError, match="shape and inputs both"):
        torchrecorder.draw(Net(), shape=(1, 3), inputs=torch.ones(1, 3))
    with pytest.raises(OptionError, match="shape: 'a' in '1,a' is not a valid size"):
        torchrecorder.draw(Net(), shape="1,a")
    with pytest.raises(OptionError, match="depth: '-1' is not a valid depth"):
        torchrecorder.draw(Net(), shape=(1, 3), depth=-1)
    with pytest.raises(OptionError, match="did you mean head"):
        torchrecorder.draw(Net(), shape=(1, 3), focus="heat")
    with pytest.raises(EngineNotFound):
        torchrecorder.draw(Net(), shape=(1, 3), engine="no-such-program")


WRONG = {
    "run='reel'": ("run", "'reel' is none of auto, real, fake, meta; did you mean real?"),
    "mode='evaluate'": ("mode", "'evaluate' is none of eval, train; did you mean eval?"),
    "recorder='old'": ("recorder", "'old' is none of modern, classic"),
    "recorder='clasic'": ("recorder", "'clasic' is none of modern, classic; did you mean classic?"),
    "seed='a'": ("seed", "'a' is not a whole number"),
    "seed=1.5": ("seed", "'1.5' is not a whole number"),
    "seed=-1": ("seed", "'-1' is not a whole number"),
    "run=None": ("run", "'' is none of auto, real, fake, meta"),
    "mode=True": ("mode", "'true' is none of eval, train"),
}
OF_A_PICTURE = {
    "width='3.2.5in'": ("width", "'3.2.5in' is not a valid width"),
    "width=3.25": ("width", "a file has no page around it, so '3.25' is not a width; write 3.25in or 8cm"),
    "width='3.25em'": ("width", "a file has no page around it"),
    "width=[]": ("width", "'' is not a valid width"),
    "grey='perhaps'": ("grey", "'perhaps' is neither yes nor no"),
    "depth=True": ("depth", "'true' is not a valid depth"),
}


@pytest.mark.parametrize("written", WRONG | OF_A_PICTURE)
def test_a_wrong_value_is_an_error_of_its_option(written: str) -> None:
    """By the readers of directives and flags, in `capture` as in `draw`."""
    name, text = (WRONG | OF_A_PICTURE)[written]
    given = eval(f"dict({written})")
    calls: list[Callable[[], object]] = [lambda: torchrecorder.draw(nn.Linear(3, 4), torch.zeros(1, 3), **given)]
    if written.startswith("recorder"):  # of a picture it is an option of pages
        calls = []
    if written in WRONG:
        calls.append(lambda: torchrecorder.capture(nn.Linear(3, 4), (torch.zeros(1, 3),), **given))
    for call in calls:
        with pytest.raises(OptionError) as raised:
            call()
        assert f"{name}: {text}".removeprefix(": ") in str(raised.value)


def test_all_wrong_values_are_said_at_once() -> None:
    with pytest.raises(OptionError) as raised:
        torchrecorder.draw(nn.Linear(3, 4), torch.zeros(1, 3), run="reel", mode="evaluate", width="3.2.5in", depth="x")  # type: ignore[arg-type]
    assert [problem.partition(":")[0] for problem in raised.value.problems] == ["mode", "run", "depth", "width"]
    with pytest.raises(OptionError) as raised:
        torchrecorder.draw(nn.Linear(3, 4), torch.zeros(1, 3), mode="evaluate", width="80%")  # type: ignore[arg-type]
    assert [problem.partition(":")[0] for problem in raised.value.problems] == ["mode", "width"]


def test_a_wrong_shape_names_the_layer() -> None:
    with pytest.raises(ForwardError, match=r"in layer fc \(Linear\)") as caught:
        torchrecorder.draw(Net(), shape=(1, 5))
    assert caught.value.graph is not None


def test_no_inputs_at_all() -> None:
    class Takes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise ValueError("never")

    with pytest.raises(InputError, match="`shape: x=1,3,64,64`"):
        torchrecorder.draw(Takes())


def test_a_styler_of_ones_own() -> None:
    class Orange:
        def style_node(self, node: StyledNode) -> dict[str, object]:
            return {"fillcolor": "orange"} if node.path == "fc" else {}

    for styler in (Orange, Orange()):
        assert torchrecorder.draw(Net(), shape=(1, 3), depth=2, styler=styler).svg.count('fill="#ffa500"') == 1


def test_a_styler_that_is_wrong() -> None:
    class Wrong:
        def style_node(self, node: StyledNode) -> dict[str, object]:
            return {"colour": "orange"}

    with pytest.raises(StylerError, match=r"Wrong: style_node for .* gave the attribute 'colour', did you mean color"):
        torchrecorder.draw(Net(), shape=(1, 3), styler=Wrong)
