"""An experiment of the labs as `python -m ironlaw.measure.experiments` runs it, from less work: a walk through a lab asks whether its
figures arrive, and tests/measure whether they are right."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from small_trials import SIZES

from ironlaw.measure.experiments import checkpointing, collectives, kv_decode, pgd, scaling
from ironlaw.measure.experiments.run import main

FEWER = {
    **SIZES,
    collectives: {"ROUNDS": 1},
    checkpointing: {"STATE": 1 << 20, "KILLS": 2, "TRIALS": 2},
    scaling: {"ROUNDS": 1, "BATCHES": (64, 256)},
    kv_decode: {"CONTEXTS": (32, 128), "LENGTHS": (16, 32)},
    pgd: {"EPSILONS": (0.0, 0.1)},
}

if __name__ == "__main__":
    for module, sizes in FEWER.items():
        for name, size in sizes.items():
            setattr(module, name, size)
    sys.exit(main())
