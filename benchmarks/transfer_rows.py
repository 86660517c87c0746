"""Published measurements -> rows for `transfer.py`: one table of sizes and seconds for each family and machine, refusals counted."""

from __future__ import annotations

import csv
from collections import defaultdict
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any

import numpy as np

import ironlaw as il
from ironlaw.calibration.transfer.chip_traits import Chip, chip
from ironlaw.calibration.transfer.product_law import OUTPUTS
from ironlaw.engine.device.types import FORMATS
from ironlaw.registry.evidence import evidence

NEUSIGHT = {"A100-40P": "a100_40gb_pcie", "V100": "v100_pcie", "P100": "p100", "T4": "t4", "MI100": "mi100"}
SERVING = {"a100_sxm": "a100_80gb_sxm", "h100_sxm": "h100_sxm", "h200_sxm": "h200_sxm", "gb200": "gb200", "b60": "arc_b60"}
SHORTEST = 100e-6  # seconds: what is shorter holds more of the host's dispatch than of the kernel
TINY, LONGEST_DISPATCH = 3e-6, 60e-6  # seconds
POWERS = ("pow", "powu")
BINARY = ("add", "mul", "div", "pow")  # two tensors in, one out; the others have one of each
OWN, OWN_SHORTEST, OWN_PRODUCT = "h200_sxm", 10e-6, 50e-6  # profiled on the device, so without a host in them
OWN_WIDTH = 128  # elements: the published rows are no shorter
STREAMS = ("add", "mul", "div", "relu", "gelu", "tanh", "sigmoid", "mul_scalar", "add_scalar", "silu")
FORMAT = {"linear_16bit": "bf16", "linear_fp8": "fp8", "attention": "bf16", "attention_decode": "bf16"}  # the others are in FP32
FASTER = 1.02  # times the peak: a row above it is refused


@dataclass(frozen=True)
class Rows:
    """One family's rows on one machine: `sizes` by name, seconds on the device."""

    slug: str
    chip: Chip
    sizes: dict[str, np.ndarray]
    seconds: np.ndarray
    refused: int = 0
    profiled: bool = False  # on the device, by the project itself

    def __len__(self) -> int:
        return len(self.seconds)

    def sample(self, count: int) -> Rows:
        """Every so many of them."""
        chosen = np.unique(np.linspace(0, len(self) - 1, count).astype(int))
        return replace(self, sizes={name: values[chosen] for name, values in self.sizes.items()}, seconds=self.seconds[chosen])


def families(folder: Path) -> dict[str, list[Rows]]:
    """Family -> the machines that it was measured on."""
    found: dict[str, list[Rows]] = defaultdict(list)
    for part in (operators(folder / "neusight_ops_fp32.csv"), products(folder / "aiconfigurator_gemm.csv"), attention(folder), own()):
        for family, machines in part.items():
            found[family] += machines
    return found


def _table(path: Path) -> list[dict[str, str]]:
    try:
        with path.open() as file:
            return list(csv.DictReader(file))
    except FileNotFoundError:
        raise SystemExit(f"{path} is not there; give --data the folder with the published rows") from None


def operators(path: Path) -> dict[str, list[Rows]]:
    """FP32 operators. A call on an idle device has the host's dispatch in it: the shortest call of an operator, less a tiny kernel's own
    time, is taken off each. Powers are left out: of zeros they take a path of their own."""
    found: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    every = _table(path)
    dispatch: dict[tuple[str, str], float] = {}
    for r in every:
        key = r["gpu"], r["op"]
        dispatch[key] = min(dispatch.get(key, 1.0), float(r["seconds"]) - TINY)
    for r in every:
        if r["op"] in POWERS:
            continue
        seconds, slug = float(r["seconds"]), NEUSIGHT[r["gpu"]]
        if seconds >= SHORTEST:
            family, sizes = _operator(r)
            found[family, slug].append(sizes | {"seconds": seconds - min(dispatch[r["gpu"], r["op"]], LONGEST_DISPATCH)})
    return _rows(found)


def _operator(r: dict[str, str]) -> tuple[str, dict[str, float]]:
    batch = float(r["B"])
    if r["class"] == "elem":
        return "stream", {"data": (3 if r["op"] in BINARY else 2) * 4 * batch * float(r["H"])}
    if r["class"] in ("ln", "softmax"):
        width = float(r["H"])
        return {"ln": "layer_norm", "softmax": "softmax" if width <= 1024 else "softmax_block"}[r["class"]], {"rows": batch, "width": width}
    if r["class"] == "conv":
        out = (float(r["Input_Size"]) + 2 * float(r["Padding"]) - float(r["kernel_size"])) // float(r["Stride"]) + 1
        depth = float(r["Input_Channel"]) * float(r["kernel_size"]) ** 2
        moved = batch * float(r["Input_Channel"]) * float(r["Input_Size"]) ** 2
        sizes = {"batch": 1.0, "m": batch * out**2, "n": float(r["Output_Channel"]), "k": depth}
        plain = float(r["kernel_size"]) == 3 and float(r["Stride"]) == 1
        sizes |= {"tiles": batch * ceil(out / OUTPUTS) ** 2 if plain else 0.0, "inner": float(r["Input_Channel"])}
        return "conv_fp32", sizes | {"data": 4 * (moved + depth * sizes["n"] + sizes["m"] * sizes["n"])}
    m, n, k = (float(r[name]) for name in "MNK")
    if r["class"] == "linear":
        return "linear_fp32", _product(1.0, batch * m, n, k, 4)
    return "bmm_fp32", _product(batch, m, n, k, 4)


def _product(batch: float, m: float, n: float, k: float, size: float) -> dict[str, float]:
    return {"batch": batch, "m": m, "n": n, "k": k, "data": size * batch * (m * k + k * n + m * n)}


def products(path: Path) -> dict[str, list[Rows]]:
    """Products of serving stacks in BF16 and FP8, L2 warm."""
    found: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for r in _table(path):
        family = {"bfloat16": "linear_16bit", "fp8": "linear_fp8", "fp8_static": "linear_fp8"}.get(r["gemm_dtype"])
        if family:
            m, n, k = (float(r[name]) for name in "mnk")
            if not m:  # the collector divides some down to nothing
                continue
            sizes = _product(1.0, m, n, k, 2 if family == "linear_16bit" else 1)
            found[family, SERVING[r["gpu"]]].append(sizes | {"seconds": float(r["latency"]) / 1e3})
    return _rows(found)


def attention(folder: Path) -> dict[str, list[Rows]]:
    """In BF16 with a cache of BF16, causal, without a window."""
    found: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for family in ("context", "generation"):
        for r in _table(folder / f"aiconfigurator_{family}_attention.csv"):
            if r["attn_dtype"] != "bfloat16" or r["kv_cache_dtype"] != "bfloat16" or float(r["window_size"] or 0):
                continue
            batch, heads, kv, d = (float(r[name]) for name in ("batch_size", "num_heads", "num_key_value_heads", "head_dim"))
            kv = kv or heads
            queries = float(r["isl"])
            keys = queries if family == "context" else float(r["step"]) + 1
            data = 2 * batch * d * (2 * heads * queries + 2 * kv * keys)
            sizes = {"heads": batch * heads, "groups": batch * kv, "queries": queries, "keys": keys, "d": d, "data": data}
            name = "attention" if family == "context" else "attention_decode"
            found[name, SERVING[r["gpu"]]].append(sizes | {"seconds": float(r["latency"]) / 1e3})
    return _rows(found)


def own() -> dict[str, list[Rows]]:
    """The project's own rows, of an H200: the only FP32 rows of a multiprocessor with 128 lanes. Its 16-bit products are the stacks'."""
    found: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for row in (row for part in evidence(OWN) for row in part.rows):
        if row.kind != "op" or not row.busy_s or row.error or row.busy_s < OWN_SHORTEST:
            continue
        p = row.params
        size = FORMATS.get(str(p.get("dtype")), 0.0)
        if row.op in ("linear", "matmul", "bmm") and row.busy_s < OWN_PRODUCT:  # short ones are carried over, not followed by the law
            continue
        if row.dtype == "fp32" and row.op in ("linear", "matmul"):
            found["linear_fp32", OWN].append(_product(1.0, p["m"], p["n"], p["k"], 4) | {"seconds": row.busy_s})
        elif row.dtype == "fp32" and row.op == "bmm":
            found["bmm_fp32", OWN].append(_product(p["b"], p["m"], p["n"], p["k"], 4) | {"seconds": row.busy_s})
        elif row.op in STREAMS and row.dtype in ("fp16", "fp32"):
            found["stream", OWN].append({"data": (3 if row.op in BINARY else 2) * size * p["numel"], "seconds": row.busy_s})
        elif row.op in ("layer_norm", "softmax") and row.dtype == "fp32" and p["cols"] >= OWN_WIDTH:
            name = "softmax_block" if row.op == "softmax" and p["cols"] > 1024 else row.op
            found[name, OWN].append({"rows": p["rows"], "width": p["cols"], "seconds": row.busy_s})
    return {family: [replace(r, profiled=True) for r in machines] for family, machines in _rows(found).items()}


def _rows(found: dict[tuple[str, str], list[dict[str, float]]]) -> dict[str, list[Rows]]:
    out: dict[str, list[Rows]] = defaultdict(list)
    for (family, slug), rows in sorted(found.items()):
        machine = replace(chip(il.hardware(slug)), achieved={})  # what its file says that its own rows reach is not known of it here
        if FORMAT.get(family, "fp32") not in machine.peaks:  # emulated there
            continue
        columns = {name: np.array([row[name] for row in rows]) for name in rows[0]}
        seconds = columns.pop("seconds")
        keep = seconds * FASTER > least(family, columns, machine)
        out[family].append(Rows(slug, machine, {k: v[keep] for k, v in columns.items()}, seconds[keep], int((~keep).sum())))
    return dict(out)


def least(family: str, s: dict[str, np.ndarray], machine: Chip) -> Any:
    """Seconds that the datasheet's peaks would take: faster rows are of something else."""
    peak = machine.peaks[FORMAT.get(family, "fp32")]
    if "m" in s and family != "conv_fp32":  # Winograd leaves out multiplications that a convolution's count has
        return 2 * s["batch"] * s["m"] * s["n"] * s["k"] / peak
    if family == "attention":
        return 2 * s["heads"] * s["queries"] * s["keys"] * s["d"] / peak
    return 0.0 * next(iter(s.values()))
