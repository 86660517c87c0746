"""Habits and guesses: carts balanced side by side, critics drawn by two, square roots of doubt, a matrix sketched, crowds parted by spectra."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class Carts(nn.Module):
    """Thousands of carts with a pole each, simulated where the policy is; then the advantages, and one loss over all that happened."""

    def __init__(self, wide, horizon):
        super().__init__()
        self.horizon = horizon
        self.pi = nn.Sequential(nn.Linear(4, wide), nn.Tanh(), nn.Linear(wide, wide), nn.Tanh(), nn.Linear(wide, 2))
        self.v = nn.Sequential(nn.Linear(4, wide), nn.Tanh(), nn.Linear(wide, wide), nn.Tanh(), nn.Linear(wide, 1))

    @staticmethod
    def move(s, action):
        x, dx, a, da = s.unbind(1)
        force = 20.0 * action.to(s.dtype) - 10.0
        cos, sin = torch.cos(a), torch.sin(a)
        push = (force + 0.05 * da**2 * sin) / 1.1
        dda = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos**2 / 1.1))
        ddx = push - 0.05 * dda * cos / 1.1
        new = torch.stack([x + 0.02 * dx, dx + 0.02 * ddx, a + 0.02 * da, da + 0.02 * dda], 1)
        return new, (new[:, 0].abs() > 2.4) | (new[:, 2].abs() > 0.21)

    def forward(self, s):
        states, actions, logs, ends = [], [], [], []
        with torch.no_grad():
            for _ in range(self.horizon):
                logits = self.pi(s).float()
                action = (logits - torch.log(-torch.log(torch.rand_like(logits).clamp(1e-6, 1 - 1e-6)))).argmax(1)
                states.append(s)
                actions.append(action)
                logs.append(logits.log_softmax(1).gather(1, action.unsqueeze(1)).squeeze(1))
                s, fell = self.move(s, action)
                ends.append(fell)
                s = torch.where(fell.unsqueeze(1), torch.rand_like(s) * 0.1 - 0.05, s)
        all_states, end = torch.stack([*states, s]), torch.stack(ends).float()
        value = self.v(all_states).squeeze(-1).float()
        with torch.no_grad():
            gain, later = [], torch.zeros_like(value[0])
            for t in range(self.horizon - 1, -1, -1):
                delta = 1.0 + 0.99 * value[t + 1] * (1 - end[t]) - value[t]
                later = delta + 0.99 * 0.95 * (1 - end[t]) * later
                gain.append(later)
            gain = torch.stack(gain[::-1])
            goal = gain + value[:-1]
            gain = (gain - gain.mean()) / (gain.std() + 1e-8)
        log = self.pi(all_states[:-1]).float().log_softmax(-1)
        ratio = torch.exp(log.gather(-1, torch.stack(actions).unsqueeze(-1)).squeeze(-1) - torch.stack(logs))
        taken = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain).mean()
        return 0.5 * (value[:-1] - goal).square().mean() - taken + 0.01 * (log.exp() * log).sum(-1).mean()


@model("reinforcement learning", compiles=False)
def carts_balanced_side_by_side(small):
    b, wide, horizon = (4, 8, 3) if small else (16_384, 256, 24)
    return Carts(wide, horizon), (torch.rand(b, 4) * 0.1 - 0.05,), lambda out: out


class ManyLinear(nn.Module):
    def __init__(self, n, a, b):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(n, a, b) / math.sqrt(a)), nn.Parameter(torch.zeros(n, 1, b))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class DrawnCritics(nn.Module):
    """Ten critics by one batched product; the goal is the lower of two drawn at random, and all ten learn it."""

    def __init__(self, states, actions, wide, critics):
        super().__init__()
        self.n = critics

        def q():
            return nn.ModuleList(
                [ManyLinear(critics, states + actions, wide), ManyLinear(critics, wide, wide), ManyLinear(critics, wide, 1)]
            )

        self.q, self.target = q(), q().requires_grad_(False)
        self.norms = nn.ModuleList(nn.LayerNorm(wide) for _ in range(2))
        self.pi = nn.Sequential(nn.Linear(states, wide), nn.ReLU(), nn.Linear(wide, wide), nn.ReLU(), nn.Linear(wide, 2 * actions))
        self.heat = nn.Parameter(torch.zeros(1))

    def values(self, nets, s, a):
        x = torch.cat([s, a.to(s.dtype)], 1).expand(self.n, -1, -1)
        for net, norm in zip(nets, self.norms):
            x = F.relu(norm(net(x)))
        return nets[-1](x).squeeze(-1).float()

    def act(self, s):
        mean, spread = self.pi(s).float().chunk(2, 1)
        normal = torch.distributions.Normal(mean, spread.clamp(-20, 2).exp(), validate_args=False)
        raw = normal.rsample()
        return torch.tanh(raw), (normal.log_prob(raw) - 2 * (math.log(2) - raw - F.softplus(-2 * raw))).sum(1)

    def forward(self, s, a, r, s2, ended):
        with torch.no_grad():
            if self.training:
                for slow, fast in zip(self.target.parameters(), self.q.parameters()):
                    slow.lerp_(fast, 0.005)
            a2, log2 = self.act(s2)
            two = torch.randperm(self.n, device=s.device)[:2]
            later = self.values(self.target, s2, a2)[two].amin(0) - self.heat.exp() * log2
            goal = r.float() + 0.99 * (1 - ended.float()) * later
        critic = F.mse_loss(self.values(self.q, s, a), goal.expand(self.n, -1))
        mine, log = self.act(s)
        actor = (self.heat.exp().detach() * log - self.values(self.q, s, mine).mean(0)).mean()
        return critic + actor - (self.heat * (log.detach() - a.shape[1])).mean()


@model("reinforcement learning")
def critics_drawn_by_two(small):
    b, states, actions, wide, critics = (4, 5, 2, 8, 3) if small else (1024, 67, 21, 512, 10)
    inputs = torch.randn(b, states), torch.rand(b, actions) * 2 - 1, torch.randn(b), torch.randn(b, states), (torch.rand(b) < 0.05).float()
    return DrawnCritics(states, actions, wide, critics), inputs, lambda out: out


@model("Kalman filter", half=False)
def doubt_as_square_roots(small):
    """Many tracks whose covariance is carried as its root: each prediction and each update is one triangle out of stacked rows."""
    tracks, steps, n, m = (3, 2, 4, 2) if small else (768, 6, 6, 3)

    def follow(seen, move, look, shake, error):
        b = len(seen)
        x = torch.zeros(b, n, 1, device=seen.device)
        root = torch.eye(n, device=seen.device).repeat(b, 1, 1) * 3
        shake, error = shake.expand(b, n, n), error.expand(b, m, m)
        fit = torch.zeros(b, device=seen.device)
        for z in seen.unbind(1):
            x = move @ x
            root = torch.linalg.qr(torch.cat([(move @ root).mT, shake.mT], 1), mode="r")[1].mT
            top = torch.cat([error.mT, torch.zeros(b, m, n, device=seen.device)], 2)
            low = torch.cat([(look @ root).mT, root.mT], 2)
            r = torch.linalg.qr(torch.cat([top, low], 1), mode="r")[1].mT
            inner, gain, root = r[:, :m, :m], r[:, m:, :m], r[:, m:, m:]
            gap = torch.linalg.solve_triangular(inner, z.unsqueeze(-1) - look @ x, upper=False)
            x = x + gain @ gap
            fit = fit + 0.5 * gap.square().sum((1, 2)) + inner.diagonal(dim1=1, dim2=2).abs().clamp_min(1e-9).log().sum(1)
        return x.squeeze(-1), root, fit

    move = torch.eye(n) + torch.diag(torch.full((n - m,), 0.1), m)
    return follow, (torch.randn(tracks, steps, m), move, torch.eye(m, n), torch.eye(n) * 0.1, torch.eye(m) * 0.7), None


@model("linear algebra", half=False)
def matrix_sketched(small):
    """The largest singular values of a tall matrix out of a few random mixtures of its columns."""
    rows, columns, rank, over, rounds = (24, 16, 3, 2, 1) if small else (32_768, 4096, 192, 64, 2)

    def sketch(a, start):
        a = a - a.mean(0)
        q, _ = torch.linalg.qr(a @ start)
        for _ in range(rounds):
            w, _ = torch.linalg.qr(a.t() @ q)
            q, _ = torch.linalg.qr(a @ w)
        small_one = q.t() @ a
        values, vectors = torch.linalg.eigh(small_one @ small_one.t())
        s = values.clamp_min(1e-12).sqrt().flip(0)[:rank]
        u = (q @ vectors.flip(1))[:, :rank]
        v = (small_one.t() @ vectors.flip(1))[:, :rank] / s
        sign = torch.sign(u.gather(0, u.abs().argmax(0, keepdim=True)))  # the largest entry of each is positive
        return u * sign, s, v * sign

    return sketch, (torch.randn(rows, columns), torch.randn(columns, rank + over)), None


@model("linear algebra", half=False)
def crowds_parted_by_spectra(small):
    """Points parted by the slowest vibrations of the net between near ones; then means that move to their points."""
    n, d, near, parts, rounds = (12, 3, 3, 2, 2) if small else (1024, 64, 16, 12, 10)

    def part(x):
        far = torch.cdist(x, x)
        value, index = far.topk(near + 1, largest=False)
        width = value[:, near // 2 + 1].clamp_min(1e-6)
        weight = torch.exp(-(value**2) / (width[:, None] * width[index]))
        net = torch.zeros_like(far).scatter_(1, index, weight)
        net = torch.maximum(net, net.t())
        net.fill_diagonal_(0.0)
        scale = net.sum(1).clamp_min(1e-6).rsqrt()
        _, vectors = torch.linalg.eigh(torch.eye(n, device=x.device) - scale[:, None] * net * scale)
        points = F.normalize(vectors[:, :parts], dim=1)
        centre = points[:: max(1, n // parts)][:parts].clone()
        for _ in range(rounds):
            mine = torch.cdist(points, centre).argmin(1)
            total = torch.zeros_like(centre).index_add_(0, mine, points)
            count = F.one_hot(mine, parts).sum(0)
            centre = torch.where(count[:, None] > 0, total / count.clamp_min(1)[:, None], centre)
        return mine, centre

    return part, (torch.randn(n, d),), None
