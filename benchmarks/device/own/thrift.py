"""Thrift: adapters of frozen noise, experts merged before use, two weights of every four, words guessed where they were hidden."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class NoiseAdapted(nn.Module):
    """A frozen layer beside two frozen random matrices that all layers share; only a scale per rank and per output is learnt."""

    def __init__(self, layer, A, B, rank):
        super().__init__()
        self.layer, self.A, self.B = layer.requires_grad_(False), A, B
        self.d, self.b = nn.Parameter(torch.full((rank,), 0.1)), nn.Parameter(torch.zeros(layer.out_features))

    def forward(self, x):
        low = F.linear(x, self.A[:, : x.shape[-1]]) * self.d
        return self.layer(x) + F.linear(low, self.B[: self.layer.out_features]) * self.b


class NoiseDecoder(nn.Module):
    def __init__(self, words, d, heads, layers, rank):
        super().__init__()
        A, B = torch.randn(rank, 4 * d) / (4 * d) ** 0.5, torch.randn(4 * d, rank) / rank**0.5
        self.embed = nn.Embedding(words, d).requires_grad_(False)
        self.heads = heads
        self.blocks = nn.ModuleList()
        for _ in range(layers):
            parts = {"q": (d, d), "k": (d, d), "v": (d, d), "o": (d, d), "up": (d, 4 * d), "down": (4 * d, d)}
            block = nn.ModuleDict({n: NoiseAdapted(nn.Linear(*p, bias=False), nn.Parameter(A, False), nn.Parameter(B, False), rank) for n, p in parts.items()})  # fmt: skip
            block["n1"], block["n2"] = nn.LayerNorm(d), nn.LayerNorm(d)
            self.blocks.append(block)
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, words, bias=False).requires_grad_(False)

    def forward(self, ids):
        x = self.embed(ids)
        for b in self.blocks:
            h = b["n1"](x)
            q, k, v = (b[n](h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for n in "qkv")
            x = x + b["o"](F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            x = x + b["down"](F.gelu(b["up"](b["n2"](x))))
        return self.head(self.norm(x))


@model("LoRA")
def adapters_of_frozen_noise(small):
    b, n, words, d, heads, layers, rank = (2, 6, 20, 16, 2, 1, 4) if small else (8, 512, 32_000, 1024, 16, 8, 256)
    ids = torch.randint(words, (b, n))
    goal = torch.randint(words, (b * n,))
    return NoiseDecoder(words, d, heads, layers, rank), (ids,), lambda out: F.cross_entropy(out.flatten(0, 1).float(), goal)


class MergedExperts(nn.Module):
    """For each example one expert: the weighted mean of all experts' weights, by a router that read the whole example."""

    def __init__(self, d, wide, experts):
        super().__init__()
        self.norm, self.route = nn.LayerNorm(d), nn.Linear(d, experts)
        self.up = nn.Parameter(torch.randn(experts, d, wide) / d**0.5)
        self.down = nn.Parameter(torch.randn(experts, wide, d) / wide**0.5)
        self.bias = nn.Parameter(torch.zeros(experts, wide))

    def forward(self, x):
        h = self.norm(x)
        p = self.route(h.mean(1)).softmax(-1)
        up, down = torch.einsum("be,edw->bdw", p, self.up), torch.einsum("be,ewd->bwd", p, self.down)
        h = torch.baddbmm((p @ self.bias).unsqueeze(1), h, up)
        return x + torch.bmm(F.relu(h), down)


class MergedReader(nn.Module):
    def __init__(self, words, d, heads, wide, experts, layers, classes):
        super().__init__()
        self.embed, self.place = nn.Embedding(words, d), nn.Parameter(torch.randn(512, d) * 0.02)
        self.attend = nn.ModuleList(nn.MultiheadAttention(d, heads, batch_first=True) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.merge = nn.ModuleList(MergedExperts(d, wide, experts) for _ in range(layers))
        self.out = nn.Linear(d, classes)

    def forward(self, ids):
        x = self.embed(ids) + self.place[: ids.shape[1]]
        for attend, norm, merge in zip(self.attend, self.norms, self.merge):
            h = norm(x)
            x = x + attend(h, h, h, need_weights=False)[0]
            x = merge(x)
        return self.out(x.amax(1))


@model("mixture of experts")
def experts_merged_before_use(small):
    b, n, words, d, heads, wide, experts, layers = (2, 5, 20, 8, 2, 12, 3, 1) if small else (48, 256, 30_000, 512, 8, 512, 12, 6)
    right = torch.randint(4, (b,))
    return MergedReader(words, d, heads, wide, experts, layers, 4), (torch.randint(words, (b, n)),), lambda out: F.cross_entropy(out.float(), right)  # fmt: skip


class TwoOfFour(torch.autograd.Function):
    @staticmethod
    def forward(ctx, w, decay):
        groups = w.detach().reshape(-1, 4)
        drop = groups.abs().argsort(1)[:, :2]
        mask = torch.ones_like(groups).scatter_(1, drop, 0.0).view_as(w)
        ctx.save_for_backward(w, mask)
        ctx.decay = decay
        return w * mask

    @staticmethod
    def backward(ctx, grad):
        w, mask = ctx.saved_tensors
        return grad + ctx.decay * (1 - mask) * w, None


class SparseLinear(nn.Linear):
    def forward(self, x):
        return F.linear(x, TwoOfFour.apply(self.weight, 2e-4), self.bias)


class SparseMixer(nn.Module):
    """Pictures in patches; of every four weights of a layer that lie side by side, the two smallest are off."""

    def __init__(self, d, patches, layers, classes):
        super().__init__()
        self.enter = nn.Conv2d(3, d, 16, 16)
        self.tokens = nn.ModuleList(nn.Sequential(SparseLinear(patches, 2 * patches), nn.GELU(), SparseLinear(2 * patches, patches)) for _ in range(layers))  # fmt: skip
        self.wide = nn.ModuleList(nn.Sequential(SparseLinear(d, 4 * d), nn.GELU(), SparseLinear(4 * d, d)) for _ in range(layers))
        self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(d) for _ in range(layers)) for _ in range(2))
        self.out = nn.Linear(d, classes)

    def forward(self, x):
        x = self.enter(x).flatten(2).mT
        for tokens, wide, n1, n2 in zip(self.tokens, self.wide, self.n1, self.n2):
            x = x + tokens(n1(x).mT).mT
            x = x + wide(n2(x))
        return self.out(x.mean(1))


@model("quantised")
def two_of_every_four(small):
    b, size, d, layers, classes = (2, 32, 8, 1, 5) if small else (64, 224, 512, 8, 1000)
    right = torch.randint(classes, (b,))
    return SparseMixer(d, (size // 16) ** 2, layers, classes), (torch.randn(b, 3, size, size),), lambda out: F.cross_entropy(out.float(), right)  # fmt: skip


class HiddenWords(nn.Module):
    """Words are hidden and guessed; their matrices of attention split content from distance, and only hidden places meet the vocabulary."""

    def __init__(self, words, d, heads, layers, reach):
        super().__init__()
        self.embed, self.norm, self.rel = nn.Embedding(words, d), nn.LayerNorm(d), nn.Embedding(2 * reach, d)
        self.heads, self.reach = heads, reach
        self.blocks = nn.ModuleList(
            nn.ModuleDict({"qkv": nn.Linear(d, 3 * d), "o": nn.Linear(d, d), "n1": nn.LayerNorm(d), "n2": nn.LayerNorm(d),
                           "ff": nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))}) for _ in range(layers))  # fmt: skip
        self.turn = nn.Sequential(nn.Linear(d, d), nn.GELU(), nn.LayerNorm(d))
        self.bias = nn.Parameter(torch.zeros(words))

    def forward(self, ids, hidden):
        x, n = self.norm(self.embed(ids)), ids.shape[1]
        i = torch.arange(n, device=ids.device)
        apart = (i[:, None] - i + self.reach).clamp(0, 2 * self.reach - 1)
        drop = 0.1 if self.training else 0.0
        for b in self.blocks:
            q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in b["qkv"](x).chunk(3, -1))
            rq, rk, _ = (t.unflatten(-1, (self.heads, -1)).transpose(0, 1) for t in b["qkv"](self.rel.weight).chunk(3, -1))
            c2p = torch.gather(q @ rk.mT, -1, apart.expand(len(x), self.heads, n, n))
            p2c = torch.gather(k @ rq.mT, -1, apart.expand(len(x), self.heads, n, n)).mT
            w = ((q @ k.mT + c2p + p2c) / math.sqrt(3 * q.shape[-1])).softmax(-1)
            x = b["n1"](x + b["o"]((F.dropout(w, drop) @ v).transpose(1, 2).flatten(2)))
            x = b["n2"](x + F.dropout(b["ff"](x), drop))
        at = torch.gather(x, 1, hidden.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
        return F.linear(self.turn(at), self.embed.weight, self.bias)


@model("language")
def words_hidden_at_a_distance(small):
    b, n, words, d, heads, layers, reach, hid = (2, 8, 20, 8, 2, 1, 4, 2) if small else (32, 256, 30_000, 512, 8, 6, 128, 38)
    inputs = torch.randint(words, (b, n)), torch.randint(n, (b, hid))
    right = torch.randint(words, (b * hid,))
    return HiddenWords(words, d, heads, layers, reach), inputs, lambda out: F.cross_entropy(out.flatten(0, 1).float(), right)
