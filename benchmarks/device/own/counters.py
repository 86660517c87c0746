"""Counters: what people click, rows of tables, seasons, prototypes, relations; teams with `hparams`, in-place sums and views everywhere."""

import math
from itertools import pairwise
from types import SimpleNamespace as hparams

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def mlp(*dims, act=nn.ReLU, last=False, drop=0.0):
    layers = []
    for i, (a, b) in enumerate(pairwise(dims)):
        layers.append(nn.Linear(a, b))
        if last or i < len(dims) - 2:
            layers.append(act())
            if drop:
                layers.append(nn.Dropout(drop))
    return nn.Sequential(*layers)


class FieldAware(nn.Module):
    """A vector of each value for each other field: pairs multiply what they keep for one another."""

    def __init__(self, hp):
        super().__init__()
        self.F = len(hp.cards)
        self.register_buffer("offset", torch.tensor([0, *hp.cards[:-1]]).cumsum(0))
        total = sum(hp.cards)
        self.tables = nn.Parameter(torch.randn(total, self.F * hp.k) * 0.01)
        self.bias = nn.EmbeddingBag(total, 1, mode="sum")
        row, col = torch.triu_indices(self.F, self.F, 1)
        self.register_buffer("row", row)
        self.register_buffer("col", col)
        self.deep = mlp(row.numel(), *hp.hidden, 1, drop=0.1)

    def forward(self, ids):
        ids = ids + self.offset
        e = F.embedding(ids, self.tables).view(ids.size(0), self.F, self.F, -1)
        pairs = (e[:, self.row, self.col] * e[:, self.col, self.row]).sum(-1)
        return (self.bias(ids) + pairs.sum(1, keepdim=True) + self.deep(pairs)).squeeze(1)


@model("recommender")
def fields_that_know_each_other(small):
    hp = hparams(cards=(5, 7, 3), k=4, hidden=(8,), batch=4) if small else hparams(cards=(500,) * 14 + (40_000,) * 8, k=8, hidden=(512, 256), batch=8192)  # fmt: skip
    ids = torch.stack([torch.randint(n, (hp.batch,)) for n in hp.cards], 1)
    y = (torch.rand(hp.batch) < 0.2).float()
    return FieldAware(hp), (ids,), lambda out: F.binary_cross_entropy_with_logits(out, y)


class PointwiseBlock(nn.Module):
    """Attention over actions without a softmax: SiLU of scores, biases by place and by time, a gate from the same projection."""

    def __init__(self, hp):
        super().__init__()
        self.h, self.d = hp.heads, hp.dim // hp.heads
        self.uvqk = nn.Parameter(torch.empty(hp.dim, 4 * hp.dim).normal_(std=0.02))
        self.out, self.n1, self.n2 = nn.Linear(hp.dim, hp.dim), nn.LayerNorm(hp.dim), nn.LayerNorm(hp.dim)
        self.by_place, self.by_time = nn.Parameter(torch.randn(2 * hp.length - 1) * 0.02), nn.Parameter(torch.randn(65) * 0.02)

    def forward(self, x, when, causal):
        B, N, D = x.shape
        u, v, q, k = F.silu(self.n1(x) @ self.uvqk).split(D, -1)
        q, k, v = (t.view(B, N, self.h, self.d) for t in (q, k, v))
        scores = torch.einsum("bnhd,bmhd->bhnm", q, k)
        i = torch.arange(N, device=x.device)
        place = self.by_place[i[None] - i[:, None] + N - 1]
        gap = (when[:, :, None] - when[:, None, :]).abs().clamp(min=1)
        bucket = (torch.log(gap.float()) / 0.301).long().clamp_(0, 64)
        scores = scores + (place + self.by_time[bucket]).unsqueeze(1)
        a = F.silu(scores) / N * causal
        y = torch.einsum("bhnm,bmhd->bnhd", a, v).reshape(B, N, D)
        return x + self.out(u * self.n2(y))


class ActionReader(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.items, self.acts = nn.Embedding(hp.items, hp.dim), nn.Embedding(8, hp.dim)
        self.blocks = nn.ModuleList(PointwiseBlock(hp) for _ in range(hp.layers))
        self.register_buffer("causal", torch.ones(hp.length, hp.length).tril_())
        self.norm = nn.LayerNorm(hp.dim)

    def forward(self, ids, acts, when, others):
        x = self.items(ids) * math.sqrt(self.items.embedding_dim) + self.acts(acts)
        for block in self.blocks:
            x = block(x, when, self.causal)
        x = F.normalize(self.norm(x[:, :-1]), dim=-1)
        good = F.normalize(self.items(ids[:, 1:]), dim=-1)
        bad = F.normalize(self.items(others), dim=-1)
        return torch.cat([(x * good).sum(-1, keepdim=True), x @ bad.t()], -1).div_(0.05)


@model("recommender")
def actions_read_without_softmax(small):
    hp = hparams(b=2, length=6, items=30, dim=8, heads=2, layers=1, others=5) if small else hparams(b=32, length=400, items=800_000, dim=256, heads=8, layers=6, others=512)  # fmt: skip
    when = torch.randint(1000, (hp.b, hp.length)).cumsum(1)
    inputs = torch.randint(hp.items, (hp.b, hp.length)), torch.randint(8, (hp.b, hp.length)), when, torch.randint(hp.items, (hp.others,))
    return ActionReader(hp), inputs, lambda out: -out.float().log_softmax(-1)[..., 0].mean()


@model("recommender")
def lists_made_unlike_greedily(small):
    """What to show: relevance and unlikeness in one determinant, an item at a time, each round a row of a Cholesky factor."""
    users, cand, d, show = (3, 8, 4, 3) if small else (512, 1000, 64, 24)

    def pick(vectors, score):
        v = F.normalize(vectors, dim=-1) * score.mul(0.5).exp().unsqueeze(-1)
        kernel = torch.baddbmm(torch.eye(cand, device=v.device, dtype=v.dtype) * 1e-2, v, v.transpose(1, 2))
        gain = kernel.diagonal(dim1=1, dim2=2).clone()
        rows = v.new_zeros(users, show, cand)
        taken = torch.zeros(users, cand, dtype=torch.bool, device=v.device)
        chosen = []
        for i in range(show):
            j = gain.masked_fill(taken, -float("inf")).argmax(1, keepdim=True)
            chosen.append(j)
            taken.scatter_(1, j, True)
            at = j.unsqueeze(-1)
            mine = kernel.gather(1, at.expand(-1, 1, cand)).squeeze(1)
            if i:
                mine = mine - torch.bmm(rows[:, :i].gather(2, at.expand(-1, i, 1)).transpose(1, 2), rows[:, :i]).squeeze(1)
            e = mine / gain.gather(1, j).clamp_min(1e-4).sqrt()
            rows[:, i] = e
            gain = gain - e * e
        return torch.cat(chosen, 1), gain

    return pick, (torch.randn(users, cand, d), torch.rand(users, cand)), None


@model("recommender", half=False)
def arms_with_their_doubt(small):
    """Which banner: every arm's ridge regression kept as an inverse, drawn from, and updated by the reward of what was shown."""
    arms, d, batch, rounds = (4, 5, 3, 2) if small else (256, 96, 1024, 6)

    def choose(inverse, b, contexts, click):
        picked = []
        for t in range(rounds):
            x = contexts[t]
            theta = torch.bmm(inverse, b.unsqueeze(-1)).squeeze(-1)
            mean = x @ theta.t()
            doubt = torch.einsum("nd,ade,ne->na", x, inverse, x).clamp_min(0).sqrt()
            arm = (mean + 0.3 * doubt).argmax(1)
            reward = (torch.sigmoid((x * click[arm]).sum(1)) > 0.5).float()
            who = F.one_hot(arm, arms).float()
            xx = torch.einsum("na,nd,ne->ade", who, x, x)
            inverse = torch.linalg.inv(torch.linalg.inv(inverse) + xx)
            b = b.index_add(0, arm, x * reward.unsqueeze(1))
            picked.append(arm)
        return torch.stack(picked), inverse, b

    eye = torch.eye(d).repeat(arms, 1, 1)
    return choose, (eye, torch.zeros(arms, d), torch.randn(rounds, batch, d), torch.randn(arms, d)), None


class ContextTable(nn.Module):
    """A table read whole: cells attend along their row, then along their column; rows without a label are answered from the others."""

    def __init__(self, hp):
        super().__init__()
        self.cell, self.label, self.unknown = nn.Linear(2, hp.d), nn.Embedding(hp.classes, hp.d), nn.Parameter(torch.randn(hp.d) * 0.02)
        self.column = nn.Parameter(torch.randn(hp.columns, hp.d) * 0.02)
        self.layers = nn.ModuleList(nn.ModuleDict(dict(
            row=nn.MultiheadAttention(hp.d, hp.heads, batch_first=True), col=nn.MultiheadAttention(hp.d, hp.heads, batch_first=True),
            ff=mlp(hp.d, 4 * hp.d, hp.d, act=nn.GELU), n1=nn.LayerNorm(hp.d), n2=nn.LayerNorm(hp.d), n3=nn.LayerNorm(hp.d))) for _ in range(hp.layers))  # fmt: skip
        self.head = mlp(hp.d, 2 * hp.d, hp.classes, act=nn.GELU)

    def forward(self, x, y):
        B, R, C = x.shape
        known = y.size(1)
        mean, std = x[:, :known].mean(1, keepdim=True), x[:, :known].std(1, keepdim=True) + 1e-6
        x = ((x - mean) / std).clamp(-10, 10)
        cells = self.cell(torch.stack([x, x.abs().log1p()], -1)) + self.column
        goal = torch.cat([self.label(y), self.unknown.expand(B, R - known, -1)], 1).unsqueeze(2)
        h = torch.cat([cells, goal], 2)
        for m in self.layers:
            r = m["n1"](h).flatten(0, 1)
            h = h + m["row"](r, r, r, need_weights=False)[0].view_as(h)
            c = m["n2"](h).transpose(1, 2).reshape(B * (C + 1), R, -1)
            out = m["col"](c, c[:, :known], c[:, :known], need_weights=False)[0]
            h = h + out.view(B, C + 1, R, -1).transpose(1, 2)
            h = h + m["ff"](m["n3"](h))
        return self.head(h[:, known:, -1])


@model("tabular")
def table_read_in_its_context(small):
    hp = hparams(b=1, rows=8, known=5, columns=3, d=8, heads=2, layers=1, classes=3) if small else hparams(b=4, rows=768, known=512, columns=24, d=192, heads=6, layers=6, classes=10)  # fmt: skip
    target = torch.randint(hp.classes, (hp.b * (hp.rows - hp.known),))
    inputs = torch.randn(hp.b, hp.rows, hp.columns), torch.randint(hp.classes, (hp.b, hp.known))
    return ContextTable(hp), inputs, lambda out: F.cross_entropy(out.flatten(0, 1), target)


@model("tabular")
def forest_asked_in_parallel(small):
    """A boosted forest: all rows go down all trees at once, a level at a time."""
    rows, features, trees, depth = (6, 4, 3, 2) if small else (65_536, 128, 400, 8)
    nodes = 2**depth - 1

    def ask(x, feature, threshold, leaf):
        at = torch.zeros(x.size(0), trees, dtype=torch.long, device=x.device)
        base = torch.arange(trees, device=x.device) * nodes
        f, t = feature.flatten(), threshold.flatten()
        for _ in range(depth):
            node = at + base
            at = 2 * at + 1 + (x.gather(1, f[node]) > t[node]).long()
        values = leaf.flatten()[(at - nodes) + torch.arange(trees, device=x.device) * (nodes + 1)]
        return torch.sigmoid(values.sum(1))

    return ask, (torch.randn(rows, features), torch.randint(features, (trees, nodes)), torch.randn(trees, nodes), torch.randn(trees, nodes + 1) * 0.1), None  # fmt: skip


class NetPerColumn(nn.Module):
    """A small net for every column and for some pairs, as grouped convolutions; what they say is added up, so it can be drawn."""

    def __init__(self, hp):
        super().__init__()
        n = hp.columns + hp.pairs
        self.register_buffer("i", torch.randint(hp.columns, (hp.pairs,)))
        self.register_buffer("j", torch.randint(hp.columns, (hp.pairs,)))
        self.inp = nn.Conv1d(2 * n, n * hp.w, 1, groups=n)
        self.hid = nn.ModuleList(nn.Conv1d(n * hp.w, n * hp.w, 1, groups=n) for _ in range(2))
        self.say, self.drop, self.bias = nn.Conv1d(n * hp.w, n, 1, groups=n, bias=False), nn.Dropout(0.1), nn.Parameter(torch.zeros(1))

    def forward(self, x):
        single = torch.stack([x, torch.zeros_like(x)], -1)
        double = torch.stack([x[:, self.i], x[:, self.j]], -1)
        h = torch.cat([single, double], 1).flatten(1).unsqueeze(-1)
        h = F.relu_(self.inp(h))
        for conv in self.hid:
            h = self.drop(F.relu_(conv(h)))
        parts = self.say(h).squeeze(-1)
        return parts.sum(1) + self.bias, parts


@model("tabular")
def a_net_for_every_column(small):
    hp = hparams(b=6, columns=4, pairs=3, w=4) if small else hparams(b=4096, columns=96, pairs=160, w=32)
    y = torch.randn(hp.b)
    return NetPerColumn(hp), (torch.randn(hp.b, hp.columns),), lambda out: F.mse_loss(out[0], y) + 1e-3 * out[1].square().mean()


class SmoothedSeasons(nn.Module):
    """Each series has its own level and seasons, smoothed step by step in a loop; a dilated LSTM forecasts what is left."""

    def __init__(self, hp):
        super().__init__()
        self.hp = hp
        self.alpha, self.gamma = nn.Parameter(torch.zeros(hp.series)), nn.Parameter(torch.zeros(hp.series))
        self.season = nn.Parameter(torch.zeros(hp.series, hp.period))
        self.rnn = nn.ModuleList(nn.LSTM(hp.window if i == 0 else hp.h, hp.h, batch_first=True) for i in range(2))
        self.fc, self.say = nn.Linear(hp.h, hp.h), nn.Linear(hp.h, hp.ahead)

    def forward(self, y, who):
        hp = self.hp
        a, g = torch.sigmoid(self.alpha[who]), torch.sigmoid(self.gamma[who])
        seasons = list(self.season[who].exp().unbind(1))
        level, levels = y[:, 0] / seasons[0], []
        for t in range(y.size(1)):
            level = a * y[:, t] / seasons[t] + (1 - a) * level
            levels.append(level)
            seasons.append(g * y[:, t] / level + (1 - g) * seasons[t])
        S, L = torch.stack(seasons, 1), torch.stack(levels, 1)
        windows = (y / S[:, : y.size(1)]).unfold(1, hp.window, 1) / L[:, hp.window - 1 :, None]
        h = windows.clamp_min(1e-3).log()
        for d, rnn in zip((1, hp.dilation), self.rnn):
            B, T, C = h.shape
            h = F.pad(h, (0, 0, 0, -T % d))
            out = rnn(h.view(B, -1, d, C).transpose(1, 2).reshape(B * d, -1, C))[0]
            h = out.view(B, d, -1, hp.h).transpose(1, 2).reshape(B, -1, hp.h)[:, :T]
        out = self.say(torch.tanh(self.fc(h[:, -1]))).exp()
        return out * L[:, -1:] * S[:, -hp.ahead :]


@model("time series", compiles=False)
def seasons_smoothed_then_learned(small):
    hp = hparams(b=3, series=5, period=4, steps=8, window=4, ahead=2, h=8, dilation=2) if small else hparams(b=2048, series=50_000, period=24, steps=120, window=48, ahead=24, h=128, dilation=6)  # fmt: skip
    truth = torch.rand(hp.b, hp.ahead) + 0.5
    inputs = torch.rand(hp.b, hp.steps) + 0.5, torch.randint(hp.series, (hp.b,))
    return SmoothedSeasons(hp), inputs, lambda out: (out / truth - 1).abs().mean()


class VariablesAsTokens(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.embed = nn.Linear(hp.length, hp.d)
        self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(hp.d, hp.heads, hp.ff, 0.1, "gelu", batch_first=True) for _ in range(hp.layers))  # fmt: skip
        self.norm, self.say = nn.LayerNorm(hp.d), nn.Linear(hp.d, hp.ahead)

    def forward(self, x, marks):
        """Every variable's whole past is one token; so are the marks of the calendar."""
        mean = x.mean(1, keepdim=True)
        x = x - mean
        std = torch.sqrt(x.var(1, keepdim=True, unbiased=False) + 1e-5)
        x = x / std
        h = self.embed(torch.cat([x, marks], -1).transpose(1, 2))
        for block in self.blocks:
            h = block(h)
        out = self.say(self.norm(h))[:, : x.size(2)].transpose(1, 2)
        return out * std + mean


@model("time series")
def variables_as_tokens(small):
    hp = hparams(b=2, length=12, n=4, marks=2, d=16, heads=2, ff=16, layers=1, ahead=3) if small else hparams(b=16, length=96, n=862, marks=4, d=512, heads=8, ff=512, layers=4, ahead=96)  # fmt: skip
    truth = torch.randn(hp.b, hp.ahead, hp.n)
    return VariablesAsTokens(hp), (torch.randn(hp.b, hp.length, hp.n), torch.randn(hp.b, hp.length, hp.marks)), lambda out: F.mse_loss(out, truth)  # fmt: skip


@model("time series", compiles=False)
def random_kernels_by_the_thousand(small):
    """Random dilated kernels over series: how often each is above zero and its peak; then a ridge classifier's scores."""
    b, n, each, dilations, classes = (3, 32, 4, (1, 2), 3) if small else (256, 600, 84, (1, 2, 4, 8, 16, 32), 10)
    groups = [torch.randn(each, 1, k) for k in (7, 9, 11) for _ in dilations]
    groups = [g - g.mean(-1, keepdim=True) for g in groups]
    biases = [torch.rand(each) * 2 - 1 for _ in groups]
    weight = torch.randn(2 * each * len(groups), classes) * 0.01

    def score(x, weight, groups, biases):
        x = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)
        features = []
        for i, (w, bias) in enumerate(zip(groups, biases)):
            d = dilations[i % len(dilations)]
            y = F.conv1d(x, w, bias, padding=(w.size(-1) // 2) * d, dilation=d)
            features += [(y > 0).to(x.dtype).mean(-1), y.amax(-1)]
        return torch.cat(features, 1) @ weight

    return score, (torch.randn(b, 1, n), weight, groups, biases), None


def small_net(c, out):
    def block(a, b, s):
        return [nn.Conv2d(a, b, 3, s, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True), nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True)]  # fmt: skip

    return nn.Sequential(*block(3, c, 1), *block(c, 2 * c, 2), *block(2 * c, 4 * c, 2), *block(4 * c, 8 * c, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8 * c, out))  # fmt: skip


class ViewsToPrototypes(nn.Module):
    """Two large views and some small ones; codes balanced over prototypes by a few rounds; each view foretells the codes of the others."""

    def __init__(self, hp):
        super().__init__()
        self.net, self.project = small_net(hp.c, hp.mid), nn.Sequential(nn.BatchNorm1d(hp.mid), nn.ReLU(True), nn.Linear(hp.mid, hp.code))
        self.prototypes, self.hp = nn.Linear(hp.code, hp.prototypes, bias=False), hp

    @torch.no_grad()
    def balance(self, scores):
        Q = torch.exp(scores.float() / 0.05 - scores.float().amax() / 0.05).t()
        Q /= Q.sum()
        K, B = Q.shape
        for _ in range(3):
            Q /= Q.sum(1, keepdim=True).clamp_min(1e-12) * K
            Q /= Q.sum(0, keepdim=True) * B
        return (Q * B).t()

    def forward(self, large, little):
        z = torch.cat([self.net(large), self.net(little)])
        out = self.prototypes(F.normalize(self.project(z), dim=1))
        b = large.size(0) // 2
        views = out.split(b)
        loss = 0.0
        for i in range(2):
            q = self.balance(views[i])
            rest = [v for j, v in enumerate(views) if j != i]
            loss = loss - sum((q * F.log_softmax(v.float() / 0.1, 1)).sum(1).mean() for v in rest) / len(rest)
        return loss / 2


@model("contrastive loss")
def views_balanced_over_prototypes(small):
    hp = hparams(b=3, c=4, mid=8, code=4, prototypes=5, big=16, tiny=8, crops=2) if small else hparams(b=64, c=48, mid=512, code=128, prototypes=3000, big=96, tiny=48, crops=4)  # fmt: skip
    inputs = torch.rand(2 * hp.b, 3, hp.big, hp.big), torch.rand(hp.crops * hp.b, 3, hp.tiny, hp.tiny)
    return ViewsToPrototypes(hp), inputs, lambda out: out


class MatchBySigmoid(nn.Module):
    """Pictures and captions: every pair is its own yes-or-no question."""

    def __init__(self, hp):
        super().__init__()
        self.eye, self.words, self.place = small_net(hp.c, hp.d), nn.Embedding(hp.vocab, hp.d), nn.Parameter(torch.randn(hp.length, hp.d) * 0.02)  # fmt: skip
        self.read = nn.ModuleList(nn.TransformerEncoderLayer(hp.d, hp.heads, 4 * hp.d, 0.0, F.gelu, batch_first=True, norm_first=True) for _ in range(hp.layers))  # fmt: skip
        self.seed, self.pool = nn.Parameter(torch.randn(1, 1, hp.d) * 0.02), nn.MultiheadAttention(hp.d, hp.heads, batch_first=True)
        self.t, self.b = nn.Parameter(torch.tensor(math.log(10.0))), nn.Parameter(torch.tensor(-10.0))

    def forward(self, image, ids):
        v = F.normalize(self.eye(image), dim=-1)
        h = self.words(ids) + self.place
        for block in self.read:
            h = block(h)
        w = F.normalize(self.pool(self.seed.expand(h.size(0), -1, -1), h, h, need_weights=False)[0].squeeze(1), dim=-1)
        return v @ w.t() * self.t.exp() + self.b


@model("contrastive loss")
def every_pair_a_question(small):
    hp = hparams(b=4, c=4, d=16, vocab=20, length=4, heads=2, layers=1, size=16) if small else hparams(b=512, c=32, d=512, vocab=32_000, length=32, heads=8, layers=6, size=64)  # fmt: skip
    sign = 2 * torch.eye(hp.b) - 1
    return MatchBySigmoid(hp), (torch.rand(hp.b, 3, hp.size, hp.size), torch.randint(hp.vocab, (hp.b, hp.length))), lambda out: -F.logsigmoid(sign * out).sum() / hp.b  # fmt: skip
