"""Tides: one who came from array languages: pure functions of arrays, `scan` written by hand, parameters in dictionaries, few classes."""

from functools import reduce
from math import pi

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def scan(step, state, xs):
    """(state, x) -> (state, y), along the first axis of xs; the ys are stacked."""
    ys = []
    for x in xs:
        state, y = step(state, x)
        ys.append(y)
    return state, torch.stack(ys)


def repeat(step, state, times):
    return reduce(lambda s, _: step(s), range(times), state)


class Learnt(nn.Module):
    """A function of (parameters, inputs) as a module, for those who train it."""

    def __init__(self, function, **parameters):
        super().__init__()
        self.function, self.p = function, nn.ParameterDict(parameters)

    def forward(self, *inputs):
        return self.function(self.p, *inputs)


# gas: density, two momenta, energy; slopes limited, fluxes by two waves, two stages a step

GAMMA = 1.4


def primitive(u):
    rho, mx, my, e = u.unbind(1)
    vx, vy = mx / rho, my / rho
    return torch.stack([rho, vx, vy, ((GAMMA - 1) * (e - 0.5 * rho * (vx * vx + vy * vy))).clamp_min(1e-5)], 1)


def conserved(w):
    rho, vx, vy, p = w.unbind(1)
    return torch.stack([rho, rho * vx, rho * vy, p / (GAMMA - 1) + 0.5 * rho * (vx * vx + vy * vy)], 1)


def flux_x(w, u):
    _, vx, _, p = w.unbind(1)
    _, mx, my, e = u.unbind(1)
    return torch.stack([mx, mx * vx + p, my * vx, (e + p) * vx], 1)


def sweep(w, axis):
    """The difference of fluxes along an axis, of a gas that is periodic."""
    if axis == 2:
        w = w[:, [0, 2, 1, 3]].transpose(2, 3)
    before, after = w - w.roll(1, 3), w.roll(-1, 3) - w
    slope = torch.where(before * after > 0, torch.where(before.abs() < after.abs(), before, after), torch.zeros_like(w))
    left, right = w + 0.5 * slope, (w - 0.5 * slope).roll(-1, 3)
    left, right = (torch.cat([z[:, :1].clamp_min(1e-4), z[:, 1:3], z[:, 3:].clamp_min(1e-5)], 1) for z in (left, right))
    ul, ur = conserved(left), conserved(right)
    cl, cr = ((GAMMA * z[:, 3] / z[:, 0]).sqrt() for z in (left, right))
    slow = torch.minimum(left[:, 1] - cl, right[:, 1] - cr).clamp_max(0).unsqueeze(1)
    fast = torch.maximum(left[:, 1] + cl, right[:, 1] + cr).clamp_min(0).unsqueeze(1)
    f = (fast * flux_x(left, ul) - slow * flux_x(right, ur) + fast * slow * (ur - ul)) / (fast - slow + 1e-8)
    out = f - f.roll(1, 3)
    return out.transpose(2, 3)[:, [0, 2, 1, 3]] if axis == 2 else out


@model("physics", half=False)
def gas_with_shocks(small):
    b, n, steps = (1, 8, 1) if small else (2, 1024, 1)

    def rate(u, k):
        w = primitive(u)
        return -k * (sweep(w, 3) + sweep(w, 2))

    def step(u):
        w = primitive(u)
        fastest = (w[:, 1:3].abs().amax(1) + (GAMMA * w[:, 3] / w[:, 0]).sqrt()).amax((1, 2))
        k = (0.3 / fastest).view(-1, 1, 1, 1)
        one = u + rate(u, k)
        return 0.5 * (u + one + rate(one, k))

    w = torch.cat([1 + torch.rand(b, 1, n, n), torch.randn(b, 2, n, n) * 0.3, 1 + torch.rand(b, 1, n, n)], 1)
    return lambda u: repeat(step, u, steps), (conserved(w),), None


# chemistry in many cells: as many reactions at once as chance has it


@model("biology", half=False)
def reactions_leaping_in_time(small):
    cells, species, reactions, steps = (8, 3, 4, 2) if small else (131_072, 12, 20, 16)
    a, b = torch.randint(species, (reactions,)), torch.randint(species, (reactions,))
    change = torch.randint(-1, 2, (reactions, species)).float()

    def leap(rate, change, dt, a, b, x):
        """x: (cells, species), counts. The first half of the reactions needs one partner, the others two."""
        one, two = x[:, a], x[:, b]
        pairs = torch.where(a == b, 0.5 * one * (two - 1).clamp_min(0), one * two)
        single = torch.arange(len(a), device=x.device) < len(a) // 2
        hazard = rate * torch.where(single, one, pairs)
        fired = torch.poisson(hazard * dt)
        room = torch.where(change < 0, x.unsqueeze(1), torch.full_like(change, 1e9)).amin(2)
        after = (x + torch.minimum(fired, room) @ change).clamp_min(0)
        return after, torch.stack([after.mean(0), after.var(0)])

    def simulate(x, rate, change, a, b, dts):
        return scan(lambda s, dt: leap(rate, change, dt, a, b, s), x, dts)

    dts = torch.full((steps,), 0.01)
    return simulate, (torch.randint(50, (cells, species)).float(), torch.rand(reactions) * 0.1, change, a, b, dts), None


# species in a tree: how likely these sequences are, from the tips to the root


@model("biology", half=False)
def trees_of_species_scored(small):
    tips, sites, states, rates = (4, 6, 3, 2) if small else (32, 40_000, 20, 4)
    order = [(2 * i, 2 * i + 1, tips + i) for i in range(tips - 1)]  # (left, right, parent): a queue, so that the tree is even

    def likelihood(p, tip):
        """tip: (tips, sites) of states. The log-likelihood of every site."""
        share = p["share"].softmax(0)
        root = share.sqrt()
        exchange = F.softplus(p["exchange"])
        q = (exchange + exchange.mT).fill_diagonal_(0) * share
        q = q - torch.diag(q.sum(1))
        q = q / -(q.diagonal() * share).sum()
        lam, v = torch.linalg.eigh(root[:, None] * q / root)
        speed = F.softplus(p["speed"])
        t = F.softplus(p["length"])[:, None] * (speed / speed.mean())
        move = torch.einsum(
            "ij,brj,kj->brik", v / root[:, None], (lam * t.unsqueeze(-1)).exp(), v * root[:, None]
        )  # (branch, rate, from, to)
        below, log = {}, tip.new_zeros(tip.shape[1], dtype=move.dtype)
        for left, right, parent in order:
            up = [
                move[c].transpose(1, 2)[:, tip[c]] if c < tips else torch.bmm(below.pop(c), move[c].transpose(1, 2)) for c in (left, right)
            ]
            both = up[0] * up[1]  # (rate, sites, states)
            most = both.amax((0, 2)).clamp_min(1e-30)
            below[parent] = both / most.unsqueeze(-1)
            log = log + most.log()
        return log + (below[parent] @ share).mean(0).clamp_min(1e-30).log()

    net = Learnt(
        likelihood, share=nn.Parameter(torch.randn(states) * 0.1), exchange=nn.Parameter(torch.randn(states, states)),
        speed=nn.Parameter(torch.randn(rates)), length=nn.Parameter(torch.randn(2 * tips - 1) - 2),
    )  # fmt: skip
    return net, (torch.randint(states, (tips, sites)),), lambda out: -out.mean()


# large systems of equations, each by a few directions that are kept at right angles


def gmres(A, b, x, inner, diagonal):
    """A: (k, n, n). One cycle, with every direction made orthogonal twice; the small least squares by QR."""
    r = (b - torch.einsum("kij,kj->ki", A, x)) / diagonal
    beta = r.norm(dim=1, keepdim=True)
    V, H = [r / beta.clamp_min(1e-12)], []
    for j in range(inner):
        w = torch.bmm(A, V[-1].unsqueeze(-1)).squeeze(-1) / diagonal
        base = torch.stack(V, 1)
        h = torch.bmm(base, w.unsqueeze(-1))
        w = w - torch.bmm(base.mT, h).squeeze(-1)
        more = torch.bmm(base, w.unsqueeze(-1))
        w = w - torch.bmm(base.mT, more).squeeze(-1)
        size = w.norm(dim=1, keepdim=True)
        H.append(F.pad(torch.cat([(h + more).squeeze(-1), size], 1), (0, inner - 1 - j)))
        V.append(w / size.clamp_min(1e-12))
    Q, R = torch.linalg.qr(torch.stack(H, 2))
    y = torch.linalg.solve_triangular(R + 1e-7 * torch.eye(inner, device=b.device), Q[:, :1].mT * beta.unsqueeze(-1), upper=True)
    return x + torch.bmm(torch.stack(V[:-1], 2), y).squeeze(-1)


@model("linear algebra", half=False)
def residuals_made_orthogonal(small):
    k, n, inner, cycles = (2, 10, 3, 1) if small else (8, 3072, 16, 2)

    def solve(A, b):
        diagonal = A.diagonal(dim1=1, dim2=2)
        x = repeat(lambda x: gmres(A, b, x, inner, diagonal), torch.zeros_like(b), cycles)
        return x, (b - torch.bmm(A, x.unsqueeze(-1)).squeeze(-1)).norm(dim=1)

    A = torch.randn(k, n, n) / n**0.5 + 3 * torch.eye(n)
    return solve, (A, torch.randn(k, n)), None


# trends and seasons, scored by how much each observation surprises the filter


@model("Kalman filter", half=False, compiles=False)
def trends_scored_by_surprise(small):
    series, steps, season = (3, 5, 3) if small else (4096, 48, 12)
    n = 2 + season - 1
    T = torch.zeros(n, n)
    T[0, 0] = T[0, 1] = T[1, 1] = 1.0
    T[2, 2:] = -1.0
    if n > 3:
        T[3:, 2:-1] = torch.eye(n - 3)
    z = torch.zeros(n)
    z[0] = z[2] = 1.0

    def score(p, y, T, z, who):
        log = p["log"][who]  # (series, 4): of level, slope, season, and what is observed
        q = torch.cat([log[:, :3], torch.full((len(y), n - 3), -20.0, device=y.device)], 1).exp()
        r = log[:, 3].exp()

        def step(state, seen):
            x, P, total = state
            x = x @ T.t()
            P = T @ P @ T.t() + torch.diag_embed(q)
            Pz = P @ z
            S = Pz @ z + r
            v = seen - x @ z
            K = Pz / S.unsqueeze(1)
            x = x + K * v.unsqueeze(1)
            P = P - K.unsqueeze(2) * Pz.unsqueeze(1)
            return (x, 0.5 * (P + P.mT), total - 0.5 * (S.log() + v * v / S)), x[:, :2]

        start = p["start"][who], 5.0 * torch.eye(n, device=y.device).expand(len(y), -1, -1), torch.zeros(len(y), device=y.device)
        (_, _, total), levels = scan(step, start, y.unbind(1))
        return total, levels

    groups = 5 if small else 200
    net = Learnt(score, log=nn.Parameter(torch.randn(groups, 4) * 0.1 - 1), start=nn.Parameter(torch.zeros(groups, n)))
    inputs = torch.randn(series, steps).cumsum(1), T, z, torch.randint(groups, (series,))
    return net, inputs, lambda out: -out[0].mean() / steps


# light: every ray against every triangle, then their shadows


def cross(a, b):
    (ax, ay, az), (bx, by, bz) = a, b
    return ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx


def dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def hits(origin, direction, corners, far=1e9):
    """Distances (rays, triangles), `far` where a ray misses; vectors are three arrays."""
    v0, v1, v2 = ([c.unsqueeze(0) for c in corners[:, i].unbind(1)] for i in range(3))
    o, d = ([c.unsqueeze(1) for c in v.unbind(1)] for v in (origin, direction))
    e1, e2 = [b - a for a, b in zip(v0, v1)], [b - a for a, b in zip(v0, v2)]
    h = cross(d, e2)
    det = dot(e1, h)
    inv = 1 / torch.where(det.abs() < 1e-7, torch.ones_like(det), det)
    s = [a - b for a, b in zip(o, v0)]
    u = inv * dot(s, h)
    q = cross(s, e1)
    v = inv * dot(d, q)
    t = inv * dot(e2, q)
    hit = (det.abs() >= 1e-7) & (u >= 0) & (v >= 0) & (u + v <= 1) & (t > 1e-4)
    return torch.where(hit, t, far)


@model("rays and points", half=False)
def rays_against_every_triangle(small):
    rays, triangles, part = (12, 5, 6) if small else (24_576, 1536, 12_288)

    def shade(origin, direction, corners, colour, lamp):
        normal = F.normalize(torch.linalg.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), dim=1)
        out = []
        for o, d in zip(origin.split(part), direction.split(part)):
            t, which = hits(o, d, corners).min(1)
            seen = t < 1e8
            point, n = o + t.clamp_max(100).unsqueeze(1) * d, normal[which]
            n = torch.where((n * d).sum(1, keepdim=True) > 0, -n, n)
            to_lamp = lamp - point
            far = to_lamp.norm(dim=1, keepdim=True)
            to_lamp = to_lamp / far
            shadow = (hits(point + 1e-3 * n, to_lamp, corners) < far).any(1, keepdim=True)
            lit = (n * to_lamp).sum(1, keepdim=True).clamp_min(0) * ~shadow + 0.1
            out.append(torch.where(seen.unsqueeze(1), colour[which] * lit, 0.5 + 0.5 * d))
        return torch.cat(out)

    centre = torch.randn(triangles, 1, 3) * 2 + torch.tensor([0.0, 0.0, 6.0])
    inputs = torch.zeros(rays, 3), F.normalize(torch.randn(rays, 3) * torch.tensor([0.4, 0.4, 0.0]) + torch.tensor([0.0, 0.0, 1.0]), dim=1)
    return shade, (*inputs, centre + torch.randn(triangles, 3, 3) * 0.4, torch.rand(triangles, 3), torch.tensor([5.0, 8.0, 0.0])), None


# a cloud: along every ray, and from every place on it towards the sun


@model("rays and points", half=False)
def clouds_lit_through_a_grid(small):
    rays, along, sunward, side = (5, 3, 2, 4) if small else (16_384, 64, 6, 160)

    def density(grid, x):
        """x: (..., 3) within -1 … 1."""
        coarse = F.grid_sample(grid, x.reshape(1, -1, 1, 1, 3), align_corners=False, padding_mode="zeros").view(x.shape[:-1])
        fine = F.grid_sample(grid, (3.7 * x + 0.3 * torch.sin(9 * x)).frac().reshape(1, -1, 1, 1, 3), align_corners=False).view(
            x.shape[:-1]
        )
        return (coarse - 0.3 * fine).clamp_min(0) * 20

    def render(grid, origin, direction, sun):
        step = 2.0 / along
        ts = (torch.arange(along, device=grid.device) + torch.rand(len(origin), along, device=grid.device)) * step
        x = origin.unsqueeze(1) + ts.unsqueeze(-1) * direction.unsqueeze(1)
        here = density(grid, x)
        depth = sum(density(grid, x + sun * (0.06 * 1.6**i)) * (0.06 * 1.6**i) for i in range(sunward))
        light = torch.exp(-depth) + 0.3 * torch.exp(-0.25 * depth)
        c = (direction @ sun).unsqueeze(1)
        phase = sum(w * (1 - g * g) / (4 * pi * (1 + g * g - 2 * g * c) ** 1.5) for g, w in ((0.8, 0.7), (-0.3, 0.3)))
        through = torch.exp(-(here * step).cumsum(1))
        weight = F.pad(through[:, :-1], (1, 0), value=1.0) - through
        return (weight * light * phase).sum(1), through[:, -1]

    origin = torch.cat([torch.rand(rays, 2) * 2 - 1, -torch.ones(rays, 1)], 1)
    direction = F.normalize(torch.cat([torch.randn(rays, 2) * 0.1, torch.ones(rays, 1)], 1), dim=1)
    return render, (torch.rand(1, 1, side, side, side), origin, direction, F.normalize(torch.tensor([0.3, 0.9, -0.2]), dim=0)), None


# arms: joints turned until the hands are where they should be


@model("robotics", half=False, compiles=False)
def arms_reaching_by_damped_steps(small):
    arms, joints, rounds = (3, 3, 1) if small else (32_768, 7, 8)

    def link(theta, d, a, ca, sa):
        c, s, o = theta.cos(), theta.sin(), torch.zeros_like(theta)
        rows = torch.stack([c, -s * ca, s * sa, a * c, s, c * ca, -c * sa, a * s, o, o + sa, o + ca, o + d, o, o, o, o + 1], -1)
        return rows.view(-1, 4, 4)

    def forward_chain(q, dh):
        pose = torch.eye(4, device=q.device).expand(len(q), 4, 4)
        frames = [pose]
        for i in range(joints):
            d, a, ca, sa = dh[i].unbind()
            pose = torch.bmm(pose, link(q[:, i], d, a, ca, sa))
            frames.append(pose)
        return torch.stack(frames, 1)

    def reach(q, dh, low, high, goal, goal_turn):
        eye = torch.eye(6, device=q.device)
        for _ in range(rounds):
            frames = forward_chain(q, dh)
            hand = frames[:, -1]
            axis, place = frames[:, :-1, :3, 2], frames[:, :-1, :3, 3]
            J = torch.cat([torch.linalg.cross(axis, hand[:, None, :3, 3] - place), axis], 2).mT  # (arms, 6, joints)
            turn = 0.5 * torch.linalg.cross(hand[:, :3, :3], goal_turn, dim=1).sum(2)
            error = torch.cat([goal - hand[:, :3, 3], turn], 1)
            damp = 1e-3 + 0.1 * error.square().sum(1).clamp_max(1.0)
            L, _ = torch.linalg.cholesky_ex(J @ J.mT + damp.view(-1, 1, 1) * eye)
            step = (J.mT @ torch.cholesky_solve(error.unsqueeze(-1), L)).squeeze(-1)
            home = 0.05 * (0.5 * (low + high) - q)
            idle = home - (J.mT @ torch.cholesky_solve(J @ home.unsqueeze(-1), L)).squeeze(-1)
            q = torch.maximum(torch.minimum(q + step.clamp(-0.3, 0.3) + idle, high), low)
        return q, error.norm(dim=1)

    turn = torch.rand(joints) * 2 - 1
    dh = torch.stack([torch.rand(joints) * 0.3, torch.rand(joints) * 0.3, turn.cos(), turn.sin()], 1)
    low, high = torch.full((joints,), -2.8), torch.full((joints,), 2.8)
    first, second = F.normalize(torch.randn(2, arms, 3), dim=2)
    third = F.normalize(torch.linalg.cross(first, second), dim=1)
    goal_turn = torch.stack([first, torch.linalg.cross(third, first), third], 2)
    return reach, (torch.randn(arms, joints), dh, low, high, torch.randn(arms, 3) * 0.5, goal_turn), None


# series: for each window the one elsewhere that is most like it


@model("time series", half=False)
def windows_nearest_in_a_series(small):
    n, widths, part = (40, (4, 6), 16) if small else (20_000, (32, 96), 2560)

    def profile(x, m):
        windows = x.unfold(0, m, 1)
        z = windows - windows.mean(1, keepdim=True)
        z = z / z.norm(dim=1, keepdim=True).clamp_min(1e-6)
        at = torch.arange(len(z), device=x.device)
        near, where = [], []
        for rows, i in zip(z.split(part), at.split(part)):
            alike = (rows @ z.mT).masked_fill((i.unsqueeze(1) - at).abs() < m // 2, -1.0)
            best, index = alike.max(1)
            near.append((2 * m * (1 - best)).clamp_min(0).sqrt())
            where.append(index)
        return torch.cat(near), torch.cat(where)

    def odd_ones(x):
        out = []
        for m in widths:
            near, where = profile(x, m)
            smooth = F.avg_pool1d(near.view(1, 1, -1), 9, 1, 4).view(-1)
            out.append((smooth.topk(5).indices, near.topk(3, largest=False).indices, where))
        return out

    return odd_ones, (torch.randn(n).cumsum(0),), None


# sequences laid side by side: the best local alignment with gaps that open and extend, a diagonal at a time


@model("sequence", half=False, compiles=False)
def edits_counted_along_diagonals(small):
    pairs, n, m, letters = (3, 5, 6, 4) if small else (4096, 128, 160, 25)
    opened, extended = 11, 1

    def align(query, target, matrix):
        flat, low = matrix.flatten(), -(2**20)
        rows = torch.arange(n, device=query.device)
        backwards = F.pad(target.flip(1), (n, n), value=0)
        query = query * letters
        zero = torch.zeros(len(query), n, dtype=torch.int32, device=query.device)
        shift = lambda z, fill: F.pad(z[:, :-1], (1, 0), value=fill)  # noqa: E731
        H1, H2, E, G, best, at = zero, zero, zero + low, zero + low, zero, zero
        for d in range(n + m - 1):
            E = torch.maximum(H1 - opened, E - extended)
            G = torch.maximum(shift(H1, 0) - opened, shift(G, low) - extended)
            opposite = backwards[:, n + m - 1 - d : n + m - 1 - d + n]
            H = shift(H2, 0) + flat[query + opposite]
            H = torch.maximum(torch.maximum(H, E), G).clamp_min(0)
            inside = (rows <= d) & (rows > d - m)
            H = torch.where(inside, H, 0)
            better = best < H
            best, at = torch.where(better, H, best), torch.where(better, d, at)
            H1, H2 = H, H1
        score, row = best.max(1)
        return score, row, at.gather(1, row.unsqueeze(1)).squeeze(1) - row

    matrix = torch.randint(-4, 6, (letters, letters), dtype=torch.int32)
    return align, (torch.randint(letters, (pairs, n)), torch.randint(letters, (pairs, m)), matrix), None


# friends of friends: walks by chance, then vectors for those who meet on them


@model("graph")
def friends_walked_at_random(small):
    people, degree, walks, length, d, window, wrong = (10, 2, 3, 5, 4, 1, 2) if small else (400_000, 12, 2048, 20, 128, 4, 5)
    start = torch.arange(people + 1) * degree

    def meet(p, start, friends, home):
        def step(now, chance):
            first = start[now]
            many = start[now + 1] - first
            return (following := friends[first + (chance * many).long().clamp_max(degree - 1)]), following

        _, path = scan(step, home, torch.rand(length, len(home), device=home.device))
        pairs = path.t().unfold(1, 2 * window + 1, 1)  # (walks, places, window)
        middle = pairs[..., window].reshape(-1)
        around = torch.cat([pairs[..., :window], pairs[..., window + 1 :]], -1).flatten(0, 1)
        others = torch.randint(people, (len(middle), wrong * around.shape[1]), device=home.device)
        mine = p["mine"][middle]
        yes = torch.einsum("nd,nkd->nk", mine, p["theirs"][around])
        no = torch.einsum("nd,nkd->nk", mine, p["theirs"][others])
        return F.logsigmoid(yes).sum(1) + F.logsigmoid(-no).sum(1)

    net = Learnt(meet, mine=nn.Parameter(torch.randn(people, d) * 0.1), theirs=nn.Parameter(torch.randn(people, d) * 0.1))
    return net, (start, torch.randint(people, (people * degree,)), torch.randint(people, (walks,))), lambda out: -out.mean()
