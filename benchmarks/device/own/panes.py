"""Panes: backbones of one's own, lanes, outlines, lips, people by their parts, songs split, letters spoken one frame at a time."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def conv_bn_act(in_ch, out_ch, k=3, s=1, g=1, act=True):
    mods = [nn.Conv2d(in_ch, out_ch, k, s, k // 2, groups=g, bias=False), nn.BatchNorm2d(out_ch)]
    if act:
        mods.append(nn.ReLU(inplace=True))
    return nn.Sequential(*mods)


# ---------------------------------------------------------------- backbones


class FoldableBlock(nn.Module):
    """Three branches while it is trained; one convolution, folded on the fly, when it is not."""

    def __init__(self, in_ch, out_ch, stride=1):
        super().__init__()
        self.stride = stride
        self.conv3 = nn.Conv2d(in_ch, out_ch, 3, stride, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(out_ch)
        self.conv1 = nn.Conv2d(in_ch, out_ch, 1, stride, 0, bias=False)
        self.bn1 = nn.BatchNorm2d(out_ch)
        self.bn0 = nn.BatchNorm2d(in_ch) if in_ch == out_ch and stride == 1 else None
        self.relu = nn.ReLU(inplace=True)

    @staticmethod
    def fold(weight, bn):
        scale = bn.weight / torch.sqrt(bn.running_var + bn.eps)
        return weight * scale.view(-1, 1, 1, 1), bn.bias - bn.running_mean * scale

    def forward(self, x):
        if self.training:
            out = self.bn3(self.conv3(x)) + self.bn1(self.conv1(x))
            if self.bn0 is not None:
                out = out + self.bn0(x)
            return self.relu(out)
        w, b = self.fold(self.conv3.weight, self.bn3)
        w1, b1 = self.fold(F.pad(self.conv1.weight, [1, 1, 1, 1]), self.bn1)
        w, b = w + w1, b + b1
        if self.bn0 is not None:
            eye = torch.eye(x.size(1), device=x.device, dtype=x.dtype).view(x.size(1), x.size(1), 1, 1)
            w0, b0 = self.fold(F.pad(eye, [1, 1, 1, 1]), self.bn0)
            w, b = w + w0, b + b0
        return self.relu(F.conv2d(x, w, b, self.stride, 1))


@model("vision backbone")
def branches_folded_into_one(small):
    bs, size, widths, depths = (2, 32, (4, 8), (1, 2)) if small else (64, 192, (64, 96, 192, 384, 1024), (1, 2, 4, 12, 1))
    layers, last = [], 3
    for w, d in zip(widths, depths):
        for i in range(d):
            layers.append(FoldableBlock(last, w, 2 if i == 0 else 1))
            last = w
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 1000))
    target = torch.randint(0, 1000, (bs,))
    return net, (torch.rand(bs, 3, size, size),), lambda out: nn.CrossEntropyLoss()(out, target)


class Involution(nn.Module):
    """A kernel at each place, made by that place, shared by the channels of a group."""

    def __init__(self, channels, k, stride, group_ch):
        super().__init__()
        self.k, self.stride, self.groups, self.group_ch = k, stride, channels // group_ch, group_ch
        self.reduce = conv_bn_act(channels, channels // 4, 1)
        self.span = nn.Conv2d(channels // 4, k * k * self.groups, 1)
        self.pool = nn.AvgPool2d(stride, stride) if stride > 1 else nn.Identity()
        self.unfold = nn.Unfold(k, padding=(k - 1) // 2, stride=stride)

    def forward(self, x):
        w = self.span(self.reduce(self.pool(x)))
        b, _, h, wd = w.shape
        w = w.view(b, self.groups, self.k**2, h, wd).unsqueeze(2)
        out = self.unfold(x).view(b, self.groups, self.group_ch, self.k**2, h, wd)
        return (w * out).sum(dim=3).view(b, -1, h, wd)


class InvBottleneck(nn.Module):
    def __init__(self, in_ch, out_ch, stride, group_ch):
        super().__init__()
        mid = out_ch // 4
        self.conv1 = conv_bn_act(in_ch, mid, 1)
        self.inv = nn.Sequential(Involution(mid, 7, stride, group_ch), nn.BatchNorm2d(mid), nn.ReLU(inplace=True))
        self.conv3 = conv_bn_act(mid, out_ch, 1, act=False)
        self.down = conv_bn_act(in_ch, out_ch, 1, stride, act=False) if stride != 1 or in_ch != out_ch else nn.Identity()
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.conv3(self.inv(self.conv1(x)))
        out += self.down(x)
        return self.relu(out)


@model("vision backbone")
def kernels_made_at_each_place(small):
    bs, size, base, depths, group_ch = (1, 32, 16, (1, 1), 4) if small else (24, 224, 256, (1, 2, 4, 1), 16)
    stem = nn.Sequential(conv_bn_act(3, base // 4, 3, 2), conv_bn_act(base // 4, base // 4), nn.MaxPool2d(3, 2, 1))
    blocks, last = [], base // 4
    for i, d in enumerate(depths):
        for j in range(d):
            blocks.append(InvBottleneck(last, base * 2**i, 2 if j == 0 and i > 0 else 1, group_ch))
            last = base * 2**i
    net = nn.Sequential(stem, *blocks, nn.AdaptiveAvgPool2d((1, 1)), nn.Flatten(1), nn.Linear(last, 200))
    target = torch.randint(0, 200, (bs,))
    return net, (torch.randn(bs, 3, size, size),), lambda out: F.cross_entropy(out, target)


class ChannelAttention(nn.Module):
    """Attention between channels, not places, at a learnt temperature; and a local mixing of patches."""

    def __init__(self, dim, heads, eta=1e-5):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, dim * 3), nn.Linear(dim, dim)
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))
        self.local = nn.Sequential(
            nn.Conv2d(dim, dim, 3, padding=1, groups=dim), nn.GELU(), nn.BatchNorm2d(dim), nn.Conv2d(dim, dim, 3, padding=1, groups=dim)
        )
        self.mlp = nn.Sequential(nn.Linear(dim, dim * 4), nn.GELU(), nn.Linear(dim * 4, dim))
        self.gamma = nn.ParameterList([nn.Parameter(eta * torch.ones(dim)) for _ in range(3)])

    def forward(self, x, H, W):
        B, N, C = x.shape
        qkv = self.qkv(self.norm1(x)).reshape(B, N, 3, self.heads, C // self.heads).permute(2, 0, 3, 4, 1)
        q, k, v = qkv[0], qkv[1], qkv[2]
        attn = (F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-2, -1)) * self.temperature
        y = (attn.softmax(dim=-1) @ v).permute(0, 3, 1, 2).reshape(B, N, C)
        x = x + self.gamma[0] * self.proj(y)
        y = self.norm3(x).permute(0, 2, 1).reshape(B, C, H, W)
        x = x + self.gamma[1] * self.local(y).reshape(B, C, N).permute(0, 2, 1)
        return x + self.gamma[2] * self.mlp(self.norm2(x))


class ChannelNet(nn.Module):
    def __init__(self, dim, depth, heads, classes):
        super().__init__()
        self.stem = nn.Sequential(
            conv_bn_act(3, dim // 4, 3, 2), conv_bn_act(dim // 4, dim // 2, 3, 2), conv_bn_act(dim // 2, dim, 3, 2, act=False)
        )
        self.blocks = nn.ModuleList([ChannelAttention(dim, heads) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x)
        H, W = x.shape[-2:]
        x = x.flatten(2).transpose(1, 2)
        for blk in self.blocks:
            x = blk(x, H, W)
        return self.head(self.norm(x).mean(dim=1))


@model("vision backbone")
def channels_that_attend_to_channels(small):
    bs, size, dim, depth, heads = (2, 32, 16, 1, 2) if small else (32, 224, 384, 12, 8)
    target = torch.rand(bs, 1000 if not small else 5)
    return ChannelNet(dim, depth, heads, target.size(1)), (torch.rand(bs, 3, size, size),), lambda out: F.binary_cross_entropy_with_logits(out, target)  # fmt: skip


# ---------------------------------------------------------------- detection and tracking


class LaneNet(nn.Module):
    """Lanes: for each row of a picture and each lane, in which column it is, or that it isn't there."""

    def __init__(self, width, hidden, cols, rows, lanes, feat):
        super().__init__()
        self.dim = (cols + 1, rows, lanes)
        ch = [width, width * 2, width * 4, width * 8]
        self.stages = nn.ModuleList()
        last = 3
        for c in ch:
            self.stages.append(nn.Sequential(conv_bn_act(last, c, 3, 2), conv_bn_act(c, c), conv_bn_act(c, c)))
            last = c
        self.down = conv_bn_act(last, last, 3, 2)
        self.pool = nn.Conv2d(last, 8, 1)
        self.cls = nn.Sequential(nn.Linear(8 * feat, hidden), nn.ReLU(), nn.Linear(hidden, (cols + 1) * rows * lanes))
        self.aux = nn.Sequential(conv_bn_act(sum(ch[2:]), 64), nn.Conv2d(64, lanes + 1, 1))

    def forward(self, x):
        feats = []
        for stage in self.stages:
            x = stage(x)
            feats.append(x)
        logits = self.cls(self.pool(self.down(x)).flatten(1)).view(-1, *self.dim)
        if self.training:
            up = F.interpolate(feats[-1], size=feats[-2].shape[2:], mode="bilinear", align_corners=True)
            return logits, self.aux(torch.cat([feats[-2], up], dim=1))
        prob = logits[:, :-1].softmax(dim=1)
        where = (prob * torch.arange(1, self.dim[0], device=x.device).view(1, -1, 1, 1)).sum(dim=1)
        return torch.where(logits.argmax(dim=1) == self.dim[0] - 1, torch.zeros_like(where), where)


@model("detection")
def lanes_row_by_row(small):
    bs, (h, w), width, hidden, cols, rows, lanes = (1, (64, 96), 4, 16, 10, 5, 2) if small else (24, (288, 800), 64, 2048, 200, 18, 4)
    cell = torch.randint(0, cols + 1, (bs, rows, lanes))
    seg = torch.randint(0, lanes + 1, (bs, h // 8, w // 8))

    def loss(out):
        logits, aux = out
        alike = F.l1_loss(logits[:, :, 1:], logits[:, :, :-1])
        log_p = F.log_softmax(logits, dim=1)
        focal = F.nll_loss((1 - log_p.exp()) ** 2 * log_p, cell)
        return focal + 0.1 * alike + F.cross_entropy(aux, seg)

    feat = -(-h // 32) * -(-w // 32)
    return LaneNet(width, hidden, cols, rows, lanes, feat), (torch.randn(bs, 3, h, w),), loss


class CircConv(nn.Module):
    def __init__(self, c_in, c_out, reach=4, dilation=1):
        super().__init__()
        self.n = reach * dilation
        self.fc = nn.Conv1d(c_in, c_out, 2 * reach + 1, dilation=dilation)
        self.norm = nn.BatchNorm1d(c_out)

    def forward(self, x):
        x = torch.cat([x[..., -self.n :], x, x[..., : self.n]], dim=2)
        return self.norm(F.relu(self.fc(x)))


class Snake(nn.Module):
    def __init__(self, feat, state):
        super().__init__()
        self.head = CircConv(feat, state)
        self.res = nn.ModuleList([CircConv(state, state, dilation=d) for d in (1, 1, 1, 2, 2, 4, 4)])
        self.fusion = nn.Conv1d(state * 8, 256, 1)
        self.pred = nn.Sequential(nn.Conv1d(state * 8 + 256, 256, 1), nn.ReLU(inplace=True), nn.Conv1d(256, 64, 1), nn.ReLU(inplace=True), nn.Conv1d(64, 2, 1))  # fmt: skip

    def forward(self, x):
        states = [self.head(x)]
        for conv in self.res:
            states.append(conv(states[-1]) + states[-1])
        state = torch.cat(states, dim=1)
        world = self.fusion(state).max(dim=2, keepdim=True)[0].expand(-1, -1, state.size(2))
        return self.pred(torch.cat([world, state], dim=1))


class Outlines(nn.Module):
    """Boxes by their centres; an octagon from each, bent into the thing's outline by convolutions around it, three times."""

    def __init__(self, c, points, keep, iters):
        super().__init__()
        self.body = nn.Sequential(conv_bn_act(3, c, 7, 2), conv_bn_act(c, c * 2, 3, 2), *[conv_bn_act(c * 2, c * 2) for _ in range(6)])
        self.hm, self.wh = (nn.Sequential(conv_bn_act(c * 2, 256 if c > 8 else 8), nn.Conv2d(256 if c > 8 else 8, n, 1)) for n in (1, 2))
        self.feat = nn.Conv2d(c * 2, 64, 1)
        self.snakes = nn.ModuleList([Snake(66, 128 if c > 8 else 8) for _ in range(iters)])
        self.points, self.keep = points, keep

    def forward(self, x):
        f = self.body(x)
        heat, wh = torch.sigmoid(self.hm(f)), self.wh(f)
        peak = heat * (F.max_pool2d(heat, 3, 1, 1) == heat).to(heat.dtype)
        B, _, H, W = heat.shape
        score, idx = peak.view(B, -1).topk(self.keep)
        ctr = torch.stack([idx % W, torch.div(idx, W, rounding_mode="floor")], dim=-1).to(f.dtype)
        size = wh.view(B, 2, -1).gather(2, idx.unsqueeze(1).expand(-1, 2, -1)).transpose(1, 2).exp().clamp(1, H / 2)
        angle = torch.linspace(0, 6.2832, self.points + 1, device=x.device)[:-1]
        ring = torch.stack([angle.cos(), angle.sin()], dim=-1).to(f.dtype)
        poly = (ctr.unsqueeze(2) + 0.5 * size.unsqueeze(2) * ring).flatten(0, 1)
        feat, outs = self.feat(f), []
        for snake in self.snakes:
            poly = poly.detach()
            grid = torch.stack([poly[..., 0] / (W - 1), poly[..., 1] / (H - 1)], dim=-1).mul(2).sub(1).view(B, self.keep, -1, 2)
            at = F.grid_sample(feat, grid, align_corners=True).permute(0, 2, 1, 3).flatten(0, 1)
            rel = poly - poly.min(dim=1, keepdim=True)[0]
            poly = poly + snake(torch.cat([at, rel.transpose(1, 2)], dim=1)).transpose(1, 2)
            outs.append(poly)
        return heat, score, size, torch.stack(outs)


@model("segmentation")
def outlines_bent_around_things(small):
    bs, size, c, points, keep, iters = (1, 32, 4, 16, 2, 1) if small else (8, 512, 64, 128, 64, 3)
    truth = torch.rand(bs, 1, size // 4, size // 4)
    line, sides = torch.rand(bs * keep, points, 2) * size / 4, torch.rand(bs, keep, 2) * size / 8 + 1
    return Outlines(c, points, keep, iters), (torch.rand(bs, 3, size, size),), lambda out: F.mse_loss(out[0], truth) + 0.1 * F.l1_loss(out[2], sides) + F.smooth_l1_loss(out[3], line.expand_as(out[3]))  # fmt: skip


class PeopleParts(nn.Module):
    """The same person in another camera: stripes of a feature map, each with a classifier of its own, and triplets of the whole."""

    def __init__(self, width, stripes, people, dim):
        super().__init__()
        w = [width, width * 2, width * 4, width * 8]
        self.body = nn.Sequential(
            conv_bn_act(3, w[0], 7, 2), nn.MaxPool2d(3, 2, 1), *[m for i, c in enumerate(w) for m in (conv_bn_act(w[max(0, i - 1)], c, 3, 2 if i in (1, 2) else 1), conv_bn_act(c, c), conv_bn_act(c, c))])  # fmt: skip
        self.pool = nn.AdaptiveAvgPool2d((stripes, 1))
        self.reduce = nn.ModuleList([nn.Sequential(nn.Conv2d(w[-1], dim, 1, bias=False), nn.BatchNorm2d(dim), nn.ReLU(inplace=True)) for _ in range(stripes)])  # fmt: skip
        self.fc = nn.ModuleList([nn.Linear(dim, people) for _ in range(stripes)])

    def forward(self, x):
        f = self.body(x)
        parts = self.pool(f).chunk(len(self.fc), dim=2)
        codes = [r(p).flatten(1) for r, p in zip(self.reduce, parts)]
        whole = F.adaptive_max_pool2d(f, 1).flatten(1)
        if not self.training:
            return F.normalize(torch.cat([F.normalize(c, dim=1) for c in codes] + [F.normalize(whole, dim=1)], dim=1), dim=1)
        return [fc(c) for fc, c in zip(self.fc, codes)], whole


@model("tracking")
def people_by_their_stripes(small):
    ids, each, (h, w), width, stripes, people, dim = (2, 2, (64, 32), 4, 2, 5, 8) if small else (16, 4, (384, 128), 64, 6, 1500, 256)
    label = torch.arange(ids).repeat_interleave(each)

    def loss(out):
        logits, whole = out
        ce = sum(F.cross_entropy(o, label) for o in logits)
        dist = torch.cdist(whole.float(), whole.float())
        same = label.unsqueeze(0) == label.unsqueeze(1)
        far = (dist * same).max(dim=1)[0]
        near = (dist + 1e4 * same).min(dim=1)[0]
        return ce + F.margin_ranking_loss(near, far, torch.ones_like(near), margin=0.3)

    return PeopleParts(width, stripes, people, dim), (torch.rand(ids * each, 3, h, w),), loss


@model("video")
def backgrounds_as_mixtures(small):
    """Every pixel keeps a few Gaussians of what it usually is; a frame is matched to them, and moves the one it matched."""
    cams, frames, (h, w), K = (1, 2, (8, 8), 3) if small else (4, 12, (720, 1280), 4)

    def subtract(video, mean, var, weight):
        masks = []
        for t in range(video.size(1)):
            x = video[:, t].unsqueeze(1)
            d2 = ((x - mean) ** 2).sum(dim=2)
            ok = d2 < 6.25 * 3 * var
            first = ok & (ok.cumsum(dim=1) == 1)
            hit = first.to(x.dtype)
            weight = weight + 0.01 * (hit - weight)
            rate = 0.01 * hit / weight.clamp(min=1e-3)
            mean = mean + rate.unsqueeze(2) * (x - mean)
            var = (var + rate * (d2 / 3 - var)).clamp(min=1e-4)
            none = ~ok.any(dim=1, keepdim=True)
            worst = weight == weight.min(dim=1, keepdim=True)[0]
            new = none & worst
            mean = torch.where(new.unsqueeze(2), x, mean)
            var = torch.where(new, torch.full_like(var, 0.02), var)
            weight = weight / weight.sum(dim=1, keepdim=True)
            order = (weight / var.sqrt()).argsort(dim=1, descending=True)
            mean = mean.gather(1, order.unsqueeze(2).expand_as(mean))
            var, weight, first = var.gather(1, order), weight.gather(1, order), first.gather(1, order)
            behind = (weight.cumsum(dim=1) - weight) < 0.7
            mask = 1 - (first & behind).any(dim=1).to(x.dtype)
            masks.append(F.max_pool2d(-F.max_pool2d(-mask.unsqueeze(1), 3, 1, 1), 3, 1, 1))
        return torch.cat(masks, dim=1), mean

    return subtract, (torch.rand(cams, frames, 3, h, w), torch.rand(cams, K, 3, h, w), torch.rand(cams, K, h, w) * 0.05 + 0.01, torch.full((cams, K, h, w), 1 / K)), None  # fmt: skip


class LipReader(nn.Module):
    """Lips: a convolution through time and space, a small net on each frame, and dilated convolutions along time."""

    def __init__(self, c, widths, hidden, blocks, classes):
        super().__init__()
        self.front = nn.Sequential(nn.Conv3d(1, c, (5, 7, 7), (1, 2, 2), (2, 3, 3), bias=False), nn.BatchNorm3d(c), nn.PReLU(c), nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)))  # fmt: skip
        trunk, last = [], c
        for i, w in enumerate(widths):
            trunk += [conv_bn_act(last, w, 3, 2 if i else 1), conv_bn_act(w, w), conv_bn_act(w, w), conv_bn_act(w, w)]
            last = w
        self.trunk = nn.Sequential(*trunk, nn.AdaptiveAvgPool2d(1))
        self.tcn = nn.ModuleList()
        for i in range(blocks):
            d = 2**i
            branches = nn.ModuleList([nn.Sequential(nn.Conv1d(last, hidden // 3, k, padding=(k - 1) // 2 * d, dilation=d), nn.BatchNorm1d(hidden // 3), nn.PReLU(hidden // 3)) for k in (3, 5, 7)])  # fmt: skip
            self.tcn.append(nn.ModuleList([branches, nn.Conv1d(last, hidden, 1) if last != hidden else nn.Identity()]))
            last = hidden
        self.drop, self.fc = nn.Dropout(0.2), nn.Linear(last, classes)

    def forward(self, x, lengths):
        B, _, T = x.shape[:3]
        x = self.front(x)
        x = x.transpose(1, 2).contiguous().view(B * T, x.size(1), x.size(3), x.size(4))
        x = self.trunk(x).view(B, T, -1).transpose(1, 2)
        for branches, short in self.tcn:
            x = self.drop(torch.cat([b(x) for b in branches], dim=1)) + short(x)
        there = (torch.arange(T, device=x.device)[None] < lengths[:, None]).to(x.dtype).unsqueeze(1)
        return self.fc((x * there).sum(dim=2) / there.sum(dim=2))


@model("video")
def lips_into_words(small):
    bs, T, size, c, widths, hidden, blocks, classes = (1, 3, 24, 4, (4, 8), 6, 1, 5) if small else (16, 29, 88, 64, (64, 128, 256, 512), 768, 4, 500)  # fmt: skip
    label = torch.randint(0, classes, (bs,))
    inputs = torch.rand(bs, 1, T, size, size), torch.randint(max(1, T // 2), T + 1, (bs,))
    return LipReader(c, widths, hidden, blocks, classes), inputs, lambda out: F.cross_entropy(out, label)


# ---------------------------------------------------------------- audio


@model("audio", half=False)
def strokes_parted_from_tones(small):
    """A song split by medians: along time what rings, along frequency what strikes; soft masks; two waves back."""
    bs, n, n_fft, hop, win = (1, 512, 64, 16, 3) if small else (4, 441_000, 2048, 512, 17)

    def split(wave):
        window = torch.hann_window(n_fft, device=wave.device)
        spec = torch.stft(wave, n_fft, hop, window=window, return_complex=True)
        mag = spec.abs()
        p = win // 2
        ring = F.pad(mag, (p, p), mode="reflect").unfold(2, win, 1).median(dim=-1)[0]
        hit = F.pad(mag.transpose(1, 2), (p, p), mode="reflect").transpose(1, 2).unfold(1, win, 1).median(dim=-1)[0]
        total = ring**2 + hit**2 + 1e-10
        outs = [torch.istft(spec * (m**2 / total), n_fft, hop, window=window, length=n) for m in (ring, hit)]
        return torch.stack(outs, dim=1)

    return split, (torch.randn(bs, n) * 0.1,), None


class LocationAttention(nn.Module):
    def __init__(self, query, memory, dim, filters):
        super().__init__()
        self.query, self.memory, self.v = nn.Linear(query, dim, bias=False), nn.Linear(memory, dim, bias=False), nn.Linear(dim, 1, bias=False)  # fmt: skip
        self.conv, self.loc = nn.Conv1d(2, filters, 31, padding=15, bias=False), nn.Linear(filters, dim, bias=False)

    def forward(self, h, memory, processed, weights, mask):
        loc = self.loc(self.conv(weights).transpose(1, 2))
        e = self.v(torch.tanh(self.query(h.unsqueeze(1)) + loc + processed)).squeeze(-1)
        w = F.softmax(e.masked_fill(mask, -1e4), dim=1)
        return torch.bmm(w.unsqueeze(1), memory).squeeze(1), w


class Speaker(nn.Module):
    """Letters read both ways; a decoder that looks where it looked before, a few frames of a spectrogram at a time."""

    def __init__(self, letters, d, mels, hidden, r):
        super().__init__()
        self.emb = nn.Embedding(letters, d)
        self.convs = nn.Sequential(*[nn.Sequential(nn.Conv1d(d, d, 5, padding=2), nn.BatchNorm1d(d), nn.ReLU(), nn.Dropout(0.5)) for _ in range(3)])  # fmt: skip
        self.lstm = nn.LSTM(d, d // 2, batch_first=True, bidirectional=True)
        self.pre = nn.Sequential(nn.Linear(mels, d // 2), nn.ReLU(), nn.Linear(d // 2, d // 2), nn.ReLU())
        self.att_rnn, self.dec_rnn = nn.LSTMCell(d // 2 + d, hidden), nn.LSTMCell(hidden + d, hidden)
        self.att = LocationAttention(hidden, d, 128 if d > 64 else 8, 32 if d > 64 else 4)
        self.frame, self.stop = nn.Linear(hidden + d, mels * r), nn.Linear(hidden + d, 1)
        self.post = nn.Sequential(*[m for i in range(5) for m in (nn.Conv1d(mels if i == 0 else d, mels if i == 4 else d, 5, padding=2), nn.Tanh() if i < 4 else nn.Identity())])  # fmt: skip
        self.hidden, self.mels, self.r = hidden, mels, r

    def forward(self, text, lengths, mel):
        x = self.convs(self.emb(text).transpose(1, 2)).transpose(1, 2)
        memory, _ = self.lstm(x)
        B, N, _ = memory.shape
        mask = torch.arange(N, device=text.device)[None] >= lengths[:, None]
        processed = self.att.memory(memory)
        h1, c1, h2, c2 = (memory.new_zeros(B, self.hidden) for _ in range(4))
        ctx, w = memory.new_zeros(B, memory.size(2)), memory.new_zeros(B, N)
        total, frames, stops = w, [], []
        go = self.pre(torch.cat([mel.new_zeros(B, 1, self.mels), mel[:, self.r - 1 :: self.r]], dim=1))
        for t in range(mel.size(1) // self.r):
            h1, c1 = self.att_rnn(torch.cat([go[:, t], ctx], dim=1), (h1, c1))
            ctx, w = self.att(h1, memory, processed, torch.stack([w, total], dim=1), mask)
            total = total + w
            h2, c2 = self.dec_rnn(torch.cat([h1, ctx], dim=1), (h2, c2))
            both = torch.cat([h2, ctx], dim=1)
            frames.append(self.frame(both).view(B, self.r, self.mels))
            stops.append(self.stop(both))
        out = torch.cat(frames, dim=1)
        return out, out + self.post(out.transpose(1, 2)).transpose(1, 2), torch.cat(stops, dim=1)


@model("speech", compiles=False)
def letters_said_frame_by_frame(small):
    bs, n, steps, r, letters, d, mels, hidden = (2, 5, 2, 2, 12, 8, 4, 16) if small else (32, 120, 48, 3, 148, 512, 80, 1024)
    mel = torch.randn(bs, steps * r, mels)
    inputs = torch.randint(0, letters, (bs, n)), torch.randint(n // 2, n + 1, (bs,)), mel
    done = torch.zeros(bs, steps)
    done[:, -1] = 1
    return Speaker(letters, d, mels, hidden, r), inputs, lambda out: F.mse_loss(out[0], mel) + F.mse_loss(out[1], mel) + F.binary_cross_entropy_with_logits(out[2], done)  # fmt: skip
