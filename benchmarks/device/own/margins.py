"""Margins: code of a research group, as it grew: hyper-parameters in a dictionary, loops over taps, masks, and ideas in comments."""

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model

EPS = 1e-8


# ---------------------------------------------------------------- speech enhancement: gains for bands, then a short filter per low bin


def band_matrix(n_freq, n_band):
    # roughly logarithmic, at least two bins each
    edges = [0]
    for i in range(1, n_band + 1):
        want = round(n_freq * (math.exp(3.0 * i / n_band) - 1) / (math.exp(3.0) - 1))
        edges.append(max(edges[-1] + 2, want))
    edges[-1] = n_freq
    m = torch.zeros(n_band, n_freq)
    for i in range(n_band):
        m[i, edges[i] : edges[i + 1]] = 1.0
    return m


class CausalConv(nn.Module):
    def __init__(self, cin, cout, kt=2, kf=3, fstride=1, separable=True, transposed=False):
        super().__init__()
        self.pad = kt - 1
        g = math.gcd(cin, cout) if separable else 1
        if transposed:
            self.conv = nn.ConvTranspose2d(
                cin, cout, (kt, kf), (1, fstride), (kt - 1, kf // 2), output_padding=(0, fstride - 1), groups=g, bias=False
            )
        else:
            self.conv = nn.Conv2d(cin, cout, (kt, kf), (1, fstride), (0, kf // 2), groups=g, bias=False)
        self.point = nn.Conv2d(cout, cout, 1, bias=False) if g > 1 else None
        self.bn = nn.BatchNorm2d(cout)

    def forward(self, x):  # b c t f
        if self.pad:
            x = F.pad(x, (0, 0, self.pad, 0))
        x = self.conv(x)
        if self.point is not None:
            x = self.point(x)
        return torch.relu(self.bn(x))


class BandsThenTaps(nn.Module):
    def __init__(self, hp):
        super().__init__()
        c, h = hp["ch"], hp["hidden"]
        self.hp = hp
        self.register_buffer("bands", band_matrix(hp["n_freq"], hp["n_band"]))
        self.e0 = CausalConv(1, c, 3, separable=False)
        self.e1 = CausalConv(c, c, 1, fstride=2)
        self.e2 = CausalConv(c, c, 1, fstride=2)
        self.e3 = CausalConv(c, c, 1)
        self.d0 = CausalConv(2, c, 3, separable=False)
        self.d1 = CausalConv(c, c, 1, fstride=2)
        nf = hp["n_band"] // 4
        self.squeeze_c = nn.Linear(c * hp["n_df"] // 2, c * nf)
        self.gru = nn.GRU(c * nf, h, batch_first=True)
        self.gru_band = nn.GRU(h, h, batch_first=True)
        self.unsqueeze = nn.Linear(h, c * nf)
        self.p3, self.p2, self.p1, self.p0 = (nn.Conv2d(c, c, 1) for _ in range(4))
        self.u3 = CausalConv(c, c, 1)
        self.u2 = CausalConv(c, c, 1, fstride=2, transposed=True)
        self.u1 = CausalConv(c, c, 1, fstride=2, transposed=True)
        self.u0 = nn.Conv2d(c, 1, (1, 3), padding=(0, 1))
        self.gru_df = nn.GRU(h, h, num_layers=2, batch_first=True)
        self.taps = nn.Linear(h, hp["n_df"] * hp["order"] * 2)
        self.alpha = nn.Linear(h, 1)
        self.snr = nn.Linear(h, 1)

    def forward(self, spec):  # b t f 2
        hp = self.hp
        B, T = spec.shape[:2]
        power = spec.square().sum(-1)
        n_in = self.bands.sum(1)
        erb = 10 * torch.log10(power @ (self.bands / n_in[:, None]).t() + 1e-6)
        erb = (erb - erb.mean(1, keepdim=True)) / 40.0
        low = spec[:, :, : hp["n_df"]]
        low = low / low.square().sum(-1, keepdim=True).mean(1, keepdim=True).add(EPS).sqrt()

        e0 = self.e0(erb.unsqueeze(1))
        e1 = self.e1(e0)
        e2 = self.e2(e1)
        e3 = self.e3(e2)
        d1 = self.d1(self.d0(low.permute(0, 3, 1, 2)))
        flat = lambda a: a.permute(0, 2, 3, 1).reshape(B, T, -1)  # noqa: E731
        emb, _ = self.gru(flat(e3) + torch.relu(self.squeeze_c(flat(d1))))

        # stage one: gains
        y, _ = self.gru_band(emb)
        y = torch.relu(self.unsqueeze(y)).view(B, T, -1, hp["ch"]).permute(0, 3, 1, 2)
        y = self.u3(self.p3(e3) + y)
        y = self.u2(self.p2(e2) + y)
        y = self.u1(self.p1(e1) + y)
        gain = torch.sigmoid(self.u0(self.p0(e0) + y)).squeeze(1)
        out = spec * (gain @ self.bands).unsqueeze(-1)

        # stage two: a complex filter over the last frames, low bins only. (Tried unfold: slower.)
        z, _ = self.gru_df(emb)
        w = torch.tanh(self.taps(z)).view(B, T, hp["n_df"], hp["order"], 2)
        a = torch.sigmoid(self.alpha(z)).unsqueeze(-1)
        ahead = 2
        padded = F.pad(out[:, :, : hp["n_df"]], (0, 0, 0, 0, hp["order"] - 1 - ahead, ahead))
        re, im = 0.0, 0.0
        for k in range(hp["order"]):
            s = padded[:, k : k + T]
            re = re + s[..., 0] * w[..., k, 0] - s[..., 1] * w[..., k, 1]
            im = im + s[..., 0] * w[..., k, 1] + s[..., 1] * w[..., k, 0]
        filtered = torch.stack([re, im], -1)
        lowest = a * filtered + (1 - a) * out[:, :, : hp["n_df"]]
        return torch.cat([lowest, out[:, :, hp["n_df"] :]], 2), self.snr(emb).squeeze(-1)


@model("speech enhancement")
def noise_filtered_over_frames(small):
    hp = dict(n_freq=481, n_band=32, n_df=96, order=5, ch=64, hidden=256)
    b, t = 24, 400
    if small:
        hp, b, t = dict(n_freq=33, n_band=8, n_df=8, order=5, ch=4, hidden=8), 2, 6
    clean = torch.randn(b, t, hp["n_freq"], 2)
    snr = torch.randn(b, t) * 10

    def loss(out):
        est, level = out
        mag = lambda s: s.float().square().sum(-1).add(1e-6).pow(0.15)  # noqa: E731  # |.|^0.3
        me, mc = mag(est), mag(clean)
        phased = (est.float() * me.pow(-7 / 3).unsqueeze(-1) - clean * mc.pow(-7 / 3).unsqueeze(-1)).square().mean()
        return (me - mc).square().mean() + 0.3 * phased + 1e-3 * (level - snr).square().mean()

    return BandsThenTaps(hp), (clean + 0.3 * torch.randn_like(clean),), loss


# ---------------------------------------------------------------- registration: two scans of a thing, seen in part


def neighbours(x, k):  # b n c -> b n k
    inner = -2 * x @ x.transpose(1, 2)
    sq = x.square().sum(-1)
    return (-(inner + sq[:, :, None] + sq[:, None, :])).topk(k, dim=-1).indices


def edges(x, idx):
    B, N, C = x.shape
    k = idx.shape[-1]
    flat = (idx + torch.arange(B, device=x.device).view(-1, 1, 1) * N).view(-1)
    nb = x.reshape(B * N, C)[flat].view(B, N, k, C)
    here = x.unsqueeze(2).expand(-1, -1, k, -1)
    return torch.cat([nb - here, here], -1)


class EdgeFeatures(nn.Module):
    def __init__(self, widths, k):
        super().__init__()
        self.k, self.mlps = k, nn.ModuleList()
        c = 3
        for w in widths:
            self.mlps.append(nn.Sequential(nn.Linear(2 * c, w), nn.LeakyReLU(0.2), nn.Linear(w, w)))
            c = w
        self.last = nn.Linear(sum(widths), widths[-1])

    def forward(self, x):
        idx = neighbours(x, self.k)  # fixed graph, from places: dynamic ones moved about too much between epochs
        outs, h = [], x
        for mlp in self.mlps:
            h = F.leaky_relu(mlp(edges(h, idx)).amax(2), 0.2)
            outs.append(h)
        return self.last(torch.cat(outs, -1))


class Talk(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.mine, self.other = nn.MultiheadAttention(d, heads, batch_first=True), nn.MultiheadAttention(d, heads, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.ReLU(), nn.Linear(2 * d, d))
        self.n1, self.n2, self.n3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)

    def forward(self, x, y):
        a = self.n1(x)
        x = x + self.mine(a, a, a, need_weights=False)[0]
        x = x + self.other(self.n2(x), y, y, need_weights=False)[0]
        return x + self.ff(self.n3(x))


class LayOn(nn.Module):
    def __init__(self, widths, k, heads, layers, rounds, sink):
        super().__init__()
        d = widths[-1]
        self.features = EdgeFeatures(widths, k)
        self.talk = nn.ModuleList([Talk(d, heads) for _ in range(layers)])
        self.steer = nn.Sequential(nn.Linear(2 * d, d), nn.ReLU(), nn.Linear(d, 2))  # how sharp, how far an outlier may be
        self.rounds, self.sink = rounds, sink

    def forward(self, source, target):
        B = source.shape[0]
        total_R = torch.eye(3, device=source.device).repeat(B, 1, 1)
        total_t = torch.zeros(B, 1, 3, device=source.device)
        moved, trace = source, []
        ft0 = self.features(target)
        for _ in range(self.rounds):
            fs, ft = self.features(moved), ft0
            for talk in self.talk:
                fs, ft = talk(fs, ft), talk(ft, fs)
            beta, alpha = F.softplus(self.steer(torch.cat([fs.amax(1), ft.amax(1)], -1))).split(1, -1)
            dist = torch.cdist(F.normalize(fs, dim=-1), F.normalize(ft, dim=-1)).square()
            logp = -beta.unsqueeze(-1) * (dist - alpha.unsqueeze(-1))
            logp = F.pad(logp, (0, 1, 0, 1))  # slack row and column
            for _ in range(self.sink):
                rows = logp[:, :-1] - logp[:, :-1].logsumexp(2, keepdim=True)
                logp = torch.cat([rows, logp[:, -1:]], 1)
                cols = logp[:, :, :-1] - logp[:, :, :-1].logsumexp(1, keepdim=True)
                logp = torch.cat([cols, logp[:, :, -1:]], 2)
            P = logp[:, :-1, :-1].exp()
            w = P.sum(-1, keepdim=True)
            virtual = P @ target / (w + EPS)
            # weighted Kabsch
            wn = w / (w.sum(1, keepdim=True) + EPS)
            cs, cv = (wn * moved).sum(1, keepdim=True), (wn * virtual).sum(1, keepdim=True)
            H = ((moved - cs) * wn).transpose(1, 2) @ (virtual - cv)
            U, _, Vh = torch.linalg.svd(H.float() + 1e-5 * torch.diag(torch.tensor([1.0, 2.0, 3.0], device=H.device)))
            V = Vh.transpose(1, 2)
            sign = torch.det(U) * torch.det(Vh)
            fix = torch.stack([torch.ones_like(sign), torch.ones_like(sign), sign], -1)
            R = (V * fix.unsqueeze(1)) @ U.transpose(1, 2)
            t = cv - cs @ R.transpose(1, 2)
            moved = moved.detach() @ R.transpose(1, 2) + t
            total_R, total_t = R @ total_R, total_t @ R.transpose(1, 2) + t
            trace.append(moved)
        return total_R, total_t, torch.stack(trace)


@model("registration", half=False)
def clouds_laid_on_each_other(small):
    b, n, widths, k, heads, layers, rounds, sink = (
        (2, 12, (8, 8), 3, 2, 1, 2, 2) if small else (8, 1024, (64, 64, 128, 256), 20, 4, 2, 2, 5)
    )
    target = torch.rand(b, n, 3) * 2 - 1
    angle = torch.rand(b, 1) * 0.7
    c, s, o, i = angle.cos(), angle.sin(), torch.zeros(b, 1), torch.ones(b, 1)
    R = torch.stack([torch.cat([c, -s, o], 1), torch.cat([s, c, o], 1), torch.cat([o, o, i], 1)], 1)
    source = target @ R + 0.02 * torch.randn(b, n, 3)

    def loss(out):
        return sum(0.5 ** (rounds - 1 - j) * (out[2][j] - target).abs().mean() for j in range(rounds))

    return LayOn(widths, k, heads, layers, rounds, sink), (source, target), loss


# ---------------------------------------------------------------- offline RL: values as expectiles of a crowd of critics


class Crowd(nn.Module):
    """n MLPs at once; weights (n, in, out)."""

    def __init__(self, n, sizes):
        super().__init__()
        self.w = nn.ParameterList([nn.Parameter(torch.randn(n, a, b) * (2 / a) ** 0.5) for a, b in pairwise(sizes)])
        self.b = nn.ParameterList([nn.Parameter(torch.zeros(n, 1, b)) for b in sizes[1:]])

    def forward(self, x):
        h = x.unsqueeze(0).expand(self.w[0].shape[0], -1, -1)
        for i, (w, b) in enumerate(zip(self.w, self.b)):
            h = torch.bmm(h, w) + b
            if i < len(self.w) - 1:
                h = F.relu(F.layer_norm(h, h.shape[-1:]))
        return h.squeeze(-1)


class Expectile(nn.Module):
    def __init__(self, obs, act, hidden, n, depth, tau=0.8, temp=3.0, gamma=0.99):
        super().__init__()
        sizes = [obs + act] + [hidden] * depth + [1]
        self.q, self.q_old = Crowd(n, sizes), Crowd(n, sizes)
        for p in self.q_old.parameters():
            p.requires_grad_(False)
        self.v = Crowd(1, [obs] + [hidden] * depth + [1])
        self.pi = nn.Sequential(nn.Linear(obs, hidden), nn.ReLU(), nn.Dropout(0.1), nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(0.1))
        self.mu, self.logstd = nn.Linear(hidden, act), nn.Parameter(torch.zeros(act))
        self.tau, self.temp, self.gamma = tau, temp, gamma

    def forward(self, o, a, r, o2, done):
        sa = torch.cat([o, a], -1)
        with torch.no_grad():
            q_old = self.q_old(sa)
            low = q_old.amin(0)
            spread = q_old.std(0)
            next_v = self.v(o2).squeeze(0)
            goal = r + self.gamma * (1 - done) * next_v
        v = self.v(o).squeeze(0)
        gap = low - v
        side = torch.where(gap > 0, self.tau, 1 - self.tau)
        v_loss = (side * gap.square()).mean()
        q = self.q(sa)
        q_loss = (q - goal).square().mean(1).sum()
        # those whose critics disagree count less
        trust = torch.sigmoid(-spread) + 0.5
        weight = (torch.exp(self.temp * gap.detach()).clamp(max=100.0) * trust).detach()
        h = self.pi(o)
        mu = torch.tanh(self.mu(h))
        std = self.logstd.clamp(-5, 2).exp()
        logp = (-0.5 * ((a - mu) / std).square() - std.log() - 0.5 * math.log(2 * math.pi)).sum(-1)
        return v_loss, q_loss, -(weight * logp).mean()


@model("reinforcement learning")
def advantages_by_expectile(small):
    b, obs, act, hidden, n, depth = (6, 5, 2, 8, 3, 2) if small else (8192, 376, 17, 768, 8, 3)
    net = Expectile(obs, act, hidden, n, depth)
    done = (torch.rand(b) < 0.01).float()
    return net, (torch.randn(b, obs), torch.rand(b, act) * 2 - 1, torch.randn(b), torch.randn(b, obs), done), lambda out: sum(out)


# ---------------------------------------------------------------- piano: when a key is struck, when let go, how hard, and what sounds


class Stack(nn.Module):
    def __init__(self, bins, c, out):
        super().__init__()
        self.cnn = nn.Sequential(
            nn.Conv2d(1, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(),
            nn.Conv2d(c, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(), nn.MaxPool2d((1, 2)), nn.Dropout(0.25),
            nn.Conv2d(c, 2 * c, 3, padding=1), nn.BatchNorm2d(2 * c), nn.ReLU(), nn.MaxPool2d((1, 2)), nn.Dropout(0.25),
        )  # fmt: skip
        self.fc = nn.Sequential(nn.Linear(2 * c * (bins // 4), out), nn.Dropout(0.5))

    def forward(self, mel):
        x = self.cnn(mel.unsqueeze(1))
        return self.fc(x.transpose(1, 2).flatten(-2))


class Keys(nn.Module):
    def __init__(self, bins, c, d, keys):
        super().__init__()
        self.on, self.off, self.frame, self.hard = (Stack(bins, c, d) for _ in range(4))
        self.rnn_on, self.rnn_off = (nn.LSTM(d, d // 2, batch_first=True, bidirectional=True) for _ in range(2))
        self.out_on, self.out_off, self.out_frame, self.out_hard = (nn.Linear(d, keys) for _ in range(4))
        self.rnn_all = nn.LSTM(3 * keys, d // 2, batch_first=True, bidirectional=True)
        self.out_all = nn.Linear(d, keys)

    def forward(self, mel):
        on = self.out_on(self.rnn_on(self.on(mel))[0])
        off = self.out_off(self.rnn_off(self.off(mel))[0])
        act = self.out_frame(self.frame(mel))
        joint = torch.cat([on.sigmoid().detach(), off.sigmoid().detach(), act.sigmoid()], -1)
        frame = self.out_all(self.rnn_all(joint)[0])
        hard = self.out_hard(self.hard(mel))
        # at inference: a note sounds only from where it was struck
        start = (on > 0) & (F.pad(on, (0, 0, 1, 0))[:, :-1] <= 0)
        i = torch.arange(1, on.shape[1] + 1, device=on.device).view(1, -1, 1)
        struck, quiet = (torch.cummax(torch.where(when, i, 0), dim=1).values for when in (start, frame <= 0))
        held = struck > quiet
        return on, off, act, frame, hard, held


@model("music")
def keys_struck_and_held(small):
    b, t, bins, c, d, keys = (2, 5, 16, 4, 8, 6) if small else (6, 400, 228, 48, 512, 88)
    on, off, frame = ((torch.rand(b, t, keys) < p).float() for p in (0.02, 0.02, 0.1))
    velocity = torch.rand(b, t, keys)

    def loss(out):
        bce = F.binary_cross_entropy_with_logits
        hit = on * (velocity - out[4]).square()
        total = bce(out[0], on) + bce(out[1], off) + 0.5 * bce(out[2], frame) + bce(out[3], frame, weight=1 + 4 * on)
        return total + hit.sum() / on.sum().clamp_min(1)

    return Keys(bins, c, d, keys), (torch.randn(b, t, bins),), loss


# ---------------------------------------------------------------- a state space that looks both ways, written out as one matrix per head


class BothWays(nn.Module):
    def __init__(self, d, expand, state, p):
        super().__init__()
        self.inner, self.state, self.p = d * expand, state, p
        self.h = self.inner // p
        self.inp = nn.Linear(d, 2 * self.inner + 4 * state + 2 * self.h, bias=False)
        conv = self.inner + 4 * state
        self.conv = nn.Conv1d(conv, conv, 7, padding=3, groups=conv)
        self.dt_bias = nn.Parameter(torch.rand(2 * self.h) * 2 - 4)
        self.A_log = nn.Parameter(torch.linspace(1, 16, self.h).log())
        self.D = nn.Linear(self.inner, self.h, bias=False)
        self.norm = nn.LayerNorm(self.inner)
        self.out = nn.Linear(self.inner, d, bias=False)

    def matrix(self, la, q, k, dt):
        # la: b h l, logs of decays. M[i, j] = q_i k_j prod of decays between j and i, for j < i
        L = la.shape[-1]
        cs = la.cumsum(-1)
        seg = cs[..., :, None] - cs[..., None, :]
        low = torch.ones(L, L, dtype=torch.bool, device=la.device).tril(-1)
        decay = seg.masked_fill(~low, float("-inf")).exp()
        return (q @ k.transpose(1, 2)).unsqueeze(1) * decay * dt.unsqueeze(2)

    def forward(self, u):
        B, L, _ = u.shape
        z, xbc, dt = self.inp(u).split([self.inner, self.inner + 4 * self.state, 2 * self.h], -1)
        xbc = F.silu(self.conv(xbc.transpose(1, 2)).transpose(1, 2))
        x, bf, cf, bb, cb = xbc.split([self.inner] + [self.state] * 4, -1)
        dt = F.softplus(dt + self.dt_bias).transpose(1, 2)
        dtf, dtb = dt.split(self.h, 1)
        a = -self.A_log.exp().view(1, -1, 1)
        M = self.matrix((a * dtf).float(), cf, bf, dtf)
        Mb = self.matrix((a * dtb).float().flip(-1), cb.flip(1), bb.flip(1), dtb.flip(-1)).flip(-1, -2)
        M = M + Mb + torch.diag_embed(self.D(x).transpose(1, 2))
        xh = x.view(B, L, self.h, self.p).transpose(1, 2)
        y = (M.to(xh.dtype) @ xh).transpose(1, 2).reshape(B, L, -1)
        return self.out(self.norm(y) * F.silu(z))


class BothWaysModel(nn.Module):
    def __init__(self, vocab, d, layers, expand, state, p):
        super().__init__()
        self.emb, self.mix = nn.Embedding(vocab, d), nn.ModuleList([BothWays(d, expand, state, p) for _ in range(layers)])
        self.norms, self.last = nn.ModuleList([nn.LayerNorm(d) for _ in range(layers)]), nn.LayerNorm(d)

    def forward(self, ids):
        x = self.emb(ids)
        for norm, mix in zip(self.norms, self.mix):
            x = x + mix(norm(x))
        return self.last(x) @ self.emb.weight.t()


@model("state space")
def past_and_future_in_one_matrix(small):
    b, L, vocab, d, layers, expand, state, p = (2, 6, 20, 8, 2, 2, 4, 4) if small else (8, 512, 16_000, 512, 6, 2, 64, 64)
    ids = torch.randint(1, vocab, (b, L))
    hidden = torch.rand(b, L) < 0.3

    def loss(logits):
        each = F.cross_entropy(logits.flatten(0, 1).float(), ids.flatten(), reduction="none").view(b, L)
        return (each * hidden).sum() / hidden.sum().clamp_min(1)

    return BothWaysModel(vocab, d, layers, expand, state, p), (ids.masked_fill(hidden, 0),), loss


# ---------------------------------------------------------------- EM for linear dynamics, with holes in what was seen


@model("Kalman filter", half=False, compiles=False)
def dynamics_learned_between_smoothings(small):
    b, T, n, m, rounds = (2, 3, 2, 3, 1) if small else (256, 36, 6, 12, 2)

    def em(y, seen, A, C, q, r):
        # y: b T m; seen: b T m, 1 where there is something
        B = len(y)
        I = torch.eye(n, device=y.device)  # noqa: E741
        A, C = A.repeat(B, 1, 1), C.repeat(B, 1, 1)
        Q, R = q * I.repeat(B, 1, 1), r * torch.ones(B, m, device=y.device)
        lls = []
        for _ in range(rounds):
            x, P = torch.zeros(B, n, 1, device=y.device), I.repeat(B, 1, 1)
            xs, Ps, xp, Pp = [], [], [], []
            ll = 0.0
            for t in range(T):
                x, P = A @ x, A @ P @ A.mT + Q
                xp.append(x)
                Pp.append(P)
                w = seen[:, t] / R  # information form: a hole has no weight
                CtW = C.mT * w.unsqueeze(1)
                J = torch.linalg.inv(P) + CtW @ C
                L, _ = torch.linalg.cholesky_ex(J)
                e = (y[:, t].unsqueeze(-1) - C @ x) * seen[:, t].unsqueeze(-1)
                x = x + torch.cholesky_solve(CtW @ e, L)
                P = torch.cholesky_inverse(L)
                ll = ll - 0.5 * (w.unsqueeze(-1) * e.square()).sum((1, 2))
                xs.append(x)
                Ps.append(P)
            # backwards; lag-one covariances come for free: Cov(x_t+1, x_t) = P_s(t+1) G'
            sx, sP, lag = [xs[-1]], [Ps[-1]], []
            for t in range(T - 2, -1, -1):
                G = torch.linalg.solve(Pp[t + 1], A @ Ps[t]).mT
                lag.append(sP[-1] @ G.mT)
                sx.append(xs[t] + G @ (sx[-1] - xp[t + 1]))
                sP.append(Ps[t] + G @ (sP[-1] - Pp[t + 1]) @ G.mT)
            X, V, W = torch.stack(sx[::-1], 1), torch.stack(sP[::-1], 1), torch.stack(lag[::-1], 1)
            xx = V + X @ X.mT
            x1x = W + X[:, 1:] @ X[:, :-1].mT
            old, new, cross = xx[:, :-1].sum(1), xx[:, 1:].sum(1), x1x.sum(1)
            A = torch.linalg.solve(old + 1e-4 * I, cross.mT).mT
            Q = (new - A @ cross.mT) / (T - 1)
            Q = 0.5 * (Q + Q.mT) + 1e-4 * I
            flat = X.squeeze(-1)
            rows = []
            for j in range(m):  # each sensor has its own holes
                wj = seen[:, :, j, None, None]
                S = (wj * xx).sum(1) + 1e-3 * I
                g = (wj.squeeze(-1) * y[:, :, j : j + 1] * flat).sum(1)
                rows.append(torch.linalg.solve(S, g))
            C = torch.stack(rows, 1)
            res = (y - flat @ C.mT).square() + torch.einsum("bmi,btij,bmj->btm", C, V, C)
            R = ((seen * res).sum(1) / seen.sum(1).clamp_min(1)).clamp_min(1e-3)
            lls.append(ll)
        return flat, A, C, torch.stack(lls)

    A = 0.9 * torch.eye(n) + 0.05 * torch.randn(n, n)
    y, seen = torch.randn(b, T, m), (torch.rand(b, T, m) > 0.2).float()
    return em, (y, seen, A, torch.randn(m, n) * 0.5, torch.tensor(0.1), torch.tensor(0.5)), None
