"""Steps of a policy, and states guessed from what was seen: losses over groups and quantiles, filters, a tape to write on."""

import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class SmallWriter(nn.Module):
    def __init__(self, words, d, heads, layers, longest):
        super().__init__()
        self.embed, self.pos = nn.Embedding(words, d), nn.Embedding(longest, d)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, 0.0, F.gelu, batch_first=True, norm_first=True)
        self.layers, self.norm = nn.ModuleList(copy.deepcopy(layer) for _ in range(layers)), nn.LayerNorm(d)

    def forward(self, ids):
        t = ids.shape[1]
        mask = torch.full((t, t), -math.inf, device=ids.device).triu(1).to(self.pos.weight.dtype)
        x = self.embed(ids) + self.pos.weight[:t]
        for layer in self.layers:
            x = layer(x, src_mask=mask, is_causal=True)
        return self.norm(x) @ self.embed.weight.t()


class GroupedPolicy(nn.Module):
    """A writer's step on answers that were scored: better or worse than the others to the same question, and not far from where it began."""

    def __init__(self, words, d, heads, layers, longest, group):
        super().__init__()
        self.policy = SmallWriter(words, d, heads, layers, longest)
        self.start, self.group = copy.deepcopy(self.policy).requires_grad_(False), group

    @staticmethod
    def chances(net, ids):
        logits = net(ids[:, :-1]).float()
        return logits.gather(-1, ids[:, 1:, None]).squeeze(-1) - logits.logsumexp(-1)

    def forward(self, ids, answered, before, score):
        now = self.chances(self.policy, ids)
        with torch.no_grad():
            first = self.chances(self.start, ids)
        score = score.view(-1, self.group)
        gain = ((score - score.mean(1, keepdim=True)) / (score.std(1, keepdim=True) + 1e-4)).view(-1, 1)
        ratio = torch.exp(now - before)
        taken = torch.minimum(ratio * gain, ratio.clamp(0.8, 1.2) * gain)
        drift = torch.exp(first - now) - (first - now) - 1
        weight = answered[:, 1:].float()
        return (((0.04 * drift - taken) * weight).sum(1) / weight.sum(1).clamp(min=1)).mean()


@model("reinforcement learning")
def answers_against_their_group(small):
    questions, group, length, words, d, heads, layers = (2, 2, 6, 30, 16, 2, 1) if small else (4, 6, 224, 12_000, 512, 8, 5)
    batch = questions * group
    inputs = (
        torch.randint(words, (batch, length)),
        torch.rand(batch, length) > 0.3,
        -torch.rand(batch, length - 1) * 5,
        torch.randn(batch),
    )
    return GroupedPolicy(words, d, heads, layers, length, group), inputs, lambda out: out


class QuantileNet(nn.Module):
    def __init__(self, width, size, actions, cosines=64):
        super().__init__()
        self.eyes = nn.Sequential(
            nn.Conv2d(4, width, 8, 4), nn.ReLU(), nn.Conv2d(width, 2 * width, 4, 2), nn.ReLU(), nn.Conv2d(2 * width, 2 * width, 3), nn.ReLU(), nn.Flatten()
        )  # fmt: skip
        flat = 2 * width * ((((size - 8) // 4 + 1) - 4) // 2 + 1 - 2) ** 2
        self.chance, self.value, self.better = nn.Linear(cosines, flat), self.head(flat, 1), self.head(flat, actions)
        self.register_buffer("number", torch.arange(1, cosines + 1) * math.pi)

    @staticmethod
    def head(a, b):
        return nn.Sequential(nn.Linear(a, 512), nn.ReLU(), nn.Linear(512, b))

    def forward(self, frames, tau):
        x = self.eyes(frames.to(self.number.dtype) / 255)
        x = x.unsqueeze(1) * F.relu(self.chance(torch.cos(tau.unsqueeze(-1).to(self.number.dtype) * self.number)))
        better = self.better(x)
        return self.value(x) + better - better.mean(-1, keepdim=True)


class QuantileStep(nn.Module):
    """What an action is worth, as quantiles asked for at random; the target net says what comes after, the online net which action."""

    def __init__(self, width, size, actions, ask, answer):
        super().__init__()
        self.online = QuantileNet(width, size, actions)
        self.target, self.ask, self.answer = copy.deepcopy(self.online).requires_grad_(False), ask, answer

    def forward(self, frames, action, reward, after, ended):
        b = len(frames)
        tau = torch.rand(b, self.ask, device=frames.device, dtype=reward.dtype)
        picks = action.view(-1, 1, 1).expand(-1, self.ask, 1)
        guess = self.online(frames, tau).gather(-1, picks).squeeze(-1)
        with torch.no_grad():
            tau2 = torch.rand(b, self.answer, device=frames.device, dtype=reward.dtype)
            best = self.online(after, tau2).mean(1).argmax(-1)
            later = self.target(after, tau2).gather(-1, best.view(-1, 1, 1).expand(-1, self.answer, 1)).squeeze(-1)
            goal = reward.unsqueeze(-1) + 0.97 * (~ended).unsqueeze(-1) * later
        gap = goal.unsqueeze(1) - guess.unsqueeze(2)
        huber = torch.where(gap.abs() <= 1, 0.5 * gap**2, gap.abs() - 0.5)
        return ((tau.unsqueeze(-1) - (gap.detach() < 0).to(gap.dtype)).abs() * huber).sum(1).mean()


@model("reinforcement learning")
def quantiles_asked_at_random(small):
    batch, width, size, ask, answer = (2, 4, 36, 3, 2) if small else (192, 32, 84, 32, 24)
    frames = [torch.randint(256, (batch, 4, size, size), dtype=torch.uint8) for _ in range(2)]
    inputs = (frames[0], torch.randint(6, (batch,)), torch.randn(batch), frames[1], torch.rand(batch) < 0.05)
    return QuantileStep(width, size, 6, ask, answer), inputs, lambda out: out


@model("Kalman filter", half=False)
def smoothed_both_ways(small):
    """Many tracks of place and speed: filtered forwards, then each guess corrected by what came later."""
    tracks, steps, n, m = (3, 3, 4, 2) if small else (6144, 7, 6, 3)

    def smooth(seen, move, look, shake, error):
        x, p = seen.new_zeros(len(seen), n, 1), torch.eye(n, device=seen.device).expand(len(seen), n, n) * 10
        filtered, ahead = [], []
        for z in seen.unbind(1):
            x, p = move @ x, move @ p @ move.mT + shake
            ahead.append((x, p))
            s = look @ p @ look.mT + error
            gain = torch.cholesky_solve(look @ p, torch.linalg.cholesky(s)).mT
            x = x + gain @ (z.unsqueeze(-1) - look @ x)
            keep = torch.eye(n, device=seen.device) - gain @ look
            p = keep @ p @ keep.mT + gain @ error @ gain.mT
            filtered.append((x, p))
        out = [filtered[-1]]
        for (x, p), (x1, p1) in zip(reversed(filtered[:-1]), reversed(ahead[1:])):
            back = torch.linalg.solve(p1, move @ p).mT
            later, spread = out[-1]
            out.append((x + back @ (later - x1), p + back @ (spread - p1) @ back.mT))
        return torch.cat([x for x, _ in out[::-1]], -1), torch.stack([p for _, p in out[::-1]], 1)

    move = torch.eye(n) + torch.diag(torch.full((n - m,), 0.1), m)
    inputs = (torch.randn(tracks, steps, m), move, torch.eye(m, n), torch.eye(n) * 0.01, torch.eye(m) * 0.5)
    return smooth, inputs, None


@model("linear algebra", half=False)
def ensemble_of_weathers(small):
    """Guesses of a chaotic ring, moved on by Runge and Kutta and pulled towards what a few stations saw."""
    runs, members, places, cycles, steps = (1, 6, 8, 2, 1) if small else (12, 96, 768, 2, 3)

    def slope(x):
        return (x.roll(-1, -1) - x.roll(2, -1)) * x.roll(1, -1) - x + 8

    def assimilate(x, seen):
        for z in seen.unbind(1):
            for _ in range(steps):
                k1 = slope(x)
                k2 = slope(x + 0.025 * k1)
                k3 = slope(x + 0.025 * k2)
                x = x + 0.05 / 6 * (k1 + 2 * k2 + 2 * k3 + slope(x + 0.05 * k3))
            mean = x.mean(1, keepdim=True)
            off = (x - mean) / math.sqrt(members - 1)
            there = off[..., ::4]
            s = there.mT @ there + torch.eye(there.shape[-1], device=x.device)
            noisy = z.unsqueeze(1) + torch.randn(len(x), members, z.shape[-1], device=x.device)
            pull = torch.linalg.solve(s, (noisy - x[..., ::4]).mT)
            x = mean + 1.02 * (x - mean) + (off.mT @ (there @ pull)).mT
        return x.mean(1), x.var(1)

    return assimilate, (torch.randn(runs, members, places), torch.randn(runs, cycles, places // 4)), None


class Tape(nn.Module):
    """A controller with a tape: it reads and writes where the content fits, moved along by a learnt shift, sharpened."""

    def __init__(self, enter, leave, d, rows, width):
        super().__init__()
        self.cell, self.rows, self.width = nn.LSTMCell(enter + width, d), rows, width
        self.heads = nn.ModuleList(nn.Linear(d, width + 6) for _ in range(2))
        self.write, self.out = nn.Linear(d, 2 * width), nn.Linear(d + width, leave)
        self.tape = nn.Parameter(torch.randn(rows, width) * 0.1)

    def address(self, head, h, tape, before):
        key, strength, gate, shift, sharp = head(h).split([self.width, 1, 1, 3, 1], -1)
        like = F.cosine_similarity(tape, torch.tanh(key).unsqueeze(1), dim=-1)
        by_content = (F.softplus(strength) * like).softmax(-1)
        gate = torch.sigmoid(gate)
        mixed = gate * by_content + (1 - gate) * before
        s = shift.softmax(-1)
        moved = mixed.roll(1, -1) * s[:, :1] + mixed * s[:, 1:2] + mixed.roll(-1, -1) * s[:, 2:]
        power = moved.clamp(min=1e-6) ** (1 + F.softplus(sharp))
        return power / power.sum(-1, keepdim=True)

    def forward(self, series):
        b = series.shape[1]
        tape = self.tape.expand(b, -1, -1)
        h = c = torch.zeros(b, self.cell.hidden_size, device=series.device, dtype=series.dtype)
        at = [F.one_hot(torch.zeros(b, dtype=torch.long, device=series.device), self.rows).to(series.dtype) for _ in self.heads]
        read, outs = tape.mean(1), []
        for x in series:
            h, c = self.cell(torch.cat([x, read.to(x.dtype)], -1), (h, c))
            at = [self.address(head, h, tape, where) for head, where in zip(self.heads, at)]
            erase, add = self.write(h).chunk(2, -1)
            there = at[1].unsqueeze(-1)
            tape = tape * (1 - there * torch.sigmoid(erase).unsqueeze(1)) + there * torch.tanh(add).unsqueeze(1)
            read = (at[0].unsqueeze(1) @ tape.to(at[0].dtype)).squeeze(1)
            outs.append(self.out(torch.cat([h, read.to(h.dtype)], -1)))
        return torch.stack(outs)


@model("sequence", compiles=False)
def tape_to_write_on(small):
    steps, batch, bits, d, rows, width = (3, 2, 3, 8, 5, 4) if small else (12, 256, 16, 384, 128, 40)
    target = (torch.rand(steps, batch, bits) > 0.5).float()
    return Tape(bits, bits, d, rows, width), (torch.rand(steps, batch, bits),), lambda out: F.binary_cross_entropy_with_logits(out, target)


class TreeCell(nn.Module):
    """Sentences as trees, from the leaves up, a level at a time: children are summed, each through its own gate."""

    def __init__(self, words, d, classes, levels):
        super().__init__()
        self.embed, self.iou, self.iou_h = nn.Embedding(words, d), nn.Linear(d, 3 * d), nn.Linear(d, 3 * d, bias=False)
        self.f, self.f_h, self.head, self.levels = nn.Linear(d, d), nn.Linear(d, d, bias=False), nn.Linear(d, classes), levels

    def forward(self, *levels):
        h = c = above = None
        scores = []
        for words, parent in zip(levels[::2], levels[1::2]):
            x = self.embed(words)
            iou = self.iou(x)
            kept = 0
            if above is not None:
                total = torch.zeros(len(x), h.shape[1], device=h.device, dtype=h.dtype).index_add(0, above, h)
                iou = iou + self.iou_h(total)
                forget = torch.sigmoid(self.f(x)[above] + self.f_h(h))
                kept = torch.zeros(len(x), c.shape[1], device=c.device, dtype=c.dtype).index_add(0, above, (forget * c).to(c.dtype))
            i, o, u = iou.chunk(3, -1)
            c = torch.sigmoid(i) * torch.tanh(u) + kept
            h = torch.sigmoid(o) * torch.tanh(c)
            scores.append(self.head(h))
            above = parent
        return torch.cat(scores)


@model("sequence")
def trees_from_the_leaves_up(small):
    leaves, words, d, levels = (8, 20, 8, 3) if small else (16_384, 20_000, 256, 7)
    sizes = [max(1, leaves // 2**i) for i in range(levels)]
    inputs = [part for n in sizes for part in (torch.randint(words, (n,)), torch.randint(max(1, n // 2), (n,)))]
    labels = torch.randint(5, (sum(sizes),))
    return TreeCell(words, d, 5, levels), tuple(inputs), lambda out: F.cross_entropy(out, labels)
