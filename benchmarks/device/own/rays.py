"""Rays, points and meshes."""

import itertools

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def encode(x, bands):
    powers = 2.0 ** torch.arange(bands, device=x.device, dtype=x.dtype)
    angles = (x[..., None] * powers).flatten(-2)
    return torch.cat([x, angles.sin(), angles.cos()], -1)


class RadianceField(nn.Module):
    def __init__(self, width, samples):
        super().__init__()
        self.samples = samples
        self.first = nn.ModuleList([nn.Linear(63, width)] + [nn.Linear(width, width) for _ in range(3)])
        self.second = nn.ModuleList([nn.Linear(width + 63, width)] + [nn.Linear(width, width) for _ in range(2)])
        self.density, self.feature = nn.Linear(width, 1), nn.Linear(width, width)
        self.colour = nn.Sequential(nn.Linear(width + 27, width // 2), nn.ReLU(), nn.Linear(width // 2, 3))

    def forward(self, origins, directions):
        t = torch.linspace(2, 6, self.samples, device=origins.device, dtype=origins.dtype).expand(len(origins), -1)
        if self.training:
            t = t + torch.rand_like(t) * (4 / self.samples)
        points = encode(origins[:, None] + directions[:, None] * t[..., None], 10)
        h = points
        for layer in self.first:
            h = F.relu(layer(h))
        h = torch.cat([h, points], -1)
        for layer in self.second:
            h = F.relu(layer(h))
        view = encode(directions, 4)[:, None].expand(-1, self.samples, -1)
        rgb = torch.sigmoid(self.colour(torch.cat([self.feature(h), view], -1)))
        delta = torch.cat([t[:, 1:] - t[:, :-1], torch.full_like(t[:, :1], 1e3)], -1)
        alpha = 1 - torch.exp(-F.relu(self.density(h).squeeze(-1)) * delta)
        passed = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-6], -1), -1)[:, :-1]
        weights = alpha * passed
        return (weights[..., None] * rgb).sum(1), (weights * t).sum(1)


@model("rays and points")
def radiance_field(small):
    rays, width, samples = (8, 16, 8) if small else (4096, 256, 64)
    target = torch.rand(rays, 3)
    inputs = torch.randn(rays, 3), F.normalize(torch.randn(rays, 3), dim=-1)
    return RadianceField(width, samples), inputs, lambda out: F.mse_loss(out[0], target)


class HashGrid(nn.Module):
    """Features of eight corners per level from one hashed table, blended; then a tiny MLP."""

    def __init__(self, levels, size, features=2):
        super().__init__()
        self.tables = nn.Parameter(torch.rand(levels, size, features) * 1e-4)
        self.resolutions = [int(16 * 1.4**i) for i in range(levels)]
        self.size = size
        self.net = nn.Sequential(nn.Linear(levels * features, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
        corners = [[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)]
        self.register_buffer("corners", torch.tensor(corners))

    def forward(self, x):
        found = []
        for level, n in enumerate(self.resolutions):
            scaled = x * n
            low = scaled.floor().long()
            part = (scaled - low)[:, None]
            c = low[:, None] + self.corners
            key = (c[..., 0] ^ (c[..., 1] * 2654435761) ^ (c[..., 2] * 805459861)) % self.size
            weight = torch.where(self.corners.bool(), part, 1 - part).prod(-1, keepdim=True)
            found.append((self.tables[level][key] * weight).sum(1))
        return self.net(torch.cat(found, -1))


@model("rays and points")
def hash_grid_field(small):
    points, levels, size = (16, 3, 64) if small else (262_144, 12, 2**19)
    target = torch.rand(points, 4)
    return HashGrid(levels, size), (torch.rand(points, 3),), lambda out: F.mse_loss(out, target)


class PointNet(nn.Module):
    """A learned 3×3 transform, shared MLPs as 1-d convolutions, a max over points."""

    def __init__(self, number):
        super().__init__()
        self.transform = nn.Sequential(
            nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, 128, 1), nn.BatchNorm1d(128), nn.ReLU(),
            nn.Conv1d(128, 1024, 1), nn.BatchNorm1d(1024), nn.ReLU(), nn.AdaptiveMaxPool1d(1), nn.Flatten(),
            nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 9),
        )  # fmt: skip
        self.low = nn.Sequential(nn.Conv1d(3, 64, 1), nn.BatchNorm1d(64), nn.ReLU())
        self.high = nn.Sequential(nn.Conv1d(64, 128, 1), nn.BatchNorm1d(128), nn.ReLU(), nn.Conv1d(128, 1024, 1), nn.BatchNorm1d(1024))
        self.parts = nn.Sequential(nn.Conv1d(1088, 256, 1), nn.BatchNorm1d(256), nn.ReLU(), nn.Conv1d(256, number, 1))

    def forward(self, x):
        matrix = self.transform(x).view(-1, 3, 3) + torch.eye(3, device=x.device, dtype=x.dtype)
        x = torch.bmm(x.transpose(2, 1), matrix).transpose(2, 1)
        low = self.low(x)
        high = self.high(low).max(2, keepdim=True)[0]
        return self.parts(torch.cat([low, high.repeat(1, 1, x.shape[2])], 1))


@model("rays and points")
def pointnet_parts(small):
    batch, points = (2, 16) if small else (32, 2048)
    target = torch.randint(50, (batch, points))
    return PointNet(50), (torch.randn(batch, 3, points),), lambda out: F.cross_entropy(out, target)


def farthest(points, count):
    b, n, _ = points.shape
    chosen = torch.zeros(b, count, dtype=torch.long, device=points.device)
    distance = torch.full((b, n), 1e4, device=points.device, dtype=points.dtype)
    last = torch.zeros(b, dtype=torch.long, device=points.device)
    rows = torch.arange(b, device=points.device)
    for i in range(count):
        chosen[:, i] = last
        d = ((points - points[rows, last][:, None]) ** 2).sum(-1)
        distance = torch.minimum(distance, d)
        last = distance.argmax(-1)
    return chosen


class SetAbstraction(nn.Module):
    """Farthest points as centres, the nearest neighbours of each, an MLP and a max."""

    def __init__(self, count, near, sizes):
        super().__init__()
        self.count, self.near = count, near
        layers = []
        for a, b in itertools.pairwise(sizes):
            layers += [nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True)]
        self.net = nn.Sequential(*layers)

    def forward(self, xyz, features):
        rows = torch.arange(len(xyz), device=xyz.device)[:, None]
        centres = xyz[rows, farthest(xyz.detach(), self.count)]
        distances = torch.cdist(centres.float(), xyz.float())
        index = distances.topk(self.near, dim=-1, largest=False)[1]
        rows = rows[..., None]
        grouped = torch.cat([xyz[rows, index] - centres[:, :, None], features[rows, index]], -1)
        return centres, self.net(grouped.permute(0, 3, 1, 2)).amax(-1).transpose(1, 2)


class PointNet2(nn.Module):
    def __init__(self, counts, near):
        super().__init__()
        self.one = SetAbstraction(counts[0], near, [6, 64, 64, 128])
        self.two = SetAbstraction(counts[1], near, [131, 128, 128, 256])
        self.head = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Dropout(0.4), nn.Linear(256, 40))

    def forward(self, xyz):
        centres, features = self.one(xyz, xyz)
        _, features = self.two(centres, features)
        return self.head(features.amax(1))


@model("rays and points")
def farthest_point_sets(small):
    batch, points, counts, near = (2, 16, (8, 4), 4) if small else (16, 1024, (128, 32), 32)
    target = torch.randint(40, (batch,))
    return PointNet2(counts, near), (torch.randn(batch, points, 3),), lambda out: F.cross_entropy(out, target)


class EdgeConvolutions(nn.Module):
    """Neighbours are found again in feature space at each layer."""

    def __init__(self, near):
        super().__init__()
        self.near = near
        self.convs = nn.ModuleList(
            nn.Sequential(nn.Conv2d(2 * a, b, 1, bias=False), nn.BatchNorm2d(b), nn.LeakyReLU(0.2))
            for a, b in ((3, 64), (64, 64), (64, 128))
        )
        self.last = nn.Sequential(nn.Conv1d(256, 512, 1, bias=False), nn.BatchNorm1d(512), nn.LeakyReLU(0.2))
        self.out = nn.Linear(1024, 40)

    def edge_features(self, x):
        b, c, n = x.shape
        inner = -2 * torch.matmul(x.transpose(2, 1), x)
        square = (x**2).sum(1, keepdim=True)
        index = (-square - inner - square.transpose(2, 1)).topk(self.near, dim=-1)[1]
        flat = (index + torch.arange(b, device=x.device).view(-1, 1, 1) * n).view(-1)
        rows = x.transpose(2, 1).contiguous()
        near = rows.view(b * n, c)[flat].view(b, n, self.near, c)
        centre = rows.view(b, n, 1, c).repeat(1, 1, self.near, 1)
        return torch.cat((near - centre, centre), 3).permute(0, 3, 1, 2)

    def forward(self, x):
        kept = []
        for conv in self.convs:
            x = conv(self.edge_features(x)).max(-1)[0]
            kept.append(x)
        x = self.last(torch.cat(kept, 1))
        return self.out(torch.cat([F.adaptive_max_pool1d(x, 1), F.adaptive_avg_pool1d(x, 1)], 1).flatten(1))


@model("rays and points")
def dynamic_edge_convolutions(small):
    batch, points, near = (2, 16, 4) if small else (16, 1024, 20)
    target = torch.randint(40, (batch,))
    return EdgeConvolutions(near), (torch.randn(batch, 3, points),), lambda out: F.cross_entropy(out, target, label_smoothing=0.2)


class Splats(nn.Module):
    """Gaussians in the plane, sorted by depth, composed over every pixel in tiles of rows."""

    def __init__(self, count):
        super().__init__()
        self.place = nn.Parameter(torch.rand(count, 2))
        self.depth = nn.Parameter(torch.rand(count))
        self.scale = nn.Parameter(torch.randn(count, 2) * 0.1 + 3)
        self.colour = nn.Parameter(torch.rand(count, 3))
        self.opacity = nn.Parameter(torch.zeros(count))

    def forward(self, pixels):
        order = torch.argsort(self.depth)
        place, scale = self.place[order], self.scale[order].exp()
        opacity, colour = torch.sigmoid(self.opacity[order]), self.colour[order]
        rows = []
        for tile in pixels.split(1024):
            d = (tile[:, None] - place[None]) * scale
            alpha = (opacity * torch.exp(-0.5 * (d**2).sum(-1))).clamp(max=0.99)
            passed = torch.cumprod(1 - alpha, 1).roll(1, 1)
            passed[:, 0] = 1
            rows.append((alpha * passed) @ colour)
        return torch.cat(rows)


@model("rays and points")
def gaussian_splats(small):
    count, pixels = (16, 32) if small else (4096, 8192)
    target = torch.rand(pixels, 3)
    return Splats(count), (torch.rand(pixels, 2),), lambda out: F.l1_loss(out, target)


class SphereTracing(nn.Module):
    def __init__(self, width, steps):
        super().__init__()
        self.sdf = nn.Sequential(nn.Linear(39, width), nn.Softplus(100), nn.Linear(width, width), nn.Softplus(100), nn.Linear(width, 1))
        self.shade = nn.Sequential(nn.Linear(42, width), nn.ReLU(), nn.Linear(width, 3), nn.Sigmoid())
        self.steps = steps

    def forward(self, origin, direction):
        t = torch.zeros_like(origin[:, :1])
        with torch.no_grad():
            for _ in range(self.steps):
                d = self.sdf(encode(origin + t * direction, 6))
                t = t + torch.where(d.abs() < 1e-4, torch.zeros_like(d), d.clamp(-0.5, 0.5))
        hit = encode(origin + t * direction, 6)
        return self.shade(torch.cat([hit, direction], 1)) * torch.sigmoid(-50 * self.sdf(hit))


@model("rays and points")
def sphere_tracing(small):
    rays, width, steps = (8, 16, 3) if small else (32_768, 128, 24)
    target = torch.rand(rays, 3)
    inputs = torch.randn(rays, 3), F.normalize(torch.randn(rays, 3), dim=1)
    return SphereTracing(width, steps), inputs, lambda out: (out - target).abs().mean()


class PointAutoencoder(nn.Module):
    """Judged by the Chamfer distance, both ways."""

    def __init__(self, points):
        super().__init__()
        self.enter = nn.Sequential(nn.Linear(3, 128), nn.ReLU(), nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 512))
        self.leave = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, points * 3))

    def forward(self, x):
        y = self.leave(self.enter(x).amax(1)).view_as(x)
        d = ((x[:, :, None] - y[:, None]) ** 2).sum(-1)
        return d.amin(1).mean() + d.amin(2).mean()


@model("rays and points")
def chamfer_autoencoder(small):
    batch, points = (2, 16) if small else (16, 2048)
    return PointAutoencoder(points), (torch.randn(batch, points, 3),), lambda out: out
