"""Published training runs beside their predictions: open runs, which the stacks' figures were fitted to; with --sealed the others; with
--kinds those with experts, in NVFP4 and on AMD, which nothing was fitted to.

PYTHONPATH=src python3 benchmarks/training_runs.py [--sealed | --kinds] [--totals]
"""

import sys
from collections.abc import Sequence
from statistics import fmean, median

from ironlaw.systems.training.training_runs import Trained, kinds, replayed, rows


def totals(name: str, runs: Sequence[Trained]) -> None:
    errors = [abs(run.error) for run in runs]
    near, inside = (sum(found) for found in ((error <= 0.12 for error in errors), (run.inside for run in runs)))
    bias = fmean(run.error for run in runs)
    print(
        f"{name}: {len(runs)} runs, mean {fmean(errors):.1%}, median {median(errors):.1%}, worst {max(errors):.0%}, bias {bias:+.1%},"
        f" {near} within 12%, {inside} inside the interval"
    )


def main() -> None:
    runs = kinds() if "--kinds" in sys.argv else replayed(rows("--sealed" in sys.argv))
    if "--totals" not in sys.argv:
        for run in runs:
            print(f"{run.run}: published {run.measured:.3f} s, predicted {run.predicted:.3f} s, {run.error:+.0%}")
    for stack in sorted({run.stack for run in runs}):
        totals(stack, [run for run in runs if run.stack == stack])
    totals("all", runs)


if __name__ == "__main__":
    main()
