"""Near and far: nodes and their whole graph, thinking until sure, neurons in order, series that are warped softly."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class NearAndFar(nn.Module):
    """A layer of messages along edges, beside attention over the whole graph by random features."""

    def __init__(self, d, heads, features):
        super().__init__()
        self.edge, self.eps = nn.Linear(d, d), nn.Parameter(torch.zeros(1))
        self.near = nn.Sequential(nn.Linear(d, d), nn.BatchNorm1d(d), nn.ReLU(), nn.Linear(d, d))
        self.qkv, self.o, self.heads = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d), heads
        self.register_buffer("random", torch.linalg.qr(torch.randn(d // heads, features))[0].t() * (d // heads) ** 0.5)
        self.n1, self.n2, self.n3 = (nn.BatchNorm1d(d) for _ in range(3))
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2 * d, d))

    def phi(self, x, key):
        x = x * x.shape[-1] ** -0.25
        y = x @ self.random.t().to(x.dtype) - x.square().sum(-1, keepdim=True) / 2
        top = y.amax((-1, -2) if key else -1, keepdim=True).detach()
        return torch.exp(y - top) + 1e-4

    def forward(self, x, e, src, dst, graphs):
        message = F.relu(x[src] + self.edge(e))
        told = torch.zeros_like(x).index_add(0, dst, message.to(x.dtype))
        near = self.n1(x + self.near((1 + self.eps) * x + told))
        n, d = x.shape
        q, k, v = self.qkv(x).view(graphs, n // graphs, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        q, k = self.phi(q, False), self.phi(k, True)
        context = torch.einsum("bhnm,bhnd->bhmd", k, v.to(k.dtype))
        scale = 1 / torch.einsum("bhnm,bhm->bhn", q, k.sum(2).to(q.dtype))
        far = torch.einsum("bhnm,bhmd,bhn->bhnd", q, context.to(q.dtype), scale.to(q.dtype))
        far = self.n2(x + self.o(far.transpose(1, 2).reshape(n, d).to(x.dtype)))
        x = near + far
        return self.n3(x + self.ff(x))


class GraphNearAndFar(nn.Module):
    def __init__(self, atoms, bonds, waves, d, layers, heads, features):
        super().__init__()
        self.atom, self.bond = nn.Embedding(atoms, d - 16), nn.Embedding(bonds, d)
        self.phi = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 16))
        self.rho = nn.Sequential(nn.Linear(16 * waves, 32), nn.ReLU(), nn.Linear(32, 16))
        self.layers = nn.ModuleList(NearAndFar(d, heads, features) for _ in range(layers))
        self.out = nn.Sequential(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, 11))

    def forward(self, atoms, bonds, src, dst, vectors, values):
        graphs = len(values)
        value = values.repeat_interleave(len(atoms) // graphs, 0)
        sign = self.phi(torch.stack([vectors, value], -1)) + self.phi(torch.stack([-vectors, value], -1))  # whichever sign it came with
        x = torch.cat([self.atom(atoms), self.rho(sign.flatten(1)).to(self.atom.weight.dtype)], -1)
        e = self.bond(bonds)
        for layer in self.layers:
            x = layer(x, e, src, dst, graphs)
        x = x.view(graphs, -1, x.shape[-1])
        return self.out(torch.cat([x.mean(1), x.amax(1)], -1))


@model("graph")
def nodes_near_and_far(small):
    graphs, n, edges, waves, d, layers, heads, features = (2, 4, 10, 2, 24, 1, 2, 4) if small else (96, 160, 40_960, 8, 304, 6, 4, 64)
    nodes = graphs * n
    inputs = (
        torch.randint(28, (nodes,)), torch.randint(4, (edges,)), torch.randint(nodes, (edges,)), torch.randint(nodes, (edges,)),
        torch.randn(nodes, waves), torch.rand(graphs, waves),
    )  # fmt: skip
    y = torch.randn(graphs, 11)
    return GraphNearAndFar(28, 4, waves, d, layers, heads, features), inputs, lambda out: F.l1_loss(out, y)


class Ponder(nn.Module):
    """One layer again and again; every position says when it has thought enough, and its state is the mean of what it thought."""

    def __init__(self, words, d, heads, most, threshold=0.99):
        super().__init__()
        self.embed, self.out = nn.Embedding(words, d), nn.Linear(d, words)
        self.qkv, self.proj, self.heads = nn.Linear(d, 3 * d), nn.Linear(d, d), heads
        self.n1, self.n2, self.last = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.c1, self.c2 = nn.Conv1d(d, 2 * d, 3, padding=1), nn.Conv1d(2 * d, d, 3, padding=1)
        self.halt, self.most, self.threshold = nn.Linear(d, 1), most, threshold
        self.step = nn.Embedding(most, d)
        nn.init.constant_(self.halt.bias, 1.0)

    def signal(self, t, d, device):
        place = torch.arange(t, device=device, dtype=torch.float32).unsqueeze(1)
        rate = torch.exp(-torch.arange(0, d, 2, device=device, dtype=torch.float32) * (9.21 / d))
        return torch.cat([torch.sin(place * rate), torch.cos(place * rate)], 1)

    def layer(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        y = self.n2(x).transpose(1, 2)
        return x + self.c2(F.relu(self.c1(y))).transpose(1, 2)

    def forward(self, ids):
        x = self.embed(ids)
        b, t, d = x.shape
        halted, rest, count = (torch.zeros(b, t, device=x.device) for _ in range(3))
        mean = torch.zeros_like(x)
        place = self.signal(t, d, x.device).to(x.dtype)
        for i in range(self.most):
            x = x + place + self.step.weight[i]
            p = torch.sigmoid(self.halt(x)).squeeze(-1).float()
            running = (halted < 1).float()
            ends = ((halted + p * running) > self.threshold).float() * running
            running = ((halted + p * running) <= self.threshold).float() * running
            halted = halted + p * running
            rest = rest + ends * (1 - halted)
            halted = halted + ends * rest
            count = count + running + ends
            weight = (p * running + ends * rest).unsqueeze(-1)
            x = self.layer(x)
            mean = x * weight.to(x.dtype) + mean * (1 - weight).to(x.dtype)
        return self.out(self.last(mean)), (rest + count).mean()


@model("sequence")
def ponders_until_sure(small):
    b, t, words, d, heads, most = (2, 5, 12, 16, 2, 2) if small else (48, 320, 512, 512, 8, 6)
    ids = torch.randint(words, (b, t))
    goal = ids.flip(1).flatten()
    return Ponder(words, d, heads, most), (ids,), lambda out: F.cross_entropy(out[0].flatten(0, 1).float(), goal) + 0.01 * out[1]


def cumsoftmax(x):
    return torch.cumsum(torch.softmax(x, -1), -1)


class OrderedCell(nn.Module):
    """An LSTM whose neurons are in order: master gates say up to which of them the past is kept and from which on it is written."""

    def __init__(self, enter, hidden, chunk, drop):
        super().__init__()
        self.hidden, self.chunk, self.levels, self.drop = hidden, chunk, hidden // chunk, drop
        self.ih, self.hh = nn.Linear(enter, 4 * hidden + 2 * self.levels), nn.Linear(hidden, 4 * hidden + 2 * self.levels)

    def forward(self, xs):
        b = xs.shape[1]
        entered = self.ih(xs)
        weight = F.dropout(self.hh.weight, self.drop, self.training)
        h = torch.zeros(b, self.hidden, device=xs.device, dtype=entered.dtype)
        c = torch.zeros(b, self.levels, self.chunk, device=xs.device, dtype=entered.dtype)
        out = []
        for x in entered.unbind(0):
            gates = x + F.linear(h, weight, self.hh.bias)
            keep, write = (z.unsqueeze(-1) for z in gates[:, : 2 * self.levels].chunk(2, 1))
            keep, write = cumsoftmax(keep.squeeze(-1)).unsqueeze(-1), 1 - cumsoftmax(write.squeeze(-1)).unsqueeze(-1)
            o, new, i, f = (z.view(b, self.levels, self.chunk) for z in gates[:, 2 * self.levels :].chunk(4, 1))
            both = keep * write
            f = torch.sigmoid(f) * both + (keep - both)
            i = torch.sigmoid(i) * both + (write - both)
            c = f * c + i * torch.tanh(new)
            h = (torch.sigmoid(o) * torch.tanh(c)).flatten(1)
            out.append(h)
        return torch.stack(out)


class OrderedWriter(nn.Module):
    def __init__(self, words, d, hidden, chunk, layers):
        super().__init__()
        self.embed = nn.Embedding(words, d)
        sizes = [d, *[hidden] * (layers - 1), d]
        self.cells = nn.ModuleList(OrderedCell(a, b, chunk, 0.3) for a, b in itertools.pairwise(sizes))
        self.bias = nn.Parameter(torch.zeros(words))

    def forward(self, ids):
        x = F.dropout(self.embed(ids), 0.2, self.training)
        for cell in self.cells:
            x = cell(x)
            x = x * F.dropout(torch.ones_like(x[:1]), 0.2, self.training)  # one mask for all times
        return F.linear(x, self.embed.weight.to(x.dtype), self.bias)


@model("sequence", compiles=False)
def neurons_in_order(small):
    t, b, words, d, hidden, chunk, layers = (4, 2, 20, 8, 16, 4, 2) if small else (48, 80, 10_000, 400, 1160, 10, 3)
    ids = torch.randint(words, (t + 1, b))
    goal = ids[1:].flatten()
    return OrderedWriter(words, d, hidden, chunk, layers), (ids[:-1].clone(),), lambda out: F.cross_entropy(out.flatten(0, 1), goal)


class WarpedSoftly(nn.Module):
    """Two recordings of a movement, aligned by a soft shortest path through the distances of their features."""

    def __init__(self, sensors, d, gamma):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv1d(sensors, d, 7, 2, 3), nn.GroupNorm(8, d), nn.GELU(),
            nn.Conv1d(d, d, 5, 2, 2), nn.GroupNorm(8, d), nn.GELU(), nn.Conv1d(d, d, 3, 1, 1),
        )  # fmt: skip
        self.gamma = gamma

    def forward(self, one, two):
        x, y = (F.normalize(self.net(z).transpose(1, 2).float(), dim=-1) for z in (one, two))
        b, n, _ = x.shape
        far = 2 - 2 * x @ y.transpose(1, 2)
        m = far.shape[2]
        # Row k holds the k-th diagonal from the upper right: place i of it is (i, k - i).
        i, k = torch.arange(n, device=x.device), torch.arange(n + m - 1, device=x.device)
        j = k[:, None] - i
        there = (j >= 0) & (j < m)
        skewed = far[:, i, j.clamp(0, m - 1)]
        big = 1e4
        before = torch.full((b, n), big, device=x.device)
        last = torch.where(i == 0, skewed[:, 0], big)
        for step in range(1, n + m - 1):
            up, corner = F.pad(last[:, :-1], (1, 0), value=big), F.pad(before[:, :-1], (1, 0), value=big)
            best = -self.gamma * torch.logsumexp(torch.stack([last, up, corner]) / -self.gamma, 0)
            before, last = last, torch.where(there[step], skewed[:, step] + best, big)
        return last[:, -1] / (n + m)


@model("time series", compiles=False)
def series_warped_softly(small):
    b, sensors, t, d = (2, 3, 16, 8) if small else (128, 9, 256, 256)
    alike = (torch.rand(b) < 0.5).float()
    inputs = torch.randn(b, sensors, t), torch.randn(b, sensors, t)

    def loss(out):
        return (alike * out + (1 - alike) * F.relu(0.5 - out)).mean()

    return WarpedSoftly(sensors, d, 0.1), inputs, loss
