"""Llama 3 8B in llama.cpp's formats: the rows of the published table as configurations, and what they need on a device."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from ironlaw.engine.device.machine import Hardware
from ironlaw.engine.device.memory import Memory, live_activations
from ironlaw.registry.publications import Cell, published
from ironlaw.registry.workloads import kv_cache, workload
from ironlaw.units import show, show_capacity

MODEL = "llama3_8b"
BOARD = "llama_cpp_scoreboard"
IMATRIX = "WT 10m"
PLAIN = "F16"
KERNELS = {"format": "reads the format itself", "unpack": "unpacks to FP16 first"}
CONTEXTS = (512, 2048, 8192, 32768)
Z = 1.96


@cache
def rows() -> dict[str, Mapping[str, Cell]]:
    """Name -> row: every format without an importance matrix, and those with the largest one."""
    board = published(BOARD)
    return {name(row): row for row in board.rows if row["imatrix"] in ("none", IMATRIX)}


def name(row: Mapping[str, Cell]) -> str:
    return str(row["quant"]).upper() + (", imatrix" if row["imatrix"] != "none" else "")


def size(row: str) -> float:
    return float(rows()[row]["size"])


def bits(row: str) -> float:
    """Bits per weight, all files' other contents counted in."""
    return size(row) * 8 / parameters()


def perplexity(row: str) -> tuple[float, float, float]:
    """The perplexity as measured, and its 95% interval."""
    value, error = float(rows()[row]["ppl"]), float(rows()[row]["ppl_error"])
    return value, value - Z * error, value + Z * error


def full() -> float:
    """The perplexity that all others are compared with."""
    row = rows()["Q8_0"]
    return float(row["ppl"]) - float(row["ppl_rise"])


@cache
def parameters() -> float:
    return float(workload(MODEL).params)


@cache
def activations() -> float:
    """Alive at once while one token is decoded."""
    return float(live_activations(workload(MODEL, phase="decode", batch=1, context=CONTEXTS[1])))


@cache
def cache_bytes(context: int) -> float:
    return float(kv_cache(MODEL, 1, context))


def footprint(row: str, context: int, machine: Hardware) -> Memory:
    return Memory(size(row), cache_bytes(context), activations(), machine.capacity, machine.reserved)


def seconds(row: str, context: int, machine: Hardware, kernel: str = "format") -> float:
    """A token at batch 1, a bound: what has to be read over the bandwidth, or the arithmetic at the peak, whichever is longer."""
    read = size(row) + cache_bytes(context)
    if kernel == "unpack" and row != PLAIN:
        read += 2 * 2 * parameters()  # written in FP16, and read again
    return max(read / float(machine.bandwidth), 2 * parameters() / float(machine.peak("fp16")))


def why_not(machine: Hardware) -> str:
    """Why the model can't run on a machine at all; empty where it may."""
    if "fp16" in machine.peaks:
        return ""
    smallest, room = min(map(size, rows())), float(machine.capacity)
    if room < smallest:
        return f"{machine.name} has no FP16 unit, and only {show_capacity(room)} of memory for a file of at least {show(smallest, 'B')}"
    return f"{machine.name} has no FP16 unit, and this bound assumes one"
