"""What people buy, watch and survive: sales that follow clicks, items spelt out as codes, long histories, many series, several risks."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class Dice(nn.Module):
    """An activation whose knee follows the data."""

    def __init__(self, dim):
        super().__init__()
        self.bn = nn.BatchNorm1d(dim, eps=1e-8, affine=False)
        self.alpha = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        p = torch.sigmoid(self.bn(x))
        return p * x + (1 - p) * self.alpha * x


class HashedFields(nn.Module):
    def __init__(self, n_fields, buckets, dim):
        super().__init__()
        self.table = nn.Embedding(n_fields * buckets, dim)
        nn.init.normal_(self.table.weight, std=1e-2)
        self.buckets = buckets
        self.register_buffer("offset", torch.arange(n_fields) * buckets)

    def forward(self, ids):
        # a cheap multiplicative hash, so that raw ids of any size fit into the buckets
        hashed = (ids * 2654435761) % self.buckets
        return self.table(hashed + self.offset)


class WholeSpace(nn.Module):
    """Sales are only seen after a click: both chances are learned over all impressions, the second through their product."""

    def __init__(self, n_fields, buckets, dim, dense, hidden):
        super().__init__()
        self.fields = HashedFields(n_fields, buckets, dim)
        self.dense = nn.Sequential(nn.BatchNorm1d(dense), nn.Linear(dense, dim), nn.ReLU())
        self.gate = nn.Linear((n_fields + 1) * dim, n_fields + 1)
        self.ctr = self.tower((n_fields + 1) * dim, hidden)
        self.cvr = self.tower((n_fields + 1) * dim, hidden)

    @staticmethod
    def tower(width, hidden):
        layers = []
        for h in hidden:
            layers += [nn.Linear(width, h), Dice(h), nn.Dropout(0.1)]
            width = h
        return nn.Sequential(*layers, nn.Linear(width, 1))

    def forward(self, ids, numbers):
        e = torch.cat([self.fields(ids), self.dense(numbers).unsqueeze(1)], dim=1)
        weight = 2 * torch.sigmoid(self.gate(e.detach().flatten(1)))  # squeeze and excite the fields
        x = (e * weight.unsqueeze(-1)).flatten(1)
        return self.ctr(x).squeeze(-1), self.cvr(x).squeeze(-1)


@model("recommender")
def sales_among_all_impressions(small):
    b, n_fields, buckets, dim, hidden = (6, 3, 11, 4, (8, 8)) if small else (16_384, 26, 40_000, 32, (512, 256, 128))
    click = (torch.rand(b) < 0.3).float()
    sale = click * (torch.rand(b) < 0.2).float()

    def loss(out):
        ctr, cvr = (x.float() for x in out)
        log_both = F.logsigmoid(ctr) + F.logsigmoid(cvr)
        not_both = torch.log1p(-log_both.exp().clamp(max=1 - 1e-6))
        return F.binary_cross_entropy_with_logits(ctr, click) - (sale * log_both + (1 - sale) * not_both).mean()

    return WholeSpace(n_fields, buckets, dim, 13, hidden), (torch.randint(10**9, (b, n_fields)), torch.randn(b, 13)), loss


class T5Norm(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        var = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        return self.weight * (x * torch.rsqrt(var + 1e-6)).to(self.weight.dtype)


class RelativeBias(nn.Module):
    """What is added to the scores of two places, by how far apart they are: near ones each its own, far ones by the logarithm."""

    def __init__(self, heads, causal, buckets=32):
        super().__init__()
        self.causal, self.buckets = causal, buckets
        self.relative = nn.Embedding(buckets, heads)

    def forward(self, n):
        pos = torch.arange(n, device=self.relative.weight.device)
        rel = pos[None, :] - pos[:, None]
        half = self.buckets // 2
        sign = (rel > 0).long() * half
        rel = rel.abs()
        exact = half // 2
        far = exact + (torch.log(rel.float().clamp(min=1) / exact) / math.log(128 / exact) * (half - exact)).long()
        which = sign + torch.where(rel < exact, rel, far.clamp(max=half - 1))
        bias = self.relative(which).permute(2, 0, 1).unsqueeze(0)
        return bias.masked_fill(pos[None, :] > pos[:, None], -1e9) if self.causal else bias


class T5Attention(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(d, d, bias=False) for _ in range(4))

    def split(self, x):
        return x.view(x.shape[0], x.shape[1], self.heads, -1).transpose(1, 2)

    def forward(self, x, memory=None, bias=None):
        memory = x if memory is None else memory
        q, k, v = self.split(self.q(x)), self.split(self.k(memory)), self.split(self.v(memory))
        scores = torch.matmul(q, k.transpose(3, 2))  # T5 does not scale
        if bias is not None:
            scores = scores + bias
        p = F.softmax(scores.float(), dim=-1).type_as(scores)
        return self.o(torch.matmul(p, v).transpose(1, 2).reshape(x.shape))


class T5Layer(nn.Module):
    def __init__(self, d, heads, hidden, decoder):
        super().__init__()
        self.attn, self.n1 = T5Attention(d, heads), T5Norm(d)
        self.cross, self.n2 = (T5Attention(d, heads), T5Norm(d)) if decoder else (None, None)
        self.wi, self.wo, self.n3 = nn.Linear(d, hidden, bias=False), nn.Linear(hidden, d, bias=False), T5Norm(d)

    def forward(self, x, bias, memory=None):
        x = x + self.attn(self.n1(x), bias=bias)
        if self.cross is not None:
            x = x + self.cross(self.n2(x), memory)
        return x + self.wo(F.relu(self.wi(self.n3(x))))


class SpeltOutItems(nn.Module):
    """Retrieval by writing: each item is four codes, and the next item's are generated from the codes of those before."""

    def __init__(self, codes, levels, d, heads, hidden, layers):
        super().__init__()
        self.codes, self.levels = codes, levels
        self.embed = nn.Embedding(codes * levels + 1, d)
        self.encoder = nn.ModuleList([T5Layer(d, heads, hidden, False) for _ in range(layers)])
        self.decoder = nn.ModuleList([T5Layer(d, heads, hidden, True) for _ in range(layers)])
        self.bias_in, self.bias_out = RelativeBias(heads, causal=False), RelativeBias(heads, causal=True)
        self.norm_in, self.norm_out = T5Norm(d), T5Norm(d)

    def forward(self, history, target):
        levels = torch.arange(self.levels, device=history.device)
        x = self.embed((history + levels * self.codes).flatten(1))
        bias = self.bias_in(x.shape[1])
        for layer in self.encoder:
            x = layer(x, bias)
        memory = self.norm_in(x)
        start = torch.full_like(target[:, :1], self.codes * self.levels)
        y = self.embed(torch.cat([start, (target + levels * self.codes)[:, :-1]], 1))
        bias = self.bias_out(y.shape[1])
        for layer in self.decoder:
            y = layer(y, bias, memory)
        y = self.norm_out(y)
        table = self.embed.weight[:-1].view(self.levels, self.codes, -1)
        return torch.einsum("bld,lcd->blc", y * y.shape[-1] ** -0.5, table)


@model("retrieval")
def items_spelt_as_codes(small):
    b, items, codes, d, heads, hidden, layers = (2, 3, 8, 16, 2, 32, 1) if small else (48, 64, 256, 512, 8, 2048, 6)
    target = torch.randint(codes, (b, 4))
    net = SpeltOutItems(codes, 4, d, heads, hidden, layers)
    return net, (torch.randint(codes, (b, items, 4)), target), lambda out: F.cross_entropy(out.flatten(0, 1), target.flatten())


class LongHistory(nn.Module):
    """Years of purchases: random projections hash them, the nearest to the candidate in hamming distance are attended to."""

    def __init__(self, items, shops, d, bits, nearest, recent, heads=4):
        super().__init__()
        self.item, self.shop = nn.Embedding(items, d), nn.Embedding(shops, d)
        self.register_buffer("planes", torch.randn(2 * d, bits))
        self.nearest, self.recent = nearest, recent
        self.age = nn.Embedding(24, 2 * d)
        self.long = nn.MultiheadAttention(2 * d, heads, batch_first=True, bias=False)
        self.short = nn.MultiheadAttention(2 * d, heads, batch_first=True, bias=False)
        self.profile = nn.Linear(20, 2 * d)
        self.fc = nn.ModuleList([nn.Linear(8 * d, 512), nn.Linear(512, 256)])
        self.gates = nn.ModuleList([nn.Sequential(nn.Linear(4 * d, 64), nn.ReLU(), nn.Linear(64, n)) for n in (512, 256)])
        self.out = nn.Linear(256, 1)

    def forward(self, item, shop, past_items, past_shops, days, profile):
        target = torch.cat([self.item(item), self.shop(shop)], -1)
        past = torch.cat([self.item(past_items), self.shop(past_shops)], -1)
        with torch.no_grad():
            same = torch.sign(past @ self.planes) * torch.sign(target @ self.planes).unsqueeze(1)
            best = same.sum(-1).topk(self.nearest, dim=1, sorted=False)[1]
        chosen = torch.gather(past, 1, best.unsqueeze(-1).expand(-1, -1, past.shape[-1]))
        age = torch.log2(days.gather(1, best).float() + 1).long().clamp(max=23)
        chosen = chosen + self.age(age)
        query = target.unsqueeze(1)
        far = self.long(query, chosen, chosen, need_weights=False)[0].squeeze(1)
        last = past[:, : self.recent]
        near = self.short(query, last, last, need_weights=False)[0].squeeze(1)
        who = self.profile(profile)
        x = torch.cat([target, far, near, who], 1)
        gate_in = torch.cat([who, target], 1).detach()
        for fc, gate in zip(self.fc, self.gates):
            x = F.leaky_relu(fc(x), 0.1) * (2 * torch.sigmoid(gate(gate_in)))
        return self.out(x).squeeze(1)


@model("recommender")
def purchases_hashed_then_read(small):
    b, n, items, shops, d, bits, nearest, recent = (3, 12, 20, 5, 8, 8, 4, 3) if small else (512, 2048, 300_000, 20_000, 64, 48, 64, 50)
    clicked = (torch.rand(b) < 0.2).float()
    inputs = (
        torch.randint(items, (b,)), torch.randint(shops, (b,)), torch.randint(items, (b, n)), torch.randint(shops, (b, n)),
        torch.randint(2000, (b, n)), torch.randn(b, 20))  # fmt: skip
    return LongHistory(items, shops, d, bits, nearest, recent), inputs, lambda out: F.binary_cross_entropy_with_logits(out, clicked)


class MixerBlock(nn.Module):
    def __init__(self, length, series, hidden, dropout):
        super().__init__()
        self.norm_time, self.norm_series = nn.LayerNorm([length, series]), nn.LayerNorm([length, series])
        self.time = nn.Sequential(nn.Linear(length, length), nn.ReLU(), nn.Dropout(dropout))
        self.series = nn.Sequential(
            nn.Linear(series, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, series), nn.Dropout(dropout)
        )

    def forward(self, x):
        x = x + self.time(self.norm_time(x).transpose(1, 2)).transpose(1, 2)
        return x + self.series(self.norm_series(x))


class SeriesMixer(nn.Module):
    """Linear layers along time, then across series, of values normalised by their own window and put back afterwards."""

    def __init__(self, length, horizon, series, hidden, blocks, dropout=0.3):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(series)), nn.Parameter(torch.zeros(series))
        self.blocks = nn.ModuleList([MixerBlock(length, series, hidden, dropout) for _ in range(blocks)])
        self.project = nn.Linear(length, horizon)

    def forward(self, x):
        mu = x.mean(dim=1, keepdim=True).detach()
        sd = torch.sqrt(x.var(dim=1, keepdim=True, unbiased=False) + 1e-5).detach()
        x = (x - mu) / sd * self.scale + self.shift
        for blk in self.blocks:
            x = blk(x)
        x = self.project(x.transpose(1, 2)).transpose(1, 2)
        return (x - self.shift) / (self.scale + 1e-8) * sd + mu


@model("time series")
def series_mixed_along_and_across(small):
    b, length, horizon, series, hidden, blocks = (2, 12, 4, 5, 8, 1) if small else (96, 512, 96, 321, 512, 8)
    future = torch.randn(b, horizon, series)
    return SeriesMixer(length, horizon, series, hidden, blocks), (torch.randn(b, length, series),), lambda out: F.mse_loss(out, future)


class PeriodicNumbers(nn.Module):
    """Each number as waves of learned frequencies, then a linear layer of its own."""

    def __init__(self, features, k, d):
        super().__init__()
        self.freq = nn.Parameter(torch.randn(features, k) * 0.1)
        self.weight = nn.Parameter(torch.randn(features, 2 * k, d) / math.sqrt(2 * k))
        self.bias = nn.Parameter(torch.zeros(features, d))

    def forward(self, x):
        v = 2 * math.pi * self.freq * x[..., None]
        v = torch.cat([torch.cos(v), torch.sin(v)], -1)
        return F.relu(torch.einsum("bfk,fkd->bfd", v, self.weight) + self.bias)


class CompetingRisks(nn.Module):
    """When, and of what: one distribution over all pairs of a cause and an interval."""

    def __init__(self, features, k, d, hidden, risks, bins):
        super().__init__()
        self.numbers = PeriodicNumbers(features, k, d)
        self.shared = nn.Sequential(
            nn.Linear(features * d, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, hidden), nn.ReLU()
        )
        self.causes = nn.ModuleList(
            nn.Sequential(nn.Linear(hidden + features, hidden), nn.ReLU(), nn.Linear(hidden, bins)) for _ in range(risks)
        )

    def forward(self, x):
        z = torch.cat([self.shared(self.numbers(x).flatten(1)), x], 1)
        logits = torch.stack([head(z) for head in self.causes], 1)
        return F.softmax(logits.flatten(1), 1).view_as(logits)


@model("survival analysis")
def causes_that_compete(small):
    b, features, k, d, hidden, risks, bins = (5, 4, 3, 4, 8, 2, 6) if small else (4096, 96, 32, 24, 1024, 3, 64)
    when, cause = torch.randint(bins, (b,)), torch.randint(risks + 1, (b,))  # 0: nothing happened until then

    def loss(pmf):
        pmf = pmf.float()
        cdf = pmf.cumsum(-1)
        seen = cause > 0
        mine = (cause - 1).clamp(min=0)
        row = torch.arange(b, device=pmf.device)
        hit = torch.log(pmf[row, mine, when] + 1e-7)
        still = torch.log((1 - cdf[row, :, when].sum(1)).clamp(min=1e-7))
        likelihood = -torch.where(seen, hit, still).mean()
        ranking = 0.0
        for r in range(risks):
            at = cdf[:, r][:, when].t()  # at[i, j]: j's risk until i's time
            first = (seen & (mine == r))[:, None] & (when[:, None] < when[None, :])
            ranking = ranking + (first * torch.exp(-(at.diagonal()[:, None] - at) / 0.1)).mean()
        return likelihood + 0.2 * ranking

    return CompetingRisks(features, k, d, hidden, risks, bins), (torch.randn(b, features),), loss
