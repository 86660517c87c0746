"""Sound and noise: oscillators, long filters, chunks of a state, samplers that take a few careful steps."""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def perceptron(a, d, n=3):
    return nn.Sequential(*(m for i in range(n) for m in (nn.Linear(a if i == 0 else d, d), nn.LayerNorm(d), nn.LeakyReLU())))


class Oscillators(nn.Module):
    """An instrument from pitch and loudness: a bank of harmonics whose phases add up, and noise through a filter that changes."""

    def __init__(self, d, harmonics, bands, hop, rate=16_000):
        super().__init__()
        self.pitch, self.loud, self.gru = perceptron(1, d), perceptron(1, d), nn.GRU(2 * d, d, batch_first=True)
        self.after, self.tones, self.filter = perceptron(3 * d, d), nn.Linear(d, harmonics + 1), nn.Linear(d, bands)
        self.hop, self.rate, self.n, self.bands = hop, rate, harmonics, bands

    @staticmethod
    def positive(x):
        return 2 * torch.sigmoid(x) ** math.log(10) + 1e-7

    def stretched(self, x):
        return F.interpolate(x.transpose(1, 2), scale_factor=float(self.hop), mode="linear").transpose(1, 2)

    def forward(self, pitch, loudness):
        p, v = self.pitch(pitch), self.loud(loudness)
        x = self.after(torch.cat([self.gru(torch.cat([p, v], -1))[0], p, v], -1))
        tones = self.positive(self.tones(x)).float()
        loud, shares = tones[..., :1], tones[..., 1:]
        number = torch.arange(1, self.n + 1, device=x.device)
        hertz = pitch.float() * 400 + 60
        shares = shares * (hertz * number < self.rate / 2)
        shares = loud * shares / shares.sum(-1, keepdim=True).clamp(min=1e-5)
        phase = torch.cumsum(2 * math.pi * self.stretched(hertz) / self.rate, 1)
        tone = (torch.sin(phase * number) * self.stretched(shares)).sum(-1)
        shape = torch.fft.irfft(torch.complex(self.positive(self.filter(x) - 5).float(), torch.zeros((), device=x.device)))
        shape = torch.roll(shape, self.bands, -1) * torch.hann_window(shape.shape[-1], device=x.device)
        hiss = torch.rand(*x.shape[:2], self.hop, device=x.device) * 2 - 1
        n = self.hop + shape.shape[-1]
        made = torch.fft.irfft(torch.fft.rfft(hiss, n) * torch.fft.rfft(shape, n), n)
        return tone + made[..., self.bands : self.bands + self.hop].flatten(1)


def spectra(x, sizes):
    return [torch.stft(x, n, n // 4, n, torch.hann_window(n, device=x.device), return_complex=True).abs() for n in sizes]


@model("audio")
def harmonics_and_hiss(small):
    batch, frames, hop, d, harmonics, bands, sizes = (
        (1, 8, 32, 8, 4, 9, (32,)) if small else (16, 300, 64, 384, 96, 65, (2048, 1024, 512, 256, 128))
    )
    truth = torch.rand(batch, frames * hop) - 0.5

    def loss(out):
        pairs = zip(spectra(out.float(), sizes), spectra(truth, sizes))
        return sum(F.l1_loss(a, b) + F.l1_loss(torch.log(a + 1e-5), torch.log(b + 1e-5)) for a, b in pairs)

    return Oscillators(d, harmonics, bands, hop), (torch.rand(batch, frames, 1), torch.randn(batch, frames, 1)), loss


class LongFilter(nn.Module):
    """Filters as long as the sequence, written by a small net of sines from positions, and made to fade."""

    def __init__(self, d, order, inner, length):
        super().__init__()
        t = torch.linspace(0, 1, length).unsqueeze(-1)
        waves = 2 * math.pi * t * torch.linspace(1e-4, 7, 8)
        self.register_buffer("at", torch.cat([t, waves.sin(), waves.cos()], -1))
        self.register_buffer("fade", torch.linspace(math.log(100) / 1.5, math.log(100) / 0.3, d * order))
        self.enter, self.mid, self.leave = nn.Linear(17, inner), nn.Linear(inner, inner), nn.Linear(inner, d * order, bias=False)
        self.freq, self.order, self.bias = nn.Parameter(torch.full((inner,), 10.0)), order, nn.Parameter(torch.randn(order, d))

    def forward(self):
        h = torch.sin(self.freq * self.enter(self.at))
        h = self.leave(torch.sin(self.freq * self.mid(h)))
        h = h * torch.exp(-self.at[:, :1] * self.fade)
        return h.t().unflatten(0, (self.order, -1))


class LongConvolutions(nn.Module):
    def __init__(self, d, order, inner, length):
        super().__init__()
        self.enter, self.leave = nn.Linear(d, (order + 1) * d), nn.Linear(d, d)
        self.short = nn.Conv1d((order + 1) * d, (order + 1) * d, 3, padding=2, groups=(order + 1) * d)
        self.filters, self.norm, self.norm2 = LongFilter(d, order, inner, length), nn.LayerNorm(d), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))

    def forward(self, x):
        t = x.shape[1]
        u = self.short(self.enter(self.norm(x)).transpose(1, 2))[..., :t]
        *gates, v = u.chunk(self.filters.order + 1, 1)
        for gate, h, bias in zip(gates, self.filters().float(), self.filters.bias):
            v = v * gate
            made = torch.fft.irfft(torch.fft.rfft(v.float(), 2 * t) * torch.fft.rfft(h, 2 * t), 2 * t)[..., :t]
            v = made.to(u.dtype) + v * bias.unsqueeze(-1).to(u.dtype)
        x = x + self.leave(v.transpose(1, 2))
        return x + self.mlp(self.norm2(x))


class LongReader(nn.Module):
    def __init__(self, letters, d, layers, order, inner, length):
        super().__init__()
        self.embed, self.head = nn.Embedding(letters, d), nn.Linear(d, letters)
        self.layers = nn.ModuleList(LongConvolutions(d, order, inner, length) for _ in range(layers))

    def forward(self, ids):
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


@model("state space")
def filters_as_long_as_genes(small):
    batch, length, letters, d, layers, inner = (2, 16, 5, 16, 1, 8) if small else (4, 4096, 12, 256, 3, 64)
    target = torch.randint(letters, (batch * length,))
    net = LongReader(letters, d, layers, 2, inner, length)
    return net, (torch.randint(letters, (batch, length)),), lambda out: F.cross_entropy(out.flatten(0, 1), target)


def segment_sums(x):
    """Sums of all stretches of a row: below the diagonal what lies between two places, above it nothing."""
    t = x.shape[-1]
    y = x.unsqueeze(-1).expand(*x.shape, t).masked_fill(~torch.ones(t, t, dtype=torch.bool, device=x.device).tril(-1), 0).cumsum(-2)
    return y.masked_fill(~torch.ones(t, t, dtype=torch.bool, device=x.device).tril(), -math.inf)


class ChunkedState(nn.Module):
    """A state space in chunks: attention-like within each, a small state handed on between them."""

    def __init__(self, d, heads, state, chunk):
        super().__init__()
        self.inner, self.h, self.state, self.chunk = 2 * d, heads, state, chunk
        self.enter = nn.Linear(d, 2 * self.inner + 2 * state + heads, bias=False)
        wide = self.inner + 2 * state
        self.conv, self.norm, self.leave = (
            nn.Conv1d(wide, wide, 4, padding=3, groups=wide),
            nn.RMSNorm(self.inner),
            nn.Linear(self.inner, d, bias=False),
        )
        self.a_log, self.d, self.dt_bias = (nn.Parameter(torch.rand(heads)) for _ in range(3))
        self.before = nn.RMSNorm(d)

    def forward(self, u):
        b, t, _ = u.shape
        z, xbc, dt = self.enter(self.before(u)).split([self.inner, self.inner + 2 * self.state, self.h], -1)
        x, bs, cs = F.silu(self.conv(xbc.transpose(1, 2))[..., :t].transpose(1, 2)).split([self.inner, self.state, self.state], -1)
        dt = F.softplus(dt + self.dt_bias).float()
        x = x.float().view(b, t, self.h, -1)
        y = self.scanned(x * dt.unsqueeze(-1), -self.a_log.float().exp() * dt, bs.float(), cs.float())
        y = (y + x * self.d.float().unsqueeze(-1)).flatten(2)
        return u + self.leave(self.norm(y.to(z.dtype) * F.silu(z)).to(z.dtype))

    def scanned(self, x, a, bs, cs):
        x, a, bs, cs = (y.unflatten(1, (-1, self.chunk)) for y in (x, a, bs, cs))
        a = a.permute(0, 3, 1, 2)
        total = a.cumsum(-1)
        inside = torch.einsum("bcln,bcsn,bhcls,bcshp->bclhp", cs, bs, segment_sums(a).exp(), x)
        fade = torch.exp(total[..., -1:] - total)
        states = torch.einsum("bcln,bhcl,bclhp->bchpn", bs, fade, x)
        states = torch.cat([torch.zeros_like(states[:, :1]), states], 1)
        along = segment_sums(F.pad(total[..., -1], (1, 0))).exp()
        states = torch.einsum("bhzc,bchpn->bzhpn", along, states)[:, :-1]
        across = torch.einsum("bcln,bchpn,bhcl->bclhp", cs, states, total.exp())
        return (inside + across).flatten(1, 2)


@model("state space")
def states_handed_on_in_chunks(small):
    batch, length, d, heads, state, chunk, layers = (1, 8, 16, 2, 4, 4, 1) if small else (4, 2048, 384, 12, 64, 128, 4)
    target = torch.randn(batch, length, d)
    net = nn.Sequential(*(ChunkedState(d, heads, state, chunk) for _ in range(layers)))
    return net, (torch.randn(batch, length, d),), lambda out: F.mse_loss(out, target)


class NoisyBlock(nn.Module):
    def __init__(self, a, b, emb, heads=0):
        super().__init__()
        self.n0, self.c0, self.n1, self.c1 = nn.GroupNorm(8, a), nn.Conv2d(a, b, 3, 1, 1), nn.GroupNorm(8, b), nn.Conv2d(b, b, 3, 1, 1)
        self.emb, self.skip, self.heads = nn.Linear(emb, 2 * b), nn.Conv2d(a, b, 1) if a != b else nn.Identity(), heads
        if heads:
            self.n2, self.qkv, self.proj = nn.GroupNorm(8, b), nn.Conv2d(b, 3 * b, 1), nn.Conv2d(b, b, 1)

    def forward(self, x, emb):
        scale, shift = self.emb(emb)[..., None, None].chunk(2, 1)
        y = self.c0(F.silu(self.n0(x)))
        y = self.c1(F.silu(torch.addcmul(shift, self.n1(y), scale + 1)).to(y.dtype))
        y = (y + self.skip(x)) * math.sqrt(0.5)
        if self.heads:
            q, k, v = self.qkv(self.n2(y)).unflatten(1, (3, self.heads, -1)).flatten(4).transpose(-1, -2).unbind(1)
            y = y + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(-1, -2).reshape(y.shape))
        return y


class TwiceCorrected(nn.Module):
    """An image from noise by Heun's method: each step is taken, looked at from its end, and taken again with the mean slope."""

    def __init__(self, w, levels, spread=0.5):
        super().__init__()
        self.emb, self.levels, self.spread = (
            nn.Sequential(nn.Linear(64, 4 * w), nn.SiLU(), nn.Linear(4 * w, 4 * w), nn.SiLU()),
            levels,
            spread,
        )
        self.register_buffer("freq", torch.randn(32) * 16)
        self.enter, self.leave = nn.Conv2d(3, w, 3, 1, 1), nn.Conv2d(w, 3, 3, 1, 1)
        self.down = nn.ModuleList(NoisyBlock(a, b, 4 * w, h) for a, b, h in ((w, w, 0), (w, 2 * w, 0), (2 * w, 3 * w, 4)))
        self.mid = NoisyBlock(3 * w, 3 * w, 4 * w, 4)
        self.up = nn.ModuleList(NoisyBlock(a, b, 4 * w) for a, b in ((6 * w, 2 * w), (4 * w, w), (2 * w, w)))

    def cleaned(self, x, sigma):
        s = sigma.view(-1, 1, 1, 1)
        total = (s**2 + self.spread**2).sqrt()
        a = (sigma.log() / 4).unsqueeze(-1) * self.freq * 2 * math.pi
        emb, y, kept = self.emb(torch.cat([a.cos(), a.sin()], -1).to(x.dtype)), self.enter(x / total), []
        for i, each in enumerate(self.down):
            y = each(y if i == 0 else F.avg_pool2d(y, 2), emb)
            kept.append(y)
        y = self.mid(y, emb)
        for i, each in enumerate(self.up):
            y = each(torch.cat([y if i == 0 else F.interpolate(y, scale_factor=2.0), kept.pop()], 1), emb)
        return x * self.spread**2 / total**2 + self.leave(F.silu(y)) * s * self.spread / total

    def forward(self, x):
        if self.training:
            sigma = torch.exp(torch.randn(len(x), device=x.device) * 1.2 - 1.2)
            noisy = x + torch.randn_like(x) * sigma.view(-1, 1, 1, 1)
            weight = (sigma**2 + self.spread**2) / (sigma * self.spread) ** 2
            return (weight.view(-1, 1, 1, 1) * (self.cleaned(noisy, sigma) - x) ** 2).mean()
        y = torch.randn_like(x) * self.levels[0]
        for now, then in pairwise(self.levels):
            slope = (y - self.cleaned(y, x.new_full((len(x),), now))) / now
            guess = y + (then - now) * slope
            if then > 0:
                slope = (slope + (guess - self.cleaned(guess, x.new_full((len(x),), then))) / then) / 2
                guess = y + (then - now) * slope
            y = guess
        return y


@model("diffusion")
def steps_taken_twice(small):
    batch, size, w = (1, 16, 16) if small else (12, 64, 128)
    return TwiceCorrected(w, (80.0, 2.5, 0.0)), (torch.randn(batch, 3, size, size),), lambda out: out
