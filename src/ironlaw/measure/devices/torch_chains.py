"""The experiments' ops in PyTorch: on a CPU in FP32, on a GPU in FP16 as well. torch.compile where a compiler is at hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ironlaw.formats import FORMATS
from ironlaw.measure.clock import Clock, DeviceClock
from ironlaw.measure.devices.library import DROP, SCALE, SEED, SHIFT, Call, Shape, rows_in_block
from ironlaw.measure.host import compiler

TINY = 16


class Torch:
    def __init__(self) -> None:
        import torch

        self.torch = torch
        self.backend = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
        wait = {"cuda": torch.cuda.synchronize, "mps": torch.mps.synchronize}.get(self.backend)
        self.clock = DeviceClock(wait) if wait else Clock()
        self.name = f"PyTorch {torch.__version__.partition('+')[0]}" + self._where()
        self.formats: tuple[str, ...] = ("fp32",) if self.backend == "cpu" else ("fp32", "fp16")
        self.fused = self._ways()
        self.threads = torch.get_num_threads() if self.backend == "cpu" else None
        torch.manual_seed(SEED)
        self.tiny = self._tiny()

    def _where(self) -> str:
        if self.backend == "cuda":
            return f" on {self.torch.cuda.get_device_name(0)}"
        return " on this machine's GPU (MPS)" if self.backend == "mps" else " on the CPU"

    def _ways(self) -> tuple[str, ...]:
        """On a CPU a block stays in the cache; on a GPU only a compiled kernel fuses. MPS has no compiler to rely on."""
        if self.backend == "cuda":
            return ("compiled",)
        return ("blocked", "compiled") if self.backend == "cpu" and compiler() else ("blocked",)

    def _tensor(self, *shape: int, dtype: str = "fp32") -> Any:
        return self.torch.randn(*shape, device=self.backend).to(FORMATS[dtype].in_torch(self.torch))

    def _tiny(self) -> dict[str, Call]:
        torch, functional = self.torch, self.torch.nn.functional
        a, b, square = self._tensor(TINY), self._tensor(TINY), self._tensor(4, 4)
        return {
            "add": lambda: torch.add(a, b),
            "mul": lambda: torch.mul(a, b),
            "relu": lambda: torch.relu(a),
            "sum": lambda: torch.sum(a),
            "layer_norm": lambda: functional.layer_norm(a, (TINY,)),
            "matmul": lambda: torch.matmul(square, square),
        }

    def product(self, n: int, dtype: str) -> Call:
        a, b = self._tensor(n, n, dtype=dtype), self._tensor(n, n, dtype=dtype)
        out = self.torch.empty_like(a)
        return lambda: self.torch.matmul(a, b, out=out)

    def three(self, shape: Shape, mode: str) -> Call:
        functional = self.torch.nn.functional
        return self._passes(
            [
                lambda x: functional.layer_norm(x, (shape[1],)),
                lambda x: functional.dropout(x, DROP, training=True),
                self.torch.relu,
            ],
            shape,
            mode,
        )

    def chain(self, kinds: Sequence[str], shape: Shape, mode: str) -> Call:
        known: dict[str, Callable[[Any], Any]] = {"scale": lambda x: x * SCALE, "shift": lambda x: x + SHIFT}
        return self._passes([known[kind] for kind in kinds], shape, mode)

    def _passes(self, steps: Sequence[Callable[[Any], Any]], shape: Shape, mode: str) -> Call:
        x = self._tensor(*shape)

        def whole(here: Any) -> Any:
            for step in steps:
                here = step(here)
            return here

        if mode == "compiled":
            self.torch._dynamo.reset()  # each chain is a function of its own, not another shape of the last one
            made = self.torch.compile(whole, dynamic=False)
            made(x)  # compiles
            return lambda: made(x)
        if mode == "eager":
            return lambda: whole(x)
        blocks = x.split(rows_in_block(shape, 4, self.threads or 1))
        return lambda: [whole(block) for block in blocks]
