"""Generative models: samplers, autoencoders, adversarial steps, flows."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def time_embedding(t, width):
    rates = torch.exp(-math.log(10000) * torch.arange(width // 2, device=t.device) / (width // 2))
    angles = t[:, None].float() * rates
    return torch.cat([angles.cos(), angles.sin()], -1)


class NoiseBlock(nn.Module):
    def __init__(self, a, b, embedding):
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(min(8, a), a), nn.GroupNorm(min(8, b), b)
        self.c1, self.c2 = nn.Conv2d(a, b, 3, padding=1), nn.Conv2d(b, b, 3, padding=1)
        self.t = nn.Linear(embedding, 2 * b)
        self.short = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, t):
        scale, shift = self.t(F.silu(t))[:, :, None, None].chunk(2, 1)
        y = self.c1(F.silu(self.n1(x)))
        return self.short(x) + self.c2(F.silu(self.n2(y) * (1 + scale) + shift))


class NoiseNet(nn.Module):
    def __init__(self, w, embedding):
        super().__init__()
        self.embedding = embedding
        self.time = nn.Sequential(nn.Linear(embedding, embedding), nn.SiLU(), nn.Linear(embedding, embedding))
        self.enter, self.leave = nn.Conv2d(3, w, 3, padding=1), nn.Conv2d(w, 3, 3, padding=1)
        self.d1, self.d2, self.m = (NoiseBlock(a, b, embedding) for a, b in ((w, w), (w, 2 * w), (2 * w, 2 * w)))
        self.u2, self.u1 = NoiseBlock(4 * w, w, embedding), NoiseBlock(2 * w, w, embedding)
        self.attend = nn.MultiheadAttention(2 * w, 4, batch_first=True)

    def forward(self, x, t):
        t = self.time(time_embedding(t, self.embedding).to(x.dtype))
        a = self.d1(self.enter(x), t)
        b = self.d2(F.avg_pool2d(a, 2), t)
        y = self.m(F.avg_pool2d(b, 2), t)
        flat = y.flatten(2).transpose(1, 2)
        y = y + self.attend(flat, flat, flat, need_weights=False)[0].transpose(1, 2).view_as(y)
        y = self.u2(torch.cat([F.interpolate(y, scale_factor=2.0), b], 1), t)
        return self.leave(self.u1(torch.cat([F.interpolate(y, scale_factor=2.0), a], 1), t))


class Ddpm(nn.Module):
    """Ancestral sampling in a loop of few steps."""

    def __init__(self, width, steps):
        super().__init__()
        self.net, self.steps = NoiseNet(width, 128), steps
        betas = torch.linspace(1e-4, 0.02, steps)
        self.register_buffer("betas", betas)
        self.register_buffer("kept", torch.cumprod(1 - betas, 0))

    def forward(self, x):
        for i in reversed(range(self.steps)):
            t = torch.full((x.shape[0],), i, device=x.device, dtype=torch.long)
            noise = self.net(x, t)
            beta, kept = self.betas[i], self.kept[i]
            x = (x - beta / torch.sqrt(1 - kept) * noise) / torch.sqrt(1 - beta)
            if i > 0:
                x = x + torch.sqrt(beta) * torch.randn_like(x)
        return x.clamp(-1, 1)


@model("diffusion")
def ddpm_sampler(small):
    batch, size, width, steps = (1, 8, 8, 2) if small else (16, 32, 64, 8)
    return Ddpm(width, steps), (torch.randn(batch, 3, size, size),), None


class DenoisingLoss(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = NoiseNet(width, 128)
        self.register_buffer("kept", torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0))

    def forward(self, x, t, noise):
        kept = self.kept[t].view(-1, 1, 1, 1)
        return F.mse_loss(self.net(kept.sqrt() * x + (1 - kept).sqrt() * noise, t), noise)


@model("diffusion")
def denoising_loss(small):
    batch, size, width = (1, 8, 8) if small else (32, 64, 64)
    inputs = torch.randn(batch, 3, size, size), torch.randint(1000, (batch,)), torch.randn(batch, 3, size, size)
    return DenoisingLoss(width), inputs, lambda out: out


class AdaptiveBlock(nn.Module):
    """Scale, shift and gate from the condition."""

    def __init__(self, width, heads):
        super().__init__()
        self.n1, self.n2 = (nn.LayerNorm(width, elementwise_affine=False, eps=1e-6) for _ in range(2))
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(approximate="tanh"), nn.Linear(4 * width, width))
        self.ada = nn.Sequential(nn.SiLU(), nn.Linear(width, 6 * width))
        self.heads = heads

    def forward(self, x, c):
        shift1, scale1, gate1, shift2, scale2, gate2 = self.ada(c).unsqueeze(1).chunk(6, dim=-1)
        y = self.n1(x) * (1 + scale1) + shift1
        q, k, v = self.qkv(y).reshape(*y.shape[:2], 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + gate1 * self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
        return x + gate2 * self.mlp(self.n2(x) * (1 + scale2) + shift2)


class GuidedTransformer(nn.Module):
    """DDIM steps of a diffusion transformer; with and without the label in one batch."""

    def __init__(self, width, heads, layers, steps, patches):
        super().__init__()
        self.enter, self.leave = nn.Linear(16, width), nn.Linear(width, 16)
        self.places = nn.Parameter(torch.randn(1, patches, width) * 0.02)
        self.labels = nn.Embedding(1001, width)
        self.time = nn.Sequential(nn.Linear(256, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(AdaptiveBlock(width, heads) for _ in range(layers))
        self.steps = steps

    def denoise(self, x, t, y):
        c = self.time(time_embedding(t, 256).to(x.dtype)) + self.labels(y)
        x = self.enter(x) + self.places
        for block in self.blocks:
            x = block(x, c)
        return self.leave(x)

    def forward(self, x, y):
        y = torch.cat([y, torch.full_like(y, 1000)])
        for i in range(self.steps, 0, -1):
            now, then = math.cos(0.5 * math.pi * i / (self.steps + 1)), math.cos(0.5 * math.pi * (i - 1) / (self.steps + 1))
            t = torch.full((2 * len(x),), 1000 * i // self.steps, device=x.device)
            with_label, without = self.denoise(torch.cat([x, x]), t, y).chunk(2)
            noise = without + 4.0 * (with_label - without)
            clean = (x - math.sqrt(1 - now**2) * noise) / max(now, 0.05)
            x = then * clean + math.sqrt(1 - then**2) * noise
        return x


@model("diffusion")
def guided_ddim_transformer(small):
    batch, patches, width, layers, steps = (1, 4, 32, 1, 2) if small else (8, 256, 384, 6, 4)
    inputs = torch.randn(batch, patches, 16), torch.randint(1000, (batch,))
    return GuidedTransformer(width, 4 if small else 6, layers, steps, patches), inputs, None


class Vae(nn.Module):
    def __init__(self, width, latent, size):
        super().__init__()
        self.flat = (4 * width, size // 8, size // 8)
        n = math.prod(self.flat)
        pairs = ((3, width), (width, 2 * width), (2 * width, 4 * width))
        self.encoder = nn.Sequential(
            *(m for a, b in pairs for m in (nn.Conv2d(a, b, 4, 2, 1), nn.BatchNorm2d(b), nn.LeakyReLU())), nn.Flatten()
        )
        self.mu, self.log_var, self.enter = nn.Linear(n, latent), nn.Linear(n, latent), nn.Linear(latent, n)
        back = [m for a, b in pairs[::-1] for m in (nn.ConvTranspose2d(b, a, 4, 2, 1), nn.LeakyReLU())]
        self.decoder = nn.Sequential(*back[:-1])

    def forward(self, x):
        h = self.encoder(x)
        mu, log_var = self.mu(h), self.log_var(h).clamp(-10, 10)
        z = mu + torch.exp(0.5 * log_var) * torch.randn_like(mu)
        y = torch.sigmoid(self.decoder(self.enter(z).view(-1, *self.flat)))
        kl = -0.5 * (1 + log_var - mu.pow(2) - log_var.exp()).sum(1).mean()
        return y, kl


@model("autoencoder")
def convolutional_vae(small):
    batch, size, width = (2, 16, 4) if small else (128, 64, 64)
    x = torch.rand(batch, 3, size, size)
    return Vae(width, 128, size), (x,), lambda out: F.mse_loss(out[0], x, reduction="sum") / batch + out[1]


class VqVae(nn.Module):
    def __init__(self, width, codes):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, width, 4, 2, 1), nn.ReLU(), nn.Conv2d(width, 64, 3, 1, 1)
        )
        self.codes = nn.Embedding(codes, 64)
        self.decoder = nn.Sequential(
            nn.Conv2d(64, width, 3, 1, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(width, width, 4, 2, 1),
            nn.ReLU(),
            nn.ConvTranspose2d(width, 3, 4, 2, 1),
        )

    def forward(self, x):
        z = self.encoder(x).permute(0, 2, 3, 1).contiguous()
        flat = z.view(-1, 64)
        distances = (flat**2).sum(1, keepdim=True) + (self.codes.weight**2).sum(1) - 2 * flat @ self.codes.weight.t()
        hot = torch.zeros_like(distances).scatter_(1, distances.argmin(1, keepdim=True), 1)
        q = (hot @ self.codes.weight).view_as(z)
        cost = F.mse_loss(q.detach(), z) * 0.25 + F.mse_loss(q, z.detach())
        perplexity = torch.exp(-(hot.mean(0) * torch.log(hot.mean(0) + 1e-10)).sum())
        return self.decoder((z + (q - z).detach()).permute(0, 3, 1, 2)), cost, perplexity


@model("autoencoder")
def one_hot_vq_vae(small):
    batch, size, width, codes = (1, 8, 8, 16) if small else (64, 64, 128, 512)
    x = torch.rand(batch, 3, size, size)
    return VqVae(width, codes), (x,), lambda out: F.mse_loss(out[0], x) + out[1]


class AdversarialLosses(nn.Module):
    """Both players' hinge losses in one call; the discriminator is spectrally normed."""

    def __init__(self, latent, w, size):
        super().__init__()
        norm = nn.utils.parametrizations.spectral_norm
        up = [nn.ConvTranspose2d(latent, 4 * w, size // 8, 1, 0), nn.BatchNorm2d(4 * w), nn.ReLU(True)]
        for a, b in ((4 * w, 2 * w), (2 * w, w)):
            up += [nn.ConvTranspose2d(a, b, 4, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True)]
        self.make = nn.Sequential(*up, nn.ConvTranspose2d(w, 3, 4, 2, 1), nn.Tanh())
        down = [m for a, b in ((3, w), (w, 2 * w), (2 * w, 4 * w)) for m in (norm(nn.Conv2d(a, b, 4, 2, 1)), nn.LeakyReLU(0.2, True))]
        self.judge = nn.Sequential(*down, norm(nn.Conv2d(4 * w, 1, size // 8)))

    def forward(self, real, z):
        fake = self.make(z)
        judged = F.relu(1 - self.judge(real)).mean() + F.relu(1 + self.judge(fake.detach())).mean()
        return judged - self.judge(fake).mean()


@model("GAN")
def adversarial_hinge_step(small):
    batch, size, width = (2, 16, 4) if small else (64, 64, 64)
    return AdversarialLosses(128, width, size), (torch.rand(batch, 3, size, size) * 2 - 1, torch.randn(batch, 128, 1, 1)), lambda out: out


class ModulatedConvolution(nn.Module):
    """Weights made per sample from a style, run as one grouped convolution."""

    def __init__(self, a, b, style, up=False):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(1, b, a, 3, 3))
        self.style, self.up = nn.Linear(style, a), up
        self.noise = nn.Parameter(torch.zeros(1))

    def forward(self, x, s):
        n, a, h, w = x.shape
        weight = self.weight * (self.style(s) + 1).view(n, 1, a, 1, 1)
        weight = weight * torch.rsqrt(weight.pow(2).sum((2, 3, 4), keepdim=True) + 1e-8)
        if self.up:
            x = F.interpolate(x, scale_factor=2, mode="bilinear", align_corners=False)
            h, w = 2 * h, 2 * w
        y = F.conv2d(x.reshape(1, -1, h, w), weight.flatten(0, 1), padding=1, groups=n).view(n, -1, h, w)
        return F.leaky_relu(y + self.noise * torch.randn(n, 1, h, w, device=x.device, dtype=x.dtype), 0.2)


class StyleGenerator(nn.Module):
    def __init__(self, widths, style):
        super().__init__()
        self.map = nn.Sequential(*(m for _ in range(6) for m in (nn.Linear(style, style), nn.LeakyReLU(0.2))))
        self.start = nn.Parameter(torch.randn(1, widths[0], 4, 4))
        self.layers = nn.ModuleList(
            ModulatedConvolution(a, b, style, up) for a, b in itertools.pairwise(widths) for a, up in ((a, True), (b, False))
        )
        self.out = nn.Conv2d(widths[-1], 3, 1)

    def forward(self, z):
        s = self.map(z / z.square().mean(1, keepdim=True).add(1e-8).sqrt())
        x = self.start.repeat(len(z), 1, 1, 1)
        for layer in self.layers:
            x = layer(x, s)
        return self.out(x)


@model("GAN")
def modulated_generator(small):
    batch, widths, style = (2, (8, 8, 4), 16) if small else (8, (256, 256, 256, 128, 64, 32), 512)
    return StyleGenerator(widths, style), (torch.randn(batch, style),), lambda out: F.softplus(-out).mean()


class Coupling(nn.Module):
    def __init__(self, dim, width, flip):
        super().__init__()
        half = dim // 2
        self.net = nn.Sequential(nn.Linear(half, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2 * half))
        self.flip = flip

    def forward(self, x, log_det):
        a, b = x.chunk(2, 1)
        if self.flip:
            a, b = b, a
        s, t = self.net(a).chunk(2, 1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat([b, a] if self.flip else [a, b], 1), log_det + s.sum(1)


class RealNvp(nn.Module):
    def __init__(self, dim, width, layers):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(dim, width, bool(i % 2)) for i in range(layers))

    def forward(self, x):
        log_det = x.new_zeros(len(x))
        for layer in self.layers:
            x, log_det = layer(x, log_det)
        return 0.5 * x.pow(2).sum(1) + 0.5 * x.shape[1] * math.log(2 * math.pi) - log_det


@model("normalising flow")
def coupling_flow(small):
    batch, dim, width, layers = (4, 6, 8, 2) if small else (16_384, 64, 256, 12)
    return RealNvp(dim, width, layers), (torch.randn(batch, dim),), lambda out: out.mean()


class MaskedConvolution(nn.Conv2d):
    def __init__(self, kind, *args, **options):
        super().__init__(*args, **options)
        mask = torch.ones_like(self.weight)
        _, _, h, w = self.weight.shape
        mask[:, :, h // 2, w // 2 + (kind == "B") :] = 0
        mask[:, :, h // 2 + 1 :] = 0
        self.register_buffer("mask", mask)

    def forward(self, x):
        return self._conv_forward(x, self.weight * self.mask, self.bias)


@model("autoregressive image")
def masked_pixel_network(small):
    batch, size, width, layers = (1, 8, 8, 1) if small else (32, 32, 128, 8)
    body = [m for _ in range(layers) for m in (MaskedConvolution("B", width, width, 7, padding=3), nn.BatchNorm2d(width), nn.ReLU())]
    net = nn.Sequential(MaskedConvolution("A", 1, width, 7, padding=3), *body, nn.Conv2d(width, 256, 1))
    target = torch.randint(256, (batch, size, size))
    return net, (torch.rand(batch, 1, size, size),), lambda out: F.cross_entropy(out, target)
