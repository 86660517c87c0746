"""Agents and optimisers: returns that are wished for, a world told in tokens, targets that change how they move, orthogonal updates."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class CausalBlock(nn.Module):
    def __init__(self, n_embd, n_head, n_ctx, drop=0.1):
        super().__init__()
        self.n_head = n_head
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.c_attn, self.c_proj = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.ReLU(), nn.Linear(4 * n_embd, n_embd), nn.Dropout(drop))
        self.attn_drop, self.resid_drop = nn.Dropout(drop), nn.Dropout(drop)
        self.register_buffer("tril", torch.tril(torch.ones(n_ctx, n_ctx, dtype=torch.bool)).view(1, 1, n_ctx, n_ctx))

    def forward(self, x, keep=None):
        B, T, C = x.size()
        q, k, v = (y.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for y in self.c_attn(self.ln_1(x)).split(C, dim=2))
        att = (q @ k.transpose(-2, -1)) * (C // self.n_head) ** -0.5
        mask = self.tril[:, :, :T, :T] if keep is None else self.tril[:, :, :T, :T] & keep[:, None, None, :]
        att = att.masked_fill(~mask, -1e4).softmax(dim=-1)
        y = (self.attn_drop(att) @ v).transpose(1, 2).reshape(B, T, C)
        x = x + self.resid_drop(self.c_proj(y))
        return x + self.mlp(self.ln_2(x))


class WishedReturns(nn.Module):
    """Control as a language: returns still to come, states and actions in one sequence; the next action is read off the state."""

    def __init__(self, state_dim, act_dim, d, heads, layers, K, max_ep_len):
        super().__init__()
        self.embed_timestep = nn.Embedding(max_ep_len, d)
        self.embed_return, self.embed_state, self.embed_action = nn.Linear(1, d), nn.Linear(state_dim, d), nn.Linear(act_dim, d)
        self.embed_ln = nn.LayerNorm(d)
        self.h = nn.ModuleList([CausalBlock(d, heads, 3 * K) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(d)
        self.predict_action = nn.Sequential(nn.Linear(d, act_dim), nn.Tanh())
        self.predict_state = nn.Linear(d, state_dim)

    def forward(self, states, actions, returns_to_go, timesteps, attention_mask):
        B, K = states.shape[:2]
        time = self.embed_timestep(timesteps)
        tokens = (self.embed_return(returns_to_go) + time, self.embed_state(states) + time, self.embed_action(actions) + time)
        x = torch.stack(tokens, dim=1).permute(0, 2, 1, 3).reshape(B, 3 * K, -1)
        x = self.embed_ln(x)
        keep = torch.stack((attention_mask,) * 3, dim=1).permute(0, 2, 1).reshape(B, 3 * K)
        for block in self.h:
            x = block(x, keep)
        x = self.ln_f(x).reshape(B, K, 3, -1).permute(0, 2, 1, 3)
        return self.predict_action(x[:, 1]), self.predict_state(x[:, 2])


@model("reinforcement learning")
def returns_wished_for(small):
    B, K, sd, ad, d, heads, layers = (2, 4, 5, 3, 16, 2, 1) if small else (96, 50, 39, 28, 384, 6, 8)
    states, actions = torch.randn(B, K, sd), torch.rand(B, K, ad) * 2 - 1
    mask = torch.arange(K).flip(0)[None, :] < torch.randint(K // 2, K + 1, (B, 1))
    inputs = states, actions, torch.randn(B, K, 1), torch.randint(1000, (B, K)), mask

    def loss(out):
        w = mask.unsqueeze(-1)
        return (((out[0] - actions) ** 2) * w).sum() / (w.sum() * ad)

    return WishedReturns(sd, ad, d, heads, layers, K, 1000), inputs, loss


class FrameCodes(nn.Module):
    """A small picture as 4 x 4 codes: the nearest of a table to each feature."""

    def __init__(self, channels, codes, dim):
        super().__init__()
        layers, c = [nn.Conv2d(3, channels, 3, 1, 1)], channels
        for _ in range(4):
            layers += [nn.GroupNorm(8, c), nn.SiLU(), nn.Conv2d(c, c, 3, 2, 1)]
        self.encoder = nn.Sequential(*layers, nn.GroupNorm(8, c), nn.SiLU(), nn.Conv2d(c, dim, 1))
        self.table = nn.Embedding(codes, dim)

    def forward(self, frames):
        z = self.encoder(frames)
        flat = z.permute(0, 2, 3, 1).reshape(-1, z.shape[1])
        e = self.table.weight
        d = (flat**2).sum(1, keepdim=True) + (e**2).sum(1) - 2 * flat @ e.t()
        return d.argmin(-1).view(frames.shape[0], -1)


class WorldInTokens(nn.Module):
    """A world model over codes: sixteen for what is seen and one for what is done, and what comes next of each."""

    def __init__(self, channels, codes, dim, actions, d, heads, layers, steps):
        super().__init__()
        self.tokenizer = FrameCodes(channels, codes, dim).requires_grad_(False)
        self.obs, self.act = nn.Embedding(codes, d), nn.Embedding(actions, d)
        self.pos = nn.Embedding(17 * steps, d)
        self.blocks = nn.ModuleList([CausalBlock(d, heads, 17 * steps) for _ in range(layers)])
        self.ln = nn.LayerNorm(d)
        self.heads = nn.ModuleDict({
            name: nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, n)) for name, n in (("next", codes), ("reward", 3), ("end", 2))
        })  # fmt: skip

    def forward(self, frames, actions):
        B, T = actions.shape
        with torch.no_grad():
            seen = self.tokenizer(frames.flatten(0, 1)).view(B, T, -1)
        x = torch.cat([self.obs(seen), self.act(actions).unsqueeze(2)], 2).flatten(1, 2)
        x = x + self.pos(torch.arange(x.shape[1], device=x.device))
        for block in self.blocks:
            x = block(x)
        x = self.ln(x)
        k = seen.shape[2] + 1
        after_action = x[:, k - 1 :: k]
        return self.heads["next"](x), self.heads["reward"](after_action), self.heads["end"](after_action), seen


@model("world model")
def world_told_in_tokens(small):
    B, T, channels, codes, dim, d, heads, layers = (2, 2, 8, 12, 6, 16, 2, 1) if small else (32, 20, 64, 512, 512, 384, 6, 10)
    reward, end = torch.randint(3, (B, T)), torch.randint(2, (B, T))

    def loss(out):
        logits, r, e, seen = out
        B, T = seen.shape[:2]
        goal = torch.cat([seen, seen.new_full((B, T, 1), -100)], 2)  # an action is chosen, not foreseen
        goal = goal.flatten(1)[:, 1:].flatten()
        ahead = F.cross_entropy(logits[:, :-1].flatten(0, 1), goal, ignore_index=-100)
        return ahead + F.cross_entropy(r.flatten(0, 1), reward.flatten()) + F.cross_entropy(e.flatten(0, 1), end.flatten())

    net = WorldInTokens(channels, codes, dim, 17, d, heads, layers, T)
    return net, (torch.rand(B, T, 3, 64, 64), torch.randint(17, (B, T))), loss


class ChangingTargets(nn.Module):
    """Interacting multiple models: targets that cruise, accelerate or turn, a Kalman filter for each way, mixed by how likely it is."""

    def __init__(self, turn=0.15, dt=1.0, noise=0.5):
        super().__init__()
        one, zero = torch.ones(()), torch.zeros(())
        cruise = torch.eye(6)
        cruise[0, 2] = cruise[1, 3] = dt
        cruise[4, 4] = cruise[5, 5] = 0
        speedup = torch.eye(6)
        speedup[0, 2] = speedup[1, 3] = speedup[2, 4] = speedup[3, 5] = dt
        speedup[0, 4] = speedup[1, 5] = 0.5 * dt**2
        w = one * turn
        s, c = torch.sin(w * dt), torch.cos(w * dt)
        bend = torch.stack([
            torch.stack([one, zero, s / w, -(1 - c) / w, zero, zero]), torch.stack([zero, one, (1 - c) / w, s / w, zero, zero]),
            torch.stack([zero, zero, c, -s, zero, zero]), torch.stack([zero, zero, s, c, zero, zero]),
            torch.zeros(6), torch.zeros(6)])  # fmt: skip
        self.register_buffer("F", torch.stack([cruise, speedup, bend]))
        self.register_buffer("Q", torch.stack([0.01 * torch.eye(6), 0.1 * torch.eye(6), 0.05 * torch.eye(6)]))
        self.register_buffer("H", torch.eye(6)[:2])
        self.register_buffer("R", noise * torch.eye(2))
        self.register_buffer("switch", 0.9 * torch.eye(3) + 0.05 * (1 - torch.eye(3)))

    def forward(self, z, x0, P0):
        T, n = z.shape[:2]
        x = x0.unsqueeze(1).expand(-1, 3, -1)
        P = P0.expand(n, 3, 6, 6)
        mu = x0.new_full((n, 3), 1 / 3)
        eye = torch.eye(6, device=z.device)
        track, ways = [], []
        for t in range(T):
            cbar = mu @ self.switch
            mix = self.switch * mu.unsqueeze(-1) / cbar.unsqueeze(1)  # from, to
            xm = torch.einsum("nij,nid->njd", mix, x)
            d = x.unsqueeze(2) - xm.unsqueeze(1)
            Pm = torch.einsum("nij,nijab->njab", mix, P.unsqueeze(2) + d.unsqueeze(-1) * d.unsqueeze(-2))
            x = torch.einsum("jab,njb->nja", self.F, xm)
            P = self.F @ Pm @ self.F.mT + self.Q
            y = z[t].unsqueeze(1) - x @ self.H.T
            S = self.H @ P @ self.H.T + self.R
            L = torch.linalg.cholesky(S)
            K = torch.cholesky_solve(self.H @ P, L).mT
            x = x + (K @ y.unsqueeze(-1)).squeeze(-1)
            A = eye - K @ self.H
            P = A @ P @ A.mT + K @ self.R @ K.mT  # Joseph's form
            white = torch.linalg.solve_triangular(L, y.unsqueeze(-1), upper=False).squeeze(-1)
            loglik = -0.5 * white.square().sum(-1) - L.diagonal(dim1=-2, dim2=-1).log().sum(-1)
            mu = torch.softmax(loglik + cbar.log(), -1)
            track.append((mu.unsqueeze(-1) * x).sum(1))
            ways.append(mu)
        return torch.stack(track), torch.stack(ways)


@model("Kalman filter", half=False, compiles=False)
def targets_that_change_their_ways(small):
    T, n = (3, 4) if small else (40, 8192)
    return ChangingTargets(), (torch.randn(T, n, 2).cumsum(0), torch.zeros(n, 6), 10 * torch.eye(6)), None


def newton_schulz(G, steps=5, eps=1e-7):
    a, b, c = (3.4445, -4.7750, 2.0315)
    X = G.bfloat16()
    tall = X.size(-2) > X.size(-1)
    if tall:
        X = X.mT
    X = X / (X.norm(dim=(-2, -1), keepdim=True) + eps)
    for _ in range(steps):
        A = X @ X.mT
        B = b * A + c * A @ A
        X = a * X + B @ X
    return X.mT if tall else X


class OrthogonalUpdates(nn.Module):
    """A step of an optimiser for a decoder's matrices: momentum, made orthogonal by five rounds of a polynomial; Adam's for the rest."""

    def __init__(self, momentum=0.95, lr=0.02, betas=(0.9, 0.95), decay=0.01):
        super().__init__()
        self.momentum, self.lr, self.betas, self.decay = momentum, lr, betas, decay

    def forward(self, matrices, grads, buffers, vector, vgrad, m, v):
        new, kept = [], []
        for p, g, buf in zip(matrices, grads, buffers):
            buf = buf.lerp(g, 1 - self.momentum)
            update = newton_schulz(g.lerp(buf, self.momentum))
            scale = max(1, p.size(-2) / p.size(-1)) ** 0.5
            new.append(p * (1 - self.lr * self.decay) - self.lr * scale * update.to(p.dtype))
            kept.append(buf)
        m, v = m.lerp(vgrad, 1 - self.betas[0]), v.lerp(vgrad.square(), 1 - self.betas[1])
        vector = vector - 3e-4 * m / (v.sqrt() + 1e-8)
        return new, kept, vector, m, v


@model("linear algebra")
def updates_made_orthogonal(small):
    layers, d, rest = (2, 8, 30) if small else (12, 768, 30_000_000)
    shapes = [(layers, 4, d, d), (layers, 2, 4 * d, d), (layers, d, 4 * d)]
    stacks = [[torch.randn(*shape) * 0.02 for shape in shapes] for _ in range(3)]
    return OrthogonalUpdates(), (*stacks, *(torch.rand(rest) for _ in range(4))), None
