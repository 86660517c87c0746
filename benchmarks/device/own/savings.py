"""Saved on memory and steps: adapters mixed by token, a memory of matrices, pictures scanned four ways, steps remembered, a cache in four bits."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class MixedAdapters(nn.Module):
    """A frozen matrix and many narrow detours around it; every token goes a weighted two of them."""

    def __init__(self, a, b, experts, rank, top):
        super().__init__()
        self.frozen = nn.Linear(a, b)
        self.frozen.requires_grad_(False)
        self.gate, self.top, self.scale = nn.Linear(a, experts, bias=False), top, 16 / rank
        self.A, self.B = nn.Parameter(torch.randn(a, experts, rank) / a**0.5), nn.Parameter(torch.zeros(experts, rank, b))

    def forward(self, x):
        score = self.gate(x).float()
        best, which = score.topk(self.top, -1)
        weight = torch.zeros_like(score).scatter(-1, which, best.softmax(-1))
        narrow = torch.einsum("btd,der->bter", x, self.A)
        detour = torch.einsum("bter,ero->bto", narrow * weight.unsqueeze(-1).to(narrow.dtype), self.B)
        return self.frozen(x) + self.scale * detour


class AdaptedBlock(nn.Module):
    def __init__(self, d, heads, *how):
        super().__init__()
        self.n1, self.n2, self.heads = nn.LayerNorm(d), nn.LayerNorm(d), heads
        self.q, self.v, self.k, self.o = MixedAdapters(d, d, *how), MixedAdapters(d, d, *how), nn.Linear(d, d), nn.Linear(d, d)
        self.up, self.down = MixedAdapters(d, 4 * d, *how), nn.Linear(4 * d, d)
        for layer in (self.k, self.o, self.down, self.n1, self.n2):
            layer.requires_grad_(False)

    def forward(self, x):
        y = self.n1(x)
        q, k, v = (f(y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class AdaptedByToken(nn.Module):
    def __init__(self, words, length, d, heads, layers, *how):
        super().__init__()
        self.embed, self.pos = nn.Embedding(words, d), nn.Embedding(length, d)
        self.embed.requires_grad_(False)
        self.pos.requires_grad_(False)
        self.blocks, self.norm = nn.ModuleList(AdaptedBlock(d, heads, *how) for _ in range(layers)), nn.LayerNorm(d)

    def forward(self, ids):
        x = self.embed(ids) + self.pos.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        return F.linear(self.norm(x), self.embed.weight)


@model("LoRA")
def adapters_mixed_by_token(small):
    b, t, words, d, heads, layers, how = (2, 5, 20, 16, 2, 1, (3, 2, 2)) if small else (8, 512, 16_000, 1024, 16, 6, (8, 8, 2))
    ids = torch.randint(words, (b, t))
    goal = ids.roll(-1, 1).flatten()
    return AdaptedByToken(words, t, d, heads, layers, *how), (ids,), lambda out: F.cross_entropy(out.flatten(0, 1), goal)


class MatrixMemory(nn.Module):
    """A memory of outer products with exponential gates, read for all times at once through a triangle of decays."""

    def __init__(self, d, heads, expand=2):
        super().__init__()
        e = expand * d
        self.heads, self.norm = heads, nn.LayerNorm(d)
        self.up, self.down = nn.Linear(d, 2 * e, bias=False), nn.Linear(e, d, bias=False)
        self.conv = nn.Conv1d(e, e, 4, groups=e, padding=3)
        self.q, self.k, self.v = (nn.Conv1d(e, e, 1, groups=e // 4, bias=False) for _ in range(3))
        self.gates, self.skip = nn.Linear(3 * e, 2 * heads), nn.Parameter(torch.ones(e))
        self.after = nn.GroupNorm(heads, e)

    def forward(self, x):
        _b, t, _ = x.shape
        a, z = self.up(self.norm(x)).chunk(2, -1)
        c = F.silu(self.conv(a.transpose(1, 2))[..., :t])
        q, k, v = self.q(c), self.k(c), self.v(a.transpose(1, 2))
        enter, forget = self.gates(torch.cat([q, k, v], 1).transpose(1, 2)).float().transpose(1, 2).chunk(2, 1)
        kept = F.logsigmoid(forget).cumsum(-1)
        decay = kept.unsqueeze(-1) - kept.unsqueeze(-2) + enter.unsqueeze(-2)
        decay = decay.masked_fill(torch.ones(t, t, dtype=torch.bool, device=x.device).triu(1), -math.inf)
        most = decay.amax(-1, keepdim=True)
        q, k, v = (y.unflatten(1, (self.heads, -1)).transpose(2, 3) for y in (q, k, v))
        score = (q @ k.transpose(2, 3)).float() / k.shape[-1] ** 0.5 * torch.exp(decay - most)
        size = torch.maximum(score.sum(-1, keepdim=True).abs(), torch.exp(-most)) + 1e-6
        h = ((score / size).to(v.dtype) @ v).transpose(2, 3).flatten(1, 2)
        h = self.after(h).to(c.dtype) + self.skip.unsqueeze(-1) * c
        return x + self.down(h.transpose(1, 2) * F.silu(z))


class MemoryWriter(nn.Module):
    def __init__(self, words, d, heads, layers):
        super().__init__()
        self.embed, self.norm, self.head = nn.Embedding(words, d), nn.LayerNorm(d), nn.Linear(d, words, bias=False)
        self.layers = nn.ModuleList(MatrixMemory(d, heads) for _ in range(layers))

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return 30 * torch.tanh(self.head(self.norm(x)) / 30)


@model("state space")
def memory_of_matrices(small):
    b, t, words, d, heads, layers = (2, 6, 20, 16, 2, 1) if small else (8, 1024, 16_000, 768, 4, 4)
    ids = torch.randint(words, (b, t))
    goal = ids.roll(-1, 1).flatten()
    return MemoryWriter(words, d, heads, layers), (ids,), lambda out: F.cross_entropy(out.flatten(0, 1), goal)


class FourWays(nn.Module):
    """A picture as four sequences, by rows and by columns, forwards and backwards; each scanned with decays of its own, in chunks."""

    def __init__(self, d, state, rank, chunk):
        super().__init__()
        self.state, self.rank, self.chunk = state, rank, chunk
        self.enter, self.leave = nn.Linear(d, 2 * d, bias=False), nn.Linear(d, d, bias=False)
        self.conv = nn.Conv2d(d, d, 3, padding=1, groups=d)
        self.x_proj = nn.Parameter(torch.randn(4, rank + 2 * state, d) / d**0.5)
        self.dt_proj, self.dt_bias = nn.Parameter(torch.randn(4, d, rank) / rank**0.5), nn.Parameter(torch.full((4, d, 1), -3.0))
        self.A, self.D = nn.Parameter(torch.rand(4, d)), nn.Parameter(torch.ones(4, d, 1))
        self.norm, self.out = nn.LayerNorm(d), nn.LayerNorm(d)

    def scan(self, x, dt, B, C):
        """x, dt: (b, 4, d, l); B, C: (b, 4, state, l). One decay a channel; chunk after chunk with a state between."""
        step = (-torch.exp(self.A.float()).unsqueeze(-1) * dt).unflatten(-1, (-1, self.chunk))
        x, B, C = ((y.float()).unflatten(-1, (-1, self.chunk)) for y in (x * dt, B, C))
        total = step.cumsum(-1)
        later = torch.ones(self.chunk, self.chunk, dtype=torch.bool, device=x.device).triu(1)
        h, out = torch.zeros(*x.shape[:3], self.state, device=x.device), []
        for i in range(x.shape[-2]):
            s, u, b, c = total[..., i, :], x[..., i, :], B[..., i, :], C[..., i, :]
            near = torch.exp((s.unsqueeze(-1) - s.unsqueeze(-2)).masked_fill(later, -math.inf))
            pairs = torch.einsum("bknt,bkns->bkts", c, b)
            y = torch.einsum("bkdts,bkts,bkds->bkdt", near, pairs, u)
            y = y + torch.exp(s) * torch.einsum("bkdn,bknt->bkdt", h, c)
            h = torch.exp(s[..., -1:]) * h + torch.einsum("bkds,bkns->bkdn", u * torch.exp(s[..., -1:] - s), b)
            out.append(y)
        return torch.cat(out, -1)

    def forward(self, x):
        b, height, width, d = x.shape
        u, z = self.enter(self.norm(x)).chunk(2, -1)
        u = F.silu(self.conv(u.permute(0, 3, 1, 2)))
        rows, columns = u.flatten(2), u.transpose(2, 3).flatten(2)
        ways = torch.stack([rows, columns, rows.flip(-1), columns.flip(-1)], 1)
        dt, B, C = torch.einsum("bkdl,kcd->bkcl", ways, self.x_proj).split([self.rank, self.state, self.state], 2)
        dt = F.softplus((torch.einsum("bkrl,kdr->bkdl", dt, self.dt_proj) + self.dt_bias).float())
        y = self.scan(ways.float(), dt, B, C) + self.D * ways
        y = y[:, :2] + y[:, 2:].flip(-1)
        y = y[:, 0] + y[:, 1].unflatten(-1, (width, height)).transpose(2, 3).flatten(2)
        y = self.out(y.transpose(1, 2).reshape(b, height, width, d).to(x.dtype))
        return x + self.leave(y.to(z.dtype) * F.silu(z))


class ScannedPictures(nn.Module):
    def __init__(self, patch, dims, depths, state, rank, chunk, classes):
        super().__init__()
        self.patch = nn.Conv2d(3, dims[0], patch, patch)
        self.stages = nn.ModuleList(nn.Sequential(*(FourWays(d, state, rank, chunk) for _ in range(n))) for d, n in zip(dims, depths))
        self.merge = nn.ModuleList(nn.Sequential(nn.LayerNorm(4 * a), nn.Linear(4 * a, b, bias=False)) for a, b in itertools.pairwise(dims))
        self.norm, self.head = nn.LayerNorm(dims[-1]), nn.Linear(dims[-1], classes)

    def forward(self, x):
        x = self.patch(x).permute(0, 2, 3, 1)
        for i, stage in enumerate(self.stages):
            x = stage(x)
            if i < len(self.merge):
                x = self.merge[i](torch.cat([x[:, i::2, j::2] for i in (0, 1) for j in (0, 1)], -1))
        return self.head(self.norm(x).mean((1, 2)))


@model("state space")
def pictures_scanned_four_ways(small):
    b, size, patch, dims, depths, state, rank, chunk = (
        (1, 16, 4, (8, 8), (1, 1), 2, 2, 4) if small else (8, 192, 8, (96, 192), (2, 2), 8, 6, 48)
    )
    y = torch.randint(100, (b,))
    return (
        ScannedPictures(patch, dims, depths, state, rank, chunk, 100),
        (torch.randn(b, 3, size, size),),
        lambda out: F.cross_entropy(out, y),
    )


class Res(nn.Module):
    def __init__(self, a, b, t):
        super().__init__()
        self.n1, self.c1 = nn.GroupNorm(8, a), nn.Conv2d(a, b, 3, padding=1)
        self.t, self.n2, self.c2 = nn.Linear(t, 2 * b), nn.GroupNorm(8, b), nn.Conv2d(b, b, 3, padding=1)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, t):
        h = self.c1(F.silu(self.n1(x)))
        scale, shift = self.t(F.silu(t))[..., None, None].chunk(2, 1)
        return self.skip(x) + self.c2(F.silu(self.n2(h) * (1 + scale) + shift))


class Reads(nn.Module):
    """Cells attend to each other, then to the words, then think."""

    def __init__(self, c, words, heads):
        super().__init__()
        self.norm, self.heads = nn.GroupNorm(8, c), heads
        self.n1, self.n2, self.n3 = (nn.LayerNorm(c) for _ in range(3))
        self.qkv, self.o1 = nn.Linear(c, 3 * c, bias=False), nn.Linear(c, c)
        self.q, self.kv, self.o2 = nn.Linear(c, c, bias=False), nn.Linear(words, 2 * c, bias=False), nn.Linear(c, c)
        self.up, self.down = nn.Linear(c, 8 * c), nn.Linear(4 * c, c)

    def attend(self, *qkv):
        q, k, v = (x.unflatten(-1, (self.heads, -1)).transpose(1, 2) for x in qkv)
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    def forward(self, x, words):
        y = self.norm(x).flatten(2).transpose(1, 2)
        y = y + self.o1(self.attend(*self.qkv(self.n1(y)).chunk(3, -1)))
        y = y + self.o2(self.attend(self.q(self.n2(y)), *self.kv(words).chunk(2, -1)))
        a, gate = self.up(self.n3(y)).chunk(2, -1)
        y = y + self.down(a * F.gelu(gate))
        return x + y.transpose(1, 2).view_as(x)


class StepsRemembered(nn.Module):
    """Latents out of noise, guided by words: a U-Net asked once a step, and a second-order step out of what it said the last time."""

    def __init__(self, c, words, heads, steps, guide=6.0):
        super().__init__()
        t = 4 * c
        self.steps, self.guide, self.c = steps, guide, c
        self.time = nn.Sequential(nn.Linear(c, t), nn.SiLU(), nn.Linear(t, t))
        self.enter, self.leave = nn.Conv2d(4, c, 3, padding=1), nn.Sequential(nn.GroupNorm(8, c), nn.SiLU(), nn.Conv2d(c, 4, 3, padding=1))
        self.r1, self.d1 = Res(c, c, t), nn.Conv2d(c, c, 3, 2, 1)
        self.r2, self.a2, self.d2 = Res(c, 2 * c, t), Reads(2 * c, words, heads), nn.Conv2d(2 * c, 2 * c, 3, 2, 1)
        self.m1, self.am, self.m2 = Res(2 * c, 4 * c, t), Reads(4 * c, words, heads), Res(4 * c, 2 * c, t)
        self.u2, self.b2, self.u1 = Res(4 * c, 2 * c, t), Reads(2 * c, words, heads), Res(3 * c, c, t)

    def unet(self, x, when, words):
        angle = when * torch.exp(-math.log(10_000) * torch.arange(self.c // 2, device=x.device) / (self.c // 2))
        t = self.time(torch.cat([angle.cos(), angle.sin()]).to(x.dtype).expand(len(x), -1))
        h1 = self.r1(self.enter(x), t)
        h2 = self.a2(self.r2(self.d1(h1), t), words)
        h = self.m2(self.am(self.m1(self.d2(h2), t), words), t)
        h = self.b2(self.u2(torch.cat([F.interpolate(h, scale_factor=2.0), h2], 1), t), words)
        return self.leave(self.u1(torch.cat([F.interpolate(h, scale_factor=2.0), h1], 1), t))

    def forward(self, x, words, none):
        both = torch.cat([words, none.expand_as(words)])
        before, h_before = None, None
        for i in range(self.steps):
            t, s = ((1 - j / (self.steps + 1)) * 0.98 for j in (i, i + 1))
            alpha, sigma, alpha2, sigma2 = (f(math.pi / 2 * when) for when in (t, s) for f in (math.cos, math.sin))
            h = math.log(alpha2 / sigma2) - math.log(alpha / sigma)
            yes, no = self.unet(x.repeat(2, 1, 1, 1), 1000 * t, both).chunk(2)
            noise = no + self.guide * (yes - no)
            clean = (x - sigma * noise) / alpha
            top = torch.quantile(clean.float().abs().flatten(1), 0.995, dim=1).clamp(min=1.0).view(-1, 1, 1, 1).to(x.dtype)
            clean = torch.maximum(torch.minimum(clean, top), -top) / top
            d = clean if before is None else clean + (clean - before) * (0.5 * h / h_before)
            x = sigma2 / sigma * x - alpha2 * math.expm1(-h) * d
            before, h_before = clean, h
        return clean


@model("diffusion")
def steps_that_remember_the_last(small):
    b, size, c, words, length, heads, steps = (1, 8, 8, 8, 3, 2, 2) if small else (4, 64, 192, 768, 77, 8, 4)
    return (
        StepsRemembered(c, words, heads, steps),
        (torch.randn(b, 4, size, size), torch.randn(b, length, words), torch.randn(1, 1, words)),
        None,
    )


def packed(x, dim, group):
    """Four bits each, two to a byte, with a scale and a least value per group along `dim`, which is the last afterwards."""
    x = x.movedim(dim, -1).unflatten(-1, (-1, group))
    low, high = x.amin(-1, keepdim=True), x.amax(-1, keepdim=True)
    scale = (high - low).clamp_min(1e-5) / 15
    q = ((x - low) / scale).round().clamp(0, 15).to(torch.uint8)
    return q[..., ::2] | (q[..., 1::2] << 4), scale, low


def unpacked(q, scale, low, dim):
    x = torch.stack([q & 15, q >> 4], -1).flatten(-2).to(scale.dtype) * scale + low
    return x.flatten(-2).movedim(-1, dim)


class FourBitCache(nn.Module):
    """The next word with a cache in four bits: keys in groups along time, values along channels, and the latest words as they are."""

    def __init__(self, words, d, heads, groups, layers, b, past, recent, size=32):
        super().__init__()
        self.heads, self.groups, self.hd = heads, groups, d // heads
        self.embed, self.norm = nn.Embedding(words, d), nn.RMSNorm(d)
        self.n1, self.n2 = (nn.ModuleList(nn.RMSNorm(d) for _ in range(layers)) for _ in range(2))
        self.q = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(layers))
        self.kv = nn.ModuleList(nn.Linear(d, 2 * groups * self.hd, bias=False) for _ in range(layers))
        self.o = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(layers))
        self.up = nn.ModuleList(nn.Linear(d, 6 * d, bias=False) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(3 * d, d, bias=False) for _ in range(layers))
        for i in range(layers):
            for name, dim in (("k", 2), ("v", 3)):
                q, scale, low = packed(torch.randn(b, groups, past, self.hd), dim, size)
                self.register_buffer(f"{name}q{i}", q)
                self.register_buffer(f"{name}s{i}", scale)
                self.register_buffer(f"{name}l{i}", low)
                self.register_buffer(f"{name}r{i}", torch.randn(b, groups, recent, self.hd))

    def cached(self, name, i, dim, new):
        q, scale, low, recent = (getattr(self, f"{name}{part}{i}") for part in "qslr")
        return torch.cat([unpacked(q, scale, low, dim), recent, new], 2)

    def forward(self, ids):
        x = self.embed(ids)
        b = len(x)
        for i, (n1, n2, q, kv, o, up, down) in enumerate(zip(self.n1, self.n2, self.q, self.kv, self.o, self.up, self.down)):
            y = n1(x)
            k, v = kv(y).view(b, 1, 2, self.groups, self.hd).permute(2, 0, 3, 1, 4)
            k, v = self.cached("k", i, 2, k), self.cached("v", i, 3, v)
            asked = q(y).view(b, self.groups, -1, self.hd)
            score = (asked @ k.transpose(2, 3) / self.hd**0.5).softmax(-1, dtype=torch.float32).to(v.dtype)
            x = x + o((score @ v).reshape(b, 1, -1))
            a, gate = up(n2(x)).chunk(2, -1)
            x = x + down(F.silu(gate) * a)
        return F.linear(self.norm(x[:, -1]), self.embed.weight).argmax(-1)


@model("quantised")
def cache_in_four_bits(small):
    how = (20, 16, 2, 1, 1, 2, 8, 2, 4) if small else (32_000, 2048, 16, 4, 8, 16, 4096, 64, 32)
    return FourBitCache(*how), (torch.randint(how[0], (how[5], 1)),), None


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.where(x >= 0, 1.0, -1.0).to(x.dtype)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * (2 - 2 * x.abs()).clamp(min=0).to(g.dtype)


class SignConv(nn.Module):
    """Signs of activations, moved first, times signs of weights; a scale per channel, a norm, and a bent line that can be moved."""

    def __init__(self, a, b, k=3, s=1):
        super().__init__()
        self.move, self.weight = nn.Parameter(torch.zeros(1, a, 1, 1)), nn.Parameter(torch.randn(b, a, k, k) * 0.05)
        self.s, self.k, self.bn, self.act = s, k, nn.BatchNorm2d(b), nn.PReLU(b)
        self.b1, self.b2 = nn.Parameter(torch.zeros(1, b, 1, 1)), nn.Parameter(torch.zeros(1, b, 1, 1))

    def forward(self, x):
        scale = self.weight.abs().mean((1, 2, 3), keepdim=True).detach()
        clipped = self.weight.clamp(-1, 1)
        w = (scale * torch.sign(self.weight)).detach() - clipped.detach() + clipped
        y = self.bn(F.conv2d(Sign.apply(x + self.move), w, stride=self.s, padding=self.k // 2))
        skip = F.avg_pool2d(x, 2) if self.s == 2 else x
        skip = skip if skip.shape[1] == y.shape[1] else torch.cat([skip, skip], 1)
        return self.act(y + skip + self.b1) + self.b2


@model("quantised")
def only_signs_of_weights(small):
    b, size, c, plan = (2, 16, 4, (1, 2)) if small else (64, 192, 64, (1, 1, 2, 1, 2, 1, 2, 1, 1, 2, 1))
    layers, a = [nn.Conv2d(3, c, 3, 2, 1, bias=False), nn.BatchNorm2d(c)], c
    for s in plan:
        layers += [SignConv(a, a, 3, s), SignConv(a, a * s, 1)]
        a *= s
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(a, 1000))
    y = torch.randint(1000, (b,))
    return net, (torch.randn(b, 3, size, size),), lambda out: F.cross_entropy(out, y)
