"""Fit how sure the gain of a change is to measured gains, with the curves that are stored: python scripts/fit_gains.py

Open evidence, and models that were drawn by seed and opened since; sealed ones and those held out have no part in it. Under a minute;
needs nothing but ironlaw. It prints κ for each change: those of `engine.advice.gain.FITTED` have to be the same, and a test holds them
to what is stored.
"""

import sys
from pathlib import Path

from ironlaw.systems.accuracy.gain_outcomes import by_change, left_out, outcomes, scale, write
from ironlaw.systems.accuracy.measured_gains import APART, TURNS, measured_gains

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
from gains import OPENED, gains_of
from sealed import MACHINE

if __name__ == "__main__":
    seen, unseen = ((one for group in groups for one in group) for groups in (measured_gains(MACHINE, (TURNS, APART)), gains_of(OPENED)))
    found = [*outcomes(seen), *outcomes(unseen, unseen=True)]
    write(MACHINE, found)
    print(f"{'change':14}{'gains':>6}{'κ':>7}{'inside, left out':>18}")
    for change, mine in by_change(found).items():
        inside, count = left_out(mine)
        print(f"{change:14}{len(mine):6}{scale(mine):7.2f}{inside:10} of {count:4}")
