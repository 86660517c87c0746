"""Images and video: segmentation, restoration, detection with NMS, tracking, flow."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def double(a, b):
    return nn.Sequential(
        nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
        nn.Conv2d(b, b, 3, padding=1, bias=False), nn.BatchNorm2d(b), nn.ReLU(inplace=True),
    )  # fmt: skip


class UNet(nn.Module):
    def __init__(self, widths, number):
        super().__init__()
        self.down = nn.ModuleList(double(a, b) for a, b in zip((3, *widths), widths))
        pairs = list(zip(widths[::-1], widths[-2::-1]))
        self.grow = nn.ModuleList(nn.ConvTranspose2d(a, b, 2, 2) for a, b in pairs)
        self.up = nn.ModuleList(double(2 * b, b) for _, b in pairs)
        self.out = nn.Conv2d(widths[0], number, 1)

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        skips.pop()
        for grow, block in zip(self.grow, self.up):
            x = block(torch.cat([skips.pop(), grow(x)], dim=1))
        return self.out(x)


@model("U-Net")
def unet_segmentation(small):
    batch, size, widths = (1, 16, (4, 8)) if small else (8, 256, (48, 96, 192, 384))
    target = torch.randint(5, (batch, size, size))

    def loss(out):
        p = out.softmax(1)[:, 1:]
        truth = F.one_hot(target, 5).permute(0, 3, 1, 2)[:, 1:]
        dice = 1 - (2 * (p * truth).sum((2, 3)) + 1) / (p.sum((2, 3)) + truth.sum((2, 3)) + 1)
        return F.cross_entropy(out, target) + dice.mean()

    return UNet(widths, 5), (torch.randn(batch, 3, size, size),), loss


class VolumeUNet(nn.Module):
    """3-D, instance-normed, leaky: as medical segmentation does it."""

    def __init__(self, w):
        super().__init__()

        def conv(a, b, stride=1):
            return nn.Sequential(nn.Conv3d(a, b, 3, stride, 1), nn.InstanceNorm3d(b, affine=True), nn.LeakyReLU(0.01, inplace=True))

        self.d1, self.d2, self.d3 = (nn.Sequential(conv(a, b, s), conv(b, b)) for a, b, s in ((1, w, 1), (w, 2 * w, 2), (2 * w, 4 * w, 2)))
        self.t2, self.t1 = nn.ConvTranspose3d(4 * w, 2 * w, 2, 2), nn.ConvTranspose3d(2 * w, w, 2, 2)
        self.u2, self.u1 = nn.Sequential(conv(4 * w, 2 * w), conv(2 * w, 2 * w)), nn.Sequential(conv(2 * w, w), conv(w, w))
        self.out = nn.Conv3d(w, 4, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.d2(a)
        y = self.u2(torch.cat((self.t2(self.d3(b)), b), 1))
        return self.out(self.u1(torch.cat((self.t1(y), a), 1)))


@model("U-Net")
def volume_unet(small):
    batch, size, width = (1, 8, 4) if small else (2, 64, 32)
    target = torch.randint(4, (batch, size, size, size))
    return VolumeUNet(width), (torch.randn(batch, 1, size, size, size),), lambda out: F.cross_entropy(out, target)


class ChannelAttentionBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(width, width, 3, 1, 1), nn.ReLU(True), nn.Conv2d(width, width, 3, 1, 1))
        self.gate = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(width, width // 8, 1), nn.ReLU(True), nn.Conv2d(width // 8, width, 1), nn.Sigmoid()
        )

    def forward(self, x):
        y = self.body(x)
        return x + y * self.gate(y)


class SuperResolution(nn.Module):
    def __init__(self, width, blocks):
        super().__init__()
        self.enter = nn.Conv2d(3, width, 3, 1, 1)
        self.body = nn.Sequential(*(ChannelAttentionBlock(width) for _ in range(blocks)), nn.Conv2d(width, width, 3, 1, 1))
        self.up = nn.Sequential(
            nn.Conv2d(width, 4 * width, 3, 1, 1), nn.PixelShuffle(2), nn.Conv2d(width, 4 * width, 3, 1, 1), nn.PixelShuffle(2)
        )
        self.leave = nn.Conv2d(width, 3, 3, 1, 1)

    def forward(self, x):
        y = self.enter(x)
        y = y + self.body(y)
        return self.leave(self.up(y)) + F.interpolate(x, scale_factor=4, mode="bicubic", align_corners=False)


@model("super-resolution")
def super_resolution(small):
    batch, size, width, blocks = (1, 8, 8, 1) if small else (8, 64, 64, 12)
    target = torch.rand(batch, 3, 4 * size, 4 * size)
    return SuperResolution(width, blocks), (torch.rand(batch, 3, size, size),), lambda out: F.l1_loss(out, target)


class SimpleGateBlock(nn.Module):
    """Layer norm over channels written by hand, depthwise, a product of halves as the gate."""

    def __init__(self, c):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.ones(1, c, 1, 1)), nn.Parameter(torch.zeros(1, c, 1, 1))
        self.conv1, self.conv2, self.conv3 = nn.Conv2d(c, 2 * c, 1), nn.Conv2d(2 * c, 2 * c, 3, padding=1, groups=2 * c), nn.Conv2d(c, c, 1)
        self.sca = nn.Conv2d(c, c, 1)
        self.conv4, self.conv5 = nn.Conv2d(c, 2 * c, 1), nn.Conv2d(c, c, 1)
        self.beta, self.gamma = nn.Parameter(torch.ones(1, c, 1, 1) * 0.1), nn.Parameter(torch.ones(1, c, 1, 1) * 0.1)

    def norm(self, x):
        mu = x.mean(1, keepdim=True)
        var = (x - mu).pow(2).mean(1, keepdim=True)
        return (x - mu) / (var + 1e-6).sqrt() * self.scale + self.shift

    def forward(self, x):
        a, b = self.conv2(self.conv1(self.norm(x))).chunk(2, 1)
        y = a * b
        y = self.conv3(y * self.sca(F.adaptive_avg_pool2d(y, 1)))
        x = x + y * self.beta
        a, b = self.conv4(self.norm(x)).chunk(2, 1)
        return x + self.conv5(a * b) * self.gamma


@model("super-resolution")
def image_denoiser(small):
    batch, size, width, blocks = (1, 8, 8, 1) if small else (2, 256, 48, 8)
    clean = torch.rand(batch, 3, size, size)
    net = nn.Sequential(
        nn.Conv2d(3, width, 3, padding=1), *(SimpleGateBlock(width) for _ in range(blocks)), nn.Conv2d(width, 3, 3, padding=1)
    )
    return net, (torch.rand(batch, 3, size, size),), lambda out: -10 * torch.log10(1 / (F.mse_loss(out, clean) + 1e-8))


def factored(a, b, stride=1):
    middle = int(27 * a * b / (9 * a + 3 * b))
    return nn.Sequential(
        nn.Conv3d(a, middle, (1, 3, 3), (1, stride, stride), (0, 1, 1), bias=False), nn.BatchNorm3d(middle), nn.ReLU(inplace=True),
        nn.Conv3d(middle, b, (3, 1, 1), (stride, 1, 1), (1, 0, 0), bias=False), nn.BatchNorm3d(b),
    )  # fmt: skip


class VideoBlock(nn.Module):
    def __init__(self, a, b, stride):
        super().__init__()
        self.one, self.two = factored(a, b, stride), factored(b, b)
        self.short = nn.Identity() if a == b and stride == 1 else nn.Sequential(nn.Conv3d(a, b, 1, stride, bias=False), nn.BatchNorm3d(b))

    def forward(self, x):
        return F.relu(self.two(F.relu(self.one(x))) + self.short(x))


@model("video")
def factored_video_network(small):
    batch, frames, size, width = (1, 4, 16, 8) if small else (4, 16, 112, 48)
    target = torch.randint(101, (batch,))
    net = nn.Sequential(
        nn.Conv3d(3, width, (1, 7, 7), (1, 2, 2), (0, 3, 3), bias=False), nn.BatchNorm3d(width), nn.ReLU(inplace=True),
        VideoBlock(width, width, 1), VideoBlock(width, 2 * width, 2), VideoBlock(2 * width, 4 * width, 2),
        nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(4 * width, 101),
    )  # fmt: skip
    return net, (torch.randn(batch, 3, frames, size, size),), lambda out: F.cross_entropy(out, target)


class DividedAttention(nn.Module):
    """Over time first, then over space, in each block."""

    def __init__(self, width, heads, blocks, patches, frames):
        super().__init__()
        self.embed = nn.Conv2d(3, width, 16, 16)
        self.space = nn.Parameter(torch.randn(1, 1, patches, width) * 0.02)
        self.time = nn.Parameter(torch.randn(1, frames, 1, width) * 0.02)
        self.heads = heads
        names = ("nt", "ns", "nm")
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {name: nn.LayerNorm(width) for name in names}
                | {
                    "qt": nn.Linear(width, 3 * width),
                    "qs": nn.Linear(width, 3 * width),
                    "ot": nn.Linear(width, width),
                    "os": nn.Linear(width, width),
                }
                | {"m1": nn.Linear(width, 4 * width), "m2": nn.Linear(4 * width, width)}
            )
            for _ in range(blocks)
        )
        self.out = nn.Linear(width, 400)

    def attend(self, x, qkv, out):
        q, k, v = qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))

    def forward(self, clip):
        b, t = clip.shape[:2]
        x = self.embed(clip.flatten(0, 1)).flatten(2).transpose(1, 2)
        n, d = x.shape[1:]
        x = x.view(b, t, n, d) + self.space + self.time
        for block in self.blocks:
            y = block["nt"](x).transpose(1, 2).reshape(b * n, t, d)
            x = x + self.attend(y, block["qt"], block["ot"]).view(b, n, t, d).transpose(1, 2)
            y = block["ns"](x).reshape(b * t, n, d)
            x = x + self.attend(y, block["qs"], block["os"]).view(b, t, n, d)
            x = x + block["m2"](F.gelu(block["m1"](block["nm"](x))))
        return self.out(x.mean((1, 2)))


@model("video")
def divided_video_attention(small):
    batch, frames, size, width, blocks = (1, 2, 32, 32, 1) if small else (4, 8, 224, 384, 6)
    target = torch.randint(400, (batch,))
    net = DividedAttention(width, 4 if small else 6, blocks, (size // 16) ** 2, frames)
    return net, (torch.randn(batch, frames, 3, size, size),), lambda out: F.cross_entropy(out, target)


class Detector(nn.Module):
    """One scale, anchors, and its post-processing: top-k, decode, NMS per image."""

    def __init__(self, width, number, keep):
        super().__init__()
        layers, before = [], 3
        for w in (width, 2 * width, 4 * width, 8 * width):
            layers += [nn.Conv2d(before, w, 3, 2, 1, bias=False), nn.BatchNorm2d(w), nn.SiLU(), nn.Conv2d(w, w, 3, 1, 1), nn.SiLU()]
            before = w
        self.body = nn.Sequential(*layers)
        self.boxes, self.scores = nn.Conv2d(before, 4, 1), nn.Conv2d(before, number, 1)
        self.keep = keep

    def forward(self, images):
        from torchvision.ops import batched_nms  # here: only this model needs it

        x = self.body(images)
        deltas, scores = self.boxes(x).flatten(2).transpose(1, 2), self.scores(x).flatten(2).transpose(1, 2).sigmoid()
        height, width = x.shape[2:]
        ys, xs = torch.meshgrid(torch.arange(height, device=x.device), torch.arange(width, device=x.device), indexing="ij")
        centres = (torch.stack([xs, ys], -1).view(-1, 2) + 0.5).to(x.dtype) * 16
        best, labels = scores.max(-1)
        found = []
        for score, label, delta in zip(best, labels, deltas):
            top, index = score.topk(self.keep)
            middle, size = centres[index] + delta[index, :2] * 16, delta[index, 2:].clamp(max=4).exp() * 32
            box = torch.cat([middle - size / 2, middle + size / 2], 1)
            kept = batched_nms(box.float(), top.float(), label[index], 0.5)[:100]
            found.append((box[kept], top[kept]))
        return found


@model("detection")
def detector_with_nms(small):
    batch, size, width, keep = (2, 64, 4, 8) if small else (8, 512, 32, 512)
    return Detector(width, 80, keep), (torch.randn(batch, 3, size, size),), None


class DenseDetector(nn.Module):
    """Anchor-free with three levels and the losses inside: focal, and generalised IoU where a pixel has an object."""

    def __init__(self, width, number):
        super().__init__()
        self.stages = nn.ModuleList(
            nn.Sequential(nn.Conv2d(a, b, 3, 2, 1), nn.GroupNorm(8, b), nn.ReLU(), nn.Conv2d(b, b, 3, 1, 1), nn.GroupNorm(8, b), nn.ReLU())
            for a, b in ((3, width), (width, width), (width, 2 * width), (2 * width, 4 * width), (4 * width, 8 * width))
        )
        self.lateral = nn.ModuleList(nn.Conv2d(w * width, 128, 1) for w in (2, 4, 8))
        tower = [m for _ in range(3) for m in (nn.Conv2d(128, 128, 3, 1, 1), nn.GroupNorm(32, 128), nn.ReLU())]
        self.tower = nn.Sequential(*tower)
        self.classes, self.sides = nn.Conv2d(128, number, 3, 1, 1), nn.Conv2d(128, 4, 3, 1, 1)

    def forward(self, images, labels, boxes):
        levels, x = [], images
        for i, stage in enumerate(self.stages):
            x = stage(x)
            if i > 1:
                levels.append(x)
        p = [lateral(level) for lateral, level in zip(self.lateral, levels)]
        for i in (1, 0):
            p[i] = p[i] + F.interpolate(p[i + 1], size=p[i].shape[-2:], mode="nearest")
        towers = [self.tower(level) for level in p]
        logits = torch.cat([self.classes(t).flatten(2) for t in towers], 2).transpose(1, 2)
        sides = torch.cat([F.softplus(self.sides(t)).flatten(2) for t in towers], 2).transpose(1, 2)
        truth = F.one_hot(labels, logits.shape[-1] + 1)[..., 1:].to(logits.dtype)
        probability = logits.sigmoid()
        away = probability * (1 - truth) + (1 - probability) * truth
        focal = (F.binary_cross_entropy_with_logits(logits, truth, reduction="none") * away**2).sum()
        positive = (labels > 0).to(sides.dtype)
        inner, outer = torch.minimum(sides, boxes), torch.maximum(sides, boxes)

        def area(s):
            return (s[..., 0] + s[..., 2]) * (s[..., 1] + s[..., 3])

        union = area(sides) + area(boxes) - area(inner)
        giou = area(inner) / union - (area(outer) - union) / area(outer)
        return focal / positive.sum().clamp(min=1) + ((1 - giou) * positive).sum() / positive.sum().clamp(min=1)


@model("detection")
def dense_detector_losses(small):
    batch, size, width = (1, 64, 8) if small else (8, 384, 32)
    places = sum((size // s) ** 2 for s in (8, 16, 32))
    inputs = torch.randn(batch, 3, size, size), torch.randint(21, (batch, places)), torch.rand(batch, places, 4) + 0.1
    return DenseDetector(width, 20), inputs, lambda out: out


def overlaps(a, b):
    low, high = torch.max(a[:, None, :2], b[None, :, :2]), torch.min(a[:, None, 2:], b[None, :, 2:])
    inner = (high - low).clamp(min=0).prod(2)
    areas = [(boxes[:, 2:] - boxes[:, :2]).prod(1) for boxes in (a, b)]
    return inner / (areas[0][:, None] + areas[1][None] - inner)


class Tracker(nn.Module):
    """Kalman-predicted boxes of a crowd, matched greedily to detections by IoU and appearance, frame after frame."""

    def __init__(self, width, rounds):
        super().__init__()
        self.appearance = nn.Sequential(nn.Linear(256, width), nn.ReLU(), nn.Linear(width, 128))
        self.rounds = rounds

    def forward(self, frames, features):
        boxes, velocity, looks = frames[0], torch.zeros_like(frames[0]), F.normalize(self.appearance(features[0]), dim=1)
        for detections, seen in zip(frames[1:], features[1:]):
            predicted = boxes + velocity
            seen = F.normalize(self.appearance(seen), dim=1)
            score = overlaps(predicted.float(), detections.float()) + (looks @ seen.t()).float()
            match = torch.full((len(boxes),), -1, device=boxes.device)
            for _ in range(self.rounds):
                best, column = score.max(1)
                row = best.argmax()
                match[row] = column[row]
                score[row, :] = -9
                score[:, column[row]] = -9
            found = (match >= 0).unsqueeze(1)
            chosen = detections[match.clamp(min=0)]
            velocity = torch.where(found, 0.7 * velocity + 0.3 * (chosen - boxes), velocity)
            boxes = torch.where(found, chosen, predicted)
            looks = torch.where(found, F.normalize(0.9 * looks + 0.1 * seen[match.clamp(min=0)], dim=1), looks)
        return boxes


@model("tracking")
def greedy_tracker(small):
    frames, objects, rounds = (3, 6, 3) if small else (12, 200, 24)
    corner = torch.rand(frames, objects, 2) * 500
    boxes = torch.cat([corner, corner + torch.rand(frames, objects, 2) * 80 + 4], -1)
    return Tracker(512, rounds), (boxes, torch.randn(frames, objects, 256)), None


class Flow(nn.Module):
    """All-pairs correlation once, then a recurrent cell that looks it up around its own estimate."""

    def __init__(self, width, steps, radius=3):
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3), nn.InstanceNorm2d(64), nn.ReLU(), nn.Conv2d(64, 96, 3, 2, 1), nn.InstanceNorm2d(96), nn.ReLU(),
            nn.Conv2d(96, width, 3, 2, 1),
        )  # fmt: skip
        self.look = nn.Conv2d((2 * radius + 1) ** 2 + 2, width, 3, padding=1)
        self.zr, self.q = nn.Conv2d(2 * width, 2 * width, 3, padding=1), nn.Conv2d(2 * width, width, 3, padding=1)
        self.delta = nn.Conv2d(width, 2, 3, padding=1)
        self.steps, self.radius = steps, radius

    def forward(self, a, b):
        fa, fb = self.encoder(a), self.encoder(b)
        n, c, h, w = fa.shape
        volume = torch.einsum("nci,ncj->nij", fa.flatten(2), fb.flatten(2)).view(n * h * w, 1, h, w) / c**0.5
        ys, xs = torch.meshgrid(torch.arange(h, device=a.device), torch.arange(w, device=a.device), indexing="ij")
        base = torch.stack([xs, ys], 0).to(a.dtype).unsqueeze(0)
        r = torch.arange(-self.radius, self.radius + 1, device=a.device, dtype=a.dtype)
        window = torch.stack(torch.meshgrid(r, r, indexing="xy"), -1).view(1, len(r), len(r), 2)
        scale = torch.tensor([w - 1, h - 1], device=a.device, dtype=a.dtype)
        flow, state, flows = torch.zeros_like(fa[:, :2]), torch.tanh(fa), []
        for _ in range(self.steps):
            flow = flow.detach()
            place = (base + flow).permute(0, 2, 3, 1).reshape(n * h * w, 1, 1, 2) + window
            sampled = F.grid_sample(volume, 2 * place / scale - 1, align_corners=True).view(n, h, w, -1).permute(0, 3, 1, 2)
            x = F.relu(self.look(torch.cat([sampled, flow], 1)))
            z, reset = torch.sigmoid(self.zr(torch.cat([state, x], 1))).chunk(2, 1)
            state = (1 - z) * state + z * torch.tanh(self.q(torch.cat([reset * state, x], 1)))
            flow = flow + self.delta(state)
            flows.append(flow)
        return torch.stack(flows)


@model("video")
def recurrent_flow(small):
    batch, size, width, steps = (1, 32, 16, 2) if small else (2, 256, 128, 8)
    inputs = torch.rand(batch, 3, size, size), torch.rand(batch, 3, size, size)
    return Flow(width, steps), inputs, lambda out: sum(0.8 ** (len(out) - i) * f.abs().mean() for i, f in enumerate(out))
