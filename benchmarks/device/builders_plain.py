"""Models written out in PyTorch alone: blocks of a diffusion U-Net, an MLP, VGG, an encoder, a keyword spotter."""

import torch
import torch.nn.functional as F
from builders import Builders, image
from torch import nn

BUILDERS = Builders()
model = BUILDERS.model


class ResidualBlock(nn.Module):
    """A diffusion U-Net's residual block."""

    def __init__(self, width, embedding=1280):
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(32, width), nn.GroupNorm(32, width)
        self.conv1 = nn.Conv2d(width, width, 3, padding=1)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)
        self.time = nn.Linear(embedding, width)

    def forward(self, x, t):
        y = self.conv1(F.silu(self.norm1(x)))
        y = y + self.time(F.silu(t))[:, :, None, None]
        return x + self.conv2(F.silu(self.norm2(y)))


class Attention(nn.Module):
    """Multi-head attention over x, or over a context of another width."""

    def __init__(self, width, heads, context=None):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(context or width, width, bias=False)
        self.v = nn.Linear(context or width, width, bias=False)
        self.out = nn.Linear(width, width)

    def forward(self, x, context=None):
        context = x if context is None else context
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in (self.q(x), self.k(context), self.v(context)))
        mixed = F.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).flatten(2))


class AttentionBlock(nn.Module):
    """A residual block, then self-attention, cross-attention and GEGLU."""

    def __init__(self, width=320, heads=8, context=768):
        super().__init__()
        self.residual = ResidualBlock(width)
        self.norm = nn.GroupNorm(32, width)
        self.enter, self.leave = nn.Conv2d(width, width, 1), nn.Conv2d(width, width, 1)
        self.norm1, self.norm2, self.norm3 = (nn.LayerNorm(width) for _ in range(3))
        self.attend = Attention(width, heads)
        self.cross = Attention(width, heads, context)
        self.up, self.down = nn.Linear(width, 8 * width), nn.Linear(4 * width, width)

    def forward(self, x, t, context):
        x = self.residual(x, t)
        y = self.enter(self.norm(x))
        height = y.shape[2]
        y = y.flatten(2).transpose(1, 2)
        y = y + self.attend(self.norm1(y))
        y = y + self.cross(self.norm2(y), context)
        value, gate = self.up(self.norm3(y)).chunk(2, -1)
        y = y + self.down(value * F.gelu(gate))
        y = y.transpose(1, 2).unflatten(2, (height, -1))
        return x + self.leave(y.contiguous())


@model("unet_residual_block", batch=(1, 8), compiled=(8,), channels=320, size=64,
       embedding=1280)  # fmt: skip
def unet_residual_block(p):
    inputs = (image(p["batch"], 320, 64), torch.randn(p["batch"], 1280))
    return ResidualBlock(320), inputs, {}


@model("unet_attention_block", batch=(1, 8), channels=320, size=64, embedding=1280,
       heads=8, context=77, context_width=768)  # fmt: skip
def unet_attention_block(p):
    batch = p["batch"]
    inputs = (
        image(batch, 320, 64),
        torch.randn(batch, 1280),
        torch.randn(batch, 77, 768),
    )
    return AttentionBlock(), inputs, {}


@model("mlp", batch=(1, 256, 8192), compiled=(8192,), width=4096, layers=4)
def mlp(p):
    layers = [part for _ in range(4) for part in (nn.Linear(4096, 4096), nn.ReLU())]
    return nn.Sequential(*layers), (torch.randn(p["batch"], 4096),), {}


@model("vgg16", batch=(1, 32), image=224)
def vgg16(p):
    layers, before = [], 3
    for width in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0,
                  512, 512, 512, 0):  # fmt: skip
        if width:
            layers += [nn.Conv2d(before, width, 3, padding=1), nn.ReLU(inplace=True)]
            before = width
        else:
            layers.append(nn.MaxPool2d(2))
    layers += [nn.Flatten(), nn.Linear(25088, 4096), nn.ReLU(inplace=True)]
    layers += [nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Linear(4096, 1000)]
    return nn.Sequential(*layers), (image(p["batch"]),), {}


@model("transformer_encoder", batch=(16,), compiled=(16,), seq=256, hidden=512,
       layers=6, heads=8, ffn=2048)  # fmt: skip
def transformer_encoder(p):
    torch.backends.mha.set_fastpath_enabled(False)
    layer = nn.TransformerEncoderLayer(512, 8, 2048, batch_first=True)
    built = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False)
    return built, (torch.randn(p["batch"], p["seq"], 512),), {}


@model("ds_cnn", batch=(1, 256), height=49, width=10, channels=64, blocks=4)
def ds_cnn(p):
    def convolution(c, out, kernel, **more):
        conv = nn.Conv2d(c, out, kernel, bias=False, **more)
        return [conv, nn.BatchNorm2d(out), nn.ReLU()]

    layers = convolution(1, 64, (10, 4), stride=2, padding=(5, 1))
    for _ in range(4):
        layers += convolution(64, 64, 3, padding=1, groups=64)
        layers += convolution(64, 64, 1)
    layers += [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 12)]
    inputs = (torch.randn(p["batch"], 1, 49, 10),)
    return nn.Sequential(*layers), inputs, {}
