"""Rows compared with their like, options exercised early, agents that share a reward, fields that leap over each other."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class PeriodicEmbedding(nn.Module):
    def __init__(self, n, frequencies, d):
        super().__init__()
        self.coefficients = nn.Parameter(torch.randn(n, frequencies) * 0.05)
        self.weight, self.bias = nn.Parameter(torch.randn(n, 2 * frequencies, d) * 0.1), nn.Parameter(torch.zeros(n, d))

    def forward(self, x):
        v = 2 * math.pi * self.coefficients * x[..., None]
        v = torch.cat([torch.cos(v), torch.sin(v)], -1)
        return F.relu((v.unsqueeze(-2) @ self.weight).squeeze(-2) + self.bias)


class RowsLikeThis(nn.Module):
    """A table's row predicted with the help of its nearest rows: their labels, corrected by how they differ from it."""

    def __init__(self, columns, d, k, frequencies=24, each=12):
        super().__init__()
        self.num, self.k = PeriodicEmbedding(columns, frequencies, each), k
        self.enter = nn.Linear(columns * each, d)
        self.block0 = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2 * d, d))
        self.norm, self.K, self.label = nn.LayerNorm(d), nn.Linear(d, d), nn.Linear(1, d)
        self.T = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Dropout(0.1), nn.Linear(2 * d, d, bias=False))
        self.block1 = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.head = nn.Sequential(nn.LayerNorm(d), nn.ReLU(), nn.Linear(d, 1))

    def encode(self, x):
        x = self.enter(self.num(x).flatten(1))
        x = x + self.block0(x)
        return x, self.K(self.norm(x))

    def forward(self, x, candidates, labels):
        with torch.no_grad():
            keys = torch.cat([self.encode(part)[1] for part in candidates.split(8192)])
        x, k = self.encode(x)
        with torch.no_grad():
            distance = torch.cdist(k.float(), keys.float()) ** 2
            near = distance.topk(self.k, largest=False)[1]
        context = self.encode(candidates[near.flatten()])[1].view(len(x), self.k, -1)
        similarity = (
            -k.square().sum(-1, keepdim=True) + 2 * (k.unsqueeze(1) @ context.transpose(1, 2)).squeeze(1) - context.square().sum(-1)
        )
        weight = F.dropout(similarity.softmax(-1), 0.2, self.training)
        values = self.label(labels[near].unsqueeze(-1)) + self.T(k.unsqueeze(1) - context)
        x = x + (weight.unsqueeze(1) @ values.to(weight.dtype)).squeeze(1)
        return self.head(x + self.block1(x)).squeeze(-1)


@model("tabular")
def rows_like_this_one(small):
    b, n, columns, d, k = (3, 9, 3, 8, 2) if small else (512, 24_576, 24, 192, 48)
    y = torch.randn(b)
    return RowsLikeThis(columns, d, k), (torch.randn(b, columns), torch.randn(n, columns), torch.randn(n)), lambda out: F.mse_loss(out, y)


@model("finance", half=False, compiles=False)
def options_exercised_early(small):
    """American options on a stock with jumping variance: paths forward, then, date by date backwards, whether waiting is worth more."""
    contracts, paths, dates, substeps = (2, 16, 3, 1) if small else (24, 65_536, 12, 4)

    def price(spot, strike, kappa, theta, xi, rho):
        dt = 1.0 / (dates * substeps)
        s = spot[:, None].expand(-1, paths).log()
        v = theta[:, None].expand(-1, paths)
        seen = []
        for i in range(dates * substeps):
            z1, z2 = torch.randn(2, contracts, paths, device=spot.device)
            w = rho[:, None] * z1 + torch.sqrt(1 - rho[:, None] ** 2) * z2
            root = v.clamp(min=0).sqrt() * math.sqrt(dt)
            s = s + (0.03 - 0.5 * v.clamp(min=0)) * dt + root * z1
            v = v + kappa[:, None] * (theta[:, None] - v.clamp(min=0)) * dt + xi[:, None] * root * w
            if (i + 1) % substeps == 0:
                seen.append((s.exp(), v))
        discount = math.exp(-0.03 / dates)
        worth = (strike[:, None] - seen[-1][0]).clamp(min=0)
        for stock, var in reversed(seen[:-1]):
            worth = worth * discount
            now = (strike[:, None] - stock).clamp(min=0)
            m = stock / strike[:, None]
            basis = torch.stack([torch.ones_like(m), m, m**2, m**3, var, var * m, var**2], -1)
            weight = (now > 0).to(m.dtype).unsqueeze(-1)
            gram = (basis * weight).mT @ basis + 1e-3 * torch.eye(7, device=m.device)
            beta = torch.cholesky_solve((basis * weight).mT @ worth.unsqueeze(-1), torch.linalg.cholesky(gram))
            wait = (basis @ beta).squeeze(-1)
            worth = torch.where((now > wait) & (now > 0), now, worth)
        worth = worth * discount
        return worth.mean(1), worth.std(1) / math.sqrt(paths)

    one = torch.ones(contracts)
    inputs = (100 * one, torch.linspace(85, 115, contracts), 2 * one, 0.04 * one, 0.3 * one, -0.6 * one)
    return price, inputs, None


class AgentNet(nn.Module):
    def __init__(self, obs, hidden, actions):
        super().__init__()
        self.fc1, self.rnn, self.fc2 = nn.Linear(obs, hidden), nn.GRUCell(hidden, hidden), nn.Linear(hidden, actions)

    def forward(self, obs, h):
        h = self.rnn(F.relu(self.fc1(obs)), h)
        return self.fc2(h), h


class Mixer(nn.Module):
    """The team's worth from each agent's: weights that are never negative, made by nets that see the whole state."""

    def __init__(self, agents, state, embed):
        super().__init__()
        self.agents, self.embed = agents, embed
        self.w1 = nn.Sequential(nn.Linear(state, 2 * embed), nn.ReLU(), nn.Linear(2 * embed, agents * embed))
        self.w2 = nn.Sequential(nn.Linear(state, 2 * embed), nn.ReLU(), nn.Linear(2 * embed, embed))
        self.b1, self.v = nn.Linear(state, embed), nn.Sequential(nn.Linear(state, embed), nn.ReLU(), nn.Linear(embed, 1))

    def forward(self, q, states):
        shape = q.shape[:-1]
        q, s = q.reshape(-1, 1, self.agents), states.reshape(-1, states.shape[-1])
        w1 = torch.abs(self.w1(s)).view(-1, self.agents, self.embed)
        hidden = F.elu(torch.bmm(q.to(w1.dtype), w1) + self.b1(s).unsqueeze(1))
        y = torch.bmm(hidden.to(w1.dtype), torch.abs(self.w2(s)).unsqueeze(-1)) + self.v(s).unsqueeze(1)
        return y.view(*shape)


class MixedAgents(nn.Module):
    def __init__(self, agents, obs, state, hidden, actions, embed):
        super().__init__()
        self.agent, self.mixer = AgentNet(obs, hidden, actions), Mixer(agents, state, embed)
        self.target_agent, self.target_mixer = (
            AgentNet(obs, hidden, actions).requires_grad_(False),
            Mixer(agents, state, embed).requires_grad_(False),
        )
        self.hidden = hidden

    def unroll(self, net, obs):
        b, t, n, d = obs.shape
        h = torch.zeros(b * n, self.hidden, device=obs.device, dtype=obs.dtype)
        outs = []
        for i in range(t):
            q, h = net(obs[:, i].reshape(b * n, d), h)
            outs.append(q.view(b, n, -1))
        return torch.stack(outs, 1)

    def forward(self, obs, states, actions, allowed, reward, ended):
        q = self.unroll(self.agent, obs)
        chosen = q[:, :-1].gather(-1, actions[:, :-1].unsqueeze(-1)).squeeze(-1)
        with torch.no_grad():
            later = self.unroll(self.target_agent, obs)
            best = q.detach().masked_fill(~allowed, -1e4).argmax(-1, keepdim=True)
            later = later.gather(-1, best).squeeze(-1)
            worth = self.target_mixer(later, states)
            ret = [worth[:, -1]]
            for i in range(reward.shape[1] - 2, -1, -1):  # lambda returns, from the end
                ret.append(reward[:, i] + 0.99 * (1 - ended[:, i]) * (0.6 * ret[-1] + 0.4 * worth[:, i + 1]))
            goal = torch.stack(ret[:0:-1], 1)
        total = self.mixer(chosen, states[:, :-1])
        return ((total - goal) ** 2).mean()


@model("reinforcement learning")
def agents_mixed_by_the_state(small):
    b, t, n, obs, state, hidden, actions, embed = (2, 3, 2, 5, 7, 8, 4, 4) if small else (128, 24, 10, 160, 322, 128, 17, 64)
    inputs = (
        torch.randn(b, t, n, obs), torch.randn(b, t, state), torch.randint(actions, (b, t, n)), torch.rand(b, t, n, actions) > 0.2,
        torch.randn(b, t), (torch.rand(b, t) < 0.02).float(),
    )  # fmt: skip
    return MixedAgents(n, obs, state, hidden, actions, embed), inputs, lambda out: out


class WavesInGlass(nn.Module):
    """Light through a lens to be designed: electric and magnetic fields on staggered grids, leapfrog, an edge that swallows waves."""

    def __init__(self, size, pml, steps):
        super().__init__()
        self.design, self.steps = nn.Parameter(torch.randn(1, size // 2, size // 2) * 0.1), steps
        ramp = torch.zeros(size)
        ramp[:pml] = (torch.arange(pml, 0, -1) / pml) ** 2
        ramp[-pml:] = (torch.arange(1, pml + 1) / pml) ** 2
        self.register_buffer("loss_x", torch.exp(-0.8 * ramp).view(1, 1, -1))
        self.register_buffer("loss_y", torch.exp(-0.8 * ramp).view(1, -1, 1))
        self.at = size // 4

    def forward(self, phase):
        b = len(phase)
        blurred = F.avg_pool2d(self.design.unsqueeze(0), 5, 1, 2).squeeze(0)
        eps = 1 + 1.25 * torch.sigmoid(8 * blurred)
        pad = self.loss_x.shape[-1] // 4
        eps = F.pad(eps, (pad, pad, pad, pad), value=1.0)
        n = eps.shape[-1]
        ez = torch.zeros(b, n, n, device=phase.device, dtype=phase.dtype)
        hx, hy = torch.zeros_like(ez), torch.zeros_like(ez)
        line = torch.zeros(n, device=phase.device, dtype=phase.dtype)
        line[self.at] = 1.0
        total = 0
        for i in range(self.steps):
            hx = self.loss_y * (hx - 0.5 * (torch.roll(ez, -1, 1) - ez))
            hy = self.loss_x * (hy + 0.5 * (torch.roll(ez, -1, 2) - ez))
            curl = (hy - torch.roll(hy, 1, 2)) - (hx - torch.roll(hx, 1, 1))
            ez = self.loss_x * self.loss_y * (ez + 0.5 * curl / eps)
            ez = ez + (torch.sin(0.3 * i + phase) * math.exp(-(((i - 20) / 12) ** 2)))[:, None, None] * line
            total = total + ez[:, n // 2 - 4 : n // 2 + 4, -2 * self.at] ** 2
        return total.mean(1)


@model("physics")
def light_through_a_designed_lens(small):
    b, size, pml, steps = (1, 16, 2, 3) if small else (8, 512, 20, 40)
    return WavesInGlass(size, pml, steps), (torch.rand(b) * 6,), lambda out: -out.mean()
