"""Weavers: attention laid along rows, columns, hops, slices and cuboids; whoever wrote it names every axis and folds by hand."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model

# Axes are named in comments as they are folded: b batch, t time, h and w place, n nodes or points, c channels, d features of a head.


def split_heads(x, heads):
    """... l (heads d) -> ... heads l d"""
    return x.unflatten(-1, (heads, -1)).transpose(-2, -3)


def join_heads(x):
    """... heads l d -> ... l (heads d)"""
    return x.transpose(-2, -3).flatten(-2)


class Attend(nn.Module):
    """Attention over the last axis but one, of anything."""

    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(dim)
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_kv = nn.Linear(dim, 2 * dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x, others=None, mask=None):
        x = self.norm(x)
        others = x if others is None else torch.cat([x, others], dim=-2)
        q = split_heads(self.to_q(x), self.heads)
        k, v = (split_heads(part, self.heads) for part in self.to_kv(others).chunk(2, dim=-1))
        return self.to_out(join_heads(F.scaled_dot_product_attention(q, k, v, attn_mask=mask)))


def feed_forward(dim, mult=4):
    return nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim * mult), nn.GELU(), nn.Linear(dim * mult, dim))


# Rain of the next hour, from that of the last, in cuboids of time and place.


def into_cuboids(x, size, spread):
    """b (T t) (H h) (W w) c -> b (T H W) (t h w) c; spread: the parts of a cuboid lie far from each other."""
    b, c = x.shape[0], x.shape[-1]
    t, h, w = size
    T, H, W = (n // s for n, s in zip(x.shape[1:4], size, strict=True))
    if spread:
        x = x.reshape(b, t, T, h, H, w, W, c).permute(0, 2, 4, 6, 1, 3, 5, 7)
    else:
        x = x.reshape(b, T, t, H, h, W, w, c).permute(0, 1, 3, 5, 2, 4, 6, 7)
    return x.reshape(b, T * H * W, t * h * w, c)


def out_of_cuboids(x, size, whole, spread):
    b, c = x.shape[0], x.shape[-1]
    t, h, w = size
    T, H, W = (n // s for n, s in zip(whole, size, strict=True))
    x = x.reshape(b, T, H, W, t, h, w, c)
    x = x.permute(0, 4, 1, 5, 2, 6, 3, 7) if spread else x.permute(0, 1, 4, 2, 5, 3, 6, 7)
    return x.reshape(b, *whole, c)


class CuboidLayer(nn.Module):
    """Each cuboid attends to itself and to a few tokens that every cuboid sees; these then look at everything."""

    def __init__(self, dim, heads, size, spread=False, last=False):
        super().__init__()
        self.size, self.spread = size, spread
        self.inside, self.ff = Attend(dim, heads), feed_forward(dim)
        self.over, self.ff_shared = (None, None) if last else (Attend(dim, heads), feed_forward(dim, 2))

    def forward(self, x, shared):
        whole = x.shape[1:4]
        size = tuple(n if s is None else s for n, s in zip(whole, self.size, strict=True))
        y = into_cuboids(x, size, self.spread)
        y = y + self.inside(y, shared.unsqueeze(1).expand(-1, y.shape[1], -1, -1))
        y = y + self.ff(y)
        x = out_of_cuboids(y, size, whole, self.spread)
        if self.over is None:
            return x, shared
        shared = shared + self.over(shared, x.flatten(1, 3))
        return x, shared + self.ff_shared(shared)


class Nowcast(nn.Module):
    """Two scales of cuboids down, time turned into lead time between, two scales up."""

    def __init__(self, dim, heads, frames, leads, patch, tokens):
        super().__init__()
        axes = [((None, 1, 1), False), ((1, None, 1), False), ((1, 1, None), False)]
        blocks = [((2, 4, 4), False), ((2, 4, 4), True)]
        self.patch = patch
        self.embed = nn.Linear(patch * patch, dim)
        self.shared = nn.Parameter(torch.randn(tokens, dim) * 0.02)
        self.fine = nn.ModuleList([CuboidLayer(dim, heads, *each) for each in axes])
        self.merge = nn.Linear(4 * dim, 2 * dim)
        self.widen, self.narrow = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.coarse = nn.ModuleList([CuboidLayer(2 * dim, heads, *each) for each in axes + blocks])
        self.ahead, self.ahead_fine = nn.Linear(frames, leads), nn.Linear(frames, leads)
        self.split = nn.Linear(2 * dim, 4 * dim)
        self.late = nn.ModuleList([CuboidLayer(dim, heads, *each, last=each is axes[-1]) for each in axes])
        self.out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, patch * patch))

    def forward(self, radar):
        b, t, H, W = radar.shape
        p = self.patch
        x = radar.reshape(b, t, H // p, p, W // p, p).transpose(3, 4).flatten(-2)  # b t h w (p p)
        x, shared = self.embed(x), self.shared.expand(b, -1, -1)
        for layer in self.fine:
            x, shared = layer(x, shared)
        kept = x
        x = self.merge(x.unflatten(3, (-1, 2)).unflatten(2, (-1, 2)).transpose(3, 4).flatten(-3))
        shared = self.widen(shared)
        for layer in self.coarse:
            x, shared = layer(x, shared)
        x = self.ahead(x.movedim(1, -1)).movedim(-1, 1)
        x = self.split(x).unflatten(-1, (2, 2, -1)).transpose(3, 4).flatten(4, 5).flatten(2, 3)  # b t (h 2) (w 2) c
        x = x + self.ahead_fine(kept.movedim(1, -1)).movedim(-1, 1)
        shared = self.narrow(shared)
        for layer in self.late:
            x, shared = layer(x, shared)
        return self.out(x).unflatten(-1, (p, p)).transpose(3, 4).flatten(4, 5).flatten(2, 3)


@model("weather")
def rain_in_cuboids(small):
    b, frames, leads, size, patch, dim, heads, tokens = (1, 4, 2, 32, 4, 8, 2, 2) if small else (2, 10, 8, 256, 4, 128, 4, 8)
    wanted = torch.rand(b, leads, size, size)
    heavy = 1 + 4 * (wanted > 0.7).float()
    net = Nowcast(dim, heads, frames, leads, patch, tokens)
    return net, (torch.rand(b, frames, size, size),), lambda out: (heavy * (out - wanted).square()).mean()


# Graphs whose nodes each read what lies one hop, two hops, … away as a sentence.


class HopReader(nn.Module):
    def __init__(self, inside, spectral, dim, heads, layers, hops, classes):
        super().__init__()
        self.hops = hops
        self.embed = nn.Linear(inside + spectral, dim)
        self.place = nn.Parameter(torch.randn(hops + 1, dim) * 0.02)
        self.attend = nn.ModuleList([Attend(dim, heads) for _ in range(layers)])
        self.think = nn.ModuleList([feed_forward(dim, 2) for _ in range(layers)])
        self.norm, self.weigh = nn.LayerNorm(dim), nn.Linear(2 * dim, 1)
        self.head = nn.Sequential(nn.Linear(dim, dim // 2), nn.ReLU(), nn.Linear(dim // 2, classes))

    def forward(self, feature, eigen, source, target):
        n = len(feature)
        degree = torch.zeros(n, dtype=feature.dtype, device=feature.device).index_add(
            0, target, torch.ones_like(target, dtype=feature.dtype)
        )
        scale = (degree[source].clamp_min(1) * degree[target].clamp_min(1)).rsqrt().unsqueeze(-1)
        hop = torch.cat([feature, eigen], dim=-1)
        seen = [hop]
        for _ in range(self.hops):
            hop = torch.zeros_like(hop).index_add(0, target, hop[source] * scale)
            seen.append(hop)
        x = self.embed(torch.stack(seen, dim=1)) + self.place  # n hop c
        for attend, think in zip(self.attend, self.think, strict=True):
            x = x + attend(x)
            x = x + think(x)
        x = self.norm(x)
        own, far = x[:, :1], x[:, 1:]
        weight = self.weigh(torch.cat([own.expand_as(far), far], dim=-1)).softmax(dim=1)
        return self.head(own.squeeze(1) + (weight * far).sum(1))


@model("graph transformer")
def hops_as_tokens(small):
    n, edges, inside, spectral, dim, heads, layers, hops, classes = (
        (9, 20, 5, 2, 8, 2, 1, 2, 3) if small else (20_000, 240_000, 300, 16, 192, 8, 3, 7, 40)
    )
    label = torch.randint(classes, (n,))
    inputs = torch.randn(n, inside), torch.randn(n, spectral), torch.randint(n, (edges,)), torch.randint(n, (edges,))
    return HopReader(inside, spectral, dim, heads, layers, hops, classes), inputs, lambda out: F.cross_entropy(out, label)


# Flow around bodies: points of a mesh are gathered softly into slices, slices attend to each other.


class SliceAttention(nn.Module):
    def __init__(self, dim, heads, slices):
        super().__init__()
        self.heads, d = heads, dim // heads
        self.norm = nn.LayerNorm(dim)
        self.to_key, self.to_value = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.to_slice = nn.Linear(d, slices)
        self.heat = nn.Parameter(torch.full((heads, 1, 1), 0.5))
        self.qkv = nn.Linear(d, 3 * d, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, x):
        x = self.norm(x)
        key, value = split_heads(self.to_key(x), self.heads), split_heads(self.to_value(x), self.heads)
        share = (self.to_slice(key) / self.heat.clamp(0.1, 5)).softmax(dim=-1)  # b heads n slices
        total = share.sum(dim=2).unsqueeze(-1) + 1e-5
        token = torch.einsum("bhns,bhnd->bhsd", share, value) / total
        q, k, v = self.qkv(token).chunk(3, dim=-1)
        token = torch.einsum("bhst,bhtd->bhsd", (q @ k.mT * q.shape[-1] ** -0.5).softmax(dim=-1), v)
        return self.to_out(join_heads(torch.einsum("bhns,bhsd->bhnd", share, token)))


class SliceOperator(nn.Module):
    def __init__(self, inside, outside, dim, heads, layers, slices):
        super().__init__()
        self.lift = nn.Sequential(nn.Linear(inside, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))
        self.start = nn.Parameter(torch.rand(dim) / dim)
        self.attend = nn.ModuleList([SliceAttention(dim, heads, slices) for _ in range(layers)])
        self.think = nn.ModuleList([feed_forward(dim, 2) for _ in range(layers)])
        self.drop = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, outside))

    def forward(self, point):
        x = self.lift(point) + self.start
        for attend, think in zip(self.attend, self.think, strict=True):
            x = x + attend(x)
            x = x + think(x)
        return self.drop(x)


@model("neural operator")
def points_gathered_into_slices(small):
    b, n, inside, outside, dim, heads, layers, slices = (1, 12, 3, 2, 8, 2, 1, 3) if small else (2, 24_000, 7, 4, 256, 8, 6, 64)
    truth = torch.randn(b, n, outside)
    far = truth.flatten(1).norm(dim=1)
    loss = lambda out: ((out - truth).flatten(1).norm(dim=1) / far).mean()  # noqa: E731
    return SliceOperator(inside, outside, dim, heads, layers, slices), (torch.randn(b, n, inside),), loss


# Proteins: the rows of an alignment are relatives, its columns are residues, and every pair of residues has a state of its own.


class GatedAxis(nn.Module):
    """Attention along the last axis but one with a gate, and with the pairs' bias where there is one."""

    def __init__(self, dim, heads, pair=None):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(dim)
        self.qkv, self.gate, self.out = nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.bias = nn.Sequential(nn.LayerNorm(pair), nn.Linear(pair, heads, bias=False)) if pair else None

    def forward(self, x, there, pair=None):
        x = self.norm(x)
        q, k, v = (split_heads(part, self.heads) for part in self.qkv(x).chunk(3, dim=-1))
        score = q @ k.mT * q.shape[-1] ** -0.5 + (there - 1).unsqueeze(-2).unsqueeze(-2) * 1e4
        if self.bias is not None:
            score = score + self.bias(pair).movedim(-1, 1).unsqueeze(1)  # b r r heads -> b 1 heads r r
        return self.out(join_heads(score.softmax(dim=-1) @ v) * self.gate(x).sigmoid())


class AlignmentBlock(nn.Module):
    def __init__(self, dim, pair, heads, hidden):
        super().__init__()
        self.along, self.down = GatedAxis(dim, heads, pair), GatedAxis(dim, heads)
        self.think, self.think_pair = feed_forward(dim), feed_forward(pair)
        self.norm, self.left, self.right = nn.LayerNorm(dim), nn.Linear(dim, hidden), nn.Linear(dim, hidden)
        self.to_pair = nn.Linear(hidden * hidden, pair)

    def forward(self, x, pair, there):
        x = x + self.along(x, there, pair)
        x = x + self.down(x.transpose(1, 2), there.transpose(1, 2)).transpose(1, 2)
        x = x + self.think(x)
        y = self.norm(x)
        left, right = (side(y) * there.unsqueeze(-1) for side in (self.left, self.right))
        product = torch.einsum("bsic,bsjd->bijcd", left, right).flatten(-2)
        shared = torch.einsum("bsi,bsj->bij", there, there).unsqueeze(-1)
        pair = pair + self.to_pair(product / (shared + 1e-3))
        return x, pair + self.think_pair(pair)


class Alignment(nn.Module):
    def __init__(self, dim, pair, heads, hidden, blocks, letters, bins):
        super().__init__()
        self.word, self.left, self.right = nn.Embedding(letters, dim), nn.Embedding(letters, pair), nn.Embedding(letters, pair)
        self.apart = nn.Embedding(65, pair)
        self.blocks = nn.ModuleList([AlignmentBlock(dim, pair, heads, hidden) for _ in range(blocks)])
        self.to_letter, self.to_bin = nn.Linear(dim, letters), nn.Linear(pair, bins)

    def forward(self, letters, there):
        first, place = letters[:, 0], torch.arange(letters.shape[-1], device=letters.device)
        apart = (place[:, None] - place[None, :]).clamp(-32, 32) + 32
        pair = self.left(first)[:, :, None] + self.right(first)[:, None, :] + self.apart(apart)
        x = self.word(letters)
        for block in self.blocks:
            x, pair = block(x, pair, there)
        return self.to_letter(x), self.to_bin(pair + pair.transpose(1, 2))


@model("proteins")
def alignments_by_row_and_column(small):
    b, s, r, dim, pair, heads, hidden, blocks, letters, bins = (
        (1, 3, 5, 8, 4, 2, 2, 1, 6, 4) if small else (1, 96, 224, 256, 128, 8, 32, 3, 23, 64)
    )
    ids, there = torch.randint(letters, (b, s, r)), (torch.rand(b, s, r) < 0.9).float()
    hidden_letters, distance = torch.randint(letters, (b, s, r)), torch.randint(bins, (b, r, r))

    def loss(out):
        letter, far = out
        return F.cross_entropy(letter.movedim(-1, 1).float(), hidden_letters) + 0.3 * F.cross_entropy(far.movedim(-1, 1).float(), distance)

    return Alignment(dim, pair, heads, hidden, blocks, letters, bins), (ids, there), loss


# Words in pictures: strokes are mixed with those around them, then with all; height is folded away; one letter or a blank per column.


def window_mask(h, w, reach):
    """(h w) (h w), true where two places are near enough."""
    y, x = torch.arange(h).repeat_interleave(w), torch.arange(w).repeat(h)
    near_y, near_x = ((a[:, None] - a[None, :]).abs() <= r // 2 for a, r in ((y, reach[0]), (x, reach[1])))
    return near_y & near_x


class StrokeStage(nn.Module):
    def __init__(self, dim, heads, local, whole, h, w, reach=(7, 11)):
        super().__init__()
        self.local = local
        self.attend = nn.ModuleList([Attend(dim, heads) for _ in range(local + whole)])
        self.think = nn.ModuleList([feed_forward(dim) for _ in range(local + whole)])
        self.register_buffer("near", window_mask(h, w, reach), persistent=False)

    def forward(self, x):
        for i, (attend, think) in enumerate(zip(self.attend, self.think, strict=True)):
            x = x + attend(x, mask=self.near if i < self.local else None)
            x = x + think(x)
        return x


class StrokeReader(nn.Module):
    def __init__(self, h, w, dims, heads, depth, letters):
        super().__init__()
        a, b, c = dims
        self.h, self.w = h // 4, w // 4
        self.stem = nn.Sequential(
            nn.Conv2d(3, a // 2, 3, 2, 1, bias=False), nn.BatchNorm2d(a // 2), nn.GELU(), nn.Conv2d(a // 2, a, 3, 2, 1, bias=False), nn.BatchNorm2d(a), nn.GELU()
        )  # fmt: skip
        self.place = nn.Parameter(torch.zeros(self.h * self.w, a))
        self.stages = nn.ModuleList(
            [StrokeStage(d, n, *local, self.h >> i, self.w) for i, (d, n, local) in enumerate(zip(dims, heads, depth, strict=True))]
        )
        self.lower = nn.ModuleList([nn.Conv2d(one, two, 3, (2, 1), 1) for one, two in ((a, b), (b, c))])
        self.out = nn.Sequential(nn.LayerNorm(c), nn.Linear(c, c), nn.Hardswish(), nn.Linear(c, letters + 1))

    def forward(self, image):
        x = self.stem(image).flatten(2).mT + self.place
        for i, stage in enumerate(self.stages):
            x = stage(x)
            if i < 2:
                x = x.mT.unflatten(-1, (self.h >> i, self.w))
                x = self.lower[i](x).flatten(2).mT
        return self.out(x.unflatten(1, (-1, self.w)).mean(1))  # b w letters


@model("OCR")
def strokes_mixed_near_and_far(small):
    b, h, w, dims, heads, depth, letters, longest = (
        (2, 16, 32, (4, 8, 8), (2, 2, 2), ((1, 0), (1, 1), (0, 1)), 5, 3)
        if small
        else (160, 32, 160, (64, 128, 256), (2, 4, 8), ((3, 0), (3, 3), (0, 3)), 96, 16)
    )
    word, length = torch.randint(1, letters + 1, (b, longest)), torch.full((b,), longest)

    def loss(out):
        read = out.float().log_softmax(-1).transpose(0, 1)
        return F.ctc_loss(read, word, torch.full_like(length, len(read)), length, zero_infinity=True)

    return StrokeReader(h, w, dims, heads, depth, letters), (torch.rand(b, 3, h, w),), loss


# Bodies in space from joints in a film: one stream goes over joints first and one over time first, and both are weighed.


class PoseStep(nn.Module):
    def __init__(self, dim, heads, joints_first):
        super().__init__()
        self.joints_first = joints_first
        self.attend = nn.ModuleList([Attend(dim, heads) for _ in range(2)])
        self.think = nn.ModuleList([feed_forward(dim, 2) for _ in range(2)])

    def forward(self, x):
        """b t j c"""
        for attend, think, joints in zip(self.attend, self.think, (self.joints_first, not self.joints_first), strict=True):
            y = x if joints else x.transpose(1, 2)
            y = y + attend(y)
            y = y + think(y)
            x = y if joints else y.transpose(1, 2)
        return x


class PoseLifter(nn.Module):
    def __init__(self, frames, joints, dim, heads, depth):
        super().__init__()
        self.embed = nn.Linear(3, dim)
        self.joint, self.time = nn.Parameter(torch.randn(joints, dim) * 0.02), nn.Parameter(torch.randn(frames, 1, dim) * 0.02)
        self.one = nn.ModuleList([PoseStep(dim, heads, True) for _ in range(depth)])
        self.two = nn.ModuleList([PoseStep(dim, heads, False) for _ in range(depth)])
        self.weigh = nn.ModuleList([nn.Linear(2 * dim, 2) for _ in range(depth)])
        self.out = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.Tanh(), nn.Linear(dim, 3))

    def forward(self, joints):
        x = self.embed(joints) + self.joint + self.time
        for one, two, weigh in zip(self.one, self.two, self.weigh, strict=True):
            first, second = one(x), two(x)
            a, b = weigh(torch.cat([first, second], dim=-1)).softmax(dim=-1).split(1, dim=-1)
            x = a * first + b * second
        return self.out(x)


@model("pose")
def poses_lifted_over_time(small):
    b, frames, joints, dim, heads, depth = (1, 4, 5, 8, 2, 1) if small else (8, 243, 17, 256, 8, 3)
    truth = torch.randn(b, frames, joints, 3)

    def loss(out):
        moved = out.diff(dim=1) - truth.diff(dim=1)
        return (out - truth).norm(dim=-1).mean() + 20 * moved.norm(dim=-1).mean()

    return PoseLifter(frames, joints, dim, heads, depth), (torch.randn(b, frames, joints, 3),), loss


# Where everything went: features of two pictures are compared all with all, and what is certain is handed on to what is hidden.


def bottleneck(inside, outside, stride):
    skip = nn.Conv2d(inside, outside, 1, stride) if inside != outside or stride > 1 else nn.Identity()
    body = nn.Sequential(
        nn.Conv2d(inside, outside, 3, stride, 1, bias=False), nn.InstanceNorm2d(outside), nn.ReLU(),
        nn.Conv2d(outside, outside, 3, 1, 1, bias=False), nn.InstanceNorm2d(outside), nn.ReLU(),
    )  # fmt: skip
    return nn.ModuleList([body, skip])


class MatchEverything(nn.Module):
    def __init__(self, widths, heads, layers, splits):
        super().__init__()
        a, b, c = widths
        self.splits, self.c = splits, c
        self.stem = nn.Sequential(nn.Conv2d(3, a, 7, 2, 3, bias=False), nn.InstanceNorm2d(a), nn.ReLU())
        self.body = nn.ModuleList([bottleneck(a, a, 1), bottleneck(a, b, 2), bottleneck(b, c, 2)])
        self.alike = nn.ModuleList([Attend(c, heads) for _ in range(layers)])
        self.cross = nn.ModuleList([Attend(c, heads) for _ in range(layers)])
        self.think = nn.ModuleList([feed_forward(c) for _ in range(layers)])
        self.query, self.key = nn.Linear(c, c), nn.Linear(c, c)
        self.finer = nn.Sequential(nn.Conv2d(c + 2, 2 * c, 3, 1, 1), nn.ReLU(), nn.Conv2d(2 * c, 9 * 64, 1))

    def windows(self, x, shift):
        """b (s h) (s w) c -> (b s s) (h w) c, and rolled by half a window in every other layer."""
        b, H, W, c = x.shape
        s = self.splits
        if shift:
            x = x.roll((-(H // s) // 2, -(W // s) // 2), (1, 2))
        return x.reshape(b, s, H // s, s, W // s, c).transpose(2, 3).reshape(b * s * s, -1, c)

    def whole(self, x, b, H, W, shift):
        s = self.splits
        x = x.reshape(b, s, s, H // s, W // s, -1).transpose(2, 3).reshape(b, H, W, -1)
        return x.roll(((H // s + 1) // 2, (W // s + 1) // 2), (1, 2)) if shift else x

    def forward(self, one, two):
        x = self.stem(torch.cat([one, two]))
        for body, skip in self.body:
            x = F.relu(body(x) + skip(x))
        _, _, H, W = x.shape
        x = x.permute(0, 2, 3, 1)
        for i, (alike, cross, think) in enumerate(zip(self.alike, self.cross, self.think, strict=True)):
            y = self.windows(x, i % 2)
            y = y + alike(y)
            other = torch.cat(y.chunk(2)[::-1])
            y = y + cross(y, other)
            y = y + think(y)
            x = self.whole(y, len(x), H, W, i % 2)
        first, second = x.flatten(1, 2).chunk(2)
        place = torch.stack(torch.meshgrid(torch.arange(W, device=x.device), torch.arange(H, device=x.device), indexing="xy"), -1).flatten(
            0, 1
        )
        place = place.to(x.dtype)
        likely = (first @ second.mT * self.c**-0.5).softmax(dim=-1)  # b (h w) (h w)
        flow = likely @ place - place
        like_itself = (self.query(first) @ self.key(first).mT * self.c**-0.5).softmax(dim=-1)
        flow = (like_itself @ flow).mT.unflatten(-1, (H, W))
        share = self.finer(torch.cat([first.mT.unflatten(-1, (H, W)), flow], dim=1)).unflatten(1, (1, 9, 8, 8)).softmax(dim=2)
        around = F.unfold(8 * flow, 3, padding=1).unflatten(-1, (H, W)).unflatten(1, (2, 9))[:, :, :, None, None]
        fine = (share * around).sum(2)  # b 2 8 8 h w
        return fine.permute(0, 1, 4, 2, 5, 3).flatten(4, 5).flatten(2, 3)


@model("optical flow")
def flow_by_matching_everything(small):
    b, H, W, widths, heads, layers = (1, 32, 32, (4, 4, 8), 2, 2) if small else (4, 320, 448, (64, 96, 128), 1, 6)
    truth = torch.randn(b, 2, H, W) * 4
    net = MatchEverything(widths, heads, layers, 2)
    return net, (torch.rand(b, 3, H, W), torch.rand(b, 3, H, W)), lambda out: (out - truth).abs().mean()


# Organs in a scan: depthwise kernels of five by five by five, a wide middle, and four scales.


class LargeKernel(nn.Module):
    def __init__(self, inside, outside, kernel, mult, step=0):
        """step: 1 halves the volume, -1 doubles it."""
        super().__init__()
        self.step = step
        conv = nn.ConvTranspose3d if step < 0 else nn.Conv3d
        extra = {"output_padding": 1} if step < 0 else {}
        self.space = conv(inside, inside, kernel, 2 if step else 1, kernel // 2, groups=inside, **extra)
        self.norm = nn.GroupNorm(inside, inside)
        self.mix = nn.Sequential(nn.Conv3d(inside, inside * mult, 1), nn.GELU(), nn.Conv3d(inside * mult, outside, 1))
        self.skip = conv(inside, outside, 1, 2, **extra) if step else None

    def forward(self, x):
        return self.mix(self.norm(self.space(x))) + (x if self.skip is None else self.skip(x))


class OrganNet(nn.Module):
    def __init__(self, width, levels, kernel, mult, depth, organs):
        super().__init__()
        widths = [width << i for i in range(levels)]
        several = lambda w: nn.Sequential(*[LargeKernel(w, w, kernel, mult) for _ in range(depth)])  # noqa: E731
        self.stem = nn.Conv3d(1, width, 1)
        self.down = nn.ModuleList([several(w) for w in widths[:-1]])
        self.shrink = nn.ModuleList([LargeKernel(w, 2 * w, kernel, mult, 1) for w in widths[:-1]])
        self.middle = several(widths[-1])
        self.grow = nn.ModuleList([LargeKernel(2 * w, w, kernel, mult, -1) for w in widths[-2::-1]])
        self.up = nn.ModuleList([several(w) for w in widths[-2::-1]])
        self.out = nn.ModuleList([nn.Conv3d(w, organs, 1) for w in widths[-2::-1]])

    def forward(self, scan):
        x, kept, said = self.stem(scan), [], []
        for down, halve in zip(self.down, self.shrink, strict=True):
            kept.append(down(x))
            x = halve(kept[-1])
        x = self.middle(x)
        for double, up, out in zip(self.grow, self.up, self.out, strict=True):
            x = up(double(x) + kept.pop())
            said.append(out(x))
        return said[::-1]


@model("medical")
def organs_by_large_kernels(small):
    b, size, width, levels, kernel, mult, depth, organs = (1, 8, 4, 3, 3, 2, 1, 3) if small else (2, 64, 32, 4, 5, 3, 1, 14)
    label = torch.randint(organs, (b, size, size, size))

    def loss(out):
        total = 0.0
        for i, said in enumerate(out):
            truth = label[:, :: 1 << i, :: 1 << i, :: 1 << i]
            share, one_hot = said.float().softmax(1), F.one_hot(truth, organs).movedim(-1, 1)
            both = (share * one_hot).sum((2, 3, 4))
            dice = 2 * both / (share.sum((2, 3, 4)) + one_hot.sum((2, 3, 4)) + 1e-5)
            total = total + (F.cross_entropy(said.float(), truth) + 1 - dice.mean()) / 2**i
        return total

    return OrganNet(width, levels, kernel, mult, depth, organs), (torch.rand(b, 1, size, size, size),), loss
