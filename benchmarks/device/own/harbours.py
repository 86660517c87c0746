"""Harbours: a platform team's code: specs as named tuples, keyword arguments, shapes in comments, and a class for every stage."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from own.listing import model

# ------------------------------------------------------------------------------------------------ recommender: factored tables


class TableSpec(NamedTuple):
    """Rows n0 × n1 × n2, columns d0 × d1 × d2, with one rank between neighbouring cores."""

    rows: tuple[int, int, int]
    columns: tuple[int, int, int]
    rank: int

    @property
    def dim(self) -> int:
        return math.prod(self.columns)


class TrainTable(nn.Module):
    """An embedding table that exists only as three cores; a row is the product of a slice of each."""

    def __init__(self, spec: TableSpec) -> None:
        super().__init__()
        self.spec = spec
        (n0, n1, n2), (d0, d1, d2), r = spec
        self.core0 = nn.Parameter(torch.empty(n0, d0 * r))
        self.core1 = nn.Parameter(torch.empty(n1, r * d1 * r))
        self.core2 = nn.Parameter(torch.empty(n2, r * d2))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        for core in self.parameters():
            nn.init.normal_(core, std=self.spec.rank**-0.5)

    def forward(self, ids: Tensor) -> Tensor:
        (_, n1, n2), (d0, d1, d2), r = self.spec
        flat = ids.reshape(-1)
        i0 = torch.div(flat, n1 * n2, rounding_mode="floor")
        i1 = torch.div(flat, n2, rounding_mode="floor") % n1
        i2 = flat % n2
        first = F.embedding(i0, self.core0).view(-1, d0, r)
        second = F.embedding(i1, self.core1).view(-1, r, d1 * r)
        third = F.embedding(i2, self.core2).view(-1, r, d2)
        rows = torch.bmm(torch.bmm(first, second).view(-1, d0 * d1, r), third)  # (m, d0 d1, d2)
        return rows.view(*ids.shape, self.spec.dim)


class FactoredClicks(nn.Module):
    """Bags of ids from factored tables, dense features beside them, all pairs dotted."""

    def __init__(self, *, tables: int, spec: TableSpec, dense: int, hidden: int) -> None:
        super().__init__()
        self.tables = nn.ModuleList(TrainTable(spec) for _ in range(tables))
        self.bottom = nn.Sequential(nn.Linear(dense, hidden), nn.ReLU(), nn.Linear(hidden, spec.dim), nn.ReLU())
        pairs = (tables + 1) * tables // 2
        self.top = nn.Sequential(nn.Linear(pairs + spec.dim, hidden), nn.ReLU(), nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))
        row, col = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("row", row, persistent=False)
        self.register_buffer("col", col, persistent=False)

    def forward(self, dense: Tensor, ids: Tensor) -> Tensor:
        bottom = self.bottom(dense)
        bags = [table(ids[:, i]).sum(1) for i, table in enumerate(self.tables)]
        x = torch.stack([bottom, *bags], dim=1)
        dots = torch.bmm(x, x.transpose(1, 2))[:, self.row, self.col]
        return self.top(torch.cat([bottom, dots], dim=1)).squeeze(1)


@model("recommender")
def tables_factored_into_trains(small):
    spec = TableSpec((3, 4, 5), (2, 2, 2), 3) if small else TableSpec((200, 220, 250), (4, 4, 8), 16)
    b, tables, bag, dense, hidden = (3, 2, 2, 4, 8) if small else (2048, 8, 6, 13, 512)
    ids = torch.randint(math.prod(spec.rows), (b, tables, bag))
    clicked = (torch.rand(b) < 0.3).float()
    net = FactoredClicks(tables=tables, spec=spec, dense=dense, hidden=hidden)
    return net, (torch.randn(b, dense), ids), lambda out: F.binary_cross_entropy_with_logits(out, clicked)


# ------------------------------------------------------------------------------------------------ retrieval: an inverted index


class Postings(nn.Module):
    """An inverted index with as many postings for each term; a query's terms add their saturated counts to the documents they are in."""

    K1, B = 0.9, 0.4

    def __init__(self, *, terms: int, per_term: int, documents: int, keep: int) -> None:
        super().__init__()
        self.documents, self.keep = documents, keep
        self.register_buffer("where", torch.randint(documents, (terms, per_term), dtype=torch.int32))
        self.register_buffer("often", torch.randint(1, 12, (terms, per_term), dtype=torch.uint8))
        self.register_buffer("length", torch.rand(documents) * 400 + 40)
        self.register_buffer("rarity", torch.rand(terms) * 8)

    def forward(self, query: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        where = self.where[query].long()  # (q, t, p)
        often = self.often[query].to(self.length.dtype)
        relative = self.length[where] / self.length.mean()
        saturated = often * (self.K1 + 1) / (often + self.K1 * (1 - self.B + self.B * relative))
        gain = saturated * (self.rarity[query] * weight).unsqueeze(-1)
        scores = gain.new_zeros(query.shape[0], self.documents)
        scores.scatter_add_(1, where.flatten(1), gain.flatten(1))
        matched = torch.zeros_like(scores).scatter_add_(1, where.flatten(1), torch.ones_like(gain).flatten(1))
        scores = scores * (1 + 0.1 * (matched / query.shape[1]))  # a small reward for documents with all the terms
        return scores.topk(self.keep, dim=1)


@model("retrieval", half=False)
def postings_added_up(small):
    q, t, terms, per_term, documents, keep = (2, 3, 20, 6, 40, 5) if small else (64, 12, 12_000, 4096, 600_000, 1000)
    index = Postings(terms=terms, per_term=per_term, documents=documents, keep=keep)
    return index, (torch.randint(terms, (q, t)), torch.rand(q, t)), None


# ------------------------------------------------------------------------------------------------ experts of one neuron


class NeuronPool(nn.Module):
    """Experts that are one neuron each; two short lists of keys find them, and their weights are fetched for every token."""

    def __init__(self, *, dim: int, side: int, heads: int, keep: int, key: int) -> None:
        super().__init__()
        self.side, self.heads, self.keep = side, heads, keep
        self.query = nn.Linear(dim, heads * 2 * key, bias=False)
        self.query_norm = nn.LayerNorm(key)
        self.keys = nn.Parameter(torch.randn(2, heads, side, key) * key**-0.5)
        self.down = nn.Embedding(side * side, dim)
        self.up = nn.Embedding(side * side, dim)
        nn.init.normal_(self.down.weight, std=dim**-0.5)
        nn.init.normal_(self.up.weight, std=(heads * keep) ** -0.5)

    def forward(self, x: Tensor) -> Tensor:
        tokens = x.flatten(0, 1)  # (n, d)
        queries = self.query_norm(self.query(tokens).unflatten(-1, (2, self.heads, -1)))
        similar = torch.einsum("nphk,phsk->pnhs", queries, self.keys)
        best, at = similar.topk(self.keep, dim=-1)  # (2, n, h, k)
        sums = (best[0].unsqueeze(-1) + best[1].unsqueeze(-2)).flatten(-2)
        index = (at[0].unsqueeze(-1) * self.side + at[1].unsqueeze(-2)).flatten(-2)
        score, chosen = sums.topk(self.keep, dim=-1)
        expert = index.gather(-1, chosen).flatten(1)  # (n, h k)
        gate = score.softmax(-1).flatten(1)
        hidden = torch.einsum("nd,ned->ne", tokens, self.down(expert))
        hidden = F.gelu(hidden) * gate.to(hidden.dtype)
        return torch.einsum("ne,ned->nd", hidden, self.up(expert)).view_as(x)


class NeuronBlock(nn.Module):
    def __init__(self, *, dim: int, heads: int, pool: nn.Module) -> None:
        super().__init__()
        self.heads = heads
        self.norm_a, self.norm_f = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim, bias=False)
        self.pool = pool

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (z.unflatten(-1, (self.heads, -1)).transpose(1, 2) for z in self.qkv(self.norm_a(x)).chunk(3, dim=-1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.pool(self.norm_f(x))


@model("mixture of experts")
def single_neurons_fetched(small):
    b, n, words, dim, heads, side, keep, key, layers = (2, 4, 20, 8, 2, 4, 2, 4, 1) if small else (4, 384, 16_000, 512, 8, 256, 16, 128, 2)
    blocks = [NeuronBlock(dim=dim, heads=heads, pool=NeuronPool(dim=dim, side=side, heads=heads, keep=keep, key=key)) for _ in range(layers)]  # fmt: skip
    net = nn.Sequential(nn.Embedding(words, dim), *blocks, nn.RMSNorm(dim), nn.Linear(dim, words, bias=False))
    target = torch.randint(words, (b * n,))
    return net, (torch.randint(words, (b, n)),), lambda out: F.cross_entropy(out.flatten(0, 1).float(), target)


# ------------------------------------------------------------------------------------------------ quantised: ten weights in a word


class ThreeBitLinear(nn.Module):
    """Ten weights of three bits lie in every 32-bit word; they are shifted out, scaled by group, and multiplied."""

    PER_WORD = 10

    def __init__(self, fan_in: int, fan_out: int, *, group: int) -> None:
        super().__init__()
        if fan_in % self.PER_WORD or fan_in % group:
            raise ValueError(f"{fan_in} inputs fill neither words of ten nor groups of {group}")
        self.group = group
        self.register_buffer("words", torch.randint(2**30, (fan_out, fan_in // self.PER_WORD), dtype=torch.int32))
        self.register_buffer("scale", torch.rand(fan_out, fan_in // group, 1) * 0.01)
        self.register_buffer("zero", torch.randn(fan_out, fan_in // group, 1) * 0.1 + 3.5)
        self.register_buffer("shift", torch.arange(0, 30, 3, dtype=torch.int32))

    def forward(self, x: Tensor) -> Tensor:
        levels = (self.words.unsqueeze(-1) >> self.shift) & 7
        weight = (levels.flatten(1).unflatten(1, (-1, self.group)).to(x.dtype) - self.zero) * self.scale
        return F.linear(x, weight.flatten(1))


class ThreeBitBlock(nn.Module):
    """One step of a decoder over what it has cached."""

    def __init__(self, *, dim: int, hidden: int, heads: int, group: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_a, self.norm_f = nn.RMSNorm(dim), nn.RMSNorm(dim)
        self.q, self.k, self.v, self.o = (ThreeBitLinear(dim, dim, group=group) for _ in range(4))
        self.gate, self.up = (ThreeBitLinear(dim, hidden, group=group) for _ in range(2))
        self.down = ThreeBitLinear(hidden, dim, group=group)

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        h = self.norm_a(x)
        q, k, v = (f(h).unflatten(-1, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        mixed = F.scaled_dot_product_attention(q, torch.cat([keys, k], dim=2), torch.cat([values, v], dim=2))
        x = x + self.o(mixed.transpose(1, 2).flatten(2))
        h = self.norm_f(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class ThreeBitDecoder(nn.Module):
    def __init__(self, *, layers: int, words: int, **block) -> None:
        super().__init__()
        self.embed = nn.Embedding(words, block["dim"])
        self.blocks = nn.ModuleList(ThreeBitBlock(**block) for _ in range(layers))
        self.norm = nn.RMSNorm(block["dim"])

    def forward(self, ids: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        x = self.embed(ids)
        for i, block in enumerate(self.blocks):
            x = block(x, keys[i], values[i])
        return F.linear(self.norm(x[:, -1]), self.embed.weight).argmax(-1)


@model("quantised")
def three_bits_packed_in_words(small):
    b, cached, layers, words = (2, 3, 1, 12) if small else (16, 768, 4, 32_000)
    block = dict(dim=20, hidden=40, heads=2, group=20) if small else dict(dim=2560, hidden=6400, heads=20, group=80)
    cache = [torch.randn(layers, b, block["heads"], cached, block["dim"] // block["heads"]) for _ in range(2)]
    return ThreeBitDecoder(layers=layers, words=words, **block), (torch.randint(words, (b, 1)), *cache), None


# ------------------------------------------------------------------------------------------------ detection: anchors dealt out by cost


class ConvAct(nn.Sequential):
    def __init__(self, a: int, b: int, k: int = 3, s: int = 1) -> None:
        super().__init__(nn.Conv2d(a, b, k, s, k // 2, bias=False), nn.BatchNorm2d(b), nn.SiLU(inplace=True))


class CrossStage(nn.Module):
    """Half of the channels go through the bottlenecks, the other half past them."""

    def __init__(self, a: int, b: int, depth: int) -> None:
        super().__init__()
        half = b // 2
        self.left, self.right, self.join = ConvAct(a, half, 1), ConvAct(a, half, 1), ConvAct(b, b, 1)
        self.steps = nn.ModuleList(nn.Sequential(ConvAct(half, half, 1), ConvAct(half, half)) for _ in range(depth))

    def forward(self, x: Tensor) -> Tensor:
        h = self.left(x)
        for step in self.steps:
            h = h + step(h)
        return self.join(torch.cat([h, self.right(x)], dim=1))


class FreeOfAnchors(nn.Module):
    """A detector whose head says classes and boxes apart, at three strides."""

    def __init__(self, *, width: int, classes: int, depth: int) -> None:
        super().__init__()
        w = width
        self.stem = ConvAct(12, w)
        self.stages = nn.ModuleList(
            nn.Sequential(ConvAct(a, 2 * a, 3, 2), CrossStage(2 * a, 2 * a, depth)) for a in (w, 2 * w, 4 * w, 8 * w)
        )
        self.lateral = nn.ModuleList(ConvAct(a * w, 4 * w, 1) for a in (4, 8, 16))
        self.merge = nn.ModuleList(CrossStage(8 * w, 4 * w, 1) for _ in range(2))
        self.classify = nn.ModuleList(nn.Sequential(ConvAct(4 * w, 4 * w), ConvAct(4 * w, 4 * w), nn.Conv2d(4 * w, classes, 1)) for _ in range(3))  # fmt: skip
        self.locate = nn.ModuleList(nn.Sequential(ConvAct(4 * w, 4 * w), ConvAct(4 * w, 4 * w), nn.Conv2d(4 * w, 5, 1)) for _ in range(3))

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        x = self.stem(F.pixel_unshuffle(image, 2))
        levels = []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        c3, c4, c5 = (f(x) for f, x in zip(self.lateral, levels[1:]))
        p4 = self.merge[0](torch.cat([F.interpolate(c5, scale_factor=2.0), c4], dim=1))
        p3 = self.merge[1](torch.cat([F.interpolate(p4, scale_factor=2.0), c3], dim=1))
        classes, places = [], []
        for level, stride, classify, locate in zip((p3, p4, c5), (8, 16, 32), self.classify, self.locate):
            h, w = level.shape[-2:]
            y, x = torch.meshgrid(torch.arange(h, device=level.device), torch.arange(w, device=level.device), indexing="ij")
            grid = torch.stack([x, y], -1).flatten(0, 1)
            raw = locate(level).flatten(2).transpose(1, 2).float()
            centre = (raw[..., :2] + grid) * stride
            size = raw[..., 2:4].clamp(max=8).exp() * stride
            places.append(torch.cat([centre - size / 2, centre + size / 2, raw[..., 4:]], -1))
            classes.append(classify(level).flatten(2).transpose(1, 2))
        return torch.cat(classes, 1), torch.cat(places, 1)


def overlap(a: Tensor, b: Tensor) -> Tensor:
    """(batch, n, 4), (batch, m, 4) -> (batch, n, m)"""
    low, high = torch.maximum(a[:, :, None, :2], b[:, None, :, :2]), torch.minimum(a[:, :, None, 2:], b[:, None, :, 2:])
    both = (high - low).clamp(min=0).prod(-1)
    area = lambda z: (z[..., 2:] - z[..., :2]).clamp(min=0).prod(-1)  # noqa: E731
    return both / (area(a)[:, :, None] + area(b)[:, None, :] - both + 1e-6)


@model("detection")
def anchors_shared_out_by_cost(small):
    b, size, width, classes, depth, things, most = (1, 64, 4, 3, 1, 3, 4) if small else (16, 416, 24, 80, 2, 24, 10)
    corner = torch.rand(b, things, 2) * size * 0.7
    boxes = torch.cat([corner, corner + torch.rand(b, things, 2) * size * 0.25 + 4], -1)
    labels = torch.randint(classes, (b, things))

    def loss(out: tuple[Tensor, Tensor]) -> Tensor:
        said, where = out[0].float(), out[1]
        with torch.no_grad():  # each thing takes as many anchors as its best overlaps add up to
            iou = overlap(where[..., :4], boxes)  # (b, a, g)
            centre = (where[..., :2] + where[..., 2:4]) / 2
            inside = ((centre[:, :, None] > boxes[:, None, :, :2]) & (centre[:, :, None] < boxes[:, None, :, 2:])).all(-1)
            p = (said.sigmoid() * where[..., 4:].sigmoid()).sqrt().clamp(1e-6, 1 - 1e-6)
            negative = -(1 - p).log().sum(-1, keepdim=True)
            own = p.gather(2, labels.unsqueeze(1).expand(-1, p.shape[1], -1))
            cost = negative + (1 - own).log() - own.log() + 3.0 * -(iou + 1e-8).log() + 1e5 * ~inside
            count = iou.topk(most, dim=1).values.sum(1, keepdim=True).long().clamp(min=1)
            rank = cost.argsort(dim=1).argsort(dim=1)
            taken = rank < count
            cheapest = cost.argmin(dim=2, keepdim=True)
            alone = torch.zeros_like(taken).scatter_(2, cheapest, True)
            taken = torch.where(taken.sum(2, keepdim=True) > 1, alone, taken)
            positive, thing = taken.any(2), taken.float().argmax(2)
            quality = (iou * taken).sum(2)
            number = positive.sum().clamp(min=1)
        goal = boxes.gather(1, thing.unsqueeze(-1).expand(-1, -1, 4))
        low, high = torch.maximum(where[..., :2], goal[..., :2]), torch.minimum(where[..., 2:4], goal[..., 2:])
        both = (high - low).clamp(min=0).prod(-1)
        union = (where[..., 2:4] - where[..., :2]).prod(-1) + (goal[..., 2:] - goal[..., :2]).prod(-1) - both
        place = ((1 - (both / (union + 1e-6)).square()) * positive).sum() / number
        wanted = F.one_hot(labels.gather(1, thing), classes) * quality.unsqueeze(-1)
        name = (F.binary_cross_entropy_with_logits(said, wanted, reduction="none") * positive.unsqueeze(-1)).sum() / number
        there = F.binary_cross_entropy_with_logits(where[..., 4], positive.float(), reduction="sum") / number
        return 5 * place + name + there

    return FreeOfAnchors(width=width, classes=classes, depth=depth), (torch.rand(b, 3, size, size),), loss


# ------------------------------------------------------------------------------------------------ video: sharper with both neighbours


class Residuals(nn.Sequential):
    """A convolution in, then residual pairs without any normalisation."""

    class Pair(nn.Module):
        def __init__(self, c: int) -> None:
            super().__init__()
            self.a, self.b = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)

        def forward(self, x: Tensor) -> Tensor:
            return x + self.b(F.relu(self.a(x)))

    def __init__(self, a: int, c: int, depth: int) -> None:
        super().__init__(nn.Conv2d(a, c, 3, padding=1), nn.LeakyReLU(0.1), *(self.Pair(c) for _ in range(depth)))


def warp(x: Tensor, flow: Tensor) -> Tensor:
    """x: (b, c, h, w) looked up where flow: (b, 2, h, w), in pixels, points."""
    h, w = x.shape[-2:]
    ys, xs = torch.meshgrid(torch.arange(h, device=x.device), torch.arange(w, device=x.device), indexing="ij")
    gx = 2 * (xs + flow[:, 0]) / max(w - 1, 1) - 1
    gy = 2 * (ys + flow[:, 1]) / max(h - 1, 1) - 1
    return F.grid_sample(x, torch.stack([gx, gy], -1).to(x.dtype), padding_mode="border", align_corners=True)


class BothWaysVideo(nn.Module):
    """Features travel backwards through the clip, then forwards, warped by the flow between frames; four times the size at the end."""

    def __init__(self, *, width: int, depth: int, fine: int) -> None:
        super().__init__()
        self.width = width
        self.flow = nn.Sequential(
            nn.Conv2d(6, 32, 7, padding=3), nn.ReLU(), nn.Conv2d(32, 48, 7, padding=3), nn.ReLU(), nn.Conv2d(48, 24, 7, padding=3), nn.ReLU(),
            nn.Conv2d(24, 2, 7, padding=3),
        )  # fmt: skip
        self.back, self.forth = Residuals(width + 3, width, depth), Residuals(width + 3, width, depth)
        self.fuse = nn.Conv2d(2 * width, width, 1)
        self.up1, self.up2 = nn.Conv2d(width, 4 * fine, 3, padding=1), nn.Conv2d(fine, 4 * fine, 3, padding=1)
        self.last = nn.Sequential(nn.Conv2d(fine, fine, 3, padding=1), nn.LeakyReLU(0.1), nn.Conv2d(fine, 3, 3, padding=1))

    def forward(self, clip: Tensor) -> Tensor:
        b, t, _, h, w = clip.shape
        ahead = torch.cat([clip[:, :-1], clip[:, 1:]], dim=2).flatten(0, 1)
        behind = torch.cat([clip[:, 1:], clip[:, :-1]], dim=2).flatten(0, 1)
        to_next, to_last = self.flow(ahead).unflatten(0, (b, t - 1)), self.flow(behind).unflatten(0, (b, t - 1))
        state, past = clip.new_zeros(b, self.width, h, w), []
        for i in reversed(range(t)):
            if i < t - 1:
                state = warp(state, to_next[:, i])
            state = self.back(torch.cat([clip[:, i], state], dim=1))
            past.insert(0, state)
        state, frames = torch.zeros_like(state), []
        for i in range(t):
            if i:
                state = warp(state, to_last[:, i - 1])
            state = self.forth(torch.cat([clip[:, i], state], dim=1))
            x = F.leaky_relu(self.fuse(torch.cat([past[i], state], dim=1)), 0.1)
            x = F.leaky_relu(F.pixel_shuffle(self.up1(x), 2), 0.1)
            x = F.leaky_relu(F.pixel_shuffle(self.up2(x), 2), 0.1)
            frames.append(self.last(x) + F.interpolate(clip[:, i], scale_factor=4.0, mode="bilinear"))
        return torch.stack(frames, dim=1)


@model("video", compiles=False)
def frames_sharpened_both_ways(small):
    b, t, h, w, width, depth, fine = (1, 3, 8, 8, 4, 1, 4) if small else (2, 8, 64, 112, 64, 6, 24)
    target = torch.rand(b, t, 3, 4 * h, 4 * w)
    net = BothWaysVideo(width=width, depth=depth, fine=fine)
    return net, (torch.rand(b, t, 3, h, w),), lambda out: (out.float() - target).square().add(1e-6).sqrt().mean()


# ------------------------------------------------------------------------------------------------ diffusion: four steps and a decoder


class NormConv(nn.Sequential):
    def __init__(self, a: int, b: int, k: int = 3) -> None:
        super().__init__(nn.GroupNorm(min(32, a // 2), a), nn.SiLU(), nn.Conv2d(a, b, k, padding=k // 2))


class TimedResidual(nn.Module):
    def __init__(self, a: int, b: int, time: int) -> None:
        super().__init__()
        self.one, self.two, self.time = NormConv(a, b), NormConv(b, b), nn.Linear(time, b)
        self.skip = nn.Conv2d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x: Tensor, t: Tensor) -> Tensor:
        return self.skip(x) + self.two(self.one(x) + self.time(F.silu(t))[:, :, None, None])


class ReadsText(nn.Module):
    """Pixels attend to one another, then to the words."""

    def __init__(self, c: int, text: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(c) for _ in range(3))
        self.q, self.q2, self.o, self.o2 = (nn.Linear(c, c, bias=False) for _ in range(4))
        self.kv, self.kv2 = nn.Linear(c, 2 * c, bias=False), nn.Linear(text, 2 * c, bias=False)
        self.up, self.down = nn.Linear(c, 8 * c), nn.Linear(4 * c, c)

    def attend(self, q: Tensor, kv: Tensor) -> Tensor:
        q, k, v = (z.unflatten(-1, (self.heads, -1)).transpose(1, 2) for z in (q, *kv.chunk(2, dim=-1)))
        return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)

    def forward(self, x: Tensor, text: Tensor) -> Tensor:
        h = x.flatten(2).transpose(1, 2)
        n = self.norms[0](h)
        h = h + self.o(self.attend(self.q(n), self.kv(n)))
        h = h + self.o2(self.attend(self.q2(self.norms[1](h)), self.kv2(text)))
        value, gate = self.up(self.norms[2](h)).chunk(2, dim=-1)
        h = h + self.down(value * F.gelu(gate))
        return h.transpose(1, 2).view_as(x)


class FewStepPictures(nn.Module):
    """A latent walked to in a few large steps by a small U-Net that reads the text, then decoded to a picture of eight times its size."""

    def __init__(self, *, widths: tuple[int, int, int], decoder: tuple[int, ...], text: int, heads: int, steps: int) -> None:
        super().__init__()
        a, b, c = widths
        self.steps, self.freqs = steps, a
        time = 4 * a
        self.clock = nn.Sequential(nn.Linear(a, time), nn.SiLU(), nn.Linear(time, time))
        self.inp, self.out = nn.Conv2d(4, a, 3, padding=1), NormConv(a, 4)
        self.down = nn.ModuleList(TimedResidual(x, y, time) for x, y in ((a, a), (a, b), (b, c)))
        self.shrink = nn.ModuleList(nn.Conv2d(x, x, 3, 2, 1) for x in (a, b))
        self.mid1, self.mid2 = TimedResidual(c, c, time), TimedResidual(c, c, time)
        self.read_b, self.read_c, self.read_u = ReadsText(b, text, heads), ReadsText(c, text, heads), ReadsText(b, text, heads)
        self.up = nn.ModuleList(TimedResidual(x, y, time) for x, y in ((2 * c, b), (2 * b, a), (2 * a, a)))
        stages = []
        for x, y in pairwise(decoder):
            stages += [NormConv(x, y), NormConv(y, y), nn.Upsample(scale_factor=2.0)]
        self.decoder = nn.Sequential(nn.Conv2d(4, decoder[0], 3, padding=1), *stages, NormConv(decoder[-1], 3))

    def denoise(self, x: Tensor, t: Tensor, text: Tensor) -> Tensor:
        rate = torch.exp(-math.log(1e4) * torch.arange(self.freqs // 2, device=x.device) / (self.freqs // 2))
        angle = t[:, None] * rate
        t = self.clock(torch.cat([angle.sin(), angle.cos()], -1).to(x.dtype))
        h0 = self.down[0](self.inp(x), t)
        h1 = self.read_b(self.down[1](self.shrink[0](h0), t), text)
        h2 = self.read_c(self.down[2](self.shrink[1](h1), t), text)
        m = self.mid2(self.mid1(h2, t), t)
        u = self.read_u(F.interpolate(self.up[0](torch.cat([m, h2], 1), t), scale_factor=2.0), text)
        u = F.interpolate(self.up[1](torch.cat([u, h1], 1), t), scale_factor=2.0)
        return self.out(self.up[2](torch.cat([u, h0], 1), t))

    def forward(self, noise: Tensor, text: Tensor) -> Tensor:
        x = noise
        for i in range(self.steps):
            sigma = math.cos(math.pi / 2 * (1 - i / self.steps) ** 1.5)
            alpha_bar = max(sigma**2, 4e-3)
            t = torch.full((x.shape[0],), 999.0 * (1 - i / self.steps), device=x.device)
            eps = self.denoise(x, t, text)
            clean = (x - (1 - alpha_bar) ** 0.5 * eps) / alpha_bar**0.5
            skip = 0.25 / ((999 * (1 - i / self.steps) / 10) ** 2 + 0.25)
            clean = skip * x + (1 - skip) ** 0.5 * clean
            if i < self.steps - 1:
                following = math.cos(math.pi / 2 * (1 - (i + 1) / self.steps) ** 1.5) ** 2
                x = following**0.5 * clean + (1 - following) ** 0.5 * torch.randn_like(x)
        return (self.decoder(clean / 0.18).clamp(-1, 1) + 1) / 2


@model("diffusion")
def latents_walked_then_decoded(small):
    if small:
        net = FewStepPictures(widths=(8, 8, 8), decoder=(8, 8, 4), text=8, heads=2, steps=2)
        return net, (torch.randn(1, 4, 8, 8), torch.randn(1, 3, 8)), None
    net = FewStepPictures(widths=(192, 384, 512), decoder=(384, 256, 128, 64), text=768, heads=8, steps=4)
    return net, (torch.randn(2, 4, 64, 64), torch.randn(2, 77, 768)), None


# ------------------------------------------------------------------------------------------------ tabular: histograms for a tree's splits


def grow_level_by_level(bins: Tensor, gradient: Tensor, hessian: Tensor, depth: int, levels: int, penalty: float = 1.0):
    """bins: (n, f) of 0 … levels - 1. One tree of a boosted forest; returns the splits of every level and the value of each row's leaf."""
    n, f = bins.shape
    column = torch.arange(f, device=bins.device) * levels
    node = torch.zeros(n, dtype=torch.long, device=bins.device)
    splits = []
    for d in range(depth):
        nodes = 2**d
        slot = (node[:, None] * (f * levels) + column + bins).flatten()
        sums = [torch.zeros(nodes * f * levels, device=bins.device).index_add_(0, slot, v[:, None].expand(-1, f).reshape(-1)) for v in (gradient, hessian)]  # fmt: skip
        g, h = (s.view(nodes, f, levels).cumsum(-1) for s in sums)
        whole_g, whole_h = g[:, :1, -1:], h[:, :1, -1:]
        gain = g.square() / (h + penalty) + (whole_g - g).square() / (whole_h - h + penalty) - whole_g.square() / (whole_h + penalty)
        gain = gain.masked_fill((h < 1.0) | (whole_h - h < 1.0), 0.0)
        best = gain.flatten(1).argmax(1)
        feature, threshold = best // levels, best % levels
        value = bins.gather(1, feature[node].unsqueeze(1)).squeeze(1)
        node = 2 * node + (value > threshold[node]).long()
        splits.append(torch.stack([feature, threshold], 1))
    leaf_g, leaf_h = (torch.zeros(2**depth, device=bins.device).index_add_(0, node, v) for v in (gradient, hessian))
    return torch.cat(splits), (-0.1 * leaf_g / (leaf_h + penalty))[node]


@model("tabular", half=False)
def bins_counted_for_every_split(small):
    n, f, levels, depth, rounds = (20, 3, 4, 2, 1) if small else (131_072, 48, 64, 5, 2)

    def boost(bins: Tensor, y: Tensor) -> tuple[Tensor, list[Tensor]]:
        score, trees = torch.zeros_like(y), []
        for _ in range(rounds):
            p = torch.sigmoid(score)
            splits, step = grow_level_by_level(bins, p - y, p * (1 - p), depth, levels)
            score = score + step
            trees.append(splits)
        return score, trees

    return boost, (torch.randint(levels, (n, f)), (torch.rand(n) < 0.4).float()), None


# ------------------------------------------------------------------------------------------------ LoRA: detours of low rank for convolutions


class Detour(nn.Module):
    """A frozen convolution; what is learnt goes through a few channels with the same kernel and comes back by a 1 × 1."""

    def __init__(self, conv: nn.Conv2d, rank: int, alpha: float = 8.0) -> None:
        super().__init__()
        self.conv = conv.requires_grad_(False)
        self.down = nn.Conv2d(conv.in_channels, rank, conv.kernel_size, conv.stride, conv.padding, bias=False)
        self.up = nn.Conv2d(rank, conv.out_channels, 1, bias=False)
        nn.init.zeros_(self.up.weight)
        self.scale = alpha / rank
        self.drop = nn.Dropout2d(0.1)

    def forward(self, x: Tensor) -> Tensor:
        return self.conv(x) + self.up(self.down(self.drop(x))) * self.scale


def with_detours(module: nn.Module, rank: int) -> nn.Module:
    for name, child in module.named_children():
        if isinstance(child, nn.Conv2d):
            setattr(module, name, Detour(child, rank))
        elif isinstance(child, nn.GroupNorm):
            child.requires_grad_(False)
        else:
            with_detours(child, rank)
    return module


class Restorer(nn.Module):
    """A U-Net that was trained once, for another kind of damage."""

    def __init__(self, *, width: int) -> None:
        super().__init__()
        w = width
        self.first = nn.Conv2d(3, w, 3, padding=1)
        self.down = nn.ModuleList(nn.Sequential(NormConv(a, b), NormConv(b, b)) for a, b in ((w, w), (w, 2 * w), (2 * w, 4 * w), (4 * w, 4 * w)))  # fmt: skip
        self.up = nn.ModuleList(nn.Sequential(NormConv(a, b), NormConv(b, b)) for a, b in ((8 * w, 2 * w), (4 * w, w), (2 * w, w)))
        self.last = nn.Conv2d(w, 3, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        h, kept = self.first(x), []
        for i, stage in enumerate(self.down):
            h = stage(h if i == 0 else F.avg_pool2d(h, 2))
            kept.append(h)
        kept.pop()
        for stage in self.up:
            h = stage(torch.cat([F.interpolate(h, scale_factor=2.0, mode="nearest"), kept.pop()], dim=1))
        return x + self.last(h)


@model("LoRA")
def convolutions_detoured_low(small):
    b, size, width, rank = (1, 16, 4, 2) if small else (4, 256, 64, 8)
    clean = torch.rand(b, 3, size, size)
    noisy = clean + 0.1 * torch.randn(b, 3, size, size)
    return with_detours(Restorer(width=width), rank), (noisy,), lambda out: F.l1_loss(out.float(), clean)


# ------------------------------------------------------------------------------------------------ robotics: chunks of actions from cameras


class Camera(nn.Module):
    """Residual stages with frozen statistics, one net for all cameras."""

    class Step(nn.Module):
        def __init__(self, a: int, b: int, stride: int) -> None:
            super().__init__()
            self.one, self.two = nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.Conv2d(b, b, 3, 1, 1, bias=False)
            self.skip = nn.Conv2d(a, b, 1, stride, bias=False) if stride > 1 or a != b else None
            for i in (1, 2):
                self.register_buffer(f"gain{i}", torch.ones(b, 1, 1))
                self.register_buffer(f"shift{i}", torch.zeros(b, 1, 1))

        def forward(self, x: Tensor) -> Tensor:
            h = F.relu(self.one(x) * self.gain1 + self.shift1)
            h = self.two(h) * self.gain2 + self.shift2
            return F.relu(h + (x if self.skip is None else self.skip(x)))

    def __init__(self, w: int) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, w, 7, 2, 3, bias=False)
        sizes = ((w, w, 1), (w, w, 1), (w, 2 * w, 2), (2 * w, 2 * w, 1), (2 * w, 4 * w, 2), (4 * w, 4 * w, 1), (4 * w, 8 * w, 2), (8 * w, 8 * w, 1))  # fmt: skip
        self.steps = nn.Sequential(*(self.Step(*s) for s in sizes))

    def forward(self, x: Tensor) -> Tensor:
        return self.steps(F.max_pool2d(F.relu(self.stem(x)), 3, 2, 1))


class ActionChunks(nn.Module):
    """What the arms will do for the next moments, all at once, from several cameras; a latent tells one style of doing it from another."""

    def __init__(self, *, width: int, dim: int, heads: int, layers: int, joints: int, chunk: int, places: int, latent: int = 32) -> None:
        super().__init__()
        self.camera, self.project = Camera(width), nn.Conv2d(8 * width, dim, 1)
        self.place = nn.Parameter(torch.randn(places, dim) * 0.02)
        self.joint, self.joint2, self.action = nn.Linear(joints, dim), nn.Linear(joints, dim), nn.Linear(joints, dim)
        self.cls, self.when = nn.Parameter(torch.randn(1, 1, dim) * 0.02), nn.Parameter(torch.randn(chunk + 2, dim) * 0.02)
        self.ask = nn.Parameter(torch.randn(chunk, dim) * 0.02)

        def encoder(n: int) -> nn.Module:
            return nn.TransformerEncoder(nn.TransformerEncoderLayer(dim, heads, 4 * dim, 0.1, batch_first=True), n, enable_nested_tensor=False)  # fmt: skip

        self.style, self.see = encoder(layers), encoder(layers)
        self.plan = nn.TransformerDecoder(nn.TransformerDecoderLayer(dim, heads, 4 * dim, 0.1, batch_first=True), layers)
        self.to_latent, self.from_latent, self.head = nn.Linear(dim, 2 * latent), nn.Linear(latent, dim), nn.Linear(dim, joints)

    def forward(self, views: Tensor, joints: Tensor, actions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        b, cameras = views.shape[:2]
        read = torch.cat([self.cls.expand(b, -1, -1), self.joint(joints).unsqueeze(1), self.action(actions)], 1) + self.when
        mean, log = self.to_latent(self.style(read)[:, 0]).float().chunk(2, -1)
        z = (mean + torch.randn_like(mean) * (log / 2).exp()).to(views.dtype)
        seen = self.project(self.camera(views.flatten(0, 1))).unflatten(0, (b, cameras))  # (b, n, d, h, w)
        seen = seen.permute(0, 1, 3, 4, 2).flatten(1, 3) + self.place
        memory = self.see(torch.cat([self.from_latent(z).unsqueeze(1), self.joint2(joints).unsqueeze(1), seen], 1))
        return self.head(self.plan(self.ask.expand(b, -1, -1), memory)), mean, log


@model("robotics")
def chunks_of_actions_from_cameras(small):
    b, cameras, h, w, joints, chunk = (2, 2, 32, 32, 3, 4) if small else (8, 4, 240, 320, 14, 100)
    places = cameras * math.ceil(h / 32) * math.ceil(w / 32)
    sizes = dict(width=4, dim=16, heads=2, layers=1) if small else dict(width=64, dim=512, heads=8, layers=4)
    truth = torch.randn(b, chunk, joints)

    def loss(out: tuple[Tensor, Tensor, Tensor]) -> Tensor:
        said, mean, log = out
        return (said.float() - truth).abs().mean() + 10 * -0.5 * (1 + log - mean.square() - log.exp()).sum(1).mean()

    net = ActionChunks(joints=joints, chunk=chunk, places=places, **sizes)
    return net, (torch.rand(b, cameras, 3, h, w), torch.randn(b, joints), torch.randn(b, chunk, joints)), loss
