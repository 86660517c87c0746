"""Things with neighbours: atoms by the bonds between them, sensors along roads, water on a sphere's patch, a potential on many grids."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from own.listing import model


class BiasedSelfAttention(nn.Module):
    def __init__(self, dim: int, heads: int, dropout: float = 0.1):
        super().__init__()
        self.heads, self.scaling, self.dropout = heads, (dim // heads) ** -0.5, dropout
        self.in_proj, self.out_proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)

    def forward(self, x: Tensor, bias: Tensor, pad: Tensor) -> Tensor:
        bsz, n, dim = x.size()
        q, k, v = self.in_proj(x).chunk(3, dim=-1)
        q = (q * self.scaling).contiguous().view(bsz, n, self.heads, -1).transpose(1, 2)
        k = k.contiguous().view(bsz, n, self.heads, -1).transpose(1, 2)
        v = v.contiguous().view(bsz, n, self.heads, -1).transpose(1, 2)
        attn = torch.matmul(q, k.transpose(-1, -2)) + bias
        attn = attn.masked_fill(pad[:, None, None, :], float("-inf"))
        attn = F.dropout(attn.float().softmax(-1).type_as(attn), self.dropout, self.training)
        return self.out_proj(torch.matmul(attn, v).transpose(1, 2).reshape(bsz, n, dim))


class MoleculeLayer(nn.Module):
    def __init__(self, dim: int, heads: int, ffn: int):
        super().__init__()
        self.attn = BiasedSelfAttention(dim, heads)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.fc1, self.fc2 = nn.Linear(dim, ffn), nn.Linear(ffn, dim)

    def forward(self, x, bias, pad):
        x = self.norm1(x + self.attn(x, bias, pad))
        return self.norm2(x + F.dropout(self.fc2(F.gelu(self.fc1(x))), 0.1, self.training))


class MoleculeTransformer(nn.Module):
    """Attention among atoms, with a bias for how many bonds apart two are and for the bonds on the way."""

    def __init__(self, dim: int, heads: int, ffn: int, layers: int, farthest: int = 20, hops: int = 4):
        super().__init__()
        self.atom = nn.Embedding(512 * 9 + 1, dim, padding_idx=0)
        self.degree = nn.Embedding(64, dim, padding_idx=0)
        self.graph_token = nn.Parameter(torch.randn(1, 1, dim) * 0.02)
        self.distance = nn.Embedding(farthest + 2, heads, padding_idx=0)
        self.virtual = nn.Parameter(torch.zeros(1, heads, 1))
        self.bond = nn.Embedding(48 * 3 + 1, heads, padding_idx=0)
        self.hop_weight = nn.Parameter(torch.randn(hops, heads, heads) * heads**-0.5)
        self.layers = nn.ModuleList([MoleculeLayer(dim, heads, ffn) for _ in range(layers)])
        self.head = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim), nn.Linear(dim, 1))

    def bias(self, spatial: Tensor, paths: Tensor) -> Tensor:
        b, n, _ = spatial.shape
        on_the_way = self.bond(paths).mean(-2)  # b n n hops heads
        on_the_way = torch.einsum("bijph,phk->bijk", on_the_way, self.hop_weight)
        steps = (spatial - 1).clamp(1, paths.shape[3]).unsqueeze(-1)
        inner = (self.distance(spatial) + on_the_way / steps.to(on_the_way.dtype)).permute(0, 3, 1, 2)
        full = inner.new_zeros(b, inner.shape[1], n + 1, n + 1)
        full[:, :, 1:, 1:] = inner
        full[:, :, 1:, 0] = full[:, :, 1:, 0] + self.virtual
        full[:, :, 0, :] = full[:, :, 0, :] + self.virtual
        return full

    def forward(self, atoms: Tensor, degree: Tensor, spatial: Tensor, paths: Tensor) -> Tensor:
        x = self.atom(atoms).sum(dim=-2) + self.degree(degree)
        x = torch.cat([self.graph_token.expand(len(x), -1, -1), x], dim=1)
        pad = F.pad(atoms[:, :, 0].eq(0), (1, 0), value=False)
        bias = self.bias(spatial, paths)
        for layer in self.layers:
            x = layer(x, bias, pad)
        return self.head(x[:, 0]).squeeze(-1)


@model("molecules")
def bonds_between_bias_attention(small):
    b, n, dim, heads, ffn, layers = (2, 5, 16, 4, 16, 1) if small else (128, 48, 512, 32, 512, 12)
    atoms = torch.randint(1, 512 * 9, (b, n, 9))
    energy = torch.randn(b)
    inputs = atoms, torch.randint(1, 6, (b, n)), torch.randint(1, 21, (b, n, n)), torch.randint(144, (b, n, n, 4, 3))
    return MoleculeTransformer(dim, heads, ffn, layers), inputs, lambda out: F.l1_loss(out, energy)


class DiffusionGRUCell(nn.Module):
    """A GRU whose products are walks along the roads, downstream and upstream."""

    def __init__(self, inputs, units, hops):
        super().__init__()
        self.hops, self.units = hops, units
        wide = (inputs + units) * (2 * hops + 1)
        self.ru = nn.Linear(wide, 2 * units)
        self.c = nn.Linear(wide, units)
        nn.init.ones_(self.ru.bias)

    def walk(self, x, supports):
        out = [x]
        for s in supports:
            x0, x1 = x, s @ x
            out.append(x1)
            for _ in range(2, self.hops + 1):
                x0, x1 = x1, 2 * (s @ x1) - x0
                out.append(x1)
        return torch.cat(out, dim=-1)

    def forward(self, x, h, supports):
        r, u = torch.sigmoid(self.ru(self.walk(torch.cat([x, h], -1), supports))).split(self.units, dim=-1)
        c = torch.tanh(self.c(self.walk(torch.cat([x, r * h], -1), supports)))
        return u * h + (1.0 - u) * c


class RoadTraffic(nn.Module):
    def __init__(self, sensors, inputs, units, layers, horizon, hops=2):
        super().__init__()
        weight = torch.rand(sensors, sensors) * (torch.rand(sensors, sensors) < 0.05) + torch.eye(sensors)
        self.register_buffer("down", weight / weight.sum(1, keepdim=True))
        self.register_buffer("up", (weight / weight.sum(0, keepdim=True)).t().contiguous())
        self.encoder = nn.ModuleList([DiffusionGRUCell(inputs if i == 0 else units, units, hops) for i in range(layers)])
        self.decoder = nn.ModuleList([DiffusionGRUCell(1 if i == 0 else units, units, hops) for i in range(layers)])
        self.project, self.horizon, self.units = nn.Linear(units, 1), horizon, units

    def forward(self, x):
        supports = (self.down, self.up)
        b, t, n, _ = x.shape
        hidden = [x.new_zeros(b, n, self.units) for _ in self.encoder]
        for i in range(t):
            y = x[:, i]
            for j, cell in enumerate(self.encoder):
                y = hidden[j] = cell(y, hidden[j], supports)
        speed, out = x.new_zeros(b, n, 1), []
        for _ in range(self.horizon):
            y = speed
            for j, cell in enumerate(self.decoder):
                y = hidden[j] = cell(y, hidden[j], supports)
            speed = self.project(y)
            out.append(speed)
        return torch.stack(out, 1).squeeze(-1)


@model("graph", compiles=False)
def traffic_walks_along_roads(small):
    b, t, n, units, layers, horizon = (2, 2, 6, 4, 1, 2) if small else (48, 12, 325, 64, 2, 12)
    speed = torch.rand(b, horizon, n) * 70

    def masked_mae(out):
        mask = (speed > 1.0).float()
        return ((out - speed).abs() * mask / mask.mean()).mean()

    return RoadTraffic(n, 2, units, layers, horizon), (torch.randn(b, t, n, 2),), masked_mae


def ddx(f, dx):
    return (torch.roll(f, -1, -1) - torch.roll(f, 1, -1)) / (2 * dx)


def ddy(f, dy):
    return (torch.roll(f, -1, -2) - torch.roll(f, 1, -2)) / (2 * dy)


class ShallowWater(nn.Module):
    """Height and velocity of a layer of water, stepped by Heun's method; what the grid can't see is added by a small network."""

    def __init__(self, size, width, steps, g=9.81, depth=100.0, dx=1000.0, dt=10.0, f0=1e-4, beta=2e-11):
        super().__init__()
        self.g, self.depth, self.dx, self.dt, self.steps = g, depth, dx, dt, steps
        y = (torch.arange(size) - size / 2) * dx
        self.register_buffer("coriolis", (f0 + beta * y).view(1, size, 1))
        self.closure = nn.Sequential(
            nn.Conv2d(3, width, 3, padding=1, padding_mode="circular"), nn.GELU(),
            nn.Conv2d(width, width, 3, padding=1, padding_mode="circular"), nn.GELU(),
            nn.Conv2d(width, 2, 3, padding=1, padding_mode="circular"))  # fmt: skip

    def tendency(self, h, u, v):
        dx = self.dx
        dh = -ddx(u * (self.depth + h), dx) - ddy(v * (self.depth + h), dx)
        du = -u * ddx(u, dx) - v * ddy(u, dx) + self.coriolis * v - self.g * ddx(h, dx)
        dv = -u * ddx(v, dx) - v * ddy(v, dx) - self.coriolis * u - self.g * ddy(h, dx)
        return dh, du, dv

    def forward(self, state):
        h, u, v = state.unbind(1)
        for _ in range(self.steps):
            k1 = self.tendency(h, u, v)
            k2 = self.tendency(*(s + self.dt * k for s, k in zip((h, u, v), k1)))
            h, u, v = (s + 0.5 * self.dt * (a + b) for s, a, b in zip((h, u, v), k1, k2))
            drag = self.closure(torch.stack([h / 10, u, v], 1)) * 1e-3
            u, v = u + drag[:, 0], v + drag[:, 1]
        return torch.stack([h, u, v], 1)


@model("ocean", half=False, compiles=False)
def water_with_a_learned_closure(small):
    b, size, width, steps = (1, 8, 4, 2) if small else (4, 384, 32, 10)
    state, later = torch.randn(b, 3, size, size) * 0.1, torch.randn(b, 3, size, size) * 0.1
    return ShallowWater(size, width, steps), (state,), lambda out: F.mse_loss(out, later)


class ManyGrids(nn.Module):
    """A V-cycle for Poisson's equation with coefficients, its smoothers learned: each level a small convolution of the residual."""

    def __init__(self, levels, width, cycles, sweeps=1):
        super().__init__()
        self.levels, self.cycles, self.sweeps = levels, cycles, sweeps
        self.smooth = nn.ModuleList(
            nn.Sequential(nn.Conv2d(2, width, 3, padding=1), nn.Tanh(), nn.Conv2d(width, 1, 3, padding=1, bias=False))
            for _ in range(2 * levels)
        )
        self.omega = nn.Parameter(torch.full((2 * levels,), 0.8))

    @staticmethod
    def apply(u, a, h):
        """Of -div(a grad u), with zero around the square: (what the operator gives, its diagonal)."""
        up, ap = F.pad(u, (1, 1, 1, 1)), F.pad(a, (1, 1, 1, 1), mode="replicate")
        west, east = 0.5 * (a + ap[..., 1:-1, :-2]), 0.5 * (a + ap[..., 1:-1, 2:])
        north, south = 0.5 * (a + ap[..., :-2, 1:-1]), 0.5 * (a + ap[..., 2:, 1:-1])
        diag = west + east + north + south
        around = west * up[..., 1:-1, :-2] + east * up[..., 1:-1, 2:] + north * up[..., :-2, 1:-1] + south * up[..., 2:, 1:-1]
        return (diag * u - around) / h**2, diag / h**2

    def relax(self, u, f, a, h, which):
        for _ in range(self.sweeps):
            au, diag = self.apply(u, a, h)
            step = (f - au) / diag
            u = u + self.omega[which] * step + self.smooth[which](torch.cat([step, a], 1)) * 0.1 * step.abs()
        return u

    def cycle(self, u, f, a, h, level):
        u = self.relax(u, f, a, h, level)
        if level + 1 < self.levels:
            residual = f - self.apply(u, a, h)[0]
            coarse = F.avg_pool2d(residual, 2)
            e = self.cycle(torch.zeros_like(coarse), coarse, F.avg_pool2d(a, 2), 2 * h, level + 1)
            u = u + F.interpolate(e, scale_factor=2.0, mode="bilinear", align_corners=False)
        return self.relax(u, f, a, h, self.levels + level)

    def forward(self, f, a):
        h = 1.0 / f.shape[-1]
        u = torch.zeros_like(f)
        for _ in range(self.cycles):
            u = self.cycle(u, f, a, h, 0)
        return u, f - self.apply(u, a, h)[0]


@model("solver", half=False)
def potential_on_many_grids(small):
    b, size, levels, width, cycles = (1, 8, 2, 4, 1) if small else (8, 768, 5, 16, 2)
    source, medium = torch.randn(b, 1, size, size), 1 + torch.rand(b, 1, size, size)
    scale = source.square().mean().sqrt()
    return ManyGrids(levels, width, cycles), (source, medium), lambda out: (out[1] / scale).square().mean()
