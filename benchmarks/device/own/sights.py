"""Seen: a picture at any size, boxes refined stage by stage, masks asked for by queries, moments when actions happen."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def conv_bn(a, b, k=3, s=1):
    return nn.Sequential(nn.Conv2d(a, b, k, s, k // 2, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True))


class AnySize(nn.Module):
    """Super-resolution to any size: a point asks the four features around it and weighs the answers by opposite areas."""

    def __init__(self, width, blocks, hidden):
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.ModuleList(
            nn.Sequential(nn.Conv2d(width, width, 3, padding=1), nn.ReLU(), nn.Conv2d(width, width, 3, padding=1)) for _ in range(blocks)
        )
        layers, wide = [], 9 * width + 4
        for _ in range(4):
            layers += [nn.Linear(wide, hidden), nn.ReLU()]
            wide = hidden
        self.mlp = nn.Sequential(*layers, nn.Linear(hidden, 3))

    def forward(self, image, coord, cell):
        x = self.head(image)
        for block in self.body:
            x = x + 0.1 * block(x)
        h, w = x.shape[-2:]
        f = F.unfold(x, 3, padding=1)
        size = coord.new_tensor([h, w])
        answers, areas = [], []
        for dy in (-1, 1):
            for dx in (-1, 1):
                spot = (coord + coord.new_tensor([dy, dx]) / size).clamp(-1 + 1e-4, 1 - 1e-4)
                at = ((spot + 1) / 2 * size).long()
                iy, ix = at[..., 0].clamp(0, h - 1), at[..., 1].clamp(0, w - 1)
                q = f.gather(2, (iy * w + ix).unsqueeze(1).expand(-1, f.shape[1], -1)).transpose(1, 2)
                centre = (torch.stack([iy, ix], -1) * 2 + 1) / size - 1
                rel = (coord - centre.to(coord.dtype)) * size
                answers.append(self.mlp(torch.cat([q, rel, cell * size], -1)))
                areas.append((rel[..., 0] * rel[..., 1]).abs() + 1e-9)
        areas = torch.stack(areas[::-1])
        return (torch.stack(answers) * (areas / areas.sum(0)).unsqueeze(-1)).sum(0)


@model("super-resolution")
def any_size_from_features(small):
    b, n, asked, width, blocks, hidden = (2, 6, 10, 4, 1, 8) if small else (8, 48, 9216, 64, 16, 256)
    goal = torch.rand(b, asked, 3)
    inputs = torch.rand(b, 3, n, n), torch.rand(b, asked, 2) * 2 - 1, torch.full((b, asked, 2), 0.02)
    return AnySize(width, blocks, hidden), inputs, lambda out: F.l1_loss(out, goal)


def bilinear_crops(x, boxes, size):
    """Crops of boxes (b, n, 4) in 0..1, by hand: four gathers."""
    b, c, h, w = x.shape
    t = (torch.arange(size, device=x.device, dtype=boxes.dtype) + 0.5) / size
    ys = (boxes[..., 1:2] + (boxes[..., 3:] - boxes[..., 1:2]) * t) * (h - 1)
    xs = (boxes[..., 0:1] + (boxes[..., 2:3] - boxes[..., 0:1]) * t) * (w - 1)
    ys, xs = ys.clamp(0, h - 1), xs.clamp(0, w - 1)
    y0, x0 = ys.floor(), xs.floor()
    fy, fx = (ys - y0).unsqueeze(-1), (xs - x0).unsqueeze(-2)
    flat, out = x.flatten(2).transpose(1, 2), 0
    for oy in (0, 1):
        for ox in (0, 1):
            yy, xx = (y0 + oy).long().clamp_max(h - 1), (x0 + ox).long().clamp_max(w - 1)
            i = (yy.unsqueeze(-1) * w + xx.unsqueeze(-2)).flatten(1)
            part = flat.gather(1, i.unsqueeze(-1).expand(-1, -1, c)).view(b, boxes.shape[1], size, size, c)
            out = out + part * ((fy if oy else 1 - fy) * (fx if ox else 1 - fx)).unsqueeze(-1)
    return out


class BoxesRefined(nn.Module):
    """Learned boxes cropped, corrected, cropped again: each box's own filters are made from its own query."""

    def __init__(self, width, d, boxes, stages, classes, size=7, inner=64):
        super().__init__()
        self.stem = nn.Sequential(
            conv_bn(3, width, 7, 2),
            conv_bn(width, width, 3, 2),
            conv_bn(width, 2 * width, 3, 2),
            conv_bn(2 * width, 4 * width, 3, 2),
            nn.Conv2d(4 * width, d, 1),
        )
        self.query, self.box = nn.Embedding(boxes, d), nn.Parameter(torch.randn(boxes, 4) * 0.5)
        self.size, self.inner, self.d, self.classes = size, inner, d, classes

        def stage():
            return nn.ModuleDict({
                "attn": nn.MultiheadAttention(d, 8, batch_first=True), "n1": nn.LayerNorm(d), "make": nn.Linear(d, 2 * d * inner),
                "na": nn.LayerNorm(inner), "nb": nn.LayerNorm(d), "out": nn.Linear(d * size**2, d), "n2": nn.LayerNorm(d),
                "ffn": nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)), "n3": nn.LayerNorm(d), "heads": nn.Linear(d, classes + 4),
            })  # fmt: skip

        self.stages = nn.ModuleList(stage() for _ in range(stages))

    def forward(self, image):
        x = self.stem(image)
        q = self.query.weight.expand(len(x), -1, -1)
        raw = self.box.expand(len(x), -1, -1)
        found = []
        for s in self.stages:
            c, e = torch.sigmoid(raw).split(2, -1)
            box = torch.cat([c - e / 2, c + e / 2], -1).clamp(0, 1)
            crop = bilinear_crops(x, box.detach(), self.size).flatten(2, 3)
            q = s["n1"](q + s["attn"](q, q, q, need_weights=False)[0])
            one, two = s["make"](q).split(self.d * self.inner, -1)
            z = F.relu(s["na"](crop.to(one.dtype) @ one.unflatten(-1, (self.d, self.inner))))
            z = F.relu(s["nb"](z.to(two.dtype) @ two.unflatten(-1, (self.inner, self.d))))
            q = s["n2"](q + s["out"](z.flatten(2)))
            q = s["n3"](q + s["ffn"](q))
            classes, shift = s["heads"](q).split([self.classes, 4], -1)
            raw = raw + shift
            found.append((classes, torch.sigmoid(raw)))
            raw = raw.detach()
        return found


@model("detection")
def boxes_refined_stage_by_stage(small):
    b, n, width, d, boxes, stages, inner = (2, 32, 4, 16, 5, 2, 4) if small else (8, 512, 32, 256, 100, 4, 64)
    goal, kind = torch.rand(b, 12, 4), torch.randint(40, (b, 12))

    def loss(found):
        total = 0.0
        for classes, box in found:
            p = classes.float().softmax(-1)
            cost = (box.unsqueeze(2) - goal.unsqueeze(1)).abs().sum(-1) - p.gather(2, kind.unsqueeze(1).expand(-1, p.shape[1], -1))
            best = cost.argmin(1)  # the nearest box answers for each goal
            mine = box.gather(1, best.unsqueeze(-1).expand(-1, -1, 4))
            wanted = torch.full(p.shape[:2], 40, device=p.device).scatter(1, best, kind)
            total = total + 5 * F.l1_loss(mine, goal) + F.cross_entropy(classes.flatten(0, 1), wanted.flatten())
        return total

    return BoxesRefined(width, d, boxes, stages, 41, 3 if small else 7, inner), (torch.rand(b, 3, n, n),), loss


class MasksByQueries(nn.Module):
    """Queries look only where their last mask was, at one scale after another, and each gives a class and a mask."""

    def __init__(self, width, d, queries, heads, rounds, classes):
        super().__init__()
        wide = [width, 2 * width, 4 * width, 8 * width]
        self.stem = conv_bn(3, width, 7, 2)
        self.down = nn.ModuleList(nn.Sequential(conv_bn(a, b, 3, 2), conv_bn(b, b), conv_bn(b, b)) for a, b in zip([width, *wide], wide))
        self.side = nn.ModuleList(nn.Conv2d(w, d, 1) for w in wide)
        self.smooth = nn.ModuleList(nn.Conv2d(d, d, 3, padding=1) for _ in wide)
        self.q, self.place = nn.Embedding(queries, d), nn.Embedding(queries, d)
        self.level, self.heads = nn.Parameter(torch.randn(3, d) * 0.02), heads
        self.cross = nn.ModuleList(nn.ModuleList(nn.Linear(d, d) for _ in range(4)) for _ in range(3 * rounds))
        self.own = nn.ModuleList(nn.TransformerEncoderLayer(d, heads, 4 * d, 0.0, batch_first=True) for _ in range(3 * rounds))
        self.norm, self.cls = nn.LayerNorm(d), nn.Linear(d, classes + 1)
        self.mask = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))

    def predict(self, q, pixels):
        q = self.norm(q)
        return self.cls(q), torch.einsum("bqd,bdhw->bqhw", self.mask(q), pixels)

    def forward(self, image):
        x, maps = self.stem(image), []
        for down in self.down:
            x = down(x)
            maps.append(x)
        y, pyramid = None, []
        for x, side, smooth in list(zip(maps, self.side, self.smooth))[::-1]:
            x = side(x)
            y = smooth(x if y is None else x + F.interpolate(y, size=x.shape[-2:], mode="bilinear", align_corners=False))
            pyramid.append(y)
        *scales, pixels = pyramid
        q = self.q.weight.expand(len(image), -1, -1)
        outs = [self.predict(q, pixels)]
        for i, ((fq, fk, fv, fo), own) in enumerate(zip(self.cross, self.own)):
            feature = scales[i % 3]
            seen = (F.interpolate(outs[-1][1].detach(), size=feature.shape[-2:], mode="bilinear", align_corners=False) < 0).flatten(2)
            seen = seen & ~seen.all(-1, keepdim=True)
            keys = feature.flatten(2).transpose(1, 2) + self.level[i % 3]
            split = [z.unflatten(-1, (self.heads, -1)).transpose(1, 2) for z in (fq(q + self.place.weight), fk(keys), fv(keys))]
            w = (split[0] @ split[1].mT) / split[0].shape[-1] ** 0.5
            w = w.masked_fill(seen.unsqueeze(1), float("-inf")).softmax(-1).to(split[2].dtype)
            q = own(q + fo((w @ split[2]).transpose(1, 2).flatten(2)))
            outs.append(self.predict(q, pixels))
        return outs


@model("segmentation")
def masks_asked_for_by_queries(small):
    b, n, width, d, queries, heads, rounds = (2, 64, 4, 16, 3, 2, 1) if small else (8, 512, 48, 256, 100, 8, 3)
    truth, kind = (torch.rand(b, queries, n // 4, n // 4) < 0.2).float(), torch.randint(21, (b, queries))

    def loss(outs):
        total = 0.0
        for cls, mask in outs:
            p = mask.float().sigmoid()
            dice = 1 - (2 * (p * truth).sum((2, 3)) + 1) / (p.sum((2, 3)) + truth.sum((2, 3)) + 1)
            total = (
                total
                + F.cross_entropy(cls.flatten(0, 1), kind.flatten())
                + 5 * F.binary_cross_entropy_with_logits(mask, truth)
                + 5 * dice.mean()
            )
        return total

    return MasksByQueries(width, d, queries, heads, rounds, 20), (torch.rand(b, 3, n, n),), loss


class MomentsOfActions(nn.Module):
    """When an action begins and ends in a long video: attention in windows along time, a pyramid, and at each level two distances."""

    def __init__(self, features, d, heads, window, levels, classes):
        super().__init__()
        self.enter = nn.ModuleList([nn.Conv1d(features, d, 3, padding=1), nn.Conv1d(d, d, 3, padding=1)])
        self.qkv, self.out = (nn.ModuleList(nn.Linear(d, n * d) for _ in range(levels)) for n in (3, 1))
        self.shrink = nn.ModuleList(nn.Conv1d(d, d, 3, 2, 1, groups=d) if i < levels - 1 else nn.Identity() for i in range(levels))
        self.ff = nn.ModuleList(nn.Sequential(nn.LayerNorm(d), nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d)) for _ in range(levels))
        self.n1 = nn.ModuleList(nn.LayerNorm(d) for _ in range(levels))
        self.cls = nn.Sequential(nn.Conv1d(d, d, 3, padding=1), nn.ReLU(), nn.Conv1d(d, classes, 3, padding=1))
        self.reg = nn.Sequential(nn.Conv1d(d, d, 3, padding=1), nn.ReLU(), nn.Conv1d(d, 2, 3, padding=1))
        self.heads, self.window, self.scale = heads, window, nn.Parameter(torch.ones(levels))

    def local(self, x, qkv, out):
        t, d = x.shape[1:]
        half = self.window // 2
        q, k, v = (z.unflatten(-1, (self.heads, -1)) for z in qkv(x).chunk(3, -1))
        k, v = (F.pad(z, (0, 0, 0, 0, half, half)).unfold(1, self.window, 1) for z in (k, v))  # b, t, heads, e, window
        edge = F.pad(torch.zeros(t, device=x.device), (half, half), value=-1e4).unfold(0, self.window, 1)
        w = torch.einsum("bthe,bthew->bthw", q, k) / (d // self.heads) ** 0.5
        w = (w + edge.to(w.dtype).unsqueeze(1)).softmax(-1)
        return out(torch.einsum("bthw,bthew->bthe", w.to(v.dtype), v).flatten(2))

    def forward(self, x):
        for conv in self.enter:
            x = F.relu(conv(x))
        classes, edges = [], []
        for i, (qkv, out, shrink, ff, n1) in enumerate(zip(self.qkv, self.out, self.shrink, self.ff, self.n1)):
            y = x.transpose(1, 2)
            y = y + self.local(n1(y), qkv, out)
            y = (y + ff(y)).transpose(1, 2)
            classes.append(self.cls(y))
            edges.append(F.relu(self.reg(y) * self.scale[i]) * 2**i)
            x = shrink(y)
        return torch.cat(classes, -1), torch.cat(edges, -1)


@model("video")
def moments_when_actions_happen(small):
    b, t, features, d, heads, window, levels, classes = (2, 16, 6, 8, 2, 3, 2, 4) if small else (8, 2048, 1024, 384, 6, 19, 6, 20)
    places = sum(t >> i for i in range(levels))
    kind, spans = (torch.rand(b, classes, places) < 0.02).float(), torch.rand(b, 2, places) * 8

    def loss(out):
        logits, edges = out
        p = torch.sigmoid(logits)
        focal = (F.binary_cross_entropy_with_logits(logits, kind, reduction="none") * (kind + p - 2 * p * kind) ** 2).sum() / 50
        both, either = torch.minimum(edges, spans).sum(1), torch.maximum(edges, spans).sum(1)
        here = kind.amax(1)
        return focal + ((1 - both / (either + 1e-6)) * here).sum() / (here.sum() + 1)

    return MomentsOfActions(features, d, heads, window, levels, classes), (torch.randn(b, features, t),), loss
