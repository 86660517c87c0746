"""State spaces, linear recurrences and scans."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class SelectiveScan(nn.Module):
    """A Mamba block whose scan is a Python loop."""

    def __init__(self, width, state=16):
        super().__init__()
        inner = 2 * width
        self.rank = max(1, width // 16)
        self.norm = nn.LayerNorm(width)
        self.enter = nn.Linear(width, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.dbc = nn.Linear(inner, self.rank + 2 * state, bias=False)
        self.dt = nn.Linear(self.rank, inner)
        self.log_a = nn.Parameter(torch.log(torch.arange(1, state + 1).float()).repeat(inner, 1))
        self.d = nn.Parameter(torch.ones(inner))
        self.leave = nn.Linear(inner, width, bias=False)
        self.state = state

    def forward(self, u):
        x, gate = self.enter(self.norm(u)).chunk(2, -1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., : u.shape[1]].transpose(1, 2))
        rough, b, c = self.dbc(x).split([self.rank, self.state, self.state], -1)
        delta = F.softplus(self.dt(rough))
        decay = torch.exp(delta.unsqueeze(-1) * -torch.exp(self.log_a))
        push = delta.unsqueeze(-1) * b.unsqueeze(2) * x.unsqueeze(-1)
        h = torch.zeros_like(push[:, 0])
        ys = []
        for t in range(u.shape[1]):
            h = decay[:, t] * h + push[:, t]
            ys.append((h * c[:, t].unsqueeze(1)).sum(-1))
        y = torch.stack(ys, 1) + x * self.d
        return u + self.leave(y * F.silu(gate))


@model("state space")
def selective_scan_loop(small):
    batch, length, width, layers = (1, 4, 16, 1) if small else (8, 96, 256, 2)
    target = torch.randn(batch, length, width)
    return (
        nn.Sequential(*(SelectiveScan(width) for _ in range(layers))),
        (torch.randn(batch, length, width),),
        lambda out: F.mse_loss(out, target),
    )


class DiagonalStateSpace(nn.Module):
    """S4D: the kernel from complex poles, the convolution by FFT."""

    def __init__(self, width, state=32):
        super().__init__()
        self.log_dt = nn.Parameter(torch.rand(width) * 2 - 4)
        self.c = nn.Parameter(torch.randn(width, state, 2) * 0.5)
        self.log_real = nn.Parameter(torch.log(0.5 * torch.ones(width, state)))
        self.imaginary = nn.Parameter(math.pi * torch.arange(state).float().repeat(width, 1))
        self.d = nn.Parameter(torch.randn(width))
        self.mix = nn.Sequential(nn.GELU(), nn.Conv1d(width, 2 * width, 1), nn.GLU(1))
        self.norm = nn.BatchNorm1d(width)

    def forward(self, u):
        length = u.shape[-1]
        dt = self.log_dt.exp()
        a = torch.complex(-self.log_real.exp(), self.imaginary)
        dta = a * dt[:, None]
        kernel = dta.unsqueeze(-1) * torch.arange(length, device=u.device)
        c = torch.view_as_complex(self.c) * (torch.exp(dta) - 1) / a
        k = 2 * torch.einsum("hn,hnl->hl", c, torch.exp(kernel)).real
        y = torch.fft.irfft(torch.fft.rfft(u, n=2 * length) * torch.fft.rfft(k, n=2 * length), n=2 * length)[..., :length]
        return self.norm(u + self.mix(y + u * self.d[:, None]))


@model("state space", half=False)
def diagonal_state_space(small):
    batch, width, length, layers = (2, 8, 16, 1) if small else (16, 128, 2048, 4)
    net = nn.Sequential(*(DiagonalStateSpace(width) for _ in range(layers)), nn.AdaptiveAvgPool1d(1), nn.Flatten(), nn.Linear(width, 10))
    target = torch.randint(10, (batch,))
    return net, (torch.randn(batch, width, length),), lambda out: F.cross_entropy(out, target)


class ParallelMinGru(nn.Module):
    """The recurrence in log space: cumulative sums instead of a loop."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.gate, self.value = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)
        self.ff = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        y = self.norm(x)
        k, v = self.gate(y), self.value(y)
        log_forget, log_in = -F.softplus(k), -F.softplus(-k)
        log_v = torch.where(v >= 0, (F.relu(v) + 0.5).log(), -F.softplus(-v))
        total = torch.cumsum(log_forget, 1)
        h = torch.exp(total + torch.logcumsumexp(log_in + log_v - total, 1))
        x = x + h
        return x + self.ff(x)


@model("state space")
def parallel_min_gru(small):
    batch, length, width, layers = (1, 8, 16, 1) if small else (16, 1024, 256, 4)
    target = torch.randn(batch, length, width)
    return (
        nn.Sequential(*(ParallelMinGru(width) for _ in range(layers))),
        (torch.randn(batch, length, width),),
        lambda out: F.mse_loss(out, target),
    )


class TimeMix(nn.Module):
    """RWKV's weighted average, written as its recurrence with a running maximum."""

    def __init__(self, width):
        super().__init__()
        self.mix = nn.Parameter(torch.rand(3, width))
        self.decay, self.first = nn.Parameter(torch.randn(width)), nn.Parameter(torch.randn(width))
        self.k, self.v, self.r, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.norm = nn.LayerNorm(width)

    def forward(self, x):
        y = self.norm(x)
        before = F.pad(y, (0, 0, 1, -1))
        k, v, r = (layer(y * m + before * (1 - m)) for layer, m in zip((self.k, self.v, self.r), self.mix))
        w = -torch.exp(self.decay)
        a = b = torch.zeros_like(k[:, 0])
        top = torch.full_like(a, -1e4)
        out = []
        for t in range(x.shape[1]):
            kt, vt = k[:, t], v[:, t]
            m = torch.maximum(top, kt + self.first)
            e1, e2 = torch.exp(top - m), torch.exp(kt + self.first - m)
            out.append((e1 * a + e2 * vt) / (e1 * b + e2))
            m = torch.maximum(top + w, kt)
            e1, e2 = torch.exp(top + w - m), torch.exp(kt - m)
            a, b, top = e1 * a + e2 * vt, e1 * b + e2, m
        return x + self.o(torch.sigmoid(r) * torch.stack(out, 1))


@model("state space")
def time_mix_recurrence(small):
    batch, length, width = (1, 4, 16) if small else (16, 64, 1024)
    target = torch.randn(batch, length, width)
    return nn.Sequential(TimeMix(width), TimeMix(width)), (torch.randn(batch, length, width),), lambda out: F.mse_loss(out, target)


class ChunkedRetention(nn.Module):
    """Within a chunk as attention with decay, between chunks through a state."""

    def __init__(self, width, heads, chunk):
        super().__init__()
        self.heads, self.chunk = heads, chunk
        self.qkvg, self.out = nn.Linear(width, 4 * width, bias=False), nn.Linear(width, width, bias=False)
        self.norm = nn.GroupNorm(heads, width)
        self.register_buffer("gamma", 1 - 2.0 ** (-5 - torch.arange(heads).float()))

    def forward(self, x):
        b, t, width = x.shape
        q, k, v, g = self.qkvg(x).chunk(4, -1)
        q, k, v = (y.view(b, t // self.chunk, self.chunk, self.heads, -1).permute(1, 0, 3, 2, 4) for y in (q, k, v))
        i = torch.arange(self.chunk, device=x.device)
        gamma = self.gamma.view(-1, 1, 1)
        decay = torch.where(i[:, None] >= i, gamma ** (i[:, None] - i).clamp(min=0), torch.zeros((), device=x.device)).to(x.dtype)
        into = (gamma ** (self.chunk - 1 - i).view(1, -1, 1)).to(x.dtype)
        out_of = (gamma ** (i + 1).view(1, -1, 1)).to(x.dtype)
        state, outs = 0, []
        for qc, kc, vc in zip(q, k, v):
            y = ((qc @ kc.transpose(-1, -2)) * decay) @ vc
            if outs:
                y = y + (qc * out_of) @ state
            state = state * (gamma**self.chunk).to(x.dtype) + (kc * into).transpose(-1, -2) @ vc
            outs.append(y)
        y = torch.stack(outs, 1).permute(0, 1, 3, 2, 4).reshape(b * t, width)
        return x + self.out(self.norm(y).view(b, t, width) * F.silu(g))


@model("state space")
def chunked_retention(small):
    batch, length, width, chunk = (1, 8, 16, 4) if small else (8, 2048, 512, 256)
    layers = [ChunkedRetention(width, 4 if small else 8, chunk) for _ in range(1 if small else 3)]
    return nn.Sequential(*layers), (torch.randn(batch, length, width),), lambda out: out.pow(2).mean()
