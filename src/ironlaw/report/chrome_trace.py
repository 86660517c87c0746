"""A predicted run in the Trace Event Format, which Perfetto and chrome://tracing open, in the words of torch.profiler: operators and
launches on the host's lane, kernels on the device's, an arrow from each launch to its kernel.

Each prediction has two processes, host and device. A slice on the device is an operator's kernels together (`kernels` says how many), and
one on the host what launching it costs; nothing in it was measured. Times are microseconds in the file, as the format has them, in whole
4,096ths: starts and durations then add up without a rest, so that what follows something is never taken to lie within it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from ironlaw.engine.device.prediction import OpRow, Prediction
from ironlaw.engine.device.timeline import Slot, timeline
from ironlaw.engine.device.work import COLLECTIVE
from ironlaw.errors import BadValue
from ironlaw.files import output, replace_text
from ironlaw.pictures.timeline_picture import module
from ironlaw.version import __version__

MICRO, FINE = 1e6, 4096
PHASES, LAUNCHES, STREAM = 0, 1, 7  # lanes: the host's two, and the stream that PyTorch's default has in a profile
WIRES = 20  # the stream of collectives
FORWARD = "forward"
APART = 10_000_000  # between the ids of two predictions: more than a graph has ops
MARK = '{"traceEvents": ['  # how such a file begins
Event = dict[str, Any]


def place_of(place: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    """Where a trace may be written: not over `inputs`, nor over a file that is not such a trace."""
    return output(place, "the trace", inputs, lambda head: head.startswith(MARK.encode()))


def write(predictions: Sequence[Prediction], place: str | Path, inputs: Iterable[str | Path] = ()) -> Path:
    """Whole or not at all."""
    target = place_of(place, inputs)
    try:
        replace_text(target, text(predictions))
    except OSError as error:
        raise BadValue(f"the trace can't be written to {place}: {error.strerror or error}; give a file in a folder that exists") from None
    return Path(place)


def text(predictions: Sequence[Prediction]) -> str:
    """The whole file."""
    first = predictions[0]
    events = ",\n".join(json.dumps(event, allow_nan=False) for number, p in enumerate(predictions) for event in of(p, number))
    about = {
        "schemaVersion": 1, "displayTimeUnit": "ms", "deviceProperties": [{"id": 0, "name": first.hardware.name}],
        "otherData": {"writer": f"ironlaw {__version__}", "model": first.graph.name, "predicted": "nothing here was measured"},
    }  # fmt: skip
    return f"{MARK}\n{events}\n], {json.dumps(about)[1:]}\n"


def of(prediction: Prediction, number: int = 0) -> Iterator[Event]:
    """The events of one prediction; `number` keeps several apart."""
    slots = timeline(prediction)
    one = _Run(prediction, number, slots)
    yield from one.lanes()
    if prediction.run.schedule.dispatch == "replayed":
        yield from one.replay()
    else:
        yield from one.launches()
    yield from one.kernels()
    yield from one.phases()


class _Run:
    """What the events of one prediction share."""

    def __init__(self, prediction: Prediction, number: int, slots: Sequence[Slot]) -> None:
        self.prediction, self.slots = prediction, slots
        self.host, self.device = 2 * number, 2 * number + 1
        self.first = 1 + APART * number
        self.leading = next((i for i in range(len(slots)) if self.runs(i)), 0)  # the first that is on the device
        self.waits = prediction.run.schedule.waits
        settings = prediction.graph.settings
        self.lines: dict[str, str] = settings.get("lines", {})
        self.later: dict[str, str] = settings.get("phases", {})

    # ---- lanes

    def lanes(self) -> Iterator[Event]:
        p = self.prediction
        name = f"{p.graph.name}, {p.hardware.name}, {p.plan.mode}"
        told = {self.host: f"{name}: host", self.device: f"{name}: device"}
        for pid, title in told.items():
            yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": title}}
            yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
        for pid, tid, title in (
            (self.host, PHASES, "phases"), (self.host, LAUNCHES, "operators and launches"),
            (self.device, PHASES, "phases"), (self.device, STREAM, f"stream {STREAM}"),
            *([(self.device, WIRES, f"stream {WIRES}: collectives")] if WIRES in map(self.stream, range(len(self.slots))) else []),
        ):  # fmt: skip
            yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": title}}

    # ---- the host

    def launches(self) -> Iterator[Event]:
        """An operator for each call of the model's code, and in it the launch of each of its kernels."""
        for (name, call), places in groupby(range(len(self.slots)), key=self.call):
            mine = [(i, *self.prediction.run.launching[i]) for i in places]
            begin, end = mine[0][1], mine[-1][2]
            if end > begin:
                rows = [self.slots[i].row for i, _, _ in mine]
                yield self.slice("cpu_op", name, self.host, LAUNCHES, begin, end, {"External id": self.first + call} | self.about(rows))
            for i, start, stop in mine:
                if stop > start or self.runs(i):
                    yield from self.launch("launch", i, start, stop)
                if self.waits and self.waits[i]:
                    yield self.slice("cuda_runtime", "wait for the device", self.host, LAUNCHES, stop, self.slots[i].end, {})

    def replay(self) -> Iterator[Event]:
        """One launch for all kernels."""
        ((start, stop),) = self.prediction.run.launching
        yield from self.launch("graph launch", self.leading, start, stop)

    def launch(self, name: str, i: int, start: float, stop: float) -> Iterator[Event]:
        yield self.slice("cuda_runtime", name, self.host, LAUNCHES, start, stop, {"correlation": self.first + i})
        if self.runs(i):
            arrow = {"cat": "ac2g", "name": "ac2g", "id": self.first + i}
            yield arrow | {"ph": "s", "pid": self.host, "tid": LAUNCHES, "ts": _micro(start)}
            yield arrow | {"ph": "f", "bp": "e", "pid": self.device, "tid": self.stream(i), "ts": _micro(self.slots[i].start)}

    def call(self, i: int) -> tuple[str, int]:
        """The ATen call that an op came from, as the profiler names it; a compiler's kernel is a call of its own."""
        calls = self.prediction.graph.settings.get("calls", ())
        if len(calls) == len(self.slots) and self.prediction.plan.lowering == "eager":
            name, number = calls[i]
            return f"aten::{name}", number
        return self.slots[i].row.origin, i

    # ---- the device

    def kernels(self) -> Iterator[Event]:
        for i, slot in enumerate(self.slots):
            if self.runs(i):
                row = slot.row
                launch = self.leading if self.prediction.run.schedule.dispatch == "replayed" else i
                told: dict[str, Any] = {
                    "correlation": self.first + launch,
                    "External id": self.first + self.call(i)[1],
                    "stream": self.stream(i),
                    "device": 0,
                }
                told |= self.about([row]) | {
                    "operator": row.name, "kernels": float(row.kernels), "limited by": str(row.regime), "flops": float(row.work.flops),
                    "bytes": float(row.work.bytes),
                }  # fmt: skip
                yield self.slice("kernel", row.origin, self.device, self.stream(i), slot.start, slot.end, told)

    def stream(self, i: int) -> int:
        return WIRES if COLLECTIVE in self.slots[i].row.op.attrs else STREAM

    def runs(self, i: int) -> bool:
        return float(self.slots[i].row.seconds) > 0

    # ---- forward, backward, optimiser

    def phases(self) -> Iterator[Event]:
        """A span for each, on both sides; none for inference, which has one phase."""
        if not self.later:
            return
        launching = self.prediction.run.launching
        for phase, places in groupby(range(len(self.slots)), key=self.phase):
            mine = list(places)
            start, end = self.slots[mine[0]].start, self.slots[mine[-1]].end
            yield self.slice("gpu_user_annotation", phase, self.device, PHASES, start, end, {})
            if len(launching) == len(self.slots):
                begin, stop = launching[mine[0]][0], launching[mine[-1]][1]
                yield self.slice("user_annotation", phase, self.host, PHASES, begin, stop, {})

    def phase(self, i: int) -> str:
        """A fused kernel's phase is that of its last part."""
        op = self.slots[i].row.op
        return self.later.get(op.attrs.get("parts", (op,))[-1].name, FORWARD)

    # ---- either

    def about(self, rows: Iterable[OpRow]) -> dict[str, str]:
        """Modules and lines of code, where they are known."""
        parts = [part for row in rows for part in row.op.attrs.get("parts", (row.op,))]
        modules = dict.fromkeys(".".join(module(part.name)) for part in parts if "." in part.name)
        lines = dict.fromkeys(self.lines[part.name] for part in parts if part.name in self.lines)
        told = {"module": ", ".join(modules), "line": ", ".join(lines)}
        return {name: value for name, value in told.items() if value}

    def slice(self, cat: str, name: str, pid: int, tid: int, start: float, end: float, args: dict[str, Any]) -> Event:
        begun = _micro(start)
        return {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": begun, "dur": _micro(end) - begun, "args": args}


def _micro(seconds: float) -> float:
    return round(seconds * MICRO * FINE) / FINE
