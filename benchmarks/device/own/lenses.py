"""What is in a picture, and where: streets, flow, masks for a click, joints, parts that look wrong, two pictures of one place."""

import math

import torch
from torch import nn
from torch.nn import functional as F

from own.listing import model


def conv_bn(cin, cout, k=3, stride=1, dilation=1, groups=1, act=True):
    layers = [nn.Conv2d(cin, cout, k, stride, dilation * (k // 2), dilation, groups, bias=False), nn.BatchNorm2d(cout)]
    return nn.Sequential(*layers, nn.ReLU(inplace=True)) if act else nn.Sequential(*layers)


class Bottleneck(nn.Module):
    def __init__(self, cin, planes, stride=1, dilation=1):
        super().__init__()
        self.body = nn.Sequential(
            conv_bn(cin, planes, 1), conv_bn(planes, planes, 3, stride, dilation), conv_bn(planes, 4 * planes, 1, act=False)
        )
        self.short = nn.Identity() if cin == 4 * planes and stride == 1 else conv_bn(cin, 4 * planes, 1, stride, act=False)

    def forward(self, x):
        return F.relu(self.body(x) + self.short(x), inplace=True)


class HolePyramid(nn.Module):
    def __init__(self, cin, cout, rates):
        super().__init__()
        self.branches = nn.ModuleList([conv_bn(cin, cout, 1)] + [conv_bn(cin, cout, 3, dilation=r) for r in rates])
        self.pool = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Conv2d(cin, cout, 1), nn.ReLU())
        self.merge = nn.Sequential(conv_bn((len(rates) + 2) * cout, cout, 1), nn.Dropout(0.5))

    def forward(self, x):
        whole = F.interpolate(self.pool(x), size=x.shape[-2:], mode="bilinear", align_corners=False)
        return self.merge(torch.cat([branch(x) for branch in self.branches] + [whole], 1))


class StreetSegmenter(nn.Module):
    """A residual network that keeps its resolution by dilation; a pyramid of holes; a decoder that sees the early features again."""

    def __init__(self, width, blocks, classes):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, width, 3, 2), conv_bn(width, width), conv_bn(width, 2 * width), nn.MaxPool2d(3, 2, 1))
        cin, stages = 2 * width, []
        for i, (n, stride, dilation) in enumerate(zip(blocks, (1, 2, 2, 1), (1, 1, 1, 2))):
            planes = width * 2**i
            stage = []
            for j in range(n):
                stage.append(Bottleneck(cin, planes, stride if j == 0 else 1, dilation))
                cin = 4 * planes
            stages.append(nn.Sequential(*stage))
        self.stages = nn.ModuleList(stages)
        self.pyramid = HolePyramid(cin, 4 * width, (6, 12, 18))
        self.low = conv_bn(4 * width, 48, 1)
        self.decode = nn.Sequential(conv_bn(4 * width + 48, 4 * width), conv_bn(4 * width, 4 * width), nn.Conv2d(4 * width, classes, 1))

    def forward(self, image):
        x = self.stem(image)
        low = None
        for stage in self.stages:
            x = stage(x)
            low = x if low is None else low
        x = F.interpolate(self.pyramid(x), size=low.shape[-2:], mode="bilinear", align_corners=False)
        x = self.decode(torch.cat([x, self.low(low)], 1))
        return F.interpolate(x, size=image.shape[-2:], mode="bilinear", align_corners=False)


@model("segmentation")
def streets_through_holes(small):
    b, h, w, width, blocks = (2, 32, 64, 4, (1, 1, 1, 1)) if small else (4, 512, 1024, 64, (3, 4, 6, 3))
    labels = torch.randint(19, (b, h, w))
    labels[:, :2] = 255

    def hardest(out):
        each = F.cross_entropy(out, labels, ignore_index=255, reduction="none").flatten()
        return each.topk(each.numel() // 16, sorted=False)[0].mean()

    return StreetSegmenter(width, blocks, 19), (torch.randn(b, 3, h, w),), hardest


def lrelu_conv(cin, cout, stride=1, dilation=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, dilation, dilation), nn.LeakyReLU(0.1))


def backwarp(x, flow):
    h, w = x.shape[-2:]
    gy, gx = torch.meshgrid(torch.arange(h, device=x.device), torch.arange(w, device=x.device), indexing="ij")
    base = torch.stack([gx, gy]).to(flow.dtype)
    where = base + flow
    grid = torch.stack([2 * where[:, 0] / max(w - 1, 1) - 1, 2 * where[:, 1] / max(h - 1, 1) - 1], -1).to(x.dtype)
    mask = F.grid_sample(torch.ones_like(x[:, :1]), grid, align_corners=True)
    return F.grid_sample(x, grid, align_corners=True) * (mask > 0.999).to(x.dtype)


class CoarseToFineFlow(nn.Module):
    """Motion from the smallest picture of a pyramid up: warp the second by what is known so far, correlate nearby, correct."""

    def __init__(self, widths, reach=4):
        super().__init__()
        self.reach = reach
        self.pyramid = nn.ModuleList(
            nn.Sequential(lrelu_conv(a, b, 2), lrelu_conv(b, b), lrelu_conv(b, b)) for a, b in zip((3, *widths[:-1]), widths)
        )
        look = (2 * reach + 1) ** 2
        self.refine, self.head, self.up = nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        for i, width in enumerate(reversed(widths[1:])):
            cin = look + (0 if i == 0 else width + 4)
            dense = nn.ModuleList()
            for cout in (128, 128, 96, 64, 32):
                dense.append(lrelu_conv(cin, cout))
                cin += cout
            self.refine.append(dense)
            self.head.append(nn.Conv2d(cin, 2, 3, 1, 1))
            if width != widths[1]:
                self.up.append(nn.ModuleList([nn.ConvTranspose2d(2, 2, 4, 2, 1), nn.ConvTranspose2d(cin, 2, 4, 2, 1)]))
        self.context = nn.Sequential(
            lrelu_conv(cin, 128, 1, 1), lrelu_conv(128, 128, 1, 2), lrelu_conv(128, 128, 1, 4), lrelu_conv(128, 96, 1, 8),
            lrelu_conv(96, 64, 1, 16), nn.Conv2d(64, 2, 3, 1, 1))  # fmt: skip

    def correlate(self, one, two):
        b, c, h, w = two.shape
        near = F.unfold(two, 2 * self.reach + 1, padding=self.reach).view(b, c, -1, h, w)
        return F.leaky_relu((one.unsqueeze(2) * near).mean(1), 0.1)

    def forward(self, first, second):
        ones, twos = [], []
        for stage in self.pyramid:
            first, second = stage(first), stage(second)
            ones.append(first)
            twos.append(second)
        flows, flow, guide = [], None, None
        for i, (dense, head) in enumerate(zip(self.refine, self.head)):
            one, two = ones[-1 - i], twos[-1 - i]
            if flow is None:
                x = self.correlate(one, two)
            else:
                scale = 20.0 / 2 ** (len(self.pyramid) - i)
                x = torch.cat([self.correlate(one, backwarp(two, flow * scale)), one, flow, guide], 1)
            for conv in dense:
                x = torch.cat([conv(x), x], 1)
            delta = head(x)
            if i < len(self.up):
                flow, guide = self.up[i][0](delta), self.up[i][1](x)
            else:
                delta = delta + self.context(x)
            flows.append(delta)
        return flows


@model("optical flow")
def flow_from_coarse_to_fine(small):
    b, h, w, widths = (1, 32, 64, (4, 6, 8)) if small else (4, 384, 768, (16, 32, 64, 96, 128, 192))
    truth = torch.randn(b, 2, h, w) * 5

    def loss(flows):
        total = 0.0
        for weight, flow in zip((0.32, 0.08, 0.02, 0.01, 0.005), flows):
            goal = F.adaptive_avg_pool2d(truth / 20.0, flow.shape[-2:])
            total = total + weight * torch.linalg.vector_norm(flow.float() - goal, dim=1).sum((1, 2)).mean()
        return total

    return CoarseToFineFlow(widths), (torch.rand(b, 3, h, w), torch.rand(b, 3, h, w)), loss


class WindowBlock(nn.Module):
    def __init__(self, dim, heads, window, size):
        super().__init__()
        self.heads, self.window = heads, window
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))
        side = window or size
        self.rel_h, self.rel_w = (nn.Parameter(torch.randn(2 * side - 1, dim // heads) * 0.02) for _ in range(2))

    def attend(self, x):
        b, h, w, d = x.shape
        q, k, v = self.qkv(x).reshape(b, h * w, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        rq = q.reshape(b, self.heads, h, w, -1)
        step = torch.arange(h, device=x.device)
        where = step[:, None] - step[None, :] + h - 1
        bias_h = torch.einsum("bnhwc,hkc->bnhwk", rq, self.rel_h[where])
        bias_w = torch.einsum("bnhwc,wkc->bnhwk", rq, self.rel_w[where])
        bias = (bias_h.unsqueeze(-1) + bias_w.unsqueeze(-2)).reshape(b, self.heads, h * w, h * w)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        return self.proj(y.transpose(1, 2).reshape(b, h, w, d))

    def forward(self, x):
        y = self.norm1(x)
        if self.window:
            b, h, w, d = y.shape
            s = self.window
            y = y.view(b, h // s, s, w // s, s, d).transpose(2, 3).reshape(-1, s, s, d)
            y = self.attend(y).view(b, h // s, w // s, s, s, d).transpose(2, 3).reshape(b, h, w, d)
        else:
            y = self.attend(y)
        x = x + y
        return x + self.mlp(self.norm2(x))


class ChannelNorm(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(c, 1, 1)), nn.Parameter(torch.zeros(c, 1, 1))

    def forward(self, x):
        u = x.mean(1, keepdim=True)
        s = (x - u).pow(2).mean(1, keepdim=True)
        return (x - u) / torch.sqrt(s + 1e-6) * self.weight + self.bias


class CrossBlock(nn.Module):
    """Clicks ask the picture, then the picture asks the clicks."""

    def __init__(self, d, heads):
        super().__init__()
        self.own, self.ask, self.answer = (nn.MultiheadAttention(d, heads, batch_first=True) for _ in range(3))
        self.n1, self.n2, self.n3, self.n4 = (nn.LayerNorm(d) for _ in range(4))
        self.mlp = nn.Sequential(nn.Linear(d, 8 * d), nn.ReLU(), nn.Linear(8 * d, d))

    def forward(self, tokens, image, pe, image_pe):
        q = tokens + pe
        tokens = self.n1(tokens + self.own(q, q, tokens, need_weights=False)[0])
        tokens = self.n2(tokens + self.ask(tokens + pe, image + image_pe, image, need_weights=False)[0])
        tokens = self.n3(tokens + self.mlp(tokens))
        return tokens, self.n4(image + self.answer(image + image_pe, tokens + pe, tokens, need_weights=False)[0])


class ClickToMask(nn.Module):
    def __init__(self, size, dim, heads, depth, window, d, masks=4):
        super().__init__()
        self.side, self.masks = size // 16, masks
        self.patch = nn.Conv2d(3, dim, 16, 16)
        self.pos = nn.Parameter(torch.randn(1, self.side, self.side, dim) * 0.02)
        self.blocks = nn.ModuleList(WindowBlock(dim, heads, 0 if i % 3 == 2 else window, self.side) for i in range(depth))
        self.neck = nn.Sequential(
            nn.Conv2d(dim, d, 1, bias=False), ChannelNorm(d), nn.Conv2d(d, d, 3, padding=1, bias=False), ChannelNorm(d)
        )
        self.register_buffer("gauss", torch.randn(2, d // 2))
        self.kind, self.output = nn.Embedding(2, d), nn.Embedding(masks + 1, d)
        self.cross = nn.ModuleList(CrossBlock(d, 8) for _ in range(2))
        self.upscale = nn.Sequential(
            nn.ConvTranspose2d(d, d // 4, 2, 2), ChannelNorm(d // 4), nn.GELU(), nn.ConvTranspose2d(d // 4, d // 8, 2, 2), nn.GELU()
        )
        self.hyper = nn.ModuleList(
            nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d // 8)) for _ in range(masks)
        )
        self.quality = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, masks))

    def fourier(self, xy):
        angle = 2 * math.pi * ((2 * xy - 1) @ self.gauss.to(xy.dtype))
        return torch.cat([angle.sin(), angle.cos()], -1)

    def forward(self, image, clicks, signs):
        x = self.patch(image).permute(0, 2, 3, 1) + self.pos
        for block in self.blocks:
            x = block(x)
        x = self.neck(x.permute(0, 3, 1, 2))
        b, n = clicks.shape[:2]  # of each picture n prompts, each of a few clicks
        c, s = x.shape[1], self.side
        prompts = (self.fourier(clicks) + self.kind(signs)).flatten(0, 1)
        tokens = torch.cat([self.output.weight.expand(b * n, -1, -1), prompts], 1)
        at = (torch.arange(s, device=x.device, dtype=x.dtype) + 0.5) / s
        grid = torch.stack(torch.meshgrid(at, at, indexing="ij")[::-1], -1)
        image_pe = self.fourier(grid).flatten(0, 1).unsqueeze(0)
        seen = x.flatten(2).transpose(1, 2).repeat_interleave(n, 0)
        pe = tokens
        for block in self.cross:
            tokens, seen = block(tokens, seen, pe, image_pe)
        up = self.upscale(seen.transpose(1, 2).reshape(b * n, c, s, s))
        weights = torch.stack([mlp(tokens[:, i + 1]) for i, mlp in enumerate(self.hyper)], 1)
        masks = (weights @ up.flatten(2)).view(b, n, self.masks, 4 * s, 4 * s)
        quality = self.quality(tokens[:, 0]).view(b, n, -1)
        best = quality.argmax(-1)[..., None, None, None].expand(-1, -1, 1, 4 * s, 4 * s)
        chosen = masks.gather(2, best).squeeze(2)
        return F.interpolate(chosen, size=image.shape[-2:], mode="bilinear", align_corners=False) > 0, quality


@model("segmentation")
def masks_for_clicks(small):
    b, n, size, dim, heads, depth, window, d = (1, 2, 64, 16, 2, 3, 2, 16) if small else (2, 16, 1024, 384, 6, 12, 16, 256)
    net = ClickToMask(size, dim, heads, depth, window, d)
    return net, (torch.randn(b, 3, size, size), torch.rand(b, n, 3, 2), torch.randint(2, (b, n, 3))), None
