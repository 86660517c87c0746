"""Half of the second set of training steps (`training_models_2.py`): pictures. Sealed on 2026-11-19."""

import torch
from torch import nn
from torch.nn import functional as F
from training_models import Plus, Stack, Trained, classes
from training_models_2_sequences import Again

MODELS = {}


def model(build):
    MODELS[build.__name__] = build
    return build


@model
def tissue_outlines(small):
    """A U-Net with group norm: two halves joined by concatenation at every size."""
    c, n, side = (8, 2, 32) if small else (64, 16, 128)

    def double(one, two):
        halves = ((nn.Conv2d(a, two, 3, padding=1), nn.GroupNorm(8, two), nn.SiLU()) for a in (one, two))
        return nn.Sequential(*(part for half in halves for part in half))

    class Outlines(Again):
        def __init__(self):
            super().__init__()
            self.down = nn.ModuleList([double(3, c), double(c, 2 * c), double(2 * c, 4 * c)])
            self.middle = double(4 * c, 4 * c)
            self.up = nn.ModuleList([double(8 * c, 2 * c), double(4 * c, c), double(2 * c, c)])
            self.head = nn.Conv2d(c, 7, 1)

        def forward(self, x):
            kept = []
            for block in self.down:
                kept.append(self.run(block, x))
                x = F.max_pool2d(kept[-1], 2)
            x = self.run(self.middle, x)
            for block in self.up:
                x = self.run(block, torch.cat([F.interpolate(x, scale_factor=2), kept.pop()], 1))
            return self.head(x)

    return Trained(Outlines(), lambda n: (torch.randn(n, 3, side, side), torch.randint(7, (n, side, side))), F.cross_entropy, n, True)


@model
def shifted_windows(small):
    """Attention within windows of a picture, every other time shifted by half a window, with a bias for each distance."""
    d, n, side, window, depths = (16, 2, 16, 4, (2, 2)) if small else (96, 16, 64, 8, (2, 4))

    class Windows(nn.Module):
        def __init__(self, d, side, shift):
            super().__init__()
            self.heads, self.shift = d // (8 if small else 32), shift
            self.norm, self.wide, self.out = nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.bias = nn.Parameter(torch.zeros((2 * window - 1) ** 2, self.heads))
            at = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
            apart = at[:, :, None] - at[:, None] + window - 1
            self.register_buffer("apart", (apart[0] * (2 * window - 1) + apart[1]).flatten())
            part = (torch.arange(side) >= side - window).long() + (torch.arange(side) >= side - shift).long()
            parts = self.windows((3 * part[:, None] + part)[None, :, :, None]).squeeze(2)
            self.register_buffer("mask", torch.where(parts[:, :, None] == parts[:, None], 0.0, -100.0)[:, None] if shift else None)

        def windows(self, x):
            b, h, w, d = x.shape
            return x.view(b, h // window, window, w // window, window, d).transpose(2, 3).reshape(-1, window * window, d)

        def forward(self, x):
            b, h, w, d = x.shape
            y = torch.roll(self.norm(x), (-self.shift, -self.shift), (1, 2)) if self.shift else self.norm(x)
            y = self.windows(y)
            q, k, v = self.wide(y).view(-1, window * window, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
            bias = self.bias[self.apart].view(window * window, window * window, self.heads).permute(2, 0, 1)[None]
            if self.shift:
                bias = (bias + self.mask).repeat(b, 1, 1, 1)
            y = self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=bias).transpose(1, 2).flatten(2))
            y = y.view(b, h // window, w // window, window, window, d).transpose(2, 3).reshape(b, h, w, d)
            return x + (torch.roll(y, (self.shift, self.shift), (1, 2)) if self.shift else y)

    class Merge(nn.Module):
        def __init__(self, d):
            super().__init__()
            self.norm, self.less = nn.LayerNorm(4 * d), nn.Linear(4 * d, 2 * d, bias=False)

        def forward(self, x):
            return self.less(self.norm(torch.cat([x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)], -1)))

    def block(d, side, i):
        wide = Plus(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)))
        return nn.Sequential(Windows(d, side, window // 2 * (i % 2)), wide)

    class Stem(nn.Module):
        def __init__(self):
            super().__init__()
            self.patches, self.norm = nn.Conv2d(3, d, 4, 4), nn.LayerNorm(d)

        def forward(self, x):
            return self.norm(self.patches(x).permute(0, 2, 3, 1))

    class Head(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.out = nn.LayerNorm(2 * d), nn.Linear(2 * d, 100)

        def forward(self, x):
            return self.out(self.norm(x).mean((1, 2)))

    blocks = [block(d, side, i) for i in range(depths[0])] + [Merge(d)] + [block(2 * d, side // 2, i) for i in range(depths[1])]
    return Trained(Stack(Stem(), blocks, Head()), classes((3, 4 * side, 4 * side), 100), F.cross_entropy, n)


@model
def inverted_next(small):
    """Wide depthwise kernels, then two products over the channels of every pixel, each block scaled (ConvNeXt)."""
    dims, depths, n, side = ((16, 32), (1, 1), 2, 32) if small else ((96, 192, 384), (2, 2, 4), 32, 144)

    class Channels(nn.LayerNorm):
        def forward(self, x):
            return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)

    class Block(nn.Module):
        def __init__(self, c):
            super().__init__()
            self.spread, self.norm = nn.Conv2d(c, c, 7, padding=3, groups=c), nn.LayerNorm(c, eps=1e-6)
            self.up, self.down, self.scale = nn.Linear(c, 4 * c), nn.Linear(4 * c, c), nn.Parameter(torch.full((c,), 1e-6))

        def forward(self, x):
            y = self.norm(self.spread(x).permute(0, 2, 3, 1))
            return x + (self.scale * self.down(F.gelu(self.up(y)))).permute(0, 3, 1, 2)

    blocks = [Block(dims[0]) for _ in range(depths[0])]
    for one, two, depth in zip(dims, dims[1:], depths[1:], strict=False):
        blocks += [nn.Sequential(Channels(one), nn.Conv2d(one, two, 2, 2))] + [Block(two) for _ in range(depth)]
    head = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.LayerNorm(dims[-1]), nn.Linear(dims[-1], 365))
    net = Stack(nn.Sequential(nn.Conv2d(3, dims[0], 4, 4), Channels(dims[0])), blocks, head)
    return Trained(net, classes((3, side, side), 365), F.cross_entropy, n, True)


@model
def patches_that_matter(small):
    """A vision transformer that looks at the brighter patches of each picture alone: a mask for every sample."""
    d, layers, side, patch, n = (32, 2, 16, 4, 4) if small else (384, 8, 208, 16, 32)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.LayerNorm(d), nn.LayerNorm(d)
            self.wide, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
            self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Dropout(0.1), nn.Linear(4 * d, d), nn.Dropout(0.1))

        def forward(self, x, mask):
            b, t, _ = x.shape
            q, k, v = self.wide(self.first(x)).view(b, t, 3, d // 32, 32).permute(2, 0, 3, 1, 4)
            x = x + self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2))
            return x + self.mlp(self.second(x))

    class Patches(Again):
        def __init__(self):
            super().__init__()
            self.stem = nn.Conv2d(3, d, patch, patch)
            self.places = nn.Parameter(torch.zeros(1, (side // patch) ** 2, d))
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, 80)

        def forward(self, x):
            bright = F.avg_pool2d(x.mean(1, keepdim=True), patch).flatten(1)
            mask = (bright > bright.mean(1, keepdim=True))[:, None, None]
            y = self.stem(x).flatten(2).transpose(1, 2) + self.places
            for block in self.blocks:
                y = self.run(block, y, mask)
            return self.head(self.norm(y).mean(1))

    return Trained(Patches(), classes((3, side, side), 80), F.cross_entropy, n)


@model
def noised_latents(small):
    """A diffusion transformer: every block is shifted and scaled by what the noise's level says."""
    d, layers, t, n = (32, 2, 16, 4) if small else (512, 8, 256, 12)

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = (nn.LayerNorm(d, elementwise_affine=False) for _ in range(2))
            self.wide, self.out, self.levels = nn.Linear(d, 3 * d), nn.Linear(d, d), nn.Linear(d, 6 * d)
            self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU("tanh"), nn.Linear(4 * d, d))

        def forward(self, x, level):
            b = x.shape[0]
            shift, scale, gate, shift_2, scale_2, gate_2 = self.levels(F.silu(level))[:, None].chunk(6, -1)
            y = self.first(x) * (1 + scale) + shift
            q, k, v = self.wide(y).view(b, t, 3, d // 64 or 1, -1).permute(2, 0, 3, 1, 4)
            x = x + gate * self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            return x + gate_2 * self.mlp(self.second(x) * (1 + scale_2) + shift_2)

    class Denoiser(Again):
        def __init__(self):
            super().__init__()
            self.stem, self.head = nn.Linear(16, d), nn.Linear(d, 16)
            self.level = nn.Sequential(nn.Linear(d, d), nn.SiLU(), nn.Linear(d, d))
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.places = nn.Parameter(torch.zeros(1, t, d))

        def forward(self, x):
            waves = torch.exp(torch.arange(d // 2, device=x.device) * (-9.2 / d * 2))
            angle = x[:, 0, :1] * 1000 * waves
            level = self.level(torch.cat([angle.cos(), angle.sin()], 1))
            x = self.stem(x) + self.places
            for block in self.blocks:
                x = self.run(block, x, level)
            return self.head(x)

    return Trained(Denoiser(), lambda n: (torch.randn(n, t, 16), torch.randn(n, t, 16)), F.mse_loss, n)
