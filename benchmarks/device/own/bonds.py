"""Who is bound to whom: facts in a curved space, residues of a backbone, a network's memory of its events, crossed fields."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model

EPS = 1e-5


def artanh(x):
    x = x.clamp(-1 + EPS, 1 - EPS)
    return 0.5 * (torch.log1p(x) - torch.log1p(-x))


def project(x, c):
    norm = x.norm(dim=-1, keepdim=True, p=2).clamp_min(1e-15)
    maxnorm = (1 - 4e-3) / c.sqrt()
    return torch.where(norm > maxnorm, x / norm * maxnorm, x)


def expmap0(u, c):
    norm = u.norm(dim=-1, keepdim=True).clamp_min(1e-15)
    return project(torch.tanh(c.sqrt() * norm) * u / (c.sqrt() * norm), c)


def mobius_add(x, y, c):
    x2, y2, xy = (x * x).sum(-1, keepdim=True), (y * y).sum(-1, keepdim=True), (x * y).sum(-1, keepdim=True)
    num = (1 + 2 * c * xy + c * y2) * x + (1 - c * x2) * y
    return num / (1 + 2 * c * xy + c**2 * x2 * y2).clamp_min(1e-15)


def givens_rotations(r, x):
    givens = r.view(*r.shape[:-1], -1, 2)
    givens = givens / givens.norm(dim=-1, keepdim=True).clamp_min(1e-15)
    x = x.view(*r.shape[:-1], -1, 2)
    turned = givens[..., 0:1] * x + givens[..., 1:] * torch.cat((-x[..., 1:], x[..., 0:1]), dim=-1)
    return turned.flatten(-2)


class FactsInABall(nn.Module):
    """Facts (who, relation, whom) in a ball with a curvature for each relation: turned, moved, and scored by their distance."""

    def __init__(self, entities, relations, rank):
        super().__init__()
        self.entity, self.rel = nn.Embedding(entities, rank), nn.Embedding(relations, 2 * rank)
        self.rel_diag = nn.Embedding(relations, rank)
        self.bh, self.bt = nn.Embedding(entities, 1), nn.Embedding(entities, 1)
        self.c = nn.Parameter(torch.ones(relations, 1))
        for table in (self.entity, self.rel):
            nn.init.normal_(table.weight, std=1e-3)

    def forward(self, triples, negatives):
        h, r, t = triples.unbind(1)
        c = F.softplus(self.c[r])
        rel1, rel2 = self.rel(r).chunk(2, dim=1)
        head = expmap0(self.entity(h), c)
        lhs = project(mobius_add(head, expmap0(rel1, c), c), c)
        lhs = givens_rotations(self.rel_diag(r), lhs)
        lhs = mobius_add(lhs, expmap0(rel2, c), c)
        tails = torch.cat([t.unsqueeze(1), negatives], 1)
        rhs = self.entity(tails)
        c = c.unsqueeze(1)
        gap = mobius_add(-lhs.unsqueeze(1).expand_as(rhs), expmap0(rhs, c), c).norm(dim=-1, keepdim=True)
        dist = 2 * artanh(c.sqrt() * gap) / c.sqrt()
        return (self.bh(h).unsqueeze(1) + self.bt(tails) - dist**2).squeeze(-1)


@model("knowledge graph")
def facts_in_a_ball(small):
    b, negatives, entities, relations, rank = (3, 2, 20, 3, 4) if small else (1024, 250, 123_000, 37, 64)
    facts = torch.stack([torch.randint(n, (b,)) for n in (entities, relations, entities)], 1)

    def loss(score):
        return (F.softplus(-score[:, 0]) + F.softplus(score[:, 1:]).mean(1)).mean()

    return FactsInABall(entities, relations, rank), (facts, torch.randint(entities, (b, negatives))), loss


def gather_nodes(nodes, idx):
    flat = idx.flatten(1).unsqueeze(-1).expand(-1, -1, nodes.size(2))
    return torch.gather(nodes, 1, flat).view(*idx.shape, -1)


class BackboneLayer(nn.Module):
    def __init__(self, h, enter, scale=30.0, dropout=0.1, edges=True):
        super().__init__()
        self.scale, self.drop = scale, nn.Dropout(dropout)
        self.norm1, self.norm2 = nn.LayerNorm(h), nn.LayerNorm(h)
        self.W1, self.W2, self.W3 = nn.Linear(h + enter, h), nn.Linear(h, h), nn.Linear(h, h)
        self.dense = nn.Sequential(nn.Linear(h, 4 * h), nn.GELU(), nn.Linear(4 * h, h))
        if edges:
            self.norm3 = nn.LayerNorm(h)
            self.W11, self.W12, self.W13 = nn.Linear(h + enter, h), nn.Linear(h, h), nn.Linear(h, h)

    def forward(self, h_V, h_EV):
        x = torch.cat([h_V.unsqueeze(-2).expand(-1, -1, h_EV.size(-2), -1), h_EV], -1)
        message = self.W3(F.gelu(self.W2(F.gelu(self.W1(x)))))
        h_V = self.norm1(h_V + self.drop(message.sum(-2) / self.scale))
        return self.norm2(h_V + self.drop(self.dense(h_V)))

    def edge(self, h_V, h_E, idx):
        x = torch.cat([h_E, gather_nodes(h_V, idx)], -1)
        x = torch.cat([h_V.unsqueeze(-2).expand(-1, -1, x.size(-2), -1), x], -1)
        return self.norm3(h_E + self.drop(self.W13(F.gelu(self.W12(F.gelu(self.W11(x)))))))


class SequenceForBackbone(nn.Module):
    """Which residues would fold into this backbone: distances to the nearest neighbours in smooth bins, messages, a masked decoder."""

    def __init__(self, h, k, layers, rbf=16):
        super().__init__()
        self.k, self.rbf = k, rbf
        self.edge_in, self.edge_norm = nn.Linear(25 * rbf + 16, h, bias=False), nn.LayerNorm(h)
        self.rel, self.embed = nn.Embedding(66, 16), nn.Embedding(21, h)
        self.encoder = nn.ModuleList(BackboneLayer(h, 2 * h) for _ in range(layers))
        self.decoder = nn.ModuleList(BackboneLayer(h, 3 * h, edges=False) for _ in range(layers))
        self.out = nn.Linear(h, 21)

    def distances(self, a, b, idx):
        d = torch.sqrt(((a[:, :, None] - b[:, None]) ** 2).sum(-1) + 1e-6)
        near = d.gather(2, idx).unsqueeze(-1)
        centre = torch.linspace(2.0, 22.0, self.rbf, device=a.device, dtype=a.dtype)
        return torch.exp(-(((near - centre) / (20 / self.rbf)) ** 2))

    def forward(self, X, S):
        N, CA, C, oxygen = X.unbind(2)
        b, c = CA - N, C - CA
        CB = -0.58273431 * torch.linalg.cross(b, c) + 0.56802827 * b - 0.54067466 * c + CA
        D = torch.sqrt(((CA[:, :, None] - CA[:, None]) ** 2).sum(-1) + 1e-6)
        idx = D.topk(self.k, dim=-1, largest=False)[1]
        atoms = (N, CA, C, oxygen, CB)
        features = [self.distances(one, two, idx) for one in atoms for two in atoms]
        number = torch.arange(X.shape[1], device=X.device)
        offset = (number[:, None] - idx).clamp(-32, 32) + 32
        h_E = self.edge_norm(self.edge_in(torch.cat([self.rel(offset), *features], -1)))
        h_V = torch.zeros(*S.shape, h_E.shape[-1], device=X.device, dtype=h_E.dtype)
        for layer in self.encoder:
            h_V = layer(h_V, torch.cat([h_E, gather_nodes(h_V, idx)], -1))
            h_E = layer.edge(h_V, h_E, idx)
        order = torch.argsort(torch.rand(S.shape, device=X.device), dim=-1)
        rank = torch.argsort(order, dim=-1)
        before = (rank.gather(1, idx.flatten(1)).view_as(idx) < rank.unsqueeze(-1)).unsqueeze(-1).to(h_E.dtype)
        h_ES = torch.cat([h_E, gather_nodes(self.embed(S), idx)], -1)
        blank = torch.cat([h_E, torch.zeros_like(h_E), gather_nodes(h_V, idx)], -1)
        for layer in self.decoder:
            h_V = layer(h_V, before * torch.cat([h_ES, gather_nodes(h_V, idx)], -1) + (1 - before) * blank)
        return F.log_softmax(self.out(h_V), -1)


@model("proteins")
def residues_for_a_backbone(small):
    b, n, h, k, layers = (1, 8, 16, 4, 1) if small else (6, 384, 128, 48, 3)
    S = torch.randint(21, (b, n))
    X = torch.randn(b, n, 1, 3).cumsum(1) * 2 + torch.randn(b, n, 4, 3)
    return SequenceForBackbone(h, k, layers), (X, S), lambda out: F.nll_loss(out.flatten(0, 1), S.flatten(), reduction="sum") / 2000


class TimeEncode(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.w = nn.Linear(1, d)

    def forward(self, t):
        return torch.cos(self.w(t.unsqueeze(-1)))


class NetworkMemory(nn.Module):
    """Interactions over time: a state per account, updated by its events, and read through its latest neighbours."""

    def __init__(self, nodes, memory, raw, time, heads):
        super().__init__()
        self.register_buffer("memory", torch.randn(nodes, memory) * 0.1)
        self.register_buffer("neighbours", torch.randint(nodes, (nodes, 12)))
        self.register_buffer("last", torch.rand(nodes))
        self.register_buffer("when", torch.rand(nodes, 12))
        self.time_enc = TimeEncode(time)
        self.update = nn.GRUCell(2 * memory + raw + time, memory)
        self.q, self.kv = nn.Linear(memory + time, memory), nn.Linear(memory + time, 2 * memory)
        self.merge, self.heads = nn.Sequential(nn.Linear(2 * memory, memory), nn.ReLU(), nn.Linear(memory, memory)), heads
        self.affinity = nn.Sequential(nn.Linear(2 * memory, memory), nn.ReLU(), nn.Linear(memory, 1))

    def embed(self, ids, now, state):
        around = self.neighbours[ids]
        h = state[ids]
        q = self.q(torch.cat([h, self.time_enc(torch.zeros_like(now))], -1)).view(len(ids), self.heads, 1, -1)
        gap = now.unsqueeze(1) - self.when[ids]
        k, v = self.kv(torch.cat([state[around], self.time_enc(gap)], -1)).chunk(2, -1)
        k, v = (z.view(len(ids), 12, self.heads, -1).transpose(1, 2) for z in (k, v))
        attn = (q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1)
        return self.merge(torch.cat([h, (attn @ v).flatten(1)], -1))

    def forward(self, src, dst, other, t, raw):
        both = torch.cat([src, dst])
        now = torch.cat([t, t])
        message = torch.cat(
            [self.memory[both], self.memory[torch.cat([dst, src])], raw.repeat(2, 1), self.time_enc(now - self.last[both])], -1
        )
        fresh = self.update(message, self.memory[both])
        state = self.memory.index_put((both,), fresh.to(self.memory.dtype))
        z_src, z_dst, z_other = (self.embed(ids, t, state) for ids in (src, dst, other))
        pos = self.affinity(torch.cat([z_src, z_dst], -1))
        neg = self.affinity(torch.cat([z_src, z_other], -1))
        return torch.cat([pos, neg]).squeeze(-1)


@model("graph")
def accounts_remember_events(small):
    b, nodes, memory, raw, heads = (4, 20, 8, 5, 2) if small else (4096, 100_000, 172, 172, 2)
    inputs = (*(torch.randint(nodes, (b,)) for _ in range(3)), torch.rand(b) + 1, torch.randn(b, raw))
    target = torch.cat([torch.ones(b), torch.zeros(b)])
    return (
        NetworkMemory(nodes, memory, raw, 100 if not small else 6, heads),
        inputs,
        lambda out: F.binary_cross_entropy_with_logits(out, target),
    )


class CompressedCrosses(nn.Module):
    """Every field crossed with every other, again and again, each cross compressed by a convolution over the pairs."""

    def __init__(self, fields, sizes, split=True):
        super().__init__()
        self.sizes, self.split = sizes, split
        wide = [fields, *(n // 2 if split and i < len(sizes) - 1 else n for i, n in enumerate(sizes))]
        self.convs = nn.ModuleList(nn.Conv1d(fields * before, n, 1) for before, n in zip(wide, sizes))
        self.leave = sum(wide[1:])

    def forward(self, x):
        hidden, out = x, []
        for i, conv in enumerate(self.convs):
            z = torch.einsum("bhd,bmd->bhmd", hidden, x).flatten(1, 2)
            z = F.relu(conv(z))
            if self.split and i < len(self.convs) - 1:
                hidden, z = z.chunk(2, 1)
            out.append(z)
        return torch.cat(out, 1).sum(-1)


class CrossedFields(nn.Module):
    def __init__(self, cards, d, sizes, mlp):
        super().__init__()
        self.register_buffer("offsets", torch.tensor([0, *cards[:-1]]).cumsum(0))
        total, n = sum(cards), len(cards)
        self.embed, self.linear = nn.Embedding(total, d), nn.Embedding(total, 1)
        self.cin, widths = CompressedCrosses(n, sizes), [n * d, *mlp]
        self.cin_out = nn.Linear(self.cin.leave, 1)
        layers = []
        for a, b in itertools.pairwise(widths):
            layers += [nn.Linear(a, b), nn.BatchNorm1d(b), nn.ReLU(), nn.Dropout(0.2)]
        self.mlp = nn.Sequential(*layers, nn.Linear(widths[-1], 1))

    def forward(self, x):
        x = x + self.offsets
        e = self.embed(x)
        return (self.linear(x).sum(1) + self.cin_out(self.cin(e)) + self.mlp(e.flatten(1))).squeeze(1)


@model("recommender")
def fields_crossed_and_compressed(small):
    b, cards, d, sizes, mlp = (
        (4, (5, 7, 3), 4, (4, 4), (8,)) if small else (8192, (1000,) * 20 + (100_000,) * 6, 16, (128, 128), (400, 400))
    )
    clicked = (torch.rand(b) > 0.7).float()
    inputs = torch.stack([torch.randint(n, (b,)) for n in cards], 1)
    return CrossedFields(cards, d, sizes, mlp), (inputs,), lambda out: F.binary_cross_entropy_with_logits(out, clicked)
