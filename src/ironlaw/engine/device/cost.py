"""What one op costs on a machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ironlaw.engine.arrays import Number, maximum, total

if TYPE_CHECKING:
    from ironlaw.engine.device.uncertainty import Doubt


@dataclass(frozen=True, slots=True)
class Cost:
    """What one op takes, in seconds unless said: terms on the device, kernels behind it, and what its launch costs the host."""

    data: Number
    compute: Number
    floor: Number = 0.0  # what each kernel takes whatever its size
    kernels: Number = 1.0
    launch: Number = 0.0
    joint: Number | None = None  # data and compute as they overlap on this machine; None: fully
    doubt: Doubt | None = field(default=None, compare=False)  # how sure the device time is; None for a bound
    scratch: Number = 0.0  # bytes of memory that it takes for itself meanwhile

    @property
    def work(self) -> Number:
        return maximum(self.data, self.compute) if self.joint is None else self.joint

    @property
    def device(self) -> Number:
        return total((self.floor, self.work))
