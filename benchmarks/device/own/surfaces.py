"""Points, cloth and molecules: neighbours and buckets, in the code of people who scan and simulate."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class ManyAggregates(nn.Module):
    """Messages as mean, largest, smallest and spread, each also scaled by how many there were."""

    def __init__(self, d, edge):
        super().__init__()
        self.pre = nn.Sequential(nn.Linear(2 * d + edge, d), nn.ReLU(), nn.Linear(d, d))
        self.post, self.norm = nn.Linear(13 * d, d), nn.BatchNorm1d(d)

    def forward(self, x, source, target, edges, degree):
        m = self.pre(torch.cat([x[target], x[source], edges], -1)).to(x.dtype)
        at = target.unsqueeze(-1).expand_as(m)
        zero = torch.zeros_like(x)
        count = degree.clamp(min=1).unsqueeze(-1)
        mean = zero.scatter_add(0, at, m) / count
        square = zero.scatter_add(0, at, m * m) / count
        most, least = (zero.scatter_reduce(0, at, m, way, include_self=False) for way in ("amax", "amin"))
        all_four = torch.cat([mean, most, least, (square - mean * mean).clamp(min=0).add(1e-5).sqrt()], -1)
        grow = torch.log(count + 1) / 2.2
        y = self.post(torch.cat([x, all_four, all_four * grow, all_four / grow], -1))
        return x + F.relu(self.norm(y)).to(x.dtype)


class MoleculeRegressor(nn.Module):
    def __init__(self, atoms, bonds, d, layers, graphs):
        super().__init__()
        self.atom, self.bond, self.graphs = nn.Embedding(atoms, d), nn.Embedding(bonds, d // 4), graphs
        self.layers = nn.ModuleList(ManyAggregates(d, d // 4) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(d, d // 2), nn.ReLU(), nn.Linear(d // 2, 1))

    def forward(self, atoms, bonds, source, target, which):
        x, e = self.atom(atoms), self.bond(bonds)
        degree = torch.zeros(len(x), device=x.device, dtype=x.dtype).scatter_add(0, target, torch.ones_like(target, dtype=x.dtype))
        for layer in self.layers:
            x = layer(x, source, target, e, degree)
        pooled = torch.zeros(self.graphs, x.shape[1], device=x.device, dtype=x.dtype).index_add(0, which, x)
        return self.head(pooled).squeeze(-1)


@model("graph")
def four_aggregates_of_bonds(small):
    nodes, edges, d, layers, graphs = (20, 50, 8, 2, 3) if small else (24_000, 120_000, 80, 4, 1000)
    truth = torch.randn(graphs)
    ids = torch.randint(28, (nodes,)), torch.randint(4, (edges,)), torch.randint(nodes, (edges,)), torch.randint(nodes, (edges,))
    return MoleculeRegressor(28, 4, d, layers, graphs), (*ids, torch.randint(graphs, (nodes,))), lambda out: F.l1_loss(out, truth)


class KernelPoints(nn.Module):
    """A convolution whose kernel is a handful of points in space: neighbours count by how near they lie to each."""

    def __init__(self, a, b, points, reach):
        super().__init__()
        self.register_buffer("kernel", torch.randn(points, 3) * reach / 2)
        self.weight, self.reach = nn.Parameter(torch.randn(points, a, b) * (points * a) ** -0.5), reach

    def forward(self, where, support, near, x):
        padded = torch.cat([x, x.new_zeros(1, x.shape[1])])
        offset = torch.cat([support, support.new_full((1, 3), 1e3)])[near] - where.unsqueeze(1)
        apart = (offset.unsqueeze(2) - self.kernel).norm(dim=-1)
        nearness = F.relu(1 - apart / self.reach).transpose(1, 2)
        gathered = nearness.to(x.dtype) @ padded[near]
        return torch.einsum("nkc,kcd->nd", gathered, self.weight)


class KernelBlock(nn.Module):
    def __init__(self, a, b, points, reach):
        super().__init__()
        self.down, self.conv, self.up = nn.Linear(a, b // 4, bias=False), KernelPoints(b // 4, b // 4, points, reach), nn.Linear(b // 4, b)
        self.n1, self.n2, self.n3 = nn.BatchNorm1d(b // 4), nn.BatchNorm1d(b // 4), nn.BatchNorm1d(b)
        self.skip = nn.Linear(a, b) if a != b else nn.Identity()

    def forward(self, where, support, near, x):
        y = F.leaky_relu(self.n1(self.down(x)), 0.1)
        y = F.leaky_relu(self.n2(self.conv(where, support, near, y)), 0.1)
        shortcut = x if len(where) == len(x) else torch.cat([x, x.new_zeros(1, x.shape[1])])[near].amax(1)
        return F.leaky_relu(self.n3(self.up(y)) + self.skip(shortcut), 0.1)


class KernelPointNet(nn.Module):
    def __init__(self, d, points, classes):
        super().__init__()
        self.enter = nn.Linear(4, d)
        self.fine, self.pool = KernelBlock(d, 2 * d, points, 0.1), KernelBlock(2 * d, 4 * d, points, 0.1)
        self.coarse = nn.ModuleList(KernelBlock(4 * d, 4 * d, points, 0.2) for _ in range(2))
        self.out = nn.Sequential(nn.Linear(6 * d, 2 * d), nn.BatchNorm1d(2 * d), nn.LeakyReLU(0.1), nn.Linear(2 * d, classes))

    def forward(self, fine, coarse, near, down, among, up, colour):
        x = self.fine(fine, fine, near, self.enter(torch.cat([colour, fine[:, 2:]], -1)))
        y = self.pool(coarse, fine, down, x)
        for block in self.coarse:
            y = block(coarse, coarse, among, y)
        return self.out(torch.cat([x, y[up]], -1))


@model("rays and points")
def kernel_points_scene(small):
    n, m, k, d, points = (30, 10, 4, 16, 5) if small else (32_768, 8192, 24, 64, 15)
    inputs = (
        torch.rand(n, 3), torch.rand(m, 3), torch.randint(n + 1, (n, k)), torch.randint(n + 1, (m, k)), torch.randint(m + 1, (m, k)),
        torch.randint(m, (n,)), torch.rand(n, 3),
    )  # fmt: skip
    labels = torch.randint(13, (n,))
    return KernelPointNet(d, points, 13), inputs, lambda out: F.cross_entropy(out, labels)


class Pillars(nn.Module):
    """A laser scan in columns: points get their column's mean taken off, the strongest features are painted on a map, convolutions follow."""

    def __init__(self, d, cells, scans, reach=50.0):
        super().__init__()
        self.cells, self.scans, self.reach = cells, scans, reach
        self.point, self.norm = nn.Linear(9, d, bias=False), nn.BatchNorm1d(d, eps=1e-3, momentum=0.01)
        self.stages = nn.ModuleList(self.stage(a, b, n) for a, b, n in ((d, d, 3), (d, 2 * d, 4), (2 * d, 4 * d, 4)))
        self.ups = nn.ModuleList(nn.ConvTranspose2d(d * 2**i, 2 * d, 2**i, 2**i, bias=False) for i in range(3))
        self.kinds, self.boxes, self.turns = (nn.Conv2d(6 * d, n, 1) for n in (6 * 3, 6 * 7, 6 * 2))

    @staticmethod
    def stage(a, b, n):
        layers = []
        for i in range(n):
            layers += [nn.Conv2d(a if i == 0 else b, b, 3, 2 if i == 0 else 1, 1, bias=False), nn.BatchNorm2d(b, eps=1e-3), nn.ReLU()]
        return nn.Sequential(*layers)

    def paint(self, points, scan):
        scans, side = self.scans, 2 * self.reach / self.cells
        cell = ((points[:, :2].float() + self.reach) / side).long().clamp(0, self.cells - 1)
        flat = scan * self.cells**2 + cell[:, 0] * self.cells + cell[:, 1]
        total = points.new_zeros(scans * self.cells**2, 4)
        total = total.index_add(0, flat, torch.cat([points[:, :3], torch.ones_like(points[:, :1])], -1))
        mean = (total[:, :3] / total[:, 3:].clamp(min=1))[flat]
        middle = (cell.to(points.dtype) + 0.5) * side - self.reach
        x = torch.cat([points, points[:, :3] - mean, points[:, :2] - middle], -1)
        x = F.relu(self.norm(self.point(x)))
        canvas = x.new_zeros(scans * self.cells**2, x.shape[1])
        canvas = canvas.scatter_reduce(0, flat.unsqueeze(1).expand_as(x), x, "amax", include_self=True)
        return canvas.view(scans, self.cells, self.cells, -1).permute(0, 3, 1, 2).contiguous()

    def forward(self, points, scan):
        x, seen = self.paint(points, scan), []
        for stage, up in zip(self.stages, self.ups):
            x = stage(x)
            seen.append(F.relu(up(x)))
        x = torch.cat(seen, 1)
        return self.kinds(x), self.boxes(x), self.turns(x)


@model("detection")
def pillars_of_a_scan(small):
    scans, each, d, cells = (1, 40, 8, 16) if small else (2, 50_000, 64, 320)
    points = torch.cat([(torch.rand(scans * each, 2) - 0.5) * 98, torch.randn(scans * each, 2)], -1)
    truth = torch.randn(scans, 42, cells // 2, cells // 2)

    def loss(out):
        p = out[0].float().sigmoid()
        kinds = -(0.75 * p**2 * torch.log1p(-p.clamp(max=1 - 1e-4))).mean()
        return kinds + F.smooth_l1_loss(out[1], truth, beta=1 / 9) + 0.2 * out[2].logsumexp(1).mean()

    return Pillars(d, cells, scans), (points, torch.arange(scans).repeat_interleave(each)), loss


def pulled_together(p, rest, stiff, axis, first):
    """Every second pair of neighbours along an axis, moved half the way each to where they are as far apart as they should be."""
    n = (p.shape[axis] - first) // 2
    pairs = p.narrow(axis, first, 2 * n).unflatten(axis, (n, 2))
    a, b = pairs.unbind(axis + 1)
    gap = b - a
    length = gap.norm(dim=-1, keepdim=True).clamp(min=1e-6)
    move = 0.5 * stiff * (length - rest) * gap / length
    moved = torch.stack([a + move, b - move], axis + 1).flatten(axis, axis + 1)
    return torch.cat([p.narrow(axis, 0, first), moved, p.narrow(axis, first + 2 * n, p.shape[axis] - first - 2 * n)], axis)


@model("physics", compiles=False)
def cloth_on_a_ball(small):
    """A hanging cloth: gravity, then its threads pulled to their length in four passes, then out of a ball and back to its pins."""
    cloths, side, steps, rounds = (1, 8, 2, 1) if small else (4, 384, 3, 2)

    def drop(place, speed, pins, rest, ball):
        for _ in range(steps):
            before = place
            speed = speed * 0.995 + place.new_tensor([0.0, 0.0, -9.81]) / 240
            place = place + speed / 240
            for _ in range(rounds):
                for axis in (1, 2):
                    for first in (0, 1):
                        place = pulled_together(place, rest, 0.9, axis, first)
            out = place - ball
            depth = out.norm(dim=-1, keepdim=True)
            place = torch.where(depth < 0.3, ball + out / depth.clamp(min=1e-6) * 0.3, place)
            place = torch.where(pins.unsqueeze(-1), before, place)
            speed = (place - before) * 240
        return place, speed

    place = torch.rand(cloths, side, side, 3)
    pins = torch.rand(cloths, side, side) < 0.01
    return drop, (place, torch.zeros_like(place), pins, torch.tensor(1.0 / side), torch.tensor([0.5, 0.5, 0.2])), None


class SliceAttention(nn.Module):
    """Points of a mesh share out over a few slices; the slices attend to each other and are shared back."""

    def __init__(self, d, heads, slices):
        super().__init__()
        self.h, self.e = heads, d // heads
        self.x, self.f, self.slice = nn.Linear(d, d), nn.Linear(d, d), nn.Linear(self.e, slices)
        self.heat = nn.Parameter(torch.full((heads, 1, 1), 0.5))
        self.q, self.k, self.v = (nn.Linear(self.e, self.e, bias=False) for _ in range(3))
        self.out = nn.Linear(d, d)

    def forward(self, x):
        b, n, d = x.shape
        f, m = (y.view(b, n, self.h, self.e).transpose(1, 2) for y in (self.f(x), self.x(x)))
        share = (self.slice(m) / self.heat.clamp(min=0.1)).softmax(-1).to(f.dtype)
        tokens = torch.einsum("bhnc,bhng->bhgc", f, share) / (share.sum(2).unsqueeze(-1) + 1e-5)
        tokens = F.scaled_dot_product_attention(self.q(tokens), self.k(tokens), self.v(tokens))
        back = torch.einsum("bhgc,bhng->bhnc", tokens, share.to(tokens.dtype))
        return self.out(back.transpose(1, 2).reshape(b, n, d))


class SliceSolver(nn.Module):
    def __init__(self, d, heads, slices, layers):
        super().__init__()
        self.enter = nn.Sequential(nn.Linear(7, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.attend = nn.ModuleList(SliceAttention(d, heads, slices) for _ in range(layers))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d)) for _ in range(layers)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(d) for _ in range(layers))
        self.out = nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4))

    def forward(self, points):
        x = self.enter(points)
        for norm, attend, mlp in zip(self.norms, self.attend, self.mlps):
            x = x + attend(norm(x))
            x = x + mlp(x)
        return self.out(x)


@model("physics")
def slices_of_a_car(small):
    batch, points, d, heads, slices, layers = (1, 30, 16, 2, 4, 2) if small else (2, 24_576, 256, 8, 48, 5)
    truth = torch.randn(batch, points, 4)

    def loss(out):
        return ((out - truth).square().sum((1, 2)) / truth.square().sum((1, 2))).sqrt().mean()

    return SliceSolver(d, heads, slices, layers), (torch.randn(batch, points, 7),), loss
