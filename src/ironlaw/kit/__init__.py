"""The building blocks of every lab: one file per piece, and `open`, which assembles them for one lab and one learner.

>>> lab = kit.open("lab_01_magnitude")
>>> lab.choice("act1")          # what an act asks of it; the runner puts the acts' parts on the page
"""

from typing import TYPE_CHECKING, Any

from ironlaw.kit.banner import banner
from ironlaw.kit.cards import card, cite, share, tone
from ironlaw.kit.claim_panel import LocalFigure, measured
from ironlaw.kit.decide import Verdict
from ironlaw.kit.formula import iron_law, ratio, term
from ironlaw.kit.hint import Advice
from ironlaw.kit.instrument import View
from ironlaw.kit.measured_run import Measured
from ironlaw.kit.message import SEALED
from ironlaw.kit.prose import Markup, amount, amounts, capacity, dress, html, inline, times
from ironlaw.kit.reveal import Distance, off, points
from ironlaw.kit.sealed import Estimate, Sketch
from ironlaw.widget.dials import chain, choice, pins, select, span, switch

if TYPE_CHECKING:
    from ironlaw.kit.lab import Lab, open

__all__ = [
    "SEALED", "Advice", "Distance", "Estimate", "Lab", "LocalFigure", "Markup", "Measured", "Sketch", "Verdict", "View",
    "amount", "amounts", "banner", "capacity", "card", "chain", "choice",
    "cite", "dress", "html", "inline", "iron_law", "measured", "off", "open", "pins", "points",
    "ratio", "select", "share", "span", "switch", "term", "times", "tone",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """`Lab` and `open` bring the ledger, which takes time to import: no need for that to use a card or a formula."""
    if name in ("Lab", "open"):
        from ironlaw.kit import lab

        return getattr(lab, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
