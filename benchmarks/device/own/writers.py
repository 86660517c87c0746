"""Writers of code, text and pictures: drafts checked at once, experts in sorted blocks, windows with a recurrence, rotated weights."""

import itertools
import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


class RMSNorm(nn.Module):
    def __init__(self, d, eps=1e-6):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(d)), eps

    def forward(self, x):
        y = x.float()
        return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


def rotate_half(x):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((-b, a), dim=-1)


def rope(pos, dim, dtype):
    inv = 1.0 / (10000 ** (torch.arange(0, dim, 2, device=pos.device).float() / dim))
    freqs = pos.float()[:, None] * inv
    emb = torch.cat((freqs, freqs), -1)
    return emb.cos().to(dtype), emb.sin().to(dtype)


class CodeBlock(nn.Module):
    def __init__(self, d, heads, groups, hidden):
        super().__init__()
        self.heads, self.groups, self.hd = heads, groups, d // heads
        self.n1, self.n2 = RMSNorm(d), RMSNorm(d)
        self.q, self.k, self.v = nn.Linear(d, d, bias=True), nn.Linear(d, groups * self.hd), nn.Linear(d, groups * self.hd)
        self.o = nn.Linear(d, d, bias=False)
        self.gate, self.up, self.down = nn.Linear(d, hidden, bias=False), nn.Linear(d, hidden, bias=False), nn.Linear(hidden, d, bias=False)

    def forward(self, x, cos, sin, cache, mask):
        b, t, d = x.shape
        y = self.n1(x)
        q = self.q(y).view(b, t, self.heads, self.hd).transpose(1, 2)
        k = self.k(y).view(b, t, self.groups, self.hd).transpose(1, 2)
        v = self.v(y).view(b, t, self.groups, self.hd).transpose(1, 2)
        q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
        k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        r = self.heads // self.groups
        att = F.scaled_dot_product_attention(q, k.repeat_interleave(r, 1), v.repeat_interleave(r, 1), attn_mask=mask)
        x = x + self.o(att.transpose(1, 2).reshape(b, t, d))
        y = self.n2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class DraftChecker(nn.Module):
    """A code writer that reads several drafted continuations at once, as a tree, and keeps the longest prefix it would have written."""

    def __init__(self, words, d, heads, groups, hidden, layers, children):
        super().__init__()
        self.embed = nn.Embedding(words, d)
        self.blocks = nn.ModuleList(CodeBlock(d, heads, groups, hidden) for _ in range(layers))
        self.norm, self.head = RMSNorm(d), nn.Linear(d, words, bias=False)
        parents = [-1]
        for i in range(len(children)):
            parents += [i] * children[i]
        n = len(parents)
        seen, depth = torch.zeros(n, n, dtype=torch.bool), []
        paths = []
        for i in range(n):
            j, path = i, []
            while j >= 0:
                path.append(j)
                j = parents[j]
            depth.append(len(path) - 1)
            paths.append(path)
            for j in path:
                seen[i, j] = True
        self.register_buffer("seen", seen)
        self.register_buffer("depth", torch.tensor(depth))
        self.register_buffer("parent", torch.tensor([0, *parents[1:]]))

    def forward(self, drafts, caches):
        b, n = drafts.shape
        past = caches.shape[-2]
        x = self.embed(drafts)
        cos, sin = rope(self.depth + past, caches.shape[-1], x.dtype)
        mask = torch.cat([torch.ones(n, past, dtype=torch.bool, device=x.device), self.seen], 1)
        for block, cache in zip(self.blocks, caches):
            x = block(x, cos, sin, cache, mask)
        logits = self.head(self.norm(x))
        would = logits.argmax(-1)
        right = would.gather(1, self.parent.expand(b, -1)) == drafts
        right[:, 0] = True
        whole = (right.unsqueeze(1) | ~self.seen).all(-1)
        best = (whole * (self.depth + 1)).argmax(-1, keepdim=True)
        return best, would.gather(1, best)


@model("code model")
def drafts_checked_as_a_tree(small):
    b, words, d, heads, groups, hidden, layers, past = (1, 30, 16, 4, 2, 24, 1, 5) if small else (8, 32_768, 2048, 16, 4, 5632, 12, 1500)
    children = (2, 1, 1) if small else (6, 4, 3, 2, 1, 1, 1, 2, 1, 1, 1, 1)
    net = DraftChecker(words, d, heads, groups, hidden, layers, children)
    n = len(net.parent)
    return net, (torch.randint(words, (b, n)), torch.randn(layers, 2, b, groups, past, d // heads)), None


class SortedExperts(nn.Module):
    """Many small experts and one for everybody: tokens sorted by expert into blocks of a fixed size, so that none is dropped."""

    def __init__(self, d, hidden, experts, k, shared, block):
        super().__init__()
        self.k, self.block, self.experts = k, block, experts
        self.router = nn.Linear(d, experts, bias=False)
        self.register_buffer("bias", torch.zeros(experts))
        self.w1 = nn.Parameter(torch.randn(experts, d, 2 * hidden) / math.sqrt(d))
        self.w2 = nn.Parameter(torch.randn(experts, hidden, d) / math.sqrt(hidden))
        self.s1, self.s2 = nn.Linear(d, 2 * shared, bias=False), nn.Linear(shared, d, bias=False)

    @staticmethod
    def glu(x):
        a, b = x.chunk(2, -1)
        return F.silu(a) * b

    def forward(self, x):
        n, d = x.shape
        score = torch.sigmoid(self.router(x).float())
        chosen = (score + self.bias).topk(self.k, -1)[1]
        weight = score.gather(1, chosen)
        weight = (weight / weight.sum(-1, keepdim=True)).to(x.dtype)
        flat, order = chosen.flatten().sort(stable=True)
        count = torch.zeros(self.experts, dtype=torch.long, device=x.device).scatter_add(0, flat, torch.ones_like(flat))
        padded = (count + self.block - 1) // self.block * self.block
        start, first = padded.cumsum(0) - padded, count.cumsum(0) - count
        place = start[flat] + torch.arange(len(flat), device=x.device) - first[flat]
        blocks = -(-n * self.k // self.block) + self.experts
        rows = torch.zeros(blocks * self.block, d, device=x.device, dtype=x.dtype).index_copy(0, place, x[order // self.k])
        owner = torch.searchsorted(padded.cumsum(0), torch.arange(blocks, device=x.device) * self.block, right=True).clamp(
            max=self.experts - 1
        )
        y = torch.bmm(self.glu(torch.bmm(rows.view(blocks, self.block, d), self.w1[owner])), self.w2[owner]).view(-1, d)
        out = torch.zeros(n, d, device=x.device, dtype=y.dtype).index_add(
            0, order // self.k, y[place] * weight.flatten()[order].unsqueeze(1).to(y.dtype)
        )
        return out.to(x.dtype) + self.s2(self.glu(self.s1(x)))


class SortedExpertsNet(nn.Module):
    def __init__(self, words, d, heads, layers, **experts):
        super().__init__()
        self.embed, self.heads = nn.Embedding(words, d), heads
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d, bias=False) for _ in range(layers))
        self.o = nn.ModuleList(nn.Linear(d, d, bias=False) for _ in range(layers))
        self.moe = nn.ModuleList(SortedExperts(d, **experts) for _ in range(layers))
        self.n1, self.n2 = (nn.ModuleList(RMSNorm(d) for _ in range(layers)) for _ in range(2))
        self.last = RMSNorm(d)

    def forward(self, ids):
        x = self.embed(ids)
        b, t, d = x.shape
        cos, sin = rope(torch.arange(t, device=x.device), d // self.heads, x.dtype)
        for qkv, o, moe, n1, n2 in zip(self.qkv, self.o, self.moe, self.n1, self.n2):
            q, k, v = qkv(n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
            q, k = q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin
            x = x + o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
            x = x + moe(n2(x).flatten(0, 1)).view_as(x)
        return self.last(x) @ self.embed.weight.t()


@model("mixture of experts")
def experts_in_sorted_blocks(small):
    b, t, words, d, heads, layers = (1, 6, 20, 16, 2, 1) if small else (4, 512, 16_000, 768, 12, 4)
    moe = dict(hidden=8, experts=4, k=2, shared=8, block=4) if small else dict(hidden=384, experts=32, k=4, shared=768, block=128)
    ids = torch.randint(words, (b, t))
    return (
        SortedExpertsNet(words, d, heads, layers, **moe),
        (ids,),
        lambda out: F.cross_entropy(out[:, :-1].flatten(0, 1), ids[:, 1:].flatten()),
    )


class RealGatedRecurrence(nn.Module):
    def __init__(self, d, width, heads):
        super().__init__()
        self.x, self.y, self.out = nn.Linear(d, width), nn.Linear(d, width), nn.Linear(width, d)
        self.conv = nn.Conv1d(width, width, 4, groups=width, padding=3)
        self.gate_w, self.gate_b = (
            nn.Parameter(torch.randn(2, heads, width // heads, width // heads) * 0.05),
            nn.Parameter(torch.zeros(2, 1, heads, 1, width // heads)),
        )
        self.decay, self.heads = nn.Parameter(torch.rand(width) * 4 + 1), heads

    def forward(self, x):
        b, t, _ = x.shape
        side = F.gelu(self.y(x), approximate="tanh")
        u = self.conv(self.x(x).transpose(1, 2))[..., :t].transpose(1, 2)
        parts = u.view(b, t, self.heads, -1).transpose(1, 2)
        gates = torch.sigmoid((parts.unsqueeze(0) @ self.gate_w.unsqueeze(1)) + self.gate_b)
        reset, enter = (g.transpose(1, 2).reshape(b, t, -1) for g in gates)
        log_a = -8.0 * reset.float() * F.softplus(self.decay.float())
        a = log_a.exp()
        h = torch.sqrt(1 - (2 * log_a).exp() + 1e-6) * (enter * u).float()
        step = 1
        while step < t:  # each position takes over what stands `step` places before it
            h = torch.cat([h[:, :step], h[:, step:] + a[:, step:] * h[:, :-step]], 1)
            a = torch.cat([a[:, :step], a[:, step:] * a[:, :-step]], 1)
            step *= 2
        return self.out(h.to(side.dtype) * side)


class LocalAttention(nn.Module):
    def __init__(self, d, heads, window):
        super().__init__()
        self.q, self.kv, self.o = nn.Linear(d, d, bias=False), nn.Linear(d, 2 * d // heads, bias=False), nn.Linear(d, d)
        self.heads, self.window = heads, window

    def forward(self, x):
        b, t, d = x.shape
        w = self.window
        q = self.q(x).view(b, t // w, w, self.heads, -1).permute(0, 1, 3, 2, 4)
        k, v = self.kv(x).view(b, t // w, w, 2, -1).unbind(3)
        k, v = (torch.cat([F.pad(z[:, :-1], (0, 0, 0, 0, 1, 0)), z], 2).unsqueeze(2) for z in (k, v))
        i, j = torch.arange(w, device=x.device).unsqueeze(1) + w, torch.arange(2 * w, device=x.device)
        mask = (j <= i) & (j > i - w)
        score = (q @ k.transpose(-1, -2)) * q.shape[-1] ** -0.5
        att = score.masked_fill(~mask, torch.finfo(score.dtype).min).softmax(-1)
        return self.o((att @ v).permute(0, 1, 3, 2, 4).reshape(b, t, d))


class WindowsAndRecurrence(nn.Module):
    """Two layers that carry a decaying state, then one that looks back a window; gated feed-forward nets between them."""

    def __init__(self, words, d, width, heads, window, layers):
        super().__init__()
        self.embed, self.d = nn.Embedding(words, d), d
        self.mix = nn.ModuleList(
            LocalAttention(d, heads, window) if i % 3 == 2 else RealGatedRecurrence(d, width, heads) for i in range(layers)
        )
        self.n1, self.n2 = (nn.ModuleList(RMSNorm(d) for _ in range(layers)) for _ in range(2))
        self.up, self.down = (
            nn.ModuleList(nn.Linear(d, 6 * d) for _ in range(layers)),
            nn.ModuleList(nn.Linear(3 * d, d) for _ in range(layers)),
        )
        self.last = RMSNorm(d)

    def forward(self, ids):
        x = self.embed(ids) * math.sqrt(self.d)
        for mix, n1, n2, up, down in zip(self.mix, self.n1, self.n2, self.up, self.down):
            x = x + mix(n1(x))
            a, b = up(n2(x)).chunk(2, -1)
            x = x + down(F.gelu(a, approximate="tanh") * b)
        logits = self.last(x) @ self.embed.weight.t()
        return 30 * torch.tanh(logits / 30)


@model("state space")
def windows_with_a_recurrence(small):
    b, t, words, d, width, heads, window, layers = (1, 8, 20, 16, 16, 2, 4, 3) if small else (2, 1024, 16_000, 768, 1024, 8, 256, 6)
    ids = torch.randint(words, (b, t))
    net = WindowsAndRecurrence(words, d, width, heads, window, layers)
    return net, (ids,), lambda out: F.cross_entropy(out[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


class JointBlock(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.mod = nn.ModuleList(nn.Sequential(nn.SiLU(), nn.Linear(d, 6 * d)) for _ in range(2))
        self.qkv = nn.ModuleList(nn.Linear(d, 3 * d) for _ in range(2))
        self.out = nn.ModuleList(nn.Linear(d, d) for _ in range(2))
        self.mlp = nn.ModuleList(nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(approximate="tanh"), nn.Linear(4 * d, d)) for _ in range(2))
        self.qn, self.kn = (nn.ModuleList(RMSNorm(d // heads) for _ in range(2)) for _ in range(2))

    def forward(self, image, text, c):
        sides, mods, qkvs = [image, text], [], []
        for i, x in enumerate(sides):
            m = self.mod[i](c).unsqueeze(1).chunk(6, -1)
            mods.append(m)
            y = F.layer_norm(x, x.shape[-1:]) * (1 + m[1]) + m[0]
            q, k, v = self.qkv[i](y).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            qkvs.append((self.qn[i](q), self.kn[i](k), v))
        q, k, v = (torch.cat(parts, 2) for parts in zip(*qkvs))
        mixed = F.scaled_dot_product_attention(q, k, v.to(q.dtype)).transpose(1, 2).flatten(2)
        out = []
        for i, (x, y) in enumerate(zip(sides, mixed.split([s.shape[1] for s in sides], 1))):
            m = mods[i]
            x = x + m[2] * self.out[i](y)
            out.append(x + m[5] * self.mlp[i](F.layer_norm(x, x.shape[-1:]) * (1 + m[4]) + m[3]))
        return out


class StraightFlow(nn.Module):
    """Pictures along straight lines from noise: image and text tokens, each with weights of their own, attend together."""

    def __init__(self, channels, d, heads, layers, text, steps, guidance=4.5):
        super().__init__()
        self.enter, self.text, self.pool = nn.Conv2d(channels, d, 2, 2), nn.Linear(text, d), nn.Linear(text, d)
        self.time = nn.Sequential(nn.Linear(256, d), nn.SiLU(), nn.Linear(d, d))
        self.blocks = nn.ModuleList(JointBlock(d, heads) for _ in range(layers))
        self.final, self.leave = nn.Sequential(nn.SiLU(), nn.Linear(d, 2 * d)), nn.Linear(d, 4 * channels)
        self.steps, self.guidance = steps, guidance

    def velocity(self, x, t, text):
        b, c, h, w = x.shape
        freq = torch.exp(-math.log(10000) * torch.arange(128, device=x.device) / 128)
        a = t.float().unsqueeze(1) * 1000 * freq
        cond = self.time(torch.cat([a.cos(), a.sin()], 1).to(text.dtype)) + self.pool(text.mean(1))
        image, words = self.enter(x).flatten(2).transpose(1, 2), self.text(text)
        for block in self.blocks:
            image, words = block(image, words, cond)
        shift, scale = self.final(cond).unsqueeze(1).chunk(2, -1)
        y = self.leave(F.layer_norm(image, image.shape[-1:]) * (1 + scale) + shift)
        return y.view(b, h // 2, w // 2, c, 2, 2).permute(0, 3, 1, 4, 2, 5).reshape(b, c, h, w)

    def forward(self, latent, text):
        b = len(latent)
        if self.training:
            t, noise = torch.sigmoid(torch.randn(b, device=latent.device)), torch.randn_like(latent)
            s = t.view(-1, 1, 1, 1).to(latent.dtype)
            return F.mse_loss(self.velocity((1 - s) * latent + s * noise, t, text).float(), (noise - latent).float())
        x, times = torch.randn_like(latent), torch.linspace(1, 0, self.steps + 1).tolist()
        both = torch.cat([text, torch.zeros_like(text)])
        for now, then in itertools.pairwise(times):
            with_text, without = self.velocity(x.repeat(2, 1, 1, 1), torch.full((2 * b,), now, device=x.device), both).chunk(2)
            x = x + (then - now) * (without + self.guidance * (with_text - without))
        return x


@model("diffusion", compiles=False)
def straight_lines_from_noise(small):
    b, size, channels, d, heads, layers, text, words, steps = (
        (1, 8, 4, 32, 2, 1, 8, 3, 2) if small else (1, 64, 16, 768, 12, 8, 1024, 77, 6)
    )
    return (
        StraightFlow(channels, d, heads, layers, text, steps),
        (torch.randn(b, channels, size, size), torch.randn(b, words, text)),
        lambda out: out,
    )


def hadamard(x):
    """Sums and differences of halves, again and again: a rotation that spreads outliers over all channels."""
    n = x.shape[-1]
    y, h = x, 1
    while h < n:
        y = y.view(*x.shape[:-1], n // (2 * h), 2, h)
        y = torch.stack([y[..., 0, :] + y[..., 1, :], y[..., 0, :] - y[..., 1, :]], dim=-2)
        h *= 2
    return y.reshape(x.shape) / math.sqrt(n)


class RotatedLinear(nn.Module):
    def __init__(self, a, b, bits=4, group=128):
        super().__init__()
        self.weight, self.top, self.group = nn.Parameter(torch.randn(b, a) / math.sqrt(a)), 2 ** (bits - 1) - 1, min(group, a)

    def rounded(self, x):
        parts = x.unflatten(-1, (-1, self.group))
        scale = parts.detach().abs().amax(-1, keepdim=True).clamp(min=1e-5) / self.top
        q = (parts / scale).round().clamp(-self.top - 1, self.top) * scale
        return (parts + (q - parts).detach()).flatten(-2)

    def forward(self, x):
        return F.linear(self.rounded(hadamard(x)), self.rounded(self.weight))


class RotatedBlock(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.n1, self.n2, self.heads = RMSNorm(d), RMSNorm(d), heads
        self.qkv, self.o, self.up, self.down = (
            RotatedLinear(d, 3 * d),
            RotatedLinear(d, d),
            RotatedLinear(d, 4 * d),
            RotatedLinear(4 * d, d),
        )

    def forward(self, x):
        q, k, v = self.qkv(self.n1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.o(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))
        return x + self.down(F.relu(self.up(self.n2(x))).square())


class RotatedNet(nn.Module):
    def __init__(self, words, d, heads, layers):
        super().__init__()
        self.embed, self.blocks = nn.Embedding(words, d), nn.Sequential(*(RotatedBlock(d, heads) for _ in range(layers)))
        self.norm, self.head = RMSNorm(d), nn.Linear(d, words, bias=False)

    def forward(self, ids):
        return self.head(self.norm(self.blocks(self.embed(ids))))


@model("quantised")
def rotated_before_rounding(small):
    b, t, words, d, heads, layers = (1, 5, 20, 16, 2, 1) if small else (4, 256, 8000, 1024, 16, 4)
    ids = torch.randint(words, (b, t))
    return RotatedNet(words, d, heads, layers), (ids,), lambda out: F.cross_entropy(out[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


class DirectionAndLength(nn.Module):
    """A frozen weight whose direction gets a detour of low rank, and whose columns' lengths are learnt apart."""

    def __init__(self, base, rank, alpha=16):
        super().__init__()
        self.base = base.requires_grad_(False)
        self.a, self.b = nn.Parameter(torch.randn(rank, base.in_features) * 0.01), nn.Parameter(torch.zeros(base.out_features, rank))
        self.m, self.scale = nn.Parameter(base.weight.detach().norm(dim=1)), alpha / rank

    def forward(self, x):
        norm = (self.base.weight + self.scale * (self.b @ self.a)).norm(dim=1).detach()
        low = F.linear(F.linear(F.dropout(x, 0.05, self.training), self.a), self.b) * self.scale
        return (F.linear(x, self.base.weight) + low) * (self.m / norm).to(x.dtype) + self.base.bias


class AdaptedVision(nn.Module):
    def __init__(self, size, patch, d, heads, layers, rank, classes):
        super().__init__()
        self.heads = heads
        self.patch, self.cls = nn.Conv2d(3, d, patch, patch).requires_grad_(False), nn.Parameter(torch.zeros(1, 1, d), requires_grad=False)
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2 + 1, d) * 0.02, requires_grad=False)
        self.layers = nn.ModuleList()
        for _ in range(layers):
            wrapped = {name: DirectionAndLength(nn.Linear(d, d), rank) for name in ("q", "k", "v", "o")}
            rest = {"n1": nn.LayerNorm(d), "n2": nn.LayerNorm(d), "mlp": nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))}
            self.layers.append(nn.ModuleDict(wrapped | {name: part.requires_grad_(False) for name, part in rest.items()}))
        self.head = nn.Linear(d, classes)

    def forward(self, image):
        x = self.patch(image).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        for layer in self.layers:
            y = layer["n1"](x)
            q, k, v = (layer[name](y).unflatten(-1, (self.heads, -1)).transpose(1, 2) for name in "qkv")
            x = x + layer["o"](F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))
            x = x + layer["mlp"](layer["n2"](x))
        return self.head(x[:, 0])


@model("LoRA")
def direction_and_length_apart(small):
    b, size, patch, d, heads, layers, rank = (2, 16, 8, 16, 2, 1, 2) if small else (48, 224, 16, 768, 12, 8, 16)
    labels = torch.randint(100, (b,))
    return (
        AdaptedVision(size, patch, d, heads, layers, rank, 100),
        (torch.rand(b, 3, size, size),),
        lambda out: F.cross_entropy(out, labels),
    )
