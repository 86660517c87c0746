"""Readers: tokens that skip, attention less its noise, a compressed past, neighbours' chunks, linked columns."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class RMS(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.g = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return x * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6).to(x.dtype) * self.g.to(x.dtype)


class PlainBlock(nn.Module):
    def __init__(self, d, heads, wide):
        super().__init__()
        self.heads, self.n1, self.n2 = heads, RMS(d), RMS(d)
        self.qkv, self.o = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.w1, self.w3, self.w2 = nn.Linear(d, wide, bias=False), nn.Linear(d, wide, bias=False), nn.Linear(wide, d, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))
        h = self.n2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class SkippingTokens(nn.Module):
    """Every second layer is for an eighth of the tokens only, those that its router likes best; the others pass by."""

    def __init__(self, words, d, heads, layers, share):
        super().__init__()
        self.emb, self.norm, self.share = nn.Embedding(words, d), RMS(d), share
        self.blocks = nn.ModuleList(PlainBlock(d, heads, 8 * d // 3) for _ in range(layers))
        self.routers = nn.ModuleList(nn.Linear(d, 1, bias=False) for _ in range(layers // 2))

    def forward(self, ids):
        x = self.emb(ids)
        _, t, d = x.shape
        likes = []
        for i, block in enumerate(self.blocks):
            if i % 2 == 0:
                x = block(x)
                continue
            score = self.routers[i // 2](x).squeeze(-1)
            _, at = torch.topk(score, max(1, t // self.share), dim=1, sorted=False)
            at, _ = at.sort(dim=1)
            idx = at.unsqueeze(-1).expand(-1, -1, d)
            some = x.gather(1, idx)
            gain = torch.sigmoid(score.gather(1, at)).unsqueeze(-1)
            x = x.scatter_add(1, idx, ((block(some) - some) * gain).to(x.dtype))
            likes.append((score, torch.zeros_like(score).scatter(1, at, 1.0)))
        return F.linear(self.norm(x), self.emb.weight), likes


@model("language")
def tokens_that_skip_layers(small):
    b, t, words, d, heads, layers, share = (2, 16, 50, 16, 2, 4, 8) if small else (4, 1024, 32_000, 768, 12, 12, 8)
    ids = torch.randint(words, (b, t))

    def loss(out):
        logits, likes = out
        aux = sum(F.binary_cross_entropy_with_logits(s.float(), goal.float()) for s, goal in likes)
        return F.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten()) + 0.01 * aux

    return SkippingTokens(words, d, heads, layers, share), (ids,), loss


class LessItsNoise(nn.Module):
    """Two maps of attention, the second taken off the first: what both see is noise."""

    def __init__(self, d, heads, depth):
        super().__init__()
        self.h, self.e = heads, d // heads // 2
        self.q_proj, self.k_proj, self.v_proj, self.out = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.init = 0.8 - 0.6 * math.exp(-0.3 * depth)
        self.lq1, self.lk1, self.lq2, self.lk2 = (nn.Parameter(torch.randn(self.e) * 0.1) for _ in range(4))
        self.sub = RMS(2 * self.e)

    def forward(self, x, pad):
        b, t, d = x.shape
        q = self.q_proj(x).view(b, t, 2 * self.h, self.e).transpose(1, 2) * self.e**-0.5
        k = self.k_proj(x).view(b, t, 2 * self.h, self.e).transpose(1, 2)
        v = self.v_proj(x).view(b, t, self.h, 2 * self.e).transpose(1, 2)
        a = torch.matmul(q, k.transpose(-1, -2))
        a = torch.nan_to_num(a).masked_fill(pad[:, None, None], float("-inf")).float().softmax(-1).to(v.dtype)
        lam = torch.exp((self.lq1 * self.lk1).sum().float()) - torch.exp((self.lq2 * self.lk2).sum().float()) + self.init
        a = a.view(b, self.h, 2, t, t)
        a = a[:, :, 0] - lam.to(a.dtype) * a[:, :, 1]
        y = self.sub(torch.matmul(a, v)) * (1 - self.init)
        return self.out(y.transpose(1, 2).reshape(b, t, d))


class LessNoiseEncoder(nn.Module):
    def __init__(self, words, d, heads, layers, classes, longest):
        super().__init__()
        self.emb, self.pos, self.ln = nn.Embedding(words, d, padding_idx=0), nn.Embedding(longest, d), nn.LayerNorm(d)
        self.att = nn.ModuleList(LessItsNoise(d, heads, i) for i in range(layers))
        self.ff = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.head = nn.Linear(d, classes)

    def forward(self, ids):
        pad = ids == 0
        x = self.ln(self.emb(ids) + self.pos.weight[: ids.shape[1]])
        for att, norm, ff in zip(self.att, self.norms, self.ff):
            x = x + att(norm(x), pad)
            x = x + ff(x)
        keep = (~pad).unsqueeze(-1).to(x.dtype)
        return self.head((x * keep).sum(1) / keep.sum(1))


@model("language")
def attention_less_its_noise(small):
    b, t, words, d, heads, layers = (2, 8, 30, 16, 2, 1) if small else (16, 512, 30_000, 512, 8, 4)
    ids = torch.where(torch.arange(t) < torch.randint(t // 2, t + 1, (b, 1)), torch.randint(1, words, (b, t)), 0)
    label = torch.randint(20, (b,))
    return LessNoiseEncoder(words, d, heads, layers, 20, t), (ids,), lambda out: F.cross_entropy(out, label)


class CompressedPast(nn.Module):
    """A long text in segments: each attends within itself, and asks a matrix that all segments before it were added into."""

    def __init__(self, words, d, heads, layers, segment):
        super().__init__()
        self.emb, self.norm, self.out = nn.Embedding(words, d), nn.LayerNorm(d), nn.Linear(d, words, bias=False)
        self.h, self.layers, self.segment = heads, layers, segment
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d, bias=False) for _ in range(layers))
        self.o = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(layers))
        self.beta = nn.ParameterList(nn.Parameter(torch.zeros(heads, 1, 1)) for _ in range(layers))
        self.ff = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(layers))
        self.pre = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.register_buffer("causal", torch.full((segment, segment), -1e4).triu(1))

    def forward(self, ids):
        e = self.emb.embedding_dim // self.h
        memory = [(None, None)] * self.layers
        out = []
        for part in ids.split(self.segment, 1):
            x = self.emb(part)
            for i in range(self.layers):
                q, k, v = (z.unflatten(-1, (self.h, e)).transpose(1, 2) for z in self.qkv[i](self.pre[i](x)).chunk(3, -1))
                y = torch.softmax((q @ k.mT) / e**0.5 + self.causal.to(q.dtype), -1) @ v
                sq, sk = F.elu(q) + 1, F.elu(k) + 1
                M, z = memory[i]
                if M is not None:
                    g = torch.sigmoid(self.beta[i]).to(y.dtype)
                    past = (sq @ M) / (sq @ z).clamp_min(1e-4)
                    y = g * past + (1 - g) * y
                    M, z = M + sk.mT @ (v - (sk @ M) / (sk @ z).clamp_min(1e-4)), z + sk.sum(2).unsqueeze(-1)
                else:
                    M, z = sk.mT @ v, sk.sum(2).unsqueeze(-1)
                memory[i] = (M.to(v.dtype), z.to(v.dtype))
                x = x + self.o[i](y.transpose(1, 2).flatten(2))
                x = x + self.ff[i](x)
            out.append(self.out(self.norm(x)))
        return torch.cat(out, 1)


@model("language")
def segments_with_a_compressed_past(small):
    b, t, words, d, heads, layers, segment = (2, 12, 40, 16, 2, 1, 4) if small else (4, 2048, 16_000, 512, 8, 6, 512)
    ids = torch.randint(words, (b, t))
    return CompressedPast(words, d, heads, layers, segment), (ids,), lambda out: F.cross_entropy(out[:, :-1].transpose(1, 2), ids[:, 1:])


def attend(q, k, v, heads, bias=None):
    """Written out once for all: q (b, m, d), k and v (b, n, d)."""
    q, k, v = (z.unflatten(-1, (heads, -1)).transpose(-2, -3) for z in (q, k, v))
    w = torch.einsum("...md,...nd->...mn", q, k) * q.shape[-1] ** -0.5
    w = F.softmax(w if bias is None else w + bias, dim=-1).to(v.dtype)
    return torch.einsum("...mn,...nd->...md", w, v).transpose(-2, -3).flatten(-2)


class ChunksBesideNeighbours(nn.Module):
    """A decoder that reads, beside every chunk of its text, two passages that were found for the chunk before."""

    def __init__(self, words, d, heads, layers, chunk):
        super().__init__()
        self.heads, self.chunk, self.emb = heads, chunk, nn.Embedding(words, d)
        self.side = PlainBlock(d, heads, 2 * d)
        self.blocks = nn.ModuleList(PlainBlock(d, heads, 4 * d) for _ in range(layers))
        self.cross = nn.ModuleDict({
            str(i): nn.ModuleDict({"n": nn.LayerNorm(d), "q": nn.Linear(d, d), "kv": nn.Linear(d, 2 * d), "o": nn.Linear(d, d)})
            for i in range(1, layers, 3)
        })  # fmt: skip
        self.norm = nn.LayerNorm(d)

    def forward(self, ids, neighbours):
        b, n = ids.shape
        c, (_, chunks, k, r) = self.chunk, neighbours.shape
        found = self.side(self.emb(neighbours.reshape(-1, r))).view(b, chunks, k * r, -1)
        x = self.emb(ids)
        for i, block in enumerate(self.blocks):
            x = block(x)
            if str(i) in self.cross:
                p = self.cross[str(i)]
                shifted = F.pad(p["n"](x)[:, c - 1 :], (0, 0, 0, c - 1)).unflatten(1, (chunks, c))
                y = p["o"](attend(p["q"](shifted), *p["kv"](found).chunk(2, -1), self.heads))
                x = x + F.pad(y.flatten(1, 2), (0, 0, c - 1, 0))[:, :n].to(x.dtype)
        return F.linear(self.norm(x), self.emb.weight)


@model("retrieval")
def chunks_beside_their_neighbours(small):
    b, n, chunk, k, r, words, d, heads, layers = (2, 8, 4, 2, 4, 30, 16, 2, 2) if small else (4, 1024, 64, 2, 128, 32_000, 640, 10, 10)
    ids = torch.randint(words, (b, n))
    near = torch.randint(words, (b, n // chunk, k, r))
    return (
        ChunksBesideNeighbours(words, d, heads, layers, chunk),
        (ids, near),
        lambda out: F.cross_entropy(out[:, :-1].flatten(0, 1), ids[:, 1:].flatten()),
    )


class ColumnsLinked(nn.Module):
    """A question and the columns of a database in one sequence; how each is related to each goes into keys and values."""

    def __init__(self, words, d, heads, layers, relations):
        super().__init__()
        self.word, self.heads, e = nn.Embedding(words, d), heads, d // heads
        self.relk, self.relv = nn.Embedding(relations, e), nn.Embedding(relations, e)
        self.proj = nn.ModuleList(nn.ModuleList(nn.Linear(d, d) for _ in range(4)) for _ in range(layers))
        self.ffn = nn.ModuleList(nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d)) for _ in range(layers))
        self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(d) for _ in range(layers)) for _ in range(2))
        self.lstm = nn.LSTM(d, d // 2, batch_first=True, bidirectional=True)
        self.point_q, self.point_c = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, question, columns, relation):
        names = self.word(columns).mean(2)
        x = torch.cat([self.lstm(self.word(question))[0], names], 1)
        rk, rv = self.relk(relation), self.relv(relation)
        for (fq, fk, fv, fo), ffn, n1, n2 in zip(self.proj, self.ffn, self.n1, self.n2):
            q, k, v = (f(x).unflatten(-1, (self.heads, -1)) for f in (fq, fk, fv))
            s = torch.einsum("bihd,bjhd->bhij", q, k) + torch.einsum("bihd,bijd->bhij", q, rk)
            a = (s / q.shape[-1] ** 0.5).softmax(-1).to(v.dtype)
            y = torch.einsum("bhij,bjhd->bihd", a, v) + torch.einsum("bhij,bijd->bihd", a, rv.to(a.dtype))
            x = n1(x + fo(y.flatten(2)))
            x = n2(x + ffn(x))
        q, c = x.split([question.shape[1], columns.shape[1]], 1)
        return torch.bmm(self.point_q(q), self.point_c(c).mT) / x.shape[-1] ** 0.5


@model("program synthesis")
def columns_linked_to_questions(small):
    b, q, c, words, d, heads, layers = (2, 5, 3, 30, 16, 2, 1) if small else (16, 48, 80, 20_000, 256, 8, 8)
    goal = torch.randint(c, (b, q))
    inputs = torch.randint(words, (b, q)), torch.randint(words, (b, c, 3)), torch.randint(33, (b, q + c, q + c))
    return ColumnsLinked(words, d, heads, layers, 33), inputs, lambda out: F.cross_entropy(out.flatten(0, 1), goal.flatten())
