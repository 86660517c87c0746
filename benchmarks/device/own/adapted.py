"""Nets fitted to less: slots instead of experts for all, weights of three values, four bits under an adapter."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class Slots(nn.Module):
    """Every expert gets a few slots, each a mixture of all tokens; tokens are mixed back from all slots."""

    def __init__(self, d, experts, slots):
        super().__init__()
        self.phi, self.scale = nn.Parameter(torch.randn(d, experts, slots) * d**-0.5), nn.Parameter(torch.ones(()))
        self.up, self.down = (nn.Parameter(torch.randn(experts, a, b) * a**-0.5) for a, b in ((d, 4 * d), (4 * d, d)))
        self.b1, self.b2 = nn.Parameter(torch.zeros(experts, 1, 4 * d)), nn.Parameter(torch.zeros(experts, 1, d))

    def forward(self, x):
        logits = torch.einsum("btd,des->btes", F.normalize(x, dim=-1), self.scale * F.normalize(self.phi, dim=0))
        slots = torch.einsum("btd,btes->ebsd", x, logits.softmax(1).to(x.dtype))
        e, b, s, d = slots.shape
        h = F.gelu(torch.baddbmm(self.b1, slots.reshape(e, b * s, d), self.up))
        y = torch.baddbmm(self.b2, h, self.down).view(e, b, s, d)
        return torch.einsum("ebsd,btes->btd", y, logits.flatten(2).softmax(-1).view_as(logits).to(y.dtype))


class SlotBlock(nn.Module):
    def __init__(self, d, heads, inner):
        super().__init__()
        self.n1, self.n2, self.inner = nn.LayerNorm(d), nn.LayerNorm(d), inner
        self.attend = nn.MultiheadAttention(d, heads, batch_first=True)

    def forward(self, x):
        y = self.n1(x)
        x = x + self.attend(y, y, y, need_weights=False)[0]
        return x + self.inner(self.n2(x))


class SlotVision(nn.Module):
    def __init__(self, d, heads, layers, tokens, experts, slots, classes):
        super().__init__()
        self.patch, self.pos = nn.Linear(3 * 16 * 16, d), nn.Parameter(torch.zeros(1, tokens, d))
        plain = [nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(layers // 2)]
        inner = plain + [Slots(d, experts, slots) for _ in range(layers - layers // 2)]
        self.blocks, self.head = nn.ModuleList(SlotBlock(d, heads, each) for each in inner), nn.Linear(d, classes)

    def forward(self, images):
        x = F.unfold(images, 16, stride=16).transpose(1, 2)
        x = self.patch(x) + self.pos
        for each in self.blocks:
            x = each(x)
        return self.head(x.mean(1))


@model("mixture of experts")
def slots_for_every_expert(small):
    batch, size, d, heads, layers, experts, slots = (2, 32, 16, 2, 2, 3, 2) if small else (48, 224, 384, 6, 6, 24, 8)
    labels = torch.randint(100, (batch,))
    net = SlotVision(d, heads, layers, (size // 16) ** 2, experts, slots, 100)
    return net, (torch.rand(batch, 3, size, size),), lambda out: F.cross_entropy(out, labels, label_smoothing=0.1)


def straight(x, rounded):
    return x + (rounded - x).detach()


class Ternary(nn.Linear):
    """Weights of -1, 0 and 1 times their mean size, activations in eight bits by token; gradients pass as if nothing had been rounded."""

    def forward(self, x):
        x = F.layer_norm(x, x.shape[-1:]).to(self.weight.dtype)
        step = 127.0 / x.abs().amax(-1, keepdim=True).clamp(min=1e-5)
        x = straight(x, (x * step).round().clamp(-128, 127) / step)
        size = self.weight.abs().mean().clamp(min=1e-5)
        return F.linear(x, straight(self.weight, (self.weight / size).round().clamp(-1, 1) * size))


class TernaryBlock(nn.Module):
    def __init__(self, d, heads, shared):
        super().__init__()
        self.h, self.shared = heads, shared
        self.q, self.k, self.v = Ternary(d, d, False), Ternary(d, d // shared, False), Ternary(d, d // shared, False)
        self.o, self.gate, self.up, self.down = (
            Ternary(d, d, False),
            Ternary(d, 3 * d, False),
            Ternary(d, 3 * d, False),
            Ternary(3 * d, d, False),
        )

    def forward(self, x, cos, sin):
        b, t, _ = x.shape
        q, k, v = (
            f(x).view(b, t, n, -1).transpose(1, 2)
            for f, n in ((self.q, self.h), (self.k, self.h // self.shared), (self.v, self.h // self.shared))
        )

        def turned(y):
            one, two = y.chunk(2, -1)
            return torch.cat([one * cos - two * sin, one * sin + two * cos], -1).to(v.dtype)

        k, v = turned(k).repeat_interleave(self.shared, 1), v.repeat_interleave(self.shared, 1)
        x = x + self.o(F.scaled_dot_product_attention(turned(q), k, v, is_causal=True).transpose(1, 2).reshape(b, t, -1))
        return x + self.down(F.relu(self.gate(x)).square() * self.up(x))


class TernaryWriter(nn.Module):
    def __init__(self, words, d, heads, shared, layers, longest):
        super().__init__()
        self.embed, self.norm = nn.Embedding(words, d), nn.LayerNorm(d)
        self.blocks = nn.ModuleList(TernaryBlock(d, heads, shared) for _ in range(layers))
        angle = torch.outer(torch.arange(longest), 10_000.0 ** -torch.linspace(0, 1, d // heads // 2))
        self.register_buffer("cos", angle.cos())
        self.register_buffer("sin", angle.sin())

    def forward(self, ids):
        x, t = self.embed(ids), ids.shape[1]
        for each in self.blocks:
            x = each(x, self.cos[:t], self.sin[:t])
        return self.norm(x).to(x.dtype) @ self.embed.weight.t().to(x.dtype)


@model("quantised")
def weights_of_three_values(small):
    batch, length, words, d, heads, shared, layers = (2, 6, 30, 32, 4, 2, 1) if small else (8, 320, 16_000, 640, 10, 2, 6)
    target = torch.randint(words, (batch * length,))
    net = TernaryWriter(words, d, heads, shared, layers, length)
    return net, (torch.randint(words, (batch, length)),), lambda out: F.cross_entropy(out.flatten(0, 1).float(), target)


class FourBitLora(nn.Module):
    """A frozen weight in four bits, two to a byte, looked up in a table of sixteen; scales in eight bits; a trained detour of low rank."""

    def __init__(self, a, b, rank, block=64):
        super().__init__()
        self.shape, self.block = (b, a), block
        self.register_buffer("codes", torch.randint(256, (b * a // 2,), dtype=torch.uint8))
        self.register_buffer("scales", torch.randint(-127, 128, (b * a // block,), dtype=torch.int8))
        self.register_buffer("table", torch.linspace(-1, 1, 16))
        self.register_buffer("second", torch.rand(()) * 1e-3)
        self.register_buffer("mean", torch.full((), 0.03))
        self.down, self.up, self.drop = nn.Linear(a, rank, False), nn.Linear(rank, b, False), nn.Dropout(0.05)
        nn.init.zeros_(self.up.weight)

    def weight(self):
        both = torch.stack([self.codes >> 4, self.codes & 15], -1).flatten().int()
        scale = self.scales.to(self.table.dtype) * self.second + self.mean
        return (self.table[both].view(-1, self.block) * scale.unsqueeze(-1)).view(self.shape)

    def forward(self, x):
        return F.linear(x, self.weight().to(x.dtype)) + 2.0 * self.up(self.down(self.drop(x)))


class FourBitBlock(nn.Module):
    def __init__(self, d, heads, hidden, rank):
        super().__init__()
        self.h, self.n1, self.n2 = heads, nn.RMSNorm(d), nn.RMSNorm(d)
        self.q, self.k, self.v, self.o = (FourBitLora(d, d, rank) for _ in range(4))
        self.gate, self.up, self.down = FourBitLora(d, hidden, rank), FourBitLora(d, hidden, rank), FourBitLora(hidden, d, rank)

    def forward(self, x):
        y = self.n1(x)
        q, k, v = (f(y).unflatten(-1, (self.h, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        x = x + self.o(F.scaled_dot_product_attention(q, k, v.to(q.dtype), is_causal=True).transpose(1, 2).flatten(2))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class FourBitTagger(nn.Module):
    def __init__(self, d, heads, hidden, rank, layers, tags):
        super().__init__()
        self.blocks, self.head = nn.ModuleList(FourBitBlock(d, heads, hidden, rank) for _ in range(layers)), nn.Linear(d, tags)

    def forward(self, x):
        for each in self.blocks:
            x = each(x)
        return self.head(x)


@model("LoRA")
def four_bits_and_a_detour(small):
    batch, length, d, heads, hidden, rank, layers = (1, 4, 64, 2, 128, 2, 1) if small else (6, 384, 1280, 16, 3456, 12, 4)
    tags = torch.randint(40, (batch * length,))
    net = FourBitTagger(d, heads, hidden, rank, layers, 40)
    return net, (torch.randn(batch, length, d),), lambda out: F.cross_entropy(out.flatten(0, 1), tags)
