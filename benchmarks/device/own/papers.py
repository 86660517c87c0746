"""From papers' repositories: one file a method, tensors written out, loops where the formula has them."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class MaskedVideo(nn.Module):
    """Tubes of a clip: nine tenths hidden, the rest encoded, a light decoder guesses the pixels."""

    def __init__(self, frames, size, dim, depth, keep):
        super().__init__()
        self.patch = nn.Conv3d(3, dim, (2, 16, 16), (2, 16, 16))
        self.n = (frames // 2) * (size // 16) ** 2
        self.keep = max(1, int(self.n * keep))
        self.pos = nn.Parameter(torch.zeros(1, self.n, dim))
        self.enc = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 4 * dim, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(depth)
        )
        self.to_dec, self.token = nn.Linear(dim, dim // 2), nn.Parameter(torch.zeros(1, 1, dim // 2))
        self.dpos = nn.Parameter(torch.zeros(1, self.n, dim // 2))
        self.dec = nn.ModuleList(
            nn.TransformerEncoderLayer(dim // 2, 4, 2 * dim, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(2)
        )
        self.out = nn.Linear(dim // 2, 2 * 16 * 16 * 3)

    def forward(self, clip):
        x = self.patch(clip).flatten(2).transpose(1, 2) + self.pos
        b, n, d = x.shape
        order = torch.rand(b, n, device=x.device).argsort(1)
        back = order.argsort(1)
        x = x.gather(1, order[:, : self.keep, None].expand(-1, -1, d))
        for layer in self.enc:
            x = layer(x)
        x = self.to_dec(x)
        x = torch.cat([x, self.token.expand(b, n - self.keep, -1)], 1).gather(1, back[..., None].expand(-1, -1, d // 2)) + self.dpos
        for layer in self.dec:
            x = layer(x)
        return self.out(x)


@model("video")
def masked_video_tubes(small):
    batch, frames, size, dim, depth = (1, 4, 32, 32, 1) if small else (8, 16, 224, 384, 8)
    count = (frames // 2) * (size // 16) ** 2
    target = torch.randn(batch, count, 1536)
    return MaskedVideo(frames, size, dim, depth, 0.1), (torch.randn(batch, 3, frames, size, size),), lambda out: F.mse_loss(out, target)


def rms(x, weight, eps=1e-5):
    return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype) * weight


class GroupedQueryLayer(nn.Module):
    def __init__(self, d, heads, groups):
        super().__init__()
        self.h, self.g, self.hd = heads, groups, d // heads
        self.n1, self.n2 = nn.Parameter(torch.ones(d)), nn.Parameter(torch.ones(d))
        self.wq, self.wk, self.wv = (
            nn.Linear(d, d, bias=False),
            nn.Linear(d, groups * self.hd, bias=False),
            nn.Linear(d, groups * self.hd, bias=False),
        )
        self.wo = nn.Linear(d, d, bias=False)
        self.w1, self.w2, self.w3 = (
            nn.Linear(d, 8 * d // 3, bias=False),
            nn.Linear(8 * d // 3, d, bias=False),
            nn.Linear(d, 8 * d // 3, bias=False),
        )

    def forward(self, x, cos, sin):
        b, t, d = x.shape
        y = rms(x, self.n1)
        q, k, v = (w(y).view(b, t, -1, self.hd).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        q, k = (torch.cat((a[..., ::2] * cos - a[..., 1::2] * sin, a[..., ::2] * sin + a[..., 1::2] * cos), -1) for a in (q, k))
        k, v = (a.repeat_interleave(self.h // self.g, 1) for a in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.wo(y.transpose(1, 2).reshape(b, t, d))
        y = rms(x, self.n2)
        return x + self.w2(F.silu(self.w1(y)) * self.w3(y))


class ManyHeads(nn.Module):
    """A decoder whose extra heads guess the tokens after the next one."""

    def __init__(self, words, d, layers, heads, groups, guesses, length):
        super().__init__()
        self.emb = nn.Embedding(words, d)
        self.layers = nn.ModuleList(GroupedQueryLayer(d, heads, groups) for _ in range(layers))
        self.norm = nn.Parameter(torch.ones(d))
        self.guess = nn.ModuleList(nn.Linear(d, d) for _ in range(guesses))
        self.head = nn.Linear(d, words, bias=False)
        angle = torch.arange(length)[:, None] / 10000 ** (torch.arange(d // heads // 2) / (d // heads // 2))[None]
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, ids):
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x, self.cos.to(x.dtype), self.sin.to(x.dtype))
        x = rms(x, self.norm)
        if not self.training:
            last = x[:, -1]
            logits = torch.stack([self.head(last)] + [self.head(last + F.silu(g(last))) for g in self.guess], 1)
            return logits.topk(10, -1)
        return [self.head(x)] + [self.head(x + F.silu(g(x))) for g in self.guess]


@model("language")
def decoder_with_guessing_heads(small):
    batch, length, words, d, layers = (2, 8, 60, 32, 1) if small else (8, 512, 32_000, 768, 8)
    target = torch.randint(words, (batch, length))

    def loss(outs):
        return sum(F.cross_entropy(out[:, : length - i - 1].flatten(0, 1), target[:, i + 1 :].flatten()) for i, out in enumerate(outs))

    return ManyHeads(words, d, layers, 4 if small else 12, 2 if small else 4, 3, length), (torch.randint(words, (batch, length)),), loss


class SplineLayer(nn.Module):
    """A function per edge: a base activation and B-splines by their recursion."""

    def __init__(self, a, b, grid=5, order=3):
        super().__init__()
        h = 2 / grid
        self.register_buffer("knots", (torch.arange(-order, grid + order + 1) * h - 1).expand(a, -1).contiguous())
        self.base = nn.Parameter(torch.randn(b, a) / math.sqrt(a))
        self.spline = nn.Parameter(torch.randn(b, a, grid + order) * 0.1)
        self.scale, self.order = nn.Parameter(torch.ones(b, a)), order

    def forward(self, x):
        k = self.knots
        y = x.unsqueeze(-1)
        bases = ((y >= k[:, :-1]) & (y < k[:, 1:])).to(x.dtype)
        for o in range(1, self.order + 1):
            bases = (y - k[:, : -(o + 1)]) / (k[:, o:-1] - k[:, : -(o + 1)]) * bases[..., :-1] + (k[:, o + 1 :] - y) / (
                k[:, o + 1 :] - k[:, 1:-o]
            ) * bases[..., 1:]
        return F.linear(F.silu(x), self.base) + F.linear(bases.flatten(1), (self.spline * self.scale.unsqueeze(-1)).flatten(1))


@model("splines")
def spline_network(small):
    batch, sizes = (8, (4, 8, 1)) if small else (16_384, (64, 128, 128, 10))
    target = torch.randn(batch, sizes[-1])
    net = nn.Sequential(*(SplineLayer(a, b) for a, b in itertools.pairwise(sizes)))
    return net, (torch.rand(batch, sizes[0]) * 2 - 1,), lambda out: F.mse_loss(out, target)


class LogScanLayer(nn.Module):
    """A minimal LSTM computed at once over time, in logarithms."""

    def __init__(self, d):
        super().__init__()
        self.f, self.i, self.h = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(d, d)
        self.norm, self.out = nn.LayerNorm(d), nn.Linear(d, d)
        self.conv = nn.Conv1d(d, d, 4, groups=d, padding=3)

    def forward(self, x):
        y = self.norm(x)
        y = self.conv(y.transpose(1, 2))[..., : x.shape[1]].transpose(1, 2)
        f, i, h = self.f(y).float(), self.i(y).float(), self.h(y).float()
        gap = F.softplus(-f) - F.softplus(-i)
        log_f, log_i = -F.softplus(gap), -F.softplus(-gap)
        log_h = torch.where(h >= 0, (F.relu(h) + 0.5).log(), -F.softplus(-h))
        a = torch.cumsum(log_f, 1)
        out = (a + torch.logcumsumexp(log_i + log_h - a, 1)).exp()
        return x + self.out(out.to(x.dtype))


@model("state space")
def log_scan_lstm(small):
    batch, length, d, layers = (2, 6, 8, 1) if small else (16, 1024, 384, 4)
    words = 64 if small else 256
    target = torch.randint(words, (batch, length))
    net = nn.Sequential(nn.Embedding(words, d), *(LogScanLayer(d) for _ in range(layers)), nn.LayerNorm(d), nn.Linear(d, words))
    return net, (torch.randint(words, (batch, length)),), lambda out: F.cross_entropy(out.flatten(0, 1), target.flatten())


class DeltaMemory(nn.Module):
    """A fast-weight memory that is corrected token by token: an outer product a step."""

    def __init__(self, d, heads):
        super().__init__()
        self.h = heads
        self.qkv, self.beta, self.out, self.norm = (
            nn.Linear(d, 3 * d, bias=False),
            nn.Linear(d, heads),
            nn.Linear(d, d, bias=False),
            nn.LayerNorm(d),
        )

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (a.view(b, t, self.h, -1).transpose(1, 2) for a in self.qkv(self.norm(x)).chunk(3, -1))
        k, beta = F.normalize(k, dim=-1), self.beta(x).sigmoid().transpose(1, 2)
        state, outs = torch.zeros(b, self.h, k.shape[-1], v.shape[-1], device=x.device, dtype=x.dtype), []
        for i in range(t):
            ki = k[:, :, i]
            old = torch.einsum("bhk,bhkv->bhv", ki, state)
            state = state + torch.einsum("bhk,bhv->bhkv", ki, beta[:, :, i, None] * (v[:, :, i] - old))
            outs.append(torch.einsum("bhk,bhkv->bhv", q[:, :, i], state))
        return x + self.out(torch.stack(outs, 2).transpose(1, 2).reshape(b, t, d))


@model("state space")
def delta_rule_memory(small):
    batch, length, d, heads, layers = (2, 4, 16, 2, 1) if small else (32, 48, 512, 8, 2)
    target = torch.randn(batch, length, d)
    return (
        nn.Sequential(*(DeltaMemory(d, heads) for _ in range(layers))),
        (torch.randn(batch, length, d),),
        lambda out: F.mse_loss(out, target),
    )


class SetDetector(nn.Module):
    """A small backbone, a transformer, a hundred questions; matched by cost with a greedy rule on the device."""

    def __init__(self, d, layers, queries):
        super().__init__()

        def stage(a, b):
            return nn.Sequential(
                nn.Conv2d(a, b, 3, 2, 1, bias=False),
                nn.BatchNorm2d(b),
                nn.ReLU(True),
                nn.Conv2d(b, b, 3, 1, 1, bias=False),
                nn.BatchNorm2d(b),
                nn.ReLU(True),
            )

        self.back = nn.Sequential(stage(3, 32), stage(32, 64), stage(64, 128), stage(128, 256), stage(256, d))
        self.row, self.col = nn.Parameter(torch.rand(50, d // 2)), nn.Parameter(torch.rand(50, d // 2))
        self.ask = nn.Parameter(torch.rand(queries, d))
        self.net = nn.Transformer(d, 8, layers, layers, 4 * d, 0.1, batch_first=True)
        self.kind, self.box = nn.Linear(d, 21), nn.Linear(d, 4)

    def forward(self, x):
        f = self.back(x)
        h, w = f.shape[-2:]
        pos = torch.cat([self.col[:w].unsqueeze(0).repeat(h, 1, 1), self.row[:h].unsqueeze(1).repeat(1, w, 1)], -1).flatten(0, 1)
        y = self.net(f.flatten(2).permute(0, 2, 1) + 0.1 * pos, self.ask.expand(len(x), -1, -1))
        return self.kind(y), self.box(y).sigmoid()


@model("detection")
def questions_for_objects(small):
    batch, size, d, layers, queries = (1, 64, 32, 1, 5) if small else (8, 448, 256, 4, 100)
    boxes, kinds = torch.rand(batch, 10, 4), torch.randint(20, (batch, 10))

    def loss(out):
        logits, where = out
        cost = torch.cdist(where.float(), boxes, p=1) - logits.softmax(-1).gather(2, kinds.unsqueeze(1).expand(-1, logits.shape[1], -1))
        best = cost.argmin(1)
        chosen = where.gather(1, best[..., None].expand(-1, -1, 4))
        named = logits.gather(1, best[..., None].expand(-1, -1, 21))
        return 5 * F.l1_loss(chosen, boxes) + F.cross_entropy(named.flatten(0, 1), kinds.flatten())

    return SetDetector(d, layers, queries), (torch.randn(batch, 3, size, size),), loss


class ConsistencyNet(nn.Module):
    """Noise levels as Fourier features, residual blocks with shift and scale, attention at the lowest size."""

    def __init__(self, w):
        super().__init__()
        self.register_buffer("freq", torch.randn(64) * 16)
        self.time = nn.Sequential(nn.Linear(128, 4 * w), nn.SiLU(), nn.Linear(4 * w, 4 * w))
        self.enter = nn.Conv2d(3, w, 3, 1, 1)
        self.blocks = nn.ModuleList()
        for a, b in ((w, w), (w, 2 * w), (2 * w, 2 * w), (4 * w, w), (2 * w, w)):
            self.blocks.append(
                nn.ModuleList(
                    [
                        nn.GroupNorm(8, a),
                        nn.Conv2d(a, b, 3, 1, 1),
                        nn.Linear(4 * w, 2 * b),
                        nn.GroupNorm(8, b),
                        nn.Conv2d(b, b, 3, 1, 1),
                        nn.Conv2d(a, b, 1),
                    ]
                )
            )
        self.qkv, self.proj, self.gn = nn.Conv2d(2 * w, 6 * w, 1), nn.Conv2d(2 * w, 2 * w, 1), nn.GroupNorm(8, 2 * w)
        self.leave = nn.Conv2d(w, 3, 3, 1, 1)

    def block(self, i, x, t):
        n1, c1, emb, n2, c2, skip = self.blocks[i]
        h = c1(F.silu(n1(x)))
        scale, shift = emb(F.silu(t))[..., None, None].chunk(2, 1)
        return skip(x) + c2(F.silu(n2(h) * (1 + scale) + shift))

    def net(self, x, sigma):
        a = sigma.log()[:, None] * self.freq * 2 * math.pi
        t = self.time(torch.cat([a.cos(), a.sin()], 1))
        h0 = self.block(0, self.enter(x), t)
        h1 = self.block(1, F.avg_pool2d(h0, 2), t)
        h = F.avg_pool2d(h1, 2)
        h = self.block(2, h, t)
        b, c, y, z = h.shape
        q, k, v = self.qkv(self.gn(h)).view(b, 3, 4, c // 4, y * z).unbind(1)
        h = h + self.proj(
            torch.einsum("bhij,bhcj->bhci", (torch.einsum("bhci,bhcj->bhij", q, k) / math.sqrt(c // 4)).softmax(-1), v).reshape(h.shape)
        )
        h = self.block(3, torch.cat([F.interpolate(h, scale_factor=2), h1], 1), t)
        h = self.block(4, torch.cat([F.interpolate(h, scale_factor=2), h0], 1), t)
        return self.leave(h)

    def forward(self, x):
        for s in (80.0, 24.0, 5.8):
            sigma = torch.full((len(x),), s, device=x.device, dtype=x.dtype)
            scale = 0.5 / (sigma**2 + 0.25).sqrt()
            x = (0.25 / (sigma**2 + 0.25))[:, None, None, None] * x + (sigma * scale)[:, None, None, None] * self.net(
                x * scale[:, None, None, None], sigma
            )
            x = x + 0.1 * torch.randn_like(x)
        return x


@model("diffusion")
def three_step_consistency(small):
    batch, size, w = (1, 16, 8) if small else (16, 64, 96)
    target = torch.rand(batch, 3, size, size)
    return ConsistencyNet(w), (torch.randn(batch, 3, size, size),), lambda out: ((out - target) ** 2 + 1e-3).sqrt().mean()


def bundle_step(cameras, points, seen, damping):
    """One step of Gauss and Newton for many small scenes: normal equations, the points eliminated, two solves."""

    def project(camera, point):
        angle, shift = camera[..., :3], camera[..., 3:6]
        theta = angle.norm(dim=-1, keepdim=True).clamp_min(1e-6)
        axis = angle / theta
        p = (
            point * theta.cos()
            + torch.linalg.cross(axis, point) * theta.sin()
            + axis * (axis * point).sum(-1, keepdim=True) * (1 - theta.cos())
        )
        p = p + shift
        return p[..., :2] / (p[..., 2:] + 5)

    c, p = cameras[:, :, None], points[:, None]
    c, p = c.expand(-1, -1, points.shape[1], -1), p.expand(-1, cameras.shape[1], -1, -1)
    base = project(c, p)
    r = seen - base
    eps = 1e-3
    jc = torch.stack([(project(c + eps * torch.eye(6, device=c.device)[i], p) - base) / eps for i in range(6)], -1)
    jp = torch.stack([(project(c, p + eps * torch.eye(3, device=c.device)[i]) - base) / eps for i in range(3)], -1)
    u = torch.einsum("bncki,bnckj->bnij", jc, jc) + damping * torch.eye(6, device=c.device)
    v = torch.einsum("bncki,bnckj->bcij", jp, jp) + damping * torch.eye(3, device=c.device)
    w = torch.einsum("bncki,bnckj->bncij", jc, jp)
    gc, gp = torch.einsum("bncki,bnck->bni", jc, r), torch.einsum("bncki,bnck->bci", jp, r)
    vi = torch.linalg.inv(v)
    wv = torch.einsum("bncij,bcjk->bncik", w, vi)
    n = cameras.shape[1]
    s = torch.diag_embed(torch.ones(n, device=c.device))[None, :, :, None, None] * u[:, :, None] - torch.einsum("bncij,bmckj->bnmik", wv, w)
    s = s.permute(0, 1, 3, 2, 4).reshape(len(cameras), 6 * n, 6 * n)
    g = (gc - torch.einsum("bncij,bcj->bni", wv, gp)).reshape(len(cameras), 6 * n, 1)
    dc = torch.linalg.solve(s, g).view_as(cameras)
    dp = torch.einsum("bcij,bcj->bci", vi, gp - torch.einsum("bncij,bni->bcj", w, dc))
    return cameras + dc, points + dp


@model("geometry", half=False)
def bundle_adjustment_step(small):
    scenes, cameras, points = (2, 2, 4) if small else (64, 8, 512)

    def call(c, p, seen):
        return bundle_step(c, p, seen, 0.1)

    return call, (torch.randn(scenes, cameras, 6) * 0.1, torch.randn(scenes, points, 3), torch.randn(scenes, cameras, points, 2)), None


class NeighbourAttention(nn.Module):
    """Points attend to their sixteen nearest: cdist, topk, gathers, a learned vector attention."""

    def __init__(self, d, k):
        super().__init__()
        self.q, self.kk, self.v = (nn.Linear(d, d, bias=False) for _ in range(3))
        self.place = nn.Sequential(nn.Linear(3, d), nn.ReLU(), nn.Linear(d, d))
        self.weigh = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))
        self.a, self.b, self.k = nn.Linear(d, d), nn.Linear(d, d), k

    def forward(self, xyz, x):
        near = torch.cdist(xyz.float(), xyz.float()).topk(self.k, largest=False).indices
        flat = near.flatten(1)

        def at(t):
            return t.gather(1, flat[..., None].expand(-1, -1, t.shape[-1])).view(*near.shape, -1)

        y = self.a(x)
        place = self.place(xyz.unsqueeze(2) - at(xyz))
        weight = self.weigh(self.q(y).unsqueeze(2) - at(self.kk(y)) + place).softmax(2)
        return x + self.b((weight * (at(self.v(y)) + place)).sum(2))


class PointTransformer(nn.Module):
    def __init__(self, d, k, layers):
        super().__init__()
        self.enter, self.leave = nn.Linear(3, d), nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 13))
        self.layers = nn.ModuleList(NeighbourAttention(d, k) for _ in range(layers))

    def forward(self, xyz):
        x = self.enter(xyz)
        for layer in self.layers:
            x = layer(xyz, x)
        return self.leave(x)


@model("points")
def neighbour_vector_attention(small):
    batch, points, d, k, layers = (1, 12, 8, 4, 1) if small else (8, 2048, 96, 16, 3)
    target = torch.randint(13, (batch, points))
    return (
        PointTransformer(d, k, layers),
        (torch.randn(batch, points, 3),),
        lambda out: F.cross_entropy(out.flatten(0, 1), target.flatten()),
    )


class HyperbolicGraph(nn.Module):
    """A graph attention net over an edge list, with degrees, softmax by index and a residual; edges sorted beforehand."""

    def __init__(self, nodes, d, layers, kinds):
        super().__init__()
        self.x = nn.Linear(100, d)
        self.edge = nn.Embedding(kinds, d)
        self.layers = nn.ModuleList(
            nn.ModuleDict(
                {
                    "m": nn.Sequential(nn.Linear(3 * d, d), nn.SiLU(), nn.Linear(d, d)),
                    "g": nn.Linear(d, 1),
                    "u": nn.Sequential(nn.Linear(2 * d, d), nn.SiLU(), nn.Linear(d, d)),
                    "n": nn.BatchNorm1d(d),
                }
            )
            for _ in range(layers)
        )
        self.out = nn.Linear(d, 10)

    def forward(self, x, source, target, kind):
        h, e = self.x(x), self.edge(kind)
        for layer in self.layers:
            m = layer["m"](torch.cat([h[source], h[target], e], -1))
            m = m * torch.sigmoid(layer["g"](m))
            total = torch.zeros_like(h).index_add(0, target, m)
            degree = torch.bincount(target, minlength=len(h)).clamp(min=1).to(h.dtype).unsqueeze(-1)
            h = h + layer["n"](layer["u"](torch.cat([h, total / degree], -1)))
        return self.out(h)


@model("graph")
def gated_message_passing(small):
    nodes, edges, d, layers = (20, 40, 8, 1) if small else (50_000, 400_000, 96, 3)
    target = torch.randint(10, (nodes,))
    inputs = (
        torch.randn(nodes, 100),
        torch.randint(nodes, (edges,)),
        torch.randint(nodes, (edges,)).sort().values,
        torch.randint(5, (edges,)),
    )
    return HyperbolicGraph(nodes, d, layers, 5), inputs, lambda out: F.cross_entropy(out, target)


class Separator(nn.Module):
    """Speakers apart: a learned filter bank, dilated depthwise convolutions, global layer norm by hand."""

    def __init__(self, n, b, h, blocks, repeats):
        super().__init__()
        self.enc, self.dec = nn.Conv1d(1, n, 16, 8, bias=False), nn.ConvTranspose1d(n, 1, 16, 8, bias=False)
        self.inn = nn.Conv1d(n, b, 1)
        self.tcn = nn.ModuleList()
        for i in range(blocks * repeats):
            d = 2 ** (i % blocks)
            self.tcn.append(
                nn.ModuleList(
                    [nn.Conv1d(b, h, 1), nn.PReLU(), nn.Conv1d(h, h, 3, padding=d, dilation=d, groups=h), nn.PReLU(), nn.Conv1d(h, b, 1)]
                )
            )
        self.gain = nn.ParameterList(nn.Parameter(torch.ones(1, h, 1)) for _ in range(2 * blocks * repeats))
        self.mask = nn.Conv1d(b, 2 * n, 1)

    def norm(self, x, i):
        mean = x.mean((1, 2), keepdim=True)
        var = ((x - mean) ** 2).mean((1, 2), keepdim=True)
        return self.gain[i] * (x - mean) / (var + 1e-8).sqrt()

    def forward(self, wave):
        w = F.relu(self.enc(wave))
        y = self.inn(w)
        for i, (a, p, c, q, o) in enumerate(self.tcn):
            z = self.norm(p(a(y)), 2 * i)
            y = y + o(self.norm(q(c(z)), 2 * i + 1))
        masks = self.mask(y).view(len(w), 2, -1, w.shape[-1]).sigmoid()
        return torch.cat([self.dec(w * masks[:, i]) for i in range(2)], 1)


@model("audio")
def dilated_speaker_separator(small):
    batch, length, n, b, h, blocks, repeats = (1, 800, 16, 8, 16, 2, 1) if small else (4, 32_000, 512, 128, 512, 8, 2)
    truth = torch.randn(batch, 2, length)

    def loss(out):
        e, t = out - out.mean(-1, keepdim=True), truth - truth.mean(-1, keepdim=True)
        s = (e * t).sum(-1, keepdim=True) * t / (t.square().sum(-1, keepdim=True) + 1e-8)
        return -10 * torch.log10(s.square().sum(-1) / ((e - s).square().sum(-1) + 1e-8) + 1e-8).mean()

    return Separator(n, b, h, blocks, repeats), (torch.randn(batch, 1, length),), loss


class TreePlanner(nn.Module):
    """Plans in a latent space: from one state all actions, kept best few, again; values backed up with max."""

    def __init__(self, d, actions, beam, depth):
        super().__init__()
        self.enter = nn.Sequential(nn.Linear(64, d), nn.LayerNorm(d), nn.ELU(), nn.Linear(d, d))
        self.act = nn.Embedding(actions, d)
        self.next = nn.Sequential(nn.Linear(2 * d, d), nn.LayerNorm(d), nn.ELU(), nn.Linear(d, d))
        self.reward, self.value = nn.Linear(d, 1), nn.Linear(d, 1)
        self.actions, self.beam, self.depth = actions, beam, depth

    def forward(self, x):
        b = len(x)
        z, total = self.enter(x).unsqueeze(1), torch.zeros(b, 1, device=x.device, dtype=x.dtype)
        for step in range(self.depth):
            n = z.shape[1]
            a = self.act.weight.expand(b, n, -1, -1)
            s = z.unsqueeze(2).expand(-1, -1, self.actions, -1)
            z2 = s + self.next(torch.cat([s, a], -1))
            total2 = total.unsqueeze(2) + 0.99**step * self.reward(z2).squeeze(-1)
            best = (total2 + self.value(z2).squeeze(-1)).flatten(1).topk(min(self.beam, n * self.actions), 1).indices
            z = z2.flatten(1, 2).gather(1, best[..., None].expand(-1, -1, z2.shape[-1]))
            total = total2.flatten(1).gather(1, best)
        return (total + self.value(z).squeeze(-1)).amax(1)


@model("planning")
def latent_beam_planner(small):
    batch, d, actions, beam, depth = (2, 16, 3, 4, 2) if small else (256, 256, 18, 32, 6)
    target = torch.randn(batch)
    return TreePlanner(d, actions, beam, depth), (torch.randn(batch, 64),), lambda out: F.smooth_l1_loss(out, target)
