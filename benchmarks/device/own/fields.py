"""Fields, meshes, molecules, tables of customers: code from teams that know their subject better than PyTorch."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class Interests(nn.Module):
    """Several interests per user: capsules routed over what was clicked, a bag of profile tags, negatives from the batch."""

    def __init__(self, items, tags, d, k, rounds):
        super().__init__()
        self.items, self.tags = nn.Embedding(items, d, padding_idx=0), nn.EmbeddingBag(tags, d, mode="mean")
        self.bilinear, self.k, self.rounds = nn.Parameter(torch.randn(d, d) * d**-0.5), k, rounds
        self.fc = nn.Sequential(nn.Linear(2 * d, 4 * d), nn.ReLU(), nn.Linear(4 * d, d))

    @staticmethod
    def squash(x):
        n = x.square().sum(-1, keepdim=True)
        return n / (1 + n) * x * torch.rsqrt(n + 1e-8)

    def forward(self, history, tags, offsets, target):
        e = self.items(history)
        mask = (history > 0).unsqueeze(1)
        low = e @ self.bilinear
        fixed = low.detach()
        logits = torch.randn(len(e), self.k, history.shape[1], device=e.device, dtype=e.dtype)
        for i in range(self.rounds):
            weights = torch.where(mask, logits, torch.full_like(logits, -(2.0**15))).softmax(-1)
            used = low if i == self.rounds - 1 else fixed
            capsules = self.squash(torch.einsum("bkl,bld->bkd", weights.to(used.dtype), used))
            if i < self.rounds - 1:
                logits = logits + torch.einsum("bkd,bld->bkl", capsules, fixed)
        profile = self.tags(tags, offsets).unsqueeze(1).expand(-1, self.k, -1)
        users = F.normalize(self.fc(torch.cat([capsules, profile.to(capsules.dtype)], -1)), dim=-1)
        wanted = F.normalize(self.items(target), dim=-1)
        return torch.einsum("bkd,nd->bkn", users, wanted.to(users.dtype)).amax(1) / 0.07


@model("recommender")
def routed_interests(small):
    batch, items, tags, length, each, d = (4, 50, 20, 5, 2, 8) if small else (4096, 500_000, 50_000, 50, 12, 64)
    inputs = (torch.randint(items, (batch, length)), torch.randint(tags, (batch * each,)), torch.arange(0, batch * each, each), torch.randint(1, items, (batch,)))  # fmt: skip
    labels = torch.arange(batch)
    return Interests(items, tags, d, 4, 3), inputs, lambda out: F.cross_entropy(out, labels)


class SpectralMixer(nn.Module):
    """Tokens mixed in Fourier space by small complex products in blocks, shrunk towards zero."""

    def __init__(self, d, blocks, shrink=0.01):
        super().__init__()
        self.n, self.size, self.shrink = blocks, d // blocks, shrink
        self.w1, self.w2 = (nn.Parameter(0.02 * torch.randn(2, blocks, self.size, self.size)) for _ in range(2))
        self.b1, self.b2 = (nn.Parameter(0.02 * torch.randn(2, blocks, self.size)) for _ in range(2))

    def forward(self, x):
        b, h, w, c = x.shape
        f = torch.fft.rfft2(x.float(), dim=(1, 2), norm="ortho").view(b, h, w // 2 + 1, self.n, self.size)

        def mul(a, v):
            return torch.einsum("...bi,bio->...bo", a, v.float())

        re = F.relu(mul(f.real, self.w1[0]) - mul(f.imag, self.w1[1]) + self.b1[0])
        im = F.relu(mul(f.imag, self.w1[0]) + mul(f.real, self.w1[1]) + self.b1[1])
        re2 = mul(re.float(), self.w2[0]) - mul(im.float(), self.w2[1]) + self.b2[0]
        im2 = mul(im.float(), self.w2[0]) + mul(re.float(), self.w2[1]) + self.b2[1]
        y = torch.view_as_complex(F.softshrink(torch.stack([re2, im2], -1).float(), self.shrink))
        return torch.fft.irfft2(y.reshape(b, h, w // 2 + 1, c), s=(h, w), dim=(1, 2), norm="ortho").type_as(x)


class WeatherBlock(nn.Module):
    def __init__(self, d, blocks):
        super().__init__()
        self.norm1, self.filter, self.norm2 = nn.LayerNorm(d), SpectralMixer(d, blocks), nn.LayerNorm(d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        y = self.filter(self.norm1(x)) + x
        return y + self.mlp(self.norm2(y))


class Weather(nn.Module):
    def __init__(self, channels, size, patch, d, depth, blocks):
        super().__init__()
        self.patch, self.c = patch, channels
        self.embed, self.pos = nn.Conv2d(channels, d, patch, patch), nn.Parameter(torch.zeros(1, size[0] // patch, size[1] // patch, d))
        self.blocks, self.head = nn.ModuleList(WeatherBlock(d, blocks) for _ in range(depth)), nn.Linear(d, channels * patch**2, bias=False)

    def forward(self, state):
        x = self.embed(state).permute(0, 2, 3, 1) + self.pos
        for block in self.blocks:
            x = block(x)
        x = self.head(x).unflatten(-1, (self.patch, self.patch, self.c))
        return x.permute(0, 5, 1, 3, 2, 4).reshape(state.shape)


@model("weather")
def spectral_weather_step(small):
    """Twenty variables on a globe of latitudes, six hours on; errors weigh less towards the poles."""
    batch, channels, size, patch, d, depth, blocks = (1, 3, (8, 16), 2, 16, 1, 2) if small else (2, 20, (720, 1440), 8, 512, 6, 8)
    target = torch.randn(batch, channels, *size)
    weight = torch.cos(torch.linspace(-math.pi / 2, math.pi / 2, size[0])).view(-1, 1)
    net = Weather(channels, size, patch, d, depth, blocks)
    return net, (torch.randn(batch, channels, *size),), lambda out: ((out - target) ** 2 * weight).mean().sqrt()


def mlp(a, b, norm=True):
    layers = [nn.Linear(a, b), nn.ReLU(), nn.Linear(b, b), nn.ReLU(), nn.Linear(b, b)]
    return nn.Sequential(*layers, nn.LayerNorm(b)) if norm else nn.Sequential(*layers)


class Normaliser(nn.Module):
    def __init__(self, size):
        super().__init__()
        for name in ("total", "squares"):
            self.register_buffer(name, torch.zeros(size))
        self.register_buffer("count", torch.ones(()))

    def forward(self, x):
        if self.training:
            self.count += len(x)
            self.total += x.detach().sum(0)
            self.squares += x.detach().square().sum(0)
        mean = self.total / self.count
        std = (self.squares / self.count - mean**2).clamp(min=0).sqrt().clamp(min=1e-8)
        return (x - mean) / std


class MeshSimulator(nn.Module):
    """Cloth or flow on a mesh: edges and nodes encoded, updated in turns, decoded to accelerations."""

    def __init__(self, d, steps):
        super().__init__()
        self.node_norm, self.edge_norm = Normaliser(12), Normaliser(7)
        self.node_in, self.edge_in = mlp(12, d), mlp(7, d)
        self.edge_steps, self.node_steps = (
            nn.ModuleList(mlp(3 * d, d) for _ in range(steps)),
            nn.ModuleList(mlp(2 * d, d) for _ in range(steps)),
        )
        self.decode = nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, 3))

    def forward(self, world, mesh, velocity, kind, senders, receivers):
        node = torch.cat([velocity, F.one_hot(kind, 9).to(velocity.dtype)], -1)
        gap, flat = world[senders] - world[receivers], mesh[senders] - mesh[receivers]
        edge = torch.cat([gap, gap.norm(dim=-1, keepdim=True), flat, flat.norm(dim=-1, keepdim=True)], -1)
        h, e = self.node_in(self.node_norm(node)), self.edge_in(self.edge_norm(edge))
        for edge_step, node_step in zip(self.edge_steps, self.node_steps):
            new_e = edge_step(torch.cat([h[senders], h[receivers], e], -1))
            pooled = torch.zeros(len(h), h.shape[1], device=h.device, dtype=new_e.dtype)
            pooled.scatter_add_(0, receivers.unsqueeze(-1).expand_as(new_e), new_e)
            h, e = h + node_step(torch.cat([h, pooled.to(h.dtype)], -1)), e + new_e
        return world + velocity + self.decode(h)


@model("graph")
def mesh_graph_simulator(small):
    nodes, edges, d, steps = (20, 60, 8, 2) if small else (30_000, 180_000, 128, 8)
    inputs = (torch.randn(nodes, 3), torch.rand(nodes, 2), torch.randn(nodes, 3), torch.randint(9, (nodes,)), torch.randint(nodes, (edges,)), torch.randint(nodes, (edges,)))  # fmt: skip
    truth, free = torch.randn(nodes, 3), torch.rand(nodes, 1) > 0.1
    return MeshSimulator(d, steps), inputs, lambda out: torch.where(free, (out - truth) ** 2, 0.0).sum() / nodes


def grad(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


class FlowPast(nn.Module):
    """Steady flow: velocity and pressure from a gated net of Fourier features, and the residuals of Navier and Stokes."""

    def __init__(self, width, depth, nu=0.01):
        super().__init__()
        self.register_buffer("freq", torch.randn(2, width // 2))
        self.u, self.v = nn.Linear(width, width), nn.Linear(width, width)
        self.hidden, self.out, self.nu = nn.ModuleList(nn.Linear(width, width) for _ in range(depth)), nn.Linear(width, 3), nu
        self.slope = nn.Parameter(torch.ones(depth))

    def fields(self, xy):
        z = xy @ self.freq
        h = torch.cat([z.sin(), z.cos()], -1)
        u, v = torch.tanh(self.u(h)), torch.tanh(self.v(h))
        for i, layer in enumerate(self.hidden):
            g = torch.tanh(self.slope[i] * layer(h))
            h = g * u + (1 - g) * v
        return self.out(h)

    def forward(self, inside, wall):
        with torch.enable_grad():
            x, y = (inside[:, i : i + 1].detach().requires_grad_() for i in (0, 1))
            u, v, p = self.fields(torch.cat([x, y], 1)).split(1, -1)
            ux, uy, vx, vy, px, py = (grad(f, s) for f in (u, v, p) for s in (x, y))
            uxx, uyy, vxx, vyy = grad(ux, x), grad(uy, y), grad(vx, x), grad(vy, y)
            momentum_x = u * ux + v * uy + px - self.nu * (uxx + uyy)
            momentum_y = u * vx + v * vy + py - self.nu * (vxx + vyy)
            slip = self.fields(wall)[:, :2]
            return (momentum_x**2).mean() + (momentum_y**2).mean() + ((ux + vy) ** 2).mean() + 10 * (slip**2).mean()


@model("physics")
def steady_flow_residual(small):
    points, walls, width, depth = (8, 4, 8, 2) if small else (16_384, 4096, 256, 4)
    return FlowPast(width, depth), (torch.rand(points, 2), torch.rand(walls, 2)), lambda out: out


class PointAttention(nn.Module):
    """Residues with frames of their own attend by features, by pairs, and by distances between points carried in the frames."""

    def __init__(self, c, cz, h, hidden=16, qp=4, vp=8):
        super().__init__()
        self.h, self.hid, self.qp, self.vp = h, hidden, qp, vp
        self.q, self.kv = nn.Linear(c, h * hidden), nn.Linear(c, 2 * h * hidden)
        self.q_points, self.kv_points = nn.Linear(c, h * qp * 3), nn.Linear(c, h * (qp + vp) * 3)
        self.b, self.weights = nn.Linear(cz, h), nn.Parameter(torch.full((h,), 0.54))
        self.out = nn.Linear(h * (cz + hidden + vp * 4), c)

    def forward(self, s, z, rot, shift):
        b, n, _ = s.shape
        q = self.q(s).view(b, n, self.h, -1)
        k, v = self.kv(s).view(b, n, self.h, -1).chunk(2, -1)

        def placed(points):
            local = points.view(b, n, -1, 3)
            return (torch.einsum("bnij,bnpj->bnpi", rot, local) + shift.unsqueeze(2)).view(b, n, self.h, -1, 3)

        qp = placed(self.q_points(s))
        kp, vp = placed(self.kv_points(s)).split([self.qp, self.vp], -2)
        a = torch.einsum("bihc,bjhc->bhij", q, k) * math.sqrt(1 / (3 * self.hid)) + math.sqrt(1 / 3) * self.b(z).permute(0, 3, 1, 2)
        d2 = ((qp.unsqueeze(2) - kp.unsqueeze(1)) ** 2).sum(-1).sum(-1)
        a = a - 0.5 * math.sqrt(2 / (27 * self.qp)) * (F.softplus(self.weights) * d2).permute(0, 3, 1, 2)
        a = a.softmax(-1)
        o = torch.einsum("bhij,bjhc->bihc", a, v).flatten(2)
        op = torch.einsum("bhij,bjhpx->bihpx", a, vp).flatten(2, 3)
        op = torch.einsum("bnji,bnpj->bnpi", rot, op - shift.unsqueeze(2))
        size = (op.square().sum(-1) + 1e-8).sqrt()
        pairs = torch.einsum("bhij,bijc->bihc", a, z).flatten(2)
        return self.out(torch.cat([o, op.flatten(2), size, pairs], -1))


def to_rotation(quaternion):
    w, x, y, z = F.normalize(quaternion, dim=-1).unbind(-1)
    rows = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), 1 - 2 * (x * x + z * z),
            2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]  # fmt: skip
    return torch.stack(rows, -1).unflatten(-1, (3, 3))


class Folder(nn.Module):
    def __init__(self, c, cz, heads, rounds):
        super().__init__()
        self.ns, self.nz, self.ipa, self.after = nn.LayerNorm(c), nn.LayerNorm(cz), PointAttention(c, cz, heads), nn.LayerNorm(c)
        self.move = nn.Sequential(nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c), nn.ReLU(), nn.Linear(c, c))
        self.norm, self.step, self.rounds = nn.LayerNorm(c), nn.Linear(c, 6), rounds

    def forward(self, s, z):
        s, z = self.ns(s), self.nz(z)
        rot = torch.eye(3, device=s.device, dtype=s.dtype).expand(*s.shape[:2], 3, 3)
        shift = torch.zeros(*s.shape[:2], 3, device=s.device, dtype=s.dtype)
        path = []
        for _ in range(self.rounds):
            s = self.after(s + self.ipa(s, z, rot, shift))
            s = self.norm(s + self.move(s))
            turn, go = self.step(s).split(3, -1)
            shift = shift + torch.einsum("bnij,bnj->bni", rot, go)
            rot = rot @ to_rotation(torch.cat([torch.ones_like(turn[..., :1]), turn], -1)).to(rot.dtype)
            path.append((rot, shift))
            rot = rot.detach()
        return path


@model("proteins")
def folding_frames(small):
    batch, n, c, cz, heads, rounds = (1, 5, 16, 8, 2, 2) if small else (2, 256, 384, 128, 12, 6)
    truth = torch.randn(batch, n, 3)

    def aligned_error(path):
        cost = 0.0
        for rot, shift in path:
            seen = torch.einsum("bnji,bnmj->bnmi", rot, shift.unsqueeze(1) - shift.unsqueeze(2))
            cost = cost + ((seen - truth.unsqueeze(1)).square().sum(-1) + 1e-4).sqrt().clamp(max=10).mean()
        return cost / len(path)

    return Folder(c, cz, heads, rounds), (torch.randn(batch, n, c), torch.randn(batch, n, n, cz)), aligned_error
