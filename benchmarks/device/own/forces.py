"""Forces on a screen: smoke without divergence, snow on a grid, spins by a checkerboard, a wave packet through slits to be learnt."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def laplace(p):
    wide = F.pad(p, (1, 1, 1, 1), mode="replicate")
    return wide[..., 2:, 1:-1] + wide[..., :-2, 1:-1] + wide[..., 1:-1, 2:] + wide[..., 1:-1, :-2] - 4 * p


@model("physics", half=False)
def smoke_without_divergence(small):
    """Smoke that rises: carried along its own flow backwards, then made free of divergence by conjugate gradients."""
    b, n, steps, rounds = (1, 8, 1, 2) if small else (16, 256, 2, 8)

    def carried(field, flow, grid):
        back = grid - flow.permute(0, 2, 3, 1) * (2 * 0.5 / n)
        return F.grid_sample(field, back, mode="bilinear", padding_mode="border", align_corners=False)

    def simulate(density, flow, source, grid):
        for _ in range(steps):
            flow = carried(flow, flow, grid)
            density = carried(density, flow, grid) * 0.995 + source
            lift = torch.cat([torch.zeros_like(density), -0.3 * density], 1)
            wx, wy = flow[:, :1], flow[:, 1:]
            curl = torch.gradient(wy, dim=3)[0] - torch.gradient(wx, dim=2)[0]
            gx, gy = torch.gradient(curl.abs(), dim=3)[0], torch.gradient(curl.abs(), dim=2)[0]
            size = torch.hypot(gx, gy) + 1e-5
            flow = flow + lift + 0.2 * torch.cat([gy / size * curl, -gx / size * curl], 1)
            div = torch.gradient(flow[:, :1], dim=3)[0] + torch.gradient(flow[:, 1:], dim=2)[0]
            div = div - div.mean((2, 3), keepdim=True)
            p = torch.zeros_like(div)
            r = div - laplace(p)
            d, rr = r, (r * r).sum((2, 3), keepdim=True)
            for _ in range(rounds):
                q = laplace(d)
                alpha = rr / ((d * q).sum((2, 3), keepdim=True) - 1e-9)
                p, r = p + alpha * d, r - alpha * q
                new = (r * r).sum((2, 3), keepdim=True)
                d, rr = r + new / (rr + 1e-9) * d, new
            flow = flow - torch.cat([torch.gradient(p, dim=3)[0], torch.gradient(p, dim=2)[0]], 1)
        return density, flow

    line = (torch.arange(n) + 0.5) * 2 / n - 1
    y, x = torch.meshgrid(line, line, indexing="ij")
    source = torch.where((x**2 + (y - 0.8) ** 2) < 0.02, 0.1, 0.0).expand(b, 1, n, n).contiguous()
    return (
        simulate,
        (torch.rand(b, 1, n, n), torch.randn(b, 2, n, n), source, torch.stack([x, y], -1).expand(b, n, n, 2).contiguous()),
        None,
    )


@model("physics", half=False)
def snow_on_a_grid(small):
    """Particles of snow: their mass and momentum onto nine cells of a grid each, forces there, and back to the particles."""
    count, n, steps = (20, 16, 1) if small else (400_000, 512, 3)
    dt, dx = 1e-4, 1.0 / n
    volume = (dx * 0.5) ** 2

    def simulate(x, v, C, Fd, gone):
        eye = torch.eye(2, device=x.device)
        for _ in range(steps):
            Fd = Fd + dt * C @ Fd
            J = (Fd[:, 0, 0] * Fd[:, 1, 1] - Fd[:, 0, 1] * Fd[:, 1, 0]).clamp(0.3, 2.0)
            hard = torch.exp(10 * (1 - gone)).clamp(0.1, 8.0)
            mu, lam = 400 * hard, 600 * hard
            stress = mu[:, None, None] * (Fd @ Fd.mT - eye) + (lam * torch.log(J))[:, None, None] * eye
            affine = -dt * volume * 4 / dx**2 * stress + C * volume
            base = (x / dx - 0.5).long()
            fx = x / dx - base
            w = torch.stack([0.5 * (1.5 - fx) ** 2, 0.75 - (fx - 1) ** 2, 0.5 * (fx - 0.5) ** 2])
            grid = torch.zeros(n * n, 3, device=x.device)
            places = []
            for i in range(3):
                for j in range(3):
                    off = (torch.tensor([i, j], device=x.device) - fx) * dx
                    weight = (w[i, :, 0] * w[j, :, 1]).unsqueeze(1)
                    cell = (base[:, 0] + i).clamp(0, n - 1) * n + (base[:, 1] + j).clamp(0, n - 1)
                    momentum = volume * v + (affine @ off.unsqueeze(-1)).squeeze(-1)
                    grid.index_add_(0, cell, torch.cat([weight * momentum, weight * volume], 1))
                    places.append((cell, weight, off))
            mass = grid[:, 2:]
            speed = torch.where(mass > 0, grid[:, :2] / mass.clamp_min(1e-12), 0.0).view(n, n, 2)
            speed = speed - dt * torch.tensor([0.0, 9.8], device=x.device)
            speed[:3] = speed[:3].clamp(min=0)
            speed[-3:] = speed[-3:].clamp(max=0)
            speed[:, :3] = speed[:, :3].clamp(min=0)
            flat = speed.view(-1, 2)
            v, C = torch.zeros_like(v), torch.zeros_like(C)
            for cell, weight, off in places:
                g = flat[cell]
                v = v + weight * g
                C = C + 4 / dx**2 * weight.unsqueeze(-1) * g.unsqueeze(2) * off.unsqueeze(1)
            x = (x + dt * v).clamp(2 * dx, 1 - 3 * dx)
            gone = gone * J
        return x, v, C, Fd, gone

    eye = torch.eye(2).repeat(count, 1, 1)
    inputs = torch.rand(count, 2) * 0.4 + 0.3, torch.randn(count, 2), torch.zeros(count, 2, 2), eye, torch.ones(count)
    return simulate, inputs, None


@model("physics")
def spins_by_checkerboard(small):
    """A magnet at many temperatures: every second spin is tried at once; then neighbours in temperature may change places."""
    temperatures, n, sweeps = (2, 4, 1) if small else (48, 512, 8)

    def sample(spins, heat, black):
        energy, magnet = [], []
        beta = 1 / heat.view(-1, 1, 1)
        for sweep in range(sweeps):
            for mine in (black, ~black):
                near = spins.roll(1, 1) + spins.roll(-1, 1) + spins.roll(1, 2) + spins.roll(-1, 2)
                chance = torch.exp(-2 * beta * spins * near)
                flip = (torch.rand_like(spins) < chance) & mine
                spins = torch.where(flip, -spins, spins)
            bonds = spins * (spins.roll(1, 1) + spins.roll(1, 2))
            e = -bonds.float().sum((1, 2))
            i = torch.arange(sweep % 2, temperatures - 1, 2, device=spins.device)
            gain = (1 / heat.float()[i] - 1 / heat.float()[i + 1]) * (e[i] - e[i + 1])
            swap = torch.rand_like(gain).log() < gain
            order = torch.arange(temperatures, device=spins.device)
            order = order.scatter(0, i, torch.where(swap, i + 1, i)).scatter(0, i + 1, torch.where(swap, i, i + 1))
            spins = spins[order]
            energy.append(e[order] / n**2)
            magnet.append(spins.float().mean((1, 2)).abs())
        energy, magnet = torch.stack(energy), torch.stack(magnet)
        return energy.mean(0), energy.var(0) / heat.float() ** 2, magnet.mean(0)

    place = torch.arange(n)
    spins = torch.randint(2, (temperatures, n, n)).float() * 2 - 1
    return sample, (spins, torch.linspace(1.5, 3.0, temperatures), (place[:, None] + place) % 2 == 0), None


class Slits(nn.Module):
    """A packet of waves through a screen that is to be learnt: half a step in space, a step in frequencies, half a step in space."""

    def __init__(self, n, steps, dt):
        super().__init__()
        self.screen, self.steps, self.dt = nn.Parameter(torch.randn(n // 16, n) * 0.3), steps, dt
        k = 2 * math.pi * torch.fft.fftfreq(n, 1.0 / 16)
        self.register_buffer("kinetic", 0.5 * (k[:, None] ** 2 + k**2))
        edge = torch.cos(torch.linspace(-math.pi / 2, math.pi / 2, n)).clamp(min=0) ** 0.125
        self.register_buffer("fade", edge[:, None] * edge)

    def forward(self, centre, momentum):
        n = self.fade.shape[0]
        line = (torch.arange(n, device=centre.device) - n / 2) / 16
        x, y = line[None, :, None] - centre[:, 0].view(-1, 1, 1), line[None, None, :] - centre[:, 1].view(-1, 1, 1)
        psi = torch.polar(torch.exp(-(x**2 + y**2) / 4), momentum[:, 0].view(-1, 1, 1) * x + momentum[:, 1].view(-1, 1, 1) * y)
        rows = self.screen.shape[0]
        wall = F.pad(20 * torch.sigmoid(4 * self.screen), (0, 0, n // 2, n - n // 2 - rows))
        half = torch.polar(self.fade, -0.5 * self.dt * wall)
        drift = torch.polar(torch.ones_like(self.kinetic), -self.dt * self.kinetic)
        for _ in range(self.steps):
            psi = half * torch.fft.ifft2(drift * torch.fft.fft2(half * psi))
        chance = psi.abs().square()
        return chance[:, -n // 8 :].sum(1) / chance.sum((1, 2)).clamp_min(1e-9).unsqueeze(1)


@model("physics", half=False)
def packet_through_learnt_slits(small):
    b, n, steps = (1, 16, 2) if small else (12, 384, 16)
    goal = torch.softmax(-(torch.linspace(-3, 3, n) ** 2) * 8, 0)
    inputs = torch.randn(b, 2) * 0.5 - torch.tensor([4.0, 0.0]), torch.randn(b, 2) * 0.2 + torch.tensor([4.0, 0.0])
    return Slits(n, steps, 0.02), inputs, lambda out: -(out.clamp_min(1e-9).sqrt() * goal.sqrt()).sum(1).mean()
