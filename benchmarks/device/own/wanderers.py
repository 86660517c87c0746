"""Wanderers: walks and spectra on graphs, rays into surfaces, samplers that cool, policies of many, gated states, words from a store."""

import torch as th
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, stack_module_state, vmap

from own.listing import model

# graphs


class SpectralTeleport(nn.Module):
    """Predict first, then let predictions wander: ten steps over the edges, each with a chance to go back to where it began."""

    def __init__(self, i, h, o, K=10, alpha=0.1):
        super().__init__()
        self.lin1, self.lin2, self.K, self.alpha = nn.Linear(i, h), nn.Linear(h, o), K, alpha

    def forward(self, x, src, dst):
        n = x.shape[0]
        deg = th.zeros(n, device=x.device, dtype=x.dtype).index_add(0, dst, th.ones_like(dst, dtype=x.dtype)) + 1
        w = deg[src].rsqrt() * deg[dst].rsqrt()
        h = F.dropout(x, 0.5, self.training)
        h = self.lin2(F.dropout(F.relu(self.lin1(h)), 0.5, self.training))
        z = h
        for _ in range(self.K):
            msg = z[src] * F.dropout(w, 0.5, self.training)[:, None]
            out = z / deg[:, None]
            out = out.index_add(0, dst, msg.to(out.dtype))
            z = (1 - self.alpha) * out + self.alpha * h
        return z.log_softmax(-1)


@model("graph")
def guesses_that_wander(small):
    n, e, i, h, o = (20, 60, 8, 8, 3) if small else (160_000, 1_200_000, 256, 256, 48)
    y = th.randint(o, (n,))
    return SpectralTeleport(i, h, o), (th.randn(n, i), th.randint(n, (e,)), th.randint(n, (e,))), lambda out: F.nll_loss(out, y)


class PathsBetween(nn.Module):
    """What follows from a fact: messages from its head along relations, every layer's edges weighed by the question."""

    def __init__(self, rel, d, layers):
        super().__init__()
        self.query = nn.Embedding(rel, d)
        self.rel = nn.ModuleList(nn.Linear(d, rel * d) for _ in range(layers))
        self.lin = nn.ModuleList(nn.Linear(3 * d, d) for _ in range(layers))
        self.norm = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.out = nn.Sequential(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, 1))
        self.nrel, self.d = rel, d

    def forward(self, n, head, r, tails, src, et, dst):
        b = head.shape[0]
        q = self.query(r)
        start = th.zeros(b, n, self.d, device=q.device, dtype=q.dtype)
        start[th.arange(b, device=q.device), head] = q
        h = start
        for rel, lin, norm in zip(self.rel, self.lin, self.norm):
            er = rel(q).view(b, self.nrel, self.d)
            msg = h[:, src] * er[:, et]
            idx = dst[None, :, None].expand_as(msg)
            s = th.zeros_like(h).scatter_add(1, idx, msg.to(h.dtype))
            top = h.scatter_reduce(1, idx, msg.to(h.dtype), "amax", include_self=True)
            h = h + F.relu(norm(lin(th.cat([h, s + start, top], -1))))
        h = th.cat([h, q[:, None].expand(-1, n, -1)], -1)
        return self.out(h.gather(1, tails[..., None].expand(-1, -1, 2 * self.d))).squeeze(-1)


@model("knowledge graph")
def paths_from_a_head_to_tails(small):
    b, n, e, rel, d, layers, neg = (2, 10, 30, 3, 4, 2, 3) if small else (8, 6000, 60_000, 40, 32, 5, 32)
    inputs = n, th.randint(n, (b,)), th.randint(rel, (b,)), th.randint(n, (b, 1 + neg)), th.randint(n, (e,)), th.randint(rel, (e,)), th.randint(n, (e,))  # fmt: skip
    return PathsBetween(rel, d, layers), inputs, lambda out: F.cross_entropy(out, th.zeros(b, dtype=th.long))


@model("graph")
def walks_of_return_and_outward(small):
    """Random walks that prefer to stay near or to leave, from a padded table of neighbours; then skip-grams within a window."""
    n, deg, walkers, steps, d, window = (12, 3, 4, 5, 4, 2) if small else (1_000_000, 24, 32_768, 20, 64, 4)

    def walk(near, degree, emb, ctx, first):
        here, before = first, first
        path = [here]
        for _ in range(steps - 1):
            options = near[here]
            w = th.ones(options.shape, device=options.device)
            w = th.where(options == before[:, None], th.full_like(w, 4.0), w)
            known = (options[:, :, None] == near[before][:, None, :]).any(-1)
            w = th.where(known, w, w * 0.5)
            w = w * (th.arange(deg, device=w.device) < degree[here, None])
            pick = th.multinomial(w, 1)
            before, here = here, options.gather(1, pick).squeeze(1)
            path.append(here)
        path = th.stack(path, 1)
        grams = path.unfold(1, window + 1, 1).flatten(0, 1)
        c, o = emb[grams[:, :1]], ctx[grams[:, 1:]]
        good = F.logsigmoid((c * o).sum(-1))
        wrong = ctx[th.randint(n, (grams.shape[0], window), device=emb.device)]
        return -(good + F.logsigmoid(-(c * wrong).sum(-1))).mean(), path

    inputs = th.randint(n, (n, deg)), th.randint(1, deg + 1, (n,)), th.randn(n, d) * 0.1, th.randn(n, d) * 0.1, th.randint(n, (walkers,))
    return walk, inputs, None


# rays and points


class Cones(nn.Module):
    """Cones, not rays: each stretch of one is a Gaussian whose waves fade where it is wide; coarse stretches, then fine."""

    def __init__(self, w, depth, deg, n):
        super().__init__()
        self.deg, self.n = deg, n
        self.pts = nn.ModuleList(nn.Linear(6 * deg if i == 0 else w + (6 * deg if i == depth // 2 else 0), w) for i in range(depth))
        self.sigma, self.bottle, self.view, self.rgb = nn.Linear(w, 1), nn.Linear(w, w), nn.Linear(w + 27, w // 2), nn.Linear(w // 2, 3)

    def cast(self, t, o, d, radius):
        t0, t1 = t[:, :-1], t[:, 1:]
        mid, half = (t0 + t1) / 2, (t1 - t0) / 2
        denom = 3 * mid**2 + half**2
        at = mid + 2 * mid * half**2 / denom
        along = half**2 / 3 - 4 / 15 * half**4 * (12 * mid**2 - half**2) / denom**2
        across = radius**2 * (mid**2 / 4 + 5 / 12 * half**2 - 4 / 15 * half**4 / denom)
        dd = d**2
        null = 1 - dd / dd.sum(-1, keepdim=True).clamp_min(1e-6)
        return o[:, None] + at[..., None] * d[:, None], along[..., None] * dd[:, None] + across[..., None] * null[:, None]

    def field(self, mean, var, dirs):
        s = 2.0 ** th.arange(self.deg, device=mean.device, dtype=mean.dtype)
        m, v = (mean[..., None, :] * s[:, None]).flatten(-2), (var[..., None, :] * s[:, None] ** 2).flatten(-2)
        enc = th.exp(-0.5 * v) * m.sin(), th.exp(-0.5 * v) * m.cos()
        x = inp = th.cat(enc, -1)
        for i, lin in enumerate(self.pts):
            x = F.relu(lin(th.cat([x, inp], -1) if i == len(self.pts) // 2 else x))
        f = 2.0 ** th.arange(4, device=dirs.device, dtype=dirs.dtype)
        p = (dirs[:, None] * f[:, None]).flatten(1)
        dirs = th.cat([dirs, p.sin(), p.cos()], -1)[:, None].expand(-1, x.shape[1], -1)
        rgb = self.rgb(F.relu(self.view(th.cat([self.bottle(x), dirs], -1)))).sigmoid()
        return rgb, F.softplus(self.sigma(x) - 1).squeeze(-1)

    def forward(self, o, d, radius):
        t = th.linspace(2, 6, self.n + 1, device=o.device, dtype=o.dtype).expand(o.shape[0], -1)
        pics = []
        for level in range(2):
            rgb, sigma = self.field(*self.cast(t, o, d, radius), d)
            delta = (t[:, 1:] - t[:, :-1]) * d.norm(dim=-1, keepdim=True)
            a = sigma * delta
            trans = th.exp(-F.pad(a, (1, 0))[:, :-1].cumsum(-1))
            w = (1 - th.exp(-a)) * trans
            pics.append((w[..., None] * rgb).sum(1) + (1 - w.sum(1))[:, None])
            if level == 0:
                p = F.pad(w.detach().float(), (1, 1))
                p = F.max_pool1d(p[:, None], 2, 1)[:, 0]
                p = (p[:, 1:] + p[:, :-1]) / 2 + 0.01
                cdf = F.pad((p / p.sum(-1, keepdim=True)).cumsum(-1), (1, 0)).clamp_max(1.0)
                u = th.linspace(0, 1 - 1e-4, self.n + 1, device=o.device).expand(o.shape[0], -1).contiguous()
                hi = th.searchsorted(cdf, u, right=True).clamp(1, self.n)
                c0, c1 = cdf.gather(1, hi - 1), cdf.gather(1, hi)
                t0, t1 = t.gather(1, hi - 1), t.gather(1, hi)
                t = t0 + ((u - c0) / (c1 - c0).clamp_min(1e-5)).to(t0.dtype) * (t1 - t0)
        return th.stack(pics)


@model("rays and points")
def cones_whose_waves_fade(small):
    rays, w, depth, deg, n = (6, 8, 3, 2, 4) if small else (4096, 256, 8, 12, 96)
    see = th.rand(rays, 3)
    return Cones(w, depth, deg, n), (th.randn(rays, 3), F.normalize(th.randn(rays, 3), dim=-1), th.full((rays, 1), 1e-3)), lambda out: 0.1 * F.mse_loss(out[0], see) + F.mse_loss(out[1], see)  # fmt: skip


class CloudFolded(nn.Module):
    """Half a cloud of points completed: a code of it, a coarse cloud from that, and at each coarse point a small sheet is folded."""

    def __init__(self, c, code, coarse, side):
        super().__init__()
        self.e1, self.e2 = nn.Sequential(nn.Conv1d(3, c, 1), nn.ReLU(), nn.Conv1d(c, 2 * c, 1)), nn.Sequential(nn.Conv1d(4 * c, 4 * c, 1), nn.ReLU(), nn.Conv1d(4 * c, code, 1))  # fmt: skip
        self.dec = nn.Sequential(nn.Linear(code, code), nn.ReLU(), nn.Linear(code, code), nn.ReLU(), nn.Linear(code, 3 * coarse))
        self.fold = nn.Sequential(nn.Conv1d(code + 5, 4 * c, 1), nn.ReLU(), nn.Conv1d(4 * c, 4 * c, 1), nn.ReLU(), nn.Conv1d(4 * c, 3, 1))
        g = th.linspace(-0.05, 0.05, side)
        self.register_buffer("sheet", th.stack(th.meshgrid(g, g, indexing="ij"), 0).reshape(1, 2, -1))
        self.coarse = coarse

    def forward(self, x):
        b, s = x.shape[0], self.sheet.shape[-1]
        f = self.e1(x.transpose(1, 2))
        g = f.amax(2, keepdim=True)
        code = self.e2(th.cat([g.expand_as(f), f], 1)).amax(2)
        rough = self.dec(code).view(b, self.coarse, 3)
        centre = rough.repeat_interleave(s, 1).transpose(1, 2)
        z = th.cat([self.sheet.repeat(b, 1, self.coarse), centre, code[..., None].expand(-1, -1, centre.shape[2])], 1)
        return rough, (self.fold(z) + centre).transpose(1, 2)


@model("rays and points")
def cloud_completed_by_sheets(small):
    b, n, c, code, coarse, side = (2, 12, 4, 8, 5, 2) if small else (16, 2048, 128, 1024, 1024, 4)
    whole = th.rand(b, 2 * n, 3)

    def loss(out):
        total = 0
        for p in out:
            far = th.cdist(p.float(), whole)
            total = total + far.amin(1).mean() + far.amin(2).mean()
        return total

    return CloudFolded(c, code, coarse, side), (th.rand(b, n, 3),), loss


# diffusion


class Refined(nn.Module):
    def __init__(self, c, sigmas):
        super().__init__()
        self.i = nn.Conv2d(3, c, 3, 1, 1)
        self.emb, self.sigmas = nn.Embedding(sigmas, 6 * c), [10 ** (1.3 - 3.3 * i / (sigmas - 1)) for i in range(sigmas)]
        self.down = nn.ModuleList(nn.Conv2d(c, c, 3, 1, 2**k, dilation=2**k) for k in range(6))
        self.mid = nn.ModuleList(nn.Conv2d(c, c, 3, 1, 1) for _ in range(6))
        self.norm, self.o = nn.ModuleList(nn.InstanceNorm2d(c, affine=True) for _ in range(6)), nn.Conv2d(c, 3, 3, 1, 1)

    def score(self, x, k):
        h, e = self.i(x), self.emb(k)[:, :, None, None].chunk(6, 1)
        for a, b, n, g in zip(self.down, self.mid, self.norm, e):
            h = h + b(F.elu(a(F.elu(n(h) * (1 + g)))))
        return self.o(F.elu(h))

    def forward(self, x, mask, known):
        """Langevin steps, noise by noise cooler; where the picture is known, it is put back with as much noise."""
        for k, s in enumerate(self.sigmas):
            step = 2e-5 * (s / self.sigmas[-1]) ** 2
            idx = th.full((x.shape[0],), k, device=x.device)
            for _ in range(2):
                x = x * mask + (known + s * th.randn_like(x)) * (1 - mask)
                g = self.score(x, idx) / s
                x = x + step * g + (2 * step) ** 0.5 * th.randn_like(x)
        return x + self.sigmas[-1] ** 2 * g


@model("diffusion")
def holes_filled_while_cooling(small):
    b, n, c, sigmas = (1, 8, 4, 2) if small else (16, 64, 96, 10)
    mask = (th.rand(b, 1, n, n) > 0.5).float()
    return Refined(c, sigmas), (th.rand(b, 3, n, n), mask, th.rand(b, 3, n, n)), None


# reinforcement learning


@model("reinforcement learning", compiles=False)
def plans_kept_if_elite(small):
    """An ensemble of learnt dynamics under vmap; plans drawn, rolled out, and the best of them give the next draw."""
    nets, s, a, w, draws, horizon, elite, rounds = (2, 4, 2, 8, 6, 2, 2, 1) if small else (5, 24, 8, 256, 4000, 12, 100, 4)
    members = [nn.Sequential(nn.Linear(s + a, w), nn.SiLU(), nn.Linear(w, w), nn.SiLU(), nn.Linear(w, s + 1)) for _ in range(nets)]
    params, _ = stack_module_state(members)
    params = {k: v.detach() for k, v in params.items()}
    base = members[0]

    def plan(params, start):
        mean = th.zeros(horizon, a, device=start.device, dtype=start.dtype)
        std = th.ones_like(mean)
        step = vmap(lambda p, x: functional_call(base, p, (x,)))
        for _ in range(rounds):
            acts = (mean + std * th.randn(draws, horizon, a, device=start.device, dtype=start.dtype)).clamp(-1, 1)
            state, total = start.expand(nets, draws, s), th.zeros(nets, draws, device=start.device, dtype=start.dtype)
            for t in range(horizon):
                out = step(params, th.cat([state, acts[:, t].expand(nets, -1, -1)], -1))
                state, total = state + 0.1 * out[..., :-1], total + out[..., -1]
            value = total.mean(0) - total.std(0)
            best = acts[value.topk(elite).indices]
            mean, std = 0.1 * mean + 0.9 * best.mean(0), 0.1 * std + 0.9 * best.std(0)
        return mean[0], value.amax()

    return plan, (params, th.randn(s)), None


@model("reinforcement learning", compiles=False)
def populations_that_vary(small):
    """Evolution: pairs of nets that differ from one in opposite ways, each in its own cart on a hill, ranks for a gradient."""
    pairs, s, w, steps = (3, 2, 4, 3) if small else (4096, 2, 32, 40)

    def evolve(w1, w2, start):
        e1, e2 = th.randn(pairs, s, w, device=w1.device, dtype=w1.dtype), th.randn(pairs, w, 1, device=w1.device, dtype=w1.dtype)
        a, b = th.cat([w1 + 0.1 * e1, w1 - 0.1 * e1]), th.cat([w2 + 0.1 * e2, w2 - 0.1 * e2])
        x, v = start.expand(2 * pairs, -1).unbind(1)
        back = th.zeros_like(x)
        for _ in range(steps):
            o = th.stack([x, v * 20], -1)[:, None]
            f = th.tanh(th.bmm(th.tanh(th.bmm(o, a)), b)).view(-1)
            v = (v + 0.0015 * f - 0.0025 * th.cos(3 * x)).clamp(-0.07, 0.07)
            x = (x + v).clamp(-1.2, 0.6)
            v = th.where(x <= -1.2, th.zeros_like(v), v)
            back = back + (x > 0.45).to(x.dtype) - 0.1 * f * f
        rank = back.argsort().argsort().to(w1.dtype) / (2 * pairs - 1) - 0.5
        u = rank[:pairs] - rank[pairs:]
        return w1 + 0.02 * th.einsum("p,psw->sw", u, e1) / pairs, w2 + 0.02 * th.einsum("p,pwo->wo", u, e2) / pairs, back.mean()

    return evolve, (th.randn(s, w), th.randn(w, 1), th.tensor([[-0.5, 0.0]])), None


# state spaces, retrieval


class GatedStates(nn.Module):
    """Real gated recurrences: decays between nought and one by input, scanned by doubling; a short convolution before each."""

    def __init__(self, vocab, d, r, layers, c=8.0):
        super().__init__()
        self.emb, self.c = nn.Embedding(vocab, d), c
        self.ins, self.outs = nn.ModuleList(nn.Linear(d, 2 * r) for _ in range(layers)), nn.ModuleList(nn.Linear(r, d) for _ in range(layers))  # fmt: skip
        self.conv = nn.ModuleList(nn.Conv1d(r, r, 4, padding=3, groups=r) for _ in range(layers))
        self.gate = nn.ModuleList(nn.Linear(r, 2 * r) for _ in range(layers))
        self.lam = nn.Parameter(th.linspace(0.5, 4, r).repeat(layers, 1))
        self.mlp = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.GELU(), nn.Linear(3 * d, d)) for _ in range(layers))
        self.norm = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))

    @staticmethod
    def scan(a, x):
        k, T = 1, a.shape[1]
        while k < T:
            x = th.cat([x[:, :k], x[:, k:] + a[:, k:] * x[:, :-k]], 1)
            a = th.cat([a[:, :k], a[:, k:] * a[:, :-k]], 1)
            k *= 2
        return x

    def forward(self, ids):
        h = self.emb(ids)
        for i, lin in enumerate(self.ins):
            x, y = lin(self.norm[i](h)).chunk(2, -1)
            x = self.conv[i](x.mT)[..., : ids.shape[1]].mT
            g, r = self.gate[i](x).sigmoid().float().chunk(2, -1)
            loga = -self.c * r * F.softplus(self.lam[i]).float()
            s = self.scan(loga.exp(), (-th.expm1(2 * loga)).clamp_min(1e-6).sqrt() * (g * x.float()))
            h = h + self.outs[i](s.to(h.dtype) * F.gelu(y))
            h = h + self.mlp[i](h)
        return h @ self.emb.weight.t()


@model("state space")
def decays_gated_by_input(small):
    b, t, vocab, d, r, layers = (2, 8, 20, 8, 8, 1) if small else (4, 1024, 16_000, 768, 1024, 4)
    ids = th.randint(vocab, (b, t + 1))
    return GatedStates(vocab, d, r, layers), (ids[:, :-1],), lambda out: F.cross_entropy(out.flatten(0, 1).float(), ids[:, 1:].flatten())


@model("retrieval")
def next_words_from_a_store(small):
    """A language model's guess mixed with the words that followed the nearest states of a large store, searched by chunks."""
    b, d, keys, vocab, k, chunks = (3, 8, 40, 20, 4, 2) if small else (1024, 1024, 1_000_000, 32_000, 64, 8)

    def guess(state, head, store, words):
        p = (state @ head.t()).float().softmax(-1)
        near, who = [], []
        for i, part in enumerate(store.chunk(chunks)):
            d2 = part.square().sum(1) - 2 * state @ part.t()
            v, j = d2.topk(k, largest=False)
            near.append(v)
            who.append(j + i * (keys // chunks))
        v, pick = th.cat(near, 1).topk(k, largest=False)
        j = th.cat(who, 1).gather(1, pick)
        w = (-(v.float() - v.float().amin(1, keepdim=True)) / 10).softmax(-1)
        q = th.zeros_like(p).scatter_add_(1, words[j], w)
        return th.log(0.75 * p + 0.25 * q)

    return guess, (th.randn(b, d), th.randn(vocab, d) * 0.03, th.randn(keys, d), th.randint(vocab, (keys,))), None
