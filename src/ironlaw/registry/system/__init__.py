"""A whole system: a model trained, kept trained and served, each part by the law of its own lab. Nothing here but composition."""

from ironlaw.registry.system.design import Design, Faster, Hall, halls
from ironlaw.registry.system.limits import LIMITS, broken, margins
from ironlaw.registry.system.report import Report, evaluate

__all__ = ["LIMITS", "Design", "Faster", "Hall", "Report", "broken", "evaluate", "halls", "margins"]
