"""PyTorch on CUDA, and on ROCm, which answers to the same names: kernel times from the profiler, graphs, the formats of tensor cores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from importlib.util import find_spec
from math import ceil
from statistics import median
from typing import Any

from ironlaw.measure import software_host
from ironlaw.measure.clock import DeviceClock, halt
from ironlaw.measure.devices import cuda_graphs, nvidia_smi
from ironlaw.measure.devices.device import COMPILED, KERNELS, Call, Unsupported
from ironlaw.measure.devices.kernel_times import profile
from ironlaw.measure.devices.torch_device import TorchDevice, first_line, tried
from ironlaw.measure.progress_lines import Stop

LEAST = 7  # samples of the reference
FULL = 0.4  # share of the GPU's memory; what PyTorch holds beyond that is released on request


class Cuda(TorchDevice):
    NAME = "cuda"
    REFERENCE = 2048
    POOL = 2**29
    LARGEST = 5e12

    def __init__(self, index: int | None = None) -> None:
        """`index`: which of several GPUs, as PyTorch numbers them; the first without it."""
        import torch

        self.index = index or 0
        if index is not None:
            torch.cuda.set_device(index)  # what is made on "cuda" from here on lies there
        super().__init__(DeviceClock(torch.cuda.synchronize), ("fp32", "tf32", "fp16", "bf16", "fp8", "int8"), "fp16")
        self.times_kernels = self.has_graphs = True
        self.profiles, self.chosen = KERNELS, "cuda"

    @classmethod
    def present(cls, torch: Any) -> bool:
        return bool(torch.cuda.is_available())

    def place(self) -> str:
        return str(self.torch.cuda.get_device_name(self.index))

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

    # ---- what it is

    def properties(self) -> Any:
        return self.torch.cuda.get_device_properties(self.index)

    def address(self) -> str:
        return f"{self.NAME}:{self.index}"

    def which(self) -> str:
        """The GPU as nvidia-smi names it, which has a numbering of its own."""
        known = getattr(self.properties(), "uuid", None)
        return f"GPU-{known}" if known else str(self.index)

    def machine(self) -> dict[str, Any]:
        properties = self.properties()
        described = {
            "backend": self.NAME, "gpu": properties.name, "sms": properties.multi_processor_count,
            "clock_hz": 1e3 * getattr(properties, "clock_rate", 0) or None,
            "l2_bytes": getattr(properties, "L2_cache_size", None), "memory_bytes": properties.total_memory,
            "driver": nvidia_smi.driver(self.which()) or None, "hip": self.torch.version.hip,
            "device": self.address() if self.torch.cuda.device_count() > 1 else None,
        }  # fmt: skip
        return software_host.machine(on_host=False) | {key: value for key, value in described.items() if value is not None}

    def caches(self) -> dict[str, float]:
        size = getattr(self.properties(), "L2_cache_size", None)
        return {"l2": float(size)} if size else {}

    def clock_notes(self, work: Callable[[], None]) -> list[str]:
        work()
        return [*software_host.clock_notes(), *nvidia_smi.clock_notes(self.which())]

    def method_notes(self) -> list[str]:
        return [
            "busy_s, kernels and list: kernel, memset and memcpy durations from torch.profiler, 3 warm-up and 8 measured calls, a marker"
            " kernel before each, median."
        ]

    def power_limit(self) -> float | None:
        return nvidia_smi.power_limit(self.which())

    def memory(self) -> int | None:
        return int(self.properties().total_memory)

    def free_memory(self) -> float:
        return float(self.torch.cuda.mem_get_info(self.index)[0])

    def release_memory(self) -> None:
        if self.torch.cuda.memory_reserved() > FULL * self.properties().total_memory:
            self.torch.cuda.empty_cache()

    # ---- what it can do

    def gemm(self, fmt: str, n: int) -> Call:
        torch = self.torch
        if fmt == "fp8":
            return self.fp8(n)
        if fmt not in ("fp32", "tf32"):
            return super().gemm(fmt, n)
        if fmt == "tf32" and torch.cuda.get_device_capability(self.index)[0] < 8 and not torch.version.hip:
            raise Unsupported("this device can't multiply matrices in tf32 (it came with compute capability 8.0)")
        plain, switch = super().gemm("fp32", n), torch.backends.cuda.matmul

        def call() -> None:
            """In the format that it is named for, whatever a case before it has asked for: the reference is such a product, too."""
            before, switch.allow_tf32 = switch.allow_tf32, fmt == "tf32"
            plain()
            switch.allow_tf32 = before

        return call

    def reference_s(self, reference: Call, seconds: float, stop: Stop | None = None) -> float:
        """By the GPU's events: what the host takes to launch it is not in it."""
        queued = max(LEAST, ceil(seconds / max(self.seconds_between(reference), 1e-6)))
        halt(stop)
        return median(self.seconds_between(reference) for _ in range(queued))

    def integers(self, n: int) -> tuple[Any, Any]:
        """Tensor cores take the right matrix column by column."""
        left, right = super().integers(n)
        return left, right.t()

    def fp8(self, n: int) -> Call:
        torch = self.torch
        try:
            a, b = (torch.randn(n, n, device=self.NAME).to(self.dtype("fp8")) for _ in "ab")
            one = torch.ones((), device=self.NAME)
        except (AttributeError, RuntimeError) as error:
            raise Unsupported(f"this device can't multiply matrices in fp8 ({first_line(error)})") from None
        return tried(lambda: torch._scaled_mm(a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16), "fp8")

    def fused_modes(self) -> tuple[str, ...]:
        """Only a compiled kernel fuses here."""
        return (COMPILED,)

    def compiler_missing(self) -> str:
        if find_spec("triton") is not None:
            return ""
        return "Triton is not installed, which torch.compile needs on a GPU: compiling was not timed"

    def record(self, call: Call, times: int = 1) -> Call:
        return cuda_graphs.record(self.torch, call, times)

    # ---- its kernels

    def busy(self, calls: list[Call]) -> list[dict[str, Any]]:
        """Kernels are listed where a call has several."""
        rows = profile(self, [partial(_unchanged, call) for call in calls])
        return [row if row.get("kernels", 0) > 1 else {key: value for key, value in row.items() if key != "list"} for row in rows]

    def mark(self) -> None:
        self.torch.cuda._sleep(1)

    def kernel_profiler(self) -> AbstractContextManager[Any]:
        return self.torch.profiler.profile(activities=[self.torch.profiler.ProfilerActivity.CUDA])  # type: ignore[no-any-return]

    def peak_memory(self, call: Call) -> int | None:
        cuda = self.torch.cuda
        cuda.synchronize()
        cuda.reset_peak_memory_stats()
        before = cuda.memory_allocated()
        call()
        cuda.synchronize()
        return int(cuda.max_memory_allocated() - before)

    def seconds_between(self, call: Call) -> float:
        """Seconds that the GPU takes for what a call queues, by its own events."""
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        self.clock.sync()
        return float(begin.elapsed_time(end)) * 1e-3


def _unchanged(call: Call) -> Call:
    return call
