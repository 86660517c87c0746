"""How far off predictions turn out to be: of single kernels, of stand-ins, of whole models. All as logarithms of measured / predicted.

Whole models are off by more than their operators say (a compiler fuses otherwise, a cache is colder than in a loop over one op), so each
mode has a bias and an sd of its own, found by models that were measured and judged by leaving each model out.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from ironlaw.backends.kernel import Sample
from ironlaw.calibration.curve import Curve
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE, Scatter

ENOUGH = 8  # models before their scatter says something
WIDEST = 3.0  # sd of a logarithm: a factor of 20
SHARE = 0.8
FREEDOM = 4.0  # degrees of Student's t: an odd model does not rule


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of a model that was measured: how far off its prediction was, and how far its operators let it be."""

    model: str
    mode: str
    error: float  # log(measured / predicted)
    apart: float = 0.0  # sd of the sum, if ops of a family share nothing but their distance …
    together: float = 0.0  # … and if they are all off by the same factor

    def sd(self, common: float) -> float:
        """The sd where a family has so much in common."""
        return math.sqrt((1.0 - common) * self.apart**2 + common * self.together**2)


def four_in_five(errors: Iterable[float]) -> float:
    """The sd under which four errors in five lie where they should: odd ones do not rule."""
    sizes = sorted(abs(error) for error in errors)
    return sizes[min(math.ceil(SHARE * len(sizes)), len(sizes) - 1)] / FOUR_IN_FIVE


def stand_in_sd(samples: Iterable[Sample], curves: Mapping[str, Curve], fallback: Mapping[str, str], cache_bytes: float) -> float:
    """How far off a curve is that stands in for another, from kernels of which both were measured; each curve counts once."""
    errors: dict[str, list[float]] = {}
    for sample in samples:
        name = sample.kernel.curve
        other = curves.get(fallback.get(name, ""))
        if name in curves and other is not None and sample.seconds > 0:
            errors.setdefault(name, []).append(math.log(sample.seconds / other.terms(sample.kernel, cache_bytes)[2]))
    each = [math.sqrt(sum(e * e for e in off) / len(off)) for off in errors.values()]
    return min(four_in_five(each), WIDEST) if each else WIDEST


def common_part(outcomes: Sequence[Outcome]) -> float:
    """What any two ops of a family have in common, however far apart: the mean over how likely each share makes the measured models.

    Rows of evidence can't say: their own errors around the curve cancel. Few models say little, and the mean then lies in the middle.
    """
    shares = [i / 10.0 for i in range(11)]
    losses = [sum(_loss(mine, share) for mine in by_mode(outcomes).values()) for share in shares]
    weights = [math.exp(min(losses) - loss) for loss in losses]
    return sum(share * weight for share, weight in zip(shares, weights, strict=True)) / sum(weights)


def _loss(outcomes: Sequence[Outcome], common: float) -> float:
    """Minus the log-likelihood under Student's t, with the bias and the sd beside the operators' own that suit it best."""
    bias = median(o.error for o in outcomes)

    def loss(sd: float) -> float:
        return sum(_tail(o.error - bias, max(o.sd(common) ** 2 + sd * sd, 1e-6)) for o in outcomes)

    return min(loss(i / 100.0) for i in range(21))


def _tail(error: float, variance: float) -> float:
    return 0.5 * math.log(variance) + (FREEDOM + 1.0) / 2.0 * math.log1p(error * error / variance / FREEDOM)


def scatter(outcomes: Sequence[Outcome], common: float = 0.0) -> Scatter:
    """The bias, and the sd beside the operators' own with which four models in five fall inside."""
    bias = median(o.error for o in outcomes)
    low, high = 0.0, WIDEST
    for _ in range(40):
        middle = (low + high) / 2.0
        held = sum(holds(o, Scatter(bias, middle), common) for o in outcomes)
        low, high = (low, middle) if held >= SHARE * len(outcomes) else (middle, high)
    return Scatter(round(bias, 4), round(high, 4))


def holds(outcome: Outcome, by: Scatter, common: float = 0.0) -> bool:
    """Whether the measured time lies inside; the predicted one always does."""
    reach = FOUR_IN_FIVE * math.hypot(outcome.sd(common), by.sd)
    return min(by.bias - reach, 0.0) <= outcome.error <= max(by.bias + reach, 0.0)


def by_mode(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    modes: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        modes.setdefault(outcome.mode, []).append(outcome)
    return modes


def leave_one_out(outcomes: Sequence[Outcome], common: float = 0.0) -> tuple[int, int]:
    """How many of how many lie inside what the others of their mode say, made without any run of the same model."""
    inside = 0
    for one in outcomes:
        others = [other for other in outcomes if other.model != one.model]
        inside += holds(one, scatter(others, common), common)
    return inside, len(outcomes)
