"""Frames and solids: a burst merged, events binned, a slide's tiles, textures sorted, triangles drawn softly, voxels by key."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class BurstMerged(nn.Module):
    """Frames of a shaky burst become one: for every pixel of every frame a kernel of its own, all of them sum to one."""

    def __init__(self, frames, width, k):
        super().__init__()
        self.frames, self.k = frames, k
        self.a, self.b, self.c = (self.pair(i, o) for i, o in ((frames + 1, width), (width, 2 * width), (2 * width, 4 * width)))
        self.d, self.e = self.pair(6 * width, 2 * width), self.pair(3 * width, width)
        self.out = nn.Conv2d(width, frames * k * k, 1)

    @staticmethod
    def pair(i, o):
        return nn.Sequential(nn.Conv2d(i, o, 3, 1, 1), nn.LeakyReLU(0.2), nn.Conv2d(o, o, 3, 1, 1), nn.LeakyReLU(0.2))

    def forward(self, burst, noise):
        b, n, h, w = burst.shape
        a = self.a(torch.cat([burst, noise.view(b, 1, 1, 1).expand(b, 1, h, w)], 1))
        m = self.b(F.avg_pool2d(a, 2))
        z = F.interpolate(self.c(F.avg_pool2d(m, 2)), scale_factor=2, mode="bilinear")
        z = F.interpolate(self.d(torch.cat([z, m], 1)), scale_factor=2, mode="bilinear")
        kernels = self.out(self.e(torch.cat([z, a], 1))).softmax(1)
        seen = F.unfold(burst, self.k, padding=self.k // 2).view(b, n * self.k**2, h, w)
        each = (seen * kernels).view(b, n, self.k**2, h, w).sum(2)
        return each.sum(1), each * n


@model("denoising")
def burst_merged_by_kernels(small):
    b, n, size, width, k = (2, 2, 8, 4, 3) if small else (4, 8, 256, 64, 5)
    clean = torch.rand(b, size, size)

    def loss(out):
        merged, each = out
        steep = [(merged - clean).diff(dim=i).abs().mean() for i in (1, 2)]
        return F.l1_loss(merged, clean) + sum(steep) + 0.1 * F.l1_loss(each, clean.unsqueeze(1).expand_as(each))

    burst = (clean.unsqueeze(1) + 0.1 * torch.randn(b, n, size, size)).clamp(0, 1)
    return BurstMerged(n, width, k), (burst, torch.full((b,), 0.1)), loss


class ConvGRU(nn.Module):
    def __init__(self, a, h):
        super().__init__()
        self.gates, self.new = nn.Conv2d(a + h, 2 * h, 3, padding=1), nn.Conv2d(a + h, h, 3, padding=1)

    def forward(self, x, h):
        r, z = torch.sigmoid(self.gates(torch.cat([x, h], 1))).chunk(2, 1)
        return torch.lerp(h, torch.tanh(self.new(torch.cat([x, r * h], 1))).to(h.dtype), z.to(h.dtype))


class EventsToFrames(nn.Module):
    """A camera that reports only changes: its events binned softly in time, and a picture drawn from each bin by cells that remember."""

    def __init__(self, size, bins, steps, width):
        super().__init__()
        self.size, self.bins, self.steps, self.width = size, bins, steps, width
        self.down = nn.ModuleList([nn.Conv2d(bins, width, 5, 2, 2), nn.Conv2d(width, 2 * width, 5, 2, 2)])
        self.cells = nn.ModuleList([ConvGRU(width, width), ConvGRU(2 * width, 2 * width)])
        self.up = nn.ModuleList([nn.Conv2d(2 * width, width, 5, padding=2), nn.Conv2d(width, width, 5, padding=2)])
        self.out = nn.Conv2d(width, 1, 1)

    def bin(self, x, y, t, sign):
        s, b = self.size, len(x)
        when = t.float() * (self.steps * self.bins - 1)
        low = when.floor()
        grid = torch.zeros(b, self.steps * self.bins * s * s, device=x.device)
        for edge in (low, low + 1):
            weight = sign.float() * (1 - (when - edge).abs()).clamp_min(0)
            place = edge.long().clamp_max(self.steps * self.bins - 1) * s * s + y * s + x
            grid.scatter_add_(1, place, weight)
        grid = grid.view(b, self.steps, self.bins, s, s)
        some = grid != 0
        count = some.sum((2, 3, 4), keepdim=True).clamp_min(1)
        mean = grid.sum((2, 3, 4), keepdim=True) / count
        std = ((grid.square().sum((2, 3, 4), keepdim=True) / count) - mean**2).clamp_min(1e-6).sqrt()
        return torch.where(some, (grid - mean) / std, 0.0)

    def forward(self, x, y, t, sign):
        grid = self.bin(x, y, t, sign).to(sign.dtype)
        s, b = self.size, len(x)
        h1, h2 = grid.new_zeros(b, self.width, s // 2, s // 2), grid.new_zeros(b, 2 * self.width, s // 4, s // 4)
        frames = []
        for i in range(self.steps):
            h1 = self.cells[0](F.relu(self.down[0](grid[:, i])), h1)
            h2 = self.cells[1](F.relu(self.down[1](h1)), h2)
            z = F.relu(self.up[0](F.interpolate(h2, scale_factor=2))) + h1
            frames.append(torch.sigmoid(self.out(F.relu(self.up[1](F.interpolate(z, scale_factor=2))))))
        return torch.cat(frames, 1)


@model("video")
def events_binned_then_drawn(small):
    b, n, size, bins, steps, width = (2, 50, 8, 2, 2, 4) if small else (8, 400_000, 256, 5, 6, 32)
    inputs = torch.randint(size, (b, n)), torch.randint(size, (b, n)), torch.rand(b, n).sort(1).values, torch.randint(2, (b, n)) * 2.0 - 1
    truth = torch.rand(b, steps, size, size)
    return (
        EventsToFrames(size, bins, steps, width),
        inputs,
        lambda out: F.l1_loss(out, truth) + F.mse_loss(out.diff(dim=1), truth.diff(dim=1)),
    )


class TilesOfASlide(nn.Module):
    """A slide as thousands of features of tiles: attention through a few landmarks, an inverse by iteration, positions by convolutions of odd size."""

    def __init__(self, features, d, heads, landmarks, classes):
        super().__init__()
        self.enter, self.cls = nn.Sequential(nn.Linear(features, d), nn.ReLU()), nn.Parameter(torch.randn(1, 1, d))
        self.qkv, self.out = (nn.ModuleList(nn.Linear(d, n * d, bias=n == 1) for _ in range(2)) for n in (3, 1))
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(3))
        self.res = nn.ModuleList(nn.Conv2d(heads, heads, (33, 1), padding=(16, 0), groups=heads, bias=False) for _ in range(2))
        self.place = nn.ModuleList(nn.Conv2d(d, d, k, padding=k // 2, groups=d) for k in (7, 5, 3))
        self.heads, self.landmarks, self.head = heads, landmarks, nn.Linear(d, classes)

    def attend(self, x, i):
        n = x.shape[1]
        m = self.landmarks
        x = F.pad(x, (0, 0, (m - n % m) % m, 0))
        q, k, v = (z.unflatten(-1, (self.heads, -1)).transpose(1, 2) for z in self.qkv[i](x).chunk(3, -1))
        q = q * q.shape[-1] ** -0.5
        ql, kl = (z.unflatten(2, (m, -1)).mean(3) for z in (q, k))
        one, two, three = ((a @ c.mT).float().softmax(-1) for a, c in ((q, kl), (ql, kl), (ql, k)))
        z = two.mT / (two.abs().sum(-1).amax() * two.abs().sum(-2).amax())
        eye = torch.eye(m, device=x.device)
        for _ in range(6):
            a = two @ z
            z = 0.25 * z @ (13 * eye - a @ (15 * eye - a @ (7 * eye - a)))
        y = (one @ z).to(v.dtype) @ (three.to(v.dtype) @ v) + self.res[i](v)
        return self.out[i](y.transpose(1, 2).flatten(2)[:, -n:])

    def forward(self, tiles):
        x = self.enter(tiles)
        side = math.ceil(x.shape[1] ** 0.5)
        x = torch.cat([x, x[:, : side * side - x.shape[1]]], 1)
        x = torch.cat([self.cls.expand(len(x), -1, -1).to(x.dtype), x], 1)
        x = x + self.attend(self.norms[0](x), 0)
        picture = x[:, 1:].transpose(1, 2).unflatten(2, (side, side))
        picture = picture + sum(conv(picture) for conv in self.place)
        x = torch.cat([x[:, :1], picture.flatten(2).transpose(1, 2).to(x.dtype)], 1)
        x = x + self.attend(self.norms[1](x), 1)
        return self.head(self.norms[2](x[:, 0]))


@model("medical")
def tiles_of_a_slide(small):
    b, n, features, d, heads, landmarks = (2, 20, 8, 16, 2, 4) if small else (8, 6000, 1024, 512, 8, 256)
    label = torch.randint(3, (b,))
    return TilesOfASlide(features, d, heads, landmarks, 3), (torch.randn(b, n, features),), lambda out: F.cross_entropy(out, label)


class TexturesSorted(nn.Module):
    """A small generator of textures, judged by features of a fixed net: projected on random lines, sorted, and compared place by place."""

    def __init__(self, width, deep, lines):
        super().__init__()
        self.grow = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(3 + (width if i else 0), width, 3, padding=1, padding_mode="circular"),
                nn.InstanceNorm2d(width, affine=True),
                nn.LeakyReLU(0.1),
            )
            for i in range(4)
        )
        self.rgb, self.lines = nn.Conv2d(width, 3, 1), lines
        sizes = (3, deep, 2 * deep, 4 * deep)
        self.judge = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, padding=1), nn.ReLU(), nn.Conv2d(b, b, 3, padding=1), nn.ReLU())
            for a, b in itertools.pairwise(sizes)
        )
        self.judge.requires_grad_(False)

    def features(self, x):
        out = []
        for layer in self.judge:
            x = layer(x)
            out.append(x.flatten(2))
            x = F.avg_pool2d(x, 2)
        return out

    def forward(self, like, *noises):
        y = None
        for z, grow in zip(noises, self.grow):
            y = grow(z if y is None else torch.cat([z, F.interpolate(y, scale_factor=2)], 1))
        made = torch.sigmoid(self.rgb(y))
        total = 0
        for a, b in zip(self.features(made), self.features(like)):
            way = F.normalize(torch.randn(self.lines, a.shape[1], device=a.device, dtype=a.dtype), dim=1)
            pa, pb = (torch.einsum("lc,bcn->bln", way, z).sort(-1).values for z in (a, b))
            total = total + (pa - pb).square().mean()
        return total, made


@model("textures")
def textures_compared_when_sorted(small):
    b, size, width, deep, lines = (2, 16, 8, 4, 3) if small else (8, 256, 64, 32, 64)
    noises = [torch.rand(b, 3, size >> i, size >> i) for i in (3, 2, 1, 0)]
    return TexturesSorted(width, deep, lines), (torch.rand(b, 3, size, size), *noises), lambda out: out[0]


class TrianglesSoft(nn.Module):
    """A mesh seen softly: how far each pixel is from each triangle's edges, blended by nearness and depth, so that corners have gradients."""

    def __init__(self, vertices, faces, size, sigma=1e-3, gamma=1e-2):
        super().__init__()
        self.offset, self.colour = nn.Parameter(torch.zeros(vertices, 3)), nn.Parameter(torch.rand(faces, 3))
        self.register_buffer("base", F.normalize(torch.randn(vertices, 3), dim=-1))
        self.register_buffer("faces", torch.randint(vertices, (faces, 3)))
        self.size, self.sigma, self.gamma = size, sigma, gamma

    def forward(self, turn, shift):
        v = torch.einsum("bij,vj->bvi", turn, self.base + 0.1 * torch.tanh(self.offset)) + shift.unsqueeze(1)
        xy, depth = v[..., :2] / v[..., 2:].clamp_min(0.1), v[..., 2]
        tri, z = xy[:, self.faces], depth[:, self.faces].mean(-1)
        t = (torch.arange(self.size, device=v.device, dtype=v.dtype) + 0.5) / self.size * 2 - 1
        p = torch.stack(torch.meshgrid(t, t, indexing="xy"), -1).view(1, -1, 1, 2)
        near, side = None, []
        for i in range(3):
            a, e = tri[:, None, :, i], (tri[:, :, (i + 1) % 3] - tri[:, :, i])[:, None]
            d = p - a
            u = ((d * e).sum(-1) / (e * e).sum(-1).clamp_min(1e-8)).clamp(0, 1)
            gap = (d - u.unsqueeze(-1) * e).square().sum(-1)
            near = gap if near is None else torch.minimum(near, gap)
            side.append(d[..., 0] * e[..., 1] - d[..., 1] * e[..., 0] > 0)
        inside = (side[0] == side[1]) & (side[1] == side[2])
        cover = torch.sigmoid(torch.where(inside, near, -near) / self.sigma)
        weight = cover * torch.exp(((1 / z - 1 / z.amax(1, keepdim=True)) / self.gamma).clamp_max(20)).unsqueeze(1)
        colour = (weight @ torch.sigmoid(self.colour).to(weight.dtype)) / (weight.sum(-1, keepdim=True) + 1e-3)
        return colour.transpose(1, 2).unflatten(2, (self.size, self.size)), 1 - (1 - cover).clamp_min(1e-6).log().sum(-1).exp()


@model("rays and points", half=False)
def triangles_drawn_softly(small):
    b, vertices, faces, size = (2, 6, 8, 4) if small else (4, 642, 1280, 72)
    picture, shade = torch.rand(b, 3, size, size), (torch.rand(b, size * size) < 0.3).float()
    turn = torch.linalg.qr(torch.randn(b, 3, 3))[0]
    return (
        TrianglesSoft(vertices, faces, size),
        (turn, torch.tensor([0.0, 0.0, 3.0]).expand(b, 3)),
        lambda out: F.l1_loss(out[0], picture) + F.l1_loss(out[1], shade),
    )


def neighbours_by_key(key, coords, side):
    """For each voxel, where its 27 neighbours are in the sorted list, and which of them exist."""
    step = torch.arange(-1, 2, device=key.device)
    offset = torch.cartesian_prod(step, step, step)
    wanted = ((offset[:, 0] * side + offset[:, 1]) * side + offset[:, 2]) + key.unsqueeze(1)
    inside = ((coords.unsqueeze(1) + offset >= 0) & (coords.unsqueeze(1) + offset < side)).all(-1)
    place = torch.searchsorted(key, wanted.contiguous()).clamp_max(len(key) - 1)
    return place, (key[place] == wanted) & inside


class VoxelsByKey(nn.Module):
    """Convolutions only where something is: keys of voxels sorted once, neighbours found by bisection, one product for all 27 offsets."""

    def __init__(self, channels, width, layers, classes, side):
        super().__init__()
        self.side, sizes = side, [channels] + [width] * (layers + 1)
        self.weights = nn.ParameterList(nn.Parameter(torch.randn(27 * a, b) / (9 * a) ** 0.5) for a, b in itertools.pairwise(sizes))
        self.norms = nn.ModuleList(nn.BatchNorm1d(b) for b in sizes[1:])
        self.head = nn.Linear(width, classes)

    def forward(self, coords, features):
        key = (coords[:, 0] * self.side + coords[:, 1]) * self.side + coords[:, 2]
        key, order = torch.sort(key)
        place, there = neighbours_by_key(key, coords[order], self.side)
        x = features[order]
        for i, (w, norm) in enumerate(zip(self.weights, self.norms)):
            near = x[place] * there.unsqueeze(-1).to(x.dtype)
            y = norm(near.flatten(1) @ w)
            x = F.relu(x + y if i % 2 == 0 and i else y)
        return torch.empty_like(out := self.head(x)).index_copy_(0, order, out)


@model("rays and points")
def voxels_found_by_key(small):
    n, channels, width, layers, side = (40, 4, 8, 1, 8) if small else (60_000, 4, 48, 5, 256)
    label = torch.randint(20, (n,))
    return (
        VoxelsByKey(channels, width, layers, 20, side),
        (torch.randint(side, (n, 3)), torch.randn(n, channels)),
        lambda out: F.cross_entropy(out, label),
    )
