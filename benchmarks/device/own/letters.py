"""Letters: small language models by a configuration, heads and experts that words choose, weights turned, detoured and rounded."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, einsum, nn

from own.listing import model


@dataclass
class Config:
    vocab: int = 32_000
    dim: int = 768
    n_head: int = 12
    n_kv: int = 4
    n_layer: int = 8
    hidden: int = 2048
    context: int = 1024
    window: int = 256
    cap: float = 30.0
    experts: int = 8
    top_k: int = 2
    loops: int = 8

    @property
    def head_dim(self) -> int:
        return self.dim // self.n_head


def tiny(**changes) -> Config:
    return Config(**(dict(vocab=24, dim=16, n_head=4, n_kv=2, n_layer=2, hidden=24, context=6, window=3, experts=3, loops=2) | changes))


class RMSNorm(nn.Module):
    def __init__(self, dim: int, eps: float = 1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.zeros(dim))

    def forward(self, x: Tensor) -> Tensor:
        normed = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)
        return (normed * (1.0 + self.weight.float())).type_as(x)


def rotary_table(length: int, head_dim: int, base: float = 10_000.0) -> Tensor:
    inv = base ** (-torch.arange(0, head_dim, 2).float() / head_dim)
    angle = einsum("t,f->tf", torch.arange(length).float(), inv)
    return torch.stack([angle.cos(), angle.sin()])


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """x: batch, time, head, feature; pairs lie side by side."""
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = table[:, : x.shape[1], None, :].to(x.dtype)
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


class CappedAttention(nn.Module):
    def __init__(self, cfg: Config, local: bool):
        super().__init__()
        self.cfg, self.local = cfg, local
        self.q_proj = nn.Linear(cfg.dim, cfg.n_head * cfg.head_dim, bias=False)
        self.kv_proj = nn.Linear(cfg.dim, 2 * cfg.n_kv * cfg.head_dim, bias=False)
        self.o_proj = nn.Linear(cfg.n_head * cfg.head_dim, cfg.dim, bias=False)

    def forward(self, x: Tensor, table: Tensor) -> Tensor:
        cfg = self.cfg
        B, T, _ = x.shape
        q = rotate(self.q_proj(x).view(B, T, cfg.n_head, cfg.head_dim), table)
        k, v = self.kv_proj(x).view(B, T, 2, cfg.n_kv, cfg.head_dim).unbind(2)
        k = rotate(k, table)
        q = q.view(B, T, cfg.n_kv, cfg.n_head // cfg.n_kv, cfg.head_dim) * cfg.head_dim**-0.5
        scores = einsum("btgrd,bsgd->bgrts", q, k)
        scores = cfg.cap * torch.tanh(scores / cfg.cap)
        i = torch.arange(T, device=x.device)
        hidden = i[None, :] > i[:, None]
        if self.local:
            hidden = hidden | (i[:, None] - i[None, :] >= cfg.window)
        scores = scores.masked_fill(hidden, float("-inf"))
        out = einsum("bgrts,bsgd->btgrd", scores.softmax(-1), v)
        return self.o_proj(out.reshape(B, T, -1))


class GatedMLP(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.gate = nn.Linear(cfg.dim, cfg.hidden, bias=False)
        self.up = nn.Linear(cfg.dim, cfg.hidden, bias=False)
        self.down = nn.Linear(cfg.hidden, cfg.dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.gelu(self.gate(x), approximate="tanh") * self.up(x))


class SandwichBlock(nn.Module):
    """Norms before and after each part."""

    def __init__(self, cfg: Config, local: bool):
        super().__init__()
        self.attn, self.mlp = CappedAttention(cfg, local), GatedMLP(cfg)
        self.n1, self.n2, self.n3, self.n4 = (RMSNorm(cfg.dim) for _ in range(4))

    def forward(self, x: Tensor, table: Tensor) -> Tensor:
        x = x + self.n2(self.attn(self.n1(x), table))
        return x + self.n4(self.mlp(self.n3(x)))


def next_token_loss(ids: Tensor):
    def loss(logits: Tensor) -> Tensor:
        return F.cross_entropy(logits[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())

    return loss


class CappedModel(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.blocks = nn.ModuleList([SandwichBlock(cfg, local=i % 2 == 0) for i in range(cfg.n_layer)])
        self.norm = RMSNorm(cfg.dim)
        self.register_buffer("table", rotary_table(cfg.context, cfg.head_dim), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.embed(ids) * math.sqrt(self.cfg.dim)
        for block in self.blocks:
            x = block(x, self.table)
        logits = einsum("btd,vd->btv", self.norm(x), self.embed.weight)
        return 2 * self.cfg.cap * torch.tanh(logits / (2 * self.cfg.cap))


@model("language")
def capped_scores_near_and_far(small):
    cfg = tiny() if small else Config()
    ids = torch.randint(cfg.vocab, (2 if small else 4, cfg.context))
    return CappedModel(cfg), (ids,), next_token_loss(ids)


class LoopedModel(nn.Module):
    """A few layers read, one core is gone through again and again from noise, a few layers write."""

    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        self.embed = nn.Embedding(cfg.vocab, cfg.dim)
        self.prelude = nn.ModuleList([SandwichBlock(cfg, False) for _ in range(2)])
        self.adapter = nn.Linear(2 * cfg.dim, cfg.dim, bias=False)
        self.core = nn.ModuleList([SandwichBlock(cfg, False) for _ in range(2)])
        self.coda = nn.ModuleList([SandwichBlock(cfg, False)])
        self.norm, self.head = RMSNorm(cfg.dim), nn.Linear(cfg.dim, cfg.vocab, bias=False)
        self.register_buffer("table", rotary_table(cfg.context, cfg.head_dim), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        e = self.embed(ids)
        for block in self.prelude:
            e = block(e, self.table)
        s = torch.randn_like(e) * 0.4
        for step in range(self.cfg.loops):
            if self.training and step == self.cfg.loops - 4:
                s = s.detach()  # gradients through the last rounds only
            s = self.adapter(torch.cat([s, e], dim=-1))
            for block in self.core:
                s = block(s, self.table)
        for block in self.coda:
            s = block(s, self.table)
        return self.head(self.norm(s))


@model("language")
def one_core_gone_through_again(small):
    cfg = tiny() if small else Config(dim=640, n_head=10, n_kv=5, hidden=1792, context=512, vocab=16_000, loops=10)
    ids = torch.randint(cfg.vocab, (2 if small else 6, cfg.context))
    return LoopedModel(cfg), (ids,), next_token_loss(ids)


class StreamMix(nn.Module):
    """Several residual streams: how they enter a layer, mix among each other and take its output, from the streams themselves."""

    def __init__(self, dim: int, n: int, at: int):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.beta = nn.Parameter(torch.ones(n))
        start = torch.cat([torch.eye(n)[:, at % n : at % n + 1], torch.eye(n)], dim=1)
        self.alpha = nn.Parameter(start)
        self.alpha_w, self.alpha_s = nn.Parameter(torch.randn(dim, n + 1) * 0.02), nn.Parameter(torch.full((1,), 0.01))
        self.beta_w, self.beta_s = nn.Parameter(torch.randn(dim) * 0.02), nn.Parameter(torch.full((1,), 0.01))

    def forward(self, h: Tensor, layer) -> Tensor:
        normed = self.norm(h)
        alpha = torch.tanh(einsum("btnd,dm->btnm", normed, self.alpha_w)) * self.alpha_s + self.alpha
        beta = torch.tanh(einsum("btnd,d->btn", normed, self.beta_w)) * self.beta_s + self.beta
        mixed = einsum("btnm,btnd->btmd", alpha, h)
        out = layer(mixed[:, :, 0])
        return einsum("btn,btd->btnd", beta, out) + mixed[:, :, 1:]


class StreamsModel(nn.Module):
    def __init__(self, cfg: Config, n: int):
        super().__init__()
        self.n = n
        self.embed, self.head = nn.Embedding(cfg.vocab, cfg.dim), nn.Linear(cfg.dim, cfg.vocab, bias=False)
        self.attn = nn.ModuleList([CappedAttention(cfg, False) for _ in range(cfg.n_layer)])
        self.mlp = nn.ModuleList([GatedMLP(cfg) for _ in range(cfg.n_layer)])
        self.norms = nn.ModuleList([RMSNorm(cfg.dim) for _ in range(2 * cfg.n_layer + 1)])
        self.mix = nn.ModuleList([StreamMix(cfg.dim, n, i) for i in range(2 * cfg.n_layer)])
        self.register_buffer("table", rotary_table(cfg.context, cfg.head_dim), persistent=False)

    def attend(self, i: int, x: Tensor) -> Tensor:
        return self.attn[i](self.norms[2 * i](x), self.table)

    def think(self, i: int, x: Tensor) -> Tensor:
        return self.mlp[i](self.norms[2 * i + 1](x))

    def forward(self, ids: Tensor) -> Tensor:
        h = self.embed(ids).unsqueeze(2).repeat(1, 1, self.n, 1)
        for i in range(len(self.attn)):
            h = self.mix[2 * i](h, partial(self.attend, i))
            h = self.mix[2 * i + 1](h, partial(self.think, i))
        return self.head(self.norms[-1](h.sum(2)))


@model("language")
def streams_beside_one_another(small):
    cfg = tiny() if small else Config(dim=512, n_head=8, n_kv=8, n_layer=6, hidden=1536, context=512, vocab=16_000)
    ids = torch.randint(cfg.vocab, (2 if small else 8, cfg.context))
    return StreamsModel(cfg, 2 if small else 4), (ids,), next_token_loss(ids)


class HeadsByToken(nn.Module):
    """Queries and outputs of an attention are experts': each token picks a few of them; keys and values are shared by all."""

    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        E, D, H = cfg.experts, cfg.dim, cfg.head_dim
        self.router = nn.Linear(D, E, bias=False)
        self.wq = nn.Parameter(torch.randn(E, D, H) * D**-0.5)
        self.wo = nn.Parameter(torch.randn(E, H, D) * H**-0.5)
        self.kv = nn.Linear(D, 2 * H, bias=False)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        cfg, T = self.cfg, x.shape[1]
        probs = self.router(x).float().softmax(-1)
        gate, chosen = probs.topk(cfg.top_k, dim=-1)
        gate = (gate / gate.sum(-1, keepdim=True)).type_as(x)
        one_hot = F.one_hot(chosen, cfg.experts).type_as(x)
        every = einsum("btd,edh->bteh", x, self.wq)
        q = einsum("btke,bteh->btkh", one_hot, every)
        k, v = self.kv(x).chunk(2, dim=-1)
        scores = einsum("btkh,bsh->bkts", q, k) * cfg.head_dim**-0.5
        scores = scores + torch.full((T, T), -1e4, device=x.device, dtype=x.dtype).triu(1)
        out = einsum("bkts,bsh->btkh", scores.softmax(-1), v) * gate[..., None]
        spread = einsum("btke,btkh->bteh", one_hot, out)
        load = one_hot.sum(2).float().mean((0, 1))
        balance = cfg.experts * (load * probs.mean((0, 1))).sum()
        return einsum("bteh,ehd->btd", spread, self.wo), balance


class HeadsModel(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.embed, self.pos = nn.Embedding(cfg.vocab, cfg.dim), nn.Parameter(torch.randn(cfg.context, cfg.dim) * 0.02)
        self.layers = nn.ModuleList(
            [nn.ModuleList([nn.LayerNorm(cfg.dim), HeadsByToken(cfg), nn.LayerNorm(cfg.dim), GatedMLP(cfg)]) for _ in range(cfg.n_layer)]
        )
        self.head = nn.Linear(cfg.dim, cfg.vocab)

    def forward(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        x, aux = self.embed(ids) + self.pos[: ids.shape[1]], []
        for n1, attn, n2, mlp in self.layers:
            out, balance = attn(n1(x))
            aux.append(balance)
            x = x + out
            x = x + mlp(n2(x))
        return self.head(x), torch.stack(aux).mean()


@model("mixture of experts")
def heads_chosen_by_token(small):
    cfg = tiny() if small else Config(dim=768, n_head=12, n_layer=6, hidden=2048, context=512, vocab=16_000, experts=24, top_k=6)
    ids = torch.randint(cfg.vocab, (2 if small else 8, cfg.context))
    return HeadsModel(cfg), (ids,), lambda out: next_token_loss(ids)(out[0]) + 0.01 * out[1]


class HashedExperts(nn.Module):
    """A word's expert is fixed by a hash of its id: no router, a loop over experts, places by index."""

    def __init__(self, cfg: Config):
        super().__init__()
        self.experts = nn.ModuleList([GatedMLP(cfg) for _ in range(cfg.experts)])
        self.n = cfg.experts

    def forward(self, x: Tensor, owner: Tensor) -> Tensor:
        out = torch.zeros_like(x)
        for e, expert in enumerate(self.experts):
            mine = (owner == e).type_as(x)[..., None]
            out = out + mine * expert(x * mine)
        return out


class TableMoe(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg, self.embed = cfg, nn.Embedding(cfg.vocab, cfg.dim)
        self.attn = nn.ModuleList([CappedAttention(cfg, True) for _ in range(cfg.n_layer)])
        self.ffn = nn.ModuleList([HashedExperts(cfg) if i % 2 else GatedMLP(cfg) for i in range(cfg.n_layer)])
        self.norms = nn.ModuleList([RMSNorm(cfg.dim) for _ in range(2 * cfg.n_layer + 1)])
        self.register_buffer("table", rotary_table(cfg.context, cfg.head_dim), persistent=False)
        self.register_buffer("hash", torch.randint(cfg.experts, (cfg.vocab,)))

    def forward(self, ids: Tensor) -> Tensor:
        x, owner = self.embed(ids), self.hash[ids]
        for i in range(self.cfg.n_layer):
            x = x + self.attn[i](self.norms[2 * i](x), self.table)
            y = self.norms[2 * i + 1](x)
            x = x + (self.ffn[i](y, owner) if i % 2 else self.ffn[i](y))
        return F.linear(self.norms[-1](x), self.embed.weight)


@model("mixture of experts")
def experts_hashed_by_word(small):
    cfg = tiny() if small else Config(dim=512, n_head=8, n_kv=2, n_layer=6, hidden=1408, context=512, vocab=20_000, experts=8, window=128)
    ids = torch.randint(cfg.vocab, (2 if small else 8, cfg.context))
    return TableMoe(cfg), (ids,), next_token_loss(ids)


class KroneckerLinear(nn.Module):
    """A frozen weight and a detour that is a Kronecker product of a small matrix and one of low rank."""

    def __init__(self, base: nn.Linear, factor: int, rank: int, alpha: float = 8.0):
        super().__init__()
        self.base = base.requires_grad_(False)
        out, inside = base.weight.shape
        self.w1 = nn.Parameter(torch.randn(factor, factor) / factor)
        self.w2_a = nn.Parameter(torch.zeros(out // factor, rank))
        self.w2_b = nn.Parameter(torch.randn(rank, inside // factor) * 0.02)
        self.scale = alpha / rank

    def forward(self, x: Tensor) -> Tensor:
        delta = torch.kron(self.w1, self.w2_a @ self.w2_b) * self.scale
        return F.linear(x, self.base.weight + delta, self.base.bias)


class DetouredEncoder(nn.Module):
    def __init__(self, cfg: Config, factor: int, rank: int, classes: int):
        super().__init__()
        self.cfg, d = cfg, cfg.dim
        self.embed = nn.Embedding(cfg.vocab, d).requires_grad_(False)
        self.qkv = nn.ModuleList([KroneckerLinear(nn.Linear(d, 3 * d), factor, rank) for _ in range(cfg.n_layer)])
        self.out = nn.ModuleList([KroneckerLinear(nn.Linear(d, d), factor, rank) for _ in range(cfg.n_layer)])
        self.up = nn.ModuleList([nn.Linear(d, 4 * d).requires_grad_(False) for _ in range(cfg.n_layer)])
        self.down = nn.ModuleList([nn.Linear(4 * d, d).requires_grad_(False) for _ in range(cfg.n_layer)])
        self.norms = nn.ModuleList([nn.LayerNorm(d).requires_grad_(False) for _ in range(2 * cfg.n_layer)])
        self.classify = nn.Linear(d, classes)

    def forward(self, ids: Tensor, there: Tensor) -> Tensor:
        x = self.embed(ids)
        B, T, _ = x.shape
        for i in range(self.cfg.n_layer):
            q, k, v = self.qkv[i](x).view(B, T, 3, self.cfg.n_head, -1).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=there[:, None, None, :])
            x = self.norms[2 * i](x + self.out[i](y.transpose(1, 2).reshape(B, T, -1)))
            x = self.norms[2 * i + 1](x + self.down[i](F.gelu(self.up[i](x))))
        return self.classify(x[:, 0])


@model("LoRA")
def kronecker_detours(small):
    cfg = tiny() if small else Config(dim=1024, n_head=16, n_layer=10, context=384)
    batch, (factor, rank) = (2, (4, 2)) if small else (8, (16, 8))
    there = torch.arange(cfg.context) < torch.randint(cfg.context // 2, cfg.context + 1, (batch, 1))
    label = torch.randint(5, (batch,))
    return DetouredEncoder(cfg, factor, rank, 5), (torch.randint(cfg.vocab, (batch, cfg.context)), there), lambda out: F.cross_entropy(out, label)  # fmt: skip


class TurnedLinear(nn.Module):
    """Blocks of a frozen weight's inputs are turned by orthogonal matrices, Cayley's: (I + A)(I - A)^-1 of a skew A."""

    def __init__(self, dim_in: int, dim_out: int, block: int):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(dim_out, dim_in) * dim_in**-0.5, requires_grad=False)
        self.skew = nn.Parameter(torch.randn(dim_in // block, block, block) * 0.01)
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        a = self.skew - self.skew.mT
        eye = torch.eye(self.block, device=x.device).expand_as(a)
        turn = torch.linalg.solve(eye - a, eye + a)
        x = einsum("...nk,nkj->...nj", x.unflatten(-1, (-1, self.block)), turn)
        return F.linear(x.flatten(-2), self.weight)


class TurnedPictures(nn.Module):
    def __init__(self, d: int, heads: int, layers: int, block: int, patch: int, classes: int):
        super().__init__()
        self.patch, self.heads = nn.Conv2d(3, d, patch, patch).requires_grad_(False), heads
        self.qkv = nn.ModuleList([TurnedLinear(d, 3 * d, block) for _ in range(layers)])
        self.proj = nn.ModuleList([TurnedLinear(d, d, block) for _ in range(layers)])
        self.fc1 = nn.ModuleList([TurnedLinear(d, 4 * d, block) for _ in range(layers)])
        self.fc2 = nn.ModuleList([TurnedLinear(4 * d, d, block) for _ in range(layers)])
        self.head = nn.Linear(d, classes)

    def forward(self, image: Tensor) -> Tensor:
        x = self.patch(image).flatten(2).transpose(1, 2)
        for qkv, proj, fc1, fc2 in zip(self.qkv, self.proj, self.fc1, self.fc2):
            y = F.layer_norm(x, x.shape[-1:])
            q, k, v = qkv(y).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
            attn = einsum("bhqd,bhkd->bhqk", q, k).mul(q.shape[-1] ** -0.5).softmax(-1)
            x = x + proj(einsum("bhqk,bhkd->bqhd", attn, v).flatten(2))
            x = x + fc2(F.gelu(fc1(F.layer_norm(x, x.shape[-1:]))))
        return self.head(x.mean(1))


@model("LoRA", half=False)
def frozen_weights_turned(small):
    b, size, d, heads, layers, block, patch = (2, 16, 16, 2, 1, 4, 8) if small else (24, 224, 768, 12, 8, 32, 16)
    label = torch.randint(100, (b,))
    return TurnedPictures(d, heads, layers, block, patch, 100), (torch.randn(b, 3, size, size),), lambda out: F.cross_entropy(out, label)


class RoundWithStep(torch.autograd.Function):
    """Rounding whose step size learns: gradients pass within the range, and the step has one of its own."""

    @staticmethod
    def forward(ctx, x, step, low, high):
        ctx.save_for_backward(x, step)
        ctx.low, ctx.high = low, high
        return (x / step).round().clamp(low, high) * step

    @staticmethod
    def backward(ctx, grad):
        x, step = ctx.saved_tensors
        q = x / step
        inside = (q > ctx.low) & (q < ctx.high)
        of_step = torch.where(inside, q.round() - q, q.clamp(ctx.low, ctx.high))
        scale = 1.0 / math.sqrt(x.numel() * ctx.high)
        return grad * inside, (grad * of_step).sum().reshape(1) * scale, None, None


class SteppedConv(nn.Conv2d):
    def __init__(self, *args, bits: int = 4, **kwargs):
        super().__init__(*args, bias=False, **kwargs)
        self.step_w, self.step_x = nn.Parameter(torch.full((1,), 0.02)), nn.Parameter(torch.full((1,), 0.1))
        self.n = 2 ** (bits - 1)

    def forward(self, x: Tensor) -> Tensor:
        w = RoundWithStep.apply(self.weight, self.step_w, -self.n, self.n - 1)
        x = RoundWithStep.apply(x, self.step_x, 0, 2 * self.n - 1)
        return F.conv2d(x, w, None, self.stride, self.padding)


class SteppedResidual(nn.Module):
    def __init__(self, a: int, b: int, stride: int):
        super().__init__()
        self.conv1, self.bn1 = SteppedConv(a, b, 3, stride=stride, padding=1), nn.BatchNorm2d(b)
        self.conv2, self.bn2 = SteppedConv(b, b, 3, padding=1), nn.BatchNorm2d(b)
        self.short = nn.Sequential(SteppedConv(a, b, 1, stride=stride), nn.BatchNorm2d(b)) if stride > 1 or a != b else nn.Identity()

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x))))) + self.short(x))


@model("quantised")
def steps_of_rounding_learned(small):
    b, size, widths, depth = (2, 16, (8, 16), 1) if small else (64, 128, (64, 128, 256, 512), 2)
    body: list[nn.Module] = [nn.Conv2d(3, widths[0], 3, padding=1, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU()]
    last = widths[0]
    for width in widths:
        for i in range(depth):
            body.append(SteppedResidual(last, width, 2 if i == 0 and width != widths[0] else 1))
            last = width
    net = nn.Sequential(*body, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, 100))
    label = torch.randint(100, (b,))
    return net, (torch.rand(b, 3, size, size),), lambda out: F.cross_entropy(out, label, label_smoothing=0.1)


@model("quantised", half=False, compiles=False)
def columns_rounded_one_by_one(small):
    """A weight in four bits for the inputs it saw: each column rounded, its error passed on to those not yet rounded."""
    rows, columns, seen, block, group = (6, 8, 20, 4, 4) if small else (4096, 256, 16_384, 64, 128)

    def rounded(weight: Tensor, inputs: Tensor) -> tuple[Tensor, Tensor]:
        w = weight.clone()
        hessian = 2.0 / len(inputs) * einsum("nc,nd->cd", inputs, inputs)
        damp = 0.01 * hessian.diagonal().mean()
        hessian = hessian + damp * torch.eye(columns, device=w.device)
        inverse = torch.cholesky_inverse(torch.linalg.cholesky(hessian))
        upper = torch.linalg.cholesky(inverse, upper=True)
        out, loss = torch.zeros_like(w), torch.zeros(rows, device=w.device)
        for start in range(0, columns, block):
            stop = min(start + block, columns)
            part, errors = w[:, start:stop].clone(), []
            for i in range(stop - start):
                if (start + i) % group == 0:
                    ahead = w[:, start + i : start + i + group]
                    scale = ahead.abs().amax(1).clamp_min(1e-8) / 7.0
                column, d = part[:, i], upper[start + i, start + i]
                q = (column / scale).round().clamp_(-8, 7) * scale
                out[:, start + i] = q
                error = (column - q) / d
                loss += error.square() / 2
                part[:, i:] -= error[:, None] * upper[start + i, start + i : stop]
                errors.append(error)
            w[:, stop:] -= torch.stack(errors, 1) @ upper[start:stop, stop:]
        return out, loss

    return rounded, (torch.randn(rows, columns) * 0.02, torch.randn(seen, columns)), None
