"""Streams: speech as it comes, frames of a game, series; and serving in eight bits and in sixteen bytes."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class Transducer(nn.Module):
    """Speech to letters as it is heard. Training gives every cell of the lattice; inference is greedy, a frame at a time."""

    def __init__(self, mels, d, letters, blank=0):
        super().__init__()
        self.blank = blank
        self.sub = nn.Sequential(nn.Conv2d(1, 32, 3, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 3, 2, 1), nn.ReLU())
        self.encoder = nn.LSTM(32 * (mels // 4), d, 3, batch_first=True)
        self.embed, self.predictor = nn.Embedding(letters, d), nn.LSTMCell(d, d)
        self.enc_proj, self.pred_proj, self.joint = nn.Linear(d, d), nn.Linear(d, d, bias=False), nn.Linear(d, letters)

    def listen(self, mel):
        x = self.sub(mel.unsqueeze(1))
        return self.enc_proj(self.encoder(x.permute(0, 2, 1, 3).flatten(2))[0])

    def step(self, letter, state):
        h, c = self.predictor(self.embed(letter), state)
        return self.pred_proj(h), (h, c)

    def forward(self, mel, labels):
        heard = self.listen(mel)
        b = len(mel)
        letter = labels.new_full((b,), self.blank)
        guess, state = self.step(letter, None)
        if self.training:
            said = [guess]
            for u in range(labels.shape[1]):
                guess, state = self.step(labels[:, u], state)
                said.append(guess)
            grid = torch.tanh(heard.unsqueeze(2) + torch.stack(said, 1).unsqueeze(1))
            return F.log_softmax(self.joint(grid).float(), -1)
        out = []
        for t in range(heard.shape[1]):
            letter = self.joint(torch.tanh(heard[:, t] + guess)).argmax(-1)
            out.append(letter)
            fresh, (h, c) = self.step(letter, state)
            keep = (letter == self.blank).unsqueeze(-1)
            guess = torch.where(keep, guess, fresh)
            state = (torch.where(keep, state[0], h), torch.where(keep, state[1], c))
        return torch.stack(out, 1)


def lattice_loss(logp, labels, blank=0):
    """The forward variables row by row: along a row, a cumulative logsumexp takes the place of a loop over letters."""
    emit = logp[:, :, :-1].gather(-1, labels[:, None, :, None].expand(-1, logp.shape[1], -1, -1)).squeeze(-1)
    along = F.pad(emit.cumsum(-1), (1, 0))
    stay = logp[..., blank]
    alpha = along[:, 0]
    for t in range(1, logp.shape[1]):
        alpha = along[:, t] + torch.logcumsumexp(alpha + stay[:, t - 1] - along[:, t], -1)
    return -(alpha[:, -1] + stay[:, -1, -1]).mean()


@model("speech")
def transducer_lattice(small):
    batch, frames, mels, d, letters, said = (2, 16, 8, 16, 12, 3) if small else (16, 400, 80, 512, 512, 32)
    labels = torch.randint(1, letters, (batch, said))
    return Transducer(mels, d, letters), (torch.randn(batch, frames, mels), labels), lambda out: lattice_loss(out, labels)


def quantise_rows(x):
    scale = x.abs().amax(-1, keepdim=True).clamp(min=1e-5) / 127
    return torch.clamp(torch.round(x / scale), -128, 127), scale


class W8A8(nn.Module):
    """Eight bits on both sides, simulated: whole numbers carried in floats, scales per token and per output; a few columns stay exact."""

    def __init__(self, a, b, exact):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 128, (b, a), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(b) * 1e-3)
        self.register_buffer("smooth", torch.rand(a) + 0.5)
        self.register_buffer("exact", torch.randperm(a)[:exact])
        self.register_buffer("kept", torch.randn(exact, b) * 0.02)
        self.bias = nn.Parameter(torch.zeros(b))

    def forward(self, x):
        x = x / self.smooth
        outliers = x[..., self.exact]
        q, s = quantise_rows(x.index_fill(-1, self.exact, 0.0))
        return F.linear(q, self.weight.to(q.dtype)) * s * self.scale + outliers @ self.kept + self.bias


class W8A8Layer(nn.Module):
    def __init__(self, d, heads, exact):
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value, self.dense = (W8A8(d, d, exact) for _ in range(4))
        self.inter, self.output = W8A8(d, 4 * d, exact), W8A8(4 * d, d, exact)
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x, bias):
        q, k, v = (f(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.query, self.key, self.value))
        (q, sq), (k, sk) = quantise_rows(q), quantise_rows(k)
        scores = (q @ k.transpose(-1, -2)) * sq * sk.transpose(-1, -2) / math.sqrt(q.shape[-1]) + bias
        probs = torch.round(scores.softmax(-1) * 255) / 255
        x = self.ln1(x + self.dense((probs @ v).transpose(1, 2).flatten(2)))
        return self.ln2(x + self.output(F.gelu(self.inter(x))))


class W8A8Encoder(nn.Module):
    def __init__(self, d, heads, layers, exact):
        super().__init__()
        self.layers, self.pool = nn.ModuleList(W8A8Layer(d, heads, exact) for _ in range(layers)), nn.Linear(d, d)

    def forward(self, x, mask):
        bias = (1.0 - mask[:, None, None].to(x.dtype)) * -10000.0
        for layer in self.layers:
            x = layer(x, bias)
        return torch.tanh(self.pool(x[:, 0]))


@model("quantised")
def simulated_int8_encoder(small):
    batch, length, d, heads, layers, exact = (2, 6, 16, 2, 1, 2) if small else (16, 256, 768, 12, 8, 16)
    return W8A8Encoder(d, heads, layers, exact), (torch.randn(batch, length, d), torch.rand(batch, length) > 0.1), None


class ProductSearch(nn.Module):
    """A million vectors in sixteen bytes each: distances from tables, the best of them measured again in full."""

    def __init__(self, items, d, parts, first, final):
        super().__init__()
        self.register_buffer("turn", torch.randn(d, d) / math.sqrt(d))
        self.register_buffer("books", torch.randn(parts, 256, d // parts))
        self.register_buffer("codes", torch.randint(256, (parts, items), dtype=torch.uint8))
        self.register_buffer("full", torch.randn(items, d))
        self.first, self.final = first, final

    def forward(self, queries):
        q = (queries @ self.turn).view(len(queries), self.books.shape[0], 1, -1)
        tables = (q - self.books).pow(2).sum(-1)
        far = torch.zeros(len(queries), self.codes.shape[1], device=q.device, dtype=q.dtype)
        for m in range(self.books.shape[0]):
            far += tables[:, m].index_select(1, self.codes[m].long())
        near = far.topk(self.first, dim=1, largest=False).indices
        exact = torch.cdist(queries.float().unsqueeze(1), self.full[near].float()).squeeze(1)
        score, best = exact.topk(self.final, dim=1, largest=False)
        return score, near.gather(1, best)


@model("retrieval")
def product_quantised_search(small):
    queries, items, d, parts, first, final = (2, 50, 8, 2, 10, 3) if small else (64, 1_000_000, 128, 16, 512, 100)
    return ProductSearch(items, d, parts, first, final), (torch.randn(queries, d),), None


class SeriesDecomposition(nn.Module):
    def __init__(self, kernel):
        super().__init__()
        self.k, self.avg = kernel, nn.AvgPool1d(kernel, 1)

    def forward(self, x):
        front, end = x[:, :1].repeat(1, (self.k - 1) // 2, 1), x[:, -1:].repeat(1, (self.k - 1) // 2, 1)
        trend = self.avg(torch.cat([front, x, end], 1).permute(0, 2, 1)).permute(0, 2, 1)
        return x - trend, trend


class AutoCorrelation(nn.Module):
    def __init__(self, d, heads, factor=2):
        super().__init__()
        self.q, self.k, self.v, self.o = (nn.Linear(d, d) for _ in range(4))
        self.h, self.factor = heads, factor

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (f(x).view(b, t, self.h, -1).permute(0, 2, 3, 1) for f in (self.q, self.k, self.v))
        corr = torch.fft.irfft(torch.fft.rfft(q.float()) * torch.fft.rfft(k.float()).conj(), n=t)
        weights, delay = corr.mean((1, 2)).topk(int(self.factor * math.log(t)), dim=-1)
        weights = torch.softmax(weights, -1).to(x.dtype)
        twice = v.repeat(1, 1, 1, 2)
        start = torch.arange(t, device=x.device).expand_as(v)
        out = torch.zeros_like(v)
        for i in range(delay.shape[1]):
            at = start + delay[:, i].view(b, 1, 1, 1)
            out = out + twice.gather(-1, at) * weights[:, i].view(b, 1, 1, 1)
        return self.o(out.permute(0, 3, 1, 2).reshape(b, t, d))


class PeriodicForecaster(nn.Module):
    """Seasons and trend apart; instead of attention, the series against itself at its strongest delays."""

    def __init__(self, variables, d, layers, horizon, kernel):
        super().__init__()
        self.embed = nn.Conv1d(variables, d, 3, padding=1, padding_mode="circular", bias=False)
        self.attn = nn.ModuleList(AutoCorrelation(d, 8) for _ in range(layers))
        self.ff = nn.ModuleList(
            nn.Sequential(nn.Conv1d(d, 4 * d, 1, bias=False), nn.GELU(), nn.Dropout(0.05), nn.Conv1d(4 * d, d, 1, bias=False))
            for _ in range(layers)
        )
        self.split = SeriesDecomposition(kernel)
        self.trend, self.horizon = nn.Linear(d, variables), horizon

    def forward(self, x):
        season, trend = self.split(x)
        mean = x.mean(1, keepdim=True).expand(-1, self.horizon, -1)
        trend = torch.cat([trend[:, self.horizon :], mean], 1)
        y = self.embed(torch.cat([season[:, self.horizon :], torch.zeros_like(mean)], 1).transpose(1, 2)).transpose(1, 2)
        for attn, ff in zip(self.attn, self.ff):
            y, t1 = self.split(y + attn(y))
            y, t2 = self.split(y + ff(y.transpose(1, 2)).transpose(1, 2))
            trend = trend + self.trend(t1 + t2)
        return (trend + self.trend(y))[:, -self.horizon :]


@model("time series")
def autocorrelation_forecaster(small):
    batch, length, variables, d, layers, horizon, kernel = (2, 24, 3, 16, 1, 8, 5) if small else (32, 336, 21, 512, 3, 96, 25)
    target = torch.randn(batch, horizon, variables)
    net = PeriodicForecaster(variables, d, layers, horizon, kernel)
    return net, (torch.randn(batch, length, variables),), lambda out: F.mse_loss(out, target)


class Actor(nn.Module):
    """Unrolls of many actors: convolutions over all frames at once, an LSTM cell that forgets at an episode's end, V-trace backwards."""

    def __init__(self, width, actions, size):
        super().__init__()
        self.conv = nn.Sequential(nn.Conv2d(4, width, 8, 4), nn.ReLU(), nn.Conv2d(width, 2 * width, 4, 2), nn.ReLU(), nn.Conv2d(2 * width, 2 * width, 3), nn.ReLU(), nn.Flatten())  # fmt: skip
        side = (size // 4 - 1) // 2 - 1 - 2
        self.fc, self.core = nn.Linear(2 * width * side**2, 512), nn.LSTMCell(512 + actions + 1, 256)
        self.policy, self.baseline, self.actions = nn.Linear(256, actions), nn.Linear(256, 1), actions

    def forward(self, frames, action, reward, done, behaviour):
        t, b = action.shape
        x = F.relu(self.fc(self.conv(frames.flatten(0, 1).to(self.fc.weight.dtype) / 255)))
        x = torch.cat([x, F.one_hot(action, self.actions).flatten(0, 1).to(x.dtype), reward.clamp(-1, 1).view(-1, 1).to(x.dtype)], -1)
        h = c = torch.zeros(b, 256, device=x.device, dtype=x.dtype)
        outs = []
        for step, alive in zip(x.view(t, b, -1).unbind(), (~done).to(x.dtype).unsqueeze(-1).unbind()):
            h, c = self.core(step, (h * alive, c * alive))
            outs.append(h)
        core = torch.stack(outs)
        logits, values = self.policy(core), self.baseline(core).squeeze(-1)
        logp = F.log_softmax(logits, -1).gather(-1, action.unsqueeze(-1)).squeeze(-1)
        with torch.no_grad():
            rho = torch.exp(logp - behaviour).clamp(max=1.0)
            discount = (~done).to(values.dtype) * 0.99
            after = torch.cat([values[1:], values[-1:]])
            delta = rho * (reward + discount * after - values)
            acc, corrections = torch.zeros_like(values[0]), []
            for i in range(t - 1, -1, -1):
                acc = delta[i] + discount[i] * rho[i] * acc
                corrections.append(acc)
            vs = values + torch.stack(corrections[::-1])
            advantage = rho * (reward + discount * torch.cat([vs[1:], values[-1:]]) - values)
        entropy = (logits.softmax(-1) * logits.log_softmax(-1)).sum(-1)
        return -(logp * advantage).sum() + 0.5 * (vs - values).square().sum() + 0.01 * entropy.sum()


@model("reinforcement learning")
def v_trace_unrolls(small):
    steps, batch, width, size = (3, 2, 4, 36) if small else (60, 32, 32, 84)
    frames = torch.randint(256, (steps, batch, 4, size, size), dtype=torch.uint8)
    inputs = (
        frames,
        torch.randint(18, (steps, batch)),
        torch.randn(steps, batch),
        torch.rand(steps, batch) < 0.02,
        -torch.rand(steps, batch),
    )
    return Actor(width, 18, size), inputs, lambda out: out
