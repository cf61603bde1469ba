"""Families of ops by name, where a picture treats them alike."""

from __future__ import annotations

from torchrecorder.graph.model import Graph, Op


def names(text: str) -> frozenset[str]:
    """The names in a text, so that a family reads as a sentence."""
    return frozenset(text.split())


EXCHANGES = names("transpose permute t T mT H mH adjoint swapaxes swapdims movedim moveaxis")
"""Ops that put axes elsewhere."""

SHAPING = EXCHANGES | names(
    """
    view view_as reshape reshape_as flatten unflatten ravel squeeze unsqueeze expand expand_as broadcast_to repeat tile
    to type type_as float half double bfloat16 long int cpu cuda contiguous clone alias set_data view_of
    """
)
"""Ops that give the data of their first argument another shape, type or place."""

PIECES = names("chunk split unbind tensor_split split_with_sizes hsplit vsplit dsplit detach")
"""Ops that give a tensor in pieces, or as it is."""

WEIGHTED = names(
    """
    linear bilinear embedding embedding_bag prelu batch_norm layer_norm group_norm instance_norm rms_norm
    lstm gru rnn_tanh rnn_relu lstm_cell gru_cell rnn_tanh_cell rnn_relu_cell multi_head_attention_forward
    native_layer_norm native_batch_norm native_group_norm addmm baddbmm conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d conv_transpose3d convolution
    """
)
"""Ops whose further arguments are weights, not data."""

RANDOM = ("rand", "normal", "bernoulli", "multinomial", "poisson", "dropout")
"""How ops begin that draw random numbers."""

POINTWISE = names(
    """
    add sub mul div pow exp sqrt rsqrt reciprocal tanh sigmoid erf neg abs square log log1p clamp clip
    relu gelu silu softplus mean var std sum norm where maximum minimum
    """
)
"""Ops that formulas for activations and normalisations consist of."""

ACTIVATIONS = names(
    """
    relu gelu silu sigmoid tanh softmax log_softmax elu celu selu leaky_relu prelu rrelu mish hardswish
    hardtanh hardsigmoid logsigmoid softplus softsign glu softmin swish erf
    """
)
"""Activation functions."""

IDEAS = ACTIVATIONS | names("matmul mm bmm einsum baddbmm index_add scatter_add scatter_reduce setitem where")
"""Ops that a formula is there for: what they weigh, gate or gather is the idea of a layer."""

PRODUCTS = names("matmul mm bmm baddbmm einsum")
"""Products of two tensors."""

MIXING = PRODUCTS | names(
    """
    _grouped_mm scaled_dot_product_attention multi_head_attention_forward softmax cdist
    topk gather take_along_dim scatter scatter_add scatter_reduce index_add grid_sample lstm gru lstm_cell gru_cell
    conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d convolution
    """
)
"""Ops in which one place of the data meets others, or data say which of them count; others work place by place."""

SUMS = frozenset(("add", "add_", "sub", "sub_"))
"""Ops that join a residual with what it led past."""

JOINS = frozenset(("cat", "concat", "concatenate", "stack", "hstack", "vstack", "dstack"))
"""Ops that put tensors beside one another."""

INDEXING = names(
    """
    getitem index_select gather scatter scatter_add scatter_reduce index_add index_put take_along_dim embedding_bag
    """
)
"""Ops for which whole numbers say what belongs together: the edges of a graph."""

LOSSES = ("_loss", "cross_entropy", "kl_div")
"""What is in the names of ops that compare with a target."""

PACKS = names("pack_padded_sequence pad_packed_sequence")
"""Ops that functions of torch are named after, which sort the sequences around them."""

DROPOUTS = names("Dropout Dropout1d Dropout2d Dropout3d AlphaDropout FeatureAlphaDropout")
"""Torch's layers that change nothing in evaluation."""

CREATING = names("arange zeros ones full empty linspace new_zeros")
"""Ops that make a tensor of sizes that their arguments say."""

SHAPED_LIKE = names("zeros_like ones_like full_like empty_like new_zeros new_ones new_full new_empty new_tensor")
"""Ops that take the shape of their argument and nothing else."""


def is_laid_out(graph: Graph, op: Op) -> bool:
    """Whether an op gives the places of an axis several times, `a b a b`, and not one place as a sum would."""
    ends = (graph.values[value].shape[::-1] for value in (*op.inputs[:1], *op.outputs[:1]))
    is_longer = (size not in (1, more) for size, more in zip(*ends, strict=False))
    return op.name in ("repeat", "tile") and any(is_longer)
