"""What every lab is made of: one file per piece, and `open`, which puts them together for one lab and one learner.

lab = kit.open("lab_01_magnitude")
lab.lock("act1")            # a cell of the lab shows what a method returns
"""

from ironlaw.kit.banner import banner
from ironlaw.kit.cards import card, cite, share, tone
from ironlaw.kit.claims import Here
from ironlaw.kit.formula import iron_law, ratio, term
from ironlaw.kit.here import Measured
from ironlaw.kit.instrument import View
from ironlaw.kit.lab import Lab, open
from ironlaw.kit.message import SEALED
from ironlaw.kit.prose import amount, capacity, dress, html, inline, times
from ironlaw.kit.reveal import Distance, off, points
from ironlaw.widget.dials import chain, choice, pins, select, span, switch

__all__ = [
    "SEALED", "Distance", "Here", "Lab", "Measured", "View", "amount", "banner", "capacity", "card", "chain", "choice", "cite", "dress",
    "html", "inline", "iron_law", "off", "open", "pins", "points", "ratio", "select", "share", "span", "switch", "term", "times", "tone",
]  # fmt: skip
