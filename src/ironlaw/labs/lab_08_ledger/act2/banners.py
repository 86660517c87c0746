"""Which limit a design hits, by how much, and what to change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ironlaw import kit
from ironlaw.engine.numerics.lost_updates import largest_lost
from ironlaw.engine.training.checkpointing import recompute
from ironlaw.kit import settings
from ironlaw.labs.lab_08_ledger import step
from ironlaw.systems.limits import fail, good, warn
from ironlaw.systems.training.ledger_cases import LedgerCase as Case

UPDATE = 64  # sequences an update
ENOUGH = 0.95  # of the memory: below it nothing needs to be recomputed
WEIGHT = 0.02  # a typical weight of a trained network


@dataclass(frozen=True)
class Fit:
    """A training step, and the bytes that there are for it."""

    case: Case
    usable: float

    @property
    def fits(self) -> bool:
        return bool(self.case.ledger.peak <= self.usable)

    @property
    def never_fits(self) -> bool:
        """Whatever the batch."""
        now = self.case.ledger
        return bool(now.static.total >= self.usable or now.update.total > self.usable)

    @property
    def fits_but_for_the_head(self) -> bool:
        now = self.case.ledger
        return bool(now.at_peak("head") >= now.peak - self.usable)

    @property
    def recomputes_for_nothing(self) -> bool:
        return bool(self.case.setup.checkpoint) and self.case.with_(checkpoint=0).peak <= ENOUGH * self.usable


def _bytes(value: float) -> str:
    return kit.amount(float(value), "B")


def _static(fit: Fit) -> dict[str, object]:
    now, usable = fit.case.ledger, fit.usable
    needed = max(float(now.static.total), float(now.update.total))
    return {"needed": _bytes(needed), "usable": _bytes(usable), "over": _bytes(needed - usable)}


def _kept(fit: Fit) -> dict[str, object]:
    now = fit.case.ledger
    return {
        "op": step.plain(now.peak_at.op), "phase": step.passing(now.peak_at.phase), "peak": _bytes(now.peak), "usable": _bytes(fit.usable),
        "over": _bytes(float(now.peak) - fit.usable),
    }  # fmt: skip


def _head(fit: Fit) -> dict[str, object]:
    return _kept(fit) | {"head": _bytes(fit.case.ledger.at_peak("head"))}


def _idle(fit: Fit) -> dict[str, object]:
    twice = float(recompute(fit.case.graph, fit.case.setup.checkpoint))
    without = fit.case.with_(checkpoint=0).peak
    return {"without": _bytes(without), "share": kit.share(without, fit.usable), "wasted": kit.share(twice / (1 + twice), 1.0)}


def _vanish(fit: Fit) -> dict[str, object]:
    return {"weight": str(WEIGHT), "step": kit.amount(largest_lost(WEIGHT)), "room": _bytes(fit.usable - fit.case.peak)}


def _works(fit: Fit) -> dict[str, object]:
    case = fit.case
    tokens = f"{UPDATE * case.seq:,} tokens" if case.seq else f"{UPDATE} samples"
    micro = {"count": step.micro_batches(case.setup.accumulate), "micro": str(case.setup.batch), "largest": f"{case.largest(fit.usable):,}"}
    return {"room": _bytes(fit.usable - case.peak), "tokens": tokens, **micro}


LIMITS = (
    fail("static", "Too big at any batch size", lambda fit: fit.never_fits, _static),
    fail("head", "The output head and the loss do not fit", lambda fit: not fit.fits and fit.fits_but_for_the_head, _head),
    fail("kept", "The saved activations do not fit", lambda fit: not fit.fits, _kept),
    warn("idle", "It fits, but recomputes for nothing", lambda fit: fit.recomputes_for_nothing, _idle),
    warn("vanish", "It fits, but small updates round away", lambda fit: fit.case.setup.recipe == "pure", _vanish),
    good("works", "It fits", _works),
)


def banner(lab: kit.Lab, fit: Fit) -> dict[str, Any]:
    return settings.verdict(lab, "act2", LIMITS, fit)
