"""An export of Nsight Systems (`nsys export --type sqlite`) as the events of a torch.profiler trace, which `kineto.parse` reads.

Kernels, copies and calls of the runtime are in tables of their own; PyTorch's operators are NVTX ranges, which PyTorch writes under
`torch.autograd.profiler.emit_nvtx()` or `nsys profile --pytorch=autograd-nvtx`. Times are nanoseconds there. With `autograd-shapes-nvtx`,
or `emit_nvtx(record_shapes=True)`, a range says how large its inputs were, and the names of its kernels what format they were in.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from ironlaw.errors import BadValue

SQLITE = b"SQLite format 3\x00"
KERNEL, RUNTIME, NVTX, GPU = "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "TARGET_INFO_GPU"
MOVES = {"CUPTI_ACTIVITY_KIND_MEMCPY": ("gpu_memcpy", "Memcpy"), "CUPTI_ACTIVITY_KIND_MEMSET": ("gpu_memset", "Memset")}
OPERATOR = re.compile(r"^((?:aten|c10d|_c10d_functional)::\w+|ProfilerStep#\d+)")
SIZES = re.compile(r"sizes = (\[[\[\]\d, ]*\])")
UNSAID = "?"  # the type of an input of which the range gives only the size
VERSION = re.compile(r"_v\d+$")  # cudaLaunchKernel_v7000
AGAIN = (
    "record with `nsys profile --trace=cuda,nvtx --pytorch=autograd-shapes-nvtx python train.py` (or under"
    " torch.autograd.profiler.emit_nvtx(record_shapes=True)),"
    " then `nsys export --type sqlite report.nsys-rep`"
)


def events(place: Path) -> tuple[list[dict[str, Any]], str]:
    """The events, and the name of the device that ran the kernels."""
    try:
        with closing(sqlite3.connect(f"{place.resolve().as_uri()}?mode=ro", uri=True)) as database:
            tables = {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            if KERNEL not in tables or RUNTIME not in tables:
                raise BadValue(f"{place} holds no CUDA kernels of Nsight Systems; {AGAIN}")
            if NVTX not in tables:
                raise BadValue(f"{place} does not say which PyTorch operator launched a kernel; {AGAIN}")
            return [*_ops(database), *_calls(database), *_on_device(database, tables)], _device(database, tables)
    except sqlite3.Error as error:
        raise BadValue(f"{place} can't be read as an export of Nsight Systems ({error}); {AGAIN}") from None


def _event(kind: str, name: str, start: float, end: float, thread: Any, **args: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": kind, "name": name, "pid": 0, "tid": thread, "ts": start / 1e3, "dur": (end - start) / 1e3, "args": args}


def _ops(database: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    """The text stands in the range itself, or among the strings."""
    query = f"""SELECT n.start, n.end, n.globalTid, COALESCE(n.text, s.value) FROM {NVTX} n
        LEFT JOIN StringIds s ON s.id = n.textId WHERE n.end IS NOT NULL"""
    for start, end, thread, text in database.execute(query):
        match = OPERATOR.match(str(text or ""))
        if match:
            yield _event("cpu_op", match[1], start, end, thread, **_sizes(str(text)))


def _sizes(text: str) -> dict[str, Any]:
    """`aten::mm, op_id = 7, sizes = [[8, 512], [512, 64]]` -> sizes as torch.profiler has them, with types that nobody says."""
    match = SIZES.search(text)
    try:
        sides = json.loads(match[1]) if match else []
    except json.JSONDecodeError:  # cut off: a range's text may be no longer than Nsight keeps
        sides = []
    return {"Input Dims": sides, "Input type": [UNSAID] * len(sides)} if sides else {}


def _calls(database: sqlite3.Connection) -> Iterator[dict[str, Any]]:
    query = f"SELECT r.start, r.end, r.globalTid, r.correlationId, s.value FROM {RUNTIME} r LEFT JOIN StringIds s ON s.id = r.nameId"
    for start, end, thread, correlation, name in database.execute(query):
        yield _event("cuda_runtime", VERSION.sub("", str(name)), start, end, thread, correlation=correlation)


def _on_device(database: sqlite3.Connection, tables: set[str]) -> Iterator[dict[str, Any]]:
    query = f"""SELECT k.start, k.end, k.streamId, k.correlationId, s.value FROM {KERNEL} k
        LEFT JOIN StringIds s ON s.id = k.demangledName"""
    for start, end, stream, correlation, name in database.execute(query):
        yield _event("kernel", str(name), start, end, f"stream {stream}", correlation=correlation)
    for table, (kind, name) in MOVES.items():
        if table in tables:
            for start, end, stream, correlation in database.execute(f"SELECT start, end, streamId, correlationId FROM {table}"):
                yield _event(kind, name, start, end, f"stream {stream}", correlation=correlation)


def _device(database: sqlite3.Connection, tables: set[str]) -> str:
    """The first kernel's device, where several are listed."""
    if GPU not in tables:
        return ""
    used = database.execute(f"SELECT deviceId FROM {KERNEL} LIMIT 1").fetchone()
    columns = {row[1] for row in database.execute(f"PRAGMA table_info({GPU})")}
    if "name" not in columns:
        return ""
    where = " WHERE cuDevice = ?" if used and "cuDevice" in columns else ""
    found = database.execute(f"SELECT name FROM {GPU}{where} LIMIT 1", used if where else ()).fetchone()
    return str(found[0]) if found else ""
