"""One step of a serving engine on a GPU, in plain PyTorch: decoding sequences, a chunk of a prompt, or both in one step.

    PYTHONPATH=src python3 benchmarks/device/serving_steps.py --out DIR [--model llama3_8b] [--seconds 150]

Writes DIR/serving_steps.json: a row per batch, context, chunk and mode. The model is the registry's with random weights and merged
projections; keys and values are written into a cache that is there already. Without a GPU a two-layer model runs on the processor, to
try the program.
"""

import argparse
import time

import torch
from gpu import clock, write
from torch.nn import functional as F

from ironlaw.measure.devices.cuda_graphs import record
from ironlaw.registry.workloads import about

METHOD = (
    "One step of a decoder with random weights in BF16: merged q, k, v and gate, up projections, torch's rms_norm, rotary positions, "
    "scaled_dot_product_attention with enable_gqa over a cache in place (contiguous, all contexts equal), logits of the last token of "
    "each sequence and of the chunk. batch sequences decode one token each at `context`; `chunk` tokens of one prompt follow `past`. "
    "wall_s: median of synchronised calls; piped_s: queued back to back; mode eager_graphs: recorded as one CUDA graph and replayed."
)
CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
SMALL = {"vocab": 1000, "hidden": 512, "heads": 4, "kv_heads": 1, "head_dim": 128, "ffn": 1024}
TRIED = (2, 16, 0, 0), (0, 0, 8, 0), (2, 16, 8, 4)
CASES = (
    *((b, c, 0, 0) for c in (512, 2048, 8192) for b in (1, 4, 16, 64, 128, 256) if b * c <= 524_288),
    *((0, 0, n, 0) for n in (128, 512, 2048, 8192)),
    *((0, 0, 512, p) for p in (2048, 8192)),
    *((b, 1024, n, 1024) for b in (16, 64, 256) for n in (128, 512, 2048)),
)


class Decoder:
    def __init__(self, p, layers, dtype=torch.bfloat16):
        self.p, self.dtype, wide = p, dtype, p["head_dim"]
        self.heads, self.groups = p["heads"], p["kv_heads"]

        def weight(rows, columns):
            return torch.randn(rows, columns, device=DEVICE, dtype=dtype) * 0.02

        self.words = weight(p["vocab"], p["hidden"])
        self.head = weight(p["vocab"], p["hidden"])
        self.gain = torch.ones(p["hidden"], device=DEVICE, dtype=dtype)
        self.layers = [
            {
                "qkv": weight((self.heads + 2 * self.groups) * wide, p["hidden"]), "out": weight(p["hidden"], self.heads * wide),
                "up": weight(2 * p["ffn"], p["hidden"]), "down": weight(p["hidden"], p["ffn"]),
            }
            for _ in range(layers)
        ]  # fmt: skip

    def norm(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.gain)

    def step(self, ids, turn, caches, batch, context, chunk, past):
        """`ids`: the decoding sequences' tokens, then the chunk's. `caches`: per layer, (of the batch, of the prompt)."""
        x = self.words[ids]
        for layer, cache in zip(self.layers, caches, strict=True):
            x = x + self.mix(self.norm(x), layer, turn, cache, batch, chunk, past, slice(context, None), slice(past, None))
            x = x + self.feed(self.norm(x), layer)
        return self.logits(x, batch, chunk)

    def mix(self, y, layer, turn, cache, batch, chunk, past, place, places):
        """Attention: what each token takes from those before it. `place`, `places`: where the batch's and the chunk's keys are written."""
        qkv = F.linear(y, layer["qkv"]).view(len(y), self.heads + 2 * self.groups, -1)
        both = qkv[:, : self.heads + self.groups]
        half = both.shape[-1] // 2
        both = both * turn[0] + torch.cat((-both[..., half:], both[..., :half]), -1) * turn[1]
        q, k, v = both[:, : self.heads], both[:, self.heads :], qkv[:, self.heads + self.groups :]
        (ours, prompt), parts = cache, []
        if batch:
            ours[0][:, :, place] = k[:batch].unsqueeze(2)
            ours[1][:, :, place] = v[:batch].unsqueeze(2)
            parts.append(self.attend(q[:batch].unsqueeze(2), ours[0], ours[1], False).reshape(batch, -1))
        if chunk:
            prompt[0][0, :, places] = k[batch:].transpose(0, 1)
            prompt[1][0, :, places] = v[batch:].transpose(0, 1)
            z = self.attend(q[batch:].transpose(0, 1).unsqueeze(0), *prompt, not past)
            parts.append(z.transpose(1, 2).reshape(chunk, -1))
        return F.linear(torch.cat(parts) if len(parts) > 1 else parts[0], layer["out"])

    def feed(self, y, layer):
        gate, up = F.linear(y, layer["up"]).chunk(2, -1)
        return F.linear(F.silu(gate) * up, layer["down"])

    def logits(self, x, batch, chunk):
        last = torch.cat((x[:batch], x[-1:])) if chunk else x
        return F.linear(self.norm(last), self.head)

    def attend(self, q, k, v, causal):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)

    def caches(self, batch, context, chunk, past):
        wide = self.p["head_dim"]

        def pair(rows, tokens):
            return [torch.randn(rows, self.groups, tokens, wide, device=DEVICE, dtype=self.dtype) for _ in range(2)]

        return [(pair(batch, context + 1) if batch else None, pair(1, past + chunk) if chunk else None) for _ in self.layers]


def inputs(model, batch, context, chunk, past):
    """Of one step: ids, rotations and caches."""
    tokens = batch + chunk
    ids = torch.randint(model.p["vocab"], (tokens,), device=DEVICE)
    turn = torch.randn(2, tokens, 1, model.p["head_dim"], device=DEVICE, dtype=model.dtype)
    return ids, turn, model.caches(batch, context, chunk, past)


def case(model, *sizes):
    """Rows of one case: eager, and as a graph where there is a GPU."""
    given = inputs(model, *sizes)

    def call():
        return model.step(*given, *sizes)

    for mode in ("eager", "eager_graphs") if CUDA else ("eager",):
        yield row_of(call if mode == "eager" else record(torch, call), model, mode, sizes)


def row_of(run, model, mode, sizes, **more):
    wall, piped = clock(run)
    params = dict(zip(("batch", "context", "chunk", "past"), sizes, strict=True)) | {"dtype": "bf16", "layers": len(model.layers)}
    return {"kind": "function", "name": "serving_step", "params": params, "mode": mode, "wall_s": wall, "event_s": piped, **more}


@torch.no_grad()
def measure(make, one, cases, name, method):
    """`one(model, *sizes)` gives the rows of a case; those that there is time for go into DIR/`name`.json."""
    parser = argparse.ArgumentParser(description=method)
    parser.add_argument("--out", required=True)
    parser.add_argument("--model", default="llama3_8b")
    parser.add_argument("--seconds", type=float, default=150.0)
    args = parser.parse_args()
    p = about(args.model)["params"]
    model = make(p if CUDA else SMALL, p["layers"] if CUDA else 2)
    rows, end = [], time.monotonic() + args.seconds
    for sizes in cases if CUDA else TRIED:
        if time.monotonic() > end:
            break
        for row in one(model, *sizes):
            rows.append({**row, "params": {"model": args.model, **row["params"]}})
            print(sizes, row["mode"], f"{1e3 * row['event_s']:.3f} ms", flush=True)
        if CUDA:
            torch.cuda.empty_cache()
        write(f"{args.out}/{name}.json", method, rows)


if __name__ == "__main__":
    measure(Decoder, case, CASES, "serving_steps", METHOD)
