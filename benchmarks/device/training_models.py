"""Twelve models that are in no set and in no library, for timing training steps: nothing was fitted to them, and nothing is to be.

Each is a stem, blocks one after another, and a head, so that every block can be checkpointed. A builder makes its tensors on whatever
device is the default; `small` gives a few milliseconds anywhere.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

MODELS: dict[str, Any] = {}


@dataclass(frozen=True)
class Trained:
    """`batch(n)` makes n samples: what goes in, and what should come out. `images`: whether channels last means anything; `blocks`: whether
    checkpointing does."""

    net: nn.Module
    batch: Any
    loss: Any
    samples: int
    images: bool = False
    blocks: bool = True


class Stack(nn.Module):
    """`again`: every block keeps its input alone and runs a second time on the way back."""

    def __init__(self, stem, blocks, head):
        super().__init__()
        self.stem, self.blocks, self.head = stem, nn.ModuleList(blocks), head
        self.again = False

    def forward(self, x):
        x = self.stem(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.again else block(x)
        return self.head(x)


class Plus(nn.Module):
    """What goes in, and what the inner one makes of it."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return x + self.inner(x)


def model(build):
    MODELS[build.__name__] = build
    return build


def classes(shape, count):
    """Samples of a shape, and one of so many classes for each."""
    return lambda n: (torch.randn(n, *shape), torch.randint(count, (n,)))


def tokens(length, words):
    return lambda n: (torch.randint(words, (n, length)), torch.randint(words, (n, length)))


def by_token(out, wanted):
    return F.cross_entropy(out.flatten(0, 1), wanted.flatten())


def preactivated(c):
    halves = ((nn.BatchNorm2d(c), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1, bias=False)) for _ in range(2))
    return Plus(nn.Sequential(*(part for half in halves for part in half)))


@model
def wide_thumbnails(small):
    c, n, side = (16, 4, 16) if small else (112, 48, 40)
    blocks = [preactivated(c) for _ in range(5)] + [nn.Conv2d(c, 2 * c, 3, 2, 1)] + [preactivated(2 * c) for _ in range(4)]
    head = nn.Sequential(nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * c, 37))
    return Trained(Stack(nn.Conv2d(3, c, 3, padding=1), blocks, head), classes((3, side, side), 37), F.cross_entropy, n, True)


@model
def separable_keypoints(small):
    c, n, side = (16, 4, 32) if small else (192, 56, 176)

    def block():
        spread = nn.Conv2d(c, c, 7, padding=3, groups=c), nn.BatchNorm2d(c)
        return Plus(nn.Sequential(*spread, nn.Conv2d(c, 2 * c, 1), nn.Hardswish(), nn.Conv2d(2 * c, c, 1)))

    head = nn.Sequential(nn.ConvTranspose2d(c, c // 2, 4, 2, 1), nn.ReLU(), nn.Conv2d(c // 2, 19, 1))
    net = Stack(nn.Conv2d(3, c, 8, 8), [block() for _ in range(9)], head)
    return Trained(net, lambda n: (torch.randn(n, 3, side, side), torch.rand(n, 19, side // 4, side // 4)), F.mse_loss, n, True)


@model
def squeezed_gates(small):
    c, n, side = (16, 4, 32) if small else (72, 72, 152)

    class Squeeze(nn.Module):
        def __init__(self, wide):
            super().__init__()
            self.gate = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(wide, wide // 8, 1), nn.SiLU(), nn.Conv2d(wide // 8, wide, 1))

        def forward(self, x):
            return x * torch.sigmoid(self.gate(x))

    def block(c):
        wide = 4 * c
        widened = nn.Conv2d(c, wide, 1, bias=False), nn.BatchNorm2d(wide), nn.SiLU()
        spread = nn.Conv2d(wide, wide, 5, padding=2, groups=wide, bias=False), nn.BatchNorm2d(wide), nn.SiLU()
        return Plus(nn.Sequential(*widened, *spread, Squeeze(wide), nn.Conv2d(wide, c, 1, bias=False), nn.BatchNorm2d(c)))

    blocks = [block(c) for _ in range(3)] + [nn.Conv2d(c, 2 * c, 3, 2, 1)] + [block(2 * c) for _ in range(4)]
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * c, 210))
    return Trained(Stack(nn.Conv2d(3, c, 4, 4), blocks, head), classes((3, side, side), 210), F.cross_entropy, n, True)


@model
def dense_growth(small):
    c, grown, n, side = (8, 8, 4, 16) if small else (96, 40, 24, 56)

    class Grow(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.new = nn.Sequential(nn.BatchNorm2d(c), nn.ELU(), nn.Conv2d(c, grown, 3, padding=1, bias=False))

        def forward(self, x):
            return torch.cat([x, self.new(x)], 1)

    layers = 14
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c + layers * grown, 11))
    net = Stack(nn.Conv2d(4, c, 3, padding=1), [Grow(c + i * grown) for i in range(layers)], head)
    return Trained(net, classes((4, side, side), 11), F.cross_entropy, n, True)


class Attention(nn.Module):
    """`mask`: none, causal, or a band of so many neighbours, which keeps the fused kernels away."""

    def __init__(self, d, heads, mask=None):
        super().__init__()
        self.heads, self.mask = heads, mask
        self.wide, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.wide(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        band = None
        if isinstance(self.mask, int):
            at = torch.arange(t, device=x.device)
            band = (at[:, None] - at).abs() <= self.mask
        mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=band, is_causal=self.mask == "causal")
        return self.out(mixed.transpose(1, 2).reshape(b, t, d))


def layer(d, heads, mask=None, wider=4, norm=nn.LayerNorm, between=nn.GELU):
    mixing = Plus(nn.Sequential(norm(d), Attention(d, heads, mask)))
    return nn.Sequential(mixing, Plus(nn.Sequential(norm(d), nn.Linear(d, wider * d), between(), nn.Linear(wider * d, d))))


@model
def sensor_encoder(small):
    d, layers, t, n = (32, 2, 12, 4) if small else (640, 8, 180, 16)
    head = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 5))
    net = Stack(nn.Linear(52, d), [layer(d, d // 32) for _ in range(layers)], head)
    return Trained(net, lambda n: (torch.randn(n, t, 52), torch.randn(n, t, 5)), F.smooth_l1_loss, n)


@model
def causal_syllables(small):
    d, layers, t, n, words = (32, 2, 16, 4, 50) if small else (576, 7, 448, 6, 23000)
    net = Stack(
        nn.Embedding(words, d), [layer(d, d // 16 if small else 9, "causal") for _ in range(layers)], nn.Linear(d, words, bias=False)
    )
    return Trained(net, tokens(t, words), by_token, n)


@model
def banded_reader(small):
    d, layers, t, n, words = (32, 2, 16, 4, 50) if small else (480, 6, 768, 4, 3000)
    net = Stack(nn.Embedding(words, d), [layer(d, d // 32, 48) for _ in range(layers)], nn.Linear(d, words))
    return Trained(net, tokens(t, words), by_token, n)


@model
def root_norm_decoder(small):
    d, layers, t, n, words = (32, 2, 16, 4, 50) if small else (896, 5, 320, 6, 9000)
    blocks = [layer(d, d // 16 if small else 14, "causal", 3, nn.RMSNorm, nn.SiLU) for _ in range(layers)]
    return Trained(Stack(nn.Embedding(words, d), blocks, nn.Linear(d, words, bias=False)), tokens(t, words), by_token, n)


@model
def patch_mixer(small):
    d, t, layers, n = (32, 12, 2, 4) if small else (416, 112, 10, 32)

    class Turned(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.up, self.down = nn.LayerNorm(d), nn.Linear(t, 2 * t), nn.Linear(2 * t, t)

        def forward(self, x):
            return x + self.down(F.gelu(self.up(self.norm(x).transpose(1, 2)))).transpose(1, 2)

    def block():
        return nn.Sequential(Turned(), Plus(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))))

    net = Stack(nn.Linear(75, d), [block() for _ in range(layers)], nn.Sequential(nn.Flatten(), nn.Linear(t * d, 8)))
    return Trained(net, classes((t, 75), 8), F.cross_entropy, n)


@model
def many_thin_layers(small):
    d, layers, n = (32, 6, 8) if small else (320, 72, 512)
    blocks = [Plus(nn.Sequential(nn.Linear(d, d), nn.LayerNorm(d), nn.Tanh(), nn.Dropout(0.1))) for _ in range(layers)]
    return Trained(Stack(nn.Linear(41, d), blocks, nn.Linear(d, 3)), lambda n: (torch.randn(n, 41), torch.randn(n, 3)), F.mse_loss, n)


@model
def wide_catalogue(small):
    rows, d, n = (500, 16, 8) if small else (310000, 120, 1536)

    class Bags(nn.Module):
        def __init__(self):
            super().__init__()
            self.items, self.shops = nn.Embedding(rows, d), nn.Embedding(rows // 4, d)

        def forward(self, x):
            return torch.cat([self.items(x[:, :24]).mean(1), self.shops(x[:, 24:] // 4).flatten(1)], 1)

    wide = 7 * d
    blocks = [Plus(nn.Sequential(nn.LayerNorm(wide), nn.Linear(wide, 2 * wide), nn.ReLU(), nn.Linear(2 * wide, wide))) for _ in range(3)]
    net = Stack(Bags(), blocks, nn.Sequential(nn.Linear(wide, 1), nn.Flatten(0)))
    return Trained(net, lambda n: (torch.randint(rows, (n, 30)), torch.rand(n)), F.binary_cross_entropy_with_logits, n)


@model
def gated_waves(small):
    c, t, n = (16, 64, 4) if small else (256, 1500, 16)

    class Gated(nn.Module):
        def __init__(self, apart):
            super().__init__()
            self.both, self.out = nn.Conv1d(c, 2 * c, 3, padding=apart, dilation=apart), nn.Conv1d(c, c, 1)

        def forward(self, x):
            a, b = self.both(x).chunk(2, 1)
            return x + self.out(torch.tanh(a) * torch.sigmoid(b))

    net = Stack(nn.Conv1d(9, c, 5, padding=2), [Gated(2 ** (i % 5)) for i in range(11)], nn.Conv1d(c, 6, 1))
    return Trained(net, lambda n: (torch.randn(n, 9, t), torch.randn(n, 6, t)), F.mse_loss, n)
