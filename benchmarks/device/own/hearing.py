"""Heard and counted over time: voices told apart, who speaks when, a pitch, knobs, events that excite events, periods, paths."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class PathOver(nn.Module):
    """Transformer layers over one axis of chunks."""

    def __init__(self, d, heads, layers):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(d, heads, 4 * d, 0.1, batch_first=True, norm_first=True) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        y = x
        for layer in self.layers:
            y = layer(y)
        return x + self.norm(y)


class VoicesInChunks(nn.Module):
    """Two voices out of one: a learned basis, chunks that overlap by half, attention within a chunk and across chunks, a mask for each voice."""

    def __init__(self, basis, d, chunk, heads, layers, rounds, voices=2):
        super().__init__()
        self.chunk, self.voices = chunk, voices
        self.enc, self.dec = nn.Conv1d(1, basis, 16, 8, bias=False), nn.ConvTranspose1d(basis, 1, 16, 8, bias=False)
        self.norm, self.enter = nn.GroupNorm(1, basis), nn.Conv1d(basis, d, 1)
        self.rounds = nn.ModuleList(nn.ModuleList([PathOver(d, heads, layers), PathOver(d, heads, layers)]) for _ in range(rounds))
        self.spread, self.leave = nn.Sequential(nn.PReLU(), nn.Conv2d(d, voices * d, 1)), nn.Conv1d(d, basis, 1)

    def forward(self, wave):
        e = F.relu(self.enc(wave.unsqueeze(1)))
        x = self.enter(self.norm(e))
        b, d, n = x.shape
        k, hop = self.chunk, self.chunk // 2
        extra = (hop - n % hop) % hop + hop
        x = F.pad(x, (hop, extra))
        x = x.unfold(-1, k, hop)  # b, d, chunks, k
        s = x.shape[2]
        for within, across in self.rounds:
            y = within(x.permute(0, 2, 3, 1).reshape(b * s, k, d)).view(b, s, k, d)
            y = across(y.transpose(1, 2).reshape(b * k, s, d)).view(b, k, s, d)
            x = y.permute(0, 3, 2, 1)
        x = self.spread(x).view(b * self.voices, d, s, k)
        even = x.transpose(2, 3).reshape(b * self.voices, d * k, s)
        x = F.fold(even, (1, (s - 1) * hop + k), (1, k), stride=(1, hop)).squeeze(2)[..., hop : hop + n]
        mask = F.relu(self.leave(x)).view(b, self.voices, -1, n)
        return self.dec((mask * e.unsqueeze(1)).flatten(0, 1)).view(b, self.voices, -1)


def sisnr(guess, truth):
    guess, truth = (z.float() - z.float().mean(-1, keepdim=True) for z in (guess, truth))
    along = (guess * truth).sum(-1, keepdim=True) / (truth.square().sum(-1, keepdim=True) + 1e-8) * truth
    return 10 * torch.log10(along.square().sum(-1) / ((guess - along).square().sum(-1) + 1e-8) + 1e-8)


@model("speech separation")
def voices_told_apart_in_chunks(small):
    b, n, basis, d, chunk, heads, layers, rounds = (2, 160, 16, 16, 4, 2, 1, 1) if small else (4, 16_000, 256, 256, 128, 8, 4, 2)
    truth = torch.randn(b, 2, n)

    def loss(out):
        straight, crossed = sisnr(out, truth).mean(1), sisnr(out, truth.flip(1)).mean(1)
        return -torch.maximum(straight, crossed).clamp_max(30).mean()

    return VoicesInChunks(basis, d, chunk, heads, layers, rounds), (truth.sum(1),), loss


class WhoSpeaksWhen(nn.Module):
    """A meeting: frames encoded, an attractor for each speaker drawn from the frames in shuffled order, and who is near whose attractor."""

    def __init__(self, mels, d, heads, layers, speakers):
        super().__init__()
        self.enter = nn.Sequential(nn.Linear(mels, d), nn.LayerNorm(d))
        self.layers = nn.ModuleList(nn.TransformerEncoderLayer(d, heads, 4 * d, 0.1, batch_first=True) for _ in range(layers))
        self.encoder, self.decoder = nn.LSTM(d, d, batch_first=True), nn.LSTM(d, d, batch_first=True)
        self.exists, self.speakers = nn.Linear(d, 1), speakers

    def forward(self, mel):
        b, t, _ = mel.shape
        x = self.enter(mel.view(b, t // 10, 10, -1).mean(2))
        for layer in self.layers:
            x = layer(x)
        _, state = self.encoder(x[:, torch.randperm(x.shape[1], device=x.device)])
        attractors, _ = self.decoder(x.new_zeros(b, self.speakers + 1, x.shape[-1]), state)
        return x @ attractors[:, :-1].mT.to(x.dtype), self.exists(attractors).squeeze(-1)


@model("speech")
def who_speaks_when(small):
    b, t, mels, d, heads, layers, speakers = (2, 40, 8, 16, 2, 1, 2) if small else (32, 5000, 80, 256, 4, 6, 4)
    truth = (torch.rand(b, t // 10, speakers) < 0.3).float()
    there = (torch.arange(speakers + 1) < speakers).float().expand(b, -1)

    def loss(out):
        frames, exists = out
        each = F.binary_cross_entropy_with_logits(
            frames.unsqueeze(3).expand(-1, -1, -1, speakers), truth.unsqueeze(2).expand(-1, -1, speakers, -1), reduction="none"
        )
        each = each.mean(1)  # speaker guessed, speaker meant
        orders = torch.tensor(list(itertools.permutations(range(speakers))), device=each.device)
        cost = each[:, torch.arange(speakers, device=each.device), orders].mean(-1)
        return cost.min(1).values.mean() + F.binary_cross_entropy_with_logits(exists, there)

    return WhoSpeaksWhen(mels, d, heads, layers, speakers), (torch.randn(b, t, mels),), loss


class PitchFromShifts(nn.Module):
    """A pitch for every frame: how a frame differs from itself shifted, the first deep dip of it, a parabola through it, and a median over time."""

    def __init__(self, rate, frame, hop, low, high, threshold=0.15):
        super().__init__()
        self.rate, self.frame, self.hop, self.threshold = rate, frame, hop, threshold
        self.shortest, self.longest = rate // high, rate // low
        self.register_buffer("lags", torch.arange(1, self.longest + 2).float())

    def forward(self, wave):
        x = F.pad(wave, (self.frame // 2, self.frame // 2)).unfold(-1, self.frame, self.hop)
        w = self.frame - self.longest - 2
        size = 2 ** math.ceil(math.log2(self.frame + w))
        r = torch.fft.irfft(torch.fft.rfft(x, size) * torch.fft.rfft(x[..., :w], size).conj(), size)[..., : self.longest + 2]
        energy = F.pad(x.square().cumsum(-1), (1, 0))
        e = energy[..., w : w + self.longest + 2] - energy[..., : self.longest + 2]
        diff = e[..., :1] + e - 2 * r
        d = diff[..., 1:] * self.lags / diff[..., 1:].cumsum(-1).clamp_min(1e-8)
        d = d[..., self.shortest :]
        dip = (d < self.threshold) & (d <= F.pad(d[..., 1:], (0, 1), value=9.0)) & (d <= F.pad(d[..., :-1], (1, 0), value=9.0))
        first = torch.where(dip.any(-1), dip.int().argmax(-1), d.argmin(-1)).clamp(1, d.shape[-1] - 2)
        a, m, b = (d.gather(-1, (first + i).unsqueeze(-1)).squeeze(-1) for i in (-1, 0, 1))
        lag = first + self.shortest + 1 + 0.5 * (a - b) / (a - 2 * m + b).clamp_min(1e-6)
        hz = (self.rate / lag).masked_fill(m > 0.5, 0.0)
        return F.pad(hz.unsqueeze(1), (2, 2), mode="replicate").squeeze(1).unfold(-1, 5, 1).median(-1).values, 1 - m


@model("audio", half=False)
def pitch_from_shifted_copies(small):
    b, n, frame, hop = (2, 800, 256, 80) if small else (64, 80_000, 2048, 160)
    return PitchFromShifts(4000 if small else 16_000, frame, hop, 60, 800), (torch.randn(b, n).cumsum(1) * 0.01,), None


class KnobsTurned(nn.Module):
    """Which knobs of an equaliser and a compressor make one recording sound like another: a small net turns them, the effects are differentiable."""

    def __init__(self, width, bands, window, rate=44_100):
        super().__init__()
        self.hear = nn.Sequential()
        for a, b in itertools.pairwise((2, width, 2 * width, 4 * width, 4 * width)):
            self.hear.extend((nn.Conv1d(a, b, 9, 4, 4), nn.BatchNorm1d(b), nn.PReLU(b)))
        self.knobs, self.bands, self.window = nn.Linear(8 * width, 3 * bands + 4), bands, window
        self.register_buffer("centre", torch.logspace(math.log10(60), math.log10(rate / 2.5), bands) / rate * 2 * math.pi)

    def equalise(self, x, gain, q, shift):
        n = x.shape[-1]
        w = torch.linspace(0, math.pi, n + 1, device=x.device)
        z = torch.polar(torch.ones_like(w), -w)
        H = torch.ones((), device=x.device)
        for i in range(self.bands):
            A, f = 10 ** (gain[:, i, None] / 40), self.centre[i] * torch.exp2(shift[:, i, None])
            alpha, c = torch.sin(f) / (2 * q[:, i, None]), -2 * torch.cos(f)
            H = H * ((1 + alpha * A) + c * z + (1 - alpha * A) * z**2) / ((1 + alpha / A) + c * z + (1 - alpha / A) * z**2)
        return torch.fft.irfft(torch.fft.rfft(x, 2 * n) * H, 2 * n)[:, :n]

    def compress(self, x, threshold, ratio, makeup):
        p = F.avg_pool1d(F.pad(x.square().unsqueeze(1), (self.window - 1, 0)), self.window, 1).squeeze(1)
        over = F.softplus(10 * torch.log10(p + 1e-7) - threshold)
        return x * 10 ** ((makeup - over * (1 - 1 / ratio)) / 20)

    def forward(self, dry, like):
        x = self.hear(torch.stack([dry, like], 1))
        k = self.knobs(torch.cat([x.mean(-1), x.amax(-1)], -1)).float()
        gain, q, shift, rest = k.split([self.bands] * 3 + [4], -1)
        y = self.equalise(dry.float(), 12 * torch.tanh(gain), 0.3 + F.softplus(q), 0.5 * torch.tanh(shift))
        y = self.compress(y, -40 * torch.sigmoid(rest[:, :1]), 1 + F.softplus(rest[:, 1:2]), 6 * torch.tanh(rest[:, 2:3]))
        wet = torch.sigmoid(rest[:, 3:])
        return wet * y + (1 - wet) * dry


@model("audio", half=False)
def knobs_turned_to_sound_alike(small):
    b, n, width, bands, window = (2, 512, 4, 2, 8) if small else (16, 131_072, 32, 8, 256)
    like = torch.randn(b, n) * 0.1
    return (
        KnobsTurned(width, bands, window),
        (torch.randn(b, n) * 0.1, like),
        lambda out: F.l1_loss(out, like) + 0.1 * (out.std(-1) - like.std(-1)).abs().mean(),
    )


class EventsExcite(nn.Module):
    """When what happens next: past events attended to, a rate for each kind, its integral drawn at random points between events."""

    def __init__(self, kinds, d, heads, layers, points):
        super().__init__()
        self.kind, self.points = nn.Embedding(kinds, d), points
        self.enc = nn.ModuleList(nn.TransformerEncoderLayer(d, heads, 2 * d, 0.1, batch_first=True) for _ in range(layers))
        self.start, self.decay, self.level = nn.Linear(d, kinds), nn.Linear(d, kinds), nn.Linear(d, kinds)
        self.register_buffer("freq", torch.exp(torch.arange(0, d, 2) * (-math.log(10_000.0) / d)))

    def forward(self, when, kind):
        t = when.unsqueeze(-1) * self.freq
        x = self.kind(kind) + torch.stack([t.sin(), t.cos()], -1).flatten(-2)
        future = torch.ones(when.shape[1], when.shape[1], dtype=torch.bool, device=when.device).triu(1)
        for layer in self.enc:
            x = layer(x, src_mask=future)
        h, gaps = x[:, :-1], when.diff(dim=1)
        start, decay, level = F.softplus(self.start(h)), F.softplus(self.decay(h)), F.softplus(self.level(h))
        rate = level + (start - level) * torch.exp(-decay * gaps.unsqueeze(-1))
        log = rate.gather(-1, kind[:, 1:].unsqueeze(-1)).squeeze(-1).clamp_min(1e-6).log()
        u = torch.rand(*gaps.shape, self.points, 1, device=when.device, dtype=when.dtype) * gaps[..., None, None]
        total = (level.unsqueeze(2) + (start - level).unsqueeze(2) * torch.exp(-decay.unsqueeze(2) * u)).sum(-1).mean(-1) * gaps
        return log.sum(1), total.sum(1)


@model("point process")
def events_that_excite_events(small):
    b, n, kinds, d, heads, layers, points = (2, 6, 3, 16, 2, 1, 2) if small else (64, 256, 40, 128, 4, 4, 20)
    when = torch.rand(b, n).cumsum(1)
    return EventsExcite(kinds, d, heads, layers, points), (when, torch.randint(kinds, (b, n))), lambda out: -(out[0] - out[1]).mean() / n


class FoldedByPeriod(nn.Module):
    """A series folded into a picture by each of a few periods, read by small convolutions, weighed by how strong the period is."""

    def __init__(self, series, d, length, ahead, periods, layers):
        super().__init__()
        self.periods, self.length, self.ahead = periods, length, ahead
        self.enter, self.grow, self.leave = nn.Linear(series, d), nn.Linear(length, length + ahead), nn.Linear(d, series)
        self.convs = nn.ModuleList(nn.ModuleList(nn.Conv2d(d, d, 2 * i + 1, padding=i) for i in range(3)) for _ in range(layers))
        self.backs = nn.ModuleList(nn.ModuleList(nn.Conv2d(d, d, 2 * i + 1, padding=i) for i in range(3)) for _ in range(layers))
        self.norm = nn.LayerNorm(d)

    def forward(self, x):
        mean, std = x.mean(1, keepdim=True), (x.var(1, keepdim=True, unbiased=False) + 1e-5).sqrt()
        x = self.grow(self.enter((x - mean) / std).transpose(1, 2)).transpose(1, 2)
        n = self.length + self.ahead
        for convs, backs in zip(self.convs, self.backs):
            power = torch.fft.rfft(x.float(), dim=1).abs().mean(-1)
            weight = torch.stack([power[:, n // p] for p in self.periods], 1).softmax(1)
            out = 0
            for i, p in enumerate(self.periods):
                rows = -(-n // p)
                z = F.pad(x, (0, 0, 0, rows * p - n)).unflatten(1, (rows, p)).permute(0, 3, 1, 2)
                z = F.gelu(sum(conv(z) for conv in convs) / 3)
                z = sum(conv(z) for conv in backs) / 3
                out = out + weight[:, i, None, None] * z.permute(0, 2, 3, 1).flatten(1, 2)[:, :n]
            x = self.norm(out + x)
        return self.leave(x)[:, -self.ahead :] * std + mean


@model("time series", half=False)
def series_folded_by_periods(small):
    b, length, ahead, series, d, periods, layers = (2, 12, 4, 3, 8, (3, 4), 1) if small else (64, 384, 96, 21, 64, (24, 48, 96, 12, 160), 2)
    goal = torch.randn(b, ahead, series)
    return (
        FoldedByPeriod(series, d, length, ahead, periods, layers),
        (torch.randn(b, length, series).cumsum(1),),
        lambda out: F.mse_loss(out, goal),
    )


class SignaturesOfPaths(nn.Module):
    """A path told by its iterated integrals up to the third, over windows that grow twice as long each time, by products of increments."""

    def __init__(self, channels, d, classes, windows):
        super().__init__()
        self.lift, self.windows = nn.Conv1d(channels, d, 5, padding=2), windows
        self.read = nn.Sequential(nn.LayerNorm(d + d**2 + d**3), nn.Linear(d + d**2 + d**3, 256), nn.SiLU(), nn.Linear(256, 64))
        self.out = nn.Linear(64 * windows, classes)

    @staticmethod
    def signature(dx):
        s1 = torch.cumsum(dx, 2)
        before = s1 - dx
        a2 = torch.einsum("bwti,bwtj->bwtij", before + dx / 2, dx)
        s2 = torch.cumsum(a2, 2)
        a3 = torch.einsum("bwtij,bwtk->bwtijk", s2 - a2, dx) + torch.einsum("bwti,bwtj,bwtk->bwtijk", before / 2 + dx / 6, dx, dx)
        return torch.cat([s1[:, :, -1], s2[:, :, -1].flatten(2), a3.sum(2).flatten(2)], -1)

    def forward(self, path):
        dx = self.lift(path).diff(dim=-1, prepend=torch.zeros_like(path[:, :1, :1]).expand(-1, self.lift.out_channels, 1)).transpose(1, 2)
        parts = dx.unflatten(1, (self.windows, -1)) / dx.shape[1] ** 0.5
        return self.out(self.read(self.signature(parts).to(dx.dtype)).flatten(1))


@model("time series")
def signatures_of_paths(small):
    b, channels, n, d, windows = (2, 3, 8, 3, 2) if small else (128, 6, 1024, 8, 8)
    label = torch.randint(12, (b,))
    return SignaturesOfPaths(channels, d, 12, windows), (torch.randn(b, channels, n).cumsum(-1),), lambda out: F.cross_entropy(out, label)
