"""Nets of tables, molecules, games, graphs, brain waves and series as repositories write them, of the ninth held list.

They were written without a look at the rules of pictures or at any picture. The list is in `unseen.py`.
"""

# mypy: disable-error-code="no-any-return"
# a call of a module has no type

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812 - everyone's name for it
from torch import Tensor, nn

from tests.corpus.entry import Entry, given, numbers


def initialize_non_glu(module: nn.Linear, input_dim: int, output_dim: int) -> None:
    """Weights of a layer without a gate."""
    gain_value = np.sqrt((input_dim + output_dim) / np.sqrt(4 * input_dim))
    nn.init.xavier_normal_(module.weight, gain=gain_value)


def initialize_glu(module: nn.Linear, input_dim: int, output_dim: int) -> None:
    """Weights of a layer with a gate."""
    gain_value = np.sqrt((input_dim + output_dim) / np.sqrt(input_dim))
    nn.init.xavier_normal_(module.weight, gain=gain_value)


class SparsemaxFunction(torch.autograd.Function):
    """The nearest point of the simplex, with a gradient by hand."""

    @staticmethod
    def forward(ctx: Any, input: Tensor, dim: int = -1) -> Tensor:  # noqa: A002
        """Weights, many of which are zero."""
        ctx.dim = dim
        max_val, _ = input.max(dim=dim, keepdim=True)
        input = input - max_val  # noqa: A001 - same numerical stability trick as for softmax
        tau, supp_size = SparsemaxFunction._threshold_and_support(input, dim=dim)
        output = torch.clamp(input - tau, min=0)
        ctx.save_for_backward(supp_size, output)
        return output

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        """The gradient of the input."""
        supp_size, output = ctx.saved_tensors
        grad_input = grads[0].clone()
        grad_input[output == 0] = 0
        v_hat = grad_input.sum(dim=ctx.dim) / supp_size.to(output.dtype).squeeze()
        v_hat = v_hat.unsqueeze(ctx.dim)
        return torch.where(output != 0, grad_input - v_hat, grad_input), None

    @staticmethod
    def _threshold_and_support(input: Tensor, dim: int) -> tuple[Tensor, Tensor]:  # noqa: A002
        input_srt, _ = torch.sort(input, descending=True, dim=dim)
        input_cumsum = input_srt.cumsum(dim) - 1
        rhos = torch.arange(1, input.size(dim) + 1, dtype=input.dtype)
        support = rhos * input_srt > input_cumsum
        support_size = support.sum(dim=dim).unsqueeze(dim)
        tau = input_cumsum.gather(dim, support_size - 1)
        tau /= support_size.to(input.dtype)
        return tau, support_size


class Sparsemax(nn.Module):
    """A softmax with zeros."""

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """The weights."""
        return SparsemaxFunction.apply(input, self.dim)  # type: ignore[no-untyped-call]


class GBN(nn.Module):
    """A norm over small parts of a batch."""

    def __init__(self, input_dim: int, virtual_batch_size: int = 128, momentum: float = 0.01) -> None:
        super().__init__()
        self.input_dim, self.virtual_batch_size = input_dim, virtual_batch_size
        self.bn = nn.BatchNorm1d(self.input_dim, momentum=momentum)

    def forward(self, x: Tensor) -> Tensor:
        """The normed features."""
        chunks = x.chunk(int(np.ceil(x.shape[0] / self.virtual_batch_size)), 0)
        res = [self.bn(x_) for x_ in chunks]
        return torch.cat(res, dim=0)


class GLU_Layer(nn.Module):  # noqa: N801 - its name in the repository
    """A layer whose one half is a gate of the other."""

    def __init__(
        self, input_dim: int, output_dim: int, fc: nn.Linear | None = None, virtual_batch_size: int = 128
    ) -> None:
        super().__init__()
        self.output_dim = output_dim
        if fc is not None:
            self.fc = fc
        else:
            self.fc = nn.Linear(input_dim, 2 * output_dim, bias=False)
        initialize_glu(self.fc, input_dim, 2 * output_dim)
        self.bn = GBN(2 * output_dim, virtual_batch_size=virtual_batch_size, momentum=0.02)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        x = self.fc(x)
        x = self.bn(x)
        return torch.mul(x[:, : self.output_dim], torch.sigmoid(x[:, self.output_dim :]))


class GLU_Block(nn.Module):  # noqa: N801 - its name in the repository
    """Gated layers of one step, some of which have weights of all steps."""

    def __init__(
        self, input_dim: int, output_dim: int, n_glu: int = 2, first: bool = False,
        shared_layers: nn.ModuleList | None = None, virtual_batch_size: int = 128,
    ) -> None:  # fmt: skip
        super().__init__()
        self.first, self.shared_layers, self.n_glu = first, shared_layers, n_glu
        self.glu_layers = nn.ModuleList()
        for glu_id in range(self.n_glu):
            fc: Any = shared_layers[glu_id] if shared_layers else None
            self.glu_layers.append(
                GLU_Layer(input_dim if glu_id == 0 else output_dim, output_dim, fc, virtual_batch_size)
            )

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        scale = torch.sqrt(torch.FloatTensor([0.5]).to(x.device))
        if self.first:  # the first layer of the block has no scale multiplication
            x = self.glu_layers[0](x)
            layers_left = range(1, self.n_glu)
        else:
            layers_left = range(self.n_glu)
        for glu_id in layers_left:
            x = torch.add(x, self.glu_layers[glu_id](x))
            x = x * scale
        return x


class FeatTransformer(nn.Module):
    """Shared layers, and layers of one step."""

    def __init__(
        self, input_dim: int, output_dim: int, shared_layers: nn.ModuleList | None, n_glu_independent: int,
        virtual_batch_size: int = 128,
    ) -> None:  # fmt: skip
        super().__init__()
        is_first = True
        self.shared: nn.Module = nn.Identity()
        if shared_layers is not None:
            self.shared = GLU_Block(
                input_dim, output_dim, len(shared_layers), is_first, shared_layers, virtual_batch_size
            )
            is_first = False
        self.specifics: nn.Module = nn.Identity()
        if n_glu_independent > 0:
            spec_input_dim = input_dim if is_first else output_dim
            self.specifics = GLU_Block(
                spec_input_dim, output_dim, n_glu_independent, is_first, virtual_batch_size=virtual_batch_size
            )

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        x = self.shared(x)
        return self.specifics(x)


class AttentiveTransformer(nn.Module):
    """Attention of a step over columns."""

    def __init__(self, input_dim: int, group_dim: int, virtual_batch_size: int = 128) -> None:
        super().__init__()
        self.fc = nn.Linear(input_dim, group_dim, bias=False)
        initialize_non_glu(self.fc, input_dim, group_dim)
        self.bn = GBN(group_dim, virtual_batch_size=virtual_batch_size, momentum=0.02)
        self.selector = Sparsemax(dim=-1)

    def forward(self, priors: Tensor, processed_feat: Tensor) -> Tensor:
        """A weight of each column."""
        x = self.fc(processed_feat)
        x = self.bn(x)
        x = torch.mul(x, priors)
        return self.selector(x)


class TabNetEncoder(nn.Module):
    """Steps, each of which looks at some of the columns and uses those again less that it has seen."""

    def __init__(
        self, input_dim: int, n_d: int = 8, n_a: int = 8, n_steps: int = 3, gamma: float = 1.3,
        n_independent: int = 2, n_shared: int = 2, epsilon: float = 1e-15, virtual_batch_size: int = 4,
    ) -> None:  # fmt: skip
        super().__init__()
        self.input_dim, self.n_d, self.n_a, self.n_steps = input_dim, n_d, n_a, n_steps
        self.gamma, self.epsilon = gamma, epsilon
        self.initial_bn = nn.BatchNorm1d(self.input_dim, momentum=0.01)
        shared_feat_transform = None
        if n_shared > 0:
            shared_feat_transform = nn.ModuleList()
            for i in range(n_shared):
                shared_feat_transform.append(nn.Linear(n_d + n_a if i else input_dim, 2 * (n_d + n_a), bias=False))
        self.initial_splitter = FeatTransformer(
            self.input_dim, n_d + n_a, shared_feat_transform, n_independent, virtual_batch_size
        )
        self.feat_transformers, self.att_transformers = nn.ModuleList(), nn.ModuleList()
        for _ in range(n_steps):
            transformer = FeatTransformer(
                self.input_dim, n_d + n_a, shared_feat_transform, n_independent, virtual_batch_size
            )
            attention = AttentiveTransformer(n_a, self.input_dim, virtual_batch_size)
            self.feat_transformers.append(transformer)
            self.att_transformers.append(attention)

    def forward(self, x: Tensor, prior: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        """Outputs of the steps, and the loss of their masks."""
        x = self.initial_bn(x)
        if prior is None:
            prior = torch.ones((x.shape[0], self.input_dim)).to(x.device)
        M_loss: Tensor | float = 0  # noqa: N806
        att = self.initial_splitter(x)[:, self.n_d :]
        steps_output = []
        for step in range(self.n_steps):
            M = self.att_transformers[step](prior, att)  # noqa: N806
            M_loss += torch.mean(torch.sum(torch.mul(M, torch.log(M + self.epsilon)), dim=1))  # noqa: N806
            # update prior
            prior = torch.mul(self.gamma - M, prior)
            # output
            masked_x = torch.mul(M, x)
            out = self.feat_transformers[step](masked_x)
            d = nn.ReLU()(out[:, : self.n_d])
            steps_output.append(d)
            # update attention
            att = out[:, self.n_d :]
        return steps_output, torch.as_tensor(M_loss / self.n_steps)


class EmbeddingGenerator(nn.Module):
    """A table whose columns of words have become vectors."""

    def __init__(self, input_dim: int, cat_dims: list[int], cat_idxs: list[int], cat_emb_dims: list[int]) -> None:
        super().__init__()
        if cat_dims == [] and cat_idxs == []:
            self.skip_embedding = True
            self.post_embed_dim = input_dim
            return
        self.skip_embedding = False
        self.post_embed_dim = int(input_dim + np.sum(cat_emb_dims) - len(cat_emb_dims))
        self.embeddings = nn.ModuleList(
            [nn.Embedding(cat_dim, emb_dim) for cat_dim, emb_dim in zip(cat_dims, cat_emb_dims, strict=True)]
        )
        self.continuous_idx = torch.ones(input_dim, dtype=torch.bool)
        self.continuous_idx[cat_idxs] = 0

    def forward(self, x: Tensor) -> Tensor:
        """The table."""
        if self.skip_embedding:
            return x
        cols = []
        cat_feat_counter = 0
        for feat_init_idx, is_continuous in enumerate(self.continuous_idx):
            # Enumerate through continuous idx boolean mask to apply embeddings
            if is_continuous:
                cols.append(x[:, feat_init_idx].float().view(-1, 1))
            else:
                cols.append(self.embeddings[cat_feat_counter](x[:, feat_init_idx].long()))
                cat_feat_counter += 1
        return torch.cat(cols, dim=1)


class TabNet(nn.Module):
    """Classes or numbers for the rows of a table, for one task or for several."""

    def __init__(
        self, input_dim: int, output_dim: int | Sequence[int], n_d: int = 8, n_a: int = 8, n_steps: int = 3,
        cat_idxs: list[int] | None = None, cat_dims: list[int] | None = None, cat_emb_dim: int = 2,
    ) -> None:  # fmt: skip
        super().__init__()
        self.is_multi_task = not isinstance(output_dim, int)
        cat_dims = cat_dims or []
        self.embedder = EmbeddingGenerator(input_dim, cat_dims, cat_idxs or [], [cat_emb_dim] * len(cat_dims))
        self.encoder = TabNetEncoder(self.embedder.post_embed_dim, n_d, n_a, n_steps)
        if isinstance(output_dim, int):
            self.final_mapping = nn.Linear(n_d, output_dim, bias=False)
            initialize_non_glu(self.final_mapping, n_d, output_dim)
        else:
            self.multi_task_mappings = nn.ModuleList()
            for task_dim in output_dim:
                task_mapping = nn.Linear(n_d, task_dim, bias=False)
                initialize_non_glu(task_mapping, n_d, task_dim)
                self.multi_task_mappings.append(task_mapping)

    def forward(self, x: Tensor) -> tuple[Tensor | list[Tensor], Tensor]:
        """Scores of each task, and how many columns were looked at."""
        x = self.embedder(x)
        steps_output, M_loss = self.encoder(x)  # noqa: N806
        res = torch.sum(torch.stack(steps_output, dim=0), dim=0)
        if self.is_multi_task:
            # Result will be in list format
            out = []
            for task_mapping in self.multi_task_mappings:
                out.append(task_mapping(res))  # noqa: PERF401 - as the repository has it
            return out, M_loss
        return self.final_mapping(res), M_loss


def _rows() -> Tensor:
    return torch.cat([torch.randn(10, 4), torch.randint(0, 5, (10, 2)).float()], dim=1)


def unsorted_segment_sum(data: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Sums of rows with the same number."""
    result = data.new_full((num_segments, data.size(1)), 0)
    segment_ids = segment_ids.unsqueeze(-1).expand(-1, data.size(1))
    result.scatter_add_(0, segment_ids, data)
    return result


def unsorted_segment_mean(data: Tensor, segment_ids: Tensor, num_segments: int) -> Tensor:
    """Means of rows with the same number."""
    segment_ids = segment_ids.unsqueeze(-1).expand(-1, data.size(1))
    result, count = data.new_full((num_segments, data.size(1)), 0), data.new_full((num_segments, data.size(1)), 0)
    result.scatter_add_(0, segment_ids, data)
    count.scatter_add_(0, segment_ids, torch.ones_like(data))
    return result / count.clamp(min=1)


class E_GCL(nn.Module):  # noqa: N801 - its name in the repository
    """A layer over a graph in space, which turns with the space."""

    def __init__(
        self, input_nf: int, output_nf: int, hidden_nf: int, edges_in_d: int = 0, act_fn: nn.Module | None = None,
        residual: bool = True, attention: bool = False, normalize: bool = False, coords_agg: str = "mean",
        tanh: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        input_edge, edge_coords_nf = input_nf * 2, 1
        act_fn = nn.SiLU() if act_fn is None else act_fn
        self.residual, self.attention, self.normalize = residual, attention, normalize
        self.coords_agg, self.tanh, self.epsilon = coords_agg, tanh, 1e-8
        self.edge_mlp = nn.Sequential(
            nn.Linear(input_edge + edge_coords_nf + edges_in_d, hidden_nf),
            act_fn,
            nn.Linear(hidden_nf, hidden_nf),
            act_fn,
        )
        self.node_mlp = nn.Sequential(
            nn.Linear(hidden_nf + input_nf, hidden_nf), act_fn, nn.Linear(hidden_nf, output_nf)
        )
        layer = nn.Linear(hidden_nf, 1, bias=False)
        nn.init.xavier_uniform_(layer.weight, gain=0.001)
        coord_mlp = [nn.Linear(hidden_nf, hidden_nf), act_fn, layer]
        if self.tanh:
            coord_mlp.append(nn.Tanh())
        self.coord_mlp = nn.Sequential(*coord_mlp)
        if self.attention:
            self.att_mlp = nn.Sequential(nn.Linear(hidden_nf, 1), nn.Sigmoid())

    def edge_model(self, source: Tensor, target: Tensor, radial: Tensor, edge_attr: Tensor | None) -> Tensor:
        """Features of edges."""
        if edge_attr is None:  # Unused.
            out = torch.cat([source, target, radial], dim=1)
        else:
            out = torch.cat([source, target, radial, edge_attr], dim=1)
        out = self.edge_mlp(out)
        if self.attention:
            att_val = self.att_mlp(out)
            out = out * att_val
        return out

    def node_model(
        self, x: Tensor, edge_index: tuple[Tensor, Tensor], edge_attr: Tensor, node_attr: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Features of nodes, and what they were made of."""
        row, _col = edge_index
        agg = unsorted_segment_sum(edge_attr, row, num_segments=x.size(0))
        agg = torch.cat([x, agg] if node_attr is None else [x, agg, node_attr], dim=1)
        out = self.node_mlp(agg)
        if self.residual:
            out = x + out
        return out, agg

    def coord_model(
        self, coord: Tensor, edge_index: tuple[Tensor, Tensor], coord_diff: Tensor, edge_feat: Tensor
    ) -> Tensor:
        """Where the nodes move."""
        row, _col = edge_index
        trans = coord_diff * self.coord_mlp(edge_feat)
        if self.coords_agg == "sum":
            agg = unsorted_segment_sum(trans, row, num_segments=coord.size(0))
        elif self.coords_agg == "mean":
            agg = unsorted_segment_mean(trans, row, num_segments=coord.size(0))
        else:
            raise ValueError("Wrong coords_agg parameter", self.coords_agg)
        return coord + agg

    def coord2radial(self, edge_index: tuple[Tensor, Tensor], coord: Tensor) -> tuple[Tensor, Tensor]:
        """How far and in which direction the ends of edges are from one another."""
        row, col = edge_index
        coord_diff = coord[row] - coord[col]
        radial = torch.sum(coord_diff**2, 1).unsqueeze(1)
        if self.normalize:
            norm = torch.sqrt(radial).detach() + self.epsilon
            coord_diff = coord_diff / norm
        return radial, coord_diff

    def forward(
        self, h: Tensor, edge_index: tuple[Tensor, Tensor], coord: Tensor,
        edge_attr: Tensor | None = None, node_attr: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor | None]:  # fmt: skip
        """Features of nodes, where they are, and the edges."""
        row, col = edge_index
        radial, coord_diff = self.coord2radial(edge_index, coord)
        edge_feat = self.edge_model(h[row], h[col], radial, edge_attr)
        coord = self.coord_model(coord, edge_index, coord_diff, edge_feat)
        h, _agg = self.node_model(h, edge_index, edge_feat, node_attr)
        return h, coord, edge_attr


class EGNN(nn.Module):
    """Where particles will be, and what they are."""

    def __init__(
        self, in_node_nf: int, hidden_nf: int, out_node_nf: int, in_edge_nf: int = 0, n_layers: int = 4,
        residual: bool = True, attention: bool = False, normalize: bool = False, tanh: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.hidden_nf, self.n_layers = hidden_nf, n_layers
        self.embedding_in = nn.Linear(in_node_nf, self.hidden_nf)
        self.embedding_out = nn.Linear(self.hidden_nf, out_node_nf)
        act_fn = nn.SiLU()
        for i in range(n_layers):
            self.add_module(
                f"gcl_{i}",
                E_GCL(
                    self.hidden_nf,
                    self.hidden_nf,
                    self.hidden_nf,
                    edges_in_d=in_edge_nf,
                    act_fn=act_fn,
                    residual=residual,
                    attention=attention,
                    normalize=normalize,
                    tanh=tanh,
                ),
            )

    def forward(
        self, h: Tensor, x: Tensor, edges: tuple[Tensor, Tensor], edge_attr: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        """Features of the particles, and where they are."""
        h = self.embedding_in(h)
        for i in range(self.n_layers):
            h, x, _ = self._modules[f"gcl_{i}"](h, edges, x, edge_attr=edge_attr)  # type: ignore[misc]
        h = self.embedding_out(h)
        return h, x


def get_edges(n_nodes: int, batch_size: int) -> tuple[Tensor, Tensor]:
    """Edges between all nodes of each graph."""
    rows, cols = [], []
    for i in range(n_nodes):
        for j in range(n_nodes):
            if i != j:
                rows.append(i)
                cols.append(j)
    edges = torch.LongTensor(rows), torch.LongTensor(cols)
    if batch_size == 1:
        return edges
    shifts = [n_nodes * i for i in range(batch_size)]
    return torch.cat([edges[0] + s for s in shifts]), torch.cat([edges[1] + s for s in shifts])


class properties:  # noqa: N801 - its name in the repository
    """Names of what a molecule has."""

    Z, R, Rij, idx_i, idx_j, idx_m = "_atomic_numbers", "_positions", "_Rij", "_idx_i", "_idx_j", "_idx_m"
    n_atoms, energy, dipole_moment = "_n_atoms", "energy", "dipole_moment"


def scatter_add(x: Tensor, idx_i: Tensor, dim_size: int, dim: int = 0) -> Tensor:
    """Sums of rows with the same number."""
    shape = list(x.shape)
    shape[dim] = dim_size
    tmp = torch.zeros(shape, dtype=x.dtype)
    return tmp.index_add(dim, idx_i, x)


def replicate_module(module_factory: Callable[[], nn.Module], n: int, share_params: bool) -> nn.ModuleList:
    """The same module so many times, or so many modules."""
    if share_params:
        return nn.ModuleList([module_factory()] * n)
    return nn.ModuleList([module_factory() for _ in range(n)])


class Dense(nn.Linear):
    """A layer with its activation."""

    def __init__(
        self, in_features: int, out_features: int, bias: bool = True,
        activation: Callable[[Tensor], Tensor] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(in_features, out_features, bias)
        self.activation = nn.Identity() if activation is None else activation

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """Features."""
        y = F.linear(input, self.weight, self.bias)
        return self.activation(y)


class GaussianRBF(nn.Module):
    """How near a distance is to each of several."""

    widths: Tensor
    offsets: Tensor

    def __init__(self, n_rbf: int, cutoff: float, start: float = 0.0) -> None:
        super().__init__()
        self.n_rbf = n_rbf
        offset = torch.linspace(start, cutoff, n_rbf)
        self.register_buffer("widths", torch.abs(offset[1] - offset[0]) * torch.ones_like(offset))
        self.register_buffer("offsets", offset)

    def forward(self, inputs: Tensor) -> Tensor:
        """The nearness."""
        coeff = -0.5 / torch.pow(self.widths, 2)
        diff = inputs[..., None] - self.offsets
        return torch.exp(coeff * torch.pow(diff, 2))


class CosineCutoff(nn.Module):
    """A weight that falls to zero at a distance."""

    cutoff: Tensor

    def __init__(self, cutoff: float) -> None:
        super().__init__()
        self.register_buffer("cutoff", torch.FloatTensor([cutoff]))

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """The weight."""
        input_cut = 0.5 * (torch.cos(input * math.pi / self.cutoff) + 1.0)
        return input_cut * (input < self.cutoff).float()


class PaiNNInteraction(nn.Module):
    """Messages between neighbouring atoms, as numbers and as vectors."""

    def __init__(self, n_atom_basis: int, activation: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.n_atom_basis = n_atom_basis
        self.interatomic_context_net = nn.Sequential(
            Dense(n_atom_basis, n_atom_basis, activation=activation),
            Dense(n_atom_basis, 3 * n_atom_basis, activation=None),
        )

    def forward(
        self, q: Tensor, mu: Tensor, Wij: Tensor, dir_ij: Tensor, idx_i: Tensor, idx_j: Tensor, n_atoms: int  # noqa: N803
    ) -> tuple[Tensor, Tensor]:  # fmt: skip
        """The numbers and the vectors of each atom."""
        x = self.interatomic_context_net(q)
        xj = x[idx_j]
        muj = mu[idx_j]
        x = Wij * xj
        dq, dmuR, dmumu = torch.split(x, self.n_atom_basis, dim=-1)  # noqa: N806
        dq = scatter_add(dq, idx_i, dim_size=n_atoms)
        dmu = dmuR * dir_ij[..., None] + dmumu * muj
        dmu = scatter_add(dmu, idx_i, dim_size=n_atoms)
        q = q + dq
        mu = mu + dmu
        return q, mu


class PaiNNMixing(nn.Module):
    """Exchange between the numbers and the vectors of one atom."""

    def __init__(self, n_atom_basis: int, activation: Callable[[Tensor], Tensor], epsilon: float = 1e-8) -> None:
        super().__init__()
        self.n_atom_basis, self.epsilon = n_atom_basis, epsilon
        self.intraatomic_context_net = nn.Sequential(
            Dense(2 * n_atom_basis, n_atom_basis, activation=activation),
            Dense(n_atom_basis, 3 * n_atom_basis, activation=None),
        )
        self.mu_channel_mix = Dense(n_atom_basis, 2 * n_atom_basis, activation=None, bias=False)

    def forward(self, q: Tensor, mu: Tensor) -> tuple[Tensor, Tensor]:
        """The numbers and the vectors."""
        mu_mix = self.mu_channel_mix(mu)
        mu_V, mu_W = torch.split(mu_mix, self.n_atom_basis, dim=-1)  # noqa: N806
        mu_Vn = torch.sqrt(torch.sum(mu_V**2, dim=-2, keepdim=True) + self.epsilon)  # noqa: N806
        ctx = torch.cat([q, mu_Vn], dim=-1)
        x = self.intraatomic_context_net(ctx)
        dq_intra, dmu_intra, dqmu_intra = torch.split(x, self.n_atom_basis, dim=-1)
        dmu_intra = dmu_intra * mu_W
        dqmu_intra = dqmu_intra * torch.sum(mu_V * mu_W, dim=1, keepdim=True)
        q = q + dq_intra + dqmu_intra
        mu = mu + dmu_intra
        return q, mu


class PaiNN(nn.Module):
    """Numbers and vectors of each atom."""

    def __init__(
        self, n_atom_basis: int, n_interactions: int, radial_basis: GaussianRBF, cutoff_fn: nn.Module,
        activation: Callable[[Tensor], Tensor] = F.silu, max_z: int = 20, shared_interactions: bool = False,
        shared_filters: bool = False,
    ) -> None:  # fmt: skip
        super().__init__()
        self.n_atom_basis, self.n_interactions = n_atom_basis, n_interactions
        self.cutoff_fn, self.radial_basis, self.share_filters = cutoff_fn, radial_basis, shared_filters
        self.embedding = nn.Embedding(max_z, n_atom_basis, padding_idx=0)
        filters = 3 * n_atom_basis if shared_filters else n_interactions * n_atom_basis * 3
        self.filter_net = Dense(radial_basis.n_rbf, filters, activation=None)
        self.interactions = replicate_module(
            lambda: PaiNNInteraction(n_atom_basis, activation), n_interactions, shared_interactions
        )
        self.mixing = replicate_module(
            lambda: PaiNNMixing(n_atom_basis, activation), n_interactions, shared_interactions
        )

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """The molecule, with the numbers and the vectors."""
        atomic_numbers, r_ij = inputs[properties.Z], inputs[properties.Rij]
        idx_i, idx_j = inputs[properties.idx_i], inputs[properties.idx_j]
        n_atoms = atomic_numbers.shape[0]
        # compute atom and pair features
        d_ij = torch.norm(r_ij, dim=1, keepdim=True)
        dir_ij = r_ij / d_ij
        phi_ij = self.radial_basis(d_ij)
        fcut = self.cutoff_fn(d_ij)
        filters = self.filter_net(phi_ij) * fcut[..., None]
        if self.share_filters:
            filter_list = [filters] * self.n_interactions
        else:
            filter_list = list(torch.split(filters, 3 * self.n_atom_basis, dim=-1))
        q = self.embedding(atomic_numbers)[:, None]
        qs = q.shape
        mu = torch.zeros((qs[0], 3, qs[2]))
        for i, (interaction, mixing) in enumerate(zip(self.interactions, self.mixing, strict=True)):
            q, mu = interaction(q, mu, filter_list[i], dir_ij, idx_i, idx_j, n_atoms)
            q, mu = mixing(q, mu)
        inputs["scalar_representation"] = q.squeeze(1)
        inputs["vector_representation"] = mu
        return inputs


class PairwiseDistances(nn.Module):
    """The vectors between neighbours."""

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """The molecule, with the vectors."""
        R, idx_i, idx_j = inputs[properties.R], inputs[properties.idx_i], inputs[properties.idx_j]  # noqa: N806
        inputs[properties.Rij] = R[idx_j] - R[idx_i]
        return inputs


class Atomwise(nn.Module):
    """An energy, as a sum over atoms."""

    def __init__(self, n_in: int, output_key: str = properties.energy, aggregation_mode: str = "sum") -> None:
        super().__init__()
        self.output_key, self.aggregation_mode = output_key, aggregation_mode
        self.outnet = nn.Sequential(Dense(n_in, n_in // 2, activation=F.silu), Dense(n_in // 2, 1))

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """The molecules, with their energies."""
        y = self.outnet(inputs["scalar_representation"])
        if self.aggregation_mode is not None:
            idx_m = inputs[properties.idx_m]
            y = scatter_add(y, idx_m, dim_size=int(idx_m[-1]) + 1)
            y = torch.squeeze(y, -1)
            if self.aggregation_mode == "avg":
                y = y / inputs[properties.n_atoms]
        inputs[self.output_key] = y
        return inputs


class GatedEquivariantBlock(nn.Module):
    """Numbers and vectors, of which the numbers are a gate."""

    def __init__(self, n_sin: int, n_vin: int, n_sout: int, n_vout: int, n_hidden: int, last: bool = False) -> None:
        super().__init__()
        self.n_sout, self.n_vout = n_sout, n_vout
        self.mix_vectors = Dense(n_vin, 2 * n_vout, bias=False)
        self.scalar_net = nn.Sequential(
            Dense(n_sin + n_vout, n_hidden, activation=F.silu), Dense(n_hidden, n_sout + n_vout)
        )
        self.sactivation = None if last else F.silu

    def forward(self, inputs: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """The numbers and the vectors."""
        scalars, vectors = inputs
        vmix = self.mix_vectors(vectors)
        vectors_V, vectors_W = torch.split(vmix, self.n_vout, dim=-1)  # noqa: N806
        vectors_Vn = torch.norm(vectors_V, dim=-2)  # noqa: N806
        ctx = torch.cat([scalars, vectors_Vn], dim=-1)
        x = self.scalar_net(ctx)
        s_out, x = torch.split(x, [self.n_sout, self.n_vout], dim=-1)
        v_out = x.unsqueeze(-2) * vectors_W
        if self.sactivation:
            s_out = self.sactivation(s_out)
        return s_out, v_out


class DipoleMoment(nn.Module):
    """The dipole of a molecule, from charges and dipoles of its atoms."""

    def __init__(self, n_in: int, predict_magnitude: bool = False, dipole_key: str = properties.dipole_moment) -> None:
        super().__init__()
        self.predict_magnitude, self.dipole_key = predict_magnitude, dipole_key
        self.outnet = nn.Sequential(
            GatedEquivariantBlock(n_in, n_in, n_in // 2, n_in // 2, n_in),
            GatedEquivariantBlock(n_in // 2, n_in // 2, 1, 1, n_in // 2, last=True),
        )

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """The molecules, with their dipoles."""
        positions, idx_m = inputs[properties.R], inputs[properties.idx_m]
        l0, l1 = inputs["scalar_representation"], inputs["vector_representation"]
        charges, atomic_dipoles = self.outnet((l0, l1))
        atomic_dipoles = torch.squeeze(atomic_dipoles, -1)
        y = positions * charges + atomic_dipoles
        y = scatter_add(y, idx_m, dim_size=int(idx_m[-1]) + 1)
        if self.predict_magnitude:
            y = torch.norm(y, dim=1, keepdim=False)
        inputs[self.dipole_key] = y
        return inputs


class NeuralNetworkPotential(nn.Module):
    """Modules that add to a molecule before, a representation, and modules that read it."""

    def __init__(
        self, representation: nn.Module, input_modules: list[nn.Module], output_modules: list[nn.Module],
        model_outputs: Sequence[str],
    ) -> None:  # fmt: skip
        super().__init__()
        self.representation = representation
        self.input_modules, self.output_modules = nn.ModuleList(input_modules), nn.ModuleList(output_modules)
        self.model_outputs = model_outputs

    def forward(self, inputs: dict[str, Tensor]) -> dict[str, Tensor]:
        """Properties of molecules."""
        inputs = dict(inputs)
        for m in self.input_modules:
            inputs = m(inputs)
        inputs = self.representation(inputs)
        for m in self.output_modules:
            inputs = m(inputs)
        return {k: inputs[k] for k in self.model_outputs}


def _painn() -> nn.Module:
    cutoff = 5.0
    representation = PaiNN(32, 3, GaussianRBF(n_rbf=20, cutoff=cutoff), CosineCutoff(cutoff))
    outputs: list[nn.Module] = [Atomwise(n_in=32), DipoleMoment(n_in=32, predict_magnitude=True)]
    return NeuralNetworkPotential(representation, [PairwiseDistances()], outputs, ("energy", "dipole_moment"))


def _molecules() -> dict[str, Tensor]:
    idx_m = torch.tensor([0] * 5 + [1] * 4)
    idx_i, idx_j = torch.nonzero((idx_m[:, None] == idx_m) & ~torch.eye(9, dtype=torch.bool), as_tuple=True)
    return {
        **{properties.Z: torch.randint(1, 10, (9,)), properties.R: torch.randn(9, 3), properties.idx_m: idx_m},
        **{properties.idx_i: idx_i, properties.idx_j: idx_j, properties.n_atoms: torch.tensor([5, 4])},
    }


class Conv1D(nn.Module):
    """A layer whose weight is the other way round."""

    def __init__(self, nf: int, nx: int) -> None:
        super().__init__()
        self.nf = nf
        w = torch.empty(nx, nf)
        nn.init.normal_(w, std=0.02)
        self.weight, self.bias = nn.Parameter(w), nn.Parameter(torch.zeros(nf))

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        size_out = (*x.size()[:-1], self.nf)
        x = torch.addmm(self.bias, x.view(-1, x.size(-1)), self.weight)
        return x.view(*size_out)


@dataclass
class GPT2Config:
    """Sizes of the transformer."""

    n_embd: int = 32
    n_layer: int = 3
    n_head: int = 2
    n_inner: int | None = None
    n_ctx: int = 1024
    activation_function: str = "relu"
    resid_pdrop: float = 0.1
    attn_pdrop: float = 0.1
    layer_norm_epsilon: float = 1e-5


class GPT2Attention(nn.Module):
    """Attention to what came before."""

    bias: Tensor
    masked_bias: Tensor

    def __init__(self, nx: int, n_ctx: int, config: GPT2Config, scale: bool = False) -> None:
        super().__init__()
        n_state = nx
        assert n_state % config.n_head == 0
        mask = torch.tril(torch.ones((n_ctx, n_ctx), dtype=torch.uint8)).view(1, 1, n_ctx, n_ctx)
        self.register_buffer("bias", mask)
        self.register_buffer("masked_bias", torch.tensor(-1e4))
        self.n_head, self.split_size, self.scale = config.n_head, n_state, scale
        self.c_attn, self.c_proj = Conv1D(3 * n_state, nx), Conv1D(n_state, nx)
        self.attn_dropout, self.resid_dropout = nn.Dropout(config.attn_pdrop), nn.Dropout(config.resid_pdrop)

    def _attn(self, q: Tensor, k: Tensor, v: Tensor, attention_mask: Tensor | None) -> Tensor:
        w = torch.matmul(q, k)
        if self.scale:
            w = w / (float(v.size(-1)) ** 0.5)
        nd, ns = w.size(-2), w.size(-1)
        mask = self.bias[:, :, ns - nd : ns, :ns]
        w = torch.where(mask.bool(), w, self.masked_bias.to(w.dtype))
        if attention_mask is not None:
            w = w + attention_mask
        w = nn.Softmax(dim=-1)(w)
        w = self.attn_dropout(w)
        return torch.matmul(w, v)

    def merge_heads(self, x: Tensor) -> Tensor:
        """Heads beside one another."""
        x = x.permute(0, 2, 1, 3).contiguous()
        return x.view(*x.size()[:-2], x.size(-2) * x.size(-1))

    def split_heads(self, x: Tensor, k: bool = False) -> Tensor:
        """Heads apart; keys the other way round."""
        x = x.view(*x.size()[:-1], self.n_head, x.size(-1) // self.n_head)
        return x.permute(0, 2, 3, 1) if k else x.permute(0, 2, 1, 3)

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, use_cache: bool = False
    ) -> tuple[Tensor, tuple[Tensor, Tensor] | None]:
        """Features, and keys and values if they are kept."""
        query, key, value = self.c_attn(hidden_states).split(self.split_size, dim=2)
        query = self.split_heads(query)
        key = self.split_heads(key, k=True)
        value = self.split_heads(value)
        present = (key.transpose(-2, -1), value) if use_cache else None
        a = self._attn(query, key, value, attention_mask)
        a = self.merge_heads(a)
        a = self.c_proj(a)
        a = self.resid_dropout(a)
        return a, present


class GPT2MLP(nn.Module):
    """Two layers of each token."""

    def __init__(self, n_state: int, config: GPT2Config) -> None:
        super().__init__()
        nx = config.n_embd
        self.c_fc, self.c_proj = Conv1D(n_state, nx), Conv1D(nx, n_state)
        acts: dict[str, Callable[[Tensor], Tensor]] = {"relu": F.relu, "gelu": F.gelu}
        self.act = acts[config.activation_function]
        self.dropout = nn.Dropout(config.resid_pdrop)

    def forward(self, x: Tensor) -> Tensor:
        """Features."""
        h = self.act(self.c_fc(x))
        h2 = self.c_proj(h)
        return self.dropout(h2)


class GPT2Block(nn.Module):
    """Attention and a feed-forward layer."""

    def __init__(self, n_ctx: int, config: GPT2Config, scale: bool = False) -> None:
        super().__init__()
        hidden_size = config.n_embd
        inner_dim = config.n_inner if config.n_inner is not None else 4 * hidden_size
        self.ln_1 = nn.LayerNorm(hidden_size, eps=config.layer_norm_epsilon)
        self.attn = GPT2Attention(hidden_size, n_ctx, config, scale)
        self.ln_2 = nn.LayerNorm(hidden_size, eps=config.layer_norm_epsilon)
        self.mlp = GPT2MLP(inner_dim, config)

    def forward(
        self, hidden_states: Tensor, attention_mask: Tensor | None = None, use_cache: bool = False
    ) -> tuple[Tensor, Any]:
        """Features, and keys and values if they are kept."""
        attn_outputs = self.attn(self.ln_1(hidden_states), attention_mask=attention_mask, use_cache=use_cache)
        attn_output = attn_outputs[0]
        outputs = attn_outputs[1:]
        # residual connection
        hidden_states = attn_output + hidden_states
        feed_forward_hidden_states = self.mlp(self.ln_2(hidden_states))
        hidden_states = hidden_states + feed_forward_hidden_states
        return hidden_states, *outputs


class GPT2Model(nn.Module):
    """A transformer without places: those are added before."""

    def __init__(self, config: GPT2Config) -> None:
        super().__init__()
        self.drop = nn.Dropout(0.1)
        self.h = nn.ModuleList([GPT2Block(config.n_ctx, config, scale=True) for _ in range(config.n_layer)])
        self.ln_f = nn.LayerNorm(config.n_embd, eps=config.layer_norm_epsilon)

    def forward(
        self, inputs_embeds: Tensor, attention_mask: Tensor | None = None, output_hidden_states: bool = False,
        use_cache: bool = False,
    ) -> dict[str, Any]:  # fmt: skip
        """The last features, and what else is asked for."""
        if attention_mask is not None:
            attention_mask = attention_mask.view(inputs_embeds.shape[0], -1)
            attention_mask = attention_mask[:, None, None, :]
            attention_mask = (1.0 - attention_mask.to(inputs_embeds.dtype)) * -10000.0
        hidden_states = self.drop(inputs_embeds)
        presents: tuple[Any, ...] | None = () if use_cache else None
        all_hidden_states: tuple[Tensor, ...] | None = () if output_hidden_states else None
        for block in self.h:
            if all_hidden_states is not None:
                all_hidden_states = (*all_hidden_states, hidden_states)
            outputs = block(hidden_states, attention_mask=attention_mask, use_cache=use_cache)
            hidden_states, present = outputs[:2]
            if presents is not None:
                presents = (*presents, present)
        hidden_states = self.ln_f(hidden_states)
        result = {"last_hidden_state": hidden_states, "past": presents, "hidden_states": all_hidden_states}
        return {k: v for k, v in result.items() if v is not None}


class TrajectoryModel(nn.Module):
    """What has states, actions and rewards."""

    def __init__(self, state_dim: int, act_dim: int, max_length: int | None = None) -> None:
        super().__init__()
        self.state_dim, self.act_dim, self.max_length = state_dim, act_dim, max_length


class DecisionTransformer(TrajectoryModel):
    """Which action leads to a return, from returns, states and actions before, each a token."""

    def __init__(
        self, state_dim: int, act_dim: int, hidden_size: int, max_length: int | None = None, max_ep_len: int = 100,
        action_tanh: bool = True, **kwargs: Any,
    ) -> None:  # fmt: skip
        super().__init__(state_dim, act_dim, max_length=max_length)
        self.hidden_size = hidden_size
        config = GPT2Config(n_embd=hidden_size, **kwargs)
        self.transformer = GPT2Model(config)
        self.embed_timestep = nn.Embedding(max_ep_len, hidden_size)
        self.embed_return = nn.Linear(1, hidden_size)
        self.embed_state = nn.Linear(self.state_dim, hidden_size)
        self.embed_action = nn.Linear(self.act_dim, hidden_size)
        self.embed_ln = nn.LayerNorm(hidden_size)
        # note: we don't predict states or returns for the paper
        self.predict_state = nn.Linear(hidden_size, self.state_dim)
        self.predict_action = nn.Sequential(
            *([nn.Linear(hidden_size, self.act_dim)] + ([nn.Tanh()] if action_tanh else []))
        )
        self.predict_return = nn.Linear(hidden_size, 1)

    def forward(
        self, states: Tensor, actions: Tensor, rewards: Tensor, returns_to_go: Tensor, timesteps: Tensor,
        attention_mask: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
        """The next states, actions and returns."""
        batch_size, seq_length = states.shape[0], states.shape[1]
        if attention_mask is None:
            # attention mask for GPT: 1 if can be attended to, 0 if not
            attention_mask = torch.ones((batch_size, seq_length), dtype=torch.long)
        # embed each modality with a different head
        state_embeddings = self.embed_state(states)
        action_embeddings = self.embed_action(actions)
        returns_embeddings = self.embed_return(returns_to_go)
        time_embeddings = self.embed_timestep(timesteps)
        # time embeddings are treated similar to positional embeddings
        state_embeddings = state_embeddings + time_embeddings
        action_embeddings = action_embeddings + time_embeddings
        returns_embeddings = returns_embeddings + time_embeddings
        # this makes the sequence look like (R_1, s_1, a_1, R_2, s_2, a_2, ...)
        stacked_inputs = torch.stack((returns_embeddings, state_embeddings, action_embeddings), dim=1)
        stacked_inputs = stacked_inputs.permute(0, 2, 1, 3).reshape(batch_size, 3 * seq_length, self.hidden_size)
        stacked_inputs = self.embed_ln(stacked_inputs)
        # to make the attention mask fit the stacked inputs, have to stack it as well
        stacked_attention_mask = torch.stack((attention_mask, attention_mask, attention_mask), dim=1)
        stacked_attention_mask = stacked_attention_mask.permute(0, 2, 1).reshape(batch_size, 3 * seq_length)
        transformer_outputs = self.transformer(inputs_embeds=stacked_inputs, attention_mask=stacked_attention_mask)
        x = transformer_outputs["last_hidden_state"]
        # returns (0), states (1), or actions (2)
        x = x.reshape(batch_size, seq_length, 3, self.hidden_size).permute(0, 2, 1, 3)
        return_preds = self.predict_return(x[:, 2])
        state_preds = self.predict_state(x[:, 2])
        action_preds = self.predict_action(x[:, 1])
        return state_preds, action_preds, return_preds


def _mask() -> Tensor:
    return (torch.arange(6) >= torch.tensor([[0], [2]])).long()


class GraphConv(nn.Module):
    """A convolution over graphs whose edges are matrices."""

    def __init__(
        self, input_dim: int, output_dim: int, add_self: bool = False, normalize_embedding: bool = False,
        dropout: float = 0.0, bias: bool = True,
    ) -> None:  # fmt: skip
        super().__init__()
        self.add_self, self.dropout, self.normalize_embedding = add_self, dropout, normalize_embedding
        if dropout > 0.001:
            self.dropout_layer = nn.Dropout(p=dropout)
        self.weight = nn.Parameter(torch.empty(input_dim, output_dim))
        nn.init.xavier_uniform_(self.weight, gain=nn.init.calculate_gain("relu"))
        self.bias = nn.Parameter(torch.zeros(output_dim)) if bias else None

    def forward(self, x: Tensor, adj: Tensor) -> Tensor:
        """Features of nodes."""
        if self.dropout > 0.001:
            x = self.dropout_layer(x)
        y = torch.matmul(adj, x)
        if self.add_self:
            y += x
        y = torch.matmul(y, self.weight)
        if self.bias is not None:
            y = y + self.bias
        if self.normalize_embedding:
            y = F.normalize(y, p=2, dim=2)
        return y


class GcnEncoderGraph(nn.Module):
    """Scores of graphs, from the largest features of their nodes after each layer."""

    def __init__(
        self, input_dim: int, hidden_dim: int, embedding_dim: int, label_dim: int, num_layers: int,
        pred_hidden_dims: Sequence[int] = (), concat: bool = True, bn: bool = True, dropout: float = 0.0,
    ) -> None:  # fmt: skip
        super().__init__()
        self.concat, self.bn, self.num_layers, self.num_aggs, self.bias = concat, bn, num_layers, 1, True
        self.conv_first, self.conv_block, self.conv_last = self.build_conv_layers(
            input_dim, hidden_dim, embedding_dim, num_layers, add_self=not concat, normalize=True, dropout=dropout
        )
        self.act = nn.ReLU()
        self.label_dim = label_dim
        self.pred_input_dim = hidden_dim * (num_layers - 1) + embedding_dim if concat else embedding_dim
        self.pred_model = self.build_pred_layers(self.pred_input_dim, pred_hidden_dims, label_dim, self.num_aggs)

    def build_conv_layers(
        self, input_dim: int, hidden_dim: int, embedding_dim: int, num_layers: int, add_self: bool,
        normalize: bool = False, dropout: float = 0.0,
    ) -> tuple[GraphConv, nn.ModuleList, GraphConv]:  # fmt: skip
        """The first convolution, those between, and the last."""
        conv_first = GraphConv(input_dim, hidden_dim, add_self, normalize, bias=self.bias)
        conv_block = nn.ModuleList(
            [GraphConv(hidden_dim, hidden_dim, add_self, normalize, dropout, self.bias) for _ in range(num_layers - 2)]
        )
        conv_last = GraphConv(hidden_dim, embedding_dim, add_self, normalize, bias=self.bias)
        return conv_first, conv_block, conv_last

    def build_pred_layers(
        self, pred_input_dim: int, pred_hidden_dims: Sequence[int], label_dim: int, num_aggs: int = 1
    ) -> nn.Module:
        """What makes scores of features."""
        pred_input_dim = pred_input_dim * num_aggs
        if len(pred_hidden_dims) == 0:
            return nn.Linear(pred_input_dim, label_dim)
        pred_layers: list[nn.Module] = []
        for pred_dim in pred_hidden_dims:
            pred_layers.append(nn.Linear(pred_input_dim, pred_dim))
            pred_layers.append(self.act)
            pred_input_dim = pred_dim
        pred_layers.append(nn.Linear(pred_input_dim, label_dim))
        return nn.Sequential(*pred_layers)

    def construct_mask(self, max_nodes: int, batch_num_nodes: Sequence[int]) -> Tensor:
        """Which of the rows are nodes."""
        packed_masks = [torch.ones(int(num)) for num in batch_num_nodes]
        out_tensor = torch.zeros(len(batch_num_nodes), max_nodes)
        for i, mask in enumerate(packed_masks):
            out_tensor[i, : batch_num_nodes[i]] = mask
        return out_tensor.unsqueeze(2)

    def apply_bn(self, x: Tensor) -> Tensor:
        """Features normed for each node, by a norm made for this call."""
        bn_module = nn.BatchNorm1d(x.size()[1])
        return bn_module(x)

    def gcn_forward(
        self, x: Tensor, adj: Tensor, conv_first: nn.Module, conv_block: nn.ModuleList, conv_last: nn.Module,
        embedding_mask: Tensor | None = None,
    ) -> Tensor:  # fmt: skip
        """Features of nodes after all layers, beside one another."""
        x = conv_first(x, adj)
        x = self.act(x)
        if self.bn:
            x = self.apply_bn(x)
        x_all = [x]
        for i in range(len(conv_block)):
            x = conv_block[i](x, adj)
            x = self.act(x)
            if self.bn:
                x = self.apply_bn(x)
            x_all.append(x)
        x = conv_last(x, adj)
        x_all.append(x)
        x_tensor = torch.cat(x_all, dim=2)
        if embedding_mask is not None:
            x_tensor = x_tensor * embedding_mask
        return x_tensor


class SoftPoolingGcnEncoder(GcnEncoderGraph):
    """Scores of graphs, which become smaller: a second net says to which new node each node belongs."""

    def __init__(
        self, max_num_nodes: int, input_dim: int, hidden_dim: int, embedding_dim: int, label_dim: int,
        num_layers: int, assign_hidden_dim: int, assign_ratio: float = 0.25, assign_num_layers: int = -1,
        num_pooling: int = 1, pred_hidden_dims: Sequence[int] = (50,), linkpred: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(input_dim, hidden_dim, embedding_dim, label_dim, num_layers, pred_hidden_dims)
        self.num_pooling, self.linkpred, self.assign_ent = num_pooling, linkpred, True
        # GC
        self.conv_first_after_pool, self.conv_last_after_pool = nn.ModuleList(), nn.ModuleList()
        self.conv_block_after_pool = nn.ModuleList()
        for _ in range(num_pooling):
            conv_first2, conv_block2, conv_last2 = self.build_conv_layers(
                self.pred_input_dim, hidden_dim, embedding_dim, num_layers, add_self=False, normalize=True
            )
            self.conv_first_after_pool.append(conv_first2)
            self.conv_block_after_pool.append(conv_block2)
            self.conv_last_after_pool.append(conv_last2)
        # assignment
        if assign_num_layers == -1:
            assign_num_layers = num_layers
        self.assign_conv_first_modules, self.assign_conv_block_modules = nn.ModuleList(), nn.ModuleList()
        self.assign_conv_last_modules, self.assign_pred_modules = nn.ModuleList(), nn.ModuleList()
        assign_input_dim, assign_dim = input_dim, int(max_num_nodes * assign_ratio)
        for _ in range(num_pooling):
            assign_conv_first, assign_conv_block, assign_conv_last = self.build_conv_layers(
                assign_input_dim, assign_hidden_dim, assign_dim, assign_num_layers, add_self=False, normalize=True
            )
            assign_pred_input_dim = assign_hidden_dim * (num_layers - 1) + assign_dim
            self.assign_conv_first_modules.append(assign_conv_first)
            self.assign_conv_block_modules.append(assign_conv_block)
            self.assign_conv_last_modules.append(assign_conv_last)
            self.assign_pred_modules.append(self.build_pred_layers(assign_pred_input_dim, [], assign_dim))
            # next pooling layer
            assign_input_dim = self.pred_input_dim
            assign_dim = int(assign_dim * assign_ratio)
        self.pred_model = self.build_pred_layers(
            self.pred_input_dim * (num_pooling + 1), pred_hidden_dims, label_dim, num_aggs=self.num_aggs
        )

    def forward(
        self, x: Tensor, adj: Tensor, batch_num_nodes: Sequence[int] | None = None, label: Tensor | None = None,
        **kwargs: Tensor,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        """Scores, and the loss where the kinds are known."""
        x_a = kwargs.get("assign_x", x)
        # mask
        max_num_nodes = adj.size()[1]
        embedding_mask = None
        if batch_num_nodes is not None:
            embedding_mask = self.construct_mask(max_num_nodes, batch_num_nodes)
        out_all = []
        embedding_tensor = self.gcn_forward(x, adj, self.conv_first, self.conv_block, self.conv_last, embedding_mask)
        out, _ = torch.max(embedding_tensor, dim=1)
        out_all.append(out)
        original_adj = adj
        for i in range(self.num_pooling):
            mask = embedding_mask if i == 0 else None
            assign_tensor = self.gcn_forward(
                x_a,
                adj,
                self.assign_conv_first_modules[i],
                self.assign_conv_block_modules[i],  # type: ignore[arg-type]
                self.assign_conv_last_modules[i],
                mask,
            )
            # [batch_size x num_nodes x next_lvl_num_nodes]
            assign_tensor = nn.Softmax(dim=-1)(self.assign_pred_modules[i](assign_tensor))
            if mask is not None:
                assign_tensor = assign_tensor * mask
            if i == 0:
                self.assign_tensor = assign_tensor
            # update pooled features and adj matrix
            x = torch.matmul(torch.transpose(assign_tensor, 1, 2), embedding_tensor)
            adj = torch.transpose(assign_tensor, 1, 2) @ adj @ assign_tensor
            x_a = x
            embedding_tensor = self.gcn_forward(
                x,
                adj,
                self.conv_first_after_pool[i],
                self.conv_block_after_pool[i],  # type: ignore[arg-type]
                self.conv_last_after_pool[i],
            )
            out, _ = torch.max(embedding_tensor, dim=1)
            out_all.append(out)
        output = torch.cat(out_all, dim=1) if self.concat else out
        ypred = self.pred_model(output)
        if label is None:
            return ypred, None
        return ypred, self.loss(ypred, label, original_adj, batch_num_nodes)

    def loss(self, pred: Tensor, label: Tensor, adj: Tensor, batch_num_nodes: Sequence[int] | None) -> Tensor:
        """The loss of the kinds, and of how well nodes that belong together have edges."""
        eps = 1e-7
        loss = F.cross_entropy(pred, label, reduction="mean")
        if self.linkpred:
            max_num_nodes = adj.size()[1]
            pred_adj = self.assign_tensor @ torch.transpose(self.assign_tensor, 1, 2)
            pred_adj = torch.min(pred_adj, torch.ones(1, dtype=pred_adj.dtype))
            link_loss = -adj * torch.log(pred_adj + eps) - (1 - adj) * torch.log(1 - pred_adj + eps)
            if batch_num_nodes is None:
                num_entries = max_num_nodes * max_num_nodes * adj.size()[0]
            else:
                num_entries = int(np.sum([n * n for n in batch_num_nodes]))
                embedding_mask = self.construct_mask(max_num_nodes, batch_num_nodes)
                adj_mask = embedding_mask @ torch.transpose(embedding_mask, 1, 2)
                link_loss = link_loss * adj_mask
            self.link_loss = torch.sum(link_loss) / float(num_entries)
            return loss + self.link_loss
        return loss


def _diffpool() -> nn.Module:
    return SoftPoolingGcnEncoder(12, 5, 16, 16, 2, 3, assign_hidden_dim=16, assign_ratio=0.5, num_pooling=2)


def _adjacency() -> Tensor:
    upper = torch.triu(torch.rand(2, 12, 12) > 0.6, diagonal=1).float()
    upper[1, :, 9:] = 0
    return upper + upper.transpose(1, 2)


class Ensure4d(nn.Module):
    """An input with four dimensions."""

    def forward(self, x: Tensor) -> Tensor:
        """The input, with dimensions of one behind where they are missing."""
        while len(x.shape) < 4:
            x = x.unsqueeze(-1)
        return x


class Expression(nn.Module):
    """A function as a layer."""

    def __init__(self, expression_fn: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.expression_fn = expression_fn

    def forward(self, *x: Tensor) -> Tensor:
        """What the function gives."""
        return self.expression_fn(*x)

    def __repr__(self) -> str:
        return f"{self.__class__.__name__}(expression={self.expression_fn.__name__})"


class Conv2dWithConstraint(nn.Conv2d):
    """A convolution whose weights are not longer than allowed."""

    def __init__(self, *args: Any, max_norm: float = 1, **kwargs: Any) -> None:
        self.max_norm = max_norm
        super().__init__(*args, **kwargs)

    def forward(self, input: Tensor) -> Tensor:  # noqa: A002
        """Features."""
        self.weight.data = torch.renorm(self.weight.data, p=2, dim=0, maxnorm=self.max_norm)
        return super().forward(input)


def _transpose_to_b_1_c_0(x: Tensor) -> Tensor:
    return x.permute(0, 3, 1, 2)


def _squeeze_final_output(x: Tensor) -> Tensor:
    """A score of each kind, or one of each kind and time."""
    assert x.size()[3] == 1
    x = x[:, :, :, 0]
    if x.size()[2] == 1:
        x = x[:, :, 0]
    return x


def glorot_weight_zero_bias(model: nn.Module) -> None:
    """Weights as in Keras."""
    for module in model.modules():
        weight: Any = getattr(module, "weight", None)
        if weight is not None:
            if "BatchNorm" not in module.__class__.__name__:
                nn.init.xavier_uniform_(weight, gain=1)
            else:
                nn.init.constant_(weight, 1)
        bias: Any = getattr(module, "bias", None)
        if bias is not None:
            nn.init.constant_(bias, 0)


class EEGNetv4(nn.Sequential):
    """Kinds of brain waves: filters of time, then of place, then of both."""

    def __init__(
        self, in_chans: int, n_classes: int, input_window_samples: int, final_conv_length: int | str = "auto",
        pool_mode: str = "mean", F1: int = 8, D: int = 2, F2: int = 16,  # noqa: N803 - their names in the paper
        kernel_length: int = 64, third_kernel_size: tuple[int, int] = (8, 4), drop_prob: float = 0.25,
    ) -> None:  # fmt: skip
        super().__init__()
        if final_conv_length == "auto":
            assert input_window_samples is not None
        self.in_chans, self.n_classes, self.input_window_samples = in_chans, n_classes, input_window_samples
        pool_class: Any = {"max": nn.MaxPool2d, "mean": nn.AvgPool2d}[pool_mode]
        self.add_module("ensuredims", Ensure4d())
        self.add_module("dimshuffle", Expression(_transpose_to_b_1_c_0))
        self.add_module(
            "conv_temporal",
            nn.Conv2d(1, F1, (1, kernel_length), stride=1, bias=False, padding=(0, kernel_length // 2)),
        )
        self.add_module("bnorm_temporal", nn.BatchNorm2d(F1, momentum=0.01, affine=True, eps=1e-3))
        self.add_module(
            "conv_spatial",
            Conv2dWithConstraint(F1, F1 * D, (in_chans, 1), max_norm=1, stride=1, bias=False, groups=F1, padding=0),
        )
        self.add_module("bnorm_1", nn.BatchNorm2d(F1 * D, momentum=0.01, affine=True, eps=1e-3))
        self.add_module("elu_1", Expression(F.elu))
        self.add_module("pool_1", pool_class(kernel_size=(1, 4), stride=(1, 4)))
        self.add_module("drop_1", nn.Dropout(p=drop_prob))
        # https://discuss.pytorch.org/t/how-to-modify-a-conv2d-to-depthwise-separable-convolution/15843/7
        self.add_module(
            "conv_separable_depth",
            nn.Conv2d(F1 * D, F1 * D, (1, 16), stride=1, bias=False, groups=F1 * D, padding=(0, 16 // 2)),
        )
        self.add_module("conv_separable_point", nn.Conv2d(F1 * D, F2, (1, 1), stride=1, bias=False, padding=(0, 0)))
        self.add_module("bnorm_2", nn.BatchNorm2d(F2, momentum=0.01, affine=True, eps=1e-3))
        self.add_module("elu_2", Expression(F.elu))
        self.add_module("pool_2", pool_class(kernel_size=(1, 8), stride=(1, 8)))
        self.add_module("drop_2", nn.Dropout(p=drop_prob))
        with torch.no_grad():
            self.eval()
            out = self(torch.ones((1, in_chans, input_window_samples, 1)))
            self.train()
        n_out_virtual_chans = out.shape[2]
        if final_conv_length == "auto":
            final_conv_length = out.shape[3]
        self.add_module("conv_classifier", nn.Conv2d(F2, n_classes, (n_out_virtual_chans, int(final_conv_length))))
        self.add_module("softmax", nn.LogSoftmax(dim=1))
        # Transpose back to the logic of the other models: 2d convolutions over time
        self.add_module("permute_back", Expression(lambda x: x.permute(0, 1, 3, 2)))
        self.add_module("squeeze", Expression(_squeeze_final_output))
        glorot_weight_zero_bias(self)


def FFT_for_Period(x: Tensor, k: int = 2) -> tuple[Any, Tensor]:  # noqa: N802 - its name in the repository
    """The strongest periods of a series, and how strong they are."""
    # [B, T, C]
    xf = torch.fft.rfft(x, dim=1)
    # find period by amplitudes
    frequency_list = abs(xf).mean(0).mean(-1)
    frequency_list[0] = 0
    _, top = torch.topk(frequency_list, k)
    top_list = top.detach().cpu().numpy()
    period = x.shape[1] // top_list
    return period, abs(xf).mean(-1)[:, top_list]


class Inception_Block_V1(nn.Module):  # noqa: N801 - its name in the repository
    """Convolutions with kernels of several sizes, and their mean."""

    def __init__(self, in_channels: int, out_channels: int, num_kernels: int = 6, init_weight: bool = True) -> None:
        super().__init__()
        self.in_channels, self.out_channels, self.num_kernels = in_channels, out_channels, num_kernels
        kernels = []
        for i in range(self.num_kernels):
            kernels.append(nn.Conv2d(in_channels, out_channels, kernel_size=2 * i + 1, padding=i))  # noqa: PERF401
        self.kernels = nn.ModuleList(kernels)
        if init_weight:
            self._initialize_weights()

    def _initialize_weights(self) -> None:
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
                if m.bias is not None:
                    nn.init.constant_(m.bias, 0)

    def forward(self, x: Tensor) -> Tensor:
        """The mean."""
        res_list = []
        for i in range(self.num_kernels):
            res_list.append(self.kernels[i](x))  # noqa: PERF401 - as the repository has it
        return torch.stack(res_list, dim=-1).mean(-1)


class PositionalEmbedding(nn.Module):
    """Waves of places."""

    pe: Tensor

    def __init__(self, d_model: int, max_len: int = 500) -> None:
        super().__init__()
        pe = torch.zeros(max_len, d_model).float()
        position = torch.arange(0, max_len).float().unsqueeze(1)
        div_term = (torch.arange(0, d_model, 2).float() * -(math.log(10000.0) / d_model)).exp()
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: Tensor) -> Tensor:
        """As many as are needed."""
        return self.pe[:, : x.size(1)]


class TokenEmbedding(nn.Module):
    """Features of each time and of its neighbours."""

    def __init__(self, c_in: int, d_model: int) -> None:
        super().__init__()
        self.tokenConv = nn.Conv1d(c_in, d_model, kernel_size=3, padding=1, padding_mode="circular", bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """The features."""
        return self.tokenConv(x.permute(0, 2, 1)).transpose(1, 2)


class TemporalEmbedding(nn.Module):
    """Vectors of months, days and hours."""

    def __init__(self, d_model: int, embed_type: str = "fixed", freq: str = "h") -> None:
        super().__init__()
        minute_size, hour_size, weekday_size, day_size, month_size = 4, 24, 7, 32, 13
        if freq == "t":
            self.minute_embed = nn.Embedding(minute_size, d_model)
        self.hour_embed = nn.Embedding(hour_size, d_model)
        self.weekday_embed = nn.Embedding(weekday_size, d_model)
        self.day_embed = nn.Embedding(day_size, d_model)
        self.month_embed = nn.Embedding(month_size, d_model)
        if embed_type == "fixed":
            for embed in self.children():
                assert isinstance(embed, nn.Embedding)
                embed.weight.requires_grad = False

    def forward(self, x: Tensor) -> Tensor:
        """Their sum."""
        x = x.long()
        minute_x = self.minute_embed(x[:, :, 4]) if hasattr(self, "minute_embed") else 0.0
        hour_x = self.hour_embed(x[:, :, 3])
        weekday_x = self.weekday_embed(x[:, :, 2])
        day_x = self.day_embed(x[:, :, 1])
        month_x = self.month_embed(x[:, :, 0])
        return hour_x + weekday_x + day_x + month_x + minute_x


class DataEmbedding(nn.Module):
    """Features of values, dates and places."""

    def __init__(self, c_in: int, d_model: int, embed_type: str, freq: str, dropout: float) -> None:
        super().__init__()
        self.value_embedding = TokenEmbedding(c_in=c_in, d_model=d_model)
        self.position_embedding = PositionalEmbedding(d_model=d_model)
        self.temporal_embedding = TemporalEmbedding(d_model=d_model, embed_type=embed_type, freq=freq)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x: Tensor, x_mark: Tensor | None) -> Tensor:
        """Their sum."""
        if x_mark is None:
            x = self.value_embedding(x) + self.position_embedding(x)
        else:
            x = self.value_embedding(x) + self.temporal_embedding(x_mark) + self.position_embedding(x)
        return self.dropout(x)


class TimesBlock(nn.Module):
    """A series as an image of each of its periods: within a period one way, between periods the other."""

    def __init__(self, configs: SimpleNamespace) -> None:
        super().__init__()
        self.seq_len, self.pred_len, self.k = configs.seq_len, configs.pred_len, configs.top_k
        # parameter-efficient design
        self.conv = nn.Sequential(
            Inception_Block_V1(configs.d_model, configs.d_ff, num_kernels=configs.num_kernels),
            nn.GELU(),
            Inception_Block_V1(configs.d_ff, configs.d_model, num_kernels=configs.num_kernels),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Features of the same length."""
        B, T, N = x.size()  # noqa: N806
        period_list, period_weight = FFT_for_Period(x, self.k)
        res_list = []
        for i in range(self.k):
            period = int(period_list[i])
            # padding
            if (self.seq_len + self.pred_len) % period != 0:
                length = (((self.seq_len + self.pred_len) // period) + 1) * period
                padding = torch.zeros([x.shape[0], (length - (self.seq_len + self.pred_len)), x.shape[2]]).to(x.device)
                out = torch.cat([x, padding], dim=1)
            else:
                length = self.seq_len + self.pred_len
                out = x
            # reshape
            out = out.reshape(B, length // period, period, N).permute(0, 3, 1, 2).contiguous()
            # 2D conv: from 1d variation to 2d variation
            out = self.conv(out)
            # reshape back
            out = out.permute(0, 2, 3, 1).reshape(B, -1, N)
            res_list.append(out[:, : (self.seq_len + self.pred_len), :])
        res = torch.stack(res_list, dim=-1)
        # adaptive aggregation
        period_weight = F.softmax(period_weight, dim=1)
        period_weight = period_weight.unsqueeze(1).unsqueeze(1).repeat(1, T, N, 1)
        res = torch.sum(res * period_weight, -1)
        # residual connection
        return res + x


class TimesNet(nn.Module):
    """What comes next in a series, what is missing, or what is odd."""

    def __init__(self, configs: SimpleNamespace) -> None:
        super().__init__()
        self.configs, self.task_name = configs, configs.task_name
        self.seq_len, self.pred_len, self.layer = configs.seq_len, configs.pred_len, configs.e_layers
        self.model = nn.ModuleList([TimesBlock(configs) for _ in range(configs.e_layers)])
        self.enc_embedding = DataEmbedding(
            configs.enc_in, configs.d_model, configs.embed, configs.freq, configs.dropout
        )
        self.layer_norm = nn.LayerNorm(configs.d_model)
        if self.task_name in ("long_term_forecast", "short_term_forecast"):
            self.predict_linear = nn.Linear(self.seq_len, self.pred_len + self.seq_len)
        self.projection = nn.Linear(configs.d_model, configs.c_out, bias=True)

    def forecast(self, x_enc: Tensor, x_mark_enc: Tensor | None) -> Tensor:
        """The series and what comes next."""
        # Normalization from Non-stationary Transformer
        means = x_enc.mean(1, keepdim=True).detach()
        x_enc = x_enc.sub(means)
        stdev = torch.sqrt(torch.var(x_enc, dim=1, keepdim=True, unbiased=False) + 1e-5)
        x_enc = x_enc.div(stdev)
        # embedding
        enc_out = self.enc_embedding(x_enc, x_mark_enc)  # [B,T,C]
        enc_out = self.predict_linear(enc_out.permute(0, 2, 1)).permute(0, 2, 1)  # align temporal dimension
        # TimesNet
        for i in range(self.layer):
            enc_out = self.layer_norm(self.model[i](enc_out))
        # project back
        dec_out = self.projection(enc_out)
        # De-Normalization from Non-stationary Transformer
        dec_out = dec_out.mul(stdev[:, 0, :].unsqueeze(1).repeat(1, self.pred_len + self.seq_len, 1))
        return dec_out.add(means[:, 0, :].unsqueeze(1).repeat(1, self.pred_len + self.seq_len, 1))

    def anomaly_detection(self, x_enc: Tensor) -> Tensor:
        """The series as it should be."""
        means = x_enc.mean(1, keepdim=True).detach()
        x_enc = x_enc.sub(means)
        stdev = torch.sqrt(torch.var(x_enc, dim=1, keepdim=True, unbiased=False) + 1e-5)
        x_enc = x_enc.div(stdev)
        enc_out = self.enc_embedding(x_enc, None)
        for i in range(self.layer):
            enc_out = self.layer_norm(self.model[i](enc_out))
        dec_out = self.projection(enc_out)
        return dec_out.mul(stdev).add(means)

    def forward(self, x_enc: Tensor, x_mark_enc: Tensor | None = None) -> Tensor | None:
        """What the task asks for."""
        if self.task_name in ("long_term_forecast", "short_term_forecast"):
            dec_out = self.forecast(x_enc, x_mark_enc)
            return dec_out[:, -self.pred_len :, :]  # [B, L, D]
        if self.task_name == "anomaly_detection":
            return self.anomaly_detection(x_enc)
        return None


TIMES_CONFIGS = SimpleNamespace(
    **{"task_name": "long_term_forecast", "seq_len": 24, "pred_len": 12, "e_layers": 2, "d_model": 16, "d_ff": 16},
    **{"top_k": 3, "num_kernels": 4, "enc_in": 5, "c_out": 5, "embed": "timeF", "freq": "h", "dropout": 0.1},
)


def _dates() -> Tensor:
    hours = torch.arange(24)
    return torch.stack([torch.full((24,), 6), 3 + hours // 24, hours // 24, hours % 24], dim=1).expand(2, -1, -1)


def _tabnet() -> nn.Module:
    return TabNet(6, [2, 3], cat_idxs=[4, 5], cat_dims=[5, 5])


NETS = [
    Entry("own/tabnet", _tabnet, given(_rows)),
    Entry(
        "own/egnn",
        lambda: EGNN(in_node_nf=3, hidden_nf=32, out_node_nf=1, in_edge_nf=1, attention=True),
        given(numbers(10, 3), numbers(10, 3), lambda: get_edges(5, 2), numbers(40, 1)),
    ),
    Entry("own/painn", _painn, given(_molecules)),
    Entry(
        "own/decision_transformer",
        lambda: DecisionTransformer(11, 3, 32, max_length=6, n_layer=3, n_head=2, n_ctx=32),
        given(
            *(numbers(2, 6, 11), numbers(2, 6, 3), numbers(2, 6, 1), numbers(2, 6, 1)),
            *(lambda: torch.arange(6).repeat(2, 1), _mask),
        ),
    ),
    Entry(
        "own/diffpool",
        _diffpool,
        given(numbers(2, 12, 5), _adjacency, lambda: [12, 9], lambda: torch.tensor([0, 1])),
    ),
    Entry("own/eegnet", lambda: EEGNetv4(22, 4, 128), given(numbers(2, 22, 128))),
    Entry("own/timesnet", lambda: TimesNet(TIMES_CONFIGS), given(numbers(2, 24, 5), _dates), same_inputs=True),
]
