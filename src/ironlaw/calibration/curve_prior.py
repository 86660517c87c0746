"""What is known of a curve's constants before its samples, where those are few: they are near those of the kernel whose work is most alike.

Three samples say little of five constants. Each constant is drawn to the other curve's, or to what the machine's memory can do, by the sd
of its logarithm: with one sample a curve is the other one, moved; with a dozen it is its own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ironlaw.calibration.curve import Curve

PRODUCTS = ("gemm", "gemv", "bmm", "bmv", "grouped_gemm", "conv")  # how kernels begin whose work is that of a product
# sd of a constant's logarithm: beside that of the kernel whose work is most alike, of products or streams in general, beside main memory's
# rate, beside a first guess
ALIKE, GENERAL, MEMORY, ELSE = 0.5, 1.0, 1.0, 1.5
SCATTER = 0.2  # sd of samples around their curve, of which odd ones count less (Student's t)
UNLIKE = ("solver", "tiny", "foreach")  # kernels whose work is like no other's
FREEDOM = 2.0  # degrees of Student's t
NO_KNEE = 0.01  # steps that filling a tile costs, where a kernel may have no tiles
LEAST_GAIN = 0.05  # of a cache over main memory


@dataclass(frozen=True)
class Prior:
    """`main`: bytes/s of main memory. `alike`: the curve of the kernel whose work is most alike, if there is one."""

    main: float
    alike: Curve | None
    near: bool = True  # whether the other is named as most alike, or only a product or a stream as well

    def constants(self, names: Sequence[str], start: Sequence[float]) -> list[tuple[float, float]]:
        """(logarithm, sd) of each constant; `start`: first guesses from the samples."""
        return [self._one(name, guess) for name, guess in zip(names, start, strict=True)]

    def unsure(self, samples: int) -> float:
        """The sd of a curve's logarithm that so many samples leave beside their own scatter."""
        return (ELSE if self.alike is None else ALIKE) / math.sqrt(1.0 + samples)

    def _one(self, name: str, guess: float) -> tuple[float, float]:
        known = self._of_alike(name)
        if 0.0 < known < math.inf:
            return math.log(known), ALIKE if self.near else GENERAL
        if name == "main" and self.main < math.inf:
            return math.log(self.main), MEMORY
        return math.log(NO_KNEE if name == "knee" and self.alike is None else guess), ELSE

    def _of_alike(self, name: str) -> float:
        if self.alike is None:
            return 0.0
        if name == "gain":
            return max(self.alike.cache / self.alike.main - 1.0, LEAST_GAIN)
        return float(getattr(self.alike, name))


def prior(name: str, main: float, like: Mapping[str, str], curves: Mapping[str, Curve]) -> Prior:
    """By the curve of the kernel whose work is most alike, among those that there are; else by that of plain products in its format, or of
    streams."""
    other = name
    for _ in like:
        if other not in like:
            break
        other = like[other]
        if other in curves:
            return Prior(main, curves[other])
    if name.startswith(UNLIKE):
        return Prior(main, None)
    if not name.startswith(PRODUCTS):
        return Prior(main, curves.get("elementwise"), near=False)
    formats = [end for end in ("_fp32", "_tf32") if name.endswith(end)]
    plain = (*(f"gemm{end}" for end in formats), "gemm")
    return Prior(main, next((curves[one] for one in plain if one in curves and one != name), None), near=False)


def away(logs: Sequence[float], drawn: Sequence[tuple[float, float]], near: bool) -> float:
    """Minus the log-likelihood of constants, by what is known of them. From a general one, being far off counts little more than being half
    as far: some kernels are like no other."""
    squares = [((v - to) / sd) ** 2 for v, (to, sd) in zip(logs, drawn, strict=True)]
    return 0.5 * sum(squares) if near else sum(map(tail, squares))


def tail(square: float) -> float:
    """Minus the log-likelihood under Student's t, by the square of how many sds something is off."""
    return (FREEDOM + 1.0) / 2.0 * math.log1p(square / FREEDOM)
