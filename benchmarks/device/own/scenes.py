"""Scenes and what moves in them: views from above, rays, clips, matched tracks, filters, an actor that learns."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class LiftSplat(nn.Module):
    """Six cameras to one map: a distribution over depth per pixel, lifted, summed where it falls on the ground."""

    def __init__(self, w, channels, bins, cells):
        super().__init__()

        def stage(a, b):
            return nn.Sequential(nn.Conv2d(a, b, 3, 2, 1, bias=False), nn.BatchNorm2d(b), nn.SiLU(), nn.Conv2d(b, b, 3, 1, 1, bias=False), nn.BatchNorm2d(b), nn.SiLU())  # fmt: skip

        self.trunk = nn.Sequential(stage(3, w), stage(w, 2 * w), stage(2 * w, 4 * w), stage(4 * w, 8 * w))
        self.depthnet = nn.Conv2d(8 * w, bins + channels, 1)
        self.C, self.D, self.cells = channels, bins, cells
        self.bev1 = nn.Sequential(stage(channels, 2 * w), stage(2 * w, 4 * w))
        self.bev2 = nn.Sequential(
            nn.Conv2d(4 * w + channels, 2 * w, 3, padding=1, bias=False), nn.BatchNorm2d(2 * w), nn.ReLU(True), nn.Conv2d(2 * w, 4, 1)
        )

    def geometry(self, intrinsics, rotations, shifts, h, w):
        dev = intrinsics.device
        ds = torch.linspace(4.0, 45.0, self.D, device=dev).view(-1, 1, 1).expand(-1, h, w)
        xs = torch.linspace(0, 16.0 * w - 1, w, device=dev).view(1, 1, w).expand(self.D, h, w)
        ys = torch.linspace(0, 16.0 * h - 1, h, device=dev).view(1, h, 1).expand(self.D, h, w)
        frustum = torch.stack((xs * ds, ys * ds, ds), -1)
        combine = rotations.float() @ torch.inverse(intrinsics.float())
        return torch.einsum("bnij,dhwj->bndhwi", combine, frustum) + shifts.float()[:, :, None, None, None]

    def forward(self, images, intrinsics, rotations, shifts):
        b, n = images.shape[:2]
        x = self.depthnet(self.trunk(images.flatten(0, 1)))
        depth = x[:, : self.D].softmax(dim=1)
        lifted = depth.unsqueeze(1) * x[:, self.D :].unsqueeze(2)
        h, w = x.shape[-2:]
        lifted = lifted.view(b, n, self.C, self.D, h, w).permute(0, 1, 3, 4, 5, 2)
        place = (self.geometry(intrinsics, rotations, shifts, h, w)[..., :2] / 0.5 + self.cells / 2).long()
        inside = ((place >= 0) & (place < self.cells)).all(-1)
        which = torch.arange(b, device=x.device).view(b, 1, 1, 1, 1)
        rank = (which * self.cells + place[..., 1]) * self.cells + place[..., 0]
        rank = torch.where(inside, rank, b * self.cells**2).reshape(-1)
        ground = lifted.new_zeros(b * self.cells**2 + 1, self.C).index_add_(0, rank, lifted.reshape(-1, self.C))
        ground = ground[:-1].view(b, self.cells, self.cells, self.C).permute(0, 3, 1, 2).contiguous()
        low = F.interpolate(self.bev1(ground), size=ground.shape[-2:], mode="bilinear", align_corners=True)
        return self.bev2(torch.cat([low, ground], 1))


@model("detection")
def cameras_to_birds_eye(small):
    batch, (h, w), width, channels, bins, cells = (1, (32, 48), 4, 8, 5, 16) if small else (4, (256, 704), 48, 64, 41, 200)
    intrinsics = torch.eye(3) * torch.tensor([w / 2.0, w / 2.0, 1.0]) + torch.tensor([[0, 0, w / 2], [0, 0, h / 2], [0, 0, 0]])
    inputs = (
        torch.randn(batch, 6, 3, h, w),
        intrinsics.expand(batch, 6, 3, 3).contiguous(),
        torch.randn(batch, 6, 3, 3),
        torch.randn(batch, 6, 3),
    )
    target = (torch.rand(batch, 4, cells, cells) > 0.9).float()
    weight = torch.tensor(2.13)
    return LiftSplat(width, channels, bins, cells), inputs, lambda out: F.binary_cross_entropy_with_logits(out, target, pos_weight=weight)


class Triplane(nn.Module):
    """Three planes of features instead of a volume; rays marched coarsely, then again where the weight was."""

    def __init__(self, channels, size, hidden, steps):
        super().__init__()
        self.planes = nn.Parameter(torch.randn(3, channels, size, size) * 0.1)
        self.mlp = nn.Sequential(nn.Linear(channels, hidden), nn.Softplus(), nn.Linear(hidden, hidden), nn.Softplus(), nn.Linear(hidden, 4))
        self.steps = steps

    def sample(self, points):
        n = points.shape[0] * points.shape[1]
        xy, xz, yz = points[..., [0, 1]], points[..., [0, 2]], points[..., [2, 1]]
        grid = torch.stack([xy, xz, yz]).view(3, n, 1, 2)
        feats = F.grid_sample(self.planes, grid.to(self.planes.dtype), mode="bilinear", padding_mode="zeros", align_corners=False)
        out = self.mlp(feats.mean(0).squeeze(-1).t()).view(*points.shape[:2], 4)
        return torch.sigmoid(out[..., :3]), F.softplus(out[..., 3] - 1)

    @staticmethod
    def weigh(sigma, z):
        gap = torch.cat([z[:, 1:] - z[:, :-1], torch.full_like(z[:, :1], 1e2)], -1)
        alpha = 1 - torch.exp(-sigma * gap)
        through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-10], -1), -1)[:, :-1]
        return alpha * through

    @torch.no_grad()
    def importance(self, z, weights):
        mids = 0.5 * (z[:, 1:] + z[:, :-1])
        pdf = weights[:, 1:-1].float() + 1e-5
        cdf = torch.cumsum(pdf / pdf.sum(-1, keepdim=True), -1)
        cdf = torch.cat([torch.zeros_like(cdf[:, :1]), cdf], -1)
        u = torch.rand(len(z), self.steps, device=z.device)
        i = torch.searchsorted(cdf, u, right=True)
        low, high = (i - 1).clamp(min=0), i.clamp(max=cdf.shape[-1] - 1)
        c0, c1 = cdf.gather(1, low), cdf.gather(1, high)
        m0, m1 = mids.float().gather(1, low), mids.float().gather(1, high)
        span = torch.where(c1 - c0 < 1e-5, torch.ones_like(c0), c1 - c0)
        return (m0 + (u - c0) / span * (m1 - m0)).to(z.dtype)

    def forward(self, origins, directions):
        z = torch.linspace(0.2, 3.0, self.steps, device=origins.device, dtype=origins.dtype).expand(len(origins), -1)
        z = z + torch.rand_like(z) * (2.8 / self.steps)
        colour, sigma = self.sample(origins[:, None] + directions[:, None] * z[..., None])
        fine = self.importance(z, self.weigh(sigma, z))
        colour2, sigma2 = self.sample(origins[:, None] + directions[:, None] * fine[..., None])
        z, order = torch.sort(torch.cat([z, fine], -1), dim=-1)
        sigma = torch.gather(torch.cat([sigma, sigma2], 1), 1, order)
        colour = torch.gather(torch.cat([colour, colour2], 1), 1, order.unsqueeze(-1).expand(-1, -1, 3))
        w = self.weigh(sigma, z)
        return (w.unsqueeze(-1) * colour).sum(1) + 1 - w.sum(1, keepdim=True), (w * z).sum(1)


@model("rays and points")
def triplane_importance_rays(small):
    rays, channels, size, hidden, steps = (8, 4, 16, 8, 6) if small else (16_384, 32, 256, 64, 48)
    seen = torch.rand(rays, 3)
    inputs = (torch.randn(rays, 3) * 0.1, F.normalize(torch.randn(rays, 3), dim=-1))
    return Triplane(channels, size, hidden, steps), inputs, lambda out: F.mse_loss(out[0], seen) + 1e-3 * out[1].std()


class ShiftBlock(nn.Module):
    def __init__(self, cin, mid, frames, stride):
        super().__init__()
        self.t, self.fold = frames, cin // 8
        self.conv1, self.bn1 = nn.Conv2d(cin, mid, 1, bias=False), nn.BatchNorm2d(mid)
        self.conv2, self.bn2 = nn.Conv2d(mid, mid, 3, stride, 1, bias=False), nn.BatchNorm2d(mid)
        self.conv3, self.bn3 = nn.Conv2d(mid, 4 * mid, 1, bias=False), nn.BatchNorm2d(4 * mid)
        self.down = None
        if stride != 1 or cin != 4 * mid:
            self.down = nn.Sequential(nn.Conv2d(cin, 4 * mid, 1, stride, bias=False), nn.BatchNorm2d(4 * mid))

    def forward(self, x):
        clip = x.view(-1, self.t, *x.shape[1:])
        moved = torch.zeros_like(clip)
        moved[:, :-1, : self.fold] = clip[:, 1:, : self.fold]
        moved[:, 1:, self.fold : 2 * self.fold] = clip[:, :-1, self.fold : 2 * self.fold]
        moved[:, :, 2 * self.fold :] = clip[:, :, 2 * self.fold :]
        y = F.relu(self.bn1(self.conv1(moved.view_as(x))), inplace=True)
        y = F.relu(self.bn2(self.conv2(y)), inplace=True)
        y = self.bn3(self.conv3(y))
        return F.relu(y + (x if self.down is None else self.down(x)))


class ShiftNet(nn.Module):
    """A residual net over frames; an eighth of the channels looks one frame ahead and an eighth one back."""

    def __init__(self, widths, depths, frames, actions):
        super().__init__()
        last = widths[0]
        self.stem = nn.Sequential(nn.Conv2d(3, last, 7, 2, 3, bias=False), nn.BatchNorm2d(last), nn.ReLU(True), nn.MaxPool2d(3, 2, 1))
        blocks = []
        for i, (w, n) in enumerate(zip(widths, depths)):
            for j in range(n):
                blocks.append(ShiftBlock(last, w, frames, 2 if i and not j else 1))
                last = 4 * w
        self.blocks, self.drop, self.fc, self.t = nn.Sequential(*blocks), nn.Dropout(0.5), nn.Linear(last, actions), frames

    def forward(self, clip):
        x = self.blocks(self.stem(clip.flatten(0, 1))).mean((2, 3))
        return self.fc(self.drop(x)).view(-1, self.t, self.fc.out_features).mean(1)


@model("video")
def shifted_clip_classifier(small):
    batch, frames, size, widths, depths = (1, 4, 32, (8, 16), (1, 1)) if small else (8, 8, 224, (64, 128, 256, 512), (2, 2, 3, 2))
    target = torch.randint(174, (batch,))
    return ShiftNet(widths, depths, frames, 174), (torch.randn(batch, frames, 3, size, size),), lambda out: F.cross_entropy(out, target)


class MatchLayer(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.dim = heads, d // heads
        self.proj = nn.ModuleList([nn.Conv1d(d, d, 1) for _ in range(3)])
        self.merge = nn.Conv1d(d, d, 1)
        self.mlp = nn.Sequential(nn.Conv1d(2 * d, 2 * d, 1), nn.BatchNorm1d(2 * d), nn.ReLU(), nn.Conv1d(2 * d, d, 1))

    def forward(self, x, source):
        b = x.size(0)
        q, k, v = (net(s).view(b, self.dim, self.heads, -1) for net, s in zip(self.proj, (x, source, source)))
        scores = torch.einsum("bdhn,bdhm->bhnm", q, k) / self.dim**0.5
        message = torch.einsum("bhnm,bdhm->bdhn", F.softmax(scores, dim=-1), v)
        return self.mlp(torch.cat([x, self.merge(message.contiguous().view(b, -1, x.size(2)))], dim=1))


class TrackMatcher(nn.Module):
    """Who is who in the next frame: attention within and across, then Sinkhorn's iterations with a dustbin."""

    def __init__(self, d, layers, iterations):
        super().__init__()
        self.place = nn.Sequential(nn.Conv1d(5, 64, 1), nn.BatchNorm1d(64), nn.ReLU(), nn.Conv1d(64, d, 1))
        self.layers = nn.ModuleList(MatchLayer(d, 4) for _ in range(layers))
        self.final, self.bin, self.iterations = nn.Conv1d(d, d, 1), nn.Parameter(torch.tensor(1.0)), iterations

    def forward(self, looks0, boxes0, looks1, boxes1):
        a, b = looks0 + self.place(boxes0), looks1 + self.place(boxes1)
        for i, layer in enumerate(self.layers):
            s, t = (b, a) if i % 2 else (a, b)
            a, b = a + layer(a, s), b + layer(b, t)
        scores = torch.einsum("bdn,bdm->bnm", self.final(a), self.final(b)) / a.shape[1] ** 0.5
        n, m = scores.shape[1:]
        z = torch.cat([scores, self.bin.expand(len(a), n, 1)], -1)
        z = torch.cat([z, self.bin.expand(len(a), 1, m + 1)], 1).float()
        norm = -math.log(n + m)
        mu = torch.full((n + 1,), norm, device=z.device)
        nu = torch.full((m + 1,), norm, device=z.device)
        mu[-1], nu[-1] = norm + math.log(m), norm + math.log(n)
        u, v = torch.zeros_like(z[:, :, 0]), torch.zeros_like(z[:, 0])
        for _ in range(self.iterations):
            u = mu - torch.logsumexp(z + v.unsqueeze(1), dim=2)
            v = nu - torch.logsumexp(z + u.unsqueeze(2), dim=1)
        return z + u.unsqueeze(2) + v.unsqueeze(1) - norm


@model("tracking")
def sinkhorn_track_matcher(small):
    batch, n, m, d, layers, iterations = (2, 6, 5, 16, 2, 4) if small else (16, 512, 480, 256, 8, 40)
    truth = torch.randint(m + 1, (batch, n))
    inputs = (torch.randn(batch, d, n), torch.rand(batch, 5, n), torch.randn(batch, d, m), torch.rand(batch, 5, m))
    return TrackMatcher(d, layers, iterations), inputs, lambda z: -z[:, :-1].gather(2, truth.unsqueeze(-1)).mean()


class TurningFilter:
    """An unscented filter for many cars at once: sigma points from a Cholesky factor, moved along arcs, a gain by a solve."""

    def __init__(self, n=5, alpha=0.5, beta=2.0, kappa=0.0, dt=0.1):
        self.n, self.dt = n, dt
        self.lam = alpha**2 * (n + kappa) - n
        self.wm0, self.wc0, self.w = self.lam / (n + self.lam), self.lam / (n + self.lam) + 1 - alpha**2 + beta, 0.5 / (n + self.lam)

    def sigmas(self, mean, cov):
        root = torch.linalg.cholesky((self.n + self.lam) * cov)
        return torch.cat([mean.unsqueeze(1), mean.unsqueeze(1) + root.mT, mean.unsqueeze(1) - root.mT], 1)

    def move(self, s):
        x, y, v, yaw, rate = s.unbind(-1)
        safe = torch.where(rate.abs() < 1e-3, torch.full_like(rate, 1e-3), rate)
        nx = x + v / safe * (torch.sin(yaw + safe * self.dt) - torch.sin(yaw))
        ny = y + v / safe * (torch.cos(yaw) - torch.cos(yaw + safe * self.dt))
        return torch.stack([nx, ny, v, yaw + rate * self.dt, rate], -1)

    def gathered(self, points, weights_m, weights_c, noise):
        mean = torch.einsum("s,bsi->bi", weights_m, points)
        d = points - mean.unsqueeze(1)
        return mean, d, torch.einsum("s,bsi,bsj->bij", weights_c, d, d) + noise

    def __call__(self, mean, cov, ranges, q, r):
        wm = torch.full((2 * self.n + 1,), self.w, device=mean.device)
        wc = wm.clone()
        wm[0], wc[0] = self.wm0, self.wc0
        track = []
        for z in ranges.unbind(1):
            s = self.move(self.sigmas(mean, cov))
            mean, dx, cov = self.gathered(s, wm, wc, q)
            seen = torch.stack([s[..., 0].hypot(s[..., 1]), torch.atan2(s[..., 1], s[..., 0])], -1)
            guess, dz, innovation = self.gathered(seen, wm, wc, r)
            cross = torch.einsum("s,bsi,bsj->bij", wc, dx, dz)
            gain = torch.linalg.solve(innovation, cross.mT).mT
            gap = z - guess
            gap = torch.stack([gap[:, 0], torch.remainder(gap[:, 1] + math.pi, 2 * math.pi) - math.pi], -1)
            mean = mean + (gain @ gap.unsqueeze(-1)).squeeze(-1)
            cov = cov - gain @ innovation @ gain.mT
            cov = 0.5 * (cov + cov.mT) + 1e-5 * torch.eye(self.n, device=cov.device)
            track.append(mean)
        return torch.stack(track, 1), cov


@model("Kalman filter", half=False)
def unscented_turning_filter(small):
    cars, steps = (4, 3) if small else (8192, 25)
    mean = torch.randn(cars, 5) + torch.tensor([20.0, 20.0, 5.0, 0.0, 0.1])
    q, r = torch.eye(5) * 0.05, torch.eye(2) * torch.tensor([0.3, 0.03])
    inputs = (mean, torch.eye(5).repeat(cars, 1, 1), torch.rand(cars, steps, 2) * torch.tensor([30.0, 1.5]), q, r)
    return TurningFilter(), inputs, None
