"""Sequences with Python loops, and time series."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class Seq2Seq(nn.Module):
    """Bidirectional encoder, additive attention, a decoder cell stepped in Python."""

    def __init__(self, words, dim):
        super().__init__()
        self.source, self.target = nn.Embedding(words, dim), nn.Embedding(words, dim)
        self.encoder = nn.GRU(dim, dim, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * dim, dim)
        self.keys, self.query, self.energy = nn.Linear(2 * dim, dim), nn.Linear(dim, dim), nn.Linear(dim, 1)
        self.cell = nn.GRUCell(3 * dim, dim)
        self.out = nn.Linear(4 * dim, words)

    def forward(self, source, target):
        memory, last = self.encoder(self.source(source))
        hidden = torch.tanh(self.bridge(torch.cat([last[0], last[1]], 1)))
        keys, words = self.keys(memory), self.target(target)
        outputs = []
        for t in range(target.size(1)):
            weights = self.energy(torch.tanh(keys + self.query(hidden).unsqueeze(1))).squeeze(2).softmax(1)
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            hidden = self.cell(torch.cat([words[:, t], context], 1), hidden)
            outputs.append(self.out(torch.cat([hidden, context, words[:, t]], 1)))
        return torch.stack(outputs, 1)


@model("sequence")
def seq2seq_attention(small):
    batch, length, words = (2, 5, 30) if small else (64, 32, 16_000)
    target = torch.randint(words, (batch, length))
    inputs = torch.randint(words, (batch, length)), target
    return Seq2Seq(words, 256 if not small else 16), inputs, lambda out: F.cross_entropy(out.transpose(1, 2), target)


class HandWrittenLstm(nn.Module):
    """Gates written out, one step after the other, with layer norm inside."""

    def __init__(self, letters, width):
        super().__init__()
        self.embed = nn.Embedding(letters, width)
        self.x, self.h = nn.Linear(width, 4 * width), nn.Linear(width, 4 * width, bias=False)
        self.norm = nn.LayerNorm(4 * width)
        self.norm_c = nn.LayerNorm(width)
        self.out = nn.Linear(width, letters)

    def forward(self, ids):
        xs = self.x(self.embed(ids))
        h = c = xs.new_zeros(ids.shape[0], xs.shape[-1] // 4)
        logits = []
        for x in xs.unbind(1):
            i, f, g, o = self.norm(x + self.h(h)).chunk(4, 1)
            c = torch.sigmoid(f + 1) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(self.norm_c(c))
            logits.append(self.out(h))
        return torch.stack(logits, dim=1)


@model("sequence")
def layer_norm_lstm(small):
    batch, length, width = (2, 6, 16) if small else (128, 48, 512)
    ids = torch.randint(96, (batch, length))
    return HandWrittenLstm(96, width), (ids,), lambda out: F.cross_entropy(out.flatten(0, 1), ids.flatten())


class CrfTagger(nn.Module):
    """The log-likelihood of a chain: forward recursion over tags in Python."""

    def __init__(self, words, tags, dim):
        super().__init__()
        self.words = nn.Embedding(words, dim)
        self.lstm = nn.LSTM(dim, dim // 2, 2, batch_first=True, bidirectional=True)
        self.emit = nn.Linear(dim, tags)
        self.transitions = nn.Parameter(torch.randn(tags, tags) * 0.1)

    def forward(self, ids, tags):
        e = self.emit(self.lstm(self.words(ids))[0])
        gold = e.gather(2, tags.unsqueeze(2)).sum((1, 2)) + self.transitions[tags[:, :-1], tags[:, 1:]].sum(1)
        alpha = e[:, 0]
        for t in range(1, e.shape[1]):
            alpha = torch.logsumexp(alpha.unsqueeze(2) + self.transitions + e[:, t].unsqueeze(1), dim=1)
        return torch.logsumexp(alpha, 1) - gold


@model("sequence")
def crf_tagger(small):
    batch, length, words = (2, 6, 40) if small else (128, 60, 30_000)
    inputs = torch.randint(words, (batch, length)), torch.randint(17, (batch, length))
    return CrfTagger(words, 17, 32 if small else 256), inputs, lambda out: out.mean()


class Viterbi(nn.Module):
    """Best path, with back-pointers followed in Python."""

    def __init__(self, width, tags):
        super().__init__()
        self.emit = nn.Sequential(nn.Linear(width, 256), nn.ReLU(), nn.Linear(256, tags))
        self.transitions = nn.Parameter(torch.randn(tags, tags))

    def forward(self, x):
        e = self.emit(x)
        score, back = e[:, 0], []
        for t in range(1, x.size(1)):
            best, index = (score.unsqueeze(2) + self.transitions).max(1)
            score = best + e[:, t]
            back.append(index)
        last = score.argmax(1, keepdim=True)
        path = [last]
        for index in reversed(back):
            path.append(index.gather(1, path[-1]))
        return torch.cat(path[::-1], 1)


@model("sequence")
def viterbi_decoder(small):
    batch, length, width = (2, 6, 16) if small else (512, 100, 128)
    return Viterbi(width, 24), (torch.randn(batch, length, width),), None


class ConvLstmCell(nn.Module):
    def __init__(self, inside, hidden):
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Conv2d(inside + hidden, 4 * hidden, 3, padding=1)

    def forward(self, x, state):
        h, c = state
        i, f, o, g = torch.split(self.gates(torch.cat([x, h], 1)), self.hidden, dim=1)
        c = f.sigmoid() * c + i.sigmoid() * g.tanh()
        h = o.sigmoid() * c.tanh()
        return h, c


class RainForecast(nn.Module):
    def __init__(self, hidden, ahead):
        super().__init__()
        self.one, self.two = ConvLstmCell(1, hidden), ConvLstmCell(hidden, hidden)
        self.read, self.ahead = nn.Conv2d(hidden, 1, 1), ahead

    def forward(self, frames):
        b, t, _, height, width = frames.shape
        zero = frames.new_zeros(b, self.one.hidden, height, width)
        a = c = (zero, zero)
        out = []
        for step in range(t + self.ahead):
            x = frames[:, step] if step < t else out[-1]
            a = self.one(x, a)
            c = self.two(a[0], c)
            if step >= t - 1:
                out.append(self.read(c[0]))
        return torch.stack(out[:-1], 1)


@model("video")
def convlstm_forecast(small):
    batch, steps, size, hidden = (1, 2, 8, 4) if small else (8, 8, 64, 64)
    target = torch.rand(batch, 4, 1, size, size)
    return RainForecast(hidden, 4), (torch.rand(batch, steps, 1, size, size),), lambda out: F.mse_loss(out, target)


class TemporalBlock(nn.Module):
    def __init__(self, a, b, dilation):
        super().__init__()
        self.pad = 2 * dilation
        self.conv1 = nn.utils.parametrizations.weight_norm(nn.Conv1d(a, b, 3, dilation=dilation))
        self.conv2 = nn.utils.parametrizations.weight_norm(nn.Conv1d(b, b, 3, dilation=dilation))
        self.short = nn.Conv1d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x):
        y = F.dropout(F.relu(self.conv1(F.pad(x, (self.pad, 0)))), 0.1, self.training)
        y = F.dropout(F.relu(self.conv2(F.pad(y, (self.pad, 0)))), 0.1, self.training)
        return F.relu(y + self.short(x))


@model("time series")
def temporal_convolutions(small):
    batch, length, width = (2, 32, 8) if small else (64, 2048, 96)
    blocks = [TemporalBlock(4 if i == 0 else width, width, 2**i) for i in range(3 if small else 7)]
    target = torch.randn(batch, 4, length)
    return nn.Sequential(*blocks, nn.Conv1d(width, 4, 1)), (torch.randn(batch, 4, length),), lambda out: F.mse_loss(out, target)


class PatchForecaster(nn.Module):
    """Every channel on its own: patches, a transformer, one linear head; scaled by the window's own mean and deviation."""

    def __init__(self, length, ahead, patch=16, stride=8, width=128, layers=3):
        super().__init__()
        self.patch, self.stride = patch, stride
        count = (length - patch) // stride + 1
        self.embed = nn.Linear(patch, width)
        self.places = nn.Parameter(torch.randn(count, width) * 0.02)
        layer = nn.TransformerEncoderLayer(width, 8, 256, 0.1, "gelu", batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(count * width, ahead)

    def forward(self, x):
        b, _, c = x.shape
        mean, std = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-5
        x = ((x - mean) / std).transpose(1, 2).reshape(b * c, -1)
        z = self.encoder(self.embed(x.unfold(-1, self.patch, self.stride)) + self.places)
        y = self.head(z.flatten(1)).view(b, c, -1).transpose(1, 2)
        return y * std + mean


@model("time series")
def patch_forecaster(small):
    batch, length, channels, ahead = (2, 64, 3, 8) if small else (32, 512, 21, 96)
    target = torch.randn(batch, ahead, channels)
    return PatchForecaster(length, ahead), (torch.randn(batch, length, channels),), lambda out: F.mse_loss(out, target)


class NBeats(nn.Module):
    def __init__(self, back, ahead, width, blocks):
        super().__init__()
        self.back = back
        self.stacks = nn.ModuleList()
        for _ in range(blocks):
            layers = [nn.Linear(back, width), nn.ReLU()]
            for _ in range(3):
                layers += [nn.Linear(width, width), nn.ReLU()]
            self.stacks.append(nn.Sequential(*layers, nn.Linear(width, back + ahead)))

    def forward(self, x):
        forecast = 0.0
        for block in self.stacks:
            theta = block(x)
            x = x - theta[:, : self.back]
            forecast = forecast + theta[:, self.back :]
        return forecast


@model("time series")
def nbeats(small):
    batch, back, ahead, width = (4, 20, 5, 16) if small else (1024, 168, 24, 512)
    target = torch.randn(batch, ahead)

    def smape(out):
        return (2 * (out - target).abs() / (out.abs() + target.abs() + 1e-3)).mean()

    return NBeats(back, ahead, width, 10), (torch.randn(batch, back),), smape


class ProbabilisticForecast(nn.Module):
    """An LSTM with a Gaussian head that feeds its own mean back, step by step."""

    def __init__(self, series, width, ahead):
        super().__init__()
        self.series = nn.Embedding(series, 20)
        self.lstm = nn.LSTM(1 + 4 + 20, width, 3, batch_first=True, dropout=0.1)
        self.mean, self.scale = nn.Linear(width, 1), nn.Linear(width, 1)
        self.ahead = ahead

    def forward(self, values, calendar, ids):
        steps = values.size(1)
        about = self.series(ids)[:, None]
        x = torch.cat([values.unsqueeze(-1), calendar[:, :steps], about.expand(-1, steps, -1)], -1)
        out, state = self.lstm(x)
        means, scales = [self.mean(out)], [F.softplus(self.scale(out))]
        last = means[0][:, -1:]
        for t in range(self.ahead):
            out, state = self.lstm(torch.cat([last, calendar[:, steps + t, None], about], -1), state)
            last = self.mean(out)
            means.append(last)
            scales.append(F.softplus(self.scale(out)))
        return torch.cat(means, 1).squeeze(-1), torch.cat(scales, 1).squeeze(-1)


@model("time series")
def autoregressive_forecast(small):
    batch, steps, ahead, width = (2, 6, 3, 8) if small else (256, 72, 24, 128)
    target = torch.randn(batch, steps + ahead)

    def likelihood(out):
        mean, scale = out
        scale = scale + 1e-3
        return (0.5 * ((target - mean) / scale) ** 2 + scale.log()).mean()

    inputs = torch.randn(batch, steps), torch.randn(batch, steps + ahead, 4), torch.randint(50, (batch,))
    return ProbabilisticForecast(50, width, ahead), inputs, likelihood


class PointerNetwork(nn.Module):
    """Picks cities one by one; what was visited is masked out in place."""

    def __init__(self, width):
        super().__init__()
        self.embed = nn.Linear(2, width)
        self.encoder = nn.LSTM(width, width, batch_first=True)
        self.cell = nn.LSTMCell(width, width)
        self.w1, self.w2, self.v = nn.Linear(width, width), nn.Linear(width, width), nn.Linear(width, 1)

    def forward(self, cities):
        b, n, _ = cities.shape
        x = self.embed(cities)
        memory, (h, c) = self.encoder(x)
        h, c = h[0], c[0]
        visited = torch.zeros(b, n, dtype=torch.bool, device=cities.device)
        step, total, keys = x.mean(1), 0, self.w1(memory)
        for _ in range(n):
            h, c = self.cell(step, (h, c))
            scores = self.v(torch.tanh(keys + self.w2(h).unsqueeze(1))).squeeze(-1).masked_fill(visited, -1e4)
            logs = F.log_softmax(scores, -1)
            choice = logs.argmax(-1, keepdim=True)
            total = total + logs.gather(1, choice).squeeze(1)
            visited = visited.scatter(1, choice, True)
            step = x.gather(1, choice[..., None].expand(-1, -1, x.size(-1))).squeeze(1)
        return total


@model("sequence")
def pointer_network(small):
    batch, n, width = (2, 5, 16) if small else (256, 30, 128)
    return PointerNetwork(width), (torch.rand(batch, n, 2),), lambda out: -out.mean()


class Informer(nn.Module):
    """Attention for the few queries whose scores stand out; the others get the mean of the values."""

    def __init__(self, width, heads, layers):
        super().__init__()
        self.heads = heads
        self.enter = nn.Conv1d(7, width, 3, padding=1, padding_mode="circular")
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.mix = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.distil = nn.ModuleList(nn.Conv1d(width, width, 3, padding=1) for _ in range(layers))
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.out = nn.Linear(width, 7)

    def forward(self, x):
        x = self.enter(x.transpose(1, 2)).transpose(1, 2)
        for qkv, mix, distil, norm in zip(self.qkv, self.mix, self.distil, self.norm):
            b, n, width = x.shape
            q, k, v = qkv(x).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
            few = min(n, 5 * math.ceil(math.log(n)))
            sample = torch.randint(n, (few,), device=x.device)
            rough = q @ k[:, :, sample].transpose(-2, -1)
            top = (rough.amax(-1) - rough.mean(-1)).topk(few, -1, sorted=False)[1]
            index = top[..., None].expand(-1, -1, -1, q.shape[-1])
            scores = (q.gather(2, index) @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
            context = v.mean(2, keepdim=True).expand_as(v).clone()
            context.scatter_(2, index, (scores.softmax(-1) @ v).to(context.dtype))
            x = norm(x + mix(context.transpose(1, 2).reshape(b, n, width)))
            x = F.max_pool1d(F.elu(distil(x.transpose(1, 2))), 3, 2, 1).transpose(1, 2)
        return self.out(x)


@model("time series")
def sparse_query_forecaster(small):
    batch, length, width = (2, 32, 16) if small else (32, 720, 512)
    return Informer(width, 8, 3), (torch.randn(batch, length, 7),), lambda out: out.pow(2).mean()
