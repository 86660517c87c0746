"""Skies: stars pulled by all, fields on a staggered grid, motions weighed by models, modes by subspaces, prices by random variance."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


@model("physics", half=False)
def stars_pulled_by_all(small):
    """Stars under each other's gravity, softened: leapfrog steps, the energy after each."""
    n, steps = (12, 2) if small else (8192, 6)
    dt, soft = 1e-3, 1e-2

    def pull(x, mass):
        apart = x.unsqueeze(0) - x.unsqueeze(1)
        inverse = (apart.square().sum(-1) + soft**2).rsqrt()
        return torch.einsum("ij,ijk->ik", inverse**3 * mass, apart), -0.5 * (mass.outer(mass) * inverse).sum() + 0.5 * (
            mass**2
        ).sum() / soft

    def simulate(x, v, mass):
        a, _ = pull(x, mass)
        energy = []
        for _ in range(steps):
            v = v + 0.5 * dt * a
            x = x + dt * v
            a, potential = pull(x, mass)
            v = v + 0.5 * dt * a
            energy.append(potential + 0.5 * (mass * v.square().sum(-1)).sum())
        return x, v, torch.stack(energy)

    return simulate, (torch.randn(n, 3), torch.randn(n, 3) * 0.1, torch.rand(n) / n), None


class Antenna(nn.Module):
    """Electric and magnetic fields on a staggered grid, half a step apart; what the glass is made of is to be learnt."""

    def __init__(self, n, steps):
        super().__init__()
        self.glass, self.steps = nn.Parameter(torch.zeros(n // 4, n // 2)), steps
        ramp = torch.linspace(0, 1, n // 10).flip(0) ** 3 * 0.3
        edge = torch.zeros(n)
        edge[: n // 10], edge[-(n // 10) :] = ramp, ramp.flip(0)
        self.register_buffer("damp", 1 / (1 + edge[:, None] + edge))

    def forward(self, source, k):
        n = self.damp.shape[0]
        e = 1 + 3 * torch.sigmoid(F.pad(self.glass, (n // 4, n - n // 4 - n // 2, n // 3, n - n // 3 - n // 4), value=-20.0))
        b = len(source)
        ez, hx, hy = (torch.zeros(b, n, n, device=e.device) for _ in range(3))
        seen = 0
        for t in range(self.steps):
            hx = (hx - 0.5 * F.pad(ez[:, :, 1:] - ez[:, :, :-1], (0, 1))) * self.damp
            hy = (hy + 0.5 * F.pad(ez[:, 1:] - ez[:, :-1], (0, 0, 0, 1))) * self.damp
            curl = F.pad(hy[:, 1:] - hy[:, :-1], (0, 0, 1, 0)) - F.pad(hx[:, :, 1:] - hx[:, :, :-1], (1, 0))
            ez = (ez + 0.5 * curl / e) * self.damp
            ez = ez + source * torch.sin(k * t).view(-1, 1, 1)
            seen = seen + ez[:, -n // 8, :].square()
        return seen / self.steps


@model("physics", half=False)
def fields_on_a_staggered_grid(small):
    b, n, steps = (1, 24, 3) if small else (4, 1024, 40)
    source = torch.zeros(b, n, n)
    source[:, n // 8, n // 4 : -n // 4] = 1.0
    goal = torch.softmax(-(torch.linspace(-4, 4, n) ** 2), 0)
    return Antenna(n, steps), (source, torch.rand(b) * 0.2 + 0.1), lambda out: -(F.normalize(out, p=1, dim=1).clamp_min(1e-12).log() * goal).sum(1).mean()  # fmt: skip


def weighed_motions(x, P, mu, z, Fs, Qs, H, R, move):
    """Many targets, each under several models of motion: states mixed, predicted and corrected per model, models weighed by how they fit."""
    eye = torch.eye(x.shape[-1], device=x.device)
    track = []
    for t in range(z.shape[1]):
        c = mu @ move
        share = mu.unsqueeze(-1) * move / c.unsqueeze(1)
        mixed = torch.einsum("bij,bid->bjd", share, x)
        gap = x.unsqueeze(2) - mixed.unsqueeze(1)
        spread = torch.einsum("bij,bijde->bjde", share, P.unsqueeze(2) + gap.unsqueeze(-1) * gap.unsqueeze(-2))
        x = (Fs @ mixed.unsqueeze(-1)).squeeze(-1)
        P = Fs @ spread @ Fs.mT + Qs
        S = H @ P @ H.mT + R
        y = z[:, t].unsqueeze(1) - x @ H.mT
        K = torch.linalg.solve(S, H @ P).mT
        L = torch.linalg.cholesky(S)
        w = torch.linalg.solve_triangular(L, y.unsqueeze(-1), upper=False).squeeze(-1)
        log = -0.5 * w.square().sum(-1) - L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
        x = x + (K @ y.unsqueeze(-1)).squeeze(-1)
        P = (eye - K @ H) @ P
        mu = torch.softmax(log + c.clamp_min(1e-12).log(), -1)
        track.append(torch.einsum("bm,bmd->bd", mu, x))
    return torch.stack(track, 1), mu


@model("Kalman filter", half=False, compiles=False)
def motions_weighed_by_models(small):
    b, m, steps = (3, 2, 2) if small else (4096, 3, 24)
    block = torch.eye(6)
    for i in range(4):
        block[i, i + 2] = 1.0
    turn = block.clone()
    turn[0, 4] = 0.5
    Fs = torch.stack([block, turn, block.mT])[:m]
    Qs = torch.eye(6) * torch.tensor([0.01, 0.1, 1.0])[:m].view(-1, 1, 1)
    H = torch.eye(6)[:2].contiguous()
    move = torch.full((m, m), 0.05) + torch.eye(m) * (1 - 0.05 * m)
    inputs = torch.randn(b, m, 6), torch.eye(6).repeat(b, m, 1, 1), torch.full((b, m), 1 / m), torch.randn(b, steps, 2) * 4, Fs, Qs, H, torch.eye(2) * 0.5, move  # fmt: skip
    return weighed_motions, inputs, None


@model("linear algebra", half=False, compiles=False)
def modes_by_subspace(small):
    """The slowest modes of many structures: inverse iteration on a subspace, each round made orthogonal, and the small problem solved."""
    b, n, k, rounds = (2, 10, 3, 1) if small else (24, 768, 24, 4)

    def modes(K, M, X):
        L = torch.linalg.cholesky(K)
        for _ in range(rounds):
            Y = torch.cholesky_solve(M.unsqueeze(-1) * X, L)
            Q, _ = torch.linalg.qr(Y)
            small_K, small_M = Q.mT @ K @ Q, Q.mT @ (M.unsqueeze(-1) * Q)
            half = torch.linalg.cholesky(small_M)
            left = torch.linalg.solve_triangular(half, small_K, upper=False)
            values, vectors = torch.linalg.eigh(torch.linalg.solve_triangular(half, left.mT, upper=False))
            X = Q @ torch.linalg.solve_triangular(half.mT, vectors, upper=True)
        rest = (K @ X - (M.unsqueeze(-1) * X) * values.unsqueeze(1)).norm(dim=1)
        return values.clamp_min(0).sqrt() / (2 * math.pi), X, rest

    A = torch.randn(b, n, n) / n**0.5
    return modes, (A @ A.mT + torch.eye(n), torch.rand(b, n) + 0.5, torch.randn(b, n, k)), None


class RandomVariance(nn.Module):
    """Prices whose variance is random too: paths in step, their drift and volatility small nets, options at many strikes off them."""

    def __init__(self, steps, wide):
        super().__init__()
        self.v0, self.rho = nn.Parameter(torch.tensor(-3.0)), nn.Parameter(torch.tensor(-0.5))
        self.nets = nn.ModuleList(
            nn.Sequential(nn.Linear(3, wide), nn.SiLU(), nn.Linear(wide, wide), nn.SiLU(), nn.Linear(wide, 1)) for _ in range(3)
        )
        self.steps = steps

    def forward(self, noise, strikes):
        h, rho = 1.0 / self.steps, torch.tanh(self.rho)
        s = torch.zeros(noise.shape[1], 1, device=noise.device, dtype=noise.dtype)
        v = F.softplus(self.v0).to(noise.dtype).expand_as(s)
        asian = 0
        for t, dw in enumerate(noise.unbind(0)):
            at = torch.cat([torch.full_like(s, t * h), s, v], 1)
            local, back, vol = (net(at) for net in self.nets)
            w1, w2 = dw.split(1, 1)
            spread = v.clamp_min(1e-6).sqrt() * F.softplus(local)
            s = s - 0.5 * spread**2 * h + spread * h**0.5 * w1
            v = F.relu(v + back * h + F.softplus(vol) * h**0.5 * (rho * w1 + (1 - rho**2).sqrt() * w2))
            asian = asian + s.exp() * h
        end = s.exp()
        return torch.stack([F.relu(end - strikes).mean(0), F.relu(strikes - end).mean(0), F.relu(asian - strikes).mean(0)])


@model("finance")
def prices_by_random_variance(small):
    paths, steps, wide, n = (16, 3, 8, 4) if small else (65_536, 24, 64, 32)
    market = torch.rand(3, n) * 0.2
    net = RandomVariance(steps, wide)
    return net, (torch.randn(steps, paths, 2), torch.linspace(0.6, 1.4, n)), lambda out: (out - market).square().mean()


class Filters(nn.Module):
    """One channel of the past is kept as a few polynomials of it: a linear recurrence that is fixed, and nets that read it."""

    def __init__(self, d, order, span):
        super().__init__()
        q = torch.arange(order).float()
        r = (2 * q + 1)[:, None] / span
        i, j = torch.meshgrid(q, q, indexing="ij")
        A = torch.where(i < j, -1.0, (-1.0) ** (i - j + 1)) * r
        self.register_buffer("A", torch.eye(order) + A)
        self.register_buffer("B", ((-1.0) ** q)[:, None] * r)
        self.u, self.hidden = nn.Linear(d, 1), nn.Linear(d + order, d)

    def forward(self, x):
        u = self.u(x).squeeze(-1)
        n = u.shape[1]
        power, impulse = self.A, [self.B]
        while len(impulse) * self.B.shape[1] < n:  # the impulse response, doubled until it is as long as the sequence
            have = torch.cat(impulse, 1)
            impulse = [have, power @ have]
            power = power @ power
            self_like = torch.cat(impulse, 1)
            impulse = [self_like]
            if self_like.shape[1] >= n:
                break
        kernel = impulse[0][:, :n].float()
        m = torch.fft.irfft(torch.fft.rfft(u.float(), 2 * n).unsqueeze(1) * torch.fft.rfft(kernel, 2 * n), 2 * n)[..., :n]
        return F.relu(self.hidden(torch.cat([x, m.mT.to(x.dtype)], -1)))


@model("state space")
def past_as_polynomials(small):
    b, n, d, order, layers, classes = (2, 8, 8, 4, 1, 3) if small else (64, 784, 256, 128, 4, 10)
    right = torch.randint(classes, (b,))

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.enter, self.layers = nn.Linear(1, d), nn.ModuleList(Filters(d, order, float(n)) for _ in range(layers))
            self.out = nn.Linear(d, classes)

        def forward(self, x):
            x = self.enter(x)
            for layer in self.layers:
                x = x + layer(x)
            return self.out(x[:, -1])

    return Net(), (torch.rand(b, n, 1),), lambda out: F.cross_entropy(out.float(), right)
