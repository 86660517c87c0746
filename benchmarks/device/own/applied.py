"""Nets at work: hearts, fields, parcels, prices, proteins, parts lists. Written the way a team's repository has them."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class SqueezeBlock1d(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv1d(cin, cout, 15, stride=stride, padding=7, bias=False)
        self.bn1 = nn.BatchNorm1d(cout)
        self.conv2 = nn.Conv1d(cout, cout, 15, padding=7, bias=False)
        self.bn2 = nn.BatchNorm1d(cout)
        self.fc1, self.fc2 = nn.Linear(cout, cout // 8), nn.Linear(cout // 8, cout)
        self.short = nn.Conv1d(cin, cout, 1, stride=stride) if stride > 1 or cin != cout else nn.Identity()
        self.drop = nn.Dropout(0.2)

    def forward(self, x):
        out = self.drop(F.relu(self.bn1(self.conv1(x))))
        out = self.bn2(self.conv2(out))
        weights = torch.sigmoid(self.fc2(F.relu(self.fc1(out.mean(-1)))))
        return F.relu(out * weights.unsqueeze(-1) + self.short(x))


@model("signals")
def ecg_classifier(small):
    """Twelve leads, ten seconds, 27 diagnoses."""
    batch, length, widths = (2, 256, (8, 16)) if small else (64, 5000, (64, 96, 128, 192, 256))
    layers, last = [], 12
    for width in widths:
        layers += [SqueezeBlock1d(last, width, 2), SqueezeBlock1d(width, width, 1)]
        last = width
    net = nn.Sequential(*layers, nn.AdaptiveMaxPool1d(1), nn.Flatten(), nn.Linear(last, 27))
    target = (torch.rand(batch, 27) > 0.9).float()
    return net, (torch.randn(batch, 12, length),), lambda out: F.binary_cross_entropy_with_logits(out, target)


class ChangeDetector(nn.Module):
    """Two dates of one field through the same encoder; the decoder sees the differences."""

    def __init__(self, widths):
        super().__init__()
        self.stages = nn.ModuleList()
        last = 4
        for w in widths:
            self.stages.append(nn.Sequential(
                nn.Conv2d(last, w, 3, stride=2, padding=1), nn.GroupNorm(8, w), nn.GELU(),
                nn.Conv2d(w, w, 3, padding=1), nn.GroupNorm(8, w), nn.GELU()))  # fmt: skip
            last = w
        self.lateral = nn.ModuleList(nn.Conv2d(w, 64, 1) for w in widths)
        self.smooth = nn.Conv2d(64, 64, 3, padding=1)
        self.head = nn.Conv2d(64, 1, 1)

    def encode(self, x):
        out = []
        for stage in self.stages:
            x = stage(x)
            out.append(x)
        return out

    def forward(self, before, after):
        differences = [torch.abs(a - b) for a, b in zip(self.encode(before), self.encode(after))]
        y = self.lateral[-1](differences[-1])
        for i in range(len(differences) - 2, -1, -1):
            d = self.lateral[i](differences[i])
            y = d + F.interpolate(y, size=d.shape[-2:], mode="nearest")
        y = F.gelu(self.smooth(y))
        return F.interpolate(self.head(y), scale_factor=2, mode="bilinear", align_corners=False)


@model("satellite")
def field_change_detector(small):
    batch, size, widths = (1, 32, (8, 16)) if small else (8, 256, (64, 128, 256, 512))
    target = (torch.rand(batch, 1, size, size) > 0.95).float()

    def loss(out):
        p = torch.sigmoid(out)
        focal = -(target * (1 - p) ** 2 * F.logsigmoid(out) + 0.25 * (1 - target) * p**2 * F.logsigmoid(-out))
        return focal.mean()

    return ChangeDetector(widths), (torch.randn(batch, 4, size, size), torch.randn(batch, 4, size, size)), loss


class GatedResidual(nn.Module):
    def __init__(self, width, out=None, context=0):
        super().__init__()
        out = out or width
        self.a, self.b = nn.Linear(width, width), nn.Linear(width, out)
        self.c = nn.Linear(context, width, bias=False) if context else None
        self.gate = nn.Linear(out, 2 * out)
        self.skip = nn.Linear(width, out) if out != width else nn.Identity()
        self.norm = nn.LayerNorm(out)

    def forward(self, x, context=None):
        h = self.a(x)
        if context is not None:
            h = h + self.c(context)
        h = self.b(F.elu(h))
        return self.norm(self.skip(x) + F.glu(self.gate(h), -1))


class DemandForecaster(nn.Module):
    """Selects its variables, then an LSTM, then attention; quantiles come out."""

    def __init__(self, variables, width, horizon):
        super().__init__()
        self.each = nn.ModuleList(nn.Linear(1, width) for _ in range(variables))
        self.grn = nn.ModuleList(GatedResidual(width) for _ in range(variables))
        self.choose = GatedResidual(variables * width, variables)
        self.lstm = nn.LSTM(width, width, 2, batch_first=True, dropout=0.1)
        self.gate = GatedResidual(width)
        self.attention = nn.MultiheadAttention(width, 4, dropout=0.1, batch_first=True)
        self.after = GatedResidual(width)
        self.out = nn.Linear(width, 3)
        self.horizon = horizon

    def forward(self, x):
        tokens = [net(x[..., i : i + 1]) for i, net in enumerate(self.each)]
        weights = torch.softmax(self.choose(torch.cat(tokens, -1)), -1)
        stacked = torch.stack([grn(t) for grn, t in zip(self.grn, tokens)], -1)
        h = (stacked * weights.unsqueeze(-2)).sum(-1)
        h = self.gate(self.lstm(h)[0] + h)
        mask = torch.triu(torch.ones(h.shape[1], h.shape[1], dtype=torch.bool, device=h.device), 1)
        a, _ = self.attention(h, h, h, attn_mask=mask, need_weights=False)
        return self.out(self.after(h + a)[:, -self.horizon :])


@model("forecasting")
def demand_quantiles(small):
    batch, steps, variables, width, horizon = (2, 12, 3, 16, 4) if small else (256, 168, 12, 128, 24)
    target = torch.randn(batch, horizon, 1)
    quantiles = torch.tensor([0.1, 0.5, 0.9])

    def loss(out):
        error = target - out
        return torch.maximum(quantiles * error, (quantiles - 1) * error).mean()

    return DemandForecaster(variables, width, horizon), (torch.randn(batch, steps, variables),), loss


class Hedger(nn.Module):
    """One small net asked again at every date, for all paths at once."""

    def __init__(self, width, steps):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))
        self.steps = steps

    def forward(self, prices):
        position = torch.zeros_like(prices[:, :1])
        wealth = torch.zeros_like(position)
        for t in range(self.steps):
            left = torch.full_like(position, 1 - t / self.steps)
            new = torch.tanh(self.net(torch.cat([prices[:, t : t + 1].log(), left, position], 1)))
            wealth = (
                wealth - 0.001 * (new - position).abs() * prices[:, t : t + 1] + new * (prices[:, t + 1 : t + 2] - prices[:, t : t + 1])
            )
            position = new
        return wealth - torch.clamp(prices[:, -1:] - 1, min=0)


@model("finance")
def hedging_over_time(small):
    paths, steps, width = (16, 4, 8) if small else (100_000, 30, 64)
    prices = (0.01 * torch.randn(paths, steps + 1)).cumsum(1).exp()
    return Hedger(width, steps), (prices,), lambda out: torch.logsumexp(-10 * out, 0).sum() / 10


class TriangleBlock(nn.Module):
    """Pairs of residues: products along the third side of each triangle, then attention along rows."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm, self.left, self.right = nn.LayerNorm(width), nn.Linear(width, width), nn.Linear(width, width)
        self.lgate, self.rgate, self.ogate = (nn.Linear(width, width) for _ in range(3))
        self.mid, self.out = nn.LayerNorm(width), nn.Linear(width, width)
        self.qkv, self.bias, self.proj = (
            nn.Linear(width, 3 * width, bias=False),
            nn.Linear(width, heads, bias=False),
            nn.Linear(width, width),
        )
        self.ff = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.ReLU(), nn.Linear(4 * width, width))
        self.heads = heads

    def forward(self, z):
        x = self.norm(z)
        a = torch.sigmoid(self.lgate(x)) * self.left(x)
        b = torch.sigmoid(self.rgate(x)) * self.right(x)
        z = z + torch.sigmoid(self.ogate(x)) * self.out(self.mid(torch.einsum("bikc,bjkc->bijc", a, b)))
        n, h = z.shape[1], self.heads
        q, k, v = self.qkv(z).view(*z.shape[:3], 3, h, -1).permute(3, 0, 1, 4, 2, 5)
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        scores = scores + self.bias(z).permute(0, 3, 1, 2).unsqueeze(1)
        y = (scores.softmax(-1) @ v).permute(0, 1, 3, 2, 4).reshape(z.shape[0], n, n, -1)
        z = z + self.proj(y)
        return z + self.ff(z)


@model("proteins")
def residue_pairs(small):
    batch, length, width, blocks = (1, 6, 8, 1) if small else (1, 192, 64, 3)
    target = torch.randint(64, (batch, length, length))
    net = nn.Sequential(*(TriangleBlock(width, 4) for _ in range(blocks)), nn.LayerNorm(width), nn.Linear(width, 64))
    return net, (torch.randn(batch, length, length, width),), lambda out: F.cross_entropy(out.flatten(0, 2), target.flatten())


class Reranker(nn.Module):
    """BERT by hand: padding masked by a large negative number, one score per query and passage."""

    def __init__(self, words, width, layers, heads):
        super().__init__()
        self.words, self.places, self.kinds = nn.Embedding(words, width), nn.Embedding(512, width), nn.Embedding(2, width)
        self.norm, self.heads = nn.LayerNorm(width), heads
        self.layers = nn.ModuleList(
            nn.ModuleDict({
                "q": nn.Linear(width, width), "k": nn.Linear(width, width), "v": nn.Linear(width, width), "o": nn.Linear(width, width),
                "n1": nn.LayerNorm(width), "n2": nn.LayerNorm(width), "f1": nn.Linear(width, 4 * width), "f2": nn.Linear(4 * width, width),
            }) for _ in range(layers)
        )  # fmt: skip
        self.pool, self.score = nn.Linear(width, width), nn.Linear(width, 1)
        self.drop = nn.Dropout(0.1)

    def split(self, x):
        b, t, d = x.shape
        return x.view(b, t, self.heads, d // self.heads).transpose(1, 2)

    def forward(self, ids, kinds, mask):
        places = torch.arange(ids.shape[1], device=ids.device)
        x = self.drop(self.norm(self.words(ids) + self.places(places) + self.kinds(kinds)))
        hide = (1.0 - mask[:, None, None, :].to(x.dtype)) * -10000.0
        for layer in self.layers:
            q, k, v = (self.split(layer[name](x)) for name in "qkv")
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1)) + hide
            seen = torch.matmul(self.drop(F.softmax(scores, dim=-1)), v)
            seen = seen.transpose(1, 2).contiguous().view(x.shape)
            x = layer["n1"](x + self.drop(layer["o"](seen)))
            x = layer["n2"](x + self.drop(layer["f2"](F.gelu(layer["f1"](x)))))
        return self.score(torch.tanh(self.pool(x[:, 0]))).squeeze(-1)


@model("retrieval")
def passage_reranker(small):
    batch, length, words, width, layers, heads = (2, 8, 50, 16, 1, 2) if small else (64, 160, 30_522, 384, 6, 12)
    lengths = torch.arange(length) % length + 1
    mask = (torch.arange(length)[None, :] < lengths[torch.randint(length, (batch,))][:, None]).long()
    inputs = (torch.randint(words, (batch, length)), torch.randint(2, (batch, length)), mask)

    def loss(score):
        groups = score.view(-1, 2)
        return F.softplus(groups[:, 1] - groups[:, 0]).mean()

    return Reranker(words, width, layers, heads), inputs, loss


class SessionRecommender(nn.Module):
    """What was clicked, in order; scores against the clicked item and shared negatives."""

    def __init__(self, items, width):
        super().__init__()
        self.items = nn.Embedding(items, width, padding_idx=0)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.a1, self.a2, self.v = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False), nn.Linear(width, 1, bias=False)
        self.b = nn.Linear(2 * width, width, bias=False)

    def forward(self, clicks, candidates):
        states, last = self.gru(self.items(clicks))
        last = last[-1]
        energy = self.v(torch.sigmoid(self.a1(last).unsqueeze(1) + self.a2(states)))
        energy = energy.masked_fill((clicks == 0).unsqueeze(-1), 0.0)
        local = (energy * states).sum(1)
        return self.b(torch.cat([last, local], -1)) @ self.items(candidates).T


@model("recommender")
def session_clicks(small):
    batch, length, items, width, others = (4, 5, 100, 8, 16) if small else (2048, 30, 500_000, 128, 8192)
    target = torch.randint(others, (batch,))
    inputs = (torch.randint(items, (batch, length)), torch.randint(items, (others,)))
    return SessionRecommender(items, width), inputs, lambda out: F.cross_entropy(out.float(), target)


class PartRanker(nn.Module):
    """Columns embedded and hashed, a factorisation by sums and squares beside a wide part and a deep one with layer norm."""

    def __init__(self, fields, buckets, width, hidden):
        super().__init__()
        self.table = nn.Embedding(fields * buckets, width)
        self.wide = nn.Embedding(fields * buckets, 1)
        self.register_buffer("offsets", torch.arange(fields) * buckets)
        self.masks = nn.ModuleList(
            nn.Sequential(nn.Linear(fields * width, 2 * hidden), nn.ReLU(), nn.Linear(2 * hidden, n)) for n in (fields * width, hidden)
        )
        self.ln = nn.LayerNorm(width)
        self.h1, self.n1 = nn.Linear(fields * width, hidden), nn.LayerNorm(hidden)
        self.h2, self.n2 = nn.Linear(hidden, hidden), nn.LayerNorm(hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, ids):
        ids = ids + self.offsets
        e = self.table(ids)
        flat = e.flatten(1)
        normed = self.ln(e).flatten(1)
        h = F.relu(self.n1(self.h1(normed * self.masks[0](flat))))
        h = F.relu(self.n2(self.h2(h * self.masks[1](flat))))
        pairs = 0.5 * (e.sum(1) ** 2 - (e**2).sum(1)).sum(-1)
        return self.out(h).squeeze(-1) + self.wide(ids).sum((1, 2)) + pairs


@model("recommender")
def masked_click_ranker(small):
    batch, fields, buckets, width, hidden = (8, 3, 20, 4, 8) if small else (16_384, 26, 40_000, 16, 400)
    target = (torch.rand(batch) > 0.7).float()
    return (
        PartRanker(fields, buckets, width, hidden),
        (torch.randint(buckets, (batch, fields)),),
        lambda out: F.binary_cross_entropy_with_logits(out, target),
    )


class Centres(nn.Module):
    """Objects as points: a heat map, its peaks by pooling, boxes gathered at the top ones."""

    def __init__(self, width, top):
        super().__init__()

        def block(a, b, s):
            return nn.Sequential(nn.Conv2d(a, b, 3, s, 1, bias=False), nn.BatchNorm2d(b), nn.SiLU(True))

        self.d = nn.ModuleList(
            [block(3, width, 2), block(width, 2 * width, 2), block(2 * width, 4 * width, 2), block(4 * width, 8 * width, 2)]
        )
        self.u = nn.ModuleList([nn.ConvTranspose2d(8 * width, 4 * width, 4, 2, 1), nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1)])
        self.heat, self.size, self.shift = (nn.Sequential(block(2 * width, 2 * width, 1), nn.Conv2d(2 * width, n, 1)) for n in (20, 2, 2))
        self.top = top

    def forward(self, x):
        for d in self.d:
            x = d(x)
        for u in self.u:
            x = F.relu(u(x))
        heat, size, shift = self.heat(x), self.size(x), self.shift(x)
        if self.training:
            return heat, size, shift
        p = heat.sigmoid()
        p = p * (F.max_pool2d(p, 3, 1, 1) == p)
        score, where = p.flatten(1).topk(self.top)
        cell = where % (p.shape[2] * p.shape[3])
        y, x = cell // p.shape[3], cell % p.shape[3]
        at = cell.unsqueeze(1).expand(-1, 2, -1)
        s, o = size.flatten(2).gather(2, at), shift.flatten(2).gather(2, at)
        cx, cy = x + o[:, 0], y + o[:, 1]
        return torch.stack((cx - s[:, 0] / 2, cy - s[:, 1] / 2, cx + s[:, 0] / 2, cy + s[:, 1] / 2, score), -1)


@model("detection")
def objects_as_points(small):
    batch, size, width, top = (1, 64, 8, 4) if small else (16, 512, 48, 100)
    grid = size // 4
    heat = torch.rand(batch, 20, grid, grid)
    box = torch.rand(batch, 2, grid, grid)

    def loss(out):
        h, s, o = out
        p = h.float().sigmoid().clamp(1e-4, 1 - 1e-4)
        pos = heat.eq(1).float()
        cost = -(pos * p.log() * (1 - p) ** 2 + (1 - pos) * (1 - heat) ** 4 * p**2 * (1 - p).log()).sum() / 16
        return cost + 0.1 * F.l1_loss(s, box) + F.smooth_l1_loss(o, box)

    return Centres(width, top), (torch.randn(batch, 3, size, size),), loss


class Tracker(nn.Module):
    """A template slid over a search window: a depthwise correlation with the batch folded into groups."""

    def __init__(self, width):
        super().__init__()
        self.back = nn.Sequential(
            nn.Conv2d(3, width // 4, 11, 2), nn.BatchNorm2d(width // 4), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(width // 4, width // 2, 5), nn.BatchNorm2d(width // 2), nn.ReLU(), nn.MaxPool2d(3, 2),
            nn.Conv2d(width // 2, width, 3), nn.BatchNorm2d(width), nn.ReLU(), nn.Conv2d(width, width, 3))  # fmt: skip
        self.z, self.x = nn.Conv2d(width, width, 3), nn.Conv2d(width, width, 3)
        self.cls = nn.Sequential(nn.Conv2d(width, width, 1), nn.ReLU(), nn.Conv2d(width, 10, 1))
        self.loc = nn.Sequential(nn.Conv2d(width, width, 1), nn.ReLU(), nn.Conv2d(width, 20, 1))

    def forward(self, template, search):
        z, x = self.z(self.back(template)), self.x(self.back(search))
        b, c, h, w = x.shape
        y = F.conv2d(x.reshape(1, b * c, h, w), z.reshape(b * c, 1, *z.shape[2:]), groups=b * c)
        y = y.view(b, c, *y.shape[2:])
        return self.cls(y), self.loc(y)


@model("tracking")
def correlation_tracker(small):
    batch, width = (1, 16) if small else (32, 256)
    return (
        Tracker(width),
        (torch.randn(batch, 3, 127, 127), torch.randn(batch, 3, 255, 255)),
        lambda out: out[0].square().mean() + out[1].abs().mean(),
    )


def ste_round(x):
    return x + (x.round() - x).detach()


class QatConv(nn.Module):
    """Trained as if it had eight bits: scales per channel, rounding with a straight-through gradient."""

    def __init__(self, a, b, s=1):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(b, a, 3, 3) * 0.05)
        self.scale = nn.Parameter(torch.tensor(0.05))
        self.bn, self.s = nn.BatchNorm2d(b), s

    def forward(self, x):
        x = ste_round(torch.clamp(x / self.scale, -128, 127)) * self.scale
        step = self.weight.abs().amax((1, 2, 3), keepdim=True) / 127
        w = ste_round(self.weight / step) * step
        return F.relu6(self.bn(F.conv2d(x, w, stride=self.s, padding=1)))


@model("quantised")
def quantisation_aware_net(small):
    batch, size, widths = (1, 16, (8, 16)) if small else (32, 128, (64, 128, 256, 512))
    last, layers = 3, []
    for w in widths:
        layers += [QatConv(last, w, 2), QatConv(w, w)]
        last = w
    target = torch.randint(10, (batch,))
    net = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 10))
    return net, (torch.randn(batch, 3, size, size),), lambda out: F.cross_entropy(out, target)


class Codec(nn.Module):
    """An image codec: normalised by division, with a second net that says how likely each code is."""

    def __init__(self, n, m):
        super().__init__()
        self.beta = nn.ParameterList(nn.Parameter(torch.ones(n)) for _ in range(6))
        self.gamma = nn.ParameterList(nn.Parameter(0.1 * torch.eye(n)) for _ in range(6))
        self.a = nn.ModuleList([nn.Conv2d(3, n, 5, 2, 2), nn.Conv2d(n, n, 5, 2, 2), nn.Conv2d(n, n, 5, 2, 2), nn.Conv2d(n, m, 5, 2, 2)])
        self.s = nn.ModuleList(
            [
                nn.ConvTranspose2d(m, n, 5, 2, 2, 1),
                nn.ConvTranspose2d(n, n, 5, 2, 2, 1),
                nn.ConvTranspose2d(n, n, 5, 2, 2, 1),
                nn.ConvTranspose2d(n, 3, 5, 2, 2, 1),
            ]
        )
        self.ha = nn.Sequential(nn.Conv2d(m, n, 3, 1, 1), nn.ReLU(), nn.Conv2d(n, n, 5, 2, 2))
        self.hs = nn.Sequential(nn.ConvTranspose2d(n, n, 5, 2, 2, 1), nn.ReLU(), nn.Conv2d(n, 2 * m, 3, 1, 1))

    def gdn(self, x, i, inverse=False):
        norm = torch.sqrt(F.conv2d(x * x, self.gamma[i].abs()[:, :, None, None], self.beta[i].abs()))
        return x * norm if inverse else x / norm

    def forward(self, image):
        y = image
        for i, conv in enumerate(self.a):
            y = conv(y)
            y = self.gdn(y, i) if i < 3 else y
        z = self.ha(y.abs())
        noise = torch.rand_like(y) - 0.5
        q = y + noise if self.training else y.round()
        mean, scale = self.hs(z.round() if not self.training else z + torch.rand_like(z) - 0.5).chunk(2, 1)
        scale = F.softplus(scale) + 0.1
        v = (q - mean).abs()
        p = 0.5 * (torch.erfc((v - 0.5) / scale * -(2**-0.5) * -1) - torch.erfc((v + 0.5) / scale * (2**-0.5)))
        out = q
        for i, conv in enumerate(self.s):
            out = conv(out)
            out = self.gdn(out, 3 + i, True) if i < 3 else out
        return out, p.clamp_min(1e-9)


@model("compression")
def hyperprior_codec(small):
    batch, size, n, m = (1, 32, 8, 8) if small else (8, 256, 128, 192)
    image = torch.rand(batch, 3, size, size)
    return Codec(n, m), (image,), lambda out: 100 * F.mse_loss(out[0], image) - out[1].log2().sum() / image.numel()
