"""Published floods with their engine's own time, beside the simulation: open runs, and with --sealed those that nothing was fitted to.

PYTHONPATH=src python3 benchmarks/serving_engines.py [--sealed]

The "H100" of the 14B and the 32B is taken as the card that it reads and computes like (docs/serving.md).
"""

import sys
from collections.abc import Sequence
from statistics import median

from ironlaw.registry.publications import published
from ironlaw.systems.serving.serving_runs import LIKE_A_CARD, MEASURES, Replay, engine_replay, floods, offline


def lines(runs: Sequence[Replay]) -> None:
    for run in runs:
        each = ", ".join(f"{name} {error:+.0%}" for name in MEASURES if name in run.measured and (error := run.error(name)) is not None)
        print(f"{run.run}: {each}", flush=True)
    for name in ("ttft", "tpot", "rate"):
        errors = [abs(error) for run in runs if name in run.measured and (error := run.error(name)) is not None]
        if errors:
            print(f"{name}: median {median(errors):.1%}, worst {max(errors):.0%} of {len(errors)}")


def main() -> None:
    sealed = "--sealed" in sys.argv
    if not sealed:
        before = [row for row in published("serving_runs").rows if row["model"] in LIKE_A_CARD]
        print("the floods of serving_runs")
        lines([engine_replay(row) for row in before])
        print("TensorRT-LLM's offline runs in FP8")
        lines(offline())
    print("runs that were sealed" if sealed else "open runs")
    lines(floods(sealed))


if __name__ == "__main__":
    main()
