"""Fit how sure predictions are to models that were measured unseen, with the curves that are stored: python scripts/fit_intervals.py

To be run after every change of a rule, a curve or a capture. Under a minute; needs nothing but ironlaw. It prints what leaving models out
says of the new intervals.
"""

import sys
from math import exp
from pathlib import Path
from statistics import median

from ironlaw.calibration.scatter import by_mode, leave_one_out
from ironlaw.engine.device.intervals import HOST
from ironlaw.engine.device.uncertainty import FOUR_IN_FIVE
from ironlaw.registry.calibrations import calibration
from ironlaw.registry.evidence import measured
from ironlaw.systems.accuracy.held_out import write_unseen
from ironlaw.systems.accuracy.refit import rejudge, write_calibration

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
from opened_runs import opened_runs
from sealed import MACHINE


def lines(fitted, unseen):
    """By mode: how many runs lie inside what the other models say, and how far an interval reaches to each side, in the median."""
    yield f"{'mode':12}{'bias':>8}{'scale':>8}{'inside, left out':>18}{'reach':>9}"
    for mode, mine in by_mode(o for o in unseen if o.mode != HOST).items():
        by = fitted.scatter.get(mode)
        if by is None:
            continue
        inside, runs = leave_one_out(mine, fitted.common)
        reach = median(FOUR_IN_FIVE * by.widen(o.sd(fitted.common)) for o in mine if not o.first)
        yield f"{mode:12}{by.bias:+8.3f}{by.scale:8.2f}{inside:12} of {runs:3}{exp(reach):8.2f}x"


if __name__ == "__main__":
    for slug in (name for name in measured() if calibration(name)):
        fitted, unseen = rejudge(slug, opened_runs() if slug == MACHINE else ())
        if unseen:
            write_unseen(slug, unseen)
        print(write_calibration(slug, fitted).name, *(lines(fitted, unseen) if unseen else ()), sep="\n")
