"""torchview's surface: its golden texts, its reference document, and what it did wrong."""

from __future__ import annotations

import copy
import inspect
import math
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from tests.parity.torchview_nets import NETS, OPTIONS, Mixed, Swap, sources
from torchrecorder.torchview import (
    ComputationGraph,
    FunctionNode,
    ModuleNode,
    Node,
    RecorderTensor,
    TensorNode,
    draw_graph,
)
from torchrecorder.torchview.computation_graph import compact_list_repr, get_output_id
from torchrecorder.torchview.computation_node import NodeContainer
from torchrecorder.torchview.recorder_tensor import (
    Recorder,
    attach_node,
    collect_shape,
    collect_tensor,
    collect_tensor_node,
    collect_tensor_node_id_dict,
    creation_ops_wrapper,
    insert_empty_pass_node,
    module_forward_wrapper,
    pop_after_forward,
    process_output_node,
    reduce_data_info,
    traverse_data_inplace,
)
from torchrecorder.torchview.torchview import (
    get_correct_input_sizes,
    process_input,
    traverse_data,
    validate_user_params,
)
from torchrecorder.torchview.utils import OrderedSet, stringify_attributes, updated_dict

GOLDEN = Path(__file__).parent / "golden_torchview"
NAMES = {
    "torchview": "draw_graph ComputationGraph Node FunctionNode ModuleNode TensorNode RecorderTensor",
    "torchview.torchview": "COMPILED_MODULES INPUT_DATA_TYPE CORRECTED_INPUT_DATA_TYPE INPUT_SIZE_TYPE"
    " CORRECTED_INPUT_SIZE_TYPE draw_graph forward_prop process_input validate_user_params traverse_data set_device"
    " get_recorder_tensor get_input_tensor get_correct_input_sizes flatten",
    "torchview.utils": "OrderedSet is_generator_empty updated_dict assert_input_type stringify_attributes",
    "torchview.recorder_tensor": "orig_name_list Recorder creation_ops_wrapper module_forward_wrapper RecorderTensor"
    " reduce_data_info traverse_data_inplace attach_node pop_after_forward collect_tensor_node"
    " collect_tensor_node_id_dict collect_tensor collect_shape process_output_node insert_empty_pass_node",
    "torchview.computation_graph": "COMPUTATION_NODES node2color ComputationGraph compact_list_repr get_output_id",
    "torchview.computation_node": "Node NodeContainer TensorNode ModuleNode FunctionNode",
    "torchview.computation_node.base_node": "Node NodeContainer",
    "torchview.computation_node.compute_node": "TensorNode ModuleNode FunctionNode",
}
"""The names that each module of torchview is the home of, and those that its packages export."""
MOVE = "s/torchview/torchrecorder.torchview/"
"""What `sed` does to an import: it replaces the first."""
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "from-torchview.md"
WRITTEN_FOR_TORCHVIEW = """
import torchview
import torchview.utils, torchview.computation_node as nodes
from torch import nn
from torchview import draw_graph  # https://example.org/torchview
from torchview.torchview import flatten
from torchview.recorder_tensor import (
    Recorder,
    RecorderTensor,
)
from torchview.computation_node.base_node import Node

graph = torchview.draw_graph(nn.Linear(2, 2), input_size=(1, 2), device="cpu")
assert isinstance(graph, torchview.ComputationGraph) and torchview.torchview.draw_graph is draw_graph
assert isinstance(graph.root_container, torchview.utils.OrderedSet) and nodes.Node is Node
assert list(flatten([(1,), (2,)])) == [1, 2] and issubclass(torchview.ModuleNode, Node)
print(draw_graph.__module__, torchview.__version__)
"""


@pytest.fixture(scope="module")
def drawn() -> dict[str, str]:
    return sources(draw_graph)


def recorded(name: str = "main", **kwargs: Any) -> RecorderTensor:
    tensor: RecorderTensor = torch.ones(2).as_subclass(RecorderTensor)
    tensor.tensor_nodes = [TensorNode(tensor, 0, name=name, **kwargs)]
    return tensor


def names(tensor: RecorderTensor) -> list[str]:
    return [node.name for node in tensor.tensor_nodes]


class TestGoldenTexts:
    @pytest.mark.parametrize("name", [f"{net}-{option}.gv" for net in NETS for option in OPTIONS])
    def test_is_the_text_that_torchview_writes(self, drawn: dict[str, str], name: str) -> None:
        assert drawn[name] == (GOLDEN / name).read_text(encoding="utf-8")

    def test_none_is_left_over(self, drawn: dict[str, str]) -> None:
        assert {path.name for path in GOLDEN.iterdir()} == set(drawn)

    def test_collecting_attributes_changes_no_text(self) -> None:
        net = Mixed()
        plain, collecting = (draw_graph(net, input_size=(1, 3), collect_attributes=c) for c in (False, True))
        assert plain.visual_graph.source == collecting.visual_graph.source


class TestSignatures:
    @pytest.mark.parametrize("module", NAMES)
    def test_moving_over_is_one_search_and_replace(self, module: str) -> None:
        _, old, new, _ = MOVE.split("/")
        moved = import_module(module.replace(old, new, 1))
        assert sorted(moved.__all__) == sorted(NAMES[module].split())
        assert all(getattr(moved, name) is not None for name in moved.__all__)

    def test_the_command_of_the_guide_moves_a_program(self, tmp_path: Path) -> None:
        (command,) = re.findall(r"^sed .*$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE)
        program = tmp_path / "program.py"
        program.write_text(WRITTEN_FOR_TORCHVIEW, encoding="utf-8")
        for _ in range(2):  # what has been moved stays as it is
            subprocess.run(command, shell=True, cwd=tmp_path, check=True, timeout=60)
        assert "https://example.org/torchview\n" in program.read_text(encoding="utf-8")
        done = subprocess.run([sys.executable, program], check=True, timeout=120, stdout=subprocess.PIPE, text=True)
        assert done.stdout == "torchrecorder.torchview.torchview 0.2.7\n"

    def test_one_import_loads_all_modules(self) -> None:
        script = "import torchrecorder\n" + "\n".join(f"torchrecorder.{module}" for module in NAMES)
        subprocess.run([sys.executable, "-c", script], check=True, timeout=120)

    @pytest.mark.parametrize(
        ("name", "parameters"),
        [
            ("draw_graph", "model input_data input_size graph_name depth device dtypes mode strict expand_nested"
             " graph_dir hide_module_functions hide_inner_tensors roll show_shapes save_graph filename directory"
             " collect_attributes kwargs"),
            ("RecorderTensor", "x tensor_nodes args kwargs"),
            ("Recorder", "orig_mod_forward new_mod_forward model_graph"),
            ("module_forward_wrapper", "model_graph"),
            ("creation_ops_wrapper", "_orig_op model_graph"),
            ("reduce_data_info", "recorded_data action_fn collected kwargs"),
            ("traverse_data_inplace", "recorded_data action_fn kwargs"),
            ("attach_node", "kwargs tensor_to_node"),
            ("pop_after_forward", "r_in recorded_output"),
            ("process_output_node", "cur_node"),
            ("insert_empty_pass_node", "recorded_tensor out_node"),
            ("collect_tensor_node", "recorded_data collected is_pop"),
            ("forward_prop", "model x device model_graph mode kwargs"),
            ("process_input", "input_data input_size kwargs device dtypes collect_attributes"),
            ("TensorNode", "tensor depth parents children name context is_aux main_node parent_hierarchy"
             " collect_attributes"),
            ("ComputationGraph", "visual_graph root_container show_shapes expand_nested hide_inner_tensors"
             " hide_module_functions roll depth collect_attributes"),
        ],
    )  # fmt: skip
    def test_parameters(self, name: str, parameters: str) -> None:
        (home, *_) = [module for module, names in NAMES.items() if name in names.split()]
        assert (
            list(inspect.signature(getattr(import_module(f"torchrecorder.{home}"), name)).parameters)
            == parameters.split()
        )

    def test_defaults(self) -> None:
        defaults = {
            n: p.default for n, p in inspect.signature(draw_graph).parameters.items() if p.default is not p.empty
        }
        assert (defaults["depth"], defaults["graph_name"], defaults["roll"], defaults["strict"]) == (
            3,
            "model",
            False,
            True,
        )
        init = inspect.signature(RecorderTensor.__init__)
        assert list(init.parameters) == ["self", "x", "tensor_node"]


class TestRecorderTensor:
    def test_takes_one_node_or_several_by_either_name(self) -> None:
        node = TensorNode(torch.ones(2), 0)
        x = torch.ones(2)
        made = [
            RecorderTensor(x, node),
            RecorderTensor(x, [node]),
            RecorderTensor(x, tensor_nodes=[node]),
            RecorderTensor(x, tensor_node=node),
        ]
        assert [tensor.tensor_nodes for tensor in made] == [[node]] * 4
        assert all(isinstance(tensor, Tensor) and tensor.data_ptr() == x.data_ptr() for tensor in made)
        with pytest.raises(TypeError, match="missing 1 required positional argument: 'tensor_nodes'"):
            RecorderTensor(x)

    def test_a_function_makes_a_node_and_one_for_its_tensor(self) -> None:
        x = recorded()
        y = x + 1
        assert isinstance(y, RecorderTensor)
        (call,) = y.tensor_nodes[-1].parents
        assert (call.name, call.depth, list(call.parents)) == ("add", 0, x.tensor_nodes)
        node = y.tensor_nodes[-1]
        assert (node.name, node.depth, node.tensor_id, node.tensor_shape) == ("output-tensor", 0, id(y), (2,))
        assert list(node.parent_hierarchy) == [0]
        assert x.tensor_nodes[-1].context[-1] is node

    def test_a_question_makes_no_node(self) -> None:
        x = recorded()
        assert (x.shape, x.dim(), len(x), x.tolist()) == ((2,), 1, 2, [1.0, 1.0])
        assert x.tensor_nodes[-1].is_leaf()

    def test_in_place_replaces_the_last_node(self) -> None:
        x = recorded()
        first = x.tensor_nodes[-1]
        x.add_(1)
        assert len(x.tensor_nodes) == 1
        assert x.tensor_nodes[-1] is not first

    def test_can_be_copied_deeply(self) -> None:
        x = recorded()
        y = copy.deepcopy(x)
        assert isinstance(y, RecorderTensor)
        assert y.data_ptr() != x.data_ptr()
        (call,) = y.tensor_nodes[-1].parents
        assert (call.name, list(call.parents)) == ("__deepcopy__", x.tensor_nodes)


class TestTraversal:
    def test_finds_tensors_in_nested_values(self) -> None:
        a, b, plain = recorded(), recorded(), torch.ones(3)
        data = [a, (plain, {"x": [b, 3]}), "text", None, frozenset([a])]
        assert reduce_data_info(data, collect_shape, []) == [(2,), (2,), (2,)]
        assert list(reduce_data_info(data, collect_tensor_node, NodeContainer())) == [*a.tensor_nodes, *b.tensor_nodes]
        assert len(reduce_data_info(data, collect_tensor, OrderedSet())) == 2
        assert reduce_data_info([a], collect_tensor_node_id_dict, {}) == {a: a.tensor_nodes[0]}

    def test_gives_back_what_it_collects_into_and_pops_on_request(self) -> None:
        a, collected = recorded(), NodeContainer[TensorNode]()
        assert reduce_data_info([a], collect_tensor_node, collected, is_pop=True) is collected
        assert (len(collected), a.tensor_nodes) == (1, [])

    def test_leaves_generators_alone(self) -> None:
        generator = (tensor for tensor in [recorded()])
        assert reduce_data_info(generator, collect_shape, []) == []
        assert len(list(generator)) == 1

    def test_ends_in_what_contains_itself(self) -> None:
        endless: list[Any] = [recorded()]
        endless.append(endless)
        assert reduce_data_info(endless, collect_shape, []) == [(2,)]

    def test_in_place_visits_each_tensor(self) -> None:
        seen: list[tuple[int, int]] = []
        a = recorded()
        traverse_data_inplace(
            [a, {"k": a}, torch.ones(1)], lambda tensor, **kw: seen.append((id(tensor), kw["z"])), z=1
        )
        assert seen == [(id(a), 1)] * 2

    def test_rebuilds_containers(self) -> None:
        data = {"a": (torch.ones(1), [3, "s"]), "g": range(2)}
        assert traverse_data(data, lambda tensor: tuple(tensor.shape), type) == {"a": ((1,), [3, "s"]), "g": range(2)}


class TestNodesOfATensor:
    def test_entering_a_module(self) -> None:
        x, parent, context = recorded(), ModuleNode(nn.ReLU(), 1, name="P"), list[Any]()
        kwargs = {"parents": parent, "depth": 2, "context": context, "is_aux": True, "name": "auxiliary-tensor"}
        attach_node(kwargs, {x: x.tensor_nodes[0]})(x)
        main, aux = x.tensor_nodes
        assert (aux.main_node, aux.node_id, context, list(parent.children)) == (main, main.node_id, [aux], [aux])

    def test_what_cannot_be_attached(self) -> None:
        kwargs = {"parents": ModuleNode(nn.ReLU(), 1, name="P"), "depth": 2, "context": [], "is_aux": True}
        with pytest.raises(AssertionError, match="RecorderTensor to be attached to the NodeP must have tensor node"):
            attach_node(kwargs)(torch.ones(2))
        with pytest.raises(AssertionError, match="must be eitherFunctionNode or ModuleNode"):
            attach_node({**kwargs, "parents": NodeContainer()})(recorded())

    def test_leaving_a_module(self) -> None:
        x = recorded()
        x.tensor_nodes += [TensorNode(x, 1, name=name) for name in ("aux", "out")]
        returned = copy.copy(x.tensor_nodes)
        pop_after_forward(x, OrderedSet([x]))
        assert names(x) == ["main", "out"]
        x.tensor_nodes = returned
        pop_after_forward(x, OrderedSet())
        assert names(x) == ["main", "aux"]

    def test_an_output_that_is_another_tensor(self) -> None:
        x = recorded()
        x.tensor_nodes.append(TensorNode(torch.ones(2), 1))
        with pytest.raises(
            AssertionError, match="before and after inplace operation must have the same memory address"
        ):
            pop_after_forward(x, OrderedSet([x]))

    def test_an_output_rises_to_its_module(self) -> None:
        x, call = recorded(), ModuleNode(nn.ReLU(), 0, name="P")
        process_output_node(call)(x)
        (node,) = x.tensor_nodes
        assert (node.name, node.depth, node.parent_hierarchy) == ("output-tensor", 0, {0: call})

    def test_outputs_may_be_any_collection(self) -> None:
        for outputs, left in (((), "main"), ([recorded()], "main"), ([recorded(), None], "aux")):
            x = recorded()
            x.tensor_nodes.append(TensorNode(x, 1, name="aux"))
            given: Any = [x if tensor is None else tensor for tensor in outputs]
            pop_after_forward(x, given)
            assert names(x) == [left]

    def test_an_output_that_is_there_twice_has_two_nodes(self) -> None:
        x = recorded()
        first, second = torch.broadcast_tensors(x, x)  # type: ignore[no-untyped-call]
        assert first is second
        (call,) = first.tensor_nodes[-1].parents
        assert len(call.children) == 2

    def test_an_empty_pass(self) -> None:
        x = recorded()
        out = x.tensor_nodes[-1]
        insert_empty_pass_node(x, out)
        (empty,) = out.children
        assert isinstance(empty, FunctionNode)
        assert (empty.name, list(empty.parents), list(empty.children)) == ("empty-pass", [out], [x.tensor_nodes[-1]])
        assert x.tensor_nodes[-1].parent_hierarchy == {0: empty}


class TestNodes:
    def test_an_ordered_set(self) -> None:
        elements = OrderedSet[int]([3, 1, 3])
        elements.add(2)
        elements.remove(7)
        assert (list(elements), repr(elements), repr(OrderedSet())) == (
            [3, 1, 2],
            "OrderedSet([3, 1, 2])",
            "OrderedSet",
        )
        assert elements.pop() == 3
        assert NodeContainer is OrderedSet

    def test_ids(self) -> None:
        linear, relu = nn.Linear(1, 1), nn.ReLU()
        node, activation = ModuleNode(linear, 1), ModuleNode(relu, 1)
        assert (node.is_activation, node.is_container, activation.is_activation) == (False, True, True)
        node.set_node_id(5)
        activation.set_node_id(5)
        assert (node.node_id, activation.node_id) == (f"{id(linear)}-", f"{id(relu)}-5")
        assert get_output_id(node) == f"{id(linear)}"
        with pytest.raises(NotImplementedError, match="To be implemented by subclasses of Node Class !!!"):
            Node(0).set_node_id()

    def test_only_a_stand_in_has_the_id_of_its_main_node(self) -> None:
        x = torch.ones(1)
        main = TensorNode(x, 0)
        aux, other = TensorNode(x, 1, is_aux=True, main_node=main), TensorNode(x, 1, main_node=main)
        assert (aux.node_id, other.node_id) == (main.node_id, f"{id(other)}")
        aux.set_node_id(3)
        assert aux.node_id == f"{id(aux)}-3"

    def test_the_outputs_of_a_function_are_its_children(self) -> None:
        call, output = FunctionNode(torch.add, 0), Node(0)
        call.add_output_nodes(output)
        assert call.output_nodes is call.children
        assert list(call.children) == [output]

    def test_a_module_with_an_empty_container_holds_functions_only(self) -> None:
        net = nn.Module()
        net.shortcut = nn.Sequential()
        assert ModuleNode(net, 0).is_container
        net.shortcut.append(nn.ReLU())
        assert not ModuleNode(net, 0).is_container

    def test_parents_and_children(self) -> None:
        parent, child = Node(0), Node(1, name="c")
        parent.add_child(child)
        assert (parent.is_root(), parent.is_leaf(), child.is_root(), str(child)) == (True, False, True, "c")
        parent.remove_child(child)
        assert parent.is_leaf()
        assert list(Node(1, parent).parents) == [parent]

    def test_texts(self) -> None:
        assert compact_list_repr([(1,), (2,), (1,)]) == "2 x (1,), (2,)"
        assert updated_dict({"a": 1}, "a", 2) == {"a": 2}
        linear = "Linear(training=True, in_features=3, out_features=4)"
        assert stringify_attributes(nn.Linear(3, 4)) == linear
        assert stringify_attributes([[1, [2]], {"a": torch.ones(1)}, "s"], 1) == "[[..., ...], {a: ...}, 's']"
        assert stringify_attributes(nn.parameter.UninitializedParameter()) == "Tensor(<uninitialized>)"
        many = SimpleNamespace(**{f"a{i}": i for i in range(25)})
        assert stringify_attributes(many).endswith(", a19=19...)")
        assert stringify_attributes([many]).endswith(", a4=4...)]")


class TestInputs:
    @pytest.mark.parametrize(
        ("size", "sizes"),
        [((1, 3), [(1, 3)]), ([1, 3], [(1, 3)]), ([(1, 3), (2,)], [(1, 3), (2,)]), (torch.Size([2]), [(2,)])],
    )
    def test_sizes(self, size: Any, sizes: Any) -> None:
        assert get_correct_input_sizes(size) == sizes

    @pytest.mark.parametrize(("size", "error"), [(3, TypeError), ((), ValueError), ((-1, 3), ValueError)])
    def test_broken_sizes(self, size: Any, error: type[Exception]) -> None:
        with pytest.raises(error, match=r"is not a recognized type|negative size found in input_data"):
            get_correct_input_sizes(size)

    def test_recorded_inputs_share_memory(self) -> None:
        x = torch.ones(2)
        (data,), named, nodes = process_input([x], None, {"k": torch.ones(1), "n": 3}, "cpu")  # type: ignore[misc]
        assert (data.data_ptr(), type(named["k"]), named["n"], len(nodes)) == (x.data_ptr(), RecorderTensor, 3, 2)

    def test_wrong_calls(self) -> None:
        net = nn.Linear(1, 1)
        for inputs in ({}, {"input_data": torch.ones(1), "input_size": (1,)}):
            with pytest.raises(RuntimeError, match=r"^Only one of \(input_data, input_size\) should be specified\.$"):
                draw_graph(net, **inputs)  # type: ignore[arg-type]
        with pytest.raises(ValueError, match=r"^depth must be a non-negative number, depth=-1$"):
            draw_graph(net, input_size=(1, 1), depth=-1)
        for depth in (0.5, math.nan):
            with pytest.raises(ValueError, match="whole number or infinite"):
                validate_user_params(net, torch.ones(1), None, depth, None, None)

    @pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
    @pytest.mark.filterwarnings("ignore:.*torch.jit:FutureWarning")
    def test_warnings(self) -> None:
        net, half = nn.ReLU(), [torch.float16]
        with pytest.warns(UserWarning, match="Half precision is not supported on cpu"):
            validate_user_params(net, torch.ones(1), None, 1, "cpu", half)
        with pytest.warns(UserWarning, match="Half precision is not supported on cpu"):
            draw_graph(net, input_data=torch.ones(1).half(), dtypes=half)
        with pytest.warns(UserWarning, match="Half precision is not supported with input_size"):
            draw_graph(net, input_size=(1,), device="meta", dtypes=half)
        with pytest.warns(UserWarning, match="traced modules are not fully supported"):
            draw_graph(torch.jit.trace(net, torch.ones(1)), input_size=(1,))  # type: ignore[no-untyped-call]


class TestGraph:
    def test_what_it_holds(self) -> None:
        graph = draw_graph(Mixed(), input_size=(1, 3))
        assert isinstance(graph, ComputationGraph)
        assert [node.name for node in graph.root_container] == ["input-tensor"]
        assert graph.running_node_id == len(graph.id_dict) == len(graph.node_set)
        assert graph.visual_graph.graph_attr["size"] == "12.0,12.0"
        graph.resize_graph(scale=2.0, size_per_element=1.0, min_size=3)
        assert (
            graph.visual_graph.graph_attr["size"]
            == f"{2.0 * len(graph.visual_graph.body)},{2.0 * len(graph.visual_graph.body)}"
        )

    def test_colours_and_visibility(self) -> None:
        graph = draw_graph(nn.Linear(1, 1), input_size=(1, 1))
        assert graph.get_node_color(TensorNode(torch.ones(1), 0)) == "lightyellow"
        assert graph.get_node_color(ModuleNode(nn.ReLU(), 0)) == "darkseagreen1"
        assert not graph.is_node_visible(TensorNode(torch.ones(1), 1))
        assert graph.is_node_visible(FunctionNode(torch.add, 9))
        inner = TensorNode(torch.ones(1), 0, parents=Node(0), children=Node(0))
        assert not graph.is_node_visible(inner)
        with pytest.raises(AssertionError, match="is_node_visible function was given input with wrong type"):
            graph.is_node_visible(3)  # type: ignore[arg-type]
        with pytest.raises(AssertionError, match="traverse_graph function was given input with wrong type"):
            graph.traverse_graph(print, cur_node=3, subgraph=None)

    def test_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PATH", "")
        draw_graph(nn.Linear(1, 1), input_size=(1, 1), save_graph=True, directory=str(tmp_path), graph_name="net")
        assert {path.name for path in tmp_path.iterdir()} == {"net.gv", "net.gv.png"}
        assert (tmp_path / "net.gv.png").read_bytes().startswith(b"\x89PNG")

    def test_attributes_are_kept_on_the_whole_path(self) -> None:
        graph = draw_graph(Mixed(), input_size=(1, 3), collect_attributes=True)
        seen: list[Node] = []
        pending: list[Node] = list(graph.root_container)
        while pending:
            node = pending.pop()
            seen.append(node)
            pending += [child for child in node.children if child not in seen]
        calls = [node for node in seen if isinstance(node, (ModuleNode, FunctionNode)) and node.name != "empty-pass"]
        assert len(calls) > 8
        assert all(call.attributes for call in calls)


class TestRecording:
    def test_by_hand(self) -> None:
        # The pieces of the reference document, put together as draw_graph does.
        import graphviz

        x = recorded("input-tensor")
        graph = ComputationGraph(graphviz.Digraph(), NodeContainer(x.tensor_nodes), roll=False)
        found = nn.Module.__call__
        net = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        with Recorder(found, module_forward_wrapper(graph), graph), torch.no_grad():
            assert nn.Module.__call__ is not found
            net(x)
            made = torch.zeros(2)
        assert nn.Module.__call__ is found
        assert isinstance(made, RecorderTensor)
        graph.fill_visual_graph()
        assert all(word in graph.visual_graph.source for word in ("Linear", "ReLU", "output-tensor"))

    def test_functions_without_a_module(self) -> None:
        import graphviz

        x = recorded("input-tensor")
        graph = ComputationGraph(graphviz.Digraph(), NodeContainer(x.tensor_nodes), roll=False)
        _ = (x + 1) * 2
        graph.fill_visual_graph()
        assert graph.visual_graph.source.count("output-tensor") == 1
        assert graph.visual_graph.source.count(" -> ") == 3

    def test_created_tensors(self) -> None:
        graph = draw_graph(nn.Linear(1, 1), input_size=(1, 1))
        made = creation_ops_wrapper(torch.ones, graph)(2, dtype=torch.int8)
        assert (type(made), made.dtype, made.tensor_nodes[-1].name) == (RecorderTensor, torch.int8, "input-tensor")

    def test_swapped_arguments_keep_their_path(self) -> None:
        source = draw_graph(Swap(), input_size=[(1, 2), (1, 3)]).visual_graph.source
        assert source.count(" -> ") == 4
