"""Kites: scripts of a lab, tidied a little: one-letter names, shapes asked in place, `permute` and `view`, sizes at the top of each part."""

import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model

# ---- molecules: messages along bonds see the angle to the bond that they came by


class Envelope(nn.Module):
    def __init__(self, p=6):
        super().__init__()
        self.a, self.b, self.c, self.p = -(p + 1) * (p + 2) / 2, p * (p + 2), -p * (p + 1) / 2, p

    def forward(self, x):
        xp = x.pow(self.p - 1)
        return 1.0 / x + self.a * xp + self.b * xp * x + self.c * xp * x * x


class Bend(nn.Module):
    def __init__(self, h, small, n_r, n_a):
        super().__init__()
        self.rbf1, self.rbf2 = nn.Linear(n_r, 8, bias=False), nn.Linear(8, h, bias=False)
        self.sbf1, self.sbf2 = nn.Linear(n_r * n_a, 8, bias=False), nn.Linear(8, small, bias=False)
        self.kj, self.ji = nn.Linear(h, h), nn.Linear(h, h)
        self.down, self.up = nn.Linear(h, small, bias=False), nn.Linear(small, h, bias=False)
        self.before, self.skip = nn.ModuleList([nn.Linear(h, h) for _ in range(2)]), nn.Linear(h, h)
        self.after = nn.ModuleList([nn.Linear(h, h) for _ in range(4)])

    def forward(self, x, rbf, sbf, kj, ji):
        x_ji = F.silu(self.ji(x))
        x_kj = F.silu(self.kj(x)) * self.rbf2(self.rbf1(rbf))
        x_kj = F.silu(self.down(x_kj))
        t = x_kj[kj] * self.sbf2(self.sbf1(sbf))
        x_kj = torch.zeros(x.size(0), t.size(1), dtype=t.dtype, device=t.device).index_add_(0, ji, t)
        h = x_ji + F.silu(self.up(x_kj))
        h = h + F.silu(self.before[1](F.silu(self.before[0](h))))
        h = F.silu(self.skip(h)) + x
        for i in (0, 2):
            h = h + F.silu(self.after[i + 1](F.silu(self.after[i](h))))
        return h


class Angles(nn.Module):
    def __init__(self, n_mol, kinds, h, small, blocks, n_r=6, n_a=7, cut=5.0):
        super().__init__()
        self.n_mol, self.n_a, self.cut, self.env = n_mol, n_a, cut, Envelope()
        self.freq = nn.Parameter(torch.arange(1, n_r + 1).float() * math.pi)
        self.emb, self.rbf0, self.lin = nn.Embedding(kinds, h), nn.Linear(n_r, h), nn.Linear(3 * h, h)
        self.blocks = nn.ModuleList([Bend(h, small, n_r, n_a) for _ in range(blocks)])
        self.outs = nn.ModuleList([nn.ModuleList([nn.Linear(n_r, h, bias=False), nn.Linear(h, 2 * h), nn.Linear(2 * h, 2 * h), nn.Linear(2 * h, 1)]) for _ in range(blocks + 1)])  # fmt: skip

    def out(self, m, x, rbf, i, n):
        x = m[0](rbf) * x
        x = torch.zeros(n, x.size(1), dtype=x.dtype, device=x.device).index_add_(0, i, x)
        return m[3](F.silu(m[2](F.silu(m[1](x)))))

    def forward(self, z, pos, i, j, kj, ji, mol):
        v = pos[i] - pos[j]
        d = v.pow(2).sum(-1).add(1e-4).sqrt() / self.cut
        d = d.clamp(0.05, 1.0)
        e = self.env(d).unsqueeze(-1)
        rbf = e * (self.freq * d.unsqueeze(-1)).sin()
        a, b = v[ji], -v[kj]
        ang = torch.atan2(torch.cross(a, b, dim=-1).pow(2).sum(-1).add(1e-6).sqrt(), (a * b).sum(-1))
        m = torch.arange(self.n_a, device=pos.device)
        sbf = (rbf[kj].unsqueeze(-1) * (ang.unsqueeze(-1) * m).cos().unsqueeze(1)).view(ang.size(0), -1)
        sbf = sbf.to(pos.dtype)
        q = self.emb(z)
        x = F.silu(self.lin(torch.cat([q[i], q[j], F.silu(self.rbf0(rbf))], -1)))
        p = self.out(self.outs[0], x, rbf, i, z.size(0))
        for k, block in enumerate(self.blocks):
            x = block(x, rbf, sbf, kj, ji)
            p = p + self.out(self.outs[k + 1], x, rbf, i, z.size(0))
        return torch.zeros(self.n_mol, dtype=p.dtype, device=p.device).index_add_(0, mol, p.squeeze(-1))


@model("molecules")
def angles_between_bonds(small):
    n_mol, atoms, bonds, per, h, s, blocks = (2, 4, 10, 3, 8, 4, 1) if small else (64, 22, 6400 * 4, 9, 128, 64, 4)
    n = n_mol * atoms
    i, j = torch.randint(n, (bonds,)), torch.randint(n, (bonds,))
    ji, kj = torch.arange(bonds).repeat_interleave(per), torch.randint(bonds, (bonds * per,))
    mol = torch.arange(n_mol).repeat_interleave(atoms)
    y = torch.randn(n_mol)
    x = (torch.randint(20, (n,)), torch.randn(n, 3), i, j, kj, ji, mol)
    return Angles(n_mol, 20, h, s, blocks), x, lambda out: (out.float() - y).abs().mean()


# ---- audio: the first layer is band-pass filters; of each only its two edges are learnt


class EdgeFilters(nn.Module):
    def __init__(self, n, k, rate=16000):
        super().__init__()
        mel = np.linspace(2595 * np.log10(1 + 30 / 700), 2595 * np.log10(1 + (rate / 2 - 100) / 700), n + 1)
        hz = 700 * (10 ** (mel / 2595) - 1)
        self.low = nn.Parameter(torch.tensor(hz[:-1].tolist()).view(-1, 1))
        self.band = nn.Parameter(torch.tensor(np.diff(hz).tolist()).view(-1, 1))
        self.rate, self.k = rate, k
        t = torch.arange(-(k // 2), k // 2 + 1).float().view(1, -1)
        self.register_buffer("t", t / rate)
        self.register_buffer("w", 0.54 + 0.46 * torch.cos(math.pi * t / (k // 2)))

    def forward(self, x):
        lo = 30 + self.low.float().abs()
        hi = (lo + 50 + self.band.float().abs()).clamp(max=self.rate / 2)
        t = self.t.float()
        f = (2 * hi * torch.sinc(2 * hi * t) - 2 * lo * torch.sinc(2 * lo * t)) * self.w
        f = f / (2 * (hi - lo))
        return F.conv1d(x, f.unsqueeze(1).to(x.dtype))


class RawSpeakers(nn.Module):
    def __init__(self, n, k, c, fc, people, length):
        super().__init__()
        self.ln = nn.LayerNorm(length)
        self.first = EdgeFilters(n, k)
        self.convs = nn.ModuleList([nn.Conv1d(n, c, 5), nn.Conv1d(c, c, 5)])
        self.norms, l = nn.ModuleList(), (length - k + 1) // 3  # noqa: E741
        self.norms.append(nn.LayerNorm([n, l]))
        for _ in range(2):
            l = (l - 4) // 3  # noqa: E741
            self.norms.append(nn.LayerNorm([c, l]))
        self.mlp = nn.Sequential(
            *[m for a in ((c * l, fc), (fc, fc), (fc, fc)) for m in (nn.Linear(*a), nn.BatchNorm1d(a[1]), nn.LeakyReLU(0.2))]
        )
        self.out = nn.Linear(fc, people)

    def forward(self, x):
        x = self.ln(x).unsqueeze(1)
        x = F.leaky_relu(self.norms[0](F.max_pool1d(self.first(x).abs(), 3)), 0.2)
        for conv, norm in zip(self.convs, list(self.norms)[1:]):
            x = F.leaky_relu(norm(F.max_pool1d(conv(x), 3)), 0.2)
        return self.out(self.mlp(x.view(x.size(0), -1)))


@model("audio")
def filters_told_by_two_edges(small):
    b, length, n, k, c, fc, people = (3, 200, 4, 11, 4, 8, 3) if small else (128, 3200, 80, 251, 60, 2048, 462)
    who = torch.randint(people, (b,))
    return RawSpeakers(n, k, c, fc, people, length), (torch.randn(b, length),), lambda out: F.cross_entropy(out.float(), who)


# ---- state space: a memory that is corrected rather than added to; a chunk's corrections come from one triangle


class Corrected(nn.Module):
    def __init__(self, d, h, k, v, C):
        super().__init__()
        self.h, self.k, self.v, self.C = h, k, v, C
        self.q_, self.k_, self.v_, self.g_ = nn.Linear(d, h * k, bias=False), nn.Linear(d, h * k, bias=False), nn.Linear(d, h * v, bias=False), nn.Linear(d, h * v, bias=False)  # fmt: skip
        self.ab, self.o = nn.Linear(d, 2 * h), nn.Linear(h * v, d, bias=False)
        self.conv = nn.Conv1d(h * (2 * k + v), h * (2 * k + v), 4, groups=h * (2 * k + v), padding=3, bias=False)
        self.A, self.n = nn.Parameter(torch.rand(h) * 2), nn.LayerNorm(v)

    def forward(self, x):
        B, T, _ = x.shape
        C, N, h = self.C, x.shape[1] // self.C, self.h
        z = torch.cat([self.q_(x), self.k_(x), self.v_(x)], -1)
        z = F.silu(self.conv(z.transpose(1, 2))[..., :T].transpose(1, 2))
        q, k, v = z.split([h * self.k, h * self.k, h * self.v], -1)
        ch = lambda a: a.view(B, N, C, h, -1).permute(0, 3, 1, 2, 4).float()  # noqa: E731
        q, k, v = F.normalize(ch(q), dim=-1), F.normalize(ch(k), dim=-1), ch(v)
        a, b = self.ab(x).chunk(2, -1)
        g = ch(-self.A.exp() * F.softplus(a)).squeeze(-1).cumsum(-1)  # log decay within the chunk
        b = ch(b.sigmoid())
        low = torch.ones(C, C, dtype=torch.bool, device=x.device).tril()
        dec = (g.unsqueeze(-1) - g.unsqueeze(-2)).masked_fill(~low, -60.0).exp() * low
        L = ((b * k) @ k.transpose(-1, -2) * dec).tril(-1)
        eye = torch.eye(C, device=x.device)
        rhs = torch.cat([b * v, b * k * g.exp().unsqueeze(-1)], -1)
        u, w = torch.linalg.solve_triangular(L + eye, rhs, upper=False, unitriangular=True).split([self.v, self.k], -1)
        att = q @ k.transpose(-1, -2) * dec
        last = g[..., -1:]
        S, out = x.new_zeros(B, h, self.k, self.v, dtype=torch.float), []
        for i in range(N):
            new = u[:, :, i] - w[:, :, i] @ S
            o = (q[:, :, i] * g[:, :, i].exp().unsqueeze(-1)) @ S + att[:, :, i] @ new
            S = (
                S * last[:, :, i].exp().unsqueeze(-1)
                + (k[:, :, i] * (last[:, :, i] - g[:, :, i]).exp().unsqueeze(-1)).transpose(-1, -2) @ new
            )
            out.append(o)
        o = torch.stack(out, 2).permute(0, 2, 3, 1, 4).reshape(B, T, h, self.v).to(x.dtype)
        o = self.n(o).reshape(B, T, -1) * F.silu(self.g_(x))
        return self.o(o)


class CorrectedLM(nn.Module):
    def __init__(self, words, d, h, k, v, C, layers):
        super().__init__()
        self.e = nn.Embedding(words, d)
        self.m = nn.ModuleList([Corrected(d, h, k, v, C) for _ in range(layers)])
        self.f = nn.ModuleList([nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.SiLU(), nn.Linear(3 * d, d)) for _ in range(layers)])
        self.n, self.last = nn.ModuleList([nn.LayerNorm(d) for _ in range(layers)]), nn.LayerNorm(d)

    def forward(self, t):
        x = self.e(t)
        for m, f, n in zip(self.m, self.f, self.n):
            x = x + m(n(x))
            x = x + f(x)
        return F.linear(self.last(x), self.e.weight)


@model("state space")
def corrections_solved_by_triangles(small):
    b, T, words, d, h, k, v, C, layers = (2, 8, 20, 8, 2, 4, 4, 4, 1) if small else (4, 1024, 20000, 768, 6, 96, 128, 128, 3)
    y = torch.randint(words, (b * T,))
    return (
        CorrectedLM(words, d, h, k, v, C, layers),
        (torch.randint(words, (b, T)),),
        lambda o: F.cross_entropy(o.view(b * T, -1).float(), y),
    )


# ---- RL from pixels: frames shifted by chance, one encoder, two critics, a policy


class Pixels(nn.Module):
    def __init__(self, frames, c, feat, hid, act, size, pad=4):
        super().__init__()
        self.pad = pad
        self.enc = nn.Sequential(nn.Conv2d(frames, c, 3, 2), nn.ReLU(), *[m for _ in range(3) for m in (nn.Conv2d(c, c, 3), nn.ReLU())])
        s = (size - 3) // 2 + 1 - 6
        self.trunk = nn.ModuleList([nn.Sequential(nn.Linear(c * s * s, feat), nn.LayerNorm(feat), nn.Tanh()) for _ in range(3)])
        mk = lambda i, o: nn.Sequential(nn.Linear(i, hid), nn.ReLU(), nn.Linear(hid, hid), nn.ReLU(), nn.Linear(hid, o))  # noqa: E731
        self.q, self.qt, self.pi = (
            nn.ModuleList([mk(feat + act, 1) for _ in range(2)]),
            nn.ModuleList([mk(feat + act, 1) for _ in range(2)]),
            mk(feat, act),
        )
        for p in list(self.qt.parameters()) + list(self.trunk[1].parameters()):
            p.requires_grad = False

    def shift(self, x):
        n, h = x.size(0), x.size(2)
        x = F.pad(x, (self.pad,) * 4, "replicate")
        eps = 1.0 / (h + 2 * self.pad)
        r = torch.linspace(-1 + eps, 1 - eps, h + 2 * self.pad, device=x.device, dtype=x.dtype)[:h]
        r = r.unsqueeze(0).repeat(h, 1).unsqueeze(2)
        grid = torch.cat([r, r.transpose(1, 0)], 2).unsqueeze(0).repeat(n, 1, 1, 1)
        s = torch.randint(0, 2 * self.pad + 1, (n, 1, 1, 2), device=x.device).to(x.dtype) * 2.0 / (h + 2 * self.pad)
        return F.grid_sample(x, grid + s, padding_mode="zeros", align_corners=False)

    def see(self, x):
        x = self.enc(self.shift(x) / 255.0 - 0.5)
        return x.reshape(x.size(0), -1)

    def both(self, nets, h, a):
        ha = torch.cat([h, a], -1)
        return nets[0](ha).squeeze(-1), nets[1](ha).squeeze(-1)

    def forward(self, o, a, r, g, o2):
        h = self.see(o)
        with torch.no_grad():
            h2 = self.see(o2)
            mu = self.pi(self.trunk[2](h2)).tanh()
            a2 = (mu + (torch.randn_like(mu) * 0.2).clamp(-0.3, 0.3)).clamp(-1, 1)
            t = torch.min(*self.both(self.qt, self.trunk[1](h2), a2))
            y = r + g * t
        q1, q2 = self.both(self.q, self.trunk[0](h), a)
        lq = F.mse_loss(q1.float(), y.float()) + F.mse_loss(q2.float(), y.float())
        hd = h.detach()
        mu = self.pi(self.trunk[2](hd)).tanh()
        ap = (mu + (torch.randn_like(mu) * 0.2).clamp(-0.3, 0.3)).clamp(-1, 1)
        lp = -torch.min(*self.both(self.q, self.trunk[0](hd), ap)).mean()
        return lq, lp


@model("reinforcement learning")
def pixels_shifted_then_valued(small):
    b, f, c, feat, hid, act, size = (2, 3, 4, 4, 8, 2, 20) if small else (512, 9, 32, 50, 1024, 6, 84)
    x = (
        torch.rand(b, f, size, size) * 255,
        torch.rand(b, act) * 2 - 1,
        torch.rand(b),
        torch.full((b,), 0.97),
        torch.rand(b, f, size, size) * 255,
    )
    return Pixels(f, c, feat, hid, act, size), x, lambda o: o[0] + o[1]


# ---- cells: counts of genes, a latent and the batch that a cell came from; zeros by chance


class Genes(nn.Module):
    def __init__(self, genes, labs, h, z):
        super().__init__()
        bn = lambda i: nn.Sequential(nn.Linear(i, h), nn.BatchNorm1d(h, momentum=0.01, eps=0.001), nn.ReLU(), nn.Dropout(0.1))  # noqa: E731
        self.labs = labs
        self.enc, self.mu, self.lv = nn.Sequential(bn(genes + labs), bn(h)), nn.Linear(h, z), nn.Linear(h, z)
        self.dec = nn.Sequential(bn(z + labs), bn(h))
        self.scale, self.drop = nn.Linear(h, genes), nn.Linear(h, genes)
        self.r = nn.Parameter(torch.randn(labs, genes))

    def forward(self, x, lab):
        one = F.one_hot(lab, self.labs).to(x.dtype)
        lib = x.sum(1, keepdim=True)
        h = self.enc(torch.cat([torch.log1p(x), one], 1))
        mu, lv = self.mu(h).float(), self.lv(h).float()
        z = mu + torch.randn_like(mu) * (0.5 * lv).exp()
        h = self.dec(torch.cat([z.to(x.dtype), one], 1))
        m = F.softmax(self.scale(h).float(), -1) * lib
        pi, r, x = self.drop(h).float(), (one @ self.r).float().exp(), x.float()
        eps = 1e-8
        sp, lt = F.softplus(-pi), torch.log(r + m + eps)
        zero = F.softplus(-pi + r * (torch.log(r + eps) - lt)) - sp
        some = (
            -sp
            - pi
            + r * (torch.log(r + eps) - lt)
            + x * (torch.log(m + eps) - lt)
            + torch.lgamma(x + r)
            - torch.lgamma(r)
            - torch.lgamma(x + 1)
        )
        ll = torch.where(x < eps, zero, some)
        kl = 0.5 * (lv.exp() + mu * mu - 1 - lv).sum(1)
        return -ll.sum(1) + kl


@model("biology")
def counts_of_genes_explained(small):
    b, genes, labs, h, z = (4, 10, 2, 8, 3) if small else (1024, 16000, 12, 256, 20)
    x = (torch.rand(b, genes) * 4 - 2).clamp(min=0).round()
    return Genes(genes, labs, h, z), (x, torch.randint(labs, (b,))), lambda o: o.mean()


# ---- pictures: fine channels at full size, coarse ones at half, each telling the other


class Oct(nn.Module):
    def __init__(self, i, o, a_in=0.5, a_out=0.5, s=1, k=3):
        super().__init__()
        li, lo = int(a_in * i), int(a_out * o)
        self.s, p = s, k // 2
        mk = lambda x, y: nn.Conv2d(x, y, k, padding=p, bias=False) if x and y else None  # noqa: E731
        self.hh, self.hl, self.lh, self.ll = mk(i - li, o - lo), mk(i - li, lo), mk(li, o - lo), mk(li, lo)
        self.bh, self.bl = nn.BatchNorm2d(o - lo), nn.BatchNorm2d(lo) if lo else None

    def forward(self, h, l):  # noqa: E741
        if self.s == 2:
            h, l = F.avg_pool2d(h, 2), F.avg_pool2d(l, 2) if l is not None else None  # noqa: E741
        yh = self.hh(h)
        if self.lh is not None:
            yh = yh + F.interpolate(self.lh(l), scale_factor=2, mode="nearest")
        yl = None
        if self.hl is not None:
            yl = self.hl(F.avg_pool2d(h, 2))
            yl = self.bl(yl + self.ll(l) if self.ll is not None else yl)
        return self.bh(yh), yl


class OctBlock(nn.Module):
    def __init__(self, i, m, o, s=1, a_in=0.5, a_out=0.5):
        super().__init__()
        self.a, self.b, self.c = Oct(i, m, a_in, 0.5, k=1), Oct(m, m, 0.5, 0.5, s), Oct(m, o, 0.5, a_out, k=1)
        self.skip = Oct(i, o, a_in, a_out, s, k=1) if s > 1 or i != o or a_in != a_out else None

    def forward(self, h, l):  # noqa: E741
        r = lambda t: [F.relu(x) if x is not None else None for x in t]  # noqa: E731
        y = self.c(*r(self.b(*r(self.a(h, l)))))
        z = self.skip(h, l) if self.skip is not None else (h, l)
        return r([a + b if a is not None else None for a, b in zip(y, z)])


class OctNet(nn.Module):
    def __init__(self, w, depth, classes):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, w, 7, 2, 3, bias=False), nn.BatchNorm2d(w), nn.ReLU(True), nn.MaxPool2d(3, 2, 1))
        b, i = [], w
        for n, d in enumerate(depth):
            for j in range(d):
                last = n == len(depth) - 1 and j == d - 1
                b.append(OctBlock(i, w * 2**n, 4 * w * 2**n, 2 if j == 0 and n else 1, 0 if not b else 0.5, 0 if last else 0.5))
                i = 4 * w * 2**n
        self.blocks, self.fc = nn.ModuleList(b), nn.Linear(i, classes)

    def forward(self, x):
        h, l = self.stem(x), None  # noqa: E741
        for b in self.blocks:
            h, l = b(h, l)  # noqa: E741
        return self.fc(h.mean((2, 3)))


@model("vision backbone")
def coarse_and_fine_channels(small):
    b, size, w, depth, classes = (2, 64, 4, (1, 1), 5) if small else (32, 256, 48, (2, 3, 4, 2), 1000)
    y = torch.randint(classes, (b,))
    return OctNet(w, depth, classes), (torch.randn(b, 3, size, size),), lambda o: F.cross_entropy(o.float(), y, label_smoothing=0.1)


# ---- sequences: groups of cells with clocks of their own; slow ones sleep most of the time


class Clocks(nn.Module):
    def __init__(self, i, g, n, o):
        super().__init__()
        self.g, self.n = g, n
        self.x = nn.Linear(i, g * n)
        self.W = nn.ParameterList(
            [nn.Parameter(torch.randn((g - k) * n, n) / ((g - k) * n) ** 0.5) for k in range(g)]
        )  # from slower ones only
        self.out = nn.Linear(g * n, o)

    def forward(self, x):
        B, T, _ = x.size()
        u = self.x(x).unbind(1)
        h = [torch.zeros(B, self.n, device=x.device, dtype=u[0].dtype) for _ in range(self.g)]
        ys = []
        for t in range(T):
            old, now = list(h), u[t].chunk(self.g, 1)
            for k in range(self.g):
                if t % (2**k) == 0:
                    z = torch.cat(old[k:], 1) @ self.W[k]
                    h[k] = torch.tanh(z + now[k])
            ys.append(torch.cat(h, 1))
        return self.out(torch.stack(ys, 1))


@model("sequence", compiles=False)
def clocks_of_many_rates(small):
    b, T, i, g, n, o = (2, 5, 3, 3, 4, 3) if small else (256, 192, 64, 8, 128, 88)
    y = (torch.rand(b, T, o) < 0.1).float()
    return Clocks(i, g, n, o), (torch.randn(b, T, i),), lambda out: F.binary_cross_entropy_with_logits(out.float(), y)


# ---- tracking: corners found by the smaller eigenvalue, then followed from a small picture to a large one


def blur(x):
    k = torch.tensor([1.0, 4.0, 6.0, 4.0, 1.0], device=x.device) / 16
    c = x.size(1)
    x = F.conv2d(F.pad(x, (2, 2, 0, 0), mode="reflect"), k.view(1, 1, 1, 5).repeat(c, 1, 1, 1), groups=c)
    return F.conv2d(F.pad(x, (0, 0, 2, 2), mode="reflect"), k.view(1, 1, 5, 1).repeat(c, 1, 1, 1), groups=c)


def grads(x):
    s = torch.tensor([[-3.0, 0.0, 3.0], [-10.0, 0.0, 10.0], [-3.0, 0.0, 3.0]], device=x.device) / 32
    return F.conv2d(F.pad(x, (1, 1, 1, 1), mode="replicate"), torch.stack([s, s.t()]).unsqueeze(1))


def patches(x, p, r):
    # x: b c h w, p: b n 2 (x, y) -> b c n (2r+1)^2
    o = torch.arange(-r, r + 1, device=x.device).float()
    dy, dx = torch.meshgrid(o, o, indexing="ij")
    q = p.unsqueeze(2) + torch.stack([dx, dy], -1).view(1, 1, -1, 2)
    q = q * 2 / torch.tensor([x.size(3) - 1, x.size(2) - 1], device=x.device) - 1
    return F.grid_sample(x, q, align_corners=True, padding_mode="border")


@model("tracking", half=False, compiles=False)
def corners_followed_down_a_pyramid(small):
    b, t, h, w, n, r, levels, its = (1, 2, 32, 32, 4, 2, 2, 1) if small else (4, 4, 480, 640, 1024, 7, 4, 6)

    def follow(v):
        pyr = [v.view(-1, 1, v.size(2), v.size(3))]
        for _ in range(levels - 1):
            pyr.append(blur(pyr[-1])[:, :, ::2, ::2])
        pyr = [p.view(b, t, *p.shape[2:]) for p in pyr]
        g = grads(pyr[0][:, :1])
        m = blur(torch.stack([g[:, 0] ** 2, g[:, 0] * g[:, 1], g[:, 1] ** 2], 1))
        xx, xy, yy = m.unbind(1)
        e = (xx + yy) / 2 - ((xx - yy).pow(2) / 4 + xy * xy).sqrt()
        e = e * (e == F.max_pool2d(e.unsqueeze(1), 11, 1, 5).squeeze(1))
        s, at = e.view(b, -1).topk(n, 1)
        p = torch.stack([at % w, torch.div(at, w, rounding_mode="floor")], -1).float()
        track = [p]
        for f in range(t - 1):
            flow = torch.zeros_like(p)
            for k in reversed(range(levels)):
                sc = 2.0**k
                A, B = pyr[k][:, f : f + 1], pyr[k][:, f + 1 : f + 2]
                P = patches(torch.cat([A, grads(A)], 1), p / sc, r)
                I, gx, gy = P.unbind(1)  # noqa: E741
                a, bb, c = (gx * gx).sum(-1), (gx * gy).sum(-1), (gy * gy).sum(-1)
                det = a * c - bb * bb + 1e-6
                for _ in range(its):
                    J = patches(B, (p + flow) / sc, r).squeeze(1)
                    d = I - J
                    ex, ey = (d * gx).sum(-1), (d * gy).sum(-1)
                    step = torch.stack([(c * ex - bb * ey) / det, (a * ey - bb * ex) / det], -1)
                    flow = flow + step.clamp(-2, 2) * sc
            p = p + flow
            track.append(p)
        return torch.stack(track, 1), s

    return follow, (torch.rand(b, t, h, w),), None


# ---- points: voxels for the neighbourhood, the points themselves for detail


class PointVoxel(nn.Module):
    def __init__(self, i, o, R):
        super().__init__()
        self.R = R
        self.vox = nn.Sequential(nn.Conv3d(i, o, 3, padding=1), nn.BatchNorm3d(o, eps=1e-4), nn.LeakyReLU(0.1, True), nn.Conv3d(o, o, 3, padding=1), nn.BatchNorm3d(o, eps=1e-4), nn.LeakyReLU(0.1, True))  # fmt: skip
        self.pt = nn.Sequential(nn.Conv1d(i, o, 1), nn.BatchNorm1d(o), nn.ReLU(True))

    def forward(self, x, c):
        # x: b c n, c: b 3 n within 0..1
        B, C, R = x.size(0), x.size(1), self.R
        g = (c.float() * (R - 1)).clamp(0, R - 1 - 1e-3)
        i = g.round().long()
        i = (i[:, 0] * R + i[:, 1]) * R + i[:, 2]
        v = x.new_zeros(B, C, R**3).scatter_add_(2, i.unsqueeze(1).expand(-1, C, -1), x)
        cnt = x.new_zeros(B, R**3).scatter_add_(1, i, torch.ones_like(i, dtype=x.dtype))
        v = (v / cnt.clamp(min=1).unsqueeze(1)).view(B, C, R, R, R)
        v = self.vox(v).view(B, -1, R**3)
        lo = g.floor().long()
        fr = (g - lo).to(v.dtype)
        out = 0
        for dx in (0, 1):
            for dy in (0, 1):
                for dz in (0, 1):
                    wt = 1
                    for k, dd in enumerate((dx, dy, dz)):
                        wt = wt * (fr[:, k] if dd else 1 - fr[:, k])
                    j = ((lo[:, 0] + dx) * R + lo[:, 1] + dy) * R + lo[:, 2] + dz
                    out = out + v.gather(2, j.unsqueeze(1).expand(-1, v.size(1), -1)) * wt.unsqueeze(1)
        return out + self.pt(x)


class PointVoxelNet(nn.Module):
    def __init__(self, blocks, wide, classes):
        super().__init__()
        self.blocks, i, s = nn.ModuleList(), 6, 0
        for o, R in blocks:
            self.blocks.append(PointVoxel(i, o, R))
            i, s = o, s + o
        self.glob = nn.Sequential(nn.Conv1d(i, wide, 1), nn.BatchNorm1d(wide), nn.ReLU(True))
        self.head = nn.Sequential(
            nn.Conv1d(s + wide, wide, 1), nn.BatchNorm1d(wide), nn.ReLU(True), nn.Dropout(0.3), nn.Conv1d(wide, classes, 1)
        )

    def forward(self, x):
        c, f = x[:, :3], []
        for b in self.blocks:
            x = b(x, c)
            f.append(x)
        g = self.glob(x).max(-1, keepdim=True)[0].expand(-1, -1, x.size(-1))
        return self.head(torch.cat(f + [g], 1))


@model("rays and points")
def points_and_voxels_side_by_side(small):
    b, n, blocks, wide, classes = (
        (2, 12, ((4, 4), (4, 3)), 8, 3) if small else (8, 4096, ((64, 32), (64, 32), (128, 16), (256, 16)), 512, 13)
    )
    y = torch.randint(classes, (b, n))
    return PointVoxelNet(blocks, wide, classes), (torch.rand(b, 6, n),), lambda o: F.cross_entropy(o.float(), y)


# ---- long proteins: softmax attention by positive random features, linear in the length


class Features(nn.Module):
    def __init__(self, d, h, m):
        super().__init__()
        self.h, self.m = h, m
        self.qkv, self.o, self.n1, self.n2 = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))
        self.register_buffer("w", torch.randn(m, d // h))

    def phi(self, x, query):
        x = x * x.size(-1) ** -0.25
        p = (x @ self.w.t()).float()
        s = x.float().pow(2).sum(-1, keepdim=True) / 2
        top = p.amax(-1, keepdim=True) if query else p.amax((-1, -2), keepdim=True)
        return ((p - s - top).exp() + 1e-4) * self.m**-0.5

    def forward(self, x):
        B, L, D = x.size()
        q, k, v = self.qkv(self.n1(x)).view(B, L, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        q, k = self.phi(q, True).to(v.dtype), self.phi(k, False).to(v.dtype)
        kv = torch.einsum("bhlm,bhld->bhmd", k, v)
        z = 1 / torch.einsum("bhlm,bhm->bhl", q, k.sum(2).to(q.dtype)).clamp(min=1e-6)
        a = torch.einsum("bhlm,bhmd,bhl->bhld", q, kv, z)
        x = x + self.o(a.permute(0, 2, 1, 3).reshape(B, L, D))
        return x + self.ff(self.n2(x))


@model("proteins")
def residues_through_random_features(small):
    b, L, d, h, m, layers = (2, 6, 8, 2, 5, 1) if small else (2, 4096, 512, 8, 256, 6)
    y = torch.randint(25, (b * L,))
    net = nn.Sequential(nn.Embedding(25, d), *[Features(d, h, m) for _ in range(layers)], nn.LayerNorm(d), nn.Linear(d, 25))
    return net, (torch.randint(25, (b, L)),), lambda o: F.cross_entropy(o.view(-1, 25).float(), y)


# ---- series with gaps: noise taken out where nothing was seen, by attention in time and then between series


class TwoAxes(nn.Module):
    def __init__(self, c, side, emb, heads):
        super().__init__()
        mk = lambda: nn.TransformerEncoderLayer(c, heads, 64, 0.1, "gelu", batch_first=True)  # noqa: E731
        self.time, self.feat = mk(), mk()
        self.emb, self.cond = nn.Linear(emb, c), nn.Conv1d(side, 2 * c, 1)
        self.mid, self.out = nn.Conv1d(c, 2 * c, 1), nn.Conv1d(c, 2 * c, 1)

    def forward(self, x, side, e):
        B, C, K, L = x.shape
        y = x + self.emb(e).view(1, C, 1, 1)
        y = self.time(y.permute(0, 2, 3, 1).reshape(B * K, L, C).contiguous()).reshape(B, K, L, C)
        y = self.feat(y.permute(0, 2, 1, 3).reshape(B * L, K, C).contiguous()).reshape(B, L, K, C)
        y = self.mid(y.permute(0, 3, 2, 1).reshape(B, C, K * L)) + self.cond(side)
        g, f = y.chunk(2, 1)
        y = self.out(torch.sigmoid(g) * torch.tanh(f))
        r, s = y.reshape(B, 2 * C, K, L).chunk(2, 1)
        return (x + r) / math.sqrt(2.0), s


class FillGaps(nn.Module):
    def __init__(self, K, c, emb, heads, layers, steps):
        super().__init__()
        self.steps = steps
        beta = np.linspace(1e-4**0.5, 0.9**0.5, steps) ** 2  # fewer than it was trained with
        self.beta, self.bar = beta.tolist(), np.cumprod(1 - beta).tolist()
        self.register_buffer("table", torch.randn(steps, emb))
        self.name = nn.Embedding(K, 16)
        self.p1, self.p2, self.inp = nn.Linear(emb, emb), nn.Linear(emb, emb), nn.Conv1d(2, c, 1)
        self.blocks = nn.ModuleList([TwoAxes(c, 32 + 16 + 1, emb, heads) for _ in range(layers)])
        self.o1, self.o2 = nn.Conv1d(c, c, 1), nn.Conv1d(c, 1, 1)

    def eps(self, x, t, side):
        B, _, K, L = x.shape
        e = F.silu(self.p2(F.silu(self.p1(self.table[t]))))
        x = F.relu(self.inp(x.reshape(B, 2, K * L))).reshape(B, -1, K, L)
        skip = 0
        for b in self.blocks:
            x, s = b(x, side, e)
            skip = skip + s
        y = F.relu(self.o1((skip / math.sqrt(len(self.blocks))).reshape(B, -1, K * L)))
        return self.o2(y).reshape(B, K, L)

    def forward(self, x, mask):
        B, K, L = x.shape
        pos = torch.arange(L, device=x.device).unsqueeze(1) / 10000 ** (torch.arange(0, 32, 2, device=x.device) / 32)
        pos = torch.cat([pos.sin(), pos.cos()], 1).to(x.dtype)
        who = self.name(torch.arange(K, device=x.device))
        side = torch.cat(
            [pos.t().view(1, 32, 1, L).expand(B, -1, K, -1), who.t().view(1, 16, K, 1).expand(B, -1, -1, L), mask.unsqueeze(1)], 1
        )
        side = side.reshape(B, -1, K * L)
        z, known = torch.randn_like(x), x * mask
        for t in reversed(range(self.steps)):
            e = self.eps(torch.stack([known, z * (1 - mask)], 1), t, side)
            b, a = self.beta[t], self.bar[t]
            z = (z - b / math.sqrt(1 - a) * e) / math.sqrt(1 - b)
            if t:
                z = z + math.sqrt(b * (1 - self.bar[t - 1]) / (1 - a)) * torch.randn_like(z)
        return known + z * (1 - mask)


@model("time series")
def gaps_filled_along_two_axes(small):
    b, K, L, c, emb, heads, layers, steps = (2, 3, 6, 8, 8, 2, 1, 2) if small else (16, 35, 48, 64, 128, 8, 4, 5)
    return FillGaps(K, c, emb, heads, layers, steps), (torch.randn(b, K, L), (torch.rand(b, K, L) < 0.8).float()), None
