"""Seen and heard on the way: boxes as distributions, slow and fast paths, queries that follow, phases found by turns, words spotted."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class ConvAct(nn.Module):
    def __init__(self, a, b, k=1, s=1):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(a, b, k, s, k // 2, bias=False), nn.BatchNorm2d(b, 1e-3, 0.03)

    def forward(self, x):
        return F.silu(self.bn(self.conv(x)), inplace=True)


class Split(nn.Module):
    """Half of the channels through blocks, every block's result kept, all joined at the end."""

    def __init__(self, a, b, n, add):
        super().__init__()
        self.c, self.add = b // 2, add
        self.enter, self.leave = ConvAct(a, b), ConvAct((2 + n) * self.c, b)
        self.blocks = nn.ModuleList(nn.Sequential(ConvAct(self.c, self.c, 3), ConvAct(self.c, self.c, 3)) for _ in range(n))

    def forward(self, x):
        y = list(self.enter(x).split(self.c, 1))
        for block in self.blocks:
            y.append(y[-1] + block(y[-1]) if self.add else block(y[-1]))
        return self.leave(torch.cat(y, 1))


class Pooled(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b, self.pool = ConvAct(c, c // 2), ConvAct(2 * c, c), nn.MaxPool2d(5, 1, 2)

    def forward(self, x):
        y = [self.a(x)]
        for _ in range(3):
            y.append(self.pool(y[-1]))
        return self.b(torch.cat(y, 1))


class BoxesAsDistributions(nn.Module):
    """One look at a picture, three scales; each side of a box is a distribution over sixteen distances."""

    def __init__(self, c, n, classes, bins=16):
        super().__init__()
        self.bins, self.classes = bins, classes
        self.stem = nn.Sequential(ConvAct(3, c, 3, 2), ConvAct(c, 2 * c, 3, 2), Split(2 * c, 2 * c, n, True))
        self.p3 = nn.Sequential(ConvAct(2 * c, 4 * c, 3, 2), Split(4 * c, 4 * c, 2 * n, True))
        self.p4 = nn.Sequential(ConvAct(4 * c, 8 * c, 3, 2), Split(8 * c, 8 * c, 2 * n, True))
        self.p5 = nn.Sequential(ConvAct(8 * c, 16 * c, 3, 2), Split(16 * c, 16 * c, n, True), Pooled(16 * c))
        self.t4, self.t3 = Split(24 * c, 8 * c, n, False), Split(12 * c, 4 * c, n, False)
        self.d3, self.b4 = ConvAct(4 * c, 4 * c, 3, 2), Split(12 * c, 8 * c, n, False)
        self.d4, self.b5 = ConvAct(8 * c, 8 * c, 3, 2), Split(24 * c, 16 * c, n, False)
        self.box, self.cls = (
            nn.ModuleList(nn.Sequential(ConvAct(m * c, 4 * c, 3), ConvAct(4 * c, 4 * c, 3), nn.Conv2d(4 * c, out, 1)) for m in (4, 8, 16))
            for out in (4 * bins, classes)
        )
        self.register_buffer("values", torch.arange(bins, dtype=torch.float32))

    @staticmethod
    def anchors(maps):
        at, stride = [], []
        for i, m in enumerate(maps):
            h, w = m.shape[-2:]
            y, x = torch.meshgrid(torch.arange(h, device=m.device) + 0.5, torch.arange(w, device=m.device) + 0.5, indexing="ij")
            at.append(torch.stack([x, y], -1).view(-1, 2))
            stride.append(torch.full((h * w, 1), 8.0 * 2**i, device=m.device))
        return torch.cat(at), torch.cat(stride)

    def forward(self, x):
        p3 = self.p3(self.stem(x))
        p4 = self.p4(p3)
        p5 = self.p5(p4)
        t4 = self.t4(torch.cat([F.interpolate(p5, scale_factor=2.0), p4], 1))
        m3 = self.t3(torch.cat([F.interpolate(t4, scale_factor=2.0), p3], 1))
        m4 = self.b4(torch.cat([self.d3(m3), t4], 1))
        m5 = self.b5(torch.cat([self.d4(m4), p5], 1))
        maps = [m3, m4, m5]
        sides = torch.cat([f(m).flatten(2) for f, m in zip(self.box, maps)], 2).transpose(1, 2)
        scores = torch.cat([f(m).flatten(2) for f, m in zip(self.cls, maps)], 2).transpose(1, 2)
        at, stride = self.anchors(maps)
        sides = sides.unflatten(-1, (4, self.bins))
        a, b = (sides.float().softmax(-1) @ self.values.float()).chunk(2, -1)
        boxes = torch.cat([at - a, at + b], -1) * stride
        if self.training:
            return sides, scores, boxes, at, stride
        best, kind = scores.sigmoid().max(-1)
        top = best.topk(min(300, best.shape[1]), dim=1)
        return torch.take_along_dim(boxes, top.indices.unsqueeze(-1), 1), top.values, kind.gather(1, top.indices)


def overlap(a, b):
    """IoU less the empty share of the hull, and IoU: boxes as corners, broadcast."""
    wide = (torch.minimum(a[..., 2:], b[..., 2:]) - torch.maximum(a[..., :2], b[..., :2])).clamp(min=0)
    hull = torch.maximum(a[..., 2:], b[..., 2:]) - torch.minimum(a[..., :2], b[..., :2])
    inter, around = wide.prod(-1), hull.prod(-1).clamp_min(1e-6)
    union = (a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) - inter + 1e-6
    iou = inter / union
    return iou - (around - union) / around, iou


@model("detection")
def boxes_as_distributions(small):
    b, size, c, n, classes, objects = (1, 64, 4, 1, 3, 2) if small else (16, 512, 32, 1, 80, 24)
    corner = torch.rand(b, objects, 2) * size * 0.7
    truth = torch.cat([corner, corner + torch.rand(b, objects, 2) * size * 0.25 + 8], -1)
    label = torch.randint(classes, (b, objects))

    def loss(out):
        sides, scores, boxes, at, stride = out
        scores, sides = scores.float(), sides.float()
        with torch.no_grad():
            place = at * stride
            gaps = torch.cat([place[None, None] - truth[:, :, None, :2], truth[:, :, None, 2:] - place[None, None]], -1)
            inside = gaps.amin(-1) > 0
            _, iou = overlap(truth.unsqueeze(2), boxes.unsqueeze(1))
            of_class = scores.sigmoid().transpose(1, 2).gather(1, label.unsqueeze(-1).expand(-1, -1, scores.shape[1]))
            fit = of_class.sqrt() * iou.clamp(min=0) ** 6 * inside
            chosen = torch.zeros_like(fit).scatter_(2, fit.topk(10, dim=2).indices, 1.0) * inside
            many = (chosen.sum(1, keepdim=True) > 1) & (F.one_hot(iou.argmax(1), objects).transpose(1, 2) == 0)
            chosen = chosen.masked_fill(many, 0.0)
            taken, whose = chosen.max(1)
            norm = (fit * chosen / (fit * chosen).amax(2, keepdim=True).clamp_min(1e-9) * (iou * chosen).amax(2, keepdim=True)).amax(1)
            goal = F.one_hot(label.gather(1, whose), classes) * (norm * taken).unsqueeze(-1)
            mine = torch.take_along_dim(truth, whose.unsqueeze(-1), 1)
            total = goal.sum().clamp_min(1.0)
            far = torch.cat([at - mine[..., :2] / stride, mine[..., 2:] / stride - at], -1).clamp(0, 14.99)
            left = far.long()
        cls = F.binary_cross_entropy_with_logits(scores, goal, reduction="sum") / total
        weight = goal.sum(-1) * taken
        giou, _ = overlap(boxes, mine)
        box = ((1 - giou) * weight).sum() / total
        log = sides.log_softmax(-1)
        low, high = (-log.gather(-1, i.unsqueeze(-1)).squeeze(-1) for i in (left, left + 1))
        dfl = ((low * (left + 1 - far) + high * (far - left)).mean(-1) * weight).sum() / total
        return 0.5 * cls + 7.5 * box + 1.5 * dfl

    return BoxesAsDistributions(c, n, classes), (torch.rand(b, 3, size, size),), loss


class Bottle(nn.Module):
    def __init__(self, a, m, b, t, s):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv3d(a, m, (t, 1, 1), padding=(t // 2, 0, 0), bias=False), nn.BatchNorm3d(m), nn.ReLU(inplace=True),
            nn.Conv3d(m, m, (1, 3, 3), (1, s, s), (0, 1, 1), bias=False), nn.BatchNorm3d(m), nn.ReLU(inplace=True),
            nn.Conv3d(m, b, 1, bias=False), nn.BatchNorm3d(b),
        )  # fmt: skip
        self.skip = nn.Sequential(nn.Conv3d(a, b, 1, (1, s, s), bias=False), nn.BatchNorm3d(b)) if a != b or s > 1 else nn.Identity()

    def forward(self, x):
        return F.relu(self.net(x) + self.skip(x))


class SlowAndFast(nn.Module):
    """A few frames through a wide path, many through a narrow one that tells the wide one what moved."""

    def __init__(self, c, depths, every, ratio, classes):
        super().__init__()
        f, self.every = c // ratio, every

        def stem(out, t):
            return nn.Sequential(
                nn.Conv3d(3, out, (t, 7, 7), (1, 2, 2), (t // 2, 3, 3), bias=False), nn.BatchNorm3d(out), nn.ReLU(),
                nn.MaxPool3d((1, 3, 3), (1, 2, 2), (0, 1, 1)),
            )  # fmt: skip

        self.slow, self.fast, self.tell = nn.ModuleList([stem(c, 1)]), nn.ModuleList([stem(f, 5)]), nn.ModuleList()
        a, b = c, f
        for i, n in enumerate(depths):
            self.tell.append(nn.Conv3d(b, 2 * b, (5, 1, 1), (every, 1, 1), (2, 0, 0), bias=False))
            a, wide, thin = a + 2 * b, 4 * c * 2**i, 4 * f * 2**i
            for net, enter, out, t in ((self.slow, a, wide, 3 if i >= 2 else 1), (self.fast, b, thin, 3)):
                blocks = [Bottle(enter if j == 0 else out, out // 4, out, t, 2 if j == 0 and i else 1) for j in range(n)]
                net.append(nn.Sequential(*blocks))
            a, b = wide, thin
        self.drop, self.head = nn.Dropout(0.5), nn.Linear(a + b, classes)

    def forward(self, clip):
        slow, fast = clip[:, :, :: self.every], clip
        for i, (s, f) in enumerate(zip(self.slow, self.fast)):
            slow, fast = s(slow), f(fast)
            if i < len(self.tell):
                slow = torch.cat([slow, self.tell[i](fast)], 1)
        return self.head(self.drop(torch.cat([slow.mean((2, 3, 4)), fast.mean((2, 3, 4))], 1)))


@model("video")
def slow_and_fast_paths(small):
    b, t, size, c, depths, every, ratio, classes = (1, 8, 32, 16, (1, 1), 4, 4, 5) if small else (8, 32, 160, 64, (2, 3, 3, 2), 8, 8, 400)
    y = torch.randint(classes, (b,))
    return SlowAndFast(c, depths, every, ratio, classes), (torch.randn(b, 3, t, size, size),), lambda out: F.cross_entropy(out, y)


class Follower(nn.Module):
    """Queries that found somebody go on into the next frame with what they know; the others begin anew."""

    def __init__(self, patch, d, heads, layers, queries, size):
        super().__init__()
        self.patch, cells = nn.Conv2d(3, d, patch, patch), (size // patch) ** 2
        self.pos = nn.Parameter(torch.randn(1, cells, d) * 0.02)
        enc = nn.TransformerEncoderLayer(d, heads, 4 * d, 0.0, F.gelu, batch_first=True, norm_first=True)
        dec = nn.TransformerDecoderLayer(d, heads, 4 * d, 0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(enc, layers, enable_nested_tensor=False)
        self.decoder = nn.TransformerDecoder(dec, layers)
        self.fresh, self.where = nn.Parameter(torch.randn(queries, d)), nn.Parameter(torch.randn(queries, 4))
        self.point = nn.Sequential(nn.Linear(4, d), nn.ReLU(), nn.Linear(d, d))
        self.update = nn.MultiheadAttention(d, heads, batch_first=True)
        self.ff, self.n1, self.n2 = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d)), nn.LayerNorm(d), nn.LayerNorm(d)
        self.box, self.there = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 4)), nn.Linear(d, 1)

    def forward(self, frames):
        b, t = frames.shape[:2]
        seen = self.patch(frames.flatten(0, 1)).flatten(2).transpose(1, 2)
        seen = self.encoder(seen + self.pos).unflatten(0, (b, t))
        query, where = self.fresh.expand(b, -1, -1), self.where.expand(b, -1, -1)
        boxes, scores = [], []
        for i in range(t):
            y = self.decoder(query + self.point(torch.sigmoid(where)), seen[:, i])
            where = where + self.box(y)
            score = self.there(y)
            boxes.append(torch.sigmoid(where))
            scores.append(score.squeeze(-1))
            moved, _ = self.update(y + query, y + query, y, need_weights=False)
            kept = self.n1(y + moved)
            kept = self.n2(kept + self.ff(kept))
            sure = torch.sigmoid(score) > 0.5
            query = torch.where(sure, kept.to(query.dtype), self.fresh)
            where = torch.where(sure, where.detach(), self.where)
        return torch.stack(boxes, 1), torch.stack(scores, 1)


@model("tracking")
def queries_that_follow(small):
    b, t, size, patch, d, heads, layers, queries = (1, 2, 32, 16, 16, 2, 1, 3) if small else (4, 5, 448, 16, 256, 8, 4, 128)
    goal, there = torch.rand(b, t, queries, 4), (torch.rand(b, t, queries) < 0.2).float()

    def loss(out):
        boxes, scores = out
        return 5 * ((boxes - goal).abs().mean(-1) * there).mean() + F.binary_cross_entropy_with_logits(scores, there)

    return Follower(patch, d, heads, layers, queries, size), (torch.rand(b, t, 3, size, size),), loss


@model("audio", half=False)
def phases_found_by_turns(small):
    """A sound from the sizes of its spectrum alone: to a wave and back, again and again, keeping the phases, with momentum."""
    b, frames, n, hop, rounds = (2, 6, 32, 8, 2) if small else (24, 384, 1024, 256, 10)

    def wave(spectrum, window):
        parts = torch.fft.irfft(spectrum, n, dim=1) * window[:, None]
        length = n + hop * (spectrum.shape[2] - 1)
        total = F.fold(parts, (1, length), (1, n), stride=(1, hop)).flatten(1)
        power = F.fold((window**2)[None, :, None].expand(1, n, spectrum.shape[2]), (1, length), (1, n), stride=(1, hop)).flatten(1)
        return total / power.clamp_min(1e-8)

    def find(mel, inverse, window, phase):
        size = (inverse @ mel.exp()).clamp_min(1e-5)
        angle, before = torch.polar(torch.ones_like(phase), phase), torch.zeros_like(size)
        for _ in range(rounds):
            rebuilt = torch.stft(wave(size * angle, window), n, hop, n, window, center=False, return_complex=True)
            turned = rebuilt - 0.99 / 1.99 * before
            angle, before = turned / turned.abs().clamp_min(1e-12), rebuilt
        return wave(size * angle, window)[:, n // 2 : -(n // 2)]

    bins = n // 2 + 1
    inputs = torch.randn(b, 80, frames), torch.rand(bins, 80) / 80, torch.hann_window(n), torch.rand(b, bins, frames) * 6.28
    return find, inputs, None


class BandNorm(nn.Module):
    """A batch norm with statistics of its own for each band of frequencies."""

    def __init__(self, c, bands):
        super().__init__()
        self.bands, self.bn = bands, nn.BatchNorm2d(c * bands)

    def forward(self, x):
        b, c, f, t = x.shape
        return self.bn(x.reshape(b, c * self.bands, f // self.bands, t)).view(b, c, f, t)


class Broadcast(nn.Module):
    """Frequencies convolved apart, then their mean over time, broadcast back over all of them."""

    def __init__(self, a, b, s, dilation, bands):
        super().__init__()
        self.change = nn.Sequential(nn.Conv2d(a, b, 1, bias=False), nn.BatchNorm2d(b), nn.ReLU()) if a != b else None
        self.freq = nn.Conv2d(b, b, (3, 1), (s, 1), (1, 0), groups=b, bias=False)
        self.norm = BandNorm(b, bands)
        self.time = nn.Conv2d(b, b, (1, 3), padding=(0, dilation), dilation=(1, dilation), groups=b, bias=False)
        self.bn, self.mix, self.drop = nn.BatchNorm2d(b), nn.Conv2d(b, b, 1, bias=False), nn.Dropout2d(0.1)

    def forward(self, x):
        y = self.norm(self.freq(self.change(x) if self.change else x))
        z = self.drop(self.mix(F.silu(self.bn(self.time(y.mean(2, keepdim=True))))))
        return F.relu(y + z if self.change else x + y + z)


class Spotter(nn.Module):
    def __init__(self, c, depths, bands, words):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, 2 * c, 5, (2, 1), 2, bias=False), nn.BatchNorm2d(2 * c), nn.ReLU())
        layers, a = [], 2 * c
        for i, (n, m) in enumerate(zip(depths, (1, 1.5, 2, 2.5))):
            for j in range(n):
                layers.append(Broadcast(a, int(m * c), 2 if j == 0 and i in (1, 2) else 1, 2**i, bands))
                a = int(m * c)
        self.blocks = nn.Sequential(*layers)
        self.last, self.head = nn.Conv2d(a, a, 5, padding=(0, 2), groups=a, bias=False), nn.Conv2d(a, 4 * c, 1)
        self.out = nn.Conv2d(4 * c, words, 1)

    def forward(self, mel):
        if self.training:  # a stripe of time and one of frequencies are blanked
            t, f = torch.rand(2, len(mel), 1, 1, 1, device=mel.device)
            time = torch.linspace(0, 1, mel.shape[3], device=mel.device).view(1, 1, 1, -1)
            band = torch.linspace(0, 1, mel.shape[2], device=mel.device).view(1, 1, -1, 1)
            mel = mel.masked_fill(((time - t).abs() < 0.08) | ((band - f).abs() < 0.06), 0.0)
        x = self.head(self.last(self.blocks(self.stem(mel))))
        return self.out(F.relu(x).mean(3, keepdim=True)).flatten(1)


@model("audio")
def words_spotted_by_bands(small):
    b, c, depths, bands, words, frames = (2, 8, (1, 1, 1, 1), 5, 4, 12) if small else (256, 64, (2, 2, 4, 4), 5, 35, 101)
    y = torch.randint(words, (b,))
    net = Spotter(c, depths, bands, words)
    return net, (torch.randn(b, 1, 40, frames),), lambda out: F.cross_entropy(out, y, label_smoothing=0.1)
