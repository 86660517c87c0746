"""A machine made of a clock that tests move: products at 1 TFLOP/s, three memory levels, calls of 2 µs."""

from collections.abc import Callable, Iterator

from ironlaw.measure.clock import Clock
from ironlaw.measure.devices.device import Case, Device, Unsupported
from ironlaw.measure.devices.device_kinds import KINDS
from ironlaw.measure.noise import Reading, Watch

CALL = 2e-6
LEVELS = ((128e3, 400e9), (2e6, 200e9), (float("inf"), 50e9))  # up to this working set, bytes/s
RATES = {"fp32": 1e12, "bf16": 4e12, "fp16": 0.1e12}


class FakeClock(Clock):
    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        self.time += 1e-9
        return self.time


class FakeDevice(Device):
    """Takes the time that its figures say; `slower` changes while it runs, as a throttled machine does."""

    def __init__(self, formats: tuple[str, ...] = ("fp32", "bf16", "fp16", "int8")) -> None:
        super().__init__("torch", KINDS["cpu"], FakeClock(), formats)
        self.slower: Callable[[], float] = lambda: 1.0
        self.calls = 0

    def takes(self, seconds: float) -> Callable[[], None]:
        def call() -> None:
            self.calls += 1
            self.clock.time += seconds * self.slower()

        return call

    def label(self) -> str:
        return "Fake 1.0"

    def threads(self) -> int:
        return 1

    def reference(self):
        return self.takes(3e-5)

    def gemm(self, fmt: str, n: int):
        if fmt not in RATES:
            raise Unsupported(f"this device can't multiply matrices in {fmt}")
        return self.takes(CALL + 2 * n**3 / RATES[fmt])

    def stream(self, op: str, numel: int):
        work = numel * {"copy": 8, "add": 12}[op]
        return self.takes(CALL + work / next(rate for size, rate in LEVELS if work <= size))

    def launches(self):
        return {"add": self.takes(CALL), "copy": self.takes(CALL), "relu": self.takes(CALL), "softmax": self.takes(3 * CALL)}

    def cases(self) -> Iterator[Case]:
        for power in (10, 20, 24):
            yield Case("relu", {"numel": 2**power, "dtype": "fp32"}, lambda size=2**power: self.takes(CALL + 8 * size / 50e9))


class Quiet(Watch):
    """Counters of a machine where others take `others` of one processor's time."""

    def __init__(self, clock: FakeClock, others: float = 0.0) -> None:
        super().__init__(lambda: Reading(clock.time * (1 + others), clock.time * 2, 0.0), lambda: clock.time)
