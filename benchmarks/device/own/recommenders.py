"""Recommenders and click models: large tables, many lookups, small networks on top."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def mlp(*sizes, last=False):
    layers = []
    for i, (a, b) in enumerate(itertools.pairwise(sizes)):
        layers.append(nn.Linear(a, b))
        if last or i < len(sizes) - 2:
            layers.append(nn.ReLU(inplace=True))
    return nn.Sequential(*layers)


def clicks(batch):
    target = torch.randint(2, (batch,)).float()
    return lambda out: F.binary_cross_entropy_with_logits(out.squeeze(-1), target)


class Dlrm(nn.Module):
    def __init__(self, tables, rows, dim):
        super().__init__()
        self.bags = nn.ModuleList(nn.EmbeddingBag(rows, dim, mode="sum") for _ in range(tables))
        self.bottom = mlp(13, 512, 256, dim, last=True)
        pairs = (tables + 1) * tables // 2
        self.top = mlp(dim + pairs, 1024, 512, 1)
        self.register_buffer("upper", torch.triu_indices(tables + 1, tables + 1, 1))

    def forward(self, dense, ids):
        x = self.bottom(dense)
        features = torch.stack([x] + [bag(ids[:, i]) for i, bag in enumerate(self.bags)], 1)
        dots = torch.bmm(features, features.transpose(1, 2))
        return self.top(torch.cat([x, dots[:, self.upper[0], self.upper[1]]], 1))


@model("recommender")
def dlrm_bags(small):
    batch, tables, rows = (8, 4, 50) if small else (4096, 20, 200_000)
    ids = torch.randint(rows, (batch, tables, 8))
    return Dlrm(tables, rows, 64), (torch.randn(batch, 13), ids), clicks(batch)


class DeepFM(nn.Module):
    """One shared table with an offset per field."""

    def __init__(self, fields, rows, dim):
        super().__init__()
        self.linear = nn.Embedding(fields * rows, 1)
        self.table = nn.Embedding(fields * rows, dim)
        self.deep = nn.Sequential(
            nn.Linear(fields * dim, 400), nn.BatchNorm1d(400), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(400, 400), nn.BatchNorm1d(400), nn.ReLU(), nn.Dropout(0.2), nn.Linear(400, 1),
        )  # fmt: skip
        self.register_buffer("offsets", torch.arange(fields) * rows)

    def forward(self, x):
        x = x + self.offsets
        e = self.table(x)
        fm = 0.5 * (e.sum(1).pow(2) - e.pow(2).sum(1)).sum(1, keepdim=True)
        return self.linear(x).sum(1) + fm + self.deep(e.flatten(1))


@model("recommender")
def deepfm(small):
    batch, fields, rows = (8, 5, 20) if small else (16384, 39, 20_000)
    return DeepFM(fields, rows, 16), (torch.randint(rows, (batch, fields)),), clicks(batch)


class InterestNetwork(nn.Module):
    """Attention of a candidate over what a user clicked on."""

    def __init__(self, items, dim):
        super().__init__()
        self.items = nn.Embedding(items, dim, padding_idx=0)
        self.attend = mlp(4 * dim, 80, 40, 1)
        self.out = mlp(3 * dim, 200, 80, 1)

    def forward(self, history, candidate):
        mask = history != 0
        keys = self.items(history)
        query = self.items(candidate)
        q = query.unsqueeze(1).expand_as(keys)
        scores = self.attend(torch.cat([q, keys, q - keys, q * keys], -1)).squeeze(-1)
        scores = scores.masked_fill(~mask, -1e4)
        interest = torch.bmm(torch.softmax(scores, 1).unsqueeze(1), keys).squeeze(1)
        return self.out(torch.cat([interest, query, interest * query], 1))


@model("recommender")
def interest_network(small):
    batch, length, items = (4, 6, 30) if small else (2048, 100, 500_000)
    inputs = torch.randint(items, (batch, length)), torch.randint(1, items, (batch,))
    return InterestNetwork(items, 48), inputs, clicks(batch)


class TwoTower(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.user, self.item = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.left, self.right = mlp(dim + 32, 512, 256, 128), mlp(dim + 64, 512, 256, 128)

    def forward(self, user, about_user, item, about_item):
        u = F.normalize(self.left(torch.cat([self.user(user), about_user], 1)), dim=1)
        v = F.normalize(self.right(torch.cat([self.item(item), about_item], 1)), dim=1)
        return u @ v.t() / 0.07


@model("retrieval")
def two_tower_in_batch(small):
    batch, users, items = (8, 40, 30) if small else (8192, 1_000_000, 300_000)
    inputs = torch.randint(users, (batch,)), torch.randn(batch, 32), torch.randint(items, (batch,)), torch.randn(batch, 64)
    return TwoTower(users, items, 64), inputs, lambda out: F.cross_entropy(out, torch.arange(len(out), device=out.device))


class NextItem(nn.Module):
    """A causal transformer over the items that a user saw; the scores are against the table itself."""

    def __init__(self, items, length, dim, layers):
        super().__init__()
        self.items = nn.Embedding(items, dim)
        self.places = nn.Parameter(torch.randn(1, length, dim) * 0.02)
        block = nn.TransformerEncoderLayer(dim, 4, 4 * dim, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(block, layers, enable_nested_tensor=False)
        self.register_buffer("mask", torch.triu(torch.ones(length, length, dtype=torch.bool), 1))

    def forward(self, ids):
        x = self.encoder(self.items(ids) + self.places, mask=self.mask)
        return x @ self.items.weight.t()


@model("recommender")
def next_item_transformer(small):
    batch, length, items = (2, 8, 40) if small else (128, 64, 20_000)
    ids, target = torch.randint(items, (batch, length)), torch.randint(items, (batch, length))
    return NextItem(items, length, 128, 3), (ids,), lambda out: F.cross_entropy(out.flatten(0, 1), target.flatten())


class CrossNetwork(nn.Module):
    """DCN v2 with low-rank crosses."""

    def __init__(self, fields, rows, dim, layers=4, rank=128):
        super().__init__()
        width = fields * dim
        self.tables = nn.ModuleList([nn.Embedding(rows, dim) for _ in range(fields)])
        self.down = nn.ModuleList([nn.Linear(width, rank, bias=False) for _ in range(layers)])
        self.up = nn.ModuleList([nn.Linear(rank, width) for _ in range(layers)])
        self.deep = mlp(width, 1024, 1024, last=True)
        self.out = nn.Linear(width + 1024, 1)

    def forward(self, ids):
        x0 = torch.cat([table(ids[:, i]) for i, table in enumerate(self.tables)], dim=1)
        x = x0
        for down, up in zip(self.down, self.up):
            x = x0 * up(down(x)) + x
        return self.out(torch.cat((x, self.deep(x0)), 1))


@model("recommender")
def cross_network_v2(small):
    batch, fields, rows = (8, 4, 20) if small else (8192, 26, 50_000)
    return CrossNetwork(fields, rows, 32), (torch.randint(rows, (batch, fields)),), clicks(batch)


class Mmoe(nn.Module):
    """Several tasks share experts, each with a gate of its own."""

    def __init__(self, width, experts, tasks):
        super().__init__()
        self.experts = nn.ModuleList(mlp(width, 512, 256, last=True) for _ in range(experts))
        self.gates = nn.ModuleList(nn.Linear(width, experts) for _ in range(tasks))
        self.towers = nn.ModuleList(mlp(256, 64, 1) for _ in range(tasks))

    def forward(self, x):
        h = torch.stack([expert(x) for expert in self.experts], 1)
        answers = []
        for gate, tower in zip(self.gates, self.towers):
            w = gate(x).softmax(-1)
            answers.append(tower(torch.einsum("be,bed->bd", w, h)))
        return torch.cat(answers, 1)


@model("mixture of experts")
def multi_gate_experts(small):
    batch, width = (8, 16) if small else (16384, 640)
    target = torch.rand(batch, 3)
    return Mmoe(width, 8, 3), (torch.randn(batch, width),), lambda out: F.binary_cross_entropy_with_logits(out, target)


@model("recommender")
def bpr_matrix_factorisation(small):
    """Pairwise ranking, as a function of its tables."""
    batch, users, items = (8, 20, 30) if small else (1_048_576, 300_000, 100_000)

    class Factors(nn.Module):
        def __init__(self):
            super().__init__()
            self.u = nn.Parameter(torch.randn(users, 64) * 0.1)
            self.i = nn.Parameter(torch.randn(items, 64) * 0.1)
            self.bias = nn.Parameter(torch.zeros(items))

        def forward(self, user, good, bad):
            u = self.u[user]
            return (u * (self.i[good] - self.i[bad])).sum(-1) + self.bias[good] - self.bias[bad]

    inputs = torch.randint(users, (batch,)), torch.randint(items, (batch,)), torch.randint(items, (batch,))
    return Factors(), inputs, lambda out: -F.logsigmoid(out).mean()
