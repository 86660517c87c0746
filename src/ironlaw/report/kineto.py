"""A trace of torch.profiler (Kineto's Chrome JSON, also gzipped), or of Nsight Systems: operators as they nested, kernels
with the op that launched each.

A kernel names the launch it came from (`correlation`) and the op that was running then (`External id`). Older writers put the
correlation into both, so an op counts only where it was running at the launch; else the innermost op around the launch is taken.
Times are microseconds in the file and seconds here.
"""

from __future__ import annotations

import gzip
import io
import json
import stat
import zlib
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue
from ironlaw.report.nsight import AGAIN, SQLITE
from ironlaw.report.nsight import events as nsight_events

OPS = ("cpu_op", "operator")
KERNELS = ("kernel", "gpu_memcpy", "gpu_memset")
LAUNCHES = ("cuda_runtime", "cuda_driver", "runtime", "hip_runtime", "xpu_runtime")
STEP = "ProfilerStep#"
SYNC, DATA = "sync", "data"
SYNCHRONISES = ("devicesynchronize", "streamsynchronize", "eventsynchronize", "ctxsynchronize")  # of CUDA's and HIP's calls
LOADER = ("enumerate(dataloader)", "dataloader")  # how PyTorch names the wait for the next batch
GZIP = b"\x1f\x8b"
MOST_PACKED, SMALL = 100, 10_000_000  # times its size, and bytes on top, that an archive may unpack to
LATEST = 1e18  # microseconds: 30,000 years


@dataclass(frozen=True, slots=True)
class AtenOp:
    """One run of an operator on the host. `parent`: the place in the trace of the op that called it, -1 for none."""

    name: str
    start: float
    seconds: float
    parent: int
    leaf: bool
    inputs: tuple[tuple[str, tuple[int, ...]], ...] = ()  # type and sides of each tensor that goes in, where shapes were recorded


@dataclass(frozen=True, slots=True)
class Kernel:
    """Work on the device. `op`: the place in the trace of the op that launched it, -1 where the trace does not say."""

    name: str
    seconds: float
    op: int
    start: float = 0.0  # on the device
    launched: float = 0.0  # on the host


@dataclass(frozen=True, slots=True)
class Wait:
    """Time in which the host launches nothing. `what`: SYNC, it waits for the device; DATA, for the next batch."""

    what: str
    start: float
    seconds: float


@dataclass(frozen=True)
class Trace:
    """Ops in order of start, kernels in order of launch, and the spans of ProfilerStep, if the schedule was used."""

    name: str
    ops: tuple[AtenOp, ...]
    kernels: tuple[Kernel, ...]
    steps: tuple[tuple[float, float], ...]
    device: str
    waits: tuple[Wait, ...] = ()
    rank: int | None = None

    def chain(self, op: int) -> list[int]:
        """The op and those that called it, outermost first."""
        callers = []
        while op >= 0:
            callers.append(op)
            op = self.ops[op].parent
        return callers[::-1]


def read(place: str | Path) -> Trace:
    path = Path(place)
    try:
        if stat.S_ISCHR(path.stat().st_mode):  # /dev/zero has no end
            raise BadValue(f"{path} is a device; give a file of prof.export_chrome_trace")
        with path.open("rb") as file:
            if file.read(len(SQLITE)) == SQLITE:
                return _nsight(path)
        content = path.read_bytes()
        text = _unpacked(content, path) if content.startswith(GZIP) else content
        data = json.loads(text)
    except OSError as error:
        raise BadValue(f"the trace {path} can't be read: {error.strerror or error}; give a file of prof.export_chrome_trace") from None
    except (EOFError, ValueError, RecursionError, zlib.error) as error:
        raise BadValue(
            f"the trace {path} is not valid JSON ({error}); give a file of prof.export_chrome_trace, .json or .json.gz,"
            " or of `nsys export --type sqlite`"
        ) from None
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise BadValue(f"{path} has no traceEvents; give a file of torch.profiler's prof.export_chrome_trace")
    trace = replace(parse(events, path.name, _device(data)), rank=_rank(data))
    if not trace.ops:
        raise BadValue(f"{path} contains no PyTorch operators; profile with activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]")
    return trace


def _nsight(path: Path) -> Trace:
    events, device = nsight_events(path)
    trace = parse(events, path.name, device)
    if not trace.ops:
        raise BadValue(f"{path} contains no PyTorch operators; {AGAIN}")
    return trace


def _rank(data: Any) -> int | None:
    """Which process of a distributed run wrote the file."""
    told = data.get("distributedInfo") if isinstance(data, dict) else None
    rank = told.get("rank") if isinstance(told, dict) else None
    return rank if isinstance(rank, int) else None


def _unpacked(content: bytes, path: Path) -> bytes:
    """gzip makes a trace ten or twenty times smaller; a file that promises more is there to fill the memory."""
    most = MOST_PACKED * len(content) + SMALL
    with gzip.open(io.BytesIO(content)) as file:
        text = file.read(most + 1)
    if len(text) > most:
        raise BadValue(
            f"{path} unpacks to more than {MOST_PACKED} times its size, which no trace does; give a file of prof.export_chrome_trace"
        )
    return text


def _device(data: Any) -> str:
    devices = data.get("deviceProperties") if isinstance(data, dict) else None
    first = devices[0] if isinstance(devices, list) and devices else None
    return str(first.get("name", "")) if isinstance(first, dict) else ""


def parse(events: Iterable[Any], name: str = "trace", device: str = "") -> Trace:
    """Events in any order; those without a start or a duration are left out."""
    whole = [e for e in events if isinstance(e, dict) and e.get("ph") == "X" and _number(e.get("ts")) and _number(e.get("dur"))]
    whole.sort(key=lambda e: (e["ts"], -e["dur"]))
    by_kind: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for event in whole:
        by_kind[str(event.get("cat", "")).lower()].append(event)
    raw = sorted((e for kind in OPS for e in by_kind[kind] if not _is_step(e)), key=lambda e: (e["ts"], -e["dur"]))
    parents = _parents(raw)
    called = set(parents)
    begin = whole[0]["ts"] if whole else 0.0
    ops = tuple(
        AtenOp(str(e.get("name")), (e["ts"] - begin) / 1e6, e["dur"] / 1e6, parents[i], i not in called, _inputs(e))
        for i, e in enumerate(raw)
    )
    owner = _Owner(raw, parents, [e for kind in LAUNCHES for e in by_kind[kind]])
    on_device = [(owner.of(e), e) for kind in KERNELS for e in by_kind[kind]]
    on_device.sort(key=lambda pair: (owner.launched(pair[1]), pair[1]["ts"]))
    steps = [e for kind in ("user_annotation", *OPS) for e in by_kind[kind] if _is_step(e)]
    return Trace(
        name,
        ops,
        tuple(
            Kernel(str(e.get("name")), e["dur"] / 1e6, op, (e["ts"] - begin) / 1e6, (owner.launched(e) - begin) / 1e6)
            for op, e in on_device
        ),
        tuple(sorted({((e["ts"] - begin) / 1e6, (e["ts"] + e["dur"] - begin) / 1e6) for e in steps})),
        device,
        tuple(Wait(what, (e["ts"] - begin) / 1e6, e["dur"] / 1e6) for e in whole if (what := _wait(e))),
    )


def _inputs(event: dict[str, Any]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """With record_shapes=True an op has the sides and the type of each argument; what is not a tensor has no sides."""
    args = event.get("args")
    sides, types = (args.get(name) for name in ("Input Dims", "Input type")) if isinstance(args, dict) else (None, None)
    if not isinstance(sides, list) or not isinstance(types, list):
        return ()
    pairs = [(str(kind), dims) for kind, dims in zip(types, sides, strict=False) if isinstance(dims, list) and dims]
    return tuple(
        (kind, tuple(dims)) for kind, dims in pairs if all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in dims)
    )


def _wait(event: dict[str, Any]) -> str:
    name = str(event.get("name", "")).lower()
    if str(event.get("cat", "")).lower() in LAUNCHES:
        return SYNC if name.endswith(SYNCHRONISES) else ""
    return DATA if name.startswith(LOADER) and "#" in name else ""


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < LATEST  # NaN is not


def _is_step(event: dict[str, Any]) -> bool:
    return str(event.get("name", "")).startswith(STEP)


def _thread(event: dict[str, Any]) -> tuple[Any, Any]:
    return _key(event.get("pid")), _key(event.get("tid"))


def _parents(raw: list[dict[str, Any]]) -> list[int]:
    """For each op the one around it on its thread; `raw` is in order of start, the longer first."""
    stacks: dict[Any, list[int]] = defaultdict(list)
    parents = []
    for i, event in enumerate(raw):
        stack = stacks[_thread(event)]
        while stack and raw[stack[-1]]["ts"] + raw[stack[-1]]["dur"] <= event["ts"]:
            stack.pop()
        parents.append(stack[-1] if stack else -1)
        stack.append(i)
    return parents


class _Owner:
    """Which op launched a kernel."""

    def __init__(self, raw: list[dict[str, Any]], parents: list[int], launches: list[dict[str, Any]]) -> None:
        self.raw, self.parents = raw, parents
        self.by_id = {key: i for i, e in enumerate(raw) if (key := _external(e)) is not None}
        self.by_correlation = {_argument(e, "correlation"): e for e in launches}
        self.on_thread: dict[Any, list[int]] = defaultdict(list)
        for i, event in enumerate(raw):
            self.on_thread[_thread(event)].append(i)
        self.starts = {thread: [raw[i]["ts"] for i in places] for thread, places in self.on_thread.items()}

    def launch(self, kernel: dict[str, Any]) -> dict[str, Any] | None:
        correlation = _argument(kernel, "correlation")
        return self.by_correlation.get(correlation) if correlation is not None else None

    def launched(self, kernel: dict[str, Any]) -> float:
        launch = self.launch(kernel)
        return float((launch or kernel)["ts"])

    def of(self, kernel: dict[str, Any]) -> int:
        launch = self.launch(kernel)
        named = self.by_id.get(_external(kernel), -1)
        if launch is None:
            return named
        if named >= 0 and self._around(named, launch["ts"]):
            return named
        return self._innermost(launch)

    def _around(self, op: int, moment: float) -> bool:
        return bool(self.raw[op]["ts"] <= moment <= self.raw[op]["ts"] + self.raw[op]["dur"])

    def _innermost(self, launch: dict[str, Any]) -> int:
        thread = _thread(launch)
        before = bisect_right(self.starts.get(thread, []), launch["ts"])
        op = self.on_thread[thread][before - 1] if before else -1
        while op >= 0 and not self._around(op, launch["ts"]):
            op = self.parents[op]
        return op


def _external(event: dict[str, Any]) -> Any:
    value = _argument(event, "External id")
    return value if value is not None else _argument(event, "external id")


def _argument(event: dict[str, Any], name: str) -> Any:
    args = event.get("args")
    return _key(args.get(name)) if isinstance(args, dict) else None


def _key(value: Any) -> Any:
    """What can stand for a thread or a launch: a name or a number."""
    return value if isinstance(value, (str, int, float)) else None
