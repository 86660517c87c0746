"""What a lab can measure on the learner's machine: which experiments there are, whether they can run here, and one run of one.

    python -m ironlaw.measure.experiments tiny_ops

prints JSON lines: {"share": 0.4, "doing": "…"} while it runs, then {"result": {…}} or {"error": "…"}. A lab runs it as a process of
its own, so that the page stays quick and cancelling is ending the process. Nothing is stored here: the lab keeps the result.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ironlaw.errors import IronlawError, unknown
from ironlaw.measure.clock import Clock
from ironlaw.measure.devices import library as libraries
from ironlaw.measure.devices.library import Library
from ironlaw.measure.evidence_file import today
from ironlaw.measure.experiments import trials
from ironlaw.measure.experiments.trials import TRIALS, Bench
from ironlaw.measure.host import compiler, machine, software
from ironlaw.measure.noise import Noisy, Watch
from ironlaw.measure.progress import Progress, Stop, quiet, within

STARTING = 0.05  # share of the run that importing the library counts for
TORCH_S = 4.0  # what importing PyTorch takes, roughly
COMPILE_S = 10.0  # what torch.compile takes on a processor, roughly, for one function
MACHINE, MACHINE_S = "this_machine", 60.0  # the whole characterisation, as `ironlaw measure` does it
METHOD = (
    "time.perf_counter in a process of its own; warmed up, short calls batched so that a sample far outlasts the clock's step, the device "
    "waited for at both ends of a sample; the median, and the tenth and ninetieth percentile; the same small reference work visited "
    "between the cases"
)


@dataclass(frozen=True, slots=True)
class Experiment:
    """`seconds`: what it takes, roughly, once the library is there."""

    name: str
    title: str
    runs: str  # what it does, in a sentence
    seconds: float
    needs: str = ""  # a library that it can't do without
    fuses: bool = False  # compiles as well, where there is a compiler


def _shapes(shapes: Sequence[tuple[int, int]]) -> str:
    return f"{shapes[0][0]:,} × {shapes[0][1]:,} to {shapes[-1][0]:,} × {shapes[-1][1]:,}"


EXPERIMENTS = {
    found.name: found
    for found in (
        Experiment(
            "three_op_chain", "LayerNorm, dropout, ReLU",
            f"Runs the three ops one after the other, then in one pass over memory, on tensors from {_shapes(trials.SHAPES)}.",
            5, fuses=True,
        ),
        Experiment(
            "gemm_sweep", "Matrix products, small to large",
            f"Multiplies square matrices from N = {trials.SIZES[0]:,} upwards, doubling N until a product takes too long.", 4,
        ),
        Experiment(
            "pointwise_chain", "A chain of pointwise ops",
            f"Runs chains of {trials.LENGTHS[0]} to {trials.LENGTHS[-1]} pointwise ops on {trials.WIDE[0]:,} × {trials.WIDE[1]:,} numbers, "
            "op by op and in one pass.", 9, fuses=True,
        ),
        Experiment(
            "ds_cnn", "The keyword spotter",
            f"Runs the DS-CNN of the registry, eager, at batch {', '.join(map(str, trials.BATCHES[:-1]))} and {trials.BATCHES[-1]}.",
            2, "torch",
        ),
        Experiment(
            "tiny_ops", "A thousand tiny ops",
            f"Calls {trials.OPS:,} ops on a few numbers each, queued back to back and waited for one by one: what is left is the call.", 6,
        ),
    )
}  # fmt: skip


def experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS, "measure/experiments/trials.py")
    return EXPERIMENTS[name]


def why_not(name: str) -> str:
    """Why an experiment can't run here, and what to do; empty where it can. Nothing is imported to find out."""
    needs, there = "" if name == MACHINE else experiment(name).needs, libraries.installed()
    if needs == "torch" and there != "torch":
        return "This needs PyTorch, which is not installed here. Install it with: pip install torch"
    return "" if there else f"This needs NumPy or PyTorch, and neither is installed here; {libraries.INSTALL}"


def takes(name: str) -> float:
    """Seconds, roughly, with what is installed here."""
    about = experiment(name)
    if libraries.installed() != "torch":
        return about.seconds
    return about.seconds + TORCH_S + (COMPILE_S if about.fuses and compiler() else 0.0)


def run(
    name: str, progress: Progress = quiet, stop: Stop | None = None, *, wanted: str = "", seconds: float = 0.25,
    given: Library | None = None, clock: Clock | None = None, watch: Watch | None = None,
) -> dict[str, Any]:  # fmt: skip
    """One run: rows of evidence, and what they were measured on and with. Cancelled where `stop` says so between two samples."""
    needs = experiment(name).needs
    progress(0.0, f"starting {'PyTorch' if (wanted or needs or libraries.installed()) == 'torch' else 'NumPy'}")
    used = given or libraries.library(wanted or needs)
    watch = watch or Watch()  # not before: importing is no part of the measurement
    bench = Bench(used, within(progress, STARTING, 1.0), stop, seconds, clock, watch)
    rows = list(TRIALS[name](bench))
    method = METHOD + (f"; {used.threads} threads" if used.threads else "")
    return {
        "experiment": name, "library": used.name, "rows": rows, "machine": machine(used.backend), "software": software(),
        "date": today(), "method": method, "noise": watch.verdict().as_json(),
    }  # fmt: skip


def this_machine(progress: Progress = quiet) -> dict[str, Any]:
    """The whole machine, as `ironlaw measure` does it: characterised and stored. Noisy where it was too busy; nothing is stored then."""
    from ironlaw.measure.devices.device import QUICK, choose
    from ironlaw.measure.machine.characterise import characterise
    from ironlaw.measure.machine.keep import described, keep

    progress(0.0, "starting")
    backend = choose()
    found = characterise(backend, QUICK, within(progress, STARTING, 0.97))
    progress(0.97, "fitting curves")
    keep(found, described(found, backend.grain))
    return {"machine": found.machine, "rows": len(found.rows)}


def say(**told: Any) -> None:
    print(json.dumps(told, allow_nan=False), flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m ironlaw.measure.experiments", description=__doc__.partition("\n")[0])
    parser.add_argument("name", choices=[*sorted(EXPERIMENTS), MACHINE])
    parser.add_argument("--with", dest="wanted", choices=("torch", "numpy"), default="", help="the library to use")
    parser.add_argument("--seconds", type=float, default=0.25, help="how long each case is sampled")
    asked = parser.parse_args(arguments)

    def shown(share: float, doing: str) -> None:
        say(share=round(share, 4), doing=doing)

    try:
        found = this_machine(shown) if asked.name == MACHINE else run(asked.name, shown, wanted=asked.wanted, seconds=asked.seconds)
    except IronlawError as error:
        say(error=f"{error}: in a terminal, ironlaw measure --force" if isinstance(error, Noisy) else str(error))
        return 2
    except MemoryError:
        say(error="There was not enough memory for it; close other programs, then measure again.")
        return 2
    say(result=found)
    return 0
