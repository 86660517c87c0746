"""Audio: vocoders, spectrograms, codecs, recognisers."""

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.parametrizations import weight_norm

from own.listing import model


class WaveNet(nn.Module):
    def __init__(self, width, skips, blocks, layers):
        super().__init__()
        self.enter = nn.Conv1d(1, width, 1)
        self.dilated, self.residual, self.skip, self.local = nn.ModuleList(), nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for _ in range(blocks):
            for i in range(layers):
                self.dilated.append(nn.Conv1d(width, 2 * width, 2, dilation=2**i))
                self.residual.append(nn.Conv1d(width, width, 1))
                self.skip.append(nn.Conv1d(width, skips, 1))
                self.local.append(nn.Conv1d(80, 2 * width, 1, bias=False))
        self.out = nn.Sequential(nn.ReLU(), nn.Conv1d(skips, skips, 1), nn.ReLU(), nn.Conv1d(skips, 256, 1))

    def forward(self, wave, mel):
        x = self.enter(wave)
        mel = F.interpolate(mel, size=wave.shape[-1], mode="nearest")
        total = 0
        for dilated, residual, skip, local in zip(self.dilated, self.residual, self.skip, self.local):
            h = dilated(F.pad(x, (dilated.dilation[0], 0))) + local(mel)
            a, b = h.chunk(2, 1)
            h = torch.tanh(a) * torch.sigmoid(b)
            total = total + skip(h)
            x = x + residual(h)
        return self.out(total)


@model("audio")
def wavenet_conditioned(small):
    batch, length, layers = (1, 64, 3) if small else (4, 8000, 8)
    target = torch.randint(256, (batch, length))
    inputs = torch.randn(batch, 1, length), torch.randn(batch, 80, length // 16)
    return WaveNet(64, 128, 2, layers), inputs, lambda out: F.cross_entropy(out, target)


class ResidualStack(nn.Module):
    def __init__(self, width, kernel):
        super().__init__()
        pads = [(kernel - 1) * d // 2 for d in (1, 3, 5)]
        self.one = nn.ModuleList(weight_norm(nn.Conv1d(width, width, kernel, padding=p, dilation=d)) for d, p in zip((1, 3, 5), pads))
        self.two = nn.ModuleList(weight_norm(nn.Conv1d(width, width, kernel, padding=kernel // 2)) for _ in range(3))

    def forward(self, x):
        for one, two in zip(self.one, self.two):
            x = x + two(F.leaky_relu(one(F.leaky_relu(x, 0.1)), 0.1))
        return x


class Vocoder(nn.Module):
    """Mel frames to a wave: transposed convolutions, and stacks of three kernel sizes averaged."""

    def __init__(self, width, rates=(8, 8, 2, 2)):
        super().__init__()
        self.enter = weight_norm(nn.Conv1d(80, width, 7, padding=3))
        self.ups, self.stacks = nn.ModuleList(), nn.ModuleList()
        for rate in rates:
            self.ups.append(weight_norm(nn.ConvTranspose1d(width, width // 2, 2 * rate, rate, rate // 2)))
            width //= 2
            self.stacks.append(nn.ModuleList(ResidualStack(width, k) for k in (3, 7, 11)))
        self.leave = weight_norm(nn.Conv1d(width, 1, 7, padding=3))

    def forward(self, mel):
        x = self.enter(mel)
        for up, stacks in zip(self.ups, self.stacks):
            x = up(F.leaky_relu(x, 0.1))
            x = sum(stack(x) for stack in stacks) / len(stacks)
        return torch.tanh(self.leave(F.leaky_relu(x)))


@model("audio")
def hifi_vocoder(small):
    batch, frames, width = (1, 4, 32) if small else (4, 64, 256)
    target = torch.randn(batch, 1, frames * 256)
    return Vocoder(width), (torch.randn(batch, 80, frames),), lambda out: F.l1_loss(out, target)


class LogMel(nn.Module):
    def __init__(self, size=512, hop=160, bands=64):
        super().__init__()
        self.size, self.hop = size, hop
        self.register_buffer("window", torch.hann_window(size))
        self.register_buffer("bank", torch.rand(bands, size // 2 + 1))

    def forward(self, wave):
        s = torch.stft(wave, self.size, self.hop, window=self.window, return_complex=True)
        return torch.log10(torch.matmul(self.bank, s.abs() ** 2).clamp(min=1e-10))


class SoundEvents(nn.Module):
    def __init__(self, number):
        super().__init__()
        self.mel = LogMel()
        layers, before = [nn.BatchNorm2d(1)], 1
        for width in (64, 128, 256, 512):
            layers += [nn.Conv2d(before, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(inplace=True), nn.AvgPool2d(2)]
            before = width
        self.net = nn.Sequential(*layers)
        self.attend, self.classify = nn.Conv1d(512, number, 1), nn.Conv1d(512, number, 1)

    def forward(self, wave):
        x = self.net(self.mel(wave).unsqueeze(1)).mean(2)
        return (torch.softmax(self.attend(x), -1) * torch.sigmoid(self.classify(x))).sum(-1)


@model("audio", half=False)
def sound_events_stft(small):
    batch, length = (2, 8000) if small else (32, 80_000)
    target = torch.randint(2, (batch, 50)).float()
    return SoundEvents(50), (torch.randn(batch, length),), lambda out: F.binary_cross_entropy(out.float().clamp(0, 1), target)


class ConformerBlock(nn.Module):
    def __init__(self, width, heads, kernel=31):
        super().__init__()
        self.ff1 = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
        self.ff2 = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.SiLU(), nn.Linear(4 * width, width))
        self.norm = nn.LayerNorm(width)
        self.attend = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm_c = nn.LayerNorm(width)
        self.point1, self.point2 = nn.Conv1d(width, 2 * width, 1), nn.Conv1d(width, width, 1)
        self.depth = nn.Conv1d(width, width, kernel, padding=kernel // 2, groups=width)
        self.bn, self.last = nn.BatchNorm1d(width), nn.LayerNorm(width)

    def forward(self, x):
        x = x + 0.5 * self.ff1(x)
        y = self.norm(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        y = F.glu(self.point1(self.norm_c(x).transpose(1, 2)), 1)
        x = x + self.point2(F.silu(self.bn(self.depth(y)))).transpose(1, 2)
        return self.last(x + 0.5 * self.ff2(x))


class Recogniser(nn.Module):
    def __init__(self, width, blocks, letters):
        super().__init__()
        self.shrink = nn.Sequential(nn.Conv2d(1, width, 3, 2), nn.ReLU(), nn.Conv2d(width, width, 3, 2), nn.ReLU())
        self.enter = nn.Linear(width * 19, width)
        self.blocks = nn.ModuleList(ConformerBlock(width, 4) for _ in range(blocks))
        self.out = nn.Linear(width, letters)

    def forward(self, mel):
        x = self.shrink(mel.unsqueeze(1))
        x = self.enter(x.transpose(1, 2).flatten(2))
        for block in self.blocks:
            x = block(x)
        return F.log_softmax(self.out(x), -1)


@model("audio")
def conformer_ctc(small):
    batch, frames, width, blocks = (2, 64, 16, 1) if small else (16, 800, 256, 6)
    length = ((frames - 1) // 2 - 1) // 2
    words = torch.randint(1, 64, (batch, 8))
    sizes = torch.full((batch,), length), torch.full((batch,), 8)
    return (
        Recogniser(width, blocks, 64),
        (torch.randn(batch, frames, 80),),
        lambda out: F.ctc_loss(out.float().transpose(0, 1), words, *sizes),
    )


class Separator(nn.Module):
    """A U-Net on the wave with an LSTM in the middle, gated by GLU."""

    def __init__(self, width, depth):
        super().__init__()
        self.down, self.up = nn.ModuleList(), nn.ModuleList()
        before = 2
        for _ in range(depth):
            self.down.append(nn.Sequential(nn.Conv1d(before, width, 8, 4, 2), nn.ReLU(), nn.Conv1d(width, 2 * width, 1), nn.GLU(1)))
            out = 8 if before == 2 else before
            layers = [nn.Conv1d(width, 2 * width, 3, padding=1), nn.GLU(1), nn.ConvTranspose1d(width, out, 8, 4, 2)]
            self.up.insert(0, nn.Sequential(*layers, *([] if before == 2 else [nn.ReLU()])))
            before, width = width, 2 * width
        self.lstm = nn.LSTM(before, before, 2, bidirectional=True)
        self.mix = nn.Linear(2 * before, before)

    def forward(self, x):
        skips = []
        for down in self.down:
            x = down(x)
            skips.append(x)
        x = self.mix(self.lstm(x.permute(2, 0, 1))[0]).permute(1, 2, 0)
        for up in self.up:
            x = up(x + skips.pop())
        return x.view(len(x), 4, 2, -1)


@model("audio")
def wave_separator(small):
    batch, length, width, depth = (1, 256, 8, 2) if small else (8, 65_536, 48, 4)
    target = torch.randn(batch, 4, 2, length)
    return Separator(width, depth), (torch.randn(batch, 2, length),), lambda out: F.l1_loss(out, target)


class Codec(nn.Module):
    """Residual vector quantisation between strided convolutions, straight through."""

    def __init__(self, width, books, codes):
        super().__init__()
        self.enter = nn.Sequential(
            nn.Conv1d(1, width, 7, padding=3), nn.ELU(), nn.Conv1d(width, 2 * width, 8, 4, 2), nn.ELU(),
            nn.Conv1d(2 * width, 4 * width, 8, 4, 2), nn.ELU(), nn.Conv1d(4 * width, 128, 10, 5, 3),
        )  # fmt: skip
        self.books = nn.ParameterList(nn.Parameter(torch.randn(codes, 128)) for _ in range(books))
        self.leave = nn.Sequential(
            nn.ConvTranspose1d(128, 4 * width, 9, 5, 2), nn.ELU(), nn.ConvTranspose1d(4 * width, 2 * width, 8, 4, 2), nn.ELU(),
            nn.ConvTranspose1d(2 * width, width, 8, 4, 2), nn.ELU(), nn.Conv1d(width, 1, 7, padding=3),
        )  # fmt: skip

    def forward(self, wave):
        z = self.enter(wave).transpose(1, 2)
        rest, total, cost = z, torch.zeros_like(z), 0.0
        for book in self.books:
            d = rest.pow(2).sum(-1, keepdim=True) - 2 * rest @ book.t() + book.pow(2).sum(1)
            q = F.embedding(d.argmin(-1), book)
            cost = cost + F.mse_loss(rest, q.detach()) + F.mse_loss(q, rest.detach())
            total, rest = total + q, rest - q.detach()
        total = z + (total - z).detach()
        return self.leave(total.transpose(1, 2)), cost


@model("audio")
def residual_vector_codec(small):
    batch, length, codes = (1, 320, 16) if small else (16, 24_000, 1024)
    wave = torch.randn(batch, 1, length)
    return Codec(32, 8, codes), (wave,), lambda out: F.l1_loss(out[0], wave[..., : out[0].shape[-1]]) + out[1]


class SpeakerEncoder(nn.Module):
    """Dilated convolutions, squeeze-and-excite, attentive statistics."""

    def __init__(self, width):
        super().__init__()
        self.enter = nn.Sequential(nn.Conv1d(80, width, 5, padding=2), nn.ReLU(), nn.BatchNorm1d(width))
        self.convs = nn.ModuleList(nn.Conv1d(width // 8, width // 8, 3, padding=d, dilation=d) for d in (2, 3, 4) for _ in range(7))
        self.gates = nn.ModuleList(nn.Sequential(nn.Linear(width, 128), nn.ReLU(), nn.Linear(128, width), nn.Sigmoid()) for _ in range(3))
        self.norms = nn.ModuleList(nn.BatchNorm1d(width) for _ in range(3))
        self.attend = nn.Sequential(nn.Conv1d(3 * width, 128, 1), nn.Tanh(), nn.Conv1d(128, 3 * width, 1))
        self.out = nn.Linear(6 * width, 192)

    def forward(self, mel):
        x = self.enter(mel)
        kept = []
        for block in range(3):
            pieces = x.chunk(8, 1)
            outs, y = [pieces[0]], 0
            for i in range(1, 8):
                y = F.relu(self.convs[block * 7 + i - 1](pieces[i] + y))
                outs.append(y)
            y = self.norms[block](torch.cat(outs, 1))
            x = x + y * self.gates[block](y.mean(-1)).unsqueeze(-1)
            kept.append(x)
        x = torch.cat(kept, 1)
        w = self.attend(x).softmax(-1)
        mean = (w * x).sum(-1)
        var = ((w * x**2).sum(-1) - mean**2).clamp(min=1e-5)
        return F.normalize(self.out(torch.cat([mean, var.sqrt()], 1)), dim=1)


@model("metric learning")
def speaker_encoder_ge2e(small):
    speakers, each, frames, width = (2, 2, 20, 16) if small else (32, 4, 300, 512)

    def loss(out):
        e = out.view(speakers, each, -1)
        similarity = 10 * out @ F.normalize(e.mean(1), dim=1).t() - 5
        return F.cross_entropy(similarity, torch.arange(speakers, device=out.device).repeat_interleave(each))

    return SpeakerEncoder(width), (torch.randn(speakers * each, 80, frames),), loss
