"""Tokens: attention with a twist, experts, adapters, scans, transducers, search."""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

from own.listing import model


class ScaleNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


class LatentAttention(nn.Module):
    def __init__(self, d, heads, latent, nope, rope):
        super().__init__()
        self.h, self.nope, self.rope, self.latent = heads, nope, rope, latent
        self.wq = nn.Linear(d, heads * (nope + rope), bias=False)
        self.wkv_a, self.kv_norm = nn.Linear(d, latent + rope, bias=False), ScaleNorm(latent)
        self.wkv_b = nn.Linear(latent, heads * 2 * nope, bias=False)
        self.wo = nn.Linear(heads * nope, d, bias=False)

    def forward(self, x, freqs):
        b, t, _ = x.shape
        q_nope, q_pe = self.wq(x).view(b, t, self.h, -1).split([self.nope, self.rope], dim=-1)
        kv, k_pe = self.wkv_a(x).split([self.latent, self.rope], dim=-1)
        q_pe, k_pe = rotate(q_pe, freqs), rotate(k_pe.unsqueeze(2), freqs)
        k_nope, v = self.wkv_b(self.kv_norm(kv)).view(b, t, self.h, -1).chunk(2, dim=-1)
        q = torch.cat([q_nope, q_pe], dim=-1).transpose(1, 2)
        k = torch.cat([k_nope, k_pe.expand(-1, -1, self.h, -1)], dim=-1).transpose(1, 2)
        y = F.scaled_dot_product_attention(q, k, v.transpose(1, 2), is_causal=True)
        return self.wo(y.transpose(1, 2).flatten(2))


def rotate(x, freqs):
    y = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(y * torch.polar(torch.ones_like(freqs), freqs).unsqueeze(1)).flatten(-2).type_as(x)


class LatentBlock(nn.Module):
    def __init__(self, d, *sizes):
        super().__init__()
        self.n1, self.n2, self.attn = ScaleNorm(d), ScaleNorm(d), LatentAttention(d, *sizes)
        self.w1, self.w2 = nn.Linear(d, 6 * d, bias=False), nn.Linear(3 * d, d, bias=False)

    def forward(self, x, freqs):
        x = x + self.attn(self.n1(x), freqs)
        a, g = self.w1(self.n2(x)).chunk(2, -1)
        return x + self.w2(a * F.silu(g))


class LatentDecoder(nn.Module):
    """Keys and values from a narrow latent, rotation apart from content; every block is recomputed in the backward pass."""

    def __init__(self, words, d, layers, length, *sizes):
        super().__init__()
        self.emb, self.norm, self.head = nn.Embedding(words, d), ScaleNorm(d), nn.Linear(d, words, bias=False)
        self.blocks = nn.ModuleList(LatentBlock(d, *sizes) for _ in range(layers))
        rope = sizes[-1]
        self.register_buffer("freqs", torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(0, rope, 2).float() / rope)))

    def forward(self, ids):
        x, freqs = self.emb(ids), self.freqs[: ids.shape[1]].float()
        for block in self.blocks:
            x = checkpoint(block, x, freqs, use_reentrant=False) if self.training else block(x, freqs)
        return self.head(self.norm(x))


@model("language")
def latent_kv_decoder(small):
    batch, length, words, d, layers, sizes = (2, 8, 50, 32, 2, (2, 16, 8, 4)) if small else (4, 1024, 32_000, 1024, 8, (16, 256, 64, 32))
    ids = torch.randint(words, (batch, length + 1))
    return (
        LatentDecoder(words, d, layers, length, *sizes),
        (ids[:, :-1],),
        lambda out: F.cross_entropy(out.flatten(0, 1), ids[:, 1:].flatten()),
    )


class HashedAttention(nn.Module):
    def __init__(self, d, heads, chunk, rounds):
        super().__init__()
        self.h, self.chunk, self.rounds = heads, chunk, rounds
        self.qk, self.v, self.out = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False), nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        qk, v = (f(x).view(b, t, self.h, -1).transpose(1, 2).reshape(b * self.h, t, -1) for f in (self.qk, self.v))
        outs, sums = [], []
        for _ in range(self.rounds):
            o, s = self.one_round(qk, v)
            outs.append(o)
            sums.append(s)
        weight = torch.softmax(torch.stack(sums), 0).to(x.dtype)
        y = (torch.stack(outs) * weight).sum(0)
        return self.out(y.view(b, self.h, t, -1).transpose(1, 2).reshape(b, t, d))

    def one_round(self, qk, v):
        n, t, e = qk.shape
        turn = torch.randn(e, t // self.chunk // 2, device=qk.device, dtype=qk.dtype)
        projected = qk.detach() @ turn
        bucket = torch.cat([projected, -projected], -1).argmax(-1)
        place = torch.arange(t, device=qk.device)
        order = (bucket * t + place).argsort(-1)
        undo = order.argsort(-1)
        rows = order.unsqueeze(-1).expand(-1, -1, e)
        sq, sv = (y.gather(1, rows).view(n, -1, self.chunk, e) for y in (qk, v))
        sp, sb = (y.view(n, -1, self.chunk) for y in (order, bucket.gather(1, order)))
        k = F.normalize(sq, dim=-1)
        k, sv, kp, kb = (torch.cat([y, y.roll(1, 1)], 2) for y in (k, sv, sp, sb))
        dots = torch.einsum("ncie,ncje->ncij", sq, k).float() * e**-0.5
        dots = dots.masked_fill(sp.unsqueeze(-1) < kp.unsqueeze(-2), -1e9).masked_fill(sb.unsqueeze(-1) != kb.unsqueeze(-2), -1e9)
        dots = torch.where(sp.unsqueeze(-1) == kp.unsqueeze(-2), -5e4, dots)
        total = dots.logsumexp(-1, keepdim=True)
        out = (dots - total).exp().to(sv.dtype) @ sv
        return out.view(n, t, e).gather(1, undo.unsqueeze(-1).expand(-1, -1, e)), total.view(n, t, 1).gather(1, undo.unsqueeze(-1))


class HashedModel(nn.Module):
    """Long text: tokens are sorted by a random hash and attend within their bucket and the one before."""

    def __init__(self, words, d, layers, heads, chunk, length):
        super().__init__()
        self.emb, self.pos = nn.Embedding(words, d), nn.Parameter(torch.randn(length, d) * 0.02)
        self.attn = nn.ModuleList(HashedAttention(d, heads, chunk, 2) for _ in range(layers))
        self.ff = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(layers))
        self.norms, self.head = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers)), nn.Linear(d, words)

    def forward(self, ids):
        x = self.emb(ids) + self.pos
        for attn, norm, ff in zip(self.attn, self.norms, self.ff):
            x = x + attn(norm(x))
            x = x + ff(x)
        return self.head(x)


@model("language")
def hashed_bucket_attention(small):
    batch, length, d, layers, heads, chunk = (1, 16, 16, 1, 2, 4) if small else (4, 4096, 512, 4, 8, 64)
    ids = torch.randint(256, (batch, length))
    return (
        HashedModel(256, d, layers, heads, chunk, length),
        (ids,),
        lambda out: F.cross_entropy(out[:, :-1].flatten(0, 1), ids[:, 1:].flatten()),
    )


class ChoosingExperts(nn.Module):
    def __init__(self, d, hidden, experts, capacity):
        super().__init__()
        self.gate, self.capacity = nn.Linear(d, experts, bias=False), capacity
        self.w1, self.w2 = (
            nn.Parameter(torch.randn(experts, d, hidden) * d**-0.5),
            nn.Parameter(torch.randn(experts, hidden, d) * hidden**-0.5),
        )

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        scores = self.gate(flat).softmax(-1)
        k = int(self.capacity * len(flat) / scores.shape[1])
        weight, chosen = scores.t().topk(k, dim=-1)
        picked = flat[chosen]
        h = F.gelu(torch.bmm(picked, self.w1), approximate="tanh")
        y = torch.bmm(h, self.w2) * weight.unsqueeze(-1)
        out = torch.zeros_like(flat, dtype=y.dtype).scatter_add(0, chosen.reshape(-1, 1).expand(-1, flat.shape[1]), y.flatten(0, 1))
        return out.view_as(x)


class ChoosingBlock(nn.Module):
    def __init__(self, d, heads, hidden, experts):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.attn, self.moe = nn.MultiheadAttention(d, heads, batch_first=True), ChoosingExperts(d, hidden, experts, 2.0)

    def forward(self, x):
        y = self.ln1(x)
        x = x + self.attn(y, y, y, need_weights=False)[0]
        return x + self.moe(self.ln2(x))


@model("mixture of experts")
def experts_choose_tokens(small):
    """Each expert takes its best tokens, rather than each token its experts: always full, sometimes nobody's."""
    batch, length, d, heads, hidden, experts, layers = (2, 8, 16, 2, 16, 4, 1) if small else (16, 512, 768, 12, 2048, 16, 4)
    target = torch.randn(batch, length, d)
    net = nn.Sequential(*(ChoosingBlock(d, heads, hidden, experts) for _ in range(layers)))
    return net, (torch.randn(batch, length, d),), lambda out: F.smooth_l1_loss(out, target)


class ComplexRecurrence(nn.Module):
    """A diagonal complex recurrence, scanned by doubling: as many rounds as the length has bits."""

    def __init__(self, d, n):
        super().__init__()
        u = torch.rand(n)
        self.nu, self.theta = (
            nn.Parameter(torch.log(-0.5 * torch.log(u * 0.19 + 0.8))),
            nn.Parameter(torch.log(torch.rand(n) * 6.28 + 1e-3)),
        )
        self.b, self.c = nn.Parameter(torch.randn(2, d, n) / math.sqrt(2 * d)), nn.Parameter(torch.randn(2, n, d) / math.sqrt(n))
        self.skip, self.norm, self.glu = nn.Parameter(torch.randn(d)), nn.LayerNorm(d), nn.Linear(d, 2 * d)

    def forward(self, x):
        y = self.norm(x)
        size = torch.exp(-torch.exp(self.nu.float()))
        pole = torch.polar(size, torch.exp(self.theta.float()))
        state = torch.complex((y @ self.b[0]).float(), (y @ self.b[1]).float()) * torch.sqrt(1 - size**2)
        step = 1
        while step < x.shape[1]:
            moved = F.pad(state[:, :-step], (0, 0, step, 0))
            state = state + pole**step * moved
            step *= 2
        out = state.real.to(y.dtype) @ self.c[0] - state.imag.to(y.dtype) @ self.c[1] + self.skip * y
        return x + F.glu(self.glu(F.gelu(out)), -1)


@model("state space")
def doubling_complex_scan(small):
    batch, length, d, layers = (2, 8, 8, 1) if small else (16, 2048, 256, 4)
    target = torch.randint(10, (batch,))
    body = nn.Sequential(nn.Linear(3, d), *(ComplexRecurrence(d, d) for _ in range(layers)))
    head = nn.Sequential(nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(d, 10))
    net = nn.Sequential(body, Transposed(), head)
    return net, (torch.randn(batch, length, 3),), lambda out: F.cross_entropy(out, target)


class Transposed(nn.Module):
    def forward(self, x):
        return x.transpose(1, 2)


class AdaptedLinear(nn.Linear):
    def __init__(self, a, b, adapters, rank):
        super().__init__(a, b)
        self.weight.requires_grad_(False)
        self.bias.requires_grad_(False)
        self.down, self.up = nn.Parameter(torch.randn(adapters, a, rank) * 0.02), nn.Parameter(torch.zeros(adapters, rank, b))

    def forward(self, x, which):
        return F.linear(x, self.weight, self.bias) + 2.0 * torch.bmm(torch.bmm(x, self.down[which]), self.up[which])


class ManyTenants(nn.Module):
    """One frozen encoder for many customers: every request of the batch has a low-rank adapter of its own."""

    def __init__(self, d, heads, layers, adapters, rank):
        super().__init__()
        self.qkv, self.out, self.fc1, self.fc2 = (
            nn.ModuleList(AdaptedLinear(a, b, adapters, rank) for _ in range(layers)) for a, b in ((d, 3 * d), (d, d), (d, 4 * d), (4 * d, d)))  # fmt: skip
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(2 * layers))
        self.heads, self.rate = heads, nn.Parameter(torch.zeros(adapters, d))

    def forward(self, x, which, lengths):
        b, t, d = x.shape
        seen = (torch.arange(t, device=x.device) < lengths[:, None])[:, None, None]
        for i in range(len(self.qkv)):
            q, k, v = (y.unflatten(-1, (self.heads, -1)).transpose(1, 2) for y in self.qkv[i](self.norms[2 * i](x), which).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=seen)
            x = x + self.out[i](y.transpose(1, 2).reshape(b, t, d), which)
            x = x + self.fc2[i](F.gelu(self.fc1[i](self.norms[2 * i + 1](x), which)), which)
        pooled = (x * seen[:, 0, 0, :, None]).sum(1) / lengths[:, None]
        return (pooled * self.rate[which]).sum(-1)


@model("LoRA")
def adapters_by_request(small):
    batch, length, d, heads, layers, adapters, rank = (3, 6, 16, 2, 1, 4, 2) if small else (32, 256, 768, 12, 6, 64, 16)
    target = torch.rand(batch)
    inputs = (torch.randn(batch, length, d), torch.randint(adapters, (batch,)), torch.randint(1, length + 1, (batch,)))
    return ManyTenants(d, heads, layers, adapters, rank), inputs, lambda out: F.binary_cross_entropy_with_logits(out, target)
