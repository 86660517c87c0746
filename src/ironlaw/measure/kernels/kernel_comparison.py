"""The kernels of this room against PyTorch, on a CUDA device: first whether they are right, then how long they take.

    python -m ironlaw.measure.kernels --out kernels.json        rows of kind "function", one for each way of doing the same

Ways (`mode`): "copy" (what reading and writing once takes), "eager", "compiled", "library" (PyTorch's own fused kernel), "triton" (ours),
and "step_by_step" or "naive" where a kernel is taught by its opposite.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from ironlaw.errors import IronlawError
from ironlaw.measure import evidence_file
from ironlaw.measure.devices.cuda import Cuda
from ironlaw.measure.devices.kernel_times import profile
from ironlaw.measure.kernels import need
from ironlaw.measure.rows import Draft, function_row, typed
from ironlaw.measure.software_host import software

Way = tuple[str, dict[str, Any], str, Callable[[], Callable[[], Any]]]
SHAPES = ((1024, 768), (4096, 1024), (8192, 4096), (16384, 8192))
ROWS = ((4096, 1024), (16384, 2048), (16384, 8192))
SEQUENCES = (512, 1024, 2048, 4096, 8192)
DROPPED = 0.1
METHOD = (
    "Sum of kernel durations from torch.profiler (CUDA activity only), 3 warm-up and 8 measured calls, a marker kernel before every call, "
    "median over calls. Compiled functions were compiled before (static shapes). Random normal data; attention in BF16 with 4 sequences, "
    "32 heads of 128. The kernels were checked against PyTorch in FP32 before they were timed."
)


class Wrong(IronlawError):
    """A kernel whose result is not PyTorch's."""


def check() -> list[str]:
    """Each kernel against PyTorch in FP32; the results in words. Raises where one is wrong."""
    import torch
    import torch.nn.functional as F

    from ironlaw.measure.kernels.attention_kernels import naive, tiled
    from ironlaw.measure.kernels.norm_dropout_relu import norm_dropout_relu
    from ironlaw.measure.kernels.softmax import softmax

    verdicts = []
    for shape in ((7, 100), (1024, 768), (4096, 8192)):
        x, w, b = _normed(shape)
        expected = F.relu(F.layer_norm(x.float(), shape[-1:], w.float(), b.float()))
        verdicts.append(_near(f"norm, ReLU {shape}", norm_dropout_relu(x, w, b, 0.0), expected, 4e-3))
        y = norm_dropout_relu(x, w, b, DROPPED, seed=1)
        alive = expected > 0.02
        verdicts.append(_near(f"what was kept {shape}", y[alive & (y != 0)], expected[alive & (y != 0)] / (1 - DROPPED), 4e-3))
        share, count = float((y[alive] != 0).float().mean()), int(alive.sum())
        bound = 5 * (DROPPED * (1 - DROPPED) / count) ** 0.5
        if abs(share - (1 - DROPPED)) > bound:
            raise Wrong(f"{share:.5f} of {count} elements were kept, not {1 - DROPPED}; five deviations are {bound:.5f}")
        verdicts.append(f"kept {share:.5f} of {count} elements {shape}")
        x = torch.randn(shape, device="cuda")
        verdicts.append(_near(f"softmax {shape}", softmax(x), x.softmax(-1), 1e-5))
    for causal in (False, True):
        q, k, v = (torch.randn(2, 4, 777, 64, device="cuda", dtype=torch.bfloat16) for _ in range(3))
        verdicts.append(_near(f"attention, causal={causal}", tiled(q, k, v, causal), naive(q.float(), k.float(), v.float(), causal), 2e-2))
    return verdicts


def _normed(shape: tuple[int, int]) -> tuple[Any, Any, Any]:
    import torch

    make: dict[str, Any] = {"device": "cuda", "dtype": torch.float16}
    return torch.randn(shape, **make), torch.randn(shape[-1], **make), torch.randn(shape[-1], **make)


def _near(what: str, result: Any, expected: Any, bound: float) -> str:
    worst = float(((result.float() - expected).abs() / (1.0 + expected.abs())).max())
    if not worst <= bound:
        raise Wrong(f"{what}: off by {worst:.2g}, {bound:.2g} is allowed; the kernel is wrong on this machine")
    return f"{what}: off by at most {worst:.2g}"


def ways() -> Iterator[Way]:
    """name, params, mode, prepare."""
    yield from _norms()
    yield from _softmaxes()
    yield from _attentions()


def _norms() -> Iterator[Way]:
    import torch
    import torch.nn.functional as F

    from ironlaw.measure.kernels.norm_dropout_relu import norm_dropout_relu

    def eager(x: Any, w: Any, b: Any) -> Any:
        return F.relu(F.dropout(F.layer_norm(x, x.shape[-1:], w, b), DROPPED, True))

    compiled = torch.compile(eager, dynamic=False)
    by_mode: dict[str, Callable[..., Any]] = {
        "copy": lambda x, w, b: x.clone(), "eager": eager, "compiled": compiled,
        "triton": lambda x, w, b: norm_dropout_relu(x, w, b, DROPPED, 1),
    }  # fmt: skip
    for shape in SHAPES:
        for mode, call in by_mode.items():
            yield "layernorm_dropout_relu", {"shape": list(shape), "dtype": "fp16"}, mode, partial(_bound, call, partial(_normed, shape))


def _softmaxes() -> Iterator[Way]:
    import torch

    from ironlaw.measure.kernels.softmax import softmax, step_by_step

    by_mode: dict[str, Callable[..., Any]] = {
        "copy": torch.clone, "step_by_step": step_by_step, "library": lambda x: x.softmax(-1), "triton": softmax,
    }  # fmt: skip
    for shape in ROWS:
        for mode, call in by_mode.items():
            params = {"shape": list(shape), "dtype": "fp32"}
            yield "softmax", params, mode, partial(_bound, call, partial(_noise, shape, 1, torch.float32))


def _attentions() -> Iterator[Way]:
    import torch
    import torch.nn.functional as F

    from ironlaw.measure.kernels.attention_kernels import naive, tiled

    by_mode: dict[str, Callable[..., Any]] = {
        "naive": naive, "library": lambda q, k, v, causal: F.scaled_dot_product_attention(q, k, v, is_causal=causal), "triton": tiled,
    }  # fmt: skip
    for causal, size, (mode, call) in product((True, False), SEQUENCES, by_mode.items()):
        params = {"b": 4, "h": 32, "s": size, "d": 128, "causal": int(causal), "dtype": "bf16"}
        inputs = partial(_noise, (4, 32, size, 128), 3, torch.bfloat16)
        yield "attention", params, mode, partial(_bound, partial(call, causal=causal), inputs)


def _noise(shape: tuple[int, ...], count: int, dtype: Any) -> tuple[Any, ...]:
    import torch

    return tuple(torch.randn(shape, device="cuda", dtype=dtype) for _ in range(count))


def _bound(call: Callable[..., Any], make: Callable[[], Sequence[Any]]) -> Callable[[], Any]:
    inputs = make()
    call(*inputs)  # compiles, outside the clock
    return lambda: call(*inputs)


def rows() -> list[Draft]:
    import torch

    device = Cuda()
    with torch.no_grad():
        todo = list(ways())
        profiles = [profile(device, [prepare], keep=6)[0] for *_, prepare in todo]
    return [function_row(name, params, mode, profiled) for (name, params, mode, _), profiled in zip(todo, profiles, strict=True)]


def table(rows: Sequence[Draft]) -> str:
    """Microseconds, and how many times the copy (or the library's kernel)."""
    lines = []
    for row in rows:
        base = next(
            (r for r in rows if r["params"] == row["params"] and r["name"] == row["name"] and r["mode"] in ("copy", "library")), row
        )
        size = "×".join(map(str, row["params"].get("shape") or [row["params"]["s"]]))
        if "error" in row:
            lines.append(f"{row['name']:24}{size:>12}  {row['mode']:14}{row['error']}")
            continue
        ratio = row["busy_s"] / base["busy_s"]
        lines.append(f"{row['name']:24}{size:>12}  {row['mode']:14}{row['busy_s'] * 1e6:10.1f} µs{ratio:8.2f} × {base['mode']}")
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ironlaw.measure.kernels", description="Check and time ironlaw's own GPU kernels.")
    parser.add_argument("--out", metavar="FILE", type=Path, help="write the rows to this file, as evidence")
    args = parser.parse_args(arguments)
    need()
    print("\n".join(check()))
    measured = rows()
    print(table(measured))
    if args.out:
        evidence_file.write(args.out, machine=Cuda().machine(), software=software(), method=METHOD, rows=typed(measured))
        print(f"written to {args.out}")
    return 0
