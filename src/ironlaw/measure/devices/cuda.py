"""PyTorch on CUDA: kernel times from the profiler, CUDA graphs, the formats of tensor cores."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from ironlaw.measure.devices.device import Call, Lacking
from ironlaw.measure.devices.kernel_times import profile
from ironlaw.measure.devices.torch_device import WithTorch, first_line, tried


class WithCuda(WithTorch):
    def __init__(self) -> None:
        super().__init__("cuda")

    @contextmanager
    def session(self) -> Iterator[None]:
        """FP32 is FP32: TF32 only where it is asked for, and afterwards as it was."""
        matmul, cudnn = self.torch.backends.cuda.matmul, self.torch.backends.cudnn
        before = matmul.allow_tf32, cudnn.allow_tf32
        matmul.allow_tf32 = cudnn.allow_tf32 = False
        try:
            with self.torch.no_grad():
                yield
        finally:
            matmul.allow_tf32, cudnn.allow_tf32 = before

    def gemm(self, fmt: str, n: int) -> Call:
        torch = self.torch
        if fmt == "fp8":
            return self._fp8(n)
        if fmt != "tf32":
            return super().gemm(fmt, n)
        if torch.cuda.get_device_capability()[0] < 8 and not torch.version.hip:
            raise Lacking("no tf32 product here (it came with compute capability 8.0)")
        plain = super().gemm("fp32", n)

        def call() -> None:
            torch.backends.cuda.matmul.allow_tf32 = True
            plain()
            torch.backends.cuda.matmul.allow_tf32 = False

        return call

    def _fp8(self, n: int) -> Call:
        torch = self.torch
        try:
            kind = torch.float8_e4m3fn
            a, b = (torch.randn(n, n, device="cuda").to(kind) for _ in "ab")
            one = torch.ones((), device="cuda")
        except (AttributeError, RuntimeError) as error:
            raise Lacking(f"no fp8 product here ({first_line(error)})") from None
        return tried(lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16), "fp8")

    def busy(self, calls: list[Call]) -> list[dict[str, Any]]:
        """Kernels are listed where a call has several."""
        seen = profile([partial(_made, call) for call in calls])
        return [row if row.get("kernels", 0) > 1 else {key: told for key, told in row.items() if key != "list"} for row in seen]

    def replay(self, call: Call, times: int) -> Call | None:
        torch = self.torch
        try:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):  # warmed up off the main stream, as capturing wants it
                for _ in range(3):
                    call()
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            with warnings.catch_warnings():
                warnings.filterwarnings("error", message="The CUDA Graph is empty")
                with torch.cuda.graph(graph):
                    for _ in range(times):
                        call()
        except (RuntimeError, UserWarning):  # an op that waits for the device can't be recorded; a view launches nothing
            torch.cuda.synchronize()
            return None
        return graph.replay  # type: ignore[no-any-return]

    def memory(self) -> int | None:
        return int(self.torch.cuda.get_device_properties(0).total_memory)


def _made(call: Call) -> Call:
    return call
