"""Services: models as they run in production: typed configurations that check themselves, factories, and one class for each concern."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from own.listing import model


class ConfigError(ValueError):
    """A configuration that cannot be built."""


def build_mlp(
    sizes: Sequence[int], activation: Callable[[], nn.Module] = nn.ReLU, *, norm: bool = False, last: bool = False
) -> nn.Sequential:
    """Linear layers with activations between them; `last` puts one behind the last layer, too."""
    layers: list[nn.Module] = []
    for i, (fan_in, fan_out) in enumerate(pairwise(sizes)):
        layers.append(nn.Linear(fan_in, fan_out))
        if last or i < len(sizes) - 2:
            if norm:
                layers.append(nn.LayerNorm(fan_out))
            layers.append(activation())
    return nn.Sequential(*layers)


class RMSNorm(nn.Module):
    """Scale by the root of the mean square."""

    def __init__(self, dim: int, eps: float = 1e-6) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        variance = x.float().square().mean(-1, keepdim=True)
        return (x.float() * torch.rsqrt(variance + self.eps)).to(x.dtype) * self.weight


# --------------------------------------------------------------------------------------------------------------------
# Ads: click-through by layers of factorisation machines


@dataclass(frozen=True)
class AdsConfig:
    """Sizes of the click model."""

    cardinalities: tuple[int, ...] = (100_000,) * 8 + (20_000,) * 12 + (500,) * 19
    bag_cardinalities: tuple[int, ...] = (200_000, 50_000)
    bag_length: int = 24
    dense: int = 24
    dim: int = 64
    rank: int = 16
    fm_tokens: int = 20
    linear_tokens: int = 20
    fm_hidden: tuple[int, ...] = (768, 768)
    layers: int = 4
    head: tuple[int, ...] = (512, 256)

    def __post_init__(self) -> None:
        if self.rank > self.tokens:
            raise ConfigError("the rank of the products is above the number of tokens")

    @property
    def tokens(self) -> int:
        return len(self.cardinalities) + len(self.bag_cardinalities) + 1


class FactorisationBlock(nn.Module):
    """All pairs of tokens, their products projected to a low rank, and an MLP that makes new tokens of them."""

    def __init__(self, tokens: int, cfg: AdsConfig) -> None:
        super().__init__()
        self.project = nn.Parameter(torch.randn(tokens, cfg.rank) * tokens**-0.5)
        self.norm = nn.LayerNorm(tokens * cfg.rank)
        self.mlp = build_mlp((tokens * cfg.rank, *cfg.fm_hidden, cfg.fm_tokens * cfg.dim))
        self.shape = (cfg.fm_tokens, cfg.dim)

    def forward(self, x: Tensor) -> Tensor:
        compressed = x.transpose(1, 2) @ self.project
        products = torch.bmm(x, compressed).flatten(1)
        return self.mlp(self.norm(products)).unflatten(1, self.shape)


class InteractionLayer(nn.Module):
    """Products beside a linear mix of the tokens, with a residual of the right width."""

    def __init__(self, tokens: int, cfg: AdsConfig) -> None:
        super().__init__()
        out = cfg.fm_tokens + cfg.linear_tokens
        self.products = FactorisationBlock(tokens, cfg)
        self.mix = nn.Linear(tokens, cfg.linear_tokens, bias=False)
        self.residual = nn.Identity() if tokens == out else nn.Linear(tokens, out, bias=False)
        self.norm = nn.LayerNorm(cfg.dim)

    def forward(self, x: Tensor) -> Tensor:
        by_token = x.transpose(1, 2)
        mixed = self.mix(by_token).transpose(1, 2)
        return self.norm(torch.cat([self.products(x), mixed], dim=1) + self.residual(by_token).transpose(1, 2))


class ClickModel(nn.Module):
    """One table for all single-valued features (offsets), bags with per-sample weights, dense features as a token."""

    def __init__(self, cfg: AdsConfig) -> None:
        super().__init__()
        starts = torch.tensor((0, *cfg.cardinalities[:-1])).cumsum(0)
        self.register_buffer("starts", starts, persistent=False)
        self.table = nn.Embedding(sum(cfg.cardinalities), cfg.dim)
        self.bags = nn.ModuleList([nn.EmbeddingBag(n, cfg.dim, mode="sum") for n in cfg.bag_cardinalities])
        self.dense = build_mlp((cfg.dense, 2 * cfg.dim, cfg.dim), norm=True, last=True)
        widths = [cfg.tokens] + [cfg.fm_tokens + cfg.linear_tokens] * cfg.layers
        self.layers = nn.ModuleList([InteractionLayer(n, cfg) for n in widths[:-1]])
        self.head = build_mlp((widths[-1] * cfg.dim, *cfg.head, 1))

    def forward(self, dense: Tensor, single: Tensor, several: Tensor, weights: Tensor) -> Tensor:
        tokens = [self.dense(torch.log1p(dense.abs()) * dense.sign()).unsqueeze(1), self.table(single + self.starts)]
        for i, bag in enumerate(self.bags):
            tokens.append(bag(several[i], per_sample_weights=weights[i].to(bag.weight.dtype)).unsqueeze(1))
        x = torch.cat(tokens, dim=1)
        for layer in self.layers:
            x = layer(x)
        return self.head(x.flatten(1)).squeeze(-1)


@model("recommender")
def interactions_stacked_in_layers(small):
    cfg, batch = AdsConfig(), 16_384
    if small:
        cfg, batch = replace(cfg, cardinalities=(9, 7, 5), bag_cardinalities=(11, 6), bag_length=3, dense=4, dim=8, rank=2, fm_tokens=2, linear_tokens=3, fm_hidden=(12,), layers=2, head=(8,)), 4  # fmt: skip
    single = torch.stack([torch.randint(n, (batch,)) for n in cfg.cardinalities], dim=1)
    several = torch.stack([torch.randint(n, (batch, cfg.bag_length)) for n in cfg.bag_cardinalities])
    clicked = (torch.rand(batch) < 0.05).float()
    inputs = torch.randn(batch, cfg.dense), single, several, torch.rand(several.shape)
    return ClickModel(cfg), inputs, lambda out: F.binary_cross_entropy_with_logits(out, clicked)


# --------------------------------------------------------------------------------------------------------------------
# Credit: a table whose cells attend to their row, and whose rows attend to each other


class ColumnKind(Enum):
    NUMBER = "number"
    CATEGORY = "category"


@dataclass(frozen=True)
class Column:
    kind: ColumnKind
    values: int = 1


@dataclass(frozen=True)
class TableConfig:
    columns: tuple[Column, ...]
    dim: int = 32
    heads: int = 8
    row_heads: int = 8
    row_width: int = 512
    layers: int = 4
    classes: int = 2

    def of_kind(self, kind: ColumnKind) -> tuple[Column, ...]:
        return tuple(column for column in self.columns if column.kind is kind)

    @property
    def tokens(self) -> int:
        return 1 + len(self.columns)


class GatedFeedForward(nn.Module):
    def __init__(self, dim: int, mult: int) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(dim), nn.Linear(dim, 2 * mult * dim), nn.Linear(mult * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        value, gate = self.up(self.norm(x)).chunk(2, dim=-1)
        return x + self.down(value * F.gelu(gate))


class PreNormAttention(nn.Module):
    def __init__(self, dim: int, inner: int, heads: int) -> None:
        super().__init__()
        if inner % heads:
            raise ConfigError(f"{inner} features do not divide into {heads} heads")
        self.heads, self.norm = heads, nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * inner, bias=False), nn.Linear(inner, dim)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = self.qkv(self.norm(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        return x + self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2))


class TableModel(nn.Module):
    """Cells first, then rows (a whole row is one token, the batch is the sentence), layer by layer."""

    def __init__(self, cfg: TableConfig) -> None:
        super().__init__()
        categories, numbers = cfg.of_kind(ColumnKind.CATEGORY), cfg.of_kind(ColumnKind.NUMBER)
        self.category = nn.ModuleList([nn.Embedding(column.values, cfg.dim) for column in categories])
        self.number = nn.ModuleList([build_mlp((1, 100, cfg.dim)) for _ in numbers])
        self.missing = nn.Parameter(torch.randn(len(numbers), cfg.dim) * 0.02)
        self.summary = nn.Parameter(torch.randn(cfg.dim) * 0.02)
        whole = cfg.tokens * cfg.dim
        self.across = nn.ModuleList([PreNormAttention(cfg.dim, cfg.dim, cfg.heads) for _ in range(cfg.layers)])
        self.across_ff = nn.ModuleList([GatedFeedForward(cfg.dim, 4) for _ in range(cfg.layers)])
        self.down = nn.ModuleList([PreNormAttention(whole, cfg.row_width, cfg.row_heads) for _ in range(cfg.layers)])
        self.down_ff = nn.ModuleList([GatedFeedForward(whole, 1) for _ in range(cfg.layers)])
        self.head = build_mlp((cfg.dim, 128, cfg.classes))

    def forward(self, categories: Tensor, numbers: Tensor, present: Tensor) -> Tensor:
        cells = [self.summary.expand(len(numbers), 1, -1)]
        cells += [embed(categories[:, i : i + 1]) for i, embed in enumerate(self.category)]
        for i, embed in enumerate(self.number):
            there = present[:, i, None]
            cells.append(torch.where(there, embed(numbers[:, i, None]), self.missing[i]).unsqueeze(1))
        x = torch.cat(cells, dim=1)
        for across, across_ff, down, down_ff in zip(self.across, self.across_ff, self.down, self.down_ff):
            x = across_ff(across(x))
            rows = x.flatten(1).unsqueeze(0)
            x = down_ff(down(rows)).squeeze(0).unflatten(1, (-1, x.shape[-1]))
        return self.head(x[:, 0])


@model("tabular")
def cells_attend_down_and_across(small):
    number, category = Column(ColumnKind.NUMBER), lambda n: Column(ColumnKind.CATEGORY, n)
    cfg, batch = TableConfig((number,) * 30 + tuple(category(n) for n in (2, 5, 12, 60, 300) * 4)), 2048
    if small:
        cfg, batch = TableConfig((number, number, category(3)), dim=8, heads=2, row_heads=2, row_width=16, layers=1), 4
    categories = torch.stack([torch.randint(c.values, (batch,)) for c in cfg.of_kind(ColumnKind.CATEGORY)], dim=1)
    count = len(cfg.of_kind(ColumnKind.NUMBER))
    label = torch.randint(cfg.classes, (batch,))
    inputs = categories, torch.randn(batch, count), torch.rand(batch, count) > 0.1
    return TableModel(cfg), inputs, lambda out: F.cross_entropy(out, label)


# --------------------------------------------------------------------------------------------------------------------
# Demand: a language model of numbers. Values are scaled, put into bins, and the next bins are sampled


@dataclass(frozen=True)
class NumbersConfig:
    bins: int = 4094
    reach: float = 15.0
    dim: int = 512
    heads: int = 8
    hidden: int = 1024
    layers: int = 4
    buckets: int = 32
    context: int = 384
    horizon: int = 12
    samples: int = 20
    top_k: int = 50

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads


def relative_bucket(distance: Tensor, buckets: int, both: bool, furthest: int = 128) -> Tensor:
    """Small distances have a bucket of their own, larger ones share them logarithmically."""
    start = torch.zeros_like(distance)
    if both:
        buckets //= 2
        start = (distance > 0).long() * buckets
        distance = distance.abs()
    else:
        distance = (-distance).clamp_min(0)
    exact = buckets // 2
    large = exact + (torch.log(distance.float().clamp_min(1) / exact) / math.log(furthest / exact) * (buckets - exact)).long()
    return start + torch.where(distance < exact, distance, large.clamp_max(buckets - 1))


class NumbersAttention(nn.Module):
    """Unscaled dot products, as this family has them, with an additive bias."""

    def __init__(self, cfg: NumbersConfig) -> None:
        super().__init__()
        self.heads = cfg.heads
        self.norm = RMSNorm(cfg.dim)
        self.q, self.k, self.v, self.o = (nn.Linear(cfg.dim, cfg.dim, bias=False) for _ in range(4))

    def split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def keys_values(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.split(self.k(x)), self.split(self.v(x))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None = None) -> Tensor:
        y = F.scaled_dot_product_attention(self.split(self.q(x)), keys, values, attn_mask=bias, scale=1.0)
        return self.o(y.transpose(1, 2).flatten(2))


class NumbersFeedForward(nn.Module):
    def __init__(self, cfg: NumbersConfig) -> None:
        super().__init__()
        self.norm, self.up, self.down = (
            RMSNorm(cfg.dim),
            nn.Linear(cfg.dim, cfg.hidden, bias=False),
            nn.Linear(cfg.hidden, cfg.dim, bias=False),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(F.relu(self.up(self.norm(x))))


class NumbersForecaster(nn.Module):
    """Encoder once, decoder step by step with a cache, several samples of each series in one batch."""

    def __init__(self, cfg: NumbersConfig) -> None:
        super().__init__()
        self.cfg = cfg
        attention = lambda: nn.ModuleList([NumbersAttention(cfg) for _ in range(cfg.layers)])  # noqa: E731
        thinking = lambda: nn.ModuleList([NumbersFeedForward(cfg) for _ in range(cfg.layers)])  # noqa: E731
        self.words = nn.Embedding(cfg.bins + 2, cfg.dim)
        self.enc, self.enc_ff, self.dec, self.cross, self.dec_ff = attention(), thinking(), attention(), attention(), thinking()
        self.enc_bias, self.dec_bias = nn.Embedding(cfg.buckets, cfg.heads), nn.Embedding(cfg.buckets, cfg.heads)
        self.enc_norm, self.dec_norm = RMSNorm(cfg.dim), RMSNorm(cfg.dim)
        self.register_buffer("edges", torch.linspace(-cfg.reach, cfg.reach, cfg.bins - 1), persistent=False)

    def tokenize(self, series: Tensor) -> tuple[Tensor, Tensor]:
        scale = series.abs().mean(1, keepdim=True).clamp_min(1e-5)
        return torch.bucketize((series / scale).float(), self.edges.float()) + 2, scale

    def encode(self, ids: Tensor) -> Tensor:
        place = torch.arange(ids.shape[1], device=ids.device)
        bucket = relative_bucket(place[None, :] - place[:, None], self.cfg.buckets, both=True)
        bias = self.enc_bias(bucket).permute(2, 0, 1).unsqueeze(0)
        x = self.words(ids)
        for attend, think in zip(self.enc, self.enc_ff):
            y = attend.norm(x)
            x = think(x + attend(y, *attend.keys_values(y), bias))
        return self.enc_norm(x)

    def forward(self, series: Tensor) -> tuple[Tensor, Tensor]:
        cfg = self.cfg
        ids, scale = self.tokenize(series)
        memory = self.encode(ids)
        crossed = [[part.repeat_interleave(cfg.samples, 0) for part in cross.keys_values(memory)] for cross in self.cross]
        batch = len(series) * cfg.samples
        cache = memory.new_zeros(cfg.layers, 2, batch, cfg.heads, cfg.horizon, cfg.head_dim)
        word = torch.zeros(batch, 1, dtype=torch.long, device=series.device)
        told = []
        for step in range(cfg.horizon):
            place = torch.arange(step + 1, device=series.device)
            bias = self.dec_bias(relative_bucket(place - step, cfg.buckets, both=False)).t()[None, :, None, :]
            x = self.words(word)
            for i, (attend, cross, think) in enumerate(zip(self.dec, self.cross, self.dec_ff)):
                y = attend.norm(x)
                key, value = attend.keys_values(y)
                cache[i, 0, :, :, step : step + 1] = key
                cache[i, 1, :, :, step : step + 1] = value
                x = x + attend(y, cache[i, 0, :, :, : step + 1], cache[i, 1, :, :, : step + 1], bias)
                x = think(x + cross(cross.norm(x), *crossed[i]))
            logits = F.linear(self.dec_norm(x[:, -1]) * cfg.dim**-0.5, self.words.weight).float()
            best, where = logits.topk(cfg.top_k, dim=-1)
            word = where.gather(1, torch.multinomial(best.softmax(-1), 1))
            told.append(word)
        paths = torch.cat(told, 1)
        middle = torch.cat([self.edges[:1], (self.edges[1:] + self.edges[:-1]) / 2, self.edges[-1:]])
        value = middle[(paths - 2).clamp(0, cfg.bins - 1)].unflatten(0, (-1, cfg.samples)) * scale.unsqueeze(1)
        return value, value.float().quantile(torch.tensor([0.1, 0.5, 0.9], device=series.device), dim=1)


@model("time series")
def numbers_told_as_words(small):
    cfg, batch = NumbersConfig(), 24
    if small:
        cfg, batch = NumbersConfig(bins=20, dim=8, heads=2, hidden=12, layers=1, buckets=8, context=10, horizon=2, samples=2, top_k=4), 2
    return NumbersForecaster(cfg), (torch.rand(batch, cfg.context) * 40,), None


# --------------------------------------------------------------------------------------------------------------------
# Arms: what cameras see and a person says is read once; the next second of actions flows out of noise beside it


@dataclass(frozen=True)
class TowerConfig:
    dim: int
    hidden: int


@dataclass(frozen=True)
class ArmConfig:
    cameras: int = 3
    image: int = 224
    patch: int = 16
    vision: TowerConfig = field(default_factory=lambda: TowerConfig(512, 2048))
    vision_layers: int = 6
    reader: TowerConfig = field(default_factory=lambda: TowerConfig(1024, 2816))
    actor: TowerConfig = field(default_factory=lambda: TowerConfig(512, 1408))
    layers: int = 8
    heads: int = 8
    head_dim: int = 128
    vocab: int = 32_000
    words: int = 48
    state: int = 32
    chunk: int = 50
    steps: int = 10

    def __post_init__(self) -> None:
        if self.image % self.patch:
            raise ConfigError("the picture does not divide into patches")


class Expert(nn.Module):
    """One tower's weights of a layer: keys and values of a single head, shared with the other tower's queries."""

    def __init__(self, tower: TowerConfig, cfg: ArmConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.norm, self.norm_mlp = RMSNorm(tower.dim), RMSNorm(tower.dim)
        self.q = nn.Linear(tower.dim, cfg.heads * cfg.head_dim, bias=False)
        self.kv = nn.Linear(tower.dim, 2 * cfg.head_dim, bias=False)
        self.o = nn.Linear(cfg.heads * cfg.head_dim, tower.dim, bias=False)
        self.gate, self.up = nn.Linear(tower.dim, tower.hidden, bias=False), nn.Linear(tower.dim, tower.hidden, bias=False)
        self.down = nn.Linear(tower.hidden, tower.dim, bias=False)

    def project(self, x: Tensor, turn: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        y = self.norm(x)
        q = self.q(y).unflatten(-1, (self.cfg.heads, -1)).transpose(1, 2)
        k, v = self.kv(y).unsqueeze(1).chunk(2, dim=-1)
        return rotated(q, turn), rotated(k, turn), v

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        x = x + self.o(attended.transpose(1, 2).flatten(2))
        y = self.norm_mlp(x)
        return x + self.down(F.gelu(self.gate(y), approximate="tanh") * self.up(y))


def rotated(x: Tensor, turn: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    cos, sin = turn[0].to(x.dtype), turn[1].to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)


class ArmPolicy(nn.Module):
    def __init__(self, cfg: ArmConfig) -> None:
        super().__init__()
        self.cfg = cfg
        vision, reader, actor = cfg.vision, cfg.reader, cfg.actor
        patches = (cfg.image // cfg.patch) ** 2
        self.patch = nn.Conv2d(3, vision.dim, cfg.patch, cfg.patch)
        self.place = nn.Parameter(torch.randn(patches, vision.dim) * 0.02)
        self.eye = nn.ModuleList([nn.TransformerEncoderLayer(vision.dim, 8 if vision.dim >= 64 else 2, vision.hidden, 0.0, "gelu", batch_first=True, norm_first=True) for _ in range(cfg.vision_layers)])  # fmt: skip
        self.to_reader = nn.Linear(vision.dim, reader.dim)
        self.words = nn.Embedding(cfg.vocab, reader.dim)
        self.reader = nn.ModuleList([Expert(reader, cfg) for _ in range(cfg.layers)])
        self.actor = nn.ModuleList([Expert(actor, cfg) for _ in range(cfg.layers)])
        self.state_in, self.action_in = nn.Linear(cfg.state, actor.dim), nn.Linear(cfg.state, actor.dim)
        self.time_in = nn.Sequential(nn.Linear(2 * actor.dim, actor.dim), nn.SiLU(), nn.Linear(actor.dim, actor.dim))
        self.norm, self.action_out = RMSNorm(actor.dim), nn.Linear(actor.dim, cfg.state)
        length = cfg.cameras * patches + cfg.words + 1 + cfg.chunk
        angle = torch.arange(length)[:, None] * 10_000.0 ** (-torch.arange(cfg.head_dim // 2) * 2 / cfg.head_dim)
        self.register_buffer("turn", torch.stack([angle.cos(), angle.sin()]), persistent=False)

    def read(self, images: Tensor, ids: Tensor) -> list[tuple[Tensor, Tensor]]:
        """Keys and values of all that is seen and said, layer by layer."""
        x = self.patch(images.flatten(0, 1)).flatten(2).transpose(1, 2) + self.place
        for layer in self.eye:
            x = layer(x)
        x = torch.cat([self.to_reader(x).unflatten(0, (-1, self.cfg.cameras)).flatten(1, 2), self.words(ids)], dim=1)
        kept = []
        for layer in self.reader:
            q, k, v = layer.project(x, self.turn[:, : x.shape[1]])
            kept.append((k, v))
            k, v = (part.expand(-1, self.cfg.heads, -1, -1) for part in (k, v))
            x = layer.finish(x, F.scaled_dot_product_attention(q, k, v))
        return kept

    def velocity(self, actions: Tensor, time: float, state: Tensor, kept: list[tuple[Tensor, Tensor]]) -> Tensor:
        dim = self.cfg.actor.dim
        rate = torch.logspace(0, 2.5, dim // 2, device=actions.device, dtype=torch.float32) * time
        clock = torch.cat([rate.sin(), rate.cos()]).to(actions.dtype).expand(*actions.shape[:2], -1)
        x = self.time_in(torch.cat([self.action_in(actions), clock], dim=-1))
        x = torch.cat([self.state_in(state).unsqueeze(1), x], dim=1)
        for layer, (key, value) in zip(self.actor, kept):
            q, k, v = layer.project(x, self.turn[:, key.shape[2] : key.shape[2] + x.shape[1]])
            k = torch.cat([key, k], dim=2).expand(-1, self.cfg.heads, -1, -1)
            v = torch.cat([value, v], dim=2).expand(-1, self.cfg.heads, -1, -1)
            x = layer.finish(x, F.scaled_dot_product_attention(q, k, v))
        return self.action_out(self.norm(x[:, 1:]))

    def forward(self, images: Tensor, ids: Tensor, state: Tensor, noise: Tensor) -> Tensor:
        kept, actions = self.read(images, ids), noise
        for step in range(self.cfg.steps):
            actions = actions - self.velocity(actions, 1 - step / self.cfg.steps, state, kept) / self.cfg.steps
        return actions


@model("diffusion policy")
def actions_flow_from_what_is_seen(small):
    cfg, batch = ArmConfig(), 4
    if small:
        tower = TowerConfig(8, 12)
        cfg, batch = ArmConfig(2, 8, 4, tower, 1, tower, tower, 1, 2, 4, vocab=20, words=3, state=3, chunk=4, steps=2), 2
    images = torch.rand(batch, cfg.cameras, 3, cfg.image, cfg.image) * 2 - 1
    ids = torch.randint(cfg.vocab, (batch, cfg.words))
    return ArmPolicy(cfg), (images, ids, torch.randn(batch, cfg.state), torch.randn(batch, cfg.chunk, cfg.state)), None


# --------------------------------------------------------------------------------------------------------------------
# Games: the next frame drawn out of noise, given the last ones and what was pressed


@dataclass(frozen=True)
class DreamConfig:
    size: int = 64
    channels: int = 3
    past: int = 4
    actions: int = 18
    cond: int = 256
    widths: tuple[int, ...] = (64, 64, 128, 128)
    depth: int = 2
    attention: tuple[bool, ...] = (False, False, True, True)
    sigma_data: float = 0.5
    sigma_min: float = 2e-3
    sigma_max: float = 5.0
    rho: float = 7.0
    steps: int = 3

    def sigmas(self) -> list[float]:
        low, high = self.sigma_min ** (1 / self.rho), self.sigma_max ** (1 / self.rho)
        ramp = [i / max(1, self.steps - 1) for i in range(self.steps)]
        return [(high + r * (low - high)) ** self.rho for r in ramp] + [0.0]


class ConditionedNorm(nn.Module):
    def __init__(self, width: int, cond: int) -> None:
        super().__init__()
        self.groups = max(1, width // 32)
        self.scale_shift = nn.Linear(cond, 2 * width)

    def forward(self, x: Tensor, cond: Tensor) -> Tensor:
        scale, shift = self.scale_shift(cond)[:, :, None, None].chunk(2, dim=1)
        return F.group_norm(x, self.groups) * (1 + scale) + shift


class DreamBlock(nn.Module):
    def __init__(self, inside: int, outside: int, cond: int, attend: bool) -> None:
        super().__init__()
        self.norm1, self.conv1 = ConditionedNorm(inside, cond), nn.Conv2d(inside, outside, 3, padding=1)
        self.norm2, self.conv2 = ConditionedNorm(outside, cond), nn.Conv2d(outside, outside, 3, padding=1)
        self.skip = nn.Conv2d(inside, outside, 1) if inside != outside else nn.Identity()
        self.heads = max(1, outside // 8)
        self.norm3 = nn.GroupNorm(max(1, outside // 32), outside) if attend else None
        self.qkv, self.out = (nn.Conv2d(outside, 3 * outside, 1), nn.Conv2d(outside, outside, 1)) if attend else (None, None)

    def forward(self, x: Tensor, cond: Tensor) -> Tensor:
        y = self.conv1(F.silu(self.norm1(x, cond)))
        x = self.conv2(F.silu(self.norm2(y, cond))) + self.skip(x)
        if self.norm3 is None:
            return x
        q, k, v = self.qkv(self.norm3(x)).flatten(2).unflatten(1, (3, self.heads, -1)).transpose(-1, -2).unbind(1)
        y = F.scaled_dot_product_attention(q, k, v)
        return x + self.out(y.transpose(-1, -2).reshape(x.shape))


class DreamNet(nn.Module):
    """A U-Net: frames of the past beside the noisy one as channels, actions and noise level through the norms."""

    def __init__(self, cfg: DreamConfig) -> None:
        super().__init__()
        widths, depth = cfg.widths, cfg.depth
        self.cfg = cfg
        self.register_buffer("waves", torch.randn(cfg.cond // 2))
        self.press = nn.Embedding(cfg.actions, cfg.cond // cfg.past)
        self.cond = nn.Sequential(nn.Linear(cfg.cond, cfg.cond), nn.SiLU(), nn.Linear(cfg.cond, cfg.cond))
        self.conv_in = nn.Conv2d((cfg.past + 1) * cfg.channels, widths[0], 3, padding=1)
        self.down, self.up, self.shrink, self.grow = nn.ModuleList(), nn.ModuleList(), nn.ModuleList(), nn.ModuleList()
        kept, last = [widths[0]], widths[0]
        for i, width in enumerate(widths):
            for _ in range(depth):
                self.down.append(DreamBlock(last, width, cfg.cond, cfg.attention[i]))
                last = width
                kept.append(last)
            if i < len(widths) - 1:
                self.shrink.append(nn.Conv2d(last, last, 3, stride=2, padding=1))
                kept.append(last)
        self.middle = nn.ModuleList([DreamBlock(last, last, cfg.cond, True) for _ in range(2)])
        for i, width in reversed(list(enumerate(widths))):
            for _ in range(depth + 1):
                self.up.append(DreamBlock(last + kept.pop(), width, cfg.cond, cfg.attention[i]))
                last = width
            if i:
                self.grow.append(nn.Conv2d(last, last, 3, padding=1))
        self.norm, self.conv_out = nn.GroupNorm(max(1, last // 32), last), nn.Conv2d(last, cfg.channels, 3, padding=1)

    def forward(self, noisy: Tensor, level: float, past: Tensor, pressed: Tensor) -> Tensor:
        angle = 2 * math.pi * level * self.waves
        clock = torch.cat([angle.cos(), angle.sin()]).expand(len(noisy), -1)
        cond = self.cond(clock + self.press(pressed).flatten(1))
        x = self.conv_in(torch.cat([noisy, past], dim=1))
        kept, depth = [x], self.cfg.depth
        for i, block in enumerate(self.down):
            x = block(x, cond)
            kept.append(x)
            if i % depth == depth - 1 and i // depth < len(self.shrink):
                x = self.shrink[i // depth](x)
                kept.append(x)
        for block in self.middle:
            x = block(x, cond)
        for i, block in enumerate(self.up):
            x = block(torch.cat([x, kept.pop()], dim=1), cond)
            if i % (depth + 1) == depth and i // (depth + 1) < len(self.grow):
                x = self.grow[i // (depth + 1)](F.interpolate(x, scale_factor=2.0, mode="nearest"))
        return self.conv_out(F.silu(self.norm(x)))


class Dreamer(nn.Module):
    """Euler's steps from noise to the next frame; the net sees inputs of unit size whatever the noise."""

    def __init__(self, cfg: DreamConfig) -> None:
        super().__init__()
        self.cfg, self.net = cfg, DreamNet(cfg)

    def denoise(self, x: Tensor, sigma: float, past: Tensor, pressed: Tensor) -> Tensor:
        data = self.cfg.sigma_data
        total = math.sqrt(sigma**2 + data**2)
        out = self.net(x / total, math.log(sigma) / 4, past / data, pressed)
        clean = x * (data / total) ** 2 + out * (sigma * data / total)
        return (clean.clamp(-1, 1) + 1).mul(127.5).round().div(127.5) - 1  # frames are bytes

    def forward(self, past: Tensor, pressed: Tensor, noise: Tensor) -> Tensor:
        past, sigmas = past.flatten(1, 2), self.cfg.sigmas()
        x = noise * sigmas[0]
        for sigma, lower in pairwise(sigmas):
            slope = (x - self.denoise(x, sigma, past, pressed)) / sigma
            x = x + slope * (lower - sigma)
        return x


@model("world model")
def next_frame_out_of_noise(small):
    cfg, batch = DreamConfig(), 32
    if small:
        cfg, batch = DreamConfig(size=8, past=2, actions=4, cond=8, widths=(8, 16), depth=1, attention=(False, True), steps=2), 2
    shape = (cfg.channels, cfg.size, cfg.size)
    past = torch.rand(batch, cfg.past, *shape) * 2 - 1
    return Dreamer(cfg), (past, torch.randint(cfg.actions, (batch, cfg.past)), torch.randn(batch, *shape)), None


# --------------------------------------------------------------------------------------------------------------------
# Views: a new view of a place out of pictures of it, without fitting: points along rays are looked up in each picture


@dataclass(frozen=True)
class ViewsConfig:
    views: int = 8
    height: int = 240
    width: int = 320
    rays: int = 1024
    samples: int = 64
    feature: int = 32
    hidden: int = 64
    heads: int = 4
    near: float = 1.0
    far: float = 6.0


class PictureFeatures(nn.Module):
    """Features at a quarter of the size."""

    def __init__(self, feature: int, width: int) -> None:
        super().__init__()
        stage = lambda a, b, stride: nn.Sequential(nn.Conv2d(a, b, 3, stride, 1), nn.InstanceNorm2d(b), nn.ELU())  # noqa: E731
        self.one, self.two, self.three = stage(3, width, 2), stage(width, 2 * width, 2), stage(2 * width, 4 * width, 2)
        self.back, self.out = stage(4 * width, 2 * width, 1), nn.Conv2d(4 * width, feature, 1)

    def forward(self, image: Tensor) -> Tensor:
        half = self.two(self.one(image))
        up = F.interpolate(self.back(self.three(half)), size=half.shape[-2:], mode="bilinear", align_corners=False)
        return self.out(torch.cat([half, up], dim=1))


class ViewBlender(nn.Module):
    def __init__(self, cfg: ViewsConfig) -> None:
        super().__init__()
        self.cfg = cfg
        wide, hidden = cfg.feature + 3, cfg.hidden
        self.features = PictureFeatures(cfg.feature, 32)
        self.direction = build_mlp((4, 16, wide), nn.ELU, last=True)
        self.base = build_mlp((3 * wide, hidden, hidden // 2), nn.ELU, last=True)
        self.seen = build_mlp((hidden // 2, hidden // 2, hidden // 2 + 1), nn.ELU)
        self.geometry = build_mlp((hidden + 1, hidden, hidden), nn.ELU, last=True)
        self.along = nn.MultiheadAttention(hidden, cfg.heads, batch_first=True)
        self.norm, self.density = nn.LayerNorm(hidden), build_mlp((hidden, hidden // 4, 1), nn.ELU)
        self.blend = build_mlp((hidden // 2 + 5, 16, 8, 1), nn.ELU)

    def look_up(self, points: Tensor, images: Tensor, features: Tensor, cameras: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Colours and features of points in each picture, (rays, samples, views, …), and whether they are in it."""
        rays, samples, _ = points.shape
        flat = torch.cat([points.reshape(-1, 3), torch.ones_like(points.reshape(-1, 3)[:, :1])], dim=-1)
        seen = flat @ cameras.transpose(1, 2)  # views, points, 3
        depth = seen[..., 2:].clamp_min(1e-3)
        grid = (seen[..., :2] / depth).clamp(-2, 2)
        inside = (grid.abs().amax(-1) <= 1) & (seen[..., 2] > 0)
        pick = lambda picture: F.grid_sample(picture, grid.unsqueeze(1).to(picture.dtype), align_corners=True).squeeze(2)  # noqa: E731
        colour, feature = (each.permute(2, 0, 1).unflatten(0, (rays, samples)) for each in (pick(images), pick(features)))
        return colour, feature, inside.t().unflatten(0, (rays, samples)).unsqueeze(-1)

    def forward(self, images: Tensor, cameras: Tensor, centres: Tensor, origin: Tensor, heading: Tensor) -> tuple[Tensor, Tensor]:
        cfg = self.cfg
        depth = 1 / torch.linspace(1 / cfg.near, 1 / cfg.far, cfg.samples, device=origin.device, dtype=origin.dtype)
        points = origin[:, None] + heading[:, None] * depth[:, None]
        colour, feature, inside = self.look_up(points, images, self.features(images), cameras)
        away = F.normalize(points[:, :, None] - centres, dim=-1)
        here = heading[:, None, None].expand_as(away)
        angle = torch.cat([away - here, (away * here).sum(-1, keepdim=True)], dim=-1)
        x = torch.cat([colour, feature], dim=-1) + self.direction(angle)
        mask = inside.to(x.dtype)
        weight = mask / mask.sum(2, keepdim=True).clamp_min(1)
        mean = (x * weight).sum(2, keepdim=True)
        spread = ((x - mean).square() * weight).sum(2, keepdim=True)
        x = self.base(torch.cat([mean.expand_as(x), spread.expand_as(x), x], dim=-1))
        more, visible = self.seen(x * weight).split([x.shape[-1], 1], dim=-1)
        x, visible = x + more, visible.sigmoid() * mask
        weight = visible / (visible.sum(2, keepdim=True) + 1e-6)
        mean = (x * weight).sum(2)
        spread = ((x - mean.unsqueeze(2)).square() * weight).sum(2)
        shape = self.geometry(torch.cat([mean, spread, weight.mean(2)], dim=-1))
        shape = self.norm(shape + self.along(shape, shape, shape, need_weights=False)[0])
        enough = mask.sum(2) > 1
        density = F.relu(self.density(shape)).masked_fill(~enough, 0).squeeze(-1)
        share = self.blend(torch.cat([x, visible, angle], dim=-1)).masked_fill(~inside, -1e4).softmax(2)
        rgb = (colour * share).sum(2)
        alpha = 1 - torch.exp(-density)
        through = torch.cumprod(torch.cat([torch.ones_like(alpha[:, :1]), 1 - alpha + 1e-6], dim=1), dim=1)[:, :-1]
        hit = alpha * through
        return (hit.unsqueeze(-1) * rgb).sum(1), (hit * depth).sum(1)


@model("neural rendering")
def rays_blended_from_other_views(small):
    cfg = ViewsConfig(views=2, height=16, width=16, rays=3, samples=4, feature=5, hidden=8, heads=2) if small else ViewsConfig()
    cameras = torch.cat([torch.eye(3).repeat(cfg.views, 1, 1), torch.randn(cfg.views, 3, 1) * 0.2], dim=-1)
    centres = -cameras[:, :, 3]
    heading = F.normalize(torch.cat([torch.rand(cfg.rays, 2) - 0.5, torch.ones(cfg.rays, 1)], dim=-1), dim=-1)
    truth = torch.rand(cfg.rays, 3)
    inputs = torch.rand(cfg.views, 3, cfg.height, cfg.width), cameras, centres, torch.zeros(cfg.rays, 3), heading
    return ViewBlender(cfg), inputs, lambda out: F.mse_loss(out[0], truth)


# --------------------------------------------------------------------------------------------------------------------
# Archives: pages are found by their pictures; every word of a question looks for the patch that fits it best


@dataclass(frozen=True)
class PagesConfig:
    image: int = 448
    patch: int = 14
    dim: int = 512
    heads: int = 8
    page_layers: int = 6
    word_layers: int = 4
    vocab: int = 30_000
    words: int = 40
    out: int = 128
    temperature: float = 0.02

    @property
    def patches(self) -> int:
        return (self.image // self.patch) ** 2


class PreNormBlock(nn.Module):
    def __init__(self, cfg: PagesConfig) -> None:
        super().__init__()
        self.heads = cfg.heads
        self.norm1, self.norm2 = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.qkv, self.proj = nn.Linear(cfg.dim, 3 * cfg.dim), nn.Linear(cfg.dim, cfg.dim)
        self.mlp = build_mlp((cfg.dim, 4 * cfg.dim, cfg.dim), nn.GELU)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        q, k, v = self.qkv(self.norm1(x)).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class PageRetriever(nn.Module):
    def __init__(self, cfg: PagesConfig) -> None:
        super().__init__()
        self.cfg = cfg
        self.patch = nn.Conv2d(1, cfg.dim, cfg.patch, cfg.patch)
        self.patch_place = nn.Parameter(torch.randn(cfg.patches, cfg.dim) * 0.02)
        self.words, self.word_place = nn.Embedding(cfg.vocab, cfg.dim), nn.Parameter(torch.randn(cfg.words, cfg.dim) * 0.02)
        self.page_blocks = nn.ModuleList([PreNormBlock(cfg) for _ in range(cfg.page_layers)])
        self.word_blocks = nn.ModuleList([PreNormBlock(cfg) for _ in range(cfg.word_layers)])
        self.page_out, self.word_out = nn.Linear(cfg.dim, cfg.out), nn.Linear(cfg.dim, cfg.out)

    def encode_pages(self, pages: Tensor) -> Tensor:
        x = self.patch(pages).flatten(2).transpose(1, 2) + self.patch_place
        for block in self.page_blocks:
            x = block(x)
        return F.normalize(self.page_out(x), dim=-1)

    def encode_questions(self, ids: Tensor, there: Tensor) -> Tensor:
        x = self.words(ids) + self.word_place
        mask = there[:, None, None, :]
        for block in self.word_blocks:
            x = block(x, mask)
        return F.normalize(self.word_out(x), dim=-1) * there.unsqueeze(-1)

    def forward(self, pages: Tensor, ids: Tensor, there: Tensor) -> Tensor:
        question, page = self.encode_questions(ids, there), self.encode_pages(pages)
        alike = torch.einsum("qnd,pmd->qpnm", question, page)
        return alike.amax(-1).sum(-1) / there.sum(-1, keepdim=True) / self.cfg.temperature


@model("retrieval")
def pages_found_by_their_patches(small):
    cfg, batch = (PagesConfig(16, 4, 8, 2, 1, 1, 20, 4, 4), 3) if small else (PagesConfig(), 12)
    there = torch.arange(cfg.words) < torch.randint(cfg.words // 4, cfg.words + 1, (batch, 1))
    truth = torch.arange(batch)
    inputs = torch.rand(batch, 1, cfg.image, cfg.image), torch.randint(cfg.vocab, (batch, cfg.words)), there
    return PageRetriever(cfg), inputs, lambda out: F.cross_entropy(out.float(), truth)


# --------------------------------------------------------------------------------------------------------------------
# A writer whose products see floats of eight bits, one scale for each block of a weight and each group of an input


@dataclass(frozen=True)
class EightBitConfig:
    vocab: int = 32_000
    dim: int = 1024
    heads: int = 16
    kv_heads: int = 4
    hidden: int = 2816
    layers: int = 6
    context: int = 1024
    block: int = 128
    format: torch.dtype = torch.float8_e4m3fn

    def __post_init__(self) -> None:
        if self.dim % self.block or self.hidden % self.block or self.dim % self.heads:
            raise ConfigError("widths must divide into blocks and heads")

    @property
    def top(self) -> float:
        return torch.finfo(self.format).max


class BlockScaledLinear(nn.Module):
    """Weights and inputs as eight-bit floats would see them; gradients pass as if nothing had been rounded."""

    def __init__(self, inside: int, outside: int, cfg: EightBitConfig) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(outside, inside) * inside**-0.5)
        self.cfg = cfg

    def rounded(self, x: Tensor, dims: tuple[int, ...]) -> Tensor:
        scale = x.detach().abs().amax(dims, keepdim=True).float().clamp_min(1e-12) / self.cfg.top
        low = (x.detach().float() / scale).to(self.cfg.format)
        return x + ((low.float() * scale).to(x.dtype) - x).detach()

    def forward(self, x: Tensor) -> Tensor:
        block = self.cfg.block
        rows, columns = self.weight.shape
        tiles = self.weight.view(rows // block, block, columns // block, block)
        weight = self.rounded(tiles, (1, 3)).view(rows, columns)
        x = self.rounded(x.unflatten(-1, (-1, block)), (-1,)).flatten(-2)
        return F.linear(x, weight)


class EightBitLayer(nn.Module):
    def __init__(self, cfg: EightBitConfig) -> None:
        super().__init__()
        self.cfg, kv = cfg, cfg.kv_heads * (cfg.dim // cfg.heads)
        self.norm1, self.norm2 = RMSNorm(cfg.dim), RMSNorm(cfg.dim)
        self.q, self.k, self.v = (BlockScaledLinear(cfg.dim, width, cfg) for width in (cfg.dim, kv, kv))
        self.o = BlockScaledLinear(cfg.dim, cfg.dim, cfg)
        self.gate, self.up = BlockScaledLinear(cfg.dim, cfg.hidden, cfg), BlockScaledLinear(cfg.dim, cfg.hidden, cfg)
        self.down = BlockScaledLinear(cfg.hidden, cfg.dim, cfg)

    def forward(self, x: Tensor, turn: Tensor) -> Tensor:
        y, heads = self.norm1(x), self.cfg.heads
        split = lambda part, n: part.unflatten(-1, (n, -1)).transpose(1, 2)  # noqa: E731
        q, k = rotated(split(self.q(y), heads), turn), rotated(split(self.k(y), self.cfg.kv_heads), turn)
        k, v = (part.repeat_interleave(heads // self.cfg.kv_heads, dim=1) for part in (k, split(self.v(y), self.cfg.kv_heads)))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).flatten(2))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class EightBitWriter(nn.Module):
    def __init__(self, cfg: EightBitConfig) -> None:
        super().__init__()
        self.embed, self.norm = nn.Embedding(cfg.vocab, cfg.dim), RMSNorm(cfg.dim)
        self.layers = nn.ModuleList([EightBitLayer(cfg) for _ in range(cfg.layers)])
        self.head = nn.Linear(cfg.dim, cfg.vocab, bias=False)
        head_dim = cfg.dim // cfg.heads
        angle = torch.arange(cfg.context)[:, None] * 10_000.0 ** (-torch.arange(head_dim // 2) * 2 / head_dim)
        self.register_buffer("turn", torch.stack([angle.cos(), angle.sin()]), persistent=False)

    def forward(self, ids: Tensor) -> Tensor:
        x, turn = self.embed(ids), self.turn[:, : ids.shape[1]]
        for layer in self.layers:
            x = layer(x, turn)
        return self.head(self.norm(x))


@model("quantised")
def blocks_scaled_to_eight_bits(small):
    cfg, batch = (EightBitConfig(24, 8, 2, 1, 12, 1, 5, 4), 2) if small else (EightBitConfig(), 4)
    ids = torch.randint(cfg.vocab, (batch, cfg.context))
    return EightBitWriter(cfg), (ids,), lambda out: F.cross_entropy(out[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
