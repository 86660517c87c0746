"""Choices: modest critics, landmarks filtered, long histories, fields weighed, and lists ranked."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class ModestCritics(nn.Module):
    """Learning from a fixed record: two critics and a policy; what the record never did is valued low, by a log-sum over sampled actions."""

    def __init__(self, states, actions, wide, samples, discount=0.99):
        super().__init__()

        def net(a, b):
            return nn.Sequential(
                nn.Linear(a, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, b)
            )

        self.policy, self.q = net(states, 2 * actions), nn.ModuleList(net(states + actions, 1) for _ in range(2))
        self.target = nn.ModuleList(net(states + actions, 1) for _ in range(2)).requires_grad_(False)
        self.alpha, self.actions, self.samples, self.discount = nn.Parameter(torch.zeros(())), actions, samples, discount

    def act(self, s, n):
        mean, spread = self.policy(s).float().chunk(2, -1)
        spread = spread.clamp(-5, 2).exp().unsqueeze(1)
        eps = torch.randn(len(s), n, self.actions, device=s.device)
        raw = mean.unsqueeze(1) + spread * eps
        log = (-0.5 * eps.square() - spread.log() - 0.5 * math.log(2 * math.pi) - 2 * (math.log(2) - raw - F.softplus(-2 * raw))).sum(-1)
        return torch.tanh(raw).to(s.dtype), log

    def value(self, nets, s, a):
        x = torch.cat([s.unsqueeze(1).expand(-1, a.shape[1], -1), a], -1)
        return torch.stack([q(x).squeeze(-1).float() for q in nets])

    def forward(self, s, a, r, s2, done):
        with torch.no_grad():
            a2, log2 = self.act(s2, 1)
            goal = r.float() + self.discount * (1 - done.float()) * (
                self.value(self.target, s2, a2).amin(0) - self.alpha.exp() * log2
            ).squeeze(1)
        q = self.value(self.q, s, a.unsqueeze(1)).squeeze(-1)
        td = (q - goal).square().mean(1).sum()
        rand = torch.rand(len(s), self.samples, self.actions, device=s.device).to(s.dtype) * 2 - 1
        now, log_now = self.act(s, self.samples)
        then, log_then = self.act(s2, self.samples)
        every = torch.cat([self.value(self.q, s, rand) + self.actions * math.log(2),
                           self.value(self.q, s, now.detach()) - log_now.detach(), self.value(self.q, s, then.detach()) - log_then.detach()], -1)  # fmt: skip
        modest = (every.logsumexp(-1) - q).mean(1).sum()
        pi = (self.alpha.exp().detach() * log_now[:, :1] - self.value(self.q, s, now[:, :1]).amin(0)).mean()
        temper = -(self.alpha * (log_now[:, 0].detach() - self.actions).mean())
        return td + 5.0 * modest + pi + temper


@model("reinforcement learning")
def critics_kept_modest(small):
    b, states, actions, wide, samples = (4, 5, 2, 8, 2) if small else (512, 111, 8, 512, 10)
    inputs = torch.randn(b, states), torch.rand(b, actions) * 2 - 1, torch.randn(b), torch.randn(b, states), (torch.rand(b) < 0.05).float()
    return ModestCritics(states, actions, wide, samples), inputs, lambda out: out


def landmarks_and_pose(mu, P, controls, ranges, bearings, which, noise):
    """Robots, each with a map of its own: a pose moved by odometry, and one landmark after another corrected, all robots side by side."""
    b, n = mu.shape
    rows, eye, R = torch.arange(b, device=mu.device), torch.eye(n, device=mu.device), torch.diag(noise)
    Q = torch.diag(torch.tensor([0.02, 0.02, 0.01], device=mu.device))
    for t in range(controls.shape[1]):
        v, w = controls[:, t].unbind(-1)
        heading = mu[:, 2]
        mu = torch.cat([torch.stack([mu[:, 0] + v * heading.cos(), mu[:, 1] + v * heading.sin(), heading + w], 1), mu[:, 3:]], 1)
        G = eye.repeat(b, 1, 1)
        G[:, 0, 2], G[:, 1, 2] = -v * heading.sin(), v * heading.cos()
        P = G @ P @ G.mT
        P[:, :3, :3] += Q
        for k in range(which.shape[2]):
            j = 3 + 2 * which[:, t, k]
            dx, dy = mu[rows, j] - mu[:, 0], mu[rows, j + 1] - mu[:, 1]
            d2 = (dx**2 + dy**2).clamp_min(1e-4)
            d = d2.sqrt()
            H = torch.zeros(b, 2, n, device=mu.device)
            H[:, 0, 0], H[:, 0, 1], H[:, 1, 0], H[:, 1, 1] = -dx / d, -dy / d, dy / d2, -dx / d2
            H[:, 1, 2] = -1.0
            H[rows, 0, j], H[rows, 0, j + 1], H[rows, 1, j], H[rows, 1, j + 1] = dx / d, dy / d, -dy / d2, dx / d2
            gap = torch.stack([ranges[:, t, k] - d, bearings[:, t, k] - (torch.atan2(dy, dx) - mu[:, 2])], 1)
            gap[:, 1] = torch.remainder(gap[:, 1] + math.pi, 2 * math.pi) - math.pi
            PH = P @ H.mT
            S = H @ PH + R
            det = S[:, 0, 0] * S[:, 1, 1] - S[:, 0, 1] * S[:, 1, 0]
            inverse = torch.stack([S[:, 1, 1], -S[:, 0, 1], -S[:, 1, 0], S[:, 0, 0]], 1).view(b, 2, 2) / det.view(b, 1, 1)
            K = PH @ inverse
            mu = mu + (K @ gap.unsqueeze(-1)).squeeze(-1)
            P = torch.baddbmm(P, K, PH.mT, alpha=-1)
            P = 0.5 * (P + P.mT)
    return mu, P


@model("Kalman filter", half=False, compiles=False)
def landmarks_filtered_with_the_pose(small):
    b, marks, steps, seen = (2, 3, 2, 1) if small else (128, 60, 10, 5)
    n = 3 + 2 * marks
    P = torch.eye(n).repeat(b, 1, 1)
    inputs = (torch.randn(b, n) * 5, P, torch.rand(b, steps, 2) * 0.2, torch.rand(b, steps, seen) * 8, torch.rand(b, steps, seen) * 6 - 3)
    return landmarks_and_pose, (*inputs, torch.randint(marks, (b, steps, seen)), torch.tensor([0.1, 0.02])), None


class LongHistory(nn.Module):
    """A user's whole history: random signs of each item, the few that agree with the candidate's most, and attention over those alone."""

    def __init__(self, items, d, bits, keep, wide):
        super().__init__()
        self.item, self.kind = nn.Embedding(items, d), nn.Embedding(1000, d // 2)
        self.register_buffer("planes", torch.randn(d + d // 2, bits))
        e = d + d // 2
        self.q, self.k, self.v = (nn.Linear(e, e) for _ in range(3))
        self.gap, self.keep = nn.Embedding(32, e), keep
        sizes = (3 * e, *wide)
        self.mlp = nn.Sequential(*(f for a, b in itertools.pairwise(sizes) for f in (nn.Linear(a, b), nn.PReLU(b))), nn.Linear(wide[-1], 1))

    def forward(self, items, kinds, age, target, target_kind):
        history = torch.cat([self.item(items), self.kind(kinds)], -1)
        asked = torch.cat([self.item(target), self.kind(target_kind)], -1)
        with torch.no_grad():
            mine, theirs = (asked @ self.planes) > 0, (history @ self.planes) > 0
            alike = (mine.unsqueeze(1) == theirs).sum(-1).masked_fill(items == 0, -1)
            at = alike.topk(self.keep, dim=1, sorted=False).indices
        near = torch.take_along_dim(history, at.unsqueeze(-1), 1) + self.gap(
            torch.bucketize(age.gather(1, at).float(), 2.0 ** torch.arange(31, device=age.device))
        )
        w = torch.einsum("be,bke->bk", self.q(asked), self.k(near)) / near.shape[-1] ** 0.5
        close = torch.einsum("bk,bke->be", w.softmax(-1).to(near.dtype), self.v(near).to(near.dtype))
        recent = history[:, -50:].mean(1)
        return self.mlp(torch.cat([asked, close, recent], -1)).squeeze(-1)


@model("recommender")
def long_history_by_its_signs(small):
    b, n, items, d, bits, keep, wide = (3, 60, 50, 8, 4, 3, (8,)) if small else (512, 1024, 1_000_000, 64, 64, 48, (512, 256))
    clicked = (torch.rand(b) < 0.3).float()
    inputs = (
        torch.randint(items, (b, n)),
        torch.randint(1000, (b, n)),
        torch.rand(b, n) * 1e6,
        torch.randint(items, (b,)),
        torch.randint(1000, (b,)),
    )
    return LongHistory(items, d, bits, keep, wide), inputs, lambda out: F.binary_cross_entropy_with_logits(out, clicked)


class FieldsWeighed(nn.Module):
    """Fields squeezed to a number each and weighed by the others, then every pair multiplied through a matrix of its own."""

    def __init__(self, cards, d, wide):
        super().__init__()
        self.tables, n = nn.ModuleList(nn.Embedding(c, d) for c in cards), len(cards)
        self.squeeze = nn.Sequential(nn.Linear(2 * n, n // 2), nn.ReLU(), nn.Linear(n // 2, n))
        one, two = torch.triu_indices(n, n, 1)
        self.register_buffer("one", one)
        self.register_buffer("two", two)
        self.W = nn.ParameterList(nn.Parameter(torch.randn(len(one), d, d) / d**0.5) for _ in range(2))
        sizes = (2 * len(one), *wide)
        self.mlp = nn.Sequential(
            *(f for a, b in itertools.pairwise(sizes) for f in (nn.Linear(a, b), nn.LayerNorm(b), nn.ReLU(), nn.Dropout(0.1))),
            nn.Linear(wide[-1], 1),
        )

    def forward(self, x):
        e = torch.stack([table(x[:, i]) for i, table in enumerate(self.tables)], 1)
        gain = torch.sigmoid(self.squeeze(torch.cat([e.mean(-1), e.amax(-1)], 1)))
        pairs = []
        for z, W in zip((e, e * gain.unsqueeze(-1)), self.W):
            left = torch.einsum("bpd,pde->bpe", z[:, self.one], W)
            pairs.append((left * z[:, self.two]).sum(-1))
        return self.mlp(torch.cat(pairs, 1)).squeeze(1)


@model("recommender")
def fields_weighed_then_paired(small):
    b, cards, d, wide = (4, (5, 7, 3, 4), 4, (8,)) if small else (4096, (200,) * 22 + (50_000,) * 8, 32, (512, 256))
    clicked = (torch.rand(b) < 0.2).float()
    return (
        FieldsWeighed(cards, d, wide),
        (torch.stack([torch.randint(c, (b,)) for c in cards], 1),),
        lambda out: F.binary_cross_entropy_with_logits(out, clicked),
    )


class ListsRanked(nn.Module):
    """All documents of a question scored in sight of each other; the loss sorts them softly, by a row of softmaxes for each rank."""

    def __init__(self, features, d, heads, layers):
        super().__init__()
        self.enter = nn.Sequential(nn.BatchNorm1d(features), nn.Linear(features, d), nn.ReLU(), nn.Linear(d, d))
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d) for _ in range(layers))
        self.ff = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d)) for _ in range(layers))
        self.heads, self.out = heads, nn.Linear(d, 1)

    def forward(self, x, there):
        log = torch.sign(x) * torch.log1p(x.abs())
        h = self.enter(log.flatten(0, 1)).unflatten(0, x.shape[:2])
        for qkv, ff in zip(self.qkv, self.ff):
            heads = [torch.softmax((q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~there.unsqueeze(1), -1e4), -1).to(v.dtype) @ v
                     for q, k, v in zip(*(z.chunk(self.heads, -1) for z in qkv(h).chunk(3, -1)))]  # fmt: skip
            h = h + torch.cat(heads, -1)
            h = h + ff(h)
        return self.out(h).squeeze(-1).float().masked_fill(~there, -30.0)


@model("retrieval")
def lists_ranked_by_a_soft_sort(small):
    b, n, features, d, heads, layers = (2, 6, 5, 8, 2, 1) if small else (128, 200, 136, 256, 4, 4)
    there = torch.arange(n) < torch.randint(n // 2, n + 1, (b, 1))
    grade = torch.randint(5, (b, n)) * there

    def loss(s):
        apart = (s.unsqueeze(2) - s.unsqueeze(1)).abs().sum(2)
        rank = torch.arange(n, 0, -1, device=s.device) * 2 - n - 1
        soft = ((rank[:, None] * s.unsqueeze(1) - apart.unsqueeze(1)) / 1.0).softmax(-1)
        gain, fall = 2.0**grade - 1, 1 / torch.log2(torch.arange(n, device=s.device) + 2.0)
        best = (gain.sort(1, descending=True).values * fall).sum(1).clamp_min(1e-6)
        return -(((soft @ gain.unsqueeze(-1)).squeeze(-1) * fall).sum(1) / best).mean()

    return ListsRanked(features, d, heads, layers), (torch.randn(b, n, features) * 10, there), loss
