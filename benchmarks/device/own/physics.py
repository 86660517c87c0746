"""Physics: nets that are differentiated by their inputs, operators in Fourier space, ODE steps, stencils."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def tanh_net(*sizes):
    layers = []
    for a, b in itertools.pairwise(sizes):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


class Burgers(nn.Module):
    """The residual of u_t + u u_x = ν u_xx at collocation points."""

    def __init__(self, width, layers):
        super().__init__()
        self.net = tanh_net(2, *[width] * layers, 1)

    def forward(self, x, t):
        with torch.enable_grad():
            x, t = x.detach().requires_grad_(), t.detach().requires_grad_()
            u = self.net(torch.cat([x, t], 1))
            u_x, u_t = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
            (u_xx,) = torch.autograd.grad(u_x.sum(), x, create_graph=True)
            return u_t + u * u_x - 0.01 / math.pi * u_xx


@model("physics")
def burgers_pinn(small):
    points, width = (16, 8) if small else (40_000, 128)
    return Burgers(width, 6), (torch.rand(points, 1), torch.rand(points, 1)), lambda out: out.pow(2).mean()


class Helmholtz(nn.Module):
    """Sine activations, the Laplacian by one second derivative per axis."""

    def __init__(self, width, layers, dims=3):
        super().__init__()
        sizes = [dims, *[width] * layers]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in itertools.pairwise(sizes))
        self.last = nn.Linear(width, 1)
        for layer in self.layers:
            nn.init.uniform_(layer.weight, -math.sqrt(6 / width) / 30, math.sqrt(6 / width) / 30)

    def forward(self, x):
        with torch.enable_grad():
            x = x.detach().requires_grad_(True)
            h = x
            for layer in self.layers:
                h = torch.sin(30 * layer(h))
            u = self.last(h)
            grad = torch.autograd.grad(u, x, torch.ones_like(u), create_graph=True)[0]
            laplacian = 0
            for i in range(x.shape[1]):
                laplacian = laplacian + torch.autograd.grad(grad[:, i].sum(), x, create_graph=True)[0][:, i : i + 1]
            return laplacian + 4 * u


@model("physics")
def siren_helmholtz(small):
    points, width = (16, 8) if small else (16_384, 256)
    return Helmholtz(width, 4), (torch.rand(points, 3),), lambda out: out.square().mean()


class NeuralOde(nn.Module):
    """Runge-Kutta in fixed steps over a small vector field."""

    def __init__(self, dim, width, steps):
        super().__init__()
        self.field = tanh_net(dim + 1, width, width, dim)
        self.steps = steps

    def f(self, t, y):
        return self.field(torch.cat([y, torch.full_like(y[:, :1], t)], 1))

    def forward(self, y):
        h = 1.0 / self.steps
        trajectory = [y]
        for i in range(self.steps):
            t = i * h
            k1 = self.f(t, y)
            k2 = self.f(t + h / 2, y + h / 2 * k1)
            k3 = self.f(t + h / 2, y + h / 2 * k2)
            k4 = self.f(t + h, y + h * k3)
            y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            trajectory.append(y)
        return torch.stack(trajectory)


@model("neural ODE")
def neural_ode_rk4(small):
    batch, dim, steps = (4, 3, 3) if small else (4096, 16, 20)
    target = torch.randn(batch, dim)
    return NeuralOde(dim, 128, steps), (torch.randn(batch, dim),), lambda out: F.mse_loss(out[-1], target)


class SpectralConv2d(nn.Module):
    def __init__(self, width, modes):
        super().__init__()
        self.modes = modes
        self.w1 = nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.cfloat) / width**2)
        self.w2 = nn.Parameter(torch.randn(width, width, modes, modes, dtype=torch.cfloat) / width**2)

    def forward(self, x):
        m = self.modes
        spectrum = torch.fft.rfft2(x)
        out = torch.zeros_like(spectrum)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :m, :m], self.w1)
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, -m:, :m], self.w2)
        return torch.fft.irfft2(out, s=x.shape[-2:])


class FourierOperator(nn.Module):
    def __init__(self, width, modes, layers):
        super().__init__()
        self.enter = nn.Linear(3, width)
        self.spectral = nn.ModuleList(SpectralConv2d(width, modes) for _ in range(layers))
        self.local = nn.ModuleList(nn.Conv2d(width, width, 1) for _ in range(layers))
        self.out = nn.Sequential(nn.Linear(width, 128), nn.GELU(), nn.Linear(128, 1))

    def forward(self, a):
        b, height, width = a.shape
        gy = torch.linspace(0, 1, height, device=a.device).view(1, height, 1).expand(b, -1, width)
        gx = torch.linspace(0, 1, width, device=a.device).view(1, 1, width).expand(b, height, -1)
        x = self.enter(torch.stack([a, gx, gy], -1)).permute(0, 3, 1, 2)
        for spectral, local in zip(self.spectral, self.local):
            x = F.gelu(spectral(x) + local(x))
        return self.out(x.permute(0, 2, 3, 1)).squeeze(-1)


@model("Fourier operator", half=False)
def fourier_operator_darcy(small):
    batch, size, modes = (2, 16, 4) if small else (16, 128, 16)
    target = torch.randn(batch, size, size)
    return FourierOperator(8 if small else 48, modes, 4), (torch.randn(batch, size, size),), lambda out: F.mse_loss(out, target)


class SpectralConv1d(nn.Module):
    def __init__(self, channels, modes):
        super().__init__()
        self.modes = modes
        self.weight = nn.Parameter(torch.randn(channels, channels, modes, 2) * 0.02)

    def forward(self, x):
        f = torch.fft.rfft(x, norm="ortho")
        kept = torch.einsum("bim,iom->bom", f[..., : self.modes], torch.view_as_complex(self.weight))
        return torch.fft.irfft(F.pad(kept, (0, f.shape[-1] - self.modes)), n=x.shape[-1], norm="ortho")


class RolledOutOperator(nn.Module):
    """One-dimensional, rolled out: each step's answer is the next one's input."""

    def __init__(self, channels, modes, steps):
        super().__init__()
        self.enter = nn.Conv1d(1, channels, 1)
        self.spectral = nn.ModuleList([SpectralConv1d(channels, modes) for _ in range(3)])
        self.skip = nn.ModuleList([nn.Conv1d(channels, channels, 1) for _ in range(3)])
        self.out = nn.Conv1d(channels, 1, 1)
        self.steps = steps

    def forward(self, u):
        frames = []
        for _ in range(self.steps):
            x = self.enter(u)
            for s, k in zip(self.spectral, self.skip):
                x = x + F.gelu(s(x) + k(x))
            u = u + 0.1 * self.out(x)
            frames.append(u)
        return torch.cat(frames, 1)


@model("Fourier operator", half=False)
def rolled_out_operator(small):
    batch, length, steps = (2, 64, 2) if small else (32, 1024, 6)
    target = torch.randn(batch, steps, length)
    return RolledOutOperator(64, 16, steps), (torch.randn(batch, 1, length),), lambda out: (out - target).abs().mean()


class DeepONet(nn.Module):
    def __init__(self, sensors, basis, width):
        super().__init__()
        self.branch = tanh_net(sensors, width, width, basis)
        self.trunk = tanh_net(2, width, width, width, basis)
        self.bias = nn.Parameter(torch.zeros(1))

    def forward(self, u, places):
        return torch.einsum("bk,nk->bn", self.branch(u), torch.tanh(self.trunk(places))) + self.bias


@model("physics")
def deep_operator_net(small):
    batch, sensors, points = (4, 10, 20) if small else (1024, 128, 20_000)
    target = torch.randn(batch, points)
    return DeepONet(sensors, 128, 256), (torch.randn(batch, sensors), torch.rand(points, 2)), lambda out: F.mse_loss(out, target)


class Hamiltonian(nn.Module):
    """Leapfrog along the gradients of a learned energy."""

    def __init__(self, dim, width, steps):
        super().__init__()
        self.energy = nn.Sequential(nn.Linear(2 * dim, width), nn.Softplus(), nn.Linear(width, width), nn.Softplus(), nn.Linear(width, 1))
        self.steps = steps

    def gradient(self, q, p):
        qp = torch.cat([q, p], -1)
        if not qp.requires_grad:
            qp.requires_grad_(True)
        return torch.autograd.grad(self.energy(qp).sum(), qp, create_graph=True)[0].chunk(2, -1)

    def forward(self, q, p):
        dt = 0.05
        with torch.enable_grad():
            for _ in range(self.steps):
                p = p - 0.5 * dt * self.gradient(q, p)[0]
                q = q + dt * self.gradient(q, p)[1]
                p = p - 0.5 * dt * self.gradient(q, p)[0]
        return q, p


@model("physics")
def hamiltonian_leapfrog(small):
    batch, dim, steps = (4, 2, 2) if small else (8192, 8, 6)
    q1, p1 = torch.randn(batch, dim), torch.randn(batch, dim)
    inputs = torch.randn(batch, dim), torch.randn(batch, dim)
    return Hamiltonian(dim, 200, steps), inputs, lambda out: F.mse_loss(out[0], q1) + F.mse_loss(out[1], p1)


class WaveSolver(nn.Module):
    """A finite-difference wave equation with a learned speed; shifts by torch.roll."""

    def __init__(self, size, steps):
        super().__init__()
        self.speed = nn.Parameter(torch.ones(size, size) * 0.3)
        self.steps = steps

    def forward(self, source):
        now, before = source, source.clone()
        seen = []
        for _ in range(self.steps):
            laplacian = now.roll(1, -1) + now.roll(-1, -1) + now.roll(1, -2) + now.roll(-1, -2) - 4 * now
            now, before = 2 * now - before + self.speed**2 * laplacian, now
            seen.append(now[:, 4, :])
        return torch.stack(seen, 1)


@model("physics")
def wave_inversion(small):
    shots, size, steps = (2, 16, 4) if small else (16, 512, 40)
    record = torch.randn(shots, steps, size)
    return WaveSolver(size, steps), (torch.randn(shots, size, size),), lambda out: F.mse_loss(out, record)


def lattice_boltzmann(f, velocities, weights, steps=20, tau=0.6):
    """D2Q9: collide, then stream by rolling each population along its velocity."""
    moves = ((0, 0), (1, 0), (0, 1), (-1, 0), (0, -1), (1, 1), (-1, 1), (-1, -1), (1, -1))
    for _ in range(steps):
        rho = f.sum(0)
        u = torch.einsum("qd,qxy->dxy", velocities, f) / rho
        cu = torch.einsum("qd,dxy->qxy", velocities, u)
        usq = (u * u).sum(0)
        feq = weights[:, None, None] * rho * (1 + 3 * cu + 4.5 * cu**2 - 1.5 * usq)
        f = f - (f - feq) / tau
        f = torch.stack([torch.roll(f[i], move, dims=(0, 1)) for i, move in enumerate(moves)])
    return f


@model("physics")
def lattice_boltzmann_flow(small):
    size = 16 if small else 1024
    velocities = torch.tensor([[0, 0], [1, 0], [0, 1], [-1, 0], [0, -1], [1, 1], [-1, 1], [-1, -1], [1, -1]]).float()
    weights = torch.tensor([4 / 9] + [1 / 9] * 4 + [1 / 36] * 4)
    return lattice_boltzmann, (torch.rand(9, size, size) + 1, velocities, weights), None
