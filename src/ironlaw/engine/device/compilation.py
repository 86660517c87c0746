"""Compiling costs once and pays per call: break-even N = t_compile / (1/R_eager − 1/R_compiled).

What it costs goes with the number of kernels that the compiler has to write, tune and load.
"""

from __future__ import annotations

from dataclasses import dataclass

from ironlaw.engine.arrays import Number, plain, where
from ironlaw.engine.device.types import check_positive

NEVER = float("inf")
DAY = 86400.0


def compile_seconds(kernels: Number, per_kernel: Number) -> Number:
    """What compiling takes on the first call, by the kernels of the compiled graph: within ±30% for half the models.

    `per_kernel`: what the host needs for each (`registry.machines.compile_cost`); two hosts of one kind differ by as much.
    """
    return check_positive("seconds per kernel", per_kernel) * check_positive("kernels", kernels, zero=True)


def breakeven(compile_s: Number, eager_rate: Number, compiled_rate: Number) -> Number:
    """Calls after which compiling has paid for itself; inf ("never") where it saves nothing per call.

    compile_s in seconds, rates in calls per second. 0 where compiling is free and no slower.
    """
    check_positive("compile time", compile_s, zero=True)
    check_positive("eager rate", eager_rate)
    check_positive("compiled rate", compiled_rate)
    saved = 1.0 / plain(eager_rate) - 1.0 / plain(compiled_rate)
    free = where((plain(compile_s) == 0) & (saved == 0), 0.0, NEVER)
    return where(saved > 0, plain(compile_s) / where(saved > 0, saved, 1.0), free)


def breakeven_days(compile_s: Number, eager_rate: Number, compiled_rate: Number, per_day: Number) -> Number:
    """Days of `per_day` calls until break-even."""
    return breakeven(compile_s, eager_rate, compiled_rate) / check_positive("calls per day", per_day)


def saving(days: Number, compile_s: Number, eager_rate: Number, compiled_rate: Number, per_day: Number, devices: Number = 1.0) -> Number:
    """Net seconds saved after so many days: starts at minus the compile cost; each device compiles for itself."""
    check_positive("days", days, zero=True)
    check_positive("devices", devices)
    check_positive("compile time", compile_s, zero=True)
    per_call = 1.0 / check_positive("eager rate", eager_rate) - 1.0 / check_positive("compiled rate", compiled_rate)
    return days * check_positive("calls per day", per_day) * per_call - devices * compile_s


def devices_needed(per_day: float, rate: float) -> int:
    """How many devices a volume takes at so many calls per second each."""
    check_positive("calls per day", per_day)
    check_positive("rate", rate)
    return max(1, -int(-per_day // (rate * DAY)))


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """How the break-even moves with each input: d(ln N)/d(ln input), so 2.0 means 1% more gives 2% more calls."""

    compile_s: Number
    eager_rate: Number
    compiled_rate: Number

    @property
    def strongest(self) -> str:
        names = ("compile_s", "eager_rate", "compiled_rate")
        return max(names, key=lambda name: abs(getattr(self, name)))


def sensitivity(compile_s: Number, eager_rate: Number, compiled_rate: Number) -> Sensitivity:
    """Elasticities of N = c / (1/e − 1/k): 1 for c, k/(k − e) for e and −e/(k − e) for k. inf where it never pays."""
    breakeven(compile_s, eager_rate, compiled_rate)
    gain = compiled_rate - eager_rate
    safe = where(gain > 0, gain, 1.0)
    return Sensitivity(1.0 + 0.0 * gain, where(gain > 0, compiled_rate / safe, NEVER), where(gain > 0, -eager_rate / safe, -NEVER))
