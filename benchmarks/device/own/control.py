"""Reinforcement learning, filters, planning and batched linear algebra."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def mlp(*sizes, act=nn.Tanh):
    layers = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), act()]
    return nn.Sequential(*layers[:-1])


class ActorCritic(nn.Module):
    """The losses of proximal policy optimisation on one minibatch, with advantages computed backwards in a loop."""

    def __init__(self, seen, acts, width):
        super().__init__()
        self.pi, self.v = mlp(seen, width, width, acts), mlp(seen, width, width, 1)
        self.log_std = nn.Parameter(torch.zeros(acts))

    def forward(self, seen, action, old, reward, done):
        mean, value = self.pi(seen), self.v(seen).squeeze(-1)
        with torch.no_grad():
            advantage, last = torch.zeros_like(reward), 0
            for t in reversed(range(len(reward) - 1)):
                delta = reward[t] + 0.99 * value[t + 1] * (1 - done[t]) - value[t]
                last = delta + 0.99 * 0.95 * (1 - done[t]) * last
                advantage[t] = last
            returns = advantage + value
            advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        policy = torch.distributions.Normal(mean, self.log_std.exp(), validate_args=False)
        ratio = torch.exp(policy.log_prob(action).sum(-1) - old)
        surrogate = torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage)
        return -surrogate.mean() + 0.5 * F.mse_loss(value, returns) - 0.01 * policy.entropy().sum(-1).mean()


@model("reinforcement learning")
def ppo_losses(small):
    steps, envs, seen, acts = (4, 3, 5, 2) if small else (64, 2048, 48, 12)
    done = (torch.rand(steps, envs) < 0.02).float()
    inputs = torch.randn(steps, envs, seen), torch.randn(steps, envs, acts), torch.randn(steps, envs) - 12, torch.randn(steps, envs), done
    return ActorCritic(seen, acts, 256), inputs, lambda out: out


class DistributionalQ(nn.Module):
    """C51: the target distribution is projected back onto the atoms with index_add_."""

    def __init__(self, actions, atoms=51):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(4, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.Flatten(),
            nn.Linear(3136, 512), nn.ReLU(),
        )  # fmt: skip
        self.value, self.advantage = nn.Linear(512, atoms), nn.Linear(512, actions * atoms)
        self.atoms, self.actions = atoms, actions
        self.register_buffer("support", torch.linspace(-10, 10, atoms))

    def dist(self, x):
        h = self.body(x)
        v, a = self.value(h).view(-1, 1, self.atoms), self.advantage(h).view(-1, self.actions, self.atoms)
        return F.log_softmax(v + a - a.mean(1, keepdim=True), -1)

    def forward(self, now, action, reward, then):
        rows = torch.arange(len(now), device=now.device)
        with torch.no_grad():
            p = self.dist(then).exp()
            best = (p * self.support).sum(-1).argmax(-1)
            p = p[rows, best]
            place = ((reward[:, None] + 0.99 * self.support).clamp(-10, 10) + 10) / (20 / (self.atoms - 1))
            low, high = place.floor().long(), place.ceil().long().clamp(max=self.atoms - 1)
            offset = (rows * self.atoms)[:, None]
            m = torch.zeros_like(p)
            m.view(-1).index_add_(0, (low + offset).view(-1), (p * (high.to(p.dtype) - place + (low == high))).view(-1).to(m.dtype))
            m.view(-1).index_add_(0, (high + offset).view(-1), (p * (place - low)).view(-1).to(m.dtype))
        return -(m * self.dist(now)[rows, action]).sum(-1).mean()


@model("reinforcement learning")
def distributional_q(small):
    batch = 2 if small else 256
    frames = torch.rand(batch, 4, 84, 84), torch.rand(batch, 4, 84, 84)
    return DistributionalQ(18), (frames[0], torch.randint(18, (batch,)), torch.randn(batch), frames[1]), lambda out: out


class SoftActorCritic(nn.Module):
    def __init__(self, seen, acts, width):
        super().__init__()
        self.actor = mlp(seen, width, width, 2 * acts, act=nn.ReLU)
        self.q1, self.q2 = (mlp(seen + acts, width, width, 1, act=nn.ReLU) for _ in range(2))
        self.t1, self.t2 = (mlp(seen + acts, width, width, 1, act=nn.ReLU).requires_grad_(False) for _ in range(2))
        self.log_alpha = nn.Parameter(torch.zeros(()))

    def act(self, seen):
        mean, log_std = self.actor(seen).chunk(2, -1)
        std = log_std.clamp(-20, 2).exp()
        raw = mean + std * torch.randn_like(std)
        action = torch.tanh(raw)
        log_p = -0.5 * ((raw - mean) / std) ** 2 - std.log() - 0.5 * math.log(2 * math.pi) - torch.log(1 - action**2 + 1e-6)
        return action, log_p.sum(-1, keepdim=True)

    def forward(self, seen, action, reward, then):
        alpha = self.log_alpha.exp()
        with torch.no_grad():
            following, log_p = self.act(then)
            both = torch.cat([then, following], -1)
            target = reward[:, None] + 0.99 * (torch.min(self.t1(both), self.t2(both)) - alpha * log_p)
        both = torch.cat([seen, action], -1)
        critic = F.mse_loss(self.q1(both), target) + F.mse_loss(self.q2(both), target)
        mine, log_p = self.act(seen)
        both = torch.cat([seen, mine], -1)
        actor = (alpha.detach() * log_p - torch.min(self.q1(both), self.q2(both))).mean()
        return critic + actor - (self.log_alpha * (log_p.detach() - 6)).mean()


@model("reinforcement learning")
def soft_actor_critic(small):
    batch, seen, acts, width = (4, 5, 2, 16) if small else (4096, 111, 8, 512)
    inputs = torch.randn(batch, seen), torch.rand(batch, acts) * 2 - 1, torch.randn(batch), torch.randn(batch, seen)
    return SoftActorCritic(seen, acts, width), inputs, lambda out: out


class WorldModel(nn.Module):
    """A recurrent state space model: a GRU and categorical latents, step by step, straight through."""

    def __init__(self, seen, acts, width, groups, codes):
        super().__init__()
        self.groups, self.codes = groups, codes
        z = groups * codes
        self.enter = nn.Sequential(nn.Linear(z + acts, width), nn.LayerNorm(width), nn.SiLU())
        self.cell = nn.GRUCell(width, width)
        self.prior, self.posterior = nn.Linear(width, z), nn.Linear(width + seen, z)
        self.decode = mlp(width + z, width, seen, act=nn.SiLU)
        self.reward = mlp(width + z, width, 1, act=nn.SiLU)

    def forward(self, seen, acts):
        h = seen.new_zeros(seen.shape[1], self.cell.hidden_size)
        z = seen.new_zeros(seen.shape[1], self.groups * self.codes)
        states, divergence = [], 0
        for t in range(len(seen)):
            h = self.cell(self.enter(torch.cat([z, acts[t]], -1)), h)
            prior = self.prior(h).view(-1, self.groups, self.codes).log_softmax(-1)
            post = self.posterior(torch.cat([h, seen[t]], -1)).view(-1, self.groups, self.codes).log_softmax(-1)
            p = post.exp()
            hard = F.one_hot((post - torch.log(-torch.log(torch.rand_like(post).clamp(1e-4, 0.999)))).argmax(-1), self.codes).to(p.dtype)
            z = (hard + p - p.detach()).flatten(1)
            divergence = divergence + (p * (post - prior)).sum((1, 2)).mean()
            states.append(torch.cat([h, z], -1))
        states = torch.stack(states)
        return F.mse_loss(self.decode(states), seen) + divergence / len(seen) + self.reward(states).pow(2).mean()


@model("reinforcement learning")
def recurrent_world_model(small):
    steps, batch, seen, width, groups, codes = (3, 2, 6, 16, 2, 4) if small else (32, 64, 256, 512, 32, 32)
    inputs = torch.randn(steps, batch, seen), torch.randn(steps, batch, 6)
    return WorldModel(seen, 6, width, groups, codes), inputs, lambda out: out


def kalman_filter(observed, f, h, q, r):
    """A batch of filters over time, with the gain by a solve and Joseph's update."""
    batch, steps, _ = observed.shape
    n = f.shape[-1]
    x, p = observed.new_zeros(batch, n, 1), torch.eye(n, device=observed.device, dtype=observed.dtype).repeat(batch, 1, 1)
    one = torch.eye(n, device=observed.device, dtype=observed.dtype)
    means, likelihood = [], 0
    for t in range(steps):
        x, p = f @ x, f @ p @ f.mT + q
        innovation = observed[:, t, :, None] - h @ x
        s = h @ p @ h.mT + r
        gain = torch.linalg.solve(s, h @ p).mT
        x = x + gain @ innovation
        i_kh = one - gain @ h
        p = i_kh @ p @ i_kh.mT + gain @ r @ gain.mT
        likelihood = likelihood - 0.5 * (torch.logdet(s) + (innovation.mT @ torch.linalg.solve(s, innovation)).flatten())
        means.append(x.squeeze(-1))
    return torch.stack(means, 1), likelihood


@model("Kalman filter", half=False)
def batched_kalman_filter(small):
    batch, steps, n, m = (3, 3, 4, 2) if small else (2048, 12, 8, 4)
    f, h = torch.eye(n) + 0.05 * torch.randn(n, n), torch.randn(m, n)
    return kalman_filter, (torch.randn(batch, steps, m), f, h, 0.1 * torch.eye(n), torch.eye(m)), None


class LearnedKalman(nn.Module):
    """A net observes, a Kalman filter smooths, and gradients go through the Cholesky factors."""

    def __init__(self, seen, n, m, width):
        super().__init__()
        self.observe = mlp(seen, width, width, 2 * m, act=nn.ReLU)
        self.f = nn.Parameter(torch.eye(n) * 0.95)
        self.h = nn.Parameter(torch.randn(m, n) * 0.3)
        self.log_q = nn.Parameter(torch.zeros(n))

    def forward(self, frames):
        z, log_r = self.observe(frames).chunk(2, -1)
        batch, steps, _m = z.shape
        n = len(self.f)
        x, p = z.new_zeros(batch, n), torch.eye(n, device=z.device).expand(batch, n, n)
        xs = []
        for t in range(steps):
            x = x @ self.f.t()
            p = self.f @ p @ self.f.t() + torch.diag(self.log_q.exp())
            s = self.h @ p @ self.h.t() + torch.diag_embed(log_r[:, t].exp() + 1e-3)
            factor = torch.linalg.cholesky(s)
            gain = torch.cholesky_solve(self.h @ p, factor).transpose(1, 2)
            x = x + (gain @ (z[:, t] - x @ self.h.t()).unsqueeze(-1)).squeeze(-1)
            p = p - gain @ self.h @ p
            p = 0.5 * (p + p.transpose(1, 2))
            xs.append(x)
        return torch.stack(xs, 1)


@model("Kalman filter", half=False)
def learned_kalman_filter(small):
    batch, steps, seen = (2, 2, 6) if small else (256, 10, 512)
    target = torch.randn(batch, steps, 12)
    return LearnedKalman(seen, 12, 6, 256), (torch.randn(batch, steps, seen),), lambda out: F.mse_loss(out, target)


class GaussianProcess(nn.Module):
    """Exact marginal likelihood of several outputs, a kernel with a length per feature."""

    def __init__(self, features):
        super().__init__()
        self.log_length, self.log_scale, self.log_noise = (nn.Parameter(torch.zeros(n)) for n in (features, 1, 1))

    def forward(self, x, y):
        scaled = x / self.log_length.exp()
        square = torch.cdist(scaled, scaled, compute_mode="use_mm_for_euclid_dist").pow(2)
        k = self.log_scale.exp() * torch.exp(-0.5 * square) + (self.log_noise.exp() + 1e-2) * torch.eye(len(x), device=x.device)
        factor = torch.linalg.cholesky(k)
        alpha = torch.cholesky_solve(y, factor)
        return 0.5 * (y * alpha).sum() / y.shape[1] + factor.diagonal().log().sum() + 0.5 * len(x) * math.log(2 * math.pi)


@model("linear algebra", half=False)
def gaussian_process(small):
    points = 12 if small else 3000
    return GaussianProcess(10), (torch.randn(points, 10), torch.randn(points, 4)), lambda out: out / points


def closest_points(source, target, rounds=8):
    """Iterative closest points: neighbours, a weighted covariance, a rotation from its SVD."""
    for _ in range(rounds):
        distance, index = torch.cdist(source, target).min(-1)
        matched = torch.gather(target, 1, index[..., None].expand(-1, -1, 3))
        weight = torch.exp(-distance).unsqueeze(-1)
        weight = weight / weight.sum(1, keepdim=True)
        a, b = (weight * source).sum(1, keepdim=True), (weight * matched).sum(1, keepdim=True)
        covariance = (weight * (source - a)).transpose(1, 2) @ (matched - b)
        u, _, vh = torch.linalg.svd(covariance)
        sign = torch.det(u @ vh)
        fix = torch.diag_embed(torch.stack([torch.ones_like(sign), torch.ones_like(sign), sign], -1))
        source = (source - a) @ (u @ fix @ vh) + b
    return source


@model("linear algebra", half=False)
def iterative_closest_points(small):
    batch, points = (2, 12) if small else (8, 2048)
    return closest_points, (torch.randn(batch, points, 3), torch.randn(batch, points, 3), 2 if small else 4), None


def riccati_control(a, b, q, r, x, horizon):
    """Backward Riccati recursion for a batch of systems, then the closed-loop roll-out."""
    value, gains = q, []
    for _ in range(horizon):
        bt_v = b.mT @ value
        k = torch.linalg.solve(r + bt_v @ b, bt_v @ a)
        value = q + a.mT @ value @ (a - b @ k)
        gains.append(k)
    cost = 0
    for k in reversed(gains):
        u = -(k @ x)
        cost = cost + (x.mT @ q @ x + u.mT @ r @ u).flatten()
        x = a @ x + b @ u
    return cost, x


@model("linear algebra", half=False)
def riccati_planning(small):
    batch, n, m, horizon = (2, 4, 2, 2) if small else (1024, 12, 4, 15)
    a = torch.eye(n).repeat(batch, 1, 1) + 0.05 * torch.randn(batch, n, n)
    inputs = (
        a,
        torch.randn(batch, n, m),
        torch.eye(n).repeat(batch, 1, 1),
        torch.eye(m).repeat(batch, 1, 1),
        torch.randn(batch, n, 1),
        horizon,
    )
    return riccati_control, inputs, None


def particle_filter(particles, observed, noise=0.1):
    """Move, weigh, resample by searching the cumulative weights."""
    weight_of = []
    for z in observed:
        particles = particles + 0.1 * torch.sin(particles.roll(1, -1)) + noise * torch.randn_like(particles)
        log_w = -0.5 * ((particles - z[:, None]) ** 2).sum(-1) / 0.25
        w = torch.softmax(log_w, -1)
        weight_of.append(torch.logsumexp(log_w, -1))
        edges = torch.cumsum(w, -1)
        n = particles.shape[1]
        comb = (torch.arange(n, device=w.device) + torch.rand(len(w), 1, device=w.device)) / n
        index = torch.searchsorted(edges, comb).clamp(max=n - 1)
        particles = torch.take_along_dim(particles, index[..., None], 1)
    return particles.mean(1), torch.stack(weight_of)


@model("Kalman filter", half=False)
def particle_filter_resampled(small):
    batch, count, steps = (2, 8, 2) if small else (64, 4096, 12)
    return particle_filter, (torch.randn(batch, count, 4), torch.randn(steps, batch, 4)), None
