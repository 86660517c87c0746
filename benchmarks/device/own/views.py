"""What cameras, radars and scanners see: rain along rows and columns, points followed, words straightened, depth, volumes that match."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from own.listing import model


class AxialAttention(nn.Module):
    def __init__(self, dim, heads, axis):
        super().__init__()
        self.heads, self.axis = heads, axis
        self.norm, self.qkv, self.proj = nn.LayerNorm(dim), nn.Linear(dim, 3 * dim, bias=False), nn.Linear(dim, dim)

    def forward(self, x):  # b h w c
        y = self.norm(x)
        if self.axis == 1:
            y = y.transpose(1, 2)
        b, o, n, c = y.shape
        q, k, v = self.qkv(y).reshape(b * o, n, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        att = (q * (c // self.heads) ** -0.5) @ k.transpose(-2, -1)
        y = self.proj((att.softmax(dim=-1) @ v).transpose(1, 2).reshape(b, o, n, c))
        return x + (y.transpose(1, 2) if self.axis == 1 else y)


class RainNet(nn.Module):
    """Rain hours ahead from radar frames: the hour asked for scales the features, attention runs along rows, then along columns."""

    def __init__(self, channels, frames, dim, heads, depth, bins, hours):
        super().__init__()
        self.enter = nn.Sequential(
            nn.Conv2d(channels * frames, dim // 2, 3, padding=1), nn.MaxPool2d(2), nn.BatchNorm2d(dim // 2), nn.ReLU(),
            nn.Conv2d(dim // 2, dim, 3, padding=1), nn.BatchNorm2d(dim), nn.ReLU(), nn.MaxPool2d(2))  # fmt: skip
        self.lead = nn.Embedding(hours, 2 * dim)
        self.rows = nn.ModuleList(AxialAttention(dim, heads, 1) for _ in range(depth))
        self.columns = nn.ModuleList(AxialAttention(dim, heads, 2) for _ in range(depth))
        self.mlps = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 4 * dim), nn.SiLU(), nn.Linear(4 * dim, dim)) for _ in range(depth)
        )
        self.head = nn.Conv2d(dim, bins, 1)

    def forward(self, frames, hour):
        x = self.enter(frames.flatten(1, 2))
        scale, bias = self.lead(hour)[:, :, None, None].chunk(2, 1)
        x = (x * (1 + scale) + bias).permute(0, 2, 3, 1)
        for rows, columns, mlp in zip(self.rows, self.columns, self.mlps):
            x = columns(rows(x))
            x = x + mlp(x)
        return self.head(x.permute(0, 3, 1, 2).contiguous())


@model("weather")
def rain_along_the_axes(small):
    b, t, size, dim, heads, depth, bins = (1, 2, 16, 16, 2, 1, 5) if small else (4, 7, 256, 192, 6, 6, 128)
    rain = torch.randint(bins, (b, size // 4, size // 4))
    return (
        RainNet(4, t, dim, heads, depth, bins, 12),
        (torch.rand(b, t, 4, size, size), torch.randint(12, (b,))),
        lambda out: F.cross_entropy(out, rain),
    )


def sample_at(feature, xy):
    """Features at points given in pixels: (b, c, h, w) and (b, n, 2) to (b, n, c)."""
    h, w = feature.shape[-2:]
    scale = torch.tensor([2 / (w - 1), 2 / (h - 1)], device=xy.device, dtype=xy.dtype)
    grid = (xy * scale - 1).unsqueeze(2)
    return F.grid_sample(feature, grid.to(feature.dtype), align_corners=True, padding_mode="border").squeeze(-1).transpose(1, 2)


class PointFollower(nn.Module):
    """Points followed through a clip: guessed everywhere at first, then moved a few times by how well their surroundings correlate."""

    def __init__(self, width, d, heads, depth, levels=3, radius=3, rounds=4):
        super().__init__()
        self.levels, self.radius, self.rounds, self.width = levels, radius, rounds, width
        self.encoder = nn.Sequential(
            nn.Conv2d(3, width // 2, 7, 2, 3), nn.InstanceNorm2d(width // 2), nn.ReLU(inplace=True),
            nn.Conv2d(width // 2, width, 3, 2, 1), nn.InstanceNorm2d(width), nn.ReLU(inplace=True), nn.Conv2d(width, width, 3, 1, 1))  # fmt: skip
        look = levels * (2 * radius + 1) ** 2
        self.enter = nn.Linear(look + width + 2 + 32, d)
        layer = dict(d_model=d, nhead=heads, dim_feedforward=4 * d, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
        self.along_time = nn.ModuleList(nn.TransformerEncoderLayer(**layer) for _ in range(depth))
        self.among_points = nn.ModuleList(nn.TransformerEncoderLayer(**layer) for _ in range(depth))
        self.move, self.seen = nn.Linear(d, 2 + width), nn.Linear(width, 1)

    def correlate(self, pyramid, features, xy):
        b, t, n, c = features.shape
        r = self.radius
        side = torch.arange(-r, r + 1, device=xy.device, dtype=xy.dtype)
        delta = torch.stack(torch.meshgrid(side, side, indexing="xy"), -1).view(1, -1, 2)
        out = []
        for level, f in enumerate(pyramid):
            corr = torch.einsum("btnc,btchw->btnhw", features, f) / math.sqrt(c)
            h, w = corr.shape[-2:]
            where = xy.reshape(-1, 1, 2) / 2**level + delta
            out.append(sample_at(corr.view(-1, 1, h, w), where).view(b, t, n, -1))
        return torch.cat(out, -1)

    def forward(self, clip, start):
        b, t = clip.shape[:2]
        n = start.shape[1]
        f = self.encoder(2 * clip.flatten(0, 1) - 1)
        pyramid = [f]
        for _ in range(self.levels - 1):
            pyramid.append(F.avg_pool2d(pyramid[-1], 2))
        pyramid = [p.view(b, t, *p.shape[1:]) for p in pyramid]
        xy = (start / 4).unsqueeze(1).repeat(1, t, 1, 1)
        features = sample_at(pyramid[0][:, 0], start / 4).unsqueeze(1).repeat(1, t, 1, 1)
        guesses = []
        freq = 2 ** torch.arange(8, device=clip.device, dtype=clip.dtype)
        for _ in range(self.rounds):
            xy = xy.detach()
            flow = xy - xy[:, :1]
            angle = (flow.unsqueeze(-1) / freq).flatten(-2)
            x = self.enter(torch.cat([self.correlate(pyramid, features, xy), features, flow, angle.sin(), angle.cos()], -1))
            for along, among in zip(self.along_time, self.among_points):
                x = along(x.transpose(1, 2).flatten(0, 1)).view(b, n, t, -1)
                x = among(x.transpose(1, 2).flatten(0, 1)).view(b, t, n, -1)
            delta = self.move(x)
            xy, features = xy + delta[..., :2], features + delta[..., 2:]
            guesses.append(xy * 4)
        return torch.stack(guesses), self.seen(features).squeeze(-1)


@model("tracking")
def points_followed_by_correlation(small):
    b, t, size, n, width, d, heads, depth, rounds = (1, 2, 32, 3, 8, 16, 2, 1, 1) if small else (1, 8, 256, 196, 128, 256, 8, 3, 4)
    truth, visible = torch.rand(b, t, n, 2) * size, torch.rand(b, t, n).round()

    def loss(out):
        guesses, seen = out
        weight = 0.8 ** torch.arange(len(guesses) - 1, -1, -1, device=guesses.device)
        return ((guesses - truth).abs().mean((1, 2, 3, 4)) * weight).sum() + F.binary_cross_entropy_with_logits(seen, visible)

    return PointFollower(width, d, heads, depth, rounds=rounds), (torch.rand(b, t, 3, size, size), torch.rand(b, n, 2) * (size - 1)), loss


class DeformableAttention(nn.Module):
    def __init__(self, d, heads, levels, points):
        super().__init__()
        self.heads, self.levels, self.points = heads, levels, points
        self.offsets, self.weights = nn.Linear(d, heads * levels * points * 2), nn.Linear(d, heads * levels * points)
        self.value, self.out = nn.Linear(d, d), nn.Linear(d, d)

    def forward(self, query, reference, memory, shapes):
        b, q, d = query.shape
        m, lv, p = self.heads, self.levels, self.points
        value = self.value(memory).view(b, -1, m, d // m)
        offsets = self.offsets(query).view(b, q, m, lv, p, 2)
        weights = self.weights(query).view(b, q, m, lv * p).softmax(-1)
        wh = torch.tensor([[w, h] for h, w in shapes], device=query.device, dtype=query.dtype)
        where = 2 * (reference[:, :, None, None, None, :] + offsets / wh[None, None, None, :, None, :]) - 1
        seen = []
        for level, (part, (h, w)) in enumerate(zip(value.split([h * w for h, w in shapes], 1), shapes)):
            image = part.flatten(2).transpose(1, 2).reshape(b * m, d // m, h, w)
            grid = where[:, :, :, level].transpose(1, 2).flatten(0, 1)
            seen.append(F.grid_sample(image, grid.to(image.dtype), mode="bilinear", padding_mode="zeros", align_corners=False))
        weights = weights.transpose(1, 2).reshape(b * m, 1, q, lv * p)
        y = (torch.stack(seen, -2).flatten(-2) * weights).sum(-1).view(b, d, q)
        return self.out(y.transpose(1, 2))


class LooksWhereTold(nn.Module):
    """A detector whose attention reads only a few places of each level, and says itself which."""

    def __init__(self, d, heads, levels, points, encoder, decoder, queries, classes):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, d // 2, 7, 4, 3), nn.BatchNorm2d(d // 2), nn.ReLU(), nn.Conv2d(d // 2, d, 3, 2, 1), nn.BatchNorm2d(d), nn.ReLU()
        )
        self.down = nn.ModuleList(nn.Sequential(nn.Conv2d(d, d, 3, 2, 1), nn.GroupNorm(8, d)) for _ in range(levels - 1))
        self.level = nn.Parameter(torch.randn(levels, d) * 0.02)
        self.enc = nn.ModuleList(self.layer(d, heads, levels, points) for _ in range(encoder))
        self.dec = nn.ModuleList(self.layer(d, heads, levels, points, own=True) for _ in range(decoder))
        self.queries, self.where = nn.Embedding(queries, 2 * d), nn.Linear(d, 2)
        self.kinds, self.boxes = (
            nn.Linear(d, classes),
            nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4)),
        )

    @staticmethod
    def layer(d, heads, levels, points, own=False):
        parts = {"cross": DeformableAttention(d, heads, levels, points), "n1": nn.LayerNorm(d), "n2": nn.LayerNorm(d)}
        parts["ffn"] = nn.Sequential(nn.Linear(d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d))
        if own:
            parts |= {"own": nn.MultiheadAttention(d, heads, batch_first=True), "n0": nn.LayerNorm(d)}
        return nn.ModuleDict(parts)

    def forward(self, image):
        maps = [self.stem(image)]
        for down in self.down:
            maps.append(down(maps[-1]))
        shapes = [tuple(m.shape[-2:]) for m in maps]
        x = torch.cat([m.flatten(2).transpose(1, 2) + e for m, e in zip(maps, self.level)], 1)
        centres = []
        for h, w in shapes:
            ys, xs = torch.meshgrid(torch.arange(h, device=x.device) + 0.5, torch.arange(w, device=x.device) + 0.5, indexing="ij")
            centres.append(torch.stack([xs.reshape(-1) / w, ys.reshape(-1) / h], -1))
        centres = torch.cat(centres).to(x.dtype).expand(len(x), -1, -1)
        for layer in self.enc:
            x = layer["n1"](x + layer["cross"](x, centres, x, shapes))
            x = layer["n2"](x + layer["ffn"](x))
        place, y = self.queries.weight.expand(len(x), -1, -1).chunk(2, -1)
        reference = self.where(place).sigmoid()
        outs = []
        for layer in self.dec:
            y = layer["n0"](y + layer["own"](y + place, y + place, y, need_weights=False)[0])
            y = layer["n1"](y + layer["cross"](y + place, reference, x, shapes))
            y = layer["n2"](y + layer["ffn"](y))
            box = self.boxes(y)
            box = torch.cat([box[..., :2] + torch.logit(reference, eps=1e-4), box[..., 2:]], -1).sigmoid()
            reference = box[..., :2].detach()
            outs.append((self.kinds(y), box))
        return outs


@model("detection")
def looks_where_it_is_told(small):
    b, size, d, heads, levels, points, enc, dec, queries = (
        (1, 64, 16, 2, 2, 2, 1, 1, 4) if small else (2, (512, 640), 256, 8, 4, 4, 3, 3, 300)
    )
    h, w = (size, size) if small else size
    kinds, boxes = torch.rand(b, queries, 20).round(), torch.rand(b, queries, 4)

    def loss(outs):
        return sum(F.binary_cross_entropy_with_logits(k, kinds) + 5 * F.l1_loss(box, boxes) for k, box in outs)

    return LooksWhereTold(d, heads, levels, points, enc, dec, queries, 20), (torch.rand(b, 3, h, w),), loss


class ThinPlate(nn.Module):
    """Words on curved signs: a small net finds points along the text's edges, a spline through them straightens the picture."""

    def __init__(self, fiducial, height, width):
        super().__init__()
        n, self.size = fiducial, (height, width)
        self.find = nn.Sequential()
        for i, (a, b) in enumerate(((3, 32), (32, 64), (64, 128), (128, 128))):
            self.find.append(
                nn.Sequential(
                    nn.Conv2d(a, b, 3, 1, 1, bias=False),
                    nn.BatchNorm2d(b),
                    nn.ReLU(True),
                    nn.MaxPool2d(2) if i < 3 else nn.AdaptiveAvgPool2d(1),
                )
            )
        self.points = nn.Sequential(nn.Flatten(), nn.Linear(128, 256), nn.ReLU(True), nn.Linear(256, 2 * n))
        xs = torch.linspace(-1, 1, n // 2)
        C = torch.cat([torch.stack([xs, -torch.ones(n // 2)], 1), torch.stack([xs, torch.ones(n // 2)], 1)])
        ys, xs = torch.meshgrid(torch.linspace(-1, 1, height), torch.linspace(-1, 1, width), indexing="ij")
        P = torch.stack([xs, ys], -1).view(-1, 2)
        top = torch.cat([torch.ones(n, 1), C, self.radial(C, C)], 1)
        bottom = torch.cat([torch.zeros(3, 3), torch.cat([torch.ones(1, n), C.t()], 0)], 1)
        self.register_buffer("delta", torch.cat([top, bottom], 0))
        self.register_buffer("basis", torch.cat([torch.ones(len(P), 1), P, self.radial(P, C)], 1))

    @staticmethod
    def radial(a, b):
        r = (a[:, None] - b[None]).norm(dim=-1)
        return r**2 * torch.log(r + 1e-6)

    def forward(self, image):
        points = self.points(self.find(image)).view(len(image), -1, 2).tanh()
        padded = F.pad(points.float(), (0, 0, 0, 3))
        T = torch.linalg.solve(self.delta.float() + 1e-5 * torch.eye(len(self.delta), device=image.device), padded)
        grid = (self.basis.float() @ T).view(len(image), *self.size, 2)
        return F.grid_sample(image, grid.to(image.dtype), padding_mode="border", align_corners=True)


class WordReader(nn.Module):
    def __init__(self, fiducial, height, width, channels, hidden, letters, longest):
        super().__init__()
        self.straighten, self.longest, self.letters = ThinPlate(fiducial, height, width), longest, letters
        c = channels
        self.look = nn.Sequential(
            nn.Conv2d(3, c, 3, 1, 1), nn.BatchNorm2d(c), nn.ReLU(True), nn.MaxPool2d(2), nn.Conv2d(c, 2 * c, 3, 1, 1), nn.BatchNorm2d(2 * c), nn.ReLU(True),
            nn.MaxPool2d(2), nn.Conv2d(2 * c, 4 * c, 3, 1, 1), nn.BatchNorm2d(4 * c), nn.ReLU(True), nn.AdaptiveAvgPool2d((1, None)))  # fmt: skip
        self.rnn = nn.LSTM(4 * c, hidden, bidirectional=True, batch_first=True)
        self.i2h, self.h2h, self.score = (
            nn.Linear(2 * hidden, hidden, bias=False),
            nn.Linear(hidden, hidden),
            nn.Linear(hidden, 1, bias=False),
        )
        self.cell, self.out = nn.LSTMCell(2 * hidden + letters, hidden), nn.Linear(hidden, letters)

    def forward(self, image, text):
        x = self.look(self.straighten(image)).squeeze(2).transpose(1, 2)
        x, _ = self.rnn(x)
        keys, outs = self.i2h(x), []
        h = c = x.new_zeros(len(x), self.h2h.in_features)
        letter = text[:, 0]
        for t in range(self.longest):
            alpha = self.score(torch.tanh(keys + self.h2h(h).unsqueeze(1))).softmax(1)
            context = torch.bmm(alpha.transpose(1, 2), x).squeeze(1)
            h, c = self.cell(torch.cat([context, F.one_hot(letter, self.letters).to(context.dtype)], 1), (h, c))
            outs.append(self.out(h))
            letter = text[:, t + 1] if self.training else outs[-1].argmax(1)
        return torch.stack(outs, 1)


@model("OCR", compiles=False)
def words_straightened_first(small):
    b, fiducial, h, w, c, hidden, longest = (2, 4, 16, 32, 4, 8, 2) if small else (128, 20, 32, 100, 64, 256, 20)
    text = torch.randint(38, (b, longest + 1))
    return (
        WordReader(fiducial, h, w, c, hidden, 38, longest),
        (torch.rand(b, 3, h, w), text),
        lambda out: F.cross_entropy(out.flatten(0, 1), text[:, 1:].flatten()),
    )


class DepthFromViews(nn.Module):
    """Depth from a few photographs: features of the others warped onto planes in front of this one; where they agree, there it is."""

    def __init__(self, c, depths):
        super().__init__()

        def conv(a, b, k=3, s=1):
            return nn.Sequential(nn.Conv2d(a, b, k, s, k // 2, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))

        def conv3(a, b, s=1):
            return nn.Sequential(nn.Conv3d(a, b, 3, s, 1, bias=False), nn.BatchNorm3d(b), nn.ReLU(inplace=True))

        self.feature = nn.Sequential(conv(3, 8), conv(8, 8), conv(8, 16, 5, 2), conv(16, 16), conv(16, c, 5, 2), nn.Conv2d(c, c, 3, 1, 1))
        self.c0, self.c1, self.c2, self.c3 = conv3(c, 8), conv3(8, 16, 2), conv3(16, 16), conv3(16, 32, 2)
        self.up1 = nn.Sequential(nn.ConvTranspose3d(32, 16, 3, 2, 1, 1, bias=False), nn.BatchNorm3d(16), nn.ReLU(inplace=True))
        self.up0 = nn.Sequential(nn.ConvTranspose3d(16, 8, 3, 2, 1, 1, bias=False), nn.BatchNorm3d(8), nn.ReLU(inplace=True))
        self.prob = nn.Conv3d(8, 1, 3, 1, 1)
        self.register_buffer("depths", torch.linspace(4.25, 9.0, depths))

    def warp(self, feature, turn, move):
        b, c, h, w = feature.shape
        n = len(self.depths)
        y, x = torch.meshgrid(
            torch.arange(h, device=feature.device, dtype=turn.dtype),
            torch.arange(w, device=feature.device, dtype=turn.dtype),
            indexing="ij",
        )
        xyz = torch.stack([x.reshape(-1), y.reshape(-1), torch.ones(h * w, device=feature.device, dtype=turn.dtype)])
        there = (turn @ xyz).unsqueeze(2) * self.depths.view(1, 1, n, 1) + move.view(b, 3, 1, 1)
        xy = there[:, :2] / there[:, 2:].clamp(min=1e-3)
        grid = torch.stack([xy[:, 0] / ((w - 1) / 2) - 1, xy[:, 1] / ((h - 1) / 2) - 1], -1)
        return F.grid_sample(feature, grid.view(b, n * h, w, 2).to(feature.dtype), align_corners=True).view(b, c, n, h, w)

    def forward(self, images, turns, moves):
        features = [self.feature(image) for image in images.unbind(1)]
        volume = features[0].unsqueeze(2).expand(-1, -1, len(self.depths), -1, -1)
        total, squares = volume, volume**2
        for f, turn, move in zip(features[1:], turns.unbind(1), moves.unbind(1)):
            warped = self.warp(f, turn, move)
            total, squares = total + warped, squares + warped**2
        v = len(features)
        cost = squares / v - (total / v) ** 2
        x0 = self.c0(cost)
        x1 = self.c2(self.c1(x0))
        x = x1 + self.up1(self.c3(x1))
        p = self.prob(x0 + self.up0(x)).squeeze(1).softmax(1)
        return (p * self.depths.view(1, -1, 1, 1)).sum(1)


@model("multi-view stereo")
def depth_where_views_agree(small):
    b, views, h, w, depths, c = (1, 2, 32, 32, 8, 8) if small else (1, 4, 384, 512, 96, 32)
    truth = torch.rand(b, h // 4, w // 4) * 4 + 4.5
    turns = torch.eye(3).expand(b, views - 1, 3, 3) + 0.01 * torch.randn(b, views - 1, 3, 3)
    return (
        DepthFromViews(c, depths),
        (torch.rand(b, views, 3, h, w), turns, torch.randn(b, views - 1, 3)),
        lambda out: F.smooth_l1_loss(out, truth),
    )


class VolumesMatched(nn.Module):
    """One scan bent onto another: a net guesses a velocity, integrated by squaring, and the moved scan is compared patch by patch."""

    def __init__(self, size, enc, dec, squarings):
        super().__init__()
        self.enc = nn.ModuleList(nn.Conv3d(a, b, 3, 2, 1) for a, b in zip((2, *enc[:-1]), enc))
        self.dec, before, skips = nn.ModuleList(), enc[-1], [*enc[:-1][::-1], 2]
        for d, skip in zip(dec, skips):
            self.dec.append(nn.Conv3d(before, d, 3, 1, 1))
            before = d + skip
        self.last = nn.Sequential(nn.Conv3d(before, 16, 3, 1, 1), nn.LeakyReLU(0.2))
        self.flow, self.squarings = nn.Conv3d(16, 3, 3, 1, 1), squarings
        grid = torch.stack(torch.meshgrid([torch.arange(0, s) for s in size], indexing="ij")).unsqueeze(0)
        self.register_buffer("grid", grid.float())

    def transform(self, source, flow):
        where = self.grid + flow
        shape = flow.shape[2:]
        where = torch.stack([2 * (where[:, i] / (shape[i] - 1) - 0.5) for i in range(3)], -1)
        return F.grid_sample(source, where[..., [2, 1, 0]].to(source.dtype), align_corners=True, mode="bilinear")

    def forward(self, moving, fixed):
        x = torch.cat([moving, fixed], 1)
        kept = [x]
        for conv in self.enc:
            x = F.leaky_relu(conv(x), 0.2)
            kept.append(x)
        kept.pop()
        for conv in self.dec:
            x = F.leaky_relu(conv(x), 0.2)
            x = torch.cat([F.interpolate(x, scale_factor=2, mode="nearest"), kept.pop()], 1)
        v = self.flow(self.last(x))
        flow = v * (1.0 / (2**self.squarings))
        for _ in range(self.squarings):
            flow = flow + self.transform(flow, flow)
        return self.transform(moving, flow), v


def local_correlation(a, b, win=9):
    kernel = torch.ones(1, 1, win, win, win, device=a.device)
    sums = [F.conv3d(x, kernel, padding=win // 2) for x in (a, b, a * a, b * b, a * b)]
    n = win**3
    ua, ub = sums[0] / n, sums[1] / n
    cross = sums[4] - ub * sums[0] - ua * sums[1] + ua * ub * n
    va, vb = sums[2] - 2 * ua * sums[0] + ua * ua * n, sums[3] - 2 * ub * sums[1] + ub * ub * n
    return -(cross * cross / (va * vb + 1e-5)).mean()


@model("medical")
def scan_bent_onto_another(small):
    size, enc, dec, squarings = ((16, 16, 16), (4, 8), (8, 8), 2) if small else ((96, 112, 96), (16, 32, 32, 32), (32, 32, 32, 32), 7)
    fixed = torch.rand(1, 1, *size)

    def loss(out):
        moved, v = out
        smooth = sum((v.diff(dim=i) ** 2).mean() for i in (2, 3, 4)) / 3
        return local_correlation(moved.float(), fixed) + smooth

    return VolumesMatched(size, enc, dec, squarings), (torch.rand(1, 1, *size), fixed), loss
