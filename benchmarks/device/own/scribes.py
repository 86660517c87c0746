"""Writers once more: bytes in patches, a layer that trains while it reads, words unmasked when it is sure, a ladder beside a frozen net."""

import math

import torch
import torch.nn.functional as F
from torch import nn

from own.listing import model


def rotary(x, base=10_000.0):
    """Turns pairs of a head's channels by their position: (..., time, channels)."""
    t, d = x.shape[-2:]
    inv = base ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float32) / d)
    angle = torch.outer(torch.arange(t, device=x.device, dtype=torch.float32), inv)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)


class Block(nn.Module):
    def __init__(self, d, heads, causal=True, mult=4):
        super().__init__()
        self.heads, self.causal = heads, causal
        self.ln1, self.ln2 = nn.LayerNorm(d, bias=False), nn.LayerNorm(d, bias=False)
        self.wqkv, self.wo = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False)
        self.fc1, self.fc2 = nn.Linear(d, mult * d, bias=False), nn.Linear(mult * d, d, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.wqkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        y = F.scaled_dot_product_attention(rotary(q), rotary(k), v, is_causal=self.causal)
        x = x + self.wo(y.transpose(1, 2).reshape(b, t, d))
        return x + self.fc2(F.gelu(self.fc1(self.ln2(x)), approximate="tanh"))


class BytesInPatches(nn.Module):
    """A large model reads patches of bytes; a small one writes each patch byte by byte, all patches side by side."""

    def __init__(self, patch, d_byte, d_local, layers, local_layers, heads, local_heads):
        super().__init__()
        self.patch, self.pad = patch, 256
        self.embed_global, self.embed_local = nn.Embedding(257, d_byte), nn.Embedding(257, d_local)
        d = patch * d_byte
        self.first = nn.Parameter(torch.randn(1, 1, d) * 0.02)
        self.globals = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.to_local = nn.Linear(d_byte, d_local)
        self.locals = nn.ModuleList(Block(d_local, local_heads) for _ in range(local_layers))
        self.norm, self.head = nn.LayerNorm(d_local), nn.Linear(d_local, 256)

    def forward(self, ids):
        b, t = ids.shape
        p = self.patch
        x = self.embed_global(ids).view(b, t // p, -1)
        x = torch.cat([self.first.expand(b, -1, -1).to(x.dtype), x[:, :-1]], 1)
        for block in self.globals:
            x = block(x)
        x = self.to_local(x.reshape(b * (t // p), p, -1))
        own = F.pad(ids.view(-1, p)[:, :-1], (1, 0), value=self.pad)
        x = x + self.embed_local(own)
        for block in self.locals:
            x = block(x)
        return self.head(self.norm(x)).view(b, t, -1)


@model("language")
def bytes_in_patches(small):
    b, t, patch, db, dl, layers, ll, heads, lh = (2, 8, 4, 4, 8, 1, 1, 2, 2) if small else (8, 4096, 8, 128, 384, 10, 4, 16, 6)
    ids = torch.randint(256, (b, t))
    net = BytesInPatches(patch, db, dl, layers, ll, heads, lh)
    return net, (ids,), lambda out: F.cross_entropy(out.flatten(0, 1), ids.flatten())


class TrainsAsItReads(nn.Module):
    """A layer whose memory is a linear model per head, taught by a step of gradient descent on each chunk that goes by."""

    def __init__(self, d, heads, chunk):
        super().__init__()
        self.h, self.hd, self.chunk = heads, d // heads, chunk
        self.qkv, self.o, self.gate = nn.Linear(d, 3 * d, bias=False), nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)
        self.rate = nn.Linear(d, heads)
        self.W0, self.b0 = nn.Parameter(torch.randn(heads, self.hd, self.hd) * 0.02), nn.Parameter(torch.zeros(heads, 1, self.hd))
        self.ln_w, self.ln_b = nn.Parameter(torch.ones(heads, 1, self.hd)), nn.Parameter(torch.zeros(heads, 1, self.hd))
        self.post = nn.LayerNorm(d)

    def ln_with_grad(self, z, target):
        """Of the loss |norm(z) - target|² / 2: its gradient at z."""
        mu, var = z.mean(-1, keepdim=True), z.var(-1, keepdim=True, unbiased=False)
        std = torch.sqrt(var + 1e-6)
        hat = (z - mu) / std
        g = (self.ln_w * hat + self.ln_b - target) * self.ln_w
        return (g - g.mean(-1, keepdim=True) - hat * (g * hat).mean(-1, keepdim=True)) / std

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, self.hd).permute(2, 0, 3, 1, 4)
        q, k = F.normalize(q, dim=-1), F.normalize(k, dim=-1)
        eta = torch.sigmoid(self.rate(x)).transpose(1, 2).unsqueeze(-1) / self.chunk
        W, bias = self.W0.expand(b, -1, -1, -1), self.b0.expand(b, -1, -1, -1)
        out = []
        for i in range(0, t, self.chunk):
            Q, K, V, e = (y[:, :, i : i + self.chunk] for y in (q, k, v, eta))
            grad = e * self.ln_with_grad(K @ W + bias, V - K)
            inner = torch.tril(Q @ K.transpose(-1, -2))
            z = Q @ W - inner @ grad + bias - torch.cumsum(grad, dim=2)
            W = W - K.transpose(-1, -2) @ grad
            bias = bias - grad.sum(2, keepdim=True)
            mu, var = z.mean(-1, keepdim=True), z.var(-1, keepdim=True, unbiased=False)
            out.append(Q + (z - mu) / torch.sqrt(var + 1e-6) * self.ln_w + self.ln_b)
        y = torch.cat(out, 2).transpose(1, 2).reshape(b, t, d)
        return self.o(self.post(y) * F.gelu(self.gate(x)))


class ReadingModel(nn.Module):
    def __init__(self, vocab, d, heads, chunk, layers, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, d)
        self.conv = nn.ModuleList(nn.Conv1d(d, d, 4, groups=d, padding=3) for _ in range(layers))
        self.mix = nn.ModuleList(TrainsAsItReads(d, heads, chunk) for _ in range(layers))
        self.n1, self.n2 = (nn.ModuleList(nn.RMSNorm(d) for _ in range(layers)) for _ in range(2))
        self.up = nn.ModuleList(nn.Linear(d, 2 * hidden, bias=False) for _ in range(layers))
        self.down = nn.ModuleList(nn.Linear(hidden, d, bias=False) for _ in range(layers))
        self.norm = nn.RMSNorm(d)

    def forward(self, ids):
        x = self.embed(ids)
        t = ids.shape[1]
        for conv, mix, n1, n2, up, down in zip(self.conv, self.mix, self.n1, self.n2, self.up, self.down):
            y = n1(x)
            y = y + F.silu(conv(y.transpose(1, 2))[..., :t].transpose(1, 2))
            x = x + mix(y)
            a, g = up(n2(x)).chunk(2, -1)
            x = x + down(a * F.silu(g))
        return F.linear(self.norm(x), self.embed.weight)


@model("state space")
def layer_trained_while_it_reads(small):
    b, t, vocab, d, heads, chunk, layers, hidden = (2, 8, 20, 16, 2, 4, 1, 16) if small else (8, 1024, 16_384, 1024, 16, 256, 3, 2816)
    ids = torch.randint(vocab, (b, t + 1))
    goal = ids[:, 1:].flatten()
    return (
        ReadingModel(vocab, d, heads, chunk, layers, hidden),
        (ids[:, :-1].clone(),),
        lambda out: F.cross_entropy(out.flatten(0, 1), goal),
    )


class UnmaskedWords(nn.Module):
    """Text by diffusion: all words masked at first; each round writes them all, keeps the surest, and masks the others again."""

    def __init__(self, vocab, d, heads, layers, length, rounds):
        super().__init__()
        self.mask, self.rounds = vocab, rounds
        self.embed, self.time = nn.Embedding(vocab + 1, d), nn.Sequential(nn.Linear(64, d), nn.SiLU(), nn.Linear(d, d))
        self.blocks = nn.ModuleList(Block(d, heads, causal=False) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)
        self.register_buffer("freq", torch.exp(-math.log(10_000) * torch.arange(32) / 32))
        self.length = length

    def denoise(self, ids, left):
        angle = 1000 * left * self.freq
        x = self.embed(ids) + self.time(torch.cat([angle.sin(), angle.cos()]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))

    @torch.no_grad()
    def forward(self, prompt, noise):
        b, n = prompt.shape
        given = torch.zeros(b, n + self.length, dtype=torch.bool, device=prompt.device)
        given[:, :n] = True
        ids = torch.cat([prompt, torch.full((b, self.length), self.mask, device=prompt.device)], 1)
        for i in range(self.rounds):
            left = math.cos(math.pi / 2 * (i + 1) / self.rounds)
            logits = self.denoise(ids, math.cos(math.pi / 2 * i / self.rounds))
            gumbel = -torch.log(-torch.log(noise[i].float().clamp(1e-6, 1 - 1e-6)))
            guess = logits.argmax(-1)
            sure = F.softmax(logits.float(), -1).gather(-1, guess.unsqueeze(-1)).squeeze(-1).log() + left * gumbel
            masked = ids == self.mask
            new = torch.where(masked, guess, ids)
            sure = sure.masked_fill(given | ~masked, float("inf"))
            again = int(left * self.length)
            if again > 0:
                worst = sure.topk(again, dim=1, largest=False)[1]
                new = new.scatter(1, worst, self.mask)
            ids = new
        return ids


@model("diffusion")
def words_unmasked_when_sure(small):
    b, n, length, vocab, d, heads, layers, rounds = (2, 2, 6, 20, 16, 2, 1, 2) if small else (16, 64, 192, 16_384, 768, 12, 4, 4)
    net = UnmaskedWords(vocab, d, heads, layers, length, rounds)
    return net, (torch.randint(vocab, (b, n)), torch.rand(rounds, b, n + length)), None


class LadderBesideIt(nn.Module):
    """A frozen encoder and, beside it, a narrow one that is trained: each rung takes in, through a gate, what the large one thinks."""

    def __init__(self, vocab, d, heads, layers, length, shrink, classes, every=2):
        super().__init__()
        self.every = every
        self.embed, self.pos = nn.Embedding(vocab, d), nn.Embedding(length, d)
        self.backbone = nn.ModuleList(Block(d, heads, causal=False) for _ in range(layers))
        for p in self.parameters():
            p.requires_grad = False
        r = d // shrink
        rungs = layers // every
        self.down = nn.ModuleList(nn.Linear(d, r) for _ in range(rungs + 1))
        self.side = nn.ModuleList(Block(r, max(1, heads // 4), causal=False) for _ in range(rungs))
        self.gate = nn.Parameter(torch.zeros(rungs))
        self.up, self.norm, self.classify = nn.Linear(r, d), nn.LayerNorm(d), nn.Linear(d, classes)

    def forward(self, ids, pad):
        with torch.no_grad():
            x = self.embed(ids) + self.pos.weight[: ids.shape[1]]
            steps = [x]
            for i, block in enumerate(self.backbone):
                x = block(x)
                if (i + 1) % self.every == 0:
                    steps.append(x)
        s = self.down[0](steps[0])
        for i, block in enumerate(self.side):
            g = torch.sigmoid(self.gate[i] / 0.1)
            s = block(g * self.down[i + 1](steps[i + 1]) + (1 - g) * s)
        y = self.norm(x + self.up(s))
        keep = (~pad).unsqueeze(-1).to(y.dtype)
        return self.classify((y * keep).sum(1) / keep.sum(1))


@model("adapted")
def ladder_beside_a_frozen_net(small):
    b, t, vocab, d, heads, layers, shrink = (2, 5, 20, 16, 4, 2, 2) if small else (16, 384, 30_000, 1024, 16, 10, 8)
    labels = torch.randint(3, (b,))
    pad = torch.arange(t)[None, :] >= torch.randint(t // 2, t + 1, (b, 1))
    net = LadderBesideIt(vocab, d, heads, layers, t, shrink, 3)
    return net, (torch.randint(vocab, (b, t)), pad), lambda out: F.cross_entropy(out, labels)
