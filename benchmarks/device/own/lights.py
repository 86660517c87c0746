"""Light and points: paths between spheres, points along a curve through space, depth fused into a volume."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


@model("rays and points", half=False)
def light_between_spheres(small):
    """A room of spheres lit by some of them: rays bounce a few times, mirrored by some, scattered by others."""
    rays, spheres, bounces = (16, 4, 2) if small else (262_144, 40, 4)

    def trace(origin, way, centre, radius, colour, glow, mirror):
        light, left = torch.zeros_like(origin), torch.ones_like(origin)
        for _ in range(bounces):
            b = origin @ centre.t() - (centre * centre).sum(1)  # against every sphere at once
            toward = way @ centre.t() - (origin * way).sum(1, keepdim=True)
            apart = (origin * origin).sum(1, keepdim=True) - 2 * b - (centre * centre).sum(1) - radius**2
            root = toward**2 - apart
            near = toward - root.clamp(min=0).sqrt()
            far = toward + root.clamp(min=0).sqrt()
            t = torch.where(near > 1e-3, near, far)
            t = torch.where((root > 0) & (t > 1e-3), t, math.inf)
            t, which = t.min(1)
            hit = torch.isfinite(t)
            t = torch.where(hit, t, 0.0)
            point = origin + t.unsqueeze(1) * way
            normal = F.normalize(point - centre[which], dim=1)
            normal = torch.where((normal * way).sum(1, keepdim=True) > 0, -normal, normal)
            sky = 0.5 * (way[:, 1:2] + 1) * torch.tensor([0.5, 0.7, 1.0], device=way.device)
            light = light + left * torch.where(hit.unsqueeze(1), glow[which], sky)
            left = left * colour[which] * hit.unsqueeze(1)
            rough = F.normalize(normal + F.normalize(torch.randn_like(normal), dim=1), dim=1)
            shiny = way - 2 * (way * normal).sum(1, keepdim=True) * normal
            way = torch.where(torch.rand_like(t).unsqueeze(1) < mirror[which].unsqueeze(1), shiny, rough)
            origin = point
        return light.clamp(0, 1) ** (1 / 2.2)

    inputs = (
        torch.zeros(rays, 3), F.normalize(torch.randn(rays, 3), dim=1), torch.randn(spheres, 3) * 6, torch.rand(spheres) + 0.3,
        torch.rand(spheres, 3), (torch.rand(spheres, 1) < 0.2) * torch.rand(spheres, 3) * 5, torch.rand(spheres),
    )  # fmt: skip
    return trace, inputs, None


def along_curve(grid, bits):
    """Place on a curve that visits cells near each other in turn: the bits of the three coordinates interleaved."""
    code = torch.zeros_like(grid[..., 0])
    for i in range(bits):
        for axis in range(3):
            code = code | (((grid[..., axis] >> i) & 1) << (3 * i + axis))
    return code


class CurveBlock(nn.Module):
    """Points attend within windows of the curve; a depthwise convolution along it tells where they are."""

    def __init__(self, d, heads, window):
        super().__init__()
        self.heads, self.window = heads, window
        self.place = nn.Conv1d(d, d, 5, padding=2, groups=d)
        self.n0, self.n1, self.n2 = (nn.LayerNorm(d) for _ in range(3))
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x, order, back):
        b, n, d = x.shape
        x = torch.take_along_dim(x, order.unsqueeze(-1), 1)
        x = x + self.n0(self.place(x.transpose(1, 2)).transpose(1, 2))
        qkv = self.qkv(self.n1(x)).view(b * (n // self.window), self.window, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))
        x = x + self.ff(self.n2(x))
        return torch.take_along_dim(x, back.unsqueeze(-1), 1)


class PointsAlongACurve(nn.Module):
    def __init__(self, enter, dims, depths, heads, window, bits, classes):
        super().__init__()
        self.bits = bits
        self.enter = nn.Sequential(nn.Linear(enter, dims[0]), nn.LayerNorm(dims[0]), nn.GELU())
        self.down = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(dims))
        self.up = nn.ModuleList(nn.Linear(b, a) for a, b in itertools.pairwise(dims))
        self.skip = nn.ModuleList(nn.Linear(a, a) for a in dims[:-1])
        self.blocks = nn.ModuleList(
            nn.ModuleList(CurveBlock(d, h, window) for _ in range(n)) for d, h, n in zip(dims, heads, depths, strict=True)
        )
        self.head = nn.Sequential(nn.LayerNorm(dims[0]), nn.Linear(dims[0], classes))

    def orders(self, grid):
        """Two curves: over x, y, z and over z, x, y; blocks take them by turns."""
        found = []
        for cells in (grid, grid.roll(1, -1)):
            order = along_curve(cells, self.bits).argsort(1)
            found.append((order, order.argsort(1)))
        return found

    def forward(self, points, grid):
        first = along_curve(grid, self.bits).argsort(1)
        x = self.enter(torch.take_along_dim(points, first.unsqueeze(-1), 1))
        grid = torch.take_along_dim(grid, first.unsqueeze(-1), 1)
        kept = []
        for level, blocks in enumerate(self.blocks):
            orders = self.orders(grid)
            for i, block in enumerate(blocks):
                x = block(x, *orders[i % 2])
            if level < len(self.down):
                kept.append(x)
                x = self.down[level](x).unflatten(1, (-1, 4)).amax(2)  # four points next to each other on the curve become one
                grid = grid[:, ::4] >> 1
        for up, skip, before in zip(reversed(self.up), reversed(self.skip), reversed(kept)):
            x = skip(before) + up(x).repeat_interleave(4, 1)
        home = first.argsort(1)
        return self.head(torch.take_along_dim(x, home.unsqueeze(-1), 1))


@model("rays and points")
def points_along_a_curve(small):
    b, n, dims, depths, heads, window, bits = (
        (1, 32, (8, 16), (1, 1), (2, 2), 8, 4) if small else (4, 32_768, (64, 128, 256), (2, 2, 4), (4, 8, 16), 512, 10)
    )
    labels = torch.randint(20, (b * n,))
    net = PointsAlongACurve(6, dims, depths, heads, window, bits, 20)
    return net, (torch.randn(b, n, 6), torch.randint(2**bits, (b, n, 3))), lambda out: F.cross_entropy(out.flatten(0, 1), labels)


@model("rays and points", half=False)
def depth_fused_into_a_volume(small):
    """Depth pictures from known places, one after another, into a volume of signed distances; then its normals."""
    n, views, h, w = (6, 2, 8, 10) if small else (224, 8, 480, 640)

    def fuse(depth, colour, pose, lens, grid, cut=0.08):
        far = torch.ones(len(grid), device=grid.device)
        weight, tint = torch.zeros_like(far), torch.zeros(len(grid), 3, device=grid.device)
        for i in range(len(depth)):
            seen = grid @ pose[i, :3, :3].t() + pose[i, :3, 3]
            pixel = seen @ lens.t()
            z = pixel[:, 2]
            u, v = torch.round(pixel[:, 0] / z).long(), torch.round(pixel[:, 1] / z).long()
            inside = (u >= 0) & (u < w) & (v >= 0) & (v < h) & (z > 0)
            at = (v * w + u).clamp(0, h * w - 1)
            measured = depth[i].flatten()[at]
            gap = measured - z
            new = torch.clamp(gap / cut, max=1.0)
            use = (inside & (measured > 0) & (gap >= -cut)).float()
            total = (weight + use).clamp(min=1.0)
            far = torch.where(use > 0, (far * weight + new) / total, far)
            tint = torch.where(use.unsqueeze(1) > 0, (tint * weight.unsqueeze(1) + colour[i].flatten(1).t()[at]) / total.unsqueeze(1), tint)
            weight = (weight + use).clamp(max=64.0)
        volume = far.view(n, n, n)
        normal = torch.stack(torch.gradient(volume), -1)
        return volume, F.normalize(normal, dim=-1), tint

    line = torch.linspace(-1, 1, n)
    grid = torch.stack(torch.meshgrid(line, line, line, indexing="ij"), -1).view(-1, 3)
    pose = torch.eye(4).repeat(views, 1, 1)
    pose[:, 2, 3] = 3.0
    pose[:, :2, 3] = torch.randn(views, 2) * 0.1
    lens = torch.tensor([[w * 0.9, 0.0, w / 2], [0.0, w * 0.9, h / 2], [0.0, 0.0, 1.0]])
    return fuse, (torch.rand(views, h, w) * 2 + 2, torch.rand(views, 3, h, w), pose, lens, grid), None
