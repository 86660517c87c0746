"""One device's part of a training layer, run for seconds on end: how far does the clock fall under a load that lasts?

    python benchmarks/device/steady_layer.py --out FOLDER [--seconds 8]

Each case begins on an idle GPU and is repeated without a pause; every call is timed by events. What comes out, for stretches that begin
later and later: the median of a call, and what nvidia-smi says of clock and power at the end. Products alone, and a whole layer
forward and backward, of Llama 3 405B and GPT-3 175B over eight devices. On a processor it only shows that it runs.
"""

import argparse
import itertools
import json
import statistics
import subprocess
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from gpu import GPU, sync

REST = 4.0  # seconds of idling before a case
MARKS = (0.0, 0.02, 0.05, 0.15, 0.5, 1.5, 4.0, 60.0)  # seconds from the first call
LAYERS = {  # rows, hidden, heads, key-value heads, feed-forward and whether it is gated: of one of eight devices
    "llama3_405b": (8192, 16384, 16, 1, 6656, True),
    "gpt3_175b": (2048, 12288, 12, 12, 6144, False),
}
WIDTH = 128  # of a head


class Layer(torch.nn.Module):
    """What tensor parallelism leaves of a layer on one device, without norms, whose rows are cut as well."""

    def __init__(self, hidden, heads, kv_heads, ffn, gated):
        super().__init__()
        self.heads, self.kv_heads, self.gated = heads, kv_heads, gated
        sizes = ((heads + 2 * kv_heads) * WIDTH, hidden), (hidden, heads * WIDTH), ((2 if gated else 1) * ffn, hidden), (hidden, ffn)
        self.weights = torch.nn.ParameterList(
            torch.nn.Parameter(torch.randn(size, device=GPU.NAME, dtype=torch.bfloat16) / size[1] ** 0.5) for size in sizes
        )

    def forward(self, x):
        qkv, projection, up, down = self.weights
        rows = x.shape[0]
        q, k, v = F.linear(x, qkv).split([n * WIDTH for n in (self.heads, self.kv_heads, self.kv_heads)], dim=1)
        q, k, v = (t.view(1, rows, -1, WIDTH).transpose(1, 2) for t in (q, k, v))
        k, v = (t.expand(1, self.heads, rows, WIDTH) if self.kv_heads == 1 else t for t in (k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(rows, -1)
        y = F.linear(F.linear(y, projection), up)
        if self.gated:
            gate, y = y.chunk(2, dim=1)
            return F.linear(F.silu(gate) * y, down)
        return F.linear(F.gelu(y), down)


def layer_call(name, small):
    rows, hidden, heads, kv_heads, ffn, gated = LAYERS[name]
    rows, hidden, ffn = (max(128, size // small) for size in (rows, hidden, ffn))
    layer = Layer(hidden, heads, kv_heads, ffn, gated)
    x = torch.randn(rows, hidden, device=GPU.NAME, dtype=torch.bfloat16, requires_grad=True)
    dy = torch.randn(rows, hidden, device=GPU.NAME, dtype=torch.bfloat16)
    wanted = (x, *layer.weights)
    return lambda: torch.autograd.grad(layer(x), wanted, dy)


def product_call(name, small):
    rows, hidden, _, _, ffn, gated = LAYERS[name]
    rows, hidden, ffn = (max(128, size // small) for size in (rows, hidden, ffn))
    x = torch.randn(rows, hidden, device=GPU.NAME, dtype=torch.bfloat16)
    w = torch.randn((2 if gated else 1) * ffn, hidden, device=GPU.NAME, dtype=torch.bfloat16)
    return lambda: F.linear(x, w)


CASES = [(kind, name) for name in LAYERS for kind in ("product", "layer")]
CALLS = {"product": product_call, "layer": layer_call}


def told():
    """Clock in MHz, power in W and temperature, as nvidia-smi has them; nothing where there is none."""
    fields = "clocks.sm,power.draw,temperature.gpu,clocks_throttle_reasons.active"
    try:
        text = subprocess.run(
            ["nvidia-smi", f"--query-gpu={fields}", "--format=csv,noheader,nounits"], capture_output=True, text=True, check=True, timeout=20
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(zip(("sm_mhz", "watt", "celsius", "throttled"), (part.strip() for part in text.splitlines()[0].split(",")), strict=True))


class Stamps:
    """Moments on the device, or on the host where there is no GPU."""

    def __init__(self):
        self.on_gpu = torch.cuda.is_available()
        self.marks = []

    def mark(self):
        if self.on_gpu:
            event = torch.cuda.Event(enable_timing=True)
            event.record()
            self.marks.append(event)
        else:
            self.marks.append(time.perf_counter())

    def seconds(self):
        """Of each call, with when it began."""
        sync()
        first = self.marks[0]
        at = [first.elapsed_time(m) / 1e3 if self.on_gpu else m - first for m in self.marks]
        return [(a, b - a) for a, b in itertools.pairwise(at)]


def run(kind, name, seconds, small):
    """Calls back to back, never more than a few ahead of the device; the median of each stretch."""
    call = CALLS[kind](name, small)
    call()
    call()
    sync()
    time.sleep(REST if seconds > 1 else 0.0)
    stamps, begin, halfway = Stamps(), time.perf_counter(), {}
    stamps.mark()
    while time.perf_counter() - begin < seconds:
        for _ in range(4):
            call()
            stamps.mark()
        if stamps.on_gpu:
            stamps.marks[-4].synchronize()
        if not halfway and time.perf_counter() - begin > 0.8 * seconds:
            halfway = told()
    taken = stamps.seconds()
    stretches = []
    for low, high in itertools.pairwise(MARKS):
        inside = [t for at, t in taken if low <= at < high]
        if inside:
            stretches.append({"from_s": low, "calls": len(inside), "median_s": statistics.median(inside)})
    return {"case": kind, "layer": name, "stretches": stretches, "told": halfway}


def main():
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--out", type=Path, required=True, help="a folder")
    parser.add_argument("--seconds", type=float, default=8.0, help="of each case")
    options = parser.parse_args()
    small = 1 if torch.cuda.is_available() else 64
    rows = []
    for kind, name in CASES:
        rows.append(run(kind, name, options.seconds, small))
        print(json.dumps(rows[-1]), flush=True)
        (options.out / "steady_layer.json").write_text(json.dumps({"machine": GPU.machine(), "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()
