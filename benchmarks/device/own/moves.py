"""One step after the other: columns of a table, a robot's moves, words of a caption, slices of a code."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def sparsemax(z):
    """A softmax with exact zeros: sorted, summed up, cut where the support ends."""
    top, _ = torch.sort(z, dim=-1, descending=True)
    rank = torch.arange(1, z.shape[-1] + 1, device=z.device, dtype=z.dtype)
    total = top.cumsum(-1)
    size = (1 + rank * top > total).sum(-1, keepdim=True)
    tau = (total.gather(-1, size - 1) - 1) / size
    return torch.clamp(z - tau, min=0)


class GhostNorm(nn.Module):
    def __init__(self, size, virtual):
        super().__init__()
        self.bn, self.virtual = nn.BatchNorm1d(size, momentum=0.02), virtual

    def forward(self, x):
        return torch.cat([self.bn(part) for part in x.chunk(math.ceil(len(x) / self.virtual))])


class GluBlock(nn.Module):
    def __init__(self, shared, d, virtual, own):
        super().__init__()
        self.fcs = nn.ModuleList([*shared, *(nn.Linear(d, 2 * d, bias=False) for _ in range(own))])
        self.norms = nn.ModuleList(GhostNorm(2 * d, virtual) for _ in self.fcs)

    def forward(self, x):
        for i, (fc, norm) in enumerate(zip(self.fcs, self.norms)):
            y = F.glu(norm(fc(x)), -1)
            x = y if i == 0 else (x + y) * math.sqrt(0.5)
        return x


class SparseSteps(nn.Module):
    """A few decisions one after the other, each looking at few columns, and not again at what the others used up."""

    def __init__(self, numbers, cards, each, d, steps, virtual, gamma=1.3):
        super().__init__()
        self.embeds = nn.ModuleList(nn.Embedding(n, each) for n in cards)
        self.columns = numbers + each * len(cards)
        self.enter, self.gamma, self.d = nn.BatchNorm1d(self.columns), gamma, d
        shared = [nn.Linear(self.columns, 4 * d, bias=False), nn.Linear(2 * d, 4 * d, bias=False)]
        self.blocks = nn.ModuleList(GluBlock(shared, 2 * d, virtual, 2) for _ in range(steps + 1))
        self.choose = nn.ModuleList(
            nn.Sequential(nn.Linear(d, self.columns, bias=False), GhostNorm(self.columns, virtual)) for _ in range(steps)
        )
        self.head = nn.Linear(d, 7)

    def forward(self, numbers, kinds):
        x = self.enter(torch.cat([numbers] + [emb(kinds[:, i]) for i, emb in enumerate(self.embeds)], 1))
        prior = torch.ones_like(x)
        look = self.blocks[0](x)[:, self.d :]
        total, spread = 0, 0
        for block, choose in zip(self.blocks[1:], self.choose):
            mask = sparsemax((choose(look) * prior).float()).to(x.dtype)
            spread = spread - (mask * torch.log(mask + 1e-5)).sum(1).mean()
            prior = prior * (self.gamma - mask)
            out = block(mask * x)
            total, look = total + F.relu(out[:, : self.d]), out[:, self.d :]
        return self.head(total), spread


@model("tabular")
def sparse_column_steps(small):
    batch, numbers, cards, d, steps, virtual = (8, 4, (3, 5), 4, 2, 4) if small else (16_384, 90, (50, 1000, 12, 200, 31, 7), 64, 5, 1024)
    target = torch.randint(7, (batch,))
    inputs = (torch.randn(batch, numbers), torch.stack([torch.randint(n, (batch,)) for n in cards], 1))
    return SparseSteps(numbers, cards, 4, d, steps, virtual), inputs, lambda out: F.cross_entropy(out[0], target) + 1e-3 * out[1]


class FilmBlock(nn.Module):
    def __init__(self, a, b, cond, groups=8):
        super().__init__()
        self.c1, self.g1 = nn.Conv1d(a, b, 5, padding=2), nn.GroupNorm(groups, b)
        self.c2, self.g2 = nn.Conv1d(b, b, 5, padding=2), nn.GroupNorm(groups, b)
        self.film = nn.Sequential(nn.Mish(), nn.Linear(cond, 2 * b))
        self.skip = nn.Conv1d(a, b, 1) if a != b else nn.Identity()

    def forward(self, x, cond):
        y = F.mish(self.g1(self.c1(x)))
        scale, bias = self.film(cond).unsqueeze(-1).chunk(2, 1)
        return F.mish(self.g2(self.c2(scale * y + bias))) + self.skip(x)


class MovesDenoiser(nn.Module):
    """What a robot does next, as a denoised curve: two views encoded once, then a 1-d U-Net asked again at every step."""

    def __init__(self, moves, widths, seen, steps, images):
        super().__init__()
        self.eye = nn.Sequential(
            nn.Conv2d(3, images, 5, 2, 2), nn.GroupNorm(4, images), nn.ReLU(), nn.Conv2d(images, 2 * images, 3, 2, 1), nn.GroupNorm(4, 2 * images),
            nn.ReLU(), nn.Conv2d(2 * images, 4 * images, 3, 2, 1), nn.GroupNorm(4, 4 * images), nn.ReLU())  # fmt: skip
        self.points = nn.Conv2d(4 * images, seen, 1)
        cond = 2 * 2 * seen + 128
        self.time = nn.Sequential(nn.Linear(128, 512), nn.Mish(), nn.Linear(512, 128))
        pairs = list(zip((moves, *widths[:-1]), widths))
        self.down = nn.ModuleList(nn.ModuleList([FilmBlock(a, b, cond), FilmBlock(b, b, cond), nn.Conv1d(b, b, 3, 2, 1)]) for a, b in pairs)
        self.mid = FilmBlock(widths[-1], widths[-1], cond)
        self.up = nn.ModuleList(
            nn.ModuleList([nn.ConvTranspose1d(b, b, 4, 2, 1), FilmBlock(2 * b, a, cond), FilmBlock(a, a, cond)])
            for a, b in zip((widths[0], *widths[:-1]), widths)
        )
        self.out, self.steps = nn.Conv1d(widths[0], moves, 1), steps
        self.register_buffer("alpha", torch.cos((torch.linspace(0, 1, 101) + 0.008) / 1.008 * math.pi / 2).square().clamp(1e-4, 0.9999))

    def look(self, views):
        heat = self.points(self.eye(views.flatten(0, 1)))
        h, w = heat.shape[-2:]
        p = heat.flatten(2).softmax(-1).view_as(heat)
        xs, ys = (torch.linspace(-1, 1, n, device=heat.device, dtype=heat.dtype) for n in (w, h))
        where = torch.cat([(p.sum(2) * xs).sum(-1), (p.sum(3) * ys).sum(-1)], -1)
        return where.view(len(views), -1)

    def noise(self, x, t, seen):
        freq = torch.exp(-math.log(10000) * torch.arange(64, device=x.device) / 63)
        a = t[:, None].float() * freq
        cond = torch.cat([self.time(torch.cat([a.sin(), a.cos()], -1).to(seen.dtype)), seen], -1)
        kept = []
        for one, two, shrink in self.down:
            x = two(one(x, cond), cond)
            kept.append(x)
            x = shrink(x)
        x = self.mid(x, cond)
        for grow, one, two in reversed(self.up):
            x = two(one(torch.cat([grow(x), kept.pop()], 1), cond), cond)
        return self.out(x)

    def forward(self, views, moves):
        seen, b = self.look(views), len(views)
        if self.training:
            t, eps = torch.randint(0, 100, (b,), device=moves.device), torch.randn_like(moves)
            a = self.alpha[t].view(-1, 1, 1)
            return self.noise(a.sqrt() * moves + (1 - a).sqrt() * eps, t, seen), eps
        x = torch.randn_like(moves)
        times = torch.linspace(99, 0, self.steps).long().tolist()
        for now, then in zip(times, [*times[1:], 0]):
            eps = self.noise(x, torch.full((b,), now, device=x.device), seen)
            clean = ((x - (1 - self.alpha[now]).sqrt() * eps) / self.alpha[now].sqrt()).clamp(-1, 1)
            x = self.alpha[then].sqrt() * clean + (1 - self.alpha[then]).sqrt() * eps
        return x


@model("diffusion")
def robot_moves_sampler(small):
    batch, horizon, size, widths, seen, steps, images = (
        (2, 8, 16, (8, 16), 4, 2, 4) if small else (64, 16, 96, (256, 512, 1024), 32, 10, 32)
    )
    net = MovesDenoiser(7, widths, seen, steps, images)
    return net, (torch.rand(batch, 2, 3, size, size), torch.rand(batch, 7, horizon) * 2 - 1), lambda out: F.mse_loss(out[0], out[1])


class CaptionWriter(nn.Module):
    """A caption by beam search: a cell that looks at a grid of image features, the best few sentences kept at every word."""

    def __init__(self, words, feature, d, beam, longest):
        super().__init__()
        self.embed, self.cell, self.out = nn.Embedding(words, d), nn.LSTMCell(d + feature, d), nn.Linear(d, words)
        self.from_image, self.from_state, self.score = nn.Linear(feature, d), nn.Linear(d, d), nn.Linear(d, 1)
        self.start_h, self.start_c = nn.Linear(feature, d), nn.Linear(feature, d)
        self.gate, self.beam, self.longest = nn.Linear(d, feature), beam, longest

    def forward(self, grid):
        b, n, k = len(grid), grid.shape[1], self.beam
        mean = grid.mean(1)
        grid = grid.repeat_interleave(k, 0)
        keys = self.from_image(grid)
        h, c = (f(mean).tanh().repeat_interleave(k, 0) for f in (self.start_h, self.start_c))
        words = torch.ones(b * k, dtype=torch.long, device=grid.device)
        total = torch.full((b, k), -1e9, device=grid.device)
        total[:, 0] = 0.0
        ended = torch.zeros(b, k, dtype=torch.bool, device=grid.device)
        text = torch.zeros(b, k, self.longest, dtype=torch.long, device=grid.device)
        base = torch.arange(b, device=grid.device).unsqueeze(1) * k
        for t in range(self.longest):
            alpha = self.score(torch.tanh(keys + self.from_state(h).unsqueeze(1))).view(-1, n).softmax(-1)
            context = torch.sigmoid(self.gate(h)) * (grid * alpha.unsqueeze(-1)).sum(1)
            h, c = self.cell(torch.cat([self.embed(words), context], -1), (h, c))
            logp = F.log_softmax(self.out(h).float(), -1).view(b, k, -1)
            logp[..., 0] = torch.where(ended, 0.0, logp[..., 0])
            logp[..., 1:] = logp[..., 1:].masked_fill(ended.unsqueeze(-1), -1e9)
            total, best = (total.unsqueeze(-1) + logp).view(b, -1).topk(k, -1)
            parent, word = torch.div(best, logp.shape[-1], rounding_mode="floor"), best % logp.shape[-1]
            rows = (base + parent).view(-1)
            h, c, text = h[rows], c[rows], text.view(b * k, -1)[rows].view(b, k, -1)
            text[:, :, t] = word
            ended = ended.gather(1, parent) | (word == 0)
            words = word.view(-1)
        return text[:, 0], total[:, 0] / self.longest


@model("sequence")
def beam_search_captions(small):
    batch, cells, feature, words, d, beam, longest = (2, 4, 8, 20, 8, 2, 3) if small else (32, 196, 512, 10_000, 512, 5, 20)
    return CaptionWriter(words, feature, d, beam, longest), (torch.randn(batch, cells, feature),), None


def rounded(x):
    return x.round().detach() - x.detach() + x


class SliceCodec(nn.Module):
    """An image codec that codes channels in slices, each with a mean and a spread guessed from those before it."""

    def __init__(self, n, m, slices):
        super().__init__()

        def residual(w):
            return nn.Sequential(nn.Conv2d(w, w // 2, 1), nn.GELU(), nn.Conv2d(w // 2, w // 2, 3, 1, 1), nn.GELU(), nn.Conv2d(w // 2, w, 1))

        def guess(a, b):
            return nn.Sequential(
                nn.Conv2d(a, n, 3, 1, 1), nn.GELU(), nn.Conv2d(n, n // 2, 3, 1, 1), nn.GELU(), nn.Conv2d(n // 2, b, 3, 1, 1)
            )

        self.down = nn.ModuleList(nn.Conv2d(a, b, 5, 2, 2) for a, b in ((3, n), (n, n), (n, n), (n, m)))
        self.up = nn.ModuleList(nn.Conv2d(a, 4 * b, 3, 1, 1) for a, b in ((m, n), (n, n), (n, n), (n, 3)))
        self.inner = nn.ModuleList(residual(n) for _ in range(6))
        self.ha, self.hs = nn.Conv2d(m, n, 5, 4, 2), nn.ConvTranspose2d(n, 2 * m, 8, 4, 2)
        each = m // slices
        self.mean, self.spread = (nn.ModuleList(guess(m + each * i, each) for i in range(slices)) for _ in range(2))
        self.fix = nn.ModuleList(guess(m + each * (i + 1), each) for i in range(slices))
        self.slices = slices

    def forward(self, image):
        y = image
        for i, conv in enumerate(self.down):
            y = conv(y)
            if i < 3:
                y = y + self.inner[i](y)
        side_mean, side_spread = self.hs(rounded(self.ha(y))).chunk(2, 1)
        done, bits = [], []
        for i, part in enumerate(y.chunk(self.slices, 1)):
            mean = self.mean[i](torch.cat([side_mean, *done], 1))
            spread = F.softplus(self.spread[i](torch.cat([side_spread, *done], 1))).clamp(min=0.11)
            q = rounded(part - mean) + mean
            gap = (q - mean).abs()
            chance = 0.5 * (torch.erf((gap + 0.5) / (spread * math.sqrt(2))) - torch.erf((gap - 0.5) / (spread * math.sqrt(2))))
            bits.append(-torch.log2(chance.clamp(min=1e-9)))
            done.append(q + 0.5 * torch.tanh(self.fix[i](torch.cat([side_mean, *done, q], 1))))
        x = torch.cat(done, 1)
        for i, conv in enumerate(self.up):
            x = F.pixel_shuffle(conv(x), 2)
            if i < 3:
                x = x + self.inner[3 + i](F.gelu(x))
        return x, torch.cat(bits, 1)


@model("compression")
def channel_slices_codec(small):
    batch, size, n, m, slices = (1, 64, 8, 8, 2) if small else (8, (256, 384), 128, 320, 5)
    image = torch.rand(batch, 3, *((size, size) if small else size))
    return SliceCodec(n, m, slices), (image,), lambda out: 255**2 * 0.01 * F.mse_loss(out[0], image) + out[1].sum() / image[:, 0].numel()
