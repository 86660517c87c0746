"""Rows of evidence -> a machine in the grammar of registry/hardware, every figure with its source, and its reason where it is derived."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from statistics import median
from typing import Any

from ironlaw.backends.backend import PLAIN
from ironlaw.backends.rows import Row
from ironlaw.errors import BadValue
from ironlaw.formats import rate_unit
from ironlaw.measure.devices.device_kinds import kind_of
from ironlaw.measure.machine.cache_levels import MemoryLevel, levels
from ironlaw.units import show

EMULATED = 0.5  # a format under this share of FP32's rate has no unit of its own here
SCALED = ", tensors that the library keeps on one thread scaled to all"
LABELS = {"l1": "L1 data cache", "l2": "L2 cache", "l3": "L3 cache", "l4": "L4 cache"}


@dataclass(frozen=True)
class Figures:
    """What the rows say about the machine; SI units."""

    peaks: dict[str, tuple[float, int]]  # format -> best rate, and the side of the product that reached it
    emulated: dict[str, float]  # formats that are converted in software: slower than FP32
    bandwidth: float
    working_set: float  # bytes, where the bandwidth was reached
    levels: tuple[MemoryLevel, ...]
    launch: float
    floor: float  # the shortest kernel, or the cheapest call where the call is the work
    curve: tuple[tuple[float, float], ...]  # (working set, bandwidth) with the launch taken off


def seconds(row: Row) -> float:
    """The device's own time where it is known; else a replayed graph's share; else the call."""
    return row.busy_s or row.graph_s or row.value("wall_s")


def figures(rows: Sequence[Row], machine: Mapping[str, Any], caches: Mapping[str, float], grain: int | None = None) -> Figures:
    """`caches`: bytes of each level over all processors, as the system reports them; `grain`: elements that keep one thread busy."""
    rates: dict[str, tuple[float, int]] = {}
    for row in rows:
        if row.kind == "op" and row.op == "matmul":
            n, fmt = row.params["n"], row.dtype
            rates[fmt] = max(rates.get(fmt, (0.0, 0)), (2.0 * n**3 / seconds(row), n))
    plain = [row.value("wall_s") for row in rows if row.kind == "launch" and row.op in PLAIN]
    curve = bandwidths(rows, int(machine.get("threads", 1)), grain, kind_of(machine).on_host)
    if not rates or not plain or not curve:
        raise BadValue("too little was measured to describe the machine (products, streams and launches are needed); run `ironlaw measure`")
    peaks, emulated = parted(rates)
    last = max(caches.values(), default=0.0)
    large = [(rate, size) for size, rate in curve if size >= FAR * last] or [(rate, size) for size, rate in curve[-2:]]
    best, at = max(large)
    ops = [row for row in rows if row.kind == "launch" and row.kernels != 0]
    floor = min(row.busy_s or row.value("wall_s") for row in ops if row.op not in ("view", "empty", "sync_idle"))
    inner = [level for level in levels(curve, caches) if level.size < at]
    return Figures(peaks, emulated, best, at, _ordered(inner, best), median(plain), floor, tuple(curve))


def parted(rates: Mapping[str, tuple[float, int]]) -> tuple[dict[str, tuple[float, int]], dict[str, float]]:
    """Formats that the machine has units for, and those it converts in software."""
    least = EMULATED * rates["fp32"][0] if "fp32" in rates else 0.0
    real = {fmt: best for fmt, best in rates.items() if best[0] >= least or fmt == "fp64"}
    return real, {fmt: rate for fmt, (rate, _) in rates.items() if fmt not in real}


def bandwidths(rows: Sequence[Row], threads: int, grain: int | None, host: bool) -> list[tuple[float, float]]:
    """(working set, bytes/s), the better of copy and add, the cost of the call itself taken off.

    On a processor, tensors of which fewer threads than there are take a share are scaled to all of them.
    """
    best: dict[float, float] = {}
    streams = sorted((row for row in rows if row.working_set is not None), key=lambda row: row.value("working_set"))
    floors: dict[str, float] = {}
    for row in streams:
        spent, size = seconds(row), row.value("working_set")
        floor = floors.setdefault(row.op or row.name, spent if size <= NOTHING else 0.0)
        if spent < NEARLY * floor:
            continue  # nearly all of it is the call
        rate = size / (spent - floor)
        if host and row.kind == "op":
            used = min(threads, ceil(row.params["numel"] / grain)) if grain else 1
            rate *= threads / used if used < threads and size < SPREAD else 1.0
        key = 2.0 ** (round(2 * log2(size)) / 2)  # copy and add of one step lie some bytes apart
        if rate > best.get(key, 0.0):
            best[key] = rate
    return sorted(best.items())


FAR = 4.0  # times the last cache: a working set of which little is still there when it comes round again
NOTHING = 1024.0  # bytes of a working set that is over before the call is
NEARLY = 1.1
SPREAD = 2.0**20  # bytes beyond which one thread's rate is not multiplied: what processors share would be counted twice


def _ordered(caches: Sequence[MemoryLevel], main: float) -> tuple[MemoryLevel, ...]:
    """Levels no slower than what lies behind them."""
    ordered: list[MemoryLevel] = []
    for level in reversed(caches):
        main = max(main, level.bandwidth)
        ordered.append(MemoryLevel(level.name, level.size, main, level.reported, level.has_step))
    return tuple(reversed(ordered))


def toml(figures: Figures, machine: Mapping[str, Any], source: str, date: str, power: float | None = None, known: str = "") -> str:
    """The machine's file. `power`: the device's limit in watts, where one can be read; `known`: the machine of the registry that it is."""
    kind = kind_of(machine)
    gpu, backend = not kind.on_host, kind.registry[1 if machine.get("hip") else 0]
    name = str(machine.get("gpu") or machine["cpu"]) + ("" if gpu else f", {machine['cores']} processors")
    name += f", {machine['device']}" if machine.get("device") else ""
    memory = show(float(machine.get("memory_bytes") or 8e9), "B", 6)
    streamed = f"Measured: the best of copies and sums at {show(figures.working_set, 'B')}, read and written together."
    called = "Measured: the median over element-wise ops on tiny tensors, called from Python."
    lines = [
        "# This machine, written by `ironlaw measure`; measuring again replaces it. The grammar is that of registry/hardware.",
        f"name = {_quoted('This machine: ' + name)}", "aliases = []", f'kind = "{"gpu" if gpu else "cpu"}"', f'backend = "{backend}"',
        f'context = "{"cloud" if machine.get("virtual") else "desktop"}"',
        f"note = {_quoted(_note(figures, machine))}", *([f'datasheet = "{known}"'] if known else []),
        *_table("[memory]", memory, source, date, "As the device reports it." if machine.get("memory_bytes") else "Not reported; assumed."),
        *_reserved(machine, source, date),
        *_table("[bandwidth]", show(figures.bandwidth, "B/s", 4), source, date, streamed),
        *_power(machine, power, source, date),
        *_table("[launch]", show(figures.launch, "s", 4), source, date, called),
    ]  # fmt: skip
    for fmt, (rate, n) in figures.peaks.items():
        lines += _table(
            f"[peak.{fmt}]",
            show(rate, rate_unit(fmt), 4),
            source,
            date,
            f"Measured: the best product, of side {n}; not the maker's figure.",
        )
    for level in figures.levels:
        lines += _level(level, source, date, "" if gpu else SCALED)
    lines += _level(MemoryLevel("main", float(machine.get("memory_bytes") or 8e9), figures.bandwidth, True, True), source, date)
    clock = machine.get("clock_hz")
    units = {
        "sms": machine.get("sms"), "clock": f'"{clock / 1e6:.0f} MHz"' if clock else None,
        "cores": None if gpu else machine.get("cores"), "threads": None if gpu else machine.get("threads"),
    }  # fmt: skip
    return "\n".join([*lines, "", "[units]", *(f"{key} = {value}" for key, value in units.items() if value), ""])


def _note(figures: Figures, machine: Mapping[str, Any]) -> str:
    note = f"Measured with {machine.get('library', 'PyTorch')} on {machine.get('backend', 'cpu')}, {machine.get('threads', 1)} threads."
    slow = ", ".join(f"{fmt} {show(rate, rate_unit(fmt))}" for fmt, rate in figures.emulated.items())
    return note + (f" Converted in software, slower than FP32: {slow}." if slow else "")


def _level(level: MemoryLevel, source: str, date: str, more: str = "") -> list[str]:
    if level.name == "main":
        label, why = "main memory", "Size as the device reports it; bandwidth measured."
    else:
        label = LABELS.get(level.name, level.name)
        sized = "Size as the system reports it, over all processors" if level.reported else "Size where the bandwidth curve falls"
        step = "the curve steps there" if level.has_step else "the curve shows no step there"
        why = f"{sized}; {step}. Bandwidth measured within it, the cost of the call taken off{more}."
    return [
        "", "[[level]]", f'name = "{level.name}"', f"label = {_quoted(label)}", f'size = "{show(level.size, "B", 6)}"',
        f'bandwidth = "{show(level.bandwidth, "B/s", 4)}"', *_sourced(source, date, why),
    ]  # fmt: skip


def _reserved(machine: Mapping[str, Any], source: str, date: str) -> list[str]:
    if not machine.get("reserved_bytes"):
        return []
    why = "In use before anything was measured: the system, other programs and this one's libraries."
    return _table("[reserved]", show(float(machine["reserved_bytes"]), "B", 4), source, date, why)


def _power(machine: Mapping[str, Any], power: float | None, source: str, date: str) -> list[str]:
    if power:
        return _table("[power]", f"{power:g} W", "nvidia-smi, power limit", date, "The limit that is set; not a draw.")
    watts, why = kind_of(machine).power(int(machine.get("cores", 1)))
    return _table("[power]", f"{watts:g} W", source, date, f"No limit can be read: {why}")


def _table(head: str, value: str, source: str, date: str, why: str) -> list[str]:
    return ["", head, f'value = "{value.replace(",", "")}"', *_sourced(source, date, why)]


def _sourced(source: str, date: str, why: str) -> list[str]:
    return ["estimate = true", f"why = {_quoted(why)}", f"source = {_quoted(source)}", f'date = "{date}"']


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # a TOML basic string has JSON's escapes
