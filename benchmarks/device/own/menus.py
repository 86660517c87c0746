"""Menus: columns chosen in steps, interests that evolve, items found down a tree, codes of bits, series pooled at several rates."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def sparsemax(z):
    """Probabilities of which most are zero."""
    z = z - z.amax(-1, keepdim=True)
    s, _ = torch.sort(z, dim=-1, descending=True)
    ranks = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
    csum = s.cumsum(-1) - 1
    support = (ranks * s > csum).sum(-1, keepdim=True)
    tau = csum.gather(-1, support - 1) / support.to(z.dtype)
    return torch.clamp(z - tau, min=0)


class GhostNorm(nn.Module):
    def __init__(self, d, virtual):
        super().__init__()
        self.bn, self.virtual = nn.BatchNorm1d(d, momentum=0.02), virtual

    def forward(self, x):
        return torch.cat([self.bn(part) for part in x.chunk(max(1, len(x) // self.virtual))], 0)


class Gated(nn.Module):
    def __init__(self, a, b, virtual, fc=None):
        super().__init__()
        self.fc = fc if fc is not None else nn.Linear(a, 2 * b, bias=False)
        self.bn = GhostNorm(2 * b, virtual)

    def forward(self, x):
        return F.glu(self.bn(self.fc(x)), -1)


class ColumnsChosen(nn.Module):
    """A table read in steps: each chooses a few columns by a sparse mask, and the next prefers those that nobody has used."""

    def __init__(self, columns, d, steps, classes, virtual):
        super().__init__()
        self.enter = nn.BatchNorm1d(columns)
        shared = nn.Linear(columns, 4 * d, bias=False), nn.Linear(2 * d, 4 * d, bias=False)
        self.nets = nn.ModuleList(
            nn.ModuleList([Gated(columns, 2 * d, virtual, shared[0]), Gated(2 * d, 2 * d, virtual, shared[1]),
                           Gated(2 * d, 2 * d, virtual), Gated(2 * d, 2 * d, virtual)]) for _ in range(steps + 1))  # fmt: skip
        self.ask = nn.ModuleList(nn.Sequential(nn.Linear(d, columns, bias=False), GhostNorm(columns, virtual)) for _ in range(steps))
        self.out, self.d = nn.Linear(d, classes), d

    @staticmethod
    def transform(net, x):
        x = net[0](x)
        for layer in net[1:]:
            x = (x + layer(x)) * 0.5**0.5
        return x

    def forward(self, x):
        x = self.enter(x)
        prior, total, entropy = torch.ones_like(x), 0, 0
        a = self.transform(self.nets[0], x)[:, self.d :]
        for net, ask in zip(self.nets[1:], self.ask):
            mask = sparsemax(ask(a) * prior)
            entropy = entropy - (mask * torch.log(mask + 1e-6)).sum(-1).mean()
            prior = prior * (1.3 - mask)
            step, a = self.transform(net, mask * x).split(self.d, -1)
            total = total + F.relu(step)
        return self.out(total), entropy / len(self.ask)


@model("tabular")
def columns_chosen_in_steps(small):
    b, columns, d, steps, classes, virtual = (8, 6, 4, 2, 3, 4) if small else (16_384, 54, 64, 5, 7, 2048)
    right = torch.randint(classes, (b,))
    return ColumnsChosen(columns, d, steps, classes, virtual), (torch.randn(b, columns),), lambda out: F.cross_entropy(out[0].float(), right) + 1e-3 * out[1].float()  # fmt: skip


class InterestsEvolve(nn.Module):
    """What a user wants next: a GRU reads the history, a second one whose update gate is weighed by how near each state is to the ad."""

    def __init__(self, items, d, wide):
        super().__init__()
        self.item, self.cate = nn.Embedding(items, d), nn.Embedding(items // 4, d)
        self.gru = nn.GRU(2 * d, 2 * d, batch_first=True)
        self.x, self.h = nn.Linear(2 * d, 6 * d), nn.Linear(2 * d, 6 * d, bias=False)
        self.W = nn.Parameter(torch.randn(2 * d, 2 * d) * 0.05)
        self.aux = nn.Sequential(nn.Linear(4 * d, 100), nn.Sigmoid(), nn.Linear(100, 1))
        sizes = (8 * d, *wide)
        self.mlp = nn.Sequential(*(f for a, b in itertools.pairwise(sizes) for f in (nn.Linear(a, b), nn.PReLU())), nn.Linear(wide[-1], 2))

    def forward(self, items, cates, item, cate, other, mask):
        e = torch.cat([self.item(items), self.cate(cates)], -1)
        ad = torch.cat([self.item(item), self.cate(cate)], -1)
        states, _ = self.gru(e)
        clicked = self.aux(torch.cat([states[:, :-1], e[:, 1:]], -1)).squeeze(-1)
        skipped = self.aux(torch.cat([states[:, :-1], torch.cat([self.item(other), self.cate(cates)], -1)[:, 1:]], -1)).squeeze(-1)
        near = ((states @ self.W) * ad.unsqueeze(1)).sum(-1).masked_fill(~mask, -1e4).softmax(-1).to(states.dtype)
        h = torch.zeros_like(states[:, 0])
        for x, a in zip(self.x(states).unbind(1), near.unbind(1)):
            xr, xz, xn = x.chunk(3, -1)
            hr, hz, hn = self.h(h).chunk(3, -1)
            z = torch.sigmoid(xz + hz) * a.unsqueeze(-1)
            h = (1 - z) * h + z * torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
        total = (e * mask.unsqueeze(-1)).sum(1)
        return self.mlp(torch.cat([h, ad, total, total * ad], -1)), clicked, skipped


@model("recommender", compiles=False)
def interests_that_evolve(small):
    b, n, items, d, wide = (3, 5, 40, 4, (8,)) if small else (2048, 50, 400_000, 32, (200, 80))
    mask = torch.arange(n) < torch.randint(2, n + 1, (b, 1))
    right = torch.randint(2, (b,))
    inputs = torch.randint(items, (b, n)), torch.randint(items // 4, (b, n)), torch.randint(items, (b,)), torch.randint(items // 4, (b,)), torch.randint(items, (b, n)), mask  # fmt: skip

    def loss(out):
        score, clicked, skipped = out
        pairs = F.softplus(-clicked) + F.softplus(skipped)
        return F.cross_entropy(score.float(), right) + (pairs * mask[:, 1:]).sum() / mask.sum()

    return InterestsEvolve(items, d, wide), inputs, loss


class DownATree(nn.Module):
    """Items are leaves of a binary tree: from the root, both children of the best nodes are scored level by level."""

    def __init__(self, levels, d, windows, wide):
        super().__init__()
        self.node = nn.Embedding(2 ** (levels + 1), d)
        sizes = ((windows + 1) * d, *wide)
        self.mlp = nn.Sequential(*(f for a, b in itertools.pairwise(sizes) for f in (nn.Linear(a, b), nn.PReLU())), nn.Linear(wide[-1], 1))
        self.near, self.levels, self.windows = nn.Sequential(nn.Linear(3 * d, 36), nn.PReLU(), nn.Linear(36, 1)), levels, windows

    def score(self, nodes, h):
        e = self.node(nodes).unsqueeze(2).expand(-1, -1, h.shape[1], -1)
        past = h.unsqueeze(1).expand(-1, nodes.shape[1], -1, -1)
        w = self.near(torch.cat([past, past * e, e], -1))
        seen = (w * past).unflatten(2, (self.windows, -1)).sum(3).flatten(2)
        return self.mlp(torch.cat([seen, e[:, :, 0]], -1)).squeeze(-1)

    def forward(self, history, beam):
        h = self.node(history)
        nodes = torch.ones(len(history), 1, dtype=torch.long, device=history.device)
        for _ in range(self.levels):
            nodes = torch.stack([2 * nodes, 2 * nodes + 1], -1).flatten(1)
            score = self.score(nodes, h)
            if nodes.shape[1] > beam.shape[0]:
                best = score.topk(beam.shape[0], 1)
                nodes, score = nodes.gather(1, best.indices), best.values
        return nodes, score


@model("recommender")
def items_found_down_a_tree(small):
    b, n, levels, d, windows, wide, beam = (2, 4, 4, 4, 2, (8,), 3) if small else (32, 60, 17, 24, 10, (128, 64), 100)
    history = torch.randint(2**levels, 2 ** (levels + 1), (b, n))
    return DownATree(levels, d, windows, wide), (history, torch.zeros(beam)), None


@model("retrieval", half=False)
def codes_of_bits_reranked(small):
    """Vectors turned by a random matrix, their signs packed eight to a byte; bits that differ are counted from a table, the best few reranked."""
    docs, d, queries, first, last = (40, 16, 3, 8, 4) if small else (100_000, 256, 128, 1000, 20)

    def search(query, turned, norms, codes, table, R):
        q = query @ R
        powers = 2 ** torch.arange(7, -1, -1, device=q.device)
        mine = ((q > 0).unflatten(1, (-1, 8)) * powers).sum(-1).to(torch.uint8)
        apart = torch.zeros(len(q), len(codes), dtype=torch.int32, device=q.device)
        for byte in range(codes.shape[1]):
            apart += table[torch.bitwise_xor(mine[:, byte : byte + 1], codes[:, byte]).int()]
        near = apart.topk(first, dim=1, largest=False).indices
        exact = torch.einsum("qd,qkd->qk", q, turned[near]) * norms[near]
        best = exact.topk(last, 1)
        return near.gather(1, best.indices), best.values

    R = torch.linalg.qr(torch.randn(d, d, device="cpu"))[0].to(torch.empty(0).device)
    turned = torch.randn(docs, d)
    codes = ((turned > 0).unflatten(1, (-1, 8)) * 2 ** torch.arange(7, -1, -1)).sum(-1).to(torch.uint8)
    table = (torch.arange(256).unsqueeze(1) >> torch.arange(8) & 1).sum(1).int()
    return search, (torch.randn(queries, d), turned, torch.rand(docs) + 0.5, codes, table, R), None


class PooledRates(nn.Module):
    """A series at several rates: each stack pools its rest more coarsely, says a few knots, and interpolates backwards and ahead."""

    def __init__(self, past, ahead, pools, downs, wide, channels):
        super().__init__()
        self.past, self.ahead, self.pools, self.downs, self.channels = past, ahead, pools, downs, channels
        self.nets = nn.ModuleList()
        for pool, down in zip(pools, downs):
            a, b = -(-past // pool), past // pool + max(ahead // down, 1)
            self.nets.append(nn.Sequential(nn.Linear(a + channels, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Dropout(0.1), nn.Linear(wide, b)))  # fmt: skip

    def forward(self, x, more):
        level = x[:, -1:]
        rest, says = x - level, level.expand(-1, self.ahead)
        for net, pool in zip(self.nets, self.pools):
            coarse = F.max_pool1d(rest.unsqueeze(1), pool, pool, ceil_mode=True).squeeze(1)
            back, front = net(torch.cat([coarse, more], 1)).tensor_split((self.past // pool,), 1)
            rest = rest - F.interpolate(back.unsqueeze(1), size=self.past, mode="linear", align_corners=False).squeeze(1)
            says = says + F.interpolate(front.unsqueeze(1), size=self.ahead, mode="linear", align_corners=False).squeeze(1)
        return says


@model("time series")
def rates_pooled_then_interpolated(small):
    b, past, ahead, wide, channels = (3, 16, 8, 8, 2) if small else (16_384, 480, 96, 512, 8)
    goal = torch.randn(b, ahead)
    net = PooledRates(past, ahead, (8, 4, 2, 1), (8, 4, 2, 1), wide, channels)
    return net, (torch.randn(b, past), torch.randn(b, channels)), lambda out: F.smooth_l1_loss(out, goal)
