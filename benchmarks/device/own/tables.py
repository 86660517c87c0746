"""Tabular nets, metric learning, sets, networks that make networks."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class FeatureTokens(nn.Module):
    """A transformer over columns: one token per feature, a class token in front."""

    def __init__(self, numbers, kinds, width, layers):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(numbers, width) * 0.1)
        self.bias = nn.Parameter(torch.zeros(numbers, width))
        self.tables = nn.ModuleList(nn.Embedding(n, width) for n in kinds)
        self.first = nn.Parameter(torch.randn(1, 1, width))
        layer = nn.TransformerEncoderLayer(width, 8, 2 * width, 0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.out = nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, numbers, kinds):
        x = numbers.unsqueeze(-1) * self.weight + self.bias
        more = [table(kinds[:, i]).unsqueeze(1) for i, table in enumerate(self.tables)]
        x = torch.cat([self.first.expand(len(x), -1, -1), x, *more], 1)
        return self.out(self.encoder(x)[:, 0])


@model("tabular")
def feature_tokens(small):
    batch, numbers, kinds, width, layers = (4, 3, (5, 6), 16, 1) if small else (4096, 20, (10, 50, 100, 1000, 7), 128, 3)
    ids = torch.stack([torch.randint(n, (batch,)) for n in kinds], 1)
    target = torch.randint(2, (batch,))
    return FeatureTokens(numbers, kinds, width, layers), (torch.randn(batch, numbers), ids), lambda out: F.cross_entropy(out, target)


class ResidualTable(nn.Module):
    def __init__(self, features, width, blocks):
        super().__init__()
        self.norm = nn.BatchNorm1d(features)
        self.enter = nn.Linear(features, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.BatchNorm1d(width), nn.Linear(width, 2 * width), nn.ReLU(), nn.Dropout(0.2), nn.Linear(2 * width, width))
            for _ in range(blocks)
        )
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        missing = torch.isnan(x)
        x = self.enter(self.norm(torch.where(missing, torch.zeros_like(x), x)))
        for block in self.blocks:
            x = x + block(x)
        return self.out(F.relu(x)).squeeze(-1)


@model("tabular")
def residual_table(small):
    batch, features, width = (8, 5, 16) if small else (32_768, 90, 384)
    target = torch.randn(batch)
    return ResidualTable(features, width, 6), (torch.randn(batch, features),), lambda out: F.smooth_l1_loss(out, target)


class ObliviousTrees(nn.Module):
    """Soft decision trees: a sigmoid per level, leaves by an outer product of choices."""

    def __init__(self, features, trees, depth):
        super().__init__()
        self.choose = nn.Parameter(torch.randn(features, trees * depth) * 0.1)
        self.threshold, self.log_temperature = nn.Parameter(torch.randn(trees, depth)), nn.Parameter(torch.zeros(trees, depth))
        self.leaves = nn.Parameter(torch.randn(trees, 2**depth, 3) * 0.1)
        self.depth, self.trees = depth, trees

    def forward(self, x):
        picked = (x @ self.choose.softmax(0)).view(-1, self.trees, self.depth)
        right = torch.sigmoid((picked - self.threshold) * self.log_temperature.exp())
        reach = torch.ones_like(right[..., :1])
        for level in range(self.depth):
            p = right[..., level : level + 1]
            reach = torch.cat([reach * p, reach * (1 - p)], -1)
        return torch.einsum("btl,tlc->bc", reach, self.leaves)


@model("tabular")
def soft_oblivious_trees(small):
    batch, features, trees, depth = (4, 5, 3, 2) if small else (4096, 54, 512, 6)
    target = torch.randint(3, (batch,))
    return ObliviousTrees(features, trees, depth), (torch.randn(batch, features),), lambda out: F.cross_entropy(out, target)


class Contrastive(nn.Module):
    """A small residual encoder on two views, and their normalised cross entropy with itself masked out."""

    def __init__(self, w):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, w, 3, 1, 1, bias=False), nn.BatchNorm2d(w), nn.ReLU(True))
        self.stages = nn.ModuleList()
        for a, b in ((w, w), (w, 2 * w), (2 * w, 4 * w)):
            self.stages.append(
                nn.ModuleList(
                    [
                        nn.Conv2d(a, b, 3, 2, 1, bias=False),
                        nn.BatchNorm2d(b),
                        nn.Conv2d(b, b, 3, 1, 1, bias=False),
                        nn.BatchNorm2d(b),
                        nn.Conv2d(a, b, 1, 2),
                    ]
                )
            )
        self.head = nn.Sequential(nn.Linear(4 * w, 4 * w), nn.ReLU(), nn.Linear(4 * w, 128))

    def encode(self, x):
        x = self.stem(x)
        for c1, b1, c2, b2, short in self.stages:
            x = F.relu(b2(c2(F.relu(b1(c1(x))))) + short(x))
        return F.normalize(self.head(x.mean((2, 3))), dim=-1)

    def forward(self, a, b):
        z = torch.cat([self.encode(a), self.encode(b)])
        scores = (z @ z.t()) / 0.5
        n = len(a)
        scores = scores.masked_fill(torch.eye(2 * n, dtype=torch.bool, device=z.device), -1e4)
        return F.cross_entropy(scores, (torch.arange(2 * n, device=z.device) + n) % (2 * n))


@model("contrastive loss")
def two_view_contrast(small):
    batch, size, width = (2, 8, 8) if small else (256, 32, 64)
    return Contrastive(width), (torch.rand(batch, 3, size, size), torch.rand(batch, 3, size, size)), lambda out: out


class HardestTriplets(nn.Module):
    """Batch-hard mining: the farthest of one's own and the nearest of the others."""

    def __init__(self, features, width):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, width), nn.BatchNorm1d(width), nn.PReLU(), nn.Linear(width, 256))

    def forward(self, x, labels):
        z = F.normalize(self.net(x), dim=1)
        d = (2 - 2 * z @ z.t()).clamp(min=1e-6).sqrt()
        same = labels[:, None] == labels[None]
        far = torch.where(same, d, torch.zeros_like(d)).max(1).values
        near = d.masked_fill(same, 1e4).min(1).values
        return F.relu(far - near + 0.3)


@model("metric learning")
def hardest_triplets(small):
    batch, features = (8, 12) if small else (4096, 1024)
    labels = torch.arange(batch) // 4
    return HardestTriplets(features, 1024), (torch.randn(batch, features), labels), lambda out: out.mean()


class MarginHead(nn.Module):
    """ArcFace over many identities: angles, an additive margin where the label is, a softmax over all."""

    def __init__(self, features, people):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(features, 512), nn.BatchNorm1d(512))
        self.centres = nn.Parameter(torch.randn(people, 512))

    def forward(self, x, labels):
        cosine = F.linear(F.normalize(self.net(x)), F.normalize(self.centres)).clamp(-0.999, 0.999)
        target = torch.cos(torch.acos(cosine.gather(1, labels[:, None])) + 0.5)
        logits = cosine.scatter(1, labels[:, None], target)
        return F.cross_entropy(64 * logits, labels)


@model("metric learning")
def angular_margin(small):
    batch, features, people = (4, 8, 20) if small else (512, 2048, 80_000)
    return MarginHead(features, people), (torch.randn(batch, features), torch.randint(people, (batch,))), lambda out: out


class HyperNetwork(nn.Module):
    """One net writes the weights of another for each task; they run as batched products."""

    def __init__(self, context, width, inside):
        super().__init__()
        self.shapes = [(inside, width), (width, width), (width, 1)]
        total = sum(a * b + b for a, b in self.shapes)
        self.hyper = nn.Sequential(nn.Linear(context, 256), nn.ReLU(), nn.Linear(256, total))

    def forward(self, context, x):
        flat, start = self.hyper(context) * 0.1, 0
        for i, (a, b) in enumerate(self.shapes):
            w = flat[:, start : start + a * b].view(-1, a, b)
            bias = flat[:, start + a * b : start + a * b + b].unsqueeze(1)
            x = torch.baddbmm(bias, x, w)
            x = F.relu(x) if i < 2 else x
            start += a * b + b
        return x.squeeze(-1)


@model("hyper-network")
def hyper_network(small):
    tasks, points, width = (3, 5, 8) if small else (1024, 1024, 64)
    target = torch.randn(tasks, points)
    return HyperNetwork(32, width, 8), (torch.randn(tasks, 32), torch.randn(tasks, points, 8)), lambda out: F.mse_loss(out, target)


class FewSteps(nn.Module):
    """Inner gradient steps on a support set, the loss on the query set: second-order, weights as a list."""

    def __init__(self, width, steps):
        super().__init__()
        sizes = [(1, width), (width, width), (width, 1)]
        self.weights = nn.ParameterList(
            p for a, b in sizes for p in (nn.Parameter(torch.randn(b, a) / a**0.5), nn.Parameter(torch.zeros(b)))
        )
        self.steps = steps

    @staticmethod
    def run(weights, x):
        for i in range(0, 4, 2):
            x = F.relu(F.linear(x, weights[i], weights[i + 1]))
        return F.linear(x, weights[4], weights[5])

    def forward(self, xs, ys, xq, yq):
        total = 0
        with torch.enable_grad():
            for task in range(len(xs)):
                fast = list(self.weights)
                for _ in range(self.steps):
                    loss = F.mse_loss(self.run(fast, xs[task]), ys[task])
                    grads = torch.autograd.grad(loss, fast, create_graph=True)
                    fast = [w - 0.01 * g for w, g in zip(fast, grads)]
                total = total + F.mse_loss(self.run(fast, xq[task]), yq[task])
        return total / len(xs)


@model("meta-learning")
def inner_loop_steps(small):
    tasks, shots, width, steps = (2, 4, 8, 1) if small else (8, 4096, 256, 2)
    inputs = tuple(torch.randn(tasks, shots, 1) for _ in range(4))
    return FewSteps(width, steps), inputs, lambda out: out


class InducedSets(nn.Module):
    """Attention through a few learned points, then pooling by attention."""

    def __init__(self, features, width, points):
        super().__init__()
        self.enter = nn.Linear(features, width)
        self.points = nn.ParameterList(nn.Parameter(torch.randn(1, points, width) * 0.1) for _ in range(2))
        self.seed = nn.Parameter(torch.randn(1, 1, width))
        self.attend = nn.ModuleList(nn.MultiheadAttention(width, 4, batch_first=True) for _ in range(5))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(5))
        self.out = nn.Linear(width, 1)

    def block(self, i, q, kv, mask=None):
        return self.norms[i](q + self.attend[i](q, kv, kv, key_padding_mask=mask, need_weights=False)[0])

    def forward(self, x, mask):
        x = self.enter(x)
        for i, points in enumerate(self.points):
            h = self.block(2 * i, points.expand(len(x), -1, -1), x, mask)
            x = self.block(2 * i + 1, x, h)
        return self.out(self.block(4, self.seed.expand(len(x), -1, -1), x, mask)).flatten()


@model("sets")
def induced_set_attention(small):
    batch, size, width, points = (2, 6, 16, 3) if small else (64, 1000, 256, 32)
    mask = torch.arange(size)[None] >= torch.randint(size // 2, size, (batch, 1))
    return InducedSets(5, width, points), (torch.randn(batch, size, 5), mask), lambda out: out.pow(2).mean()


class MixtureDensity(nn.Module):
    """An ensemble by batched products; each member a mixture of Gaussians."""

    def __init__(self, members, features, width, parts):
        super().__init__()
        sizes = ((features, width), (width, width), (width, 3 * parts))
        self.w = nn.ParameterList(nn.Parameter(torch.randn(members, a, b) / a**0.5) for a, b in sizes)
        self.b = nn.ParameterList(nn.Parameter(torch.zeros(members, 1, b)) for _, b in sizes)
        self.members = members

    def forward(self, x, y):
        h = x.expand(self.members, -1, -1)
        for i, (w, b) in enumerate(zip(self.w, self.b)):
            h = torch.bmm(h, w) + b
            h = F.silu(h) if i < 2 else h
        share, mean, log_scale = h.chunk(3, -1)
        log_scale = log_scale.clamp(-4, 4)
        log_p = -0.5 * ((y - mean) * torch.exp(-log_scale)) ** 2 - log_scale
        return -torch.logsumexp(share.log_softmax(-1) + log_p, -1)


@model("tabular")
def mixture_density_ensemble(small):
    members, batch, features, width = (2, 6, 4, 8) if small else (8, 8192, 32, 256)
    return MixtureDensity(members, features, width, 8), (torch.randn(batch, features), torch.randn(batch, 1)), lambda out: out.mean()
