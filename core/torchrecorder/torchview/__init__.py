"""torchview's recorder tensor and `draw_graph`, written anew.

A tensor that records the modules and functions it goes through, and the drawing that torchview makes of it, in the same
text of DOT. Code written for torchview changes its import: `from torchrecorder.torchview import draw_graph`.
"""

from torchrecorder.torchview.computation_graph import (
    COMPUTATION_NODES,
    ComputationGraph,
    assert_input_type,
    compact_list_repr,
    get_output_id,
    node2color,
    updated_dict,
)
from torchrecorder.torchview.computation_node import (
    FunctionNode,
    ModuleNode,
    Node,
    NodeContainer,
    OrderedSet,
    TensorNode,
    is_generator_empty,
)
from torchrecorder.torchview.drawing import draw_graph, forward_prop
from torchrecorder.torchview.inputs import (
    COMPILED_MODULES,
    CORRECTED_INPUT_DATA_TYPE,
    CORRECTED_INPUT_SIZE_TYPE,
    INPUT_DATA_TYPE,
    INPUT_SIZE_TYPE,
    flatten,
    get_correct_input_sizes,
    get_input_tensor,
    get_recorder_tensor,
    process_input,
    set_device,
    validate_user_params,
)
from torchrecorder.torchview.labels import stringify_attributes
from torchrecorder.torchview.recorder import (
    Recorder,
    creation_ops_wrapper,
    insert_empty_pass_node,
    module_forward_wrapper,
    pop_after_forward,
    process_output_node,
)
from torchrecorder.torchview.tensor import (
    RecorderTensor,
    attach_node,
    collect_shape,
    collect_tensor,
    collect_tensor_node,
    collect_tensor_node_id_dict,
    reduce_data_info,
    traverse_data,
    traverse_data_inplace,
)

__all__ = [
    "COMPILED_MODULES",
    "COMPUTATION_NODES",
    "CORRECTED_INPUT_DATA_TYPE",
    "CORRECTED_INPUT_SIZE_TYPE",
    "INPUT_DATA_TYPE",
    "INPUT_SIZE_TYPE",
    "ComputationGraph",
    "FunctionNode",
    "ModuleNode",
    "Node",
    "NodeContainer",
    "OrderedSet",
    "Recorder",
    "RecorderTensor",
    "TensorNode",
    "assert_input_type",
    "attach_node",
    "collect_shape",
    "collect_tensor",
    "collect_tensor_node",
    "collect_tensor_node_id_dict",
    "compact_list_repr",
    "creation_ops_wrapper",
    "draw_graph",
    "flatten",
    "forward_prop",
    "get_correct_input_sizes",
    "get_input_tensor",
    "get_output_id",
    "get_recorder_tensor",
    "insert_empty_pass_node",
    "is_generator_empty",
    "module_forward_wrapper",
    "node2color",
    "pop_after_forward",
    "process_input",
    "process_output_node",
    "reduce_data_info",
    "set_device",
    "stringify_attributes",
    "traverse_data",
    "traverse_data_inplace",
    "updated_dict",
    "validate_user_params",
]
