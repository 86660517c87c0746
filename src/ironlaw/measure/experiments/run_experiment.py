"""One run of an experiment, in a process of its own.

    python -m ironlaw.measure.experiments tiny_ops

prints JSON lines: {"share": 0.4, "doing": "…"} while it runs, then {"result": {…}} or {"error": "…"}. A lab runs it as a process of
its own, so that the page stays quick and cancelling is ending the process. Nothing is stored here: the lab keeps the result.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any

from ironlaw.errors import IronlawError
from ironlaw.measure.clock import Clock
from ironlaw.measure.devices import choice
from ironlaw.measure.devices.device import Device
from ironlaw.measure.evidence_file import today
from ironlaw.measure.experiments.bench import Bench
from ironlaw.measure.experiments.experiment_list import EXPERIMENTS, MACHINE, experiment
from ironlaw.measure.experiments.trials import TRIALS
from ironlaw.measure.machine import characterise, keep
from ironlaw.measure.machine.machine_sizes import QUICK
from ironlaw.measure.noise import Noisy, Watch
from ironlaw.measure.progress_lines import Progress, Stop, quiet, within
from ironlaw.measure.software_host import software

STARTING = 0.05  # share of the run that importing the library counts for
METHOD = (
    "time.perf_counter in a process of its own; warmed up, short calls batched so that a sample far outlasts the clock's step, the device "
    "waited for at both ends of a sample; the median, and the tenth and ninetieth percentile; the same small reference work visited "
    "between the cases"
)


def run(
    name: str, progress: Progress = quiet, stop: Stop | None = None, *, library: str = "", seconds: float = 0.25,
    device: Device | None = None, clock: Clock | None = None, watch: Watch | None = None,
) -> dict[str, Any]:  # fmt: skip
    """One run: rows of evidence, and what they were measured on and with. Cancelled where `stop` says so between two samples."""
    needs = experiment(name).needs
    progress(0.0, f"starting {'PyTorch' if (library or needs or choice.installed()) == 'torch' else 'NumPy'}")
    device = device or choice.choose(library=library or needs)
    watch = watch or Watch()  # not before: importing is not part of the measurement
    bench = Bench(device, within(progress, STARTING, 1.0), stop, seconds, clock, watch)
    rows = list(TRIALS[name](bench))
    method = METHOD + (f"; {device.threads()} threads" if device.kind.on_host else "")
    return {
        "experiment": name, "library": device.label(), "rows": rows, "machine": device.machine(), "software": software(),
        "date": today(), "method": method, "noise": watch.verdict().as_json(),
    }  # fmt: skip


def this_machine(progress: Progress = quiet, force: bool = False) -> dict[str, Any]:
    """The whole machine, as `ironlaw measure` does it: characterised and stored. Noisy where it was too busy; then nothing is stored
    without `force`, and what is stored says so."""
    progress(0.0, "starting")
    device = choice.choose()
    measured = characterise.characterise(device, QUICK, within(progress, STARTING, 0.97))
    progress(0.97, "fitting curves")
    keep.keep(measured, keep.read_figures(measured, device), device, force)
    return {"machine": measured.machine, "rows": len(measured.rows)}


# the page has buttons for both; the command line's own message names an option instead
IN_PAGE = "Close what else is running and measure again, or take the figures as they are: the labs then say that they are noisy."


def say(**message: Any) -> None:
    print(json.dumps(message, allow_nan=False), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ironlaw.measure.experiments", description=__doc__.partition("\n")[0])
    parser.add_argument("name", choices=[*sorted(EXPERIMENTS), MACHINE])
    parser.add_argument("--with", dest="library", choices=("torch", "numpy"), default="", help="the library to use")
    parser.add_argument("--seconds", type=float, default=0.25, help="how long each case is sampled")
    parser.add_argument("--force", action="store_true", help="keep the machine's figures though it was busy; they are marked")
    args = parser.parse_args(arguments)

    def shown(share: float, doing: str) -> None:
        say(share=round(share, 4), doing=doing)

    try:
        result = (
            this_machine(shown, args.force) if args.name == MACHINE else run(args.name, shown, library=args.library, seconds=args.seconds)
        )
    except IronlawError as error:
        noisy = isinstance(error, Noisy)
        say(error=f"{str(error).partition('. Close')[0]}. {IN_PAGE}" if noisy else str(error), noisy=noisy)
        return 2
    except MemoryError:
        say(error="There was not enough memory for it; close other programs, then measure again.")
        return 2
    say(result=result)
    return 0
