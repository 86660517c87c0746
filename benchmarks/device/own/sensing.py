"""What sensors give: scanned lines, microphones, scanners, cameras, clips. Each with the reshapes of its own repository."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class LineReader(nn.Module):
    """A text line's image to letters: convolutions that keep the width, two LSTMs both ways, CTC."""

    def __init__(self, letters, w, hidden):
        super().__init__()

        def conv(a, b, pool):
            return nn.Sequential(
                nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True), nn.MaxPool2d(pool, pool)
            )

        self.cnn = nn.Sequential(
            conv(1, w, 2), conv(w, 2 * w, 2), conv(2 * w, 4 * w, (2, 1)), conv(4 * w, 4 * w, (2, 1)),
            nn.Conv2d(4 * w, 8 * w, 3, padding=1), nn.BatchNorm2d(8 * w), nn.ReLU(inplace=True), nn.Dropout(0.1))  # fmt: skip
        self.rnn = nn.LSTM(8 * w, hidden, 2, bidirectional=True, dropout=0.1)
        self.fc = nn.Linear(2 * hidden, letters + 1)

    def forward(self, img):
        f = self.cnn(img).mean(2)
        h, _ = self.rnn(f.permute(2, 0, 1).contiguous())
        return F.log_softmax(self.fc(h), -1)


@model("OCR")
def line_reader_ctc(small):
    batch, width, w, hidden, chars = (2, 64, 8, 16, 5) if small else (64, 768, 64, 256, 40)
    labels = torch.randint(1, 96, (batch, chars))
    sizes = torch.full((batch,), width // 4), torch.full((batch,), chars)
    return LineReader(95, w, hidden), (torch.rand(batch, 1, 48, width),), lambda out: F.ctc_loss(out.float(), labels, *sizes)


class ComplexConv(nn.Module):
    def __init__(self, cin, cout, up=False):
        super().__init__()
        kind = nn.ConvTranspose2d if up else nn.Conv2d
        extra = {"output_padding": (1, 0)} if up else {}
        self.re = kind(cin // 2, cout // 2, (5, 1), (2, 1), (2, 0), **extra)
        self.im = kind(cin // 2, cout // 2, (5, 1), (2, 1), (2, 0), **extra)

    def forward(self, x):
        a, b = torch.chunk(x, 2, 1)
        return torch.cat([self.re(a) - self.im(b), self.re(b) + self.im(a)], dim=1)


class ComplexMask(nn.Module):
    """Speech out of noise: a Fourier transform as a convolution, complex convolutions, an LSTM, a bounded complex mask."""

    def __init__(self, win, hop, widths):
        super().__init__()
        self.hop, self.bins = hop, win // 2
        basis = torch.outer(torch.arange(win // 2 + 1), torch.arange(win)) * (2 * math.pi / win)
        window = torch.sin(math.pi * (torch.arange(win) + 0.5) / win)
        self.register_buffer("kernel", (torch.cat([basis.cos(), -basis.sin()]) * window / math.sqrt(win)).unsqueeze(1))
        pairs = list(zip((2, *widths[:-1]), widths))
        self.encoder = nn.ModuleList(nn.Sequential(ComplexConv(a, b), nn.BatchNorm2d(b), nn.PReLU()) for a, b in pairs)
        self.decoder = nn.ModuleList(nn.Sequential(ComplexConv(2 * b, a, up=True), nn.BatchNorm2d(a), nn.PReLU()) for a, b in pairs[::-1])
        flat = widths[-1] * (self.bins >> len(widths))
        self.lstm, self.back = nn.LSTM(flat, 256, 2), nn.Linear(256, flat)

    def forward(self, wav):
        spec = F.conv1d(wav.unsqueeze(1), self.kernel, stride=self.hop)
        real, imag = spec.chunk(2, 1)
        mag, phase = torch.sqrt(real**2 + imag**2 + 1e-8), torch.atan2(imag, real + 1e-8)
        x = torch.stack([real, imag], 1)[:, :, 1:]
        skips = []
        for layer in self.encoder:
            x = layer(x)
            skips.append(x)
        b, c, f, t = x.shape
        h, _ = self.lstm(x.permute(3, 0, 1, 2).reshape(t, b, c * f))
        x = self.back(h).view(t, b, c, f).permute(1, 2, 3, 0)
        for layer in self.decoder:
            (xr, xi), (sr, si) = x.chunk(2, 1), skips.pop().chunk(2, 1)
            x = layer(torch.cat([xr, sr, xi, si], 1))
        mask = F.pad(x, [0, 0, 1, 0])
        size = torch.tanh((mask**2).sum(1).add(1e-8).sqrt())
        angle = phase + torch.atan2(mask[:, 1], mask[:, 0] + 1e-8)
        out = torch.cat([mag * size * torch.cos(angle), mag * size * torch.sin(angle)], 1)
        return F.conv_transpose1d(out, self.kernel, stride=self.hop).squeeze(1)


@model("audio")
def complex_mask_denoiser(small):
    batch, length, win, hop, widths = (2, 400, 64, 16, (4, 8)) if small else (16, 64_000, 512, 128, (32, 64, 128, 128, 256, 256))
    frames = (length - win) // hop
    clean = torch.randn(batch, frames * hop + win)

    def si_snr(out):
        s, e = clean - clean.mean(-1, keepdim=True), out - out.mean(-1, keepdim=True)
        s = (e * s).sum(-1, keepdim=True) * s / (s.pow(2).sum(-1, keepdim=True) + 1e-8)
        return -10 * torch.log10(s.pow(2).sum(-1) / ((e - s).pow(2).sum(-1) + 1e-8) + 1e-8).mean()

    return ComplexMask(win, hop, widths), (torch.randn(batch, frames * hop + win),), si_snr


def fft2c(x):
    return torch.fft.fftshift(torch.fft.fft2(torch.fft.ifftshift(x, dim=(-2, -1)), norm="ortho"), dim=(-2, -1))


def ifft2c(x):
    return torch.fft.fftshift(torch.fft.ifft2(torch.fft.ifftshift(x, dim=(-2, -1)), norm="ortho"), dim=(-2, -1))


class Cascade(nn.Module):
    def __init__(self, w):
        super().__init__()
        self.down = nn.Sequential(
            nn.Conv2d(2, w, 3, 1, 1), nn.InstanceNorm2d(w), nn.LeakyReLU(0.2), nn.Conv2d(w, w, 3, 1, 1), nn.LeakyReLU(0.2)
        )
        self.mid = nn.Sequential(
            nn.Conv2d(w, 2 * w, 3, 1, 1), nn.InstanceNorm2d(2 * w), nn.LeakyReLU(0.2), nn.ConvTranspose2d(2 * w, w, 2, 2)
        )
        self.last = nn.Sequential(nn.Conv2d(2 * w, w, 3, 1, 1), nn.LeakyReLU(0.2), nn.Conv2d(w, 2, 1))
        self.step = nn.Parameter(torch.ones(1))

    def forward(self, current, measured, mask, maps):
        image = (ifft2c(current) * maps.conj()).sum(1)
        x = torch.view_as_real(image).permute(0, 3, 1, 2)
        mean, std = x.mean((2, 3), keepdim=True), x.std((2, 3), keepdim=True) + 1e-6
        y = self.down(((x - mean) / std).to(self.step.dtype))
        y = self.last(torch.cat([self.mid(F.avg_pool2d(y, 2)), y], 1)).float() * std + mean
        refined = fft2c(torch.view_as_complex(y.permute(0, 2, 3, 1).contiguous()).unsqueeze(1) * maps)
        return current - torch.where(mask, current - measured, torch.zeros_like(current)) * self.step - refined


class UnrolledScan(nn.Module):
    """Undersampled k-space of many coils: in turns a small net on the image and a step back towards what was measured."""

    def __init__(self, w, cascades):
        super().__init__()
        self.cascades = nn.ModuleList(Cascade(w) for _ in range(cascades))

    def forward(self, kspace, mask, maps):
        k = kspace
        for cascade in self.cascades:
            k = cascade(k, kspace, mask, maps)
        return ifft2c(k).abs().square().sum(1).sqrt()


@model("medical")
def unrolled_mri(small):
    batch, coils, size, w, cascades = (1, 2, 16, 4, 1) if small else (2, 12, 320, 48, 6)
    mask = torch.rand(batch, 1, 1, size) < 0.3
    maps = torch.randn(batch, coils, size, size, dtype=torch.complex64) / math.sqrt(coils)
    truth = torch.rand(batch, size, size)
    inputs = (torch.randn(batch, coils, size, size, dtype=torch.complex64) * mask, mask, maps)
    return UnrolledScan(w, cascades), inputs, lambda out: F.l1_loss(out, truth)


def windows(x, n):
    b, d, h, w, c = x.shape
    return x.view(b, d // n, n, h // n, n, w // n, n, c).permute(0, 1, 3, 5, 2, 4, 6, 7).reshape(-1, n**3, c)


def unwindows(x, n, b, d, h, w):
    return x.view(b, d // n, h // n, w // n, n, n, n, -1).permute(0, 1, 4, 2, 5, 3, 6, 7).reshape(b, d, h, w, -1)


class WindowBlock3d(nn.Module):
    def __init__(self, dim, heads, n, size, shift):
        super().__init__()
        self.n, self.shift, self.heads = n, n // 2 if shift and size > n else 0, heads
        self.norm1, self.norm2, self.qkv, self.proj = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        self.table = nn.Parameter(torch.zeros((2 * n - 1) ** 3, heads))
        at = torch.stack(torch.meshgrid(*(torch.arange(n),) * 3, indexing="ij")).flatten(1)
        gap = (at[:, :, None] - at[:, None]) + n - 1
        self.register_buffer("index", (gap[0] * (2 * n - 1) + gap[1]) * (2 * n - 1) + gap[2])
        if self.shift:
            part = (torch.arange(size) >= size - n).long() + (torch.arange(size) >= size - self.shift).long()
            label = windows((part[:, None, None] * 9 + part[:, None] * 3 + part)[None, ..., None], n).squeeze(-1)
            self.register_buffer("mask", (label[:, None] != label[:, :, None]).float() * -100.0)

    def forward(self, x):
        b, d, h, w, c = x.shape
        y = self.norm1(x)
        if self.shift:
            y = torch.roll(y, (-self.shift,) * 3, (1, 2, 3))
        y = windows(y, self.n)
        q, k, v = self.qkv(y).reshape(len(y), -1, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        attn = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
        attn = attn + self.table[self.index.view(-1)].view(*self.index.shape, -1).permute(2, 0, 1)
        if self.shift:
            attn = attn.view(b, -1, *attn.shape[1:]) + self.mask[None, :, None]
            attn = attn.flatten(0, 1)
        y = self.proj((attn.softmax(-1) @ v).transpose(1, 2).reshape(len(y), -1, c))
        y = unwindows(y, self.n, b, d, h, w)
        if self.shift:
            y = torch.roll(y, (self.shift,) * 3, (1, 2, 3))
        x = x + y
        return x + self.mlp(self.norm2(x))


class WindowVolumes(nn.Module):
    """A CT volume: attention in shifted windows at three sizes, merged by eights, decoded by transposed convolutions."""

    def __init__(self, dim, size, n, organs):
        super().__init__()
        self.patch = nn.Conv3d(1, dim, 2, 2)
        self.stages, self.merge, self.up, self.mix = (nn.ModuleList() for _ in range(4))
        for i in range(3):
            c, s = dim * 2**i, size // 2 ** (i + 1)
            self.stages.append(nn.Sequential(*(WindowBlock3d(c, max(1, c // 16), n, s, shift=j % 2) for j in range(2))))
            if i < 2:
                self.merge.append(nn.Sequential(nn.LayerNorm(8 * c), nn.Linear(8 * c, 2 * c, bias=False)))
                self.up.append(nn.ConvTranspose3d(2 * c, c, 2, 2))
                self.mix.append(
                    nn.Sequential(nn.Conv3d(2 * c, c, 3, 1, 1, bias=False), nn.InstanceNorm3d(c), nn.LeakyReLU(0.01, inplace=True))
                )
        self.last = nn.Sequential(
            nn.ConvTranspose3d(dim, dim // 2, 2, 2), nn.InstanceNorm3d(dim // 2), nn.LeakyReLU(0.01), nn.Conv3d(dim // 2, organs, 1)
        )

    def forward(self, vol):
        x = self.patch(vol).permute(0, 2, 3, 4, 1)
        kept = []
        for i, stage in enumerate(self.stages):
            x = stage(x)
            kept.append(x.permute(0, 4, 1, 2, 3).contiguous())
            if i < 2:
                x = self.merge[i](torch.cat([x[:, a::2, b::2, c::2] for a in (0, 1) for b in (0, 1) for c in (0, 1)], -1))
        y = kept[-1]
        for i in (1, 0):
            y = self.mix[i](torch.cat([self.up[i](y), kept[i]], 1))
        return self.last(y)


@model("medical")
def shifted_window_volumes(small):
    batch, size, dim, n = (1, 16, 16, 2) if small else (2, 96, 48, 6)
    truth = torch.randint(14, (batch, size, size, size))

    def loss(out):
        p, y = out.float().softmax(1), F.one_hot(truth, 14).permute(0, 4, 1, 2, 3)
        dice = 2 * (p * y).sum((2, 3, 4)) / (p.sum((2, 3, 4)) + y.sum((2, 3, 4)) + 1e-5)
        return F.cross_entropy(out, truth) + 1 - dice.mean()

    return WindowVolumes(dim, size, n, 14), (torch.randn(batch, 1, size, size, size),), loss
