"""The building blocks of every lab: one file per piece, and `open`, which assembles them for one lab and one learner.

>>> lab = kit.open("lab_01_magnitude")
>>> lab.choice("act1")          # what an act asks of it; the runner puts the acts' parts on the page
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ironlaw.kit.banner import banner

if TYPE_CHECKING:
    from ironlaw.kit.cards import card, cite, share, simulated_card, text_card, tone
    from ironlaw.kit.claim_panel import LocalFigure, measured
    from ironlaw.kit.decide import Verdict
    from ironlaw.kit.formula import iron_law, ratio, term
    from ironlaw.kit.goal import Goal
    from ironlaw.kit.instrument import View
    from ironlaw.kit.lab import Lab, open
    from ironlaw.kit.measured_run import Measured
    from ironlaw.kit.message import SEALED
    from ironlaw.kit.offer import Offer
    from ironlaw.kit.prose import Markup, amount, amounts, capacity, dress, html, inline, percent, simulated, times
    from ironlaw.kit.reveal import Distance, off, points
    from ironlaw.kit.run_caption import caption
    from ironlaw.kit.sealed import Estimate, Sketch
    from ironlaw.widget.dials import chain, choice, pins, select, span, switch

__all__ = [
    "SEALED", "Distance", "Estimate", "Goal", "Lab", "LocalFigure", "Markup", "Measured", "Offer", "Sketch", "Verdict", "View",
    "amount", "amounts", "banner", "capacity", "caption", "card", "chain", "choice",
    "cite", "dress", "html", "inline", "iron_law", "measured", "off", "open", "percent", "pins", "points",
    "ratio", "select", "share", "simulated", "simulated_card", "span", "switch", "term", "text_card", "times", "tone",
]  # fmt: skip
HOMES = {
    "kit.cards": ("card", "cite", "share", "simulated_card", "text_card", "tone"),
    "kit.claim_panel": ("LocalFigure", "measured"),
    "kit.decide": ("Verdict",),
    "kit.formula": ("iron_law", "ratio", "term"),
    "kit.goal": ("Goal",),
    "kit.instrument": ("View",),
    "kit.lab": ("Lab", "open"),
    "kit.measured_run": ("Measured",),
    "kit.message": ("SEALED",),
    "kit.offer": ("Offer",),
    "kit.prose": ("Markup", "amount", "amounts", "capacity", "dress", "html", "inline", "percent", "simulated", "times"),
    "kit.reveal": ("Distance", "off", "points"),
    "kit.run_caption": ("caption",),
    "kit.sealed": ("Estimate", "Sketch"),
    "widget.dials": ("chain", "choice", "pins", "select", "span", "switch"),
}  # what each module gives this one, on first use: a page that shows little brings little

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        for home, names in HOMES.items():
            if name in names:
                globals()[name] = value = getattr(import_module(f"ironlaw.{home}"), name)
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
