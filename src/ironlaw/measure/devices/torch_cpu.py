"""PyTorch on the processor."""

from __future__ import annotations

from typing import Any

from ironlaw.measure.clock import Clock
from ironlaw.measure.devices.device import BLOCKED, COMPILED, OPERATORS, Call, Device
from ironlaw.measure.devices.torch_device import TorchDevice
from ironlaw.measure.devices.torch_ops import QuickInputs
from ironlaw.measure.software_host import compiler


class TorchCpu(TorchDevice):
    NAME = "cpu"
    SMALL = 8  # the work of 64 would be seen beside the call
    POOL = 2**26
    LARGEST = 3e9

    def __init__(self) -> None:
        super().__init__(Clock(), ("fp32", "bf16", "fp16", "int8"), "fp32")
        self.profiles, self.chosen = OPERATORS, "cpu"

    @classmethod
    def present(cls, torch: Any) -> bool:
        return True

    def place(self) -> str:
        return "the CPU"

    def reference(self) -> Call:
        return Device.reference(self)

    def tensor(self, *shape: int, fmt: str = "") -> Any:
        """Constants: times do not depend on the values here, and to draw random ones takes longer than what is timed."""
        return self.torch.full(shape, 0.5, dtype=self.dtype(fmt))

    def integers(self, n: int) -> tuple[Any, Any]:
        left, right = (self.torch.full((n, n), 3, dtype=self.torch.int8) for _ in "ab")
        return left, right

    def inputs(self) -> QuickInputs:
        return QuickInputs(self.torch, self.NAME, self.default_format, self.POOL, self.LARGEST, on_host=True)

    def fused_modes(self) -> tuple[str, ...]:
        """A block stays in the cache; a compiler may be missing."""
        return (BLOCKED, COMPILED) if compiler() else (BLOCKED,)

    def compiler_missing(self) -> str:
        if compiler():
            return ""
        return "no C++ compiler is here (g++ or $CXX), which torch.compile needs on a processor: compiling was not timed"

    def compiler_settings(self) -> dict[str, Any]:
        return {"cpp.enable_kernel_profile": True}  # names its kernels to the profiler
