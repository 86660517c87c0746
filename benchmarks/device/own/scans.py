"""Scans: slices from projections, boxes turned on a field, thin volumes of clips, voxels of harmonics, graphs pooled, random nets to know."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class Projections(nn.Module):
    """A slice of a body out of its projections: steps down the gradient, each through a small net; rotation by sampling a grid."""

    def __init__(self, n, angles, rounds, wide):
        super().__init__()
        theta = torch.linspace(0, math.pi, angles + 1)[:-1]
        turn = torch.stack(
            [torch.stack([theta.cos(), theta.sin(), 0 * theta], 1), torch.stack([-theta.sin(), theta.cos(), 0 * theta], 1)], 1
        )
        self.register_buffer("turn", turn)
        self.register_buffer("back", torch.stack([torch.stack([theta.cos(), -theta.sin(), 0 * theta], 1), torch.stack([theta.sin(), theta.cos(), 0 * theta], 1)], 1))  # fmt: skip
        self.register_buffer("ramp", torch.fft.rfftfreq(2 * n).abs() * 2)
        self.nets = nn.ModuleList(
            nn.Sequential(nn.Conv2d(2, wide, 3, padding=1), nn.PReLU(), nn.Conv2d(wide, wide, 3, padding=1), nn.PReLU(), nn.Conv2d(wide, 1, 3, padding=1))
            for _ in range(rounds)
        )  # fmt: skip

    def project(self, x):
        b, _, n, _ = x.shape
        grid = F.affine_grid(self.turn, (len(self.turn), 1, n, n), align_corners=False)
        wide = grid.repeat(b, 1, 1, 1).to(x.dtype)
        return F.grid_sample(x.repeat_interleave(len(self.turn), 0), wide, align_corners=False).sum(2).view(b, len(self.turn), n)

    def spread(self, s):
        b, a, n = s.shape
        s = torch.fft.irfft(torch.fft.rfft(s.float(), 2 * n) * self.ramp, 2 * n)[..., :n].to(s.dtype)
        flat = s.reshape(b * a, 1, 1, n).expand(-1, -1, n, -1)
        grid = F.affine_grid(self.back, (a, 1, n, n), align_corners=False).repeat(b, 1, 1, 1).to(s.dtype)
        return F.grid_sample(flat, grid, align_corners=False).view(b, a, n, n).mean(1, keepdim=True)

    def forward(self, sinogram):
        x = self.spread(sinogram)
        for net in self.nets:
            off = self.spread(self.project(x) - sinogram)
            x = x - net(torch.cat([x, off], 1))
        return x


@model("medical", half=False)
def slices_from_projections(small):
    b, n, angles, rounds, wide = (1, 8, 4, 1, 4) if small else (2, 256, 90, 4, 32)
    goal = torch.rand(b, 1, n, n)
    return Projections(n, angles, rounds, wide), (torch.rand(b, angles, n) * n / 2,), lambda out: F.mse_loss(out, goal)


def block(a, b, s=1):
    return nn.Sequential(nn.Conv2d(a, b, 3, s, 1, bias=False), nn.BatchNorm2d(b), nn.SiLU())


class TurnedBoxes(nn.Module):
    """Boxes that are turned: a head over three scales says place, size and angle; how alike two are is measured between Gaussians."""

    def __init__(self, width, classes):
        super().__init__()
        self.stem = nn.Sequential(block(3, width, 2), block(width, 2 * width, 2), block(2 * width, 2 * width))
        self.stages = nn.ModuleList(nn.Sequential(block(2 * width * min(i, 2), 2 * width * min(i + 1, 2), 2), *(block(2 * width * min(i + 1, 2), 2 * width * min(i + 1, 2)) for _ in range(2))) for i in (1, 2, 3))  # fmt: skip
        d = 4 * width
        self.side = nn.ModuleList(nn.Conv2d(d, d, 1) for _ in range(3))
        self.head = nn.Sequential(block(d, d), block(d, d))
        self.say = nn.Conv2d(d, classes + 5, 1)
        self.classes = classes

    def forward(self, x):
        x, levels = self.stem(x), []
        for stage in self.stages:
            x = stage(x)
            levels.append(x)
        up, outs = None, []
        for side, level in reversed(list(zip(self.side, levels))):
            now = side(level)
            up = now if up is None else now + F.interpolate(up, size=now.shape[-2:], mode="nearest")
            outs.append(self.say(self.head(up)).flatten(2))
        return torch.cat(outs, 2).mT.split((self.classes, 5), -1)


def gaussian(box):
    """(centre, covariance) of turned boxes: cx, cy, log width, log height, angle."""
    w, h, a = box[..., 2].exp() / 2, box[..., 3].exp() / 2, box[..., 4]
    c, s = a.cos(), a.sin()
    R = torch.stack([torch.stack([c, -s], -1), torch.stack([s, c], -1)], -2)
    return box[..., :2], R @ torch.diag_embed(torch.stack([w * w, h * h], -1)) @ R.mT


@model("detection")
def boxes_turned_on_a_field(small):
    b, size, width, classes, truths, near = (1, 64, 4, 3, 2, 2) if small else (8, 768, 32, 15, 64, 9)
    goal = torch.cat([torch.rand(b, truths, 2) * size, torch.rand(b, truths, 2) * 2 + 2, torch.rand(b, truths, 1) * math.pi], -1)
    kind = torch.randint(classes, (b, truths))

    def loss(out):
        score, box = out[0].float(), out[1].float()
        with torch.no_grad():
            cost = (
                torch.cdist(goal[..., :2], box[..., :2]) / size
                - score.sigmoid().gather(2, kind.unsqueeze(1).expand(-1, score.shape[1], -1)).mT
            )
            at = cost.topk(near, dim=2, largest=False).indices
            target = torch.zeros_like(score)
            target[torch.arange(b, device=at.device).view(-1, 1, 1), at, kind.unsqueeze(-1)] = 1.0
        mine = box.gather(1, at.flatten(1).unsqueeze(-1).expand(-1, -1, 5)).view(b, truths, near, 5)
        m1, S1 = gaussian(mine)
        m2, S2 = gaussian(goal.unsqueeze(2).expand_as(mine))
        det1, det2 = (S[..., 0, 0] * S[..., 1, 1] - S[..., 0, 1] * S[..., 1, 0] for S in (S1, S2))
        root = 2 * torch.sqrt((det1 * det2).clamp_min(1e-7))
        gap = (m1 - m2).square().sum(-1) + (S1 + S2).diagonal(dim1=-2, dim2=-1).sum(-1) - torch.sqrt((S1 @ S2).diagonal(dim1=-2, dim2=-1).sum(-1).clamp_min(0) + root + 1e-7) * 2  # fmt: skip
        focal = F.binary_cross_entropy_with_logits(score, target, reduction="none") * (target - score.sigmoid()).abs().square()
        return focal.sum() / (truths * b * near) + torch.log1p(gap.clamp_min(0)).mean()

    return TurnedBoxes(width, classes), (torch.randn(b, 3, size, size),), loss


class ThinVolume(nn.Module):
    def __init__(self, a, wide, b, stride):
        super().__init__()
        self.up = nn.Sequential(nn.Conv3d(a, wide, 1, bias=False), nn.BatchNorm3d(wide), nn.ReLU(True))
        self.deep = nn.Sequential(nn.Conv3d(wide, wide, 3, (1, stride, stride), 1, groups=wide, bias=False), nn.BatchNorm3d(wide))
        self.squeeze = nn.Sequential(nn.AdaptiveAvgPool3d(1), nn.Conv3d(wide, max(4, wide // 16), 1), nn.ReLU(), nn.Conv3d(max(4, wide // 16), wide, 1), nn.Sigmoid())  # fmt: skip
        self.down = nn.Sequential(nn.Conv3d(wide, b, 1, bias=False), nn.BatchNorm3d(b))
        self.skip = nn.Identity() if a == b and stride == 1 else nn.Conv3d(a, b, 1, (1, stride, stride), bias=False)

    def forward(self, x):
        h = self.deep(self.up(x))
        h = F.silu(h * self.squeeze(h))
        return F.relu(self.skip(x) + self.down(h), inplace=True)


@model("video")
def clips_by_thin_volumes(small):
    b, frames, size, width, depths, classes = (1, 2, 16, 4, (1, 1), 5) if small else (8, 13, 160, 24, (3, 5, 7, 4), 400)
    stem = [nn.Conv3d(3, width, (1, 3, 3), (1, 2, 2), (0, 1, 1), bias=False), nn.Conv3d(width, width, (5, 1, 1), 1, (2, 0, 0), groups=width, bias=False), nn.BatchNorm3d(width), nn.ReLU()]  # fmt: skip
    layers, a = stem, width
    for i, depth in enumerate(depths):
        for j in range(depth):
            c = width * 2**i
            layers.append(ThinVolume(a, c * 9 // 4, c, 2 if j == 0 else 1))
            a = c
    layers += [nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(a, 4 * a), nn.ReLU(), nn.Dropout(0.5), nn.Linear(4 * a, classes)]
    right = torch.randint(classes, (b,))
    return nn.Sequential(*layers), (torch.randn(b, 3, frames, size, size),), lambda out: F.cross_entropy(out.float(), right)


class HarmonicVoxels(nn.Module):
    """A room as a grid of densities and spherical harmonics: eight corners by index at each sample, colours by the ray's direction."""

    def __init__(self, n, samples):
        super().__init__()
        self.density, self.sh = nn.Parameter(torch.rand(n**3, 1) * 0.1), nn.Parameter(torch.randn(n**3, 27) * 0.1)
        self.n, self.samples = n, samples

    def forward(self, origin, way):
        t = torch.linspace(0.05, 1.6, self.samples, device=origin.device)
        t = t + torch.rand_like(t) * 0.02 if self.training else t
        p = (origin.unsqueeze(1) + way.unsqueeze(1) * t.view(-1, 1)).clamp(0, 0.9999) * (self.n - 1)
        low = p.floor().long()
        f = p - low
        density, sh = 0, 0
        for corner in range(8):
            off = torch.tensor([corner >> 2 & 1, corner >> 1 & 1, corner & 1], device=p.device)
            at = (low + off).clamp(max=self.n - 1)
            flat = (at[..., 0] * self.n + at[..., 1]) * self.n + at[..., 2]
            w = torch.where(off.bool(), f, 1 - f).prod(-1, keepdim=True)
            density, sh = density + w * self.density[flat], sh + w * self.sh[flat]
        x, y, z = way.unbind(-1)
        basis = torch.stack([torch.full_like(x, 0.2821), -0.4886 * y, 0.4886 * z, -0.4886 * x, 1.0925 * x * y, -1.0925 * y * z, 0.3154 * (2 * z * z - x * x - y * y), -1.0925 * x * z, 0.5463 * (x * x - y * y)], -1)  # fmt: skip
        colour = torch.sigmoid((sh.unflatten(-1, (3, 9)) * basis[:, None, None]).sum(-1))
        alpha = 1 - torch.exp(-F.relu(density.squeeze(-1)) * 1.55 / self.samples * 100)
        through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], 1), 1)[:, :-1]
        w = alpha * through
        return (w.unsqueeze(-1) * colour).sum(1) + (1 - w.sum(1, keepdim=True))


@model("rays and points", half=False)
def voxels_of_harmonics(small):
    rays, n, samples = (6, 4, 5) if small else (8192, 128, 96)
    seen = torch.rand(rays, 3)
    return (
        HarmonicVoxels(n, samples),
        (torch.rand(rays, 3) * 0.2, F.normalize(torch.rand(rays, 3), dim=-1)),
        lambda out: F.mse_loss(out, seen),
    )


class SoftPools(nn.Module):
    """Graphs as dense matrices: a net says to which cluster each node belongs; clusters are the nodes of the next graph."""

    def __init__(self, features, d, clusters, classes):
        super().__init__()
        sizes = [features, *[d] * len(clusters)]
        self.look = nn.ModuleList(nn.ModuleList([nn.Linear(a, d), nn.Linear(d, d)]) for a in sizes)
        self.sort = nn.ModuleList(nn.ModuleList([nn.Linear(a, d), nn.Linear(d, c)]) for a, c in zip(sizes, clusters))
        self.norm = nn.ModuleList(nn.BatchNorm1d(d) for _ in sizes)
        self.out = nn.Sequential(nn.Linear(d * len(sizes), d), nn.ReLU(), nn.Linear(d, classes))

    @staticmethod
    def convolve(layers, x, A):
        for i, layer in enumerate(layers):
            x = layer(A @ x)
            x = F.relu(x) if i == 0 else x
        return x

    def forward(self, x, A, mask):
        read, link, sure = [], 0, 0
        for i, look in enumerate(self.look):
            D = A.sum(-1).clamp_min(1).rsqrt()
            N = D.unsqueeze(-1) * (A + torch.eye(A.shape[-1], device=A.device, dtype=A.dtype)) * D.unsqueeze(-2)
            z = F.normalize(self.convolve(look, x, N), dim=-1)
            z = self.norm[i](z.flatten(0, 1)).view_as(z)
            if i == 0:
                z = z * mask.unsqueeze(-1)
            read.append(z.amax(1))
            if i < len(self.sort):
                s = self.convolve(self.sort[i], x, N).softmax(-1)
                s = s * mask.unsqueeze(-1) if i == 0 else s
                link = link + torch.linalg.norm((A - s @ s.mT).float(), dim=(1, 2)).mean()
                sure = sure - (s * torch.log(s + 1e-6)).sum(-1).mean()
                x, A = s.mT @ z, s.mT @ A @ s
        return self.out(torch.cat(read, -1)), link, sure


@model("graph")
def graphs_pooled_softly(small):
    b, n, features, d, clusters, classes = (2, 6, 3, 4, (3, 2), 2) if small else (64, 512, 89, 128, (128, 32), 6)
    A = (torch.rand(b, n, n) < 0.02).float()
    right, mask = torch.randint(classes, (b,)), (torch.arange(n) < torch.randint(n // 2, n + 1, (b, 1))).float()
    return SoftPools(features, d, clusters, classes), (torch.rand(b, n, features), A + A.mT, mask), lambda out: F.cross_entropy(out[0].float(), right) + 0.1 * out[1] + 0.1 * out[2]  # fmt: skip


class Curious(nn.Module):
    """A player that likes what it can't foresee: a net learns what a random one says of a frame; its error is a second reward."""

    def __init__(self, frames, actions, d):
        super().__init__()

        def eye(c, act):
            return nn.Sequential(nn.Conv2d(c, 32, 8, 4), act(), nn.Conv2d(32, 64, 4, 2), act(), nn.Conv2d(64, 64, 3, 1), act(), nn.Flatten(), nn.LazyLinear(d))  # fmt: skip

        self.see, self.goal, self.guess = eye(frames, nn.ReLU), eye(1, nn.LeakyReLU), nn.Sequential(eye(1, nn.LeakyReLU), nn.ReLU(), nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d))  # fmt: skip
        for net in (self.see, self.goal, self.guess):
            net(torch.zeros(1, frames if net is self.see else 1, 84, 84))
        self.goal.requires_grad_(False)
        self.pi, self.outer, self.inner = nn.Linear(d, actions), nn.Linear(d, 1), nn.Linear(d, 1)

    def forward(self, seen, action, old, reward, done, mean, spread):
        t, b = action.shape
        x = F.relu(self.see(seen.flatten(0, 1)))
        last = ((seen.flatten(0, 1)[:, -1:] - mean) / spread).clamp(-5, 5)
        off = (self.guess(last) - self.goal(last)).square().mean(1)
        log = self.pi(x).float().log_softmax(-1)
        values = torch.stack([self.outer(x), self.inner(x)]).squeeze(-1).float().view(2, t, b)
        with torch.no_grad():
            bonus = off.detach().view(t, b).float()
            rewards = torch.stack([reward.float(), bonus / bonus.std()])
            keep = torch.stack([1 - done.float(), torch.ones_like(bonus)])
            discount = torch.tensor([0.999, 0.99], device=x.device).view(2, 1)
            gain, gains = torch.zeros_like(values[:, 0]), []
            for i in reversed(range(t - 1)):
                delta = rewards[:, i] + discount * values[:, i + 1] * keep[:, i] - values[:, i]
                gain = delta + discount * 0.95 * keep[:, i] * gain
                gains.append(gain)
            gains = torch.stack(gains[::-1], 1)
            goals = gains + values[:, :-1]
            weigh = 2 * gains[0] + gains[1]
            weigh = (weigh - weigh.mean()) / (weigh.std() + 1e-8)
        chosen = log.gather(1, action.flatten().unsqueeze(1)).view(t, b)[:-1]
        ratio = (chosen - old[:-1].float()).exp()
        policy = -torch.min(ratio * weigh, ratio.clamp(0.9, 1.1) * weigh).mean()
        some = (torch.rand_like(off) < 0.25).to(off.dtype)
        return (
            policy
            + 0.5 * (values[:, :-1] - goals).square().mean()
            + (off * some).sum() / some.sum().clamp_min(1)
            + 0.001 * (log.exp() * log).sum(-1).mean()
        )


@model("reinforcement learning")
def curious_of_random_nets(small):
    t, b, actions, d = (3, 2, 3, 8) if small else (32, 32, 18, 512)
    inputs = torch.rand(t, b, 4, 84, 84), torch.randint(actions, (t, b)), torch.full((t, b), -2.9), torch.rand(t, b), (torch.rand(t, b) < 0.02).float(), torch.rand(1, 84, 84), torch.rand(1, 84, 84) + 0.5  # fmt: skip
    return Curious(4, actions, d), inputs, lambda out: out
