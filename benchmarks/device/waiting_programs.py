"""Programs that wait for the GPU, or waste it, and the same as they should be: what waiting_scripts.py times. They are in no set and in no
library, and nothing is to be fitted to them."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

PROGRAMS = {}


def program(build):
    PROGRAMS[build.__name__] = build
    return build


def mlp(width, layers, into=None, out=10):
    inner = [part for _ in range(layers) for part in (nn.Linear(width, width), nn.LayerNorm(width), nn.GELU())]
    return nn.Sequential(nn.Linear(into or width, width), *inner, nn.Linear(width, out))


def convnet(c, layers, out):
    inner = [part for _ in range(layers) for part in (nn.Conv2d(c, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), nn.ReLU())]
    return nn.Sequential(nn.Conv2d(3, c, 7, 4, 3), *inner, nn.Conv2d(c, out, 1))


def classified(net, rows, width, classes=10, **how):
    """What most programs here share: an optimiser, a batch, and a step without its reading."""
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4, **how)
    batch = torch.randn(rows, width), torch.randint(classes, (rows,))

    def step(x, y):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
        return loss

    return step, optimiser, batch


def end(optimiser):
    optimiser.step()
    optimiser.zero_grad()


@program
def loss_read_each_step(right, device):
    forward, optimiser, batch = classified(mlp(1024, 12), 2048, 1024)
    totals = [torch.zeros(())] if right else [0.0]

    def step(x, y):
        loss = forward(x, y)
        end(optimiser)
        if right:
            totals[0] = totals[0] + loss.detach()
        else:
            totals[0] += loss.item()

    return step, batch


@program
def metrics_one_by_one(right, device):
    net = mlp(768, 6)
    forward, optimiser, batch = classified(net, 4096, 768)

    def step(x, y):
        loss = forward(x, y)
        with torch.no_grad():
            seen = {"loss": loss, **{f"weight {i}": p.norm() for i, p in enumerate(net.parameters()) if p.dim() > 1}}
            if right:
                torch.stack([value.detach() for value in seen.values()])
            else:
                [value.item() for value in seen.values()]
        end(optimiser)

    return step, batch


@program
def outputs_kept_on_the_host(right, device):
    net = convnet(96, 6, 21).eval()
    kept = []

    def step(x):
        with torch.no_grad():
            out = net(x)
            kept[:] = [out if right else out.cpu()]

    return step, (torch.randn(64, 3, 256, 256),)


@program
def batch_from_pageable_memory(right, device):
    net = convnet(64, 4, 10)
    optimiser = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    with torch.device("cpu"):
        batch = torch.randn(96, 3, 224, 224), torch.randint(10, (96,))
    if right and torch.cuda.is_available():
        batch = tuple(x.pin_memory() for x in batch)

    def step(x, y):
        x, y = (t.to(device, non_blocking=True) if right else t.to(device) for t in (x, y))
        F.cross_entropy(net(x).mean((2, 3)), y).backward()
        end(optimiser)

    return step, batch


@program
def loss_checked_for_nan(right, device):
    forward, optimiser, batch = classified(mlp(512, 20), 1024, 512)

    def step(x, y):
        loss = forward(x, y)
        if not right and torch.isnan(loss):
            return
        end(optimiser)

    return step, batch


@program
def rows_picked_by_a_mask(right, device):
    net = mlp(1024, 6, out=1000)
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4)

    def step(x, y):
        losses = F.cross_entropy(net(x), y, reduction="none")
        known = y > 100
        loss = (losses * known).sum() / known.sum() if right else losses[known].mean()
        loss.backward()
        end(optimiser)

    return step, (torch.randn(4096, 1024), torch.randint(1000, (4096,)))


@program
def gradients_clipped_by_hand(right, device):
    net = mlp(768, 12)
    forward, optimiser, batch = classified(net, 2048, 768)

    def step(x, y):
        forward(x, y)
        if right:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        else:
            norm = sum(p.grad.norm().item() ** 2 for p in net.parameters()) ** 0.5
            for p in net.parameters():
                p.grad.mul_(min(1.0, 1.0 / (norm + 1e-6)))
        end(optimiser)

    return step, batch


@program
def scaler_and_optimiser(right, device):
    """GradScaler reads whether a gradient overflowed; a fused optimiser looks on the GPU."""
    net = mlp(2048, 6)
    _, optimiser, batch = classified(net, 4096, 2048, **({"fused": True} if right else {"foreach": True}))
    scaler = torch.amp.GradScaler(device, enabled=True)

    def step(x, y):
        with torch.autocast(device, torch.float16):
            loss = F.cross_entropy(net(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimiser)
        scaler.update()
        optimiser.zero_grad()

    return step, batch


@program
def parts_timed_by_hand(right, device):
    forward, optimiser, batch = classified(mlp(1024, 10), 3072, 1024)

    def step(x, y):
        for part in (lambda: forward(x, y), optimiser.step, optimiser.zero_grad):
            part()
            if not right and device == "cuda":
                torch.cuda.synchronize()

    return step, batch


@program
def average_kept_on_the_host(right, device):
    net = mlp(1024, 8, out=2048)
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4)
    kept = {}

    def step(x, y):
        out = net(x)
        mean = out.detach().mean(0) if right else out.detach().cpu()
        before = kept.get("mean", mean)
        centre = before.mean(0, keepdim=True) if before.dim() > 1 else before
        centre = centre if right else before.to(device).mean(0)
        (out - centre - y).square().mean().backward()
        kept["mean"] = mean
        end(optimiser)

    return step, (torch.randn(4096, 1024), torch.randn(4096, 2048))


@program
def decoding_until_the_end(right, device):
    """Sixteen greedy steps of a small recurrent decoder; one asks after each whether all have ended."""
    words, d = 8000, 1024
    table, cell, head = nn.Embedding(words, d), nn.Sequential(*(nn.Linear(d, d) for _ in range(8))), nn.Linear(d, words)

    def step(token):
        with torch.no_grad():
            state = table(token)
            for _ in range(16):
                state = torch.tanh(cell(state)) + state
                token = head(state).argmax(-1)
                state = state + table(token)
                if not right and (token == words).all():
                    break

    return step, (torch.randint(words, (64,)),)


class Decoder(nn.Module):
    """Layers of causal attention and a wide head."""

    def __init__(self, words, d, layers, heads, masked):
        super().__init__()
        self.table, self.head = nn.Embedding(words, d), nn.Linear(d, words, bias=False)
        self.layers = nn.ModuleList(nn.ModuleList((nn.LayerNorm(d), nn.Linear(d, 3 * d), nn.Linear(d, d))) for _ in range(layers))
        self.heads, self.masked = heads, masked

    def features(self, x):
        x = self.table(x)
        b, t, d = x.shape
        mask = torch.ones(t, t, dtype=torch.bool, device=x.device).tril() if self.masked else None
        for norm, wide, out in self.layers:
            q, k, v = wide(norm(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=mask is None)
            x = x + out(mixed.transpose(1, 2).reshape(b, t, d))
        return x


def decoder_step(net, losses):
    optimiser = torch.optim.AdamW(net.parameters(), lr=1e-4)

    def step(x, y):
        losses(net, x, y)
        end(optimiser)

    return step


@program
def causal_mask_as_a_tensor(right, device):
    net = Decoder(4000, 768, 8, 12, masked=not right)

    def losses(net, x, y):
        with torch.autocast(device, torch.bfloat16):
            F.cross_entropy(net.head(net.features(x)).flatten(0, 1), y.flatten()).backward()

    return decoder_step(net, losses), (torch.randint(4000, (8, 1024)), torch.randint(4000, (8, 1024)))


def of_part(net, h, y):
    return F.cross_entropy(net.head(h), y, reduction="sum")


@program
def loss_in_one_piece(right, device):
    """`right`: logits of an eighth of the tokens at a time, computed again on the way back."""
    net = Decoder(50000, 512, 4, 8, masked=False)

    def losses(net, x, y):
        with torch.autocast(device, torch.bfloat16):
            h, y = net.features(x).flatten(0, 1), y.flatten()
            if right:
                parts = zip(h.chunk(8), y.chunk(8), strict=True)
                loss = sum(checkpoint(of_part, net, a, b, use_reentrant=False) for a, b in parts)
            else:
                loss = of_part(net, h, y)
        (loss / len(y)).backward()

    return decoder_step(net, losses), (torch.randint(50000, (16, 512)), torch.randint(50000, (16, 512)))


@program
def four_small_batches(right, device):
    net = Decoder(4000, 512, 6, 8, masked=False)

    def losses(net, x, y):
        for a, b in ((x, y),) if right else zip(x.chunk(4), y.chunk(4), strict=True):
            with torch.autocast(device, torch.bfloat16):
                loss = F.cross_entropy(net.head(net.features(a)).flatten(0, 1), b.flatten())
            (loss if right else loss / 4).backward()

    return decoder_step(net, losses), (torch.randint(4000, (16, 256)), torch.randint(4000, (16, 256)))
