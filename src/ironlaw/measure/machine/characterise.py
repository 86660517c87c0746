"""This machine, measured part by part. A part that was disturbed is measured again; what stays disturbed is reported.

measured = characterise(choose(), QUICK, progress)         measured.rows, measured.notes, measured.noise
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import inf
from typing import Any

from ironlaw.backends.rows import Row
from ironlaw.measure.clock import timed
from ironlaw.measure.devices.device import Call, Device
from ironlaw.measure.machine import machine_sections
from ironlaw.measure.machine.machine_sizes import QUICK, Sizes
from ironlaw.measure.noise import Noise, Watch
from ironlaw.measure.progress_lines import Progress, Stop, quiet, within
from ironlaw.measure.rows import Draft, typed
from ironlaw.measure.software_host import software

WARM = 0.5  # seconds of the reference before anything is timed: clocks rise
VISIT = 0.02  # seconds of it each time it is looked at
LOOKS, SAME = 6, 0.05  # on a device that clocks down while it waits: so many looks, until one is as fast as the fastest before
PARTS: tuple[tuple[str, machine_sections.Section, float], ...] = (  # name, what is run, its share of the whole
    ("launches", machine_sections.launches, 0.15),
    ("products", machine_sections.products, 0.25),
    ("streams", machine_sections.streams, 0.20),
    ("ops", machine_sections.ops, 0.25),
    ("compiling", machine_sections.compiling, 0.15),
)
LEFT = 0.45  # share of the chosen cases that follow, and of compiling after them
BRIEF = 3.0  # where chosen cases follow on a device, each figure before them takes so many times less: samples agree better than sessions
FITTED = 0.15  # share of the time that is left for fitting curves: a first guess, until a fit is timed


@dataclass(frozen=True)
class Characterisation:
    """All that was measured, ready to be stored."""

    machine: dict[str, Any]
    software: dict[str, Any]
    method: str
    rows: list[Row]
    notes: list[str]
    noise: Noise
    repeated: list[str] = field(default_factory=list)  # parts that were measured twice
    stopped: bool = False  # by Ctrl-C, once enough was there to keep
    minute: machine_sections.Minute | None = None  # what the chosen cases are worth


def characterise(
    device: Device,
    sizes: Sizes = QUICK,
    progress: Progress = quiet,
    stop: Stop = lambda: False,
    watch: Callable[[], Watch] = Watch,
    rest: Callable[[float], machine_sections.Section] | None = None,
) -> Characterisation:
    """Measure everything that `sizes` asks for. `watch` makes the counter of what others take; a test hands in its own. `rest`: what the
    time is spent on that is left then, until a moment (`machine.minute`)."""
    drafts: list[Draft] = []
    work: list[tuple[Draft, Callable[[], Call]]] = []
    repeated, noises, stopped, began = [], [], False, device.clock.now()
    reference = device.reference()
    progress(0.0, "warming up")
    notes = device.clock_notes(busy(device, reference, stop))
    left_out = {name for name, wanted in (("ops", sizes.ops), ("compiling", sizes.compiled)) if not wanted}
    if rest is not None and device.times_kernels and device.chosen:  # whose chosen cases hold all that the single ops would say
        left_out.add("ops")
    if rest is not None:  # compiling comes after it, if there is time
        left_out.add("compiling")
        if device.queued:
            sizes = replace(sizes, each=sizes.each / BRIEF, tiny=sizes.launch / BRIEF)
    chosen = [part for part in PARTS if part[0] not in left_out]
    whole, done = sum(share for _, _, share in chosen) + (LEFT if rest else 0.0), 0.0
    worth: machine_sections.Minute | None = None
    left_out_parts: list[str] = []
    free = device.free_memory()  # before the suite takes its own
    with device.session():
        for name, section, share in chosen:
            shown, begun = within(progress, done / whole, (done + share) / whole), device.clock.now()
            until = began + (1.0 - FITTED) * sizes.whole * (done + share) / whole if sizes.whole else inf
            within_time = replace(sizes, until=until)
            part, noise = watched(section, device, within_time, shown, stop, reference, watch)
            now = device.clock.now()
            patient = now - began < sizes.patience and 2.0 * now - begun < until
            if noise.noisy and name != "compiling" and not part.stopped and patient:
                repeated.append(name)
                shown(0.0, f"{name} once more: {noise.reasons[0]}")
                again, second = watched(section, device, within_time, shown, stop, reference, watch)
                if _worse(noise) > _worse(second):
                    part, noise = again, second
            left_out_parts += part.left_out
            drafts += undisturbed(part.rows) if noise.noisy and name != "compiling" else part.rows
            notes += part.notes
            work += part.work
            if name != "compiling":  # its processor time is its own child's
                noises.append(noise)
            done += share
            stopped = part.stopped
            if stopped:
                break
        if device.times_kernels:
            until = began + (1.0 - FITTED) * sizes.whole if sizes.whole else inf
            notes += machine_sections.kernels(work, device, lambda _, doing: progress(min(done / whole, 0.99), doing), stop, until)
        if rest is not None and not stopped:
            part, noise = watched(rest(began + sizes.whole), device, sizes, within(progress, done / whole, 1.0), stop, reference, watch)
            drafts += undisturbed(part.rows) if noise.noisy else part.rows
            worth = part.minute
            noises += [noise] if part.rows else []
            last = compiled_last(part, device, replace(sizes, until=part.until), within(progress, 0.99, 1.0), stop)
            drafts, notes, left_out_parts, stopped = drafts + last.rows, notes + last.notes, left_out_parts + last.left_out, last.stopped
    progress(1.0, "done")
    if left_out_parts:
        notes.append(f"time was up before {', '.join(left_out_parts)}; another minute measures more (ironlaw measure --seconds 120)")
    if not sizes.compiled and not stopped:
        notes.append(f"compiling a function was left out ({sizes.name} measurement)")
    machine = device.machine() | {"library": device.library, "threads": device.threads()}
    if device.memory():
        machine["memory_bytes"] = device.memory()
    if 0 < free < float(machine.get("memory_bytes") or 0):
        machine["reserved_bytes"] = int(machine["memory_bytes"] - free)
    return Characterisation(machine, software(), method(device, sizes), typed(drafts), notes, worst(noises), repeated, stopped, worth)


def compiled_last(
    before: machine_sections.SectionResult, device: Device, sizes: Sizes, progress: Progress, stop: Stop
) -> machine_sections.SectionResult:
    """Compiling, unless the part before was interrupted. Nothing follows it, so an interrupt keeps what is there."""
    if before.stopped or not sizes.compiled:
        return machine_sections.SectionResult(stopped=before.stopped)
    try:
        return machine_sections.compiling(device, sizes, progress, stop)
    except KeyboardInterrupt:
        return machine_sections.SectionResult(stopped=True)


def undisturbed(rows: list[Draft]) -> list[Draft]:
    """The best samples of a part that others disturbed, marked: other programs only ever make a call longer."""
    for row in rows:
        row["noisy"] = True
        if "best_s" in row:
            row["wall_s"] = row["best_s"]
    return rows


def busy(device: Device, reference: Call, stop: Stop) -> Callable[[], None]:
    """Warm the machine up; what comes back keeps it at work for a moment, where a call returns before its work is done."""
    once = timed(reference, device.clock, seconds=WARM, stop=stop).median

    def queue() -> None:
        for _ in range(min(5000, int(1.0 / once)) if device.queued else 0):
            reference()

    return queue


def watched(
    section: machine_sections.Section,
    device: Device,
    sizes: Sizes,
    progress: Progress,
    stop: Stop,
    reference: Any,
    watch: Callable[[], Watch],
) -> tuple[machine_sections.SectionResult, Noise]:
    """One part, with the reference before, in between and after."""
    counted = watch()
    visited = 0.0

    def visit() -> None:
        counted.reference(steady(device, reference, min(counted.visits, default=0.0), stop))

    def shown(share: float, doing: str) -> None:
        nonlocal visited
        progress(share, doing)
        if share - visited >= 0.34:
            visited = share
            visit()

    visit()
    part = section(device, sizes, shown, stop)
    visit()
    return part, counted.verdict()


def steady(device: Device, reference: Call, fastest: float, stop: Stop) -> float:
    """One visit to the reference. A device that has waited lets its clock fall, and needs some work until it is back."""
    best = device.reference_s(reference, VISIT, stop)
    for _ in range(LOOKS - 1 if device.queued else 0):
        if best <= fastest * (1.0 + SAME):
            break
        best = min(best, device.reference_s(reference, VISIT, stop))
    return best


def worst(noises: list[Noise]) -> Noise:
    """Each figure at its worst over the parts."""
    others = [noise.others for noise in noises if noise.others is not None]
    stolen = [noise.stolen for noise in noises if noise.stolen is not None]
    return Noise(max(others, default=None), max(stolen, default=None), max((noise.drift for noise in noises), default=0.0))


def _worse(noise: Noise) -> float:
    return (noise.others or 0.0) + (noise.stolen or 0.0) + noise.drift


def method(device: Device, sizes: Sizes) -> str:
    """How it was timed, in words that fit what was done."""
    sentences = [
        f"ironlaw measure, {sizes.name}, {device.library} on {device.kind.name}, {device.threads()} threads. Host clock (perf_counter);"
        " wall_s is the median over samples, low_s and high_s the 10% and 90% quantiles; short calls are batched so that a sample lasts"
        " 200 steps of the clock; one to five calls of warm-up; calls that outlast a quarter of their time are timed three times.",
        "Caches are not cleared between calls: a working set stays where the last call left it, which is what the bandwidth rows are for;"
        " weights of linear and conv2d rows come from a pool larger than the caches, walked end to end, so they are read from memory."
        " The loop around a call (some tens of nanoseconds) is in its time. Matrices hold random numbers on a GPU, else constants.",
    ]
    if device.queued:
        sentences.append(
            "wall_s of op rows is one call and the wait for its result; of launch rows, calls queued back to back"
            " (sync_s: with a wait after each)."
        )
    sentences += device.method_notes()
    if device.has_graphs:
        sentences.append(f"graph_s: {machine_sections.IN_GRAPH} calls replayed as a graph, per call.")
    sentences.append(
        "Noise: processor time of others from /proc/stat, and the same small work (a hash by one thread; on a GPU an FP32 product) timed"
        " before, during and after each part; a disturbed part was measured twice, the quieter kept; of one that stayed disturbed, the"
        " best sample of each row."
    )
    return " ".join(sentences)


def with_rows(measured: Characterisation, more: list[Row], how: str) -> Characterisation:
    """The same with further rows, such as those of the wide sweep; `how` joins the method."""
    return replace(measured, rows=[*measured.rows, *more], method=f"{measured.method} {how}".strip())
