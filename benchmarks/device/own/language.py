"""Transformers as people write their own: biases, rotations, experts, adapters, quantised weights, caches, retrieval."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def next_token(ids):
    return lambda out: F.cross_entropy(out[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())


class BiasedAttention(nn.Module):
    """Attention by hand with a learned bias for each bucket of distance."""

    def __init__(self, width, heads, buckets=32):
        super().__init__()
        self.h = heads
        self.qkv, self.proj = nn.Linear(width, 3 * width, bias=False), nn.Linear(width, width, bias=False)
        self.bias = nn.Embedding(buckets, heads)
        self.drop = nn.Dropout(0.1)
        self.buckets = buckets

    def forward(self, x):
        b, t, c = x.size()
        q, k, v = (part.view(b, t, self.h, c // self.h).transpose(1, 2) for part in self.qkv(x).split(c, dim=2))
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        place = torch.arange(t, device=x.device)
        far = (place[:, None] - place[None]).clamp(0, self.buckets - 1)
        att = att + self.bias(far).permute(2, 0, 1)
        att = att.masked_fill(place[:, None] < place[None], float("-inf"))
        att = self.drop(F.softmax(att, dim=-1))
        return self.proj((att @ v).transpose(1, 2).contiguous().view(b, t, c))


class TinyGpt(nn.Module):
    def __init__(self, words, width, heads, layers):
        super().__init__()
        self.wte = nn.Embedding(words, width)
        self.attend = nn.ModuleList(BiasedAttention(width, heads) for _ in range(layers))
        self.ln1, self.ln2 = (nn.ModuleList(nn.LayerNorm(width) for _ in range(layers)) for _ in range(2))
        self.mlp = nn.ModuleList(nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, ids):
        x = self.wte(ids)
        for attend, a, b, mlp in zip(self.attend, self.ln1, self.ln2, self.mlp):
            x = x + attend(a(x))
            x = x + mlp(b(x))
        return self.head(self.norm(x))


@model("language")
def gpt_distance_bias(small):
    batch, length, words, width, layers = (2, 8, 50, 32, 1) if small else (8, 512, 16_000, 512, 6)
    ids = torch.randint(words, (batch, length))
    return TinyGpt(words, width, 4 if small else 8, layers), (ids,), next_token(ids)


class RmsNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + 1e-6)).type_as(x) * self.weight


def rotate(x, angles):
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * angles[: x.shape[1], None]).flatten(3).type_as(x)


class WindowBlock(nn.Module):
    """Grouped keys, complex rotations, attention within a sliding window."""

    def __init__(self, width, heads, groups, window):
        super().__init__()
        self.heads, self.groups, self.size, self.window = heads, groups, width // heads, window
        self.wq, self.wo = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.wk, self.wv = (nn.Linear(width, groups * self.size, bias=False) for _ in range(2))
        self.w1, self.w3 = (nn.Linear(width, 3 * width, bias=False) for _ in range(2))
        self.w2 = nn.Linear(3 * width, width, bias=False)
        self.n1, self.n2 = RmsNorm(width), RmsNorm(width)

    def forward(self, x, angles, mask):
        b, t, _ = x.shape
        h = self.n1(x)
        q = rotate(self.wq(h).view(b, t, self.heads, self.size), angles).transpose(1, 2)
        k = rotate(self.wk(h).view(b, t, self.groups, self.size), angles).transpose(1, 2)
        v = self.wv(h).view(b, t, self.groups, self.size).transpose(1, 2)
        k, v = (y.repeat_interleave(self.heads // self.groups, dim=1) for y in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.wo(y.transpose(1, 2).reshape(b, t, -1))
        h = self.n2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class WindowModel(nn.Module):
    def __init__(self, words, width, heads, layers, window, longest):
        super().__init__()
        self.embed, self.out, self.norm = nn.Embedding(words, width), nn.Linear(width, words, bias=False), RmsNorm(width)
        self.blocks = nn.ModuleList(WindowBlock(width, heads, heads // 4, window) for _ in range(layers))
        self.size, self.longest, self.window = width // heads, longest, window

    def forward(self, ids):
        steps = torch.arange(ids.shape[1], device=ids.device)
        rates = 10000.0 ** (-torch.arange(0, self.size, 2, device=ids.device).float() / self.size)
        angles = torch.polar(torch.ones_like(torch.outer(steps, rates)), torch.outer(steps, rates))
        far = steps[:, None] - steps[None]
        mask = (far >= 0) & (far < self.window)
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, angles, mask)
        return self.out(self.norm(x))


@model("language")
def sliding_window_rotary(small):
    batch, length, words, width, layers = (1, 8, 50, 32, 1) if small else (4, 1024, 32_000, 512, 6)
    ids = torch.randint(words, (batch, length))
    return WindowModel(words, width, 4 if small else 8, layers, 256, length), (ids,), next_token(ids)


class RoutedExperts(nn.Module):
    """Tokens are looked up with torch.where for each expert, and added back."""

    def __init__(self, width, experts, top):
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(experts)
        )
        self.top = top

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        weights, chosen = torch.topk(self.gate(flat), self.top)
        weights = F.softmax(weights.float(), dim=1).to(x.dtype)
        out = torch.zeros_like(flat)
        for i, expert in enumerate(self.experts):
            token, slot = torch.where(chosen == i)
            out[token] += weights[token, slot, None] * expert(flat[token])
        return out.view_as(x)


class ExpertLayers(nn.Module):
    def __init__(self, width, experts, layers):
        super().__init__()
        self.attend = nn.ModuleList(nn.MultiheadAttention(width, 8, batch_first=True) for _ in range(layers))
        self.experts = nn.ModuleList(RoutedExperts(width, experts, 2) for _ in range(layers))
        self.n1, self.n2 = (nn.ModuleList(nn.LayerNorm(width) for _ in range(layers)) for _ in range(2))

    def forward(self, x):
        for attend, experts, n1, n2 in zip(self.attend, self.experts, self.n1, self.n2):
            y = n1(x)
            x = x + attend(y, y, y, need_weights=False)[0]
            x = x + experts(n2(x))
        return x


@model("mixture of experts")
def routed_by_where(small):
    batch, length, width, experts, layers = (1, 8, 16, 4, 1) if small else (4, 512, 512, 8, 4)
    return ExpertLayers(width, experts, layers), (torch.randn(batch, length, width),), lambda out: out.float().pow(2).mean()


class CapacityExperts(nn.Module):
    """Switch routing with a fixed capacity: one-hot dispatch and einsums, no loop, with a balancing loss."""

    def __init__(self, width, experts, factor=1.25):
        super().__init__()
        self.gate = nn.Linear(width, experts)
        self.w1 = nn.Parameter(torch.randn(experts, width, 2 * width) * 0.02)
        self.w2 = nn.Parameter(torch.randn(experts, 2 * width, width) * 0.02)
        self.experts, self.factor = experts, factor

    def forward(self, x):
        n = x.shape[0]
        capacity = int(self.factor * n / self.experts)
        p = self.gate(x).softmax(-1)
        best, index = p.max(-1)
        hot = F.one_hot(index, self.experts)
        place = (torch.cumsum(hot, 0) - 1) * hot
        kept = hot * (place < capacity)
        slot = F.one_hot((place * kept).sum(-1).clamp(max=capacity - 1), capacity).to(x.dtype)
        dispatch = kept.to(x.dtype).unsqueeze(-1) * slot.unsqueeze(1)
        inside = torch.einsum("nec,nd->ecd", dispatch, x)
        outside = torch.bmm(F.relu(torch.bmm(inside, self.w1)), self.w2)
        y = torch.einsum("nec,ecd->nd", dispatch * best[:, None, None], outside)
        return y, self.experts * (p.mean(0) * hot.to(p.dtype).mean(0)).sum()


@model("mixture of experts")
def switch_capacity(small):
    tokens, width, experts = (16, 16, 4) if small else (4096, 512, 16)
    target = torch.randn(tokens, width)
    return CapacityExperts(width, experts), (torch.randn(tokens, width),), lambda out: F.mse_loss(out[0], target) + 0.01 * out[1]


class LoraLinear(nn.Module):
    def __init__(self, base, rank=16, alpha=32):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a = nn.Parameter(torch.randn(rank, base.in_features) * 0.01)
        self.b = nn.Parameter(torch.zeros(base.out_features, rank))
        self.scale = alpha / rank
        self.drop = nn.Dropout(0.05)

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(self.drop(x), self.a), self.b) * self.scale


@model("LoRA")
def lora_adapted_gpt(small):
    """Everything but the adapters is frozen."""
    batch, length, words, width, layers = (2, 8, 50, 32, 1) if small else (4, 512, 16_000, 768, 8)
    net = TinyGpt(words, width, 4 if small else 12, layers).requires_grad_(False)
    for attend, mlp in zip(net.attend, net.mlp):
        attend.qkv, attend.proj = LoraLinear(attend.qkv), LoraLinear(attend.proj)
        mlp[0], mlp[2] = LoraLinear(mlp[0]), LoraLinear(mlp[2])
    ids = torch.randint(words, (batch, length))
    return net, (ids,), next_token(ids)


class Int8Linear(nn.Module):
    """Weights as int8 with a scale per row, widened at every call."""

    def __init__(self, a, b):
        super().__init__()
        self.register_buffer("weight", torch.randint(-127, 127, (b, a), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(b) * 1e-3)

    def forward(self, x):
        return F.linear(x, self.weight.to(x.dtype)) * self.scale


class Int4Linear(nn.Module):
    """Two weights in a byte, a scale and a zero point per group of 64."""

    def __init__(self, a, b, group=64):
        super().__init__()
        self.register_buffer("packed", torch.randint(0, 255, (b, a // 2), dtype=torch.uint8))
        self.register_buffer("scale", torch.rand(b, a // group, 1) * 1e-3)
        self.register_buffer("zero", torch.rand(b, a // group, 1))
        self.group = group

    def forward(self, x):
        low, high = self.packed & 15, self.packed >> 4
        w = torch.stack([low, high], -1).view(self.packed.shape[0], -1, self.group).to(x.dtype)
        return F.linear(x, ((w - self.zero) * self.scale).flatten(1))


class QuantisedBlock(nn.Module):
    def __init__(self, width, heads, linear):
        super().__init__()
        self.heads = heads
        self.qkv, self.proj = linear(width, 3 * width), linear(width, width)
        self.gate, self.up, self.down = linear(width, 4 * width), linear(width, 4 * width), linear(4 * width, width)
        self.n1, self.n2 = nn.RMSNorm(width), nn.RMSNorm(width)

    def forward(self, x, cache_k, cache_v, place):
        b, t, width = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).unbind(2)
        cache_k[:, place : place + t], cache_v[:, place : place + t] = k, v
        q, k, v = (y.transpose(1, 2) for y in (q, cache_k[:, : place + t], cache_v[:, : place + t]))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, width))
        h = self.n2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class QuantisedDecoder(nn.Module):
    def __init__(self, width, heads, layers, linear, place):
        super().__init__()
        self.blocks = nn.ModuleList(QuantisedBlock(width, heads, linear) for _ in range(layers))
        self.place = place

    def forward(self, x, keys, values):
        for i, block in enumerate(self.blocks):
            x = block(x, keys[i], values[i], self.place)
        return x


def decoder(small, linear, batch):
    width, heads, layers, place = (64, 4, 2, 4) if small else (2048, 16, 8, 512)
    room = (layers, batch, place + 4, heads, width // heads)
    return QuantisedDecoder(width, heads, layers, linear, place), (torch.randn(batch, 1, width), torch.randn(room), torch.randn(room)), None


@model("quantised")
def int8_weights_decode(small):
    return decoder(small, Int8Linear, 8)


@model("quantised")
def int4_groups_decode(small):
    return decoder(small, Int4Linear, 4)


class GreedyWriter(nn.Module):
    """Writes token after token with a cache that grows by torch.cat."""

    def __init__(self, words, width, heads, layers, steps):
        super().__init__()
        self.embed, self.heads, self.steps = nn.Embedding(words, width), heads, steps
        self.qkv = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers))
        self.proj = nn.ModuleList(nn.Linear(width, width) for _ in range(layers))
        self.ff = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)) for _ in range(layers)
        )
        self.norm = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.head = nn.Linear(width, words)

    def step(self, ids, cache):
        x = self.embed(ids)
        for i in range(len(self.qkv)):
            q, k, v = self.qkv[i](self.norm[i](x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            if cache[i] is not None:
                k, v = torch.cat([cache[i][0], k], 2), torch.cat([cache[i][1], v], 2)
            causal = cache[i] is None
            cache[i] = (k, v)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
            x = x + self.proj[i](y.transpose(1, 2).flatten(2))
            x = x + self.ff[i](x)
        return self.head(x[:, -1])

    def forward(self, prompt):
        cache, ids, written = [None] * len(self.qkv), prompt, []
        for _ in range(self.steps):
            ids = self.step(ids, cache).argmax(-1, keepdim=True)
            written.append(ids)
        return torch.cat(written, 1)


@model("language")
def growing_cache_writer(small):
    batch, length, words, width, layers, steps = (1, 4, 50, 32, 1, 2) if small else (16, 128, 8_000, 512, 4, 12)
    return GreedyWriter(words, width, 8, layers, steps), (torch.randint(words, (batch, length)),), None


class LateInteraction(nn.Module):
    """Each word of the query takes its best match among a document's words; then the best documents."""

    def __init__(self, words, width, layers):
        super().__init__()
        self.embed = nn.Embedding(words, width)
        layer = nn.TransformerEncoderLayer(width, 8, 4 * width, batch_first=True, activation="gelu")
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.down = nn.Linear(width, 128, bias=False)

    def forward(self, query, documents, mask):
        q = F.normalize(self.down(self.encoder(self.embed(query))), dim=-1)
        scores = torch.einsum("qid,njd->qnij", q, documents)
        scores = scores.masked_fill(~mask[None, :, None], -1e4).max(-1).values.sum(-1)
        return scores.topk(10, dim=1)


@model("retrieval")
def late_interaction(small):
    queries, documents, length, width, layers = (2, 12, 5, 16, 1) if small else (16, 2000, 64, 512, 4)
    inputs = (
        torch.randint(1000, (queries, 16)),
        F.normalize(torch.randn(documents, length, 128), dim=-1),
        torch.rand(documents, length) > 0.2,
    )
    return LateInteraction(1000, width, layers), inputs, lambda out: F.softplus(-out[0]).mean()


def approximate_search(query, centres, vectors, owner):
    """Probe the nearest few clusters, mask out the rest, take the best hundred."""
    near = torch.cdist(query, centres).topk(4, largest=False).indices
    scores = query @ vectors.t()
    inside = (owner[None, None] == near[..., None]).any(1)
    scores = torch.where(inside, scores, torch.full_like(scores, float("-inf")))
    values, index = scores.topk(min(100, scores.shape[1]), dim=1)
    again = torch.einsum("qd,qkd->qk", query, vectors[index])
    order = again.argsort(dim=1, descending=True)
    return values, index.gather(1, order)


@model("retrieval", half=False)
def clustered_search(small):
    queries, vectors, clusters = (2, 40, 5) if small else (64, 500_000, 256)
    return (
        approximate_search,
        (torch.randn(queries, 96), torch.randn(clusters, 96), torch.randn(vectors, 96), torch.randint(clusters, (vectors,))),
        None,
    )
