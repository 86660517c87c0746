"""What an op, a module and a compiled function cost the host, told apart by programs that have more and more of one thing.

    PYTHONPATH=src python3 benchmarks/device/host_costs.py --out DIR [--dry-run]

Writes DIR/host_costs.json: for each program at two sizes, as it stands and compiled, `host_s` (until the call returns, the GPU idle
before), `first_s` (the same of the first call after other programs ran) and `piped_s` (calls queued back to back), medians over turns of
all programs. Tensors are tiny, so that the GPU hardly works. What a compiled function costs for each weight, module, input, loop and call
of a library is the slope of its program.
"""

import argparse
import json
import sys
import time
import types
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))
import torch
from gpu import GPU, sync
from torch import nn
from torch.nn import functional as F

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
DTYPE = torch.float16 if CUDA else torch.float32
TURNS, QUEUED = (9, 6) if CUDA else (2, 2)
METHOD = (
    f"Programs on tensors of 64 × 64 at 16 bits, one process, by turns, {TURNS} times round: first_s the first call after the other"
    f" programs, host_s the second, both until the call returns and the GPU idle before; piped_s {QUEUED} calls queued back to back and one"
    " wait, per call. Medians. Compiled with PyTorch's defaults, under no_grad unless the program says backward."
)


def tensor(*shape):
    return torch.randn(*shape, device=DEVICE, dtype=DTYPE)


class Nested(nn.Module):
    """One module in another, so many deep, around one op."""

    def __init__(self, depth):
        super().__init__()
        self.inner = Nested(depth - 1) if depth else None

    def forward(self, x):
        return self.inner(x) if self.inner is not None else torch.relu(x)


class Scaled(nn.Module):
    """So many weights in one loop."""

    def __init__(self, count):
        super().__init__()
        self.weights = nn.ParameterList(nn.Parameter(tensor(64, 64)) for _ in range(count))

    def forward(self, x):
        for weight in self.weights:
            x = x + weight
        return x


def broken(n):
    def run(x):
        for _ in range(n):
            x = sine(x)
        return x

    return run


def sine(x):
    x = torch.sin(x)
    torch._dynamo.graph_break()
    return torch.cos(x)


def repeated(n, step):
    def run(x):
        for _ in range(n):
            x = step(x)
        return x

    return run


def softmaxes(n):
    return repeated(n, lambda x: torch.softmax(torch.softmax(x, 0), 1))


def products(n):
    weight = tensor(64, 64)
    return repeated(n, lambda x: x @ weight)


def sequential(n, make):
    return nn.Sequential(*(make() for _ in range(n))).to(DEVICE, DTYPE).eval()


def added(n):
    others = [tensor(64, 64) for _ in range(n)]

    def run(x, *more):
        for one in more:
            x = x + one
        return x

    return run, (tensor(64, 64), *others)


def viewed(x):
    return x.view(8, 8, 64).transpose(0, 1).unsqueeze(0).squeeze(0).transpose(0, 1).reshape(64, 64)


IMAGE, HEADS = (2, 16, 8, 8), (1, 4, 64, 64)
# name: (what makes a program of size n, shape of its input, sizes, whether it is compiled too)
PROGRAMS = {
    "softmaxes": (softmaxes, (64, 64), (2, 16), True),  # two loops each
    "products": (products, (64, 64), (4, 32), True),
    "linears": (lambda n: sequential(n, lambda: nn.Linear(64, 64)), (64, 64), (4, 32), True),
    "linears_without_bias": (lambda n: sequential(n, lambda: nn.Linear(64, 64, bias=False)), (64, 64), (4, 32), True),
    "weights": (Scaled, (64, 64), (4, 32), True),
    "modules": (lambda n: sequential(n, nn.Identity), (64, 64), (8, 64), False),
    "modules_and_op": (lambda n: nn.Sequential(sequential(n, nn.Identity), nn.ReLU()), (64, 64), (8, 64), True),
    "nested": (Nested, (64, 64), (4, 24), True),
    "breaks": (broken, (64, 64), (2, 8), True),
    "topks": (lambda n: repeated(n, lambda x: torch.topk(x, 64)[0]), (64, 64), (2, 16), True),
    "convolutions": (lambda n: sequential(n, lambda: nn.Conv2d(16, 16, 3, padding=1)), IMAGE, (4, 16), True),
    "batch_norms": (lambda n: sequential(n, lambda: nn.BatchNorm2d(16)), IMAGE, (4, 16), False),
    "layer_norms": (lambda n: sequential(n, lambda: nn.LayerNorm(64)), (64, 64), (4, 16), True),
    "attentions": (lambda n: repeated(n, lambda x: F.scaled_dot_product_attention(x, x, x)), HEADS, (2, 8), True),
    "relus": (lambda n: sequential(n, nn.ReLU), (64, 64), (8, 64), False),
    "sines": (lambda n: repeated(n, torch.sin), (64, 64), (8, 64), False),
    "sums": (lambda n: repeated(n, lambda x: x + x.sum(-1, keepdim=True)), (64, 64), (8, 32), False),
    "views": (lambda n: repeated(n, viewed), (64, 64), (4, 32), False),
    "sines_and_views": (lambda n: repeated(n, lambda x: viewed(torch.sin(x))), (64, 64), (4, 32), False),
    "joined": (lambda n: repeated(n, lambda x: torch.cat([x[:32], x[32:]])), (64, 64), (4, 32), False),
    "indexed": (lambda n: repeated(n, lambda x: x[:, [0] * 64]), (64, 64), (2, 8), False),
    "made": (lambda n: repeated(n, lambda x: x + torch.zeros(64, 64, device=DEVICE, dtype=DTYPE)), (64, 64), (4, 32), False),
    "split": (lambda n: repeated(n, lambda x: sum(x.chunk(4, 1)).repeat(1, 4)), (64, 64), (4, 16), False),
}
BACK = ("linears", "layer_norms", "convolutions", "sines", "relus", "batch_norms")


def programs():
    """(row, call) of each."""
    for name, (make, shape, sizes, compiles) in PROGRAMS.items():
        for n in sizes:
            x, made = tensor(*shape), make(n)
            if isinstance(made, nn.Module):
                made = made.to(DEVICE, DTYPE).eval()
            yield {"program": name, "size": n, "mode": "eager"}, without_gradients(made, (x,))
            if compiles:
                yield {"program": name, "size": n, "mode": "compiled"}, without_gradients(compiled(made, f"{name}_{n}"), (x,))
            if name in BACK:
                yield {"program": name, "size": n, "mode": "backward"}, backward(made, x)
    for n in (4, 32):
        run, given = added(n)
        yield {"program": "inputs", "size": n, "mode": "compiled"}, without_gradients(compiled(run, f"inputs_{n}"), given)


def without_gradients(made, given):
    def call():
        with torch.no_grad():
            made(*given)

    return call


def compiled(made, name):
    """Each program has code of its own: compiled functions of the same code are tried one after the other at every call."""

    def run(*given):
        return made(*given)

    code = run.__code__.replace(co_name=name)
    return torch.compile(types.FunctionType(code, run.__globals__, name, None, run.__closure__))


def backward(made, x):
    """Forward and backward; gradients begin empty, as after a step."""
    leaf = x.clone().requires_grad_()
    held = [leaf, *(made.parameters() if isinstance(made, nn.Module) else ())]

    def call():
        made(leaf).sum().backward()
        for one in held:
            one.grad = None

    return call


def until_back(call):
    sync()
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def piped(call):
    sync()
    start = time.perf_counter()
    for _ in range(QUEUED):
        call()
    sync()
    return (time.perf_counter() - start) / QUEUED


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--seconds", type=float, default=150.0, help="after which no program is prepared any more")
    parser.add_argument("--only", default="", help="programs, with commas between")
    parser.add_argument("--dry-run", action="store_true", help="without a GPU, to try it")
    args = parser.parse_args()
    from own_runs import host_profile

    from ironlaw.measure.software_host import software

    begun, rows, calls = time.time(), [], []
    about = {"method": METHOD, "machine": GPU.machine() | {"hardware": "h200_sxm"}, "software": software()}
    about["host"] = None if args.dry_run else host_profile()
    for row, call in programs():
        if (args.only and row["program"] not in args.only.split(",")) or time.time() > begun + args.seconds:
            continue
        try:
            call()
            call()
            sync()
            rows.append(row)
            calls.append(call)
        except Exception as error:
            print(row, f"{type(error).__name__}: {str(error)[:160]}", flush=True)
    print(f"{len(rows)} programs after {time.time() - begun:.0f} s", flush=True)
    seen = [{"first_s": [], "host_s": [], "piped_s": []} for _ in rows]
    for turn in range(TURNS):
        order = range(len(calls)) if turn % 2 else reversed(range(len(calls)))
        for i in order:
            for key, read in (("first_s", until_back), ("host_s", until_back), ("piped_s", piped)):
                seen[i][key].append(read(calls[i]))
    for row, times in zip(rows, seen, strict=True):
        row |= {key: round(median(values), 9) for key, values in times.items()}
    Path(args.out).mkdir(parents=True, exist_ok=True)
    lines = ",\n".join("  " + json.dumps(row) for row in rows)
    (Path(args.out) / "host_costs.json").write_text(json.dumps(about, indent=1)[:-2] + f',\n "rows": [\n{lines}\n ]\n}}\n')
    print(f"{len(rows)} rows in {time.time() - begun:.0f} s")


if __name__ == "__main__":
    main()
