"""Tunes: waves out of noise, notes from filters that widen, and a voice changed for its nearest neighbours."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class WaveStep(nn.Module):
    """One layer of a net that removes noise from a wave: a dilated convolution, gated, given the step and a spectrogram."""

    def __init__(self, c, mels, dilation):
        super().__init__()
        self.wide = nn.Conv1d(c, 2 * c, 3, padding=dilation, dilation=dilation)
        self.step, self.mel, self.out = nn.Linear(512, c), nn.Conv1d(mels, 2 * c, 1), nn.Conv1d(c, 2 * c, 1)

    def forward(self, x, mel, step):
        y = self.wide(x + self.step(step).unsqueeze(-1)) + self.mel(mel)
        gate, filt = y.chunk(2, 1)
        rest, skip = self.out(torch.sigmoid(gate) * torch.tanh(filt)).chunk(2, 1)
        return (x + rest) / 2**0.5, skip


class WavesOutOfNoise(nn.Module):
    def __init__(self, c, mels, layers, cycle, steps):
        super().__init__()
        self.enter, self.up = nn.Conv1d(1, c, 1), nn.ModuleList(nn.ConvTranspose2d(1, 1, (3, 32), (1, 16), (1, 8)) for _ in range(2))
        self.e1, self.e2 = nn.Linear(128, 512), nn.Linear(512, 512)
        self.layers = nn.ModuleList(WaveStep(c, mels, 2 ** (i % cycle)) for i in range(layers))
        self.skip, self.out, self.steps = nn.Conv1d(c, c, 1), nn.Conv1d(c, 1, 1), steps

    def denoise(self, x, mel, t):
        wave = t[:, None].float() * torch.exp(torch.arange(64, device=x.device) * -(4 * math.log(10) / 63))
        step = F.silu(self.e2(F.silu(self.e1(torch.cat([wave.sin(), wave.cos()], 1).to(x.dtype)))))
        x, total = F.relu(self.enter(x.unsqueeze(1))), 0
        for layer in self.layers:
            x, skip = layer(x, mel, step)
            total = total + skip
        return self.out(F.relu(self.skip(total / len(self.layers) ** 0.5))).squeeze(1)

    def forward(self, x, mel, t):
        mel = mel.unsqueeze(1)
        for up in self.up:
            mel = F.leaky_relu(up(mel), 0.4)
        mel = mel.squeeze(1)
        if self.training:
            return self.denoise(x, mel, t)
        for i in range(self.steps):
            a = 1 - 0.05 * (i + 1) / self.steps
            x = (x - (1 - a) / (1 - a**2) ** 0.5 * self.denoise(x, mel, torch.full_like(t, i))) / a**0.5
            x = x + (1 - a) ** 0.5 * torch.randn_like(x)
        return x.clamp(-1, 1)


@model("diffusion")
def waves_out_of_noise(small):
    b, frames, mels, c, layers, cycle, steps = (1, 2, 5, 4, 2, 2, 1) if small else (8, 62, 80, 64, 30, 10, 6)
    x = torch.randn(b, frames * 256)
    noise = torch.randn(b, frames * 256)
    return WavesOutOfNoise(c, mels, layers, cycle, steps), (x, torch.randn(b, mels, frames), torch.randint(50, (b,))), lambda out: F.l1_loss(out, noise)  # fmt: skip


class NotesHeard(nn.Module):
    """Notes of a piano: filters an equal step of pitch apart, octave by octave on a wave that halves; stacked harmonics; onsets, frames."""

    def __init__(self, octaves, bins, width, wide, notes):
        super().__init__()
        length = 256 if width > 4 else 16
        k = torch.arange(bins)
        f = 0.25 * 2.0 ** (k / bins)
        t = torch.arange(length) - length / 2
        window = torch.hann_window(length)
        self.register_buffer("real", (torch.cos(math.pi * f[:, None] * t) * window).unsqueeze(1))
        self.register_buffer("imag", (torch.sin(math.pi * f[:, None] * t) * window).unsqueeze(1))
        self.register_buffer("low", torch.hann_window(17).view(1, 1, -1) / 8)
        self.octaves, self.bins, self.hop = octaves, bins, 2 ** (octaves + 1)
        self.shifts = (0, bins, round(1.585 * bins), 2 * bins)
        c = width
        self.conv = nn.Sequential(
            nn.Conv2d(4, c, 5, padding=2), nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c, (3, 13), padding=(1, 6)), nn.BatchNorm2d(c), nn.ReLU(),
            nn.MaxPool2d((1, 2)), nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU())  # fmt: skip
        self.fc = nn.Linear(2 * c * (octaves * bins // 2), wide)
        self.onset, self.say_onset = nn.LSTM(wide, wide // 2, bidirectional=True, batch_first=True), nn.Linear(wide, notes)
        self.both, self.say = nn.LSTM(wide + notes, wide // 2, bidirectional=True, batch_first=True), nn.Linear(wide, notes)

    def forward(self, x):
        x, rows = x.unsqueeze(1), []
        for i in range(self.octaves):
            hop, pad = self.hop >> i, self.real.shape[-1] // 2
            re, im = (F.conv1d(x, w, stride=hop, padding=pad) for w in (self.real, self.imag))
            rows.insert(0, (re.square() + im.square() + 1e-9).sqrt())
            x = F.conv1d(x, self.low, stride=2, padding=8)
        frames = min(r.shape[-1] for r in rows)
        q = torch.log1p(torch.cat([r[..., :frames] for r in rows], 1)).mT
        stack = torch.stack([F.pad(q, (0, s))[..., s:] for s in self.shifts], 1)
        h = F.relu(self.fc(self.conv(stack).transpose(1, 2).flatten(2)))
        onset = self.say_onset(self.onset(h)[0])
        return onset, self.say(self.both(torch.cat([h, onset.detach().sigmoid()], -1))[0])


@model("audio")
def notes_from_a_constant_q(small):
    b, seconds, octaves, bins, width, wide, notes = (1, 256, 2, 4, 4, 8, 3) if small else (8, 81_920, 7, 36, 32, 512, 88)
    frames = (seconds // 2 ** (octaves + 1)) + 1
    goal = (torch.rand(2, b, frames, notes) < 0.02).float()

    def loss(out):
        n = out[0].shape[1]
        return sum(F.binary_cross_entropy_with_logits(o, g[:, :n]) for o, g in zip(out, goal))

    return NotesHeard(octaves, bins, width, wide, notes), (torch.randn(b, seconds) * 0.1,), loss


class NewVoice(nn.Module):
    """Somebody else's voice: each frame becomes the mean of the target's frames most like it, and a net makes a wave of them."""

    def __init__(self, d, heads, layers, width, ups):
        super().__init__()
        strides = (5, 2, 2, 2, 2, 2)
        self.ear = nn.ModuleList(nn.Conv1d(1 if i == 0 else width, width, 10 if i == 0 else 3, s) for i, s in enumerate(strides))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in strides)
        self.enter = nn.Linear(width, d)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, 0.1, F.gelu, batch_first=True, norm_first=True)
        self.read = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.pre, self.mouth, c = nn.Conv1d(d, 256 if d > 64 else 8, 7, padding=3), nn.ModuleList(), 256 if d > 64 else 8
        for up in ups:
            self.mouth.append(nn.ModuleList([nn.ConvTranspose1d(c, c // 2, 2 * up, up, up // 2 + up % 2, output_padding=up % 2), *(nn.Conv1d(c // 2, c // 2, 7, padding=3 * k, dilation=k) for k in (1, 3, 5))]))  # fmt: skip
            c //= 2
        self.post = nn.Conv1d(c, 1, 7, padding=3)

    def features(self, x):
        x = x.unsqueeze(1)
        for conv, norm in zip(self.ear, self.norms):
            x = F.gelu(norm(conv(x).mT).mT)
        return self.read(self.enter(x.mT))

    def forward(self, mine, theirs):
        a, b = self.features(mine), self.features(theirs).flatten(0, 1)
        alike = F.normalize(a, dim=-1) @ F.normalize(b, dim=-1).t()
        best = alike.topk(4, dim=-1).indices
        x = self.pre(b[best].mean(2).mT)
        for up, *rest in self.mouth:
            x = up(F.leaky_relu(x, 0.1))
            for conv in rest:
                x = x + conv(F.leaky_relu(x, 0.1))
        return torch.tanh(self.post(F.leaky_relu(x)))


@model("speech")
def voice_changed_by_neighbours(small):
    b, n, m, d, heads, layers, width, ups = (1, 1600, 2, 8, 2, 1, 4, (2, 2)) if small else (4, 64_000, 12, 512, 8, 6, 256, (8, 5, 2, 2))
    inputs = torch.randn(b, n) * 0.1, torch.randn(m, n) * 0.1
    return NewVoice(d, heads, layers, width, ups), inputs, lambda out: out.abs().mean()
