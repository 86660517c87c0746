"""Pictures compared and measured: joints kept sharp, parts unlike any remembered, two views matched without corners, colours as codes."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model

MOMENTUM = 0.1


class BasicBlock(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.Conv2d(c, c, 3, 1, 1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(c, momentum=MOMENTUM), nn.BatchNorm2d(c, momentum=MOMENTUM)
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += x
        return self.relu(out)


class Exchange(nn.Module):
    """Branches of several resolutions, each a few blocks, then every one added to every other."""

    def __init__(self, widths, blocks, only_finest=False):
        super().__init__()
        self.branches = nn.ModuleList(nn.Sequential(*(BasicBlock(c) for _ in range(blocks))) for c in widths)
        self.fuse = nn.ModuleList(
            nn.ModuleList(self.link(a, b, i - j) for j, a in enumerate(widths)) for i, b in enumerate(widths[:1] if only_finest else widths)
        )

    @staticmethod
    def link(cin, cout, down):
        if down == 0:
            return nn.Identity()
        if down < 0:
            return nn.Sequential(
                nn.Conv2d(cin, cout, 1, bias=False), nn.BatchNorm2d(cout), nn.Upsample(scale_factor=2**-down, mode="nearest")
            )
        layers = []
        for k in range(down):
            c = cout if k == down - 1 else cin
            layers += [nn.Conv2d(cin, c, 3, 2, 1, bias=False), nn.BatchNorm2d(c)] + ([nn.ReLU(True)] if k < down - 1 else [])
        return nn.Sequential(*layers)

    def forward(self, xs):
        xs = [branch(x) for branch, x in zip(self.branches, xs)]
        return [F.relu(sum(link(x) for link, x in zip(row, xs))) for row in self.fuse]


class SharpJoints(nn.Module):
    """Joints of a body: the finest branch is never downsampled, and a place is the mean of its heat map."""

    def __init__(self, width, modules, blocks, joints):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 3, 2, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(True), nn.Conv2d(64, width, 3, 2, 1, bias=False),
            nn.BatchNorm2d(width), nn.ReLU(True), *(BasicBlock(width) for _ in range(blocks)))  # fmt: skip
        self.down = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(width * 2**i, width * 2 ** (i + 1), 3, 2, 1, bias=False), nn.BatchNorm2d(width * 2 ** (i + 1)), nn.ReLU(True)
            )
            for i in range(len(modules))
        )
        self.stages = nn.ModuleList()
        for i, n in enumerate(modules):
            widths, last = [width * 2**k for k in range(i + 2)], i == len(modules) - 1
            self.stages.append(nn.ModuleList(Exchange(widths, blocks, last and k == n - 1) for k in range(n)))
        self.final = nn.Conv2d(width, joints, 1)

    def forward(self, x):
        xs = [self.stem(x)]
        for down, stage in zip(self.down, self.stages):
            xs = [*xs, down(xs[-1])]
            for exchange in stage:
                xs = exchange(xs)
        heat = self.final(xs[0])
        b, j, h, w = heat.shape
        p = heat.flatten(2).softmax(-1).view(b, j, h, w)
        px = (p.sum(2) * torch.linspace(0, 1, w, device=p.device, dtype=p.dtype)).sum(-1)
        py = (p.sum(3) * torch.linspace(0, 1, h, device=p.device, dtype=p.dtype)).sum(-1)
        return torch.stack([px, py], -1), p.amax((2, 3))


@model("pose")
def joints_kept_sharp(small):
    b, h, w, width, modules, blocks = (2, 32, 32, 4, (1, 1), 1) if small else (48, 256, 192, 32, (1, 2, 1), 3)
    xy, seen = torch.rand(b, 17, 2), (torch.rand(b, 17, 1) > 0.2).float()
    return SharpJoints(width, modules, blocks, 17), (torch.randn(b, 3, h, w),), lambda out: ((out[0] - xy).abs() * seen).sum() / seen.sum()


class UnlikeMemory(nn.Module):
    """Which parts of a picture look like none remembered: features of patches, their nearest in a bank, a smoothed map of distances."""

    def __init__(self, width, depth, dim, bank, neighbours=9, blur=4.0):
        super().__init__()
        layers, c = [nn.Conv2d(3, width, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(2)], width
        self.first = nn.Sequential(*layers, *(BasicBlock(c) for _ in range(depth)))
        self.second = nn.Sequential(nn.Conv2d(c, 2 * c, 3, 2, 1), nn.ReLU(), *(BasicBlock(2 * c) for _ in range(depth)))
        self.third = nn.Sequential(nn.Conv2d(2 * c, 4 * c, 3, 2, 1), nn.ReLU(), *(BasicBlock(4 * c) for _ in range(depth)))
        self.dim, self.k = dim, neighbours
        self.register_buffer("bank", torch.randn(bank, dim))
        r = int(4 * blur + 0.5)
        line = torch.exp(-0.5 * (torch.arange(-r, r + 1) / blur) ** 2)
        self.register_buffer("kernel", (line / line.sum()).view(1, 1, 1, -1))

    def describe(self, image):
        x = self.second(self.first(image))
        y = self.third(x)
        x, y = F.avg_pool2d(x, 3, 1, 1), F.avg_pool2d(y, 3, 1, 1)
        y = F.interpolate(y, size=x.shape[-2:], mode="bilinear")
        f = torch.cat([x, y], 1).permute(0, 2, 3, 1)
        b, h, w, c = f.shape
        return F.adaptive_avg_pool1d(f.reshape(b * h * w, 1, c), self.dim).squeeze(1), (b, h, w)

    def squared(self, a, b):
        return (a.pow(2).sum(1, keepdim=True) + b.pow(2).sum(1) - 2 * a @ b.t()).clamp(min=0)

    @torch.no_grad()
    def forward(self, image):
        patches, (b, h, w) = self.describe(image)
        found = [self.squared(part, self.bank).topk(self.k, largest=False) for part in patches.split(4096)]
        near, which = torch.cat([d for d, _ in found]).sqrt(), torch.cat([i for _, i in found])
        nearest, place = near[:, 0].view(b, -1).max(1)
        mine = torch.arange(b, device=image.device) * h * w + place
        others = self.bank[which[mine]]
        far = (patches[mine].unsqueeze(1) - others).float().norm(dim=-1)
        score = (1 - far[:, 0].exp().div(far.exp().sum(1) + 1e-6)) * nearest
        heat = F.interpolate(near[:, 0].view(b, 1, h, w), size=image.shape[-2:], mode="bilinear")
        r = self.kernel.shape[-1] // 2
        heat = F.conv2d(F.pad(heat, (r, r, r, r), mode="replicate"), self.kernel)
        return score, F.conv2d(heat, self.kernel.transpose(2, 3))


@model("anomalies")
def parts_unlike_memory(small):
    b, size, width, depth, dim, bank = (1, 32, 4, 1, 8, 20) if small else (16, 256, 96, 3, 512, 16_000)
    return UnlikeMemory(width, depth, dim, bank).requires_grad_(False), (torch.randn(b, 3, size, size),), None


class LinearAttentionLayer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.h = heads
        self.q, self.k, self.v, self.merge = (nn.Linear(d, d, bias=False) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(2 * d, 2 * d, bias=False), nn.ReLU(True), nn.Linear(2 * d, d, bias=False))
        self.norm1, self.norm2 = nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x, source):
        b, n, d = x.shape
        q = F.elu(self.q(x).view(b, n, self.h, -1)) + 1
        k = F.elu(self.k(source).view(b, source.size(1), self.h, -1)) + 1
        v = self.v(source).view(b, source.size(1), self.h, -1) / source.size(1)
        kv = torch.einsum("nshd,nshv->nhdv", k, v)
        z = 1 / (torch.einsum("nlhd,nhd->nlh", q, k.sum(dim=1)) + 1e-6)
        y = torch.einsum("nlhd,nhdv,nlh->nlhv", q, kv, z) * source.size(1)
        y = self.norm1(self.merge(y.reshape(b, n, d)))
        return x + self.norm2(self.mlp(torch.cat([x, y], 2)))


class WithoutCorners(nn.Module):
    """Two pictures of a place: every coarse cell of one against every cell of the other, then the best pairs again, finely."""

    def __init__(self, widths, heads, pairs, matches, window=5):
        super().__init__()
        a, b, c = widths
        self.stem = nn.Sequential(nn.Conv2d(1, a, 7, 2, 3, bias=False), nn.BatchNorm2d(a), nn.ReLU(True), BasicBlock(a), BasicBlock(a))
        self.middle = nn.Sequential(nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU(True), BasicBlock(b), BasicBlock(b))
        self.quarter = nn.Sequential(nn.Conv2d(b, c, 3, 2, 1, bias=False), nn.BatchNorm2d(c), nn.ReLU(True), BasicBlock(c), BasicBlock(c))
        self.lat2, self.lat1 = nn.Conv2d(b, c, 1, bias=False), nn.Conv2d(a, b, 1, bias=False)
        self.out2, self.out1 = nn.Conv2d(c, b, 3, 1, 1, bias=False), nn.Conv2d(b, a, 3, 1, 1, bias=False)
        self.coarse = nn.ModuleList(LinearAttentionLayer(c, heads) for _ in range(2 * pairs))
        self.fine = nn.ModuleList(LinearAttentionLayer(a, heads) for _ in range(2))
        self.mix = nn.Linear(c + a, a)
        self.matches, self.window = matches, window

    def features(self, x):
        x1 = self.stem(x)
        x2 = self.middle(x1)
        x3 = self.quarter(x2)
        y2 = self.out2(self.lat2(x2) + F.interpolate(x3, scale_factor=2.0, mode="bilinear", align_corners=True))
        y1 = self.out1(self.lat1(x1) + F.interpolate(y2, scale_factor=2.0, mode="bilinear", align_corners=True))
        return x3, y1

    @staticmethod
    def run(layers, f0, f1):
        for i, layer in enumerate(layers):
            if i % 2 == 0:
                f0, f1 = layer(f0, f0), layer(f1, f1)
            else:
                f0 = layer(f0, f1)
                f1 = layer(f1, f0)
        return f0, f1

    def forward(self, left, right):
        n = left.shape[0]
        coarse, fine = self.features(torch.cat([left, right]))
        f0, f1 = coarse.flatten(2).transpose(1, 2).split(n)
        f0, f1 = self.run(self.coarse, f0, f1)
        sim = torch.einsum("nlc,nsc->nls", f0, f1) / (f0.shape[-1] * 0.1)
        conf = F.softmax(sim, 1) * F.softmax(sim, 2)
        mutual = (conf == conf.amax(2, keepdim=True)) & (conf == conf.amax(1, keepdim=True))
        score, j = (conf * mutual).max(2)
        score, i = score.topk(self.matches, dim=1)
        j = j.gather(1, i)
        w = self.window
        cells = F.unfold(fine, w, stride=4, padding=w // 2)
        cells = cells.view(2 * n, -1, w * w, cells.shape[-1]).permute(0, 3, 2, 1)  # pictures, cells, places, channels
        batch = torch.arange(n, device=left.device).unsqueeze(1)
        g0, g1 = cells[:n][batch, i].flatten(0, 1), cells[n:][batch, j].flatten(0, 1)
        c0, c1 = f0[batch, i].flatten(0, 1), f1[batch, j].flatten(0, 1)
        g0 = self.mix(torch.cat([g0, c0.unsqueeze(1).expand(-1, w * w, -1)], -1))
        g1 = self.mix(torch.cat([g1, c1.unsqueeze(1).expand(-1, w * w, -1)], -1))
        g0, g1 = self.run(self.fine, g0, g1)
        heat = torch.softmax(torch.einsum("mc,mrc->mr", g0[:, w * w // 2], g1) / g0.shape[-1] ** 0.5, 1)
        side = torch.linspace(-1, 1, w, device=left.device, dtype=heat.dtype)
        dy, dx = torch.meshgrid(side, side, indexing="ij")
        offset = torch.stack([(heat * dx.flatten()).sum(1), (heat * dy.flatten()).sum(1)], -1).view(n, -1, 2)
        wide = left.shape[-1] // 8
        xy0 = torch.stack([i % wide, i // wide], -1) * 8
        xy1 = torch.stack([j % wide, j // wide], -1) * 8 + offset * (w // 2) * 2
        return xy0, xy1, score


@model("matching")
def views_matched_without_corners(small):
    b, h, w, widths, heads, pairs, matches = (1, 32, 40, (8, 12, 16), 2, 1, 5) if small else (2, 480, 640, (128, 192, 256), 8, 4, 1000)
    return WithoutCorners(widths, heads, pairs, matches), (torch.rand(b, 1, h, w), torch.rand(b, 1, h, w)), None


class ResBlock(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        groups = min(32, cin // 2)
        self.n1, self.c1 = nn.GroupNorm(groups, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.n2, self.c2 = nn.GroupNorm(min(32, cout // 2), cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x):
        return self.skip(x) + self.c2(F.silu(self.n2(self.c1(F.silu(self.n1(x))))))


class PixelAttention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm, self.qkv, self.out = nn.GroupNorm(min(32, c // 2), c), nn.Conv2d(c, 3 * c, 1), nn.Conv2d(c, c, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = self.qkv(self.norm(x)).flatten(2).chunk(3, 1)
        p = torch.bmm(q.transpose(1, 2), k).mul(c**-0.5).softmax(-1)
        return x + self.out(torch.bmm(v, p.transpose(1, 2)).view(b, c, h, w))


class RoundedCodes(nn.Module):
    """A tokenizer of pictures without a codebook: a few bounded numbers per patch, each rounded to one of its levels."""

    def __init__(self, width, mults, levels=(8, 8, 8, 5, 5)):
        super().__init__()
        self.register_buffer("levels", torch.tensor(levels))
        self.register_buffer("basis", torch.cumprod(torch.tensor([1, *levels[:-1]]), 0))
        chans = [width * m for m in mults]
        self.enter = nn.Conv2d(3, chans[0], 3, padding=1)
        down, up = [], []
        for a, b in zip(chans, [*chans[1:], chans[-1]]):
            down += [ResBlock(a, b), ResBlock(b, b), nn.Conv2d(b, b, 3, 2, 1)]
        for a, b in zip([chans[-1], *chans[:0:-1]], [*chans[:0:-1], chans[0]]):
            up += [ResBlock(a, b), ResBlock(b, b), nn.Upsample(scale_factor=2), nn.Conv2d(b, b, 3, padding=1)]
        c = chans[-1]
        self.down = nn.Sequential(*down, ResBlock(c, c), PixelAttention(c), ResBlock(c, c))
        self.to_code, self.from_code = nn.Conv2d(c, len(levels), 1), nn.Conv2d(len(levels), c, 1)
        self.up = nn.Sequential(ResBlock(c, c), PixelAttention(c), ResBlock(c, c), *up)
        self.leave = nn.Sequential(nn.GroupNorm(min(32, chans[0] // 2), chans[0]), nn.SiLU(), nn.Conv2d(chans[0], 3, 3, padding=1))

    def quantise(self, z):
        lv = self.levels.view(1, -1, 1, 1).to(z.dtype)
        half = (lv - 1) * (1 - 1e-3) / 2
        offset = torch.where(self.levels.view(1, -1, 1, 1) % 2 == 0, 0.5, 0.0).to(z.dtype)
        bounded = (z + torch.tan(offset / half)).tanh() * half - offset
        hard = bounded + (bounded.round() - bounded).detach()
        return hard / (self.levels // 2).view(1, -1, 1, 1).to(z.dtype)

    def forward(self, image):
        code = self.quantise(self.to_code(self.down(self.enter(image))))
        whole = (code * (self.levels // 2).view(1, -1, 1, 1) + (self.levels // 2).view(1, -1, 1, 1)).round().long()
        index = (whole * self.basis.view(1, -1, 1, 1)).sum(1)
        return self.leave(self.up(self.from_code(code))), index


@model("tokenizer")
def colours_rounded_to_codes(small):
    b, size, width, mults = (1, 16, 8, (1, 2)) if small else (8, 256, 96, (1, 1, 2, 4))
    image = torch.rand(b, 3, size, size) * 2 - 1

    def loss(out):
        again, _ = out
        edges = sum((again.diff(dim=d) - image.diff(dim=d)).abs().mean() for d in (2, 3))
        return F.l1_loss(again, image) + 0.5 * edges

    return RoundedCodes(width, mults), (image,), loss
