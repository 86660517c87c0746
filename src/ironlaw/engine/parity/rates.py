"""FPR = p/(1−p) · (1−PPV)/PPV · (1−FNR): with different base rates p, equal PPV and FNR force different FPR (Chouldechova 2017).

A table counts people: flagged and true (tp), flagged and not (fp), not flagged though true (fn), neither (tn). Counts or shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue

RATES = ("fpr", "fnr", "ppv")  # the three of which only two can be equal


@dataclass(frozen=True, slots=True)
class Table:
    """A rate whose margin is empty is NaN: nobody was there to be counted."""

    tp: float
    fp: float
    fn: float
    tn: float

    def __post_init__(self) -> None:
        for name in ("tp", "fp", "fn", "tn"):
            check_positive(name, getattr(self, name), zero=True)

    @property
    def people(self) -> float:
        return self.tp + self.fp + self.fn + self.tn

    @property
    def base(self) -> float:
        """The share that is true, whatever was decided."""
        return _over(self.tp + self.fn, self.people)

    @property
    def fpr(self) -> float:
        """The false positive rate: the share flagged among those who are not true cases."""
        return _over(self.fp, self.fp + self.tn)

    @property
    def fnr(self) -> float:
        """The false negative rate: the share missed among the true cases."""
        return _over(self.fn, self.tp + self.fn)

    @property
    def tpr(self) -> float:
        return _over(self.tp, self.tp + self.fn)

    @property
    def ppv(self) -> float:
        """The positive predictive value: the share of true cases among those flagged."""
        return _over(self.tp, self.tp + self.fp)

    @property
    def npv(self) -> float:
        """The negative predictive value: the share that are not true cases among those not flagged."""
        return _over(self.tn, self.fn + self.tn)

    @property
    def selected(self) -> float:
        """The share that was flagged."""
        return _over(self.tp + self.fp, self.people)

    @property
    def accuracy(self) -> float:
        return _over(self.tp + self.tn, self.people)


def of_rates(base: float, fpr: float, tpr: float, people: float = 1.0) -> Table:
    """The table of a group with this base rate, at a point of the ROC square."""
    true, other = people * _check("base rate", base), people * (1.0 - base)
    return Table(true * _check("TPR", tpr), other * _check("FPR", fpr), true * (1.0 - tpr), other * (1.0 - fpr))


def fpr_of(base: float, ppv: float, fnr: float) -> float:
    """The false positive rate that the other two force; above 1 no decision has them."""
    return odds(base) * _inverse_odds(ppv) * (1.0 - _check("FNR", fnr))


def ppv_of(base: float, fnr: float, fpr: float) -> float:
    """What flags are worth, given both error rates."""
    right, wrong = _check("base rate", base) * (1.0 - _check("FNR", fnr)), (1.0 - base) * _check("FPR", fpr)
    return _over(right, right + wrong)


def fnr_of(base: float, ppv: float, fpr: float) -> float:
    """The share that is missed, given the other two; below 0 no decision has them."""
    slope = ray(base, ppv)
    return 1.0 - _check("FPR", fpr) * slope if fpr else 1.0


def odds(base: float) -> float:
    """p / (1 − p)."""
    if not 0.0 < base < 1.0:
        raise BadValue(f"base rate is {base!r}; give one between 0 and 1, both excluded")
    return base / (1.0 - base)


def ray(base: float, ppv: float) -> float:
    """TPR over FPR of every decision with this PPV: the slope of a ray from the corner of the ROC square; inf for a perfect one."""
    worth = _inverse_odds(ppv)
    return 1.0 / (odds(base) * worth) if worth else math.inf


def forced_gap(base_a: float, base_b: float, *, fpr: float | None = None, fnr: float | None = None, ppv: float | None = None) -> float:
    """Two rates equal in both groups: by how much the third differs, a's less b's. Give exactly two."""
    given = {name: value for name, value in (("fpr", fpr), ("fnr", fnr), ("ppv", ppv)) if value is not None}
    if len(given) != 2:
        raise BadValue(
            f"{len(given)} rates given ({', '.join(given) or 'none'}); give two of fpr, fnr and ppv; the third follows from them"
        )
    if ppv is not None and fnr is not None:
        return fpr_of(base_a, ppv, fnr) - fpr_of(base_b, ppv, fnr)
    if fnr is not None and fpr is not None:
        return ppv_of(base_a, fnr, fpr) - ppv_of(base_b, fnr, fpr)
    assert ppv is not None and fpr is not None
    return fnr_of(base_a, ppv, fpr) - fnr_of(base_b, ppv, fpr)


def _inverse_odds(ppv: float) -> float:
    if not 0.0 < ppv <= 1.0:
        raise BadValue(f"PPV is {ppv!r}; give one above 0, at most 1")
    return (1.0 - ppv) / ppv


def _check(name: str, value: float) -> float:
    if not 0.0 <= value <= 1.0:
        raise BadValue(f"{name} is {value!r}; give a share from 0 to 1")
    return value


def _over(part: float, whole: float) -> float:
    return part / whole if whole else math.nan
