"""PyTorch on the GPU of an Apple chip. No profiler reports its kernels, and no compiler can be relied on."""

from __future__ import annotations

from typing import Any

from ironlaw.measure.clock import DeviceClock, timed
from ironlaw.measure.devices.device import BLOCKED, Call
from ironlaw.measure.devices.torch_device import TorchDevice
from ironlaw.measure.software_host import cpu_name, machine

QUEUED = 20  # calls before one wait, where kernel times are not reported


class Mps(TorchDevice):
    NAME = "mps"

    def __init__(self) -> None:
        import torch

        super().__init__(DeviceClock(torch.mps.synchronize), ("fp32", "fp16", "bf16"), "fp16")
        self.times_kernels = True

    @classmethod
    def present(cls, torch: Any) -> bool:
        mps = getattr(torch.backends, "mps", None)
        return bool(mps and mps.is_available())

    def place(self) -> str:
        return "this machine's GPU (MPS)"

    def machine(self) -> dict[str, Any]:
        return machine(on_host=False) | {"backend": self.NAME, "gpu": f"{cpu_name()}, integrated GPU"}

    def caches(self) -> dict[str, float]:
        """None is reported; the processor's are not the GPU's."""
        return {}

    def fused_modes(self) -> tuple[str, ...]:
        return (BLOCKED,)

    def busy(self, calls: list[Call]) -> list[dict[str, Any]]:
        """A call's share of many queued before one wait. Of a tiny op that is its launch."""
        return [{"busy_s": timed(call, self.clock, seconds=0.02, least=3, warmup=1, batch=QUEUED).median} for call in calls]

    def method_notes(self) -> list[str]:
        return [f"busy_s: a call's share of {QUEUED} queued before one wait."]

    def memory(self) -> int | None:
        limit = getattr(self.torch.mps, "recommended_max_memory", None)  # from PyTorch 2.5 on
        return int(limit()) if limit else None

    def free_memory(self) -> float:
        total = self.memory()
        return float(total - self.torch.mps.current_allocated_memory()) if total else super().free_memory()
