"""Many at once: small experts beside a shared one, nets that share their matrices, authors of papers at venues, a matrix of codebooks."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class SmallExperts(nn.Module):
    """Many small experts and a shared one: tokens sorted by expert into rows of fixed length, one batched product, biases keep the load even."""

    def __init__(self, d, wide, experts, top, room):
        super().__init__()
        self.router, self.top, self.room = nn.Linear(d, experts, bias=False), top, room
        self.register_buffer("bias", torch.zeros(experts))
        self.up, self.down = (
            nn.Parameter(torch.randn(experts, d, 2 * wide) / d**0.5),
            nn.Parameter(torch.randn(experts, wide, d) / wide**0.5),
        )
        self.shared_up, self.shared_down = nn.Linear(d, 4 * wide), nn.Linear(2 * wide, d)

    def forward(self, x):
        n, d = x.shape
        experts = len(self.bias)
        score = torch.sigmoid(self.router(x).float())
        _, which = torch.topk(score + self.bias.float(), self.top, -1)
        gate = score.gather(1, which)
        gate = (gate / gate.sum(-1, keepdim=True)).flatten()
        order = which.flatten().argsort(stable=True)
        sorted_to = which.flatten()[order]
        count = torch.zeros(experts, dtype=torch.long, device=x.device).scatter_add_(0, sorted_to, torch.ones_like(sorted_to))
        within = torch.arange(n * self.top, device=x.device) - (count.cumsum(0) - count)[sorted_to]
        room = int(n * self.top / experts * self.room)
        fits = within < room
        row = torch.where(fits, sorted_to * room + within, experts * room)
        token = order // self.top
        table = x.new_zeros(experts * room + 1, d).index_copy(0, row, x[token])[:-1].view(experts, room, d)
        a, b = torch.bmm(table, self.up).chunk(2, -1)
        y = torch.bmm(F.silu(a) * b, self.down).flatten(0, 1)
        y = torch.cat([y, y.new_zeros(1, d)])[row] * (gate[order] * fits).unsqueeze(-1).to(y.dtype)
        a, b = self.shared_up(x).chunk(2, -1)
        out = self.shared_down(F.silu(a) * b)
        if self.training:
            with torch.no_grad():
                self.bias += 1e-3 * torch.sign(count.float().mean() - count)
        return out.index_add(0, token, y.to(out.dtype))


class ForecastBySmallExperts(nn.Module):
    """Patches of a long record through blocks of gated convolution and small experts."""

    def __init__(self, patch, d, layers, *how):
        super().__init__()
        self.enter, self.leave, self.norm = nn.Linear(patch, d), nn.Linear(d, patch), nn.LayerNorm(d)
        self.conv = nn.ModuleList(nn.Conv1d(d, 2 * d, 4, groups=d) for _ in range(layers))
        self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(d) for _ in range(layers)) for _ in range(2))
        self.moe = nn.ModuleList(SmallExperts(d, *how) for _ in range(layers))

    def forward(self, x):
        h = self.enter(x)
        for conv, n1, n2, moe in zip(self.conv, self.n1, self.n2, self.moe):
            h = h + F.glu(conv(F.pad(n1(h).transpose(1, 2), (3, 0))), 1).transpose(1, 2)
            h = h + moe(n2(h).flatten(0, 1)).view_as(h)
        return self.leave(self.norm(h))


@model("mixture of experts")
def small_experts_beside_a_shared_one(small):
    b, n, patch, d, layers, how = (2, 8, 4, 8, 1, (4, 4, 2, 1.5)) if small else (32, 256, 32, 512, 4, (256, 64, 6, 1.25))
    x = torch.randn(b, n, patch)
    return ForecastBySmallExperts(patch, d, layers, *how), (x,), lambda out: F.huber_loss(out[:, :-1], x[:, 1:])


class ManyNets(nn.Module):
    """A table read by thirty-two nets that share their matrices: each has only its own scales; numbers enter by where they lie between bins."""

    def __init__(self, numbers, cards, bins, each, d, layers, nets, outs):
        super().__init__()
        self.register_buffer("edges", torch.sort(torch.randn(numbers, bins + 1), 1).values)
        self.linear = nn.Parameter(torch.randn(numbers, bins, each) / bins**0.5)
        self.kinds = nn.ModuleList(nn.Embedding(c, each) for c in cards)
        wide = each * (numbers + len(cards))
        sizes = [wide] + [d] * layers
        self.R = nn.ParameterList(nn.Parameter(torch.randn(nets, a).sign()) for a in sizes[:-1])
        self.S = nn.ParameterList(nn.Parameter(torch.ones(nets, b)) for b in sizes[1:])
        self.fc = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
        self.head = nn.Parameter(torch.randn(nets, d, outs) / d**0.5)
        self.drop = nn.Dropout(0.1)

    def forward(self, x, kinds):
        low, high = self.edges[:, :-1], self.edges[:, 1:]
        p = (x.unsqueeze(-1) - low) / (high - low + 1e-3)
        p = torch.cat([p[..., :1].clamp(max=1), p[..., 1:-1].clamp(0, 1), p[..., -1:].clamp(min=0)], -1)
        e = F.relu(torch.einsum("bnk,nke->bne", p, self.linear)).flatten(1)
        e = torch.cat([e.to(x.dtype)] + [table(kinds[:, i]) for i, table in enumerate(self.kinds)], 1)
        h = e.unsqueeze(1)
        for r, s, fc in zip(self.R, self.S, self.fc):
            h = self.drop(F.relu(fc(h * r) * s))
        return torch.einsum("bnd,ndo->bno", h, self.head.to(h.dtype))


@model("tabular")
def many_nets_share_their_weights(small):
    b, numbers, cards, bins, each, d, layers, nets = (
        (4, 3, (5, 2), 4, 4, 8, 2, 3) if small else (2048, 40, (12, 300, 7), 48, 16, 512, 3, 32)
    )
    goal = torch.randint(9, (b,))
    inputs = torch.randn(b, numbers), torch.stack([torch.randint(c, (b,)) for c in cards], 1)
    net = ManyNets(numbers, cards, bins, each, d, layers, nets, 9)
    return net, inputs, lambda out: F.cross_entropy(out.flatten(0, 1).float(), goal.repeat_interleave(nets))


class AuthorsOfPapers(nn.Module):
    """Authors, papers and venues: a projection for each kind, a matrix for each kind of link, attention over what points at a node."""

    LINKS = ((0, 1), (1, 0), (1, 2), (2, 1), (1, 1))

    def __init__(self, features, d, heads, layers, classes):
        super().__init__()
        self.enter, self.h, self.layers = nn.ModuleList(nn.Linear(f, d) for f in features), heads, layers
        self.q, self.kv, self.a = (nn.ModuleList(nn.Linear(d, n * d) for _ in range(3 * layers)) for n in (1, 2, 1))
        e, links = d // heads, len(self.LINKS)
        self.att, self.msg = (nn.Parameter(torch.randn(layers, links, heads, e, e) / e**0.5) for _ in range(2))
        self.prior, self.skip = nn.Parameter(torch.ones(layers, links, heads)), nn.Parameter(torch.ones(layers, 3))
        self.norm, self.out = nn.LayerNorm(d), nn.Linear(d, classes)

    def forward(self, xs, edges):
        hs = [torch.tanh(enter(x)) for enter, x in zip(self.enter, xs)]
        for layer in range(self.layers):
            q = [self.q[3 * layer + i](h).unflatten(1, (self.h, -1)) for i, h in enumerate(hs)]
            kv = [self.kv[3 * layer + i](h).unflatten(1, (2, self.h, -1)) for i, h in enumerate(hs)]
            top = [h.new_full((len(h), self.h), 0.0, dtype=torch.float32) for h in hs]
            total = [torch.zeros_like(z, dtype=torch.float32) for z in q]
            last = layer == self.layers - 1
            for link, (a, b) in enumerate(self.LINKS):
                if last and b != 1:  # nobody reads the others any more
                    continue
                src, dst = edges[link]
                k = torch.einsum("nhe,hef->nhf", kv[a][:, 0], self.att[layer, link])
                v = torch.einsum("nhe,hef->nhf", kv[a][:, 1], self.msg[layer, link])
                score = (q[b][dst] * k[src]).sum(-1).float() * self.prior[layer, link] / k.shape[-1] ** 0.5
                w = torch.exp(score.clamp(-10, 10))
                top[b] = top[b].index_add(0, dst, w)
                total[b] = total[b].index_add(0, dst, w.unsqueeze(-1) * v[src].float())
            new = []
            for i, h in enumerate(hs):
                if last and i != 1:
                    new.append(h)
                    continue
                y = (total[i] / (top[i].unsqueeze(-1) + 1e-6)).flatten(1).to(h.dtype)
                gate = torch.sigmoid(self.skip[layer, i])
                new.append(self.norm(gate * self.a[3 * layer + i](F.gelu(y)) + (1 - gate) * h))
            hs = new
        return self.out(hs[1])


@model("graph")
def authors_of_papers_at_venues(small):
    counts, features, links, d, heads, layers = (
        ((6, 8, 2), (4, 5, 3), 12, 8, 2, 1) if small else ((30_000, 20_000, 500), (64, 128, 32), 120_000, 128, 8, 2)
    )
    edges = [(torch.randint(counts[a], (links,)), torch.randint(counts[b], (links,))) for a, b in AuthorsOfPapers.LINKS]
    label = torch.randint(16, (counts[1],))
    xs = [torch.randn(n, f) for n, f in zip(counts, features)]
    return AuthorsOfPapers(features, d, heads, layers, 16), (xs, edges), lambda out: F.cross_entropy(out, label)


class CodebookLinear(nn.Module):
    """A matrix as sums of entries of codebooks, eight weights to a code: two bits a weight, a scale for each row."""

    def __init__(self, i, o, books=2, entries=256, group=8):
        super().__init__()
        self.register_buffer("codes", torch.randint(entries, (o, i // group, books), dtype=torch.uint8))
        self.register_buffer("books", torch.randn(books, entries, group) * i**-0.5)
        self.register_buffer("scale", torch.rand(o, 1) + 0.5)

    def forward(self, x):
        w = sum(F.embedding(self.codes[..., j].int(), book) for j, book in enumerate(self.books.unbind(0)))
        return F.linear(x, w.flatten(1) * self.scale)


class CodebookWriter(nn.Module):
    """One step of a writer whose matrices come out of codebooks, with a cache of what was written."""

    def __init__(self, words, d, heads, layers):
        super().__init__()
        self.emb, self.heads = nn.Embedding(words, d), heads
        self.norms = nn.ModuleList(nn.RMSNorm(d) for _ in range(2 * layers + 1))
        self.fc = nn.ModuleList(
            nn.ModuleList(CodebookLinear(*s) for s in ((d, 3 * d), (d, d), (d, 4 * d), (4 * d, d))) for _ in range(layers)
        )

    def forward(self, ids, keys, values, length):
        x = self.emb(ids)
        ahead = torch.arange(keys.shape[-2], device=x.device) > length.view(-1, 1, 1, 1)
        at = length.view(-1, 1, 1, 1).expand(-1, self.heads, 1, x.shape[-1] // self.heads)
        for i, (qkv, o, up, down) in enumerate(self.fc):
            q, k, v = qkv(self.norms[2 * i](x)).view(len(x), 1, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            k, v = keys[i].scatter(2, at, k), values[i].scatter(2, at, v)
            w = (q @ k.mT * q.shape[-1] ** -0.5).masked_fill(ahead, float("-inf")).softmax(-1)
            x = x + o((w @ v).transpose(1, 2).flatten(2))
            x = x + down(F.relu(up(self.norms[2 * i + 1](x))).square())
        return F.linear(self.norms[-1](x), self.emb.weight).argmax(-1)


@model("quantised")
def weights_summed_from_codebooks(small):
    b, words, d, heads, layers, room = (2, 20, 16, 2, 1, 5) if small else (16, 32_000, 2048, 16, 10, 1024)
    caches = [torch.randn(layers, b, heads, room, d // heads) for _ in range(2)]
    return CodebookWriter(words, d, heads, layers), (torch.randint(words, (b, 1)), *caches, torch.randint(room // 2, room, (b,))), None
