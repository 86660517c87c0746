"""Fit a step and a rate to all-reduces of many sizes that others timed: python scripts/fit_wires.py ALL_REDUCE.csv

ALL_REDUCE.csv: box, gpus, gpus_per_node, bytes, median_ms, as made from microsoft/vidur@7d47513 (MIT). It prints the rows of
registry/published/vidur_fits.toml; the source's rows stay where they are. Every size counts alike: the relative error is made small.
"""

import sys
from pathlib import Path

from fit_boxes import BOXES, all_reduce_rows

from ironlaw.engine.cluster.alpha_beta import Timed, fit, mean_error
from ironlaw.engine.cluster.collectives import time

SETTINGS = (("h100_dgx", 8), ("a100_pairwise_nvlink", 4))

if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    timed = list(all_reduce_rows(Path(sys.argv[1])))
    print("box,ranks,alpha,beta,error,sizes")
    for name, ranks in SETTINGS:
        ring = time("all_reduce", "ring", ranks, 1.0, 1.0, 1.0)
        rows = [Timed(ring.latency, ring.bandwidth * row.size, row.seconds) for row in timed if (row.group, row.ranks) == (name, ranks)]
        wire = fit(rows)
        print(f"{BOXES[name]},{ranks},{1e6 * wire.alpha:.6g},{wire.beta / 1e9:.6g},{100 * mean_error(wire, rows):.4g},{len(rows)}")
