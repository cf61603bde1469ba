"""What a picture shows: depth, leaves, contraction, ends, focus."""

from __future__ import annotations

from cProfile import Profile
from dataclasses import replace

import pytest

from tests.core.graph.building import DEEP, Net, chain, mlp, nested, residual_block, transformer
from tests.core.view.seeing import boxes, edges, reaches, shown
from torchrecorder.errors import OptionError
from torchrecorder.graph import Graph
from torchrecorder.request.options import Depth
from torchrecorder.request.requests import DrawingOptions
from torchrecorder.view import AUTO_NODES, make_view


class TestDepth:
    def test_0_is_the_model_as_one_node(self) -> None:
        view = make_view(residual_block(), DrawingOptions(depth=0))
        assert shown(view) == ["input:x", "", "output:"]
        assert edges(view) == ["input:x > ", " > output:"]
        assert not view.boxes

    def test_1_is_its_children_in_its_box(self) -> None:
        view = make_view(residual_block(), DrawingOptions(depth=1))
        assert shown(view)[1:-1] == ["conv1", "conv2", "down", "add"]
        assert boxes(view) == [""]

    def test_2_opens_the_children(self) -> None:
        view = make_view(residual_block(), DrawingOptions(depth="all"))
        assert shown(view)[1:-1] == ["conv1", "bn1", "relu", "conv2", "bn2", "down.0", "down.1", "add", "relu"]
        assert boxes(view) == ["", "down"]
        assert [node.box for node in view.nodes if node.kind == "call"][5:7] == [1, 1]

    def test_all_is_the_depth_at_which_nothing_more_opens(self) -> None:
        graph = transformer()
        assert make_view(graph, DrawingOptions(depth="all")).depth == 3
        assert make_view(graph, DrawingOptions(depth=99)) == make_view(graph, DrawingOptions(depth=3))

    def test_auto_without_folding_is_the_deepest_that_is_small(self) -> None:
        graph = transformer()
        assert len(make_view(graph, DrawingOptions(fold=False)).nodes) <= AUTO_NODES
        assert make_view(graph, DrawingOptions(fold=False)).depth == 1

    def test_auto_is_at_least_1(self) -> None:
        assert make_view(chain(100)).depth == 1

    def test_a_leaf_of_torch_is_one_node_at_every_depth(self) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        with net.call("attn", "MultiheadAttention"):
            x = net.op("matmul", net.op("softmax", x), x)
        for depth in (1, 5):
            assert shown(make_view(net.graph(x), DrawingOptions(depth=depth))) == ["input:x", "attn", "output:"]

    def test_a_box_around_one_op_is_a_node(self) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        with net.call("swish", "Swish"):
            x = net.op("silu", net.op("view", x))
        assert shown(make_view(net.graph(x), DrawingOptions(depth="all"))) == ["input:x", "swish", "output:"]

    @pytest.mark.parametrize("depth", ["auto", "all"])
    def test_layers_that_control_flow_runs_are_drawn_in_its_box(self, depth: Depth) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        with net.function("cond"):
            x = net.layer("b", "Linear", net.layer("a", "Linear", x, params=20), params=20)
        view = make_view(net.graph(x), DrawingOptions(depth=depth))
        assert shown(view) == ["input:x", "a", "b", "output:"]
        assert boxes(view) == ["", "cond"]

    def test_a_function_without_layers_is_one_node(self) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        with net.function("Clamped"):
            x = net.op("tanh", net.op("exp", x))
        assert shown(make_view(net.graph(x), DrawingOptions(depth="all"))) == ["input:x", "Clamped", "output:"]

    def test_a_formula_is_a_node_unless_all_is_asked_for(self) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        with net.call("norm", "RMSNorm"):
            x = net.op("mul", x, net.op("rsqrt", net.op("mean", net.op("pow", x))))
        graph = net.graph(x)
        assert shown(make_view(graph, DrawingOptions(depth=9))) == ["input:x", "norm", "output:"]
        assert "rsqrt" in shown(make_view(graph, DrawingOptions(depth="all")))
        assert "rsqrt" in shown(make_view(graph, DrawingOptions(depth=1, expand=("norm",))))


class TestContraction:
    def graph(self) -> Graph:
        net = Net()
        x = net.input("x", 2, 4)
        y = net.op("transpose", net.op("view", net.op("sin", x), shape=(4, 2)), shape=(2, 4))
        y = net.op("getitem", y, shape=(2, 1, 4), attrs={"1": "(:, None, ...)"})
        return net.graph(net.op("getitem", net.op("cos", y), shape=(1, 4), attrs={"1": "(:, 0)"}))

    def test_changes_of_shape_are_edges(self) -> None:
        view = make_view(self.graph())
        assert edges(view) == ["input:x > sin", "sin > cos", "cos > getitem", "getitem > output:"]
        assert [view.graph.values[e.value].meta.shape for e in view.edges] == [(2, 4), (2, 1, 4), (2, 1, 4), (1, 4)]  # type: ignore[union-attr]

    def test_can_be_switched_off(self) -> None:
        assert shown(make_view(self.graph(), contract=False))[1:4] == ["sin", "view", "transpose"]

    def test_a_layer_that_changes_the_shape_stays(self) -> None:
        net = Net()
        x = net.layer("flat", "Flatten", net.input("x", 1, 2, 2), (1, 4))
        assert "flat" in shown(make_view(net.graph(x)))

    def test_layers_that_do_nothing_are_left_out(self) -> None:
        net = Net()
        x = net.layer("id", "Identity", net.op("sin", net.input("x", 1)))
        x = net.layer("drop", "Dropout", net.op("cos", x), said="p=0.0, inplace=False")
        assert shown(make_view(net.graph(net.op("tan", x)))) == ["input:x", "sin", "cos", "tan", "output:"]

    def test_joining_with_nothing_is_left_out(self) -> None:
        net = Net()
        x = net.op("sin", net.input("x", 1, 4))
        empty = net.op("tensor", shape=(0,))
        x = net.op("cat", empty, x, shape=(1, 4))
        assert shown(make_view(net.graph(net.op("cos", x)))) == ["input:x", "sin", "cos", "output:"]

    def test_joining_with_a_piece_of_no_elements_is_left_out(self) -> None:
        net = Net()
        x = net.op("sin", net.input("x", 1, 4))
        none = net.op("getitem", x, shape=(1, 0), attrs={"1": "(:, :0)"})
        x = net.op("cat", none, net.op("tan", x), shape=(1, 4))
        assert shown(make_view(net.graph(net.op("cos", x)))) == ["input:x", "sin", "tan", "cos", "output:"]


class TestEnds:
    def test_an_unused_input_is_a_note(self) -> None:
        net = Net()
        x = net.input("x", 1)
        net.input("mask", 1)
        view = make_view(net.graph(net.op("sin", x)))
        assert shown(view) == ["input:x", "sin", "output:"]
        assert view.notes == ("the forward does not use mask",)

    def test_an_input_whose_numbers_left_pytorch_is_not_said_to_be_unused(self) -> None:
        net = Net()
        x = net.input("x", 1)
        net.input("lengths", 1)
        graph = net.graph(net.op("sin", x))
        note = "values left PyTorch through tolist() at net.py:3"
        view = make_view(replace(graph, info=replace(graph.info, notes=(note,))))
        assert view.notes[-1].startswith("no operation reads lengths; ")

    def test_a_model_that_gives_back_its_input(self) -> None:
        net = Net()
        view = make_view(net.graph(net.input("x", 1)))
        assert edges(view) == ["input:x > ", " > output:"]

    def test_a_loose_parameter_is_a_node_and_a_weight_is_not(self) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        x = net.op("linear", x, net.weight("w", 4, 4))
        x = net.op("add", x, net.weight("pos", 1, 4))
        assert edges(make_view(net.graph(x), DrawingOptions(depth="all"))) == [
            "input:x > linear",
            "param:pos > add",
            "linear > add",
            "add > output:",
        ]

    def test_what_only_constants_make_is_one_node(self) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        mask = net.op("triu", net.op("ones", shape=(4, 4)))
        view = make_view(net.graph(net.op("masked_fill", x, mask)), DrawingOptions(depth="all"))
        assert shown(view) == ["input:x", "const:", "masked_fill", "output:"]
        assert "ones" in shown(make_view(net.graph(net.op("masked_fill", x, mask)), contract=False))

    @pytest.mark.parametrize("depth", [1, "all"])
    def test_a_box_of_nothing_but_constants_is_not_drawn(self, depth: Depth) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        with net.call("rotary", "Rotary"):
            net.op("sin", angle := net.op("arange", shape=(1, 4)))
        x = net.op("mul", net.layer("fc", "Linear", x, params=4), net.op("cos", angle))
        view = make_view(net.graph(x), DrawingOptions(depth=depth))
        assert {box.id for box in view.boxes} == {node.box for node in view.nodes} - {None}

    def test_a_constant_read_by_many_is_drawn_beside_each(self) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        mask = net.op("ones", shape=(1, 4))
        for _ in range(5):
            x = net.op("masked_fill", x, mask)
        assert shown(make_view(net.graph(x), DrawingOptions(depth="all"))).count("const:") == 5

    def test_many_outputs_are_one_node(self) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        outs = [x := net.op("sin", x) for _ in range(12)]
        view = make_view(net.graph(*outs))
        assert [len(node.values) for node in view.nodes if node.kind == "output"] == [12]

    def test_a_parameter_given_as_argument_is_shown(self) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        query = net.weight("query", 1, 4)
        with net.call("dec", "Decoder"):
            y = net.op("matmul", net.op("sin", query), x)
        net.give(query, y)
        assert "param:query > dec" in edges(make_view(net.graph(y), DrawingOptions(depth=1)))


class TestSkips:
    def test_an_edge_past_a_node(self) -> None:
        net = Net()
        x = net.op("sin", net.input("x", 1, 4))
        view = make_view(net.graph(net.op("cat", net.layer("fc", "Linear", x), x)))
        assert [edge for edge in edges(view) if "skip" in edge] == ["sin > cat (skip)"]

    def test_a_projection_shortcut(self) -> None:
        found = [edge for edge in edges(make_view(residual_block(), DrawingOptions(depth="all"))) if "skip" in edge]
        assert found == ["input:x > down.0 (skip)", "down.0 > down.1 (skip)", "down.1 > add (skip)"]

    def test_parallel_branches_are_none(self) -> None:
        net = Net()
        x = net.input("x", 1, 4)
        x = net.op("cat", net.op("sin", x), net.op("cos", x))
        assert not any("skip" in edge for edge in edges(make_view(net.graph(x))))


class TestFocus:
    def test_shows_one_module(self) -> None:
        view = make_view(transformer(2), DrawingOptions(focus="blocks.1.mlp"))
        assert shown(view) == ["input:", "blocks.1.mlp.0", "blocks.1.mlp.2"]
        assert view.depth == 1

    def test_names_its_ends(self) -> None:
        view = make_view(mlp(), DrawingOptions(focus="fc1"))
        assert shown(view) == ["input:x", "fc1", "output:"]

    def test_offers_the_near_miss(self) -> None:
        with pytest.raises(OptionError, match=r"focus: no layer 'fc9' was called; did you mean fc1 or fc0\?"):
            make_view(mlp(), DrawingOptions(focus="fc9"))


class TestPatterns:
    def test_expand_opens_the_path_to_it(self) -> None:
        view = make_view(transformer(1), DrawingOptions(depth=1, expand=("blocks.*.mlp",)))
        assert boxes(view) == ["", "blocks.0", "blocks.0.mlp"]
        assert "blocks.0.attn" in shown(view)

    def test_expanding_one_of_a_run_takes_it_out(self) -> None:
        view = make_view(transformer(5), DrawingOptions(depth=1, expand=("blocks.2",)))
        assert shown(view)[2:3] == ["blocks.0 x2"]
        assert "blocks.3 x2" in shown(view)
        assert boxes(view) == ["", "blocks.2"]

    def test_collapse_closes(self) -> None:
        view = make_view(transformer(3), DrawingOptions(depth="all", collapse=("**.attn",)))
        assert boxes(view) == ["", "blocks.0 x3", "blocks.0.mlp"]

    def test_a_star_stops_at_a_dot(self) -> None:
        view = make_view(transformer(1), DrawingOptions(depth="all", collapse=("*.attn",)))
        assert view.notes == ("collapse: no layer has a path like '*.attn'",)


class TestFailure:
    def test_a_partial_graph_ends_at_the_call_that_raised(self) -> None:
        net = Net()
        x = net.op("sin", net.input("x", 1))
        net._open("fc", "Linear", "", 0)
        net.give(x, x)
        net.fail("RuntimeError: no")
        assert edges(make_view(net.graph())) == ["input:x > sin", "sin > fc"]

    def test_an_empty_graph(self) -> None:
        assert shown(make_view(Net().graph())) == [""]


def test_a_residual_beside_data_from_elsewhere() -> None:
    """A decoder's: the spine of the sum leads to the encoder, which is longer."""
    net = Net()
    memory, x = net.input("src", 1, 4), net.input("tgt", 1, 4)
    for name in ("sin", "cos", "tan"):
        memory = net.op(name, memory)
    y = net.op("exp", x)
    z = net.layer("out", "Linear", net.op("cross", y, memory))
    view = make_view(net.graph(net.op("add", y, z)))
    assert [edge for edge in edges(view) if "skip" in edge] == ["exp > add (skip)"]


def test_an_edge_to_an_output_is_no_residual() -> None:
    net = Net()
    x = net.op("sin", net.input("x", 1, 4))
    y = net.op("cos", x)
    view = make_view(net.graph(*[x, y] * 5))  # so many that they are one node
    assert "sin > output:" in edges(view)
    assert not any("skip" in edge for edge in edges(view))


def test_what_only_decides_is_not_drawn() -> None:
    net = Net()
    x, mask = net.input("x", 1, 4), net.input("mask", 1, 4)
    net.op("all", net.op("eq", mask, attrs={"1": "1"}), shape=())
    view = make_view(net.graph(net.op("sin", x)))
    assert shown(view) == ["input:x", "sin", "output:"]
    assert view.notes[0] == "the forward only checks mask"
    assert view.notes[1].startswith("not drawn: 2 operations that the code only asks")


def test_a_part_that_nothing_reads_is_not_drawn() -> None:
    net = Net()
    x, ids = net.input("x", 1, 4), net.input("ids", 1, 4)
    y = net.op("sin", x)
    net.op("getitem", net.op("getitem", net.op("cos", y), shape=(1, 1), attrs={"1": "[:, -1]"}), attrs={"1": "[0]"})
    net.op("getitem", ids, shape=(1, 1), attrs={"1": "[:, -1]"})
    net.op("getitem", y, shape=(1, 1), attrs={"1": "[:, -1]"})
    assert shown(make_view(net.graph(y), DrawingOptions(depth="all"))) == ["input:x", "sin", "cos", "output:"]
    view = make_view(net.graph(y))
    assert shown(view) == ["input:x", "sin", "output:"]
    assert view.notes[0] == "the forward only checks ids"
    last = net.op("getitem", y, shape=(1, 1), attrs={"1": "[:, -1]"})
    assert "getitem" in shown(make_view(net.graph(last)))


def test_a_number_that_is_written_or_given_back_is_drawn() -> None:
    net = Net()
    x = net.input("x", 1, 4)
    loss = net.op("mean", x, shape=())
    assert "mean" in shown(make_view(net.graph(loss)))
    net = Net()
    net.op("all", net.input("x", 1, 4), shape=())
    net.fail("ValueError: no")
    assert "all" in shown(make_view(net.graph()))


def test_a_long_chain_needs_no_recursion() -> None:
    view = make_view(chain(4_000), DrawingOptions(expand=("**",), depth="all"))
    assert len(view.nodes) == 4_002
    assert not any(edge.skip for edge in view.edges)


def test_deep_nesting_needs_no_recursion() -> None:
    view = make_view(nested(DEEP), DrawingOptions(depth="all"))
    assert len(view.boxes) == DEEP + 1
    assert reaches(view)


@pytest.mark.parametrize("depth", ["auto", "all"])
def test_twice_the_nesting_is_about_twice_the_work(depth: Depth) -> None:
    def work(levels: int) -> int:
        profile, graph = Profile(), nested(levels)
        profile.runcall(make_view, graph, DrawingOptions(depth=depth))
        return sum(entry.callcount for entry in profile.getstats())

    assert work(600) < 2.5 * work(300)


def test_equal_graphs_have_equal_views() -> None:
    assert make_view(transformer()) == make_view(transformer())
