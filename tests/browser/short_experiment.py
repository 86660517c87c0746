"""An experiment of the labs as `python -m ironlaw.measure.experiments` runs it, from less work: a walk through a lab asks whether its
figures arrive, and tests/measure whether they are right. The rows are the same, since a lab looks for its own."""

import sys

from ironlaw.measure.experiments import batches, checkpointing, collectives_trial, compression, scaling_trial, workers
from ironlaw.measure.experiments.run_experiment import main

FEWER = {
    batches: {"SECONDS": 0.1},
    checkpointing: {"STATE": 1 << 20, "KILLS": 2, "TRIALS": 2},
    collectives_trial: {"ROUNDS": 1},
    compression: {"SIDE": 256},
    scaling_trial: {"ROUNDS": 1},
    workers: {"ITEMS": 4},
}

if __name__ == "__main__":
    for module, sizes in FEWER.items():
        for name, size in sizes.items():
            setattr(module, name, size)
    sys.exit(main())
