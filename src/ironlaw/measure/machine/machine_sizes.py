"""How much of a machine is measured, and how long each figure may take."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf


@dataclass(frozen=True)
class Sizes:
    """Times in seconds."""

    name: str
    each: float  # a figure
    longest: float  # one call, at the most
    streams: int  # points of the bandwidth curve between two powers of two: 1 or 2
    ops: bool = True  # single ops, for the fit
    compiled: float = 0.0  # the most to wait for a compiler; 0: leave it out
    tiny: float = 0.0  # a launch cost
    patience: float = 45.0  # after which a disturbed part is not measured again
    whole: float = 0.0  # until all is over, curves fitted; what is left goes to cases that tell most about models; 0: no end, none do
    until: float = inf  # the moment of the device's clock when a part is over, with what it has by then

    @property
    def launch(self) -> float:
        return self.tiny or self.each


SHORT = Sizes("short", each=0.02, longest=0.1, streams=1, ops=False, patience=8.0, whole=18.0)
QUICK = Sizes("quick", each=0.04, longest=0.15, streams=2, compiled=40.0, tiny=0.05)
MINUTE = replace(QUICK, whole=60.0, patience=15.0)
