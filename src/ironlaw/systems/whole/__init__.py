"""A whole system: a model trained, kept trained and served, each part by the law of its own lab. Nothing here but composition."""

from ironlaw.systems.whole.design import Design, Faster, Hall, halls
from ironlaw.systems.whole.report import Report, evaluate
from ironlaw.systems.whole.whole_limits import LIMITS, broken, margins

__all__ = ["LIMITS", "Design", "Faster", "Hall", "Report", "broken", "evaluate", "halls", "margins"]
