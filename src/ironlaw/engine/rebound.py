"""Cheaper is not the same as less: what demand does with a saving, and when it eats it up (Jevons).

Energy per unit falls by g. Energy is a share s of the price, so the price falls to s/g + (1 − s), and demand follows the price:

    E / E₀ = (1/g) · (p/p₀)^(−ε)          more than before where ε > ln g / −ln(p/p₀)

With s = 1 that is ε > 1, the textbook's case. What halves machine time too moves the rest of the price (`cost_change`), and needs far less.
"""

from __future__ import annotations

import math

from ironlaw.engine.device.types import check_positive
from ironlaw.errors import BadValue


def price(gain: float, share: float, pass_through: float = 1.0, cost_change: float = 1.0) -> float:
    """The price over the old one. `pass_through`: how much of a saving reaches it; `cost_change`: what becomes of all else."""
    check_positive("the gain", gain)
    check_positive("the change of other costs", cost_change)
    for name, value in (("share", share), ("pass_through", pass_through)):
        if not 0 <= value <= 1:
            raise BadValue(f"{name} is {value!r}; give a number from 0 to 1", name)
    return 1 - pass_through * (1 - (share / gain + (1 - share) * cost_change))


def demand(price_ratio: float, elasticity: float) -> float:
    """Demand over the old one; an elasticity of 1.5 means 1.5% more for each percent less."""
    return float(check_positive("the price", price_ratio) ** -check_positive("elasticity", elasticity, zero=True))


def energy(gain: float, elasticity: float, share: float, pass_through: float = 1.0, cost_change: float = 1.0) -> float:
    """All energy over what it was."""
    return demand(price(gain, share, pass_through, cost_change), elasticity) / gain


def threshold(gain: float, share: float, pass_through: float = 1.0, cost_change: float = 1.0) -> float:
    """The elasticity from which more energy is used than before the gain; infinite where the price does not fall."""
    ratio = price(gain, share, pass_through, cost_change)
    if gain <= 1:
        raise BadValue(f"the gain is {gain!r}; give one above 1: energy per unit has to fall", "gain")
    return math.log(gain) / -math.log(ratio) if ratio < 1 else math.inf


def marginal_threshold(gain: float, share: float, pass_through: float = 1.0, cost_change: float = 1.0) -> float:
    """The elasticity from which a little *more* gain raises energy: another question, with a larger answer: p·g / (s · pass-through)."""
    ratio = price(gain, share, pass_through, cost_change)
    return ratio * gain / (share * pass_through) if share and pass_through else math.inf


def elasticity_for(services: float, gain: float, share: float = 1.0) -> float:
    """The elasticity that would explain all growth of services by a gain; an upper bound, since incomes and products change, too."""
    ratio = price(gain, share)
    return math.log(check_positive("the growth of services", services)) / -math.log(ratio) if ratio < 1 else math.inf
