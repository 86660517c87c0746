"""The (ε, δ) that a training run with DP-SGD proves, accountant by accountant, and what a budget leaves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ironlaw.engine.privacy.accountants import ACCOUNTANTS, BOUNDS, MOMENTS, RDP, epsilon, sigma_for, steps_for
from ironlaw.engine.privacy.attacks import accuracy, advantage
from ironlaw.engine.privacy.renyi import best_order, moments_conversion, tight_conversion
from ironlaw.errors import BadValue
from ironlaw.systems.design_file import Design
from ironlaw.systems.fields import figure, whole
from ironlaw.systems.question import Table
from ironlaw.units import significant

if TYPE_CHECKING:
    from ironlaw.outputs.training_output import EpsilonPromise, PrivacyAccountant, PrivacyChange

MOST = 1_000.0  # of ε: e to that power no longer promises anything, and looking for the noise that just keeps a larger one takes seconds


@dataclass(frozen=True, repr=False)
class Privacy(Design):
    """What training with noise guarantees.

    >>> import ironlaw as il
    >>> p = il.privacy(records=60_000, batch=256, noise=1.1, epochs=60, delta=1e-5)
    >>> round(p.spent, 2)
    2.6
    """

    schema = "ironlaw-privacy/1"
    records: int = whole(group="data", example="60_000", about="records that training draws from")
    batch: int = whole(group="training", example="256", about="mean batch size; each record is drawn independently")
    noise: float = figure(group="training", example="1.1", about="noise multiplier: standard deviation over clip norm")
    epochs: float | None = figure(None, group="training", example="60", about="passes over the records; give this or steps")
    steps: int | None = whole(None, group="training", about="steps per run; give this or epochs")
    runs: int = whole(1, group="training", about="runs on the same data, including those that tuned it")
    epsilon: float | None = figure(None, group="promise", most=MOST, example="3.0", about="the ε to stay within")
    delta: float | None = figure(None, group="promise", example="1e-5", about="δ (default: one over ten times the records)")

    @cached_property
    def answer(self) -> dict[str, Any]:
        """The figures of one design; `promise` is null if it sets no limit."""
        each, q = self.steps_of_one_run, self.batch / self.records
        steps, sigma = each * self.runs, self.noise
        delta = self.delta or 1 / (10 * self.records)
        spent = epsilon(q, sigma, steps, delta, RDP, fractional=True)
        rows = [_accountant(name, q, sigma, steps, delta) for name in ACCOUNTANTS]
        return {
            "records": self.records, "rate": q, "noise": sigma, "steps": steps, "steps_of_one_run": each, "runs": self.runs, "delta": delta,
            "delta_below_one_record": delta < 1 / self.records, "epsilon": spent, "accountants": rows,
            "attack": {"advantage": advantage(spent, delta), "accuracy": accuracy(spent, delta)},
            "promise": _promise(self.epsilon, q, sigma, steps, delta, spent),
            "changes": _changes(q, sigma, steps, delta),
        }  # fmt: skip

    @property
    def steps_of_one_run(self) -> int:
        if (self.epochs is None) == (self.steps is None):
            raise BadValue("[training] needs one of epochs and steps; write `epochs = 60` or `steps = 14_062`", "epochs")
        if self.batch > self.records:
            raise BadValue(f"a batch of {self.batch:,} is larger than the {self.records:,} records; make it smaller", "batch")
        return int(self.steps or max(1, math.floor((self.epochs or 0.0) * self.records / self.batch)))

    @property
    def spent(self) -> float:
        """ε by the Rényi accountant."""
        return float(self.answer["epsilon"])

    @property
    def met(self) -> bool:
        """Whether ε is within its limit; true if there is none."""
        return not self.answer["promise"] or bool(self.answer["promise"]["met"])

    def table(self) -> Table:
        rows = [(one["name"], significant(one["epsilon"]), "a bound" if one["bound"] else "") for one in self.answer["accountants"]]
        return Table(f"ε = {significant(self.spent)} at δ = {self.answer['delta']:.3g}", ("accountant", "ε", ""), rows)


def _accountant(name: str, q: float, sigma: float, steps: int, delta: float) -> PrivacyAccountant:
    conversion = {MOMENTS: moments_conversion, RDP: tight_conversion}.get(name)
    if conversion:
        proves, order = best_order(q, sigma, steps, delta, conversion, fractional=True)
        return {"name": name, "epsilon": proves, "bound": True, "order": order}
    return {"name": name, "epsilon": epsilon(q, sigma, steps, delta, name), "bound": name in BOUNDS, "order": None}


def _promise(budget: float | None, q: float, sigma: float, steps: int, delta: float, spent: float) -> EpsilonPromise | None:
    """Whether the limit holds, and what would just meet it: how much noise, or how many steps."""
    if budget is None:
        return None
    return {
        "epsilon": budget, "met": spent <= budget, "spent": spent / budget,
        "noise_needed": _noise(budget, q, steps, delta),
        "steps_allowed": steps_for(budget, q, sigma, delta, fractional=True),
    }  # fmt: skip


def _noise(budget: float, q: float, steps: int, delta: float) -> float | None:
    """None where the budget is below what any noise can prove."""
    try:
        return sigma_for(budget, q, steps, delta, fractional=True)
    except BadValue:
        return None


def _changes(q: float, sigma: float, steps: int, delta: float) -> list[PrivacyChange]:
    """One change at a time, all else as designed: what ε becomes."""
    ways = {
        "twice the noise": (q, 2 * sigma, steps), "half the steps": (q, sigma, max(1, steps // 2)),
        "half the batch, as many steps": (q / 2, sigma, steps), "half the batch, as many epochs": (q / 2, sigma, 2 * steps),
    }  # fmt: skip
    return [{"change": name, "epsilon": epsilon(*way, delta, fractional=True)} for name, way in ways.items()]
