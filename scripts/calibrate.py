"""Fit a measured machine's curves to its evidence again and store them: python scripts/calibrate.py [SLUG …]"""

import sys

from ironlaw.registry.calibrations import calibration
from ironlaw.registry.evidence import measured
from ironlaw.registry.refit import write

if __name__ == "__main__":
    for slug in sys.argv[1:] or [name for name in measured() if calibration(name)]:
        print(write(slug).name)
