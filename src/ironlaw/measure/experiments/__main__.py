"""python -m ironlaw.measure.experiments"""

import os
import sys

from ironlaw.measure.experiments.run_experiment import main

try:
    sys.exit(main())
except BrokenPipeError:  # the reader is gone
    os._exit(1)
