"""How long a long training step takes to capture, as a multiple of what PyTorch's own fake tensors take for the same step.

    python benchmarks/long_step.py [--layers 12] [--json FILE]

The step is a small decoder with adapters, checkpoints, four microbatches and AdamW: about 7,400 operators with 12 layers. Processor
time, since other work on the machine disturbs it less; both in one process, so that a slow machine slows both. `again` is the same step
after an earlier capture of it, as `ironlaw analyze` captures changed steps.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from ironlaw.tracing.capture import captured
from ironlaw.tracing.rehearsal import Rehearsal

WIDTH, HEADS, RANK, WORDS, TOKENS, PARTS = 256, 4, 8, 1000, 64, 4


class Adapted(nn.Module):
    """A frozen linear layer, and a narrow one beside it that learns."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.base, self.down, self.up = (nn.Linear(a, b, bias=False) for a, b in ((inner, outer), (inner, RANK), (RANK, outer)))
        self.base.weight.requires_grad_(False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + 2.0 * self.up(self.down(x))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.q, self.k, self.v, self.o = (Adapted(WIDTH, WIDTH) for _ in range(4))
        self.gate, self.wide, self.narrow = Adapted(WIDTH, 4 * WIDTH), Adapted(WIDTH, 4 * WIDTH), Adapted(4 * WIDTH, WIDTH)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, tokens, _ = x.shape
        y = self.first(x)
        q, k, v = (layer(y).view(batch, tokens, HEADS, -1).transpose(1, 2) for layer in (self.q, self.k, self.v))
        x = x + self.o(functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape))
        y = self.second(x)
        return x + self.narrow(functional.silu(self.gate(y)) * self.wide(y))


class Net(nn.Module):
    def __init__(self, layers: int) -> None:
        super().__init__()
        self.words, self.blocks, self.head = (
            nn.Embedding(WORDS, WIDTH),
            nn.ModuleList(Block() for _ in range(layers)),
            nn.Linear(WIDTH, WORDS),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.words(x)
        for block in self.blocks:
            y = checkpoint(block, y, use_reentrant=False)
        return self.head(y)


def training_step(layers: int) -> Callable[..., None]:
    net = Net(layers)
    optimiser = torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], foreach=True)

    def step(x: torch.Tensor, y: torch.Tensor) -> None:
        for part in range(PARTS):
            functional.cross_entropy(net(x[part : part + 1]).flatten(0, 1), y[part : part + 1].flatten()).backward()
        optimiser.step()
        optimiser.zero_grad()

    return step


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    out = call()
    return time.process_time() - start, out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--json", metavar="FILE")
    args = parser.parse_args()
    captured(training_step(1), inputs := (torch.zeros(PARTS, TOKENS, dtype=torch.long),) * 2)  # what is imported on the way
    with FakeTensorMode(allow_non_fake_inputs=True):
        step, fakes = training_step(args.layers), tuple(torch.empty_like(x) for x in inputs)
        step(*fakes)
        plain, _ = seconds(lambda: step(*fakes))
    step, before = training_step(args.layers), Rehearsal()
    first, graph = seconds(lambda: captured(step, inputs, before=before))
    again, _ = seconds(lambda: captured(step, inputs, before=before))
    row = {"operators": len(graph.ops), "first": first / plain, "again": again / plain}
    print(f"{row['operators']:,} operators: first {row['first']:.1f} times a run on fake tensors, again {row['again']:.1f} times")
    if args.json:
        Path(args.json).write_text(json.dumps(row, indent=1) + "\n")


if __name__ == "__main__":
    main()
