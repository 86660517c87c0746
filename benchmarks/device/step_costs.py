"""What parts of a training step cost a host and a GPU that no other file of evidence holds: checkpoints, optimisers by way of launching,
the gradients of depthwise convolutions in both layouts.

    PYTHONPATH=src python3 benchmarks/device/step_costs.py --out DIR [--dry-run]

Writes DIR/step_costs.json. A checkpoint's cost to the host is a step through tiny blocks with checkpoints less one without, for each block;
its blocks have 1, 4 or 8 operators, and what is run again is timed apart, without autograd.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent))
import torch
from gpu import GPU, sync
from torch import nn
from torch.utils.checkpoint import checkpoint

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
BLOCKS = 24
METHOD = (
    "checkpoint: forward and backward through 24 blocks of tiny operators, queued 3 times and waited for once, median of 5. "
    "optimiser: steps of an optimiser over 120 tiny weights, likewise. depthwise_backward: busy_s by torch.profiler, median of 5 calls of "
    "convolution_backward for the input's and the weight's gradient."
)


def wall(call, repeats=3, samples=5):
    call()
    sync()
    seconds = []
    for _ in range(samples if CUDA else 1):
        start = time.perf_counter()
        for _ in range(repeats if CUDA else 1):
            call()
        sync()
        seconds.append((time.perf_counter() - start) / (repeats if CUDA else 1))
    return round(median(seconds), 9)


def checkpoints():
    for ops in (1, 4, 8):
        blocks = nn.ModuleList(nn.Sequential(*(nn.Tanh() for _ in range(ops))) for _ in range(BLOCKS))
        x = torch.randn(32, 32, device=DEVICE, requires_grad=True)

        def through(how, grad=True, autocast=False, blocks=blocks, x=x):
            with torch.autocast(DEVICE, torch.bfloat16, enabled=autocast):
                y = x
                for block in blocks:
                    y = block(y) if how is None else checkpoint(block, y, **how)
            if grad:
                y.sum().backward()

        def plain(through=through):
            with torch.no_grad():
                through(None, False)

        forms = {
            "none": lambda t=through: t(None),
            "forward_alone": plain,
            "not_reentrant": lambda t=through: t({"use_reentrant": False}),
            "reentrant": lambda t=through: t({"use_reentrant": True}),
            "not_reentrant_without_rng": lambda t=through: t({"use_reentrant": False, "preserve_rng_state": False}),
            "autocast_none": lambda t=through: t(None, True, True),
            "autocast_not_reentrant": lambda t=through: t({"use_reentrant": False}, True, True),
        }
        for form, call in forms.items():
            yield {"what": "checkpoint", "form": form, "blocks": BLOCKS, "ops": ops, "wall_s": wall(call)}


def optimisers():
    forms = {"loop": {"foreach": False}, "foreach": {"foreach": True}, "fused": {"fused": True}}
    for kind, (form, how) in ((k, f) for k in ("AdamW", "Adam", "SGD") for f in forms.items()):
        weights = [nn.Parameter(torch.zeros(64, device=DEVICE)) for _ in range(120)]
        for one in weights:
            one.grad = torch.ones_like(one)
        more = {"momentum": 0.9} if kind == "SGD" else {}
        optimiser = getattr(torch.optim, kind)(weights, lr=1e-3, **more, **how)
        yield {"what": "optimiser", "kind": kind, "form": form, "weights": len(weights), "wall_s": wall(optimiser.step)}


def depthwise():
    from ironlaw.measure.devices.kernel_times import profile

    cases = []
    for dtype in ("fp32", "bf16"):
        for layout in ("nchw", "nhwc"):
            for n, c, h, k in ((32, 64, 56, 3), (32, 192, 28, 3), (64, 384, 14, 3), (32, 96, 56, 5), (64, 256, 28, 5), (32, 96, 56, 7),
                               (64, 192, 28, 7), (64, 384, 14, 7), (16, 128, 112, 3), (64, 768, 7, 7), (8, 512, 28, 9)):  # fmt: skip
                cases.append({"n": n, "c": c, "h": h, "k": k, "layout": layout, "dtype": dtype})

    def prepared(case):
        form = {"memory_format": torch.channels_last} if case["layout"] == "nhwc" else {}
        dtype = torch.float32 if case["dtype"] == "fp32" else torch.bfloat16
        n, c, h, k = (case[name] for name in ("n", "c", "h", "k"))
        x, g = (torch.randn(n, c, h, h, device=DEVICE, dtype=dtype).contiguous(**form) for _ in range(2))
        w = torch.randn(c, 1, k, k, device=DEVICE, dtype=dtype).contiguous(**form)
        sizes = ([1, 1], [k // 2] * 2, [1, 1], False, [0, 0], c)
        return lambda: torch.ops.aten.convolution_backward(g, x, w, None, *sizes, [True, True, False])

    cases = cases if CUDA else cases[:1]
    makers = [lambda case=case: prepared(case) for case in cases]
    for case, seen in zip(cases, profile(GPU, makers, warmup=2, iterations=5, keep=6), strict=True):
        yield {"what": "depthwise_backward", **case, **seen}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default=".")
    parser.add_argument("--dry-run", action="store_true", help="without a GPU, to try it")
    args = parser.parse_args()
    from own_runs import host_profile

    from ironlaw.measure.software_host import software

    begun = time.time()
    about = {"method": METHOD, "machine": GPU.machine() | {"hardware": "h200_sxm"}, "software": software()}
    about["host"] = None if args.dry_run else host_profile()
    rows = []
    for part in (checkpoints, optimisers, depthwise):
        try:
            rows += part()
        except Exception as error:
            rows.append({"what": part.__name__, "error": f"{type(error).__name__}: {str(error)[:200]}"})
        Path(args.out).mkdir(parents=True, exist_ok=True)
        (Path(args.out) / "step_costs.json").write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")
    print(f"{len(rows)} rows in {time.time() - begun:.0f} s")


if __name__ == "__main__":
    main()
