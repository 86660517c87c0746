"""What both acts share: how many records a context has, the accountants by name, and ε as they prove it, kept."""

from __future__ import annotations

import math
from functools import lru_cache

from ironlaw import kit
from ironlaw.engine.privacy import accountants
from ironlaw.engine.privacy.accountants import ADVANCED, BASIC, LIMIT, MOMENTS, RDP
from ironlaw.registry.publications import published
from ironlaw.units import power_of_ten, significant

RECORDS = {"digits": 1_000, "mnist": 60_000, "cifar": 50_000, "million": 1_000_000}
ACCOUNTANTS = {
    BASIC: "adding up", ADVANCED: "advanced", MOMENTS: "moments, 2016", RDP: "Rényi, tight", LIMIT: "Gaussian limit",
}  # fmt: skip
REFERENCE = "PLD, Google's"


def records_of(lab: kit.Lab) -> int:
    return RECORDS[lab.current_context.slug]


@lru_cache(maxsize=8192)
def spent(rate: float, noise: float, steps: float, delta: float, accountant: str = RDP) -> float:
    """ε; infinite where a figure would be larger than any use of it."""
    return min(accountants.epsilon(rate, noise, steps, delta, accountant), 1e12)


def reference(rate: float, noise: float, steps: float, delta: float) -> float | None:
    """What Google's PLD accountant has for the very same run, where it was asked."""
    for row in published("pld_accountant").where():
        same = ((rate, float(row["batch"]) / float(row["records"])), (noise, row["noise"]), (steps, row["steps"]), (delta, row["delta"]))
        if all(math.isclose(own, float(theirs), rel_tol=1e-3) for own, theirs in same):
            return float(row["epsilon"])
    return None


def tiny(value: float) -> str:
    """`10⁻⁵`, `3.2 × 10⁻⁶`: a probability that is hardly one."""
    exponent = math.floor(math.log10(value) + 1e-9)
    lead = significant(value / 10.0**exponent, 2)
    return power_of_ten(exponent) if lead == "1" else f"{lead} × {power_of_ten(exponent)}"
