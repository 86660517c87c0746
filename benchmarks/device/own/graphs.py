"""Graph networks: gathers along edges, index_add and scatter back onto nodes."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def edges(nodes, count):
    return torch.randint(nodes, (2, count))


def classes(nodes, number):
    target = torch.randint(number, (nodes,))
    return lambda out: F.cross_entropy(out, target)


class GraphConvolution(nn.Module):
    def __init__(self, a, b):
        super().__init__()
        self.weight = nn.Linear(a, b, bias=False)
        self.bias = nn.Parameter(torch.zeros(b))

    def forward(self, x, src, dst, norm):
        h = self.weight(x)
        out = torch.zeros_like(h)
        out.index_add_(0, dst, (h[src] * norm[:, None]).to(h.dtype))
        return out + self.bias


class Gcn(nn.Module):
    def __init__(self, width, hidden, number):
        super().__init__()
        self.layers = nn.ModuleList([GraphConvolution(width, hidden), GraphConvolution(hidden, hidden), GraphConvolution(hidden, number)])

    def forward(self, x, edge_index):
        src, dst = edge_index
        degree = torch.zeros(x.shape[0], device=x.device, dtype=x.dtype).index_add_(0, dst, torch.ones_like(dst, dtype=x.dtype))
        inv = degree.clamp(min=1).rsqrt()
        norm = inv[src] * inv[dst]
        for i, layer in enumerate(self.layers):
            x = layer(x, src, dst, norm)
            if i < len(self.layers) - 1:
                x = F.dropout(F.relu(x), 0.5, self.training)
        return x


@model("graph")
def gcn_citations(small):
    nodes, count, width = (20, 60, 16) if small else (100_000, 1_200_000, 128)
    return Gcn(width, 256, 40), (torch.randn(nodes, width), edges(nodes, count)), classes(nodes, 40)


class AttentionLayer(nn.Module):
    """GAT: a softmax over each node's incoming edges, with scatter_reduce."""

    def __init__(self, a, b, heads):
        super().__init__()
        self.heads, self.size = heads, b
        self.w = nn.Linear(a, heads * b, bias=False)
        self.src = nn.Parameter(torch.randn(1, heads, b) * 0.1)
        self.dst = nn.Parameter(torch.randn(1, heads, b) * 0.1)

    def forward(self, x, edge_index):
        n = x.size(0)
        i, j = edge_index[0], edge_index[1]
        h = self.w(x).view(n, self.heads, self.size)
        e = F.leaky_relu((h * self.src).sum(-1)[i] + (h * self.dst).sum(-1)[j], 0.2)
        index = j[:, None].expand_as(e)
        top = torch.full((n, self.heads), -1e4, device=x.device, dtype=e.dtype).scatter_reduce(0, index, e.detach(), "amax")
        e = torch.exp(e - top[j])
        total = torch.zeros_like(top).scatter_add(0, index, e)
        alpha = e / (total[j] + 1e-6)
        out = torch.zeros_like(h)
        out = out.index_add(0, j, (h[i] * alpha.unsqueeze(-1)).to(h.dtype))
        return out.flatten(1)


class Gat(nn.Module):
    def __init__(self, width, number):
        super().__init__()
        self.one, self.two = AttentionLayer(width, 32, 8), AttentionLayer(256, number, 1)

    def forward(self, x, edge_index):
        return self.two(F.elu(self.one(x, edge_index)), edge_index)


@model("graph")
def gat_scatter_softmax(small):
    nodes, count, width = (20, 60, 16) if small else (50_000, 500_000, 100)
    return Gat(width, 47), (torch.randn(nodes, width), edges(nodes, count)), classes(nodes, 47)


class Sage(nn.Module):
    """Neighbours come sampled, as a dense table of ids: gathers instead of scatters."""

    def __init__(self, width, hidden, number):
        super().__init__()
        self.self1, self.near1 = nn.Linear(width, hidden), nn.Linear(width, hidden)
        self.self2, self.near2 = nn.Linear(hidden, hidden), nn.Linear(hidden, hidden)
        self.out = nn.Linear(hidden, number)

    def forward(self, features, seeds, near, far):
        x0, x1 = features[seeds], features[near]
        x2 = features[far.flatten()].view(*far.shape, -1)
        h1 = F.relu(self.self1(x1) + self.near1(x2.mean(2)))
        h0 = F.relu(self.self1(x0) + self.near1(x1.mean(1)))
        h = F.relu(self.self2(h0) + self.near2(h1.mean(1)))
        return self.out(F.normalize(h, dim=-1))


@model("graph")
def graphsage_sampled(small):
    nodes, batch, width = (50, 4, 16) if small else (400_000, 1024, 128)
    near = torch.randint(nodes, (batch, 10))
    inputs = torch.randn(nodes, width), torch.randint(nodes, (batch,)), near, torch.randint(nodes, (batch, 10, 15))
    return Sage(width, 256, 41), inputs, classes(batch, 41)


class SchNet(nn.Module):
    """Continuous filters over distances between atoms; one energy per molecule."""

    def __init__(self, hidden=128, gaussians=50, layers=4):
        super().__init__()
        self.atoms = nn.Embedding(100, hidden)
        self.register_buffer("centres", torch.linspace(0, 10, gaussians))
        self.filters = nn.ModuleList(
            nn.Sequential(nn.Linear(gaussians, hidden), nn.Softplus(), nn.Linear(hidden, hidden)) for _ in range(layers)
        )
        self.enter = nn.ModuleList(nn.Linear(hidden, hidden, bias=False) for _ in range(layers))
        self.leave = nn.ModuleList(
            nn.Sequential(nn.Linear(hidden, hidden), nn.Softplus(), nn.Linear(hidden, hidden)) for _ in range(layers)
        )
        self.read = nn.Sequential(nn.Linear(hidden, hidden // 2), nn.Softplus(), nn.Linear(hidden // 2, 1))

    def forward(self, numbers, places, edge_index, molecule, energies):
        i, j = edge_index
        distance = (places[i] - places[j]).norm(dim=-1)
        rbf = torch.exp(-10.0 * (distance[:, None] - self.centres) ** 2)
        cut = 0.5 * (torch.cos(distance * 0.314) + 1.0) * (distance < 10.0)
        x = self.atoms(numbers)
        for make, enter, leave in zip(self.filters, self.enter, self.leave):
            message = enter(x)[j] * (make(rbf) * cut[:, None])
            x = x + leave(torch.zeros_like(x).index_add_(0, i, message))
        return energies.index_add(0, molecule, self.read(x).squeeze(-1).to(energies.dtype))


@model("graph")
def schnet_energies(small):
    molecules, atoms, count = (2, 5, 30) if small else (128, 24, 60_000)
    n = molecules * atoms
    target = torch.randn(molecules)
    molecule = torch.arange(molecules).repeat_interleave(atoms)
    inputs = torch.randint(1, 10, (n,)), torch.randn(n, 3) * 3, edges(n, count), molecule, torch.zeros(molecules)
    return SchNet(), inputs, lambda out: F.l1_loss(out, target)


class Egnn(nn.Module):
    """Positions move along differences, weighted by an invariant message."""

    def __init__(self, hidden, layers):
        super().__init__()
        act = nn.SiLU
        self.edge = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * hidden + 1, hidden), act(), nn.Linear(hidden, hidden), act()) for _ in range(layers)
        )
        self.node = nn.ModuleList(nn.Sequential(nn.Linear(2 * hidden, hidden), act(), nn.Linear(hidden, hidden)) for _ in range(layers))
        self.move = nn.ModuleList(nn.Sequential(nn.Linear(hidden, hidden), act(), nn.Linear(hidden, 1)) for _ in range(layers))

    def forward(self, h, x):
        _b, n, _ = h.shape
        for edge, node, move in zip(self.edge, self.node, self.move):
            diff = x[:, :, None] - x[:, None]
            square = (diff * diff).sum(-1, keepdim=True)
            pairs = torch.cat([h[:, :, None].expand(-1, -1, n, -1), h[:, None].expand(-1, n, -1, -1), square], -1)
            m = edge(pairs)
            x = x + (diff * move(m)).mean(2)
            h = h + node(torch.cat([h, m.sum(2)], -1))
        return h, x


@model("graph")
def equivariant_dense(small):
    batch, n, hidden = (2, 5, 16) if small else (64, 48, 128)
    return (
        Egnn(hidden, 4),
        (torch.randn(batch, n, hidden), torch.randn(batch, n, 3)),
        lambda out: out[1].pow(2).mean() + out[0].pow(2).mean(),
    )


class RelationalConvolution(nn.Module):
    def __init__(self, a, b, relations, bases):
        super().__init__()
        self.bases = nn.Parameter(torch.randn(bases, a, b) * 0.05)
        self.mix = nn.Parameter(torch.randn(relations, bases))
        self.root = nn.Linear(a, b)
        self.relations = relations

    def forward(self, x, edge_index, kinds):
        weight = torch.einsum("rk,kab->rab", self.mix, self.bases)
        out = self.root(x)
        for r in range(self.relations):
            keep = (kinds == r).to(x.dtype).unsqueeze(1)
            gathered = torch.zeros_like(x).index_add_(0, edge_index[1], x[edge_index[0]] * keep)
            out = out + gathered @ weight[r]
        return out


class Rgcn(nn.Module):
    def __init__(self, nodes, hidden, relations, number):
        super().__init__()
        self.table = nn.Embedding(nodes, hidden)
        self.one = RelationalConvolution(hidden, hidden, relations, 4)
        self.two = RelationalConvolution(hidden, number, relations, 4)

    def forward(self, edge_index, kinds):
        return self.two(F.relu(self.one(self.table.weight, edge_index, kinds)), edge_index, kinds)


@model("graph")
def relational_gcn_masks(small):
    nodes, count, relations = (20, 60, 3) if small else (30_000, 200_000, 8)
    return Rgcn(nodes, 64, relations, 16), (edges(nodes, count), torch.randint(relations, (count,))), classes(nodes, 16)


class GatedMessages(nn.Module):
    """Message passing with a GRU cell, then a softmax-weighted read-out per graph."""

    def __init__(self, width, steps):
        super().__init__()
        self.steps = steps
        self.message = nn.Linear(width, width)
        self.cell = nn.GRUCell(width, width)
        self.gate, self.value = nn.Linear(width, 1), nn.Linear(width, width)
        self.out = nn.Linear(width, 12)

    def forward(self, h, edge_index, graph, empty):
        for _ in range(self.steps):
            m = self.message(h).index_select(0, edge_index[0]).to(h.dtype)
            inbox = torch.zeros_like(h).scatter_add_(0, edge_index[1, :, None].expand_as(m), m)
            h = self.cell(inbox, h).to(h.dtype)
        weighted = torch.sigmoid(self.gate(h)) * self.value(h)
        return self.out(empty.index_add(0, graph, weighted.to(empty.dtype)))


@model("graph")
def gated_graph_network(small):
    graphs, per, width = (3, 6, 16) if small else (256, 100, 200)
    n = graphs * per
    target = torch.randn(graphs, 12)
    graph = torch.arange(n) // per
    inputs = torch.randn(n, width), edges(n, 4 * n), graph, torch.zeros(graphs, width)
    return GatedMessages(width, 6), inputs, lambda out: F.mse_loss(out, target)


class TopKPool(nn.Module):
    """Dense adjacency; each layer keeps the best half of the nodes."""

    def __init__(self, width, layers):
        super().__init__()
        self.lin = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.score = nn.ParameterList(nn.Parameter(torch.randn(width)) for _ in range(layers))
        self.out = nn.Linear(2 * width, 10)

    def forward(self, x, adjacency):
        total = 0
        for lin, p in zip(self.lin, self.score):
            x = F.relu(lin(adjacency @ x / adjacency.sum(-1, keepdim=True).clamp(min=1)))
            score = torch.tanh(x @ p / p.norm())
            best, index = score.topk(x.shape[1] // 2, dim=1)
            x = torch.gather(x, 1, index[..., None].expand(-1, -1, x.shape[-1])) * best[..., None]
            adjacency = adjacency.gather(1, index[..., None].expand(-1, -1, adjacency.shape[2]))
            adjacency = adjacency.gather(2, index[:, None].expand(-1, index.shape[1], -1))
            total = total + torch.cat([x.amax(1), x.mean(1)], -1)
        return self.out(total)


@model("graph")
def top_k_pooling(small):
    graphs, n, width = (2, 16, 16) if small else (128, 256, 128)
    adjacency = (torch.rand(graphs, n, n) < 0.1).float()
    return TopKPool(width, 3), (torch.randn(graphs, n, width), adjacency), classes(graphs, 10)
