"""Run by test_kernels_triton.py under TRITON_INTERPRET=1: prints what the kernels gave, as JSON."""

import json

import torch
import torch.nn.functional as F
import triton
import triton.language as tl

from ironlaw.measure.kernels.attention_kernels import naive, tiled
from ironlaw.measure.kernels.norm_dropout_relu import draw, norm_dropout_relu
from ironlaw.measure.kernels.softmax import softmax, step_by_step


@triton.jit
def drawn(out, seed, COUNT: tl.constexpr):
    at = tl.arange(0, COUNT)
    left, right = draw(at.to(tl.uint32), seed.to(tl.uint32), 7)
    tl.store(out + 2 * at, left.to(tl.int64))
    tl.store(out + 2 * at + 1, right.to(tl.int64))


def norm(width: int) -> float:
    x, w, b = (torch.randn(*shape, dtype=torch.float16) for shape in ((5, width), (width,), (width,)))
    wanted = F.relu(F.layer_norm(x.float(), (width,), w.float(), b.float()))
    return float(((norm_dropout_relu(x, w, b, 0.0).float() - wanted).abs() / (1 + wanted.abs())).max())


def correlation(kept: torch.Tensor, shift: int) -> float:
    flat = kept.flatten() - kept.mean()
    return float((flat[:-shift] * flat[shift:]).mean() / flat.var())


def main() -> None:
    torch.manual_seed(0)
    found: dict = {"norm": {width: norm(width) for width in (64, 100, 8)}}
    x = torch.randn(7, 100)
    found["softmax"] = max(float((softmax(x) - x.softmax(-1)).abs().max()), float((step_by_step(x) - x.softmax(-1)).abs().max()))
    q, k, v = (torch.randn(1, 2, 200, 32, dtype=torch.float16) for _ in range(3))
    found["attention"] = {
        causal: float((tiled(q, k, v, causal).float() - naive(q.float(), k.float(), v.float(), causal)).abs().max())
        for causal in (False, True)
    }
    x, w, b = torch.randn(24, 512, dtype=torch.float16), torch.ones(512, dtype=torch.float16), torch.full((512,), 50.0, dtype=torch.float16)
    whole, y = norm_dropout_relu(x, w, b, 0.0), norm_dropout_relu(x, w, b, 0.1, seed=3)
    kept = (y != 0).float()
    found |= {
        "count": kept.numel(),
        "kept": float(kept.mean()),
        "same": float((norm_dropout_relu(x, w, b, 0.1, seed=3) == y).float().mean()),
    }
    found["other"] = float(((norm_dropout_relu(x, w, b, 0.1, seed=4) != 0) == (y != 0)).float().mean())
    found["kept_half"] = float((norm_dropout_relu(x, w, b, 0.5, seed=5) != 0).float().mean())
    found["scaled"] = float((y.float() / whole.float())[y != 0].mean())
    found["worst_column"] = float(((kept.mean(0) - 0.9).abs() / (0.09 / kept.shape[0]) ** 0.5).max())
    found["correlation"] = {shift: correlation(kept, shift) for shift in (1, 2, 4, 8, 512)}
    out = torch.zeros(16, dtype=torch.int64)
    drawn[(1,)](out, 12345, COUNT=8)
    found["philox"] = out.view(8, 2).tolist()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
