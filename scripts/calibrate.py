"""Fit a measured machine's curves to its evidence again and store them: python scripts/calibrate.py [SLUG …]

How far whole models are off is fitted over models that were measured unseen (benchmarks/opened_runs.py), and over the open set
(benchmarks/open_set.py), for which PyTorch and transformers must be installed: some of its models are captured. A few minutes.
"""

import sys
from pathlib import Path

from ironlaw.registry.calibrations import calibration
from ironlaw.registry.evidence import measured
from ironlaw.systems.accuracy.refit import write

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))
from open_set import MACHINE, open_models
from opened_runs import opened_runs

if __name__ == "__main__":
    for slug in sys.argv[1:] or [name for name in measured() if calibration(name)]:
        print(write(slug, open_models(slug), opened_runs() if slug == MACHINE else ()).name)
