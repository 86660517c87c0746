"""Matter: charges on a mesh, vectors between atoms, electrons, grains in cells, an alloy, columns of air."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class ChargesOnAMesh(nn.Module):
    """Electrostatics of a periodic box: charges spread by cubic splines, solved in Fourier space, potentials and forces gathered back."""

    def __init__(self, mesh, alpha=6.0):
        super().__init__()
        self.mesh = mesh
        whole, half = torch.fft.fftfreq(mesh) * mesh, torch.fft.rfftfreq(mesh) * mesh
        m2 = whole[:, None, None] ** 2 + whole[None, :, None] ** 2 + half**2
        green = torch.exp(-((math.pi / alpha) ** 2) * m2) / (math.pi * m2.clamp(min=1.0))
        spread = [(2 + torch.cos(2 * math.pi * k / mesh)) / 3 for k in (whole, whole, half)]
        modulus = (spread[0][:, None, None] * spread[1][None, :, None] * spread[2]) ** 2
        self.register_buffer("green", torch.where(m2 > 0, green / modulus, 0.0))

    def forward(self, x, q):
        b, n, _ = x.shape
        M = self.mesh
        s = x * M
        base = torch.floor(s)
        u = s - base
        w = torch.stack([(1 - u) ** 3, 3 * u**3 - 6 * u**2 + 4, -3 * u**3 + 3 * u**2 + 3 * u + 1, u**3], -1) / 6
        dw = torch.stack([-((1 - u) ** 2), 3 * u**2 - 4 * u, -3 * u**2 + 2 * u + 1, u**2], -1) / 2
        at = (base.long().unsqueeze(-1) + torch.arange(-1, 3, device=x.device)) % M
        flat = (at[:, :, 0, :, None, None] * M + at[:, :, 1, None, :, None]) * M + at[:, :, 2, None, None, :]
        flat = flat.flatten(1)
        wx, wy, wz = w.unbind(2)
        share = torch.einsum("bni,bnj,bnk->bnijk", wx * q.unsqueeze(-1), wy, wz)
        rho = torch.zeros(b, M**3, device=x.device).scatter_add_(1, flat, share.flatten(1)).view(b, M, M, M)
        phi = torch.fft.irfftn(torch.fft.rfftn(rho, dim=(1, 2, 3)) * self.green, s=(M, M, M), dim=(1, 2, 3)) * M**3
        near = phi.flatten(1).gather(1, flat).view(b, n, 4, 4, 4)
        potential = torch.einsum("bnijk,bni,bnj,bnk->bn", near, wx, wy, wz)
        dx, dy, dz = dw.unbind(2)
        pull = [torch.einsum("bnijk,bni,bnj,bnk->bn", near, *three) for three in ((dx, wy, wz), (wx, dy, wz), (wx, wy, dz))]
        return 0.5 * (q * potential).sum(1), -M * q.unsqueeze(-1) * torch.stack(pull, -1)


@model("molecules", half=False)
def charges_on_a_mesh(small):
    b, n, mesh = (2, 10, 8) if small else (8, 24_000, 64)
    return ChargesOnAMesh(mesh), (torch.rand(b, n, 3), torch.randn(b, n)), None


class VectorMessages(nn.Module):
    def __init__(self, f, rbf):
        super().__init__()
        self.phi = nn.Sequential(nn.Linear(f, f), nn.SiLU(), nn.Linear(f, 3 * f))
        self.filter = nn.Linear(rbf, 3 * f)
        self.uv, self.mix = nn.Linear(f, 2 * f, bias=False), nn.Sequential(nn.Linear(2 * f, f), nn.SiLU(), nn.Linear(f, 3 * f))

    def forward(self, s, v, i, j, basis, cut, unit):
        W = self.filter(basis) * cut
        ds, dv_s, dv_r = (self.phi(s)[j] * W).chunk(3, -1)
        dv = v[j] * dv_s.unsqueeze(1) + dv_r.unsqueeze(1) * unit.unsqueeze(-1)
        s = s + torch.zeros_like(s).index_add_(0, i, ds.to(s.dtype))
        v = v + torch.zeros_like(v).index_add_(0, i, dv.to(v.dtype))
        U, V = self.uv(v).chunk(2, -1)
        a_vv, a_sv, a_ss = self.mix(torch.cat([s, (V.square().sum(1) + 1e-8).sqrt()], -1)).chunk(3, -1)
        return s + a_ss + a_sv * (U * V).sum(1), v + a_vv.unsqueeze(1) * U


class VectorsBetweenAtoms(nn.Module):
    """An energy from scalars and vectors that atoms pass each other along bonds; it turns with the molecule."""

    def __init__(self, f, layers, rbf=20, cutoff=5.0):
        super().__init__()
        self.kind, self.cutoff = nn.Embedding(100, f), cutoff
        self.layers = nn.ModuleList(VectorMessages(f, rbf) for _ in range(layers))
        self.out = nn.Sequential(nn.Linear(f, f // 2), nn.SiLU(), nn.Linear(f // 2, 1))
        self.register_buffer("n", torch.arange(1, rbf + 1) * math.pi / cutoff)

    def forward(self, z, r, i, j, which, molecules):
        gap = r[j] - r[i]
        d = (gap.square().sum(-1, keepdim=True) + 1e-6).sqrt()
        basis, cut = torch.sin(d * self.n) / d, 0.5 * (torch.cos(d * math.pi / self.cutoff) + 1) * (d < self.cutoff)
        s = self.kind(z)
        v = s.new_zeros(len(z), 3, s.shape[-1])
        for layer in self.layers:
            s, v = layer(s, v, i, j, basis, cut, gap / d)
        each = self.out(s).squeeze(-1)
        return each.new_zeros(len(molecules)).index_add_(0, which, each) + 0 * molecules


@model("molecular force field")
def vectors_passed_between_atoms(small):
    molecules, atoms, near, f, layers = (2, 4, 2, 8, 1) if small else (160, 24, 18, 128, 4)
    n = molecules * atoms
    i = torch.arange(n).repeat_interleave(near)
    j = i // atoms * atoms + torch.randint(atoms, (n * near,))
    inputs = (torch.randint(1, 20, (n,)), torch.randn(n, 3) * 2, i, j, torch.arange(n) // atoms, torch.zeros(molecules))
    target = torch.randn(molecules)
    return VectorsBetweenAtoms(f, layers), inputs, lambda out: F.l1_loss(out, target)


class ElectronsUnlikeEachOther(nn.Module):
    """A wave function that changes its sign when two electrons change places: streams of one and of two, and determinants of both spins."""

    def __init__(self, nuclei, up, down, one, two, layers, dets):
        super().__init__()
        self.spins, self.dets = (up, down), dets
        self.register_buffer("nuclei", nuclei)
        a, p = 4 * len(nuclei), 4
        self.ones, self.twos = nn.ModuleList(), nn.ModuleList()
        for layer in range(layers):
            self.ones.append(nn.Linear(3 * a + 2 * p, one))
            self.twos.append(nn.Linear(p, two) if layer < layers - 1 else nn.Identity())
            a, p = one, two
        self.orbitals = nn.ModuleList(nn.Linear(one, dets * n) for n in self.spins)
        self.sigma = nn.ParameterList(nn.Parameter(torch.ones(len(nuclei), dets * n)) for n in self.spins)
        self.pi = nn.ParameterList(nn.Parameter(torch.ones(len(nuclei), dets * n)) for n in self.spins)

    def forward(self, r):
        up, _ = self.spins
        away = r.unsqueeze(2) - self.nuclei
        far = away.norm(dim=-1, keepdim=True)
        h = torch.cat([away, far], -1).flatten(2)
        apart = r.unsqueeze(1) - r.unsqueeze(2)
        g = torch.cat([apart, (apart.square().sum(-1, keepdim=True) + 1e-9).sqrt()], -1)
        for i, (one, two) in enumerate(zip(self.ones, self.twos)):
            means = [part.mean(1, keepdim=True).expand_as(h) for part in (h[:, :up], h[:, up:])]
            pairs = [part.mean(2) for part in (g[:, :, :up], g[:, :, up:])]
            new_h, new_g = torch.tanh(one(torch.cat([h, *means, *pairs], -1))), torch.tanh(two(g))
            h, g = (new_h, new_g) if i == 0 else (h + new_h if h.shape == new_h.shape else new_h, g + new_g)
        logs, signs = 0.0, 1.0
        parts = zip((h[:, :up], h[:, up:]), (far[:, :up], far[:, up:]), self.orbitals, self.sigma, self.pi)
        for part, distance, orbital, sigma, pi in parts:
            envelope = (torch.exp(-distance * sigma) * pi).sum(2)
            phi = (orbital(part) * envelope).float().unflatten(-1, (self.dets, -1)).transpose(1, 2)
            sign, log = torch.linalg.slogdet(phi)
            logs, signs = logs + log, signs * sign
        top = logs.max(-1, keepdim=True).values.detach()
        total = (signs * torch.exp(logs - top)).sum(-1)
        return total.abs().clamp_min(1e-30).log() + top.squeeze(-1)


@model("quantum chemistry", half=False)
def electrons_unlike_each_other(small):
    b, up, down, one, two, layers, dets = (3, 2, 2, 8, 4, 2, 2) if small else (1024, 7, 7, 256, 32, 4, 16)
    local = torch.randn(b)
    walkers = torch.randn(b, up + down, 3)
    net = ElectronsUnlikeEachOther(torch.randn(2, 3), up, down, one, two, layers, dets)
    return net, (walkers,), lambda out: 2 * ((local - local.mean()) * out).mean()


def grains_step(x, v, h, side, slots, dt, stiff=30.0, rest=1.0, mu=0.1):
    """Where grains go next: sorted by the hash of their cell, neighbours looked up in the 27 cells around, pressure and friction."""
    cell = torch.floor(x / h).long().clamp(0, side - 1)
    key = (cell[:, 0] * side + cell[:, 1]) * side + cell[:, 2]
    key, order = torch.sort(key)
    x, v, cell = x[order], v[order], cell[order]
    step = torch.arange(-1, 2, device=x.device)
    around = cell[:, None] + torch.cartesian_prod(step, step, step)
    inside = ((around >= 0) & (around < side)).all(-1)
    wanted = (around[..., 0] * side + around[..., 1]) * side + around[..., 2]
    first, last = torch.searchsorted(key, wanted), torch.searchsorted(key, wanted, right=True)
    place = first.unsqueeze(-1) + torch.arange(slots, device=x.device)
    found = ((place < last.unsqueeze(-1)) & inside.unsqueeze(-1)).flatten(1)
    place = place.clamp_max(len(x) - 1).flatten(1)
    gap = x.unsqueeze(1) - x[place]
    r = gap.norm(dim=-1)
    found &= r < h
    rho = (found * (1 - (r / h) ** 2).clamp(min=0) ** 3).sum(1).clamp_min(0.1)
    p = stiff * (rho - rest).clamp(min=0)
    push = found * (p[:, None] + p[place]) / (2 * rho[place]) * (1 - r / h) ** 2
    rub = mu * found * (1 - r / h) / rho[place]
    a = (push / r.clamp_min(1e-6)).unsqueeze(-1).mul(gap).sum(1) + (rub.unsqueeze(-1) * (v[place] - v.unsqueeze(1))).sum(1)
    a[:, 2] -= 9.81
    v = v + dt * a
    x = x + dt * v
    v = torch.where((x < 0) | (x > side * h), -0.3 * v, v)
    return x.clamp(0, side * h), v


class GrainsInCells(nn.Module):
    def __init__(self, h, side, slots, steps):
        super().__init__()
        self.how, self.steps = (h, side, slots, 1e-3), steps

    def forward(self, x, v):
        for _ in range(self.steps):
            x, v = grains_step(x, v, *self.how)
        return x, v


@model("physics", half=False)
def grains_hashed_into_cells(small):
    n, side, slots, steps = (30, 3, 2, 1) if small else (20_000, 20, 6, 3)
    return GrainsInCells(0.05, side, slots, steps), (torch.rand(n, 3) * 0.05 * side, torch.zeros(n, 3)), None


class AlloyParts(nn.Module):
    """Two metals part: a fourth-order equation, its stiff half implicit in Fourier space, mobility learned as a small polynomial."""

    def __init__(self, n, steps, dt=0.05, kappa=1.0):
        super().__init__()
        kx, ky = 2 * math.pi * torch.fft.fftfreq(n), 2 * math.pi * torch.fft.rfftfreq(n)
        k2 = kx[:, None] ** 2 + ky**2
        self.register_buffer("k2", k2)
        self.register_buffer("below", 1 / (1 + dt * kappa * k2**2))
        self.register_buffer("keep", (k2.sqrt() < 2 / 3 * math.pi).float())
        self.coef, self.steps, self.dt = nn.Parameter(torch.tensor([0.0, -1.0, 0.0, 1.0])), steps, dt

    def forward(self, c):
        seen = []
        for t in range(self.steps):
            a0, a1, a2, a3 = self.coef.unbind()
            mu = a0 + c * (a1 + c * (a2 + c * a3))
            hat = (torch.fft.rfft2(c) - self.dt * self.k2 * self.keep * torch.fft.rfft2(mu)) * self.below
            c = torch.fft.irfft2(hat, s=c.shape[-2:])
            if t % 10 == 9:
                seen.append(c)
        return torch.stack(seen, 1) if seen else c


@model("physics", half=False, compiles=False)
def alloy_parts_in_spectra(small):
    b, n, steps = (2, 16, 2) if small else (16, 256, 120)
    return AlloyParts(n, steps), (0.1 * torch.randn(b, n, n),), None


class ColumnsOfAir(nn.Module):
    """What clouds and rays do to a column of air: read down and up by recurrent nets, tendencies for every level and fluxes at the ground."""

    def __init__(self, per_level, surface, d, outs):
        super().__init__()
        self.enter, self.ground = nn.Linear(per_level + 1, d), nn.Linear(surface, d)
        self.down, self.up = nn.LSTM(d, d, batch_first=True), nn.GRU(2 * d, d, batch_first=True)
        self.norm, self.out, self.flux = nn.LayerNorm(d), nn.Linear(2 * d, outs), nn.Linear(2 * d, 8)

    def forward(self, levels, surface, pressure):
        x = torch.tanh(self.enter(torch.cat([levels, pressure.unsqueeze(-1).log()], -1)))
        g = torch.tanh(self.ground(surface))
        falling, _ = self.down(x)
        rising, _ = self.up(torch.cat([falling, x], -1).flip(1), g.unsqueeze(0).to(falling.dtype))
        both = torch.cat([falling, self.norm(rising.flip(1))], -1)
        heating = self.out(both) * (pressure / pressure[:, -1:]).unsqueeze(-1)
        return heating, F.relu(self.flux(torch.cat([falling[:, -1], rising[:, -1]], -1)))


@model("weather")
def columns_of_air(small):
    b, levels, d = (2, 5, 8) if small else (4096, 60, 128)
    heat, flux = torch.randn(b, levels, 6), torch.rand(b, 8)
    inputs = torch.randn(b, levels, 9), torch.randn(b, 17), torch.rand(b, levels).cumsum(1) + 0.1
    return ColumnsOfAir(9, 17, d, 6), inputs, lambda out: F.huber_loss(out[0], heat) + F.huber_loss(out[1], flux)
