"""What a lab can measure on the learner's machine: which experiments there are, whether they can run here, and how long they take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ironlaw.errors import unknown
from ironlaw.measure.devices import choice
from ironlaw.measure.experiments import (
    batches,
    checkpointing,
    collectives_trial,
    compression,
    dp_sgd,
    energy_trial,
    fan_out,
    kv_decode,
    line_trial,
    omission,
    resample,
    scaling_trial,
    staircase_trial,
    tails_trial,
    train_here,
    trials,
    workers,
)
from ironlaw.measure.software_host import compiler, in_browser

TORCH_S = 4.0  # what importing PyTorch takes, roughly
COMPILE_S = 10.0  # what torch.compile takes on a processor, roughly, for one function
BROWSER = (
    "A browser can't measure. Install ironlaw (pip install ironlaw), start it with `ironlaw labs`, import this site's export there and"
    " measure; the export of that one brings the figures back here."
)
MACHINE, MACHINE_S = "this_machine", 60.0  # the whole characterisation, as `ironlaw measure` does it


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
    item.name: item
    for item in (
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
            f"Calls {trials.OPS:,} ops on a few numbers each, queued back to back and waited for one by one. What is left is the call.", 6,
        ),
        Experiment(
            "stages", "Four stages, one of them faster",
            "Decompresses an image, resizes it, runs a model on it and picks the five best guesses. Then it does so again with faster "
            "models.", 3, "numpy",
        ),
        Experiment(
            "workers", "One job, more and more workers",
            f"Splits {workers.ITEMS} images over 1, 2, … up to twice the cores, as threads and as processes.", 5, "numpy",
        ),
        Experiment(
            "resample", "Could it be chance?",
            f"Draws the people of the COMPAS table anew, {resample.DRAWS:,} times, and counts every rate and gap in each.", 1, "numpy",
        ),
        Experiment(
            "train_here", "A score of your own",
            f"Trains a score on {train_here.SIZES[0]:,} to {train_here.SIZES[-1]:,} made-up people, and says how sure its precision is.",
            2, "numpy",
        ),
        Experiment(
            "omission", "Two testers, one stall",
            f"Asks a real server {omission.COUNT} times, waiting for each answer, then as often on schedule. "
            "The server stops once in each run.",
            5, "numpy",
        ),
        Experiment(
            "fan_out", "This machine's own tail",
            f"Times {fan_out.CALLS:,} equal products, groups them into pages of up to {fan_out.JOINED[-1]}, and runs some side by side.",
            3, "numpy",
        ),
        Experiment(
            "ledger", "What a training step keeps",
            "Counts what training holds in this process. With PyTorch that is what autograd saves and what optimisers remember, and with "
            "NumPy every buffer in a step of a small net.", 3,
        ),
        Experiment(
            "line", "A real waiting line",
            f"Serves {sum(line_trial.LOADS.values())} requests that come at moments fixed in advance. Each takes "
            f"{1e3 * line_trial.SERVICE_S:.0f} ms to serve, and there is one run at each of {len(line_trial.LOADS)} loads.", 4.5, "numpy",
        ),
        Experiment(
            "batches", "A real server that batches",
            f"Multiplies 1 to {batches.MOST} requests by a {batches.WIDTH:,} × {batches.WIDTH:,} matrix, first one by one, "
            "then everyone who waits at once.",
            6, "numpy",
        ),
        Experiment(
            "collectives", "A real all-reduce",
            "Adds up buffers of 2, 4 and 8 processes over TCP with four algorithms, first at full speed and then with each process's "
            f"wire held to {collectives_trial.RATE / 1e6:.0f} MB/s.", 16, "numpy",
        ),
        Experiment(
            "scaling", "The same batch on two processes",
            f"Trains a net of {scaling_trial.LAYERS} matrices on one process, then on two that add up their gradients over TCP, with "
            f"{scaling_trial.BATCHES[0]} to {scaling_trial.BATCHES[-1]:,} examples per step.", 8, "numpy",
        ),
        Experiment(
            "staircase", "Your own staircase",
            f"Copies up to {staircase_trial.STEPS[staircase_trial.MEMORY][1] >> 20} MiB in the cache and in memory, "
            f"to another process through shared "
            "memory, a pipe and TCP, and to the disk.", 5, "numpy",
        ),
        Experiment(
            "kv_decode", "A decoder with its cache and without",
            f"Generates {kv_decode.LENGTHS[0]} to {kv_decode.LENGTHS[-1]} tokens with a tiny language model, once from its cache and once "
            "all anew, and counts what each way computes and moves.", 6, "numpy",
        ),
        Experiment(
            "checkpointing", "A job that is killed and starts again",
            f"Kills a job with {checkpointing.STATE >> 20} MiB of state {checkpointing.KILLS} times at each of "
            f"{len(checkpointing.FACTORS)} intervals between synced saves, starts it again each time, and counts the useful work.",
            25, "numpy",
        ),
        Experiment(
            "tails", "Five calls in a row",
            f"Times {tails_trial.CALLS:,} equal products alone, then beside {tails_trial.NEIGHBOURS} busy neighbours, "
            f"and adds up every five in a row "
            "and every five drawn at random.", 3, "numpy",
        ),
        Experiment(
            "dp_sgd", "Training with noise",
            f"Trains a classifier on 1,000 digits and on 20,000 made-up ones, {dp_sgd.STEPS} steps each, without noise and with "
            "it, and says what privacy each run proves.", 5, "numpy",
        ),
        Experiment(
            "energy", "Joules of this machine",
            f"Sends {energy_trial.BATCHES[0]} row, then {energy_trial.BATCHES[-1]} rows at once, "
            f"through a {energy_trial.WIDTH:,} × {energy_trial.WIDTH:,} matrix, "
            "and reads the processor's energy counters before and after, where it has any.", 5, "numpy",
        ),
        Experiment(
            "pgd", "The digit classifier under attack",
            "Moves the pixels of 797 digits against the classifier, in one step and in twenty, "
            "and compares the time of a step with that of a pass.", 4, "numpy",
        ),
        Experiment(
            "bits", "The digit classifier in fewer bits",
            f"Stores the classifier's weights in {compression.BITS[0]} to {compression.BITS[-1]} bits with three kinds of scale, and "
            "runs it on all test images each time.", 2, "numpy",
        ),
        Experiment(
            "formats", "One matrix, many formats",
            f"Multiplies a matrix of {compression.SIDE:,} × {compression.SIDE:,} stored as FP64 to INT8, with zeros, in compressed rows, "
            "narrower, and as two thin factors.", 5, "numpy",
        ),
    )
}  # fmt: skip


def experiment(name: str) -> Experiment:
    if name not in EXPERIMENTS:
        raise unknown("experiment", name, EXPERIMENTS, "measure/experiments/trials.py")
    return EXPERIMENTS[name]


def why_not(name: str) -> str:
    """Why an experiment can't run here, and what to do; empty where it can. Nothing is imported to find out."""
    if in_browser():
        return BROWSER
    needs, there = "" if name == MACHINE else experiment(name).needs, choice.installed()
    if needs == "torch" and there != "torch":
        return "This needs PyTorch, which is not installed here. Install it with: pip install torch"
    if needs == "numpy" and not choice.available("numpy"):
        return f"This needs NumPy, which is not installed here; {choice.INSTALL}"
    return "" if there else f"This needs NumPy or PyTorch, and neither is installed here; {choice.INSTALL}"


def takes(name: str) -> float:
    """Seconds, roughly, with what is installed here."""
    about = experiment(name)
    if choice.installed() != "torch" or about.needs == "numpy":
        return about.seconds
    return about.seconds + TORCH_S + (COMPILE_S if about.fuses and compiler() else 0.0)
