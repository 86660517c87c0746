"""Small rules applied again and again: automata, fixed points, capsules that agree, cells with time constants, spikes."""

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class GrowingPattern(nn.Module):
    """A pattern grown from one cell: every cell looks at its neighbours through fixed filters, and only some of them move."""

    def __init__(self, channels=16, hidden=128, fire_rate=0.5, n_steps=32):
        super().__init__()
        self.channels, self.fire_rate, self.n_steps = channels, fire_rate, n_steps
        sobel = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]) / 8
        identity = torch.tensor([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
        filters = torch.stack([identity, sobel, sobel.t()]).repeat(channels, 1, 1).unsqueeze(1)
        self.register_buffer("filters", filters)
        self.fc0 = nn.Conv2d(3 * channels, hidden, 1)
        self.fc1 = nn.Conv2d(hidden, channels, 1, bias=False)
        nn.init.zeros_(self.fc1.weight)

    def alive(self, x):
        return F.max_pool2d(x[:, 3:4], 3, stride=1, padding=1) > 0.1

    def step(self, x):
        before = self.alive(x)
        y = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="circular"), self.filters.to(x.dtype), groups=self.channels)
        dx = self.fc1(F.relu(self.fc0(y)))
        mask = torch.rand_like(x[:, :1]) < self.fire_rate
        x = x + dx * mask
        return x * (before & self.alive(x)).to(x.dtype)

    def forward(self, x):
        for _ in range(self.n_steps):
            x = self.step(x)
        return x


@model("cellular automaton")
def grown_from_one_cell(small):
    b, size, steps = (1, 8, 2) if small else (8, 96, 32)
    seed = torch.zeros(b, 16, size, size)
    seed[:, 3:, size // 2, size // 2] = 1.0
    goal = torch.rand(b, 4, size, size)
    return GrowingPattern(n_steps=steps), (seed,), lambda out: F.mse_loss(out[:, :4], goal)


def squash(s, dim=-1):
    n2 = (s * s).sum(dim, keepdim=True)
    return n2 / (1 + n2) * s / torch.sqrt(n2 + 1e-8)


class CapsNet(nn.Module):
    def __init__(self, primary, dim_in, classes, dim_out, size, routings=3):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 256, 9)
        self.primary = nn.Conv2d(256, primary * dim_in, 9, stride=2)
        side = (size - 8 - 9) // 2 + 1
        n = primary * side * side
        self.W = nn.Parameter(0.01 * torch.randn(1, n, classes, dim_out, dim_in))
        self.routings, self.dim_in = routings, dim_in
        self.decoder = nn.Sequential(
            nn.Linear(classes * dim_out, 512), nn.ReLU(True), nn.Linear(512, 1024), nn.ReLU(True), nn.Linear(1024, size * size)
        )

    def forward(self, x):
        B = x.size(0)
        u = F.relu(self.conv1(x))
        u = squash(self.primary(u).view(B, -1, self.dim_in))
        u_hat = (self.W @ u[:, :, None, :, None]).squeeze(-1)  # (B, n, classes, dim_out)
        b = torch.zeros(u_hat.shape[:3], device=x.device, dtype=u_hat.dtype)
        frozen = u_hat.detach()
        for i in range(self.routings):
            c = b.softmax(dim=2).unsqueeze(-1)
            if i == self.routings - 1:
                v = squash((c * u_hat).sum(1))
            else:
                v = squash((c * frozen).sum(1))
                b = b + (frozen * v.unsqueeze(1)).sum(-1)
        length = v.norm(dim=-1)
        keep = F.one_hot(length.argmax(1), length.shape[1]).to(v.dtype)
        return length, torch.sigmoid(self.decoder((v * keep.unsqueeze(-1)).flatten(1)))


@model("capsules")
def capsules_agree(small):
    b, size, primary = (2, 18, 2) if small else (64, 28, 32)
    image = torch.rand(b, 1, size, size)
    y = F.one_hot(torch.randint(10, (b,)), 10).float()

    def loss(out):
        length, again = out
        margin = y * F.relu(0.9 - length) ** 2 + 0.5 * (1 - y) * F.relu(length - 0.1) ** 2
        return margin.sum(1).mean() + 5e-4 * F.mse_loss(again, image.flatten(1), reduction="sum") / b

    return CapsNet(primary, 8, 10, 16, size), (image,), loss


class Inner(nn.Module):
    def __init__(self, c, inner):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(c, inner, 3, padding=1, bias=False), nn.Conv2d(inner, c, 3, padding=1, bias=False)
        self.norm1, self.norm2, self.norm3 = nn.GroupNorm(8, inner), nn.GroupNorm(8, c), nn.GroupNorm(8, c)

    def forward(self, z, x):
        y = self.norm1(F.relu(self.conv1(z)))
        return self.norm3(F.relu(z + self.norm2(x + self.conv2(y))))


class Equilibrium(nn.Module):
    """A net of one layer, asked until it no longer changes; each guess mixes the last few, weighted by a small linear system."""

    def __init__(self, c=48, inner=64, classes=10, m=5, iterations=14):
        super().__init__()
        self.enter = nn.Sequential(nn.Conv2d(3, c, 3, padding=1), nn.BatchNorm2d(c))
        self.f, self.m, self.iterations = Inner(c, inner), m, iterations
        self.leave = nn.Sequential(nn.BatchNorm2d(c), nn.AvgPool2d(8), nn.Flatten())
        self.classes = nn.Linear(c * 16, classes)

    def anderson(self, f, x0):
        bsz, d = len(x0), x0[0].numel()
        X = torch.zeros(bsz, self.m, d, dtype=torch.float32, device=x0.device)
        Fx = torch.zeros(bsz, self.m, d, dtype=torch.float32, device=x0.device)
        X[:, 0], Fx[:, 0] = x0.flatten(1), f(x0).flatten(1)
        X[:, 1], Fx[:, 1] = Fx[:, 0], f(Fx[:, 0].to(x0.dtype).view_as(x0)).flatten(1)
        H = torch.zeros(bsz, self.m + 1, self.m + 1, device=x0.device)
        H[:, 0, 1:] = H[:, 1:, 0] = 1
        y = torch.zeros(bsz, self.m + 1, 1, device=x0.device)
        y[:, 0] = 1
        for k in range(2, self.iterations):
            n = min(k, self.m)
            G = Fx[:, :n] - X[:, :n]
            H[:, 1 : n + 1, 1 : n + 1] = torch.bmm(G, G.transpose(1, 2)) + 1e-4 * torch.eye(n, device=x0.device)
            alpha = torch.linalg.solve(H[:, : n + 1, : n + 1], y[:, : n + 1])[:, 1 : n + 1, 0]
            X[:, k % self.m] = (alpha[:, None] @ Fx[:, :n])[:, 0]
            Fx[:, k % self.m] = f(X[:, k % self.m].to(x0.dtype).view_as(x0)).flatten(1)
        return X[:, k % self.m].to(x0.dtype).view_as(x0)

    def forward(self, image):
        x = self.enter(image)
        with torch.no_grad():
            z = self.anderson(lambda z: self.f(z, x), torch.zeros_like(x))
        return self.classes(self.leave(self.f(z, x)))


@model("fixed point", compiles=False)
def equilibrium_by_mixing(small):
    b, iterations = (2, 4) if small else (96, 14)
    labels = torch.randint(10, (b,))
    return Equilibrium(iterations=iterations), (torch.rand(b, 3, 32, 32),), lambda out: F.cross_entropy(out, labels)


class LiquidCell(nn.Module):
    """Neurons as leaky circuits: each wire has a sigmoid gate and a voltage it pulls towards; the solver takes a few fused steps."""

    def __init__(self, sensors, units, unfolds):
        super().__init__()
        self.unfolds = unfolds

        def param(low, high, *shape):
            return nn.Parameter(torch.rand(*shape) * (high - low) + low)

        self.gleak, self.vleak, self.cm = param(0.001, 1.0, units), param(-0.2, 0.2, units), param(0.4, 0.6, units)
        self.w, self.mu, self.sigma = param(0.001, 1.0, units, units), param(0.3, 0.8, units, units), param(3, 8, units, units)
        self.erev = nn.Parameter(torch.randint(0, 2, (units, units)) * 2.0 - 1)
        self.sw, self.smu, self.ssigma = param(0.001, 1.0, sensors, units), param(0.3, 0.8, sensors, units), param(3, 8, sensors, units)
        self.serev = nn.Parameter(torch.randint(0, 2, (sensors, units)) * 2.0 - 1)

    def forward(self, inputs, v, elapsed=1.0):
        gate = F.softplus(self.sw) * torch.sigmoid((inputs.unsqueeze(-1) - self.smu) * self.ssigma)
        pull_s, rate_s = (gate * self.serev).sum(1), gate.sum(1)
        cm_t = F.softplus(self.cm) / (elapsed / self.unfolds)
        leak, w = F.softplus(self.gleak), F.softplus(self.w)
        for _ in range(self.unfolds):
            act = w * torch.sigmoid((v.unsqueeze(-1) - self.mu) * self.sigma)
            top = cm_t * v + leak * self.vleak + (act * self.erev).sum(1) + pull_s
            v = top / (cm_t + leak + act.sum(1) + rate_s + 1e-8)
        return v


class LiquidDriver(nn.Module):
    def __init__(self, units, features, unfolds):
        super().__init__()
        self.conv = nn.Sequential(
            nn.Conv2d(3, 24, 5, 2), nn.ELU(), nn.Conv2d(24, 36, 5, 2), nn.ELU(), nn.Conv2d(36, 48, 3, 2), nn.ELU(),
            nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(768, features))  # fmt: skip
        self.cell, self.units, self.motor = LiquidCell(features, units, unfolds), units, nn.Linear(units, 1)

    def forward(self, frames):
        b, t = frames.shape[:2]
        seen = self.conv(frames.flatten(0, 1)).view(b, t, -1)
        v, out = seen.new_zeros(b, self.units), []
        for i in range(t):
            v = self.cell(seen[:, i], v)
            out.append(self.motor(v))
        return torch.cat(out, 1)


@model("robotics", compiles=False)
def steering_by_leaky_cells(small):
    b, t, h, w, units, features, unfolds = (2, 2, 48, 48, 6, 5, 2) if small else (32, 12, 66, 200, 96, 32, 5)
    wheel = torch.randn(b, t)
    return LiquidDriver(units, features, unfolds), (torch.rand(b, t, 3, h, w),), lambda out: F.mse_loss(out, wheel)


class Spike(torch.autograd.Function):
    """A step on the way in, a smooth bump on the way back."""

    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v > 0).to(v.dtype)

    @staticmethod
    def backward(ctx, grad):
        (v,) = ctx.saved_tensors
        return grad / (10 * v.abs() + 1) ** 2


class SpikingConv(nn.Module):
    def __init__(self, a, b, beta=0.9):
        super().__init__()
        self.conv, self.bn = nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b)
        self.beta = nn.Parameter(torch.tensor(beta))

    def forward(self, x, state):
        y = self.bn(self.conv(x))
        mem = y if state is None else self.beta.clamp(0, 1) * state + y
        spk = Spike.apply(mem - 1.0)
        return spk, mem - spk.detach()


class SpikingNet(nn.Module):
    def __init__(self, width, classes, size):
        super().__init__()
        self.layers = nn.ModuleList([SpikingConv(2, width), SpikingConv(width, 2 * width), SpikingConv(2 * width, 2 * width)])
        self.fc = nn.Linear(2 * width * (size // 8) ** 2, classes)

    def forward(self, events):
        states, total = [None] * len(self.layers), 0
        for x in events.unbind(1):
            for i, layer in enumerate(self.layers):
                x, states[i] = layer(x, states[i])
                x = F.avg_pool2d(x, 2)
            total = total + self.fc(x.flatten(1))
        return total / events.shape[1]


@model("spiking")
def spikes_with_a_borrowed_slope(small):
    b, t, size, width = (2, 2, 8, 4) if small else (64, 16, 64, 48)
    labels = torch.randint(11, (b,))
    return SpikingNet(width, 11, size), ((torch.rand(b, t, 2, size, size) > 0.9).float(),), lambda out: F.cross_entropy(out, labels)
