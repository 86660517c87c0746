"""What to show, what to fetch: clicks over time, a graph of likes, words as weights, walks towards a neighbour, a table of keys."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class PointwiseLayer(nn.Module):
    """Attention without a softmax: SiLU of the scores, a bias by place and by time between two clicks, a gate on the way out."""

    def __init__(self, d, heads, length, buckets):
        super().__init__()
        self.h, self.buckets = heads, buckets
        self.norm_in, self.norm_out = nn.LayerNorm(d), nn.LayerNorm(d)
        self.uvqk, self.out = nn.Linear(d, 4 * d), nn.Linear(d, d)
        self.by_place = nn.Parameter(torch.zeros(2 * length - 1))
        self.by_time = nn.Embedding(buckets, 1)

    def forward(self, x, gaps, places, causal):
        b, t, d = x.shape
        u, v, q, k = F.silu(self.uvqk(self.norm_in(x))).chunk(4, -1)
        q, k, v = (y.view(b, t, self.h, -1).transpose(1, 2) for y in (q, k, v))
        bias = self.by_place[places] + self.by_time(gaps).squeeze(-1)
        scores = F.silu(q @ k.transpose(-2, -1) + bias.unsqueeze(1).to(q.dtype)) / t
        mixed = (scores * causal.to(scores.dtype)) @ v
        return x + self.out(self.norm_out(mixed.transpose(1, 2).reshape(b, t, d)).to(u.dtype) * u)


class ClickTransducer(nn.Module):
    def __init__(self, items, d, heads, layers, length, buckets=48):
        super().__init__()
        self.items, self.kinds = nn.Embedding(items, d), nn.Embedding(8, d)
        self.layers = nn.ModuleList(PointwiseLayer(d, heads, length, buckets) for _ in range(layers))
        self.buckets = buckets

    def forward(self, clicked, kind, when, wanted, others):
        t = clicked.shape[1]
        apart = (when.unsqueeze(2) - when.unsqueeze(1)).abs().clamp(min=1)
        gaps = (torch.log2(apart.float()) * 2).long().clamp(0, self.buckets - 1)
        at = torch.arange(t, device=clicked.device)
        places, causal = at[:, None] - at + t - 1, at[:, None] >= at
        x = self.items(clicked) * math.sqrt(self.items.embedding_dim) + self.kinds(kind)
        for layer in self.layers:
            x = layer(x, gaps, places, causal)
        x = F.normalize(x, dim=-1)
        right = (x * F.normalize(self.items(wanted), dim=-1)).sum(-1, keepdim=True)
        wrong = x @ F.normalize(self.items(others), dim=-1).t().to(x.dtype)
        wrong = wrong.masked_fill(wanted.unsqueeze(-1) == others, -5e4)
        return torch.cat([right.to(wrong.dtype), wrong], -1) / 0.05


@model("recommender")
def clicks_without_softmax(small):
    batch, length, items, d, heads, layers, others = (2, 6, 40, 16, 2, 1, 5) if small else (48, 256, 300_000, 256, 4, 5, 192)
    inputs = (
        torch.randint(items, (batch, length)), torch.randint(8, (batch, length)), torch.randint(86_400 * 30, (batch, length)).cumsum(1),
        torch.randint(items, (batch, length)), torch.randint(items, (others,)),
    )  # fmt: skip
    goal = torch.zeros(batch * length, dtype=torch.long)
    return ClickTransducer(items, d, heads, layers, length), inputs, lambda out: F.cross_entropy(out.flatten(0, 1), goal)


class LikesGraph(nn.Module):
    """Who liked what as a graph: embeddings passed along its edges a few times, averaged; nothing else is learnt."""

    def __init__(self, users, items, d, hops):
        super().__init__()
        self.users, self.hops = users, hops
        self.nodes = nn.Parameter(torch.randn(users + items, d) * 0.1)

    def forward(self, liker, liked, user, good, bad):
        here = torch.cat([liker, liked + self.users])
        there = torch.cat([liked + self.users, liker])
        degree = torch.zeros(len(self.nodes), device=here.device).index_add(0, here, torch.ones(len(here), device=here.device))
        inverse = degree.clamp(min=1).rsqrt()
        weight = (inverse[here] * inverse[there]).unsqueeze(1).to(self.nodes.dtype)
        x, layers = self.nodes, [self.nodes]
        for _ in range(self.hops):
            x = torch.zeros_like(x).index_add_(0, there, x[here] * weight)
            layers.append(x)
        final = torch.stack(layers, 1).mean(1)
        u, p, n = final[user], final[good + self.users], final[bad + self.users]
        size = sum(self.nodes[i].square().sum() for i in (user, good + self.users, bad + self.users)) / len(user)
        return (u * (p - n)).sum(1), size


@model("recommender")
def likes_passed_along(small):
    users, items, d, likes, batch = (12, 9, 8, 30, 4) if small else (60_000, 40_000, 64, 500_000, 4096)
    inputs = (*(torch.randint(n, (likes,)) for n in (users, items)), *(torch.randint(n, (batch,)) for n in (users, items, items)))
    return LikesGraph(users, items, d, 3), inputs, lambda out: F.softplus(-out[0]).mean() + 1e-4 * out[1]


class WordWeights(nn.Module):
    """A text as weights of words: each token votes over the vocabulary, the strongest vote stays, logarithms keep it sparse."""

    def __init__(self, words, d, heads, layers, longest):
        super().__init__()
        self.embed, self.place = nn.Embedding(words, d), nn.Embedding(longest, d)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, 0.0, "gelu", batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, nn.LayerNorm(d), enable_nested_tensor=False)
        self.turn, self.norm = nn.Linear(d, d), nn.LayerNorm(d)
        self.bias = nn.Parameter(torch.zeros(words))

    def encode(self, ids):
        x = self.embed(ids) + self.place.weight[: ids.shape[1]]
        x = self.norm(F.gelu(self.turn(self.body(x, src_key_padding_mask=ids == 0))))
        votes = F.linear(x, self.embed.weight.to(x.dtype), self.bias.to(x.dtype))
        return (torch.log1p(F.relu(votes)) * (ids > 0).unsqueeze(-1)).amax(1)

    def forward(self, queries, texts):
        q, t = self.encode(queries), self.encode(texts)
        spread = q.float().abs().mean(0).square().sum() + t.float().abs().mean(0).square().sum()
        return q @ t.t(), spread


@model("retrieval")
def texts_as_word_weights(small):
    words, d, heads, layers, queries, texts, short, long = (50, 16, 2, 1, 2, 4, 4, 6) if small else (30_522, 512, 8, 4, 24, 48, 24, 112)
    goal = torch.arange(queries)
    net = WordWeights(words, d, heads, layers, long)
    inputs = (torch.randint(words, (queries, short)), torch.randint(words, (texts, long)))
    return net, inputs, lambda out: F.cross_entropy(out[0].float(), goal) + 3e-4 * out[1]


class NeighbourWalk(nn.Module):
    """Nearest neighbours by walking a graph: from a few entries, always on to the neighbours of the best places so far."""

    def __init__(self, points, d, links, beam, steps):
        super().__init__()
        self.register_buffer("points", torch.randn(points, d))
        self.register_buffer("links", torch.randint(points, (points, links)))
        self.beam, self.steps = beam, steps

    def far(self, queries, ids):
        return (self.points[ids] - queries.unsqueeze(1)).square().sum(-1)

    def forward(self, queries):
        n = len(queries)
        best = torch.arange(self.beam, device=queries.device).expand(n, -1)
        away = self.far(queries, best)
        for _ in range(self.steps):
            near = self.links[best[:, : self.beam // 2]].flatten(1)
            known = (near.unsqueeze(2) == best.unsqueeze(1)).any(2)
            fresh = self.far(queries, near).masked_fill(known, float("inf"))
            away, order = torch.cat([away, fresh], 1).topk(self.beam, 1, largest=False, sorted=True)
            best = torch.cat([best, near], 1).gather(1, order)
        return best[:, :10], away[:, :10].sqrt()


@model("retrieval")
def walk_to_neighbours(small):
    queries, points, d, links, beam, steps = (3, 60, 8, 4, 12, 2) if small else (384, 400_000, 96, 24, 32, 7)
    return NeighbourWalk(points, d, links, beam, steps), (torch.randn(queries, d),), None


class KeyTable(nn.Module):
    """A quarter of a million values found by two halves of a key; a few of them are weighed and added."""

    def __init__(self, d, keys, heads, k):
        super().__init__()
        self.heads, self.k, self.n = heads, k, keys
        self.query, self.norm = nn.Linear(d, heads * d), nn.LayerNorm(d // 2)
        self.halves = nn.Parameter(torch.randn(2, heads, keys, d // 2) * (d // 2) ** -0.5)
        self.values = nn.EmbeddingBag(keys * keys, d, mode="sum")

    def forward(self, x):
        b, t, d = x.shape
        q = self.norm(self.query(x).view(b * t, self.heads, 2, d // 2))
        tops = [torch.einsum("nhd,hkd->nhk", q[:, :, i], self.halves[i].to(q.dtype)).topk(self.k, -1) for i in range(2)]
        sums = (tops[0].values.unsqueeze(-1) + tops[1].values.unsqueeze(-2)).flatten(2)
        ids = (tops[0].indices.unsqueeze(-1) * self.n + tops[1].indices.unsqueeze(-2)).flatten(2)
        score, which = sums.topk(self.k, -1)
        weights = score.float().softmax(-1).to(self.values.weight.dtype)
        return self.values(ids.gather(-1, which).flatten(1), per_sample_weights=weights.flatten(1)).view(b, t, d)


class TableReader(nn.Module):
    def __init__(self, words, d, keys, heads, k):
        super().__init__()
        self.embed, self.mix = nn.Embedding(words, d), nn.Conv1d(d, d, 4, padding=3, groups=d)
        self.before = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.norm, self.table = nn.LayerNorm(d), KeyTable(d, keys, heads, k)
        self.last, self.head = nn.LayerNorm(d), nn.Linear(d, words)

    def forward(self, ids):
        x = self.embed(ids)
        x = x + self.mix(x.transpose(1, 2))[..., : ids.shape[1]].transpose(1, 2)
        x = x + self.before(x)
        return self.head(self.last(x + self.table(self.norm(x))))


@model("mixture of experts")
def values_by_two_keys(small):
    batch, length, words, d, keys, heads, k = (2, 5, 30, 16, 4, 2, 2) if small else (8, 512, 8192, 384, 448, 4, 24)
    target = torch.randint(words, (batch * length,))
    net = TableReader(words, d, keys, heads, k)
    return net, (torch.randint(words, (batch, length)),), lambda out: F.cross_entropy(out.flatten(0, 1), target)
