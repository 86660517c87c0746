"""How far off predictions turn out to be: of single kernels, of stand-ins, of whole models. All as logarithms of measured / predicted.

Whole models are off by more than their operators say (a library takes another path, a compiler fuses otherwise, a cache is colder than in
a loop over one op), and those that nobody had looked at while rules were made by more than those that somebody had. So each mode has a
bias and a scale, κ, from models that were measured unseen: the score of a run is |error - bias| / sd of its operators, and κ is where four
scores in five lie (split conformal prediction with normalised residuals: Papadopoulos et al. 2002, Lei et al. 2018).

Once models are opened, rules follow them, and their errors shrink more than those of models that stay shut. So a run is kept as it came out
when it was first judged, beside how it comes out now, and both count by half.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from ironlaw.backends.kernel import Sample
from ironlaw.calibration.curve import Curve
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE, Scatter

ENOUGH = 8  # models before their scatter says something
WIDEST = 3.0  # sd of a logarithm: a factor of 20
SHARE = 0.8
FREEDOM = 4.0  # degrees of Student's t: an odd model does not rule
SCALES = [1.25**i for i in range(-4, 13)]  # a grid: from 0.4 to 15 times what the operators say


@dataclass(frozen=True, slots=True)
class Outcome:
    """One run of a model that was measured: how far off its prediction was, and how far its operators let it be."""

    model: str
    mode: str
    error: float  # log(measured / predicted)
    apart: float = 0.0  # sd of the sum, if ops of a family share nothing but their distance …
    together: float = 0.0  # … and if they are all off by the same factor
    run: str = ""  # format and batch, where a model was run more than once
    first: str = ""  # the day on which it came out so, if that is how it was when first judged; else it is how it comes out now

    def sd(self, common: float) -> float:
        """The standard deviation where members of a family share the part `common` of their error."""
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
    """Minus the log-likelihood under Student's t, with the bias and the scale that suit it best."""
    bias = median(o.error for o in outcomes)

    def loss(scale: float) -> float:
        return sum(_tail(o.error - bias, max((scale * o.sd(common)) ** 2, 1e-6)) for o in outcomes)

    return min(map(loss, SCALES))


def _tail(error: float, variance: float) -> float:
    return 0.5 * math.log(variance) + (FREEDOM + 1.0) / 2.0 * math.log1p(error * error / variance / FREEDOM)


def scatter(outcomes: Sequence[Outcome], common: float = 0.0) -> Scatter:
    """The bias as it is now, and the scale of the operators' own sd within which four models in five should fall. Never less than they say:
    models that rules were made by come out better than the next one will."""
    found = _judge(outcomes, lambda o: max(o.sd(common), 1e-6), "scale")
    return found._replace(scale=max(found.scale, 1.0))


def spread(outcomes: Sequence[Outcome]) -> Scatter:
    """The same without operators to go by, so it is the sd itself."""
    return _judge(outcomes, lambda _: 1.0, "sd")


def _judge(outcomes: Sequence[Outcome], unit: Callable[[Outcome], float], name: str) -> Scatter:
    """Every model counts alike, however often it was run."""
    runs = Counter(o.model for o in outcomes)
    biases = {when: _middle([o for o in outcomes if bool(o.first) == when]) for when in {bool(o.first) for o in outcomes}}
    scores = [(abs(o.error - biases[bool(o.first)]) / unit(o), 1.0 / runs[o.model]) for o in outcomes]
    reach = quantile(scores, SHARE * (len(runs) + 1.0))  # of one more model than these, four in five
    bias = biases[False] if False in biases else biases[True]
    return Scatter(round(bias, 4), 0.0, 1.0)._replace(**{name: round(reach / FOUR_IN_FIVE, 4)})


def _middle(outcomes: Sequence[Outcome]) -> float:
    """The median over models, each by the mean of its runs."""
    errors: dict[str, list[float]] = {}
    for o in outcomes:
        errors.setdefault(o.model, []).append(o.error)
    return median(map(fmean, errors.values()))


def quantile(weighed: Sequence[tuple[float, float]], weight: float) -> float:
    """The value at which the cumulated weight, from the smallest value up, reaches `weight`; interpolated, and at most the last value."""
    reached, before = 0.0, 0.0
    for value, own in sorted(weighed):
        if reached + own >= weight:
            return before + (value - before) * (weight - reached) / own
        reached, before = reached + own, value
    return before


def holds(outcome: Outcome, by: Scatter, common: float = 0.0) -> bool:
    """Whether the measured time lies inside; the predicted one always does."""
    reach = float(FOUR_IN_FIVE * by.widen(outcome.sd(common)))
    return min(by.bias - reach, 0.0) <= outcome.error <= max(by.bias + reach, 0.0)


def by_mode(outcomes: Iterable[Outcome]) -> dict[str, list[Outcome]]:
    modes: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        modes.setdefault(outcome.mode, []).append(outcome)
    return modes


def leave_one_out(outcomes: Sequence[Outcome], common: float = 0.0) -> tuple[int, int]:
    """How many of how many runs, as they come out now, lie inside what the other models of their mode say."""
    now = [one for one in outcomes if not one.first]
    inside = 0
    for one in now:
        others = [other for other in outcomes if other.model != one.model]
        inside += holds(one, scatter(others, common), common)
    return inside, len(now)
