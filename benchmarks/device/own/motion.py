"""Frames one after the other: masks carried along, frames between frames, boxes that damp each other, one thing followed."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def block(a, b, stride=1):
    return nn.Sequential(nn.Conv2d(a, b, 3, stride, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(), nn.Conv2d(b, b, 3, 1, 1), nn.ReLU())


class MaskMemory(nn.Module):
    """The first frame's mask carried through a clip: each frame asks all frames so far where it looked like this, and reads the mask there."""

    def __init__(self, d, key, value, best):
        super().__init__()
        self.best = best
        self.s4, self.s8, self.s16 = nn.Sequential(block(3, d, 2), block(d, d, 2)), block(d, 2 * d, 2), block(2 * d, 4 * d, 2)
        self.key, self.value = nn.Conv2d(4 * d, key, 3, 1, 1), nn.Conv2d(4 * d + 1, value, 3, 1, 1)
        self.join, self.up8, self.up4 = block(value + 4 * d, 2 * d), block(2 * d, d), block(d, d)
        self.skip8, self.skip4, self.out = nn.Conv2d(2 * d, 2 * d, 1), nn.Conv2d(d, d, 1), nn.Conv2d(d, 1, 3, 1, 1)

    def look(self, frame):
        f4 = self.s4(frame)
        f8 = self.s8(f4)
        f16 = self.s16(f8)
        return f4, f8, f16, self.key(f16).flatten(2)

    def remember(self, f16, mask):
        return self.value(torch.cat([f16, F.interpolate(mask, f16.shape[-2:], mode="area")], 1)).flatten(2)

    def read(self, keys, values, query):
        near = 2 * keys.transpose(1, 2) @ query - keys.square().sum(1).unsqueeze(-1)
        top, which = (near / math.sqrt(keys.shape[1])).topk(self.best, 1)
        weights = torch.zeros_like(near).scatter_(1, which, top.softmax(1).to(near.dtype))
        return values @ weights

    def decode(self, read, f4, f8, f16):
        x = self.join(torch.cat([read.view(len(f16), -1, *f16.shape[-2:]), f16], 1))
        x = self.up8(self.skip8(f8) + F.interpolate(x, scale_factor=2, mode="bilinear"))
        x = self.up4(self.skip4(f4) + F.interpolate(x, scale_factor=2, mode="bilinear"))
        return F.interpolate(self.out(x), scale_factor=4, mode="bilinear").sigmoid()

    def forward(self, clip, mask):
        _, _, f16, keys = self.look(clip[:, 0])
        values, masks = self.remember(f16, mask), [mask]
        for t in range(1, clip.shape[1]):
            f4, f8, f16, query = self.look(clip[:, t])
            masks.append(self.decode(self.read(keys, values, query), f4, f8, f16))
            keys, values = torch.cat([keys, query], -1), torch.cat([values, self.remember(f16, masks[-1])], -1)
        return torch.stack(masks, 1)


@model("video")
def mask_carried_along(small):
    batch, frames, size, d, key, value, best = (1, 2, (32, 48), 8, 8, 16, 3) if small else (3, 4, (384, 640), 64, 64, 256, 30)
    mask = (torch.rand(batch, 1, *size) > 0.5).float()
    return MaskMemory(d, key, value, best), (torch.rand(batch, frames, 3, *size), mask), None


def warped(image, flow):
    h, w = image.shape[-2:]
    ys, xs = torch.meshgrid(
        torch.linspace(-1, 1, h, device=image.device, dtype=flow.dtype), torch.linspace(-1, 1, w, device=image.device, dtype=flow.dtype), indexing="ij"
    )  # fmt: skip
    shift = torch.stack([flow[:, 0] / ((w - 1) / 2), flow[:, 1] / ((h - 1) / 2)], -1)
    grid = (torch.stack([xs, ys], -1) + shift).to(image.dtype)
    return F.grid_sample(image, grid, mode="bilinear", padding_mode="border", align_corners=True)


class FlowStep(nn.Module):
    def __init__(self, a, c, scale):
        super().__init__()
        self.scale = scale
        self.enter = nn.Sequential(nn.Conv2d(a, c // 2, 3, 2, 1), nn.PReLU(c // 2), nn.Conv2d(c // 2, c, 3, 2, 1), nn.PReLU(c))
        self.body = nn.Sequential(*(m for _ in range(5) for m in (nn.Conv2d(c, c, 3, 1, 1), nn.PReLU(c))))
        self.leave = nn.ConvTranspose2d(c, 5, 4, 2, 1)

    def forward(self, x, flow):
        if flow is not None:
            x = torch.cat([x, flow / self.scale], 1)
        x = self.enter(F.interpolate(x, scale_factor=1 / self.scale, mode="bilinear"))
        y = F.interpolate(self.leave(x + self.body(x)), scale_factor=2.0 * self.scale, mode="bilinear")
        return y[:, :4] * self.scale * 2, y[:, 4:5]


class BetweenFrames(nn.Module):
    """The frame between two: flow to both from coarse to fine, both warped, blended by a mask, and mended."""

    def __init__(self, c):
        super().__init__()
        self.steps = nn.ModuleList([FlowStep(7, 2 * c, 4), FlowStep(18, 3 * c // 2, 2), FlowStep(18, c, 1)])
        self.mend = nn.Sequential(nn.Conv2d(17, c, 3, 1, 1), nn.PReLU(c), nn.Conv2d(c, c, 3, 1, 1), nn.PReLU(c), nn.Conv2d(c, 3, 3, 1, 1))

    def forward(self, first, second, when):
        t = when.view(-1, 1, 1, 1).expand(-1, 1, *first.shape[-2:])
        known, flow, mask, made = torch.cat([first, second, t], 1), None, 0, []
        for step in self.steps:
            more, blend = step(known, flow)
            flow, mask = more if flow is None else flow + more, mask + blend
            w0, w1 = warped(first, flow[:, :2]), warped(second, flow[:, 2:])
            share = torch.sigmoid(mask)
            made.append(w0 * share + w1 * (1 - share))
            known = torch.cat([first, second, t, w0, w1, mask], 1)
        rest = torch.tanh(self.mend(torch.cat([first, second, w0, w1, flow, mask], 1)))
        return made, (made[-1] + rest).clamp(0, 1)


@model("video")
def frame_between_frames(small):
    batch, size, c = (1, (32, 32), 8) if small else (4, (384, 512), 96)
    truth = torch.rand(batch, 3, *size)
    pictures = torch.rand(batch, 3, *size), torch.rand(batch, 3, *size)

    def loss(out):
        made, final = out
        return (final - truth).abs().mean() + sum(0.1 * 0.8**i * (m - truth).abs().mean() for i, m in enumerate(reversed(made)))

    return BetweenFrames(c), (*pictures, torch.rand(batch)), loss


class ConvAct(nn.Sequential):
    def __init__(self, a, b, k=3, s=1):
        super().__init__(nn.Conv2d(a, b, k, s, k // 2, bias=False), nn.BatchNorm2d(b), nn.SiLU(inplace=True))


class SplitStack(nn.Module):
    def __init__(self, a, b, n):
        super().__init__()
        self.enter, self.leave = ConvAct(a, b, 1), ConvAct((2 + n) * b // 2, b, 1)
        self.inner = nn.ModuleList(nn.Sequential(ConvAct(b // 2, b // 2), ConvAct(b // 2, b // 2)) for _ in range(n))

    def forward(self, x):
        parts = list(self.enter(x).chunk(2, 1))
        for each in self.inner:
            parts.append(parts[-1] + each(parts[-1]))
        return self.leave(torch.cat(parts, 1))


class DampedDetector(nn.Module):
    """Boxes by distances to four sides, each side a distribution over bins; instead of removing boxes one by one, all damp each other at once."""

    def __init__(self, w, classes, bins, keep):
        super().__init__()
        self.bins, self.keep, self.classes = bins, keep, classes
        self.stem = nn.Sequential(ConvAct(3, w, 3, 2), ConvAct(w, 2 * w, 3, 2), SplitStack(2 * w, 2 * w, 1))
        self.down = nn.ModuleList(
            nn.Sequential(ConvAct(a, b, 3, 2), SplitStack(b, b, 2)) for a, b in ((2 * w, 4 * w), (4 * w, 8 * w), (8 * w, 8 * w))
        )
        self.fuse = nn.ModuleList([SplitStack(16 * w, 8 * w, 1), SplitStack(12 * w, 4 * w, 1)])
        widths = (4 * w, 8 * w, 8 * w)
        self.box = nn.ModuleList(nn.Sequential(ConvAct(c, 4 * bins), nn.Conv2d(4 * bins, 4 * bins, 1)) for c in widths)
        self.kind = nn.ModuleList(nn.Sequential(ConvAct(c, 4 * w), nn.Conv2d(4 * w, classes, 1)) for c in widths)
        self.register_buffer("places", torch.arange(bins).float())

    def forward(self, images):
        x, levels = self.stem(images), []
        for down in self.down:
            x = down(x)
            levels.append(x)
        levels[1] = self.fuse[0](torch.cat([F.interpolate(levels[2], scale_factor=2.0), levels[1]], 1))
        levels[0] = self.fuse[1](torch.cat([F.interpolate(levels[1], scale_factor=2.0), levels[0]], 1))
        boxes, scores = [], []
        for i, f in enumerate(levels):
            stride, (h, w) = 8 * 2**i, f.shape[-2:]
            sides = (self.box[i](f).view(len(f), 4, self.bins, h * w).softmax(2) * self.places.view(-1, 1)).sum(2) * stride
            ys, xs = torch.meshgrid(*(torch.arange(n, device=f.device, dtype=sides.dtype) for n in (h, w)), indexing="ij")
            at = (torch.stack([xs, ys]).flatten(1) + 0.5) * stride
            boxes.append(torch.cat([at - sides[:, :2], at + sides[:, 2:]], 1))
            scores.append(self.kind[i](f).flatten(2).sigmoid())
        return self.damped(torch.cat(boxes, 2).transpose(1, 2), torch.cat(scores, 2))

    def damped(self, boxes, scores):
        score, which = scores.flatten(1).topk(self.keep, 1)
        kind, at = which // boxes.shape[1], which % boxes.shape[1]
        b = boxes.gather(1, at.unsqueeze(-1).expand(-1, -1, 4)).float()
        area = (b[..., 2:] - b[..., :2]).clamp(min=0).prod(-1)
        low, high = torch.maximum(b[:, :, None, :2], b[:, None, :, :2]), torch.minimum(b[:, :, None, 2:], b[:, None, :, 2:])
        both = (high - low).clamp(min=0).prod(-1)
        iou = (both / (area[:, :, None] + area[:, None] - both + 1e-6)).triu(1) * (kind[:, :, None] == kind[:, None])
        worst = iou.amax(1, keepdim=True).transpose(1, 2)
        damping = torch.exp((worst**2 - iou**2) / 0.5).amin(1).clamp(max=1.0)
        return b, score.float() * damping, kind


@model("detection")
def boxes_damp_each_other(small):
    batch, size, w, classes, bins, keep = (1, 64, 8, 3, 4, 10) if small else (8, 576, 40, 80, 16, 400)
    return DampedDetector(w, classes, bins, keep), (torch.rand(batch, 3, size, size),), None


class FollowBlock(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.n1, self.n2, self.qkv, self.out, self.h = nn.LayerNorm(d), nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d), heads
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, n, 3, self.h, -1).permute(2, 0, 3, 1, 4)
        weights = ((q @ k.transpose(-2, -1)) * (d // self.h) ** -0.5).softmax(-1)
        x = x + self.out((weights.to(v.dtype) @ v).transpose(1, 2).reshape(b, n, d))
        return x + self.mlp(self.n2(x)), weights


class Follower(nn.Module):
    """Template and search area in one stream of tokens; what the template's middle does not look at is dropped on the way."""

    def __init__(self, d, heads, layers, template, search, drop_after, keep):
        super().__init__()
        self.patch = nn.Conv2d(3, d, 16, 16)
        self.nt, self.ns, self.side = (template // 16) ** 2, (search // 16) ** 2, search // 16
        self.pos_t, self.pos_s = nn.Parameter(torch.zeros(1, self.nt, d)), nn.Parameter(torch.zeros(1, self.ns, d))
        self.blocks, self.norm = nn.ModuleList(FollowBlock(d, heads) for _ in range(layers)), nn.LayerNorm(d)
        self.drop_after, self.keep = drop_after, keep
        self.score, self.offset, self.size = (
            nn.Sequential(ConvAct(d, d // 2), ConvAct(d // 2, d // 4), nn.Conv2d(d // 4, n, 1)) for n in (1, 2, 2)
        )

    def forward(self, template, search):
        z, x = (self.patch(y).flatten(2).transpose(1, 2) + pos for y, pos in ((template, self.pos_t), (search, self.pos_s)))
        here = torch.arange(self.ns, device=x.device).expand(len(x), -1)
        tokens = torch.cat([z, x], 1)
        for i, each in enumerate(self.blocks):
            tokens, weights = each(tokens)
            if i in self.drop_after:
                looked = weights[:, :, self.nt // 2, self.nt :].mean(1)
                kept = looked.topk(math.ceil(self.keep * looked.shape[1]), 1).indices
                rest = tokens[:, self.nt :].gather(1, kept.unsqueeze(-1).expand(-1, -1, tokens.shape[-1]))
                tokens, here = torch.cat([tokens[:, : self.nt], rest], 1), here.gather(1, kept)
        y = self.norm(tokens[:, self.nt :]).to(tokens.dtype)
        full = y.new_zeros(len(y), self.ns, y.shape[-1]).scatter(1, here.unsqueeze(-1).expand_as(y), y)
        full = full.transpose(1, 2).reshape(len(y), -1, self.side, self.side)
        return self.score(full).sigmoid(), self.offset(full).sigmoid(), self.size(full).sigmoid()


@model("tracking")
def follow_in_one_stream(small):
    batch, d, heads, layers, template, search = (2, 32, 2, 3, 32, 64) if small else (24, 384, 6, 9, 128, 256)
    side = search // 16
    heat, size = torch.rand(batch, 1, side, side) ** 4, torch.rand(batch, 2, side, side)

    def loss(out):
        p = out[0].float().clamp(1e-4, 1 - 1e-4)
        focal = -(heat * (1 - p) ** 2 * p.log() + (1 - heat) ** 4 * p**2 * (1 - p).log()).mean()
        return focal + 5 * F.l1_loss(out[2], size) + out[1].square().mean()

    net = Follower(d, heads, layers, template, search, (0, 1) if small else (2, 5), 0.7)
    return net, (torch.rand(batch, 3, template, template), torch.rand(batch, 3, search, search)), loss
