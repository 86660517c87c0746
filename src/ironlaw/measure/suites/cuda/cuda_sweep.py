"""`ironlaw measure --full` on a GPU: device time of every kind of op over many shapes, and what launching tiny ones costs.

    rows = sweep(device, progress, stop, seconds=600)                what fits into ten minutes, the most important first
    python -m ironlaw.measure.suites.cuda --out FILE [--part ops,norms] [--seconds N] [--limit N]

Cases of one part share sessions of the profiler. Where there is no GPU the sweep can be tried, and finds no kernels.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.measure import evidence_file
from ironlaw.measure.devices.device import Call, Case
from ironlaw.measure.devices.kernel_events import ITERATIONS, WARMUP
from ironlaw.measure.devices.kernel_times import profile, reason
from ironlaw.measure.devices.torch_device import TorchDevice
from ironlaw.measure.progress_lines import Cancelled, Progress, Stop, quiet, within
from ironlaw.measure.rows import Draft, op_row, typed
from ironlaw.measure.software_host import SLUG, software
from ironlaw.measure.suites.cuda.inputs import SweepInputs, elements_of
from ironlaw.measure.suites.cuda.launches import gpu_or_processor, launches
from ironlaw.measure.suites.cuda.parts import FIRST, PARTS, SweepPart, named

EVERY = 5.0  # seconds between two writings of what there is


def method(device: TorchDevice) -> str:
    """How it was timed, in words that fit this GPU."""
    pool = f"{2 * elements_of(device) / 2**30:.2g} GiB"
    return (
        f"GPU kernel, memset and memcpy durations from torch.profiler (CUDA activity only), {WARMUP} warm-up and {ITERATIONS} measured "
        "calls per row on one stream, a marker kernel before every call; busy_s is the median over calls of the sum of durations. "
        f"Weights of linear and conv come from a pool of {pool} or more walked end to end, so they are cold in L2; activations stay "
        "where they are. Random normal data. Weights of recurrent layers stay where they are; those in INT8 and INT4 are walked over "
        "256 MB or more. Launch rows: wall_s is the host clock over 200 calls queued back to back, graph_s the GPU time of a CUDA graph "
        "of 200 calls, both per call, medians, taken before the profiler was first started; wall_after_profiler_s is wall_s again at the "
        "end, when the profiler's hooks may remain. Generated rows: torch.compile, static shapes; read_bytes and written_bytes are what "
        "must move."
    )


def sweep(
    device: TorchDevice,
    progress: Progress = quiet,
    stop: Stop | None = None,
    seconds: float | None = None,
    parts: Sequence[str] = tuple(PARTS),
    *,
    limit: int | None = None,
    after: Callable[[str, list[Draft]], None] = lambda part, rows: None,
) -> list[Draft]:
    """Rows of evidence, part by part in their order. Without `seconds` each part has its own limit.

    `limit`: at most so many cases of an op in a part. `after` is called with a part's rows whenever there are more of them.
    """
    import torch

    torch.manual_seed(0)
    by_part: dict[str, list[Draft]] = {name: [] for name in PARTS if name in parts}
    end = None if seconds is None else time.monotonic() + seconds
    whole, done = sum(PARTS[name].seconds for name in by_part), 0.0
    inputs = SweepInputs(device.NAME, elements_of(device))
    with settings(), torch.no_grad():
        for name, rows in by_part.items():
            part, begun = PARTS[name], done / whole
            done += part.seconds
            if name == FIRST:
                progress(begun, "launches")
                rows.extend(launches(stop))
            until = end if end is not None else time.monotonic() + part.seconds
            for fresh in run(device, part, inputs, within(progress, begun, done / whole), stop, until, limit):
                rows.extend(fresh)
                after(name, rows)
    progress(1.0, "done")
    return list(chain.from_iterable(by_part.values()))


def cases(part: SweepPart, inputs: SweepInputs, limit: int | None = None) -> Iterator[Case]:
    """A part's cases; at most `limit` of each op, or of each function that is compiled."""
    from ironlaw.measure.suites.cuda.calls.table import CALLS

    counts: dict[tuple[str, Any], int] = {}
    for op, params in part.specs():
        key = op, params.get("function")
        counts[key] = counts.get(key, 0) + 1
        if limit is None or counts[key] <= limit:
            yield Case(op, params, partial(CALLS[op], inputs, params))


def run(
    device: TorchDevice, part: SweepPart, inputs: SweepInputs, progress: Progress, stop: Stop | None, until: float, limit: int | None = None
) -> Iterator[list[Draft]]:
    """A part's rows, session by session, while time lasts."""
    todo = list(cases(part, inputs, limit))
    for start in range(0, len(todo), part.chunk):
        if time.monotonic() > until:
            break
        group = todo[start : start + part.chunk]

        def each(index: int, start: int = start) -> bool:
            if stop is not None and stop():
                raise Cancelled("the measurement was stopped; nothing was stored")
            progress((start + index) / len(todo), f"{todo[start + index].op} {start + index + 1} of {len(todo)}")
            return time.monotonic() <= until

        yield session(device, group, inputs, part.warmup, each)
        device.release_memory()
    progress(1.0, "done")


def session(device: TorchDevice, group: Sequence[Case], inputs: SweepInputs, warmup: int, each: Callable[[int], bool]) -> list[Draft]:
    """Rows of a group of cases, as far as `each` lets them begin."""

    def fresh(case: Case) -> Call:
        inputs.reset()
        return case.prepare()

    try:
        profiles = profile(device, [partial(fresh, case) for case in group], warmup=warmup, each=each)
    except Cancelled:
        raise
    except Exception as error:  # the profiler's own, or a GPU that is lost
        profiles = [{"error": reason(error)} for _ in group]
    return [op_row(case.op, case.params, profiled) for case, profiled in zip(group, profiles, strict=False)]


@contextmanager
def settings() -> Iterator[None]:
    """Cases switch TF32 on and off; afterwards it is as it was."""
    import torch

    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


# ---- as a program of its own


@dataclass
class Written:
    """Evidence files, written anew every few seconds: one for all rows, or in a folder one for each part."""

    place: Path
    machine: dict[str, Any]
    method: str
    begun: float = field(default_factory=time.monotonic)
    last: float = 0.0
    kept: dict[str, list[Draft]] = field(default_factory=dict)

    def after(self, part: str, rows: list[Draft]) -> None:
        self.kept[part] = rows
        if time.monotonic() - self.last > EVERY:
            self.write()

    def write(self) -> None:
        files = {self.place / f"{part}.json": rows for part, rows in self.kept.items()}
        if self.place.suffix == ".json":
            files = {self.place: list(chain.from_iterable(self.kept.values()))}
        for path, rows in files.items():
            evidence_file.write(path, machine=self.machine, software=software(), method=self.method, rows=typed(rows))
        self.last = time.monotonic()
        counts = (f"{part} {len(rows)} rows, {sum('error' in row for row in rows)} errors" for part, rows in self.kept.items())
        print(f"{self.last - self.begun:6.1f} s  {'; '.join(counts)}", flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m ironlaw.measure.suites.cuda", description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", required=True, type=Path, help="FILE.json for all rows, or a folder for PART.json")
    parser.add_argument("--part", help=f"which, of {', '.join(PARTS)}; all by default")
    parser.add_argument("--seconds", type=float, help="for all parts together; each has its own limit by default")
    parser.add_argument("--limit", type=int, help="at most this many cases of each op, to try it out")
    parser.add_argument("--hardware", default=SLUG, help="the machine's name in the registry, for evidence that goes there")
    args = parser.parse_args(arguments)
    try:
        parts = named(args.part) if args.part else tuple(PARTS)
    except BadValue as error:
        parser.error(str(error))
    device = gpu_or_processor()
    written = Written(args.out, device.machine() | {"hardware": args.hardware}, method(device))
    rows = sweep(device, seconds=args.seconds, parts=parts, limit=args.limit, after=written.after)
    written.write()
    for row in rows:
        if "error" in row:
            print(row["op"], row.get("params", ""), row["error"], flush=True)
