"""What goes together: items explained by items, baskets filled up, factors solved in turn, words beside meanings, keys in a queue."""

import copy

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


@model("recommender", half=False)
def items_explained_by_items(small):
    """A linear model of every item by all others, in closed form, and what it recommends to some users."""
    users, items, asked, k = (12, 8, 3, 2) if small else (24_000, 2048, 4096, 50)

    def recommend(seen, now, penalty=200.0):
        gram = seen.t() @ seen
        gram.diagonal().add_(penalty)
        inverse = torch.linalg.inv(gram)
        weights = inverse / -inverse.diagonal()
        weights.fill_diagonal_(0.0)
        score = now @ weights
        return score.masked_fill(now > 0, -torch.inf).topk(k, dim=1)

    return recommend, ((torch.rand(users, items) < 0.02).float(), (torch.rand(asked, items) < 0.02).float()), None


class BasketVAE(nn.Module):
    """A basket as a normalised bag of items, through a narrow Gaussian code, back to a distribution over all items."""

    def __init__(self, items, wide, code, drop=0.5):
        super().__init__()
        self.q1, self.q2 = nn.Linear(items, wide), nn.Linear(wide, 2 * code)
        self.p1, self.p2 = nn.Linear(code, wide), nn.Linear(wide, items)
        self.drop = nn.Dropout(drop)
        for layer in (self.q1, self.q2, self.p1, self.p2):
            nn.init.xavier_normal_(layer.weight)
            nn.init.trunc_normal_(layer.bias, std=0.001)

    def forward(self, x):
        h = self.drop(F.normalize(x, dim=1))
        mu, logvar = self.q2(torch.tanh(self.q1(h))).chunk(2, 1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * logvar) if self.training else mu
        logits = self.p2(torch.tanh(self.p1(z)))
        kl = -0.5 * (1 + logvar - mu.pow(2) - logvar.exp()).sum(1).mean()
        return logits, kl


@model("recommender")
def baskets_filled_up(small):
    b, items, wide, code = (3, 20, 8, 4) if small else (500, 20_108, 600, 200)
    x = torch.zeros(b, items).scatter_(1, torch.randint(items, (b, max(2, items // 200))), 1.0)

    def loss(out):
        logits, kl = out
        return -(F.log_softmax(logits, 1) * x).sum(1).mean() + 0.2 * kl

    return BasketVAE(items, wide, code), (x,), loss


@model("recommender", half=False)
def factors_solved_in_turn(small):
    """Implicit feedback: users' factors from items' and items' from users', each a batch of small least squares."""
    users, items, each, back, d, rounds = (4, 6, 3, 2, 4, 1) if small else (6144, 4096, 96, 144, 64, 1)

    def solve(other, ids, counts, penalty=0.1, alpha=40.0):
        near = other[ids]
        extra = alpha * torch.log1p(counts)
        gram = other.t() @ other + penalty * torch.eye(d, device=other.device)
        left = gram + torch.bmm((near * extra.unsqueeze(-1)).transpose(1, 2), near)
        right = torch.bmm((1 + extra).unsqueeze(1), near).transpose(1, 2)
        factor, _ = torch.linalg.cholesky_ex(left)
        return torch.cholesky_solve(right, factor).squeeze(-1)

    def turns(u, v, ids, counts, ids_back, counts_back):
        for _ in range(rounds):
            u = solve(v, ids, counts)
            v = solve(u, ids_back, counts_back)
        fit = (u.unsqueeze(1) * v[ids]).sum(-1)
        return u, v, ((1 + 40 * torch.log1p(counts)) * (1 - fit) ** 2).mean()

    inputs = (
        torch.randn(users, d) * 0.1, torch.randn(items, d) * 0.1, torch.randint(items, (users, each)), torch.rand(users, each) * 5,
        torch.randint(users, (items, back)), torch.rand(items, back) * 5,
    )  # fmt: skip
    return turns, inputs, None


class WordsAndMeaning(nn.Module):
    """Two searches of one collection: weighted words by their lists of documents, and vectors; the two rankings are fused."""

    def __init__(self, words, docs, longest, d, k):
        super().__init__()
        self.embed = nn.Embedding(words, d)
        self.encode = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d), nn.LayerNorm(d))
        self.register_buffer("postings", torch.randint(docs, (words, longest)))
        self.register_buffer("impact", torch.rand(words, longest))
        self.register_buffer("idf", torch.rand(words) * 8)
        self.register_buffer("vectors", F.normalize(torch.randn(docs, d), dim=-1))
        self.docs, self.k = docs, k

    def by_words(self, query):
        score = self.impact[query] * self.idf[query].unsqueeze(-1)
        total = torch.zeros(len(query), self.docs, device=query.device, dtype=score.dtype)
        total.scatter_add_(1, self.postings[query].flatten(1), score.flatten(1))
        return total.topk(self.k, dim=1).indices

    def by_meaning(self, query, length):
        mask = torch.arange(query.shape[1], device=query.device) < length.unsqueeze(1)
        e = self.embed(query) * mask.unsqueeze(-1)
        q = F.normalize(self.encode(e.sum(1) / mask.sum(1, keepdim=True)), dim=-1)
        return (q @ self.vectors.t()).topk(self.k, dim=1).indices

    def forward(self, query, length):
        found = torch.cat([self.by_words(query), self.by_meaning(query, length)], 1)
        rank = torch.arange(self.k, device=query.device).repeat(2)
        same = found.unsqueeze(2) == found.unsqueeze(1)
        score = (same / (60.0 + rank)).sum(-1)
        first = ~torch.tril(same, -1).any(-1)  # a document that both found counts once
        best = torch.where(first, score, 0.0).topk(20 if self.k >= 20 else self.k, dim=1)
        return found.gather(1, best.indices), best.values


@model("retrieval")
def words_and_meaning_fused(small):
    words, docs, longest, d, k, b, terms = (20, 30, 5, 8, 4, 2, 3) if small else (30_000, 400_000, 1024, 256, 200, 48, 12)
    inputs = torch.randint(words, (b, terms)), torch.randint(1, terms + 1, (b,))
    return WordsAndMeaning(words, docs, longest, d, k), inputs, None


def conv_bn(cin, cout, k=3, s=1):
    return nn.Sequential(nn.Conv2d(cin, cout, k, s, k // 2, bias=False), nn.BatchNorm2d(cout))


class Basic(nn.Module):
    def __init__(self, cin, cout, s):
        super().__init__()
        self.a, self.b = conv_bn(cin, cout, 3, s), conv_bn(cout, cout)
        self.skip = conv_bn(cin, cout, 1, s) if s > 1 or cin != cout else nn.Identity()

    def forward(self, x):
        return F.relu(self.b(F.relu(self.a(x), inplace=True)) + self.skip(x), inplace=True)


class KeysInAQueue(nn.Module):
    """Two views of a picture should meet; the others are keys of earlier batches, from a net that follows slowly."""

    def __init__(self, width, blocks, code, queue, momentum=0.999, heat=0.2):
        super().__init__()
        layers, c = [conv_bn(3, width, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)], width
        for i, n in enumerate(blocks):
            for j in range(n):
                layers.append(Basic(c, width * 2**i, 2 if j == 0 and i else 1))
                c = width * 2**i
        head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, c), nn.ReLU(inplace=True), nn.Linear(c, code)]
        self.query = nn.Sequential(*layers, *head)
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(code, queue), dim=0))
        self.momentum, self.heat = momentum, heat

    def forward(self, one, two):
        q = F.normalize(self.query(one), dim=1)
        with torch.no_grad():
            if self.training:
                for slow, fast in zip(self.key.parameters(), self.query.parameters()):
                    slow.mul_(self.momentum).add_(fast, alpha=1 - self.momentum)
            order = torch.randperm(len(two), device=two.device)
            back = order.argsort()
            k = F.normalize(self.key(two[order]), dim=1)[back]
        same = torch.einsum("nc,nc->n", q, k).unsqueeze(-1)
        other = torch.einsum("nc,ck->nk", q, self.queue.clone().to(q.dtype))
        if self.training:
            with torch.no_grad():
                self.queue.copy_(torch.cat([k.t().to(self.queue.dtype), self.queue[:, : -len(k)]], 1))
        return torch.cat([same, other.to(same.dtype)], 1) / self.heat


@model("contrastive loss")
def keys_kept_in_a_queue(small):
    b, size, width, blocks, code, queue = (2, 32, 4, (1, 1), 8, 12) if small else (128, 128, 64, (2, 2, 2, 2), 128, 65_536)
    right = torch.zeros(b, dtype=torch.long)
    inputs = torch.randn(b, 3, size, size), torch.randn(b, 3, size, size)
    return KeysInAQueue(width, blocks, code, queue), inputs, lambda out: F.cross_entropy(out.float(), right)
