"""Half of the second set of training steps (`training_models_2.py`): sequences, tables, points and meshes. Sealed on 2026-11-19."""

import math
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
from training_models import Plus, Stack, Trained, by_token, tokens

MODELS = {}


def model(build):
    MODELS[build.__name__] = build
    return build


class Again(nn.Module):
    """`again`: what runs through `run` keeps its inputs alone and runs a second time on the way back."""

    again = False

    def run(self, block, *x):
        return checkpoint(block, *x, use_reentrant=False) if self.again else block(*x)


@model
def frames_of_speech(small):
    """Separable convolutions over time with ever longer kernels, a class for every frame."""
    c, t, n = (16, 60, 4) if small else (320, 900, 24)

    def separable(k):
        return (nn.Conv1d(c, c, k, padding=k // 2, groups=c, bias=False), nn.Conv1d(c, c, 1, bias=False), nn.BatchNorm1d(c))

    def block(k):
        inner = nn.Sequential(*separable(k), nn.ReLU(), nn.Dropout(0.1), *separable(k))
        return nn.Sequential(Plus(inner), nn.ReLU())

    stem = nn.Sequential(nn.Conv1d(64, c, 33, 2, 16, bias=False), nn.BatchNorm1d(c), nn.ReLU())
    net = Stack(stem, [block(k) for k in (33, 39, 51, 63, 75)], nn.Conv1d(c, 29, 1))
    return Trained(net, lambda n: (torch.randn(n, 64, t), torch.randint(29, (n, t // 2))), F.cross_entropy, n)


@model
def clicks_by_product(small):
    """Bags of many tables, every two of them multiplied with each other (DLRM)."""
    rows, d, n, tables, each, dense = (100, 8, 8, 4, 3, 5) if small else (50000, 64, 4096, 18, 5, 13)

    class Clicks(nn.Module):
        def __init__(self):
            super().__init__()
            self.bags = nn.ModuleList(nn.EmbeddingBag(rows, d, mode="sum") for _ in range(tables))
            self.bottom = nn.Sequential(nn.Linear(dense, 4 * d), nn.ReLU(), nn.Linear(4 * d, d), nn.ReLU())
            pairs = tables * (tables + 1) // 2
            self.register_buffer("pairs", torch.tril_indices(tables + 1, tables + 1, -1))
            self.top = nn.Sequential(nn.Linear(d + pairs, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 1))

        def forward(self, x):
            first = self.bottom(x[:, tables * each :].float() / rows)
            ids = x[:, : tables * each].view(-1, tables, each)
            all_of = torch.stack([first] + [bag(ids[:, i]) for i, bag in enumerate(self.bags)], 1)
            products = torch.bmm(all_of, all_of.transpose(1, 2))[:, self.pairs[0], self.pairs[1]]
            return self.top(torch.cat([first, products], 1)).squeeze(1)

    batch = lambda n: (torch.randint(rows, (n, tables * each + dense)), torch.rand(n))  # noqa: E731
    return Trained(Clicks(), batch, F.binary_cross_entropy_with_logits, n, blocks=False)


@model
def sentence_by_gru(small):
    """A sentence read in both directions, another one written word by word, each word looking back at the first."""
    d, t, n, words = (16, 6, 4, 50) if small else (512, 40, 64, 9000)

    class Translator(nn.Module):
        def __init__(self):
            super().__init__()
            self.source, self.target = nn.Embedding(words, d), nn.Embedding(words, d)
            self.reads = nn.GRU(d, d // 2, 2, batch_first=True, bidirectional=True, dropout=0.2)
            self.writes = nn.GRU(d, d, 1, batch_first=True)
            self.joined = nn.Sequential(nn.Linear(2 * d, d), nn.Tanh())
            self.head = nn.Linear(d, words)

        def forward(self, x):
            read, _ = self.reads(self.source(x[:, :t]))
            written, _ = self.writes(self.target(x[:, t:]))
            weights = torch.softmax(written @ read.transpose(1, 2) / math.sqrt(d), -1)
            return self.head(self.joined(torch.cat([written, weights @ read], -1)))

    return Trained(Translator(), lambda n: (torch.randint(words, (n, 2 * t)), torch.randint(words, (n, t))), by_token, n, blocks=False)


class Causal(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads, self.norm = heads, nn.RMSNorm(d)
        self.query, self.both, self.out = nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False), nn.Linear(d, d, bias=False)

    def forward(self, x):
        b, t, d = x.shape
        y = self.norm(x)
        q = self.query(y).view(b, t, self.heads, -1).transpose(1, 2)
        k, v = self.both(y).view(b, t, 2, self.heads // 2, -1).permute(2, 0, 3, 1, 4)  # half as many heads of keys and values
        k, v = k.repeat_interleave(2, 1), v.repeat_interleave(2, 1)
        return x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))


@model
def routed_experts(small):
    """A language model whose tokens go to two of eight experts each, as far as these have room."""
    d, layers, t, n, words, experts = (32, 2, 16, 4, 50, 4) if small else (512, 4, 256, 8, 12000, 8)

    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.router = nn.RMSNorm(d), nn.Linear(d, experts, bias=False)
            self.up = nn.Parameter(torch.randn(experts, d, 4 * d) * 0.02)
            self.down = nn.Parameter(torch.randn(experts, 2 * d, d) * 0.02)

        def forward(self, x):
            flat = self.norm(x).flatten(0, 1)
            room = 2 * flat.shape[0] // experts * 5 // 4
            share, chosen = torch.softmax(self.router(flat).float(), -1).topk(2, -1)
            share, chosen = (share / share.sum(-1, keepdim=True)).flatten(), chosen.flatten()
            place = F.one_hot(chosen, experts).cumsum(0).gather(1, chosen[:, None])[:, 0] - 1
            slot = torch.where(place < room, chosen * room + place, experts * room)  # the last slot is for those without room
            seats = flat.new_zeros(experts * room + 1, d).index_add(0, slot, flat.repeat_interleave(2, 0))
            a, b = torch.bmm(seats[:-1].view(experts, room, d), self.up).chunk(2, -1)
            out = torch.bmm(F.silu(a) * b, self.down).flatten(0, 1)
            out = torch.cat([out, out.new_zeros(1, d)])[slot] * share[:, None]
            return x + out.view(-1, 2, d).sum(1).view_as(x)

    blocks = [nn.Sequential(Causal(d, d // 16 if small else 8), Experts()) for _ in range(layers)]
    return Trained(Stack(nn.Embedding(words, d), blocks, nn.Linear(d, words, bias=False)), tokens(t, words), by_token, n)


@model
def scanned_points(small):
    """Points of a scan, each seen alone and then beside the whole; turned upright by a network of its own (PointNet)."""
    n, count, c = (4, 32, 8) if small else (24, 2048, 64)

    def seen(*dims):
        return nn.Sequential(*(p for a, b in pairwise(dims) for p in (nn.Conv1d(a, b, 1), nn.BatchNorm1d(b), nn.ReLU())))

    class Points(Again):
        def __init__(self):
            super().__init__()
            self.turns, self.angles = seen(3, c, 2 * c, 8 * c), nn.Sequential(nn.Linear(8 * c, 4 * c), nn.ReLU(), nn.Linear(4 * c, 9))
            self.near, self.far = seen(3, c, c), seen(c, 2 * c, 16 * c)
            self.parts = nn.Sequential(seen(17 * c, 8 * c, 4 * c, 2 * c), nn.Conv1d(2 * c, 50, 1))

        def forward(self, x):
            turn = self.angles(self.run(self.turns, x).amax(2)).view(-1, 3, 3)
            near = self.run(self.near, torch.bmm(turn, x))
            whole = self.run(self.far, near).amax(2, keepdim=True).expand(-1, -1, x.shape[2])
            return self.run(self.parts, torch.cat([near, whole], 1))

    return Trained(Points(), lambda n: (torch.randn(n, 3, count), torch.randint(50, (n, count))), F.cross_entropy, n)


@model
def fine_tuned_reader(small):
    """An encoder with padded sentences and dropout everywhere, whose embeddings and first two layers are frozen (BERT)."""
    d, layers, t, n, words = (32, 3, 12, 4, 60) if small else (576, 9, 160, 24, 21000)

    class Layer(nn.Module):
        def __init__(self):
            super().__init__()
            self.query, self.key, self.value, self.out = (nn.Linear(d, d) for _ in range(4))
            self.first, self.second = nn.LayerNorm(d, eps=1e-12), nn.LayerNorm(d, eps=1e-12)
            self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

        def forward(self, x, mask):
            split = (*x.shape[:2], -1, 16 if small else 64)
            q, k, v = (part(x).view(split).transpose(1, 2) for part in (self.query, self.key, self.value))
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.1).transpose(1, 2).flatten(2)
            x = self.first(x + F.dropout(self.out(y), 0.1))
            return self.second(x + F.dropout(self.down(F.gelu(self.up(x))), 0.1))

    class Reader(Again):
        def __init__(self):
            super().__init__()
            self.words, self.places, self.norm = nn.Embedding(words, d, padding_idx=0), nn.Embedding(t, d), nn.LayerNorm(d)
            self.layers = nn.ModuleList(Layer() for _ in range(layers))
            self.pooled, self.head = nn.Linear(d, d), nn.Linear(d, 4)
            for frozen in (self.words, self.places, self.norm, *self.layers[:2]):
                frozen.requires_grad_(False)

        def forward(self, x):
            mask = torch.where(x > words // 8, 0.0, -1e9)[:, None, None]
            x = F.dropout(self.norm(self.words(x) + self.places(torch.arange(t, device=x.device))), 0.1)
            for layer in self.layers:
                x = self.run(layer, x, mask.to(x.dtype))
            return self.head(torch.tanh(self.pooled(x[:, 0])))

    return Trained(Reader(), lambda n: (torch.randint(words, (n, t)), torch.randint(4, (n,))), F.cross_entropy, n)


@model
def neighbours_in_a_mesh(small):
    """Messages along the edges of a mesh, summed up at every node."""
    nodes, edges, d, rounds, n = (20, 60, 16, 2, 2) if small else (1500, 9000, 144, 5, 8)

    class Round(nn.Module):
        def __init__(self):
            super().__init__()
            self.along = nn.Sequential(nn.Linear(2 * d, d), nn.SiLU(), nn.Linear(d, d), nn.LayerNorm(d))
            self.at = nn.Sequential(nn.Linear(2 * d, d), nn.SiLU(), nn.Linear(d, d), nn.LayerNorm(d))

        def forward(self, x, ends):
            sent = self.along(torch.cat([x[:, ends[0]], x[:, ends[1]]], -1))
            came = torch.zeros_like(x, dtype=sent.dtype).index_add(1, ends[1], sent)
            return x + self.at(torch.cat([x, came], -1))

    class Mesh(Again):
        def __init__(self):
            super().__init__()
            self.register_buffer("ends", torch.randint(nodes, (2, edges)))
            self.stem, self.head = nn.Linear(7, d), nn.Linear(d, 3)
            self.rounds = nn.ModuleList(Round() for _ in range(rounds))

        def forward(self, x):
            x = self.stem(x)
            for one in self.rounds:
                x = self.run(one, x, self.ends)
            return self.head(x)

    return Trained(Mesh(), lambda n: (torch.randn(n, nodes, 7), torch.randn(n, nodes, 3)), F.mse_loss, n)
