"""The parts of a characterisation. Each gives evidence rows, and notes on what could not be measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import ceil, inf, log2
from typing import Any

from ironlaw.measure.clock import Timing, halt, timed
from ironlaw.measure.devices.device import EAGER, Call, Device, Unsupported
from ironlaw.measure.machine.machine_sizes import Sizes
from ironlaw.measure.progress_lines import Progress, Stop
from ironlaw.measure.rows import Draft, function_row, launch_row, op_row, rounded

SIDES = (64, 128, 256, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192)
TRAFFIC = {"copy": 8, "add": 12}  # bytes per element: FP32, read and written
VECTOR = 32  # elements: 128 bytes
FIRST_SET = 2**13  # bytes: half of the smallest first-level cache
TINY_SET = 2**9  # bytes: what is left is the call
IN_GRAPH = 20  # calls recorded as one graph
QUEUED = 200  # calls queued before the device is waited for, where a call returns early
LONG = 2e-3  # seconds of queued work beside which one wait for the device is little
AT_ONCE = 32  # calls in one session of the profiler
FEW = 4  # launches that are timed whatever they take
COARSE = 8  # steps between working sets of the first pass
START = 30.0  # seconds under which no compiler is started: with empty caches, two small functions took one GPU's host over 23
SMALL = 2048  # products up to this side are replayed as a graph too


@dataclass(frozen=True)
class Minute:
    """How far the chosen cases came. `now` and `then`: how far off operators of models are on average with those that were timed, and
    with what another minute would add."""

    timed: int
    cases: int
    now: float
    then: float


@dataclass
class SectionResult:
    """What a section measured."""

    rows: list[Draft] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    work: list[tuple[Draft, Callable[[], Call]]] = field(default_factory=list)  # rows, and how their calls are made again
    stopped: bool = False  # by Ctrl-C, before the last of its cases
    left_out: list[str] = field(default_factory=list)  # what time did not allow
    minute: Minute | None = None  # what the chosen cases are worth, where it timed some
    until: float = inf  # the moment when what follows it must be over


Section = Callable[[Device, Sizes, Progress, Stop], SectionResult]


def brief(call: Call, device: Device, seconds: float, stop: Stop | None = None) -> Timing:
    """`timed`, but a call that outlasts its share of the time is timed three times only. A device is sampled for half as long:
    each of its figures is taken two or three ways."""
    seconds *= 0.5 if device.queued else 1.0
    call()
    once = timed(call, device.clock, seconds=0, least=1, warmup=0, batch=1, stop=stop).median
    if once > seconds / 4:
        return timed(call, device.clock, seconds=0, least=3, warmup=0, batch=1, stop=stop)
    return timed(call, device.clock, seconds=seconds, warmup=1, stop=stop)


def per_call(call: Call, device: Device, seconds: float, stop: Stop | None = None) -> dict[str, Any]:
    """`wall_s` of one call from Python, its result waited for."""
    if not device.queued:
        return brief(call, device, seconds, stop).row()

    def waited() -> None:
        call()
        device.clock.sync()

    return brief(waited, device, seconds, stop).row()


def queued(call: Call, device: Device, seconds: float, stop: Stop | None = None) -> Timing:
    """What a call costs the host when it waits for nothing."""
    return timed(call, device.clock, seconds=seconds, least=5, warmup=5, batch=QUEUED if device.queued else None, stop=stop)


def products(device: Device, sizes: Sizes, progress: Progress, stop: Stop) -> SectionResult:
    """C = A·B over sides and number formats. A format stops where the next side would take longer than one call may, or when its part of
    the time is over; the first has as long as it takes."""
    result, begun = SectionResult(), device.clock.now()
    for index, fmt in enumerate(device.formats):
        last, over = 0.0, begun + (sizes.until - begun) * (index + 1) / len(device.formats)
        for place, n in enumerate(SIDES):
            if index and device.clock.now() > over:
                result.left_out.append(f"products in {fmt}{f' beyond side {SIDES[place - 1]:,}' if place else ''}")
                break
            if last * (n / SIDES[place - 1]) ** 3 > sizes.longest or 12.0 * n * n > device.largest():
                break
            progress((index + place / len(SIDES)) / len(device.formats), f"matrix products, {fmt}, {n}")
            try:
                call = device.gemm(fmt, n)
            except Unsupported as reason:
                result.notes.append(str(reason))
                break
            row = op_row("matmul", {"m": n, "n": n, "k": n, "dtype": fmt}, _timed(call, device, n <= SMALL, sizes.each, stop))
            result.rows.append(row)
            result.work.append((row, partial(device.gemm, fmt, n)))
            last = row["wall_s"]
    return result


def streams(device: Device, sizes: Sizes, progress: Progress, stop: Stop) -> SectionResult:
    """Copies and sums over working sets from half a first-level cache to several times the last one, a few over the whole span first."""
    result = SectionResult()
    steps = coarse_first(list(working_sets(device, sizes.streams)))
    pace: dict[str, float] = {}  # seconds per byte in the slowest memory so far
    for index, work in enumerate(steps):
        if index >= len(steps) / COARSE + 1 and device.clock.now() > sizes.until:
            result.left_out.append(f"{len(steps) - index} of {len(steps)} working sets")
            break
        progress(index / len(steps), f"bandwidth, {work / 2**20:.3g} MiB")
        for op, width in TRAFFIC.items():
            if pace.get(op, 0.0) * work > sizes.longest:
                continue
            numel = elements(work, width)
            times = _timed(device.stream(op, numel), device, True, sizes.each, stop)
            row = op_row(op, {"numel": numel, "dtype": "fp32"}, times, working_set=numel * width)
            result.rows.append(row)
            result.work.append((row, partial(device.stream, op, numel)))
            pace[op] = row["wall_s"] / work
        spread = device.spread_stream(elements(work, TRAFFIC["copy"]))
        if spread is not None and pace.get("copy", 0.0) * work <= sizes.longest:
            numel = elements(work, TRAFFIC["copy"])
            params = {"numel": numel, "dtype": "fp32", "threads": device.threads()}
            times = brief(spread, device, sizes.each, stop).row()
            result.rows.append(function_row("copy_by_threads", params, EAGER, times, working_set=numel * 8))
    result.rows.sort(key=lambda row: float(row["working_set"]))
    result.work.sort(key=lambda one: float(one[0]["working_set"]))
    return result


def coarse_first(steps: list[float]) -> list[float]:
    """Every COARSE-th from the last one down, then those between, twice as fine each time; each pass from small to large."""
    last = len(steps) - 1
    finest = {i: next(fine for fine in (COARSE, COARSE // 2, COARSE // 4, 1) if (last - i) % fine == 0) for i in range(len(steps))}
    return [steps[i] for i in sorted(finest, key=lambda i: (-finest[i] if i else -COARSE, i))]


def elements(work: float, width: int) -> int:
    """How many make a working set: whole vectors, for an odd end sends some devices the slow way."""
    return max(int(work // width) // VECTOR, 1) * VECTOR


def working_sets(device: Device, fine: int) -> Iterator[float]:
    """Bytes: next to none, then in powers of two (or finer) to eight times the last cache; beyond 512 MiB to three times."""
    biggest = max(device.caches().values(), default=2**25)
    end = min(max(min(8 * biggest, 2**29), 3 * biggest, 2**27), device.largest())
    yield TINY_SET
    for step in range(fine * int(log2(end / FIRST_SET)) + 1):
        yield FIRST_SET * 2 ** (step / fine)


def launches(device: Device, sizes: Sizes, progress: Progress, stop: Stop) -> SectionResult:
    """What a call costs the host, op by op: queued back to back, and waited for."""
    result = SectionResult()
    calls = device.launches()
    for index, (op, call) in enumerate(calls.items()):
        if index >= FEW and device.clock.now() > sizes.until:
            result.left_out.append(f"launches of {len(calls) - index} of {len(calls)} operators")
            break
        progress(index / len(calls), f"launch cost, {op}")
        try:
            row = launch_row(op, queued(call, device, sizes.launch, stop).row())
        except (RuntimeError, NotImplementedError, TypeError) as error:
            result.notes.append(f"{op} can't be run here ({str(error).strip().splitlines()[0][:100]})")
            continue
        if device.queued:
            row["sync_s"] = per_call(call, device, sizes.launch, stop)["wall_s"]
        row |= _replayed(call, device, row["wall_s"], sizes.launch, stop)
        result.rows.append(row)
        result.work.append((row, partial(calls.__getitem__, op)))
    if device.queued:
        result.rows += _roundtrips(device, calls["add"], sizes, stop)
    return result


def _roundtrips(device: Device, call: Call, sizes: Sizes, stop: Stop) -> list[Draft]:
    """A tiny op and its result waited for; waiting for nothing; a graph of one op."""
    rows = [launch_row("sync_roundtrip", per_call(call, device, sizes.launch, stop))]
    rows.append(launch_row("sync_idle", timed(device.clock.sync, seconds=sizes.launch, stop=stop).row()))
    try:
        graph = device.record(call)
    except Unsupported:
        return rows
    return [*rows, launch_row("graph_replay", queued(graph, device, sizes.launch, stop).row())]


def ops(device: Device, sizes: Sizes, progress: Progress, stop: Stop) -> SectionResult:
    """Single ops at a few shapes, which the machine's curves are fitted to."""
    result = SectionResult()
    cases = list(device.cases())
    for index, case in enumerate(cases):
        if device.clock.now() > sizes.until:
            result.left_out.append(f"{len(cases) - index} of {len(cases)} single operators")
            break
        progress(index / len(cases), f"{case.op} {_shape(case.params)}")
        try:
            row = op_row(case.op, case.params, per_call(case.prepare(), device, sizes.each, stop))
        except KeyboardInterrupt:  # peaks, bandwidth and launches are known by now: what is there is worth keeping
            result.notes.append(f"stopped after {index} of {len(cases)} operators, which are kept; `ironlaw measure` measures the rest")
            result.stopped = True
            break
        except (RuntimeError, NotImplementedError, TypeError) as error:
            result.notes.append(f"{case.op} can't be run here ({str(error).strip().splitlines()[0][:100]})")
            continue
        result.rows.append(row)
        result.work.append((row, case.prepare))
    return result


def kernels(work: list[tuple[Draft, Callable[[], Call]]], device: Device, progress: Progress, stop: Stop, until: float = inf) -> list[str]:
    """Put the device's own time into the rows, some at a time. Last of all: a profiler that ran once slows later launches."""
    missed = 0
    for start in range(0, len(work), AT_ONCE):
        if device.clock.now() > until:
            missed += len(work) - start
            break
        halt(stop)
        progress(start / len(work), "device time of kernels")
        ready: list[tuple[Draft, Call]] = []
        for row, make in work[start : start + AT_ONCE]:
            try:
                ready.append((row, make()))
            except RuntimeError:  # no room beside the others
                missed += 1
        for (row, _), times in zip(ready, device.busy([call for _, call in ready]), strict=False):
            missed += "error" in times
            row.update({key: value for key, value in times.items() if key != "error"})
    return [f"the profiler gave no device time for {missed} of {len(work)} rows"] if missed else []


def compiling(device: Device, sizes: Sizes, progress: Progress, stop: Stop) -> SectionResult:
    """What compiling a small function costs."""
    progress(0.0, "compiling a small function")
    longest = min(sizes.compiled, sizes.until - device.clock.now())
    if longest < START:
        return SectionResult(left_out=["compiling a function"])
    return SectionResult(*device.compiles(longest))


def _timed(call: Call, device: Device, graphed: bool, seconds: float, stop: Stop) -> dict[str, Any]:
    """A call from Python, and one of many replayed as a graph."""
    row = per_call(call, device, seconds, stop)
    return row | (_replayed(call, device, row["wall_s"], seconds, stop) if graphed and row["wall_s"] < LONG else {})


def _replayed(call: Call, device: Device, about: float, seconds: float, stop: Stop) -> dict[str, Any]:
    """`graph_s`: one of IN_GRAPH calls replayed as a graph; nothing where there are no graphs."""
    try:
        graph = device.record(call, IN_GRAPH)
    except Unsupported:
        return {}
    times = min(50, ceil(LONG / (IN_GRAPH * about)))
    replays = timed(graph, device.clock, seconds=seconds / 2, least=3, warmup=1, batch=times, stop=stop)
    return {"graph_s": rounded(replays.median / IN_GRAPH)}


def _shape(params: dict[str, Any]) -> str:
    return "×".join(
        str(value) for key, value in params.items() if key in ("m", "n", "k", "c", "h", "rows", "cols", "numel", "sq", "tokens")
    )
