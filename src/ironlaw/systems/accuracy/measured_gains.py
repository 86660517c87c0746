"""What changing a program brought on machines that were measured, beside what was predicted: eager to compiled to graphs, FP32 to TF32 to
FP16, channels last, a larger batch. Two runs of a model that differ in one thing are a pair."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from statistics import mean

from ironlaw.backends.rows import Row
from ironlaw.calibration import stored_curves
from ironlaw.engine.advice.gain import Gain, gain, log_sd
from ironlaw.engine.advice.programs import channels_last
from ironlaw.engine.device.host import Host
from ironlaw.engine.device.machine import MODES, NARROW, Hardware, Plan
from ironlaw.engine.device.predict import Prediction, predict
from ironlaw.engine.device.types import Graph
from ironlaw.registry.evidence import evidence
from ironlaw.registry.machines import hardware
from ironlaw.registry.workloads import about as about_model
from ironlaw.registry.workloads import workload

LAST = "channels_last"
BASE = "eager"
# how the runs of a model were timed: a host that drifts slows those alike that took turns. HELD: by turns, and nothing is fitted to them
TURNS, APART, HELD = TIMINGS = "by turns", "apart", "by turns, held out"
FIRST = "first action"
BARE = ("mlp", "ds_cnn", "unet", "resnet", "mobilenet")  # run as bare modules; the others have transformers' Python around each call


@dataclass(frozen=True)
class TimedRun:
    """One measured run of a model. `seconds`: of a call, queued; `busy`: of the device, None where nobody profiled it."""

    model: str  # with all that its runs have in common
    mode: str
    dtype: str
    batch: int
    variant: str
    graph: Graph
    seconds: float
    busy: float | None
    host: Host | None = None
    timing: str = APART

    def predict(self, machine: Hardware) -> Prediction:
        graph = (channels_last(self.graph) or self.graph) if self.variant == LAST else self.graph
        fp32 = NARROW if self.variant == NARROW else "default"
        return predict(graph, machine, Plan(mode=self.mode, fp32=fp32, host=self.host))


@dataclass(frozen=True)
class MeasuredGain:
    """A pair of runs: how many times as fast the second was, and should have been. `device`: the same of the device's time alone."""

    model: str  # with its batch and format
    change: str
    predicted: Gain
    measured: float
    device: tuple[float, float] | None  # predicted, measured
    sd: float  # of the logarithm, as operators and launches say

    @property
    def error(self) -> float:
        return self.predicted.ratio / self.measured - 1.0

    @property
    def inside(self) -> bool:
        assert self.predicted.interval is not None
        low, high = self.predicted.interval
        return low <= self.measured <= high

    @property
    def right(self) -> bool:
        """Whether it was faster where that was said, and slower where that was."""
        return (self.predicted.ratio > 1.0) == (self.measured > 1.0)


def change_of(one: TimedRun, two: TimedRun) -> tuple[str, float] | None:
    """The change from one run to another that differs in one thing, and how many times as much a call then does; else None."""
    if one.variant or one.mode != BASE or one.model != two.model:
        return None
    same = [one.mode == two.mode, one.dtype == two.dtype, one.batch == two.batch, not two.variant]
    if same.count(False) != 1 or (two.variant == LAST and channels_last(two.graph) is None):
        return None
    if not same[0]:
        return two.mode, 1.0
    if not same[1]:
        return (two.dtype, 1.0) if (one.dtype, two.dtype) == ("fp32", "fp16") else None
    if not same[2]:
        return ("batch", two.batch / one.batch) if two.batch > one.batch else None
    return ("layout" if two.variant == LAST else two.variant), 1.0


def pairs(runs: Iterable[TimedRun], machine: Hardware) -> Iterator[list[MeasuredGain]]:
    """For each run that something can be compared with, all of its changes."""
    models: dict[str, list[TimedRun]] = {}
    for run in runs:
        models.setdefault(run.model, []).append(run)
    for mine in models.values():
        predictions = {id(run): run.predict(machine) for run in mine}
        gains: dict[int, list[MeasuredGain]] = {}
        for one, two in permutations(mine, 2):
            if change := change_of(one, two):
                gains.setdefault(id(one), []).append(_pair(one, two, *change, predictions[id(one)], predictions[id(two)]))
        yield from gains.values()


def _pair(one: TimedRun, two: TimedRun, change: str, times: float, before: Prediction, after: Prediction) -> MeasuredGain:
    device = None
    if one.busy and two.busy:
        device = times * float(before.busy_s) / float(after.busy_s), times * one.busy / two.busy
    name = f"{one.model} batch {one.batch} {one.dtype}"
    ratio = times * one.seconds / two.seconds
    return MeasuredGain(name, change, gain(before, after, times, change), ratio, device, log_sd(before, after))


def top(gains: Sequence[MeasuredGain]) -> MeasuredGain | None:
    """The change that would be offered first: the one that gains most of those that surely gain something."""
    return max((one for one in gains if one.predicted.sure), key=lambda one: one.predicted.ratio, default=None)


def evidence_runs(slug: str, timings: Sequence[str] = TIMINGS) -> Iterator[TimedRun]:
    """The registry's models among a machine's evidence: those timed by turns, and those that were run one after another."""
    for file in evidence(slug):
        launching = file.machine.get("launching")
        host = stored_curves.host(launching) if launching else None
        turns = HELD if file.machine.get("held_out") else TURNS
        for row in file.rows:
            if row.kind in ("change", "model") and row.workload and not row.error and row.piped_s and row.mode in MODES and _plain(row):
                timing = turns if row.kind == "change" else APART
                if timing not in timings:
                    continue
                rest = {name: value for name, value in row.params.items() if name not in ("batch", "dtype")}
                about = ", ".join(f"{name} {value}" for name, value in rest.items() if name not in ("classes", "padding"))
                name = " ".join(filter(None, (row.workload, about, timing if timing != APART else "")))
                graph = workload(row.workload, **row.params)
                if about_model(row.workload)["family"] not in BARE:
                    graph = replace(graph, settings={**graph.settings, "captured": True})
                batch = int(row.params.get("batch", 1))
                yield TimedRun(name, row.mode, row.dtype, batch, row.variant, graph, row.piped_s, row.busy_s, host, timing)


def _plain(row: Row) -> bool:
    return "attention" not in row.params and (not row.variant or row.kind == "change")


def measured_gains(slug: str, timings: Sequence[str] = TIMINGS) -> list[list[MeasuredGain]]:
    """The gains in a machine's evidence, by the run that is changed, for runs that were timed that way."""
    return list(pairs(evidence_runs(slug, timings), hardware(slug)))


@dataclass(frozen=True, slots=True)
class GainSummary:
    """A set of gains in one line: errors of the ratio of wall times and of device times; how often interval and sign are right."""

    change: str
    count: int
    mean: float  # of |error|, as all of these
    worst: float
    bias: float
    device: float | None
    inside: int
    right: int
    offered: int  # that surely gain something, or surely lose
    right_offered: int


def summarise(change: str, gains: Sequence[MeasuredGain]) -> GainSummary:
    errors = [one.error for one in gains]
    device = [abs(one.device[0] / one.device[1] - 1.0) for one in gains if one.device]
    offered = [one for one in gains if one.predicted.sure or one.predicted.slower]
    return GainSummary(
        change, len(gains), mean(map(abs, errors)), max(errors, key=abs), mean(errors), mean(device) if device else None,
        sum(one.inside for one in gains), sum(one.right for one in gains), len(offered), sum(one.right for one in offered),
    )  # fmt: skip


def summaries(gains: Iterable[Sequence[MeasuredGain]]) -> list[GainSummary]:
    """A line for each change, and one for what would be offered first."""
    groups = list(gains)
    kinds: dict[str, list[MeasuredGain]] = {}
    for pair in (pair for group in groups for pair in group):
        kinds.setdefault(pair.change, []).append(pair)
    first = [one for group in groups if (one := top(group)) is not None]
    lines = [summarise(change, mine) for change, mine in sorted(kinds.items())]
    return [*lines, *([summarise(FIRST, first)] if first else [])]


def gain_summaries(machines: Iterable[str]) -> dict[tuple[str, str], list[GainSummary]]:
    """(machine, how its runs were timed) -> a line for each change."""
    sets = {(slug, timing): summaries(measured_gains(slug, (timing,))) for slug in machines for timing in (HELD, TURNS, APART)}
    return {key: lines for key, lines in sets.items() if lines}
